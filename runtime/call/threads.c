/* Divides the tasks of programs among threads. */
#include "call.h"

#include <stdlib.h>
#if !defined __SSE__ && !defined __aarch64__
#include <fenv.h>
#endif

/* Running jobs, shared by the threads. */
struct work {
    const struct job *job;
    int64_t jobs;
    int threads;  /* requested threads; OpenMP may start fewer */
    int there;    /* the number of threads that have started */
    int64_t next; /* the first task that no thread has taken. Tasks that one thread runs are numbered over all jobs. */
    unsigned char *workspace;
    size_t bytes;           /* bytes of workspace per thread */
    void (*on)(void *work); /* what every thread calls */
    _Alignas(64) int64_t folded[FOLD_GROUPS * NUMBERS_OF_LINE];
};

ATTN_API int64_t attn_call_threads_served(const struct kernel *kernel, const struct attn_problem *p)
{
    const struct openmp *const openmp = kernel->openmp;
    if (p->threads > 0 || !openmp) return max(p->threads, 1);
    return max(openmp->max_threads(), openmp->processors()); /* OpenMP's default may change later */
}

ATTN_API int attn_call_take_workspace(const struct kernel *kernel, const struct attn_problem *p, const void *workspace,
                                      size_t shared, size_t bytes_a_thread, int *threads)
{
    const struct openmp *const openmp = kernel->openmp;
    const size_t all = p->workspace_bytes, left = all > shared ? all - shared : 0,
                 room = bytes_a_thread ? left / bytes_a_thread : left;
    const int64_t by_default = p->threads == 0 && openmp ? openmp->max_threads() : 1;
    int64_t most = (int64_t)(room < INT32_MAX ? room : INT32_MAX), wanted = p->threads > 0 ? p->threads : by_default;
    /* OpenMP is asked only if its answer matters, because it takes a tenth of the time of a short call. */
    if (wanted > most) most = max(most, openmp ? openmp->processors() : 1);
    if (p->threads == 0) wanted = min(wanted, most);
    if (!workspace) return ATTN_EPOINTER;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    if (all && all < bytes_plus(shared, bytes_times(bytes_a_thread, wanted))) return ATTN_EWORKSPACE;
    *threads = (int)(p->team ? wanted : min(wanted, most));
    return 0;
}

/* ---- how a thread computes with floating-point numbers ---- */

/* Traps are off, because lanes after the last row may divide by 0. With prefix sums, subnormal numbers are taken for 0:
   products of decays are often subnormal, and x86 processors compute with such numbers up to 100 times slower. */
ATTN_API struct arithmetic attn_call_begin_arithmetic(const struct kernel *kernel)
{
    struct arithmetic before = {0, 0};
    const int subnormals_are_zero = kernel->prefix_row > 0;
#if defined __SSE__
    enum { MASKS = 0x1f80, SUBNORMALS = 1 << 15 | 1 << 6 }; /* of results and of operands */
    before.control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((unsigned)before.control | MASKS | (subnormals_are_zero ? SUBNORMALS : 0));
#elif defined __aarch64__
    enum { TRAPS = 0x9f00 };
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(before.flags));
    __asm__ volatile("msr fpcr, %0"
                     :
                     : "r"((before.control & ~(uint64_t)TRAPS) | (uint64_t)subnormals_are_zero << 24)
                     : "memory");
#else
    _Static_assert(sizeof(fenv_t) <= sizeof before, "struct arithmetic has room for fenv_t");
    (void)subnormals_are_zero;
    feholdexcept((fenv_t *)(void *)&before);
#endif
    return before;
}

/* Ends it, and leaves the flags of exceptions as they were before. */
ATTN_API void attn_call_end_arithmetic(const struct arithmetic *before)
{
#if defined __SSE__
    __builtin_ia32_ldmxcsr((unsigned)before->control);
#elif defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"(before->control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(before->flags) : "memory");
#else
    fesetenv((const fenv_t *)(const void *)before);
#endif
}

static void without_traps(void *work)
{
    struct work *const w = (struct work *)work;
    const struct arithmetic before = attn_call_begin_arithmetic(w->job->call->kernel);
    w->on(w);
    attn_call_end_arithmetic(&before);
}

/* Returns the caller's team or OpenMP's threads. NULL: there is only the calling thread. */
static const struct attn_team *team_of(const struct call *call)
{
    const struct openmp *const openmp = call->kernel->openmp;
    return call->p.team || !openmp ? call->p.team : &openmp->team;
}

/* Calls on(w) in all threads of the jobs. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = team_of(w->job->call);
    w->on = on;
    if (w->threads == 1 || !team)
        without_traps(w);
    else
        team->run(without_traps, w, (unsigned)w->threads, 0);
}

/* ---- tasks ---- */

/* Makes a thread's strips and tiles empty, because its workspace has the numbers of an earlier call. The first number
   of each is that of a head. */
static void forget(const struct program *p, unsigned char *own)
{
    for (int k = 0; k < p->remembered; k++) *(int64_t *)(void *)(own + p->remembers[k]) = -1;
}

/* Returns a number for the calling thread. It does not use omp_get_thread_num, which may belong to another OpenMP
   library. */
static int take_number(struct work *w)
{
    return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED);
}

static int64_t take_task(struct work *w)
{
    return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
}

/* Runs the tasks of a program whose tiles add to shared sums in order.
   - Each thread first computes equally many whole heads, without waiting.
   - The threads share the tiles of the other heads. A tile adds to a position only after the previous tile has added
     to it. */
static void work_in_order(void *work)
{
    struct work *const w = (struct work *)work;
    const struct program *const program = w->job->program;
    const struct call *const call = w->job->call;
    const int64_t alone = w->job->alone, tiles = call->tiles;
    unsigned char *const own = w->workspace + (size_t)take_number(w) * w->bytes;
    struct call by_itself;
    attn_call_copy(&by_itself, call);
    by_itself.progress = NULL;
    forget(program, own);
    for (int64_t unit; (unit = take_task(w)) < w->job->tasks;) {
        if (unit < alone) {
            for (int64_t tile = 0; tile < tiles; tile++) program->rows(&by_itself, unit * tiles + tile, own);
            continue;
        }
        const int64_t task = alone * tiles + unit - alone;
        program->rows(call, task, own);
        await_turn(call, task, INT64_MAX);
        pass_turn(call, task, INT64_MAX);
    }
}

static void run_in_order(struct work *w, struct job *job)
{
    const struct call *const call = job->call;
    const int64_t heads = call->p.batch * (call->kernel->sums_of_keys ? call->p.heads : call->p.kv_heads),
                  alone = heads / w->threads * w->threads, tiles = call->tiles;
    for (int64_t h = alone; h < heads; h++)
        for (int64_t t = 0; t <= tiles; t++) call->progress[h * (tiles + 1) + t] = t > 0 ? 0 : INT64_MAX;
    job->alone = alone;
    job->tasks = alone + (heads - alone) * tiles;
    in_threads(w, work_in_order);
}

/* Sets `share` to the share of thread `number`, where `there` threads compute a head. The workspace has room for
   `threads` threads. OpenMP may have started fewer. */
static void take_share(const struct program *p, int threads, int number, int there, unsigned char *workspace,
                       struct share *share)
{
    const size_t all = (size_t)threads;
    share->number = number;
    share->threads = there;
    share->work = workspace + (size_t)number * p->own;
    share->shared = workspace + all * p->own;
    share->window = p->slot ? (int64_t)(((all - 1) * p->shared + all * p->slots * p->slot) / p->slot) / there : 0;
    share->slots = share->shared + p->shared + (size_t)(number * share->window) * p->slot;
}

/* Runs all tasks of a job on the calling thread. */
static void run_alone(const struct job *job, unsigned char *own)
{
    const struct program *const program = job->program;
    unsigned char *const shared = own + program->own;
    forget(program, own);
    for (int64_t task = 0; task < job->tasks && !program->head; task++) program->rows(job->call, task, own);
    if (!program->head) return;
    const int64_t window = job->alone < job->tasks ? (int64_t)program->slots : 1;
    struct share share = {
        .threads = 1, .window = window, .work = own, .shared = shared, .slots = shared + program->shared};
    for (int64_t task = 0; task < job->tasks; task++) program->head(job->call, task, &share);
}

/* Runs the tasks of all jobs, on one of several threads. */
static void work_on(void *work)
{
    struct work *const w = (struct work *)work;
    const int number = take_number(w);
    unsigned char *const own = w->workspace + (size_t)number * w->bytes;
    int64_t task = take_task(w), first = 0; /* first: the number of the job's first task */
    struct share share = {.threads = 1, .window = 1, .work = own, .folded = w->folded};
    for (const struct job *job = w->job; job < w->job + w->jobs; first += job->alone, job++) {
        const struct program *const program = job->program;
        forget(program, own);
        share.shared = own + program->own;
        share.slots = share.shared + program->shared;
        for (; task - first < job->alone; task = take_task(w)) {
            if (program->head)
                program->head(job->call, task - first, &share);
            else
                program->rows(job->call, task - first, own);
        }
    }
    share.barrier = team_of(w->job->call)->barrier;
    share.segments = 0;
    share.threads = w->threads;
    for (const struct job *job = w->job; job < w->job + w->jobs; job++) {
        if (!job->program->head || job->alone == job->tasks) continue;
        synchronise(&share); /* now w->there is final, and take_share may divide the workspace */
        take_share(job->program, w->threads, number, w->there, w->workspace, &share);
        for (task = job->alone; task < job->tasks; task++) job->program->head(job->call, task, &share);
    }
}

/* Returns the multiply-adds of a job. A head takes the time of about 2^15 more. */
static double effort(const struct attn_problem *p, const struct program *v)
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

/* Returns whether the ids of the keys are in an order that the program cannot compute. Carried sums need ascending ids,
   so that keys with one id are adjacent. Calls with a state have checked them. */
static int out_of_order(const struct call *call, const struct program *program)
{
    const int ids = call->kernel->ids;
    if (ids < 0 || !program->head || program->any_order || call->program) return 0;
    const struct attn_param *const param = &call->kernel->param[call->kernel->array[ids].param];
    const struct place *const place = &call->array[ids];
    const int strided = param->strides != ATTN_CONTIGUOUS;
    return attn_call_ids_fall((const int32_t *)place->at, call->p.batch, strided ? place->stride[0] : call->p.n_k,
                              call->p.n_k, strided ? place->stride[1] : 1);
}

/* Sets the number of the tasks of a job. Returns 0 or an error. */
static int count_tasks(struct job *job, int threads)
{
    const struct program *const program = job->program;
    const struct attn_problem *const p = &job->call->p;
    const int64_t heads = program->tile == 0 || program->of_keys == OF_KEY_HEAD ? p->kv_heads : p->heads,
                  positions = program->of_keys ? p->n_k : p->n_q,
                  /* `apart` tasks cover `far` positions. A task has every `apart`-th query of these positions. */
        apart = max(program->apart, 1), far = program->tile * apart,
                  tiles = far > 0 ? (positions + far - 1) / far * apart : 1;
    int64_t tasks = p->batch * heads * tiles;
    if (program->units)
        tasks = program->units * (program->unit_batch ? p->batch : 1) *
                (program->unit_heads == 0   ? 1
                 : program->unit_heads == 1 ? p->kv_heads
                                            : p->heads) *
                tiles;
    job->tasks = job->alone = tasks;
    if (out_of_order(job->call, program)) return ATTN_EORDER;
    if (program->head && program->together) job->alone = program->together > 1 ? 0 : tasks / threads * threads;
    return 0;
}

/* Sorts jobs by the work of a task, the most work first, so that threads end at about the same time. */
static void sort_jobs(struct job *job, int64_t jobs)
{
    for (int64_t gap = jobs / 2; gap > 0; gap = gap > 2 ? gap * 5 / 11 : gap / 2)
        for (int64_t k = gap; k < jobs; k++) {
            const struct job moved = job[k];
            int64_t to = k;
            for (; to >= gap && job[to - gap].effort < moved.effort; to -= gap) job[to] = job[to - gap];
            job[to] = moved;
        }
}

ATTN_API int attn_call_run_jobs(struct job *job, int64_t jobs, int threads, unsigned char *workspace, size_t bytes)
{
    const struct call *const call = job->call;
    double all = 0;
    if (!team_of(call)) threads = 1;
    if (threads > 1) {
        for (int64_t k = 0; k < jobs; k++) all += job[k].effort = effort(&job[k].call->p, job[k].program);
        if (call->p.threads == 0 || call->p.team) threads = useful_threads(all, threads);
    }
    for (int64_t k = 0; k < jobs; k++) {
        const int error = count_tasks(&job[k], threads);
        if (error) return error;
        if (threads > 1) job[k].effort /= (double)max(job[k].tasks, 1);
    }
    if (threads == 1) {
        const struct arithmetic before = attn_call_begin_arithmetic(call->kernel);
        for (int64_t k = 0; k < jobs; k++) run_alone(&job[k], workspace);
        attn_call_end_arithmetic(&before);
        return 0;
    }
    /* Threads share a task only if it takes long, because they have to wait for each other. */
    for (int64_t k = 0; k < jobs && jobs > 1; k++)
        if (job[k].program->together == 1 && job[k].effort * 16 * threads < all) job[k].alone = job[k].tasks;
    sort_jobs(job, jobs);
    struct work work = {.job = job, .jobs = jobs, .threads = threads, .workspace = workspace, .bytes = bytes};
    in_threads(&work, work_on);
    return 0;
}

ATTN_API int attn_call_run(const struct call *call, const struct program *program, int threads,
                           unsigned char *workspace, size_t bytes)
{
    struct job job = {.call = call, .program = program};
    if (!program->in_order || !call->progress) return attn_call_run_jobs(&job, 1, threads, workspace, bytes);
    if (threads > 1 && (call->p.threads == 0 || call->p.team))
        threads = useful_threads(effort(&call->p, program), threads);
    struct work work = {.job = &job, .jobs = 1, .threads = threads, .workspace = workspace, .bytes = bytes};
    run_in_order(&work, &job);
    return 0;
}

/* ---- tables of the tiles of masks ---- */

/* Returns the bytes of the tiles of a mask. Sets *t to its table, without the tiles. */
static size_t describe_mask(const struct kernel *kernel, int array, const struct attn_problem *p, struct mask_tiles *t)
{
    const struct attn_param *const param = &kernel->param[kernel->array[array].param];
    const int axes = param->rank - 2;
    int64_t size[4];
    size_t masks = 1;
    attn_param_shape(param, p, size);
    const int64_t rows = size[axes], columns = size[axes + 1];
    *t = (struct mask_tiles){.dtype = param->dtype,
                             .rows = rows,
                             .columns = columns,
                             .strips_of_mask = rows / ATTN_TILE_ROWS + (rows % ATTN_TILE_ROWS > 0),
                             .tiles_of_strip = columns / ATTN_TILE_COLUMNS + (columns % ATTN_TILE_COLUMNS > 0),
                             .size = {1, 1}};
    for (int k = 0; k < axes; k++) {
        masks = bytes_times(masks, size[k]);
        t->size[k + MASK_AXES - axes] = size[k];
    }
    const size_t strips = bytes_times(masks, t->strips_of_mask);
    t->strips = bytes_fit(strips) ? (int64_t)strips : 0;
    return whole_lines(bytes_times(strips, t->tiles_of_strip));
}

ATTN_API size_t attn_call_tiles_bytes(const struct kernel *kernel, const struct attn_problem *problem)
{
    size_t bytes = 0;
    struct mask_tiles none;
    for (int k = 0; k < kernel->arrays; k++)
        if (kernel->array[k].mask) bytes = bytes_plus(bytes, describe_mask(kernel, k, problem, &none));
    return bytes;
}

/* Fills strips of the tables of tiles until all strips are filled. */
static void work_on_tiles(void *work)
{
    struct work *const w = (struct work *)work;
    for (int64_t task; (task = take_task(w)) < w->job->tasks;) {
        const struct mask_tiles *t = w->job->call->mask_tiles;
        int64_t strip = task;
        for (; strip >= t->strips; t++) strip -= t->strips;
        const int64_t mask = strip / t->strips_of_mask, first = strip % t->strips_of_mask * ATTN_TILE_ROWS,
                      rows = min(t->rows - first, ATTN_TILE_ROWS),
                      at = mask / t->size[1] * t->stride[0] + mask % t->size[1] * t->stride[1] + first * t->row;
        uint8_t *const made = t->made + strip * t->tiles_of_strip;
        if (t->dtype == ATTN_U8)
            attn_tiles_of_strip((const uint8_t *)t->flag + at, rows, t->columns, t->row, t->column, made);
        else
            attn_tiles_of_reals(t->dtype, t->flag, at, rows, t->columns, t->row, t->column, made);
    }
}

/* Sets the tables of masks of the call. Their tiles begin at `at`. */
static void set_tiles(struct call *call, unsigned char *at)
{
    const struct kernel *const kernel = call->kernel;
    for (int k = 0; k < kernel->arrays; k++) {
        if (!kernel->array[k].mask) continue;
        struct mask_tiles *const t = &call->mask_tiles[kernel->array[k].mask - 1];
        const struct attn_param *const param = &kernel->param[kernel->array[k].param];
        const struct place *const place = &call->array[k];
        const size_t bytes = describe_mask(kernel, k, &call->p, t);
        const int axes = param->rank - 2;
        t->flag = place->at;
        t->tile = t->made = at;
        at += bytes;
        if (param->tiles)
            t->given = *(const struct attn_mask_tiles *const *)(const void *)((const char *)call->params +
                                                                              param->tiles);
        for (int n = 0; n < axes; n++) t->stride[n + MASK_AXES - axes] = place->stride[n];
        t->row = place->stride[axes];
        t->column = place->stride[axes + 1];
    }
}

ATTN_API int attn_call_make_tiles(struct call *call, struct mask_tiles *tables, unsigned char *at, int threads)
{
    struct job job = {.call = call};
    struct work work = {.job = &job, .jobs = 1};
    double bytes = 0;
    call->mask_tiles = tables;
    set_tiles(call, at);
    for (int k = 0; k < call->kernel->masks; k++) {
        struct mask_tiles *const t = &call->mask_tiles[k];
        if (t->given) {
            const int64_t size[4] = {t->size[0], t->size[1], t->rows, t->columns};
            const int error = attn_tiles_check(t->given, 4, size);
            if (error) return error;
            t->tile = (const uint8_t *)(t->given + 1);
            t->strips = 0;
        }
        job.tasks += t->strips;
        bytes += (double)(t->strips * ATTN_TILE_ROWS) * (double)t->columns;
    }
    work.threads = useful_threads(bytes, threads); /* a byte takes about the time of a multiply-add */
    if (job.tasks > 0) in_threads(&work, work_on_tiles);
    return 0;
}
