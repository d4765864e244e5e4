/* Sums of rows stored in memory, times a weight for each row. stored.h includes this header. */

#define MANY 16 /* rows of a product whose results exceed the first cache */

#if BLOCKS
/* Writes the products of weights a[r][t] with the scales of row t, which are scale[t][0 … count - 1], to
   w[r][t][0 … count - 1]. There are up to AT_ONCE rows t. Row r begins at r * AT_ONCE * count. */
TARGET INLINE void S(scaled_weights)(int64_t rows, int64_t steps, const int64_t count, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *scale, REAL *w)
{
    for (int64_t r = 0; r < rows; r++, a += a_row, w += AT_ONCE * count) {
#if AT_ONCE % LANES == 0
        if (a_step == 1 && steps == AT_ONCE && (count == 1 || count == 2 || count == 4)) {
            UNROLL for (int64_t first = 0; first < AT_ONCE; first += LANES) {
                const T(vec) x = T(load)(a + first);
                T(vec) t[4] = {x, x, x, x};
                if (count > 1) {
                    t[0] = __builtin_shufflevector(x, x, ZIP_LOW());
                    t[1] = __builtin_shufflevector(x, x, ZIP_HIGH());
                }
                if (count > 2) {
                    t[3] = __builtin_shufflevector(t[1], t[1], ZIP_HIGH());
                    t[2] = __builtin_shufflevector(t[1], t[1], ZIP_LOW());
                    t[1] = __builtin_shufflevector(t[0], t[0], ZIP_HIGH());
                    t[0] = __builtin_shufflevector(t[0], t[0], ZIP_LOW());
                }
                UNROLL for (int64_t k = 0; k < count; k++)
                    T(store)(w + first * count + k * LANES, t[k & 3] * T(load)(scale + first * count + k * LANES));
            }
            continue;
        }
#endif
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < count; k++) w[t * count + k] = a[t * a_step] * scale[t * count + k];
    }
}

#endif
/* Products of one row copy scales and prefetch while they read rows, except for blocks with few registers. */
#define IN_PASSING (!BLOCKS || ROOMY)
#if BLOCKS && ROOMY
#define IF_COPIED(...) , __VA_ARGS__
#else
#define IF_COPIED(...)
#endif
#if EARLY && IN_PASSING
#define IF_FETCHING(argument) , argument
#else
#define IF_FETCHING(argument)
#endif

/* c[x] += sum over t of a[t] * b[t][x] for up to PART_VECTORS vectors of lanes, from x = first on. Terms are rounded
   and added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows AT_ONCE later are copied to `next`, for `later` rows */
TARGET INLINE void S(row)(const int vectors, int64_t first, int64_t steps, const REAL *a, int64_t a_step,
    const STORED *b, int64_t b_step, const int64_t lanes, const int64_t block,
    REAL *c IF_COPIED(SCALE *next, int64_t later) IF_FETCHING(const STORED *ahead))
{
    T(vec) sum[PART_VECTORS];
    (void)lanes;
    (void)block;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (T(vec)){0};
    for (int64_t t = 0; t < steps; t++, b += b_step) {
#if EARLY && IN_PASSING
        if (ahead && first == 0) S(fetch)(1, lanes, ahead + t * b_step, b_step);
#endif
#if BLOCKS && ROOMY
        if (first == 0) /* without a branch, the sums stay in their registers. Scales of later rows are not used */
            S(copy_scales)(1, lanes, b + (t < later ? AT_ONCE * b_step : 0), b_step, next + t * S(scales)(lanes));
#endif
#if BLOCKS
        UNROLL for (int v = 0; v < vectors; v++)
            sum[v] += a[t * a_step + (first + v * LANES) / block] * S(unscaled)(b, first + v * LANES);
#else
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * S(unscaled)(b, first + v * LANES);
#endif
    }
    UNROLL for (int v = 0; v < vectors; v++) T(store)(c + first + v * LANES, T(load)(c + first + v * LANES) + sum[v]);
}

#if NARROW
/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to ABREAST vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights */
TARGET INLINE void S(some_lanes)(const int rows, const int vectors, const int from, int64_t first, const int64_t lanes,
    int64_t steps, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide,
    const STORED *ahead, int64_t ahead_rows, REAL *c, int64_t c_row IF_BLOCKS(const REAL *weight, const int64_t count))
{
    T(vec) sum[6][ABREAST];
#if BLOCKS
    (void)a;
    (void)a_row;
    (void)a_step;
#endif
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (T(vec)){0};
    for (int64_t t = 0; t < steps; t++) {
        T(vec) x[ABREAST];
        if (t < ahead_rows) S(fetch)(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const kept = wide + t * lanes + first + v * LANES;
            x[v] = from == 2 ? T(load)(kept) : S(unscaled)(b + t * b_step, first + v * LANES);
            if (from == 1) T(store)(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
#if BLOCKS
            UNROLL for (int v = 0; v < vectors; v++)
                sum[r][v] += weight[(r * AT_ONCE + t) * count + (first + v * LANES) / S(block_size)(lanes)] * x[v];
#else
            const REAL y = T(factor)(a + r * a_row + t * a_step);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
#endif
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const to = c + r * c_row + first + v * LANES;
            T(store)(to, T(load)(to) + sum[r][v]);
        }
}

/* Like some_lanes, for all lanes. */
TARGET INLINE void S(all_lanes)(const int rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row IF_BLOCKS(const REAL *weight, const int64_t count))
{
    const int64_t share = ABREAST * LANES < lanes ? (ahead_rows * ABREAST * LANES + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + ABREAST * LANES <= lanes; x += ABREAST * LANES) {
        S(some_lanes)(rows, ABREAST, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row IF_BLOCKS(weight, count));
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += LANES) {
        S(some_lanes)(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row IF_BLOCKS(weight, count));
        ahead_rows = 0;
    }
}

/* Like some_lanes, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
TARGET INLINE void S(group)(int64_t rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row IF_BLOCKS(const REAL *scale))
{
#if BLOCKS
    REAL weight[6 * SCALES] __attribute__((aligned(BYTES)));
    const int64_t count = S(scales)(lanes);
    S(scaled_weights)(rows, steps, count, a, a_row, a_step, scale, weight);
#endif
    switch (QUICK ? 1 : rows) {
#define GROUP(n) \
    case n: \
        S(all_lanes)(n, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c, \
            c_row IF_BLOCKS(weight, count)); \
        break;
        ROWS_BELOW(7, GROUP)
#undef GROUP
    }
}

/* Like group, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET INLINE void S(groups)(int64_t rows, const int64_t lanes, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead, REAL *c,
    int64_t c_row IF_BLOCKS(const REAL *scale))
{
    for (; QUICK && rows > 0; rows--, a += a_row, c += c_row)
        S(group)(1, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, 0, c, c_row IF_BLOCKS(scale));
    if (QUICK) return;
    if (rows <= 6) {
        S(group)(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row IF_BLOCKS(scale));
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    S(group)(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row IF_BLOCKS(scale));
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        S(group)(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row IF_BLOCKS(scale));
        asked = ask;
    }
}

/* Like groups, for all rows of b, but only ABREAST vectors of lanes, from x = first on. Many rows of c do not fit in
   the
   first cache, but these lanes of them do. */
TARGET INLINE void S(strip)(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, REAL *c, int64_t c_row IF_PAGED(const STORED *after))
{
#if BLOCKS
    SCALE copy[SCALES + LANES];
    const int64_t count = S(scales)(ABREAST * LANES);
    const STORED *scales = S(block_of)(b, first);
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES))), weights[6 * SCALES] __attribute__((aligned(BYTES)));
    const REAL *const weight = weights - first / S(block_size)(lanes);
    S(copy_scales)(min(AT_ONCE, steps), ABREAST * LANES, scales, b_step, copy);
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
        const STORED *const ahead = S(ahead)(b, b_step, EARLY_FOR_SEVERAL, steps - t, AFTER);
#if BLOCKS
        S(convert_scales)(some * count, copy, scale);
        scales += AT_ONCE * b_step;
        S(copy_scales)(min(AT_ONCE, steps - t - AT_ONCE), ABREAST * LANES, scales, b_step, copy);
#endif
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
#if BLOCKS
            S(scaled_weights)(6, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                S(some_lanes)(6, ABREAST, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row IF_BLOCKS(weight, count));
            else
                S(some_lanes)(6, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row IF_BLOCKS(weight, count));
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
#if BLOCKS
            S(scaled_weights)(2, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            S(some_lanes)(2, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row IF_BLOCKS(weight, count));
        }
        if (r < rows) {
#if BLOCKS
            S(scaled_weights)(1, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            S(some_lanes)(1, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row IF_BLOCKS(weight, count));
        }
    }
}

#endif
/* Like dot, but b is in memory and is prefetched as in dot_along. It is read AT_ONCE rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read PART_LANES lanes at a time. */
TARGET INLINE void S(dot_fetched)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update,
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_EARLY(const int64_t early) IF_PAGED(const STORED *after))
{
#if NARROW
    REAL wide[AT_ONCE * MAX_LANES] __attribute__((aligned(BYTES)));
    if (!QUICK && ROOMY && update == 1 && rows >= MANY && lanes % (ABREAST * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += ABREAST * LANES)
            S(strip)(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row IF_PAGED(after));
        return;
    }
#endif
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    S(copy_scales)(min(AT_ONCE, steps), lanes, b, b_step, copy);
#endif
#if FETCHED && !NARROW
    /* Many rows of c do not fit in the first cache, so a few lanes of them are computed at a time. */
    if (!QUICK && rows >= MANY && lanes > vectors * LANES && lanes % (vectors * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += vectors * LANES)
            for (int64_t t = 0; t < steps; t += AT_ONCE)
                T(dot_early)(vectors, vectors * LANES, rows, tail, min(steps - t, AT_ONCE), span, a + t * a_step, a_row,
                    a_step, b + t * b_step + x, b_step, c + x, c_row, update,
                    factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL),
                    IN_PART(EARLY_FOR_SEVERAL));
        return;
    }
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
        const STORED *const ahead = S(ahead)(b, b_step, rows == 1 ? EARLY_OF_ONE : EARLY_FOR_SEVERAL, steps - t, AFTER);
        (void)ahead;
#if BLOCKS
        const int64_t block = S(block_size)(lanes), later = min(AT_ONCE, steps - t - AT_ONCE);
        S(convert_scales)(some * S(scales)(lanes), copy, scale);
        if (rows > 1 || update != 1) S(copy_scales)(later, lanes, b + AT_ONCE * b_step, b_step, copy);
#else
        const int64_t block = lanes;
#endif
        if (rows == 1 && update == 1) {
#if BLOCKS
            REAL weight[SCALES] __attribute__((aligned(BYTES)));
            S(scaled_weights)(1, some, S(scales)(lanes), a, 0, a_step, scale, weight);
            const REAL *const factor_of_row = weight;
            const int64_t step = S(scales)(lanes);
#else
            const REAL *const factor_of_row = a;
            const int64_t step = a_step;
#endif
            int64_t x = 0;
#if BLOCKS && !ROOMY
            for (int64_t asked = 0; x < lanes; x += PART_LANES) { /* each part prefetches a share of later rows */
                const int64_t ask = min(some * (x + PART_LANES) / lanes, some);
#if EARLY
                if (early) S(fetch)(ask - asked, lanes, ahead + asked * b_step, b_step);
#endif
                S(copy_scales)(min(ask, later) - asked, lanes, b + (AT_ONCE + asked) * b_step, b_step,
                    copy + asked * S(scales)(lanes));
                asked = ask;
                if (x + PART_LANES <= lanes)
                    S(row)(PART_VECTORS, x, some, factor_of_row, step, b, b_step, lanes, block, c);
                else
                    S(row)((int)(lanes % PART_LANES / LANES), x, some, factor_of_row, step, b, b_step, lanes, block, c);
            }
#else
            for (; x + PART_LANES <= lanes; x += PART_LANES)
                S(row)(PART_VECTORS, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c IF_COPIED(copy, later) IF_FETCHING(early ? ahead : NULL));
            if (lanes % PART_LANES)
                S(row)((int)(lanes % PART_LANES / LANES), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c IF_COPIED(copy, later) IF_FETCHING(early ? ahead : NULL));
#endif
            continue;
        }
#if NARROW
#if BLOCKS
        if (update == 1) {
#else
        if (update == 1 && (ROOMY || rows <= 6)) {
#endif
            S(groups)(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row IF_BLOCKS(scale));
            continue;
        }
        S(widen_rows)(some, lanes, b, b_step, wide IF_BLOCKS(scale));
        const REAL *const from = wide;
        const int64_t from_step = lanes;
#else
        const REAL *const from = b;
        const int64_t from_step = b_step;
#endif
#if FETCHED && NARROW
        for (int64_t r = 0, asked = 0; r < rows; r += ROWS) { /* each group of rows prefetches a share */
            const int64_t ask = rows - r <= ROWS ? some : min(asked + (some * ROWS + rows - 1) / rows, some);
            S(fetch)(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            T(dot_early)(vectors, lanes, min(ROWS, rows - r), -1, some, span, a + r * a_row, a_row, a_step, from,
                from_step, c + r * c_row, c_row, update,
                factor IF_COMPENSATED(compensation ? compensation + r * c_row : NULL), 0);
        }
        (void)tail;
#elif FETCHED
        T(dot_early)(vectors, lanes, rows, tail, some, span, a, a_row, a_step, from, from_step, c, c_row, update,
            factor IF_COMPENSATED(compensation), rows < SEVERAL ? 0 : IN_PART(rows < MANY ? DISTANCE : EARLY_FOR_SEVERAL));
#else
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * LANES) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = AT_ONCE * (x + vectors * LANES) / lanes;
            S(fetch)(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            T(dot)(vectors, vectors * LANES, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
        }
#endif
    }
}
#undef MANY
#undef IF_COPIED
#undef IF_FETCHING
