/* Prints a graph as text, one line per value, and parses this text. */
#include "graph.h"
#include "reader.h"

#include <stdlib.h>
#include <string.h>

static const char *const op_name[] = {
#define GRAPH(name, text) text,
#include "graph.def"
#undef GRAPH
};
enum { OPS = sizeof op_name / sizeof *op_name };

/* The name of an output without a name in the text. */
static const char unnamed[] = "out";

/* ---- printing ---- */

static struct referred referred(const void *program, int of)
{
    const struct graph *g = program;
    const struct value *v = &g->value[of];
    return (struct referred){arena_printf(g->module->arena, "%d", of), v->rank, v->axes};
}

/* Returns v's expression with equal operands merged, as the parser does. So printed text does not change when it is
   parsed and printed again. */
static const struct expr *merged(const struct graph *g, const struct value *v)
{
    const struct expr *with[MAX_OPERANDS];
    for (int k = 0; k < v->operands; k++) {
        int first = 0;
        while (!ref_equal(&v->operand[first], &v->operand[k])) first++;
        with[k] = expr_operand(g->module, first);
    }
    return expr_bind(g->module, v->expr, with);
}

static void print_value(const struct graph *g, int number, struct text *out)
{
    const struct value *v = &g->value[number];
    const struct module *m = g->module;
    text_add(out, "%%%d = %s ", number, op_name[v->op]);
    if (v->name) text_add(out, "%s ", v->name);
    if (v->origin != ORIGIN_LEARNED) text_add(out, "%s ", origin_name(v->origin));
    if (v->integers) text_add(out, "%s ", dtype_name(v->bytes ? DTYPE_U8 : DTYPE_I32));
    if (v->by_name) text_add(out, "by_name ");
    if (v->hides) text_add(out, "hides ");
    if (v->stored) text_add(out, "%s ", dtype_name(v->stored));
    if (v->sums) text_add(out, "sums ");
    if (v->backward) text_add(out, "backward ");
    if (v->op == GRAPH_REDUCE) {
        text_add(out, "%s ", v->fold == FOLD_MAX ? "max" : "sum");
        real_print(v->init, false, out);
        text_add(out, " ");
    }
    axes_print(m, v->rank, v->axes, out);
    within_print(m, &v->within, out);
    if (v->op == GRAPH_TABLE) {
        text_add(out, " ");
        table_print(m, v->rank, v->axes, v->data, out);
    } else if (v->op == GRAPH_MAP) {
        text_add(out, " ");
        expr_print(m, merged(g, v), v->operand, referred, g, out);
    } else
        for (int k = 0, summed = graph_summed(v); k < summed; k++) {
            const bool solve = v->op == GRAPH_SOLVE;
            text_add(out, solve && k == SOLVE_FEATURES ? " features " : solve && k == SOLVE_KEYS ? " keys " : " ");
            ref_print(m, &v->operand[k], referred, g, out);
        }
    if (v->where) {
        text_add(out, " where ");
        expr_print(m, v->where, NULL, referred, g, out);
    }
    if (v->keep) {
        text_add(out, " keep ");
        expr_print(m, v->keep, v->operand, referred, g, out);
    }
    if (v->online >= 0) text_add(out, " online %%%d", v->online);
    if (v->power) text_add(out, " power %lld", (long long)v->power);
    text_add(out, "\n");
}

void graph_print(const struct graph *g, struct text *out)
{
    text_add(out, "graph %s %s%s\n", g->module->name, dtype_name(g->module->dtype), g->by_chunks ? " by_chunks" : "");
    axis_lines_print(g->module, out);
    for (int v = 0; v < g->values; v++) print_value(g, v, out);
    for (int o = 0; o < g->outputs; o++) { /* a single output with the default name has none in the text */
        const bool plain = g->outputs == 1 && strcmp(g->output[o].name, unnamed) == 0;
        text_add(out, "output %s%s%%%d\n", plain ? "" : g->output[o].name, plain ? "" : " ", g->output[o].value);
    }
}

/* ---- parsing ---- */

static bool find(const void *program, const char *name, struct ref *plain)
{
    const struct graph *g = program;
    char *end;
    long number = strtol(name, &end, 10);
    if (*end || end == name || number < 0 || number >= g->values) return false;
    *plain = graph_ref(g, (int)number, NULL);
    return true;
}

/* Reads `%k`, a reference to a whole value. */
static int value_number(struct reader *r)
{
    struct ref ref = reader_ref(r);
    return ref.of;
}

static enum graph_op op(struct reader *r)
{
    for (int k = 0; k < OPS; k++)
        if (reader_take(r, op_name[k])) return (enum graph_op)k;
    reader_error(r, "'%.*s' is not an operation of a graph", (int)r->length, r->token);
    return GRAPH_INPUT;
}

static enum origin read_origin(struct reader *r)
{
    for (int k = 0; k < ORIGINS; k++)
        if (k != ORIGIN_LEARNED && reader_take(r, origin_name((enum origin)k))) return (enum origin)k;
    return ORIGIN_LEARNED;
}

/* Reads the factor `keep`. The operands of `keep` follow the operands that are summed. */
static void read_keep(struct reader *r, struct value *v)
{
    const struct expr *with[MAX_OPERANDS];
    r->operands = 0;
    v->keep = reader_expr(r);
    for (int k = 0; k < r->operands && !r->failed; k++) {
        const int number = graph_operand(v, &r->operand[k]);
        if (number < 0) reader_error(r, "the value has too many operands");
        with[k] = expr_operand(r->module, number < 0 ? 0 : number);
    }
    if (r->operands && !r->failed) v->keep = expr_bind(r->module, v->keep, with);
}

/* Reads the type of an input. Returns F32 if there is none. */
static enum dtype read_stored(struct reader *r)
{
    for (int k = 0; k < DTYPE_COUNT; k++)
        if (dtype_is_narrow((enum dtype)k) && reader_take(r, dtype_name((enum dtype)k))) return (enum dtype)k;
    return DTYPE_F32;
}

static void read_value(struct reader *r, struct graph *g)
{
    char wanted[16];
    int rank, axes[MAX_RANK], number = -1;
    snprintf(wanted, sizeof wanted, "%%%d", g->values);
    reader_expect(r, wanted);
    reader_expect(r, "=");
    enum graph_op made = op(r);
    const char *name = made == GRAPH_INPUT || made == GRAPH_PARAM || made == GRAPH_TABLE
                           ? reader_name(r, "the array's name")
                           : NULL;
    enum origin origin = made == GRAPH_PARAM ? read_origin(r) : ORIGIN_LEARNED;
    const bool given = made == GRAPH_PARAM && origin == ORIGIN_LEARNED,
               bytes = given && reader_take(r, dtype_name(DTYPE_U8)),
               integers = bytes || (given && reader_take(r, dtype_name(DTYPE_I32))),
               by_name = given && !integers && reader_take(r, "by_name"),
               hides = given && !integers && reader_take(r, "hides");
    const enum dtype stored = made == GRAPH_INPUT || (given && !integers) ? read_stored(r) : DTYPE_F32;
    const bool sums = made == GRAPH_INPUT && reader_take(r, "sums"),
               backward = made == GRAPH_SOLVE && reader_take(r, "backward");
    enum fold fold = FOLD_SUM;
    double init = 0;
    if (made == GRAPH_REDUCE) {
        if (reader_take(r, "max"))
            fold = FOLD_MAX;
        else
            reader_expect(r, "sum");
        init = reader_real(r);
    }
    reader_axes(r, &rank, axes);
    if (r->failed) return;
    switch (made) {
    case GRAPH_INPUT:
        number = graph_input(g, name, rank, axes);
        g->value[number].sums = sums;
        g->value[number].stored = stored;
        g->value[number].within = within_read(r);
        return;
    case GRAPH_PARAM:
        number = graph_random(g, name, origin, rank, axes);
        g->value[number].integers = integers;
        g->value[number].bytes = bytes;
        g->value[number].by_name = by_name;
        g->value[number].hides = hides;
        g->value[number].stored = stored;
        return;
    case GRAPH_TABLE:
        number = graph_table(g, name, rank, axes, reader_table(r, rank, axes));
        /* Equal tables share one array, because passes compare pointers. */
        for (int u = 0; u < number && !r->failed; u++)
            if (graph_same_table(g, &g->value[u], &g->value[number])) g->value[number].data = g->value[u].data;
        return;
    case GRAPH_MAP: {
        r->operands = 0;
        const struct expr *e = reader_expr(r);
        graph_map(g, rank, axes, r->operands, r->operand, e);
        return;
    }
    case GRAPH_CONTRACT: {
        struct ref a = reader_ref(r), b = reader_ref(r);
        number = graph_contract(g, rank, axes, a, b, NULL);
        break;
    }
    case GRAPH_REDUCE: number = graph_reduce(g, fold, init, rank, axes, reader_ref(r), NULL); break;
    case GRAPH_SOLVE: {
        struct ref weights = reader_ref(r), values = reader_ref(r), rate = reader_ref(r);
        number = graph_solve(g, rank, axes, weights, values, rate, NULL);
        g->value[number].backward = backward;
        if (reader_take(r, "features")) {
            g->value[number].operand[SOLVE_FEATURES] = reader_ref(r);
            g->value[number].operands++;
            if (reader_take(r, "keys")) g->value[number].operand[g->value[number].operands++] = reader_ref(r);
        }
        break;
    }
    }
    if (reader_take(r, "where")) g->value[number].where = reader_expr(r);
    if (reader_take(r, "keep")) read_keep(r, &g->value[number]);
    if (reader_take(r, "online")) g->value[number].online = value_number(r);
    if (reader_take(r, "power")) g->value[number].power = reader_int(r, 1);
}

struct graph *graph_parse(struct arena *arena, const char *text, struct diagnostics *d)
{
    struct module *m = module_new(arena, "", DTYPE_F32);
    struct graph *g = graph_new(m);
    struct reader r;
    reader_start(&r, m, text, d);
    r.program = g;
    r.find = find;
    reader_expect(&r, "graph");
    m->name = reader_name(&r, "the graph's name");
    m->dtype = reader_dtype(&r);
    g->by_chunks = reader_take(&r, "by_chunks");
    reader_axis_lines(&r);
    while (r.length && *r.token == '%') read_value(&r, g);
    do {
        reader_expect(&r, "output");
        const char *name = r.length && *r.token == '%' ? unnamed : reader_name(&r, "the output's name");
        const int value = value_number(&r);
        if (g->outputs == MAX_OUTPUTS) reader_error(&r, "there are more than %d outputs", MAX_OUTPUTS);
        if (!r.failed) graph_output(g, name, value);
    } while (!r.failed && r.length && reader_at(&r, "output"));
    if (!r.failed && r.length) reader_error(&r, "expected the end of the text after the output");
    return r.failed ? NULL : g;
}
