/* attnc run: compiles a spec's kernel and calls it on arrays from .npy files. */
#include "command_line.h"
#include "../analysis/analysis.h"
#include "../driver/driver.h"
#include "../emit/emit.h"
#include "../host/host.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../../runtime/attnrt.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
    const struct options *options;
    struct arena *arena;
    const struct kernel_arrays *arrays;
    const struct attn_kernel *kernel; /* NULL until the kernel is compiled */
    /* array[k] belongs to entry k of `arrays`. Its data is NULL until the array exists. */
    struct attn_array *array;
    /* `drops` is true if the spec has dropout. `corrects` is true if the spec has the delta rule. `rounds` is true if
       extend rounds prepared keys, which forward prepares after it rounded them. */
    bool drops, corrects, rounds;
    struct attn_problem problem; /* a size of -1 is unknown */
    /* `params` is a struct NAME_params. `generated` stores the generated parameters. */
    void *params, *generated;
    enum status status; /* the worst status so far */
};

static void failed(struct run *r, enum status status)
{
    if (status > r->status) r->status = status;
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
#include "../analysis/array_sizes.def"
#undef ARRAY_SIZE
    }
    return "?";
}

/* Sets shape[k] to the extent of axis k if it is constant, otherwise to its enum attn_axis, such as ATTN_BATCH. */
static void shape_of(const struct kernel_array *a, int64_t *shape)
{
    static const int64_t axis[ARRAY_SIZES] = {
#define ARRAY_SIZE(name, word, letter) [ARRAY_SIZE_##name] = ATTN_##name,
#include "../analysis/array_sizes.def"
#undef ARRAY_SIZE
    };
    for (int k = 0; k < a->rank; k++) {
        shape[k] = a->axis[k].constant ? a->axis[k].extent : axis[a->axis[k].size];
        if (a->axis[k].block) shape[k] = ATTN_BLOCKS(shape[k], a->axis[k].block);
    }
}

/* Like shape_of, for this call: q and k may have fewer heads than v. */
static void shape_now(const struct run *r, const struct kernel_array *a, int64_t *shape)
{
    shape_of(a, shape);
    if (a->shared && r->problem.key_heads) shape[1] = r->problem.key_heads;
}

/* Returns true if the caller provides the array: an argument that no entry point writes. */
static bool is_input(const struct kernel_array *a)
{
    return a->place == PLACE_ARGUMENT && a->access[ENTRY_FORWARD] <= ACCESS_READ &&
           a->access[ENTRY_BACKWARD] == ACCESS_READ;
}

/* Returns true if the array is an argument that backward writes. */
static bool is_wanted_gradient(const struct kernel_array *a)
{
    return a->access[ENTRY_BACKWARD] == ACCESS_WANTED && a->place != PLACE_WITHIN;
}

static struct attn_array *named(const struct run *r, const char *name)
{
    return &r->array[kernel_array_find(r->arrays, name)];
}

/* Sets data[0], data[1], … to the arguments of an entry point. An array that is stored within another array is NULL. */
static void arguments_of(const struct run *r, enum entry entry, void **data)
{
    int count = 0;
    for (int k = 0; k < r->arrays->count; k++)
        if ((r->arrays->array[k].place == PLACE_ARGUMENT || r->arrays->array[k].place == PLACE_WITHIN) &&
            r->arrays->array[k].access[entry] != ACCESS_NONE)
            data[count++] = r->array[k].data;
}

/* Returns the size of an axis. `extent` is the size, or an enum attn_axis such as ATTN_BATCH. If the size is not
   known yet, returns `extent`. */
static int64_t extent_now(const struct run *r, int64_t extent)
{
    if (extent >= 0) return extent;
    struct attn_param one = {.rank = 1, .shape = {extent}};
    int64_t size;
    attn_param_shape(&one, &r->problem, &size);
    return size < 0 ? extent : size;
}

static const char *shape_text(const struct run *r, int rank, const int64_t *shape)
{
    struct text text = {0};
    text_add(&text, "[");
    for (int k = 0; k < rank; k++) {
        int64_t extent = extent_now(r, shape[k]);
        if (k) text_add(&text, ", ");
        if (extent < -7)
            text_add(&text, "ceil(%s / %lld)", axis_text(extent % 8), (long long)(-extent / 8));
        else if (extent < 0)
            text_add(&text, "%s", axis_text(extent));
        else
            text_add(&text, "%lld", (long long)extent);
    }
    text_add(&text, "]");
    const char *copy = arena_copy(r->arena, text.data);
    text_free(&text);
    return copy;
}

static const char *file_path(const struct run *r, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    return arena_printf(r->arena, "%s%s%s.npy", folder, length && folder[length - 1] == '/' ? "" : "/", name);
}

/* Reads an array. If the file does not exist, returns false. Reports other failures. */
static bool read_array(struct run *r, const char *name, enum attn_dtype dtype, struct attn_array *array)
{
    char message[256];
    const char *path = file_path(r, r->options->in_dir, name);
    int error = attn_npy_read(path, dtype, array, message, sizeof message);
    if (error == ATTN_EIO && errno == ENOENT) return false;
    if (error == ATTN_EFORMAT)
        complain(r->options, "%s %s", path, message);
    else if (error)
        complain(r->options, "%s: %s", path, message);
    if (error) failed(r, error == ATTN_EFORMAT ? STATUS_INPUT : STATUS_MACHINE);
    return true;
}

/* ---- reading q, k and v ---- */

/* Returns a text that says where the size of an axis comes from, such as "q.npy has 8 heads". */
static const char *axis_origin(const struct run *r, int64_t axis)
{
    axis %= 8; /* for ATTN_BLOCKS(axis, block), this is the axis */
    const char *file = axis == ATTN_BATCH || axis == ATTN_HEADS || axis == ATTN_N_Q ? "q.npy" : "k.npy";
    switch ((enum attn_axis)axis) {
    case ATTN_BATCH: return arena_printf(r->arena, "the batch of %s is %lld", file, (long long)r->problem.batch);
    case ATTN_HEADS:
    case ATTN_KV_HEADS:
        return arena_printf(r->arena, "%s has %lld heads", r->problem.key_heads ? "v.npy" : file,
                            (long long)(axis == ATTN_HEADS ? r->problem.heads : r->problem.kv_heads));
    case ATTN_N_Q: return arena_printf(r->arena, "%s has %lld queries", file, (long long)r->problem.n_q);
    case ATTN_N_K: return arena_printf(r->arena, "%s has %lld keys", file, (long long)r->problem.n_k);
    }
    return "";
}

/* Compares the shape of an array from a file with the shape of `like`. On failure, prints a message and returns
   false. */
static bool check_shape(struct run *r, const struct kernel_array *like, const struct attn_array *a)
{
    const char *path = file_path(r, r->options->in_dir, like->name), *why = NULL;
    int64_t expected[MAX_RANK];
    shape_now(r, like, expected);
    for (int k = 0; k < like->rank && a->rank == like->rank && !why; k++) {
        int64_t extent = extent_now(r, expected[k]);
        if (extent < 0 || extent == a->shape[k]) continue;
        const char *const key = like->axis[k].key;
        why = expected[k] < 0          ? axis_origin(r, expected[k])
              : like->shared && k == 1 ? "v.npy has more heads than q.npy, so q and k need equally many"
              : key                    ? arena_printf(r->arena, "%s of the spec is %lld", key, (long long)extent)
                                       : "";
    }
    if (a->rank == like->rank && !why) return true;
    if (a->rank != like->rank) why = arena_printf(r->arena, "it should have %d dimensions", like->rank);
    complain(r->options, "%s: shape %s, expected %s%s%s", path, shape_text(r, a->rank, a->shape),
             shape_text(r, like->rank, expected), *why ? ": " : "", why);
    failed(r, STATUS_INPUT);
    return false;
}

static void warn_not_finite(const struct run *r, const char *name, const struct attn_array *a)
{
    int64_t count = 1, bad = 0;
    for (int k = 0; k < a->rank; k++) count *= a->shape[k];
    for (int64_t k = 0; k < count; k++) {
        switch (a->dtype) {
        case ATTN_F32: bad += !isfinite(((const float *)a->data)[k]); break;
        case ATTN_F64: bad += !isfinite(((const double *)a->data)[k]); break;
        case ATTN_BF16: bad += (((const uint16_t *)a->data)[k] & 0x7f80) == 0x7f80; break;
        case ATTN_F16: bad += (((const uint16_t *)a->data)[k] & 0x7c00) == 0x7c00; break;
        default: break;
        }
    }
    if (bad)
        mention(r->options, "warning", "%s: %lld of its values %s not finite", file_path(r, r->options->in_dir, name),
                (long long)bad, bad == 1 ? "is" : "are");
}

/* Sets the sizes of the problem. The first input with an axis gives the size of this axis. check_shape compares the
   other inputs with it. */
static void take_sizes(struct run *r)
{
    int64_t *const size[ARRAY_SIZES] = {[ARRAY_SIZE_BATCH] = &r->problem.batch,
                                        [ARRAY_SIZE_HEADS] = &r->problem.heads,
                                        [ARRAY_SIZE_KV_HEADS] = &r->problem.kv_heads,
                                        [ARRAY_SIZE_N_Q] = &r->problem.n_q,
                                        [ARRAY_SIZE_N_K] = &r->problem.n_k};
    bool known[ARRAY_SIZES] = {false};
    r->problem = (struct attn_problem){.batch = -1,
                                       .heads = -1,
                                       .kv_heads = -1,
                                       .n_q = -1,
                                       .n_k = -1,
                                       .threads = r->options->threads,
                                       .seed = r->options->has_seed ? r->options->seed : 0};
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        if (!is_input(a)) continue;
        for (int x = 0; x < a->rank; x++) {
            if (a->axis[x].constant || known[a->axis[x].size]) continue;
            known[a->axis[x].size] = true;
            if (r->array[k].data && r->array[k].rank == a->rank) *size[a->axis[x].size] = r->array[k].shape[x];
        }
    }
}

/* If v has more heads than q, then q and k have `key_heads` heads. */
static void take_key_heads(struct run *r)
{
    const struct attn_array *const q = named(r, "q"), *const v = named(r, "v");
    if (!r->arrays->array[kernel_array_find(r->arrays, "q")].shared) return;
    if (!q->data || !v->data || q->rank != 4 || v->rank != 4) return;
    if (v->shape[1] <= q->shape[1]) return;
    r->problem.key_heads = q->shape[1];
    r->problem.heads = r->problem.kv_heads = v->shape[1];
}

static void read_inputs(struct run *r, bool gradients)
{
    bool *const missing = arena_alloc(r->arena, (size_t)r->arrays->count * sizeof *missing);
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        if (is_input(a) && (a->access[ENTRY_FORWARD] || gradients))
            missing[k] = !read_array(r, a->name, kernel_dtype(a->appended), &r->array[k]);
    }
    take_sizes(r);
    take_key_heads(r);
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        const struct attn_array *const given = &r->array[k];
        const char *path = file_path(r, r->options->in_dir, a->name);
        int64_t expected[MAX_RANK];
        /* without dout.npy, no gradients are computed */
        if (!is_input(a) || (missing[k] && !a->access[ENTRY_FORWARD])) continue;
        shape_now(r, a, expected);
        if (missing[k]) {
            complain(r->options, "%s: no such file; it should contain %s, shape %s", path, a->name,
                     shape_text(r, a->rank, expected));
            failed(r, STATUS_INPUT);
            continue;
        }
        if (!given->data || !check_shape(r, a, given)) continue;
        bool empty = false;
        for (int x = 0; x < a->rank; x++) empty |= given->shape[x] == 0;
        if (empty) {
            complain(r->options, "%s: shape %s has no elements", path, shape_text(r, a->rank, given->shape));
            failed(r, STATUS_INPUT);
        } else if (!r->options->console.quiet) {
            warn_not_finite(r, a->name, given);
        }
    }
    const struct attn_problem *const p = &r->problem;
    if (p->key_heads > 0 && p->heads % p->key_heads != 0) {
        complain(r->options, "%s: the number of heads, %lld, must be a multiple of the number of heads of q.npy, %lld",
                 file_path(r, r->options->in_dir, "v"), (long long)p->heads, (long long)p->key_heads);
        failed(r, STATUS_INPUT);
    } else if (p->heads > 0 && p->kv_heads > 0 && p->heads % p->kv_heads != 0) {
        complain(r->options, "%s: the number of heads, %lld, must be a multiple of the number of heads of k.npy, %lld",
                 file_path(r, r->options->in_dir, "q"), (long long)p->heads, (long long)p->kv_heads);
        failed(r, STATUS_INPUT);
    } else if (r->corrects && p->heads != p->kv_heads) {
        complain(r->options, "%s: 'delta' needs as many heads of q as of k; q.npy has %lld, k.npy has %lld",
                 file_path(r, r->options->in_dir, "q"), (long long)p->heads, (long long)p->kv_heads);
        failed(r, STATUS_INPUT);
    }
}

/* Reads the positions of the first queries, if the file exists. They may also be given for a spec without positions. */
static void read_query_start(struct run *r)
{
    static const char name[] = "query_start";
    struct attn_array given = {.data = NULL};
    const int64_t shape[] = {ATTN_BATCH};
    if (kernel_array_find(r->arrays, name) >= 0 || !read_array(r, name, ATTN_I32, &given) || !given.data) return;
    const int64_t batch = r->problem.batch;
    if (given.rank != 1 || given.shape[0] != batch) {
        complain(r->options, "%s: shape %s, expected %s: %s", file_path(r, r->options->in_dir, name),
                 shape_text(r, given.rank, given.shape), shape_text(r, 1, shape), axis_origin(r, ATTN_BATCH));
        failed(r, STATUS_INPUT);
    } else {
        int64_t *const start = arena_alloc(r->arena, (size_t)batch * sizeof *start);
        for (int64_t b = 0; b < batch; b++) start[b] = ((const int32_t *)given.data)[b];
        r->problem.query_start = start;
    }
    attn_array_free(&given);
}

/* ---- reading and generating parameters ---- */

static void out_of_memory(struct run *r, const char *what, size_t bytes)
{
    complain(r->options, "out of memory: %s needs %zu bytes", what, bytes);
    failed(r, STATUS_MACHINE);
}

/* Generates random parameters. Parameters from files replace them later. */
static void generate_params(struct run *r, uint64_t seed)
{
    size_t bytes = r->kernel->params_size();
    r->generated = attn_alloc(bytes);
    if (!r->generated) {
        out_of_memory(r, "generating the parameters", bytes);
        return;
    }
    int error = r->kernel->params_init(r->params, seed, r->generated);
    if (error) {
        complain(r->options, "the parameters cannot be generated: %s", attn_strerror(error));
        failed(r, error == ATTN_EMEMORY ? STATUS_MACHINE : STATUS_INPUT);
    }
}

static bool seeded(const struct run *r, const struct similarity *similarity)
{
    return r->options->has_seed || similarity->has_seed;
}

static void read_params(struct run *r, const struct similarity *similarity)
{
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        const bool random = a->origin != ORIGIN_LEARNED;
        int64_t shape[MAX_RANK];
        if (a->place != PLACE_PARAMS) continue;
        shape_of(a, shape);
        if (read_array(r, a->name, kernel_dtype(a->dtype), &r->array[k])) {
            if (r->array[k].data) check_shape(r, a, &r->array[k]);
            continue;
        }
        if (random && seeded(r, similarity)) continue;
        complain(r->options, "%s: no such file; it should contain the parameter %s, shape %s%s%s",
                 file_path(r, r->options->in_dir, a->name), a->name, shape_text(r, a->rank, shape),
                 a->dtype == DTYPE_I32  ? ", integers"
                 : a->dtype == DTYPE_U8 ? ", truth values"
                                        : "",
                 random ? ", which --seed N would generate" : "");
        failed(r, STATUS_INPUT);
    }
}

/* Returns the number of array k in kernel->param, or -1. */
static int param_of(const struct run *r, int k)
{
    int number = 0;
    for (int n = 0; n < k; n++) number += r->arrays->array[n].place == PLACE_PARAMS;
    return r->arrays->array[k].place == PLACE_PARAMS ? number : -1;
}

static void set_pointer(struct run *r, int k, const void *data)
{
    memcpy((char *)r->params + r->kernel->param[param_of(r, k)].offset, &data, sizeof data);
}

/* Fills struct NAME_params. */
static void set_params(struct run *r, const struct similarity *similarity)
{
    const struct attn_kernel *kernel = r->kernel;
    r->params = attn_alloc(kernel->params_bytes);
    if (!r->params) {
        out_of_memory(r, "the table of parameters", kernel->params_bytes);
        return;
    }
    if (kernel->params > 0 && seeded(r, similarity))
        generate_params(r, r->options->has_seed ? r->options->seed : similarity->seed);
    for (int k = 0; k < r->arrays->count; k++)
        if (r->arrays->array[k].place == PLACE_PARAMS && r->array[k].data) set_pointer(r, k, r->array[k].data);
}

/* ---- calls of the kernel ---- */

/* Reports the first id that is smaller than the previous one, and what the user can do. */
static void explain_order(struct run *r)
{
    for (int k = 0; k < r->arrays->count; k++) {
        const struct attn_array *a = &r->array[k];
        if (!r->arrays->array[k].compared) continue;
        const int32_t *id = a->data;
        int64_t at = 1, last = a->shape[0] * a->shape[1] - 1;
        while (at < last && (at % a->shape[1] == 0 || id[at] >= id[at - 1])) at++;
        complain(r->options,
                 "%s: at [%lld, %lld] the id decreases from %d to %d, but the linear form takes ids in ascending order",
                 file_path(r, r->options->in_dir, r->arrays->array[k].name), (long long)(at / a->shape[1]),
                 (long long)(at % a->shape[1]), (int)id[at - 1], (int)id[at]);
        fprintf(stderr, "attnc: note: number the documents in the order of their positions; if an id occurs again "
                        "later, --set algorithm=quadratic allows any order\n");
    }
    failed(r, STATUS_INPUT);
}

/* Allocates an array that the kernel writes. On failure, prints a message and returns false. */
static bool make_array(struct run *r, const struct kernel_array *like, struct attn_array *a)
{
    struct attn_param shape = {.rank = like->rank};
    *a = (struct attn_array){.dtype = kernel_dtype(like->dtype), .rank = like->rank};
    shape_now(r, like, shape.shape);
    attn_param_shape(&shape, &r->problem, a->shape);
    size_t bytes = attn_dtype_size(a->dtype);
    for (int k = 0; k < a->rank; k++) bytes *= (size_t)a->shape[k];
    a->data = attn_alloc(bytes);
    if (!a->data) out_of_memory(r, arena_printf(r->arena, "%s.npy", like->name), bytes);
    return a->data != NULL;
}

static void write_output(struct run *r, const struct loaded_kernel *loaded, const char *name, struct attn_array *a,
                         double seconds)
{
    char message[256];
    const struct options *o = r->options;
    const char *path = file_path(r, o->out_dir, name);
    const int threads = kernel_threads(loaded, r->problem.threads);
    if (attn_npy_write(path, a, message, sizeof message) != 0) {
        complain(o, "%s: %s", path, message);
        failed(r, STATUS_MACHINE);
    } else if (!o->console.quiet) {
        fprintf(stderr, "%s: %s %s; %.*f %s, %d thread%s\n", path, shape_text(r, a->rank, a->shape),
                dtype_text(a->dtype), seconds < 1 ? 3 : 2, seconds < 1 ? 1e3 * seconds : seconds,
                seconds < 1 ? "ms" : "s", threads, threads == 1 ? "" : "s");
    }
}

/* Computes all gradients and writes them to files. */
static void call_backward(struct run *r, const struct loaded_kernel *loaded)
{
    const struct attn_kernel *kernel = r->kernel;
    struct attn_problem *p = &r->problem;
    void **const by_param = arena_alloc(r->arena, ((size_t)r->arrays->count + 1) * sizeof *by_param), *a[8] = {NULL};
    int learned = 0;
    bool room = true;
    for (int k = 0; k < r->arrays->count && room; k++) {
        const struct kernel_array *const like = &r->arrays->array[k];
        if (!is_wanted_gradient(like)) continue;
        room = make_array(r, like, &r->array[k]);
        if (like->place == PLACE_GRADIENTS) by_param[learned++] = r->array[k].data;
    }
    p->workspace_bytes = kernel->backward_workspace(p);
    void *workspace = room ? attn_alloc(p->workspace_bytes) : NULL;
    if (room && !workspace) out_of_memory(r, "the workspace", p->workspace_bytes);
    if (workspace) {
        double start = attn_seconds();
        arguments_of(r, ENTRY_BACKWARD, a);
        int error = kernel->backward(p, r->params, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], by_param, workspace);
        double seconds = attn_seconds() - start;
        if (error) {
            complain(r->options, "%s: %s", kernel->name, attn_strerror(error));
            failed(r, STATUS_INPUT);
        }
        for (int k = 0; k < r->arrays->count && !error; k++)
            if (is_wanted_gradient(&r->arrays->array[k]))
                write_output(r, loaded, r->arrays->array[k].name, &r->array[k], seconds);
    }
    attn_free(workspace);
}

/* ---- decoding in pieces (--chunks) ---- */

static double number_at(const struct attn_array *a, int64_t k)
{
    switch (a->dtype) {
    case ATTN_F32: return (double)((const float *)a->data)[k];
    case ATTN_F64: return ((const double *)a->data)[k];
    case ATTN_BF16: return attn_bf16_value(((const uint16_t *)a->data)[k]);
    case ATTN_F16: return attn_f16_value(((const uint16_t *)a->data)[k]);
    default: return 0;
    }
}

/* Returns the largest finite number of an output, without its sign. */
static double largest(const struct attn_array *a)
{
    int64_t numbers = 1;
    double most = 0;
    for (int k = 0; k < a->rank; k++) numbers *= a->shape[k];
    for (int64_t e = 0; e < numbers; e++)
        if (isfinite(number_at(a, e))) most = fmax(most, fabs(number_at(a, e)));
    return most;
}

/* Returns the largest difference of two outputs, relative to the largest number in its row. NaN equals NaN, and an
   infinity equals itself. A row far below the rounding errors of others has weights whose terms cancel. Its difference
   is relative to these errors. */
static double difference(const struct attn_array *a, const struct attn_array *b)
{
    const double least = largest(b) * (a->dtype == ATTN_F64 ? DBL_EPSILON : FLT_EPSILON);
    int64_t dim = a->shape[a->rank - 1], rows = 1;
    double most = 0;
    for (int k = 0; k + 1 < a->rank; k++) rows *= a->shape[k];
    for (int64_t row = 0; row < rows; row++) {
        double scale = least, off = 0;
        for (int64_t e = row * dim; e < (row + 1) * dim; e++) {
            const double x = number_at(a, e), y = number_at(b, e);
            if (!isfinite(x) || !isfinite(y)) {
                if (x != y && !(isnan(x) && isnan(y))) return INFINITY;
                continue;
            }
            off = fmax(off, fabs(x - y));
            scale = fmax(scale, fabs(y));
        }
        if (off > 0) most = fmax(most, scale > 0 ? off / scale : INFINITY);
    }
    return most;
}

/* Returns the difference that rounding may cause. The results add numbers in different orders, and weights may be
   rounded to 16 bits. */
static double may_differ(enum attn_dtype dtype)
{
    return dtype == ATTN_F64 ? 1e-10 : dtype == ATTN_F32 ? 1e-3 : 0.05;
}

enum { MAX_CHUNKS = 64 };

/* Reads --chunks, the numbers of tokens of successive calls. Returns the number of calls. On failure, prints a
   message and returns 0. */
static int read_chunks(const struct options *o, int64_t *chunk)
{
    int count = 0;
    for (const char *at = o->chunks; count < MAX_CHUNKS;) {
        at = count_read(at, &chunk[count]);
        if (!at || (*at && *at != ',')) break;
        count++;
        if (!*at) return count;
        at++;
    }
    complain(o, "--chunks takes up to %d whole numbers from 1 up, as in 1,7,64, not '%s'", (int)MAX_CHUNKS, o->chunks);
    return 0;
}

static bool is_axis_of_tokens(const struct array_axis *axis)
{
    return !axis->constant && (axis->size == ARRAY_SIZE_N_K || axis->size == ARRAY_SIZE_N_Q);
}

/* Copies n rows of each parameter that has a row per token, beginning at row `from`, for the next call of extend.
   Sets piece[k] to the copy of array k, and frees the previous copy. Returns false if memory runs out. */
static bool take_rows(struct run *r, int64_t from, int64_t n, void **piece)
{
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const like = &r->arrays->array[k];
        const struct attn_array *const a = &r->array[k];
        if (like->place != PLACE_PARAMS || !array_grows(like)) continue;
        const size_t row = (size_t)array_row_elements(like) * attn_dtype_size(a->dtype);
        int64_t sequences = 1;
        for (int axis = 0; !is_axis_of_tokens(&like->axis[axis]); axis++) sequences *= a->shape[axis];
        attn_free(piece[k]);
        piece[k] = attn_alloc((size_t)(sequences * n) * row);
        if (!piece[k]) return false;
        for (int64_t x = 0; x < sequences; x++)
            memcpy((char *)piece[k] + (size_t)(x * n) * row,
                   (const char *)a->data + (size_t)(x * r->problem.n_k + from) * row, (size_t)n * row);
        set_pointer(r, k, piece[k]);
    }
    return true;
}

/* Returns the address of an element of the array with this name. Returns NULL if the array is stored within another
   array. */
static void *element_of(const struct run *r, const char *name, int64_t element)
{
    char *const data = named(r, name)->data;
    return data ? data + (size_t)element * attn_dtype_size(r->kernel->dtype) : NULL;
}

/* Appends all tokens to the state with extend, which writes to `out` and `statistics`. Returns the number of calls.
   On failure, prints a message and returns 0. */
static int64_t extend_all(struct run *r, const struct attn_array *out, const struct attn_array *statistics, void *state,
                          size_t bytes)
{
    const struct attn_kernel *const kernel = r->kernel;
    const size_t size = attn_dtype_size(kernel->dtype);
    struct attn_problem p;
    int64_t chunk[MAX_CHUNKS], calls = 0, done = 0;
    void **const piece = arena_alloc(r->arena, (size_t)r->arrays->count * sizeof *piece);
    const int count = read_chunks(r->options, chunk);
    if (!count || attn_problem_check(&r->problem, kernel->head_dim, kernel->value_dim, &p) != 0) return 0;
    p.capacity = p.n_k;
    p.state_bytes = bytes;
    p.workspace_bytes = kernel->extend_workspace(&p);
    void *const workspace = attn_alloc(p.workspace_bytes);
    if (!workspace) out_of_memory(r, "the workspace", p.workspace_bytes);
    int error = workspace ? kernel->state_init(&p, state) : ATTN_EMEMORY;
    for (; done < p.n_k && !error; done += p.n_q) {
        p.n_q = chunk[calls++ % count];
        if (p.n_q > p.n_k - done) p.n_q = p.n_k - done;
        if (!take_rows(r, done, p.n_q, piece)) {
            out_of_memory(r, "the tokens of a call", (size_t)p.n_q);
            error = ATTN_EMEMORY;
            break;
        }
        if (statistics->data)
            p.statistics = (char *)statistics->data +
                           (size_t)(done * p.statistics_at.row) * attn_dtype_size(statistics->dtype);
        error = kernel->extend(&p, r->params, element_of(r, "q", done * p.q.row), element_of(r, "k", done * p.k.row),
                               element_of(r, "v", done * p.v.row),
                               (char *)out->data + (size_t)(done * p.out.row) * size, state, workspace);
    }
    for (int k = 0; k < r->arrays->count; k++) attn_free(piece[k]);
    attn_free(workspace);
    if (error && error != ATTN_EMEMORY) {
        complain(r->options, "%s: %s", kernel->name, attn_strerror(error));
        failed(r, STATUS_INPUT);
    }
    return error ? 0 : calls;
}

/* Returns a phrase that says from which length on the state is smaller than the keys and values. Returns "" if there
   is no such length. */
static const char *smaller_from(const struct run *r, size_t bytes)
{
    struct attn_problem more = r->problem;
    more.capacity *= 2;
    if (r->kernel->state(&more) != bytes) return "";
    const int64_t value = r->kernel->values_are_keys ? 0 : r->kernel->value_dim,
                  token = more.batch * more.kv_heads * (r->kernel->head_dim + value) *
                          (int64_t)attn_dtype_size(r->kernel->dtype);
    return arena_printf(r->arena, " (smaller than keys and values from %lld tokens on)", (long long)bytes / token + 1);
}

/* Returns the array of statistics, or NULL. */
static const struct kernel_array *statistics_of(const struct run *r)
{
    const int k = kernel_array_find(r->arrays, "statistics");
    return k < 0 || r->arrays->array[k].place != PLACE_PROBLEM ? NULL : &r->arrays->array[k];
}

/* Computes the outputs with extend, for --chunks. Compares them with the outputs of forward, and then replaces those
   outputs. */
static void call_chunks(struct run *r, struct attn_array *out)
{
    const struct attn_kernel *const kernel = r->kernel;
    if (r->problem.query_start) {
        complain(r->options, "--chunks and query_start.npy exclude each other, because a state knows its positions");
        failed(r, STATUS_INPUT);
        return;
    }
    if (r->problem.n_q != r->problem.n_k) {
        complain(r->options, "--chunks needs as many queries as keys, not %lld queries and %lld keys",
                 (long long)r->problem.n_q, (long long)r->problem.n_k);
        failed(r, STATUS_INPUT);
        return;
    }
    r->problem.capacity = r->problem.n_k;
    const size_t bytes = kernel->state(&r->problem);
    void *const state = attn_alloc(bytes);
    struct attn_array grown,
        statistics = {.data = NULL}, *const given = statistics_of(r) ? named(r, "statistics") : NULL;
    const bool room = make_array(r, &r->arrays->array[kernel_array_find(r->arrays, "out")], &grown) &&
                      (!given || make_array(r, statistics_of(r), &statistics));
    if (!state) out_of_memory(r, "the state", bytes);
    const int64_t calls = state && room ? extend_all(r, &grown, &statistics, state, bytes) : 0;
    attn_free(state);
    if (calls) {
        char text[32];
        const double of_out = difference(&grown, out), of_given = given ? difference(&statistics, given) : 0,
                     off = fmax(of_out, of_given);
        if (r->drops)
            mention(r->options, "", "%lld calls of extend, a state of %s%s; extend drops nothing, so forward differs",
                    (long long)calls, table_bytes((double)bytes, text, sizeof text), smaller_from(r, bytes));
        else
            mention(r->options, "",
                    "%lld calls of extend, a state of %s%s; the largest difference from forward is %.2g of a row",
                    (long long)calls, table_bytes((double)bytes, text, sizeof text), smaller_from(r, bytes), off);
        if (!r->drops && !r->rounds && !(off <= may_differ(kernel->dtype))) {
            complain(r->options, "%s: extend and forward differ", kernel->name);
            failed(r, STATUS_INPUT);
        }
    }
    attn_free(out->data);
    *out = grown;
    if (!given) return;
    attn_free(given->data);
    *given = statistics;
}

/* Replaces the arguments that forward takes in another type than the file has. On failure, prints a message and
   returns false. */
static bool round_arguments(struct run *r, void **argument, void **made)
{
    int number = 0;
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        if ((a->place != PLACE_ARGUMENT && a->place != PLACE_WITHIN) || a->access[ENTRY_FORWARD] == ACCESS_NONE)
            continue;
        if (a->place == PLACE_ARGUMENT && a->dtype != a->appended) {
            const struct attn_array *const given = &r->array[k];
            const int64_t rows = given->shape[0] * given->shape[1] * given->shape[2], elements = given->shape[3];
            made[number] = argument[number] = kernel_rows(kernel_dtype(a->dtype), given->data, rows, elements);
            if (!argument[number]) {
                out_of_memory(r, arena_printf(r->arena, "rounding %s", a->name),
                              (size_t)(rows * dtype_row_bytes(a->dtype, elements)));
                return false;
            }
        }
        number++;
    }
    return true;
}

static void call_kernel(struct run *r, const struct loaded_kernel *loaded)
{
    const struct options *o = r->options;
    const struct attn_kernel *kernel = r->kernel;
    struct attn_problem filled, *p = &r->problem;
    int error = attn_problem_check(p, kernel->head_dim, kernel->value_dim, &filled);
    if (error) {
        complain(o, "%s: %s", kernel->name, attn_strerror(error));
        failed(r, STATUS_INPUT);
        return;
    }
    struct stat info;
    bool there = stat(o->out_dir, &info) == 0;
    if (make_folders(o->out_dir, 0777) != 0) {
        complain(o, "%s: %s", o->out_dir, strerror(errno));
        failed(r, STATUS_MACHINE);
        return;
    }
    struct attn_array *const out = named(r, "out");
    bool room = make_array(r, &r->arrays->array[kernel_array_find(r->arrays, "out")], out);
    const struct kernel_array *const statistics = statistics_of(r);
    if (statistics) {
        room &= make_array(r, statistics, named(r, statistics->name));
        p->statistics = named(r, statistics->name)->data;
    }
    const bool gradients = named(r, "dout")->data != NULL && !o->chunks;
    p->workspace_bytes = kernel->workspace(p);
    void *workspace = attn_alloc(p->workspace_bytes);
    if (!workspace) out_of_memory(r, "the workspace", p->workspace_bytes);
    if (gradients) {
        p->saved_bytes = kernel->saved(p);
        p->saved = attn_alloc(p->saved_bytes);
        if (!p->saved) out_of_memory(r, "the storage for values saved for the gradients", p->saved_bytes);
        room &= p->saved != NULL;
    }
    if (workspace && room) {
        void *a[4] = {NULL}, *rounded[4] = {NULL};
        arguments_of(r, ENTRY_FORWARD, a);
        const bool ready = round_arguments(r, a, rounded);
        double start = attn_seconds();
        error = ready ? kernel->forward(p, r->params, a[0], a[1], a[2], a[3], workspace) : ATTN_EMEMORY;
        double seconds = attn_seconds() - start;
        for (int k = 0; k < 4; k++) attn_free(rounded[k]);
        if (error == ATTN_EORDER) {
            explain_order(r);
            if (!there) (void)rmdir(o->out_dir);
        } else if (error) {
            complain(o, "%s: %s", kernel->name, attn_strerror(error));
            failed(r, STATUS_INPUT);
        } else {
            if (o->chunks) call_chunks(r, out);
            if (r->status == STATUS_DONE) write_output(r, loaded, "out", out, seconds);
            if (statistics && r->status == STATUS_DONE)
                write_output(r, loaded, statistics->name, named(r, statistics->name), seconds);
        }
        if (!error && gradients && r->status == STATUS_DONE) call_backward(r, loaded);
    }
    attn_free(p->saved);
    attn_free(workspace);
}

static enum status run_unit(const struct options *o, struct unit *unit)
{
    struct loaded_kernel loaded = {0};
    struct run run = {.options = o,
                      .arena = unit->arena,
                      .arrays = unit->arrays,
                      .drops = unit->spec->dropout > 0,
                      .rounds = unit->spec->k_storage && unit->prepares > 0,
                      .corrects = unit->spec->rate != NULL},
               *r = &run;
    r->array = arena_alloc(r->arena, sizeof *r->array * (size_t)unit->arrays->count);
    /* Inputs are read before compiling, so that wrong arrays are reported early. */
    read_inputs(r, unit->spec->emit & EMIT_BACKWARD);
    if (r->status == STATUS_DONE) read_query_start(r);
    read_params(r, &unit->spec->similarity);
    if (r->status == STATUS_DONE)
        r->status = kernel_load(unit->spec->name, unit_source_here(unit, o), unit->header.data, o->console.quiet,
                                &loaded);
    if (r->status == STATUS_DONE) {
        r->kernel = loaded.kernel;
        set_params(r, &unit->spec->similarity);
    }
    if (r->status == STATUS_DONE) call_kernel(r, &loaded);
    for (int k = 0; k < r->arrays->count; k++) attn_array_free(&r->array[k]);
    attn_free(r->params);
    attn_free(r->generated);
    if (loaded.kernel) kernel_unload(&loaded);
    return r->status;
}

int command_run(const struct options *o)
{
    if (o->files != 1 || !o->in_dir || !o->out_dir) {
        complain(o, "run takes %s",
                 o->files != 1 ? "one spec: attnc run SPEC.yaml --in DIR --out DIR"
                 : !o->in_dir  ? "the folder of the arrays: --in DIR"
                               : "a folder for out.npy: --out DIR");
        return STATUS_USAGE;
    }
    int64_t chunk[MAX_CHUNKS];
    if (o->chunks && !read_chunks(o, chunk)) return STATUS_USAGE;
    enum status status = STATUS_DONE;
    struct unit *unit = unit_make(o->file[0], o, &status);
    if (!unit) return (int)status;
    unit_warn(unit, o);
    struct stat info;
    if (stat(o->in_dir, &info) != 0 || !S_ISDIR(info.st_mode)) {
        complain(o, "%s: no such folder", o->in_dir);
        status = STATUS_INPUT;
    } else {
        status = run_unit(o, unit);
    }
    unit_free(unit);
    return (int)status;
}
