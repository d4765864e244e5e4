/* Writes specs/README.md, the reference of the spec language. It is made from spec.md, spec.def and the specs in
   specs/. */
#include "manual.h"
#include "page.h"
#include "../spec/spec.h"

#include <string.h>

/* Adds text of a table cell, with escapes for `|` and `<`. */
static void add_cell(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '|' || *s == '<') text_append(out, "\\", 1);
        text_append(out, s, 1);
    }
}

/* Adds the options of a word, such as "`degree` (an even integer from 2 to 64; required): p". */
static void add_options(struct text *out, const struct option_row *option)
{
    const char *before = "";
    if (option->payload == PAYLOAD_BARE) return;
    for (int i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (row->group != option->group) continue;
        text_add(out, "%s", before);
        before = "<br>";
        if (option->payload == PAYLOAD_OPTIONS) text_add(out, "`%s` (", row->key);
        spec_row_domain(row, out);
        if (option->payload == PAYLOAD_OPTIONS) {
            text_add(out, "; ");
            manual_default(row, "default ", out);
            text_add(out, "): ");
            add_cell(out, row->says);
        }
    }
}

static void add_keys(struct text *out, enum group group)
{
    text_add(out, "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (row->group != group) continue;
        text_add(out, "| `%s` | ", row->key);
        spec_row_domain(row, out);
        text_add(out, " | ");
        manual_default(row, "", out);
        text_add(out, " | ");
        add_cell(out, row->says);
        text_add(out, " |\n");
    }
}

static void add_choice(struct text *out, enum choice choice)
{
    text_add(out, "\n### `%s`\n", choice_rows[choice].heading);
    if (choice_rows[choice].says) text_add(out, "\n%s\n", choice_rows[choice].says);
    bool options = false;
    for (int i = 0; i < option_row_count; i++)
        options |= option_rows[i].choice == choice && option_rows[i].payload != PAYLOAD_BARE;
    text_add(out, options ? "\n| word | meaning | options |\n| --- | --- | --- |\n"
                          : "\n| word | meaning |\n| --- | --- |\n");
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *option = &option_rows[i];
        if (option->choice != choice) continue;
        text_add(out, "| `%s` | ", option->word);
        add_cell(out, option->says);
        if (options) {
            text_add(out, " | ");
            add_options(out, option);
        }
        text_add(out, " |\n");
    }
}

/* Adds a table with a row for each spec that comes with attnc. */
static void add_variants(struct text *out)
{
    struct arena *arena = arena_new();
    text_add(out, "| spec | variant | source |\n| --- | --- | --- |\n");
    for (const struct library_spec *s = library_specs; s->name; s++) {
        char *variant = arena_copy(arena, library_description(arena, s)), *source = variant + strcspn(variant, "\n");
        if (*source) *source++ = 0;
        for (char *c = source; *c; c++)
            if (*c == '\n') *c = c[1] ? ' ' : 0;
        text_add(out, "| [%s](%s.yaml) | ", s->name, s->name);
        add_cell(out, variant);
        text_add(out, " | ");
        add_cell(out, source);
        text_add(out, " |\n");
    }
    arena_free(arena);
}

static void add_tables(struct text *out)
{
    text_add(out, "## Keys\n");
    add_keys(out, GROUP_SPEC);
    text_add(out, "\n### `shape`\n");
    add_keys(out, GROUP_SHAPE);
    text_add(out, "\n## Choices\n");
    for (int c = 0; c < CHOICES; c++) add_choice(out, (enum choice)c);
}

static bool begins(const char *line, const char *mark)
{
    return strncmp(line, mark, strlen(mark)) == 0;
}

void spec_reference(struct text *out)
{
    for (const char *line = manual_language; *line;) {
        const size_t length = strcspn(line, "\n") + 1;
        if (begins(line, MANUAL_KEYS))
            add_tables(out);
        else if (begins(line, "<!-- variants -->"))
            add_variants(out);
        else if (!manual_mark(line, out))
            text_append(out, line, length);
        line += length;
    }
}
