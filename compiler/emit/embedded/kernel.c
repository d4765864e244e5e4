/* Template of the beginning of every kernel. attnc replaces names in capitals and evaluates some #if.
   tests/unit/test_entry.c compiles it as it stands.
   - chunk: a fixed number of keys whose sums are made at a time
   - slot: memory for the sums of one chunk
   - carried state: the sums over all chunks so far
   - fold: add a slot to the carried state. If queries read earlier states, the slot then holds the state for them.
   - segment: chunks that one thread takes at a time */

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/basic.h>
#if CALLER_MASKS
#include <attnrt/kernel/masks.h>
#endif
#if SOMETIMES_SLOWER
#ifndef ATTN_SLOWER_TOO
#define ATTN_SLOWER_TOO 0 /* tests set 1, to run a version also where it is slow */
#endif
#endif
#if TILES
enum { MASK_AXES = 2 };
struct mask_tiles { /* the table of the tiles of masks */
    /* Flags, or reals that are -inf where they hide: [masks, rows, columns]. The axes of masks have the sizes `size`
       and the
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
#include <attnrt/kernel/mask_tiles.h>
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
#if PAGED
#include <attnrt/kernel/pages.h>
#endif
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
#include <attnrt/kernel/remembered.h>
#endif
