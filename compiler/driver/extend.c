/* Makes the versions that extend states, prepare keys and join states. */
#include "maker.h"
#include "../analysis/analysis.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"

#include <stdlib.h>
#include <string.h>

/* Compiles `extend` again with short tiles, because few tokens would leave most vector lanes empty. Only the loops
   over queries of this compilation are used. */
static void add_short_tile(struct maker *x, struct compilation *extend)
{
    struct compilation like = *extend;
    if (!extend->state.slot_is_kept || extend->tiling.tile_q <= FEW_TOKENS) return;
    like.program.kind = PROGRAM_EXTEND_FEW;
    struct compilation *const c = unit_recompile(x->p, &like);
    x->good = c->graph && passes_run(c, NULL, NULL);
    extend->state.few_tokens = c;
}

/* Whether the factor of a state reads an array of the caller, such as learned rates. A call that joins states has no
   arrays. */
static bool factor_reads_array(const struct graph *g)
{
    bool reads = false;
    for (int v = 0; v < g->values; v++)
        for (int k = graph_summed(&g->value[v]); k < g->value[v].operands && g->value[v].keep; k++) {
            const struct value *const of = &g->value[g->value[v].operand[k].of];
            reads |= of->op == GRAPH_PARAM && prefix_array_find(of->name) == PREFIX_ARRAYS;
        }
    return reads;
}

/* Whether ids of tokens reset sums. */
static bool has_ids(const struct graph *g)
{
    bool has = false;
    for (int v = 0; v < g->values; v++) has |= g->value[v].integers;
    return has;
}

/* Sets `folds`, `moves` and `any_order`, and compiles programs that add two states. */
static void make_fold(struct maker *x)
{
    const struct unit *const p = x->p;
    struct emission *const kernel = &x->p->kernel;
    const struct versions *const extend = &kernel->of[STEP_EXTEND];
    kernel->folds = extend->count && kernel->read_back == 0 && !has_ids(p->graph);
    kernel->moves = !weight_names_positions(p->spec);
    for (const struct version *v = NULL; versions_next(extend, &v);) {
        kernel->folds &= v->c->state.slot_is_kept && !factor_reads_array(v->c->graph);
        kernel->moves &= moves_on(p->graph, v->c->state.chunk);
    }
    kernel->any_order = kernel->folds && takes_any_order(p->graph);
    kernel->terms_move = prefix_terms_move(p->graph);
    for (int k = 0; k < extend->count && kernel->folds && x->good; k++) {
        const struct compilation *const c = extend->version[k].c;
        extend->version[k].fold = maker_compile(x, c->schedule, c->target,
                                                (struct program){.kind = PROGRAM_FOLD_STATES, .linear = true}, k == 0);
    }
}

/* Whether the state sums the tokens of a document: only its ids reset the sums. Calls of backward can then have sums
   over other tokens of the first token's document, and of the last one's. */
static bool sums_document(const struct unit *p)
{
    int ids = 0; /* arrays of integers: those of the mask and no others */
    for (int v = 0; v < p->graph->values; v++) ids += p->graph->value[v].integers;
    bool sums = p->kernel.of[STEP_EXTEND].count && p->kernel.read_back <= 1 && /* a state has its last id */
                graph_find_solve(p->graph) < 0 && mask_shows_own_keys(p->spec->mask) && ids == 1;
    for (const struct version *v = NULL; sums && versions_next(&p->kernel.of[STEP_EXTEND], &v);)
        sums = v->c->state.slot_is_kept;
    return sums;
}

/* Returns whether the sums of a state depend on the factors between chunks. Then they depend on positions, because
   the first chunk of a sequence has no factor. */
static bool has_factors(const struct graph *g)
{
    bool has = false;
    for (int v = 0; v < g->values; v++) has |= g->value[v].keep != NULL;
    return has;
}

/* With 'delta', compiles programs for states that also have transitions, and programs that join such states. */
static void make_foldable(struct maker *x)
{
    struct unit *const p = x->p;
    const struct versions *const extend = &p->kernel.of[STEP_EXTEND];
    bool can = extend->count && p->kernel.read_back == 0 && graph_find_solve(p->graph) >= 0 && !has_ids(p->graph);
    for (const struct version *v = NULL; versions_next(extend, &v);) can &= !factor_reads_array(v->c->graph);
    for (const struct version *v = NULL; can && x->good && versions_next(extend, &v);) {
        const struct compilation *const like = v->c;
        const bool shown = v == extend->version;
        struct version *const made = versions_add(p->arena, &p->kernel.of[STEP_FOLDABLE], *v);
        struct program program = {.kind = PROGRAM_EXTEND_FOLDABLE, .linear = true};
        p->kernel.moves &= !has_factors(like->graph);
        struct compilation *const foldable = maker_compile(x, like->schedule, like->target, program, shown);
        made->c = foldable;
        program.kind = PROGRAM_FOLD_TRANSITIONS;
        if (!x->good) return;
        struct compilation *const fold = maker_compile(x, like->schedule, like->target, program, shown);
        made->fold = fold;
        /* After the sums, a state has solutions. Joining states does not use them. */
        if (x->good) fold->loops->kept = foldable->loops->kept;
    }
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

/* Compiles the programs that decode with a state of keys, if forward cannot decode. If the state stores prepared
   keys, one program prepares keys, and the other programs attend to them. These programs have no dropout. */
static void make_attending(struct maker *x)
{
    struct unit *const p = x->p;
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    struct versions *const attend = &p->kernel.of[STEP_ATTEND];
    const bool prepared = stores_prepared_keys(p->spec);
    if (p->kernel.of[STEP_EXTEND].count || (!prepared && p->spec->dropout == 0)) return;
    if (prepared) maker_each(x, STEP_PREPARE, true);
    for (int v = 0; v < forward->count && x->good; v++) {
        const struct version *const like = &forward->version[v];
        struct version made = *like;
        struct program program = {.kind = PROGRAM_QUERY_PREPARED, .linear = like->c->program.linear};
        made.c = made.few = made.heads = NULL;
        for (int u = 0; u < v; u++) { /* versions can share a compilation */
            if (forward->version[u].c == like->c) made.c = attend->version[u].c;
            if (like->few && forward->version[u].few == like->few) made.few = attend->version[u].few;
            if (like->heads && forward->version[u].heads == like->heads) made.heads = attend->version[u].heads;
        }
        if (!made.c) made.c = maker_compile(x, like->c->schedule, like->target, program, v == 0);
        if (!x->good) return;
        if (like->few && !made.few) made.few = maker_few(x, like->target, PROGRAM_QUERY_PREPARED, v == 0);
        program = (struct program){.kind = PROGRAM_QUERY_PREPARED, .by_heads = true};
        if (like->heads && made.few && !made.heads) made.heads = maker_for_few(x, like->target, program, v == 0);
        versions_add(p->arena, attend, made);
    }
}

/* Whether a region compares ids of tokens. A call gets only the ids of new tokens. */
static bool compares_rows(const struct unit *p)
{
    bool compares = false;
    for (int k = 0; k < p->kernel.arrays->count; k++) compares |= p->kernel.arrays->array[k].compared;
    return compares;
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
        c->state.paged = true;
        c->loops->workspace += pages_workspace(c);
        c->state.common = c->program.few && common_keys_of(c->loops, &common);
    }
    p->kernel.paged = paged;
}

/* Returns whether the expression has the position of a token, except in a subscript of an array. */
static bool names_position(const struct module *m, const struct expr *e)
{
    if (!e || e->op == EXPR_ID || e->op == EXPR_ELEMENT) return false;
    if (e->op == EXPR_START || (e->op == EXPR_INDEX && axis_is_sequence(&m->axis[e->integer]))) return true;
    for (int k = 0; k < expr_arity(e->op); k++)
        if (names_position(m, e->arg[k])) return true;
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

/* Compiles the programs that extend a state with sums, unless a target has no such state. Returns the number of last
   keys that the state also stores. */
static int64_t make_extend(struct maker *x)
{
    struct unit *const p = x->p;
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    struct versions *const extend = &p->kernel.of[STEP_EXTEND];
    /* A linear form compares ids of keys with the id of the last key that is in the sums. */
    int64_t read_back = compares_rows(p);
    for (const struct version *v = NULL; versions_next_target(forward, &v);) {
        const struct compilation *const like = versions_find(forward, v->target, INT64_MAX)->c;
        const struct program program = {.kind = PROGRAM_EXTEND, .linear = true};
        struct compilation *const c = like->program.linear
                                          ? maker_compile(x, like->schedule, like->target, program, !extend->count)
                                          : NULL;
        if (c && x->good) add_short_tile(x, c);
        if (!x->good) break;
        const int64_t back = c && c->state.chunk ? keys_read_back(c) : -1;
        if (back < 0) {
            extend->count = 0;
            break;
        }
        if (back > read_back) read_back = back;
        versions_add(
            p->arena, extend,
            (struct version){.target = like->target, .c = c, .cooperative = (int)schedule_knob(c, "together", 1)});
    }
    return read_back;
}

/* Reports a storage that a state cannot have. */
static void check_storage(struct maker *x)
{
    const bool sums = emission_extend(&x->p->kernel);
    if (!spec_has_storage(x->p->spec) || (!sums && !x->p->kernel.of[STEP_CORRECT].count)) return;
    diagnostics_error(
        x->d, x->p->spec->storage_at,
        sums ? "with 'decode', 'storage' needs a state that stores keys, but the linear form of this spec stores sums "
               "over them; leave out 'storage', or set 'algorithm: quadratic'"
             : "with 'decode', 'storage' cannot be combined with 'delta': a state stores corrected values");
    x->good = false;
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
    if (kernel->of[STEP_PREPARE].count) text_add(&t, "prepared\n");
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

void maker_extend(struct maker *x)
{
    struct unit *const p = x->p;
    struct emission *const kernel = &p->kernel;
    struct compilation *attending[MAX_EMITTED]; /* the code that attends to keys in a state */
    int64_t read_back = make_extend(x), first = 0;
    const bool sums = emission_extend(kernel), corrects = kernel->of[STEP_CORRECT].count;
    if (x->good) check_storage(x);
    if (x->good) make_attending(x);
    if (!x->good) return;
    const int attendings = versions_code(unit_attending(p), NULL, (const struct compilation **)attending, 0);
    if (!sums && (corrects || !kept_by_all(attending, attendings, &first, &read_back))) read_back = -1;
    for (int k = 0; k < kernel->arrays->count && first; k++) /* such arrays are read at any position */
        if (kernel->arrays->array[k].integer_rows && kernel->arrays->array[k].role == ROLE_PER_KEY) read_back = -1;
    kernel->read_back = read_back;
    kernel->read_first = read_back < 0 ? 0 : first;
    for (int k = 0; k < attendings; k++) {
        attending[k]->state.read_first = kernel->read_first;
        attending[k]->state.read_back = read_back;
    }
    if (corrects && !sums) maker_each(x, STEP_APPEND, true);
    if (!x->good) return;
    take_pages(p, attending, attendings);
    kernel->rows_move = rows_move(p);
    make_fold(x);
    if (x->good) make_foldable(x);
    if (!x->good) return;
    const bool apart = p->kernel.in_parts || !weight_names_positions(p->spec),
               takes = apart && (kernel->folds || kernel->of[STEP_FOLDABLE].count || sums_document(p));
    const int64_t period = takes ? part_period(p->graph) : 0;
    if (period) kernel->outer_chunk = emit_outer_chunk(&kernel->of[STEP_BACKWARD], period);
    kernel->fingerprint = fingerprint_of(p);
}
