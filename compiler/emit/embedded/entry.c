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
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
#if TASKS_OF_KEYS
    /* a task is a tile of queries, or a tile of the keys of a key/value head or of a query head */
    enum { OF_QUERIES, OF_KEY_HEAD, OF_QUERY_HEAD } of_keys;
#endif
#if BACKWARD
    int saves;   /* forward stores values for backward */
    int (*wanted)(const struct call *); /* tells whether a call wants a gradient of this part; may be NULL */
#if IDLE
    int idle; /* the part has nothing to compute */
#endif
#if TOTALS
    int units;      /* the number of slices of the rows, or 0 */
#if UNITS_OF_BATCH
    int unit_batch; /* the rows of a slice are of one batch entry */
#endif
    int unit_heads; /* heads in a slice: 0: all, 1: one key/value head, 2: one query head */
#endif
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
static size_t threads_served(const struct attn_problem *p)
{
    if (p->threads > 0) return (size_t)p->threads;
#ifdef _OPENMP
    return (size_t)max(omp_get_max_threads(), omp_get_num_procs());
#else
    return 1;
#endif
}

/* Returns p->threads, or a default if it is 0. The default exceeds the number of processors only if the workspace has
   room. */
static int thread_count(const struct attn_problem *p, size_t workspace_bytes, size_t bytes_a_thread)
{
    if (p->threads > 0) return p->threads;
#ifdef _OPENMP
    const int64_t served = (int64_t)(workspace_bytes / bytes_a_thread);
    return (int)min(omp_get_max_threads(), max(omp_get_num_procs(), served));
#else
    (void)workspace_bytes;
    (void)bytes_a_thread;
    return 1;
#endif
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

static int positions_fit(const struct attn_problem *p)
{
    const int64_t most = INT64_C(1) << 31;
    int fit = 1;
    for (int64_t b = 0; p->query_start && b < p->batch; b++) fit &= p->query_start[b] >= -most && p->query_start[b] <= most;
    return fit;
}

#endif
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

/* Returns the bytes of the prefix sums and of their low parts, which have the rounding errors. */
static size_t prefix_bytes(const struct attn_problem *p)
{
    return bytes_times(bytes_plus(prefix_rows(p, p->n_q), prefix_rows(p, p->n_k)), 2);
}

/* Returns whether each query is at the position of a key, so that queries need no arrays. */
static int queries_at_keys(const struct attn_problem *p) { return !p->query_start && p->n_q <= p->n_k; }

/* Sets pointers and strides of the prefix sums, which begin at `at`. */
static void set_prefix_sums(struct call *call, unsigned char *at)
{
    const struct attn_problem *const p = &call->p;
    const size_t of_queries = prefix_rows(p, p->n_q), of_keys = prefix_rows(p, p->n_k);
    const struct attn_strides queries = {p->heads * p->n_q * PREFIX_ROW, p->n_q * PREFIX_ROW, PREFIX_ROW},
        keys = {p->heads * p->n_k * PREFIX_ROW, p->n_k * PREFIX_ROW, PREFIX_ROW};
    call->log_decay_q = (REAL *)(void *)at;
    call->log_decay_q_low = (REAL *)(void *)(at + of_queries);
    call->log_decay_k = call->log_decay_chunk = (REAL *)(void *)(at + 2 * of_queries);
    call->log_decay_k_low = call->log_decay_chunk_low = (REAL *)(void *)(at + 2 * of_queries + of_keys);
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
    REAL *restrict const sum = call->log_decay_k + task * n_k * PREFIX_ROW,
        *restrict const sum_low = call->log_decay_k_low + task * n_k * PREFIX_ROW,
        *restrict const of_query = call->log_decay_q + task * n_q * PREFIX_ROW,
        *restrict const of_query_low = call->log_decay_q_low + task * n_q * PREFIX_ROW;
    double high[PREFIX_ROW] = {0}, low[PREFIX_ROW] = {0};
    (void)work;
    for (int64_t t = 0; t < n_k; t++)
        for (int64_t x = 0, at = t * PREFIX_ROW; x < PREFIX_ROW; x++, at++) {
            add_to_sum(&high[x], &low[x], (double)sum[at]);
            sum[at] = (REAL)high[x];
            sum_low[at] = (REAL)(high[x] - (double)sum[at] + low[x]);
        }
    if (queries_at_keys(&call->p)) return;
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
static size_t set_table(struct mask_tiles *t, const uint8_t *flag, const struct attn_mask_tiles *given, int axes,
    const int64_t *size, const int64_t *stride, unsigned char *made)
{
    const int64_t rows = size[axes], columns = size[axes + 1];
    size_t masks = 1;
    *t = (struct mask_tiles){flag, made, made, given, rows, columns,
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

/* Returns the bytes of the workspace that all threads of a call share. */
static size_t call_bytes(const struct attn_problem *p)
{
    size_t bytes = 0;
#if PREFIX_SUMS
    bytes = bytes_plus(bytes, prefix_bytes(p));
#endif
#if TILES
    bytes = bytes_plus(bytes, tiles_bytes(p));
#endif
#if CORRECTED
    bytes = bytes_plus(bytes, corrected_bytes(p));
#endif
    return bytes;
}

#endif
size_t SPEC_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
#if SHARED
    const size_t shared = call_bytes(problem);
    size_t bytes = first_bytes_a_thread();
#if SEVERAL
    if (max_bytes_a_thread(problem->n_k) > bytes) bytes = max_bytes_a_thread(problem->n_k);
#else
    const struct version this = version(problem->n_k);
    if (bytes_a_thread(&this) > bytes) bytes = bytes_a_thread(&this);
#endif
    return bytes_fit(shared) ? shared + bytes * threads_served(problem) : 0;
#elif SEVERAL
    return max_bytes_a_thread(problem->n_k) * threads_served(problem);
#else
    const struct version this = version(problem->n_k);
    return bytes_a_thread(&this) * threads_served(problem);
#endif
}

/* Returns whether this machine can run the version. */
static int runs(const struct version *v)
{
#if IDLE
    if (v->idle) return 1;
#endif
#if PHASES
    return v->rows || v->head;
#else
    return v->rows != NULL;
#endif
}

/* A call of a version. */
struct job {
    const struct call *call;
    const struct version *this;
    int64_t tasks, alone; /* one thread runs each of the first `alone` tasks; all threads share each later one */
#if DECODE
    double effort; /* the multiply-adds of a task */
#endif
};

/* Running jobs, shared by the threads. */
struct work {
    const struct job *job;
    int64_t jobs;
    int threads;  /* requested threads; OpenMP may start fewer */
    int there;    /* the number of threads that have started */
    int64_t next; /* the first task that no thread has taken. Tasks that one thread runs are numbered over all jobs. */
    unsigned char *workspace;
    size_t bytes; /* bytes of workspace per thread */
#if PREFIX_SUMS
    void (*on)(void *work); /* what every thread calls */
#endif
#if PHASES
    _Alignas(64) int64_t folded[FOLD_GROUPS * NUMBERS_OF_LINE];
#endif
};

/* Returns a number for the calling thread. It does not use omp_get_thread_num, which may belong to another OpenMP
   library. */
INLINE int take_number(struct work *w) { return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED); }
INLINE int64_t take_task(struct work *w) { return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED); }

#if PREFIX_SUMS
/* Calls w->on(w) while the thread takes subnormal numbers for 0. Products of decays are often subnormal, and x86
   processors compute with such numbers up to 100 times slower. */
static void without_subnormals(void *work)
{
    struct work *const w = (struct work *)work;
#if defined __SSE__
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 1 << 15 | 1 << 6); /* for results and for operands */
    w->on(w);
    __builtin_ia32_ldmxcsr(before);
#elif defined __aarch64__
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | 1 << 24) : "memory");
    w->on(w);
    __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
#else
    w->on(w);
#endif
}

#endif
/* Calls on(w) in all threads of the jobs. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = w->job->call->p.team;
#if PREFIX_SUMS
    w->on = on;
    on = without_subnormals;
#endif
    if (w->threads == 1)
        on(w);
    else if (team)
        team->run(on, w, (unsigned)w->threads, 0);
    else {
#ifdef _OPENMP
#pragma omp parallel num_threads(w->threads)
#endif
        on(w);
    }
}

#if IN_ORDER
/* Runs the tasks of a version whose tiles add to shared sums in order.
   - Each thread first computes equally many whole heads, without waiting.
   - The threads share the tiles of the other heads. A tile adds to a position only after the previous tile has added
     to it. */
static void work_in_order(void *work)
{
    struct work *const w = (struct work *)work;
    const struct version *const this = w->job->this;
    const struct call *const call = w->job->call;
    const int64_t alone = w->job->alone, tiles = call->tiles;
    unsigned char *const own = w->workspace + (size_t)take_number(w) * w->bytes;
    struct call by_itself = *call;
    by_itself.progress = NULL;
    for (int64_t unit; (unit = take_task(w)) < w->job->tasks;) {
        if (unit < alone) {
            for (int64_t tile = 0; tile < tiles; tile++) this->rows(&by_itself, unit * tiles + tile, own);
            continue;
        }
        const int64_t task = alone * tiles + unit - alone;
        this->rows(call, task, own);
        await_turn(call, task, INT64_MAX);
        pass_turn(call, task, INT64_MAX);
    }
}

static void run_in_order(struct work *w, struct job *job)
{
    const struct call *const call = job->call;
    const int64_t heads = call->p.batch * call->p.kv_heads, alone = heads / w->threads * w->threads,
        tiles = call->tiles;
    for (int64_t h = alone; h < heads; h++)
        for (int64_t t = 0; t <= tiles; t++) call->progress[h * (tiles + 1) + t] = t > 0 ? 0 : INT64_MAX;
    job->alone = alone;
    job->tasks = alone + (heads - alone) * tiles;
    in_threads(w, work_in_order);
}

#endif
static void work_on(void *work)
{
    struct work *const w = (struct work *)work;
    const int number = take_number(w);
    unsigned char *const own = w->workspace + (size_t)number * w->bytes;
    int64_t task = take_task(w), first = 0; /* first: the number of the job's first task */
#if PHASES
    struct part part = {.threads = 1, .window = 1, .work = own, .folded = w->folded, .team = w->job->call->p.team};
#endif
    for (const struct job *job = w->job; job < w->job + w->jobs; first += job->alone, job++) {
        const struct version *const this = job->this;
#if PHASES
        part.shared = own + this->own;
        part.slots = part.shared + this->shared;
        for (; task - first < job->alone; task = take_task(w)) {
            if (this->head)
                this->head(job->call, task - first, &part);
            else
                this->rows(job->call, task - first, own);
        }
#else
        for (; task - first < job->alone; task = take_task(w)) this->rows(job->call, task - first, own);
#endif
    }
#if PHASES
    part.segments = 0;
    part.threads = w->threads;
    for (const struct job *job = w->job; job < w->job + w->jobs; job++) {
        if (!job->this->head || job->alone == job->tasks) continue;
        synchronise(&part); /* now w->there is final, and `together` may divide the workspace */
        together(job->this, w->threads, number, w->there, w->workspace, &part);
        for (task = job->alone; task < job->tasks; task++) job->this->head(job->call, task, &part);
    }
#endif
}

/* Returns the multiply-adds of a job. A head takes the time of about 2^15 more. */
static double effort(const struct attn_problem *p, const struct version *v)
{
    const double of_head = (double)p->n_q * (double)p->n_k * (double)v->of_pair +
            ((double)p->n_q + (double)p->n_k) * (double)v->of_token + (1 << 15);
    return (double)p->batch * (double)p->heads * of_head;
}

/* Returns the number of threads with enough work. A thread needs 2^18 multiply-adds, which take about the time to
   wake it. */
static int useful_threads(double multiply_adds, int threads)
{
    const double useful = multiply_adds / (1 << 18);
    return useful < 2 ? 1 : useful < threads ? (int)useful : threads;
}

/* Sets the number of the tasks of a job. Returns 0 or an error. */
static int count_tasks(struct job *job, int threads)
{
    const struct call *const call = job->call;
    const struct version *const this = job->this;
    const struct attn_problem *const p = &call->p;
#if TASKS_OF_KEYS
    const int64_t heads = this->tile == 0 || this->of_keys == OF_KEY_HEAD ? p->kv_heads : p->heads;
    const int64_t positions = this->of_keys ? p->n_k : p->n_q;
#else
    const int64_t heads = this->tile == 0 ? p->kv_heads : p->heads, positions = p->n_q;
#endif
    int64_t tasks = p->batch * heads;
#if FAR_QUERIES
    /* `apart` tasks cover `far` positions. A task has every `apart`-th query of these positions. */
    const int64_t far = this->tile * this->apart;
    tasks *= far > 0 ? (positions + far - 1) / far * this->apart : 1;
#else
    tasks *= this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1;
#endif
#if TOTALS
    if (this->units)
#if UNITS_OF_BATCH && FAR_QUERIES
        tasks = this->units * (this->unit_batch ? p->batch : 1) *
            (this->unit_heads == 0 ? 1 : this->unit_heads == 1 ? p->kv_heads : p->heads) *
            (far > 0 ? (positions + far - 1) / far * this->apart : 1);
#elif UNITS_OF_BATCH
        tasks = this->units * (this->unit_batch ? p->batch : 1) *
            (this->unit_heads == 0 ? 1 : this->unit_heads == 1 ? p->kv_heads : p->heads) *
            (this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1);
#elif FAR_QUERIES
        tasks = this->units * (this->unit_heads == 0 ? 1 : this->unit_heads == 1 ? p->kv_heads : p->heads) *
            (far > 0 ? (positions + far - 1) / far * this->apart : 1);
#else
        tasks = this->units * (this->unit_heads == 0 ? 1 : this->unit_heads == 1 ? p->kv_heads : p->heads) *
            (this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1);
#endif
#endif
    job->tasks = job->alone = tasks;
#if PHASES
#if IDS
#if CARRIED
    const int ordered = this->any_order || call->kept; /* in a call with a state, SPEC_extend has checked the ids */
#else
    const int ordered = this->any_order;
#endif
    if (this->head && !ordered && ids_fall(call->params->IDS_PARAM, p->batch, IDS_SEQUENCE, p->n_k, IDS_ROW))
        return ATTN_EORDER;
#endif
    if (this->head && this->together) job->alone = this->together > 1 ? 0 : tasks / threads * threads;
#else
    (void)threads;
#endif
    return 0;
}

/* Runs all tasks of a call. Each thread has `bytes` of workspace. */
static int run(const struct call *call, const struct version *this, int threads, unsigned char *workspace, size_t bytes)
{
    struct job job = {.call = call, .this = this};
    if (call->p.threads == 0 || call->p.team) threads = useful_threads(effort(&call->p, this), threads);
    struct work work = {.job = &job, .jobs = 1, .threads = threads, .workspace = workspace, .bytes = bytes};
#if IN_ORDER
    if (this->in_order && call->progress) {
        run_in_order(&work, &job);
        return 0;
    }
#endif
    const int error = count_tasks(&job, threads);
    if (!error) in_threads(&work, work_on);
    return error;
}

#if TILES
/* Fills strips of the tables of tiles until all strips are filled. */
static void work_on_tiles(void *work)
{
    struct work *const w = (struct work *)work;
    for (int64_t task; (task = take_task(w)) < w->job->tasks;) {
        const struct mask_tiles *t = w->job->call->mask_tiles;
        int64_t strip = task;
        for (; strip >= t->strips; t++) strip -= t->strips;
        const int64_t mask = strip / t->strips_of_mask, first = strip % t->strips_of_mask * ATTN_TILE_ROWS;
        const uint8_t *const flag = t->flag + mask / t->size[1] * t->stride[0] + mask % t->size[1] * t->stride[1] +
            first * t->row;
        attn_tiles_of_strip(flag, min(t->rows - first, ATTN_TILE_ROWS), t->columns, t->row, t->column,
            t->made + strip * t->tiles_of_strip);
    }
}

/* Takes the caller's tables of tiles, and fills the others, on at most `threads` threads. Returns 0 or an error. */
static int make_tiles(struct call *call, int threads)
{
    for (int k = 0; k < TILES; k++) {
        struct mask_tiles *const t = &call->mask_tiles[k];
        if (!t->given) continue;
        const int error = attn_tiles_check(t->given, 4, (const int64_t[]){t->size[0], t->size[1], t->rows, t->columns});
        if (error) return error;
        t->tile = (const uint8_t *)(t->given + 1);
        t->strips = 0;
    }
    const double of_thread = 1 << 18; /* reading fewer bytes takes less time than waking a thread */
    struct job job = {.call = call};
    struct work work = {.job = &job, .jobs = 1};
    double bytes = 0;
    for (int k = 0; k < TILES; k++) {
        job.tasks += call->mask_tiles[k].strips;
        bytes += (double)(call->mask_tiles[k].strips * ATTN_TILE_ROWS) * (double)call->mask_tiles[k].columns;
    }
    const double useful = 1 + bytes / of_thread;
    work.threads = useful < threads ? (int)useful : threads;
    if (job.tasks > 0) in_threads(&work, work_on_tiles);
    return 0;
}

#endif
#if PREFIX_SUMS
/* Computes the prefix sums of a call. Each thread has `bytes` bytes of the workspace `work`. */
static int make_prefix_sums(const struct call *call, int threads, unsigned char *work, size_t bytes)
{
    const struct version terms = terms_version(), sums = {.rows = add_terms, .tile = -1, .of_token = 8};
    struct call of_keys = *call;
    of_keys.p.n_q = call->p.n_k; /* one term for each key */
    const int error = run(&of_keys, &terms, threads, work, bytes);
    return error ? error : run(call, &sums, threads, work, bytes);
}

#endif
#if BACKWARD
/* Returns the bytes of an array with an element per query and head. */
static size_t row_bytes(const struct attn_problem *p)
{
    return whole_lines(bytes_times(bytes_times(bytes_times(sizeof(REAL), p->batch), p->heads), p->n_q));
}

static size_t saved_bytes(const struct attn_problem *p)
{
    return bytes_times(row_bytes(p), SAVED_COUNT);
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
#if SHARES
/* Returns the number of heads of v that share a head of q and of k. */
static int64_t sharing_of(const struct attn_problem *p) { return p->key_heads ? max(p->heads / p->key_heads, 1) : 1; }

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
int SPEC_forward(const struct attn_problem *problem, const struct SPEC_params *params, ARRAY_ARGUMENTS, void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    struct call call = {.params = params, ARRAY_VALUES};
    const int error = CHECK_GIVEN(problem, HEAD_DIM, VALUE_DIM, &call.p);
    if (error) return error;
#if SAME_HEADS
    if (call.p.heads != call.p.kv_heads) return ATTN_EPROBLEM;
#endif
#if SHARES
    call.sharing = sharing_of(&call.p);
#endif
#if SEEDED
    if (call.p.seed == 0) call.p.seed = SEED_OF_SPEC;
#endif
#if MAX_LENGTH
    if (call.p.n_q > MAX_LENGTH || call.p.n_k > MAX_LENGTH) return ATTN_ELENGTH;
#endif
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (ARRAY_OF_QUERIES_MISSING || !workspace || (call.p.n_k > 0 && (ARRAY_OF_KEYS_MISSING))) return ATTN_EPOINTER;
    if (ARRAY_SHARED) return ATTN_EPOINTER;
#if PARAMS
    if (PARAM_MISSING) return ATTN_EPARAM;
#endif
#if STRIDED
    const int wrong = set_strides(&call);
    if (wrong) return wrong;
#endif
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
#if POSITIONS
    if (!positions_fit(&call.p)) return ATTN_EPROBLEM;
#endif
#if FEW
    const struct version this = version(VERSION_KEYS, rows_of(&call.p), call.p.n_q);
#else
    const struct version this = version(VERSION_KEYS);
#endif
    if (!runs(&this)) return ATTN_EMACHINE;
#if POSITIONS
    if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
#endif
#if SHARED
    const size_t all = problem->workspace_bytes, shared = call_bytes(&call.p), bytes = bytes_a_thread(&this),
        given = !all ? 0 : all > shared ? all - shared : 1;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    size_t max_bytes = first_bytes_a_thread();
#if SEVERAL
    if (max_bytes_a_thread(call.p.n_k) > max_bytes) max_bytes = max_bytes_a_thread(call.p.n_k);
#else
    if (bytes > max_bytes) max_bytes = bytes;
#endif
    unsigned char *const work = (unsigned char *)workspace + shared;
#else
    const size_t given = problem->workspace_bytes, bytes = bytes_a_thread(&this);
#if SEVERAL
    const size_t max_bytes = max_bytes_a_thread(call.p.n_k);
#else
    const size_t max_bytes = bytes;
#endif
#endif
    const int threads = thread_count(problem, given, max_bytes);
    if (given && given < max_bytes * (size_t)threads) return ATTN_EWORKSPACE;
#if BACKWARD
    const size_t saved = saved_bytes(problem);
    if (problem->saved && !bytes_fit(saved)) return ATTN_ESIZE;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    if (problem->saved && this.saves) set_saved(&call, (unsigned char *)problem->saved);
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
    set_prefix_sums(&call, first);
    failed = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
    first += prefix_bytes(&call.p);
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
    return run(&call, &this, threads, (unsigned char *)workspace, bytes);
#endif
}

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
    REAL *const sum = call->dlog_decay + task * n_k * PREFIX_ROW;
    const REAL *const of_query = call->dlog_decay_q + task * n_q * PREFIX_ROW;
    double high[PREFIX_ROW] = {0}, low[PREFIX_ROW] = {0};
    (void)work;
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
    bytes = bytes_plus(bytes, bytes_plus(prefix_rows(problem, problem->n_q), prefix_rows(problem, problem->n_k)));
#endif
#if SHARED
    bytes = bytes_plus(bytes, call_bytes(problem));
#endif
    return bytes;
}

size_t SPEC_backward_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    const size_t of_threads = part_bytes_a_thread(problem->n_k) * threads_served(problem),
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

static int run_part(int part, struct call *call, int threads, unsigned char *workspace)
{
    const struct version this = part_version(part, PART_KEYS);
#if IDLE
    if (this.idle) return 0;
#endif
    if (this.wanted && !this.wanted(call)) return 0;
#if IN_ORDER
    if (this.in_order) call->tiles = (call->p.n_k + this.tile - 1) / this.tile;
#endif
    return run(call, &this, threads, workspace, bytes_a_thread(&this));
}

int SPEC_backward(const struct attn_problem *problem, const struct SPEC_params *params, GRADIENT_ARGUMENTS,
    struct SPEC_gradients *gradients, void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    struct call call = {.params = params, GRADIENT_VALUES};
    int error = CHECK_PROBLEM(problem, HEAD_DIM, VALUE_DIM, &call.p);
    if (error) return error;
#if SAME_HEADS
    if (call.p.heads != call.p.kv_heads) return ATTN_EPROBLEM;
#endif
#if SEEDED
    if (call.p.seed == 0) call.p.seed = SEED_OF_SPEC;
#endif
#if MAX_LENGTH
    if (call.p.n_q > MAX_LENGTH || call.p.n_k > MAX_LENGTH) return ATTN_ELENGTH;
#endif
#if !TOTALS
    (void)gradients;
    if (call.p.batch == 0) return 0;
#endif
#if SHARES
    call.sharing = sharing_of(&call.p);
#endif
    if (!workspace || (call.p.batch > 0 && call.p.heads > 0 && call.p.n_q > 0 && (GRADIENT_OF_QUERIES_MISSING)) ||
        (call.p.batch > 0 && call.p.kv_heads > 0 && call.p.n_k > 0 && (GRADIENT_OF_KEYS_MISSING)))
        return ATTN_EPOINTER;
    if (GRADIENT_SHARED) return ATTN_EPOINTER;
#if PARAMS
    if (PARAM_MISSING) return ATTN_EPARAM;
#endif
#if STRIDED
    const int wrong = set_strides(&call);
    if (wrong) return wrong;
#endif
    if ((uintptr_t)workspace % 64 || (uintptr_t)problem->saved % 64) return ATTN_EALIGN;
#if POSITIONS
    if (!positions_fit(&call.p)) return ATTN_EPROBLEM;
#endif
    for (int part = 0; part < PARTS; part++) {
        const struct version this = part_version(part, VERSION_KEYS);
        if (!runs(&this)) return ATTN_EMACHINE;
#if POSITIONS
        if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
#endif
    }
    const size_t bytes = part_bytes_a_thread(call.p.n_k), saved = saved_bytes(problem), shared = shared_bytes(problem),
        given = problem->workspace_bytes;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    const int threads = thread_count(problem, given > shared ? given - shared : 0, bytes);
    if (given && given < shared + bytes * (size_t)threads) return ATTN_EWORKSPACE;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    unsigned char *first = (unsigned char *)workspace;
#if SHARES
    if (call.sharing > 1) {
        set_gradients_of_heads(&call, first);
        first += bytes_of_heads(problem, problem->n_q) + bytes_of_heads(problem, problem->n_k);
    }
#endif
    unsigned char *const rows = first + saved, *const work = (unsigned char *)workspace + shared;
#if SAVED_COUNT
#if FEW
    const int kept = problem->saved && version(VERSION_KEYS, MANY_ROWS, 0).saves;
#else
    const int kept = problem->saved && version(VERSION_KEYS).saves;
#endif
    set_saved(&call, kept ? (unsigned char *)problem->saved : first);
#endif
    set_row_sums(&call, rows);
    unsigned char *next = rows + ROW_SUM_COUNT * row_bytes(problem);
#if TOTALS
    next += set_totals(&call, gradients, next);
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
    unsigned char *const prefix = work - call_bytes(problem);
    const struct version terms = terms_version();
    if (!runs(&terms)) return ATTN_EMACHINE;
    set_prefix_sums(&call, prefix);
#if PREFIX_GRADIENTS
    if (PREFIX_WANTED)
        set_prefix_gradients(&call, prefix - prefix_rows(problem, problem->n_q) - prefix_rows(problem, problem->n_k));
#endif
    error = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
#endif
PART_CALLS
#if SHARES
    if (!error && call.sharing > 1 && (call.dq || call.dk)) {
        const struct version adds = {.rows = add_heads, .tile = -1, .of_token = 2 * HEAD_DIM};
        call.p.heads = call.p.kv_heads = call.p.key_heads;
        error = run(&call, &adds, threads, work, bytes);
    }
#endif
    return error;
}

#endif
#if DECODE
STATE_FUNCTIONS

#endif
#if RESULTS
int SPEC_merge(const struct attn_problem *left, void *left_out, const struct attn_problem *right, const void *right_out)
{
    return attn_merge(left, left_out, right, right_out, DTYPE, VALUE_DIM, STATISTICS);
}

#endif
#if PARAMS
static const struct attn_param param[] = {
PARAM_TABLE
};

#endif
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return SPEC_params_init((struct SPEC_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, ARRAY_ANY_ARGUMENTS, void *workspace)
{
#if VALUES_ARE_KEYS
ARRAY_ANY_UNUSED
#endif
    return SPEC_forward(problem, (const struct SPEC_params *)params, ARRAY_ANY_VALUES, workspace);
}

#if BACKWARD
static int backward_any(const struct attn_problem *problem, const void *params, GRADIENT_ANY_ARGUMENTS, void *gradients,
    void *workspace)
{
#if VALUES_ARE_KEYS
GRADIENT_ANY_UNUSED
#endif
    return SPEC_backward(problem, (const struct SPEC_params *)params, GRADIENT_ANY_VALUES,
        (struct SPEC_gradients *)gradients, workspace);
}
#endif
#if DECODE
static int extend_any(const struct attn_problem *problem, const void *params, ARRAY_ANY_ARGUMENTS, void *state,
    void *workspace)
{
#if VALUES_ARE_KEYS
ARRAY_ANY_UNUSED
#endif
    return SPEC_extend(problem, (const struct SPEC_params *)params, APPENDED_ANY_VALUES, state, workspace);
}
#endif

const struct attn_kernel SPEC_kernel = {
    .name = NAME_AS_TEXT, .version = VERSION_AS_TEXT, .dtype = DTYPE, .head_dim = HEAD_DIM, .value_dim = VALUE_DIM,
    .params = PARAM_COUNT, .param = PARAM_POINTER, .params_bytes = sizeof(struct SPEC_params),
    .params_size = SPEC_params_size, .params_init = params_init_any, .workspace = SPEC_workspace,
    .forward = forward_any,
#if BACKWARD
    .saved = SPEC_saved, .backward_workspace = SPEC_backward_workspace, .backward = backward_any,
#endif
#if DECODE
    .state = SPEC_state, .state_init = SPEC_state_init, .extend_workspace = SPEC_extend_workspace,
    .extend = extend_any, .state_length = SPEC_state_length, .state_min_length = SPEC_state_min_length,
    .state_truncate = SPEC_state_truncate, .state_copy = SPEC_state_copy,
    .state_fold = SPEC_state_fold, .page = SPEC_page,
    .state_keep = SPEC_state_keep,
#endif
#if VALUES_ARE_KEYS
    .values_are_keys = 1,
#endif
    .key_dtype = KEY_DTYPE, .value_dtype = VALUE_DTYPE,
#if RESULTS
    .statistics = STATISTICS, .merge = SPEC_merge,
#endif
#if STRIDED
    .strides = offsetof(struct SPEC_params, STRIDES_MEMBER), .strides_bytes = sizeof(struct SPEC_strides),
#endif
#if TILES
    .tiles_bytes = attn_tiles_bytes, .tiles_of_mask = attn_tiles_of_mask,
#endif
    .before = BEFORE, .after = AFTER, .period = PERIOD, .names_heads = NAMES_HEADS,
    .saved_power = SAVED_POWER,
#if DECODE
    .state_chunk = state_chunk, .state_part = state_part,
#endif
};
