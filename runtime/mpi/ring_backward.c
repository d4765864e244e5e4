/* Gradients of quadratic forms over ranks. Keys and values travel as in forward. Each rank computes the gradients of
   its queries and of the keys that it has, from the statistics of the rows over all keys, and sends the gradients of
   keys back to their rank. That rank adds them in a fixed order, and the ranks add gradients of parameters in the order
   of the ranks. */
#include "ring.h"

#include <math.h>
#include <string.h>

/* The bytes of the parts of the workspace that forward has not. */
struct backward_sizes {
    size_t dq, dk, dv, saved;
};
struct backward {
    struct backward_sizes sizes;
    unsigned char *dq, *dk, *dv;              /* gradients of a piece */
    unsigned char *received_dk, *received_dv; /* those of a piece of the rank's own keys */
    unsigned char *saved;
    struct ring_gradients gradients;
};

int ring_backward_check(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    if (!kernel->backward || (!kernel->saved_power && kernel->statistics != ATTN_UNDIVIDED)) return ATTN_EFOLD;
    struct attn_problem without = *problem;
    without.saved = NULL;
    const int error = ring_check(kernel, &without);
    if (error) return error;
    return problem->statistics || kernel->statistics == ATTN_UNDIVIDED ? 0 : ATTN_EPOINTER;
}

static struct ring_sizes sizes_of_ring(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    const struct layout layout = ring_layout(kernel, p);
    struct attn_problem piece = *p;
    piece.n_k = piece_of_runs(kernel);
    piece.k = piece.v = piece.dk = piece.dv = (struct attn_strides){0, 0, 0};
    return (struct ring_sizes){
        .params = slice_params_bytes(kernel),
        .lists = lists_bytes(kernel, p),
        .starts = whole_lines(bytes_times((size_t)p->batch, sizeof(int64_t))),
        .buffer = whole_lines(bytes_times(layout.bytes, (size_t)piece.n_k)),
        .had_sink = ring_sink_bytes(kernel, p),
        .decay = decay_bytes(kernel, p, true),
        .kernel = whole_lines(larger(larger(kernel->backward_workspace(p), kernel->backward_workspace(&piece)),
                                     decay_workspace(kernel, p)))};
}

static struct backward_sizes sizes_of_backward(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    const size_t size = attn_dtype_size(kernel->dtype), piece = (size_t)piece_of_runs(kernel), batch = (size_t)p->batch,
                 heads_q = (size_t)(p->key_heads ? p->key_heads : p->heads);
    struct backward_sizes s = {
        .dq = whole_lines(
            bytes_times(bytes_times(batch, heads_q), bytes_times((size_t)p->n_q, size * (size_t)kernel->head_dim))),
        .dk = whole_lines(bytes_times(bytes_times(batch, (size_t)ring_heads_of_keys(p)),
                                      bytes_times(piece, size * (size_t)kernel->head_dim))),
        .dv = whole_lines(
            bytes_times(bytes_times(batch, (size_t)p->kv_heads), bytes_times(piece, size * (size_t)kernel->value_dim))),
        .saved = whole_lines(bytes_times(ring_rows(p), ring_statistics_size(kernel)))};
    return s;
}

size_t ring_backward_workspace(const struct attn_kernel *kernel, const struct attn_problem *filled)
{
    const struct ring_sizes s = sizes_of_ring(kernel, filled);
    const struct backward_sizes b = sizes_of_backward(kernel, filled);
    const struct ring_gradients gradients = ring_gradients_of(kernel, filled);
    if (!s.kernel) return SIZE_MAX;
    size_t bytes = bytes_plus(bytes_plus(s.params, s.lists), bytes_plus(s.starts, bytes_times(RING_BUFFERS, s.buffer)));
    bytes = bytes_plus(bytes, bytes_plus(b.dq, bytes_times(2, bytes_plus(b.dk, b.dv))));
    bytes = bytes_plus(bytes, bytes_plus(b.saved, ring_gradients_bytes(&gradients)));
    return bytes_plus(bytes, bytes_plus(bytes_plus(s.had_sink, s.decay), s.kernel));
}

static void place(struct ring *x, struct backward *b)
{
    unsigned char *at = x->call->workspace;
    const struct {
        unsigned char **to;
        size_t bytes;
    } part[] = {{&x->params, x->sizes.params},
                {&x->buffer[0], x->sizes.buffer},
                {&x->buffer[1], x->sizes.buffer},
                {&b->dq, b->sizes.dq},
                {&b->dk, b->sizes.dk},
                {&b->dv, b->sizes.dv},
                {&b->received_dk, b->sizes.dk},
                {&b->received_dv, b->sizes.dv},
                {&b->saved, b->sizes.saved}};
    for (size_t k = 0; k < sizeof part / sizeof *part; k++, at += part[k - 1].bytes) *part[k].to = at;
    ring_gradients_place(&b->gradients, at);
    at += ring_gradients_bytes(&b->gradients);
    x->lists = (int32_t *)(void *)at;
    at += x->sizes.lists;
    x->starts = (int64_t *)(void *)at;
    x->had_sink = at + x->sizes.starts;
    memset(x->had_sink, 0, x->sizes.had_sink);
    decay_place(x, x->had_sink + x->sizes.had_sink, true);
    x->work = x->had_sink + x->sizes.had_sink + x->sizes.decay;
}

/* ---- adding gradients ---- */

void ring_add_elements(void *to, const void *from, int64_t n, enum attn_dtype dtype)
{
    for (int64_t k = 0; k < n; k++) {
        const uint16_t *const half = (const uint16_t *)from;
        uint16_t *const sum = (uint16_t *)to;
        if (dtype == ATTN_F64)
            ((double *)to)[k] += ((const double *)from)[k];
        else if (dtype == ATTN_F32)
            ((float *)to)[k] += ((const float *)from)[k];
        else if (dtype == ATTN_BF16)
            sum[k] = attn_bf16(attn_bf16_value(sum[k]) + attn_bf16_value(half[k]));
        else
            sum[k] = attn_f16(attn_f16_value(sum[k]) + attn_f16_value(half[k]));
    }
}

/* An array [batch, heads, rows, elements] with strides. */
struct gradient {
    void *data;
    struct attn_strides at;
    int64_t heads, elements;
};

static unsigned char *row_of(const struct ring *x, const struct gradient *g, int64_t b, int64_t h, int64_t row)
{
    const int64_t at = b * g->at.batch + h * g->at.head + row * g->at.row;
    return (unsigned char *)g->data + at * (int64_t)attn_dtype_size(x->call->kernel->dtype);
}

/* Adds a contiguous array of n rows to rows first … first + n - 1, or sets these rows to 0 if `from` is NULL. */
static void add_rows(const struct ring *x, const struct gradient *to, int64_t first, int64_t n, const void *from)
{
    const enum attn_dtype dtype = x->call->kernel->dtype;
    const size_t bytes = (size_t)to->elements * attn_dtype_size(dtype);
    const unsigned char *row = (const unsigned char *)from;
    if (!to->data) return;
    for (int64_t b = 0; b < x->own.batch; b++)
        for (int64_t h = 0; h < to->heads; h++)
            for (int64_t r = first; r < first + n; r++) {
                if (!from)
                    memset(row_of(x, to, b, h, r), 0, bytes);
                else
                    ring_add_elements(row_of(x, to, b, h, r), row, to->elements, dtype);
                if (from) row += bytes;
            }
}

static struct gradient gradient_q(const struct ring *x)
{
    const struct attn_problem *const p = &x->own;
    return (struct gradient){x->call->dq, p->dq, p->key_heads ? p->key_heads : p->heads, x->call->kernel->head_dim};
}

static struct gradient gradient_k(const struct ring *x)
{
    return (struct gradient){x->call->dk, x->own.dk, ring_heads_of_keys(&x->own), x->call->kernel->head_dim};
}

static struct gradient gradient_v(const struct ring *x)
{
    return (struct gradient){x->call->dv, x->own.dv, x->own.kv_heads, x->call->kernel->value_dim};
}

/* ---- calls of the kernel ---- */

/* Writes saved values of queries first … first + n - 1, which follow from their statistics. */
static void save(const struct ring *x, int64_t first, int64_t n)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct backward *const b = (const struct backward *)x->more;
    const struct attn_strides *const s = &x->own.statistics_at;
    const bool doubles = kernel->dtype == ATTN_F64, logarithm = kernel->statistics == ATTN_LOGARITHMS;
    const double log2_of_e = 1.4426950408889634;
    int64_t to = 0;
    if (!x->own.statistics) return;
    for (int64_t h = 0; h < x->own.batch * x->own.heads; h++)
        for (int64_t i = first; i < first + n; i++, to++) {
            const int64_t at = h / x->own.heads * s->batch + h % x->own.heads * s->head + i * s->row;
            const double given = doubles ? ((const double *)x->own.statistics)[at]
                                         : (double)((const float *)x->own.statistics)[at];
            double saved = logarithm ? given * log2_of_e : pow(given, -1 / (double)kernel->saved_power);
            if (logarithm ? given == -INFINITY : given == 0) saved = 0;
            if (doubles)
                ((double *)(void *)b->saved)[to] = saved;
            else
                ((float *)(void *)b->saved)[to] = (float)saved;
        }
}

/* Computes the gradients of queries first … first + p->n_q - 1 and of keys from position `key` on. */
static int differentiate(struct ring *x, struct attn_problem *p, int64_t first, int64_t key, const void *k,
                         const void *v, void *dq, void *dk, void *dv, void *gradients)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct backward *const b = (const struct backward *)x->more;
    const int64_t size = (int64_t)attn_dtype_size(kernel->dtype);
    const int error = ring_place_queries(x, p, first, key);
    if (error) return error;
    save(x, first, p->n_q);
    p->saved = kernel->saved_power ? b->saved : NULL;
    p->saved_bytes = 0;
    p->statistics = NULL;
    decay_take_gradients(x, p);
    return kernel->backward(
        p, call->params ? x->params : NULL, (const unsigned char *)call->arrays.q + first * p->q.row * size, k, v,
        (const unsigned char *)call->arrays.out + first * p->out.row * size,
        (const unsigned char *)call->dout + first * p->dout.row * size, dq, dk, dv, gradients, x->work);
}

/* Adds contiguous rows of `count` elements to b->dk or b->dv. */
static void add_part(const struct ring *x, unsigned char *to, const unsigned char *from, int64_t rows, size_t count)
{
    ring_add_elements(to, from, rows * (int64_t)count, x->call->kernel->dtype);
}

static int add_piece(struct ring *x, int source, struct rows rows, const unsigned char *message)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct backward *const b = (const struct backward *)x->more;
    const struct gradient dq = gradient_q(x);
    const int64_t begin = routes_key(&x->routes, source), key = begin + rows.first, n_k = rows.end - rows.first;
    const size_t batch = (size_t)x->own.batch, of_k = batch * (size_t)(ring_heads_of_keys(&x->own) * kernel->head_dim),
                 of_v = batch * (size_t)(x->own.kv_heads * kernel->value_dim);
    const bool of_values = !kernel->values_are_keys;
    int64_t first, end;
    memset(b->dk, 0, b->sizes.dk);
    memset(b->dv, 0, b->sizes.dv);
    memset(b->gradients.rows, 0, b->gradients.rows_bytes);
    if (x->decay.gives) memset(x->decay.of_piece, 0, x->decay.row * (size_t)n_k);
    ring_limit_queries(x, begin, rows, &first, &end);
    for (int64_t part, begun = first; first < end; first = part) {
        struct attn_problem p = x->own;
        part = ring_part_of_queries(x, first, end, &p.sink_mode);
        p.n_q = part - first;
        p.n_k = n_k;
        p.dq = p.dk = p.dv = (struct attn_strides){0, 0, 0};
        ring_use_message(x, &p, message, first, key);
        /* `received_…` is free until the next message */
        unsigned char *const dk = first == begun ? b->dk : b->received_dk, *const dv = first == begun ? b->dv
                                                                                                      : b->received_dv;
        const int error = differentiate(x, &p, first, key, message, of_values ? message + x->layout.values : NULL,
                                        b->dq, dk, of_values ? dv : NULL,
                                        ring_gradients_point(x, &b->gradients, false));
        if (error) return error;
        if (first > begun) add_part(x, b->dk, dk, n_k, of_k);
        if (first > begun && of_values) add_part(x, b->dv, dv, n_k, of_v);
        add_rows(x, &dq, first, p.n_q, b->dq);
        ring_gradients_add(x, &b->gradients, &p, first, key, false);
        decay_add_gradients(x, &p, first, false);
    }
    return 0;
}

static int add_own(struct ring *x)
{
    struct attn_problem p = x->own;
    const struct ranks_call *const call = x->call;
    const struct backward *const b = (const struct backward *)x->more;
    const int64_t key = routes_key(&x->routes, call->transport->rank);
    const struct gradient dq = gradient_q(x), dk = gradient_k(x), dv = gradient_v(x);
    if (p.n_q == 0 || p.n_k == 0) {
        add_rows(x, &dq, 0, p.n_q, NULL);
        add_rows(x, &dk, 0, p.n_k, NULL);
        add_rows(x, &dv, 0, p.n_k, NULL);
        ring_gradients_clear(x, false);
        return 0;
    }
    ring_gradients_clear(x, true);
    ring_set_params(x, 0, key);
    p.sink_mode = !x->call->kernel->has_sink ? 0 : p.n_k > 0 ? 2 : 1;
    const int error = differentiate(x, &p, 0, key, call->arrays.k, call->arrays.v, call->dq, call->dk, call->dv,
                                    ring_gradients_point(x, &b->gradients, true));
    if (error) return error;
    ring_gradients_add(x, &b->gradients, &p, 0, key, true);
    decay_add_gradients(x, &p, 0, true);
    return 0;
}

/* ---- gradients of keys on their way back ---- */

/* Sends the gradients of the keys that this rank had in a hop, and receives those of a piece of this rank. */
static void give_back(struct ring *x, int source, int step, int hop, int64_t number)
{
    const struct attn_transport *const t = x->call->transport;
    const struct backward *const b = (const struct backward *)x->more;
    const struct gradient dk = gradient_k(x), dv = gradient_v(x);
    const int from = routes_source(&x->routes, t->rank, -step, hop);
    const struct rows none = {0, 0}, sent = source < 0 ? none : routes_seen(&x->routes, source, t->rank, number),
                      received = from < 0 ? none : routes_seen(&x->routes, t->rank, from, number);
    const size_t size = (size_t)x->own.batch * attn_dtype_size(x->call->kernel->dtype),
                 row_dk = size * (size_t)(dk.heads * dk.elements), row_dv = size * (size_t)(dv.heads * dv.elements),
                 row_decay = x->decay.gives ? x->decay.row : 0, out = (size_t)(sent.end - sent.first),
                 in = (size_t)(received.end - received.first);
    struct message messages[] = {
        message_from(from, TAG_GRADIENTS, b->received_dk, in * row_dk),
        message_from(from, TAG_GRADIENTS, b->received_dv, in * row_dv),
        message_from(from, TAG_GRADIENTS, x->decay.received, in * row_decay),
        message_from(from, TAG_GRADIENTS, b->gradients.received, ring_gradients_sent(x, received.end - received.first)),
        message_to(source, TAG_GRADIENTS, b->dk, out * row_dk),
        message_to(source, TAG_GRADIENTS, b->dv, out * row_dv),
        message_to(source, TAG_GRADIENTS, x->decay.of_piece, out * row_decay),
        message_to(source, TAG_GRADIENTS, b->gradients.rows, ring_gradients_sent(x, sent.end - sent.first))};
    const size_t count = sizeof messages / sizeof *messages;
    for (size_t k = 0; k < count; k++) ring_note(x, message_begin(t, &messages[k]));
    for (size_t k = 0; k < count; k++) ring_note(x, message_end(t, &messages[k]));
    if (x->error || !rows_any(received)) return;
    add_rows(x, &dk, received.first, received.end - received.first, b->received_dk);
    add_rows(x, &dv, received.first, received.end - received.first, b->received_dv);
    ring_gradients_add_received(x, &b->gradients, received);
    if (row_decay) decay_add_received(x, received);
}

int ring_backward(const struct ranks_call *call)
{
    struct backward backward = {.sizes = sizes_of_backward(call->kernel, &call->problem),
                                .gradients = ring_gradients_of(call->kernel, &call->problem)};
    struct ring ring = {
        .call = call, .own = call->problem, .compute = add_piece, .hop_done = give_back, .more = &backward};
    ring.layout = ring_layout(call->kernel, &ring.own);
    ring.sizes = sizes_of_ring(call->kernel, &ring.own);
    const int misplaced = ring_make_routes(&ring);
    if (misplaced) return misplaced;
    place(&ring, &backward);
    ring.decay.gives = decay_gradients_wanted(call);
    decay_make(&ring);
    if (!ring.error) ring_note(&ring, add_own(&ring));
    ring_travel(&ring);
    ring_note(&ring, decay_finish(&ring, backward.gradients.pointers));
    ring_note(&ring, sum_gradients(call, backward.gradients.call));
    return ring.error;
}
