/* Calls a kernel's backward under a sanitizer. Arrays have exactly the needed size. Lengths are near multiples of
   tiles. backward.py builds this file with -DKERNEL=NAME_kernel. */
#include "attnrt.h"
#include "lib/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct attn_kernel KERNEL;
enum { Q, K, V, OUT, DOUT, DQ, DK, DV, ARRAYS, MAX_PARAMS = 64 };

/* The parameters, and the gradients of the learned parameters. */
struct arrays {
    void *params, *storage;
    void *given[MAX_PARAMS], *gradient[MAX_PARAMS + 1];
    int learned;
};

static int allocate(struct arrays *a, const struct attn_problem *p)
{
    const struct attn_kernel *const kernel = &KERNEL;
    *a = (struct arrays){.params = calloc(1, kernel->params_bytes), .storage = attn_alloc(kernel->params_size())};
    if (!a->params || kernel->params > MAX_PARAMS) return 1;
    if (kernel->params_init(a->params, 1, a->storage)) return 1;
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const param = &kernel->param[k];
        int64_t shape[4];
        size_t bytes = attn_dtype_size(param->dtype);
        if (!attn_param_learned(param)) continue;
        attn_param_shape(param, p, shape);
        for (int n = 0; n < param->rank; n++) bytes *= (size_t)shape[n];
        a->given[k] = malloc(bytes);
        a->gradient[a->learned] = malloc(bytes);
        if (!a->given[k] || !a->gradient[a->learned]) return 1;
        memset(a->given[k], 0x3d, bytes);
        memset(a->gradient[a->learned++], 0xff, bytes);
        memcpy((char *)a->params + param->offset, &a->given[k], sizeof(void *));
    }
    return 0;
}

static void release(struct arrays *a)
{
    for (int k = 0; k < MAX_PARAMS; k++) free(a->given[k]);
    for (int k = 0; k < a->learned; k++) free(a->gradient[k]);
    attn_free(a->storage);
    free(a->params);
}

static int one(int64_t heads, int64_t kv_heads, int64_t n_q, int64_t n_k, int threads, const struct attn_team *team,
               int saves, unsigned wanted)
{
    const struct attn_kernel *const kernel = &KERNEL;
    struct attn_problem p = {
        .batch = 2, .heads = heads, .kv_heads = kv_heads, .n_q = n_q, .n_k = n_k, .threads = threads, .team = team};
    const size_t size = attn_dtype_size(kernel->dtype);
    void *array[ARRAYS];
    for (int a = 0; a < ARRAYS; a++) {
        const int of_keys = a == K || a == V || a == DK || a == DV;
        const int64_t dim = a == Q || a == K || a == DQ || a == DK ? kernel->head_dim : kernel->value_dim;
        const size_t bytes = (size_t)(2 * (of_keys ? kv_heads * n_k : heads * n_q) * dim) * size;
        array[a] = malloc(bytes ? bytes : 1);
        if (!array[a]) return 1;
        memset(array[a], a < OUT || a == DOUT ? 0x3d : 0xff, bytes);
    }
    struct arrays arrays;
    if (allocate(&arrays, &p)) return 1;
    p.saved_bytes = kernel->saved(&p);
    if (saves) p.saved = attn_alloc(p.saved_bytes);
    p.workspace_bytes = kernel->workspace(&p);
    void *workspace = attn_alloc(p.workspace_bytes);
    int error = kernel->forward(&p, arrays.params, array[Q], array[K], array[V], array[OUT], workspace);
    attn_free(workspace);
    p.workspace_bytes = kernel->backward_workspace(&p);
    workspace = attn_alloc(p.workspace_bytes);
    for (int a = DQ; a < ARRAYS; a++)
        if (!(wanted >> (a - DQ) & 1)) {
            free(array[a]);
            array[a] = NULL;
        }
    for (int k = 0; k < arrays.learned; k++)
        if ((wanted + (unsigned)k) % 3 == 1) {
            free(arrays.gradient[k]);
            arrays.gradient[k] = NULL;
        }
    if (!error)
        error = kernel->backward(&p, arrays.params, array[Q], array[K], array[V], array[OUT], array[DOUT], array[DQ],
                                 array[DK], array[DV], wanted % 5 == 4 ? NULL : arrays.gradient, workspace);
    attn_free(workspace);
    attn_free(p.saved);
    for (int a = 0; a < ARRAYS; a++) free(array[a]);
    release(&arrays);
    if (error) printf("%lld queries, %lld keys: %s\n", (long long)n_q, (long long)n_k, attn_strerror(error));
    return error != 0;
}

/* If there is an argument, each query head has its own key/value head. */
int main(int count, char **argument)
{
    static const int64_t lengths[] = {0, 1, 15, 64, 65, 150};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    const int64_t kv_heads = count > 1 ? 4 : 2;
    (void)argument;
    int failed = 0;
    for (int a = 0; a < LENGTHS; a++)
        for (int b = 0; b < LENGTHS; b++)
            failed += one(4, kv_heads, lengths[a], lengths[b], 1 + (a + b) % 3, b % 2 ? &own_team : NULL, a % 2,
                          (unsigned)(a + 3 * b) % 8);
    failed += one(3, 3, 100, 131, 2, NULL, 1, 7) + one(1, 1, 300, 20, 2, NULL, 0, 7) +
              one(3, 3, 100, 131, 7, &own_team, 1, 7) + one(1, 1, 300, 20, 3, &own_team, 0, 7) +
              one(20, 20, 20, 30, 3, &own_team, 0, 7); /* this shape has work for 3 threads */
    if (team_runs == 0) puts("no call ran on the threads of its caller");
    return failed != 0 || team_runs == 0;
}
