#!/usr/bin/env bash
# Checks that only compiler/variant has names of attention variants.
set -u
cd "$(dirname "$0")/../.."
names='softmax|polynomial|polynomial_square|polysketch|polysketchformer|performer|favor|favor_[a-z]+|hedgehog'
names+='|bigbird|longformer|linformer|taylor1?|elu_plus(_one)?|luong|bahdanau|alibi|retention|retnet|delta_?net'
passed=0 failed=0
for file in $(find compiler/{schedule,analysis,cost,pass,emit} -name '*.c' | LC_ALL=C sort); do
    # An underscore ends a word, so softmax_rows counts as softmax.
    hit=$(grep -niE "(^|[^a-z0-9])($names)([^a-z0-9]|$)" "$file" | head -n 3 | tr '\n' ' ')
    if [ -z "$hit" ]; then echo "ok names/$file"; passed=$((passed + 1))
    else echo "FAIL names/$file:$hit"; failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
