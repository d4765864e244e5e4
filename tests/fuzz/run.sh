#!/bin/sh
# Runs the fuzzers on checked-in files and their variants, without libFuzzer.
# usage: run.sh FOLDER. FOLDER has the programs replay_expression, replay_spec and replay_graph.
folder=$(cd "$1" && pwd) || exit 2
cd "$(dirname "$0")" || exit 3
passed=0 failed=0
try() { # usage: try NAME PROGRAM VARIANTS FILE...
    name=$1 program=$2
    shift 2
    if said=$("$folder/$program" "$@" 2>&1); then
        echo "ok $name"; passed=$((passed + 1))
    else
        echo "FAIL $name $(printf '%s' "$said" | head -n 30)"; failed=$((failed + 1))
    fi
}
try expressions replay_expression 4000 expressions/*
try specs_with_expressions replay_spec 1500 ../spec/bad/expression_*.yaml ../spec/good/custom.yaml \
    ../spec/good/mask_words.yaml
try graphs replay_graph 3000 ../pass/*.graph ../spec/bad/*.graph
try specs replay_spec 3000 ../spec/good/*.yaml
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
