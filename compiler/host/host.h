/* Compiles, loads and calls kernels on this machine, and measures the machine. */
#ifndef ATTNC_HOST_H
#define ATTNC_HOST_H

#include "../support/support.h"
#include "../../runtime/attnrt.h"

/* ---- measurements of the machine (machine.c) ---- */

struct machine;
/* Loads the code that measures (probe.c). On failure, prints a message, sets *status and returns NULL. */
struct machine *machine_open(struct arena *arena, bool quiet, enum status *status);
void machine_close(struct machine *m);
const char *machine_text(struct arena *arena); /* returns one line: processor, number of processors, largest cache */
int machine_threads(const struct machine *m);  /* returns the number of threads that OpenMP uses by default */
/* Names the instructions that machine_peak measures, such as "512-bit multiply-adds". */
const char *machine_vectors(const struct machine *m);
/* Each function returns the maximum of its measurements so far, for a number of threads. The first call measures
   several times. Later calls measure for `again` seconds if `again` is above 0.
   - machine_peak: FLOPs per second of vectors, in the type that kernels of the dtype compute in
   - machine_unit_peak: FLOPs per second of bf16 products on matrix units, or 0 if there are no usable matrix units
   - machine_bandwidth: bytes per second, with two bytes read for each byte written
   - machine_reading: bytes per second of reading */
double machine_peak(struct machine *m, enum dtype dtype, int threads, double again);
double machine_unit_peak(struct machine *m, int threads, double again);
double machine_bandwidth(struct machine *m, int threads, double again);
double machine_reading(struct machine *m, int threads, double again);
/* Returns the repeats_spread (support.h) of the measurements of a peak. */
double machine_peak_spread(struct machine *m, enum dtype dtype, int threads);
double machine_unit_peak_spread(struct machine *m, int threads);
int64_t machine_cache(void);  /* returns the size in bytes of the largest cache */
int64_t machine_memory(void); /* returns the bytes of free memory */

/* ---- compiling and loading (compile.c) ---- */

/* A shared object from dlopen, and the address of one symbol in it. */
struct loaded_code {
    void *handle;
    const void *symbol;
};

/* Returns the first line that the C compiler prints for --version. If this fails, prints a message and returns NULL. */
const char *compiler_version(struct arena *arena, const struct console *c);
struct attn_kernel;
struct loaded_kernel {
    struct loaded_code code;
    const struct attn_kernel *kernel;
};
/* Loads a kernel from its emitted C. If the cache does not have it, compiles it first. Returns STATUS_DONE. On
   failure, prints a message and returns STATUS_MACHINE. */
enum status kernel_load(const char *name, const char *source, const char *header, bool quiet,
                        struct loaded_kernel *out);
void kernel_unload(struct loaded_kernel *k);
/* A compiled kernel in the cache, and a text of the caller that is stored with it. */
struct built_kernel {
    const char *path, *description;
};
/* - kernel_build compiles the source unless the cache has it, and sets built->path. It stores built->description under
     `key`, unless `key` is NULL. If it is `quick`, it compiles in less time, as emitted for a first call, and stores no
     key.
   - kernel_recall finds a kernel by its key, without the source. It returns false if the cache has no such key.
   The key must contain everything that the source depends on. */
enum status kernel_build(struct arena *arena, const char *name, const char *source, const char *header, const char *key,
                         bool quick, bool quiet, struct built_kernel *built);
bool kernel_recall(struct arena *arena, const char *key, bool quiet, struct built_kernel *built);
/* Leaves the processors to other processes, and ends this one with the thread that started it. */
void run_in_background(void);
/* Finds a kernel that was compiled ahead of time. Its file is HASH-BITS.so in $ATTNC_KERNELS, or by default in the
   folder attnc-kernels next to attnc. `hash` is from unit_ready_hash. BITS is a hexadecimal digit with the EMIT_...
   bits of the kernel. They include all bits of `emit`. Returns the path and sets *has to the bits. Returns NULL if
   there is no such kernel. */
const char *kernel_ready(struct arena *arena, const char *hash, unsigned emit, unsigned *has);
enum attn_dtype kernel_dtype(enum dtype dtype); /* returns the runtime's constant for a type */
/* Returns rows in a type of keys and values, made from floats, to free with attn_free. Returns NULL if memory is
   short. */
void *kernel_rows(enum attn_dtype dtype, const float *from, int64_t rows, int64_t elements);
/* Returns the number of threads that a call uses if the caller asks for `asked` threads. 0 asks for OpenMP's default.
   Returns 1 without OpenMP. */
int kernel_threads(const struct loaded_kernel *k, int asked);

/* ---- numbers of arrays (numbers.c) ---- */

/* number_at returns element k of an array. number_set rounds x to the array's type; a truth value is x > 0. */
double number_at(const void *data, int64_t k, enum attn_dtype dtype);
void number_set(void *data, int64_t k, enum attn_dtype dtype, double x);
/* Returns the largest finite number, without its sign. */
double numbers_largest(const void *data, enum attn_dtype dtype, int64_t count);
/* Returns the largest difference of two arrays, relative to the largest number in its row of b, or to `least` if that
   is more. Returns infinity if only one of two numbers is finite. If `alike`, equal infinities and two NaN are equal,
   and otherwise all numbers that are not finite. */
double rows_differ(const void *a, const void *b, enum attn_dtype dtype, int64_t rows, int64_t row, double least,
                   bool alike);

/* ---- calls of a kernel (call.c) ---- */

/* The members of a problem for an output besides the result. */
struct problem_output {
    void **data;
    struct attn_strides *strides;
};
struct problem_output problem_output(struct attn_problem *p, const char *name);

/* The arrays of a call. Only backward uses ROLE_DOUT and the roles after it. */
enum call_role { ROLE_Q, ROLE_K, ROLE_V, ROLE_OUT, ROLE_DOUT, ROLE_DQ, ROLE_DK, ROLE_DV, ROLES };

/* Arrays that several calls share. call_prepare replaces arrays that are too small. Zero the struct at first. */
struct call_arrays {
    char *data[ROLES];
    double bytes[ROLES];
};
void call_arrays_free(struct call_arrays *a);

/* - CALL_FORWARD: forward
   - CALL_SAVING: forward that saves values for backward
   - CALL_BACKWARD: backward
   - CALL_EXTEND: extend, once for each token */
enum call_kind { CALL_FORWARD, CALL_SAVING, CALL_BACKWARD, CALL_EXTEND };

/* A kernel with the arguments of a call. */
struct call {
    const struct attn_kernel *kernel;
    enum call_kind kind;
    struct attn_problem problem;
    struct call_arrays *arrays;
    /* Returns false, or sets the range of the random numbers for a parameter. NULL: all numbers are normal. */
    bool (*range)(const void *range_of, const char *param, double *low, double *high);
    const void *range_of;
    /* `params` is a struct NAME_params. `generated` has the random parameters. */
    void *params, *generated, *workspace;
    char *out; /* used by backward: a copy of the output of forward */
    /* - learned: the arrays of the parameters. NULL stands for a random array in `generated`.
       - gradients: the arrays of the gradients with respect to the learned parameters. */
    void **learned, **gradients;
    /* Used by extend. `position` is the number of tokens in the state before the call. `tokens` is the number of
       tokens to append. */
    int64_t position, tokens;
    /* If true, the state stores all tokens, so it can be truncated. */
    bool grows;
    /* `before` is a copy of the state with `position` tokens. It is NULL if `grows` is true. */
    void *state, *before;
};
/* Returns the size of an array in bytes. */
double call_array_bytes(const struct attn_kernel *kernel, enum call_kind kind, const struct attn_problem *p,
                        enum call_role role);
/* Returns the type of an array's elements. */
enum attn_dtype call_array_dtype(const struct attn_kernel *kernel, enum call_kind kind, enum call_role role);
/* Returns the size in bytes of a parameter or its gradient. */
double call_param_bytes(const struct attn_param *p, const struct attn_problem *problem);
/* Returns the bytes of the gradient with respect to a parameter, which has the type of sums. */
double call_gradient_bytes(const struct attn_kernel *kernel, const struct attn_param *p,
                           const struct attn_problem *problem);
size_t call_workspace(const struct call *c);
/* Returns the bytes that call_prepare would allocate. */
double call_lacks(const struct call *c);
/* Makes c a call of extend. The members batch, heads and threads of the problem must be set. (extend.c) */
void call_extends(struct call *c, int64_t position, int64_t tokens, bool grows);
/* Allocates everything that the call needs, and fills it with random numbers.
   - The caller has set kernel, kind, problem and arrays.
   - The id of position k is k / document. count_work assumes the other integers that are set here.
   - For backward, calls forward. For extend, fills the state.
   Returns 0 or ATTN_E... */
int call_prepare(struct call *c, uint64_t seed, int64_t document);
/* Makes the call. Returns 0 or ATTN_E... */
int call_run(const struct call *c);
/* An array that a call writes. */
struct written {
    char *data;
    size_t bytes;
    enum attn_dtype dtype;
    int64_t rows, row; /* the number of rows, and the number of elements in a row */
};
/* Sets *w to array `number` of those that the call writes. Returns false if there is none.
   - Forward writes only array 0, out.
   - Backward writes dq, dk and dv as arrays 0 to 2. The gradients with respect to learned parameters follow. */
bool call_written(const struct call *c, int number, struct written *w);
/* Returns true if all numbers that the last call wrote are finite. */
bool call_is_finite(const struct call *c);
/* After a call of extend, returns the state to c->position tokens. Returns 0 or ATTN_E... */
int call_rewind(const struct call *c);
/* Frees everything except the arrays. call_prepare may be called again. */
void call_release(struct call *c);

#endif
