/* Prints a MAP statement as a nest of loops. Usually, the outer loop goes over vectors of lanes. The inner loops go
   over the other axes, called rows.
   - Loop-invariant expressions are computed outside the inner loops.
   - Expressions without the lanes are scalars.
   - Expressions of indices are exact until an array element is added.
   - The argument of sin and cos is a double. */
#include "emit.h"
#include "printer.h"
#include "scalar.h"

#include <string.h>

/* ---- the statement ---- */

/* Adds the expression to `out`, for the comment above the nest. */
static void describe_expr(const struct nest *n, const struct expr *e, bool inner, struct text *out)
{
    const struct module *m = n->x->m;
    switch ((int)e->op) {
    case EXPR_OPERAND: text_add(out, "%s", n->x->l->array[n->s->operand[e->integer].of].name); return;
    case EXPR_REAL: text_add(out, "%s", emit_number(n->x, e->real, m->dtype != DTYPE_F64)); return;
    case EXPR_INT: text_add(out, "%lld", (long long)e->integer); return;
    case EXPR_INDEX: text_add(out, "%s", m->axis[e->integer].name); return;
    case EXPR_SIZE: text_add(out, "%s", emit_size(m, (int)e->integer)); return;
    case EXPR_START: text_add(out, "%s", emit_place(m, e) ? emit_place(m, e) : "query_start"); return;
    default: break;
    }
    const char *between = expr_infix(e->op) ? expr_infix(e->op) : ",";
    if (!expr_infix(e->op))
        text_add(out, "%s(%s%s", expr_name(e->op), e->name ? e->name : "", e->name ? ", " : "");
    else if (inner)
        text_add(out, "(");
    for (int k = 0; k < expr_arity(e->op); k++) {
        if (k) text_add(out, expr_infix(e->op) ? " %s " : "%s ", between);
        describe_expr(n, e->arg[k], expr_infix(e->op) != NULL, out);
    }
    if (!expr_infix(e->op) || inner) text_add(out, ")");
}

/* Prints the comment above the nest. It has the formulas of the nest, in at most 132 bytes. */
static void describe(const struct nest *n)
{
    struct text comment = {0};
    for (int k = 0; k < n->s->assigns; k++) {
        const struct assign *a = &n->s->assign[k];
        text_add(&comment, "%s%s %s ", k ? "; " : "", n->x->l->array[a->to.of].name,
                 a->fold == FOLD_SUM   ? "+="
                 : a->fold == FOLD_MAX ? "max="
                                       : "=");
        describe_expr(n, a->expr, false, &comment);
    }
    bool cut = comment.length > 132;
    emit_line(n->x, "/* %.*s%s */", cut ? 128 : (int)comment.length, comment.data ? comment.data : "",
              cut ? " ..." : "");
    text_free(&comment);
}

static struct nest nest_of(struct emitter *x, const struct stmt *s, int lane)
{
    size_t exprs = (size_t)x->m->exprs;
    struct nest n = {.x = x, .s = s, .lane = lane, .exprs = x->m->exprs};
    n.seen = arena_alloc(x->m->arena, exprs * sizeof *n.seen);
    n.term = arena_alloc(x->m->arena, exprs * sizeof *n.term);
    n.count = arena_alloc(x->m->arena, exprs * sizeof *n.count);
    return n;
}

static void nest_free(struct nest *n)
{
    for (int k = 0; k < 3; k++) text_free(&n->level[k]);
}

static void append(struct emitter *x, const struct text *code)
{
    text_append(x->out, code->data, code->length);
}

static struct ref compensation_of(const struct assign *a)
{
    struct ref compensation = a->to;
    compensation.of = a->compensation - 1;
    return compensation;
}

/* Records that operand o has the value `made`, and removes terms with its old value. */
static void renew(struct nest *n, int o, const char *made)
{
    const struct expr *leaf = expr_operand(n->x->m, o);
    n->fresh[o] = made;
    for (int id = 0; id < n->exprs; id++)
        if (n->seen[id] && expr_uses(n->seen[id], leaf)) n->seen[id] = NULL;
}

/* Prints a sum or maximum over the lanes, inside the loops over rows. Lanes after the range are 0 or -infinity. */
static void fold_lanes(struct nest *n)
{
    struct emitter *x = n->x;
    const struct stmt *s = n->s;
    const struct assign *a = &s->assign[0];
    const char *lane = x->m->axis[n->lane].name, *lanes = emit_end(x, n->lane);
    for (int k = 0; k < 3; k++) n->depth[k] = x->indent + 4 * (k == LEVEL_UNIFORM ? 0 : s->rank);
    scalar_count_parents(n, a->expr);
    const char *value = scalar_as_vector(n, scalar_as_real(n, scalar_term(n, a->expr, LEVEL_ROW)));
    describe(n);
    append(x, &n->level[LEVEL_UNIFORM]);
    for (int k = 0; k + 1 < s->rank; k++, x->indent += 4) emit_loop(x, 0, s->axes[k], 0, " {");
    bool maximum = a->fold == FOLD_MAX;
    const char *folded = maximum ? "lanes_max" : "lane_sums", *none = maximum ? "-INFINITY" : "0";
    emit_line(x, "vec_%s %s = splat_%s(%s);", x->suffix, folded, x->suffix, none);
    emit_loop(x, 0, n->lane, x->lanes, " {");
    for (int k = LEVEL_LANE; k <= LEVEL_ROW; k++) append(x, &n->level[k]);
    x->indent += 4;
    for (int k = 0; k < s->operands; k++) {
        const char *const ahead = emit_row_ahead(x, s, k);
        if (ahead) emit_line(x, "%s", ahead);
    }
    emit_line(x, "const vec_%s term = %s;", x->suffix, value);
    const struct term compared = {scalar_format(n, "%s + lane_%s < %s", lane, x->suffix, lanes), KIND_BOOL, true,
                                  false};
    const char *inside = scalar_as_mask(n, compared);
    const char *term = scalar_format(n, "%s + %d <= %s ? term : pick_%s(%s, term, splat_%s(%s))", lane, x->lanes, lanes,
                                     x->suffix, inside, x->suffix, none);
    if (maximum)
        emit_line(x, "%s = max_%s(%s, %s);", folded, x->suffix, folded, term);
    else
        emit_line(x, "%s += %s;", folded, term);
    emit_close(x);
    if (maximum) {
        const char *to = emit_element(x, &a->to);
        emit_line(x, "const %s largest = lane_max_%s(%s);", x->real, x->suffix, folded);
        emit_line(x, "if (largest > %s) %s = largest;", to, to);
    } else {
        emit_line(x, "const %s total = lane_sum_%s(%s);", x->real, x->suffix, folded);
    }
    if (a->compensation) {
        const struct ref compensation = compensation_of(a);
        emit_line(x, "const %s more = %s + total, sum_then = %s + more;", x->real, emit_element(x, &compensation),
                  emit_element(x, &a->to));
        emit_line(x, "%s = more - (sum_then - %s);", emit_element(x, &compensation), emit_element(x, &a->to));
        emit_line(x, "%s = sum_then;", emit_element(x, &a->to));
    } else if (!maximum)
        emit_line(x, "%s += total;", emit_element(x, &a->to));
    for (int k = 0; k + 1 < s->rank; k++) {
        emit_close(x);
    }
    nest_free(n);
}

void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to)
{
    const struct stmt s = {.op = LOOPS_MAP, .rank = 1, .axes = {lane}};
    struct nest nest = nest_of(x, &s, lane), *n = &nest;
    n->depth[LEVEL_UNIFORM] = x->indent;
    n->depth[LEVEL_LANE] = n->depth[LEVEL_ROW] = x->indent + 4;
    scalar_count_parents(n, region);
    struct term t = scalar_as_bool(n, scalar_term(n, region, LEVEL_LANE));
    const char *name = x->m->axis[lane].name,
               *holds = t.vector ? scalar_as_mask(n, t) : scalar_format(n, "(mask_%s){0} - (%s)", x->suffix, t.c);
    append(x, &n->level[LEVEL_UNIFORM]);
    emit_line(x, "for (int64_t %s = 0; %s < %s; %s += %d) {", name, name, emit_range(x, lane), name, x->lanes);
    append(x, &n->level[LEVEL_LANE]);
    emit_line(x, "    %s[%s / %d] = %s;", to, name, x->lanes, holds);
    emit_line(x, "}");
    nest_free(n);
}

/* Returns the number of loops over the result's rows if these loops are outermost. An accumulator can then stay in a
   register. Otherwise returns -1. */
static int kept_outside(const struct stmt *s, const struct assign *a)
{
    if (a->to.rank >= s->rank || a->fold == FOLD_SET) return -1;
    int kept = 0;
    for (int k = 0; k + 1 < s->rank; k++)
        if (ref_uses_axis(&a->to, s->axes[k]) && kept++ != k) return -1;
    return kept;
}

/* Returns whether all tiles along the lanes have rows of a multiple of `vectors` vectors. */
static bool whole_in_rows(const struct nest *n, int vectors)
{
    const struct loops *l = n->x->l;
    const struct stmt *s = n->s;
    for (int k = 0; k < s->assigns + s->operands; k++) {
        const struct ref *r = k < s->assigns ? &s->assign[k].to : &s->operand[k - s->assigns];
        const struct array *a = &l->array[r->of];
        if (a->kind == ARRAY_TILE && r->rank > 0 && ref_axis(r, r->rank - 1) == n->lane &&
            a->extent[r->rank - 1] % ((int64_t)vectors * n->x->lanes))
            return false;
    }
    return true;
}

/* Returns whether an expression has operands that differ between rows, but not between lanes. */
static bool has_scalars(const struct nest *n, const struct expr *e)
{
    for (int o = 0; o < n->s->operands; o++) {
        const struct expr *leaf = expr_operand(n->x->m, o);
        if (expr_uses(e, leaf) && n->s->operand[o].rank > 0 && !scalar_depends(n, leaf, n->lane)) return true;
    }
    return false;
}

/* Returns whether the lanes are a tile that may be short, and vectors of a row would share nothing. */
static bool may_be_short(const struct nest *n)
{
    for (int k = 0; k < n->s->assigns; k++)
        if (n->s->assign[k].fold != FOLD_SET || has_scalars(n, n->s->assign[k].expr)) return false;
    return emit_tiled(n->x, n->lane);
}

/* Returns the number of vectors that are computed together for a row, so that they share scalars. Returns 1 if some
   C is outside the rows, or if the C is long. */
static int vectors_at_a_time(const struct nest *n, int outer)
{
    const struct emitter *x = n->x;
    const struct stmt *s = n->s;
    if (s->rank != 2 || outer > 0 || x->cut[n->lane] || may_be_short(n)) return 1;
    for (int k = 0; k < s->assigns; k++) {
        const struct assign *a = &s->assign[k];
        if (x->l->array[a->to.of].kind != ARRAY_TILE || ref_axis(&a->to, a->to.rank - 1) != n->lane) return 1;
        if (scalar_depends(n, a->expr, n->lane) && expr_uses(a->expr, expr_index(x->m, n->lane))) return 1;
        if (expr_takes(a->expr, EFFORT_FUNCTION)) return 1;
        for (int o = 0; o < s->operands; o++) {
            const struct expr *leaf = expr_operand(x->m, o);
            if (expr_uses(a->expr, leaf) && scalar_level_of(n, leaf) == LEVEL_LANE) return 1;
        }
    }
    int vectors = x->unroll;
    while (vectors > 1 && !whole_in_rows(n, vectors)) vectors--;
    return vectors;
}

/* The state of a MAP statement whose lanes are in the loop outside the rows. */
struct map {
    struct nest n;
    enum level innermost;
    /* the number of loops over rows that are outside the accumulators in registers (kept_outside), or -1 */
    int outer;
    int vectors;                          /* the number of vectors that are computed together (vectors_at_a_time) */
    int chains;                           /* if the map folds a maximum: the number of accumulators for each vector */
    struct text before, after, registers; /* C that begins, ends and declares accumulators */
};

/* Returns the number of accumulators for each vector of a maximum. With several, the maximum of a row need not wait for
   the one of the row before. */
static int chains_of(const struct map *map)
{
    enum { UNDER_WAY = 4 };
    const struct stmt *s = map->n.s;
    const bool alone = s->assigns == 1 && s->assign[0].fold == FOLD_MAX && s->rank == 2 && map->outer == 0;
    return alone && map->vectors < UNDER_WAY ? UNDER_WAY / map->vectors : 1;
}

/* If e is a product with a positive constant, returns the other factor and sets *factor to the constant. Otherwise
   returns e. This is correct because max(factor * x) = factor * max(x). */
static const struct expr *without_factor(const struct expr *e, double *factor)
{
    const bool scaled = e->op == EXPR_MUL && e->arg[1]->op == EXPR_REAL && e->arg[1]->real > 0;
    *factor = scaled ? e->arg[1]->real : 1;
    return scaled ? e->arg[0] : e;
}

/* Returns the name of the variable of the loop over the chains. */
static const char *chain_number(const struct map *map)
{
    return scalar_format(&map->n, "%s_chain", map->n.x->m->axis[map->n.s->axes[0]].name);
}

/* Adds the C of a maximum with several accumulators, called chains. Row c of each group of map->chains rows goes to
   chain c. */
static void keep_chains(struct map *map, const struct assign *a, const char *name, const char *address)
{
    struct nest *n = &map->n;
    struct emitter *x = n->x;
    const bool several = map->vectors > 1;
    const int depth = n->depth[LEVEL_LANE] + (several ? 4 : 0);
    const char *chain = scalar_format(n, "%s_in%s", name, several ? "[vector]" : ""), *number = chain_number(map);
    double factor;
    const struct expr *const e = without_factor(a->expr, &factor);
    const char *value = scalar_as_vector(n, scalar_as_real(n, scalar_term(n, e, map->innermost)));
    text_add(&map->registers, "%s_in%s[%d]", name, several ? scalar_format(n, "[%d]", map->vectors) : "", map->chains);
    text_add(&map->before, "%*sUNROLL for (int %s = 0; %s < %d; %s++) %s[%s] = splat_%s(-INFINITY);\n", depth, "",
             number, number, map->chains, number, chain, number, x->suffix);
    scalar_line(n, map->innermost, "%s[%s] = max_%s(%s[%s], %s);", chain, number, x->suffix, chain, number, value);
    const char *max = scalar_format(n, "%s[0]", chain);
    for (int c = 1; c < map->chains; c++) max = scalar_format(n, "max_%s(%s, %s[%d])", x->suffix, max, chain, c);
    if (factor != 1) max = scalar_format(n, "%s * %s", max, emit_number(x, factor, x->m->dtype != DTYPE_F64));
    text_add(&map->after, "%*sstore_%s(%s, max_%s(load_%s(%s), %s));\n", depth, "", x->suffix, address, x->suffix,
             x->suffix, address, max);
}

/* Makes the C of a sum or maximum whose accumulators stay in registers. */
static void keep_in_register(struct map *map, const struct assign *a, const char *name, const char *address,
                             const char *value)
{
    struct nest *n = &map->n;
    struct emitter *x = n->x;
    const enum level innermost = map->innermost;
    const bool several = map->vectors > 1;
    const int depth = n->depth[LEVEL_LANE] + 4 * map->outer + (several ? 4 : 0);
    const char *each = several ? "[vector]" : "", *declared = several ? "" : scalar_format(n, "vec_%s ", x->suffix),
               *sum = scalar_format(n, "%s_in%s", name, each);
    text_add(&map->registers, "%s%s_in[%d]", map->registers.length ? ", " : "", name, map->vectors);
    if (a->fold == FOLD_MAX) {
        text_add(&map->before, "%*s%s%s = load_%s(%s);\n", depth, "", declared, sum, x->suffix, address);
        scalar_line(n, innermost, "%s = max_%s(%s, %s);", sum, x->suffix, sum, value);
        text_add(&map->after, "%*sstore_%s(%s, %s);\n", depth, "", x->suffix, address, sum);
        return;
    }
    text_add(&map->before, "%*s%s%s = (vec_%s){0};\n", depth, "", declared, sum, x->suffix);
    scalar_line(n, innermost, "%s += %s;", sum, value);
    const struct axis *row = &x->m->axis[n->s->axes[n->s->rank - 2]];
    const int64_t terms = emit_tiled(x, n->s->axes[n->s->rank - 2]) ? 0 : row->extent, part = terms > 384 ? 192 : 32;
    if (terms > 2 * part) { /* Sums of `part` terms are added separately, which reduces rounding errors. */
        const char *whole = scalar_format(n, "%s_in_whole%s", name, each);
        text_add(&map->before, "%*s%s%s = (vec_%s){0};\n", depth, "", declared, whole, x->suffix);
        text_add(&map->registers, ", %s_in_whole[%d]", name, map->vectors);
        scalar_line(n, innermost, "if (%s %% %lld == %lld) {", row->name, (long long)part, (long long)part - 1);
        scalar_line(n, innermost, "    %s += %s;", whole, sum);
        scalar_line(n, innermost, "    %s = (vec_%s){0};", sum, x->suffix);
        scalar_line(n, innermost, "}");
        text_add(&map->after, "%*s%s += %s;\n", depth, "", sum, whole);
    }
    if (a->compensation) {
        const struct ref compensation = compensation_of(a);
        text_add(&map->after, "%*sadd_%s(%s, %s, %s, splat_%s(1));\n", depth, "", x->suffix, address,
                 emit_address(x, &compensation), sum, x->suffix);
    } else
        text_add(&map->after, "%*sstore_%s(%s, load_%s(%s) + %s);\n", depth, "", x->suffix, address, x->suffix, address,
                 sum);
}

/* Returns whether a later assignment uses the result of assignment k. */
static bool used_later(const struct nest *n, int k)
{
    const struct stmt *s = n->s;
    for (int later = k + 1; later < s->assigns; later++)
        for (int o = 0; o < s->operands; o++)
            if (ref_equal(&s->operand[o], &s->assign[k].to) &&
                expr_uses(s->assign[later].expr, expr_operand(n->x->m, o)))
                return true;
    return false;
}

/* Makes the C of assignment k if it stores a vector for each row. */
static void store_each(struct map *map, int k, const char *name, const char *address, const char *value)
{
    struct nest *n = &map->n;
    struct emitter *x = n->x;
    const struct assign *a = &n->s->assign[k];
    if (a->fold == FOLD_SUM && a->compensation) {
        const struct ref compensation = compensation_of(a);
        scalar_line(n, map->innermost, "add_%s(%s, %s, %s, splat_%s(1));", x->suffix, address,
                    emit_address(x, &compensation), value, x->suffix);
        return;
    }
    if (a->fold == FOLD_SUM) value = scalar_format(n, "load_%s(%s) + %s", x->suffix, address, scalar_wrapped(n, value));
    if (a->fold == FOLD_MAX) value = scalar_format(n, "max_%s(load_%s(%s), %s)", x->suffix, x->suffix, address, value);
    if (used_later(n, k)) {
        const char *made = scalar_format(n, "%s_new%d", name, x->temporaries++);
        scalar_line(n, map->innermost, "const vec_%s %s = %s;", x->suffix, made, value);
        for (int o = 0; o < n->s->operands; o++)
            if (ref_equal(&n->s->operand[o], &a->to)) renew(n, o, made);
        value = made;
    }
    const struct array *const array = &x->l->array[a->to.of]; /* a tile that no other statement uses is in registers */
    if (a->fold != FOLD_SET || array->kind != ARRAY_TILE || array->offset >= 0)
        scalar_line(n, map->innermost, "store_%s(%s, %s);", x->suffix, address, value);
}

static void assign(struct map *map, int k)
{
    struct nest *n = &map->n;
    struct emitter *x = n->x;
    const struct assign *a = &n->s->assign[k];
    const char *name = emit_local(x, x->l->array[a->to.of].name), *address = emit_address(x, &a->to);
    if (map->chains > 1) {
        keep_chains(map, a, name, address);
        return;
    }
    const char *value = scalar_as_vector(n, scalar_as_real(n, scalar_term(n, a->expr, map->innermost)));
    if (kept_outside(n->s, a) >= 0 && kept_outside(n->s, a) == map->outer)
        keep_in_register(map, a, name, address, value);
    else
        store_each(map, k, name, address, value);
}

/* Prints the C of a level. If it has vectors, they are in a loop. */
static void append_vectors(const struct map *map, const struct text *code)
{
    struct emitter *x = map->n.x;
    const int vectors = map->vectors;
    if (!code->length) return;
    const char *lane = x->m->axis[map->n.lane].name;
    if (vectors > 1)
        emit_line(x, "UNROLL for (int64_t vector = 0, %s = %s_first; vector < %d; vector++, %s += %d) {", lane, lane,
                  vectors, lane, x->lanes);
    append(x, code);
    if (vectors > 1) emit_line(x, "}");
}

/* Returns C for the head of the loop over the lanes. */
static const char *loop_over_lanes(const struct map *map)
{
    const struct nest *n = &map->n;
    struct emitter *x = n->x;
    const char *lane = x->m->axis[n->lane].name;
    if (map->vectors > 1) lane = scalar_format(n, "%s_first", lane);
    return scalar_format(n, "for (int64_t %s = %s; %s < %s; %s += %d) {", lane, emit_first(x, n->lane), lane,
                         emit_end(x, n->lane), lane, x->lanes * map->vectors);
}

/* Opens the loops over groups of rows and over the chains. If the last group is not full, it repeats its last row. */
static void open_chains(const struct map *map, const char *axis, const char *first, const char *end)
{
    struct emitter *x = map->n.x;
    emit_open(x, "for (int64_t %s_first = %s; %s_first < %s; %s_first += %d) {", axis, first, axis, end, axis,
              map->chains);
    const char *const number = chain_number(map);
    emit_line(x, "UNROLL for (int %s = 0; %s < %d; %s++) {", number, number, map->chains, number);
    emit_line(x, "    const int64_t %s = min(%s_first + %s, %s - 1);", axis, axis, number, end);
}

static void print_nest(struct map *map)
{
    struct nest *n = &map->n;
    struct emitter *x = n->x;
    const struct stmt *s = n->s;
    const int outer = map->outer;
    /* If nothing is computed once per vector, the rows are the outer loop. Memory is then read in order. */
    const bool rows = s->rank > 1,
               lanes_last = rows && outer < 0 && !n->level[LEVEL_LANE].length &&
                            (x->m->axis[n->lane].source == SIZE_CONSTANT || (map->vectors == 1 && may_be_short(n)));
    append(x, &n->level[LEVEL_UNIFORM]);
    const char *lanes = loop_over_lanes(map);
    if (!lanes_last) emit_line(x, "%s", lanes);
    append(x, &n->level[LEVEL_LANE]);
    x->indent += 4;
    if ((map->vectors > 1 || map->chains > 1) && map->registers.length)
        emit_line(x, "vec_%s %s;", x->suffix, map->registers.data);
    if (outer <= 0) append_vectors(map, &map->before);
    x->indent -= 4;
    for (int k = 0; k + 1 < s->rank; k++) {
        const char *axis = x->m->axis[s->axes[k]].name;
        if (!lanes_last || k > 0) x->indent += 4;
        if (map->chains > 1) {
            open_chains(map, axis, emit_first(x, s->axes[k]), emit_end(x, s->axes[k]));
            continue;
        }
        emit_loop(x, 0, s->axes[k], 0, (k + 2 == s->rank || k + 1 == outer || lanes_last) ? " {" : "");
        if (k + 1 == outer) append(x, &map->before);
    }
    if (lanes_last) {
        x->indent += 4;
        emit_line(x, "%s", lanes);
    }
    x->indent += 4;
    append_vectors(map, &n->level[LEVEL_ROW]);
    x->indent -= 4;
    if (map->chains > 1) {
        emit_line(x, "}");
        x->indent -= 4;
    }
    for (int k = 0; k + 1 < s->rank && lanes_last; k++, x->indent -= 4) emit_line(x, "}");
    if (rows && !lanes_last) emit_line(x, "}");
    if (!lanes_last) x->indent -= 4 * (s->rank - 1 - (outer > 0 ? outer : 0));
    x->indent += 4;
    append_vectors(map, &map->after);
    x->indent -= 4;
    if (outer > 0) {
        emit_line(x, "}");
        x->indent -= 4 * outer;
    }
    emit_line(x, "}");
}

/* Prints a map that computes functions of positions, heads and parameters for rows of queries, one row at a time. There
   are few rows, and scalars of indices are exact. Returns false for another map. */
static bool emit_each_row(struct emitter *x, const struct stmt *s)
{
    const struct assign *const a = &s->assign[0];
    if (s->rank != 1 || s->assigns != 1 || a->fold != FOLD_SET || x->m->axis[s->axes[0]].source != SIZE_ROWS ||
        !expr_takes(a->expr, EFFORT_FUNCTION))
        return false;
    for (int k = 0; k < s->operands; k++)
        if (x->l->array[s->operand[k].of].kind == ARRAY_TILE) return false;
    struct nest nest = nest_of(x, s, -1), *const n = &nest;
    n->depth[LEVEL_UNIFORM] = x->indent;
    n->depth[LEVEL_LANE] = n->depth[LEVEL_ROW] = x->indent + 4;
    scalar_count_parents(n, a->expr);
    const char *const value = scalar_as_real(n, scalar_term(n, a->expr, LEVEL_ROW)).c;
    describe(n);
    append(x, &n->level[LEVEL_UNIFORM]);
    emit_loop(x, 0, s->axes[0], 0, " {");
    append(x, &n->level[LEVEL_ROW]);
    emit_line(x, "    %s = %s;", emit_element(x, &a->to), value);
    emit_line(x, "}");
    nest_free(n);
    return true;
}

void emit_map(struct emitter *x, const struct stmt *s)
{
    if ((s->decays && emit_decayed(x, s)) || emit_each_row(x, s)) return;
    if (stmt_sums_elements(x->m, s)) { /* pairs outside the region are not added */
        struct stmt selects = *s;
        selects.where = NULL;
        selects.assign[0].expr = expr_select(x->m, s->where, s->assign[0].expr, expr_real(x->m, 0));
        emit_map(x, &selects);
        return;
    }
    struct map map = {.n = nest_of(x, s, s->rank ? s->axes[s->rank - 1] : -1),
                      .innermost = s->rank > 1 ? LEVEL_ROW : LEVEL_LANE,
                      .outer = -1};
    struct nest *n = &map.n;
    if (n->lane >= 0 && !ref_uses_axis(&s->assign[0].to, n->lane)) {
        fold_lanes(n);
        return;
    }
    for (int k = 0; k < s->assigns && map.outer < 0; k++) map.outer = kept_outside(s, &s->assign[k]);
    map.vectors = vectors_at_a_time(n, map.outer);
    map.chains = chains_of(&map);
    n->depth[LEVEL_UNIFORM] = x->indent;
    n->depth[LEVEL_LANE] = x->indent + 4;
    n->depth[LEVEL_ROW] = x->indent + 4 * s->rank + (map.vectors > 1 ? 4 : 0) + (map.chains > 1 ? 4 : 0);
    for (int k = 0; k < s->assigns; k++) scalar_count_parents(n, s->assign[k].expr);
    for (int k = 0; k < s->assigns; k++) assign(&map, k);
    for (int k = 0; k < s->operands && map.chains <= 1; k++) {
        const char *const ahead = emit_row_ahead(x, s, k);
        if (ahead) text_add(&n->level[LEVEL_ROW], "%*s%s\n", n->depth[LEVEL_ROW], "", ahead);
    }
    describe(n);
    print_nest(&map);
    nest_free(n);
    text_free(&map.registers);
    text_free(&map.before);
    text_free(&map.after);
}
