/* Tests attn_merge: weights of rows, all types of elements, strides, threads, and errors. */
#include "runtime/attnrt.h"
#include "suite.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, HEADS = 3, ROWS = 70, WIDTH = 5, ALL = BATCH * HEADS * ROWS };

static double drawn(void)
{
    return 4.0 * rand() / RAND_MAX - 2;
}

static struct attn_problem problem_of(void *statistics)
{
    return (struct attn_problem){
        .batch = BATCH, .heads = HEADS, .kv_heads = 1, .n_q = ROWS, .n_k = 9, .threads = 1, .statistics = statistics};
}

/* Merges random f64 results, and compares each row with the weighted mean. Some rows see no key on one side or both. */
static void merge_f64(enum attn_statistics kind, double unseen)
{
    static double left[ALL][WIDTH], right[ALL][WIDTH], before[ALL][WIDTH], l[ALL], r[ALL], was[ALL];
    for (int row = 0; row < ALL; row++) {
        l[row] = row % 7 == 0 ? unseen : kind == ATTN_LOGARITHMS ? 300 * drawn() : 3 + drawn();
        r[row] = row % 5 == 0 ? unseen : kind == ATTN_LOGARITHMS ? 300 * drawn() : 3 + drawn();
        for (int e = 0; e < WIDTH; e++) {
            left[row][e] = l[row] == unseen ? 0 : drawn();
            right[row][e] = r[row] == unseen ? 0 : drawn();
        }
    }
    memcpy(before, left, sizeof before);
    memcpy(was, l, sizeof was);
    struct attn_problem a = problem_of(l), b = problem_of(r);
    CU_ASSERT_EQUAL(attn_merge(&a, left, &b, right, ATTN_F64, WIDTH, kind), 0);
    for (int row = 0; row < ALL; row++) {
        const double top = fmax(was[row], r[row]);
        double x = was[row], y = r[row];
        if (kind == ATTN_LOGARITHMS) {
            x = was[row] == unseen ? 0 : exp(was[row] - top);
            y = r[row] == unseen ? 0 : exp(r[row] - top);
        }
        double all = x + y, merged = kind == ATTN_LOGARITHMS ? top + log(all) : all;
        if (kind == ATTN_UNDIVIDED) x = y = all = 1, merged = top;
        if (all == 0) merged = unseen;
        CU_ASSERT(l[row] == merged || fabs(l[row] - merged) < 1e-12);
        for (int e = 0; e < WIDTH; e++) {
            const double expected = all == 0 ? 0 : (x * before[row][e] + y * right[row][e]) / all;
            CU_ASSERT(fabs(left[row][e] - expected) < 1e-12);
        }
    }
}

static void test_kinds(void)
{
    merge_f64(ATTN_LOGARITHMS, -INFINITY);
    merge_f64(ATTN_DENOMINATORS, 0);
    merge_f64(ATTN_UNDIVIDED, 0);
}

/* A 16-bit number plus 0 is unchanged. Sums are rounded like attn_f16 and attn_bf16. */
static void test_half(void)
{
    enum { MANY = 1 << 16 };
    static uint16_t left[MANY], right[MANY], before[MANY];
    const struct attn_problem p = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = 1};
    for (int type = 0; type < 2; type++) {
        const enum attn_dtype dtype = type ? ATTN_F16 : ATTN_BF16;
        double (*const value)(uint16_t bits) = type ? attn_f16_value : attn_bf16_value;
        uint16_t (*const rounded)(double value) = type ? attn_f16 : attn_bf16;
        int wrong = 0;
        memset(right, 0, sizeof right);
        for (int k = 0; k < MANY; k++) left[k] = (uint16_t)k;
        CU_ASSERT_EQUAL(attn_merge(&p, left, &p, right, dtype, MANY, ATTN_UNDIVIDED), 0);
        for (int k = 0; k < MANY; k++)
            wrong += isnan(value((uint16_t)k)) ? !isnan(value(left[k])) : k != 0x8000 && left[k] != k; /* -0 + 0 is 0 */
        CU_ASSERT_EQUAL(wrong, 0);
        for (int k = 0; k < MANY; k++) {
            left[k] = before[k] = (uint16_t)k;
            right[k] = k % 3 ? (uint16_t)rand()
                             : (uint16_t)(k ^ (rand() & 0x83ff)); /* every third pair has similar sizes */
        }
        CU_ASSERT_EQUAL(attn_merge(&p, left, &p, right, dtype, MANY, ATTN_UNDIVIDED), 0);
        for (int k = 0; k < MANY; k++) {
            const float sum = (float)value(before[k]) + (float)value(right[k]);
            wrong += isnan(sum) ? !isnan(value(left[k])) : left[k] != rounded((double)sum);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

static int calls;

/* A team whose threads run one after the other. */
static void run_in_turn(void (*work)(void *context), void *context, unsigned threads, unsigned flags)
{
    (void)flags;
    calls++;
    for (unsigned k = 0; k < threads; k++) work(context);
}

/* Strides and threads do not change the result. Memory between rows is unchanged. */
static void test_strides(void)
{
    enum { GAP = 2, ROW = HEADS * (WIDTH + GAP) };
    static float plain[ALL][WIDTH], other[ALL][WIDTH], l[ALL], r[ALL], spread[BATCH * ROWS][HEADS][WIDTH + GAP],
        apart[ALL][3];
    const struct attn_team team = {.run = run_in_turn};
    for (int row = 0; row < ALL; row++) {
        l[row] = (float)drawn(), r[row] = row % 9 ? (float)drawn() : -INFINITY;
        const int b = row / (HEADS * ROWS), h = row / ROWS % HEADS, i = row % ROWS;
        for (int e = 0; e < WIDTH + GAP; e++) spread[b * ROWS + i][h][e] = 77;
        for (int e = 0; e < 3; e++) apart[row][e] = 77;
        apart[row][0] = l[row];
        for (int e = 0; e < WIDTH; e++) {
            plain[row][e] = spread[b * ROWS + i][h][e] = (float)drawn();
            other[row][e] = (float)drawn();
        }
    }
    struct attn_problem a = problem_of(l), b = problem_of(r), c = problem_of(apart);
    c.out = (struct attn_strides){.batch = ROWS * ROW, .head = WIDTH + GAP, .row = ROW};
    c.statistics_at = (struct attn_strides){.batch = HEADS * ROWS * 3, .head = ROWS * 3, .row = 3};
    c.threads = 3;
    c.team = &team;
    CU_ASSERT_EQUAL(attn_merge(&a, plain, &b, other, ATTN_F32, WIDTH, ATTN_LOGARITHMS), 0);
    CU_ASSERT_EQUAL(attn_merge(&c, spread, &b, other, ATTN_F32, WIDTH, ATTN_LOGARITHMS), 0);
    CU_ASSERT_EQUAL(calls, 1);
    for (int row = 0; row < ALL; row++) {
        const int s = row / (HEADS * ROWS), h = row / ROWS % HEADS, i = row % ROWS;
        CU_ASSERT(apart[row][0] == l[row] && apart[row][1] == 77 && apart[row][2] == 77);
        CU_ASSERT(memcmp(spread[s * ROWS + i][h], plain[row], sizeof plain[row]) == 0);
        CU_ASSERT(spread[s * ROWS + i][h][WIDTH] == 77 && spread[s * ROWS + i][h][WIDTH + 1] == 77);
    }
}

static void test_errors(void)
{
    static float out[ALL * WIDTH], more[ALL * WIDTH], l[ALL], r[ALL];
    const struct attn_problem a = problem_of(l), b = problem_of(r);
#define MERGE(a, b) attn_merge(a, out, b, more, ATTN_F32, WIDTH, ATTN_LOGARITHMS)
    CU_ASSERT_EQUAL(MERGE(&a, &b), 0);
    CU_ASSERT_EQUAL(MERGE(NULL, &b), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(MERGE(&a, NULL), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_merge(&a, NULL, &b, more, ATTN_F32, WIDTH, ATTN_LOGARITHMS), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_merge(&a, out, &b, NULL, ATTN_F32, WIDTH, ATTN_LOGARITHMS), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_merge(&a, out, &b, more, ATTN_I32, WIDTH, ATTN_LOGARITHMS), ATTN_EFOLD);
    CU_ASSERT_EQUAL(attn_merge(&a, out, &b, more, ATTN_F32, WIDTH, ATTN_NO_STATISTICS), ATTN_EFOLD);
    CU_ASSERT_EQUAL(attn_merge(&a, out, &b, more, ATTN_F32, WIDTH, (enum attn_statistics)9), ATTN_EFOLD);
    CU_ASSERT_EQUAL(attn_merge(&a, out, &b, more, ATTN_F32, 0, ATTN_LOGARITHMS), ATTN_EPROBLEM);
    struct attn_problem c = a;
    c.statistics = NULL;
    CU_ASSERT_EQUAL(MERGE(&a, &c), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(MERGE(&c, &a), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_merge(&c, out, &b, more, ATTN_F32, WIDTH, ATTN_UNDIVIDED), 0);
    c = b;
    c.n_q--;
    CU_ASSERT_EQUAL(MERGE(&a, &c), ATTN_EPROBLEM);
    c = a;
    c.n_q = -1;
    CU_ASSERT_EQUAL(MERGE(&c, &c), ATTN_EPROBLEM);
    c.n_q = INT64_MAX;
    CU_ASSERT_EQUAL(MERGE(&c, &c), ATTN_ESIZE);
    c.n_q = 0;
    CU_ASSERT_EQUAL(attn_merge(&c, NULL, &c, NULL, ATTN_F32, WIDTH, ATTN_LOGARITHMS), 0);
    c = a;
    c.statistics_at = (struct attn_strides){.batch = ALL, .head = 0, .row = 1}; /* the heads share memory */
    CU_ASSERT_EQUAL(MERGE(&c, &b), ATTN_EPROBLEM);
    c.statistics_at = (struct attn_strides){.batch = ALL, .head = -ROWS, .row = 1};
    CU_ASSERT_EQUAL(MERGE(&c, &b), ATTN_EPROBLEM);
    c = a;
    c.out = (struct attn_strides){.batch = ALL, .head = ROWS * WIDTH, .row = WIDTH - 1};
    CU_ASSERT_EQUAL(MERGE(&c, &b), ATTN_EPROBLEM);
}

int main(void)
{
#define TEST(name) {#name, test_##name}
    static const struct unit_test tests[] = {TEST(kinds), TEST(half), TEST(strides), TEST(errors)};
    return unit_tests_run("merge", tests, sizeof tests / sizeof *tests);
}
