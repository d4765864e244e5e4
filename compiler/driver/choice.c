/* Chooses among the compilations of a unit. */
#include "driver.h"
#include "../analysis/analysis.h"
#include "../cost/cost.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

const struct defaults *unit_defaults(const struct unit *p)
{
    for (int u = 0; u < p->default_count; u++)
        if (target_runs(p->defaults[u].target)) return &p->defaults[u];
    return &p->defaults[0];
}

const struct target *unit_target_here(const struct unit *p)
{
    for (int k = 0; k < p->kernel.compilations; k++)
        if (target_runs(p->kernel.compilation[k]->target)) return p->kernel.compilation[k]->target;
    return NULL;
}

const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct version *const choice = versions_find(&p->kernel.of[STEP_FORWARD], t, keys);
    return choice ? choice->c : NULL;
}

const struct versions *unit_attending(const struct unit *p)
{
    return &p->kernel.of[p->kernel.of[STEP_ATTEND].count ? STEP_ATTEND : STEP_FORWARD];
}

/* Returns the compilation of the quadratic form that reads the keys of a state. It is one of `attend`, or that of
   forward. */
static const struct compilation *extend_quadratic(const struct unit *p, const struct target *t)
{
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_ATTEND], &v);)
        if (v->target == t && !v->c->program.linear) return v->c;
    return unit_defaults(p)->quadratic;
}

void unit_add_lists(const struct unit *p, const struct target *t, bool state, struct call_parts *run,
                    const struct compilation **part)
{
    const bool prepared = state && p->kernel.of[STEP_SELECT_NEW].count;
    for (const struct version *v = NULL; versions_next(&p->kernel.of[prepared ? STEP_SELECT_NEW : STEP_SELECT], &v);)
        if (v->target == t) part[run->parts++] = v->c;
}

struct call_parts unit_forward(const struct unit *p, const struct target *t, const struct problem_size *size,
                               bool state)
{
    const struct version *const v = versions_find(state ? unit_attending(p) : &p->kernel.of[STEP_FORWARD], t,
                                                  size->n_k);
    const struct compilation **const part = arena_alloc(p->arena, (MAX_LISTS + 1) * sizeof *part);
    struct call_parts run = {.part = part};
    if (!v) return run;
    const bool heads = v->heads && (heads_are_many(size) || loops_gather(v->heads->loops)),
               few = v->few && size->n_q == 1 && size->members <= v->few_rows;
    unit_add_lists(p, t, state, &run, part);
    part[run.parts++] = heads ? v->heads : few ? v->few : v->c;
    run.whole = !(heads || few) ? v->c : state ? extend_quadratic(p, t) : unit_defaults(p)->quadratic;
    return run;
}
