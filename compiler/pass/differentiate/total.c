/* Computes totals, sums over rows. A parameter's gradient usually sums over all batches and heads.
   - Rows are divided into slices, counted by an axis of SIZE_UNITS.
   - The number of slices depends only on the spec, so the bits do not depend on threads.
   - A program outputs the sum of each slice, partial_n. Its loops also compute gradients of the same rows, such as dq.
   - c->gradients.totals adds slices and computes gradients from totals.
   - A total over two sequences is first summed over one, and then sliced along the other. */
#include "differentiate.h"
#include "../../analysis/analysis.h"

#include <string.h>

enum {
    MAX_TOTALS = 256,
    SLICES = 64,            /* the number of slices of all rows */
    SLICES_OF_A_HEAD = 16,  /* the number of slices of a head's rows, if parameters differ by head */
    MIN_SLICES = 16,        /* the minimum number of slices, if PARTIAL_BYTES limits the number */
    PARTIAL_BYTES = 4 << 20 /* the maximum size in bytes of all slices' sums */
};

struct total {
    int value;
    int lane;            /* the sequence that is divided into slices */
    uint32_t rows, kept; /* the run-time axes of the rows, and the axes among them that a slice's sum keeps, as bits */
    bool number;         /* the total has no constant axis */
    int slices, partial; /* the axis of slices, and the value with each slice's sum */
    const char *name;    /* the output with slices' sums, partial_n */
};

struct splitting {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int lane;    /* for totals over two sequences: the sliced sequence */
    bool states; /* there are carried states, so a slice is one head */
    /* For each value. from_total: it is a total or depends on one. collected: collect() has visited it. */
    bool *from_total, *collected;
    int totals;
    struct total total[MAX_TOTALS];
    bool failed; /* an error has been reported */
};

bool reversal_is_total(const struct module *m, const struct value *v)
{
    const uint32_t own = value_axes(v), sequences = axes_of_sequences(m);
    return (v->op == GRAPH_CONTRACT || (v->op == GRAPH_REDUCE && v->fold == FOLD_SUM)) &&
           !(own & (sequences | axes_of_chunks(m))) && (value_read_axes(v) & sequences);
}

/* Reports once that `what`, needed for gradients of parameters, is not compiled yet. */
static void fail(struct splitting *x, const char *what)
{
    if (!x->failed) diagnostics_error(x->c->diagnostics, NO_POSITION, "%s: this is not compiled yet", what);
    x->failed = true;
}

/* Sets x->from_total. In the graph, operands precede their users. */
static void find_sums(struct splitting *x)
{
    for (int v = 0; v < x->g->values; v++) {
        const struct value *value = &x->g->value[v];
        x->from_total[v] = reversal_is_total(x->m, value);
        for (int k = 0; k < value->operands; k++) x->from_total[v] |= x->from_total[value->operand[k].of];
    }
}

/* Returns the index in x->total of total v, or -1. */
static int find_total(const struct splitting *x, int v)
{
    int found = 0;
    while (found < x->totals && x->total[found].value != v) found++;
    return found < x->totals ? found : -1;
}

/* Adds each total that a value depends on to x->total, once. A total that depends on another one is an error. */
static void collect(struct splitting *x, int number)
{
    const struct value *v = &x->g->value[number];
    if (x->collected[number] || x->failed) return;
    x->collected[number] = true;
    if (!reversal_is_total(x->m, v)) {
        if (value_axes(v) & axes_of_sequences(x->m))
            fail(x, "the gradient with respect to a parameter depends on rows, but is not a sum over rows");
        for (int k = 0; k < v->operands; k++) collect(x, v->operand[k].of);
        return;
    }
    struct total t = {.value = number};
    const uint32_t constant = axes_with_size(x->m, SIZE_CONSTANT), axes = value_read_axes(v) & ~constant,
                   sequences = axes & axes_of_sequences(x->m);
    t.lane = x->lane >= 0 && (sequences >> x->lane & 1) ? x->lane : axes_first(sequences);
    t.number = !(value_axes(v) & constant);
    t.kept = value_axes(v) & ~constant;
    if (x->states) t.kept |= axes & (axes_with_size(x->m, SIZE_BATCH) | axes_with_size(x->m, SIZE_KV_HEADS));
    t.rows = (axes & ~sequences) | AXIS(t.lane);
    for (int k = 0; k < v->operands; k++)
        if (x->from_total[v->operand[k].of])
            fail(x, "the gradient with respect to a parameter sums values that depend on other sums over all rows");
    if (x->totals == MAX_TOTALS) fail(x, "the gradients with respect to parameters need more than 256 sums over rows");
    if (!x->failed) x->total[x->totals++] = t;
}

/* Sets the axis of slices of total t. Totals over equal rows get one axis, so that the totals can share loops. */
static void share_out(struct splitting *x, struct total *t)
{
    int64_t bytes = 0, count;
    for (int n = 0; n < x->totals; n++) {
        const struct total *other = &x->total[n];
        if (other->rows != t->rows) continue;
        t->kept |= other->kept;
        bytes += graph_constant_elements(x->g, other->value) * dtype_bytes(dtype_of_sums(x->m->dtype));
    }
    count = x->states ? 1 : t->kept ? SLICES_OF_A_HEAD : SLICES;
    if (!x->states && count * bytes > PARTIAL_BYTES)
        count = PARTIAL_BYTES / bytes > MIN_SLICES ? PARTIAL_BYTES / bytes : MIN_SLICES;
    for (int a = 0; a < x->m->axes && !t->slices; a++)
        if (x->m->axis[a].source == SIZE_UNITS && x->m->axis[a].extent == count) t->slices = a;
    if (!t->slices)
        t->slices = module_axis(x->m, arena_printf(x->m->arena, "unit%lld", (long long)count), SIZE_UNITS, count);
    if (t->slices < 0) fail(x, "the gradients with respect to parameters need a program with more than 24 axes");
}

int reversal_axis_of_one(struct module *m)
{
    const int found = module_find_axis(m, "one");
    return found >= 0 ? found : module_axis(m, "one", SIZE_CONSTANT, 1);
}

/* Returns operand r with 0 for rows outside the region `where`, because such rows can be NaN. Returns r itself if r
   lacks `lane`, the axis of rows. */
static struct ref selected(struct splitting *x, const struct ref *r, const struct expr *where, int lane)
{
    struct value map = graph_value(GRAPH_MAP, 0, NULL);
    const uint32_t axes = ref_axes(r) | expr_axes(where), constant = axes_with_size(x->m, SIZE_CONSTANT);
    if (!ref_uses_axis(r, lane)) return *r;
    value_add_axes(&map, axes & ~constant);
    value_add_axes(&map, axes);
    map.operands = 1;
    map.operand[0] = *r;
    map.expr = expr_select(x->m, where, expr_operand(x->m, 0), expr_real(x->m, 0));
    graph_insert(x->g, x->g->values, map);
    return graph_ref(x->g, x->g->values - 1, NULL);
}

/* Makes and returns the value with the sum of each slice. */
static int partial_of(struct splitting *x, const struct total *t)
{
    struct module *m = x->m;
    struct value v = x->g->value[t->value], partial = graph_value(v.op, 0, NULL);
    /* Sum over the other sequence first. */
    if ((value_read_axes(&v) & axes_of_sequences(m)) != AXIS(t->lane)) {
        struct value row = graph_value(v.op, 0, NULL);
        value_add_axes(&row, t->rows);
        for (int k = 0; k < v.rank; k++) value_add_axes(&row, AXIS(v.axes[k]));
        row.operands = v.operands;
        memcpy(row.operand, v.operand, sizeof row.operand);
        row.fold = v.fold;
        row.where = v.where;
        graph_insert(x->g, x->g->values, row);
        partial.op = GRAPH_REDUCE;
        v.fold = FOLD_SUM;
        v.operands = 1;
        v.operand[0] = graph_ref(x->g, x->g->values - 1, NULL);
    } else if (v.where)
        for (int k = 0; k < v.operands; k++) v.operand[k] = selected(x, &v.operand[k], v.where, t->lane);
    value_add_axes(&partial, t->kept);
    partial.axes[partial.rank++] = t->slices;
    for (int k = 0; k < v.rank; k++)
        if (m->axis[v.axes[k]].source == SIZE_CONSTANT) partial.axes[partial.rank++] = v.axes[k];
    const struct expr *slice = expr_index(m, t->slices);
    if (t->number) {
        partial.axes[partial.rank++] = reversal_axis_of_one(m);
        slice = expr_add(m, slice, expr_index(m, reversal_axis_of_one(m)));
    }
    const struct row_slices rows = slices_of_rows(m, t->rows & ~t->kept, t->lane, t->slices, EXPR_INDEX);
    const struct expr *row = expr_add(m, rows.first, expr_index(m, t->lane));
    partial.where = expr_eq(m, slice, expr_div(m, row, rows.length));
    partial.fold = v.fold;
    partial.operands = v.operands;
    memcpy(partial.operand, v.operand, sizeof partial.operand);
    graph_insert(x->g, x->g->values, partial);
    return x->g->values - 1;
}

/* ---- the program that adds the slices ---- */

/* Whether the value depends on a total and has no constant axis, so it gets the axis of extent 1. */
static bool gets_axis_of_one(const struct splitting *x, int number)
{
    return x->from_total[number] && !(value_axes(&x->g->value[number]) & axes_with_size(x->m, SIZE_CONSTANT));
}

/* Returns the counterpart of a value in graph `to`, which adds the slices. made[v] is 1 + the counterpart of v, or
   0. */
static int taken_over(struct splitting *x, struct graph *to, int number, int *made)
{
    if (made[number]) return made[number] - 1;
    const int n = find_total(x, number);
    struct value v = x->g->value[number];
    if (n >= 0) {
        const struct value *partial = &x->g->value[x->total[n].partial];
        const int given = graph_input(to, x->total[n].name, partial->rank, partial->axes);
        if (x->total[n].number) v.axes[v.rank++] = reversal_axis_of_one(x->m);
        made[number] = graph_reduce(to, FOLD_SUM, 0, v.rank, v.axes, graph_ref(to, given, NULL), NULL) + 1;
        return made[number] - 1;
    }
    for (int k = 0; k < v.operands; k++) {
        struct ref *r = &v.operand[k];
        if (gets_axis_of_one(x, r->of)) r->sub[r->rank++] = expr_int(x->m, 0);
        r->of = taken_over(x, to, r->of, made);
    }
    if (gets_axis_of_one(x, number)) v.axes[v.rank++] = reversal_axis_of_one(x->m);
    graph_insert(to, to->values, v);
    return (made[number] = to->values) - 1;
}

void reversal_split_totals(struct compilation *c, int lane, int wholes)
{
    struct graph *g = c->graph;
    struct splitting splitting = {.c = c, .g = g, .m = g->module, .lane = lane}, *x = &splitting;
    const int outputs = g->outputs;
    bool *totals = arena_alloc(x->m->arena, (size_t)outputs * sizeof *totals);
    x->from_total = arena_alloc(x->m->arena, (size_t)g->values * sizeof *x->from_total);
    x->collected = arena_alloc(x->m->arena, (size_t)g->values * sizeof *x->collected);
    find_sums(x);
    for (int v = 0; v < g->values; v++) x->states |= (value_axes(&g->value[v]) & axes_of_chunks(x->m)) != 0;
    for (int o = 0; o < outputs; o++) {
        const struct value *v = &g->value[g->output[o].value];
        totals[o] = o >= wholes && !(value_axes(v) & axes_of_sequences(x->m));
        if (totals[o]) collect(x, g->output[o].value);
    }
    for (int n = 0; n < x->totals && !x->failed; n++) share_out(x, &x->total[n]);
    if (x->failed || !x->totals) return;
    struct graph *const sums = c->gradients.totals ? c->gradients.totals : graph_new(x->m);
    for (int n = 0; n < x->totals; n++) {
        x->total[n].name = arena_printf(x->m->arena, "%s%spartial_%d", c->program.linear ? "linear_" : "",
                                        c->program.of_terms ? "terms_" : "", n);
        x->total[n].partial = partial_of(x, &x->total[n]);
    }
    int *made = arena_alloc(x->m->arena, (size_t)g->values * sizeof *made), kept = 0;
    for (int o = 0; o < outputs; o++) {
        if (totals[o])
            graph_output(sums, g->output[o].name, taken_over(x, sums, g->output[o].value, made));
        else
            g->output[kept++] = g->output[o];
    }
    g->outputs = kept;
    for (int n = 0; n < x->totals; n++) graph_output(g, x->total[n].name, x->total[n].partial);
    c->gradients.totals = sums;
}
