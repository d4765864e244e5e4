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

/* Reads `%k`, a reference to a whole value. */
static int value_number(struct reader *r)
{
    struct ref ref = reader_ref(r);
    return ref.of;
}

/* The text of operands `from` … `to` - 1. */
static void operands_text(struct format *f, struct value *v, int from, int to)
{
    for (int k = from; k < to; k++) format_ref(f, &v->operand[k]);
    if (!f->out) v->operands = to;
}

/* The text of the optional operands of a SOLVE. */
static void features_text(struct format *f, struct value *v)
{
    if (!format_has(f, "features", v->operands > SOLVE_FEATURES)) return;
    operands_text(f, v, SOLVE_FEATURES, SOLVE_FEATURES + 1);
    if (format_has(f, "keys", v->operands > SOLVE_KEYS)) operands_text(f, v, SOLVE_KEYS, SOLVE_KEYS + 1);
}

static void map_text(struct format *f, struct value *v)
{
    const struct expr *e = f->out ? expr_merged(((const struct graph *)f->program)->module, v->expr, v->operands,
                                                v->operand)
                                  : NULL;
    if (!f->out) f->reader->operands = 0;
    format_expr(f, &e);
    v->expr = e;
    if (f->out) return;
    v->operands = f->reader->operands;
    memcpy(v->operand, f->reader->operand, sizeof v->operand);
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

/* The text of the type in memory. F32 has no text. */
static void stored_text(struct format *f, struct value *v)
{
    for (int k = 0; k < DTYPE_COUNT; k++)
        if (dtype_is_narrow((enum dtype)k) && format_has(f, dtype_name((enum dtype)k), v->stored == (enum dtype)k))
            v->stored = (enum dtype)k;
}

/* The text of a value after its operation. */
static void value_text(struct format *f, struct value *v)
{
    static const char *const origins[] = {
#define ORIGIN(name, text) text,
#include "origin.def"
#undef ORIGIN
    };
    static const char *const folds[] = {[FOLD_SET] = "", [FOLD_SUM] = "sum", [FOLD_MAX] = "max"};
    const bool selects = v->op == GRAPH_SELECT, sums = v->op == GRAPH_REDUCE || v->op == GRAPH_CONTRACT ||
                                                       v->op == GRAPH_SCAN || v->op == GRAPH_SOLVE || selects;
    if (v->op == GRAPH_INPUT || v->op == GRAPH_PARAM || v->op == GRAPH_TABLE || selects)
        format_name(f, &v->name, "the array's name");
    if (v->op == GRAPH_PARAM) {
        const int origin = format_choice(f, (int)v->origin, origins, ORIGINS);
        v->origin = origin < ORIGINS ? (enum origin)origin : ORIGIN_LEARNED;
    }
    const bool given = v->op == GRAPH_PARAM && v->origin == ORIGIN_LEARNED;
    if (given || (v->op == GRAPH_PARAM && v->origin == ORIGIN_COMPUTED)) {
        v->bytes = format_has(f, dtype_name(DTYPE_U8), v->bytes);
        v->integers = format_has(f, dtype_name(DTYPE_I32), v->integers && !v->bytes) || v->bytes;
    }
    if (given && !v->integers) {
        format_flag(f, "by_name", &v->by_name);
        format_flag(f, "hides", &v->hides);
    }
    if (v->op == GRAPH_INPUT || (given && !v->integers)) stored_text(f, v);
    if (v->op == GRAPH_INPUT) format_flag(f, "sums", &v->sums);
    if (v->op == GRAPH_SOLVE || v->op == GRAPH_SCAN) format_flag(f, "backward", &v->backward);
    if (v->op == GRAPH_REDUCE) {
        const int fold = format_choice(f, (int)v->fold, folds, FOLD_MAX + 1);
        if (fold > FOLD_MAX) reader_expect(f->reader, "sum");
        v->fold = fold == FOLD_MAX ? FOLD_MAX : FOLD_SUM;
        format_real(f, &v->init, false);
    }
    format_axes(f, &v->rank, v->axes);
    if (!f->out && f->reader->failed) return;
    if (v->op == GRAPH_INPUT) format_within(f, &v->within);
    if (v->op == GRAPH_TABLE) format_table(f, v->rank, v->axes, &v->data);
    if (v->op == GRAPH_MAP) map_text(f, v);
    if (sums) operands_text(f, v, 0, v->op == GRAPH_SOLVE ? SOLVE_FEATURES : graph_summed(v));
    if (v->op == GRAPH_SOLVE) features_text(f, v);
    if (!f->out && !sums) return;
    format_clause(f, "where", &v->where);
    if (selects) {
        v->integers = true;
        format_optional_int(f, "block", &v->block, 1);
        return;
    }
    if (f->out)
        format_clause(f, "keep", &v->keep);
    else if (reader_take(f->reader, "keep"))
        read_keep(f->reader, v);
    if (format_has(f, "online", v->online >= 0)) {
        if (f->out)
            text_add(f->out, " %%%d", v->online);
        else
            v->online = value_number(f->reader);
    }
    format_optional_int(f, "power", &v->power, 1);
}

void graph_print(const struct graph *g, struct text *out)
{
    text_add(out, "graph %s %s%s\n", g->module->name, dtype_name(g->module->dtype), g->by_chunks ? " by_chunks" : "");
    axis_lines_print(g->module, out);
    for (int v = 0; v < g->values; v++) {
        struct value value = g->value[v];
        struct format f = {.module = g->module, .out = out, .by = referred, .program = g, .operand = value.operand};
        text_add(out, "%%%d = %s", v, op_name[value.op]);
        value_text(&f, &value);
        text_add(out, "\n");
    }
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

static void read_value(struct format *f, struct graph *g)
{
    struct reader *const r = f->reader;
    char wanted[16];
    snprintf(wanted, sizeof wanted, "%%%d", g->values);
    reader_expect(r, wanted);
    reader_expect(r, "=");
    const int op = format_choice(f, 0, op_name, OPS);
    if (op == OPS) reader_error(r, "'%.*s' is not an operation of a graph", (int)r->length, r->token);
    struct value v = graph_value(op < OPS ? (enum graph_op)op : GRAPH_INPUT, 0, NULL);
    value_text(f, &v);
    /* Equal tables share one array, because passes compare pointers. */
    for (int u = 0; u < g->values && !r->failed; u++)
        if (graph_same_table(g, &g->value[u], &v)) v.data = g->value[u].data;
    if (!r->failed) graph_insert(g, g->values, v);
}

struct graph *graph_parse(struct arena *arena, const char *text, struct diagnostics *d)
{
    struct module *m = module_new(arena, "", DTYPE_F32);
    struct graph *g = graph_new(m);
    struct reader r;
    struct format f = {.module = m, .reader = &r};
    reader_start(&r, m, text, d);
    r.program = g;
    r.find = find;
    reader_expect(&r, "graph");
    m->name = reader_name(&r, "the graph's name");
    m->dtype = reader_dtype(&r);
    g->by_chunks = reader_take(&r, "by_chunks");
    reader_axis_lines(&r);
    while (r.length && *r.token == '%') read_value(&f, g);
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
