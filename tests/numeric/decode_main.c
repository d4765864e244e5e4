/* Calls the functions of a decoding state under sanitizers. Every array has exactly the needed size.
 * - The build sets KERNEL and ELEMENT.
 * - For parameters, it also sets PARAMS or ARRAYS.
 * - PAGES is the number of tokens of a page, if rows are in pages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define OF_KERNEL(name) NAMED(KERNEL, name)

#ifdef FOLDABLE /* a spec with 'delta' */
enum { KV_HEADS = 4 };
#else
enum { KV_HEADS = 2, FOLDABLE = 0 };
#endif
enum { BATCH = 2, HEADS = 4, CAPACITY = 350, MOST = 150, SAME = 64, STEPS = 24 };

static ELEMENT *numbers(int64_t rows, int64_t columns)
{
    ELEMENT *const made = malloc((size_t)(rows * columns) * sizeof *made);
    for (int64_t k = 0; made && k < rows * columns; k++) {
        const float x = (float)(k % 13 - 6) / 8;
        if (sizeof(ELEMENT) == 2) { /* bf16 */
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            made[k] = (ELEMENT)(bits >> 16);
        } else
            made[k] = (ELEMENT)x;
    }
    return made;
}

#ifdef ARRAYS
enum { MAX_ARRAYS = 8 };

/* Makes the arrays of a call with rows for p->n_q tokens. Integers are the number of the call, because ids of tokens
   may have to ascend. */
static void arrays_of(const struct attn_kernel *kernel, const struct attn_problem *p, void *params, float **made)
{
    static int32_t calls;
    calls++;
    for (int k = 0; k < kernel->params; k++) {
        int64_t count = 1;
        for (int r = 0; r < kernel->param[k].rank; r++) {
            const int64_t size = kernel->param[k].shape[r];
            count *= size >= 0               ? size
                     : size == ATTN_BATCH    ? p->batch
                     : size == ATTN_HEADS    ? p->heads
                     : size == ATTN_KV_HEADS ? p->kv_heads
                                             : p->n_q;
        }
        made[k] = malloc((size_t)count * sizeof *made[k]);
        for (int64_t x = 0; made[k] && x < count; x++) {
            const float number = (float)(x % 7 - 3) / 4;
            memcpy(&made[k][x], kernel->param[k].dtype == ATTN_I32 ? (const void *)&calls : &number, sizeof number);
        }
        memcpy((char *)params + kernel->param[k].offset, &made[k], sizeof made[k]);
    }
}
#endif

#ifdef PAGES
#include <sanitizer/asan_interface.h>
enum { ROW = (CAPACITY + PAGES - 1) / PAGES };
static int32_t table[BATCH][ROW];

/* Gives each sequence separate pages. A function that uses a page without tokens is stopped. */
static void use_pages(const struct attn_kernel *kernel, struct attn_problem *p, const int64_t *length)
{
    static struct attn_pages pages = {.count = BATCH * ROW, .tokens = PAGES, .table = table[0], .row = ROW};
    p->pages = &pages;
    if (!pages.base) {
        pages.bytes = kernel->page(p) + 64;
        pages.base = aligned_alloc(64, pages.bytes * BATCH * ROW);
    }
    __asan_poison_memory_region(pages.base, pages.bytes * BATCH * ROW);
    for (int b = 0; b < BATCH; b++)
        for (int x = 0; x < ROW; x++) {
            const int tokens = x * PAGES < length[b];
            table[b][x] = tokens ? b + BATCH * (ROW - 1 - x) : -1 - x;
            if (tokens)
                __asan_unpoison_memory_region((char *)pages.base + (size_t)table[b][x] * pages.bytes, pages.bytes - 64);
        }
}
#endif

/* Appends p->n_q tokens to a state. Returns the kernel's result. */
static int extend(const struct attn_kernel *kernel, const struct attn_problem *p, void *params, void *state,
                  void *workspace)
{
    const int64_t most = p->n_q;
    ELEMENT *const q = numbers(BATCH * HEADS * most, kernel->head_dim),
                   *const k = numbers(BATCH * KV_HEADS * most, kernel->head_dim),
                   *const v = numbers(BATCH * KV_HEADS * most, kernel->value_dim),
                   *const out = numbers(BATCH * HEADS * most, kernel->value_dim);
#ifdef ARRAYS
    float *arrays[MAX_ARRAYS];
    arrays_of(kernel, p, params, arrays);
#endif
    const int error = kernel->extend(p, params, q, k, v, out, state, workspace);
#ifdef ARRAYS
    for (int a = 0; a < kernel->params; a++) free(arrays[a]);
#endif
    free(q);
    free(k);
    free(v);
    free(out);
    return error;
}

int main(void)
{
    const struct attn_kernel *const kernel = &OF_KERNEL(_kernel);
    struct attn_problem p = {
        .batch = BATCH, .heads = HEADS, .kv_heads = KV_HEADS, .capacity = CAPACITY, .threads = 2, .foldable = FOLDABLE};
    struct OF_KERNEL(_params) params;
    memset(&params, 0, sizeof params);
#ifdef PARAMS
    void *const storage = aligned_alloc(64, (kernel->params_size() + 63) / 64 * 64);
    kernel->params_init(&params, 1, storage);
#endif
#ifdef PAGES
    use_pages(kernel, &p, (int64_t[BATCH]){0});
#endif
    const size_t bytes = kernel->state(&p), work = kernel->extend_workspace(&p);
    void *const state = aligned_alloc(64, bytes), *const other = aligned_alloc(64, bytes),
                *const workspace = aligned_alloc(64, (work + 63) / 64 * 64);
    if (!state || !other || !workspace) return 3;
    p.state_bytes = bytes;
    p.workspace_bytes = work;
    int bad = kernel->state_init(&p, state) | kernel->state_init(&p, other);
    int64_t length[BATCH] = {0}, total = 0;
    unsigned draw = 1;
    for (int step = 0; step < STEPS && !bad; step++) {
        int64_t lengths[BATCH], most = 0;
        for (int b = 0; b < BATCH; b++) {
            draw = draw * 1103515245 + 12345;
            lengths[b] = (draw >> 16) % (step % 3 ? 4 : MOST);
            if (step % 4 == 3) lengths[b] = SAME;    /* the last row is also read */
            if (length[b] + lengths[b] > CAPACITY) { /* the state is full: empty the sequence */
                bad |= kernel->state_truncate(&p, state, b, 0);
                length[b] = 0;
            }
            if (lengths[b] > most) most = lengths[b];
            length[b] += lengths[b];
            total += lengths[b];
        }
        p.n_q = most;
        p.lengths = lengths;
#ifdef PAGES
        use_pages(kernel, &p, length);
#endif
        bad |= extend(kernel, &p, &params, state, workspace);
        for (int b = 0; b < BATCH; b++) bad |= kernel->state_length(&p, state, b) != length[b];
        bad |= kernel->state_copy(&p, other, step % BATCH, state, (step / 2) % BATCH);
        bad |= kernel->state_copy(&p, state, 0, state, 0);
        if (length[1] > kernel->state_min_length(&p, state, 1))
            bad |= kernel->state_truncate(&p, state, 1, --length[1]);
    }
    const int folded = kernel->state_fold(&p, other, state); /* most kernels cannot merge these states */
    bad |= folded != 0 && folded != ATTN_EFOLD && folded != ATTN_ELENGTH && folded != ATTN_ECAPACITY;
    bad |= kernel->state_init(&p, other);
    const int begun = kernel->state_fold(&p, other, state);
    bad |= begun != ATTN_EFOLD && (begun || kernel->state_length(&p, other, 0) != kernel->state_length(&p, state, 0));
#ifdef CHUNK /* the state of a run of whole chunks is joined with the state of the next run */
    int64_t both[BATCH] = {2 * CHUNK, 2 * CHUNK};
    p.n_q = 2 * CHUNK;
    p.lengths = both;
    bad |= kernel->state_init(&p, state) | extend(kernel, &p, &params, state, workspace);
    p.start = 2 * CHUNK;
    p.n_q = both[1] = 3 * CHUNK + 5;
    bad |= kernel->state_init(&p, other) | extend(kernel, &p, &params, other, workspace);
    bad |= kernel->state_fold(&p, state, other) | extend(kernel, &p, &params, state, workspace);
    bad |= kernel->state_length(&p, state, 1) != 8 * CHUNK + 10;
#endif
    p.state_bytes = bytes - 1;
    bad |= kernel->state_length(&p, state, 0) != ATTN_ESTATE;
    printf("%lld tokens\n", (long long)total);
    free(state);
    free(other);
    free(workspace);
#ifdef PARAMS
    free(storage);
#endif
    return bad ? 1 : 0;
}
