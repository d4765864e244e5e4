/* Template of the beginning of every kernel. attnc replaces names in capitals and evaluates some #if.
   tests/unit/test_entry.c compiles it as it stands.
   - chunk: a fixed number of keys whose sums are made at a time
   - slot: memory for the sums of one chunk
   - carried state: the sums over all chunks so far
   - fold: add a slot to the carried state. If queries read earlier states, the slot then holds the state for them.
   - segment: chunks that one thread takes at a time */

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* without optimisation, inlining only doubles the compile time */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#if SOMETIMES_SLOWER
#ifndef ATTN_SLOWER_TOO
#define ATTN_SLOWER_TOO 0 /* tests set 1, to run a version also where it is slow */
#endif
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one instruction (FMA), even with -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* scheduling before register allocation would spill registers */
#endif

#if TILES
enum { MASK_AXES = 2 };
struct mask_tiles { /* the table of the tiles of masks */
    /* Flags, or reals that are -inf where they hide: [masks, rows, columns]. The axes of masks have the sizes `size` and the
       strides `stride`. */
    const void *flag;
    enum attn_dtype dtype;
    const uint8_t *tile; /* [strips, tiles of a strip], as in struct attn_mask_tiles */
    uint8_t *made;       /* `tile`, if the call makes the table. Its memory is part of the workspace. */
    const struct attn_mask_tiles *given; /* the caller's table, or NULL */
    /* `strips` is the number of strips that the call fills */
    int64_t rows, columns, strips_of_mask, tiles_of_strip, strips;
    /* `row` and `column` are the strides of rows and columns */
    int64_t size[MASK_AXES], stride[MASK_AXES], row, column;
};

#endif
#if HAS_ADDS
enum { OUTER_NONE, OUTER_EARLIER, OUTER_LATER, OUTER_TERMS };

#endif
struct call { /* the arguments of a call; all threads read the same struct */
    struct attn_problem p;
    const struct SPEC_params *params;
    ARRAY_MEMBERS
#if SHARES
    int64_t sharing; /* the number of heads of v and out that share a head of q and of k */
#if BACKWARD
    STORED *sum_dq, *sum_dk; /* the caller's arrays, if dq and dk have a gradient for each sharing head */
    struct attn_strides sum_dq_at, sum_dk_at;
#endif
#endif
#if TILES
    struct mask_tiles mask_tiles[TILES]; /* the tables of TILED_NAMES */
#endif
#if BACKWARD
    ROW_MEMBERS
#endif
#if CARRIED
    unsigned char *kept; /* the sums of all heads in the caller's state, or NULL */
    /* start: the position of the sequence's first token; summed: the sums contain the keys before this position;
       length: the position of the first new token */
    int64_t start, summed, length;
#if SOLVES
    int64_t solved; /* the state has the solution for the keys from `summed` to this position */
#endif
#if CHUNK_SUMS
    /* chunk_sums: the caller's sums of chunks, from chunk number first_chunk on, or NULL; head_chunks: the chunks of a
       head in it */
    unsigned char *chunk_sums;
    int64_t first_chunk, head_chunks;
#endif
#if JOINS
    const unsigned char *folded; /* the sums of a second state over p.n_k keys, which are added to `kept` */
#endif
#endif
#if OUTER
    /* - outer: the caller's outer sums that forward or the current part of backward reads, or NULL. A key/value head has
         `outer_head` bytes of them, for `outer_tasks` tasks
       - adds: the call only adds its tokens to these sums: to those of earlier or of later tokens. OUTER_NONE: it
         computes gradients. OUTER_TERMS: it computes those of arrays that a decay reads, after the others
       - gives: the current part adds to its sums
       - only_sums: it computes nothing else */
    unsigned char *outer;
    int64_t outer_head, outer_tasks;
    int adds, gives, only_sums;
#endif
#if DECAY_PARTS
    int adds; /* OUTER_TERMS: backward computes only gradients of arrays that a decay reads. Else OUTER_NONE */
#endif
#if OWN_PARAMS
    struct SPEC_params own; /* `params`, with arrays of integers in a state */
#endif
#if PAGED
    /* - pages: the caller's pages, or NULL
       - page: for each sequence, the numbers of its pages
       Pointers to arrays of keys are addresses of the first head's rows in page 0. */
    const struct attn_pages *pages;
    const int32_t *page;
#endif
#if COMMON
    /* Keys that several sequences have in the same pages are summed in a call for all rows of these sequences.
       - common: memory for a sequence's rows: prepared queries, and the sums over chunks of such keys. [kv_heads, rows]
       - common_begun: whether `common` has sums. If so, they are over the chunks before number common_chunks
       - common_end: all rows see the keys before common_end in chunk common_chunks and later ones
       - sharer, sharers: in a call for several sequences, the calls of these sequences
       - place: in such a call, the sequence's position of query 0, the number of the query, and that of its member of the
         key/value head, for each row */
    unsigned char *common;
    int common_begun;
    int64_t common_chunks, common_end, sharers;
    struct call *const *sharer;
    const struct place {
        int64_t start;
        int32_t number, member;
    } *place;
#endif
#if NUMBERED
    /* extend computes some sequences of the batch at a time. first_sequence is the first of them. other_sequences is
       the number of sequences that are not computed. */
    int64_t first_sequence, other_sequences;
#endif
#if READ_FIRST
    int64_t dropped; /* the number of keys between the first and the last keys that the state stores */
#endif
#if IN_ORDER
    /* progress[head][1 + tile] is n if the tile has added to positions 0 to n - 1. `progress` is NULL if one thread
       computes all tiles of a head. */
    int64_t *progress, tiles;
#endif
};

#if COMMON
/* Copies a row of a tile to memory, or back. */
INLINE void move_bytes(unsigned char *memory, unsigned char *tile, size_t bytes, int back)
{
    if (back)
        memcpy(tile, memory, bytes);
    else
        memcpy(memory, tile, bytes);
}

#endif
#if CHUNK_SUMS
/* Returns where the caller stores the sums of a chunk, or NULL if the chunk is not complete. */
INLINE unsigned char *stored_sums(const struct call *call, int64_t task, int64_t number, int64_t chunk, int64_t bytes)
{
    const int stores = call->chunk_sums && (number + 1) * chunk <= call->p.n_k;
    return stores ? call->chunk_sums + (task * call->head_chunks + number - call->first_chunk) * bytes : NULL;
}
/* Copies bytes that are not read soon, so caches should keep other data. Both addresses are multiples of 64. */
INLINE void write_through(unsigned char *to, const unsigned char *from, size_t bytes)
{
#if defined(__clang__)
    typedef float four __attribute__((vector_size(16), may_alias));
    for (size_t at = 0; at < bytes; at += sizeof(four))
        __builtin_nontemporal_store(*(const four *)(const void *)(from + at), (four *)(void *)(to + at));
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* such stores are not ordered */
#else
    memcpy(to, from, bytes);
#endif
}

#endif
INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }
INLINE int64_t shifted_left(int64_t x, int64_t by) { return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by); }
INLINE int64_t shifted_right(int64_t x, int64_t by) { return x >> (by < 0 || by > 63 ? 63 : by); }
INLINE double sigmoid(double x) { return 1 / (1 + exp(-x)); }
INLINE float sigmoidf(float x) { return 1 / (1 + expf(-x)); }
#if TRUNCATES
/* min_real and max_real keep NaN, unlike fmin and fmax. */
INLINE double min_real(double a, double b) { return a < b || a != a ? a : b; }
INLINE double max_real(double a, double b) { return a > b || a != a ? a : b; }
/* Truncates x. The absolute value is at most 2^62. NaN becomes 0. */
INLINE int64_t truncated(double x) { return x != x ? 0 : (int64_t)fmin(fmax(x, -0x1p62), 0x1p62); }
#endif

#if PAGED
/* Returns the end of the page with row `at`, or `to` if this is less. */
INLINE int64_t page_end(const struct call *call, int64_t at, int64_t to)
{
    return min(to, (at / call->pages->tokens + 1) * call->pages->tokens);
}

/* Returns the address of row `at` of an array in pages, or NULL from row `to` on. `rows` is the address of the head's
   first row in page 0, and `row` the bytes of a row. */
INLINE const void *paged_row(const struct call *call, int64_t sequence, const void *rows, int64_t row, int64_t at,
    int64_t to)
{
    const struct attn_pages *const p = call->pages;
    const int64_t number = at / p->tokens;
    if (at >= to) return NULL;
    return (const void *)((uintptr_t)rows + (uintptr_t)call->page[sequence * p->row + number] * p->bytes +
        (uintptr_t)((at - number * p->tokens) * row));
}

/* Returns the address of rows `from` to `to` - 1 of an array as the address of row 0. Rows on several pages are copied to
   `copy`. But if `parts` is not 0, the address is NULL if they can be read a page at a time, in parts of a multiple of
   `parts` rows. */
INLINE const void *paged_rows(const struct call *call, int64_t sequence, const void *rows, int64_t row, int64_t from,
    int64_t to, int64_t parts, unsigned char *copy)
{
    const int64_t tokens = call->pages->tokens;
    if (to <= (from / tokens + 1) * tokens)
        return (const void *)((uintptr_t)paged_row(call, sequence, rows, row, from, to) - (uintptr_t)(from * row));
    if (parts && tokens % parts == 0 && from % parts == 0) return NULL;
    for (int64_t at = from, end; at < to; at = end) {
        end = page_end(call, at, to);
        memcpy(copy + (at - from) * row, paged_row(call, sequence, rows, row, at, to), (size_t)((end - at) * row));
    }
    return (const void *)((uintptr_t)copy - (uintptr_t)(from * row));
}

/* Returns the address of row `at` for a product that prefetches `distance` rows ahead, or NULL. If pages are shorter,
   it skips the rows that an earlier product has prefetched: the address plus their bytes is that of the row after
   them. */
INLINE const void *paged_after(const struct call *call, int64_t sequence, const void *rows, int64_t row, int64_t at,
    int64_t to, int64_t distance)
{
    const int64_t skipped = max(distance - call->pages->tokens, 0);
    const uintptr_t found = (uintptr_t)paged_row(call, sequence, rows, row, at + skipped, to);
    return (const void *)(found ? found - (uintptr_t)(skipped * row) : 0);
}

#endif
/* Sizes in bytes. bytes_times and bytes_plus return SIZE_MAX on overflow or for a negative size. */
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

#if WAITS
/* Waits until another thread has raised `*number` to `to`. */
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
/* Waits until the previous tile has added to all positions before `position`. Tiles of a head add to the sums in
   order, so results do not depend on threads. */
INLINE void await_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress) await_number(call->progress + task + task / call->tiles, position);
}

/* Lets the next tile add to all positions before `position`. */
INLINE void pass_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress)
        __atomic_store_n(call->progress + task + task / call->tiles + 1, position, __ATOMIC_RELEASE);
}

#endif
#if OUTER
/* Returns where the caller has the outer sums of a task, or NULL. */
INLINE unsigned char *outer_sums(const struct call *call, int64_t task, int64_t bytes)
{
    const int64_t at = call->outer ? task / call->outer_tasks * call->outer_head + task % call->outer_tasks * bytes : 0;
    return call->outer ? call->outer + at : NULL;
}

#endif
#if PHASES
/* - A slot is memory for the sums of one chunk. A segment is chunks that one thread processes.
   - Threads fold the slots of their segments into the carried state, one segment after the other.
   - The state's elements are in groups. Two threads can fold different groups at the same time.
   - Each group counts its segments in its own cache line of NUMBERS_OF_LINE numbers. */
enum { NUMBERS_OF_LINE = 8 };

struct part { /* a thread's share of a head */
    int64_t number, threads; /* number: the thread's number; threads: the number of threads on the head */
    /* chunk0, chunk1: the thread's segment is chunks chunk0 to chunk1 - 1; window: slots of a thread */
    int64_t chunk0, chunk1, window;
    /* folded: for each group, the segments added to it; segments: the segments of earlier heads */
    int64_t *folded, segments;
    /* work: the thread's memory; shared: memory of all threads; slots: the thread's slots */
    unsigned char *work, *shared, *slots;
    const struct attn_team *team; /* the caller's threads, or NULL for OpenMP's */
};

/* Returns the number of chunks in a segment, at most `window`. All threads get equally many chunks, in as few
   segments as possible. */
INLINE int64_t segment_length(const struct part *part, int64_t chunks)
{
    const int64_t each = (max(chunks, 1) + part->threads - 1) / part->threads,
        rounds = (each + part->window - 1) / part->window;
    return (each + rounds - 1) / rounds;
}

/* Segments are added to a group in order. await_segment waits until all earlier segments are added. pass_segment
   announces that `segment` is added. */
INLINE void await_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1) await_number(part->folded + group * NUMBERS_OF_LINE, part->segments + segment);
}
INLINE void pass_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1)
        __atomic_store_n(part->folded + group * NUMBERS_OF_LINE, part->segments + segment + 1, __ATOMIC_RELEASE);
}

/* Waits for all threads on the head. */
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
#if REMEMBERS
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
    if (r->head == head && from >= r->base && to <= r->base + room && from <= r->to + far && r->from <= to + far) return;
    *r = (struct remembered){head, all <= room ? lowest : from - room / 2, from, from};
}
INLINE void extend_known(struct remembered *r, int64_t from, int64_t to)
{
    r->from = min(r->from, from);
    r->to = max(r->to, to);
}
#if REMEMBERED_TILES
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

#endif
#if FADES
enum { NORM_LANES = 16 }; /* sums that are computed side by side, because a compiler may not reorder a single sum */
INLINE double larger_square(double max, REAL square) /* NaN if a square is not finite */
{
    return square - square != 0 || max != max ? NAN : (double)square > max ? (double)square : max;
}
/* Returns a bound of the norms of n rows, which are `step` apart. */
INLINE double max_norm_of_rows(const REAL *x, int64_t n, int64_t step, int64_t elements)
{
    double max = 0;
    for (int64_t k = 0; k < n; k++, x += step) {
        REAL part[NORM_LANES] = {0}, square = 0;
        int64_t e = 0;
        for (; e + NORM_LANES <= elements; e += NORM_LANES)
            for (int t = 0; t < NORM_LANES; t++) part[t] += x[e + t] * x[e + t];
        for (; e < elements; e++) square += x[e] * x[e];
        for (int t = 0; t < NORM_LANES; t++) square += part[t];
        max = larger_square(max, square);
    }
    return sqrt(max) * (1 + 0x1p-16);
}
/* Returns a bound of the norms of n columns. Rows are `stride` apart. */
INLINE double max_norm_of_columns(const REAL *x, int64_t n, int64_t stride, int64_t elements)
{
    double max = 0;
    for (int64_t k = 0; k < n; k += NORM_LANES) {
        const int64_t columns = min(n - k, NORM_LANES);
        REAL square[NORM_LANES] = {0};
        for (int64_t e = 0; e < elements; e++)
            if (columns == NORM_LANES)
                for (int t = 0; t < NORM_LANES; t++) square[t] += x[e * stride + k + t] * x[e * stride + k + t];
            else
                for (int64_t t = 0; t < columns; t++) square[t] += x[e * stride + k + t] * x[e * stride + k + t];
        for (int64_t t = 0; t < columns; t++) max = larger_square(max, square[t]);
    }
    return sqrt(max) * (1 + 0x1p-16);
}
/* Returns the minimum of n numbers, or NaN if one is not finite. */
INLINE double min_of(const REAL *x, int64_t n, int64_t step)
{
    REAL min = x[0], bad = 0;
    for (int64_t k = 0; k < n; k++) {
        bad += x[k * step] - x[k * step];
        min = x[k * step] < min ? x[k * step] : min;
    }
    return (double)(min + bad);
}
/* Returns a bound of (a - b) * unit for all prefix sums a of n queries and b of m keys. The bound is infinite if the
   difference of one pair is too large to matter, NaN if a number is not finite. */
INLINE double max_gap(const REAL *a, int64_t n, int64_t a_step, const REAL *b, int64_t m, int64_t b_step, double unit)
{
    if (!((double)(a[0] - b[(m - 1) * b_step]) * unit < -24)) return INFINITY;
    REAL max = a[0], bad = 0;
    for (int64_t k = 0; k < n; k++) {
        bad += a[k * a_step] - a[k * a_step];
        max = a[k * a_step] > max ? a[k * a_step] : max;
    }
    const double high = (double)(max + bad), low = min_of(b, m, b_step);
    return (high - low + (sizeof(REAL) == 4 ? 0x1p-22 : 0x1p-51) * (fabs(high) + fabs(low))) * unit; /* rounding of sums */
}
/* Returns whether n shares of at most 2^exponent add up to less than the last bit of their whole. */
INLINE int fades(double exponent, int64_t n)
{
    return exponent < (sizeof(REAL) == 4 ? -24 : -53) && exponent + log2((double)n) < (sizeof(REAL) == 4 ? -24 : -53);
}

#endif
#if WIDENS
union bits { uint32_t bits; float value; };
#endif
#if WIDENS_BF16
INLINE float widened_bf16(uint16_t x) { return (union bits){(uint32_t)x << 16}.value; } /* the upper half of a float */
#endif
#if WIDENS_F16
INLINE float widened_f16(uint16_t half) /* f16 has 5 bits of exponent and 10 of fraction */
{
    const uint32_t x = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
    union bits made = {x + (113u << 23)}; /* for subnormal numbers, adds and subtracts a leading one */
    made.value -= 0x1p-14f;
    /* the second 112 << 23 is for infinity and NaN */
    if (x >= 0x00800000) made.bits = x + (112u << 23) + (x >= 0x0f800000 ? 112u << 23 : 0);
    made.bits |= sign;
    return made.value;
}
#endif
#if BF16
INLINE uint16_t narrowed(float value) /* rounds to nearest, ties to even; NaN stays NaN */
{
    const uint32_t x = (union bits){.value = value}.bits;
    return (uint16_t)((value != value ? x | 0x400000 : x + 0x7fff + (x >> 16 & 1)) >> 16);
}

#endif
#if F16
INLINE uint16_t narrowed(float value) /* rounds to nearest, ties to even; NaN stays NaN */
{
    const union bits given = {.value = value}, size = {given.bits & 0x7fffffff}, tiny = {.value = size.value + 0.5f};
    uint32_t x = (size.bits - (112u << 23) + 0xfff + (size.bits >> 13 & 1)) >> 13;
    if (size.bits < 113u << 23) x = tiny.bits - (126u << 23); /* for subnormal numbers, adding 0.5f has rounded x */
    if (size.bits >= 0x477ff000) x = 0x7c00; /* numbers from 65520 on become infinity */
    if (value != value) x = 0x7e00;
    return (uint16_t)(x | (given.bits >> 16 & 0x8000));
}

#endif
#if INTEGERS
/* The minimum and maximum of ids in a range of positions. Positions before 0 have the id INT64_MIN. */
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

#endif
#if FLAGS
#if !INTEGERS
/* The minimum and maximum of truth values, as integers. */
struct ids {
    int64_t min, max;
};
#endif
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
#if TILES
/* Like flags_of_rows, but reads the table of the tiles. A tile that is partly in the range counts as a whole. So
   `min` may be smaller and `max` larger. Rows are numbered through all masks. */
INLINE struct ids flags_of_tiles(const struct mask_tiles *t, int64_t first, int64_t end, int64_t from, int64_t to)
{
    const int64_t mask = first / t->rows, before = mask * t->rows, left = max(from, 0) / ATTN_TILE_COLUMNS,
        right = (to + ATTN_TILE_COLUMNS - 1) / ATTN_TILE_COLUMNS;
    unsigned seen = end - before > t->rows ? ATTN_TILE_SOME | ATTN_TILE_SOME_NOT : 0; /* the rows belong to several masks */
    for (int64_t strip = (first - before) / ATTN_TILE_ROWS; strip * ATTN_TILE_ROWS < min(end - before, t->rows); strip++) {
        const uint8_t *const tile = t->tile + (mask * t->strips_of_mask + strip) * t->tiles_of_strip;
        for (int64_t x = left; x < right; x++) seen |= tile[x];
    }
    return (struct ids){!(seen & ATTN_TILE_SOME_NOT), seen & ATTN_TILE_SOME};
}

/* Consecutive columns of a mask. */
struct run {
    int64_t from, to;
};
/* Moves *run to the next columns before `end` whose tiles have a true flag in rows `first` to `end_row` - 1. A run
   has at most `most` columns. Returns 0 if no columns are left. */
INLINE int next_run(struct run *run, const struct mask_tiles *t, int64_t first, int64_t end_row, int64_t most,
    int64_t end)
{
    run->from = run->to;
    run->to = min(run->from + most, end);
    for (int64_t x = run->from; x < run->to; x = x / ATTN_TILE_COLUMNS * ATTN_TILE_COLUMNS + ATTN_TILE_COLUMNS) {
        if (flags_of_tiles(t, first, end_row, x, x + 1).max) continue;
        if (x > run->from)
            run->to = x;
        else
            run->to = min((run->from = (x / ATTN_TILE_COLUMNS + 1) * ATTN_TILE_COLUMNS) + most, end);
    }
    return run->from < run->to;
}
#endif
/* Returns the flag at position x. Positions outside 0 to n - 1 have the flag at the nearest end, or 0 if n is 0. */
INLINE int64_t flag_at(const uint8_t *flag, int64_t x, int64_t n)
{
    static const uint8_t none = 0;
    return (n > 0 ? flag : &none)[max(min(x, n - 1), 0)];
}

#endif
#if HIDES
/* ---- reals of the caller, of which -inf hides a pair ---- */
INLINE int64_t shown_f32(float x) { return x != -INFINITY; }
INLINE int64_t shown_f64(double x) { return x != -INFINITY; }
INLINE int64_t shown_f16(uint16_t bits) { return bits != 0xfc00; }
INLINE int64_t shown_bf16(uint16_t bits) { return bits != 0xff80; }

#endif
#if OF_CALLER
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

#endif
#if DECLARED
/* Returns the integer at position x. Positions outside 0 to n - 1 have the integer at the nearest end, or 0 if n is 0. */
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

#endif
#if DECLARED_FLAGS
/* Returns the flag at position x. Positions outside 0 to n - 1 have the flag at the nearest end, or 0 if n is 0. */
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

#endif
#if HIDES
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

#endif
#if LISTS
/* Returns whether rows from … to - 1 have an element that is at least `low` and below `end`. A row has n elements. */
INLINE int any_id(const int32_t *id, int64_t n, int64_t from, int64_t to, int64_t low, int64_t end)
{
    int any = 0;
    for (int64_t k = from * n; k < to * n; k++) any |= id[k] >= low && id[k] < end;
    return any;
}

#endif
