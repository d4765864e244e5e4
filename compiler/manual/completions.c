/* Makes completions for bash, zsh and fish from the rows of command_line.def and the keys of specs. */
#include "manual.h"
#include "../command/command.h"

#include <string.h>

static bool is_list(enum value_kind kind)
{
    return kind == VALUE_OUTPUTS || kind == VALUE_TARGETS;
}

/* Adds text inside single quotes of a shell. If `brackets`, also escapes '[', ']' and ':', which are special in zsh. */
static void add_quoted(struct text *out, const char *s, bool brackets)
{
    for (; *s; s++)
        if (*s == '\'')
            text_add(out, "'\\''");
        else
            text_add(out, "%s%c", brackets && strchr("[]:", *s) ? "\\" : "", *s);
}

static void add_words(struct text *out, const char *const *words, const char *quote)
{
    for (int k = 0; words[k]; k++) text_add(out, " %s%s%s", quote, words[k], quote);
}

/* Adds a list of quoted words, in lines of at most 150 columns that begin with `indent`. */
static void add_wrapped(struct text *out, const char *const *words, const char *quote, const char *indent)
{
    size_t column = 1000;
    for (int k = 0; words[k]; k++) {
        const size_t length = strlen(words[k]) + 2 * strlen(quote) + 1;
        if (column + length > 150) {
            text_add(out, "\n%s", indent);
            column = strlen(indent);
        }
        text_add(out, "%s%s%s%s", column > strlen(indent) ? " " : "", quote, words[k], quote);
        column += length;
    }
}

static void command_words(struct text *out, const char *between)
{
    for (int c = COMMAND_compile + 1; c < COMMANDS; c++)
        text_add(out, "%s%s", c > COMMAND_compile + 1 ? between : "", command_rows[c].name);
}

/* ---- bash ---- */

static const char
    bash_functions[] = "# Offers the words that begin with $cur; bash splits words at an =.\n"
                       "_attnc_offer()\n"
                       "{\n"
                       "    local word\n"
                       "    for word; do\n"
                       "        if [[ $word == \"$cur\"* ]]; then COMPREPLY+=(\"$lead${word:skip}\"); fi\n"
                       "    done\n"
                       "}\n"
                       "\n"
                       "_attnc_list()\n"
                       "{\n"
                       "    local before=${cur%\"${cur##*,}\"}\n"
                       "    _attnc_offer \"${@/#/$before}\"\n"
                       "}\n"
                       "\n"
                       "_attnc_files() # OPTION… of compgen\n"
                       "{\n"
                       "    local -a files\n"
                       "    mapfile -t files < <(compgen \"$@\" -- \"$cur\")\n"
                       "    compopt -o filenames 2>/dev/null\n"
                       "    _attnc_offer \"${files[@]}\"\n"
                       "}\n"
                       "\n";

static void bash_value(struct text *out, const struct switch_row *row, const char *const *words)
{
    text_add(out, "    %s) ", row->name);
    switch (row->value) {
    case VALUE_NONE:
    case VALUE_ATTACHED: break;
    case VALUE_TEXT: text_add(out, "return"); break;
    case VALUE_FILE: text_add(out, "_attnc_files -f; return"); break;
    case VALUE_FOLDER: text_add(out, "_attnc_files -d; return"); break;
    case VALUE_SET: text_add(out, "compopt -o nospace 2>/dev/null; _attnc_offer \"${_attnc_keys[@]}\"; return"); break;
    case VALUE_OUTPUTS:
    case VALUE_TARGETS:
        text_add(out, "compopt -o nospace 2>/dev/null; _attnc_list");
        add_words(out, words, "");
        text_add(out, "; return");
        break;
    case VALUE_PASS:
    case VALUE_COLOR:
        text_add(out, "_attnc_offer");
        add_words(out, words, "");
        text_add(out, "; return");
        break;
    }
    text_add(out, " ;;\n");
}

static void bash_command(struct text *out, int c)
{
    text_add(out, "    %s)\n        if [[ $cur == -* ]]; then _attnc_offer",
             c == COMMAND_compile ? "*" : command_rows[c].name);
    for (int k = 0; k < switch_row_count; k++)
        if (switch_rows[k].commands & 1U << c) text_add(out, " %s", switch_rows[k].name);
    switch (command_rows[c].operands) {
    case OPERANDS_SPECS:
        text_add(out, "\n        else\n");
        if (c == COMMAND_compile) {
            text_add(out, "            if ((${#words[@]} == 2)); then _attnc_offer ");
            command_words(out, " ");
            text_add(out, "; fi\n");
        }
        text_add(out, "            _attnc_files -f -X '!*.yaml'\n            _attnc_files -d\n");
        break;
    case OPERANDS_NAMES:
        text_add(out, "\n        else _attnc_offer $(command \"${words[0]}\" list 2>/dev/null | sed -n 's/^  \\([^ "
                      "]*\\).*/\\1/p')\n");
        break;
    case OPERANDS_NOTHING: text_add(out, "\n"); break;
    }
    text_add(out, "        fi ;;\n");
}

void completions_bash(struct text *out)
{
    struct arena *arena = arena_new();
    text_add(out, "# bash completion of attnc, made from the tables of the compiler.\n\n_attnc_keys=(");
    add_wrapped(out, set_words(arena), "", "    ");
    text_add(out, ")\n\n%s", bash_functions);
    text_add(out,
             "_attnc()\n{\n"
             "    local line=${COMP_LINE:0:COMP_POINT} cur prev command= lead= skip part=${COMP_WORDS[COMP_CWORD]}\n"
             "    local -a words\n"
             "    COMPREPLY=()\n"
             "    read -ra words <<<\"$line\"\n"
             "    if [[ $line == *[[:space:]] ]]; then words+=(''); fi\n"
             "    cur=${words[-1]} prev=${words[-2]-}\n"
             "    if ((${#words[@]} > 2)); then command=${words[1]}; fi\n"
             "    if [[ $cur == --*=* ]]; then prev=${cur%%%%=*} cur=${cur#*=}; fi\n"
             "    if [[ $part == = ]]; then part=; fi\n"
             "    skip=$((${#cur} - ${#part}))\n"
             "    if ((skip < 0)); then lead=${part%%\"$cur\"} skip=0; fi\n"
             "    case $prev in\n");
    for (int k = 0; k < switch_row_count; k++)
        if (switch_rows[k].value != VALUE_NONE && switch_rows[k].value != VALUE_ATTACHED)
            bash_value(out, &switch_rows[k], value_words(arena, switch_rows[k].value));
    text_add(out, "    esac\n    case $command in\n");
    for (int c = COMMAND_compile + 1; c < COMMANDS; c++) bash_command(out, c);
    bash_command(out, COMMAND_compile);
    text_add(out, "    esac\n}\n\ncomplete -F _attnc attnc\n");
    arena_free(arena);
}

/* ---- zsh ---- */

static void zsh_option(struct text *out, const struct switch_row *row, const char *const *words)
{
    const bool doubled = strncmp(row->name, "--", 2) == 0;
    text_add(out, "            '%s%s%s[", row->value == VALUE_SET ? "*" : "", row->name,
             row->value == VALUE_NONE       ? ""
             : row->value == VALUE_ATTACHED ? "=-"
             : doubled                      ? "="
             : strlen(row->name) == 2       ? "+"
                                            : "");
    add_quoted(out, row->says, true);
    text_add(out, "]");
    if (row->value == VALUE_ATTACHED) text_add(out, "::FILE:_files");
    if (row->value != VALUE_NONE && row->value != VALUE_ATTACHED) text_add(out, ":%s:", row->argument);
    switch (row->value) {
    case VALUE_NONE:
    case VALUE_ATTACHED: break;
    case VALUE_TEXT: text_add(out, " "); break;
    case VALUE_FILE: text_add(out, "_files"); break;
    case VALUE_FOLDER: text_add(out, "_files -/"); break;
    case VALUE_SET: text_add(out, "_attnc_set"); break;
    case VALUE_OUTPUTS:
    case VALUE_TARGETS:
        text_add(out, "_values -s , %s", row->argument);
        add_words(out, words, "");
        break;
    case VALUE_PASS:
    case VALUE_COLOR:
        text_add(out, "(");
        for (int k = 0; words[k]; k++) text_add(out, "%s%s", k ? " " : "", words[k]);
        text_add(out, ")");
        break;
    }
    text_add(out, "' \\\n");
}

static void zsh_command(struct text *out, struct arena *arena, int c)
{
    text_add(out, "    %s)\n        _arguments \\\n", c == COMMAND_compile ? "*" : command_rows[c].name);
    for (int k = 0; k < switch_row_count; k++)
        if (switch_rows[k].commands & 1U << c)
            zsh_option(out, &switch_rows[k], value_words(arena, switch_rows[k].value));
    switch (command_rows[c].operands) {
    case OPERANDS_SPECS: text_add(out, "            '*:spec:_files -g \"*.yaml\"' ;;\n"); break;
    case OPERANDS_NAMES:
        text_add(out,
                 "            '*:spec:($(_call_program names attnc list | sed -n \"s/^  \\([^ ]*\\).*/\\1/p\"))' ;;\n");
        break;
    case OPERANDS_NOTHING: text_add(out, "            && return ;;\n"); break;
    }
}

void completions_zsh(struct text *out)
{
    struct arena *arena = arena_new();
    text_add(out, "#compdef attnc\n# zsh completion of attnc, made from the tables of the compiler.\n\n_attnc_set() "
                  "{\n    local -a keys=(");
    add_wrapped(out, set_words(arena), "'", "        ");
    text_add(out, "\n    )\n    compadd -S '' -a keys\n}\n\n_attnc() {\n    local -a commands=(\n");
    for (int c = COMMAND_compile + 1; c < COMMANDS; c++) {
        text_add(out, "        '%s:", command_rows[c].name);
        add_quoted(out, command_rows[c].says, false);
        text_add(out, "'\n");
    }
    text_add(out,
             "    )\n    local command=\n    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then _describe command "
             "commands; fi\n"
             "    if ((CURRENT > 2)) && [[ -n ${commands[(r)$words[2]:*]} ]]; then\n"
             "        command=$words[2]\n        shift words\n        ((CURRENT--))\n    fi\n    case $command in\n");
    for (int c = COMMAND_compile + 1; c < COMMANDS; c++) zsh_command(out, arena, c);
    zsh_command(out, arena, COMMAND_compile);
    text_add(out, "    esac\n}\n\n_attnc \"$@\"\n");
    arena_free(arena);
}

/* ---- fish ---- */

static void fish_condition(struct text *out, unsigned commands)
{
    unsigned all = (1U << COMMANDS) - 1;
    if ((commands & all) == all) return;
    text_add(out, " -n '");
    if (commands & 1U << COMMAND_compile) {
        text_add(out, "not __fish_seen_subcommand_from");
        for (int c = COMMAND_compile + 1; c < COMMANDS; c++)
            if (!(commands & 1U << c)) text_add(out, " %s", command_rows[c].name);
    } else {
        text_add(out, "__fish_seen_subcommand_from");
        for (int c = COMMAND_compile + 1; c < COMMANDS; c++)
            if (commands & 1U << c) text_add(out, " %s", command_rows[c].name);
    }
    text_add(out, "'");
}

static void fish_option(struct text *out, const struct switch_row *row, const char *const *words)
{
    text_add(out, "complete -c attnc");
    fish_condition(out, row->commands);
    if (strncmp(row->name, "--", 2) == 0)
        text_add(out, " -l %s", row->name + 2);
    else
        text_add(out, " %s %s", strlen(row->name) == 2 ? "-s" : "-o", row->name + 1);
    switch (row->value) {
    case VALUE_NONE:
    case VALUE_ATTACHED: break;
    case VALUE_TEXT: text_add(out, " -x"); break;
    case VALUE_FILE: text_add(out, " -rF"); break;
    case VALUE_FOLDER: text_add(out, " -xa '(__fish_complete_directories)'"); break;
    case VALUE_SET: text_add(out, " -xa '$__attnc_keys'"); break;
    case VALUE_OUTPUTS:
    case VALUE_TARGETS:
    case VALUE_PASS:
    case VALUE_COLOR:
        text_add(out, is_list(row->value) ? " -xa '(__attnc_list" : " -xa '");
        for (int k = 0; words[k]; k++) text_add(out, "%s%s", k || is_list(row->value) ? " " : "", words[k]);
        text_add(out, is_list(row->value) ? ")'" : "'");
        break;
    }
    text_add(out, " -d '");
    for (const char *s = row->says; *s; s++) text_add(out, *s == '\'' ? "\\'" : "%c", *s);
    text_add(out, "'\n");
}

void completions_fish(struct text *out)
{
    struct arena *arena = arena_new();
    unsigned on_specs = 0, on_names = 0;
    text_add(out, "# fish completion of attnc, made from the tables of the compiler.\n\nset -g __attnc_keys");
    for (const char *const *words = set_words(arena); *words; words++) text_add(out, " \\\n    '%s'", *words);
    text_add(out, "\n\nfunction __attnc_list\n"
                  "    set -l typed (string replace -r '^--[^=]*=' '' -- (commandline -ct))\n"
                  "    set -l before (string replace -r '[^,]*$' '' -- $typed)\n"
                  "    printf '%%s\\n' $before$argv\n"
                  "end\n\ncomplete -c attnc -f\n");
    for (int c = COMMAND_compile; c < COMMANDS; c++) {
        if (command_rows[c].operands == OPERANDS_SPECS) on_specs |= 1U << c;
        if (command_rows[c].operands == OPERANDS_NAMES) on_names |= 1U << c;
        if (c == COMMAND_compile) continue;
        text_add(out, "complete -c attnc -n __fish_is_first_token -a %s -d '", command_rows[c].name);
        for (const char *s = command_rows[c].says; *s; s++) text_add(out, *s == '\'' ? "\\'" : "%c", *s);
        text_add(out, "'\n");
    }
    text_add(out, "complete -c attnc");
    fish_condition(out, on_specs);
    text_add(out, " -ka '(__fish_complete_suffix .yaml)'\ncomplete -c attnc");
    fish_condition(out, on_names);
    text_add(out, " -a '(attnc list 2>/dev/null | string replace -rf \"^  (\\S+).*\" \"\\$1\")'\n");
    for (int k = 0; k < switch_row_count; k++)
        fish_option(out, &switch_rows[k], value_words(arena, switch_rows[k].value));
    arena_free(arena);
}
