/* Merges the results of a kernel for two sets of keys. A result is `out` and, for each row, the denominator or its
   logarithm. A merged row is a weighted mean. */
#include "attnrt.h"
#include "kernel/basic.h"

#include <math.h>
#include <string.h>

static const int64_t merged_rows = 64; /* rows that a thread takes at a time */

/* The weights of the left and of the right row, and the merged statistic. */
struct merged_row {
    double left, right, statistic;
};

/* ---- rows: left[k] = a * left[k] + b * right[k] ---- */

#define MERGED_ROWS(name, type, real, widened, narrowed) \
    static void name(type *restrict left, const type *restrict right, int64_t n, real a, real b) \
    { \
        for (int64_t k = 0; k < n; k++) left[k] = narrowed(a * widened(left[k]) + b * widened(right[k])); \
    }
MERGED_ROWS(merge_f32, float, float, , )
MERGED_ROWS(merge_f64, double, double, , )
MERGED_ROWS(merge_bf16, uint16_t, float, widened_bf16, narrowed_bf16)
MERGED_ROWS(merge_f16, uint16_t, float, widened_f16, narrowed_f16)
#undef MERGED_ROWS

/* ---- weights ---- */

/* Returns the weights of a left and a right row. If a row sees no key, its weight is 0 and it is not read. */
static struct merged_row merge_weights(enum attn_statistics kind, double left, double right)
{
    if (kind == ATTN_UNDIVIDED) return (struct merged_row){1, 1, left > right ? left : right};
    const double unseen = kind == ATTN_LOGARITHMS ? -INFINITY : 0;
    if (right == unseen) return (struct merged_row){1, 0, left};
    if (left == unseen) return (struct merged_row){0, 1, right};
    if (kind == ATTN_LOGARITHMS) {
        const double more = left > right ? left : right, all = more + log(exp(left - more) + exp(right - more));
        return (struct merged_row){exp(left - all), exp(right - all), all};
    }
    const double all = left + right;
    return all == 0 ? (struct merged_row){0, 0, 0} : (struct merged_row){left / all, right / all, all};
}

/* ---- all rows ---- */

struct merging {
    struct attn_problem left, right; /* with all strides filled in */
    unsigned char *left_out;
    const unsigned char *right_out;
    enum attn_dtype dtype;
    enum attn_statistics kind;
    int64_t value_dim, tasks, next;
};

static size_t merge_bytes(const struct merging *x)
{
    return x->dtype == ATTN_F64 ? 8 : x->dtype == ATTN_F32 ? 4 : 2;
}

static double merge_statistic(const struct merging *x, const struct attn_problem *p, int64_t at)
{
    return x->dtype == ATTN_F64 ? ((const double *)p->statistics)[at] : (double)((const float *)p->statistics)[at];
}

static void merge_row(const struct merging *x, void *left, const void *right, const struct merged_row *mean)
{
    const int64_t n = x->value_dim;
    const float a = (float)mean->left, b = (float)mean->right;
    const size_t bytes = (size_t)n * merge_bytes(x);
    if (mean->left == 1 && mean->right == 0) return;
    if (mean->right == 1 && mean->left == 0) {
        memcpy(left, right, bytes);
        return;
    }
    if (mean->left == 0 && mean->right == 0) {
        memset(left, 0, bytes);
        return;
    }
    switch (x->dtype) {
    case ATTN_F32: merge_f32((float *)left, (const float *)right, n, a, b); break;
    case ATTN_BF16: merge_bf16((uint16_t *)left, (const uint16_t *)right, n, a, b); break;
    case ATTN_F16: merge_f16((uint16_t *)left, (const uint16_t *)right, n, a, b); break;
    case ATTN_F64: merge_f64((double *)left, (const double *)right, n, mean->left, mean->right); break;
    default: break; /* not a type of results */
    }
}

/* Merges up to merged_rows rows of a head. */
static void merge_task(struct merging *x, int64_t task)
{
    const struct attn_problem *const l = &x->left, *const r = &x->right;
    const size_t size = merge_bytes(x);
    const int64_t blocks = (l->n_q - 1) / merged_rows + 1, first = task % blocks * merged_rows,
                  b = task / blocks / l->heads, h = task / blocks % l->heads,
                  end = l->n_q - first < merged_rows ? l->n_q : first + merged_rows;
    const int known = l->statistics && r->statistics;
    for (int64_t i = first; i < end; i++) {
        const int64_t at = b * l->statistics_at.batch + h * l->statistics_at.head + i * l->statistics_at.row,
                      other = b * r->statistics_at.batch + h * r->statistics_at.head + i * r->statistics_at.row;
        const struct merged_row mean = known ? merge_weights(x->kind, merge_statistic(x, l, at),
                                                             merge_statistic(x, r, other))
                                             : (struct merged_row){1, 1, 0};
        merge_row(x, x->left_out + size * (size_t)(b * l->out.batch + h * l->out.head + i * l->out.row),
                  x->right_out + size * (size_t)(b * r->out.batch + h * r->out.head + i * r->out.row), &mean);
        if (!known) continue;
        if (x->dtype == ATTN_F64)
            ((double *)l->statistics)[at] = mean.statistic;
        else
            ((float *)l->statistics)[at] = (float)mean.statistic;
    }
}

static void merge_tasks(void *merging)
{
    struct merging *const x = (struct merging *)merging;
    for (int64_t task; (task = __atomic_fetch_add(&x->next, 1, __ATOMIC_RELAXED)) < x->tasks;) merge_task(x, task);
}

/* Runs the tasks on the caller's team, or on OpenMP's threads. Little work gets one thread by default. */
static void merge_in_threads(struct merging *x)
{
    enum { FEW_ELEMENTS = 1 << 17 };
    const int64_t rows = x->left.batch * x->left.heads * x->left.n_q, threads = x->left.threads;
    if (threads > 1 && x->left.team) {
        x->left.team->run(merge_tasks, x, (unsigned)threads, 0);
        return;
    }
#ifdef _OPENMP
    if (threads > 1) {
#pragma omp parallel num_threads((int)threads)
        merge_tasks(x);
        return;
    }
    if (threads == 0 && rows > FEW_ELEMENTS / x->value_dim) {
#pragma omp parallel
        merge_tasks(x);
        return;
    }
#endif
    (void)rows;
    merge_tasks(x);
}

/* Checks one result, and fills in its strides. */
static int merge_check(const struct attn_problem *p, int64_t value_dim, struct attn_problem *filled)
{
    const struct attn_problem own = {.batch = p->batch,
                                     .heads = p->heads,
                                     .kv_heads = p->heads,
                                     .n_q = p->n_q,
                                     .out = p->out,
                                     .threads = p->threads,
                                     .team = p->team,
                                     .statistics = p->statistics,
                                     .statistics_at = p->statistics_at};
    return attn_problem_check(&own, 1, value_dim, filled);
}

ATTN_API int attn_merge(const struct attn_problem *left, void *left_out, const struct attn_problem *right,
                        const void *right_out, enum attn_dtype dtype, int64_t value_dim, enum attn_statistics kind)
{
    struct merging merging = {.left_out = (unsigned char *)left_out,
                              .right_out = (const unsigned char *)right_out,
                              .dtype = dtype,
                              .kind = kind,
                              .value_dim = value_dim},
                   *const x = &merging;
    if (!left || !right) return ATTN_EPOINTER;
    if (dtype < ATTN_F32 || dtype > ATTN_F64 || kind < ATTN_LOGARITHMS || kind > ATTN_UNDIVIDED) return ATTN_EFOLD;
    int error = merge_check(left, value_dim, &x->left);
    if (!error) error = merge_check(right, value_dim, &x->right);
    if (error) return error;
    if (left->batch != right->batch || left->heads != right->heads || left->n_q != right->n_q) return ATTN_EPROBLEM;
    if (left->batch == 0 || left->heads == 0 || left->n_q == 0) return 0;
    if (!left_out || !right_out) return ATTN_EPOINTER;
    if (kind != ATTN_UNDIVIDED && (!left->statistics || !right->statistics)) return ATTN_EPOINTER;
    x->tasks = left->batch * left->heads * ((left->n_q - 1) / merged_rows + 1);
    merge_in_threads(x);
    return 0;
}
