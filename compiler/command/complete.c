/* attnc --complete WORD…: what may take the place of the last word, for the completions of shells in
   compiler/install/completions. The first line says what the other lines are:
   - options: options, with `=` if they take a value
   - words, list, open: words, the last of several separated by commas, or words that may be continued
   - specs: words, and also files NAME.yaml
   - files, folders: nothing, because the shell knows these
   A line is a word, a tab and its meaning. */
#include "command_line.h"
#include "../spec/spec.h"

#include <string.h>

/* Returns the row of the option whose value the last word is, or NULL. Sets *value to the value. */
static const struct switch_row *option_before(int count, const char *const *word, const char **value)
{
    const char *const last = word[count - 1], *const equals = strncmp(last, "--", 2) == 0 ? strchr(last, '=') : NULL,
                      *const name = equals      ? last
                                    : count > 1 ? word[count - 2]
                                                : "";
    const size_t length = equals ? (size_t)(equals - last) : strlen(name);
    *value = equals ? equals + 1 : last;
    for (int k = 0; k < switch_row_count; k++) {
        const struct switch_row *const row = &switch_rows[k];
        const bool takes = row->value != VALUE_NONE && (row->value != VALUE_ATTACHED || equals);
        if (takes && strlen(row->name) == length && memcmp(row->name, name, length) == 0) return row;
    }
    return NULL;
}

static const char *kind_of(enum value_kind value)
{
    switch (value) {
    case VALUE_FILE:
    case VALUE_ATTACHED: return "files";
    case VALUE_FOLDER: return "folders";
    case VALUE_SET: return "open";
    case VALUE_OUTPUTS:
    case VALUE_TARGETS: return "list";
    default: return "words";
    }
}

static void add_options(enum command_number command, struct text *out)
{
    text_add(out, "options\n");
    for (int k = 0; k < switch_row_count; k++) {
        const struct switch_row *const row = &switch_rows[k];
        const bool equals = row->value != VALUE_NONE && row->value != VALUE_ATTACHED && row->name[1] == '-';
        if (row->commands & 1U << command) text_add(out, "%s%s\t%s\n", row->name, equals ? "=" : "", row->says);
    }
}

void complete(int count, const char *const *word, enum command_number command, struct text *out)
{
    const char *value = "";
    const struct switch_row *const row = count ? option_before(count, word, &value) : NULL;
    struct arena *const arena = arena_new();
    if (row) {
        const char *const *words = value_words(arena, row->value);
        text_add(out, "%s\n", kind_of(row->value));
        for (; words && *words; words++) text_add(out, "%s\t\n", *words);
    } else if (*value == '-')
        add_options(command, out);
    else {
        text_add(out, command_rows[command].operands == OPERANDS_SPECS ? "specs\n" : "words\n");
        for (int c = COMMAND_compile + 1; c < COMMANDS && count < 2; c++)
            text_add(out, "%s\t%s\n", command_rows[c].name, command_rows[c].says);
        const bool names = command_rows[command].operands == OPERANDS_NAMES;
        for (const struct library_spec *s = library_specs; s->name && names; s++) {
            const char *const says = library_description(arena, s);
            text_add(out, "%s\t%.*s\n", s->name, (int)strcspn(says, "\n"), says);
        }
    }
    arena_free(arena);
}
