/* Template of a target's register-blocked matrix product. Operands are reals, or pairs of bf16 if PAIRED.
   tests/unit/test_vector.c compiles the template.
   - register block: ROWS rows by VECTORS vectors of the result, in registers
   - paired: elements t and t + 1, t even, are adjacent, in 32 bits
   - widened: 16-bit elements are converted to float
   - update: what a product does with its result c; see block_T */

typedef WORD bits_T __attribute__((vector_size(BYTES), aligned(sizeof(IN)), may_alias));
typedef WORD bit_T __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, WORD_CARRY, carries into the sign. */
TARGET APART int finite_T(const IN *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_T found = {0};
    WORD one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + WORDS <= columns; c += WORDS)
            found |= (*(const bits_T *)(const void *)(p + c) & WORD_MAX) + WORD_CARRY;
        for (; c < columns; c++) one |= (*(const bit_T *)(const void *)(p + c) & WORD_MAX) + WORD_CARRY;
    }
    for (int k = 0; k < WORDS; k++) one |= found[k];
    return one <= WORD_MAX;
}

#if !PAIRED
/* Like finite_T, for p[r * row + c * column]. */
TARGET APART int finite_apart_T(const IN *p, int64_t row, int64_t rows, int64_t columns, int64_t column)
{
    int finite = 1;
    if (column == 1) return finite_T(p, row, rows, columns);
    for (int64_t r = 0; r < rows; r++) finite &= finite_T(p + r * row, column, columns, 1);
    return finite;
}
#endif

#if PAIRED
/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. `second` selects the second element of each pair of weights. */
TARGET APART void add_seen_T(int64_t rows, REAL *sum, int64_t sum_row, const uint16_t *values, int64_t step,
    const uint16_t *weights, int64_t second, const mask_T *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_T(values, 0, 1, 1); x += LANES) {
            const mask_T pair = load_paired_T(weights + 2 * x);
            const mask_T value = (mask_T){0} + (int32_t)((uint32_t)*values << 16);
            const vec_T weight = (vec_T)(second ? pair & -65536 : pair << 16);
            store_T(sum + x, pick_T(seen[x / LANES], load_T(sum + x) + (vec_T)value * weight, load_T(sum + x)));
        }
}
#else
/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. */
TARGET APART void add_seen_T(int64_t rows, REAL *sum, int64_t sum_row, const REAL *values, int64_t step,
    const REAL *weights, const mask_T *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_T(values, 0, 1, 1); x += LANES)
            store_T(sum + x, pick_T(seen[x / LANES], load_T(sum + x) + *values * load_T(weights + x), load_T(sum + x)));
}
#endif

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
#if PAIRED
TARGET APART void add_seen_lanes_T(int64_t lanes, REAL *sum, const uint16_t *weights, const uint16_t *values,
    int64_t value_row, int64_t steps, const mask_T *seen)
{
    for (int64_t t = 0; t < steps; t++)
        for (int64_t x = 0; x < lanes && seen[t / LANES][t % LANES]; x++) {
            const uint16_t *const p = values + t / 2 * value_row + 2 * x + t % 2;
            const mask_T weight = {(int32_t)((uint32_t)weights[t] << 16)}, value = {(int32_t)((uint32_t)*p << 16)};
            if (!finite_T(p, 0, 1, 1)) sum[x] += ((vec_T)weight)[0] * ((vec_T)value)[0];
        }
}
#else
TARGET APART void add_seen_lanes_T(int64_t lanes, REAL *sum, const REAL *weights, const REAL *values, int64_t value_row,
    int64_t steps, const mask_T *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / LANES][t % LANES]; x++)
            if (!finite_T(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}
#endif

#if PAIRED
/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to ROWS rows r and `vectors` vectors of lanes x. The sums stay
   in registers. a and b are pairs of bf16. `update` says how c changes:
   - 0: c = by * sum
   - 1: c = c + by * sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1. */
#else
/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to ROWS rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
#endif
TARGET INLINE void block_T(const int rows, const int vectors, int64_t steps, const IN *a, int64_t a_row, int64_t a_step,
    const IN *b, int64_t b_step, REAL *c, int64_t c_row, const int update BY_PARAMETER,
    const REAL *factor COMPENSATION_PARAMETER EARLY_PARAMETER)
{
    vec_T sum[TALL][VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_T){0};
    int64_t t = 0;
#if HAS_TALL && !PAIRED
    for (; rows > ROWS && t + 2 <= steps; t += 2, a += 2 * a_step, b += 2 * b_step) {
        const REAL *row[TALL];
        UNROLL for (int r = 0; r < rows; r += 4) {
            row[r] = a + r * a_row;
            /* Without this, compilers compute the address of each row from that of the row before. */
            if (a_row != 1) __asm__("" : "+r"(row[r]));
        }
        UNROLL for (int k = 0; k < 2; k++) {
            const vec_T x = load_T(b + k * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r][0] += row[r & -4][(r & 3) * a_row + k * a_step] * x;
        }
    }
#endif
    for (; t < steps; t++, a += a_step, b += b_step) {
#if PAIRED
        mask_T x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_paired_T(b + v * 2 * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const int32_t y = pair_T(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = multiply_T(sum[r][v], y, x[v]);
        }
#else
        vec_T x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_T(b + v * LANES);
#if FETCHED
        UNROLL for (int v = 0; v < vectors; v++)
            if (early && v * LANES * (int64_t)sizeof *b % 64 == 0)
                __builtin_prefetch(b + early * b_step + v * LANES, 0, NEAR);
#endif
        UNROLL for (int r = 0; r < rows; r++) {
            const REAL y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
#endif
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_T times = update >= 2 && factor ? load_T(factor + v * LANES) : splat_T(1);
        UNROLL for (int r = 0; r < rows; r++) {
            REAL *const to = c + r * c_row + v * LANES;
#if COMPENSATED
            if (update == 3) {
                add_T(to, compensation + r * c_row + v * LANES, sum[r][v], times);
                continue;
            }
#endif
#if PAIRED
            store_T(to, update == 0 ? sum[r][v] * by
                : update == 1 ? load_T(to) + sum[r][v] * by : load_T(to) * times + sum[r][v]);
#else
            store_T(to, update == 0 ? sum[r][v]
                : update == 1 ? load_T(to) + sum[r][v] : load_T(to) * times + sum[r][v]);
#endif
        }
    }
}

/* Like block_T, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET INLINE void parts_T(const int rows, const int vectors, int64_t steps, const int64_t span, const IN *a,
    int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row, const int update BY_PARAMETER,
    const REAL *factor COMPENSATION_PARAMETER EARLY_PARAMETER)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_T(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update BY_ARGUMENT,
        factor COMPENSATION_ARGUMENT EARLY_ARGUMENT);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_T(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1 BY_ARGUMENT, NULL COMPENSATION_NULL EARLY_ARGUMENT);
}

/* Like parts_T, for any number of rows. `lanes` is a multiple of LANES * vectors. `tail` is rows % ROWS if this is a
   constant, otherwise -1. */
TARGET INLINE void blocks_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update BY_PARAMETER, const REAL *factor COMPENSATION_PARAMETER EARLY_PARAMETER)
{
    for (int64_t x = 0; x < lanes; x += vectors * LANES) {
        const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
        REAL *const left = compensation ? compensation + x : NULL;
#endif
        int64_t r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            parts_T(ROWS, vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL x, b_step,
                c + r * c_row + x, c_row, update BY_ARGUMENT, f COMPENSATION_OF_ROW EARLY_ARGUMENT);
        switch (tail >= 0 ? tail : rows - r) {
CASES
        }
    }
}

/* Like block_T, for any number of rows and vectors. It computes one vector at a time. */
TARGET APART void narrow_T(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const IN *a, int64_t a_row,
    int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row, int update BY_PARAMETER,
    const REAL *factor COMPENSATION_PARAMETER)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const IN *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += LANES) {
            const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
            REAL *const left = compensation ? compensation + x : NULL;
#endif
            int64_t r = 0;
#if HAS_TALL && !PAIRED
            /* ROWS sums of one vector are too few to hide the latency of an addition. */
            for (; r + TALL <= rows && (a_row == 1 || a_step == 1); r += TALL)
                if (a_row == 1)
                    block_T(TALL, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row,
                        now, f COMPENSATION_OF_ROW NOT_EARLY);
                else
                    block_T(TALL, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f COMPENSATION_OF_ROW NOT_EARLY);
#endif
            for (; r < rows; r += ROWS)
                switch (min(rows - r, ROWS)) {
        default: block_T(ROWS, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + IN_PER_REAL x, b_step,
            c + r * c_row + x, c_row, now BY_ARGUMENT, f COMPENSATION_OF_ROW NOT_EARLY); break;
NARROW_CASES
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET INLINE int64_t lanes_in_blocks_T(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * LANES;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of LANES. Other parameters are as in blocks_T. */
TARGET INLINE void ANY_DOT(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update BY_PARAMETER, const REAL *factor COMPENSATION_PARAMETER EARLY_PARAMETER)
{
    const int64_t x = lanes_in_blocks_T(vectors, lanes);
    blocks_T(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update BY_ARGUMENT,
        factor COMPENSATION_ARGUMENT EARLY_ARGUMENT);
    if (x < lanes)
        narrow_T(lanes - x, rows, steps, span, a, a_row, a_step, b + IN_PER_REAL x, b_step, c + x, c_row,
            update BY_ARGUMENT, factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
}

#if !PAIRED
/* Solves equations t to t + rows - 1 of solve_T, for up to 4 vectors of lanes. */
TARGET INLINE void solve_some_T(const int rows, const int vectors, int64_t t, const REAL *w, int64_t w_row,
    int64_t w_step, const REAL *rate, int64_t rate_step, const REAL *x, int64_t x_row, REAL *u, int64_t u_row)
{
    vec_T sum[4][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = load_T(x + (t + r) * x_row + v * LANES);
    for (int64_t j = 0; j < t; j++)
        UNROLL for (int v = 0; v < vectors; v++) {
            const vec_T y = load_T(u + j * u_row + v * LANES);
            UNROLL for (int r = 0; r < rows; r++) sum[r][v] -= w[(t + r) * w_row + j * w_step] * y;
        }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            UNROLL for (int k = 0; k < r; k++) sum[r][v] -= w[(t + r) * w_row + (t + k) * w_step] * sum[k][v];
            sum[r][v] *= rate[(t + r) * rate_step];
            store_T(u + (t + r) * u_row + v * LANES, sum[r][v]);
        }
}

/* Like solve_T, for up to 4 vectors of lanes. */
TARGET INLINE void solve_lanes_T(const int vectors, int64_t t, int64_t rows, const REAL *w, int64_t w_row, int64_t w_step,
    const REAL *rate, int64_t rate_step, const REAL *x, int64_t x_row, REAL *u, int64_t u_row)
{
    for (; t + 4 <= rows; t += 4) solve_some_T(4, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
    for (; t < rows; t++) solve_some_T(1, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}

/* Solves a triangular system in each lane, for first <= t < rows: u[t] = rate[t] * (x[t] - sum over j < t of w[t][j] *
   u[j]). u has the solution for t < first. */
TARGET INLINE void solve_T(const int64_t lanes, int64_t first, int64_t rows, const REAL *w, int64_t w_row, int64_t w_step,
    const REAL *rate, int64_t rate_step, const REAL *x, int64_t x_row, REAL *u, int64_t u_row)
{
    int64_t l = 0;
    for (; l + 4 * LANES <= lanes; l += 4 * LANES)
        solve_lanes_T(4, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
    for (; l < lanes; l += LANES)
        solve_lanes_T(1, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
}

/* The sums below add this number of terms at a time. */
#define PART_T 32

/* Numbers of up to PART_T terms, for one vector of lanes. In the rows of two vectors, the second is for the key of the
   first lane and later keys, and the first vector is 0. */
struct decayed_part_T {
    REAL row[PART_T][LANES], key[PART_T][2 * LANES], log[PART_T][2 * LANES], low[PART_T][2 * LANES],
        fade[PART_T][2 * LANES], x[PART_T][LANES], a[PART_T][LANES], a_low[PART_T][LANES];
};

/* Copies lanes [from, from + LANES) of some terms. Lanes outside [0, lanes) get the nearest lane's number. */
TARGET INLINE void copy_lanes_T(REAL (*to)[LANES], int terms, int64_t from, int64_t lanes, const REAL *x, int64_t x_step)
{
    for (int t = 0; t < terms; t++)
        for (int l = 0; l < LANES; l++) {
            const int64_t lane = from + l < 0 ? 0 : from + l < lanes ? from + l : lanes - 1;
            to[t][l] = x ? x[t * x_step + lane] : 0;
        }
}

/* Returns exp2(scale * (a - b)), where a and b are sums of two numbers. */
TARGET INLINE vec_T decay_T(REAL scale, vec_T a, vec_T a_low, vec_T b, vec_T b_low)
{
    return exp2_T(((a - b) + (a_low - b_low)) * scale);
}

TARGET INLINE vec_T load_low_T(const REAL *p) { return p ? load_T(p) : (vec_T){0}; }

/* Copies numbers of the keys from `first` on. Keys before or after the rows get 0 and the nearest row's logarithm. */
TARGET INLINE void near_keys_T(struct decayed_part_T *part, int t, int64_t rows, int64_t first, const REAL *y,
    const REAL *b, const REAL *b_low)
{
    for (int l = 0; l < LANES; l++) {
        const int64_t j = first + l, nearest = j < 0 ? 0 : j < rows ? j : rows - 1;
        part->key[t][LANES + l] = j == nearest ? y[j] : 0;
        part->log[t][LANES + l] = b[nearest];
        part->low[t][LANES + l] = b_low ? b_low[nearest] : 0;
    }
}

/* Adds the terms of the keys that are at most LANES - 1 before the query of their lane, and not before `first`.
   near[n]: the sums for the keys n before the query. The decay for n + 1 is that for n times the decay between two
   keys. So no exponent is positive. */
TARGET INLINE void decayed_near_T(struct decayed_part_T *part, int terms, int64_t rows, int64_t first,
    const REAL scale, const REAL *x, const REAL *a, const REAL *a_low, int64_t x_step, const REAL *y, const REAL *b,
    const REAL *b_low, int64_t y_step, vec_T *near)
{
    const int whole = first >= 0 && first + LANES <= rows;
    for (int t = 0; t < terms; t++, y += y_step, b += y_step, b_low += b_low ? y_step : 0) {
        if (whole) {
            store_T(part->key[t] + LANES, load_T(y + first));
            store_T(part->log[t] + LANES, load_T(b + first));
            store_T(part->low[t] + LANES, load_low_T(b_low ? b_low + first : NULL));
        } else
            near_keys_T(part, t, rows, first, y, b, b_low);
        store_T(part->key[t], (vec_T){0});
        part->log[t][LANES - 1] = part->log[t][LANES];
        part->low[t][LANES - 1] = part->low[t][LANES];
    }
    for (int t = 0; t < terms; t++, x += x_step, a += x_step, a_low += a_low ? x_step : 0) {
        const vec_T log = load_T(part->log[t] + LANES), low = load_T(part->low[t] + LANES);
        store_T(part->fade[t], (vec_T){0});
        store_T(part->fade[t] + LANES,
            decay_T(scale, log, low, load_T(part->log[t] + LANES - 1), load_T(part->low[t] + LANES - 1)));
        store_T(part->row[t], load_T(x) * decay_T(scale, load_T(a), load_low_T(a_low), log, low));
    }
    vec_T sum[LANES];
    UNROLL for (int n = 0; n < LANES; n++) sum[n] = (vec_T){0};
    for (int t = 0; t < terms; t++) {
        vec_T row = load_T(part->row[t]);
        UNROLL for (int n = 0; n < LANES; n++) {
            sum[n] += row * load_T(part->key[t] + LANES - n);
            row *= load_T(part->fade[t] + LANES - n);
        }
    }
    UNROLL for (int n = 0; n < LANES; n++) near[n] += sum[n];
}

/* Adds the terms of the keys from j on, up to LANES of them, none after the border. Decays are products of those up
   to the border and from there on. Only lanes [begin, end) are stored. */
TARGET INLINE void decayed_far_T(struct decayed_part_T *part, int terms, int64_t j, int64_t border, const REAL times,
    const REAL scale, const REAL *y, const REAL *b, const REAL *b_low, int64_t y_step, REAL *w, int64_t w_row, int begin,
    int end)
{
    for (int t = 0; t < terms; t++, y += y_step, b += y_step, b_low += b_low ? y_step : 0)
        store_T(part->key[t],
            load_T(y + j) * decay_T(scale, splat_T(b[border]), splat_T(b_low ? b_low[border] : 0), load_T(b + j),
                                load_low_T(b_low ? b_low + j : NULL)));
    vec_T sum[LANES];
    UNROLL for (int n = 0; n < LANES; n++) sum[n] = (vec_T){0};
    for (int t = 0; t < terms; t++) {
        const vec_T row = load_T(part->row[t]);
        UNROLL for (int n = 0; n < LANES; n++) sum[n] += part->key[t][n] * row;
    }
    UNROLL for (int n = 0; n < LANES; n++) {
        if (j + n > border) continue;
        if (end - begin == LANES)
            store_T(w + n * w_row, load_T(w + n * w_row) + sum[n] * times);
        else
            for (int l = begin; l < end; l++) w[n * w_row + l] += sum[n][l] * times;
    }
}

/* Computes w[j][l] += times * (sum over t of x[t][l] * y[t][j] * exp2(scale * (a[t][l] - b[t][j]))) for the keys
   j <= first + l, j < rows. Logarithms are sums of two numbers, or `a_low` and `b_low` are NULL. They fall along keys
   and queries. Blocks of queries begin at multiples of LANES among the keys, so that the bits do not depend on where a
   caller cuts a sequence. */
TARGET INLINE void decayed_T(int64_t lanes, int64_t rows, int64_t steps, int64_t first, const REAL times,
    const REAL scale, const REAL *x, const REAL *a, const REAL *a_low, const int64_t x_step, const REAL *y,
    const REAL *b, const REAL *b_low, const int64_t y_step, REAL *w, const int64_t w_row)
{
    struct decayed_part_T part;
    const int64_t skip = (first % LANES + LANES) % LANES, padded = (lanes + LANES - 1) / LANES * LANES;
    for (int64_t l = -skip; l < lanes; l += LANES) {
        const int64_t own = first + l, before = own < rows ? own : rows, border = before - 1;
        const int copied = l < 0 || l + LANES > padded, begin = l < 0 ? (int)-l : 0,
            end = copied && l + LANES > lanes ? (int)(lanes - l) : LANES;
        vec_T near[LANES];
        for (int n = 0; n < LANES; n++) near[n] = (vec_T){0};
        for (int64_t t = 0; t < steps; t += PART_T) {
            const int terms = steps - t < PART_T ? (int)(steps - t) : PART_T;
            const REAL *xt = part.x[0], *at = part.a[0], *at_low = part.a_low[0];
            const REAL *const yt = y + t * y_step, *const bt = b + t * y_step,
                       *const bt_low = b_low ? b_low + t * y_step : NULL;
            const int64_t xs = copied ? LANES : x_step;
            if (copied) {
                copy_lanes_T(part.x, terms, l, lanes, x + t * x_step, x_step);
                copy_lanes_T(part.a, terms, l, lanes, a + t * x_step, x_step);
                copy_lanes_T(part.a_low, terms, l, lanes, a_low ? a_low + t * x_step : NULL, x_step);
            } else
                xt = x + t * x_step + l, at = a + t * x_step + l, at_low = a_low ? a_low + t * x_step + l : NULL;
            if (own < rows)
                decayed_near_T(&part, terms, rows, own, scale, xt, at, at_low, xs, yt, bt, bt_low, y_step, near);
            if (before <= 0) continue;
            for (int s = 0; s < terms; s++)
                store_T(part.row[s],
                    load_T(xt + s * xs) *
                        decay_T(scale, load_T(at + s * xs), load_low_T(at_low ? at_low + s * xs : NULL),
                            splat_T(bt[s * y_step + border]), splat_T(bt_low ? bt_low[s * y_step + border] : 0)));
            for (int64_t j = 0; j < before; j += LANES)
                decayed_far_T(&part, terms, j, border, times, scale, yt, bt, bt_low, y_step, w + j * w_row + l, w_row,
                    begin, end);
        }
        for (int n = 0; n < LANES && own < rows; n++)
            for (int k = n > begin ? n : begin; k < end; k++) {
                const int64_t j = own + k - n;
                if (j >= 0 && j < rows) w[j * w_row + l + k] += times * near[n][k];
            }
    }
}

#endif
#if FETCHED
/* Computes the product without prefetching, because b is in a cache. */
TARGET INLINE void dot_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor COMPENSATION_PARAMETER)
{
    dot_early_T(vectors, lanes, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor COMPENSATION_ARGUMENT, 0);
}

#endif

#if !PAIRED
/* Like dot_T, but a is in memory, so its rows are prefetched AHEAD rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET INLINE void dot_ahead_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor COMPENSATION_PARAMETER, const REAL *next, int64_t next_row,
    const int64_t width, const REAL *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % ROWS, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_T(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * LANES) {
        const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
        REAL *const left = compensation ? compensation + x : NULL;
#endif
        for (int64_t r = 0; r < whole; r += ROWS) {
            for (int64_t k = r; k < r + ROWS && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + AHEAD) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_T(ROWS, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f COMPENSATION_OF_ROW NOT_EARLY);
        }
        dot_T(vectors, vectors * LANES, rows % ROWS, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f COMPENSATION_OF_LAST);
    }
    if (x < lanes)
        narrow_T(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
}

/* Computes sum[x] = sum over t of a[t][x] * b[t * b_step], for the lanes x of up to 8 vectors. The terms are added in the
   order of dot_T with `update` 0. The result is a row of c if lane < 0. Otherwise it is this lane of rows of c, whose
   other lanes get 0. */
TARGET INLINE void some_rows_T(const int vectors, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const int64_t lane)
{
    const int64_t part = steps > 2 * span ? span : steps;
    vec_T sum[8], whole[8];
    UNROLL for (int v = 0; v < 8; v++) whole[v] = (vec_T){0}; /* gcc 12 warns if only `vectors` of them are set */
    for (int64_t first = 0; first < steps; first += part) {
        const int64_t end = min(first + part, steps);
        UNROLL for (int v = 0; v < 8; v++) sum[v] = (vec_T){0};
        for (int64_t t = first; t < end; t++) {
            const REAL y = b[t * b_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[v] += y * load_T(a + t * a_step + v * LANES);
        }
        UNROLL for (int v = 0; v < vectors; v++) whole[v] = first ? whole[v] + sum[v] : sum[v];
    }
    UNROLL for (int v = 0; v < vectors; v++)
        if (lane < 0)
            store_T(c + v * LANES, whole[v]);
        else
            for (int l = 0; l < LANES; l++, c += c_row) {
                store_T(c, (vec_T){lane == 0 ? whole[v][l] : 0});
                if (lane > 0) c[lane] = whole[v][l];
            }
}

/* Like dot_T with `update` 0, for one row of a. `lanes` is a multiple of LANES. */
TARGET INLINE void dot_row_T(const int64_t lanes, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *b, int64_t b_step, REAL *c)
{
    int64_t x = 0;
    for (; x + 8 * LANES <= lanes; x += 8 * LANES)
        some_rows_T(8, steps, span, b + x, b_step, a, a_step, c + x, 0, -1);
    if (lanes % (8 * LANES))
        some_rows_T((int)(lanes % (8 * LANES) / LANES), steps, span, b + x, b_step, a, a_step, c + x, 0, -1);
}

/* Computes dot_row_T of a and b, and dot_lane_T of b and `lane` in its first lane, in one pass over b. */
TARGET INLINE void both_rows_T(const int vectors, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *lane, int64_t lane_step, const REAL *b, int64_t b_step, REAL *c, REAL *d, int64_t d_row)
{
    const int64_t part = steps > 2 * span ? span : steps;
    vec_T sum[2][8], whole[2][8];
    for (int64_t first = 0; first < steps; first += part) {
        const int64_t end = min(first + part, steps);
        UNROLL for (int v = 0; v < vectors; v++) sum[0][v] = sum[1][v] = (vec_T){0};
        for (int64_t t = first; t < end; t++) {
            const REAL y = a[t * a_step], z = lane[t * lane_step];
            UNROLL for (int v = 0; v < vectors; v++) {
                const vec_T x = load_T(b + t * b_step + v * LANES);
                sum[0][v] += y * x;
                sum[1][v] += z * x;
            }
        }
        UNROLL for (int k = 0; k < 2; k++)
            UNROLL for (int v = 0; v < vectors; v++) whole[k][v] = first ? whole[k][v] + sum[k][v] : sum[k][v];
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        store_T(c + v * LANES, whole[0][v]);
        for (int l = 0; l < LANES; l++, d += d_row) store_T(d, (vec_T){whole[1][v][l]});
    }
}

/* Like both_rows_T, for any number of lanes that is a multiple of LANES. */
TARGET INLINE void dot_both_T(const int64_t lanes, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *lane, int64_t lane_step, const REAL *b, int64_t b_step, REAL *c, REAL *d, int64_t d_row)
{
    const int most = LANES == 16 ? 8 : 4; /* sums of both products fit in the registers */
    int64_t x = 0;
    for (; x + most * LANES <= lanes; x += most * LANES)
        both_rows_T(most, steps, span, a, a_step, lane, lane_step, b + x, b_step, c + x, d + x * d_row, d_row);
    if (lanes % (most * LANES))
        both_rows_T((int)(lanes % (most * LANES) / LANES), steps, span, a, a_step, lane, lane_step, b + x, b_step,
            c + x, d + x * d_row, d_row);
}

/* Like dot_T with `update` 0, for one lane only: c[r][lane] = sum over t of a[t][r] * b[t][lane]. The rows r of a step
   are adjacent, so they are in the lanes of vectors. The number of rows is a multiple of LANES. */
TARGET INLINE void dot_lane_T(const int64_t rows, const int64_t lane, int64_t steps, const int64_t span, const REAL *a,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 8 * LANES <= rows; r += 8 * LANES)
        some_rows_T(8, steps, span, a + r, a_step, b + lane, b_step, c + r * c_row, c_row, lane);
    if (rows % (8 * LANES))
        some_rows_T((int)(rows % (8 * LANES) / LANES), steps, span, a + r, a_step, b + lane, b_step, c + r * c_row, c_row,
            lane);
}

#endif

#if !PAIRED
/* Like dot_T, but for row r, a is 0 from step `visible` + r on. These steps are left out for whole blocks of rows. */
TARGET INLINE void dot_until_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, int64_t visible)
{
    for (int64_t r = 0; r < rows; r += ROWS) {
        const int64_t some = min(rows - r, ROWS), end = min(steps, visible + r + some - 1), last = end > 1 ? end : 1;
        if (some == ROWS)
            dot_T(vectors, lanes, ROWS, 0, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
                0, NULL COMPENSATION_NULL);
        else
            dot_T(vectors, lanes, some, tail, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row,
                c_row, 0, NULL COMPENSATION_NULL);
    }
}

/* c[r][x] = c[r][x] * kept[r] - c[r][x] * lost[r] + the sum over t of a[r][t] * b[t][x], for up to ROWS rows r and
   `vectors` vectors of lanes x */
TARGET INLINE void block_kept_T(const int rows, const int vectors, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const REAL *kept, const REAL *lost)
{
    vec_T sum[ROWS][VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_T){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
        vec_T x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_T(b + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const REAL y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const to = c + r * c_row + v * LANES;
            const vec_T old = load_T(to);
            store_T(to, old * kept[r] - old * lost[r] + sum[r][v]);
        }
}

/* Like block_kept_T, for any number of rows. */
TARGET INLINE void rows_kept_T(const int vectors, int64_t rows, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const REAL *kept, const REAL *lost)
{
    const int some = ROWS > 2 ? 2 : 1;
    int64_t r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        block_kept_T(ROWS, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
    for (; r + some <= rows; r += some)
        block_kept_T(some, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
            kept + r, lost + r);
    for (; r < rows; r++)
        block_kept_T(1, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
}

/* Like block_kept_T, for any number of rows and lanes. `lanes` is a multiple of LANES. */
TARGET INLINE void dot_kept_T(const int vectors, const int64_t lanes, int64_t rows, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const REAL *kept,
    const REAL *lost)
{
    int64_t x = 0;
    for (; x + vectors * LANES <= lanes; x += vectors * LANES)
        rows_kept_T(vectors, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
    for (; x < lanes; x += LANES)
        rows_kept_T(1, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
}
#endif

/* Like dot_T, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET INLINE void dot_finite_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update BY_PARAMETER, const REAL *factor COMPENSATION_PARAMETER)
{
    IN row[MAX_STEPS];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
#if PAIRED
            row[2 * t] = finite_T(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
            row[2 * t + 1] = finite_T(a + t * a_step + 1, 0, 1, 1) ? a[t * a_step + 1] : 0;
#else
            row[t] = finite_T(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
#endif
        }
        dot_T(vectors, lanes, 1, ONE_IS_ODD, steps, span, row, 0, TOGETHER, b, b_step, c + r * c_row, c_row,
            update BY_ARGUMENT, factor COMPENSATION_OF_THE_ROW);
    }
}

/* Like dot_T, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_T, so that results round equally. */
TARGET INLINE void dot_finite_lanes_T(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b,
    int64_t b_step, REAL *c, int64_t c_row, const int update BY_PARAMETER, const REAL *factor COMPENSATION_PARAMETER)
{
    IN column[MAX_STEPS * LANES];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += LANES) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < WORDS; k++) {
                const IN *const p = b + t * b_step + IN_PER_REAL x + k;
                column[t * WORDS + k] = finite_T(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? SOME : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_T(1, LANES, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * WORDS, WORDS, c + x, c_row, update BY_ARGUMENT,
                factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
    }
}
