/* Checks the gradients of the kernel, for attnc check. A call for all gradients is compared with the interpreter.
   Calls for only some gradients must return bits equal to those of the first call. */
#include "check.h"
#include "../../host/host.h"
#include "../../support/support.h"

#include <math.h>
#include <string.h>

/* The maximum number of calls per sample that compute the gradient of one learned parameter. */
enum { FEW_LEARNED = 8 };

/* The gradients of a sample. `all` is from a call for all gradients. `some` is from a later call. */
struct derived {
    const struct gradients *g;
    int count; /* of gradients */
    void *all[MAX_TENSORS], *some[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
    enum attn_dtype dtype[MAX_TENSORS];
    /* input[a] is the input of gradient a, or -1. learned[a] is the learned parameter of gradient a, or -1. */
    int input[MAX_TENSORS], learned[MAX_TENSORS];
    int of_params;
};

static bool allocate(struct derived *x, const struct kernel_arrays *arrays, const struct gradients *g)
{
    bool there = true;
    *x = (struct derived){.g = g, .count = g->outputs};
    for (int a = 0; a < x->count; a++) {
        const int number = kernel_array_find(arrays, g->of[a].name);
        int before = 0; /* the number of earlier gradients of the same kind */
        x->input[a] = x->learned[a] = -1;
        if (number < 0) return false;
        const struct kernel_array *const array = &arrays->array[number];
        for (int k = 0; k < number; k++)
            before += arrays->array[k].access[ENTRY_BACKWARD] == ACCESS_WANTED &&
                      arrays->array[k].place == array->place;
        *(array->place == PLACE_ARGUMENT ? &x->input[a] : &x->learned[a]) = before;
        x->dtype[a] = kernel_dtype(array->dtype);
        x->of_params += x->learned[a] >= 0;
        x->bytes[a] = (size_t)g->of[a].elements * attn_dtype_size(x->dtype[a]);
        x->all[a] = check_memory(x->bytes[a]);
        x->some[a] = check_memory(x->bytes[a]);
        there &= x->all[a] && x->some[a];
    }
    return there;
}

static void release(struct derived *x)
{
    for (int a = 0; a < x->count; a++) {
        attn_free(x->all[a]);
        attn_free(x->some[a]);
    }
}

/* Calls backward for the gradients a with wanted[a], and stores them in into[a]. */
static int call(const struct called *forward, const struct attn_problem *problem, const struct derived *x,
                const void *dout, const bool *wanted, void *const *into)
{
    const struct attn_kernel *const kernel = forward->kernel;
    void *by_input[3] = {NULL}, *by_param[MAX_TENSORS] = {NULL};
    bool params = false;
    for (int a = 0; a < x->count; a++) {
        if (!wanted[a]) continue;
        if (x->input[a] >= 0)
            by_input[x->input[a]] = into[a];
        else
            by_param[x->learned[a]] = into[a];
        params |= x->learned[a] >= 0;
    }
    void *workspace = check_memory(kernel->backward_workspace(problem));
    const int error = workspace ? kernel->backward(problem, forward->params, forward->input[0], forward->input[1],
                                                   forward->input[2], forward->output[0], dout, by_input[0],
                                                   by_input[1], by_input[2], params ? by_param : NULL, workspace)
                                : ATTN_EMEMORY;
    attn_free(workspace);
    return error;
}

/* The largest error when a number is stored in f16. It is half of 2^-24, the smallest number of f16. */
static const double HALF_OF_SMALLEST_F16 = 0x1p-25;

/* Records the largest error of a gradient, relative to its tolerance. */
static void judge(int sample, const struct derived *x, struct worst *worst)
{
    const struct gradients *g = x->g;
    int64_t k = 0;
    for (int a = 0; a < g->outputs; a++)
        for (int64_t e = 0; e < g->of[a].elements; e++, k++) {
            const bool f16 = x->dtype[a] == ATTN_F16;
            const double got = number_at(x->all[a], e, x->dtype[a]), expected = g->expected[k],
                         off = f16 && isinf(got) && (got > 0) == (expected > 0)
                                   ? fmax((double)CHECK_F16_OVERFLOW - fabs(expected), 0)
                               : f16 ? fmax(fabs(got - expected) - HALF_OF_SMALLEST_F16, 0)
                                     : fabs(got - expected),
                         share = off == 0 ? 0 : off / g->allowed[k];
            if (!(share <= worst->share))
                *worst = (struct worst){isnan(share) ? INFINITY : share, got, sample, e, &g->of[a]};
        }
}

/* Chooses the gradients of call `number`. Returns false after the last call. The calls are for
   - each of dq, dk and dv;
   - up to FEW_LEARNED single learned parameters, different ones in every sample;
   - all learned parameters;
   - dq, dk and dv together. */
static bool choose(const struct derived *x, int number, int sample, bool *wanted)
{
    const int alone = x->of_params < FEW_LEARNED ? x->of_params : FEW_LEARNED;
    for (int a = 0; a < x->count; a++) {
        if (number < 3)
            wanted[a] = x->input[a] == number;
        else if (number < 3 + alone)
            wanted[a] = x->learned[a] >= 0 && (x->learned[a] + sample * alone) % x->of_params == number - 3;
        else
            wanted[a] = (x->learned[a] >= 0) == (number == 3 + alone);
    }
    return number < 3 + (alone ? alone + 2 : 0);
}

/* Makes every second call that `choose` describes, from number `first` on, with varying numbers of threads. Reports
   a gradient whose bits differ from those in `all`, and sets *alike to false. */
static int try_some(struct checking *c, const struct called *forward, const struct attn_problem *problem, int sample,
                    struct derived *x, const void *dout, int first, bool *alike)
{
    bool wanted[MAX_TENSORS];
    int error = 0;
    for (int number = 0; choose(x, number, sample, wanted) && *alike && !error; number++) {
        struct attn_problem p = *problem;
        int count = 0;
        if (number % 2 != first) continue;
        if (!c->o->threads) p.threads = 1 + number / 2 % 3;
        for (int a = 0; a < x->count; a++) {
            memset(x->some[a], 0xff, x->bytes[a]);
            count += wanted[a];
        }
        error = call(forward, &p, x, dout, wanted, x->some);
        for (int a = 0; a < x->count && !error && *alike; a++) {
            if (!wanted[a] || memcmp(x->some[a], x->all[a], x->bytes[a]) == 0) continue;
            complain(c->o, "%s: with %lld queries and %lld keys, %s has different bits if %s requested",
                     c->p->spec->name, (long long)c->size[sample].n_q, (long long)c->size[sample].n_k, x->g->of[a].name,
                     count == 1 ? "only it is" : "not all gradients are");
            c->good = *alike = false;
        }
    }
    return error;
}

/* Checks the gradients of a sample with and without saved values. The two results may differ by rounding. */
static int check_sample(struct checking *c, const struct called *forward, int sample, struct derived *x,
                        struct worst *worst, bool *alike)
{
    const struct sample *s = &c->sample[sample];
    void *dout = check_converted(&s->gradients->dout, s->output[0].elements, forward->kernel->dtype);
    bool all[MAX_TENSORS];
    int error = allocate(x, c->p->kernel.arrays, s->gradients) && dout ? 0 : ATTN_EMEMORY;
    memset(all, true, sizeof all);
    for (int without = 0; without < 2 && !error; without++) {
        struct attn_problem p = forward->problem;
        if (without) p.saved = NULL;
        error = call(forward, &p, x, dout, all, x->all);
        if (!error) judge(sample, x, worst);
        if (!error) error = try_some(c, forward, &p, sample, x, dout, (without + sample) % 2, alike);
    }
    release(x);
    attn_free(dout);
    return error;
}

enum status check_backward(struct checking *c, const struct attn_kernel *kernel)
{
    struct derived *x = arena_alloc(c->p->arena, sizeof *x);
    struct worst worst = {.share = 0};
    bool alike = true;
    for (int n = 0; n < c->sizes; n++) {
        struct called forward;
        int error = check_call(c, kernel, n, true, &forward);
        if (!error) error = check_sample(c, &forward, n, x, &worst, &alike);
        check_call_end(&forward);
        if (error)
            return complain_as(c->o, STATUS_MACHINE, "%s: gradients: %s", c->p->spec->name, attn_strerror(error));
    }
    check_report(c, "the kernel's gradients", "the gradients of the compiled kernel", &worst, "of the tolerance",
                 worst.share <= 1);
    if (worst.share > c->worst.share) c->worst = worst;
    if (check_tells(c, alike))
        check_say(c, "  %-22s %s\n", "some of the gradients", alike ? "  same bits" : "  different bits   WRONG");
    return STATUS_DONE;
}
