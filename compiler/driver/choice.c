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
    for (int k = 0; k < p->compilations; k++)
        if (target_runs(p->compilation[k]->target)) return p->compilation[k]->target;
    return NULL;
}

/* Returns the version on target t for this number of keys, or NULL. */
static const struct version *version_for(const struct version *version, int versions, const struct target *t,
                                         int64_t keys)
{
    const struct version *choice = NULL;
    for (int k = 0; k < versions; k++)
        if (version[k].target == t && version[k].from <= keys) choice = &version[k];
    return choice;
}

const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct version *const choice = version_for(p->version, p->versions, t, keys);
    return choice ? choice->c : NULL;
}

const struct compilation *unit_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows)
{
    const struct version *const choice = version_for(p->version, p->versions, t, keys);
    *rows = choice ? choice->few_rows : 0;
    return choice ? choice->few : NULL;
}

const struct compilation *unit_extend_heads(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct version *const choice = p->attends ? version_for(p->attend, p->attends, t, keys)
                                                    : version_for(p->version, p->versions, t, keys);
    return choice ? choice->heads : NULL;
}

const struct compilation *unit_extend_choice(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct version *const choice = version_for(p->attend, p->attends, t, keys);
    return choice ? choice->c : unit_choice(p, t, keys);
}

const struct compilation *unit_extend_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows)
{
    if (!p->attends) return unit_few(p, t, keys, rows);
    const struct version *const choice = version_for(p->attend, p->attends, t, keys);
    *rows = choice ? choice->few_rows : 0;
    return choice ? choice->few : NULL;
}

const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t)
{
    for (int k = 0; k < p->of_prepareds; k++) {
        const struct compilation *const c = p->of_prepared[k];
        if (c->target == t && program_takes_prepared(&c->program) && !c->program.few && !c->program.by_heads &&
            !c->program.linear)
            return c;
    }
    return unit_defaults(p)->quadratic;
}
