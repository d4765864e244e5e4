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
};

/* With more new tokens, a sequence reads each key for many rows anyway. */
enum { COMMON_TOKENS = 4 };

/* Returns the bytes of the rows of a sequence. They do not depend on n_q, because a workspace serves calls with any. */
static size_t bytes_of_common_rows(const struct attn_problem *p)
{
    return bytes_times(COMMON_TOKENS * COMMON_ROW, p->heads);
}

/* Returns the bytes for the rows of all sequences, the calls, and a list of sequences. */
static size_t bytes_of_common(const struct attn_problem *p)
{
    if (!p->pages) return 0;
    const size_t lists = sizeof(struct common_call) + sizeof(struct call *);
    return whole_lines(bytes_times(bytes_plus(bytes_of_common_rows(p), lists), p->batch));
}

/* Returns whether the first new token of the sequence is after chunk number `chunk`. */
static int has_chunk(const struct call *call, int64_t chunk, int64_t keys)
{
    return (chunk + 1) * keys <= call->p.n_k - call->p.n_q;
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

/* Makes calls for the next chunks of sequences that share them, up to the chunk from which some sequence has other pages.
   Returns the number of calls. */
static int64_t divide_sharers(struct call **list, int64_t sharers, int threads, struct common_call *made)
{
    const struct version *const this = version_of(*list);
    const int64_t from = (*list)->common_chunks, kv_heads = (*list)->p.kv_heads;
    int64_t to = from + 1, rows = 0, calls = 0;
    for (int same = 1; same; to += same)
        for (int64_t k = 1; k < sharers && same; k++) same = in_same_pages(*list, list[k], to, this->common_chunk);
    for (int64_t k = 0; k < sharers; k++) rows += list[k]->p.heads / kv_heads * list[k]->p.n_q;
    /* Each thread should have a call. A call for fewer sequences reads the keys for too few rows. */
    enum { FEWEST = 8 };
    const int64_t parts = max((rows + this->common_rows - 1) / this->common_rows,
        min((threads + kv_heads - 1) / kv_heads, sharers / FEWEST)),
        most = (rows + parts - 1) / parts;
    for (int64_t k = 0, next; k < sharers; k = next) {
        struct common_call *const c = &made[calls++];
        *c = (struct common_call){.call = *list[k], .this = *this, .position = to * this->common_chunk};
        struct attn_problem *const p = &c->call.p;
        p->n_q = 0;
        for (next = k; next < sharers; next++) {
            const int64_t more = list[next]->p.heads / kv_heads * list[next]->p.n_q;
            if (next > k && p->n_q + more > most) break;
            p->n_q += more;
        }
        c->this.head = this->common;
        c->this.together = 0;
        c->call.sharer = list + k;
        c->call.sharers = next - k;
        p->heads = kv_heads;
        p->n_k = c->position;
        p->query_start = &c->position;
    }
    return calls;
}

/* Sums the keys that several sequences share. `memory` has bytes_of_common bytes. Returns 0 or an error. */
static int sum_common(struct growth *growth, int64_t growths, struct job *job, const struct appending *x,
    const struct attn_problem *p, unsigned char *memory, size_t bytes)
{
    const size_t of_sequence = bytes_of_common_rows(p);
    struct common_call *const made = (struct common_call *)(void *)(memory + of_sequence * (size_t)p->batch);
    struct call **const list = (struct call **)(void *)(made + p->batch);
    int64_t left = 0;
    for (int64_t k = 0; k < growths; k++) {
        struct growth *const g = &growth[k];
        if (g->left == 0 || !g->this.common || g->m > COMMON_TOKENS) continue;
        g->call.common = memory + of_sequence * (size_t)g->b;
        g->call.common_chunks = 0;
        list[left++] = &g->call;
    }
    for (;;) {
        int64_t calls = 0;
        for (int64_t k = 0, sharers; k < left; k += sharers) {
            sharers = gather_sharers(list + k, left - k);
            if (sharers > 1)
                calls += divide_sharers(list + k, sharers, x->threads, made + calls);
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
            for (int64_t n = 0; n < made[k].call.sharers; n++)
                made[k].call.sharer[n]->common_chunks = made[k].position / made[k].this.common_chunk;
    }
}

#endif
