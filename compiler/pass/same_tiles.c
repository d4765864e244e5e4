/* Computes a tile once if two loops over the same keys compute it: a loop over rows from LO to HI of the loop over keys
   around it, and this loop. Examples are the copies of a chunk's keys as rows and as columns of a square of weights. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <string.h>

enum { MAX_WRITERS = 4, MAX_STATEMENTS = 256 };

/* The statements of one range of keys: those before the loop over rows, then those of its body. */
struct range_of_keys {
    struct loops *l;
    int keys, rows; /* the axes */
    struct stmt **outer, **inner;
    struct stmt *list[MAX_STATEMENTS];
    int count, begin; /* begin: the number of the first statement of the body */
};

static void list_statements(struct range_of_keys *x, const struct stmt *loop)
{
    x->count = 0;
    for (struct stmt *s = *x->outer; s != loop && x->count < MAX_STATEMENTS; s = s->next) x->list[x->count++] = s;
    x->begin = x->count;
    for (struct stmt *s = *x->inner; s && x->count < MAX_STATEMENTS; s = s->next) x->list[x->count++] = s;
}

static const struct expr *with_keys(const struct range_of_keys *x, const struct expr *e)
{
    static const enum expr_op leaf[] = {EXPR_INDEX, EXPR_LO, EXPR_HI};
    struct module *const m = x->l->module;
    for (size_t k = 0; e && k < sizeof leaf / sizeof *leaf; k++)
        e = expr_replace(m, e, expr_leaf(m, leaf[k], x->rows), expr_leaf(m, leaf[k], x->keys));
    return e;
}

static int axis_with_keys(const struct range_of_keys *x, int axis)
{
    return axis == x->rows ? x->keys : axis;
}

/* Whether references are equal if rows are called keys and array `from` is called `to`. */
static bool same_ref(const struct range_of_keys *x, const struct ref *a, const struct ref *b, int from, int to)
{
    if ((a->of == from ? to : a->of) != b->of || a->rank != b->rank) return false;
    for (int k = 0; k < a->rank; k++)
        if (with_keys(x, a->sub[k]) != b->sub[k]) return false;
    return true;
}

static bool same_statement(const struct range_of_keys *x, const struct stmt *a, const struct stmt *b, int from, int to)
{
    if (a->op != b->op || a->body || b->body || a->rank != b->rank || a->operands != b->operands || a->assigns != 1 ||
        b->assigns != 1 || a->coarse != b->coarse || a->where || b->where || a->op == LOOPS_SOLVE)
        return false;
    const struct assign *const p = &a->assign[0], *const q = &b->assign[0];
    if (a->op == LOOPS_DOT && (axis_with_keys(x, a->axis) != b->axis || a->times != b->times)) return false;
    if (p->fold != q->fold || p->compensation || q->compensation || with_keys(x, p->expr) != q->expr ||
        !same_ref(x, &p->to, &q->to, from, to))
        return false;
    for (int k = 0; k < a->rank; k++)
        if (axis_with_keys(x, a->axes[k]) != b->axes[k]) return false;
    for (int k = 0; k < a->operands; k++)
        if (!same_ref(x, &a->operand[k], &b->operand[k], from, to)) return false;
    return true;
}

static bool same_shape(const struct range_of_keys *x, const struct array *a, const struct array *b)
{
    bool same = a->kind == ARRAY_TILE && b->kind == ARRAY_TILE && a->dtype == b->dtype && a->rank == b->rank &&
                a->paired == b->paired && a->matrix == b->matrix && a->terms == b->terms && !a->held && !b->held &&
                !a->shared && !b->shared && !a->solved && !b->solved;
    for (int k = 0; k < a->rank && same; k++)
        same = axis_with_keys(x, a->axes[k]) == b->axes[k] && a->extent[k] == b->extent[k];
    return same;
}

/* Sets `at` to the numbers of the statements that write the array. Returns their count, or 0 if others write it or if
   it is read before. */
static int find_writers(const struct range_of_keys *x, int array, int *at)
{
    int count = 0;
    for (int k = 0; k < x->count; k++) {
        if (!stmt_touches(x->list[k], array)) continue;
        const bool writer = !x->list[k]->body && stmt_writes(x->list[k], array);
        if (!writer && !count) return 0;
        if (!writer) continue;
        if (count == MAX_WRITERS) return 0;
        at[count++] = k;
    }
    return count == stmts_writing(x->l->body, array) ? count : 0;
}

/* Whether what the statement reads, other than the array that it writes, is complete before statement `first`. */
static bool complete_before(const struct range_of_keys *x, const struct stmt *s, int first)
{
    for (int k = first; k < x->count; k++)
        for (int o = 0; o < s->operands; o++)
            if (s->operand[o].of != s->assign[0].to.of &&
                stmts_writing(x->list[k]->body, s->operand[o].of) + stmt_writes(x->list[k], s->operand[o].of) > 0)
                return false;
    return true;
}

static void drop(struct stmt **at, const struct stmt *s)
{
    while (*at != s) at = &(*at)->next;
    *at = s->next;
}

/* Makes tile `a` of the rows the tile `b` of the keys, if the same statements compute both. */
static bool merge(struct range_of_keys *x, int a, int b)
{
    int of_a[MAX_WRITERS], of_b[MAX_WRITERS];
    if (a == b || !same_shape(x, &x->l->array[a], &x->l->array[b])) return false;
    const int count = find_writers(x, a, of_a);
    if (!count || of_a[0] < x->begin || find_writers(x, b, of_b) != count) return false;
    const int first = of_a[0] < of_b[0] ? of_a[0] : of_b[0];
    for (int k = 0; k < count; k++)
        if (!same_statement(x, x->list[of_a[k]], x->list[of_b[k]], a, b) ||
            !complete_before(x, x->list[of_a[k]], first))
            return false;
    for (int k = 0; k < count; k++) {
        struct stmt *const own = x->list[of_a[k]], *const other = x->list[of_b[k]];
        if (of_b[k] < of_a[k]) {
            drop(x->inner, own);
            continue;
        }
        drop(x->inner, other);
        struct stmt *const next = own->next;
        *own = *other;
        own->next = next;
    }
    stmts_rename(x->l->body, a, b);
    return true;
}

static bool merge_any(struct range_of_keys *x)
{
    for (int k = x->begin; k < x->count; k++) {
        if (x->list[k]->body || x->list[k]->assigns != 1) continue;
        const int a = x->list[k]->assign[0].to.of;
        bool of_rows = false;
        for (int n = 0; n < x->l->array[a].rank; n++) of_rows |= x->l->array[a].axes[n] == x->rows;
        for (int b = 0; b < x->l->arrays && of_rows; b++)
            if (merge(x, a, b)) return true;
    }
    return false;
}

static bool merge_tiles(struct loops *l, struct stmt **at)
{
    struct stmt *const keys = *at;
    if (keys->op != LOOPS_FOR) return false;
    const struct expr *const lo = expr_lo(l->module, keys->axis), *const hi = expr_hi(l->module, keys->axis);
    for (struct stmt *rows = keys->body; rows; rows = rows->next) {
        if (rows->op != LOOPS_FOR || rows->from != lo || rows->to != hi || rows->step < keys->step) continue;
        struct range_of_keys x = {
            .l = l, .keys = keys->axis, .rows = rows->axis, .outer = &keys->body, .inner = &rows->body};
        do list_statements(&x, rows);
        while (x.count < MAX_STATEMENTS && merge_any(&x));
    }
    return false;
}

void pass_same_tiles(struct compilation *c)
{
    stmts_rewrite(&c->loops->body, merge_tiles, c->loops);
}
