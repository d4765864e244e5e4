/* Extends sequences in pages, and tries wrong pages. A wrong call must return an error and write nothing. A right call
 * gives the bits of a state without pages. Free pages are poisoned, so that AddressSanitizer finds reads of them.
 * properties.py builds it with -DKERNEL=NAME_kernel and sanitizers. */
#include "attnrt.h"
#include "lib/team.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

extern const struct attn_kernel KERNEL;
static const struct attn_kernel *const kernel = &KERNEL;
enum { BATCH = 3, HEADS = 4, KV_HEADS = 2, LONGEST = 1200, ROW = 80, COUNT = BATCH * ROW, TOKENS = 16, NEW = 14 };
enum { SHARED = 1047 }; /* tokens of a common beginning; keys are summed for all sequences from 1024 on */

static int failures, refused, served;
static unsigned char *base, *state, *plain, *work, *kept_pages, *kept_state;
static float *q, *k, *v, *out, *wanted, *kept_out; /* [BATCH, heads, LONGEST, …] of all tokens */
static int32_t table[BATCH * ROW];
static struct attn_pages pages;
static size_t pool; /* the bytes of all pages */
static struct attn_problem paged, alone;
static int64_t length[BATCH];
static bool is_free[COUNT];

static void check(bool right, const char *why, long long got)
{
    if (right) return;
    failures++;
    printf("%s: %lld\n", why, got);
}

static void *memory_of(size_t bytes)
{
    void *const memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) exit(3);
    return memory;
}

static float *numbers(size_t count, unsigned seed)
{
    float *const made = memory_of(count * sizeof *made);
    for (size_t n = 0; n < count; n++) {
        seed = seed * 1664525 + 1013904223;
        made[n] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    return made;
}

/* ---- pages ---- */

static unsigned char *page(int number)
{
    return base + (size_t)number * pages.bytes;
}

/* Poisons the pages that are free, or makes all pages readable. */
static void poison(bool free_pages)
{
    for (int p = 0; p < COUNT; p++)
        if (free_pages && is_free[p])
            ASAN_POISON_MEMORY_REGION(page(p), pages.bytes);
        else
            ASAN_UNPOISON_MEMORY_REGION(page(p), pages.bytes);
}

static int take_page(void)
{
    static int next;
    do next = (next + 97) % COUNT;
    while (!is_free[next]);
    is_free[next] = false;
    return next;
}

static void give_pages(int b, int64_t tokens)
{
    for (int64_t x = (length[b] + TOKENS - 1) / TOKENS; x * TOKENS < length[b] + tokens; x++)
        table[b * ROW + x] = take_page();
}

/* Frees the pages of tokens before `end`. */
static void free_pages(int b, int64_t end)
{
    for (int64_t x = 0; (x + 1) * TOKENS <= end; x++) {
        int32_t *const number = &table[b * ROW + x];
        if (*number >= 0) is_free[*number] = true;
        *number = -1;
    }
}

/* ---- calls ---- */

static int extend(struct attn_problem p, const int64_t *lengths, void *state_, void *out_)
{
    p.lengths = lengths;
    return kernel->extend(&p, NULL, q, k, v, out_, state_, work);
}

/* Sets the strides of arrays of all tokens, and the first new rows. */
static void set_rows(struct attn_problem *p, int64_t tokens)
{
    const int64_t D = kernel->head_dim, E = kernel->value_dim;
    p->n_q = tokens;
    p->q = (struct attn_strides){HEADS * LONGEST * D, LONGEST * D, D};
    p->k = (struct attn_strides){KV_HEADS * LONGEST * D, LONGEST * D, D};
    p->v = (struct attn_strides){KV_HEADS * LONGEST * E, LONGEST * E, E};
    p->out = (struct attn_strides){HEADS * LONGEST * E, LONGEST * E, E};
}

static size_t out_bytes(void)
{
    return (size_t)(BATCH * HEADS * LONGEST * kernel->value_dim) * sizeof *out;
}

/* Appends tokens to both states, and compares the outputs. */
static void grow(const int64_t *tokens)
{
    int64_t most = 0;
    for (int b = 0; b < BATCH; b++) most = tokens[b] > most ? tokens[b] : most;
    for (int b = 0; b < BATCH; b++) give_pages(b, tokens[b]);
    set_rows(&paged, most);
    set_rows(&alone, most);
    poison(true);
    memset(out, 0, out_bytes());
    memset(wanted, 0, out_bytes());
    check(extend(paged, tokens, state, out) == 0, "extend refused pages", length[0]);
    check(extend(alone, tokens, plain, wanted) == 0, "extend without pages", length[0]);
    check(memcmp(out, wanted, out_bytes()) == 0, "other bits than without pages", length[0]);
    poison(false);
    for (int b = 0; b < BATCH; b++) length[b] += tokens[b];
    served++;
}

static void keep(void)
{
    memcpy(kept_pages, base, pool);
    memcpy(kept_state, state, paged.state_bytes);
    memset(out, 0x3d, out_bytes());
    memcpy(kept_out, out, out_bytes());
}

static void unchanged(const char *why, int error, int wanted_error)
{
    check(error == wanted_error, why, error);
    const bool same = memcmp(kept_pages, base, pool) == 0 && memcmp(kept_state, state, paged.state_bytes) == 0 &&
                      memcmp(kept_out, out, out_bytes()) == 0;
    check(same, "something was written", error);
    if (!same) puts(why);
    refused++;
}

static void refuses(const char *why, int error, struct attn_problem p, const int64_t *lengths)
{
    unchanged(why, extend(p, lengths, state, out), error);
}

static void tries_tables(const int64_t *lengths)
{
    const int new_page = (int)(length[0] / TOKENS) + 1; /* of sequence 0 */
    const struct {
        int b, at;
        int32_t number;
        const char *why;
    } wrong[] = {
        {0, new_page, -1, "no page for new tokens"},
        {0, new_page - 1, -1, "the page that is not full was freed"},
        {1, 2, INT32_MIN, "a negative number"},
        {1, 1, COUNT, "a number out of range"},
        {0, new_page, INT32_MAX, "the largest number"},
        {0, new_page - 1, table[new_page], "a page twice among those that get tokens"},
        {0, new_page, table[new_page - 2], "new tokens in an earlier page of the sequence"},
        {0, new_page - 2, table[new_page], "a page that gets tokens is also an earlier one"},
        {1, 1, table[new_page], "another sequence has a page that gets tokens"},
        {0, new_page, table[ROW + 1], "new tokens in a page of another sequence"},
        {2, 0, table[new_page], "a sequence without new tokens has the page"},
        {1, 2, table[new_page], "two sequences append to a page"},
    };
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        int32_t *const number = &table[wrong[n].b * ROW + wrong[n].at], was = *number;
        *number = wrong[n].number;
        refuses(wrong[n].why, ATTN_EPAGES, paged, lengths);
        *number = was;
    }
}

static void tries_members(const int64_t *lengths)
{
    const struct attn_pages right = pages;
    const struct {
        struct attn_pages pages;
        int error;
        const char *why;
    } wrong[] = {
        {{base, right.bytes - 64, COUNT, TOKENS, table, ROW}, ATTN_EPAGES, "pages that overlap"},
        {{base, 0, COUNT, TOKENS, table, ROW}, ATTN_EPAGES, "pages without bytes"},
        {{base, right.bytes + 8, COUNT, TOKENS, table, ROW}, ATTN_EALIGN, "bytes that are not aligned"},
        {{base + 8, right.bytes, COUNT, TOKENS, table, ROW}, ATTN_EALIGN, "pages that are not aligned"},
        {{base, SIZE_MAX / 64 * 64, COUNT, TOKENS, table, ROW}, ATTN_ESIZE, "pages that are too large"},
        {{base, right.bytes, 1, TOKENS, table, ROW}, ATTN_EPAGES, "too few pages"},
        {{base, right.bytes, -1, TOKENS, table, ROW}, ATTN_EPAGES, "a negative number of pages"},
        {{base, right.bytes, INT64_MAX, TOKENS, table, ROW}, ATTN_EPAGES, "too many pages"},
        {{base, right.bytes, COUNT, 2 * TOKENS, table, ROW}, ATTN_ESTATE, "pages of another size"},
        {{base, right.bytes, COUNT, 15, table, ROW}, ATTN_EPAGES, "pages of 15 tokens"},
        {{base, right.bytes, COUNT, TOKENS, table, length[0] / TOKENS}, ATTN_ECAPACITY, "a table that is too short"},
        {{base, right.bytes, COUNT, TOKENS, table, -1}, ATTN_EPAGES, "a table of negative length"},
        {{NULL, right.bytes, COUNT, TOKENS, table, ROW}, ATTN_EPOINTER, "no pages"},
        {{base, right.bytes, COUNT, TOKENS, NULL, ROW}, ATTN_EPOINTER, "no table"},
    };
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        pages = wrong[n].pages;
        refuses(wrong[n].why, wrong[n].error, paged, lengths);
        pages = right;
    }
}

/* Pages that are also other memory of the call. */
static void tries_overlaps(void)
{
    struct attn_problem p = paged;
    unsigned char *const new_page = page(table[length[0] / TOKENS + 1]), *const old_page = page(
                                                                             table[length[0] / TOKENS - 1]);
    for (int a = 0; a < 4; a++)
        for (int at = 0; at < 2; at++) {
            void *given[] = {q, k, v, out};
            given[a] = at ? old_page : new_page;
            if (at && a < 3) continue; /* to read a page that is only read is harmless */
            unchanged("an array in a page",
                      kernel->extend(&p, NULL, given[0], given[1], given[2], given[3], state, work), ATTN_EPOINTER);
        }
    memcpy(old_page, state, paged.state_bytes); /* the state fits in a page */
    memcpy(kept_pages, base, pool);
    unchanged("the state in a page", kernel->extend(&p, NULL, q, k, v, out, old_page, work), ATTN_EPOINTER);
    unchanged("the workspace in a page", kernel->extend(&p, NULL, q, k, v, out, state, new_page), ATTN_EPOINTER);
    memcpy(new_page, table, sizeof table < pages.bytes ? sizeof table : pages.bytes);
    memcpy(kept_pages, base, pool);
    pages.table = (int32_t *)(void *)new_page;
    unchanged("the table in a page that gets tokens", kernel->extend(&p, NULL, q, k, v, out, state, work),
              ATTN_EPOINTER);
    pages.table = table;
}

/* A path of a draft moves rows. */
static void tries_paths(void)
{
    const int64_t path[] = {0, 2, 5}, first = length[0] - NEW;
    int32_t *const number = &table[(first + 2) / TOKENS], was = *number, other = table[2 * ROW];
    const struct attn_pages right = pages;
    keep();
    table[2 * ROW] = was;
    unchanged("a path in a page of another sequence", kernel->state_keep(&paged, state, 0, path, 3), ATTN_EPAGES);
    table[2 * ROW] = other;
    const int32_t earlier = table[0];
    table[0] = was;
    unchanged("a path in a page that is twice in the table", kernel->state_keep(&paged, state, 0, path, 3),
              ATTN_EPAGES);
    table[0] = earlier;
    *number = COUNT;
    unchanged("a path in a page out of range", kernel->state_keep(&paged, state, 0, path, 3), ATTN_EPAGES);
    *number = was;
    pages.bytes += 8;
    unchanged("a path in pages of odd bytes", kernel->state_keep(&paged, state, 0, path, 3), ATTN_EPAGES);
    pages = right;
    check(kernel->state_keep(&paged, state, 0, path, 3) == 0 && kernel->state_keep(&alone, plain, 0, path, 3) == 0,
          "a path was refused", 0);
    length[0] = first + 3;
}

static void prepare(void)
{
    const int64_t D = kernel->head_dim, E = kernel->value_dim;
    pages = (struct attn_pages){NULL, 0, COUNT, TOKENS, table, ROW};
    paged = (struct attn_problem){.batch = BATCH, .heads = HEADS, .kv_heads = KV_HEADS, .n_q = LONGEST, .threads = 4};
    paged.team = &own_team;
    paged.capacity = LONGEST;
    paged.rewind = NEW;
    alone = paged;
    alone.threads = 1;
    alone.team = NULL;
    paged.pages = &pages;
    pages.bytes = kernel->page(&paged);
    if (pages.bytes == 0) exit(3);
    pool = COUNT * pages.bytes;
    pages.base = base = memory_of(pool);
    memset(base, 0xff, pool); /* NaN */
    paged.state_bytes = kernel->state(&paged);
    alone.state_bytes = kernel->state(&alone);
    state = memory_of(paged.state_bytes);
    plain = memory_of(alone.state_bytes);
    const size_t one = kernel->extend_workspace(&paged), two = kernel->extend_workspace(&alone);
    work = memory_of(one > two ? one : two);
    q = numbers((size_t)(BATCH * HEADS * LONGEST * D), 1);
    k = numbers((size_t)(BATCH * KV_HEADS * LONGEST * D), 2);
    v = numbers((size_t)(BATCH * KV_HEADS * LONGEST * E), 3);
    out = memory_of(out_bytes());
    wanted = memory_of(out_bytes());
    kept_out = memory_of(out_bytes());
    kept_pages = memory_of(pool);
    kept_state = memory_of(paged.state_bytes);
    for (int n = 0; n < BATCH * ROW; n++) table[n] = -77;
    for (int n = 0; n < COUNT; n++) is_free[n] = true;
    if (kernel->state_init(&paged, state) || kernel->state_init(&alone, plain)) exit(3);
}

/* Sequence 1 begins with the pages of sequence 0. */
static void share(void)
{
    kernel->state_truncate(&paged, state, 1, 0);
    kernel->state_truncate(&alone, plain, 1, 0);
    free_pages(1, length[1] + TOKENS);
    kernel->state_copy(&paged, state, 1, state, 0);
    kernel->state_copy(&alone, plain, 1, plain, 0);
    length[1] = length[0];
    const int64_t full = length[0] / TOKENS;
    memcpy(&table[ROW], table, (size_t)full * sizeof *table);
    table[ROW + full] = take_page();
    memcpy(page(table[ROW + full]), page(table[full]), pages.bytes);
}

static void release(void)
{
    void *const all[] = {base, state, plain, work, kept_pages, kept_state, q, k, v, out, wanted, kept_out};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) free(all[n]);
}

int main(int argc, char **argv)
{
    const int64_t window = argc > 1 ? strtoll(argv[1], NULL, 10) : 0; /* the keys that a query sees, or 0 for all */
    prepare();
    grow((const int64_t[]){50, 35, 20});
    grow((const int64_t[]){9, 0, 1});
    for (int with_lengths = 0; with_lengths < 2; with_lengths++) {
        const int64_t lengths[] = {NEW, 9, with_lengths ? 0 : NEW};
        for (int b = 0; b < BATCH; b++) give_pages(b, lengths[b]);
        if (!with_lengths) /* a call without lengths: all sequences get as many tokens */
            give_pages(1, NEW);
        set_rows(&paged, NEW);
        keep();
        if (with_lengths) tries_tables(lengths);
        tries_members(with_lengths ? lengths : NULL);
    }
    grow((const int64_t[]){NEW, 9, 0});
    tries_paths();
    grow((const int64_t[]){TOKENS, 3, 0});
    if (window) { /* pages before the window are freed */
        for (int n = 0; n < 6; n++) {
            grow((const int64_t[]){37, 20, n % 2});
            for (int b = 0; b < BATCH; b++) free_pages(b, length[b] - window - NEW);
        }
    } else { /* a sequence ends, and another one begins in its pages */
        kernel->state_truncate(&paged, state, 2, 0);
        kernel->state_truncate(&alone, plain, 2, 0);
        free_pages(2, length[2] + TOKENS);
        length[2] = 0;
        grow((const int64_t[]){SHARED - length[0], 30, 40});
        share();
        for (int n = 0; n < 3; n++) grow((const int64_t[]){1, 1, n});
    }
    for (int b = 0; b < BATCH; b++) give_pages(b, NEW + TOKENS);
    set_rows(&paged, NEW + TOKENS);
    keep();
    tries_overlaps();
    check(team_runs > 0, "no call had several threads", team_runs);
    release();
    printf("%d calls refused, %d served\n", refused, served);
    return failures != 0;
}
