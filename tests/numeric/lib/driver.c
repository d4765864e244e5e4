/* Checks a kernel through its C interface: arrays next to pages without access, strides, wrong arguments, several
   callers. properties.py builds it with -DKERNEL=NAME_kernel. Arguments name the checks to run. */
#include "attnrt.h"
#include "fences.h"
#include "team.h"

#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct attn_kernel KERNEL;
static const struct attn_kernel *const kernel = &KERNEL;
static int failures;
static const char *checking;

#define FAIL(...) (failures++, printf("%s: ", checking), printf(__VA_ARGS__), putchar('\n'))

static double stored(const unsigned char *data, size_t at)
{
    double wide = 0;
    float narrow = 0;
    uint16_t half = 0;
    switch (kernel->dtype) {
    case ATTN_BF16: memcpy(&half, data + at * sizeof half, sizeof half); return attn_bf16_value(half);
    case ATTN_F16: memcpy(&half, data + at * sizeof half, sizeof half); return attn_f16_value(half);
    case ATTN_F64: memcpy(&wide, data + at * sizeof wide, sizeof wide); return wide;
    default: memcpy(&narrow, data + at * sizeof narrow, sizeof narrow); return (double)narrow;
    }
    return NAN;
}

/* ---- one call ---- */

enum layout { CONTIGUOUS, FRONT, PADDED, INTERLEAVED, LAYOUTS };
static const char *const layout_name[LAYOUTS] = {"at the end", "at the front", "padded", "[B,N,H,D]"};

struct shape {
    int64_t batch, heads, kv_heads, n_q, n_k;
};

static struct attn_strides strides_of(enum layout layout, int64_t heads, int64_t n, int64_t width)
{
    struct attn_strides s = {0};
    if (layout == PADDED)
        s.row = width + 3, s.head = s.row * n + 5, s.batch = s.head * heads + 7;
    else if (layout == INTERLEAVED)
        s.row = heads * width, s.head = width, s.batch = n * heads * width;
    return s;
}

static struct attn_strides filled_in(struct attn_strides s, int64_t heads, int64_t n, int64_t width)
{
    if (s.batch == 0 && s.head == 0 && s.row == 0)
        s = (struct attn_strides){.batch = heads * n * width, .head = n * width, .row = width};
    return s;
}

static size_t elements(struct attn_strides s, int64_t batch, int64_t heads, int64_t n, int64_t width)
{
    return batch * heads * n == 0 ? 0
                                  : (size_t)((batch - 1) * s.batch + (heads - 1) * s.head + (n - 1) * s.row + width);
}

/* Allocates q, k or v, with NaN between the rows. */
static struct block input_new(uint64_t array, struct attn_strides given, int64_t batch, int64_t heads, int64_t n,
                              int64_t width, bool front)
{
    struct attn_strides s = filled_in(given, heads, n, width);
    size_t size = attn_dtype_size(kernel->dtype), count = elements(s, batch, heads, n, width);
    struct block b = block_new(count * size, size, front);
    for (size_t i = 0; i < count; i++) store(b.data, i, (double)NAN, kernel->dtype);
    uint64_t at = 0;
    for (int64_t x = 0; x < batch; x++) {
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < n; i++) {
                for (int64_t d = 0; d < width; d++)
                    store(b.data, (size_t)(x * s.batch + h * s.head + i * s.row + d), number(array, at++),
                          kernel->dtype);
            }
        }
    }
    return b;
}

struct call {
    struct attn_problem problem;
    struct block q, k, v, out, workspace;
    struct block param[32];
    void **params; /* struct NAME_params */
};

static const struct attn_team *team; /* The caller's threads. If NULL, OpenMP's threads are used. */

static struct call call_new(struct shape s, enum layout layout, int threads)
{
    struct call c = {.problem = {.batch = s.batch,
                                 .heads = s.heads,
                                 .kv_heads = s.kv_heads,
                                 .n_q = s.n_q,
                                 .n_k = s.n_k,
                                 .threads = threads,
                                 .team = team}};
    int64_t D = kernel->head_dim, E = kernel->value_dim;
    bool front = layout == FRONT;
    c.problem.q = strides_of(layout, s.heads, s.n_q, D);
    c.problem.k = strides_of(layout, s.kv_heads, s.n_k, D);
    c.problem.v = strides_of(layout, s.kv_heads, s.n_k, E);
    c.problem.out = strides_of(layout, s.heads, s.n_q, E);
    c.q = input_new(1, c.problem.q, s.batch, s.heads, s.n_q, D, front);
    c.k = input_new(2, c.problem.k, s.batch, s.kv_heads, s.n_k, D, front);
    c.v = input_new(3, c.problem.v, s.batch, s.kv_heads, s.n_k, E, front);
    size_t size = attn_dtype_size(kernel->dtype);
    c.out = block_new(elements(filled_in(c.problem.out, s.heads, s.n_q, E), s.batch, s.heads, s.n_q, E) * size, size,
                      front);
    c.params = calloc(1, kernel->params_bytes ? kernel->params_bytes : 1);
    for (int p = 0; p < kernel->params; p++) {
        int64_t shape[4], count = 1;
        attn_param_shape(&kernel->param[p], &c.problem, shape);
        for (int r = 0; r < kernel->param[p].rank; r++) count *= shape[r];
        size_t bytes = attn_dtype_size(kernel->param[p].dtype);
        c.param[p] = block_new((size_t)count * bytes, bytes, front);
        for (int64_t i = 0; i < count; i++) {
            double x = 0.25 * number(10 + (uint64_t)p, (uint64_t)i);
            int64_t run = i / 29 - 3; /* ids ascend, and 29 keys share an id */
            if (kernel->param[p].dtype == ATTN_I32) x = (double)run;
            store(c.param[p].data, (size_t)i, x, kernel->param[p].dtype);
        }
        memcpy((char *)c.params + kernel->param[p].offset, &(void *){c.param[p].data}, sizeof(void *));
    }
    c.problem.workspace_bytes = kernel->workspace(&c.problem);
    c.workspace = block_new(c.problem.workspace_bytes, 64, front);
    return c;
}

static int call_run(struct call *c)
{
    return kernel->forward(&c->problem, kernel->params ? c->params : NULL, c->q.data, c->k.data, c->v.data, c->out.data,
                           c->workspace.data);
}

static void call_free(struct call *c)
{
    if (!block_whole(&c->out) || !block_whole(&c->workspace))
        FAIL("wrote outside of %s", block_whole(&c->out) ? "the workspace" : "out");
    if (!block_whole(&c->q) || !block_whole(&c->k) || !block_whole(&c->v)) FAIL("wrote to its inputs");
    block_free(&c->q), block_free(&c->k), block_free(&c->v), block_free(&c->out), block_free(&c->workspace);
    for (int p = 0; p < kernel->params; p++) block_free(&c->param[p]);
    free(c->params);
}

/* Copies `out` to a contiguous array. Checks that memory between its rows is unchanged. */
static unsigned char *call_result(const struct call *c)
{
    const struct attn_problem *p = &c->problem;
    size_t size = attn_dtype_size(kernel->dtype), row = (size_t)kernel->value_dim * size;
    struct attn_strides s = filled_in(p->out, p->heads, p->n_q, kernel->value_dim);
    unsigned char *result = malloc((size_t)(p->batch * p->heads * p->n_q) * row + 1), *to = result;
    unsigned char *rest = malloc(c->out.bytes + 1);
    if (!result || !rest) abort();
    memcpy(rest, c->out.data, c->out.bytes);
    for (int64_t b = 0; b < p->batch; b++) {
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t i = 0; i < p->n_q; i++, to += row) {
                size_t from = (size_t)(b * s.batch + h * s.head + i * s.row) * size;
                memcpy(to, c->out.data + from, row);
                memset(rest + from, PATTERN, row);
            }
        }
    }
    for (size_t i = 0; i < c->out.bytes; i++) {
        if (rest[i] != PATTERN) {
            FAIL("wrote between the rows of out");
            break;
        }
    }
    free(rest);
    return result;
}

static unsigned char *answer(struct shape s, enum layout layout, int threads, int workspace_byte, size_t *bytes)
{
    struct call c = call_new(s, layout, threads);
    memset(c.workspace.data, workspace_byte, c.workspace.bytes);
    int error = call_run(&c);
    if (error) FAIL("forward returned %d (%s)", error, attn_strerror(error));
    *bytes = (size_t)(s.batch * s.heads * s.n_q * kernel->value_dim) * attn_dtype_size(kernel->dtype);
    unsigned char *result = call_result(&c);
    for (size_t i = 0; i < *bytes / attn_dtype_size(kernel->dtype); i++) {
        if (!isfinite(stored(result, i))) {
            FAIL("a result is not finite (B%lld H%lld G%lld nq%lld nk%lld, %s)", (long long)s.batch, (long long)s.heads,
                 (long long)s.kv_heads, (long long)s.n_q, (long long)s.n_k, layout_name[layout]);
            break;
        }
    }
    call_free(&c);
    return result;
}

/* ---- the checks ---- */

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1},    {1, 2, 1, 7, 7},   {2, 4, 2, 65, 65}, {1, 2, 2, 97, 130},
    {1, 4, 1, 130, 33}, {2, 1, 1, 1, 200}, {1, 1, 1, 200, 1}, {1, 3, 3, 191, 191},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check_same(struct shape s, enum layout layout, int threads, int byte, const unsigned char *expected,
                       size_t bytes)
{
    size_t got;
    unsigned char *result = answer(s, layout, threads, byte, &got);
    if (got != bytes || memcmp(expected, result, bytes) != 0)
        FAIL("B%lld H%lld G%lld nq%lld nk%lld: other bits with arrays %s, %d threads, a workspace full of 0x%02X",
             (long long)s.batch, (long long)s.heads, (long long)s.kv_heads, (long long)s.n_q, (long long)s.n_k,
             layout_name[layout], threads, (unsigned)byte);
    free(result);
}

/* Strides and the old contents of the workspace do not change the result. No access is outside the arrays. */
static void check_layouts(void)
{
    for (int i = 0; i < SHAPES; i++) {
        size_t bytes;
        unsigned char *expected = answer(shapes[i], CONTIGUOUS, 1, 0, &bytes);
        for (enum layout layout = CONTIGUOUS; layout < LAYOUTS; layout++)
            check_same(shapes[i], layout, 1, layout % 2 ? 0xFF : 0x7F, expected, bytes);
        free(expected);
    }
}

static void check_threads(void)
{
    static const struct shape big[] = {
        {2, 4, 2, 200, 200}, {1, 1, 1, 450, 450}, {1, 2, 2, 3, 700}, {1, 20, 20, 20, 30}}; /* enough work for 3
                                                                                            * threads */
    static const int threads[] = {2, 3, 7, 0};
    for (size_t i = 0; i < sizeof big / sizeof *big; i++) {
        size_t bytes;
        unsigned char *expected = answer(big[i], CONTIGUOUS, 1, 0xFF, &bytes);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
            check_same(big[i], CONTIGUOUS, threads[t], 0xFF, expected, bytes);
        free(expected);
    }
}

/* A call on the caller's threads gives the result of OpenMP's threads, even with fewer threads than requested. */
static void check_teams(void)
{
    team = &own_team;
    check_threads();
    team = NULL;
    if (team_runs < 3)
        FAIL("%d calls ran on the threads of their caller", team_runs); /* the last shape runs 3
                                                                         * times */
}

static bool untouched(const struct block *b)
{
    for (size_t i = 0; i < b->bytes; i++) {
        if (b->data[i] != PATTERN) return false;
    }
    return true;
}

static void expect(const char *what, struct call *c, int got, int wanted)
{
    if (got != wanted) FAIL("%s: %d (%s), not %d (%s)", what, got, attn_strerror(got), wanted, attn_strerror(wanted));
    if (!untouched(&c->out)) {
        FAIL("%s: wrote to out", what);
        memset(c->out.data, PATTERN, c->out.bytes);
    }
}

/* Changes the problem, checks that forward returns `wanted`, and restores the problem. */
#define BAD(what, wanted, change) \
    do { \
        struct attn_problem saved = c.problem; \
        struct attn_problem *p = &c.problem; \
        change; \
        (void)kernel->workspace(p); \
        expect(what, &c, call_run(&c), wanted); \
        c.problem = saved; \
    } while (0)

static void check_errors(void)
{
    struct call c = call_new((struct shape){2, 4, 2, 10, 12}, CONTIGUOUS, 2);
    void *params = kernel->params ? c.params : NULL, *q = c.q.data, *k = c.k.data, *v = c.v.data, *out = c.out.data,
         *workspace = c.workspace.data;
    const struct attn_problem *p0 = &c.problem;
    expect("q is NULL", &c, kernel->forward(p0, params, NULL, k, v, out, workspace), ATTN_EPOINTER);
    expect("k is NULL", &c, kernel->forward(p0, params, q, NULL, v, out, workspace), ATTN_EPOINTER);
    expect("v is NULL", &c, kernel->forward(p0, params, q, k, NULL, out, workspace), ATTN_EPOINTER);
    expect("out is NULL", &c, kernel->forward(p0, params, q, k, v, NULL, workspace), ATTN_EPOINTER);
    expect("out is q", &c, kernel->forward(p0, params, q, k, v, q, workspace), ATTN_EPOINTER);
    expect("out is k", &c, kernel->forward(p0, params, q, k, v, k, workspace), ATTN_EPOINTER);
    expect("out is v", &c, kernel->forward(p0, params, q, k, v, v, workspace), ATTN_EPOINTER);
    if (kernel->forward(NULL, params, q, k, v, out, workspace) >= 0) FAIL("the problem is NULL: no error");
    if (kernel->workspace(NULL) != 0) FAIL("the problem is NULL: a workspace of %zu bytes", kernel->workspace(NULL));
    if (c.problem.workspace_bytes > 0) {
        expect("workspace is NULL", &c, kernel->forward(p0, params, q, k, v, out, NULL), ATTN_EPOINTER);
        BAD("workspace too small", ATTN_EWORKSPACE, p->workspace_bytes -= 1);
        BAD("workspace of 1 byte", ATTN_EWORKSPACE, p->workspace_bytes = 1);
        expect("workspace not aligned", &c, kernel->forward(p0, params, q, k, v, out, (char *)workspace + 4),
               ATTN_EALIGN);
    }
    if (kernel->params > 0)
        expect("params is NULL", &c, kernel->forward(p0, NULL, q, k, v, out, workspace), ATTN_EPARAM);
    for (int i = 0; i < kernel->params; i++) {
        void *saved, *none = NULL;
        char *member = (char *)c.params + kernel->param[i].offset;
        memcpy(&saved, member, sizeof saved);
        memcpy(member, &none, sizeof none);
        expect(kernel->param[i].name, &c, call_run(&c), ATTN_EPARAM);
        memcpy(member, &saved, sizeof saved);
    }
    BAD("heads no multiple of kv_heads", ATTN_EPROBLEM, p->kv_heads = 3);
    BAD("more kv_heads than heads", ATTN_EPROBLEM, p->kv_heads = 8);
    BAD("no kv_heads", ATTN_EPROBLEM, p->kv_heads = 0);
    BAD("batch < 0", ATTN_EPROBLEM, p->batch = -1);
    BAD("heads < 0", ATTN_EPROBLEM, p->heads = -4);
    BAD("heads and kv_heads < 0", ATTN_EPROBLEM, (p->heads = -4, p->kv_heads = -2));
    BAD("n_q < 0", ATTN_EPROBLEM, p->n_q = -1);
    BAD("n_k < 0", ATTN_EPROBLEM, p->n_k = INT64_MIN);
    BAD("a stride of q < 0", ATTN_EPROBLEM, (p->q = (struct attn_strides){.batch = 4096, .head = 1024, .row = -128}));
    BAD("a stride of out < 0", ATTN_EPROBLEM,
        (p->out = (struct attn_strides){.batch = -4096, .head = 1024, .row = 128}));
    BAD("sizes that overflow", ATTN_ESIZE, (p->batch = INT64_MAX / 2, p->workspace_bytes = 0));
    BAD("lengths that overflow", ATTN_ESIZE, (p->n_q = INT64_MAX / 4, p->n_k = INT64_MAX / 4, p->workspace_bytes = 0));
    BAD("strides that overflow", ATTN_ESIZE,
        (p->k = (struct attn_strides){.batch = INT64_MAX / 2, .head = INT64_MAX / 2, .row = INT64_MAX / 2}));
    BAD("no queries", 0, p->n_q = 0);
    BAD("no queries and one batch of out for all", 0,
        (p->n_q = 0, p->out = (struct attn_strides){.head = kernel->value_dim, .row = kernel->value_dim}));
    BAD("no batch", 0, p->batch = 0);
    int error = call_run(&c);
    if (error || untouched(&c.out))
        FAIL("the good call after the bad ones returned %d (%s)", error, attn_strerror(error));
    c.problem.workspace_bytes = 0;
    if ((error = call_run(&c)) != 0)
        FAIL("workspace_bytes 0 (the caller vouches) returned %d (%s)", error, attn_strerror(error));
    c.problem.n_k = 0;
    memset(c.out.data, PATTERN, c.out.bytes);
    error = call_run(&c);
    bool zero = true;
    for (size_t i = 0; i < c.out.bytes; i++) zero = zero && c.out.data[i] == 0;
    if (error || !zero)
        FAIL("no keys: returned %d (%s), out is %s", error, attn_strerror(error),
             zero                ? "0"
             : untouched(&c.out) ? "untouched, not 0"
                                 : "not 0");
    call_free(&c);
    for (int e = -20; e <= 5; e++) {
        if (!attn_strerror(e) || !*attn_strerror(e)) FAIL("attn_strerror(%d) says nothing", e);
    }
}

/* The size of the workspace does not grow with the length. */
static void check_workspace(void)
{
    struct attn_problem p = {.batch = 1, .heads = 2, .kv_heads = 2, .n_q = 4096, .n_k = 4096, .threads = 2};
    size_t small = kernel->workspace(&p);
    p.n_q = p.n_k = 1048576;
    size_t large = kernel->workspace(&p);
    if (large != small) FAIL("%zu bytes at n = 4096, %zu at n = 1048576", small, large);
    if (small % 64 != 0) FAIL("%zu bytes is no multiple of 64", small);
    p.threads = 1;
    printf("info %zu bytes of workspace on one thread, %zu on two\n", kernel->workspace(&p), large);
}

/* The linker redirects allocations of the kernel and the runtime to these functions. */
#ifdef COUNT_ALLOCATIONS
static int allocations;
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
int __real_posix_memalign(void **to, size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap_posix_memalign(void **to, size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __real_calloc(count, bytes);
}
void *__wrap_realloc(void *old, size_t bytes)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __real_realloc(old, bytes);
}
void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __real_aligned_alloc(align, bytes);
}
int __wrap_posix_memalign(void **to, size_t align, size_t bytes)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __real_posix_memalign(to, align, bytes);
}

static void check_allocations(void)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        struct call c = call_new((struct shape){2, 4, 2, 150, 150}, CONTIGUOUS, threads);
        for (int turn = 0; turn < 3; turn++) {
            int before = allocations;
            (void)kernel->workspace(&c.problem);
            int error = call_run(&c);
            if (error || allocations != before)
                FAIL("call %d on %d threads returned %d and allocated %d times", turn + 1, threads, error,
                     allocations - before);
        }
        call_free(&c);
    }
}
#else
static void check_allocations(void)
{
    puts("info not built to count allocations");
}
#endif

/* If OpenMP's settings change after the workspace was made, a call does not write beyond it. */
static const struct shape many_tasks = {2, 4, 2, 97, 97};

#ifdef _OPENMP
static void run_under(struct call *c, int threads, int inside, const unsigned char *expected, size_t bytes,
                      const char *what)
{
    int error = 0;
    omp_set_max_active_levels(inside ? 2 : 1);
#pragma omp parallel num_threads(inside ? 2 : 1) reduction(min : error)
    {
        omp_set_num_threads(threads);
#pragma omp single
        error = call_run(c);
    }
    unsigned char *result = call_result(c);
    if (error || memcmp(result, expected, bytes) != 0)
        FAIL("%s, then %d threads%s: %s", what, threads, inside ? " inside of a parallel region" : "",
             error ? attn_strerror(error) : "other bits");
    if (!block_whole(&c->workspace)) FAIL("%s, then %d threads: wrote outside of the workspace", what, threads);
    free(result);
}

static void check_settings(void)
{
    static const int setting[] = {1, 2, 8, 31};
    const int usual = omp_get_max_threads();
    size_t bytes;
    unsigned char *expected = answer(many_tasks, CONTIGUOUS, 1, 0, &bytes);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 16; b++) {
            char what[64];
            omp_set_num_threads(setting[a]);
            struct call c = call_new(many_tasks, CONTIGUOUS, 0);
            if (b & 4) c.problem.workspace_bytes = 0;
            omp_set_dynamic(b & 4);
            snprintf(what, sizeof what, "a workspace for %d threads%s", setting[a], b & 4 ? ", vouched for" : "");
            run_under(&c, setting[b & 3], b & 8, expected, bytes, what);
            call_free(&c);
        }
    omp_set_dynamic(0);
    omp_set_num_threads(8); /* a workspace for OpenMP's default then has space for 8 threads */
    struct attn_problem p = {.batch = 1, .heads = 2, .kv_heads = 2, .n_q = 9, .n_k = 9}, one = p, two = p;
    one.threads = 1;
    two.threads = 2; /* the two workspaces differ by the memory of one thread */
    if (kernel->workspace(&p) + 6 * kernel->workspace(&one) < 7 * kernel->workspace(&two))
        FAIL("the workspace for OpenMP's default of 8 threads does not serve 8");
    omp_set_num_threads(usual);
    free(expected);
}
#else
static void check_settings(void)
{
    puts("skipped: OpenMP is not in this build");
}
#endif

/* Several threads call the kernel at once, with the same inputs. */
static const struct shape shared_shape = {1, 2, 1, 150, 150};

static void *caller(void *argument)
{
    struct call *c = argument;
    for (int turn = 0; turn < 3; turn++) {
        if (call_run(c) != 0) return c;
    }
    return NULL;
}

static void check_callers(void)
{
    enum { CALLERS = 4 };
    struct call c[CALLERS];
    pthread_t thread[CALLERS];
    size_t bytes;
    unsigned char *expected = answer(shared_shape, CONTIGUOUS, 1, 0, &bytes);
    for (int i = 0; i < CALLERS; i++) {
        c[i] = call_new(shared_shape, CONTIGUOUS, 1);
        if (i > 0) {
            struct call *one = &c[i], *first = &c[0];
            struct block q = one->q, k = one->k, v = one->v;
            one->q = first->q, one->k = first->k, one->v = first->v;
            block_free(&q), block_free(&k), block_free(&v);
        }
    }
    for (int i = 0; i < CALLERS; i++) {
        if (pthread_create(&thread[i], NULL, caller, &c[i]) != 0) abort();
    }
    for (int i = 0; i < CALLERS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        unsigned char *result = call_result(&c[i]);
        if (failed || memcmp(result, expected, bytes) != 0)
            FAIL("caller %d of %d at once got %s", i + 1, CALLERS, failed ? "an error" : "other bits");
        free(result);
    }
    for (int i = CALLERS - 1; i >= 0; i--) {
        if (i > 0) { /* call 0 frees the shared inputs */
            c[i].q = block_new(0, 1, true), c[i].k = block_new(0, 1, true), c[i].v = block_new(0, 1, true);
        }
        call_free(&c[i]);
    }
    free(expected);
}

static const struct {
    const char *name;
    void (*run)(void);
} checks[] = {
    {"layouts", check_layouts},         {"threads", check_threads},
    {"errors", check_errors},           {"workspace", check_workspace},
    {"allocations", check_allocations}, {"callers", check_callers},
    {"settings", check_settings},       {"teams", check_teams},
};

int main(int count, char **name)
{
    for (int i = 1; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof checks / sizeof *checks; k++) {
            if (strcmp(name[i], checks[k].name) == 0) {
                checking = checks[k].name;
                checks[k].run();
                fflush(stdout);
                known = true;
            }
        }
        if (!known) {
            fprintf(stderr, "no check is called %s\n", name[i]);
            return 2;
        }
    }
    return failures ? 1 : 0;
}
