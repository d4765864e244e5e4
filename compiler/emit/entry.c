/* Prints the end of a kernel's file: its tables, its entry points, and struct attn_kernel. An entry point calls a
   function of runtime/call/ with the kernel's table. */
#include "tables.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

bool emit_decay_parts(const struct emission *p)
{
    return p->of[STEP_TERMS].count && p->spec->emit & EMIT_STATISTICS && p->distances.period > 0 && !p->outer_chunk;
}

bool emit_finishes_gradients(const struct emission *p)
{
    bool any = false;
    for (const struct version *v = NULL; versions_next(&p->of[STEP_BACKWARD], &v);)
        for (int o = 0; v->c->program.of_terms && o < v->c->graph->outputs; o++)
            any |= kernel_array_find(p->arrays, v->c->graph->output[o].name) >= 0;
    return any && p->parts && (p->outer_chunk > 0 || emit_decay_parts(p));
}

/* ---- struct kernel ---- */

/* A member of struct kernel that is printed if it is not 0. */
static void number(struct text *out, const char *member, int64_t value)
{
    if (value) text_add(out, "    .%s = %lld,\n", member, (long long)value);
}

static void list(struct text *out, const char *member, const char *arrays)
{
    if (arrays) text_add(out, "    .%s = %s,\n", member, arrays);
}

/* Returns whether the kernel's outputs have statistics that a caller can ask for. */
static bool has_statistics(const struct kernel_arrays *arrays)
{
    return kernel_array_find(arrays, "statistics") >= 0;
}

/* Prints the members about prefix sums and corrected values. */
static void first_sums(const struct emitted_file *e, const struct table_arrays *all, struct text *out)
{
    struct arena *const arena = e->c[0]->graph->module->arena;
    bool *const wanted = arena_alloc(arena, (size_t)all->count * sizeof *wanted);
    const int sums = kernel_array_find(e->p->arrays, prefix_array_name(PREFIX_OF_KEY));
    if (e->p->of[STEP_CORRECT].count)
        text_add(out, "    .corrected = ARRAY_%s,\n", emit_identifier(arena, e->p->arrays, corrected_values[0]));
    else
        text_add(out, "    .corrected = -1,\n");
    number(out, "tangents", e->p->of[STEP_CORRECT].count && kernel_array_find(e->p->arrays, corrected_values[1]) >= 0);
    number(out, "lists", e->p->of[STEP_SELECT].count > 0);
    if (!e->p->of[STEP_TERMS].count) return;
    const int64_t row = array_row_elements(&e->p->arrays->array[sums]);
    number(out, "prefix_row", row);
    number(out, "sum_tokens", row > 1 ? 512 : 4096); /* This limits the workspace of a call with a state. */
    number(out, "decay_parts", emit_decay_parts(e->p));
    text_add(out, "    .prefix = {");
    for (int k = 0; k < PREFIX_ARRAYS; k++) {
        const char *const name = emit_identifier(arena, e->p->arrays, prefix_array_name((enum prefix_array)k));
        text_add(out, "%s%s%s", k ? ", " : "", table_array_find(all, name) < 0 ? "NO_ARRAY" : "ARRAY_",
                 table_array_find(all, name) < 0 ? "" : name);
    }
    text_add(out, "},\n");
    emit_prefix_wanted(e, all, wanted);
    list(out, "prefix_wanted", table_list(arena, all, wanted));
}

/* Returns C for the list of gradients that are computed from the shared sums of tiles of keys. */
static const char *sums_wanted(const struct emitted_file *e, const struct table_arrays *all, struct arena *arena)
{
    bool *const wanted = arena_alloc(arena, (size_t)all->count * sizeof *wanted);
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);)
        for (int o = 0; program_takes_sums(&v->c->program) && o < v->c->graph->outputs; o++) {
            const int array = table_array_find(all, emit_identifier(arena, e->p->arrays, v->c->graph->output[o].name));
            if (array >= 0) wanted[array] = true;
        }
    return table_list(arena, all, wanted);
}

/* Prints the members about gradients. */
static void gradients(const struct emitted_file *e, const struct table_arrays *all, struct text *out)
{
    struct arena *const arena = e->c[0]->graph->module->arena;
    const struct kernel_arrays *const arrays = e->p->arrays;
    const struct emission *const p = e->p;
    int64_t row = 0, row_sums = 0;
    int shared = 0;
    number(out, "outer", p->outer_chunk > 0);
    number(out, "outer_chunk", p->outer_chunk);
    number(out, "key_sums", p->sums_keys);
    number(out, "whole", p->sums_whole);
    if (p->distances.open_keys == INT64_MAX)
        text_add(out, "    .open_keys = INT64_MAX,\n");
    else
        number(out, "open_keys", p->distances.open_keys);
    text_add(out, "    .solution = %s,\n", p->parts && p->saves_solution ? "ARRAY_" SAVED_SOLUTION : "-1");
    if (!p->parts) return;
    for (int k = 0; k < all->count; k++)
        if (all->array[k].origin && strcmp(all->array[k].origin, "FROM_SUMS") == 0) row += all->array[k].elements;
    for (int k = 0; k < p->row_sums; k++) row_sums += p->row_elements[k];
    text_add(out, "    .gradients_bytes = sizeof(struct %s_gradients),\n", p->spec->name);
    number(out, "parts", p->parts);
    number(out, "saved", p->saved);
    number(out, "row_sums", row_sums);
    number(out, "row_of_sums", row);
    number(out, "sums_of_keys", row && emit_in_order_for_keys(emit_ordered_part(e)->loops));
    list(out, "sums_wanted", sums_wanted(e, all, arena));
    for (int k = 0; k < arrays->count && !p->spec->values_are_keys; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (a->place != PLACE_ARGUMENT || !a->shared || a->access[ENTRY_BACKWARD] != ACCESS_WANTED) continue;
        text_add(out, "%sARRAY_%s", shared++ ? ", " : "    .shared_gradient = {", a->identifier);
    }
    if (shared) text_add(out, "},\n");
}

static bool stores_solution(const struct loops *l)
{
    bool stores = false;
    for (int a = 0; a < l->arrays; a++) stores |= l->array[a].solved;
    return stores;
}

bool emit_stores_chunks(const struct emission *p)
{
    return p->of[STEP_EXTEND].count > 0 && p->folds && p->read_first == 0;
}

/* Returns the largest number of bytes of a row in memory for keys that several sequences share. */
static int64_t common_row(const struct emitted_file *e)
{
    int64_t row = 0;
    for (int k = 0; k < e->compilations; k++) {
        struct common_keys common;
        if (e->c[k]->state.common && common_keys_of(e->c[k]->loops, &common) && common.row > row) row = common.row;
    }
    return row;
}

/* Prints the members about states. */
static void state(const struct emitted_file *e, const struct kept_counts *counts, struct text *out)
{
    const struct emission *const p = e->p;
    const struct compilation *const extend = emission_extend(p);
    const bool carried = extend != NULL, prepared = p->of[STEP_PREPARE].count > 0,
               transitions = p->of[STEP_FOLDABLE].count > 0;
    bool linear = false;
    for (int k = 0; k < e->compilations; k++) linear |= e->c[k]->program.linear;
    number(out, "decodes", 1);
    number(out, "carried", carried);
    number(out, "solves", carried && stores_solution(extend->loops));
    number(out, "by_capacity", p->read_back < 0);
    number(out, "folds", p->folds);
    number(out, "transitions", transitions);
    number(out, "joins", p->folds || transitions);
    number(out, "moves", p->moves);
    number(out, "terms_move", p->terms_move);
    number(out, "any_order", p->any_order);
    number(out, "prepared", prepared);
    number(out, "attends", p->of[STEP_ATTEND].count > 0);
    number(out, "appends", p->of[STEP_APPEND].count > 0);
    number(out, "paged", p->paged);
    number(out, "rows_move", p->rows_move);
    number(out, "uncopied",
           p->read_first == 0 && !prepared && !spec_has_storage(p->spec) && p->read_back >= 0 &&
               (!carried || p->read_back == 0));
    number(out, "rounds_prepared", prepared && p->spec->k_storage);
    number(out, "ids_in_order", emit_param_of_ids(p->arrays) && linear);
    number(out, "numbered", emit_numbers_sequences(p->spec));
    number(out, "chunk_sums", emit_stores_chunks(p));
    number(out, "read_back", p->read_back);
    number(out, "read_first", p->read_first);
    number(out, "rows_kept", emit_state_rows(p->read_first, p->read_back, carried ? extend->state.chunk : 0, p->folds));
    number(out, "common_row", common_row(e));
    text_add(out, "    .fingerprint = UINT64_C(0x%016llx),\n", (unsigned long long)p->fingerprint);
    text_add(out, "    .kept_array = kept_array, .kept_arrays = %d, .given = %d, .sums = %d,\n", counts->kept,
             counts->given, counts->sums);
}

/* Prints the table of the kernel. */
static void kernel_table(const struct emitted_file *e, const struct table_arrays *all, int params,
                         const struct kept_counts *counts, struct text *out)
{
    const struct spec *const spec = e->p->spec;
    struct arena *const arena = e->c[0]->graph->module->arena;
    const enum dtype keys = spec_type_of_keys(spec), values = spec_type_of_values(spec);
    const char *const strides = emit_strides_member(e->p->arrays);
    const struct kernel_array *const ids = emit_param_of_ids(e->p->arrays);
    bool by_heads = false, gathers = false;
    int masks = 0;
    for (int k = 0; k < e->versions; k++) by_heads |= e->version[k].heads != NULL;
    for (int k = 0; k < e->versions; k++) gathers |= e->version[k].heads && loops_gather(e->version[k].heads->loops);
    for (int k = 0; k < e->p->arrays->count; k++) masks += e->p->arrays->array[k].tiled;
    text_add(out,
             "#include <attnrt/kernel/openmp.h>\n"
             "static const struct kernel kernel = {\n    .layout = KERNEL_LAYOUT, .name = \"%s\", .openmp = OPENMP,\n  "
             "  .target = target, "
             ".targets = sizeof target / "
             "sizeof *target - 1,\n    .array = array, .arrays = sizeof array / sizeof *array,\n",
             spec->name);
    if (params)
        text_add(out, "    .param = param, .params = %d, .params_bytes = sizeof(struct %s_params),\n", params,
                 spec->name);
    else
        text_add(out, "    .params_bytes = sizeof(struct %s_params),\n", spec->name);
    text_add(out,
             "    .dtype = %s, .key_dtype = %s, .value_dtype = %s, .real = sizeof(%s), .element = sizeof(%s),\n"
             "    .head_dim = %lld, .value_dim = %lld, .key_row = %lld, .value_row = %lld,\n",
             emit_runtime_dtype(spec->dtype), emit_runtime_dtype(keys), emit_runtime_dtype(values),
             emit_real(spec->dtype), dtype_c_type(spec->dtype), (long long)spec->head_dim, (long long)spec->value_dim,
             (long long)dtype_row_units(keys, spec->head_dim), (long long)dtype_row_units(values, spec->value_dim));
    number(out, "max_length", spec->max_length);
    if (strides) text_add(out, "    .strided = 1, .strides = offsetof(struct %s_params, %s),\n", spec->name, strides);
    number(out, "storage", spec_has_storage(spec));
    number(out, "values_are_keys", spec->values_are_keys);
    number(out, "shares", !spec->values_are_keys);
    number(out, "delta", spec->rate != NULL);
    number(out, "weighs", e->p->of[STEP_WEIGHTS].count > 0);
    number(out, "positions", emit_any_positions(e->c, e->compilations));
    number(out, "masks", masks);
    number(out, "by_heads", by_heads);
    number(out, "gathers", gathers);
    if (spec->dropout > 0 && spec->seed) text_add(out, "    .seed = UINT64_C(%llu),\n", (unsigned long long)spec->seed);
    text_add(out, "    .ids = %s,\n", ids ? arena_printf(arena, "ARRAY_%s", ids->identifier) : "-1");
    first_sums(e, all, out);
    gradients(e, all, out);
    if (spec->emit & EMIT_DECODE) state(e, counts, out);
    text_add(out, "};\n\n");
}

/* ---- entry points ---- */

/* The arrays of an entry point: its parameters, and the arguments for the library, for the kernel's own types and for
   struct attn_kernel, whose functions take any arrays. */
struct entry_arrays {
    const char *parameters, *any_parameters, *arguments, *unused;
};

static struct entry_arrays arrays_of(struct arena *arena, const struct kernel_arrays *arrays,
                                     const struct function_row *f)
{
    struct entry_arrays x = {emit_array_arguments(arena, arrays, f), "", "", ""};
    const enum entry entry = f->emit == EMIT_BACKWARD ? ENTRY_BACKWARD : ENTRY_FORWARD;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if ((a->place != PLACE_ARGUMENT && a->place != PLACE_WITHIN) || a->access[entry] == ACCESS_NONE) continue;
        x.any_parameters = arena_printf(arena, "%s%s%svoid *%s", x.any_parameters, *x.any_parameters ? ", " : "",
                                        a->access[entry] == ACCESS_READ ? "const " : "", a->member);
        if (a->place == PLACE_WITHIN)
            x.unused = arena_printf(arena, "%s    (void)%s;\n", x.unused, a->member);
        else
            x.arguments = arena_printf(arena, "%s%s%s", x.arguments, *x.arguments ? ", " : "", a->member);
    }
    return x;
}

/* Prints a function that returns what a function of the library returns. `before`: statements before that, or "". */
static void function(struct text *out, const char *head, const char *before, const char *result)
{
    enum { COLUMNS = 120 };
    if (!*before && strlen(head) + strlen(" { return ; }") + strlen(result) <= COLUMNS)
        text_add(out, "%s { return %s; }\n", head, result);
    else
        text_add(out, "%s\n{\n%s    return %s;\n}\n", head, before, result);
}

#define PROBLEM "const struct attn_problem *problem"

/* Prints an entry point, and the function of struct attn_kernel for it if it takes arrays. */
static void entry_point(const struct emission *p, const struct function_row *f, struct text *out)
{
    struct arena *const arena = p->compilation[0]->graph->module->arena;
    const bool arrays = strchr(f->parameters, '#') != NULL;
    const struct entry_arrays x = arrays ? arrays_of(arena, p->arrays, f) : (struct entry_arrays){"", "", "", ""};
    const char *const passed = emit_row_text(arena, f->passed, p->spec->name,
                                             arena_printf(arena, "(const void *const[]){%s}", x.arguments), false),
                      *const call = arena_printf(arena, "attn_call_%s(&kernel%s%s)", f->suffix, *passed ? ", " : "",
                                                 passed);
    function(out,
             arena_printf(arena, "%s %s_%s(%s)", f->type, p->spec->name, f->suffix,
                          emit_row_text(arena, f->parameters, p->spec->name, x.parameters, false)),
             "", call);
    if (arrays)
        function(out,
                 arena_printf(arena, "static %s %s_any(%s)", f->type, f->suffix,
                              emit_row_text(arena, f->parameters, p->spec->name, x.any_parameters, true)),
                 x.unused, call);
}

/* The other functions of struct attn_kernel. */
static void kernel_functions(const struct emission *p, const struct entry_arrays *forward,
                             const struct entry_arrays *backward, struct text *out)
{
    struct arena *const arena = p->compilation[0]->graph->module->arena;
    function(out, "static int params_init_any(void *params, uint64_t seed, void *storage)", "",
             "attn_call_params_init(&kernel, params, seed, storage)");
    if (p->sums_keys) {
        function(out, "static size_t key_sums(" PROBLEM ")", "", "attn_call_key_sums(&kernel, problem)");
        function(out,
                 "static int add_key_sums(" PROBLEM
                 ", const void *params, const void *k, const void *v, void *workspace)",
                 arena_printf(arena, "    const void *const q = NULL, *const out = NULL;\n%s", forward->unused),
                 arena_printf(arena,
                              "attn_call_add_key_sums(&kernel, problem, params, (const void *const[]){%s}, workspace)",
                              forward->arguments));
    }
    if (p->outer_chunk > 0 && p->parts) {
        function(out, "static size_t outer_sums_any(" PROBLEM ", int later)", "",
                 "attn_call_outer_sums(&kernel, problem, later)");
        function(out,
                 "static int add_outer_sums(" PROBLEM
                 ", const void *params, const void *q, const void *k, const void *v, "
                 "const void *out, const void *dout, int later, void *workspace)",
                 arena_printf(arena, "    const void *const dq = NULL, *const dk = NULL, *const dv = NULL;\n%s",
                              backward->unused),
                 arena_printf(arena,
                              "attn_call_add_outer_sums(&kernel, problem, params, (const void *const[]){%s}, later, "
                              "workspace)",
                              backward->arguments));
    }
    if (emit_finishes_gradients(p))
        function(out,
                 arena_printf(arena,
                              "static int finish_gradients(" PROBLEM
                              ", const void *params, %s, void *gradients, void *workspace)",
                              backward->any_parameters),
                 backward->unused,
                 arena_printf(arena,
                              "attn_call_backward(&kernel, problem, params, (const void *const[]){%s}, gradients, "
                              "workspace, OUTER_TERMS)",
                              backward->arguments));
    if (emit_decay_parts(p))
        function(out, "static int decay_sums(" PROBLEM ", const void *params, double *sums, void *workspace)", "",
                 "attn_call_decay_sums(&kernel, problem, params, sums, workspace)");
    if (!(p->spec->emit & EMIT_DECODE)) return;
    function(out, "static int64_t state_chunk(" PROBLEM ")", "", "attn_call_state_chunk(&kernel, problem)");
    function(out,
             "static int state_part(" PROBLEM ", void *state, int64_t sequence, int64_t first_kv_head, const struct "
             "attn_problem *part_problem, void *part, int back)",
             "", "attn_call_state_part(&kernel, problem, state, sequence, first_kv_head, part_problem, part, back)");
    if (emit_stores_chunks(p))
        function(out, "static size_t chunk_sums(" PROBLEM ")", "", "attn_call_chunk_sums(&kernel, problem)");
}

static const char *distance(struct arena *arena, int64_t n)
{
    return n == INT64_MAX ? "INT64_MAX" : arena_printf(arena, "%lld", (long long)n);
}

/* Prints NAME_kernel. */
static void description(const struct emitted_file *e, int params, struct text *out)
{
    const struct emission *const p = e->p;
    const struct spec *const spec = p->spec;
    const struct distances *const d = &p->distances;
    struct arena *const arena = e->c[0]->graph->module->arena;
    const char *const name = spec->name, *const strides = emit_strides_member(p->arrays);
    bool tables = false;
    for (int k = 0; k < p->arrays->count; k++) tables |= p->arrays->array[k].tiled && p->arrays->array[k].table;
    text_add(out,
             "const struct attn_kernel %s_kernel = {\n    .name = \"%s\", .version = \"" ATTNC_VERSION
             "\", .dtype = %s, .head_dim = %lld, .value_dim = %lld,\n    .params = %d, .param = %s, .params_bytes = "
             "sizeof(struct %s_params),\n    .params_size = %s_params_size, .params_init = params_init_any, "
             ".forward = forward_any,\n",
             name, name, emit_runtime_dtype(spec->dtype), (long long)spec->head_dim, (long long)spec->value_dim, params,
             params ? "param" : "NULL", name, name);
    for (const struct function_row *f = NULL; emission_next_function(p, &f);)
        if (f->passed && strncmp(f->passed, "problem", 7) == 0 && !strchr(f->passed, '#'))
            text_add(out, "    .%s = %s_%s,\n", f->suffix, name, f->suffix);
    if (p->parts) text_add(out, "    .backward = backward_any,\n");
    if (spec->emit & EMIT_DECODE)
        text_add(out, "    .extend = extend_any, .state_chunk = state_chunk, .state_part = state_part,\n%s",
                 emit_stores_chunks(p) ? "    .chunk_sums = chunk_sums,\n" : "");
    number(out, "values_are_keys", spec->values_are_keys);
    text_add(out, "    .key_dtype = %s, .value_dtype = %s,\n", emit_runtime_dtype(spec_type_of_keys(spec)),
             emit_runtime_dtype(spec_type_of_values(spec)));
    if (has_statistics(p->arrays))
        text_add(out, "    .statistics = %s, .merge = %s_merge,\n", table_statistics(spec), name);
    if (strides)
        text_add(out, "    .strides = offsetof(struct %s_params, %s), .strides_bytes = sizeof(struct %s_strides),\n",
                 name, strides, name);
    if (tables) text_add(out, "    .tiles_bytes = attn_tiles_bytes, .tiles_of_mask = attn_tiles_of_mask,\n");
    text_add(out,
             "    .before = %s, .after = %s, .period = %s, .names_heads = %d, .names_sequences = %d, .in_parts = %d,\n"
             "    .saved_power = %s, .has_sink = %d, .open_keys = %s, .end_of_keys = %s,\n",
             distance(arena, d->before), distance(arena, d->after), distance(arena, d->period), d->names_heads,
             d->names_sequences, p->in_parts, distance(arena, d->saved_power),
             spec->emit & EMIT_STATISTICS && spec_has_constant(spec), distance(arena, d->open_keys),
             distance(arena, d->end_of_keys));
    if (p->sums_keys)
        text_add(out, "    .key_sums = key_sums, .add_key_sums = add_key_sums, .sums_whole = %d,\n", p->sums_whole);
    if (p->outer_chunk) number(out, "outer_adds", emit_outer_adds(p));
    if (p->outer_chunk && p->parts)
        text_add(out, "    .outer_sums = outer_sums_any, .add_outer_sums = add_outer_sums, .outer_chunk = %lld,\n",
                 (long long)p->outer_chunk);
    if (emit_decay_parts(p))
        text_add(out, "    .decay_terms = %lld, .decay_params = UINT64_C(0x%llx), .decay_sums = decay_sums,\n",
                 (long long)array_row_elements(
                     &p->arrays->array[kernel_array_find(p->arrays, prefix_array_name(PREFIX_OF_KEY))]),
                 (unsigned long long)p->decay_params);
    if (emit_finishes_gradients(p)) text_add(out, "    .finish_gradients = finish_gradients,\n");
    number(out, "weights", p->of[STEP_WEIGHTS].count > 0);
    const struct compilation *const extend = spec->emit & EMIT_DECODE ? emission_extend(p) : NULL;
    const struct array *sums[MAX_OPERANDS];
    const int count = extend ? table_matrices(e, extend, sums) : 0;
    for (int n = 0; n < count; n++)
        text_add(out, n ? ", %lld, %lld" : "    .state_shapes = (const int64_t[]){%lld, %lld",
                 (long long)table_features(extend, sums[n]), sums[n]->rank == 2 ? (long long)spec->value_dim : 1);
    if (count) text_add(out, "}, .state_arrays = %d,\n", count);
    text_add(out, "};\n");
}

void emit_entry_points(const struct emitted_file *e, const struct table_arrays *all, struct text *out)
{
    const struct emission *const p = e->p;
    struct arena *const arena = e->c[0]->graph->module->arena;
    const struct entry_arrays forward = arrays_of(arena, p->arrays, &function_table[FUNCTION_forward]),
                              backward = arrays_of(arena, p->arrays, &function_table[FUNCTION_backward]);
    struct kept_counts counts = {0, 0, 0};
    text_add(out, "/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */\n");
    const int params = table_params(p, out);
    table_rows(e, all, out);
    table_programs(e, all, out);
    if (p->spec->emit & EMIT_DECODE) table_kept(p, &counts, out);
    kernel_table(e, all, params, &counts, out);
    text_add(out, "/* ==== the interface ==== */\n");
    for (int arrays = 0; arrays < 2; arrays++)
        for (const struct function_row *f = NULL; emission_next_function(p, &f);)
            if (f->passed && !!strchr(f->passed, '#') == arrays) entry_point(p, f, out);
    if (has_statistics(p->arrays))
        text_add(
            out,
            "int %s_merge(const struct attn_problem *left, void *left_out, const struct attn_problem *right, "
            "const void *right_out)\n{\n    return attn_merge(left, left_out, right, right_out, %s, %lld, %s);\n}\n",
            p->spec->name, emit_runtime_dtype(p->spec->dtype), (long long)p->spec->value_dim,
            table_statistics(p->spec));
    kernel_functions(p, &forward, &backward, out);
    description(e, params, out);
}
