/* Builds masks as conditions on the positions i of a query and j of a key. */
#include "builder.h"
#include "../spec/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns !e, without a `!` where it can. In comparisons of integers, j stays alone on one side, as in
   expression.c. */
static const struct expr *negated(struct builder *x, const struct expr *e)
{
    const struct expr *const a = e->arg[0], *const b = e->arg[1], *const j = build_index_of(x, x->j);
    const bool integers = b && a->type != TYPE_REAL && b->type != TYPE_REAL;
    switch ((int)e->op) {
    case EXPR_NOT: return a;
    case EXPR_AND: return build_op2(x, EXPR_OR, negated(x, a), negated(x, b));
    case EXPR_OR: return build_op2(x, EXPR_AND, negated(x, a), negated(x, b));
    case EXPR_LE:
        if (integers && a == j) return build_op2(x, EXPR_LE, build_add(x, b, build_integer(x, 1)), j);
        if (integers && b == j) return build_op2(x, EXPR_LE, j, build_add(x, a, build_integer(x, -1)));
        break;
    case EXPR_LT:
        if (integers) return build_op2(x, EXPR_LE, b, a);
        break;
    default: break;
    }
    return build_op1(x, EXPR_NOT, e);
}

/* Whether e is `condition`, or an AND with it. */
static bool demands(const struct expr *e, const struct expr *condition)
{
    return e == condition || (e->op == EXPR_AND && (demands(e->arg[0], condition) || demands(e->arg[1], condition)));
}

/* Returns the bound that j <= max and j <= other demand, or NULL if neither is known to be the smaller one. */
static const struct expr *smaller(const struct expr *max, const struct expr *other)
{
    const struct expr *const of[] = {max, other}, *base[2];
    int64_t more[2];
    for (int k = 0; k < 2; k++) {
        const bool sum = of[k]->op == EXPR_ADD && of[k]->arg[1]->op == EXPR_INT;
        base[k] = sum ? of[k]->arg[0] : of[k];
        more[k] = sum ? of[k]->arg[1]->integer : 0;
    }
    return base[0] != base[1] ? NULL : more[0] < more[1] ? max : other;
}

/* Returns a && b, without alternatives of b that a excludes, and the lower bound of j first. NULL stands for true. */
static const struct expr *both(struct builder *x, const struct expr *a, const struct expr *b)
{
    if (!a || !b) return a ? a : b;
    for (int k = 0; k < 2 && b->op == EXPR_OR; k++)
        if (demands(a, negated(x, b->arg[k]))) b = b->arg[1 - k];
    const struct expr *const j = build_index_of(x, x->j);
    if (a->op == EXPR_LE && b->op == EXPR_LE && a->arg[0] == j && b->arg[0] == j) {
        const struct expr *const max = smaller(a->arg[1], b->arg[1]);
        if (max) return max == a->arg[1] ? a : b;
    }
    const bool upper_first = a->op == EXPR_LE && b->op == EXPR_LE && a->arg[0] == j && b->arg[1] == j;
    return upper_first ? build_op2(x, EXPR_AND, b, a) : build_op2(x, EXPR_AND, a, b);
}

/* Returns the condition that the position is in one of the ranges first[k], …, last[k]. The condition is a balanced
   tree. */
static const struct expr *among(struct builder *x, const struct expr *position, const int64_t *first,
                                const int64_t *last, int ranges)
{
    if (ranges > 1) {
        int half = ranges / 2;
        return build_op2(x, EXPR_OR, among(x, position, first, last, half),
                         among(x, position, first + half, last + half, ranges - half));
    }
    if (*first == *last) return build_op2(x, EXPR_EQ, position, build_integer(x, *first));
    return build_op2(x, EXPR_AND, build_op2(x, EXPR_LE, build_integer(x, *first), position),
                     build_op2(x, EXPR_LE, position, build_integer(x, *last)));
}

static int compare_positions(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the condition that the query or the key is a global token. Adjacent global tokens become one range. */
static const struct expr *global(struct builder *x, const struct mask *o, const struct expr *i, const struct expr *j)
{
    int64_t zero = 0, end = o->count - 1;
    if (!o->token) return build_op2(x, EXPR_OR, among(x, i, &zero, &end, 1), among(x, j, &zero, &end, 1));
    if (o->tokens == 0) return build_integer(x, 0);
    size_t bytes = (size_t)o->tokens * sizeof(int64_t);
    int64_t *token = arena_alloc(x->m->arena, bytes), *first = arena_alloc(x->m->arena, bytes),
            *last = arena_alloc(x->m->arena, bytes);
    memcpy(token, o->token, bytes);
    qsort(token, (size_t)o->tokens, sizeof *token, compare_positions);
    int ranges = 0;
    for (int t = 0; t < o->tokens; t++)
        if (ranges > 0 && token[t] - last[ranges - 1] <= 1)
            last[ranges - 1] = token[t];
        else {
            first[ranges] = last[ranges] = token[t];
            ranges++;
        }
    return build_op2(x, EXPR_OR, among(x, i, first, last, ranges), among(x, j, first, last, ranges));
}

/* Returns the condition that the key's block is drawn at random for the query's block. */
static const struct expr *random_blocks(struct builder *x, const struct mask *o, const struct expr *i,
                                        const struct expr *j)
{
    const struct expr *blocks = build_add(
        x, build_block_number(x, build_sub(x, build_all_keys(x), build_integer(x, 1)), o->block), build_integer(x, 1));
    const struct draw draw = {.count = o->count, .seed = o->seed, .upto = o->causal};
    if (++x->drawn == MAX_DRAWN + 1)
        diagnostics_error(x->diagnostics, o->at, "there are more than %d 'random' and 'blocks' masks", MAX_DRAWN);
    return expr_drawn(x->m, build_block_number(x, i, o->block), build_block_number(x, j, o->block), blocks, draw);
}

/* Makes or finds an integer parameter. */
static int integers(struct builder *x, const char *name, int rank, const int *axes)
{
    const int v = graph_find(x->g, name);
    return v >= 0 ? v : graph_ids(x->g, name, rank, axes, false);
}

/* Returns the document at a position, from the parameter `document`. */
static const struct expr *document_of(struct builder *x, const struct expr *position)
{
    static const char name[] = "document";
    const bool of_query = position != build_index_of(x, x->j) && !x->of_keys;
    integers(x, name, 2, (int[]){x->b, x->all_keys < 0 ? x->j : x->all_keys});
    position = build_whole_position(x, position);
    if (of_query) /* a query may be after the last key */
        position = build_op2(x, EXPR_MIN, position, build_sub(x, build_all_keys(x), build_integer(x, 1)));
    return expr_id(x->m, EXPR_ID, name, build_index_of(x, x->b), position, NULL);
}

/* Returns the length of the sequence, from the parameter `lengths`. */
static const struct expr *length_of(struct builder *x)
{
    static const char name[] = "lengths";
    integers(x, name, 1, (int[]){x->b});
    return expr_id(x->m, EXPR_ID, name, build_integer(x, 0), build_index_of(x, x->b), NULL);
}

/* Returns the condition that the key's block is listed for the query's block, in the parameter `blocks`. */
static const struct expr *listed_blocks(struct builder *x, const struct mask *o)
{
    static const char name[] = "blocks";
    if (x->of_keys)
        diagnostics_error(x->diagnostics, o->at,
                          "'delta' with 'blocks' is not compiled yet: there is a list for each block of queries only, "
                          "and 'delta' also needs one for each block of keys");
    const int v = graph_find(x->g, name);
    if (v < 0)
        graph_ids(x->g, name, 5,
                  (int[]){x->b, x->kv, x->member, module_axis(x->m, "blocks", SIZE_QUERY_BLOCKS, o->block),
                          module_axis(x->m, "listed", SIZE_CONSTANT, o->count)},
                  false);
    else if (x->m->axis[x->g->value[v].axes[3]].extent != o->block ||
             x->m->axis[x->g->value[v].axes[4]].extent != o->count)
        diagnostics_error(x->diagnostics, o->at,
                          "all masks 'blocks' read one parameter, so they need the same 'block' and 'count'");
    if (++x->drawn == MAX_DRAWN + 1)
        diagnostics_error(x->diagnostics, o->at, "there are more than %d 'random' and 'blocks' masks", MAX_DRAWN);
    const struct expr *const size = build_integer(x, o->block),
                             *const lists_of_head = build_divide(
                                 x, build_add(x, build_size_of(x, x->queries), build_integer(x, o->block - 1)), size),
                             *const heads = build_mul(x, build_size_of(x, x->kv), build_size_of(x, x->member)),
                             *const head = build_add(x, build_mul(x, build_index_of(x, x->b), heads), build_head(x));
    return expr_drawn(x->m, build_block_number(x, build_index_of(x, x->i), o->block),
                      build_block_number(x, build_index_of(x, x->j), o->block), build_mul(x, head, lists_of_head),
                      (struct draw){.name = name, .count = o->count});
}

static const struct expr *build_mask(struct builder *x, const struct mask *o, const struct mask *all);

/* ---- the best keys of a row ---- */

/* Makes the value of a key for the mask `top`. It is -inf for a key that another mask of `all` hides by s. */
static int value_of_keys(struct builder *x, const struct mask *o, const struct mask *all)
{
    int pair[5], axes[5], used = 0;
    const int rank = build_pair(x, pair);
    bool of_s = o->expr->uses[NAME_s];
    struct operands operands = {0};
    struct builder of = *x;
    for (int k = 0; all && k < all->parts; k++) of_s |= mask_reads_s(all->part[k]);
    of.operands = &operands;
    of.s = of_s ? build_read(x, &operands, graph_ref(x->g, build_inner(x, x->q, x->k), NULL)) : build_real(x, 0);
    const struct expr *e = build_expression(&of, o->expr, of.s, &operands);
    if (e->type != TYPE_REAL) e = build_mul(x, e, build_real(x, 1));
    for (int k = 0; all && k < all->parts; k++)
        if (mask_reads_s(all->part[k]))
            e = build_choose(x, build_mask(&of, all->part[k], all), e, expr_real(x->m, -INFINITY));
    x->lost |= of.lost;
    x->drawn = of.drawn;
    uint32_t read = expr_axes(e) | AXIS(x->i) | AXIS(x->j);
    for (int k = 0; k < operands.count; k++) read |= ref_axes(&operands.ref[k]);
    for (int k = 0; k < rank; k++)
        if (read >> pair[k] & 1) axes[used++] = pair[k];
    return graph_map(x->g, used, axes, operands.count, operands.ref, e);
}

/* Returns the number of the list of the `count` best keys of a row. Equal lists are one value. */
static int list_of_keys(struct builder *x, const struct mask *o, const struct mask *all)
{
    const struct expr *where = NULL;
    for (int k = 0; all && k < all->parts; k++)
        if (all->part[k]->kind != MASK_TOP && !mask_reads_s(all->part[k]))
            where = both(x, where, build_mask(x, all->part[k], all));
    const int by = value_of_keys(x, o, all),
              listed = module_constant_axis(x->m, "listed", o->count), *const first = build_equal_values(x->g);
    const uint32_t read = axes_set(x->g->value[by].rank, x->g->value[by].axes) | (where ? expr_axes(where) : 0);
    int pair[5], axes[5], rank = 0, lists = 0;
    for (int v = 0; v < x->g->values; v++) {
        const struct value *const known = &x->g->value[v];
        if (known->op != GRAPH_SELECT) continue;
        lists++;
        if (first[known->operand[0].of] == first[by] && known->where == where && known->block == o->block &&
            known->axes[known->rank - 1] == listed)
            return v;
    }
    if (lists == MAX_LISTS)
        diagnostics_error(x->diagnostics, o->at, "there are more than %d different masks 'top'", MAX_LISTS);
    const int pairs = build_pair(x, pair);
    for (int k = 0; k < pairs; k++)
        if (pair[k] != x->j && read >> pair[k] & 1) axes[rank++] = pair[k];
    return graph_select(x->g, lists ? arena_printf(x->m->arena, "taken_%d", lists + 1) : "taken", rank, axes, listed,
                        graph_ref(x->g, by, NULL), o->block, where);
}

/* Returns the condition that the key's block is in the list of the row. */
static const struct expr *best_keys(struct builder *x, const struct mask *o, const struct mask *all)
{
    if (x->of_keys) {
        diagnostics_error(x->diagnostics, o->at,
                          "'delta' with 'top' is not compiled yet: 'by' has a value for a query and a key, and 'delta' "
                          "also needs one for two keys");
        return build_integer(x, 1);
    }
    if (o->expr->uses[NAME_s] && x->spec->decay && x->spec->decay->uses[NAME_d])
        diagnostics_error(x->diagnostics, o->at,
                          "'top' by 's' is not compiled yet if each element has its own decay: use a score in 'by'");
    const int list = list_of_keys(x, o, all);
    const struct value v = x->g->value[list];
    const struct expr *first = build_integer(x, 0); /* the first row of the head */
    for (int k = 0; k < v.rank - 1; k++) {
        if (v.axes[k] != x->i) first = build_add(x, first, build_index_of(x, v.axes[k]));
        first = build_mul(x, first,
                          v.axes[k + 1] == v.axes[v.rank - 1] ? build_integer(x, 1) : build_size_of(x, v.axes[k + 1]));
    }
    return expr_drawn(x->m, build_index_of(x, x->i), build_block_number(x, build_index_of(x, x->j), o->block), first,
                      (struct draw){.name = v.name, .count = o->count, .sorted = true});
}

/* Returns whether one of the parts holds if the mask is `any`, else whether all hold. Takes parts for which `takes` is
   true, or all parts if it is NULL. */
static const struct expr *build_parts(struct builder *x, const struct mask *o, bool (*takes)(const struct mask *))
{
    const struct expr *result = NULL;
    for (int k = 0; k < o->parts; k++) {
        if (takes && !takes(o->part[k])) continue;
        const struct expr *part = build_mask(x, o->part[k], o->kind == MASK_ALL ? o : NULL);
        if (!part) part = build_integer(x, 1);
        result = !result ? part : o->kind == MASK_ANY ? build_op2(x, EXPR_OR, result, part) : both(x, result, part);
    }
    return result;
}

/* `all`: the mask `all` that o is a part of, or NULL */
static const struct expr *build_mask(struct builder *x, const struct mask *o, const struct mask *all)
{
    const struct expr *i = build_query_position(x), *j = build_index_of(x, x->j), *result = NULL;
    /* for masks that depend on more than the difference of positions */
    const struct expr *const whole_i = build_whole_position(x, i), *const whole_j = build_whole_position(x, j);
    switch (o->kind) {
    case MASK_NONE: return NULL;
    case MASK_CAUSAL: return build_op2(x, EXPR_LE, j, i);
    case MASK_WINDOW:
        result = both(x, build_op2(x, EXPR_LE, build_sub(x, i, build_integer(x, o->left * o->dilation)), j),
                      build_op2(x, EXPR_LE, j, build_add(x, i, build_integer(x, o->right * o->dilation))));
        if (o->dilation > 1) {
            const struct expr *step = build_integer(x, o->dilation);
            result = both(
                x, result,
                build_op2(x, EXPR_EQ, build_op2(x, EXPR_FLOORMOD, i, step), build_op2(x, EXPR_FLOORMOD, j, step)));
        }
        return result;
    case MASK_BLOCK_WINDOW: {
        const struct expr *bi = build_block_number(x, whole_i, o->block),
                          *bj = build_block_number(x, whole_j, o->block);
        return both(x, build_op2(x, EXPR_LE, build_sub(x, bi, build_integer(x, o->left)), bj),
                    build_op2(x, EXPR_LE, bj, build_add(x, bi, build_integer(x, o->right))));
    }
    case MASK_PREFIX: return build_op2(x, EXPR_LT, whole_j, build_integer(x, o->length));
    case MASK_GLOBAL: return global(x, o, whole_i, whole_j);
    case MASK_RANDOM: return random_blocks(x, o, whole_i, whole_j);
    case MASK_DOCUMENT: return build_op2(x, EXPR_EQ, document_of(x, i), document_of(x, j));
    case MASK_LENGTHS: return build_op2(x, EXPR_LT, whole_j, length_of(x));
    case MASK_BLOCKS: return listed_blocks(x, o);
    case MASK_TOP: return best_keys(x, o, all);
    case MASK_EXPR: return build_expression(x, o->expr, o->expr->uses[NAME_s] ? x->s : NULL, x->operands);
    case MASK_ANY:
    case MASK_ALL: return build_parts(x, o, NULL);
    case MASK_NOT: result = build_mask(x, o->part[0], NULL); return result ? negated(x, result) : build_integer(x, 0);
    }
    return NULL;
}

/* ---- conditions on s ---- */

bool mask_reads_s(const struct mask *o)
{
    bool reads = o->kind == MASK_EXPR &&
                 o->expr->uses[NAME_s]; /* a list of `top` reads s, but the mask reads the list */
    for (int k = 0; k < o->parts; k++) reads |= mask_reads_s(o->part[k]);
    return reads;
}

/* Returns the parts of the mask that read s, or the other ones, or NULL if there are none. All of these parts have to
   hold. */
static const struct expr *build_part(struct builder *x, const struct mask *o, const struct mask *all, bool of_s)
{
    const struct expr *result = NULL;
    if (o->kind != MASK_ALL) return mask_reads_s(o) == of_s ? build_mask(x, o, all) : NULL;
    for (int k = 0; k < o->parts; k++) result = both(x, result, build_part(x, o->part[k], o, of_s));
    return result;
}

static bool has_exponential(const struct expr *e)
{
    return e->op == EXPR_EXP || e->op == EXPR_EXP2 ||
           (e->op == EXPR_MUL && (has_exponential(e->arg[0]) || has_exponential(e->arg[1])));
}

/* Returns the weight e, or 0 if the condition does not hold. An exponent becomes -infinity then, so that the maximum of
   a row is that of the pairs that are shown. */
static const struct expr *hide(struct builder *x, const struct expr *e, const struct expr *condition)
{
    if (!has_exponential(e)) return build_choose(x, condition, e, build_real(x, 0));
    if (e->op == EXPR_MUL) return build_mul(x, hide(x, e->arg[0], condition), hide(x, e->arg[1], condition));
    return build_op1(x, e->op, build_choose(x, condition, e->arg[0], expr_real(x->m, -INFINITY)));
}

int build_hidden(struct builder *x, int w, const struct expr *condition)
{
    const struct value v = x->g->value[w];
    if (v.op == GRAPH_MAP) return graph_map(x->g, v.rank, v.axes, v.operands, v.operand, hide(x, v.expr, condition));
    return build_map_over(x, &v, v.rank, 1, &w, hide(x, build_operand(x, 0), condition));
}

int build_shown(struct builder *x, int w, int s, int q, int k)
{
    if (!mask_reads_s(x->spec->mask)) return w;
    if (x->spec->algorithm == ALGORITHM_LINEAR)
        diagnostics_error(x->diagnostics, x->spec->mask->at,
                          "there is no linear form, because the mask reads s: whether a pair is shown has no features "
                          "of query and key");
    if (s < 0) s = build_inner(x, q, k);
    const struct value v = x->g->value[w];
    struct operands operands = {0};
    const struct expr *e = v.op == GRAPH_MAP ? v.expr : build_read(x, &operands, graph_ref(x->g, w, NULL));
    for (int n = 0; v.op == GRAPH_MAP && n < v.operands; n++) build_read(x, &operands, v.operand[n]);
    struct builder of = *x;
    of.operands = &operands;
    of.s = build_read(x, &operands, graph_ref(x->g, s, NULL));
    e = hide(x, e, build_part(&of, x->spec->mask, NULL, true));
    x->lost |= of.lost;
    x->drawn = of.drawn;
    return graph_map(x->g, v.rank, v.axes, operands.count, operands.ref, e);
}

static bool is_of_keys(const struct mask *mask)
{
    return !mask_is_of_order(mask);
}

const struct expr *build_shown_keys(struct builder *x)
{
    return build_parts(x, x->spec->mask, is_of_keys);
}

const struct expr *build_region(struct builder *x)
{
    if (x->counting == COUNT_SHOWN) return build_parts(x, x->spec->mask, mask_is_of_order);
    const struct expr *const region = build_part(x, x->spec->mask, NULL, false);
    if (!region || region->op != EXPR_INT) return region;
    return region->integer ? NULL : build_op2(x, EXPR_LT, build_index_of(x, x->j), build_integer(x, 0));
}
