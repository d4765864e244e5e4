/* Reads a graph that a user wrote in place of a spec. Its first rows of queries, keys and values are the arguments of
   the kernel, and its other arrays are parameters. Facts that no graph has are those of a spec of one line. */
#include "builder.h"
#include "variant.h"

#include <stdarg.h>
#include <string.h>

struct written {
    struct arena *arena;
    const char *text;
    struct diagnostics *d;
    struct graph *g;
};

/* The arguments of a kernel. The last axis has a constant extent. */
enum { QUERIES, KEYS, VALUES, ARGUMENTS, MAX_GIVEN_RANK = 4 };
static const struct argument {
    const char *name, *says, *sizes;
    int rank;
    enum size_source axis[MAX_RANK];
} arguments[ARGUMENTS] = {
    {"q",
     "queries",
     "[batch kv_heads members n_q NUMBER]",
     5,
     {SIZE_BATCH, SIZE_KV_HEADS, SIZE_MEMBERS, SIZE_N_Q, SIZE_CONSTANT}},
    {"k", "keys", "[batch kv_heads n_k NUMBER]", 4, {SIZE_BATCH, SIZE_KV_HEADS, SIZE_N_K, SIZE_CONSTANT}},
    {"v", "values", "[batch kv_heads n_k NUMBER]", 4, {SIZE_BATCH, SIZE_KV_HEADS, SIZE_N_K, SIZE_CONSTANT}},
};
static const char result_name[] = "out";

/* Returns the place of the line `%number = …`, or no place. */
static struct position place_of(const char *text, int number)
{
    char start[16];
    const size_t length = (size_t)snprintf(start, sizeof start, "%%%d", number);
    for (int line = 1; *text; line++) {
        const size_t blanks = strspn(text, " \t");
        if (strncmp(text + blanks, start, length) == 0 && strchr(" \t=", text[blanks + length]))
            return (struct position){line, (int)blanks + 1};
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return NO_POSITION;
}

/* Reports an error at a value. -1: the whole graph. */
static bool fail(const struct written *x, int value, const char *format, ...) IR_PRINTF(3, 4);
static bool fail(const struct written *x, int value, const char *format, ...)
{
    char message[512];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    return diagnostics_error(x->d, value < 0 ? NO_POSITION : place_of(x->text, value), "%s", message);
}

static bool verified(const struct written *x)
{
    const char *const wrong = graph_verify(x->g);
    int value = -1;
    if (wrong && sscanf(wrong, "%%%d", &value) != 1) value = -1;
    if (wrong) fail(x, value, "%s", wrong);
    return !wrong;
}

/* ---- what only passes make ---- */

static const char *made_by_pass(const struct value *v)
{
    return v->keep                                                ? "'keep'"
           : v->online >= 0                                       ? "'online'"
           : v->sums                                              ? "'sums'"
           : v->backward                                          ? "'backward'"
           : v->origin == ORIGIN_COMPUTED                         ? "a computed parameter"
           : v->op == GRAPH_SOLVE && v->operands > SOLVE_FEATURES ? "'features'"
                                                                  : NULL;
}

/* Whether v is a contraction over an axis that only one factor has. */
static bool sums_one_factor(const struct graph *g, const struct value *v)
{
    if (v->op != GRAPH_CONTRACT) return false;
    const uint32_t one = ref_axes(&v->operand[0]), other = ref_axes(&v->operand[1]);
    bool sums = false;
    for (int a = 0; a < g->module->axes; a++) sums |= ((one ^ other) >> a & 1) && !value_has_axis(v, a);
    return sums;
}

/* Whether an integer in e is divided by a number that can be 0. */
static bool can_divide_by_zero(const struct expr *e)
{
    bool can = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct expr *const by = w.e->arg[1], *const zero = by && by->op == EXPR_SELECT ? by->arg[0] : NULL;
        if (w.e->type != TYPE_INT || (w.e->op != EXPR_DIV && w.e->op != EXPR_MOD && w.e->op != EXPR_FLOORMOD)) continue;
        const bool guarded = zero && zero->op == EXPR_EQ && zero->arg[0] == by->arg[2] &&
                             zero->arg[1]->op == EXPR_INT && zero->arg[1]->integer == 0 && by->arg[1]->op == EXPR_INT &&
                             by->arg[1]->integer != 0;
        can |= !guarded && by->op != EXPR_SIZE && !(by->op == EXPR_INT && by->integer != 0);
    }
    return can;
}

static bool value_can_divide_by_zero(const struct value *v)
{
    bool can = can_divide_by_zero(v->expr) || can_divide_by_zero(v->where);
    for (int k = 0; k < v->operands; k++)
        for (int s = 0; s < v->operand[k].rank; s++) can |= can_divide_by_zero(v->operand[k].sub[s]);
    return can;
}

int *build_equal_values(const struct graph *g)
{
    struct arena *const arena = g->module->arena;
    int *const first = arena_alloc(arena, (size_t)g->values * sizeof *first);
    struct value *const merged = arena_alloc(arena, (size_t)g->values * sizeof *merged);
    for (int v = 0; v < g->values; v++) {
        merged[v] = g->value[v];
        for (int k = 0; k < merged[v].operands; k++) merged[v].operand[k].of = first[merged[v].operand[k].of];
        while (first[v] < v && !graph_value_equal(&merged[first[v]], &merged[v])) first[v]++;
    }
    return first;
}

/* Whether another sum over keys reads a weight that value `number` sums, in another region. */
static bool sums_another_region(const struct graph *g, const int *first, int number)
{
    const struct value *const v = &g->value[number];
    bool another = false;
    for (int u = 0; u < number && (v->op == GRAPH_CONTRACT || v->op == GRAPH_REDUCE); u++) {
        const struct value *const other = &g->value[u];
        if ((other->op != GRAPH_CONTRACT && other->op != GRAPH_REDUCE) || v->where == other->where) continue;
        for (int a = 0; a < v->operands; a++)
            for (int b = 0; b < other->operands; b++) {
                const struct value *const weight = &g->value[v->operand[a].of];
                int sequences = 0;
                for (int k = 0; k < weight->rank; k++) sequences += axis_is_sequence(&g->module->axis[weight->axes[k]]);
                another |= first[v->operand[a].of] == first[other->operand[b].of] && sequences == 2;
            }
    }
    return another;
}

/* Reports what a caller cannot give to a kernel. */
static bool is_source(const struct written *x)
{
    const struct graph *const g = x->g;
    const struct module *const m = g->module;
    static const char remedy[] = "a kernel is compiled from the graph before the passes, which '--emit graph' writes";
    for (int a = 0; a < m->axes; a++) switch (m->axis[a].source) {
        case SIZE_CHUNKS:
        case SIZE_QUERY_CHUNKS:
        case SIZE_UNITS:
        case SIZE_ROWS:
        case SIZE_FIRST_KEY:
        case SIZE_ALL_KEYS:
        case SIZE_SINK_MODE:
            fail(x, -1, "only attnc makes axes such as '%s'", m->axis[a].name);
            return diagnostics_note(x->d, NO_POSITION, "%s", remedy);
        case SIZE_CONSTANT:
        case SIZE_BATCH:
        case SIZE_KV_HEADS:
        case SIZE_MEMBERS:
        case SIZE_N_Q:
        case SIZE_N_K:
        case SIZE_QUERY_BLOCKS:
        case SIZE_KEY_BLOCKS:
        case SIZE_HEADS: break;
        }
    const int *const first = build_equal_values(g);
    for (int v = 0; v < g->values; v++) {
        const char *const made = made_by_pass(&g->value[v]);
        if (g->value[v].op == GRAPH_SOLVE && v != graph_find_solve(g))
            return fail(x, v, "a graph with two solutions is not compiled yet");
        if (sums_one_factor(g, &g->value[v]))
            return fail(x, v, "both factors of a contract have the axes that it sums; a reduce sums one value");
        if (value_can_divide_by_zero(&g->value[v]))
            return fail(x, v, "an integer is divided by a number x that can be 0; select(eq(x, 0), 1, x) cannot");
        if (sums_another_region(g, first, v)) {
            fail(x, v, "sums of one weight in two regions are not compiled yet");
            return diagnostics_note(
                x->d, NO_POSITION,
                "a map can be 0 outside a region, as in select(le(j, 5), %%4, 0.0), and has its own sum");
        }
        if (!made) continue;
        fail(x, v, "only a pass makes %s", made);
        return diagnostics_note(x->d, NO_POSITION, "%s", remedy);
    }
    if (g->outputs > 1 || g->by_chunks) {
        fail(x, -1, g->by_chunks ? "only a pass makes 'by_chunks'" : "a kernel has one output, but the graph has %d",
             g->outputs);
        return diagnostics_note(x->d, NO_POSITION, "%s", remedy);
    }
    return true;
}

/* ---- arrays ---- */

static bool has_axes(const struct graph *g, const struct value *v, const struct argument *like)
{
    bool has = v->rank == like->rank;
    for (int k = 0; has && k < v->rank; k++) has = g->module->axis[v->axes[k]].source == like->axis[k];
    return has;
}

static int64_t row_of(const struct graph *g, const struct value *v)
{
    return g->module->axis[v->axes[v->rank - 1]].extent;
}

/* Returns the input that is an argument: the one with the argument's name, otherwise the first one with its axes. Rows
   of keys and queries have one length, and so have rows of values and results. */
static int find_argument(const struct written *x, int argument, const int *found)
{
    const struct graph *const g = x->g;
    const struct argument *const like = &arguments[argument];
    const struct value *const with = &g->value[argument == VALUES ? g->output[0].value : found[QUERIES]];
    const int named = graph_find(g, like->name);
    for (int v = named >= 0 ? named : 0; v < (named >= 0 ? named + 1 : g->values); v++) {
        const struct value *const value = &g->value[v];
        bool other = argument == VALUES && v == found[KEYS];
        for (int a = 0; a < ARGUMENTS && value->name; a++)
            other |= a != argument && strcmp(value->name, arguments[a].name) == 0;
        if (value->op == GRAPH_INPUT && !other && has_axes(g, value, like) &&
            (argument == QUERIES || row_of(g, value) == row_of(g, with)))
            return v;
    }
    fail(x, named, "a graph needs an input of %s, whose axes have the sizes %s%s", like->says, like->sizes,
         argument == KEYS     ? "; its rows are as long as those of the queries"
         : argument == VALUES ? "; its rows are as long as those of the output"
                              : "");
    return -1;
}

/* Returns whether callers can give an array with these axes. */
static bool can_be_given(const struct graph *g, const struct value *v)
{
    int rank = v->rank;
    for (int k = 0; k < v->rank; k++) {
        if (g->module->axis[v->axes[k]].source != SIZE_MEMBERS) continue;
        if (k == 0 || g->module->axis[v->axes[k - 1]].source != SIZE_KV_HEADS) return false;
        rank--; /* heads are one axis of the caller's array */
    }
    return rank <= MAX_GIVEN_RANK;
}

/* Returns the name of a parameter in C. */
static const char *member_of(struct arena *arena, const char *name)
{
    char *const made = arena_copy(arena, name);
    for (char *c = made; *c; c++)
        if (*c == '.') *c = '_';
    return made;
}

/* Reports a parameter that cannot be a member of a struct in C. */
static void check_param(const struct written *x, int number)
{
    const struct graph *const g = x->g;
    const struct value *const v = &g->value[number];
    const char *const member = member_of(x->arena, v->name), *const wrong = spec_array_fault(x->arena, member);
    if (wrong) fail(x, number, "%s", wrong);
    if (!can_be_given(g, v))
        fail(x, number, "'%s' has axes that no array of a caller has: up to %d, and members only after kv_heads",
             v->name, MAX_GIVEN_RANK);
    for (int u = 0; u < g->values; u++) {
        if (u == number || g->value[u].op != GRAPH_PARAM) continue;
        const char *const other = member_of(x->arena, g->value[u].name);
        if (u < number && strcmp(other, member) == 0)
            fail(x, number, "'%s' and '%s' have one name in C", g->value[u].name, v->name);
        if (member[0] == 'd' && strcmp(member + 1, other) == 0)
            fail(x, number, "the gradient of '%s' is named '%s'; choose another name", g->value[u].name, v->name);
    }
}

/* Names the arguments and the output, and makes parameters of the other inputs. Reports what is wrong. */
static bool name_arrays(const struct written *x)
{
    struct graph *const g = x->g;
    int found[ARGUMENTS];
    struct value *const out = &g->value[g->output[0].value];
    if (!has_axes(g, out, &arguments[QUERIES]) || out->op == GRAPH_INPUT || out->op == GRAPH_PARAM)
        return fail(x, g->output[0].value, "the output is no value with the axes of queries");
    for (int a = 0; a < ARGUMENTS; a++)
        if ((found[a] = find_argument(x, a, found)) < 0) return false;
    g->output[0].name = result_name;
    for (int v = 0; v < g->values; v++) {
        struct value *const value = &g->value[v];
        const char *const within = value->within.of;
        if (value->op != GRAPH_INPUT) continue;
        if (within && (v != found[VALUES] || graph_find(g, within) != found[KEYS]))
            return fail(x, v, "only the values can be within another array, which is that of the keys");
        if (within) value->within.of = arguments[KEYS].name;
    }
    for (int v = 0; v < g->values; v++) {
        struct value *const value = &g->value[v];
        int argument = 0;
        while (argument < ARGUMENTS && found[argument] != v) argument++;
        if (value->op != GRAPH_INPUT) continue;
        if (argument < ARGUMENTS) {
            value->name = arguments[argument].name;
            continue;
        }
        value->op = GRAPH_PARAM;
        if (!value->stored && dtype_bytes(g->module->dtype) == 2) value->stored = g->module->dtype;
    }
    const int errors = diagnostics_errors(x->d);
    for (int v = 0; v < g->values; v++)
        if (g->value[v].op == GRAPH_PARAM) check_param(x, v);
    return diagnostics_errors(x->d) == errors && verified(x);
}

/* Returns the graph of a text, or NULL after an error. */
static struct graph *read_graph(struct arena *arena, const char *text, struct diagnostics *d)
{
    struct written x = {arena, text, d, graph_parse(arena, text, d)};
    const char *const first = strncmp(text, "graph ", 6) == 0 ? text : strstr(text, "\ngraph ");
    if (!x.g && first && strstr(first + 1, "\ngraph "))
        diagnostics_note(d, NO_POSITION, "--dump-after prints a graph for each form; keep one of them");
    return x.g && verified(&x) && is_source(&x) && name_arrays(&x) ? x.g : NULL;
}

struct graph *build_written(struct arena *arena, const struct spec *spec, struct diagnostics *d)
{
    struct graph *const g = read_graph(arena, spec->graph, d);
    if (!g) return NULL;
    g->module->name = spec->name;
    g->module->seed = spec->seed;
    return g;
}

/* ---- the spec ---- */

/* Returns whether --set may change the key of a graph's spec. If not, reports an error. */
static bool may_set(const char *set, struct diagnostics *d)
{
    static const char *const keys[] = {"name",     "description",     "emit", "algorithm", "block",
                                       "schedule", "shape.max_length"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const size_t length = strlen(keys[k]);
        if (strncmp(set, keys[k], length) == 0 && strchr(".=", set[length])) return true;
    }
    diagnostics_error(d, NO_POSITION, "a graph says what '%.*s' would set; change the graph", (int)strcspn(set, "="),
                      set);
    return diagnostics_note(d, NO_POSITION,
                            "--set takes name, description, emit, algorithm, block, schedule and shape.max_length");
}

/* Returns the facts of a spec that the graph has, as a spec in YAML. */
static const char *yaml_of(struct arena *arena, const struct graph *g)
{
    const struct value *const k = &g->value[graph_find(g, arguments[KEYS].name)],
                              *const v = &g->value[graph_find(g, arguments[VALUES].name)];
    const char *storage = "";
    if (k->stored || v->stored) {
        const char *const keys = k->stored ? arena_printf(arena, "k: %s", dtype_name(k->stored)) : "",
                          *const values = v->stored && !v->within.of
                                              ? arena_printf(arena, "v: %s", dtype_name(v->stored))
                                              : "";
        storage = arena_printf(arena, "storage: {%s%s%s}\n", keys, *keys && *values ? ", " : "", values);
    }
    return arena_printf(arena, "dtype: %s\nshape: {head_dim: %lld, value_dim: %lld%s}\n%ssimilarity: softmax\n",
                        dtype_name(g->module->dtype), (long long)row_of(g, k), (long long)row_of(g, v),
                        v->within.of ? ", values: keys" : "", storage);
}

/* Whether e reads a parameter as lists of blocks. */
static bool draws_from(const struct expr *e, const char *name)
{
    bool draws = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        draws |= w.e->op == EXPR_DRAWN && w.e->draw->name && strcmp(w.e->draw->name, name) == 0;
    return draws;
}

static bool has_lists(const struct graph *g, const char *name)
{
    bool has = false;
    for (int v = 0; v < g->values; v++)
        has |= draws_from(g->value[v].where, name) || draws_from(g->value[v].expr, name);
    return has;
}

/* Sets spec->arrays to the parameters with a name of C, but for lists of blocks. Calls may pass their strides. */
static void set_arrays(struct spec *spec, struct arena *arena, const struct graph *g)
{
    struct user_arrays *const all = &spec->arrays;
    all->array = arena_alloc(arena, (size_t)g->values * sizeof *all->array);
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        if (value->op != GRAPH_PARAM || value->origin != ORIGIN_LEARNED || strchr(value->name, '.') ||
            has_lists(g, value->name))
            continue;
        all->array[all->count++] = (struct user_array){.name = value->name,
                                                       .at = place_of(spec->graph, v),
                                                       .type = value->bytes                  ? ARRAY_BOOL
                                                               : value->integers             ? ARRAY_INT
                                                               : value->stored == DTYPE_F16  ? ARRAY_F16
                                                               : value->stored == DTYPE_BF16 ? ARRAY_BF16
                                                                                             : ARRAY_REAL};
    }
}

static const struct spec *spec_of_graph(struct arena *arena, const char *file, const char *text, size_t length,
                                        int overrides, const char *const *override, struct diagnostics *d)
{
    /* The rate of corrections is in the graph. It reads no array by an expression. */
    static const struct expression rate = {.text = ""};
    const int errors = diagnostics_errors(d);
    if (length > YAML_MAX_BYTES || memchr(text, 0, length)) {
        diagnostics_error(d, NO_POSITION,
                          length > YAML_MAX_BYTES ? "a graph has at most %d bytes" : "a graph has no byte 0",
                          YAML_MAX_BYTES);
        return NULL;
    }
    for (int k = 0; k < overrides; k++) (void)may_set(override[k], d);
    char *const copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    const struct graph *const g = read_graph(arena, copy, d);
    if (!g || diagnostics_errors(d) > errors) return NULL;
    const char *const yaml = yaml_of(arena, g);
    struct diagnostics *const of_yaml = diagnostics_new(arena, file, yaml, strlen(yaml));
    const struct spec *const of_line = spec_read(arena, file, yaml, strlen(yaml), overrides, override, of_yaml);
    diagnostics_take(d, of_yaml);
    if (!of_line) return NULL;
    struct spec *const spec = arena_alloc(arena, sizeof *spec);
    *spec = *of_line;
    if (spec->emit & (EMIT_STATISTICS | EMIT_WEIGHTS | EMIT_JVP)) {
        diagnostics_error(d, NO_POSITION, "'emit: [%s]' of a graph is not compiled yet",
                          spec->emit & EMIT_JVP       ? "jvp"
                          : spec->emit & EMIT_WEIGHTS ? "weights"
                                                      : "statistics");
        return NULL;
    }
    spec->graph = copy;
    /* places in the line of YAML are no places in the graph */
    spec->similarity.at = spec->storage_at = spec->emit_at = NO_POSITION;
    if (graph_find_solve(g) >= 0) spec->rate = &rate;
    set_arrays(spec, arena, g);
    return spec;
}

bool source_is_graph(const char *file)
{
    static const char suffix[] = ".graph";
    const size_t length = strlen(file);
    return length >= sizeof suffix && strcmp(file + length - (sizeof suffix - 1), suffix) == 0;
}

const struct spec *source_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides,
                               const char *const *override, struct diagnostics *d)
{
    return (source_is_graph(file) ? spec_of_graph : spec_read)(arena, file, text, length, overrides, override, d);
}
