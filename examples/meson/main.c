/* Predicts the bytes of a text with two kernels, called through struct attn_kernel. */
#include "../text/text.h"

#include <attnrt.h>

#include "polysketch.h"
#include "softmax.h"

static int attend(const void *which, int64_t rows, const float *q, const float *k, const float *v, float *out)
{
    const struct attn_kernel *kernel = which;
    struct attn_problem problem = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = rows, .n_k = rows};
    problem.workspace_bytes = kernel->workspace(&problem);
    void *workspace = attn_alloc(problem.workspace_bytes), *params = attn_alloc(kernel->params_bytes),
         *storage = attn_alloc(kernel->params_size());
    int error = ATTN_EMEMORY;
    if (workspace && params && storage) error = kernel->params_init(params, 1, storage);
    if (!error) error = kernel->forward(&problem, params, q, k, v, out, workspace);
    if (error) fprintf(stderr, "%s: %s\n", kernel->name, attn_strerror(error));
    attn_free(workspace);
    attn_free(params);
    attn_free(storage);
    return error;
}

int main(int argc, char **argv)
{
    static const struct predictor all[] = {{"softmax, scale 16", attend, &softmax_kernel},
                                           {"polysketch, r = 32", attend, &polysketch_kernel}};
    return predict(argc, argv, all, 2);
}
