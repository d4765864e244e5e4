/* Proves that values of a graph, and tiles of loops, have no negative element. */
#include "signs.h"

/* The operands of an expression, and the function that says which are known to be at least 0. */
struct reading {
    const struct ref *operand;
    bool (*is_known)(const void *x, const struct ref *read);
    const void *x;
};

static void tell(const void *of, const struct expr *e, struct expr_range *range)
{
    const struct reading *const r = of;
    if (e->op == EXPR_OPERAND && r->is_known(r->x, &r->operand[e->integer])) range->low = 0;
}

static bool is_at_least_0(const struct expr *e, const struct reading *reading)
{
    return expr_sign(e, &(struct expr_facts){tell, reading}) >= 0;
}

/* ---- values of a graph ---- */

static bool value_read(const void *g, const struct ref *read)
{
    return value_never_negative(g, read->of);
}

bool value_never_negative(const struct graph *g, int v)
{
    const struct value *const value = &g->value[v];
    switch (value->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE:
    case GRAPH_SELECT:
    case GRAPH_SOLVE: return false;
    case GRAPH_MAP: return is_at_least_0(value->expr, &(struct reading){value->operand, value_read, g});
    case GRAPH_CONTRACT:
        return value_never_negative(g, value->operand[0].of) && value_never_negative(g, value->operand[1].of);
    case GRAPH_SCAN: return value_never_negative(g, value->operand[0].of);
    case GRAPH_REDUCE: return value->init >= 0 && value_never_negative(g, value->operand[0].of);
    }
    return false;
}

double value_expr_max(const struct graph *g, const struct value *v, const struct expr *e)
{
    return expr_range(e, &(struct expr_facts){tell, &(struct reading){v->operand, value_read, g}}).high;
}

/* ---- tiles ---- */

/* A proof by induction: if the `assumed` tiles have no negative element before a write, the write stores none. */
struct proof {
    const struct loops *l;
    bool *assumed;
};

static bool stays(const void *of, const struct ref *read);

static bool writes_stay(const struct proof *p, int a)
{
    struct stmts w = {.list = p->l->body};
    for (const struct stmt *s; (s = stmts_next(&w));)
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].to.of == a &&
                !(s->op == LOOPS_MAP ? is_at_least_0(s->assign[k].expr, &(struct reading){s->operand, stays, p})
                                     : stays(p, &s->operand[0]) && (s->op != LOOPS_DOT || stays(p, &s->operand[1]))))
                return false;
    return true;
}

static bool stays(const void *of, const struct ref *read)
{
    const struct proof *const p = of;
    if (p->l->array[read->of].kind != ARRAY_TILE || p->assumed[read->of]) return p->assumed[read->of];
    p->assumed[read->of] = true;
    return writes_stay(p, read->of);
}

bool tile_never_negative(const struct loops *l, int a)
{
    const struct proof p = {l, arena_alloc(l->module->arena, (size_t)l->arrays * sizeof *p.assumed)};
    return stays(&p, &(struct ref){.of = a});
}

/* The statements before `end`, and the tile that `end` reads and writes, if it is known to have no negative element. */
struct before {
    const struct stmt *body, *end;
    const struct ref *self;
};

static bool is_stored(const void *of, const struct ref *read)
{
    const struct before *const b = of;
    return (b->self && ref_equal(read, b->self)) || never_negative_after(b->body, b->end, read);
}

bool never_negative_after(const struct stmt *body, const struct stmt *end, const struct ref *tile)
{
    bool holds = false;
    for (const struct stmt *s = body; s != end; s = s->next) {
        for (int k = 0; k < s->assigns; k++) {
            const struct assign *a = &s->assign[k];
            if (a->to.of != tile->of) continue;
            const struct before before = {body, s, holds ? tile : NULL};
            holds = s->op == LOOPS_MAP && a->fold == FOLD_SET && ref_equal(&a->to, tile) &&
                    is_at_least_0(a->expr, &(struct reading){s->operand, is_stored, &before});
        }
        if (s->body && stmt_touches(s, tile->of)) holds = false;
    }
    return holds;
}
