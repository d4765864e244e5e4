/* Template of sums over the elements of pairs of a query and a key, if elements decay differently and are in the lanes.
   The logarithms of decays fall along keys and queries.
   - A block is BLOCK_T keys, from a multiple of BLOCK_T among the keys on, and the queries at these keys.
   - The decay from an earlier block's key to a query is a product: from the key to the end of its block, over the
     blocks between, and from the last key before the query's block to the query. So no factor is above 1.
   - Inside a block, decays are products of those from each key to the next key.
   - A pair's sum depends on no other pair, so the bits do not depend on where a caller cuts a sequence. */

/* The keys of a block. */
#define BLOCK_T 8

/* The keys of half a block. */
#define HALF_T 4

/* The sums add this number of elements at a time. */
#define ELEMENTS_T 128

/* Numbers of that many elements:
   - key: keys, decayed up to the last key of their block
   - over: the decay over a block
   The others belong to the current block:
   - step: the decay from the key before to each key
   - x: rows of queries, if queries have other logarithms than their keys: with the decay between the two
   - row: these rows with the decay from the last key before the block
   - late: the second half of the rows, with the decay from the first half's last key
   - early: the first half of the keys, decayed up to the last of them */
struct decayed_rows_T {
    REAL key[DECAYED_KEYS][ELEMENTS_T], over[DECAYED_KEYS / BLOCK_T][ELEMENTS_T], step[BLOCK_T][ELEMENTS_T],
        x[BLOCK_T][ELEMENTS_T], row[BLOCK_T][ELEMENTS_T], late[HALF_T][ELEMENTS_T], early[HALF_T][ELEMENTS_T];
};

/* Rows of REAL. `low` is what `high` loses by rounding, or NULL. */
struct decay_logs_T {
    const REAL *high, *low;
    int64_t high_row, low_row;
};

/* Elements of one row of struct decay_logs_T. */
struct decay_log_T {
    vec_T high, low;
};

TARGET INLINE struct decay_log_T load_decay_log_T(const struct decay_logs_T *logs, int64_t row, int64_t t)
{
    return (struct decay_log_T){load_T(logs->high + row * logs->high_row + t),
        logs->low ? load_T(logs->low + row * logs->low_row + t) : (vec_T){0}};
}

TARGET INLINE vec_T decay_between_T(const REAL scale, struct decay_log_T a, struct decay_log_T b)
{
    return exp2_T(((a.high - b.high) + (a.low - b.low)) * scale);
}

TARGET INLINE int64_t nearest_T(int64_t k, int64_t count) { return k < 0 ? 0 : k < count ? k : count - 1; }

/* Sets the numbers of the block at key j, for elements t to t + terms - 1. Keys and queries outside the ranges get
   the nearest one's numbers. `same`: the logarithms of queries are those of their keys. */
TARGET INLINE void decay_block_T(struct decayed_rows_T *part, int64_t j, int64_t t, int64_t terms, int64_t lanes,
    int64_t rows, int64_t first, const REAL scale, const REAL *x, int64_t x_row, const struct decay_logs_T *a,
    const REAL *y, int64_t y_row, const struct decay_logs_T *b, const int64_t after, const int same)
{
    for (int64_t i = 0; i < terms; i += LANES) {
        vec_T step[BLOCK_T], row[BLOCK_T], decay;
        struct decay_log_T before = load_decay_log_T(b, nearest_T(j - 1, rows), t + i);
        UNROLL for (int k = 0; k < BLOCK_T; k++) {
            const struct decay_log_T log = load_decay_log_T(b, nearest_T(j + k, rows), t + i);
            const int64_t l = nearest_T(j + k - first, lanes);
            step[k] = decay_between_T(scale, log, before);
            row[k] = load_T(x + l * x_row + t + i);
            if (!same) {
                const struct decay_log_T own = a->high ? load_decay_log_T(a, l, t + i)
                                                       : load_decay_log_T(b, nearest_T(j + k + after, rows), t + i);
                row[k] *= decay_between_T(scale, own, log);
            }
            store_T(part->step[k] + i, step[k]);
            if (!same) store_T(part->x[k] + i, row[k]);
            before = log;
        }
        decay = step[0];
        UNROLL for (int k = 0; k < HALF_T; k++) {
            store_T(part->row[k] + i, row[k] * decay);
            if (k + 1 < HALF_T) decay *= step[k + 1];
        }
        vec_T late = step[HALF_T];
        UNROLL for (int k = HALF_T; k < BLOCK_T; k++) {
            const vec_T faded = row[k] * late;
            store_T(part->late[k - HALF_T] + i, faded);
            store_T(part->row[k] + i, faded * decay);
            if (k + 1 < BLOCK_T) late *= step[k + 1];
        }
        store_T(part->over[j / BLOCK_T] + i, decay * late);
        decay = splat_T(1);
        UNROLL for (int k = HALF_T - 1; k >= 0; k--) {
            const vec_T faded = load_T(y + nearest_T(j + k, rows) * y_row + t + i) * decay;
            store_T(part->early[k] + i, faded);
            store_T(part->key[j + k] + i, faded * late);
            decay *= step[k];
        }
        decay = splat_T(1);
        UNROLL for (int k = BLOCK_T - 1; k >= HALF_T; k--) {
            store_T(part->key[j + k] + i, load_T(y + nearest_T(j + k, rows) * y_row + t + i) * decay);
            decay *= step[k];
        }
    }
}

/* Where sums of pairs are stored, and which. */
struct decayed_pairs_T {
    REAL *w;
    int64_t w_query, w_key, lanes, rows, first;
    REAL times;
};

/* Adds the sums of HALF_T queries, from l on, with HALF_T keys, from j on, where there are such pairs. */
TARGET INLINE void add_decayed_T(const struct decayed_pairs_T *to, int64_t l, int64_t j, const REAL *sum)
{
    REAL *const w = to->w + l * to->w_query + j * to->w_key;
    if (l >= 0 && l + HALF_T <= to->lanes && j + HALF_T <= to->rows && j + HALF_T - 1 <= to->first + l)
        UNROLL for (int r = 0; r < HALF_T; r++)
            UNROLL for (int k = 0; k < HALF_T; k++)
                w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_T + k];
    else
        for (int r = 0; r < HALF_T; r++)
            for (int k = 0; k < HALF_T; k++)
                if (l + r >= 0 && l + r < to->lanes && j + k < to->rows && j + k <= to->first + l + r)
                    w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_T + k];
}

/* sum[r][k] = the sum over elements of x[r] * y[k], for HALF_T rows of each */
TARGET INLINE void decayed_products_T(int64_t terms, REAL (*x)[ELEMENTS_T], REAL (*y)[ELEMENTS_T], REAL *sum)
{
    const int some = REGISTERS > 16 ? HALF_T : HALF_T / 2;
    for (int first = 0; first < HALF_T; first += some) {
        vec_T s[HALF_T * HALF_T];
        UNROLL for (int k = 0; k < some * HALF_T; k++) s[k] = (vec_T){0};
        for (int64_t i = 0; i < terms; i += LANES) {
            vec_T key[HALF_T];
            UNROLL for (int k = 0; k < HALF_T; k++) key[k] = load_T(y[k] + i);
            UNROLL for (int r = 0; r < some; r++) {
                const vec_T row = load_T(x[first + r] + i);
                UNROLL for (int k = 0; k < HALF_T; k++) s[r * HALF_T + k] += row * key[k];
            }
        }
        UNROLL for (int k = 0; k < some * HALF_T; k += LANES)
            store_T(sum + first * HALF_T + k, lane_sums_T(s + k));
    }
}

/* Rows of REAL. Row r is row nearest_T(first + r, count) of `row`. */
struct near_rows_T {
    const REAL *row;
    int64_t step, first, count;
};

TARGET INLINE vec_T load_near_T(const struct near_rows_T *x, int r, int64_t i)
{
    return load_T(x->row + nearest_T(x->first + r, x->count) * x->step + i);
}

/* Like decayed_products_T, for queries at the same keys: only for k <= r, with the decays from each key to the next
   one. */
TARGET INLINE void decayed_own_T(int64_t terms, struct near_rows_T x, struct near_rows_T y, REAL (*step)[ELEMENTS_T],
    REAL *sum)
{
    vec_T s[HALF_T * HALF_T];
    UNROLL for (int k = 0; k < HALF_T * HALF_T; k++) s[k] = (vec_T){0};
    for (int64_t i = 0; i < terms; i += LANES) {
        vec_T key[HALF_T], fade[HALF_T];
        UNROLL for (int k = 0; k < HALF_T; k++) {
            key[k] = load_near_T(&y, k, i);
            fade[k] = load_T(step[k] + i);
        }
        UNROLL for (int r = 0; r < HALF_T; r++) {
            vec_T row = load_near_T(&x, r, i);
            UNROLL for (int k = r; k >= 0; k--) {
                s[r * HALF_T + k] += row * key[k];
                row *= fade[k];
            }
        }
    }
    UNROLL for (int k = 0; k < HALF_T * HALF_T; k += LANES) store_T(sum + k, lane_sums_T(s + k));
}

/* Adds the pairs of the queries of the block at key j, for elements t to t + terms - 1. */
TARGET INLINE void add_block_T(struct decayed_rows_T *part, const struct decayed_pairs_T *to, int64_t j, int64_t t,
    int64_t terms, const REAL *x, int64_t x_row, const REAL *y, int64_t y_row, const int same)
{
    REAL sum[HALF_T * HALF_T];
    const int64_t l = j - to->first;
    for (int h = 0; h < BLOCK_T && j + h < to->rows; h += HALF_T) {
        const struct near_rows_T keys = {y + t, y_row, j + h, to->rows}, made = {part->x[h], ELEMENTS_T, 0, HALF_T},
                                 given = {x + t, x_row, l + h, to->lanes};
        decayed_own_T(terms, same ? given : made, keys, part->step + h, sum);
        add_decayed_T(to, l + h, j + h, sum);
    }
    if (j + HALF_T < to->rows) {
        decayed_products_T(terms, part->late, part->early, sum);
        add_decayed_T(to, l + HALF_T, j, sum);
    }
    for (int64_t from = j - BLOCK_T; from >= 0; from -= BLOCK_T) {
        for (int h = 0; h < BLOCK_T && j + h < to->rows; h += HALF_T)
            for (int k = 0; k < BLOCK_T; k += HALF_T) {
                decayed_products_T(terms, part->row + h, part->key + from + k, sum);
                add_decayed_T(to, l + h, from + k, sum);
            }
        for (int r = 0; r < BLOCK_T && from > 0; r++)
            for (int64_t i = 0; i < terms; i += LANES)
                store_T(part->row[r] + i, load_T(part->row[r] + i) * load_T(part->over[from / BLOCK_T] + i));
    }
}

/* Computes w[l][j] += times * (sum over t of x[l][t] * y[j][t] * exp2(scale * (a[l][t] - b[j][t]))) for the keys
   j <= first + l, j < rows. `steps` is a multiple of LANES. If a is NULL, a[l] is the row of b that is nearest to
   first + l + after. */
TARGET INLINE void decayed_rows_T(int64_t lanes, int64_t rows, const int64_t steps, int64_t first, const REAL times,
    const REAL scale, const REAL *x, int64_t x_row, const REAL *a, int64_t a_row, const REAL *a_low,
    int64_t a_low_row, const REAL *y, int64_t y_row, const REAL *b, int64_t b_row, const REAL *b_low,
    int64_t b_low_row, const int64_t after, REAL *w, const int64_t w_query, const int64_t w_key)
{
    struct decayed_rows_T part;
    const struct decay_logs_T of_rows = {a, a_low, a_row, a_low_row}, of_keys = {b, b_low, b_row, b_low_row};
    const struct decayed_pairs_T to = {w, w_query, w_key, lanes, rows, first, times};
    const int same = a ? first >= 0 && a_row == b_row && a == b + first * b_row : after == 0;
    for (int64_t t = 0; t < steps; t += ELEMENTS_T) {
        const int64_t terms = min(steps - t, ELEMENTS_T);
        for (int64_t j = 0; j < rows && j < first + lanes; j += BLOCK_T) {
            if (same)
                decay_block_T(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 1);
            else
                decay_block_T(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 0);
            if (j + BLOCK_T > first) add_block_T(&part, &to, j, t, terms, x, x_row, y, y_row, same);
        }
    }
    for (int64_t l = first < rows ? rows - first : 0; l < lanes; l++) /* queries after the last key */
        for (int64_t j = 0; j < rows; j++) {
            vec_T sum = {0};
            for (int64_t t = 0; t < steps; t += LANES) {
                const struct decay_log_T own = a ? load_decay_log_T(&of_rows, l, t)
                                                 : load_decay_log_T(&of_keys, rows - 1, t);
                sum += load_T(x + l * x_row + t) * load_T(y + j * y_row + t) *
                    decay_between_T(scale, own, load_decay_log_T(&of_keys, j, t));
            }
            w[l * w_query + j * w_key] += times * lane_sum_T(sum);
        }
}
