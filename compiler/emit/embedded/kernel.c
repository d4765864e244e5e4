/* The beginning of every kernel's C. attnc replaces the names in capitals and leaves out what the conditions of #if
   exclude. This file is also compiled and tested as it stands (tests/unit/test_entry.c). */

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* a copy for every caller would only double the compile time */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#if SOMETIMES_SLOWER
#ifndef ATTN_SLOWER_TOO
#define ATTN_SLOWER_TOO 0 /* 1, for tests: a version runs on every machine that supports it, even if it is slow there */
#endif
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one operation, also under -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* scheduling ahead of register allocation spills */
#endif

struct call { /* the arguments of a call, which all threads share */
    struct attn_problem p;
    const struct SPEC_params *params;
    ARRAY_MEMBERS
#if BACKWARD
    ROW_MEMBERS
#endif
#if CARRIED
    unsigned char *kept; /* the sums of every head in the caller's state; NULL: there is no state */
    int64_t start, summed; /* the first position of the sequence, and the end of the keys that are summed */
#if FOLDS
    const unsigned char *folded; /* `kept` of the state, of p.n_k keys, that is folded into this one */
#endif
#endif
#if READ_FIRST
    int64_t dropped; /* the number of keys that a state no longer has, between its first and its last ones */
#endif
#if IN_ORDER
    /* The position that each tile has reached, for the tiles of every head that threads share, after a number that none
       reaches. NULL: one thread computes all tiles in order. */
    int64_t *progress, tiles;
#endif
};

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

#if SIZES
/* Numbers of bytes for sizes that are not checked yet: SIZE_MAX means too many, or a negative size. */
INLINE size_t bytes_times(size_t bytes, int64_t n)
{
    size_t product;
    return __builtin_mul_overflow(bytes, n, &product) ? SIZE_MAX : product;
}
INLINE size_t bytes_plus(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}
INLINE size_t whole_lines(size_t bytes) { return bytes_plus(bytes, 63) / 64 * 64; }
INLINE int bytes_fit(size_t bytes) { return bytes <= SIZE_MAX / 2; }
#endif

#if WAITS
/* Waits until `*number` is at least `to`. A different thread raises the number. */
INLINE void await_number(const int64_t *number, int64_t to)
{
    for (int tries = 0; __atomic_load_n(number, __ATOMIC_ACQUIRE) < to; tries++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
#if defined(__unix__)
        if (tries >= 1000) sched_yield(); /* the other thread may need this processor */
#endif
    }
}

#endif
#if IN_ORDER
/* Tiles of keys of one head add to the same sums, in the order of the tiles. A tile waits until the tile before it has
   added to all positions before this one. */
INLINE void await_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress) await_number(call->progress + task + task / call->tiles, position);
}

/* Lets the next tile add to the positions before this one. */
INLINE void pass_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress)
        __atomic_store_n(call->progress + task + task / call->tiles + 1, position, __ATOMIC_RELEASE);
}

#endif
#if PHASES
/* The elements of the states are divided into groups, so a thread can fold into the first group while the thread before
   it folds into the last. Each group has a counter of its segments, on a separate cache line. */
enum { NUMBERS_OF_LINE = 8 };

struct part { /* one thread's share of the work on a head */
    int64_t number, threads; /* the number of this thread, of `threads` threads on the head */
    int64_t chunk0, chunk1, window; /* the current chunks of the thread, and the maximum number of such chunks */
    int64_t *folded, segments; /* segments folded into each group, and segments of all earlier heads */
    unsigned char *work, *shared, *slots; /* memory of the thread, of all threads, and of the thread's chunks */
    const struct attn_team *team; /* the team of threads that the caller passed; NULL: OpenMP is used */
};

/* The number of chunks in a segment: all threads get equally many, in as few rounds as the slots allow. */
INLINE int64_t segment_length(const struct part *part, int64_t chunks)
{
    const int64_t each = (max(chunks, 1) + part->threads - 1) / part->threads,
        rounds = (each + part->window - 1) / part->window;
    return (each + rounds - 1) / rounds;
}

/* Segments are folded into each group of elements in order: await_segment waits for the segments before `segment`, and
   pass_segment lets the next segment continue. */
INLINE void await_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1) await_number(part->folded + group * NUMBERS_OF_LINE, part->segments + segment);
}
INLINE void pass_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1)
        __atomic_store_n(part->folded + group * NUMBERS_OF_LINE, part->segments + segment + 1, __ATOMIC_RELEASE);
}

/* Waits for the other threads. */
INLINE void synchronise(const struct part *part)
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
INLINE uint16_t narrowed(float value) /* to nearest, ties to even; NaN stays NaN */
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
    union bits made = {x + (113u << 23)}; /* subnormal: no leading one */
    made.value -= 0x1p-14f;
    if (x >= 0x00800000) made.bits = x + (112u << 23) + (x >= 0x0f800000 ? 112u << 23 : 0); /* infinity, NaN */
    made.bits |= sign;
    return made.value;
}
INLINE uint16_t narrowed(float value) /* to nearest, ties to even; NaN stays NaN */
{
    const union bits given = {.value = value}, size = {given.bits & 0x7fffffff}, tiny = {.value = size.value + 0.5f};
    uint32_t x = (size.bits - (112u << 23) + 0xfff + (size.bits >> 13 & 1)) >> 13;
    if (size.bits < 113u << 23) x = tiny.bits - (126u << 23); /* subnormal; the addition has rounded it */
    if (size.bits >= 0x477ff000) x = 0x7c00; /* 65520 and more: infinity */
    if (value != value) x = 0x7e00;
    return (uint16_t)(x | (given.bits >> 16 & 0x8000));
}

#endif
#if IDS
/* The minimum and maximum of the ids in a range of positions. Before the first key the id is below all others. */
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
/* Returns the id at a position. For positions from n on, the result does not matter. */
INLINE int64_t id_at(const int32_t *id, int64_t x, int64_t n)
{
    x = min(x, n - 1);
    return x < 0 ? INT64_MIN : id[x];
}

#endif
