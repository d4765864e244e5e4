/* Making sums over tokens, whose order on their way chain_sums.c and total.c choose (sums.h). */
#include "sums.h"

#include <string.h>

void sums_note(struct sums *x, int error)
{
    x->error = worse_error(x->error, error);
}

size_t sums_bytes(const struct sums *x, const struct attn_problem *problem, int kind)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    return x->backward ? kernel->outer_sums(problem, kind) : kind == KEYS ? kernel->key_sums(problem) : 0;
}

struct attn_problem sums_problem(const struct sums *x, const struct attn_problem *problem,
                                 unsigned char *const of[KINDS])
{
    struct attn_problem p = *problem;
    p.saved = NULL;
    if (x->backward) p.statistics = NULL;
    p.workspace_bytes = 0;
    p.earlier_sums = of[KEYS];
    p.later_sums = x->backward ? of[QUERIES] : NULL;
    return p;
}

static size_t kernel_bytes(const struct sums *x, const struct attn_problem *problem)
{
    static unsigned char some; /* says that there are sums */
    unsigned char *const of[KINDS] = {&some, &some};
    const struct attn_problem p = sums_problem(x, problem, of);
    return x->backward ? x->call->kernel->backward_workspace(&p) : x->call->kernel->workspace(&p);
}

bool sums_join(const struct sums *x)
{
    return x->slicing.whole.foldable && x->call->kernel->outer_adds;
}

struct sums sums_of_call(const struct ranks_call *call, bool backward)
{
    struct sums made = {.call = call, .backward = backward}, *const x = &made;
    x->slicing = slicing_of(call->kernel, &call->problem, (int64_t)call->transport->ranks * ATTN_RANKS_SLICES);
    x->params_bytes = slice_params_bytes(call->kernel);
    for (int kind = 0; kind < KINDS; kind++) x->bytes[kind] = whole_lines(sums_bytes(x, &x->slicing.whole, kind));
    if (sums_join(x)) x->own_bytes = larger(x->bytes[KEYS], x->bytes[QUERIES]);
    x->kernel_bytes = kernel_bytes(x, &x->slicing.whole);
    for (int64_t n = 0; n < x->slicing.of_sequence && x->slicing.count; n++) {
        struct slice slice;
        const struct arrays none = {0};
        slice_make(&x->slicing, n, &none, NULL, NULL, &slice);
        x->kernel_bytes = larger(x->kernel_bytes, kernel_bytes(x, &slice.problem));
        for (int kind = 0; kind < KINDS; kind++)
            x->sent_bytes = larger(x->sent_bytes, whole_lines(sums_bytes(x, &slice.problem, kind)));
    }
    x->kernel_bytes = whole_lines(x->kernel_bytes);
    if (backward) x->gradients_bytes = gradients_work(call);
    return made;
}

void sums_set_dout(struct sums *x)
{
    x->of_dout = x->slicing;
    x->of_dout.whole.out = x->call->problem.dout;
}

unsigned char *sums_place(const struct sums *x, int64_t n, int kind, size_t *bytes)
{
    const struct attn_problem *const p = &x->slicing.whole;
    const int64_t head = n / x->slicing.of_sequence * p->kv_heads + n % x->slicing.of_sequence * x->slicing.heads;
    struct slice slice;
    const struct arrays none = {0};
    slice_make(&x->slicing, n, &none, NULL, NULL, &slice);
    *bytes = sums_bytes(x, &slice.problem, kind);
    return x->of[kind] + (size_t)head * (sums_bytes(x, p, kind) / (size_t)(p->batch * p->kv_heads));
}

/* Adds tokens to the sums. */
static int add(const struct sums *x, const struct attn_problem *problem, const void *params, const struct arrays *a,
               const void *dout, unsigned char *const of[KINDS], int kind)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem p = sums_problem(x, problem, of);
    if (kind == KEYS ? p.n_k == 0 : p.n_q == 0) return 0;
    if (kind == QUERIES && prefix_serves(kernel)) return prefix_add_queries(x, problem, params, a, dout, of);
    return x->backward ? kernel->add_outer_sums(&p, params, a->q, a->k, a->v, a->out, dout, kind, x->work)
                       : kernel->add_key_sums(&p, params, a->k, a->v, x->work);
}

int sums_make_own(const struct sums *x, int kind)
{
    unsigned char *of[KINDS] = {x->of[KEYS], x->of[QUERIES]};
    of[kind] = x->own;
    memset(x->own, 0, x->own_bytes);
    return add(x, &x->slicing.whole, x->call->params, &x->call->arrays, x->call->dout, of, kind);
}

static void add_numbers(unsigned char *sum, const unsigned char *more, size_t bytes, enum attn_dtype dtype)
{
    if (dtype == ATTN_F64)
        for (size_t k = 0; k < bytes / sizeof(double); k++)
            ((double *)(void *)sum)[k] += ((const double *)(const void *)more)[k];
    else
        for (size_t k = 0; k < bytes / sizeof(float); k++)
            ((float *)(void *)sum)[k] += ((const float *)(const void *)more)[k];
}

int sums_add_slice(const struct sums *x, int64_t n, int kind, unsigned char *to)
{
    const struct ranks_call *const call = x->call;
    const struct arrays given = {NULL, NULL, NULL, (void *)(uintptr_t)call->dout};
    unsigned char *of[KINDS];
    size_t bytes;
    struct slice slice, of_dout;
    for (int k = KINDS - 1; k >= 0; k--) of[k] = sums_place(x, n, k, &bytes);
    if (x->own) {
        const size_t before = (size_t)(sums_place(x, n, kind, &bytes) - x->of[kind]);
        add_numbers(to, x->own + before, bytes, call->kernel->dtype);
        return 0;
    }
    of[kind] = to;
    int error = slice_make(&x->of_dout, n, &given, NULL, NULL, &of_dout);
    if (!error) error = slice_make(&x->slicing, n, &call->arrays, call->params, x->params, &slice);
    return error ? error : add(x, &slice.problem, slice.params, &slice.arrays, of_dout.arrays.out, of, kind);
}
