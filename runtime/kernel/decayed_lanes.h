/* A target's sums over the elements of pairs of a query and a key, if elements decay differently and queries are in the
   lanes. A kernel includes this header after elementary.h. */

#define DECAY_TERMS 32 /* the sums add this number of terms at a time */

/* Numbers of a tile of terms, for one vector of lanes. In the rows of two vectors, the second is for the key of the
   first lane and later keys, and the first vector is 0. */
struct T(decayed_tile) {
    REAL row[DECAY_TERMS][LANES], key[DECAY_TERMS][2 * LANES], log[DECAY_TERMS][2 * LANES], low[DECAY_TERMS][2 * LANES],
        fade[DECAY_TERMS][2 * LANES], x[DECAY_TERMS][LANES], a[DECAY_TERMS][LANES], a_low[DECAY_TERMS][LANES];
};

/* Copies lanes [from, from + LANES) of some terms. Lanes outside [0, lanes) get the nearest lane's number. */
TARGET INLINE void T(copy_lanes)(REAL (*to)[LANES], int terms, int64_t from, int64_t lanes, const REAL *x,
    int64_t x_step)
{
    for (int t = 0; t < terms; t++)
        for (int l = 0; l < LANES; l++) {
            const int64_t lane = from + l < 0 ? 0 : from + l < lanes ? from + l : lanes - 1;
            to[t][l] = x ? x[t * x_step + lane] : 0;
        }
}

/* Returns exp2(scale * (a - b)), where a and b are sums of two numbers. */
TARGET INLINE T(vec) T(decay)(REAL scale, T(vec) a, T(vec) a_low, T(vec) b, T(vec) b_low)
{
    return T(exp2)(((a - b) + (a_low - b_low)) * scale);
}

TARGET INLINE T(vec) T(load_low)(const REAL *p) { return p ? T(load)(p) : (T(vec)){0}; }

/* Copies numbers of the keys from `first` on. Keys before or after the rows get 0 and the nearest row's logarithm. */
TARGET INLINE void T(near_keys)(struct T(decayed_tile) *tile, int t, int64_t rows, int64_t first, const REAL *y,
    const REAL *b, const REAL *b_low)
{
    for (int l = 0; l < LANES; l++) {
        const int64_t j = first + l, nearest = j < 0 ? 0 : j < rows ? j : rows - 1;
        tile->key[t][LANES + l] = j == nearest ? y[j] : 0;
        tile->log[t][LANES + l] = b[nearest];
        tile->low[t][LANES + l] = b_low ? b_low[nearest] : 0;
    }
}

/* Adds the terms of the keys that are at most LANES - 1 before the query of their lane, and not before `first`.
   near[n]: the sums for the keys n before the query. The decay for n + 1 is that for n times the decay between two
   keys. So no exponent is positive. */
TARGET INLINE void T(decayed_near)(struct T(decayed_tile) *tile, int terms, int64_t rows, int64_t first,
    const REAL scale, const REAL *x, const REAL *a, const REAL *a_low, int64_t x_step, const REAL *y, const REAL *b,
    const REAL *b_low, int64_t y_step, T(vec) *near)
{
    const int whole = first >= 0 && first + LANES <= rows;
    for (int t = 0; t < terms; t++, y += y_step, b += y_step, b_low += b_low ? y_step : 0) {
        if (whole) {
            T(store)(tile->key[t] + LANES, T(load)(y + first));
            T(store)(tile->log[t] + LANES, T(load)(b + first));
            T(store)(tile->low[t] + LANES, T(load_low)(b_low ? b_low + first : NULL));
        } else
            T(near_keys)(tile, t, rows, first, y, b, b_low);
        T(store)(tile->key[t], (T(vec)){0});
        tile->log[t][LANES - 1] = tile->log[t][LANES];
        tile->low[t][LANES - 1] = tile->low[t][LANES];
    }
    for (int t = 0; t < terms; t++, x += x_step, a += x_step, a_low += a_low ? x_step : 0) {
        const T(vec) log = T(load)(tile->log[t] + LANES), low = T(load)(tile->low[t] + LANES);
        T(store)(tile->fade[t], (T(vec)){0});
        T(store)(tile->fade[t] + LANES,
            T(decay)(scale, log, low, T(load)(tile->log[t] + LANES - 1), T(load)(tile->low[t] + LANES - 1)));
        T(store)(tile->row[t], T(load)(x) * T(decay)(scale, T(load)(a), T(load_low)(a_low), log, low));
    }
    T(vec) sum[LANES];
    UNROLL for (int n = 0; n < LANES; n++) sum[n] = (T(vec)){0};
    for (int t = 0; t < terms; t++) {
        T(vec) row = T(load)(tile->row[t]);
        UNROLL for (int n = 0; n < LANES; n++) {
            sum[n] += row * T(load)(tile->key[t] + LANES - n);
            row *= T(load)(tile->fade[t] + LANES - n);
        }
    }
    UNROLL for (int n = 0; n < LANES; n++) near[n] += sum[n];
}

/* Adds the terms of the keys from j on, up to LANES of them, none after the border. Decays are products of those up
   to the border and from there on. Only lanes [begin, end) are stored. */
TARGET INLINE void T(decayed_far)(struct T(decayed_tile) *tile, int terms, int64_t j, int64_t border, const REAL times,
    const REAL scale, const REAL *y, const REAL *b, const REAL *b_low, int64_t y_step, REAL *w, int64_t w_row,
    int begin,
    int end)
{
    for (int t = 0; t < terms; t++, y += y_step, b += y_step, b_low += b_low ? y_step : 0)
        T(store)(tile->key[t],
            T(load)(y + j) * T(decay)(scale, T(splat)(b[border]), T(splat)(b_low ? b_low[border] : 0), T(load)(b + j),
                                T(load_low)(b_low ? b_low + j : NULL)));
    T(vec) sum[LANES];
    UNROLL for (int n = 0; n < LANES; n++) sum[n] = (T(vec)){0};
    for (int t = 0; t < terms; t++) {
        const T(vec) row = T(load)(tile->row[t]);
        UNROLL for (int n = 0; n < LANES; n++) sum[n] += tile->key[t][n] * row;
    }
    UNROLL for (int n = 0; n < LANES; n++) {
        if (j + n > border) continue;
        if (end - begin == LANES)
            T(store)(w + n * w_row, T(load)(w + n * w_row) + sum[n] * times);
        else
            for (int l = begin; l < end; l++) w[n * w_row + l] += sum[n][l] * times;
    }
}

/* Computes w[j][l] += times * (sum over t of x[t][l] * y[t][j] * exp2(scale * (a[t][l] - b[t][j]))) for the keys
   j <= first + l, j < rows. Logarithms are sums of two numbers, or `a_low` and `b_low` are NULL. They fall along keys
   and queries. Blocks of queries begin at multiples of LANES among the keys, so that the bits do not depend on where a
   caller cuts a sequence. */
TARGET INLINE void T(decayed)(int64_t lanes, int64_t rows, int64_t steps, int64_t first, const REAL times,
    const REAL scale, const REAL *x, const REAL *a, const REAL *a_low, const int64_t x_step, const REAL *y,
    const REAL *b, const REAL *b_low, const int64_t y_step, REAL *w, const int64_t w_row)
{
    struct T(decayed_tile) tile;
    const int64_t skip = (first % LANES + LANES) % LANES, padded = (lanes + LANES - 1) / LANES * LANES;
    for (int64_t l = -skip; l < lanes; l += LANES) {
        const int64_t own = first + l, before = own < rows ? own : rows, border = before - 1;
        const int copied = l < 0 || l + LANES > padded, begin = l < 0 ? (int)-l : 0,
            end = copied && l + LANES > lanes ? (int)(lanes - l) : LANES;
        T(vec) near[LANES];
        for (int n = 0; n < LANES; n++) near[n] = (T(vec)){0};
        for (int64_t t = 0; t < steps; t += DECAY_TERMS) {
            const int terms = steps - t < DECAY_TERMS ? (int)(steps - t) : DECAY_TERMS;
            const REAL *xt = tile.x[0], *at = tile.a[0], *at_low = tile.a_low[0];
            const REAL *const yt = y + t * y_step, *const bt = b + t * y_step,
                       *const bt_low = b_low ? b_low + t * y_step : NULL;
            const int64_t xs = copied ? LANES : x_step;
            if (copied) {
                T(copy_lanes)(tile.x, terms, l, lanes, x + t * x_step, x_step);
                T(copy_lanes)(tile.a, terms, l, lanes, a + t * x_step, x_step);
                T(copy_lanes)(tile.a_low, terms, l, lanes, a_low ? a_low + t * x_step : NULL, x_step);
            } else
                xt = x + t * x_step + l, at = a + t * x_step + l, at_low = a_low ? a_low + t * x_step + l : NULL;
            if (own < rows)
                T(decayed_near)(&tile, terms, rows, own, scale, xt, at, at_low, xs, yt, bt, bt_low, y_step, near);
            if (before <= 0) continue;
            for (int s = 0; s < terms; s++)
                T(store)(tile.row[s],
                    T(load)(xt + s * xs) *
                        T(decay)(scale, T(load)(at + s * xs), T(load_low)(at_low ? at_low + s * xs : NULL),
                            T(splat)(bt[s * y_step + border]), T(splat)(bt_low ? bt_low[s * y_step + border] : 0)));
            for (int64_t j = 0; j < before; j += LANES)
                T(decayed_far)(&tile, terms, j, border, times, scale, yt, bt, bt_low, y_step, w + j * w_row + l, w_row,
                    begin, end);
        }
        for (int n = 0; n < LANES && own < rows; n++)
            for (int k = n > begin ? n : begin; k < end; k++) {
                const int64_t j = own + k - n;
                if (j >= 0 && j < rows) w[j * w_row + l + k] += times * near[n][k];
            }
    }
}
