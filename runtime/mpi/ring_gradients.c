/* Gradients of parameters of forms whose keys travel. A call of the kernel writes those of its queries and keys. Each
   rank adds them to its own gradient, which has a row for each of its queries or keys, and for all keys if the
   parameter has an element for each query and key. Rows of other ranks' keys go back there with the gradients of
   keys. */
#include "ring.h"

/* The places of an array's elements in a larger array, for four axes. */
struct placed {
    int64_t whole[4], first[4], shape[4];
};

static struct placed placed_of(const struct attn_param *p, const struct attn_problem *whole,
                               const struct attn_problem *call, int64_t first_query, int64_t first_key)
{
    struct placed x = {{1, 1, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}};
    const int skip = 4 - p->rank;
    attn_param_shape(p, whole, x.whole + skip);
    attn_param_shape(p, call, x.shape + skip);
    for (int k = 0; k < p->rank; k++) {
        const int64_t queries = queries_of_element(p->shape[k]);
        if (queries) x.first[skip + k] = first_query / queries;
        if (p->shape[k] == ATTN_N_K) x.first[skip + k] = first_key;
    }
    return x;
}

static void add_placed(const struct placed *x, void *to, const void *from, enum attn_dtype dtype)
{
    const int64_t size = (int64_t)attn_dtype_size(dtype);
    const unsigned char *row = (const unsigned char *)from;
    for (int64_t a = x->first[0]; a < x->first[0] + x->shape[0]; a++)
        for (int64_t b = x->first[1]; b < x->first[1] + x->shape[1]; b++)
            for (int64_t c = x->first[2]; c < x->first[2] + x->shape[2]; c++, row += x->shape[3] * size) {
                const int64_t at = ((a * x->whole[1] + b) * x->whole[2] + c) * x->whole[3] + x->first[3];
                add_elements((unsigned char *)to + at * size, row, x->shape[3], dtype);
            }
}

static bool is_of_pairs(const struct attn_param *p)
{
    return param_has_queries(p) && param_has_axis(p, ATTN_N_K);
}

/* Whether rows of a gradient go back to the rank of the keys. Those of a decay do so by themselves (decay.c). */
static bool returns(const struct attn_kernel *kernel, int k)
{
    const struct attn_param *const p = &kernel->param[k];
    return !decay_reads(kernel, k) && param_has_axis(p, ATTN_N_K) && !param_has_queries(p);
}

static struct attn_problem sized(const struct attn_problem *p, int64_t n_q, int64_t n_k)
{
    struct attn_problem made = *p;
    made.n_q = n_q;
    made.n_k = n_k;
    return made;
}

/* Returns the bytes of a parameter's gradient of a call. */
static size_t bytes_of(const struct attn_kernel *kernel, const struct attn_param *p, const struct attn_problem *call)
{
    return whole_lines(gradient_bytes(kernel, p, call));
}

/* Returns the problem of a call with the most rows. Only an element for each query and key needs room for a call with
   the rank's own keys, because the call writes other gradients where they belong. */
static struct attn_problem longest(const struct attn_kernel *kernel, const struct attn_problem *own,
                                   const struct attn_param *p)
{
    const int64_t piece = piece_of_runs(kernel);
    return sized(own, own->n_q, is_of_pairs(p) && own->n_k > piece ? own->n_k : piece);
}

void ring_gradients_place(struct ring_gradients *g, const struct ring *x, struct memory *m)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    struct learned p = FIRST_LEARNED;
    size_t call_bytes = 0;
    g->rows_bytes = 0;
    while (learned_next(x->call, &p)) {
        const struct attn_problem call = longest(kernel, &x->own, p.of);
        call_bytes = bytes_plus(call_bytes, bytes_of(kernel, p.of, &call));
        if (returns(kernel, p.param)) g->rows_bytes = bytes_plus(g->rows_bytes, bytes_of(kernel, p.of, &call));
    }
    g->call = memory_take(m, call_bytes);
    g->rows = memory_take(m, g->rows_bytes);
    g->received = memory_take(m, g->rows_bytes);
    g->pointers = memory_take(m, (size_t)kernel->params * sizeof(void *));
}

void **ring_gradients_point(const struct ring *x, const struct ring_gradients *g, bool own_keys)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    struct learned p = FIRST_LEARNED;
    unsigned char *at = g->call;
    while (learned_next(x->call, &p)) {
        const struct attn_problem call = longest(kernel, &x->own, p.of);
        g->pointers[p.number] = !p.to ? NULL : own_keys && !is_of_pairs(p.of) ? p.to : at;
        at += bytes_of(kernel, p.of, &call);
    }
    return x->call->gradients ? g->pointers : NULL;
}

/* Returns the problem with the rows of the rank's own gradient. */
static struct attn_problem whole_of(const struct ring *x, const struct attn_param *p)
{
    return sized(&x->own, x->own.n_q, is_of_pairs(p) ? routes_key(&x->routes, x->routes.ranks) : x->own.n_k);
}

void ring_gradients_clear(const struct ring *x, bool pairs_only)
{
    struct learned p = FIRST_LEARNED;
    while (learned_next(x->call, &p)) {
        const struct attn_problem whole = whole_of(x, p.of);
        if (p.to && (is_of_pairs(p.of) || !pairs_only)) memset(p.to, 0, gradient_bytes(x->call->kernel, p.of, &whole));
    }
}

void ring_gradients_add(const struct ring *x, const struct ring_gradients *g, const struct attn_problem *call,
                        int64_t first_query, bool own_keys)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    struct learned p = FIRST_LEARNED;
    unsigned char *rows = g->rows;
    while (learned_next(x->call, &p)) {
        const bool pairs = is_of_pairs(p.of), goes_back = returns(kernel, p.param);
        if (!p.to || decay_reads(kernel, p.param) || (own_keys && !pairs)) continue;
        const struct attn_problem whole = goes_back ? sized(&x->own, 0, call->n_k) : whole_of(x, p.of);
        const struct placed at = placed_of(p.of, &whole, call, first_query, pairs ? call->first_key : 0);
        add_placed(&at, goes_back ? rows : p.to, g->pointers[p.number], dtype_of_sums(kernel));
        if (goes_back) rows += bytes_of(kernel, p.of, call);
    }
}

size_t ring_gradients_sent(const struct ring *x, int64_t keys)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem call = sized(&x->own, 0, keys);
    struct learned p = FIRST_LEARNED;
    size_t bytes = 0;
    while (learned_next(x->call, &p))
        if (p.to && returns(kernel, p.param)) bytes += bytes_of(kernel, p.of, &call);
    return bytes;
}

void ring_gradients_add_received(const struct ring *x, const struct ring_gradients *g, struct rows received)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem call = sized(&x->own, 0, received.end - received.first);
    struct learned p = FIRST_LEARNED;
    const unsigned char *from = g->received;
    while (learned_next(x->call, &p)) {
        if (!p.to || !returns(kernel, p.param)) continue;
        const struct placed at = placed_of(p.of, &x->own, &call, 0, received.first);
        add_placed(&at, p.to, from, dtype_of_sums(kernel));
        from += bytes_of(kernel, p.of, &call);
    }
}
