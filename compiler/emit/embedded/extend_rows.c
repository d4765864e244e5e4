/* ==== appending tokens ==== */
#if APPENDS
/* Returns the version that corrects the values of new tokens. */
static struct version new_values_version(void)
{
APPEND_CHOICE
}

#endif

/* Returns the workspace of a thread, in bytes, for a call that extends a state. */
static size_t bytes_of_extending(const struct attn_problem *problem)
{
    (void)problem;
#if ATTENDS
    size_t bytes = bytes_of_attending();
#elif EXTEND_BY_LENGTH
    size_t bytes = max_bytes_a_thread(INT64_MAX);
#else
    const struct version this = extend_version(problem);
    size_t bytes = bytes_a_thread(&this);
#endif
#if PREFIX_SUMS
    const struct version terms = terms_version();
    if (bytes_a_thread(&terms) > bytes) bytes = bytes_a_thread(&terms);
#endif
#if APPENDS
    const struct version corrects = new_values_version();
    if (bytes_a_thread(&corrects) > bytes) bytes = bytes_a_thread(&corrects);
#endif
    return bytes;
}

#if APPENDS
/* Computes the corrected values of m new tokens after the first `length` tokens, which the call's arrays contain. */
static int correct_new_values(const struct call *call, int64_t length, int64_t m, int threads, unsigned char *workspace)
{
    struct call correct = *call;
    const struct version this = new_values_version();
    correct.p.n_q = m;
    correct.p.n_k = length + m;
    if (!runs(&this)) return ATTN_EMACHINE;
    return run(&correct, &this, threads, workspace, bytes_a_thread(&this));
}

#endif

/* Returns `rows` with row `first` as row 0. A negative `first` is allowed, because earlier rows are not read. */
static struct rows from_row(struct rows rows, int64_t first)
{
    for (int a = 0; a < GIVEN; a++)
        rows.at[a] = (unsigned char *)((uintptr_t)rows.at[a] + (uintptr_t)first * (uintptr_t)rows.strides[a].row);
    return rows;
}

#if PREFIX_SUMS
/* Returns the number of tokens after which prefix sums begin again at 0, so that they stay small. */
static int64_t sum_period(const struct version *extends)
{
#if BY_CAPACITY
    (void)extends;
    return INT64_MAX;
#elif CARRIED
    return max(1, SUM_TOKENS / extends->chunk) * extends->chunk;
#else
    (void)extends;
    return SUM_TOKENS;
#endif
}

/* Subtracts the prefix sums of the last of n rows from all rows. */
static void begin_sums_again(const struct rows *rows, int64_t sequences, int64_t n)
{
    const struct attn_strides *const s = &rows->strides[SUMS];
    for (int64_t x = 0; x < sequences; x++)
        for (int64_t g = 0; g < s->batch; g += s->head) {
            REAL *const sum = (REAL *)(void *)(rows->at[SUMS] + x * s->batch + g),
                *const low = (REAL *)(void *)(rows->at[SUMS + 1] + x * s->batch + g);
            for (int64_t e = 0; e < PREFIX_ROW; e++) {
                const int64_t last = (n - 1) * PREFIX_ROW + e;
                const double sum_of_last = (double)sum[last], low_of_last = (double)low[last];
#if FOLDS
                const int64_t earlier = e - 2 * PREFIX_ROW;
                double all = (double)sum[earlier], rest_of_all = (double)low[earlier] + low_of_last;
                add_to_sum(&all, &rest_of_all, sum_of_last);
                sum[earlier] = (REAL)(all + rest_of_all);
                low[earlier] = (REAL)(all - (double)sum[earlier] + rest_of_all);
#endif
                for (int64_t at = e - PREFIX_ROW; at <= last; at += PREFIX_ROW) {
                    double high = (double)sum[at], rest = (double)low[at] - low_of_last;
                    add_to_sum(&high, &rest, -sum_of_last);
                    sum[at] = (REAL)(high + rest);
                    low[at] = (REAL)(high - (double)sum[at] + rest);
                }
            }
        }
}

/* Replaces the terms of new tokens by prefix sums, in one head. Each prefix sum continues from the previous one. So
   the sums do not depend on how tokens are divided into calls. */
static void continue_sums(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_strides *const s = &call->log_decay_k_at;
    const int64_t first = task / call->p.heads * s->batch + task % call->p.heads * s->head;
    REAL *const sum = call->log_decay_k + first, *const low = call->log_decay_k_low + first;
    (void)work;
    for (int64_t at = 0; at < call->p.n_q * PREFIX_ROW; at++) {
        double high = (double)sum[at - PREFIX_ROW], rest = (double)low[at - PREFIX_ROW];
        add_to_sum(&high, &rest, (double)sum[at]);
        sum[at] = (REAL)(high + rest);
        low[at] = (REAL)(high - (double)sum[at] + rest);
    }
}

/* Makes the call read from `rows` the parameters that only the terms of prefix sums use. */
static void set_rows_of_terms(struct call *call, const struct rows *rows)
{
    (void)call;
    (void)rows;
TERMS_VALUES
}

/* Computes the prefix sums of n tokens after the first `length` tokens. Row to_row of `to` gets the sums of the
   first of these n tokens. */
static int remember_sums(const struct rows *to, int64_t to_row, const struct rows *from, const struct call *call,
    int64_t length, int64_t n, int threads, unsigned char *workspace)
{
    enum { SHARED_TERMS = 4096 }; /* fewer terms take less time than waking threads */
    struct call terms = *call;
    const struct rows numbered = from_row(*from, -length), of_terms = from_row(*to, to_row);
    const struct version computes = terms_version(), adds = {.rows = continue_sums, .tile = -1};
    set_rows(&terms, &numbered);
    set_rows_of_terms(&terms, &numbered);
    terms.log_decay_k = (REAL *)(void *)of_terms.at[SUMS];
    terms.log_decay_k_low = (REAL *)(void *)of_terms.at[SUMS + 1];
    terms.log_decay_k_at = terms.log_decay_k_low_at = in_elements(to->strides[SUMS], sizeof(REAL));
    terms.p.n_q = n;
    terms.p.n_k = length + n;
    if (!runs(&computes)) return ATTN_EMACHINE;
    if (terms.p.batch * terms.p.heads * n * PREFIX_ROW < SHARED_TERMS) threads = 1;
    const int error = run(&terms, &computes, threads, workspace, bytes_a_thread(&computes));
    return error ? error : run(&terms, &adds, threads, workspace, bytes_a_thread(&computes));
}

#if UNCOPIED
/* The number of earlier rows of prefix sums that a call copies before its new rows. */
enum { EARLIER_SUMS = 1 + READ_BACK };

/* Returns the bytes of a sequence's prefix sums of n tokens, and of the earlier rows that a call copies. */
static size_t bytes_of_sums(const struct attn_problem *p, const struct version *extends, int64_t n)
{
    struct state_header header;
    if (describe(p, extends, &header)) return SIZE_MAX;
    const size_t row = bytes_times((size_t)(PREFIX_ROW * sizeof(REAL)), p->heads);
    return bytes_times(whole_lines(bytes_times(row, EARLIER_SUMS + header.rewind + n)), SUM_ARRAYS);
}

/* Returns the number of tokens that a call computes at a time if it reads keys and values in place. These tokens are
   whole chunks. Their prefix sums take at most MOST_SUMS bytes, except for a single chunk. */
static int64_t piece_of_call(const struct attn_problem *p, const struct version *extends)
{
    enum { MOST_SUMS = 1 << 22, TOKENS = 64 };
#if CARRIED
    const int64_t unit = extends->chunk;
#else
    const int64_t unit = TOKENS;
#endif
    int64_t tokens = sum_period(extends);
    while (tokens > unit && bytes_times(bytes_of_sums(p, extends, tokens), p->batch) > MOST_SUMS)
        tokens = (tokens / unit + 1) / 2 * unit;
    return tokens;
}

/* Prepares `sums` for the prefix sums of n new tokens. Copies the `back` + 1 rows before `end` from `kept`, and
   makes row 0 of `given` the row after them. */
static void place_sums(struct rows *given, unsigned char *sums, int64_t back, int64_t n, const struct rows *kept,
    int64_t end, int64_t count)
{
    for (int a = SUMS; a < ROW_ARRAYS; a++) {
        const int64_t row = row_bytes_of[a], head = (1 + back + n) * row,
            heads = kept->strides[a].batch / kept->strides[a].head;
        given->at[a] = sums + (1 + back) * row;
        given->strides[a] = (struct attn_strides){heads * head, head, row};
        remember(given, -back - 1, kept, end - back - 1, back + 1, a, count);
        sums += whole_lines((size_t)(count * heads * head));
    }
}

#endif
#endif

#if PREPARED
/* Prepares the keys of n tokens after the first `length`, and stores them in array 0 of `to`, at row to_row. */
static int remember_prepared(const struct rows *to, int64_t to_row, const struct rows *from, const struct call *call,
    int64_t length, int64_t n, int threads, unsigned char *workspace)
{
    enum { SHARED_ROWS = 64 }; /* fewer rows take less time than waking threads */
    struct call keys = *call;
    const struct version this = preparing();
    if (!runs(&this)) return ATTN_EMACHINE;
    const struct rows numbered = from_row(*from, -length);
    set_rows(&keys, &numbered); /* Arrays are read at positions. Keys are read from the first new one on. */
    keys.q = (const STORED *)(const void *)from->at[0]; /* the program prepares the argument q */
    keys.p.q = in_elements(from->strides[0], sizeof *keys.q);
    keys.out = (STORED *)(void *)(to->at[0] + to_row * to->strides[0].row);
    keys.p.out = in_elements(to->strides[0], sizeof *keys.out);
    keys.p.heads = keys.p.kv_heads = heads_of_keys(&call->p);
#if SHARES
    keys.sharing = 1;
#endif
    keys.p.n_q = n;
    keys.p.n_k = length + n;
    if (keys.p.batch * keys.p.heads * n < SHARED_ROWS) threads = 1;
    return run(&keys, &this, threads, workspace, bytes_a_thread(&this));
}

#if ROUNDS_PREPARED
enum { MOST_PREPARED = 1 << 18 }; /* prepared keys stay in a cache until they are rounded */

/* Returns the bytes of memory for prepared keys before they are rounded: at least those of one token. */
static size_t bytes_of_prepared(const struct attn_problem *p)
{
    const size_t token = bytes_times(bytes_times(HEAD_DIM * sizeof(STORED), p->batch), heads_of_keys(p));
    return whole_lines(token > MOST_PREPARED ? token : MOST_PREPARED);
}

/* Like remember_prepared, but rounds the prepared keys. `made` has bytes_of_prepared bytes. */
static int remember_prepared_rounded(const struct rows *to, int64_t to_row, const struct rows *from,
    const struct call *call, int64_t length, int64_t n, int threads, unsigned char *made, unsigned char *workspace)
{
    const int64_t row = HEAD_DIM * (int64_t)sizeof(STORED), heads = heads_of_keys(&call->p),
        some = max(1, MOST_PREPARED / (call->p.batch * heads * row));
    const struct rows prepared = {.at = {made}, .strides = {{heads * some * row, some * row, row}}};
    for (int64_t done = 0; done < n; done += some) {
        const int64_t m = min(some, n - done);
        const struct rows given = from_row(*from, done);
        const int error = remember_prepared(&prepared, 0, &given, call, length + done, m, threads, workspace);
        if (error) return error;
        remember_rounded(to, to_row + done, &prepared, 0, m, 0, call->p.batch);
    }
    return 0;
}

#endif
#endif
/* Neighbouring sequences that a call extends together, piece by piece. They have equal lengths, equally many tokens in
   their sums, and get equally many tokens. */
struct growth {
    struct call call; /* the call for the next piece */
    struct version this;
    struct rows given;    /* the rows of the next tokens */
    struct sequence s;    /* describes each of the sequences */
    int64_t b, count;     /* the number of the first sequence, and the number of sequences */
    int64_t left, m;      /* left: tokens that are not appended yet; m: the tokens of the current piece */
#if UNCOPIED
    int64_t given_tokens; /* the tokens of the call that are appended */
#endif
    int in_place, stores; /* in_place: the piece reads keys and values of the caller; stores: it stores earlier sums */
#if INTEGERS_OF_SEQUENCES
    struct SPEC_params params;
#endif
#if BY_HEADS
    struct attn_problem p; /* `call.p` before heads and queries were swapped */
#endif
};

/* The arguments of a call that all its sequences share. */
struct appending {
    const struct version *extends;
    const struct places *at;
    int asked, threads; /* asked: the caller wants the rows of out */
    unsigned char *work; /* the workspace of the threads */
#if ROUNDS_PREPARED
    unsigned char *prepared; /* memory for prepared keys before they are rounded */
#endif
#if PAGED
    const struct attn_pages *pages; /* or NULL */
    struct rows page;               /* the rows in page 0 */
#endif
#if COMMON
    unsigned char *common; /* memory for keys that several sequences share, or NULL */
#endif
#if PREFIX_SUMS && UNCOPIED
    /* sums: memory for prefix sums, of_sums: its bytes for a sequence, piece: the tokens that it has room for */
    unsigned char *sums;
    size_t of_sums;
    int64_t piece;
#endif
};

/* Returns the bytes of the workspace for the lists of growths and jobs, and for the sequences that have a page. */
static size_t bytes_of_growths(const struct attn_problem *p)
{
    const size_t lists = whole_lines(bytes_times(sizeof(struct growth) + sizeof(struct job), p->batch));
#if PAGED
    if (p->pages) return bytes_plus(lists, whole_lines(bytes_times(2 * sizeof(int32_t), p->pages->count)));
#endif
    return lists;
}

/* Returns the bytes of a page, or 0 for an error. */
size_t SPEC_page(const struct attn_problem *problem)
{
#if PAGED
    struct state_header header;
    const struct version this = extend_version(problem);
    if (!problem || !problem->pages || describe(problem, &this, &header)) return 0;
    const size_t bytes = bytes_of_page(problem, NULL);
    return bytes_fit(bytes) ? bytes : 0;
#else
    (void)problem;
    return 0;
#endif
}

