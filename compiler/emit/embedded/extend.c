/* Returns the number of new tokens of sequence b. */
static int64_t new_tokens_of(const struct attn_problem *p, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b + 1] - p->cu_seqlens[b] : p->lengths ? p->lengths[b] : p->n_q;
}

/* Returns the distance from the first row of an array to the first new row of sequence b. */
static int64_t before_sequence(const struct attn_problem *p, const struct attn_strides *s, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b] * s->row : b * s->batch;
}

/* Begins to append n tokens to each of `count` sequences, beginning with sequence b. `whole` is the call of all
   sequences. */
static void begin_growth(struct growth *g, const struct call *whole, const struct appending *x, int64_t b,
    int64_t count, int64_t n)
{
    struct call *const call = &g->call;
    *call = *whole;
#if ROWS_APART
    g->given = (struct rows){{KEPT_POINTERS}, {KEPT_STRIDES}, {KEPT_APART}};
#else
    g->given = (struct rows){{KEPT_POINTERS}, {KEPT_STRIDES}};
#endif
    g->s = x->at->sequence[b];
    g->s.draft = g->s.length;
    g->b = b;
    g->count = count;
    g->left = n;
#if UNCOPIED
    g->given_tokens = 0;
#endif
    for (int a = 0; a < GIVEN; a++)
        if (g->given.at[a]) g->given.at[a] += before_sequence(&call->p, &g->given.strides[a], b);
    call->p.batch = count;
#if NUMBERED
    call->first_sequence = b;
    call->other_sequences = x->at->header->batch - count;
#endif
    if (x->asked) {
        call->q += before_sequence(&call->p, &call->p.q, b);
        call->out += before_sequence(&call->p, &call->p.out, b);
    }
#if RESULTS
RESULTS_OF_SEQUENCES
#endif
#if CARRIED
    call->kept = x->at->kept +
        (size_t)b * (size_t)(x->extends->tile == 0 ? call->p.kv_heads : call->p.heads) * x->extends->kept;
#endif
#if CHUNK_SUMS
    if (call->p.chunk_sums) {
        const int64_t heads = x->extends->tile == 0 ? call->p.kv_heads : call->p.heads;
        call->head_chunks = chunks_of_call(&call->p, x->extends);
        call->first_chunk = g->s.summed / x->extends->chunk;
        call->chunk_sums = (unsigned char *)call->p.chunk_sums +
            (size_t)(b * heads * call->head_chunks) * x->extends->slot;
    }
#endif
#if INTEGERS_OF_SEQUENCES
    g->params = *call->params;
INTEGERS_FROM_SEQUENCE
    call->params = &g->params;
#endif
#if OWN_PARAMS
    call->own = *call->params;
    call->params = &call->own;
#endif
#if ROWS_OF_QUERIES
SEQUENCES_OF_ROWS_OF_QUERIES
#endif
}

/* Stores the rows of n tokens after the first `length` tokens in `to`, from row to_row on. Keys are prepared and rows are
   rounded first, if the state stores them so. Returns 0 or an error. */
static int store_rows(const struct rows *to, int64_t to_row, const struct rows *from, const struct call *call,
    int64_t length, int64_t n, const struct appending *x)
{
    (void)length;
    (void)x;
#if ROUNDS_PREPARED
    const int error = remember_prepared_rounded(to, to_row, from, call, length, n, x->threads, x->prepared, x->work);
    if (error) return error;
#elif PREPARED
    const int error = remember_prepared(to, to_row, from, call, length, n, x->threads, x->work);
    if (error) return error;
#endif
#if STORES
    for (int a = PREPARED; a < COPIED; a++)
        (rounded_to[a].elements ? remember_rounded : remember)(to, to_row, from, 0, n, a, call->p.batch);
#else
    for (int a = PREPARED; a < COPIED; a++) remember(to, to_row, from, 0, n, a, call->p.batch);
#endif
    return 0;
}

#if PAGED
/* Stores the rows of a sequence's new tokens in its pages, and lets the call read them there. Returns 0 or an error. */
static int fill_pages(struct growth *g, const struct appending *x)
{
    struct call *const call = &g->call;
    const int64_t tokens = x->pages->tokens;
    call->pages = x->pages;
    call->page = x->pages->table + g->b * x->pages->row;
    for (int64_t done = 0, n; done < g->left; done += n) {
        const int64_t at = g->s.length + done, row = at % tokens;
        const struct rows given = from_row(g->given, done);
        struct rows page = x->page;
        n = min(g->left - done, tokens - row);
        for (int a = 0; a < ROW_ARRAYS; a++) page.at[a] += (size_t)call->page[at / tokens] * x->pages->bytes;
        const int error = store_rows(&page, row, &given, call, at, n, x);
        if (error) return error;
    }
    struct rows rows = x->page;
    for (int a = 0; a < ROW_ARRAYS; a++) rows.strides[a].batch = 0; /* all sequences are in the same pages */
    set_rows(call, &rows);
    return 0;
}

/* Returns the number of pages that contain n tokens. */
static int64_t pages_of(const struct attn_pages *g, int64_t n) { return (n + g->tokens - 1) / g->tokens; }

/* The memory of an array, up to `end`. */
struct span {
    uintptr_t first, end;
};

static int overlap(struct span a, struct span b) { return a.first < b.end && b.first < a.end; }

static struct span span_of(const void *memory, size_t bytes)
{
    const uintptr_t first = (uintptr_t)memory;
    return (struct span){first, memory ? first + bytes : first};
}

/* An array of rows that extend reads or writes. */
struct array_of_tokens {
    const void *at;
    const struct attn_strides *s;
    int64_t heads, dim;
};

/* Returns the memory of the new rows of one head and sequence. */
static struct span span_of_rows(const struct call *call, const struct array_of_tokens *a, int64_t b, int64_t head)
{
    const int64_t rows = new_tokens_of(&call->p, b), from = before_sequence(&call->p, a->s, b) + head * a->s->head;
    if (!a->at || rows == 0) return span_of(NULL, 0);
    return span_of((const STORED *)a->at + from, (size_t)((rows - 1) * a->s->row + a->dim) * sizeof(STORED));
}

/* Returns whether this memory is apart from the pages of all sequences. If it is only read, it may overlap pages that
   are only read. */
static int is_apart(const struct call *call, const struct places *at, struct span memory, int is_written)
{
    const struct attn_problem *const p = &call->p;
    const struct attn_pages *const g = p->pages;
    if (!overlap(memory, span_of(g->base, (size_t)g->count * g->bytes))) return 1;
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t n = new_tokens_of(p, b), length = at->sequence[b].length;
        for (int64_t x = is_written || n == 0 ? 0 : length / g->tokens; x < min(pages_of(g, length + n), g->row); x++) {
            const int32_t page = g->table[b * g->row + x];
            if ((n == 0 && !is_written) || page < 0 || page >= g->count) continue;
            if (overlap(memory, span_of((const unsigned char *)g->base + (size_t)page * g->bytes, g->bytes))) return 0;
        }
    }
    return 1;
}

/* Returns whether pages are apart from the other memory of a call. Rows that the call does not use do not count. */
static int pages_apart(const struct call *call, const struct places *at, const void *workspace, size_t bytes)
{
    const struct attn_problem *const p = &call->p;
    const struct attn_pages *const g = p->pages;
    const struct array_of_tokens array[] = {{call->q, &p->q, p->key_heads ? p->key_heads : p->heads, HEAD_DIM},
        {call->k, &p->k, heads_of_keys(p), HEAD_DIM},
#if !VALUES_ARE_KEYS
        {call->v, &p->v, p->kv_heads, VALUE_DIM},
#endif
        {call->out, &p->out, p->heads, VALUE_DIM}};
    const int arrays = (int)(sizeof array / sizeof *array);
    int apart = is_apart(call, at, span_of(g->table, (size_t)(p->batch * g->row) * sizeof *g->table), 0) &&
        is_apart(call, at, span_of(at->header, (size_t)at->header->bytes), 1) &&
        is_apart(call, at, span_of(workspace, bytes), 1);
    for (int a = 0; a < arrays; a++)
        for (int64_t b = 0; b < p->batch; b++)
            for (int64_t h = 0; h < array[a].heads; h++)
                apart &= is_apart(call, at, span_of_rows(call, &array[a], b, h), a == arrays - 1);
    return apart;
}

/* Checks the pages of a call, before anything is written. For each page, `list` gets the sequence that writes it and
   the last sequence that has it. Returns 0 or an error. */
static int check_pages(const struct attn_problem *p, const struct places *at, int32_t *list)
{
    const struct attn_pages *const g = p->pages;
    int32_t *const writer = list, *const reader = list + g->count;
    memset(list, 0, (size_t)g->count * 2 * sizeof *list);
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t length = at->sequence[b].length, n = new_tokens_of(p, b);
        if (n > 0 && pages_of(g, length + n) > g->row) return ATTN_ECAPACITY;
        for (int64_t x = length / g->tokens; n > 0 && x < pages_of(g, length + n); x++) {
            const int32_t page = g->table[b * g->row + x];
            if (page < 0 || page >= g->count || writer[page]) return ATTN_EPAGES;
            writer[page] = (int32_t)b + 1;
        }
    }
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t n = new_tokens_of(p, b), length = at->sequence[b].length, end = pages_of(g, length + n);
#if BY_CAPACITY
        const int64_t first = 0, last = 0;
#else
        /* Queries read the keys before `first` and those from `last` on. */
        const int64_t first = READ_FIRST, last = max(0, length - READ_BACK - READ_FIRST);
#endif
        for (int64_t x = 0; x < min(end, g->row); x++) {
            const int32_t page = g->table[b * g->row + x];
            if (page < 0 || page >= g->count) {
                if (n > 0 && (x * g->tokens < first || (x + 1) * g->tokens > last)) return ATTN_EPAGES;
                continue;
            }
            if (writer[page] && writer[page] != b + 1) return ATTN_EPAGES;
            if (reader[page] == b + 1) return ATTN_EPAGES;
            reader[page] = (int32_t)b + 1;
        }
    }
    return 0;
}

#endif
/* Sets the sizes of the call for a piece of m tokens, and chooses its version. Returns 0 or an error. */
static int choose_version(struct growth *g, const struct appending *x, int64_t m)
{
    struct call *const call = &g->call;
    const struct sequence *const s = &g->s;
    (void)x;
    g->m = m;
    call->p.n_q = x->asked ? m : 0;
    call->p.n_k = s->length + m;
#if PREFIX_SUMS
    call->log_decay_q = call->log_decay_k + s->length * PREFIX_ROW;
    call->log_decay_q_low = call->log_decay_k_low + s->length * PREFIX_ROW;
#endif
#if READ_FIRST
    call->dropped = s->first;
#endif
#if CARRIED
    call->start = s->start;
    call->length = s->length;
    call->summed = s->summed;
#if SOLVES
    call->solved = s->solved;
#endif
    g->this = *x->extends;
#else
#if FEW
    g->this = ATTENDING(call->p.n_k, rows_of(&call->p), call->p.n_q);
#else
    g->this = ATTENDING(call->p.n_k);
#endif
    if (!runs(&g->this)) return ATTN_EMACHINE;
#endif
#if BY_HEADS
    g->p = call->p;
    if (x->asked && g->this.by_heads) heads_as_queries(&call->p);
#endif
    return 0;
}

/* Prepares the call for the next tokens of a growth: as many as its state can take before other rows leave it.
   Returns 0 or an error. */
static int begin_piece(struct growth *g, const struct appending *x)
{
    const int64_t rows = x->at->header->rows, rewind = x->at->header->rewind;
    const struct rows kept = rows_in(x->at, g->b);
    struct call *const call = &g->call;
    struct sequence *const s = &g->s;
    int64_t m = g->left;
#if CARRIED
    /* The state stores the sums before each of the last `earlier` chunks. So the call adds these chunks one by
       one. */
    const int64_t chunk = x->extends->chunk, last = (s->length + g->left) / chunk - x->at->header->earlier,
        next = s->summed / chunk + 1;
    g->stores = x->at->header->earlier > 0 && s->length + g->left >= next * chunk && next > last;
    if (g->stores) {
        m = next * chunk - s->length;
        store_sums(&call->p, x->extends, x->at, g->b, g->count);
    } else if (x->at->header->earlier > 0 && next <= last) {
        m = last * chunk - s->length;
        s->oldest = s->summed;
    }
#endif
    g->in_place = 0;
#if PAGED
    if (x->pages) {
        const int error = fill_pages(g, x);
        return error ? error : choose_version(g, x, m);
    }
#endif
#if UNCOPIED
    /* The call's arrays may contain all rows that are needed. */
    g->in_place = first_needed(s, rewind) >= s->length - g->given_tokens;
#if CARRIED
    g->in_place &= m >= chunk;
#endif
#endif
#if PREFIX_SUMS
    const int64_t period = sum_period(x->extends);
    if (s->length > s->start && s->length % period == 0) begin_sums_again(&kept, g->count, s->length - s->first);
    m = min(m, period - s->length % period);
#endif
    if (g->in_place) {
#if PREFIX_SUMS && UNCOPIED
        m = min(m, x->piece);
        place_sums(&g->given, x->sums + (size_t)g->b * x->of_sums, s->length - first_needed(s, rewind), m, &kept,
            s->length - s->first, g->count);
        const int error = remember_sums(&g->given, 0, &g->given, call, s->length, m, x->threads, x->work);
        if (error) return error;
#endif
        const struct rows numbered = from_row(g->given, -s->length);
        set_rows(call, &numbered);
    } else {
        const int64_t needed = first_needed(s, rewind);
        if (s->length - s->first + m > rows && needed > s->first) {
            slide(&kept, g->count, needed - s->first, s->length - needed);
            s->first = needed;
        }
        m = min(m, rows - (s->length - s->first));
#if PREFIX_SUMS
        const int failed =
            remember_sums(&kept, s->length - s->first, &g->given, call, s->length, m, x->threads, x->work);
        if (failed) return failed;
#endif
        const int error = store_rows(&kept, s->length - s->first, &g->given, call, s->length, m, x);
        if (error) return error;
        const struct rows numbered = from_row(kept, -s->first);
        set_rows(call, &numbered);
#if APPENDS
        const int wrong = correct_new_values(call, s->length, m, x->threads, x->work);
        if (wrong) return wrong;
#endif
    }
    return choose_version(g, x, m);
}

/* Counts the tokens of the piece that the call has computed, and makes the next tokens the new ones. */
static void end_piece(struct growth *g, const struct appending *x)
{
    struct call *const call = &g->call;
    struct sequence *const s = &g->s;
    const int64_t m = g->m;
    s->length += m;
    g->left -= m;
#if CARRIED
    const int64_t summed = s->summed;
    count_summed(x->extends, s);
#if SOLVES
    s->solved = s->length;
#endif
    if (s->summed > summed)
        s->oldest = !g->stores ? s->summed : max(s->oldest, s->summed - x->at->header->earlier * x->extends->chunk);
#else
    count_summed(x->extends, s);
#endif
    if (g->in_place) { /* copies the rows that later tokens need into the state */
        const struct rows kept = rows_in(x->at, g->b);
        s->first = first_needed(s, x->at->header->rewind);
        const int64_t rows = s->length - s->first;
        for (int a = 0; a < ROW_ARRAYS; a++)
            remember(&kept, -row_before(a), &g->given, m - rows - row_before(a), rows + row_before(a), a, g->count);
    }
    for (int64_t k = 0; k < g->count; k++) x->at->sequence[g->b + k] = *s;
    g->given = from_row(g->given, m);
#if UNCOPIED
    g->given_tokens += m;
#endif
#if BY_HEADS
    call->p = g->p;
#endif
#if ROWS_OF_QUERIES
MORE_ROWS_OF_QUERIES
#endif
    if (!x->asked) return;
    call->q += m * call->p.q.row;
    call->out += m * call->p.out.row;
#if RESULTS
RESULTS_OF_ROWS
#endif
}

/* Sorts jobs by the work of a task, the most work first, so that threads end at about the same time. */
static void sort_jobs(struct job *job, int64_t jobs)
{
    for (int64_t gap = jobs / 2; gap > 0; gap = gap > 2 ? gap * 5 / 11 : gap / 2)
        for (int64_t k = gap; k < jobs; k++) {
            const struct job moved = job[k];
            int64_t to = k;
            for (; to >= gap && job[to - gap].effort < moved.effort; to -= gap) job[to] = job[to - gap];
            job[to] = moved;
        }
}

/* Runs the calls of a list, so that all threads have about the same work. Each thread has `bytes` of workspace. */
static int run_jobs(struct job *job, int64_t jobs, int threads, unsigned char *workspace, size_t bytes)
{
    double all = 0;
    for (int64_t k = 0; k < jobs; k++) all += job[k].effort = effort(&job[k].call->p, job[k].this);
    const struct attn_problem *const p = &job->call->p;
    if (p->threads == 0 || p->team) threads = useful_threads(all, threads);
    for (int64_t k = 0; k < jobs; k++) {
        const int error = count_tasks(&job[k], threads);
        if (error) return error;
        job[k].effort /= (double)max(job[k].tasks, 1);
    }
#if PHASES
    /* Threads share a task only if it takes long, because they have to wait for each other. */
    for (int64_t k = 0; k < jobs && jobs > 1; k++)
        if (job[k].this->together == 1 && job[k].effort * 16 * threads < all) job[k].alone = job[k].tasks;
#endif
    sort_jobs(job, jobs);
    struct work work = {.job = job, .jobs = jobs, .threads = threads, .workspace = workspace, .bytes = bytes};
    in_threads(&work, work_on);
    return 0;
}
