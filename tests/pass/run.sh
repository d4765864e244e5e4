#!/bin/sh
# Runs the passes that NAME.graph or NAME.loops names, and compares with NAME.expected. usage: run.sh [--update]
# PASSTEST [NAME… | --only CASE]. PASSTEST is the program of passtest.c.
update=no
if [ "$1" = --update ]; then update=yes; shift; fi
if [ $# -lt 1 ]; then sed -n 3p "$0" | cut -c3- >&2; exit 2; fi
program=$(command -v "$1") || { echo "run.sh: cannot run $1" >&2; exit 2; }
case $program in /*) ;; *) program=$PWD/$program ;; esac
shift
cd "$(dirname "$0")" || exit 3
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
only=
if [ "$1" = --only ]; then only=$2; shift 2; fi
[ $# -gt 0 ] || set -- $(ls | sed -n 's/[.]\(graph\|loops\)$//p')
for name; do
    case $name in *$only*) ;; *) continue ;; esac
    file=$name.graph
    [ -f "$file" ] || file=$name.loops
    why=
    if ! "$program" "$file" >"$work/out" 2>"$work/err"; then why=$(head -n 1 "$work/err"); fi
    if [ -z "$why" ] && ! cmp -s "$work/out" "$name.expected"; then
        if [ $update = yes ]; then
            cp "$work/out" "$name.expected" && echo "updated $name"
        else
            why="the result is not $name.expected"
        fi
    fi
    if [ -z "$why" ]; then
        echo "ok $name"; passed=$((passed + 1))
    else
        echo "FAIL $name $why"; failed=$((failed + 1))
        [ -f "$name.expected" ] && diff -u "$name.expected" "$work/out" | sed -n '3,40p'
    fi
done
[ $((passed + failed)) -gt 0 ] || { echo "no case matches '$only'"; exit 2; }
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
