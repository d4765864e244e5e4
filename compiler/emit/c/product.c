/* The register-blocked product of a target: of floating-point numbers or, where PAIRED, of pairs of bf16. Written and
   tested as vector.c is. */

typedef WORD bits_T __attribute__((vector_size(BYTES), aligned(sizeof(IN)), may_alias));
typedef WORD bit_T __attribute__((may_alias));

/* Whether none of these numbers is infinite or NaN: bits of the exponent that are all set carry into the sign. */
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

#if NARROW && !PAIRED
/* The same of numbers as they are stored. */
TARGET APART int finite_stored_T(const STORED *p, int64_t row, int64_t rows, int64_t columns)
{
    REAL wide[LANES];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += LANES) {
            store_T(wide, LOAD_STORED(p + c));
            if (!finite_T(wide, 0, 1, LANES)) return 0;
        }
    return 1;
}
#endif

#if PAIRED
/* For each row r < rows: if values[r * step] is infinite or NaN, adds values[r * step] * weights to row r of the sums,
   in the lanes that see it. Weights are pairs of bf16; `second`: which of its pair a weight is. */
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
/* For each row r < rows: if values[r * step] is infinite or NaN, adds values[r * step] * weights to row r of the sums,
   in the lanes that see it. */
TARGET APART void add_seen_T(int64_t rows, REAL *sum, int64_t sum_row, const REAL *values, int64_t step,
    const REAL *weights, const mask_T *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_T(values, 0, 1, 1); x += LANES)
            store_T(sum + x, pick_T(seen[x / LANES], load_T(sum + x) + *values * load_T(weights + x), load_T(sum + x)));
}
#endif

/* For each step t that the lanes see: adds weights[t] * values[t][x] to sum[x] where values[t][x] is infinite or NaN. */
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
/* c[r][x] = sum over t of a[r][t] * b[t][x], times `by` unless there is a factor, a and b pairs of bf16, for up to ROWS
   rows and `vectors` vectors of x, the sums in registers; `then` says what becomes of c: 0 the sum, 1 c + sum,
   2 c * factor[x] + sum, 3 the same with a compensation. */
#else
/* c[r][x] = sum over t of a[r][t] * b[t][x] for up to ROWS rows and `vectors` vectors of x, the sums in registers;
   `then` says what becomes of c: 0 the sum, 1 c + sum, 2 c * factor[x] + sum, 3 the same with a compensation.
   `early`, where it is there: how many rows ahead a row of b is asked for at each step, or 0: none is.
   Not all at once, for a core can have only a few lines under way. */
#endif
TARGET INLINE void block_T(const int rows, const int vectors, int64_t steps, const IN *a, int64_t a_row, int64_t a_step,
    const IN *b, int64_t b_step, REAL *c, int64_t c_row, const int then BY_PARAMETER,
    const REAL *factor COMPENSATION_PARAMETER EARLY_PARAMETER)
{
    vec_T sum[ROWS][VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_T){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
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
        const vec_T times = then >= 2 && factor ? load_T(factor + v * LANES) : splat_T(1);
        UNROLL for (int r = 0; r < rows; r++) {
            REAL *const to = c + r * c_row + v * LANES;
#if COMPENSATED
            if (then == 3) {
                add_T(to, compensation + r * c_row + v * LANES, sum[r][v], times);
                continue;
            }
#endif
#if PAIRED
            store_T(to, then == 0 ? sum[r][v] * by
                : then == 1 ? load_T(to) + sum[r][v] * by : load_T(to) * times + sum[r][v]);
#else
            store_T(to, then == 0 ? sum[r][v] : then == 1 ? load_T(to) + sum[r][v] : load_T(to) * times + sum[r][v]);
#endif
        }
    }
}

#if !PAIRED
/* Asks for rows of `width` numbers ahead of their use. */
TARGET INLINE void fetch_T(int64_t rows, const int64_t width, const STORED *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < width; x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, NEAR);
}

/* c[k] = sum over t of a[t] * b[k][t] for LANES columns, of which the last is number `last` where not all are there.
   `ordered`: numbers are read in the order in which they lie, which is what the machine prefetches; left to itself a
   compiler mixes rows, which is faster where they are in a cache.
   `wide`: b widened, with rows of `steps`, or NULL.
   Rows of `ahead` are asked for on the way, unless it is NULL. */
TARGET INLINE void columns_T(const int whole, int64_t last, const int64_t steps, const REAL *a, const STORED *b,
    int64_t b_row, const int ordered, const REAL *wide, REAL *c, const STORED *ahead)
{
    vec_T t[LANES];
    UNROLL for (int k = 0; k < LANES; k++) t[k] = (vec_T){0};
    for (int64_t first = 0; first < steps; first += WIDE)
        UNROLL for (int k = 0; k < LANES; k++) {
            if (ahead) fetch_T(1, min(WIDE, steps - first), ahead + k * b_row + first, b_row);
            for (int64_t s = first; s < min(first + WIDE, steps); s += LANES)
                t[k] += load_T(a + s) *
                    (wide ? load_T(wide + k * steps + s) : LOAD_STORED(b + (whole ? k : min(k, last)) * b_row + s));
            if (ordered) __asm__ volatile("" : : : "memory");
        }
    store_T(c, lane_sums_T(t));
}

#if !ROOMY
/* The same sums for up to 4 rows of a, which share what is read: two columns at a time, their sums in registers.
   `wide`: the same as b, widened, with rows of `steps`; or NULL. */
TARGET INLINE void some_columns_T(const int rows, const int whole, int64_t last, const int64_t steps, const REAL *a,
    int64_t a_row, const STORED *b, int64_t b_row, const REAL *wide, REAL *c, int64_t c_row)
{
    vec_T t[4][LANES];
    UNROLL for (int k = 0; k < LANES; k += 2) {
        const REAL *const wide_k = wide ? wide + k * steps : NULL;
        const STORED *const first = b + (whole ? k : min(k, last)) * b_row,
            *const second = b + (whole ? k + 1 : min(k + 1, last)) * b_row;
        vec_T sum[4][2];
        UNROLL for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (vec_T){0};
        fetch_T(2, steps, b + (k + EARLY_FOR_SEVERAL) * b_row, b_row);
        for (int64_t s = 0; s < steps; s += LANES) {
            const vec_T x0 = wide ? load_T(wide_k + s) : LOAD_STORED(first + s),
                x1 = wide ? load_T(wide_k + steps + s) : LOAD_STORED(second + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_T y = load_T(a + r * a_row + s);
                sum[r][0] += x0 * y;
                sum[r][1] += x1 * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++) t[r][k] = sum[r][0], t[r][k + 1] = sum[r][1];
    }
    UNROLL for (int r = 0; r < rows; r++) store_T(c + r * c_row, lane_sums_T(t[r]));
}

#endif
/* The same for any number of rows. */
TARGET INLINE void all_columns_T(const int whole, int64_t last, int64_t rows, const int64_t steps, const REAL *a,
    int64_t a_row, const STORED *b, int64_t b_row, const REAL *wide, REAL *c, int64_t c_row)
{
    if (rows == 1) {
        columns_T(whole, last, steps, a, b, b_row, 1, NULL, c, NULL);
        return;
    }
#if ROOMY
    /* of fewer than SEVERAL rows the first reads b as the machine prefetches it; of more each asks for its share of the
       rows of b that are read EARLY_FOR_SEVERAL later, or, of two or three, the first for all, little at a time */
    const STORED *const ahead = b + EARLY_FOR_SEVERAL * b_row;
    const int asks = rows >= SEVERAL;
    int64_t r = 0;
    if (r < rows && (!asks || rows < 4))
        columns_T(whole, last, steps, a, b, b_row, !asks, wide, c, asks ? ahead : NULL), r = 1;
    for (; r < rows; r++) {
        const int64_t from = LANES * r / rows, to = LANES * (r + 1) / rows;
        if (asks && rows >= 4) fetch_T(to - from, steps, ahead + from * b_row, b_row);
        columns_T(whole, last, steps, a + r * a_row, b, b_row, 0, wide, c + r * c_row, NULL);
    }
#else
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row)
        some_columns_T(4, whole, last, steps, a, a_row, b, b_row, wide, c, c_row);
    switch (rows) {
        case 3: some_columns_T(3, whole, last, steps, a, a_row, b, b_row, wide, c, c_row); break;
        case 2: some_columns_T(2, whole, last, steps, a, a_row, b, b_row, wide, c, c_row); break;
        case 1: some_columns_T(1, whole, last, steps, a, a_row, b, b_row, wide, c, c_row); break;
    }
#endif
}

/* c[r][x] = sum over t of a[r][t] * b[x][t], where both lie along the sum, of a multiple of LANES terms; b comes from
   memory, and is asked for so many rows early: EARLY by one row of a (0: the machine does it), EARLY_FOR_SEVERAL by
   more, which share what is widened. */
TARGET INLINE void dot_along_T(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row)
{
    const REAL *wide = NULL;
    int64_t x = 0;
#if NARROW
    REAL widened[LANES * MAX_TERMS];
#endif
    for (; rows == 1 && x + LANES <= columns; x += LANES, b += LANES * b_row) { /* a is in registers here */
        if (EARLY) fetch_T(LANES, steps, b + EARLY * b_row, b_row);
        columns_T(1, 0, steps, a, b, b_row, 1, NULL, c + x, NULL);
    }
    for (; x + LANES <= columns; x += LANES, b += LANES * b_row) {
#if NARROW
        for (int64_t k = 0; k < LANES; k++)
            for (int64_t s = 0; s < steps; s += LANES)
                store_T(widened + k * steps + s, LOAD_STORED(b + k * b_row + s));
        wide = widened;
#endif
        all_columns_T(1, 0, rows, steps, a, a_row, b, b_row, wide, c + x, c_row);
    }
    if (x < columns) all_columns_T(0, columns - x - 1, rows, steps, a, a_row, b, b_row, NULL, c + x, c_row);
}
#endif

/* The same; where it sets the sum, more than 2 * `part` terms are summed in parts of `part`: rounding grows with the
   length of one. */
TARGET INLINE void parts_T(const int rows, const int vectors, int64_t steps, const int64_t part, const IN *a,
    int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row, const int then BY_PARAMETER,
    const REAL *factor COMPENSATION_PARAMETER EARLY_PARAMETER)
{
    const int64_t first = then == 0 && steps > 2 * part ? part : steps;
    block_T(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, then BY_ARGUMENT,
        factor COMPENSATION_ARGUMENT EARLY_ARGUMENT);
    if (then == 0)
        for (int64_t t = first; t < steps; t += part)
            block_T(rows, vectors, min(part, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1 BY_ARGUMENT, NULL COMPENSATION_NULL EARLY_ARGUMENT);
}

/* The same for any number of rows and `lanes` lanes, a multiple of `vectors` vectors; `odd`: rows % ROWS if that is
   constant, else -1. */
TARGET INLINE void ANY_DOT(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int then BY_PARAMETER, const REAL *factor COMPENSATION_PARAMETER EARLY_PARAMETER)
{
    for (int64_t x = 0; x < lanes; x += vectors * LANES) {
        const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
        REAL *const left = compensation ? compensation + x : NULL;
#endif
        int64_t r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            parts_T(ROWS, vectors, steps, part, a + r * a_row, a_row, a_step, b + IN_PER_REAL x, b_step,
                c + r * c_row + x, c_row, then BY_ARGUMENT, f COMPENSATION_OF_ROW EARLY_ARGUMENT);
        switch (odd >= 0 ? odd : rows - r) {
CASES
        }
    }
}

#if FETCHED
/* The same where b is in a cache. */
TARGET INLINE void dot_T(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int then, const REAL *factor COMPENSATION_PARAMETER)
{
    dot_early_T(vectors, lanes, rows, odd, steps, part, a, a_row, a_step, b, b_step, c, c_row, then,
        factor COMPENSATION_ARGUMENT, 0);
}

#endif

#if !PAIRED
/* The same where rows of a come from memory: they are fetched AHEAD rows early. So are those of `next`, of `width`
   numbers, which a later product takes as many of. */
TARGET INLINE void dot_ahead_T(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int then, const REAL *factor COMPENSATION_PARAMETER, const REAL *next, int64_t next_row,
    const int64_t width)
{
    const int64_t whole = rows - rows % ROWS, line = 64 / (int64_t)sizeof *a;
    for (int64_t x = 0; x < lanes; x += vectors * LANES) {
        const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
        REAL *const left = compensation ? compensation + x : NULL;
#endif
        for (int64_t r = 0; r < whole; r += ROWS) {
            for (int64_t k = r; k < r + ROWS && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + AHEAD) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
            }
            parts_T(ROWS, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                then, f COMPENSATION_OF_ROW NOT_EARLY);
        }
        dot_T(vectors, vectors * LANES, rows % ROWS, odd, steps, part, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, then, f COMPENSATION_OF_LAST);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of x. */
TARGET INLINE void row_T(const int vectors, int64_t steps, const REAL *a, int64_t a_step, const STORED *b,
    int64_t b_step, REAL *c)
{
    vec_T sum[8];
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_T){0};
    for (int64_t t = 0; t < steps; t++, b += b_step)
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * LOAD_STORED(b + v * LANES);
    UNROLL for (int v = 0; v < vectors; v++) store_T(c + v * LANES, load_T(c + v * LANES) + sum[v]);
}

/* c += the same sum, where b comes from memory: it is asked for early, as in dot_along_T, and widened, some rows at a
   time. A single row takes WIDE lanes at once, and so reads b in the order in which it lies. */
TARGET INLINE void dot_fetched_T(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *c,
    int64_t c_row, const int then, const REAL *factor COMPENSATION_PARAMETER)
{
#if NARROW
    REAL wide[SOME * MAX_LANES];
#endif
    for (int64_t t = 0; t < steps; t += SOME, a += SOME * a_step, b += SOME * b_step) {
        const int64_t some = min(steps - t, SOME);
        if (rows == 1 && then == 1) {
            if (EARLY) fetch_T(SOME, lanes, b + EARLY * b_step, b_step);
            int64_t x = 0;
            for (; x + WIDE <= lanes; x += WIDE) row_T(8, some, a, a_step, b + x, b_step, c + x);
            if (lanes % WIDE) row_T((int)(lanes % WIDE / LANES), some, a, a_step, b + x, b_step, c + x);
            continue;
        }
#if NARROW
        for (int64_t k = 0; k < some; k++) {
            if (ROOMY) fetch_T(1, lanes, b + (k + EARLY_FOR_SEVERAL) * b_step, b_step);
            for (int64_t x = 0; x < lanes; x += LANES) store_T(wide + k * lanes + x, LOAD_STORED(b + k * b_step + x));
        }
        const REAL *const from = wide;
        const int64_t from_step = lanes;
#else
        const REAL *const from = b;
        const int64_t from_step = b_step;
#endif
#if FETCHED
        dot_early_T(vectors, lanes, rows, odd, some, part, a, a_row, a_step, from, from_step, c, c_row, then,
            factor COMPENSATION_ARGUMENT, NARROW || rows < SEVERAL ? 0 : EARLY_FOR_SEVERAL);
#else
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * LANES) {
            const int64_t ask = SOME * (x + vectors * LANES) / lanes; /* not all at once: so many can be under way */
            fetch_T(ask - asked, lanes, b + (EARLY_FOR_SEVERAL + asked) * b_step, b_step);
            asked = ask;
            dot_T(vectors, vectors * LANES, rows, odd, some, part, a, a_row, a_step, from + x, from_step, c + x, c_row, then,
                factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
        }
#endif
    }
}
#endif

/* The same with 0 for what is infinite or NaN in a: row by row, for a copy of few numbers. The last
   of the pairs is whole. */
TARGET INLINE void dot_finite_T(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int then BY_PARAMETER, const REAL *factor COMPENSATION_PARAMETER)
{
    IN row[MAX_STEPS];
    (void)odd;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++)
            for (int k = 0; k < TOGETHER; k++)
                row[TOGETHER * t + k] = finite_T(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;
        dot_T(vectors, lanes, 1, ONE_IS_ODD, steps, part, row, 0, TOGETHER, b, b_step, c + r * c_row, c_row,
            then BY_ARGUMENT, factor COMPENSATION_OF_THE_ROW);
    }
}

/* The same with 0 for what is infinite or NaN in b: a vector of lanes after the other; `fetched`: by the steps of
   dot_fetched_T. */
TARGET INLINE void dot_finite_lanes_T(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int odd, int64_t steps, const int64_t part, const IN *a, int64_t a_row, int64_t a_step, const IN *b,
    int64_t b_step, REAL *c, int64_t c_row, const int then BY_PARAMETER, const REAL *factor COMPENSATION_PARAMETER)
{
    IN column[MAX_STEPS * LANES];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += LANES) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < TOGETHER * LANES; k++) {
                const IN *const p = b + t * b_step + TOGETHER * x + k;
                column[t * TOGETHER * LANES + k] = finite_T(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? SOME : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_T(1, LANES, rows, odd, min(steps - t, some), part, a + t * a_step, a_row, a_step,
                column + t * TOGETHER * LANES, TOGETHER * LANES, c + x, c_row, then BY_ARGUMENT,
                factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
    }
}
