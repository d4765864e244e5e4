/* Calls every entry point with drawn arguments: all sizes from 0 on, arrays with strides and gaps, states with and
 * without pages, and hostile numbers, pointers and strides. Each array has exactly the bytes that the call declares, so
 * that AddressSanitizer finds every access outside.
 * - A call that keeps the rules of attnrt.h must give the bits of a call with contiguous arrays on one thread.
 * - A call that breaks one must return an error and write nothing.
 * calls.py builds it with -DKERNEL=NAME_kernel and sanitizers. Its arguments are a seed, a number of calls, and 1 if
 * the kernel needs as many key/value heads as heads. */
#include "calls_arrays.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- one call of forward and backward ---- */

static int processors(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

static int64_t draw_length(void)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 7, 16, 17, 33};
    return lengths[pick(sizeof lengths / sizeof *lengths)];
}

static struct attn_problem draw_problem(void)
{
    struct attn_problem p = {.batch = 1 + pick(3), .kv_heads = 1 + pick(2), .n_q = draw_length(), .n_k = draw_length()};
    if (once_in(12)) p.batch = 0;
    p.heads = p.kv_heads * (same_heads ? 1 : 1 + pick(3));
    if (once_in(16)) p.heads = p.kv_heads = 0;
    p.threads = (int)pick(4);
    p.seed = (uint64_t)pick(3);
    p.capacity = CAPACITY;
    return p;
}

static struct attn_strides *strides_of(struct attn_problem *p, enum array a)
{
    struct attn_strides *const of[ARRAYS] = {&p->q, &p->k, &p->v, &p->out, &p->dout, &p->dq, &p->dk, &p->dv};
    return of[a];
}

static const char *const names[ARRAYS] = {"q", "k", "v", "out", "dout", "dq", "dk", "dv"};
static bool written(enum array a)
{
    return a == OUT || a >= DQ;
}

static enum attn_dtype dtype_of(enum array a, bool appended)
{
    return appended ? kernel->dtype : a == K ? kernel->key_dtype : a == V ? kernel->value_dtype : kernel->dtype;
}

/* Returns the array of a problem, without memory. */
static struct rows shape_of(const struct attn_problem *p, enum array a, bool appended)
{
    const bool keys = a == K || a == V || a >= DK, wide_row = a == V || a == OUT || a == DOUT || a == DV,
               narrow = a == Q || a == DQ || a == K || a == DK;
    const int64_t of_keys = narrow && p->key_heads ? p->key_heads : p->kv_heads,
                  of_queries = narrow && p->key_heads ? p->key_heads : p->heads,
                  elements = wide_row ? kernel->value_dim : kernel->head_dim;
    const enum attn_dtype dtype = dtype_of(a, appended);
    const size_t element = attn_dtype_size(dtype);
    struct rows made = {.count = {p->batch, keys ? of_keys : of_queries, keys ? p->n_k : p->n_q}, .element = element};
    made.dim = dtype == kernel->dtype ? elements : attn_row_bytes(dtype, elements) / (int64_t)element;
    return made;
}

/* The argument of a call that is hostile. */
enum attack {
    NONE,
    SIZES,
    STRIDE,
    THREADS,
    POINTER,
    PARAM,
    PARAM_STRIDE,
    SHORT,
    ALIGN,
    SHARED,
    SAVED,
    KEY_HEADS,
    START,
    ATTACKS
};
static const char *const attacks[ATTACKS] = {"",
                                             "a size",
                                             "a stride",
                                             "threads",
                                             "NULL",
                                             "a parameter that is NULL",
                                             "the stride of a parameter",
                                             "a workspace that is a byte short",
                                             "alignment",
                                             "an output that is another array",
                                             "saved values that are a byte short",
                                             "heads of keys",
                                             "query_start"};

static enum verdict worse(enum verdict a, enum verdict b)
{
    return a > b ? a : b;
}

/* Returns whether sizes are valid. */
static enum verdict of_sizes(const struct attn_problem *p)
{
    const int64_t D = kernel->head_dim, E = kernel->value_dim;
    if (p->batch < 0 || p->heads < 0 || p->kv_heads < 0 || p->n_q < 0 || p->n_k < 0 || p->threads < 0) return BAD;
    if (p->heads > 0 && (p->kv_heads == 0 || p->heads % p->kv_heads)) return BAD;
    if (same_heads && p->heads != p->kv_heads) return BAD;
    if (p->key_heads &&
        (p->key_heads < 0 || p->heads != p->kv_heads || p->heads % p->key_heads || kernel->values_are_keys))
        return BAD;
    const enum verdict all = of_elements(
        product((const int64_t[]){p->batch, p->heads, p->n_q, p->n_k, D > E ? D : E}, 5));
    return all == FINE ? FINE : TOO_LARGE;
}

static void random_call(void)
{
    struct attn_problem p = draw_problem(), plain;
    const enum attack attack = once_in(2) ? NONE : (enum attack)(1 + pick(ATTACKS - 1));
    const bool saves = kernel->saved && once_in(2), gives_statistics = kernel->statistics && once_in(2);
    struct rows a[ARRAYS], statistics = {.dim = 1};
    unsigned char *reference[ARRAYS] = {NULL}, *other_statistics = NULL;
    void *given[ARRAYS];
    int64_t starts[4] = {0};
    if (p.heads == p.kv_heads && !kernel->values_are_keys && once_in(4))
        p.key_heads = p.heads > 1 ? 1 + pick(2) * (p.heads - 1) : 0;
    if (attack == SIZES) *(int64_t *[]){&p.batch, &p.heads, &p.kv_heads, &p.n_q, &p.n_k}[pick(5)] = hostile();
    if (attack == KEY_HEADS) p.key_heads = hostile();
    snprintf(what, sizeof what,
             "forward and backward, batch %lld, heads %lld on %lld of %lld, %lld queries, %lld keys%s%s",
             (long long)p.batch, (long long)p.heads, (long long)p.kv_heads, (long long)p.key_heads, (long long)p.n_q,
             (long long)p.n_k, attack ? "; hostile: " : "", attacks[attack]);
    enum verdict verdict = of_sizes(&p);
    if (attack == THREADS) p.threads = (int[]){INT_MAX, INT_MIN, -1, 1 << 20}[pick(4)];
    if (p.threads < 0) verdict = BAD;
    const enum array target = (enum array)pick(kernel->backward ? ARRAYS : OUT + 1);
    for (enum array n = 0; n < ARRAYS; n++) {
        a[n] = shape_of(&p, n, false);
        const bool ignored = kernel->values_are_keys && (n == V || n == DV);
        if (verdict == FINE && !ignored) a[n].s = draw_strides(&a[n], written(n));
        if (attack == STRIDE && n == target && !ignored) {
            struct attn_strides *const s = &a[n].s;
            *(int64_t *[]){&s->batch, &s->head, &s->row}[pick(3)] = hostile();
        }
        *strides_of(&p, n) = a[n].s;
        verdict = worse(verdict, fill(&a[n], written(n)));
    }
    if (verdict == TOO_LARGE) return;
    if (verdict == BAD)
        for (enum array n = 0; n < ARRAYS; n++) a[n] = (struct rows){.dim = 1, .element = 8};
    for (enum array n = 0; n < ARRAYS; n++) lay(&a[n], dtype_of(n, false), written(n)), given[n] = a[n].at;
    if (verdict == FINE && gives_statistics) {
        statistics = (struct rows){
            .count = {p.batch, p.heads, p.n_q}, .dim = 1, .element = kernel->dtype == ATTN_F64 ? 8 : 4};
        p.statistics_at = statistics.s = draw_strides(&statistics, true);
        if (fill(&statistics, true) != FINE) return;
        lay(&statistics, kernel->dtype, true);
        p.statistics = statistics.at;
        other_statistics = exact(statistics.bytes, 8);
    }
    struct attn_problem sane = p;
    if (verdict == BAD) sane = (struct attn_problem){.batch = 1, .heads = 1, .kv_heads = 1};
    struct params params = draw_params(&sane, false, attack == PARAM_STRIDE, NULL);
    const bool empty = p.batch == 0 || p.heads == 0, none = empty || p.n_q == 0;
    if (params.verdict == TOO_LARGE) return;
    verdict = worse(verdict, params.verdict == BAD ? none ? ANY : BAD : FINE);
    enum verdict of_forward = verdict, of_backward = verdict;
    if (attack == START || once_in(8)) {
        for (int64_t b = 0; b < 4; b++) starts[b] = attack == START ? hostile() : pick(20) - 4;
        p.query_start = p.batch <= 4 ? starts : NULL;
        of_forward = worse(of_forward, ANY),
        of_backward = worse(of_backward, ANY); /* not all kernels take all positions */
    }
    plain = p;
    for (enum array n = 0; n < ARRAYS; n++) *strides_of(&plain, n) = (struct attn_strides){0, 0, 0};
    plain.threads = 1;
    plain.statistics_at = (struct attn_strides){0, 0, 0};
    plain.statistics = other_statistics;
    sane = p;
    if (attack == THREADS) sane.threads = processors();
    if (saves) {
        p.saved_bytes = verdict == BAD ? 64 : kernel->saved(&p);
        p.saved = exact(p.saved_bytes, 64);
        plain.saved = exact(p.saved_bytes, 64);
        if (attack == SAVED && p.saved_bytes) p.saved_bytes--, of_forward = of_backward = none ? ANY : BAD;
    }
    const void *params_given = kernel->params ? params.laid : NULL;
    if (attack == PARAM && kernel->params) {
        if (once_in(3)) params_given = NULL;
        memset(params.laid + kernel->param[pick(kernel->params)].offset, 0, sizeof(void *));
        of_forward = of_backward = none || p.n_k == 0 ? ANY : BAD;
    }
    int misaligned = 0;
    size_t bytes = verdict == BAD ? 4096 : kernel->workspace(&sane), backward_bytes = 0;
    if (kernel->backward) backward_bytes = verdict == BAD ? 4096 : kernel->backward_workspace(&sane);
    if (verdict == BAD) (void)kernel->workspace(&p);
    if (verdict == BAD && kernel->backward) (void)kernel->saved(&p), (void)kernel->backward_workspace(&p);
    unsigned char *work = exact(bytes, 64), *back_work = exact(backward_bytes, 64),
                  *plain_work = exact(bytes > backward_bytes ? bytes : backward_bytes, 64);
    p.workspace_bytes = attack == THREADS ? 0 : bytes;
    if (attack == SHORT) of_forward = none ? ANY : BAD, of_backward = ANY, p.workspace_bytes--;
    if (attack == ALIGN) {
        misaligned = 4;
        of_forward = none ? ANY : BAD;
        of_backward = BAD;
        if (p.batch == 0) of_backward = ANY;
    }
    if (attack == POINTER) {
        given[target] = NULL;
        if (target <= OUT && !(kernel->values_are_keys && target == V) && !none &&
            (target == Q || target == OUT || p.n_k > 0))
            of_forward = BAD;
        of_backward = target < DQ ? ANY : of_backward;
    }
    if (attack == SHARED) {
        const enum array from = (enum array)pick(OUT);
        if (kernel->values_are_keys && from == V) return;
        given[OUT] = given[from];
        of_forward = none ? ANY : BAD;
        of_backward = ANY;
        if (kernel->key_dtype != kernel->dtype) return;
    }
    const int error = kernel->forward(&p, params_given, given[Q], given[K], given[V], given[OUT],
                                      attack == POINTER && once_in(4) ? work : work + misaligned);
    if (of_forward == BAD) check(error < 0, "forward took it", error);
    if (of_forward == FINE) check(error == 0, "forward refused it", error);
    refused += error < 0, served += error == 0;
    const bool same = of_forward != BAD && error == 0 && !none;
    if (same) {
        reference[OUT] = exact(plain_bytes(&a[OUT]), 8);
        kernel->forward(&plain, kernel->params ? params.plain : NULL, a[Q].plain, a[K].plain, a[V].plain,
                        reference[OUT], plain_work);
    }
    if (attack != SHARED) judge_rows(&a[OUT], reference[OUT], "out of forward");
    if (p.statistics) judge_rows(&statistics, same ? other_statistics : NULL, "statistics of forward");
    if (!kernel->backward || attack == SHARED || (error < 0 && of_forward != BAD)) return;
    p.statistics = plain.statistics = NULL;
    p.workspace_bytes = attack == THREADS ? 0 : backward_bytes;
    if (attack == SHORT) p.workspace_bytes--, of_backward = p.batch == 0 ? ANY : BAD;
    if (attack == SAVED || error < 0) of_backward = worse(of_backward, ANY);
    if (saves && none) p.saved = plain.saved = NULL;
    for (enum array n = DQ; n <= DV; n++)
        if (once_in(4)) given[n] = NULL;
    const int failed = kernel->backward(&p, params_given, given[Q], given[K], given[V], given[OUT], given[DOUT],
                                        given[DQ], given[DK], given[DV], once_in(6) ? NULL : params.gradient,
                                        back_work + misaligned);
    if (of_backward == BAD) check(failed < 0, "backward took it", failed);
    if (of_backward == FINE) check(failed == 0, "backward refused it", failed);
    refused += failed < 0, served += failed == 0;
    if (failed || !same || of_backward == BAD) return;
    for (enum array n = DQ; n <= DV; n++)
        if (given[n]) reference[n] = exact(plain_bytes(&a[n]), 8);
    const int again = kernel->backward(&plain, kernel->params ? params.plain : NULL, a[Q].plain, a[K].plain, a[V].plain,
                                       reference[OUT], a[DOUT].plain, reference[DQ], reference[DK], reference[DV],
                                       params.plain_gradient, plain_work);
    check(again == 0, "backward with contiguous arrays", again);
    for (enum array n = DQ; n <= DV; n++)
        if (given[n] && !(kernel->values_are_keys && n == DV)) judge_rows(&a[n], reference[n], names[n]);
}

/* ---- calls with a state ---- */

/* A state whose calls are drawn, and a state that gets the same tokens in contiguous arrays. */
struct twins {
    struct attn_problem p, plain;
    unsigned char *state, *plain_state, *before;
    struct attn_pages pages;
    int32_t *table;
    int next_page;
    struct params whole; /* arrays that are the same in all calls */
    int64_t length[3];
};

static struct twins draw_twins(void)
{
    struct twins t = {.p = draw_problem()};
    if (t.p.batch == 0) t.p.batch = 1;
    if (t.p.heads == 0) t.p.heads = t.p.kv_heads = 1;
    t.p.n_q = t.p.n_k = 0;
    t.p.rewind = pick(3) * 5;
    t.plain = t.p;
    t.plain.threads = 1;
    t.pages = (struct attn_pages){.count = 3 * ROW, .tokens = TOKENS, .row = ROW};
    t.p.pages = &t.pages;
    t.pages.bytes = kernel->page && once_in(2) ? kernel->page(&t.p) : 0;
    if (t.pages.bytes) {
        t.pages.bytes += 64 * (size_t)pick(2);
        t.pages.table = t.table = exact((size_t)(t.p.batch * ROW) * sizeof *t.table, 8);
        memset(t.table, -1, (size_t)(t.p.batch * ROW) * sizeof *t.table);
        t.pages.base = (unsigned char *)exact(BEFORE_PAGES + (size_t)t.pages.count * t.pages.bytes, 64) + BEFORE_PAGES;
    } else
        t.p.pages = NULL;
    struct attn_problem all = t.p;
    all.n_q = all.n_k = CAPACITY;
    t.whole = draw_params(&all, false, false, NULL);
    t.p.state_bytes = kernel->state(&t.p);
    t.state = exact(t.p.state_bytes, 64);
    t.before = exact(t.p.state_bytes, 64);
    t.plain_state = exact(kernel->state(&t.plain), 64);
    snprintf(what, sizeof what, "state_init");
    check(kernel->state_init(&t.p, t.state) == 0 && kernel->state_init(&t.plain, t.plain_state) == 0, "refused", 0);
    return t;
}

/* An error must leave the state as it was. */
static void judge_state(const struct twins *t, int64_t got, enum verdict verdict)
{
    if (verdict == BAD) check(got < 0, "took it", (long long)got);
    if (verdict == FINE) check(got >= 0, "refused it", (long long)got);
    if (got < 0) check(memcmp(t->state, t->before, t->p.state_bytes) == 0, "the state changed", (long long)got);
    refused += got < 0, served += got >= 0;
}

/* Appends tokens. */
static void extend(struct twins *t)
{
    enum { FEWER = ATTACKS, LENGTHS, ROWS, ALL };
    static const char *const more[] = {"", "lengths", "cu_seqlens"};
    const int attack = once_in(2) ? NONE : 1 + (int)pick(ALL - 1);
    struct attn_problem p = t->p, plain = t->plain;
    struct rows a[OUT + 1];
    int64_t lengths[4] = {0}, ends[4] = {0}, new[3] = {0};
    const bool asked = !once_in(3), packed = once_in(4) && p.batch > 1, ragged = !packed && once_in(2);
    void *given[OUT + 1];
    enum verdict verdict = FINE;
    bool any = false;
    p.n_q = draw_length();
    for (int64_t b = 0; b < p.batch; b++) {
        const int64_t room = CAPACITY - t->length[b];
        new[b] = lengths[b] = ragged ? pick(p.n_q + 1) : p.n_q;
        if (room < new[b]) return;
        if (packed) new[b] = pick(p.n_q / p.batch + 1), ends[b + 1] = ends[b] + new[b];
        any |= new[b] > 0;
    }
    snprintf(what, sizeof what, "extend%s%s%s%s, batch %lld, heads %lld on %lld, %lld tokens%s%s",
             packed ? " in one row" : "", ragged ? ", ragged" : "", asked ? "" : ", without queries",
             p.pages ? ", in pages" : "", (long long)p.batch, (long long)p.heads, (long long)p.kv_heads,
             (long long)p.n_q, attack ? "; hostile: " : "",
             attack < ATTACKS ? attacks[attack] : more[attack - ATTACKS]);
    if (attack == SIZES) {
        int64_t *const size = (int64_t *[]){
            &p.batch, &p.heads, &p.kv_heads, &p.capacity, &p.rewind, &p.key_heads}[pick(6)];
        const int64_t was = *size;
        *size = hostile();
        verdict = *size == was ? FINE : size == &p.capacity || size == &p.rewind || size == &p.key_heads ? ANY : BAD;
        if (verdict == ANY && once_in(2)) return;
    }
    if (attack == THREADS) p.threads = (int[]){INT_MAX, INT_MIN, -1, 1 << 20}[pick(4)];
    if (p.threads < 0) verdict = BAD;
    struct attn_problem shaped = t->p, tokens = t->p;
    shaped.n_k = shaped.n_q = p.n_q;
    if (packed) shaped.batch = 1;
    const enum array target = (enum array)pick(OUT + 1);
    const int tail = p.pages && ragged && attack == NONE && once_in(2) ? (asked ? (int)pick(OUT + 1) : K) : -1;
    for (enum array n = 0; n <= OUT; n++) {
        a[n] = shape_of(&shaped, n, true);
        const bool ignored = kernel->values_are_keys && n == V;
        if (!ignored) a[n].s = draw_strides(&a[n], n == OUT);
        if (attack == STRIDE && n == target && !ignored) {
            struct attn_strides *const s = &a[n].s;
            *(int64_t *[]){&s->batch, &s->head, &s->row}[pick(3)] = hostile();
        }
        if ((int)n == tail)
            a[n].s = (struct attn_strides){a[n].count[1] * a[n].count[2] * a[n].dim, a[n].dim,
                                           a[n].count[1] * a[n].dim};
        *strides_of(&p, n) = a[n].s;
        const enum verdict of = fill(&a[n], n == OUT);
        if (of == TOO_LARGE) return;
        verdict = worse(verdict, of);
        if (of == BAD)
            a[n].s = (struct attn_strides){a[n].count[1] * a[n].count[2] * a[n].dim, a[n].count[2] * a[n].dim,
                                           a[n].dim};
        lay(&a[n], kernel->dtype, n == OUT);
        given[n] = a[n].at;
    }
    if (!asked) given[Q] = given[OUT] = NULL;
    tokens.n_q = p.n_q;
    if (packed) tokens.batch = 1;
    struct params params = draw_params(&tokens, true, attack == PARAM_STRIDE, &t->whole);
    if (params.verdict == TOO_LARGE) return;
    verdict = worse(verdict, params.verdict == BAD && any ? BAD : params.verdict == BAD ? ANY : FINE);
    p.lengths = ragged || attack == LENGTHS ? lengths : NULL;
    p.cu_seqlens = packed || attack == ROWS ? ends : NULL;
    plain.lengths = packed ? NULL : p.lengths;
    plain.cu_seqlens = packed ? ends : NULL;
    plain.n_q = p.n_q;
    const int64_t kept = lengths[0];
    if (attack == LENGTHS) {
        const int64_t bad[] = {-1, p.n_q + 1, INT64_MIN, INT64_MAX};
        lengths[pick(p.batch)] = bad[pick(4)];
        verdict = BAD;
    }
    if (attack == ROWS) {
        if (!packed)
            for (int64_t b = 0; b <= p.batch; b++) ends[b] = 0;
        ends[pick(p.batch + 1)] = (const int64_t[]){-1, INT64_MIN, INT64_MAX, p.n_q + 1}[pick(4)];
        verdict = BAD;
    }
    if (p.pages)
        for (int64_t b = 0; b < t->p.batch; b++)
            for (int64_t x = (t->length[b] + TOKENS - 1) / TOKENS; x * TOKENS < t->length[b] + new[b]; x++)
                if (t->table[b * ROW + x] < 0) t->table[b * ROW + x] = t->next_page++;
    const void *params_given = kernel->params ? params.laid : NULL;
    if (attack == PARAM && kernel->params) {
        memset(params.laid + kernel->param[pick(kernel->params)].offset, 0, sizeof(void *));
        verdict = any ? BAD : ANY;
    }
    struct attn_problem sane = t->p;
    sane.n_q = p.n_q;
    if (attack == THREADS) sane.threads = processors();
    const size_t bytes = kernel->extend_workspace(&sane), plain_bytes_of = kernel->extend_workspace(&plain);
    unsigned char *const work = exact(bytes, 64), *const plain_work = exact(plain_bytes_of, 64);
    p.workspace_bytes = attack == THREADS ? 0 : bytes;
    int misaligned = 0;
    if (attack == SHORT) p.workspace_bytes--, verdict = any ? BAD : ANY;
    if (attack == ALIGN) misaligned = 4, verdict = any ? BAD : ANY;
    if (attack == POINTER) {
        given[target] = NULL;
        verdict = kernel->values_are_keys && target == V               ? verdict
                  : !any || (!asked && (target == Q || target == OUT)) ? ANY
                                                                       : BAD;
    }
    if (attack == SHARED && asked)
        given[OUT] = given[pick(kernel->values_are_keys ? V : OUT)], verdict = any ? BAD : ANY;
    if (attack == START) p.query_start = lengths, verdict = ANY;
    if (attack == KEY_HEADS || attack == SAVED || attack == FEWER) {
        p.state_bytes -= attack == FEWER ? 1 : 0;
        verdict = attack == FEWER ? BAD : verdict;
    }
    memcpy(t->before, t->state, t->p.state_bytes);
    if (tail >= 0) { /* the rows after the last new one would be in the pages */
        struct rows *const of = &a[tail];
        const int64_t row = of->count[1] * of->dim, used = (of->count[2] * (p.batch - 1) + lengths[p.batch - 1]) * row;
        of->at = (unsigned char *)t->pages.base - (size_t)used * of->element;
        if (given[tail]) given[tail] = of->at;
        if (tail != OUT) copy_new_rows(of, lengths, of->plain, true);
    }
    const int error = kernel->extend(&p, params_given, given[Q], given[K], given[V], given[OUT], t->state,
                                     work + misaligned);
    lengths[0] = attack == LENGTHS ? kept : lengths[0];
    judge_state(t, error, verdict);
    if (attack == SHARED && asked) return;
    if (error < 0) {
        judge_rows(&a[OUT], NULL, "out of a call that failed");
        return;
    }
    unsigned char *const out = exact(plain_bytes(&a[OUT]), 8);
    const int again = kernel->extend(&plain, kernel->params ? params.plain : NULL, asked ? a[Q].plain : NULL,
                                     a[K].plain, a[V].plain, asked ? out : NULL, t->plain_state, plain_work);
    check(again == 0, "the call with contiguous arrays", again);
    if (tail == OUT) {
        unsigned char *const got = exact(plain_bytes(&a[OUT]), 8);
        copy_new_rows(&a[OUT], lengths, got, false);
        check(memcmp(got, out, plain_bytes(&a[OUT])) == 0, "out before the pages", error);
    } else
        judge_rows(&a[OUT], out, "out of extend");
    for (int64_t b = 0; b < p.batch; b++) t->length[b] += new[b];
}

/* Calls a function that changes one sequence, with a number of a sequence, a position or a path that may be wrong. */
static void change(struct twins *t)
{
    const bool wrong = once_in(2);
    const int64_t B = t->p.batch, b = wrong && once_in(2) ? hostile() : pick(B),
                  was = b >= 0 && b < B ? t->length[b] : 0;
    int64_t length = pick(was + 1), got, again;
    if (wrong && once_in(2)) length = hostile();
    const bool there = b >= 0 && b < B;
    memcpy(t->before, t->state, t->p.state_bytes);
    const int64_t said = kernel->state_length(&t->p, t->state, b), least = kernel->state_min_length(&t->p, t->state, b);
    snprintf(what, sizeof what, "a function of states, sequence %lld of %lld, position %lld of %lld", (long long)b,
             (long long)B, (long long)length, (long long)was);
    check(there ? said == was && least <= was : said < 0 && least < 0, "state_length", (long long)said);
    switch (pick(6)) {
    case 0:
        got = kernel->state_truncate(&t->p, t->state, b, length);
        judge_state(t, got, !there || length < 0 || length > was ? BAD : length == was || length == 0 ? FINE : ANY);
        if (got < 0) return;
        again = kernel->state_truncate(&t->plain, t->plain_state, b, length);
        if (again < 0) { /* a state in pages can go back further; so the twins part */
            kernel->state_truncate(&t->plain, t->plain_state, b, 0);
            kernel->state_truncate(&t->p, t->state, b, length = 0);
        }
        t->length[b] = length;
        return;
    case 1: {
        const int64_t from = wrong && once_in(2) ? hostile() : pick(B);
        if (t->p.pages && from != b) return;
        got = kernel->state_copy(&t->p, t->state, b, t->state, from);
        const bool right = there && from >= 0 && from < B;
        judge_state(t, got, right ? FINE : BAD);
        if (got < 0) return;
        again = kernel->state_copy(&t->plain, t->plain_state, b, t->plain_state, from);
        check(again == 0, "state_copy", again);
        t->length[b] = t->length[from];
        return;
    }
    case 2: {
        int64_t path[4] = {0, 1, 2, 3}, count = pick(4);
        if (wrong) path[pick(4)] = hostile();
        if (wrong && once_in(3)) count = hostile() % 4; /* the array has 4 elements */
        got = kernel->state_keep(&t->p, t->state, b, once_in(8) ? NULL : path, count);
        judge_state(t, got, !there || count < 0 ? BAD : ANY);
        if (got < 0) return;
        again = kernel->state_keep(&t->plain, t->plain_state, b, path, count);
        if (again < 0)
            kernel->state_truncate(&t->plain, t->plain_state, b, 0), kernel->state_truncate(&t->p, t->state, b, 0);
        t->length[b] = kernel->state_length(&t->p, t->state, b);
        return;
    }
    case 3: {
        struct attn_problem part = t->p;
        const int64_t sharing = t->p.key_heads ? t->p.kv_heads / t->p.key_heads : 1, groups = t->p.kv_heads / sharing,
                      heads = 1 + pick(groups), first = wrong ? hostile() : pick(groups - heads + 1) * sharing;
        part.batch = 1;
        part.kv_heads = heads * sharing;
        part.heads = t->p.heads / t->p.kv_heads * part.kv_heads;
        if (part.key_heads) part.key_heads = once_in(3) ? part.kv_heads : heads;
        const bool other = part.key_heads && part.key_heads != heads;
        part.state_bytes = 0;
        unsigned char *const state = exact(kernel->state(&part), 64);
        if (kernel->state_init(&part, state)) exit(3);
        const bool right = there && first >= 0 && first <= t->p.kv_heads - part.kv_heads && !t->p.pages &&
                           first % sharing == 0;
        got = kernel->state_part(&t->p, t->state, b, first, &part, state, 0);
        judge_state(t, got, !right || other ? BAD : FINE);
        check(memcmp(t->state, t->before, t->p.state_bytes) == 0, "state_part wrote the whole", got);
        if (got == 0) judge_state(t, kernel->state_part(&t->p, t->state, b, first, &part, state, 1), FINE);
        if (got == 0) check(kernel->state_length(&part, state, 0) == was, "state_part copied another length", got);
        return;
    }
    case 4: {
        unsigned char *const other = exact(t->p.state_bytes, 64);
        memcpy(other, t->state, t->p.state_bytes);
        if (wrong) other[pick(64)] ^= 1; /* the name of the kernel, or the format */
        got = kernel->state_fold(&t->p, t->state, other);
        judge_state(t, got, wrong ? BAD : ANY);
        if (got >= 0) memcpy(t->state, t->before, t->p.state_bytes);
        return;
    }
    default: {
        struct attn_problem p = t->p;
        void *const state = once_in(2) ? NULL : t->state + 8;
        const struct attn_problem *const none = once_in(3) ? NULL : &p;
        if (!state) p.state_bytes = 0;
        judge_state(t, kernel->state_truncate(none, state, 0, 0), BAD);
        judge_state(t, kernel->state_copy(none, state, 0, t->state, 0), BAD);
        judge_state(t, kernel->state_keep(none, state, 0, NULL, 0), BAD);
        judge_state(t, kernel->state_fold(none, state, t->state), BAD);
        judge_state(t, kernel->state_init(none, state), BAD);
        judge_state(t, kernel->state_part(none, state, 0, 0, &p, t->state, 0), BAD);
        judge_state(t, kernel->state_part(&p, t->state, 0, 0, none, state, 0), BAD);
        judge_state(t, kernel->extend(none, NULL, NULL, NULL, NULL, NULL, state, NULL), BAD);
        judge_state(t, kernel->state_length(none, state, 0), BAD);
        judge_state(t, kernel->state_min_length(none, state, 0), BAD);
    }
    }
}

static void random_calls_of_state(void)
{
    struct twins t = draw_twins();
    for (int n = 0; n < 8 && !failures; n++, first_id += 4) {
        const int kept = owners;
        if (once_in(3))
            change(&t);
        else
            extend(&t);
        while (owners > kept) free(owned[--owners]);
    }
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
                   calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    same_heads = argc > 3 && atoi(argv[3]);
    for (uint64_t n = 0; n < calls && !failures; n++) {
        fprintf(stderr, "at %llu\n", (unsigned long long)(first + n)); /* a crash ends the program */
        seed = (first + n) * 0x2545F4914F6CDD1Du;
        first_id = 0;
        if (kernel->extend && n % 2)
            random_calls_of_state();
        else
            random_call();
        while (owners > 0) free(owned[--owners]);
        if (failures) printf("seed %llu\n", (unsigned long long)(first + n));
    }
    printf("%d calls refused, %d served\n", refused, served);
    return failures != 0;
}
