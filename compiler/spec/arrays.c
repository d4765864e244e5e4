/* Reads `arrays:`, which declares arrays that expressions use. */
#include "reader.h"
#include "spec.h"

#include <string.h>

/* Names of inputs, outputs and sums that every kernel may have. */
static const char taken[] =
#define ARRAY(name, quantity, forward, backward, heads, length, elements, sharing, gradient_of) #name " "
#include "kernel_arrays.def"
#undef ARRAY
    "query_start first_key all_keys sink_mode log_decay log_decay_q log_decay_q_low log_decay_k log_decay_k_low "
    "log_decay_chunk log_decay_chunk_low ";

/* Macros in kernels or in headers that kernels include, which would replace the member of a struct. */
static const char macros[] = "APART EOF FLT_MAX FLT_MIN HUGE_VAL I INFINITY INLINE M_PI NAN NULL SIZE_MAX UNROLL "
                             "assert complex errno false linux offsetof stderr stdin stdout true unix ";

/* Returns whether the name may be that of a macro. Those of integers' limits begin like INT64_MAX or UINT8_C. */
static bool is_macro(const char *name)
{
    static const char *const prefixes[] = {"ATTN", "attn_", "INT", "UINT", "TARGET_", NULL};
    for (const char *const *p = prefixes; *p; p++)
        if (strncmp(name, *p, strlen(*p)) == 0) return true;
    return word_is_among(name, macros);
}

static bool is_name(const char *name)
{
    return spec_is_identifier(name) && strlen(name) <= 40;
}

const char *spec_array_fault(struct arena *arena, const char *name)
{
    if (!is_name(name))
        return arena_printf(arena, "a name is a C identifier of up to 40 characters, found '%.60s'", name);
    if (expression_reserves(name))
        return arena_printf(arena, "expressions use '%s' for something else; choose another name", name);
    if (word_is_among(name, taken))
        return arena_printf(arena, "a kernel can have another array '%s'; choose another name", name);
    return is_macro(name) ? arena_printf(arena, "'%s' can be a macro of C; choose another name", name) : NULL;
}

/* Reports a name that an array cannot have. Returns true if expressions may still use the name, which prevents a
   second error. */
static bool check_name(struct spec_reader *r, struct yaml *key)
{
    const char *const wrong = spec_array_fault(r->arena, key->text);
    if (wrong) spec_error(r, key, "'arrays': %s", wrong);
    return is_name(key->text) && !expression_reserves(key->text);
}

/* Reports arrays that are named like the gradient of another one, such as dtable if there is a real array table. */
static void check_gradients(struct spec_reader *r, const struct yaml *node)
{
    const struct user_arrays *const all = &r->spec->arrays;
    for (int k = 0; k < all->count; k++)
        for (int n = 0; n < all->count; n++) {
            const char *const of = all->array[n].name, *const name = all->array[k].name;
            if (!array_is_real(&all->array[n]) || name[0] != 'd' || strcmp(name + 1, of) != 0) continue;
            int key = 0;
            while (node->key[key]->text != name) key++;
            spec_error(r, node->key[key], "'arrays': the gradient of '%s' is named '%s'; choose another name", of,
                       name);
        }
}

/* Returns the map `key:` in `map`, whose keys are names, or NULL. */
static struct yaml *read_named(struct spec_reader *r, struct yaml *map, const char *key, const char *example, int most)
{
    struct yaml *const node = yaml_get(map, key);
    if (!node || node->wrong) return NULL;
    if (node->kind != YAML_MAP) {
        spec_error(r, node, "'%s': expected a map of %s, %s, found %s", key, key, example, spec_found(r, node));
        return NULL;
    }
    if (node->count <= most) return node;
    spec_error(r, node, "'%s' has %d %s; the maximum is %d", key, node->count, key, most);
    return NULL;
}

/* Returns the number of heads of the rows of a score with `sum`, or 0 if the array has another shape. */
static int64_t heads_of_rows(const struct user_array *rows)
{
    return rows && rows->rank == 4 && rows->axis[0].extent == EXTENT_B && rows->axis[1].extent == EXTENT_NUMBER
               ? rows->axis[1].number
               : 0;
}

/* Checks the shapes of the rows of a score. */
static void check_rows(struct spec_reader *r, struct yaml *node, const struct user_array *score)
{
    const struct user_array *const rows[] = {score->query, score->key};
    const bool sums = yaml_get(node, "sum");
    for (int k = 0; k < 2; k++) {
        const bool key = rows[k] && rows[k] == score->key;
        if (rows[k] && rows[k]->axis[rows[k]->rank - 2].extent != (key ? EXTENT_NK : EXTENT_NQ))
            spec_error(r, node, "'%s': '%s' has no rows of %s", score->name, rows[k]->name, key ? "keys" : "queries");
        for (int n = 0; rows[k] && n < rows[k]->rank - 2 && !sums; n++)
            if (rows[k]->axis[n].extent == EXTENT_NUMBER && rows[k]->axis[n].number > 1) {
                spec_error(r, node, "'%s': '%s' has its own number of heads, so a score needs 'sum' over them",
                           score->name, rows[k]->name);
                spec_note(r, node, "for example sum: \"fmax(%s, 0)\"", score->name);
            }
    }
    const int64_t of_query = heads_of_rows(score->query), of_key = heads_of_rows(score->key);
    if (!sums || (of_key && of_query && of_query % of_key == 0)) return;
    spec_error(r, node,
               "'%s': with 'sum', rows of queries are an array [B, X, Nq, n], and rows of keys an array [B, Y, Nk, n], "
               "where X and Y are numbers and Y divides X",
               score->name);
}

/* Reports an array x of a spec in which x is the head of a score's rows. */
static void check_name_of_head(struct spec_reader *r, const struct yaml *arrays, const struct yaml *score)
{
    for (int k = 0; arrays && k < arrays->count && yaml_get(score, "sum"); k++)
        if (strcmp(arrays->key[k]->text, "x") == 0)
            spec_error(r, arrays->key[k], "'arrays': 'x' is the head of a score's rows in 'sum'; choose another name");
}

/* Reads the names of scores, sums or running sums. Expressions name them like arrays. Several sums may have running
   sums of one name. */
static struct yaml *read_values(struct spec_reader *r, struct yaml *map, const char *key, const char *example, int most,
                                enum array_type type)
{
    struct user_arrays *const all = &r->spec->arrays;
    struct yaml *const node = read_named(r, map, key, example, most);
    for (int k = 0; node && k < node->count; k++) {
        struct yaml *const name = node->key[k];
        const char *wrong = !is_name(name->text)
                                ? arena_printf(r->arena,
                                               "a name is a C identifier of up to 40 characters, found '%.60s'",
                                               name->text)
                            : expression_reserves_value(name->text, type)
                                ? arena_printf(r->arena, "expressions use '%s' for something else; choose another name",
                                               name->text)
                                : NULL;
        bool known = false;
        for (int n = 0; n < all->count + all->named && !wrong && !known; n++)
            if (strcmp(all->array[n].name, name->text) != 0)
                continue;
            else if (type == ARRAY_RUNNING && all->array[n].type == type)
                known = true;
            else
                wrong = arena_printf(r->arena, "'%s' has two meanings; choose another name", name->text);
        if (wrong) spec_error(r, name, "'%s': %s", key, wrong);
        if (known) continue;
        struct user_array *const a = &all->array[all->count + all->named++];
        *a = (struct user_array){.name = name->text, .at = name->at, .type = type};
    }
    return node;
}

void spec_read_arrays(struct spec_reader *r)
{
    struct yaml *const node = read_named(r, r->root, "arrays", "NAME: {shape: …}", MAX_DECLARED);
    struct user_arrays *const all = &r->spec->arrays;
    all->array = arena_alloc(r->arena, (MAX_DECLARED + MAX_EXPANDED + MAX_NAMED) * sizeof *all->array);
    for (int k = 0; node && k < node->count; k++) {
        struct user_array *const a = &all->array[all->count++];
        *a = (struct user_array){0};
        a->name = node->key[k]->text;
        a->at = node->key[k]->at;
        const bool named = check_name(r, node->key[k]);
        if (node->item[k]->kind == YAML_MAP)
            spec_read_map(r, node->item[k], node->key[k], GROUP_ARRAY, a);
        else
            spec_error(r, node->item[k], "'%.60s': expected a map such as {shape: [H]}, found %s", a->name,
                       spec_found(r, node->item[k]));
        if (a->learned && a->type != ARRAY_REAL)
            spec_error(r, node->item[k], "'%s': only an array of type 'real' can be learned", a->name);
        if (yaml_get(r->root, "output") && strcmp(a->name, "e") == 0)
            spec_error(r, node->key[k], "'arrays': 'e' is the element of the output in 'output'; choose another name");
        if (!named) all->count--;
    }
    spec_declare_arrays(r);
    if (node) check_gradients(r, node);
    struct yaml *const scores = read_values(r, r->root, "scores", "NAME: {query: …, key: …}", MAX_SCORES, ARRAY_SCORE);
    for (int k = 0; scores && k < scores->count; k++) {
        struct user_array *const a = &all->array[all->count + k];
        if (scores->item[k]->kind == YAML_MAP)
            spec_read_map(r, scores->item[k], scores->key[k], GROUP_SCORE, a);
        else
            spec_error(r, scores->item[k], "'%.60s': expected a map such as {query: q2, key: k2}, found %s", a->name,
                       spec_found(r, scores->item[k]));
        check_rows(r, scores->item[k], a);
        check_name_of_head(r, node, scores->item[k]);
    }
    struct yaml *const sums = read_values(r, r->root, "sums", "NAME: {similarity: …}", MAX_SUMS, ARRAY_SUM);
    read_values(r, r->root, "running", "NAME: {sum: …}", MAX_RUNNING, ARRAY_RUNNING);
    for (int k = 0; sums && k < sums->count; k++)
        if (sums->item[k]->kind == YAML_MAP)
            read_values(r, sums->item[k], "running", "NAME: {sum: …}", MAX_RUNNING, ARRAY_RUNNING);
}

void spec_check_array_names(struct spec_reader *r)
{
    const struct spec *const spec = r->spec;
    const struct yaml *const node = yaml_get(r->root, "arrays");
    const struct {
        const char *name;
        bool is_there;
    } own[] = {{"document", mask_has_param(spec->mask, "document")},
               {"lengths", mask_has_param(spec->mask, "lengths")},
               {"blocks", mask_has_param(spec->mask, "blocks")},
               {"statistics", spec->emit & EMIT_STATISTICS},
               {"weights", spec->emit & EMIT_WEIGHTS},
               {"log_decay", spec->decay != NULL}};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        for (int n = 0; own[k].is_there && node && node->kind == YAML_MAP && n < node->count; n++)
            if (strcmp(node->key[n]->text, own[k].name) == 0)
                spec_error(r, node->key[n], "'arrays': this kernel has another array '%s'; choose another name",
                           own[k].name);
}
