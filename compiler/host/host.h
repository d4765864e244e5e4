/* Kernels on this machine: compiled, loaded and called; and what the machine can do. */
#ifndef ATTNC_HOST_H
#define ATTNC_HOST_H

#include "../support/support.h"
#include "../../runtime/attnrt.h"

/* What a machine can do (machine.c). */
struct machine;
/* Compiles what measures it. NULL after a message, and *status. */
struct machine *machine_open(struct arena *arena, bool quiet, enum status *status);
void machine_close(struct machine *m);
const char *machine_text(struct arena *arena);        /* processor, how many, largest cache: one line */
int machine_threads(const struct machine *m);         /* OpenMP's default */
const char *machine_vectors(const struct machine *m); /* what its peak is measured with */
/* FLOPs a second in the type that kernels of a dtype compute in, and bytes a second, of that number of threads:
   measured when first asked for, in several turns, and for `again` seconds more; the best of all. */
double machine_peak(struct machine *m, enum dtype dtype, int threads, double again);
double machine_unit_peak(struct machine *m, int threads, double again); /* of bf16 on matrix units; 0: there are none */
double machine_bandwidth(struct machine *m, int threads, double again);
double machine_reading(struct machine *m, int threads, double again);         /* the same of what is read alone */
double machine_peak_spread(struct machine *m, enum dtype dtype, int threads); /* repeats_spread of its turns */
double machine_unit_peak_spread(struct machine *m, int threads);
int64_t machine_cache(void);  /* bytes of the last cache */
int64_t machine_memory(void); /* bytes that are free */

struct loaded_code {
    void *handle;
    const void *symbol;
};

/* The first line that the C compiler says of its version; NULL after a message. */
const char *compiler_version(struct arena *arena, const struct console *c);
struct attn_kernel;
struct loaded_kernel {
    struct loaded_code code;
    const struct attn_kernel *kernel;
};
/* The same with the emitted source of a kernel. */
enum status kernel_load(const char *name, const char *source, const char *header, bool quiet,
                        struct loaded_kernel *out);
void kernel_unload(struct loaded_kernel *k);
/* A kernel in the cache, compiled by kernel_build or found there: its path, and a text that came with it. */
struct built_kernel {
    const char *path, *description;
};
/* `key` stands for all that the source depends on, and finds the kernel without it again (NULL: nothing does). Both
   take the description; kernel_recall fills it in. */
enum status kernel_build(struct arena *arena, const char *name, const char *source, const char *header, const char *key,
                         bool quiet, struct built_kernel *built);
bool kernel_recall(struct arena *arena, const char *key, bool quiet, struct built_kernel *built);
/* The threads that it runs on when `asked` are asked for (0: OpenMP's default); one where it was compiled without
   OpenMP. */
int kernel_threads(const struct loaded_kernel *k, int asked);

/* The arrays of a call; those of backward after those of forward. */
enum call_role { ROLE_Q, ROLE_K, ROLE_V, ROLE_OUT, ROLE_DOUT, ROLE_DQ, ROLE_DK, ROLE_DV, ROLES };

/* Kept from call to call and grown where a call needs more. Zero it first. */
struct call_arrays {
    char *data[ROLES];
    double bytes[ROLES];
};
void call_arrays_free(struct call_arrays *a);

/* What is called: forward; forward, which saves what backward needs; backward, with what forward saved; extend, for
   some tokens one by one. */
enum call_kind { CALL_FORWARD, CALL_SAVING, CALL_BACKWARD, CALL_EXTEND };

/* A kernel with what a call of it needs. */
struct call {
    const struct attn_kernel *kernel;
    enum call_kind kind;
    struct attn_problem problem;
    struct call_arrays *arrays;
    void *params, *generated, *workspace;
    char *out;                   /* of backward, which no other call may write */
    void **learned, **gradients; /* by parameter, NULL where it is not learned; the gradients by the learned ones */
    /* Of extend: the tokens of a sequence before the first one, and how many there are then. */
    int64_t position, tokens;
    bool grows;           /* the state, which can go back to any length then */
    void *state, *before; /* a copy of it at the position, NULL where it grows */
};
/* Bytes of an array. */
double call_array_bytes(const struct attn_kernel *kernel, const struct attn_problem *p, enum call_role role);
/* Bytes of a parameter, and of the gradient by it. */
double call_param_bytes(const struct attn_param *p, const struct attn_problem *problem);
/* Bytes of the workspace. */
size_t call_workspace(const struct call *c);
/* Bytes that call_prepare would take beside those that are there. */
double call_lacks(const struct call *c);
/* Makes it a call of extend: sets what is of that, and of the problem all but batch, heads and threads. (extend.c) */
void call_extends(struct call *c, int64_t position, int64_t tokens, bool grows);
/* Arrays, parameters and workspace for c->kernel, kind, problem and arrays, from a seed; integer parameters number runs
   of `document` positions. For backward forward is called. 0, or ATTN_E... */
int call_prepare(struct call *c, uint64_t seed, int64_t document);
/* 0, or ATTN_E... */
int call_run(const struct call *c);
/* After tokens: the state goes back to its position. Others need nothing of the kind. 0, or ATTN_E... */
int call_rewind(const struct call *c);
/* All but the arrays; the struct may be prepared again. */
void call_release(struct call *c);

#endif
