/* Chooses among the compilations of a unit. */
#include "driver.h"
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

const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t)
{
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_ATTEND], &v);)
        if (v->target == t && !v->c->program.linear) return v->c;
    return unit_defaults(p)->quadratic;
}
