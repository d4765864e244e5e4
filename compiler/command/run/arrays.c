/* The arrays of attnc run: their shapes and files. */
#include "run.h"
#include "../../support/support.h"

#include <errno.h>
#include <string.h>

void run_failed(struct run *r, enum status status)
{
    if (status > r->status) r->status = status;
}

void run_fail(struct run *r, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    console_error_list(&r->options->console, format, arguments);
    va_end(arguments);
    run_failed(r, status);
}

static const char *dtype_text(enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: return "f32";
    case ATTN_BF16: return "bf16";
    case ATTN_F16: return "f16";
    case ATTN_F64: return "f64";
    case ATTN_I32: return "i32";
    default: return "u8";
    }
    return "";
}

static const char *axis_text(int64_t axis)
{
    switch ((enum attn_axis)axis) {
#define ARRAY_SIZE(name, word, letter) \
    case ATTN_##name: return letter;
#include "../../analysis/array_sizes.def"
#undef ARRAY_SIZE
    }
    return "?";
}

void run_shape_of(const struct kernel_array *a, int64_t *shape)
{
    static const int64_t axis[ARRAY_SIZES] = {
#define ARRAY_SIZE(name, word, letter) [ARRAY_SIZE_##name] = ATTN_##name,
#include "../../analysis/array_sizes.def"
#undef ARRAY_SIZE
    };
    for (int k = 0; k < a->rank; k++) {
        shape[k] = a->axis[k].constant ? a->axis[k].extent : axis[a->axis[k].size];
        if (a->axis[k].block) shape[k] = ATTN_BLOCKS(shape[k], a->axis[k].block);
    }
}

void run_shape(const struct run *r, const struct kernel_array *a, int64_t *shape)
{
    run_shape_of(a, shape);
    if (a->shared && r->problem.key_heads) shape[1] = r->problem.key_heads;
}

struct attn_array *run_array(const struct run *r, const char *name)
{
    return &r->array[kernel_array_find(r->arrays, name)];
}

const struct kernel_array *run_argument(const struct run *r, enum quantity quantity)
{
    return &r->arrays->array[kernel_array_of(r->arrays, quantity)];
}

int64_t run_extent(const struct run *r, int64_t extent)
{
    if (extent >= 0) return extent;
    struct attn_param one = {.rank = 1, .shape = {extent}};
    int64_t size;
    attn_param_shape(&one, &r->problem, &size);
    return size < 0 ? extent : size;
}

const char *run_shape_text(const struct run *r, int rank, const int64_t *shape)
{
    struct text text = {0};
    text_add(&text, "[");
    for (int k = 0; k < rank; k++) {
        int64_t extent = run_extent(r, shape[k]);
        if (k) text_add(&text, ", ");
        if (extent < -7)
            text_add(&text, "ceil(%s / %lld)", axis_text(extent % 8), (long long)(-extent / 8));
        else if (extent < 0)
            text_add(&text, "%s", axis_text(extent));
        else
            text_add(&text, "%lld", (long long)extent);
    }
    text_add(&text, "]");
    return text_take(&text, r->arena);
}

const char *run_file(const struct run *r, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    return arena_printf(r->arena, "%s%s%s.npy", folder, length && folder[length - 1] == '/' ? "" : "/", name);
}

bool run_read(struct run *r, const char *name, enum attn_dtype dtype, struct attn_array *array)
{
    char message[256];
    const char *path = run_file(r, r->options->in_dir, name);
    int error = attn_npy_read(path, dtype, array, message, sizeof message);
    if (error == ATTN_EIO && errno == ENOENT) return false;
    if (error == ATTN_EFORMAT)
        complain(r->options, "%s %s", path, message);
    else if (error)
        complain(r->options, "%s: %s", path, message);
    if (error) run_failed(r, error == ATTN_EFORMAT ? STATUS_INPUT : STATUS_MACHINE);
    return true;
}

void run_out_of_memory(struct run *r, const char *what, size_t bytes)
{
    run_fail(r, STATUS_MACHINE, "out of memory: %s needs %zu bytes", what, bytes);
}

bool run_make_array(struct run *r, const struct kernel_array *like, struct attn_array *a)
{
    struct attn_param shape = {.rank = like->rank};
    *a = (struct attn_array){.dtype = kernel_dtype(like->dtype), .rank = like->rank};
    run_shape(r, like, shape.shape);
    attn_param_shape(&shape, &r->problem, a->shape);
    size_t bytes = attn_dtype_size(a->dtype);
    for (int k = 0; k < a->rank; k++) bytes *= (size_t)a->shape[k];
    a->data = attn_alloc(bytes);
    if (!a->data) run_out_of_memory(r, arena_printf(r->arena, "%s.npy", like->name), bytes);
    return a->data != NULL;
}

void run_write(struct run *r, const struct loaded_kernel *loaded, const char *name, struct attn_array *a,
               double seconds)
{
    char message[256];
    const struct options *o = r->options;
    const char *path = run_file(r, o->out_dir, name);
    const int threads = kernel_threads(loaded, r->problem.threads);
    if (attn_npy_write(path, a, message, sizeof message) != 0) {
        run_fail(r, STATUS_MACHINE, "%s: %s", path, message);
    } else if (!o->console.quiet) {
        fprintf(stderr, "%s: %s %s; %.*f %s, %d thread%s\n", path, run_shape_text(r, a->rank, a->shape),
                dtype_text(a->dtype), seconds < 1 ? 3 : 2, seconds < 1 ? 1e3 * seconds : seconds,
                seconds < 1 ? "ms" : "s", threads, threads == 1 ? "" : "s");
    }
}

bool run_is_output(const struct kernel_array *a)
{
    const enum array_access access = a->access[ENTRY_FORWARD];
    return (a->place == PLACE_ARGUMENT || a->place == PLACE_PROBLEM) &&
           (access == ACCESS_WRITTEN || access == ACCESS_WANTED);
}
