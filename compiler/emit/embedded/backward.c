#if BACKWARD
/* ==== the gradients ==== */
/* Backward runs in parts. The first part computes the saved values if forward has not saved them. Each later part
   computes some of the gradients. */
WANTED_FUNCTIONS

static struct version part_version(int part, int64_t n_k)
{
    (void)n_k; /* n_k is unused if every target has one version of each part */
    switch (part) {
PART_CHOICES
    }
}

/* From each of these numbers of keys on, a part of backward may have another version. */
static const int64_t part_from[] = {
#if PARTS_BY_LENGTH
    PART_LENGTHS
#else
    0
#endif
};

#if PREFIX_GRADIENTS
/* Replaces the gradients of a head's prefix sums by the gradients of the terms. The gradient of a term is the sum of
   the gradients from its position to the last. */
static void add_gradients(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k;
    REAL *const sum = call->dlog_decay + task * rows_of_sums(&call->p) * PREFIX_ROW;
    const REAL *const of_query = call->dlog_decay_q + task * n_q * PREFIX_ROW;
    double high[PREFIX_ROW] = {0}, low[PREFIX_ROW] = {0};
    (void)work;
#if OUTER
    if (call->p.earlier_sums) memcpy(high, call->p.term_gradients + task * PREFIX_ROW, sizeof high);
#endif
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    int64_t i = n_q - 1; /* the last query whose gradient is not added yet */
    for (int64_t t = n_k - 1; t >= 0; t--) {
        for (; i >= 0 && first + i >= t; i--)
            for (int64_t x = 0; x < PREFIX_ROW; x++) add_to_sum(&high[x], &low[x], (double)of_query[i * PREFIX_ROW + x]);
        for (int64_t x = 0, at = t * PREFIX_ROW; x < PREFIX_ROW; x++, at++) {
            add_to_sum(&high[x], &low[x], (double)sum[at]);
            sum[at] = (REAL)(high[x] + low[x]);
        }
    }
}

#if OUTER
/* Sums the gradients of a head's prefix sums. They belong to the terms of the tokens before this call. */
static void sum_gradients(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t n = call->p.n_k;
    const REAL *const of_key = call->dlog_decay + task * rows_of_sums(&call->p) * PREFIX_ROW,
        *const of_query = call->dlog_decay_q + task * n * PREFIX_ROW;
    double high[PREFIX_ROW] = {0}, low[PREFIX_ROW] = {0};
    (void)work;
    for (int64_t t = n - 1; t >= 0; t--)
        for (int64_t x = 0; x < PREFIX_ROW; x++) {
            add_to_sum(&high[x], &low[x], (double)of_query[t * PREFIX_ROW + x]);
            add_to_sum(&high[x], &low[x], (double)of_key[t * PREFIX_ROW + x]);
        }
    for (int64_t x = 0; x < PREFIX_ROW; x++) call->p.term_gradients[task * PREFIX_ROW + x] = high[x] + low[x];
}

#endif
#if DECAY_PARTS
/* Writes the gradients of a head's prefix sums at queries and at keys. */
static void write_gradients(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t of_queries = call->p.n_q * PREFIX_ROW, of_keys = call->p.n_k * PREFIX_ROW;
    double *const query = call->p.query_decay_gradients + task * of_queries,
        *const key = call->p.key_decay_gradients + task * of_keys;
    (void)work;
    for (int64_t x = 0; x < of_queries; x++) query[x] = (double)call->dlog_decay_q[task * of_queries + x];
    for (int64_t x = 0; x < of_keys; x++) key[x] = (double)call->dlog_decay[task * of_keys + x];
}

/* Takes the gradients of a head's terms from the caller. */
static void take_gradients(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t of_keys = call->p.n_k * PREFIX_ROW;
    (void)work;
    for (int64_t x = task * of_keys; x < (task + 1) * of_keys; x++)
        call->dlog_decay[x] = (REAL)call->p.key_decay_gradients[x];
}

#endif
static size_t prefix_gradients_bytes(const struct attn_problem *problem)
{
    return bytes_plus(prefix_rows(problem, problem->n_q), prefix_rows(problem, rows_of_sums(problem)));
}

/* Sets pointers and strides of the gradients of the prefix sums, which begin at `at`. */
static void set_prefix_gradients(struct call *call, unsigned char *at)
{
    call->dlog_decay_q = (REAL *)(void *)at;
    call->dlog_decay_k = call->dlog_decay = (REAL *)(void *)(at + prefix_rows(&call->p, call->p.n_q));
    call->dlog_decay_q_at = (struct attn_strides){call->p.heads * call->p.n_q * PREFIX_ROW, call->p.n_q * PREFIX_ROW,
        PREFIX_ROW};
    call->dlog_decay_k_at = call->dlog_decay_at = call->log_decay_k_at;
}

/* Computes the gradients of the terms of prefix sums, if the call wants a gradient that needs them. */
static int make_prefix_gradients(const struct call *call, int threads, unsigned char *work, size_t bytes)
{
    const struct version sums = {.rows = add_gradients, .tile = -1, .of_token = 8};
#if OUTER
    const struct version total = {.rows = sum_gradients, .tile = -1, .of_token = 8};
    if (call->adds == OUTER_EARLIER || call->adds == OUTER_LATER) return 0;
    if (call->p.earlier_sums && !call->adds) return call->dlog_decay ? run(call, &total, threads, work, bytes) : 0;
#endif
#if DECAY_PARTS
    const struct version writes = {.rows = write_gradients, .tile = -1, .of_token = 8},
        takes = {.rows = take_gradients, .tile = -1, .of_token = 8};
    if (call->dlog_decay && call->p.key_decay_gradients)
        return run(call, call->adds ? &takes : &writes, threads, work, bytes);
#endif
    return call->dlog_decay ? run(call, &sums, threads, work, bytes) : 0;
}

#endif
/* Returns the largest workspace of a thread in bytes, over all versions of the parts of backward for up to n_k keys. */
static size_t part_bytes_a_thread(int64_t n_k)
{
#if PREFIX_SUMS
    const struct version terms = terms_version();
    size_t bytes = bytes_a_thread(&terms);
#else
    size_t bytes = 0;
#endif
    for (size_t k = 0; k < sizeof part_from / sizeof *part_from; k++)
        for (int part = 0; part < PARTS && (k == 0 || part_from[k] <= n_k); part++) {
            const struct version v = part_version(part, part_from[k]);
            if (bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
        }
    return bytes;
}

#if TOTALS
/* Sets pointers to the wanted gradients in `to`, and to arrays in the memory at `left`. One part of backward fills
   these arrays, and later parts read them. Returns the bytes that all the arrays need. */
static size_t set_totals(struct call *call, const struct SPEC_gradients *to, unsigned char *const left)
{
    const struct attn_problem *const p = &call->p;
    size_t at = 0, most = 0;
    if (to) {
TOTAL_VALUES
    }
LEFT_VALUES
    (void)p;
    (void)left;
    return most;
}

#endif
#if IN_ORDER
/* Returns the bytes of the shared sums: ROW_OF_SUMS numbers per query. */
static size_t sums_bytes(const struct attn_problem *p)
{
    return bytes_times(bytes_times(bytes_times(ROW_OF_SUMS * sizeof(REAL), p->batch), p->heads), p->n_q);
}

/* Returns the size of call->progress in bytes. A head has one number for each tile, and one more. */
static size_t progress_bytes(const struct attn_problem *p)
{
    int64_t most = 0; /* the most over all versions for up to n_k keys */
    for (size_t k = 0; k < sizeof part_from / sizeof *part_from; k++)
        for (int part = 0; part < PARTS && (k == 0 || part_from[k] <= p->n_k); part++) {
            const struct version v = part_version(part, part_from[k]);
            if (v.in_order) most = max(most, p->n_k / v.tile + (p->n_k % v.tile > 0) + 1);
        }
    return whole_lines(bytes_times(bytes_times(bytes_times(sizeof(int64_t), p->batch), p->kv_heads), most));
}

static void set_sums(struct call *call, unsigned char *sums)
{
SUMS_VALUES
    if (call->p.n_k == 0) memset(sums, 0, sums_bytes(&call->p));
    call->progress = (int64_t *)(void *)(sums + sums_bytes(&call->p));
}

#endif
#if SHARES
/* Returns the bytes of a gradient of q or k with a row for each head of out and position. It is 0 if no heads share. */
static size_t bytes_of_heads(const struct attn_problem *p, int64_t n)
{
    if (sharing_of(p) == 1) return 0;
    return whole_lines(bytes_times(bytes_times(bytes_times(HEAD_DIM * sizeof(STORED), p->batch), p->heads), n));
}

/* Makes dq and dk arrays at `at`, which have a gradient for each of the heads that share a head of q and of k. */
static void set_gradients_of_heads(struct call *call, unsigned char *at)
{
    const struct attn_problem p = call->p;
    call->sum_dq = call->dq;
    call->sum_dk = call->dk;
    call->sum_dq_at = p.dq;
    call->sum_dk_at = p.dk;
    if (call->dq) call->dq = (STORED *)(void *)at;
    if (call->dk) call->dk = (STORED *)(void *)(at + bytes_of_heads(&p, p.n_q));
    call->p.dq = (struct attn_strides){p.heads * p.n_q * HEAD_DIM, p.n_q * HEAD_DIM, HEAD_DIM};
    call->p.dk = (struct attn_strides){p.heads * p.n_k * HEAD_DIM, p.n_k * HEAD_DIM, HEAD_DIM};
}

/* Writes the sums over the sharing heads of n rows. `from` has the rows of the first of these heads. */
static void add_rows_of_heads(STORED *to, int64_t row, const STORED *from, int64_t n, int64_t sharing)
{
    for (int64_t at = 0; at < n * HEAD_DIM; at += HEAD_DIM, to += row) {
        REAL sum[HEAD_DIM] = {0};
        for (int64_t h = 0; h < sharing; h++)
            for (int64_t d = 0; d < HEAD_DIM; d++) sum[d] += WIDENED(from[h * n * HEAD_DIM + at + d]);
        for (int64_t d = 0; d < HEAD_DIM; d++) to[d] = NARROWED(sum[d]);
    }
}

/* Adds the gradients of the heads that share head number `task` of q and of k. */
static void add_heads(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_problem *const p = &call->p;
    const int64_t b = task / p->heads, h = task % p->heads, first = task * call->sharing * HEAD_DIM;
    (void)work;
    if (call->dq)
        add_rows_of_heads(call->sum_dq + b * call->sum_dq_at.batch + h * call->sum_dq_at.head, call->sum_dq_at.row,
            call->dq + first * p->n_q, p->n_q, call->sharing);
    if (call->dk)
        add_rows_of_heads(call->sum_dk + b * call->sum_dk_at.batch + h * call->sum_dk_at.head, call->sum_dk_at.row,
            call->dk + first * p->n_k, p->n_k, call->sharing);
}

#endif
/* Returns the bytes of backward's shared workspace. It has arrays that one part fills for later parts. It also has
   room for the saved values, because forward may not have saved them. */
static size_t shared_bytes(const struct attn_problem *problem)
{
    size_t bytes = bytes_times(row_bytes(problem), SAVED_COUNT + ROW_SUM_COUNT);
#if SHARES
    bytes = bytes_plus(bytes, bytes_plus(bytes_of_heads(problem, problem->n_q), bytes_of_heads(problem, problem->n_k)));
#endif
#if IN_ORDER
    bytes = bytes_plus(bytes, bytes_plus(sums_bytes(problem), progress_bytes(problem)));
#endif
#if TOTALS
    struct call none = {.p = *problem};
    bytes = bytes_plus(bytes, set_totals(&none, NULL, NULL));
#endif
#if PREFIX_GRADIENTS
    bytes = bytes_plus(bytes, prefix_gradients_bytes(problem));
#endif
#if SHARED
    bytes = bytes_plus(bytes, call_bytes(problem, problem));
#endif
    return bytes;
}

size_t SPEC_backward_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    const size_t of_threads = bytes_times(part_bytes_a_thread(WORK_KEYS), threads_served(problem)),
        bytes = bytes_plus(shared_bytes(problem), of_threads);
    return bytes_fit(bytes) ? bytes : 0;
}

static void set_row_sums(struct call *call, unsigned char *rows)
{
#if ROW_SUM_COUNT
ROW_SUM_VALUES
#else
    (void)call;
    (void)rows;
#endif
}

#if OUTER
/* Returns the bytes of the outer sums of a key/value head, of earlier or later tokens, for the parts before `part`. */
static int64_t outer_before(const struct attn_problem *p, int part, int kind)
{
    int64_t bytes = 0;
    for (int k = 0; k < part; k++) {
        const struct version v = part_version(k, INT64_MAX);
        if (v.outer == kind) bytes += (v.tile == 0 ? 1 : p->heads / max(p->kv_heads, 1)) * v.outer_bytes;
    }
    return bytes;
}

static size_t outer_sums_bytes(const struct attn_problem *problem, int later)
{
    if (!problem || attn_problem_check(problem, HEAD_DIM, VALUE_DIM, NULL)) return 0;
#if PREFIX_GRADIENTS
    const size_t of_terms = bytes_times(bytes_times(PREFIX_ROW * sizeof(double), problem->batch), problem->heads);
#else
    const size_t of_terms = 0;
#endif
    const size_t of_head = (size_t)outer_before(problem, PARTS, later ? OUTER_LATER : OUTER_EARLIER),
        bytes = later == 2 ? of_terms : bytes_times(bytes_times(of_head, problem->kv_heads), problem->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

/* Lets a part read and add to its outer sums. Returns 0 if the part does not run, because the call only adds. Sums of
   later tokens need the values of rows that other parts compute. */
static int take_outer(struct call *call, int part, const struct version *this)
{
    call->outer = NULL;
    if (call->adds == OUTER_TERMS || (call->p.earlier_sums && !call->adds && this->of_terms))
        return call->adds == OUTER_TERMS && this->of_terms;
    call->gives = call->adds && this->outer == call->adds;
    call->only_sums = call->gives && !this->outer_results;
    if (call->p.earlier_sums && this->outer) {
        call->outer = (unsigned char *)(this->outer == OUTER_LATER ? call->p.later_sums : call->p.earlier_sums) +
            outer_before(&call->p, part, this->outer);
        call->outer_head = outer_before(&call->p, PARTS, this->outer);
        call->outer_tasks = this->tile == 0 ? 1 : call->p.heads / max(call->p.kv_heads, 1);
    }
    return !call->adds || this->adds >> call->adds & 1 || (call->adds == OUTER_LATER && !this->wanted);
}

#endif
static int run_part(int part, struct call *call, int threads, unsigned char *workspace)
{
    const struct version this = part_version(part, PART_KEYS);
#if OUTER
    if (!take_outer(call, part, &this)) return 0;
#endif
#if DECAY_PARTS
    if (this.of_terms ? call->p.key_decay_gradients && !call->adds : call->adds) return 0;
#endif
#if IDLE
    if (this.idle) return 0;
#endif
    if (this.wanted && !this.wanted(call)) return 0;
#if IN_ORDER
    if (this.in_order) call->tiles = (call->p.n_k + this.tile - 1) / this.tile;
#endif
    return run(call, &this, threads, workspace, bytes_a_thread(&this));
}

#if HAS_ADDS
/* Computes the gradients, or what `adds` says if it is not OUTER_NONE. */
static int differentiate(const struct attn_problem *problem, const struct SPEC_params *params, GRADIENT_ARGUMENTS,
    struct SPEC_gradients *gradients, void *workspace, int adds)
#else
int SPEC_backward(const struct attn_problem *problem, const struct SPEC_params *params, GRADIENT_ARGUMENTS,
    struct SPEC_gradients *gradients, void *workspace)
#endif
{
    struct call call = {.params = params, GRADIENT_VALUES};
    int error = take_problem(&call, problem, CHECK_PROBLEM);
    if (error) return error;
#if MAX_LENGTH
    if (too_long(&call.p)) return ATTN_ELENGTH;
#endif
#if !TOTALS
    (void)gradients;
    if (call.p.batch == 0) return 0;
#endif
    if ((call.p.batch > 0 && call.p.heads > 0 && call.p.n_q > 0 && (GRADIENT_OF_QUERIES_MISSING)) ||
        (call.p.batch > 0 && call.p.kv_heads > 0 && call.p.n_k > 0 && (GRADIENT_OF_KEYS_MISSING)))
        return ATTN_EPOINTER;
    if (GRADIENT_SHARED) return ATTN_EPOINTER;
#if PARAMS
    const int wrong = take_params(&call);
    if (wrong) return wrong;
#endif
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    for (int part = 0; part < PARTS; part++) {
        const struct version this = part_version(part, GRADIENT_KEYS);
        if (!runs(&this)) return ATTN_EMACHINE;
#if POSITIONS
#if OUTER
        if (problem->earlier_sums) continue;
#endif
        if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
#endif
    }
    const size_t bytes = part_bytes_a_thread(WORK_KEYS), saved = saved_bytes(problem), shared = shared_bytes(problem);
    int threads = 1;
    error = take_workspace(problem, workspace, shared, bytes, &threads);
    if (error) return error;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    unsigned char *first = (unsigned char *)workspace;
#if DECAY_PARTS
    if (!problem->query_decay_gradients != !problem->key_decay_gradients && !adds) return ATTN_EPOINTER;
    call.adds = adds;
#endif
#if OUTER
    if (!problem->earlier_sums != !problem->later_sums) return ATTN_EPOINTER;
    if (problem->earlier_sums) {
        if ((uintptr_t)problem->earlier_sums % 64 || (uintptr_t)problem->later_sums % 64) return ATTN_EALIGN;
#if !WHOLE
        /* queries or keys may come alone, if all queries see the first keys */
        if (problem->n_q != problem->n_k && (!OPEN_KEYS || (problem->n_q && problem->n_k))) return ATTN_EPROBLEM;
        if (problem->query_start && problem->n_q == problem->n_k) return ATTN_EPROBLEM;
#endif
    }
    union {
        struct SPEC_gradients names;
        void *each[sizeof(struct SPEC_gradients) / sizeof(void *) + 1];
    } all;
    call.adds = adds;
    if (adds && adds != OUTER_TERMS) { /* every gradient needs its sums; parts do not write these arrays */
        for (size_t k = 0; k < sizeof all / sizeof *all.each; k++) all.each[k] = workspace;
        gradients = &all.names;
GRADIENTS_UNUSED
    }
#endif
#if SHARES
    if (call.sharing > 1) {
        set_gradients_of_heads(&call, first);
        first += bytes_of_heads(problem, problem->n_q) + bytes_of_heads(problem, problem->n_k);
    }
#endif
#if DELTA
    if (call.p.n_k == 0 && call.dq) clear_rows(&call.p, call.dq, &call.p.dq, HEAD_DIM);
#endif
#if SOLUTION
    unsigned char *const rows = first + SAVED_COUNT * row_bytes(problem), *const work = (unsigned char *)workspace +
                                                                                        shared;
#else
    unsigned char *const rows = first + saved, *const work = (unsigned char *)workspace + shared;
#endif
#if SAVED_COUNT
#if FEW
    const int kept = TAKES_SAVED && version(VERSION_KEYS, MANY_ROWS, 0).saves;
#else
    const int kept = TAKES_SAVED && version(VERSION_KEYS).saves;
#endif
    set_saved(&call, kept ? (unsigned char *)problem->saved : first);
#endif
    set_row_sums(&call, rows);
    unsigned char *next = rows + ROW_SUM_COUNT * row_bytes(problem);
#if TOTALS
    next += set_totals(&call, gradients, next);
#endif
#if OUTER && PREFIX_GRADIENTS
    if (problem->earlier_sums && (!adds || adds == OUTER_TERMS) && (PREFIX_WANTED) && !problem->term_gradients)
        return ATTN_EPOINTER;
    if (problem->term_gradients && !adds) memset(problem->term_gradients, 0, outer_sums_bytes(problem, 2));
#endif
#if SOLUTION
    const int solved = TAKES_SAVED && problem->n_q > 0; /* forward of no queries saves nothing */
    if (solved) set_solution(&call, (unsigned char *)problem->saved + SAVED_COUNT * row_bytes(problem));
#endif
#if IN_ORDER
    if (SUMS_WANTED) set_sums(&call, next);
#else
    (void)next;
#endif
#if TILES
    set_tiles(&call, work - tiles_bytes(problem));
    error = make_tiles(&call, threads);
    if (error) return error;
#endif
#if PREFIX_SUMS
    unsigned char *const prefix = work - call_bytes(problem, problem);
    const struct version terms = terms_version();
    if (!runs(&terms)) return ATTN_EMACHINE;
    set_prefix_sums(&call, prefix);
#if PREFIX_GRADIENTS
    if (PREFIX_WANTED)
        set_prefix_gradients(&call, prefix - prefix_gradients_bytes(problem));
#endif
#if HAS_ADDS
    if (adds != OUTER_TERMS) error = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
#else
    error = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
#endif
#endif
PART_CALLS
#if SHARES
#if HAS_ADDS
    if (!error && !adds && call.sharing > 1 && (call.dq || call.dk)) {
#else
    if (!error && call.sharing > 1 && (call.dq || call.dk)) {
#endif
        const struct version adds = {.rows = add_heads, .tile = -1, .of_token = 2 * HEAD_DIM};
        call.p.heads = call.p.kv_heads = call.p.key_heads;
        error = run(&call, &adds, threads, work, bytes);
    }
#endif
    return error;
}

#if HAS_ADDS
int SPEC_backward(const struct attn_problem *problem, const struct SPEC_params *params, GRADIENT_ARGUMENTS,
    struct SPEC_gradients *gradients, void *workspace)
{
    return differentiate(problem, params, GRADIENT_NAMES, gradients, workspace, OUTER_NONE);
}

#endif
#endif
