/* Memory and threads of a backend, and the tables of kernels. */
#include "backend.h"

#ifndef _WIN32
#include <dlfcn.h>
#include <link.h>
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- memory ---- */

bool reserve(struct context *context, size_t bytes)
{
    context->used = 0;
    if (bytes <= context->bytes) return true;
    attn_free(context->memory);
    context->memory = attn_alloc(bytes);
    context->bytes = context->memory ? bytes : 0;
    return context->memory;
}

void *take(struct context *context, size_t bytes)
{
    GGML_ASSERT(rounded(bytes) <= context->bytes - context->used);
    void *const part = (char *)context->memory + context->used;
    context->used += rounded(bytes);
    return part;
}

/* ---- threads ---- */

struct loop {
    void (*work)(void *argument, int64_t n);
    void *argument;
    int64_t count, step;
    _Atomic int64_t next;
};

static void run_loop(void *argument)
{
    struct loop *const l = argument;
    for (int64_t from; (from = atomic_fetch_add(&l->next, l->step)) < l->count;)
        for (int64_t n = from; n < from + l->step && n < l->count; n++) l->work(l->argument, n);
}

void for_each(struct context *context, void (*work)(void *argument, int64_t n), void *argument, int64_t count)
{
    struct loop loop = {.work = work, .argument = argument, .count = count, .step = count / 64 + 1};
    if (context->team && context->threads > 1 && count > 1)
        context->team->run(run_loop, &loop, (unsigned)context->threads, 0);
    else
        run_loop(&loop);
}

#ifdef _WIN32 /* the library has gcc's OpenMP in it */
void GOMP_parallel(void (*work)(void *), void *argument, unsigned threads, unsigned flags);
void GOMP_barrier(void);

const struct attn_team *find_team(void)
{
    static const struct attn_team team = {.run = GOMP_parallel, .barrier = GOMP_barrier};
    return &team;
}
#else
/* Looks for an OpenMP library among those that are loaded. */
static int find_openmp(struct dl_phdr_info *info, size_t size, void *handle)
{
    (void)size;
    const char *const slash = strrchr(info->dlpi_name, '/'), *const name = slash ? slash + 1 : info->dlpi_name;
    if (strncmp(name, "libgomp", 7) != 0 && strncmp(name, "libomp", 6) != 0 && strncmp(name, "libiomp", 7) != 0)
        return 0;
    return (*(void **)handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD)) ? 1 : 0;
}

const struct attn_team *find_team(void)
{
    static struct attn_team team;
    void *openmp = NULL;
    if (!dl_iterate_phdr(find_openmp, &openmp)) openmp = dlopen("libgomp.so.1", RTLD_LAZY);
    if (!openmp) return NULL;
    void *const run = dlsym(openmp, "GOMP_parallel"), *const barrier = dlsym(openmp, "GOMP_barrier");
    memcpy(&team.run, &run, sizeof run);
    memcpy(&team.barrier, &barrier, sizeof barrier);
    return run && barrier ? &team : NULL;
}
#endif

enum ggml_status failed(const struct ggml_tensor *op, int error)
{
    fprintf(stderr, "ggml-attnc: %s: %s\n", op->name, attn_strerror(error));
    return error == ATTN_EMEMORY ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
}

/* ---- kernels ---- */

#define KERNEL(name) extern const struct attn_kernel name##_kernel;
#include "kernels.inc"
#undef KERNEL

static const struct attn_kernel *const kernels[] = {
#define KERNEL(name) &name##_kernel,
#include "kernels.inc"
#undef KERNEL
};

/* The types of keys and values. */
static const struct {
    enum ggml_type type;
    enum attn_dtype dtype;
} types[] = {{GGML_TYPE_F32, ATTN_F32},
             {GGML_TYPE_F16, ATTN_F16},
             {GGML_TYPE_BF16, ATTN_BF16},
             {GGML_TYPE_Q8_0, ATTN_Q8_0},
             {GGML_TYPE_Q4_0, ATTN_Q4_0}};

static bool has_type(enum ggml_type type, enum attn_dtype dtype)
{
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (types[n].type == type) return types[n].dtype == dtype;
    return false;
}

static const struct attn_param *find_param(const struct attn_kernel *kernel, const char *name)
{
    for (int n = 0; n < kernel->params; n++)
        if (strcmp(kernel->param[n].name, name) == 0) return &kernel->param[n];
    return NULL;
}

const struct attn_kernel *find_kernel(enum ggml_type type, int64_t head_dim, int64_t value_dim, bool values_are_keys,
                                      const char *with, const char *without)
{
    for (size_t n = 0; n < sizeof kernels / sizeof *kernels; n++) {
        const struct attn_kernel *const k = kernels[n];
        if (has_type(type, k->key_dtype) && k->head_dim == head_dim && k->value_dim == value_dim &&
            k->values_are_keys == values_are_keys && find_param(k, with) && !find_param(k, without))
            return k;
    }
    return NULL;
}

void set_param(const struct attn_kernel *kernel, void *params, const char *name, const void *value)
{
    const struct attn_param *const p = find_param(kernel, name);
    if (p) memcpy((char *)params + p->offset, &value, sizeof value);
}

void set_array(const struct attn_kernel *kernel, void *params, void *strides, const char *name, const void *value,
               const int64_t *stride)
{
    const struct attn_param *const p = find_param(kernel, name);
    if (!p) return;
    set_param(kernel, params, name, value);
    memcpy((char *)strides + p->strides, stride, (size_t)p->rank * sizeof *stride);
}

/* ---- tensors ---- */

/* Returns the bytes that strides count. */
static size_t unit_of(const struct ggml_tensor *tensor)
{
    return ggml_blck_size(tensor->type) > 1 ? 1 : ggml_type_size(tensor->type);
}

bool has_rows(const struct ggml_tensor *tensor)
{
    const size_t unit = unit_of(tensor);
    return tensor->nb[0] == ggml_type_size(tensor->type) && tensor->nb[1] % unit == 0 && tensor->nb[2] % unit == 0 &&
           tensor->nb[3] % unit == 0;
}

struct attn_strides strides_of(const struct ggml_tensor *tensor, int row, int head)
{
    const size_t unit = unit_of(tensor);
    return (struct attn_strides){.batch = (int64_t)(tensor->nb[3] / unit),
                                 .head = (int64_t)(tensor->nb[head] / unit),
                                 .row = (int64_t)(tensor->nb[row] / unit)};
}
