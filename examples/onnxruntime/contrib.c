/* MultiHeadAttention and GroupQueryAttention of com.microsoft. */
#include "attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number_at(const void *data, int type, int64_t n)
{
    return type == ORT_F32    ? (double)((const float *)data)[n]
           : type == ORT_F16  ? attn_f16_value(((const uint16_t *)data)[n])
           : type == ORT_BF16 ? attn_bf16_value(((const uint16_t *)data)[n])
                              : (double)((const int32_t *)data)[n];
}

static void set_number_at(void *data, int type, int64_t n, double value)
{
    if (type == ORT_F32)
        ((float *)data)[n] = (float)value;
    else
        ((uint16_t *)data)[n] = type == ORT_F16 ? attn_f16(value) : attn_bf16(value);
}

static char *address(const struct rows *x, int64_t b, int64_t h, int64_t r, int64_t element)
{
    return x->data + (b * x->at.batch + h * x->at.head + r * x->at.row) * element;
}

/* Returns a contiguous copy of rows. */
static struct rows copied(struct call *call, const struct rows *from, int type)
{
    struct rows to = *from;
    to.at = (struct attn_strides){from->heads * from->rows * from->size, from->rows * from->size, from->size};
    to.data = take(call, from->batch * to.at.batch * bytes_of(type));
    if (to.data) copy_rows(&to, 0, from, bytes_of(type));
    return to;
}

/* ---- MultiHeadAttention ---- */

enum { QUERY, KEY, VALUE, BIAS, PADDING, ADDED, PAST_KEY, PAST_VALUE, PAST_LENGTH, INDIRECTION };
enum { OUT, PRESENT_KEY, PRESENT_VALUE, PRODUCTS };

/* Adds the part of a bias from `first` on to a copy of rows. */
static void add_bias(struct call *call, struct rows *x, struct tensor bias, int64_t first, int type)
{
    *x = copied(call, x, type);
    for (int64_t b = 0; !call->status && b < x->batch; b++)
        for (int64_t h = 0; h < x->heads; h++)
            for (int64_t r = 0; r < x->rows; r++)
                for (int64_t e = 0; e < x->size; e++) {
                    char *const row = address(x, b, h, r, bytes_of(type));
                    set_number_at(row, type, e,
                                  number_at(row, type, e) + number_at(bias.data, type, first + h * x->size + e));
                }
}

/* Returns what a padding mask adds to logits: [B, 1, 1 or Nq, Nk] of f32. */
static struct tensor added_by(struct call *call, struct tensor padding, int64_t batch, int64_t n_q, int64_t n_k)
{
    const bool lengths = padding.axes == 1, by_row = padding.axes == 3;
    const int64_t rows = by_row ? n_q : 1;
    struct tensor added = {.type = ORT_F32, .axes = 4, .size = {batch, 1, rows, n_k}};
    if (padding.type != ORT_I32 || padding.size[0] != batch || (padding.axes == 2 && padding.size[1] != n_k) ||
        (by_row && (padding.size[1] != n_q || padding.size[2] != n_k))) {
        fails(call, "key_padding_mask has another shape than [%lld], [%lld, %lld] or [%lld, %lld, %lld]",
              (long long)batch, (long long)batch, (long long)n_k, (long long)batch, (long long)n_q, (long long)n_k);
        return added;
    }
    float *const numbers = take(call, batch * rows * n_k * (int64_t)sizeof *numbers);
    const int32_t *const seen = padding.data;
    for (int64_t n = 0; numbers && n < batch * rows * n_k; n++) {
        const bool shown = lengths ? n % n_k < seen[n / n_k] : seen[n] != 0;
        numbers[n] = shown ? 0 : (float)call->plan->filter;
    }
    added.data = numbers;
    return added;
}

static void run_multi_head(struct call *call)
{
    const struct plan *const plan = call->plan;
    const struct tensor q_in = input_of(call, QUERY), k_in = input_of(call, KEY), v_in = input_of(call, VALUE),
                        bias = input_of(call, BIAS), padding = input_of(call, PADDING),
                        past_key = input_of(call, PAST_KEY), past_value = input_of(call, PAST_VALUE);
    struct tensor mask = input_of(call, ADDED);
    if (call->status) return;
    struct rows q = rows_of(call, "query", q_in, plan->heads), k = rows_of(call, "key", k_in, plan->heads),
                v = rows_of(call, "value", v_in, plan->heads);
    if (call->status) return;
    if (bias.data) {
        if (bias.axes != 1 || bias.size[0] != q.heads * (2 * q.size + v.size) || k.size != q.size) {
            fails(call, "bias must have %lld elements", (long long)(q.heads * (2 * q.size + v.size)));
            return;
        }
        add_bias(call, &q, bias, 0, q_in.type);
        add_bias(call, &k, bias, q.heads * q.size, q_in.type);
        add_bias(call, &v, bias, 2 * q.heads * q.size, q_in.type);
    }
    const int64_t past = past_key.data && past_key.axes == 4 ? past_key.size[2] : 0;
    if (call->status || !rows_with_past(call, &k, past_key, PRESENT_KEY, k_in.type) ||
        !rows_with_past(call, &v, past_value, PRESENT_VALUE, v_in.type))
        return;
    struct range range;
    if (!range_of(call, q.batch, past, k.rows, &range)) return;
    if (padding.data) mask = added_by(call, padding, q.batch, q.rows, k.rows);
    const int64_t size[] = {q.batch, q.rows, q.heads * v.size};
    const struct tensor result = output_of(call, OUT, q_in.type, 3, size), none = {0};
    if (call->status) return;
    compute_attention(call, &range, q, k, v, mask, NULL, none, rows_of(call, "output", result, q.heads));
}

bool plan_multi_head(const struct settings *settings, const struct node *node, struct plan *plan)
{
    const struct declared *const q = &node->input[QUERY], *const k = &node->input[KEY], *const v = &node->input[VALUE];
    if (!has_input(node, VALUE) || !has_input(node, KEY) || q->axes != 3 || (k->axes != 3 && k->axes != 4) ||
        k->axes != v->axes || k->type != q->type || v->type != q->type || has_input(node, PAST_LENGTH) ||
        has_input(node, INDIRECTION) || has_output(node, PRODUCTS) || q->type == ORT_F64)
        return false;
    if (has_input(node, BIAS) && (k->axes != 3 || node->input[BIAS].type != q->type)) return false;
    if (has_input(node, PADDING) && has_input(node, ADDED)) return false; /* two arrays that are added */
    plan->heads = integer_of(node, "num_heads", 0);
    plan->causal = integer_of(node, "unidirectional", 0);
    plan->filter = number_of(node, "mask_filter_value", -10000);
    plan->left = plan->right = -1;
    plan->type = q->type;
    plan->run = run_multi_head;
    if (plan->heads < 1 || last_size(q) < 1 || last_size(v) < 1 || last_size(q) % plan->heads ||
        (v->axes == 3 && last_size(v) % plan->heads))
        return false;
    struct traits traits = {.type = q->type,
                            .head_dim = last_size(q) / plan->heads,
                            .value_dim = v->axes == 3 ? last_size(v) / plan->heads : last_size(v),
                            .mode = NO_WEIGHTS};
    if (has_input(node, ADDED)) {
        traits.mask = node->input[ADDED].type;
        if (!may_be_added(traits.mask, q->type)) return false;
    }
    if (has_input(node, PADDING)) {
        const int axes = node->input[PADDING].axes;
        const int64_t batch = q->size[0], elements = node->input[PADDING].size[0];
        if (axes < 1 || axes > 3) return false;
        if (axes == 1 && (batch < 1 || elements != batch)) return false; /* otherwise it may be the format of 3 B + 2 */
        traits.mask = ORT_F32;
    }
    const double scale = number_of(node, "scale", 0);
    plan->scale = scale != 0 ? scale : 1 / sqrt((double)traits.head_dim);
    return find_kernel(settings, &traits, plan);
}

/* ---- GroupQueryAttention ---- */

enum { LAST = 5, TOTAL, COS, SIN, POSITIONS, GROUP_ADDED, SINK, FIRST_OTHER };

/* The lengths of a call: for each sequence, the tokens before it. */
struct lengths {
    int64_t *before, total;
    bool prompt; /* all tokens are new */
};

static bool read_lengths(struct call *call, int64_t batch, int64_t n, int64_t capacity, struct lengths *lengths)
{
    const struct tensor last = input_of(call, LAST), total = input_of(call, TOTAL);
    int64_t elements = 1;
    for (int k = 0; k < last.axes; k++) elements *= last.size[k];
    if (call->status) return false;
    if (!last.data || !total.data || last.type != ORT_I32 || total.type != ORT_I32 || elements != batch)
        return fails(call, "seqlens_k and total_sequence_length must be int32, of %lld elements and of one",
                     (long long)batch);
    lengths->total = *(const int32_t *)total.data;
    lengths->prompt = lengths->total == n;
    lengths->before = take(call, (batch + 1) * (int64_t)sizeof(int64_t));
    if (call->status) return false;
    if (lengths->total < n)
        return fails(call, "total_sequence_length is %lld, and there are %lld new tokens", (long long)lengths->total,
                     (long long)n);
    for (int64_t b = 0; b < batch; b++) {
        const int64_t of_sequence = (int64_t)((const int32_t *)last.data)[b] + 1;
        lengths->before[b] = lengths->prompt ? 0 : of_sequence - n;
        if (of_sequence < 0 || of_sequence > lengths->total || lengths->before[b] < 0 || lengths->before[b] > capacity)
            return fails(
                call, "seqlens_k[%lld] is %lld; with %lld new tokens, %lld past ones and a total of %lld it cannot be",
                (long long)b, (long long)(of_sequence - 1), (long long)n, (long long)capacity,
                (long long)lengths->total);
    }
    return true;
}

/* Rotates the pairs of rows, which are contiguous, by their positions. */
static bool rotate(struct call *call, const struct rows *x, struct tensor cosines, struct tensor sines,
                   struct tensor positions, const struct lengths *lengths, int type)
{
    const int64_t half = cosines.axes == 2 ? cosines.size[1] : 0;
    if (cosines.axes != 2 || sines.axes != 2 || sines.size[1] != half || 2 * half > x->size || half < 1)
        return fails(call, "cos_cache and sin_cache must have rows of at most %lld elements", (long long)(x->size / 2));
    if (positions.data && (positions.type != ORT_I64 || positions.axes != 2 || positions.size[0] != x->batch ||
                           positions.size[1] != x->rows))
        return fails(call, "position_ids must be int64 of shape [%lld, %lld]", (long long)x->batch, (long long)x->rows);
    const int64_t *const given = positions.data;
    for (int64_t b = 0; b < x->batch; b++)
        for (int64_t r = 0; r < x->rows; r++) {
            const int64_t at = !given            ? lengths->before[b] + r
                               : lengths->prompt ? given[0] + r
                                                 : given[b * x->rows + r];
            if (at < 0 || at >= cosines.size[0] || at >= sines.size[0])
                return fails(call, "position %lld is not in cos_cache and sin_cache", (long long)at);
            for (int64_t h = 0; h < x->heads; h++) {
                char *const row = address(x, b, h, r, bytes_of(type));
                for (int64_t t = 0; t < half; t++) {
                    const int64_t first = call->plan->interleaved ? 2 * t : t,
                                  second = call->plan->interleaved ? 2 * t + 1 : t + half;
                    const double c = number_at(cosines.data, type, at * half + t),
                                 s = number_at(sines.data, type, at * half + t), u = number_at(row, type, first),
                                 w = number_at(row, type, second);
                    set_number_at(row, type, first, u * c - w * s);
                    set_number_at(row, type, second, w * c + u * s);
                }
            }
        }
    return true;
}

/* Returns the rows of all tokens, in the output if the node has it. */
static struct rows joined(struct call *call, const struct rows *new_rows, struct tensor past, int output, int64_t room,
                          const struct lengths *lengths, int type)
{
    const int64_t size[] = {new_rows->batch, new_rows->heads, room, new_rows->size}, element = bytes_of(type);
    struct tensor present = output_of(call, output, type, 4, size);
    struct rows all = {0}, before = {0};
    if (!call->status && !present.data) {
        memcpy(present.size, size, sizeof size);
        present.data = take(call, size[0] * size[1] * size[2] * size[3] * element);
    }
    if (call->status) return all;
    all = rows_of(call, "present", present, 0);
    if (past.data) before = rows_of(call, "past", past, 0);
    if (past.data && (past.axes != 4 || past.type != type || before.batch != all.batch || before.heads != all.heads ||
                      before.size != all.size)) {
        fails(call, "past_key or past_value has another shape than [%lld, %lld, …, %lld]", (long long)all.batch,
              (long long)all.heads, (long long)all.size);
        return all;
    }
    for (int64_t b = 0; b < all.batch; b++)
        for (int64_t h = 0; h < all.heads; h++) {
            const int64_t kept = lengths->before[b], bytes = all.size * element;
            char *const to = address(&all, b, h, 0, element);
            if (kept > 0 && before.data != all.data)
                memcpy(to, address(&before, b, h, 0, element), (size_t)(kept * bytes));
            for (int64_t r = 0; r < new_rows->rows; r++)
                memcpy(to + (kept + r) * bytes, address(new_rows, b, h, r, element), (size_t)bytes);
            if (before.data != all.data)
                memset(to + (kept + new_rows->rows) * bytes, 0, (size_t)((room - kept - new_rows->rows) * bytes));
        }
    return all;
}

static void run_group_query(struct call *call)
{
    const struct plan *const plan = call->plan;
    const struct tensor q_in = input_of(call, QUERY), k_in = input_of(call, KEY), v_in = input_of(call, VALUE),
                        past_key = input_of(call, 3), past_value = input_of(call, 4), cosines = input_of(call, COS),
                        sines = input_of(call, SIN), positions = input_of(call, POSITIONS),
                        mask = input_of(call, GROUP_ADDED), sink = input_of(call, SINK);
    const int type = q_in.type;
    const bool packed = !k_in.data;
    if (call->status) return;
    struct rows q = rows_of(call, "query", q_in, packed ? plan->heads + 2 * plan->kv_heads : plan->heads), k = q, v = q;
    if (packed) {
        const int64_t bytes = q.at.head * bytes_of(type);
        q.heads = plan->heads;
        k.heads = v.heads = plan->kv_heads;
        k.data += plan->heads * bytes;
        v.data += (plan->heads + plan->kv_heads) * bytes;
    } else {
        k = rows_of(call, "key", k_in, plan->kv_heads);
        v = rows_of(call, "value", v_in, plan->kv_heads);
    }
    struct lengths lengths = {0};
    const int64_t capacity = past_key.data && past_key.axes == 4 ? past_key.size[2] : 0;
    if (call->status || !read_lengths(call, q.batch, q.rows, capacity, &lengths)) return;
    if (k.batch != q.batch || v.batch != q.batch || k.rows != q.rows || v.rows != q.rows || k.size != q.size) {
        fails(call, "query, key and value have other batches, lengths or heads than each other");
        return;
    }
    if (plan->rotates) {
        q = copied(call, &q, type);
        k = copied(call, &k, type);
        if (call->status || !rotate(call, &q, cosines, sines, positions, &lengths, type) ||
            !rotate(call, &k, cosines, sines, positions, &lengths, type))
            return;
    }
    const int64_t room = lengths.total > capacity ? lengths.total : capacity;
    struct rows keys = joined(call, &k, past_key, PRESENT_KEY, room, &lengths, type),
                values = joined(call, &v, past_value, PRESENT_VALUE, room, &lengths, type);
    struct range range;
    if (call->status || !range_of(call, q.batch, 0, room, &range)) return;
    for (int64_t b = 0; b < q.batch; b++) {
        range.at[b] = (int32_t)lengths.before[b];
        range.until[b] = (int32_t)(lengths.before[b] + q.rows);
    }
    keys.rows = values.rows = lengths.total;
    float *sinks = NULL;
    if (plan->sinks) {
        if (sink.data && (sink.axes != 1 || sink.size[0] != q.heads)) {
            fails(call, "head_sink must have %lld elements", (long long)q.heads);
            return;
        }
        sinks = take(call, (q.heads + 1) * (int64_t)sizeof *sinks);
        for (int64_t h = 0; sinks && h < q.heads; h++)
            sinks[h] = sink.data ? (float)number_at(sink.data, sink.type, h) : 0;
    }
    const int64_t size[] = {q.batch, q.rows, q.heads * v.size};
    const struct tensor result = output_of(call, OUT, type, 3, size), none = {0};
    if (call->status) return;
    compute_attention(call, &range, q, keys, values, mask, sinks, none, rows_of(call, "output", result, q.heads));
}

bool plan_group_query(const struct settings *settings, const struct node *node, struct plan *plan)
{
    const struct declared *const q = &node->input[QUERY];
    const bool packed = !has_input(node, KEY);
    for (int n = FIRST_OTHER; n < node->inputs; n++)
        if (has_input(node, n)) return false; /* stored types, norms, lengths of queries */
    if (has_output(node, PRODUCTS) || integer_of(node, "sliding_window_cache", 0) || integer_of(node, "qk_output", 0))
        return false;
    if (has_input(node, VALUE) == packed || q->type == ORT_F64 || q->axes != 3) return false;
    if ((has_input(node, 3) && node->input[3].type != q->type) || has_input(node, 3) != has_input(node, 4))
        return false;
    plan->heads = integer_of(node, "num_heads", 0);
    plan->kv_heads = integer_of(node, "kv_num_heads", 0);
    plan->causal = integer_of(node, "causal", 1);
    const int64_t window = integer_of(node, "local_window_size", -1); /* keys that a query sees, with its own */
    plan->left = window > 0 ? window - 1 : -1;
    plan->right = -1;
    plan->cap = number_of(node, "softcap", 0);
    plan->rotates = integer_of(node, "do_rotary", 0);
    plan->interleaved = integer_of(node, "rotary_interleaved", 0);
    plan->sinks = has_input(node, SINK) || integer_of(node, "smooth_softmax", 0) == 1;
    plan->type = q->type;
    plan->run = run_group_query;
    if (plan->rotates && (!has_input(node, COS) || !has_input(node, SIN) || node->input[COS].type != q->type ||
                          node->input[SIN].type != q->type))
        return false;
    const int64_t parts = plan->heads + (packed ? 2 * plan->kv_heads : 0);
    if (plan->heads < 1 || plan->kv_heads < 1 || plan->heads % plan->kv_heads || last_size(q) < 1 ||
        last_size(q) % parts)
        return false;
    const int64_t head_dim = last_size(q) / parts;
    struct traits traits = {.type = q->type,
                            .head_dim = head_dim,
                            .value_dim = head_dim,
                            .cap = plan->cap != 0,
                            .sink = plan->sinks,
                            .mode = NO_WEIGHTS};
    if (has_input(node, GROUP_ADDED)) {
        traits.mask = node->input[GROUP_ADDED].type;
        if (!may_be_added(traits.mask, q->type)) return false;
    }
    const double scale = number_of(node, "scale", 0);
    plan->scale = scale != 0 ? scale : 1 / sqrt((double)head_dim);
    return find_kernel(settings, &traits, plan);
}
