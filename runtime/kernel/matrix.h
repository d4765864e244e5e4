/* A target's products on matrix units (AMX), and functions that pack operands. A kernel includes tiles.h before it, and
   product.h with PAIRED 1.
   - paired: elements t and t + 1 of a column, t even, are adjacent. Element [t][x] is b[t / 2 * b_row + 2 * x + t %
     2].
   - terms: up to three bf16 numbers whose sum approximates a number. Each term is the rounding error of the terms
     before it. */

/* c[r][x] = sum over t of a[r][t] * b[t][x]. If `add`, the sum is added to c.
   - There are 16 or 32 rows r, 16 or 32 lanes x, and 32 * steps terms t.
   - b is paired.
   - Operands are sums of a_terms or b_terms matrices, which are a_term or b_term elements apart. Products of term i
     and term j are left out if i + j is at least the number of terms, because they are as small as rounding errors.
   - Tile registers 0 to 3 hold c. Tile registers 4 and 5 hold b. Tile registers 6 and 7 hold 16 rows of a each. */
TARGET INLINE void T(unit_block)(const int rows, const int lanes, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const int a_terms, const int64_t a_term, const uint16_t *b, const int64_t b_row,
    const int b_terms, const int64_t b_term, float *c, const int64_t c_row, const int add)
{
    const int terms = a_terms > b_terms ? a_terms : b_terms;
    if (add) {
        tile_load(0, c, 4 * c_row);
        if (lanes > 16) tile_load(1, c + 16, 4 * c_row);
        if (rows > 16) tile_load(2, c + 16 * c_row, 4 * c_row);
        if (rows > 16 && lanes > 16) tile_load(3, c + 16 * c_row + 16, 4 * c_row);
    } else {
        tile_zero(0);
        if (lanes > 16) tile_zero(1);
        if (rows > 16) tile_zero(2);
        if (rows > 16 && lanes > 16) tile_zero(3);
    }
    for (int64_t t = 0; t < steps; t++, a += 32, b += 16 * b_row)
        for (int j = 0; j < b_terms; j++) {
            const uint16_t *const right = b + j * b_term;
            tile_load(4, right, 2 * b_row);
            if (lanes > 16) tile_load(5, right + 32, 2 * b_row);
            for (int i = 0; i < a_terms && i + j < terms; i++) {
                const uint16_t *const left = a + i * a_term;
                if (j == 0 || a_terms > 1) {
                    tile_load(6, left, 2 * a_row);
                    if (rows > 16) tile_load(7, left + 16 * a_row, 2 * a_row);
                }
                tile_multiply(0, 6, 4);
                if (lanes > 16) tile_multiply(1, 6, 5);
                if (rows > 16) tile_multiply(2, 7, 4);
                if (rows > 16 && lanes > 16) tile_multiply(3, 7, 5);
            }
        }
    tile_store(0, c, 4 * c_row);
    if (lanes > 16) tile_store(1, c + 16, 4 * c_row);
    if (rows > 16) tile_store(2, c + 16 * c_row, 4 * c_row);
    if (rows > 16 && lanes > 16) tile_store(3, c + 16 * c_row + 16, 4 * c_row);
}

/* Like unit_block, for any number of rows and a multiple of 16 lanes. a and c have room for a multiple of 16
   rows. */
TARGET INLINE void T(unit_terms)(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const int a_terms, const int64_t a_term, const uint16_t *b, const int64_t b_row,
    const int b_terms, const int64_t b_term, float *c, const int64_t c_row, const int add)
{
    for (int64_t r = 0; r < rows; r += 32, a += 32 * a_row, c += 32 * c_row)
        for (int64_t x = 0; x < lanes; x += 32) {
#define BLOCK_OF(some_rows, some_lanes) \
    T(unit_block)(some_rows, some_lanes, steps, a, a_row, a_terms, a_term, b + 2 * x, b_row, b_terms, b_term, c + x, \
        c_row, add)
            if (rows - r > 16 && lanes - x > 16)
                BLOCK_OF(32, 32);
            else if (rows - r > 16)
                BLOCK_OF(32, 16);
            else if (lanes - x > 16)
                BLOCK_OF(16, 32);
            else
                BLOCK_OF(16, 16);
#undef BLOCK_OF
        }
}

/* Computes c = a * b as unit_block does, for any multiple of 16 rows and for one or two steps. b stays in four
   tile registers. */
TARGET INLINE void T(unit_strip)(int64_t rows, const int lanes, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row)
{
    tile_load(4, b, 2 * b_row);
    if (lanes > 16) tile_load(5, b + 32, 2 * b_row);
    if (steps > 1) tile_load(6, b + 16 * b_row, 2 * b_row);
    if (steps > 1 && lanes > 16) tile_load(7, b + 16 * b_row + 32, 2 * b_row);
    for (int64_t r = 0; r < rows; r += 16, a += 16 * a_row, c += 16 * c_row) {
        tile_zero(0);
        if (lanes > 16) tile_zero(1);
        tile_load(2, a, 2 * a_row);
        if (steps > 1) tile_load(3, a + 32, 2 * a_row);
        tile_multiply(0, 2, 4);
        if (lanes > 16) tile_multiply(1, 2, 5);
        if (steps > 1) tile_multiply(0, 3, 6);
        if (steps > 1 && lanes > 16) tile_multiply(1, 3, 7);
        tile_store(0, c, 4 * c_row);
        if (lanes > 16) tile_store(1, c + 16, 4 * c_row);
    }
}

/* Computes a * b as unit_block does, for any number of rows and a multiple of 16 lanes.
   - c has room for a multiple of 16 rows.
   - padded: a has memory for a multiple of 16 rows
   - finite: infinity and NaN in a count as 0
   - add: the product is added to c */
TARGET INLINE void T(unit_dot)(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const int padded, const int finite, const uint16_t *b, const int64_t b_row, float *c,
    const int64_t c_row, const int add)
{
    int64_t r = 0;
    if (!add && !finite && steps <= 2) {
        r = padded ? rows : rows - rows % 16;
        for (int64_t x = 0; x < lanes; x += 32) {
            if (lanes - x > 16)
                T(unit_strip)(r, 32, steps, a, a_row, b + 2 * x, b_row, c + x, c_row);
            else
                T(unit_strip)(r, 16, steps, a, a_row, b + 2 * x, b_row, c + x, c_row);
        }
    }
    for (; r < rows; r += 32) {
        const int64_t left = rows - r;
        const uint16_t *from = a + r * a_row;
        int64_t row = a_row;
        _Alignas(64) uint16_t copy[32 * UNIT_DEPTH];
        if (finite || (!padded && left < 32 && left != 16)) {
            for (int64_t k = 0; k < (left > 16 ? 32 : 16); k++)
                for (int64_t t = 0; t < 32 * steps; t++)
                    copy[k * UNIT_DEPTH + t] =
                        (padded || k < left) && (!finite || T(finite_paired)(from + k * a_row + t, 0, 1, 1))
                        ? from[k * a_row + t] : 0;
            from = copy;
            row = UNIT_DEPTH;
        }
        T(unit_terms)(lanes, min(left, 32), steps, from, row, 1, 0, b, b_row, 1, 0, c + r * c_row, c_row, add);
    }
}

/* c[r][x] *= factor[x]. Skips vectors whose factors are all 1. */
TARGET APART void T(unit_scale)(int64_t lanes, int64_t rows, float *c, int64_t c_row, const float *factor)
{
    for (int64_t x = 0; x < lanes; x += LANES) {
        const T(vec) by = T(load)(factor + x);
        if (!_mm512_cmp_ps_mask((__m512)by, (__m512)T(splat)(1), _CMP_NEQ_UQ)) continue;
        for (int64_t r = 0; r < rows; r++) T(store)(c + r * c_row + x, T(load)(c + r * c_row + x) * by);
    }
}

/* Returns 32 elements of a row. Elements from number `left` on are 0 and not read. */
TARGET INLINE __m512i T(unit_row)(const uint16_t *p, int64_t left)
{
    return _mm512_maskz_loadu_epi16(left >= 32 ? 0xffffffffu : left > 0 ? (1u << left) - 1 : 0, p);
}

/* Copies rows: to[r][x] = from[r][x]. Zeros fill the rows up to a multiple of 16, and the columns up to a multiple
   of 32. */
TARGET APART void T(unit_rows)(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    for (int64_t r = 0; r < round_up(rows, 16); r++)
        for (int64_t x = 0; x < columns; x += 32)
            _mm512_storeu_si512(to + r * to_row + x, T(unit_row)(from + r * from_row + x, r < rows ? columns - x : 0));
}

/* Transposes: to[x][r] = from[r][x]. Zeros fill r up to a multiple of 32, and x up to a multiple of 16. Rows r and r
   + 1 are first joined into pairs. */
TARGET APART void T(unit_turned)(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    const T(mask) low = {INTERLEAVED()};
    const __m512i first = (__m512i)low, weave = _mm512_mask_add_epi16(first, 0xaaaaaaaau, first,
        _mm512_set1_epi16(16)), second = _mm512_add_epi16(weave, _mm512_set1_epi16(16));
    for (int64_t r = 0; r < rows; r += 32)
        for (int64_t x = 0; x < columns; x += 32) {
            T(vec) left[LANES], right[LANES];
            UNROLL for (int k = 0; k < LANES; k++) {
                const int64_t row = r + 2 * k;
                const uint16_t *const p = from + row * from_row + x;
                const __m512i a = T(unit_row)(p, row < rows ? columns - x : 0);
                const __m512i b = T(unit_row)(p + from_row, row + 1 < rows ? columns - x : 0);
                left[k] = (T(vec))_mm512_permutex2var_epi16(a, weave, b);
                right[k] = (T(vec))_mm512_permutex2var_epi16(a, second, b);
            }
            T(exchange)(left);
            UNROLL for (int k = 0; k < LANES; k++) _mm512_storeu_si512(to + (x + k) * to_row + r, (__m512i)left[k]);
            if (columns - x <= 16) continue;
            T(exchange)(right);
            UNROLL for (int k = 0; k < LANES; k++)
                _mm512_storeu_si512(to + (x + 16 + k) * to_row + r, (__m512i)right[k]);
        }
}

/* Joins neighbours in a row into pairs: to[x / 2][2 * r + x % 2] = from[r][x]. Zeros fill r up to a multiple of 16,
   and x up to a multiple of 32. */
TARGET APART void T(unit_pairs)(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    for (int64_t r = 0; r < rows; r += LANES)
        for (int64_t x = 0; x < columns; x += 32) {
            T(vec) t[LANES];
            UNROLL for (int k = 0; k < LANES; k++)
                t[k] = (T(vec))T(unit_row)(from + (r + k) * from_row + x, r + k < rows ? columns - x : 0);
            T(exchange)(t);
            UNROLL for (int k = 0; k < LANES; k++)
                _mm512_storeu_si512(to + (x / 2 + k) * to_row + 2 * r, (__m512i)t[k]);
        }
}

/* Joins two rows into pairs: to[r / 2][2 * x + r % 2] = from[r][x]. Zeros fill the rows up to a multiple of 32, and
   the columns up to a multiple of 16. */
TARGET APART void T(unit_woven)(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    const T(mask) low = {INTERLEAVED()};
    const __m512i first = (__m512i)low, weave = _mm512_mask_add_epi16(first, 0xaaaaaaaau, first,
        _mm512_set1_epi16(16)), second = _mm512_add_epi16(weave, _mm512_set1_epi16(16));
    for (int64_t r = 0; r < round_up(rows, 32); r += 2)
        for (int64_t x = 0; x < columns; x += 32) {
            uint16_t *const at = to + r / 2 * to_row + 2 * x;
            const uint16_t *const p = from + r * from_row + x;
            const __m512i a = T(unit_row)(p, r < rows ? columns - x : 0);
            const __m512i b = T(unit_row)(p + from_row, r + 1 < rows ? columns - x : 0);
            _mm512_storeu_si512(at, _mm512_permutex2var_epi16(a, weave, b));
            if (columns - x > 16) _mm512_storeu_si512(at + 32, _mm512_permutex2var_epi16(a, second, b));
        }
}

/* c[r][x] += sum over t of a[r][t] * b[t][x], for any number of rows. b is paired. Memory after the last row of c is
   not written. */
TARGET INLINE void T(unit_across)(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row)
{
    const int64_t whole = rows - rows % 16;
    T(unit_dot)(lanes, whole, steps, a, a_row, 1, 0, b, b_row, c, c_row, 1);
    for (int64_t x = 0; x < lanes && whole < rows; x += 16) {
        _Alignas(64) float last[16 * 16] = {0};
        for (int64_t r = whole; r < rows; r++) T(store)(last + (r - whole) * 16, T(load)(c + r * c_row + x));
        T(unit_block)(16, 16, steps, a + whole * a_row, a_row, 1, 0, b + 2 * x, b_row, 1, 0, last, 16, 1);
        for (int64_t r = whole; r < rows; r++) T(store)(c + r * c_row + x, T(load)(last + (r - whole) * 16));
    }
}

/* Like unit_across, but uses 0 for infinity and NaN in b. The order of the sums is the same, so they round
   equally. */
TARGET INLINE void T(unit_across_finite)(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row)
{
    for (int64_t x = 0; x < lanes; x += 16)
        for (int64_t t = 0; t < steps; t++) {
            _Alignas(64) uint16_t copy[16 * 32];
            for (int64_t k = 0; k < 16 * 32; k++) {
                const uint16_t *const p = b + (16 * t + k / 32) * b_row + 2 * x + k % 32;
                copy[k] = T(finite_paired)(p, 0, 1, 1) ? *p : 0;
            }
            T(unit_across)(16, rows, 1, a + 32 * t, a_row, copy, 32, c + x, c_row);
        }
}

/* ==== the linear form: packed operands of up to three terms of bf16 ==== */

/* Returns the elements of two vectors in pairs, rounded to bf16. The vectors keep the rounding errors, which are the
   next term. */
TARGET INLINE T(mask) T(unit_term)(T(vec) *first, T(vec) *second)
{
    const T(mask) pairs = T(paired)(*first, *second);
    *first -= (T(vec))(pairs << 16);
    *second -= (T(vec))(pairs & -0x10000);
    return pairs;
}

/* Splits each number into `terms` bf16 numbers, and joins two rows into pairs: to[r / 2][2 * x + r % 2] = from[r][x].
   Term n goes into the matrix at to + n * term. Zeros fill the rows up to a multiple of 32. */
TARGET INLINE void T(unit_pair_terms)(const float *from, const int64_t from_row, int64_t rows, int64_t lanes,
    uint16_t *to, const int64_t to_row, const int terms, const int64_t term)
{
    for (int64_t x = 0; x < lanes; x += LANES)
        for (int64_t r = 0; r < round_up(rows, 32); r += 2) {
            uint16_t *const at = to + r / 2 * to_row + 2 * x;
            T(vec) first = r < rows ? T(load)(from + r * from_row + x) : T(splat)(0);
            T(vec) second = r + 1 < rows ? T(load)(from + (r + 1) * from_row + x) : T(splat)(0);
            UNROLL for (int n = 0; n < terms; n++)
                _mm512_storeu_si512(at + n * term, (__m512i)T(unit_term)(&first, &second));
        }
}

/* Splits each number into `terms` bf16 numbers: to[r][x] = from[r][x]. Term n goes into the matrix at to + n * term.
   Zeros fill the rows up to a multiple of 16, and the columns up to a multiple of 32. */
TARGET INLINE void T(unit_row_terms)(const float *from, const int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to, const int64_t to_row, const int terms, const int64_t term)
{
    for (int64_t r = 0; r < round_up(rows, 16); r++)
        for (int64_t x = 0; x < columns; x += 32) {
            uint16_t *const at = to + r * to_row + x;
            T(vec) low = r < rows ? T(load)(from + r * from_row + x) : T(splat)(0);
            T(vec) high = r < rows && columns - x > 16 ? T(load)(from + r * from_row + x + 16) : T(splat)(0);
            UNROLL for (int n = 0; n < terms; n++) {
                const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
                const T(mask) turns = {INTERLEAVED()}, pairs = (T(mask))_mm512_permutexvar_epi16((__m512i)turns, both);
                _mm512_storeu_si512(at + n * term, both);
                for (int64_t k = columns - x; k < 32; k++) at[k + n * term] = 0;
                low -= (T(vec))(pairs << 16);
                high -= (T(vec))(pairs & -0x10000);
            }
        }
}

/* unit_pair_terms and unit_row_terms with one term: the numbers rounded to bf16 */
TARGET INLINE void T(unit_rounded)(const float *from, const int64_t from_row, int64_t rows, int64_t lanes, uint16_t *to,
    const int64_t to_row)
{
    T(unit_pair_terms)(from, from_row, rows, lanes, to, to_row, 1, 0);
}
TARGET INLINE void T(unit_narrowed)(const float *from, const int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to, const int64_t to_row)
{
    T(unit_row_terms)(from, from_row, rows, columns, to, to_row, 1, 0);
}

/* Transposes: to[x][r] = from[r][x]. Each number becomes a sum of `terms` bf16 numbers. Term n is stored in the
   matrix at to + n * term. Zeros fill rows up to a multiple of 32. */
TARGET INLINE void T(unit_turned_terms)(const float *from, const int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to, const int64_t to_row, const int terms, const int64_t term)
{
    for (int64_t r = 0; r < rows; r += 32)
        for (int64_t x = 0; x < columns; x += LANES) {
            T(vec) pairs[3][LANES];
            UNROLL for (int k = 0; k < LANES; k++) {
                const int64_t row = r + 2 * k;
                T(vec) first = row < rows ? T(load)(from + row * from_row + x) : T(splat)(0);
                T(vec) second = row + 1 < rows ? T(load)(from + (row + 1) * from_row + x) : T(splat)(0);
                UNROLL for (int n = 0; n < terms; n++) pairs[n][k] = (T(vec))T(unit_term)(&first, &second);
            }
            UNROLL for (int n = 0; n < terms; n++) {
                T(exchange)(pairs[n]);
                UNROLL for (int k = 0; k < LANES; k++)
                    _mm512_storeu_si512(to + (x + k) * to_row + r + n * term, (__m512i)pairs[n][k]);
            }
        }
}
