/* The gradient of a carried state S.
   - S[c] is the sum over keys j before chunk c of f[j] * v[j]. Query i computes <y[i], S[chunk(i)]>.
   - A key of chunk c affects later chunks. The gradient of the key needs A[c]: the sum over queries i with chunk(i)
     > c of y[i] * (gradient of the query's result).
   - A is a carried state, too, from the last chunk to the first.
   - If S[c + 1] = keep[c] * S[c] + …, then A[c - 1] = keep[c] * A[c] + … */
#include "differentiate.h"
#include "../pass.h"

#include <string.h>

/* The axes of a carried state. */
struct carried {
    int chunk, stream; /* the axis of chunks, and of the summed keys */
    int64_t length;    /* the number of keys in a chunk */
};

/* Returns a key's chunk as max(j, 0) / length, the form that the pass lower expects. */
static const struct expr *own_chunk(const struct reversal *x, const struct carried *s)
{
    const struct expr *position = expr_max(x->m, expr_index(x->m, s->stream), expr_int(x->m, 0));
    return expr_div(x->m, position, expr_int(x->m, s->length));
}

/* ---- the decay over several chunks ---- */

/* Returns operand `number` of v at the chunk `at`, as an operand of v. */
static const struct expr *operand_at(struct reversal *x, struct value *v, int64_t number, int axis,
                                     const struct expr *at)
{
    struct ref r = v->operand[number];
    for (int k = 0; k < r.rank; k++) r.sub[k] = expr_replace(x->m, r.sub[k], expr_index(x->m, axis), at);
    return reversal_operand(x, v, r);
}

/* Returns kept_over for a factor that is a power of s[c + 1] - s[c], with prefix sums s. In a product over chunks,
   only the first and the last sum remain. */
static const struct expr *kept_by_sums(struct reversal *x, struct value *v, const struct expr *keep, int axis,
                                       const struct expr *from, const struct expr *to)
{
    const struct expr *part[2];
    for (int k = 0; k < 2; k++) {
        const int64_t before = keep->arg[1]->arg[k]->arg[1]->integer;
        const struct expr *const last = operand_at(x, v, before, axis, to);
        part[k] = expr_sub(x->m, last, operand_at(x, v, before, axis, from));
    }
    return expr_pow(x->m, keep->arg[0], expr_add(x->m, part[0], part[1]));
}

/* Returns the product of `keep` over chunks `from` to `to` - 1, or NULL without a closed form. v may get more
   operands. */
static const struct expr *kept_over(struct reversal *x, struct value *v, const struct expr *keep, int axis,
                                    const struct expr *from, const struct expr *to)
{
    const struct expr *chunk = expr_index(x->m, axis), *count = expr_sub(x->m, to, from);
    if (keep->op == EXPR_POW && expr_is_exact_difference(keep->arg[1])) return kept_by_sums(x, v, keep, axis, from, to);
    if (expr_is_real(keep, 1)) return keep;
    if (keep->op == EXPR_MUL && keep->type == TYPE_REAL) {
        const struct expr *a = kept_over(x, v, keep->arg[0], axis, from, to),
                          *b = kept_over(x, v, keep->arg[1], axis, from, to);
        return a && b ? expr_mul(x->m, a, b) : NULL;
    }
    if (keep->op == EXPR_SELECT) {
        const struct expr *c = keep->arg[0], *a = kept_over(x, v, keep->arg[1], axis, from, to);
        if (expr_uses(c, chunk)) {
            /* keep is "id(chunk + 1) == id(chunk) ? a : 0". Ids, or numbers of blocks, never decrease, so the product
               has the select on id(to) == id(from). */
            const struct expr *next = c->op == EXPR_EQ ? expr_replace(x->m, c->arg[1], chunk,
                                                                      expr_add(x->m, chunk, expr_int(x->m, 1)))
                                                       : NULL;
            if (next != c->arg[0] || (c->arg[1]->op != EXPR_ID && c->arg[1]->op != EXPR_DIV) ||
                !expr_is_real(keep->arg[2], 0) || !a)
                return NULL;
            c = expr_eq(x->m, expr_replace(x->m, c->arg[1], chunk, to), expr_replace(x->m, c->arg[1], chunk, from));
            return expr_select(x->m, c, a, expr_real(x->m, 0));
        }
        const struct expr *b = kept_over(x, v, keep->arg[2], axis, from, to);
        return a && b ? expr_select(x->m, c, a, b) : NULL;
    }
    if (expr_uses(keep, chunk)) return NULL;
    if (keep->op == EXPR_POW) return expr_pow(x->m, keep->arg[0], expr_mul(x->m, keep->arg[1], count));
    return expr_pow(x->m, keep, count);
}

/* ---- regions ---- */

/* Converts e from positions to chunks: the first position of a chunk becomes the chunk's number, and a key becomes
   its chunk. Returns NULL if e has another form. */
static const struct expr *in_chunks(const struct reversal *x, const struct expr *e, const struct carried *s)
{
    if (e == expr_index(x->m, s->stream))
        return expr_index(x->m, s->chunk); /* in region_after, this index is the key's chunk */
    if (s->length == 1) return e;
    if (e->op == EXPR_MUL && e->arg[1]->op == EXPR_INT && e->arg[1]->integer == s->length) return e->arg[0];
    if (e->op != EXPR_ADD || e->arg[1]->op != EXPR_INT || e->arg[1]->integer % s->length != 0) return NULL;
    const struct expr *rest = in_chunks(x, e->arg[0], s);
    return rest ? expr_add(x->m, rest, expr_int(x->m, e->arg[1]->integer / s->length)) : NULL;
}

/* The region of S[c] has the keys that chunk c reads. Returns the region of A[c], which has the chunks that read
   the keys of c: j < c * length becomes c < query. Returns NULL if the region is not made of whole chunks. */
static const struct expr *region_after(const struct reversal *x, const struct expr *where, const struct carried *s,
                                       const struct expr *query)
{
    if (where->op == EXPR_AND) {
        const struct expr *a = region_after(x, where->arg[0], s, query), *b = region_after(x, where->arg[1], s, query);
        return a && b ? expr_and(x->m, a, b) : NULL;
    }
    const struct expr *key = expr_index(x->m, s->stream), *chunk = expr_index(x->m, s->chunk), *side[2];
    bool before = where->op == EXPR_LT && where->arg[0] == key, from = where->op == EXPR_LE && where->arg[1] == key;
    if (!before && !from) return NULL;
    for (int k = 0; k < 2; k++) {
        bool of_key = where->arg[k] == key;
        side[k] = in_chunks(x, where->arg[k], s);
        if (!side[k]) return NULL;
        if (!of_key) side[k] = expr_replace(x->m, side[k], chunk, query);
    }
    return expr_make(x->m, where->op, side[0], side[1], NULL);
}

/* ---- the rule ---- */

/* Returns operand r of the state as a value over keys, without chunks. Sets *map to the copy of a map over chunks
   that this needs, or to -1. */
static struct ref as_taken_in(struct reversal *x, const struct ref *r, const struct carried *s, int *map)
{
    const struct expr *chunk = expr_index(x->m, s->chunk), *next = expr_add(x->m, own_chunk(x, s), expr_int(x->m, 1));
    const struct value *v = &x->g->value[r->of];
    *map = -1;
    if (!value_has_axis(v, s->chunk)) return *r;
    if (v->op != GRAPH_MAP) reversal_fail(x, "a carried state that sums another state");
    struct value made = *v;
    made.rank = 0;
    for (int k = 0; k < v->rank; k++)
        if (v->axes[k] != s->chunk) made.axes[made.rank++] = v->axes[k];
    for (int k = 0; k < made.operands; k++)
        for (int a = 0; a < made.operand[k].rank; a++)
            made.operand[k].sub[a] = expr_replace(x->m, made.operand[k].sub[a], chunk, next);
    made.expr = expr_replace(x->m, made.expr, chunk, next);
    *map = reversal_append(x, made); /* keeps the axis of features, which a single feature does not name */
    return graph_ref(x->g, *map, NULL);
}

/* Returns the state's factor `keep` for another chunk, as an expression over the operands of `after`. May add
   operands to `after`. */
static const struct expr *keep_of(struct reversal *x, const struct value *state, struct value *after,
                                  const struct expr *chunk, const struct expr *next)
{
    const struct expr *with[MAX_OPERANDS];
    for (int k = 0; k < state->operands; k++) {
        struct ref r = state->operand[k];
        with[k] = expr_operand(x->m, k);
        if (k < graph_summed(state)) continue;
        for (int n = 0; n < r.rank; n++) r.sub[n] = expr_replace(x->m, r.sub[n], chunk, next);
        with[k] = reversal_operand(x, after, r);
    }
    const struct expr *const keep = expr_replace(x->m, state->keep, chunk, next);
    return state->operands > graph_summed(state) ? expr_bind(x->m, keep, with) : keep;
}

/* Returns a copy of the features of queries, divided by `by`. */
static struct ref divided_features(struct reversal *x, const struct value *user, struct ref features, int by)
{
    struct value map = value_over(GRAPH_MAP, user, ref_axes(&features) | reversal_axes(x, by));
    const struct expr *const e = reversal_times_inverse(x, &map, reversal_operand(x, &map, features), by);
    return graph_ref(x->g, reversal_map(x, &map, e), NULL);
}

/* Makes A, the sum over the queries of later chunks, for one use `read` of the state. Returns false after an error. */
static bool state_after(struct reversal *x, const struct value *state, const struct state_gather *read,
                        const struct carried *s, struct value *made)
{
    const struct value user = x->g->value[read->user];
    const struct ref *at = &user.operand[read->operand];
    struct ref other = user.operand[1 - read->operand];
    const struct expr *query = NULL, *chunk = expr_index(x->m, s->chunk);
    for (int k = 0; k < at->rank; k++)
        if (state->axes[k] == s->chunk)
            query = at->sub[k];
        else if (ref_axis(at, k) != state->axes[k])
            query = chunk;
    const struct expr *where = query && !expr_uses(query, chunk) ? region_after(x, state->where, s, query) : NULL;
    const struct expr *kept = NULL, *next = expr_add(x->m, chunk, expr_int(x->m, 1));
    struct value with_sums = *state; /* `kept` is an expression over the operands of with_sums */
    if (where && state->keep && !(kept = kept_over(x, &with_sums, state->keep, s->chunk, next, query))) where = NULL;
    if (!where) {
        reversal_fail(x, "this carried state");
        return false;
    }
    if (kept) { /* scale by the decay from chunk c + 1 to the query's chunk */
        struct value map = x->g->value[other.of];
        map.operands = 0;
        const struct expr *const feature = reversal_operand(x, &map, other), *with[MAX_OPERANDS];
        for (int k = 0; k < with_sums.operands; k++)
            with[k] = expr_uses(kept, expr_operand(x->m, k)) ? reversal_operand(x, &map, with_sums.operand[k])
                                                             : feature;
        const struct expr *e = expr_mul(x->m, feature, with_sums.operands ? expr_bind(x->m, kept, with) : kept);
        const uint32_t bits = reversal_axes_within(x, &map, e);
        struct value over = value_over(GRAPH_MAP, &user, bits & reversal_axes(x, read->user));
        value_add_axes(&over, AXIS(s->chunk));
        value_add_axes(&over, bits);
        memcpy(map.axes, over.axes, sizeof map.axes);
        map.rank = over.rank;
        other = graph_ref(x->g, reversal_map(x, &map, e), NULL);
    }
    if (read->term.by >= 0) other = divided_features(x, &user, other, read->term.by);
    uint32_t used = ref_axes(&other) | reversal_axes(x, read->term.value) | expr_axes(where);
    struct value after = graph_value(GRAPH_CONTRACT, 0, NULL);
    for (int k = 0; k < state->rank; k++)
        if (used >> state->axes[k] & 1) after.axes[after.rank++] = state->axes[k];
    after.operands = 2;
    after.operand[0] = other;
    after.operand[1] = graph_ref(x->g, read->term.value, NULL);
    after.where = where;
    if (state->keep) after.keep = keep_of(x, state, &after, chunk, next);
    *made = after;
    return true;
}

static struct carried carried_of(struct reversal *x, const struct value *state)
{
    struct carried s = {.chunk = reversal_chunk_axis(x, state), .stream = -1};
    s.length = x->m->axis[s.chunk].extent;
    for (int a = 0; a < x->m->axes; a++)
        if (state->where && (expr_axes(state->where) >> a & 1) && axis_is_sequence(&x->m->axis[a])) s.stream = a;
    if (s.stream < 0) reversal_fail(x, "this carried state");
    return s;
}

bool reversal_state_after(struct reversal *x, int v, const struct state_gather *read, struct value *after,
                          struct ref *keys)
{
    const struct value state = x->g->value[v];
    const struct carried s = carried_of(x, &state);
    int map;
    if (x->failed || !state_after(x, &state, read, &s, after)) return false;
    *keys = as_taken_in(x, &state.operand[0], &s, &map);
    return !x->failed;
}

void reverse_state(struct reversal *x, int v)
{
    const struct value state = x->g->value[v];
    const struct carried s = carried_of(x, &state);
    int after = -1;
    for (int k = 0; k < x->of[v].gathers && !x->failed; k++) {
        struct value made;
        int one = state_after(x, &state, &x->of[v].gather[k], &s, &made) ? reversal_append(x, made) : -1;
        if (after >= 0 && !x->failed) {
            struct value sum = graph_value(GRAPH_MAP, state.rank, state.axes);
            one = reversal_map(x, &sum, expr_add(x->m, reversal_value(x, &sum, after), reversal_value(x, &sum, one)));
        }
        after = one;
    }
    if (x->failed) return;
    struct ref key[2], own = graph_ref(x->g, after, NULL);
    int map[2] = {-1, -1};
    for (int k = 0; k < own.rank; k++)
        if (ref_axis(&own, k) == s.chunk) own.sub[k] = own_chunk(x, &s);
    for (int k = 0; k < graph_summed(&state); k++) key[k] = as_taken_in(x, &state.operand[k], &s, &map[k]);
    for (int k = 0; k < graph_summed(&state) && !x->failed; k++) {
        if (!x->active[state.operand[k].of]) continue;
        struct gradient_term t = {-1, -1, NULL};
        if (state.op == GRAPH_CONTRACT) {
            uint32_t used = ref_axes(&own) | ref_axes(&key[1 - k]);
            struct value sum = graph_value(GRAPH_CONTRACT, 0, NULL);
            for (int a = 0; a < key[k].rank; a++)
                if (ref_axis(&key[k], a) >= 0 && (used >> ref_axis(&key[k], a) & 1))
                    sum.axes[sum.rank++] = ref_axis(&key[k], a);
            t.value = graph_contract(x->g, sum.rank, sum.axes, key[1 - k], own, NULL);
        } else {
            struct value copy = graph_value(GRAPH_MAP, 0, NULL);
            for (int a = 0; a < key[k].rank; a++)
                if (ref_axis(&key[k], a) >= 0) copy.axes[copy.rank++] = ref_axis(&key[k], a);
            t.value = reversal_map(x, &copy, reversal_operand(x, &copy, own));
        }
        if (map[k] >= 0)
            reversal_map_rule(x, map[k], t);
        else
            reversal_give_back(x, &key[k], t);
    }
}
