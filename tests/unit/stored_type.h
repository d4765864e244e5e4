/* Includes stored.c for the type TYPE of ATTN_TYPE, whose functions then have the name of the type, and adds a test
   that compares them with attn_load_row. */
#define TYPE_NAME_2(name, type) name##_##type
#define TYPE_NAME_1(name, type) TYPE_NAME_2(name, type)
#define TYPE_NAME(name) TYPE_NAME_1(name, TYPE)
#define from_halves_T TYPE_NAME(from_halves)
#define scale_of_T TYPE_NAME(scale_of)
#define block_of_T TYPE_NAME(block_of)
#define in_block_T TYPE_NAME(in_block)
#define widened_T TYPE_NAME(widened)
#define unscaled_T TYPE_NAME(unscaled)
#define block_size_T TYPE_NAME(block_size)
#define scales_T TYPE_NAME(scales)
#define copy_scales_T TYPE_NAME(copy_scales)
#define convert_scales_T TYPE_NAME(convert_scales)
#define scaled_T TYPE_NAME(scaled)
#define widen_rows_T TYPE_NAME(widen_rows)
#define element_T TYPE_NAME(element)
#define units_T TYPE_NAME(units)
#define transpose_widened_T TYPE_NAME(transpose_widened)
#define finite_stored_T TYPE_NAME(finite_stored)
#define fetch_T TYPE_NAME(fetch)
#define ahead_T TYPE_NAME(ahead)
#define columns_T TYPE_NAME(columns)
#define some_columns_T TYPE_NAME(some_columns)
#define columns_of_4_T TYPE_NAME(columns_of_4)
#define all_columns_T TYPE_NAME(all_columns)
#define dot_along_T TYPE_NAME(dot_along)
#define turn_rows_T TYPE_NAME(turn_rows)
#define turned_lane_T TYPE_NAME(turned_lane)
#define add_turned_T TYPE_NAME(add_turned)
#define turned_columns_T TYPE_NAME(turned_columns)
#define turned_T TYPE_NAME(turned)
#define all_turned_T TYPE_NAME(all_turned)
#define strip_T TYPE_NAME(strip)
#define row_T TYPE_NAME(row)
#define part_of_row_T TYPE_NAME(part_of_row)
#define some_lanes_T TYPE_NAME(some_lanes)
#define all_lanes_T TYPE_NAME(all_lanes)
#define group_T TYPE_NAME(group)
#define groups_T TYPE_NAME(groups)
#define dot_fetched_T TYPE_NAME(dot_fetched)
#define scaled_weights_T TYPE_NAME(scaled_weights)
#define write_digits_T TYPE_NAME(write_digits)
#define turn_words_T TYPE_NAME(turn_words)
#define turn_block_T TYPE_NAME(turn_block)
#define byte_columns_T TYPE_NAME(byte_columns)
#define all_byte_columns_T TYPE_NAME(all_byte_columns)
#define byte_tile_T TYPE_NAME(byte_tile)
#define dot_infinite_T TYPE_NAME(dot_infinite)
#define copy_turned_scales_T TYPE_NAME(copy_turned_scales)
#define dot_bytes_T TYPE_NAME(dot_bytes)
#undef STORED
#undef NARROW
#define NARROW 1
#if PACKED
#define STORED uint8_t
#else
#define STORED uint16_t
#endif
#include "compiler/emit/embedded/stored.c"
#include "compiler/emit/embedded/stored_bytes.c"
#include "compiler/emit/embedded/stored_along.c"
#include "compiler/emit/embedded/stored_sums.c"

static void TYPE_NAME(rows_of)(void)
{
    enum { ROW = 64, COUNT = LANES + 3, MOST = 4 * ROW, MAX_ROWS = COUNT };
    static float given[COUNT][ROW], wanted[COUNT][ROW], turned[ROW][COUNT];
    static unsigned char stored[COUNT * MOST + 64];
    const int64_t bytes = attn_row_bytes(ATTN_TYPE, ROW), step = bytes / (int64_t)sizeof(STORED);
    CU_ASSERT_EQUAL_FATAL(step, units_T(ROW));
    for (int r = 0; r < COUNT; r++) {
        for (int k = 0; k < ROW; k++) given[r][k] = (float)drawn() * (r % 3 == 2 ? 1e-3f : 3);
        attn_store_row(ATTN_TYPE, given[r], ROW, stored + r * bytes);
        attn_load_row(ATTN_TYPE, stored + r * bytes, ROW, wanted[r]);
    }
    const STORED *const rows = (const STORED *)(const void *)stored;
    for (int r = 0; r < COUNT; r++)
        for (int k = 0; k < ROW; k++) {
            const float got = widened_T(rows + r * step, k - k % LANES)[k % LANES];
            if (got != wanted[r][k] || element_T(rows + r * step, k) != got) CU_FAIL("a stored element");
        }
    CU_ASSERT(finite_stored_T(rows, step, COUNT, ROW));
    transpose_widened_T(rows, step, COUNT, ROW, turned[0], COUNT, AHEAD);
    for (int r = 0; r < COUNT; r++)
        for (int k = 0; k < ROW; k++)
            if (turned[k][r] != wanted[r][k]) CU_FAIL("a stored element is elsewhere");
    static float sum[MAX_ROWS][COUNT + LANES], all[MAX_ROWS][ROW], of_one[MAX_ROWS][COUNT + LANES],
        all_of_one[MAX_ROWS][ROW];
    for (int r = 0; r < MAX_ROWS; r++) {
        dot_along_T(1, COUNT, ROW, given[r], ROW, rows, step, of_one[r], COUNT + LANES, 64, NULL);
        dot_fetched_T(1, 2 * LANES, 1, -1, COUNT, 192, given[r], ROW, 1, rows, step, all_of_one[r], ROW, 1, NULL, NULL,
                      64, NULL);
    }
    for (int n = 1; n <= MAX_ROWS; n++) {
        dot_along_T(n, COUNT, ROW, given[0], ROW, rows, step, sum[0], COUNT + LANES, 64, rows);
        memset(all, 0, sizeof all);
        dot_fetched_T(1, 2 * LANES, n, -1, COUNT, 192, given[0], ROW, 1, rows, step, all[0], ROW, 1, NULL, NULL, 64,
                      rows);
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
    dot_along_T(2, COUNT, ROW, given[0], ROW, rows, step, sum[0], COUNT + LANES, 64, NULL);
    for (int x = 0; x < COUNT; x++) {
        const float product = INFINITY * wanted[x][3];
        if (isnan(product) ? !isnan(sum[0][x]) : sum[0][x] != product) CU_FAIL("a product of infinity");
        if (sum[1][x] != of_one[1][x]) CU_FAIL("a row after one with infinity");
    }
    given[COUNT - 1][5] = NAN;
    attn_store_row(ATTN_TYPE, given[COUNT - 1], ROW, stored + (COUNT - 1) * bytes);
    CU_ASSERT(!finite_stored_T(rows, step, COUNT, ROW) && isnan(element_T(rows + (COUNT - 1) * step, 5)));
    CU_ASSERT(isnan(widened_T(rows + (COUNT - 1) * step, 0)[5 % LANES]) || LANES < 8);
}

#undef from_halves_T
#undef scale_of_T
#undef block_of_T
#undef in_block_T
#undef widened_T
#undef unscaled_T
#undef block_size_T
#undef scales_T
#undef copy_scales_T
#undef convert_scales_T
#undef scaled_T
#undef widen_rows_T
#undef element_T
#undef units_T
#undef transpose_widened_T
#undef finite_stored_T
#undef fetch_T
#undef ahead_T
#undef columns_T
#undef some_columns_T
#undef columns_of_4_T
#undef all_columns_T
#undef dot_along_T
#undef turn_rows_T
#undef turned_lane_T
#undef add_turned_T
#undef turned_columns_T
#undef turned_T
#undef all_turned_T
#undef strip_T
#undef row_T
#undef part_of_row_T
#undef some_lanes_T
#undef all_lanes_T
#undef group_T
#undef groups_T
#undef dot_fetched_T
#undef scaled_weights_T
#undef write_digits_T
#undef turn_words_T
#undef turn_block_T
#undef byte_columns_T
#undef all_byte_columns_T
#undef byte_tile_T
#undef dot_infinite_T
#undef copy_turned_scales_T
#undef dot_bytes_T
#undef TYPE_NAME_2
#undef TYPE_NAME_1
#undef TYPE_NAME
#undef TYPE
#undef ATTN_TYPE
