/* Linear forms over ranks whose queries all see the first keys (kernel->open_keys), as with `any: [causal, prefix]`. A
   query after them sees earlier keys, and a query at one of them sees these keys alone. So a rank's tokens are two
   slices:
   - Tokens after the first keys are those of a causal mask, with sums over all keys before them.
   - The others are queries without keys, with the sums over all first keys, and keys without queries, with the sums
     over all queries.

   The rank with the last of the first keys sends their sums back to the first rank, and the first rank sends the sums
   over all queries to that rank. */
#include "sums.h"

/* ---- the workspace ---- */

static size_t lines_of_gradient(const struct ranks_call *call, const struct attn_param *p)
{
    return whole_lines(gradient_bytes(call->kernel, p, &call->problem));
}

/* Returns the number of a rank's tokens that are first keys. */
static int64_t first_keys_of(const struct sums *x, int rank)
{
    int64_t left = x->call->kernel->open_keys;
    for (int r = 0; r < rank && left > 0; r++) left -= x->call->run[r].n_k;
    const int64_t own = x->call->run[rank].n_k;
    return left < 0 ? 0 : left < own ? left : own;
}

void prefix_place(struct sums *x, struct memory *m)
{
    const struct ranks_call *const call = x->call;
    struct prefix *const own = &x->prefix;
    struct learned g = FIRST_LEARNED;
    size_t gradients = 0;
    if (!prefix_serves(call->kernel)) return;
    if (call->run) own->keys = first_keys_of(x, call->transport->rank);
    own->params = memory_take(m, params_bytes(call->kernel));
    for (int kind = 0; kind < KINDS; kind++) own->of[kind] = memory_cleared(m, x->bytes[kind]);
    if (!call->backward) return;
    own->pointers = memory_take(m, (size_t)call->kernel->params * sizeof(void *));
    while (learned_next(call, &g)) gradients = bytes_plus(gradients, lines_of_gradient(call, g.of));
    own->gradients = memory_take(m, gradients);
}

/* ---- sums over all first keys, or all queries ---- */

/* Makes the sums of slice n over all first keys from those over keys before the rank, or the sums over all queries from
   those over queries after the first rank. */
static int complete(const struct sums *x, int64_t n, int kind, unsigned char *to)
{
    const struct ranks_call *const call = x->call;
    size_t bytes;
    const unsigned char *const before = sums_place(x, n, kind, &bytes);
    memcpy(to, before, bytes);
    if (kind == QUERIES) return sums_add_slice(x, n, kind, to);
    const struct slice slice = slice_of(&x->slicing, n, &call->arrays, call->params, x->params);
    unsigned char *const of[KINDS] = {to, call->backward ? sums_place(x, n, QUERIES, &bytes) : NULL};
    const struct slice keys = sums_some(x, &slice, 0, 0, x->prefix.keys);
    return sums_add(x, &keys, of, kind);
}

struct sharing {
    struct sums *sums;
    int kind;
    bool first; /* the rank that makes the sums */
};

static unsigned char *place_of(void *user, int64_t n, size_t *bytes)
{
    const struct sharing *const s = user;
    return s->sums->prefix.of[s->kind] + (sums_place(s->sums, n, s->kind, bytes) - s->sums->of[s->kind]);
}

static const unsigned char *share_slice(void *user, int64_t n)
{
    const struct sharing *const s = user;
    size_t bytes;
    unsigned char *const at = place_of(user, n, &bytes);
    if (s->first && !s->sums->error) sums_note(s->sums, complete(s->sums, n, s->kind, at));
    return at;
}

void prefix_share(struct sums *x, int kind)
{
    const struct attn_transport *const t = x->call->transport;
    if (!prefix_serves(x->call->kernel)) return;
    int last = t->ranks - 1;
    while (last >= 0 && first_keys_of(x, last) == 0) last--;
    const int first = kind == KEYS ? last : 0, end = kind == KEYS ? 0 : last, step = kind == KEYS ? -1 : 1;
    if (t->rank > last) return;
    struct sharing sharing = {x, kind, t->rank == first};
    const struct sweep s = {.transport = t,
                            .from = t->rank == first ? -1 : t->rank - step,
                            .to = t->rank == end ? -1 : t->rank + step,
                            .tag = TAG_TOTALS,
                            .count = x->slicing.count,
                            .error = &x->error,
                            .user = &sharing,
                            .place = place_of,
                            .work = share_slice};
    if (kind == QUERIES && t->rank == first && x->own && !x->error) sums_note(x, sums_make_own(x, kind));
    sweep_slices(&s);
}

/* ---- results and gradients ---- */

static int attend(const struct sums *x, const struct slice *t)
{
    unsigned char *const of[KINDS] = {x->prefix.keys ? x->prefix.of[KEYS] : x->of[KEYS], NULL};
    const struct attn_problem p = sums_problem(x, &t->problem, of);
    const struct arrays *const a = &t->arrays;
    return p.n_q ? x->call->kernel->forward(&p, t->params, a->q, a->k, a->v, a->out, x->work) : 0;
}

int prefix_attend(const struct sums *x)
{
    const int64_t keys = x->prefix.keys, left = x->slicing.whole.n_q - keys;
    const struct slice all = sums_tokens(x), queries = sums_some(x, &all, 0, keys, 0);
    const int error = attend(x, &queries);
    if (error) return error;
    const struct slice after = sums_some(x, &all, keys, left, left);
    return attend(x, &after);
}

/* Copies the rows of a slice's gradient, which begin with row `first` of the rank, or adds them if there are no rows.
 */
static void take_gradient(const struct sums *x, const struct attn_param *p, const struct slice *slice, int64_t first,
                          const unsigned char *from, void *to)
{
    const enum attn_dtype dtype = dtype_of_sums(x->call->kernel);
    const size_t size = attn_dtype_size(dtype);
    int64_t all[4] = {0}, shape[4] = {0}, inner = 1, outer = 1;
    int rows = p->rank;
    attn_param_shape(p, &x->call->problem, all);
    attn_param_shape(p, &slice->problem, shape);
    for (int k = 0; k < p->rank; k++)
        if (p->shape[k] == ATTN_N_Q || p->shape[k] == ATTN_N_K) rows = k;
    for (int k = 0; k < p->rank; k++)
        if (k < rows)
            outer *= all[k];
        else if (k > rows)
            inner *= all[k];
    if (rows == p->rank) {
        add_elements(to, from, outer, dtype);
        return;
    }
    const size_t bytes = (size_t)(shape[rows] * inner) * size;
    for (int64_t n = 0; n < outer; n++)
        memcpy((unsigned char *)to + (size_t)((n * all[rows] + first) * inner) * size, from + (size_t)n * bytes, bytes);
}

/* Computes the gradients of a slice. */
static int differentiate(const struct sums *x, const struct slice *t, int64_t first, unsigned char *const of[KINDS])
{
    const struct ranks_call *const call = x->call;
    const struct attn_problem p = sums_problem(x, &t->problem, of);
    const struct arrays *const a = &t->arrays;
    struct learned g = FIRST_LEARNED, made = FIRST_LEARNED;
    unsigned char *at = x->prefix.gradients;
    if (p.n_q == 0 && p.n_k == 0) return 0;
    for (; learned_next(call, &g); at += lines_of_gradient(call, g.of)) x->prefix.pointers[g.number] = g.to ? at : NULL;
    const int error = call->kernel->backward(&p, t->params, a->q, a->k, a->v, a->out, a->dout, a->dq, a->dk, a->dv,
                                             call->gradients ? x->prefix.pointers : NULL, x->work);
    while (!error && learned_next(call, &made))
        if (made.to)
            take_gradient(x, made.of, t, first, (const unsigned char *)x->prefix.pointers[made.number], made.to);
    return error;
}

int prefix_differentiate(const struct sums *x)
{
    const int64_t keys = x->prefix.keys, left = x->slicing.whole.n_q - keys;
    const struct slice all = sums_tokens(x);
    unsigned char *const earlier = keys ? x->prefix.of[KEYS] : x->of[KEYS];
    clear_gradients(x->call);
    struct slice slice = sums_some(x, &all, keys, left, left);
    int error = differentiate(x, &slice, keys, (unsigned char *const[KINDS]){earlier, x->of[QUERIES]});
    if (error) return error;
    slice = sums_some(x, &all, 0, keys, 0);
    slice.arrays.dk = slice.arrays.dv = NULL;
    error = differentiate(x, &slice, 0, (unsigned char *const[KINDS]){earlier, x->prefix.of[QUERIES]});
    if (error) return error;
    slice = sums_some(x, &all, 0, 0, keys);
    slice.arrays.dq = NULL;
    return differentiate(x, &slice, 0, (unsigned char *const[KINDS]){earlier, x->prefix.of[QUERIES]});
}
