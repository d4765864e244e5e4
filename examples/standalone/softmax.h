/* softmax.h, made by attnc 0.1.0: attnc softmax.yaml --standalone
   softmax attention on unit vectors, made sharp by its scale
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G; query head h reads key/value head h / (H/G).
   Positions count so that the last query meets the last key; a row that sees no key gives 0. */
#ifndef ATTNC_softmax_H
#define ATTNC_softmax_H

#ifndef ATTNRT_TYPES
#define ATTNRT_TYPES 5
#include <stddef.h>
#include <stdint.h>

/* What kernels return; 0 is success. */
enum attn_error {
    ATTN_EPROBLEM = -1,   /* a size or stride of the problem is negative, or heads is no multiple of kv_heads */
    ATTN_EPOINTER = -2,   /* an array, the workspace or the storage of parameters is NULL */
    ATTN_EPARAM = -3,     /* a parameter array that is needed is NULL */
    ATTN_EWORKSPACE = -4, /* workspace_bytes is less than NAME_workspace() says */
    ATTN_ESIZE = -5,      /* sizes whose product overflows */
    ATTN_EALIGN = -6,     /* the workspace or the storage of parameters is not aligned to 64 bytes */
    ATTN_EMEMORY = -7,    /* out of memory (never from a kernel) */
    ATTN_EIO = -8,        /* a file could not be read or written; errno says why (never from a kernel) */
    ATTN_EFORMAT = -9,    /* a file is not what it should be (never from a kernel) */
    ATTN_EMACHINE = -10,  /* this machine has none of the instruction sets the kernel was made for */
    ATTN_EORDER = -11, /* ids fall from a key to the next, which a kernel whose state is carried along the keys cannot
                          take */
    ATTN_ESTATE = -12, /* a state is of another kernel or for other sizes, cut short or damaged */
    ATTN_ECAPACITY = -13, /* more tokens than the problem's capacity */
    ATTN_ELENGTH = -14,   /* a sequence is not as long as that, its state cannot go back so far, or another one cannot
                             follow it there */
    ATTN_EFOLD = -15      /* states of this kernel cannot be joined */
};

/* Threads of the caller, for kernels to run on instead of OpenMP's: two libraries in one process, each with threads of
   its own, are in each other's way. The types are those of GOMP_parallel and GOMP_barrier, which every OpenMP library
   on Linux has. */
struct attn_team {
    /* Calls work(context) in `threads` threads that run at the same time, or in fewer but never in more, and returns
       when all have; flags is 0. */
    void (*run)(void (*work)(void *context), void *context, unsigned threads, unsigned flags);
    void (*barrier)(void); /* in one of them: waits for all others to call it; where it is the only one, for none */
};

/* One call of a kernel. */
struct attn_strides {
    int64_t batch, head, row; /* in elements; all 0: contiguous [B,H,N,D]; the last axis is contiguous */
};
struct attn_problem { /* zero it first: members are added at the end */
    int64_t batch, heads, kv_heads, n_q, n_k;
    struct attn_strides q, k, v, out;
    int threads; /* 0: OpenMP's default; no more than processors where workspace_bytes does not show that there is room
                    for them */
    size_t workspace_bytes; /* 0: the caller vouches; else too small is ATTN_EWORKSPACE */
    /* Of a kernel with gradients. `saved`, aligned to 64, is what its forward leaves for its backward with the same
       arrays: NAME_saved() bytes. NULL: forward leaves nothing, and backward computes that anew. */
    void *saved;
    size_t saved_bytes;                   /* 0: the caller vouches; else too small is ATTN_EWORKSPACE */
    struct attn_strides dout, dq, dk, dv; /* as out, q, k and v */
    /* Of a kernel with a state, NAME_extend and the functions around it. */
    int64_t capacity; /* tokens that a sequence may grow to, where the form needs it; rows of ids have this length */
    const int64_t *lengths; /* [batch]: the new tokens of each sequence, up to n_q; NULL: n_q of each */
    size_t state_bytes;     /* 0: the caller vouches; else less than NAME_state() says is ATTN_ESTATE */
    int64_t start; /* of NAME_state_init: the position of the first token, where the state is to be joined to one of as
                      many tokens before it; a multiple of the tokens that it takes in at a time */
    const struct attn_team *team; /* NULL: OpenMP's threads; `threads` says how many */
};

/* Of q, k, v and out. An element is a float, a double, or, of BF16 (the upper half of a float) and F16 (IEEE half), its
   bits in a uint16_t: kernels widen what they read, compute in float, and round what they write. Parameters of 16-bit
   kernels are float. I32 is of parameters alone. */
enum attn_dtype { ATTN_F32, ATTN_BF16, ATTN_F16, ATTN_F64, ATTN_I32 };
enum attn_axis { ATTN_BATCH = -1, ATTN_HEADS = -2, ATTN_KV_HEADS = -3, ATTN_N_Q = -4, ATTN_N_K = -5 };
/* What a kernel says of itself: NAME_kernel. */
struct attn_param {
    const char *name; /* as in the spec language: "q_norm.weight"; its file is NAME.npy */
    enum attn_dtype dtype;
    int rank;
    int64_t shape[4]; /* an extent, or an enum attn_axis */
    size_t offset;    /* of its pointer in struct NAME_params */
    int random;       /* 1: _params_init makes it from a seed */
};
struct attn_kernel {
    const char *name, *version;
    enum attn_dtype dtype;
    int64_t head_dim, value_dim;
    int params;
    const struct attn_param *param;
    size_t params_bytes; /* of struct NAME_params */
    size_t (*params_size)(void);
    int (*params_init)(void *params, uint64_t seed, void *storage); /* storage: params_size() bytes, aligned to 64 */
    size_t (*workspace)(const struct attn_problem *problem);
    int (*forward)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                   void *out, void *workspace);
    /* NULL: the kernel has no gradients. `gradients` is a struct NAME_gradients: a pointer for each learned parameter
       (attn_param_learned), in their order. */
    size_t (*saved)(const struct attn_problem *problem);
    size_t (*backward_workspace)(const struct attn_problem *problem);
    int (*backward)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                    const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients, void *workspace);
    /* NULL: the kernel has no state. */
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
};

#elif ATTNRT_TYPES != 5
#error "kernels that different versions of attnc made: make them anew with one"
#endif /* ATTNRT_TYPES */

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Bytes that softmax_params_init needs for what it makes from a seed. */
size_t softmax_params_size(void);
/* Fills in what a seed can make, in `storage`; learned arrays become NULL and are the caller's to set. Returns 0. */
int softmax_params_init(struct softmax_params *params, uint64_t seed, void *storage);
/* Bytes of workspace, to be aligned to 64, for a problem; they depend on the threads, not on the lengths.
   With threads = 0 they serve one for each processor, or OpenMP's default if that is more, and _forward takes no
   more than they serve, whatever OpenMP is set to by then. Put them into problem->workspace_bytes, and _forward
   checks that they are enough. Of NULL: 0. */
size_t softmax_workspace(const struct attn_problem *problem);
/* Returns 0 or a negative ATTN_E…; attn_strerror explains. Allocates nothing; the result does not depend on the number of threads. */
int softmax_forward(const struct attn_problem *problem, const struct softmax_params *params, const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel softmax_kernel;

#ifdef __cplusplus
}
#endif
#endif
