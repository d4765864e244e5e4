/* Checks a problem. Every kernel calls one of these functions before it accesses an array. */
#include "attnrt.h"
#include "kernel/basic.h"

#include <stdbool.h>

/* The limit for the number of elements. Elements have at most 8 bytes, so sizes in bytes do not overflow. */
static const int64_t most_elements = INT64_MAX / 8;

/* Returns whether a * b is at most `most`. Division would take most of the time of a short call. */
static bool is_at_most(int64_t a, int64_t b, int64_t most, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product) && *product <= most;
}

static bool product_fits(int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t factor[4] = {a, b, c, d};
    int64_t product = 1;
    /* Extents of 0 are skipped, because strides are products of the other extents and must not overflow. */
    for (int k = 0; k < 4; k++)
        if (factor[k] != 0 && !is_at_most(product, factor[k], most_elements, &product)) return false;
    return true;
}

/* Returns whether the offset of every element of an array with these strides fits. */
static bool extent_fits(const struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim)
{
    const int64_t count[3] = {batch, heads, rows}, stride[3] = {s->batch, s->head, s->row};
    int64_t left = most_elements - dim, extent;
    for (int k = 0; k < 3; k++) {
        if (count[k] < 2) continue;
        if (!is_at_most(stride[k], count[k] - 1, left, &extent)) return false;
        left -= extent;
    }
    return true;
}

/* Checks strides that are not all 0, and replaces those that are not used. */
static int given_check(struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim, bool written)
{
    if ((s->batch | s->head | s->row) < 0) return ATTN_EPROBLEM;
    if (!product_fits(batch, heads, rows, dim)) return ATTN_ESIZE;
    if (rows > 1 && s->row < dim) return ATTN_EPROBLEM;
    /* With a batch or head stride of 0, heads share memory. Outputs must not. */
    const bool any = batch > 0 && heads > 0 && rows > 0;
    if (written && any && ((batch > 1 && s->batch == 0) || (heads > 1 && s->head == 0))) return ATTN_EPROBLEM;
    if (!extent_fits(s, batch, heads, rows, dim)) return ATTN_ESIZE;
    /* The stride of an axis with one element is not used. Kernels may compute an address with it, so replace it. */
    if (rows < 2) s->row = dim;
    if (heads < 2) s->head = rows * dim;
    if (batch < 2) s->batch = heads * rows * dim;
    return 0;
}

/* Fills in the strides of an array. `all_fit`: arrays of the problem have few enough elements. This is inline, because
   short calls take much of their time here. */
INLINE int strides_check(struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim, bool written,
                         bool all_fit)
{
    if (s->batch | s->head | s->row) return given_check(s, batch, heads, rows, dim, written);
    if (!all_fit && !product_fits(batch, heads, rows, dim)) return ATTN_ESIZE;
    *s = (struct attn_strides){heads * rows * dim, rows * dim, dim};
    return 0;
}

ATTN_API int attn_stored_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                                       int64_t key_row, int64_t value_row, struct attn_problem *filled)
{
    if (!problem || head_dim < 1 || value_dim < 1) return ATTN_EPROBLEM;
    struct attn_problem own, *const p = filled && filled != problem ? filled : &own;
    *p = *problem;
    if (p->batch < 0 || p->heads < 0 || p->kv_heads < 0 || p->n_q < 0 || p->n_k < 0 || p->threads < 0)
        return ATTN_EPROBLEM;
    if (p->heads > 0 && (p->kv_heads == 0 || p->heads % p->kv_heads != 0)) return ATTN_EPROBLEM;
    if (p->key_heads < 0 || (p->key_heads > 0 && (p->heads != p->kv_heads || p->heads % p->key_heads != 0)))
        return ATTN_EPROBLEM;
    const int64_t of_q = p->key_heads ? p->key_heads : p->heads, of_k = p->key_heads ? p->key_heads : p->kv_heads;
    /* one check for all arrays, because most problems are small */
    const bool all_fit = product_fits(p->batch, max(max(p->heads, p->kv_heads), p->key_heads), max(p->n_q, p->n_k),
                                      max(max(head_dim, value_dim), max(key_row, value_row)));
    const int64_t b = p->batch, h = p->heads, g = p->kv_heads, n_q = p->n_q, n_k = p->n_k;
    int error = strides_check(&p->statistics_at, b, h, n_q, 1, p->statistics != NULL, all_fit);
    if (!error) error = strides_check(&p->q, b, of_q, n_q, head_dim, false, all_fit);
    if (!error) error = strides_check(&p->k, b, of_k, n_k, key_row, false, all_fit);
    if (!error) error = strides_check(&p->v, b, g, n_k, value_row, false, all_fit);
    if (!error) error = strides_check(&p->out, b, h, n_q, value_dim, true, all_fit);
    if (!error) error = strides_check(&p->dout, b, h, n_q, value_dim, false, all_fit);
    if (!error) error = strides_check(&p->dq, b, of_q, n_q, head_dim, true, all_fit);
    if (!error) error = strides_check(&p->dk, b, of_k, n_k, head_dim, true, all_fit);
    if (!error) error = strides_check(&p->dv, b, g, n_k, value_dim, true, all_fit);
    if (!error && p->weights) error = strides_check(&p->weights_at, b, h, n_q, n_k, true, false);
    if (!error && filled == problem) *filled = own;
    return error;
}

ATTN_API int attn_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                                struct attn_problem *filled)
{
    return attn_stored_problem_check(problem, head_dim, value_dim, head_dim, value_dim, filled);
}
