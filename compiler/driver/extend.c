/* Makes the versions that extend states, and programs that join states. */
#include "maker.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"

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

/* Whether the factor of a state reads an array of the caller, such as learned rates, or depends on the chunk's number.
   A call that joins states has no arrays and no such number. */
static bool factor_reads_array(const struct graph *g)
{
    bool reads = false;
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].keep) reads |= (expr_axes(g->value[v].keep) & axes_of_chunks(g->module)) != 0;
        for (int k = graph_summed(&g->value[v]); k < g->value[v].operands && g->value[v].keep; k++) {
            const struct value *const of = &g->value[g->value[v].operand[k].of];
            reads |= of->op == GRAPH_PARAM && prefix_array_find(of->name) == PREFIX_ARRAYS;
        }
    }
    return reads;
}

bool states_join(const struct unit *p)
{
    const struct versions *const extend = &p->kernel.of[STEP_EXTEND];
    const int solve = graph_find_solve(p->graph);
    bool join = extend->count && p->kernel.read_back == 0 && !integer_arrays(p->graph);
    if (solve >= 0) /* the transition of a state that sums other values does not tell how the solution depends on it */
        join &= p->graph->value[p->graph->value[solve].operand[SOLVE_VALUES].of].op == GRAPH_INPUT &&
                !p->spec->delta_divides;
    for (const struct version *v = NULL; versions_next(extend, &v);) join &= !factor_reads_array(v->c->graph);
    return join;
}

/* Compiles code that adds two states of `like`. */
static struct compilation *add_states(struct maker *x, const struct compilation *like, enum program_kind kind,
                                      bool shown)
{
    return maker_compile(x, like->schedule, like->target, (struct program){.kind = kind, .linear = true}, shown);
}

/* Whether a region compares ids of tokens. A call gets only the ids of new tokens, and a linear form compares ids of
   keys with the id of the last key that is in the sums. */
static bool compares_rows(const struct unit *p)
{
    bool compares = false;
    for (int k = 0; k < p->kernel.arrays->count; k++) compares |= p->kernel.arrays->array[k].compared;
    return compares;
}

void maker_extend(struct maker *x)
{
    struct unit *const p = x->p;
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    struct versions *const extend = &p->kernel.of[STEP_EXTEND];
    int64_t read_back = 0;
    for (const struct version *v = NULL; versions_next_target(forward, &v);) {
        const struct compilation *const like = versions_find(forward, v->target, INT64_MAX)->c;
        const struct program program = {.kind = PROGRAM_EXTEND, .linear = true};
        struct compilation *const c = maker_compile(x, like->schedule, like->target, program, !extend->count);
        if (x->good) add_short_tile(x, c);
        if (!x->good) return;
        const int64_t back = c->state.chunk ? keys_read_back(c) : -1;
        if (back < 0) {
            extend->count = 0;
            return;
        }
        if (back > read_back) read_back = back;
        versions_add(
            p->arena, extend,
            (struct version){.target = like->target, .c = c, .cooperative = (int)schedule_knob(c, "together", 1)});
    }
    p->kernel.read_back = read_back + compares_rows(p);
    p->kernel.folds = states_join(p);
    for (const struct version *v = NULL; versions_next(extend, &v);) p->kernel.folds &= v->c->state.slot_is_kept;
    for (int k = 0; k < extend->count && p->kernel.folds && x->good; k++)
        extend->version[k].fold = add_states(x, extend->version[k].c, PROGRAM_FOLD_STATES, k == 0);
}

void maker_foldable(struct maker *x)
{
    struct emission *const kernel = &x->p->kernel;
    for (const struct version *v = NULL; x->good && versions_next(&kernel->of[STEP_EXTEND], &v);) {
        const bool shown = v == kernel->of[STEP_EXTEND].version;
        struct version *const made = versions_add(x->p->arena, &kernel->of[STEP_FOLDABLE], *v);
        const struct program program = {.kind = PROGRAM_EXTEND_FOLDABLE, .linear = true};
        made->c = maker_compile(x, v->c->schedule, v->target, program, shown);
        if (!x->good) return;
        struct compilation *const fold = add_states(x, v->c, PROGRAM_FOLD_TRANSITIONS, shown);
        made->fold = fold;
        /* After the sums, a state has solutions. Joining states does not use them. */
        if (x->good) fold->loops->kept = made->c->loops->kept;
    }
}

void maker_attend(struct maker *x)
{
    struct unit *const p = x->p;
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    struct versions *const attend = &p->kernel.of[STEP_ATTEND];
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
