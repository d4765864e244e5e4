/* Attention of ONNX, opsets 23 to 25: softmax attention with a scale, a cap of the logits, windows, a mask, keys and
   values of earlier calls, valid lengths, and the products or weights as an output. */
#include "attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };
enum { OUT, PRESENT_KEY, PRESENT_VALUE, PRODUCTS };

/* ---- what all operators with softmax share ---- */

bool rows_with_past(struct call *call, struct rows *new_rows, struct tensor past, int output, int type)
{
    const int64_t element = bytes_of(type);
    struct rows before = {.at.row = 0};
    if (past.data) {
        before = rows_of(call, "past", past, new_rows->heads);
        if (call->status) return false;
        if (past.axes != 4 || before.batch != new_rows->batch || before.heads != new_rows->heads ||
            before.size != new_rows->size)
            return fails(call,
                         "past keys or values are [%lld, %lld, %lld, %lld], and those of the call [%lld, %lld, %lld, "
                         "%lld]",
                         (long long)before.batch, (long long)before.heads, (long long)before.rows,
                         (long long)before.size, (long long)new_rows->batch, (long long)new_rows->heads,
                         (long long)new_rows->rows, (long long)new_rows->size);
    }
    const int64_t size[] = {new_rows->batch, new_rows->heads, before.rows + new_rows->rows, new_rows->size};
    struct tensor present = output_of(call, output, type, 4, size);
    if (call->status) return false;
    if (!present.data) {
        if (!past.data) return true;
        present = (struct tensor){.type = type, .axes = 4};
        memcpy(present.size, size, sizeof size);
        present.data = take(call, size[0] * size[1] * size[2] * size[3] * element);
        if (!present.data) return false;
    }
    const struct rows all = rows_of(call, "present", present, 0);
    if (past.data && past.data != present.data) copy_rows(&all, 0, &before, element);
    copy_rows(&all, before.rows, new_rows, element);
    *new_rows = all;
    return true;
}

struct tensor padded(struct call *call, struct tensor mask, int64_t n_k)
{
    const int64_t element = bytes_of(mask.type), have = mask.size[mask.axes - 1];
    int64_t rows = 1;
    for (int n = 0; n < mask.axes - 1; n++) rows *= mask.size[n];
    char *const made = take(call, rows * n_k * element);
    if (!made) return mask;
    static const uint16_t f16 = 0xfc00, bf16 = 0xff80;
    static const float f32 = -INFINITY;
    static const double f64 = -INFINITY;
    static const char no = 0;
    const void *const hidden = mask.type == ORT_F16    ? (const void *)&f16
                               : mask.type == ORT_BF16 ? (const void *)&bf16
                               : mask.type == ORT_F32  ? (const void *)&f32
                               : mask.type == ORT_F64  ? (const void *)&f64
                                                       : (const void *)&no;
    for (int64_t r = 0; r < rows; r++) {
        char *const row = made + r * n_k * element;
        memcpy(row, (char *)mask.data + r * have * element, (size_t)(have * element));
        for (int64_t j = have; j < n_k; j++) memcpy(row + j * element, hidden, (size_t)element);
    }
    mask.data = made;
    mask.size[mask.axes - 1] = n_k;
    return mask;
}

/* ---- a call of a kernel ---- */

static bool attend(struct call *call, struct range *range, struct rows q, struct rows k, struct rows v,
                   struct tensor mask, const void *sinks, struct tensor weights, struct rows out)
{
    const struct plan *const plan = call->plan;
    struct params params;
    if (call->status || !params_of(call, plan->kernel, &params)) return false;
    if (q.batch != k.batch || k.batch != v.batch || k.heads != v.heads || k.rows != v.rows || q.size != k.size ||
        k.heads < 1 || q.heads % k.heads || q.size != plan->kernel->head_dim || v.size != plan->kernel->value_dim)
        return fails(call,
                     "queries, keys and values are [%lld, %lld, %lld, %lld], [%lld, %lld, %lld, %lld] and [%lld, %lld, "
                     "%lld, %lld], and the kernel is for heads of %lld and values of %lld",
                     (long long)q.batch, (long long)q.heads, (long long)q.rows, (long long)q.size, (long long)k.batch,
                     (long long)k.heads, (long long)k.rows, (long long)k.size, (long long)v.batch, (long long)v.heads,
                     (long long)v.rows, (long long)v.size, (long long)plan->kernel->head_dim,
                     (long long)plan->kernel->value_dim);
    if (k.rows >= FAR || q.rows >= FAR) return fails(call, "more than %d keys or queries", FAR);
    if (mask.data && mask.axes > 0 && mask.size[mask.axes - 1] < k.rows && mask.size[mask.axes - 1] != 1) {
        if (weights.data)
            mask = padded(call, mask, k.rows);
        else
            k.rows = v.rows = mask.size[mask.axes - 1];
    }
    const int64_t pairs[] = {q.batch, q.heads, q.rows, k.rows};
    if (mask.data && !set_broadcast(call, &params, mask.type == ORT_BOOL ? "seen" : "extra", mask, pairs, 4))
        return false;
    set_number(call, &params, "scale", plan->scale);
    set_number(call, &params, "cap", plan->cap);
    set_number(call, &params, "none", -INFINITY);
    set_number(call, &params, "left", (double)(plan->left < 0 || plan->left >= FAR ? FAR : plan->left + 1));
    set_number(call, &params, "right",
               (double)(plan->causal                           ? 0
                        : plan->right < 0 || plan->right > FAR ? FAR
                                                               : plan->right));
    static const int64_t contiguous[] = {1};
    set_array(&params, "at", range->at, contiguous);
    set_array(&params, "since", range->since, contiguous);
    set_array(&params, "until", range->until, contiguous);
    set_array(&params, "sink", sinks, sinks ? contiguous : NULL);
    for (int n = 0; n < plan->constants; n++) set_array(&params, plan->constant[n].name, plan->constant[n].data, NULL);
    struct attn_problem problem = {.weights = weights.data};
    return !call->status && forward(call, &params, &problem, &q, &k, &v, &out);
}

/* ---- calls of other types in f64 (softmax_precision) ---- */

static double read_number(const void *data, int type, int64_t n)
{
    return type == ORT_F32   ? (double)((const float *)data)[n]
           : type == ORT_F16 ? attn_f16_value(((const uint16_t *)data)[n])
                             : attn_bf16_value(((const uint16_t *)data)[n]);
}

static void write_number(void *data, int type, int64_t n, double value)
{
    if (type == ORT_F32)
        ((float *)data)[n] = (float)value;
    else
        ((uint16_t *)data)[n] = type == ORT_F16 ? attn_f16(value) : attn_bf16(value);
}

/* Returns contiguous rows of f64, with the numbers of `from`, or without numbers if `type` is ORT_UNDEFINED. */
static struct rows widened(struct call *call, const struct rows *from, int type)
{
    struct rows to = *from;
    to.at = (struct attn_strides){from->heads * from->rows * from->size, from->rows * from->size, from->size};
    to.data = take(call, from->batch * to.at.batch * (int64_t)sizeof(double));
    double *next = (double *)to.data;
    for (int64_t b = 0; next && type && b < from->batch; b++)
        for (int64_t h = 0; h < from->heads; h++)
            for (int64_t r = 0; r < from->rows; r++)
                for (int64_t e = 0; e < from->size; e++)
                    *next++ = read_number(from->data, type,
                                          b * from->at.batch + h * from->at.head + r * from->at.row + e);
    return to;
}

static void narrow(const struct rows *from, const struct rows *to, int type)
{
    const double *next = (const double *)from->data;
    for (int64_t b = 0; b < to->batch; b++)
        for (int64_t h = 0; h < to->heads; h++)
            for (int64_t r = 0; r < to->rows; r++)
                for (int64_t e = 0; e < to->size; e++)
                    write_number(to->data, type, b * to->at.batch + h * to->at.head + r * to->at.row + e, *next++);
}

static bool attend_wide(struct call *call, struct range *range, struct rows q, struct rows k, struct rows v,
                        struct tensor mask, struct tensor weights, struct rows out)
{
    const int type = call->plan->type;
    const struct rows wide_out = widened(call, &out, ORT_UNDEFINED);
    struct tensor wide_weights = {0};
    int64_t pairs = 1, elements = 1;
    for (int n = 0; n < weights.axes; n++) pairs *= weights.size[n];
    if (weights.data) wide_weights = (struct tensor){take(call, pairs * 8), ORT_F64, 4, {0}};
    if (mask.data && mask.type != ORT_BOOL) {
        for (int n = 0; n < mask.axes; n++) elements *= mask.size[n];
        double *const numbers = take(call, elements * (int64_t)sizeof *numbers);
        for (int64_t n = 0; numbers && n < elements; n++) numbers[n] = read_number(mask.data, mask.type, n);
        mask.data = numbers;
        mask.type = ORT_F64;
    }
    q = widened(call, &q, type);
    k = widened(call, &k, type);
    v = widened(call, &v, type);
    if (call->status || !attend(call, range, q, k, v, mask, NULL, wide_weights, wide_out)) return false;
    narrow(&wide_out, &out, type);
    for (int64_t n = 0; weights.data && n < pairs; n++)
        write_number(weights.data, type, n, ((const double *)wide_weights.data)[n]);
    return true;
}

bool compute_attention(struct call *call, struct range *range, struct rows q, struct rows k, struct rows v,
                       struct tensor mask, const void *sinks, struct tensor weights, struct rows out)
{
    return call->plan->wide ? attend_wide(call, range, q, k, v, mask, weights, out)
                            : attend(call, range, q, k, v, mask, sinks, weights, out);
}

bool range_of(struct call *call, int64_t batch, int64_t at, int64_t until, struct range *range)
{
    range->at = take(call, (batch + 1) * (int64_t)sizeof(int32_t));
    range->since = take(call, (batch + 1) * (int64_t)sizeof(int32_t));
    range->until = take(call, (batch + 1) * (int64_t)sizeof(int32_t));
    if (call->status) return false;
    if (at >= FAR || until >= FAR) return fails(call, "more than %d keys", FAR);
    for (int64_t b = 0; b < batch; b++) {
        range->at[b] = (int32_t)at;
        range->since[b] = 0;
        range->until[b] = (int32_t)until;
    }
    return true;
}

int64_t last_size(const struct declared *d)
{
    return d->axes > 0 ? d->size[d->axes - 1] : -1;
}

bool find_kernel(const struct settings *settings, const struct traits *traits, struct plan *plan)
{
    if (traits->head_dim < 1 || traits->value_dim < 1 || !dtype_word(traits->type)) return false;
    struct traits made = *traits;
    if (plan->wide) made.type = ORT_F64;
    if (plan->wide && made.mask && made.mask != ORT_BOOL) made.mask = ORT_F64;
    char *const spec = spec_of(&made);
    plan->kernel = spec ? kernel_of(settings, spec) : NULL;
    plan->head_dim = traits->head_dim;
    plan->value_dim = traits->value_dim;
    free(spec);
    return plan->kernel;
}

/* ---- Attention ---- */

static void run_attention(struct call *call)
{
    const struct plan *const plan = call->plan;
    const struct tensor q_in = input_of(call, Q), k_in = input_of(call, K), v_in = input_of(call, V),
                        mask = input_of(call, MASK), past_key = input_of(call, PAST_KEY),
                        past_value = input_of(call, PAST_VALUE), lengths = input_of(call, LENGTHS);
    if (call->status) return;
    const struct rows q = rows_of(call, "Q", q_in, plan->heads);
    struct rows k = rows_of(call, "K", k_in, plan->kv_heads), v = rows_of(call, "V", v_in, plan->kv_heads);
    if (call->status) return;
    const int64_t past = past_key.data && past_key.axes == 4 ? past_key.size[2] : 0;
    if (!rows_with_past(call, &k, past_key, PRESENT_KEY, k_in.type) ||
        !rows_with_past(call, &v, past_value, PRESENT_VALUE, v_in.type))
        return;
    struct range range;
    if (!range_of(call, q.batch, past, k.rows, &range)) return;
    if (lengths.data) {
        if (lengths.type != ORT_I64 || lengths.axes != 1 || lengths.size[0] != q.batch) {
            fails(call, "nonpad_kv_seqlen must be int64 of shape [%lld]", (long long)q.batch);
            return;
        }
        for (int64_t b = 0; b < q.batch; b++) {
            const int64_t length = ((const int64_t *)lengths.data)[b];
            if (length < 0 || length > k.rows) {
                fails(call, "nonpad_kv_seqlen[%lld] is %lld; expected 0 to %lld", (long long)b, (long long)length,
                      (long long)k.rows);
                return;
            }
            range.until[b] = (int32_t)length;
            if (!past_key.data) range.at[b] = (int32_t)(length - q.rows);
        }
    }
    const int64_t in_rows[] = {q.batch, q.rows, q.heads * v.size}, by_head[] = {q.batch, q.heads, q.rows, v.size};
    const struct tensor result = output_of(call, OUT, q_in.type, q_in.axes, q_in.axes == 3 ? in_rows : by_head);
    const int64_t pairs[] = {q.batch, q.heads, q.rows, k.rows};
    const struct tensor weights = output_of(call, PRODUCTS, q_in.type, 4, pairs);
    if (call->status) return;
    compute_attention(call, &range, q, k, v, mask, NULL, weights, rows_of(call, "Y", result, q.heads));
}

/* Returns true if a mask of this type may be added to logits of queries. */
bool may_be_added(int mask, int queries)
{
    return (mask == ORT_F64) == (queries == ORT_F64) && (mask == ORT_F32 || mask == ORT_F64 || mask == queries);
}

bool plan_attention(const struct settings *settings, const struct node *node, struct plan *plan)
{
    const struct declared *const q = &node->input[Q], *const k = &node->input[K], *const v = &node->input[V];
    const int64_t precision = integer_of(node, "softmax_precision", ORT_F32);
    if (!has_input(node, V) || q->type != k->type || q->type != v->type) return false;
    plan->type = q->type;
    plan->wide = precision == ORT_F64 && q->type != ORT_F64;
    plan->heads = integer_of(node, "q_num_heads", 0);
    plan->kv_heads = integer_of(node, "kv_num_heads", 0);
    plan->causal = integer_of(node, "is_causal", 0);
    plan->left = integer_of(node, "left_window_size", -1);
    plan->right = integer_of(node, "right_window_size", -1);
    plan->cap = number_of(node, "softcap", 0);
    plan->run = run_attention;
    const bool in_rows = q->axes == 3;
    if (in_rows &&
        (plan->heads < 1 || plan->kv_heads < 1 || last_size(q) % plan->heads || last_size(v) % plan->kv_heads))
        return false;
    struct traits traits = {.type = q->type,
                            .head_dim = in_rows ? last_size(q) / plan->heads : last_size(q),
                            .value_dim = v->axes == 3 ? last_size(v) / plan->kv_heads : last_size(v),
                            .cap = plan->cap != 0,
                            .mode = NO_WEIGHTS};
    if (last_size(q) < 1 || last_size(v) < 1) return false;
    if (has_output(node, PRODUCTS)) traits.mode = (int)integer_of(node, "qk_matmul_output_mode", 0);
    if (traits.mode < NO_WEIGHTS || traits.mode > WEIGHTS) return false;
    if (has_input(node, MASK)) {
        traits.mask = node->input[MASK].type;
        if (traits.mask != ORT_BOOL && !may_be_added(traits.mask, q->type)) return false;
    }
    plan->scale = number_of(node, "scale", 1 / sqrt((double)traits.head_dim));
    return find_kernel(settings, &traits, plan);
}
