/* The state of sequences that grow, and the rows of tokens in it: what the files for decoding share. Words:
   - sums: the carried state of the linear form, over whole chunks of the first keys
   - row: the elements that one token adds to an array of keys or values, or to a parameter with a row per key
   - kept array: an array whose rows a state stores, a row of kernel->kept_array. Those from number kernel->sums on are
     prefix sums. Those from number kernel->kept_arrays on are not stored: only the terms of prefix sums need them */
#ifndef ATTNRT_CALL_STATE_H
#define ATTNRT_CALL_STATE_H

#include "call.h"

enum { MAX_KEPT = 32 };

/* ---- a state (state.c) ---- */

/* A state is one block of memory with
   - this header
   - the first members of a struct sequence for each sequence
   - the sums over the first keys of each sequence
   - earlier sums, to which a sequence can go back
   - rows of the keys and values that are not in the sums, or that the kernel reads one by one */
struct state_header {
    char magic[8];
    uint32_t format, byte_order;
    char name[64];        /* the name of the kernel */
    uint64_t fingerprint; /* identifies the spec and the layout of the state */
    int64_t dtype, head_dim, value_dim, batch, heads, kv_heads, capacity;
    int64_t rows, read_back, chunk, kept; /* rows: rows per sequence; chunk, kept: as in struct program */
    int64_t rewind, earlier; /* rewind: tokens that a sequence can go back; earlier: stored earlier sums per sequence */
    int64_t key_heads;       /* heads of k */
    int64_t foldable;        /* 1 if the sums of each head are followed by their transition */
    int64_t page;            /* the tokens of a page, or 0 if the state has the rows */
    uint64_t bytes;          /* size of the state */
    uint64_t check;          /* a hash of the members above and of the sequences */
};
struct sequence {          /* The members of this struct are positions. */
    int64_t length, first; /* length: the position after the last token; first: start + the number of dropped rows */
    int64_t summed;        /* the sums contain the keys before this position */
    int64_t start;         /* the position of the first token */
    int64_t min_length;    /* truncate refuses a smaller length, except `start` */
    int64_t oldest;        /* the oldest stored sums contain the keys before this position */
    int64_t draft;         /* the position of the first token of the last call */
    int64_t solved; /* only in states of kernels with `solves`: the state has the solution for the keys from `summed` to
                       this position */
};

/* An open state: its kernel, and addresses inside it. */
struct state {
    const struct kernel *kernel;
    const struct program *program; /* computes the next tokens. Its members chunk, kept and tile describe the sums */
    struct state_header *header;
    uint64_t hash;                 /* of the members of the header before `check` */
    unsigned char *sequence;       /* `size_of_sequence` bytes for each sequence */
    unsigned char *kept, *work;    /* kept: the sums of all heads; work: the workspace of attn_call_state_fold */
    unsigned char *earlier;        /* for each sequence, a ring of earlier sums of all heads */
    unsigned char *rows[MAX_KEPT]; /* the rows of each array: [batch, heads, rows, …] */
};

INLINE size_t size_of_sequence(const struct kernel *kernel)
{
    return kernel->solves ? sizeof(struct sequence) : offsetof(struct sequence, solved);
}
/* Returns sequence b of a state. `solved` is 0 if the state does not have it. */
INLINE struct sequence sequence_of(const struct state *at, int64_t b)
{
    struct sequence s = {.solved = 0};
    const unsigned char *const from = at->sequence + (size_t)b * size_of_sequence(at->kernel);
    memcpy(&s, from, offsetof(struct sequence, solved));
    if (at->kernel->solves) memcpy(&s.solved, from + offsetof(struct sequence, solved), sizeof s.solved);
    return s;
}
INLINE void set_sequence(const struct state *at, int64_t b, const struct sequence *s)
{
    memcpy(at->sequence + (size_t)b * size_of_sequence(at->kernel), s, size_of_sequence(at->kernel));
}

/* Returns the program that computes the next tokens. If the state is foldable, it also has transitions: the affine maps
   from the sums before the tokens to the sums after them. */
ATTN_API const struct program *attn_state_program(const struct kernel *kernel, const struct attn_problem *problem);
/* Fills the header of a new state, except `check`. Returns 0 or an error. */
ATTN_API int attn_state_describe(const struct kernel *kernel, const struct program *program,
                                 const struct attn_problem *problem, struct state_header *header);
/* Sets `at`. Returns ATTN_ESTATE if the state is damaged, or of another kernel or problem. */
ATTN_API int attn_state_open(const struct kernel *kernel, const struct attn_problem *problem, const void *state,
                             struct state *at);
/* Opens a state like attn_state_open. Returns ATTN_EPROBLEM if it has no sequence of this number. */
ATTN_API int attn_state_open_sequence(const struct kernel *kernel, const struct attn_problem *problem,
                                      const void *state, int64_t sequence, struct state *at);
ATTN_API void attn_state_close(const struct state *at); /* sets the hash of a changed state */
/* Returns the largest s->first that later tokens allow, for a sequence that may go back by `rewind` tokens. */
ATTN_API int64_t attn_state_first_needed(const struct kernel *kernel, const struct sequence *s, int64_t rewind);
/* Sets the rows of prefix sums before row 0 of a sequence to 0. */
ATTN_API void attn_state_begin_sums(const struct state *at, int64_t b);
/* Returns the most chunks of a head that a call completes. The first chunk may contain earlier tokens. */
INLINE int64_t chunks_of_call(const struct attn_problem *p, const struct program *program)
{
    return p->n_q / program->chunk + 1;
}

/* Returns the number of heads whose sums are separate. */
INLINE int64_t heads_with_sums(const struct attn_problem *p, const struct program *program)
{
    return program->tile == 0 ? p->kv_heads : p->heads;
}
/* Returns the bytes of the sums of a sequence. */
INLINE size_t bytes_of_sequence_sums(const struct attn_problem *p, const struct program *program)
{
    return (size_t)heads_with_sums(p, program) * program->kept;
}
/* Returns the address of the earlier sums of sequence b that contain the keys before `position`. */
INLINE unsigned char *earlier_sums_of(const struct state *at, int64_t b, int64_t position, size_t bytes)
{
    const struct state_header *const h = at->header;
    return at->earlier + (size_t)(b * h->earlier + position / h->chunk % h->earlier) * bytes;
}

/* ---- rows (extend_rows.c) ---- */

/* Where the rows of kept arrays are. Strides are in bytes. */
struct row {
    unsigned char *at; /* row 0 */
    struct attn_strides strides;
    int64_t apart; /* the distance between the elements of a row, or 0 if they are contiguous (kept_array.element) */
};
struct rows {
    struct row of[MAX_KEPT]; /* memory in a workspace may have only the first kernel->given of them */
};

/* Returns the number of heads of k. */
INLINE int64_t heads_of_keys(const struct attn_problem *p)
{
    return p->key_heads ? p->key_heads : p->kv_heads;
}
/* Returns the number of heads with their own rows in an array, or 1 if all heads share the rows. */
INLINE int64_t heads_with_rows(const struct kernel *kernel, int array, int64_t heads, int64_t kv_heads,
                               int64_t key_heads)
{
    const int of = kernel->kept_array[array].heads;
    return of == ATTN_HEADS ? heads : of == ATTN_KV_HEADS ? kv_heads : of > 1 ? of : of ? key_heads : 1;
}
INLINE int64_t heads_with_rows_of(const struct kernel *kernel, int array, const struct attn_problem *p)
{
    return heads_with_rows(kernel, array, p->heads, p->kv_heads, heads_of_keys(p));
}
/* Returns the number of rows before row 0 of an array. Only prefix sums have some.
   - Row -1 has the sums before row 0. The sums of row 0 continue from it.
   - Row -2 has the total up to the last restart of the sums. Only states that can be joined have it. */
INLINE int64_t rows_before(const struct kernel *kernel, int array)
{
    return array < kernel->sums ? 0 : kernel->folds ? 2 : 1;
}
/* Returns whether row -1 of an array moves with its other rows. */
INLINE int64_t row_before(const struct kernel *kernel, int array)
{
    return array >= kernel->sums;
}
INLINE struct attn_strides strides_times(struct attn_strides s, size_t n)
{
    return (struct attn_strides){s.batch * (int64_t)n, s.head * (int64_t)n, s.row * (int64_t)n};
}
/* Returns strides in units of n bytes, a power of two. */
INLINE struct attn_strides strides_over(struct attn_strides s, size_t n)
{
    const int shift = __builtin_ctzll(n); /* divisions take more time */
    return (struct attn_strides){s.batch >> shift, s.head >> shift, s.row >> shift};
}
/* Returns an address `bytes` after `at`. It may be outside of an array, if nothing is read there. */
INLINE void *moved(const void *at, int64_t bytes)
{
    return (void *)((uintptr_t)at + (uintptr_t)bytes);
}
/* Returns the prefix sums among the rows. */
INLINE struct sum_rows sums_among(const struct kernel *kernel, const struct rows *rows)
{
    const struct row *const sum = &rows->of[kernel->sums];
    return (struct sum_rows){sum[0].at, sum[1].at, &sum[0].strides};
}
/* Returns the number of the first argument of queries with this access in forward: q, or out. */
INLINE int argument_of_queries(const struct kernel *kernel, enum array_access access)
{
    int k = 0;
    while (kernel->array[k].origin != FROM_ARGUMENT || kernel->array[k].rows != ROWS_OF_QUERIES ||
           kernel->array[k].access[ENTRY_FORWARD] != access)
        k++;
    return k;
}

/* Gets the addresses and strides of a state's rows, from sequence b on. (state.c) */
ATTN_API void attn_state_rows(const struct state *at, int64_t b, struct rows *rows);
/* Gets those of the rows that the caller appends. */
ATTN_API void attn_state_given_rows(const struct call *call, struct rows *rows);
/* Returns the largest distance in elements between neighbouring rows of the caller, or the elements of a row. */
ATTN_API int64_t attn_state_widest_row(const struct call *call);
/* Makes the call read keys, values and parameters from `rows`. */
ATTN_API void attn_state_set_rows(struct call *call, const struct rows *rows);
/* Gets `rows` with row `first` as row 0. A negative `first` is allowed, because earlier rows are not read. */
ATTN_API void attn_state_from_row(const struct kernel *kernel, const struct rows *rows, int64_t first,
                                  struct rows *from);
/* Copies n rows of an array to a state, for each head of `sequences` sequences. Row from_row of `from` becomes row
   to_row of `to`. */
ATTN_API void attn_state_copy_rows(const struct kernel *kernel, const struct rows *to, int64_t to_row,
                                   const struct rows *from, int64_t from_row, int64_t n, int array, int64_t sequences);
/* Drops `from` rows of each head, and moves the later rows forward, so that n rows remain. The first read_first rows
   do not move. */
ATTN_API void attn_state_slide(const struct kernel *kernel, const struct rows *rows, int64_t sequences, int64_t from,
                               int64_t n);

/* ---- appending (extend.c) ---- */

/* Neighbouring sequences that a call extends together, piece by piece. They have equal lengths, equally many tokens in
   their sums, and get equally many tokens. In the workspace, a growth has places only for the arrays of its kernel, and
   `given` follows them. */
struct growth {
    struct sequence s;    /* describes each of the sequences */
    struct rows *given;   /* the rows of the next tokens */
    int64_t b, count;     /* the number of the first sequence, and the number of sequences */
    int64_t left, m;      /* left: tokens that are not appended yet; m: the tokens of the current piece */
    int64_t given_tokens; /* the tokens of the call that are appended */
    int in_place, stores; /* in_place: the piece reads keys and values of the caller; stores: it stores earlier sums */
    struct call call;     /* the call for the next piece. call.program computes it */
};

/* The arguments of a call that all its sequences share. */
struct appending {
    const struct kernel *kernel;
    const struct call *whole; /* the call of all sequences */
    const struct program *extends;
    const struct state *at;
    int asked, threads;             /* asked: the caller wants the rows of out */
    unsigned char *work;            /* the workspace of the threads */
    size_t bytes;                   /* the bytes of a thread in it */
    unsigned char *prepared;        /* memory for prepared keys before they are rounded */
    unsigned char *lists;           /* the lists of the best keys */
    size_t of_lists;                /* the bytes of a sequence in it */
    const struct attn_pages *pages; /* or NULL */
    struct rows page;               /* the rows in page 0 */
    unsigned char *common;          /* memory for keys that several sequences share, or NULL */
    /* sums: memory for prefix sums, of_sums: its bytes for a sequence, piece: the tokens that it has room for */
    unsigned char *sums;
    size_t of_sums;
    int64_t piece;
};

/* Returns the bytes of a growth in the workspace. */
INLINE size_t growth_bytes(const struct kernel *kernel)
{
    return whole_lines(offsetof(struct growth, call) + offsetof(struct call, array) +
                       (size_t)kernel->arrays * sizeof(struct place) + (size_t)kernel->given * sizeof(struct row));
}
INLINE struct growth *growth_number(const struct kernel *kernel, void *workspace, int64_t k)
{
    return (struct growth *)moved(workspace, k * (int64_t)growth_bytes(kernel));
}
/* Returns the number of new tokens of sequence b. */
INLINE int64_t new_tokens_of(const struct attn_problem *p, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b + 1] - p->cu_seqlens[b] : p->lengths ? p->lengths[b] : p->n_q;
}
/* Returns the distance from the first row of an array to the first new row of sequence b. */
INLINE int64_t before_sequence(const struct attn_problem *p, const struct attn_strides *s, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b] * s->row : b * s->batch;
}

/* Stores the rows of n tokens after the first `length` tokens in `to`, from row to_row on. Keys are prepared and rows
   are rounded first, if the state stores them so. Returns 0 or an error. (extend_rows.c) */
ATTN_API int attn_state_store_rows(const struct rows *to, int64_t to_row, const struct rows *from,
                                   const struct call *call, int64_t length, int64_t n, const struct appending *x);
/* Returns the bytes of memory for prepared keys before they are rounded: at least those of one token. */
ATTN_API size_t attn_state_prepared_bytes(const struct kernel *kernel, const struct attn_problem *p);
/* Computes the prefix sums of n tokens after the first `length` tokens. Row to_row of `to` gets the sums of the
   first of these n tokens. Returns 0 or an error. */
ATTN_API int attn_state_add_sums(const struct rows *to, int64_t to_row, const struct rows *from,
                                 const struct call *call, int64_t length, int64_t n, const struct appending *x);
/* Returns the number of tokens after which prefix sums begin again at 0, so that they stay small. */
ATTN_API int64_t attn_state_sum_period(const struct kernel *kernel, const struct program *extends);
/* Returns the bytes of a sequence's prefix sums of n tokens, and of the earlier rows that a call copies. */
ATTN_API size_t attn_state_sums_bytes(const struct kernel *kernel, const struct attn_problem *p, int64_t rewind,
                                      int64_t n);
/* Returns the number of tokens that a call computes at a time if it reads keys and values in place. */
ATTN_API int64_t attn_state_piece_of_sums(const struct kernel *kernel, const struct attn_problem *p,
                                          const struct program *extends, int64_t rewind);
/* Prepares `sums` for the prefix sums of n new tokens. Copies the `back` + 1 rows before `end` from `kept`, and
   makes row 0 of `given` the row after them. */
ATTN_API void attn_state_place_sums(const struct kernel *kernel, struct rows *given, unsigned char *sums, int64_t back,
                                    int64_t n, const struct rows *kept, int64_t end, int64_t count);
/* Computes the corrected values of m new tokens after the first `length` tokens, which the call's arrays contain. */
ATTN_API int attn_state_correct(const struct call *call, int64_t length, int64_t m, const struct appending *x);

/* ---- pages (pages.c) ---- */

/* Returns the bytes of a page. */
ATTN_API size_t attn_state_page_bytes(const struct kernel *kernel, const struct attn_problem *p);
/* Gets the addresses and strides of the rows in page 0. */
ATTN_API void attn_state_page_rows(const struct kernel *kernel, const struct attn_problem *p, struct rows *rows);
/* Gets those of the rows in a page. */
ATTN_API void attn_state_rows_in_page(const struct kernel *kernel, const struct rows *first, int32_t page, size_t bytes,
                                      struct rows *rows);
/* Returns the number of pages that contain n tokens. */
INLINE int64_t pages_of(const struct attn_pages *g, int64_t n)
{
    return (n + g->tokens - 1) / g->tokens;
}
/* Takes the caller's pages, if there are some. Returns 0 or an error. */
ATTN_API int attn_state_take_pages(struct appending *x, const struct attn_problem *p);
/* Checks the pages of a call, before anything is written. For each page, `list` gets the sequence that writes it and
   the last sequence that has it. The workspace of the call has `bytes` bytes. Returns 0 or an error. */
ATTN_API int attn_state_check_pages(const struct appending *x, const struct attn_problem *p, int32_t *list,
                                    const void *workspace, size_t bytes);
/* Stores the rows of a sequence's new tokens in its pages, and lets the call read them there. Returns 0 or an error. */
ATTN_API int attn_state_fill_pages(struct growth *g, const struct appending *x);
/* Returns whether rows of a sequence's tokens from `first` to `last` - 1 can move to pages of the tokens before `end`.
   Their pages have to be valid, and no other place of the table may have a page that is written. */
ATTN_API int attn_state_pages_valid(const struct attn_problem *p, const struct state *at, int64_t b, int64_t first,
                                    int64_t end, int64_t last);

/* ---- keys that several sequences share (common.c) ---- */

/* Returns the bytes for the rows of all sequences, the calls, and a list of sequences. */
ATTN_API size_t attn_state_common_bytes(const struct kernel *kernel, const struct attn_problem *p);
/* Sums the keys that several sequences share. Returns 0 or an error. */
ATTN_API int attn_state_sum_common(unsigned char *workspace, int64_t growths, struct job *job,
                                   const struct appending *x);

#endif
