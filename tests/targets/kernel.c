/* Runs a kernel on arrays in files, on a machine without attnc. It reads IN/{q,k,v,PARAMETER}.npy and writes
   IN/out.npy. With gradients it reads IN/dout.npy and writes IN/{dq,dk,dv}.npy. With a state, it decodes all tokens
   and writes IN/decoded.npy.
   - run.py and systems.py build it with -DKERNEL=NAME_kernel.
   - Or with -DSOURCE="NAME.c" and -DKNOWN={"TARGET", FUNCTION}, … it prints the target that the machine chose. */
#ifdef SOURCE
#include SOURCE

#include "call/call.h"
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

static struct attn_array like(const struct attn_array *array, int64_t columns)
{
    struct attn_array made = *array;
    made.shape[3] = columns;
    made.data = attn_alloc((size_t)(made.shape[0] * made.shape[1] * made.shape[2] * columns) *
                           attn_dtype_size(made.dtype));
    if (!made.data) fail("memory", "none is left");
    return made;
}

static void save(const char *folder, const char *name, const struct attn_array *array)
{
    char path[4096], message[256];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (attn_npy_write(path, array, message, sizeof message) != 0) fail(path, message);
}

/* Calls backward with saved values, and writes the gradients. */
static int backward(const char *folder, struct attn_problem *p, const void *params, const struct attn_array *q,
                    const struct attn_array *k, const struct attn_array *v, const struct attn_array *out)
{
    struct attn_array dout = load(folder, "dout", KERNEL.dtype), dq = like(q, KERNEL.head_dim),
                      dk = like(k, KERNEL.head_dim), dv = like(v, KERNEL.value_dim);
    p->workspace_bytes = KERNEL.backward_workspace(p);
    void *workspace = attn_alloc(p->workspace_bytes);
    if (!workspace) fail("memory", "none is left");
    const int error = KERNEL.backward(p, params, q->data, k->data, v->data, out->data, dout.data, dq.data, dk.data,
                                      dv.data, NULL, workspace);
    printf("backward returned %d\n", error);
    if (!error) save(folder, "dq", &dq), save(folder, "dk", &dk), save(folder, "dv", &dv);
    attn_array_free(&dout), attn_array_free(&dq), attn_array_free(&dk), attn_array_free(&dv);
    attn_free(workspace);
    return error;
}

/* Copies the elements first, first + 1, …, first + count - 1 of the axis `axis`, as `made`, or back. */
static void copy_part(const struct attn_array *whole, int axis, int64_t first, int64_t count, void *made, bool back)
{
    int64_t outer = 1, row = (int64_t)attn_dtype_size(whole->dtype);
    for (int k = 0; k < axis; k++) outer *= whole->shape[k];
    for (int k = axis + 1; k < whole->rank; k++) row *= whole->shape[k];
    for (int64_t k = 0; k < outer; k++) {
        char *in = (char *)whole->data + (k * whole->shape[axis] + first) * row, *part = (char *)made + k * count * row;
        memcpy(back ? in : part, back ? part : in, (size_t)(count * row));
    }
}

static void *part_of(const struct attn_array *whole, int axis, int64_t first, int64_t count)
{
    size_t bytes = attn_dtype_size(whole->dtype);
    for (int k = 0; k < whole->rank; k++) bytes *= (size_t)(k == axis ? count : whole->shape[k]);
    void *part = attn_alloc(bytes);
    if (!part) fail("memory", "none is left");
    copy_part(whole, axis, first, count, part, false);
    return part;
}

/* Returns the axis along which extend takes only new tokens, or -1. */
static int token_axis(const struct attn_param *param)
{
    for (int k = 0; k < param->rank && param->rows; k++)
        if (param->shape[k] == ATTN_N_K || param->shape[k] == ATTN_N_Q) return k;
    return -1;
}

/* Decodes a prompt of all tokens but four, then one token a call. */
static int decode(const char *folder, const struct attn_problem *whole, const struct attn_array *given,
                  const struct attn_array *q, const struct attn_array *k, const struct attn_array *v)
{
    struct attn_problem p = *whole;
    struct attn_array out = like(q, KERNEL.value_dim);
    const int64_t n = q->shape[2], prompt = n > 4 ? n - 4 : n;
    p.capacity = n;
    void *state = attn_alloc(KERNEL.state(&p)), *params = calloc(1, KERNEL.params_bytes + 1);
    if (!state || !params) fail("memory", "none is left");
    int error = KERNEL.state_init(&p, state);
    for (int64_t first = 0, count = prompt; first < n && !error; first += count, count = 1) {
        p.n_q = p.n_k = count;
        p.workspace_bytes = KERNEL.extend_workspace(&p);
        void *workspace = attn_alloc(p.workspace_bytes), *parts[64] = {0};
        if (!workspace || KERNEL.params > 64) fail("memory", "none is left");
        for (int a = 0; a < KERNEL.params; a++) {
            const int axis = token_axis(&KERNEL.param[a]);
            if (axis >= 0) parts[a] = part_of(&given[a], axis, first, count);
            memcpy((char *)params + KERNEL.param[a].offset, axis < 0 ? &given[a].data : &parts[a], sizeof(void *));
        }
        void *rows[] = {part_of(q, 2, first, count), part_of(k, 2, first, count), part_of(v, 2, first, count),
                        part_of(&out, 2, first, count)};
        error = KERNEL.extend(&p, KERNEL.params ? params : NULL, rows[0], rows[1], rows[2], rows[3], state, workspace);
        copy_part(&out, 2, first, count, rows[3], true);
        for (int a = 0; a < 64; a++) attn_free(parts[a]);
        for (int a = 0; a < 4; a++) attn_free(rows[a]);
        attn_free(workspace);
    }
    printf("extend returned %d\n", error);
    if (!error) save(folder, "decoded", &out);
    attn_array_free(&out), attn_free(state), free(params);
    return error;
}

#ifdef SOURCE
static const char *chosen(int64_t n_k)
{
    const struct program *const this = attn_call_program(&kernel, RUN_FORWARD, 0, n_k, MANY_ROWS, 0);
    const struct {
        const char *name;
        void (*rows)(const struct call *, int64_t, unsigned char *);
    } known[] = {KNOWN};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (this->rows && this->rows == known[k].rows) return known[k].name;
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
    struct attn_array out = like(&q, kernel->value_dim);
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
    if (!workspace) fail("memory", "none is left");
    if (kernel->backward) {
        problem.saved_bytes = kernel->saved(&problem);
        problem.saved = attn_alloc(problem.saved_bytes);
    }
    const void *const given_params = kernel->params ? params : NULL;
    int error = kernel->forward(&problem, given_params, q.data, k.data, v.data, out.data, workspace);
#ifdef SOURCE
    printf("chose %s\n", chosen(problem.n_k));
#endif
    printf("forward returned %d\n", error);
    if (!error) save(folder, "out", &out);
    if (!error && kernel->backward) (void)backward(folder, &problem, given_params, &q, &k, &v, &out);
    if (!error && kernel->extend) (void)decode(folder, &problem, given, &q, &k, &v);
    for (int p = 0; p < kernel->params; p++) attn_array_free(&given[p]);
    attn_array_free(&q), attn_array_free(&k), attn_array_free(&v), attn_array_free(&out);
    attn_free(workspace);
    attn_free(problem.saved);
    free(given);
    free(params);
    return 0;
}
