/* Sums keys that several sequences share. Sequences with the same beginning have the same pages there. The keys of such
   pages are summed in one call for the rows of all these sequences, whole chunks at a time, before the call of each
   sequence. A row's sums have the same order in both calls, so its bits do not depend on the other sequences. */
#include "state.h"

enum {
    COMMON_ROWS = 64, /* the most rows of a call (program.common_rows) */
    COMMON_TOKENS = 8 /* memory has room for this number of new tokens of each sequence, or for more of some sequences
                       */
};

/* A call that sums common keys, for a tile of rows of several sequences. In the workspace, it has places only for the
   arrays of its kernel. */
struct common_call {
    struct program program;
    int64_t position; /* of the queries: all keys of the call are before it */
    struct place_of_row place[COMMON_ROWS];
    struct call call;
};

static size_t bytes_of_common_call(const struct kernel *kernel)
{
    return whole_lines(offsetof(struct common_call, call) + offsetof(struct call, array) +
                       (size_t)kernel->arrays * sizeof(struct place));
}

static struct common_call *common_call_number(const struct kernel *kernel, void *calls, int64_t k)
{
    return (struct common_call *)moved(calls, k * (int64_t)bytes_of_common_call(kernel));
}

/* Returns the bytes of the rows of all sequences. They do not depend on n_q: a workspace serves calls with any. */
static size_t bytes_of_common_rows(const struct kernel *kernel, const struct attn_problem *p)
{
    return bytes_times(bytes_times((size_t)(COMMON_TOKENS * kernel->common_row), p->heads), p->batch);
}

ATTN_API size_t attn_state_common_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    if (!p->pages || kernel->common_row == 0) return 0;
    const size_t lists = bytes_of_common_call(kernel) + sizeof(struct call *);
    return whole_lines(bytes_plus(bytes_of_common_rows(kernel, p), bytes_times(lists, p->batch)));
}

/* Returns whether all rows of the sequence see the chunk, which is common_chunks or a later one. */
static int has_chunk(const struct call *call, int64_t chunk, int64_t keys)
{
    return (chunk + 1) * keys <= call->common_end;
}

/* Returns whether a chunk of `keys` keys is in the same pages for both sequences. */
static int in_same_pages(const struct call *a, const struct call *b, int64_t chunk, int64_t keys)
{
    const int64_t from = chunk * keys / a->pages->tokens, to = pages_of(a->pages, (chunk + 1) * keys);
    return has_chunk(a, chunk, keys) && has_chunk(b, chunk, keys) &&
           memcmp(a->page + from, b->page + from, (size_t)(to - from) * sizeof *a->page) == 0;
}

/* Moves the sequences of list[1] … list[n - 1] that share the next chunk with *list to the front. Returns the number of
   sequences that share it, with *list. */
static int64_t gather_sharers(struct call **list, int64_t n)
{
    const struct program *const program = (*list)->program;
    int64_t sharers = 1;
    for (int64_t k = 1; k < n; k++) {
        struct call *const other = list[k];
        if (other->common_chunks != (*list)->common_chunks || other->program->common != program->common ||
            !in_same_pages(*list, other, other->common_chunks, program->common_chunk))
            continue;
        list[k] = list[sharers];
        list[sharers++] = other;
    }
    return sharers;
}

/* Lets sequences begin with a later chunk, if no other sequence shares the first chunk that all their rows see, but
   another one begins with the later chunk. Their own earlier chunks are summed before. */
static void align_beginnings(struct call *const *list, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        struct call *const call = list[k];
        const struct program *const program = call->program;
        int64_t first = INT64_MAX;
        for (int64_t o = 0; o < n && program->common_range && first > call->common_chunks; o++)
            if (o != k && list[o]->program->common == program->common &&
                list[o]->common_chunks >= call->common_chunks &&
                in_same_pages(call, list[o], list[o]->common_chunks, program->common_chunk))
                first = min(first, list[o]->common_chunks);
        if (first < INT64_MAX) call->common_chunks = first;
    }
}

/* Adds the sequence's rows of a key/value head to `place`. Returns their number. */
static int64_t add_places(struct place_of_row *place, const struct attn_problem *p)
{
    const int64_t rows = p->heads / p->kv_heads * p->n_q;
    for (int64_t r = 0; r < rows; r++)
        place[r] = (struct place_of_row){p->n_k - p->n_q, (int32_t)(r % p->n_q), (int32_t)(r / p->n_q)};
    return rows;
}

/* Returns the chunk before which calls for the next chunks of these sharers end: from which some sequence has other
   pages, or with which another sequence of the n in the list begins. */
static int64_t end_of_sharing(struct call *const *list, int64_t sharers, int64_t n)
{
    const int64_t from = (*list)->common_chunks, keys = (*list)->program->common_chunk;
    int64_t to = from + 1, most_chunks = INT64_MAX;
    for (int64_t k = sharers; k < n; k++)
        if (!list[k]->common_begun && list[k]->common_chunks > from)
            most_chunks = min(most_chunks, list[k]->common_chunks);
    for (int same = 1; same && to < most_chunks; to += same)
        for (int64_t k = 1; k < sharers && same; k++) same = in_same_pages(*list, list[k], to, keys);
    return to;
}

/* Returns the most rows of a call for these sharers. Each thread should have a call. A call for fewer sequences reads
   the keys for too few rows. */
static int64_t rows_of_calls(struct call *const *list, int64_t sharers, int threads)
{
    enum { FEWEST = 8 };
    const int64_t kv_heads = (*list)->p.kv_heads, tile = (*list)->program->common_rows;
    int64_t rows = 0;
    for (int64_t k = 0; k < sharers; k++) rows += list[k]->p.heads / kv_heads * list[k]->p.n_q;
    const int64_t calls = max((rows + tile - 1) / tile, min((threads + kv_heads - 1) / kv_heads, sharers / FEWEST));
    return (rows + calls - 1) / calls;
}

/* Makes a call for the first of these sharers, with at most `most` rows, up to chunk number `to`. Returns the number of
   its sequences. */
static int64_t make_common_call(struct common_call *c, struct call **list, int64_t sharers, int64_t most, int64_t to)
{
    struct attn_problem *const p = &c->call.p;
    int64_t rows = 0, count = 0;
    attn_call_copy(&c->call, *list);
    c->program = *(*list)->program;
    c->program.head = c->program.common;
    c->program.together = 0;
    c->position = to * c->program.common_chunk;
    p->n_q = 0;
    for (; count < sharers; count++) {
        const struct attn_problem *const of = &list[count]->p;
        if (count > 0 && rows + of->heads / p->kv_heads * of->n_q > most) break;
        rows += add_places(c->place + rows, of);
        p->n_q += of->n_q;
    }
    p->n_k = c->position;
    p->query_start = &c->position;
    c->call.place = c->place;
    c->call.sharer = list;
    c->call.sharers = count;
    return count;
}

/* Makes calls for the next chunks of sequences that share them. Call number k is common_call_number(…, k). Returns the
   number of calls. */
static int64_t divide_sharers(struct call **list, int64_t sharers, int64_t n, int threads, void *made, int64_t calls)
{
    const int64_t to = end_of_sharing(list, sharers, n), most = rows_of_calls(list, sharers, threads);
    for (int64_t k = 0; k < sharers; calls++)
        k += make_common_call(common_call_number((*list)->kernel, made, calls), list + k, sharers - k, most, to);
    return calls;
}

/* Lists the calls of sequences that may share keys, and gives each of them memory for its rows, which ends at `end`.
   Returns their number. */
static int64_t list_sharers(struct call **list, unsigned char *workspace, int64_t growths, const struct appending *x,
                            unsigned char *memory, const unsigned char *end)
{
    int64_t count = 0;
    for (int64_t k = 0; k < growths; k++) {
        struct growth *const g = growth_number(x->kernel, workspace, k);
        struct call *const call = &g->call;
        const struct program *const program = call->program;
        const int64_t rows = call->p.heads * call->p.n_q; /* at least two sequences should fit into a tile */
        if (g->left == 0 || !program->common || 2 * rows > program->common_rows * call->p.kv_heads) continue;
        if ((int64_t)(end - memory) < rows * program->common_row) break;
        int64_t range[2] = {0, INT64_MAX};
        if (program->common_range) program->common_range(call, 0, range);
        call->common = memory;
        call->common_begun = 0;
        call->common_chunks = (max(range[0], 0) + program->common_chunk - 1) / program->common_chunk;
        call->common_end = min(range[1], call->p.n_k - call->p.n_q);
        memory += rows * program->common_row;
        list[count++] = call;
    }
    return count;
}

/* Makes calls for the next chunks that sequences of the list share. Those that share none leave the list. Returns the
   number of calls. */
static int64_t next_calls(struct call **list, int64_t *left, int threads, void *made)
{
    int64_t calls = 0;
    for (int64_t k = 0, sharers; k < *left; k += sharers) {
        sharers = gather_sharers(list + k, *left - k);
        if (sharers > 1)
            calls = divide_sharers(list + k, sharers, *left - k, threads, made, calls);
        else {
            list[k] = list[--*left]; /* no other sequence has its next chunk */
            sharers = 0;
        }
    }
    return calls;
}

ATTN_API int attn_state_sum_common(unsigned char *workspace, int64_t growths, struct job *job,
                                   const struct appending *x)
{
    const struct kernel *const kernel = x->kernel;
    const struct attn_problem *const p = &x->whole->p;
    unsigned char *const made = x->common + bytes_of_common_rows(kernel, p);
    struct call **const list = (struct call **)(void *)common_call_number(kernel, made, p->batch);
    int64_t left = list_sharers(list, workspace, growths, x, x->common, made);
    align_beginnings(list, left);
    for (;;) {
        const int64_t calls = next_calls(list, &left, x->threads, made);
        if (calls == 0) return 0;
        for (int64_t k = 0; k < calls; k++) {
            const struct common_call *const c = common_call_number(kernel, made, k);
            job[k] = (struct job){.call = &c->call, .program = &c->program};
        }
        const int error = attn_call_run_jobs(job, calls, x->threads, x->work, x->bytes);
        if (error) return error;
        for (int64_t k = 0; k < calls; k++) {
            const struct common_call *const c = common_call_number(kernel, made, k);
            for (int64_t n = 0; n < c->call.sharers; n++) {
                c->call.sharer[n]->common_chunks = c->position / c->program.common_chunk;
                c->call.sharer[n]->common_begun = 1;
            }
        }
    }
}
