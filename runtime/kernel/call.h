/* Emitted loops and the library that calls them (runtime/call/) share these: a call, a thread's share of a head, and the
   tables at the end of every kernel. Words:
   - program: one loop nest of a kernel for one target, such as forward or a part of backward
   - task: the work that a thread takes at a time
   - chunk: a fixed number of keys whose sums are made at a time
   - slot: memory for the sums of one chunk
   - carried state: the sums over all chunks so far
   - fold: add a slot to the carried state. If queries read earlier states, the slot then holds the state for them.
   - segment: chunks that one thread takes at a time
   - outer sums: the sums over the tokens before and after those of a call (attn_problem.earlier_sums) */
#ifndef ATTNRT_CALL_H
#define ATTNRT_CALL_H

#include <attnrt.h>

#include "basic.h"

#include <string.h>
#ifdef __unix__
#include <sched.h>
#endif

enum { MAX_REMEMBERED = 8, MASK_AXES = 2, NO_ARRAY = 65535, SHARED_GRADIENTS = 2 };

/* ---- a call ---- */

/* Where an array is. All strides count elements, or bytes if rows are bytes. */
/* Rows of an array that a product prefetches: the bytes between two rows, and of one. */
struct coming {
    const void *at;
    int64_t row, width;
};

struct place {
    void *at; /* the caller's array, or memory in the workspace; NULL if the call does not have the array */
    struct attn_strides strides; /* of an array with a row for each token */
    int64_t group;               /* where heads are queries: the stride of the heads that share a key/value head */
    int64_t stride[4];           /* of an array of `arrays`, for each axis */
};

/* The table of the tiles of masks. */
struct mask_tiles {
    /* Flags, or reals that are -inf where they hide: [masks, rows, columns]. The axes of masks have the sizes `size`
       and the strides `stride`. */
    const void *flag;
    enum attn_dtype dtype;
    const uint8_t *tile;                 /* [strips, tiles of a strip], as in struct attn_mask_tiles */
    uint8_t *made;                       /* `tile`, if the call makes the table. Its memory is part of the workspace. */
    const struct attn_mask_tiles *given; /* the caller's table, or NULL */
    /* `strips` is the number of strips that the call fills */
    int64_t rows, columns, strips_of_mask, tiles_of_strip, strips;
    /* `row` and `column` are the strides of rows and columns */
    int64_t size[MASK_AXES], stride[MASK_AXES], row, column;
};

enum { OUTER_NONE, OUTER_EARLIER, OUTER_LATER, OUTER_TERMS };

struct call { /* the arguments of a call; all threads read the same struct */
    struct attn_problem p;
    const struct kernel *kernel;
    const struct program *program; /* in calls with a state: the program that computes the next tokens */
    const void *params;            /* the caller's struct NAME_params */
    int64_t sharing;               /* the number of heads of v and out that share a head of q and of k */
    int asked;                     /* with a state: the caller wants the rows of out */
    int wrong;                     /* the faults of arguments, for check_arguments */
    struct mask_tiles *mask_tiles; /* the tables of the kernel's masks */
    unsigned char *kept;           /* the sums of all heads in the caller's state, or NULL */
    /* start: the position of the sequence's first token, or `length` if the call begins the sums; summed: the sums
       contain the keys before this position; length: the position of the first new token; solved: the state has the
       solution of 'delta' for the keys from `summed` to this position */
    int64_t start, summed, length, solved;
    /* chunk_sums: the caller's sums of chunks, from chunk number first_chunk on, or NULL; head_chunks: the chunks of a
       head in it */
    unsigned char *chunk_sums;
    int64_t first_chunk, head_chunks;
    const unsigned char *folded; /* the sums of a second state over p.n_k keys, which are added to `kept` */
    /* - outer: the caller's outer sums that forward or the current part of backward reads, or NULL. A key/value head
       has `outer_head` bytes of them, for `outer_tasks` tasks
       - adds: the call only adds its tokens to these sums: to those of earlier or of later tokens. OUTER_NONE: it
         computes gradients. OUTER_TERMS: it computes those of arrays that a decay reads, after the others
       - gives: the current part adds to its sums
       - only_sums: it computes nothing else */
    unsigned char *outer;
    int64_t outer_head, outer_tasks;
    int adds, gives, only_sums;
    /* - pages: the caller's pages, or NULL
       - page: for each sequence, the numbers of its pages
       Pointers to arrays of keys are addresses of the first head's rows in page 0. */
    const struct attn_pages *pages;
    const int32_t *page;
    /* Keys that several sequences have in the same pages are summed in a call for all rows of these sequences.
       - common: memory for a sequence's rows: prepared queries, and the sums over chunks of such keys. [kv_heads, rows]
       - common_begun: whether `common` has sums. If so, they are over the chunks before number common_chunks
       - common_end: all rows see the keys before common_end in chunk common_chunks and later ones
       - sharer, sharers: in a call for several sequences, the calls of these sequences
       - place: in such a call, the sequence's position of query 0, the number of the query, and that of its member of
       the key/value head, for each row */
    unsigned char *common;
    int common_begun;
    int64_t common_chunks, common_end, sharers;
    struct call *const *sharer;
    const struct place_of_row {
        int64_t start;
        int32_t number, member;
    } *place;
    /* extend computes some sequences of the batch at a time. first_sequence is the first of them. other_sequences is
       the number of sequences that are not computed. */
    int64_t first_sequence, other_sequences;
    int64_t dropped; /* the number of keys between the first and the last keys that the state stores */
    /* progress[head][1 + tile] is n if the tile has added to positions 0 to n - 1. `progress` is NULL if one thread
       computes all tiles of a head. tiles: the tiles of a head */
    int64_t *progress, tiles;
    const struct place *shared; /* in backward, if heads share heads: the caller's places of kernel->shared_gradient */
    struct place array[ATTN_MAX_ARRAYS]; /* those of the kernel's table; copy_call copies no others */
};

/* ---- a thread's share of a head ---- */

/* - Threads fold the slots of their segments into the carried state, one segment after the other.
   - The state's elements are in groups. Two threads can fold different groups at the same time.
   - Each group counts its segments in its own cache line of NUMBERS_OF_LINE numbers. */
enum { NUMBERS_OF_LINE = 8, FOLD_GROUPS = 16 };

struct share {
    int64_t number, threads; /* number: the thread's number; threads: the number of threads on the head */
    /* chunk0, chunk1: the thread's segment is chunks chunk0 to chunk1 - 1; window: slots of a thread */
    int64_t chunk0, chunk1, window;
    /* folded: for each group, the segments added to it; segments: the segments of earlier heads */
    int64_t *folded, segments;
    /* work: the thread's memory; shared: memory of all threads; slots: the thread's slots */
    unsigned char *work, *shared, *slots;
    void (*barrier)(void); /* waits for all threads on the head */
};

/* ---- the tables of a kernel ---- */

/* The use of a program. A kernel has at most one program of a kind for each target, part, form and number of keys. In a
   target's table, those of a role are one after another. */
enum program_role {
    RUN_FORWARD,
    RUN_BACKWARD, /* one of the parts */
    RUN_TERMS,    /* computes the terms of prefix sums */
    RUN_CORRECT,  /* computes the corrected values of 'delta', or their tangents */
    RUN_APPEND,   /* the same for new tokens of a state */
    RUN_EXTEND,   /* forward for new tokens, with a state of sums */
    RUN_FOLDABLE, /* the same for a state that also has transitions (attn_problem.foldable) */
    RUN_ATTEND,   /* forward for new tokens, with a state of keys, if it differs from RUN_FORWARD */
    RUN_PREPARE,  /* prepares keys, or other rows, for a state */
    RUN_WEIGHTS,  /* computes weights of pairs, if the call wants them */
    RUN_SELECT,   /* computes one of the lists of the best keys */
    RUN_SELECT_NEW /* the same for new tokens of a state that stores prepared keys or rows */
};

/* FORM_FEW: for few queries; FORM_HEADS: for few queries of many heads that share keys; FORM_MANY: for all others */
enum program_form { FORM_MANY, FORM_FEW, FORM_HEADS };

/* A matrix among the sums of a head: element (f, e) is `row` * f + `column` * e numbers after `at`. */
struct matrix_of_sums {
    int64_t features, columns, row, column;
    size_t at;
};

struct program {
    enum program_role role;
    enum program_form form;
    int part;         /* the number of the part of backward */
    int64_t from;     /* the number of keys from which this program runs. The programs for more keys come first */
    int64_t few_rows; /* FORM_FEW: the most queries of all heads that share keys */
    int64_t lanes;    /* FORM_FEW: if it is not 0, the lanes of a vector, with which few_pay counts */
    void (*rows)(const struct call *, int64_t, unsigned char *); /* computes a task on one thread */
    void (*head)(const struct call *, int64_t, struct share *); /* computes a head on one or more threads; may be NULL */
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
    int in_keys;  /* no query may be after the last key */
    int own_sums; /* computes the prefix sums that it reads */
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
    /* a task is a tile of queries, or a tile of the keys of a key/value head or of a query head */
    enum { OF_QUERIES, OF_KEY_HEAD, OF_QUERY_HEAD } of_keys;
    int outer;           /* enum: the program carries sums of earlier or of later tokens, or none */
    int64_t outer_bytes; /* the bytes of these sums for a task, a multiple of 64 */
    /* adds: bit k is set if the part runs in a call that only adds to sums of kind k; outer_results: it then computes
       an array for another part, too */
    int adds, outer_results;
    int saves;             /* forward stores values for backward */
    const uint16_t *wanted; /* the part runs if the call has one of these arrays, up to NO_ARRAY. NULL: always */
    int idle;              /* the part has nothing to compute */
    int of_terms;          /* the part computes gradients from those of the terms of prefix sums */
    /* The part computes again what forward may have saved: saved rows, or the solution of 'delta'. sums_slices: it adds
       the sums of slices, and skips a gradient that is in the caller's array already (struct array, whole) */
    int saved_again, solution_again, sums_slices;
    int units;      /* the number of slices of the rows, or 0 */
    int unit_batch; /* the rows of a slice are of one batch entry */
    int unit_heads; /* heads in a slice: 0: all, 1: one key/value head, 2: one query head */
    /* the number of strips and tiles that a thread remembers, which are at these places in its workspace */
    int remembered;
    size_t remembers[MAX_REMEMBERED];
    int in_order;               /* tiles of a head add to shared sums in order */
    int by_heads;               /* query heads that share keys take the place of queries */
    int64_t apart;              /* positions between neighbouring queries of a task, or 0 for 1 */
    size_t shared, slot, slots; /* shared: bytes for all threads of a head; slot: bytes of a slot; slots: per thread */
    int together;  /* heads that all threads compute together: 0: none, 1: the last (heads % threads), 2: all */
    int any_order; /* the ids of the keys may be in any order */
    /* common: sums keys that several sequences share, for a key/value head and at most common_rows rows of these
       sequences; may be NULL. common_chunk: the keys of a chunk. common_row: bytes of a row in `call.common`.
       common_range: gives the keys that all rows of a sequence see; NULL if these are all keys before the rows */
    void (*common)(const struct call *, int64_t, struct share *);
    void (*common_range)(const struct call *, int64_t, int64_t *);
    int64_t common_rows, common_chunk, common_row;
    /* The sums of a head, if they are matrices or vectors, which have 1 column: their number, or 0. solution: that of
       'delta' for the rows of a chunk. It has 0 features without 'delta' */
    int matrices;
    const struct matrix_of_sums *matrix;
    struct matrix_of_sums solution;
    int64_t chunk;                                               /* keys that are added to a state at a time */
    size_t kept;                                                 /* bytes of the sums of one head */
    void (*join)(const struct call *, int64_t, unsigned char *); /* adds the sums of a second state, for one task */
    size_t join_work;                                            /* bytes of workspace for `join` */
};

struct target {
    int (*runs)(void); /* returns whether this machine runs the target; NULL: every machine does */
    const struct program *program;
    int programs;
};

/* How a call gets an array. */
enum array_origin {
    FROM_ARGUMENT,  /* an argument of entry points */
    FROM_PROBLEM,   /* a member of struct attn_problem */
    FROM_ARRAY,     /* a part of another array. The strides of these first three are in struct attn_problem, and they
                       are the first arrays of a table */
    FROM_PARAMS,    /* a member of struct NAME_params */
    FROM_GRADIENTS, /* a member of struct NAME_gradients */
    FROM_SAVED,     /* numbers for each row that forward saves and backward reads: [B,H,n_q] */
    FROM_ROW_SUMS,  /* numbers or vectors of rows that a part of backward makes for later parts: [B,H,n_q,elements] */
    FROM_SUMS,      /* sums that tiles add up in order: [B,H,n_q,elements], or n_k with sums_of_keys */
    FROM_LEFT,      /* an array that a part of backward leaves for later parts */
    FROM_LISTS,     /* lists of the best keys, which forward and backward compute first */
    FROM_LIBRARY    /* memory that forward.c, sums.c or backward.c places */
};
enum array_entry { ENTRY_FORWARD, ENTRY_BACKWARD };
enum array_access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITTEN, ACCESS_WANTED };
/* The rows of an array: one for each query or key, or others. */
enum array_rows { ROWS_OTHER, ROWS_OF_QUERIES, ROWS_OF_KEYS };
enum array_random { RANDOM_NONE, RANDOM_NORMAL, RANDOM_ORTHOGONAL };

struct array {
    const char *name;
    enum array_origin origin;
    enum array_access access[2];     /* in forward and extend; in backward */
    enum attn_dtype dtype, appended; /* appended: the type of the rows that extend takes */
    enum array_rows rows;
    int argument[2];  /* FROM_ARGUMENT: its number among the arguments of the entry */
    size_t member;    /* the offset of the pointer in struct attn_problem, NAME_params or NAME_gradients */
    size_t strides;   /* the offset of its struct attn_strides in struct attn_problem. FROM_ARGUMENT, FROM_PROBLEM */
    int of;           /* FROM_ARRAY: the number of the array that contains this one */
    int param;        /* FROM_PARAMS: its number in the table of parameters */
    int random;       /* enum array_random */
    int has_rows;     /* FROM_PARAMS: it has rows of reals, so that place.strides are set */
    int axis[3];      /* FROM_PARAMS, or rows in a state: the axes of sequences, heads, and queries or keys, or -1 */
    int integer_rows; /* calls with a state take the integers of new tokens */
    int of_sequences; /* integers of each sequence, which are not an array of `arrays`: the elements of a sequence are
                         those of the axes after the first one */
    int mask;         /* 1 + the number of the table of its tiles, or 0 */
    /* FROM_LEFT. It has elements of size kernel->real. It has a place if the call has one of the arrays `wanted`. NULL:
       it has no memory
       - linear: the linear form leaves it. Arrays of the two forms share memory
       - whole: the number of the gradient that sums it over query heads, or 0. If all heads are apart, it is that array
       - sums: it has a row for each key and key/value head, or query head with `whole` */
    const uint16_t *wanted;
    int linear, whole, sums;
    int64_t elements; /* FROM_PROBLEM, FROM_LEFT, FROM_SUMS, FROM_LISTS, FROM_LIBRARY: the elements of a row, or of all
                         constant axes. FROM_ROW_SUMS: the same, or 0 for numbers */
    int sizes;        /* FROM_PROBLEM, FROM_LEFT, FROM_LISTS: the sizes that are multiplied with `elements`, as bits
                         1 << -axis of enum attn_axis */
    enum attn_statistics statistics; /* FROM_PROBLEM: what the array has, if it is the statistics */
};

/* An array whose rows a state stores. */
struct kept_array {
    int array;         /* its number in the kernel's table */
    int64_t row_bytes; /* bytes of a row in the state */
    /* enum attn_axis: ATTN_HEADS or ATTN_KV_HEADS; 0: all heads share the rows; 1: heads of k; more: that many heads */
    int heads;
    int64_t element;   /* if not 0, the bytes of an element: the elements of a row of the caller may be apart */
    int64_t rounded;   /* if not 0, the elements of a row that is rounded to `dtype` of the array */
    int prepared;      /* if not 0, its rows are stored prepared, by the programs of this part and 1 */
};

/* The threads of a kernel's OpenMP (openmp.h). */
struct openmp {
    struct attn_team team;
    int (*max_threads)(void), (*processors)(void);
};

/* A kernel, in the form that runtime/call/ reads. */
struct kernel {
    uint64_t layout; /* KERNEL_LAYOUT. This member is always the first one */
    const char *name;
    const struct openmp *openmp; /* NULL: calls without a team have one thread */
    const struct target *target;
    const struct array *array;
    const struct attn_param *param;
    const struct kept_array *kept_array; /* the arrays of a state, then those that only the terms of prefix sums need */
    int targets, arrays, params;
    enum attn_dtype dtype, key_dtype, value_dtype;
    size_t real, element; /* the bytes of a number in computations, and of an element of out */
    int64_t head_dim, value_dim, key_row, value_row, max_length; /* key_row, value_row: units of a row in memory */
    size_t params_bytes;                                         /* the size of struct NAME_params */
    size_t strides;         /* the offset in it of the pointer to struct NAME_strides, if `strided` */
    size_t gradients_bytes; /* the size of struct NAME_gradients */
    int strided, storage, values_are_keys, delta, positions, shares, masks;
    uint64_t seed; /* the seed of dropout in the spec */
    int ids; /* the number of the array whose integers the linear form needs in order, or -1 */
    /* Prefix sums: prefix_row is the number of them for each head and position, or 0. `prefix` has the numbers of their
       arrays, in the order of enum prefix_array; subnormals are taken for zeros */
    int64_t prefix_row, sum_tokens;
    uint16_t prefix[9];
    const uint16_t *prefix_wanted; /* the gradients that need those of the terms, up to NO_ARRAY. NULL: there are none */
    int decay_parts;              /* calls may have some keys of a sequence with a decay (attn_problem.query_decay) */
    int weighs, lists;            /* it has programs of RUN_WEIGHTS, and of RUN_SELECT */
    int corrected, tangents;      /* the number of the array of corrected values, or -1; their tangents follow it */
    int outer, whole, key_sums;   /* outer: calls may give outer sums; whole: these are sums over all tokens */
    int64_t outer_chunk, open_keys;
    /* Backward: the number of parts, of arrays FROM_SAVED, of FROM_ROW_SUMS' numbers for a query, the number of the saved
       solution or -1 */
    int parts, saved, row_sums, solution;
    int by_heads, gathers; /* by_heads: it has programs of FORM_HEADS; gathers: they serve any call */
    int64_t row_of_sums;                            /* the elements of all arrays FROM_SUMS for a row */
    int sums_of_keys;                               /* these rows are keys, and tiles of queries add to them */
    const uint16_t *sums_wanted;
    /* `shares`: the numbers of the gradients of queries and of keys. They have head_dim elements, and several heads may
       share a head of them */
    uint16_t shared_gradient[SHARED_GRADIENTS];
    /* A state:
       - carried: it has sums over chunks; solves: and the solution for the keys after them
       - by_capacity: it stores all keys; read_back, read_first: the numbers of last and first keys that it stores
       - rows_kept: the tokens of a sequence for which it has room
       - folds, moves, any_order, transitions: see struct emission; joins: two states can be joined
       - prepared: it stores prepared keys or other rows; attends: other programs than forward read its keys
       - appends: it stores corrected values
       - uncopied: a call may read its own keys in place; rounds_prepared: prepared keys are rounded
       - numbered: an expression reads the number of a sequence
       - kept_arrays: the arrays of the state; given: these and those that only the terms of prefix sums need; sums: the
         number among them of the first array of prefix sums
       - common_row: the largest common_row of a program */
    int decodes, carried, solves, by_capacity, folds, transitions, joins, moves, terms_move, any_order, prepared,
        attends, appends, paged, rows_move, uncopied, rounds_prepared, ids_in_order, numbered, chunk_sums, own_integers;
    int64_t read_back, read_first, rows_kept, common_row;
    uint64_t fingerprint;
    int kept_arrays, given, sums;
};

/* The layout, which must be that of the library that a kernel calls: the sizes of the structs above, and a number that
   changes when their meaning changes but not their sizes. */
#define KERNEL_VERSION UINT64_C(2)
#define KERNEL_LAYOUT \
    ((((KERNEL_VERSION * 8191 + sizeof(struct call)) * 8191 + sizeof(struct program)) * 8191 + sizeof(struct array)) * \
         8191 + \
     sizeof(struct kernel))
INLINE int fits_library(const struct kernel *kernel) { return kernel->layout == KERNEL_LAYOUT; }

/* ---- what the entry points of a kernel call (runtime/call/) ---- */

/* A standalone kernel contains these functions, which are then static. */
#ifndef ATTN_API
#define ATTN_API
#endif
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default) /* the shared library exports these functions too */
#endif

/* `argument` has the arrays in the order of the entry point's arguments. */
ATTN_API size_t attn_call_workspace(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API int attn_call_forward(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                               const void *const *argument, void *workspace);
/* add_key_sums of struct attn_kernel. The arguments for queries are NULL */
ATTN_API int attn_call_add_key_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                    const void *const *argument, void *workspace);
ATTN_API size_t attn_call_key_sums(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API int attn_call_decay_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                  double *sums, void *workspace);
ATTN_API size_t attn_call_params_size(const struct kernel *kernel);
ATTN_API int attn_call_params_init(const struct kernel *kernel, void *params, uint64_t seed, void *storage);

ATTN_API size_t attn_call_saved(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API size_t attn_call_backward_workspace(const struct kernel *kernel, const struct attn_problem *problem);
/* Computes gradients, or what `adds` (OUTER_…) says. `gradients` is a struct NAME_gradients or NULL */
ATTN_API int attn_call_backward(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                const void *const *argument, void *gradients, void *workspace, int adds);
/* add_outer_sums of struct attn_kernel. The arguments for gradients are NULL. */
ATTN_API int attn_call_add_outer_sums(const struct kernel *kernel, const struct attn_problem *problem,
                                      const void *params, const void *const *argument, int later, void *workspace);
ATTN_API size_t attn_call_outer_sums(const struct kernel *kernel, const struct attn_problem *problem, int later);

ATTN_API size_t attn_call_state(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API int attn_call_state_init(const struct kernel *kernel, const struct attn_problem *problem, void *state);
ATTN_API size_t attn_call_page(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API size_t attn_call_extend_workspace(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API int attn_call_extend(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                              const void *const *argument, void *state, void *workspace);
ATTN_API int64_t attn_call_state_length(const struct kernel *kernel, const struct attn_problem *problem,
                                        const void *state, int64_t sequence);
ATTN_API int64_t attn_call_state_min_length(const struct kernel *kernel, const struct attn_problem *problem,
                                            const void *state, int64_t sequence);
ATTN_API int attn_call_state_truncate(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                      int64_t sequence, int64_t length);
ATTN_API int attn_call_state_copy(const struct kernel *kernel, const struct attn_problem *problem, void *to,
                                  int64_t to_sequence, const void *from, int64_t from_sequence);
ATTN_API int attn_call_state_keep(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                  int64_t sequence, const int64_t *path, int64_t count);
ATTN_API int attn_call_state_fold(const struct kernel *kernel, const struct attn_problem *problem, void *left,
                                  const void *right);
ATTN_API size_t attn_call_state_sums(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API int attn_call_state_set(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                 const void *sums);
ATTN_API int attn_call_state_get(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                 void *state, void *sums, void *workspace);
ATTN_API int attn_call_state_part(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                  int64_t sequence, int64_t first_kv_head, const struct attn_problem *part_problem,
                                  void *part, int back);
ATTN_API int64_t attn_call_state_chunk(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API size_t attn_call_chunk_sums(const struct kernel *kernel, const struct attn_problem *problem);
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif

/* ---- what loops call ---- */

/* Waits until another thread has raised `*number` to `to`. */
INLINE void await_number(const int64_t *number, int64_t to)
{
    for (int tries = 0; __atomic_load_n(number, __ATOMIC_ACQUIRE) < to; tries++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
#if defined(__unix__)
        if (tries >= 1000) sched_yield(); /* the other thread may need this processor */
#else
        (void)tries;
#endif
    }
}

/* Waits until the previous tile has added to all positions before `position`. Tiles of a head add to the sums in
   order, so results do not depend on threads. */
INLINE void await_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress) await_number(call->progress + task + task / call->tiles, position);
}

/* Lets the next tile add to all positions before `position`. */
INLINE void pass_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress) __atomic_store_n(call->progress + task + task / call->tiles + 1, position, __ATOMIC_RELEASE);
}

/* Returns the number of chunks in a segment, at most `window`. All threads get equally many chunks, in as few
   segments as possible. */
INLINE int64_t segment_length(const struct share *share, int64_t chunks)
{
    const int64_t each = (max(chunks, 1) + share->threads - 1) / share->threads,
                  rounds = (each + share->window - 1) / share->window;
    return (each + rounds - 1) / rounds;
}

/* Returns the part of from <= x < to that the thread computes. Parts are in the order of threads, and begin at multiples
   of `unit`. */
INLINE struct attn_range range_of_share(const struct share *share, int64_t from, int64_t to, int64_t unit)
{
    const int64_t first = from / unit, units = to > from ? (to - 1) / unit + 1 - first : 0,
        begin = first + units * share->number / share->threads,
        end = first + units * (share->number + 1) / share->threads;
    return (struct attn_range){max(from, begin * unit), min(to, end * unit)};
}

/* Segments are added to a group in order. await_segment waits until all earlier segments are added. pass_segment
   announces that `segment` is added. */
INLINE void await_segment(const struct share *share, int64_t group, int64_t segment)
{
    if (share->threads > 1) await_number(share->folded + group * NUMBERS_OF_LINE, share->segments + segment);
}
INLINE void pass_segment(const struct share *share, int64_t group, int64_t segment)
{
    if (share->threads > 1)
        __atomic_store_n(share->folded + group * NUMBERS_OF_LINE, share->segments + segment + 1, __ATOMIC_RELEASE);
}

/* Waits for all threads on the head. */
INLINE void synchronise(const struct share *share)
{
    if (share->threads > 1) share->barrier();
}

/* Returns where the caller has the outer sums of a task, or NULL. */
INLINE unsigned char *outer_sums(const struct call *call, int64_t task, int64_t bytes)
{
    const int64_t at = call->outer ? task / call->outer_tasks * call->outer_head + task % call->outer_tasks * bytes : 0;
    return call->outer ? call->outer + at : NULL;
}

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

/* Copies a row of a tile to memory, or back. */
INLINE void move_bytes(unsigned char *memory, unsigned char *tile, size_t bytes, int back)
{
    if (back)
        memcpy(tile, memory, bytes);
    else
        memcpy(memory, tile, bytes);
}

#endif
