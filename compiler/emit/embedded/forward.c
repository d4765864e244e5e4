#if BACKWARD
/* Returns the bytes of an array with an element per query and head. */
static size_t row_bytes(const struct attn_problem *p)
{
    return whole_lines(bytes_times(bytes_times(bytes_times(sizeof(REAL), p->batch), p->heads), p->n_q));
}

#if SOLUTION
/* Returns the bytes of call->saved_solution. */
static size_t solution_bytes(const struct attn_problem *p)
{
    return whole_lines(bytes_times(bytes_times(bytes_times(VALUE_DIM * sizeof(REAL), p->batch), p->kv_heads), p->n_k));
}

static void set_solution(struct call *call, unsigned char *at)
{
    const int64_t head = call->p.n_k * VALUE_DIM;
    call->saved_solution = (REAL *)(void *)at;
    call->saved_solution_at = (struct attn_strides){call->p.kv_heads * head, head, VALUE_DIM};
}

#endif
static size_t saved_bytes(const struct attn_problem *p)
{
#if SOLUTION
    return bytes_plus(bytes_times(row_bytes(p), SAVED_COUNT), solution_bytes(p));
#else
    return bytes_times(row_bytes(p), SAVED_COUNT);
#endif
}

size_t SPEC_saved(const struct attn_problem *problem)
{
    const size_t bytes = problem ? saved_bytes(problem) : 0;
    return bytes_fit(bytes) ? bytes : 0;
}

static void set_saved(struct call *call, unsigned char *saved)
{
#if SAVED_COUNT
SAVED_VALUES
#else
    (void)call;
    (void)saved;
#endif
}

#endif
#if DELTA
/* Sets an array of rows to 0. */
static void clear_rows(const struct attn_problem *p, STORED *rows, const struct attn_strides *s, int64_t elements)
{
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t i = 0; i < p->n_q; i++)
                memset(rows + b * s->batch + h * s->head + i * s->row, 0, (size_t)elements * sizeof *rows);
}

/* Computes the rows of a call without keys, which loops over chunks of keys do not reach. */
static void compute_without_keys(const struct call *call)
{
    const struct attn_problem *const p = &call->p;
    clear_rows(p, call->out, &p->out, VALUE_DIM);
#if RESULTS
    const struct attn_strides *const s = &p->statistics_at;
    for (int64_t row = 0; call->statistics && row < p->batch * p->heads * p->n_q; row++)
        call->statistics[row / p->n_q / p->heads * s->batch + row / p->n_q % p->heads * s->head +
            row % p->n_q * s->row] = OF_NO_KEYS;
#endif
}

#endif
#if CHECKS_VALUES
/* Like attn_problem_check, for kernels whose values are the first elements of the keys. The values get the strides
   of the keys. */
static int check_problem(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
    struct attn_problem *filled)
{
    struct attn_problem p = *problem;
    if (p.key_heads) return ATTN_EPROBLEM; /* values have as many heads as keys */
    p.v = p.dv = (struct attn_strides){0, 0, 0};
    const int error = attn_problem_check(&p, head_dim, value_dim, filled);
    if (!error) filled->v = filled->k;
    return error;
}

#endif
#if STORES
/* Checks a problem whose keys and values are rows of other types. */
static int check_stored(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
    struct attn_problem *filled)
{
#if VALUES_ARE_KEYS
    struct attn_problem p = *problem;
    if (p.key_heads) return ATTN_EPROBLEM; /* values have as many heads as keys */
    p.v = p.dv = (struct attn_strides){0, 0, 0};
    const int error = attn_stored_problem_check(&p, head_dim, value_dim, KEY_ROW, VALUE_ROW, filled);
    if (!error) filled->v = filled->k;
    return error;
#else
    return attn_stored_problem_check(problem, head_dim, value_dim, KEY_ROW, VALUE_ROW, filled);
#endif
}

#endif
#if KEY_SUMS
/* Returns the version that reads and adds to sums over all keys. */
static struct version version_of_sums(void)
{
#if FEW
    return version(INT64_MAX, MANY_ROWS, 0);
#else
    return version(INT64_MAX);
#endif
}

/* Returns the tasks of a key/value head of this version. */
static int64_t tasks_of_sums(const struct attn_problem *p, const struct version *v)
{
    return v->tile == 0 ? 1 : p->heads / max(p->kv_heads, 1);
}

/* Member key_sums of struct attn_kernel. */
static size_t key_sums(const struct attn_problem *problem)
{
    struct attn_problem filled;
    if (!problem || CHECK_GIVEN(problem, HEAD_DIM, VALUE_DIM, &filled)) return 0;
    const struct version this = version_of_sums();
    const size_t of_head = (size_t)(tasks_of_sums(problem, &this) * this.outer_bytes),
        bytes = bytes_times(bytes_times(of_head, problem->kv_heads), problem->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

/* Computes the result, or adds the keys to problem->earlier_sums if `adds`. */
static int attend(const struct attn_problem *problem, const struct SPEC_params *params, ARRAY_ARGUMENTS,
    void *workspace, int adds)
#else
int SPEC_forward(const struct attn_problem *problem, const struct SPEC_params *params, ARRAY_ARGUMENTS, void *workspace)
#endif
{
    if (!problem) return ATTN_EPOINTER; /* outputs may be members of the problem */
    struct call call = {.params = params, ARRAY_VALUES};
    const int error = take_problem(&call, problem, CHECK_GIVEN);
    if (error) return error;
#if MAX_LENGTH
    if (too_long(&call.p)) return ATTN_ELENGTH;
#endif
#if KEY_SUMS
    if (call.p.batch == 0 || call.p.heads == 0 || (adds ? call.p.n_k == 0 : call.p.n_q == 0)) return 0;
    if ((!adds && (ARRAY_OF_QUERIES_MISSING)) || (call.p.n_k > 0 && (ARRAY_OF_KEYS_MISSING))) return ATTN_EPOINTER;
#else
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (ARRAY_OF_QUERIES_MISSING || (call.p.n_k > 0 && (ARRAY_OF_KEYS_MISSING))) return ATTN_EPOINTER;
#endif
    if (ARRAY_SHARED) return ATTN_EPOINTER;
#if PARAMS
    const int wrong = take_params(&call);
    if (wrong) return wrong;
#endif
#if FEW && KEY_SUMS
    const struct version this =
        problem->earlier_sums ? version_of_sums() : version(VERSION_KEYS, rows_of(&call.p), call.p.n_q);
#elif KEY_SUMS
    const struct version this = problem->earlier_sums ? version_of_sums() : version(VERSION_KEYS);
#elif FEW
    const struct version this = version(VERSION_KEYS, rows_of(&call.p), call.p.n_q);
#else
    const struct version this = version(VERSION_KEYS);
#endif
    if (!runs(&this)) return ATTN_EMACHINE;
#if POSITIONS && KEY_SUMS
    if (this.in_keys && !problem->earlier_sums && after_keys(&call.p)) return ATTN_ELENGTH;
#elif POSITIONS
    if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
#endif
#if KEY_SUMS
    if ((uintptr_t)problem->earlier_sums % 64) return ATTN_EALIGN;
    if (problem->earlier_sums) {
        call.outer = (unsigned char *)problem->earlier_sums;
        call.outer_tasks = tasks_of_sums(&call.p, &this);
        call.outer_head = call.outer_tasks * this.outer_bytes;
        call.gives = call.only_sums = adds;
    }
#endif
#if SHARED
#if PREFIX_SUMS
    const struct attn_problem *const sums = this.own_sums ? NULL : &call.p;
    const size_t shared = call_bytes(&call.p, sums);
#else
    const size_t shared = call_bytes(&call.p, NULL);
#endif
    const size_t bytes = bytes_a_thread(&this);
    size_t max_bytes = first_bytes_a_thread();
#if SEVERAL
    if (max_bytes_a_thread(FORWARD_KEYS) > max_bytes) max_bytes = max_bytes_a_thread(FORWARD_KEYS);
#else
    if (bytes > max_bytes) max_bytes = bytes;
#endif
#else
    const size_t shared = 0, bytes = bytes_a_thread(&this);
#if SEVERAL
    const size_t max_bytes = max_bytes_a_thread(FORWARD_KEYS);
#else
    const size_t max_bytes = bytes;
#endif
#endif
    int threads = 1;
    const int no_room = take_workspace(problem, workspace, shared, max_bytes, &threads);
    if (no_room) return no_room;
    unsigned char *const work = (unsigned char *)workspace + shared;
#if BACKWARD
    const size_t saved = saved_bytes(problem);
    if (problem->saved && !bytes_fit(saved)) return ATTN_ESIZE;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    if (problem->saved && this.saves) set_saved(&call, (unsigned char *)problem->saved);
#if SOLUTION
    if (problem->saved) set_solution(&call, (unsigned char *)problem->saved + SAVED_COUNT * row_bytes(problem));
#endif
#endif
#if DELTA
    if (call.p.n_k == 0) compute_without_keys(&call);
#endif
#if TILES
    set_tiles(&call, work - tiles_bytes(&call.p));
    const int no_tiles = make_tiles(&call, threads);
    if (no_tiles) return no_tiles;
#endif
#if BY_HEADS
    if (this.by_heads) heads_as_queries(&call.p);
#endif
#if SHARED
    int failed = 0;
    unsigned char *first = (unsigned char *)workspace;
#if PREFIX_SUMS
    const struct version terms = terms_version();
    if (!runs(&terms)) return ATTN_EMACHINE;
    if (sums) {
        set_prefix_sums(&call, first);
        failed = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
        first += prefix_bytes(&call.p);
    }
#endif
#if CORRECTED
    const struct version correct = correct_version();
    if (!runs(&correct)) return ATTN_EMACHINE;
    set_corrected(&call, first);
    first += corrected_bytes(&call.p);
    if (!failed) failed = run(&call, &correct, threads, work, bytes_a_thread(&correct));
#endif
    (void)first;
    return failed ? failed : run(&call, &this, threads, work, bytes);
#else
    return run(&call, &this, threads, work, bytes);
#endif
}

#if DECAY_PARTS
/* Member decay_sums of struct attn_kernel. */
static int decay_sums(const struct attn_problem *problem, const void *params, double *sums, void *workspace)
{
    if (!problem || !sums) return ATTN_EPOINTER;
    struct attn_problem keys = *problem;
    struct call call = {.params = (const struct SPEC_params *)params};
    keys.query_start = NULL;
    keys.query_decay = NULL;
    int error = take_problem(&call, &keys, CHECK_GIVEN), threads = 1;
    if (error || call.p.batch == 0 || call.p.heads == 0 || call.p.n_k == 0) return error;
#if PARAMS
    error = take_params(&call);
    if (error) return error;
#endif
    const size_t shared = call_bytes(&call.p, &call.p), bytes = first_bytes_a_thread();
    const struct version terms = terms_version();
    if (!runs(&terms)) return ATTN_EMACHINE;
    error = take_workspace(problem, workspace, shared, bytes, &threads);
    if (error) return error;
    set_prefix_sums(&call, (unsigned char *)workspace);
    error = make_prefix_sums(&call, threads, (unsigned char *)workspace + shared, bytes);
    for (int64_t x = 0; x < call.p.batch * call.p.heads * call.p.n_k * PREFIX_ROW && !error; x++)
        sums[x] = (double)call.log_decay_k[x] + (double)call.log_decay_k_low[x];
    return error;
}

#endif
#if KEY_SUMS
int SPEC_forward(const struct attn_problem *problem, const struct SPEC_params *params, ARRAY_ARGUMENTS, void *workspace)
{
    return attend(problem, params, ARRAY_NAMES, workspace, 0);
}

#endif
