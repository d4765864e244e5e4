/* Prints the table of programs of each target, for runtime/call/program.c, which chooses one. */
#include "tables.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

#include <string.h>

/* Returns whether the loops visit a query in the chunk of its position. So it must not be after the last key. */
static bool visits_by_position(const struct compilation *c)
{
    struct roles roles;
    return c->program.linear && graph_has(c->graph, EXPR_START) && !roles_of(c->graph, 0, &roles) && roles.chunk >= 0;
}

/* Returns C for the list of gradients of which a call has to want one, so that the part of backward runs. Returns NULL
   if the part always runs. */
static const char *wanted_outputs(const struct emitted_file *e, const struct table_arrays *all,
                                  const struct compilation *c)
{
    struct arena *const arena = c->graph->module->arena;
    bool *const wanted = arena_alloc(arena, (size_t)all->count * sizeof *wanted);
    if (!program_outputs_gradients(&c->program) && !program_weighs(&c->program)) return NULL;
    for (int o = 0; o < c->graph->outputs; o++) {
        const int array = table_array_find(all, emit_identifier(arena, e->p->arrays, c->graph->output[o].name));
        if (array >= 0) wanted[array] = true;
    }
    return table_list(arena, all, wanted);
}

/* Prints the members about the tasks of the loops. */
static void tasks(const struct compilation *c, struct text *out)
{
    const struct loops *const l = c->loops;
    const int64_t units = emit_units_of(l, program_is_backward(&c->program) || program_selects(&c->program)),
                  apart = emit_tasks_apart(l);
    int64_t offset[MAX_REMEMBERED];
    const int remembered = emit_remembered_tiles(l, offset);
    if (emit_tasks_of_keys(l))
        text_add(out, ", .of_keys = %s", emit_tasks_over(l, SIZE_MEMBERS) ? "OF_QUERY_HEAD" : "OF_KEY_HEAD");
    if (units) text_add(out, ", .units = %lld", (long long)units);
    if (units && (emit_tasks_over(l, SIZE_MEMBERS) || emit_tasks_over(l, SIZE_KV_HEADS)))
        text_add(out, ", .unit_heads = %d", emit_tasks_over(l, SIZE_MEMBERS) ? 2 : 1);
    if (units && emit_tasks_over(l, SIZE_BATCH)) text_add(out, ", .unit_batch = 1");
    if (emit_in_order(l)) text_add(out, ", .in_order = 1");
    if (remembered) text_add(out, ", .remembered = %d", remembered);
    for (int k = 0; k < remembered; k++)
        text_add(out, "%s%lld%s", k ? ", " : ", .remembers = {", (long long)offset[k], k + 1 < remembered ? "" : "}");
    if (apart > 1) text_add(out, ", .apart = %lld", (long long)apart);
    if (emit_in_phases(l))
        text_add(out, ", .shared = %lld, .slot = %lld, .slots = %lld", (long long)l->shared, (long long)l->slot,
                 (long long)loops_slots(l));
}

/* Prints the members about sums over keys that several sequences share. */
static void common(const struct compilation *c, struct text *out)
{
    struct arena *const arena = c->graph->module->arena;
    struct common_keys keys;
    if (!c->state.common || !common_keys_of(c->loops, &keys)) return;
    text_add(out, ", .common = %s, .common_rows = %d, .common_chunk = %lld, .common_row = %lld",
             emit_function(c, arena_printf(arena, "%s_common", emit_form(c))), MAX_FEW_ROWS, (long long)keys.chunk,
             (long long)keys.row);
    if (keys.keys)
        text_add(out, ", .common_range = %s", emit_function(c, arena_printf(arena, "%s_range", emit_form(c))));
}

/* Prints the members about sums over the tokens before and after those of a call. */
static void outer(const struct emission *p, const struct compilation *c, struct text *out)
{
    if (emit_carries_outer(p, c))
        text_add(out, ", .outer = %s, .outer_bytes = %lld%s", emit_sums_later(c) ? "OUTER_LATER" : "OUTER_EARLIER",
                 (long long)emit_outer_bytes(c->loops), emit_outer_results(p, c) ? ", .outer_results = 1" : "");
    const char *const modes = program_is_backward(&c->program) ? emit_outer_modes(p, c) : "";
    if (*modes) text_add(out, ", .adds = %s", modes);
}

/* The place of a program in the table. */
struct place {
    const char *role;
    const char *form;
    const struct version *v;
    bool saved_again, solution_again, sums_slices, of_terms; /* as in struct program of the runtime */
    bool first;                                              /* no version of the target is for fewer keys */
};

/* Prints the members that say when the program runs. */
static void begin_row(const struct place *at, struct text *out)
{
    text_add(out, "    {.role = %s", at->role);
    if (at->form) text_add(out, ", .form = %s", at->form);
    if (at->v->part) text_add(out, ", .part = %d", at->v->part);
    if (!at->first) text_add(out, ", .from = %lld", (long long)at->v->from);
    if (at->saved_again) text_add(out, ", .saved_again = 1");
    if (at->solution_again) text_add(out, ", .solution_again = 1");
    if (at->sums_slices) text_add(out, ", .sums_slices = 1");
    if (at->of_terms) text_add(out, ", .of_terms = 1");
}

/* Returns whether array a compensates sums of another one. */
static bool compensates(const struct loops *l, int a)
{
    bool any = false;
    const struct stmt *s;
    for (struct stmts w = {.list = l->body}; (s = stmts_next(&w));)
        for (int k = 0; k < s->assigns; k++) any |= s->assign[k].compensation == a + 1;
    return any;
}

/* Returns the tile of a caller's state that array a is, directly or as the slot of a chunk. NULL: none */
static const struct array *kept_tile(const struct loops *l, int a)
{
    const bool slot = array_has_slots(l, &l->array[a]);
    const struct array *found = l->array[a].kept && !l->slot ? &l->array[a] : NULL;
    for (int k = 0; k < l->arrays && slot && l->array[a].offset >= 0; k++)
        if (l->array[k].kept && l->array[k].offset == l->array[a].offset) found = &l->array[k];
    return found && !compensates(l, (int)(found - l->array)) ? found : NULL;
}

/* Lists the sums of a head in the order in which queries read them: that of the sums of the graph. Returns how many
   there are. */
static int kept_matrices(const struct loops *l, const struct array *of[])
{
    int count = 0;
    const struct stmt *s;
    for (struct stmts w = {.list = l->body}; (s = stmts_next(&w));) {
        bool adds = false; /* to the state */
        for (int k = 0; k < s->assigns; k++)
            adds |= l->array[s->assign[k].to.of].kept || array_has_slots(l, &l->array[s->assign[k].to.of]);
        for (int k = 0; k < s->operands && !adds; k++) {
            const struct array *const tile = kept_tile(l, s->operand[k].of);
            bool listed = !tile || count == MAX_OPERANDS;
            for (int n = 0; n < count; n++) listed |= of[n] == tile;
            if (!listed) of[count++] = tile;
        }
    }
    return count;
}

/* Returns whether a state decays by prefix sums alone, so that tokens without a decay leave it as it is. */
static bool decays_by_sums(const struct graph *g)
{
    bool by_sums = true;
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        const struct expr *zeros[MAX_OPERANDS];
        for (int k = 0; k < value->operands && value->keep; k++) {
            zeros[k] = expr_real(g->module, 0);
            by_sums &= k < graph_summed(value) ||
                       prefix_array_find(g->value[value->operand[k].of].name ? g->value[value->operand[k].of].name
                                                                             : "") != PREFIX_ARRAYS;
        }
        if (value->keep) by_sums &= expr_is_real(expr_bind(g->module, value->keep, zeros), 1);
    }
    return by_sums;
}

/* Returns the distance between neighbours along axis k of a tile, in elements. */
static long long tile_stride(const struct array *a, int k)
{
    long long stride = 1;
    for (int n = k + 1; n < a->rank; n++) stride *= a->extent[n] + (n + 1 == a->rank ? a->gap : 0);
    return stride;
}

/* Whether an input, and not only an array of the caller, has elements along axis e. */
static bool reads_values(const struct graph *g, int e)
{
    bool any = false;
    for (int v = 0; v < g->values; v++) any |= g->value[v].op == GRAPH_INPUT && value_has_axis(&g->value[v], e);
    return any;
}

/* Sets *column to the axis of a tile that is along the elements of values, 0 or 1, or to -1 if it is a vector. Returns
   whether the tile is a matrix [features, value_dim] or a vector [features]. */
static bool is_matrix(const struct compilation *c, const struct array *a, int *column)
{
    const struct module *const m = c->loops->module;
    const int e = module_find_axis(m, "e");
    *column = a->axes[0] == e ? 0 : a->rank == 2 && a->axes[1] == e ? 1 : -1;
    const struct axis *const features = &m->axis[a->axes[*column == 0]];
    return a->rank == 1 + (*column >= 0) && features->source == SIZE_CONSTANT &&
           a->extent[*column == 0] >= features->extent;
}

/* Prints struct matrix_of_sums for a tile with `rows` rows. */
static void print_matrix(const struct compilation *c, const struct array *a, int64_t rows, int column, struct text *out)
{
    text_add(out, "{.at = %lld, .features = %lld, .columns = %lld, .row = %lld, .column = %lld}", (long long)a->offset,
             (long long)rows, column < 0 ? 1 : (long long)c->spec->value_dim, tile_stride(a, column == 0),
             column < 0 ? 0 : tile_stride(a, column));
}

int table_matrices(const struct emitted_file *e, const struct compilation *c, const struct array *of[])
{
    const struct loops *const l = c->loops;
    const int count = l->kept ? kept_matrices(l, of) : 0;
    int kept = 0, column;
    bool good = e->p->read_back == 0 && e->p->continues && program_keeps_state(&c->program) &&
                !program_has_transitions(&c->program) && !spec_has_storage(c->spec) && decays_by_sums(c->graph);
    for (int a = 0; a < l->arrays; a++) kept += l->array[a].kept && !compensates(l, a);
    for (int n = 0; n < count; n++) good &= is_matrix(c, of[n], &column);
    /* without room for a second chunk, NAME_state_get relies on values of 0 for missing tokens */
    if (!e->p->folds)
        good &= count == 1 && of[0]->rank == 2 && !c->spec->values_are_keys &&
                reads_values(c->graph, module_find_axis(l->module, "e"));
    return good && count == kept ? count : 0;
}

int64_t table_features(const struct compilation *c, const struct array *matrix)
{
    int column;
    is_matrix(c, matrix, &column);
    return c->loops->module->axis[matrix->axes[column == 0]].extent;
}

/* Prints the members about the sums of a head as matrices, and the solution of 'delta'. */
static void matrices(const struct emitted_file *e, const struct compilation *c, struct text *out)
{
    const struct array *of[MAX_OPERANDS];
    const int count = table_matrices(e, c, of);
    int column;
    for (int n = 0; n < count; n++) {
        is_matrix(c, of[n], &column);
        text_add(out, n ? ", " : ",\n     .matrices = %d, .matrix = (const struct matrix_of_sums[]){", count);
        print_matrix(c, of[n], table_features(c, of[n]), column, out);
    }
    if (count) text_add(out, "}");
    for (int a = 0; a < c->loops->arrays && count; a++) {
        const struct array *const solution = &c->loops->array[a];
        if (!solution->solved) continue;
        is_matrix(c, solution, &column);
        text_add(out, ", .solution = ");
        print_matrix(c, solution, solution->extent[column == 0], column, out);
    }
}

static void row(const struct emitted_file *e, const struct table_arrays *all, const struct place *at,
                const struct compilation *c, struct text *out)
{
    const struct loops *const l = c->loops, *const few = c->state.few_tokens ? c->state.few_tokens->loops : l;
    const bool main = c == at->v->c, shares = emit_in_phases(l) || program_selects(&c->program);
    const char *const wanted = wanted_outputs(e, all, c);
    begin_row(at, out);
    text_add(out, ",\n     .%s = %s, .tile = %lld, .own = %lld", shares ? "head" : "rows",
             emit_function(c, emit_form(c)), (long long)emit_tasks_of(l),
             (long long)(few->workspace > l->workspace ? few->workspace : l->workspace));
    if (c == at->v->few) {
        text_add(out, ", .few_rows = %lld", (long long)at->v->few_rows);
        if (!at->v->c->program.linear)
            text_add(out, ", .lanes = %d", c->target->vector_bytes / dtype_bytes(dtype_of_sums(c->spec->dtype)));
    }
    if (c->program.linear && c->separated.features)
        text_add(out, ", .of_token = %lld", (long long)(c->separated.features * (c->spec->value_dim + 1)));
    else
        text_add(out, ", .of_pair = %lld", (long long)(c->spec->head_dim + c->spec->value_dim));
    if (visits_by_position(c)) text_add(out, ", .in_keys = 1");
    if (prefix_sums_are_own(c)) text_add(out, ", .own_sums = 1");
    if (program_saves_rows(&c->program)) text_add(out, ", .saves = 1");
    if (wanted) text_add(out, ", .wanted = %s", wanted);
    tasks(c, out);
    if (shares && (main ? at->v->cooperative : 1)) text_add(out, ", .together = %d", main ? at->v->cooperative : 1);
    common(c, out);
    if ((c->program.few || program_selects(&c->program)) && emit_param_of_ids(e->p->arrays))
        text_add(out, ", .any_order = 1");
    if (c->program.by_heads) text_add(out, ", .by_heads = 1");
    outer(e->p, c, out);
    matrices(e, c, out);
    if (l->kept) text_add(out, ", .chunk = %lld, .kept = %lld", (long long)c->state.chunk, (long long)l->kept);
    if (main && at->v->fold)
        text_add(out, ", .join = %s, .join_work = %lld", emit_function(at->v->fold, emit_form(at->v->fold)),
                 (long long)at->v->fold->loops->workspace);
    text_add(out, "},\n");
}

/* Prints the programs of a version: those for few queries before the others. */
static void rows_of_version(const struct emitted_file *e, const struct table_arrays *all, struct place at,
                            struct text *out)
{
    if (!at.v->c) {
        begin_row(&at, out);
        text_add(out, ", .idle = 1},\n");
        return;
    }
    at.form = "FORM_HEADS";
    if (at.v->heads) row(e, all, &at, at.v->heads, out);
    at.form = "FORM_FEW";
    if (at.v->few) row(e, all, &at, at.v->few, out);
    at.form = NULL;
    row(e, all, &at, at.v->c, out);
}

/* Sets what a part of backward computes, in any of its programs. */
static void set_part(const struct emitted_file *e, struct place *at)
{
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);) {
        const struct compilation *const c = v->c;
        if (v->part != at->v->part) continue;
        at->sums_slices |= program_adds_totals(&c->program);
        at->of_terms |= c->program.of_terms;
        at->saved_again |= program_recomputes_saved(&c->program);
        at->solution_again |= e->p->saves_solution && c->graph->outputs == 1 &&
                              strcmp(c->graph->output[0].name, SAVED_SOLUTION) == 0;
    }
}

/* Prints the programs of one target. The versions for more keys come first. */
static void rows_of_target(const struct emitted_file *e, const struct table_arrays *all, const struct target *t,
                           struct text *out)
{
    static const char *const roles[STEPS] = {
#define STEP(step, name, kind, first, wanted) [STEP_##step] = "RUN_" #step,
#include "../schedule/program.def"
    };
    for (int step = 0; step < STEPS; step++) {
        const struct version *const list = e->p->of[step].version;
        for (int k = e->p->of[step].count - 1; k >= 0; k--) {
            struct place at = {.role = roles[step], .v = &list[k], .first = true};
            if (list[k].target != t) continue;
            for (int n = 0; n < e->p->of[step].count; n++)
                at.first &= list[n].target != t || list[n].part != list[k].part || list[n].from >= list[k].from;
            if (step == STEP_BACKWARD) set_part(e, &at);
            rows_of_version(e, all, at, out);
        }
    }
}

/* Returns whether the kernel's file has code for the target. */
static bool in_file(const struct emitted_file *e, const struct target *t)
{
    for (int k = 0; k < e->versions; k++)
        if (e->version[k].target == t) return true;
    return false;
}

void table_programs(const struct emitted_file *e, const struct table_arrays *all, struct text *out)
{
    struct text targets = {0};
    bool certain = false;
    if (emit_any_slower(e->c, e->compilations))
        text_add(out, "#ifndef ATTN_SLOWER_TOO\n"
                      "#define ATTN_SLOWER_TOO 0 /* tests set 1, to run a version also where it is slow */\n#endif\n");
    for (int k = 0, count; k < e->compilations && !certain; k += count) {
        const struct target *const t = e->c[k]->target;
        const char *const guard = emit_guard(e->c, k), *const suffix = t->suffix;
        count = emit_same_target(e->c + k, e->compilations - k);
        if (!in_file(e, t)) continue;
        certain = emit_certain_target(t);
        if (*guard) text_add(out, "#if %s\n", guard);
        if (*guard) text_add(&targets, "#if %s\n", guard);
        if (*t->supported)
            text_add(out, "static int runs_%s(void)\n{\n    return %s%s%s%s;\n}\n", suffix, t->supported,
                     *t->faster ? " && (ATTN_SLOWER_TOO || " : "", t->faster, *t->faster ? ")" : "");
        text_add(out, "static const struct program programs_%s[] = {\n", suffix);
        rows_of_target(e, all, t, out);
        text_add(out, "};\n");
        text_add(&targets, "    {%s%s, programs_%s, sizeof programs_%s / sizeof *programs_%s},\n",
                 *t->supported ? "runs_" : "NULL", *t->supported ? suffix : "", suffix, suffix, suffix);
        if (*guard) text_add(out, "#endif\n");
        if (*guard) text_add(&targets, "#endif\n");
    }
    text_add(out, "static const struct target target[] = {\n%s    {NULL, NULL, 0},\n};\n\n", targets.data);
    text_free(&targets);
}
