# bash completion of attnc, which knows its words: attnc --complete prints them.

# Offers the words that begin with $cur; bash splits words at an =.
_attnc_offer()
{
    local word
    for word; do
        if [[ $word == "$cur"* ]]; then COMPREPLY+=("$lead${word:skip}"); fi
    done
}

_attnc_files() # OPTION… of compgen
{
    local -a files
    mapfile -t files < <(compgen "$@" -- "$cur")
    compopt -o filenames 2>/dev/null
    _attnc_offer "${files[@]}"
}

_attnc()
{
    local line=${COMP_LINE:0:COMP_POINT} cur lead= skip part=${COMP_WORDS[COMP_CWORD]}
    local -a words found
    COMPREPLY=()
    read -ra words <<<"$line"
    if [[ $line == *[[:space:]] ]]; then words+=(''); fi
    mapfile -t found < <(command "${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
    found=("${found[@]%%$'\t'*}")
    cur=${words[-1]}
    if [[ $cur == --*=* ]]; then cur=${cur#*=}; fi
    if [[ $part == = ]]; then part=; fi
    skip=$((${#cur} - ${#part}))
    if ((skip < 0)); then lead=${part%"$cur"} skip=0; fi
    case ${found[0]} in
    list | open) compopt -o nospace 2>/dev/null ;;
    options) found=("${found[@]%=}") ;;
    esac
    case ${found[0]} in
    list) found=("${found[@]/#/${cur%"${cur##*,}"}}") ;;
    files) _attnc_files -f ;;
    folders) _attnc_files -d ;;
    esac
    _attnc_offer "${found[@]:1}"
    if [[ ${found[0]} == specs ]]; then
        _attnc_files -f -X '!*.yaml'
        _attnc_files -d
    fi
}

complete -F _attnc attnc
