/* Lowers a graph with a SOLVE, whose states sum the solution u. A chunk's solution needs the state before it, so a
   head has one loop over chunks, in order. For each chunk, the loop
   - computes the weights between the chunk's keys, and the product of each key's features with the state,
   - solves the chunk's triangular system, which gives u,
   - computes the chunk's queries, which read the state and the chunk,
   - adds the chunk to the state.
   A tile of keys is a chunk. Threads take different heads. */
#include "lower.h"

#include <string.h>

/* Marks the values that v needs, except states and the SOLVE. */
static void mark(const struct lowering *x, int v, bool *needed)
{
    if (needed[v] || v == x->solve || x->lowered[v].stage == STATE) return;
    needed[v] = true;
    for (int k = 0; k < x->g->value[v].operands; k++) mark(x, x->g->value[v].operand[k].of, needed);
}

/* Returns the state that the SOLVE reads, or -1. */
static int state_of_solution(const struct lowering *x)
{
    for (int v = 0; v < x->g->values; v++) {
        const struct value *value = &x->g->value[v];
        for (int k = 0; k < value->operands; k++)
            if (x->lowered[v].stage == STATE && value->op == GRAPH_CONTRACT && value->operand[k].of == x->solve)
                return v;
    }
    return -1;
}

/* Returns why loops cannot be made, or NULL. */
static const char *reason(const struct lowering *x)
{
    const struct value *solve = &x->g->value[x->solve];
    if (!x->prefix || !x->last || solve->operands <= SOLVE_FEATURES || state_of_solution(x) < 0)
        return "'delta' is compiled only in the linear form";
    if (x->slices >= 0 || x->outer || x->rows >= 0) return "'delta' is not compiled yet for these loops";
    for (int v = 0; v < x->g->values; v++)
        if (x->g->value[v].online >= 0) return "'delta' with sums relative to a maximum is not compiled yet";
    return NULL;
}

void lower_replace(struct lowering *x, struct stmt *s, const struct expr *from, const struct expr *to)
{
    for (; s; s = s->next) {
        const struct expr **const part[] = {&s->from, &s->to, &s->where, &s->when};
        for (int k = 0; k < 4; k++)
            if (*part[k]) *part[k] = expr_replace(x->m, *part[k], from, to);
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].expr) s->assign[k].expr = expr_replace(x->m, s->assign[k].expr, from, to);
        for (int k = 0; k < s->operands; k++)
            for (int n = 0; n < s->operand[k].rank; n++)
                s->operand[k].sub[n] = expr_replace(x->m, s->operand[k].sub[n], from, to);
        lower_replace(x, s->body, from, to);
    }
}

void lower_name_chunk(struct lowering *x, struct stmt *s, int keys, int step)
{
    const struct expr *const first = expr_lo(x->m, keys), *const key = expr_index(x->m, keys),
                             *const length = expr_int(x->m, x->m->axis[x->chunk].extent),
                             *number = expr_div(x->m, first, length);
    const struct expr *const start = expr_mul(x->m, number, length);
    if (step) number = expr_add(x->m, number, expr_int(x->m, step));
    lower_replace(x, s, expr_lo(x->m, x->chunk), number);
    lower_replace(x, s, expr_index(x->m, x->chunk), number);
    lower_replace(x, s, start, first);
    /* This condition is true for all keys of the loop. */
    lower_replace(x, s, expr_le(x->m, first, key), expr_int(x->m, 1));
}

/* Replaces the number of the chunk in statements inside the loop over keys. The new number is the chunk of the
   current keys, or if `next`, the chunk that the loops visit after it. */
static void name_chunk(struct lowering *x, struct stmt *s, bool next)
{
    const int step = x->g->value[x->solve].backward ? -1 : 1;
    lower_name_chunk(x, s, x->stream, next ? step : 0);
}

/* Replaces the chunk of a weight's row by the chunk of the loop. */
static void name_chunk_of_rows(struct lowering *x, struct stmt *s)
{
    const struct expr *const length = expr_int(x->m, x->m->axis[x->chunk].extent), *const row = expr_max(
                                                                                       x->m, expr_index(x->m, x->lane),
                                                                                       expr_int(x->m, 0));
    lower_replace(x, s, expr_div(x->m, row, length), expr_div(x->m, expr_lo(x->m, x->stream), length));
}

bool lower_is_merged(const struct lowering *x, int v)
{
    const struct value *const sum = &x->g->value[v];
    return sum->op == GRAPH_MAP && value_has_axis(sum, x->chunk) && sum->operands == 2 &&
           x->lowered[sum->operand[0].of].stage == STATE && x->lowered[sum->operand[1].of].stage == STATE;
}

/* Whether state v is added to the tile of another state. */
static bool has_share(const struct lowering *x, int v)
{
    bool has = false;
    for (int u = v + 1; u < x->g->values; u++) has |= lower_is_merged(x, u) && x->g->value[u].operand[1].of == v;
    return has;
}

/* Makes a tile for each state, or for the sum of two. The tiles are 0 before the first chunk. */
static void begin_states(struct lowering *x, struct stmt ***at)
{
    for (int v = 0; v < x->g->values; v++) {
        int axes[MAX_RANK];
        const struct ref *const state = x->g->value[v].operand;
        if (lower_is_merged(x, v)) x->lowered[v].array = x->lowered[state[1].of].array = x->lowered[state[0].of].array;
        if (x->lowered[v].stage != STATE || has_share(x, v)) continue;
        const int rank = lower_tile_axes(x, &x->g->value[v], axes);
        x->lowered[v].array = lower_new_tile(x, "state", rank, axes);
        x->l->array[x->lowered[v].array].shared = program_keeps_state(&x->c->program);
        x->l->array[x->lowered[v].array].carried = !program_keeps_state(&x->c->program);
        lower_set_constant(x, at, x->lowered[v].array, 0);
    }
}

int lower_rest(struct lowering *x, int rows, int lanes, int earlier)
{
    const int axes[2] = {rows, lanes};
    const struct expr *const first = expr_operand(x->m, 0), *const second = expr_operand(x->m, 1);
    struct ref values = lower_ref(x, &x->g->value[x->solve].operand[SOLVE_VALUES]);
    const struct array *const a = &x->l->array[values.of];
    if (earlier < 0 && a->kind == ARRAY_TILE && a->rank == 2 && a->axes[0] == rows && a->axes[1] == lanes)
        return values.of;
    const int made = lower_new_tile(x, "rest", 2, axes);
    const struct expr *const shown = earlier < 0 ? NULL
                                                 : lower_shown(x, &x->g->value[x->solve].operand[SOLVE_FEATURES]),
                             *const read = shown ? expr_select(x->m, shown, second, expr_real(x->m, 0)) : second;
    struct stmt *s = lower_assign(x, &x->end, 2, axes, made, FOLD_SET,
                                  earlier < 0 ? first : expr_sub(x->m, first, read));
    for (int k = 0; k < values.rank; k++)
        values.sub[k] = expr_replace(x->m, values.sub[k], expr_index(x->m, x->stream), expr_index(x->m, rows));
    s->operand[s->operands++] = values;
    if (earlier >= 0) s->operand[s->operands++] = loops_ref(x->l, earlier);
    return made;
}

/* Makes the statements for the keys of a chunk, up to the solution. The loop over the rows of weights has the range
   of the keys. x->lane: the axis of the rows. `state`: the array of the sum over earlier chunks. -1: values read it. */
static struct stmt *lower_keys(struct lowering *x, const bool *needed, int state)
{
    const struct value *const solve = &x->g->value[x->solve];
    struct stmt **before = lower_new_list(x), **inside = lower_new_list(x), **end = lower_new_list(x);
    const int rows = x->lane, lanes = solve->axes[solve->rank - 1];
    x->before = before;
    x->inside = inside;
    x->end = end;
    x->needed = needed;
    for (int v = 0; v < x->g->values; v++)
        if (needed[v]) lower_value(x, v);
    x->lowered[x->solve].array = lower_system(
        x, lower_rest(x, rows, lanes, state < 0 ? state : lower_earlier(x, state, rows)));
    if (program_has_transitions(&x->c->program)) x->lowered[x->solve].transition = lower_transitions(x, rows);
    name_chunk_of_rows(x, *before);
    name_chunk_of_rows(x, *inside);
    name_chunk(x, *before, true);
    name_chunk(x, *inside, true);
    *x->before = *inside;
    while (*x->before) x->before = &(*x->before)->next;
    *x->before = *end;
    return *before;
}

/* Adds the current chunk to `array`, a state of v or its transition. `solution` is the tile of the solution that the
   state sums, or -1 if the chunk's keys change the array only by the factor `keep`. */
static void add_chunk(struct lowering *x, const struct value *v, int array, int solution, struct stmt ***at)
{
    const int *const axes = x->l->array[array].axes;
    const struct expr *const first = expr_operand(x->m, 0);
    const int summed = graph_summed(v); /* other operands belong to `keep` */
    struct stmt **const begin = *at;
    lower_keep_state(x, v, array, at);
    name_chunk(x, *begin, false);
    if (solution < 0) return;
    struct ref values = {0};
    if (summed == 2)
        values = lower_if_shown(x, &v->operand[0],
                                v->operand[1].of == x->solve ? loops_ref(x->l, solution) : lower_ref(x, &v->operand[1]),
                                x->stream, axes[1], at);
    const struct ref factors = lower_ref(x, &v->operand[0]);
    const int nest[2] = {axes[0], x->stream};
    struct stmt *const s = v->op == GRAPH_REDUCE
                               ? lower_assign(x, at, 2, nest, array, FOLD_SUM, first)
                               : lower_product(x, at, axes, x->stream, factors, values, array, FOLD_SUM);
    s->operands = summed;
    s->operand[0] = factors;
}

/* Appends the statements that add the chunk to a state, and to its transition if the program has transitions. */
static void add_to_state(struct lowering *x, int number, struct stmt ***at)
{
    struct value copy = x->g->value[number], *const v = &copy;
    const struct lowered_value *const own = &x->lowered[number], *const solve = &x->lowered[x->solve];
    if (has_share(x, number)) v->keep = NULL; /* the first state carries the tile to the next chunk */
    add_chunk(x, v, own->array, solve->array, at);
    if (program_has_transitions(&x->c->program))
        add_chunk(x, v, own->transition, lower_sums_solution(x, v) ? solve->transition : -1, at);
}

void lower_solve(struct lowering *x, struct stmt **at)
{
    const char *const why = reason(x);
    if (why) {
        diagnostics_error(x->c->diagnostics, x->c->spec->delta_at, "%s", why);
        return;
    }
    const struct value *const solve = &x->g->value[x->solve], *const out = &x->g->value[x->output];
    const struct expr *const zero = expr_int(x->m, 0);
    const size_t values = (size_t)x->g->values;
    bool open[MAX_AXES] = {false}, *needed = arena_alloc(x->m->arena, values * sizeof *needed);
    int along;
    for (int k = 0; k < out->rank; k++) {
        if (!lower_run_time(x, out->axes[k]) || out->axes[k] == x->lane) continue;
        struct stmt *loop = lower_loop_over(x, &at, out->axes[k], zero, expr_size(x->m, out->axes[k]), 1);
        open[out->axes[k]] = true;
        loop->parallel = value_has_axis(solve, out->axes[k]) || !graph_is_output(x->g, x->solve);
        at = &loop->body;
    }
    x->needed = needed;
    struct stmt **const first = at;
    begin_states(x, &at);
    if (program_has_transitions(&x->c->program)) lower_begin_transitions(x, &at);
    if (program_folds_states(&x->c->program)) {
        at = first;
        lower_join(x, &at);
        return;
    }
    struct stmt *const chunks = lower_loop_over(x, &at, x->stream, zero, expr_size(x->m, x->stream),
                                                x->m->axis[x->chunk].extent);
    struct stmt **body = &chunks->body;

    struct lowering keys = *x;
    keys.whole_chunk = true;
    graph_solve_axes(x->m, solve, &along, &keys.lane);
    keys.lowered = arena_alloc(x->m->arena, values * sizeof *keys.lowered);
    memcpy(keys.lowered, x->lowered, values * sizeof *keys.lowered);
    for (int k = 0; k < solve->operands; k++) mark(x, solve->operand[k].of, needed);
    for (int v = 0; v < x->g->values; v++)
        for (int k = 0; k < x->g->value[v].operands && x->lowered[v].stage == STATE; k++)
            mark(x, x->g->value[v].operand[k].of, needed);
    const struct expr *const from = expr_lo(x->m, x->stream), *const to = expr_hi(x->m, x->stream);
    struct stmt *const rows = lower_loop_over(x, &body, keys.lane, from, to, x->m->axis[x->chunk].extent);
    const int state = state_of_solution(x);
    rows->body = lower_keys(&keys, needed, has_share(x, state) ? -1 : x->lowered[state].array);
    lower_copy_value(&keys, keys.solve, &body);

    bool *done = arena_alloc(x->m->arena, values * sizeof *done);
    for (int v = 0; v < x->g->values; v++) {
        done[v] = v == x->solve || lower_is_merged(x, v) ||
                  (needed[v] &&
                   (value_has_axis(&x->g->value[v], x->stream) || value_has_axis(&x->g->value[v], keys.lane)));
        if (done[v]) x->lowered[v] = keys.lowered[v];
    }
    x->done = done;
    x->whole_chunk = true;
    struct stmt *const queries = lower_query_body(x), **first_query = body;
    lower_query_loops(x, &body, open, false, queries);
    name_chunk(x, *first_query, false);
    struct stmt **const adds = body;
    for (int v = 0; v < x->g->values; v++)
        if (x->lowered[v].stage == STATE) add_to_state(x, v, &body);
    name_chunk(x, *adds, true);
}

/* ---- a SOLVE that is an output ---- */

struct stmt *lower_chunks(struct lowering *x, int axis, struct stmt ***at)
{
    const struct expr *const zero = expr_int(x->m, 0), *const length = expr_int(x->m, x->m->axis[x->chunk].extent);
    struct stmt *const chunks = lower_loop_over(x, at, x->chunk, zero, expr_size(x->m, x->chunk), 1);
    struct lowering order = *x;
    order.after = x->g->value[x->solve].backward;
    const struct expr *const number = lower_chunk_number(&order, expr_lo(x->m, x->chunk)),
                             *const from = expr_mul(x->m, number, length), *const to = expr_add(x->m, from, length);
    struct stmt **body = &chunks->body;
    return lower_loop_over(x, &body, axis, from, expr_min(x->m, to, expr_size(x->m, axis)),
                           x->m->axis[x->chunk].extent);
}

/* Appends the statements that add the chunk to the state that the SOLVE describes. */
static void add_solution(struct lowering *x, int state, struct stmt ***at)
{
    const struct value *const solve = &x->g->value[x->solve];
    const int *const axes = x->l->array[state].axes;
    struct stmt **const begin = *at;
    lower_keep_state(x, solve, state, at);
    name_chunk(x, *begin, solve->backward);
    lower_product(x, at, axes, x->stream, lower_ref(x, &solve->operand[SOLVE_KEYS]),
                  loops_ref(x->l, x->lowered[x->solve].array), state, FOLD_SUM);
}

void lower_solution(struct lowering *x, struct stmt **at)
{
    const struct value *const solve = &x->g->value[x->solve], *const out = &x->g->value[x->output];
    const struct expr *const zero = expr_int(x->m, 0);
    bool *const needed = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *needed);
    x->whole_chunk = true;
    x->needed = needed;
    for (int k = 0; k < out->rank; k++) {
        if (!lower_run_time(x, out->axes[k]) || out->axes[k] == x->stream) continue;
        struct stmt *loop = lower_loop_over(x, &at, out->axes[k], zero, expr_size(x->m, out->axes[k]), 1);
        loop->parallel = true;
        at = &loop->body;
    }
    for (int k = 0; k < solve->operands; k++) mark(x, solve->operand[k].of, needed);
    const struct ref *const keys = &solve->operand[SOLVE_KEYS];
    const int axes[2] = {ref_axis(keys, keys->rank - 1), solve->axes[solve->rank - 1]},
              state = lower_new_tile(x, "state", 2, axes);
    x->l->array[state].carried = true;
    lower_set_constant(x, &at, state, 0);
    struct stmt *const one = lower_chunks(x, x->stream, &at);
    struct stmt **body = &one->body;
    const struct expr *const from = expr_lo(x->m, x->stream), *const to = expr_hi(x->m, x->stream);
    struct stmt *const rows = lower_loop_over(x, &body, x->lane, from, to, x->m->axis[x->chunk].extent);
    rows->body = lower_keys(x, needed, state);
    add_solution(x, state, &body);
    lower_copy_outputs(x, false, &body);
}
