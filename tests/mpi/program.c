/* Runs attn_ranks_forward and attn_ranks_backward under mpirun: program KERNEL.so NAME FOLDER N0,N1,…
   Rank r has Nr tokens of the arrays in FOLDER/{q,k,v,dout}.npy, in place. Rank 0 writes FOLDER/{out,dq,dk,dv}.npy.
   Integers of a mask, such as FOLDER/document.npy, are the kernel's parameters. */
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

/* Returns an array of zeros with `columns` columns. */
static struct attn_array zeros_like(const struct attn_array *like, int64_t columns)
{
    struct attn_array array = *like;
    array.shape[3] = columns;
    array.data = calloc((size_t)(array.shape[0] * array.shape[1] * array.shape[2] * columns) + 1, sizeof(float));
    if (!array.data) stop("arrays", "out of memory");
    return array;
}

/* Sends the rows of all ranks to rank 0. Every rank has the whole array; the rows of others are 0. */
static void write_rows(const char *folder, const char *name, struct attn_array *out, int rank)
{
    char path[4096], why[256] = "";
    const int64_t count = out->shape[0] * out->shape[1] * out->shape[2] * out->shape[3];
    float *const sum = calloc((size_t)count + 1, sizeof *sum);
    if (!sum) stop(name, "out of memory");
    MPI_Reduce(out->data, sum, (int)count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        struct attn_array all = *out;
        all.data = sum;
        snprintf(path, sizeof path, "%s/%s.npy", folder, name);
        if (attn_npy_write(path, &all, why, sizeof why)) stop(path, why);
    }
    free(sum);
}

/* Returns the parameters: integers for the rank's tokens, or lists for its blocks of queries. */
static void *params_of(const struct attn_kernel *kernel, const char *folder, int64_t first, int64_t n)
{
    unsigned char *const params = calloc(kernel->params_bytes + 1, 1);
    if (!params) stop("parameters", "out of memory");
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const p = &kernel->param[k];
        char path[4096], why[256] = "";
        struct attn_array all;
        snprintf(path, sizeof path, "%s/%s.npy", folder, p->name);
        if (attn_npy_read(path, ATTN_I32, &all, why, sizeof why)) stop(path, why);
        int32_t *data = (int32_t *)all.data;
        for (int axis = 0; axis < p->rank; axis++) {
            const int64_t extent = p->shape[axis], block = extent < -8 ? (ATTN_N_Q - extent) / 8 : 1;
            if (extent >= -8 && !(extent == ATTN_N_K && p->rows)) continue;
            const int64_t begin = (first + block - 1) / block, end = (first + n + block - 1) / block;
            int64_t outer = 1, inner = 1;
            for (int a = 0; a < p->rank; a++) *(a < axis ? &outer : &inner) *= a == axis ? 1 : all.shape[a];
            int32_t *const own = calloc((size_t)(outer * (end - begin) * inner) + 1, sizeof *own);
            if (!own) stop(path, "out of memory");
            for (int64_t o = 0; o < outer; o++)
                memcpy(own + o * (end - begin) * inner, data + (o * all.shape[axis] + begin) * inner,
                       (size_t)((end - begin) * inner) * sizeof *own);
            data = own;
            break;
        }
        memcpy(params + p->offset, &data, sizeof data);
    }
    return params;
}

/* Computes the gradients of the rank's tokens, which begin with row `first`. */
static void differentiate(const struct attn_transport *t, const struct attn_kernel *kernel, struct attn_problem p,
                          const struct attn_array *given, const struct attn_array *out, const char *folder,
                          int64_t first, const void *params)
{
    const struct attn_array dout = array_of(folder, "dout");
    struct attn_array made[3];
    const char *const name[3] = {"dq", "dk", "dv"};
    for (int k = 0; k < 3; k++) made[k] = zeros_like(&given[k], given[k].shape[3]);
    p.dout = strides_of(&dout);
    p.dq = strides_of(&made[0]);
    p.dk = strides_of(&made[1]);
    p.dv = strides_of(&made[2]);
    p.workspace_bytes = attn_ranks_backward_workspace(t, kernel, &p);
    void *const workspace = attn_alloc(p.workspace_bytes);
    const int error = attn_ranks_backward(t, kernel, &p, params, row_of(&given[0], first), row_of(&given[1], first),
                                          row_of(&given[2], first), row_of(out, first), row_of(&dout, first),
                                          row_of(&made[0], first), row_of(&made[1], first), row_of(&made[2], first),
                                          NULL, workspace);
    if (error) stop("attn_ranks_backward", attn_strerror(error));
    for (int k = 0; k < 3; k++) write_rows(folder, name[k], &made[k], t->rank);
    attn_free(workspace);
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
    void *const params = params_of(kernel, argv[3], first, n);
    const struct attn_array given[] = {q, k, v};
    struct attn_array out = zeros_like(&q, v.shape[3]);
    const struct attn_array statistics = zeros_like(&q, 1);
    struct attn_problem p = {.batch = q.shape[0],
                             .heads = q.shape[1],
                             .kv_heads = k.shape[1],
                             .n_q = n,
                             .n_k = n,
                             .q = strides_of(&q),
                             .k = strides_of(&k),
                             .v = strides_of(&v),
                             .out = strides_of(&out),
                             .statistics = kernel->statistics ? row_of(&statistics, first) : NULL,
                             .statistics_at = strides_of(&statistics),
                             .all_keys = q.shape[2],
                             .threads = 1};
    p.workspace_bytes = attn_ranks_workspace(&t, kernel, &p);
    void *const workspace = attn_alloc(p.workspace_bytes);
    const int error = attn_ranks_forward(&t, kernel, &p, params, row_of(&q, first), row_of(&k, first),
                                         row_of(&v, first), row_of(&out, first), workspace);
    if (error) stop("attn_ranks_forward", attn_strerror(error));
    write_rows(argv[3], "out", &out, t.rank);
    attn_free(workspace);
    differentiate(&t, kernel, p, given, &out, argv[3], first, params);
    attn_mpi_transport_end(&t);
    return MPI_Finalize();
}
