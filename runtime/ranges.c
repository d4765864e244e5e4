/* Makes unions of ranges, and tests whether a union contains a range. */
#include "attnrt.h"
#include "kernel/basic.h"

ATTN_API int64_t attn_union(struct attn_range *range, int64_t count, int64_t from, int64_t to)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < count; k++) {
        struct attn_range r = range[k];
        if (r.from < from) r.from = from;
        if (r.to > to) r.to = to;
        if (r.from < r.to) range[kept++] = r;
    }
    int64_t gap = 1;
    while (gap < kept / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) /* Shell sort: fast for few ranges, without memory for many */
        for (int64_t k = gap; k < kept; k++) {
            const struct attn_range r = range[k];
            int64_t at = k;
            for (; at >= gap && range[at - gap].from > r.from; at -= gap) range[at] = range[at - gap];
            range[at] = r;
        }
    int64_t last = 0;
    for (int64_t k = 1; k < kept; k++)
        if (range[k].from > range[last].to)
            range[++last] = range[k];
        else if (range[k].to > range[last].to)
            range[last].to = range[k].to;
    return kept ? last + 1 : 0;
}

ATTN_API int attn_covers(const struct attn_range *range, int64_t count, int64_t from, int64_t to)
{
    int64_t low = 0, high = count; /* find the first range that ends after `from` */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (range[middle].to > from)
            high = middle;
        else
            low = middle + 1;
    }
    return from >= to || (low < count && range[low].from <= from && range[low].to >= to);
}
