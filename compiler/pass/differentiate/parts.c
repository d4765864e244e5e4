/* Divides the gradients of a SOLVE into parts that one sweep over a sequence each can compute.
   - The solution of forward, the gradient with respect to it, and the solution of the transposed system are parts.
   - A sum of terms can need several sweeps. Example: the gradient with respect to a key has a sum over the queries
     after the key, one over the keys after it, and one over the keys before it. The terms of each sweep become a part.
   - A part is an output, and an input of its users. */
#include "differentiate.h"
#include "../pass.h"

#include <string.h>

/* The sweep that a value needs: its loops have `lane` in the lanes and sum over `stream`. */
struct sweep {
    bool any;         /* whether the value needs a sweep */
    int lane, stream; /* the axes of the loops. -1: any axis */
    int direction;    /* of carried states: 1 from the first chunk on, -1 from the last chunk on. 0: no states */
};

struct parts {
    struct reversal *x;
    struct graph *g;
    struct module *m;
    int parts;        /* the number of parts so far */
    int equations;    /* the axis of the equations of forward's SOLVE */
    int values;       /* the number of values before rename_rows makes copies */
    struct sweep *of; /* the sweep that each value needs */
    bool *mixed;      /* for each value: whether its operands need different sweeps */
    bool *of_rows;    /* whether each row of a value follows from one row of the arrays */
    bool *needed;     /* for each of the first `known` values: whether an output needs it */
    int known;
};

static bool agree(int a, int b, int any)
{
    return a == any || b == any || a == b;
}

/* Extends *s by the sweep `other`. Returns false if one sweep cannot do the work of both. */
static bool merge(struct sweep *s, const struct sweep *other)
{
    if (!other->any) return true;
    if (!s->any) {
        *s = *other;
        return true;
    }
    const bool same = agree(s->lane, other->lane, -1) && agree(s->stream, other->stream, -1) &&
                      agree(s->direction, other->direction, 0);
    if (s->lane < 0) s->lane = other->lane;
    if (s->stream < 0) s->stream = other->stream;
    if (!s->direction) s->direction = other->direction;
    return same;
}

/* Finds the sweep that value v needs, from the sweeps of its operands. */
static void find_sweep(struct parts *p, int v)
{
    const struct value *const value = &p->g->value[v];
    struct sweep s = {false, -1, -1, 0};
    const uint32_t own = value_axes(value) & axes_of_sequences(p->m);
    const bool sums = value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE, state = is_carried_state(p->x, v);
    const uint32_t summed = sums ? value_read_axes(value) & axes_of_sequences(p->m) & ~own : 0;
    p->mixed[v] = false;
    for (int k = 0; k < value->operands && value->op != GRAPH_SOLVE; k++) {
        const int of = value->operand[k].of;
        struct sweep reads = p->of[of];
        if (is_carried_state(p->x, of))
            for (int n = 0; n < value->operand[k].rank; n++)
                if (axis_is_chunks(&p->m->axis[p->g->value[of].axes[n]]))
                    reads.lane = axes_only(expr_axes(value->operand[k].sub[n]) & axes_of_sequences(p->m));
        const bool elsewhere = reads.any && reads.lane >= 0 && own && !(own >> reads.lane & 1);
        p->mixed[v] |= !merge(&s, &reads) || elsewhere || (state && reads.any) ||
                       (summed && own && reads.any && !is_carried_state(p->x, of));
    }
    if (summed && (own || state)) {
        const bool after = state && value->where && value->where->op == EXPR_LT &&
                           value->where->arg[0]->op == EXPR_INDEX &&
                           axis_is_chunks(&p->m->axis[axes_only(expr_axes(value->where->arg[0]))]);
        const struct sweep made = {true, state ? -1 : axes_only(own), axes_only(summed), !state ? 0 : after ? -1 : 1};
        p->mixed[v] |= !merge(&s, &made);
    }
    if (!own && !state) s.any = false;
    /* Loops of a SOLVE without features compute no other sums. */
    for (int k = 0; k < value->operands && value->op == GRAPH_SOLVE && value->operands <= SOLVE_FEATURES; k++)
        p->mixed[v] |= p->of[value->operand[k].of].any;
    if (reversal_is_saved(p->x, v) || value->op == GRAPH_SOLVE) s.any = false;
    p->of[v] = s;
}

static void find_sweeps(struct parts *p)
{
    struct arena *const arena = p->m->arena;
    p->needed = arena_alloc(arena, (size_t)p->g->values * sizeof *p->needed);
    p->of = arena_alloc(arena, (size_t)p->g->values * sizeof *p->of);
    p->mixed = arena_alloc(arena, (size_t)p->g->values * sizeof *p->mixed);
    p->known = p->g->values;
    for (int o = 0; o < p->g->outputs; o++) graph_mark(p->g, p->g->output[o].value, p->needed);
    for (int v = 0; v < p->g->values; v++) {
        find_sweep(p, v);
        p->mixed[v] &= p->needed[v];
    }
}

/* Makes value v an input, and `made` an output of the same name. */
static void cut(struct parts *p, int v, int made)
{
    const struct value old = p->g->value[v];
    struct value given = graph_value(GRAPH_INPUT, old.rank, old.axes);
    const int rows = axes_only(value_axes(&old) & axes_of_sequences(p->m));
    if (rows < 0 || p->m->axis[rows].source == SIZE_N_Q || is_carried_state(p->x, v))
        reversal_fail(p->x, "a sum that needs several sweeps over a sequence");
    given.sums = old.rank && p->m->axis[old.axes[old.rank - 1]].source == SIZE_CONSTANT;
    given.name = arena_printf(p->m->arena, p->x->c->program.linear ? "linear_part_%d" : "part_%d", p->parts++);
    p->g->value[v] = given;
    graph_output(p->g, given.name, made);
}

/* Returns a value from which v follows without a sweep. This is the only operand of v that needs a sweep, if it is
   not larger than v. Otherwise it is v itself. */
static int source_of(const struct parts *p, int v)
{
    const struct value *const value = &p->g->value[v];
    int only = -1, needs = 0;
    for (int k = 0; k < value->operands; k++) {
        const int of = value->operand[k].of;
        if (!p->of[of].any || of == only) continue;
        only = of;
        needs++;
    }
    if (needs != 1 || is_carried_state(p->x, only) ||
        graph_constant_elements(p->g, only) > graph_constant_elements(p->g, v))
        return v;
    const uint32_t axes = reversal_axes(p->x, only) & axes_of_sequences(p->m);
    if (value->op != GRAPH_MAP && (value_read_axes(value) & axes_of_sequences(p->m) & ~axes)) return v;
    return axes_only(axes) < 0 ? v : source_of(p, only);
}

/* Returns a value that can be a part, and that v needs. A value of pairs is too large, so a sum that it needs becomes
   the part. */
static int part_of(const struct parts *p, int v)
{
    v = source_of(p, v);
    for (int k = 0; k < p->g->value[v].operands; k++) {
        const int of = p->g->value[v].operand[k].of;
        const uint32_t sequences = reversal_axes(p->x, v) & axes_of_sequences(p->m);
        if (!(sequences & (sequences - 1))) break;
        if (p->of[of].any && !is_carried_state(p->x, of)) return part_of(p, of);
    }
    return v;
}

/* Makes value v a part. */
static void cut_whole(struct parts *p, int v)
{
    const struct value old = p->g->value[v];
    graph_insert(p->g, p->g->values, old);
    cut(p, v, p->g->values - 1);
}

/* Whether e is a sum of operands of v, and each operand is read along its own axes. */
static bool is_plain_sum(const struct parts *p, const struct value *v, const struct expr *e)
{
    if (e->op == EXPR_ADD) return is_plain_sum(p, v, e->arg[0]) && is_plain_sum(p, v, e->arg[1]);
    return e->op == EXPR_OPERAND && graph_is_plain(p->g, &v->operand[e->integer]);
}

/* Whether outputs need value `of` only for value v. */
static bool is_only_user(const struct parts *p, int v, int of)
{
    if (graph_is_output(p->g, of)) return false;
    for (int w = 0; w < p->known; w++)
        for (int k = 0; k < p->g->value[w].operands && w != v; k++)
            if (p->g->value[w].operand[k].of == of && p->needed[w]) return false;
    return true;
}

/* Makes a part of the sum of all operands of v that one sweep can compute together with operand k. The part
   replaces operand k, and 0 replaces the others. If there are no others, operand k alone becomes a part. */
static void cut_sum(struct parts *p, int v, int k)
{
    const struct value old = p->g->value[v];
    struct sweep s = p->of[old.operand[k].of];
    struct value sum = graph_value(GRAPH_MAP, old.rank, old.axes);
    const struct expr *e = NULL, *with[MAX_OPERANDS];
    struct value first = p->g->value[old.operand[k].of];
    for (int n = 0; n < old.operands; n++) {
        const int of = old.operand[n].of;
        with[n] = expr_operand(p->m, n);
        struct sweep both = s;
        if (n == k || !p->of[of].any || !merge(&both, &p->of[of]) || !is_only_user(p, v, of)) continue;
        if (!e) {
            graph_insert(p->g, p->g->values, first);
            e = reversal_value(p->x, &sum, p->g->values - 1);
        }
        e = expr_add(p->m, e, reversal_operand(p->x, &sum, old.operand[n]));
        with[n] = expr_real(p->m, 0);
        s = both;
    }
    if (!e || !is_only_user(p, v, old.operand[k].of)) {
        cut_whole(p, source_of(p, old.operand[k].of));
        return;
    }
    struct value left = old;
    cut(p, old.operand[k].of, reversal_map(p->x, &sum, e));
    e = expr_bind(p->m, old.expr, with);
    left.operands = 0;
    for (int n = 0; n < old.operands; n++)
        if (expr_uses(e, expr_operand(p->m, n))) with[n] = expr_operand(p->m, graph_operand(&left, &old.operand[n]));
    left.expr = expr_bind(p->m, e, with);
    p->g->value[v] = left;
}

/* Moves the first operand of v that needs a sweep into a part. */
static void cut_operands(struct parts *p, int v)
{
    const bool sums = p->g->value[v].op == GRAPH_MAP && is_plain_sum(p, &p->g->value[v], p->g->value[v].expr);
    for (int k = 0; k < p->g->value[v].operands && !p->x->failed; k++) {
        const int of = p->g->value[v].operand[k].of;
        if (!p->of[of].any || p->g->value[of].op == GRAPH_INPUT || is_carried_state(p->x, of)) continue;
        if (sums)
            cut_sum(p, v, k);
        else
            cut_whole(p, part_of(p, of));
        return;
    }
}

/* Makes a part of what an output spreads over more axes, such as the axis of heads. Other outputs can share loops with
   the part. */
static void cut_output(struct parts *p, int v)
{
    const struct value *const value = &p->g->value[v];
    if (value->op != GRAPH_MAP || value->operands != 1 || !p->of[value->operand[0].of].any) return;
    const int of = value->operand[0].of;
    bool spread = false;
    for (int k = 0; k < value->rank; k++)
        spread |= !ref_uses_axis(&value->operand[0], value->axes[k]) &&
                  p->m->axis[value->axes[k]].source != SIZE_CONSTANT;
    if (spread && !is_carried_state(p->x, of)) cut_whole(p, of);
}

/* Whether v becomes a part, or may become one: a SOLVE without features reads no sums but parts. */
static bool is_cut(const struct parts *p, int v)
{
    const struct value *const solve = &p->g->value[p->x->solution];
    return v == p->x->solution || (solve->operands <= SOLVE_FEATURES && p->g->value[v].op == GRAPH_REDUCE &&
                                   value_has_axis(&p->g->value[v], p->equations));
}

/* Returns the number of a value that is equal to v and reads no parts: a copy, or v itself. v is the output of
   forward, or a value that the output depends on. made[v] is 1 + this number, or 0 if it is not made yet. */
static int copy_of(struct parts *p, int v, int *made)
{
    struct value copy = p->g->value[v];
    bool changed = is_cut(p, v);
    if (made[v]) return made[v] - 1;
    for (int k = 0; k < copy.operands; k++) {
        const int of = copy_of(p, copy.operand[k].of, made);
        changed |= of != copy.operand[k].of;
        copy.operand[k].of = of;
    }
    /* The copy does not describe the state that users of the SOLVE sum. */
    if (copy.op == GRAPH_SOLVE && copy.operands > SOLVE_KEYS) {
        copy.operands = SOLVE_FEATURES + 1;
        copy.keep = NULL;
    }
    if (changed) graph_insert(p->g, p->g->values, copy);
    made[v] = (changed ? p->g->values - 1 : v) + 1;
    return made[v] - 1;
}

/* ---- outputs of the loops that compute the solution ---- */

/* Whether v needs a part other than the solution. Outputs from `parts` on are parts. */
static bool needs_other_part(const struct parts *p, int v, int parts)
{
    bool *const needed = arena_alloc(p->m->arena, (size_t)p->g->values * sizeof *needed), found = false;
    graph_mark(p->g, v, needed);
    for (int w = 0; w < p->g->values; w++)
        for (int o = parts; o < p->g->outputs && needed[w] && w != p->x->solution; o++)
            found |= p->g->value[w].op == GRAPH_INPUT && strcmp(p->g->output[o].name, p->g->value[w].name) == 0;
    return found;
}

/* Whether v needs the sweep of forward, with queries in the lanes. */
static bool is_of_queries(const struct parts *p, int v)
{
    const struct sweep *const s = &p->of[v];
    return s->any && s->direction == 1 && s->lane >= 0 && p->m->axis[s->lane].source == SIZE_N_Q;
}

/* Gradients of queries read the same states as the SOLVE of forward, in the same order. They compute the solution
   instead of reading it, so that one sweep computes both. Outputs from `parts` on are parts; `solve` is the SOLVE.
   If there are totals, they share loops with gradients of queries, and are summed in slices. A SOLVE has no slices. */
static void join_solution(struct parts *p, int parts, int solve)
{
    struct graph *const g = p->g;
    for (int v = 0; v < p->known; v++)
        for (int k = 0; k < g->value[v].operands && p->needed[v] && reversal_is_total(p->m, &g->value[v]); k++)
            if (is_of_queries(p, g->value[v].operand[k].of)) return;
    int *const made = arena_alloc(p->m->arena, (size_t)g->values * sizeof *made);
    bool any = false;
    made[p->x->solution] = solve + 1;
    for (int o = 0; o < parts; o++) {
        const int v = g->output[o].value;
        if (!is_of_queries(p, v) || needs_other_part(p, v, parts)) continue;
        g->output[o].value = copy_of(p, v, made);
        any = true;
    }
    for (int o = parts; o < g->outputs && any; o++)
        if (strcmp(g->output[o].name, g->value[p->x->solution].name) == 0) g->output[o].value = solve;
}

/* ---- rows that are read along another axis ---- */

/* Copies of values in which sequence `from` is renamed to `to`. Keys that are also equations of the SOLVE have two
   axes. Loops need a value along one of these axes. */
struct renamed {
    /* made[from][to][v]: 1 + the number of the copy of value v, or 0. MAX_AXES stands for no axis. */
    int *made[MAX_AXES + 1][MAX_AXES + 1];
};

/* Returns p->of_rows[v], from those of its operands. */
static bool is_of_rows(const struct parts *p, int v)
{
    const struct value *const value = &p->g->value[v];
    if (!value->operands) return true;
    const uint32_t own = reversal_axes(p->x, v) & axes_of_sequences(p->m);
    if ((own && axes_only(own) < 0) || value->op == GRAPH_SOLVE || is_carried_state(p->x, v)) return false;
    if (value->op != GRAPH_MAP && (value_read_axes(value) & axes_of_sequences(p->m) & ~own)) return false;
    for (int k = 0; k < value->operands; k++)
        if (!p->of_rows[value->operand[k].of]) return false;
    return true;
}

/* Returns e with the index of axis `to` instead of `from`. */
static const struct expr *rename_in(const struct parts *p, const struct expr *e, int from, int to)
{
    if (!e || from == MAX_AXES) return e;
    return expr_replace(p->m, e, expr_index(p->m, from), expr_index(p->m, to));
}

/* Copies value v and the values that it depends on, so that each copy reads rows along its own axis. Returns the
   number of the copy of v. */
static int renamed(struct parts *p, struct renamed *all, int v, int from, int to)
{
    int **const made = &all->made[from][to];
    struct value copy = p->g->value[v];
    if (!copy.operands && copy.op != GRAPH_MAP) return v;
    if (!*made) *made = arena_alloc(p->m->arena, (size_t)p->values * sizeof **made);
    if ((*made)[v]) return (*made)[v] - 1;
    for (int k = 0; k < copy.rank; k++)
        if (copy.axes[k] == from) copy.axes[k] = to;
    copy.expr = rename_in(p, copy.expr, from, to);
    copy.where = rename_in(p, copy.where, from, to);
    for (int k = 0; k < copy.operands; k++) {
        struct ref *const r = &copy.operand[k];
        int old = MAX_AXES, now = MAX_AXES;
        for (int n = 0; n < r->rank; n++) {
            r->sub[n] = rename_in(p, r->sub[n], from, to);
            if (!axis_is_sequence(&p->m->axis[p->g->value[r->of].axes[n]]) || !p->of_rows[r->of]) continue;
            const int axis = ref_axis(r, n);
            if (axis < 0 || axis == p->g->value[r->of].axes[n]) continue;
            old = p->g->value[r->of].axes[n];
            now = axis;
        }
        r->of = renamed(p, all, r->of, old, now);
    }
    graph_insert(p->g, p->g->values, copy);
    (*made)[v] = p->g->values;
    return p->g->values - 1;
}

static void rename_rows(struct parts *p)
{
    struct renamed *const all = arena_alloc(p->m->arena, sizeof *all);
    p->values = p->g->values;
    p->of_rows = arena_alloc(p->m->arena, (size_t)p->values * sizeof *p->of_rows);
    for (int v = 0; v < p->values; v++) p->of_rows[v] = is_of_rows(p, v);
    for (int o = 0; o < p->g->outputs; o++)
        p->g->output[o].value = renamed(p, all, p->g->output[o].value, MAX_AXES, MAX_AXES);
}

/* ---- the order of outputs ---- */

/* The number of outputs that must be computed one after another before value v can be computed. */
static int depth_of(const struct graph *g, int v, int *known)
{
    if (known[v]) return known[v] - 1;
    int depth = 0;
    for (int k = 0; k < g->value[v].operands; k++) {
        const int below = depth_of(g, g->value[v].operand[k].of, known);
        if (below > depth) depth = below;
    }
    for (int o = 0; o < g->outputs && g->value[v].op == GRAPH_INPUT; o++)
        if (strcmp(g->output[o].name, g->value[v].name) == 0) depth = depth_of(g, g->output[o].value, known) + 1;
    known[v] = depth + 1;
    return depth;
}

/* Sorts the outputs from `first` on, so that parts come before their users. */
static void sort_outputs(struct graph *g, int first)
{
    int *known = arena_alloc(g->module->arena, (size_t)g->values * sizeof *known);
    for (int o = first + 1; o < g->outputs; o++)
        for (int n = o;
             n > first && depth_of(g, g->output[n].value, known) < depth_of(g, g->output[n - 1].value, known); n--) {
            const int value = g->output[n].value;
            const char *const name = g->output[n].name;
            g->output[n] = g->output[n - 1];
            g->output[n - 1].name = name;
            g->output[n - 1].value = value;
        }
}

/* Whether an output other than o reads output o. */
static bool is_read(const struct graph *g, int o)
{
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed), read = false;
    for (int n = 0; n < g->outputs; n++)
        if (n != o) graph_mark(g, g->output[n].value, needed);
    for (int v = 0; v < g->values; v++)
        read |= needed[v] && g->value[v].op == GRAPH_INPUT && strcmp(g->value[v].name, g->output[o].name) == 0;
    return read;
}

/* Removes parts that no output reads, such as the solution if the weights have no gradient. The outputs from `first`
   on are parts. */
static void drop_parts(struct graph *g, int first)
{
    for (int o = first; o < g->outputs;) {
        if (is_read(g, o)) {
            o++;
            continue;
        }
        for (int n = o + 1; n < g->outputs; n++) g->output[n - 1] = g->output[n];
        g->outputs--;
        o = first; /* a part that this one read may have no other reader */
    }
}

int reversal_cut(struct reversal *x, int results)
{
    struct parts parts = {.x = x, .g = x->g, .m = x->m}, *p = &parts;
    if (x->solution < 0) return 0;
    int along;
    graph_solve_axes(x->m, &x->g->value[x->solution], &along, &p->equations);
    reversal_collect_terms(x, x->g->outputs - results);
    int *made = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *made), result[MAX_OUTPUTS];
    const int gradients = x->g->outputs - results;
    struct graph *const g = x->g;
    for (int o = 0; o < results; o++) result[o] = copy_of(p, g->output[gradients + o].value, made);
    g->outputs = gradients;
    if (reversal_cut_by_chunks(x, &p->parts)) {
        drop_parts(g, gradients);
        for (int o = 0; o < results; o++) graph_output(g, x->before->output[o].name, result[o]);
        graph_sweep(g);
        simplify_graph(g);
        merge_states(x->c, g);
        g->outputs -= results;
        sort_outputs(g, 0);
        g->outputs += results;
        return p->parts;
    }
    const int given = g->value[x->transposed].operand[SOLVE_VALUES].of;
    cut_whole(p, x->solution);
    if (g->value[given].op != GRAPH_INPUT) cut_whole(p, given);
    cut_whole(p, x->transposed);
    find_sweeps(p);
    for (int v = 0; v < g->values && !x->failed; v++) {
        if (!p->mixed[v]) continue;
        const int before = p->parts;
        cut_operands(p, v);
        if (p->parts == before) reversal_fail(x, "a sum that needs several sweeps over a sequence");
        find_sweeps(p);
        v = -1;
    }
    for (int o = 0; o < gradients && !x->failed; o++) cut_output(p, g->output[o].value);
    if (x->failed) return 0;
    if (made[x->solution]) join_solution(p, gradients, made[x->solution] - 1);
    rename_rows(p);
    drop_parts(g, gradients);
    sort_outputs(g, 0);
    for (int o = 0; o < results; o++) graph_output(g, x->before->output[o].name, result[o]);
    return p->parts;
}
