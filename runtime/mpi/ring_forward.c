/* Quadratic forms over ranks. Keys and values travel from rank to rank, while each rank computes the rows of its
   queries for the keys that it has received before. Results for different keys are merged in a fixed order: first the
   rank's own keys, then piece by piece in the order of arrival. */
#include "ring.h"

static bool serves(const struct ranks_call *call)
{
    return !call->backward && ring_serves(call);
}

/* The results for a piece. */
struct results {
    unsigned char *out, *statistics;
};

static int merge_piece(struct ring *x, struct attn_problem *p, int64_t first, bool begins, const unsigned char *message)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct results *const results = x->more;
    const int64_t size = (int64_t)attn_dtype_size(kernel->dtype);
    const unsigned char *const q = (const unsigned char *)call->arrays.q + first * p->q.row * size;
    (void)begins;
    p->out = (struct attn_strides){0, 0, 0};
    p->statistics = results->statistics;
    p->statistics_at = (struct attn_strides){p->heads * p->n_q, p->n_q, 1};
    const int error = kernel->forward(p, call->params ? x->params : NULL, q, message, message + x->layout.values,
                                      results->out, x->work);
    if (error) return error;
    struct attn_problem left = x->own;
    left.n_q = p->n_q;
    left.n_k = 0;
    left.statistics = (unsigned char *)left.statistics +
                      first * left.statistics_at.row * (int64_t)ring_statistics_size(kernel);
    return kernel->merge(&left, (unsigned char *)call->arrays.out + first * left.out.row * size, p, results->out);
}

/* Computes the result for the rank's own keys. */
static int add_own(struct ring *x)
{
    const struct ranks_call *const call = x->call;
    const struct arrays *const a = &call->arrays;
    int error = 0;
    if (x->own.n_q == 0) return 0;
    const struct attn_problem p = ring_own_call(x, &error);
    return error ? error
                 : call->kernel->forward(&p, call->params ? x->params : NULL, a->q, a->k, a->v, a->out, x->work);
}

static void place(struct ring *x, struct results *results, struct memory *m)
{
    struct attn_problem *const own = &x->own;
    const struct attn_kernel *const kernel = x->call->kernel;
    const size_t rows = ring_rows(own), statistics = bytes_times(rows, ring_statistics_size(kernel));
    ring_place(x, m);
    results->out = memory_take(m, bytes_times(rows, attn_dtype_size(kernel->dtype) * (size_t)kernel->value_dim));
    results->statistics = memory_take(m, statistics);
    void *const of_rank = memory_take(m, statistics);
    if (own->statistics) return;
    own->statistics = of_rank;
    own->statistics_at = (struct attn_strides){own->heads * own->n_q, own->n_q, 1};
}

static size_t workspace(const struct ranks_call *call)
{
    struct memory m = {NULL, 0};
    struct ring x = {.call = call, .own = call->problem};
    struct results results;
    place(&x, &results, &m);
    return m.bytes;
}

static int run(const struct ranks_call *call)
{
    struct memory m = {call->workspace, 0};
    struct results results;
    struct ring ring = {.call = call, .own = call->problem, .compute = merge_piece, .more = &results}, *const x = &ring;
    const int misplaced = ring_make_routes(x);
    if (misplaced) return misplaced;
    place(x, &results, &m);
    decay_make(x);
    if (!x->error) ring_note(x, add_own(x));
    ring_travel(x);
    return x->error;
}

const struct algorithm keys_travel = {serves, ring_check, workspace, integers_hash, run};
