/* The choice of a version, and the entry points around it. Written and tested as kernel.c is. */

/* ==== which of them this machine runs ==== */
struct version {
    void (*rows)(const struct call *, int64_t, unsigned char *);
#if PHASES
    void (*head)(const struct call *, int64_t, struct part *); /* instead of rows */
#endif
    int64_t tile; /* queries of a task; 0: all of a key/value head, -1: all of a query head */
    size_t own;   /* bytes of workspace a thread */
#if BACKWARD
    int of_keys; /* tiles are of keys */
    int saves;   /* leaves what backward needs of the rows */
#if IDLE
    int idle; /* nothing is to be done */
#endif
#if TOTALS
    int units;      /* of rows, each a task; 0: tasks are tiles or heads */
    int unit_heads; /* those are of 0: all heads, 1: each key/value head, 2: each query head */
#endif
#endif
#if IN_ORDER
    int in_order; /* the tiles of a head add up sums in their order */
#endif
#if FAR_QUERIES
    int64_t apart; /* positions between two queries of a task */
#endif
#if PHASES
    size_t shared, slot, slots; /* of the threads on a head; for a chunk; such slots that a thread brings */
    int together; /* heads that all threads work on together, 0: none, 1: those that are left over, 2: all */
#if IDS
    int any_order; /* of ids */
#endif
#endif
#if CARRIED
    int64_t chunk; /* keys that a state takes in at a time */
    size_t kept; /* bytes of what it has of a head */
#if FOLDS
    void (*join)(const struct call *, int64_t, unsigned char *); /* for a task it takes in another one */
    size_t join_work;                                            /* bytes for that */
#endif
#endif
};

#if BY_SCHEDULE
/* By the number of keys, as the schedule says. */
#elif BY_FORM
/* By the number of keys: with more the linear form takes less work. */
#endif
#if FEW
/* For up to some rows, the queries of all heads that share keys, keys are in the lanes. */
static struct version version(int64_t n_k, int64_t rows)
#else
static struct version version(int64_t n_k)
#endif
{
CHOICE
}

#if FEW
enum { MANY_ROWS = 1 << 30 };

/* The rows of a problem; where there are many queries, or where what is saved of each has its place, MANY_ROWS. */
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
/* OpenMP's default may change between the call of _workspace and that of _forward, or be another in the thread that
   makes it. So the workspace serves at least as many threads as there are processors, and what it is not known to serve
   more than that is not run on more. */
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
/* The part of thread `number` of `there` in what they do together, in the workspace of the `threads` that were asked
   for. */
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
/* The state is carried from key to key, so keys of one id have to stand together: in each batch ids never fall. */
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
/* The most of all that runs for n_k keys or fewer, however many queries there are. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {LENGTHS};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
#if FEW
        const struct version few = version(from[k], 0), v = version(from[k], MANY_ROWS);
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

/* Whether this machine runs it. */
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

/* A call at work. */
struct work {
    const struct call *call;
    const struct version *this;
    int64_t tasks, alone; /* after these, all threads work on one head together */
    int threads;          /* that were asked for; there may be fewer */
    int there;            /* that have come so far */
    int64_t next;         /* the first task that none has taken */
    unsigned char *workspace;
    size_t bytes; /* of it, a thread's */
#if PHASES
    _Alignas(64) int64_t folded[FOLD_GROUPS * NUMBERS_OF_LINE];
#endif
};

/* Threads number themselves: omp_get_thread_num may be of another OpenMP library than they are. */
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
/* The tasks of heads whose tiles add up sums in their order. As many heads as there are for every thread are done by one
   each, which needs no other's sums; then all work on the heads that are left, each on the next tile, a little after the
   one before it. */
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
    meet(&part); /* all have arrived, and none uses its own part of the workspace any more */
    together(this, w->threads, number, w->there, w->workspace, &part);
    for (int64_t task = w->alone; task < w->tasks; task++) this->head(w->call, task, &part);
#else
    for (int64_t task; (task = take_task(w)) < w->tasks;) this->rows(w->call, task, own);
#endif
}

/* Runs all tasks of a call; a thread has `bytes` bytes of the workspace. */
static int run(const struct call *call, const struct version *this, int threads, unsigned char *workspace, size_t bytes)
{
    const struct attn_problem *const p = &call->p;
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
/* Of one array of what is saved. */
static size_t row_bytes(const struct attn_problem *p)
{
    return ((size_t)(p->batch * p->heads * p->n_q) * sizeof(REAL) + 63) / 64 * 64;
}

size_t SPEC_saved(const struct attn_problem *problem)
{
    return problem ? SAVED_COUNT * row_bytes(problem) : 0;
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
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (ARRAY_OF_QUERIES_MISSING || !workspace || (call.p.n_k > 0 && (ARRAY_OF_KEYS_MISSING))) return ATTN_EPOINTER;
#if PARAMS
    if (PARAM_MISSING) return ATTN_EPARAM;
#endif
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
#if FEW
    const struct version this = version(call.p.n_k, rows_of(&call.p));
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
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < SPEC_saved(problem)) return ATTN_EWORKSPACE;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    if (problem->saved && this.saves) set_saved(&call, (unsigned char *)problem->saved);
#endif
    return run(&call, &this, threads, (unsigned char *)workspace, bytes);
}

#if BACKWARD
/* ==== the gradients ==== */
/* Their parts run one after the other: what forward saves, if it did not, then gradients that share their loops. */
static struct version part_version(int part, int64_t n_k)
{
#if !PARTS_BY_LENGTH
    (void)n_k;
#endif
    switch (part) {
PART_CHOICES
    }
}

/* The numbers of keys at which other versions of the parts begin to run. */
static const int64_t part_from[] = {
#if PARTS_BY_LENGTH
    PART_LENGTHS
#else
    0
#endif
};

/* The most that a part takes, for n_k keys or fewer. */
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
/* Of an array that a part leaves for others. */
static size_t left_bytes(int64_t elements)
{
    return ((size_t)elements * sizeof(REAL) + 63) / 64 * 64;
}

/* The gradients by parameters, where they are wanted, and what parts leave for those that make gradients of it; returns
   the bytes that all of the latter take, wanted or not. */
static size_t set_totals(struct call *call, const struct SPEC_gradients *to, unsigned char *const left)
{
    const struct attn_problem *const p = &call->p;
    size_t at = 0, most = 0;
    if (to) {
TOTAL_VALUES
    }
LEFT_VALUES
    (void)p;
    return most;
}

#endif
#if IN_ORDER
/* The sums over the keys, a row for each query, and how far the tiles of each head have come. */
static size_t sums_bytes(const struct attn_problem *p)
{
    return (size_t)(p->batch * p->heads * p->n_q) * ROW_OF_SUMS * sizeof(REAL);
}

static size_t progress_bytes(const struct attn_problem *p)
{
    size_t most = 0; /* of n_k keys or fewer, too */
    for (size_t k = 0; k < sizeof part_from / sizeof *part_from; k++)
        for (int part = 0; part < PARTS && (k == 0 || part_from[k] <= p->n_k); part++) {
            const struct version v = part_version(part, part_from[k]);
            const size_t tiles = v.in_order ? (size_t)((p->n_k + v.tile - 1) / v.tile + 1) : 0;
            most = tiles > most ? tiles : most;
        }
    return ((size_t)(p->batch * p->kv_heads) * most * sizeof(int64_t) + 63) / 64 * 64;
}

static void set_sums(struct call *call, unsigned char *sums)
{
SUMS_VALUES
    if (call->p.n_k == 0) memset(sums, 0, sums_bytes(&call->p));
    call->progress = (int64_t *)(void *)(sums + sums_bytes(&call->p));
}

#endif
/* What the threads share: what is saved, if it is not the caller's, and what parts leave for one another. */
static size_t shared_bytes(const struct attn_problem *problem)
{
    size_t bytes = (SAVED_COUNT + ROW_SUM_COUNT) * row_bytes(problem);
#if IN_ORDER
    bytes += sums_bytes(problem) + progress_bytes(problem);
#endif
#if TOTALS
    struct call none = {.p = *problem};
    bytes += set_totals(&none, NULL, NULL);
#endif
    return bytes;
}

size_t SPEC_backward_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    return shared_bytes(problem) + part_bytes_a_thread(problem->n_k) * threads_served(problem);
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
    if ((uintptr_t)workspace % 64 || (uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    for (int part = 0; part < PARTS; part++) {
        const struct version v = part_version(part, call.p.n_k);
        if (!runs(&v)) return ATTN_EMACHINE;
    }
    const size_t bytes = part_bytes_a_thread(call.p.n_k), saved = SPEC_saved(problem), shared = shared_bytes(problem),
        given = problem->workspace_bytes;
    const int threads = thread_count(problem, given > shared ? given - shared : 0, bytes);
    if (given && given < shared + bytes * (size_t)threads) return ATTN_EWORKSPACE;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    unsigned char *const rows = (unsigned char *)workspace + saved, *const work = (unsigned char *)workspace + shared;
#if SAVED_COUNT
#if FEW
    const int kept = problem->saved && version(call.p.n_k, MANY_ROWS).saves;
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
