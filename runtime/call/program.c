/* Chooses the program that a call runs: by the machine's target, the number of keys, and the number of queries. */
#include "call.h"

/* Calls with at most this number of queries may be few queries. With MIN_HEADS query heads or more that share keys,
   each vector lane has a query head. */
enum { MAX_FEW_QUERIES = 16, MIN_HEADS = 32 };

/* Returns whether a few queries take less time one by one than as one tile. A single query has an overhead of 10
   vectors, and a tile has an overhead of 40 vectors. Both were measured with AVX2 and SSE2. */
static int few_pay(int64_t n_q, int64_t n_k, int64_t lanes)
{
    enum { MANY_KEYS = 1024 };
    return n_k >= MANY_KEYS || n_q * (n_k + 10 * lanes) <= round_up(n_q, lanes) * n_k + 40 * lanes;
}

/* Returns whether the program's form serves a call. */
static int serves(const struct program *p, int64_t n_k, int64_t rows, int64_t n_q)
{
    if (p->form == FORM_MANY) return 1;
    if (p->form == FORM_HEADS) return rows == MANY_HEADS;
    return rows != MANY_HEADS && rows <= p->few_rows && (p->lanes == 0 || few_pay(n_q, n_k, p->lanes));
}

/* Returns the first program for the role, of the first target that this machine runs and that has such a program. The
   others for the role follow it. Sets *end to the end of the target's programs. Returns `*end` if there is none. */
static const struct program *programs_here(const struct kernel *kernel, enum program_role role,
                                           const struct program **end)
{
    if (!fits_library(kernel)) return *end; /* NULL: the table of targets is another one */
    for (const struct target *t = kernel->target; t < kernel->target + kernel->targets; t++) {
        if (t->runs && !t->runs()) continue;
        const struct program *p = t->program;
        *end = p + t->programs;
        while (p < *end && p->role != role) p++;
        if (p < *end) return p;
    }
    return *end;
}

ATTN_API const struct program *attn_call_program(const struct kernel *kernel, enum program_role role, int part,
                                                 int64_t n_k, int64_t rows, int64_t n_q)
{
    static const struct program none = {.tile = 1};
    const struct program *end = NULL;
    for (const struct program *p = programs_here(kernel, role, &end); p < end && p->role == role; p++)
        if (p->part == part && p->from <= max(n_k, 0) && serves(p, n_k, rows, n_q)) return p;
    return &none;
}

ATTN_API size_t attn_call_max_bytes(const struct kernel *kernel, enum program_role role, int64_t n_k)
{
    const struct program *end = NULL;
    size_t bytes = 0;
    for (const struct program *p = programs_here(kernel, role, &end); p < end && p->role == role; p++)
        if (p->from <= max(n_k, 0)) bytes = larger(bytes, attn_call_bytes_a_thread(p));
    return bytes;
}

ATTN_API int64_t attn_call_rows_of(const struct kernel *kernel, const struct attn_problem *p)
{
    if (kernel->gathers && !p->saved && p->kv_heads > 0) return MANY_HEADS;
    if (p->n_q > MAX_FEW_QUERIES || p->saved || p->kv_heads <= 0) return MANY_ROWS;
    if (kernel->by_heads && p->heads / p->kv_heads >= MIN_HEADS) return MANY_HEADS;
    return min(p->heads / p->kv_heads * p->n_q, MANY_ROWS);
}

ATTN_API void attn_call_heads_as_queries(struct call *call)
{
    struct attn_problem *const p = &call->p;
    const int64_t members = p->heads / p->kv_heads;
    for (int k = 0; k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        if (a->origin != FROM_ARGUMENT || a->rows != ROWS_OF_QUERIES || a->access[ENTRY_FORWARD] == ACCESS_NONE)
            continue;
        struct attn_strides *const s = &call->array[k].strides;
        const int64_t head = s->head;
        call->array[k].group = members * head;
        s->head = s->row;
        s->row = head;
    }
    p->heads = p->kv_heads * p->n_q;
    p->n_q = members;
}

ATTN_API int64_t attn_call_next_length(const struct kernel *kernel, int64_t n_k)
{
    const struct program *end = NULL;
    int64_t next = INT64_MAX;
    for (const struct program *p = programs_here(kernel, RUN_FORWARD, &end); p < end && p->role == RUN_FORWARD; p++)
        if (p->from > n_k) next = min(next, p->from);
    return next;
}
