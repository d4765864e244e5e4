/* GATED_DELTA_NET and SSM_SCAN of ggml. Both take the state of each head from a tensor, and write the new state after
   the results. attnc's states have another form, so states are passed as tokens:
   - Before the tokens of the call, one token for each row of the state has a unit vector as key and the row as value.
   - After them, one query for each row has the unit vector. Its result is the row.
   Their decays are 1, so they change nothing else. ggml computes calls of few tokens, for which this would take longer.
 */
#include "backend.h"

#include <math.h>
#include <string.h>

/* Fewer tokens take ggml less time (measured with 32 and 48 heads of 128). */
enum { DELTA_MIN_TOKENS = 96, SCAN_MIN_TOKENS = 320, MAX_AXES = 4 };

/* An array of a kernel, for the three calls. */
struct input {
    const char *name;
    float before, after; /* the number that is repeated for the tokens of the state */
    const float *array;
    int64_t stride[MAX_AXES];
};

struct call {
    struct context *context;
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    const float *given; /* states before: [heads, value_dim, head_dim] for each sequence */
    size_t given_stride;
    const int32_t *ids; /* the number of each sequence's state, or NULL */
    float *result;      /* states after */
    size_t result_stride;
    float *rows;  /* [sequences, heads, head_dim, value_dim] */
    float *spare; /* results of the tokens before the call, which nobody needs */
    float *unit;  /* the unit matrix, then rows of 0 */
    float scale;  /* of the rows that queries give */
    const struct input *input;
    int inputs;
    void *params, *strides, *state, *workspace;
};

static bool is_f32(const struct ggml_tensor *tensor)
{
    return tensor->type == GGML_TYPE_F32 && has_rows(tensor);
}

/* Transposes the state of one head between ggml's form and rows. */
static void transpose_given(void *argument, int64_t n)
{
    const struct call *const c = argument;
    const int64_t rows = c->kernel->head_dim, size = c->kernel->value_dim, head = n % c->problem.heads,
                  sequence = n / c->problem.heads;
    const float *const from = c->given + (size_t)(c->ids ? c->ids[sequence] : sequence) * c->given_stride +
                              head * rows * size;
    for (int64_t e = 0; e < size; e++)
        for (int64_t d = 0; d < rows; d++) c->rows[(n * rows + d) * size + e] = from[e * rows + d];
}

static void transpose_result(void *argument, int64_t n)
{
    const struct call *const c = argument;
    const int64_t rows = c->kernel->head_dim, size = c->kernel->value_dim, head = n % c->problem.heads,
                  sequence = n / c->problem.heads;
    float *const to = c->result + (size_t)sequence * c->result_stride + head * rows * size;
    for (int64_t e = 0; e < size; e++)
        for (int64_t d = 0; d < rows; d++) to[e * rows + d] = c->rows[(n * rows + d) * size + e] * c->scale;
}

static const float *zeros_of(const struct call *c)
{
    return c->unit + c->kernel->head_dim * c->kernel->head_dim;
}

/* Sets the arrays for the tokens before (-1), of (0) or after (1) the call. */
static void set_inputs(struct call *c, int when)
{
    static const int64_t repeated[] = {ATTN_BROADCAST, ATTN_BROADCAST, ATTN_BROADCAST}, repeated_row[] = {0, 0, 0, 1};
    for (int n = 0; n < c->inputs; n++) {
        const struct input *const i = &c->input[n];
        const float *const number = when < 0 ? &i->before : &i->after;
        if (when == 0)
            set_array(c->kernel, c->params, c->strides, i->name, i->array, i->stride);
        else if (i->stride[MAX_AXES - 1]) /* rows of numbers, which are 0 */
            set_array(c->kernel, c->params, c->strides, i->name, zeros_of(c), repeated_row);
        else
            set_array(c->kernel, c->params, c->strides, i->name, number, repeated);
    }
}

static int extend(struct call *c, int64_t tokens, const float *q, const float *k, const float *v, float *out)
{
    c->problem.n_q = tokens;
    return c->kernel->extend(&c->problem, c->params, q, k, v, out, c->state, c->workspace);
}

/* Appends the tokens of the state, those of the call, and the queries for the new state. */
static int run(struct call *c, const float *q, const float *k, const float *v, float *out, int64_t tokens)
{
    const int64_t rows = c->kernel->head_dim, size = c->kernel->value_dim, states = c->problem.batch * c->problem.heads;
    const struct attn_strides at_q = c->problem.q, at_k = c->problem.k, at_v = c->problem.v, at_out = c->problem.out,
                              contiguous = {.batch = c->problem.heads * rows * size, .head = rows * size, .row = size},
                              shared = {.row = rows};
    const float *const zero = zeros_of(c);
    int error = c->kernel->state_init(&c->problem, c->state);
    for_each(c->context, transpose_given, c, states);
    c->problem.k = shared;
    c->problem.v = contiguous;
    set_inputs(c, -1);
    c->problem.q = shared;
    c->problem.out = contiguous;
    if (!error) error = extend(c, rows, zero, c->unit, c->rows, c->spare);

    c->problem.q = at_q;
    c->problem.k = at_k;
    c->problem.v = at_v;
    c->problem.out = at_out;
    set_inputs(c, 0);
    if (!error) error = extend(c, tokens, q, k, v, out);

    c->problem.q = c->problem.k = shared;
    c->problem.v = (struct attn_strides){.row = size};
    c->problem.out = contiguous;
    set_inputs(c, 1);
    if (!error) error = extend(c, rows, c->unit, zero, zero, c->rows);
    if (!error) for_each(c->context, transpose_result, c, states);
    c->problem.q = at_q;
    c->problem.k = at_k;
    c->problem.v = at_v;
    c->problem.out = at_out;
    return error;
}

/* Takes memory for a call, and `more` floats. */
static float *prepare(struct call *c, size_t more)
{
    const struct attn_kernel *const k = c->kernel;
    const size_t rows = (size_t)k->head_dim, size = (size_t)k->value_dim, wide = rows > size ? rows : size,
                 states = (size_t)(c->problem.batch * c->problem.heads) * rows * size * sizeof(float),
                 unit = (rows * rows + rows * wide) * sizeof(float);
    c->problem.threads = c->context->team ? c->context->threads : 1;
    c->problem.team = c->context->team;
    c->problem.state_bytes = k->state(&c->problem);
    c->problem.workspace_bytes = k->extend_workspace(&c->problem);
    if (!reserve(c->context, 2 * rounded(states) + rounded(unit) + rounded(k->params_bytes) +
                                 rounded(k->strides_bytes) + rounded(c->problem.state_bytes) +
                                 rounded(c->problem.workspace_bytes) + rounded(more * sizeof(float))))
        return NULL;
    c->rows = take(c->context, states);
    c->spare = take(c->context, states);
    c->unit = take(c->context, unit);
    c->params = take(c->context, k->params_bytes);
    c->strides = take(c->context, k->strides_bytes);
    c->state = take(c->context, c->problem.state_bytes);
    c->workspace = take(c->context, c->problem.workspace_bytes);
    memset(c->params, 0, k->params_bytes);
    memset(c->strides, 0, k->strides_bytes);
    memcpy((char *)c->params + k->strides, &c->strides, sizeof c->strides);
    memset(c->unit, 0, unit);
    for (size_t n = 0; n < rows; n++) c->unit[n * rows + n] = 1;
    return take(c->context, more * sizeof(float));
}

/* ---- GATED_DELTA_NET: q, k [head_dim, key heads, n, sequences], v [head_dim, heads, n, sequences],
   gate [1 or head_dim, heads, n, sequences], rate [1, heads, n, sequences], state [head_dim, head_dim, heads,
   sequences]. Head h uses key head h % key heads. Queries are divided by the root of head_dim, which the kernels do.
   ---- */

static const struct attn_kernel *delta_kernel(const struct ggml_tensor *op)
{
    const int64_t size = op->src[2]->ne[0];
    const bool channels = op->src[3]->ne[0] > 1;
    return find_kernel(GGML_TYPE_F32, size, size, false, channels ? "gate_channels" : "gate",
                       channels ? "gate" : "gate_channels");
}

bool delta_supported(const struct ggml_tensor *op)
{
    const struct ggml_tensor *const q = op->src[0], *const k = op->src[1], *const v = op->src[2];
    for (int n = 0; n < 6; n++)
        if (!is_f32(op->src[n])) return false;
    return op->op_params[0] == 1 && v->ne[2] >= DELTA_MIN_TOKENS && q->ne[1] == k->ne[1] && v->ne[1] % q->ne[1] == 0 &&
           q->ne[3] == v->ne[3] && k->ne[3] == v->ne[3] && delta_kernel(op);
}

enum ggml_status delta_compute(struct context *context, const struct ggml_tensor *op)
{
    const struct ggml_tensor *const q = op->src[0], *const k = op->src[1], *const v = op->src[2],
                                    *const gate = op->src[3], *const rate = op->src[4], *const state = op->src[5];
    const int64_t size = v->ne[0], heads = v->ne[1], tokens = v->ne[2], group = q->ne[1], width = gate->ne[0];
    struct input input[] = {
        {.name = width > 1 ? "gate_channels" : "gate", .stride = {tokens * heads * width, width, heads * width, 1}},
        {.name = "rate", .before = 1, .stride = {tokens * heads, 1, heads}},
    };
    struct call c = {.context = context,
                     .kernel = delta_kernel(op),
                     .input = input,
                     .inputs = 2,
                     .scale = sqrtf((float)size),
                     .given_stride = state->nb[3] / sizeof(float),
                     .result_stride = (size_t)(heads * size * size)};
    c.problem = (struct attn_problem){.batch = v->ne[3],
                                      .heads = group,
                                      .kv_heads = group,
                                      .n_q = tokens,
                                      .q = strides_of(q, 2, 1),
                                      .k = strides_of(k, 2, 1),
                                      .v = strides_of(v, 2, 1),
                                      .out = {.batch = tokens * heads * size, .head = size, .row = heads * size}};
    if (!prepare(&c, 0)) return GGML_STATUS_ALLOC_FAILED;
    float *const out = op->data;
    int error = 0;
    for (int64_t first = 0; first < heads && !error; first += group) { /* heads that use the key heads in order */
        c.given = (const float *)state->data + first * size * size;
        c.result = out + v->ne[3] * tokens * heads * size + first * size * size;
        input[0].array = (const float *)gate->data + first * width;
        input[1].array = (const float *)rate->data + first;
        error = run(&c, q->data, k->data,
                    (const float *)(const void *)((const char *)v->data + (size_t)first * v->nb[1]), out + first * size,
                    tokens);
    }
    return error ? failed(op, error) : GGML_STATUS_SUCCESS;
}

/* ---- SSM_SCAN of Mamba-2: state [d_state, dim, heads, states], x [dim, heads, n, sequences],
   dt [heads, n, sequences], A [1, heads], B, C [d_state, groups, n, sequences], ids [sequences].
   Head h uses group h / (heads / groups). ---- */

static const struct attn_kernel *scan_kernel(const struct ggml_tensor *op)
{
    return find_kernel(GGML_TYPE_F32, op->src[0]->ne[0], op->src[1]->ne[0], false, "decay_rate", "");
}

bool scan_supported(const struct ggml_tensor *op)
{
    const struct ggml_tensor *const x = op->src[1];
    for (int n = 0; n < 6; n++)
        if (!is_f32(op->src[n])) return false;
    return op->op_params[0] == 1 && op->src[3]->ne[0] == 1 && x->ne[2] >= SCAN_MIN_TOKENS &&
           x->ne[1] % op->src[4]->ne[1] == 0 && scan_kernel(op);
}

enum ggml_status scan_compute(struct context *context, const struct ggml_tensor *op)
{
    const struct ggml_tensor *const state = op->src[0], *const x = op->src[1], *const dt = op->src[2],
                                    *const a = op->src[3], *const b = op->src[4], *const c_ = op->src[5],
                                    *const ids = op->src[6];
    const int64_t size = x->ne[0], heads = x->ne[1], tokens = x->ne[2], sequences = x->ne[3];
    struct input input[] = {
        {.name = "step", .before = 1, .stride = {tokens * heads, 1, heads}},
        {.name = "decay_rate", .array = a->data, .stride = {1}},
    };
    struct call c = {.context = context,
                     .kernel = scan_kernel(op),
                     .input = input,
                     .inputs = 2,
                     .ids = ids->data,
                     .scale = 1,
                     .given = state->data,
                     .given_stride = state->nb[3] / sizeof(float),
                     .result = (float *)op->data + sequences * tokens * heads * size,
                     .result_stride = state->nb[3] / sizeof(float)};
    c.problem = (struct attn_problem){.batch = sequences,
                                      .heads = heads,
                                      .kv_heads = heads,
                                      .key_heads = b->ne[1],
                                      .n_q = tokens,
                                      .q = strides_of(c_, 2, 1),
                                      .k = strides_of(b, 2, 1),
                                      .v = strides_of(x, 2, 1),
                                      .out = {.batch = tokens * heads * size, .head = size, .row = heads * size}};
    float *const step = prepare(&c, (size_t)(sequences * tokens * heads));
    if (!step) return GGML_STATUS_ALLOC_FAILED;
    const float *const raw = dt->data;
    for (int64_t n = 0; n < sequences * tokens * heads; n++) step[n] = raw[n] > 20 ? raw[n] : log1pf(expf(raw[n]));
    input[0].array = step;
    const int error = run(&c, c_->data, b->data, x->data, op->data, tokens);
    return error ? failed(op, error) : GGML_STATUS_SUCCESS;
}
