/* Runs attn_ranks_forward under mpirun: program KERNEL.so NAME FOLDER N0,N1,…
   Rank r has Nr tokens of the arrays q, k and v in FOLDER/{q,k,v}.npy, in place. Rank 0 writes FOLDER/out.npy. */
#include <attnrt_mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "program: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static struct attn_array array_of(const char *folder, const char *name)
{
    struct attn_array array;
    char path[4096], why[256] = "";
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (attn_npy_read(path, ATTN_F32, &array, why, sizeof why)) stop(path, why);
    return array;
}

static struct attn_strides strides_of(const struct attn_array *a)
{
    return (struct attn_strides){a->shape[1] * a->shape[2] * a->shape[3], a->shape[2] * a->shape[3], a->shape[3]};
}

static float *row_of(const struct attn_array *a, int64_t row)
{
    return (float *)a->data + row * a->shape[3];
}

/* Sends the rows of out of all ranks to rank 0. Every rank has the whole array; the rows of others are 0. */
static void write_out(const char *folder, struct attn_array *out, int rank)
{
    char path[4096], why[256] = "";
    const int64_t count = out->shape[0] * out->shape[1] * out->shape[2] * out->shape[3];
    float *const sum = calloc((size_t)count + 1, sizeof *sum);
    if (!sum) stop("out", "out of memory");
    MPI_Reduce(out->data, sum, (int)count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        struct attn_array all = *out;
        all.data = sum;
        snprintf(path, sizeof path, "%s/out.npy", folder);
        if (attn_npy_write(path, &all, why, sizeof why)) stop(path, why);
    }
    free(sum);
}

int main(int argc, char **argv)
{
    struct attn_transport t;
    MPI_Init(&argc, &argv);
    if (argc != 5) stop("usage", "KERNEL.so NAME FOLDER N0,N1,…");
    void *const library = dlopen(argv[1], RTLD_NOW);
    if (!library) stop(argv[1], dlerror());
    const struct attn_kernel *const kernel = dlsym(library, argv[2]);
    if (!kernel) stop(argv[2], dlerror());
    if (attn_mpi_transport(MPI_COMM_WORLD, &t)) stop("MPI", "attn_mpi_transport failed");
    int64_t first = 0, n = 0;
    const char *list = argv[4];
    for (int r = 0; r <= t.rank; r++) {
        first += n;
        n = strtoll(list, NULL, 10);
        list = strchr(list, ',') ? strchr(list, ',') + 1 : "";
    }
    const struct attn_array q = array_of(argv[3], "q"), k = array_of(argv[3], "k"), v = array_of(argv[3], "v");
    struct attn_array out = q;
    out.shape[3] = v.shape[3];
    out.data = calloc((size_t)(out.shape[0] * out.shape[1] * out.shape[2] * out.shape[3]) + 1, sizeof(float));
    struct attn_problem p = {.batch = q.shape[0],
                             .heads = q.shape[1],
                             .kv_heads = k.shape[1],
                             .n_q = n,
                             .n_k = n,
                             .q = strides_of(&q),
                             .k = strides_of(&k),
                             .v = strides_of(&v),
                             .out = strides_of(&out),
                             .threads = 1};
    p.workspace_bytes = attn_ranks_workspace(&t, kernel, &p);
    void *const workspace = attn_alloc(p.workspace_bytes);
    const int error = attn_ranks_forward(&t, kernel, &p, NULL, row_of(&q, first), row_of(&k, first), row_of(&v, first),
                                         row_of(&out, first), workspace);
    if (error) stop("attn_ranks_forward", attn_strerror(error));
    write_out(argv[3], &out, t.rank);
    attn_free(workspace);
    attn_mpi_transport_end(&t);
    return MPI_Finalize();
}
