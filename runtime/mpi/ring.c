/* Quadratic forms over ranks. Keys and values travel from rank to rank, while each rank computes the rows of its
   queries for the keys that it has received before. Results for different keys are merged in a fixed order: first the
   rank's own keys, then piece by piece in the order of arrival.
   A row of a message has the elements of all heads and sequences for one key: keys, values, and rows of parameters. */
#include "ring.h"

#include <string.h>

uint64_t ring_hash(const struct ranks_call *call)
{
    return routes_hash(call);
}

bool ring_serves(const struct attn_kernel *kernel)
{
    return kernel->merge && kernel->period > 0;
}

/* Whether a parameter has integers for the keys of all ranks, which each rank has, such as `document`. Queries read
   them, too. */
static bool is_of_all_keys(const struct attn_kernel *kernel, const struct attn_param *p)
{
    return kernel->in_parts && p->dtype == ATTN_I32 && p->strides == ATTN_CONTIGUOUS && param_has_axis(p, ATTN_N_K);
}

/* Whether a parameter has a row for each key, which travels with the key. */
static bool travels(const struct attn_kernel *kernel, const struct attn_param *p)
{
    return param_has_axis(p, ATTN_N_K) && !param_has_queries(p) && !is_of_all_keys(kernel, p);
}

bool ring_param_has_parts(const struct attn_param *p)
{
    bool parts = true;
    for (int k = 0; k < p->rank; k++)
        parts &= p->shape[k] >= ATTN_N_K || param_is_lists(p); /* smaller numbers are counts of blocks */
    const bool rows = param_has_axis(p, ATTN_N_K) || param_has_axis(p, ATTN_N_Q);
    return parts && (!rows || p->strides != ATTN_CONTIGUOUS);
}

/* Whether it has one for calls that begin with a block of queries. */
static bool has_blocks(const struct attn_param *p)
{
    bool blocks = p->strides != ATTN_CONTIGUOUS && !p->tiles;
    for (int k = 0; k < p->rank; k++) blocks &= p->shape[k] >= ATTN_N_K || queries_of_element(p->shape[k]);
    return blocks;
}

int ring_check(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    if (!ring_serves(kernel)) return ATTN_EFOLD;
    for (int k = 0; k < kernel->params; k++)
        if (!is_of_all_keys(kernel, &kernel->param[k]) && !ring_param_has_parts(&kernel->param[k]) &&
            !has_blocks(&kernel->param[k]))
            return ATTN_EFOLD;
    return problem->query_start || problem->saved || problem->first_key || problem->sink_mode ? ATTN_EPROBLEM : 0;
}

/* ---- the layout of a row of a message ---- */

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

int64_t ring_heads_of_keys(const struct attn_problem *p)
{
    return p->key_heads ? p->key_heads : p->kv_heads;
}

struct layout ring_layout(const struct attn_kernel *kernel, const struct attn_problem *p)
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

/* ---- the workspace ---- */

size_t ring_statistics_size(const struct attn_kernel *kernel)
{
    return kernel->dtype == ATTN_F64 ? sizeof(double) : sizeof(float);
}

size_t ring_rows(const struct attn_problem *p)
{
    return bytes_times(bytes_times((size_t)p->batch, (size_t)p->heads), (size_t)p->n_q);
}

size_t ring_sink_bytes(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    return kernel->has_sink ? whole_lines((size_t)p->n_q) : 0;
}

static struct ring_sizes sizes_of_ring(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    const struct layout layout = ring_layout(kernel, p);
    const size_t rows = ring_rows(p);
    struct attn_problem piece = *p;
    piece.n_k = piece_of_runs(kernel);
    piece.k = piece.v = piece.out = piece.dk = piece.dv = (struct attn_strides){0, 0, 0};
    return (struct ring_sizes){
        .params = slice_params_bytes(kernel),
        .lists = lists_bytes(kernel, p),
        .starts = whole_lines(bytes_times((size_t)p->batch, sizeof(int64_t))),
        /* a piece may have earlier rows, down to a multiple of the period */
        .buffer = whole_lines(bytes_times(layout.bytes, (size_t)piece.n_k)),
        .out = whole_lines(bytes_times(rows, attn_dtype_size(kernel->dtype) * (size_t)kernel->value_dim)),
        .statistics = whole_lines(bytes_times(rows, ring_statistics_size(kernel))),
        .had_sink = ring_sink_bytes(kernel, p),
        .decay = decay_bytes(kernel, p, false),
        .kernel = whole_lines(
            larger(larger(kernel->workspace(p), kernel->workspace(&piece)), decay_workspace(kernel, p)))};
}

size_t ring_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                      const struct attn_problem *filled)
{
    const struct ring_sizes s = sizes_of_ring(kernel, filled);
    (void)t;
    if (!s.kernel) return SIZE_MAX;
    size_t bytes = bytes_plus(bytes_plus(s.params, s.lists), bytes_plus(s.starts, bytes_times(RING_BUFFERS, s.buffer)));
    bytes = bytes_plus(bytes, bytes_plus(s.out, bytes_plus(s.had_sink, bytes_times(2, s.statistics))));
    bytes = bytes_plus(bytes, s.decay);
    return bytes_plus(bytes, s.kernel);
}

void ring_note(struct ring *x, int error)
{
    x->error = worse_error(x->error, error);
}

static void place(struct ring *x)
{
    const struct ring_sizes *const s = &x->sizes;
    unsigned char *at = x->call->workspace;
    x->params = at;
    at += s->params;
    x->lists = (int32_t *)(void *)at;
    at += s->lists;
    x->starts = (int64_t *)(void *)at;
    at += s->starts;
    for (int k = 0; k < RING_BUFFERS; k++, at += s->buffer) x->buffer[k] = at;
    x->out = at;
    at += s->out;
    x->statistics = at;
    at += s->statistics;
    if (!x->own.statistics) {
        x->own.statistics = at;
        const int64_t n_q = x->own.n_q;
        x->own.statistics_at = (struct attn_strides){x->own.heads * n_q, n_q, 1};
    }
    at += s->statistics;
    x->had_sink = at;
    memset(x->had_sink, 0, s->had_sink);
    decay_place(x, at + s->had_sink, false);
    x->work = at + s->had_sink + s->decay;
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

/* Reads a parameter of `params`, which part_of_params made, so all strides are set. */
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

void ring_set_params(struct ring *x, int64_t first_query, int64_t first_key)
{
    const struct ranks_call *const call = x->call;
    const struct part part = {
        .first_query = first_query, .first_key = first_key, .keys = routes_key(&x->routes, x->routes.ranks)};
    if (call->params && call->kernel->params) part_of_params(call->kernel, &x->own, &part, call->params, x->params);
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

void ring_use_message(struct ring *x, struct attn_problem *p, const unsigned char *message, int64_t first_query,
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

int ring_make_routes(struct ring *x)
{
    const struct ranks_call *const call = x->call;
    int error = routes_make(call, &x->routes);
    for (int k = 0; k < call->kernel->params; k++)
        if (is_of_all_keys(call->kernel, &call->kernel->param[k]) &&
            call->problem.all_keys != routes_key(&x->routes, call->transport->ranks))
            error = worse_error(error, ATTN_EPROBLEM);
    error = agree(call->transport, error);
    return error || !call->listed ? error : agree(call->transport, routes_gather(call, &x->routes));
}

int ring_place_queries(struct ring *x, struct attn_problem *p, int64_t first, int64_t key)
{
    p->first_key = key;
    p->all_keys = routes_key(&x->routes, x->routes.ranks);
    const int64_t start = routes_query(&x->routes, x->call->transport->rank) + first - key;
    if (start < -(INT64_C(1) << 31) || start > INT64_C(1) << 31) return ATTN_ESIZE;
    for (int64_t b = 0; b < p->batch; b++) x->starts[b] = start;
    p->query_start = start == p->n_k - p->n_q ? NULL : x->starts;
    p->workspace_bytes = x->sizes.kernel;
    decay_place_queries(x, p, first, key);
    lists_place(x, p, first, key);
    return 0;
}

/* Computes queries first … first + problem->n_q - 1 for keys from position `key` on. */
static int attend(struct ring *x, struct attn_problem *p, int64_t first, int64_t key, const void *k, const void *v,
                  void *out)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const unsigned char *const q = (const unsigned char *)call->arrays.q +
                                   first * p->q.row * (int64_t)attn_dtype_size(kernel->dtype);
    const int error = ring_place_queries(x, p, first, key);
    return error ? error : kernel->forward(p, call->params ? x->params : NULL, q, k, v, out, x->work);
}

/* Returns a problem whose results are for n queries, in x->out and `statistics`. */
static struct attn_problem part_problem(const struct ring *x, int64_t n, int64_t n_k, unsigned char *statistics)
{
    struct attn_problem p = x->own;
    p.n_q = n;
    p.n_k = n_k;
    p.out = p.dk = p.dv = (struct attn_strides){0, 0, 0}; /* if the rank has no keys, their strides may be 0 */
    p.statistics = statistics;
    p.statistics_at = (struct attn_strides){p.heads * n, n, 1};
    return p;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Limits queries first … end - 1 to those that see keys rows of a run that begins at position `begin`. */
void ring_limit_queries(const struct ring *x, int64_t begin, struct rows rows, int64_t *first, int64_t *end)
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

int64_t ring_part_of_queries(struct ring *x, int64_t first, int64_t end, int *sink_mode)
{
    *sink_mode = 0;
    if (!x->call->kernel->has_sink) return end;
    *sink_mode = 1;
    if (x->own.n_k > 0) return end;
    const unsigned char had = x->had_sink[first];
    int64_t part = first;
    for (; part < end && x->had_sink[part] == had; part++) x->had_sink[part] = 1;
    if (!had) *sink_mode = 2;
    return part;
}

/* Computes the result for the keys `rows` of rank `source`, in a message, and merges it. */
static int add_piece(struct ring *x, int source, struct rows rows, const unsigned char *message)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const size_t size = attn_dtype_size(kernel->dtype);
    const int64_t begin = routes_key(&x->routes, source), key = begin + rows.first;
    int64_t first, end;
    int error = 0;
    ring_limit_queries(x, begin, rows, &first, &end);
    for (int64_t part; first < end && !error; first = part) {
        int sink_mode;
        part = ring_part_of_queries(x, first, end, &sink_mode);
        struct attn_problem p = part_problem(x, part - first, rows.end - rows.first, x->statistics);
        p.sink_mode = sink_mode;
        ring_use_message(x, &p, message, first, key);
        error = attend(x, &p, first, key, message, message + x->layout.values, x->out);
        if (error) return error;
        struct attn_problem left = x->own;
        left.n_q = p.n_q;
        left.n_k = 0;
        left.statistics = (unsigned char *)left.statistics +
                          first * left.statistics_at.row * (int64_t)ring_statistics_size(kernel);
        error = kernel->merge(&left, (unsigned char *)x->call->arrays.out + first * left.out.row * (int64_t)size, &p,
                              x->out);
    }
    return error;
}

/* Computes the result for the rank's own keys. */
static int add_own(struct ring *x)
{
    struct attn_problem p = x->own;
    const struct arrays *const a = &x->call->arrays;
    const int64_t key = routes_key(&x->routes, x->call->transport->rank);
    if (p.n_q == 0) return 0;
    ring_set_params(x, 0, key);
    p.sink_mode = !x->call->kernel->has_sink ? 0 : p.n_k > 0 ? 2 : 1;
    return attend(x, &p, 0, key, a->k, a->v, a->out);
}

/* ---- keys on their way ---- */

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
    ring_note(x, x->compute(x, piece->source, rows, piece->at + skip));
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

int ring_forward(const struct ranks_call *call)
{
    struct ring ring = {.call = call, .own = call->problem, .compute = add_piece}, *const x = &ring;
    x->layout = ring_layout(call->kernel, &x->own);
    x->sizes = sizes_of_ring(call->kernel, &x->own);
    const int misplaced = ring_make_routes(x);
    if (misplaced) return misplaced;
    place(x);
    decay_make(x);
    if (!x->error) ring_note(x, add_own(x));
    ring_travel(x);
    return x->error;
}
