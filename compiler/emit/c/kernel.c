/* What every kernel has above its code. attnc writes it into the C of a kernel, with its own names for those in
   capitals and without what the conditions of #if leave out; this file is also compiled and tested as it stands
   (tests/unit/test_entry.c). */

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* copies for every caller would only double the time that compiling takes */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#if SOMETIMES_SLOWER
#ifndef ATTN_SLOWER_TOO
#define ATTN_SLOWER_TOO 0 /* 1, for tests: versions run wherever they can, not only where they are the fastest */
#endif
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one operation, also under -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* before registers are given out it would load too far ahead, and spill */
#endif

struct call { /* what every thread needs to know */
    struct attn_problem p;
    const struct SPEC_params *params;
    ARRAY_MEMBERS
#if BACKWARD
    ROW_MEMBERS
#endif
#if CARRIED
    unsigned char *kept; /* of a state: what every head has summed; NULL: there is none */
    int64_t start, summed; /* where the sequence begins, and up to which key it is summed */
#if FOLDS
    const unsigned char *folded; /* the same of a state that this one takes in, of p.n_k keys */
#endif
#endif
#if READ_FIRST
    int64_t dropped; /* keys that a state has no more, between its first ones and the others */
#endif
#if IN_ORDER
    /* For the tiles of every head that threads share, after a number that is never reached, how far each has come; NULL:
       one thread does them all, one after the other. */
    int64_t *progress, tiles;
#endif
};

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

#if WAITS
/* Waits until another thread has raised the number to that. */
INLINE void await_number(const int64_t *number, int64_t to)
{
    for (int tries = 0; __atomic_load_n(number, __ATOMIC_ACQUIRE) < to; tries++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
#if defined(__unix__)
        if (tries >= 1000) sched_yield(); /* it may need this processor */
#endif
    }
}

#endif
#if IN_ORDER
/* What tiles of keys of one head have in common they add up in their order. A tile waits until the one before it has
   added its share to all positions up to this one. */
INLINE void await_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress) await_number(call->progress + task + task / call->tiles, position);
}

/* Lets the tile after this one add its share to them. */
INLINE void pass_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress)
        __atomic_store_n(call->progress + task + task / call->tiles + 1, position, __ATOMIC_RELEASE);
}

#endif
#if PHASES
/* Elements of the states come in groups, so that a thread may fold into the first while the one before it folds into
   the last; how many segments each group has taken in stands on a line of its own. */
enum { NUMBERS_OF_LINE = 8 };

struct part { /* of a thread in the work on a head */
    int64_t number, threads; /* it is thread `number` of these */
    int64_t chunk0, chunk1, window; /* the chunks in its hands, and the most of them */
    int64_t *folded, segments; /* segments of each group of elements, those of heads before this one among them */
    unsigned char *work, *shared, *slots; /* a thread's own memory; that of all of them; that of its chunks */
    const struct attn_team *team; /* what the threads are of; NULL: OpenMP */
};

/* How many chunks a segment has: as many of them for every thread, in no more rounds than the slots ask for. */
INLINE int64_t segment_length(const struct part *part, int64_t chunks)
{
    const int64_t each = (max(chunks, 1) + part->threads - 1) / part->threads,
        rounds = (each + part->window - 1) / part->window;
    return (each + rounds - 1) / rounds;
}

/* Segments are folded into a group of elements in their order. */
INLINE void await_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1) await_number(part->folded + group * NUMBERS_OF_LINE, part->segments + segment);
}
INLINE void pass_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1)
        __atomic_store_n(part->folded + group * NUMBERS_OF_LINE, part->segments + segment + 1, __ATOMIC_RELEASE);
}

/* Waits for the others. */
INLINE void meet(const struct part *part)
{
    if (part->threads == 1) return;
    if (part->team) {
        part->team->barrier();
        return;
    }
#ifdef _OPENMP
#pragma omp barrier
#endif
}

#endif
#if BF16
/* bf16 is the upper half of a float. */
union bits { uint32_t bits; float value; };
INLINE float widened(uint16_t x) { return (union bits){(uint32_t)x << 16}.value; }
INLINE uint16_t narrowed(float value) /* to the nearest, of two as near to the even one; NaN stays */
{
    const uint32_t x = (union bits){.value = value}.bits;
    return (uint16_t)((value != value ? x | 0x400000 : x + 0x7fff + (x >> 16 & 1)) >> 16);
}

#endif
#if F16
/* f16 has 5 bits of exponent and 10 of fraction. */
union bits { uint32_t bits; float value; };
INLINE float widened(uint16_t half)
{
    const uint32_t x = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
    union bits made = {x + (113u << 23)}; /* below the least exponent: without a leading one */
    made.value -= 0x1p-14f;
    if (x >= 0x00800000) made.bits = x + (112u << 23) + (x >= 0x0f800000 ? 112u << 23 : 0); /* infinity and NaN stay */
    made.bits |= sign;
    return made.value;
}
INLINE uint16_t narrowed(float value) /* to the nearest, of two as near to the even one; NaN stays */
{
    const union bits given = {.value = value}, size = {given.bits & 0x7fffffff}, tiny = {.value = size.value + 0.5f};
    uint32_t x = (size.bits - (112u << 23) + 0xfff + (size.bits >> 13 & 1)) >> 13;
    if (size.bits < 113u << 23) x = tiny.bits - (126u << 23); /* below the least exponent; the sum has rounded it */
    if (size.bits >= 0x477ff000) x = 0x7c00; /* 65520 and more: infinity */
    if (value != value) x = 0x7e00;
    return (uint16_t)(x | (given.bits >> 16 & 0x8000));
}

#endif
#if IDS
/* The ids at a range of positions lie between these. Before the first key stands one that is less than any there. */
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
/* The id at a position; after the last of n nobody looks at it. */
INLINE int64_t id_at(const int32_t *id, int64_t x, int64_t n)
{
    x = min(x, n - 1);
    return x < 0 ? INT64_MIN : id[x];
}

#endif
