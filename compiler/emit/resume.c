/* Statements that leave out rows of a chunk whose solution is in the caller's state. An earlier call has solved the
   equations of these rows. A SOLVE then begins with the first new row. So do the statements before it whose results
   only it uses. */
#include "emit.h"
#include "printer.h"

static const struct stmt *solve_of(const struct emitter *x, const struct stmt *loop)
{
    const struct stmt *s = loop->op == LOOPS_FOR ? loop->body : NULL;
    while (s && !(s->op == LOOPS_SOLVE && x->l->array[s->assign[0].to.of].solved && s->axes[0] == loop->axis))
        s = s->next;
    return s;
}

bool emit_resumes(struct emitter *x, const struct stmt *loop)
{
    if (!solve_of(x, loop)) return false;
    const char *const rows = x->m->axis[loop->axis].name;
    emit_line(x, "const int64_t %s_new = max(%s0, call->solved); /* the first row without a solution */", rows, rows);
    return true;
}

/* Returns how many statements of list s, and of the bodies in it, read the array, except statement `but`. */
static int readers(const struct stmt *s, int array, const struct stmt *but)
{
    int count = 0;
    for (; s; s = s->next) count += readers(s->body, array, but) + (s != but && stmt_reads(s, array));
    return count;
}

/* Whether all references of s to the array have `rows` as their first subscript. */
static bool reads_rows(const struct stmt *s, int array, int rows)
{
    bool reads = true;
    for (int k = 0; k < s->operands; k++)
        if (s->operand[k].of == array) reads &= s->operand[k].rank > 0 && ref_axis(&s->operand[k], 0) == rows;
    return reads;
}

bool emit_has_new_rows(const struct emitter *x, const struct stmt *s)
{
    const struct loops *const l = x->l;
    const int rows = x->resumed ? x->resumed->axis : -1;
    if (rows < 0 || s->rank != 2 || s->axes[0] != rows) return false;
    if (s->op == LOOPS_SOLVE) return l->array[s->assign[0].to.of].solved;
    if ((s->op != LOOPS_MAP && s->op != LOOPS_DOT) || s->where || s->when || s->ranges) return false;
    if (s->op == LOOPS_DOT && (s->operands != 2 || l->array[s->operand[1].of].paired ||
                               l->array[s->operand[1].of].matrix || s->assign[0].fold != FOLD_SET))
        return false;
    for (int k = 0; k < s->assigns; k++) {
        const struct ref *const to = &s->assign[k].to;
        const struct array *const a = &l->array[to->of];
        if (a->kind != ARRAY_TILE || a->shared || a->solved || a->remembered || s->assign[k].compensation ||
            ref_axis(to, 0) != rows)
            return false;
        int found = 0;
        for (const struct stmt *after = s->next; after; after = after->next) {
            if (!stmt_reads(after, to->of)) continue;
            if (!emit_has_new_rows(x, after) || !reads_rows(after, to->of, rows)) return false;
            found++;
        }
        if (found != readers(l->body, to->of, s)) return false;
    }
    return true;
}

bool emit_has_new_lanes(const struct emitter *x, const struct stmt *s)
{
    const int rows = x->resumed->axis;
    if (s->op == LOOPS_SOLVE) return emit_has_new_rows(x, s);
    if ((s->op != LOOPS_MAP && s->op != LOOPS_DOT) || s->rank != 2 || s->axes[1] != rows) return false;
    for (int k = 0; k < s->assigns; k++) {
        const struct ref *const to = &s->assign[k].to;
        if (x->l->array[to->of].kind != ARRAY_TILE || s->assign[k].compensation || ref_axis(to, to->rank - 1) != rows)
            return false;
        int found = 0;
        for (const struct stmt *after = s->next; after; after = after->next)
            if (stmt_reads(after, to->of)) found += emit_has_new_lanes(x, after);
        if (found != readers(x->l->body, to->of, s)) return false;
    }
    return true;
}

const struct stmt *emit_product_of_queries(const struct emitter *x, const struct stmt *s, const struct stmt **loop)
{
    const struct loops *const l = x->l;
    const struct stmt *const queries = x->resumed ? x->resumed->next : NULL,
                             *product = queries && queries->op == LOOPS_FOR ? queries->body : NULL;
    while (product && product->op == LOOPS_COPY) product = product->next;
    if (!product || product->op != LOOPS_DOT || s->op != LOOPS_DOT || queries->ranges || queries->period ||
        queries->where || queries->when || queries->step < x->resumed->step)
        return NULL;
    const struct ref *const rows = &s->operand[1], *const columns = &product->operand[0];
    if (!l->array[rows->of].kept || !ref_equal(rows, columns) || product->operands != 2 || product->where ||
        product->assign[0].fold != FOLD_SET || product->axis != s->axis || product->axes[0] != s->axes[1] ||
        l->array[product->operand[1].of].kind != ARRAY_TILE || l->array[product->operand[1].of].paired ||
        l->array[product->operand[1].of].matrix || l->array[product->assign[0].to.of].kind != ARRAY_TILE)
        return NULL;
    for (const struct stmt *copy = queries->body; copy != product; copy = copy->next)
        if (stmt_writes(copy, product->operand[1].of)) return NULL;
    *loop = queries;
    return product;
}
