/* Gradients of parameters of forms whose keys travel. A call of the kernel writes those of its queries and keys. Each
   rank adds them to its own gradient, which has a row for each of its queries or keys, and for all keys if the
   parameter has an element for each query and key. Rows of other ranks' keys go back there with the gradients of
   keys. */
#include "ring.h"

#include <string.h>

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
                ring_add_elements((unsigned char *)to + at * size, row, x->shape[3], dtype);
            }
}

static enum attn_dtype dtype_of(const struct attn_kernel *kernel)
{
    return kernel->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
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

struct ring_gradients ring_gradients_of(const struct attn_kernel *kernel, const struct attn_problem *own)
{
    struct ring_gradients x = {.pointers_bytes = whole_lines((size_t)kernel->params * sizeof(void *))};
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const p = &kernel->param[k];
        if (!attn_param_learned(p)) continue;
        const struct attn_problem call = longest(kernel, own, p);
        x.call_bytes = bytes_plus(x.call_bytes, bytes_of(kernel, p, &call));
        if (returns(kernel, k)) x.rows_bytes = bytes_plus(x.rows_bytes, bytes_of(kernel, p, &call));
    }
    return x;
}

size_t ring_gradients_bytes(const struct ring_gradients *x)
{
    return bytes_plus(bytes_plus(x->call_bytes, x->pointers_bytes), bytes_times(2, x->rows_bytes));
}

void ring_gradients_place(struct ring_gradients *x, unsigned char *at)
{
    x->call = at;
    x->rows = at + x->call_bytes;
    x->received = x->rows + x->rows_bytes;
    x->pointers = (void **)(void *)(x->received + x->rows_bytes);
}

void **ring_gradients_point(const struct ring *x, const struct ring_gradients *g, bool own_keys)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    void *const *const own = (void *const *)x->call->gradients;
    unsigned char *at = g->call;
    for (int k = 0, n = 0; k < kernel->params; k++) {
        const struct attn_param *const p = &kernel->param[k];
        if (!attn_param_learned(p)) continue;
        const struct attn_problem call = longest(kernel, &x->own, p);
        g->pointers[n] = !own || !own[n] ? NULL : own_keys && !is_of_pairs(p) ? own[n] : at;
        n++;
        at += bytes_of(kernel, p, &call);
    }
    return own ? g->pointers : NULL;
}

/* Returns the problem with the rows of the rank's own gradient. */
static struct attn_problem whole_of(const struct ring *x, const struct attn_param *p)
{
    return sized(&x->own, x->own.n_q, is_of_pairs(p) ? routes_key(&x->routes, x->routes.ranks) : x->own.n_k);
}

void ring_gradients_clear(const struct ring *x, bool pairs_only)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    void *const *const own = (void *const *)x->call->gradients;
    for (int k = 0, n = 0; k < kernel->params && own; k++) {
        const struct attn_param *const p = &kernel->param[k];
        if (!attn_param_learned(p)) continue;
        const struct attn_problem whole = whole_of(x, p);
        if (own[n] && (is_of_pairs(p) || !pairs_only)) memset(own[n], 0, gradient_bytes(kernel, p, &whole));
        n++;
    }
}

void ring_gradients_add(const struct ring *x, const struct ring_gradients *g, const struct attn_problem *call,
                        int64_t first_query, int64_t key, bool own_keys)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    void *const *const own = (void *const *)x->call->gradients;
    unsigned char *rows = g->rows;
    for (int k = 0, n = 0; k < kernel->params && own; k++) {
        const struct attn_param *const p = &kernel->param[k];
        if (!attn_param_learned(p)) continue;
        void *const to = own[n], *const from = g->pointers[n];
        n++;
        if (!to || decay_reads(kernel, k) || (own_keys && !is_of_pairs(p))) continue;
        const struct attn_problem whole = returns(kernel, k) ? sized(&x->own, 0, call->n_k) : whole_of(x, p);
        const struct placed at = placed_of(p, &whole, call, first_query, is_of_pairs(p) ? key : 0);
        add_placed(&at, returns(kernel, k) ? rows : to, from, dtype_of(kernel));
        if (returns(kernel, k)) rows += bytes_of(kernel, p, call);
    }
}

size_t ring_gradients_sent(const struct ring *x, int64_t keys)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem call = sized(&x->own, 0, keys);
    void *const *const own = (void *const *)x->call->gradients;
    size_t bytes = 0;
    for (int k = 0, n = 0; k < kernel->params && own; k++) {
        if (!attn_param_learned(&kernel->param[k])) continue;
        if (own[n] && returns(kernel, k)) bytes += bytes_of(kernel, &kernel->param[k], &call);
        n++;
    }
    return bytes;
}

void ring_gradients_add_received(const struct ring *x, const struct ring_gradients *g, struct rows received)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem call = sized(&x->own, 0, received.end - received.first);
    void *const *const own = (void *const *)x->call->gradients;
    const unsigned char *from = g->received;
    for (int k = 0, n = 0; k < kernel->params && own; k++) {
        const struct attn_param *const p = &kernel->param[k];
        if (!attn_param_learned(p)) continue;
        void *const to = own[n++];
        if (!to || !returns(kernel, k)) continue;
        const struct placed at = placed_of(p, &x->own, &call, 0, received.first);
        add_placed(&at, to, from, dtype_of(kernel));
        from += bytes_of(kernel, p, &call);
    }
}
