#!/usr/bin/env bash
# Tests ./dev test: its counts of suites that pass, skip, fail or crash, its last line, and the suites it chooses.
set -u
cd "$(dirname "$0")/../.."
count_ok=0 count_failed=0
folder=$(mktemp -d) || exit 3
trap 'rm -rf "$folder"' EXIT

# usage: expect NAME STATUS LAST SUITE…. Runs the scripts SUITE… as suites, and checks the exit status and the last
# line.
expect() {
    local name=$1 status=$2 last=$3 said got=0
    shift 3
    said=$(
        source tests/lib/runner.bash
        n=0
        for script; do suite "suite$((n += 1))" bash -c "$script"; done
        run_suites "$folder/logs" 2 2>/dev/null
        finish_suites
    ) || got=$?
    if [ "$(tail -n 1 <<<"$said")" != "$last" ]; then why="the last line is $(tail -n 1 <<<"$said")"
    elif [ $got -ne "$status" ]; then why="exit status $got, not $status"
    else why=
    fi
    result "$name" "$why"
}
result() { # usage: result NAME WHY
    if [ -z "$2" ]; then
        echo "ok runner/$1"; count_ok=$((count_ok + 1))
    else
        echo "FAIL runner/$1 $2"; count_failed=$((count_failed + 1))
    fi
}
says() { if grep -qxF -- "$2" <<<"$said"; then result "$1" ''; else result "$1" "no line '$2' in: $said"; fi; }

passes='echo "ok a"; echo "ok b"; echo "2 passed, 0 failed"'
skips='echo "ok a"; echo "skip b there is no b"; echo "1 passed, 0 failed, 1 skipped"'
fails='echo "ok a"; echo "FAIL b why"; echo "1 passed, 1 failed"; exit 1'

expect passes 0 '2 passed, 0 failed, 0 skipped' "$passes"
expect skips 0 '3 passed, 0 failed, 1 skipped' "$passes" "$skips"
expect skips_and_none 0 '3 passed, 0 failed, 1 skipped' "$passes" \
    "${skips/1 skipped/1 skipped\"; echo \"1 passed, 0 failed, 1 skipped}"
expect fails 1 '4 passed, 1 failed, 1 skipped' "$passes" "$skips" "$fails"
expect skips_all 1 '0 passed, 0 failed, 1 skipped' 'echo "skip a why"; echo "0 passed, 0 failed, 1 skipped"'
expect skip_not_counted 1 '1 passed, 1 failed, 0 skipped' 'echo "ok a"; echo "skip b why"; echo "1 passed, 0 failed"'
expect skip_without_reason 1 '1 passed, 1 failed, 1 skipped' 'echo "ok a"; echo "1 passed, 0 failed, 1 skipped"'
expect status_alone 1 '2 passed, 1 failed, 0 skipped' "$passes; exit 3"
expect says_nothing 1 '2 passed, 1 failed, 0 skipped' "$passes" 'echo "ok a"'
expect killed 1 '2 passed, 1 failed, 0 skipped' "$passes" 'kill -9 $$'
expect other_words 1 '2 passed, 1 failed, 0 skipped' "$passes" 'echo "all 3 passed, 0 failed, 0 skipped."'

said=$(source tests/lib/runner.bash; suite one bash -c "$skips"; run_suites "$folder/logs" 1 2>/dev/null; finish_suites)
says reason '  one: b there is no b'
says reason_heading 'skipped:'
printf '%s\n' "$said" | grep -q '^one  *1 passed, 0 failed, 1 skipped (' &&
    result suite_line '' || result suite_line "$said"

# A line arrives in two parts, with a time-out in between.
said=$(
    source tests/lib/runner.bash
    mkfifo "$folder/parts"
    exec {parts}<>"$folder/parts"
    printf 'sui' >&"$parts"
    read_line "$parts" 0.1 && echo "$line is taken for a line"
    printf 'te 0\n' >&"$parts"
    read_line "$parts" 0.1 && echo "$line"
)
[ "$said" = 'suite 0' ] && result line_in_parts '' || result line_in_parts "read: $said"

# ---- the list of suites

cat >"$folder/suites.txt" <<'END'
# a comment
long   -            plain      -             tests/long.py ATTNC ONLY
far    -            plain      no_machine    tests/far.py ATTNC
here   quick        sanitized  -             BUILD/tests/here

tidy   quick,house  plain      demo          tests/tidy.bash BUILD/tests QUARTER
END
# usage: chooses NAME STATUS CHOSEN WORD…. Checks that ./dev test runs the suites CHOSEN for these words.
chooses() {
    local name=$1 status=$2 wanted=$3 got=0 said
    shift 3
    said=$(
        source tests/lib/runner.bash
        read_suites "$folder/suites.txt"
        choose_suites "$@" 2>/dev/null || exit
        echo "${chosen[*]}"
    ) || got=$?
    if [ "$said" = "$wanted" ] && [ $got = "$status" ]; then result "$name" ''
    else result "$name" "status $got, chosen: $said"
    fi
}
chooses chooses_all 0 'long here tidy'
chooses chooses_by_name 0 'long tidy' tidy long
chooses chooses_by_group 0 'here tidy' quick
chooses chooses_each_once 0 'here tidy' here quick house
chooses refuses_other_names 2 '' long lon
chooses refuses_other_machines 2 '' far
# usage: becomes NAME COMMAND SUITE CASE [TURN]. Checks that the runner makes COMMAND from the line of SUITE.
becomes() {
    local said
    said=$(
        source tests/lib/runner.bash
        read_suites "$folder/suites.txt"
        only=$4 turn=${5-} PYTHON=python
        add_suite "$3" /build
        echo "${command_of[$3]}"
    )
    if [ "$said" = "env ATTNC=/build/attnc ATTNC_BUILD=/build $2 " ]; then result "$1" ''; else result "$1" "$said"; fi
}
becomes command_of_python 'python tests/long.py /build/attnc' long ''
becomes command_of_cases 'python tests/long.py /build/attnc --only bad\*case' long 'bad*case'
becomes command_of_a_quarter 'tests/tidy.bash /build/tests --part 3/4' tidy '' 15
becomes quarter_of_no_cases '/build/tests/here' here '' 1
becomes command_of_program '/build/tests/here' here ''
becomes command_of_script 'tests/tidy.bash /build/tests' tidy ''

# Suites without a case that --only asks for are left out.
none='echo "no case matches"; exit 2'
said=$(
    source tests/lib/runner.bash
    only=a
    suite one bash -c "$passes"
    suite two bash -c "$none"
    run_suites "$folder/logs" 1 2>/dev/null
    finish_suites
) && says cases_of_others '2 passed, 0 failed, 0 skipped'
said=$(
    source tests/lib/runner.bash
    only=a
    suite two bash -c "$none"
    run_suites "$folder/logs" 1 2>/dev/null
    finish_suites
) && result no_case 'status 0' || result no_case ''
expect no_case_of_all 1 '2 passed, 1 failed, 0 skipped' "$passes" "$none"
echo "$count_ok passed, $count_failed failed"
[ $count_failed -eq 0 ]
