/* Sets the names of templates for gradients: arrays that forward and parts of backward leave for later parts. */
#include "entry.h"
#include "definitions.h"
#include "../analysis/analysis.h"
#include "../support/support.h"

#include <string.h>

/* Returns the members of struct call that have a number per query: saved_0, … of forward and row_0, … of backward. */
static const char *row_members(const struct emitted_file *e, struct arena *arena)
{
    const char *members = "", *real = emit_real(e->p->spec->dtype);
    for (int k = 0; k < e->p->saved; k++)
        members = arena_printf(arena, "%s%s%s *saved_%d; /* [B,H,n_q], or NULL */", members, *members ? "\n    " : "",
                               real, k);
    for (int k = 0; k < e->p->row_sums; k++)
        members = arena_printf(arena, "%s%s%s *row_%d; /* [B,H,n_q] */", members, *members ? "\n    " : "", real, k);
    return members;
}

/* Returns statements that set NAME_0, NAME_1, … to consecutive arrays, beginning at `from`. */
static const char *row_values(const struct emitted_file *e, struct arena *arena, const char *name, int count,
                              const char *from)
{
    const char *values = "", *real = emit_real(e->p->spec->dtype);
    for (int k = 0; k < count; k++)
        values = arena_printf(arena, "%s%s    call->%s_%d = (%s *)(void *)(%s + %d * row_bytes(&call->p));", values,
                              k ? "\n" : "", name, k, real, from, k);
    return values;
}

/* Returns the part of backward whose tiles add to shared sums in order, or NULL. */
static const struct compilation *ordered_part(const struct emitted_file *e)
{
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);)
        if (emit_in_order(v->c->loops)) return v->c;
    return NULL;
}

/* The arrays of shared sums of an ordered part:
   - row: the sum of their row lengths, in elements
   - members: C that declares them in struct call
   - values: C that sets these members */
struct sums {
    int64_t row;
    const char *members, *values;
};

static struct sums sums_of(const struct emitted_file *e, struct arena *arena)
{
    const struct compilation *c = ordered_part(e);
    struct sums s = {0, "", ""};
    for (int a = 0; c && a < c->loops->arrays; a++) {
        const struct array *array = &c->loops->array[a];
        if (!array->sums) continue;
        const long long row = (long long)emit_row_of_sums(c->loops->module, array);
        const char *name = emit_identifier(arena, e->p->arrays, array->name), *real = emit_real(e->p->spec->dtype);
        s.members = arena_printf(arena, "%s\n    %s *%s; /* [B,H,n_q,%lld], or NULL */", s.members, real, name, row);
        s.values = arena_printf(arena,
                                "%s%s    call->%s = (%s *)(void *)(sums + (size_t)(call->p.batch * call->p.heads * "
                                "call->p.n_q) * %lld * sizeof(%s));",
                                s.values, *s.values ? "\n" : "", name, real, (long long)s.row, real);
        s.row += row;
    }
    return s;
}

/* Returns a C condition: the caller wants an output that is computed from the shared sums. */
static const char *sums_wanted(const struct emitted_file *e, struct arena *arena)
{
    const char *when = "";
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);) {
        const struct compilation *const c = v->c;
        for (int o = 0; program_takes_sums(&c->program) && o < c->graph->outputs; o++)
            when = emit_or_name(
                arena, when,
                arena_printf(arena, "call.%s", emit_identifier(arena, e->p->arrays, c->graph->output[o].name)));
    }
    return when;
}

bool emit_decay_parts(const struct emission *p)
{
    return p->of[STEP_TERMS].count && p->spec->emit & EMIT_STATISTICS && p->distances.period > 0 && !p->outer_chunk;
}

void emit_set_prefix_sums(struct template_names *t, const struct emitted_file *e)
{
    const bool decay_parts = emit_decay_parts(e->p);
    template_set_number(t, "DECAY_PARTS", decay_parts);
    template_set_number(t, "HAS_ADDS", decay_parts || e->p->outer_chunk > 0);
    template_set(t, "DECAY_PARAMS", arena_printf(t->arena, "UINT64_C(0x%llx)", (unsigned long long)e->p->decay_params));
    const int sums = kernel_array_find(e->p->arrays, prefix_array_name(PREFIX_OF_KEY));
    template_set_number(t, "PREFIX_SUMS", e->p->of[STEP_TERMS].count);
    template_set_number(t, "F64", e->p->spec->dtype == DTYPE_F64);
    template_set_number(t, "CORRECTED", e->p->of[STEP_CORRECT].count);
    if (e->p->of[STEP_TERMS].count + e->p->of[STEP_CORRECT].count)
        template_set(t, "REAL", emit_real(e->p->spec->dtype));
    if (!e->p->of[STEP_TERMS].count) template_set_number(t, "PREFIX_GRADIENTS", 0);
    if (!e->p->of[STEP_TERMS].count) return;
    const char *const wanted = emit_prefix_wanted(e, t->arena);
    template_set_number(t, "PREFIX_GRADIENTS", *wanted != 0);
    template_set(t, "PREFIX_WANTED", wanted);
    const int64_t row = array_row_elements(&e->p->arrays->array[sums]);
    template_set_number(t, "PREFIX_ROW", row);
    template_set_number(t, "SUM_TOKENS", row > 1 ? 512 : 4096); /* This limits the workspace of a call with a state. */
}

void emit_set_backward(struct template_names *t, const struct emitted_file *e)
{
    const bool totals = emit_has_totals(e, t->arena);
    template_set_number(t, "BACKWARD", e->p->parts > 0);
    const bool tiled = emit_has_tiled(e->p->arrays), first = e->p->of[STEP_TERMS].count || e->p->of[STEP_CORRECT].count;
    template_set_number(t, "SHARED", first || tiled);
    template_set_number(t, "TASKS_OF_KEYS", e->p->parts > 0 || first);
    bool of_batch = false;
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);)
        of_batch |= emit_units_of(v->c->loops, program_is_backward(&v->c->program)) &&
                    emit_tasks_over(v->c->loops, SIZE_BATCH);
    template_set_number(t, "TOTALS", totals);
    template_set_number(t, "UNITS_OF_BATCH", of_batch);
    if (!e->p->parts) template_set_number(t, "IDLE", 0);
    const struct sums sums = sums_of(e, t->arena);
    template_set(t, "ROW_MEMBERS",
                 arena_printf(t->arena, "%s%s%s", row_members(e, t->arena),
                              totals ? emit_total_members(e, t->arena) : "", sums.members));
    template_set_number(t, "IN_ORDER", sums.row > 0);
    if (totals) {
        template_set(t, "TOTAL_VALUES", emit_total_values(e, t->arena));
        template_set(t, "LEFT_VALUES", emit_left_values(e, t->arena));
    }
    if (!e->p->parts) return;
    emit_set_arrays(t, e->p->arrays, ENTRY_BACKWARD);
    template_set_number(t, "SAVED_COUNT", e->p->saved);
    template_set_number(t, "SOLUTION", e->p->saves_solution);
    template_set_number(t, "ROW_SUM_COUNT", e->p->row_sums);
    template_set_number(t, "PARTS", e->p->parts);
    template_set(t, "PART_LENGTHS",
                 emit_lengths(e->p->of[STEP_BACKWARD].version, e->p->of[STEP_BACKWARD].count, t->arena));
    template_set(t, "SAVED_VALUES", row_values(e, t->arena, "saved", e->p->saved, "saved"));
    template_set(t, "ROW_SUM_VALUES", row_values(e, t->arena, "row", e->p->row_sums, "rows"));
    template_set(t, "PART_CALLS", emit_part_calls(e, t->arena));
    template_set_number(t, "ROW_OF_SUMS", sums.row);
    template_set(t, "SUMS_VALUES", sums.values);
    template_set(t, "SUMS_WANTED", sums_wanted(e, t->arena));
    template_set(t, "REAL", emit_real(e->p->spec->dtype));
}

const char *emit_lengths(const struct version *v, int versions, struct arena *arena)
{
    const char *from = "0";
    for (int k = 0; k < versions; k++) {
        bool before = v[k].from == 0;
        for (int n = 0; n < k; n++) before |= v[n].from == v[k].from;
        if (!before) from = arena_printf(arena, "%s, %lld", from, (long long)v[k].from);
    }
    return from;
}
