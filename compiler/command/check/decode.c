/* Checks extend of the kernel, for attnc check. Calls of extend append the sequences of a sample in pieces. Their
   output is compared with the output of forward, without dropout. Some pieces are appended to an empty state, which is
   then joined with the state of the earlier pieces. Each piece is also appended to a copy of the state without
   queries. Both states must be equal. */
#include "check.h"
#include "../../host/host.h"
#include "../../support/support.h"

#include <string.h>

/* The maximum number of pairs that extend visits, and of tokens in a piece (a call). */
enum { MAX_PAIRS_EXTENDED = 1 << 20, MAX_PIECE = 40 };

/* A batch of sequences that calls of extend append to a state. Each piece is copied, because sequences may get
   different numbers of tokens. */
struct growth {
    struct called *forward;
    const struct sample *sample;
    struct attn_problem p;
    /* piece[t] is a piece of tensor t, piece_out[o] a piece of output o, and output[o] the whole output. */
    void *state, *piece[MAX_TENSORS], **piece_out, **output;
    int outputs;
    /* given[t] is tensor t as extend takes it. */
    void *given[MAX_TENSORS];
    /* If pieces are joined: the states before a piece and of the piece alone, the piece's output there, which is not
       compared, and the number of keys that a state sums at a time. */
    void *left, *right, *ignored;
    int64_t chunk;
    /* `unasked` is a state whose last piece was appended without queries, if `appended`. `differs` is true if it ever
       gave other results than `state`. Elements of a state that no result reads may differ. */
    void *unasked;
    bool appended, differs;
    /* at[b] is the length of sequence b so far. tokens[b] is the number of tokens that the next call appends to it. */
    int64_t *at, *tokens;
};

static int64_t heads_of(const struct attn_problem *p, const struct kernel_array *a)
{
    if (a->shared && p->key_heads) return p->key_heads;
    if (array_own_heads(a)) return array_own_heads(a);
    return array_has_size(a, ARRAY_SIZE_HEADS) ? p->heads : array_has_size(a, ARRAY_SIZE_KV_HEADS) ? p->kv_heads : 1;
}

static size_t row_bytes(const struct kernel_array *a)
{
    return (size_t)array_row_elements(a) * attn_dtype_size(kernel_dtype(a->appended));
}

/* Copies rows from `whole`, an array of all tokens, to `piece`. If `back` is true, copies from `piece` to `whole`. A
   sample has queries for the last tokens only. Earlier tokens repeat one of these queries. */
static void copy_rows(const struct growth *x, const struct kernel_array *a, void *piece, void *whole, bool back)
{
    const struct attn_problem *p = &x->p;
    const int64_t heads = heads_of(p, a), n_q = x->forward->problem.n_q,
                  rows = a->role == ROLE_PER_QUERY ? n_q : p->n_k, ahead = a->role == ROLE_PER_QUERY ? p->n_k - n_q : 0;
    const size_t row = row_bytes(a);
    const int64_t batch = array_has_size(a, ARRAY_SIZE_BATCH) ? p->batch : 1;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t n = 0; n < x->tokens[b]; n++) {
                int64_t at = x->at[b] + n - ahead;
                char *const in_piece = (char *)piece + (size_t)((b * heads + h) * p->n_q + n) * row;
                if (back && at < 0) continue;
                if (at < 0) at = (at + ahead) % rows;
                char *const in_whole = (char *)whole + (size_t)((b * heads + h) * rows + at) * row;
                memcpy(back ? in_whole : in_piece, back ? in_piece : in_whole, row);
            }
}

static size_t piece_bytes(const struct growth *x, const struct kernel_array *a)
{
    return (size_t)(x->p.batch * heads_of(&x->p, a) * x->p.n_q) * row_bytes(a);
}

/* Copies the next piece of each array with a row per token. Returns 0 or ATTN_EMEMORY. */
static int take_pieces(struct growth *x)
{
    const struct sample *const s = x->sample;
    x->ignored = check_memory(piece_bytes(x, s->output[0].array));
    int error = x->ignored ? 0 : ATTN_EMEMORY;
    for (int o = 0; o < x->outputs; o++) {
        x->piece_out[o] = check_memory(piece_bytes(x, s->output[o].array));
        if (!x->piece_out[o]) error = ATTN_EMEMORY;
    }
    for (int t = 0; t < s->tensors && !error; t++) {
        const struct kernel_array *const a = s->array[t];
        if (!array_grows(a)) continue;
        x->piece[t] = check_memory(piece_bytes(x, a));
        if (!x->piece[t]) return ATTN_EMEMORY;
        copy_rows(x, a, x->piece[t], x->given[t], false);
        check_set_array(x->forward, s, t, x->piece[t]);
    }
    return error;
}

static void free_pieces(struct growth *x)
{
    for (int t = 0; t < x->sample->tensors; t++) {
        attn_free(x->piece[t]);
        x->piece[t] = NULL;
    }
    for (int o = 0; o < x->outputs; o++) {
        attn_free(x->piece_out[o]);
        x->piece_out[o] = NULL;
    }
    attn_free(x->ignored);
    x->ignored = NULL;
}

/* Draws each sequence's number of tokens in the next piece. If `alike` is true, all sequences get equally many. If
   pieces are joined, half of them end at a whole chunk.
   Returns the maximum, or 0 at the end. */
static int64_t draw_piece(struct growth *x, bool alike, uint64_t *state)
{
    const int64_t n = x->p.n_k, most = n < MAX_PIECE ? n : MAX_PIECE;
    int64_t longest = 0, drawn = 0;
    bool more = false;
    for (int64_t b = 0; b < x->p.batch; b++) {
        if (b == 0 || !alike) drawn = (int64_t)(check_uniform(state) * (double)most) + (alike ? 1 : 0);
        if (b == 0 && x->chunk && check_uniform(state) < 0.5) drawn = x->chunk - x->at[0] % x->chunk;
        if (check_uniform(state) < 0.3 && !alike) drawn = 1;
        x->tokens[b] = drawn < n - x->at[b] ? drawn : n - x->at[b];
        more |= x->at[b] < n;
        if (x->tokens[b] > longest) longest = x->tokens[b];
    }
    if (more && longest == 0) return draw_piece(x, alike, state);
    return longest;
}

/* Appends the piece to a state, without queries if `out` is NULL. Other outputs are computed with the piece of the
   result. Returns 0 or ATTN_E…. */
static int extend(struct growth *x, void *out, void *state, void *workspace)
{
    const struct called *const f = x->forward;
    for (int o = 1; o < x->outputs; o++)
        *problem_output(&x->p, x->sample->output[o].name).data = out == x->piece_out[0] ? x->piece_out[o] : NULL;
    const void *const q = out ? f->input[0] : NULL;
    return f->kernel->extend(&x->p, f->params, q, f->input[1], f->input[2], out, state, workspace);
}

/* Appends the piece to the state, and compares the results with those of `unasked`. Then appends the piece without
   queries to a copy of the state before. Returns 0 or ATTN_E…. */
static int extend_twice(struct growth *x, void *workspace)
{
    int error = x->appended ? extend(x, x->ignored, x->unasked, workspace) : 0;
    memcpy(x->unasked, x->state, x->p.state_bytes);
    if (!error) error = extend(x, NULL, x->unasked, workspace);
    if (!error) error = extend(x, x->piece_out[0], x->state, workspace);
    x->differs |= !error && x->appended &&
                  memcmp(x->ignored, x->piece_out[0], piece_bytes(x, x->sample->output[0].array)) != 0;
    x->appended = true;
    return error;
}

/* Appends the piece to an empty state, and joins this state with x->left. If that succeeds, the joined state replaces
   x->state. Returns 0 or ATTN_E…. */
static int join(struct growth *x, void *workspace)
{
    const struct attn_kernel *const kernel = x->forward->kernel;
    x->p.start = x->at[0];
    int error = kernel->state_init(&x->p, x->right);
    x->p.start = 0;
    if (!error) error = extend(x, x->ignored, x->right, workspace);
    if (!error) error = kernel->state_fold(&x->p, x->left, x->right);
    if (!error) memcpy(x->state, x->left, x->p.state_bytes);
    if (!error) x->appended = false; /* the joined state may round otherwise */
    /* the first piece does not end at a whole chunk, or the state has no room */
    return error == ATTN_ELENGTH || error == ATTN_ECAPACITY || error == ATTN_EFOLD ? 0 : error;
}

/* Appends all tokens of the sequences, piece by piece. Returns 0 or ATTN_E…. */
static int grow(struct growth *x, bool alike, uint64_t *state)
{
    const struct attn_kernel *const kernel = x->forward->kernel;
    struct attn_problem *p = &x->p;
    int error = kernel->state_init(p, x->state);
    p->lengths = alike ? NULL : x->tokens;
    for (int64_t n; !error && (n = draw_piece(x, alike, state)) > 0;) {
        p->n_q = n;
        void *workspace = check_memory(kernel->extend_workspace(p));
        error = workspace ? take_pieces(x) : ATTN_EMEMORY;
        if (!error && x->chunk) memcpy(x->left, x->state, p->state_bytes);
        if (!error) error = extend_twice(x, workspace);
        if (!error && x->chunk) error = join(x, workspace);
        for (int o = 0; o < x->outputs && !error; o++)
            copy_rows(x, x->sample->output[o].array, x->piece_out[o], x->output[o], true);
        for (int64_t b = 0; b < p->batch; b++) x->at[b] += x->tokens[b];
        free_pieces(x);
        attn_free(workspace);
    }
    return error;
}

/* Returns the number of outputs that extend computes, too. Outputs of pairs come after them. */
static int outputs_of_extend(const struct sample *s)
{
    int outputs = 0;
    while (outputs < s->outputs && s->output[outputs].array->role != ROLE_PER_PAIR) outputs++;
    return outputs;
}

/* Allocates the arrays for a sample and appends its sequences. If `alike` is true, a piece has equally many tokens
   of all sequences. The outputs are x->output. */
static int grow_once(struct checking *c, struct called *forward, int sample, bool alike, uint64_t *state,
                     struct growth *x)
{
    const struct attn_kernel *const kernel = forward->kernel;
    const size_t batch = (size_t)forward->problem.batch;
    const struct sample *const s = &c->sample[sample];
    *x = (struct growth){.forward = forward,
                         .sample = s,
                         .outputs = outputs_of_extend(s),
                         .p = forward->problem,
                         .piece_out = arena_alloc(c->p->arena, (size_t)s->outputs * sizeof *x->piece_out),
                         .output = arena_alloc(c->p->arena, (size_t)s->outputs * sizeof *x->output)};
    for (int o = 0; o < x->outputs; o++) {
        x->output[o] = check_memory(check_output_bytes(s, o, s->output[o].elements));
        if (!x->output[o]) return ATTN_EMEMORY;
    }
    for (int t = 0; t < x->sample->tensors; t++) {
        const struct kernel_array *const a = x->sample->array[t];
        if (a->place == PLACE_WITHIN) continue;
        x->given[t] = a->dtype == a->appended ? forward->array[t]
                                              : check_converted(&c->sample[sample].tensor[t], x->sample->count[t],
                                                                kernel_dtype(a->appended));
        if (!x->given[t]) return ATTN_EMEMORY;
        if (a->dtype != a->appended && a->shared && c->sharing[sample] > 1)
            check_without_copies(x->given[t], (size_t)x->sample->count[t] * sizeof(float), x->p.batch * x->p.heads,
                                 c->sharing[sample]);
    }
    x->p.saved = x->p.weights = NULL;
    x->p.capacity = x->p.n_k;
    x->chunk = alike && (c->p->kernel.folds || c->p->kernel.of[STEP_FOLDABLE].count)
                   ? emission_extend(&c->p->kernel)->state.chunk
                   : 0;
    x->p.foldable = x->chunk != 0;
    x->p.state_bytes = kernel->state(&x->p);
    x->state = check_memory(x->p.state_bytes);
    x->unasked = check_memory(x->p.state_bytes);
    x->at = attn_alloc(batch * sizeof *x->at);
    x->tokens = attn_alloc(batch * sizeof *x->tokens);
    x->left = x->chunk ? check_memory(x->p.state_bytes) : NULL;
    x->right = x->chunk ? check_memory(x->p.state_bytes) : NULL;
    const bool joins = (x->left && x->right) || !x->chunk;
    const int error = x->state && x->unasked && x->at && x->tokens && joins ? grow(x, alike, state) : ATTN_EMEMORY;
    for (int t = 0; t < x->sample->tensors; t++)
        if (x->given[t] != forward->array[t]) attn_free(x->given[t]);
    attn_free(x->state);
    attn_free(x->unasked);
    attn_free(x->left);
    attn_free(x->right);
    attn_free(x->at);
    attn_free(x->tokens);
    return error;
}

/* Returns true if the sequences of a batch share the rows of an array of tokens. Their lengths must then be equal. */
static bool share_rows(const struct sample *s)
{
    bool shared = false;
    for (int t = 0; t < s->tensors; t++)
        shared |= array_grows(s->array[t]) && !array_has_size(s->array[t], ARRAY_SIZE_BATCH);
    return shared;
}

/* Returns true if extend can be checked for this size. The queries must belong to the last keys, and the pairs must
   be few. */
static bool grows(const struct problem_size *size)
{
    const int64_t most = MAX_PAIRS_EXTENDED / size->batch / size->kv_heads / size->members / size->n_k;
    return size->n_q <= size->n_k && size->n_k <= most;
}

enum status check_decode(struct checking *c, const struct attn_kernel *kernel)
{
    struct worst worst = {.share = 0};
    uint64_t state = c->o->has_seed ? c->o->seed : 1;
    bool differs = false;
    for (int k = 0; k < 2 * c->sizes; k++) {
        const int n = k / 2;
        struct sample own = c->extended[n], *const s = &own;
        s->outputs = outputs_of_extend(s);
        if (!grows(&c->size[n])) continue;
        struct called forward;
        struct growth x = {0};
        int error = check_call(c, kernel, n, false, &forward);
        if (!error) error = grow_once(c, &forward, n, k % 2 || share_rows(s), &state, &x);
        /* Adding sums over pieces has rounding errors. */
        if (!error) check_outputs(s, n, x.output, c->linear ? 1 : 2, &worst);
        for (int o = 0; o < s->outputs && x.output; o++) attn_free(x.output[o]);
        check_call_end(&forward);
        if (error) return complain_as(c->o, STATUS_MACHINE, "%s: extend: %s", c->p->spec->name, attn_strerror(error));
        differs |= x.differs;
    }
    if (differs && c->good) {
        complain(c->o, "%s: after extend without queries, results have other bits than after extend with queries",
                 c->p->spec->name);
        c->good = false;
    }
    check_report(c, "the kernel's extend", "the compiled kernel's extend", &worst, "of the tolerance",
                 worst.share <= 1);
    if (worst.share > c->worst.share) c->worst = worst;
    return STATUS_DONE;
}
