/* A target's solver of triangular systems. A kernel includes this header after vector.h. */

/* Solves equations t to t + rows - 1 of solve, for up to 4 vectors of lanes. */
TARGET INLINE void T(solve_some)(const int rows, const int vectors, int64_t t, const REAL *w, int64_t w_row,
    int64_t w_step, const REAL *rate, int64_t rate_step, const REAL *x, int64_t x_row, REAL *u, int64_t u_row)
{
    T(vec) sum[4][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = T(load)(x + (t + r) * x_row + v * LANES);
    for (int64_t j = 0; j < t; j++)
        UNROLL for (int v = 0; v < vectors; v++) {
            const T(vec) y = T(load)(u + j * u_row + v * LANES);
            UNROLL for (int r = 0; r < rows; r++) sum[r][v] -= w[(t + r) * w_row + j * w_step] * y;
        }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            UNROLL for (int k = 0; k < r; k++) sum[r][v] -= w[(t + r) * w_row + (t + k) * w_step] * sum[k][v];
            sum[r][v] *= rate[(t + r) * rate_step];
            T(store)(u + (t + r) * u_row + v * LANES, sum[r][v]);
        }
}

/* Like solve, for up to 4 vectors of lanes. */
TARGET INLINE void T(solve_lanes)(const int vectors, int64_t t, int64_t rows, const REAL *w, int64_t w_row,
    int64_t w_step,
    const REAL *rate, int64_t rate_step, const REAL *x, int64_t x_row, REAL *u, int64_t u_row)
{
    for (; t + 4 <= rows; t += 4) T(solve_some)(4, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
    for (; t < rows; t++) T(solve_some)(1, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}

/* Solves a triangular system in each lane, for first <= t < rows: u[t] = rate[t] * (x[t] - sum over j < t of w[t][j] *
   u[j]). u has the solution for t < first. */
TARGET INLINE void T(solve)(const int64_t lanes, int64_t first, int64_t rows, const REAL *w, int64_t w_row,
    int64_t w_step,
    const REAL *rate, int64_t rate_step, const REAL *x, int64_t x_row, REAL *u, int64_t u_row)
{
    int64_t l = 0;
    for (; l + 4 * LANES <= lanes; l += 4 * LANES)
        T(solve_lanes)(4, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
    for (; l < lanes; l += LANES)
        T(solve_lanes)(1, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
}

/* Like solve, if weights of hidden pairs are 0. Infinity and NaN of a solution affect no equation that has such a weight
   for it. */
TARGET APART void T(solve_hiding)(int64_t lanes, int64_t first, int64_t rows, const REAL *w, int64_t w_row,
    int64_t w_step,
    const REAL *rate, int64_t rate_step, const REAL *x, int64_t x_row, REAL *u, int64_t u_row)
{
    T(vec) found = {0};
    REAL finite = 0;
    T(solve)(lanes, first, rows, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
    for (int64_t t = 0; t < rows; t++)
        for (int64_t l = 0; l < lanes; l += LANES) found += 0 * T(load)(u + t * u_row + l);
    for (int k = 0; k < LANES; k++) finite += found[k];
    if (finite == 0) return;
    for (int64_t t = first; t < rows; t++)
        for (int64_t l = 0; l < lanes; l++) {
            REAL sum = x[t * x_row + l];
            if (0 * u[t * u_row + l] == 0) continue;
            for (int64_t j = 0; j < t; j++)
                if (w[t * w_row + j * w_step] != 0) sum -= w[t * w_row + j * w_step] * u[j * u_row + l];
            u[t * u_row + l] = sum * rate[t * rate_step];
        }
}
