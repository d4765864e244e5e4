/* The table of all ranks' runs, which is gathered and sent along a binary tree. */
#include "ranks.h"

#include <string.h>

static uint64_t hash_of(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *const byte = (const unsigned char *)bytes;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all bytes are set */
    for (size_t k = 0; k < n; k++) hash = (hash ^ byte[k]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Returns a hash of what must be equal on all ranks. */
static uint64_t problem_hash(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    const int64_t sizes[] = {kernel->dtype, kernel->head_dim, kernel->value_dim, p->batch,        p->heads,
                             p->kv_heads,   p->key_heads,     p->foldable,       (int64_t)p->seed};
    uint64_t hash = hash_of(UINT64_C(0xcbf29ce484222325), sizes, sizeof sizes);
    hash = hash_of(hash, kernel->name, strlen(kernel->name) + 1);
    return hash_of(hash, kernel->version, strlen(kernel->version));
}

/* Returns the end of the ranks below `rank` in a tree of height `step`. */
static int end_of(const struct attn_transport *t, int rank, int step)
{
    return rank + step < t->ranks ? rank + step : t->ranks;
}

int gather_runs(const struct attn_transport *t, const struct attn_kernel *kernel, const struct attn_problem *mine,
                uint64_t wanted, struct run *run)
{
    int step = 1, error = 0;
    memset(run, 0, (size_t)t->ranks * sizeof *run);
    run[t->rank] = (struct run){
        .n_q = mine->n_q, .n_k = mine->n_k, .problem = hash_of(problem_hash(kernel, mine), &wanted, sizeof wanted)};
    for (; step < t->ranks && t->rank % (2 * step) == 0; step *= 2) {
        const int from = t->rank + step, runs = end_of(t, from, step) - from;
        if (runs <= 0) continue;
        error = worse_error(error,
                            message_now(t, message_from(from, TAG_RUNS, run + from, (size_t)runs * sizeof *run)));
    }
    const size_t all = (size_t)t->ranks * sizeof *run;
    if (t->rank > 0) {
        const int parent = t->rank - step;
        const size_t own = (size_t)(end_of(t, t->rank, step) - t->rank) * sizeof *run;
        error = worse_error(error, message_now(t, message_to(parent, TAG_RUNS, run + t->rank, own)));
        error = worse_error(error, message_now(t, message_from(parent, TAG_RUNS, run, all)));
    }
    for (step /= 2; step > 0; step /= 2)
        if (t->rank + step < t->ranks)
            error = worse_error(error, message_now(t, message_to(t->rank + step, TAG_RUNS, run, all)));
    for (int r = 0; r < t->ranks && !error; r++)
        if (run[r].problem != run[0].problem) error = ATTN_EPROBLEM;
    return error;
}
