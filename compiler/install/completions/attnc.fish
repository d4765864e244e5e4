# fish completion of attnc, which knows its words: attnc --complete prints them.

function __attnc_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (command $words[1] --complete $words[2..] 2>/dev/null)
    set -l lead (string replace -r '^((?:--[^=]*=)?).*$' '$1' -- "$words[-1]")
    set -l value (string replace -r '^--[^=]*=' '' -- "$words[-1]")
    switch "$found[1]"
        case files
            __fish_complete_path "$value"
        case folders
            __fish_complete_directories "$value"
        case list
            set lead "$lead"(string replace -r '[^,]*$' '' -- "$value")
        case options
            set found (string match -- "$words[-1]*" $found | string replace -r '=(\t|$)' '$1')
            set --prepend found options
        case specs
            __fish_complete_suffix .yaml
    end
    printf '%s\n' "$lead"$found[2..]
end

complete -c attnc -f -a '(__attnc_complete)'
