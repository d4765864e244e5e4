/* The sums of a decay's logarithm over ranks. A decay between a key and a query is the exponential of the difference of
   such sums at both. Each rank sums its tokens, and gets the sums over all earlier ranks from the rank before. A row of
   a message has the sums before its key. If a rank's queries are not at its own keys, the ranks of these keys send the
   sums there.

   In backward, a call returns the gradients with respect to the sums at its queries and keys. They go to the rank that
   has the token. The gradient of a token's logarithm is the sum of those at the token and at all later ones, so that
   each rank needs the sums over all later ranks, from the rank after. */
#include "ring.h"

static int64_t numbers_of_token(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    return p->batch * p->heads * kernel->decay_terms;
}

size_t decay_row(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    return bytes_times(bytes_times(bytes_times((size_t)p->batch, (size_t)p->heads), (size_t)kernel->decay_terms),
                       sizeof(double));
}

size_t decay_workspace(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    struct attn_problem of_keys = *p;
    of_keys.n_q = p->n_k;
    return kernel->decay_terms ? kernel->workspace(&of_keys) : 0;
}

void decay_place(struct ring *x, struct memory *m)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem *const p = &x->own;
    const int64_t longest = p->n_q > p->n_k ? p->n_q : p->n_k, piece = piece_of_runs(kernel);
    struct decay *const d = &x->decay;
    d->row = decay_row(kernel, p);
    d->numbers = numbers_of_token(kernel, p);
    const struct {
        double **to;
        int64_t rows;
    } taken[] = {{&d->before, p->n_k + 1},
                 {&d->queries, p->n_q},
                 {&d->call, longest},
                 {&d->edge, 1},
                 /* for gradients */
                 {&d->of_queries, p->n_q},
                 {&d->of_keys, p->n_k},
                 {&d->keys, longest > piece ? longest : piece},
                 {&d->of_piece, piece},
                 {&d->received, longest > piece ? longest : piece}};
    const size_t count = sizeof taken / sizeof *taken;
    for (size_t k = 0; k < count && kernel->decay_terms && (x->call->backward || taken[k].to != &d->of_queries); k++)
        *taken[k].to = memory_cleared(m, bytes_times(d->row, (size_t)taken[k].rows));
}

/* Adds rows of tokens to rows of a call's array [B,H,n,decay_terms] if `to_call`, else the reverse. */
static void add_rows(const struct ring *x, double *rows, double *call, int64_t n, bool to_call)
{
    const int64_t terms = x->call->kernel->decay_terms, all = x->decay.numbers;
    for (int64_t head = 0; head < x->own.batch * x->own.heads; head++)
        for (int64_t t = 0; t < n; t++)
            for (int64_t k = 0; k < terms; k++) {
                double *const row = &rows[t * all + head * terms + k],
                              *const of_call = &call[(head * n + t) * terms + k];
                if (to_call)
                    *of_call += *row;
                else
                    *row += *of_call;
            }
}

/* ---- moving rows between the ranks of keys and of queries ---- */

/* The positions that the keys of one rank and the queries of another have in common. */
static struct rows common(const struct routes *x, int of_keys, int of_queries)
{
    const int64_t key = routes_key(x, of_keys), query = routes_query(x, of_queries),
                  end_of_keys = key + x->run[of_keys].n_k, end_of_queries = query + x->run[of_queries].n_q;
    return (struct rows){key > query ? key : query, end_of_keys < end_of_queries ? end_of_keys : end_of_queries};
}

/* Moves rows of keys to the ranks with queries at their positions, or back if `back`. Rows that return are added. */
static void move_rows(struct ring *x, double *of_keys, double *of_queries, bool back)
{
    const struct attn_transport *const t = x->call->transport;
    const struct routes *const r = &x->routes;
    const int64_t key = routes_key(r, t->rank), query = routes_query(r, t->rank), all = x->decay.numbers;
    for (int by = 0; by < t->ranks; by++) {
        const int to = (t->rank + by) % t->ranks, from = (t->rank - by + t->ranks) % t->ranks;
        const struct rows out = back ? common(r, to, t->rank) : common(r, t->rank, to),
                          in = back ? common(r, t->rank, from) : common(r, from, t->rank);
        const double *const sent = back ? of_queries + (out.first - query) * all : of_keys + (out.first - key) * all;
        double *const got = back ? x->decay.received : of_queries + (in.first - query) * all;
        if (by == 0 && rows_any(in)) memcpy(got, sent, x->decay.row * (size_t)(in.end - in.first));
        if (by > 0) {
            struct message receives = message_from(from, TAG_DECAY, got,
                                                   rows_any(in) ? x->decay.row * (size_t)(in.end - in.first) : 0),
                           sends = message_to(to, TAG_DECAY, sent,
                                              rows_any(out) ? x->decay.row * (size_t)(out.end - out.first) : 0);
            ring_note(x, message_begin(t, &receives));
            ring_note(x, message_begin(t, &sends));
            ring_note(x, message_end(t, &receives));
            ring_note(x, message_end(t, &sends));
        }
        for (int64_t k = 0; back && k < (in.end - in.first) * all; k++) of_keys[(in.first - key) * all + k] += got[k];
    }
}

/* ---- forward ---- */

void decay_make(struct ring *x)
{
    const struct ranks_call *const call = x->call;
    const struct attn_transport *const t = call->transport;
    struct decay *const d = &x->decay;
    struct attn_problem p = x->own;
    p.n_q = p.n_k;
    p.query_start = NULL;
    p.statistics = NULL;
    p.q = p.out = p.dout = p.dq = (struct attn_strides){0, 0, 0}; /* these arrays have fewer rows, and are not read */
    p.first_key = routes_key(&x->routes, t->rank);
    p.all_keys = routes_key(&x->routes, t->ranks);
    if (!call->kernel->decay_terms) return;
    ring_set_params(x, 0, p.first_key);
    if (p.n_k > 0 && !x->error)
        ring_note(x, call->kernel->decay_sums(&p, call->params ? x->params : NULL, d->call, x->work));
    if (t->rank > 0) ring_note(x, message_now(t, message_from(t->rank - 1, TAG_DECAY, d->before, d->row)));
    add_rows(x, d->before + d->numbers, d->call, p.n_k, false);
    for (int64_t j = 1; j <= p.n_k; j++)
        for (int64_t k = 0; k < d->numbers; k++) d->before[j * d->numbers + k] += d->before[k];
    if (t->rank + 1 < t->ranks)
        ring_note(x, message_now(t, message_to(t->rank + 1, TAG_DECAY, d->before + p.n_k * d->numbers, d->row)));
    move_rows(x, d->before + d->numbers, d->queries, false);
    d->first = d->before;
}

void decay_pack(const struct ring *x, unsigned char *to, size_t row_bytes, struct rows rows)
{
    for (int64_t j = rows.first; j < rows.end && x->decay.row; j++, to += row_bytes)
        memcpy(to, x->decay.before + j * x->decay.numbers, x->decay.row);
}

void decay_place_queries(struct ring *x, struct attn_problem *p, int64_t first, int64_t key)
{
    struct decay *const d = &x->decay;
    const int64_t query = routes_query(&x->routes, x->call->transport->rank) + first,
                  terms = x->call->kernel->decay_terms;
    p->query_decay = NULL;
    if (!terms || !p->query_start || p->n_k == 0) return;
    for (int64_t head = 0; head < p->batch * p->heads; head++)
        for (int64_t i = 0; i < p->n_q; i++)
            for (int64_t k = 0; k < terms; k++) {
                const int64_t at = head * terms + k;
                d->call[(head * p->n_q + i) * terms + k] = query + i < key ? 0
                                                                           : d->queries[(first + i) * d->numbers + at] -
                                                                                 d->first[at];
            }
    p->query_decay = d->call;
}

/* ---- backward ---- */

bool decay_reads(const struct attn_kernel *kernel, int param)
{
    return kernel->decay_terms && param < 64 && kernel->decay_params >> param & 1;
}

bool decay_gradients_wanted(const struct ranks_call *call)
{
    struct learned x = FIRST_LEARNED;
    bool wanted = false;
    while (learned_next(call, &x)) wanted |= x.to && decay_reads(call->kernel, x.param);
    return wanted;
}

void decay_take_gradients(struct ring *x, struct attn_problem *p)
{
    if (!x->decay.gives) return;
    p->query_decay_gradients = x->decay.received; /* free until the next message */
    p->key_decay_gradients = x->decay.keys;
}

void decay_add_gradients(struct ring *x, const struct attn_problem *p, int64_t first, bool own)
{
    struct decay *const d = &x->decay;
    if (!d->gives) return;
    add_rows(x, d->of_queries + first * d->numbers, d->received, p->n_q, false);
    add_rows(x, own ? d->of_keys : d->of_piece, d->keys, p->n_k, false);
}

void decay_add_received(struct ring *x, struct rows rows)
{
    struct decay *const d = &x->decay;
    const int64_t first = rows.first * d->numbers, count = (rows.end - rows.first) * d->numbers;
    for (int64_t k = 0; k < count; k++) d->of_keys[first + k] += d->received[k];
}

int decay_finish(struct ring *x, void **gradients)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct attn_transport *const t = call->transport;
    struct decay *const d = &x->decay;
    struct attn_problem p = x->own;
    struct learned g = FIRST_LEARNED;
    if (!d->gives) return 0;
    move_rows(x, d->of_keys, d->of_queries, true);
    memset(d->edge, 0, d->row);
    if (t->rank + 1 < t->ranks) ring_note(x, message_now(t, message_from(t->rank + 1, TAG_DECAY, d->edge, d->row)));
    for (int64_t j = p.n_k - 1; j >= 0; j--)
        for (int64_t k = 0; k < d->numbers; k++) {
            d->edge[k] += d->of_keys[j * d->numbers + k];
            d->of_keys[j * d->numbers + k] = d->edge[k];
        }
    if (t->rank > 0) ring_note(x, message_now(t, message_to(t->rank - 1, TAG_DECAY, d->edge, d->row)));
    while (learned_next(call, &g)) {
        gradients[g.number] = decay_reads(kernel, g.param) ? g.to : NULL;
        if (gradients[g.number] && p.n_k == 0) memset(g.to, 0, gradient_bytes(kernel, g.of, &x->own));
    }
    if (p.n_k == 0 || x->error) return 0;
    memset(d->keys, 0, d->row * (size_t)p.n_k);
    add_rows(x, d->of_keys, d->keys, p.n_k, true);
    p.first_key = routes_key(&x->routes, t->rank);
    p.all_keys = routes_key(&x->routes, t->ranks);
    p.key_decay_gradients = d->keys;
    p.saved = NULL;
    p.statistics = NULL;
    p.workspace_bytes = 0;
    ring_set_params(x, 0, p.first_key);
    return kernel->finish_gradients(&p, call->params ? x->params : NULL, call->arrays.q, call->arrays.k, call->arrays.v,
                                    call->arrays.out, call->arrays.dout, NULL, NULL, NULL, gradients, x->work);
}
