/* LinearAttention of ONNX, opset 27: the recurrences linear, gated, delta and gated_delta, with a state as an input and
   an output. */
#include "provider.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, PAST, DECAY, BETA };
enum { OUT, PRESENT };

/* A kernel sums tokens in chunks, and computes a whole one for the state after some of its tokens. So calls of up to
   this many tokens have a kernel with chunks of one token. */
enum { STEP_TOKENS = 4 };

/* Returns the numbers of a state in f16 or bf16 as floats. */
static void to_wide(int type, const uint16_t *from, float *to, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        to[n] = (float)(type == ORT_F16 ? attn_f16_value(from[n]) : attn_bf16_value(from[n]));
}

static void to_narrow(int type, const float *from, uint16_t *to, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        to[n] = type == ORT_F16 ? attn_f16((double)from[n]) : attn_bf16((double)from[n]);
}

/* Sets a parameter [B, G, Nk] or [B, G, Nk, D] that the call has as [B, Nk, G], [B, Nk, 1] or [B, Nk, G D]. */
static bool set_rates(struct call *call, const struct params *params, const char *name, struct tensor t,
                      const struct rows *k, bool by_element)
{
    const int64_t last = by_element ? k->heads * k->size : k->heads;
    if (t.axes != 3 || t.size[0] != k->batch || t.size[1] != k->rows ||
        (t.size[2] != last && (by_element || t.size[2] != 1)))
        return fails(call, "%s has another shape than [%lld, %lld, %lld]", name, (long long)k->batch,
                     (long long)k->rows, (long long)last);
    const int64_t of_head = by_element ? k->size : 1,
                  stride[] = {k->rows * t.size[2], t.size[2] < last ? ATTN_BROADCAST : of_head, t.size[2], 1};
    set_array(params, name, t.data, stride);
    return true;
}

/* Computes the heads of q and out from `first` on, every `step`-th one. `before` is the state before the call, and
   `after` that after it; both may be NULL. */
static bool extend(struct call *call, const struct params *params, struct rows q, const struct rows *k,
                   const struct rows *v, struct rows out, int64_t first, int64_t step, const float *before,
                   float *after)
{
    const struct attn_kernel *const kernel = params->kernel;
    const int64_t element = bytes_of(call->plan->type);
    q.data += first * q.at.head * element;
    out.data += first * out.at.head * element;
    struct attn_problem problem = {.batch = q.batch,
                                   .heads = q.heads / step,
                                   .kv_heads = k->heads,
                                   .n_q = q.rows,
                                   .n_k = k->rows,
                                   .q = {q.at.batch, q.at.head * step, q.at.row},
                                   .k = k->at,
                                   .v = v->at,
                                   .out = {out.at.batch, out.at.head * step, out.at.row},
                                   .threads = call->plan->threads};
    const size_t sums_bytes = kernel->state_sums(&problem), state_bytes = kernel->state(&problem),
                 bytes = kernel->extend_workspace(&problem);
    const int64_t count = k->batch * k->heads * k->size * v->size;
    if (sums_bytes != (size_t)count * sizeof *after)
        return fails(call, "a state has %zu bytes; expected %lld", sums_bytes, (long long)count * 4);
    void *const state = take(call, (int64_t)state_bytes + 1), *const workspace = take(call, (int64_t)bytes + 1);
    if (call->status) return false;
    problem.state_bytes = state_bytes;
    problem.workspace_bytes = bytes;
    int error = kernel->state_init(&problem, state);
    if (!error && before) error = kernel->state_set(&problem, state, before);
    if (!error) error = kernel->extend(&problem, params->params, q.data, k->data, v->data, out.data, state, workspace);
    if (!error && after) error = kernel->state_get(&problem, params->params, state, after, workspace);
    return !error || fails(call, "%s", attn_strerror(error));
}

static void run_linear(struct call *call)
{
    const struct plan *const plan = call->plan;
    const struct tensor q_in = input_of(call, Q), k_in = input_of(call, K), v_in = input_of(call, V),
                        past = input_of(call, PAST), decay = input_of(call, DECAY), beta = input_of(call, BETA);
    if (call->status) return;
    const struct rows q = rows_of(call, "query", q_in, plan->heads), k = rows_of(call, "key", k_in, plan->kv_heads),
                      v = rows_of(call, "value", v_in, plan->kv_heads);
    if (call->status) return;
    if (q.batch != k.batch || k.batch != v.batch || q.rows != k.rows || k.rows != v.rows || q.size != k.size ||
        k.size != plan->kernel->head_dim || v.size != plan->kernel->value_dim) {
        fails(call, "query, key and value have other batches, lengths or heads than each other or than the kernel");
        return;
    }
    const int64_t size[] = {q.batch, q.rows, q.heads * v.size}, of_state[] = {k.batch, k.heads, k.size, v.size},
                  count = k.batch * k.heads * k.size * v.size;
    const struct tensor result = output_of(call, OUT, q_in.type, 3, size),
                        present = output_of(call, PRESENT, plan->state_type, 4, of_state);
    /* The kernel reads and writes states of floats where they are. */
    const bool wide = plan->state_type == ORT_F32;
    float *const before = wide || !past.data ? past.data : take(call, count * (int64_t)sizeof *before),
                 *const after = wide || !present.data ? present.data : take(call, count * (int64_t)sizeof *after);
    struct params params;
    if (call->status || !params_of(call, q.rows <= STEP_TOKENS ? plan->step : plan->kernel, &params)) return;
    if (past.data &&
        (past.axes != 4 || memcmp(past.size, of_state, sizeof of_state) != 0 || past.type != plan->state_type)) {
        fails(call, "past_state has another shape than [%lld, %lld, %lld, %lld]", (long long)of_state[0],
              (long long)of_state[1], (long long)of_state[2], (long long)of_state[3]);
        return;
    }
    if (past.data && !wide) to_wide(past.type, past.data, before, count);
    if (decay.data && !set_rates(call, &params, "gate", decay, &k, plan->by_element)) return;
    if (beta.data && !set_rates(call, &params, "rate", beta, &k, false)) return;
    const struct rows out = rows_of(call, "output", result, q.heads);
    /* With a decay or a rate, each head of q has its own sums. So the first heads of all groups are one call, and so
     * on. */
    const int64_t step = plan->own_sums ? q.heads / k.heads : 1;
    if (q.rows == 0 && after && before) memcpy(after, before, (size_t)count * sizeof *after);
    if (q.rows == 0 && after && !before) memset(after, 0, (size_t)count * sizeof *after);
    for (int64_t first = 0; first < step && q.rows > 0; first++)
        if (!extend(call, &params, q, &k, &v, out, first, step, before, first + 1 == step ? after : NULL)) return;
    if (present.data && !wide) to_narrow(present.type, after, present.data, count);
}

bool plan_linear(const struct settings *settings, const struct node *node, struct plan *plan)
{
    const struct declared *const q = &node->input[Q], *const v = &node->input[V], *const decay = &node->input[DECAY];
    char rule[32];
    if (!has_input(node, V) || !word_of(node, "update_rule", "gated_delta", rule, sizeof rule)) return false;
    const bool corrects = strcmp(rule, "delta") == 0 || strcmp(rule, "gated_delta") == 0,
               decays = strcmp(rule, "gated") == 0 || strcmp(rule, "gated_delta") == 0;
    if (!corrects && !decays && strcmp(rule, "linear") != 0) return false;
    if (has_input(node, DECAY) != decays || has_input(node, BETA) != corrects) return false;
    plan->heads = integer_of(node, "q_num_heads", 0);
    plan->kv_heads = integer_of(node, "kv_num_heads", 0);
    if (plan->heads < 1 || plan->kv_heads < 1 || plan->heads % plan->kv_heads) return false;
    if (q->axes != 3 || v->axes != 3 || q->size[2] < 1 || v->size[2] < 1 || q->size[2] % plan->heads ||
        v->size[2] % plan->kv_heads || !dtype_word(q->type) || q->type == ORT_F64)
        return false;
    for (int n = K; n <= BETA; n++)
        if (n != PAST && has_input(node, n) && node->input[n].type != q->type) return false;
    const int64_t head_dim = q->size[2] / plan->heads, value_dim = v->size[2] / plan->kv_heads;
    if (decays &&
        (decay->axes != 3 || (decay->size[2] != plan->kv_heads && decay->size[2] != plan->kv_heads * head_dim)))
        return false;
    plan->by_element = decays && decay->size[2] != plan->kv_heads;
    plan->own_sums = decays || corrects;
    plan->type = q->type;
    plan->state_type = has_input(node, PAST) ? node->input[PAST].type : q->type;
    if (!dtype_word(plan->state_type) || plan->state_type == ORT_F64) return false;
    plan->run = run_linear;
    const double scale = number_of(node, "scale", 0), factor = scale != 0 ? scale : 1 / sqrt((double)head_dim);
    const char *const narrow = q->type == ORT_F32 ? "" : q->type == ORT_F16 ? ", type: f16" : ", type: bf16";
    struct text text = {0};
    text_add(&text,
             "similarity: {linear: {features: identity}}\nmask: causal\nnormalize: none\n"
             "prepare: [{scale: {by: %.17g}}]\nshape: {head_dim: %lld, value_dim: %lld}\ndtype: %s\n"
             "emit: [forward, decode]\n",
             factor, (long long)head_dim, (long long)value_dim, dtype_word(q->type));
    if (decays) text_add(&text, "decay: {log: \"gate[b][g][t]%s\"}\n", plan->by_element ? "[d]" : "");
    if (corrects) text_add(&text, "delta: {rate: \"rate[b][g][t]\"}\n");
    if (decays || corrects) text_add(&text, "arrays: {");
    if (decays)
        text_add(&text, "gate: {shape: [B, G, Nk%s]%s}%s", plan->by_element ? ", D" : "", narrow, corrects ? ", " : "");
    if (corrects) text_add(&text, "rate: {shape: [B, G, Nk]%s}", narrow);
    if (decays || corrects) text_add(&text, "}\n");
    const int64_t tokens = q->size[1]; /* -1: they may differ from call to call */
    if (tokens < 0 || tokens > STEP_TOKENS) plan->kernel = text.failed ? NULL : kernel_of(settings, text.data);
    text_add(&text, "schedule: {chunk: 1}\n");
    if (tokens <= STEP_TOKENS) plan->step = text.failed ? NULL : kernel_of(settings, text.data);
    text_free(&text);
    if (!plan->step) plan->step = plan->kernel;
    if (!plan->kernel) plan->kernel = plan->step;
    return plan->kernel && plan->kernel->state_sums && plan->step->state_sums;
}
