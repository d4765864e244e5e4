/* Makes tables from the rows of spec.def, and describes the values of a row as text. */
#include "reader.h"
#include "spec.h"

#include <string.h>

#define OF(type, member) offsetof(struct type, member)
#define NOWHERE SIZE_MAX
#define MAX 2147483647

const struct key_row key_rows[] = {
#define KEY(group, key, type, of, check, low, high, otherwise, field, has, at, says) \
    {GROUP_##group, #key, ROW_##type, of, CHECK_##check, low, high, otherwise, field, has, at, says},
#include "spec.def"
};
const int key_row_count = (int)(sizeof key_rows / sizeof *key_rows);

const struct choice_row choice_rows[] = {
#define CHOICE(choice, heading, says) {heading, says},
#include "spec.def"
};

const struct option_row option_rows[] = {
#define OPTION(choice, word, value, payload, group, says) \
    {CHOICE_##choice, #word, value, PAYLOAD_##payload, group, says},
#include "spec.def"
};
const int option_row_count = (int)(sizeof option_rows / sizeof *option_rows);

const struct key_row *spec_find_key(enum group group, const char *key)
{
    for (int i = 0; i < key_row_count; i++)
        if (key_rows[i].group == group && strcmp(key_rows[i].key, key) == 0) return &key_rows[i];
    return NULL;
}

const struct option_row *spec_find_option(enum choice choice, const char *word)
{
    for (int i = 0; i < option_row_count; i++)
        if (option_rows[i].choice == choice && strcmp(option_rows[i].word, word) == 0) return &option_rows[i];
    return NULL;
}

const char *const *spec_key_words(struct arena *arena, enum group group)
{
    const char **words = arena_alloc(arena, ((size_t)key_row_count + 1) * sizeof *words);
    int count = 0;
    for (int i = 0; i < key_row_count; i++)
        if (key_rows[i].group == group) words[count++] = key_rows[i].key;
    return words;
}

const char *const *spec_option_words(struct arena *arena, enum choice choice)
{
    const char **words = arena_alloc(arena, ((size_t)option_row_count + 1) * sizeof *words);
    int count = 0;
    for (int i = 0; i < option_row_count; i++)
        if (option_rows[i].choice == choice) words[count++] = option_rows[i].word;
    return words;
}

static void add_words(struct text *out, enum choice choice)
{
    const char *before = "";
    for (int i = 0; i < option_row_count; i++)
        if (option_rows[i].choice == choice) {
            text_add(out, "%s%s", before, option_rows[i].word);
            before = ", ";
        }
}

static void add_integer(struct text *out, const struct key_row *row)
{
    static const char *const kind[] = {
        [CHECK_ANY] = "an integer", [CHECK_EVEN] = "an even integer", [CHECK_POWER_OF_TWO] = "a power of two"};
    text_add(out, "%s from %lld to %lld", kind[row->check], (long long)row->low, (long long)row->high);
}

bool spec_row_takes_numbers(const struct key_row *row)
{
    return row->of == EXPRESSION_QUERY || row->of == EXPRESSION_POSITION || row->of == EXPRESSION_DECAY;
}

void spec_row_domain(const struct key_row *row, struct text *out)
{
    switch (row->type) {
    case ROW_INTEGER: add_integer(out, row); break;
    case ROW_NUMBER: {
        static const char *const kind[] = {[CHECK_FINITE] = "a finite number",
                                           [CHECK_POSITIVE] = "a finite number above 0",
                                           [CHECK_NOT_NEGATIVE] = "a finite number, 0 or above",
                                           [CHECK_PROBABILITY] = "a number from 0 to below 1",
                                           [CHECK_NOT_ZERO] = "a finite number other than 0"};
        text_add(out, "%s", kind[row->check]);
        break;
    }
    case ROW_FLAG: text_add(out, "true or false"); break;
    case ROW_SEED: text_add(out, "an integer from 0 to 18446744073709551615"); break;
    case ROW_NAME: text_add(out, "a C identifier"); break;
    case ROW_TEXT: text_add(out, "text"); break;
    case ROW_EXPRESSION:
        text_add(out, "%san expression, as text", spec_row_takes_numbers(row) ? "a number, or " : "");
        break;
    case ROW_CHOICE:
    case ROW_SWITCH:
    case ROW_SIMILARITY:
    case ROW_MASK:
        text_add(out, row->of == CHOICE_PROJECT ? "" : "one of ");
        add_words(out, (enum choice)row->of);
        break;
    case ROW_GROUP: text_add(out, "a map"); break;
    case ROW_PREPARE:
    case ROW_EMIT:
        text_add(out, "a list of ");
        add_words(out, (enum choice)row->of);
        break;
    case ROW_MASKS: text_add(out, "a list of masks"); break;
    case ROW_MASK_PART: text_add(out, "a mask"); break;
    case ROW_BLOCK:
        add_integer(out, row);
        text_add(out, ", or auto");
        break;
    case ROW_COEFFICIENTS: text_add(out, "a list of finite numbers, or param"); break;
    case ROW_TOKENS:
        text_add(out, "a list of integers from %lld to %lld", (long long)row->low, (long long)row->high);
        break;
    case ROW_SCHEDULE: text_add(out, "a map of integers, or a list of such maps"); break;
    case ROW_NAMED: {
        int first = 0;
        while (key_rows[first].group != (enum group)row->of) first++;
        text_add(out, "a map of %s, NAME: {%s: …}", row->key, key_rows[first].key);
        break;
    }
    case ROW_ROWS: text_add(out, "a list of arrays"); break;
    case ROW_ROW: text_add(out, "%s%san array", row->otherwise, *row->otherwise ? " or " : ""); break;
    case ROW_VALUES: text_add(out, "v, an array, or 1"); break;
    case ROW_EXTENTS: text_add(out, "a list of integers and of B, H, G, Nq, Nk, D, E"); break;
    }
}
