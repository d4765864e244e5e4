/* Predicts the bytes of a text with two kernels. One of them has random parameters. */
#include "../text/text.h"

#include <attnrt.h>

#include "polysketch.h"
#include "softmax.h"

static int softmax(const void *unused, int64_t rows, const float *q, const float *k, const float *v, float *out)
{
    (void)unused;
    const struct attn_problem problem = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = rows, .n_k = rows};
    void *workspace = attn_alloc(softmax_workspace(&problem));
    const int error = workspace ? softmax_forward(&problem, NULL, q, k, v, out, workspace) : ATTN_EMEMORY;
    attn_free(workspace);
    return error;
}

static int polysketch(const void *unused, int64_t rows, const float *q, const float *k, const float *v, float *out)
{
    (void)unused;
    const struct attn_problem problem = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = rows, .n_k = rows};
    struct polysketch_params params;
    void *workspace = attn_alloc(polysketch_workspace(&problem)), *storage = attn_alloc(polysketch_params_size());
    int error = ATTN_EMEMORY;
    if (workspace && storage) error = polysketch_params_init(&params, 1, storage);
    if (!error) error = polysketch_forward(&problem, &params, q, k, v, out, workspace);
    attn_free(workspace);
    attn_free(storage);
    return error;
}

int main(int argc, char **argv)
{
    static const struct predictor all[] = {{"softmax, scale 16", softmax, NULL},
                                           {"polysketch, r = 64", polysketch, NULL}};
    return predict(argc, argv, all, 2);
}
