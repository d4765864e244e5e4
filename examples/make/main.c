/* Predicts the bytes of a text with two kernels. */
#include "../text/text.h"

#include <attnrt.h>

#include "polynomial.h"
#include "softmax.h"

static int attend(const void *which, int64_t rows, const float *q, const float *k, const float *v, float *out)
{
    const struct attn_kernel *kernel = which;
    const struct attn_problem problem = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = rows, .n_k = rows};
    void *workspace = attn_alloc(kernel->workspace(&problem));
    const int error = workspace ? kernel->forward(&problem, NULL, q, k, v, out, workspace) : ATTN_EMEMORY;
    if (error) fprintf(stderr, "%s: %s\n", kernel->name, attn_strerror(error));
    attn_free(workspace);
    return error;
}

int main(int argc, char **argv)
{
    static const struct predictor all[] = {{"softmax, scale 16", attend, &softmax_kernel},
                                           {"polynomial, degree 4", attend, &polynomial_kernel}};
    return predict(argc, argv, all, 2);
}
