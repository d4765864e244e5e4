/* The table of all ranks' runs, which is gathered and sent along a binary tree. */
#include "ranks.h"

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

int gather(const struct attn_transport *t, int tag, void *all, size_t bytes)
{
    unsigned char *const element = (unsigned char *)all;
    const size_t of_all = (size_t)t->ranks * bytes;
    int step = 1, error = 0;
    for (; step < t->ranks && t->rank % (2 * step) == 0; step *= 2) {
        const int from = t->rank + step, count = end_of(t, from, step) - from;
        if (count <= 0) continue;
        unsigned char *const to = element + (size_t)from * bytes;
        error = worse_error(error, message_now(t, message_from(from, tag, to, (size_t)count * bytes)));
    }
    if (t->rank > 0) {
        const int parent = t->rank - step;
        const size_t own = (size_t)(end_of(t, t->rank, step) - t->rank) * bytes;
        error = worse_error(error, message_now(t, message_to(parent, tag, element + (size_t)t->rank * bytes, own)));
        error = worse_error(error, message_now(t, message_from(parent, tag, all, of_all)));
    }
    for (step /= 2; step > 0; step /= 2)
        if (t->rank + step < t->ranks)
            error = worse_error(error, message_now(t, message_to(t->rank + step, tag, all, of_all)));
    return error;
}

int gather_runs(const struct attn_transport *t, const struct attn_kernel *kernel, const struct attn_problem *mine,
                uint64_t wanted, struct run *run)
{
    memset(run, 0, (size_t)t->ranks * sizeof *run);
    run[t->rank] = (struct run){
        .n_q = mine->n_q, .n_k = mine->n_k, .problem = hash_of(problem_hash(kernel, mine), &wanted, sizeof wanted)};
    int error = gather(t, TAG_RUNS, run, sizeof *run);
    for (int r = 0; r < t->ranks && !error; r++)
        if (run[r].problem != run[0].problem) error = ATTN_EPROBLEM;
    return error;
}
