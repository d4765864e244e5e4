/* Decides what a state stores, and what calls can do with a state. */
#include "maker.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"

#include <stdlib.h>
#include <string.h>

/* Reports a storage that a state cannot have. */
static void check_storage(struct maker *x)
{
    const bool sums = emission_extend(&x->p->kernel);
    if (!spec_has_storage(x->p->spec) || (!sums && !x->p->kernel.of[STEP_CORRECT].count)) return;
    x->good = diagnostics_error(
        x->d, x->p->spec->storage_at,
        sums ? "with 'decode', 'storage' needs a state that stores keys, but the linear form of this spec stores sums "
               "over them; leave out 'storage', or set 'algorithm: quadratic'"
             : "with 'decode', 'storage' cannot be combined with 'delta': a state stores corrected values");
}

/* Finds the keys that a state must store for all versions. These are the first *first and the last *back keys.
   Returns false if a version may read any key. */
static bool kept_by_all(struct compilation *const *code, int count, int64_t *first, int64_t *back)
{
    *first = *back = 0;
    int64_t early = 0; /* Earlier tiles of queries may read more keys. All keys that such a tile reads are stored. */
    for (int k = 0; k < count; k++) {
        int64_t begin, before;
        if (!keys_read_on(code[k], &begin, &before)) return false;
        if (begin > *first) *first = begin;
        if (before > *back) *back = before;
        if (begin + before > early) early = begin + before;
    }
    if (early - *first > *back) *back = early - *first;
    return true;
}

/* Lets the rows of a state be in pages, if all programs that attend to them can read pages. */
static void take_pages(struct unit *p, struct compilation *const *attending, int attendings)
{
    bool paged = !p->kernel.of[STEP_EXTEND].count && !p->kernel.of[STEP_TERMS].count &&
                 !p->kernel.of[STEP_APPEND].count;
    for (int k = 0; k < p->kernel.arrays->count; k++)
        paged &= !p->kernel.arrays->array[k].integer_rows || p->kernel.arrays->array[k].role != ROLE_PER_KEY;
    for (int k = 0; k < attendings; k++) paged &= loops_read_pages(attending[k]->loops);
    for (int k = 0; k < attendings && paged; k++) {
        struct compilation *const c = attending[k];
        struct common_keys common;
        c->loops->workspace -= pages_workspace(c);
        c->state.paged = true;
        c->loops->workspace += pages_workspace(c);
        c->state.common = c->program.few && !graph_count(p->graph, GRAPH_SELECT) && common_keys_of(c->loops, &common);
    }
    p->kernel.paged = paged;
}

/* Returns whether the expression has the position of a token, except in a subscript of an array. */
static bool names_position(const struct module *m, const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = w.e->op == EXPR_ID || w.e->op == EXPR_ELEMENT;
        if (w.e->op == EXPR_START || (w.e->op == EXPR_INDEX && axis_is_sequence(&m->axis[w.e->integer]))) return true;
    }
    return false;
}

/* Returns whether a stored row may move to the position of another token: it is no sum or corrected value, and its keys
   are not prepared for a position. */
static bool rows_move(const struct unit *p)
{
    if (p->kernel.of[STEP_EXTEND].count || p->kernel.of[STEP_TERMS].count || p->kernel.of[STEP_APPEND].count)
        return false;
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_PREPARE], &v);) {
        const struct graph *const g = v->c->source;
        for (int n = 0; n < g->values; n++)
            if (names_position(g->module, g->value[n].expr)) return false;
    }
    return true;
}

/* Returns whether the sums of a state depend on the factors between chunks. Then they depend on positions, because
   the first chunk of a sequence has no factor. */
static bool has_factors(const struct graph *g)
{
    bool has = false;
    for (int v = 0; v < g->values; v++) has |= g->value[v].keep != NULL;
    return has;
}

/* Whether the state sums the tokens of a document: only its ids reset the sums. Calls of backward can then have sums
   over other tokens of the first token's document, and of the last one's. */
static bool sums_document(const struct unit *p)
{
    bool sums = p->kernel.of[STEP_EXTEND].count && p->kernel.read_back <= 1 && /* a state has its last id */
                graph_find_solve(p->graph) < 0 && mask_shows_own_keys(p->spec->mask) &&
                integer_arrays(p->graph) == 1; /* the ids of the mask and no others */
    for (const struct version *v = NULL; sums && versions_next(&p->kernel.of[STEP_EXTEND], &v);)
        sums = v->c->state.slot_is_kept;
    return sums;
}

/* Returns a hash of the graph and of the layout of a state. */
static uint64_t fingerprint_of(const struct unit *p)
{
    const struct emission *const kernel = &p->kernel;
    const struct compilation *const extend = emission_extend(kernel);
    struct text t = {0};
    graph_print(p->graph, &t);
    const char *const source = arena_copy(p->arena, strchr(t.data, '\n')); /* skips the line with the spec's name */
    text_free(&t);
    text_add(&t, "%s%d %lld\n", source, (int)p->spec->dtype, (long long)kernel->read_back);
    if (kernel->read_first) text_add(&t, "first %lld\n", (long long)kernel->read_first);
    for (int k = 0; k < kernel->of[STEP_PREPARE].count; k++)
        text_add(&t, "prepared %d\n", kernel->of[STEP_PREPARE].version[k].part);
    if (kernel->of[STEP_APPEND].count) text_add(&t, "corrected\n");
    if (spec_has_storage(p->spec))
        text_add(&t, "%s %s\n", dtype_name(spec_type_of_keys(p->spec)), dtype_name(spec_type_of_values(p->spec)));
    for (int a = 0; extend && a < extend->loops->arrays; a++) {
        const struct array *const array = &extend->loops->array[a];
        for (int k = 0; (array->kept || array->solved) && k < array->rank; k++)
            text_add(&t, " %lld", (long long)array->extent[k]);
        if (array->kept || array->solved) text_add(&t, " at %lld\n", (long long)array->offset);
    }
    const uint64_t hash = strtoull(arena_printf(p->arena, "%.16s", hash_text(p->arena, t.data, t.length)), NULL, 16);
    text_free(&t);
    return hash;
}

void maker_state(struct maker *x)
{
    struct unit *const p = x->p;
    struct emission *const kernel = &p->kernel;
    const struct versions *const extend = &kernel->of[STEP_EXTEND];
    struct compilation *attending[MAX_EMITTED]; /* the code that attends to keys in a state */
    const struct versions
        *const selecting = &kernel->of[kernel->of[STEP_SELECT_NEW].count ? STEP_SELECT_NEW : STEP_SELECT];
    const struct compilation **const code = (const struct compilation **)attending;
    const int attendings = versions_code(selecting, NULL, code, versions_code(unit_attending(p), NULL, code, 0));
    check_storage(x);
    if (!x->good) return;
    if (!extend->count && (kernel->of[STEP_CORRECT].count ||
                           !kept_by_all(attending, attendings, &kernel->read_first, &kernel->read_back)))
        kernel->read_back = -1;
    for (int k = 0; k < kernel->arrays->count && kernel->read_first; k++) /* such arrays are read at any position */
        if (kernel->arrays->array[k].integer_rows && kernel->arrays->array[k].role == ROLE_PER_KEY)
            kernel->read_back = -1;
    if (kernel->read_back < 0) kernel->read_first = 0;
    for (int k = 0; k < attendings; k++) {
        attending[k]->state.read_first = kernel->read_first;
        attending[k]->state.read_back = kernel->read_back;
    }
    take_pages(p, attending, attendings);
    kernel->rows_move = rows_move(p);
    kernel->moves = !weight_names_positions(p->spec);
    for (const struct version *v = NULL; versions_next(extend, &v);)
        kernel->moves &= moves_on(p->graph, v->c->state.chunk) &&
                         !(kernel->of[STEP_FOLDABLE].count && has_factors(v->c->graph));
    kernel->any_order = kernel->folds && takes_any_order(p->graph);
    kernel->terms_move = prefix_terms_move(p->graph);
    kernel->continues = part_period(p->graph) == 1 && !weight_names_positions(p->spec);
    const bool apart = kernel->in_parts || !weight_names_positions(p->spec),
               takes = apart && (kernel->folds || kernel->of[STEP_FOLDABLE].count || sums_document(p));
    const int64_t period = takes ? part_period(p->graph) : 0;
    if (period) kernel->outer_chunk = emit_outer_chunk(&kernel->of[STEP_BACKWARD], period);
    kernel->fingerprint = fingerprint_of(p);
}
