/* Arrays and parameters of drawn calls (calls_driver.c). Each has exactly the bytes that the call declares. */
#ifndef CALLS_ARRAYS_H
#define CALLS_ARRAYS_H

#include "attnrt.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct attn_kernel KERNEL;
static const struct attn_kernel *const kernel = &KERNEL;
__extension__ typedef __int128 wide;
enum {
    MAX_PARAMS = 16,
    PATTERN = 0x3d,
    MOST = 1 << 16,
    SAID = 12,
    ROW = 8,
    TOKENS = 16,
    CAPACITY = 96,
    BEFORE_PAGES = 1 << 17
};
enum array { Q, K, V, OUT, DOUT, DQ, DK, DV, ARRAYS };
enum verdict { FINE, ANY, BAD, TOO_LARGE }; /* ANY: the call may be refused or served */

static uint64_t seed;
static int32_t first_id; /* ids of documents ascend from call to call */
static int failures, served, refused, same_heads;
static char what[200]; /* the call, and the hostile argument */

static int64_t pick(int64_t n) /* 0 to n - 1 */
{
    seed += 0x9E3779B97F4A7C15u;
    uint64_t y = seed;
    y = (y ^ (y >> 30)) * 0xBF58476D1CE4E5B9u;
    y = (y ^ (y >> 27)) * 0x94D049BB133111EBu;
    return (int64_t)((y ^ (y >> 31)) % (uint64_t)n);
}

static bool once_in(int64_t n)
{
    return pick(n) == 0;
}

static void check(bool right, const char *why, long long got)
{
    if (!right && failures++ < SAID) printf("%s: %s (%lld)\n", what, why, got);
}

static int64_t hostile(void)
{
    static const int64_t values[] = {-1,
                                     0,
                                     1,
                                     INT64_MIN,
                                     INT64_MAX,
                                     INT64_MAX - 1,
                                     INT64_MAX / 8,
                                     INT64_C(1) << 62,
                                     (INT64_C(1) << 60) + 1,
                                     INT64_C(1) << 32,
                                     INT64_C(1) << 31};
    return values[pick(sizeof values / sizeof *values)];
}

/* ---- memory of exact sizes ---- */

static void *owned[256];
static int owners;

static void *exact(size_t bytes, size_t align)
{
    void *made = NULL;
    if (owners == sizeof owned / sizeof *owned || posix_memalign(&made, align < 8 ? 8 : align, bytes)) exit(3);
    return memset(owned[owners++] = made, PATTERN, bytes);
}

/* ---- arrays ---- */

/* An array of rows: its elements, contiguous, and the same elements where the call has them. */
struct rows {
    struct attn_strides s;
    int64_t count[3], dim; /* batch, heads, rows; the elements of a row */
    size_t element;
    unsigned char *plain, *at;
    size_t bytes; /* of `at` */
};

static size_t row_of(const struct rows *a, int64_t b, int64_t h, int64_t n, bool plain)
{
    const int64_t *const c = a->count;
    return (size_t)(plain ? ((b * c[1] + h) * c[2] + n) * a->dim : b * a->s.batch + h * a->s.head + n * a->s.row) *
           a->element;
}

/* Copies the rows between `plain` and memory with the strides of the array. */
static void copy_rows(const struct rows *a, unsigned char *laid, unsigned char *plain, bool lay)
{
    for (int64_t b = 0; b < a->count[0]; b++)
        for (int64_t h = 0; h < a->count[1]; h++)
            for (int64_t n = 0; n < a->count[2]; n++) {
                unsigned char *const to = laid + row_of(a, b, h, n, false), *const of = plain +
                                                                                        row_of(a, b, h, n, true);
                memcpy(lay ? to : of, lay ? of : to, (size_t)a->dim * a->element);
            }
}

static size_t plain_bytes(const struct rows *a)
{
    return (size_t)(a->count[0] * a->count[1] * a->count[2] * a->dim) * a->element;
}

static enum verdict of_elements(wide elements)
{
    return elements > INT64_MAX / 8 ? BAD : elements > MOST ? TOO_LARGE : FINE;
}

static wide product(const int64_t *factor, int count)
{
    wide all = 1;
    for (int k = 0; k < count; k++)
        if (factor[k] > 0 && all <= INT64_MAX) all *= factor[k];
    return all;
}

/* Returns whether a call may have these strides, and fills in those of a contiguous array. */
static enum verdict fill(struct rows *a, bool written)
{
    int64_t *const stride[] = {&a->s.batch, &a->s.head, &a->s.row};
    const int64_t *const c = a->count;
    for (int k = 0; k < 3; k++)
        if (c[k] < 0 || *stride[k] < 0) return BAD;
    enum verdict whole = of_elements(product((const int64_t[]){c[0], c[1], c[2], a->dim}, 4));
    if (whole == BAD) return BAD;
    if (!a->s.batch && !a->s.head && !a->s.row) {
        if (whole == FINE) a->s = (struct attn_strides){c[1] * c[2] * a->dim, c[2] * a->dim, a->dim};
        return whole;
    }
    if (c[2] > 1 && a->s.row < a->dim) return BAD;
    if (written && c[0] && c[1] && c[2] && ((c[0] > 1 && !a->s.batch) || (c[1] > 1 && !a->s.head))) return BAD;
    wide last = a->dim;
    for (int k = 0; k < 3; k++)
        if (c[k] > 1) last += (wide)(c[k] - 1) * *stride[k];
    for (int k = 0; k < 3; k++)
        if (c[k] < 2) *stride[k] = 0; /* does not matter */
    const enum verdict extent = of_elements(last);
    return extent == BAD ? BAD : extent > whole ? extent : whole;
}

/* Draws strides: the axes in any order, with gaps. Heads or sequences of an input may share memory. */
static struct attn_strides draw_strides(const struct rows *a, bool written)
{
    int64_t stride[3] = {0}, next = a->dim + 4 * pick(3);
    int order[3] = {2, 1, 0};
    if (once_in(4)) return (struct attn_strides){0, 0, 0};
    if (once_in(2)) order[0] = 1, order[1] = 2;
    for (int k = 0; k < 3; k++) {
        stride[order[k]] = next;
        next = next * (a->count[order[k]] > 0 ? a->count[order[k]] : 1) + 4 * pick(3);
    }
    for (int k = 0; k < 2; k++)
        if (!written && once_in(6)) stride[k] = 0;
    return (struct attn_strides){stride[0], stride[1], stride[2]};
}

static void numbers(unsigned char *to, int64_t count, enum attn_dtype dtype, double scale)
{
    for (int64_t n = 0; n < count; n++) {
        const double x = ((double)pick(1 << 20) / (1 << 19) - 1) * scale;
        switch (dtype) {
        case ATTN_F64: ((double *)(void *)to)[n] = x; break;
        case ATTN_F32: ((float *)(void *)to)[n] = (float)x; break;
        case ATTN_BF16: ((uint16_t *)(void *)to)[n] = attn_bf16(x); break;
        case ATTN_F16: ((uint16_t *)(void *)to)[n] = attn_f16(x); break;
        case ATTN_I32: ((int32_t *)(void *)to)[n] = first_id + (int32_t)(n / 29); break;
        case ATTN_U8: to[n] = (unsigned char)pick(2); break;
        default: abort();
        }
    }
}

/* Makes the memory of an array with valid strides. */
static void lay(struct rows *a, enum attn_dtype dtype, bool written)
{
    wide last = a->count[0] && a->count[1] && a->count[2] ? a->dim : 0;
    const int64_t stride[] = {a->s.batch, a->s.head, a->s.row};
    for (int k = 0; k < 3 && last; k++) last += (wide)(a->count[k] - 1) * stride[k];
    a->bytes = (size_t)last * a->element;
    a->at = exact(a->bytes, a->element);
    a->plain = exact(plain_bytes(a), a->element);
    if (written) return;
    const int64_t rows = a->count[0] * a->count[1] * a->count[2];
    if (dtype == kernel->dtype)
        numbers(a->plain, rows * a->dim, dtype, 0.5);
    else
        for (int64_t r = 0; r < rows; r++) {
            float row[256];
            numbers((unsigned char *)row, kernel->head_dim > kernel->value_dim ? kernel->head_dim : kernel->value_dim,
                    ATTN_F32, 0.5);
            const bool whole = dtype == kernel->key_dtype &&
                               a->dim * (int64_t)a->element == attn_row_bytes(dtype, kernel->head_dim);
            attn_store_row(dtype, row, whole ? kernel->head_dim : kernel->value_dim,
                           a->plain + (size_t)(r * a->dim) * a->element);
        }
    copy_rows(a, a->at, a->plain, true);
    copy_rows(a, a->at, a->plain, false); /* rows that share memory are equal */
}

/* Copies the first lengths[b] rows of each sequence. */
static void copy_new_rows(const struct rows *a, const int64_t *lengths, unsigned char *plain, bool lay_them)
{
    for (int64_t b = 0; b < a->count[0]; b++)
        for (int64_t h = 0; h < a->count[1]; h++)
            for (int64_t n = 0; n < lengths[b]; n++) {
                unsigned char *const to = a->at + row_of(a, b, h, n, false), *const of = plain +
                                                                                         row_of(a, b, h, n, true);
                memcpy(lay_them ? to : of, lay_them ? of : to, (size_t)a->dim * a->element);
            }
}

/* Checks an output: its rows are those of a contiguous array, or none is written. Nothing else is written. */
static void judge_rows(const struct rows *a, const unsigned char *wanted, const char *name)
{
    unsigned char *const expected = malloc(a->bytes + 1);
    if (!expected) exit(3);
    memset(expected, PATTERN, a->bytes);
    if (wanted) copy_rows(a, expected, (unsigned char *)(uintptr_t)wanted, true);
    check(memcmp(expected, a->at, a->bytes) == 0, name, (long long)a->bytes);
    free(expected);
}

/* ---- parameters ---- */

struct params {
    unsigned char *laid, *plain; /* struct NAME_params of the call, and of the call with contiguous arrays */
    void *gradient[MAX_PARAMS + 1], *plain_gradient[MAX_PARAMS + 1];
    size_t gradient_bytes[MAX_PARAMS + 1];
    int learned;
    enum verdict verdict;
};

/* Makes the parameter k. Its strides are drawn, or hostile if `attacked`. */
static void draw_param(struct params *made, int k, const struct attn_problem *p, unsigned char *strides, bool attacked)
{
    const struct attn_param *const param = &kernel->param[k];
    int64_t shape[4] = {0}, count = 1, stride[4] = {0}, plain[4] = {0}, last = 0;
    int order[4] = {3, 2, 1, 0};
    const size_t element = attn_dtype_size(param->dtype);
    const bool strided = param->strides != ATTN_CONTIGUOUS && param->rank > 0 && once_in(2);
    attn_param_shape(param, p, shape);
    for (int r = param->rank - 1; r >= 0; count *= shape[r--]) plain[r] = stride[r] = count;
    unsigned char *const of = exact((size_t)count * element, element);
    numbers(of, count, param->dtype, strstr(param->name, "log") ? 0.01 : 0.5);
    if (strided) {
        int64_t next = 1 + pick(2);
        if (once_in(2)) order[0] = param->rank - 1, order[4 - param->rank] = 3;
        for (int r = 0; r < 4; r++) {
            const int axis = order[r];
            if (axis >= param->rank) continue;
            stride[axis] = next;
            next = next * (shape[axis] > 0 ? shape[axis] : 1) + pick(3);
        }
        for (int r = 0; r < param->rank; r++)
            if (once_in(8)) stride[r] = 0;
    }
    for (int r = 0; r < param->rank; r++) last += shape[r] > 0 ? (shape[r] - 1) * stride[r] : 0;
    const size_t bytes = count > 0 ? (size_t)(last + 1) * element : 0;
    unsigned char *const at = exact(bytes, element);
    for (int copies = 0; copies < 2; copies++) /* elements that share memory are equal */
        for (int64_t n = 0; n < count; n++) {
            int64_t offset = 0;
            for (int r = 0; r < param->rank; r++) offset += n / plain[r] % shape[r] * stride[r];
            memcpy(copies ? of + (size_t)n * element : at + (size_t)offset * element,
                   copies ? at + (size_t)offset * element : of + (size_t)n * element, element);
        }
    memcpy(made->laid + param->offset, &at, sizeof at);
    memcpy(made->plain + param->offset, &of, sizeof of);
    if (param->strides != ATTN_CONTIGUOUS) {
        int64_t *const to = (int64_t *)(void *)(strides + param->strides);
        for (int r = 0; r < param->rank; r++) to[r] = !strided ? 0 : stride[r] ? stride[r] : ATTN_BROADCAST;
        if (attacked && param->rank > 0) {
            const int r = (int)pick(param->rank);
            int64_t given = hostile();
            if (given == 0) given = INT64_MAX;
            if (shape[r] > 1 && given != ATTN_BROADCAST && given != stride[r]) {
                memcpy(to, stride, (size_t)param->rank * sizeof *to);
                to[r] = given;
                made->verdict = count > 0 && (given < 0 || given > INT64_MAX / 8 / (shape[r] - 1)) ? BAD : TOO_LARGE;
            }
        }
    }
    if (!attn_param_learned(param)) return;
    made->gradient_bytes[made->learned] = (size_t)count *
                                          attn_dtype_size(kernel->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32);
    made->gradient[made->learned] = once_in(4) ? NULL : exact(made->gradient_bytes[made->learned], 8);
    made->plain_gradient[made->learned] = made->gradient[made->learned] ? exact(made->gradient_bytes[made->learned], 8)
                                                                        : NULL;
    made->learned++;
}

/* Makes all parameters. In calls with a state, `of_tokens` is true: arrays have rows of new tokens. */
static struct params draw_params(const struct attn_problem *p, bool of_tokens, bool attacked,
                                 const struct params *earlier)
{
    struct params made = {exact(kernel->params_bytes, 8), exact(kernel->params_bytes, 8), {0}, {0}, {0}, 0, FINE};
    unsigned char *const strides = exact(kernel->strides_bytes, 8), *const none = exact(kernel->strides_bytes, 8);
    const int target = kernel->params ? (int)pick(kernel->params) : 0;
    memset(made.laid, 0, kernel->params_bytes);
    memset(made.plain, 0, kernel->params_bytes);
    memset(strides, 0, kernel->strides_bytes);
    memset(none, 0, kernel->strides_bytes);
    if (kernel->strides) {
        memcpy(made.laid + kernel->strides, &strides, sizeof(void *));
        memcpy(made.plain + kernel->strides, &none, sizeof(void *));
    }
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const param = &kernel->param[k];
        if (earlier && !param->rows) { /* the whole array stays the same for all calls with the state */
            memcpy(made.laid + param->offset, earlier->plain + param->offset, sizeof(void *));
            memcpy(made.plain + param->offset, earlier->plain + param->offset, sizeof(void *));
            continue;
        }
        struct attn_problem of = *p;
        if (of_tokens && param->rows) of.n_k = of.n_q;
        draw_param(&made, k, &of, strides, attacked && k == target);
    }
    return made;
}

#endif
