/* attnc run: a spec's kernel at work on arrays from .npy files. */
#include "command_line.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../../runtime/attnrt.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { Q, K, V, DOUT, INPUTS };
static const char *const input_names[INPUTS] = {"q", "k", "v", "dout"};

struct run {
    const struct options *options;
    struct arena *arena;
    const struct attn_kernel *kernel;
    struct attn_array input[INPUTS], *param; /* data is NULL where nothing could be read */
    struct attn_problem problem;             /* -1 where an extent is not known */
    void *params, *generated;                /* struct NAME_params, and the storage of what a seed made */
    enum status status;                      /* the worst so far */
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
    }
    return "";
}

static const char *axis_text(int64_t axis)
{
    switch ((enum attn_axis)axis) {
    case ATTN_BATCH: return "B";
    case ATTN_HEADS: return "H";
    case ATTN_KV_HEADS: return "G";
    case ATTN_N_Q: return "n_q";
    case ATTN_N_K: return "n_k";
    }
    return "?";
}

/* An extent that may be an axis: its size in this problem, or the axis itself while that is not known. */
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
        if (extent < 0)
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

/* Reads an array. False when there is no such file; every other failure is reported. */
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

/* ---- q, k, v ---- */

/* Where an axis' size was learnt, for the explanation of a mismatch. */
static const char *axis_origin(const struct run *r, int64_t axis)
{
    const char *file = axis == ATTN_BATCH || axis == ATTN_HEADS || axis == ATTN_N_Q ? "q.npy" : "k.npy";
    switch ((enum attn_axis)axis) {
    case ATTN_BATCH: return arena_printf(r->arena, "the batch of %s is %lld", file, (long long)r->problem.batch);
    case ATTN_HEADS: return arena_printf(r->arena, "%s has %lld heads", file, (long long)r->problem.heads);
    case ATTN_KV_HEADS: return arena_printf(r->arena, "%s has %lld heads", file, (long long)r->problem.kv_heads);
    case ATTN_N_Q: return arena_printf(r->arena, "%s has %lld queries", file, (long long)r->problem.n_q);
    case ATTN_N_K: return arena_printf(r->arena, "%s has %lld keys", file, (long long)r->problem.n_k);
    }
    return "";
}

/* Compares an array with the shape it should have; `spec_key` names the key of the spec after a constant in the last
   place. */
static bool check_shape(struct run *r, const char *name, const struct attn_array *a, int rank, const int64_t *expected,
                        const char *spec_key)
{
    const char *path = file_path(r, r->options->in_dir, name), *why = NULL;
    for (int k = 0; k < rank && a->rank == rank && !why; k++) {
        int64_t extent = extent_now(r, expected[k]);
        if (extent < 0 || extent == a->shape[k]) continue;
        why = expected[k] < 0 ? axis_origin(r, expected[k])
              : spec_key      ? arena_printf(r->arena, "%s of the spec is %lld", spec_key, (long long)extent)
                              : "";
    }
    if (a->rank == rank && !why) return true;
    if (a->rank != rank) why = arena_printf(r->arena, "it should have %d dimensions", rank);
    complain(r->options, "%s: shape %s, expected %s%s%s", path, shape_text(r, a->rank, a->shape),
             shape_text(r, rank, expected), *why ? ": " : "", why);
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
        case ATTN_I32: break;
        }
    }
    if (bad)
        mention(r->options, "warning", "%s: %lld of its values %s not finite", file_path(r, r->options->in_dir, name),
                (long long)bad, bad == 1 ? "is" : "are");
}

static void read_inputs(struct run *r)
{
    const struct attn_kernel *kernel = r->kernel;
    const int64_t expected[INPUTS][4] = {{ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, kernel->head_dim},
                                         {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, kernel->head_dim},
                                         {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, kernel->value_dim},
                                         {ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, kernel->value_dim}};
    struct attn_problem *p = &r->problem;
    *p = (struct attn_problem){
        .batch = -1, .heads = -1, .kv_heads = -1, .n_q = -1, .n_k = -1, .threads = r->options->threads};
    bool missing[INPUTS];
    const int inputs = kernel->backward ? INPUTS : DOUT;
    for (int k = 0; k < inputs; k++) missing[k] = !read_array(r, input_names[k], kernel->dtype, &r->input[k]);
    /* The first array that has an axis says how long it is; the others are held against that. */
    const struct attn_array *q = &r->input[Q], *keys = &r->input[K];
    if (q->data && q->rank == 4) {
        p->batch = q->shape[0];
        p->heads = q->shape[1];
        p->n_q = q->shape[2];
    }
    if (keys->data && keys->rank == 4) {
        p->kv_heads = keys->shape[1];
        p->n_k = keys->shape[2];
    }
    for (int k = 0; k < inputs; k++) {
        const char *path = file_path(r, r->options->in_dir, input_names[k]);
        if (missing[k] && k == DOUT) continue; /* then no gradient is asked for */
        if (missing[k]) {
            complain(r->options, "%s: no such file; it holds %s, shape %s", path, input_names[k],
                     shape_text(r, 4, expected[k]));
            failed(r, STATUS_INPUT);
            continue;
        }
        const struct attn_array *a = &r->input[k];
        if (!a->data ||
            !check_shape(r, input_names[k], a, 4, expected[k], k == V || k == DOUT ? "value_dim" : "head_dim"))
            continue;
        bool empty = a->shape[0] == 0 || a->shape[1] == 0 || a->shape[2] == 0;
        if (empty) {
            complain(r->options, "%s: shape %s has no elements", path, shape_text(r, 4, a->shape));
            failed(r, STATUS_INPUT);
        } else if (!r->options->console.quiet) {
            warn_not_finite(r, input_names[k], a);
        }
    }
    if (p->heads > 0 && p->kv_heads > 0 && p->heads % p->kv_heads != 0) {
        complain(r->options, "%s: %lld heads are no multiple of the %lld heads of k.npy",
                 file_path(r, r->options->in_dir, "q"), (long long)p->heads, (long long)p->kv_heads);
        failed(r, STATUS_INPUT);
    }
}

/* ---- parameters ---- */

static void set_pointer(struct run *r, const struct attn_param *p, const void *data)
{
    memcpy((char *)r->params + p->offset, &data, sizeof data);
}

static bool has_pointer(const struct run *r, const struct attn_param *p)
{
    const void *data;
    memcpy(&data, (const char *)r->params + p->offset, sizeof data);
    return data != NULL;
}

static void out_of_memory(struct run *r, const char *what, size_t bytes)
{
    complain(r->options, "out of memory: %s needs %zu bytes", what, bytes);
    failed(r, STATUS_MACHINE);
}

/* What a seed can make; a file in DIR takes its place afterwards. */
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

static void read_params(struct run *r, const struct similarity *similarity)
{
    const struct attn_kernel *kernel = r->kernel;
    r->params = attn_alloc(kernel->params_bytes);
    if (!r->params) {
        out_of_memory(r, "the table of parameters", kernel->params_bytes);
        return;
    }
    if (kernel->params > 0 && (r->options->has_seed || similarity->has_seed))
        generate_params(r, r->options->has_seed ? r->options->seed : similarity->seed);
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *p = &kernel->param[k];
        struct attn_array *a = &r->param[k];
        if (!read_array(r, p->name, p->dtype, a)) {
            if (has_pointer(r, p)) continue;
            complain(r->options, "%s: no such file; it holds the parameter %s, shape %s%s%s",
                     file_path(r, r->options->in_dir, p->name), p->name, shape_text(r, p->rank, p->shape),
                     p->dtype == ATTN_I32 ? ", integers" : "", p->random ? ", which --seed N would generate" : "");
            failed(r, STATUS_INPUT);
        } else if (a->data && check_shape(r, p->name, a, p->rank, p->shape, NULL)) {
            set_pointer(r, p, a->data);
        }
    }
}

/* ---- the call ---- */

/* Where ids fall, and what to do. */
static void explain_order(struct run *r)
{
    for (int k = 0; k < r->kernel->params; k++) {
        const struct attn_array *a = &r->param[k];
        if (a->dtype != ATTN_I32 || a->rank != 2) continue;
        const int32_t *id = a->data;
        int64_t at = 1, last = a->shape[0] * a->shape[1] - 1;
        while (at < last && (at % a->shape[1] == 0 || id[at] >= id[at - 1])) at++;
        complain(r->options,
                 "%s: at [%lld, %lld] the id falls from %d to %d, and the linear form takes ids in ascending order",
                 file_path(r, r->options->in_dir, r->kernel->param[k].name), (long long)(at / a->shape[1]),
                 (long long)(at % a->shape[1]), (int)id[at - 1], (int)id[at]);
        fprintf(stderr, "attnc: note: number those that stand together in the order they come; where an id comes again "
                        "later, --set algorithm=quadratic takes any order\n");
    }
    failed(r, STATUS_INPUT);
}

/* An array that the kernel writes; false (reported) when there is no memory for it. */
static bool make_array(struct run *r, struct attn_array *a, const char *name)
{
    size_t bytes = attn_dtype_size(a->dtype);
    for (int k = 0; k < a->rank; k++) bytes *= (size_t)a->shape[k];
    a->data = attn_alloc(bytes);
    if (!a->data) out_of_memory(r, arena_printf(r->arena, "%s.npy", name), bytes);
    return a->data != NULL;
}

static bool make_output(struct run *r, struct attn_array *a, const char *name, int64_t heads, int64_t rows, int64_t dim)
{
    *a = (struct attn_array){.dtype = r->kernel->dtype, .rank = 4, .shape = {r->problem.batch, heads, rows, dim}};
    return make_array(r, a, name);
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

/* The gradients, from what forward left: dq, dk and dv, then those by the learned parameters. */
static void call_backward(struct run *r, const struct loaded_kernel *loaded, const struct attn_array *out)
{
    const struct attn_kernel *kernel = r->kernel;
    struct attn_problem *p = &r->problem;
    const size_t most = 3 + (size_t)kernel->params;
    struct attn_array *d = arena_alloc(r->arena, most * sizeof *d);
    const char **name = arena_alloc(r->arena, most * sizeof *name);
    void **by_param = arena_alloc(r->arena, most * sizeof *by_param);
    int count = 3;
    name[Q] = "dq", name[K] = "dk", name[V] = "dv";
    bool room = make_output(r, &d[Q], name[Q], p->heads, p->n_q, kernel->head_dim) &&
                make_output(r, &d[K], name[K], p->kv_heads, p->n_k, kernel->head_dim) &&
                make_output(r, &d[V], name[V], p->kv_heads, p->n_k, kernel->value_dim);
    for (int k = 0; k < kernel->params && room; k++) {
        const struct attn_param *param = &kernel->param[k];
        if (!attn_param_learned(param)) continue;
        name[count] = arena_printf(r->arena, "d%s", param->name);
        d[count] = (struct attn_array){.dtype = param->dtype, .rank = param->rank};
        attn_param_shape(param, p, d[count].shape);
        room = make_array(r, &d[count], name[count]);
        by_param[count - 3] = d[count].data;
        count++;
    }
    p->workspace_bytes = kernel->backward_workspace(p);
    void *workspace = room ? attn_alloc(p->workspace_bytes) : NULL;
    if (room && !workspace) out_of_memory(r, "the workspace", p->workspace_bytes);
    if (workspace) {
        double start = attn_seconds();
        int error = kernel->backward(p, r->params, r->input[Q].data, r->input[K].data, r->input[V].data, out->data,
                                     r->input[DOUT].data, d[Q].data, d[K].data, d[V].data, by_param, workspace);
        double seconds = attn_seconds() - start;
        if (error) {
            complain(r->options, "%s: %s", kernel->name, attn_strerror(error));
            failed(r, STATUS_INPUT);
        }
        for (int k = 0; k < count && !error; k++) write_output(r, loaded, name[k], &d[k], seconds);
    }
    attn_free(workspace);
    for (int k = 0; k < count; k++) attn_free(d[k].data);
}

/* ---- token by token ---- */

static double number_at(const struct attn_array *a, int64_t k)
{
    switch (a->dtype) {
    case ATTN_F32: return (double)((const float *)a->data)[k];
    case ATTN_F64: return ((const double *)a->data)[k];
    case ATTN_BF16: return attn_bf16_value(((const uint16_t *)a->data)[k]);
    case ATTN_F16: return attn_f16_value(((const uint16_t *)a->data)[k]);
    case ATTN_I32: break;
    }
    return 0;
}

/* The largest difference of two outputs, as a part of the largest number of its row; NaN and infinities agree with
   themselves alone. */
static double difference(const struct attn_array *a, const struct attn_array *b)
{
    const int64_t dim = a->shape[3], rows = a->shape[0] * a->shape[1] * a->shape[2];
    double most = 0;
    for (int64_t row = 0; row < rows; row++) {
        double scale = 0, off = 0;
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

/* What rounding may make of sums in another order: of pairs of 16 bits their products are rounded, too. */
static double may_differ(enum attn_dtype dtype)
{
    return dtype == ATTN_F64 ? 1e-10 : dtype == ATTN_F32 ? 1e-3 : 0.05;
}

enum { MAX_CHUNKS = 64 };

/* Reads the sizes of the calls; 0 after a message. */
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

/* The whole sequence, by calls of extend; how many, or 0 after a message. */
static int64_t extend_all(struct run *r, const struct attn_array *out, void *state, size_t bytes)
{
    const struct attn_kernel *const kernel = r->kernel;
    const size_t size = attn_dtype_size(kernel->dtype);
    struct attn_problem p;
    int64_t chunk[MAX_CHUNKS], calls = 0, done = 0;
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
        error = kernel->extend(&p, r->params, (const char *)r->input[Q].data + (size_t)(done * p.q.row) * size,
                               (const char *)r->input[K].data + (size_t)(done * p.k.row) * size,
                               (const char *)r->input[V].data + (size_t)(done * p.v.row) * size,
                               (char *)out->data + (size_t)(done * p.out.row) * size, state, workspace);
    }
    attn_free(workspace);
    if (error && workspace) {
        complain(r->options, "%s: %s", kernel->name, attn_strerror(error));
        failed(r, STATUS_INPUT);
    }
    return error ? 0 : calls;
}

/* From how many tokens on the state is smaller than all keys and values; "" where it grows with them. */
static const char *smaller_from(const struct run *r, size_t bytes)
{
    struct attn_problem more = r->problem;
    more.capacity *= 2;
    if (r->kernel->state(&more) != bytes) return "";
    const int64_t token = more.batch * more.kv_heads * (r->kernel->head_dim + r->kernel->value_dim) *
                          (int64_t)attn_dtype_size(r->kernel->dtype);
    return arena_printf(r->arena, " (smaller than keys and values from %lld tokens on)", (long long)bytes / token + 1);
}

/* Decodes the sequence in pieces; the result has to be what forward made in `out`, which it takes the place of. */
static void call_chunks(struct run *r, struct attn_array *out)
{
    const struct attn_kernel *const kernel = r->kernel;
    if (r->problem.n_q != r->problem.n_k) {
        complain(r->options, "--chunks takes a query for each key: there are %lld queries and %lld keys",
                 (long long)r->problem.n_q, (long long)r->problem.n_k);
        failed(r, STATUS_INPUT);
        return;
    }
    r->problem.capacity = r->problem.n_k;
    const size_t bytes = kernel->state(&r->problem);
    void *const state = attn_alloc(bytes);
    struct attn_array grown;
    const bool room = make_output(r, &grown, "out", r->problem.heads, r->problem.n_q, kernel->value_dim);
    if (!state) out_of_memory(r, "the state", bytes);
    const int64_t calls = state && room ? extend_all(r, &grown, state, bytes) : 0;
    attn_free(state);
    if (calls) {
        char text[32];
        const double off = difference(&grown, out);
        mention(r->options, "",
                "%lld calls of extend, a state of %s%s; the largest difference from forward is %.2g of a row",
                (long long)calls, table_bytes((double)bytes, text, sizeof text), smaller_from(r, bytes), off);
        if (!(off <= may_differ(kernel->dtype))) {
            complain(r->options, "%s: extend and forward differ", kernel->name);
            failed(r, STATUS_INPUT);
        }
    }
    attn_free(out->data);
    *out = grown;
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
    struct attn_array out;
    bool room = make_output(r, &out, "out", p->heads, p->n_q, kernel->value_dim);
    const bool gradients = r->input[DOUT].data != NULL && !o->chunks;
    p->workspace_bytes = kernel->workspace(p);
    void *workspace = attn_alloc(p->workspace_bytes);
    if (!workspace) out_of_memory(r, "the workspace", p->workspace_bytes);
    if (gradients) {
        p->saved_bytes = kernel->saved(p);
        p->saved = attn_alloc(p->saved_bytes);
        if (!p->saved) out_of_memory(r, "what is saved for the gradients", p->saved_bytes);
        room &= p->saved != NULL;
    }
    if (workspace && room) {
        double start = attn_seconds();
        error = kernel->forward(p, r->params, r->input[Q].data, r->input[K].data, r->input[V].data, out.data,
                                workspace);
        double seconds = attn_seconds() - start;
        if (error == ATTN_EORDER) {
            explain_order(r);
            if (!there) (void)rmdir(o->out_dir);
        } else if (error) {
            complain(o, "%s: %s", kernel->name, attn_strerror(error));
            failed(r, STATUS_INPUT);
        } else {
            if (o->chunks) call_chunks(r, &out);
            if (r->status == STATUS_DONE) write_output(r, loaded, "out", &out, seconds);
        }
        if (!error && gradients && r->status == STATUS_DONE) call_backward(r, loaded, &out);
    }
    attn_free(p->saved);
    attn_free(workspace);
    attn_free(out.data);
}

static enum status run_unit(const struct options *o, struct unit *unit)
{
    struct loaded_kernel loaded;
    enum status status = kernel_load(unit->spec->name, unit_source_here(unit, o), unit->header.data, o->console.quiet,
                                     &loaded);
    if (status != STATUS_DONE) return status;
    struct run run = {.options = o, .arena = unit->arena, .kernel = loaded.kernel}, *r = &run;
    r->param = arena_alloc(r->arena, sizeof *r->param * (size_t)(r->kernel->params + 1));
    read_inputs(r);
    read_params(r, &unit->spec->similarity);
    if (r->status == STATUS_DONE) call_kernel(r, &loaded);
    for (int k = 0; k < INPUTS; k++) attn_array_free(&r->input[k]);
    for (int k = 0; k < r->kernel->params; k++) attn_array_free(&r->param[k]);
    attn_free(r->params);
    attn_free(r->generated);
    kernel_unload(&loaded);
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
