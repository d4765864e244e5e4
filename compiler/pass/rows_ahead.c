/* Chooses the rows of the caller that kernels by chunks prefetch, if only maps and copies read and write these rows
   (pass/lower/chunk_sums.c). Each row of a chunk prefetches the same row of the next chunk. */
#include "pass.h"
#include "../analysis/analysis.h"

static uint32_t rows_of_map(const struct loops *l, const struct stmt *s)
{
    const bool folds = s->rank > 0 && !ref_uses_axis(&s->assign[0].to, s->axes[s->rank - 1]);
    uint32_t ahead = 0;
    for (int k = 0; k < s->operands; k++) {
        /* A row that is read again has been prefetched by the sum over its elements. */
        bool again = !folds && stmts_touching(l->body, s->operand[k].of) > 1;
        for (int o = 0; o < k; o++) again |= ref_equal(&s->operand[o], &s->operand[k]);
        if (!again && stmt_reads_row(l, s, &s->operand[k])) ahead |= AXIS(k);
    }
    return ahead;
}

void pass_rows_ahead(struct compilation *c)
{
    struct stmts w = {.list = prefix_sums_are_own(c) ? c->loops->body : NULL};
    for (struct stmt *s; (s = stmts_next(&w));) {
        if (s->op == LOOPS_COPY)
            s->ahead = (stmt_reads_row(c->loops, s, &s->operand[0]) ? 1 : 0) |
                       (stmt_reads_row(c->loops, s, &s->assign[0].to) ? AHEAD_OF_RESULT : 0);
        if (s->op == LOOPS_MAP) s->ahead = rows_of_map(c->loops, s);
    }
}
