/* The table of targets, and what `native` means on the machine attnc runs on. */
#include "compiler.h"

#include <string.h>
#include <unistd.h>

static const struct target targets[] = {
#define TARGET(name, suffix, attribute, guard, supported, vector_bytes, registers, l1, l2, multiplies_bf16) \
    {name, suffix, attribute, guard, supported, vector_bytes, registers, l1, l2, multiplies_bf16},
#include "target.def"
#undef TARGET
};
enum { TARGETS = sizeof targets / sizeof *targets };

static const struct target *target_here(void)
{
    const char *name = "generic";
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        name = "x86-64-v4";
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        name = "x86-64-v3";
    else if (__builtin_cpu_supports("sse4.2"))
        name = "x86-64-v2";
#elif defined(__aarch64__)
    name = "aarch64";
#endif
    return target_find(name);
}

int target_rank_here(void)
{
    const struct target *here = target_here(), *of_bf16 = target_of_bf16(here);
#if defined(__x86_64__)
    if (of_bf16 && __builtin_cpu_supports("avx512bf16")) return target_rank(of_bf16);
#endif
    (void)of_bf16;
    return target_rank(here);
}

static const struct target *native(void)
{
    static struct target machine;
    machine = *target_here();
#ifdef _SC_LEVEL1_DCACHE_SIZE
    long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (l1 > 0) machine.l1_bytes = l1;
    if (l2 > 0) machine.l2_bytes = l2;
#endif
    return &machine;
}

const struct target *target_find(const char *name)
{
    if (strcmp(name, "native") == 0) return native();
    for (int k = 0; k < TARGETS; k++)
        if (!targets[k].multiplies_bf16 && strcmp(targets[k].name, name) == 0) return &targets[k];
    return NULL;
}

const struct target *target_of_bf16(const struct target *t)
{
    for (int k = 0; k < TARGETS; k++)
        if (targets[k].multiplies_bf16 && strcmp(targets[k].name, t->name) == 0) return &targets[k];
    return NULL;
}

int target_rank(const struct target *t)
{
    int rank = 0;
    while (strcmp(targets[rank].suffix, t->suffix) != 0) rank++;
    return rank;
}

bool target_runs(const struct target *t)
{
    const struct target *here = native();
    return !*t->guard || (strcmp(t->guard, here->guard) == 0 && target_rank(t) >= target_rank(here));
}

const char *const *target_names(void)
{
    static const char *names[TARGETS + 2];
    names[0] = "native";
    int count = 1;
    for (int k = 0; k < TARGETS; k++)
        if (!targets[k].multiplies_bf16) names[count++] = targets[k].name;
    return names;
}
