/* Gradients of quadratic forms over ranks. Keys and values travel as in forward. Each rank computes the gradients of
   its queries and of the keys that it has, from the statistics of the rows over all keys, and sends the gradients of
   keys back to their rank. That rank adds them in a fixed order, and the ranks add gradients of parameters in the order
   of the ranks. */
#include "ring.h"

#include <math.h>

struct backward {
    size_t dk_bytes, dv_bytes;
    unsigned char *dq, *dk, *dv;              /* gradients of a piece */
    unsigned char *received_dk, *received_dv; /* those of a piece of the rank's own keys */
    unsigned char *saved;
    struct ring_gradients gradients;
};

static bool serves(const struct ranks_call *call)
{
    return call->backward && ring_serves(call);
}

static int check(const struct ranks_call *call)
{
    const struct attn_kernel *const kernel = call->kernel;
    if (!kernel->saved_power && kernel->statistics != ATTN_UNDIVIDED) return ATTN_EFOLD;
    const int error = ring_check(call);
    if (error) return error;
    return call->problem.statistics || kernel->statistics == ATTN_UNDIVIDED ? 0 : ATTN_EPOINTER;
}

/* ---- gradients of tokens ---- */

/* An array [batch, heads, rows, elements] with strides. */
struct gradient {
    void *data;
    struct attn_strides at;
    int64_t heads, elements;
};

static struct gradient gradient_q(const struct ring *x)
{
    const struct attn_problem *const p = &x->own;
    return (struct gradient){x->call->arrays.dq, p->dq, p->key_heads ? p->key_heads : p->heads,
                             x->call->kernel->head_dim};
}

static struct gradient gradient_k(const struct ring *x)
{
    return (struct gradient){x->call->arrays.dk, x->own.dk, ring_heads_of_keys(&x->own), x->call->kernel->head_dim};
}

static struct gradient gradient_v(const struct ring *x)
{
    return (struct gradient){x->call->arrays.dv, x->own.dv, x->own.kv_heads, x->call->kernel->value_dim};
}

/* Returns the bytes of a contiguous array with this number of rows. */
static size_t bytes_of(const struct ring *x, const struct gradient *g, int64_t rows)
{
    const size_t row = (size_t)g->elements * attn_dtype_size(x->call->kernel->dtype);
    return bytes_times(bytes_times((size_t)x->own.batch, (size_t)g->heads), bytes_times((size_t)rows, row));
}

static void place(struct ring *x, struct backward *b, struct memory *m)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct gradient dq = gradient_q(x), dk = gradient_k(x), dv = gradient_v(x);
    ring_place(x, m);
    b->dk_bytes = bytes_of(x, &dk, piece_of_runs(kernel));
    b->dv_bytes = bytes_of(x, &dv, piece_of_runs(kernel));
    b->dq = memory_take(m, bytes_of(x, &dq, x->own.n_q));
    b->dk = memory_take(m, b->dk_bytes);
    b->dv = memory_take(m, b->dv_bytes);
    b->received_dk = memory_take(m, b->dk_bytes);
    b->received_dv = memory_take(m, b->dv_bytes);
    b->saved = memory_take(m, bytes_times(ring_rows(&x->own), ring_statistics_size(kernel)));
    ring_gradients_place(&b->gradients, x, m);
}

static size_t workspace(const struct ranks_call *call)
{
    struct memory m = {NULL, 0};
    struct ring x = {.call = call, .own = call->problem};
    struct backward b;
    place(&x, &b, &m);
    return m.bytes;
}

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
                    add_elements(row_of(x, to, b, h, r), row, to->elements, dtype);
                if (from) row += bytes;
            }
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

/* Computes the gradients of queries first … first + p->n_q - 1 and of the keys of a call. */
static int differentiate(struct ring *x, struct attn_problem *p, int64_t first, const void *k, const void *v, void *dq,
                         void *dk, void *dv, void *gradients)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct backward *const b = (const struct backward *)x->more;
    const struct arrays *const a = &call->arrays;
    const int64_t size = (int64_t)attn_dtype_size(kernel->dtype);
    const bool own = k == a->k;
    save(x, first, p->n_q);
    p->saved = kernel->saved_power ? b->saved : NULL;
    p->saved_bytes = 0;
    p->statistics = NULL;
    decay_take_gradients(x, p);
    const int error = kernel->backward(
        p, call->params ? x->params : NULL, (const unsigned char *)a->q + first * p->q.row * size, k, v,
        (const unsigned char *)a->out + first * p->out.row * size,
        (const unsigned char *)a->dout + first * p->dout.row * size, dq, dk, dv, gradients, x->work);
    if (error) return error;
    ring_gradients_add(x, &b->gradients, p, first, own);
    decay_add_gradients(x, p, first, own);
    return 0;
}

static void clear(struct ring *x, int64_t n_k)
{
    const struct backward *const b = (const struct backward *)x->more;
    memset(b->dk, 0, b->dk_bytes);
    memset(b->dv, 0, b->dv_bytes);
    memset(b->gradients.rows, 0, b->gradients.rows_bytes);
    if (x->decay.gives) memset(x->decay.of_piece, 0, x->decay.row * (size_t)n_k);
}

static int add_piece(struct ring *x, struct attn_problem *p, int64_t first, bool begins, const unsigned char *message)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct backward *const b = (const struct backward *)x->more;
    const struct gradient dq = gradient_q(x);
    const bool of_values = !kernel->values_are_keys;
    /* `received_…` is free until the next message */
    unsigned char *const dk = begins ? b->dk : b->received_dk, *const dv = begins ? b->dv : b->received_dv;
    p->dq = (struct attn_strides){0, 0, 0};
    const int error = differentiate(x, p, first, message, of_values ? message + x->layout.values : NULL, b->dq, dk,
                                    of_values ? dv : NULL, ring_gradients_point(x, &b->gradients, false));
    if (error) return error;
    const int64_t rows = p->batch * p->n_k;
    if (!begins) add_elements(b->dk, dk, rows * ring_heads_of_keys(p) * kernel->head_dim, kernel->dtype);
    if (!begins && of_values) add_elements(b->dv, dv, rows * p->kv_heads * kernel->value_dim, kernel->dtype);
    add_rows(x, &dq, first, p->n_q, b->dq);
    return 0;
}

static int add_own(struct ring *x)
{
    const struct ranks_call *const call = x->call;
    const struct arrays *const a = &call->arrays;
    const struct backward *const b = (const struct backward *)x->more;
    const struct gradient dq = gradient_q(x), dk = gradient_k(x), dv = gradient_v(x);
    const bool none = x->own.n_q == 0 || x->own.n_k == 0;
    int error = 0;
    ring_gradients_clear(x, !none);
    if (none) {
        add_rows(x, &dq, 0, x->own.n_q, NULL);
        add_rows(x, &dk, 0, x->own.n_k, NULL);
        add_rows(x, &dv, 0, x->own.n_k, NULL);
        return 0;
    }
    struct attn_problem p = ring_own_call(x, &error);
    return error
               ? error
               : differentiate(x, &p, 0, a->k, a->v, a->dq, a->dk, a->dv, ring_gradients_point(x, &b->gradients, true));
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

static int run(const struct ranks_call *call)
{
    struct memory m = {call->workspace, 0};
    struct backward backward;
    struct ring ring = {.call = call,
                        .own = call->problem,
                        .clear = clear,
                        .compute = add_piece,
                        .hop_done = give_back,
                        .more = &backward},
                *const x = &ring;
    const int misplaced = ring_make_routes(x);
    if (misplaced) return misplaced;
    place(x, &backward, &m);
    x->decay.gives = decay_gradients_wanted(call);
    decay_make(x);
    if (!x->error) ring_note(x, add_own(x));
    ring_travel(x);
    ring_note(x, decay_finish(x, backward.gradients.pointers));
    ring_note(x, sum_gradients(call, backward.gradients.call));
    return x->error;
}

const struct algorithm keys_travel_backwards = {serves, check, workspace, integers_hash, run};
