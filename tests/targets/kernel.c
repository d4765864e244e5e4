/* Runs one emitted kernel on arrays in files, on a machine that attnc itself need not run on: IN/{q,k,v,PARAMETER}.npy
   to OUT/out.npy, where OUT is IN. Built by `run` with -DKERNEL=NAME_kernel beside the emitted C; or around it, as
   -DSOURCE="NAME.c", with its functions in -DKNOWN={"TARGET", FUNCTION}, …, so that it can say which target's code the
   machine chose. */
#ifdef SOURCE
#include SOURCE
#else
#include "attnrt.h"
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct attn_kernel KERNEL;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(3);
}

static struct attn_array load(const char *folder, const char *name, enum attn_dtype dtype)
{
    struct attn_array array;
    char path[4096], message[256];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (attn_npy_read(path, dtype, &array, message, sizeof message) != 0) fail(path, message);
    return array;
}

#ifdef SOURCE
static const char *chosen(int64_t n_k)
{
    const struct version this = version(n_k);
    const struct {
        const char *name;
        void (*rows)(const struct call *, int64_t, unsigned char *);
    } known[] = {KNOWN};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (this.rows && this.rows == known[k].rows) return known[k].name;
    return "none";
}
#endif

int main(int count, char **argument)
{
    if (count != 3) fail("usage", "kernel FOLDER THREADS");
    const char *folder = argument[1];
    const struct attn_kernel *kernel = &KERNEL;
    struct attn_array q = load(folder, "q", kernel->dtype), k = load(folder, "k", kernel->dtype),
                      v = load(folder, "v", kernel->dtype);
    struct attn_array out = {
        .dtype = kernel->dtype, .rank = 4, .shape = {q.shape[0], q.shape[1], q.shape[2], kernel->value_dim}};
    struct attn_problem problem = {
        .batch = q.shape[0], .heads = q.shape[1], .kv_heads = k.shape[1], .n_q = q.shape[2], .n_k = k.shape[2]};
    problem.threads = (int)strtol(argument[2], NULL, 10);
    void *params = calloc(1, kernel->params_bytes + 1);
    struct attn_array *given = calloc((size_t)kernel->params + 1, sizeof *given);
    if (!params || !given) fail("memory", "none is left");
    for (int p = 0; p < kernel->params; p++) {
        given[p] = load(folder, kernel->param[p].name, kernel->param[p].dtype);
        memcpy((char *)params + kernel->param[p].offset, &given[p].data, sizeof(void *));
    }
    problem.workspace_bytes = kernel->workspace(&problem);
    void *workspace = attn_alloc(problem.workspace_bytes);
    out.data = attn_alloc((size_t)(out.shape[0] * out.shape[1] * out.shape[2] * out.shape[3]) *
                          attn_dtype_size(out.dtype));
    if (!workspace || !out.data) fail("memory", "none is left");
    int error = kernel->forward(&problem, kernel->params ? params : NULL, q.data, k.data, v.data, out.data, workspace);
#ifdef SOURCE
    printf("chose %s\n", chosen(problem.n_k));
#endif
    printf("forward returned %d\n", error);
    char path[4096], message[256];
    snprintf(path, sizeof path, "%s/out.npy", folder);
    if (!error && attn_npy_write(path, &out, message, sizeof message) != 0) fail(path, message);
    for (int p = 0; p < kernel->params; p++) attn_array_free(&given[p]);
    attn_array_free(&q), attn_array_free(&k), attn_array_free(&v), attn_array_free(&out);
    attn_free(workspace);
    free(given);
    free(params);
    return 0;
}
