/* Gradients that sum over heads or sequences with separate carried states.
   - The members of a key/value head share keys, but have separate states if, for example, their decays differ.
   - The gradient of a key sums over members, but loops handle one state at a time. So a program outputs a gradient per
     member, heads_n, and c->gradients.totals adds them. A parameter such as x[h][j] also sums over sequences.
   - So does the gradient of a parameter of rows, such as angles[b][j], that sums sums of rows over heads.
   - A total that depends on such a sum also gets the axis of members. */
#include "differentiate.h"

#include <string.h>

/* The state while one output is rewritten. Comments call the indices of `axis` "the heads". */
struct heads {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int axis;     /* the axis of heads or sequences that the output sums over */
    bool *sums;   /* for each value: whether it depends on a sum over the heads, and lacks their axis */
    int *of_head; /* for each value: 1 + its counterpart with the axis of heads, or 0 */
    bool failed;  /* the output cannot be split, for example because it is not linear */
};

/* Whether v is a sum over the axis. */
static bool sums_over(const struct value *v, int axis)
{
    return v->op != GRAPH_MAP && (value_operand_axes(v) & ~value_axes(v)) >> axis & 1;
}

/* Whether v has a sum over another sequence for each row, such as the gradient of a key. */
static bool sums_rows(const struct module *m, const struct value *v)
{
    const uint32_t sequences = axes_of_sequences(m), own = value_axes(v);
    return v->op != GRAPH_MAP && (own & sequences) && (value_read_axes(v) & sequences & ~own);
}

/* Whether v reads a carried state. */
static bool reads_state(const struct graph *g, const struct value *v, uint32_t chunks)
{
    for (int k = 0; k < v->operands; k++)
        if (value_axes(&g->value[v->operand[k].of]) & chunks) return true;
    return false;
}

/* Returns, for each value, the axes of batches and heads of the carried states that it depends on, as bits. With
   `rows`, also those of sums over rows, of running sums, and of readers of states, that its operands depend on. */
static uint32_t *heads_of_states(const struct graph *g, bool rows)
{
    const struct module *m = g->module;
    const uint32_t chunks = axes_of_chunks(m), heads = axes_with_size(m, SIZE_BATCH) |
                                                       axes_with_size(m, SIZE_KV_HEADS) |
                                                       axes_with_size(m, SIZE_MEMBERS);
    uint32_t *const of = arena_alloc(m->arena, (size_t)g->values * sizeof *of);
    for (int number = 0; number < g->values; number++) { /* operands precede their users */
        const struct value *v = &g->value[number];
        const bool sums = rows && (sums_rows(m, v) || v->op == GRAPH_SCAN || reads_state(g, v, chunks));
        if (v->op != GRAPH_MAP && ((value_axes(v) & chunks) || sums)) of[number] |= value_axes(v) & heads;
        for (int k = 0; k < v->operands; k++) of[number] |= of[v->operand[k].of];
    }
    return of;
}

/* Adds the axis of heads to v, in the order of axes. */
static void add_axis(const struct heads *x, struct value *v)
{
    int at = 0;
    while (at < v->rank && v->axes[at] < x->axis && x->m->axis[v->axes[at]].source != SIZE_CONSTANT) at++;
    for (int k = v->rank++; k > at; k--) v->axes[k] = v->axes[k - 1];
    v->axes[at] = x->axis;
}

/* Whether e is linear in sums over the heads. Then map v can be applied before the sum. */
static bool is_linear(const struct heads *x, const struct value *v, const struct expr *e)
{
    switch ((int)e->op) {
    case EXPR_OPERAND: return x->sums[v->operand[e->integer].of];
    case EXPR_REAL: return e->real == 0;
    case EXPR_NEG:
    case EXPR_DIV: return is_linear(x, v, e->arg[0]);
    case EXPR_MUL: return is_linear(x, v, e->arg[0]) || is_linear(x, v, e->arg[1]);
    case EXPR_ADD:
    case EXPR_SUB: return is_linear(x, v, e->arg[0]) && is_linear(x, v, e->arg[1]);
    case EXPR_SELECT: return is_linear(x, v, e->arg[1]) && is_linear(x, v, e->arg[2]);
    default: return false;
    }
}

static int append(struct graph *g, struct value v)
{
    graph_insert(g, g->values, v);
    return g->values - 1;
}

/* If value `number` is a sum over heads, returns the value with a separate term for each head. Otherwise returns
   `number`. */
static int of_one_head(struct heads *x, int number)
{
    if (!x->sums[number] || x->failed) return number;
    if (x->of_head[number]) return x->of_head[number] - 1;
    struct value v = x->g->value[number];
    x->failed |= v.rank == MAX_RANK || (v.op == GRAPH_MAP && !is_linear(x, &v, v.expr)) ||
                 (v.op == GRAPH_REDUCE && (v.fold != FOLD_SUM || v.init != 0));
    if (x->failed) return number;
    add_axis(x, &v);
    for (int k = 0; k < v.operands; k++) {
        struct ref *r = &v.operand[k];
        const int of = of_one_head(x, r->of);
        if (of == r->of) continue;
        const struct value old = x->g->value[r->of];
        struct ref made = graph_ref(x->g, of, NULL);
        for (int a = 0; a < made.rank; a++)
            for (int s = 0; s < old.rank; s++)
                if (old.axes[s] == x->g->value[of].axes[a]) made.sub[a] = r->sub[s];
        *r = made;
    }
    x->of_head[number] = append(x->g, v) + 1;
    return x->of_head[number] - 1;
}

/* Copies a value into the order of the caller's axes: batch and heads, the sequence, constant axes. The gradient of a
   parameter has the sequence last, because only rows of q, k and v have strides. Returns the copy. */
static int rows_last(struct heads *x, int number, bool parameter)
{
    const struct value *v = &x->g->value[number];
    int axes[MAX_RANK], rank = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int k = 0; k < v->rank; k++) {
            const struct axis *axis = &x->m->axis[v->axes[k]];
            const int place = axis_is_sequence(axis)          ? 1 + parameter
                              : axis->source == SIZE_CONSTANT ? 2 - parameter
                                                              : 0;
            if (place == pass) axes[rank++] = v->axes[k];
        }
    const struct ref r = graph_ref(x->g, number, NULL);
    return graph_map(x->g, rank, axes, 1, &r, expr_operand(x->m, 0));
}

/* Gives the input `name` the axes of `like`, which include the heads. Sums that read the input then also sum over
   the heads. */
static void give_heads(struct graph *g, const char *name, const struct value *like)
{
    const int given = graph_find(g, name);
    g->value[given].rank = like->rank;
    memcpy(g->value[given].axes, like->axes, sizeof like->axes);
    for (int v = given + 1; v < g->values; v++)
        for (int k = 0; k < g->value[v].operands; k++)
            if (g->value[v].operand[k].of == given) g->value[v].operand[k] = graph_ref(g, given, NULL);
}

/* Sets x->sums and x->of_head for sums over `axis`. */
static void find_sums(struct heads *x, int axis)
{
    const int values = x->g->values;
    x->axis = axis;
    x->sums = arena_alloc(x->m->arena, (size_t)values * sizeof *x->sums);
    x->of_head = arena_alloc(x->m->arena, (size_t)values * sizeof *x->of_head);
    for (int v = 0; v < values; v++) {
        const struct value *value = &x->g->value[v];
        x->sums[v] = sums_over(value, axis);
        for (int k = 0; k < value->operands && !value_has_axis(value, axis); k++)
            x->sums[v] |= x->sums[value->operand[k].of];
    }
}

/* Whether the output is the gradient of an input of a call, such as dk. */
static bool is_of_input(const struct compilation *c, const char *output)
{
    const int v = graph_find(c->graph, output + 1);
    return v >= 0 && c->graph->value[v].op == GRAPH_INPUT;
}

void reversal_split_heads(struct compilation *c)
{
    struct graph *g = c->graph;
    const uint32_t *const of_states = heads_of_states(g, false), *const of_rows = heads_of_states(g, true);
    int parts = 0;
    for (int o = 0; o < g->outputs; o++) {
        struct heads heads = {.c = c, .g = g, .m = g->module}, *x = &heads;
        const int number = g->output[o].value;
        const uint32_t own = value_axes(&g->value[number]);
        const bool of_input = is_of_input(c, g->output[o].name),
                   by_rows = !of_input && (own & axes_of_sequences(x->m)); /* loops do not sum such sums over heads */
        const uint32_t missing = (by_rows ? of_rows : of_states)[number] & ~own;
        int of_head = number;
        for (int a = 0; a < x->m->axes && !x->failed; a++) {
            if (!(missing >> a & 1)) continue;
            find_sums(x, a);
            of_head = of_one_head(x, of_head);
        }
        if (x->failed || of_head == number) continue; /* the pass lower reports an output that failed */
        if (own & axes_with_size(x->m, SIZE_UNITS)) {
            /* c->gradients.totals already adds slices of this output */
            give_heads(c->gradients.totals, g->output[o].name, &g->value[of_head]);
            g->output[o].value = of_head;
            continue;
        }
        const int left = rows_last(x, of_head, !of_input);
        const struct value whole = g->value[number], *const part = &g->value[left];
        if (c->gradients.totals && graph_find(c->gradients.totals, g->output[o].name) >= 0) {
            give_heads(c->gradients.totals, g->output[o].name, part);
            g->output[o].value = left;
            continue;
        }
        if (!c->gradients.totals) c->gradients.totals = graph_new(x->m);
        const char *name = arena_printf(x->m->arena, c->program.linear ? "linear_heads_%d" : "heads_%d", parts++);
        const int given = graph_input(c->gradients.totals, name, part->rank, part->axes);
        c->gradients.totals->value[given].sums = of_input;
        const struct ref r = graph_ref(c->gradients.totals, given, NULL);
        graph_output(c->gradients.totals, g->output[o].name,
                     graph_reduce(c->gradients.totals, FOLD_SUM, 0, whole.rank, whole.axes, r, NULL));
        g->output[o].name = name;
        g->output[o].value = left;
    }
    graph_sweep(g);
}
