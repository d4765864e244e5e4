/* Calls of extend. The state first gets c->position tokens in long calls. A measured call then appends c->tokens
   tokens, one by one. */
#include "call.h"
#include "host.h"
#include "../../runtime/attnrt.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1024 }; /* the maximum number of tokens in a call that fills a state */

void call_extends(struct call *c, int64_t position, int64_t tokens, bool grows)
{
    const int64_t piece = position < PIECE ? position : PIECE, rows = piece > tokens ? piece : tokens;
    c->kind = CALL_EXTEND;
    c->position = position;
    c->tokens = tokens;
    c->grows = grows;
    c->problem.n_q = c->problem.n_k = rows;
    c->problem.capacity = position + tokens;
    c->problem.state_bytes = c->kernel->state(&c->problem);
}

double call_state_lacks(const struct call *c)
{
    return (double)c->problem.state_bytes * (c->grows ? 1 : 2);
}

/* Calls extend for p->n_q tokens, beginning at row `row` of the arrays. Computes the output if `asked` is true. */
static int extend(const struct call *c, const struct attn_problem *p, int64_t row, bool asked)
{
    const size_t size = attn_dtype_size(c->kernel->dtype);
    char *const *data = c->arrays->data;
    return c->kernel->extend(p, c->params, asked ? data[ROLE_Q] + (size_t)(row * p->q.row) * size : NULL,
                             data[ROLE_K] + (size_t)(row * p->k.row) * size,
                             data[ROLE_V] + (size_t)(row * p->v.row) * size,
                             asked ? data[ROLE_OUT] + (size_t)(row * p->out.row) * size : NULL, c->state, c->workspace);
}

/* Appends c->position tokens to the first sequence and copies its state to the others. */
static int fill_state(struct call *c)
{
    struct attn_problem p = c->problem;
    int64_t *const lengths = calloc((size_t)p.batch, sizeof *lengths);
    int error = lengths ? c->kernel->state_init(&p, c->state) : ATTN_EMEMORY;
    p.lengths = lengths;
    for (int64_t done = 0; done < c->position && !error; done += p.n_q) {
        p.n_q = c->position - done < c->problem.n_q ? c->position - done : c->problem.n_q;
        lengths[0] = p.n_q;
        error = extend(c, &p, 0, false);
    }
    for (int64_t b = 1; b < p.batch && !error; b++) error = c->kernel->state_copy(&p, c->state, b, c->state, 0);
    free(lengths);
    return error;
}

int call_prepare_state(struct call *c)
{
    const struct attn_kernel *const kernel = c->kernel;
    const size_t bytes = c->problem.state_bytes;
    int error = attn_problem_check(&c->problem, kernel->head_dim, kernel->value_dim, &c->problem);
    if (error) return error;
    c->state = attn_alloc(bytes);
    c->before = c->grows ? NULL : attn_alloc(bytes);
    if (!c->state || (!c->grows && !c->before)) return ATTN_EMEMORY;
    error = fill_state(c);
    if (!error && c->before) memcpy(c->before, c->state, bytes);
    return error;
}

int call_rewind(const struct call *c)
{
    int error = 0;
    if (c->kind != CALL_EXTEND) return 0;
    for (int64_t b = 0; b < c->problem.batch && !error; b++)
        error = c->kernel->state_truncate(&c->problem, c->state, b, c->position);
    if (error != ATTN_ELENGTH || !c->before) return error;
    memcpy(c->state, c->before, c->problem.state_bytes);
    return 0;
}

int call_tokens(const struct call *c)
{
    struct attn_problem p = c->problem;
    int error = 0;
    p.n_q = 1;
    for (int64_t row = 0; row < c->tokens && !error; row++) error = extend(c, &p, row, true);
    return error;
}
