/* Tests states of runtime/call/ with toy kernels, whose results are sums of whole numbers. Random calls are compared
   with the list of the tokens of each sequence. */
#include "toy_kernel.h"

#include "runtime/kernel/pages.h"

enum { BATCH = 3, HEADS = 4, KV_HEADS = 2, CHUNK = 4, LEFT = 5, LONGEST = 600, CAPACITY = 90, REWIND = 6, TOKENS = 16 };
enum { KEPT = 64, SLOT = 64, PAGES = 2 * BATCH * (LONGEST / TOKENS + 1) };

/* ---- loops ---- */

/* The sums of a head over the keys before call->summed: of v, of the decays from each key to the last one, and the
   number of keys. A kernel with transitions changes the sign of the sums at each key; `sign` is the product. */
struct sums {
    float v, decay, keys, sign;
};

/* Returns the prefix sum at position j. */
static float prefix_at(const struct call *call, enum prefix_array array, int64_t task, int64_t j)
{
    return *toy_row(call, call->kernel->prefix[array], task / call->p.kv_heads,
                    task % call->p.kv_heads * (HEADS / KV_HEADS), j);
}

/* Adds a key, which is `decay` after the sums. */
static void add_key(struct sums *sum, float v, float decay, float sign)
{
    sum->v = sign * sum->v + v;
    sum->sign *= sign;
    sum->decay += sum->keys * decay;
    sum->keys++;
}

/* Appends keys to the sums, which then have all whole chunks, and writes the rows of queries. */
static void extend(const struct call *call, int64_t task, struct share *share)
{
    const struct attn_problem *const p = &call->p;
    struct sums *const kept = (struct sums *)(void *)(call->kept + task * KEPT);
    struct sums run = *kept;
    const int64_t b = task / p->kv_heads, g = task % p->kv_heads, whole = p->n_k - p->n_k % CHUNK;
    if (share->number > 0) return;
    if (call->length == call->start) *kept = run = (struct sums){0, 0, 0, 1};
    for (int64_t j = call->summed; j < p->n_k; j++) {
        unsigned char *const stored = j % CHUNK == 0 ? stored_sums(call, task, j / CHUNK, CHUNK, SLOT) : NULL;
        const float v = *toy_row(call, V, b, g, j);
        if (stored && !call->asked) *(float *)(void *)stored = v;
        if (stored && call->asked && *(float *)(void *)stored != v) abort();
        const float decay = call->kernel->prefix_row ? prefix_at(call, PREFIX_OF_CHUNK, task, j) -
                                                           prefix_at(call, PREFIX_OF_CHUNK, task, j - 1)
                                                     : 0;
        add_key(&run, v, decay, call->kernel->transitions ? -1 : 1);
        if (j + 1 == whole && p->n_k - call->summed >= CHUNK) *kept = run;
        for (int64_t i = j - (p->n_k - p->n_q), m = 0; i >= 0 && m < HEADS / KV_HEADS; m++)
            *toy_row(call, OUT, b, g * (HEADS / KV_HEADS) + m,
                     i) = *toy_row(call, Q, b, g * (HEADS / KV_HEADS) + m, i) + run.v + run.decay;
    }
}

static void join(const struct call *call, int64_t task, unsigned char *work)
{
    struct sums *const to = (struct sums *)(void *)(call->kept + task * KEPT);
    const struct sums *const from = (const struct sums *)(const void *)(call->folded + task * KEPT);
    const int64_t n = call->p.n_k;
    (void)work;
    if (call->kernel->prefix_row)
        to->decay += to->keys *
                     (prefix_at(call, PREFIX_OF_CHUNK, task, n - 1) - prefix_at(call, PREFIX_OF_CHUNK, task, n - 2));
    to->v = (call->kernel->transitions ? from->sign : 1) * to->v + from->v;
    to->sign *= from->sign;
    to->decay += from->decay;
    to->keys += from->keys;
}

/* Writes the terms of prefix sums. All heads have the terms of key/value head 0. */
static void write_terms(const struct call *call, int64_t task, unsigned char *work)
{
    (void)work;
    for (int64_t i = 0; i < call->p.n_q; i++)
        *toy_row(call, call->kernel->prefix[PREFIX_OF_KEY], task / call->p.heads, task % call->p.heads,
                 i) = (float)((int)*toy_row(call, K, task / call->p.heads, 0, call->p.n_k - call->p.n_q + i) % 3);
}

/* Sums the rows of all keys, or of LEFT keys and the query's own. */
static void attend(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_problem *const p = &call->p;
    const int64_t b = task / p->heads, h = task % p->heads, g = h / (HEADS / KV_HEADS), start = p->n_k - p->n_q;
    (void)work;
    for (int64_t i = 0; i < p->n_q; i++) {
        float sum = *toy_row(call, Q, b, h, i);
        for (int64_t j = call->kernel->by_capacity ? 0 : max(0, start + i - LEFT); j <= start + i; j++)
            sum += call->pages ? *(const float *)paged_row(call, b, toy_row(call, V, 0, g, 0), DIM * 4, j, p->n_k)
                               : *toy_row(call, V, b, g, j);
        *toy_row(call, OUT, b, h, i) = sum;
    }
}

/* ---- kernels ---- */

#define TOY_EXTEND(role_) \
    {.role = role_, \
     .tile = 0, \
     .head = extend, \
     .own = 64, \
     .slot = SLOT, \
     .slots = 2, \
     .chunk = CHUNK, \
     .kept = KEPT, \
     .join = join}
static const struct program programs[] = {TOY_EXTEND(RUN_EXTEND),
                                          TOY_EXTEND(RUN_FOLDABLE),
                                          {.role = RUN_TERMS, .tile = -1, .rows = write_terms, .own = 64},
                                          {.role = RUN_FORWARD, .tile = -1, .rows = attend, .own = 64}};
static const struct target targets[] = {{NULL, programs, sizeof programs / sizeof *programs}};
static const struct kept_array kept_arrays[] = {{K, DIM * 4, ATTN_KV_HEADS, 0, 0, 0},
                                                {V, DIM * 4, ATTN_KV_HEADS, 0, 0, 0},
                                                {PREFIX + 2, 4, ATTN_HEADS, 0, 0, 0},
                                                {PREFIX + 3, 4, ATTN_HEADS, 0, 0, 0}};
#define TOY_STATE TOY_KERNEL(targets), .decodes = 1, .moves = 1, .terms_move = 1, .kept_array = kept_arrays, .sums = 2
enum kind { SUMS, DECAYS, SIGNS, WINDOW, ALL, PAGED, KINDS };
static const struct kernel kernels[KINDS] = {
    {TOY_STATE, .carried = 1, .folds = 1, .joins = 1, .any_order = 1, .uncopied = 1, .chunk_sums = 1,
     .rows_kept = 2 * CHUNK, .kept_arrays = 2, .given = 2},
    {TOY_STATE, .carried = 1, .folds = 1, .joins = 1, .uncopied = 1, .rows_kept = 2 * CHUNK, .prefix_row = 1,
     .sum_tokens = 20, .kept_arrays = 4, .given = 4},
    {TOY_STATE, .carried = 1, .transitions = 1, .joins = 1, .rows_kept = CHUNK, .kept_arrays = 2, .given = 2},
    {TOY_STATE, .uncopied = 1, .rows_move = 1, .read_back = LEFT, .rows_kept = LEFT + 8, .kept_arrays = 2, .given = 2},
    {TOY_STATE, .by_capacity = 1, .rows_move = 1, .read_back = -1, .rows_kept = 255, .kept_arrays = 2, .given = 2},
    {TOY_STATE, .by_capacity = 1, .rows_move = 1, .paged = 1, .read_back = -1, .rows_kept = 255, .kept_arrays = 2,
     .given = 2}};

/* ---- states, and lists of tokens ---- */

struct tokens {
    int x[LONGEST];
    int64_t length, draft, furthest; /* furthest: the sequence was never longer, or -1 after a fold */
};
struct pair { /* a state, and the tokens that it should have */
    enum kind kind;
    struct attn_problem p;
    struct attn_pages pages;
    int32_t table[BATCH][LONGEST / TOKENS + 1];
    void *state;
    struct tokens sequence[BATCH];
};

static unsigned char *page_memory;

/* Makes an empty state. `number` is 0 or 1; two states have different pages. */
static void begin(struct pair *s, enum kind kind, int number, int64_t rewind)
{
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->p = (struct attn_problem){.batch = BATCH,
                                 .heads = HEADS,
                                 .kv_heads = KV_HEADS,
                                 .capacity = kind == ALL ? CAPACITY : 0,
                                 .rewind = kind < ALL ? rewind : 0,
                                 .foldable = kind == SIGNS};
    if (kind == PAGED) {
        s->pages = (struct attn_pages){.tokens = TOKENS,
                                       .count = PAGES,
                                       .table = &s->table[0][0],
                                       .row = LONGEST / TOKENS + 1,
                                       .base = page_memory};
        s->p.pages = &s->pages;
        s->pages.bytes = attn_call_page(&kernels[kind], &s->p);
        for (int k = 0; k < BATCH * (LONGEST / TOKENS + 1); k++)
            (&s->table[0][0])[k] = PAGES / 2 * number + (k * 7 + 3) % (PAGES / 2);
    }
    s->p.state_bytes = attn_call_state(&kernels[kind], &s->p);
    s->state = attn_alloc(s->p.state_bytes);
    CU_ASSERT_FATAL(s->p.state_bytes > 0 && attn_call_state_init(&kernels[kind], &s->p, s->state) == 0);
}

static int64_t min_length(const struct pair *s, int64_t b)
{
    return attn_call_state_min_length(&kernels[s->kind], &s->p, s->state, b);
}

/* Returns the result of the query of token i. */
static float wanted(const struct pair *s, const struct tokens *t, int64_t i, int64_t h)
{
    const int64_t g = h / (HEADS / KV_HEADS);
    float sum = (float)(h + t->x[i]);
    for (int64_t j = s->kind == WINDOW ? max(0, i - LEFT) : 0, decay = 0; j <= i; j++) {
        sum += (float)(t->x[j] + 100 * g) * (s->kind == SIGNS && (i - j) % 2 ? -1 : 1);
        if (s->kind == DECAYS && j > 0) decay += j * (t->x[j] % 3); /* token j is after j tokens */
        if (j == i) sum += (float)decay;
    }
    return sum;
}

/* Appends n[b] random tokens to each sequence, and checks the rows of their queries. Returns the call's error. */
static int grow(struct pair *s, const int64_t *n, int asks, int in_one_row, int threads, uint32_t *random)
{
    const struct kernel *const kernel = &kernels[s->kind];
    struct attn_problem p = s->p;
    int64_t starts[BATCH + 1] = {0}, most = 0;
    for (int b = 0; b < BATCH; b++) starts[b + 1] = starts[b] + n[b], most = max(most, n[b]);
    const int64_t rows = in_one_row ? starts[BATCH] : most, sequences = in_one_row ? 1 : BATCH;
    float *const q = calloc((size_t)(sequences * rows * HEADS * DIM + 1), 4),
                 *const k = calloc((size_t)(sequences * rows * KV_HEADS * DIM + 1), 4),
                 *const v = calloc((size_t)(sequences * rows * KV_HEADS * DIM + 1), 4),
                 *const out = calloc((size_t)(sequences * rows * HEADS * DIM + 1), 4);
    for (int b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n[b]; i++) {
            const int x = (int)toy_random(random, 50);
            const int64_t row = in_one_row ? starts[b] + i : i, first = in_one_row ? 0 : b;
            s->sequence[b].x[s->sequence[b].length + i] = x;
            for (int64_t h = 0; h < HEADS; h++) q[((first * HEADS + h) * rows + row) * DIM] = (float)(h + x);
            for (int64_t g = 0; g < KV_HEADS; g++) {
                k[((first * KV_HEADS + g) * rows + row) * DIM] = (float)x;
                v[((first * KV_HEADS + g) * rows + row) * DIM] = (float)(x + 100 * g);
            }
        }
    p.n_q = rows;
    p.lengths = in_one_row ? NULL : n;
    p.cu_seqlens = in_one_row ? starts : NULL;
    p.threads = threads;
    p.workspace_bytes = attn_call_extend_workspace(kernel, &p);
    unsigned char *const workspace = attn_alloc(p.workspace_bytes);
    const int error = attn_call_extend(
        kernel, &p, NULL, (const void *const[]){asks ? q : NULL, k, v, asks ? out : NULL}, s->state, workspace);
    for (int b = 0; b < BATCH && !error; b++) {
        struct tokens *const t = &s->sequence[b];
        if (n[b]) t->draft = t->length;
        t->length += n[b];
        if (t->furthest >= 0) t->furthest = max(t->furthest, t->length);
        CU_ASSERT_FATAL(attn_call_state_length(kernel, &s->p, s->state, b) == t->length);
        CU_ASSERT_FATAL(t->furthest < 0 || min_length(s, b) <= max(0, t->furthest - s->p.rewind));
        for (int64_t i = 0; i < n[b] && asks; i++)
            for (int64_t h = 0; h < HEADS; h++)
                CU_ASSERT_FATAL(
                    out[(((in_one_row ? 0 : b) * HEADS + h) * rows + (in_one_row ? starts[b] : 0) + i) * DIM] ==
                    wanted(s, t, t->length - n[b] + i, h));
    }
    free(q);
    free(k);
    free(v);
    free(out);
    attn_free(workspace);
    return error;
}

/* Drops tokens from `length` on. */
static void cut(struct tokens *t, int64_t length)
{
    t->length = length;
    t->draft = min(t->draft, length);
    if (length == 0) t->furthest = 0;
}

/* ---- random calls ---- */

static void truncate(struct pair *s, uint32_t *random)
{
    const int b = (int)toy_random(random, BATCH);
    struct tokens *const t = &s->sequence[b];
    const int64_t length = toy_random(random, 3) ? max(0, t->length - toy_random(random, 12)) : 0,
                  least = min_length(s, b);
    const int error = attn_call_state_truncate(&kernels[s->kind], &s->p, s->state, b, length);
    CU_ASSERT_FATAL(error == (length == 0 || length >= least ? 0 : ATTN_ELENGTH));
    CU_ASSERT_FATAL(attn_call_state_truncate(&kernels[s->kind], &s->p, s->state, b, t->length + 1) == ATTN_ELENGTH);
    if (!error) cut(t, length);
}

/* Keeps some tokens of the last call. */
static void keep(struct pair *s, uint32_t *random)
{
    const int b = (int)toy_random(random, BATCH);
    struct tokens *const t = &s->sequence[b];
    int64_t path[LONGEST], count = 0, moves = 0;
    for (int64_t k = 0; k < t->length - t->draft; k++)
        if (toy_random(random, 4)) moves |= count != k, path[count++] = k;
    const int64_t length = t->draft + count, least = min_length(s, b);
    const int error = attn_call_state_keep(&kernels[s->kind], &s->p, s->state, b, path, count),
              sums_move = moves && s->kind <= SIGNS,
              far = s->kind == WINDOW && moves && t->length - t->draft > LEFT + s->p.rewind;
    CU_ASSERT_FATAL(error == (sums_move || (length > 0 && length < least) ? ATTN_ELENGTH : 0) ||
                    (far && error == ATTN_ELENGTH));
    for (int64_t k = 0; k < count && !error; k++) t->x[t->draft + k] = t->x[t->draft + path[k]];
    if (!error) cut(t, length);
}

static void copy(struct pair *to, const struct pair *from, uint32_t *random)
{
    const int b = (int)toy_random(random, BATCH), c = (int)toy_random(random, BATCH);
    CU_ASSERT_FATAL(attn_call_state_copy(&kernels[to->kind], &to->p, to->state, b, from->state, c) == 0);
    to->sequence[b] = from->sequence[c];
    for (int64_t x = 0; to->kind == PAGED && x < from->pages.row && to != from; x++) /* the caller copies pages */
        memcpy(page_memory + (size_t)to->table[b][x] * to->pages.bytes,
               page_memory + (size_t)from->table[c][x] * to->pages.bytes, to->pages.bytes);
}

/* Appends the sequences of `right` to those of `left`. Decays and signs need whole chunks in `left`. */
static void fold(struct pair *left, const struct pair *right)
{
    for (int b = 0; b < BATCH && (left->kind == DECAYS || left->kind == SIGNS); b++) {
        const int64_t whole = left->sequence[b].length / CHUNK * CHUNK;
        if (attn_call_state_truncate(&kernels[left->kind], &left->p, left->state, b, whole) == 0)
            cut(&left->sequence[b], whole);
    }
    const int error = attn_call_state_fold(&kernels[left->kind], &left->p, left->state, right->state);
    if (left->kind > SIGNS) CU_ASSERT_FATAL(error == ATTN_EFOLD);
    CU_ASSERT_FATAL(error == 0 || error == ATTN_EFOLD || error == ATTN_ECAPACITY ||
                    (left->kind != SUMS && error == ATTN_ELENGTH));
    for (int b = 0; b < BATCH && !error; b++) {
        struct tokens *const l = &left->sequence[b];
        const struct tokens *const r = &right->sequence[b];
        if (r->length == 0) continue;
        memcpy(l->x + l->length, r->x, (size_t)r->length * sizeof *r->x);
        l->draft = l->length += r->length;
        l->furthest = -1;
    }
}

static void calls_of(enum kind kind)
{
    int64_t most = kind == ALL ? CAPACITY : LONGEST / 4;
    for (uint32_t seed = 0; seed < 12; seed++) {
        static struct pair pairs[2];
        uint32_t random = seed * 77 + 5;
        for (int k = 0; k < 2; k++) begin(&pairs[k], kind, k, seed % 3 * REWIND / 2);
        for (int round = 0; round < 150; round++) {
            struct pair *const s = &pairs[toy_random(&random, 2)], *const other = s == pairs ? pairs + 1 : pairs;
            int64_t n[BATCH], longest = 0, longest_of_other = 0;
            const uint32_t all = toy_random(&random, 30), alike = toy_random(&random, 3);
            for (int b = 0; b < BATCH; b++) {
                n[b] = alike ? all / alike : toy_random(&random, 9);
                longest = max(longest, s->sequence[b].length + n[b]);
                longest_of_other = max(longest_of_other, other->sequence[b].length);
            }
            switch (toy_random(&random, 8)) {
            case 0: truncate(s, &random); break;
            case 1: keep(s, &random); break;
            case 2: copy(s, toy_random(&random, 2) && kind != PAGED ? s : other, &random); break;
            case 3:
                if (longest < LONGEST / 2 && longest_of_other < LONGEST / 2) fold(s, other);
                break;
            default: {
                const int error = longest > 2 * most ? 1
                                                     : grow(s, n, toy_random(&random, 4) > 0,
                                                            (int)toy_random(&random, 2), 1 + (int)seed % 3, &random);
                CU_ASSERT_FATAL(error == (longest > 2 * most                  ? 1
                                          : kind == ALL && longest > CAPACITY ? ATTN_ECAPACITY
                                                                              : 0));
                for (int b = 0; b < BATCH && error; b++) {
                    CU_ASSERT_FATAL(attn_call_state_truncate(&kernels[kind], &s->p, s->state, b, 0) == 0);
                    cut(&s->sequence[b], 0);
                }
            }
            }
        }
        for (int k = 0; k < 2; k++) attn_free(pairs[k].state);
    }
}

static void sums(void)
{
    calls_of(SUMS);
}
static void decays(void)
{
    calls_of(DECAYS);
}
static void signs(void)
{
    calls_of(SIGNS);
}
static void window(void)
{
    calls_of(WINDOW);
}
static void all_keys(void)
{
    calls_of(ALL);
}
static void paged(void)
{
    page_memory = attn_alloc(PAGES * 1024);
    calls_of(PAGED);
    attn_free(page_memory);
}

/* ---- other calls ---- */

/* After a fold, the keys that are not in the sums can fill a chunk. A state with earlier sums can still grow, by any
   number of tokens, and go back. */
static void chunk_after_fold(void)
{
    for (int64_t rewind = 0; rewind <= 2 * CHUNK; rewind += CHUNK)
        for (int64_t more = 1; more < 4 * CHUNK; more++) {
            static struct pair left, right;
            uint32_t random = (uint32_t)more;
            const int64_t open[BATCH] = {CHUNK - 1, CHUNK + 3, 2 * CHUNK + 2}, n[BATCH] = {more, more, more};
            begin(&left, SUMS, 0, rewind);
            begin(&right, SUMS, 1, rewind);
            CU_ASSERT_FATAL(grow(&left, open, 1, 0, 1, &random) == 0 && grow(&right, open, 1, 0, 1, &random) == 0);
            fold(&left, &right);
            CU_ASSERT_FATAL(left.sequence[0].length == 2 * (CHUNK - 1));
            CU_ASSERT(grow(&left, n, 1, 0, 2, &random) == 0 && grow(&left, n, 1, 0, 2, &random) == 0);
            for (int b = 0; b < BATCH; b++) truncate(&left, &random);
            CU_ASSERT(grow(&left, n, 1, 0, 1, &random) == 0);
            attn_free(left.state);
            attn_free(right.state);
        }
}

/* A sequence that goes back to its first chunk begins its sums again, also if it was longer before it was empty. */
static void back_to_first_chunk(void)
{
    for (int kind = SUMS; kind <= SIGNS; kind++)
        for (int used = 0; used < 2; used++) {
            static struct pair left, right;
            uint32_t random = 3;
            const int64_t n[BATCH] = {2 * CHUNK, 2 * CHUNK, 2 * CHUNK};
            begin(&left, (enum kind)kind, 0, 2 * CHUNK);
            begin(&right, (enum kind)kind, 1, 2 * CHUNK);
            CU_ASSERT_FATAL(grow(&left, n, 1, 0, 1, &random) == 0);
            for (int k = 0; k <= used; k++) {
                CU_ASSERT_FATAL(grow(&right, n, 1, 0, 1, &random) == 0);
                for (int b = 0; b < BATCH; b++) {
                    const int64_t length = k == used ? b : 0;
                    CU_ASSERT(attn_call_state_truncate(&kernels[kind], &right.p, right.state, b, length) == 0);
                    cut(&right.sequence[b], length);
                }
            }
            CU_ASSERT_FATAL(grow(&right, n, 1, 0, 1, &random) == 0);
            fold(&left, &right);
            CU_ASSERT(left.sequence[0].length == 4 * CHUNK && grow(&left, n, 1, 0, 1, &random) == 0);
            attn_free(left.state);
            attn_free(right.state);
        }
}

/* Heads of a sequence go to other states and back. */
static void parts(void)
{
    for (int kind = SUMS; kind <= ALL; kind++) {
        static struct pair from, to;
        uint32_t random = 9;
        const int64_t n[BATCH] = {9, 14, 3};
        begin(&from, (enum kind)kind, 0, REWIND);
        begin(&to, (enum kind)kind, 1, REWIND);
        CU_ASSERT_FATAL(grow(&from, n, 1, 0, 1, &random) == 0 && grow(&to, n, 1, 0, 1, &random) == 0);
        struct attn_problem p = from.p;
        p.batch = 1;
        p.heads = HEADS / KV_HEADS;
        p.kv_heads = 1;
        p.state_bytes = 0;
        void *const part = attn_alloc(attn_call_state(&kernels[kind], &p));
        for (int64_t g = 0; g < KV_HEADS; g++) { /* sequence 1 of `from` becomes sequence 2 of `to` */
            CU_ASSERT(attn_call_state_init(&kernels[kind], &p, part) == 0);
            CU_ASSERT(attn_call_state_part(&kernels[kind], &from.p, from.state, 1, g, &p, part, 0) == 0);
            CU_ASSERT(attn_call_state_part(&kernels[kind], &to.p, to.state, 2, g, &p, part, 1) == 0);
        }
        CU_ASSERT(attn_call_state_part(&kernels[kind], &to.p, to.state, 2, KV_HEADS, &p, part, 1) == ATTN_EPROBLEM);
        to.sequence[2] = from.sequence[1];
        CU_ASSERT(grow(&to, n, 1, 1, 1, &random) == 0);
        attn_free(part);
        attn_free(from.state);
        attn_free(to.state);
    }
}

/* A call without queries writes the sums of chunks, and a later one reads them. */
static void sums_of_chunks(void)
{
    static struct pair s;
    uint32_t random = 4;
    const int64_t n[BATCH] = {3 * CHUNK + 1, 3 * CHUNK + 1, 3 * CHUNK + 1};
    begin(&s, SUMS, 0, 0);
    s.p.n_q = n[0];
    const size_t bytes = attn_call_chunk_sums(&kernels[SUMS], &s.p);
    CU_ASSERT(bytes == BATCH * KV_HEADS * 4 * SLOT);
    s.p.chunk_sums = attn_alloc(bytes);
    s.p.chunk_sums_bytes = bytes - 1;
    CU_ASSERT(grow(&s, n, 0, 0, 1, &random) == ATTN_EWORKSPACE);
    s.p.chunk_sums_bytes = bytes;
    for (int asks = 0; asks < 2; asks++) {
        random = 4;
        CU_ASSERT(grow(&s, n, asks, 0, 1, &random) == 0);
        for (int b = 0; b < BATCH; b++) {
            CU_ASSERT(attn_call_state_truncate(&kernels[SUMS], &s.p, s.state, b, 0) == 0);
            cut(&s.sequence[b], 0);
        }
    }
    attn_free(s.p.chunk_sums);
    attn_free(s.state);
}

static void errors(void)
{
    static struct pair s;
    uint32_t random = 1;
    const int64_t n[BATCH] = {5, 0, 7}, negative[BATCH] = {5, -1, 7};
    const struct kernel *const kernel = &kernels[SUMS];
    begin(&s, SUMS, 0, REWIND);
    CU_ASSERT(grow(&s, n, 1, 0, 1, &random) == 0);
    CU_ASSERT(attn_call_state_chunk(kernel, &s.p) == CHUNK && attn_call_page(kernel, &s.p) == 0);
    CU_ASSERT(attn_call_state_length(kernel, &s.p, NULL, 0) == ATTN_EPOINTER);
    CU_ASSERT(attn_call_state_length(kernel, &s.p, (char *)s.state + 8, 0) == ATTN_EALIGN);
    CU_ASSERT(attn_call_state_length(kernel, &s.p, s.state, BATCH) == ATTN_EPROBLEM);
    CU_ASSERT(attn_call_state_length(&kernels[WINDOW], &s.p, s.state, 0) == ATTN_ESTATE);
    CU_ASSERT(attn_call_state_fold(kernel, &s.p, s.state, s.state) == ATTN_EPOINTER);
    CU_ASSERT(attn_call_state_keep(kernel, &s.p, s.state, 0, NULL, 1) == ATTN_EPOINTER);
    CU_ASSERT(attn_call_state_keep(kernel, &s.p, s.state, 0, (const int64_t[]){1, 1}, 2) == ATTN_ELENGTH);
    struct attn_problem p = s.p;
    p.state_bytes--;
    CU_ASSERT(attn_call_state_length(kernel, &p, s.state, 0) == ATTN_ESTATE);
    p = s.p;
    p.heads *= 2;
    p.state_bytes = 0;
    CU_ASSERT(attn_call_state_length(kernel, &p, s.state, 0) == ATTN_ESTATE);
    p = s.p;
    p.start = CHUNK + 1;
    CU_ASSERT(attn_call_state_init(kernel, &p, s.state) == ATTN_ELENGTH);
    p = s.p;
    p.n_q = 7;
    p.lengths = negative;
    float rows[BATCH * 7 * HEADS * DIM] = {0}, out[BATCH * 7 * HEADS * DIM];
    unsigned char *const workspace = attn_alloc(attn_call_extend_workspace(kernel, &p));
    const void *const argument[] = {rows, rows, rows, out};
    CU_ASSERT(attn_call_extend(kernel, &p, NULL, argument, s.state, workspace) == ATTN_EPROBLEM);
    p.lengths = n;
    CU_ASSERT(attn_call_extend(kernel, &p, NULL, (const void *const[]){rows, rows, NULL, out}, s.state, workspace) ==
              ATTN_EPOINTER);
    CU_ASSERT(attn_call_extend(kernel, &p, NULL, (const void *const[]){rows, rows, rows, NULL}, s.state, workspace) ==
              ATTN_EPOINTER);
    CU_ASSERT(attn_call_extend(kernel, &p, NULL, argument, s.state, NULL) == ATTN_EPOINTER);
    p.workspace_bytes = 64;
    CU_ASSERT(attn_call_extend(kernel, &p, NULL, argument, s.state, workspace) == ATTN_EWORKSPACE);
    p.workspace_bytes = 0;
    CU_ASSERT(attn_call_state_length(kernel, &p, s.state, 2) == 7); /* calls with errors append nothing */
    CU_ASSERT(attn_call_extend(kernel, &p, NULL, argument, s.state, workspace) == 0);
    ((struct state_header *)s.state)->check ^= 1; /* a damaged state */
    CU_ASSERT(attn_call_extend(kernel, &p, NULL, argument, s.state, workspace) == ATTN_ESTATE);
    attn_free(workspace);
    attn_free(s.state);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"call_state/sums", sums},
        {"call_state/decays", decays},
        {"call_state/signs", signs},
        {"call_state/window", window},
        {"call_state/all_keys", all_keys},
        {"call_state/paged", paged},
        {"call_state/chunk_after_fold", chunk_after_fold},
        {"call_state/back_to_first_chunk", back_to_first_chunk},
        {"call_state/parts", parts},
        {"call_state/sums_of_chunks", sums_of_chunks},
        {"call_state/errors", errors},
    };
    return unit_tests_run("call_state", tests, sizeof tests / sizeof *tests);
}
