/* Types and functions for kernels of attnc and for their callers. C11 and C++. Kernels allocate no memory, do no I/O
   and have no static state.
   - B, H, G, N: batch, heads of q, heads of k and v (kv_heads), rows (n_q or n_k)
   - D, E: the size of a query and of a key (head_dim), the size of a value (value_dim)
   - NAME: the name of a kernel, the prefix of its functions, such as NAME_forward */
#ifndef ATTNRT_H
#define ATTNRT_H

/* ---- types ---- */

/* These types have their own include guard, because the header of a standalone kernel contains them, too. The
   guard's number changes when a type changes. */

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
       - term_gradients: outer_sums(…, 2) bytes, or NULL without gradients of arrays that a decay reads. Backward writes
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

/* How attn_ranks_… work, which `attnc explain --ranks` counts with, too.
   - ATTN_RANKS_SLICES: a sequence is cut into this number of slices for each rank, if there are enough heads
   - ATTN_RANKS_STORED: ranks that join states store the sums of chunks from this number of tokens on. It takes about
     as long to sum a chunk of 64 tokens again as to store and read its sums */
enum { ATTN_RANKS_SLICES = 4, ATTN_RANKS_STORED = 128 };

/* The arguments of functions below that emitted code calls. */
#ifndef ATTNRT_ARGUMENTS
#define ATTNRT_ARGUMENTS
struct attn_range {
    int64_t from, to; /* from <= x < to */
};
/* A random draw of `count` different numbers for each a from `first` to `last`.
   - The numbers are from 0 … n - 1. n is `among`, or a + 1 with `upto`. If n <= count, all are drawn.
   - Candidates are splitmix64(splitmix64(splitmix64(seed) ^ a) ^ t) modulo n for t = 0, 1, …, without repetitions. */
struct attn_draw {
    uint64_t seed;
    int64_t count, among, first, last;
    int upto;
    int64_t *list; /* [last - first + 1, count + 1]: for each a, the number of drawn numbers, then the drawn numbers
                      in ascending order */
};
#define ATTN_NORMS (UINT64_C(1) << 63) /* where the norms of attn_orthogonal_f64 begin in its stream */
#endif /* ATTNRT_ARGUMENTS */

#ifdef __cplusplus
extern "C" {
#endif
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default) /* the shared library exports only these functions */
#endif

/* ---- error texts, and descriptions of calls and kernels (error.c, problem.c, kernel.c) ---- */

const char *attn_strerror(int error); /* returns a sentence for any value */
/* Checks a problem for a kernel with these sizes. Writes the problem with all strides to `filled`, which may be
   `problem` or NULL. Returns 0, ATTN_EPROBLEM or ATTN_ESIZE.
   - If all three strides are 0, the array is contiguous. Strides of an axis with extent 0 or 1 do not matter.
   - A row stride must be at least the size of a row.
   - With a batch or head stride of 0, all batches or heads share memory. Only inputs may have it.
   - batch, n_q and n_k may be 0. A kernel then does nothing. */
int attn_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                       struct attn_problem *filled);

/* Like attn_problem_check, for keys and values of other types (`storage`): contiguous rows of k and v are `key_row`
   and `value_row` elements or bytes apart. */
int attn_stored_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim, int64_t key_row,
                              int64_t value_row, struct attn_problem *filled);

/* Returns the size of one element in bytes, or 1 if rows are bytes. */
size_t attn_dtype_size(enum attn_dtype dtype);
/* Writes the extents of parameter p to shape[0] … shape[p->rank - 1]. */
void attn_param_shape(const struct attn_param *p, const struct attn_problem *problem, int64_t *shape);
/* Returns true if parameter p is learned, so that it has a gradient. */
int attn_param_learned(const struct attn_param *p);

/* ---- results for two sets of keys (merge.c) ---- */

/* Merges the results of forward for the same queries and two sets of keys without a common key. `left_out` and
   left->statistics become the result for all keys, up to rounding. A row that sees no key on one side is the row of the
   other side.
   - left, right: the problems of both calls, with statistics. The sizes of out must be equal.
   - left->threads, left->team: the threads that merge. Without a team, it is one thread, unless this function was
     compiled with OpenMP.
   - dtype, value_dim, kind: as in struct attn_kernel. With ATTN_UNDIVIDED, rows are added, and statistics may be NULL.
   - Only one call may have a constant or a sink in its denominator (`normalize: {sum_plus: …}` or `sink`).
   - The mask must not use positions, because positions of keys are other ones in a call for a part.
   Returns 0, or one of
   - ATTN_EPROBLEM: a size or stride is negative or too small, or the sizes differ
   - ATTN_ESIZE: a product of sizes overflows
   - ATTN_EPOINTER: a problem or an array is NULL
   - ATTN_EFOLD: `kind` is ATTN_NO_STATISTICS, or `dtype` is no type of results */
int attn_merge(const struct attn_problem *left, void *left_out, const struct attn_problem *right, const void *right_out,
               enum attn_dtype dtype, int64_t value_dim, enum attn_statistics kind);

/* ---- 16-bit elements (half.c) ---- */

/* The conversions round to nearest, ties to even. Numbers that are too large become infinity. */
uint16_t attn_bf16(double value);
uint16_t attn_f16(double value);
double attn_bf16_value(uint16_t bits);
double attn_f16_value(uint16_t bits);

/* ---- rows of keys and values in types with few bits (stored.c) ---- */

/* Returns the bytes of a row. `elements` is a multiple of the elements of a block. */
int64_t attn_row_bytes(enum attn_dtype dtype, int64_t elements);
/* Rounds a row to the type and stores it, aligned to a float or half if it has such elements. An element rounds to the
   nearest number. A scale is that of ggml: the largest size / 127, or for Q4_0 the element of the largest size / -8. If
   an element is infinite or NaN, the scale is too. Only FP8 has no scale: numbers from 448 on become 448. */
void attn_store_row(enum attn_dtype dtype, const float *from, int64_t elements, void *to);
/* Writes the numbers of a stored row. */
void attn_load_row(enum attn_dtype dtype, const void *from, int64_t elements, float *to);

/* ---- memory and time for callers (memory.c, timer.c) ---- */

void *attn_alloc(size_t bytes); /* returns zeroed memory, aligned to 64 bytes, to free with attn_free; NULL if out of
                                   memory */
void attn_free(void *memory);
double attn_seconds(void); /* returns the time of a monotonic clock in seconds */

/* ---- features that the processor has and that the system lets this process use (processor.c) ---- */

/* Returns the highest x86-64 level, 1 to 4, whose instructions kernels may use. Returns 1 on other processors. */
int attn_x86_64_level(void);
int attn_avx512_bf16(void); /* returns 1 if products of bf16 pairs (AVX512-BF16) may be used */
int attn_avx512_vnni(void); /* returns 1 if products of bytes (AVX512-VNNI) may be used */
int attn_is_intel(void);    /* returns 1 if Intel made the processor, whose bf16 pairs are slower than f32 */
/* Returns true if this process may use AMX. The first call asks Linux for permission. */
int attn_tiles(void);

/* ---- parameters from a seed (random.c): the bits are the same with every machine, compiler and option ---- */

/* A stream is an infinite sequence of random numbers with a 64-bit name. The stream of a parameter is the FNV-1a
   hash of its name. So parameters do not depend on each other. */
uint64_t attn_stream(const char *name);
/* Writes n standard normal values: numbers first … first + n - 1 of the stream.
   - A value depends only on seed, stream and its number. An f32 value is the rounded f64 value.
   - Philox4x32-10 and the Box-Muller transform make the values. They are between -9.42 and 9.42. */
void attn_normal_f64(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, double *out);
void attn_normal_f32(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, float *out);
/* Writes orthogonal random features, out[rows, columns] (Choromanski et al. 2021, "Rethinking Attention with
   Performers", section 3.2 and appendix B).
   - Each block of `columns` rows is the factor Q of the QR factorisation of normal values. R has a positive diagonal.
   - Row r is scaled to the norm of other normal values, with the numbers from ATTN_NORMS + r * columns on.
   - More rows only extend the result.
   - `columns` is 1 to 2^16. `work` has attn_orthogonal_work(rows, columns) bytes, aligned to 8. */
size_t attn_orthogonal_work(int64_t rows, int64_t columns);
void attn_orthogonal_f64(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, double *out, void *work);
void attn_orthogonal_f32(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, float *out, void *work);
/* Computes one block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
void attn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* ---- tables of the tiles of masks (mask.c) ---- */

/* Some kernels have a mask as a parameter. A call reads the whole mask to find the tiles that the mask hides. A caller
   that passes the same mask to several calls can make the table of the tiles once. The table is the member MASK_tiles
   of struct NAME_params, where MASK is the name of the mask. If the member is NULL, the call makes the table. The table
   must be made again after a change of the mask: a kernel does not compute tiles that the table says are hidden. */
/* Returns the bytes of the table of a mask with `rank` axes of these sizes. attn_param_shape writes the sizes. Returns
   0 if a size is negative, the rank is not 2 to 4, or a product of sizes overflows. */
size_t attn_tiles_bytes(int rank, const int64_t *shape);
/* Makes the table of the tiles of a mask.
   - mask: [shape[0], …, rows, columns]. A byte of 0 is false. Any other byte is true.
   - strides: [rank], as in struct NAME_strides. NULL means that the mask is contiguous.
   - table: the caller's memory of `bytes` bytes, aligned to 8
   Returns 0, or one of
   - ATTN_EPROBLEM: the rank is not 2 to 4, or a size or stride is negative
   - ATTN_ESIZE: a product of sizes overflows
   - ATTN_EPOINTER: shape, table or mask is NULL
   - ATTN_EALIGN: the table is not aligned to 8
   - ATTN_EWORKSPACE: `bytes` is smaller than attn_tiles_bytes() */
int attn_tiles_of_mask(const uint8_t *mask, int rank, const int64_t *shape, const int64_t *strides,
                       struct attn_mask_tiles *table, size_t bytes);
/* Used by kernels. Returns 0 if the table is for a mask of this shape, else ATTN_ETILES, or an error of the arguments
   as above. */
int attn_tiles_check(const struct attn_mask_tiles *table, int rank, const int64_t *shape);
/* Used by kernels. Makes the tiles of one strip, which has `rows` rows. `row` and `column` are strides. */
void attn_tiles_of_strip(const uint8_t *mask, int64_t rows, int64_t columns, int64_t row, int64_t column,
                         uint8_t *tile);
/* Used by kernels. The same for reals of type F32, F64, F16 or BF16 from element `at` on, of which -inf hides a pair.
 */
void attn_tiles_of_reals(enum attn_dtype dtype, const void *reals, int64_t at, int64_t rows, int64_t columns,
                         int64_t row, int64_t column, uint8_t *tile);

/* Says which tokens of a tree are on the path to each token, for a mask of drafts such as
   j < base[b] || ancestors[b][row][j - base[b]].
   - parents: [tokens]: the number of each token's parent, which is a smaller number, or -1
   - ancestors: [tokens, row]: row t gets 1 for t and its ancestors, and 0 for others. `row` is at least `tokens`
   - depths: [tokens], or NULL: gets the number of the ancestors of each token
   Returns 0, or one of
   - ATTN_EPROBLEM: `row` or `tokens` is too small, or a parent does not have a smaller number
   - ATTN_EPOINTER: parents or ancestors is NULL */
int attn_ancestors(int64_t tokens, const int32_t *parents, uint8_t *ancestors, int64_t row, int32_t *depths);

/* ---- masks as ranges of keys (ranges.c), and random blocks (draw.c) ---- */

/* Replaces the ranges by their union, clipped to from <= x < to. The ranges of a union are sorted and do not touch.
   Returns the number of ranges. */
int64_t attn_union(struct attn_range *range, int64_t count, int64_t from, int64_t to);
/* Returns true if a union of attn_union contains every x with from <= x < to. */
int attn_covers(const struct attn_range *range, int64_t count, int64_t from, int64_t to);

void attn_draw(struct attn_draw *draw); /* fills `list` */
/* Fills `list` from the caller's numbers, without negative numbers and repetitions. `number` has `count` numbers for
   each a, beginning with `first`. */
void attn_draw_listed(struct attn_draw *draw, const int32_t *number);
int attn_drawn(const struct attn_draw *draw, int64_t a, int64_t b); /* returns 1 if b was drawn for a */
/* Writes the range b * block <= x < (b + 1) * block for some b. If `every` is 0, these are the b drawn for at least
   one a. Otherwise they are the b drawn for all a. The ranges are clipped to from <= x < to. Returns the number of
   ranges, at most `count` for each a. */
int64_t attn_drawn_ranges(const struct attn_draw *draw, int64_t block, int64_t from, int64_t to, int every,
                          struct attn_range *range);

/* ---- .npy files, format versions 1 to 3 (npy.c) ---- */

struct attn_array {
    enum attn_dtype dtype;
    int rank;
    int64_t shape[8];
    void *data; /* contiguous, C order; free with attn_array_free */
};
/* Reads a .npy file into new memory, in C order.
   - The file may have either byte order, and C or Fortran order.
   - For a `dtype` of floats, the file must have floats (f2, f4, f8). They are converted to `dtype` and rounded once.
   - For I32, the file must have integers. A value that does not fit gives ATTN_EFORMAT.
   - For U8, the file must have truth values or integers. An integer that is not 0 is true.
   Returns 0, ATTN_EIO, ATTN_EMEMORY or ATTN_EFORMAT. After an error, `message` says what is wrong with the file. */
int attn_npy_read(const char *path, enum attn_dtype dtype, struct attn_array *array, char *message,
                  size_t message_bytes);
/* Writes a .npy file. An error leaves an existing file unchanged. BF16 is written as f4. Returns 0, or ATTN_EIO or
   ATTN_EMEMORY with a message. */
int attn_npy_write(const char *path, const struct attn_array *array, char *message, size_t message_bytes);
void attn_array_free(struct attn_array *array);

#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
