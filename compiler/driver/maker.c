/* Compiles one program of a unit. */
#include "maker.h"
#include "../pass/pass.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"

#include <stdio.h>
#include <string.h>

/* Returns the text that --dump-after adds for a program that works on a state, or "". */
static const char *program_said(const struct program *p)
{
    if (program_folds_states(p)) return ", fold";
    if (p->foldable) return ", extend foldable";
    if (program_prepares_keys(p)) return ", prepare";
    return program_keeps_state(p) || program_takes_prepared(p) ? ", extend" : "";
}

/* For --dump-after, prints the IR after this pass. */
static bool dump(const struct compilation *c, const struct pass *pass, void *user)
{
    const struct options *o = user;
    if (strcmp(pass->name, o->dump_after) == 0) {
        struct text t = {0};
        if (pass->level == PASS_GRAPH)
            graph_print(c->graph, &t);
        else
            loops_print(c->loops, &t);
        fprintf(stderr, "# after %s, for %s, %s%s%s\n%s", pass->name, c->target->name,
                c->program.linear     ? "linear"
                : c->program.few      ? "quadratic, few queries"
                : c->program.by_heads ? "quadratic, heads as queries"
                                      : "quadratic",
                program_said(&c->program),
                c->schedule && c->schedule->from
                    ? arena_printf(c->graph->module->arena, ", from %lld keys on", (long long)c->schedule->from)
                    : "",
                t.data);
        text_free(&t);
    }
    return true;
}

bool stores_prepared_keys(const struct spec *spec)
{
    return spec_prepares_keys(spec) && dtype_of_sums(spec->dtype) == spec->dtype;
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
    const struct program *const program = &c->program;
    c->graph = (program_prepares_keys(program)     ? build_graph_that_prepares
                : !program_takes_prepared(program) ? build_graph
                : stores_prepared_keys(p->spec)    ? build_graph_of_prepared
                                                   : build_graph_without_dropout)(p->arena, p->spec, c->diagnostics);
    return c;
}

struct compilation *maker_compile(struct maker *x, const struct schedule *schedule, const struct target *target,
                                  struct program program, bool shown)
{
    const struct compilation like = {.schedule = schedule, .target = target, .diagnostics = x->d, .program = program};
    struct compilation *c = unit_recompile(x->p, &like);
    x->good = c->graph && passes_run(c, shown && x->o->dump_after ? dump : NULL, (void *)x->o);
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
