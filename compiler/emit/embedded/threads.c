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
    void (*on)(void *work); /* what every thread calls */
#if PHASES
    _Alignas(64) int64_t folded[FOLD_GROUPS * NUMBERS_OF_LINE];
#endif
};

#if REMEMBERS
/* Makes a thread's strips and tiles empty, because its workspace has the numbers of an earlier call. */
INLINE void forget(const struct version *v, unsigned char *own)
{
    for (int k = 0; k < v->remembered; k++) ((struct remembered *)(void *)(own + v->remembers[k]))->head = -1;
}

#endif
/* Returns a number for the calling thread. It does not use omp_get_thread_num, which may belong to another OpenMP
   library. */
INLINE int take_number(struct work *w) { return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED); }
INLINE int64_t take_task(struct work *w) { return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED); }

#if !defined __SSE__ && !defined __aarch64__
#include <fenv.h>
#endif

/* How a thread computes with floating-point numbers. */
struct arithmetic {
#if defined __SSE__
    unsigned all; /* the register MXCSR */
#elif defined __aarch64__
    uint64_t control, flags; /* the registers FPCR and FPSR */
#else
    fenv_t all;
#endif
};

/* Begins arithmetic without traps, because lanes after the last row may divide by 0. */
#if PREFIX_SUMS
/* Subnormal numbers are taken for 0: products of decays are often subnormal, and x86 processors compute with such
   numbers up to 100 times slower. */
enum { SUBNORMALS_ARE_ZERO = 1 };
#else
enum { SUBNORMALS_ARE_ZERO = 0 };
#endif
INLINE struct arithmetic begin_arithmetic(void)
{
    struct arithmetic before;
#if defined __SSE__
    enum { MASKS = 0x1f80, SUBNORMALS = SUBNORMALS_ARE_ZERO ? 1 << 15 | 1 << 6 : 0 }; /* of results and of operands */
    before.all = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before.all | MASKS | SUBNORMALS);
#elif defined __aarch64__
    enum { TRAPS = 0x9f00, SUBNORMALS = SUBNORMALS_ARE_ZERO << 24 };
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(before.flags));
    __asm__ volatile("msr fpcr, %0" : : "r"((before.control & ~(uint64_t)TRAPS) | SUBNORMALS) : "memory");
#else
    feholdexcept(&before.all);
#endif
    return before;
}

/* Ends it, and leaves the flags of exceptions as they were before. */
INLINE void end_arithmetic(const struct arithmetic *before)
{
#if defined __SSE__
    __builtin_ia32_ldmxcsr(before->all);
#elif defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"(before->control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(before->flags) : "memory");
#else
    fesetenv(&before->all);
#endif
}

static void without_traps(void *work)
{
    struct work *const w = (struct work *)work;
    const struct arithmetic before = begin_arithmetic();
    w->on(w);
    end_arithmetic(&before);
}

/* Calls on(w) in all threads of the jobs. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = w->job->call->p.team;
    w->on = on;
    if (w->threads == 1)
        without_traps(w);
    else if (team)
        team->run(without_traps, w, (unsigned)w->threads, 0);
    else {
#ifdef _OPENMP
#pragma omp parallel num_threads(w->threads)
#endif
        without_traps(w);
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
#if REMEMBERS
    forget(this, own);
#endif
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
#if REMEMBERS
        forget(this, own);
#endif
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

/* Returns `threads` if there is enough work for them, else 1. Waking threads takes about the time of 2^18
   multiply-adds, and of 2^15 more for each. A call does not wake a part of the threads: GNU's OpenMP ends those that a
   call leaves out, and the next parallel loop of the caller's program has to start them. */
static int useful_threads(double multiply_adds, int threads)
{
    return multiply_adds < 2.0 * (1 << 18) + (double)threads * (1 << 15) ? 1 : threads;
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
#elif OWN_PARAMS
    const int ordered = this->any_order || call->params == &call->own; /* as above; the state has more rows of ids */
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
    if (!error && job.tasks > 0) in_threads(&work, work_on);
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
        const int64_t at = mask / t->size[1] * t->stride[0] + mask % t->size[1] * t->stride[1] + first * t->row;
        uint8_t *const made = t->made + strip * t->tiles_of_strip;
#if HIDES
        if (t->dtype != ATTN_U8) {
            attn_tiles_of_reals(t->dtype, t->flag, at, min(t->rows - first, ATTN_TILE_ROWS), t->columns, t->row,
                t->column, made);
            continue;
        }
#endif
        attn_tiles_of_strip((const uint8_t *)t->flag + at, min(t->rows - first, ATTN_TILE_ROWS), t->columns, t->row,
            t->column, made);
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
    struct job job = {.call = call};
    struct work work = {.job = &job, .jobs = 1};
    double bytes = 0;
    for (int k = 0; k < TILES; k++) {
        job.tasks += call->mask_tiles[k].strips;
        bytes += (double)(call->mask_tiles[k].strips * ATTN_TILE_ROWS) * (double)call->mask_tiles[k].columns;
    }
    work.threads = useful_threads(bytes, threads); /* a byte takes about the time of a multiply-add */
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
