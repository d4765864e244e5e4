/* Linear forms over ranks whose queries all see the first keys (kernel->open_keys), as with `any: [causal, prefix]`. A
   query after them sees earlier keys, and a query at one of them sees these keys alone. So a rank's tokens are two
   parts:
   - Tokens after the first keys are those of a causal mask, with sums over all keys before them.
   - The others are queries without keys, with the sums over all first keys, and keys without queries, with the sums
     over all queries.

   The rank with the last of the first keys sends their sums back to the first rank, and the first rank sends the sums
   over all queries to that rank. */
#include "sums.h"

#include <string.h>

enum { PENDING = 2 };

/* Tokens of a call of the kernel. */
struct tokens {
    struct attn_problem problem;
    struct arrays arrays;
    const void *params, *dout;
    void *dq, *dk, *dv;
};

bool prefix_serves(const struct attn_kernel *kernel)
{
    return kernel->key_sums && !kernel->sums_whole && kernel->open_keys > 0;
}

/* ---- the workspace ---- */

/* The bytes of the parts of the workspace. */
struct prefix_sizes {
    size_t starts, params, sums[KINDS], pointers, gradients;
};

static size_t lines_of_gradient(const struct ranks_call *call, const struct attn_param *p)
{
    return whole_lines(gradient_bytes(call->kernel, p, &call->problem));
}

static struct prefix_sizes sizes_of_prefix(const struct sums *x)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    struct prefix_sizes s = {
        .starts = whole_lines(bytes_times((size_t)x->call->problem.batch, sizeof(int64_t))),
        .params = x->params_bytes,
        .sums = {x->bytes[KEYS], x->bytes[QUERIES]},
        .pointers = x->backward ? whole_lines((size_t)kernel->params * sizeof(void *)) : 0,
    };
    for (int k = 0; k < kernel->params && x->backward; k++)
        if (attn_param_learned(&kernel->param[k]))
            s.gradients = bytes_plus(s.gradients, lines_of_gradient(x->call, &kernel->param[k]));
    return prefix_serves(kernel) ? s : (struct prefix_sizes){0};
}

size_t prefix_bytes(const struct sums *x)
{
    const struct prefix_sizes s = sizes_of_prefix(x);
    return bytes_plus(bytes_plus(bytes_plus(s.starts, s.params), bytes_plus(s.sums[KEYS], s.sums[QUERIES])),
                      bytes_plus(s.pointers, s.gradients));
}

/* Returns the number of a rank's tokens that are first keys. */
static int64_t first_keys_of(const struct sums *x, int rank)
{
    int64_t left = x->call->kernel->open_keys;
    for (int r = 0; r < rank && left > 0; r++) left -= x->call->run[r].n_k;
    const int64_t own = x->call->run[rank].n_k;
    return left < 0 ? 0 : left < own ? left : own;
}

void prefix_place(struct sums *x, unsigned char *at)
{
    const struct prefix_sizes s = sizes_of_prefix(x);
    struct prefix *const own = &x->prefix;
    if (!prefix_serves(x->call->kernel)) return;
    own->keys = first_keys_of(x, x->call->transport->rank);
    own->starts = (int64_t *)(void *)at;
    memset(at, 0, s.starts);
    own->params = at + s.starts;
    own->of[KEYS] = own->params + s.params;
    own->of[QUERIES] = own->of[KEYS] + s.sums[KEYS];
    own->pointers = (void **)(void *)(own->of[QUERIES] + s.sums[QUERIES]);
    own->gradients = own->of[QUERIES] + s.sums[QUERIES] + s.pointers;
    for (int kind = 0; kind < KINDS; kind++) memset(own->of[kind], 0, s.sums[kind]);
}

/* ---- parts of the tokens ---- */

static void *row_of(const void *array, const struct attn_strides *s, int64_t row, enum attn_dtype dtype)
{
    const int64_t bytes = row * s->row * (int64_t)attn_dtype_size(dtype);
    return array ? (unsigned char *)(uintptr_t)array + bytes : NULL;
}

/* Returns n_q queries and n_k keys of `all`, from token `first` on. */
static struct tokens part_of_tokens(const struct sums *x, const struct tokens *all, int64_t first, int64_t n_q,
                                    int64_t n_k)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem *const p = &all->problem;
    const struct part rows = {.first_query = first, .first_key = first};
    struct tokens t = *all;
    t.problem.n_q = n_q;
    t.problem.n_k = n_k;
    t.problem.first_key += first;
    t.problem.query_start = n_q == n_k ? NULL : x->prefix.starts;
    t.arrays.q = row_of(all->arrays.q, &p->q, first, kernel->dtype);
    t.arrays.k = row_of(all->arrays.k, &p->k, first, kernel->key_dtype);
    if (!kernel->values_are_keys) t.arrays.v = row_of(all->arrays.v, &p->v, first, kernel->value_dtype);
    t.arrays.out = row_of(all->arrays.out, &p->out, first, kernel->dtype);
    t.dout = row_of(all->dout, &p->dout, first, kernel->dtype);
    t.dq = row_of(all->dq, &p->dq, first, kernel->dtype);
    t.dk = row_of(all->dk, &p->dk, first, kernel->dtype);
    t.dv = row_of(all->dv, &p->dv, first, kernel->dtype);
    if (p->statistics)
        t.problem.statistics = (unsigned char *)p->statistics +
                               first * p->statistics_at.row * (kernel->dtype == ATTN_F64 ? 8 : 4);
    if (!all->params || !kernel->params) return t;
    part_of_params(kernel, p, &rows, all->params, x->prefix.params);
    t.params = x->prefix.params;
    return t;
}

/* Adds the tokens to sums over queries, or to sums over keys. */
static int add(const struct sums *x, const struct tokens *t, unsigned char *const of[KINDS], int kind)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem p = sums_problem(x, &t->problem, of);
    if (kind == KEYS ? p.n_k == 0 : p.n_q == 0) return 0;
    return x->backward ? kernel->add_outer_sums(&p, t->params, t->arrays.q, t->arrays.k, t->arrays.v, t->arrays.out,
                                                t->dout, kind, x->work)
                       : kernel->add_key_sums(&p, t->params, t->arrays.k, t->arrays.v, x->work);
}

int prefix_add_queries(const struct sums *x, const struct attn_problem *problem, const void *params,
                       const struct arrays *a, const void *dout, unsigned char *const of[KINDS])
{
    const int64_t keys = x->prefix.keys, left = problem->n_q - keys;
    const struct tokens all = {.problem = *problem, .arrays = *a, .params = params, .dout = dout};
    unsigned char *const first = x->prefix.of[KEYS] + (of[KEYS] - x->of[KEYS]);
    unsigned char *const sums[KINDS] = {keys ? first : of[KEYS], of[QUERIES]};
    const struct tokens after = part_of_tokens(x, &all, keys, left, left);
    const int error = add(x, &after, sums, QUERIES);
    if (error) return error;
    const struct tokens queries = part_of_tokens(x, &all, 0, keys, 0);
    return add(x, &queries, sums, QUERIES);
}

/* Makes the sums of slice n over all first keys from those over keys before the rank, or the sums over all queries from
   those over queries after the first rank. */
static int complete(const struct sums *x, int64_t n, int kind, unsigned char *to)
{
    const struct ranks_call *const call = x->call;
    size_t bytes;
    const unsigned char *const before = sums_place(x, n, kind, &bytes);
    memcpy(to, before, bytes);
    if (kind == QUERIES) return sums_add_slice(x, n, kind, to);
    struct slice slice;
    const int error = slice_make(&x->slicing, n, &call->arrays, call->params, x->params, &slice);
    if (error) return error;
    unsigned char *const of[KINDS] = {to, x->backward ? sums_place(x, n, QUERIES, &bytes) : NULL};
    const struct tokens all = {.problem = slice.problem, .arrays = slice.arrays, .params = slice.params};
    struct tokens keys = part_of_tokens(x, &all, 0, 0, x->prefix.keys);
    keys.dout = call->dout; /* not read */
    return add(x, &keys, of, kind);
}

void prefix_share(struct sums *x, int kind)
{
    const struct attn_transport *const t = x->call->transport;
    int last = t->ranks - 1;
    while (last >= 0 && first_keys_of(x, last) == 0) last--;
    const int first = kind == KEYS ? last : 0, end = kind == KEYS ? 0 : last, step = kind == KEYS ? -1 : 1;
    struct message sent[PENDING] = {{0}};
    if (!prefix_serves(x->call->kernel) || t->rank > last) return;
    if (kind == QUERIES && t->rank == first && x->own && !x->error) sums_note(x, sums_make_own(x, kind));
    for (int64_t n = 0; n < x->slicing.count; n++) {
        size_t bytes;
        unsigned char *const at = x->prefix.of[kind] + (sums_place(x, n, kind, &bytes) - x->of[kind]);
        if (t->rank != first)
            sums_note(x, message_now(t, message_from(t->rank - step, TAG_TOTALS, at, bytes)));
        else if (!x->error)
            sums_note(x, complete(x, n, kind, at));
        if (t->rank == end) continue;
        sums_note(x, message_end(t, &sent[n % PENDING]));
        sent[n % PENDING] = message_to(t->rank + step, TAG_TOTALS, at, bytes);
        sums_note(x, message_begin(t, &sent[n % PENDING]));
    }
    for (int k = 0; k < PENDING; k++) sums_note(x, message_end(t, &sent[k]));
}

/* ---- results and gradients ---- */

static int attend(const struct sums *x, const struct tokens *t)
{
    unsigned char *const of[KINDS] = {x->prefix.keys ? x->prefix.of[KEYS] : x->of[KEYS], NULL};
    const struct attn_problem p = sums_problem(x, &t->problem, of);
    const struct arrays *const a = &t->arrays;
    return p.n_q ? x->call->kernel->forward(&p, t->params, a->q, a->k, a->v, a->out, x->work) : 0;
}

/* Returns all tokens of the rank. */
static struct tokens tokens_of(const struct sums *x)
{
    const struct ranks_call *const call = x->call;
    return (struct tokens){.problem = x->slicing.whole,
                           .arrays = call->arrays,
                           .params = call->params,
                           .dout = call->dout,
                           .dq = call->dq,
                           .dk = call->dk,
                           .dv = call->dv};
}

int prefix_attend(const struct sums *x)
{
    const int64_t keys = x->prefix.keys, left = x->slicing.whole.n_q - keys;
    const struct tokens all = tokens_of(x), queries = part_of_tokens(x, &all, 0, keys, 0);
    const int error = attend(x, &queries);
    if (error) return error;
    const struct tokens after = part_of_tokens(x, &all, keys, left, left);
    return attend(x, &after);
}

/* Copies the rows of a part's gradient, which begin with row `first` of the rank, or adds them if there are no rows. */
static void take_gradient(const struct sums *x, const struct attn_param *p, const struct tokens *part, int64_t first,
                          const unsigned char *from, void *to)
{
    const bool doubles = x->call->kernel->dtype == ATTN_F64;
    const size_t size = doubles ? sizeof(double) : sizeof(float);
    int64_t all[4] = {0}, shape[4] = {0}, inner = 1, outer = 1;
    int rows = p->rank;
    attn_param_shape(p, &x->call->problem, all);
    attn_param_shape(p, &part->problem, shape);
    for (int k = 0; k < p->rank; k++)
        if (p->shape[k] == ATTN_N_Q || p->shape[k] == ATTN_N_K) rows = k;
    for (int k = 0; k < p->rank; k++)
        if (k < rows)
            outer *= all[k];
        else if (k > rows)
            inner *= all[k];
    if (rows == p->rank) {
        for (int64_t n = 0; n < outer; n++)
            if (doubles)
                ((double *)to)[n] += ((const double *)(const void *)from)[n];
            else
                ((float *)to)[n] += ((const float *)(const void *)from)[n];
        return;
    }
    const size_t bytes = (size_t)(shape[rows] * inner) * size;
    for (int64_t n = 0; n < outer; n++)
        memcpy((unsigned char *)to + (size_t)((n * all[rows] + first) * inner) * size, from + (size_t)n * bytes, bytes);
}

/* Computes the gradients of a part. */
static int differentiate(const struct sums *x, const struct tokens *t, int64_t first, unsigned char *const of[KINDS])
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct attn_problem p = sums_problem(x, &t->problem, of);
    const struct arrays *const a = &t->arrays;
    void *const *const own = (void *const *)call->gradients;
    unsigned char *at = x->prefix.gradients;
    int learned = 0;
    if (p.n_q == 0 && p.n_k == 0) return 0;
    for (int k = 0; k < kernel->params; k++) {
        if (!attn_param_learned(&kernel->param[k])) continue;
        x->prefix.pointers[learned] = own && own[learned] ? at : NULL;
        learned++;
        at += lines_of_gradient(call, &kernel->param[k]);
    }
    const int error = kernel->backward(&p, t->params, a->q, a->k, a->v, a->out, t->dout, t->dq, t->dk, t->dv,
                                       own ? x->prefix.pointers : NULL, x->work);
    learned = 0;
    for (int k = 0; k < kernel->params && own && !error; k++) {
        if (!attn_param_learned(&kernel->param[k])) continue;
        if (own[learned])
            take_gradient(x, &kernel->param[k], t, first, (const unsigned char *)x->prefix.pointers[learned],
                          own[learned]);
        learned++;
    }
    return error;
}

int prefix_differentiate(const struct sums *x)
{
    const int64_t keys = x->prefix.keys, left = x->slicing.whole.n_q - keys;
    const struct tokens all = tokens_of(x);
    unsigned char *const earlier = keys ? x->prefix.of[KEYS] : x->of[KEYS];
    clear_gradients(x->call);
    struct tokens part = part_of_tokens(x, &all, keys, left, left);
    int error = differentiate(x, &part, keys, (unsigned char *const[KINDS]){earlier, x->of[QUERIES]});
    if (error) return error;
    part = part_of_tokens(x, &all, 0, keys, 0);
    part.dk = part.dv = NULL;
    error = differentiate(x, &part, 0, (unsigned char *const[KINDS]){earlier, x->prefix.of[QUERIES]});
    if (error) return error;
    part = part_of_tokens(x, &all, 0, 0, keys);
    part.dq = NULL;
    return differentiate(x, &part, 0, (unsigned char *const[KINDS]){earlier, x->prefix.of[QUERIES]});
}
