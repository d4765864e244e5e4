/* Prints the beginning of a file, and the entry points, from templates in emit/embedded/. For this, it sets the
   templates' names for the kernel and its arrays. */
#include "entry.h"
#include "definitions.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

/* the texts of kernel.c, entry.c and state.c in emit/embedded/ */
extern const char kernel_preamble[], kernel_entry[], kernel_state[];

/* Sets the template's names for outputs that are members of struct attn_problem. Calls with a state advance their
   pointers. */
static void set_results(struct template_names *t, const struct emitted_file *e)
{
    const struct kernel_arrays *const arrays = e->p->arrays;
    const char *sequences = "", *rows = "";
    int count = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (a->place != PLACE_PROBLEM) continue;
        const char *const end = count++ ? "\n" : "";
        sequences = arena_printf(t->arena, "%s%s    if (call->%s) call->%s += before_sequence(&call->p, &call->%s, b);",
                                 sequences, end, a->member, a->member, a->strides);
        rows = arena_printf(t->arena, "%s%s    if (call->%s) call->%s += m * call->%s.row;", rows, end, a->member,
                            a->member, a->strides);
    }
    template_set_number(t, "RESULTS", count);
    if (!count) return;
    static const char *const kind[] = {[STATISTICS_ABSENT] = "ATTN_NO_STATISTICS",
                                       [STATISTICS_LOGARITHMS] = "ATTN_LOGARITHMS",
                                       [STATISTICS_DENOMINATORS] = "ATTN_DENOMINATORS",
                                       [STATISTICS_UNDIVIDED] = "ATTN_UNDIVIDED"};
    template_set(t, "STATISTICS", kind[spec_statistics(e->p->spec)]);
    template_set(t, "OF_NO_KEYS", spec_statistics(e->p->spec) == STATISTICS_LOGARITHMS ? "-INFINITY" : "0");
    template_set(t, "RESULTS_OF_SEQUENCES", sequences);
    template_set(t, "RESULTS_OF_ROWS", rows);
}

static const char *distance(struct arena *arena, int64_t n)
{
    return n == INT64_MAX ? "INT64_MAX" : arena_printf(arena, "%lld", (long long)n);
}

static void set_distances(struct template_names *t, const struct distances *d)
{
    template_set(t, "BEFORE", distance(t->arena, d->before));
    template_set(t, "AFTER", distance(t->arena, d->after));
    template_set(t, "PERIOD", distance(t->arena, d->period));
    template_set(t, "OPEN_KEYS", distance(t->arena, d->open_keys));
    template_set(t, "END_OF_KEYS", distance(t->arena, d->end_of_keys));
    template_set_number(t, "NAMES_HEADS", d->names_heads);
    template_set_number(t, "NAMES_SEQUENCES", d->names_sequences);
    template_set(t, "SAVED_POWER", distance(t->arena, d->saved_power));
}

static void set_positions(struct template_names *t, const struct emitted_file *e)
{
    const bool positions = emit_any_positions(e->c, e->compilations);
    template_set_number(t, "POSITIONS", positions);
    const bool outer = e->p->outer_chunk > 0;
    const char *const of_call = positions ? "keys_of_version(&call.p)" : "call.p.n_k",
                      *const of_part = positions ? "keys_of_version(&call->p)" : "call->p.n_k";
    /* the parts that read outer sums are those for any number of keys */
    const bool sums = e->p->sums_keys;
    template_set(t, "VERSION_KEYS", of_call);
    template_set(t, "FORWARD_KEYS", sums ? "problem->earlier_sums ? INT64_MAX : problem->n_k" : "problem->n_k");
    template_set_number(t, "KEY_SUMS", sums);
    template_set_number(t, "WHOLE", e->p->sums_whole);
    template_set(t, "GRADIENT_KEYS",
                 outer ? arena_printf(t->arena, "call.p.earlier_sums ? INT64_MAX : %s", of_call) : of_call);
    template_set(t, "PART_KEYS",
                 outer ? arena_printf(t->arena, "call->p.earlier_sums ? INT64_MAX : %s", of_part) : of_part);
    template_set(t, "WORK_KEYS", outer ? "problem->earlier_sums ? INT64_MAX : problem->n_k" : "problem->n_k");
    template_set(t, "TAKES_SAVED", outer ? "problem->saved && !problem->earlier_sums" : "problem->saved");
    template_set_number(t, "OUTER", outer);
    template_set_number(t, "OUTER_CHUNK", e->p->outer_chunk);
    template_set_number(t, "OUTER_ADDS", emit_outer_adds(e->p));
}

/* Sets the template's names for the types of rows in memory. */
static void set_storage(struct template_names *t, const struct spec *spec)
{
    const enum dtype type[] = {spec->dtype, spec_type_of_keys(spec), spec_type_of_values(spec)};
    template_set_number(t, "STORES", spec_has_storage(spec));
    template_set_number(t, "CHECKS_VALUES",
                        spec->values_are_keys && (!spec_has_storage(spec) || spec->emit & EMIT_DECODE));
    template_set(t, "CHECK_GIVEN",
                 spec_has_storage(spec)  ? "check_stored"
                 : spec->values_are_keys ? "check_problem"
                                         : "attn_problem_check");
    template_set(t, "KEY_DTYPE", emit_runtime_dtype(type[1]));
    template_set(t, "VALUE_DTYPE", emit_runtime_dtype(type[2]));
    template_set_number(t, "KEY_ROW", dtype_row_units(type[1], spec->head_dim));
    template_set_number(t, "VALUE_ROW", dtype_row_units(type[2], spec->value_dim));
}

static struct template_names names_of(const struct emitted_file *e)
{
    const struct compilation *c = e->c[0];
    struct template_names t = {.arena = c->graph->module->arena};
    template_set(&t, "SPEC_", arena_printf(t.arena, "%s_", c->spec->name));
    template_set_number(&t, "HEAD_DIM", c->spec->head_dim);
    template_set_number(&t, "VALUE_DIM", c->spec->value_dim);
    template_set_number(&t, "SAME_HEADS", c->spec->rate != NULL);
    template_set_number(&t, "MAX_LENGTH", c->spec->max_length);
    template_set_number(&t, "VALUES_ARE_KEYS", c->spec->values_are_keys);
    template_set_number(&t, "IN_PARTS", c->spec->in_parts);
    template_set_number(&t, "HAS_SINK",
                        c->spec->emit & EMIT_STATISTICS &&
                            (c->spec->normalize == NORMALIZE_SINK || c->spec->normalize == NORMALIZE_SUM_PLUS));
    set_distances(&t, &e->p->distances);
    template_set(&t, "CHECK_PROBLEM", c->spec->values_are_keys ? "check_problem" : "attn_problem_check");
    template_set_number(&t, "SEEDED", c->spec->dropout > 0 && c->spec->seed);
    template_set(&t, "SEED_OF_SPEC", arena_printf(t.arena, "UINT64_C(%llu)", (unsigned long long)c->spec->seed));
    template_set_number(&t, "SOMETIMES_SLOWER", emit_any_slower(e->c, e->compilations));
    template_set_number(&t, "PHASES", emit_any_in_phases(e->c, e->compilations));
    template_set(&t, "FOLD_GROUPS", arena_printf(t.arena, "%d", FOLD_GROUPS));
    template_set_number(&t, "WAITS", emit_any_waits(e->c, e->compilations));
    template_set_number(&t, "FAR_QUERIES", emit_any_apart(e->c, e->compilations));
    template_set_number(&t, "REMEMBERS", emit_remembered_rank(e->c, e->compilations) ? MAX_REMEMBERED : 0);
    template_set_number(&t, "SHARES", !c->spec->values_are_keys);
    template_set(&t, "STORED", emit_stored(c->spec->dtype));
    template_set_number(&t, "DELTA", c->spec->rate != NULL);
    const bool converts = c->spec->dtype != dtype_of_sums(c->spec->dtype);
    template_set(&t, "WIDENED", converts ? arena_printf(t.arena, "widened_%s", dtype_name(c->spec->dtype)) : "");
    template_set(&t, "NARROWED", converts ? arena_printf(t.arena, "narrowed_%s", dtype_name(c->spec->dtype)) : "");
    set_storage(&t, c->spec);
    template_set_number(&t, "BF16", c->spec->dtype == DTYPE_BF16);
    template_set_number(&t, "F16", c->spec->dtype == DTYPE_F16);
    template_set(&t, "ARRAY_MEMBERS", emit_call_members(t.arena, e->p, e->p->parts > 0));
    emit_set_arrays(&t, e->p->arrays, ENTRY_FORWARD);
    set_positions(&t, e);
    emit_set_params(&t, e);
    emit_set_tiles(&t, e->p->arrays);
    emit_set_prefix_sums(&t, e);
    emit_set_backward(&t, e);
    emit_set_state(&t, e);
    set_results(&t, e);
    return t;
}

void emit_preamble(const struct emitted_file *e, struct text *out)
{
    const struct template_names t = names_of(e);
    text_add(out, "%s", template_fill(&t, kernel_preamble));
    if (emit_any_fades(e->c, e->compilations))
        text_add(out, "#define REAL %s\n#include <attnrt/kernel/fades.h>\n#undef REAL\n",
                 emit_real(e->c[0]->spec->dtype));
    text_add(out, "\n");
}

void emit_entry_points(const struct emitted_file *e, struct text *out)
{
    const struct compilation *c = e->c[0];
    struct template_names t = names_of(e);
    struct text params = {0};
    emit_params_functions(e->p, &params);
    emit_choice(e, &t);
    emit_choice_of_first(e, &t);
    if (e->p->parts) emit_choice_of_parts(e, &t);
    template_set_text(&t, "PARAMS_FUNCTIONS", &params);
    bool several = emit_by_length(e->version, e->versions);
    for (int k = 0; k < e->versions; k++) several |= e->version[k].few != NULL;
    template_set_number(&t, "SEVERAL", several);
    template_set_number(&t, "MAX_FEW_QUERIES", MAX_FEW_QUERIES);
    template_set(&t, "LENGTHS", emit_lengths(e->version, e->versions, t.arena));
    template_set(&t, "NAME_AS_TEXT", arena_printf(t.arena, "\"%s\"", c->spec->name));
    template_set(&t, "VERSION_AS_TEXT", "\"" ATTNC_VERSION "\"");
    template_set(&t, "DTYPE", emit_runtime_dtype(c->spec->dtype));
    if (e->p->of[STEP_EXTEND].count) emit_choice_of_extend(e, &t);
    if (e->p->of[STEP_ATTEND].count) emit_choice_of_attending(e, &t);
    if (c->spec->emit & EMIT_DECODE) template_set(&t, "STATE_FUNCTIONS", template_fill(&t, kernel_state));
    text_add(out, "%s", template_fill(&t, kernel_entry));
}
