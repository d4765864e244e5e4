/* softmax.h, made by attnc 0.2.0: attnc softmax.yaml --standalone
   softmax attention on unit vectors, made sharp by its scale
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_H
#define ATTNC_softmax_H

#ifndef ATTNRT_TYPES
#define ATTNRT_TYPES 22
#include <stddef.h>
#include <stdint.h>

/* ---- a call of a kernel: its errors, threads, pages, and its problem ---- */

/* Return values of kernels; 0 is success. */
enum attn_error {
    ATTN_EPROBLEM = -1,   /* a size or stride is negative, a stride is too small, heads is no multiple of kv_heads or
                             key_heads, query_start is out of range, or `weights` is not NULL for a call that computes
                             none. With 'delta' or key_heads, heads must equal
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
    ATTN_EFOLD = -15,     /* this kernel's states cannot be joined by NAME_state_fold, or its results by attn_merge,
        or a
                             state is no array (NAME_state_set) */
    ATTN_ETILES = -16,    /* a table of tiles is for a mask of another shape or for other tiles, or is no table */
    ATTN_ERANKS = -17,    /* a message between ranks was not delivered (attnrt_ranks.h) */
    ATTN_EPAGES = -18,    /* one of these:
                             - a page of a sequence has a number out of range, is twice in its table, or gets tokens of
                               the call, or rows of NAME_state_keep, although another sequence has it
                             - pages are too small, or have no 16 to 256 tokens
                             - this kernel's states cannot be in pages */
    ATTN_EVERSION = -19   /* the kernel was compiled with the headers of another version of libattnrt */
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
    /* Used for weights. An array [B,H,n_q,n_k] of the kernel's dtype that forward writes, or NULL. Its strides are
       `weights_at`. It must be NULL for NAME_extend and attn_ranks_…, which compute no weights. */
    void *weights;
    struct attn_strides weights_at;
};
/* ---- the description of a kernel: its types, parameters and functions ---- */

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
enum { ATTN_MAX_ARRAYS = 1024 }; /* the most arrays of a kernel, with those that it computes */
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
    int weights; /* 1 if forward writes problem->weights */
    /* For a state as an array [B, H or G, numbers] of floats, or of doubles for f64. NULL without a state.
       - state_sums: returns its bytes, or 0 if the sums of a state are no matrices
       - state_set, state_get: NAME_state_set and NAME_state_get
       - state_arrays: how many matrices the numbers of a head are, one after another
       - state_shapes: the features and columns of each. Sums of weights have 1 column */
    size_t (*state_sums)(const struct attn_problem *problem);
    int (*state_set)(const struct attn_problem *problem, void *state, const void *sums);
    int (*state_get)(const struct attn_problem *problem, const void *params, void *state, void *sums, void *workspace);
    int state_arrays;
    const int64_t *state_shapes;
};

#elif ATTNRT_TYPES != 22
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
