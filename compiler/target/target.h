/* The machines that code is generated for. */
#ifndef ATTNC_TARGET_H
#define ATTNC_TARGET_H

#include "../../ir/ir.h"

enum target_feature {
#define FEATURE(name, suffix, dtype, says) TARGET_##name,
#include "target.def"
    TARGET_FEATURES
};
enum architecture { ANY_ARCHITECTURE, X86_64, AARCH64, ARCHITECTURES };

/* A unit that multiplies tile registers of bf16; 0 rows: there is none. */
struct matrix_unit {
    int rows, depth;                               /* of a tile register: its rows, and the elements of one */
    int product_cycles, load_cycles, store_cycles; /* of a tile register */
    int queries, keys, sweep, block;               /* of tiles by default; queries that share packed keys */
};

/* A machine that code is generated for (target.c, target.def). */
struct target {
    const char *name;      /* "x86-64-v4" */
    const char *suffix;    /* "v4", the suffix of C names */
    const char *attribute; /* attribute of functions for this target, "" if none */
    const char *guard;     /* preprocessor condition, "" if none */
    const char *supported; /* C condition at run time, "" if always */
    const char *faster;    /* C condition at run time for being faster than the versions after it, "" if always */
    const char *vectors;   /* "AVX-512" */
    enum architecture architecture;
    bool by_default;                        /* compiled for if the user names no target */
    bool scales, converts_f16, takes_roots; /* instructions that it has for vectors */
    int vector_bytes, registers;
    int64_t l1_bytes, l2_bytes;
    /* how many rows ahead keys and values are prefetched: by one query, by one query with 16-bit keys, by several
       queries; 0: prefetching is left to the hardware */
    int early, early_narrow, early_for_several;
    int several_from;  /* the number of queries that counts as several, if keys have more than 16 bits */
    int near;          /* the cache that rows are prefetched into: 1 or 2 */
    unsigned features; /* features that code may use, as bits: 1 << TARGET_… */
    struct {
        const char *attribute, *unit; /* NULL: no machine of the target has it */
        int multiply_adds;            /* per cycle and core */
        const char *supported, *faster;
    } with[TARGET_FEATURES];
    struct matrix_unit matrix;
};
const struct target *target_find(const char *name); /* NULL: no such target; "native" examines this machine */
bool target_runs(const struct target *t);           /* on this machine; false if a version after it is faster here */
bool target_has(const struct target *t, enum target_feature feature);
/* The versions that a spec of the dtype is compiled for: the target with the features that help this dtype, the most
   capable first, and last the target itself. Returns the number of versions. */
int target_versions(struct arena *arena, const struct target *t, enum dtype dtype, const struct target **version);
/* The unit that multiplies pairs of bf16 if the target has the feature, such as "AMX", and its multiply-adds per
   cycle and core. */
const char *target_unit(const struct target *t, enum target_feature feature);
int target_multiply_adds(const struct target *t, enum target_feature feature);
const char *target_features_text(struct arena *arena, const struct target *t); /* " with products of bf16", or "" */
int target_rank(const struct target *t);  /* the number of its row in target.def; better targets have lower numbers */
const struct target *target_at(int rank); /* NULL after the last */
const char *target_architecture(const struct target *t); /* "x86_64", or "any" */
/* Whether attnc compiles for the target if the user names none, on a machine of that name, such as "x86_64" or "arm64".
   NULL: this machine. */
bool target_is_default(const struct target *t, const char *machine);
const char *const *target_names(void); /* the list ends with NULL */
enum { MAX_TARGETS = 8, MAX_VERSIONS = MAX_TARGETS * (TARGET_FEATURES + 1) };

#endif
