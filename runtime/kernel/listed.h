/* Which lanes have a key in the lists of their rows (masks.h). A kernel includes this header after vector.h. */

/* Returns for each lane k whether block b is in the list of row (*a)[k]. The rows are a vector of the tile. */
TARGET INLINE T(mask) T(listed)(const struct listed *of, const T(ints) *a, int64_t b)
{
    const int64_t first = (*a)[0] - of->first;
    const uint64_t seen = of->seen[(b - of->from) * of->words + first / 64] >> (first % 64);
    const T(ints) found = -(((T(ints)){0} + (int64_t)seen) >> T(lane) & 1);
    return __builtin_convertvector(found, T(mask));
}

/* Returns for each lane k whether block (*b)[k] is in the list of row a. */
TARGET INLINE T(mask) T(listed_for)(const struct listed *of, int64_t a, const T(ints) *b)
{
    const int64_t row = a - of->first;
    T(ints) found = {0};
    UNROLL for (int k = 0; k < LANES; k++)
        found[k] = (int64_t)of->seen[((*b)[k] - of->from) * of->words + row / 64];
    return __builtin_convertvector(-(found >> (row % 64) & 1), T(mask));
}
