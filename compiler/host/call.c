/* Calls a kernel with random inputs. Makes the arrays, the parameters and the workspace of a call. */
#include "call.h"
#include "host.h"
#include "../../runtime/attnrt.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20 }; /* a larger array repeats its first BLOCK numbers, to save time */

enum attn_dtype kernel_dtype(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32: return ATTN_F32;
    case DTYPE_BF16: return ATTN_BF16;
    case DTYPE_F16: return ATTN_F16;
    case DTYPE_F64: return ATTN_F64;
    case DTYPE_I32: return ATTN_I32;
    case DTYPE_U8: return ATTN_U8;
    case DTYPE_FP8: return ATTN_FP8;
    case DTYPE_I8: return ATTN_I8;
    case DTYPE_I8_32: return ATTN_I8_32;
    case DTYPE_I8_64: return ATTN_I8_64;
    case DTYPE_Q8_0: return ATTN_Q8_0;
    case DTYPE_Q4_0: return ATTN_Q4_0;
    case DTYPE_COUNT: break;
    }
    return ATTN_F32;
}

void *kernel_rows(enum attn_dtype dtype, const float *from, int64_t rows, int64_t elements)
{
    const int64_t bytes = attn_row_bytes(dtype, elements);
    char *const made = attn_alloc((size_t)(rows * bytes) + 64);
    for (int64_t k = 0; made && k < rows; k++) attn_store_row(dtype, from + k * elements, elements, made + k * bytes);
    return made;
}

struct problem_output problem_output(struct attn_problem *p, const char *name)
{
#define OUTPUT(member) \
    if (strcmp(name, #member) == 0) return (struct problem_output){&p->member, &p->member##_at};
    OUTPUT(statistics)
    OUTPUT(weights)
#undef OUTPUT
    abort();
}

/* Writes the first `count` normal random numbers of the random stream. */
static void draw(enum attn_dtype dtype, uint64_t seed, uint64_t stream, char *data, int64_t count)
{
    enum { PIECE = 4096 };
    float piece[PIECE];
    if (dtype == ATTN_F64) attn_normal_f64(seed, stream, 0, count, (double *)(void *)data);
    if (dtype == ATTN_F32) attn_normal_f32(seed, stream, 0, count, (float *)(void *)data);
    for (int64_t at = 0; (dtype == ATTN_BF16 || dtype == ATTN_F16) && at < count; at += PIECE) {
        int64_t n = count - at < PIECE ? count - at : PIECE;
        attn_normal_f32(seed, stream, (uint64_t)at, n, piece);
        for (int64_t k = 0; k < n; k++)
            ((uint16_t *)(void *)data)[at + k] = dtype == ATTN_BF16 ? attn_bf16((double)piece[k])
                                                                    : attn_f16((double)piece[k]);
    }
}

/* How to draw a number: shift + scale * x. x is normal, or with `uniform` in 0 < x < 1. */
struct drawing {
    double shift, scale;
    bool uniform;
};
static const struct drawing normal = {0, 1, false};

static double drawn(const struct drawing *how, double x)
{
    return how->shift + how->scale * (how->uniform ? erfc(-x / sqrt(2)) / 2 : x);
}

/* Replaces normal numbers x by shift + scale * x, or by uniform numbers. */
static void change(enum attn_dtype dtype, const struct drawing *how, char *data, int64_t count)
{
    if (!how->uniform && how->scale >= 1 && how->shift == 0) return;
    for (int64_t k = 0; k < count; k++) number_set(data, k, dtype, drawn(how, number_at(data, k, dtype)));
}

/* Fills an array with the first BLOCK numbers of the random stream, repeated. */
static void fill(enum attn_dtype dtype, uint64_t seed, uint64_t stream, const struct drawing *how, char *data,
                 size_t bytes)
{
    size_t size = attn_dtype_size(dtype), count = bytes / size, first = count < BLOCK ? count : BLOCK;
    draw(dtype, seed, stream, data, (int64_t)first);
    change(dtype, how, data, (int64_t)first);
    for (size_t done = first * size; done < bytes; done += first * size)
        memcpy(data + done, data, bytes - done < first * size ? bytes - done : first * size);
}

/* Fills rows of keys or values. All rows are the same few ones, repeated. */
static void fill_rows(enum attn_dtype dtype, int64_t elements, uint64_t seed, uint64_t stream, char *data, size_t bytes)
{
    const size_t row = (size_t)attn_row_bytes(dtype, elements), rows = bytes / row,
                 some = (size_t)(BLOCK / elements) + 1, first = rows < some ? rows : some;
    float *const numbers = malloc((size_t)elements * sizeof *numbers);
    for (size_t k = 0; numbers && k < first; k++) {
        attn_normal_f32(seed, stream, k * (size_t)elements, elements, numbers);
        attn_store_row(dtype, numbers, elements, data + k * row);
    }
    for (size_t done = first; done < rows; done += first)
        memcpy(data + done * row, data, (rows - done < first ? rows - done : first) * row);
    free(numbers);
}

enum attn_dtype call_array_dtype(const struct attn_kernel *kernel, enum call_kind kind, enum call_role role)
{
    return kind == CALL_EXTEND ? kernel->dtype
           : role == ROLE_K    ? kernel->key_dtype
           : role == ROLE_V    ? kernel->value_dtype
                               : kernel->dtype;
}

double call_array_bytes(const struct attn_kernel *kernel, enum call_kind kind, const struct attn_problem *p,
                        enum call_role role)
{
    const bool keys = role == ROLE_K || role == ROLE_V || role == ROLE_DK || role == ROLE_DV,
               values = role == ROLE_V || role == ROLE_DV || role == ROLE_OUT || role == ROLE_DOUT;
    if (kernel->values_are_keys && keys && values) return 0;
    const int64_t given = values ? 0 : p->key_heads, heads = given ? given : keys ? p->kv_heads : p->heads;
    double rows = (double)p->batch * (double)heads * (double)(keys ? p->n_k : p->n_q);
    return rows *
           (double)attn_row_bytes(call_array_dtype(kernel, kind, role), values ? kernel->value_dim : kernel->head_dim);
}

size_t call_workspace(const struct call *c)
{
    return c->kind == CALL_BACKWARD ? c->kernel->backward_workspace(&c->problem)
           : c->kind == CALL_EXTEND ? c->kernel->extend_workspace(&c->problem)
                                    : c->kernel->workspace(&c->problem);
}

/* Returns true if the call writes or reads the values that forward saves for backward. */
static bool saves(const struct call *c)
{
    return c->kind == CALL_SAVING || c->kind == CALL_BACKWARD;
}

/* Returns the problem that gives the sizes of parameters. For extend, parameters have elements for all tokens of the
   state. */
static struct attn_problem problem_of_params(const struct call *c)
{
    struct attn_problem p = c->problem;
    if (c->kind == CALL_EXTEND) p.n_q = p.n_k = p.capacity;
    return p;
}

/* Returns the number n of roles that the call uses. They are the roles 0 to n - 1. */
static int roles_of_call(const struct call *c)
{
    return c->kind == CALL_BACKWARD ? ROLES : ROLE_DOUT;
}

static double elements_of_param(const struct attn_param *p, const struct attn_problem *problem)
{
    int64_t shape[4];
    double elements = 1;
    attn_param_shape(p, problem, shape);
    for (int k = 0; k < p->rank; k++) elements *= (double)shape[k];
    return elements;
}

double call_param_bytes(const struct attn_param *p, const struct attn_problem *problem)
{
    return (double)attn_dtype_size(p->dtype) * elements_of_param(p, problem);
}

double call_gradient_bytes(const struct attn_kernel *kernel, const struct attn_param *p,
                           const struct attn_problem *problem)
{
    return (kernel->dtype == ATTN_F64 ? sizeof(double) : sizeof(float)) * elements_of_param(p, problem);
}

void call_arrays_free(struct call_arrays *a)
{
    for (int role = 0; role < ROLES; role++) attn_free(a->data[role]);
    *a = (struct call_arrays){0};
}

/* Allocates arrays that are missing or too small, and fills those that the kernel reads. Returns false if memory is
   short. */
static bool make_arrays(struct call *c, uint64_t seed)
{
    struct call_arrays *a = c->arrays;
    for (int role = 0; role < roles_of_call(c); role++) {
        double bytes = call_array_bytes(c->kernel, c->kind, &c->problem, (enum call_role)role);
        if (a->data[role] && a->bytes[role] >= bytes) continue;
        attn_free(a->data[role]);
        a->data[role] = attn_alloc((size_t)bytes);
        a->bytes[role] = a->data[role] ? bytes : 0;
        if (!a->data[role]) return false;
        const enum attn_dtype dtype = call_array_dtype(c->kernel, c->kind, (enum call_role)role);
        const bool reads = role < ROLE_OUT || role == ROLE_DOUT;
        if (reads && dtype == c->kernel->dtype)
            fill(dtype, seed, (uint64_t)role, &normal, a->data[role], (size_t)bytes);
        else if (reads)
            fill_rows(dtype, role == ROLE_K ? c->kernel->head_dim : c->kernel->value_dim, seed, (uint64_t)role,
                      a->data[role], (size_t)bytes);
    }
    return true;
}

/* Makes lists of `count` different blocks, drawn at random. */
static void fill_lists(int32_t *data, int64_t lists, int64_t count, int64_t blocks)
{
    int64_t *const list = malloc((size_t)(count + 1) * sizeof *list);
    for (int64_t a = 0; a < lists; a++) {
        struct attn_draw draw = {.count = count, .among = blocks, .first = a, .last = a, .list = list};
        if (list) attn_draw(&draw);
        for (int64_t k = 0; k < count; k++) data[a * count + k] = list && k < list[0] ? (int32_t)list[1 + k] : -1;
    }
    free(list);
}

static void fill_integers(const struct attn_param *p, const int64_t *shape, int32_t *data, size_t count, int64_t n_k,
                          int64_t document)
{
    const int64_t last = p->rank ? shape[p->rank - 1] : 1;
    int64_t block = 0;
    bool keys = false;
    for (int k = 0; k < p->rank; k++) {
        keys |= p->shape[k] == ATTN_N_K;
        if (p->shape[k] < ATTN_N_K) block = -p->shape[k] / 8;
    }
    if (block) fill_lists(data, (int64_t)count / last, last, (n_k - 1) / block + 1);
    for (size_t k = 0; k < count && !block; k++) data[k] = (int32_t)(keys ? (int64_t)k % last / document : n_k / 2);
}

/* Fills a parameter with typical numbers:
   - a parameter with a range (struct call): uniform numbers in it
   - NAME.weight: near 1
   - NAME.bias: near 0
   - a matrix: such that it roughly keeps the norm of a row
   - ids of keys: runs of `document` equal ids
   - lists of blocks: `count` different ones, drawn at random
   - other integers, which bound keys: half of the number of keys
   - truth values: true */
static void fill_param(const struct call *c, const struct attn_param *p, const int64_t *shape, void *data, size_t bytes,
                       uint64_t seed, int64_t n_k, int64_t document)
{
    if (p->dtype == ATTN_U8) {
        memset(data, 1, bytes);
        return;
    }
    if (p->dtype == ATTN_I32) {
        fill_integers(p, shape, data, bytes / attn_dtype_size(p->dtype), n_k, document);
        return;
    }
    const bool weight = strstr(p->name, ".weight") != NULL, bias = strstr(p->name, ".bias") != NULL;
    double low, high;
    struct drawing how = {weight ? 1 : 0, weight || bias ? 0.1 : p->rank == 2 ? 1 / sqrt((double)shape[0]) : 1, false};
    if (c->range && c->range(c->range_of, p->name, &low, &high)) how = (struct drawing){low, high - low, true};
    fill(p->dtype, seed, attn_stream(p->name), &how, data, bytes);
}

/* Makes all parameters, with the kernel's params_init or fill_param. Returns 0 or ATTN_E... */
static int make_params(struct call *c, uint64_t seed, int64_t document)
{
    const struct attn_kernel *kernel = c->kernel;
    const struct attn_problem problem = problem_of_params(c);
    if (!kernel->params) return 0;
    c->params = attn_alloc(kernel->params_bytes);
    c->generated = attn_alloc(kernel->params_size());
    c->learned = calloc((size_t)kernel->params, sizeof *c->learned);
    if (!c->params || !c->generated || !c->learned) return ATTN_EMEMORY;
    int error = kernel->params_init(c->params, seed, c->generated);
    for (int k = 0; k < kernel->params && !error; k++) {
        const struct attn_param *param = &kernel->param[k];
        int64_t shape[4];
        if (param->random) continue;
        size_t bytes = (size_t)call_param_bytes(param, &problem);
        c->learned[k] = attn_alloc(bytes);
        if (!c->learned[k]) return ATTN_EMEMORY;
        attn_param_shape(param, &problem, shape);
        fill_param(c, param, shape, c->learned[k], bytes, seed, problem.n_k, document);
        memcpy((char *)c->params + param->offset, &c->learned[k], sizeof c->learned[k]);
    }
    return error;
}

double call_lacks(const struct call *c)
{
    const struct attn_problem problem = problem_of_params(c);
    double bytes = (double)call_workspace(c) + (double)c->kernel->params_bytes + (double)c->kernel->params_size();
    for (int role = 0; role < roles_of_call(c); role++) {
        double array = call_array_bytes(c->kernel, c->kind, &c->problem, (enum call_role)role);
        if (array > c->arrays->bytes[role])
            bytes += array; /* count the whole array, because the memory of the old one may not be reused */
    }
    if (saves(c)) bytes += (double)c->kernel->saved(&c->problem);
    if (c->kind == CALL_EXTEND) bytes += call_state_lacks(c);
    if (c->kind == CALL_BACKWARD) bytes += call_array_bytes(c->kernel, c->kind, &c->problem, ROLE_OUT);
    for (int k = 0; k < c->kernel->params; k++) {
        const struct attn_param *param = &c->kernel->param[k];
        const double array = call_param_bytes(param, &problem);
        bytes += param->random ? 0 : array;
        if (c->kind == CALL_BACKWARD && attn_param_learned(param))
            bytes += call_gradient_bytes(c->kernel, param, &problem);
    }
    return bytes;
}

static int forward(const struct call *c, char *out, void *workspace)
{
    return c->kernel->forward(&c->problem, c->params, c->arrays->data[ROLE_Q], c->arrays->data[ROLE_K],
                              c->arrays->data[ROLE_V], out, workspace);
}

/* Makes c->out, the output of forward that backward reads. */
static int make_out(struct call *c)
{
    const size_t bytes = c->problem.workspace_bytes;
    c->out = attn_alloc((size_t)call_array_bytes(c->kernel, c->kind, &c->problem, ROLE_OUT));
    c->problem.workspace_bytes = c->kernel->workspace(&c->problem);
    void *workspace = attn_alloc(c->problem.workspace_bytes);
    const int error = c->out && workspace ? forward(c, c->out, workspace) : ATTN_EMEMORY;
    attn_free(workspace);
    c->problem.workspace_bytes = bytes;
    return error;
}

/* Allocates the gradients with respect to learned parameters. Returns false if memory is short. */
static bool make_gradients(struct call *c)
{
    int count = 0;
    c->gradients = calloc((size_t)c->kernel->params + 1, sizeof *c->gradients);
    for (int k = 0; k < c->kernel->params && c->gradients; k++) {
        const struct attn_param *param = &c->kernel->param[k];
        if (!attn_param_learned(param)) continue;
        c->gradients[count] = attn_alloc((size_t)call_gradient_bytes(c->kernel, param, &c->problem));
        if (!c->gradients[count++]) return false;
    }
    return c->gradients != NULL;
}

int call_prepare(struct call *c, uint64_t seed, int64_t document)
{
    c->problem.workspace_bytes = call_workspace(c);
    c->workspace = attn_alloc(c->problem.workspace_bytes);
    if (saves(c)) {
        c->problem.saved_bytes = c->kernel->saved(&c->problem);
        c->problem.saved = c->problem.saved_bytes ? attn_alloc(c->problem.saved_bytes) : NULL;
    }
    if (!c->workspace || (c->problem.saved_bytes && !c->problem.saved) || !make_arrays(c, seed)) return ATTN_EMEMORY;
    const int error = make_params(c, seed, document);
    if (!error && c->kind == CALL_EXTEND) return call_prepare_state(c);
    if (error || c->kind != CALL_BACKWARD) return error;
    return make_gradients(c) ? make_out(c) : ATTN_EMEMORY;
}

int call_run(const struct call *c)
{
    char *const *data = c->arrays->data;
    if (c->kind == CALL_EXTEND) return call_tokens(c);
    if (c->kind != CALL_BACKWARD) return forward(c, data[ROLE_OUT], c->workspace);
    return c->kernel->backward(&c->problem, c->params, data[ROLE_Q], data[ROLE_K], data[ROLE_V], c->out,
                               data[ROLE_DOUT], data[ROLE_DQ], data[ROLE_DK], data[ROLE_DV], c->gradients,
                               c->workspace);
}

void call_release(struct call *c)
{
    for (int k = 0; c->learned && k < c->kernel->params; k++) attn_free(c->learned[k]);
    for (int k = 0; c->gradients && c->gradients[k]; k++) attn_free(c->gradients[k]);
    free((void *)c->learned);
    free((void *)c->gradients);
    attn_free(c->params);
    attn_free(c->generated);
    attn_free(c->workspace);
    attn_free(c->problem.saved);
    attn_free(c->out);
    attn_free(c->state);
    attn_free(c->before);
    c->params = c->generated = c->workspace = c->problem.saved = c->state = c->before = NULL;
    c->out = NULL;
    c->learned = c->gradients = NULL;
}

bool call_written(const struct call *c, int number, struct written *w)
{
    static const enum call_role of_forward[] = {ROLE_OUT}, of_backward[] = {ROLE_DQ, ROLE_DK, ROLE_DV};
    const struct attn_problem *p = &c->problem;
    const bool backward = c->kind == CALL_BACKWARD;
    const int shared = backward ? 3 : 1;
    if (number < shared) {
        const enum call_role role = backward ? of_backward[number] : of_forward[number];
        const int64_t row = role == ROLE_DQ || role == ROLE_DK ? c->kernel->head_dim : c->kernel->value_dim,
                      bytes = (int64_t)call_array_bytes(c->kernel, c->kind, p, role);
        *w = (struct written){c->arrays->data[role], (size_t)bytes, c->kernel->dtype,
                              bytes / row / (int64_t)attn_dtype_size(c->kernel->dtype), row};
        return true;
    }
    for (int k = 0, learned = 0; k < c->kernel->params && backward; k++) {
        const struct attn_param *param = &c->kernel->param[k];
        if (!attn_param_learned(param) || learned++ != number - shared) continue;
        const enum attn_dtype dtype = c->kernel->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
        const size_t bytes = (size_t)call_gradient_bytes(c->kernel, param, p);
        *w = (struct written){c->gradients[learned - 1], bytes, dtype, 1, (int64_t)(bytes / attn_dtype_size(dtype))};
        return true;
    }
    return false;
}

bool call_is_finite(const struct call *c)
{
    struct written w;
    bool finite = true;
    for (int n = 0; finite && call_written(c, n, &w); n++)
        for (int64_t k = 0; k < w.rows * w.row && finite; k++) finite = isfinite(number_at(w.data, k, w.dtype));
    return finite;
}
