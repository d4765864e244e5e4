/* softmax.c, made by attnc 0.1.0: attnc softmax.yaml --standalone
   C11 with GNU extensions, for a C compiler; C++ includes softmax.h.
   softmax attention on unit vectors, made sharp by its scale

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = exp(x3 * 16)
     x5 [b g m i] = sum over j of x4 if j <= i + query_start
     x6 [b g m i e] = sum over j of x4 * v if j <= i + query_start
     x7 [b g m i e] = x5 == 0 ? 0 : x6 / x5
     out = x7
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  softmax_rows_v4, softmax_few_v4
     x86-64-v3  softmax_rows_v3, softmax_few_v3
     generic    softmax_rows_any, softmax_few_any
     choice     the version that this machine runs
     interface  softmax_workspace, softmax_forward, softmax_kernel

   Compile with: cc -O2 -fopenmp softmax.c … -lm */
#ifdef __cplusplus
#error "softmax.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_is_c11;
#elif !defined __GNUC__
#error "softmax.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_is_gnu_c;
#else
/* softmax.h, made by attnc 0.1.0: attnc softmax.yaml --standalone
   softmax attention on unit vectors, made sharp by its scale
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_H
#define ATTNC_softmax_H

#ifndef ATTNRT_TYPES
#define ATTNRT_TYPES 20
#include <stddef.h>
#include <stdint.h>

/* Return values of kernels; 0 is success. */
enum attn_error {
    ATTN_EPROBLEM = -1,   /* a size or stride is negative, a stride is too small, heads is no multiple of kv_heads or
                             key_heads, or query_start is out of range. With 'delta' or key_heads, heads must equal
                             kv_heads */
    ATTN_EPOINTER = -2,   /* an array, the workspace or the storage of parameters is NULL, or an output is also
                             another array of the call, or a page is also in other memory of the call */
    ATTN_EPARAM = -3,     /* a parameter that the kernel needs is NULL */
    ATTN_EWORKSPACE = -4, /* workspace_bytes is smaller than NAME_workspace() says */
    ATTN_ESIZE = -5,      /* a product of sizes overflows */
    ATTN_EALIGN = -6,     /* the workspace or the storage of parameters is not aligned to 64 bytes, or an array of
                             'arrays' is not aligned to its elements */
    ATTN_EMEMORY = -7,    /* out of memory (never from a kernel) */
    ATTN_EIO = -8,        /* a file could not be read or written (see errno) */
    ATTN_EFORMAT = -9,    /* a file has the wrong format */
    ATTN_EMACHINE = -10,  /* this machine has none of the kernel's instruction sets */
    ATTN_EORDER = -11,    /* an id is smaller than the previous key's id; the linear form needs ascending ids */
    ATTN_ESTATE = -12,    /* a state belongs to another kernel or other sizes, or is truncated or damaged */
    ATTN_ECAPACITY = -13, /* a sequence would exceed the problem's capacity or the spec's maximum */
    ATTN_ELENGTH = -14,   /* one of these:
                             - n_q, n_k or the capacity exceeds the spec's maximum
                             - query_start puts a query after the last key, and the spec has no quadratic form
                             - NAME_state_truncate: the sequence is shorter than `length`, or cannot be truncated to it
                             - NAME_state_keep: the path is not ascending, has no tokens of the last call, or moves rows
                               that belong to their positions
                             - NAME_state_init: `start` is not a valid position
                             - NAME_state_fold: the states do not fit, for example because the second begins at
                               another position */
    ATTN_EFOLD = -15,     /* this kernel's states cannot be joined by NAME_state_fold, or its results by attn_merge */
    ATTN_ETILES = -16,    /* a table of tiles is for a mask of another shape or for other tiles, or is no table */
    ATTN_ERANKS = -17,    /* a message between ranks was not delivered (attnrt_ranks.h) */
    ATTN_EPAGES = -18     /* one of these:
                             - a page of a sequence has a number out of range, is twice in its table, or gets tokens of
                               the call, or rows of NAME_state_keep, although another sequence has it
                             - pages are too small, or have no 16 to 256 tokens
                             - this kernel's states cannot be in pages */
};

/* Threads of the caller, which a kernel uses instead of OpenMP's. Two libraries that both start threads compete for
   processors. The members may be GOMP_parallel and GOMP_barrier of any OpenMP library on Linux. */
struct attn_team {
    /* Calls work(context) in up to `threads` threads, and returns when all calls have returned. `flags` is 0. */
    void (*run)(void (*work)(void *context), void *context, unsigned threads, unsigned flags);
    void (*barrier)(void); /* called inside `work`; waits for every thread of the team */
};

/* The rows of a state in pages. A page has the rows of `tokens` tokens of a sequence for all heads.
   A call cannot know these errors, and does not find them:
   - the memory at `base` or `table` is shorter than this struct says, or is written during the call
   - another state has a page that gets tokens
   - a page was freed and has tokens of others by now, and its number is in the table again */
struct attn_pages {
    void *base;           /* page p begins at base + p * bytes. Aligned to 64 */
    size_t bytes;         /* at least NAME_page(), and a multiple of 64 */
    int64_t count;        /* the number of pages at `base` */
    int64_t tokens;       /* 16 to 256; the same in all calls with a state */
    const int32_t *table; /* [batch, row]: page number x of a sequence has its tokens from x * tokens on */
    int64_t row;          /* the numbers in a row of the table. Those after the last token are not read */
};

/* One call of a kernel. */
struct attn_strides {
    int64_t batch, head, row; /* in elements. If all three are 0, the array is contiguous, [B,H,N,D]. The elements of
                                 a row are always contiguous */
};
struct attn_problem { /* zero the struct first, because later versions add members */
    int64_t batch, heads, kv_heads, n_q, n_k;
    struct attn_strides q, k, v, out;
    int threads; /* the number of threads. 0 means OpenMP's default, or fewer threads for little work. The number is
                    limited to the number of processors, unless workspace_bytes has room for more or `team` is given */
    size_t workspace_bytes; /* the size of the workspace, or 0 if it should not be checked */
    /* Used for gradients. NAME_saved() bytes, aligned to 64, which forward writes and backward reads. Both calls
       must get the same arrays. If this is NULL, backward computes the values again. */
    void *saved;
    size_t saved_bytes;                   /* the size of `saved`, or 0 if it should not be checked */
    struct attn_strides dout, dq, dk, dv; /* strides of gradients */
    /* For a state (NAME_extend and related functions): */
    int64_t capacity;       /* the maximum number of tokens of a sequence, if the state stores keys. It is also the
                               length of a row of ids */
    const int64_t *lengths; /* [batch]: the number of new tokens of each sequence, at most n_q. NULL means n_q for
                               each sequence */
    size_t state_bytes;     /* the size of the state, or 0 if it should not be checked */
    int64_t start; /* used by NAME_state_init: the position of the first token. It is not 0 if NAME_state_fold will
                      append this state to another state. It must be a multiple of the number of tokens that the
                      kernel sums at a time */
    const struct attn_team *team; /* the caller's threads, at most `threads`. NULL means OpenMP's threads */
    uint64_t seed; /* the seed of dropout. 0 means the seed in the spec. Backward needs the seed of forward.
                      NAME_extend drops nothing */
    /* Used for statistics. An array [B,H,n_q] that forward and extend write, or NULL. It has floats, or doubles for
       a kernel of f64. Its strides are `statistics_at`. Each row has one element. */
    void *statistics;
    struct attn_strides statistics_at;
    int64_t rewind;    /* used by a state: NAME_state_truncate can always go back by this number of tokens, for example
                          by the tokens of a draft. The state then also stores earlier sums, or more keys and values */
    int64_t key_heads; /* the number of heads of q and k, if they have fewer heads than v. 0 means H and G heads.
                          Otherwise H must equal G and be a multiple of it: head h of v and out uses head
                          h / (H / key_heads) of q and k. dq and dk are sums over these heads */
    const int64_t *query_start; /* [batch]: the position of each sequence's first query, from -2^31 to 2^31, or NULL
                                   for n_k - n_q. Backward needs the positions of forward. It must be NULL for
                                   NAME_extend, because a state knows its positions */
    int foldable; /* used by a state of a kernel with 'delta': 1 if NAME_state_fold will join it with another state.
                     Each head then also stores a matrix [features, features], which NAME_extend updates. It must be
                     the same in all calls with a state. States of other kernels ignore it.
                     For attn_ranks_forward, 1: ranks compute states at the same time and join them */
    const int64_t *cu_seqlens; /* used by NAME_extend: NULL, or [batch + 1] if the new tokens of all sequences are in
                                  one row of memory. Sequence b has rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of q,
                                  k, v, out, statistics and of arrays with a row for each token. n_q is the number of
                                  all rows, `lengths` must be NULL, and batch strides of these arrays are ignored */
    const struct attn_pages *pages; /* used by a state: NULL, or where its rows are. NAME_state() bytes then have only
                                       the lengths. `capacity` is not used. Sequences may share pages. The caller gives
                                       a sequence other pages for new tokens, copies a shared page before it gets
                                       tokens, and frees pages. A window does not read pages before it */
    /* Used by NAME_extend for a state of sums. chunk_sums() bytes of the kernel, aligned to 64, or NULL. A call without
       q and out writes the sums of the new tokens' chunks there. A later call with the same tokens, for a state with
       equally many tokens, reads them and does not sum these tokens again. */
    void *chunk_sums;
    size_t chunk_sums_bytes; /* the size of `chunk_sums`, or 0 if it should not be checked */
    /* Used for gradients, if other calls have the tokens before and after those of this call. Both NULL, or the sums
       over these other tokens that gradients need: outer_sums() bytes of the kernel each, aligned to 64. Zeros are the
       sums over no tokens. Then backward computes the gradients for a part of a sequence:
       - n_q equals n_k, and query_start is NULL. `saved` is not used. If kernel->in_parts, first_key is the position of
         the first token
       - out and dout have the rows of this call's tokens. `out` was computed from all earlier tokens, too
       - dq, dk and dv are the gradients of this call's tokens. The gradient of a parameter is the sum over all parts
       - term_gradients: outer_sums(…, 2) bytes, or NULL without gradients of arrays that a decay reads. Backward
       writes
         what this call's tokens add to the gradients of the decay's logarithm at each earlier token. Then the caller
         replaces it by the sum over all later calls, and calls finish_gradients of the kernel
       - NAME_backward_workspace() needs these pointers, too
       Kernels with kernel->sums_whole have other sums: those over all tokens of the sequence. See struct attn_kernel */
    void *earlier_sums, *later_sums;
    double *term_gradients;
    /* Used by forward and backward of a kernel with kernel->in_parts, if k and v are a part of the keys of a sequence,
       and the caller merges results, or gives sums over the other tokens:
       - first_key: the position of the first key of this call. `query_start` counts from this key
       - all_keys: the number of keys of the whole sequence, or 0 for n_k. `document` has all of them
       Used by kernels with statistics and a constant or a sink in the denominator:
       - sink_mode: 0; or 1 for a denominator without them; or 2 for a denominator that has them also in the statistic
       of a row that sees no key */
    int64_t first_key, all_keys;
    int sink_mode;
    /* Used by a kernel with kernel->decay_terms, if k and v are a part of the keys of a sequence:
       - query_decay: NULL, or [B,H,n_q,decay_terms]: the sums of a decay's logarithm over the tokens from the first key
         of this call up to each query. NULL: each query is at a key of this call
       - query_decay_gradients, key_decay_gradients: NULL, or [B,H,n_q,decay_terms] and [B,H,n_k,decay_terms]. Backward
         writes the gradients with respect to such sums at queries and at keys, and no gradients of arrays that the
         decay reads. finish_gradients reads key_decay_gradients: those of the logarithm at each token */
    const double *query_decay;
    double *query_decay_gradients, *key_decay_gradients;
};

/* The first bytes of a table of the tiles of a mask, which attn_tiles_of_mask makes. One byte for each tile follows:
   [masks, strips, tiles of a strip]. A strip has ATTN_TILE_ROWS rows of a mask, or its last rows. A tile has
   ATTN_TILE_COLUMNS columns of a strip, or its last columns. */
enum { ATTN_TILE_ROWS = 16, ATTN_TILE_COLUMNS = 64, ATTN_MASK_AXES = 4 };
struct attn_mask_tiles {
    uint64_t kind;
    int64_t size[ATTN_MASK_AXES]; /* the sizes of the mask's axes. If the mask has fewer axes, the first sizes are 1 */
};
/* The bits of the byte of a tile: some of the tile's truth values are true; some are false. */
enum { ATTN_TILE_SOME = 1, ATTN_TILE_SOME_NOT = 2 };

/* A kernel's statistics: a number for each row of `out`. A row that sees no key, or only keys of weight 0, has 0, or
   -inf for a logarithm. */
enum attn_statistics {
    ATTN_NO_STATISTICS,
    ATTN_LOGARITHMS,   /* softmax: the logarithm of the row's denominator */
    ATTN_DENOMINATORS, /* the denominator of the row */
    ATTN_UNDIVIDED     /* rows are not divided (`normalize: none`); a row of other weights has 1 */
};

/* The types of elements. BF16 (the upper half of a float) and F16 (IEEE half) are stored in a uint16_t. Kernels for
   them compute in float, and their parameters are float, but an array may have one of these types in any kernel of
   float. I32 and U8 are only for parameters.
   The types from FP8 on are only for keys and values (`storage` of a spec). Their rows are bytes, and strides count
   bytes:
   - FP8: an element is one byte, e4m3fn: sign, 4 bits of exponent, 3 of fraction
   - I8: a float, the scale, and an int8_t for each element
   - I8_32, I8_64: the same for each 32 or 64 elements
   - Q8_0: ggml's blocks: for 32 elements, the scale in f16 and 32 int8_t
   - Q4_0: ggml's blocks: for 32 elements, the scale in f16 and 16 bytes. Byte k has element k in its low half and
     element 16 + k in its high half, each plus 8 */
enum attn_dtype {
    ATTN_F32,
    ATTN_BF16,
    ATTN_F16,
    ATTN_F64,
    ATTN_I32,
    ATTN_U8,
    ATTN_FP8,
    ATTN_I8,
    ATTN_I8_32,
    ATTN_I8_64,
    ATTN_Q8_0,
    ATTN_Q4_0
};
/* An extent of a parameter that depends on the problem. */
enum attn_axis { ATTN_BATCH = -1, ATTN_HEADS = -2, ATTN_KV_HEADS = -3, ATTN_N_Q = -4, ATTN_N_K = -5 };
/* The number of blocks of an axis, size / block rounded up, in attn_param.shape. */
#define ATTN_BLOCKS(axis, block) ((axis) - 8 * (int64_t)(block))
/* The knowledge that a parameter gives of the keys that a query sees. */
enum attn_limits {
    ATTN_NO_LIMITS, /* nothing that is known */
    ATTN_IDS,       /* a query sees only keys with its own integer */
    ATTN_LENGTHS,   /* no query of a sequence sees a key from the sequence's integer on */
    ATTN_LISTS,     /* a block of queries sees only the blocks of keys in its list */
    ATTN_MORE_LISTS /* such lists, but queries may also see other keys */
};
/* The description of a parameter of a kernel. */
struct attn_param {
    const char *name; /* the name in the spec, such as "q_norm.weight"; its file is q_norm.weight.npy */
    enum attn_dtype dtype;
    int rank;
    int64_t shape[4]; /* each extent is a number, an enum attn_axis, or ATTN_BLOCKS of an enum attn_axis */
    size_t offset;    /* offset of the pointer in struct NAME_params */
    int random;       /* 1 if params_init makes this parameter from a seed, 0 if the caller provides it */
    size_t strides;   /* offset of its strides in struct NAME_strides, or ATTN_CONTIGUOUS if it must be contiguous */
    size_t tiles;     /* offset in struct NAME_params of the pointer to the table of this mask's tiles, or 0 */
    int rows;         /* 1 if extend takes only the rows of new tokens, 0 if it takes the whole parameter */
    enum attn_limits limits;
};
#define ATTN_CONTIGUOUS SIZE_MAX
/* Strides of an array of `arrays` in struct NAME_strides. For each axis, the stride is the distance in elements
   between neighbours. It is not negative. A stride of 0 repeats elements along the axis. If the strides of all axes
   are 0, the array is contiguous. ATTN_BROADCAST also repeats elements, but does not count as 0 in this rule. */
#define ATTN_BROADCAST INT64_MIN
/* The description of a kernel, NAME_kernel. */
struct attn_kernel {
    const char *name, *version;
    enum attn_dtype dtype;
    int64_t head_dim, value_dim;
    int params;
    const struct attn_param *param;
    size_t params_bytes; /* size of struct NAME_params */
    size_t (*params_size)(void);
    int (*params_init)(void *params, uint64_t seed, void *storage); /* `storage` has params_size() bytes, aligned to
                                                                       64 */
    size_t (*workspace)(const struct attn_problem *problem);
    int (*forward)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                   void *out, void *workspace);
    /* The functions for gradients, or NULL. `gradients` is a struct NAME_gradients, which has a pointer for each
       learned parameter, in their order. */
    size_t (*saved)(const struct attn_problem *problem);
    size_t (*backward_workspace)(const struct attn_problem *problem);
    int (*backward)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                    const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients, void *workspace);
    /* The functions for a state, or NULL. */
    size_t (*state)(const struct attn_problem *problem);
    int (*state_init)(const struct attn_problem *problem, void *state);
    size_t (*extend_workspace)(const struct attn_problem *problem);
    int (*extend)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                  void *out, void *state, void *workspace);
    int64_t (*state_length)(const struct attn_problem *problem, const void *state, int64_t sequence);
    int64_t (*state_min_length)(const struct attn_problem *problem, const void *state, int64_t sequence);
    int (*state_truncate)(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length);
    int (*state_copy)(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
                      int64_t from_sequence);
    int (*state_fold)(const struct attn_problem *problem, void *left, const void *right);
    int values_are_keys; /* 1 if a value is the first value_dim elements of its key. Then v, dv and their strides are
                            ignored, and dk includes dv */
    /* The kind of statistics, and the function that merges results (attn_merge) or NULL. */
    enum attn_statistics statistics;
    int (*merge)(const struct attn_problem *left, void *left_out, const struct attn_problem *right,
                 const void *right_out);
    size_t strides, strides_bytes; /* `strides` is the offset in struct NAME_params of the pointer to struct
                                      NAME_strides, or 0 if there is none. `strides_bytes` is the size of struct
                                      NAME_strides */
    /* attn_tiles_bytes and attn_tiles_of_mask. NULL if no parameter has a table of tiles. */
    size_t (*tiles_bytes)(int rank, const int64_t *shape);
    int (*tiles_of_mask)(const uint8_t *mask, int rank, const int64_t *shape, const int64_t *strides,
                         struct attn_mask_tiles *table, size_t bytes);
    /* Used by attn_ranks_forward and related functions (attnrt_ranks.h).
       - before, after: the farthest keys that a query sees before and after its position. INT64_MAX: any key
       - period: results stay equal if all positions move by this number. 0: no such number is known
       - names_heads, names_sequences: 1 if results depend on the number of a head, or of a sequence
       - in_parts: 1 if a result, or finite features, depend on positions in more than their differences, so that a call
         with a part of the keys needs problem->first_key and all_keys
       - state_chunk: returns the number of keys that a state sums at a time, or 0 if a state stores keys. NULL without
         a state */
    int64_t before, after, period;
    int names_heads, names_sequences, in_parts;
    int64_t (*state_chunk)(const struct attn_problem *problem);
    /* The types of keys and values that forward takes and that a state stores. They are `dtype` without `storage` in
       the spec. NAME_extend takes keys and values of `dtype`. */
    enum attn_dtype key_dtype, value_dtype;
    size_t (*page)(const struct attn_problem *problem); /* returns the bytes of a page for problem->pages. NULL without
                                                           a state */
    /* Used by attn_ranks_backward and attn_ranks_extend.
       - saved_power: if it is not 0, saved values are an array [B,H,n_q] of f32, or of f64 for f64. A row with the
         statistic s has log2(e) s if the statistics are logarithms, otherwise 1 / pow(s, 1 / saved_power). A row that
         sees no key has 0.
       - state_part: copies some heads of one sequence between `state` and `part`, the state of a problem of batch 1
         with part_problem->kv_heads key/value heads. They are heads first_kv_head, first_kv_head + 1, … of the
         sequence. Heads that share a head of q and k are in one part. If `back` is not 0, `state` becomes what `part`
         is. NULL without a state */
    int64_t saved_power;
    int (*state_part)(const struct attn_problem *problem, void *state, int64_t sequence, int64_t first_kv_head,
                      const struct attn_problem *part_problem, void *part, int back);
    int (*state_keep)(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path,
                      int64_t count); /* NULL without a state */
    /* Returns the bytes of problem->chunk_sums for n_q new tokens. NULL if the state stores no sums, or extend cannot
       store the sums of chunks. */
    size_t (*chunk_sums)(const struct attn_problem *problem);
    /* For problem->earlier_sums and later_sums, or NULL. Kernels of linear forms with `emit: [forward, backward,
       decode]` have these functions, unless positions count in another way than by their difference, or other ids
       than `document` reset a state. With `document`, sums are those over earlier tokens of the first token's document,
       and over later tokens of the last token's document.
       - outer_sums: returns the bytes of the sums of earlier tokens if `later` is 0, of later tokens if it is 1, and of
         term_gradients if it is 2. The sums of a key/value head are contiguous, and follow those of the previous
         key/value head and sequence
       - add_outer_sums: adds the tokens of this call to problem->later_sums if `later` is not 0, which needs the
         earlier sums, too. Otherwise adds them to problem->earlier_sums. Other arguments are those of backward. With
         'delta', the sums are the state before a token, and the gradient with respect to the state after it
       - outer_chunk: the first token of each call is at a multiple of this number
       - outer_adds: 1 if the sums of two sets of tokens are arrays that can be added: floats, or doubles for f64
       - finish_gradients: computes the gradients of arrays that a decay reads, after backward with the same arguments
         and workspace, which must have the bytes that backward left. NULL without such arrays */
    size_t (*outer_sums)(const struct attn_problem *problem, int later);
    int (*add_outer_sums)(const struct attn_problem *problem, const void *params, const void *q, const void *k,
                          const void *v, const void *out, const void *dout, int later, void *workspace);
    int64_t outer_chunk;
    int outer_adds;
    int (*finish_gradients)(const struct attn_problem *problem, const void *params, const void *q, const void *k,
                            const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv,
                            void *gradients, void *workspace);
    int has_sink; /* 1 if a call can leave out the constant or sink of the denominator (problem->sink_mode) */
    int64_t open_keys, end_of_keys; /* `before` and `after` do not limit keys before position open_keys. No query sees a
                                       key from position end_of_keys on, which is INT64_MAX if there is no such limit */
    /* For calls with some keys of a sequence, or NULL. Kernels of linear forms with `emit: [forward, statistics]` have
       these functions if all queries see the same keys, as without a mask or with `lengths` (sums_whole is 1), or with
       `causal` and `lengths` (sums_whole is 0). If sums_whole is 0, `any: [causal, prefix]` counts as `causal`.
       - key_sums: returns the bytes of the sums over keys, for each sequence and key/value head in turn. Zeros are the
         sums over no keys
       - add_key_sums: adds the keys of this call to problem->earlier_sums, which is aligned to 64. The workspace has
         workspace() bytes, for a problem with earlier_sums
       - forward with problem->earlier_sums takes the sums over all keys from there, and reads no keys. If sums_whole is
         0, they are the sums over the keys before those of this call, and n_q equals n_k. If open_keys is not 0, calls
         have tokens after these keys, or queries at these keys with n_k = 0 and the sums over all of them. Backward and
         add_outer_sums also take these keys with n_q = 0 and the sums over all queries. query_start is then 0
       - if sums_whole is 1, outer_sums, add_outer_sums and backward do the same with other sums: earlier_sums over all
         keys, and later_sums over all queries. Adding queries needs earlier_sums over all keys. n_q and query_start may
         be any */
    size_t (*key_sums)(const struct attn_problem *problem);
    int (*add_key_sums)(const struct attn_problem *problem, const void *params, const void *k, const void *v,
                        void *workspace);
    int sums_whole;
    /* For calls with some keys of a sequence, if weights have a decay and results merge.
       - decay_terms: the number of sums of the decay's logarithm for each query head and position, 1 or head_dim. It is
         0 without such calls, or if the decay depends on the distance alone
       - decay_params: bit k is set if parameter k is read by the decay, and by nothing else
       - decay_sums: writes the sums from the first key of a call up to each key, [B,H,n_k,decay_terms]. n_q equals n_k.
         The workspace has workspace() bytes
       - finish_gradients computes the gradients of parameters that the decay reads from problem->key_decay_gradients.
         Other arguments are those of backward */
    int64_t decay_terms;
    uint64_t decay_params;
    int (*decay_sums)(const struct attn_problem *problem, const void *params, double *sums, void *workspace);
};

#elif ATTNRT_TYPES != 20
#error "these kernels were emitted by different versions of attnc: regenerate all of them with one version"
#endif /* ATTNRT_TYPES */

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that softmax_params_init needs for the random arrays. */
size_t softmax_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int softmax_params_init(struct softmax_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t softmax_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see enum attn_error).
   Allocates no memory. The result does not depend on the number of threads. */
int softmax_forward(const struct attn_problem *problem, const struct softmax_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel softmax_kernel;

#ifdef __cplusplus
}
#endif
#endif

#include <float.h>
#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __unix__
#include <sched.h>
#endif

/* ==== functions of attnc's runtime library that the kernel calls ==== */
#include <stdbool.h>
#include <stdbool.h>

/* The limit for the number of elements. Elements have at most 8 bytes, so sizes in bytes do not overflow. */
static const int64_t most_elements = INT64_MAX / 8;

static bool product_fits(int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t factor[4] = {a, b, c, d};
    int64_t product = 1;
    /* Extents of 0 are skipped, because strides are products of the other extents and must not overflow. */
    for (int k = 0; k < 4; k++) {
        if (factor[k] == 0) continue;
        if (product > most_elements / factor[k]) return false;
        product *= factor[k];
    }
    return true;
}

/* Returns true if the offset of the last element does not overflow. */
static bool extent_fits(const struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim)
{
    const int64_t count[3] = {batch, heads, rows}, stride[3] = {s->batch, s->head, s->row};
    int64_t left = most_elements - dim;
    for (int k = 0; k < 3; k++) {
        if (count[k] < 2) continue;
        if (stride[k] > left / (count[k] - 1)) return false;
        left -= stride[k] * (count[k] - 1);
    }
    return true;
}

static int strides_check(struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim, bool written)
{
    if (s->batch < 0 || s->head < 0 || s->row < 0) return ATTN_EPROBLEM;
    if (!product_fits(batch, heads, rows, dim)) return ATTN_ESIZE;
    if (s->batch == 0 && s->head == 0 && s->row == 0) {
        s->row = dim;
        s->head = rows * dim;
        s->batch = heads * rows * dim;
        return 0;
    }
    if (rows > 1 && s->row < dim) return ATTN_EPROBLEM;
    /* With a batch or head stride of 0, heads share memory. Outputs must not. */
    const bool any = batch > 0 && heads > 0 && rows > 0;
    if (written && any && ((batch > 1 && s->batch == 0) || (heads > 1 && s->head == 0))) return ATTN_EPROBLEM;
    if (!extent_fits(s, batch, heads, rows, dim)) return ATTN_ESIZE;
    /* The stride of an axis with one element is not used. Kernels may compute an address with it, so replace it. */
    if (rows < 2) s->row = dim;
    if (heads < 2) s->head = rows * dim;
    if (batch < 2) s->batch = heads * rows * dim;
    return 0;
}

static __attribute__((unused)) int attn_stored_problem_check(const struct attn_problem *problem, int64_t head_dim,
    int64_t value_dim, int64_t key_row,
                              int64_t value_row, struct attn_problem *filled)
{
    if (!problem || head_dim < 1 || value_dim < 1) return ATTN_EPROBLEM;
    struct attn_problem p = *problem;
    if (p.batch < 0 || p.heads < 0 || p.kv_heads < 0 || p.n_q < 0 || p.n_k < 0 || p.threads < 0) return ATTN_EPROBLEM;
    if (p.heads > 0 && (p.kv_heads == 0 || p.heads % p.kv_heads != 0)) return ATTN_EPROBLEM;
    if (p.key_heads < 0 || (p.key_heads > 0 && (p.heads != p.kv_heads || p.heads % p.key_heads != 0)))
        return ATTN_EPROBLEM;
    const int64_t of_q = p.key_heads ? p.key_heads : p.heads, of_k = p.key_heads ? p.key_heads : p.kv_heads;
    const struct {
        struct attn_strides *strides;
        int64_t heads, rows, dim;
        bool written;
    } array[] = {
        {&p.q, of_q, p.n_q, head_dim, false},        {&p.k, of_k, p.n_k, key_row, false},
        {&p.v, p.kv_heads, p.n_k, value_row, false}, {&p.out, p.heads, p.n_q, value_dim, true},
        {&p.dout, p.heads, p.n_q, value_dim, false}, {&p.dq, of_q, p.n_q, head_dim, true},
        {&p.dk, of_k, p.n_k, head_dim, true},        {&p.dv, p.kv_heads, p.n_k, value_dim, true},
    };
    int error = strides_check(&p.statistics_at, p.batch, p.heads, p.n_q, 1, p.statistics != NULL);
    for (size_t a = 0; a < sizeof array / sizeof *array && !error; a++)
        error = strides_check(array[a].strides, p.batch, array[a].heads, array[a].rows, array[a].dim, array[a].written);
    if (!error && filled) *filled = p;
    return error;
}

static __attribute__((unused)) int attn_problem_check(const struct attn_problem *problem, int64_t head_dim,
    int64_t value_dim,
                       struct attn_problem *filled)
{
    return attn_stored_problem_check(problem, head_dim, value_dim, head_dim, value_dim, filled);
}

struct cpuid_words {
    unsigned a, b, c, d;
};

static inline struct cpuid_words cpuid_of(unsigned leaf, unsigned part)
{
    struct cpuid_words w = {0, 0, 0, 0};
#if defined(__x86_64__)
    __asm__("cpuid" : "=a"(w.a), "=b"(w.b), "=c"(w.c), "=d"(w.d) : "0"(0), "2"(0));
    if (w.a < leaf) return (struct cpuid_words){0, 0, 0, 0};
    __asm__("cpuid" : "=a"(w.a), "=b"(w.b), "=c"(w.c), "=d"(w.d) : "0"(leaf), "2"(part));
#else
    (void)leaf;
    (void)part;
#endif
    return w;
}

/* Returns true if all `bits` are set in the word. */
static inline bool has_bits(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

/* Returns the registers that the system saves, as bits of XCR0. A process may use only these. */
static inline unsigned kept_registers(void)
{
    unsigned low = 0;
#if defined(__x86_64__)
    const unsigned OSXSAVE = 1U << 27;
    unsigned high;
    if (has_bits(cpuid_of(1, 0).c, OSXSAVE)) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#endif
    return low;
}

static inline int find_x86_64_level(void)
{
    const unsigned SSE3 = 1U << 0, SSSE3 = 1U << 9, FMA = 1U << 12, SSE41 = 1U << 19, SSE42 = 1U << 20,
                   POPCNT = 1U << 23, AVX = 1U << 28, F16C = 1U << 29; /* bits of ecx in cpuid leaf 1 */
    const unsigned BMI = 1U << 3, AVX2 = 1U << 5, BMI2 = 1U << 8, AVX512F = 1U << 16, AVX512DQ = 1U << 17,
                   AVX512CD = 1U << 28, AVX512BW = 1U << 30, AVX512VL = 1U << 31; /* bits of ebx in cpuid leaf 7 */
    /* bits of XCR0 for the registers of AVX and AVX-512 */
    const unsigned YMM = 0x6, ZMM = 0xe6;
    const unsigned one = cpuid_of(1, 0).c, seven = cpuid_of(7, 0).b, kept = kept_registers();
    if (!has_bits(one, SSE3 | SSSE3 | SSE41 | SSE42 | POPCNT)) return 1;
    if (!has_bits(one, AVX | FMA | F16C) || !has_bits(seven, AVX2 | BMI | BMI2) || !has_bits(kept, YMM)) return 2;
    if (!has_bits(seven, AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL) || !has_bits(kept, ZMM)) return 3;
    return 4;
}

static __attribute__((unused)) int attn_x86_64_level(void)
{
    static int known; /* the level, or 0 before the first call; cpuid takes microseconds in a virtual machine */
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!level) {
        level = find_x86_64_level();
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    return level;
}

static __attribute__((unused)) int attn_is_intel(void)
{
    static int known; /* 0 before the first call, then 1 + the answer */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED) - 1;
    if (answer < 0) {
        const struct cpuid_words vendor = cpuid_of(0, 0);
        /* the vendor is "GenuineIntel" */
        answer = vendor.b == 0x756e6547 && vendor.d == 0x49656e69 && vendor.c == 0x6c65746e;
        __atomic_store_n(&known, answer + 1, __ATOMIC_RELAXED);
    }
    return answer;
}

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* without optimisation, inlining only doubles the compile time */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one instruction (FMA), even with -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* scheduling before register allocation would spill registers */
#endif

struct call { /* the arguments of a call; all threads read the same struct */
    struct attn_problem p;
    const struct softmax_params *params;
    const float *q;
    const float *k;
    const float *v;
    float *out;
    int64_t sharing; /* the number of heads of v and out that share a head of q and of k */
};

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }
INLINE int64_t shifted_left(int64_t x, int64_t by) { return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by); }
INLINE int64_t shifted_right(int64_t x, int64_t by) { return x >> (by < 0 || by > 63 ? 63 : by); }
INLINE double sigmoid(double x) { return 1 / (1 + exp(-x)); }
INLINE float sigmoidf(float x) { return 1 / (1 + expf(-x)); }

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

/* ==== x86-64-v4 ==== */
#if defined(__x86_64__)
#define TARGET_v4 __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c")))

/* Each of these types has 16 elements:
   - vec_v4: numbers
   - mask_v4: results of comparisons
   - ints_v4: positions
   - wide_v4: doubles */
typedef float vec_v4 __attribute__((vector_size(64)));
typedef float stored_v4 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias)); /* in memory, unaligned */
typedef int32_t mask_v4 __attribute__((vector_size(64)));
typedef int64_t ints_v4 __attribute__((vector_size(128)));
TARGET_v4 INLINE vec_v4 load_v4(const float *p) { return *(const stored_v4 *)(const void *)p; }
TARGET_v4 INLINE void store_v4(float *p, vec_v4 x) { *(stored_v4 *)(void *)p = x; }
TARGET_v4 INLINE vec_v4 splat_v4(float x) { return x - (vec_v4){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v4 INLINE vec_v4 pick_v4(mask_v4 m, vec_v4 a, vec_v4 b) { return (vec_v4)((m & (mask_v4)a) | (~m & (mask_v4)b));
    }

static const ints_v4 lane_v4 = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TARGET_v4 INLINE vec_v4 max_v4(vec_v4 a, vec_v4 b) { return pick_v4((mask_v4)(a < b), b, a); }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -126.0f, because subnormal numbers are slow.
   NaN stays NaN. */
TARGET_v4 INLINE vec_v4 exp2_v4(vec_v4 x)
{
    vec_v4 f, y;
    uint16_t normal;
    /* `normal` gets the lanes in which x is not less than -126.0f. */
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_v4(-126.0f)));
    __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x)); /* x minus the nearest integer, 0 for infinity */
    vec_v4 p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
    return y;
}

/* Returns the sum over the lanes of x. */
TARGET_v4 INLINE float lane_sum_v4(vec_v4 x)
{
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
}

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET_v4 INLINE float lane_max_v4(vec_v4 x)
{
    x = max_v4(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = max_v4(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = max_v4(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = max_v4(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET_v4 INLINE vec_v4 lane_sums_v4(vec_v4 *t)
{
    UNROLL for (int r = 0; r < 16; r += 2)
        t[r] = __builtin_shufflevector(t[r], t[r + 1], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28,
            30) + __builtin_shufflevector(t[r], t[r + 1], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
    UNROLL for (int r = 0; r < 16; r += 4)
        t[r] = __builtin_shufflevector(t[r], t[r + 2], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28,
            30) + __builtin_shufflevector(t[r], t[r + 2], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
    UNROLL for (int r = 0; r < 16; r += 8)
        t[r] = __builtin_shufflevector(t[r], t[r + 4], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
            27) + __builtin_shufflevector(t[r], t[r + 4], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    t[0] = __builtin_shufflevector(t[0], t[8], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
        27) + __builtin_shufflevector(t[0], t[8], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    return t[0];
}

/* Transposes 16 vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET_v4 INLINE void exchange_v4(vec_v4 *t)
{
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 1)) {
            const vec_v4 a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 2)) {
            const vec_v4 a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 4)) {
            const vec_v4 a = t[r], b = t[r + 4];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            t[r + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 8)) {
            const vec_v4 a = t[r], b = t[r + 8];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            t[r + 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of 16 rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
TARGET_v4 INLINE void transpose_some_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16;
    for (int64_t k = 0; k < whole / 16 * (deep / 16); k++) {
        const int64_t row = k / (deep / 16) * 16, column = k % (deep / 16) * 16;
        vec_v4 t[16];
        if (out)
            UNROLL for (int r = 0; r < 16; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < 16; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4(from + (row + r) * from_row + column);
        exchange_v4(t);
        UNROLL for (int r = 0; r < 16; r++) store_v4(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

/* Like transpose_v4, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores. */
TARGET_v4 APART void transpose_padded_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16, left = rows - whole;
    transpose_some_v4(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; column < deep && left > 1; column += 16) {
        vec_v4 t[16];
        UNROLL for (int r = 0; r < 16; r++) t[r] = r < left ? load_v4(from + r * from_row + column) : (vec_v4){0};
        exchange_v4(t);
        UNROLL for (int r = 0; r < 16; r++) store_v4(to + (column + r) * to_row, t[r]);
    }
    for (int64_t column = left > 1 ? deep : 0; column < columns && left > 0; column++) {
        store_v4(to + column * to_row, (vec_v4){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

TARGET_v4 APART void transpose_out_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_v4(from, from_row, rows, columns, to, to_row, ahead, 1);
}
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET_v4 INLINE void add_v4(float *sum, float *compensation, vec_v4 x, vec_v4 factor)
{
    const vec_v4 old = load_v4(sum) * factor, more = load_v4(compensation) * factor + x, new = old + more;
    store_v4(compensation, more - (new - old));
    store_v4(sum, new);
}

typedef uint32_t bits_v4 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v4 __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
TARGET_v4 APART int finite_v4(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_v4 found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 16 <= columns; c += 16)
            found |= (*(const bits_v4 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_v4 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 16; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. */
TARGET_v4 APART void add_seen_v4(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_v4 *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_v4(values, 0, 1, 1); x += 16)
            store_v4(sum + x, pick_v4(seen[x / 16], load_v4(sum + x) + *values * load_v4(weights + x),
                load_v4(sum + x)));
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET_v4 APART void add_seen_lanes_v4(int64_t lanes, float *sum, const float *weights, const float *values,
    int64_t value_row,
    int64_t steps, const mask_v4 *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 16][t % 16]; x++)
            if (!finite_v4(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET_v4 INLINE void block_v4(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation, const int64_t early)
{
    vec_v4 sum[16][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4){0};
    int64_t t = 0;
    for (; rows > 6 && t + 2 <= steps; t += 2, a += 2 * a_step, b += 2 * b_step) {
        const float *row[16];
        UNROLL for (int r = 0; r < rows; r += 4) {
            row[r] = a + r * a_row;
            /* Without this, compilers compute the address of each row from that of the row before. */
            if (a_row != 1) __asm__("" : "+r"(row[r]));
        }
        UNROLL for (int k = 0; k < 2; k++) {
            const vec_v4 x = load_v4(b + k * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r][0] += row[r & -4][(r & 3) * a_row + k * a_step] * x;
        }
    }
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_v4 x[4];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4(b + v * 16);
        UNROLL for (int v = 0; v < vectors; v++)
            if (early && v * 16 * (int64_t)sizeof *b % 64 == 0)
                __builtin_prefetch(b + early * b_step + v * 16, 0, 3);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v4 times = update >= 2 && factor ? load_v4(factor + v * 16) : splat_v4(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 16;
            if (update == 3) {
                add_v4(to, compensation + r * c_row + v * 16, sum[r][v], times);
                continue;
            }
            store_v4(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v4(to) + sum[r][v] : load_v4(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v4, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v4 INLINE void parts_v4(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation, const int64_t early)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v4(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v4(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL, early);
}

/* Like parts_v4, for any number of rows. `lanes` is a multiple of 16 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v4 INLINE void blocks_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL, early);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v4(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 4: parts_v4(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 3: parts_v4(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 2: parts_v4(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 1: parts_v4(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        }
    }
}

/* Like block_v4, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v4 APART void narrow_v4(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor, float *compensation)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 16) {
            const float *const f = factor ? factor + x : NULL;
            float *const left = compensation ? compensation + x : NULL;
            int64_t r = 0;
            /* 6 sums of one vector are too few to hide the latency of an addition. */
            for (; r + 16 <= rows && (a_row == 1 || a_step == 1); r += 16)
                if (a_row == 1)
                    block_v4(16, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row,
                        now, f, left ? left + r * c_row : NULL, 0);
                else
                    block_v4(16, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0);
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v4(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 5: block_v4(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 4: block_v4(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 3: block_v4(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 2: block_v4(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 1: block_v4(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET_v4 INLINE int64_t lanes_in_blocks_v4(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 16;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 16. Other parameters are as in blocks_v4. */
TARGET_v4 INLINE void dot_early_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    const int64_t x = lanes_in_blocks_v4(vectors, lanes);
    blocks_v4(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (x < lanes)
        narrow_v4(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Computes the product without prefetching, because b is in a cache. */
TARGET_v4 INLINE void dot_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation)
{
    dot_early_v4(vectors, lanes, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, 0);
}

/* Like dot_v4, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET_v4 INLINE void dot_ahead_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_v4(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_v4(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f, left ? left + r * c_row : NULL, 0);
        }
        dot_v4(vectors, vectors * 16, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f, left ? left + whole * c_row : NULL);
    }
    if (x < lanes)
        narrow_v4(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_v4, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v4 INLINE void dot_finite_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[288];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v4(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v4(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* Like dot_v4, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_v4, so that results round equally. */
TARGET_v4 INLINE void dot_finite_lanes_v4(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[288 * 16];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 16) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 16; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 16 + k] = finite_v4(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v4(1, 16, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 16, 16, c + x, c_row, update,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* Returns the elements x … x + 16 - 1 of a row before they are multiplied by a scale. x is a multiple of 16. */
TARGET_v4 INLINE vec_v4 unscaled_v4(const float *row, int64_t x)
{
    return load_v4(row + x);
}

/* Returns the elements x … x + 16 - 1 of a row. */
TARGET_v4 INLINE vec_v4 widened_v4(const float *row, int64_t x)
{
    return unscaled_v4(row, x);
}

/* Returns the size of a row of `elements` elements, in units of float. */
INLINE int64_t units_v4(int64_t elements)
{
    return elements;
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const float *ahead_v4(const float *b, int64_t b_row, int64_t distance, int64_t rest, const float *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v4 INLINE void fetch_v4(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v4(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[k] = sum over t of a[t] * b[k][t] for 16 columns k and `steps` terms t. b has all 16 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET_v4 INLINE void columns_v4(const int whole, int64_t last, const int64_t steps, const float *a, const float *b,
    int64_t b_row, float *c, const float *ahead)
{
    vec_v4 t[16];
    UNROLL for (int k = 0; k < 16; k++) t[k] = (vec_v4){0};
    for (int64_t first = 0; first < steps; first += 128)
        UNROLL for (int k = 0; k < 16; k++) {
            if (whole && ahead) fetch_v4(1, min(128, steps - first), ahead + k * b_row + units_v4(first), b_row);
            for (int64_t s = first; s < min(first + 128, steps); s += 16)
                t[k] += load_v4(a + s) * unscaled_v4(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_v4(c, lane_sums_v4(t));
}

/* Like columns_v4, for up to 4 rows of a, which share the loads of b. It has 16 rows. 4 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 4 rows from ahead on, those with these numbers are prefetched */
TARGET_v4 INLINE void some_columns_v4(const int rows, const int direct, const int64_t steps, const float *a,
    int64_t a_row,
    const float *b, int64_t b_row, const float *wide, const float *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_v4 t[4][16];
    for (int64_t k = 0; k < 16; k += 4) {
        vec_v4 sum[4][4];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) sum[r][n] = (vec_v4){0};
        /* Without the limit, gcc 12 warns of an endless loop. */
        fetch_v4(min(ask[1] - ask[0], 4), steps, ahead + (k + ask[0]) * b_row, b_row);
        UNROLL for (int64_t s = 0; s < steps; s += 16) {
            vec_v4 x[4];
            UNROLL for (int n = 0; n < 4; n++)
                x[n] = direct ? unscaled_v4(b + (k + n) * b_row, s) : load_v4(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_v4 y = load_v4(a + r * a_row + s);
                UNROLL for (int n = 0; n < 4; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_v4(c + r * c_row, lane_sums_v4(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 4 rows from `ahead` on. */
TARGET_v4 INLINE void columns_of_4_v4(const int direct, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row,
    const float *b, int64_t b_row, const float *wide, const int64_t share, const float *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 4)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_v4(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 4);
    }
    switch (rows) {
        case 3: some_columns_v4(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_v4(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_v4(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_v4, for two or more rows of a. If b has fewer than 16 rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET_v4 INLINE void all_columns_v4(const int whole, int64_t last, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row, const float *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const float *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 4 ? 1 : (4 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !0)) {
        columns_of_4_v4(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    for (int64_t r = 0; r < rows; r++) columns_v4(0, last, steps, a + r * a_row, b, b_row, c + r * c_row, NULL);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 16 + l of all rows is at number l * steps / 16 + s. */
TARGET_v4 INLINE void turn_rows_v4(const int vectors, const int64_t steps, const float *a, int64_t a_row, float *turned)
{
    const int64_t parts = steps / 16;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_v4 t[16];
            UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4(a + (v * 16 + r) * a_row + s * 16);
            exchange_v4(t);
            UNROLL for (int l = 0; l < 16; l++) store_v4(turned + ((l * parts + s) * vectors + v) * 16, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 16 elements apart. */
TARGET_v4 INLINE void turned_lane_v4(const int vectors, const int keys, const int64_t parts, const float *turned,
    const float *b, int64_t b_row, vec_v4 *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_v4){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_v4 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4(turned + (s * vectors + v) * 16);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 16];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET_v4 INLINE void add_turned_v4(const int sums, const vec_v4 *earlier, vec_v4 *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_v4: first those of each lane of a vector, then the lanes as in lane_sums_v4. `asks` tells whether `keys` rows
   at
   `ahead` are prefetched. */
TARGET_v4 INLINE void turned_columns_v4(const int vectors, const int keys, const int64_t steps, const float *turned,
    const float *b, int64_t b_row, const int asks, const float *ahead, int64_t ahead_row, vec_v4 *t)
{
    enum { GROUP = 16 < 4 ? 2 : 4 };
    const int64_t parts = steps / 16, lane = parts * vectors * 16;
    const int sums = vectors * keys;
    vec_v4 group[4][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_v4 sum[8];
    for (int l = 0; l < 16; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_v4 one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (16 / keys) == 0) fetch_v4(1, steps, ahead + k / (16 / keys) * ahead_row, ahead_row);
        turned_lane_v4(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_v4(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_v4(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_v4(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_v4(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_v4(sums, one, sum);
            add_turned_v4(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_v4(sums, group[level++], sum);
        if (l + GROUP == 16) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_v4, for the rows of up to 2 vectors and all columns, whose number is a multiple of 16. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET_v4 INLINE void turned_v4(const int vectors, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    const int keys = 8 / 2; /* more rows, whose distance varies, need more registers for their addresses */
    float turned[2 * 16 * 64] __attribute__((aligned(64)));
    turn_rows_v4(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 16, b += 16 * b_row) {
        vec_v4 t[2][16];
        const float *const from = b;
        const int64_t from_row = b_row;
        for (int64_t k = 0; k < 16; k += keys) {
            vec_v4 some[8];
            turned_columns_v4(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_v4(b, b_row, 32 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_v4(t[v]);
            UNROLL for (int r = 0; r < 16; r++) store_v4(c + (v * 16 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_v4, for the rows of all whole vectors. Returns their number. */
TARGET_v4 INLINE int64_t all_turned_v4(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const float *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 16 <= rows; r += 2 * 16)
        turned_v4(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 16 <= rows) {
        turned_v4(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 16;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 16.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise (early ? early : 32) rows ahead. */
TARGET_v4 INLINE void dot_along_v4(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, float *c, int64_t c_row, const int64_t early)
{
    const int64_t whole = columns - columns % 16,
        turned = rows < 16 ? 0 : all_turned_v4(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 16, b += 16 * b_row) {
        const int64_t last = min(16, columns - x) - 1;
        const float *const ahead = ahead_v4(b, b_row, rows == 1 ? early : (early ? early : 32), columns - x, NULL);
        if (rows == 1 && last == 16 - 1)
            columns_v4(1, last, steps, a, b, b_row, c + x, early ? ahead : NULL);
        else if (rows == 1)
            columns_v4(0, last, steps, a, b, b_row, c + x, NULL);
        else if (last == 16 - 1)
            all_columns_v4(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, (early ? 2 : 9), ahead);
        else
            all_columns_v4(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, (early ? 2 : 9), ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
TARGET_v4 INLINE void row_v4(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const float *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const float *ahead)
{
    vec_v4 sum[8];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v4){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        if (ahead && first == 0) fetch_v4(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_v4(b, first + v * 16);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_v4(c + first + v * 16, load_v4(c + first + v * 16) + sum[v]);
}

/* Like dot_v4, but b is in memory and is prefetched as in dot_along_v4. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v4 INLINE void dot_fetched_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    /* Many rows of c do not fit in the first cache, so a few lanes of them are computed at a time. */
    if (rows >= 16 && lanes % (vectors * 16) == 0) {
        for (int64_t x = 0; x < lanes; x += vectors * 16)
            for (int64_t t = 0; t < steps; t += 16)
                dot_early_v4(vectors, vectors * 16, rows, tail, min(steps - t, 16), span, a + t * a_step, a_row,
                    a_step, b + t * b_step + x, b_step, c + x, c_row, update,
                    factor ? factor + x : NULL, compensation ? compensation + x : NULL, 32);
        return;
    }
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const float *const ahead = ahead_v4(b, b_step, rows == 1 ? early : 32, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128)
                row_v4(8, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            if (lanes % 128)
                row_v4((int)(lanes % 128 / 16), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        dot_early_v4(vectors, lanes, rows, tail, some, span, a, a_row, a_step, from, from_step, c, c_row, update,
            factor, compensation, rows < (early ? 2 : 9) ? 0 : (early ? early : 32));
    }
}

/* The functions for the products below. Each calls dot_v4 or a similar function with constants. */
TARGET_v4 APART void dot0_v4(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_v4(/*vectors=*/4, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET_v4 APART void dot1_v4(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET_v4 APART void dot2_v4(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/80,
        c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET_v4 APART void dot3_v4(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
{
    dot_along_v4(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, early);
}
TARGET_v4 APART void dot4_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v4(/*fetched=*/1, /*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot5_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
{
    dot_fetched_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void softmax_rows_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 134144); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 16);
    /* q_tile = q_tile * 23.08312f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(q_tile + d * 80 + i, load_v4(q_tile + d * 80 + i) * 23.08312f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(row_max + i, splat_v4(-FLT_MAX));
        store_v4(row_sum + i, splat_v4(0.0f));
        store_v4(row_sum_compensation + i, splat_v4(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(sum + e * 80 + i, splat_v4(0.0f));
            store_v4(sum_compensation + e * 80 + i, splat_v4(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot0_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(old_max + i, load_v4(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const ints_v4 t_0 = (i0 + i + lane_v4) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_v4(score + j * 80 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_0, mask_v4),
                        load_v4(score + j * 80 + i), splat_v4(-INFINITY)));
                }
            }
        }
        /* row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
            vec_v4 row_max_in[4];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                row_max_in[vector] = load_v4(row_max + i);
            }
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                    row_max_in[vector] = max_v4(row_max_in[vector], load_v4(score + j * 80 + i));
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                store_v4(row_max + i, row_max_in[vector]);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 old_max_1 = load_v4(old_max + i);
            const vec_v4 old_max_new2 = exp2_v4(old_max_1 - load_v4(row_max + i));
            store_v4(old_max + i, old_max_new2);
            store_v4(row_sum + i, load_v4(row_sum + i) * old_max_new2);
            store_v4(row_sum_compensation + i, load_v4(row_sum_compensation + i) * old_max_new2);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 row_max_4 = load_v4(row_max + i);
            vec_v4 row_sum_in = (vec_v4){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const vec_v4 score_3 = load_v4(score + j * 80 + i);
                const vec_v4 score_new5 = exp2_v4(score_3 - row_max_4);
                store_v4(score + j * 80 + i, score_new5);
                row_sum_in += score_new5;
            }
            add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot1_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                mask_v4 in_region[4] = {0};
                if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + query_start),
                        mask_v4);
                }
                add_seen_v4(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            dot2_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        const vec_v4 row_sum_6 = load_v4(row_sum + i);
        const mask_v4 t_7 = row_sum_6 == 0.0f;
        const vec_v4 t_8 = 1.0f / row_sum_6;
        for (int64_t e = 0; e < 64; e++) {
            store_v4(sum + e * 80 + i, pick_v4(t_7, splat_v4(0.0f), load_v4(sum + e * 80 + i) * t_8));
        }
    }
    /* out = sum, transposed back */
    transpose_out_v4(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, 16);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void softmax_few_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    /* query_turned = q * 23.08312f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 64) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                store_v4(query_turned + r * 64 + d, load_v4(q + r / n_q * q_head + r % n_q * q_row + d) * 23.08312f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void softmax_few_begin_2_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(carried_max + r, splat_v4(-FLT_MAX));
        store_v4(carried_sum + r, splat_v4(0.0f));
        store_v4(carried_sum_compensation + r, splat_v4(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(carried + r * 64 + e, splat_v4(0.0f));
                store_v4(carried_compensation + r * 64 + e, splat_v4(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4 APART void softmax_few_keys_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 16) {
        store_v4(state_max + (chunk - chunk0) * 4224 + r, splat_v4(-FLT_MAX));
        store_v4(state_sum + (chunk - chunk0) * 4224 + r, splat_v4(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_v4(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4(old_max + r, load_v4(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4 t_0 = j0 + j + lane_v4;
                for (int64_t r = 0; r < rows; r++) {
                    store_v4(score + r * 144 + j, pick_v4(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        mask_v4), load_v4(score + r * 144 + j), splat_v4(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4 lanes_max = splat_v4(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(score + r * 144 + j);
                lanes_max = max_v4(lanes_max, j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 <
                    j1 - j0, mask_v4), term, splat_v4(-INFINITY)));
            }
            const float largest = lane_max_v4(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 16) {
            const vec_v4 old_max_1 = load_v4(old_max + r);
            const vec_v4 old_max_new2 = exp2_v4(old_max_1 - load_v4(state_max + (chunk - chunk0) * 4224 + r));
            store_v4(old_max + r, old_max_new2);
            store_v4(state_sum + (chunk - chunk0) * 4224 + r, load_v4(state_sum + (chunk - chunk0) * 4224 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < rows; r++) {
                store_v4(score + r * 144 + j, exp2_v4(load_v4(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4224
                    + r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(score + r * 144 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    store_v4(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v4(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot4_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v4 in_region[8] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_3, mask_v4);
                }
                add_seen_lanes_v4(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
            dot5_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224,
                attn_is_intel() ? 16 : 0);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void softmax_few_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 16) {
            const vec_v4 carried_max_4 = load_v4(carried_max + r);
            const vec_v4 before_max_new5 = carried_max_4;
            const vec_v4 state_max_6 = load_v4(state_max + (chunk - chunk0) * 4224 + r);
            const vec_v4 carried_max_new7 = max_v4(load_v4(carried_max + r), state_max_6);
            store_v4(carried_max + r, carried_max_new7);
            const vec_v4 carried_factor_new8 = exp2_v4(before_max_new5 - carried_max_new7);
            store_v4(carried_factor + r, carried_factor_new8);
            const vec_v4 slot_factor_new9 = exp2_v4(state_max_6 - carried_max_new7);
            store_v4(slot_factor + r, slot_factor_new9);
            const vec_v4 carried_sum_10 = load_v4(carried_sum + r);
            store_v4(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_v4(carried_sum_compensation + r, load_v4(carried_sum_compensation + r) * carried_factor_new8);
            add_v4(carried_sum + r, carried_sum_compensation + r, load_v4(state_sum + (chunk - chunk0) * 4224 + r) *
                slot_factor_new9, splat_v4(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    const vec_v4 carried_11 = load_v4(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_v4(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_v4(carried_compensation + r * 64 + e, load_v4(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    add_v4(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v4(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r], splat_v4(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v4 APART void softmax_few_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                const float carried_sum_13 = carried_sum[r];
                store_v4(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_v4(0.0f) : load_v4(carried + r * 64 + e)
                    * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void softmax_few_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_few_begin_v4(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_few_begin_2_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_few_keys_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_few_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_few_queries_v4(call, task, part, iteration);
    synchronise(part);
}
#endif

/* ==== x86-64-v3 ==== */
#if defined(__x86_64__)
#define TARGET_v3 __attribute__((target("avx2,bmi,bmi2,fma,f16c")))

/* Each of these types has 8 elements:
   - vec_v3: numbers
   - mask_v3: results of comparisons
   - ints_v3: positions
   - wide_v3: doubles */
typedef float vec_v3 __attribute__((vector_size(32)));
typedef float stored_v3 __attribute__((vector_size(32), aligned(sizeof(float)), may_alias)); /* in memory, unaligned */
typedef int32_t mask_v3 __attribute__((vector_size(32)));
typedef int64_t ints_v3 __attribute__((vector_size(64)));
TARGET_v3 INLINE vec_v3 load_v3(const float *p) { return *(const stored_v3 *)(const void *)p; }
TARGET_v3 INLINE void store_v3(float *p, vec_v3 x) { *(stored_v3 *)(void *)p = x; }
TARGET_v3 INLINE vec_v3 splat_v3(float x) { return x - (vec_v3){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v3 INLINE vec_v3 pick_v3(mask_v3 m, vec_v3 a, vec_v3 b) { return (vec_v3)((m & (mask_v3)a) | (~m & (mask_v3)b));
    }

static const ints_v3 lane_v3 = {0, 1, 2, 3, 4, 5, 6, 7};

TARGET_v3 INLINE vec_v3 max_v3(vec_v3 a, vec_v3 b) { return pick_v3((mask_v3)(a < b), b, a); }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -127.0f. NaN stays NaN. */
TARGET_v3 INLINE vec_v3 exp2_v3(vec_v3 x)
{
    x = pick_v3((mask_v3)(x < -127.0f), splat_v3(-127.0f), x);
    x = pick_v3((mask_v3)(x > 128.0f), splat_v3(128.0f), x);
    const vec_v3 t = x + 12582912.0f; /* the nearest integer is in the low bits of t */
    const vec_v3 f = x - (t - 12582912.0f);
    vec_v3 p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    return p * (vec_v3)(((mask_v3)t + 127) << 23);
}

/* Returns the sum over the lanes of x. */
TARGET_v3 INLINE float lane_sum_v3(vec_v3 x)
{
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
}

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET_v3 INLINE float lane_max_v3(vec_v3 x)
{
    x = max_v3(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
    x = max_v3(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
    x = max_v3(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET_v3 INLINE vec_v3 lane_sums_v3(vec_v3 *t)
{
    UNROLL for (int r = 0; r < 8; r += 2)
        t[r] = __builtin_shufflevector(t[r], t[r + 1], 0, 2, 8, 10, 4, 6, 12, 14) + __builtin_shufflevector(t[r],
            t[r + 1], 1, 3, 9, 11, 5, 7, 13, 15);
    UNROLL for (int r = 0; r < 8; r += 4)
        t[r] = __builtin_shufflevector(t[r], t[r + 2], 0, 2, 8, 10, 4, 6, 12, 14) + __builtin_shufflevector(t[r],
            t[r + 2], 1, 3, 9, 11, 5, 7, 13, 15);
    UNROLL for (int r = 0; r < 8; r += 8)
        t[r] = __builtin_shufflevector(t[r], t[r + 4], 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(t[r],
            t[r + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    return t[0];
}

/* Transposes 8 vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET_v3 INLINE void exchange_v3(vec_v3 *t)
{
    UNROLL for (int r = 0; r < 8; r++)
        if (!(r & 1)) {
            const vec_v3 a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
        }
    UNROLL for (int r = 0; r < 8; r++)
        if (!(r & 2)) {
            const vec_v3 a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    UNROLL for (int r = 0; r < 8; r++)
        if (!(r & 4)) {
            const vec_v3 a = t[r], b = t[r + 4];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
            t[r + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
        }
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of 8 rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
TARGET_v3 INLINE void transpose_some_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = rows - rows % 8, deep = columns - columns % 8;
    for (int64_t k = 0; k < whole / 8 * (deep / 8); k++) {
        const int64_t row = k / (deep / 8) * 8, column = k % (deep / 8) * 8;
        vec_v3 t[8];
        if (out)
            UNROLL for (int r = 0; r < 8; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < 8; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 8; r++) t[r] = load_v3(from + (row + r) * from_row + column);
        exchange_v3(t);
        UNROLL for (int r = 0; r < 8; r++) store_v3(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

/* Like transpose_v3, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores. */
TARGET_v3 APART void transpose_padded_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 8, deep = columns - columns % 8, left = rows - whole;
    transpose_some_v3(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; column < deep && left > 1; column += 8) {
        vec_v3 t[8];
        UNROLL for (int r = 0; r < 8; r++) t[r] = r < left ? load_v3(from + r * from_row + column) : (vec_v3){0};
        exchange_v3(t);
        UNROLL for (int r = 0; r < 8; r++) store_v3(to + (column + r) * to_row, t[r]);
    }
    for (int64_t column = left > 1 ? deep : 0; column < columns && left > 0; column++) {
        store_v3(to + column * to_row, (vec_v3){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

TARGET_v3 APART void transpose_out_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_v3(from, from_row, rows, columns, to, to_row, ahead, 1);
}
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET_v3 INLINE void add_v3(float *sum, float *compensation, vec_v3 x, vec_v3 factor)
{
    const vec_v3 old = load_v3(sum) * factor, more = load_v3(compensation) * factor + x, new = old + more;
    store_v3(compensation, more - (new - old));
    store_v3(sum, new);
}

typedef uint32_t bits_v3 __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v3 __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
TARGET_v3 APART int finite_v3(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_v3 found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 8 <= columns; c += 8)
            found |= (*(const bits_v3 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_v3 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 8; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. */
TARGET_v3 APART void add_seen_v3(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_v3 *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_v3(values, 0, 1, 1); x += 8)
            store_v3(sum + x, pick_v3(seen[x / 8], load_v3(sum + x) + *values * load_v3(weights + x),
                load_v3(sum + x)));
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET_v3 APART void add_seen_lanes_v3(int64_t lanes, float *sum, const float *weights, const float *values,
    int64_t value_row,
    int64_t steps, const mask_v3 *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 8][t % 8]; x++)
            if (!finite_v3(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET_v3 INLINE void block_v3(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation)
{
    vec_v3 sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v3){0};
    int64_t t = 0;
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_v3 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v3(b + v * 8);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v3 times = update >= 2 && factor ? load_v3(factor + v * 8) : splat_v3(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 8;
            if (update == 3) {
                add_v3(to, compensation + r * c_row + v * 8, sum[r][v], times);
                continue;
            }
            store_v3(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v3(to) + sum[r][v] : load_v3(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v3, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v3 INLINE void parts_v3(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v3(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v3(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* Like parts_v3, for any number of rows. `lanes` is a multiple of 8 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v3 INLINE void blocks_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 8) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v3(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v3(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 4: parts_v3(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 3: parts_v3(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 2: parts_v3(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 1: parts_v3(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* Like block_v3, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v3 APART void narrow_v3(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor, float *compensation)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 8) {
            const float *const f = factor ? factor + x : NULL;
            float *const left = compensation ? compensation + x : NULL;
            int64_t r = 0;
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v3(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL); break;
        case 5: block_v3(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 4: block_v3(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 3: block_v3(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 2: block_v3(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 1: block_v3(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET_v3 INLINE int64_t lanes_in_blocks_v3(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 8;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 8. Other parameters are as in blocks_v3. */
TARGET_v3 INLINE void dot_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    const int64_t x = lanes_in_blocks_v3(vectors, lanes);
    blocks_v3(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (x < lanes)
        narrow_v3(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_v3, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET_v3 INLINE void dot_ahead_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_v3(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 8) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_v3(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f, left ? left + r * c_row : NULL);
        }
        dot_v3(vectors, vectors * 8, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f, left ? left + whole * c_row : NULL);
    }
    if (x < lanes)
        narrow_v3(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_v3, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v3 INLINE void dot_finite_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[288];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v3(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v3(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* Like dot_v3, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_v3, so that results round equally. */
TARGET_v3 INLINE void dot_finite_lanes_v3(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[288 * 8];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 8) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 8; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 8 + k] = finite_v3(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v3(1, 8, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 8, 8, c + x, c_row, update,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* Returns the elements x … x + 8 - 1 of a row before they are multiplied by a scale. x is a multiple of 8. */
TARGET_v3 INLINE vec_v3 unscaled_v3(const float *row, int64_t x)
{
    return load_v3(row + x);
}

/* Returns the elements x … x + 8 - 1 of a row. */
TARGET_v3 INLINE vec_v3 widened_v3(const float *row, int64_t x)
{
    return unscaled_v3(row, x);
}

/* Returns the size of a row of `elements` elements, in units of float. */
INLINE int64_t units_v3(int64_t elements)
{
    return elements;
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const float *ahead_v3(const float *b, int64_t b_row, int64_t distance, int64_t rest, const float *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v3 INLINE void fetch_v3(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v3(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[k] = sum over t of a[t] * b[k][t] for 8 columns k and `steps` terms t. b has all 8 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET_v3 INLINE void columns_v3(const int whole, int64_t last, const int64_t steps, const float *a, const float *b,
    int64_t b_row, float *c)
{
    vec_v3 t[8];
    UNROLL for (int k = 0; k < 8; k++) t[k] = (vec_v3){0};
    for (int64_t first = 0; first < steps; first += 128)
        UNROLL for (int k = 0; k < 8; k++) {
            for (int64_t s = first; s < min(first + 128, steps); s += 8)
                t[k] += load_v3(a + s) * unscaled_v3(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_v3(c, lane_sums_v3(t));
}

/* Like columns_v3, for up to 4 rows of a, which share the loads of b. It has 8 rows. 2 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 2 rows from ahead on, those with these numbers are prefetched */
TARGET_v3 INLINE void some_columns_v3(const int rows, const int direct, const int64_t steps, const float *a,
    int64_t a_row,
    const float *b, int64_t b_row, const float *wide, const float *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_v3 t[4][8];
    for (int64_t k = 0; k < 8; k += 2) {
        vec_v3 sum[4][2];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) sum[r][n] = (vec_v3){0};
        for (int64_t s = 0; s < steps; s += 8) {
            if (ask[1]) /* a few at a time, because a core can have few cache misses in flight */
                UNROLL for (int n = 0; n < 2; n++) __builtin_prefetch(ahead + (k + n) * b_row + s, 0, 3);
            vec_v3 x[2];
            UNROLL for (int n = 0; n < 2; n++)
                x[n] = direct ? unscaled_v3(b + (k + n) * b_row, s) : load_v3(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_v3 y = load_v3(a + r * a_row + s);
                UNROLL for (int n = 0; n < 2; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_v3(c + r * c_row, lane_sums_v3(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 2 rows from `ahead` on. */
TARGET_v3 INLINE void columns_of_4_v3(const int direct, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row,
    const float *b, int64_t b_row, const float *wide, const int64_t share, const float *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 2)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_v3(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 2);
    }
    switch (rows) {
        case 3: some_columns_v3(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_v3(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_v3(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_v3, for two or more rows of a. If b has fewer than 8 rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET_v3 INLINE void all_columns_v3(const int whole, int64_t last, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row, const float *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const float *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 2 ? 1 : (2 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !0)) {
        columns_of_4_v3(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    for (int64_t r = 0; r < rows; r++) columns_v3(0, last, steps, a + r * a_row, b, b_row, c + r * c_row);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 8 + l of all rows is at number l * steps / 8 + s. */
TARGET_v3 INLINE void turn_rows_v3(const int vectors, const int64_t steps, const float *a, int64_t a_row, float *turned)
{
    const int64_t parts = steps / 8;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_v3 t[8];
            UNROLL for (int r = 0; r < 8; r++) t[r] = load_v3(a + (v * 8 + r) * a_row + s * 8);
            exchange_v3(t);
            UNROLL for (int l = 0; l < 8; l++) store_v3(turned + ((l * parts + s) * vectors + v) * 8, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 8 elements apart. */
TARGET_v3 INLINE void turned_lane_v3(const int vectors, const int keys, const int64_t parts, const float *turned,
    const float *b, int64_t b_row, vec_v3 *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_v3){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_v3 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v3(turned + (s * vectors + v) * 8);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 8];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET_v3 INLINE void add_turned_v3(const int sums, const vec_v3 *earlier, vec_v3 *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_v3: first those of each lane of a vector, then the lanes as in lane_sums_v3. `asks` tells whether `keys` rows
   at
   `ahead` are prefetched. */
TARGET_v3 INLINE void turned_columns_v3(const int vectors, const int keys, const int64_t steps, const float *turned,
    const float *b, int64_t b_row, const int asks, const float *ahead, int64_t ahead_row, vec_v3 *t)
{
    enum { GROUP = 8 < 4 ? 2 : 4 };
    const int64_t parts = steps / 8, lane = parts * vectors * 8;
    const int sums = vectors * keys;
    vec_v3 group[3][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_v3 sum[8];
    for (int l = 0; l < 8; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_v3 one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (8 / keys) == 0) fetch_v3(1, steps, ahead + k / (8 / keys) * ahead_row, ahead_row);
        turned_lane_v3(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_v3(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_v3(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_v3(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_v3(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_v3(sums, one, sum);
            add_turned_v3(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_v3(sums, group[level++], sum);
        if (l + GROUP == 8) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_v3, for the rows of up to 2 vectors and all columns, whose number is a multiple of 8. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET_v3 INLINE void turned_v3(const int vectors, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    const int keys = 8 / 2; /* more rows, whose distance varies, need more registers for their addresses */
    float turned[2 * 8 * 64] __attribute__((aligned(32)));
    turn_rows_v3(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 8, b += 8 * b_row) {
        vec_v3 t[2][8];
        const float *const from = b;
        const int64_t from_row = b_row;
        for (int64_t k = 0; k < 8; k += keys) {
            vec_v3 some[8];
            turned_columns_v3(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_v3(b, b_row, 32 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_v3(t[v]);
            UNROLL for (int r = 0; r < 8; r++) store_v3(c + (v * 8 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_v3, for the rows of all whole vectors. Returns their number. */
TARGET_v3 INLINE int64_t all_turned_v3(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const float *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 8 <= rows; r += 2 * 8)
        turned_v3(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 8 <= rows) {
        turned_v3(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 8;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 8.
   - b is in memory. It is prefetched 0 rows ahead for one row of a, otherwise 32 rows ahead. */
TARGET_v3 INLINE void dot_along_v3(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, float *c, int64_t c_row)
{
    const int64_t whole = columns - columns % 8,
        turned = rows < 8 ? 0 : all_turned_v3(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 8, b += 8 * b_row) {
        const int64_t last = min(8, columns - x) - 1;
        const float *const ahead = ahead_v3(b, b_row, rows == 1 ? 0 : 32, columns - x, NULL);
        if (rows == 1 && last == 8 - 1)
            columns_v3(1, last, steps, a, b, b_row, c + x);
        else if (rows == 1)
            columns_v3(0, last, steps, a, b, b_row, c + x);
        else if (last == 8 - 1)
            all_columns_v3(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, 2, ahead);
        else
            all_columns_v3(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, 2, ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 16 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
TARGET_v3 INLINE void row_v3(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const float *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
)
{
    vec_v3 sum[16];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v3){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_v3(b, first + v * 8);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_v3(c + first + v * 8, load_v3(c + first + v * 8) + sum[v]);
}

/* Like dot_v3, but b is in memory and is prefetched as in dot_along_v3. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v3 INLINE void dot_fetched_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const float *const ahead = ahead_v3(b, b_step, rows == 1 ? 0 : 32, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128)
                row_v3(16, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c);
            if (lanes % 128)
                row_v3((int)(lanes % 128 / 8), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * 8) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = 16 * (x + vectors * 8) / lanes;
            fetch_v3(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_v3(vectors, vectors * 8, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
        }
    }
}

/* The functions for the products below. Each calls dot_v3 or a similar function with constants. */
TARGET_v3 APART void dot0_v3(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET_v3 APART void dot1_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET_v3 APART void dot2_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/80,
        c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET_v3 APART void dot3_v3(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
{
    dot_along_v3(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144);
}
TARGET_v3 APART void dot4_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v3(/*fetched=*/1, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot5_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void softmax_rows_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 134144); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 8);
    /* q_tile = q_tile * 23.08312f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(q_tile + d * 80 + i, load_v3(q_tile + d * 80 + i) * 23.08312f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(row_max + i, splat_v3(-FLT_MAX));
        store_v3(row_sum + i, splat_v3(0.0f));
        store_v3(row_sum_compensation + i, splat_v3(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(sum + e * 80 + i, splat_v3(0.0f));
            store_v3(sum_compensation + e * 80 + i, splat_v3(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot0_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(old_max + i, load_v3(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const ints_v3 t_0 = (i0 + i + lane_v3) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_v3(score + j * 80 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_0, mask_v3),
                        load_v3(score + j * 80 + i), splat_v3(-INFINITY)));
                }
            }
        }
        /* row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            vec_v3 row_max_in[2][2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] = splat_v3(-INFINITY);
            }
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                    const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        row_max_in[vector][j_chain] = max_v3(row_max_in[vector][j_chain], load_v3(score + j * 80 + i));
                    }
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                store_v3(row_max + i, max_v3(load_v3(row_max + i), max_v3(row_max_in[vector][0],
                    row_max_in[vector][1])));
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 old_max_1 = load_v3(old_max + i);
            const vec_v3 old_max_new2 = exp2_v3(old_max_1 - load_v3(row_max + i));
            store_v3(old_max + i, old_max_new2);
            store_v3(row_sum + i, load_v3(row_sum + i) * old_max_new2);
            store_v3(row_sum_compensation + i, load_v3(row_sum_compensation + i) * old_max_new2);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 row_max_4 = load_v3(row_max + i);
            vec_v3 row_sum_in = (vec_v3){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const vec_v3 score_3 = load_v3(score + j * 80 + i);
                const vec_v3 score_new5 = exp2_v3(score_3 - row_max_4);
                store_v3(score + j * 80 + i, score_new5);
                row_sum_in += score_new5;
            }
            add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot1_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                mask_v3 in_region[8] = {0};
                if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    in_region[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + query_start), mask_v3);
                }
                add_seen_v3(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            dot2_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        const vec_v3 row_sum_6 = load_v3(row_sum + i);
        const mask_v3 t_7 = row_sum_6 == 0.0f;
        const vec_v3 t_8 = 1.0f / row_sum_6;
        for (int64_t e = 0; e < 64; e++) {
            store_v3(sum + e * 80 + i, pick_v3(t_7, splat_v3(0.0f), load_v3(sum + e * 80 + i) * t_8));
        }
    }
    /* out = sum, transposed back */
    transpose_out_v3(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, 8);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void softmax_few_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    /* query_turned = q * 23.08312f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 16) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 8) {
                store_v3(query_turned + r * 64 + d, load_v3(q + r / n_q * q_head + r % n_q * q_row + d) * 23.08312f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void softmax_few_begin_2_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(carried_max + r, splat_v3(-FLT_MAX));
        store_v3(carried_sum + r, splat_v3(0.0f));
        store_v3(carried_sum_compensation + r, splat_v3(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(carried + r * 64 + e, splat_v3(0.0f));
                store_v3(carried_compensation + r * 64 + e, splat_v3(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v3 APART void softmax_few_keys_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 8) {
        store_v3(state_max + (chunk - chunk0) * 4224 + r, splat_v3(-FLT_MAX));
        store_v3(state_sum + (chunk - chunk0) * 4224 + r, splat_v3(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_v3(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 8) {
            store_v3(old_max + r, load_v3(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const ints_v3 t_0 = j0 + j + lane_v3;
                for (int64_t r = 0; r < rows; r++) {
                    store_v3(score + r * 144 + j, pick_v3(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        mask_v3), load_v3(score + r * 144 + j), splat_v3(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v3 lanes_max = splat_v3(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(score + r * 144 + j);
                lanes_max = max_v3(lanes_max, j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1
                    - j0, mask_v3), term, splat_v3(-INFINITY)));
            }
            const float largest = lane_max_v3(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 8) {
            const vec_v3 old_max_1 = load_v3(old_max + r);
            const vec_v3 old_max_new2 = exp2_v3(old_max_1 - load_v3(state_max + (chunk - chunk0) * 4224 + r));
            store_v3(old_max + r, old_max_new2);
            store_v3(state_sum + (chunk - chunk0) * 4224 + r, load_v3(state_sum + (chunk - chunk0) * 4224 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t r = 0; r < rows; r++) {
                store_v3(score + r * 144 + j, exp2_v3(load_v3(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4224
                    + r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(score + r * 144 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    store_v3(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v3(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot4_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v3 in_region[16] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_3, mask_v3);
                }
                add_seen_lanes_v3(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
            dot5_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void softmax_few_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 8) {
            const vec_v3 carried_max_4 = load_v3(carried_max + r);
            const vec_v3 before_max_new5 = carried_max_4;
            const vec_v3 state_max_6 = load_v3(state_max + (chunk - chunk0) * 4224 + r);
            const vec_v3 carried_max_new7 = max_v3(load_v3(carried_max + r), state_max_6);
            store_v3(carried_max + r, carried_max_new7);
            const vec_v3 carried_factor_new8 = exp2_v3(before_max_new5 - carried_max_new7);
            store_v3(carried_factor + r, carried_factor_new8);
            const vec_v3 slot_factor_new9 = exp2_v3(state_max_6 - carried_max_new7);
            store_v3(slot_factor + r, slot_factor_new9);
            const vec_v3 carried_sum_10 = load_v3(carried_sum + r);
            store_v3(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_v3(carried_sum_compensation + r, load_v3(carried_sum_compensation + r) * carried_factor_new8);
            add_v3(carried_sum + r, carried_sum_compensation + r, load_v3(state_sum + (chunk - chunk0) * 4224 + r) *
                slot_factor_new9, splat_v3(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    const vec_v3 carried_11 = load_v3(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_v3(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_v3(carried_compensation + r * 64 + e, load_v3(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    add_v3(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v3(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r], splat_v3(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v3 APART void softmax_few_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                const float carried_sum_13 = carried_sum[r];
                store_v3(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_v3(0.0f) : load_v3(carried + r * 64 + e)
                    * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void softmax_few_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_few_begin_v3(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_few_begin_2_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_few_keys_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_few_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_few_queries_v3(call, task, part, iteration);
    synchronise(part);
}
#endif

/* ==== generic ==== */

/* Each of these types has 4 elements:
   - vec_any: numbers
   - mask_any: results of comparisons
   - ints_any: positions
   - wide_any: doubles */
typedef float vec_any __attribute__((vector_size(16)));
typedef float stored_any __attribute__((vector_size(16), aligned(sizeof(float)), may_alias)); /* in memory, unaligned */
typedef int32_t mask_any __attribute__((vector_size(16)));
typedef int64_t ints_any __attribute__((vector_size(32)));
INLINE vec_any load_any(const float *p) { return *(const stored_any *)(const void *)p; }
INLINE void store_any(float *p, vec_any x) { *(stored_any *)(void *)p = x; }
INLINE vec_any splat_any(float x) { return x - (vec_any){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
INLINE vec_any pick_any(mask_any m, vec_any a, vec_any b) { return (vec_any)((m & (mask_any)a) | (~m & (mask_any)b)); }

static const ints_any lane_any = {0, 1, 2, 3};

INLINE vec_any max_any(vec_any a, vec_any b) { return pick_any((mask_any)(a < b), b, a); }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -127.0f. NaN stays NaN. */
INLINE vec_any exp2_any(vec_any x)
{
    x = pick_any((mask_any)(x < -127.0f), splat_any(-127.0f), x);
    x = pick_any((mask_any)(x > 128.0f), splat_any(128.0f), x);
    const vec_any t = x + 12582912.0f; /* the nearest integer is in the low bits of t */
    const vec_any f = x - (t - 12582912.0f);
    vec_any p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    return p * (vec_any)(((mask_any)t + 127) << 23);
}

/* Returns the sum over the lanes of x. */
INLINE float lane_sum_any(vec_any x)
{
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2);
    return x[0];
}

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
INLINE float lane_max_any(vec_any x)
{
    x = max_any(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
    x = max_any(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
INLINE vec_any lane_sums_any(vec_any *t)
{
    UNROLL for (int r = 0; r < 4; r += 2)
        t[r] = __builtin_shufflevector(t[r], t[r + 1], 0, 2, 4, 6) + __builtin_shufflevector(t[r], t[r + 1], 1, 3, 5,
            7);
    UNROLL for (int r = 0; r < 4; r += 4)
        t[r] = __builtin_shufflevector(t[r], t[r + 2], 0, 2, 4, 6) + __builtin_shufflevector(t[r], t[r + 2], 1, 3, 5,
            7);
    return t[0];
}

/* Transposes 4 vectors in place. Each step swaps one bit of the row and column numbers. */
INLINE void exchange_any(vec_any *t)
{
    UNROLL for (int r = 0; r < 4; r++)
        if (!(r & 1)) {
            const vec_any a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
        }
    UNROLL for (int r = 0; r < 4; r++)
        if (!(r & 2)) {
            const vec_any a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
        }
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of 4 rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
INLINE void transpose_some_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = rows - rows % 4, deep = columns - columns % 4;
    for (int64_t k = 0; k < whole / 4 * (deep / 4); k++) {
        const int64_t row = k / (deep / 4) * 4, column = k % (deep / 4) * 4;
        vec_any t[4];
        if (out)
            UNROLL for (int r = 0; r < 4; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < 4; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 4; r++) t[r] = load_any(from + (row + r) * from_row + column);
        exchange_any(t);
        UNROLL for (int r = 0; r < 4; r++) store_any(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

/* Like transpose_any, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores.
   */
APART void transpose_padded_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 4, deep = columns - columns % 4, left = rows - whole;
    transpose_some_any(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; column < deep && left > 1; column += 4) {
        vec_any t[4];
        UNROLL for (int r = 0; r < 4; r++) t[r] = r < left ? load_any(from + r * from_row + column) : (vec_any){0};
        exchange_any(t);
        UNROLL for (int r = 0; r < 4; r++) store_any(to + (column + r) * to_row, t[r]);
    }
    for (int64_t column = left > 1 ? deep : 0; column < columns && left > 0; column++) {
        store_any(to + column * to_row, (vec_any){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

APART void transpose_out_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_any(from, from_row, rows, columns, to, to_row, ahead, 1);
}
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
INLINE void add_any(float *sum, float *compensation, vec_any x, vec_any factor)
{
    const vec_any old = load_any(sum) * factor, more = load_any(compensation) * factor + x, new = old + more;
    store_any(compensation, more - (new - old));
    store_any(sum, new);
}

typedef uint32_t bits_any __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_any __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
APART int finite_any(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_any found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 4 <= columns; c += 4)
            found |= (*(const bits_any *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_any *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 4; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. */
APART void add_seen_any(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_any *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_any(values, 0, 1, 1); x += 4)
            store_any(sum + x, pick_any(seen[x / 4], load_any(sum + x) + *values * load_any(weights + x),
                load_any(sum + x)));
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
APART void add_seen_lanes_any(int64_t lanes, float *sum, const float *weights, const float *values, int64_t value_row,
    int64_t steps, const mask_any *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 4][t % 4]; x++)
            if (!finite_any(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
INLINE void block_any(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row, int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation)
{
    vec_any sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_any){0};
    int64_t t = 0;
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_any x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_any(b + v * 4);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_any times = update >= 2 && factor ? load_any(factor + v * 4) : splat_any(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 4;
            if (update == 3) {
                add_any(to, compensation + r * c_row + v * 4, sum[r][v], times);
                continue;
            }
            store_any(to, update == 0 ? sum[r][v]
                : update == 1 ? load_any(to) + sum[r][v] : load_any(to) * times + sum[r][v]);
        }
    }
}

/* Like block_any, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
INLINE void parts_any(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_any(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_any(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* Like parts_any, for any number of rows. `lanes` is a multiple of 4 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
INLINE void blocks_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 4) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_any(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_any(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 4: parts_any(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 3: parts_any(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 2: parts_any(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 1: parts_any(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* Like block_any, for any number of rows and vectors. It computes one vector at a time. */
APART void narrow_any(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor, float *compensation)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 4) {
            const float *const f = factor ? factor + x : NULL;
            float *const left = compensation ? compensation + x : NULL;
            int64_t r = 0;
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_any(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL); break;
        case 5: block_any(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 4: block_any(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 3: block_any(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 2: block_any(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 1: block_any(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
INLINE int64_t lanes_in_blocks_any(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 4;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 4. Other parameters are as in blocks_any. */
INLINE void dot_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    const int64_t x = lanes_in_blocks_any(vectors, lanes);
    blocks_any(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (x < lanes)
        narrow_any(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_any, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
INLINE void dot_ahead_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_any(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 4) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_any(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f, left ? left + r * c_row : NULL);
        }
        dot_any(vectors, vectors * 4, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f, left ? left + whole * c_row : NULL);
    }
    if (x < lanes)
        narrow_any(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_any, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
INLINE void dot_finite_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[288];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_any(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_any(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* Like dot_any, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_any, so that results round equally. */
INLINE void dot_finite_lanes_any(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[288 * 4];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 4) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 4; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 4 + k] = finite_any(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_any(1, 4, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 4, 4, c + x, c_row, update,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* Returns the elements x … x + 4 - 1 of a row before they are multiplied by a scale. x is a multiple of 4. */
INLINE vec_any unscaled_any(const float *row, int64_t x)
{
    return load_any(row + x);
}

/* Returns the elements x … x + 4 - 1 of a row. */
INLINE vec_any widened_any(const float *row, int64_t x)
{
    return unscaled_any(row, x);
}

/* Returns the size of a row of `elements` elements, in units of float. */
INLINE int64_t units_any(int64_t elements)
{
    return elements;
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const float *ahead_any(const float *b, int64_t b_row, int64_t distance, int64_t rest, const float *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
INLINE void fetch_any(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_any(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 2);
}

/* c[k] = sum over t of a[t] * b[k][t] for 4 columns k and `steps` terms t. b has all 4 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
INLINE void columns_any(const int whole, int64_t last, const int64_t steps, const float *a, const float *b,
    int64_t b_row, float *c, const float *ahead)
{
    vec_any t[4];
    UNROLL for (int k = 0; k < 4; k++) t[k] = (vec_any){0};
    for (int64_t first = 0; first < steps; first += 64)
        UNROLL for (int k = 0; k < 4; k++) {
            if (whole && ahead) fetch_any(1, min(64, steps - first), ahead + k * b_row + units_any(first), b_row);
            for (int64_t s = first; s < min(first + 64, steps); s += 4)
                t[k] += load_any(a + s) * unscaled_any(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_any(c, lane_sums_any(t));
}

/* Like columns_any, for up to 4 rows of a, which share the loads of b. It has 4 rows. 2 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 2 rows from ahead on, those with these numbers are prefetched */
INLINE void some_columns_any(const int rows, const int direct, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, const float *wide, const float *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_any t[4][4];
    for (int64_t k = 0; k < 4; k += 2) {
        vec_any sum[4][2];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) sum[r][n] = (vec_any){0};
        for (int64_t s = 0; s < steps; s += 4) {
            if (ask[1]) /* a few at a time, because a core can have few cache misses in flight */
                UNROLL for (int n = 0; n < 2; n++) __builtin_prefetch(ahead + (k + n) * b_row + s, 0, 2);
            vec_any x[2];
            UNROLL for (int n = 0; n < 2; n++)
                x[n] = direct ? unscaled_any(b + (k + n) * b_row, s) : load_any(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_any y = load_any(a + r * a_row + s);
                UNROLL for (int n = 0; n < 2; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_any(c + r * c_row, lane_sums_any(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 2 rows from `ahead` on. */
INLINE void columns_of_4_any(const int direct, int64_t rows, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, const float *wide, const int64_t share, const float *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 2)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_any(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 2);
    }
    switch (rows) {
        case 3: some_columns_any(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_any(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_any(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_any, for two or more rows of a. If b has fewer than 4 rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
INLINE void all_columns_any(const int whole, int64_t last, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row, const float *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const float *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 2 ? 1 : (2 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !0)) {
        columns_of_4_any(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    for (int64_t r = 0; r < rows; r++) columns_any(0, last, steps, a + r * a_row, b, b_row, c + r * c_row, NULL);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 4 + l of all rows is at number l * steps / 4 + s. */
INLINE void turn_rows_any(const int vectors, const int64_t steps, const float *a, int64_t a_row, float *turned)
{
    const int64_t parts = steps / 4;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_any t[4];
            UNROLL for (int r = 0; r < 4; r++) t[r] = load_any(a + (v * 4 + r) * a_row + s * 4);
            exchange_any(t);
            UNROLL for (int l = 0; l < 4; l++) store_any(turned + ((l * parts + s) * vectors + v) * 4, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 4 elements apart. */
INLINE void turned_lane_any(const int vectors, const int keys, const int64_t parts, const float *turned,
    const float *b, int64_t b_row, vec_any *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_any){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_any x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_any(turned + (s * vectors + v) * 4);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 4];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
INLINE void add_turned_any(const int sums, const vec_any *earlier, vec_any *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_any: first those of each lane of a vector, then the lanes as in lane_sums_any. `asks` tells whether `keys`
   rows at
   `ahead` are prefetched. */
INLINE void turned_columns_any(const int vectors, const int keys, const int64_t steps, const float *turned,
    const float *b, int64_t b_row, const int asks, const float *ahead, int64_t ahead_row, vec_any *t)
{
    enum { GROUP = 4 < 4 ? 2 : 4 };
    const int64_t parts = steps / 4, lane = parts * vectors * 4;
    const int sums = vectors * keys;
    vec_any group[2][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_any sum[8];
    for (int l = 0; l < 4; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_any one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (4 / keys) == 0) fetch_any(1, steps, ahead + k / (4 / keys) * ahead_row, ahead_row);
        turned_lane_any(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_any(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_any(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_any(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_any(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_any(sums, one, sum);
            add_turned_any(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_any(sums, group[level++], sum);
        if (l + GROUP == 4) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_any, for the rows of up to 2 vectors and all columns, whose number is a multiple of 4. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
INLINE void turned_any(const int vectors, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    const int keys = 8 / 2; /* more rows, whose distance varies, need more registers for their addresses */
    float turned[2 * 4 * 64] __attribute__((aligned(16)));
    turn_rows_any(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 4, b += 4 * b_row) {
        vec_any t[2][4];
        const float *const from = b;
        const int64_t from_row = b_row;
        for (int64_t k = 0; k < 4; k += keys) {
            vec_any some[8];
            turned_columns_any(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_any(b, b_row, 64 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_any(t[v]);
            UNROLL for (int r = 0; r < 4; r++) store_any(c + (v * 4 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_any, for the rows of all whole vectors. Returns their number. */
INLINE int64_t all_turned_any(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 4 <= rows; r += 2 * 4)
        turned_any(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 4 <= rows) {
        turned_any(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 4;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 4.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise 64 rows ahead. */
INLINE void dot_along_any(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const float *b, int64_t b_row, float *c, int64_t c_row, const int64_t early)
{
    const int64_t whole = columns - columns % 4,
        turned = rows < 4 ? 0 : all_turned_any(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 4, b += 4 * b_row) {
        const int64_t last = min(4, columns - x) - 1;
        const float *const ahead = ahead_any(b, b_row, rows == 1 ? early : 64, columns - x, NULL);
        if (rows == 1 && last == 4 - 1)
            columns_any(1, last, steps, a, b, b_row, c + x, early ? ahead : NULL);
        else if (rows == 1)
            columns_any(0, last, steps, a, b, b_row, c + x, NULL);
        else if (last == 4 - 1)
            all_columns_any(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, 2, ahead);
        else
            all_columns_any(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, 2, ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 16 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
INLINE void row_any(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const float *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const float *ahead)
{
    vec_any sum[16];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_any){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        if (ahead && first == 0) fetch_any(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_any(b, first + v * 4);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_any(c + first + v * 4, load_any(c + first + v * 4) + sum[v]);
}

/* Like dot_any, but b is in memory and is prefetched as in dot_along_any. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 64 lanes at a time. */
INLINE void dot_fetched_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const float *const ahead = ahead_any(b, b_step, rows == 1 ? early : 64, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 64 <= lanes; x += 64)
                row_any(16, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            if (lanes % 64)
                row_any((int)(lanes % 64 / 4), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * 4) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = 16 * (x + vectors * 4) / lanes;
            fetch_any(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_any(vectors, vectors * 4, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
        }
    }
}

/* The functions for the products below. Each calls dot_any or a similar function with constants. */
APART void dot0_any(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
APART void dot1_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
APART void dot2_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
APART void dot3_any(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
{
    dot_along_any(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, /*early=*/64);
}
APART void dot4_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_any(/*fetched=*/1, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot5_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void softmax_rows_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 134144); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 4);
    /* q_tile = q_tile * 23.08312f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(q_tile + d * 80 + i, load_any(q_tile + d * 80 + i) * 23.08312f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(row_max + i, splat_any(-FLT_MAX));
        store_any(row_sum + i, splat_any(0.0f));
        store_any(row_sum_compensation + i, splat_any(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(sum + e * 80 + i, splat_any(0.0f));
            store_any(sum_compensation + e * 80 + i, splat_any(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot0_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(old_max + i, load_any(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const ints_any t_0 = (i0 + i + lane_any) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_any(score + j * 80 + i, pick_any(__builtin_convertvector((j0 + j) <= t_0, mask_any),
                        load_any(score + j * 80 + i), splat_any(-INFINITY)));
                }
            }
        }
        /* row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            vec_any row_max_in[2][2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] = splat_any(-INFINITY);
            }
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                    const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_max_in[vector][j_chain] = max_any(row_max_in[vector][j_chain],
                            load_any(score + j * 80 + i));
                    }
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                store_any(row_max + i, max_any(load_any(row_max + i), max_any(row_max_in[vector][0],
                    row_max_in[vector][1])));
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any old_max_1 = load_any(old_max + i);
            const vec_any old_max_new2 = exp2_any(old_max_1 - load_any(row_max + i));
            store_any(old_max + i, old_max_new2);
            store_any(row_sum + i, load_any(row_sum + i) * old_max_new2);
            store_any(row_sum_compensation + i, load_any(row_sum_compensation + i) * old_max_new2);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any row_max_4 = load_any(row_max + i);
            vec_any row_sum_in = (vec_any){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const vec_any score_3 = load_any(score + j * 80 + i);
                const vec_any score_new5 = exp2_any(score_3 - row_max_4);
                store_any(score + j * 80 + i, score_new5);
                row_sum_in += score_new5;
            }
            add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot1_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                mask_any in_region[16] = {0};
                if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    in_region[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + query_start),
                        mask_any);
                }
                add_seen_any(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            dot2_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        const vec_any row_sum_6 = load_any(row_sum + i);
        const mask_any t_7 = row_sum_6 == 0.0f;
        const vec_any t_8 = 1.0f / row_sum_6;
        for (int64_t e = 0; e < 64; e++) {
            store_any(sum + e * 80 + i, pick_any(t_7, splat_any(0.0f), load_any(sum + e * 80 + i) * t_8));
        }
    }
    /* out = sum, transposed back */
    transpose_out_any(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, 4);
}

/* Initialises the states: they contain no keys yet. */
APART void softmax_few_begin_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    /* query_turned = q * 23.08312f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 8) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 4) {
                store_any(query_turned + r * 64 + d, load_any(q + r / n_q * q_head + r % n_q * q_row + d) * 23.08312f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
APART void softmax_few_begin_2_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(carried_max + r, splat_any(-FLT_MAX));
        store_any(carried_sum + r, splat_any(0.0f));
        store_any(carried_sum_compensation + r, splat_any(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(carried + r * 64 + e, splat_any(0.0f));
                store_any(carried_compensation + r * 64 + e, splat_any(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
APART void softmax_few_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 4) {
        store_any(state_max + (chunk - chunk0) * 4224 + r, splat_any(-FLT_MAX));
        store_any(state_sum + (chunk - chunk0) * 4224 + r, splat_any(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_any(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 4) {
            store_any(old_max + r, load_any(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const ints_any t_0 = j0 + j + lane_any;
                for (int64_t r = 0; r < rows; r++) {
                    store_any(score + r * 144 + j, pick_any(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        mask_any), load_any(score + r * 144 + j), splat_any(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_any lanes_max = splat_any(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(score + r * 144 + j);
                lanes_max = max_any(lanes_max, j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any <
                    j1 - j0, mask_any), term, splat_any(-INFINITY)));
            }
            const float largest = lane_max_any(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 4) {
            const vec_any old_max_1 = load_any(old_max + r);
            const vec_any old_max_new2 = exp2_any(old_max_1 - load_any(state_max + (chunk - chunk0) * 4224 + r));
            store_any(old_max + r, old_max_new2);
            store_any(state_sum + (chunk - chunk0) * 4224 + r, load_any(state_sum + (chunk - chunk0) * 4224 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t r = 0; r < rows; r++) {
                store_any(score + r * 144 + j, exp2_any(load_any(score + r * 144 + j) - (state_max[(chunk - chunk0) *
                    4224 + r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(score + r * 144 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    store_any(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_any(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot4_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_any in_region[32] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_3, mask_any);
                }
                add_seen_lanes_any(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
            dot5_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void softmax_few_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 4) {
            const vec_any carried_max_4 = load_any(carried_max + r);
            const vec_any before_max_new5 = carried_max_4;
            const vec_any state_max_6 = load_any(state_max + (chunk - chunk0) * 4224 + r);
            const vec_any carried_max_new7 = max_any(load_any(carried_max + r), state_max_6);
            store_any(carried_max + r, carried_max_new7);
            const vec_any carried_factor_new8 = exp2_any(before_max_new5 - carried_max_new7);
            store_any(carried_factor + r, carried_factor_new8);
            const vec_any slot_factor_new9 = exp2_any(state_max_6 - carried_max_new7);
            store_any(slot_factor + r, slot_factor_new9);
            const vec_any carried_sum_10 = load_any(carried_sum + r);
            store_any(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_any(carried_sum_compensation + r, load_any(carried_sum_compensation + r) * carried_factor_new8);
            add_any(carried_sum + r, carried_sum_compensation + r, load_any(state_sum + (chunk - chunk0) * 4224 + r) *
                slot_factor_new9, splat_any(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const vec_any carried_11 = load_any(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_any(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_any(carried_compensation + r * 64 + e, load_any(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    add_any(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_any(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r], splat_any(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
APART void softmax_few_queries_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                const float carried_sum_13 = carried_sum[r];
                store_any(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_any(0.0f) : load_any(carried + r * 64 +
                    e) * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void softmax_few_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_few_begin_any(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_few_begin_2_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_few_keys_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_few_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_few_queries_any(call, task, part, iteration);
    synchronise(part);
}

/* ==== which version this machine runs ==== */
struct version {
    /* computes a task on one thread */
    void (*rows)(const struct call *, int64_t, unsigned char *);
    void (*head)(const struct call *, int64_t, struct part *); /* computes a head on one or more threads; may be NULL */
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
    int in_keys; /* no query may be after the last key */
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
    size_t shared, slot, slots; /* shared: bytes for all threads of a head; slot: bytes of a slot; slots: per thread */
    int together; /* heads that all threads compute together: 0: none, 1: the last (heads % threads), 2: all */
};

/* Returns whether a few queries take less time one by one than as one tile. A single query has an overhead of 10
   vectors, and a tile has an overhead of 40 vectors. Both were measured with AVX2 and SSE2. */
INLINE int few_pay(int64_t n_q, int64_t n_k, int64_t lanes)
{
    enum { MANY_KEYS = 1024 };
    return n_k >= MANY_KEYS || n_q * (n_k + 10 * lanes) <= round_up(n_q, lanes) * n_k + 40 * lanes;
}

/* Returns the version for n_k keys and n_q queries. `rows` is the number of queries of all heads that share keys. */
static struct version version(int64_t n_k, int64_t rows, int64_t n_q)
{
    (void)n_k;
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (rows <= 64 && few_pay(n_q, n_k, 16)) return (struct version){.head = softmax_few_v4, .tile = 0,
            .own = 37120, .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = softmax_rows_v4, .tile = 64, .own = 154624, .of_pair = 128};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (rows <= 64 && few_pay(n_q, n_k, 8)) return (struct version){.head = softmax_few_v3, .tile = 0, .own = 37120,
            .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = softmax_rows_v3, .tile = 64, .own = 154624, .of_pair = 128};
    }
#endif
    if (rows <= 64 && few_pay(n_q, n_k, 4)) return (struct version){.head = softmax_few_any, .tile = 0, .own = 37120,
        .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
    return (struct version){.rows = softmax_rows_any, .tile = 64, .own = 154624, .of_pair = 128};
}

enum { MANY_ROWS = 1 << 30 };

/* Returns the number of queries of all heads that share keys. Returns MANY_ROWS if a call saves values or has many
   queries, because its queries are in the lanes. */
static int64_t rows_of(const struct attn_problem *p)
{
    if (p->n_q > 16 || p->saved || p->kv_heads <= 0) return MANY_ROWS;
    return min(p->heads / p->kv_heads * p->n_q, MANY_ROWS);
}


static size_t bytes_a_thread(const struct version *v)
{
    return v->own + v->shared + v->slots * v->slot;
}

/* ==== the interface ==== */
/* Returns the number of threads for which a workspace has room. If the caller chooses no number, there is room for a
   thread per processor, because OpenMP's default may change later. */
static int64_t threads_served(const struct attn_problem *p)
{
    if (p->threads > 0) return p->threads;
#ifdef _OPENMP
    return max(omp_get_max_threads(), omp_get_num_procs());
#else
    return 1;
#endif
}

/* Checks the workspace of a call, and sets *threads to the number of threads: the caller's or OpenMP's default, but not
   more than there are processors, unless the workspace has room or the caller has the threads. The first `shared` bytes
   of the workspace are for all threads. Returns 0 or an error. */
static int take_workspace(const struct attn_problem *p, const void *workspace, size_t shared, size_t bytes_a_thread,
    int *threads)
{
    const size_t all = p->workspace_bytes, left = all > shared ? all - shared : 0,
        room = bytes_a_thread ? left / bytes_a_thread : left;
#ifdef _OPENMP
    const int64_t by_default = omp_get_max_threads(), processors = omp_get_num_procs();
#else
    const int64_t by_default = 1, processors = 1;
#endif
    const int64_t most = max(processors, (int64_t)(room < INT32_MAX ? room : INT32_MAX)),
        wanted = p->threads > 0 ? p->threads : min(by_default, most);
    if (!workspace) return ATTN_EPOINTER;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    if (all && all < bytes_plus(shared, bytes_times(bytes_a_thread, wanted))) return ATTN_EWORKSPACE;
    *threads = (int)(p->team ? wanted : min(wanted, most));
    return 0;
}

/* Sets `part` to the share of thread `number`, where `there` threads compute a head. The workspace has room for
   `threads` threads. OpenMP may have started fewer. */
static void together(const struct version *v, int threads, int number, int there, unsigned char *workspace,
    struct part *part)
{
    const size_t all = (size_t)threads;
    part->number = number;
    part->threads = there;
    part->work = workspace + (size_t)number * v->own;
    part->shared = workspace + all * v->own;
    part->window = (int64_t)(((all - 1) * v->shared + all * v->slots * v->slot) / v->slot) / part->threads;
    part->slots = part->shared + v->shared + (size_t)(number * part->window) * v->slot;
}

size_t softmax_params_size(void)
{
    return 0;
}

int softmax_params_init(struct softmax_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct softmax_params){0};
    return 0;
}

static int positions_fit(const struct attn_problem *p)
{
    const int64_t most = INT64_C(1) << 31;
    int fit = 1;
    for (int64_t b = 0; p->query_start && b < p->batch; b++) fit &= p->query_start[b] >= -most && p->query_start[b] <=
        most;
    return fit;
}

/* Returns the number of heads of v that share a head of q and of k. */
static int64_t sharing_of(const struct attn_problem *p) { return p->key_heads ? max(p->heads / p->key_heads, 1) : 1; }

/* A function like attn_problem_check. */
typedef int checks_problem(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
    struct attn_problem *filled);

/* Checks the sizes, strides and positions of a call to any entry point,
   and fills in `call->p`. Returns 0 or an error. */
static int take_problem(struct call *call, const struct attn_problem *problem, checks_problem *checks)
{
    if (!problem) return ATTN_EPOINTER;
    const int error = checks(problem, 64, 64, &call->p);
    if (error) return error;
    if (!positions_fit(&call->p)) return ATTN_EPROBLEM;
    call->sharing = sharing_of(&call->p);
    return 0;
}

/* Returns the largest workspace of a thread in bytes, over all versions for up to n_k keys. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version few = version(from[k], 0, 0), v = version(from[k], MANY_ROWS, 0);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

/* Returns whether a query of the call is after the last key. */
static int after_keys(const struct attn_problem *p)
{
    int after = 0;
    for (int64_t b = 0; p->query_start && b < p->batch; b++) after |= p->query_start[b] + p->n_q > p->n_k;
    return after;
}

/* Returns the number of keys that the choice of a version depends on. It is 0 if a query is after the last key,
   because only the quadratic form can compute such a query. */
static int64_t keys_of_version(const struct attn_problem *p)
{
    return after_keys(p) ? 0 : p->n_k;
}

size_t softmax_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    size_t shared = 0, bytes = 0;
    if (max_bytes_a_thread(problem->n_k) > bytes) bytes = max_bytes_a_thread(problem->n_k);
    shared = bytes_plus(shared, bytes_times(bytes, threads_served(problem)));
    return bytes_fit(shared) ? shared : 0;
}
/* Returns whether this machine can run the version. */
static int runs(const struct version *v)
{
    return v->rows || v->head;
}

/* A call of a version. */
struct job {
    const struct call *call;
    const struct version *this;
    int64_t tasks, alone; /* one thread runs each of the first `alone` tasks; all threads share each later one */
};

/* Running jobs, shared by the threads. */
struct work {
    const struct job *job;
    int64_t jobs;
    int threads;  /* requested threads; OpenMP may start fewer */
    int there;    /* the number of threads that have started */
    int64_t next; /* the first task that no thread has taken. Tasks that one thread runs are numbered over all jobs. */
    unsigned char *workspace;
    size_t bytes; /* bytes of workspace per thread */
    void (*on)(void *work); /* what every thread calls */
    _Alignas(64) int64_t folded[16 * NUMBERS_OF_LINE];
};

/* Returns a number for the calling thread. It does not use omp_get_thread_num, which may belong to another OpenMP
   library. */
INLINE int take_number(struct work *w) { return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED); }
INLINE int64_t take_task(struct work *w) { return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED); }

#if !defined __SSE__ && !defined __aarch64__
#include <fenv.h>
#endif

/* How a thread computes with floating-point numbers. */
struct arithmetic {
#if defined __SSE__
    unsigned all; /* the register MXCSR */
#elif defined __aarch64__
    uint64_t control, flags; /* the registers FPCR and FPSR */
#else
    fenv_t all;
#endif
};

/* Begins arithmetic without traps, because lanes after the last row may divide by 0. */
enum { SUBNORMALS_ARE_ZERO = 0 };
INLINE struct arithmetic begin_arithmetic(void)
{
    struct arithmetic before;
#if defined __SSE__
    enum { MASKS = 0x1f80, SUBNORMALS = SUBNORMALS_ARE_ZERO ? 1 << 15 | 1 << 6 : 0 }; /* of results and of operands */
    before.all = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before.all | MASKS | SUBNORMALS);
#elif defined __aarch64__
    enum { TRAPS = 0x9f00, SUBNORMALS = SUBNORMALS_ARE_ZERO << 24 };
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(before.flags));
    __asm__ volatile("msr fpcr, %0" : : "r"((before.control & ~(uint64_t)TRAPS) | SUBNORMALS) : "memory");
#else
    feholdexcept(&before.all);
#endif
    return before;
}

/* Ends it, and leaves the flags of exceptions as they were before. */
INLINE void end_arithmetic(const struct arithmetic *before)
{
#if defined __SSE__
    __builtin_ia32_ldmxcsr(before->all);
#elif defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"(before->control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(before->flags) : "memory");
#else
    fesetenv(&before->all);
#endif
}

static void without_traps(void *work)
{
    struct work *const w = (struct work *)work;
    const struct arithmetic before = begin_arithmetic();
    w->on(w);
    end_arithmetic(&before);
}

/* Calls on(w) in all threads of the jobs. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = w->job->call->p.team;
    w->on = on;
    if (w->threads == 1)
        without_traps(w);
    else if (team)
        team->run(without_traps, w, (unsigned)w->threads, 0);
    else {
#ifdef _OPENMP
#pragma omp parallel num_threads(w->threads)
#endif
        without_traps(w);
    }
}

static void work_on(void *work)
{
    struct work *const w = (struct work *)work;
    const int number = take_number(w);
    unsigned char *const own = w->workspace + (size_t)number * w->bytes;
    int64_t task = take_task(w), first = 0; /* first: the number of the job's first task */
    struct part part = {.threads = 1, .window = 1, .work = own, .folded = w->folded, .team = w->job->call->p.team};
    for (const struct job *job = w->job; job < w->job + w->jobs; first += job->alone, job++) {
        const struct version *const this = job->this;
        part.shared = own + this->own;
        part.slots = part.shared + this->shared;
        for (; task - first < job->alone; task = take_task(w)) {
            if (this->head)
                this->head(job->call, task - first, &part);
            else
                this->rows(job->call, task - first, own);
        }
    }
    part.segments = 0;
    part.threads = w->threads;
    for (const struct job *job = w->job; job < w->job + w->jobs; job++) {
        if (!job->this->head || job->alone == job->tasks) continue;
        synchronise(&part); /* now w->there is final, and `together` may divide the workspace */
        together(job->this, w->threads, number, w->there, w->workspace, &part);
        for (task = job->alone; task < job->tasks; task++) job->this->head(job->call, task, &part);
    }
}

/* Returns the multiply-adds of a job. A head takes the time of about 2^15 more. */
static double effort(const struct attn_problem *p, const struct version *v)
{
    const double of_head = (double)p->n_q * (double)p->n_k * (double)v->of_pair +
            ((double)p->n_q + (double)p->n_k) * (double)v->of_token + (1 << 15);
    return (double)p->batch * (double)p->heads * of_head;
}

/* Returns `threads` if there is enough work for them, else 1. Waking threads takes about the time of 2^18
   multiply-adds, and of 2^15 more for each. A call does not wake a part of the threads: GNU's OpenMP ends those that a
   call leaves out, and the next parallel loop of the caller's program has to start them. */
static int useful_threads(double multiply_adds, int threads)
{
    return multiply_adds < 2.0 * (1 << 18) + (double)threads * (1 << 15) ? 1 : threads;
}

/* Sets the number of the tasks of a job. Returns 0 or an error. */
static int count_tasks(struct job *job, int threads)
{
    const struct call *const call = job->call;
    const struct version *const this = job->this;
    const struct attn_problem *const p = &call->p;
    const int64_t heads = this->tile == 0 ? p->kv_heads : p->heads, positions = p->n_q;
    int64_t tasks = p->batch * heads;
    tasks *= this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1;
    job->tasks = job->alone = tasks;
    if (this->head && this->together) job->alone = this->together > 1 ? 0 : tasks / threads * threads;
    return 0;
}

/* Runs all tasks of a call. Each thread has `bytes` of workspace. */
static int run(const struct call *call, const struct version *this, int threads, unsigned char *workspace, size_t bytes)
{
    struct job job = {.call = call, .this = this};
    if (call->p.threads == 0 || call->p.team) threads = useful_threads(effort(&call->p, this), threads);
    struct work work = {.job = &job, .jobs = 1, .threads = threads, .workspace = workspace, .bytes = bytes};
    const int error = count_tasks(&job, threads);
    if (!error && job.tasks > 0) in_threads(&work, work_on);
    return error;
}

int softmax_forward(const struct attn_problem *problem, const struct softmax_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace)
{
    if (!problem) return ATTN_EPOINTER; /* outputs may be members of the problem */
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};
    const int error = take_problem(&call, problem, attn_problem_check);
    if (error) return error;
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (!q || !out || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;
    if ((out && (const void *)out == q) ||
        (out && (const void *)out == k) ||
        (out && (const void *)out == v)) return ATTN_EPOINTER;
    const struct version this = version(keys_of_version(&call.p), rows_of(&call.p), call.p.n_q);
    if (!runs(&this)) return ATTN_EMACHINE;
    if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
    const size_t shared = 0, bytes = bytes_a_thread(&this);
    const size_t max_bytes = max_bytes_a_thread(problem->n_k);
    int threads = 1;
    const int no_room = take_workspace(problem, workspace, shared, max_bytes, &threads);
    if (no_room) return no_room;
    unsigned char *const work = (unsigned char *)workspace + shared;
    return run(&call, &this, threads, work, bytes);
}

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return softmax_params_init((struct softmax_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return softmax_forward(problem, (const struct softmax_params *)params, (const float *)q, (const float *)k,
        (const float *)v, (float *)out, workspace);
}


const struct attn_kernel softmax_kernel = {
    .name = "softmax", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct softmax_params),
    .params_size = softmax_params_size, .params_init = params_init_any, .workspace = softmax_workspace,
    .forward = forward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
