/* Tests forward and backward of runtime/call/ with toy kernels. Their loops count the calls of each task, and write
   numbers that show which rows, threads and memory a task had. */
#include "toy_kernel.h"

#include <pthread.h>
#include <sched.h>

enum { MOST = 4096, OWN = 128, SHARED = 64, SLOT = 192, SLOTS = 2, CHUNKS = 11, LONG = 1000 };

static int counts[MOST];                               /* the calls of each task */
static int64_t order[MOST][FOLD_GROUPS];               /* the segments of a head that were added to each group */
static const unsigned char *memory_begin, *memory_end; /* the workspace of the current call */
static const struct program *current;                  /* the program that the loops below read */

/* ---- the caller's threads ---- */

static struct {
    pthread_barrier_t barrier;
    void (*work)(void *context);
    void *context;
} pool;

static void *in_pool(void *unused)
{
    pool.work(pool.context);
    return unused;
}

static void pool_run(void (*work)(void *context), void *context, unsigned threads, unsigned flags)
{
    pthread_t other[8];
    pool.work = work;
    pool.context = context;
    if (flags || threads > 9 || pthread_barrier_init(&pool.barrier, NULL, threads)) abort();
    for (unsigned k = 1; k < threads; k++)
        if (pthread_create(&other[k - 1], NULL, in_pool, NULL)) abort();
    work(context);
    for (unsigned k = 1; k < threads; k++) pthread_join(other[k - 1], NULL);
    pthread_barrier_destroy(&pool.barrier);
}

static void pool_barrier(void)
{
    pthread_barrier_wait(&pool.barrier);
}

static const struct attn_team team = {pool_run, pool_barrier};

/* ---- loops ---- */

/* Fills memory of one thread, and checks that no other thread writes it. */
static void take(unsigned char *memory, size_t bytes, int number)
{
    if (memory < memory_begin || memory + bytes > memory_end) abort();
    memset(memory, number, bytes);
    sched_yield();
    for (size_t k = 0; k < bytes; k++)
        if (memory[k] != (unsigned char)number) abort();
}

static float *row_of(const struct call *call, int array, int64_t head, int64_t i)
{
    const struct attn_problem *const p = &call->p;
    const struct place *const at = &call->array[array];
    const int64_t h = head % p->heads, members = p->heads / p->kv_heads;
    return toy_row(call, array, head / p->heads, 0, i) +
           (current->by_heads ? h / members * at->group + h % members * at->strides.head : h * at->strides.head);
}

/* Counts a task. Adds q + 1 to its rows of `out`. */
static void add_rows(const struct call *call, int64_t task)
{
    const struct attn_problem *const p = &call->p;
    const int64_t apart = max(current->apart, 1), far = current->tile * apart,
                  tiles = far > 0 ? (p->n_q + far - 1) / far * apart : 1, members = p->heads / p->kv_heads,
                  group = current->tile == 0 ? members : 1, tile = task % tiles,
                  first = far > 0 ? tile / apart * far + tile % apart : 0,
                  end = far > 0 ? min(p->n_q, first + far) : p->n_q;
    __atomic_fetch_add(&counts[task], 1, __ATOMIC_RELAXED);
    if (current->of_keys || current->units) return;
    for (int64_t head = task / tiles * group; head < task / tiles * group + group; head++)
        for (int64_t i = first; i < end; i += far > 0 ? apart : 1)
            for (int d = 0; d < DIM; d++) row_of(call, OUT, head, i)[d] += row_of(call, Q, head, i)[d] + 1;
}

static void rows(const struct call *call, int64_t task, unsigned char *work)
{
    take(work, current->own, (int)task);
    add_rows(call, task);
}

static void head(const struct call *call, int64_t task, struct share *share)
{
    const int64_t length = segment_length(share, CHUNKS);
    take(share->work, OWN, (int)share->number);
    take(share->slots, (size_t)share->window * SLOT, (int)share->number);
    if (share->number == 0) take(share->shared, SHARED, 1);
    for (int64_t segment = share->number; segment * length < CHUNKS; segment += share->threads)
        for (int64_t group = 0; group < FOLD_GROUPS; group++) {
            await_segment(share, group, segment);
            if (order[task][group]++ != segment) abort();
            pass_segment(share, group, segment);
        }
    share->segments += (CHUNKS + length - 1) / length;
    synchronise(share);
    if (share->number == 0) add_rows(call, task);
    synchronise(share);
}

/* ---- a call ---- */

struct arrays {
    float *q, *k, *v, *out, *dq, *dk;
    unsigned char *workspace;
};

/* Makes the arrays of a call. */
static struct arrays begin(const struct attn_problem *p, size_t workspace, const struct program *program)
{
    const size_t queries = (size_t)(p->batch * p->heads * p->n_q * DIM),
                 keys = (size_t)(p->batch * p->heads * p->n_k * DIM);
    struct arrays a = {calloc(queries, 4), calloc(keys, 4), calloc(keys, 4),      calloc(queries, 4),
                       calloc(queries, 4), calloc(keys, 4), attn_alloc(workspace)};
    for (size_t k = 0; k < queries; k++) a.q[k] = (float)k;
    for (size_t k = 0; k < keys; k++) a.v[k] = a.k[k] = (float)(k % 7);
    current = program;
    memory_begin = a.workspace;
    memory_end = a.workspace + workspace;
    return a;
}

static void end(const struct arrays *a)
{
    float *const all[] = {a->q, a->k, a->v, a->out, a->dq, a->dk};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    attn_free(a->workspace);
}

static int forward(const struct kernel *kernel, const struct attn_problem *p, const void *params,
                   const struct arrays *a)
{
    memset(counts, 0, sizeof counts);
    memset(order, 0, sizeof order);
    return attn_call_forward(kernel, p, params, (const void *const[]){a->q, a->k, a->v, a->out}, a->workspace);
}

static int backward(const struct kernel *kernel, const struct attn_problem *p, const struct arrays *a, int adds)
{
    return attn_call_backward(kernel, p, NULL,
                              (const void *const[]){a->q, a->k, a->v, a->out, a->out, a->dq, a->dk, NULL}, NULL,
                              a->workspace, adds);
}

/* ---- the choice of a program ---- */

static int fast_target_runs;
static int fast_runs(void)
{
    return fast_target_runs;
}

static void choice(void)
{
    static const struct program fast[] = {{.from = 100, .form = FORM_FEW, .few_rows = 4, .rows = rows},
                                          {.from = 100, .rows = rows, .own = 64},
                                          {.form = FORM_HEADS, .rows = rows},
                                          {.form = FORM_FEW, .few_rows = 64, .lanes = 8, .rows = rows},
                                          {.rows = rows, .own = 640, .shared = 64, .slots = 2, .slot = 128}},
                                slow[] = {{.rows = rows},
                                          {.role = RUN_TERMS, .rows = rows},
                                          {.role = RUN_BACKWARD, .part = 1, .rows = rows}};
    const struct target targets[] = {{fast_runs, fast, sizeof fast / sizeof *fast},
                                     {NULL, slow, sizeof slow / sizeof *slow}};
    const struct kernel kernel = {TOY_KERNEL(targets), .by_heads = 1};
    fast_target_runs = 1;
    static const struct {
        int64_t n_k, rows, n_q;
        int program;
    } calls[] = {{99, MANY_ROWS, 50, 4}, {100, MANY_ROWS, 50, 1}, {100, 4, 4, 0},         {100, 5, 5, 1},
                 {INT64_MAX, 5, 5, 1},   {50, MANY_HEADS, 1, 2},  {50, 1, 1, 3},          {50, 65, 7, 4},
                 {5, 64, 7, 4},          {-3, MANY_ROWS, 1, 4},   {100, MANY_HEADS, 1, 1}};
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
        CU_ASSERT(attn_call_program(&kernel, RUN_FORWARD, 0, calls[k].n_k, calls[k].rows, calls[k].n_q) ==
                  &fast[calls[k].program]);
    CU_ASSERT(attn_call_program_of(&kernel, RUN_TERMS) == &slow[1]); /* the first target with such a program */
    CU_ASSERT(attn_call_program(&kernel, RUN_BACKWARD, 1, 5, 5, 5) == &slow[2]);
    CU_ASSERT(!attn_call_runs(attn_call_program(&kernel, RUN_BACKWARD, 0, 5, 5, 5)));
    CU_ASSERT(attn_call_next_length(&kernel, 5) == 100 && attn_call_next_length(&kernel, 100) == INT64_MAX);
    CU_ASSERT(attn_call_max_bytes(&kernel, RUN_FORWARD, 5) == 640 + 64 + 256);
    struct attn_problem p = {.batch = 1, .heads = 64, .kv_heads = 2, .n_q = 1, .n_k = 5};
    CU_ASSERT(attn_call_rows_of(&kernel, &p) == MANY_HEADS);
    p.n_q = 2;
    CU_ASSERT(attn_call_rows_of(&kernel, &p) == MANY_HEADS);
    p.saved = counts;
    CU_ASSERT(attn_call_rows_of(&kernel, &p) == MANY_ROWS);
    fast_target_runs = 0;
    CU_ASSERT(attn_call_program(&kernel, RUN_FORWARD, 0, 100, 4, 4) == &slow[0]);
}

/* ---- tasks ---- */

/* Every task runs once, and covers its rows once, with every number of threads. */
static void each_task_once(void)
{
    static const struct {
        struct program program;
        int tasks, one_by_one; /* one_by_one: strides of out are those of [B,N,H,D] */
    } cases[] = {{{.tile = 0}, 6, 0},
                 {{.tile = -1}, 12, 1},
                 {{.tile = 4}, 72, 0},
                 {{.tile = 21}, 12, 0},
                 {{.tile = 2, .apart = 3}, 144, 1},
                 {{.tile = 4, .of_keys = OF_KEY_HEAD}, 18, 0},
                 {{.tile = 4, .of_keys = OF_QUERY_HEAD}, 36, 0},
                 {{.tile = 0, .units = 5}, 5, 0},
                 {{.tile = 7, .units = 5}, 15, 0},
                 {{.tile = -1, .units = 5, .unit_batch = 1, .unit_heads = 1}, 30, 0},
                 {{.tile = 0, .units = 5, .unit_batch = 1, .unit_heads = 2}, 60, 0},
                 {{.tile = 0, .head = head}, 6, 0},
                 {{.tile = 0, .head = head, .together = 1}, 6, 1},
                 {{.tile = -1, .head = head, .together = 1}, 12, 0},
                 {{.tile = -1, .head = head, .together = 2}, 12, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int threads = 0; threads <= 8; threads++) { /* from 5 on, threads of a team */
            struct program program = cases[c].program;
            program.own = OWN;
            program.of_pair = 1 << 20; /* enough work for all threads */
            if (!program.head) program.rows = rows;
            if (program.head) program.shared = SHARED, program.slot = SLOT, program.slots = SLOTS;
            const struct target targets[] = {{NULL, &program, 1}};
            const struct kernel kernel = {TOY_KERNEL(targets)};
            struct attn_problem p = {.batch = 2,
                                     .heads = 6,
                                     .kv_heads = 3,
                                     .n_q = 21,
                                     .n_k = 10,
                                     .threads = threads > 4 ? threads - 4 : threads,
                                     .team = threads > 4 ? &team : NULL};
            if (cases[c].one_by_one) p.out = (struct attn_strides){21 * 6 * DIM, DIM, 6 * DIM};
            p.workspace_bytes = attn_call_workspace(&kernel, &p);
            const struct arrays a = begin(&p, p.workspace_bytes, &program);
            CU_ASSERT_FATAL(forward(&kernel, &p, NULL, &a) == 0);
            for (int task = 0; task < MOST; task++) CU_ASSERT_FATAL(counts[task] == (task < cases[c].tasks));
            for (int64_t x = 0; x < 2 * 6 * 21 * DIM && !program.of_keys && !program.units; x++) {
                const int64_t b = x / (6 * 21 * DIM), h = x / (21 * DIM) % 6, i = x / DIM % 21;
                const int64_t at = cases[c].one_by_one ? ((b * 21 + i) * 6 + h) * DIM + x % DIM : x;
                CU_ASSERT_FATAL(a.out[at] == a.q[x] + 1);
            }
            end(&a);
        }
}

/* Query heads that share keys take the place of queries. */
static void heads_as_queries(void)
{
    const struct program programs[] = {{.form = FORM_HEADS, .tile = 8, .rows = rows, .own = OWN, .by_heads = 1},
                                       {.tile = 8}};
    const struct target targets[] = {{NULL, programs, 2}};
    const struct kernel kernel = {TOY_KERNEL(targets), .by_heads = 1};
    for (int64_t n = 1; n < 4; n++) { /* out is [B,N,H,D] */
        struct attn_problem p = {.batch = 2, .heads = 80, .kv_heads = 2, .n_q = n, .n_k = 3};
        p.out = (struct attn_strides){p.heads * n * DIM, DIM, p.heads * DIM};
        const struct arrays a = begin(&p, attn_call_workspace(&kernel, &p), programs);
        CU_ASSERT_FATAL(forward(&kernel, &p, NULL, &a) == 0);
        for (int task = 0; task < MOST; task++) CU_ASSERT_FATAL(counts[task] == (task < 2 * 5 * 2 * n));
        for (int64_t x = 0; x < 2 * p.heads * n * DIM; x++) {
            const int64_t b = x / DIM / n / p.heads, h = x / DIM / n % p.heads, i = x / DIM % n;
            CU_ASSERT_FATAL(a.out[((b * n + i) * p.heads + h) * DIM + x % DIM] == a.q[x] + 1);
        }
        end(&a);
    }
}

/* ---- errors and the workspace ---- */

/* If a call has several errors, the first of them in this list is returned. */
static void order_of_errors(void)
{
    const struct program programs[] = {{.tile = -1, .rows = rows, .own = OWN}};
    struct attn_param param = TOY_PARAM(ATTN_I32, 1, 0, ATTN_BATCH);
    param.strides = ATTN_CONTIGUOUS;
    static const int errors[] = {ATTN_EPROBLEM,
                                 ATTN_ELENGTH,
                                 ATTN_EPOINTER,
                                 ATTN_EPOINTER,
                                 ATTN_EPARAM,
                                 ATTN_EMACHINE,
                                 ATTN_EPOINTER,
                                 ATTN_EALIGN,
                                 ATTN_EWORKSPACE,
                                 ATTN_EALIGN,
                                 0};
    const struct target targets[] = {{fast_runs, programs, 1}};
    const struct kernel kernel = {TOY_KERNEL(targets), .param = &param, .params = 1,
                                  .max_length = 20,    .parts = 1,      .saved = 1};
    const int32_t numbers[] = {1};
    const struct toy_params given = {.param = numbers}, none = {.param = NULL};
    fast_target_runs = 1;
    const struct attn_problem good = {.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 20, .n_k = 20, .threads = 2};
    const size_t bytes = attn_call_workspace(&kernel, &good);
    CU_ASSERT(bytes == 2 * OWN && attn_call_workspace(&kernel, NULL) == 0 && attn_call_saved(&kernel, &good) == 192);
    struct arrays a = begin(&good, bytes + 64, programs);
    CU_ASSERT(attn_call_forward(&kernel, NULL, &given, NULL, a.workspace) == ATTN_EPOINTER);
    for (int first = 0; first < (int)(sizeof errors / sizeof *errors); first++) {
        struct attn_problem p = good;
        const int all = first;
        if (all <= 0) p.kv_heads = 3;
        if (all <= 1) p.n_q = 21;
        const void *const argument[] = {all <= 2 ? NULL : a.q, a.k, a.v, all <= 3 ? a.v : a.out};
        fast_target_runs = all > 5;
        if (all <= 8) p.workspace_bytes = bytes - 1;
        p.saved = all <= 9 ? a.workspace + 4 : NULL;
        CU_ASSERT(attn_call_forward(&kernel, &p, all <= 4 ? &none : &given, argument,
                                    all <= 6   ? NULL
                                    : all <= 7 ? a.workspace + 4
                                               : a.workspace) == errors[first]);
    }
    const struct attn_problem empty = {.heads = 1, .kv_heads = 1}; /* needs no arrays */
    CU_ASSERT(attn_call_forward(&kernel, &empty, NULL, NULL, NULL) == 0);
    end(&a);
}

/* A workspace for many keys is large enough for fewer keys, and for every setting of OpenMP. */
static void workspace_serves(void)
{
    const struct program programs[] = {
        {.from = LONG, .head = head, .own = OWN, .shared = SHARED, .slot = SLOT, .slots = SLOTS},
        {.tile = 8, .rows = rows, .own = OWN}};
    const struct target targets[] = {{NULL, programs, 2}};
    const struct kernel kernel = {TOY_KERNEL(targets)};
    struct attn_problem few = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = 1, .n_k = 10, .threads = 3}, many = few;
    many.n_k = LONG;
    CU_ASSERT(attn_call_workspace(&kernel, &few) == 3 * OWN);
    CU_ASSERT(attn_call_workspace(&kernel, &many) == 3 * (OWN + SHARED + SLOTS * SLOT));
    few.threads = 0;
    few.workspace_bytes = attn_call_workspace(&kernel, &few);
    CU_ASSERT(few.workspace_bytes >= OWN * (size_t)attn_call_threads_served(&kernel, &few));
    unsigned char *const work = attn_alloc(OWN);
    int threads = 0;
    CU_ASSERT(attn_call_take_workspace(&kernel, &few, work, 0, OWN, &threads) == 0 && threads >= 1 &&
              (size_t)threads <= few.workspace_bytes / OWN);
    few.threads = INT32_MAX; /* more than there are processors need room */
    few.workspace_bytes = 0;
    CU_ASSERT(attn_call_take_workspace(&kernel, &few, work, 0, OWN, &threads) == 0 && threads >= 1 &&
              threads < 1 << 16);
    few.workspace_bytes = OWN * 5;
    CU_ASSERT(attn_call_take_workspace(&kernel, &few, work, 0, OWN, &threads) == ATTN_EWORKSPACE);
    few.threads = 5;
    CU_ASSERT(attn_call_take_workspace(&kernel, &few, work, 0, OWN, &threads) == 0 && threads >= 1 && threads <= 5);
    CU_ASSERT(attn_call_take_workspace(&kernel, &few, work, 1, OWN, &threads) == ATTN_EWORKSPACE);
    CU_ASSERT(attn_call_take_workspace(&kernel, &few, work, SIZE_MAX, OWN, &threads) == ATTN_ESIZE);
    attn_free(work);
}

/* ---- parameters ---- */

static void ids_in_order(void)
{
    struct program program = {.tile = 0, .head = head, .own = OWN, .shared = SHARED, .slot = SLOT, .slots = SLOTS};
    const struct target targets[] = {{NULL, &program, 1}};
    struct attn_param param = TOY_PARAM(ATTN_I32, 2, 0, ATTN_BATCH, ATTN_N_K);
    struct kernel kernel = {TOY_KERNEL(targets), .param = &param, .params = 1, .strided = 1};
    kernel.ids = PARAM;
    const struct attn_problem p = {.batch = 2, .heads = 1, .kv_heads = 1, .n_q = 3, .n_k = 5, .threads = 2};
    const int32_t fall[] = {1, 1, 2, 3, 3, 4, 5, 5, 4, 6}, rise[] = {7, 7, 8, 8, 9, -5, -5, 0, 0, 0};
    const struct toy_strides all = {{0, 1}}, every_second = {{0, 2}};
    const struct arrays a = begin(&p, attn_call_workspace(&kernel, &p), &program);
    for (int contiguous = 0; contiguous < 2; contiguous++) {
        CU_ASSERT(forward(&kernel, &p, &(struct toy_params){.param = fall}, &a) == ATTN_EORDER);
        CU_ASSERT(forward(&kernel, &p, &(struct toy_params){.param = rise}, &a) == 0);
        param.strides = ATTN_CONTIGUOUS;
    }
    param.strides = 0; /* both sequences have the same ids */
    CU_ASSERT(forward(&kernel, &p, &(struct toy_params){.param = fall, .strides = &all}, &a) == 0);
    CU_ASSERT(forward(&kernel, &p, &(struct toy_params){.param = fall, .strides = &every_second}, &a) == ATTN_EORDER);
    program.any_order = 1;
    CU_ASSERT(forward(&kernel, &p, &(struct toy_params){.param = fall, .strides = &every_second}, &a) == 0);
    end(&a);
}

/* Sums a parameter over all elements, with a weight for each. `stride` has the strides of its axes. */
static double sum_of(const float *element, const int64_t *stride, int64_t b, int64_t h, int64_t n_q, int64_t n_k)
{
    double sum = 0;
    for (int64_t i = 0; i < n_q; i++)
        for (int64_t j = 0; j < n_k; j++)
            sum += (double)element[b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3]] *
                   (double)(1 + b + 2 * h + 4 * i + 8 * j);
    return sum;
}

static double seen; /* the sum over all tasks */
static void read_param(const struct call *call, int64_t task, unsigned char *work)
{
    const struct place *const at = &call->array[PARAM];
    (void)work;
    seen += sum_of(at->at, at->stride, task / call->p.heads, task % call->p.heads, call->p.n_q, call->p.n_k);
}

static void strides_of_arrays(void)
{
    const struct program program = {.tile = -1, .rows = read_param, .own = OWN};
    const struct target targets[] = {{NULL, &program, 1}};
    const struct attn_param param = TOY_PARAM(ATTN_F32, 4, 0, ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, ATTN_N_K);
    const struct kernel kernel = {TOY_KERNEL(targets), .param = &param, .params = 1, .strided = 1};
    const struct attn_problem p = {.batch = 2, .heads = 3, .kv_heads = 1, .n_q = 4, .n_k = 5, .threads = 1};
    static const struct {
        int64_t given[4], wanted[4];
        int error, shift;
    } cases[] = {{{0}, {60, 20, 5, 1}, 0, 0},
                 {{ATTN_BROADCAST, 0, 0, 0}, {0, 0, 0, 0}, 0, 0},
                 {{ATTN_BROADCAST, 4, 1, 12}, {0, 4, 1, 12}, 0, 0},
                 {{0, 0, 0, 1}, {0, 0, 0, 1}, 0, 0},
                 {{60, 20, 5, -1}, {0}, ATTN_EPROBLEM, 0},
                 {{INT64_MAX / 4, 20, 5, 1}, {0}, ATTN_ESIZE, 0},
                 {{0}, {0}, ATTN_EALIGN, 1}};
    float element[2 * 3 * 4 * 5 + 1];
    for (int k = 0; k < 121; k++) element[k] = (float)(k * k % 31);
    const struct arrays a = begin(&p, attn_call_workspace(&kernel, &p), NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct toy_strides strides;
        memcpy(strides.param, cases[c].given, sizeof strides.param);
        const struct toy_params params = {.param = (const char *)element + cases[c].shift, .strides = &strides};
        double wanted = 0;
        seen = 0;
        for (int64_t x = 0; x < 6 && !cases[c].error; x++)
            wanted += sum_of(element, cases[c].wanted, x / 3, x % 3, 4, 5);
        CU_ASSERT(forward(&kernel, &p, &params, &a) == cases[c].error);
        CU_ASSERT(cases[c].error || seen == wanted);
    }
    CU_ASSERT(forward(&kernel, &p, &(struct toy_params){.param = element}, &a) == 0); /* no struct of strides */
    end(&a);
}

/* ---- masks ---- */

enum { MASK_HEADS = 3, MASK_ROWS = 40, MASK_COLUMNS = 150 };
static uint8_t mask[MASK_HEADS][MASK_ROWS][MASK_COLUMNS];
static int wrong_tiles;

/* Compares the table of tiles with the elements of the mask. */
static void read_tiles(const struct call *call, int64_t task, unsigned char *work)
{
    const struct mask_tiles *const t = call->mask_tiles;
    (void)work;
    if (task) return;
    for (int64_t h = 0; h < MASK_HEADS; h++)
        for (int64_t strip = 0; strip < t->strips_of_mask; strip++)
            for (int64_t tile = 0; tile < t->tiles_of_strip; tile++) {
                int bits = 0;
                for (int64_t i = strip * ATTN_TILE_ROWS; i < min(MASK_ROWS, (strip + 1) * ATTN_TILE_ROWS); i++)
                    for (int64_t j = tile * ATTN_TILE_COLUMNS; j < min(MASK_COLUMNS, (tile + 1) * ATTN_TILE_COLUMNS);
                         j++)
                        bits |= mask[h][i][j] ? ATTN_TILE_SOME : ATTN_TILE_SOME_NOT;
                wrong_tiles += t->tile[(h * t->strips_of_mask + strip) * t->tiles_of_strip + tile] != bits;
            }
    wrong_tiles += t->strips_of_mask != 3 || t->tiles_of_strip != 3;
}

static void tables_of_masks(void)
{
    const struct program program = {.tile = -1, .rows = read_tiles, .own = OWN, .of_pair = 1};
    const struct target targets[] = {{NULL, &program, 1}};
    const struct attn_param param = TOY_PARAM(ATTN_U8, 3, offsetof(struct toy_params, tiles), ATTN_HEADS, ATTN_N_Q,
                                              ATTN_N_K);
    struct array arrays[ARRAYS];
    memcpy(arrays, toy_arrays, sizeof arrays);
    arrays[PARAM].mask = 1;
    struct kernel kernel = {TOY_KERNEL(targets), .param = &param, .params = 1, .strided = 1, .masks = 1};
    kernel.array = arrays;
    const int64_t shape[] = {MASK_HEADS, MASK_ROWS, MASK_COLUMNS};
    const size_t bytes = attn_tiles_bytes(3, shape);
    struct attn_mask_tiles *const table = attn_alloc(bytes);
    for (int threads = 1; threads <= 4; threads++) {
        const struct attn_problem p = {
            .batch = 1, .heads = MASK_HEADS, .kv_heads = 1, .n_q = MASK_ROWS, .n_k = MASK_COLUMNS, .threads = threads};
        uint32_t state = (uint32_t)threads;
        for (int64_t x = 0; x < (int64_t)sizeof mask; x++)
            (&mask[0][0][0])[x] = (uint8_t)(x / 997 % 3 == 1 ? toy_random(&state, 9) == 0 : x / 997 % 3 * 2);
        const struct arrays a = begin(&p, attn_call_workspace(&kernel, &p), NULL);
        struct toy_params params = {.param = mask};
        wrong_tiles = 0;
        CU_ASSERT(forward(&kernel, &p, &params, &a) == 0 && wrong_tiles == 0);
        CU_ASSERT(attn_tiles_of_mask(&mask[0][0][0], 3, shape, NULL, table, bytes) == 0);
        params.tiles = table;
        CU_ASSERT(forward(&kernel, &p, &params, &a) == 0 && wrong_tiles == 0);
        table->size[2]++;
        CU_ASSERT(forward(&kernel, &p, &params, &a) == ATTN_ETILES);
        end(&a);
    }
    attn_free(table);
}

/* ---- prefix sums ---- */

enum { TERMS = 3 };
static long double error_of_sums; /* the largest error of a prefix sum that a task reads */

static double term(int64_t head, int64_t t, int64_t x)
{
    return sin((double)(head * 1000 + t * TERMS + x)) * pow(10, (double)(t % 7));
}

/* Writes the terms of a head where its prefix sums will be. */
static void write_terms(const struct call *call, int64_t task, unsigned char *work)
{
    const struct place *const to = &call->array[call->kernel->prefix[PREFIX_OF_KEY]];
    (void)work;
    for (int64_t t = 0; t < call->p.n_q; t++)
        for (int64_t x = 0; x < TERMS; x++) {
            const int64_t at = task / call->p.heads * to->strides.batch + task % call->p.heads * to->strides.head +
                               t * to->strides.row + x;
            if (call->kernel->real == 8)
                ((double *)to->at)[at] = term(task, t, x);
            else
                ((float *)to->at)[at] = (float)term(task, t, x);
        }
}

static long double number_at(const struct call *call, int array, int64_t task, int64_t row, int64_t x)
{
    const struct place *const from = &call->array[call->kernel->prefix[array]];
    const int64_t at = task / call->p.heads * from->strides.batch + task % call->p.heads * from->strides.head +
                       row * from->strides.row + x;
    return call->kernel->real == 8 ? (long double)((const double *)from->at)[at]
                                   : (long double)((const float *)from->at)[at];
}

static void read_sums(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_problem *const p = &call->p;
    const int64_t start = p->query_start ? p->query_start[task / p->heads] : p->n_k - p->n_q;
    (void)work;
    for (int64_t x = 0; x < TERMS; x++) {
        long double sum = 0;
        for (int64_t t = 0; t < p->n_k; t++) {
            sum += call->kernel->real == 8 ? (long double)term(task, t, x) : (long double)(float)term(task, t, x);
            long double error = fabsl(number_at(call, PREFIX_OF_KEY, task, t, x) +
                                      number_at(call, PREFIX_OF_KEY_LOW, task, t, x) - sum);
            if (t >= start && t < start + p->n_q)
                error += fabsl(number_at(call, PREFIX_OF_QUERY, task, t - start, x) +
                               number_at(call, PREFIX_OF_QUERY_LOW, task, t - start, x) - sum);
            if (error > error_of_sums) error_of_sums = error;
        }
    }
}

static void prefix_sums(void)
{
    enum { N_Q = 9, N_K = 500 };
    const struct program programs[] = {{.tile = -1, .rows = read_sums, .own = OWN},
                                       {.role = RUN_TERMS, .tile = -1, .rows = write_terms, .own = OWN}};
    const struct target targets[] = {{NULL, programs, 2}};
    const int64_t starts[] = {3, 400};
    for (int wide = 0; wide < 2; wide++)
        for (int given = 0; given < 2; given++) {
            struct kernel kernel = {TOY_KERNEL(targets), .prefix_row = TERMS, .positions = 1};
            kernel.real = wide ? sizeof(double) : sizeof(float);
            const struct attn_problem p = {.batch = 2,
                                           .heads = 2,
                                           .kv_heads = 1,
                                           .n_q = N_Q,
                                           .n_k = N_K,
                                           .threads = 1,
                                           .query_start = given ? starts : NULL};
            const struct arrays a = begin(&p, attn_call_workspace(&kernel, &p), NULL);
            error_of_sums = 0;
            CU_ASSERT_FATAL(forward(&kernel, &p, NULL, &a) == 0);
            CU_ASSERT(error_of_sums < (wide ? 1e-10L : 1e-7L)); /* sums are up to 1e8 */
            double *const sums = calloc(2 * 2 * N_K * TERMS, sizeof *sums);
            CU_ASSERT_FATAL(attn_call_decay_sums(&kernel, &p, NULL, sums, a.workspace) == 0);
            double last = 0;
            for (int64_t t = 0; t < N_K; t++) last += wide ? term(3, t, 1) : (double)(float)term(3, t, 1);
            CU_ASSERT(fabs(sums[(4 * N_K - 1) * TERMS + 1] - last) < 1e-6);
            free(sums);
            end(&a);
        }
}

/* ---- backward ---- */

enum { KEYS = 10, QUERIES = 7 };
static int saved_again;

static float *row_number(const struct call *call, int array, int64_t head, int64_t i)
{
    return (float *)call->array[array].at + head * call->p.n_q + i;
}

/* Forward saves 7. A part saves it again if forward has not saved it. */
static void save(const struct call *call, int64_t head_, unsigned char *work)
{
    (void)work;
    for (int64_t i = 0; i < call->p.n_q && call->array[SAVED].at; i++) *row_number(call, SAVED, head_, i) = 7;
}
static void save_again(const struct call *call, int64_t head_, unsigned char *work)
{
    __atomic_fetch_add(&saved_again, 1, __ATOMIC_RELAXED);
    save(call, head_, work);
}
static void sum_rows(const struct call *call, int64_t head_, unsigned char *work)
{
    (void)work;
    for (int64_t i = 0; i < call->p.n_q; i++)
        *row_number(call, ROW_SUM, head_, i) = 2 * *row_number(call, SAVED, head_, i) + (float)i;
}

/* Tiles of a head change the shared sums in an order that shows in the result. */
static void add_in_order(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t members = call->p.heads / call->p.kv_heads, group = task / call->tiles, tile = task % call->tiles;
    take(work, OWN, (int)task);
    for (int64_t i = 0; i < call->p.n_q; i++) {
        await_turn(call, task, i + 1);
        for (int64_t m = 0; m < members; m++) {
            float *const sum = row_number(call, SUM, group * members + m, i);
            *sum = fmodf(3 * (tile ? *sum : (float)i) + (float)tile + 1, 1009);
        }
        pass_turn(call, task, i + 1);
    }
}

static void write_dq(const struct call *call, int64_t head_, unsigned char *work)
{
    (void)work;
    for (int64_t i = 0; i < call->p.n_q; i++)
        for (int d = 0; d < DIM; d++)
            toy_row(call, DQ, head_ / call->p.heads, head_ % call->p.heads,
                    i)[d] = *row_number(call, ROW_SUM, head_, i) + *row_number(call, SUM, head_, i);
}
static void write_dk(const struct call *call, int64_t head_, unsigned char *work)
{
    (void)work;
    for (int64_t j = 0; j < call->p.n_k; j++)
        for (int d = 0; d < DIM; d++)
            toy_row(call, DK, head_ / call->p.heads, head_ % call->p.heads, j)[d] = (float)(head_ * 100 + j);
}

static const uint16_t of_dq[] = {DQ, NO_ARRAY}, of_dk[] = {DK, NO_ARRAY};
static const struct program gradients[] = {
    {.tile = -1, .rows = save, .saves = 1, .own = OWN},
    {.role = RUN_BACKWARD, .part = 0, .tile = -1, .rows = save_again, .saved_again = 1, .own = OWN},
    {.role = RUN_BACKWARD, .part = 1, .tile = -1, .rows = sum_rows, .own = OWN},
    {.role = RUN_BACKWARD,
     .part = 2,
     .tile = 4,
     .of_keys = OF_KEY_HEAD,
     .rows = add_in_order,
     .in_order = 1,
     .wanted = of_dq,
     .own = OWN,
     .of_pair = 1 << 20},
    {.role = RUN_BACKWARD, .part = 3, .tile = -1, .rows = write_dq, .wanted = of_dq, .own = OWN},
    {.role = RUN_BACKWARD,
     .part = 4,
     .tile = -1,
     .of_keys = OF_QUERY_HEAD,
     .rows = write_dk,
     .wanted = of_dk,
     .own = OWN}};
static const struct target gradient_targets[] = {{NULL, gradients, sizeof gradients / sizeof *gradients}};
static const struct kernel with_gradients = {
    TOY_KERNEL(gradient_targets), .parts = 5, .saved = 1, .row_sums = 1, .row_of_sums = 1,
    .sums_wanted = of_dq,         .shares = 1};

/* Parts read what forward and earlier parts left, whether forward has saved or not, and tiles add in order. */
static void parts_of_backward(void)
{
    for (int threads = 1; threads <= 8; threads++) {
        struct attn_problem p = {.batch = 2,
                                 .heads = 6,
                                 .kv_heads = 3,
                                 .n_q = QUERIES,
                                 .n_k = KEYS,
                                 .threads = threads > 4 ? threads - 4 : threads,
                                 .team = threads > 4 ? &team : NULL};
        const size_t bytes = attn_call_backward_workspace(&with_gradients, &p);
        p.workspace_bytes = bytes;
        for (int saves = 0; saves < 2; saves++) {
            struct arrays a = begin(&p, bytes, NULL);
            p.saved = saves ? attn_alloc(attn_call_saved(&with_gradients, &p)) : NULL;
            saved_again = 0;
            CU_ASSERT_FATAL(forward(&with_gradients, &p, NULL, &a) == 0 && backward(&with_gradients, &p, &a, 0) == 0);
            CU_ASSERT(saved_again == (saves ? 0 : 12));
            for (int64_t x = 0; x < 12 * QUERIES * DIM; x++) {
                const int i = (int)(x / DIM % QUERIES);
                CU_ASSERT_FATAL(a.dq[x] == fmodf((float)(14 + i) + (float)(27 * i + 9 + 6 + 3), 1e6f));
            }
            float *const dk = a.dk;
            a.dk = NULL;
            CU_ASSERT(backward(&with_gradients, &p, &a, 0) == 0); /* without dk, its part does not run */
            p.workspace_bytes = bytes - 1;
            CU_ASSERT(backward(&with_gradients, &p, &a, 0) == ATTN_EWORKSPACE);
            p.workspace_bytes = bytes;
            a.dk = dk;
            attn_free(p.saved);
            end(&a);
        }
    }
}

/* The gradients of heads that share a head of q and k are added. */
static void shared_heads(void)
{
    const struct attn_problem p = {
        .batch = 2, .heads = 6, .kv_heads = 6, .key_heads = 2, .n_q = QUERIES, .n_k = KEYS, .threads = 2};
    const struct arrays a = begin(&p, attn_call_backward_workspace(&with_gradients, &p), NULL);
    CU_ASSERT_FATAL(backward(&with_gradients, &p, &a, 0) == 0);
    for (int64_t x = 0; x < 4 * KEYS * DIM; x++) { /* heads 3 h to 3 h + 2 share head h */
        const int64_t first = x / DIM / KEYS * 3, j = x / DIM % KEYS;
        CU_ASSERT_FATAL(a.dk[x] == (float)(300 * (first + 1) + 3 * j));
    }
    for (int64_t x = 0; x < 4 * QUERIES * DIM; x++)
        CU_ASSERT_FATAL(a.dq[x] == (float)(3 * (32 + 28 * (x / DIM % QUERIES))));
    end(&a);
}

/* ---- sums over the tokens of other calls ---- */

/* Adds the keys to the caller's sums, or writes these sums and the keys. */
static void sum_keys(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t b = task / call->p.kv_heads, g = task % call->p.kv_heads, members = call->p.heads / call->p.kv_heads;
    float *const outer = (float *)(void *)outer_sums(call, task, 64), sum = 0;
    (void)work;
    float own = sum;
    for (int64_t j = 0; j < call->p.n_k; j++) own += *toy_row(call, K, b, g, j);
    if (call->gives) *outer += own;
    for (int64_t i = 0; i < call->p.n_q * members && !call->only_sums; i++)
        *toy_row(call, OUT, b, g * members + i / call->p.n_q, i % call->p.n_q) = own + (outer ? *outer : 0);
}

static void sums_of_other_keys(void)
{
    const struct program program = {.tile = 0, .rows = sum_keys, .own = OWN, .outer_bytes = 64};
    const struct target targets[] = {{NULL, &program, 1}};
    const struct kernel kernel = {TOY_KERNEL(targets), .key_sums = 1};
    struct attn_problem p = {.batch = 2, .heads = 4, .kv_heads = 2, .n_q = 3, .n_k = 8, .threads = 2};
    const struct arrays a = begin(&p, attn_call_workspace(&kernel, &p), NULL);
    const size_t bytes = attn_call_key_sums(&kernel, &p);
    float *const sums = attn_alloc(bytes + 64);
    const void *const keys[] = {NULL, a.k, a.v, NULL};
    CU_ASSERT(bytes == 2 * 2 * 64);
    memset(sums, 0, bytes);
    CU_ASSERT(attn_call_add_key_sums(&kernel, &p, NULL, keys, a.workspace) == ATTN_EPOINTER);
    p.earlier_sums = sums + 1;
    CU_ASSERT(attn_call_add_key_sums(&kernel, &p, NULL, keys, a.workspace) == ATTN_EALIGN);
    p.earlier_sums = sums;
    for (int k = 0; k < 2; k++) CU_ASSERT(attn_call_add_key_sums(&kernel, &p, NULL, keys, a.workspace) == 0);
    CU_ASSERT(forward(&kernel, &p, NULL, &a) == 0);
    for (int64_t b = 0; b < 4; b++) {
        float sum = 0;
        for (int64_t j = 0; j < 8; j++) sum += a.k[(b * 8 + j) * DIM];
        for (int64_t i = 0; i < 6; i++) CU_ASSERT(a.out[(b * 6 + i) * DIM] == 3 * sum);
    }
    attn_free(sums);
    end(&a);
}

/* ---- rows that see no key ---- */

static void leave_rows(const struct call *call, int64_t task, unsigned char *work)
{
    (void)call, (void)task, (void)work;
}

/* Without keys, all rows of an output in the problem become 0, or -inf if they are logarithms. */
static void outputs_without_keys(void)
{
    enum { ELEMENTS = 3, ROWS = 2 * 2 * 2, SPAN = 5 };
    const struct program program = {.tile = -1, .rows = leave_rows, .own = OWN};
    const struct target targets[] = {{NULL, &program, 1}};
    struct array arrays[ARRAYS];
    struct kernel kernel = {TOY_KERNEL(targets), .delta = 1};
    float output[ROWS * SPAN];
    const struct attn_problem p = {.batch = 2,
                                   .heads = 2,
                                   .kv_heads = 2,
                                   .n_q = 2,
                                   .threads = 1,
                                   .statistics = output,
                                   .statistics_at = {4 * SPAN, 2 * SPAN, SPAN}};
    const struct arrays a = begin(&p, attn_call_workspace(&kernel, &p), NULL);
    memcpy(arrays, toy_arrays, sizeof arrays);
    kernel.array = arrays;
    for (int logarithms = 0; logarithms < 2; logarithms++) {
        arrays[STATISTICS].elements = ELEMENTS;
        arrays[STATISTICS].statistics = logarithms ? ATTN_LOGARITHMS : ATTN_NO_STATISTICS;
        for (int x = 0; x < ROWS * SPAN; x++) output[x] = 7;
        CU_ASSERT(forward(&kernel, &p, NULL, &a) == 0);
        for (int x = 0; x < ROWS * SPAN; x++)
            CU_ASSERT(output[x] == (x % SPAN >= ELEMENTS ? 7 : logarithms ? -HUGE_VALF : 0));
        arrays[STATISTICS].sizes = 1 << -ATTN_N_K; /* now rows have no elements */
        output[0] = 7;
        CU_ASSERT(forward(&kernel, &p, NULL, &a) == 0 && output[0] == 7);
        arrays[STATISTICS].sizes = 0;
    }
    end(&a);
}

/* ---- kernels of another version ---- */

/* A kernel that was compiled with other headers is refused before its tables are read. */
static void other_versions(void)
{
    static int32_t workspace[1024] __attribute__((aligned(64)));
    const struct kernel kernel = {.layout = KERNEL_LAYOUT + 1};
    const struct attn_problem p = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = 1, .n_k = 1};
    void *const at = workspace;
    const void *const arrays[] = {at, at, at, at};
    CU_ASSERT(strcmp(attn_strerror(ATTN_EVERSION), "unknown error") != 0);
    CU_ASSERT(attn_call_forward(&kernel, &p, NULL, arrays, at) == ATTN_EVERSION);
    CU_ASSERT(attn_call_backward(&kernel, &p, NULL, arrays, NULL, at, 0) == ATTN_EVERSION);
    CU_ASSERT(attn_call_extend(&kernel, &p, NULL, arrays, at, at) == ATTN_EVERSION);
    CU_ASSERT(attn_call_decay_sums(&kernel, &p, NULL, at, at) == ATTN_EVERSION);
    CU_ASSERT(attn_call_params_init(&kernel, at, 1, at) == ATTN_EVERSION);
    CU_ASSERT(attn_call_state_init(&kernel, &p, at) == ATTN_EVERSION);
    CU_ASSERT(attn_call_state_length(&kernel, &p, at, 0) == ATTN_EVERSION);
    CU_ASSERT(attn_call_state_truncate(&kernel, &p, at, 0, 0) == ATTN_EVERSION);
    CU_ASSERT(attn_call_state_copy(&kernel, &p, at, 0, workspace + 16, 0) == ATTN_EVERSION);
    CU_ASSERT(attn_call_state_keep(&kernel, &p, at, 0, NULL, 0) == ATTN_EVERSION);
    CU_ASSERT(attn_call_state_fold(&kernel, &p, at, workspace + 16) == ATTN_EVERSION);
    CU_ASSERT(attn_call_state_part(&kernel, &p, at, 0, 0, &p, workspace + 16, 0) == ATTN_EVERSION);
    CU_ASSERT(attn_call_workspace(&kernel, &p) == 0 && attn_call_backward_workspace(&kernel, &p) == 0 &&
              attn_call_extend_workspace(&kernel, &p) == 0 && attn_call_params_size(&kernel) == 0 &&
              attn_call_saved(&kernel, &p) == 0 && attn_call_key_sums(&kernel, &p) == 0 &&
              attn_call_outer_sums(&kernel, &p, 0) == 0 && attn_call_state(&kernel, &p) == 0 &&
              attn_call_page(&kernel, &p) == 0 && attn_call_state_chunk(&kernel, &p) == 0 &&
              attn_call_chunk_sums(&kernel, &p) == 0);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"call/choice", choice},
        {"call/other_versions", other_versions},
        {"call/outputs_without_keys", outputs_without_keys},
        {"call/each_task_once", each_task_once},
        {"call/heads_as_queries", heads_as_queries},
        {"call/order_of_errors", order_of_errors},
        {"call/workspace_serves", workspace_serves},
        {"call/ids_in_order", ids_in_order},
        {"call/strides_of_arrays", strides_of_arrays},
        {"call/tables_of_masks", tables_of_masks},
        {"call/prefix_sums", prefix_sums},
        {"call/parts_of_backward", parts_of_backward},
        {"call/shared_heads", shared_heads},
        {"call/sums_of_other_keys", sums_of_other_keys},
    };
    return unit_tests_run("call", tests, sizeof tests / sizeof *tests);
}
