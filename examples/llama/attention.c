/* FLASH_ATTN_EXT of ggml: out [value_dim, heads, n_q, sequences], f32, from
   - q [head_dim, n_q, heads, sequences], f32
   - k, v [head_dim or value_dim, n_k, kv_heads, sequences]
   - optionally a mask, and a sink for each head
   - three numbers: the scale, max_bias (ALiBi) and the cap of the logits */
#include "backend.h"

#include <math.h>
#include <string.h>

struct options {
    float scale, max_bias, cap;
};

/* One operation, and what a kernel needs in addition to its tensors. */
struct call {
    struct context *context;
    const struct ggml_tensor *op, *q, *k, *v, *mask, *sinks;
    struct options options;
    struct attn_problem problem;
    int32_t *first, *end; /* the keys that each query sees: [sequences, n_q] */
    float *slope, *sink;  /* [heads] */
};

static struct options options_of(const struct ggml_tensor *op)
{
    struct options options;
    memcpy(&options, op->op_params, sizeof options);
    return options;
}

static bool same_memory(const struct ggml_tensor *k, const struct ggml_tensor *v)
{
    return k->data && k->data == v->data && k->nb[1] == v->nb[1] && k->nb[2] == v->nb[2] && k->nb[3] == v->nb[3];
}

/* Returns the kernel for an operation. `numbers` says whether the mask has other numbers than 0 and -inf. */
static const struct attn_kernel *kernel_for(const struct ggml_tensor *op, bool numbers)
{
    const struct ggml_tensor *const k = op->src[1], *const v = op->src[2];
    const bool capped = options_of(op).cap != 0;
    const char *const with = capped ? "cap" : numbers ? "added" : "first";
    const char *const without = capped ? "" : numbers ? "cap" : "added";
    const struct attn_kernel *kernel = NULL;
    if (same_memory(k, v)) kernel = find_kernel(k->type, k->ne[0], v->ne[0], true, with, without);
    return kernel ? kernel : find_kernel(k->type, k->ne[0], v->ne[0], false, with, without);
}

bool attention_supported(const struct ggml_tensor *op)
{
    const struct ggml_tensor *const q = op->src[0], *const k = op->src[1], *const v = op->src[2],
                                    *const mask = op->src[3], *const sinks = op->src[4];
    for (int n = 5; n < GGML_MAX_SRC; n++)
        if (op->src[n]) return false;
    if (q->type != GGML_TYPE_F32 || op->type != GGML_TYPE_F32 || k->type != v->type) return false;
    if (!has_rows(q) || !has_rows(k) || !has_rows(v) || !has_rows(op)) return false;
    if (k->ne[2] != v->ne[2] || q->ne[2] % k->ne[2] || q->ne[3] != k->ne[3] || q->ne[3] != v->ne[3]) return false;
    if (mask && (mask->type != GGML_TYPE_F16 || !has_rows(mask))) return false;
    if (mask && ((mask->ne[2] != 1 && mask->ne[2] != q->ne[2]) || (mask->ne[3] != 1 && mask->ne[3] != q->ne[3])))
        return false;
    if (mask && (mask->ne[0] < k->ne[1] || mask->ne[1] < q->ne[1])) return false;
    if (sinks && sinks->type != GGML_TYPE_F32) return false;
    return k->ne[1] <= INT32_MAX && kernel_for(op, false) && kernel_for(op, true);
}

/* The slopes of ALiBi, as ggml computes them; 1 without ALiBi. */
static void write_slopes(float max_bias, int64_t heads, float *slope)
{
    const int64_t power = INT64_C(1) << (int)floor(log2((double)heads));
    const float base = powf(2.0f, -max_bias / (float)power), other = powf(2.0f, -max_bias / 2.0f / (float)power);
    for (int64_t h = 0; h < heads; h++)
        slope[h] = h < power ? powf(base, (float)(h + 1)) : powf(other, (float)(2 * (h - power) + 1));
}

/* Reserves memory for the kernels of both kinds of masks, and takes what does not depend on the kernel. */
static bool allocate(struct call *c)
{
    const size_t ranges = rounded((size_t)(c->problem.batch * c->problem.n_q) * sizeof *c->first),
                 heads = rounded((size_t)c->problem.heads * sizeof *c->slope);
    size_t most = 0;
    for (int numbers = 0; numbers <= 1; numbers++) {
        const struct attn_kernel *const kernel = kernel_for(c->op, numbers);
        const size_t bytes = rounded(kernel->params_bytes) + rounded(kernel->strides_bytes) +
                             rounded(kernel->workspace(&c->problem));
        if (bytes > most) most = bytes;
    }
    if (!reserve(c->context, 2 * ranges + 2 * heads + most)) return false;
    c->first = take(c->context, ranges);
    c->end = take(c->context, ranges);
    c->slope = take(c->context, heads);
    c->sink = take(c->context, heads);
    return true;
}

/* Finds the keys that each query sees. Returns whether the mask has to be read for each pair. */
static bool read_mask(struct call *c)
{
    const int64_t rows = c->problem.batch * c->problem.n_q;
    if (c->mask && c->mask->ne[2] == 1) {
        const bool whole = mask_ranges(c->context, c->mask, c->problem.batch, c->problem.n_q, c->problem.n_k, c->first,
                                       c->end);
        return !whole || c->options.max_bias > 0;
    }
    for (int64_t n = 0; n < rows; n++) {
        c->first[n] = 0;
        c->end[n] = (int32_t)c->problem.n_k;
    }
    return c->mask;
}

/* Sets the array that is added to the logits: the mask, or one 0 that is repeated. */
static void set_added(const struct call *c, const struct attn_kernel *kernel, void *params, void *strides, bool numbers)
{
    static const uint16_t zero = 0;
    const struct ggml_tensor *const mask = c->mask;
    int64_t stride[4] = {ATTN_BROADCAST, ATTN_BROADCAST, ATTN_BROADCAST, ATTN_BROADCAST};
    if (numbers) {
        stride[0] = mask->ne[3] > 1 ? (int64_t)(mask->nb[3] / sizeof zero) : ATTN_BROADCAST;
        stride[1] = mask->ne[2] > 1 ? (int64_t)(mask->nb[2] / sizeof zero) : ATTN_BROADCAST;
        stride[2] = (int64_t)(mask->nb[1] / sizeof zero);
        stride[3] = 1;
    }
    set_array(kernel, params, strides, "added", numbers ? mask->data : &zero, stride);
}

enum ggml_status attention_compute(struct context *context, const struct ggml_tensor *op)
{
    const struct ggml_tensor *const q = op->src[0], *const k = op->src[1], *const v = op->src[2];
    struct call c = {.context = context,
                     .op = op,
                     .q = q,
                     .k = k,
                     .v = v,
                     .mask = op->src[3],
                     .sinks = op->src[4],
                     .options = options_of(op)};
    c.problem = (struct attn_problem){.batch = q->ne[3],
                                      .heads = q->ne[2],
                                      .kv_heads = k->ne[2],
                                      .n_q = q->ne[1],
                                      .n_k = k->ne[1],
                                      .q = strides_of(q, 1, 2),
                                      .k = strides_of(k, 1, 2),
                                      .v = strides_of(v, 1, 2),
                                      .out = strides_of(op, 2, 1),
                                      .threads = context->team ? context->threads : 1,
                                      .team = context->team};
    if (!allocate(&c)) return GGML_STATUS_ALLOC_FAILED;
    const bool numbers = read_mask(&c);
    const struct attn_kernel *const kernel = kernel_for(op, numbers);

    void *const params = take(context, kernel->params_bytes), *const strides = take(context, kernel->strides_bytes);
    memset(params, 0, kernel->params_bytes);
    memset(strides, 0, kernel->strides_bytes);
    memcpy((char *)params + kernel->strides, &(const void *){strides}, sizeof strides);
    for (int64_t h = 0; h < c.problem.heads; h++) {
        c.slope[h] = 1;
        c.sink[h] = c.sinks ? ((const float *)c.sinks->data)[h] : -INFINITY;
    }
    if (c.options.max_bias > 0) write_slopes(c.options.max_bias, c.problem.heads, c.slope);
    set_param(kernel, params, "scale", &c.options.scale);
    set_param(kernel, params, "cap", &c.options.cap);
    set_param(kernel, params, "sink", c.sink);
    set_param(kernel, params, "first", c.first);
    set_param(kernel, params, "end", c.end);
    set_param(kernel, params, "slope", c.slope);
    set_added(&c, kernel, params, strides, numbers);
    c.problem.workspace_bytes = kernel->workspace(&c.problem);
    const int error = kernel->forward(&c.problem, params, q->data, k->data, v->data, op->data,
                                      take(context, c.problem.workspace_bytes));
    return error ? failed(op, error) : GGML_STATUS_SUCCESS;
}
