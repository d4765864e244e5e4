/* Prints the comment at the top of NAME.c: formulas, algorithm, contents. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

#include <string.h>

/* Returns the number of keys from which the last target runs the linear form. Returns 0 if the target always or
   never runs it. */
static int64_t linear_from(const struct emitted_file *e)
{
    int64_t from = 0;
    for (int k = 0; k < e->versions; k++) {
        const struct version *v = &e->version[k];
        if (v->target != e->version[e->versions - 1].target) continue;
        if (!v->c->program.linear)
            from = 0;
        else if (!from)
            from = v->from;
    }
    return from;
}

/* Prints the numbers of keys that a compilation serves, such as ", from 1 to 4095 keys and from 8192 keys on". */
static void lengths_of(const struct emitted_file *e, const struct compilation *c, struct text *out)
{
    const char *before = ",";
    for (int k = 0; k < e->versions; k++) {
        if (e->version[k].c != c) continue;
        const bool last = k + 1 == e->versions || e->version[k + 1].target != c->target;
        text_add(out, "%s from %lld", before, (long long)(e->version[k].from ? e->version[k].from : 1));
        if (last)
            text_add(out, " keys on");
        else
            text_add(out, " to %lld keys", (long long)e->version[k + 1].from - 1);
        before = " and";
    }
}

/* ---- formulas ---- */

/* Returns the name of value v in formulas. It is the name of the input or parameter, or x0, x1, … for other values. */
static const char *value_name(const struct graph *g, int v)
{
    const struct value *value = &g->value[v];
    return value->name ? value->name : arena_printf(g->module->arena, "x%d", v);
}

/* Precedences as in C, from low to high. Names and numbers have the highest precedence. */
enum {
    BINDS_CHOICE = 1,
    BINDS_OR,
    BINDS_AND,
    BINDS_EQUAL,
    BINDS_LESS,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_UNARY,
    BINDS_CALL
};

static int binding_of(const struct expr *e)
{
    switch ((int)e->op) {
    case EXPR_SELECT: return BINDS_CHOICE;
    case EXPR_OR: return BINDS_OR;
    case EXPR_AND: return BINDS_AND;
    case EXPR_EQ:
    case EXPR_NE: return BINDS_EQUAL;
    case EXPR_LT:
    case EXPR_LE: return BINDS_LESS;
    case EXPR_ADD:
    case EXPR_SUB: return BINDS_SUM;
    case EXPR_MUL:
    case EXPR_DIV:
    case EXPR_MOD: return BINDS_PRODUCT;
    case EXPR_NEG:
    case EXPR_NOT: return BINDS_UNARY;
    default: return BINDS_CALL;
    }
}

/* Returns a if e is (a - a mod n) / n = floor(a / n), otherwise NULL. */
static const struct expr *floored(const struct expr *e)
{
    if (e->op != EXPR_DIV || e->arg[0]->op != EXPR_SUB) return NULL;
    const struct expr *a = e->arg[0]->arg[0], *remainder = e->arg[0]->arg[1];
    return remainder->op == EXPR_FLOORMOD && remainder->arg[0] == a && remainder->arg[1] == e->arg[1] ? a : NULL;
}

static void formula(const struct graph *g, const struct value *v, const struct expr *e, int binding, struct text *out);

static void reference(const struct graph *g, const struct ref *r, struct text *out)
{
    const struct ref plain = graph_ref(g, r->of, NULL);
    text_add(out, "%s", value_name(g, r->of));
    if (ref_equal(&plain, r)) return;
    for (int k = 0; k < r->rank; k++) {
        text_add(out, k ? ", " : "[");
        formula(g, NULL, r->sub[k], BINDS_CHOICE, out);
    }
    if (r->rank) text_add(out, "]");
}

static void call(const struct graph *g, const struct value *v, const struct expr *e, struct text *out)
{
    text_add(out, "%s(%s%s", e->op == EXPR_FLOORMOD ? "mod" : expr_name(e->op), e->name ? e->name : "",
             e->name ? ", " : "");
    for (int k = 0; k < expr_arity(e->op); k++) {
        if (k) text_add(out, ", ");
        formula(g, v, e->arg[k], BINDS_CHOICE, out);
    }
    text_add(out, ")");
}

/* Prints an expression, in parentheses if its precedence is below `binding`. */
static void formula(const struct graph *g, const struct value *v, const struct expr *e, int binding, struct text *out)
{
    const struct module *m = g->module;
    const struct expr *dividend = floored(e);
    const int own = dividend ? BINDS_CALL : binding_of(e);
    if (own < binding) text_add(out, "(");
    if (dividend) {
        text_add(out, "floor(");
        formula(g, v, dividend, BINDS_PRODUCT, out);
        text_add(out, " / ");
        formula(g, v, e->arg[1], BINDS_UNARY, out);
        text_add(out, ")");
    } else if (e->op == EXPR_REAL)
        real_print(e->real, false, out);
    else if (e->op == EXPR_INT)
        text_add(out, "%lld", (long long)e->integer);
    else if (e->op == EXPR_OPERAND)
        reference(g, &v->operand[e->integer], out);
    else if (e->op == EXPR_INDEX)
        text_add(out, "%s", m->axis[e->integer].name);
    else if (e->op == EXPR_SIZE)
        text_add(out, "%s", emit_size(m, (int)e->integer));
    else if (e->op == EXPR_START)
        text_add(out, "query_start");
    else if (e->op == EXPR_SELECT) {
        formula(g, v, e->arg[0], own + 1, out);
        text_add(out, " ? ");
        formula(g, v, e->arg[1], own + 1, out);
        text_add(out, " : ");
        formula(g, v, e->arg[2], own, out);
    } else if (own == BINDS_UNARY) {
        text_add(out, e->op == EXPR_NEG ? "-" : "!");
        formula(g, v, e->arg[0], own, out);
    } else if (expr_infix(e->op)) {
        /* The right operand of +, && and || needs no parentheses. */
        const bool regroups = e->op == EXPR_ADD || e->op == EXPR_AND || e->op == EXPR_OR;
        formula(g, v, e->arg[0], own, out);
        text_add(out, " %s ", expr_infix(e->op));
        formula(g, v, e->arg[1], own + !regroups, out);
    } else
        call(g, v, e, out);
    if (own < binding) text_add(out, ")");
}

/* Prints the formula of a sum, such as "sum over j of x4 * v". */
static void sum_formula(const struct graph *g, const struct value *v, struct text *out)
{
    int over = 0;
    text_add(out, v->op == GRAPH_REDUCE && v->fold == FOLD_MAX ? "max over " : "sum over ");
    for (int a = 0; a < g->module->axes; a++) {
        bool summed = false;
        for (int k = 0; k < v->operands; k++) summed |= ref_uses_axis(&v->operand[k], a);
        if (summed && !value_has_axis(v, a)) text_add(out, "%s%s", over++ ? ", " : "", g->module->axis[a].name);
    }
    text_add(out, " of ");
    for (int k = 0; k < v->operands; k++) {
        if (k) text_add(out, " * ");
        reference(g, &v->operand[k], out);
    }
    if (!v->where) return;
    text_add(out, " if ");
    formula(g, NULL, v->where, BINDS_CHOICE, out);
}

/* Prints the equations of a SOLVE, such as "u with u[t] = r * (v - sum over j < t of w * u[j])". */
static void solve_formula(const struct graph *g, const struct value *v, struct text *out)
{
    int along, rows;
    graph_solve_axes(g->module, v, &along, &rows);
    const char *const t = g->module->axis[rows].name, *const j = g->module->axis[along].name;
    text_add(out, "u with u[%s] = ", t);
    reference(g, &v->operand[SOLVE_RATE], out);
    text_add(out, " * (");
    reference(g, &v->operand[SOLVE_VALUES], out);
    text_add(out, " - sum over %s < %s of ", j, t);
    reference(g, &v->operand[SOLVE_WEIGHTS], out);
    text_add(out, " * u[%s]", j);
    if (v->where) text_add(out, " if ");
    if (v->where) formula(g, NULL, v->where, BINDS_CHOICE, out);
    text_add(out, ")");
}

static void formulas(const struct graph *g, struct text *out)
{
    const struct module *m = g->module;
    for (int k = 0; k < g->values; k++) {
        const struct value *v = &g->value[k];
        text_add(out, "%s ", value_name(g, k));
        axes_print(m, v->rank, v->axes, out);
        switch (v->op) {
        case GRAPH_INPUT: break;
        case GRAPH_PARAM:
            text_add(out, ", %s parameter", v->origin == ORIGIN_LEARNED ? "learned" : origin_name(v->origin));
            break;
        case GRAPH_TABLE: text_add(out, ", constant"); break;
        case GRAPH_MAP:
            text_add(out, " = ");
            formula(g, v, v->expr, BINDS_CHOICE, out);
            break;
        case GRAPH_REDUCE:
        case GRAPH_CONTRACT:
            text_add(out, " = ");
            sum_formula(g, v, out);
            break;
        case GRAPH_SOLVE:
            text_add(out, " = ");
            solve_formula(g, v, out);
            break;
        }
        text_add(out, "\n");
    }
    for (int o = 0; o < g->outputs; o++)
        text_add(out, "%s = %s\n", g->output[o].name, value_name(g, g->output[o].value));
}

/* Returns the axes, such as "b (batch), i (query), d (64)". */
static const char *axes_of(const struct graph *g)
{
    static const struct {
        enum size_source source;
        const char *says;
    } known[] = {{SIZE_BATCH, "batch"},
                 {SIZE_KV_HEADS, "key/value head"},
                 {SIZE_MEMBERS, "query head of g"},
                 {SIZE_N_Q, "query"},
                 {SIZE_N_K, "key"}};
    struct text list = {0};
    for (int a = 0; a < g->module->axes; a++) {
        const char *says = emit_size(g->module, a);
        if (axis_is_number(&g->module->axis[a])) continue;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (g->module->axis[a].source == known[k].source) says = known[k].says;
        text_add(&list, "%s%s (%s)", a ? ", " : "", g->module->axis[a].name, says);
    }
    const char *made = arena_copy(g->module->arena, list.data ? list.data : "");
    text_free(&list);
    return made;
}

/* ---- the comment ---- */

/* Prints the table of contents: the functions of the loops, the targets, and the interface. */
static void contents(const struct emitted_file *e, struct text *out)
{
    struct arena *const arena = e->c[0]->graph->module->arena;
    const char *const name = e->p->spec->name, *functions = "", *targets = "";
    for (int k = 0; k < e->compilations; k++) {
        const char *const form = arena_printf(arena, "%s_%s", name, emit_form(e->c[k]));
        if (k == 0 || e->c[k]->target != e->c[k - 1]->target)
            targets = arena_printf(arena, "%s%s%s", targets, k ? ", " : "", e->c[k]->target->name);
        bool before = false;
        for (int n = 0; n < k; n++) before |= strcmp(emit_form(e->c[n]), emit_form(e->c[k])) == 0;
        if (!before) functions = arena_printf(arena, "%s%s%s", functions, k ? ", " : "", form);
    }
    text_add(out,
             "\n   Contents:\n     %-10s %s\n     %-10s %s\n     %-10s arrays and programs, for the functions of "
             "attnrt that call the loops\n     %-10s ",
             "loops", functions, "targets", targets, "tables", "interface");
    for (const struct function_row *f = NULL; emission_next_function(e->p, &f);)
        if (f->listed) text_add(out, "%s_%s, ", name, f->suffix);
    text_add(out, "%s_kernel\n", name);
    if (targets[strcspn(targets, ",")])
        text_add(
            out,
            "   The file includes itself, so that the loops are compiled once for each target. T(name) is a name "
            "with the target's\n   suffix, LANES the elements of its vectors, and OF(…) a number for each target.\n");
}

/* Prints how the formulas are computed, and the tiles of forward. */
static void algorithm(const struct emitted_file *e, struct text *out)
{
    const struct compilation *const *c = e->c;
    const struct spec *spec = c[0]->spec;
    struct arena *arena = c[0]->graph->module->arena;
    const int64_t from = linear_from(e);
    bool few = false, by_heads = false;
    int linear = 0;
    text_add(out,
             "\n   How: each vector lane holds one query. Keys are processed in tiles, so row sums and maxima need no "
             "reduction across lanes.\n"
             "   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are "
             "skipped.\n");
    for (int k = 0; k < e->compilations; k++) {
        few |= c[k]->program.few;
        by_heads |= c[k]->program.by_heads;
    }
    if (few)
        text_add(out,
                 "   For few queries each lane holds one key. The queries of all heads that share keys are the rows of "
                 "one tile, so each key is read once.\n"
                 "   The chunks of keys are divided among the threads. Their sums are added in the order of the "
                 "chunks.\n");
    if (by_heads)
        text_add(out, "   For few queries of %d or more heads that share keys, each lane holds one head of a query.\n",
                 MANY_HEADS);
    while (linear < e->compilations && !c[linear]->separated.features) linear++;
    if (linear < e->compilations)
        text_add(out,
                 "   Linear%s: the weight is an inner product of %lld features. The state is a sum over keys of %lld x "
                 "%lld numbers.\n",
                 from ? arena_printf(arena, " from %lld keys on", (long long)from) : "",
                 (long long)c[linear]->separated.features, (long long)c[linear]->separated.features,
                 (long long)spec->value_dim + 1);
    for (int k = 0; k < e->compilations; k++) {
        if (!program_is_forward(&c[k]->program)) continue;
        text_add(out, "     %-10s %-9s%s%s tiles of %s; %lld bytes of workspace per thread", c[k]->target->name,
                 compilation_form(c[k]), compilation_products(c[k]), loops_paired(c[k]->loops) ? "," : "",
                 compilation_tiles(arena, c[k]), (long long)loops_bytes(c[k]->loops));
        if (spec->schedules > 1) lengths_of(e, c[k], out);
        text_add(out, "\n");
    }
}

void emit_heading(const struct emitted_file *e, struct text *out)
{
    const struct graph *source = e->c[0]->source;
    const struct spec *spec = e->c[0]->spec;
    struct arena *arena = source->module->arena;
    struct text graph = {0};
    text_add(out, "/* %s.c, made by attnc %s: %s\n   C11 with GNU extensions, for a C compiler; C++ includes %s.h.\n",
             spec->name, ATTNC_VERSION, emit_harmless(arena, e->command), spec->name);
    if (*spec->description) emit_comment(arena, out, spec->description, 3);
    text_add(out, "\n   Computes, in %s, over the axes %s:\n", dtype_name(source->module->dtype), axes_of(source));
    formulas(source, &graph);
    emit_comment(arena, out, graph.data, 5);
    if (graph_has(source, EXPR_START))
        text_add(out,
                 "   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is "
                 "NULL.\n");
    for (int a = 0; a < source->module->axes; a++) {
        const struct axis *const axis = &source->module->axis[a];
        const char *const name = size_name(axis->source);
        if (axis_is_number(axis) && strcmp(axis->name, name) == 0 && strstr(graph.data, name))
            text_add(out, "   %s is problem.%s%s.\n", name, name,
                     axis->source == SIZE_ALL_KEYS ? ", or n_k if that is 0" : ", usually 0");
    }
    text_free(&graph);
    algorithm(e, out);
    contents(e, out);
    text_add(out, "\n   Compile with: cc -O2 -fopenmp %s.c …%s -lm */\n", spec->name,
             e->p->standalone ? "" : " -lattnrt");
}
