/* The rows of command_line.def as tables, and the words that options may take. */
#include "command.h"
#include "../driver/driver.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../target/target.h"

#include <string.h>

#define ON(command) (1U << COMMAND_##command)
#define ON_SPECS (ON(compile) | ON(explain) | ON(build) | ON(run) | ON(check) | ON(bench) | ON(tune))
#define ON_ALL (ON_SPECS | ON(list) | ON(show))

const struct output_row output_rows[OUTPUTS] = {
#define OUTPUT(name, says) {#name, says},
#include "command_line.def"
};

const struct command_row command_rows[COMMANDS] = {
#define COMMAND(name, operands, synopsis, says, more) {#name, synopsis, says, more, OPERANDS_##operands},
#include "command_line.def"
};

const struct switch_row switch_rows[] = {
#define OPTION(name, argument, value, to, commands, elsewhere, says) \
    {name, argument, says, VALUE_##value, commands, elsewhere},
#include "command_line.def"
};
const int switch_row_count = (int)(sizeof switch_rows / sizeof *switch_rows);

const char *const *value_words(struct arena *arena, enum value_kind kind)
{
    static const char *const colors[] = {"auto", "always", "never", NULL};
    const char **words;
    switch (kind) {
    case VALUE_NONE:
    case VALUE_TEXT:
    case VALUE_FILE:
    case VALUE_FOLDER:
    case VALUE_ATTACHED: break;
    case VALUE_COLOR: return colors;
    case VALUE_TARGETS: return target_names();
    case VALUE_SET: return set_words(arena);
    case VALUE_OUTPUTS:
        words = arena_alloc(arena, (OUTPUTS + 1) * sizeof *words);
        for (int k = 0; k < OUTPUTS; k++) words[k] = output_rows[k].name;
        return words;
    case VALUE_PASS:
        words = arena_alloc(arena, ((size_t)pass_count + 1) * sizeof *words);
        for (int k = 0; k < pass_count; k++) words[k] = passes[k].name;
        return words;
    }
    return NULL;
}

/* ---- keys of the spec as paths ---- */

struct paths {
    struct arena *arena;
    const char **word;
    int count, capacity;
};

static void add_path(struct paths *p, const char *path)
{
    p->word = arena_grow(p->arena, p->word, p->count + 1, &p->capacity, sizeof *p->word);
    p->word[p->count++] = path;
}

static void add_group(struct paths *p, enum group group, const char *prefix);

/* Adds PATH=WORD for each word of a choice, and the paths of their options. Items of lists are left out, because
   masks can be nested. */
static void add_choice(struct paths *p, enum choice choice, const char *path)
{
    for (int k = 0; k < option_row_count; k++) {
        const struct option_row *option = &option_rows[k];
        if (option->choice == choice && option->payload != PAYLOAD_VALUE)
            add_path(p, arena_printf(p->arena, "%s=%s", path, option->word));
    }
    for (int k = 0; k < option_row_count; k++) {
        const struct option_row *option = &option_rows[k];
        if (option->choice != choice || option->payload == PAYLOAD_BARE) continue;
        if (option->payload == PAYLOAD_OPTIONS)
            add_group(p, option->group, arena_printf(p->arena, "%s.%s.", path, option->word));
        else
            add_path(p, arena_printf(p->arena, "%s.%s=", path, option->word));
    }
}

static void add_group(struct paths *p, enum group group, const char *prefix)
{
    for (int k = 0; k < key_row_count; k++) {
        const struct key_row *row = &key_rows[k];
        if (row->group != group) continue;
        const char *path = arena_printf(p->arena, "%s%s", prefix, row->key);
        switch (row->type) {
        case ROW_CHOICE:
        case ROW_SWITCH:
        case ROW_SIMILARITY:
        case ROW_MASK: add_choice(p, (enum choice)row->of, path); break;
        case ROW_GROUP: add_group(p, (enum group)row->of, arena_printf(p->arena, "%s.", path)); break;
        case ROW_FLAG:
            add_path(p, arena_printf(p->arena, "%s=true", path));
            add_path(p, arena_printf(p->arena, "%s=false", path));
            break;
        case ROW_INTEGER:
        case ROW_NUMBER:
        case ROW_SEED:
        case ROW_NAME:
        case ROW_TEXT:
        case ROW_EXPRESSION:
        case ROW_PREPARE:
        case ROW_MASKS:
        case ROW_MASK_PART:
        case ROW_BLOCK:
        case ROW_COEFFICIENTS:
        case ROW_TOKENS:
        case ROW_NAMED:
        case ROW_EXTENTS:
        case ROW_ROWS:
        case ROW_ROW:
        case ROW_VALUES:
        case ROW_EMIT: add_path(p, arena_printf(p->arena, "%s=", path)); break;
        case ROW_SCHEDULE:
            for (int n = 0; n < KNOBS; n++)
                if (knob_table[n].of & KNOB_OF_FORWARD)
                    add_path(p, arena_printf(p->arena, "%s.%s=", path, knob_table[n].name));
            for (int n = 0; n < KNOBS; n++)
                if (knob_table[n].of & KNOB_OF_BACKWARD)
                    add_path(p, arena_printf(p->arena, "%s.%s=", path, knob_table[n].of_backward));
            break;
        }
    }
}

const char *const *set_words(struct arena *arena)
{
    struct paths p = {.arena = arena};
    add_group(&p, GROUP_SPEC, "");
    return p.word;
}
