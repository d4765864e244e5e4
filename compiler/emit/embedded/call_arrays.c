#if PREFIX_SUMS
/* ==== prefix sums: sums of terms up to the position of a query or key ==== */
static struct version terms_version(void)
{
TERMS_CHOICE
}

/* Returns the bytes of an array with a row per position and head. */
static size_t prefix_rows(const struct attn_problem *p, int64_t n)
{
    const size_t of_heads = bytes_times(bytes_times(PREFIX_ROW * sizeof(REAL), p->batch), p->heads);
    return whole_lines(bytes_times(of_heads, n));
}

/* Returns the number of rows of a head's sums. */
#if OUTER
static int64_t rows_of_sums(const struct attn_problem *p) /* row -1: before the first token */
{
    return min(p->n_k, INT64_MAX - 1) + 1;
}
#else
static int64_t rows_of_sums(const struct attn_problem *p) { return p->n_k; }
#endif

/* Returns the bytes of the prefix sums and of their low parts, which have the rounding errors. */
static size_t prefix_bytes(const struct attn_problem *p)
{
    return bytes_times(bytes_plus(prefix_rows(p, p->n_q), prefix_rows(p, rows_of_sums(p))), 2);
}

/* Returns whether each query is at the position of a key, so that queries need no arrays. */
#if DECAY_PARTS
static int queries_at_keys(const struct attn_problem *p)
{
    return !p->query_start && !p->query_decay && p->n_q <= p->n_k;
}
#else
static int queries_at_keys(const struct attn_problem *p) { return !p->query_start && p->n_q <= p->n_k; }
#endif

/* Sets pointers and strides of the prefix sums, which begin at `at`. */
static void set_prefix_sums(struct call *call, unsigned char *at)
{
    const struct attn_problem *const p = &call->p;
    const int64_t rows = rows_of_sums(p);
    const size_t of_queries = prefix_rows(p, p->n_q), of_keys = prefix_rows(p, rows);
    const struct attn_strides queries = {p->heads * p->n_q * PREFIX_ROW, p->n_q * PREFIX_ROW, PREFIX_ROW},
        keys = {p->heads * rows * PREFIX_ROW, rows * PREFIX_ROW, PREFIX_ROW};
    call->log_decay_q = (REAL *)(void *)at;
    call->log_decay_q_low = (REAL *)(void *)(at + of_queries);
    call->log_decay_k = call->log_decay_chunk = (REAL *)(void *)(at + 2 * of_queries);
    call->log_decay_k_low = call->log_decay_chunk_low = (REAL *)(void *)(at + 2 * of_queries + of_keys);
#if OUTER
    call->log_decay_k = call->log_decay_chunk = call->log_decay_k + PREFIX_ROW;
    call->log_decay_k_low = call->log_decay_chunk_low = call->log_decay_k_low + PREFIX_ROW;
#endif
    call->log_decay_q_at = call->log_decay_q_low_at = queries;
    call->log_decay_k_at = call->log_decay_k_low_at = call->log_decay_chunk_at = call->log_decay_chunk_low_at = keys;
    if (!queries_at_keys(p)) return;
    call->log_decay_q = call->log_decay_k + (p->n_k - p->n_q) * PREFIX_ROW;
    call->log_decay_q_low = call->log_decay_k_low + (p->n_k - p->n_q) * PREFIX_ROW;
    call->log_decay_q_at = call->log_decay_q_low_at = keys;
}

/* Adds x to high + low. `low` is the rounding error of `high`. */
INLINE void add_to_sum(double *high, double *low, double x)
{
    const double sum = *high + x, added = sum - *high;
    *low += (*high - (sum - added)) + (x - added);
    *high = sum;
}

/* Replaces a head's terms by prefix sums. Copies the sums at the positions of queries into the arrays for queries, if
   there are such arrays. */
static void add_terms(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k;
    const int64_t rows = rows_of_sums(&call->p);
    REAL *restrict const sum = call->log_decay_k + task * rows * PREFIX_ROW,
        *restrict const sum_low = call->log_decay_k_low + task * rows * PREFIX_ROW,
        *restrict const of_query = call->log_decay_q + task * n_q * PREFIX_ROW,
        *restrict const of_query_low = call->log_decay_q_low + task * n_q * PREFIX_ROW;
    (void)work;
#if OUTER
    for (int64_t x = -PREFIX_ROW; x < 0; x++) sum[x] = sum_low[x] = 0;
#endif
#if F64
    double high[PREFIX_ROW] = {0}, low[PREFIX_ROW] = {0};
    for (int64_t t = 0; t < n_k; t++)
        for (int64_t x = 0, at = t * PREFIX_ROW; x < PREFIX_ROW; x++, at++) {
            add_to_sum(&high[x], &low[x], sum[at]);
            sum[at] = high[x];
            sum_low[at] = low[x];
        }
#else
    double high[PREFIX_ROW] = {0}; /* has more digits than the two numbers that are stored */
    for (int64_t t = 0; t < n_k; t++)
        for (int64_t x = 0, at = t * PREFIX_ROW; x < PREFIX_ROW; x++, at++) {
            high[x] += (double)sum[at];
            sum[at] = (REAL)high[x];
            sum_low[at] = (REAL)(high[x] - (double)sum[at]);
        }
#endif
    if (queries_at_keys(&call->p)) return;
#if DECAY_PARTS
    if (call->p.query_decay) {
        const double *const given = call->p.query_decay + task * n_q * PREFIX_ROW;
        for (int64_t x = 0; x < n_q * PREFIX_ROW; x++) {
            of_query[x] = (REAL)given[x];
            of_query_low[x] = (REAL)(given[x] - (double)of_query[x]);
        }
        return;
    }
#endif
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    for (int64_t i = 0; i < n_q; i++) {
        const int64_t at = i * PREFIX_ROW, from = min(first + i, n_k - 1) * PREFIX_ROW;
        for (int64_t x = 0; x < PREFIX_ROW && from < 0; x++) of_query[at + x] = of_query_low[at + x] = 0;
        for (int64_t x = 0; x < PREFIX_ROW && from >= 0; x++) {
            of_query[at + x] = sum[from + x];
            of_query_low[at + x] = sum_low[from + x];
        }
    }
}

#endif
#if TILES
/* ==== tables of the tiles of masks ==== */
/* Sets the table of the tiles of some masks, and returns its bytes. The masks have `axes` axes before rows and
   columns. `size` and `stride` have all axes. */
static size_t set_table(struct mask_tiles *t, const void *flag, enum attn_dtype dtype,
    const struct attn_mask_tiles *given, int axes, const int64_t *size, const int64_t *stride, unsigned char *made)
{
    const int64_t rows = size[axes], columns = size[axes + 1];
    size_t masks = 1;
    *t = (struct mask_tiles){flag, dtype, made, made, given, rows, columns,
        rows / ATTN_TILE_ROWS + (rows % ATTN_TILE_ROWS > 0),
        columns / ATTN_TILE_COLUMNS + (columns % ATTN_TILE_COLUMNS > 0), 0, {1, 1}, {0}, stride[axes],
        stride[axes + 1]};
    for (int k = 0; k < axes; k++) {
        masks = bytes_times(masks, size[k]);
        t->size[k + MASK_AXES - axes] = size[k];
        t->stride[k + MASK_AXES - axes] = stride[k];
    }
    const size_t strips = bytes_times(masks, t->strips_of_mask);
    t->strips = bytes_fit(strips) ? (int64_t)strips : 0;
    return whole_lines(bytes_times(strips, t->tiles_of_strip));
}

/* Sets the tables of the tiles of masks in struct call. They begin at `at`. Returns their bytes. */
static size_t set_tiles(struct call *call, unsigned char *at)
{
    const struct attn_problem *const p = &call->p;
    size_t bytes = 0;
TILE_VALUES
    return bytes;
}

static size_t tiles_bytes(const struct attn_problem *problem)
{
    struct call none = {.p = *problem};
    return set_tiles(&none, NULL);
}

#endif
#if CORRECTED
/* ==== the values that the delta rule has corrected ==== */
static struct version correct_version(void)
{
CORRECT_CHOICE
}

/* Returns the bytes of the corrected values. */
static size_t corrected_bytes(const struct attn_problem *p)
{
    const size_t of_heads = bytes_times(bytes_times(VALUE_DIM * sizeof(REAL), p->batch), p->heads);
    return whole_lines(bytes_times(of_heads, p->n_k));
}

/* Sets the pointer and the strides of the corrected values, which begin at `at`. */
static void set_corrected(struct call *call, unsigned char *at)
{
    const struct attn_problem *const p = &call->p;
    call->corrected = (REAL *)(void *)at;
    call->corrected_at = (struct attn_strides){p->heads * p->n_k * VALUE_DIM, p->n_k * VALUE_DIM, VALUE_DIM};
}

#endif
#if SHARED
/* Returns the workspace of a thread, in bytes, for computing prefix sums and corrected values. */
static size_t first_bytes_a_thread(void)
{
    size_t bytes = 0;
#if PREFIX_SUMS
    const struct version terms = terms_version();
    bytes = bytes_a_thread(&terms);
#endif
#if CORRECTED
    const struct version correct = correct_version();
    if (bytes_a_thread(&correct) > bytes) bytes = bytes_a_thread(&correct);
#endif
    return bytes;
}

/* Returns the bytes of the workspace that all threads of a call share. `sums` has the sizes of the prefix sums. It is
   NULL if the call reads none. */
static size_t call_bytes(const struct attn_problem *p, const struct attn_problem *sums)
{
    size_t bytes = 0;
    (void)p;
    (void)sums;
#if PREFIX_SUMS
    if (sums) bytes = bytes_plus(bytes, prefix_bytes(sums));
#endif
#if TILES
    bytes = bytes_plus(bytes, tiles_bytes(p));
#endif
#if CORRECTED
    bytes = bytes_plus(bytes, corrected_bytes(p));
#endif
    return bytes;
}

#if PREFIX_SUMS
/* Returns whether all versions for n_k keys compute the prefix sums that they read, so that the workspace has none. */
static int own_sums(int64_t n_k)
{
#if FEW
    const struct version few = version(n_k, 0, 0), many = version(n_k, MANY_ROWS, 0);
#if BY_HEADS
    if (!version(n_k, MANY_HEADS, 0).own_sums) return 0;
#endif
    return few.own_sums && many.own_sums;
#else
    return version(n_k).own_sums;
#endif
}

/* Returns what call_bytes returns for forward. There is room for the prefix sums of each call with fewer keys, and at
   most as many queries as keys. */
static size_t forward_bytes(const struct attn_problem *problem)
{
    struct attn_problem sums = *problem;
#if POSITIONS
    const int64_t keys = after_keys(problem) ? 0 : FORWARD_KEYS;
#else
    const int64_t keys = FORWARD_KEYS;
#endif
    if (!own_sums(keys)) return call_bytes(problem, problem);
    sums.n_k = -1;
#if SEVERAL
    static const int64_t from[] = {LENGTHS, INT64_MAX};
    for (size_t k = 0; k + 1 < sizeof from / sizeof *from; k++) {
        int64_t last = problem->n_k; /* the last number of keys with the versions for from[k] */
        for (size_t next = 0; next < sizeof from / sizeof *from; next++)
            if (from[next] > from[k]) last = min(last, from[next] - 1);
        if (from[k] <= problem->n_k && !own_sums(from[k])) sums.n_k = max(sums.n_k, last);
    }
#endif
    sums.n_q = min(sums.n_q, sums.n_k);
    return call_bytes(problem, sums.n_k < 0 ? NULL : &sums);
}

#else
static size_t forward_bytes(const struct attn_problem *problem) { return call_bytes(problem, NULL); }
#endif
#endif
size_t SPEC_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
#if SHARED
    size_t shared = forward_bytes(problem), bytes = first_bytes_a_thread();
#else
    size_t shared = 0, bytes = 0;
#endif
#if SEVERAL
    if (max_bytes_a_thread(FORWARD_KEYS) > bytes) bytes = max_bytes_a_thread(FORWARD_KEYS);
#else
    const struct version this = version(FORWARD_KEYS);
    if (bytes_a_thread(&this) > bytes) bytes = bytes_a_thread(&this);
#endif
    shared = bytes_plus(shared, bytes_times(bytes, threads_served(problem)));
    return bytes_fit(shared) ? shared : 0;
}
