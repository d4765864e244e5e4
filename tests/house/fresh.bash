#!/usr/bin/env bash
# Compares the files that attnc made for the tree with attnc's output.
# usage: fresh.bash [--write | --part K/N]. --write updates the files. --part compares these pictures of the gallery only.
# ATTNC and ATTNC_BUILD name the compiler and the build folder.
set -u
cd "$(dirname "$0")/../.."
attnc=${ATTNC:-$PWD/build/attnc}
build=${ATTNC_BUILD:-$PWD/build}
write= part=0/1
[ "${1:-}" = --write ] && write=1
[ "${1:-}" = --part ] && part=$2
passed=0 failed=0
ok() { echo "ok $1"; passed=$((passed + 1)); }
fail() { echo "FAIL $1 $2"; failed=$((failed + 1)); }
made=$(mktemp -d) || exit 3
trap 'rm -rf "$made"' EXIT

for spec in specs/*.yaml; do
    name=$(basename "$spec" .yaml)
    if "$attnc" "$spec" -o "$made" --quiet 2>"$made/said"; then
        ok "fresh/compiles/$name"
    else
        fail "fresh/compiles/$name" "$(head -n 1 "$made/said")"
    fi
    rm -f "$made/said"
done
written=$("$build/tests/written")
[ -n "$written" ] || fail fresh/written "it names no file"
for file in $written; do
    mkdir -p "$made/written/$(dirname "$file")"
    if "$build/tests/written" "$file" >"$made/written/$file"; then
        ok "fresh/written/$file"
    else
        fail "fresh/written/$file" "written failed"
    fi
done

mkdir -p "$made/written/examples/standalone"
if "$attnc" examples/standalone/softmax.yaml --standalone -o "$made/written/examples/standalone" --quiet; then
    ok fresh/compiles/standalone
else
    fail fresh/compiles/standalone "attnc failed"
fi
written="$written examples/standalone/softmax.c examples/standalone/softmax.h"

if python3 examples/gallery/gallery.py --attnc "$attnc" --out "$made/written/generated/gallery" --links ../.. --c "$made" \
    --part "$part" >"$made/said" 2>&1; then
    ok fresh/compiles/gallery
else
    fail fresh/compiles/gallery "$(tail -n 1 "$made/said")"
fi
rm -f "$made/said"
written="$written $(cd "$made/written" && ls -d generated/gallery/*)"

# attnc contains the specs of the time when the build was configured.
for spec in specs/*.yaml; do
    name=$(basename "$spec" .yaml)
    if "$attnc" show "$name" 2>/dev/null | cmp -s - "$spec"; then
        ok "fresh/library/$name"
    else
        fail "fresh/library/$name" "attnc show $name is not $spec: meson setup --reconfigure"
    fi
done

if [ -n "$write" ]; then
    [ $failed -eq 0 ] || { echo "fresh: nothing written" >&2; exit 1; }
    mkdir -p generated
    rm -f generated/*.[ch] generated/gallery/*
    cp "$made"/*.[ch] generated/
    cp -R "$made/written/." .
    echo "wrote generated/ ($(ls generated/*.[ch] | wc -l) files of C, and the gallery) and" $(printf "%s\n" $written | grep -v "^generated/gallery/") >&2
    exit 0
fi

for file in $(cd "$made" && ls -- *.c *.h 2>/dev/null) $(cd generated && ls -- *.c *.h 2>/dev/null); do
    echo "$file"
done | LC_ALL=C sort -u >"$made/files"
while read -r file; do
    if [ ! -f "generated/$file" ]; then fail "fresh/generated/$file" "is missing: ./dev generate"
    elif [ ! -f "$made/$file" ]; then fail "fresh/generated/$file" "no spec makes it: ./dev generate"
    elif ! cmp -s "$made/$file" "generated/$file"; then
        difference=$(diff "generated/$file" "$made/$file" | head -n 3 | tr '\n' ' ')
        fail "fresh/generated/$file" "is stale: ./dev generate; $difference"
    else ok "fresh/generated/$file"
    fi
done <"$made/files"
for file in $written; do
    if cmp -s "$made/written/$file" "$file"; then
        ok "fresh/$file"
    else
        fail "fresh/$file" "is stale: ./dev generate"
    fi
done
for file in generated/gallery/*; do
    [ -f "specs/$(basename "$file" .svg).yaml" ] || [[ $file = */index.html || $file = */README.md ]] ||
        fail "fresh/$file" "no spec has it: ./dev generate"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
