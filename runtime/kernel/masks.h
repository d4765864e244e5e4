/* Integers, flags and reals of the caller that say which pairs a kernel computes: their ranges over tiles. */
#ifndef ATTNRT_KERNEL_MASKS_H
#define ATTNRT_KERNEL_MASKS_H

#include "basic.h"

/* The minimum and maximum of ids, or of truth values, in a range of positions. Positions before 0 have the id
   INT64_MIN. */
struct ids {
    int64_t min, max;
};
INLINE struct ids ids_of(const int32_t *id, int64_t from, int64_t to)
{
    int32_t first = INT32_MAX, last = INT32_MIN;
    for (int64_t x = max(from, 0); x < to; x++) {
        first = id[x] < first ? id[x] : first;
        last = id[x] > last ? id[x] : last;
    }
    return (struct ids){from < 0 ? INT64_MIN : first, to <= 0 ? INT64_MIN : last};
}
/* Returns the id at position x of n. A position before 0 has the id INT64_MIN. A position after the last has the last
   id. Lanes with such positions are not used. */
INLINE int64_t id_at(const int32_t *id, int64_t x, int64_t n)
{
    x = min(x, n - 1);
    return x < 0 ? INT64_MIN : id[x];
}

typedef uint8_t flags __attribute__((vector_size(32)));
/* Returns whether all flags at from <= x < to are true in rows first … end - 1, as `min`, and whether any is, as
   `max`. A row has n flags. */
INLINE struct ids flags_of_rows(const uint8_t *flag, int64_t n, int64_t first, int64_t end, int64_t from, int64_t to)
{
    flags some = {0}, zeros = {0};
    for (int64_t row = first; row < end; row++) {
        const uint8_t *const of = flag + row * n;
        int64_t x = max(from, 0);
        for (; x + (int64_t)sizeof some <= to; x += (int64_t)sizeof some) {
            flags part;
            __builtin_memcpy(&part, of + x, sizeof part);
            some |= part;
            zeros |= (flags)(part == 0);
        }
        for (; x < to; x++) {
            some[0] |= of[x];
            zeros[0] |= !of[x];
        }
    }
    uint64_t words[2][sizeof some / sizeof(uint64_t)], any = 0, not_all = 0;
    __builtin_memcpy(words[0], &some, sizeof some);
    __builtin_memcpy(words[1], &zeros, sizeof zeros);
    for (size_t k = 0; k < sizeof some / sizeof(uint64_t); k++) {
        any |= words[0][k];
        not_all |= words[1][k];
    }
    return (struct ids){!not_all, any != 0};
}
INLINE struct ids flags_of(const uint8_t *flag, int64_t from, int64_t to)
{
    return flags_of_rows(flag, 0, 0, 1, from, to);
}
/* Returns the flag at position x. Positions outside 0 to n - 1 have the flag at the nearest end. */
INLINE int64_t flag_at(const uint8_t *flag, int64_t x, int64_t n)
{
    static const uint8_t none = 0;
    return (n > 0 ? flag : &none)[max(min(x, n - 1), 0)];
}

/* ---- reals of the caller, of which -inf hides a pair ---- */
INLINE int64_t shown_f32(float x) { return x != -INFINITY; }
INLINE int64_t shown_f64(double x) { return x != -INFINITY; }
INLINE int64_t shown_f16(uint16_t bits) { return bits != 0xfc00; }
INLINE int64_t shown_bf16(uint16_t bits) { return bits != 0xff80; }

/* ---- integers of the caller, with a stride for each axis ---- */
/* The rows whose subscripts are first[k] to last[k] along each axis k. */
enum { MAX_BOX = 8 };
struct box {
    int axes;
    int64_t sub[MAX_BOX];
};
/* Sets *offset to the offset of the first row of a box. Returns 0 if the box has no row. */
INLINE int first_of_box(struct box *box, int axes, const int64_t *strides, const int64_t *first, const int64_t *last,
    int64_t *offset)
{
    box->axes = axes;
    *offset = 0;
    for (int k = 0; k < axes; k++) {
        if (first[k] > last[k]) return 0;
        box->sub[k] = first[k];
        *offset += first[k] * strides[k];
    }
    return 1;
}
/* Advances *offset to the next row. Returns 0 after the last row. */
INLINE int next_of_box(struct box *box, const int64_t *strides, const int64_t *first, const int64_t *last,
    int64_t *offset)
{
    for (int k = box->axes - 1; k >= 0; k--) {
        if (strides[k] != 0 && box->sub[k] < last[k]) {
            box->sub[k]++;
            *offset += strides[k];
            return 1;
        }
        *offset -= (box->sub[k] - first[k]) * strides[k];
        box->sub[k] = first[k];
    }
    return 0;
}

/* Returns the integer at position x. Positions outside 0 to n - 1 have the integer at the nearest end. */
INLINE int64_t id_along(const int32_t *id, int64_t x, int64_t n, int64_t stride)
{
    static const int32_t none = 0;
    return (n > 0 ? id : &none)[max(min(x, n - 1), 0) * stride];
}
/* Returns the minimum and maximum of the integers at positions from <= x < to in the rows of a box. */
INLINE struct ids ids_of_box(const int32_t *id, int axes, const int64_t *strides, const int64_t *first,
    const int64_t *last, int64_t stride, int64_t from, int64_t to)
{
    int32_t low = INT32_MAX, high = INT32_MIN;
    int64_t offset;
    struct box box;
    if (stride == 0) to = min(to, max(from, 0) + 1);
    for (int more = first_of_box(&box, axes, strides, first, last, &offset); more;
         more = next_of_box(&box, strides, first, last, &offset))
        for (int64_t x = max(from, 0); x < to; x++) {
            const int32_t one = id[offset + x * stride];
            low = one < low ? one : low;
            high = one > high ? one : high;
        }
    return (struct ids){low, high};
}

/* Returns the flag at position x. Positions outside 0 to n - 1 have the flag at the nearest end. */
INLINE int64_t flag_along(const uint8_t *flag, int64_t x, int64_t n, int64_t stride)
{
    static const uint8_t none = 0;
    return (n > 0 ? flag : &none)[max(min(x, n - 1), 0) * stride];
}
/* Returns `min`: whether all flags at from <= x < to in the rows of a box are true, and `max`: whether any is true. */
INLINE struct ids flags_of_box(const uint8_t *flag, int axes, const int64_t *strides, const int64_t *first,
    const int64_t *last, int64_t stride, int64_t from, int64_t to)
{
    const int outer = axes > 0 ? axes - 1 : 0; /* the rows along the last axis are read together */
    const int64_t row = axes > 0 ? strides[outer] : 0, low = axes > 0 ? first[outer] : 0,
        end = row != 0 ? last[outer] + 1 : low + 1;
    struct ids all = {1, 0};
    int64_t offset;
    struct box box;
    if (stride == 0) to = min(to, max(from, 0) + 1);
    for (int more = first_of_box(&box, outer, strides, first, last, &offset); more;
         more = next_of_box(&box, strides, first, last, &offset)) {
        struct ids one = {1, 0};
        if (stride == 1)
            one = flags_of_rows(flag + offset, row, low, end, from, to);
        for (int64_t r = low; r < end && stride != 1; r++)
            for (int64_t x = max(from, 0); x < to; x++) {
                const int64_t set = flag[offset + r * row + x * stride] != 0;
                one = (struct ids){one.min & set, one.max | set};
            }
        all = (struct ids){all.min & one.min, all.max | one.max};
    }
    return all;
}

/* Like flags_of_box, for reals. */
INLINE struct ids shown_of_box(const void *x, enum attn_dtype dtype, int axes, const int64_t *strides,
    const int64_t *first, const int64_t *last, int64_t stride, int64_t from, int64_t to)
{
    int64_t offset, some = 0, none = 0;
    struct box box;
    if (stride == 0) to = min(to, max(from, 0) + 1);
    for (int more = first_of_box(&box, axes, strides, first, last, &offset); more;
         more = next_of_box(&box, strides, first, last, &offset))
        for (int64_t column = max(from, 0); column < to; column++) {
            const int64_t k = offset + column * stride, shown = dtype == ATTN_F32 ? shown_f32(((const float *)x)[k]) :
                dtype == ATTN_F64 ? shown_f64(((const double *)x)[k]) :
                dtype == ATTN_F16 ? shown_f16(((const uint16_t *)x)[k]) : shown_bf16(((const uint16_t *)x)[k]);
            some |= shown;
            none |= !shown;
        }
    return (struct ids){!none, some};
}

/* Returns whether rows from … to - 1 have an element that is at least `low` and below `end`. A row has n elements. */
INLINE int any_id(const int32_t *id, int64_t n, int64_t from, int64_t to, int64_t low, int64_t end)
{
    int any = 0;
    for (int64_t k = from * n; k < to * n; k++) any |= id[k] >= low && id[k] < end;
    return any;
}

/* ---- sorted lists of the best keys of rows: n ascending numbers of keys or blocks, the last ones perhaps -1 ---- */

/* Returns how many numbers of the list are below x. */
INLINE int64_t listed_below(const int32_t *list, int64_t n, int64_t x)
{
    int64_t from = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        const int below = (uint32_t)list[from + half] < (uint32_t)max(x, 0);
        from = below ? from + half + 1 : from;
        n = below ? n - half - 1 : half;
    }
    return from;
}
/* Returns whether a list from … to - 1 has a number that is at least `low` and below `end`. */
INLINE int any_sorted(const int32_t *list, int64_t n, int64_t from, int64_t to, int64_t low, int64_t end)
{
    for (int64_t row = from; row < to; row++) {
        const int64_t at = listed_below(list + row * n, n, low);
        if (at < n && list[row * n + at] >= 0 && list[row * n + at] < end) return 1;
    }
    return 0;
}
/* Which blocks of a tile are in the lists of its rows: bit r % 64 of word r / 64 of a block is for row first + r. */
struct listed {
    int64_t first, from, words; /* the first row, the first block, and the words of a block */
    uint64_t *seen;
};
/* Fills `seen` for rows up to `last` and blocks up to `end`. `list` is the list of the first row. */
INLINE void find_listed(const struct listed *of, const int32_t *list, int64_t n, int64_t last, int64_t end)
{
    for (int64_t k = 0; k < (end - of->from + 1) * of->words; k++) of->seen[k] = 0;
    for (int64_t r = 0; r <= last - of->first; r++, list += n)
        for (int64_t k = listed_below(list, n, of->from); k < n && list[k] >= 0 && list[k] <= end; k++)
            of->seen[(list[k] - of->from) * of->words + r / 64] |= UINT64_C(1) << (r % 64);
}
INLINE int in_list(const struct listed *of, int64_t row, int64_t block)
{
    const int64_t r = row - of->first;
    return of->seen[(block - of->from) * of->words + r / 64] >> (r % 64) & 1;
}

#endif
