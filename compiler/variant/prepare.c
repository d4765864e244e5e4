/* Builds the steps of `prepare`, which change queries and keys: norms, rotary position embeddings and scales. */
#include "builder.h"
#include "variant.h"
#include "../spec/spec.h"

#include <math.h>
#include <string.h>

/* ---- each step makes a new value with the same axes; the last axis is d ---- */

/* The maximum turn of a pair from one position to the next, in radians. Sines of larger angles are inaccurate. */
static const double MAX_TURN = 1e6;

/* Returns the name of a table of a step's pairs. It is the same in all graphs of the spec, whose programs share tables.
 */
static const char *table_name(const struct builder *x, const struct prepare *step, const char *what, int64_t pairs)
{
    const struct prepare *first = x->spec->prepare, *like;
    while (first->kind != PREPARE_ROPE) first++;
    for (like = first; like != step; like++)
        if (like->kind == PREPARE_ROPE && !like->angle && !step->angle && like->base == step->base) break;
    if (like == first && 2 * pairs == (first->dims ? first->dims : x->spec->head_dim))
        return arena_printf(x->m->arena, "rope_%s", what);
    return arena_printf(x->m->arena, "rope%dx%lld_%s", (int)(like - first), (long long)pairs, what);
}

/* The angle of a rotation: an expression. Its operands are elements of arrays, and tables. */
struct angle {
    struct builder *x;
    const struct prepare *step;
    int pair; /* the axis of pairs */
    const struct expr *e;
    struct operands operands;
    bool infinite; /* true if an element of a table is infinite or NaN */
};

static bool is_of_pair(const struct expr *e, int pair)
{
    return e->type == TYPE_REAL && expr_axes(e) == UINT32_C(1) << pair && !expr_has(e, EXPR_SIZE) &&
           !expr_has(e, EXPR_OPERAND) && !expr_reads_ids(e);
}

/* Puts a table in place of a real expression that depends only on the pair. */
static const struct expr *tabulated(void *of, const struct expr *e)
{
    struct angle *const angle = of;
    struct builder *const x = angle->x;
    if (e->size == 1) return e;
    if (!is_of_pair(e, angle->pair) || angle->operands.count == MAX_OPERANDS) return NULL;
    const int64_t pairs = x->m->axis[angle->pair].extent;
    double *data = arena_alloc(x->m->arena, (size_t)pairs * sizeof *data);
    for (int64_t t = 0; t < pairs; t++) {
        int64_t index[MAX_AXES] = {0};
        index[angle->pair] = t;
        data[t] = expr_eval(e, &(struct environment){.index = index});
        angle->infinite |= !isfinite(data[t]);
    }
    const char *const name = table_name(x, angle->step, "angle", pairs);
    return build_read(x, &angle->operands, graph_ref(x->g, build_table(x, name, angle->pair, data), NULL));
}

/* Makes the angle of pair t. It is the user's expression, or position * base^(-2t/dims). */
static struct angle angle_of(struct builder *x, const struct prepare *step, const struct expr *position, int sequence,
                             int pair)
{
    struct angle angle = {.x = x, .step = step, .pair = pair};
    if (step->angle) {
        const struct expr *const e = build_angle(x, step->angle, position, pair, &angle.operands);
        angle.e = expr_map(x->m, e, tabulated, &angle);
        if (angle.infinite && sequence == x->i)
            diagnostics_error(x->diagnostics, step->angle_at,
                              "a factor or term of the angle is infinite or not a number for some pairs");
        x->at = step->at;
        return angle;
    }
    const int64_t half = x->m->axis[pair].extent;
    double *theta = arena_alloc(x->m->arena, (size_t)half * sizeof *theta);
    for (int64_t k = 0; k < half; k++) theta[k] = pow(step->base, -(double)(2 * k) / (double)(2 * half));
    if (theta[half - 1] > MAX_TURN && sequence == x->i)
        diagnostics_error(x->diagnostics, step->at,
                          "rope with base %g rotates a pair by %g per position; the maximum is %g", step->base,
                          theta[half - 1], MAX_TURN);
    const struct ref table = graph_ref(x->g, build_table(x, table_name(x, step, "theta", half), pair, theta), NULL);
    angle.e = build_mul(x, position, build_read(x, &angle.operands, table));
    return angle;
}

/* Returns whether the angle differs between batch entries. */
static bool is_of_batch(const struct builder *x, const struct angle *angle)
{
    uint32_t axes = expr_axes(angle->e);
    for (int k = 0; k < angle->operands.count; k++) axes |= ref_axes(&angle->operands.ref[k]);
    return axes >> x->b & 1;
}

/* Rotates pair t of each row by an angle a: (x, y) becomes (x cos a - y sin a, y cos a + x sin a). Only elements
   first … first + dims - 1 change. */
static int rope(struct builder *x, const struct prepare *step, int v, const struct expr *position, int sequence)
{
    struct value like = x->g->value[v];
    const int last = like.axes[like.rank - 1];
    const int64_t all = x->m->axis[last].extent, dims = step->dims ? step->dims : all, half = dims / 2;
    const bool whole = dims == all && all == x->spec->head_dim;
    const int t = build_axis(x, whole ? "t" : arena_printf(x->m->arena, "t%lld", (long long)half), half);
    const struct angle angle = angle_of(x, step, position, sequence, t);
    const bool batch = is_of_batch(x, &angle);
    const int axes[] = {x->b, sequence, t}, *const own = axes + !batch, rank = 2 + batch;
    int cosine = graph_map(x->g, rank, own, angle.operands.count, angle.operands.ref, build_op1(x, EXPR_COS, angle.e));
    int sine = graph_map(x->g, rank, own, angle.operands.count, angle.operands.ref, build_op1(x, EXPR_SIN, angle.e));

    const struct expr *d = build_sub(x, build_index_of(x, last), build_integer(x, step->first)), *first, *other, *pair;
    if (step->halves) {
        first = build_op2(x, EXPR_LT, d, build_integer(x, half));
        other = build_choose(x, first, build_add(x, d, build_integer(x, half)),
                             build_sub(x, d, build_integer(x, half)));
        pair = build_op2(x, EXPR_MOD, d, build_integer(x, half));
    } else {
        first = build_op2(x, EXPR_EQ, build_op2(x, EXPR_MOD, d, build_integer(x, 2)), build_integer(x, 0));
        other = build_choose(x, first, build_add(x, d, build_integer(x, 1)), build_sub(x, d, build_integer(x, 1)));
        pair = build_divide(x, d, build_integer(x, 2));
    }
    other = build_add(x, other, build_integer(x, step->first));
    const struct expr *inside = NULL; /* the condition that the element is rotated, or NULL if all elements are */
    if (dims < all) {
        inside = build_op2(x, EXPR_AND, build_op2(x, EXPR_LE, build_integer(x, 0), d),
                           build_op2(x, EXPR_LT, d, build_integer(x, dims)));
        other = build_choose(x, inside, other, build_index_of(x, last));
        pair = build_choose(x, inside, pair, build_integer(x, 0));
    }
    struct ref refs[4] = {graph_ref(x->g, v, NULL), graph_ref(x->g, v, NULL), graph_ref(x->g, cosine, NULL),
                          graph_ref(x->g, sine, NULL)};
    refs[1].sub[refs[1].rank - 1] = other;
    refs[2].sub[rank - 1] = refs[3].sub[rank - 1] = pair;
    const struct expr *turned = build_mul(x, build_mul(x, build_operand(x, 1), build_operand(x, 3)),
                                          build_choose(x, first, build_real(x, -1), build_real(x, 1)));
    const struct expr *e = build_add(x, build_mul(x, build_operand(x, 0), build_operand(x, 2)), turned);
    if (inside) e = build_choose(x, inside, e, build_operand(x, 0));
    return graph_map(x->g, like.rank, like.axes, 4, refs, e);
}

bool weight_is_of_rotations(const struct spec *spec)
{
    const enum similarity_kind kind = spec->similarity.kind;
    bool rotates = false, pairs = spec->similarity.compatibility == COMPATIBILITY_DOT &&
                                  (kind == SIMILARITY_SOFTMAX || kind == SIMILARITY_CUSTOM);
    for (int k = 0; k < spec->prepares; k++) {
        const struct prepare *const step = &spec->prepare[k];
        const bool rope = step->kind == PREPARE_ROPE;
        if (step->rows) continue;
        pairs &= rope ? !step->angle : !rotates || step->kind == PREPARE_SCALE;
        rotates |= rope;
    }
    return rotates && pairs;
}

/* Whether the step changes the rows of the array, or those of q and k if it is NULL. */
static bool changes(const struct prepare *step, const struct user_array *a)
{
    bool found = !a && !step->rows;
    for (int k = 0; k < step->rows; k++) found |= step->row[k] == a;
    return found;
}

/* Applies the steps for the array's rows, or for q and k if it is NULL. */
static int prepared(struct builder *x, const struct user_array *a, int v, bool query, int sequence)
{
    for (int k = 0; k < x->spec->prepares; k++) {
        const struct prepare *step = &x->spec->prepare[k];
        if (!changes(step, a)) continue;
        x->at = step->at;
        switch (step->kind) {
        case PREPARE_LAYERNORM:
            v = build_layernorm(x, v, step->eps, !step->affine ? NULL : query ? "q_norm" : "k_norm");
            break;
        case PREPARE_RMSNORM:
            v = build_rmsnorm(x, v, step->eps, !step->affine ? NULL : query ? "q_norm" : "k_norm");
            break;
        case PREPARE_L2NORM: v = build_unit_rows(x, v, step->eps); break;
        case PREPARE_ROPE:
            v = rope(x, step, v,
                     build_whole_position(x, sequence == x->i ? build_query_position(x) : build_index_of(x, sequence)),
                     sequence);
            break;
        case PREPARE_SCALE:
            if (query || a) {
                struct value like = x->g->value[v];
                v = build_map_over(x, &like, like.rank, 1, &v,
                                   build_mul(x, build_operand(x, 0), build_real(x, step->by)));
            }
            break;
        }
    }
    return v;
}

int build_prepared(struct builder *x, int v, bool query, int sequence)
{
    return prepared(x, NULL, v, query, sequence);
}

int build_prepared_rows(struct builder *x, const struct user_array *a, int v, int sequence)
{
    return prepared(x, a, v, false, sequence);
}

int build_rows(struct builder *x, const struct user_array *a, int sequence)
{
    const bool query = a->axis[a->rank - 2].extent == EXTENT_NQ;
    int v = build_array(x, a);
    const struct value whole = x->g->value[v];
    struct value like = whole;
    struct ref rows = graph_ref(x->g, v, NULL);
    like.rank = 0;
    for (int n = 0; n < whole.rank; n++) {
        const int axis = !query && n == whole.rank - 2 ? sequence : whole.axes[n];
        const bool member = x->of_keys && axis == x->member; /* a key/value head has one query head */
        rows.sub[n] = member ? build_integer(x, 0) : build_index_of(x, axis);
        if (!member) like.axes[like.rank++] = axis;
    }
    if (like.rank < whole.rank || like.axes[like.rank - 2] != whole.axes[whole.rank - 2])
        v = graph_map(x->g, like.rank, like.axes, 1, &rows, build_operand(x, 0));
    if (x->stored && spec_stores_prepared(x->stored, a)) return v;
    return prepared(x, a, v, query, query ? x->i : sequence);
}
