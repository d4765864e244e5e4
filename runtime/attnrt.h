/* Types and functions for kernels emitted by attnc and for programs that call kernels. C11 and C++. Kernels allocate
   nothing, do no I/O and keep no state. The functions here that allocate, read or write are for the callers. */
#ifndef ATTNRT_H
#define ATTNRT_H

/* ---- types ---- */

/* These types have a separate include guard, because the header of a standalone kernel contains them too. The number
   is raised when a type changes. */

#ifndef ATTNRT_TYPES
#define ATTNRT_TYPES 5
#include <stddef.h>
#include <stdint.h>

/* Return values of kernels; 0 is success. */
enum attn_error {
    ATTN_EPROBLEM = -1,   /* a size or stride of the problem is negative, or heads is not a multiple of kv_heads */
    ATTN_EPOINTER = -2,   /* an array, the workspace or the storage of parameters is NULL */
    ATTN_EPARAM = -3,     /* a parameter array that the kernel needs is NULL */
    ATTN_EWORKSPACE = -4, /* workspace_bytes is smaller than NAME_workspace() says */
    ATTN_ESIZE = -5,      /* a product of sizes overflows */
    ATTN_EALIGN = -6,     /* the workspace or the storage of parameters is not aligned to 64 bytes */
    ATTN_EMEMORY = -7,    /* out of memory (never from a kernel) */
    ATTN_EIO = -8,        /* a file could not be read or written; errno says why (never from a kernel) */
    ATTN_EFORMAT = -9,    /* a file has the wrong format (never from a kernel) */
    ATTN_EMACHINE = -10,  /* this machine has none of the instruction sets that the kernel was compiled for */
    ATTN_EORDER = -11,    /* ids decrease from one key to the next; a kernel that carries state from key to key needs
                             ascending ids */
    ATTN_ESTATE = -12,    /* a state belongs to another kernel or other sizes, or is truncated or damaged */
    ATTN_ECAPACITY = -13, /* more tokens than the problem's capacity, or than the kernel's spec allows */
    ATTN_ELENGTH = -14,   /* n_q, n_k or the capacity is more than the kernel's spec allows; or a sequence is shorter
                             than the given length, its state cannot go back that far, or another state cannot be
                             appended there */
    ATTN_EFOLD = -15      /* states of this kernel cannot be joined (NAME_state_fold) */
};

/* Threads that the caller provides in place of OpenMP's. Two libraries in one process that both start threads
   compete for processors. The types are those of GOMP_parallel and GOMP_barrier, which every OpenMP library on Linux
   has. */
struct attn_team {
    /* Calls work(context) in `threads` threads at the same time, or in fewer, but never in more. Returns when all of
       them have returned. flags is 0. */
    void (*run)(void (*work)(void *context), void *context, unsigned threads, unsigned flags);
    void (*barrier)(void); /* called by each thread inside `work`: waits until every thread of the team has called it */
};

/* One call of a kernel. */
struct attn_strides {
    int64_t batch, head, row; /* in elements; all 0: contiguous [B,H,N,D]. The elements of a row are always
                                 contiguous */
};
struct attn_problem { /* zero the struct before use: new members are added at the end */
    int64_t batch, heads, kv_heads, n_q, n_k;
    struct attn_strides q, k, v, out;
    int threads; /* 0: OpenMP's default, or fewer if there is little work. At most the number of processors, unless
                    workspace_bytes shows that there is room for more */
    size_t workspace_bytes; /* 0: unknown, not checked; otherwise a value that is too small gives ATTN_EWORKSPACE */
    /* For kernels with gradients. forward writes to `saved` (NAME_saved() bytes, aligned to 64) the values that
       backward with the same arrays needs. NULL: forward saves nothing, and backward computes these values again. */
    void *saved;
    size_t saved_bytes;                   /* 0: unknown, not checked; otherwise a value that is too small gives
                                             ATTN_EWORKSPACE */
    struct attn_strides dout, dq, dk, dv; /* like out, q, k and v */
    /* For kernels with a state: NAME_extend and related functions. */
    int64_t capacity;       /* the maximum length of a sequence in tokens, if the form needs one; rows of ids have this
                               length */
    const int64_t *lengths; /* [batch]: the number of new tokens of each sequence, at most n_q; NULL: n_q for each */
    size_t state_bytes;     /* 0: unknown, not checked; otherwise a value smaller than NAME_state() says gives
                               ATTN_ESTATE */
    int64_t start; /* NAME_state_init: the position of the first token, for a state that NAME_state_fold will join to
                      a state of that many earlier tokens; a multiple of the number of tokens that the kernel
                      processes at a time */
    const struct attn_team *team; /* NULL: OpenMP's threads; the number of threads is in `threads` */
};

/* The types of q, k, v and out. An element is a float, a double, or the bits of a BF16 (the upper half of a float)
   or F16 (IEEE half) in a uint16_t. Kernels widen 16-bit elements when they read them, compute in float, and round
   when they write. Parameters of 16-bit kernels are float. I32 is only for parameters. */
enum attn_dtype { ATTN_F32, ATTN_BF16, ATTN_F16, ATTN_F64, ATTN_I32 };
enum attn_axis { ATTN_BATCH = -1, ATTN_HEADS = -2, ATTN_KV_HEADS = -3, ATTN_N_Q = -4, ATTN_N_K = -5 };
/* The description of a kernel: NAME_kernel. */
struct attn_param {
    const char *name; /* as in the spec language: "q_norm.weight"; its file is NAME.npy */
    enum attn_dtype dtype;
    int rank;
    int64_t shape[4]; /* each is an extent, or an enum attn_axis */
    size_t offset;    /* offset of the pointer in struct NAME_params */
    int random;       /* 1: _params_init makes this parameter from a seed */
};
struct attn_kernel {
    const char *name, *version;
    enum attn_dtype dtype;
    int64_t head_dim, value_dim;
    int params;
    const struct attn_param *param;
    size_t params_bytes; /* size of struct NAME_params */
    size_t (*params_size)(void);
    int (*params_init)(void *params, uint64_t seed, void *storage); /* storage: params_size() bytes, aligned to 64 */
    size_t (*workspace)(const struct attn_problem *problem);
    int (*forward)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                   void *out, void *workspace);
    /* NULL: the kernel has no gradients. `gradients` is a struct NAME_gradients: one pointer for each learned
       parameter (attn_param_learned), in the order of the parameters. */
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
#error "these kernels were emitted by different versions of attnc: regenerate all of them with one version"
#endif /* ATTNRT_TYPES */

#ifdef __cplusplus
extern "C" {
#endif
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default) /* the shared library hides all other symbols, the static library hides all */
#endif

/* ---- error texts, and descriptions of calls and kernels (error.c, problem.c, kernel.c) ---- */

const char *attn_strerror(int error); /* returns a sentence for any value, never NULL */
/* Checks a problem for a kernel of head size D = head_dim, value size E = value_dim. Strides that are all 0, and
   strides of an extent of 1 or 0, become contiguous strides. Other strides are kept: a row stride must not be less than
   the size of a row. A batch or head stride of 0 shares one array, which is allowed only for arrays that are read.
   `filled` may be `problem` or NULL. Returns 0, ATTN_EPROBLEM or ATTN_ESIZE. n_q, n_k and batch may be 0; then the call
   does nothing. */
int attn_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                       struct attn_problem *filled);

/* The size of one element in bytes. */
size_t attn_dtype_size(enum attn_dtype dtype);
/* Writes the shape of parameter p for a problem to shape[0 .. p->rank). */
void attn_param_shape(const struct attn_param *p, const struct attn_problem *problem, int64_t *shape);
/* Whether parameter p is learned; only learned parameters have gradients. */
int attn_param_learned(const struct attn_param *p);

/* ---- 16-bit elements (half.c) ---- */

/* Conversions round to nearest, ties to even. Values that are too large become infinity; NaN stays NaN. */
uint16_t attn_bf16(double value);
uint16_t attn_f16(double value);
double attn_bf16_value(uint16_t bits);
double attn_f16_value(uint16_t bits);

/* ---- memory and time for callers (memory.c, timer.c) ---- */

void *attn_alloc(size_t bytes); /* aligned to 64 bytes, zeroed; NULL if out of memory; free with attn_free */
void attn_free(void *memory);
double attn_seconds(void); /* a monotonic clock */

/* ---- features of the processor that the system lets this process use (processor.c) ---- */

/* The highest level of x86-64 whose instructions kernels may use, 1 to 4; 1 on other processors. */
int attn_x86_64_level(void);
int attn_avx512_bf16(void); /* whether the products of bf16 pairs of AVX-512 may be used */
int attn_is_intel(void);    /* whether the processor is from Intel; there these products are slower than f32 products */
/* Whether this process may use the matrix units for bf16 (AMX). The first call in a process asks Linux for
   permission. */
int attn_tiles(void);

/* ---- parameters from a seed (random.c): the bits do not depend on machine, compiler or compiler options ---- */

/* The stream of a parameter is a hash of its name (FNV-1a, 64 bits), so its values do not depend on the other
   parameters. */
uint64_t attn_stream(const char *name);
/* Values first, first + 1, … first + n - 1 of a stream of independent standard normal values. A value depends only
   on seed, stream and its number. An f32 value is the f64 value, rounded. Made by Philox4x32-10 and the Box-Muller
   transform; no absolute value exceeds 9.42. */
void attn_normal_f64(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, double *out);
void attn_normal_f32(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, float *out);
/* Orthogonal random features (Choromanski et al. 2021, "Rethinking Attention with Performers", section 3.2 and
   appendix B), out [rows, columns]. Each block of `columns` rows is the factor Q of the QR factorisation (with positive
   diagonal of R) of a block of normal values. Row r of Q is then scaled to the norm of another row of normal values:
   the values of the stream from number ATTN_NORMS + r * columns on. A larger `rows` does not change earlier rows.
   columns: 1 to 2^16.
   `work`: attn_orthogonal_work(rows, columns) bytes, aligned to 8. */
#define ATTN_NORMS (UINT64_C(1) << 63)
size_t attn_orthogonal_work(int64_t rows, int64_t columns);
void attn_orthogonal_f64(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, double *out, void *work);
void attn_orthogonal_f32(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, float *out, void *work);
/* One block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
void attn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* ---- masks as ranges of keys (ranges.c), and random blocks (draw.c) ---- */

struct attn_range {
    int64_t from, to; /* from <= x < to */
};
/* Clips the ranges to from … to, drops empty ones, sorts them and joins ranges that overlap or touch. Returns the
   number of ranges left. */
int64_t attn_union(struct attn_range *range, int64_t count, int64_t from, int64_t to);
/* Whether from … to is completely inside a union made by attn_union. */
int attn_covers(const struct attn_range *range, int64_t count, int64_t from, int64_t to);

/* For each a from `first` to `last`, draws `count` different numbers below `among` (`upto`: below a + 1), or all of
   them if there are no more. The numbers are splitmix64(splitmix64(splitmix64(seed) ^ a) ^ t) modulo `among` for t =
   0, 1, … */
struct attn_draw {
    uint64_t seed;
    int64_t count, among, first, last;
    int upto;
    int64_t *list; /* (last - first + 1) times count + 1 elements: for each a the number of drawn numbers, then these
                      numbers, sorted */
};
void attn_draw(struct attn_draw *draw);                             /* fills `list` */
int attn_drawn(const struct attn_draw *draw, int64_t a, int64_t b); /* whether b was drawn for a */
/* For every b that was drawn for some a (`every`: for every a): the range b * block … (b + 1) * block, clipped to
   from … to. Returns the number of ranges, at most count for each a. */
int64_t attn_drawn_ranges(const struct attn_draw *draw, int64_t block, int64_t from, int64_t to, int every,
                          struct attn_range *range);

/* ---- .npy files, format versions 1 to 3 (npy.c) ---- */

struct attn_array {
    enum attn_dtype dtype;
    int rank;
    int64_t shape[8];
    void *data; /* contiguous, C order; free with attn_array_free */
};
/* Reads f2, f4, f8 (little or big endian, in C or Fortran order), unchanged or converted to `dtype` (rounded once), and
   integers to I32 only (a value out of range gives ATTN_EFORMAT). Returns 0, ATTN_EIO, ATTN_EMEMORY or ATTN_EFORMAT. On
   an error, `message` (of message_bytes) says what is wrong with the file, without its name. */
int attn_npy_read(const char *path, enum attn_dtype dtype, struct attn_array *array, char *message,
                  size_t message_bytes);
/* Writes the complete file or nothing: it writes a temporary file in the same folder and renames it. BF16 is written
   as f4. Returns 0, ATTN_EIO or ATTN_EMEMORY, with a message. */
int attn_npy_write(const char *path, const struct attn_array *array, char *message, size_t message_bytes);
void attn_array_free(struct attn_array *array);

#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
