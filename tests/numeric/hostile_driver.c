/* Calls every entry point with impossible sizes, strides and lengths. Each call must return an error and write
   nothing. properties.py builds it with -DKERNEL=NAME_kernel and -fsanitize=undefined. */
#include "attnrt.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct attn_kernel KERNEL;
static const struct attn_kernel *const kernel = &KERNEL;
__extension__ typedef __int128 wide;
enum { MAX_PARAMS = 32, SMALL = 4096, PATTERN = 0x3d, SAID = 20 };
static int failures, refused, served;

/* The arguments of a call. `given` is read, `made` is written. */
static unsigned char *given, *made, *work, *state, *saved, *params, *before;
static void *gradients[MAX_PARAMS];
static size_t made_bytes, work_bytes, state_bytes, saved_bytes;
static const struct attn_problem *base; /* the valid problem for which `state` was created */

/* ---- the problems ---- */

static const int64_t values[] = {0,
                                 -1,
                                 INT64_MIN,
                                 INT64_MAX,
                                 INT64_MAX / 8,
                                 INT64_C(1) << 62,
                                 INT64_C(1) << 61,
                                 (INT64_C(1) << 60) + 1,
                                 INT64_C(1) << 32,
                                 (INT64_C(1) << 32) + 1,
                                 INT64_C(1) << 31};
enum { VALUES = sizeof values / sizeof *values };

static const size_t sizes[] = {offsetof(struct attn_problem, batch),    offsetof(struct attn_problem, heads),
                               offsetof(struct attn_problem, kv_heads), offsetof(struct attn_problem, n_q),
                               offsetof(struct attn_problem, n_k),      offsetof(struct attn_problem, capacity),
                               offsetof(struct attn_problem, start)};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const size_t strides[] = {offsetof(struct attn_problem, q),    offsetof(struct attn_problem, k),
                                 offsetof(struct attn_problem, v),    offsetof(struct attn_problem, out),
                                 offsetof(struct attn_problem, dout), offsetof(struct attn_problem, dq),
                                 offsetof(struct attn_problem, dk),   offsetof(struct attn_problem, dv)};
enum { STRIDES = sizeof strides / sizeof *strides };

static int64_t *member(struct attn_problem *p, size_t offset)
{
    return (int64_t *)(void *)((char *)p + offset);
}

/* ---- expected results ---- */

enum verdict { SERVED, REFUSED, TOO_LARGE_TO_TRY };

static enum verdict worse(enum verdict a, enum verdict b)
{
    return a == REFUSED || b == REFUSED ? REFUSED : a == TOO_LARGE_TO_TRY ? a : b;
}

static enum verdict of_elements(wide elements)
{
    return elements > INT64_MAX / 8 ? REFUSED : elements > SMALL ? TOO_LARGE_TO_TRY : SERVED;
}

/* Returns the product of the positive factors. It is cut off above INT64_MAX. */
static wide product(const int64_t *factor, int count)
{
    wide all = 1;
    for (int k = 0; k < count; k++)
        if (factor[k] > 0 && all <= INT64_MAX) all *= factor[k];
    return all;
}

static enum verdict of_array(struct attn_strides s, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                             bool written)
{
    if (s.batch < 0 || s.head < 0 || s.row < 0) return REFUSED;
    const enum verdict whole = of_elements(product((const int64_t[]){batch, heads, rows, dim}, 4));
    if ((s.batch == 0 && s.head == 0 && s.row == 0) || whole == REFUSED) return whole;
    if (rows > 1 && s.row < dim) return REFUSED;
    if (batch == 0 || heads == 0 || rows == 0) written = false;
    if (written && ((batch > 1 && s.batch == 0) || (heads > 1 && s.head == 0))) return REFUSED;
    wide last = dim;
    if (batch > 1) last += (wide)(batch - 1) * s.batch;
    if (heads > 1) last += (wide)(heads - 1) * s.head;
    if (rows > 1) last += (wide)(rows - 1) * s.row;
    return worse(whole, of_elements(last));
}

static enum verdict expected(const struct attn_problem *p, int64_t n_k)
{
    const int64_t D = kernel->head_dim, E = kernel->value_dim;
    const bool ignored = kernel->values_are_keys;
    const struct attn_strides none = {0, 0, 0};
    if (p->batch < 0 || p->heads < 0 || p->kv_heads < 0 || p->n_q < 0 || n_k < 0 || p->threads < 0) return REFUSED;
    if (p->heads > 0 && (p->kv_heads == 0 || p->heads % p->kv_heads)) return REFUSED;
    const struct {
        struct attn_strides strides;
        bool of_keys, written;
        int64_t dim;
    } array[] = {{p->q, false, false, D},
                 {p->k, true, false, D},
                 {ignored ? none : p->v, true, false, E},
                 {p->out, false, true, E},
                 {p->dout, false, false, E},
                 {p->dq, false, true, D},
                 {p->dk, true, true, D},
                 {ignored ? none : p->dv, true, true, E}};
    enum verdict verdict = SERVED;
    for (size_t a = 0; a < sizeof array / sizeof *array; a++)
        verdict = worse(verdict, of_array(array[a].strides, p->batch, array[a].of_keys ? p->kv_heads : p->heads,
                                          array[a].of_keys ? n_k : p->n_q, array[a].dim, array[a].written));
    /* A parameter may have a row per head, query or key. */
    return worse(verdict,
                 of_elements(product((const int64_t[]){p->batch, p->heads, p->n_q, n_k, D > E ? D : E}, 5)) == SERVED
                     ? SERVED
                     : TOO_LARGE_TO_TRY);
}

static void fail(const char *what, const struct attn_problem *p, long long got)
{
    if (failures++ >= SAID) return;
    printf("%s: %lld; batch %lld, heads %lld on %lld, %lld queries, %lld keys, capacity %lld, start %lld", what, got,
           (long long)p->batch, (long long)p->heads, (long long)p->kv_heads, (long long)p->n_q, (long long)p->n_k,
           (long long)p->capacity, (long long)p->start);
    for (int a = 0; a < STRIDES; a++)
        for (int n = 0; n < 3; n++) {
            const int64_t stride = member((struct attn_problem *)(uintptr_t)p, strides[a])[n];
            if (stride) printf(", stride %d of array %d: %lld", n, a, (long long)stride);
        }
    puts("");
}

/* Checks the result of a call. If the verdict is REFUSED, the call must return an error. After an error, its
 * outputs `memory` must be unchanged. */
static void judge(const char *entry, const struct attn_problem *p, enum verdict verdict, int error,
                  const unsigned char *memory, size_t bytes)
{
    if ((verdict == REFUSED) != (error < 0) && verdict != TOO_LARGE_TO_TRY) fail(entry, p, error);
    if (error < 0 && memcmp(memory, before, bytes) != 0) fail(entry, p, error), puts("  and something was written");
    refused += error < 0;
    served += error == 0;
}

/* ---- the calls ---- */

static void call_sizes(const struct attn_problem *p, bool valid)
{
    const int64_t rows[] = {p->batch, p->heads, p->n_q}, keys[] = {p->batch, p->kv_heads};
    const bool none = p->batch == 0 || p->heads == 0 || p->n_q == 0;
    const bool impossible = !none && (p->batch < 0 || p->heads < 0 || p->n_q < 0 || product(rows, 3) > INT64_MAX / 4);
    (void)kernel->workspace(p);
    if (kernel->saved) {
        const size_t of_rows = kernel->saved(p), all = kernel->backward_workspace(p);
        if (saved_bytes && impossible && (of_rows || all)) fail("saved or backward_workspace", p, (long long)of_rows);
        if (saved_bytes && valid && !none && of_rows < (size_t)product(rows, 3) * 4)
            fail("saved", p, (long long)of_rows);
    }
    if (!kernel->state) return;
    (void)kernel->extend_workspace(p);
    const size_t bytes = kernel->state(p);
    const bool negative = p->batch < 0 || p->heads < 0 || p->kv_heads < 0;
    if (bytes && (negative || product(keys, 2) > INT64_MAX / 8)) fail("state", p, (long long)bytes);
    if (bytes && p->batch > 0 && p->kv_heads > 0 && bytes < (size_t)product(keys, 2))
        fail("state", p, (long long)bytes);
}

static void call_forward(struct attn_problem p)
{
    const enum verdict verdict = expected(&p, p.n_k);
    call_sizes(&p, verdict != REFUSED);
    if (verdict == TOO_LARGE_TO_TRY) return;
    memset(made, PATTERN, made_bytes);
    judge("forward", &p, verdict, kernel->forward(&p, params, given, given, given, made, work), made, made_bytes);
    if (!kernel->backward) return;
    memset(made, PATTERN, made_bytes);
    const size_t each = made_bytes / 4;
    judge("backward", &p, verdict,
          kernel->backward(&p, params, given, given, given, given, given, made, made + each, made + 2 * each, gradients,
                           work),
          made, made_bytes);
    p.saved = saved;
    judge("forward that saves", &p, verdict, kernel->forward(&p, params, given, given, given, made, work), made, 0);
}

static void call_state(struct attn_problem p, const int64_t *lengths)
{
    static const int64_t places[] = {0, -1, INT64_MIN, INT64_MAX};
    const enum verdict verdict = expected(&p, p.n_q);
    const bool same = p.batch == base->batch && p.heads == base->heads && p.kv_heads == base->kv_heads;
    unsigned char *const kept = before + made_bytes;
    if (kernel->state_init(base, state)) abort();
    memcpy(kept, state, state_bytes);
    for (int n = 0; n < 4; n++)
        for (int m = 0; m < 4; m++) {
            const int64_t length = kernel->state_length(&p, state, places[n]),
                          least = kernel->state_min_length(&p, state, places[n]);
            const int cut = kernel->state_truncate(&p, state, places[n], places[m]),
                      copied = kernel->state_copy(&p, state, places[n], state, places[m]);
            const bool right = same && n == 0 && m == 0;
            if (!right && (cut >= 0 || copied >= 0)) fail("state_truncate or state_copy", &p, cut);
            if ((!same || n > 0) && (length >= 0 || least >= 0)) fail("state_length", &p, (long long)length);
        }
    (void)kernel->state_fold(&p, state, state);
    if (memcmp(state, kept, state_bytes) != 0) fail("a function of states", &p, 0);
    memset(made, PATTERN, made_bytes);
    p.lengths = lengths;
    if (verdict != TOO_LARGE_TO_TRY || !same) {
        const int error = kernel->extend(&p, params, given, given, given, made, state, work);
        const bool longer = lengths && (lengths[0] < 0 || lengths[0] > p.n_q);
        const bool must = verdict == REFUSED || !same || longer;
        if (must && error >= 0) fail("extend", &p, error);
        if (error < 0 && memcmp(state, kept, state_bytes) != 0) fail("extend changed the state", &p, error);
        judge("extend", &p, TOO_LARGE_TO_TRY, error, made, made_bytes);
    }
    const size_t needed = kernel->state(&p);
    p.state_bytes = state_bytes;
    const int begun = kernel->state_init(&p, state);
    if (begun >= 0 && (needed == 0 || needed > state_bytes)) fail("state_init", &p, 0);
    if (begun >= 0 && verdict != TOO_LARGE_TO_TRY) { /* extend the state, whatever its length is */
        p.lengths = NULL;
        (void)kernel->extend(&p, params, given, given, given, made, state, work);
    }
}

static void call_all(const struct attn_problem *p)
{
    call_forward(*p);
    if (kernel->state) call_state(*p, NULL);
}

/* ---- all entry points ---- */

static void *filled(size_t bytes)
{
    void *const memory = attn_alloc(bytes + 64);
    if (!memory) exit(3);
    memset(memory, PATTERN, bytes + 64);
    return memory;
}

static void prepare(const struct attn_problem *p)
{
    base = p;
    struct attn_problem more = *p;
    more.n_q = more.n_k = p->capacity;
    made_bytes = 4 * SMALL * 8;
    work_bytes = kernel->workspace(&more);
    if (kernel->backward && kernel->backward_workspace(&more) > work_bytes)
        work_bytes = kernel->backward_workspace(&more);
    if (kernel->state && kernel->extend_workspace(&more) > work_bytes) work_bytes = kernel->extend_workspace(&more);
    saved_bytes = kernel->saved ? kernel->saved(&more) : 0;
    state_bytes = kernel->state ? kernel->state(&more) : 0;
    given = filled(SMALL * 8);
    made = filled(made_bytes);
    work = filled(work_bytes);
    saved = filled(saved_bytes);
    state = filled(state_bytes);
    before = filled(made_bytes + state_bytes);
    params = filled(kernel->params_bytes);
    memset(params, 0, kernel->params_bytes); /* with strides NULL, arrays are contiguous */
    for (int n = 0, learned = 0; n < kernel->params; n++) {
        void *const array = filled(1 << 16);
        memset(array, 0, 1 << 16);
        memcpy(params + kernel->param[n].offset, &array, sizeof array);
        if (attn_param_learned(&kernel->param[n])) gradients[learned++] = filled(1 << 16);
    }
}

static void release(void)
{
    for (int n = 0; n < kernel->params; n++) {
        void *array;
        memcpy(&array, params + kernel->param[n].offset, sizeof array);
        attn_free(array);
        attn_free(gradients[n]);
        gradients[n] = NULL;
    }
    attn_free(given), attn_free(made), attn_free(work), attn_free(saved), attn_free(state), attn_free(before);
    attn_free(params);
}

static void try_all(const struct attn_problem *p)
{
    prepare(p);
    call_all(p);
    for (int a = 0; a < SIZES; a++)
        for (int n = 0; n < VALUES; n++) {
            struct attn_problem one = *p;
            *member(&one, sizes[a]) = values[n];
            call_all(&one);
            for (int b = 0; b < a; b++)
                for (int m = 0; m < VALUES; m++) {
                    struct attn_problem two = one;
                    *member(&two, sizes[b]) = values[m];
                    call_all(&two);
                }
        }
    for (int a = 0; a < STRIDES; a++)
        for (int n = 0; n < 3; n++)
            for (int m = 0; m < VALUES; m++) {
                struct attn_problem one = *p;
                const bool of_keys = a == 1 || a == 2 || a == 6 || a == 7;
                const int64_t dim = a == 0 || a == 1 || a == 5 || a == 6 ? kernel->head_dim : kernel->value_dim,
                              rows = of_keys ? p->n_k : p->n_q, heads = of_keys ? p->kv_heads : p->heads;
                memcpy(member(&one, strides[a]), (const int64_t[]){heads * rows * dim, rows * dim, dim},
                       3 * sizeof(int64_t));
                member(&one, strides[a])[n] = values[m];
                call_all(&one);
            }
    for (int n = 0; n < VALUES && kernel->state; n++) {
        const int64_t lengths[] = {values[n], 0};
        call_state(*p, lengths);
    }
    for (int threads = 0; threads < 2; threads++) {
        struct attn_problem one = *p;
        one.threads = threads ? -1 : INT_MIN;
        call_all(&one);
    }
    release();
}

int main(void)
{
    static const struct attn_problem two = {
        .batch = 2, .heads = 4, .kv_heads = 2, .n_q = 3, .n_k = 5, .capacity = 16, .threads = 1};
    static const struct attn_problem one = {
        .batch = 1, .heads = 1, .kv_heads = 1, .n_q = 1, .n_k = 1, .capacity = 16, .threads = 1};
    try_all(&two);
    try_all(&one);
    printf("%d calls refused, %d served\n", refused, served);
    return failures != 0 || refused < 1000 || served < 10;
}
