# Runs suites in parallel and counts their results, for ./dev. A suite prints `ok NAME`, `FAIL NAME why` or `skip NAME
# why` for each case, and at last `N passed, N failed, N skipped`.

# ---- the list of suites, tests/suites.txt

listed=() # the names of suites, in the order of the list
declare -A groups_of build_of line_of
read_suites() { # usage: read_suites FILE
    local name groups build when line
    while read -r name groups build when line; do
        case $name in '' | '#'*) continue ;; esac
        case $when in
        - | demo) ;;
        *) [ "$when" = "$(uname -m)" ] || continue ;;
        esac
        listed+=("$name")
        groups_of[$name]=$groups build_of[$name]=$build line_of[$name]=$line
    done <"$1"
}

is_named() { # usage: is_named SUITE WORD. Succeeds if WORD is the name of the suite or of one of its groups.
    case ,$1,${groups_of[$1]}, in *",$2,"*) ;; *) return 1 ;; esac
}

chosen=()
# Chooses suites by names and groups, or all suites. Returns status 2 if a name is unknown.
choose_suites() { # usage: choose_suites NAME…
    local name word found
    for word; do
        found=
        for name in "${listed[@]}"; do ! is_named "$name" "$word" || found=1; done
        if [ -z "$found" ]; then
            echo "dev: error: there is no suite '$word'; './dev test --list' shows their names" >&2
            return 2
        fi
    done
    for name in "${listed[@]}"; do
        found=
        for word; do ! is_named "$name" "$word" || found=1; done
        if [ $# -eq 0 ] || [ -n "$found" ]; then chosen+=("$name"); fi
    done
}

only= # the pattern of the cases to run, or empty
turn= # a number: which part of the cases suites with QUARTER run; or empty: all cases
# Sets the command of a suite. Words such as BUILD and ATTNC are replaced.
add_suite() { # usage: add_suite NAME BUILD-FOLDER
    local name=$1 build=$2 word words=()
    for word in ${line_of[$name]}; do
        case $word in
        ATTNC) words+=("$build/attnc") ;;
        BUILD/*) words+=("$build/${word#BUILD/}") ;;
        ONLY) [ -z "$only" ] || words+=(--only "$only") ;;
        QUARTER) [ -z "$turn" ] || words+=(--part "$((turn % 4))/4") ;;
        *.py) words+=("$PYTHON" "$word") ;;
        *) words+=("$word") ;;
        esac
    done
    suite "$name" env ATTNC="$build/attnc" ATTNC_BUILD="$build" "${words[@]}"
}

# ---- running the suites

suites=()
declare -A command_of
suite() { # usage: suite NAME COMMAND…. run_suites will run the command.
    local name=$1
    shift
    suites+=("$name")
    command_of[$name]=$(printf '%q ' "$@")
}

passed=0
failed=0
skipped=0
used=0 # seconds of CPU
reasons=()
finish_suite() { # usage: finish_suite NAME STATUS LOG SECONDS SECONDS-OF-CPU
    local name=$1 status=$2 log=$3 seconds=$4 cpu=$5 last p=0 f=0 s=0 line
    last=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1 || :)
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
        p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[4]:-0}
        if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
        # A case was skipped without a reason, or counted as passed.
        if [ "$(grep -c '^skip ' "$log")" -ne "$s" ]; then
            f=$((f + 1))
            echo "FAIL $name counts $s skipped, and says why for $(grep -c '^skip ' "$log")"
        fi
    elif [ -n "$only" ] && [ "$status" -eq 2 ] && grep -q '^no case matches' "$log"; then
        return
    else
        f=1
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) used=$((used + ${cpu:-0}))
    while read -r line; do reasons+=("$name: ${line#skip }"); done < <(grep '^skip ' "$log")
    printf '%-32s %5d passed, %d failed, %d skipped (%d s, %s s of CPU)\n' "$name" "$p" "$f" "$s" "$seconds" "$cpu"
    if [ "$f" -gt 0 ]; then
        grep -E '^FAIL' "$log" | head -n 20 || tail -n 20 "$log"
        if [ "$status" -ne 0 ] && [ -z "$last" ]; then tail -n 20 "$log"; fi
        echo "  exit status $status; all of it: $log"
    fi
}

# Prints the CPU seconds of a shell and its children. FILE has the output of `times`.
seconds_of_cpu() { # usage: seconds_of_cpu FILE
    local line
    line=$(tail -n 1 "$1")
    [[ $line =~ ^([0-9]+)m([0-9]+).*\ ([0-9]+)m([0-9]+) ]] || return 0
    echo $((60 * (BASH_REMATCH[1] + BASH_REMATCH[3]) + BASH_REMATCH[2] + BASH_REMATCH[4]))
}

# The part of a line that was read before a time-out.
half_read=
read_line() { # usage: read_line DESCRIPTOR SECONDS. Sets $line.
    local part whole=0
    read -r -t "$2" -u "$1" part || whole=1
    half_read+=$part
    [ $whole -eq 0 ] || return 1
    line=$half_read half_read=
}

run_suites() { # usage: run_suites LOGS JOBS
    local logs=$1 jobs=$2 name status next=0 ended line first=$SECONDS
    declare -A began=()
    rm -rf "$logs"
    mkdir -p "$logs"
    mkfifo "$logs/ended"
    exec {ended}<>"$logs/ended"
    while [ $next -lt ${#suites[@]} ] || [ ${#began[@]} -gt 0 ]; do
        while [ $next -lt ${#suites[@]} ] && [ ${#began[@]} -lt "$jobs" ]; do
            name=${suites[next]}
            next=$((next + 1))
            began[$name]=$SECONDS
            mkdir -p "$logs/$name.tmp"
            { # each process reports its end, because `wait -n` misses some
                status=0
                TMPDIR="$logs/$name.tmp" timeout 2400 bash -c "${command_of[$name]}" \
                    >"$logs/${name//\//-}.log" 2>&1 </dev/null {ended}>&- || status=$?
                times >"$logs/${name//\//-}.times"
                echo "$name $status" >&"$ended"
            } &
        done
        if read_line "$ended" 20; then
            read -r name status <<<"$line"
            finish_suite "$name" "$status" "$logs/${name//\//-}.log" $((SECONDS - began[$name])) \
                "$(seconds_of_cpu "$logs/${name//\//-}.times")"
            unset "began[$name]"
        else
            printf '  running: %s (%d s)\n' "${!began[*]}" "$SECONDS" >&2
        fi
    done
    exec {ended}>&-
    local seconds=$((SECONDS - first))
    printf '%d suites in %d s, %d s of CPU, which is %d%% of %d processors\n' ${#suites[@]} $seconds $used \
        $((seconds > 0 ? 100 * used / seconds / jobs : 0)) "$jobs"
}

# Prints skipped cases with reasons, then the counts. Returns status 0 if something passed and nothing failed.
finish_suites() {
    if [ ${#reasons[@]} -gt 0 ]; then
        echo 'skipped:'
        printf '  %s\n' "${reasons[@]}"
    fi
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
