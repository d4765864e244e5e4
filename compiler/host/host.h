/* Compiles, loads and calls kernels on this machine, and measures the machine's peak and bandwidth. */
#ifndef ATTNC_HOST_H
#define ATTNC_HOST_H

#include "../support/support.h"
#include "../../runtime/attnrt.h"

/* ---- measurements of the machine (machine.c) ---- */

struct machine;
/* Compiles and loads the code that measures (probe.c). Returns NULL after a message, with *status set. */
struct machine *machine_open(struct arena *arena, bool quiet, enum status *status);
void machine_close(struct machine *m);
const char *machine_text(struct arena *arena);        /* one line: processor, number of processors, largest cache */
int machine_threads(const struct machine *m);         /* the number of threads that OpenMP uses by default */
const char *machine_vectors(const struct machine *m); /* the instructions of machine_peak: "512-bit multiply-adds" */
/* The functions below return the maximum of all measurements so far of one quantity, for a number of threads. The first
   call measures several times. A later call measures once more, for `again` seconds, if `again` is above 0.
   - machine_peak: FLOPs per second of vectors, in the type that kernels of the dtype compute in
   - machine_unit_peak: FLOPs per second of bf16 products on matrix units; 0: this process may not use matrix units
   - machine_bandwidth: bytes per second of memory, with two bytes read for each byte written
   - machine_reading: bytes per second of memory that is only read */
double machine_peak(struct machine *m, enum dtype dtype, int threads, double again);
double machine_unit_peak(struct machine *m, int threads, double again);
double machine_bandwidth(struct machine *m, int threads, double again);
double machine_reading(struct machine *m, int threads, double again);
/* How much the measurements of machine_peak, or of machine_unit_peak, differ: their repeats_spread (support.h). */
double machine_peak_spread(struct machine *m, enum dtype dtype, int threads);
double machine_unit_peak_spread(struct machine *m, int threads);
int64_t machine_cache(void);  /* size in bytes of the largest cache */
int64_t machine_memory(void); /* bytes of free memory */

/* ---- compiling and loading (compile.c) ---- */

/* A shared object from dlopen, and the address of one symbol in it. */
struct loaded_code {
    void *handle;
    const void *symbol;
};

/* Returns the first line that the C compiler prints for --version; NULL after a message. */
const char *compiler_version(struct arena *arena, const struct console *c);
struct attn_kernel;
struct loaded_kernel {
    struct loaded_code code;
    const struct attn_kernel *kernel;
};
/* Loads a kernel from its emitted C. Compiles the C first, unless the cache has the compiled kernel. Reports errors to
   standard error; returns STATUS_DONE or STATUS_MACHINE. */
enum status kernel_load(const char *name, const char *source, const char *header, bool quiet,
                        struct loaded_kernel *out);
void kernel_unload(struct loaded_kernel *k);
/* A compiled kernel in the cache: the path of the shared object, and a text that the caller stores with it. */
struct built_kernel {
    const char *path, *description;
};
/* kernel_build compiles the source unless the cache has it, sets built->path, and stores built->description under
   `key`. kernel_recall finds a kernel by its key without the source, and fills in *built; it returns false if the cache
   has no such key. The key must contain everything that the source depends on. If `key` is NULL, kernel_build does not
   store the description. */
enum status kernel_build(struct arena *arena, const char *name, const char *source, const char *header, const char *key,
                         bool quiet, struct built_kernel *built);
bool kernel_recall(struct arena *arena, const char *key, bool quiet, struct built_kernel *built);
enum attn_dtype kernel_dtype(enum dtype dtype); /* the runtime's constant for a type */
/* Returns the number of threads of a call for which `asked` threads are requested; 0 requests OpenMP's default. Returns
   1 if the kernel was compiled without OpenMP. */
int kernel_threads(const struct loaded_kernel *k, int asked);

/* ---- calls of a kernel (call.c) ---- */

/* The arrays of a call. The arrays from ROLE_DOUT on are only used by backward. */
enum call_role { ROLE_Q, ROLE_K, ROLE_V, ROLE_OUT, ROLE_DOUT, ROLE_DQ, ROLE_DK, ROLE_DV, ROLES };

/* Arrays that several calls use. call_prepare replaces an array that is too small. The struct must be zero at first. */
struct call_arrays {
    char *data[ROLES];
    double bytes[ROLES]; /* the size of each array */
};
void call_arrays_free(struct call_arrays *a);

/* The function of the kernel that is called:
   - CALL_FORWARD: forward
   - CALL_SAVING: forward that saves values for backward
   - CALL_BACKWARD: backward, which reads the saved values
   - CALL_EXTEND: extend, which appends tokens to a state; it is called once for each token */
enum call_kind { CALL_FORWARD, CALL_SAVING, CALL_BACKWARD, CALL_EXTEND };

/* A kernel with the arguments of a call. */
struct call {
    const struct attn_kernel *kernel;
    enum call_kind kind;
    struct attn_problem problem;
    struct call_arrays *arrays;
    void *params, *generated, *workspace; /* struct NAME_params, the random parameters, the workspace */
    char *out;                            /* backward: its own copy of forward's output, which other calls overwrite */
    /* `learned`: for each parameter its array; NULL: a random parameter, which is in `generated`. `gradients`: for each
       learned parameter the array of its gradient. */
    void **learned, **gradients;
    /* extend: the number of tokens in the state before the call, and the number of tokens to append. */
    int64_t position, tokens;
    bool grows;           /* the state stores all tokens, so the kernel can truncate it to any length */
    void *state, *before; /* `before`: a copy of the state with `position` tokens; NULL if `grows` */
};
/* Returns the size of an array in bytes. */
double call_array_bytes(const struct attn_kernel *kernel, const struct attn_problem *p, enum call_role role);
/* Returns the size in bytes of a parameter, which is also the size of its gradient. */
double call_param_bytes(const struct attn_param *p, const struct attn_problem *problem);
/* Returns the size of the workspace in bytes. */
size_t call_workspace(const struct call *c);
/* Returns the bytes that call_prepare would allocate in addition to c->arrays. */
double call_lacks(const struct call *c);
/* Makes c a call of extend: sets the kind, the members for extend, and the members of the problem except batch, heads
   and threads. (extend.c) */
void call_extends(struct call *c, int64_t position, int64_t tokens, bool grows);
/* Allocates everything that the call needs, and fills it with random numbers from the seed. The caller has set kernel,
   kind, problem and arrays. Of integer parameters, ids are k / document at position k, and other integers as in
   count_work. For backward, this also calls forward; for extend, it fills the state. Returns 0 or ATTN_E... */
int call_prepare(struct call *c, uint64_t seed, int64_t document);
/* Makes the call. Returns 0 or ATTN_E... */
int call_run(const struct call *c);
/* After a call of extend, returns the state to c->position tokens. Does nothing for other kinds of call. Returns 0 or
   ATTN_E... */
int call_rewind(const struct call *c);
/* Frees everything except the arrays. The call may be prepared again. */
void call_release(struct call *c);

#endif
