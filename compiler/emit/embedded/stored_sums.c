/* Template of sums of rows stored in memory, times a weight for each row. It is filled for each type after stored.c. */

#if BLOCKS
/* Writes the products of weights a[r][t] with the scales of row t, which are scale[t][0 … count - 1], to
   w[r][t][0 … count - 1]. There are up to AT_ONCE rows t. Row r begins at r * AT_ONCE * count. */
TARGET INLINE void scaled_weights_T(int64_t rows, int64_t steps, const int64_t count, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *scale, REAL *w)
{
    for (int64_t r = 0; r < rows; r++, a += a_row, w += AT_ONCE * count) {
#if AT_ONCE % LANES == 0
        if (a_step == 1 && steps == AT_ONCE && (count == 1 || count == 2 || count == 4)) {
            UNROLL for (int64_t first = 0; first < AT_ONCE; first += LANES) {
                const vec_T x = load_T(a + first);
                vec_T t[4] = {x, x, x, x};
                if (count > 1) {
                    t[0] = __builtin_shufflevector(x, x, ZIP_LOW);
                    t[1] = __builtin_shufflevector(x, x, ZIP_HIGH);
                }
                if (count > 2) {
                    t[3] = __builtin_shufflevector(t[1], t[1], ZIP_HIGH);
                    t[2] = __builtin_shufflevector(t[1], t[1], ZIP_LOW);
                    t[1] = __builtin_shufflevector(t[0], t[0], ZIP_HIGH);
                    t[0] = __builtin_shufflevector(t[0], t[0], ZIP_LOW);
                }
                UNROLL for (int64_t k = 0; k < count; k++)
                    store_T(w + first * count + k * LANES, t[k & 3] * load_T(scale + first * count + k * LANES));
            }
            continue;
        }
#endif
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < count; k++) w[t * count + k] = a[t * a_step] * scale[t * count + k];
    }
}

#endif
#if IN_PARTS
/* c[x] += sum over t of a[t][x / block] * unscaled b[t][x] for up to PART_VECTORS vectors of lanes, from x = first
   on. Terms are rounded and added as for several rows. */
TARGET INLINE void part_of_row_T(const int vectors, int64_t first, int64_t steps, const REAL *a, int64_t a_step,
    const STORED *b, int64_t b_step, const int64_t block, REAL *c)
{
    vec_T sum[PART_VECTORS];
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_T){0};
    for (int64_t t = 0; t < steps; t++, b += b_step)
        UNROLL for (int v = 0; v < vectors; v++)
            sum[v] += a[t * a_step + (first + v * LANES) / block] * unscaled_T(b, first + v * LANES);
    UNROLL for (int v = 0; v < vectors; v++) store_T(c + first + v * LANES, load_T(c + first + v * LANES) + sum[v]);
}

#else
/* c[x] += sum over t of a[t] * b[t][x] for up to PART_VECTORS vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows AT_ONCE later are copied to `next`, for `later` rows */
TARGET INLINE void row_T(const int vectors, int64_t first, int64_t steps, const REAL *a, int64_t a_step,
    const STORED *b, int64_t b_step, const int64_t lanes, const int64_t block, REAL *c
    SCALE_PARAMETER NEXT_PARAMETER AHEAD_PARAMETER)
{
    vec_T sum[PART_VECTORS];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_T){0};
#if BLOCKS
    (void)scale;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
#if IS_EARLY
        if (ahead && first == 0) fetch_T(1, lanes, ahead + t * b_step, b_step);
#endif
        if (first == 0) /* without a branch, the sums stay in their registers. Scales of later rows are not used */
            copy_scales_T(1, lanes, b + (t < later ? AT_ONCE * b_step : 0), b_step, next + t * scales_T(lanes));
        UNROLL for (int v = 0; v < vectors; v++)
            sum[v] += a[t * a_step + (first + v * LANES) / block] * unscaled_T(b, first + v * LANES);
    }
#else
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
#if IS_EARLY
        if (ahead && first == 0) fetch_T(1, lanes, ahead + t * b_step, b_step);
#endif
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_T(b, first + v * LANES);
    }
#endif
    UNROLL for (int v = 0; v < vectors; v++) store_T(c + first + v * LANES, load_T(c + first + v * LANES) + sum[v]);
}

#endif
#if NARROW
/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to ABREAST vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights_T */
TARGET INLINE void some_lanes_T(const int rows, const int vectors, const int from, int64_t first, const int64_t lanes,
    int64_t steps, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide,
    const STORED *ahead, int64_t ahead_rows, REAL *c, int64_t c_row WEIGHT_PARAMETER)
{
    vec_T sum[6][ABREAST];
#if BLOCKS
    (void)a;
    (void)a_row;
    (void)a_step;
#endif
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_T){0};
    for (int64_t t = 0; t < steps; t++) {
        vec_T x[ABREAST];
        if (t < ahead_rows) fetch_T(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const kept = wide + t * lanes + first + v * LANES;
            x[v] = from == 2 ? load_T(kept) : unscaled_T(b + t * b_step, first + v * LANES);
            if (from == 1) store_T(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
#if BLOCKS
            UNROLL for (int v = 0; v < vectors; v++)
                sum[r][v] += weight[(r * AT_ONCE + t) * count + (first + v * LANES) / block_size_T(lanes)] * x[v];
#else
            const REAL y = a[r * a_row + t * a_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
#endif
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const to = c + r * c_row + first + v * LANES;
            store_T(to, load_T(to) + sum[r][v]);
        }
}

/* Like some_lanes_T, for all lanes. */
TARGET INLINE void all_lanes_T(const int rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row WEIGHT_PARAMETER)
{
    const int64_t share = ABREAST * LANES < lanes ? (ahead_rows * ABREAST * LANES + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + ABREAST * LANES <= lanes; x += ABREAST * LANES) {
        some_lanes_T(rows, ABREAST, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row WEIGHT_ARGUMENT);
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += LANES) {
        some_lanes_T(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row WEIGHT_ARGUMENT);
        ahead_rows = 0;
    }
}

/* Like some_lanes_T, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
TARGET INLINE void group_T(int64_t rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row SCALE_PARAMETER)
{
#if BLOCKS
    REAL weight[6 * SCALES] __attribute__((aligned(BYTES)));
    const int64_t count = scales_T(lanes);
    scaled_weights_T(rows, steps, count, a, a_row, a_step, scale, weight);
#endif
    switch (rows) {
        case 6: all_lanes_T(6, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row WEIGHT_ARGUMENT); break;
        case 5: all_lanes_T(5, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row WEIGHT_ARGUMENT); break;
        case 4: all_lanes_T(4, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row WEIGHT_ARGUMENT); break;
        case 3: all_lanes_T(3, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row WEIGHT_ARGUMENT); break;
        case 2: all_lanes_T(2, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row WEIGHT_ARGUMENT); break;
        default: all_lanes_T(1, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row WEIGHT_ARGUMENT); break;
    }
}

/* Like group_T, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET INLINE void groups_T(int64_t rows, const int64_t lanes, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead, REAL *c,
    int64_t c_row SCALE_PARAMETER)
{
    if (rows <= 6) {
        group_T(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row SCALE_ARGUMENT);
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    group_T(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row SCALE_ARGUMENT);
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        group_T(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row SCALE_ARGUMENT);
        asked = ask;
    }
}

#endif
#if NARROW
/* Like groups_T, for all rows of b, but only ABREAST vectors of lanes, from x = first on. Many rows of c do not fit in the
   first cache, but these lanes of them do. */
TARGET INLINE void strip_T(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, REAL *c, int64_t c_row AFTER_PARAMETER)
{
#if BLOCKS
    SCALE copy[SCALES + LANES];
    const int64_t count = scales_T(ABREAST * LANES);
    const STORED *scales = block_of_T(b, first);
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES))), weights[6 * SCALES] __attribute__((aligned(BYTES)));
    const REAL *const weight = weights - first / block_size_T(lanes);
    copy_scales_T(min(AT_ONCE, steps), ABREAST * LANES, scales, b_step, copy);
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
        const STORED *const ahead = ahead_T(b, b_step, EARLY_FOR_SEVERAL, steps - t, AFTER);
#if BLOCKS
        convert_scales_T(some * count, copy, scale);
        scales += AT_ONCE * b_step;
        copy_scales_T(min(AT_ONCE, steps - t - AT_ONCE), ABREAST * LANES, scales, b_step, copy);
#endif
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
#if BLOCKS
            scaled_weights_T(6, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                some_lanes_T(6, ABREAST, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row WEIGHT_ARGUMENT);
            else
                some_lanes_T(6, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row WEIGHT_ARGUMENT);
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
#if BLOCKS
            scaled_weights_T(2, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            some_lanes_T(2, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row WEIGHT_ARGUMENT);
        }
        if (r < rows) {
#if BLOCKS
            scaled_weights_T(1, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            some_lanes_T(1, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row WEIGHT_ARGUMENT);
        }
    }
}

#endif
/* Like dot_T, but b is in memory and is prefetched as in dot_along_T. It is read AT_ONCE rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read PART_LANES lanes at a time. */
TARGET INLINE void dot_fetched_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor COMPENSATION_PARAMETER FETCH_PARAMETER AFTER_PARAMETER)
{
#if NARROW
    REAL wide[AT_ONCE * MAX_LANES] __attribute__((aligned(BYTES)));
    if (ROOMY && update == 1 && rows >= MANY && lanes % (ABREAST * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += ABREAST * LANES)
            strip_T(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row AFTER_ARGUMENT);
        return;
    }
#endif
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    copy_scales_T(min(AT_ONCE, steps), lanes, b, b_step, copy);
#endif
#if FETCHED && !NARROW
    /* Many rows of c do not fit in the first cache, so a few lanes of them are computed at a time. */
    if (rows >= MANY && lanes % (vectors * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += vectors * LANES)
            for (int64_t t = 0; t < steps; t += AT_ONCE)
                dot_early_T(vectors, vectors * LANES, rows, tail, min(steps - t, AT_ONCE), span, a + t * a_step, a_row,
                    a_step, b + t * b_step + x, b_step, c + x, c_row, update,
                    factor ? factor + x : NULL COMPENSATION_OF_COLUMN, EARLY_IN_PART);
        return;
    }
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
        const STORED *const ahead = ahead_T(b, b_step, rows == 1 ? EARLY_OF_ONE : EARLY_FOR_SEVERAL, steps - t, AFTER);
        (void)ahead;
#if BLOCKS
        const int64_t block = block_size_T(lanes), later = min(AT_ONCE, steps - t - AT_ONCE);
        convert_scales_T(some * scales_T(lanes), copy, scale);
        if (rows > 1 || update != 1) copy_scales_T(later, lanes, b + AT_ONCE * b_step, b_step, copy);
#else
        const int64_t block = lanes;
#endif
        if (rows == 1 && update == 1) {
#if BLOCKS
            REAL weight[SCALES] __attribute__((aligned(BYTES)));
            scaled_weights_T(1, some, scales_T(lanes), a, 0, a_step, scale, weight);
            const REAL *const factor_of_row = weight;
            const int64_t step = scales_T(lanes);
#else
            const REAL *const factor_of_row = a;
            const int64_t step = a_step;
#endif
            int64_t x = 0;
#if IN_PARTS
            for (int64_t asked = 0; x < lanes; x += PART_LANES) { /* each part prefetches a share of later rows */
                const int64_t ask = min(some * (x + PART_LANES) / lanes, some);
#if IS_EARLY
                if (early) fetch_T(ask - asked, lanes, ahead + asked * b_step, b_step);
#endif
                copy_scales_T(min(ask, later) - asked, lanes, b + (AT_ONCE + asked) * b_step, b_step,
                    copy + asked * scales_T(lanes));
                asked = ask;
                if (x + PART_LANES <= lanes)
                    part_of_row_T(PART_VECTORS, x, some, factor_of_row, step, b, b_step, block, c);
                else
                    part_of_row_T((int)(lanes % PART_LANES / LANES), x, some, factor_of_row, step, b, b_step, block, c);
            }
#else
            for (; x + PART_LANES <= lanes; x += PART_LANES)
                row_T(PART_VECTORS, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c SCALE_ARGUMENT NEXT_ARGUMENT AHEAD_OF_ONE);
            if (lanes % PART_LANES)
                row_T((int)(lanes % PART_LANES / LANES), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c SCALE_ARGUMENT NEXT_ARGUMENT AHEAD_OF_ONE);
#endif
            continue;
        }
#if NARROW
#if BLOCKS
        if (update == 1) {
#else
        if (update == 1 && (ROOMY || rows <= 6)) {
#endif
            groups_T(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row SCALE_ARGUMENT);
            continue;
        }
        widen_rows_T(some, lanes, b, b_step, wide SCALE_ARGUMENT);
        const REAL *const from = wide;
        const int64_t from_step = lanes;
#else
        const REAL *const from = b;
        const int64_t from_step = b_step;
#endif
#if FETCHED && NARROW
        for (int64_t r = 0, asked = 0; r < rows; r += ROWS) { /* each group of rows prefetches a share */
            const int64_t ask = rows - r <= ROWS ? some : min(asked + (some * ROWS + rows - 1) / rows, some);
            fetch_T(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_early_T(vectors, lanes, min(ROWS, rows - r), -1, some, span, a + r * a_row, a_row, a_step, from,
                from_step, c + r * c_row, c_row, update, factor COMPENSATION_OF_GROUP, 0);
        }
        (void)tail;
#elif FETCHED
        dot_early_T(vectors, lanes, rows, tail, some, span, a, a_row, a_step, from, from_step, c, c_row, update,
            factor COMPENSATION_ARGUMENT, rows < SEVERAL ? 0 : DISTANCE_IN_PART);
#else
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * LANES) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = AT_ONCE * (x + vectors * LANES) / lanes;
            fetch_T(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_T(vectors, vectors * LANES, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
        }
#endif
    }
}
