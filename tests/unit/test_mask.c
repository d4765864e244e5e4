/* Tests tables of the tiles of masks: against one flag at a time, with strides, and errors. Tests masks of trees. */
#include "runtime/attnrt.h"
#include "suite.h"

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A mask, and its table, in memory of exactly the size. */
struct masks {
    int rank;
    int64_t shape[4], strides[4];
    size_t flags, bytes;
    uint8_t *flag;
    struct attn_mask_tiles *table;
};

/* Makes a mask. Most of its tiles have one kind of flag. If `gaps` is true, elements are apart, and the first axis
   repeats. */
static struct masks masks_of(int rank, const int64_t *shape, bool gaps)
{
    struct masks m = {.rank = rank, .flags = 1, .bytes = attn_tiles_bytes(rank, shape)};
    int64_t stride = gaps ? 2 : 1;
    for (int k = rank - 1; k >= 0; k--) {
        const bool repeats = gaps && rank > 2 && k == 0;
        m.shape[k] = shape[k];
        m.strides[k] = repeats ? 0 : stride;
        if (repeats) continue;
        m.flags += (size_t)((shape[k] > 0 ? shape[k] - 1 : 0) * stride);
        stride *= shape[k] + gaps;
    }
    m.flag = malloc(m.flags);
    m.table = malloc(m.bytes);
    for (size_t k = 0; k < m.flags; k++)
        m.flag[k] = (uint8_t)(rand() % (shape[rank - 1] + 1) == 0 ? 200 * (rand() % 2) : (int)(k / 999 % 2));
    return m;
}

static void free_masks(struct masks *m)
{
    free(m->flag);
    free(m->table);
}

/* Returns the byte of the tile of `mask` that begins at this row and column, from one flag after the other. */
static uint8_t tile_of(const struct masks *m, const int64_t *mask, int64_t row, int64_t column)
{
    const int64_t rows = m->shape[m->rank - 2], columns = m->shape[m->rank - 1];
    int found = 0;
    for (int64_t r = row; r < rows && r < row + ATTN_TILE_ROWS; r++)
        for (int64_t c = column; c < columns && c < column + ATTN_TILE_COLUMNS; c++) {
            int64_t at = r * m->strides[m->rank - 2] + c * m->strides[m->rank - 1];
            for (int k = 0; k < m->rank - 2; k++) at += mask[k] * m->strides[k];
            found |= m->flag[at] ? ATTN_TILE_SOME : ATTN_TILE_SOME_NOT;
        }
    return (uint8_t)found;
}

static void check(int rank, const int64_t *shape, bool gaps)
{
    struct masks m = masks_of(rank, shape, gaps);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(m.flag, rank, shape, gaps ? m.strides : NULL, m.table, m.bytes), 0);
    CU_ASSERT_EQUAL(attn_tiles_check(m.table, rank, shape), 0);
    const uint8_t *next = (const uint8_t *)(m.table + 1);
    const int64_t outer = rank > 3 ? shape[0] : 1, inner = rank > 2 ? shape[rank - 3] : 1;
    bool equal = true;
    for (int64_t a = 0; a < outer; a++)
        for (int64_t b = 0; b < inner; b++)
            for (int64_t row = 0; row < shape[rank - 2]; row += ATTN_TILE_ROWS)
                for (int64_t column = 0; column < shape[rank - 1]; column += ATTN_TILE_COLUMNS)
                    equal &= *next++ ==
                             tile_of(&m, rank > 3 ? (const int64_t[]){a, b} : (const int64_t[]){b, 0}, row, column);
    CU_ASSERT_TRUE(equal);
    CU_ASSERT_PTR_EQUAL(next, (const uint8_t *)m.table + m.bytes);
    free_masks(&m);
}

static void test_tables(void)
{
    static const int64_t sizes[] = {0, 1, 7, 15, 16, 17, 63, 64, 65, 130, 300};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int r = 0; r < SIZES; r++)
        for (int c = 0; c < SIZES; c++)
            for (int gaps = 0; gaps < 2; gaps++) {
                check(2, (const int64_t[]){sizes[r], sizes[c]}, gaps);
                check(3, (const int64_t[]){1 + (r + c) % 3, sizes[r], sizes[c]}, gaps);
                check(4, (const int64_t[]){1 + r % 3, c % 3, sizes[r], sizes[c]}, gaps);
            }
}

static void test_broadcast(void)
{
    const int64_t shape[] = {40, 70}, zeros[] = {0, 0}, all[] = {ATTN_BROADCAST, ATTN_BROADCAST};
    static uint8_t mask[40][70] = {{1}};
    struct masks m = masks_of(2, shape, false);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(mask[0], 2, shape, zeros, m.table, m.bytes), 0); /* contiguous */
    CU_ASSERT_EQUAL(((const uint8_t *)(m.table + 1))[0], ATTN_TILE_SOME | ATTN_TILE_SOME_NOT);
    CU_ASSERT_EQUAL(((const uint8_t *)(m.table + 1))[1], ATTN_TILE_SOME_NOT);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(mask[0], 2, shape, all, m.table, m.bytes), 0);
    for (int k = 0; k < 6; k++) CU_ASSERT_EQUAL(((const uint8_t *)(m.table + 1))[k], ATTN_TILE_SOME);
    free_masks(&m);
}

static void test_sizes(void)
{
#define BYTES(...) \
    attn_tiles_bytes((int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
    CU_ASSERT_EQUAL(BYTES(2, 17, 65), sizeof(struct attn_mask_tiles) + 2 * 2 * 2);
    CU_ASSERT_EQUAL(BYTES(0, INT64_MAX, INT64_MAX), sizeof(struct attn_mask_tiles));
    CU_ASSERT_EQUAL(BYTES(5, 0, 7), sizeof(struct attn_mask_tiles));
    CU_ASSERT_EQUAL(BYTES(-1, 1, 1), 0);
    CU_ASSERT_EQUAL(BYTES(1), 0);
    CU_ASSERT_EQUAL(BYTES(1, 1, 1, 1, 1), 0);
    CU_ASSERT_EQUAL(BYTES(INT64_MAX, INT64_MAX, 1, 1), 0);
    CU_ASSERT_EQUAL(BYTES(INT64_MAX, INT64_MAX), 0);
    CU_ASSERT_EQUAL(attn_tiles_bytes(2, NULL), 0);
}

static void test_errors(void)
{
    const int64_t shape[] = {3, 40, 70}, other[] = {3, 70, 40}, backwards[] = {2800, 70, -1},
                  huge[] = {INT64_MAX, INT64_MAX, 1};
    struct masks m = masks_of(3, shape, false);
    uint8_t *const flag = m.flag;
    CU_ASSERT_EQUAL(attn_tiles_of_mask(NULL, 3, shape, NULL, m.table, m.bytes), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 3, NULL, NULL, m.table, m.bytes), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 3, shape, NULL, NULL, m.bytes), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 1, shape, NULL, m.table, m.bytes), ATTN_EPROBLEM);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 5, shape, NULL, m.table, m.bytes), ATTN_EPROBLEM);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 3, shape, backwards, m.table, m.bytes), ATTN_EPROBLEM);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 3, huge, NULL, m.table, m.bytes), ATTN_ESIZE);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 3, shape, NULL, m.table, m.bytes - 1), ATTN_EWORKSPACE);
    uint64_t room[40];
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 3, shape, NULL, (void *)((char *)room + 4), m.bytes), ATTN_EALIGN);
    CU_ASSERT_EQUAL(attn_tiles_of_mask(flag, 3, shape, NULL, m.table, m.bytes), 0);
    CU_ASSERT_EQUAL(attn_tiles_check(m.table, 3, shape), 0);
    CU_ASSERT_EQUAL(attn_tiles_check(m.table, 4, (const int64_t[]){1, 3, 40, 70}), 0);
    CU_ASSERT_EQUAL(attn_tiles_check(m.table, 4, (const int64_t[]){3, 1, 40, 70}), ATTN_ETILES);
    CU_ASSERT_EQUAL(attn_tiles_check(m.table, 2, shape + 1), ATTN_ETILES);
    CU_ASSERT_EQUAL(attn_tiles_check(m.table, 3, other), ATTN_ETILES);
    CU_ASSERT_EQUAL(attn_tiles_check(NULL, 3, shape), ATTN_EPOINTER);
    memset(m.table, 0, sizeof m.table->kind);
    CU_ASSERT_EQUAL(attn_tiles_check(m.table, 3, shape), ATTN_ETILES);
    free_masks(&m);
}

/* Row t of the mask of a tree has the tokens on the path to t. */
static void test_ancestors(void)
{
    enum { TOKENS = 40, ROW = 64 };
    int32_t parents[TOKENS], depths[TOKENS];
    uint8_t mask[TOKENS][ROW];
    memset(mask, 7, sizeof mask);
    for (int t = 0; t < TOKENS; t++) parents[t] = t % 5 == 0 ? -1 : t - 1 - t % 3;
    for (int t = 0; t < TOKENS; t++) parents[t] = parents[t] < -1 ? -1 : parents[t];
    CU_ASSERT_EQUAL(attn_ancestors(TOKENS, parents, *mask, ROW, depths), 0);
    int wrong = 0;
    for (int t = 0; t < TOKENS; t++) {
        uint8_t expected[ROW] = {0};
        int depth = -1;
        for (int a = t; a >= 0; a = parents[a], depth++) expected[a] = 1;
        wrong += memcmp(expected, mask[t], ROW) != 0 || depth != depths[t];
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(attn_ancestors(TOKENS, parents, *mask, ROW, NULL), 0);
    CU_ASSERT_EQUAL(attn_ancestors(0, NULL, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL(attn_ancestors(-1, parents, *mask, ROW, NULL), ATTN_EPROBLEM);
    CU_ASSERT_EQUAL(attn_ancestors(TOKENS, parents, *mask, TOKENS - 1, NULL), ATTN_EPROBLEM);
    CU_ASSERT_EQUAL(attn_ancestors(TOKENS, NULL, *mask, ROW, NULL), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(attn_ancestors(TOKENS, parents, NULL, ROW, NULL), ATTN_EPOINTER);
    for (int32_t of = -2; of < 12; of += of < 0 ? 12 : 1) {
        parents[10] = of;
        CU_ASSERT_EQUAL(attn_ancestors(TOKENS, parents, *mask, ROW, NULL), ATTN_EPROBLEM);
    }
}

int main(void)
{
#define TEST(name) {#name, test_##name}
    static const struct unit_test tests[] = {TEST(tables), TEST(broadcast), TEST(sizes), TEST(errors), TEST(ancestors)};
    return unit_tests_run("mask", tests, sizeof tests / sizeof *tests);
}
