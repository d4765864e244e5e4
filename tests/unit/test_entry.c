/* Tests kernel.c and entry.c, the C around the code of every kernel. Here it is compiled with a simple kernel that
   counts the calls of each task. The build selects a variant with PHASES, FAR_QUERIES, BY_LENGTH, IDS, BF16 or F16. */
#ifdef _OPENMP
#include <omp.h>
#endif
#include "runtime/attnrt.h"
#include "suite.h"

#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 16, DIM = 4, OWN = 128, SHARED = 64, SLOT = 192, SLOTS = 2, LONG = 1000, LONG_OWN = 640 };

struct SPEC_params {
    const int32_t *id;
};
size_t SPEC_params_size(void);
size_t SPEC_params_size(void)
{
    return 0;
}

int SPEC_params_init(struct SPEC_params *params, uint64_t seed, void *storage);
int SPEC_params_init(struct SPEC_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    params->id = NULL;
    return 0;
}

#define ARRAY_MEMBERS \
    const float *q, *k, *v; \
    float *out;
#define ARRAY_ARGUMENTS const float *q, const float *k, const float *v, float *out
#define ARRAY_VALUES .q = q, .k = k, .v = v, .out = out
#define ARRAY_OF_QUERIES_MISSING !q || !out
#define ARRAY_OF_KEYS_MISSING !k || !v
#define ARRAY_SHARED 0 /* the tests pass one array for all */
#define ARRAY_ANY_ARGUMENTS const void *q, const void *k, const void *v, void *out
#define ARRAY_ANY_VALUES (const float *)q, (const float *)k, (const float *)v, (float *)out
#define CHECK_PROBLEM attn_problem_check
#define CHECK_GIVEN attn_problem_check
#define KEY_DTYPE ATTN_F32
#define VALUE_DTYPE ATTN_F32
#if BF16
#define widened widened_bf16
#define narrowed narrowed_bf16
#else
#define widened widened_f16
#define narrowed narrowed_f16
#endif
#define VERSION_KEYS call.p.n_k
#define PART_KEYS call->p.n_k
#define FORWARD_KEYS problem->n_k
#define HEAD_DIM DIM
#define VALUE_DIM DIM
#define IDS_PARAM id
#define IDS_SEQUENCE p->n_k
#define IDS_ROW 1
#define PARAM_MISSING !params || !params->id
#define PARAM_TABLE \
    {"id", ATTN_I32, 2, {ATTN_BATCH, ATTN_N_K}, offsetof(struct SPEC_params, id), 0, ATTN_CONTIGUOUS, 0, 0, 0},
#define PARAM_COUNT PARAMS
#if PARAMS
#define PARAM_POINTER param
#else
#define PARAM_POINTER NULL
#endif
#define PARAMS_FUNCTIONS
#define LENGTHS 0, LONG
#define NAME_AS_TEXT "entry"
#define VERSION_AS_TEXT "0"
#define DTYPE ATTN_F32
#define BEFORE 0
#define AFTER 0
#define PERIOD 1
#define NAMES_HEADS 0
#define NAMES_SEQUENCES 0
#define IN_PARTS 0
#define SAVED_POWER 0
#define HAS_SINK 0
#define OPEN_KEYS 0
#define END_OF_KEYS INT64_MAX

#define WAITS PHASES
#define FOLD_GROUPS 16
#define REMEMBERS 2
#define CALLER_MASKS INTEGERS
#include "compiler/emit/embedded/kernel.c"

static unsigned char *workspace_end; /* the end of the current call's workspace */

/* The code of a task: adds 1 to its element of `out`. */
static void rows(const struct call *call, int64_t task, unsigned char *work)
{
    if (work + OWN > workspace_end) abort();
    memset(work, 0x5a, OWN); /* only one thread may use this memory, which a sanitizer checks */
    call->out[task] += 1;
}

#if PHASES
static void head(const struct call *call, int64_t task, struct part *part)
{
    if (part->slots + SLOT > workspace_end || part->window < 1) abort();
    if (part->number == 0) call->out[task] += 1;
    synchronise(part);
}
#define CHOICE \
    if (n_k >= LONG) \
        return (struct version){ \
            .head = head, .tile = 0, .own = OWN, .shared = SHARED, .slot = SLOT, .slots = SLOTS, .together = 1}; \
    return (struct version){.rows = rows, .tile = TILE, .own = OWN};
#elif FAR_QUERIES
#define CHOICE \
    (void)n_k; \
    return (struct version){.rows = rows, .tile = TILE, .own = OWN, .apart = 3};
#else
#define CHOICE \
    (void)n_k; \
    return (struct version){.rows = rows, .tile = TILE, .own = OWN};
#endif

/* In emitted C, NAME.h has these prototypes. */
size_t SPEC_workspace(const struct attn_problem *problem);
int SPEC_forward(const struct attn_problem *problem, const struct SPEC_params *params, ARRAY_ARGUMENTS,
                 void *workspace);
extern const struct attn_kernel SPEC_kernel;
#include "compiler/emit/embedded/entry.c"
#include "compiler/emit/embedded/call_arrays.c"
#include "compiler/emit/embedded/threads.c"
#include "compiler/emit/embedded/forward.c"
#include "compiler/emit/embedded/backward.c"
#include "compiler/emit/embedded/description.c"

static int32_t ids[2 * (LONG + 1)];
static const struct SPEC_params params = {ids};

/* Calls the kernel. Sets *out to an array with the number of runs of each task. The caller frees it. */
static int called(struct attn_problem problem, float **out, int spare)
{
    const int64_t rows_of_q = problem.batch * problem.heads * problem.n_q,
                  rows_of_k = problem.batch * problem.kv_heads * problem.n_k;
    const size_t bytes = SPEC_kernel.workspace(&problem);
    float *q = calloc((size_t)rows_of_q * DIM, sizeof *q), *k = calloc((size_t)rows_of_k * DIM, sizeof *k),
          *v = calloc((size_t)rows_of_k * DIM, sizeof *v);
    unsigned char *workspace = attn_alloc(bytes);
    *out = calloc((size_t)rows_of_q * DIM, sizeof **out);
    workspace_end = workspace + bytes;
    problem.workspace_bytes = (size_t)((int64_t)bytes + spare);
    const int error = SPEC_kernel.forward(&problem, &params, q, k, v, *out, workspace);
    free(q);
    free(k);
    free(v);
    attn_free(workspace);
    return error;
}

static int64_t tasks_of(const struct attn_problem *p)
{
    if (PHASES && p->n_k >= LONG) return p->batch * p->kv_heads;
    const int64_t step = FAR_QUERIES ? 3 : 1, far = TILE * step;
    return p->batch * p->heads * ((p->n_q + far - 1) / far * step);
}

/* Every task runs exactly once, for several numbers of threads and lengths. */
static void each_task_once(void)
{
    static const int64_t lengths[] = {1, TILE - 1, TILE, TILE + 1, 3 * TILE, 100};
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
        for (int threads = 0; threads <= 7; threads++)
            for (int many = 0; many < 2; many++) {
                const struct attn_problem p = {.batch = 2,
                                               .heads = 6,
                                               .kv_heads = 3,
                                               .n_q = lengths[n],
                                               .n_k = many ? LONG : 5,
                                               .threads = threads};
                float *out;
                CU_ASSERT_FATAL(called(p, &out, 0) == 0);
                const int64_t tasks = tasks_of(&p), all = p.batch * p.heads * p.n_q * DIM;
                for (int64_t k = 0; k < all; k++) CU_ASSERT_FATAL(out[k] == (k < tasks ? 1.0f : 0.0f));
                free(out);
            }
}

static void errors(void)
{
    struct attn_problem p = {.batch = 1, .heads = 2, .kv_heads = 1, .n_q = 20, .n_k = 20, .threads = 2};
    float one[2 * 20 * DIM] = {0}, *out;
    CU_ASSERT(called(p, &out, -1) == ATTN_EWORKSPACE);
    free(out);
    unsigned char *workspace = attn_alloc(SPEC_workspace(&p) + 64);
    workspace_end = workspace + SPEC_workspace(&p);
    CU_ASSERT(SPEC_workspace(NULL) == 0);
    CU_ASSERT(SPEC_forward(NULL, &params, one, one, one, one, workspace) == ATTN_EPOINTER);
    CU_ASSERT(SPEC_forward(&p, &params, NULL, one, one, one, workspace) == ATTN_EPOINTER);
    CU_ASSERT(SPEC_forward(&p, &params, one, one, NULL, one, workspace) == ATTN_EPOINTER);
    CU_ASSERT(SPEC_forward(&p, &params, one, one, one, one, NULL) == ATTN_EPOINTER);
    CU_ASSERT(SPEC_forward(&p, &params, one, one, one, one, workspace + 4) == ATTN_EALIGN);
    CU_ASSERT(SPEC_forward(&p, NULL, one, one, one, one, workspace) == (PARAMS ? ATTN_EPARAM : 0));
    p.kv_heads = 0;
    CU_ASSERT(SPEC_forward(&p, &params, one, one, one, one, workspace) == ATTN_EPROBLEM);
    p = (struct attn_problem){.heads = 1, .kv_heads = 1};
    CU_ASSERT(SPEC_forward(&p, NULL, NULL, NULL, NULL, NULL, NULL) == 0); /* an empty problem needs no arrays */
    attn_free(workspace);
}

/* A workspace for many keys is large enough for fewer keys, and for every setting of OpenMP. */
static void workspace_serves(void)
{
    struct attn_problem few = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = 1, .n_k = 10, .threads = 3}, many = few;
    many.n_k = LONG;
    CU_ASSERT(SPEC_workspace(&many) >= SPEC_workspace(&few) && SPEC_workspace(&few) == 3 * OWN);
    CU_ASSERT(SPEC_workspace(&many) == (PHASES ? 3 * (OWN + SHARED + SLOTS * SLOT) : 3 * OWN));
    few.threads = 0;
    few.workspace_bytes = SPEC_workspace(&few);
    CU_ASSERT(few.workspace_bytes >= OWN * (size_t)threads_served(&few));
    unsigned char *const work = attn_alloc(OWN);
    int threads = 0;
    CU_ASSERT(take_workspace(&few, work, 0, OWN, &threads) == 0 && threads >= 1 &&
              (size_t)threads <= few.workspace_bytes / OWN);
    few.threads = INT32_MAX; /* more than there are processors need room */
    few.workspace_bytes = 0;
    CU_ASSERT(take_workspace(&few, work, 0, OWN, &threads) == 0 && threads >= 1 && threads < 1 << 16);
    few.workspace_bytes = OWN * 5;
    CU_ASSERT(take_workspace(&few, work, 0, OWN, &threads) == ATTN_EWORKSPACE);
    few.threads = 5;
    CU_ASSERT(take_workspace(&few, work, 0, OWN, &threads) == 0 && threads >= 1 && threads <= 5);
    CU_ASSERT(take_workspace(&few, work, 1, OWN, &threads) == ATTN_EWORKSPACE);
    attn_free(work);
}

#if IDS
static void ids_in_order(void)
{
    const struct attn_problem p = {.batch = 2, .heads = 1, .kv_heads = 1, .n_q = 3, .n_k = LONG, .threads = 2};
    float *out;
    for (int k = 0; k < LONG; k++) ids[k] = k / 7, ids[LONG + k] = -k; /* the ids of the second sequence decrease */
    CU_ASSERT(called(p, &out, 0) == ATTN_EORDER);
    free(out);
    for (int k = 0; k < LONG; k++) ids[LONG + k] = -5;
    CU_ASSERT(called(p, &out, 0) == 0);
    free(out);
    CU_ASSERT(id_at(ids, 0, 10) == 0 && id_at(ids, 9, 10) == 1 && id_at(ids, 20, 10) == 1 &&
              id_at(ids, -1, 10) == INT64_MIN);
    const struct ids all = ids_of(ids, 0, 22), before = ids_of(ids, -3, 8), none = ids_of(ids, -3, 0);
    CU_ASSERT(all.min == 0 && all.max == 3 && before.min == INT64_MIN && before.max == 1 && none.max == INT64_MIN);
    memset(ids, 0, sizeof ids);
}

/* Rows 1 and 2 have three integers each. Row 3 has no integer in the range. */
static void listed(void)
{
    const int32_t list[] = {5, 5, 5, -1, 2, 9, 4, 3, -1, 8, 8, -2};
    CU_ASSERT(any_id(list, 3, 1, 2, 2, 3) && any_id(list, 3, 1, 3, 3, 5) && !any_id(list, 3, 1, 3, 5, 9));
    CU_ASSERT(!any_id(list, 3, 3, 4, 0, 8) && any_id(list, 3, 3, 4, 8, 9) && !any_id(list, 3, 2, 2, -9, 99));
}
#endif

#if BF16 || F16
/* Every 16-bit number is preserved. A number between two 16-bit numbers is rounded to the nearer one. */
static void sixteen_bits(void)
{
    for (uint32_t x = 0; x < 0x10000; x++) {
        const float value = widened((uint16_t)x);
        const double said = BF16 ? attn_bf16_value((uint16_t)x) : attn_f16_value((uint16_t)x);
        if (isnan(value)) {
            CU_ASSERT(isnan(said) && isnan(widened(narrowed(value))));
            continue;
        }
        CU_ASSERT_FATAL((double)value == said && narrowed(value) == x);
        const float more = nextafterf(value, INFINITY) * (1 + 0x1p-10f);
        CU_ASSERT_FATAL(narrowed(more) == (BF16 ? attn_bf16((double)more) : attn_f16((double)more)));
    }
}
#endif

/* A thread that asks for tiles of differences in any order finds each element computed for its head, in its memory. */
static void remembered_elements(void)
{
    enum { ROOM = 200, EXTENT = 40, MEMORY = ROOM + EXTENT };
    static int64_t memory[MEMORY]; /* head * 1000 + difference */
    unsigned state = 1;
    for (int64_t all = ROOM / 2; all <= 4 * ROOM; all += ROOM) {
        struct remembered known[2] = {{0, 0, -1000, 1000}, {0, 0, -1000, 1000}};
        forget(&(struct version){.remembered = 1, .remembers = {sizeof *known}}, (unsigned char *)known);
        CU_ASSERT(known[0].head == 0 && known[1].head == -1);
        struct remembered *const r = &known[1];
        int64_t computed = 0;
        for (int k = 0; k < 2000; k++) {
            const int64_t head = k / 500, spread = all - EXTENT;
            state = state * 1664525 + 1013904223;
            const int64_t from = spread > 0 ? -all / 2 + (int64_t)(state >> 8) % spread : -all / 2;
            recall(r, head, from, from + EXTENT, -all / 2, all, ROOM);
            CU_ASSERT_FATAL(from >= r->base && from + EXTENT <= r->base + MEMORY);
            for (int above = 0; above < 2; above++)
                for (int64_t x = above ? r->to : from, end = above ? from + EXTENT : r->from; x < end;
                     x++, computed++) {
                    CU_ASSERT_FATAL(x >= r->base && x < r->base + MEMORY);
                    memory[x - r->base] = head * 1000 + x;
                }
            extend_known(r, from, from + EXTENT);
            for (int64_t x = from; x < from + EXTENT; x++) CU_ASSERT_FATAL(memory[x - r->base] == head * 1000 + x);
        }
        if (all <= ROOM) CU_ASSERT(computed <= 4 * all);
    }
}

/* A thread that asks for tiles of several heads finds each tile computed for its head and ranges, in its memory. Tiles
   that share no place are computed once. */
static void remembered_tiles(void)
{
    enum { PLACES = 5, STEP = 16, LENGTH = 40, TILES = (LENGTH + STEP - 1) / STEP };
    static struct known_tile memory[1 + PLACES];
    int64_t held[PLACES], computed[2] = {0};
    struct remembered *const r = (struct remembered *)(void *)memory;
    CU_ASSERT(sizeof *memory == 64);
    memset(memory, 0, sizeof memory);
    forget(&(struct version){.remembered = 1}, (unsigned char *)memory);
    for (int sequence = 0; sequence < 4; sequence++)
        for (int64_t head = 0; head < 3; head++)
            for (int64_t tile = 0; tile < TILES; tile++) {
                /* the second half of the sequences has fewer keys */
                const int64_t from = tile * STEP, to = min(from + STEP, sequence < 2 ? LENGTH : LENGTH - 1),
                              number = head * TILES + tile;
                struct known_tile *const known = place_of_tile(r, number, PLACES);
                const int64_t place = known - memory - 1;
                CU_ASSERT_FATAL(place == min(number, PLACES - 1));
                if (!knows_tile(known, head, 0, 1, from, to)) {
                    computed[place == PLACES - 1]++;
                    held[place] = head * 10000 + from * 100 + to;
                }
                CU_ASSERT(held[place] == head * 10000 + from * 100 + to);
            }
    /* the last tile of head 0 shares no place, and is computed once more for fewer keys */
    CU_ASSERT(computed[0] == PLACES && computed[1] == 4 * (3 * TILES - PLACES + 1));
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"entry/each_task_once", each_task_once},     {"entry/errors", errors},
        {"entry/workspace_serves", workspace_serves}, {"entry/remembered_elements", remembered_elements},
        {"entry/remembered_tiles", remembered_tiles},
#if IDS
        {"entry/ids_in_order", ids_in_order},         {"entry/listed", listed},
#endif
#if BF16 || F16
        {"entry/sixteen_bits", sixteen_bits},
#endif
    };
    (void)min;
    (void)round_up;
    return unit_tests_run("entry", tests, sizeof tests / sizeof *tests);
}
