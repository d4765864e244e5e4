/* The compiled kernel of `attnc check`: its result and its gradients, against what the interpreter makes of a sample.
 */
#include "check.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../support/support.h"
#include "../../runtime/attnrt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *converted(const struct tensor *t, int64_t n, enum attn_dtype dtype)
{
    char *data = attn_alloc((size_t)n * attn_dtype_size(dtype) + 64);
    for (int64_t k = 0; data && k < n; k++) {
        switch (dtype) {
        case ATTN_F32: ((float *)(void *)data)[k] = (float)t->data[k]; break;
        case ATTN_BF16: ((uint16_t *)(void *)data)[k] = attn_bf16(t->data[k]); break;
        case ATTN_F16: ((uint16_t *)(void *)data)[k] = attn_f16(t->data[k]); break;
        case ATTN_F64: ((double *)(void *)data)[k] = t->data[k]; break;
        case ATTN_I32: ((int32_t *)(void *)data)[k] = (int32_t)t->data[k]; break;
        }
    }
    return data;
}

static double result_at(const void *result, int64_t k, enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: return (double)((const float *)result)[k];
    case ATTN_BF16: return attn_bf16_value(((const uint16_t *)result)[k]);
    case ATTN_F16: return attn_f16_value(((const uint16_t *)result)[k]);
    case ATTN_F64: return ((const double *)result)[k];
    case ATTN_I32: break;
    }
    return NAN;
}

/* The gradients of the kernel, after its forward, to `out`: one after the other. */
static int run_backward(const struct attn_kernel *kernel, struct attn_problem *problem, const void *params,
                        const void *const input[3], const void *result, const struct gradients *g, double *out)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    const struct tensor given = {"dout", g->dout};
    const int64_t elements = problem->batch * problem->heads * problem->n_q * kernel->value_dim;
    void *dout = converted(&given, elements, kernel->dtype), *d[MAX_TENSORS] = {NULL}, *by_input[3] = {NULL},
         *by_param[MAX_TENSORS] = {NULL};
    void *workspace = attn_alloc(kernel->backward_workspace(problem) + 64);
    enum attn_dtype dtype[MAX_TENSORS];
    int error = dout && workspace ? 0 : ATTN_EMEMORY;
    for (int a = 0; a < g->outputs; a++) {
        dtype[a] = kernel->dtype;
        void **to = NULL;
        for (int k = 0; k < 3; k++)
            if (strcmp(g->of[a].name, names[k]) == 0) to = &by_input[k];
        for (int k = 0, learned = 0; k < kernel->params; learned += attn_param_learned(&kernel->param[k++])) {
            if (strcmp(kernel->param[k].name, g->of[a].name + 1) != 0) continue;
            to = &by_param[learned];
            dtype[a] = kernel->param[k].dtype;
        }
        d[a] = attn_alloc((size_t)g->of[a].elements * attn_dtype_size(dtype[a]) + 64);
        if (!d[a] || !to) error = ATTN_EMEMORY;
        if (to) *to = d[a];
    }
    if (!error)
        error = kernel->backward(problem, params, input[0], input[1], input[2], result, dout, by_input[0], by_input[1],
                                 by_input[2], by_param, workspace);
    for (int a = 0; a < g->outputs; a++) {
        for (int64_t n = 0; n < g->of[a].elements && !error; n++) *out++ = result_at(d[a], n, dtype[a]);
        attn_free(d[a]);
    }
    attn_free(dout);
    attn_free(workspace);
    return error;
}

/* With `gradients` those too, to `backward`. */
static int run_kernel(const struct attn_kernel *kernel, const struct sample *s, const struct problem_size *size,
                      int threads, double *out, const struct gradients *gradients, double *backward)
{
    struct attn_problem problem = {.batch = size->batch,
                                   .heads = size->kv_heads * size->members,
                                   .kv_heads = size->kv_heads,
                                   .n_q = size->n_q,
                                   .n_k = size->n_k,
                                   .threads = threads};
    void *array[MAX_TENSORS] = {NULL}, *result = attn_alloc((size_t)s->out.elements * 8 + 64),
         *workspace = attn_alloc(kernel->workspace(&problem) + 64);
    char *params = attn_alloc(kernel->params_bytes + 64);
    const void *input[3] = {NULL, NULL, NULL};
    int error = result && workspace && params ? 0 : ATTN_EMEMORY;
    if (gradients) problem.saved = attn_alloc(kernel->saved(&problem) + 64);
    if (gradients && !problem.saved) error = ATTN_EMEMORY;
    for (int t = 0; t < s->tensors && !error; t++) {
        enum attn_dtype dtype = kernel->dtype;
        for (int k = 0; k < kernel->params; k++)
            if (strcmp(kernel->param[k].name, s->tensor[t].name) == 0) dtype = kernel->param[k].dtype;
        array[t] = converted(&s->tensor[t], s->count[t], dtype);
        if (!array[t]) error = ATTN_EMEMORY;
        for (int k = 0; k < 3; k++)
            if (strcmp(s->tensor[t].name, (const char *const[]){"q", "k", "v"}[k]) == 0) input[k] = array[t];
        for (int k = 0; k < kernel->params && !error; k++)
            if (strcmp(kernel->param[k].name, s->tensor[t].name) == 0)
                memcpy(params + kernel->param[k].offset, &array[t], sizeof array[t]);
    }
    if (!error) error = kernel->forward(&problem, params, input[0], input[1], input[2], result, workspace);
    for (int64_t k = 0; k < s->out.elements && !error; k++) out[k] = result_at(result, k, kernel->dtype);
    if (gradients && !error) error = run_backward(kernel, &problem, params, input, result, gradients, backward);
    attn_free(problem.saved);
    for (int t = 0; t < s->tensors; t++) attn_free(array[t]);
    attn_free(result);
    attn_free(workspace);
    attn_free(params);
    return error;
}

/* The gradients of the kernel, each element against those of the interpreter. */
static enum status check_backward(struct checking *c, const struct attn_kernel *kernel, double *out)
{
    double largest = 0;
    for (int n = 0; n < c->sizes; n++) {
        const struct sample *s = &c->sample[n];
        const struct gradients *g = s->gradients;
        double *got = malloc((size_t)g->all * sizeof *got + 1);
        const int error = got ? run_kernel(kernel, s, &c->size[n], c->o->threads, out, g, got) : ATTN_EMEMORY;
        int64_t k = 0;
        for (int a = 0; a < g->outputs && !error; a++)
            for (int64_t e = 0; e < g->of[a].elements; e++, k++) {
                const double off = fabs(got[k] - g->expected[k]), share = off == 0 ? 0 : off / g->allowed[k];
                if (share <= largest) continue;
                largest = isnan(share) ? INFINITY : share;
                if (largest > 1 && c->good) {
                    complain(c->o, "%s: with %lld queries and %lld keys, element %lld of %s is %.9g in place of %.9g",
                             c->p->spec->name, (long long)c->size[n].n_q, (long long)c->size[n].n_k, (long long)e,
                             g->of[a].name, got[k], g->expected[k]);
                    c->good = false;
                }
            }
        free(got);
        if (error) {
            complain(c->o, "%s: gradients: %s", c->p->spec->name, attn_strerror(error));
            return STATUS_MACHINE;
        }
    }
    check_say(c, "  %-22s %10.2e of what they may be off by%s\n", "the kernel's gradients", largest,
              largest <= 1 ? "" : "   WRONG");
    return STATUS_DONE;
}

enum status check_kernel(struct checking *c)
{
    struct loaded_kernel loaded;
    enum status status = kernel_load(c->p->spec->name, unit_source_here(c->p, c->o), c->p->header.data,
                                     c->o->console.quiet, &loaded);
    if (status != STATUS_DONE) return status;
    struct worst worst = {.share = 0};
    int64_t most = 0;
    for (int n = 0; n < c->sizes; n++)
        if (c->sample[n].out.elements > most) most = c->sample[n].out.elements;
    double *out = arena_alloc(c->p->arena, (size_t)most * sizeof *out);
    for (int n = 0; n < c->sizes && status == STATUS_DONE; n++) {
        const struct sample *s = &c->sample[n];
        int error = run_kernel(loaded.kernel, s, &c->size[n], c->o->threads, out, NULL, NULL);
        if (error) {
            complain(c->o, "%s: %s", c->p->spec->name, attn_strerror(error));
            status = STATUS_MACHINE;
        } else
            check_worst(&s->out, n, out, s->allowed, c->p->spec->dtype, &worst);
    }
    if (status == STATUS_DONE)
        check_report(c, "the compiled kernel", "the compiled kernel", &worst, "of what it may be off by",
                     worst.share <= 1);
    if (status == STATUS_DONE && loaded.kernel->backward) status = check_backward(c, loaded.kernel, out);
    kernel_unload(&loaded);
    return status;
}
