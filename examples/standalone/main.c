/* Predicts the bytes of a text with a kernel that needs nothing of attnc. `attnc softmax.yaml --standalone` wrote
   softmax.c and softmax.h. */
#include "../text/text.h"

#include <stdlib.h>

#include "softmax.h"

static int attend(const void *unused, int64_t rows, const float *q, const float *k, const float *v, float *out)
{
    (void)unused;
    const struct attn_problem problem = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = rows, .n_k = rows};
    void *workspace = aligned_alloc(64, (softmax_workspace(&problem) + 63) / 64 * 64);
    const int error = workspace ? softmax_forward(&problem, NULL, q, k, v, out, workspace) : ATTN_EMEMORY;
    free(workspace);
    return error;
}

int main(int argc, char **argv)
{
    static const struct predictor all[] = {{"softmax, scale 16", attend, NULL}};
    return predict(argc, argv, all, 1);
}
