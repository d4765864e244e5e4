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

/* Returns the compilation for the longest sequences on a target. */
static const struct compilation *longest(const struct unit *p, const struct target *target)
{
    const struct compilation *c = NULL;
    for (int v = 0; v < p->versions; v++)
        if (p->version[v].target == target) c = p->version[v].c;
    return c;
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

/* Sets p->folds, p->moves and p->any_order, and compiles programs that add two states. */
static void make_fold(struct maker *x)
{
    struct unit *const p = x->p;
    p->folds = p->extends && p->read_back == 0;
    p->moves = !weight_names_positions(p->spec);
    for (int v = 0; v < p->graph->values; v++)
        p->folds &= !p->graph->value[v].integers; /* sums that ids reset cannot be added */
    for (int k = 0; k < p->extends; k++) {
        const struct compilation *const c = p->extend[k].c;
        p->folds &= c->state.slot_is_kept && !factor_reads_array(c->graph);
        p->moves &= moves_on(p->graph, c->state.chunk);
    }
    p->any_order = p->folds && takes_any_order(p->graph);
    p->terms_move = prefix_terms_move(p->graph);
    for (int k = 0; k < p->extends && p->folds && x->good; k++) {
        const struct compilation *const c = p->extend[k].c;
        p->extend[k].fold = maker_compile(x, c->schedule, c->target,
                                          (struct program){.kind = PROGRAM_FOLD_STATES, .linear = true}, k == 0);
    }
}

/* Whether the state sums the tokens of a document: only its ids reset the sums. Calls of backward can then have sums
   over other tokens of the first token's document, and of the last one's. */
static bool sums_document(const struct unit *p)
{
    const struct mask *const mask = p->spec->mask;
    bool sums = p->extends && p->read_back <= 1 && graph_find_solve(p->graph) < 0 && /* a state has its last id */
                mask_requires(mask, MASK_CAUSAL) && mask_requires(mask, MASK_DOCUMENT);
    for (int k = 0; sums && k < mask->parts; k++)
        sums = mask->part[k]->kind == MASK_CAUSAL || mask->part[k]->kind == MASK_DOCUMENT;
    for (int k = 0; sums && k < p->extends; k++) sums = p->extend[k].c->state.slot_is_kept;
    for (int v = 0; sums && v < p->graph->values; v++)
        sums = !p->graph->value[v].integers || strcmp(p->graph->value[v].name, "document") == 0;
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
    bool can = p->extends > 0 && p->read_back == 0 && graph_find_solve(p->graph) >= 0;
    for (int v = 0; v < p->graph->values; v++) can &= !p->graph->value[v].integers; /* ids reset the sums */
    for (int k = 0; k < p->extends; k++) can &= !factor_reads_array(p->extend[k].c->graph);
    for (int k = 0; k < p->extends && can && x->good; k++) {
        const struct compilation *const like = p->extend[k].c;
        struct program program = {.kind = PROGRAM_EXTEND_FOLDABLE, .linear = true};
        p->moves &= !has_factors(like->graph);
        struct version *const made = &p->foldable[p->foldables++];
        *made = p->extend[k];
        made->c = maker_compile(x, like->schedule, like->target, program, k == 0);
        program.kind = PROGRAM_FOLD_TRANSITIONS;
        if (x->good) made->fold = maker_compile(x, like->schedule, like->target, program, k == 0);
        /* After the sums, a state has solutions. Joining states does not use them. */
        if (x->good) made->fold->loops->kept = made->c->loops->kept;
    }
}

/* Finds the keys that a state must store for all versions. These are the first *first and the last *back keys.
   Returns false if a version may read any key. */
static bool kept_by_all(const struct version *version, int versions, int64_t *first, int64_t *back)
{
    *first = *back = 0;
    int64_t early = 0; /* Earlier tiles of queries may read more keys. All keys that such a tile reads are stored. */
    for (int v = 0; v < 3 * versions; v++) {
        const struct version *const of = &version[v / 3];
        const struct compilation *const c = v % 3 == 0 ? of->c : v % 3 == 1 ? of->few : of->heads;
        int64_t begin, before;
        if (!c) continue;
        if (!keys_read_on(c, &begin, &before)) return false;
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
    const bool prepared = stores_prepared_keys(p->spec);
    if (p->extends || (!prepared && p->spec->dropout == 0)) return;
    for (int v = 0; v < p->versions && x->good; v++) {
        const struct version *const like = &p->version[v];
        if (prepared && (v == 0 || like->target != like[-1].target)) {
            struct compilation *const made = maker_compile(x, NULL, like->target,
                                                           (struct program){.kind = PROGRAM_PREPARE_KEYS}, v == 0);
            if (!x->good) return;
            p->prepare[p->prepares++] = (struct version){.target = like->target, .c = made, .cooperative = 1};
            p->of_prepared[p->of_prepareds++] = made;
        }
        /* These variables replace like->c, like->few and like->heads. Versions can share a compilation. */
        const struct compilation *c = NULL, *few = NULL, *heads = NULL;
        for (int u = 0; u < v; u++) {
            if (p->version[u].c == like->c) c = p->attend[u].c;
            if (like->few && p->version[u].few == like->few) few = p->attend[u].few;
            if (like->heads && p->version[u].heads == like->heads) heads = p->attend[u].heads;
        }
        if (!c) {
            const struct program program = {.kind = PROGRAM_QUERY_PREPARED, .linear = like->c->program.linear};
            struct compilation *const made = maker_compile(x, like->c->schedule, like->target, program, v == 0);
            if (!x->good) return;
            c = p->of_prepared[p->of_prepareds++] = made;
        }
        if (like->few && !few) {
            struct compilation *const made = maker_few(x, like->target, PROGRAM_QUERY_PREPARED, v == 0);
            if (made) few = p->of_prepared[p->of_prepareds++] = made;
        }
        if (like->heads && few && !heads) {
            const struct program program = {.kind = PROGRAM_QUERY_PREPARED, .by_heads = true};
            struct compilation *const made = maker_for_few(x, like->target, program, v == 0);
            if (made) heads = p->of_prepared[p->of_prepareds++] = made;
        }
        p->attend[p->attends] = *like;
        p->attend[p->attends].heads = heads;
        p->attend[p->attends].c = c;
        p->attend[p->attends++].few = few;
    }
}

/* Whether a region compares ids of tokens. A call gets only the ids of new tokens. */
static bool compares_rows(const struct unit *p)
{
    bool compares = false;
    for (int k = 0; k < p->arrays->count; k++) compares |= p->arrays->array[k].compared;
    return compares;
}

/* Returns whether a program attends to keys in a state. */
static bool attends_to_state(const struct compilation *c)
{
    return program_is_forward(&c->program) || program_takes_prepared(&c->program);
}

/* Lets the rows of a state be in pages, if all programs that attend to them can read pages. */
static void take_pages(struct unit *p, struct compilation *const *compilation, int compilations)
{
    p->paged = !p->extends && !p->prefixes && !p->appends;
    for (int k = 0; k < p->arrays->count; k++)
        p->paged &= !p->arrays->array[k].integer_rows || p->arrays->array[k].role != ROLE_PER_KEY;
    for (int k = 0; k < compilations; k++)
        p->paged &= !attends_to_state(compilation[k]) || loops_read_pages(compilation[k]->loops);
    for (int k = 0; k < compilations && p->paged; k++) {
        struct compilation *const c = compilation[k];
        if (!attends_to_state(c)) continue;
        c->state.paged = true;
        c->loops->workspace += pages_workspace(c);
        struct common_keys common;
        c->state.common = c->program.few && common_keys_of(c->loops, &common);
    }
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
    if (p->extends || p->prefixes || p->appends) return false;
    for (int k = 0; k < p->prepares; k++) {
        const struct graph *const g = p->prepare[k].c->source;
        for (int v = 0; v < g->values; v++)
            if (names_position(g->module, g->value[v].expr)) return false;
    }
    return true;
}

/* Compiles the programs that correct the values of new tokens, if the state stores corrected values. */
static void make_corrections(struct maker *x)
{
    struct unit *const p = x->p;
    for (int k = 0; k < p->corrects && !p->extends && x->good; k++) {
        const struct version *const like = &p->correct[k];
        const struct program program = {.kind = PROGRAM_CORRECT_NEW_VALUES};
        struct version *const made = &p->append[p->appends++];
        *made = (struct version){.target = like->target, .cooperative = 1};
        made->c = maker_compile(x, like->c->schedule, like->target, program, k == 0);
    }
}

void maker_extend(struct maker *x)
{
    struct unit *const p = x->p;
    struct text t = {0};
    /* A linear form compares ids of keys with the id of the last key that is in the sums. */
    int64_t read_back = compares_rows(p), first = 0;
    for (int v = 0; v < p->versions && x->good; v++) {
        if (v > 0 && p->version[v].target == p->version[v - 1].target) continue;
        const struct compilation *const like = longest(p, p->version[v].target);
        const struct program program = {.kind = PROGRAM_EXTEND, .linear = true};
        struct compilation *const c = like->program.linear
                                          ? maker_compile(x, like->schedule, like->target, program, v == 0)
                                          : NULL;
        if (c && x->good) add_short_tile(x, c);
        if (!x->good) return;
        const int64_t back = c && c->state.chunk ? keys_read_back(c) : -1;
        if (back < 0) {
            p->extends = 0;
            break;
        }
        if (back > read_back) read_back = back;
        p->extend[p->extends++] = (struct version){
            .target = like->target, .c = c, .cooperative = (int)schedule_knob(c, "together", 1)};
    }
    if (p->extends && spec_has_storage(p->spec)) {
        diagnostics_error(x->d, p->spec->storage_at,
                          "with 'decode', 'storage' needs a state that stores keys, but the linear form of this spec "
                          "stores sums over them; leave out 'storage', or set 'algorithm: quadratic'");
        x->good = false;
        return;
    }
    if (p->corrects && !p->extends && spec_has_storage(p->spec)) {
        diagnostics_error(x->d, p->spec->storage_at,
                          "with 'decode', 'storage' cannot be combined with 'delta': a state stores corrected values");
        x->good = false;
        return;
    }
    make_attending(x);
    if (!x->good) return;
    const struct version *const version = p->attends ? p->attend : p->version;
    const int versions = p->attends ? p->attends : p->versions;
    if (!p->extends && (p->corrects || !kept_by_all(version, versions, &first, &read_back))) read_back = -1;
    for (int k = 0; k < p->arrays->count && first; k++) /* such arrays are read at any position */
        if (p->arrays->array[k].integer_rows && p->arrays->array[k].role == ROLE_PER_KEY) read_back = -1;
    p->read_back = read_back;
    p->read_first = read_back < 0 ? 0 : first;
    struct compilation *const *const attending = p->attends ? p->of_prepared : p->compilation;
    const int attendings = p->attends ? p->of_prepareds : p->compilations;
    for (int k = 0; k < attendings; k++) {
        if (!attends_to_state(attending[k])) continue;
        attending[k]->state.read_first = p->read_first;
        attending[k]->state.read_back = read_back;
    }
    make_corrections(x);
    if (!x->good) return;
    take_pages(p, attending, attendings);
    p->rows_move = rows_move(p);
    make_fold(x);
    if (x->good) make_foldable(x);
    const bool apart = p->spec->in_parts || !weight_names_positions(p->spec);
    const int64_t period = apart && (p->folds || p->foldables || sums_document(p)) ? part_period(p->graph) : 0;
    if (period) p->outer_chunk = emit_outer_chunk(p->backward, p->backwards, period);
    if (!x->good) return;
    graph_print(p->graph, &t);
    char *meaning = arena_copy(p->arena, strchr(t.data, '\n')); /* skips the line with the spec's name */
    text_free(&t);
    text_add(&t, "%s%d %lld\n", meaning, (int)p->spec->dtype, (long long)read_back);
    if (p->read_first) text_add(&t, "first %lld\n", (long long)p->read_first);
    if (p->prepares) text_add(&t, "prepared\n");
    if (p->appends) text_add(&t, "corrected\n");
    if (spec_has_storage(p->spec))
        text_add(&t, "%s %s\n", dtype_name(spec_type_of_keys(p->spec)), dtype_name(spec_type_of_values(p->spec)));
    for (int a = 0; p->extends && a < p->extend[0].c->loops->arrays; a++) {
        const struct array *const array = &p->extend[0].c->loops->array[a];
        for (int k = 0; (array->kept || array->solved) && k < array->rank; k++)
            text_add(&t, " %lld", (long long)array->extent[k]);
        if (array->kept || array->solved) text_add(&t, " at %lld\n", (long long)array->offset);
    }
    p->fingerprint = strtoull(arena_printf(p->arena, "%.16s", hash_text(p->arena, t.data, t.length)), NULL, 16);
    text_free(&t);
}
