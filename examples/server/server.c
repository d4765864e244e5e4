/* The loop of a server: in each step, every sequence gets a token, and new sequences get their prompts, in one call of
   extend. All sequences begin with one prompt, which is computed once.
   usage: server [--apart] [--check] [--only KERNEL] [FILE.csv] */
#include <attnrt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "polysketch.h"
#include "softmax.h"
#include "softmax_q8_0.h"
#include "window.h"

enum { SLOTS = SEQUENCES + 1, PAGE = 64, PAGES = 4096, ROW = 64, MOST_ROWS = 8192 };

struct server {
    const struct attn_kernel *kernel;
    int apart; /* sequences do not share their first tokens */
    struct attn_problem problem;
    struct attn_pages pages;
    int32_t table[SLOTS][ROW];
    int users[PAGES]; /* sequences that have a page */
    int used;         /* pages with users */
    int64_t length[SLOTS], new_tokens[SLOTS], first_row[SLOTS + 1];
    void *params, *storage, *state, *workspace, *memory;
    float *q, *k, *v, *out;
    float last[HEADS * D]; /* the last row of CHECKED */
};

static int fail(const struct server *s, int error)
{
    fprintf(stderr, "server: %s: %s\n", s->kernel->name, attn_strerror(error));
    return error;
}

/* ---- pages ---- */

static void release(struct server *s, int slot, int64_t from, int64_t to)
{
    for (int64_t x = from; x < to && s->pages.count; x++) {
        int32_t *const page = &s->table[slot][x];
        if (*page >= 0 && --s->users[*page] == 0) s->used--;
        *page = -1;
    }
}

/* Gives a sequence pages for its new tokens. Returns ATTN_EMEMORY if none are left. */
static int allocate(struct server *s, int slot)
{
    const int64_t pages = (s->length[slot] + s->new_tokens[slot] + PAGE - 1) / PAGE;
    if (pages > ROW) return ATTN_ECAPACITY;
    for (int64_t x = (s->length[slot] + PAGE - 1) / PAGE; x < pages && s->pages.count; x++) {
        int32_t page = 0;
        while (page < PAGES && s->users[page]) page++;
        if (page == PAGES) return ATTN_EMEMORY;
        s->users[page] = 1;
        s->used++;
        s->table[slot][x] = page;
    }
    return 0;
}

/* Lets a new sequence begin with the tokens of SHARED. These are whole pages. */
static int share(struct server *s, int slot)
{
    for (int64_t x = 0; x < SHARED_TOKENS / PAGE && s->pages.count; x++) {
        s->table[slot][x] = s->table[SHARED][x];
        if (s->table[slot][x] >= 0) s->users[s->table[slot][x]]++;
    }
    s->length[slot] = SHARED_TOKENS;
    return s->kernel->state_copy(&s->problem, s->state, slot, s->state, SHARED);
}

/* ---- steps ---- */

/* A sequence whose last row is compared with that of a sequence that is computed alone. */
enum { CHECKED = 5 };

/* Appends new_tokens[slot] tokens to each sequence, in one call. */
static int step(struct server *s)
{
    struct attn_problem *const p = &s->problem;
    int64_t rows = 0;
    for (int slot = 0; slot < SLOTS; slot++) {
        s->first_row[slot] = rows;
        const int error = s->new_tokens[slot] ? allocate(s, slot) : 0;
        if (error) return fail(s, error);
        for (int64_t n = 0; n < s->new_tokens[slot]; n++, rows++) {
            const int64_t at = s->length[slot] + n;
            const int shared = at < SHARED_TOKENS && slot != SHARED;
            load_token(shared ? SHARED : slot, at, s->q + rows * HEADS * D, s->k + rows * KV_HEADS * D,
                       s->v + rows * KV_HEADS * D);
        }
    }
    s->first_row[SLOTS] = p->n_q = rows;
    if (rows == 0) return 0;
    const int error = s->kernel->extend(p, s->params, s->q, s->k, s->v, s->out, s->state, s->workspace);
    if (error) return fail(s, error);
    if (s->new_tokens[CHECKED]) memcpy(s->last, s->out + (s->first_row[CHECKED + 1] - 1) * HEADS * D, sizeof s->last);
    for (int slot = 0; slot < SLOTS; slot++) {
        s->length[slot] += s->new_tokens[slot];
        s->new_tokens[slot] = 0;
    }
    return 0;
}

/* Frees pages that no later query of a window reads. */
static void leave_window(struct server *s, int slot, int64_t window)
{
    if (window && s->length[slot] > window) release(s, slot, 0, (s->length[slot] - window) / PAGE);
}

/* Returns the bytes that sequences use now. A state without pages has equal parts for all slots. */
static size_t bytes_used(const struct server *s, int active)
{
    if (s->pages.count) return s->problem.state_bytes + (size_t)s->used * s->pages.bytes;
    return s->problem.state_bytes / SLOTS * (size_t)(active + 1);
}

static int open_server(struct server *s, const struct attn_kernel *kernel)
{
    struct attn_problem *const p = &s->problem;
    s->kernel = kernel;
    memset(s->table, -1, sizeof s->table);
    *p = (struct attn_problem){.batch = SLOTS,
                               .heads = HEADS,
                               .kv_heads = KV_HEADS,
                               .n_q = MOST_ROWS,
                               .q = {.head = D, .row = HEADS * D},
                               .k = {.head = D, .row = KV_HEADS * D},
                               .v = {.head = D, .row = KV_HEADS * D},
                               .out = {.head = D, .row = HEADS * D},
                               .cu_seqlens = s->first_row};
    s->pages = (struct attn_pages){.tokens = PAGE, .table = s->table[0], .row = ROW};
    p->pages = &s->pages;
    s->pages.bytes = kernel->page(p);
    if (s->pages.bytes) {
        s->pages.count = PAGES;
        s->pages.base = s->memory = attn_alloc(s->pages.bytes * PAGES);
    } else { /* a linear form: its state has one size */
        p->pages = NULL;
    }
    for (int slot = 0; slot <= SLOTS; slot++) s->first_row[slot] = slot < SLOTS ? 0 : MOST_ROWS;
    p->state_bytes = kernel->state(p);
    p->workspace_bytes = kernel->extend_workspace(p);
    s->state = attn_alloc(p->state_bytes);
    s->workspace = attn_alloc(p->workspace_bytes);
    s->params = attn_alloc(kernel->params_bytes);
    s->storage = attn_alloc(kernel->params_size());
    float **const arrays[] = {&s->q, &s->k, &s->v, &s->out};
    for (int n = 0; n < 4; n++) *arrays[n] = attn_alloc(sizeof **arrays[n] * MOST_ROWS * HEADS * D);
    if (!s->state || !s->workspace || !s->params || !s->storage || !s->q || !s->k || !s->v || !s->out ||
        (p->pages && !s->memory))
        return fail(s, ATTN_EMEMORY);
    int error = kernel->params_init(s->params, 1, s->storage);
    if (!error) error = kernel->state_init(p, s->state);
    return error ? fail(s, error) : 0;
}

static void close_server(struct server *s)
{
    void *const memory[] = {s->memory, s->state, s->workspace, s->params, s->storage, s->q, s->k, s->v, s->out};
    for (size_t n = 0; n < sizeof memory / sizeof *memory; n++) attn_free(memory[n]);
}

/* Serves all sequences. Writes a line for each step to `csv`, if it is not NULL. */
static int serve(struct server *s, int64_t window, FILE *csv)
{
    int64_t total = 0, ended = 0, tick = 0;
    size_t most = 0;
    s->new_tokens[SHARED] = s->apart ? 0 : SHARED_TOKENS;
    const double start = attn_seconds();
    int error = step(s);
    for (; ended < SEQUENCES && !error; tick++) {
        int active = 0;
        int64_t tokens = 0;
        for (int slot = 0; slot < SEQUENCES && !error; slot++) {
            const struct sequence q = load_sequence(slot);
            const int64_t end = SHARED_TOKENS + q.prompt + q.tokens;
            if (q.arrives == tick) {
                if (!s->apart) error = share(s, slot);
                s->new_tokens[slot] = q.prompt + (s->apart ? SHARED_TOKENS : 0);
            } else if (s->length[slot] && s->length[slot] < end) {
                s->new_tokens[slot] = 1;
            } else if (s->length[slot] == end) {
                release(s, slot, 0, ROW);
                error = s->kernel->state_truncate(&s->problem, s->state, slot, 0);
                s->length[slot] = 0;
                ended++;
            }
            active += s->new_tokens[slot] > 0;
            tokens += s->new_tokens[slot];
        }
        const double before = attn_seconds();
        if (!error) error = step(s);
        for (int slot = 0; slot < SEQUENCES; slot++) leave_window(s, slot, window);
        const size_t bytes = bytes_used(s, active);
        if (bytes > most) most = bytes;
        total += tokens;
        if (csv && tokens)
            fprintf(csv, "%s,%lld,%.6f,%d,%lld,%.6f,%zu\n", s->kernel->name, (long long)tick, before - start, active,
                    (long long)tokens, attn_seconds() - before, bytes);
    }
    const double seconds = attn_seconds() - start;
    if (!error)
        printf("%-12s %8lld tokens %8.0f tokens/s  at most %7.2f MiB\n", s->kernel->name, (long long)total,
               (double)total / seconds, (double)most / (1 << 20));
    return error ? fail(s, error) : 0;
}

/* Computes the sequence CHECKED alone, and returns whether its last row has the same bits. */
static int check(struct server *all, const struct attn_kernel *kernel)
{
    struct server *const s = calloc(1, sizeof *s);
    if (!s) return ATTN_EMEMORY;
    const struct sequence q = load_sequence(CHECKED);
    int error = open_server(s, kernel);
    s->new_tokens[SHARED] = SHARED_TOKENS;
    if (!error) error = step(s);
    if (!error) error = share(s, CHECKED);
    s->new_tokens[CHECKED] = q.prompt;
    for (int64_t n = 0; n <= q.tokens && !error; n++, s->new_tokens[CHECKED] = 1) error = step(s);
    if (!error) {
        error = memcmp(all->last, s->last, sizeof s->last) != 0;
        printf("%-12s sequence %d has %s bits as alone\n", kernel->name, CHECKED, error ? "other" : "the same");
    }
    close_server(s);
    free(s);
    return error;
}

int main(int argc, char **argv)
{
    static const struct {
        const struct attn_kernel *kernel;
        int64_t window;
    } all[] = {{&softmax_kernel, 0}, {&softmax_q8_0_kernel, 0}, {&window_kernel, 512}, {&polysketch_kernel, 0}};
    int apart = 0, checks = 0, error = 0;
    const char *path = NULL, *only = NULL;
    for (int n = 1; n < argc; n++) {
        if (strcmp(argv[n], "--apart") == 0)
            apart = 1;
        else if (strcmp(argv[n], "--check") == 0)
            checks = 1;
        else if (strcmp(argv[n], "--only") == 0 && n + 1 < argc)
            only = argv[++n];
        else
            path = argv[n];
    }
    FILE *const csv = path ? fopen(path, "w") : NULL;
    if (path && !csv) {
        perror(path);
        return 1;
    }
    if (csv) fprintf(csv, "kernel,step,time,active,tokens,seconds,bytes\n");
    if (!load_make()) return 1;
    for (size_t n = 0; n < sizeof all / sizeof *all && !error; n++) {
        if (only && strcmp(only, all[n].kernel->name) != 0) continue;
        struct server *const s = calloc(1, sizeof *s);
        if (!s) return 1;
        s->apart = apart;
        error = open_server(s, all[n].kernel);
        if (!error) error = serve(s, all[n].window, csv);
        if (!error && checks && !apart) error = check(s, all[n].kernel);
        close_server(s);
        free(s);
    }
    load_free();
    if (csv && fclose(csv) != 0) {
        perror(path);
        return 1;
    }
    return error != 0;
}
