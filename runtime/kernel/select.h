/* A target's selection of the best keys of each row. A kernel includes this header after vector.h.
   - A row has up to 2 * count candidates in the order of their keys: their values in best[0], …, and the numbers of their
     keys, or of blocks of keys, in the elements from 2 * count on.
   - known[0] is how many candidates there are, or -inf: none; known[1] the value above which a key is a candidate;
     known[2] and known[3] the number and the largest value of a block that is not complete. */

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

/* Keeps the best `count` of `held` candidates. Returns the least of their values. */
TARGET APART REAL T(select_best)(REAL *best, int64_t held, int64_t count)
{
    BITS low = T(select_order)(-HUGE_VAL), high = T(select_order)(HUGE_VAL);
    BITS *const number = (BITS *)(void *)(best + 2 * count);
    /* at least `count` values are `low` or more, and fewer are `high` or more */
    while (low + 1 < high) {
        const BITS middle = (BITS)((low & high) + ((low ^ high) >> 1));
        if (T(select_count)(best, held, T(select_value)(middle)) >= count)
            low = middle;
        else
            high = middle;
    }
    const REAL least = T(select_value)(low);
    int64_t kept = 0, equal = count - T(select_count)(best, held, T(select_value)(low + 1));
    for (int64_t k = 0; k < held; k++) {
        const int same = best[k] == least, keeps = best[k] > least || (same && equal > 0);
        const REAL value = best[k];
        const BITS own = number[k];
        equal -= same;
        best[kept] = value;
        number[kept] = own;
        kept += keeps;
    }
    return least;
}

/* Adds a candidate of row l. */
TARGET INLINE void T(select_add)(REAL *best, REAL *known, int64_t known_row, int64_t count, REAL value, int64_t number)
{
    if (!(value > known[known_row])) return;
    int64_t held = *known > 0 ? (int64_t)*known : 0;
    best[held] = value;
    ((BITS *)(void *)(best + 2 * count))[held++] = (BITS)number;
    if (held == 2 * count) {
        known[known_row] = T(select_best)(best, held, count);
        held = count;
    }
    *known = (REAL)held;
}

/* Adds the keys of a tile to the candidates of its rows. `value` has a row of lanes for each key. */
TARGET INLINE void T(select)(int64_t lanes, const int64_t count, const int64_t block, REAL *best, int64_t best_row,
    REAL *known, int64_t known_row, const REAL *value, int64_t value_row, struct attn_range keys)
{
    for (int64_t l = 0; l < lanes; l += LANES) {
        const int64_t rows = min(lanes - l, LANES);
        T(vec) above = T(load)(known + known_row + l);
        for (int64_t j = keys.from; j < keys.to;) {
            const int64_t end = block == 1 ? j + 1 : min(keys.to, j / block * block + block);
            T(vec) x = T(load)(value + (j - keys.from) * value_row + l);
            if (block > 1) { /* the block may have begun in the tile before, and end in the next one */
                REAL *const open = known + 2 * known_row + l, *const largest = known + 3 * known_row + l;
                for (int64_t r = 0; r < rows && *open != (REAL)(j / block); r++) {
                    T(select_add)(best + (l + r) * best_row, known + l + r, known_row, count, largest[r],
                        *open > 0 ? (int64_t)*open : 0);
                    largest[r] = -HUGE_VAL;
                }
                x = T(load)(largest);
                for (int64_t k = j; k < end; k++) { /* a NaN is not larger */
                    const T(vec) own = T(load)(value + (k - keys.from) * value_row + l);
                    x = T(pick)((T(mask))(own > x), own, x);
                }
                T(store)(largest, x);
                T(store)(open, T(splat)((REAL)(j / block)));
                j = end;
                continue;
            }
            const T(mask) candidates = (T(mask))(x > above);
            int any = 0;
            for (int r = 0; r < LANES; r++) any |= candidates[r] != 0;
            if (any) {
                for (int64_t r = 0; r < rows; r++)
                    if (candidates[r])
                        T(select_add)(best + (l + r) * best_row, known + l + r, known_row, count, x[r], j);
                above = T(load)(known + known_row + l);
            }
            j = end;
        }
    }
}

/* Writes the numbers of the best candidates of each row, in ascending order, then -1. */
TARGET INLINE void T(select_list)(int64_t lanes, const int64_t count, const int64_t block, REAL *best, int64_t best_row,
    REAL *known, int64_t known_row, int32_t *list)
{
    for (int64_t r = 0; r < lanes; r++, best += best_row, known++, list += count) {
        const BITS *const number = (const BITS *)(const void *)(best + 2 * count);
        if (block > 1)
            T(select_add)(best, known, known_row, count, known[3 * known_row],
                (int64_t)(known[2 * known_row] > 0 ? known[2 * known_row] : 0));
        int64_t held = *known > 0 ? (int64_t)*known : 0;
        if (held > count) T(select_best)(best, held, count), held = count;
        for (int64_t k = 0; k < count; k++) list[k] = k < held ? (int32_t)number[k] : -1;
    }
}
