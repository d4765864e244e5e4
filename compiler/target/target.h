/* The machines that code is generated for.
   - target: a class of machines with common instructions, such as "x86-64-v4"
   - feature: an instruction set extension that only some machines of a target have, such as AMX
   - version: a target with some of its features. A kernel has code for several versions and chooses one at run
     time. */
#ifndef ATTNC_TARGET_H
#define ATTNC_TARGET_H

#include "../../ir/memory.h"

enum target_feature {
#define FEATURE(name, suffix, dtype, says) TARGET_##name,
#include "target.def"
    TARGET_FEATURES
};
enum architecture { ANY_ARCHITECTURE, X86_64, AARCH64, ARCHITECTURES };

/* A unit that multiplies tile registers of bf16 (target.def). rows = 0: there is none. */
struct matrix_unit {
    /* The number of rows of a tile register, and of bf16 elements in a row. */
    int rows, depth;
    int product_cycles, load_cycles, store_cycles; /* cycles per tile register */
    int queries, keys, sweep, block;               /* default sizes of tiles and blocks */
};

/* A target, or a version with the features in `features` (target.c, target.def). */
struct target {
    const char *name;      /* such as "x86-64-v4" */
    const char *suffix;    /* the suffix of C function names, such as "v4" */
    const char *attribute; /* argument of __attribute__((target)), or "" if none is needed */
    const char *guard;     /* preprocessor condition for the architecture. "": always */
    const char *supported; /* C condition: the machine has the instructions. "": always */
    const char *faster;    /* C condition: this version is faster than less capable versions. "": always */
    const char *vectors;   /* the name of the vector instructions, such as "AVX-512" */
    enum architecture architecture;
    bool by_default;                        /* attnc compiles for this target if the user names no target */
    bool scales, converts_f16, takes_roots; /* the target has vector instructions for these operations (target.def) */
    int vector_bytes, registers;
    int64_t l1_bytes, l2_bytes;
    /* How many rows ahead keys and values are prefetched: for one query, for one query with 16-bit keys, for several
       queries. 0: only the hardware prefetches. */
    int early, early_narrow, early_for_several;
    /* C conditions: early, or early_narrow, is used, otherwise 0. "": always */
    const char *early_on, *early_narrow_on;
    const char *byte_products; /* C condition: the machine multiplies bytes (vpdpbusd). NULL: no machine does */
    /* The number of queries that count as several, if keys have more than 16 bits. With a condition early_on that
       holds, it is 2. */
    int several_from;
    int near;          /* the cache level that rows are prefetched into: 1 or 2 */
    unsigned features; /* bit 1 << TARGET_…: this version may use the feature */
    struct {
        const char *attribute, *unit; /* NULL: no machine of the target has the feature */
        int multiply_adds;            /* the number of multiply-adds per cycle and core */
        const char *supported, *faster;
    } with[TARGET_FEATURES];
    struct matrix_unit matrix;
};
/* Returns the target without features, or NULL. "native" is the best target of this machine, with its cache sizes. */
const struct target *target_find(const char *name);
/* Whether this machine can run the target's code, and runs it faster than the code of less capable versions. */
bool target_runs(const struct target *t);
bool target_has(const struct target *t, enum target_feature feature);
/* Sets `version` to the versions for a spec of this dtype, the most capable first. Returns the number of versions. */
int target_versions(struct arena *arena, const struct target *t, enum dtype dtype, const struct target **version);
/* Return the name of the feature's unit, such as "AMX", and its bf16 multiply-adds per cycle and core. */
const char *target_unit(const struct target *t, enum target_feature feature);
int target_multiply_adds(const struct target *t, enum target_feature feature);
/* Returns " with products of bf16", or "". */
const char *target_features_text(struct arena *arena, const struct target *t);
/* Returns the number of the target's row in target.def. 0 is the most capable target. */
int target_rank(const struct target *t);
/* Returns the target with this rank, or NULL after the last rank. */
const struct target *target_at(int rank);
const char *target_architecture(const struct target *t); /* returns "x86_64", or "any" */
/* Whether attnc compiles for this target without --target. `machine`: an architecture such as "arm64". NULL means
   this machine. */
bool target_is_default(const struct target *t, const char *machine);
const char *const *target_names(void); /* the list ends with NULL */
enum { MAX_TARGETS = 8, MAX_VERSIONS = MAX_TARGETS * (TARGET_FEATURES + 1) };

#endif
