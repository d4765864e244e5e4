size_t SPEC_extend_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    const size_t bytes = bytes_times(bytes_of_extending(problem), threads_served(problem));
    size_t all = bytes_plus(bytes, bytes_of_growths(problem));
#if PREFIX_SUMS && UNCOPIED
    const struct version this = extend_version(problem);
    const size_t of_sums = bytes_of_sums(problem, &this, piece_of_call(problem, &this));
    all = bytes_plus(all, bytes_times(of_sums, problem->batch));
#endif
#if COMMON
    all = bytes_plus(all, bytes_of_common(problem));
#endif
#if ROUNDS_PREPARED
    all = bytes_plus(all, bytes_of_prepared(problem));
#endif
    return bytes_fit(all) ? all : 0;
}

/* Appends the tokens of all growths. In each round, threads share the work of a piece of each growth. */
static int grow(struct growth *growth, int64_t growths, struct job *job, const struct appending *x,
    const struct attn_problem *p, size_t bytes)
{
    (void)p;
    for (;;) {
        int64_t jobs = 0, pieces = 0;
        int error = 0;
        for (int64_t k = 0; k < growths && !error; k++) {
            if (growth[k].left == 0) continue;
            error = begin_piece(&growth[k], x);
            pieces++;
        }
#if COMMON
        if (!error && pieces && x->common && x->asked) error = sum_common(growth, growths, job, x, p, x->common, bytes);
#endif
        for (int64_t k = 0; k < growths && !error; k++) {
            if (growth[k].left == 0) continue;
#if !CARRIED
            if (!x->asked) continue;
#endif
            job[jobs++] = (struct job){.call = &growth[k].call, .this = &growth[k].this};
        }
        if (!error && jobs) error = run_jobs(job, jobs, x->threads, x->work, bytes);
        if (error || !pieces) return error;
        for (int64_t k = 0; k < growths; k++)
            if (growth[k].left > 0) end_piece(&growth[k], x);
    }
}

/* Returns whether the tokens of each sequence follow those of the previous one, and all are among the n_q rows. */
static int in_one_row(const struct attn_problem *p)
{
    int ordered = p->cu_seqlens[0] >= 0;
    for (int64_t b = 0; b < p->batch; b++) ordered &= p->cu_seqlens[b] <= p->cu_seqlens[b + 1];
    return ordered && p->cu_seqlens[max(p->batch, 0)] <= p->n_q;
}

int SPEC_extend(const struct attn_problem *problem, const struct SPEC_params *params, APPENDED_ARGUMENTS, void *state,
    void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
#if POSITIONS
    if (problem->query_start) return ATTN_EPROBLEM; /* the state knows the positions */
#endif
    struct attn_problem new_tokens = *problem;
    new_tokens.n_k = problem->n_q;
    if (problem->cu_seqlens && problem->batch > 1) new_tokens.batch = 1; /* all tokens are in one row of memory */
    struct call call = {.params = params, APPENDED_VALUES};
    struct places at;
    const struct version this = extend_version(problem);
    int error = take_problem(&call, &new_tokens, CHECK_PROBLEM);
    if (!error) error = open_state(problem, &this, state, &at);
    if (error) return error;
    if (problem->cu_seqlens && (problem->lengths || !in_one_row(problem))) return ATTN_EPROBLEM;
    call.p.batch = problem->batch;
    struct appending x = {.extends = &this, .at = &at};
    int64_t tokens = 0;
#if PARAMS
    const int wrong = take_params(&call);
    if (wrong) return wrong;
#endif
#if PAGED
    x.pages = problem->pages;
    if (x.pages) {
        if (!x.pages->base || !x.pages->table) return ATTN_EPOINTER;
        if ((uintptr_t)x.pages->base % 64 || x.pages->bytes % 64) return ATTN_EALIGN;
        if (x.pages->count < 0 || x.pages->row < 0 || x.pages->count > INT32_MAX ||
            x.pages->bytes < bytes_of_page(&call.p, NULL))
            return ATTN_EPAGES;
        if (!bytes_fit(bytes_times(x.pages->bytes, x.pages->count)) ||
            !bytes_fit(bytes_times(bytes_times(sizeof(int32_t), x.pages->row), call.p.batch)))
            return ATTN_ESIZE;
        x.page = rows_in_page(&call.p);
    }
#endif
    /* This limits the length of a sequence, so that the offset of each row of an array fits in int64_t. */
    const int64_t row_strides[GIVEN] = {KEPT_ROW_STRIDES};
    int64_t widest = max(HEAD_DIM, VALUE_DIM);
    for (int a = 0; a < GIVEN; a++) widest = max(widest, row_strides[a]);
    const int64_t most = INT64_MAX / 8 / widest;
    for (int64_t b = 0; b < call.p.batch; b++) {
        const int64_t n = new_tokens_of(problem, b), length = at.sequence[b].length;
        if (n < 0 || n > call.p.n_q) return ATTN_EPROBLEM;
        if (n > most - length) return ATTN_ESIZE;
#if MAX_LENGTH
        if (n > MAX_LENGTH - length) return ATTN_ECAPACITY;
#endif
#if BOUNDED
        if (n > call.p.capacity - length && !problem->pages) return ATTN_ECAPACITY;
#endif
#if IDS_IN_ORDER
        const int32_t *const id = params->IDS_PARAM +
            (problem->cu_seqlens ? problem->cu_seqlens[b] * IDS_OF_CALL_ROW : b * IDS_OF_CALL_SEQUENCE);
        if (ids_fall(id, 1, 0, n, IDS_OF_CALL_ROW)) return ATTN_EORDER;
        if (n > 0 && length > 0 && *id < last_id(&at, b)) return ATTN_EORDER;
#endif
        tokens += n > 0;
    }
    if (tokens == 0 || call.p.heads == 0) return 0;
    const int asked = call.q || call.out; /* without queries, the call only changes the state */
    if ((asked && (ARRAY_OF_QUERIES_MISSING)) || ARRAY_OF_KEYS_MISSING) return ATTN_EPOINTER;
    if (ARRAY_SHARED) return ATTN_EPOINTER;
#if CHUNK_SUMS
    if ((uintptr_t)problem->chunk_sums % 64) return ATTN_EALIGN;
    if (problem->chunk_sums && problem->chunk_sums_bytes && problem->chunk_sums_bytes < chunk_sums(problem))
        return ATTN_EWORKSPACE;
#else
    if (problem->chunk_sums) return ATTN_EPROBLEM;
#endif
    const size_t bytes = bytes_of_extending(problem);
    size_t first = bytes_of_growths(problem);
    x.asked = asked;
#if PREFIX_SUMS && UNCOPIED
    x.sums = (unsigned char *)workspace + first;
    x.piece = piece_of_call(&call.p, &this);
    x.of_sums = bytes_of_sums(&call.p, &this, x.piece);
    first = bytes_plus(first, bytes_times(x.of_sums, call.p.batch));
#endif
#if COMMON
    x.common = x.pages ? (unsigned char *)workspace + first : NULL;
    first = bytes_plus(first, bytes_of_common(&call.p));
#endif
#if ROUNDS_PREPARED
    x.prepared = (unsigned char *)workspace + first;
    first = bytes_plus(first, bytes_of_prepared(&call.p));
#endif
    error = take_workspace(problem, workspace, first, bytes, &x.threads);
    if (error) return error;
    x.work = (unsigned char *)workspace + first;
    struct growth *const growth = (struct growth *)workspace;
    struct job *const job = (struct job *)(void *)(growth + call.p.batch);
#if PAGED
    if (x.pages) {
        if (!pages_apart(&call, &at, workspace, first + bytes * (size_t)x.threads)) return ATTN_EPOINTER;
        unsigned char *const lists = (unsigned char *)workspace + bytes_of_growths(problem);
        error = check_pages(problem, &at,
            (int32_t *)(void *)(lists - whole_lines(bytes_times(2 * sizeof(int32_t), x.pages->count))));
        if (error) return error;
    }
#endif
    int64_t growths = 0;
    for (int64_t b = 0, end; b < call.p.batch; b = end) {
        const int64_t n = new_tokens_of(problem, b);
        end = b + 1;
        while (end < call.p.batch && !problem->cu_seqlens && !problem->pages && new_tokens_of(problem, end) == n &&
            memcmp(&at.sequence[end], &at.sequence[b], sizeof *at.sequence) == 0)
            end++;
        if (n > 0) begin_growth(&growth[growths++], &call, &x, b, end - b, n);
    }
    error = grow(growth, growths, job, &x, &call.p, bytes);
    at.header->check = check_of(&at);
    return error;
}
