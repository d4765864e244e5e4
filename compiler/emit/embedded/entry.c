/* Template of the C that chooses a version of a kernel, and of its entry points. tests/unit/test_entry.c compiles it
   with kernel.c.
   - version: the code of the kernel for one target and one algorithm
   - task: the work that a thread takes at a time
   - part of backward: loops that compute some of the gradients. struct part in kernel.c is something else. */

/* ==== which version this machine runs ==== */
struct version {
    /* computes a task on one thread */
    void (*rows)(const struct call *, int64_t, unsigned char *);
#if PHASES
    void (*head)(const struct call *, int64_t, struct part *); /* computes a head on one or more threads; may be NULL */
#endif
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
#if POSITIONS
    int in_keys; /* no query may be after the last key */
#endif
#if PREFIX_SUMS
    int own_sums; /* computes the prefix sums that it reads */
#endif
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
#if TASKS_OF_KEYS
    /* a task is a tile of queries, or a tile of the keys of a key/value head or of a query head */
    enum { OF_QUERIES, OF_KEY_HEAD, OF_QUERY_HEAD } of_keys;
#endif
#if OUTER
    int outer; /* enum: the version carries sums of earlier or of later tokens, or none */
    int64_t outer_bytes; /* the bytes of these sums for a task, a multiple of 64 */
#endif
#if BACKWARD
    int saves;   /* forward stores values for backward */
    int (*wanted)(const struct call *); /* tells whether a call wants a gradient of this part; may be NULL */
#if IDLE
    int idle; /* the part has nothing to compute */
#endif
#if OUTER
    /* adds: bit k is set if the part runs in a call that only adds to sums of kind k; outer_results: it then computes an
       array for another part, too */
    int adds, outer_results;
#endif
#if HAS_ADDS
    int of_terms;        /* the part computes gradients from those of the terms of prefix sums */
#endif
#if TOTALS
    int units;      /* the number of slices of the rows, or 0 */
#if UNITS_OF_BATCH
    int unit_batch; /* the rows of a slice are of one batch entry */
#endif
    int unit_heads; /* heads in a slice: 0: all, 1: one key/value head, 2: one query head */
#endif
#endif
#if REMEMBERS
    int remembered; /* the number of strips and tiles that a thread remembers, which are at these places in its workspace */
    size_t remembers[REMEMBERS];
#endif
#if IN_ORDER
    int in_order; /* tiles of a head add to shared sums in order */
#endif
#if BY_HEADS
    int by_heads; /* query heads that share keys take the place of queries */
#endif
#if FAR_QUERIES
    int64_t apart; /* positions between neighbouring queries of a task */
#endif
#if PHASES
    size_t shared, slot, slots; /* shared: bytes for all threads of a head; slot: bytes of a slot; slots: per thread */
    int together; /* heads that all threads compute together: 0: none, 1: the last (heads % threads), 2: all */
#if COMMON
    /* common: sums keys that several sequences share, for a key/value head and at most common_rows rows of these
       sequences; may be NULL. common_chunk: the keys of a chunk. common_row: bytes of a row in `call.common`.
       common_range: gives the keys that all rows of a sequence see; NULL if these are all keys before the rows */
    void (*common)(const struct call *, int64_t, struct part *);
    void (*common_range)(const struct call *, int64_t, int64_t *);
    int64_t common_rows, common_chunk, common_row;
#endif
#if IDS
    int any_order; /* the ids of the keys may be in any order */
#endif
#endif
#if CARRIED
    int64_t chunk; /* keys that are added to a state at a time */
    size_t kept; /* bytes of the sums of one head */
#if JOINS
    void (*join)(const struct call *, int64_t, unsigned char *); /* adds the sums of a second state, for one task */
    size_t join_work;                                            /* bytes of workspace for `join` */
#endif
#endif
};

#if BY_SCHEDULE
/* The version depends on the number of keys, because `schedule:` says so. */
#elif BY_FORM
/* For many keys, version() chooses the linear form, because it takes less work. */
#endif
#if FEW
/* Returns whether a few queries take less time one by one than as one tile. A single query has an overhead of 10
   vectors, and a tile has an overhead of 40 vectors. Both were measured with AVX2 and SSE2. */
INLINE int few_pay(int64_t n_q, int64_t n_k, int64_t lanes)
{
    enum { MANY_KEYS = 1024 };
    return n_k >= MANY_KEYS || n_q * (n_k + 10 * lanes) <= round_up(n_q, lanes) * n_k + 40 * lanes;
}

#if BY_HEADS
/* With MANY_HEADS, each vector lane has a query head. It is used if MIN_HEADS or more query heads share keys. If
   there are several queries, all query heads must share one key/value head. */
enum { MANY_HEADS = -1 };
#endif
/* Returns the version for n_k keys and n_q queries. `rows` is the number of queries of all heads that share keys. */
static struct version version(int64_t n_k, int64_t rows, int64_t n_q)
#else
static struct version version(int64_t n_k)
#endif
{
CHOICE
}

#if FEW
enum { MANY_ROWS = 1 << 30 };

/* Returns the number of queries of all heads that share keys. Returns MANY_ROWS if a call saves values or has many
   queries, because its queries are in the lanes. */
static int64_t rows_of(const struct attn_problem *p)
{
    if (p->n_q > MAX_FEW_QUERIES || p->saved || p->kv_heads <= 0) return MANY_ROWS;
#if BY_HEADS
    if (p->heads / p->kv_heads >= MIN_HEADS && (p->n_q == 1 || p->kv_heads == 1)) return MANY_HEADS;
#endif
    return min(p->heads / p->kv_heads * p->n_q, MANY_ROWS);
}

#endif
#if BY_HEADS
/* Swaps heads and queries: the query heads that share keys become queries, and each query becomes a head. */
static void heads_as_queries(struct attn_problem *p)
{
    struct attn_strides *const strides[] = {&p->q, &p->out};
    const int64_t members = p->heads / p->kv_heads;
    for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
        const int64_t head = strides[k]->head;
        strides[k]->head = p->n_q == 1 ? members * head : strides[k]->row;
        strides[k]->row = head;
    }
    p->heads = p->kv_heads * p->n_q;
    p->n_q = members;
}

#endif

static size_t bytes_a_thread(const struct version *v)
{
#if PHASES
    return v->own + v->shared + v->slots * v->slot;
#else
    return v->own;
#endif
}

/* ==== the interface ==== */
/* Returns the number of threads for which a workspace has room. If the caller chooses no number, there is room for a
   thread per processor, because OpenMP's default may change later. */
static int64_t threads_served(const struct attn_problem *p)
{
    if (p->threads > 0) return p->threads;
#ifdef _OPENMP
    return max(omp_get_max_threads(), omp_get_num_procs());
#else
    return 1;
#endif
}

/* Checks the workspace of a call, and sets *threads to the number of threads: the caller's or OpenMP's default, but not
   more than there are processors, unless the workspace has room or the caller has the threads. The first `shared` bytes
   of the workspace are for all threads. Returns 0 or an error. */
static int take_workspace(const struct attn_problem *p, const void *workspace, size_t shared, size_t bytes_a_thread,
    int *threads)
{
    const size_t all = p->workspace_bytes, left = all > shared ? all - shared : 0,
        room = bytes_a_thread ? left / bytes_a_thread : left;
#ifdef _OPENMP
    const int64_t by_default = omp_get_max_threads(), processors = omp_get_num_procs();
#else
    const int64_t by_default = 1, processors = 1;
#endif
    const int64_t most = max(processors, (int64_t)(room < INT32_MAX ? room : INT32_MAX)),
        wanted = p->threads > 0 ? p->threads : min(by_default, most);
    if (!workspace) return ATTN_EPOINTER;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    if (all && all < bytes_plus(shared, bytes_times(bytes_a_thread, wanted))) return ATTN_EWORKSPACE;
    *threads = (int)(p->team ? wanted : min(wanted, most));
    return 0;
}

#if PHASES
/* Sets `part` to the share of thread `number`, where `there` threads compute a head. The workspace has room for
   `threads` threads. OpenMP may have started fewer. */
static void together(const struct version *v, int threads, int number, int there, unsigned char *workspace,
    struct part *part)
{
    const size_t all = (size_t)threads;
    part->number = number;
    part->threads = there;
    part->work = workspace + (size_t)number * v->own;
    part->shared = workspace + all * v->own;
    part->window = (int64_t)(((all - 1) * v->shared + all * v->slots * v->slot) / v->slot) / part->threads;
    part->slots = part->shared + v->shared + (size_t)(number * part->window) * v->slot;
}

#if IDS
/* Returns whether an id is smaller than the id of the previous key. Carried sums need ascending ids, so that keys
   with one id are adjacent. */
static int ids_fall(const int32_t *id, int64_t batch, int64_t sequence, int64_t n, int64_t row)
{
    for (int64_t b = 0; b < batch; b++, id += sequence)
        for (int64_t x = 1; x < n; x++)
            if (id[x * row] < id[(x - 1) * row]) return 1;
    return 0;
}

#endif
#endif
PARAMS_FUNCTIONS

#if STRIDED
/* Fills in the strides `to` of an array of these sizes. `given` are the caller's strides. If they are all 0 or
   `given` is NULL, the array is contiguous. Returns an error if
   - a stride is negative,
   - the offset of an element overflows, or
   - the array is not aligned to its elements. */
static int fill_strides(int64_t *to, const int64_t *given, const int64_t *size, int axes, const void *array,
    size_t element)
{
    const int64_t most = INT64_MAX / 8;
    int64_t contiguous = 1, last = 0;
    int any = 0;
    if ((uintptr_t)array % element) return ATTN_EALIGN;
    for (int k = 0; given && k < axes; k++) any |= given[k] != 0;
    for (int k = axes - 1; k >= 0; k--) {
        int64_t stride = contiguous;
        if (any && size[k] > 1) stride = given[k] == ATTN_BROADCAST ? 0 : given[k];
        if (stride < 0) return ATTN_EPROBLEM;
        if (size[k] > 1 && stride > (most - last) / (size[k] - 1)) return ATTN_ESIZE;
        if (size[k] > 1) last += stride * (size[k] - 1);
        if (size[k] > 1 && contiguous > most / size[k]) return ATTN_ESIZE;
        if (size[k] > 1) contiguous *= size[k];
        to[k] = stride;
    }
    return 0;
}

/* Sets the strides of all arrays of the caller. Returns 0 or an error. */
static int set_strides(struct call *call)
{
    const struct attn_problem *const p = &call->p;
    const struct SPEC_params *const params = call->params;
    const struct SPEC_strides *const given = params->STRIDES_MEMBER;
    int error = 0;
    (void)p;
STRIDE_VALUES
PARAM_ROW_VALUES
    return error;
}

#endif
#if POSITIONS
static int positions_fit(const struct attn_problem *p)
{
    const int64_t most = INT64_C(1) << 31;
    int fit = 1;
    for (int64_t b = 0; p->query_start && b < p->batch; b++) fit &= p->query_start[b] >= -most && p->query_start[b] <= most;
    return fit;
}

#endif
#if SHARES
/* Returns the number of heads of v that share a head of q and of k. */
static int64_t sharing_of(const struct attn_problem *p) { return p->key_heads ? max(p->heads / p->key_heads, 1) : 1; }

#endif
/* A function like attn_problem_check. */
typedef int checks_problem(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
    struct attn_problem *filled);

/* Checks the sizes, strides and positions of a call to any entry point, and fills in `call->p`. Returns 0 or an error. */
static int take_problem(struct call *call, const struct attn_problem *problem, checks_problem *checks)
{
    if (!problem) return ATTN_EPOINTER;
    const int error = checks(problem, HEAD_DIM, VALUE_DIM, &call->p);
    if (error) return error;
#if SAME_HEADS
    if (call->p.heads != call->p.kv_heads) return ATTN_EPROBLEM;
#endif
#if POSITIONS
    if (!positions_fit(&call->p)) return ATTN_EPROBLEM;
#endif
#if SHARES
    call->sharing = sharing_of(&call->p);
#endif
#if SEEDED
    if (call->p.seed == 0) call->p.seed = SEED_OF_SPEC;
#endif
    return 0;
}

#if MAX_LENGTH
static int too_long(const struct attn_problem *p) { return p->n_q > MAX_LENGTH || p->n_k > MAX_LENGTH; }

#endif
#if PARAMS
/* Checks that the caller has given all parameters, and sets their strides. Returns 0 or an error. */
static int take_params(struct call *call)
{
    const struct SPEC_params *const params = call->params;
    if (PARAM_MISSING) return ATTN_EPARAM;
#if STRIDED
    return set_strides(call);
#else
    return 0;
#endif
}

#endif
#if SEVERAL
/* Returns the largest workspace of a thread in bytes, over all versions for up to n_k keys. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {LENGTHS};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
#if FEW
        const struct version few = version(from[k], 0, 0), v = version(from[k], MANY_ROWS, 0);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
#if BY_HEADS
        const struct version heads = version(from[k], MANY_HEADS, 0);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&heads) > bytes) bytes = bytes_a_thread(&heads);
#endif
#else
        const struct version v = version(from[k]);
#endif
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

#endif
#if POSITIONS
/* Returns whether a query of the call is after the last key. */
static int after_keys(const struct attn_problem *p)
{
    int after = 0;
    for (int64_t b = 0; p->query_start && b < p->batch; b++) after |= p->query_start[b] + p->n_q > p->n_k;
    return after;
}

/* Returns the number of keys that the choice of a version depends on. It is 0 if a query is after the last key,
   because only the quadratic form can compute such a query. */
static int64_t keys_of_version(const struct attn_problem *p)
{
    return after_keys(p) ? 0 : p->n_k;
}

#endif
