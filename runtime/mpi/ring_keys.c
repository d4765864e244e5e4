/* Keys and values that travel from rank to rank, and calls of the kernel for them.
   A row of a message has the elements of all heads and sequences for one key: keys, values, and rows of parameters. */
#include "ring.h"

/* Whether a parameter has a row for each key, which travels with the key. */
static bool travels(const struct attn_kernel *kernel, const struct attn_param *p)
{
    return param_has_axis(p, ATTN_N_K) && !param_has_queries(p) && !param_is_of_all_keys(kernel, p);
}

/* Returns the bytes of a parameter's row, for all sequences and heads. */
static size_t param_row(const struct attn_param *p, const struct attn_problem *problem)
{
    int64_t shape[4] = {0};
    size_t bytes = attn_dtype_size(p->dtype);
    attn_param_shape(p, problem, shape);
    for (int k = 0; k < p->rank; k++)
        if (p->shape[k] != ATTN_N_K) bytes = bytes_times(bytes, (size_t)shape[k]);
    return bytes_plus(bytes, 7) / 8 * 8;
}

static struct layout layout_of(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    const size_t batch = (size_t)p->batch, key = (size_t)attn_row_bytes(kernel->key_dtype, kernel->head_dim),
                 value = (size_t)attn_row_bytes(kernel->value_dtype, kernel->value_dim);
    struct layout x = {0, 0, 0, 0, 0};
    x.values = whole_lines(bytes_times(bytes_times(batch, (size_t)ring_heads_of_keys(p)), key));
    x.params = x.values;
    if (!kernel->values_are_keys)
        x.params = bytes_plus(x.values, whole_lines(bytes_times(bytes_times(batch, (size_t)p->kv_heads), value)));
    x.bytes = x.params;
    for (int k = 0; k < kernel->params; k++)
        if (travels(kernel, &kernel->param[k])) x.bytes = bytes_plus(x.bytes, param_row(&kernel->param[k], p));
    x.decay = x.bytes;
    x.bytes = bytes_plus(x.bytes, decay_row(kernel, p));
    return x;
}

void ring_place(struct ring *x, struct memory *m)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    size_t (*const workspace)(const struct attn_problem *) = x->call->backward ? kernel->backward_workspace
                                                                               : kernel->workspace;
    const struct attn_problem *const p = &x->own;
    struct attn_problem piece = *p;
    piece.n_k = piece_of_runs(kernel);
    piece.k = piece.v = piece.dk = piece.dv = (struct attn_strides){0, 0, 0};
    if (!x->call->backward) piece.out = piece.k;
    x->layout = layout_of(kernel, p);
    x->work_bytes = whole_lines(
        workspace_bytes(larger(larger(workspace(p), workspace(&piece)), decay_workspace(kernel, p))));
    x->params = memory_take(m, params_bytes(kernel));
    x->lists = memory_take(m, lists_bytes(kernel, p));
    x->starts = memory_take(m, bytes_times((size_t)p->batch, sizeof(int64_t)));
    /* a piece may have earlier rows, down to a multiple of the period */
    for (int k = 0; k < RING_BUFFERS; k++)
        x->buffer[k] = memory_take(m, bytes_times(x->layout.bytes, (size_t)piece.n_k));
    x->had_sink = memory_cleared(m, kernel->has_sink ? (size_t)p->n_q : 0);
    decay_place(x, m);
    x->work = memory_take(m, x->work_bytes);
}

/* ---- packing the rank's own rows ---- */

static void pack_array(unsigned char *to, size_t row_bytes, const void *array, const struct attn_strides *s,
                       const struct attn_problem *p, int64_t heads, struct rows rows, enum attn_dtype dtype,
                       int64_t elements)
{
    const size_t bytes = (size_t)attn_row_bytes(dtype, elements), size = attn_dtype_size(dtype);
    for (int64_t j = rows.first; j < rows.end; j++, to += row_bytes) {
        unsigned char *at = to;
        for (int64_t b = 0; b < p->batch; b++)
            for (int64_t h = 0; h < heads; h++, at += bytes)
                memcpy(at, (const unsigned char *)array + (b * s->batch + h * s->head + j * s->row) * (int64_t)size,
                       bytes);
    }
}

/* The sizes and strides of a parameter's axes, with four axes. */
struct param_axes {
    const unsigned char *data;
    int64_t size[4], stride[4];
    int keys; /* the axis of keys */
};

/* Reads a parameter of `params`, which params_from made, so all strides are set. */
static struct param_axes axes_of(const struct attn_kernel *kernel, const struct attn_param *p,
                                 const struct attn_problem *problem, const unsigned char *params)
{
    struct param_axes x = {.size = {1, 1, 1, 1}};
    int64_t shape[4] = {0}, given[4] = {0};
    const unsigned char *const strides = params + whole_lines(kernel->params_bytes);
    const int skip = 4 - p->rank;
    attn_param_shape(p, problem, shape);
    memcpy(&x.data, params + p->offset, sizeof x.data);
    memcpy(given, strides + p->strides, (size_t)p->rank * sizeof *given);
    for (int k = 0; k < p->rank; k++) {
        x.size[skip + k] = shape[k];
        x.stride[skip + k] = given[k] == ATTN_BROADCAST ? 0 : given[k];
        if (p->shape[k] == ATTN_N_K) x.keys = skip + k;
    }
    return x;
}

static void pack_param(unsigned char *to, size_t row_bytes, const struct param_axes *x, struct rows rows, size_t size)
{
    int64_t at[4], end[4];
    for (int64_t j = rows.first; j < rows.end; j++, to += row_bytes) {
        unsigned char *element = to;
        for (int k = 0; k < 4; k++) end[k] = k == x->keys ? 1 : x->size[k];
        for (at[0] = 0; at[0] < end[0]; at[0]++)
            for (at[1] = 0; at[1] < end[1]; at[1]++)
                for (at[2] = 0; at[2] < end[2]; at[2]++)
                    for (at[3] = 0; at[3] < end[3]; at[3]++, element += size) {
                        int64_t offset = j * x->stride[x->keys];
                        for (int k = 0; k < 4; k++) offset += at[k] * x->stride[k];
                        memcpy(element, x->data + offset * (int64_t)size, size);
                    }
    }
}

static void pack(struct ring *x, unsigned char *to, struct rows rows)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &x->own;
    const size_t row = x->layout.bytes;
    pack_array(to, row, call->arrays.k, &p->k, p, ring_heads_of_keys(p), rows, kernel->key_dtype, kernel->head_dim);
    if (!kernel->values_are_keys)
        pack_array(to + x->layout.values, row, call->arrays.v, &p->v, p, p->kv_heads, rows, kernel->value_dtype,
                   kernel->value_dim);
    ring_set_params(x, 0, 0);
    size_t at = x->layout.params;
    for (int k = 0; k < kernel->params && call->params; k++) {
        const struct attn_param *const param = &kernel->param[k];
        if (!travels(kernel, param)) continue;
        const struct param_axes axes = axes_of(kernel, param, p, x->params);
        if (axes.data) pack_param(to + at, row, &axes, rows, attn_dtype_size(param->dtype));
        at += param_row(param, p);
    }
    decay_pack(x, to + x->layout.decay, row, rows);
}

/* ---- a call of the kernel for some keys ---- */

/* Makes x->params read the rows of parameters in a message. The strides are those of its rows. */
static void use_rows_of_params(struct ring *x, const unsigned char *rows)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    unsigned char *const strides = x->params + whole_lines(kernel->params_bytes);
    size_t at = x->layout.params;
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const p = &kernel->param[k];
        int64_t shape[4] = {0}, stride[4] = {0}, inner = 1;
        if (!travels(kernel, p)) continue;
        const unsigned char *const data = rows + at;
        attn_param_shape(p, &x->own, shape);
        for (int n = p->rank - 1; n >= 0; n--) {
            const bool keys = p->shape[n] == ATTN_N_K;
            stride[n] = keys ? (int64_t)(x->layout.bytes / attn_dtype_size(p->dtype)) : inner;
            if (!keys) inner *= shape[n];
        }
        memcpy(x->params + p->offset, &data, sizeof data);
        memcpy(strides + p->strides, stride, (size_t)p->rank * sizeof *stride);
        at += param_row(p, &x->own);
    }
}

static void use_message(struct ring *x, struct attn_problem *p, const unsigned char *message, int64_t first_query,
                        int64_t key)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const int64_t bytes = (int64_t)x->layout.bytes, of_key = row_units(kernel->key_dtype, kernel->head_dim),
                  of_value = row_units(kernel->value_dtype, kernel->value_dim);
    p->k = (struct attn_strides){ring_heads_of_keys(p) * of_key, of_key,
                                 bytes / (int64_t)attn_dtype_size(kernel->key_dtype)};
    p->v = (struct attn_strides){p->kv_heads * of_value, of_value,
                                 bytes / (int64_t)attn_dtype_size(kernel->value_dtype)};
    if (kernel->values_are_keys) p->v = (struct attn_strides){0, 0, 0};
    x->decay.first = (const double *)(const void *)(message + x->layout.decay);
    ring_set_params(x, first_query, key);
    if (x->call->params) use_rows_of_params(x, message);
}

/* Sets the position of the first query of a call, whose number is `first`, for keys from position `key` on. */
static int place_queries(struct ring *x, struct attn_problem *p, int64_t first, int64_t key)
{
    p->first_key = key;
    p->all_keys = routes_key(&x->routes, x->routes.ranks);
    const int64_t start = routes_query(&x->routes, x->call->transport->rank) + first - key;
    if (start < -(INT64_C(1) << 31) || start > INT64_C(1) << 31) return ATTN_ESIZE;
    for (int64_t b = 0; b < p->batch; b++) x->starts[b] = start;
    p->query_start = start == p->n_k - p->n_q ? NULL : x->starts;
    p->workspace_bytes = x->work_bytes;
    decay_place_queries(x, p, first, key);
    lists_place(x, p, first, key);
    return 0;
}

struct attn_problem ring_own_call(struct ring *x, int *error)
{
    struct attn_problem p = x->own;
    const int64_t key = routes_key(&x->routes, x->call->transport->rank);
    ring_set_params(x, 0, key);
    p.sink_mode = !x->call->kernel->has_sink ? 0 : p.n_k > 0 ? 2 : 1;
    *error = place_queries(x, &p, 0, key);
    return p;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Limits queries first … end - 1 to those that see keys rows of a run that begins at position `begin`. */
static void limit_queries(const struct ring *x, int64_t begin, struct rows rows, int64_t *first, int64_t *end)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const int64_t query = routes_query(&x->routes, x->call->transport->rank);
    *first = 0;
    *end = x->own.n_q;
    if (begin + rows.first < kernel->open_keys) return;
    const int64_t block = queries_of_block(kernel); /* where a call begins, also one for the queries after these */
    if (kernel->after < INT64_MAX && begin + rows.first - kernel->after > query)
        *first = least(begin + rows.first - kernel->after - query, *end);
    *first -= *first % block;
    if (kernel->before < INT64_MAX) {
        const int64_t last = begin + rows.end + kernel->before - query;
        *end = least(*end, last > 0 ? (last + block - 1) / block * block : last);
    }
}

/* Divides the queries first … end - 1 of a call for keys of another rank, so that one call for each query has its sink:
   the call for the rank's own keys, if it has some. Returns the end of the first call, and sets its sink_mode. */
static int64_t queries_of_call(struct ring *x, int64_t first, int64_t end, int *sink_mode)
{
    *sink_mode = 0;
    if (!x->call->kernel->has_sink) return end;
    *sink_mode = 1;
    if (x->own.n_k > 0) return end;
    const unsigned char had = x->had_sink[first];
    int64_t stop = first;
    for (; stop < end && x->had_sink[stop] == had; stop++) x->had_sink[stop] = 1;
    if (!had) *sink_mode = 2;
    return stop;
}

/* Computes with the keys `rows` of rank `source`, in a message. */
static int add_piece(struct ring *x, int source, struct rows rows, const unsigned char *message)
{
    const int64_t begin = routes_key(&x->routes, source), key = begin + rows.first, n_k = rows.end - rows.first;
    int64_t first, end;
    limit_queries(x, begin, rows, &first, &end);
    if (x->clear) x->clear(x, n_k);
    for (int64_t stop, begun = first; first < end; first = stop) {
        struct attn_problem p = x->own;
        stop = queries_of_call(x, first, end, &p.sink_mode);
        p.n_q = stop - first;
        p.n_k = n_k;
        p.dk = p.dv = (struct attn_strides){0, 0, 0}; /* if the rank has no keys, their strides may be 0 */
        use_message(x, &p, message, first, key);
        int error = place_queries(x, &p, first, key);
        if (!error) error = x->compute(x, &p, first, first == begun, message);
        if (error) return error;
    }
    return 0;
}

/* ---- keys on their way ---- */

/* A piece of the run of rank `source`, in a buffer. */
struct piece {
    int source;
    struct rows rows;
    unsigned char *at;
};

static struct piece piece_to(const struct ring *x, int rank, int source, int step, int64_t number)
{
    struct piece piece = {source, {0, 0}, NULL};
    if (source >= 0) piece.rows = routes_sent(&x->routes, source, rank, step, number);
    return piece;
}

static size_t bytes_of_rows(const struct ring *x, struct rows rows)
{
    return rows_any(rows) ? x->layout.bytes * (size_t)(rows.end - rows.first) : 0;
}

/* Computes the rows for a piece that was received. */
static void compute(struct ring *x, const struct piece *piece, int64_t number)
{
    if (x->error || piece->source < 0) return;
    const struct rows rows = routes_seen(&x->routes, piece->source, x->call->transport->rank, number);
    if (!rows_any(rows)) return;
    const size_t skip = x->layout.bytes * (size_t)(rows.first - piece->rows.first);
    ring_note(x, add_piece(x, piece->source, rows, piece->at + skip));
}

/* One step of a ring or line: sends `now` to the next rank, receives another piece, and computes with `now` meanwhile.
   Returns the other piece. */
static struct piece pass_on(struct ring *x, const struct piece *now, int step, int hop, int64_t number)
{
    const struct attn_transport *const t = x->call->transport;
    const int to = x->routes.around ? (t->rank + step + t->ranks) % t->ranks : t->rank + step,
              from = routes_source(&x->routes, t->rank, step, 1), tag = step > 0 ? TAG_KEYS : TAG_KEYS_DOWN;
    struct piece next = piece_to(x, t->rank, routes_source(&x->routes, t->rank, step, hop + 1), step, number),
                 out = piece_to(x, to, now->source, step, number);
    next.at = x->buffer[(hop + 1) % RING_BUFFERS];
    const unsigned char *const rows = rows_any(out.rows)
                                          ? now->at + x->layout.bytes * (size_t)(out.rows.first - now->rows.first)
                                          : now->at;
    struct message receives = message_from(from, tag, next.at, bytes_of_rows(x, next.rows)),
                   sends = message_to(to, tag, rows, bytes_of_rows(x, out.rows));
    ring_note(x, message_begin(t, &receives));
    ring_note(x, message_begin(t, &sends));
    if (hop > 0) compute(x, now, number);
    ring_note(x, message_end(t, &receives));
    ring_note(x, message_end(t, &sends));
    if (x->hop_done && hop > 0) x->hop_done(x, now->source, step, hop, number);
    return next;
}

/* Moves piece `number` of all runs in direction `step`. */
static void move_pieces(struct ring *x, int step, int64_t number)
{
    const struct attn_transport *const t = x->call->transport;
    const int to = x->routes.around ? (t->rank + step + t->ranks) % t->ranks : t->rank + step;
    struct piece now = piece_to(x, to, t->rank, step, number);
    now.at = x->buffer[0];
    if (rows_any(now.rows) && !x->error) pack(x, now.at, now.rows);
    for (int hop = 0; hop < t->ranks; hop++) now = pass_on(x, &now, step, hop, number);
}

void ring_travel(struct ring *x)
{
    const int64_t pieces = x->routes.ranks > 1 ? routes_pieces(&x->routes) : 0;
    for (int64_t number = 0; number < pieces; number++) move_pieces(x, 1, number);
    for (int64_t number = 0; number < pieces && !x->routes.around; number++) move_pieces(x, -1, number);
}
