/* Includes stored.h for the type ATTN_TYPE, whose functions then have the name TYPE, and adds a test that compares them
   with attn_load_row. */
#define TYPE_NAME_2(name, type) name##_##type
#define TYPE_NAME_1(name, type) TYPE_NAME_2(name, type)
#define TYPE_NAME(name) TYPE_NAME_1(name, TYPE)
#if STORED_F16 || STORED_BF16
typedef uint16_t TYPE;
#else
typedef uint8_t TYPE;
#endif
#define S(name) TYPE_NAME(name)
#include "stored_options.h"
#include "runtime/kernel/stored.h"

static void TYPE_NAME(rows_of)(void)
{
    enum { ROW = 64, COUNT = LANES + 3, MOST = 4 * ROW, MAX_ROWS = COUNT };
    static float given[COUNT][ROW], wanted[COUNT][ROW], turned[ROW][COUNT];
    static unsigned char stored[COUNT * MOST + 64];
    const int64_t bytes = attn_row_bytes(ATTN_TYPE, ROW), step = bytes / (int64_t)sizeof(TYPE);
    CU_ASSERT_EQUAL_FATAL(step, TYPE_NAME(units)(ROW));
    for (int r = 0; r < COUNT; r++) {
        for (int k = 0; k < ROW; k++) given[r][k] = (float)drawn() * (r % 3 == 2 ? 1e-3f : 3);
        attn_store_row(ATTN_TYPE, given[r], ROW, stored + r * bytes);
        attn_load_row(ATTN_TYPE, stored + r * bytes, ROW, wanted[r]);
    }
    const TYPE *const rows = (const TYPE *)(const void *)stored;
    for (int r = 0; r < COUNT; r++)
        for (int k = 0; k < ROW; k++) {
            const float got = TYPE_NAME(widened)(rows + r * step, k - k % LANES)[k % LANES];
            if (got != wanted[r][k] || TYPE_NAME(element)(rows + r * step, k) != got) CU_FAIL("a stored element");
        }
    CU_ASSERT(TYPE_NAME(finite_stored)(rows, step, COUNT, ROW));
    TYPE_NAME(transpose_widened)(rows, step, COUNT, ROW, turned[0], COUNT, AHEAD);
    for (int r = 0; r < COUNT; r++)
        for (int k = 0; k < ROW; k++)
            if (turned[k][r] != wanted[r][k]) CU_FAIL("a stored element is elsewhere");
    static float sum[MAX_ROWS][COUNT + LANES], all[MAX_ROWS][ROW], of_one[MAX_ROWS][COUNT + LANES],
        all_of_one[MAX_ROWS][ROW];
    for (int r = 0; r < MAX_ROWS; r++) {
        TYPE_NAME(dot_along)(1, COUNT, ROW, given[r], ROW, rows, step, of_one[r], COUNT + LANES, 64, NULL);
        TYPE_NAME(dot_fetched)(1, 2 * LANES, 1, -1, COUNT, 192, given[r], ROW, 1, rows, step, all_of_one[r], ROW, 1,
                               NULL, NULL, 64, NULL);
    }
    for (int n = 1; n <= MAX_ROWS; n++) {
        TYPE_NAME(dot_along)(n, COUNT, ROW, given[0], ROW, rows, step, sum[0], COUNT + LANES, 64, rows);
        memset(all, 0, sizeof all);
        TYPE_NAME(dot_fetched)(1, 2 * LANES, n, -1, COUNT, 192, given[0], ROW, 1, rows, step, all[0], ROW, 1, NULL,
                               NULL, 64, rows);
        for (int r = 0; r < n; r++) {
            if (memcmp(sum[r], of_one[r], sizeof(float) * COUNT) != 0 ||
                memcmp(all[r], all_of_one[r], sizeof(float) * 2 * LANES) != 0)
                CU_FAIL("a row has other bits alone");
            for (int x = 0; x < COUNT; x++) {
                double exact = 0;
                for (int k = 0; k < ROW; k++) exact += (double)given[r][k] * (double)wanted[x][k];
                if (!(fabs((double)sum[r][x] - exact) < 1e-4)) CU_FAIL("an inner product with a stored row");
            }
            for (int x = 0; x < 2 * LANES; x++) {
                double exact = 0;
                for (int k = 0; k < COUNT; k++) exact += (double)given[r][k] * (double)wanted[k][x];
                if (!(fabs((double)all[r][x] - exact) < 1e-4)) CU_FAIL("a sum of stored rows");
            }
        }
    }
    given[0][3] = INFINITY; /* a row of numbers that no integer can hold */
    TYPE_NAME(dot_along)(2, COUNT, ROW, given[0], ROW, rows, step, sum[0], COUNT + LANES, 64, NULL);
    for (int x = 0; x < COUNT; x++) {
        const float product = INFINITY * wanted[x][3];
        if (isnan(product) ? !isnan(sum[0][x]) : sum[0][x] != product) CU_FAIL("a product of infinity");
        if (sum[1][x] != of_one[1][x]) CU_FAIL("a row after one with infinity");
    }
    given[COUNT - 1][5] = NAN;
    attn_store_row(ATTN_TYPE, given[COUNT - 1], ROW, stored + (COUNT - 1) * bytes);
    CU_ASSERT(!TYPE_NAME(finite_stored)(rows, step, COUNT, ROW) &&
              isnan(TYPE_NAME(element)(rows + (COUNT - 1) * step, 5)));
    CU_ASSERT(isnan(TYPE_NAME(widened)(rows + (COUNT - 1) * step, 0)[5 % LANES]) || LANES < 8);
}

#undef TYPE_NAME_2
#undef TYPE_NAME_1
#undef TYPE_NAME
#undef TYPE
#undef ATTN_TYPE
