/* Gradients of arrays that are read at the position of another sequence, such as place[b][i] - place[b][j].
   - Row i reads element at(i) of the array. Forward gets a map of these elements, with a row for each i. This map is
   an array like any other until its gradient is known.
   - The gradient of element j is the array's own, plus the sum of the map's over the rows with at(i) == j.
   - The loops over rows output the map's gradient, rows_n, and c->gradients.totals adds it. */
#include "differentiate.h"

/* Returns the only sequence that e depends on, or -1. *batch is the axis of sequences that e depends on, or -1. */
static int sequence_of(const struct module *m, const struct expr *e, int *batch)
{
    int found = -1;
    *batch = -1;
    for (int a = 0; a < m->axes; a++) {
        if (!(expr_axes(e) >> a & 1)) continue;
        if (m->axis[a].source == SIZE_BATCH)
            *batch = a;
        else if (!axis_is_sequence(&m->axis[a]) || found >= 0)
            return -1;
        else
            found = a;
    }
    return expr_has(e, EXPR_OPERAND) || expr_reads_ids(e) ? -1 : found;
}

/* Returns the index in x->row of the rows that r reads, which are added if needed. Returns -1 if r has another form. */
static int row_of(struct reversal *x, const struct ref *r)
{
    const struct value *const v = &x->g->value[r->of];
    if (v->op != GRAPH_PARAM || v->origin != ORIGIN_LEARNED || v->integers) return -1;
    for (int s = 0; s < r->rank; s++) {
        struct row_read row = {r->of, -1, s, -1, -1, r->sub[s]};
        if (!axis_is_sequence(&x->m->axis[v->axes[s]]) || r->sub[s]->op == EXPR_INDEX) continue;
        row.axis = sequence_of(x->m, r->sub[s], &row.batch);
        bool own = row.axis >= 0 && !value_has_axis(v, row.axis);
        for (int k = 0; k < r->rank; k++) {
            if (v->axes[k] != row.batch) continue;
            own &= r->sub[k] == expr_index(x->m, row.batch); /* at(i) is that of this sequence */
            row.batch = -1;
        }
        if (!own || v->rank + 1 > MAX_RANK) return -1;
        for (int k = 0; k < x->rows; k++)
            if (x->row[k].array == row.array && x->row[k].at == row.at) return k;
        if (x->rows == MAX_ROW_READS) return -1;
        x->row[x->rows] = row;
        return x->rows++;
    }
    return -1;
}

/* Inserts the map of rows k after its array, and renumbers. */
static void insert_map(struct reversal *x, int k)
{
    struct row_read *const row = &x->row[k];
    const struct value array = x->g->value[row->array];
    struct value map = graph_value(GRAPH_MAP, 0, NULL);
    if (row->batch >= 0) map.axes[map.rank++] = row->batch;
    for (int a = 0; a < array.rank; a++) map.axes[map.rank++] = a == row->sub ? row->axis : array.axes[a];
    map.operands = 1;
    map.operand[0] = graph_ref(x->g, row->array, NULL);
    map.operand[0].sub[row->sub] = row->at;
    map.expr = expr_operand(x->m, 0);
    row->map = row->array + 1;
    graph_insert(x->g, row->map, map);
    for (int n = 0; n < x->rows; n++) {
        if (n != k && x->row[n].map >= row->map) x->row[n].map++;
        if (x->row[n].array >= row->map) x->row[n].array++;
    }
}

void reversal_take_rows(struct reversal *x)
{
    for (int v = 0; v < x->g->values; v++)
        for (int k = 0; k < x->g->value[v].operands; k++) {
            row_of(x, &x->g->value[v].operand[k]);
        }
    for (int k = 0; k < x->rows; k++) insert_map(x, k);
    for (int v = 0; v < x->g->values; v++)
        for (int k = 0; k < x->g->value[v].operands; k++) {
            struct ref *const r = &x->g->value[v].operand[k], old = *r;
            bool is_map = false;
            for (int n = 0; n < x->rows; n++) is_map |= x->row[n].map == v;
            const int n = is_map ? -1 : row_of(x, r);
            if (n < 0) continue;
            const struct row_read *const row = &x->row[n];
            *r = graph_ref(x->g, row->map, NULL);
            for (int s = 0; s < old.rank; s++)
                if (s != row->sub) r->sub[s + (row->batch >= 0)] = old.sub[s];
        }
}

void reversal_hide_rows(struct reversal *x)
{
    for (int k = 0; k < x->rows; k++) {
        struct value *const map = &x->g->value[x->row[k].map];
        map->op = GRAPH_PARAM;
        map->origin = ORIGIN_LEARNED;
        map->name = arena_printf(x->m->arena, "rows %d", k);
        map->operands = 0;
        map->expr = NULL;
    }
}

void reversal_show_rows(struct reversal *x)
{
    for (int k = 0; k < x->rows; k++) x->g->value[x->row[k].map] = x->before->value[x->row[k].map];
    for (int v = 0; v < x->g->values; v++) /* readers read the array, as before */
        for (int n = 0; n < x->g->value[v].operands; n++)
            for (int k = 0; k < x->rows; k++) {
                struct ref *const r = &x->g->value[v].operand[n];
                const struct row_read *const row = &x->row[k];
                const int moved = row->batch >= 0;
                if (r->of != row->map) continue;
                struct ref made = graph_ref(x->g, row->array, NULL);
                for (int s = 0; s < made.rank; s++) made.sub[s] = r->sub[s + moved];
                const struct expr *const own = expr_index(x->m, row->axis);
                made.sub[row->sub] = expr_replace(x->m, row->at, own, r->sub[row->sub + moved]);
                *r = made;
            }
}

/* Makes an output of e, the gradient of a value with the axes of `map`, and an input of c->gradients.totals. The
   sequence is the last axis. Returns the number of the input. */
static int leave(struct reversal *x, const struct value *map, const struct expr *e, bool own)
{
    struct compilation *const c = x->c;
    struct value left = *map;
    left.rank = 0;
    const bool numbers = own || !(value_axes(map) & axes_with_size(x->m, SIZE_CONSTANT));
    /* A number for each query would be taken for a value of each query and head. The sum of the own part over this axis
       has the order of the caller's axes. */
    struct value padded = *map;
    if (numbers && padded.rank < MAX_RANK) padded.axes[padded.rank++] = reversal_axis_of_one(x->m);
    map = &padded;
    for (int pass = 0; pass < 3; pass++)
        for (int k = 0; k < map->rank; k++) {
            const struct axis *const axis = &x->m->axis[map->axes[k]];
            if (pass == (axis_is_sequence(axis) ? 2 : axis->source == SIZE_CONSTANT))
                left.axes[left.rank++] = map->axes[k];
        }
    left.expr = e;
    if (!c->gradients.totals) c->gradients.totals = graph_new(x->m);
    const char *const name = arena_printf(x->m->arena, c->program.linear ? "linear_rows_%d" : "rows_%d",
                                          x->left_rows++);
    if (x->g->outputs == MAX_OUTPUTS) reversal_fail(x, "too many parameters");
    graph_output(x->g, name, reversal_append(x, left));
    return graph_input(c->gradients.totals, name, left.rank, left.axes);
}

bool reversal_has_rows(const struct reversal *x, int v)
{
    bool has = false;
    for (int k = 0; k < x->rows; k++) has |= x->row[k].array == v && x->of[x->row[k].map].terms;
    return has;
}

/* Marks what the terms of the gradient of value v need. */
static void mark_terms(const struct reversal *x, int v, bool *needed)
{
    for (int k = 0; k < x->of[v].terms; k++) graph_mark(x->g, x->of[v].term[k].value, needed);
}

/* Whether array v has a constant axis, and terms of its gradient read it. Loops do not read it rightly yet. */
static bool reads_itself(const struct reversal *x, int v)
{
    bool *const needed = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *needed), reads = false;
    mark_terms(x, v, needed);
    for (int k = 0; k < x->rows; k++)
        if (x->row[k].array == v) mark_terms(x, x->row[k].map, needed);
    for (int w = x->forward; w < x->g->values; w++)
        for (int k = 0; k < x->g->value[w].operands && x->g->value[w].expr; k++)
            reads |= needed[w] && x->g->value[w].operand[k].of == v && !expr_has(x->g->value[w].expr, EXPR_EXP2) &&
                     !expr_has(x->g->value[w].expr, EXPR_EXP); /* not in a weight */
    return reads && (reversal_axes(x, v) & axes_with_size(x->m, SIZE_CONSTANT));
}

const struct expr *reversal_add_rows(struct reversal *x, struct value *map, int v, const struct expr *own)
{
    const struct program *const program = &x->c->program; /* programs before the groups must save what these read */
    const bool splits = program->group || !(program_outputs_gradients(program) || program_is_unsaved(program));
    if (reads_itself(x, v))
        reversal_fail_array(x, v, "an array that is read at computed subscripts along an axis of run-time size");
    struct value sum = graph_value(GRAPH_MAP, map->rank, map->axes);
    const struct expr *e = splits ? NULL : own;
    if (splits && own) {
        const int given = leave(x, map, own, true);
        struct graph *const g = x->c->gradients.totals;
        const int plain = graph_reduce(g, FOLD_SUM, 0, map->rank, map->axes, graph_ref(g, given, NULL), NULL);
        e = reversal_operand(x, &sum, graph_ref(g, plain, NULL));
    }
    for (int k = 0; k < x->rows; k++) {
        const struct row_read *const row = &x->row[k];
        if (row->array != v || !x->of[row->map].terms) continue;
        const struct value like = x->g->value[row->map];
        struct value of_rows = graph_value(GRAPH_MAP, like.rank, like.axes);
        const struct expr *const gradient = reversal_gradient_in(x, &of_rows, row->map);
        struct graph *const to = splits ? NULL : x->g;
        of_rows.expr = gradient;
        const int given = splits ? leave(x, &of_rows, gradient, false) : reversal_append(x, of_rows);
        struct graph *const g = to ? to : x->c->gradients.totals;
        const struct expr *const same = expr_eq(x->m, row->at, expr_index(x->m, map->axes[row->sub]));
        const int rows = graph_reduce(g, FOLD_SUM, 0, map->rank, map->axes, graph_ref(g, given, NULL), same);
        const struct expr *const term = reversal_operand(x, splits ? &sum : map, graph_ref(g, rows, NULL));
        e = e ? expr_add(x->m, e, term) : term;
    }
    if (!splits) return e;
    sum.expr = e;
    struct graph *const totals = x->c->gradients.totals;
    graph_insert(totals, totals->values, sum);
    graph_output(totals, arena_printf(x->m->arena, "d%s", x->g->value[v].name), totals->values - 1);
    return NULL;
}

/* Returns the axes of batches and heads of v, as bits. */
static uint32_t outer_axes(const struct module *m, const struct value *v)
{
    return value_axes(v) & ~axes_of_sequences(m) & ~axes_with_size(m, SIZE_CONSTANT);
}

/* Whether v adds sums of rows (reversal_add_rows). */
static bool adds_rows(const struct graph *g, const struct value *v)
{
    bool adds = false;
    for (int k = 0; k < v->operands && v->op == GRAPH_MAP; k++) {
        const struct value *const of = &g->value[v->operand[k].of];
        adds |= of->op == GRAPH_REDUCE && of->where && of->where->op == EXPR_EQ;
    }
    return adds;
}

/* Returns e where the index of each axis in `all` that r lacks is 0, and 0 elsewhere: the sum over these axes counts e
   once. */
static const struct expr *once(struct module *m, const struct ref *r, uint32_t all, const struct expr *e)
{
    for (int a = 0; a < m->axes; a++) {
        if (!(all >> a & 1) || ref_uses_axis(r, a)) continue;
        const struct expr *const first = expr_eq(m, expr_index(m, a), expr_int(m, 0));
        e = expr_select(m, first, e, expr_real(m, 0));
    }
    return e;
}

/* Returns the map of pairs whose sum over the axes in `all` is v. */
static int map_of_pairs(struct graph *g, const struct value *v, uint32_t all)
{
    struct module *const m = g->module;
    struct value map = graph_value(GRAPH_MAP, 0, NULL);
    const uint32_t own = value_axes(v);
    const struct expr *e = NULL;
    for (int pass = 0; pass < 3; pass++)
        for (int a = 0; a < m->axes; a++) {
            const int place = axis_is_sequence(&m->axis[a]) ? 1 : m->axis[a].source == SIZE_CONSTANT ? 2 : 0;
            if (((all | own) >> a & 1) && pass == place) map.axes[map.rank++] = a;
        }
    for (int k = 0; k < v->operands; k++) {
        const struct value *const of = &g->value[v->operand[k].of];
        const bool rows = of->op == GRAPH_REDUCE;
        const struct ref r = graph_ref(g, rows ? of->operand[0].of : v->operand[k].of, NULL);
        const struct expr *term = expr_operand(m, graph_operand(&map, &r));
        if (of->where) term = expr_select(m, of->where, term, expr_real(m, 0));
        term = once(m, &r, all & ~own, term);
        e = e ? expr_add(m, e, term) : term;
    }
    map.expr = e;
    graph_insert(g, g->values, map);
    return g->values - 1;
}

void reversal_finish_rows(struct compilation *c)
{
    struct graph *const g = c->gradients.totals;
    for (int o = 0; g && o < g->outputs; o++) {
        const struct value v = g->value[g->output[o].value];
        const uint32_t own = value_axes(&v);
        uint32_t all = own, outer = 0;
        if (!adds_rows(g, &v)) continue;
        for (int k = 0; k < v.operands; k++) {
            const struct value *const of = &g->value[v.operand[k].of], *const given = of->op == GRAPH_REDUCE
                                                                                          ? &g->value[of->operand[0].of]
                                                                                          : of;
            all |= value_axes(given);
            outer |= outer_axes(g->module, given);
        }
        if (!(outer & ~own)) continue;
        const struct ref r = graph_ref(g, map_of_pairs(g, &v, all), NULL);
        g->output[o].value = graph_reduce(g, FOLD_SUM, 0, v.rank, v.axes, r, NULL);
    }
    if (g) graph_sweep(g);
}
