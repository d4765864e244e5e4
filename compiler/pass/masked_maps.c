/* Reads and writes a tile of pairs once where a mask stands between two maps. Such a list
     map score = f(score); if (partly masked) { map score = select(mask, score, -inf) }; map max row_max = score
   becomes
     if (partly masked) { one map for all three }; if (not) { one map for the first and the last }. */
#include "pass.h"
#include "../schedule/schedule.h"

/* Returns the number of the operand of s that equals `to`, or -1. */
static int operand_of(const struct stmt *s, const struct ref *to)
{
    for (int k = 0; k < s->operands; k++)
        if (ref_equal(&s->operand[k], to)) return k;
    return -1;
}

/* Whether s only sets each element of a tile. */
static bool sets_tile(const struct loops *l, const struct stmt *s)
{
    const struct assign *const a = &s->assign[0];
    return s->op == LOOPS_MAP && s->assigns == 1 && a->fold == FOLD_SET && l->array[a->to.of].kind == ARRAY_TILE &&
           a->to.rank == s->rank;
}

/* Whether s is an IF around one map that masks the tile that `set` sets. */
static bool masks_tile(const struct loops *l, const struct stmt *s, const struct stmt *set)
{
    const struct stmt *const body = s->op == LOOPS_IF && s->where ? s->body : NULL;
    return body && !body->next && sets_tile(l, body) && stmt_same_nest(body, set) &&
           ref_equal(&body->assign[0].to, &set->assign[0].to) && operand_of(body, &set->assign[0].to) >= 0;
}

/* Makes `set` also do what `mask` does to the tile. Returns false if there is no room for the operands. */
static bool add_mask(struct loops *l, struct stmt *set, const struct stmt *mask)
{
    const struct expr *with[MAX_OPERANDS];
    const int own = operand_of(mask, &set->assign[0].to);
    for (int k = 0; k < mask->operands; k++) {
        if (k == own) {
            with[k] = set->assign[0].expr;
            continue;
        }
        int number = operand_of(set, &mask->operand[k]);
        if (number < 0) {
            if (set->operands == MAX_OPERANDS) return false;
            set->operand[number = set->operands++] = mask->operand[k];
        }
        with[k] = expr_leaf(l->module, EXPR_OPERAND, number);
    }
    set->assign[0].expr = expr_bind(l->module, mask->assign[0].expr, with);
    return true;
}

/* Returns a copy of s alone. */
static struct stmt *alone(struct loops *l, const struct stmt *s)
{
    struct stmt *const made = stmt_new(l, s->op);
    *made = *s;
    made->next = NULL;
    return made;
}

static struct stmt *condition(struct loops *l, const struct stmt *like, const struct expr *where, struct stmt *body)
{
    struct stmt *const made = alone(l, like);
    made->where = where;
    made->body = body;
    return made;
}

/* Rewrites the list that begins with the map *at, if it has this form. */
static bool merge_around_mask(struct loops *l, struct stmt **at)
{
    struct stmt *const set = *at, *before = set;
    if (!sets_tile(l, set)) return false;
    while (before->next && exchangeable_statements(set, before->next)) before = before->next;
    const struct stmt *const test = before->next, *const last = test ? test->next : NULL;
    if (!last || !masks_tile(l, test, set)) return false;
    struct stmt *const masked = alone(l, set), *const whole = alone(l, set);
    if (!add_mask(l, masked, test->body) || !merge_maps(l, masked, last) || !merge_maps(l, whole, last)) return false;
    masked->next = whole->next = NULL;
    struct stmt *const inside = condition(l, test, expr_make(l->module, EXPR_NOT, test->where, NULL, NULL), whole),
                       *const outside = condition(l, test, test->where, masked);
    outside->next = inside;
    inside->next = last->next;
    before->next = outside;
    *at = set->next; /* `before` is another statement, or set, whose next statement is `outside` */
    return true;
}

static void walk(struct loops *l, struct stmt **body)
{
    for (struct stmt **at = body; *at;) {
        walk(l, &(*at)->body);
        if (!merge_around_mask(l, at)) at = &(*at)->next;
    }
}

void pass_masked_maps(struct compilation *c)
{
    walk(c->loops, &c->loops->body);
}
