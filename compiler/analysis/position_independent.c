/* Tests whether a query's result stays equal if all positions move by one number. If it does, sums stay valid when
   a sequence is appended to another. */
#include "computed_arrays.h"
#include "reach.h"
#include "roles.h"

/* All positions move by `by`. */
struct shift {
    const struct graph *g;
    int lane, stream, rows; /* rows: the axis of a SOLVE's rows of weights, which are also positions, or -1 */
    int64_t by;
    bool with_queries; /* arrays with a row for each query, and integers, move with the tokens */
    bool whole;        /* all other axes of keys move, too */
    bool quotients;    /* quotients of blocks are compared */
    bool parts; /* a call has some keys of a sequence, so numbers that depend on n_k are unknown. Integers of arrays
                   move with their axes. The position of the first key moves against the others */
};

static bool is_stream(const struct shift *x, int axis)
{
    return axis == x->stream || axis == x->rows ||
           (x->whole && x->g->module->axis[axis].source == x->g->module->axis[x->stream].source);
}

/* Whether e is x - floormod(x, n), the first position of a block. */
static bool is_first_of_block(const struct expr *e, const struct expr *n)
{
    return e->op == EXPR_SUB && e->arg[1]->op == EXPR_FLOORMOD && e->arg[1]->arg[0] == e->arg[0] &&
           e->arg[1]->arg[1] == n;
}

/* Whether e is a position. Positions in a state are not negative, so C's division rounds down. If all positions
   move by 2 n, position / n grows by 2. */
static bool is_position(const struct shift *x, const struct expr *e)
{
    struct module *const m = x->g->module;
    return (e->op == EXPR_INDEX && is_stream(x, (int)e->integer)) || e == expr_query_position(m, x->lane, x->stream);
}

/* Whether all subscripts of an EXPR_ID move like the axes of its array, so that it reads the same element. `growth` are
   those of the row and of the subscript. */
static bool same_element(const struct shift *x, const struct expr *e, const int64_t *growth)
{
    const int v = graph_find(x->g, e->name);
    if (v < 0 || growth[0] != 0) return false;
    const struct value *const array = &x->g->value[v];
    const bool of_keys = array->rank && is_stream(x, array->axes[array->rank - 1]);
    for (int k = 0; k + 1 < array->rank; k++)
        if (is_stream(x, array->axes[k])) return false;
    return growth[1] == (of_keys ? x->by : 0);
}

/* Sets *by to the growth of e if all positions move by x->by. Returns false if the growth is unknown or not
   constant. */
static bool growth(const struct shift *x, const struct expr *e, int64_t *by)
{
    int64_t of[3] = {0, 0, 0};
    if (x->parts && e->op == EXPR_START) {
        *by = x->by;
        return true;
    }
    struct shift inside = *x;
    inside.quotients |= e->op == EXPR_DRAWN && e->draw->name;
    for (int k = 0; k < expr_arity(e->op); k++)
        if (!growth(&inside, e->arg[k], &of[k])) return false;
    *by = 0;
    switch ((int)e->op) {
    case EXPR_SIZE:
        if (x->parts && is_stream(x, (int)e->integer)) return false;
        if (x->g->module->axis[e->integer].source == SIZE_FIRST_KEY) {
            *by = -x->by;
            return true;
        }
        *by = is_stream(x, (int)e->integer) ? x->by : 0;
        return true;
    case EXPR_INDEX: *by = is_stream(x, (int)e->integer) ? x->by : 0; return true;
    case EXPR_DRAWN: /* a caller's list of blocks of keys moves with the keys, but one of the best keys is of all keys
                      */
        return x->parts && !e->draw->sorted && of[0] == 0 && (of[1] == 0 || e->draw->name) && of[2] == 0;
    case EXPR_LO:
    case EXPR_HI:
    case EXPR_RANDOM: return x->parts && of[0] == 0 && of[1] == 0 && of[2] == 0;
    case EXPR_ELEMENT:
    case EXPR_ID: return (x->parts || x->with_queries) && same_element(x, e, of);
    case EXPR_MIN_ID:
    case EXPR_MAX_ID:
    case EXPR_ANY_ID:
    case EXPR_ANY_SORTED: return false;
    case EXPR_START: *by = of[1]; return true;
    case EXPR_ADD: *by = of[0] + of[1]; return true;
    case EXPR_SUB: *by = of[0] - of[1]; return true;
    case EXPR_NEG: *by = -of[0]; return true;
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_EQ:
    case EXPR_NE: return of[0] == of[1];
    case EXPR_MIN:
    case EXPR_MAX: *by = of[0]; return of[0] == of[1];
    case EXPR_SELECT: *by = of[1]; return of[0] == 0 && of[1] == of[2];
    case EXPR_DIV:
    case EXPR_MOD:
        if (of[0] == 0 && of[1] == 0) return true;
        if (!is_position(x, e->arg[0]) && !(x->quotients && is_first_of_block(e->arg[0], e->arg[1]))) return false;
        if (e->arg[1]->op != EXPR_INT || of[0] % e->arg[1]->integer) return false;
        if (e->op == EXPR_DIV) *by = of[0] / e->arg[1]->integer;
        return true;
    case EXPR_FLOORMOD:
        if (x->quotients && e->arg[1]->op == EXPR_INT && of[0] % e->arg[1]->integer == 0) return true;
        break;
    case EXPR_MUL:
        for (int k = 0; k < 2; k++)
            if (e->arg[k]->op == EXPR_INT) {
                *by = of[1 - k] * e->arg[k]->integer;
                return true;
            }
        break;
    default: break;
    }
    return of[0] == 0 && of[1] == 0 && of[2] == 0;
}

static bool stays(const struct shift *x, const struct expr *e)
{
    int64_t by;
    return !e || (growth(x, e, &by) && by == 0);
}

static bool value_stays(const struct shift *x, const struct value *v)
{
    bool same = stays(x, v->expr) && stays(x, v->where);
    if (v->op == GRAPH_PARAM && !x->with_queries) same &= !value_has_axis(v, x->lane);
    for (int k = 0; k < v->operands; k++) {
        const struct value *const of = &x->g->value[v->operand[k].of];
        for (int s = 0; s < of->rank; s++) {
            int64_t by;
            same &= growth(x, v->operand[k].sub[s], &by) && by == (is_stream(x, of->axes[s]) ? x->by : 0);
        }
    }
    return same;
}

static bool all_stay(const struct graph *g, int64_t by, bool with_queries, bool whole, bool parts, bool rotations)
{
    struct roles roles;
    if (roles_of(g, 0, &roles)) return false;
    int along, rows = -1;
    const int solve = graph_find_solve(g);
    if (solve >= 0) graph_solve_axes(g->module, &g->value[solve], &along, &rows);
    const struct shift x = {g, roles.lane, roles.stream, rows, by, with_queries, whole, whole, parts};
    bool same = true;
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        if (rotations && value->op == GRAPH_MAP && (value->expr->op == EXPR_SIN || value->expr->op == EXPR_COS))
            continue;
        same &= value_stays(&x, value);
    }
    return same;
}

bool moves_on(const struct graph *g, int64_t by)
{
    return all_stay(g, by, false, false, false, false);
}

bool moves_together(const struct graph *g, int64_t by, bool rotations)
{
    /* the tokens that prefix sums add move, too */
    return all_stay(g, by, true, has_prefix_sums(g) && graph_find_solve(g) < 0, true, rotations);
}

int64_t part_period(const struct graph *g)
{
    enum { MAX_PERIOD = 1 << 12 };
    for (int64_t by = 1; by <= MAX_PERIOD && prefix_terms_move(g); by *= 2)
        if (all_stay(g, by, true, true, false, false)) return by;
    for (int64_t by = 1; by <= MAX_PERIOD && prefix_terms_move(g); by++)
        if (all_stay(g, by, true, true, false, false)) return by;
    return 0;
}

bool takes_any_order(const struct graph *g)
{
    struct roles roles;
    bool any = graph_find_solve(g) < 0 && moves_on(g, 1) && !roles_of(g, 0, &roles);
    for (int v = 0; v < g->values && any; v++)
        if (g->value[v].expr) any = !(expr_axes(g->value[v].expr) >> roles.stream & 1);
    return any;
}
