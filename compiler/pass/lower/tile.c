/* Makes tiles, statements and references, and classifies values. */
#include "lower.h"
#include "../../analysis/analysis.h"

#include <math.h>
#include <string.h>

bool lower_run_time(const struct lowering *x, int axis)
{
    return !axis_is_whole(&x->m->axis[axis]) || x->one_by_one >> axis & 1;
}

bool lower_of_pairs(const struct lowering *x, const struct value *v)
{
    const uint32_t sequences = value_axes(v) & axes_of_sequences(x->m);
    if (x->last_axis) return (sequences & (sequences - 1)) != 0;
    return value_has_axis(v, x->stream) && (value_has_axis(v, x->lane) || value_has_axis(v, x->rows));
}

bool lower_has_slices(const struct lowering *x, const struct value *v)
{
    return x->slices >= 0 && value_has_axis(v, x->slices);
}

struct stmt *lower_append(struct lowering *x, struct stmt ***at, int op)
{
    struct stmt *s = stmt_new(x->l, op);
    **at = s;
    *at = &s->next;
    return s;
}

/* Whether v is a map over keys that is only summed into states, by products with vectors. Then its tile has the layout
   of an array of the caller, with the keys first. */
static bool lanes_of_states(const struct lowering *x, const struct value *v)
{
    bool all = v->op == GRAPH_MAP && value_has_axis(v, x->stream) && !value_has_axis(v, x->lane), any = false;
    for (int w = 0; w < x->g->values && all; w++) {
        const struct value *user = &x->g->value[w];
        for (int k = 0; k < user->operands && all && x->needed[w]; k++) {
            if (&x->g->value[user->operand[k].of] != v) continue;
            int last = user->rank ? user->axes[user->rank - 1] : -1;
            any = all = x->lowered[w].stage == STATE && user->op == GRAPH_CONTRACT &&
                        ref_uses_axis(&user->operand[k], last) && !ref_uses_axis(&user->operand[1 - k], last) &&
                        (ref_axes(&user->operand[1 - k]) & axes_with_size(x->m, SIZE_CONSTANT));
        }
    }
    return any && all;
}

bool lower_fills_vectors(const struct lowering *x, const struct axis *elements)
{
    return elements->extent % (x->c->target->vector_bytes / dtype_bytes(dtype_of_sums(x->c->spec->dtype))) == 0;
}

/* Whether v is a sum of terms with exponentials that the loops over chunks can compute for each term. */
static bool sums_exponentials(const struct lowering *x, const struct value *v)
{
    const int of = v->operand[0].of;
    const struct value *const terms = &x->g->value[of];
    int users = 0;
    if (v->op != GRAPH_REDUCE || v->fold != FOLD_SUM || v->init != 0 || x->chunk < 0) return false;
    for (int u = of + 1; u < x->g->values; u++)
        for (int k = 0; k < x->g->value[u].operands; k++) users += x->g->value[u].operand[k].of == of;
    return terms->op == GRAPH_MAP && expr_has(terms->expr, EXPR_EXP2) && users == 1 &&
           graph_is_plain(x->g, &v->operand[0]) && x->m->dtype == dtype_of_sums(x->m->dtype) &&
           x->m->axis[x->chunk].extent <= MAX_CHUNK_OF_ELEMENTS;
}

int lower_decayed_elements(const struct lowering *x, const struct value *v)
{
    if (!v->where || !v->rank || !sums_exponentials(x, v)) return -1;
    const int last = v->axes[v->rank - 1];
    const uint32_t sequences = axes_of_sequences(x->m),
                   summed = value_axes(&x->g->value[v->operand[0].of]) & ~value_axes(v);
    return axes_only(summed & sequences) >= 0 && axes_only(value_axes(v) & sequences) >= 0 &&
                   axis_is_whole(&x->m->axis[last]) && lower_fills_vectors(x, &x->m->axis[last])
               ? last
               : -1;
}

bool lower_sums_decayed_pairs(const struct lowering *x, const struct value *v)
{
    const uint32_t sequences = value_axes(v) & axes_of_sequences(x->m);
    if (v->where || !(sequences & (sequences - 1)) || !program_is_differentiated(&x->c->program) ||
        !sums_exponentials(x, v))
        return false;
    const int summed = axes_only(value_axes(&x->g->value[v->operand[0].of]) & ~value_axes(v));
    return summed >= 0 && axis_is_whole(&x->m->axis[summed]) && lower_fills_vectors(x, &x->m->axis[summed]);
}

/* lower_tile_axes for loops by chunks. Elements are outside rows that are in the lanes, and rows outside elements. */
static int axes_by_chunks(const struct lowering *x, const struct value *v, int *axes)
{
    const int last = x->last_axis[v - x->g->value];
    int rank = 0;
    for (int rows = 0; rows < 2; rows++)
        for (int k = 0; k < v->rank; k++) {
            const bool sequence = axis_is_sequence(&x->m->axis[v->axes[k]]),
                       first = last >= 0 && sequence != axis_is_sequence(&x->m->axis[last]);
            const bool tiled = sequence || !lower_run_time(x, v->axes[k]);
            if (tiled && v->axes[k] != last && first == !rows) axes[rank++] = v->axes[k];
        }
    if (last >= 0) axes[rank++] = last;
    return rank;
}

int lower_tile_axes(const struct lowering *x, const struct value *v, int *axes)
{
    if (x->last_axis) return axes_by_chunks(x, v, axes);
    int rank = 0;
    const int elements = lower_decayed_elements(x, v);
    /* row values before the loop over keys have the axis of rows last */
    const int last = elements >= 0 ? elements
                     : x->prepare && x->lowered[v - x->g->value].stage == BEFORE && value_has_axis(v, x->rows)
                         ? x->rows
                         : x->lane;
    if (lanes_of_states(x, v)) axes[rank++] = x->stream;
    if (elements >= 0 && value_has_axis(v, x->lane)) axes[rank++] = x->lane;
    for (int k = 0; k < v->rank; k++)
        if (!lower_run_time(x, v->axes[k]) && v->axes[k] != last) axes[rank++] = v->axes[k];
    if (value_has_axis(v, x->stream) && (rank == 0 || axes[0] != x->stream)) axes[rank++] = x->stream;
    if (value_has_axis(v, last)) axes[rank++] = last;
    return rank;
}

int lower_new_tile(struct lowering *x, const char *name, int rank, const int *axes)
{
    struct array a = {.kind = ARRAY_TILE, .dtype = dtype_of_sums(x->m->dtype), .rank = rank, .offset = -1};
    for (int k = 0; k < rank; k++) {
        a.axes[k] = axes[k];
        const bool of_keys = x->last_axis && x->m->axis[axes[k]].source == SIZE_N_K && axes[k] != x->lane;
        const bool of_queries = x->last_axis && x->m->axis[axes[k]].source == SIZE_N_Q;
        a.extent[k] = of_keys                            ? x->c->tiling.tile_k
                      : of_queries || axes[k] == x->lane ? x->c->tiling.tile_q
                      : axes[k] == x->stream             ? x->c->tiling.tile_k
                      : axes[k] == x->chunk              ? 1
                                                         : x->m->axis[axes[k]].extent;
    }
    a.name = loops_unused_name(x->l, name);
    return loops_array(x->l, a);
}

/* Whether the output `name` is stored in the type of sums, because another program of the call reads it. */
static bool is_left(const struct lowering *x, const char *name)
{
    const struct graph *const reader[] = {x->c->gradients.totals, x->c->gradients.parts};
    if (x->c->program.saves_solution && strcmp(name, SAVED_SOLUTION) == 0) return true;
    for (int k = 0; k < 2; k++)
        for (int v = 0; reader[k] && v < reader[k]->values; v++)
            if (reader[k]->value[v].sums && strcmp(reader[k]->value[v].name, name) == 0) return true;
    return false;
}

/* Whether the output is a parameter's gradient, in the type of sums. */
static bool of_parameter(const struct lowering *x, const char *name)
{
    const struct graph *const source = x->c->source;
    const int v = source && name[0] == 'd' ? graph_find(source, name + 1) : -1;
    return v >= 0 && source->value[v].op == GRAPH_PARAM;
}

int lower_output(struct lowering *x, int o)
{
    const int v = x->g->output[o].value;
    const struct value *out = &x->g->value[v];
    struct array a = {.kind = ARRAY_OUTPUT,
                      .name = x->g->output[o].name,
                      .dtype = x->m->dtype,
                      .rank = out->rank,
                      .sums = x->lowered[v].stage == ACROSS || is_left(x, x->g->output[o].name),
                      .offset = -1};
    memcpy(a.axes, out->axes, sizeof a.axes);
    const bool computed = prefix_array_find(a.name) != PREFIX_ARRAYS; /* `a` is not an array of the caller */
    const bool rounded = array_of_elements(x->l, &a) || program_weighs(&x->c->program);
    if (!rounded || a.sums || computed || of_parameter(x, a.name)) a.dtype = dtype_of_sums(a.dtype);
    if (out->integers) a.dtype = DTYPE_I32;
    return loops_array(x->l, a);
}

/* Whether v holds features: an operand of a state, or of a contract over queries and keys. */
static bool is_multiplied(const struct lowering *x, const struct value *v)
{
    for (int w = 0; w < x->g->values; w++) {
        const struct value *user = &x->g->value[w];
        const bool product = lower_of_pairs(x, user) || x->lowered[w].stage == STATE;
        for (int k = 0; k < user->operands && product && user->op != GRAPH_MAP; k++)
            if (&x->g->value[user->operand[k].of] == v) return true;
    }
    return false;
}

/* Returns the name of a tile with a number or vector per position, such as "key_cos" or "query_features". `of`:
   "key" or "query". */
static const char *name_of_rows(const struct lowering *x, const struct value *v, const char *of)
{
    const char *role = "";
    bool vector = false;
    for (int k = 0; k < v->rank; k++) vector |= !lower_run_time(x, v->axes[k]);
    switch (v->op) {
    case GRAPH_MAP:
        role = v->expr->op == EXPR_COS                       ? "_cos"
               : v->expr->op == EXPR_SIN                     ? "_sin"
               : !vector                                     ? "_scale"
               : x->c->program.linear && is_multiplied(x, v) ? "_features"
                                                             : "";
        break;
    case GRAPH_REDUCE: role = v->fold == FOLD_MAX ? "_max" : "_sum"; break;
    case GRAPH_CONTRACT:
        for (int k = 0; k < v->operands; k++) {
            const struct value *u = &x->g->value[v->operand[k].of];
            if (x->lowered[v->operand[k].of].stage == STATE) return vector ? "sum_from_state" : "row_sum_from_state";
            if (u->op != GRAPH_PARAM) continue;
            const char *last = strrchr(u->name, '.'); /* the name of keys times sketch.g1 is "key_g1" */
            role = arena_printf(x->m->arena, "_%s", last ? last + 1 : u->name);
        }
        break;
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE:
    case GRAPH_SELECT:
    case GRAPH_SCAN:
    case GRAPH_SOLVE: break;
    }
    return arena_printf(x->m->arena, "%s%s", of, role);
}

const char *lower_tile_name(const struct lowering *x, const struct value *v)
{
    if (lower_of_pairs(x, v)) return v->op == GRAPH_CONTRACT ? "score" : v->op == GRAPH_SCAN ? "running" : "weight";
    if (value_has_axis(v, x->stream)) return name_of_rows(x, v, "key");
    if (x->lane < 0 && x->rows < 0) return "gradient";
    if (v == &x->g->value[x->output]) return "result";
    return name_of_rows(x, v, "query");
}

struct ref lower_ref(const struct lowering *x, const struct ref *r)
{
    const struct value *v = &x->g->value[r->of];
    const struct array *a = &x->l->array[x->lowered[r->of].array];
    struct ref out = *r;
    out.of = x->lowered[r->of].array;
    if (a->kind != ARRAY_TILE) return out;
    out.rank = a->rank;
    for (int k = 0; k < a->rank; k++) {
        if (a->axes[k] == x->chunk) out.sub[k] = expr_index(x->m, x->chunk);
        for (int s = 0; s < v->rank; s++)
            if (v->axes[s] == a->axes[k] && a->axes[k] != x->chunk) out.sub[k] = r->sub[s];
    }
    return out;
}

/* Appends a statement over these axes, whose result array `to` is set to or folded with. */
static struct stmt *append_over(struct lowering *x, struct stmt ***at, int op, int rank, const int *axes, int to,
                                enum fold fold)
{
    struct stmt *const s = lower_append(x, at, op);
    s->rank = rank;
    for (int k = 0; k < rank; k++) s->axes[k] = axes[k];
    s->assigns = 1;
    s->assign[0] = (struct assign){loops_ref(x->l, to), fold, NULL, 0};
    return s;
}

struct stmt *lower_assign(struct lowering *x, struct stmt ***at, int rank, const int *axes, int to, enum fold fold,
                          const struct expr *e)
{
    struct stmt *const s = append_over(x, at, LOOPS_MAP, rank, axes, to, fold);
    s->assign[0].expr = e;
    return s;
}

struct stmt *lower_product(struct lowering *x, struct stmt ***at, const int *axes, int axis, struct ref row,
                           struct ref lane, int to, enum fold fold)
{
    struct stmt *const s = append_over(x, at, LOOPS_DOT, 2, axes, to, fold);
    s->axis = axis;
    s->operands = 2;
    s->operand[0] = row;
    s->operand[1] = lane;
    return s;
}

void lower_equations(struct lowering *x, struct stmt ***at, const struct value *solve, const int *axes, bool hides,
                     int rest, int to)
{
    struct stmt *const s = append_over(x, at, LOOPS_SOLVE, 2, axes, to, FOLD_SET);
    s->backward = solve->backward;
    s->hides = hides;
    s->axis = x->stream;
    s->operands = 3;
    s->operand[0] = lower_ref(x, &solve->operand[SOLVE_WEIGHTS]);
    s->operand[1] = loops_ref(x->l, rest);
    s->operand[2] = lower_ref(x, &solve->operand[SOLVE_RATE]);
}

void lower_copy(struct lowering *x, struct stmt ***at, int rank, const int *axes, struct ref from, int to)
{
    struct stmt *const s = append_over(x, at, LOOPS_COPY, rank, axes, to, FOLD_SET);
    s->operands = 1;
    s->operand[0] = from;
}

/* Whether the tile is masked for a sum over the region. All regions of a graph with a SOLVE have only earlier keys
   where its tiles have other ones. */
static bool is_masked_for(const struct lowering *x, const struct lowered_value *tile, const struct expr *region)
{
    return (tile->masked_infinity || tile->masked_zero) && (tile->region == region || x->solve >= 0);
}

/* Whether expression e of `map` is 0 outside the region: a tile that is 0 there, perhaps times a finite number. */
static bool is_zero_outside(const struct lowering *x, const struct value *map, const struct expr *e,
                            const struct expr *region)
{
    if (e->op == EXPR_OPERAND) {
        const struct lowered_value *const tile = &x->lowered[map->operand[e->integer].of];
        return tile->masked_zero && is_masked_for(x, tile, region);
    }
    if (e->op != EXPR_MUL || e->type != TYPE_REAL) return expr_is_real(e, 0);
    for (int k = 0; k < 2; k++) {
        const struct expr_range other = expr_range(e->arg[1 - k], NULL);
        if (isfinite(other.low) && isfinite(other.high) && is_zero_outside(x, map, e->arg[k], region)) return true;
    }
    return false;
}

void lower_apply_region(struct lowering *x, const struct value *sum, int operand, double neutral)
{
    int v = sum->operand[operand].of;
    const struct value *value = &x->g->value[v];
    struct lowered_value *tile = &x->lowered[v];
    const bool masked = is_masked_for(x, tile, sum->where);
    if (!sum->where || masked || !lower_of_pairs(x, value)) return;
    tile->region = sum->where;
    tile->masked_infinity = tile->masked_zero = false;
    if (neutral == 0 && value->op == GRAPH_MAP) {
        const struct expr *e = value->expr;
        for (int k = 0; k < value->operands; k++)
            if (x->lowered[value->operand[k].of].masked_infinity &&
                is_masked_for(x, &x->lowered[value->operand[k].of], sum->where))
                e = expr_replace(x->m, e, expr_operand(x->m, k), expr_real(x->m, -INFINITY));
        tile->masked_zero = is_zero_outside(x, value, e, sum->where);
        if (tile->masked_zero) return;
    }
    int axes[MAX_RANK], rank = lower_tile_axes(x, value, axes);
    const struct expr *kept = expr_select(x->m, sum->where, expr_operand(x->m, 0), expr_real(x->m, neutral));
    struct stmt *s = lower_assign(x, &x->inside, rank, axes, tile->array, FOLD_SET, kept);
    s->operands = 1;
    s->operand[0] = loops_ref(x->l, tile->array);
    *(neutral == 0 ? &tile->masked_zero : &tile->masked_infinity) = true;
    struct mask_of_region *const mask = arena_alloc(x->m->arena, sizeof *mask);
    *mask = (struct mask_of_region){s, sum->where, x->masks};
    x->masks = mask;
}

void lower_set_constant(struct lowering *x, struct stmt ***at, int array, double value)
{
    const struct array *a = &x->l->array[array];
    int slot = a->rank && a->axes[0] == x->chunk; /* 1 if the array has slots, whose axis is skipped */
    lower_assign(x, at, a->rank - slot, a->axes + slot, array, FOLD_SET, expr_real(x->m, value));
}

int lower_new_compensation(struct lowering *x, bool streamed, int to, struct stmt ***at)
{
    if (!streamed || x->m->dtype == DTYPE_F64) return 0;
    struct array a = x->l->array[to];
    int compensation = lower_new_tile(x, arena_printf(x->m->arena, "%s_compensation", a.name), a.rank, a.axes);
    x->l->array[compensation].shared = a.shared;
    lower_set_constant(x, at, compensation, 0);
    return compensation + 1;
}

bool lower_has_padding(const struct lowering *x)
{
    return x->prefix && !x->after && x->last && expr_reads_ids(x->last);
}

int64_t lower_wait(const struct lowering *x, const struct value *state)
{
    const struct expr *const where = state->where;
    if (!x->prefix || x->after || !where) return 0;
    return -expr_replace(x->m, (where->op == EXPR_AND ? where->arg[1] : where)->arg[1], expr_index(x->m, x->chunk),
                         expr_int(x->m, 0))
                ->integer;
}

int64_t lower_tiles_of_chunk(const struct lowering *x)
{
    return (x->m->axis[x->chunk].extent + x->c->tiling.tile_k - 1) / x->c->tiling.tile_k;
}

const struct expr *lower_moved(struct lowering *x, const struct lowered_value *maximum, const struct expr *from,
                               const struct expr *to)
{
    if (maximum->power) return expr_power(x->m, expr_div(x->m, from, to), maximum->power);
    return expr_exp2(x->m, expr_sub(x->m, from, to));
}

void lower_rescale(struct lowering *x, struct stmt ***at, int rank, const int *axes, int tile, int factor)
{
    const struct expr *product = expr_mul(x->m, expr_operand(x->m, 0), expr_operand(x->m, 1));
    struct stmt *s = lower_assign(x, at, rank, axes, tile, FOLD_SET, product);
    s->operand[s->operands++] = loops_ref(x->l, tile);
    s->operand[s->operands++] = loops_ref(x->l, factor);
}

bool lower_has_stream(const struct lowering *x, const struct value *v)
{
    return x->stream >= 0 && (value_operand_axes(v) >> x->stream & 1);
}

bool lower_sums_outer(const struct lowering *x, const struct value *v)
{
    return (value_operand_axes(v) & ~value_axes(v) & x->outer) != 0;
}

struct stmt **lower_new_list(struct lowering *x)
{
    return arena_alloc(x->m->arena, sizeof(struct stmt *));
}

struct stmt *lower_loop_over(struct lowering *x, struct stmt ***at, int axis, const struct expr *from,
                             const struct expr *to, int64_t step)
{
    struct stmt *loop = lower_append(x, at, LOOPS_FOR);
    loop->axis = axis;
    loop->from = from;
    loop->to = to;
    loop->step = step;
    return loop;
}

struct stmt *lower_stream_loop(struct lowering *x, struct stmt ***at, const struct expr *from, const struct expr *to)
{
    struct stmt **body, *loop = NULL;
    for (int a = 0; a < x->m->axes; a++) {
        if (!(x->outer >> a & 1)) continue;
        loop = lower_loop_over(x, at, a, expr_int(x->m, 0), expr_size(x->m, a), 1);
        body = &loop->body;
        at = &body;
    }
    if (x->stream < 0) return loop;
    loop = lower_loop_over(x, at, x->stream, from, to, x->c->tiling.tile_k);
    const int scan = graph_find_scan(x->g);
    loop->backward = scan >= 0 && x->g->value[scan].backward;
    return loop;
}

struct ref lower_turned(struct lowering *x, struct stmt ***at, struct ref r, int row, int column)
{
    const struct array *a = &x->l->array[r.of];
    if (a->kind != ARRAY_TILE || ref_axis(&r, r.rank - 1) == column) return r;
    const int axes[2] = {row, column};
    const int turned = lower_new_tile(x, arena_printf(x->m->arena, "%s_turned", a->name), 2, axes);
    lower_copy(x, at, 2, axes, r, turned);
    return loops_ref(x->l, turned);
}

void lower_copy_output(struct lowering *x, int o, struct stmt ***at)
{
    const int v = x->g->output[o].value;
    int axes[MAX_RANK];
    const int rank = lower_tile_axes(x, &x->g->value[v], axes);
    lower_copy(x, at, rank, axes, loops_ref(x->l, x->lowered[v].array),
               x->outputs ? x->outputs[o] : lower_output(x, o));
}

void lower_copy_value(struct lowering *x, int v, struct stmt ***at)
{
    for (int o = 0; o < x->g->outputs; o++)
        if (x->g->output[o].value == v) lower_copy_output(x, o, at);
}
