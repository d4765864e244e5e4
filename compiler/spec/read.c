/* Reads a YAML tree into a struct spec, guided by the rows of spec.def. check.c checks conditions on several keys. */
#include "reader.h"
#include "spec.h"
#include "../expression/expression.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mask *read_mask(struct spec_reader *r, const struct key_row *row, struct yaml *node);

static void mismatch(struct spec_reader *r, const struct key_row *row, struct yaml *node)
{
    struct text domain = {0};
    spec_row_domain(row, &domain);
    spec_error(r, node, "'%s': expected %s, found %s", row->key, domain.data, spec_found(r, node));
    text_free(&domain);
    double above, below;
    char after;
    const bool number = row->type == ROW_NUMBER || row->type == ROW_INTEGER;
    if (number && node->kind == YAML_WORD && sscanf(node->text, "%lf / %lf%c", &above, &below, &after) == 2 &&
        below != 0)
        spec_note(r, node, "YAML has no fractions: write %.17g", above / below);
}

static void store(void *into, size_t field, const void *value, size_t bytes)
{
    if (field != SIZE_MAX) memcpy((char *)into + field, value, bytes);
}

/* ---- numbers ---- */

static bool in_range(const struct key_row *row, const struct yaml *node)
{
    const int64_t n = node->integer;
    if (node->kind != YAML_INT || n < row->low || n > row->high) return false;
    if (row->check == CHECK_EVEN) return n % 2 == 0;
    return row->check != CHECK_POWER_OF_TWO || (n & (n - 1)) == 0;
}

static bool number_fits(const struct key_row *row, const struct yaml *node)
{
    if ((node->kind != YAML_INT && node->kind != YAML_REAL) || !isfinite(node->real)) return false;
    switch (row->check) {
    case CHECK_POSITIVE: return node->real > 0;
    case CHECK_NOT_NEGATIVE: return node->real >= 0;
    case CHECK_PROBABILITY: return node->real >= 0 && node->real < 1;
    case CHECK_NOT_ZERO: return node->real < 0 || node->real > 0;
    case CHECK_ANY:
    case CHECK_EVEN:
    case CHECK_POWER_OF_TWO:
    case CHECK_FINITE: break;
    }
    return true;
}

static bool read_seed(const struct yaml *node, uint64_t *seed)
{
    if (node->kind == YAML_INT && node->integer >= 0) {
        *seed = (uint64_t)node->integer;
        return true;
    }
    /* Integers from 2^63 on are read as YAML_REAL, so this reads the text again. */
    if (node->kind != YAML_REAL || node->text[strspn(node->text, "0123456789")] != 0) return false;
    errno = 0;
    const unsigned long long value = strtoull(node->text, NULL, 10);
    *seed = value;
    return errno == 0;
}

/* Returns whether the node is a list with items. Reports another node. */
static bool is_list(struct spec_reader *r, const struct key_row *row, struct yaml *node)
{
    const bool is = node->kind == YAML_LIST && node->count > 0;
    if (!is) mismatch(r, row, node);
    return is;
}

static void read_coefficients(struct spec_reader *r, const struct key_row *row, struct yaml *node, void *into)
{
    if (node->kind == YAML_WORD && strcmp(node->text, "param") == 0) return;
    if (!is_list(r, row, node)) return;
    double *values = arena_alloc(r->arena, (size_t)node->count * sizeof *values);
    for (int i = 0; i < node->count; i++) {
        struct yaml *item = node->item[i];
        if ((item->kind != YAML_INT && item->kind != YAML_REAL) || !isfinite(item->real))
            spec_error(r, item, "'%s': expected a finite number, found %s", row->key, spec_found(r, item));
        values[i] = item->real;
    }
    store(into, row->field, &values, sizeof values);
}

static int compare_tokens(const void *pa, const void *pb)
{
    const struct yaml *a = *(struct yaml *const *)pa, *b = *(struct yaml *const *)pb;
    if (a->integer != b->integer) return a->integer < b->integer ? -1 : 1;
    if (a->at.line != b->at.line) return a->at.line < b->at.line ? -1 : 1;
    return a->at.column < b->at.column ? -1 : a->at.column > b->at.column;
}

static void read_tokens(struct spec_reader *r, const struct key_row *row, struct yaml *node, struct mask *mask)
{
    if (!is_list(r, row, node)) return;
    if (node->count > MAX_TOKENS) {
        spec_error(r, node, "'%s' has %d tokens; the maximum is %d", row->key, node->count, MAX_TOKENS);
        return;
    }
    struct yaml **sorted = arena_alloc(r->arena, (size_t)node->count * sizeof *sorted);
    mask->token = arena_alloc(r->arena, (size_t)node->count * sizeof *mask->token);
    int count = 0;
    for (int i = 0; i < node->count; i++) {
        struct yaml *item = node->item[i];
        mask->token[mask->tokens++] = item->integer;
        if (in_range(row, item))
            sorted[count++] = item;
        else
            spec_error(r, item, "'%s': expected an integer from %lld to %lld, found %s", row->key, (long long)row->low,
                       (long long)row->high, spec_found(r, item));
    }
    qsort(sorted, (size_t)count, sizeof *sorted, compare_tokens);
    for (int i = 1; i < count; i++)
        if (sorted[i]->integer == sorted[i - 1]->integer) {
            spec_error(r, sorted[i], "'%s': %lld is given twice", row->key, (long long)sorted[i]->integer);
            spec_place(r, sorted[i - 1], "the first");
        }
}

/* ---- shapes of arrays ---- */

static const char *const extent_names[] = {
    [EXTENT_NUMBER] = "", [EXTENT_B] = "B",   [EXTENT_H] = "H", [EXTENT_G] = "G",
    [EXTENT_NQ] = "Nq",   [EXTENT_NK] = "Nk", [EXTENT_D] = "D", [EXTENT_E] = "E"};
enum { EXTENTS = sizeof extent_names / sizeof *extent_names, MAX_AXES_OF_ARRAY = 4 };

const char *array_extent_name(enum array_extent extent)
{
    return extent_names[extent];
}

/* Reads a size such as "Nk" or "Nk / 64". If the text is not a size, the extent of the result is EXTENT_NUMBER. */
static struct user_axis axis_of(const char *text, int64_t most)
{
    const size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    const char *rest = text + length + strspn(text + length, " ");
    struct user_axis axis = {EXTENT_NUMBER, 1};
    int k = EXTENTS - 1;
    while (k > 0 && (strlen(extent_names[k]) != length || strncmp(extent_names[k], text, length) != 0)) k--;
    if (*rest == '/') {
        rest += 1 + strspn(rest + 1, " ");
        const size_t digits = strspn(rest, "0123456789");
        if (digits == 0 || digits > 18 || rest[digits]) return axis;
        axis.number = strtoll(rest, NULL, 10);
        if (axis.number < 1 || axis.number > most) return axis;
    } else if (*rest)
        return axis;
    axis.extent = (enum array_extent)k;
    return axis;
}

static void read_extents(struct spec_reader *r, const struct key_row *row, struct yaml *node, struct user_array *a)
{
    if (node->kind != YAML_LIST) {
        spec_error(r, node, "'%s': expected a list of sizes such as [H, 255], found %s", row->key, spec_found(r, node));
        return;
    }
    if (node->count > MAX_AXES_OF_ARRAY) {
        spec_error(r, node, "'%s' has %d axes; the maximum is %d", row->key, node->count, MAX_AXES_OF_ARRAY);
        return;
    }
    for (int k = 0; k < node->count; k++) {
        struct yaml *item = node->item[k];
        struct user_axis *const axis = &a->axis[a->rank++];
        if (item->kind == YAML_INT && item->integer >= row->low && item->integer <= row->high) {
            *axis = (struct user_axis){EXTENT_NUMBER, item->integer};
            continue;
        }
        *axis = axis_of(item->kind == YAML_WORD ? item->text : "", row->high);
        if (axis->extent == EXTENT_NUMBER) {
            spec_error(r, item,
                       "'%s': expected an integer from %lld to %lld or one of B, H, G, Nq, Nk, D, E, or one of them "
                       "divided by an integer, found %s",
                       row->key, (long long)row->low, (long long)row->high, spec_found(r, item));
            continue;
        }
        if (axis->number > 1 && (axis->extent == EXTENT_B || axis->extent == EXTENT_H || axis->extent == EXTENT_G))
            spec_error(r, item, "'%s': an axis of divided B, H or G is not compiled yet", row->key);
        for (int before = 0; before < k; before++)
            if (a->axis[before].extent == axis->extent)
                spec_error(r, item, "'%s': two axes of size %s are not compiled yet", row->key, item->text);
    }
}

/* ---- text ---- */

bool spec_is_identifier(const char *text)
{
    if (!(*text == '_' || (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z'))) return false;
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == 0;
}

enum { MAX_EXPRESSIONS = 200 };

struct inside {
    struct spec_reader *r;
    struct yaml *node;
};

static void report_inside(void *user, size_t offset, enum expression_says says, const char *message)
{
    const struct inside *x = user;
    spec_say_inside(x->r, x->node, offset, says, message);
}

static void read_expression(struct spec_reader *r, const struct key_row *row, struct yaml *node, void *into)
{
    const bool number = spec_row_takes_numbers(row) && (node->kind == YAML_INT || node->kind == YAML_REAL);
    if (!number && (node->kind != YAML_WORD || !node->text[strspn(node->text, " \t\r\n")])) {
        mismatch(r, row, node);
        return;
    }
    if (!node->expression) {
        if (r->expressions++ == MAX_EXPRESSIONS)
            spec_error(r, node, "more than %d expressions in one spec", MAX_EXPRESSIONS);
        if (r->expressions > MAX_EXPRESSIONS) return;
        struct inside inside = {r, node};
        node->expression = expression_read(r->arena, node->text, (enum expression_place)row->of, &r->spec->arrays,
                                           report_inside, &inside);
        node->wrong = !node->expression;
        if (node->wrong) return;
        node->expression->at = node->at;
        node->expression->key = row->key;
        for (int k = 0; k < node->expression->exponentials; k++) {
            struct exponential *x = &node->expression->exponential[k];
            if (!node->origin) x->at = yaml_place(node, x->offset);
        }
        for (int name = 0; name < EXPRESSION_NAMES; name++) {
            struct name_use *use = &node->expression->first_use[name];
            if (node->expression->uses[name] && !node->origin) use->at = yaml_place(node, use->offset);
        }
        for (int k = 0; k < node->expression->elements; k++) {
            struct element *e = &node->expression->element[k];
            e->at = node->origin ? node->at : yaml_place(node, e->offset);
        }
    }
    store(into, row->field, &node->expression, sizeof(struct expression *));
}

/* ---- choices ---- */

static bool needs_options(enum group group)
{
    for (int i = 0; i < key_row_count; i++)
        if (key_rows[i].group == group && !key_rows[i].otherwise) return true;
    return false;
}

/* Reports that a word lacks options. */
static void report_bare(struct spec_reader *r, const struct option_row *option, struct yaml *word)
{
    struct text keys = {0}, example = {0};
    for (int i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (row->group != option->group || row->otherwise) continue;
        text_add(&keys, "%s'%s'", keys.length ? " and " : "", row->key);
        text_add(&example, "%s%s: …", example.length ? ", " : "", row->key);
    }
    spec_error(r, word, "'%s' needs %s", option->word, keys.data);
    spec_note(r, word, "write {%s: {%s}}", option->word, example.data);
    text_free(&keys);
    text_free(&example);
}

/* Returns the word of the language for the name of a type in other programs, or NULL. */
static const char *other_name(enum choice choice, const char *text)
{
    static const char *const names[][2] = {
        {"float16", "f16"}, {"half", "f16"},   {"fp16", "f16"},  {"bfloat16", "bf16"}, {"float32", "f32"},
        {"float", "f32"},   {"single", "f32"}, {"fp32", "f32"},  {"float64", "f64"},   {"double", "f64"},
        {"fp64", "f64"},    {"int32", "int"},  {"int64", "int"}, {"uint8", "bool"},    {"boolean", "bool"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(text, names[k][0]) == 0 && spec_find_option(choice, names[k][1])) return names[k][1];
    return NULL;
}

/* Tells how to write a value that stands in place of a map of options: as the first option of its kind. */
static void note_first_option(struct spec_reader *r, const struct option_row *option, const struct yaml *value)
{
    const bool number = value->kind == YAML_INT || value->kind == YAML_REAL;
    for (int i = 0; i < key_row_count && value->kind != YAML_LIST; i++) {
        const enum row_type type = key_rows[i].type;
        if (key_rows[i].group != option->group || (type == ROW_INTEGER || type == ROW_NUMBER) != number) continue;
        spec_note(r, value, "write {%s: {%s: %.40s}}", option->word, key_rows[i].key, value->text);
        return;
    }
}

static void read_value(struct spec_reader *r, const struct key_row *row, struct yaml *node, void *into);

/* Reads a choice, which is `word` or {word: options}. Stores the options in `into`. Returns the row of the word, or
   NULL after an error. */
static const struct option_row *read_choice(struct spec_reader *r, const struct key_row *row, struct yaml *node,
                                            void *into)
{
    struct yaml *word = node, *value = NULL;
    if (node->kind == YAML_MAP && node->count > 0) {
        word = node->key[0];
        value = node->item[0];
        if (node->count > 1) {
            spec_error(r, node->key[1], "'%s' takes one choice, but '%.40s' is a second one", row->key,
                       node->key[1]->text);
            spec_place(r, word, arena_printf(r->arena, "the first, '%.40s',", word->text));
            return NULL;
        }
    }
    if (node->wrong || word->wrong) return NULL;
    if (node->kind == YAML_NULL && row->otherwise && *row->otherwise && *row->otherwise != '(')
        word = yaml_plain(r->arena, row->otherwise);
    const enum choice choice = (enum choice)row->of;
    if (word->kind != YAML_WORD || !*word->text) {
        const struct key_row item = {.key = row->key, .type = ROW_CHOICE, .of = row->of};
        mismatch(r, &item, word);
        if (word->kind == YAML_LIST && choice == CHOICE_MASK)
            spec_note(r, word,
                      "write {all: […]} for keys that all masks of a list show, {any: […]} for keys that one "
                      "of them shows");
        return NULL;
    }
    const struct option_row *option = spec_find_option(choice, word->text);
    if (!option) {
        const char *const meant = other_name(choice, word->text);
        spec_error(r, word, "unknown %s '%.60s'", choice_rows[choice].heading, word->text);
        if (meant)
            spec_note(r, word, "write %s: %s", row->key, meant);
        else
            spec_hint(r, word, word->text, spec_option_words(r->arena, choice));
        return NULL;
    }
    switch (option->payload) {
    case PAYLOAD_BARE:
        if (value && value->kind != YAML_NULL && !(value->kind == YAML_MAP && value->count == 0)) {
            spec_error(r, value, "'%s' has no options, found %s", option->word, spec_found(r, value));
            return NULL;
        }
        break;
    case PAYLOAD_OPTIONS:
        if (value && value->kind != YAML_NULL) {
            if (value->kind != YAML_MAP) {
                spec_error(r, value, "the options of '%s' are a map, found %s", option->word, spec_found(r, value));
                note_first_option(r, option, value);
                return NULL;
            }
            spec_read_map(r, value, word, option->group, into);
        } else if (needs_options(option->group)) {
            report_bare(r, option, word);
            return NULL;
        } else {
            spec_read_map(r, NULL, word, option->group, into);
        }
        break;
    case PAYLOAD_VALUE:
        if (!value) {
            spec_error(r, word, "'%s' needs a value", option->word);
            spec_note(r, word, "write {%s: …}", option->word);
            return NULL;
        }
        read_value(r, spec_find_key(option->group, option->word), value, into);
        break;
    }
    return option;
}

/* Returns the array that a word names, or NULL after an error. Its last axis is a number of elements. */
static const struct user_array *read_array_of_rows(struct spec_reader *r, const struct key_row *row, struct yaml *node)
{
    const int found = node->kind == YAML_WORD ? spec_array(r->spec, node->text) : -1;
    const struct user_array *const a = found < 0 ? NULL : &r->spec->arrays.array[found];
    if (!a) {
        spec_error(r, node, "'%s': expected the name of an array with rows, found %s", row->key, spec_found(r, node));
        if (node->kind == YAML_WORD)
            spec_note(r, node, "declare it: arrays: {%.40s: {shape: [B, H, Nk, D]}}", node->text);
        return NULL;
    }
    const bool sequence = a->rank > 1 &&
                          (a->axis[a->rank - 2].extent == EXTENT_NQ || a->axis[a->rank - 2].extent == EXTENT_NK) &&
                          a->axis[a->rank - 2].number == 1,
               elements = a->rank > 1 &&
                          (a->axis[a->rank - 1].extent == EXTENT_NUMBER ||
                           ((a->axis[a->rank - 1].extent == EXTENT_D || a->axis[a->rank - 1].extent == EXTENT_E) &&
                            a->axis[a->rank - 1].number == 1));
    if (!sequence || !elements || !array_is_real(a)) {
        spec_error(r, node, "'%s': '%s' has no rows of real numbers", row->key, a->name);
        spec_note(r, node,
                  "its shape is [B, H, Nq, n] for rows of queries, [B, H, Nk, n] or [B, G, Nk, n] for rows "
                  "of keys; n is a number, D or E");
        return NULL;
    }
    return a;
}

/* Reads the values of a sum. */
static void read_values(struct spec_reader *r, const struct key_row *row, struct yaml *node, struct spec *sum)
{
    sum->counts = node->kind == YAML_INT && node->integer == 1;
    if (sum->counts || (node->kind == YAML_WORD && strcmp(node->text, row->otherwise) == 0)) return;
    if (node->kind != YAML_WORD) {
        mismatch(r, row, node);
        return;
    }
    const struct user_array *const a = read_array_of_rows(r, row, node);
    if (!a) return;
    const struct user_axis *const last = &a->axis[a->rank - 1];
    const int64_t dim = r->spec->value_dim ? r->spec->value_dim : r->spec->head_dim,
                  elements = last->extent == EXTENT_NUMBER ? last->number
                             : last->extent == EXTENT_D    ? r->spec->head_dim
                                                           : dim;
    if (a->axis[a->rank - 2].extent != EXTENT_NK || elements != dim)
        spec_error(r, node, "'%s': the values of a sum are an array [B, G, Nk, E] or [B, H, Nk, E], with E = %lld",
                   row->key, (long long)dim);
    sum->values = a;
}

/* Reads the arrays whose rows a step changes. */
static void read_rows(struct spec_reader *r, const struct key_row *row, struct yaml *node, struct prepare *step)
{
    if (!is_list(r, row, node)) return;
    step->row = arena_alloc(r->arena, (size_t)node->count * sizeof *step->row);
    for (int k = 0; k < node->count; k++) {
        const struct user_array *const a = read_array_of_rows(r, row, node->item[k]);
        if (a) step->row[step->rows++] = a;
    }
}

static void read_prepare(struct spec_reader *r, const struct key_row *row, struct yaml *node)
{
    if (node->kind != YAML_LIST) {
        mismatch(r, row, node);
        if (node->kind == YAML_WORD && spec_find_option(CHOICE_PREPARE, node->text))
            spec_note(r, node, "write [%s]", node->text);
        return;
    }
    if (node->count > MAX_STEPS) {
        spec_error(r, node, "'%s' has %d steps; the maximum is %d", row->key, node->count, MAX_STEPS);
        return;
    }
    struct prepare *const steps = arena_alloc(r->arena, (size_t)node->count * sizeof *steps);
    r->spec->prepare = steps;
    for (int i = 0; i < node->count; i++) {
        struct prepare *const step = &steps[r->spec->prepares++];
        step->at = node->item[i]->at;
        const struct option_row *option = read_choice(r, row, node->item[i], step);
        if (option) step->kind = (enum prepare_kind)option->value;
    }
}

static void read_masks(struct spec_reader *r, const struct key_row *row, struct yaml *node, struct mask *mask)
{
    if (!is_list(r, row, node)) return;
    mask->part = arena_alloc(r->arena, (size_t)node->count * sizeof *mask->part);
    for (int i = 0; i < node->count; i++) mask->part[mask->parts++] = read_mask(r, row, node->item[i]);
}

static const struct mask *read_mask(struct spec_reader *r, const struct key_row *row, struct yaml *node)
{
    struct mask *mask = arena_alloc(r->arena, sizeof *mask);
    mask->at = node->at;
    if (++r->masks > MAX_MASKS) {
        if (r->masks == MAX_MASKS + 1)
            spec_error(r, node, "there are more than %d masks, which is the maximum", MAX_MASKS);
        return mask;
    }
    const struct option_row *option = read_choice(r, row, node, mask);
    if (!option) return mask;
    mask->kind = (enum mask_kind)option->value;
    struct yaml *options = node->kind == YAML_MAP ? node->item[0] : NULL;
    if (mask->kind == MASK_EXPR && mask->expr) mask_simplify(r->arena, mask);
    if (mask->kind == MASK_GLOBAL) {
        struct yaml *count = yaml_get(options, "count"), *tokens = yaml_get(options, "tokens");
        struct yaml *word = node->kind == YAML_MAP ? node->key[0] : node;
        if (!count && !tokens) {
            spec_error(r, word, "'global' needs either 'count' or 'tokens'");
        } else if (count && tokens) {
            spec_error(r, tokens, "'global' takes either 'count' or 'tokens', not both");
            spec_place(r, count, "'count'");
        }
    }
    return mask;
}

static void read_emit(struct spec_reader *r, const struct key_row *row, struct yaml *node)
{
    if (!is_list(r, row, node)) {
        if (node->kind == YAML_WORD && spec_find_option(CHOICE_EMIT, node->text))
            spec_note(r, node, "write [%s]", node->text);
        return;
    }
    struct yaml *first[EMIT_JVP + 1] = {0};
    for (int i = 0; i < node->count; i++) {
        struct yaml *item = node->item[i];
        const struct option_row *option = read_choice(r, row, item, NULL);
        if (!option) continue;
        if (r->spec->emit & (unsigned)option->value) {
            spec_error(r, item, "'emit': '%s' is given twice", option->word);
            spec_place(r, first[option->value], "the first");
        } else {
            first[option->value] = item;
        }
        r->spec->emit |= (unsigned)option->value;
    }
}

static void read_knobs(struct spec_reader *r, struct yaml *map, bool listed, struct schedule *into);

/* Reads {backward: {knob: value}}, the knobs of the gradients. */
static void read_backward(struct spec_reader *r, struct yaml *key, struct yaml *value, struct schedule *into)
{
    struct schedule *const backward = arena_alloc(r->arena, sizeof *backward);
    if (value->kind == YAML_NULL || value->wrong) return;
    if (value->kind != YAML_MAP) {
        spec_error(r, value, "'backward': expected a map of knobs, found %s", spec_found(r, value));
        return;
    }
    read_knobs(r, value, false, backward);
    if (backward->backward) spec_error(r, key, "'schedule': 'backward' cannot contain 'backward'");
    backward->from = into->from;
    into->backward = backward;
}

/* Reads a map of knobs. If the map is an entry of a list, it may have `from`. */
static void read_knobs(struct spec_reader *r, struct yaml *map, bool listed, struct schedule *into)
{
    into->knob = arena_alloc(r->arena, (size_t)map->count * sizeof *into->knob);
    for (int i = 0; i < map->count; i++) {
        struct yaml *key = map->key[i], *value = map->item[i];
        if (strcmp(key->text, "from") == 0) {
            if (listed) continue;
            spec_error(r, key,
                       "'from' is only allowed in a list of schedules: it is the number of keys from which an item of "
                       "the list applies");
            spec_note(r, key, "write schedule: [{…}, {from: …, …}]");
            continue;
        }
        if (strcmp(key->text, "backward") == 0) {
            read_backward(r, key, value, into);
            continue;
        }
        if (!spec_is_identifier(key->text))
            spec_error(r, key, "'schedule': '%.60s' is not the name of a knob", key->text);
        if (value->kind != YAML_INT)
            spec_error(r, value, "'schedule': expected an integer for '%.60s', found %s", key->text,
                       spec_found(r, value));
        into->knob[into->knobs++] = (struct knob){key->text, value->integer, key->at, value->at};
    }
}

/* Reads `from` of an entry of a schedule. `before` is the node of the previous `from`, or NULL. Returns the node to
   pass as `before` for the next entry. */
static struct yaml *read_from(struct spec_reader *r, const struct key_row *row, struct yaml *entry, int n,
                              struct yaml *before, int64_t *from)
{
    struct yaml *node = entry->kind == YAML_MAP ? yaml_get(entry, "from") : NULL;
    if (!node) {
        if (n > 0) {
            spec_error(r, entry,
                       "'schedule': every entry after the first needs 'from', the number of keys that it is used from");
            spec_note(r, entry, "write {from: …, …}");
        }
        return before;
    }
    if (node->kind != YAML_INT || node->integer < 1 || node->integer > row->high)
        spec_error(r, node, "'from': expected an integer from 1 to %lld, found %s", (long long)row->high,
                   spec_found(r, node));
    else if (n == 0 && node->integer != 1)
        spec_error(r, node, "'schedule': the first entry is used from 1 key on, so its 'from' must be 1 or absent");
    else if (n > 0 && node->integer <= (before ? before->integer : 1)) {
        spec_error(r, node, "'schedule': entries must be in ascending order of 'from', but %lld follows %lld",
                   (long long)node->integer, (long long)(before ? before->integer : 1));
        if (before) spec_place(r, before, "the one before it");
    } else {
        *from = n > 0 ? node->integer : 0;
        return node;
    }
    return before;
}

static void read_schedule(struct spec_reader *r, const struct key_row *row, struct yaml *node)
{
    if (node->kind == YAML_NULL) return;
    if (node->kind != YAML_MAP && (node->kind != YAML_LIST || node->count == 0)) {
        mismatch(r, row, node);
        return;
    }
    struct spec *spec = r->spec;
    struct schedule *const entries = arena_alloc(r->arena, MAX_SCHEDULES * sizeof *entries);
    spec->schedule = entries;
    if (node->kind == YAML_MAP) {
        read_knobs(r, node, false, &entries[spec->schedules++]);
        return;
    }
    struct yaml *before = NULL;
    for (int i = 0; i < node->count; i++) {
        struct yaml *item = node->item[i];
        if (i == MAX_SCHEDULES) {
            spec_error(r, item, "'schedule': more than %d entries", MAX_SCHEDULES);
            return;
        }
        struct schedule *into = &entries[spec->schedules++];
        if (item->kind != YAML_MAP && item->kind != YAML_NULL)
            spec_error(r, item, "'schedule': expected a map of knobs, found %s", spec_found(r, item));
        if (!item->wrong) before = read_from(r, row, item, i, before, &into->from);
        if (item->kind == YAML_MAP) read_knobs(r, item, true, into);
    }
}

/* Reads `running:` of the spec or of a sum into `into`. spec_read_arrays has read the names. */
static void read_running(struct spec_reader *r, struct yaml *node, struct spec *into)
{
    const struct user_arrays *const all = &r->spec->arrays;
    if (node->kind != YAML_MAP || node->wrong) return; /* it is reported */
    struct running_sum *const running = arena_alloc(r->arena, ((size_t)node->count + 1) * sizeof *running);
    into->running = running;
    into->runnings = node->count;
    for (int k = 0; k < node->count; k++) {
        struct yaml *const own = node->item[k];
        int n = all->count;
        while (n < all->count + all->named && strcmp(all->array[n].name, node->key[k]->text) != 0) n++;
        running[k] = (struct running_sum){.name = &all->array[n]};
        if (own->kind == YAML_MAP)
            spec_read_map(r, own, node->key[k], GROUP_RUNNING, &running[k]);
        else
            spec_error(r, own, "'%.60s': expected a map such as {sum: \"s\"}, found %s", node->key[k]->text,
                       spec_found(r, own));
    }
}

/* ---- one value ---- */

/* Stores a value if it fits the row, else reports what the row asks for. */
static void keep(struct spec_reader *r, const struct key_row *row, struct yaml *node, bool fits, void *into,
                 const void *value, size_t bytes)
{
    if (fits)
        store(into, row->field, value, bytes);
    else
        mismatch(r, row, node);
}

static void read_value(struct spec_reader *r, const struct key_row *row, struct yaml *node, void *into)
{
    const bool yes = true, word = node->kind == YAML_WORD;
    const char *const text = node->text;
    uint64_t seed = 0;
    if (node->wrong) return;
    store(into, row->has, &yes, sizeof yes);
    store(into, row->at, &node->at, sizeof node->at);
    switch (row->type) {
    case ROW_INTEGER: keep(r, row, node, in_range(row, node), into, &node->integer, sizeof node->integer); break;
    case ROW_NUMBER: keep(r, row, node, number_fits(row, node), into, &node->real, sizeof node->real); break;
    case ROW_FLAG: keep(r, row, node, node->kind == YAML_BOOL, into, &node->flag, sizeof node->flag); break;
    case ROW_SEED: keep(r, row, node, read_seed(node, &seed), into, &seed, sizeof seed); break;
    case ROW_NAME: keep(r, row, node, word && spec_is_identifier(text), into, &node->text, sizeof node->text); break;
    case ROW_TEXT: keep(r, row, node, word, into, &node->text, sizeof node->text); break;
    case ROW_EXPRESSION: read_expression(r, row, node, into); break;
    case ROW_CHOICE: {
        const struct option_row *option = read_choice(r, row, node, into);
        if (option) store(into, row->field, &option->value, sizeof option->value);
        break;
    }
    case ROW_SWITCH: {
        const struct option_row *option = read_choice(r, row, node, into);
        const bool set = option && option->value;
        store(into, row->field, &set, sizeof set);
        break;
    }
    case ROW_GROUP:
        if (node->kind == YAML_MAP)
            spec_read_map(r, node, node, (enum group)row->of, into);
        else
            mismatch(r, row, node);
        break;
    case ROW_SIMILARITY: {
        struct similarity *s = &((struct spec *)into)->similarity;
        *s = (struct similarity){.at = node->at};
        const struct option_row *option = read_choice(r, row, node, s);
        if (option) s->kind = (enum similarity_kind)option->value;
        break;
    }
    case ROW_PREPARE: read_prepare(r, row, node); break;
    case ROW_MASK: {
        struct spec *const spec = into;
        spec->mask = read_mask(r, row, node);
        break;
    }
    case ROW_MASKS: read_masks(r, row, node, into); break;
    case ROW_MASK_PART: {
        struct mask *mask = into;
        mask->part = arena_alloc(r->arena, sizeof *mask->part);
        mask->part[mask->parts++] = read_mask(r, row, node);
        break;
    }
    case ROW_BLOCK:
        if (!word || strcmp(text, "auto") != 0)
            keep(r, row, node, in_range(row, node), into, &node->integer, sizeof node->integer);
        break;
    case ROW_COEFFICIENTS: read_coefficients(r, row, node, into); break;
    case ROW_TOKENS: read_tokens(r, row, node, into); break;
    case ROW_EMIT: read_emit(r, row, node); break;
    case ROW_SCHEDULE: read_schedule(r, row, node); break;
    case ROW_NAMED: /* Arrays and scores are read before all other keys, sums after them. */
        if (row->of == GROUP_RUNNING) read_running(r, node, into);
        break;
    case ROW_EXTENTS: read_extents(r, row, node, into); break;
    case ROW_ROWS: read_rows(r, row, node, into); break;
    case ROW_ROW: {
        const bool default_rows = word && strcmp(text, row->otherwise) == 0;
        const struct user_array *const a = default_rows ? NULL : read_array_of_rows(r, row, node);
        store(into, row->field, &a, sizeof(struct user_array *));
        break;
    }
    case ROW_VALUES: read_values(r, row, node, into); break;
    }
}

/* Returns whether an unknown key of the map is probably a misspelling of this row's key. If so, the key is not
   reported as missing. */
static bool is_misspelt(struct spec_reader *r, const struct yaml *map, const struct key_row *row)
{
    const char *const *words = spec_key_words(r->arena, row->group);
    for (int i = 0; map && i < map->count; i++) {
        const char *key = map->key[i]->text, *near = spec_find_key(row->group, key) ? NULL : nearest_word(key, words);
        if (near && strcmp(near, row->key) == 0) return true;
    }
    return false;
}

/* Returns the key whose value is a map of the group. */
static const char *key_of_group(enum group group)
{
    int i = 0;
    while (i + 1 < key_row_count && (key_rows[i].type != ROW_GROUP || key_rows[i].of != (int)group)) i++;
    return key_rows[i].key;
}

/* Tells where a key of another map belongs. Returns false if the key is in no map, or in several. */
static bool note_place_of_key(struct spec_reader *r, const struct yaml *key, enum group group)
{
    const struct key_row *found = NULL;
    int count = 0;
    for (int i = 0; i < key_row_count; i++)
        if (strcmp(key_rows[i].key, key->text) == 0 && key_rows[i].group != group) {
            if (!found || key_rows[i].group == GROUP_SPEC) found = &key_rows[i];
            count++;
        }
    if (!found || (count > 1 && found->group != GROUP_SPEC)) return false;
    if (found->group == GROUP_SPEC) {
        spec_note(r, key, "'%s' is a key of the spec: write it at the beginning of a line, as 'similarity'",
                  found->key);
        return true;
    }
    for (int i = 0; i < key_row_count; i++)
        if (key_rows[i].type == ROW_GROUP && key_rows[i].of == (int)found->group) {
            spec_note(r, key, "'%s' is a key of '%s': write %s: {%s: …}", found->key, key_rows[i].key, key_rows[i].key,
                      found->key);
            return true;
        }
    return false;
}

void spec_read_map(struct spec_reader *r, struct yaml *map, struct yaml *owner, enum group group, void *into)
{
    for (int i = 0; map && i < map->count; i++) {
        const struct key_row *row = spec_find_key(group, map->key[i]->text);
        if (row) {
            read_value(r, row, map->item[i], into);
            continue;
        }
        spec_error(r, map->key[i], "unknown key '%.60s'", map->key[i]->text);
        if (nearest_word(map->key[i]->text, spec_key_words(r->arena, group)) ||
            !note_place_of_key(r, map->key[i], group))
            spec_hint(r, map->key[i], map->key[i]->text, spec_key_words(r->arena, group));
    }
    for (int i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (row->group != group || yaml_get(map, row->key)) continue;
        if (!row->otherwise) {
            if ((map && map->partial) || is_misspelt(r, map, row)) continue;
            /* Each missing key is a separate error. */
            owner->wrong = false;
            if (group == GROUP_SPEC)
                spec_error(r, owner, "the spec has no '%s'", row->key);
            else
                spec_error(r, owner, "'%s' needs '%s'", owner->text ? owner->text : key_of_group(group), row->key);
        } else if (*row->otherwise && *row->otherwise != '(') {
            struct yaml *node = yaml_plain(r->arena, row->otherwise);
            struct key_row silent = *row;
            silent.has = silent.at = SIZE_MAX;
            read_value(r, &silent, node, into);
        }
    }
}

void spec_read_tree(struct spec_reader *r)
{
    if (r->root->kind != YAML_MAP) {
        spec_error(r, r->root, "a spec is a map of keys, found %s", spec_found(r, r->root));
        return;
    }
    spec_read_map(r, r->root, r->root, GROUP_SPEC, r->spec);
}
