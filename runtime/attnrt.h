/* What kernels emitted by attnc may call, and what programs that call them need. C11 and C++.
   Kernels allocate nothing, do no I/O and keep no state; what here allocates, reads or writes is for their callers. */
#ifndef ATTNRT_H
#define ATTNRT_H

/* ---- types ---- */

/* The header of a standalone kernel has them too, so they have a guard of their own. Its number changes with them. */

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
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default) /* the shared library hides the rest, the static one everything */
#endif

/* ---- what kernels return, and what they are called with (error.c, problem.c, kernel.c) ---- */

const char *attn_strerror(int error); /* a sentence for any value, never NULL */
/* Checks a problem for a kernel of head size D = head_dim, value size E = value_dim and fills in contiguous strides
   where they are all 0. Given strides are kept: a row stride may not be less than the size of a row; a batch or head
   stride of 0 shares one array, but not one that is written. `filled` may be `problem` or NULL. Returns 0,
   ATTN_EPROBLEM or ATTN_ESIZE. n_q, n_k and batch may be 0: then there is nothing to do. */
int attn_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                       struct attn_problem *filled);

/* Bytes of one element. */
size_t attn_dtype_size(enum attn_dtype dtype);
/* The shape of parameter p for a problem, in shape[0 .. p->rank). */
void attn_param_shape(const struct attn_param *p, const struct attn_problem *problem, int64_t *shape);
/* Whether parameter p is learned: it has a gradient. */
int attn_param_learned(const struct attn_param *p);

/* ---- elements of 16 bits (half.c) ---- */

/* The nearest one, of two as near the even one; what is too large becomes infinity, NaN stays. */
uint16_t attn_bf16(double value);
uint16_t attn_f16(double value);
double attn_bf16_value(uint16_t bits);
double attn_f16_value(uint16_t bits);

/* ---- memory and time for callers (memory.c, timer.c) ---- */

void *attn_alloc(size_t bytes); /* aligned to 64 bytes, zeroed; NULL when there is none; attn_free gives it back */
void attn_free(void *memory);
double attn_seconds(void); /* of a clock that only goes forward */

/* ---- the processor (tiles.c) ---- */

/* Whether this process may use matrix units for bf16 (AMX). Linux is asked for them once a process. */
int attn_tiles(void);

/* ---- parameters from a seed (random.c): the same bits on every machine, with every compiler and any options ---- */

/* The stream of a parameter: a hash of its name (FNV-1a, 64 bits), so that no parameter depends on which others there
   are. */
uint64_t attn_stream(const char *name);
/* Values first, first + 1, … first + n - 1 of a stream of independent standard normal values. A value depends on seed,
   stream and its number alone; those of f32 are those of f64, rounded. Philox4x32-10 and the transform of Box and
   Muller: none is beyond 9.42. */
void attn_normal_f64(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, double *out);
void attn_normal_f32(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, float *out);
/* Orthogonal random features (Choromanski et al. 2021, "Rethinking Attention with Performers", section 3.2 and appendix
   B), out [rows, columns]: each block of `columns` rows is Q of a QR factorisation of a block of normal values (with
   R's diagonal positive), its rows scaled to the norms of independent rows of normal values: those numbered from
   ATTN_NORMS + row * columns. More rows leave those before them as they are. columns: 1 to 2^16. `work`:
   attn_orthogonal_work(rows, columns) bytes, aligned to 8. */
#define ATTN_NORMS (UINT64_C(1) << 63)
size_t attn_orthogonal_work(int64_t rows, int64_t columns);
void attn_orthogonal_f64(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, double *out, void *work);
void attn_orthogonal_f32(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, float *out, void *work);
/* One block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
void attn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* ---- masks as ranges of keys (ranges.c), and blocks drawn at random (draw.c) ---- */

struct attn_range {
    int64_t from, to; /* from <= x < to */
};
/* Cuts the ranges to from … to, drops empty ones, sorts them and joins those that overlap or touch. Returns how many
   are left. */
int64_t attn_union(struct attn_range *range, int64_t count, int64_t from, int64_t to);
/* Whether from … to lies wholly in a union that attn_union made. */
int attn_covers(const struct attn_range *range, int64_t count, int64_t from, int64_t to);

/* For each a from `first` to `last`: `count` different numbers below `among` (`upto`: below a + 1), all of them if
   there are no more. The numbers are splitmix64(splitmix64(splitmix64(seed) ^ a) ^ t) modulo `among` for t = 0, 1, … */
struct attn_draw {
    uint64_t seed;
    int64_t count, among, first, last;
    int upto;
    int64_t *list; /* (last - first + 1) times count + 1 numbers: for each a how many, and these, sorted */
};
void attn_draw(struct attn_draw *draw);                             /* fills `list` in */
int attn_drawn(const struct attn_draw *draw, int64_t a, int64_t b); /* whether b was drawn for a */
/* The parts in from … to of the ranges b * block … (b + 1) * block of every b that was drawn for some a (`every`: for
   every a). Returns how many, at most count for each a. */
int64_t attn_drawn_ranges(const struct attn_draw *draw, int64_t block, int64_t from, int64_t to, int every,
                          struct attn_range *range);

/* ---- .npy files, format versions 1 to 3 (npy.c) ---- */

struct attn_array {
    enum attn_dtype dtype;
    int rank;
    int64_t shape[8];
    void *data; /* contiguous, C order; attn_array_free gives it back */
};
/* Reads f2, f4, f8 (little or big endian) as they are or converted to `dtype` (rounded once), integers to I32 only (out
   of range is ATTN_EFORMAT). Returns 0, ATTN_EIO, ATTN_EMEMORY or ATTN_EFORMAT; then `message` (of message_bytes) says
   what is wrong with the file, without its name. */
int attn_npy_read(const char *path, enum attn_dtype dtype, struct attn_array *array, char *message,
                  size_t message_bytes);
/* Writes the file whole or not at all (a temporary file beside it, renamed). BF16 is written as f4. Returns 0, ATTN_EIO
   or ATTN_EMEMORY, with a message. */
int attn_npy_write(const char *path, const struct attn_array *array, char *message, size_t message_bytes);
void attn_array_free(struct attn_array *array);

#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
