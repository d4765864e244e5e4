/* One long sequence over the ranks of MPI: mpirun -n 4 ./long [TOKENS] [HEADS]
   Each rank makes its own run of tokens from their positions, and computes polynomial attention and gated DeltaNet.
   Rank 0 prints the time of each rank, the part of it that it waited for messages, and a sum over the bits of all
   results, which does not depend on the number of ranks. It draws the times in ranks.svg. */
#include <attnrt_mpi.h>

#include "gated_delta.h"
#include "polysketch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 32, KERNELS = 2 };

/* The transport of MPI, with the time in its functions and the bytes that it sends. */
struct meter {
    struct attn_transport mpi;
    double seconds, bytes;
};
/* The figures of a rank for a kernel. They are all doubles, so that MPI can gather them. */
struct report {
    double tokens, seconds, waited, sent, bits;
};

static int metered_send(void *user, const void *data, size_t bytes, int to, int tag, int64_t *request)
{
    struct meter *m = user;
    const double begin = MPI_Wtime();
    const int error = m->mpi.send(m->mpi.user, data, bytes, to, tag, request);
    m->seconds += MPI_Wtime() - begin;
    m->bytes += (double)bytes;
    return error;
}

static int metered_receive(void *user, void *data, size_t bytes, int from, int tag, int64_t *request)
{
    struct meter *m = user;
    const double begin = MPI_Wtime();
    const int error = m->mpi.receive(m->mpi.user, data, bytes, from, tag, request);
    m->seconds += MPI_Wtime() - begin;
    return error;
}

static int metered_wait(void *user, int64_t *request)
{
    struct meter *m = user;
    const double begin = MPI_Wtime();
    const int error = m->mpi.wait(m->mpi.user, request);
    m->seconds += MPI_Wtime() - begin;
    return error;
}

static int metered_sum(void *user, void *data, int64_t count, enum attn_dtype dtype)
{
    struct meter *m = user;
    return m->mpi.sum(m->mpi.user, data, count, dtype);
}

static void stop(const char *what, int error)
{
    fprintf(stderr, "long: %s: %s\n", what, attn_strerror(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Returns a number from -1 to 1 that depends on the position alone (the finalizer of SplitMix64). */
static float element(uint64_t n)
{
    n = (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
    n = (n ^ n >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    n = (n ^ n >> 27) * UINT64_C(0x94D049BB133111EB);
    return (float)(int32_t)(n >> 32) * 0x1p-31f;
}

/* Makes [heads, tokens, D] for the positions from `first` on. */
static float *array_of(int64_t heads, int64_t tokens, int64_t first, uint64_t which)
{
    float *const x = attn_alloc((size_t)(heads * tokens * D) * sizeof *x);
    if (!x) stop("arrays", ATTN_EMEMORY);
    for (int64_t h = 0; h < heads; h++)
        for (int64_t t = 0; t < tokens; t++)
            for (int64_t d = 0; d < D; d++)
                x[(h * tokens + t) * D + d] = element(((uint64_t)(first + t) * 64 + (uint64_t)h) * 256 +
                                                      (uint64_t)d * 4 + which);
    return x;
}

/* Adds the bits of all elements. A sum of integers does not depend on its order. */
static double bits_of(const float *x, int64_t count)
{
    uint64_t sum = 0;
    for (int64_t n = 0; n < count; n++) {
        uint32_t bits;
        memcpy(&bits, x + n, sizeof bits);
        sum += bits;
    }
    return (double)(sum % (UINT64_C(1) << 32));
}

static struct report run(const struct attn_kernel *kernel, const void *params, struct meter *m, int64_t heads,
                         int64_t tokens, int64_t first)
{
    const struct attn_transport t = {.user = m,
                                     .rank = m->mpi.rank,
                                     .ranks = m->mpi.ranks,
                                     .send = metered_send,
                                     .receive = metered_receive,
                                     .wait = metered_wait,
                                     .sum = m->mpi.sum ? metered_sum : NULL};
    struct attn_problem p = {.batch = 1, .heads = heads, .kv_heads = heads, .n_q = tokens, .n_k = tokens};
    float *const q = array_of(heads, tokens, first, 0), *const k = array_of(heads, tokens, first, 1),
                 *const v = array_of(heads, tokens, first, 2);
    float *const out = attn_alloc((size_t)(heads * tokens * D) * sizeof *out);
    p.workspace_bytes = attn_ranks_workspace(&t, kernel, &p);
    void *const workspace = attn_alloc(p.workspace_bytes);
    if (!out || !workspace) stop(kernel->name, ATTN_EMEMORY);
    MPI_Barrier(MPI_COMM_WORLD);
    m->seconds = m->bytes = 0;
    const double begin = MPI_Wtime();
    const int error = attn_ranks_forward(&t, kernel, &p, params, q, k, v, out, workspace);
    const double seconds = MPI_Wtime() - begin;
    if (error) stop(kernel->name, error);
    const struct report said = {(double)tokens, seconds, m->seconds, m->bytes, bits_of(out, heads * tokens * D)};
    attn_free(q);
    attn_free(k);
    attn_free(v);
    attn_free(out);
    attn_free(workspace);
    return said;
}

static void print(const char *name, const struct report *rank, int ranks)
{
    double bits = 0;
    printf("%s\n  %4s  %10s  %10s  %10s  %12s\n", name, "rank", "tokens", "seconds", "waited", "bytes sent");
    for (int r = 0; r < ranks; r++) {
        printf("  %4d  %10.0f  %10.3f  %9.1f%%  %12.0f\n", r, rank[r].tokens, rank[r].seconds,
               100 * rank[r].waited / rank[r].seconds, rank[r].sent);
        bits += rank[r].bits;
    }
    printf("  the sum of the result's bits: %08llx\n", (unsigned long long)bits & 0xffffffffULL);
}

/* Draws a bar for each rank and kernel: the time of its work, then the time that it waited. */
static void draw(const char *path, const char *const *name, struct report *const *rank, int ranks)
{
    FILE *const f = fopen(path, "w");
    const int bar = 14, left = 70, width = 560, height = 40 + KERNELS * (ranks * (bar + 4) + 34);
    int y = 20;
    if (!f) {
        perror(path);
        return;
    }
    fprintf(f,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12'>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            left + width + 80, height);
    for (int n = 0; n < KERNELS; n++) {
        double longest = 0;
        for (int r = 0; r < ranks; r++) longest = rank[n][r].seconds > longest ? rank[n][r].seconds : longest;
        fprintf(f, "<text x='10' y='%d' font-weight='bold'>%s: work, and waiting for messages</text>\n", y, name[n]);
        y += 10;
        for (int r = 0; r < ranks; r++, y += bar + 4) {
            const double unit = width / longest, waits = rank[n][r].waited * unit, all = rank[n][r].seconds * unit;
            fprintf(
                f,
                "<text x='10' y='%d'>rank %d</text><rect x='%d' y='%d' width='%.1f' height='%d' fill='#2a6fbb'/>"
                "<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='#e0a030'/><text x='%.1f' y='%d'>%.2f s</text>\n",
                y + bar - 3, r, left, y, all - waits, bar, left + all - waits, y, waits, bar, left + all + 6,
                y + bar - 3, rank[n][r].seconds);
        }
        y += 24;
    }
    fprintf(f, "</svg>\n");
    if (fclose(f) != 0) perror(path);
}

int main(int argc, char **argv)
{
    static const struct attn_kernel *const kernel[KERNELS] = {&polysketch_kernel, &gated_delta_kernel};
    static const char *const name[KERNELS] = {"polynomial attention", "gated DeltaNet"};
    struct report *rank[KERNELS];
    struct meter m = {.seconds = 0};
    MPI_Init(&argc, &argv);
    const long long tokens = argc > 1 ? atoll(argv[1]) : 200000, heads = argc > 2 ? atoll(argv[2]) : 4;
    if (tokens < 1 || heads < 1 || heads > 64 || argc > 3) {
        fprintf(stderr, "usage: mpirun -n RANKS ./long [TOKENS] [HEADS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int error = attn_mpi_transport(MPI_COMM_WORLD, &m.mpi);
    if (error) stop("MPI", error);
    const int64_t ranks = m.mpi.ranks, first = tokens * m.mpi.rank / ranks,
                  mine = tokens * (m.mpi.rank + 1) / ranks - first;
    struct polysketch_params sketches;
    void *const storage = attn_alloc(polysketch_params_size());
    if (!storage) stop("parameters", ATTN_EMEMORY);
    if ((error = polysketch_params_init(&sketches, 1, storage))) stop("parameters", error);
    for (int n = 0; n < KERNELS; n++) {
        const struct report own = run(kernel[n], n == 0 ? &sketches : NULL, &m, heads, mine, first);
        rank[n] = calloc((size_t)ranks, sizeof *rank[n]);
        if (!rank[n]) stop("reports", ATTN_EMEMORY);
        MPI_Gather(&own, 5, MPI_DOUBLE, rank[n], 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (m.mpi.rank == 0) print(name[n], rank[n], (int)ranks);
    }
    if (m.mpi.rank == 0) draw("ranks.svg", name, rank, (int)ranks);
    for (int n = 0; n < KERNELS; n++) free(rank[n]);
    attn_free(storage);
    attn_mpi_transport_end(&m.mpi);
    return MPI_Finalize();
}
