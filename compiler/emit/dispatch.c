/* The choice among the versions of a kernel, made at run time by the machine and the number of keys. */
#include "emit.h"
#include "pieces.h"
#include "printer.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

#include <string.h>

bool emit_by_length(const struct version *v, int versions)
{
    for (int k = 0; k < versions; k++)
        if (v[k].from > 0) return true;
    return false;
}

bool emit_any_paired(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (loops_paired(c[k]->loops)) return true;
    return false;
}

bool emit_any_on_matrix_units(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (loops_on_matrix_units(c[k]->loops)) return true;
    return false;
}

bool emit_any_in_phases(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (emit_in_phases(c[k]->loops)) return true;
    return false;
}

bool emit_any_waits(const struct compilation *const *c, int compilations)
{
    return emit_any_in_phases(c, compilations) || emit_any_in_order(c, compilations);
}

bool emit_any_in_order(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (emit_in_order(c[k]->loops)) return true;
    return false;
}

bool emit_any_apart(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (emit_tasks_apart(c[k]->loops) > 1) return true;
    return false;
}

bool emit_any_slower(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (*c[k]->target->faster) return true;
    return false;
}

int emit_same_target(const struct compilation *const *c, int compilations)
{
    int count = 1;
    while (count < compilations && c[count]->target == c[0]->target) count++;
    return count;
}

/* How many versions from the first on are for its target. */
static int same_versions(const struct version *v, int versions)
{
    int count = 1;
    while (count < versions && v[count].target == v[0].target) count++;
    return count;
}

bool emit_certain_target(const struct target *t)
{
    return !*t->guard && !*t->supported;
}

const char *emit_guard(const struct compilation *const *c, int k)
{
    const char *guard = c[k]->target->guard;
    /* emulated units need no instructions of the processor, and their header has no others */
    if (*guard && target_has(c[k]->target, TARGET_MATRIX_UNITS))
        return arena_printf(c[k]->graph->module->arena, "%s || defined(ATTN_EMULATE_TILES)", guard);
    for (int n = 0; n < k; n++) {
        const struct target *better = c[n]->target;
        if (target_has(better, TARGET_MATRIX_UNITS) && target_has(c[k]->target, TARGET_BF16_PRODUCTS) &&
            !strstr(guard, "EMULATE"))
            guard = arena_printf(c[k]->graph->module->arena, "%s%s!defined(ATTN_EMULATE_TILES)", guard,
                                 *guard ? " && " : "");
        if (better == c[k]->target || *better->supported || strstr(guard, better->guard)) continue;
        guard = arena_printf(c[k]->graph->module->arena, "%s%s!%s", guard, *guard ? " && " : "", better->guard);
    }
    return guard;
}

/* What a version is to run. */
static void returned(const struct compilation *c, const struct compilation *fold, int cooperative, bool phases,
                     bool apart, struct text *out)
{
    const struct loops *l = c->loops;
    text_add(out, "return (struct version){.%s = %s, .tile = %lld, .own = %lld", emit_in_phases(l) ? "head" : "rows",
             emit_function(c, emit_form(c)), (long long)emit_tasks_of(l),
             (long long)(c->for_few && c->for_few->loops->workspace > l->workspace ? c->for_few->loops->workspace
                                                                                   : l->workspace));
    if (c->program == PROGRAM_SAVING) text_add(out, ", .saves = 1");
    if (emit_tasks_of_keys(l)) text_add(out, ", .of_keys = 1");
    if (emit_units_of(l))
        text_add(out, ", .units = %lld, .unit_heads = %d", (long long)emit_units_of(l),
                 emit_tasks_over(l, SIZE_MEMBERS)    ? 2
                 : emit_tasks_over(l, SIZE_KV_HEADS) ? 1
                                                     : 0);
    if (emit_in_order(l)) text_add(out, ", .in_order = 1");
    if (apart) text_add(out, ", .apart = %lld", (long long)emit_tasks_apart(l));
    if (emit_in_phases(l))
        text_add(out, ", .shared = %lld, .slot = %lld, .slots = %lld", (long long)l->shared, (long long)l->slot,
                 (long long)loops_slots(l));
    if (phases && emit_in_phases(l)) text_add(out, ", .together = %d", cooperative);
    if (c->few && emit_param_of_ids(c->source)) text_add(out, ", .any_order = 1");
    if (l->kept) text_add(out, ", .chunk = %lld, .kept = %lld", (long long)c->chunk, (long long)l->kept);
    if (fold)
        text_add(out, ", .join = %s, .join_work = %lld", emit_function(fold, emit_form(fold)),
                 (long long)fold->loops->workspace);
    text_add(out, "};\n");
}

/* The versions of one target, the one for the longest sequences first, each after that for few queries. */
static void returns(const struct version *v, int count, int deeper, bool phases, bool apart, struct text *out)
{
    for (int n = count - 1; n >= 0; n--) {
        if (v[n].few) {
            text_add(out, "%*s    if (", deeper, "");
            if (n > 0) text_add(out, "n_k >= %lld && ", (long long)v[n].from);
            text_add(out, "rows <= %lld) ", (long long)v[n].few_rows);
            returned(v[n].few, NULL, 1, phases, apart, out);
        }
        text_add(out, "%*s    ", deeper, "");
        if (n > 0) text_add(out, "if (n_k >= %lld) ", (long long)v[n].from);
        if (v[n].c)
            returned(v[n].c, v[n].fold, v[n].cooperative, phases, apart, out);
        else
            text_add(out, "return (struct version){.idle = 1};\n");
    }
}

/* What a function that chooses among versions does; `otherwise`: before it finds none. */
static void choose(const struct emitted_file *e, const struct version *v, int versions, const char *otherwise,
                   struct text *out)
{
    const bool phases = emit_any_in_phases(e->c, e->compilations), apart = emit_any_apart(e->c, e->compilations);
    bool certain = false;
    for (int k = 0, compilation = 0, count; k < versions && !certain; k += count) {
        const struct target *m = v[k].target;
        count = same_versions(v + k, versions - k);
        const char *guard = emit_guard(e->c, compilation);
        if (*guard) text_add(out, "#if %s\n", guard);
        const bool several = count > 1 || v[k].few;
        if (*m->supported)
            text_add(out, "    if (%s%s%s%s)%s\n", m->supported, *m->faster ? " && (ATTN_SLOWER_TOO || " : "",
                     m->faster, *m->faster ? ")" : "", several ? " {" : "");
        returns(v + k, count, *m->supported ? 4 : 0, phases, apart, out);
        if (*m->supported && several) text_add(out, "    }\n");
        if (*guard) text_add(out, "#endif\n");
        certain = emit_certain_target(m);
        compilation += emit_same_target(e->c + compilation, e->compilations - compilation);
    }
    if (!certain)
        text_add(out, "%s    return (struct version){.tile = 1%s};\n", otherwise, apart ? ", .apart = 1" : "");
}

/* Whether calls of few queries are run by others on some target, and on each of them. */
static bool any_few(const struct version *v, int versions, bool *of_all)
{
    bool any = false;
    *of_all = true;
    for (int k = 0, count; k < versions; k += count) {
        bool of_target = false;
        count = same_versions(v + k, versions - k);
        for (int n = k; n < k + count; n++) of_target |= v[n].few != NULL;
        any |= of_target;
        *of_all &= of_target;
    }
    return any;
}

/* What a function of n_k, and of rows if it has these, does that chooses by them. */
static void choose_by_size(const struct emitted_file *e, const struct version *v, int versions, bool has_rows,
                           struct text *made)
{
    bool used = true, of_all;
    for (int k = 0, count; k < versions; k += count) {
        count = same_versions(v + k, versions - k);
        used &= count > 1;
    }
    any_few(v, versions, &of_all);
    /* what is used for some targets alone, or for one that this compiler may not have */
    const char *const keys = "    (void)n_k;\n", *const rows = has_rows ? "    (void)rows;\n" : "";
    struct text otherwise = {0};
    text_add(made, "%s%s", used ? "" : keys, of_all ? "" : rows);
    text_add(&otherwise, "%s%s", used ? keys : "", of_all ? rows : "");
    choose(e, v, versions, otherwise.data ? otherwise.data : "", made);
    text_free(&otherwise);
}

void emit_choice(const struct emitted_file *e, struct template_names *t)
{
    bool any = false, of_all;
    for (int k = 0, count; k < e->versions; k += count) {
        count = same_versions(e->version + k, e->versions - k);
        any |= count > 1;
    }
    const bool few = any_few(e->version, e->versions, &of_all);
    template_set_number(t, "BY_SCHEDULE", any && e->p->spec->schedules);
    template_set_number(t, "BY_FORM", any);
    template_set_number(t, "FEW", few);
    struct text made = {0};
    choose_by_size(e, e->version, e->versions, few, &made);
    template_set_text(t, "CHOICE", &made);
}

/* Those of the targets that are emitted. */
static int emitted_versions(const struct emitted_file *e, const struct version *v, int versions, struct version *to)
{
    int count = 0;
    for (int k = 0; k < versions; k++)
        for (int n = 0; n < e->versions; n++)
            if (e->version[n].target == v[k].target) {
                to[count++] = v[k];
                break;
            }
    return count;
}

void emit_choice_of_extend(const struct emitted_file *e, struct template_names *t)
{
    struct version v[MAX_VERSIONS];
    struct text made = {0};
    choose(e, v, emitted_versions(e, e->p->extend, e->p->extends, v), "", &made);
    template_set_text(t, "EXTEND_CHOICE", &made);
}

void emit_choice_of_prepared(const struct emitted_file *e, struct template_names *t)
{
    struct version v[MAX_COMPILATIONS];
    struct text meets = {0}, prepares = {0};
    bool of_all;
    choose_by_size(e, v, emitted_versions(e, e->p->meet, e->p->meets, v), any_few(e->version, e->versions, &of_all),
                   &meets);
    choose(e, v, emitted_versions(e, e->p->prepare, e->p->prepares, v), "", &prepares);
    template_set_text(t, "MEET_CHOICE", &meets);
    template_set_text(t, "PREPARE_CHOICE", &prepares);
}

void emit_choice_of_parts(const struct emitted_file *e, struct template_names *t)
{
    struct version v[MAX_COMPILATIONS];
    struct text made = {0};
    bool idle = false, by_length = false;
    for (int part = 0; part < e->p->parts; part++) {
        int versions = 0;
        for (int k = 0; k < e->p->backwards; k++) {
            const struct version *b = &e->p->backward[k];
            bool here = false; /* of the targets that are emitted */
            for (int n = 0; n < e->versions; n++) here |= e->version[n].target == b->target;
            if (b->part == part && here) v[versions++] = *b;
        }
        for (int k = 0; k < versions; k++) {
            idle |= !v[k].c;
            by_length |= k > 0 && v[k].target == v[k - 1].target;
        }
        if (part + 1 < e->p->parts) text_add(&made, "    case %d:\n", part);
        if (part + 1 == e->p->parts) text_add(&made, "    default:\n");
        choose(e, v, versions, "", &made);
    }
    template_set_number(t, "IDLE", idle);
    template_set_number(t, "PARTS_BY_LENGTH", by_length);
    template_set_text(t, "PART_CHOICES", &made);
}
