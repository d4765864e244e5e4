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

static void formulas(const struct graph *g, struct text *out)
{
    const struct module *m = g->module;
    for (int k = 0; k < g->values; k++) {
        const struct value *v = &g->value[k];
        text_add(out, "%s ", formula_name(g, k));
        axes_print(m, v->rank, v->axes, out);
        switch (v->op) {
        case GRAPH_INPUT: break;
        case GRAPH_PARAM:
            text_add(out, ", %s parameter", v->origin == ORIGIN_LEARNED ? "learned" : origin_name(v->origin));
            break;
        case GRAPH_TABLE: text_add(out, ", constant"); break;
        default: text_add(out, " = "); formula_value(g, v, out);
        }
        text_add(out, "\n");
    }
    for (int o = 0; o < g->outputs; o++)
        text_add(out, "%s = %s\n", g->output[o].name, formula_name(g, g->output[o].value));
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
    return text_take(&list, g->module->arena);
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
        text_add(
            out,
            "   Linear%s: the weight is an inner product of %lld feature%s. The state is a sum over keys of %lld x "
            "%lld numbers.\n",
            from ? arena_printf(arena, " from %lld keys on", (long long)from) : "",
            (long long)c[linear]->separated.features, c[linear]->separated.features == 1 ? "" : "s",
            (long long)c[linear]->separated.features, (long long)spec->value_dim + 1);
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
