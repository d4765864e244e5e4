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
    ATTN_EFOLD = -15,     /* this kernel's states cannot be joined by NAME_state_fold, or its results by attn_merge, or a
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
    /* Used for weights. An array [B,H,n_q,n_k] of the kernel's dtype that forward writes, or NULL. Its strides are
       `weights_at`. It must be NULL for NAME_extend and attn_ranks_…, which compute no weights. */
    void *weights;
    struct attn_strides weights_at;
};
