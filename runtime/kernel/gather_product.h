/* Products that read rows in the order of a list of row numbers. Each prefetches rows that a later product reads. A
   kernel includes this header after vector.h. */

#define GATHERED_ROWS (REGISTERS > 16 ? 16 : 8)
#define GATHERED_STEPS 4
#define GATHERED_LANES 4
#define GATHERED_VECTORS 4
#define LINE_ELEMENTS (64 / (int64_t)sizeof(REAL))
#define LINES(width) (((width) + LINE_ELEMENTS - 1) / LINE_ELEMENTS)

/* c[r][x] = sum over t of a[index[r]][t] * b[t][x], for a vector of lanes x. Adds `span` terms at a time. Prefetches
   the rows `index` of `next`, which have `width` elements. */
TARGET INLINE void T(gathered_block)(const int rows, const int64_t steps, const int64_t span, const REAL *a,
    int64_t a_row, const int32_t *index, const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const REAL *next,
    int64_t next_row, const int64_t width)
{
    const int64_t lines = LINES(width), times = max(steps / GATHERED_STEPS, 1), part = steps > 2 * span ? span : steps,
                  at_once = (rows * lines + times - 1) / times;
    const REAL *row[GATHERED_ROWS];
    UNROLL for (int r = 0; r < rows; r++) row[r] = a + index[r] * a_row;
    for (int64_t t = 0, line = 0; t < steps;) {
        const int64_t first = t, end = min(t + part, steps);
        T(vec) sum[GATHERED_ROWS];
        UNROLL for (int r = 0; r < rows; r++) sum[r] = (T(vec)){0};
        for (; t + GATHERED_STEPS <= end; t += GATHERED_STEPS, line += at_once) {
            T(vec) x[GATHERED_STEPS];
            const int64_t of = index[min(line / lines, rows - 1)];
            const REAL *const ahead = next + of * next_row + line % lines * LINE_ELEMENTS;
            UNROLL for (const REAL *p = ahead, *const to = p + at_once * LINE_ELEMENTS; p < to; p += LINE_ELEMENTS)
                __builtin_prefetch(p, 0, 3);
            UNROLL for (int u = 0; u < GATHERED_STEPS; u++) x[u] = T(load)(b + (t + u) * b_step);
            UNROLL for (int r = 0; r < rows; r++)
                UNROLL for (int u = 0; u < GATHERED_STEPS; u++) sum[r] += row[r][t + u] * x[u];
        }
        for (; steps % GATHERED_STEPS && t < end; t++) {
            const T(vec) x = T(load)(b + t * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r] += row[r][t] * x;
        }
        UNROLL for (int r = 0; r < rows; r++) T(store)(c + r * c_row, first ? T(load)(c + r * c_row) + sum[r] : sum[r]);
    }
}

/* Computes gathered_block for any number of rows. `lanes` is a multiple of LANES. */
TARGET INLINE void T(dot_gathered)(int64_t lanes, int64_t rows, const int64_t steps, const int64_t span, const REAL *a,
    int64_t a_row, const int32_t *index, const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const REAL *next,
    int64_t next_row, const int64_t width)
{
    int64_t r = 0;
    for (; r + GATHERED_ROWS <= rows; r += GATHERED_ROWS)
        for (int64_t x = 0; x < lanes; x += LANES)
            T(gathered_block)(GATHERED_ROWS, steps, span, a, a_row, index + r, b + x, b_step, c + r * c_row + x, c_row,
                next, next_row, width);
    for (; r < rows; r++)
        for (int64_t x = 0; x < lanes; x += LANES)
            T(gathered_block)(1, steps, span, a, a_row, index + r, b + x, b_step, c + r * c_row + x, c_row, next,
                next_row, width);
}

/* Stores sum, the sum over a list of the products of one row with a vector of lanes, as `update` says. */
TARGET INLINE void T(store_gathered)(REAL *c, T(vec) sum, const int update, T(vec) times IF_COMPENSATED(REAL *rest))
{
#if COMPENSATED
    if (update == 3) {
        T(add)(c, rest, sum, times);
        return;
    }
#endif
    T(store)(c, update == 0 ? sum : update == 1 ? T(load)(c) + sum : T(load)(c) * times + sum);
}

/* part[x][r] = sum over t of a[index[t]][r] * b[t][x], for LANES lanes x and `vectors` vectors of r. A row is read in
   whole vectors, which takes fewer loads than to read its elements one by one. Prefetches lines of the rows `later` of
   `next`. */
TARGET INLINE void T(gathered_parts)(const int vectors, int64_t steps, const REAL *a, int64_t a_step,
    const int32_t *index, const REAL *b, int64_t b_step, REAL *part, const REAL *next, int64_t next_row,
    const int32_t *later, const int64_t lines)
{
    for (int64_t x = 0; x < LANES; x += GATHERED_LANES) {
        const REAL *const own = next + x / GATHERED_LANES * lines * LINE_ELEMENTS;
        T(vec) sum[GATHERED_LANES][GATHERED_VECTORS];
        UNROLL for (int l = 0; l < GATHERED_LANES; l++)
            UNROLL for (int k = 0; k < vectors; k++) sum[l][k] = (T(vec)){0};
        for (int64_t t = 0; t < steps; t++) {
            const REAL *const row = a + index[t] * a_step, *const w = b + t * b_step + x;
            T(vec) y[GATHERED_VECTORS];
            UNROLL for (int64_t n = 0; n < lines; n++)
                __builtin_prefetch(own + later[t] * next_row + n * LINE_ELEMENTS, 0, 3);
            UNROLL for (int k = 0; k < vectors; k++) y[k] = T(load)(row + k * LANES);
            UNROLL for (int l = 0; l < GATHERED_LANES; l++)
                UNROLL for (int k = 0; k < vectors; k++) sum[l][k] += w[l] * y[k];
        }
        UNROLL for (int l = 0; l < GATHERED_LANES; l++)
            UNROLL for (int k = 0; k < vectors; k++)
                T(store)(part + ((x + l) * vectors + k) * LANES, sum[l][k]);
    }
}

/* Sums over the rows in a list: c[r][x] changes by the sum over t of a[index[t]][r] * b[t][x], as `update` says (block
   in product.h). Prefetches the rows of `next` that are the next ones of the list, if it has at least `steps` more. */
TARGET INLINE void T(dot_over_gathered)(int64_t lanes, const int64_t rows, int64_t steps, const REAL *a, int64_t a_step,
    const int32_t *index, const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const int update,
    const REAL *factor IF_COMPENSATED(REAL *compensation), const REAL *next, int64_t next_row, const int64_t width,
    int64_t nexts)
{
    const int64_t lines = LINES(width), wide = REGISTERS > 16 ? rows / (GATHERED_VECTORS * LANES) : 0,
                  passes = wide * (LANES / GATHERED_LANES), blocks = (rows + GATHERED_ROWS - 1) / GATHERED_ROWS;
    const int32_t *const later = nexts >= steps ? index + steps : index;
    for (int64_t x = 0; x < lanes; x += LANES) {
        const T(vec) times = update >= 2 && factor ? T(load)(factor + x) : T(splat)(1);
        for (int64_t block = 0; block < wide; block++) {
            REAL part[LANES * GATHERED_VECTORS * LANES];
            const int64_t first = block * GATHERED_VECTORS * LANES, own = (lines + passes - 1) / passes;
            T(gathered_parts)(GATHERED_VECTORS, steps, a + first, a_step, index, b + x, b_step, part,
                next + block * (LANES / GATHERED_LANES) * own * LINE_ELEMENTS, next_row, later, own);
            for (int64_t k = 0; k < GATHERED_VECTORS; k++) {
                T(vec) sum[LANES];
                UNROLL for (int l = 0; l < LANES; l++) sum[l] = T(load)(part + (l * GATHERED_VECTORS + k) * LANES);
                T(exchange)(sum);
                UNROLL for (int r = 0; r < LANES; r++) {
                    const int64_t at = (first + k * LANES + r) * c_row + x;
                    T(store_gathered)(c + at, sum[r], update, times IF_COMPENSATED(compensation + at));
                }
            }
        }
        for (int64_t block = wide * GATHERED_VECTORS * LANES / GATHERED_ROWS; block < blocks; block++) {
            /* the last block may overlap the one before it, but does not add its rows again */
            const int64_t from = block * GATHERED_ROWS, first = max(min(from, rows - GATHERED_ROWS), 0);
            T(vec) sum[GATHERED_ROWS];
            UNROLL for (int r = 0; r < GATHERED_ROWS; r++) sum[r] = (T(vec)){0};
            for (int64_t t = 0; t < steps; t++) {
                const REAL *const row = a + index[t] * a_step + first, *const ahead = next + later[t] * next_row;
                const T(vec) y = T(load)(b + t * b_step + x);
                UNROLL for (int n = 0; n < (int)((lines + blocks - 1) / blocks) && !wide; n++)
                    __builtin_prefetch(ahead + (block + n * blocks) * LINE_ELEMENTS, 0, 3);
                UNROLL for (int r = 0; r < GATHERED_ROWS; r++) sum[r] += row[min(r, rows - 1)] * y;
            }
            UNROLL for (int r = 0; r < GATHERED_ROWS; r++) {
                const int64_t at = (first + r) * c_row + x;
                if (first + r < from || first + r >= rows) continue;
                T(store_gathered)(c + at, sum[r], update, times IF_COMPENSATED(compensation + at));
            }
        }
    }
}
