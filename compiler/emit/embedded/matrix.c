/* Products on matrix units, and the packing of their operands. A template like product.c, with the instructions of
   tiles.c. */

/* c[r][x] = sum over t of a[r][t] * b[t][x], or += if `add`, for 16 or 32 rows and lanes and 32 * steps terms. One
   register holds 16 rows of a, or 16 pairs of 16 lanes of b; c is in four registers. */
TARGET INLINE void unit_block_T(const int rows, const int lanes, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row, const int add)
{
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
    for (int64_t t = 0; t < steps; t++, a += 32, b += 16 * b_row) {
        tile_load(4, b, 2 * b_row);
        if (lanes > 16) tile_load(5, b + 32, 2 * b_row);
        tile_load(6, a, 2 * a_row);
        if (rows > 16) tile_load(7, a + 16 * a_row, 2 * a_row);
        tile_multiply(0, 6, 4);
        if (lanes > 16) tile_multiply(1, 6, 5);
        if (rows > 16) tile_multiply(2, 7, 4);
        if (rows > 16 && lanes > 16) tile_multiply(3, 7, 5);
    }
    tile_store(0, c, 4 * c_row);
    if (lanes > 16) tile_store(1, c + 16, 4 * c_row);
    if (rows > 16) tile_store(2, c + 16 * c_row, 4 * c_row);
    if (rows > 16 && lanes > 16) tile_store(3, c + 16 * c_row + 16, 4 * c_row);
}

/* unit_block_T for any multiple of 16 rows, with 16 or 32 lanes. b stays in four registers, so there are one or two
   steps. */
TARGET INLINE void unit_strip_T(int64_t rows, const int lanes, const int64_t steps, const uint16_t *a,
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

/* unit_block_T for any number of rows, rounded up to a multiple of 16, and a multiple of 16 lanes. If a is not
   `padded`, memory after its last row is not read. If `finite`, 0 replaces infinity and NaN in a. */
TARGET INLINE void unit_dot_T(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const int padded, const int finite, const uint16_t *b, const int64_t b_row, float *c,
    const int64_t c_row, const int add)
{
    int64_t r = 0;
    if (!add && !finite && steps <= 2) {
        r = padded ? rows : rows - rows % 16;
        for (int64_t x = 0; x < lanes; x += 32) {
            if (lanes - x > 16)
                unit_strip_T(r, 32, steps, a, a_row, b + 2 * x, b_row, c + x, c_row);
            else
                unit_strip_T(r, 16, steps, a, a_row, b + 2 * x, b_row, c + x, c_row);
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
                        (padded || k < left) && (!finite || finite_T(from + k * a_row + t, 0, 1, 1))
                        ? from[k * a_row + t] : 0;
            from = copy;
            row = UNIT_DEPTH;
        }
        for (int64_t x = 0; x < lanes; x += 32) {
            if (left > 16 && lanes - x > 16)
                unit_block_T(32, 32, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
            else if (left > 16)
                unit_block_T(32, 16, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
            else if (lanes - x > 16)
                unit_block_T(16, 32, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
            else
                unit_block_T(16, 16, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
        }
    }
}

/* c[r][x] *= factor[x]; vectors with factors of 1 are skipped. */
TARGET APART void unit_scale_T(int64_t lanes, int64_t rows, float *c, int64_t c_row, const float *factor)
{
    for (int64_t x = 0; x < lanes; x += LANES) {
        const vec_T by = load_T(factor + x);
        if (!_mm512_cmp_ps_mask((__m512)by, (__m512)splat_T(1), _CMP_NEQ_UQ)) continue;
        for (int64_t r = 0; r < rows; r++) store_T(c + r * c_row + x, load_T(c + r * c_row + x) * by);
    }
}

/* 32 elements of a row, with zeros from number `left` on */
TARGET INLINE __m512i unit_row_T(const uint16_t *p, int64_t left)
{
    return _mm512_maskz_loadu_epi16(left >= 32 ? 0xffffffffu : left > 0 ? (1u << left) - 1 : 0, p);
}

/* to[r][x] = from[r][x], with zeros up to a multiple of 16 rows and 32 columns */
TARGET APART void unit_rows_T(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    for (int64_t r = 0; r < round_up(rows, 16); r++)
        for (int64_t x = 0; x < columns; x += 32)
            _mm512_storeu_si512(to + r * to_row + x, unit_row_T(from + r * from_row + x, r < rows ? columns - x : 0));
}

/* to[x][r] = from[r][x], with zeros up to a multiple of 16 columns and 32 rows. Elements of two rows are paired, and
   the pairs are transposed as numbers of 32 bits. */
TARGET APART void unit_turned_T(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    const mask_T low = {INTERLEAVED};
    const __m512i first = (__m512i)low, weave = _mm512_mask_add_epi16(first, 0xaaaaaaaau, first,
        _mm512_set1_epi16(16)), second = _mm512_add_epi16(weave, _mm512_set1_epi16(16));
    for (int64_t r = 0; r < rows; r += 32)
        for (int64_t x = 0; x < columns; x += 32) {
            vec_T left[LANES], right[LANES];
            UNROLL for (int k = 0; k < LANES; k++) {
                const int64_t row = r + 2 * k;
                const uint16_t *const p = from + row * from_row + x;
                const __m512i a = unit_row_T(p, row < rows ? columns - x : 0);
                const __m512i b = unit_row_T(p + from_row, row + 1 < rows ? columns - x : 0);
                left[k] = (vec_T)_mm512_permutex2var_epi16(a, weave, b);
                right[k] = (vec_T)_mm512_permutex2var_epi16(a, second, b);
            }
            exchange_T(left);
            UNROLL for (int k = 0; k < LANES; k++) _mm512_storeu_si512(to + (x + k) * to_row + r, (__m512i)left[k]);
            if (columns - x <= 16) continue;
            exchange_T(right);
            UNROLL for (int k = 0; k < LANES; k++)
                _mm512_storeu_si512(to + (x + 16 + k) * to_row + r, (__m512i)right[k]);
        }
}

/* Transposes pairs of neighbours in a row, with zeros up to a multiple of 16 rows and 32 columns. */
TARGET APART void unit_pairs_T(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    for (int64_t r = 0; r < rows; r += LANES)
        for (int64_t x = 0; x < columns; x += 32) {
            vec_T t[LANES];
            UNROLL for (int k = 0; k < LANES; k++)
                t[k] = (vec_T)unit_row_T(from + (r + k) * from_row + x, r + k < rows ? columns - x : 0);
            exchange_T(t);
            UNROLL for (int k = 0; k < LANES; k++)
                _mm512_storeu_si512(to + (x / 2 + k) * to_row + 2 * r, (__m512i)t[k]);
        }
}

/* Rounds rows of numbers to bf16 and pairs the elements of two rows, with zeros up to a multiple of 32 rows. */
TARGET INLINE void unit_rounded_T(const float *from, const int64_t from_row, int64_t rows, int64_t lanes, uint16_t *to,
    const int64_t to_row)
{
    for (int64_t x = 0; x < lanes; x += LANES) {
        int64_t r = 0;
        for (; r + 1 < rows; r += 2)
            store_paired_T(to + r / 2 * to_row + 2 * x, load_T(from + r * from_row + x),
                load_T(from + (r + 1) * from_row + x));
        for (; r < round_up(rows, 32); r += 2)
            store_paired_T(to + r / 2 * to_row + 2 * x, r < rows ? load_T(from + r * from_row + x) : splat_T(0),
                splat_T(0));
    }
}

/* Rounds rows of numbers to bf16, with zeros up to a multiple of 16 rows and 32 columns. */
TARGET INLINE void unit_narrowed_T(const float *from, const int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to, const int64_t to_row)
{
    for (int64_t r = 0; r < round_up(rows, 16); r++)
        for (int64_t x = 0; x < columns; x += 32) {
            uint16_t *const at = to + r * to_row + x;
            const vec_T low = r < rows ? load_T(from + r * from_row + x) : splat_T(0);
            const vec_T high = r < rows && columns - x > 16 ? load_T(from + r * from_row + x + 16) : splat_T(0);
            _mm512_storeu_si512(at, (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low));
            for (int64_t k = columns - x; k < 32; k++) at[k] = 0;
        }
}

/* Pairs the elements of two rows, with zeros up to a multiple of 32 rows and 16 columns. */
TARGET APART void unit_woven_T(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row)
{
    const mask_T low = {INTERLEAVED};
    const __m512i first = (__m512i)low, weave = _mm512_mask_add_epi16(first, 0xaaaaaaaau, first,
        _mm512_set1_epi16(16)), second = _mm512_add_epi16(weave, _mm512_set1_epi16(16));
    for (int64_t r = 0; r < round_up(rows, 32); r += 2)
        for (int64_t x = 0; x < columns; x += 32) {
            uint16_t *const at = to + r / 2 * to_row + 2 * x;
            const uint16_t *const p = from + r * from_row + x;
            const __m512i a = unit_row_T(p, r < rows ? columns - x : 0);
            const __m512i b = unit_row_T(p + from_row, r + 1 < rows ? columns - x : 0);
            _mm512_storeu_si512(at, _mm512_permutex2var_epi16(a, weave, b));
            if (columns - x > 16) _mm512_storeu_si512(at + 32, _mm512_permutex2var_epi16(a, second, b));
        }
}

/* c[r][x] += sum over t of a[r][t] * b[t][x] for any number of rows. c is an array of the caller, so memory after its
   last row is not touched. */
TARGET INLINE void unit_across_T(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row)
{
    const int64_t whole = rows - rows % 16;
    unit_dot_T(lanes, whole, steps, a, a_row, 1, 0, b, b_row, c, c_row, 1);
    for (int64_t x = 0; x < lanes && whole < rows; x += 16) {
        _Alignas(64) float last[16 * 16] = {0};
        for (int64_t r = whole; r < rows; r++) store_T(last + (r - whole) * 16, load_T(c + r * c_row + x));
        unit_block_T(16, 16, steps, a + whole * a_row, a_row, b + 2 * x, b_row, last, 16, 1);
        for (int64_t r = whole; r < rows; r++) store_T(c + r * c_row + x, load_T(last + (r - whole) * 16));
    }
}

/* unit_across_T, in the same steps, with 0 in place of infinity and NaN in b. */
TARGET INLINE void unit_across_finite_T(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row)
{
    for (int64_t x = 0; x < lanes; x += 16)
        for (int64_t t = 0; t < steps; t++) {
            _Alignas(64) uint16_t copy[16 * 32];
            for (int64_t k = 0; k < 16 * 32; k++) {
                const uint16_t *const p = b + (16 * t + k / 32) * b_row + 2 * x + k % 32;
                copy[k] = finite_T(p, 0, 1, 1) ? *p : 0;
            }
            unit_across_T(16, rows, 1, a + 32 * t, a_row, copy, 32, c + x, c_row);
        }
}

/* ==== the linear form: packed operands of up to three terms of bf16 ==== */

/* unit_block_T of operands that are sums of a_terms and b_terms terms, which are a_term and b_term elements apart.
   Products of late terms are left out: they are as small as the rounding error of the terms. */
TARGET INLINE void unit_terms_block_T(const int rows, const int lanes, const int64_t steps, const uint16_t *a,
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

/* unit_terms_block_T for any number of rows, rounded up to a multiple of 16, and a multiple of 16 lanes. */
TARGET INLINE void unit_terms_T(const int64_t lanes, int64_t rows, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const int a_terms, const int64_t a_term, const uint16_t *b, const int64_t b_row,
    const int b_terms, const int64_t b_term, float *c, const int64_t c_row, const int add)
{
    for (int64_t r = 0; r < rows; r += 32, a += 32 * a_row, c += 32 * c_row)
        for (int64_t x = 0; x < lanes; x += 32) {
            const uint16_t *const right = b + 2 * x;
            if (rows - r > 16 && lanes - x > 16)
                unit_terms_block_T(32, 32, steps, a, a_row, a_terms, a_term, right, b_row, b_terms, b_term, c + x,
                    c_row, add);
            else if (rows - r > 16)
                unit_terms_block_T(32, 16, steps, a, a_row, a_terms, a_term, right, b_row, b_terms, b_term, c + x,
                    c_row, add);
            else if (lanes - x > 16)
                unit_terms_block_T(16, 32, steps, a, a_row, a_terms, a_term, right, b_row, b_terms, b_term, c + x,
                    c_row, add);
            else
                unit_terms_block_T(16, 16, steps, a, a_row, a_terms, a_term, right, b_row, b_terms, b_term, c + x,
                    c_row, add);
        }
}

/* Pairs of two vectors, rounded to bf16. The vectors keep the rounding errors. */
TARGET INLINE mask_T unit_term_T(vec_T *first, vec_T *second)
{
    const mask_T pairs = paired_T(*first, *second);
    *first -= (vec_T)(pairs << 16);
    *second -= (vec_T)(pairs & -0x10000);
    return pairs;
}

/* unit_rounded_T in `terms` terms, which are `term` elements apart. */
TARGET INLINE void unit_pair_terms_T(const float *from, const int64_t from_row, int64_t rows, int64_t lanes,
    uint16_t *to, const int64_t to_row, const int terms, const int64_t term)
{
    for (int64_t x = 0; x < lanes; x += LANES)
        for (int64_t r = 0; r < round_up(rows, 32); r += 2) {
            uint16_t *const at = to + r / 2 * to_row + 2 * x;
            vec_T first = r < rows ? load_T(from + r * from_row + x) : splat_T(0);
            vec_T second = r + 1 < rows ? load_T(from + (r + 1) * from_row + x) : splat_T(0);
            UNROLL for (int n = 0; n < terms; n++)
                _mm512_storeu_si512(at + n * term, (__m512i)unit_term_T(&first, &second));
        }
}

/* unit_narrowed_T in `terms` terms, which are `term` elements apart. */
TARGET INLINE void unit_row_terms_T(const float *from, const int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to, const int64_t to_row, const int terms, const int64_t term)
{
    for (int64_t r = 0; r < round_up(rows, 16); r++)
        for (int64_t x = 0; x < columns; x += 32) {
            uint16_t *const at = to + r * to_row + x;
            vec_T low = r < rows ? load_T(from + r * from_row + x) : splat_T(0);
            vec_T high = r < rows && columns - x > 16 ? load_T(from + r * from_row + x + 16) : splat_T(0);
            UNROLL for (int n = 0; n < terms; n++) {
                const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
                const mask_T turns = {INTERLEAVED}, pairs = (mask_T)_mm512_permutexvar_epi16((__m512i)turns, both);
                _mm512_storeu_si512(at + n * term, both);
                for (int64_t k = columns - x; k < 32; k++) at[k + n * term] = 0;
                low -= (vec_T)(pairs << 16);
                high -= (vec_T)(pairs & -0x10000);
            }
        }
}

/* to[x][r] = from[r][x] in `terms` terms of bf16, which are `term` elements apart, with zeros up to a multiple of 32
   rows. Elements of two rows are paired, and the pairs are transposed as numbers of 32 bits. */
TARGET INLINE void unit_turned_terms_T(const float *from, const int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to, const int64_t to_row, const int terms, const int64_t term)
{
    for (int64_t r = 0; r < rows; r += 32)
        for (int64_t x = 0; x < columns; x += LANES) {
            vec_T pairs[3][LANES];
            UNROLL for (int k = 0; k < LANES; k++) {
                const int64_t row = r + 2 * k;
                vec_T first = row < rows ? load_T(from + row * from_row + x) : splat_T(0);
                vec_T second = row + 1 < rows ? load_T(from + (row + 1) * from_row + x) : splat_T(0);
                UNROLL for (int n = 0; n < terms; n++) pairs[n][k] = (vec_T)unit_term_T(&first, &second);
            }
            UNROLL for (int n = 0; n < terms; n++) {
                exchange_T(pairs[n]);
                UNROLL for (int k = 0; k < LANES; k++)
                    _mm512_storeu_si512(to + (x + k) * to_row + r + n * term, (__m512i)pairs[n][k]);
            }
        }
}
