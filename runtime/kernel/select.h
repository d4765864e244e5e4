/* A target's selection of the best keys of each row. A kernel includes this header after vector.h.
   - A row has room for CANDIDATES(count) candidates in the order of their keys: their values in best[0], …, and after
     this room the numbers of their keys, or of blocks of keys.
   - known[0] is how many candidates there are, or -inf: none; known[1] the value above which a key is a candidate;
     known[2] and known[3] the number and the largest value of a block that is not complete. */

/* At least 2 * count, so that the best are found seldom. It is a multiple of LANES. (compiler/pass/lower/select.c) */
#define CANDIDATES(count) round_up((count) + max((count), INT64_C(64)), INT64_C(16))

struct T(candidates) {
    REAL *value, above;
    BITS *number;
    int64_t held;
};

/* Returns an integer that is ordered as the values are. -0 and 0 are equal. */
INLINE BITS T(select_order)(REAL x)
{
    BITS bits;
    x += 0;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? (BITS)(bits ^ MAGNITUDE) : bits;
}

INLINE REAL T(select_value)(BITS order)
{
    REAL x;
    const BITS bits = order < 0 ? (BITS)(order ^ MAGNITUDE) : order;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns how many of n values are at least x. */
TARGET INLINE int64_t T(select_count)(const REAL *value, int64_t n, REAL x)
{
    T(mask) found = {0};
    int64_t k = 0, count = 0;
    for (; k + LANES <= n; k += LANES) found -= (T(mask))(T(load)(value + k) >= x);
    for (int l = 0; l < LANES; l++) count += found[l];
    for (; k < n; k++) count += value[k] >= x;
    return count;
}

#if !DQ || (MATRIX_UNITS && defined ATTN_EMULATE_TILES)
#define COMPRESSES 0
#else
#define COMPRESSES 1
#endif
#if COMPRESSES
#if F64
#define COMPARE "vcmppd"
#define COMPRESS "vcompresspd"
#else
#define COMPARE "vcmpps"
#define COMPRESS "vcompressps"
#endif
/* Appends the lanes in `lanes` to the candidates. */
#define APPEND(c, x, from, lanes) \
    do { \
        T(vec) values; \
        T(mask) numbers; \
        __asm__(COMPRESS " %1, %0%{%2%}%{z%}" : "=v"(values) : "v"(x), "Yk"(lanes)); \
        __asm__(COMPRESS " %1, %0%{%2%}%{z%}" : "=v"(numbers) : "v"(from), "Yk"(lanes)); \
        T(store)((c)->value + (c)->held, values); \
        T(store)((REAL *)(void *)((c)->number + (c)->held), (T(vec))numbers); \
        (c)->held += __builtin_popcount(lanes); \
    } while (0)
#endif

/* Appends the lanes of x that are larger than `above`. `from` are the numbers of their keys. */
TARGET INLINE void T(select_append)(struct T(candidates) *c, T(vec) x, T(mask) from)
{
#if COMPRESSES
    uint16_t lanes;
    __asm__(COMPARE " $0x1e, %2, %1, %0" : "=Yk"(lanes) : "v"(x), "v"(T(splat)(c->above))); /* x > above */
    APPEND(c, x, from, lanes);
#else
    for (int l = 0; l < LANES; l++) {
        c->value[c->held] = x[l];
        c->number[c->held] = from[l];
        c->held += x[l] > c->above;
    }
#endif
}

/* Keeps the candidates above `least`, and of those that equal it the first `equal`. */
TARGET INLINE void T(select_keep)(struct T(candidates) *c, REAL least, int64_t equal)
{
    const int64_t held = c->held;
    int64_t k = 0;
    c->held = 0;
#if COMPRESSES
    for (const T(vec) low = T(splat)(least); equal == held && k + LANES <= held; k += LANES) {
        const T(vec) x = T(load)(c->value + k);
        const T(mask) from = (T(mask))T(load)((const REAL *)(const void *)(c->number + k));
        uint16_t lanes;
        __asm__(COMPARE " $0x1d, %2, %1, %0" : "=Yk"(lanes) : "v"(x), "v"(low)); /* x >= low */
        APPEND(c, x, from, lanes);
    }
#endif
    for (; k < held; k++) {
        const REAL value = c->value[k];
        const BITS number = c->number[k];
        const int same = value == least, keeps = value > least || (same && equal > 0);
        equal -= same;
        c->value[c->held] = value;
        c->number[c->held] = number;
        c->held += keeps;
    }
}

/* Drops candidates until at most `most` are left. The best `count` stay. */
TARGET APART void T(select_best)(struct T(candidates) *c, int64_t count, int64_t most)
{
    const int64_t held = c->held;
    T(vec) least = T(splat)(HUGE_VAL), largest = T(splat)(-HUGE_VAL);
    for (int64_t k = held; k < LANES; k++) c->value[k] = c->value[0];
    for (int64_t k = 0; k < held; k += LANES) {
        const T(vec) x = T(load)(c->value + max(min(k, held - LANES), 0)); /* the last two vectors may overlap */
        least = T(min)(x, least);
        largest = T(max)(x, largest);
    }
    /* at least `count` values are `low` or more, which are `found`, and fewer are `high` or more */
    BITS low = T(select_order)(-T(lane_max)(-least)), high = T(select_order)(T(lane_max)(largest)) + 1;
    for (int64_t found = held; found > most;) {
        const BITS middle = (BITS)((low & high) + ((low ^ high) >> 1));
        if (middle == low) { /* too many are equal */
            T(select_keep)(c, T(select_value)(low), count - T(select_count)(c->value, held, T(select_value)(high)));
            c->above = T(select_value)(low);
            return;
        }
        const int64_t some = T(select_count)(c->value, held, T(select_value)(middle));
        if (some >= count)
            low = middle, found = some;
        else
            high = middle;
    }
    T(select_keep)(c, T(select_value)(low), held);
    c->above = T(select_value)(low);
}

/* Makes room for `more` candidates. */
TARGET INLINE void T(select_room)(struct T(candidates) *c, const int64_t count, int64_t more)
{
    if (c->held + more > CANDIDATES(count)) T(select_best)(c, count, (count + CANDIDATES(count)) / 2);
}

/* Computes the values of keys for one row, which is in the first lane: c[r] = sum over t of a[r][t] * b[t * b_step]. Terms
   are in the lanes. `steps` is a multiple of LANES, and at most 16 vectors. */
TARGET INLINE void T(select_product)(int64_t rows, const int64_t steps, const REAL *a, int64_t a_row, const REAL *b,
    int64_t b_step, REAL *c, int64_t c_row)
{
    T(vec) y[16], sum[LANES];
    for (int64_t t = 0; t < steps; t++) y[t / LANES][t % LANES] = b[t * b_step];
    for (int64_t r = 0; r < rows; r += LANES) {
        UNROLL for (int k = 0; k < LANES; k++) {
            const REAL *const x = a + min(r + k, rows - 1) * a_row;
            sum[k] = T(load)(x) * y[0];
            for (int64_t v = 1; v < steps / LANES; v++) sum[k] += T(load)(x + v * LANES) * y[v];
        }
        T(exchange)(sum);
        UNROLL for (int far = LANES / 2; far; far /= 2)
            UNROLL for (int k = 0; k < far; k++) sum[k] += sum[k + far];
        for (int k = 0; k < LANES && r + k < rows; k++) T(store)(c + (r + k) * c_row, (T(vec)){sum[0][k]});
    }
}

/* Adds a key or block to the candidates. */
TARGET INLINE void T(select_add)(struct T(candidates) *c, const int64_t count, REAL value, REAL number)
{
    if (!(value > c->above)) return;
    T(select_room)(c, count, 1);
    c->value[c->held] = value;
    c->number[c->held++] = number > 0 ? (BITS)number : 0;
}

/* Returns the candidates of a row. */
TARGET INLINE struct T(candidates) T(select_row)(REAL *best, const int64_t count, const REAL *known, int64_t known_row)
{
    return (struct T(candidates)){
        best, known[known_row], (BITS *)(void *)(best + CANDIDATES(count)), *known > 0 ? (int64_t)*known : 0};
}

/* Adds the keys of a tile to the candidates of its rows. `value` has a row of lanes for each key. Keys are in the lanes
   while candidates are appended. */
TARGET INLINE void T(select_keys)(int64_t rows, const int64_t count, struct T(candidates) *c, const REAL *value,
    int64_t value_row, struct attn_range keys)
{
    REAL least[LANES];
    T(mask) from = {IOTA()};
    T(vec) above;
    from += (BITS)keys.from;
    for (int r = 0; r < LANES; r++) least[r] = r < rows ? c[r].above : HUGE_VAL;
    above = T(load)(least);
    for (int64_t j = keys.from; j < keys.to; j += LANES, value += LANES * value_row, from += LANES) {
        T(vec) x[LANES];
        T(mask) any = {0};
        UNROLL for (int k = 0; k < LANES; k++)
            x[k] = j + k < keys.to ? T(load)(value + k * value_row) : T(splat)(-HUGE_VAL);
        UNROLL for (int k = 0; k < LANES; k++) any |= (T(mask))(x[k] > above);
        int64_t found = 0;
        for (int r = 0; r < LANES; r++) found |= any[r];
        if (!found) continue;
        T(exchange)(x);
        for (int64_t r = 0; r < rows; r++) {
            T(select_room)(&c[r], count, LANES);
            T(select_append)(&c[r], x[r], from);
            least[r] = c[r].above;
        }
        above = T(load)(least);
    }
}

TARGET INLINE void T(select)(int64_t lanes, const int64_t count, const int64_t block, REAL *best, int64_t best_row,
    REAL *known, int64_t known_row, const REAL *value, int64_t value_row, struct attn_range keys)
{
    for (int64_t l = 0; l < lanes; l += LANES) {
        const int64_t rows = min(lanes - l, LANES);
        struct T(candidates) c[LANES];
        REAL *const open = known + 2 * known_row + l, *const largest = known + 3 * known_row + l;
        for (int64_t r = 0; r < rows; r++)
            c[r] = T(select_row)(best + (l + r) * best_row, count, known + l + r, known_row);
        if (block == 1) T(select_keys)(rows, count, c, value + l, value_row, keys);
        for (int64_t j = keys.from; j < keys.to && block > 1;) {
            /* the block may have begun in the tile before, and end in the next one */
            const int64_t end = min(keys.to, j / block * block + block);
            for (int64_t r = 0; r < rows && *open != (REAL)(j / block); r++) {
                T(select_add)(&c[r], count, largest[r], *open);
                largest[r] = -HUGE_VAL;
            }
            T(vec) x = T(load)(largest);
            for (int64_t k = j; k < end; k++) { /* a NaN is not larger */
                const T(vec) own = T(load)(value + (k - keys.from) * value_row + l);
                x = T(pick)((T(mask))(own > x), own, x);
            }
            T(store)(largest, x);
            T(store)(open, T(splat)((REAL)(j / block)));
            j = end;
        }
        for (int64_t r = 0; r < rows; r++) {
            known[l + r] = (REAL)c[r].held;
            known[known_row + l + r] = c[r].above;
        }
    }
}

/* Adds the candidates of a thread with later keys. */
TARGET INLINE void T(select_join)(struct T(candidates) *c, const int64_t count, const struct T(candidates) *later)
{
    for (int64_t k = 0; k < later->held; k += LANES) {
        T(select_room)(c, count, LANES);
        const T(mask) lane = {IOTA()};
        const T(vec) x = T(pick)(lane < (T(mask)){0} + (BITS)(later->held - k), T(load)(later->value + k),
            T(splat)(-HUGE_VAL));
        T(select_append)(c, x, (T(mask))T(load)((const REAL *)(const void *)(later->number + k)));
    }
}

/* Writes the numbers of the best candidates of each row, in ascending order, then -1. The memory of a thread begins
   `own` bytes after that of the thread before. */
TARGET INLINE void T(select_list)(int64_t lanes, const int64_t count, const int64_t block, REAL *best, int64_t best_row,
    REAL *known, int64_t known_row, int32_t *list, const struct share *share, const int64_t own)
{
    synchronise(share);
    for (int64_t r = share->number; r < lanes; r += share->threads) {
        struct T(candidates) c = {0};
        for (int64_t t = 0; t < share->threads; t++) {
            const int64_t at = (t - share->number) * own / (int64_t)sizeof(REAL);
            REAL *const state = known + at + r;
            struct T(candidates) of_thread = T(select_row)(best + at + r * best_row, count, state, known_row);
            if (t == 0) c = of_thread;
            if (t > 0) T(select_join)(&c, count, &of_thread);
            if (block > 1) T(select_add)(&c, count, state[3 * known_row], state[2 * known_row]);
        }
        if (c.held > count) T(select_best)(&c, count, count);
        for (int64_t k = 0; k < count; k++) list[r * count + k] = k < c.held ? (int32_t)c.number[k] : -1;
    }
    synchronise(share);
}
