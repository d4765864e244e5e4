/* Making sums over tokens, whose order on their way chain_sums.c chooses (sums.h). */
#include "sums.h"

void sums_note(struct sums *x, int error)
{
    x->error = worse_error(x->error, error);
}

size_t sums_bytes(const struct sums *x, const struct attn_problem *problem, int kind)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    return x->call->backward ? kernel->outer_sums(problem, kind) : kind == KEYS ? kernel->key_sums(problem) : 0;
}

struct attn_problem sums_problem(const struct sums *x, const struct attn_problem *problem,
                                 unsigned char *const of[KINDS])
{
    struct attn_problem p = *problem;
    p.saved = NULL;
    if (x->call->backward) p.statistics = NULL;
    p.workspace_bytes = 0;
    p.earlier_sums = of[KEYS];
    p.later_sums = x->call->backward ? of[QUERIES] : NULL;
    return p;
}

unsigned char *sums_place(const struct sums *x, int64_t n, int kind, size_t *bytes)
{
    const struct attn_problem *const p = &x->slicing.whole, slice = slice_problem(&x->slicing, n);
    const int64_t head = n / x->slicing.of_sequence * p->kv_heads + n % x->slicing.of_sequence * x->slicing.heads;
    *bytes = sums_bytes(x, &slice, kind);
    return x->of[kind] + (size_t)head * (sums_bytes(x, p, kind) / (size_t)(p->batch * p->kv_heads));
}

/* ---- some of the tokens ---- */

struct slice sums_tokens(const struct sums *x)
{
    return (struct slice){x->slicing.whole, x->call->arrays, x->call->params};
}

static void *row_of(const void *array, const struct attn_strides *s, int64_t row, enum attn_dtype dtype)
{
    const int64_t bytes = row * s->row * (int64_t)attn_dtype_size(dtype);
    return array ? (unsigned char *)(uintptr_t)array + bytes : NULL;
}

struct slice sums_some(const struct sums *x, const struct slice *all, int64_t first, int64_t n_q, int64_t n_k)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem *const p = &all->problem;
    const struct arrays *const a = &all->arrays;
    const struct origin rows = {.first_query = first, .first_key = first};
    struct slice t = *all;
    t.problem.n_q = n_q;
    t.problem.n_k = n_k;
    t.problem.first_key += first;
    t.problem.query_start = n_q == n_k ? NULL : x->starts;
    t.problem.statistics = row_of(p->statistics, &p->statistics_at, first, dtype_of_sums(kernel));
    t.arrays = (struct arrays){
        .q = row_of(a->q, &p->q, first, kernel->dtype),
        .k = row_of(a->k, &p->k, first, kernel->key_dtype),
        .v = kernel->values_are_keys ? a->v : row_of(a->v, &p->v, first, kernel->value_dtype),
        .out = row_of(a->out, &p->out, first, kernel->dtype),
        .dout = row_of(a->dout, &p->dout, first, kernel->dtype),
        .dq = row_of(a->dq, &p->dq, first, kernel->dtype),
        .dk = row_of(a->dk, &p->dk, first, kernel->dtype),
        .dv = row_of(a->dv, &p->dv, first, kernel->dtype),
    };
    if (!all->params || !kernel->params) return t;
    params_from(kernel, p, &rows, all->params, x->prefix.params);
    t.params = x->prefix.params;
    return t;
}

/* ---- adding tokens ---- */

static int add(const struct sums *x, const struct slice *tokens, unsigned char *const of[KINDS], int kind)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem p = sums_problem(x, &tokens->problem, of);
    const struct arrays *const a = &tokens->arrays;
    if (kind == KEYS ? p.n_k == 0 : p.n_q == 0) return 0;
    return x->call->backward
               ? kernel->add_outer_sums(&p, tokens->params, a->q, a->k, a->v, a->out, a->dout, kind, x->work)
               : kernel->add_key_sums(&p, tokens->params, a->k, a->v, x->work);
}

int sums_add(const struct sums *x, const struct slice *tokens, unsigned char *const of[KINDS], int kind)
{
    if (kind == KEYS || !prefix_serves(x->call->kernel)) return add(x, tokens, of, kind);
    /* queries after the first keys, and queries at them, which see the first keys alone */
    const int64_t keys = x->prefix.keys, left = tokens->problem.n_q - keys;
    unsigned char *const first = x->prefix.of[KEYS] + (of[KEYS] - x->of[KEYS]);
    unsigned char *const sums[KINDS] = {keys ? first : of[KEYS], of[QUERIES]};
    const struct slice after = sums_some(x, tokens, keys, left, left);
    const int error = add(x, &after, sums, QUERIES);
    if (error) return error;
    const struct slice queries = sums_some(x, tokens, 0, keys, 0);
    return add(x, &queries, sums, QUERIES);
}

int sums_make_own(const struct sums *x, int kind)
{
    const struct slice all = sums_tokens(x);
    unsigned char *of[KINDS] = {x->of[KEYS], x->of[QUERIES]};
    of[kind] = x->own;
    memset(x->own, 0, larger(x->bytes[KEYS], x->bytes[QUERIES]));
    return sums_add(x, &all, of, kind);
}

int sums_add_slice(const struct sums *x, int64_t n, int kind, unsigned char *to)
{
    const struct ranks_call *const call = x->call;
    unsigned char *of[KINDS];
    size_t bytes;
    for (int k = KINDS - 1; k >= 0; k--) of[k] = sums_place(x, n, k, &bytes);
    if (x->own) {
        const size_t before = (size_t)(sums_place(x, n, kind, &bytes) - x->of[kind]);
        const enum attn_dtype dtype = dtype_of_sums(call->kernel);
        add_elements(to, x->own + before, (int64_t)(bytes / attn_dtype_size(dtype)), dtype);
        return 0;
    }
    of[kind] = to;
    const struct slice slice = slice_of(&x->slicing, n, &call->arrays, call->params, x->params);
    return sums_add(x, &slice, of, kind);
}
