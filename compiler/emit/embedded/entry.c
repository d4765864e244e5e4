/* This file is the template for the choice of a version and for the entry points. attnc fills it in as it fills in
   kernel.c, and it is tested in the same way. */

/* ==== which of them this machine runs ==== */
struct version {
    void (*rows)(const struct call *, int64_t, unsigned char *);
#if PHASES
    void (*head)(const struct call *, int64_t, struct part *); /* instead of rows */
#endif
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
    int64_t of_pair, of_token; /* approximate multiply-adds for a pair of a query and a key, or for a token; one is 0 */
#if BACKWARD
    int of_keys; /* a task is a tile of keys */
    int saves;   /* stores the numbers of each row that backward needs */
    int (*wanted)(const struct call *); /* whether a call wants an output of this part; NULL: the part always runs */
#if IDLE
    int idle; /* there is nothing to compute */
#endif
#if TOTALS
    int units;      /* slices of the rows, each of which is a task; 0: tasks are tiles or heads */
    int unit_heads; /* a slice is of 0: all heads, 1: one key/value head, 2: one query head */
#endif
#endif
#if IN_ORDER
    int in_order; /* the tiles of a head add to shared sums in the order of the tiles */
#endif
#if FAR_QUERIES
    int64_t apart; /* the distance between neighbouring queries of a task, in positions */
#endif
#if PHASES
    size_t shared, slot, slots; /* of the threads on a head; for a chunk; such slots that a thread brings */
    int together; /* heads that all threads share: 0: none, 1: heads left over, 2: all heads */
#if IDS
    int any_order; /* keys can have their ids in any order */
#endif
#endif
#if CARRIED
    int64_t chunk; /* keys that a state sums at a time */
    size_t kept; /* bytes of a state for each head */
#if FOLDS
    void (*join)(const struct call *, int64_t, unsigned char *); /* for one task, adds another state to the state */
    size_t join_work;                                            /* bytes of workspace for `join` */
#endif
#endif
};

#if BY_SCHEDULE
/* The version depends on the number of keys; the schedule gives the limits. */
#elif BY_FORM
/* The version depends on the number of keys. The linear form takes less work if there are many keys. */
#endif
#if FEW
/* Returns whether a few queries take less time one by one, with keys in the lanes, than as a tile, with queries in the
   lanes. The constants 10 and 40 stand for a fixed time per row and per tile, and were measured with AVX2 and SSE2.
   With MANY_KEYS or more keys the result is always 1: keys then come from memory, and are read once for all queries. */
INLINE int few_pay(int64_t n_q, int64_t n_k, int64_t lanes)
{
    enum { MANY_KEYS = 1024 };
    return n_k >= MANY_KEYS || n_q * (n_k + 10 * lanes) <= round_up(n_q, lanes) * n_k + 40 * lanes;
}

/* Returns the version to run. The version has keys in the lanes if `rows` is small. `rows` is the number of
   queries of all heads that share keys. */
static struct version version(int64_t n_k, int64_t rows, int64_t n_q)
#else
static struct version version(int64_t n_k)
#endif
{
CHOICE
}

#if FEW
enum { MANY_ROWS = 1 << 30 };

/* Returns the number of queries of all heads that share keys. Returns MANY_ROWS if there are many queries, or if the
   problem has memory for saved numbers of each query. */
static int64_t rows_of(const struct attn_problem *p)
{
    if (p->n_q > MAX_FEW_QUERIES || p->saved || p->kv_heads <= 0) return MANY_ROWS;
    return min(p->heads / p->kv_heads * p->n_q, MANY_ROWS);
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
/* The default number of OpenMP threads can change between the call of _workspace and the call of _forward, and can
   differ between the threads that make these calls. So the workspace has room for at least one thread per processor.
   A call uses more threads than processors only if the workspace is large enough for them. */
static size_t threads_served(const struct attn_problem *p)
{
    if (p->threads > 0) return (size_t)p->threads;
#ifdef _OPENMP
    return (size_t)max(omp_get_max_threads(), omp_get_num_procs());
#else
    return 1;
#endif
}

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
/* Sets `part` to the share of thread `number` in a head on which `there` threads work together. The workspace has room
   for `threads` threads, the number that was requested. */
static void together(const struct version *v, int threads, int number, int there, unsigned char *workspace,
    struct part *part)
{
    const size_t all = (size_t)threads;
    part->number = number;
    part->threads = there;
    part->segments = 0;
    part->work = workspace + (size_t)number * v->own;
    part->shared = workspace + all * v->own;
    part->window = (int64_t)(((all - 1) * v->shared + all * v->slots * v->slot) / v->slot) / part->threads;
    part->slots = part->shared + v->shared + (size_t)(number * part->window) * v->slot;
}

#if IDS
/* Returns whether the ids of some batch decrease. The state is carried from key to key, so keys with the same id
   have to be adjacent. */
static int ids_fall(const int32_t *id, int64_t batch, int64_t n)
{
    for (int64_t b = 0; b < batch; b++, id += n)
        for (int64_t x = 1; x < n; x++)
            if (id[x] < id[x - 1]) return 1;
    return 0;
}

#endif
#endif
PARAMS_FUNCTIONS

#if SEVERAL
/* Returns the maximum workspace of a thread, in bytes, over all versions for n_k keys or fewer and any number of
   queries. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {LENGTHS};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
#if FEW
        const struct version few = version(from[k], 0, 0), v = version(from[k], MANY_ROWS, 0);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
#else
        const struct version v = version(from[k]);
#endif
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

#endif
size_t SPEC_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
#if SEVERAL
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

/* This is the state of a call that threads work on. */
struct work {
    const struct call *call;
    const struct version *this;
    int64_t tasks, alone; /* after `alone` tasks, all threads work on one head at a time */
    int threads;          /* the number of threads that was requested; OpenMP can provide fewer */
    int there;            /* the number of threads that have started */
    int64_t next;         /* the first task that no thread has taken */
    unsigned char *workspace;
    size_t bytes; /* the bytes of the workspace for each thread */
#if PHASES
    _Alignas(64) int64_t folded[FOLD_GROUPS * NUMBERS_OF_LINE];
#endif
};

/* Threads number themselves, because omp_get_thread_num can come from a different OpenMP library than the threads. */
INLINE int take_number(struct work *w) { return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED); }
INLINE int64_t take_task(struct work *w) { return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED); }

/* Calls `on`, which takes a struct work, in all threads at once. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = w->call->p.team;
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
/* Runs the tasks of heads whose tiles add to shared sums in the order of the tiles. The first heads, a multiple of the
   number of threads, are each computed by one thread, which waits for no other thread. Then all threads share the heads
   that are left. Each thread takes the next tile, and its sums wait for the sums of the tile before it. */
static void work_in_order(void *work)
{
    struct work *const w = (struct work *)work;
    const struct call *const call = w->call;
    const int64_t alone = w->alone, tiles = call->tiles;
    unsigned char *const own = w->workspace + (size_t)take_number(w) * w->bytes;
    struct call by_itself = *call;
    by_itself.progress = NULL;
    for (int64_t unit; (unit = take_task(w)) < w->tasks;) {
        if (unit < alone) {
            for (int64_t tile = 0; tile < tiles; tile++) w->this->rows(&by_itself, unit * tiles + tile, own);
            continue;
        }
        const int64_t task = alone * tiles + unit - alone;
        w->this->rows(call, task, own);
        await_turn(call, task, INT64_MAX);
        pass_turn(call, task, INT64_MAX);
    }
}

static void run_in_order(struct work *w)
{
    const int64_t heads = w->call->p.batch * w->call->p.kv_heads, alone = heads / w->threads * w->threads,
        tiles = w->call->tiles;
    for (int64_t h = alone; h < heads; h++)
        for (int64_t t = 0; t <= tiles; t++) w->call->progress[h * (tiles + 1) + t] = t > 0 ? 0 : INT64_MAX;
    w->alone = alone;
    w->tasks = alone + (heads - alone) * tiles;
    in_threads(w, work_in_order);
}

#endif
static void work_on(void *work)
{
    struct work *const w = (struct work *)work;
    const struct version *const this = w->this;
    const int number = take_number(w);
    unsigned char *const own = w->workspace + (size_t)number * w->bytes;
#if PHASES
    struct part part = {.threads = 1, .window = 1, .work = own, .shared = own + this->own,
        .slots = own + this->own + this->shared, .folded = w->folded, .team = w->call->p.team};
    for (int64_t task; (task = take_task(w)) < w->alone;) {
        if (this->head)
            this->head(w->call, task, &part);
        else
            this->rows(w->call, task, own);
    }
    if (!this->head || w->alone == w->tasks) return;
    part.threads = w->threads;
    synchronise(&part); /* all threads have arrived, and no thread uses its own part of the workspace any more */
    together(this, w->threads, number, w->there, w->workspace, &part);
    for (int64_t task = w->alone; task < w->tasks; task++) this->head(w->call, task, &part);
#else
    for (int64_t task; (task = take_task(w)) < w->tasks;) this->rows(w->call, task, own);
#endif
}

/* Returns the number of threads that have enough work, at most `threads`. Waking a thread takes about as long as 2^18
   multiply-adds. A head takes about 2^15 multiply-adds in addition to those for its pairs or tokens. */
static int useful_threads(const struct attn_problem *p, const struct version *v, int threads)
{
    const double of_head = (double)p->n_q * (double)p->n_k * (double)v->of_pair +
            ((double)p->n_q + (double)p->n_k) * (double)v->of_token + (1 << 15),
        useful = (double)p->batch * (double)p->heads * of_head / (1 << 18);
    return useful < 2 ? 1 : useful < threads ? (int)useful : threads;
}

/* Runs all tasks of a call. Each thread has `bytes` bytes of the workspace. */
static int run(const struct call *call, const struct version *this, int threads, unsigned char *workspace, size_t bytes)
{
    const struct attn_problem *const p = &call->p;
    if (p->threads == 0) threads = useful_threads(p, this, threads);
    struct work work = {.call = call, .this = this, .threads = threads, .workspace = workspace, .bytes = bytes};
#if IN_ORDER
    if (this->in_order && call->progress) {
        run_in_order(&work);
        return 0;
    }
#endif
#if BACKWARD
    const int64_t heads = this->tile == 0 || this->of_keys ? p->kv_heads : p->heads;
    const int64_t positions = this->of_keys ? p->n_k : p->n_q;
#else
    const int64_t heads = this->tile == 0 ? p->kv_heads : p->heads, positions = p->n_q;
#endif
    int64_t tasks = p->batch * heads;
#if FAR_QUERIES
    /* from the first query of a task to that of the next with the same remainder */
    const int64_t far = this->tile * this->apart;
    tasks *= far > 0 ? (positions + far - 1) / far * this->apart : 1;
#else
    tasks *= this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1;
#endif
#if TOTALS
    if (this->units)
        tasks = this->units * (this->unit_heads == 0 ? 1 : this->unit_heads == 1 ? p->kv_heads : p->heads) *
            (this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1);
#endif
    work.tasks = work.alone = tasks;
#if PHASES
#if IDS
#if CARRIED
    const int ordered = this->any_order || call->kept; /* of a state the entry point has looked at what is new */
#else
    const int ordered = this->any_order;
#endif
    if (this->head && !ordered && ids_fall(call->params->IDS_PARAM, p->batch, p->n_k)) return ATTN_EORDER;
#endif
    if (this->head && this->together) work.alone = this->together > 1 ? 0 : tasks / threads * threads;
#endif
    in_threads(&work, work_on);
    return 0;
}

#if BACKWARD
/* Returns the bytes of one saved array, which has a number for each query of each head. */
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
int SPEC_forward(const struct attn_problem *problem, const struct SPEC_params *params, ARRAY_ARGUMENTS, void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    struct call call = {.params = params, ARRAY_VALUES};
    const int error = attn_problem_check(problem, HEAD_DIM, VALUE_DIM, &call.p);
    if (error) return error;
#if MAX_LENGTH
    if (call.p.n_q > MAX_LENGTH || call.p.n_k > MAX_LENGTH) return ATTN_ELENGTH;
#endif
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (ARRAY_OF_QUERIES_MISSING || !workspace || (call.p.n_k > 0 && (ARRAY_OF_KEYS_MISSING))) return ATTN_EPOINTER;
#if PARAMS
    if (PARAM_MISSING) return ATTN_EPARAM;
#endif
#if PARAM_ROWS
PARAM_ROW_VALUES
#endif
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
#if FEW
    const struct version this = version(call.p.n_k, rows_of(&call.p), call.p.n_q);
#else
    const struct version this = version(call.p.n_k);
#endif
    if (!runs(&this)) return ATTN_EMACHINE;
    const size_t given = problem->workspace_bytes, bytes = bytes_a_thread(&this);
#if SEVERAL
    const size_t max_bytes = max_bytes_a_thread(call.p.n_k);
#else
    const size_t max_bytes = bytes;
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
    return run(&call, &this, threads, (unsigned char *)workspace, bytes);
}

#if BACKWARD
/* ==== the gradients ==== */
/* The parts of backward run one after the other. The first part computes the saved values if forward did not save them.
   Each later part computes gradients that share loops. */
WANTED_FUNCTIONS

static struct version part_version(int part, int64_t n_k)
{
    (void)n_k; /* whether versions differ by length depends on the target */
    switch (part) {
PART_CHOICES
    }
}

/* From each of these numbers of keys on, parts can run different versions. */
static const int64_t part_from[] = {
#if PARTS_BY_LENGTH
    PART_LENGTHS
#else
    0
#endif
};

/* Returns the maximum workspace of a thread, in bytes, over all parts and versions for n_k keys or fewer. */
static size_t part_bytes_a_thread(int64_t n_k)
{
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof part_from / sizeof *part_from; k++)
        for (int part = 0; part < PARTS && (k == 0 || part_from[k] <= n_k); part++) {
            const struct version v = part_version(part, part_from[k]);
            if (bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
        }
    return bytes;
}

#if TOTALS
/* Sets the gradients with respect to parameters, if the caller wants them, and the arrays that parts leave for later
   parts. Returns the bytes of all these arrays, wanted or not. */
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
/* Returns the bytes of the sums over the keys, which have a row for each query. progress_bytes returns the bytes of the
   numbers that say how many positions each tile has passed. */
static size_t sums_bytes(const struct attn_problem *p)
{
    return bytes_times(bytes_times(bytes_times(ROW_OF_SUMS * sizeof(REAL), p->batch), p->heads), p->n_q);
}

static size_t progress_bytes(const struct attn_problem *p)
{
    int64_t most = 0; /* the maximum over all versions for n_k keys or fewer */
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
/* Returns the bytes of the memory that threads share: the arrays that parts leave for later parts, and the saved values
   if the caller does not keep them. */
static size_t shared_bytes(const struct attn_problem *problem)
{
    size_t bytes = bytes_times(row_bytes(problem), SAVED_COUNT + ROW_SUM_COUNT);
#if IN_ORDER
    bytes = bytes_plus(bytes, bytes_plus(sums_bytes(problem), progress_bytes(problem)));
#endif
#if TOTALS
    struct call none = {.p = *problem};
    bytes = bytes_plus(bytes, set_totals(&none, NULL, NULL));
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
    const struct version this = part_version(part, call->p.n_k);
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
    int error = attn_problem_check(problem, HEAD_DIM, VALUE_DIM, &call.p);
    if (error) return error;
#if MAX_LENGTH
    if (call.p.n_q > MAX_LENGTH || call.p.n_k > MAX_LENGTH) return ATTN_ELENGTH;
#endif
#if !TOTALS
    (void)gradients;
    if (call.p.batch == 0) return 0;
#endif
    if (!workspace || (call.p.batch > 0 && call.p.heads > 0 && call.p.n_q > 0 && (GRADIENT_OF_QUERIES_MISSING)) ||
        (call.p.batch > 0 && call.p.kv_heads > 0 && call.p.n_k > 0 && (GRADIENT_OF_KEYS_MISSING)))
        return ATTN_EPOINTER;
#if PARAMS
    if (PARAM_MISSING) return ATTN_EPARAM;
#endif
#if PARAM_ROWS
PARAM_ROW_VALUES
#endif
    if ((uintptr_t)workspace % 64 || (uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    for (int part = 0; part < PARTS; part++) {
        const struct version v = part_version(part, call.p.n_k);
        if (!runs(&v)) return ATTN_EMACHINE;
    }
    const size_t bytes = part_bytes_a_thread(call.p.n_k), saved = saved_bytes(problem), shared = shared_bytes(problem),
        given = problem->workspace_bytes;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    const int threads = thread_count(problem, given > shared ? given - shared : 0, bytes);
    if (given && given < shared + bytes * (size_t)threads) return ATTN_EWORKSPACE;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    unsigned char *const rows = (unsigned char *)workspace + saved, *const work = (unsigned char *)workspace + shared;
#if SAVED_COUNT
#if FEW
    const int kept = problem->saved && version(call.p.n_k, MANY_ROWS, 0).saves;
#else
    const int kept = problem->saved && version(call.p.n_k).saves;
#endif
    set_saved(&call, (unsigned char *)(kept ? problem->saved : workspace));
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
PART_CALLS
    return error;
}

#endif
#if DECODE
STATE_FUNCTIONS

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
    return SPEC_forward(problem, (const struct SPEC_params *)params, ARRAY_ANY_VALUES, workspace);
}

#if BACKWARD
static int backward_any(const struct attn_problem *problem, const void *params, GRADIENT_ANY_ARGUMENTS, void *gradients,
    void *workspace)
{
    return SPEC_backward(problem, (const struct SPEC_params *)params, GRADIENT_ANY_VALUES,
        (struct SPEC_gradients *)gradients, workspace);
}
#endif
#if DECODE
static int extend_any(const struct attn_problem *problem, const void *params, ARRAY_ANY_ARGUMENTS, void *state,
    void *workspace)
{
    return SPEC_extend(problem, (const struct SPEC_params *)params, ARRAY_ANY_VALUES, state, workspace);
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
    .state_fold = SPEC_state_fold,
#endif
};
