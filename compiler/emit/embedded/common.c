#if COMMON
/* ==== keys that several sequences share ==== */
/* Sequences with the same beginning have the same pages there. The keys of such pages are summed in one call for the
   rows of all these sequences, whole chunks at a time, before the call of each sequence. A row's sums have the same
   order in both calls, so its bits do not depend on the other sequences. */

/* A call that sums common keys, for a tile of rows of several sequences. */
struct common_call {
    struct call call;
    struct version this;
    int64_t position; /* of the queries: all keys of the call are before it */
    struct place place[COMMON_ROWS];
};

/* The memory has room for this number of new tokens of each sequence, or for more tokens of some sequences. */
enum { COMMON_TOKENS = 8 };

/* Returns the bytes of the rows of all sequences. They do not depend on n_q: a workspace serves calls with any. */
static size_t bytes_of_common_rows(const struct attn_problem *p)
{
    return bytes_times(bytes_times(COMMON_TOKENS * COMMON_ROW, p->heads), p->batch);
}

/* Returns the bytes for the rows of all sequences, the calls, and a list of sequences. */
static size_t bytes_of_common(const struct attn_problem *p)
{
    if (!p->pages) return 0;
    const size_t lists = sizeof(struct common_call) + sizeof(struct call *);
    return whole_lines(bytes_plus(bytes_of_common_rows(p), bytes_times(lists, p->batch)));
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

/* Returns the version that the sequence's call uses. */
static const struct version *version_of(const struct call *call)
{
    return &((const struct growth *)(const void *)call)->this; /* `call` is the first member of struct growth */
}

/* Moves the sequences of list[1] … list[n - 1] that share the next chunk with *list to the front. Returns the number of
   sequences that share it, with *list. */
static int64_t gather_sharers(struct call **list, int64_t n)
{
    const struct version *const this = version_of(*list);
    int64_t sharers = 1;
    for (int64_t k = 1; k < n; k++) {
        struct call *const other = list[k];
        if (other->common_chunks != (*list)->common_chunks || version_of(other)->common != this->common ||
            !in_same_pages(*list, other, other->common_chunks, this->common_chunk))
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
        const struct version *const this = version_of(call);
        int64_t first = INT64_MAX;
        for (int64_t o = 0; o < n && this->common_range && first > call->common_chunks; o++)
            if (o != k && version_of(list[o])->common == this->common &&
                list[o]->common_chunks >= call->common_chunks &&
                in_same_pages(call, list[o], list[o]->common_chunks, this->common_chunk))
                first = min(first, list[o]->common_chunks);
        if (first < INT64_MAX) call->common_chunks = first;
    }
}

/* Adds the sequence's rows of a key/value head to `place`. Returns their number. */
static int64_t add_places(struct place *place, const struct attn_problem *p)
{
    const int64_t rows = p->heads / p->kv_heads * p->n_q;
    for (int64_t r = 0; r < rows; r++)
        place[r] = (struct place){p->n_k - p->n_q, (int32_t)(r % p->n_q), (int32_t)(r / p->n_q)};
    return rows;
}

/* Makes calls for the next chunks of sequences that share them. They end with the chunk from which some sequence has
   other pages, or with which another sequence of the n in the list begins. Returns the number of calls. */
static int64_t divide_sharers(struct call **list, int64_t sharers, int64_t n, int threads, struct common_call *made)
{
    const struct version *const this = version_of(*list);
    const int64_t from = (*list)->common_chunks, kv_heads = (*list)->p.kv_heads;
    int64_t to = from + 1, rows = 0, calls = 0, most_chunks = INT64_MAX;
    for (int64_t k = sharers; k < n; k++)
        if (!list[k]->common_begun && list[k]->common_chunks > from)
            most_chunks = min(most_chunks, list[k]->common_chunks);
    for (int same = 1; same && to < most_chunks; to += same)
        for (int64_t k = 1; k < sharers && same; k++) same = in_same_pages(*list, list[k], to, this->common_chunk);
    for (int64_t k = 0; k < sharers; k++) rows += list[k]->p.heads / kv_heads * list[k]->p.n_q;
    /* Each thread should have a call. A call for fewer sequences reads the keys for too few rows. */
    enum { FEWEST = 8 };
    const int64_t parts = max((rows + this->common_rows - 1) / this->common_rows,
        min((threads + kv_heads - 1) / kv_heads, sharers / FEWEST)),
        most = (rows + parts - 1) / parts;
    for (int64_t k = 0, next; k < sharers; k = next) {
        struct common_call *const c = &made[calls++];
        c->call = *list[k];
        c->this = *this;
        c->position = to * this->common_chunk;
        struct attn_problem *const p = &c->call.p;
        int64_t rows_of_call = 0;
        p->n_q = 0;
        for (next = k; next < sharers; next++) {
            const int64_t more = list[next]->p.heads / kv_heads * list[next]->p.n_q;
            if (next > k && rows_of_call + more > most) break;
            rows_of_call += add_places(c->place + rows_of_call, &list[next]->p);
            p->n_q += list[next]->p.n_q;
        }
        c->call.place = c->place;
        c->this.head = this->common;
        c->this.together = 0;
        c->call.sharer = list + k;
        c->call.sharers = next - k;
        p->n_k = c->position;
        p->query_start = &c->position;
    }
    return calls;
}

/* Sums the keys that several sequences share. `memory` has bytes_of_common bytes. Returns 0 or an error. */
static int sum_common(struct growth *growth, int64_t growths, struct job *job, const struct appending *x,
    const struct attn_problem *p, unsigned char *memory, size_t bytes)
{
    unsigned char *const end = memory + bytes_of_common_rows(p);
    struct common_call *const made = (struct common_call *)(void *)end;
    struct call **const list = (struct call **)(void *)(made + p->batch);
    int64_t left = 0;
    for (int64_t k = 0; k < growths; k++) {
        struct call *const call = &growth[k].call;
        const struct version *const this = &growth[k].this;
        const int64_t rows = call->p.heads * call->p.n_q; /* at least two sequences should fit into a tile */
        if (growth[k].left == 0 || !this->common || 2 * rows > this->common_rows * call->p.kv_heads) continue;
        if ((int64_t)(end - memory) < rows * this->common_row) break;
        int64_t range[2] = {0, INT64_MAX};
        if (this->common_range) this->common_range(call, 0, range);
        call->common = memory;
        call->common_begun = 0;
        call->common_chunks = (max(range[0], 0) + this->common_chunk - 1) / this->common_chunk;
        call->common_end = min(range[1], call->p.n_k - call->p.n_q);
        memory += rows * this->common_row;
        list[left++] = call;
    }
    align_beginnings(list, left);
    for (;;) {
        int64_t calls = 0;
        for (int64_t k = 0, sharers; k < left; k += sharers) {
            sharers = gather_sharers(list + k, left - k);
            if (sharers > 1)
                calls += divide_sharers(list + k, sharers, left - k, x->threads, made + calls);
            else {
                list[k] = list[--left]; /* no other sequence has its next chunk */
                sharers = 0;
            }
        }
        if (calls == 0) return 0;
        for (int64_t k = 0; k < calls; k++) job[k] = (struct job){.call = &made[k].call, .this = &made[k].this};
        const int error = run_jobs(job, calls, x->threads, x->work, bytes);
        if (error) return error;
        for (int64_t k = 0; k < calls; k++)
            for (int64_t n = 0; n < made[k].call.sharers; n++) {
                made[k].call.sharer[n]->common_chunks = made[k].position / made[k].this.common_chunk;
                made[k].call.sharer[n]->common_begun = 1;
            }
    }
}

#endif
