/* A target's sums over the elements of pairs of a query and a key, if elements decay differently and are in the lanes.
   A kernel includes this header after elementary.h.
   The logarithms of decays fall along keys and queries.
   - A block is DECAY_BLOCK keys, from a multiple of DECAY_BLOCK among the keys on, and the queries at these keys.
   - The decay from an earlier block's key to a query is a product: from the key to the end of its block, over the
     blocks between, and from the last key before the query's block to the query. So no factor is above 1.
   - Inside a block, decays are products of those from each key to the next key.
   - A pair's sum depends on no other pair, so the bits do not depend on where a caller cuts a sequence. */

/* The keys of a block. */
#define DECAY_BLOCK 8

/* The keys of half a block. */
#define DECAY_HALF 4

/* The sums add this number of elements at a time. */
#define DECAY_ELEMENTS 128

/* Numbers of that many elements:
   - key: keys, decayed up to the last key of their block
   - over: the decay over a block
   The others belong to the current block:
   - step: the decay from the key before to each key
   - x: rows of queries, if queries have other logarithms than their keys: with the decay between the two
   - row: these rows with the decay from the last key before the block
   - late: the second half of the rows, with the decay from the first half's last key
   - early: the first half of the keys, decayed up to the last of them */
struct T(decayed_rows) {
    REAL key[DECAYED_KEYS][DECAY_ELEMENTS], over[DECAYED_KEYS / DECAY_BLOCK][DECAY_ELEMENTS],
        step[DECAY_BLOCK][DECAY_ELEMENTS],
        x[DECAY_BLOCK][DECAY_ELEMENTS], row[DECAY_BLOCK][DECAY_ELEMENTS], late[DECAY_HALF][DECAY_ELEMENTS],
        early[DECAY_HALF][DECAY_ELEMENTS];
};

/* Rows of REAL. `low` is what `high` loses by rounding, or NULL. */
struct T(decay_logs) {
    const REAL *high, *low;
    int64_t high_row, low_row;
};

/* Elements of one row of struct decay_logs. */
struct T(decay_log) {
    T(vec) high, low;
};

TARGET INLINE struct T(decay_log) T(load_decay_log)(const struct T(decay_logs) *logs, int64_t row, int64_t t)
{
    return (struct T(decay_log)){T(load)(logs->high + row * logs->high_row + t),
        logs->low ? T(load)(logs->low + row * logs->low_row + t) : (T(vec)){0}};
}

TARGET INLINE T(vec) T(decay_between)(const REAL scale, struct T(decay_log) a, struct T(decay_log) b)
{
    return T(exp2)(((a.high - b.high) + (a.low - b.low)) * scale);
}

TARGET INLINE int64_t T(nearest)(int64_t k, int64_t count) { return k < 0 ? 0 : k < count ? k : count - 1; }

/* Sets the numbers of the block at key j, for elements t to t + terms - 1. Keys and queries outside the ranges get
   the nearest one's numbers. `same`: the logarithms of queries are those of their keys. */
TARGET INLINE void T(decay_block)(struct T(decayed_rows) *work, int64_t j, int64_t t, int64_t terms, int64_t lanes,
    int64_t rows, int64_t first, const REAL scale, const REAL *x, int64_t x_row, const struct T(decay_logs) *a,
    const REAL *y, int64_t y_row, const struct T(decay_logs) *b, const int64_t after, const int same)
{
    for (int64_t i = 0; i < terms; i += LANES) {
        T(vec) step[DECAY_BLOCK], row[DECAY_BLOCK], decay;
        struct T(decay_log) before = T(load_decay_log)(b, T(nearest)(j - 1, rows), t + i);
        UNROLL for (int k = 0; k < DECAY_BLOCK; k++) {
            const struct T(decay_log) log = T(load_decay_log)(b, T(nearest)(j + k, rows), t + i);
            const int64_t l = T(nearest)(j + k - first, lanes);
            step[k] = T(decay_between)(scale, log, before);
            row[k] = T(load)(x + l * x_row + t + i);
            if (!same) {
                const struct T(decay_log) own = a->high ? T(load_decay_log)(a, l, t + i)
                                                       : T(load_decay_log)(b, T(nearest)(j + k + after, rows), t + i);
                row[k] *= T(decay_between)(scale, own, log);
            }
            T(store)(work->step[k] + i, step[k]);
            if (!same) T(store)(work->x[k] + i, row[k]);
            before = log;
        }
        decay = step[0];
        UNROLL for (int k = 0; k < DECAY_HALF; k++) {
            T(store)(work->row[k] + i, row[k] * decay);
            if (k + 1 < DECAY_HALF) decay *= step[k + 1];
        }
        T(vec) late = step[DECAY_HALF];
        UNROLL for (int k = DECAY_HALF; k < DECAY_BLOCK; k++) {
            const T(vec) faded = row[k] * late;
            T(store)(work->late[k - DECAY_HALF] + i, faded);
            T(store)(work->row[k] + i, faded * decay);
            if (k + 1 < DECAY_BLOCK) late *= step[k + 1];
        }
        T(store)(work->over[j / DECAY_BLOCK] + i, decay * late);
        decay = T(splat)(1);
        UNROLL for (int k = DECAY_HALF - 1; k >= 0; k--) {
            const T(vec) faded = T(load)(y + T(nearest)(j + k, rows) * y_row + t + i) * decay;
            T(store)(work->early[k] + i, faded);
            T(store)(work->key[j + k] + i, faded * late);
            decay *= step[k];
        }
        decay = T(splat)(1);
        UNROLL for (int k = DECAY_BLOCK - 1; k >= DECAY_HALF; k--) {
            T(store)(work->key[j + k] + i, T(load)(y + T(nearest)(j + k, rows) * y_row + t + i) * decay);
            decay *= step[k];
        }
    }
}

/* Where sums of pairs are stored, and which. Query l is at key first + l, and does not see its last `hidden` keys. */
struct T(decayed_pairs) {
    REAL *w;
    int64_t w_query, w_key, lanes, rows, first, hidden;
    REAL times;
};

/* Adds the sums of DECAY_HALF queries, from l on, with DECAY_HALF keys, from j on, where there are such pairs. */
TARGET INLINE void T(add_decayed)(const struct T(decayed_pairs) *to, int64_t l, int64_t j, const REAL *sum)
{
    REAL *const w = to->w + l * to->w_query + j * to->w_key;
    if (l >= 0 && l + DECAY_HALF <= to->lanes && j + DECAY_HALF <= to->rows &&
        j + DECAY_HALF - 1 <= to->first - to->hidden + l)
        UNROLL for (int r = 0; r < DECAY_HALF; r++)
            UNROLL for (int k = 0; k < DECAY_HALF; k++)
                w[r * to->w_query + k * to->w_key] += to->times * sum[r * DECAY_HALF + k];
    else
        for (int r = 0; r < DECAY_HALF; r++)
            for (int k = 0; k < DECAY_HALF; k++)
                if (l + r >= 0 && l + r < to->lanes && j + k < to->rows && j + k <= to->first - to->hidden + l + r)
                    w[r * to->w_query + k * to->w_key] += to->times * sum[r * DECAY_HALF + k];
}

/* sum[r][k] = the sum over elements of x[r] * y[k], for DECAY_HALF rows of each */
TARGET INLINE void T(decayed_products)(int64_t terms, REAL (*x)[DECAY_ELEMENTS], REAL (*y)[DECAY_ELEMENTS], REAL *sum)
{
    const int some = REGISTERS > 16 ? DECAY_HALF : DECAY_HALF / 2;
    for (int first = 0; first < DECAY_HALF; first += some) {
        T(vec) s[DECAY_HALF * DECAY_HALF];
        UNROLL for (int k = 0; k < some * DECAY_HALF; k++) s[k] = (T(vec)){0};
        for (int64_t i = 0; i < terms; i += LANES) {
            T(vec) key[DECAY_HALF];
            UNROLL for (int k = 0; k < DECAY_HALF; k++) key[k] = T(load)(y[k] + i);
            UNROLL for (int r = 0; r < some; r++) {
                const T(vec) row = T(load)(x[first + r] + i);
                UNROLL for (int k = 0; k < DECAY_HALF; k++) s[r * DECAY_HALF + k] += row * key[k];
            }
        }
        UNROLL for (int k = 0; k < some * DECAY_HALF; k += LANES)
            T(store)(sum + first * DECAY_HALF + k, T(lane_sums)(s + k));
    }
}

/* Rows of REAL. Row r is row nearest(first + r, count) of `row`. */
struct T(near_rows) {
    const REAL *row;
    int64_t step, first, count;
};

TARGET INLINE T(vec) T(load_near)(const struct T(near_rows) *x, int r, int64_t i)
{
    return T(load)(x->row + T(nearest)(x->first + r, x->count) * x->step + i);
}

/* Like decayed_products, for queries at the same keys: only for k <= r, with the decays from each key to the next
   one. */
TARGET INLINE void T(decayed_own)(int64_t terms, struct T(near_rows) x, struct T(near_rows) y,
    REAL (*step)[DECAY_ELEMENTS],
    REAL *sum)
{
    T(vec) s[DECAY_HALF * DECAY_HALF];
    UNROLL for (int k = 0; k < DECAY_HALF * DECAY_HALF; k++) s[k] = (T(vec)){0};
    for (int64_t i = 0; i < terms; i += LANES) {
        T(vec) key[DECAY_HALF], fade[DECAY_HALF];
        UNROLL for (int k = 0; k < DECAY_HALF; k++) {
            key[k] = T(load_near)(&y, k, i);
            fade[k] = T(load)(step[k] + i);
        }
        UNROLL for (int r = 0; r < DECAY_HALF; r++) {
            T(vec) row = T(load_near)(&x, r, i);
            UNROLL for (int k = r; k >= 0; k--) {
                s[r * DECAY_HALF + k] += row * key[k];
                row *= fade[k];
            }
        }
    }
    UNROLL for (int k = 0; k < DECAY_HALF * DECAY_HALF; k += LANES) T(store)(sum + k, T(lane_sums)(s + k));
}

/* Adds the pairs of the queries of the block at key j, for elements t to t + terms - 1. */
TARGET INLINE void T(add_block)(struct T(decayed_rows) *work, const struct T(decayed_pairs) *to, int64_t j, int64_t t,
    int64_t terms, const REAL *x, int64_t x_row, const REAL *y, int64_t y_row, const int same)
{
    REAL sum[DECAY_HALF * DECAY_HALF];
    const int64_t l = j - to->first;
    for (int h = 0; h < DECAY_BLOCK && j + h < to->rows; h += DECAY_HALF) {
        const struct T(near_rows) keys = {y + t, y_row, j + h, to->rows},
            made = {work->x[h], DECAY_ELEMENTS, 0, DECAY_HALF}, given = {x + t, x_row, l + h, to->lanes};
        T(decayed_own)(terms, same ? given : made, keys, work->step + h, sum);
        T(add_decayed)(to, l + h, j + h, sum);
    }
    if (j + DECAY_HALF < to->rows) {
        T(decayed_products)(terms, work->late, work->early, sum);
        T(add_decayed)(to, l + DECAY_HALF, j, sum);
    }
    for (int64_t from = j - DECAY_BLOCK; from >= 0; from -= DECAY_BLOCK) {
        for (int h = 0; h < DECAY_BLOCK && j + h < to->rows; h += DECAY_HALF)
            for (int k = 0; k < DECAY_BLOCK; k += DECAY_HALF) {
                T(decayed_products)(terms, work->row + h, work->key + from + k, sum);
                T(add_decayed)(to, l + h, from + k, sum);
            }
        for (int r = 0; r < DECAY_BLOCK && from > 0; r++)
            for (int64_t i = 0; i < terms; i += LANES)
                T(store)(work->row[r] + i, T(load)(work->row[r] + i) * T(load)(work->over[from / DECAY_BLOCK] + i));
    }
}

/* Computes w[l][j] += times * (sum over t of x[l][t] * y[j][t] * exp2(scale * (a[l][t] - b[j][t]))) for the keys
   j <= first + l, j < rows. `steps` is a multiple of LANES. If a is NULL, a[l] is the row of b that is nearest to
   first + l + after. */
TARGET INLINE void T(decayed_rows)(int64_t lanes, int64_t rows, const int64_t steps, int64_t first, const REAL times,
    const REAL scale, const REAL *x, int64_t x_row, const REAL *a, int64_t a_row, const REAL *a_low,
    int64_t a_low_row, const REAL *y, int64_t y_row, const REAL *b, int64_t b_row, const REAL *b_low,
    int64_t b_low_row, const int64_t after, REAL *w, const int64_t w_query, const int64_t w_key)
{
    struct T(decayed_rows) work;
    const struct T(decay_logs) of_rows = {a, a_low, a_row, a_low_row}, of_keys = {b, b_low, b_row, b_low_row};
    const int64_t hidden = !a && after > 0 ? after : 0;
    const int same = a ? first >= 0 && a_row == b_row && a == b + first * b_row : after == hidden;
    first += hidden;
    const struct T(decayed_pairs) to = {w, w_query, w_key, lanes, rows, first, hidden, times};
    for (int64_t t = 0; t < steps; t += DECAY_ELEMENTS) {
        const int64_t terms = min(steps - t, DECAY_ELEMENTS);
        for (int64_t j = 0; j < rows && j < first + lanes; j += DECAY_BLOCK) {
            if (same)
                T(decay_block)(&work, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    0, 1);
            else
                T(decay_block)(&work, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after - hidden, 0);
            if (j + DECAY_BLOCK > first) T(add_block)(&work, &to, j, t, terms, x, x_row, y, y_row, same);
        }
    }
    for (int64_t l = first < rows ? rows - first : 0; l < lanes; l++) /* queries after the last key */
        for (int64_t j = 0; j < rows && j <= first - hidden + l; j++) {
            T(vec) sum = {0};
            for (int64_t t = 0; t < steps; t += LANES) {
                const struct T(decay_log) own = a ? T(load_decay_log)(&of_rows, l, t)
                                                 : T(load_decay_log)(&of_keys, rows - 1, t);
                sum += T(load)(x + l * x_row + t) * T(load)(y + j * y_row + t) *
                    T(decay_between)(scale, own, T(load_decay_log)(&of_keys, j, t));
            }
            w[l * w_query + j * w_key] += times * T(lane_sum)(sum);
        }
}

/* The rows whose sums are in registers at a time. */
#define DECAY_ROWS 8

/* One vector of elements of a chunk: query l is at key first + l, and `step` has the decay from the key before to each
   key. */
struct T(decayed_column) {
    int64_t rows, first;
    T(vec) step[DECAYED_KEYS + 1];
};

/* Returns the decay from the last key of query l, or of the last row, to the query. */
TARGET INLINE T(vec) T(decay_after)(const REAL scale, const struct T(decay_logs) *a, const struct T(decay_logs) *b,
    const struct T(decayed_column) *c, int64_t l, int64_t t)
{
    return T(decay_between)(scale, T(load_decay_log)(a, l, t),
        T(load_decay_log)(b, T(nearest)(c->first + l, c->rows), t));
}

TARGET INLINE void T(decay_steps)(struct T(decayed_column) *c, const REAL scale, const struct T(decay_logs) *b,
    int64_t t)
{
    struct T(decay_log) before = T(load_decay_log)(b, 0, t);
    c->step[0] = c->step[c->rows] = T(splat)(1);
    for (int64_t j = 1; j < c->rows; j++) {
        const struct T(decay_log) log = T(load_decay_log)(b, j, t);
        c->step[j] = T(decay_between)(scale, log, before);
        before = log;
    }
}

/* Computes to[l][t] += times * (sum over keys j <= first + l of p[l][j] * y[j][t] * exp2(scale * (a[l][t] - b[j][t]))).
   Key j of query l has p[l * p_query + j * p_key]. `steps` is a multiple of LANES. From key to key, a sum is multiplied
   by the decay, so no factor is above 1. */
TARGET INLINE void T(decayed_keys)(int64_t lanes, int64_t rows, const int64_t steps, int64_t first, const REAL times,
    const REAL scale, const REAL *p, const int64_t p_query, const int64_t p_key, const REAL *y, int64_t y_row,
    const REAL *a, int64_t a_row, const REAL *a_low, int64_t a_low_row, const REAL *b, int64_t b_row,
    const REAL *b_low, int64_t b_low_row, REAL *to, const int64_t to_row)
{
    const struct T(decay_logs) of_queries = {a, a_low, a_row, a_low_row}, of_keys = {b, b_low, b_row, b_low_row};
    const int same = a_row == b_row && first >= 0 && first + lanes <= rows && a == b + first * b_row;
    struct T(decayed_column) c = {.rows = rows, .first = first};
    for (int64_t t = 0; t < steps && rows > 0; t += LANES) {
        T(decay_steps)(&c, scale, &of_keys, t);
        for (int64_t l = 0; l < lanes; l += DECAY_ROWS) {
            T(vec) sum[DECAY_ROWS];
            const REAL *of[DECAY_ROWS];
            const int64_t common = first + l; /* the last key that all these queries see */
            UNROLL for (int r = 0; r < DECAY_ROWS; r++) {
                sum[r] = (T(vec)){0};
                of[r] = p + T(nearest)(l + r, lanes) * p_query;
            }
            for (int64_t j = 0; j <= common && j < rows; j++) {
                const T(vec) row = T(load)(y + j * y_row + t), step = c.step[j];
                UNROLL for (int r = 0; r < DECAY_ROWS; r++) sum[r] = sum[r] * step + row * of[r][j * p_key];
            }
            UNROLL for (int k = 1; k < DECAY_ROWS; k++) {
                const int64_t j = common + k;
                if (j < 0 || j >= rows) continue;
                const T(vec) row = T(load)(y + j * y_row + t), step = c.step[j];
                UNROLL for (int r = k; r < DECAY_ROWS; r++) sum[r] = sum[r] * step + row * of[r][j * p_key];
            }
            UNROLL for (int r = 0; r < DECAY_ROWS; r++) {
                REAL *const at = to + (l + r) * to_row + t;
                if (l + r >= lanes || common + r < 0) continue;
                if (!same) sum[r] *= T(decay_after)(scale, &of_queries, &of_keys, &c, l + r, t);
                T(store)(at, T(load)(at) + sum[r] * times);
            }
        }
    }
}

/* Computes to[j][t] += times * (sum over queries l with j <= first + l of p[l][j] * y[l][t] * exp2(scale * (a[l][t] -
   b[j][t]))). */
TARGET INLINE void T(decayed_queries)(int64_t lanes, int64_t rows, const int64_t steps, int64_t first,
    const REAL times, const REAL scale, const REAL *p, const int64_t p_query, const int64_t p_key, const REAL *y,
    int64_t y_row, const REAL *a, int64_t a_row, const REAL *a_low, int64_t a_low_row, const REAL *b, int64_t b_row,
    const REAL *b_low, int64_t b_low_row, REAL *to, const int64_t to_row)
{
    const struct T(decay_logs) of_queries = {a, a_low, a_row, a_low_row}, of_keys = {b, b_low, b_row, b_low_row};
    const int same = a_row == b_row && first >= 0 && first + lanes <= rows && a == b + first * b_row;
    struct T(decayed_column) c = {.rows = rows, .first = first};
    for (int64_t t = 0; t < steps && rows > 0; t += LANES) {
        T(vec) row[DECAYED_KEYS]; /* those of the queries at the keys */
        T(decay_steps)(&c, scale, &of_keys, t);
        const int64_t begin = first < 0 ? 0 : first, end = min(first + lanes, rows);
        for (int64_t i = begin; i < end; i++) {
            row[i] = T(load)(y + (i - first) * y_row + t);
            if (!same) row[i] *= T(decay_after)(scale, &of_queries, &of_keys, &c, i - first, t);
        }
        for (int64_t j = 0; j < end || (j < rows && first + lanes > rows); j += DECAY_ROWS) {
            T(vec) sum[DECAY_ROWS];
            const REAL *of[DECAY_ROWS];
            UNROLL for (int r = 0; r < DECAY_ROWS; r++) {
                sum[r] = (T(vec)){0};
                of[r] = p + T(nearest)(j + r, rows) * p_key;
            }
            for (int64_t l = first < rows ? rows - first : 0; l < lanes; l++) { /* queries after the last key */
                const T(vec) late = T(load)(y + l * y_row + t) *
                    T(decay_after)(scale, &of_queries, &of_keys, &c, l, t);
                UNROLL for (int r = 0; r < DECAY_ROWS; r++) sum[r] += late * of[r][l * p_query];
            }
            int64_t i = first + lanes > rows ? rows - 1 : end - 1;
            for (; i >= j + DECAY_ROWS - 1; i--) {
                const T(vec) step = c.step[i + 1];
                UNROLL for (int r = 0; r < DECAY_ROWS; r++) sum[r] *= step;
                if (i < begin || i >= end) continue;
                UNROLL for (int r = 0; r < DECAY_ROWS; r++) sum[r] += row[i] * of[r][(i - first) * p_query];
            }
            UNROLL for (int k = DECAY_ROWS - 2; k >= 0; k--) {
                if (j + k > i) continue;
                const T(vec) step = c.step[j + k + 1];
                const int sees = j + k >= begin && j + k < end;
                UNROLL for (int r = 0; r <= k; r++) {
                    sum[r] *= step;
                    if (sees) sum[r] += row[j + k] * of[r][(j + k - first) * p_query];
                }
            }
            UNROLL for (int r = 0; r < DECAY_ROWS; r++) {
                REAL *const at = to + (j + r) * to_row + t;
                if (j + r < rows) T(store)(at, T(load)(at) + sum[r] * times);
            }
        }
    }
}
