/* Kernels on this machine are compiled, loaded and called here, and the machine's peak and bandwidth are measured. */
#ifndef ATTNC_HOST_H
#define ATTNC_HOST_H

#include "../support/support.h"
#include "../../runtime/attnrt.h"

/* The measured capabilities of the machine (machine.c). */
struct machine;
/* Compiles the code that measures. Returns NULL after a message, with *status set. */
struct machine *machine_open(struct arena *arena, bool quiet, enum status *status);
void machine_close(struct machine *m);
const char *machine_text(struct arena *arena);        /* one line: processor, number of processors, largest cache */
int machine_threads(const struct machine *m);         /* OpenMP's default */
const char *machine_vectors(const struct machine *m); /* the instructions that the peak is measured with */
/* machine_peak: FLOPs per second of that many threads, in the type that kernels of the dtype compute in.
   machine_bandwidth: bytes per second. The first request measures several times; a later request with again > 0
   measures once more, for `again` seconds. The result is the maximum of all measurements. */
double machine_peak(struct machine *m, enum dtype dtype, int threads, double again);
double machine_unit_peak(struct machine *m, int threads, double again); /* for bf16 on matrix units; 0: there are
                                                                           none */
double machine_bandwidth(struct machine *m, int threads, double again);
double machine_reading(struct machine *m, int threads, double again);         /* bandwidth of reading only */
double machine_peak_spread(struct machine *m, enum dtype dtype, int threads); /* repeats_spread of the measurements */
double machine_unit_peak_spread(struct machine *m, int threads);
int64_t machine_cache(void);  /* size in bytes of the largest cache */
int64_t machine_memory(void); /* bytes of free memory */

struct loaded_code {
    void *handle;
    const void *symbol;
};

/* The first line of the C compiler's version text; NULL after a message. */
const char *compiler_version(struct arena *arena, const struct console *c);
struct attn_kernel;
struct loaded_kernel {
    struct loaded_code code;
    const struct attn_kernel *kernel;
};
/* Compiles or finds, and loads, the emitted source of a kernel. */
enum status kernel_load(const char *name, const char *source, const char *header, bool quiet,
                        struct loaded_kernel *out);
void kernel_unload(struct loaded_kernel *k);
/* A kernel in the cache, which kernel_build compiled or found there: its path, and the text that was stored with it. */
struct built_kernel {
    const char *path, *description;
};
/* `key` stands for everything that the source depends on; kernel_recall finds the kernel by the key, without the
   source (NULL: it cannot be found that way). Both functions use the description: kernel_build stores it,
   kernel_recall fills it in. */
enum status kernel_build(struct arena *arena, const char *name, const char *source, const char *header, const char *key,
                         bool quiet, struct built_kernel *built);
bool kernel_recall(struct arena *arena, const char *key, bool quiet, struct built_kernel *built);
enum attn_dtype kernel_dtype(enum dtype dtype); /* the runtime's name of a type */
/* The number of threads that the kernel uses if `asked` are requested (0: OpenMP's default); 1 if it was compiled
   without OpenMP. */
int kernel_threads(const struct loaded_kernel *k, int asked);

/* The arrays of a call: first the arrays of forward, then the additional arrays of backward. */
enum call_role { ROLE_Q, ROLE_K, ROLE_V, ROLE_OUT, ROLE_DOUT, ROLE_DQ, ROLE_DK, ROLE_DV, ROLES };

/* Arrays that are reused by later calls, and replaced if a call needs larger ones. Zero the struct before use. */
struct call_arrays {
    char *data[ROLES];
    double bytes[ROLES];
};
void call_arrays_free(struct call_arrays *a);

/* The function that is called: forward; forward that saves values for backward; backward, with the saved values;
   extend, once for each token. */
enum call_kind { CALL_FORWARD, CALL_SAVING, CALL_BACKWARD, CALL_EXTEND };

/* A kernel with the arguments of a call. */
struct call {
    const struct attn_kernel *kernel;
    enum call_kind kind;
    struct attn_problem problem;
    struct call_arrays *arrays;
    void *params, *generated, *workspace;
    char *out;                   /* backward: the output of forward, which no other call may overwrite */
    void **learned, **gradients; /* by parameter: the learned parameters, NULL for others; the gradients with respect
                                    to learned parameters */
    /* extend: the number of earlier tokens in a sequence, and the number of tokens to append. */
    int64_t position, tokens;
    bool grows;           /* the state keeps all tokens, so it can go back to any length */
    void *state, *before; /* `before`: a copy of the state at the position; NULL if the state grows */
};
/* The size of an array in bytes. */
double call_array_bytes(const struct attn_kernel *kernel, const struct attn_problem *p, enum call_role role);
/* The size in bytes of a parameter, and of the gradient with respect to it. */
double call_param_bytes(const struct attn_param *p, const struct attn_problem *problem);
/* The size of the workspace in bytes. */
size_t call_workspace(const struct call *c);
/* The bytes that call_prepare would allocate in addition to the existing arrays. */
double call_lacks(const struct call *c);
/* Makes the call one of extend: sets the members for extend, and all of the problem except batch, heads and threads.
   (extend.c) */
void call_extends(struct call *c, int64_t position, int64_t tokens, bool grows);
/* Makes arrays, parameters and workspace for c->kernel, kind, problem and arrays, from a seed. Integer parameters
   number runs of `document` positions. For backward it also calls forward. Returns 0 or ATTN_E... */
int call_prepare(struct call *c, uint64_t seed, int64_t document);
/* Returns 0 or ATTN_E... */
int call_run(const struct call *c);
/* For extend: returns the state to its position after tokens were appended. Other kinds of call need no rewinding.
   Returns 0 or ATTN_E... */
int call_rewind(const struct call *c);
/* Frees everything except the arrays; the struct may be prepared again. */
void call_release(struct call *c);

#endif
