/* Tables of elements that a thread keeps from one tile to the next. */
#ifndef ATTNRT_KERNEL_REMEMBERED_H
#define ATTNRT_KERNEL_REMEMBERED_H

#include "basic.h"

/* A thread has the elements of the differences from <= x < to of head `head` of a strip. The memory begins with
   difference `base`. */
struct remembered {
    int64_t head, base, from, to;
};
/* Makes the strip ready for the differences from <= x < to of a head. Forgets all elements if they are of another
   head, or of differences far away. The call has `all` differences, from `lowest` on, and the memory has room for
   `room`. */
INLINE void recall(struct remembered *r, int64_t head, int64_t from, int64_t to, int64_t lowest, int64_t all,
    int64_t room)
{
    const int64_t far = to - from;
    if (r->head == head && from >= r->base && to <= r->base + room && from <= r->to + far && r->from <= to + far)
        return;
    *r = (struct remembered){head, all <= room ? lowest : from - room / 2, from, from};
}
INLINE void extend_known(struct remembered *r, int64_t from, int64_t to)
{
    r->from = min(r->from, from);
    r->to = max(r->to, to);
}
/* The contents of a remembered tile: the queries and keys from <= x < to of head `head`. */
struct known_tile {
    int64_t head, from[2], to[2], unused[3];
};
/* Returns the first line of the place for the tile with this number. The lines of all `places` follow `r`. Tiles share
   the last place if there are more of them. */
INLINE struct known_tile *place_of_tile(struct remembered *r, int64_t number, int64_t places)
{
    struct known_tile *const known = (struct known_tile *)(void *)((unsigned char *)r + 64);
    if (r->head < 0)
        for (int64_t k = 0; k < places; k++) known[k].head = -1;
    r->head = 0;
    return known + min(number, places - 1);
}
/* Returns whether the place has the tile. If not, the caller fills it, and the place then has it. */
INLINE int knows_tile(struct known_tile *t, int64_t head, int64_t from_0, int64_t to_0, int64_t from_1, int64_t to_1)
{
    const struct known_tile now = {head, {from_0, from_1}, {to_0, to_1}, {0}};
    const int known = t->head == head && t->from[0] == from_0 && t->from[1] == from_1 && t->to[0] == to_0 &&
        t->to[1] == to_1;
    *t = now;
    return known;
}

#endif
