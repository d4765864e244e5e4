/* From the graph to loops. Every run-time axis of the output becomes a loop: the last of them, the queries, in tiles whose rows are the lanes; the
   others one at a time. One more run-time axis, the keys, is summed over: it becomes an inner loop in tiles. A value is a tile and a statement:
   before the loop over keys when it does not depend on them, inside it when it runs over them, after it when it needs their sums.
   A sum over keys that no query takes part in is a state. Keys come in chunks, counted from key 0, and chunks in windows: the chunks of a window are
   summed in parallel, each from zero into a slot of its own; then the slots are folded, in order, into a tile that all threads share, each element by
   one thread; and where queries want the state before their chunk, the fold leaves that in the chunk's slot, and the chunks' queries follow in
   parallel. So the bits depend neither on the threads nor on the window. */
#include "../compiler.h"

#include <math.h>
#include <string.h>

enum stage { BEFORE, INSIDE, AFTER, STATE };

struct lowering {
    struct compilation *c;
    const struct graph *g;
    struct loops *l;
    struct module *m;
    int output;       /* the value that is lowered */
    int lane, stream; /* the axes of queries and keys; stream is -1 when nothing is summed over a run-time axis */
    int chunk;        /* the axis of chunks, or -1 */
    bool prefix;      /* the graph has that axis: queries meet the state before their chunk; else the state of all keys */
    const struct expr *chunk_of, *last; /* the number of a query's chunk, as the graph says it; the query's position in that */
    int ring;         /* the axis of recent chunks, or -1 */
    int *carried, *keep, *take; /* of a state: the tile that slots are folded into; of a running maximum: the factors of what was and of what comes */
    int *array;       /* of each value */
    int *correction;  /* of a running maximum: the tile of the factor that moves sums to the new maximum */
    bool *running, *unbuilt; /* a maximum that sums are relative to; a map that its only user computes in its own nest */
    bool *minus_infinity;    /* tiles whose elements outside the region are -inf by now */
    bool *zero;              /* or 0 */
    enum stage *stage;
    struct stmt **end, **before, **inside; /* where the next statement goes */
    struct stmt **begin, **fold;           /* the same, of states: before the windows, after the chunks of one */
};

static bool run_time(const struct lowering *x, int axis)
{
    return x->m->axis[axis].source != SIZE_CONSTANT;
}

static struct stmt *append(struct lowering *x, struct stmt ***at, int op)
{
    struct stmt *s = stmt_new(x->l, op);
    **at = s;
    *at = &s->next;
    return s;
}

/* ---- tiles ---- */

/* Whether the value is of keys, and all that is made of it is states whose lanes are its last axis, as with an array as it is stored. */
static bool lanes_of_states(const struct lowering *x, const struct value *v)
{
    bool all = v->op == GRAPH_MAP && value_has_axis(v, x->stream) && !value_has_axis(v, x->lane), any = false;
    for (int w = 0; w < x->g->values && all; w++) {
        const struct value *user = &x->g->value[w];
        for (int k = 0; k < user->operands && all; k++) {
            if (&x->g->value[user->operand[k].of] != v) continue;
            int last = user->rank ? user->axes[user->rank - 1] : -1;
            any = all = x->stage[w] == STATE && user->op == GRAPH_CONTRACT && ref_uses_axis(&user->operand[k], last) &&
                        !ref_uses_axis(&user->operand[1 - k], last);
        }
    }
    return any && all;
}

/* The axes of a value's tile: constant ones first, then keys, then queries, so that the sequence is in the lanes. */
static int tile_axes(const struct lowering *x, const struct value *v, int *axes)
{
    int rank = 0;
    if (lanes_of_states(x, v)) axes[rank++] = x->stream;
    for (int k = 0; k < v->rank; k++)
        if (!run_time(x, v->axes[k])) axes[rank++] = v->axes[k];
    if (value_has_axis(v, x->stream) && (rank == 0 || axes[0] != x->stream)) axes[rank++] = x->stream;
    if (value_has_axis(v, x->lane)) axes[rank++] = x->lane;
    return rank;
}

static int new_tile(struct lowering *x, const char *name, int rank, const int *axes)
{
    struct array a = {.kind = ARRAY_TILE, .dtype = dtype_of_sums(x->m->dtype), .rank = rank, .offset = -1};
    for (int k = 0; k < rank; k++) {
        a.axes[k] = axes[k];
        a.extent[k] = axes[k] == x->lane ? x->c->tile_q : axes[k] == x->stream ? x->c->tile_k : axes[k] == x->chunk ? 1 : x->m->axis[axes[k]].extent;
    }
    a.name = loops_unused_name(x->l, name);
    return loops_array(x->l, a);
}

static const char *tile_name(const struct lowering *x, const struct value *v)
{
    bool lane = value_has_axis(v, x->lane), stream = value_has_axis(v, x->stream);
    if (v->op == GRAPH_MAP && v->expr->op == EXPR_COS) return stream ? "key_cos" : "query_cos";
    if (v->op == GRAPH_MAP && v->expr->op == EXPR_SIN) return stream ? "key_sin" : "query_sin";
    if (lane && stream) return v->op == GRAPH_CONTRACT ? "score" : "weight";
    if (stream) return "key";
    if (v == &x->g->value[x->output]) return "result";
    return "query";
}

/* The reference of the graph as one to arrays: a tile drops the axes that have one value in its loops; the chunk of a query is that of its loop. */
static struct ref lowered(const struct lowering *x, const struct ref *r)
{
    const struct value *v = &x->g->value[r->of];
    const struct array *a = &x->l->array[x->array[r->of]];
    struct ref out = *r;
    out.of = x->array[r->of];
    if (a->kind != ARRAY_TILE) return out;
    out.rank = a->rank;
    for (int k = 0; k < a->rank; k++) {
        if (a->axes[k] == x->chunk) out.sub[k] = expr_leaf(x->m, EXPR_INDEX, x->chunk);
        for (int s = 0; s < v->rank; s++)
            if (v->axes[s] == a->axes[k] && a->axes[k] != x->chunk) out.sub[k] = r->sub[s];
    }
    return out;
}

/* A MAP statement over the given axes that assigns one expression. */
static struct stmt *assign(struct lowering *x, struct stmt ***at, int rank, const int *axes, int to, enum fold fold, const struct expr *e)
{
    struct stmt *s = append(x, at, LOOPS_MAP);
    s->rank = rank;
    for (int k = 0; k < rank; k++) s->axes[k] = axes[k];
    s->assigns = 1;
    s->assign[0] = (struct assign){loops_ref(x->l, to), fold, e, 0};
    return s;
}

/* Sets all of an array, or of a chunk's slot. */
static void set_constant(struct lowering *x, struct stmt ***at, int array, double value)
{
    const struct array *a = &x->l->array[array];
    int slot = a->rank && a->axes[0] == x->chunk;
    assign(x, at, a->rank - slot, a->axes + slot, array, FOLD_SET, expr_real(x->m, value));
}

/* Where a sum over keys in f32 keeps what rounding left over; 0 for other sums. It starts at 0. */
static int new_rest(struct lowering *x, bool streamed, int to, struct stmt ***at)
{
    if (!streamed || x->m->dtype == DTYPE_F64) return 0;
    struct array a = x->l->array[to];
    int rest = new_tile(x, arena_printf(x->m->arena, "%s_rest", a.name), a.rank, a.axes);
    x->l->array[rest].shared = a.shared;
    set_constant(x, at, rest, 0);
    return rest + 1;
}

/* Keys of a chunk come in tiles; so few that their plain sums lose nothing. */
enum { FEW_TILES = 8, KEYS_AT_A_TIME = 4 };

static int64_t tiles_of_chunk(const struct lowering *x)
{
    return (x->m->axis[x->chunk].extent + x->c->tile_k - 1) / x->c->tile_k;
}

/* ---- one value at a time ---- */

/* The axes that the operands run over and v does not. */
static int summed_axes(const struct lowering *x, const struct value *v, int *axes)
{
    int rank = 0;
    for (int a = 0; a < x->m->axes; a++) {
        bool used = false;
        for (int k = 0; k < v->operands; k++) used |= ref_uses_axis(&v->operand[k], a);
        if (used && !value_has_axis(v, a)) axes[rank++] = a;
    }
    return rank;
}

/* Masked elements of the tile become what the fold ignores, unless what it is computed from already makes them so. */
static void apply_region(struct lowering *x, const struct value *sum, int operand, double neutral)
{
    int v = sum->operand[operand].of;
    const struct value *value = &x->g->value[v];
    if (!sum->where || x->minus_infinity[v] || x->zero[v] || !value_has_axis(value, x->lane) || !value_has_axis(value, x->stream)) return;
    if (neutral == 0 && value->op == GRAPH_MAP) {
        const struct expr *e = value->expr;
        for (int k = 0; k < value->operands; k++)
            if (x->minus_infinity[value->operand[k].of]) e = expr_replace(x->m, e, expr_leaf(x->m, EXPR_OPERAND, k), expr_real(x->m, -INFINITY));
        if (expr_is_real(e, 0)) return;
    }
    int axes[MAX_RANK], rank = tile_axes(x, value, axes);
    const struct expr *kept = expr_make(x->m, EXPR_SELECT, sum->where, expr_leaf(x->m, EXPR_OPERAND, 0), expr_real(x->m, neutral));
    struct stmt *s = assign(x, &x->inside, rank, axes, x->array[v], FOLD_SET, kept);
    s->operands = 1;
    s->operand[0] = loops_ref(x->l, x->array[v]);
    *(neutral == 0 ? &x->zero[v] : &x->minus_infinity[v]) = true;
}

/* The tile times the factor. */
static void rescale(struct lowering *x, struct stmt ***at, int rank, const int *axes, int tile, int factor)
{
    const struct expr *product = expr_make(x->m, EXPR_MUL, expr_leaf(x->m, EXPR_OPERAND, 0), expr_leaf(x->m, EXPR_OPERAND, 1), NULL);
    struct stmt *s = assign(x, at, rank, axes, tile, FOLD_SET, product);
    s->operand[s->operands++] = loops_ref(x->l, tile);
    s->operand[s->operands++] = loops_ref(x->l, factor);
}

/* Whether an operand over this axis is a tile that has other lanes: then the other axis of the product is its lanes. */
static bool across_lanes(const struct lowering *x, const struct value *v, int axis)
{
    for (int k = 0; k < v->operands; k++) {
        const struct array *a = &x->l->array[x->array[v->operand[k].of]];
        if (ref_uses_axis(&v->operand[k], axis) && a->kind == ARRAY_TILE && a->axes[a->rank - 1] != axis) return true;
    }
    return false;
}

static void lower_sum(struct lowering *x, int number)
{
    const struct value *v = &x->g->value[number];
    int axes[MAX_RANK], rank = tile_axes(x, v, axes), summed[MAX_AXES], count = summed_axes(x, v, summed);
    bool streamed = false;
    for (int k = 0; k < count; k++) streamed |= summed[k] == x->stream;
    bool maximum = v->op == GRAPH_REDUCE && v->fold == FOLD_MAX;
    bool inside = streamed || value_has_axis(v, x->stream), state = x->stage[number] == STATE;
    if (state && v->op == GRAPH_CONTRACT && rank == 2 && across_lanes(x, v, axes[1])) {
        int first = axes[0];
        axes[0] = axes[1];
        axes[1] = first;
    }
    int slot[MAX_RANK] = {x->chunk};
    memcpy(slot + 1, axes, (size_t)rank * sizeof *axes);
    int to = state ? new_tile(x, "state", rank + 1, slot)
                   : new_tile(x,
                              !streamed               ? tile_name(x, v)
                              : maximum               ? "row_max"
                              : v->op == GRAPH_REDUCE ? "row_sum"
                                                      : "sum",
                              rank, axes);
    x->array[number] = to;
    bool whole = state && tiles_of_chunk(x) == 1, piled = streamed && !(state && tiles_of_chunk(x) <= FEW_TILES);
    struct stmt ***at = inside ? &x->inside : x->stage[number] == BEFORE ? &x->before : &x->end;
    int factor = v->online >= 0 && !whole ? x->correction[v->online] : -1;

    /* a product of two arrays over one axis, lanes last */
    int lane = rank == 2 ? axes[1] : -1, row = -1;
    if (v->op == GRAPH_CONTRACT && rank == 2 && count == 1) {
        const struct ref read[2] = {lowered(x, &v->operand[0]), lowered(x, &v->operand[1])};
        for (int k = 0; k < 2; k++)
            if (ref_uses_axis(&read[k], lane) && !ref_uses_axis(&read[k], axes[0]) && !ref_uses_axis(&read[1 - k], lane)) row = 1 - k;
    }
    if (row >= 0) {
        if (streamed) {
            if (!whole) set_constant(x, &x->before, to, 0);
            apply_region(x, v, 1 - row, 0);
        }
        int rest = new_rest(x, piled, to, &x->before);
        if (state && factor >= 0) { /* by rows, not lanes */
            rescale(x, at, rank, axes, to, factor);
            if (rest) rescale(x, at, rank, axes, rest - 1, factor);
            factor = -1;
        }
        struct stmt *s = append(x, at, LOOPS_DOT);
        s->rank = 2;
        s->axes[0] = axes[0];
        s->axes[1] = lane;
        s->axis = summed[0];
        s->operands = 2;
        s->operand[0] = lowered(x, &v->operand[row]);
        s->operand[1] = lowered(x, &v->operand[1 - row]);
        if (factor >= 0) s->operand[s->operands++] = loops_ref(x->l, factor);
        if (streamed && !state) s->where = v->where;
        s->assigns = 1;
        s->assign[0] = (struct assign){loops_ref(x->l, to), streamed && !whole ? FOLD_SUM : FOLD_SET, NULL, rest};
        return;
    }

    set_constant(x, streamed ? &x->before : at, to, v->op == GRAPH_REDUCE ? v->init : 0);
    int old = -1;
    if (maximum && x->running[number] && !whole) {
        old = new_tile(x, "old_max", rank, axes);
        struct stmt *s = assign(x, at, rank, axes, old, FOLD_SET, expr_leaf(x->m, EXPR_OPERAND, 0));
        s->operand[s->operands++] = loops_ref(x->l, to);
    }
    for (int k = 0; k < v->operands && streamed; k++) apply_region(x, v, k, maximum ? -INFINITY : 0);
    int rest = new_rest(x, piled && !maximum, to, &x->before);
    if (factor >= 0) rescale(x, at, rank, axes, to, factor);
    if (factor >= 0 && rest) rescale(x, at, rank, axes, rest - 1, factor);
    /* The axes of the sum inside those of the result, so that a sum can stay in a register, but the lanes last: those of the result, or of the keys
       where the result has no sequence. */
    int nest[MAX_RANK], outer = state || rank == 0 ? rank : rank - 1;
    for (int k = 0; k < outer; k++) nest[k] = axes[k];
    for (int k = 0; k < count; k++) nest[outer + k] = summed[k];
    if (outer < rank) nest[outer + count] = axes[outer];
    struct stmt *s = assign(x, at, count + rank, nest, to, maximum ? FOLD_MAX : FOLD_SUM, expr_leaf(x->m, EXPR_OPERAND, 0));
    s->assign[0].rest = rest;
    const struct value *from = &x->g->value[v->operand[0].of];
    if (x->unbuilt[v->operand[0].of]) {
        s->assign[0].expr = from->expr;
        s->operands = from->operands;
        for (int k = 0; k < from->operands; k++) s->operand[k] = lowered(x, &from->operand[k]);
    } else {
        s->operands = v->operands;
        for (int k = 0; k < v->operands; k++) s->operand[k] = lowered(x, &v->operand[k]);
        if (v->operands == 2) s->assign[0].expr = expr_make(x->m, EXPR_MUL, expr_leaf(x->m, EXPR_OPERAND, 0), expr_leaf(x->m, EXPR_OPERAND, 1), NULL);
        if (v->operands == 2 && v->where && !state) s->assign[0].expr = expr_make(x->m, EXPR_SELECT, v->where, s->assign[0].expr, expr_real(x->m, 0));
    }
    if (old >= 0) {
        x->correction[number] = new_tile(x, "rescale", rank, axes);
        const struct expr *change = expr_make(x->m, EXPR_SUB, expr_leaf(x->m, EXPR_OPERAND, 0), expr_leaf(x->m, EXPR_OPERAND, 1), NULL);
        s = assign(x, at, rank, axes, x->correction[number], FOLD_SET, expr_make(x->m, EXPR_EXP2, change, NULL, NULL));
        s->operand[s->operands++] = loops_ref(x->l, old);
        s->operand[s->operands++] = loops_ref(x->l, to);
    }
}

static void lower_array(struct lowering *x, int number, enum array_kind kind)
{
    const struct value *v = &x->g->value[number];
    struct array a = {.kind = kind, .name = v->name, .dtype = dtype_of_sums(x->m->dtype), .rank = v->rank, .offset = -1, .data = v->data};
    if (kind == ARRAY_INPUT) a.dtype = x->m->dtype;
    if (kind == ARRAY_TABLE) a.dtype = DTYPE_F64;
    for (int k = 0; k < v->rank; k++) a.axes[k] = v->axes[k];
    if (v->integers) a.dtype = DTYPE_I32;
    for (int k = 0; k < x->l->arrays; k++) /* several outputs share it */
        if (x->l->array[k].kind == kind && strcmp(x->l->array[k].name, v->name) == 0) {
            x->array[number] = k;
            return;
        }
    x->array[number] = loops_array(x->l, a);
}

/* ---- the whole ---- */

static bool has_stream(const struct lowering *x, const struct value *v)
{
    for (int k = 0; k < v->operands; k++)
        if (ref_uses_axis(&v->operand[k], x->stream)) return true;
    return false;
}

/* Finds the axes of the loops; false (reported) when there is more to sum over than one axis. */
static bool find_axes(struct lowering *x)
{
    struct roles roles;
    const char *wrong = roles_of(x->g, 0, &roles);
    if (wrong) diagnostics_error(x->c->diagnostics, (struct position){0, 0}, "%s", wrong);
    x->output = x->g->output[0].value;
    x->lane = roles.lane;
    x->stream = roles.stream;
    x->chunk = roles.chunk;
    x->prefix = x->chunk >= 0;
    return !wrong;
}

/* Sets stages; false (reported) when one pass over the keys is not enough. */
static bool classify(struct lowering *x)
{
    const struct graph *g = x->g;
    int *users = arena_alloc(x->m->arena, (size_t)g->values * sizeof *users);
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].online >= 0) x->running[g->value[v].online] = true;
        for (int k = 0; k < g->value[v].operands; k++) users[g->value[v].operand[k].of]++;
    }
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        bool sums = value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE, streams = value_has_axis(value, x->stream);
        x->stage[v] = streams ? INSIDE : BEFORE;
        if (sums && !streams && !value_has_axis(value, x->lane) && has_stream(x, value)) {
            x->stage[v] = STATE;
            continue;
        }
        for (int k = 0; k < value->operands; k++) {
            int u = value->operand[k].of;
            if (x->stage[u] == AFTER && streams && !x->running[u]) {
                diagnostics_error(x->c->diagnostics, (struct position){0, 0}, "a weight that depends on a sum over all keys is not compiled yet");
                return false;
            }
            if (!streams && (x->stage[u] == AFTER || x->stage[u] == INSIDE)) x->stage[v] = AFTER;
            x->unbuilt[u] |= value->op == GRAPH_REDUCE && !value->where && g->value[u].op == GRAPH_MAP && users[u] == 1 && sums;
            if (x->stage[u] != STATE || !x->prefix) continue;
            for (int s = 0; s < g->value[u].rank; s++)
                if (g->value[u].axes[s] == x->chunk && ref_axis(&value->operand[k], s) < 0) {
                    const struct expr *number = x->chunk_of = value->operand[k].sub[s];
                    x->last = (number->op == EXPR_DIV ? number->arg[0] : number)->arg[0]; /* of max(position, 0) / length; no length: 1 */
                }
        }
    }
    return true;
}

/* Marks the values over keys that v is computed from. */
static void mark_needed(const struct lowering *x, int v, bool *needed)
{
    for (int k = 0; k < x->g->value[v].operands; k++) {
        int u = x->g->value[v].operand[k].of;
        if (needed[u] || x->stage[u] == AFTER || x->stage[u] == STATE) continue;
        needed[u] = true;
        mark_needed(x, u, needed);
    }
}

static void lower_value(struct lowering *x, int v)
{
    const struct value *value = &x->g->value[v];
    switch (value->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE: break; /* arrays already */
    case GRAPH_MAP: {
        if (x->unbuilt[v]) break;
        int axes[MAX_RANK], rank = tile_axes(x, value, axes);
        x->array[v] = new_tile(x, tile_name(x, value), rank, axes);
        struct stmt ***list = x->stage[v] == BEFORE ? &x->before : x->stage[v] == INSIDE ? &x->inside : &x->end;
        struct stmt *s = assign(x, list, rank, axes, x->array[v], FOLD_SET, value->expr);
        s->operands = value->operands;
        for (int k = 0; k < value->operands; k++) s->operand[k] = lowered(x, &value->operand[k]);
        break;
    }
    case GRAPH_CONTRACT:
    case GRAPH_REDUCE: lower_sum(x, v); break;
    }
}

static struct stmt **new_list(struct lowering *x)
{
    return arena_alloc(x->m->arena, sizeof(struct stmt *));
}

static struct stmt *loop_over(struct lowering *x, struct stmt ***at, int axis, const struct expr *from, const struct expr *to, int64_t step)
{
    struct stmt *loop = append(x, at, LOOPS_FOR);
    loop->axis = axis;
    loop->from = from;
    loop->to = to;
    loop->step = step;
    return loop;
}

/* The values of one of the loops over keys: the sums of the given stage and all that they need. Returns the region they share, or NULL. */
static const struct expr *lower_values(struct lowering *x, enum stage sums)
{
    bool *needed = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *needed);
    for (int v = 0; v < x->g->values; v++)
        if (sums == STATE ? x->stage[v] == STATE : x->stage[v] == AFTER || x->stage[v] == BEFORE) {
            needed[v] = true;
            mark_needed(x, v, needed);
        }
    const struct expr *region = NULL;
    bool first = true;
    for (int v = 0; v < x->g->values; v++) {
        if (!needed[v]) continue;
        lower_value(x, v);
        if (x->stage[v] != AFTER || !has_stream(x, &x->g->value[v])) continue;
        region = first ? x->g->value[v].where : region == x->g->value[v].where ? region : NULL;
        first = false;
    }
    return region;
}

/* In a loop over chunks a query's chunk is that loop's; the keys of a state's loop are those of the chunk. */
static void name_chunks(struct lowering *x, struct stmt *s)
{
    const struct expr *own = expr_leaf(x->m, EXPR_INDEX, x->chunk);
    for (; s; s = s->next) {
        if (s->where) s->where = expr_replace(x->m, s->where, x->chunk_of, own);
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].expr) s->assign[k].expr = expr_replace(x->m, s->assign[k].expr, x->chunk_of, own);
        name_chunks(x, s->body);
    }
}

/* Keys are summed for the chunk after their own. */
static void name_next_chunk(struct lowering *x, struct stmt *s)
{
    const struct expr *own = expr_leaf(x->m, EXPR_INDEX, x->chunk), *next = expr_make(x->m, EXPR_ADD, own, expr_int(x->m, 1), NULL);
    for (; s; s = s->next) {
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].expr) s->assign[k].expr = expr_replace(x->m, s->assign[k].expr, own, next);
        name_next_chunk(x, s->body);
    }
}

/* The first query whose last key is `least` or one after it; it may be negative. Last keys do not fall from query to query. */
static const struct expr *first_query(const struct lowering *x, const struct expr *last, const struct expr *least)
{
    const struct expr *zero = expr_int(x->m, 0), *none = expr_leaf(x->m, EXPR_SIZE, x->lane);
    if (!expr_has(last, EXPR_INDEX)) return expr_make(x->m, EXPR_SELECT, expr_make(x->m, EXPR_LE, least, last, NULL), zero, none);
    if (last->op == EXPR_MIN || last->op == EXPR_MAX) {
        const struct expr *a = first_query(x, last->arg[0], least), *b = first_query(x, last->arg[1], least);
        return expr_make(x->m, last->op == EXPR_MIN ? EXPR_MAX : EXPR_MIN, a, b, NULL);
    }
    const struct expr *shift = expr_replace(x->m, last, expr_leaf(x->m, EXPR_INDEX, x->lane), zero);
    return expr_make(x->m, EXPR_SUB, least, shift, NULL);
}

/* The loops over the queries of a tile: `body` in a loop over the queries, in loops over the axes that are not yet `open`. */
static void query_loops(struct lowering *x, struct stmt ***at, const bool *open, bool parallel, struct stmt *body)
{
    const struct value *out = &x->g->value[x->output];
    struct stmt **inner = *at, **first = *at;
    const struct expr *zero = expr_int(x->m, 0);
    for (int k = 0; k < out->rank; k++) {
        int axis = out->axes[k];
        if (!run_time(x, axis) || open[axis]) continue;
        const struct expr *from = zero, *to = expr_leaf(x->m, EXPR_SIZE, axis);
        if (axis == x->lane && x->prefix) { /* those whose last key is in the chunk; the first chunk has those that see none, too */
            const struct expr *chunk = expr_leaf(x->m, EXPR_LO, x->chunk), *length = expr_int(x->m, x->m->axis[x->chunk].extent);
            const struct expr *begin = expr_make(x->m, EXPR_MUL, chunk, length, NULL);
            const struct expr *end = expr_make(x->m, EXPR_MUL, expr_make(x->m, EXPR_ADD, chunk, expr_int(x->m, 1), NULL), length, NULL);
            const struct expr *none_before = expr_make(x->m, EXPR_EQ, chunk, zero, NULL);
            from = expr_make(x->m, EXPR_SELECT, none_before, zero, expr_make(x->m, EXPR_MAX, zero, first_query(x, x->last, begin), NULL));
            to = expr_make(x->m, EXPR_MIN, to, first_query(x, x->last, end), NULL);
        }
        struct stmt *loop = loop_over(x, &inner, axis, from, to, axis == x->lane ? x->c->tile_q : 1);
        loop->parallel = parallel;
        if (first == *at) *at = inner; /* after the outermost */
        inner = &loop->body;
    }
    *inner = body;
}

/* Three lists, joined to the body of the queries' loop: what comes before the loop over keys, its body, and what comes after it. */
static struct stmt *query_body(struct lowering *x)
{
    struct stmt **before = new_list(x), **inside = new_list(x), **after = new_list(x);
    x->before = before;
    x->inside = inside;
    x->end = after;
    const struct expr *region = lower_values(x, AFTER);
    const struct value *out = &x->g->value[x->output];
    struct stmt *copy = append(x, &x->end, LOOPS_COPY); /* the result leaves its tile */
    struct array a = {.kind = ARRAY_OUTPUT, .name = x->g->output[0].name, .dtype = x->m->dtype, .rank = out->rank, .offset = -1};
    for (int k = 0; k < out->rank; k++) a.axes[k] = out->axes[k];
    int output = loops_array(x->l, a);
    copy->rank = tile_axes(x, out, copy->axes);
    copy->operands = 1;
    copy->operand[0] = loops_ref(x->l, x->array[x->output]);
    copy->assigns = 1;
    copy->assign[0] = (struct assign){loops_ref(x->l, output), FOLD_SET, NULL, 0};
    if (*inside) {
        struct stmt *loop = loop_over(x, &x->before, x->stream, expr_int(x->m, 0), expr_leaf(x->m, EXPR_SIZE, x->stream), x->c->tile_k);
        loop->where = region;
        loop->body = *inside;
    }
    *x->before = *after;
    if (x->prefix) name_chunks(x, *before);
    return *before;
}

/* 1 - keep: what a sum loses; of a choice, a choice. */
static const struct expr *lost(struct module *m, const struct expr *keep)
{
    if (keep->op == EXPR_SELECT) return expr_make(m, EXPR_SELECT, keep->arg[0], lost(m, keep->arg[1]), lost(m, keep->arg[2]));
    return expr_make(m, EXPR_SUB, expr_real(m, 1), keep, NULL);
}

/* One element of the chunks' slots after the other, in order: the carried tile takes in the slot, which gets what was carried before it where queries
   want that. Sums relative to a running maximum move with it. Of a sum that keeps almost all, what it loses is subtracted: 1 - 2^-20 in f32 would be off
   by a few percent of 2^-20 at every chunk. */
static void fold_state(struct lowering *x, int number)
{
    const struct value *v = &x->g->value[number];
    const struct array *slot = &x->l->array[x->array[number]];
    int rank = slot->rank - 1, axes[MAX_RANK], online = v->online;
    for (int k = 0; k < rank; k++) axes[k] = slot->axes[k + 1];
    bool maximum = v->op == GRAPH_REDUCE && v->fold == FOLD_MAX;
    int carried = new_tile(x, "carried", rank, axes);
    x->l->array[carried].shared = true;
    x->carried[number] = carried;
    set_constant(x, &x->begin, carried, v->op == GRAPH_REDUCE ? v->init : 0);
    int rest = new_rest(x, !maximum, carried, &x->begin), old = new_tile(x, "before", rank, axes);

    const struct expr *of[4], *sum;
    for (int k = 0; k < 4; k++) of[k] = expr_leaf(x->m, EXPR_OPERAND, k);
    struct stmt *s = assign(x, &x->fold, rank, axes, old, FOLD_SET, of[0]);
    s->operands = 4;
    s->operand[0] = loops_ref(x->l, carried);
    s->operand[1] = loops_ref(x->l, x->array[number]);
    s->operand[2] = s->operand[3] = loops_ref(x->l, old);
    sum = of[1];
    const struct expr *times = expr_real(x->m, 1);
    if (online >= 0) {
        s->operand[2] = loops_ref(x->l, x->keep[online]);
        s->operand[3] = loops_ref(x->l, x->take[online]);
        times = of[2];
        sum = expr_make(x->m, EXPR_MUL, of[1], of[3], NULL);
    }
    const struct expr *keep = v->keep, *goes_on = NULL, *zero = expr_real(x->m, 0);
    if (keep && keep->op == EXPR_SELECT && expr_is_real(keep->arg[2], 0)) { /* what does not go on is forgotten, whatever it was */
        goes_on = keep->arg[0];
        keep = keep->arg[1];
    }
    if (keep) {
        const struct expr *little = expr_make(x->m, EXPR_LT, keep, expr_real(x->m, 0.5), NULL), *one = expr_real(x->m, 1);
        const struct expr *loss = expr_make(x->m, EXPR_SELECT, little, zero, lost(x->m, keep));
        times = expr_make(x->m, EXPR_MUL, times, expr_make(x->m, EXPR_SELECT, little, keep, one), NULL);
        if (!expr_is_real(loss, 0)) sum = expr_make(x->m, EXPR_SUB, sum, expr_make(x->m, EXPR_MUL, of[0], loss, NULL), NULL);
    }
    if (goes_on || !expr_is_real(times, 1)) {
        const struct expr *stays_of = expr_make(x->m, EXPR_MUL, of[0], times, NULL);
        if (goes_on) stays_of = expr_make(x->m, EXPR_SELECT, goes_on, stays_of, zero);
        s->assign[s->assigns++] = (struct assign){loops_ref(x->l, carried), FOLD_SET, stays_of, 0};
        if (rest) {
            s->operand[s->operands++] = loops_ref(x->l, rest - 1);
            const struct expr *left = expr_make(x->m, EXPR_MUL, expr_leaf(x->m, EXPR_OPERAND, 4), times, NULL);
            if (goes_on) left = expr_make(x->m, EXPR_SELECT, goes_on, left, zero);
            s->assign[s->assigns++] = (struct assign){loops_ref(x->l, rest - 1), FOLD_SET, left, 0};
        }
    }
    s->assign[s->assigns++] = (struct assign){loops_ref(x->l, carried), maximum ? FOLD_MAX : FOLD_SUM, sum, rest};
    if (x->running[number]) {
        x->keep[number] = new_tile(x, "keep", rank, axes);
        x->take[number] = new_tile(x, "take", rank, axes);
        const struct expr *moved = expr_make(x->m, EXPR_SUB, of[2], of[0], NULL), *joins = expr_make(x->m, EXPR_SUB, of[1], of[0], NULL);
        s->assign[s->assigns++] = (struct assign){loops_ref(x->l, x->keep[number]), FOLD_SET, expr_make(x->m, EXPR_EXP2, moved, NULL, NULL), 0};
        s->assign[s->assigns++] = (struct assign){loops_ref(x->l, x->take[number]), FOLD_SET, expr_make(x->m, EXPR_EXP2, joins, NULL, NULL), 0};
    }
    int stays = s->operands++;
    s->operand[stays] = loops_ref(x->l, old);
    if (x->prefix) s->assign[s->assigns++] = (struct assign){s->operand[1], FOLD_SET, expr_leaf(x->m, EXPR_OPERAND, stays), 0};
}

/* The chunks before a query's own that a state is of, where the region of its keys has a beginning; 0: all of them. */
static int64_t reach_of(const struct lowering *x, const struct value *state)
{
    if (!x->prefix || !state->where || state->where->op != EXPR_AND) return 0;
    const struct expr *first = expr_replace(x->m, state->where->arg[0]->arg[0], expr_leaf(x->m, EXPR_INDEX, x->chunk), expr_int(x->m, 0));
    return -first->integer / x->m->axis[x->chunk].extent;
}

/* The same of a state of the last so many chunks: these are kept, in a ring, and summed anew for every chunk. */
static void fold_recent(struct lowering *x, int number, int64_t reach)
{
    const struct value *v = &x->g->value[number];
    const struct array *slot = &x->l->array[x->array[number]];
    bool maximum = v->op == GRAPH_REDUCE && v->fold == FOLD_MAX;
    double none = v->op == GRAPH_REDUCE ? v->init : 0;
    if (x->ring < 0) x->ring = module_axis(x->m, "back", SIZE_CONSTANT, reach);
    int rank = slot->rank, axes[MAX_RANK] = {x->ring}, online = v->online;
    for (int k = 1; k < rank; k++) axes[k] = slot->axes[k];
    int recent = new_tile(x, "recent", rank, axes), before = new_tile(x, "before", rank - 1, axes + 1);
    x->l->array[recent].shared = true;
    x->carried[number] = before;
    set_constant(x, &x->begin, recent, none);
    set_constant(x, &x->fold, before, none);
    const struct expr *of[2] = {expr_leaf(x->m, EXPR_OPERAND, 0), expr_leaf(x->m, EXPR_OPERAND, 1)};
    struct stmt *s = assign(x, &x->fold, rank, axes, before, maximum ? FOLD_MAX : FOLD_SUM, online < 0 ? of[0] : expr_make(x->m, EXPR_MUL, of[0], of[1], NULL));
    s->operand[s->operands++] = loops_ref(x->l, recent);
    if (online >= 0) s->operand[s->operands++] = loops_ref(x->l, x->take[online]);
    if (x->running[number]) {
        x->take[number] = new_tile(x, "take", rank, axes);
        s = assign(x, &x->fold, rank, axes, x->take[number], FOLD_SET, expr_make(x->m, EXPR_EXP2, expr_make(x->m, EXPR_SUB, of[0], of[1], NULL), NULL, NULL));
        s->operand[s->operands++] = loops_ref(x->l, recent);
        s->operand[s->operands++] = loops_ref(x->l, before);
    }
    s = assign(x, &x->fold, rank - 1, axes + 1, recent, FOLD_SET, of[0]);
    s->assign[0].to.sub[0] = expr_make(x->m, EXPR_MOD, expr_leaf(x->m, EXPR_INDEX, x->chunk), expr_int(x->m, reach), NULL);
    s->operand[s->operands++] = loops_ref(x->l, x->array[number]);
    s->operand[s->operands++] = loops_ref(x->l, before);
    s->assign[s->assigns++] = (struct assign){s->operand[0], FOLD_SET, of[1], 0};
}

/* The loop of all threads over the first axis of the states, so many elements at a time, around `body`. */
static void states_loop(struct lowering *x, struct stmt ***at, int axis, struct stmt *body)
{
    enum { AT_A_TIME = 32 };
    struct stmt *loop = loop_over(x, at, axis, expr_int(x->m, 0), expr_leaf(x->m, EXPR_SIZE, axis), AT_A_TIME);
    loop->parallel = true;
    loop->body = body;
}

/* Makes the loops that begin the states with this first axis and fold them, the latter for one chunk. False when there are none. */
static bool fold_states(struct lowering *x, int axis, struct stmt ***begin, struct stmt ***fold)
{
    struct stmt **begins = new_list(x), **folds = new_list(x), *first = NULL;
    bool any = false;
    x->begin = begins;
    x->fold = folds;
    for (int v = 0; v < x->g->values; v++) {
        if (x->stage[v] != STATE || x->l->array[x->array[v]].axes[1] != axis) continue;
        int64_t reach = reach_of(x, &x->g->value[v]);
        if (reach)
            fold_recent(x, v, reach);
        else
            fold_state(x, v);
        any = true;
    }
    if (!any) return false;
    states_loop(x, begin, axis, *begins);
    struct stmt **inner = &first;
    loop_over(x, &inner, x->chunk, expr_leaf(x->m, EXPR_LO, x->chunk), expr_leaf(x->m, EXPR_HI, x->chunk), 1)->body = *folds;
    states_loop(x, fold, axis, first);
    return true;
}

/* States, and queries that meet them. */
static void lower_states(struct lowering *x, struct stmt **at)
{
    bool open[MAX_AXES] = {false};
    const struct value *out = &x->g->value[x->output];
    struct stmt **before = new_list(x), **inside = new_list(x), **begin = new_list(x), **fold = new_list(x);
    const struct expr *zero = expr_int(x->m, 0), *end = expr_leaf(x->m, EXPR_SIZE, x->stream);
    for (int v = 0; v < x->g->values; v++) { /* where a state is cut for the threads */
        const struct value *state = &x->g->value[v];
        bool cut = x->stage[v] != STATE;
        for (int k = 0; k < state->rank; k++) cut |= !run_time(x, state->axes[k]);
        if (cut) continue;
        diagnostics_error(x->c->diagnostics, (struct position){0, 0}, "a sum over keys that is one number is not compiled yet");
        return;
    }
    for (int k = 0; k < out->rank; k++) { /* every state is of one head */
        bool shared = run_time(x, out->axes[k]);
        for (int v = 0; v < x->g->values; v++) shared &= x->stage[v] != STATE || value_has_axis(&x->g->value[v], out->axes[k]);
        if (!shared) continue;
        struct stmt *loop = loop_over(x, &at, out->axes[k], zero, expr_leaf(x->m, EXPR_SIZE, out->axes[k]), 1);
        loop->parallel = open[out->axes[k]] = true;
        at = &loop->body;
    }
    x->before = before;
    x->inside = inside;
    x->end = new_list(x);
    lower_values(x, STATE);
    name_next_chunk(x, *before);
    name_next_chunk(x, *inside);
    struct stmt **begin_end = begin, **fold_end = fold;
    for (int a = 0; a < x->m->axes; a++) fold_states(x, a, &begin_end, &fold_end);
    *at = *begin;
    while (*at) at = &(*at)->next;
    struct stmt *window = loop_over(x, &at, x->chunk, zero, expr_leaf(x->m, EXPR_SIZE, x->chunk), 1);
    window->window = true;
    /* the keys of the chunks */
    const struct expr *chunk = expr_leaf(x->m, EXPR_LO, x->chunk), *length = expr_int(x->m, x->m->axis[x->chunk].extent);
    const struct expr *first = expr_leaf(x->m, EXPR_LO, x->chunk), *last = expr_leaf(x->m, EXPR_HI, x->chunk);
    const struct expr *from = expr_make(x->m, EXPR_MUL, chunk, length, NULL);
    const struct expr *to = expr_make(x->m, EXPR_MIN, end, expr_make(x->m, EXPR_MUL, expr_make(x->m, EXPR_ADD, chunk, expr_int(x->m, 1), NULL), length, NULL),
                                      NULL);
    const struct expr *seen = NULL;
    for (int v = 0; v < x->g->values && !x->prefix; v++) { /* without the keys that no query sees */
        const struct expr *where = x->stage[v] == STATE ? x->g->value[v].where : NULL;
        if (!where || where == seen) continue;
        seen = where;
        if (where->op != EXPR_LT || where->arg[0] != expr_leaf(x->m, EXPR_INDEX, x->stream) || expr_has(where->arg[1], EXPR_INDEX)) {
            diagnostics_error(x->c->diagnostics, (struct position){0, 0}, "a state of such a region is not compiled yet");
            return;
        }
        to = expr_make(x->m, EXPR_MIN, to, where->arg[1], NULL);
    }
    struct stmt **in_window = &window->body, *keys = loop_over(x, &in_window, x->chunk, first, last, 1);
    keys->parallel = true;
    loop_over(x, &x->before, x->stream, from, to, x->c->tile_k)->body = *inside;
    keys->body = *before;
    *in_window = *fold;
    while (*in_window) in_window = &(*in_window)->next;
    for (int v = 0; v < x->g->values && !x->prefix; v++)
        if (x->stage[v] == STATE) x->array[v] = x->carried[v];
    struct stmt *body = query_body(x);
    if (x->prefix) {
        struct stmt *queries = loop_over(x, &in_window, x->chunk, first, last, 1), **in_chunk = &queries->body;
        queries->parallel = true;
        query_loops(x, &in_chunk, open, false, body);
    } else
        query_loops(x, &at, open, true, body);
}

/* One output of a graph that has no other, to *at. */
static void lower_output(struct compilation *c, const struct graph *g, struct stmt **at)
{
    struct arena *arena = g->module->arena;
    size_t n = (size_t)g->values;
    struct lowering lowering = {.c = c, .g = g, .m = g->module, .l = c->loops, .lane = -1, .stream = -1, .chunk = -1, .ring = -1}, *x = &lowering;
    x->array = arena_alloc(arena, n * sizeof *x->array);
    x->correction = arena_alloc(arena, n * sizeof *x->correction);
    x->running = arena_alloc(arena, n * sizeof *x->running);
    x->unbuilt = arena_alloc(arena, n * sizeof *x->unbuilt);
    x->minus_infinity = arena_alloc(arena, n * sizeof *x->minus_infinity);
    x->zero = arena_alloc(arena, n * sizeof *x->zero);
    x->stage = arena_alloc(arena, n * sizeof *x->stage);
    x->carried = arena_alloc(arena, n * sizeof *x->carried);
    x->keep = arena_alloc(arena, n * sizeof *x->keep);
    x->take = arena_alloc(arena, n * sizeof *x->take);
    if (!find_axes(x) || !classify(x)) return;
    bool states = false;
    for (int v = 0; v < x->g->values; v++) {
        states |= x->stage[v] == STATE;
        enum graph_op op = x->g->value[v].op;
        if (op == GRAPH_INPUT) lower_array(x, v, ARRAY_INPUT);
        if (op == GRAPH_PARAM) lower_array(x, v, ARRAY_PARAM);
        if (op == GRAPH_TABLE) lower_array(x, v, ARRAY_TABLE);
    }
    if (states) {
        if (!x->prefix)
            x->chunk = module_axis(x->m, module_find_axis(x->m, "chunk") < 0 ? "chunk" : arena_printf(arena, "chunk%d", x->m->axes), SIZE_CHUNKS,
                                   KEYS_AT_A_TIME * c->tile_k);
        lower_states(x, at);
        return;
    }
    query_loops(x, &at, (bool[MAX_AXES]){false}, true, query_body(x));
}

/* Each output has loops of its own, in its own roles, and computes again what it shares with others. */
void pass_lower(struct compilation *c)
{
    c->loops = loops_new(c->graph->module);
    for (int o = 0; o < c->graph->outputs; o++) {
        struct graph *g = c->graph;
        if (g->outputs > 1) {
            g = graph_copy(g);
            g->output[0] = g->output[o];
            g->outputs = 1;
            graph_sweep(g);
        }
        struct stmt **end = &c->loops->body;
        while (*end) end = &(*end)->next;
        lower_output(c, g, end);
    }
}
