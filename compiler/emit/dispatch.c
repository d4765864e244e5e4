/* Prints the C functions that choose a version at run time. They choose by the processor and by n_k. For few queries
   they also choose by n_q and by rows, the number of queries of all heads that share keys. */
#include "emit.h"
#include "definitions.h"
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

bool emit_any_positions(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (graph_has(c[k]->graph, EXPR_START)) return true;
    return false;
}

/* Returns whether the loops visit a query in the chunk of its position. So it must not be after the last key. */
static bool visits_by_position(const struct compilation *c)
{
    struct roles roles;
    return c->program.linear && graph_has(c->graph, EXPR_START) && !roles_of(c->graph, 0, &roles) && roles.chunk >= 0;
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

/* Returns the number of versions at the beginning of the list that have the same target. */
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
    /* ATTN_EMULATE_TILES replaces only the instructions of matrix units. */
    if (*guard && target_has(c[k]->target, TARGET_MATRIX_UNITS))
        return arena_printf(c[k]->graph->module->arena, "%s || defined(ATTN_EMULATE_TILES)", guard);
    bool emulated = false;
    unsigned excluded = 1U << ANY_ARCHITECTURE | 1U << c[k]->target->architecture;
    for (int n = 0; n < k; n++) {
        const struct target *better = c[n]->target;
        if (target_has(better, TARGET_MATRIX_UNITS) && target_has(c[k]->target, TARGET_BF16_PRODUCTS) && !emulated) {
            guard = arena_printf(c[k]->graph->module->arena, "%s%s!defined(ATTN_EMULATE_TILES)", guard,
                                 *guard ? " && " : "");
            emulated = true;
        }
        if (better == c[k]->target || *better->supported || excluded >> better->architecture & 1) continue;
        guard = arena_printf(c[k]->graph->module->arena, "%s%s!%s", guard, *guard ? " && " : "", better->guard);
        excluded |= 1U << better->architecture;
    }
    return guard;
}

/* The printer's state for a function that chooses among versions. */
struct version_choice {
    const struct emitted_file *e;
    bool phases, apart, heads;            /* heads: a target has a version for few queries of many heads */
    const char *wanted[MAX_COMPILATIONS]; /* the conditions of wanted_0, wanted_1, … */
    int count;
};

/* Returns C that tests whether the caller wants an output of this part of backward. Returns NULL if the part always
   runs. */
static const char *wanted_outputs(const struct kernel_arrays *arrays, const struct compilation *c)
{
    struct arena *arena = c->graph->module->arena;
    const char *condition = NULL;
    if (!program_outputs_gradients(&c->program)) return NULL;
    for (int o = 0; o < c->graph->outputs; o++)
        condition = arena_printf(arena, "%s%scall->%s", condition ? condition : "", condition ? " || " : "",
                                 emit_identifier(arena, arrays, c->graph->output[o].name));
    return condition;
}

/* Returns the number N of the function wanted_N that tests the condition. */
static int wanted_function(struct version_choice *x, const char *condition)
{
    int k = 0;
    while (k < x->count && strcmp(x->wanted[k], condition) != 0) k++;
    if (k == x->count) x->wanted[x->count++] = condition;
    return k;
}

/* Prints the statement that returns a version. */
static void returned(struct version_choice *x, const struct compilation *c, const struct compilation *fold,
                     int cooperative, struct text *out)
{
    const struct loops *l = c->loops;
    const char *const wanted = wanted_outputs(x->e->p->arrays, c);
    text_add(out, "return (struct version){.%s = %s, .tile = %lld, .own = %lld", emit_in_phases(l) ? "head" : "rows",
             emit_function(c, emit_form(c)), (long long)emit_tasks_of(l),
             (long long)(c->state.few_tokens && c->state.few_tokens->loops->workspace > l->workspace
                             ? c->state.few_tokens->loops->workspace
                             : l->workspace));
    if (c->program.linear && c->separated.features)
        text_add(out, ", .of_token = %lld", (long long)(c->separated.features * (c->spec->value_dim + 1)));
    else
        text_add(out, ", .of_pair = %lld", (long long)(c->spec->head_dim + c->spec->value_dim));
    if (visits_by_position(c)) text_add(out, ", .in_keys = 1");
    if (emit_own_sums(c)) text_add(out, ", .own_sums = 1");
    if (program_saves_rows(&c->program)) text_add(out, ", .saves = 1");
    if (wanted) text_add(out, ", .wanted = wanted_%d", wanted_function(x, wanted));
    if (emit_tasks_of_keys(l))
        text_add(out, ", .of_keys = %s", emit_tasks_over(l, SIZE_MEMBERS) ? "OF_QUERY_HEAD" : "OF_KEY_HEAD");
    const int64_t units = emit_units_of(l, program_is_backward(&c->program));
    if (units)
        text_add(out, ", .units = %lld, .unit_heads = %d", (long long)units,
                 emit_tasks_over(l, SIZE_MEMBERS)    ? 2
                 : emit_tasks_over(l, SIZE_KV_HEADS) ? 1
                                                     : 0);
    if (units && emit_tasks_over(l, SIZE_BATCH)) text_add(out, ", .unit_batch = 1");
    if (emit_in_order(l)) text_add(out, ", .in_order = 1");
    int64_t offset[MAX_REMEMBERED];
    const int remembered = emit_remembered_tiles(l, offset);
    if (remembered) text_add(out, ", .remembered = %d", remembered);
    for (int k = 0; k < remembered; k++)
        text_add(out, "%s%lld%s", k ? ", " : ", .remembers = {", (long long)offset[k], k + 1 < remembered ? "" : "}");
    if (x->apart) text_add(out, ", .apart = %lld", (long long)emit_tasks_apart(l));
    if (emit_in_phases(l))
        text_add(out, ", .shared = %lld, .slot = %lld, .slots = %lld", (long long)l->shared, (long long)l->slot,
                 (long long)loops_slots(l));
    if (x->phases && emit_in_phases(l)) text_add(out, ", .together = %d", cooperative);
    struct common_keys common;
    if (c->state.common && common_keys_of(l, &common))
        text_add(out, ", .common = %s, .common_rows = %d, .common_chunk = %lld, .common_row = %lld",
                 emit_function(c, arena_printf(c->graph->module->arena, "%s_common", emit_form(c))), MAX_FEW_ROWS,
                 (long long)common.chunk, (long long)common.row);
    if (c->state.common && common_keys_of(l, &common) && common.keys)
        text_add(out, ", .common_range = %s",
                 emit_function(c, arena_printf(c->graph->module->arena, "%s_range", emit_form(c))));
    if (c->program.few && emit_param_of_ids(x->e->p->arrays)) text_add(out, ", .any_order = 1");
    if (c->program.by_heads) text_add(out, ", .by_heads = 1");
    if (emit_carries_outer(x->e->p, c))
        text_add(out, ", .outer = %s, .outer_bytes = %lld%s", emit_sums_later(c) ? "OUTER_LATER" : "OUTER_EARLIER",
                 (long long)emit_outer_bytes(l), emit_outer_results(x->e->p, c) ? ", .outer_results = 1" : "");
    const char *const modes = program_is_backward(&c->program) ? emit_outer_modes(x->e->p, c) : "";
    if (*modes) text_add(out, ", .adds = %s", modes);
    if ((x->e->p->outer_chunk || emit_decay_parts(x->e->p)) && c->program.of_terms) text_add(out, ", .of_terms = 1");
    if (l->kept) text_add(out, ", .chunk = %lld, .kept = %lld", (long long)c->state.chunk, (long long)l->kept);
    if (fold)
        text_add(out, ", .join = %s, .join_work = %lld", emit_function(fold, emit_form(fold)),
                 (long long)fold->loops->workspace);
    text_add(out, "};\n");
}

/* Prints the return statements for the versions of one target, from the longest sequences to the shortest. The code
   for few queries comes before the version that it belongs to. */
static void returns(struct version_choice *x, const struct version *v, int count, int deeper, struct text *out)
{
    for (int n = count - 1; n >= 0; n--) {
        if (v[n].heads) {
            text_add(out, "%*s    if (", deeper, "");
            if (n > 0) text_add(out, "n_k >= %lld && ", (long long)v[n].from);
            text_add(out, "rows == MANY_HEADS) ");
            returned(x, v[n].heads, NULL, 1, out);
        }
        if (v[n].few) {
            text_add(out, "%*s    if (", deeper, "");
            if (n > 0) text_add(out, "n_k >= %lld && ", (long long)v[n].from);
            if (x->heads) text_add(out, "rows != MANY_HEADS && ");
            text_add(out, "rows <= %lld", (long long)v[n].few_rows);
            if (!v[n].c->program.linear)
                text_add(out, " && few_pay(n_q, n_k, %d)",
                         v[n].target->vector_bytes / dtype_bytes(dtype_of_sums(v[n].c->spec->dtype)));
            text_add(out, ") ");
            returned(x, v[n].few, NULL, 1, out);
        }
        text_add(out, "%*s    ", deeper, "");
        if (n > 0) text_add(out, "if (n_k >= %lld) ", (long long)v[n].from);
        if (v[n].c)
            returned(x, v[n].c, v[n].fold, v[n].cooperative, out);
        else
            text_add(out, "return (struct version){.idle = 1};\n");
    }
}

/* Prints the body of a function that chooses among versions. If no version fits, the function runs `otherwise` and
   returns an empty version. */
static void choose(struct version_choice *x, const struct version *v, int versions, const char *otherwise,
                   struct text *out)
{
    const struct emitted_file *const e = x->e;
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
        returns(x, v + k, count, *m->supported ? 4 : 0, out);
        if (*m->supported && several) text_add(out, "    }\n");
        if (*guard) text_add(out, "#endif\n");
        certain = emit_certain_target(m);
        compilation += emit_same_target(e->c + compilation, e->compilations - compilation);
    }
    if (!certain)
        text_add(out, "%s    return (struct version){.tile = 1%s};\n", otherwise, x->apart ? ", .apart = 1" : "");
}

/* Returns whether a target has a version for few queries of many heads. */
static bool emit_any_heads(const struct emitted_file *e)
{
    bool any = false;
    for (int k = 0; k < e->versions; k++) any |= e->version[k].heads != NULL;
    return any;
}

static struct version_choice choice_in(const struct emitted_file *e)
{
    return (struct version_choice){.e = e,
                                   .phases = emit_any_in_phases(e->c, e->compilations),
                                   .apart = emit_any_apart(e->c, e->compilations),
                                   .heads = emit_any_heads(e)};
}

/* Returns whether a target has versions for few queries. Sets *of_all to whether every target has such versions. */
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

/* Returns whether the choice for every target calls few_pay. */
static bool all_compare_queries(const struct version *v, int versions)
{
    bool all = true;
    for (int k = 0, count; k < versions; k += count) {
        bool of_target = false;
        count = same_versions(v + k, versions - k);
        for (int n = k; n < k + count; n++) of_target |= v[n].few && !v[n].c->program.linear;
        all &= of_target;
    }
    return all;
}

/* Prints the body of a function that chooses a version by n_k. If `has_rows`, it also chooses by the number of rows
   and n_q. */
static void choose_by_size(const struct emitted_file *e, const struct version *v, int versions, bool has_rows,
                           struct text *made)
{
    bool used = true, of_all;
    for (int k = 0, count; k < versions; k += count) {
        count = same_versions(v + k, versions - k);
        used &= count > 1;
    }
    any_few(v, versions, &of_all);
    /* A (void) line prevents a warning about an unused parameter. */
    const bool compared = all_compare_queries(v, versions);
    const char *const keys = "    (void)n_k;\n", *const rows = has_rows ? "    (void)rows;\n" : "",
                      *const queries = has_rows ? "    (void)n_q;\n" : "";
    struct text otherwise = {0};
    text_add(made, "%s%s%s", used ? "" : keys, of_all ? "" : rows, compared ? "" : queries);
    text_add(&otherwise, "%s%s%s", used ? keys : "", of_all ? rows : "", compared ? queries : "");
    struct version_choice x = choice_in(e);
    choose(&x, v, versions, otherwise.data ? otherwise.data : "", made);
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
    template_set_number(t, "BY_HEADS", emit_any_heads(e));
    template_set_number(t, "MIN_HEADS", MANY_HEADS);
    struct text made = {0};
    choose_by_size(e, e->version, e->versions, few, &made);
    template_set_text(t, "CHOICE", &made);
}

/* Copies the versions for the file's targets to `to` and returns their number. */
static int emitted_versions(const struct emitted_file *e, const struct versions *list, struct version *to)
{
    int count = 0;
    for (const struct version *v = NULL; versions_next(list, &v);)
        for (int n = 0; n < e->versions; n++)
            if (e->version[n].target == v->target) {
                to[count++] = *v;
                break;
            }
    return count;
}

/* Sets the template name `name` to the body of a function that chooses a version by target. */
static void choose_by_target(const struct emitted_file *e, const struct versions *of, const char *name,
                             struct template_names *t)
{
    struct version v[MAX_VERSIONS];
    struct text made = {0};
    struct version_choice x = choice_in(e);
    choose(&x, v, emitted_versions(e, of, v), "", &made);
    template_set_text(t, name, &made);
}

void emit_choice_of_first(const struct emitted_file *e, struct template_names *t)
{
    if (e->p->of[STEP_TERMS].count) choose_by_target(e, &e->p->of[STEP_TERMS], "TERMS_CHOICE", t);
    if (e->p->of[STEP_CORRECT].count) choose_by_target(e, &e->p->of[STEP_CORRECT], "CORRECT_CHOICE", t);
    if (e->p->of[STEP_APPEND].count) choose_by_target(e, &e->p->of[STEP_APPEND], "APPEND_CHOICE", t);
}

void emit_choice_of_extend(const struct emitted_file *e, struct template_names *t)
{
    choose_by_target(e, &e->p->of[STEP_EXTEND], "EXTEND_CHOICE", t);
    choose_by_target(e, &e->p->of[STEP_FOLDABLE], "FOLDABLE_CHOICE", t);
}

void emit_choice_of_attending(const struct emitted_file *e, struct template_names *t)
{
    struct version v[MAX_COMPILATIONS];
    struct text attends = {0}, prepares = {0};
    bool of_all;
    choose_by_size(e, v, emitted_versions(e, &e->p->of[STEP_ATTEND], v), any_few(e->version, e->versions, &of_all),
                   &attends);
    struct version_choice x = choice_in(e);
    if (e->p->of[STEP_PREPARE].count) choose(&x, v, emitted_versions(e, &e->p->of[STEP_PREPARE], v), "", &prepares);
    template_set_text(t, "ATTEND_CHOICE", &attends);
    template_set_text(t, "PREPARE_CHOICE", &prepares);
}

void emit_choice_of_parts(const struct emitted_file *e, struct template_names *t)
{
    struct version v[MAX_COMPILATIONS];
    struct text made = {0}, wanted = {0};
    struct version_choice x = choice_in(e);
    bool idle = false, by_length = false;
    for (int part = 0; part < e->p->parts; part++) {
        int versions = 0;
        for (int k = 0; k < e->p->of[STEP_BACKWARD].count; k++) {
            const struct version *b = &e->p->of[STEP_BACKWARD].version[k];
            bool here = false; /* true if the file has code for the target */
            for (int n = 0; n < e->versions; n++) here |= e->version[n].target == b->target;
            if (b->part == part && here) v[versions++] = *b;
        }
        for (int k = 0; k < versions; k++) {
            idle |= !v[k].c;
            by_length |= k > 0 && v[k].target == v[k - 1].target;
        }
        if (part + 1 < e->p->parts) text_add(&made, "    case %d:\n", part);
        if (part + 1 == e->p->parts) text_add(&made, "    default:\n");
        choose(&x, v, versions, "", &made);
    }
    for (int k = 0; k < x.count; k++)
        text_add(&wanted, "INLINE int wanted_%d(const struct call *call) { return %s%s; }\n", k, x.wanted[k],
                 strchr(x.wanted[k], ' ') ? "" : " != NULL");
    template_set_text(t, "WANTED_FUNCTIONS", &wanted);
    template_set_number(t, "IDLE", idle);
    template_set_number(t, "PARTS_BY_LENGTH", by_length);
    template_set_text(t, "PART_CHOICES", &made);
}
