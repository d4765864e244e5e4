/* Builds graphs, and has the basic operations with which passes rewrite them. */
#include "graph.h"

#include <string.h>

const char *origin_name(enum origin origin)
{
    static const char *const name[] = {
#define ORIGIN(name, text) text,
#include "origin.def"
#undef ORIGIN
    };
    return name[origin];
}

const char *initial_name(enum initial initial)
{
    static const char *const name[] = {
#define INITIAL(name, text) text,
#include "initial.def"
#undef INITIAL
    };
    return name[initial];
}

struct graph *graph_new(struct module *m)
{
    struct graph *g = arena_alloc(m->arena, sizeof *g);
    g->module = m;
    return g;
}

static int add(struct graph *g, struct value v)
{
    g->value = arena_grow(g->module->arena, g->value, g->values, &g->capacity, sizeof *g->value);
    g->value[g->values] = v;
    return g->values++;
}

struct graph *graph_copy(const struct graph *g)
{
    struct graph *copy = graph_new(g->module);
    copy->capacity = g->values + g->values / 4 + 8; /* passes add values to their copies */
    copy->value = arena_alloc(g->module->arena, (size_t)copy->capacity * sizeof *copy->value);
    if (g->values) memcpy(copy->value, g->value, (size_t)g->values * sizeof *copy->value);
    copy->values = g->values;
    copy->by_chunks = g->by_chunks;
    copy->outputs = g->outputs;
    memcpy(copy->output, g->output, sizeof copy->output);
    return copy;
}

struct value graph_value(enum graph_op op, int rank, const int *axes)
{
    struct value v = {.op = op, .rank = rank, .online = -1};
    for (int k = 0; k < rank; k++) v.axes[k] = axes[k];
    return v;
}

static int named(struct graph *g, enum graph_op op, const char *name, int rank, const int *axes, const double *data)
{
    struct value v = graph_value(op, rank, axes);
    v.name = arena_copy(g->module->arena, name);
    v.data = data;
    return add(g, v);
}

int graph_input(struct graph *g, const char *name, int rank, const int *axes)
{
    return named(g, GRAPH_INPUT, name, rank, axes, NULL);
}

int graph_param(struct graph *g, const char *name, int rank, const int *axes)
{
    return named(g, GRAPH_PARAM, name, rank, axes, NULL);
}

int graph_ids(struct graph *g, const char *name, int rank, const int *axes, bool bytes)
{
    int v = graph_param(g, name, rank, axes);
    g->value[v].integers = true;
    g->value[v].bytes = bytes;
    return v;
}

bool graph_numbers_keys(const struct graph *g, const struct value *v)
{
    const struct axis *const axis = g->module->axis;
    return v->integers && v->rank == 2 && axis[v->axes[0]].source == SIZE_BATCH && axis[v->axes[1]].source == SIZE_N_K;
}

int graph_random(struct graph *g, const char *name, enum origin origin, int rank, const int *axes)
{
    int v = graph_param(g, name, rank, axes);
    g->value[v].origin = origin;
    return v;
}

int graph_table(struct graph *g, const char *name, int rank, const int *axes, const double *data)
{
    return named(g, GRAPH_TABLE, name, rank, axes, data);
}

int graph_map(struct graph *g, int rank, const int *axes, int operands, const struct ref *operand,
              const struct expr *expr)
{
    struct value v = graph_value(GRAPH_MAP, rank, axes);
    v.operands = operands;
    for (int k = 0; k < operands; k++) v.operand[k] = operand[k];
    v.expr = expr;
    return add(g, v);
}

int graph_contract(struct graph *g, int rank, const int *axes, struct ref a, struct ref b, const struct expr *where)
{
    struct value v = graph_value(GRAPH_CONTRACT, rank, axes);
    v.operands = 2;
    v.operand[0] = a;
    v.operand[1] = b;
    v.where = where;
    return add(g, v);
}

int graph_reduce(struct graph *g, enum fold fold, double init, int rank, const int *axes, struct ref a,
                 const struct expr *where)
{
    struct value v = graph_value(GRAPH_REDUCE, rank, axes);
    v.fold = fold;
    v.init = init;
    v.operands = 1;
    v.operand[0] = a;
    v.where = where;
    return add(g, v);
}

int graph_solve(struct graph *g, int rank, const int *axes, struct ref weights, struct ref values, struct ref rate,
                const struct expr *where)
{
    struct value v = graph_value(GRAPH_SOLVE, rank, axes);
    v.operands = 3;
    v.operand[SOLVE_WEIGHTS] = weights;
    v.operand[SOLVE_VALUES] = values;
    v.operand[SOLVE_RATE] = rate;
    v.where = where;
    return add(g, v);
}

int graph_select(struct graph *g, const char *name, int rank, const int *axes, int listed, struct ref of, int64_t block,
                 const struct expr *where)
{
    struct value v = graph_value(GRAPH_SELECT, rank, axes);
    v.name = arena_copy(g->module->arena, name);
    v.integers = true;
    v.axes[v.rank++] = listed;
    v.operands = 1;
    v.operand[0] = of;
    v.block = block;
    v.where = where;
    return add(g, v);
}

int graph_scan(struct graph *g, int rank, const int *axes, struct ref a, bool backward, const struct expr *where)
{
    struct value v = graph_value(GRAPH_SCAN, rank, axes);
    v.operands = 1;
    v.operand[0] = a;
    v.backward = backward;
    v.where = where;
    return add(g, v);
}

bool graph_solve_axes(const struct module *m, const struct value *v, int *along, int *rows)
{
    *along = *rows = -1;
    for (int a = 0; a < m->axes; a++) {
        if (!ref_uses_axis(&v->operand[SOLVE_WEIGHTS], a) || value_has_axis(v, a)) continue;
        if (*rows >= 0) return false;
        *rows = a;
    }
    for (int k = 0; k < v->rank && *rows >= 0; k++) {
        const int a = v->axes[k];
        if (axis_is_sequence(&m->axis[a]) && m->axis[a].source == m->axis[*rows].source &&
            ref_uses_axis(&v->operand[SOLVE_WEIGHTS], a))
            *along = a;
    }
    return *along >= 0;
}

bool graph_has(const struct graph *g, enum expr_op op)
{
    bool has = false;
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        has |= (value->expr && expr_has(value->expr, op)) || (value->where && expr_has(value->where, op));
        for (int k = 0; k < value->operands; k++)
            for (int s = 0; s < value->operand[k].rank; s++) has |= expr_has(value->operand[k].sub[s], op);
    }
    return has;
}

int graph_count(const struct graph *g, enum graph_op op)
{
    int count = 0;
    for (int v = 0; v < g->values; v++) count += g->value[v].op == op;
    return count;
}

static int find_op(const struct graph *g, enum graph_op op)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].op == op) return v;
    return -1;
}

int graph_find_solve(const struct graph *g)
{
    return find_op(g, GRAPH_SOLVE);
}

int graph_find_scan(const struct graph *g)
{
    return find_op(g, GRAPH_SCAN);
}

void graph_insert(struct graph *g, int at, struct value v)
{
    add(g, v);
    for (int w = g->values - 1; w > at; w--) g->value[w] = g->value[w - 1];
    g->value[at] = v;
    for (int w = at + 1; w < g->values; w++) {
        for (int k = 0; k < g->value[w].operands; k++) g->value[w].operand[k].of += g->value[w].operand[k].of >= at;
        g->value[w].online += g->value[w].online >= at;
    }
    for (int o = 0; o < g->outputs; o++) g->output[o].value += g->output[o].value >= at;
}

int graph_map_summed(struct graph *g, int v)
{
    bool summed = false;
    for (int w = v + 1; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++)
            summed |= g->value[w].operand[k].of == v && g->value[w].op != GRAPH_MAP;
    if (!summed) return 0;
    struct value map = graph_value(GRAPH_MAP, g->value[v].rank, g->value[v].axes);
    map.operands = 1;
    map.operand[0] = graph_ref(g, v, NULL);
    map.expr = expr_operand(g->module, 0);
    graph_insert(g, v + 1, map);
    for (int w = v + 2; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) g->value[w].operand[k].of += g->value[w].operand[k].of == v;
    return 1;
}

void graph_output(struct graph *g, const char *name, int v)
{
    if (g->outputs == MAX_OUTPUTS) return;
    g->output[g->outputs].name = arena_copy(g->module->arena, name);
    g->output[g->outputs++].value = v;
}

int graph_find(const struct graph *g, const char *name)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].name && strcmp(g->value[v].name, name) == 0) return v;
    return -1;
}

int graph_find_output(const struct graph *g, const char *name)
{
    for (int o = 0; o < g->outputs; o++)
        if (strcmp(g->output[o].name, name) == 0) return o;
    return -1;
}

void graph_mark(const struct graph *g, int v, bool *marked)
{
    if (marked[v]) return;
    marked[v] = true;
    for (int k = 0; k < g->value[v].operands; k++) graph_mark(g, g->value[v].operand[k].of, marked);
}

bool graph_is_output(const struct graph *g, int v)
{
    for (int o = 0; o < g->outputs; o++)
        if (g->output[o].value == v) return true;
    return false;
}

struct ref graph_ref(const struct graph *g, int v, const int *axes)
{
    const struct value *value = &g->value[v];
    struct ref r = {.of = v, .rank = value->rank};
    for (int k = 0; k < r.rank; k++) r.sub[k] = expr_index(g->module, axes ? axes[k] : value->axes[k]);
    return r;
}

bool graph_is_plain(const struct graph *g, const struct ref *r)
{
    const struct ref plain = graph_ref(g, r->of, NULL);
    return ref_equal(r, &plain);
}

void value_drop_operands(struct module *m, struct value *map)
{
    const struct expr *with[MAX_OPERANDS];
    int kept = 0;
    for (int k = 0; k < map->operands; k++) {
        const struct expr *leaf = expr_operand(m, k);
        bool used = expr_uses(map->expr, leaf);
        with[k] = used ? expr_operand(m, kept) : leaf;
        if (used) map->operand[kept++] = map->operand[k];
    }
    if (kept == map->operands) return;
    map->operands = kept;
    map->expr = expr_bind(m, map->expr, with);
}

void graph_drop_operands(struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].op == GRAPH_MAP) value_drop_operands(g->module, &g->value[v]);
}

/* Removes the values that no output needs. If `arrays`, the caller's arrays stay. */
static void sweep(struct graph *g, bool arrays)
{
    int *number = arena_alloc(g->module->arena, (size_t)g->values * sizeof *number);
    for (int o = 0; o < g->outputs; o++) number[g->output[o].value] = 1;
    for (int v = 0; v < g->values; v++) { /* Parameters that expressions read by name stay. */
        const enum graph_op op = g->value[v].op;
        number[v] |= graph_is_named(&g->value[v]) || (arrays && (op == GRAPH_INPUT || op == GRAPH_PARAM));
    }
    for (int v = g->values - 1; v >= 0; v--) {
        if (!number[v]) continue;
        for (int k = 0; k < g->value[v].operands; k++) number[g->value[v].operand[k].of] = 1;
        if (g->value[v].online >= 0) number[g->value[v].online] = 1;
    }
    int kept = 0;
    for (int v = 0; v < g->values; v++) {
        if (!number[v]) continue;
        number[v] = kept;
        struct value value = g->value[v];
        for (int k = 0; k < value.operands; k++) value.operand[k].of = number[value.operand[k].of];
        if (value.online >= 0) value.online = number[value.online];
        g->value[kept++] = value;
    }
    for (int o = 0; o < g->outputs; o++) g->output[o].value = number[g->output[o].value];
    g->values = kept;
}

void graph_sweep(struct graph *g)
{
    sweep(g, false);
}

void graph_sweep_computed(struct graph *g)
{
    graph_drop_operands(g);
    sweep(g, true);
}

bool graph_is_named(const struct value *v)
{
    return v->integers || v->by_name || v->hides;
}

int graph_summed(const struct value *v)
{
    if (v->op == GRAPH_SOLVE) return v->operands < SOLVE_KEYS + 1 ? v->operands : SOLVE_KEYS + 1;
    const bool one = v->op == GRAPH_REDUCE || v->op == GRAPH_SELECT || v->op == GRAPH_SCAN;
    return v->op == GRAPH_CONTRACT ? 2 : one ? 1 : 0;
}

bool graph_value_equal(const struct value *a, const struct value *b)
{
    if (a->op != b->op || a->origin != b->origin || a->integers != b->integers || a->bytes != b->bytes ||
        a->by_name != b->by_name || a->hides != b->hides || a->stored != b->stored || a->sums != b->sums ||
        a->within.row != b->within.row || a->rank != b->rank || a->operands != b->operands || a->expr != b->expr ||
        a->fold != b->fold || memcmp(&a->init, &b->init, sizeof a->init) != 0 || a->where != b->where ||
        a->online != b->online || a->power != b->power || a->keep != b->keep || a->data != b->data ||
        a->backward != b->backward || a->block != b->block)
        return false;
    if ((a->name || b->name) && (!a->name || !b->name || strcmp(a->name, b->name) != 0)) return false;
    if ((a->within.of || b->within.of) && (!a->within.of || !b->within.of || strcmp(a->within.of, b->within.of) != 0))
        return false;
    for (int k = 0; k < a->rank; k++)
        if (a->axes[k] != b->axes[k]) return false;
    for (int k = 0; k < a->operands; k++)
        if (!ref_equal(&a->operand[k], &b->operand[k])) return false;
    return true;
}

int graph_operand(struct value *v, const struct ref *r)
{
    return ref_add(v->operand, &v->operands, r);
}

bool graph_inline(struct graph *g, struct value *v, int at, const struct value *inner)
{
    struct module *m = g->module;
    struct value made = *v;
    const struct expr *with[MAX_OPERANDS], *inside[MAX_OPERANDS];
    made.operands = 0;
    /* In inner's expression and operands, the INDEX of each axis is replaced by the subscript that v uses. */
    const struct ref *r = &v->operand[at];
    const struct expr *body = inner->expr;
    for (int k = 0; k < inner->operands; k++) {
        struct ref moved = inner->operand[k];
        for (int s = 0; s < moved.rank; s++)
            for (int a = 0; a < inner->rank; a++)
                moved.sub[s] = expr_replace(m, moved.sub[s], expr_index(m, inner->axes[a]), r->sub[a]);
        int number = graph_operand(&made, &moved);
        if (number < 0) return false;
        inside[k] = expr_operand(m, number);
    }
    for (int a = 0; a < inner->rank; a++) body = expr_replace(m, body, expr_index(m, inner->axes[a]), r->sub[a]);
    body = expr_bind(m, body, inside);
    for (int k = 0; k < v->operands; k++) {
        int number = k == at ? 0 : graph_operand(&made, &v->operand[k]);
        if (number < 0) return false;
        with[k] = k == at ? body : expr_operand(m, number);
    }
    made.expr = expr_bind(m, v->expr, with);
    *v = made;
    return true;
}

bool value_has_axis(const struct value *v, int axis)
{
    for (int k = 0; k < v->rank; k++)
        if (v->axes[k] == axis) return true;
    return false;
}

int64_t graph_constant_elements(const struct graph *g, int v)
{
    const struct value *const value = &g->value[v];
    int64_t count = 1;
    for (int k = 0; k < value->rank; k++) {
        const struct axis *const axis = &g->module->axis[value->axes[k]];
        if (axis->source == SIZE_CONSTANT) count *= axis->extent;
    }
    return count;
}

int graph_uses(const struct graph *g, int v)
{
    int count = graph_is_output(g, v);
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) count += g->value[w].operand[k].of == v;
    return count;
}
