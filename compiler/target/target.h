/* The machines that code is made for. */
#ifndef ATTNC_TARGET_H
#define ATTNC_TARGET_H

#include "../../ir/ir.h"

/* A machine that code is made for (target.c, target.def). */
struct target {
    const char *name;      /* "x86-64-v4" */
    const char *suffix;    /* "v4", the end of C names */
    const char *attribute; /* of the functions made for it, "" if none */
    const char *guard;     /* preprocessor condition, "" if none */
    const char *supported; /* C condition at run time, "" if always */
    const char *faster;    /* than the versions after it: C condition at run time, "" if always */
    const char *vectors;   /* "AVX-512" */
    int vector_bytes, registers;
    int64_t l1_bytes, l2_bytes;
    /* how many rows ahead keys and values are fetched by one query, by one whose keys have 16 bits, and by several; 0:
       the processor does it */
    int early, early_narrow, early_for_several;
    int several_from;  /* as many queries are several, where keys have more than 16 bits */
    int near;          /* the cache that they are fetched into: 1 or 2 */
    unsigned features; /* that code may use, as bits: 1 << TARGET_… */
};
enum target_feature {
#define FEATURE(name, suffix, dtype, says) TARGET_##name,
#include "target.def"
    TARGET_FEATURES
};
const struct target *target_find(const char *name); /* NULL: no such target; "native" reads this machine */
bool target_runs(const struct target *t);           /* on this machine, and no version after it is faster there */
bool target_has(const struct target *t, enum target_feature feature);
/* Those that a spec of the dtype is compiled for: with the features that serve it, the most capable first, and last the
   target itself. Returns how many. */
int target_versions(struct arena *arena, const struct target *t, enum dtype dtype, const struct target **version);
/* What multiplies pairs of bf16 with a feature that the target has: "AMX"; and how often a core does so in a cycle. */
const char *target_unit(const struct target *t, enum target_feature feature);
int target_multiply_adds(const struct target *t, enum target_feature feature);
const char *target_features_text(struct arena *arena, const struct target *t); /* " with products of bf16", or "" */
int target_rank(const struct target *t); /* its row in target.def, where the better come first */
const char *const *target_names(void);   /* NULL-ended */
enum { MAX_TARGETS = 8, MAX_VERSIONS = MAX_TARGETS * (TARGET_FEATURES + 1) };

#endif
