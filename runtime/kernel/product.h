/* A target's register-blocked matrix product. A kernel includes this header after vector.h, and again with PAIRED 1 if
   the target has products of bf16.
   - operands: reals, or pairs of bf16 if PAIRED
   - register block: ROWS rows by VECTORS vectors of the result, in registers
   - paired: elements t and t + 1, t even, are adjacent, in 32 bits
   - widened: 16-bit elements are converted to float
   - update: what a product does with its result c; see block */

#undef P
#undef IN
#undef IN_PER_REAL
#undef WORD
#undef WORD_MAX
#undef WORD_CARRY
#undef ROOM
#undef TIMES_BY
#undef ANY_DOT
#undef IF_PAIRED
#undef IF_FETCHED
#if PAIRED
#define P(name) T(name##_paired)
#define IN uint16_t
#define IN_PER_REAL 2
#define WORD uint16_t
#define WORD_MAX 0x7fff
#define WORD_CARRY 0x0080
#define ROOM MAX_PAIRED_STEPS
#define TIMES_BY *by
#define IF_PAIRED(argument) , argument
#else
#define P(name) T(name)
#define IN REAL
#define IN_PER_REAL 1
#if F64
#define WORD uint64_t
#define WORD_MAX UINT64_C(0x7fffffffffffffff)
#define WORD_CARRY UINT64_C(0x0010000000000000)
#else
#define WORD uint32_t
#define WORD_MAX 0x7fffffff
#define WORD_CARRY 0x00800000
#endif
#define ROOM MAX_STEPS
#define TIMES_BY
#define IF_PAIRED(argument)
#endif
#define WORDS (IN_PER_REAL * LANES)
#if FETCHED && !PAIRED
#define ANY_DOT T(dot_early)
#define IF_FETCHED(argument) , argument
#else
#define ANY_DOT P(dot)
#define IF_FETCHED(argument)
#endif

typedef WORD P(bits) __attribute__((vector_size(BYTES), aligned(sizeof(IN)), may_alias));
typedef WORD P(bit) __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, WORD_CARRY, carries into the sign. */
TARGET APART int P(finite)(const IN *p, int64_t row, int64_t rows, int64_t columns)
{
    P(bits) found = {0};
    WORD one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + WORDS <= columns; c += WORDS)
            found |= (*(const P(bits) *)(const void *)(p + c) & WORD_MAX) + WORD_CARRY;
        for (; c < columns; c++) one |= (*(const P(bit) *)(const void *)(p + c) & WORD_MAX) + WORD_CARRY;
    }
    for (int k = 0; k < WORDS; k++) one |= found[k];
    return one <= WORD_MAX;
}

#if !PAIRED
/* Like finite, for p[r * row + c * column]. */
TARGET APART int P(finite_apart)(const IN *p, int64_t row, int64_t rows, int64_t columns, int64_t column)
{
    int finite = 1;
    if (column == 1) return P(finite)(p, row, rows, columns);
    for (int64_t r = 0; r < rows; r++) finite &= P(finite)(p + r * row, column, columns, 1);
    return finite;
}
#endif

#if PAIRED
/* Returns the number that an element of an operand stands for. */
INLINE REAL P(number)(IN element) { return widened_bf16(element); }
#else
INLINE REAL P(number)(IN element) { return element; }
#endif

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. If PAIRED, `second` selects the second element of each pair of weights. */
TARGET APART void P(add_seen)(int64_t rows, REAL *sum, int64_t sum_row, const IN *values, int64_t step,
    const IN *weights IF_PAIRED(int64_t second), const T(mask) *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !P(finite)(values, 0, 1, 1); x += LANES) {
#if PAIRED
            const T(mask) pair = T(load_paired)(weights + 2 * x);
            const T(vec) weight = (T(vec))(second ? pair & -65536 : pair << 16);
#else
            const T(vec) weight = T(load)(weights + x);
#endif
            const T(vec) old = T(load)(sum + x);
            T(store)(sum + x, T(pick)(seen[x / LANES], old + P(number)(*values) * weight, old));
        }
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET APART void P(add_seen_lanes)(int64_t lanes, REAL *sum, const IN *weights, const IN *values, int64_t value_row,
    int64_t steps, const T(mask) *seen)
{
    for (int64_t t = 0; t < steps; t++)
        for (int64_t x = 0; x < lanes && seen[t / LANES][t % LANES]; x++) {
            const IN *const p = values + t / IN_PER_REAL * value_row + IN_PER_REAL * x + t % IN_PER_REAL;
            if (!P(finite)(p, 0, 1, 1)) sum[x] += P(number)(weights[t]) * P(number)(*p);
        }
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to ROWS rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum, or by * sum if PAIRED
   - 1: c = c + sum, or c + by * sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET INLINE void P(block)(const int rows, const int vectors, int64_t steps, const IN *a, int64_t a_row,
    int64_t a_step,
    const IN *b, int64_t b_step, REAL *c, int64_t c_row, const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    T(vec) sum[TALL][VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (T(vec)){0};
    int64_t t = 0;
#if TALL > ROWS && !PAIRED
    for (; rows > ROWS && t + 2 <= steps; t += 2, a += 2 * a_step, b += 2 * b_step) {
        const REAL *row[TALL];
        UNROLL for (int r = 0; r < rows; r += 4) {
            row[r] = a + r * a_row;
            /* Without this, compilers compute the address of each row from that of the row before. */
            if (a_row != 1) __asm__("" : "+r"(row[r]));
        }
        UNROLL for (int k = 0; k < 2; k++) {
            const T(vec) x = T(load)(b + k * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r][0] += row[r & -4][(r & 3) * a_row + k * a_step] * x;
        }
    }
#endif
    for (; t < steps; t++, a += a_step, b += b_step) {
#if PAIRED
        T(mask) x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = T(load_paired)(b + v * 2 * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const int32_t y = T(pair)(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = T(multiply)(sum[r][v], y, x[v]);
        }
#else
        T(vec) x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = T(load)(b + v * LANES);
#if FETCHED && !PAIRED
        UNROLL for (int v = 0; v < vectors; v++)
            if (early && v * LANES * (int64_t)sizeof *b % 64 == 0)
                __builtin_prefetch(b + early * b_step + v * LANES, 0, NEAR);
#endif
        UNROLL for (int r = 0; r < rows; r++) {
            const REAL y = T(factor)(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
#endif
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const T(vec) times = update >= 2 && factor ? T(load)(factor + v * LANES) : T(splat)(1);
        UNROLL for (int r = 0; r < rows; r++) {
            REAL *const to = c + r * c_row + v * LANES;
#if COMPENSATED
            if (update == 3) {
                T(add)(to, compensation + r * c_row + v * LANES, sum[r][v], times);
                continue;
            }
#endif
            T(store)(to, update == 0 ? sum[r][v] TIMES_BY
                : update == 1 ? T(load)(to) + sum[r][v] TIMES_BY : T(load)(to) * times + sum[r][v]);
        }
    }
}

/* Like block, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET INLINE void P(parts)(const int rows, const int vectors, int64_t steps, const int64_t span, const IN *a,
    int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    P(block)(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update IF_PAIRED(by),
        factor IF_COMPENSATED(compensation) IF_FETCHED(early));
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            P(block)(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1 IF_PAIRED(by), NULL IF_COMPENSATED(NULL) IF_FETCHED(early));
}

/* Like parts, for any number of rows. `lanes` is a multiple of LANES * vectors. `tail` is rows % ROWS if this is a
   constant, otherwise -1. */
TARGET INLINE void P(blocks)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    for (int64_t x = 0; x < lanes; x += vectors * LANES) {
        const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
        REAL *const left = compensation ? compensation + x : NULL;
#endif
        int64_t r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            P(parts)(ROWS, vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL * x, b_step,
                c + r * c_row + x, c_row, update IF_PAIRED(by),
                f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(early));
        for (; QUICK && r < rows; r++)
            P(parts)(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL * x, b_step,
                c + r * c_row + x, c_row, update IF_PAIRED(by),
                f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(early));
        switch (QUICK ? 0 : tail >= 0 ? tail : rows - r) {
#define PARTS(n) \
    case n: \
        P(parts)(n, vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL * x, b_step, \
            c + r * c_row + x, c_row, update IF_PAIRED(by), \
            f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(early)); \
        break;
            ROWS_BELOW(ROWS, PARTS)
#undef PARTS
        }
    }
}

/* Like block, for any number of rows and vectors. It computes one vector at a time. */
TARGET APART void P(narrow)(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const IN *a, int64_t a_row,
    int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row, int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation))
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
#if TALL > ROWS && !PAIRED
            /* ROWS sums of one vector are too few to hide the latency of an addition. */
            for (; r + TALL <= rows && (a_row == 1 || a_step == 1); r += TALL)
                if (a_row == 1)
                    P(block)(TALL, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row,
                        now, f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0));
                else
                    P(block)(TALL, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0));
#endif
            for (; r < rows; r += QUICK ? 1 : ROWS)
                switch (QUICK ? 1 : min(rows - r, ROWS)) {
        default: P(block)(ROWS, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + IN_PER_REAL * x, b_step,
            c + r * c_row + x, c_row, now IF_PAIRED(by),
            f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0)); break;
#define BLOCKS_OF_ONE(n) \
    case n: \
        P(block)(n, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + IN_PER_REAL * x, b_step, \
            c + r * c_row + x, c_row, now IF_PAIRED(by), \
            f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0)); \
        break;
                    ROWS_BELOW(ROWS, BLOCKS_OF_ONE)
#undef BLOCKS_OF_ONE
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET INLINE int64_t P(lanes_in_blocks)(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * LANES;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of LANES. Other parameters are as in blocks. */
TARGET INLINE void ANY_DOT(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    const int64_t x = P(lanes_in_blocks)(vectors, lanes);
    P(blocks)(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update IF_PAIRED(by),
        factor IF_COMPENSATED(compensation) IF_FETCHED(early));
    if (x < lanes)
        P(narrow)(lanes - x, rows, steps, span, a, a_row, a_step, b + IN_PER_REAL * x, b_step, c + x, c_row,
            update IF_PAIRED(by), factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
}

#if FETCHED && !PAIRED
/* Computes the product without prefetching, because b is in a cache. */
TARGET INLINE void P(dot)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor IF_COMPENSATED(REAL *compensation))
{
    P(dot_early)(vectors, lanes, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor IF_COMPENSATED(compensation), 0);
}

#endif

#if !PAIRED
/* Like dot, but a is in memory, so its rows are prefetched AHEAD rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET INLINE void P(dot_ahead)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor IF_COMPENSATED(REAL *compensation), const REAL *next,
    int64_t next_row,
    const int64_t width, const REAL *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % ROWS, line = 64 / (int64_t)sizeof *a,
        in_blocks = P(lanes_in_blocks)(vectors, lanes);
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
            P(parts)(ROWS, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0));
        }
        P(dot)(vectors, vectors * LANES, rows % ROWS, tail, steps, span, a + whole * a_row, a_row, a_step, b + x,
            b_step, c + whole * c_row + x, c_row, update, f IF_COMPENSATED(left ? left + whole * c_row : NULL));
    }
    if (x < lanes)
        P(narrow)(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
}

/* Computes sum[x] = sum over t of a[t][x] * b[t * b_step], for the lanes x of up to 8 vectors. The terms are added in
   the order of dot with `update` 0. The result is a row of c if lane < 0. Otherwise it is this lane of rows of c, whose
   other lanes get 0. */
TARGET INLINE void P(some_rows)(const int vectors, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const int64_t lane)
{
    const int64_t part = steps > 2 * span ? span : steps;
    T(vec) sum[8], whole[8];
    UNROLL for (int v = 0; v < 8; v++) whole[v] = (T(vec)){0}; /* gcc 12 warns if only `vectors` of them are set */
    for (int64_t first = 0; first < steps; first += part) {
        const int64_t end = min(first + part, steps);
        UNROLL for (int v = 0; v < 8; v++) sum[v] = (T(vec)){0};
        for (int64_t t = first; t < end; t++) {
            const REAL y = T(factor)(b + t * b_step);
            UNROLL for (int v = 0; v < vectors; v++) sum[v] += y * T(load)(a + t * a_step + v * LANES);
        }
        UNROLL for (int v = 0; v < vectors; v++) whole[v] = first ? whole[v] + sum[v] : sum[v];
    }
    UNROLL for (int v = 0; v < vectors; v++)
        if (lane < 0)
            T(store)(c + v * LANES, whole[v]);
        else
            for (int l = 0; l < LANES; l++, c += c_row) {
                T(store)(c, (T(vec)){lane == 0 ? whole[v][l] : 0});
                if (lane > 0) c[lane] = whole[v][l];
            }
}

/* Like dot with `update` 0, for one row of a. `lanes` is a multiple of LANES. */
TARGET INLINE void P(dot_row)(const int64_t lanes, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *b, int64_t b_step, REAL *c)
{
    int64_t x = 0;
    for (; x + 8 * LANES <= lanes; x += 8 * LANES)
        P(some_rows)(8, steps, span, b + x, b_step, a, a_step, c + x, 0, -1);
    if (lanes % (8 * LANES))
        P(some_rows)((int)(lanes % (8 * LANES) / LANES), steps, span, b + x, b_step, a, a_step, c + x, 0, -1);
}

/* Computes dot_row of a and b, and dot_lane of b and `lane` in its first lane, in one pass over b. */
TARGET INLINE void P(both_rows)(const int vectors, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *lane, int64_t lane_step, const REAL *b, int64_t b_step, REAL *c, REAL *d, int64_t d_row)
{
    const int64_t part = steps > 2 * span ? span : steps;
    T(vec) sum[2][8], whole[2][8];
    for (int64_t first = 0; first < steps; first += part) {
        const int64_t end = min(first + part, steps);
        UNROLL for (int v = 0; v < vectors; v++) sum[0][v] = sum[1][v] = (T(vec)){0};
        for (int64_t t = first; t < end; t++) {
            const REAL y = T(factor)(a + t * a_step), z = T(factor)(lane + t * lane_step);
            UNROLL for (int v = 0; v < vectors; v++) {
                const T(vec) x = T(load)(b + t * b_step + v * LANES);
                sum[0][v] += y * x;
                sum[1][v] += z * x;
            }
        }
        UNROLL for (int k = 0; k < 2; k++)
            UNROLL for (int v = 0; v < vectors; v++) whole[k][v] = first ? whole[k][v] + sum[k][v] : sum[k][v];
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        T(store)(c + v * LANES, whole[0][v]);
        for (int l = 0; l < LANES; l++, d += d_row) T(store)(d, (T(vec)){whole[1][v][l]});
    }
}

/* Like both_rows, for any number of lanes that is a multiple of LANES. */
TARGET INLINE void P(dot_both)(const int64_t lanes, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *lane, int64_t lane_step, const REAL *b, int64_t b_step, REAL *c, REAL *d, int64_t d_row)
{
    const int most = LANES == 16 ? 8 : 4; /* sums of both products fit in the registers */
    int64_t x = 0;
    for (; x + most * LANES <= lanes; x += most * LANES)
        P(both_rows)(most, steps, span, a, a_step, lane, lane_step, b + x, b_step, c + x, d + x * d_row, d_row);
    if (lanes % (most * LANES))
        P(both_rows)((int)(lanes % (most * LANES) / LANES), steps, span, a, a_step, lane, lane_step, b + x, b_step,
            c + x, d + x * d_row, d_row);
}

/* Like dot with `update` 0, for one lane only: c[r][lane] = sum over t of a[t][r] * b[t][lane]. The rows r of a step
   are adjacent, so they are in the lanes of vectors. The number of rows is a multiple of LANES. */
TARGET INLINE void P(dot_lane)(const int64_t rows, const int64_t lane, int64_t steps, const int64_t span, const REAL *a,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 8 * LANES <= rows; r += 8 * LANES)
        P(some_rows)(8, steps, span, a + r, a_step, b + lane, b_step, c + r * c_row, c_row, lane);
    if (rows % (8 * LANES))
        P(some_rows)((int)(rows % (8 * LANES) / LANES), steps, span, a + r, a_step, b + lane, b_step, c + r * c_row,
            c_row, lane);
}

/* Like dot, but for row r, a is 0 from step `visible` + r on. These steps are left out for whole blocks of rows. */
TARGET INLINE void P(dot_until)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, int64_t visible)
{
    for (int64_t r = 0; r < rows; r += ROWS) {
        const int64_t some = min(rows - r, ROWS), end = min(steps, visible + r + some - 1), last = end > 1 ? end : 1;
        if (some == ROWS)
            P(dot)(vectors, lanes, ROWS, 0, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
                0, NULL IF_COMPENSATED(NULL));
        else
            P(dot)(vectors, lanes, some, tail, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row,
                c_row, 0, NULL IF_COMPENSATED(NULL));
    }
}

/* Like dot with `update` 0, but also prefetches the rows of `arrays` arrays, spread over the blocks, because a core can
   have few cache misses in flight. */
TARGET INLINE void P(dot_meanwhile)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor IF_COMPENSATED(REAL *compensation), const struct coming *next,
    const int arrays, int64_t nexts)
{
    const int64_t whole = rows - rows % ROWS, some = steps > 2 * span ? span : steps,
                  in_blocks = P(lanes_in_blocks)(vectors, lanes),
                  every = in_blocks / (vectors * LANES) * (whole / ROWS) * ((steps + some - 1) / some) / nexts;
    int64_t fetched = 0, wait = 1, x = 0;
    for (; x < in_blocks; x += vectors * LANES) {
        for (int64_t r = 0; r < whole; r += ROWS)
            for (int64_t t = 0; t < steps; t += some) {
                if (--wait <= 0 && fetched < nexts) {
                    for (int n = 0; n < arrays; n++)
                        for (int64_t byte = 0; byte < next[n].width; byte += 64)
                            __builtin_prefetch((const char *)next[n].at + fetched * next[n].row + byte);
                    fetched++, wait = every;
                }
                P(block)(ROWS, vectors, min(some, steps - t), a + r * a_row + t * a_step, a_row, a_step,
                    b + t * b_step + x, b_step, c + r * c_row + x, c_row, t > 0,
                    NULL IF_COMPENSATED(NULL) IF_FETCHED(0));
            }
        P(dot)(vectors, vectors * LANES, rows - whole, tail, steps, span, a + whole * a_row, a_row, a_step, b + x,
            b_step, c + whole * c_row + x, c_row, update, factor IF_COMPENSATED(compensation));
    }
    if (x < lanes)
        P(narrow)(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor IF_COMPENSATED(compensation));
}

/* c[r][x] = c[r][x] * kept[r] - c[r][x] * lost[r] + the sum over t of a[r][t] * b[t][x], for up to ROWS rows r and
   `vectors` vectors of lanes x. With compensated summation, `lost` is the share of what is kept. */
TARGET INLINE void P(block_kept)(const int rows, const int vectors, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row IF_COMPENSATED(REAL *compensation),
    const REAL *kept, const REAL *lost)
{
    T(vec) sum[ROWS][VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (T(vec)){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
        T(vec) x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = T(load)(b + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const REAL y = T(factor)(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const to = c + r * c_row + v * LANES;
            const T(vec) old = T(load)(to);
#if COMPENSATED
            if (compensation) {
                REAL *const left = compensation + r * c_row + v * LANES;
                const T(vec) held = old * kept[r], rest = T(load)(left) * kept[r];
                const T(vec) more = rest + (sum[r][v] - (held * lost[r])), new = held + more;
                T(store)(left, more - (new - held));
                T(store)(to, new);
                continue;
            }
#endif
            T(store)(to, old * kept[r] - old * lost[r] + sum[r][v]);
        }
}

/* Like block_kept, for any number of rows. */
TARGET INLINE void P(rows_kept)(const int vectors, int64_t rows, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row IF_COMPENSATED(REAL *compensation),
    const REAL *kept, const REAL *lost)
{
    int64_t r = 0;
#define KEPT(n) \
    for (; r + (n) <= rows; r += (n)) \
        P(block_kept)(n, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, \
            c + r * c_row, c_row IF_COMPENSATED(compensation ? compensation + r * c_row : NULL), kept + r, lost + r);
    KEPT(ROWS)
    KEPT(ROWS > 2 ? 2 : 1)
    KEPT(1)
#undef KEPT
}

/* Like block_kept, for any number of rows and lanes. `lanes` is a multiple of LANES. */
TARGET INLINE void P(dot_kept)(const int vectors, const int64_t lanes, int64_t rows, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row IF_COMPENSATED(REAL *compensation), const REAL *kept, const REAL *lost)
{
    int64_t x = 0;
    for (; x + vectors * LANES <= lanes; x += vectors * LANES)
        P(rows_kept)(vectors, rows, steps, a, a_row, a_step, b + x, b_step, c + x,
            c_row IF_COMPENSATED(compensation ? compensation + x : NULL), kept, lost);
    for (; x < lanes; x += LANES)
        P(rows_kept)(1, rows, steps, a, a_row, a_step, b + x, b_step, c + x,
            c_row IF_COMPENSATED(compensation ? compensation + x : NULL), kept, lost);
}
#endif

#if ROOM
/* Like dot, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET INLINE void P(dot_finite)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by), const REAL *factor IF_COMPENSATED(REAL *compensation))
{
    IN row[ROOM];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
#if PAIRED
            row[2 * t] = P(finite)(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
            row[2 * t + 1] = P(finite)(a + t * a_step + 1, 0, 1, 1) ? a[t * a_step + 1] : 0;
#else
            row[t] = P(finite)(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
#endif
        }
        P(dot)(vectors, lanes, 1, ROWS > 1, steps, span, row, 0, IN_PER_REAL, b, b_step, c + r * c_row, c_row,
            update IF_PAIRED(by), factor IF_COMPENSATED(compensation ? compensation + r * c_row : NULL));
    }
}

/* Like dot, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched, so that results round equally. */
TARGET INLINE void P(dot_finite_lanes)(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b,
    int64_t b_step, REAL *c, int64_t c_row, const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation))
{
    IN column[ROOM * LANES];
    (void)vectors;
    (void)tail;
    for (int64_t x = 0; x < lanes; x += LANES) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < WORDS; k++) {
                const IN *const p = b + t * b_step + IN_PER_REAL * x + k;
                column[t * WORDS + k] = P(finite)(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? SOME : steps;
        for (int64_t t = 0; t < steps; t += some) /* values are seldom infinite or NaN */
            P(narrow)(LANES, rows, min(steps - t, some), span, a + t * a_step, a_row, a_step, column + t * WORDS,
                WORDS, c + x, c_row, update IF_PAIRED(by),
                factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
    }
}
#endif
