/* Marks statements that leave out rows of a chunk whose solution is in the caller's state. An earlier call has solved
   the equations of these rows. A SOLVE then begins with the first new row. So do the statements before it whose results
   only it uses. (stmt.resumes in ir/loops.h) */
#include "pass.h"

/* Whether all readers of what s writes to the array have the mark, and for RESUME_ROWS, read it by rows. The readers
   after s have their marks. */
static bool only_new_readers(const struct loops *l, const struct stmt *s, int array, int rows, unsigned mark)
{
    bool all = true;
    struct stmts w = {.list = l->body};
    for (const struct stmt *t; (t = stmts_next(&w));) {
        if (t == s || !stmt_reads(t, array)) continue;
        all &= (t->resumes & mark) != 0;
        for (int k = 0; k < t->operands && mark == RESUME_ROWS; k++)
            all &= t->operand[k].of != array || (t->operand[k].rank > 0 && ref_axis(&t->operand[k], 0) == rows);
    }
    return all;
}

/* Whether s, which has `rows` as its rows or as its lanes, is needed only for new rows. */
static bool is_new(const struct loops *l, const struct stmt *s, int rows, unsigned mark)
{
    const bool by_rows = mark == RESUME_ROWS;
    if ((s->op != LOOPS_MAP && s->op != LOOPS_DOT) || s->rank != 2 || s->axes[!by_rows] != rows) return false;
    if (by_rows && (s->where || s->when || s->ranges)) return false;
    if (by_rows && s->op == LOOPS_DOT &&
        (s->operands != 2 || l->array[s->operand[1].of].paired || l->array[s->operand[1].of].matrix ||
         s->assign[0].fold != FOLD_SET))
        return false;
    for (int k = 0; k < s->assigns; k++) {
        const struct ref *const to = &s->assign[k].to;
        const struct array *const a = &l->array[to->of];
        if (a->kind != ARRAY_TILE || s->assign[k].compensation || ref_axis(to, by_rows ? 0 : to->rank - 1) != rows ||
            (by_rows && (a->shared || a->solved || a->remembered)) || !only_new_readers(l, s, to->of, rows, mark))
            return false;
    }
    return true;
}

/* Marks a list from its end. Returns whether it has a SOLVE that resumes. */
static bool mark_list(const struct loops *l, struct stmt *s, int rows)
{
    if (!s) return false;
    const bool after = mark_list(l, s->next, rows);
    const bool solves = s->op == LOOPS_SOLVE && s->axes[0] == rows && l->array[s->assign[0].to.of].solved;
    if (solves) s->resumes = RESUME_ROWS | RESUME_LANES;
    for (unsigned mark = RESUME_ROWS; after && mark <= RESUME_LANES; mark <<= 1)
        if (is_new(l, s, rows, mark)) s->resumes |= mark;
    return after || solves;
}

/* Marks the product of the chunk's queries with the state, and the product of new rows that reads the same numbers, if
   one pass over the state can compute both. */
static void share_pass(const struct loops *l, struct stmt *loop)
{
    struct stmt *const queries = loop->next, *product = queries && queries->op == LOOPS_FOR ? queries->body : NULL;
    while (product && product->op == LOOPS_COPY) product = product->next;
    if (!product || product->op != LOOPS_DOT || queries->ranges || queries->period || queries->where || queries->when ||
        queries->step < loop->step || product->operands != 2 || product->where || product->assign[0].fold != FOLD_SET)
        return;
    const struct array *const lane = &l->array[product->operand[1].of];
    bool may = lane->kind == ARRAY_TILE && !lane->paired && !lane->matrix && l->array[product->operand[0].of].kept &&
               l->array[product->assign[0].to.of].kind == ARRAY_TILE;
    for (const struct stmt *copy = queries->body; copy != product; copy = copy->next)
        may &= !stmt_writes(copy, product->operand[1].of);
    for (struct stmt *s = loop->body; s; s = s->next) {
        if (!may || s->op != LOOPS_DOT || !(s->resumes & RESUME_ROWS) || product->axis != s->axis ||
            product->axes[0] != s->axes[1] || !ref_equal(&s->operand[1], &product->operand[0]))
            continue;
        s->resumes |= RESUME_SHARES;
        product->resumes |= RESUME_SHARES;
    }
}

void pass_resume(struct compilation *c)
{
    struct stmts w = {.list = c->loops->body};
    for (struct stmt *s; (s = stmts_next(&w));)
        if (s->op == LOOPS_FOR && mark_list(c->loops, s->body, s->axis)) {
            s->resumes = RESUME_ROWS;
            share_pass(c->loops, s);
        }
}
