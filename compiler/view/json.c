/* Writes NAME.json, a description of the compiled spec for other programs. */
#include "view.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Returns the extent of an axis: a number, or the name of a size that the caller passes. */
static json_t *extent(const char *text)
{
    char *end;
    const long long n = strtoll(text, &end, 10);
    return *end || end == text ? json_string(text) : json_integer(n);
}

static json_t *shape(const struct unit *p, const struct kernel_array *a)
{
    json_t *list = json_array();
    for (int k = 0; k < a->rank; k++) json_array_append_new(list, extent(array_axis_word(p->arena, &a->axis[k])));
    return list;
}

/* Lists the arrays that an entry point accesses in this way, without parameters. The list of backward leaves out the
   arrays of forward. */
static json_t *arguments(const struct unit *p, enum entry entry, enum array_access access)
{
    json_t *list = json_array();
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        const bool before = entry == ENTRY_BACKWARD && access == ACCESS_READ && a->access[ENTRY_FORWARD] != ACCESS_NONE;
        if (a->place != PLACE_PARAMS && a->place != PLACE_WITHIN && a->access[entry] == access && !before)
            json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", a->name, "dtype", dtype_name(a->dtype),
                                                  "shape", shape(p, a)));
    }
    return list;
}

static json_t *parameters(const struct unit *p)
{
    json_t *list = json_array();
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if (a->place != PLACE_PARAMS) continue;
        const bool initial = a->learned && a->initial != INITIAL_GIVEN;
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s, s:s, s:b, s:s?, s:s?}", "name", a->name, "dtype",
                                              dtype_name(a->dtype), "shape", shape(p, a), "member", a->member,
                                              "keyword", view_python_argument(p, a), "strides", (int)a->strided,
                                              "from_seed", a->origin == ORIGIN_LEARNED ? NULL : origin_name(a->origin),
                                              "initial", initial ? initial_name(a->initial) : NULL));
    }
    return list;
}

/* Lists all arrays of forward. If the kernel has gradients, also lists all arrays of backward. */
static json_t *arrays(const struct unit *p)
{
    static const char *const access[] = {
        [ACCESS_READ] = "read", [ACCESS_WRITTEN] = "written", [ACCESS_WANTED] = "written if wanted"};
    static const char *const place[] = {[PLACE_ARGUMENT] = "argument",
                                        [PLACE_PROBLEM] = "problem",
                                        [PLACE_PARAMS] = "params",
                                        [PLACE_GRADIENTS] = "gradients"};
    json_t *list = json_array();
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if ((a->access[ENTRY_FORWARD] == ACCESS_NONE && !p->kernel.of[STEP_BACKWARD].count) ||
            a->place == PLACE_WITHIN || a->place == PLACE_WORKSPACE)
            continue;
        const bool backward = p->kernel.of[STEP_BACKWARD].count;
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:b, s:b, s:s?, s:s?, s:s?}", "name", a->name, "dtype",
                      dtype_name(a->dtype), "shape", shape(p, a), "member", a->member, "place", place[a->place], "role",
                      array_role_name(a->role), "learned", (int)a->learned, "rows", (int)a->rows, "forward",
                      access[a->access[ENTRY_FORWARD]], "backward", backward ? access[a->access[ENTRY_BACKWARD]] : NULL,
                      "gradient_of", a->gradient_of < 0 ? NULL : p->kernel.arrays->array[a->gradient_of].name));
    }
    return list;
}

static const struct compilation *linear_form(const struct unit *p)
{
    for (int k = 0; k < p->kernel.compilations; k++)
        if (p->kernel.compilation[k]->program.linear) return p->kernel.compilation[k];
    return NULL;
}

/* Returns the number of keys from which the first target uses the linear form. Returns 0 if there is only one form. */
static int64_t first_linear(const struct unit *p)
{
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    for (const struct version *v = NULL; versions_next(forward, &v) && v->target == forward->version->target;)
        if (v->c->program.linear) return v == forward->version ? 0 : v->from;
    return 0;
}

static json_t *algorithm(const struct unit *p)
{
    const struct compilation *first = p->kernel.compilation[0], *linear = linear_form(p);
    const bool pairs = graph_has_pairs(p->graph);
    json_t *forms = json_array();
    if (!pairs || !first->program.linear) json_array_append_new(forms, json_string(pairs ? "quadratic" : "linear"));
    if (pairs && linear) json_array_append_new(forms, json_string("linear"));
    const char *why = !pairs
                          ? "queries are multiplied with sums over all keys, so there are no pairs of queries and keys"
                      : linear && !first->program.linear
                          ? "the weight has finite features, and its linear form takes less work from the crossover on"
                      : linear && p->spec->algorithm == ALGORITHM_AUTO
                          ? "the schedule takes the linear form for every length"
                      : linear ? "'algorithm: linear' asks for only the linear form"
                               : p->why_quadratic;
    json_t *made = json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "forms", forms, "why", why, "crossover",
                             first_linear(p) ? json_integer(first_linear(p)) : json_null(), "features",
                             linear && pairs ? json_integer(linear->separated.features) : json_null(), "state_bytes",
                             json_null(), "foldable_state_bytes",
                             p->kernel.of[STEP_FOLDABLE].count
                                 ? json_integer(p->kernel.of[STEP_FOLDABLE].version[0].c->loops->kept)
                                 : json_null(),
                             "chunk", json_null());
    if (!linear || !pairs) return made;
    json_object_set_new(made, "state_bytes",
                        json_integer(linear->separated.features * (p->spec->value_dim + 1) *
                                     dtype_bytes(dtype_of_sums(p->spec->dtype))));
    for (int k = 0; k < linear->graph->module->axes; k++)
        if (axis_is_chunks(&linear->graph->module->axis[k]))
            json_object_set_new(made, "chunk", json_integer(linear->graph->module->axis[k].extent));
    return made;
}

static json_t *kernels(const struct unit *p)
{
    json_t *list = json_array();
    for (int k = 0; k < p->kernel.compilations; k++) {
        const struct compilation *c = p->kernel.compilation[k];
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:i, s:i, s:I, s:I, s:I, s:i, s:i, s:i, s:I}", "target",
                                              c->target->name, "form", compilation_form(c), "multiplies_bf16",
                                              (int)loops_paired(c->loops), "vector_bytes", c->target->vector_bytes,
                                              "registers", c->target->registers, "tile_q", (json_int_t)c->tiling.tile_q,
                                              "tile_k", (json_int_t)c->tiling.tile_k, "queries_together",
                                              (json_int_t)queries_together(c), "rows", c->registers.rows, "vectors",
                                              c->registers.vectors, "unroll", c->registers.unroll,
                                              "workspace_bytes_a_thread", (json_int_t)loops_bytes(c->loops)));
    }
    return list;
}

/* Returns the text that a function appends about a value. */
static json_t *says(const struct graph *g, const struct value *v,
                    void (*append)(const struct graph *, const struct value *, struct text *))
{
    struct text text = {0};
    append(g, v, &text);
    json_t *made = json_string(text.data);
    text_free(&text);
    return made;
}

/* Returns an expression as a tree: a number, the name of an axis for its index, ["size", axis], or an operation with
   its arguments. Other leaves are their operation alone. */
static json_t *tree(const struct graph *g, const struct expr *e)
{
    if (e->op == EXPR_INT) return json_integer((json_int_t)e->integer);
    if (e->op == EXPR_INDEX) return json_string(g->module->axis[e->integer].name);
    json_t *list = json_array();
    json_array_append_new(list, json_string(expr_name(e->op)));
    if (e->op == EXPR_SIZE) json_array_append_new(list, json_string(g->module->axis[e->integer].name));
    for (int k = 0; k < 3 && e->arg[k]; k++) json_array_append_new(list, tree(g, e->arg[k]));
    return list;
}

/* Lists the different masks of the sums in the graph. */
static json_t *masks(const struct graph *g)
{
    json_t *list = json_array();
    for (int k = 0; k < g->values; k++) {
        const struct expr *const mask = g->value[k].where;
        bool known = !mask;
        for (int other = 0; other < k && !known; other++) known = g->value[other].where == mask;
        if (!known) json_array_append_new(list, tree(g, mask));
    }
    return list;
}

static const char *operation(enum graph_op op)
{
    switch (op) {
#define GRAPH(name, text) \
    case GRAPH_##name: return text;
#include "../../ir/graph.def"
#undef GRAPH
    }
    return "";
}

static json_t *graph(const struct unit *p)
{
    const struct graph *g = p->graph;
    json_t *axes = json_array(), *values = json_array();
    for (int k = 0; k < g->module->axes; k++)
        json_array_append_new(
            axes, json_pack("{s:s, s:o}", "name", g->module->axis[k].name, "extent", extent(emit_size(g->module, k))));
    for (int k = 0; k < g->values; k++) {
        const struct value *v = &g->value[k];
        json_t *over = json_array(), *operands = json_array();
        for (int a = 0; a < v->rank; a++) json_array_append_new(over, json_string(g->module->axis[v->axes[a]].name));
        for (int o = 0; o < v->operands; o++)
            json_array_append_new(operands, json_string(formula_name(g, v->operand[o].of)));
        json_t *item = json_pack("{s:s, s:s, s:o, s:o}", "name", formula_name(g, k), "op", operation(v->op), "axes",
                                 over, "operands", operands);
        json_object_set_new(item, "says", says(g, v, view_value));
        if (v->where) json_object_set_new(item, "where", says(g, v, formula_mask));
        json_array_append_new(values, item);
    }
    struct text text = {0};
    graph_print(g, &text);
    json_t *made = json_pack("{s:o, s:o, s:o, s:s, s:s}", "axes", axes, "values", values, "masks", masks(g), "output",
                             formula_name(g, g->output[0].value), "text", text.data);
    text_free(&text);
    return made;
}

static json_t *functions(const struct unit *p)
{
    json_t *made = json_object();
    for (const struct function_row *f = NULL; emission_next_function(&p->kernel, &f);)
        json_object_set_new(made, f->suffix, json_string(arena_printf(p->arena, "%s_%s", p->spec->name, f->suffix)));
    json_object_set_new(made, "kernel", json_string(arena_printf(p->arena, "%s_kernel", p->spec->name)));
    return made;
}

/* Lists the parts of the gradients in the order in which they run. "from" is the number of keys from which a part is
   used. */
static json_t *gradient_parts(const struct unit *p)
{
    json_t *list = json_array();
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_BACKWARD], &v);) {
        const struct compilation *const c = v->c;
        json_t *computes = json_array();
        for (int o = 0; o < c->graph->outputs; o++)
            json_array_append_new(computes, json_string(c->graph->output[o].name));
        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:i, s:o, s:b, s:s, s:I, s:I, s:I}", "target", c->target->name, "from",
                      (json_int_t)v->from, "part", v->part, "computes", computes, "only_if_none_were_saved",
                      program_recomputes_saved(&c->program) || emission_computes_solution(&p->kernel, c), "form",
                      c->program.linear ? "linear" : "quadratic", "tile_q", (json_int_t)c->tiling.tile_q, "tile_k",
                      (json_int_t)c->tiling.tile_k, "workspace_bytes_a_thread", (json_int_t)loops_bytes(c->loops)));
    }
    return list;
}

static json_t *gradients(const struct unit *p)
{
    if (!p->kernel.of[STEP_BACKWARD].count) return json_null();
    return json_pack("{s:o, s:o, s:I, s:I, s:o}", "inputs", arguments(p, ENTRY_BACKWARD, ACCESS_READ), "outputs",
                     arguments(p, ENTRY_BACKWARD, ACCESS_WANTED), "saved_bytes_a_row",
                     (json_int_t)p->kernel.saved * dtype_bytes(dtype_of_sums(p->spec->dtype)), "saved_bytes_a_key",
                     (json_int_t)(p->kernel.saves_solution ? p->spec->value_dim : 0) *
                         dtype_bytes(dtype_of_sums(p->spec->dtype)),
                     "parts", gradient_parts(p));
}

/* Returns the value of each knob in the first kernel and in its gradients. */
static json_t *taken(const struct unit *p)
{
    json_t *made = json_object(), *of_backward = p->kernel.of[STEP_BACKWARD].count ? json_object() : NULL;
    const struct compilation *part = NULL;
    struct tune_knob knob;
    const char *reason;
    for (const struct version *v = NULL; !part && versions_next(&p->kernel.of[STEP_BACKWARD], &v);)
        if (program_has_weight_gradients(&v->c->program)) part = v->c;
    for (int k = 0; k < KNOBS; k++) {
        if (knob_about(&p->defaults[0], false, NULL, 0, k, &knob, &reason))
            json_object_set_new(made, knob.name, json_integer(knob_taken(p, p->kernel.compilation[0], k)));
        if (part && knob_about(&p->defaults[0], true, NULL, 0, k, &knob, &reason))
            json_object_set_new(of_backward, knob_table[k].name, json_integer(knob_taken(p, part, k)));
    }
    if (of_backward) json_object_set_new(made, "backward", of_backward);
    return made;
}

/* Appends the knobs of forward or of the gradients. The JSON key "usual" has the default of the quadratic form on the
   first target, and "usual_linear" the default of the linear form. */
static void add_knobs(const struct unit *p, bool backward, json_t *list)
{
    const struct defaults *u = &p->defaults[0];
    const struct compilation *quadratic = backward ? u->gradients[0] : u->quadratic,
                             *linear = backward ? u->gradients[1] : u->linear;
    struct tune_knob knob, far;
    const char *reason;
    for (int k = 0; k < KNOBS; k++) {
        if (!knob_about(u, backward, quadratic, 0, k, &knob, &reason) ||
            !knob_about(u, backward, linear, 0, k, &far, &reason))
            continue;
        const struct knob_row *row = &knob_table[k];
        json_t *values = json_array();
        for (int v = 0; v < knob.values; v++) json_array_append_new(values, json_integer(knob.value[v]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "name", knob.name, "says",
                                              knob.says, "least", (json_int_t)row->low, "most", (json_int_t)row->high,
                                              "multiple_of", (json_int_t)row->multiple, "usual",
                                              (json_int_t)knob.value[knob.default_at], "usual_linear",
                                              (json_int_t)far.value[far.default_at], "values", values));
    }
}

static json_t *knobs(const struct unit *p)
{
    json_t *list = json_array();
    add_knobs(p, false, list);
    if (p->kernel.of[STEP_BACKWARD].count) add_knobs(p, true, list);
    return list;
}

static int kernel_of(const struct unit *p, const struct compilation *c)
{
    int kernel = 0;
    while (p->kernel.compilation[kernel] != c) kernel++;
    return kernel;
}

/* Lists the versions of each target. A version is used for `from` keys and more. `kernel` is the index of its
   kernel. */
static json_t *versions(const struct unit *p)
{
    json_t *list = json_array();
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_FORWARD], &v);) {
        json_t *const version = json_pack("{s:s, s:I, s:i}", "target", v->target->name, "from", (json_int_t)v->from,
                                          "kernel", kernel_of(p, v->c));
        if (v->few)
            json_object_set_new(version, "few",
                                json_pack("{s:i, s:I, s:i}", "queries", MAX_FEW_QUERIES, "rows",
                                          (json_int_t)v->few_rows, "kernel", kernel_of(p, v->few)));
        if (v->heads)
            json_object_set_new(version, "heads",
                                json_pack("{s:i, s:i, s:i}", "queries", MAX_FEW_QUERIES, "from", MANY_HEADS, "kernel",
                                          kernel_of(p, v->heads)));
        json_array_append_new(list, version);
    }
    return list;
}

bool emit_json(const struct unit *p, struct text *out)
{
    const struct spec *spec = p->spec;
    long long products, scalars;
    count_pair(p->graph, &products, &scalars);
    json_t *outputs = arguments(p, ENTRY_FORWARD, ACCESS_WRITTEN), *output = json_incref(json_array_get(outputs, 0));
    json_decref(outputs);
    json_t *seed = spec->similarity.has_seed ? json_integer((json_int_t)spec->similarity.seed) : json_null();
    if (spec->similarity.has_seed &&
        spec->similarity.seed > INT64_MAX) { /* The JSON library has no integer type for such a seed. */
        json_decref(seed);
        seed = json_string(arena_printf(p->arena, "%llu", (unsigned long long)spec->similarity.seed));
    }
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
                             "s:o, s:o, s:o, s:o, s:o, s:o, "
                             "s:{s:I, "
                             "s:I}, "
                             "s:o, s:o}",
                             "name", spec->name, "description", spec->description, "attnc", ATTNC_VERSION, "command",
                             p->command, "hash", unit_ready_hash(p), "dtype", dtype_name(spec->dtype), "emit",
                             (int)spec->emit, "head_dim", (json_int_t)spec->head_dim, "value_dim",
                             (json_int_t)spec->value_dim, "values", spec->values_are_keys ? "keys" : "given",
                             "max_length", spec->max_length ? json_integer((json_int_t)spec->max_length) : json_null(),
                             "inputs", arguments(p, ENTRY_FORWARD, ACCESS_READ), "output", output, "parameters",
                             parameters(p), "arrays", arrays(p), "seed", seed, "dropout", json_real(spec->dropout),
                             "functions", functions(p), "algorithm", algorithm(p), "schedule", taken(p), "knobs",
                             knobs(p), "kernels", kernels(p), "versions", versions(p), "pair", "flops_in_products",
                             (json_int_t)products, "scalar_operations", (json_int_t)scalars, "gradients", gradients(p),
                             "graph", graph(p));
    const char *const header = hash_text(p->arena, attnrt_header, strlen(attnrt_header));
    if (root) json_object_set_new(root, "header", json_string(header)); /* libraries with this header fit together */
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    if (text) {
        text_add(out, "%s\n", text);
        free(text);
    }
    json_decref(root);
    return text != NULL;
}
