/* Random draws that depend only on the seed and on a. Each thread draws the numbers for its tile, so no memory is
   shared. */
#include "attnrt.h"
#include "kernel/basic.h"

/* Returns the output of Vigna's splitmix64 for the state x. */
static uint64_t splitmix64(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Returns the index of the first of n sorted numbers that is at least x. Returns n if all are smaller. */
static int64_t at_least(const int64_t *sorted, int64_t n, int64_t x)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sorted[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ATTN_API void attn_draw(struct attn_draw *draw)
{
    for (int64_t a = draw->first; a <= draw->last; a++) {
        int64_t *const list = draw->list + (a - draw->first) * (draw->count + 1), *const number = list + 1;
        const int64_t among = draw->upto ? a + 1 : draw->among;
        int64_t n = 0;
        if (draw->count >= among)
            for (; n < among; n++) number[n] = n;
        const uint64_t key = splitmix64(splitmix64(draw->seed) ^ (uint64_t)a);
        for (uint64_t t = 0; n < among && n < draw->count; t++) {
            const int64_t x = (int64_t)(splitmix64(key ^ t) % (uint64_t)among), at = at_least(number, n, x);
            if (at < n && number[at] == x) continue;
            for (int64_t k = n++; k > at; k--) number[k] = number[k - 1];
            number[at] = x;
        }
        list[0] = n;
    }
}

ATTN_API void attn_draw_listed(struct attn_draw *draw, const int32_t *number)
{
    for (int64_t a = draw->first; a <= draw->last; a++, number += draw->count) {
        int64_t *const list = draw->list + (a - draw->first) * (draw->count + 1), n = 0;
        for (int64_t t = 0; t < draw->count; t++) {
            const int64_t at = n > 0 && list[n] >= number[t] ? at_least(list + 1, n, number[t]) : n;
            if (number[t] < 0 || (at < n && list[1 + at] == number[t])) continue;
            for (int64_t k = n++; k > at; k--) list[1 + k] = list[k];
            list[1 + at] = number[t];
        }
        list[0] = n;
    }
}

ATTN_API int attn_drawn(const struct attn_draw *draw, int64_t a, int64_t b)
{
    if (a < draw->first || a > draw->last) return 0;
    const int64_t *const list = draw->list + (a - draw->first) * (draw->count + 1);
    const int64_t at = at_least(list + 1, list[0], b);
    return at < list[0] && list[1 + at] == b;
}

ATTN_API int64_t attn_drawn_ranges(const struct attn_draw *draw, int64_t block, int64_t from, int64_t to, int every,
                                   struct attn_range *range)
{
    int64_t made = 0;
    for (int64_t a = draw->first; a <= (every ? draw->first : draw->last); a++) {
        const int64_t *const list = draw->list + (a - draw->first) * (draw->count + 1);
        for (int64_t k = 0; k < list[0]; k++) {
            const int64_t b = list[1 + k];
            int wanted = b <= (to - 1) / block && to > 0;
            for (int64_t other = draw->first + 1; every && other <= draw->last; other++)
                wanted &= attn_drawn(draw, other, b);
            if (!wanted) continue;
            struct attn_range r = {b * block, to};
            if (r.to - r.from > block) r.to = r.from + block;
            if (r.from < from) r.from = from;
            if (r.from < r.to) range[made++] = r;
        }
    }
    return made;
}
