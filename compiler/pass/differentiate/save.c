/* Saves row values, so that gradients need not recompute them. A row value has a number for each row.
   - Saved rows depend on a sum over a sequence, such as the logarithm of a row's sum. They do not depend on `out` or
     `dout`. Forward stores them.
   - Row sums depend on `out` or `dout`, and on a sum over a row's elements, such as <out[i], dout[i]>. A program before
     the gradients computes them. In the quadratic form it also computes sums over keys that weights depend on, which
     may be vectors.
   A row value is stored only if a value of another kind uses it. */
#include "differentiate.h"

/* Whether value v sums over a sequence. */
static bool sums_sequence(const struct graph *g, const struct value *v)
{
    return (v->op == GRAPH_CONTRACT || v->op == GRAPH_REDUCE) &&
           (value_read_axes(v) & ~value_axes(v) & axes_of_sequences(g->module));
}

/* Whether the value has the sequences of the output, such as the queries. */
static bool is_of_rows(const struct graph *g, const struct value *v, const struct value *out)
{
    return !(value_axes(out) & axes_of_sequences(g->module) & ~value_axes(v));
}

/* Of each value of the graph:
   - needed: an output depends on it
   - late: it depends on `out` or `dout`
   - sums: it depends on a sum over a sequence
   - sums_row: it depends on such a sum that has the output's sequence, such as the queries
   - reduces: it depends on any sum
   - row: it has one number per query and is of the kind that take_rows is to store
   - taken: take_rows stores it
   - scanned: it depends on a running sum
   With `apart`, sums over keys that are not stored have separate programs and maxima. */
struct row_marks {
    bool *needed, *late, *sums, *reduces, *row, *taken, *sums_row, *scanned, apart;
};

/* Returns all marks except `taken`. `result`: the value with the output of forward, whose name is `name`. */
static struct row_marks marks_of(const struct graph *g, int result, const char *name)
{
    const struct module *m = g->module;
    const size_t bytes = (size_t)g->values * sizeof(bool);
    const struct value *out = &g->value[result];
    const int given_out = graph_find(g, name), given_dout = graph_find(g, arena_printf(m->arena, "d%s", name));
    struct row_marks x;
    x.apart = false;
    bool **const all[] = {&x.needed, &x.late, &x.sums, &x.reduces, &x.row, &x.taken, &x.sums_row, &x.scanned};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) *all[k] = arena_alloc(m->arena, bytes);
    for (int o = 0; o < g->outputs; o++) graph_mark(g, g->output[o].value, x.needed);
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        x.late[v] = v == given_out || v == given_dout;
        x.sums[v] = sums_sequence(g, value);
        x.sums_row[v] = x.sums[v] && is_of_rows(g, value, out);
        x.reduces[v] = value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE;
        x.scanned[v] = value->op == GRAPH_SCAN;
        for (int k = 0; k < value->operands; k++) {
            x.late[v] |= x.late[value->operand[k].of];
            x.sums[v] |= x.sums[value->operand[k].of];
            x.sums_row[v] |= x.sums_row[value->operand[k].of];
            x.reduces[v] |= x.reduces[value->operand[k].of];
            x.scanned[v] |= x.scanned[value->operand[k].of];
        }
        x.row[v] = value->operands > 0 && value_axes(value) == (value_axes(out) & ~axes_with_size(m, SIZE_CONSTANT));
    }
    return x;
}

/* Marks the values that a value of pairs depends on. If such a value is a sum over keys, the loops over pairs cannot
   compute it. */
static bool *leads_to_pairs(const struct graph *g)
{
    bool *const leads = arena_alloc(g->module->arena, (size_t)g->values * sizeof *leads);
    for (int v = g->values - 1; v >= 0; v--)
        for (int k = 0; k < g->value[v].operands; k++) {
            const int of = g->value[v].operand[k].of;
            leads[of] |= leads[v];
            leads[of] |= (value_axes(&g->value[v]) & axes_of_sequences(g->module) & ~value_axes(&g->value[of])) != 0;
        }
    return leads;
}

/* Turns stored row values into inputs PREFIX_0, PREFIX_1, … of g. Adds outputs of these names to `made`,
   after its first `others` outputs. */
static void name_rows(struct graph *g, struct graph *made, int others, const struct row_marks *x, const char *prefix)
{
    for (int v = 0; v < g->values; v++) {
        bool sums = false; /* v is computed with a sum over keys, so it needs no row from before that sum */
        for (int k = 0; k < g->value[v].operands && x->apart; k++) {
            const int of = g->value[v].operand[k].of;
            sums |= x->sums_row[of] && !x->row[of];
        }
        for (int k = 0; k < g->value[v].operands && !sums; k++) {
            const int of = g->value[v].operand[k].of;
            x->taken[of] |= x->needed[v] && !x->row[v] && x->row[of];
        }
    }
    for (int v = 0; v < g->values; v++) {
        if (!x->taken[v]) continue;
        const char *name = arena_printf(g->module->arena, "%s_%d", prefix, made->outputs - others);
        struct value given = graph_value(GRAPH_INPUT, g->value[v].rank, g->value[v].axes);
        given.name = name;
        g->value[v] = given; /* the input gets the value's number, so its users read the input */
        graph_output(made, name, v);
    }
}

/* Like name_rows, for all rows of a program. Returns `made`. */
static struct graph *take_rows(struct graph *g, struct graph *made, int others, const struct row_marks *x,
                               const char *prefix)
{
    name_rows(g, made, others, x, prefix);
    graph_sweep(made);
    return made;
}

/* Whether e reads some of the `rows` and constants only. `rows` are numbers of operands, as bits. */
static bool reads_alone(const struct expr *e, uint32_t rows)
{
    bool alone = true, reads = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const bool row = w.e->op == EXPR_OPERAND && rows >> w.e->integer & 1;
        alone &= row || w.e->op == EXPR_REAL || w.e->op == EXPR_INT || w.e->size > 1;
        reads |= row;
    }
    return alone && reads;
}

/* Finds the largest part of e that reads `operand`, other `rows` and constants only. Returns false if there are several
   parts. */
static bool find_function(const struct expr *e, const struct expr *operand, uint32_t rows, const struct expr **found)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const bool alone = expr_uses(w.e, operand) && reads_alone(w.e, rows);
        w.skip = alone || !expr_uses(w.e, operand);
        if (alone && *found && *found != w.e) return false;
        if (alone) *found = w.e;
    }
    return true;
}

/* Returns a map that computes e, a function of rows that are operands of `user`. Inserts the map before value *v and
   increases *v, unless an equal map exists. */
static int function_map(struct graph *g, int *v, const struct value *user, int row, const struct expr *e)
{
    struct value map = graph_value(GRAPH_MAP, g->value[row].rank, g->value[row].axes);
    const struct expr *with[MAX_OPERANDS] = {NULL};
    for (int k = 0; k < user->operands; k++) {
        const struct ref plain = graph_ref(g, user->operand[k].of, NULL);
        if (expr_uses(e, expr_operand(g->module, k))) with[k] = expr_operand(g->module, graph_operand(&map, &plain));
    }
    map.expr = expr_bind(g->module, e, with);
    for (int u = row + 1; u < *v; u++)
        if (graph_value_equal(&g->value[u], &map)) return u;
    graph_insert(g, *v, map);
    return (*v)++;
}

/* Returns the operands of v that are rows, as bits. Their subscripts are those of operand k. */
static uint32_t rows_like(const struct value *v, int k, const bool *row)
{
    uint32_t rows = 0;
    for (int other = 0; other < v->operands; other++) {
        struct ref same = v->operand[k];
        same.of = v->operand[other].of;
        if (row[same.of] && ref_equal(&same, &v->operand[other])) rows |= AXIS(other);
    }
    return rows;
}

/* Returns the marks of rows that forward saves. `output`: the number of the output of forward. */
static struct row_marks saved_marks(const struct graph *g, int output)
{
    const struct row_marks x = marks_of(g, g->output[output].value, g->output[output].name);
    for (int v = 0; v < g->values; v++) x.row[v] &= x.sums[v] && !x.late[v];
    return x;
}

/* If a value of pairs reads only a function of rows' sums, makes the function a value of the row, which is then saved.
   A sum itself may overflow where its sign does not, and sums over chunks and in chunks have separate programs. */
static void separate_functions(struct graph *g, int output)
{
    struct row_marks x = saved_marks(g, output);
    for (int v = 0; v < g->values; v++)
        for (int k = 0; g->value[v].op == GRAPH_MAP && k < g->value[v].operands; k++) {
            const struct value user = g->value[v];
            const int row = user.operand[k].of;
            const struct expr *const leaf = expr_operand(g->module, k), *function = NULL;
            if (x.row[v] || !x.row[row] || !find_function(user.expr, leaf, rows_like(&user, k, x.row), &function) ||
                !function || function == leaf || function->type != TYPE_REAL)
                continue;
            if (function->op == EXPR_EXP2) continue; /* it may overflow, and stabilise adds exponents */
            const int map = function_map(g, &v, &user, row, function);
            struct value *const changed = &g->value[v];
            changed->expr = expr_replace(g->module, changed->expr, function, leaf);
            changed->operand[k].of = map;
            value_drop_operands(g->module, changed);
            k = -1; /* the operands have other numbers */
            x = saved_marks(g, output);
        }
}

/* Whether v is a map with a vector of the output's elements for each row, such as a sum that an output multiplies by
   another. A sum itself may overflow until it is divided. */
static bool is_vector_of_rows(const struct graph *g, int v, int result)
{
    return g->value[v].op == GRAPH_MAP && value_axes(&g->value[v]) == value_axes(&g->value[result]);
}

/* Takes the rows and vectors of rows that are sums over keys, even given all saved rows, and that values of pairs need.
   They read no saved rows, because their sums have separate maxima. */
static void take_sums(struct graph *g, struct graph *made, int result, const char *name)
{
    struct graph *const trial = graph_copy(g), *const saved = graph_copy(g);
    struct row_marks x = marks_of(trial, result, name);
    for (int v = 0; v < g->values; v++) x.row[v] &= x.sums[v] && !x.late[v];
    name_rows(trial, saved, saved->outputs, &x, "saved");
    x = marks_of(trial, result, name);
    const bool *const for_pairs = leads_to_pairs(g);
    for (int v = 0; v < g->values; v++)
        x.row[v] = ((x.row[v] && x.late[v] && !x.scanned[v]) || is_vector_of_rows(g, v, result)) && x.sums[v] &&
                   for_pairs[v];
    name_rows(g, made, 0, &x, "row");
}

/* Returns the number in `to` of value v of `from`, which is copied there with the values that it needs. made[v] is 1 +
   this number, or 0. Arrays have the same names in both. */
static int copied(struct graph *to, const struct graph *from, int v, int *made)
{
    struct value value = from->value[v];
    if (!made[v] && value.name) made[v] = graph_find(to, value.name) + 1;
    if (!made[v] && value.name && graph_find_output(to, value.name) >= 0) /* a row that `to` computes */
        made[v] = to->output[graph_find_output(to, value.name)].value + 1;
    if (made[v]) return made[v] - 1;
    for (int k = 0; k < value.operands; k++) value.operand[k].of = copied(to, from, value.operand[k].of, made);
    graph_insert(to, to->values, value);
    made[v] = to->values;
    return made[v] - 1;
}

/* Takes the sums of rows that depend on running sums, for `made`. Unlike other sums over keys they read saved rows, so
   that their weights are those of the gradients. */
static void take_scanned(struct graph *g, struct graph *made, const struct row_marks *x)
{
    struct graph *const late = graph_copy(g);
    int *const number = arena_alloc(g->module->arena, (size_t)g->values * sizeof *number);
    late->outputs = 0;
    name_rows(g, late, -made->outputs, x, "row");
    for (int o = 0; o < late->outputs; o++)
        graph_output(made, late->output[o].name, copied(made, late, late->output[o].value, number));
}

void reversal_save_rows(struct compilation *c)
{
    struct graph *g = c->graph;
    separate_functions(g, g->outputs - c->gradients.results); /* pass_differentiate put the outputs of forward last */
    g->outputs -= c->gradients.results;
    struct graph *saving = graph_copy(g);
    saving->outputs = 0;
    saving->by_chunks = false;
    for (int o = g->outputs; saving->outputs < c->gradients.results; o++)
        graph_output(saving, g->output[o].name, g->output[o].value);
    const int result = saving->output[0].value;
    const char *const name = saving->output[0].name;
    struct graph *const with_sums = graph_copy(g);
    with_sums->outputs = 0;
    take_sums(g, with_sums, result, name);
    struct row_marks x = marks_of(g, result, name);
    for (int v = 0; v < g->values; v++) x.row[v] &= x.sums[v] && !x.late[v];
    x.apart = true;
    c->gradients.saving = take_rows(g, saving, c->gradients.results, &x, "saved");
    x = marks_of(g, result, name);
    struct graph *const rows = with_sums->outputs ? with_sums : graph_copy(g);
    if (rows != with_sums) rows->outputs = 0;
    rows->by_chunks = false;
    for (int v = 0; v < g->values; v++) x.row[v] &= x.late[v] && x.reduces[v] && (!x.sums[v] || x.scanned[v]);
    if (graph_find_scan(g) >= 0)
        take_scanned(g, rows, &x);
    else
        name_rows(g, rows, 0, &x, "row");
    graph_sweep(rows);
    c->gradients.row_sums = rows;
}
