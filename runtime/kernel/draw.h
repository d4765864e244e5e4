/* Which lanes `random:` of a mask has drawn. A kernel includes this header after vector.h. */

/* Returns for each lane k whether `draw` has drawn b for (*a)[k]. */
TARGET INLINE T(mask) T(drawn)(const struct attn_draw *draw, const T(ints) *a, int64_t b)
{
    T(ints) found = {0};
    for (int64_t n = draw->first; n <= draw->last; n++)
        if (attn_drawn(draw, n, b)) found |= *a == n;
    return __builtin_convertvector(found, T(mask));
}

/* Returns for each lane k whether `draw` has drawn (*b)[k] for a. */
TARGET INLINE T(mask) T(drawn_for)(const struct attn_draw *draw, int64_t a, const T(ints) *b)
{
    T(ints) found = {0};
    const int64_t *const list = draw->list + (a - draw->first) * (draw->count + 1);
    for (int64_t n = 1; n <= list[0]; n++) found |= *b == list[n];
    return __builtin_convertvector(found, T(mask));
}

