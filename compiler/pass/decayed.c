/* Finds sums of products whose terms decay differently: w[j][l] += sum over t of x[t][l] * y[t][j] * exp2(scale *
   (a[t][l] - b[t][j])), for keys j at or before query l. Such a MAP gets the mark 'decays' (struct decaying in
   ir/loops.h), and kernels compute it with few exponentials (emit/decayed.c). So do sums of gradients: over keys, of
   x[l][j] * y[j][t] * this power, and over queries, of x[l][j] * y[l][t] * this power. */
#include "pass.h"
#include "../analysis/affine.h"

enum { MAX_FACTORS = 6 };

/* Returns the last key of each query, as an expression of the query, or NULL. */
static const struct expr *last_key(struct module *m, int key, int query, const struct expr *region)
{
    if (region->op == EXPR_AND) {
        const struct expr *const first = last_key(m, key, query, region->arg[0]);
        return first ? first : last_key(m, key, query, region->arg[1]);
    }
    const struct expr *const index = expr_index(m, query);
    if (region->op == EXPR_LT && region->arg[0] == expr_index(m, key))
        return last_key(m, key, query, expr_le(m, region->arg[0], expr_add(m, region->arg[1], expr_int(m, -1))));
    if (region->op != EXPR_LE || region->arg[0] != expr_index(m, key) || expr_axes(region->arg[1]) >> key & 1)
        return NULL;
    const struct expr *const next = expr_add(m, index, expr_int(m, 1));
    int64_t step;
    return known_difference(m, expr_replace(m, region->arg[1], index, next), region->arg[1], &step) && step == 1
               ? region->arg[1]
               : NULL;
}

/* Describes the difference of logarithms. Those of the queries must be added, those of the keys subtracted. */
static bool find_logs(const struct stmt *s, int key, int query, const struct expr *e, struct decaying *out)
{
    struct expr_term term[2 * MAX_LOGS];
    const int terms = expr_terms(e, term, 2 * MAX_LOGS);
    int count[2] = {0, 0};
    for (int k = 0; k < terms; k++) {
        const bool minus = term[k].minus;
        if (term[k].e->op != EXPR_OPERAND || count[minus] == MAX_LOGS) return false;
        const struct ref *const r = &s->operand[term[k].e->integer];
        if (ref_uses_axis(r, minus ? query : key)) return false;
        *(minus ? &out->b[count[1]++] : &out->a[count[0]++]) = *r;
    }
    out->logs = count[0];
    return terms > 0 && count[0] == count[1];
}

static bool decays(struct module *m, const struct stmt *s, int key, int query, struct decaying *out)
{
    const struct expr *factor[MAX_FACTORS], *difference = NULL;
    const int factors = expr_factors(s->assign[0].expr, factor, MAX_FACTORS);
    const struct ref *x = NULL, *y = NULL;
    const int rows = stmt_sums_elements(m, s) ? s->axes[2] : key; /* the axis of y alone */
    *out = (struct decaying){.last = last_key(m, key, query, s->where), .times = 1, .scale = 1};
    for (int k = 0; k < factors; k++) {
        const struct expr *const f = factor[k];
        const struct ref *const r = f->op == EXPR_OPERAND ? &s->operand[f->integer] : NULL,
                                **const to = r && ref_uses_axis(r, rows) ? &y : &x;
        if (f->op == EXPR_REAL)
            out->times *= f->real;
        else if (f->op == EXPR_EXP2 && !difference)
            difference = f->arg[0];
        else if (r && !*to)
            *to = r;
        else
            return false;
    }
    if (!out->last || !difference || !x || !y) return false;
    if (difference->op == EXPR_MUL && difference->arg[1]->op == EXPR_REAL) {
        out->scale = difference->arg[1]->real;
        difference = difference->arg[0];
    }
    out->x = *x;
    out->y = *y;
    return find_logs(s, key, query, difference, out);
}

/* Whether a region says nothing but which keys of a chunk are not after a query's last key. */
static bool only_orders(struct module *m, int key, int query, const struct expr *region)
{
    const struct expr *const j = expr_index(m, key);
    if (region->op == EXPR_AND)
        return only_orders(m, key, query, region->arg[0]) && only_orders(m, key, query, region->arg[1]);
    const struct expr *const first = region->op == EXPR_LE && region->arg[1] == j ? region->arg[0] : NULL;
    bool of_chunk = false;
    for (int a = 0; a < m->axes && first && first->op == EXPR_MUL && first->arg[1]->op == EXPR_INT; a++)
        of_chunk |= axis_is_chunks(&m->axis[a]) && m->axis[a].extent == first->arg[1]->integer;
    return of_chunk || last_key(m, key, query, region);
}

void pass_decayed(struct compilation *c)
{
    struct module *const m = c->loops->module;
    struct stmts w = {.list = c->loops->body};
    for (struct stmt *s; (s = stmts_next(&w));) {
        struct decaying found;
        if (!stmt_may_decay(s)) continue;
        const bool rows = ref_axis(&s->assign[0].to, 1) == s->axes[1]; /* the elements are in the lanes */
        const int first = s->axes[0], second = s->axes[1];
        if (stmt_sums_elements(m, s)) {
            const bool queries = last_key(m, second, first, s->where) != NULL;
            const int key = queries ? second : first, query = queries ? first : second;
            if (!only_orders(m, key, query, s->where) || !decays(m, s, key, query, &found)) continue;
        } else if (rows ? !decays(m, s, s->axes[1], s->axes[0], &found) && !decays(m, s, s->axes[0], s->axes[1], &found)
                        : !decays(m, s, s->axes[0], s->axes[2], &found))
            continue;
        struct decaying *const decaying = arena_alloc(m->arena, sizeof *decaying);
        *decaying = found;
        s->decays = decaying;
    }
}
