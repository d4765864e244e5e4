/* Compiles one program of a unit. */
#include "maker.h"
#include "../pass/pass.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"

#include <stdio.h>
#include <string.h>

/* For --dump-after, prints the IR after this pass. */
static bool dump(const struct compilation *c, const struct pass *pass, void *user)
{
    const struct options *o = user;
    if (strcmp(pass->name, o->dump_after) == 0) {
        const char *const says = program_table[c->program.kind].says;
        struct text t = {0};
        if (pass->level == PASS_GRAPH)
            graph_print(c->graph, &t);
        else
            loops_print(c->loops, &t);
        fprintf(stderr, "# after %s, for %s, %s%s%s%s\n%s", pass->name, c->target->name,
                c->program.linear     ? "linear"
                : c->program.few      ? "quadratic, few queries"
                : c->program.by_heads ? "quadratic, heads as queries"
                                      : "quadratic",
                *says ? ", " : "", says,
                c->schedule && c->schedule->from
                    ? arena_printf(c->graph->module->arena, ", from %lld keys on", (long long)c->schedule->from)
                    : "",
                t.data);
        text_free(&t);
    }
    return true;
}

typedef struct graph *graph_builder(struct arena *arena, const struct spec *spec, enum counting counting,
                                    struct diagnostics *d);

static graph_builder *const builder[] = {
#define PROGRAM(kind, graph, says, quadratic, linear, few, heads, facts) [PROGRAM_##kind] = graph,
#include "../schedule/program.def"
};

/* Keeps only the output `weights` if the program computes it, and otherwise all other outputs. A program of an array
   that other programs read keeps all. */
static void take_outputs(struct graph *g, const struct program *program)
{
    const int outputs = g->outputs;
    if (program_computes_terms(program) || program_selects(program)) return;
    g->outputs = 0;
    for (int o = 0; o < outputs; o++)
        if ((strcmp(g->output[o].name, "weights") == 0) == program_weighs(program))
            g->output[g->outputs++] = g->output[o];
    if (g->outputs < outputs) graph_sweep_computed(g);
}

struct compilation *unit_recompile(const struct unit *p, const struct compilation *like)
{
    struct compilation *c = arena_alloc(p->arena, sizeof *c);
    *c = (struct compilation){.spec = p->spec,
                              .schedule = like->schedule,
                              .target = like->target,
                              .diagnostics = like->diagnostics,
                              .source = p->graph,
                              .program = like->program};
    graph_builder *build = builder[c->program.kind];
    if (build == build_graph_of_prepared && !spec_stores_any_prepared(p->spec)) build = build_graph_without_dropout;
    c->graph = c->program.rows
                   ? build_graph_that_prepares_rows(p->arena, p->spec, p->counting,
                                                    &p->spec->arrays.array[c->program.rows - 1], c->diagnostics)
                   : build(p->arena, p->spec, p->counting, c->diagnostics);
    if (c->graph) take_outputs(c->graph, &c->program);
    return c;
}

struct compilation *maker_compile(struct maker *x, const struct schedule *schedule, const struct target *target,
                                  struct program program, bool shown)
{
    const struct compilation like = {.schedule = schedule, .target = target, .diagnostics = x->d, .program = program};
    struct compilation *c = unit_recompile(x->p, &like);
    x->good = c->graph && passes_run(c, shown && x->o->dump_after ? dump : NULL, (void *)x->o);
    const struct stmt *const body = x->good && c->loops ? c->loops->body : NULL;
    if (body && body->next && stmts_window(body)) { /* loops in phases are printed without other loops */
        x->good = diagnostics_error(x->d, NO_POSITION,
                                    "outputs whose loops differ from those of a carried state are not compiled yet");
    }
    return c;
}

struct compilation *maker_for_few(const struct maker *x, const struct target *target, struct program program,
                                  bool shown)
{
    struct maker trial = *x;
    trial.d = diagnostics_new(x->p->arena, "", NULL, 0);
    const struct compilation like = {.target = target, .diagnostics = trial.d, .program = program};
    struct compilation *c = unit_recompile(x->p, &like);
    const bool good = c->graph && passes_run(c, shown && x->o->dump_after ? dump : NULL, (void *)x->o);
    return good && !c->reason ? c : NULL;
}

struct compilation *maker_few(const struct maker *x, const struct target *target, enum program_kind kind, bool shown)
{
    return maker_for_few(x, target, (struct program){.kind = kind, .few = true}, shown);
}

void maker_each(struct maker *x, enum kernel_step step, int part)
{
    struct versions *const made = &x->p->kernel.of[step];
    const bool prepares = step == STEP_PREPARE;
    const struct program program = {
        .kind = step_table[step].kind, .rows = prepares ? part : 0, .computed = prepares ? 0 : part};
    for (const struct version *v = NULL; x->good && versions_next_target(&x->p->kernel.of[STEP_FORWARD], &v);) {
        const struct compilation *const c = maker_compile(x, NULL, v->target, program, !made->count);
        versions_add(x->p->arena, made, (struct version){.target = v->target, .c = c, .cooperative = 1, .part = part});
    }
}

void maker_prepare(struct maker *x)
{
    const struct user_arrays *const all = &x->p->spec->arrays;
    for (int n = 0; n <= all->count; n++)
        if (spec_stores_prepared(x->p->spec, n ? &all->array[n - 1] : NULL)) maker_each(x, STEP_PREPARE, n);
}

void maker_note_gradients(const struct maker *x)
{
    diagnostics_note(x->d, x->p->spec->emit_at, "this concerns the gradients that 'emit' asks for");
}
