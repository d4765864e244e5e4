/* Merges neighbouring maps over one nest, so that elements stay in registers. Also reuses memory: if a tile's last
   reader computes a tile of the same shape, element by element, the two tiles share memory. */
#include "pass.h"
#include "../schedule/schedule.h"

bool first_sets(const struct stmt *s, int a)
{
    while (s && !stmt_touches(s, a)) s = s->next;
    return s && !s->body && s->assigns && s->assign[0].to.of == a && s->assign[0].fold == FOLD_SET && !stmt_reads(s, a);
}

static bool same_shape(const struct array *a, const struct array *b)
{
    if (a->kind != ARRAY_TILE || b->kind != ARRAY_TILE || a->shared || b->shared || a->solved || b->solved ||
        a->rank != b->rank || a->dtype != b->dtype || a->paired != b->paired || a->terms != b->terms ||
        a->held != b->held)
        return false;
    for (int k = 0; k < a->rank; k++)
        if (a->axes[k] != b->axes[k] || a->extent[k] != b->extent[k]) return false;
    return true;
}

/* ---- reusing memory ---- */

static void lend(struct loops *l, struct stmt *body, struct stmt *s)
{
    if (s->op != LOOPS_MAP || s->assigns != 1 || s->assign[0].fold != FOLD_SET) return;
    int to = s->assign[0].to.of;
    for (int k = 0; k < s->operands; k++) {
        int from = s->operand[k].of;
        struct ref there = s->assign[0].to;
        there.of = from;
        bool pointwise = from != to && same_shape(&l->array[from], &l->array[to]) && ref_equal(&there, &s->operand[k]);
        for (int o = 0; o < s->operands && pointwise; o++)
            pointwise = s->operand[o].of != to && (o == k || s->operand[o].of != from);
        if (!pointwise || !first_sets(body, from)) continue;
        bool later = false;
        for (const struct stmt *after = s->next; after; after = after->next) later |= stmt_touches(after, from);
        /* both tiles are used only here, so no element is needed after an iteration */
        if (later || stmts_touching(l->body, from) != stmts_touching(body, from) ||
            stmts_touching(l->body, to) != stmts_touching(body, to))
            continue;
        struct stmt *first = body;
        while (!stmt_touches(first, to)) first = first->next;
        if (first != s) continue;
        stmts_rename(l->body, to, from);
        return;
    }
}

/* ---- merging ---- */

/* Whether s reduces across the lanes. */
static bool across_lanes(const struct stmt *s)
{
    for (int k = 0; k < s->assigns; k++)
        if (s->rank && !ref_uses_axis(&s->assign[k].to, s->axes[s->rank - 1])) return true;
    return false;
}

/* Whether a and b, in this order, can share a nest. If one writes an array that the other reads, both access only
   the current element. No array is written by both. */
static bool independent(const struct stmt *a, const struct stmt *b)
{
    for (int w = 0; w < a->assigns; w++) {
        const struct ref *to = &a->assign[w].to;
        for (int k = 0; k < b->operands; k++)
            if (b->operand[k].of == to->of &&
                (a->assign[w].fold != FOLD_SET || !ref_equal(&b->operand[k], to) || to->rank != a->rank))
                return false;
        for (int k = 0; k < b->assigns; k++)
            if (b->assign[k].to.of == to->of || b->assign[k].compensation == to->of + 1) return false;
        for (int k = 0; k < b->operands && a->assign[w].compensation; k++)
            if (b->operand[k].of == a->assign[w].compensation - 1) return false;
        for (int k = 0; k < b->assigns && a->assign[w].compensation; k++)
            if (b->assign[k].to.of == a->assign[w].compensation - 1 ||
                b->assign[k].compensation == a->assign[w].compensation)
                return false;
    }
    for (int w = 0; w < b->assigns; w++)
        for (int k = 0; k < a->operands; k++)
            if (a->operand[k].of == b->assign[w].compensation - 1)
                return false;
            else if (a->operand[k].of == b->assign[w].to.of &&
                     (!ref_equal(&a->operand[k], &b->assign[w].to) || b->assign[w].to.rank != b->rank))
                return false;
    return true;
}

static bool exponentiates(const struct stmt *s)
{
    bool any = false;
    for (int k = 0; k < s->assigns; k++) any |= expr_has(s->assign[k].expr, EXPR_EXP2);
    return any;
}

/* Whether a reads an input that b does not read, and that can be NULL. Such statements must not be merged. An input
   is NULL if the caller does not want certain gradients. */
static bool needs_more(const struct loops *l, const struct stmt *a, const struct stmt *b)
{
    for (int k = 0; k < a->operands; k++) {
        const struct array *const from = &l->array[a->operand[k].of];
        if (from->kind == ARRAY_INPUT && !array_of_rows(l, from) && !stmt_reads(b, a->operand[k].of) &&
            (from->sums || !array_of_elements(l, from)))
            return true;
    }
    return false;
}

bool merge_maps(struct loops *l, struct stmt *a, const struct stmt *b)
{
    if (!stmt_same_nest(a, b) || across_lanes(a) || across_lanes(b) || !independent(a, b) || needs_more(l, a, b) ||
        needs_more(l, b, a) || a->assigns + b->assigns > MAX_ASSIGNS ||
        (a->coarse != b->coarse && exponentiates(a->coarse ? b : a)))
        return false;
    struct stmt made = *a;
    made.coarse |= b->coarse;
    const struct expr *with[MAX_OPERANDS];
    for (int k = 0; k < b->operands; k++) {
        const int number = ref_add(made.operand, &made.operands, &b->operand[k]);
        if (number < 0) return false;
        with[k] = expr_operand(l->module, number);
    }
    for (int k = 0; k < b->assigns; k++) {
        made.assign[made.assigns] = b->assign[k];
        made.assign[made.assigns++].expr = expr_bind(l->module, b->assign[k].expr, with);
    }
    made.next = b->next;
    *a = made;
    return true;
}

bool exchangeable_statements(const struct stmt *a, const struct stmt *b)
{
    if (a->body || b->body) return false;
    for (int k = 0; k < a->assigns; k++)
        if (stmt_touches(b, a->assign[k].to.of)) return false;
    for (int k = 0; k < b->assigns; k++)
        if (stmt_touches(a, b->assign[k].to.of)) return false;
    return true;
}

/* Moves *at down to just before the next map over the same nest. Returns false if that is impossible. */
static bool move_down(struct stmt **at)
{
    struct stmt *s = *at, *last = NULL;
    for (struct stmt *t = s->next; t && !stmt_same_nest(s, t); t = t->next) {
        if (!exchangeable_statements(s, t)) return false;
        last = t;
    }
    if (!last || !last->next) return false;
    struct stmt *merged = last->next;
    if (!independent(s, merged)) return false;
    *at = s->next;
    s->next = last->next;
    last->next = s;
    return true;
}

static void walk(struct loops *l, struct stmt **body)
{
    for (struct stmt *s = *body; s; s = s->next) {
        lend(l, *body, s);
        walk(l, &s->body);
    }
    for (struct stmt **at = body; *at;)
        if (!((*at)->next && merge_maps(l, *at, (*at)->next)) && !move_down(at)) at = &(*at)->next;
}

/* Removes arrays that no statement touches. */
static void drop_unused(struct loops *l)
{
    int kept = 0;
    for (int a = 0; a < l->arrays; a++) {
        if (stmts_touching(l->body, a) == 0 && !array_is_named(&l->array[a])) continue;
        if (kept != a) stmts_rename(l->body, a, kept);
        l->array[kept++] = l->array[a];
    }
    l->arrays = kept;
}

void pass_fuse(struct compilation *c)
{
    /* a statement of a gradient runs only if the caller wants this gradient, so statements of different gradients
       stay separate */
    if (program_adds_totals(&c->program)) return;
    walk(c->loops, &c->loops->body);
    drop_unused(c->loops);
}
