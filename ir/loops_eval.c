/* The interpreter of the loops, in float64. It detects wrong tiling. These are errors:
   - reading outside an array
   - reading an element of a tile that was not written in the tile's current range */
#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 3 }; /* the number of slots in this interpreter; results do not depend on it */

static const uint64_t unwritten_bits = UINT64_C(0x7ffcdeadbeef0001); /* a NaN that no computation produces */

struct machine {
    const struct loops *loops;
    struct module *module;
    int64_t size[MAX_AXES], lo[MAX_AXES], hi[MAX_AXES], index[MAX_AXES];
    int64_t block_lo[MAX_AXES]; /* block_lo[a]: the first index of the surrounding FOR over axis a that has `block` */
    int64_t ran_lo[MAX_AXES], ran_hi[MAX_AXES]; /* the range of axis a that a FOR over it ran last, or an empty one */
    int64_t stride[MAX_AXES];                   /* stride[a]: the distance between neighbouring indices of axis a */
    double **data;                              /* data[a]: the elements of array a */
    int64_t (*extent)[MAX_RANK];                /* extent[a]: the extents of array a in this interpreter */
    int64_t *elements;                          /* elements[a]: the number of elements in data[a] */
    double *sum;                                /* sum[n]: the sum of a DOT for the current row and lane n */
    int64_t sums;
    const struct stmt *stmt; /* the statement being run */
    struct ids ids;
    /* If not NULL, the interpreter only runs FORs and counts their tiles and points. */
    struct visits *visits;
    struct executed *executed; /* if not NULL, the interpreter counts its operations */
    bool queries;              /* true if the current statement is in a FOR over queries */
    const char *error;
};

static int64_t floor_mod(int64_t a, int64_t b)
{
    return (a % b + b) % b;
}

static void fail(struct machine *e, const char *message)
{
    if (!e->error) e->error = message;
}

static double unwritten(void)
{
    double value;
    memcpy(&value, &unwritten_bits, sizeof value);
    return value;
}

static bool is_unwritten(double value)
{
    return memcmp(&value, &unwritten_bits, sizeof value) == 0;
}

/* Reports an error about the element of r at the current point. `what` says what is wrong, for example "is indexed
   outside its extents". */
static void fail_here(struct machine *e, const struct ref *r, const char *what)
{
    struct text at = {NULL, 0, 0}, line = {NULL, 0, 0};
    const struct stmt *s = e->stmt;
    const uint32_t axes = ref_axes(r) | axes_set(s->rank, s->axes);
    for (int a = 0; a < e->module->axes; a++)
        if (axes >> a & 1)
            text_add(&at, "%s%s = %lld", at.length ? ", " : "", e->module->axis[a].name, (long long)e->index[a]);
    stmt_print(e->loops, s, &line);
    fail(e, arena_printf(e->module->arena, "'%s' at %s: %%%s %s", line.data, at.length ? at.data : "its one point",
                         e->loops->array[r->of].name, what));
    text_free(&at);
    text_free(&line);
}

static struct environment environment(struct machine *e, const double *operand)
{
    return (struct environment){.operand = operand,
                                .index = e->index,
                                .size = e->size,
                                .lo = e->lo,
                                .hi = e->hi,
                                .ids = &e->ids,
                                .seed = e->module->seed,
                                .start = e->module->query_start};
}

/* ---- access to elements of arrays ---- */

/* Returns the index of the first stored element along axis k of array a. If a tile stores only the current range of
   the axis, the index is LO. Otherwise it is 0. */
static int64_t origin(const struct machine *e, const struct array *a, int k)
{
    const struct axis *axis = &e->module->axis[a->axes[k]];
    if (a->kind != ARRAY_TILE || axis_is_chunks(axis)) return 0;
    return !axis_is_whole(axis) || a->extent[k] < e->module->axis[a->axes[k]].extent ? e->lo[a->axes[k]] : 0;
}

/* Returns the number of indices in the current range of an axis. */
static int64_t count_of(const struct machine *e, int axis)
{
    return (e->hi[axis] - e->lo[axis] + e->stride[axis] - 1) / e->stride[axis];
}

/* Returns the distance between the indices of neighbouring stored elements along axis k. It is 1, except for tiles
   in a FOR with `apart`. */
static int64_t spread(const struct machine *e, const struct array *a, int k)
{
    return a->kind == ARRAY_TILE ? e->stride[a->axes[k]] : 1;
}

/* Returns the offset of the current range in a tile that is stored for several ranges (array.held). Returns 0 for
   other tiles. */
static int64_t first_held(const struct machine *e, const struct ref *r)
{
    const struct array *a = &e->loops->array[r->of];
    if (!a->held) return 0;
    const int axis = a->axes[a->rank - 1];
    const int64_t number = (e->lo[axis] - e->block_lo[axis]) / a->extent[a->rank - 1];
    return number % a->held * (e->elements[r->of] / a->held);
}

/* Returns the offset of r's element at the current indices, or -1 if it is out of range. */
static int64_t locate(struct machine *e, const struct ref *r)
{
    const struct environment env = environment(e, NULL);
    const struct array *a = &e->loops->array[r->of];
    int64_t at = 0;
    for (int k = 0; k < r->rank; k++) {
        int64_t extent = e->extent[r->of][k],
                sub = (expr_eval_int(r->sub[k], &env) - origin(e, a, k)) / spread(e, a, k);
        if (sub < 0 || sub >= extent) return -1;
        at = at * extent + sub;
    }
    return at + first_held(e, r);
}

/* A reference in a statement. If `straight` is true, every point is in range. The offset of the element is then
   `base` plus the sum of step[axis] * n over the axes. n is the position of the index in the current range. */
struct access {
    const struct ref *ref;
    double *data;
    bool straight;
    int64_t base, step[MAX_AXES];
};

static struct access access_over(struct machine *e, const struct ref *r, uint32_t nest)
{
    struct access x = {.ref = r, .data = e->data[r->of], .straight = true};
    const struct environment env = environment(e, NULL);
    const struct array *a = &e->loops->array[r->of];
    int64_t stride = 1;
    for (int k = r->rank - 1; k >= 0; k--) {
        int axis = ref_axis(r, k);
        int64_t extent = e->extent[r->of][k], first, last;
        if (axis >= 0 && nest >> axis & 1) {
            int64_t apart = e->stride[axis] / spread(e, a, k);
            first = (e->lo[axis] - origin(e, a, k)) / spread(e, a, k);
            last = first + (count_of(e, axis) - 1) * apart;
            x.step[axis] += stride * apart;
        } else if (expr_axes(r->sub[k]) & nest) {
            x.straight = false;
            return x;
        } else
            first = last = (expr_eval_int(r->sub[k], &env) - origin(e, a, k)) / spread(e, a, k);
        if (first < 0 || last >= extent) x.straight = false;
        x.base += first * stride;
        stride *= extent;
    }
    x.base += first_held(e, r);
    return x;
}

static int64_t access_at(struct machine *e, const struct access *x, int rank, const int *axes)
{
    if (!x->straight) return locate(e, x->ref);
    int64_t at = x->base;
    for (int k = 0; k < rank; k++) {
        const int64_t n = e->index[axes[k]] - e->lo[axes[k]], stride = e->stride[axes[k]];
        at += (stride == 1 ? n : n / stride) * x->step[axes[k]]; /* divisions are slow */
    }
    return at;
}

/* Returns a pointer to the element at the current point, or NULL after an error. If `read` is true, an unwritten
   element is an error. */
static double *element(struct machine *e, const struct access *x, int rank, const int *axes, bool read)
{
    int64_t at = access_at(e, x, rank, axes);
    if (at < 0)
        fail_here(e, x->ref, "is indexed outside its extents");
    else if (read && is_unwritten(x->data[at]))
        fail_here(e, x->ref, "is read before it is written");
    return e->error ? NULL : &x->data[at];
}

/* Sets every index to the beginning of its range. Returns false if a range is empty. */
static bool first_point(struct machine *e, int rank, const int *axes)
{
    memcpy(e->index, e->lo, sizeof e->index);
    for (int k = 0; k < rank; k++)
        if (e->lo[axes[k]] >= e->hi[axes[k]]) return false;
    return true;
}

/* Moves to the next point, or returns false. The last axis (the lanes) varies slowest. */
static bool next_point(struct machine *e, int rank, const int *axes)
{
    for (int k = rank - 2; k >= -1; k--) {
        int axis = axes[k >= 0 ? k : rank - 1];
        if ((e->index[axis] += e->stride[axis]) < e->hi[axis]) return true;
        e->index[axis] = e->lo[axis];
    }
    return false;
}

/* ---- running MAP ---- */

static void store(double *to, enum fold fold, double value)
{
    switch (fold) {
    case FOLD_SET: *to = value; break;
    case FOLD_SUM: *to += value; break;
    case FOLD_MAX: *to = value > *to || value != value ? value : *to; break;
    }
}

/* Counts what an assignment of MAP s computes at a point. Kernels multiply terms that decay by decays of rows, so the
   exponentials of such terms count nothing (emit/decayed.c). */
static struct executed operations_of(const struct stmt *s, const struct assign *a)
{
    struct executed of = {0, 0, 0};
    bool sums = false;
    for (int k = 0; k < s->rank; k++) sums |= a->fold == FOLD_SUM && !(ref_axes(&a->to) >> s->axes[k] & 1);
    /* A SELECT computes both branches, as vectors do. */
    for (struct exprs w = {.of = a->expr}; exprs_next(&w);) {
        w.skip = w.e->type != TYPE_REAL;
        if (!w.skip && expr_arity(w.e->op) > 0)
            *(expr_effort(w.e->op) == EFFORT_FUNCTION ? &of.functions : &of.scalars) += 1;
    }
    if (sums && s->where && expr_has(a->expr, EXPR_EXP2)) of = (struct executed){0, 0, 0};
    if (sums && of.scalars > 0 && a->expr->op == EXPR_MUL) of.scalars--;
    if (sums)
        of.products = 2;
    else
        of.scalars += a->fold != FOLD_SET;
    return of;
}

static double read_at(struct machine *e, const struct ref *r)
{
    const int64_t at = locate(e, r);
    return at < 0 ? NAN : e->data[r->of][at];
}

/* Returns a term of a sum of products that decay. */
static double decayed_term(struct machine *e, const struct decaying *d)
{
    double log = 0;
    for (int k = 0; k < d->logs; k++) log += read_at(e, &d->a[k]) - read_at(e, &d->b[k]);
    return d->times * read_at(e, &d->x) * read_at(e, &d->y) * exp2(d->scale * log);
}

static void run_map(struct machine *e, const struct stmt *s)
{
    double operand[MAX_OPERANDS] = {0};
    const struct environment env = environment(e, operand);
    struct access in[MAX_OPERANDS], to[MAX_ASSIGNS];
    struct executed of[MAX_ASSIGNS];
    uint32_t used[MAX_ASSIGNS] = {0}, nest = axes_set(s->rank, s->axes);
    if (!first_point(e, s->rank, s->axes)) return;
    for (int k = 0; k < s->operands; k++) in[k] = access_over(e, &s->operand[k], nest);
    for (int k = 0; k < s->assigns; k++) {
        to[k] = access_over(e, &s->assign[k].to, nest);
        used[k] = expr_operands(s->assign[k].expr, NULL);
        if (e->executed) of[k] = operations_of(s, &s->assign[k]);
    }
    do {
        if (s->where && !expr_eval_int(s->where, &env)) continue;
        for (int n = 0; n < s->assigns && !e->error; n++) {
            if (e->executed) {
                e->executed->products += of[n].products;
                e->executed->scalars += of[n].scalars;
                e->executed->functions += of[n].functions;
            }
            const struct assign *a = &s->assign[n];
            uint32_t bad = 0;
            for (int k = 0; k < s->operands; k++) {
                if (!(used[n] >> k & 1)) continue;
                int64_t at = access_at(e, &in[k], s->rank, s->axes);
                operand[k] = at < 0 ? unwritten() : in[k].data[at];
                if (operand[k] != operand[k] && is_unwritten(operand[k])) bad |= AXIS(k);
            }
            if (bad && (bad &= expr_operands(a->expr, &env)))
                for (int k = 0; k < s->operands; k++)
                    if (bad >> k & 1) element(e, &in[k], s->rank, s->axes, true);
            double *here = element(e, &to[n], s->rank, s->axes, a->fold != FOLD_SET);
            if (here) store(here, a->fold, s->decays ? decayed_term(e, s->decays) : expr_eval(a->expr, &env));
        }
    } while (!e->error && next_point(e, s->rank, s->axes));
}

static void run_copy(struct machine *e, const struct stmt *s)
{
    if (!first_point(e, s->rank, s->axes)) return;
    uint32_t nest = axes_set(s->rank, s->axes);
    struct access from = access_over(e, &s->operand[0], nest), to = access_over(e, &s->assign[0].to, nest);
    do {
        const double *source = element(e, &from, s->rank, s->axes, true);
        double *target = source ? element(e, &to, s->rank, s->axes, false) : NULL;
        if (target) *target = *source;
    } while (!e->error && next_point(e, s->rank, s->axes));
}

/* ---- unions and conditions ---- */

/* The union of the ranges of a statement, and the last answer of is_member. Neighbouring indices often ask for one
   drawn number, so the answer is reused. */
struct members {
    int64_t from[MAX_RANGES], to[MAX_RANGES];
    int64_t number[MAX_RANGES];
    bool known[MAX_RANGES], holds[MAX_RANGES];
};

static struct members members_of(struct machine *e, const struct stmt *s)
{
    const struct environment env = environment(e, NULL);
    struct members u = {.known = {false}};
    for (int k = 0; k < s->ranges; k++) {
        u.from[k] = expr_eval_int(s->range[k].from, &env);
        u.to[k] = expr_eval_int(s->range[k].to, &env);
    }
    return u;
}

/* Returns true if index x of the statement's axis is drawn. For a FOR, x must be drawn at one or more points of the
   current ranges. For an IF or DOT, x must be drawn at all these points. */
static bool drawn(struct machine *e, const struct stmt *s, const struct expr *d, int64_t x)
{
    const struct environment env = environment(e, NULL);
    int axes[MAX_AXES], rank = axes_list(expr_axes(d->arg[0]) | expr_axes(d->arg[2]), axes);
    bool every = s->op != LOOPS_FOR;
    bool more = first_point(e, rank, axes);
    e->index[s->axis] = x;
    for (; more; more = rank > 0 && next_point(e, rank, axes))
        if ((expr_eval_int(d, &env) != 0) != every) return !every;
    return every;
}

static bool is_member(struct machine *e, const struct stmt *s, struct members *u, int64_t x)
{
    for (int k = 0; k < s->ranges; k++) {
        if (x < u->from[k] || x >= u->to[k]) continue;
        if (!s->range[k].drawn) return true;
        const struct environment env = environment(e, NULL);
        e->index[s->axis] = x;
        int64_t number = expr_eval_int(s->range[k].drawn->arg[1], &env);
        if (!u->known[k] || u->number[k] != number) {
            u->known[k] = true;
            u->number[k] = number;
            u->holds[k] = drawn(e, s, s->range[k].drawn, x);
        }
        if (u->holds[k]) return true;
    }
    return false;
}

/* Returns true if the current range has an index outside the union of the statement's ranges. */
static bool outside(struct machine *e, const struct stmt *s)
{
    struct members u = members_of(e, s);
    for (int64_t x = e->lo[s->axis]; x < e->hi[s->axis]; x += e->stride[s->axis])
        if (!is_member(e, s, &u, x)) return true;
    return false;
}

/* Returns true if the condition of an IF or DOT holds.
   - The condition may be an expression.
   - Without an expression, `ranges` is the condition: the current range has an index outside the union of the
     ranges.
   - Without both, the condition holds. */
static bool holds(struct machine *e, const struct stmt *s)
{
    const struct environment env = environment(e, NULL);
    const struct expr *condition = s->op == LOOPS_IF ? s->where : s->when;
    return condition ? expr_eval_int(condition, &env) != 0 : s->ranges == 0 || outside(e, s);
}

/* ---- running DOT ---- */

static bool grow_sums(struct machine *e, int64_t lanes)
{
    if (lanes <= e->sums) return true;
    double *grown = realloc(e->sum, (size_t)lanes * sizeof *grown);
    if (!grown) {
        fail(e, "the interpreter ran out of memory");
        return false;
    }
    e->sum = grown;
    e->sums = lanes;
    return true;
}

/* Reports an error if a sum reads an unwritten element, or one out of range. */
static void check_terms(struct machine *e, const struct stmt *s, const struct access *row, const struct access *lane)
{
    const int axes[3] = {s->axes[0], s->axes[1], s->axis};
    for (int64_t t = e->lo[s->axis]; t < e->hi[s->axis] && !e->error; t += e->stride[s->axis]) {
        e->index[s->axis] = t;
        element(e, row, 3, axes, true);
        element(e, lane, 3, axes, true);
    }
    e->index[s->axis] = e->lo[s->axis];
}

/* Returns the sum at the current row and lane over the terms inside the region. */
static double sum_in_region(struct machine *e, const struct stmt *s, const struct access *row,
                            const struct access *lane)
{
    const struct environment env = environment(e, NULL);
    const int axes[3] = {s->axes[0], s->axes[1], s->axis};
    double sum = 0;
    for (e->index[s->axis] = e->lo[s->axis]; e->index[s->axis] < e->hi[s->axis];
         e->index[s->axis] += e->stride[s->axis])
        if (expr_eval_int(s->where, &env))
            sum += row->data[access_at(e, row, 3, axes)] * lane->data[access_at(e, lane, 3, axes)];
    e->index[s->axis] = e->lo[s->axis];
    return sum;
}

static void run_dot(struct machine *e, const struct stmt *s)
{
    const int axes[3] = {s->axes[0], s->axes[1], s->axis};
    int row_axis = axes[0], lane_axis = axes[1], over = axes[2];
    int64_t lanes = count_of(e, lane_axis), terms = count_of(e, over), rows = 0;
    if (!first_point(e, 2, axes) || !grow_sums(e, lanes)) return;
    uint32_t nest = axes_set(s->rank, s->axes) | AXIS(over);
    struct access row = access_over(e, &s->operand[0], nest), lane = access_over(e, &s->operand[1], nest),
                  to = access_over(e, &s->assign[0].to, nest);
    struct access factor = s->operands > 2 ? access_over(e, &s->operand[2], nest) : to,
                  less = s->operands > 3 ? access_over(e, &s->operand[3], nest) : to;
    bool straight = row.straight && lane.straight, region = s->where && holds(e, s);
    memcpy(e->index, e->lo, sizeof e->index); /* holds() may have changed indices */
    for (e->index[row_axis] = e->lo[row_axis]; e->index[row_axis] < e->hi[row_axis] && !e->error;
         e->index[row_axis] += e->stride[row_axis]) {
        for (int64_t n = 0; n < lanes; n++) e->sum[n] = 0;
        const double *x = row.data + row.base + rows++ * row.step[row_axis];
        for (int64_t t = 0; t < terms && straight; t++) {
            const double *y = lane.data + lane.base + t * lane.step[over];
            double value = x[t * row.step[over]];
            for (int64_t n = 0; n < lanes; n++) e->sum[n] += value * y[n * lane.step[lane_axis]];
            if (e->executed) e->executed->products += 2 * (double)lanes;
        }
        for (int64_t n = 0; n < lanes && !e->error; n++) {
            e->index[lane_axis] = e->lo[lane_axis] + n * e->stride[lane_axis];
            if (!straight || e->sum[n] != e->sum[n]) check_terms(e, s, &row, &lane);
            for (int64_t t = 0; t < terms && !straight && !e->error; t++) {
                e->index[over] = e->lo[over] + t * e->stride[over];
                e->sum[n] += row.data[access_at(e, &row, 3, axes)] * lane.data[access_at(e, &lane, 3, axes)];
                if (e->executed) e->executed->products += 2;
            }
            e->index[over] = e->lo[over];
            if (region && !isfinite(e->sum[n]) && !e->error) e->sum[n] = sum_in_region(e, s, &row, &lane);
            bool adds = s->assign[0].fold == FOLD_SUM;
            double *here = e->error ? NULL : element(e, &to, 2, axes, adds);
            const double *scale = here && s->operands > 2 ? element(e, &factor, 2, axes, true) : NULL;
            const double *loss = here && s->operands > 3 ? element(e, &less, 2, axes, true) : NULL;
            if (here && !e->error)
                *here = e->sum[n] * (s->times != 0 ? s->times : 1) +
                        (adds ? *here * (scale ? *scale : 1) - (loss ? *here * *loss : 0) : 0);
        }
        e->index[lane_axis] = e->lo[lane_axis];
    }
}

/* Returns the norm of the vector along `axis` at the current point. */
static double norm(struct machine *e, const struct ref *r, int axis)
{
    double sum = 0;
    for (e->index[axis] = e->lo[axis]; e->index[axis] < e->hi[axis]; e->index[axis]++)
        sum += read_at(e, r) * read_at(e, r);
    return sqrt(sum);
}

/* Returns true if no weight of the current ranges counts (struct fading). Kernels compare the largest norms and the
   least decay, and f32 has a larger bound. */
static bool fades(struct machine *e, const struct stmt *s)
{
    const struct fading *const f = s->fades;
    const int of_key = e->module->axis[s->axes[0]].source == SIZE_N_Q, keys = s->axes[of_key],
              queries = s->axes[!of_key];
    struct ref own = s->operand[of_key];
    for (int k = 0; k < own.rank; k++)
        if (ref_axis(&own, k) == keys) own.sub[k] = expr_query_position(e->module, queries, keys);
    if (!first_point(e, 2, s->axes)) return false;
    bool fades = true;
    do {
        const double query = norm(e, &s->operand[!of_key], s->axis), key = norm(e, &s->operand[of_key], s->axis),
                     least = f->running ? -query * norm(e, &own, s->axis) : read_at(e, &f->shift);
        fades &= (read_at(e, &f->of_query) - read_at(e, &f->of_key)) * f->unit + query * key - least <
                 -53 - log2((double)e->size[keys]);
    } while (fades && next_point(e, 2, s->axes));
    return fades;
}

/* ---- running SOLVE ---- */

/* Returns the sum of weights[t][j] * u[j] over the equations j that were solved before equation t. The current point
   gives the lane. */
static double sum_of_solved(struct machine *e, const struct stmt *s, const struct access *weights,
                            const struct access *to, int64_t t)
{
    const int axes[3] = {s->axes[0], s->axes[1], s->axis};
    double sum = 0;
    const int64_t from = s->backward ? t + 1 : e->lo[s->axis], to_last = s->backward ? e->hi[s->axis] : t;
    for (int64_t j = from; j < to_last && !e->error; j++) {
        e->index[s->axis] = j;
        const double *weight = element(e, weights, 3, axes, true), *solved = element(e, to, 3, axes, true);
        if (weight && solved && (!s->hides || *weight != 0)) sum += *weight * *solved;
        if (e->executed) e->executed->products += 2;
    }
    return sum;
}

static void run_solve(struct machine *e, const struct stmt *s)
{
    const int axes[3] = {s->axes[0], s->axes[1], s->axis}, row = axes[0], lane = axes[1], over = axes[2];
    if (e->lo[row] != e->lo[over] || e->hi[row] != e->hi[over]) fail(e, "a solve runs over two different ranges");
    if (!first_point(e, 2, axes)) return;
    const uint32_t nest = axes_set(s->rank, s->axes) | AXIS(over);
    const struct access weights = access_over(e, &s->operand[0], nest), rest = access_over(e, &s->operand[1], nest),
                        rate = access_over(e, &s->operand[2], nest), to = access_over(e, &s->assign[0].to, nest);
    for (int64_t k = e->lo[row]; k < e->hi[row] && !e->error; k++)
        for (int64_t n = e->lo[lane]; n < e->hi[lane] && !e->error; n++) {
            const int64_t t = s->backward ? e->lo[row] + e->hi[row] - 1 - k : k;
            e->index[row] = t;
            e->index[lane] = n;
            const double sum = sum_of_solved(e, s, &weights, &to, t);
            e->index[over] = t;
            double *here = e->error ? NULL : element(e, &to, 3, axes, false);
            const double *value = here ? element(e, &rest, 3, axes, true) : NULL,
                         *factor = value ? element(e, &rate, 3, axes, true) : NULL;
            if (factor) *here = *factor * (*value - sum);
            if (e->executed) e->executed->scalars += 2;
        }
}

/* ---- running SELECT and LIST ---- */

/* The candidates of a lane: their elements, and the rows of what is known of them. */
struct candidates {
    double *value, *number, *known[ROWS_OF_CANDIDATES];
};

/* Finds the candidates of the current lane. */
static struct candidates candidates_of(struct machine *e, const struct ref *of, const struct ref *known)
{
    struct candidates x = {.value = NULL};
    const int room = ref_axis(of, 1), row = ref_axis(known, 0);
    e->index[room] = e->index[row] = 0;
    const int64_t at = locate(e, of), first = locate(e, known);
    if (at < 0 || first < 0) {
        fail_here(e, at < 0 ? of : known, "is indexed outside its extents");
        return x;
    }
    x.value = e->data[of->of] + at;
    x.number = x.value + e->extent[of->of][1] / 2;
    for (int r = 0; r < ROWS_OF_CANDIDATES; r++) x.known[r] = e->data[known->of] + first + r * e->extent[known->of][1];
    return x;
}

static void add_candidate(struct machine *e, struct candidates *x, int64_t count, double value, double number)
{
    double *const held = x->known[CANDIDATES_HELD], *const above = x->known[CANDIDATES_ABOVE];
    if (!(value > *above)) return;
    if (*held < 0) *held = 0;
    x->value[(int64_t)*held] = value;
    x->number[(int64_t)*held] = number;
    if (++*held < (double)(2 * count)) return;
    const int64_t kept = keep_best(x->value, x->number, 2 * count, count);
    if (kept < 0) fail(e, "the interpreter ran out of memory");
    *held = (double)kept;
    *above = HUGE_VAL;
    for (int64_t k = 0; k < kept; k++) *above = x->value[k] < *above ? x->value[k] : *above;
}

/* Adds the block that is not complete. */
static void end_block(struct machine *e, struct candidates *x, int64_t count)
{
    add_candidate(e, x, count, *x->known[CANDIDATES_LARGEST], *x->known[CANDIDATES_BLOCK]);
    *x->known[CANDIDATES_LARGEST] = -HUGE_VAL;
}

static void run_select(struct machine *e, const struct stmt *s)
{
    const int key = s->axes[0], lane = s->axes[1];
    if (!first_point(e, 2, s->axes)) return;
    const struct access values = access_over(e, &s->operand[0], axes_set(2, s->axes));
    for (int64_t n = e->lo[lane]; n < e->hi[lane] && !e->error; n++) {
        e->index[lane] = n;
        struct candidates x = candidates_of(e, &s->assign[0].to, &s->assign[1].to);
        for (int64_t j = e->lo[key]; j < e->hi[key] && !e->error; j++) {
            e->index[key] = j;
            const double *const value = element(e, &values, 2, s->axes, true), block = (double)(j / s->keys_of_block);
            if (e->executed) e->executed->scalars++;
            if (!value) break;
            if (*x.known[CANDIDATES_BLOCK] != block) end_block(e, &x, s->count);
            *x.known[CANDIDATES_BLOCK] = block;
            if (*value > *x.known[CANDIDATES_LARGEST]) *x.known[CANDIDATES_LARGEST] = *value;
        }
    }
}

static void run_list(struct machine *e, const struct stmt *s)
{
    const int lane = s->axes[0], listed = s->axes[1];
    if (!first_point(e, 2, s->axes)) return;
    for (int64_t n = e->lo[lane]; n < e->hi[lane] && !e->error; n++) {
        e->index[lane] = n;
        struct candidates x = candidates_of(e, &s->operand[0], &s->operand[1]);
        if (e->error) break;
        end_block(e, &x, s->count);
        const int64_t held = *x.known[CANDIDATES_HELD] < 0 ? 0 : (int64_t)*x.known[CANDIDATES_HELD],
                      kept = keep_best(x.value, x.number, held, s->count);
        for (int64_t k = 0; k < s->count && !e->error; k++) {
            e->index[listed] = k;
            const int64_t at = locate(e, &s->assign[0].to);
            if (at < 0) fail_here(e, &s->assign[0].to, "is indexed outside its extents");
            if (at >= 0) e->data[s->assign[0].to.of][at] = k < kept ? x.number[k] : -1;
        }
    }
}

/* ---- running SCAN ---- */

static void run_scan(struct machine *e, const struct stmt *s)
{
    const int axes[2] = {s->axes[0], s->axes[1]}, along = axes[0], lane = axes[1];
    if (!first_point(e, 2, axes)) return;
    const uint32_t nest = axes_set(s->rank, s->axes);
    const struct access tile = access_over(e, &s->operand[0], nest), carried = access_over(e, &s->operand[1], nest);
    const int64_t count = count_of(e, along), stride = e->stride[along];
    for (int64_t n = e->lo[lane]; n < e->hi[lane] && !e->error; n += e->stride[lane])
        for (int64_t k = 0; k < count && !e->error; k++) {
            e->index[along] = e->lo[along] + (s->backward ? count - 1 - k : k) * stride;
            e->index[lane] = n;
            double *const here = element(e, &tile, 2, axes, true), *const sum = here ? element(e, &carried, 2, axes,
                                                                                               true)
                                                                                     : NULL;
            if (!sum) return;
            const double term = *here;
            *here = *sum;
            *sum += term;
            if (e->executed) e->executed->scalars += 1;
        }
}

/* ---- running FOR and IF ---- */

static void run_body(struct machine *e, const struct stmt *s);

/* Marks elements of tiles as unwritten before FOR s runs its next range.
   - Tiles over the axis of s are marked, unless an earlier FOR in the same list has just run this range. For tiles
     over chunks, s must have `window`. For held tiles, s must have `block`.
   - If s is parallel, private tiles are marked, because another thread may run the next range.
   - If s is parallel over batches or heads, shared tiles and tiles over chunks are marked too. */
static void forget(struct machine *e, const struct stmt *s)
{
    enum size_source source = e->module->axis[s->axis].source;
    const bool head = source == SIZE_BATCH || source == SIZE_KV_HEADS,
               again = e->ran_lo[s->axis] == e->lo[s->axis] && e->ran_hi[s->axis] == e->hi[s->axis];
    for (int a = 0; a < e->loops->arrays; a++) {
        const struct array *array = &e->loops->array[a];
        bool slots = array_has_slots(e->loops, array),
             moves = array->shared || slots ? s->parallel && head : s->parallel;
        for (int k = 0; k < array->rank; k++) {
            bool part = !axis_is_whole(&e->module->axis[s->axis]) || array->extent[k] < e->module->axis[s->axis].extent;
            moves |= array->axes[k] == s->axis && part && !again &&
                     (!axis_is_chunks(&e->module->axis[s->axis]) || s->window) && (!array->held || s->block);
        }
        if (array->kind != ARRAY_TILE || !moves) continue;
        for (int64_t n = 0; n < e->elements[a]; n++) e->data[a][n] = unwritten();
    }
}

/* Forgets which ranges the FORs in list s, and in the bodies in it, ran last. */
static void forget_ranges(struct machine *e, const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->op == LOOPS_FOR) e->ran_lo[s->axis] = e->ran_hi[s->axis] = 0;
        forget_ranges(e, s->body);
    }
}

/* Returns true if a point of the current ranges is in the region. */
static bool any_point(struct machine *e, const struct expr *where)
{
    const struct environment env = environment(e, NULL);
    int axes[MAX_AXES], rank = axes_list(expr_axes(where), axes);
    if (!first_point(e, rank, axes)) return false;
    if (rank == 0) return expr_eval_int(where, &env) != 0;
    do
        if (expr_eval_int(where, &env)) return true;
    while (next_point(e, rank, axes));
    return false;
}

/* Returns the product of the lengths of all current ranges that are neither constant nor chunks. */
static int64_t points(const struct machine *e)
{
    int64_t count = 1;
    for (int a = 0; a < e->module->axes; a++)
        if (e->module->axis[a].source != SIZE_CONSTANT && !axis_is_chunks(&e->module->axis[a])) count *= count_of(e, a);
    return count;
}

static void run_tile(struct machine *e, const struct stmt *s, int64_t from, int64_t to)
{
    e->lo[s->axis] = from;
    e->hi[s->axis] = to;
    if (s->block) e->block_lo[s->axis] = from;
    if (from < 0 || to > e->size[s->axis])
        fail(e,
             arena_printf(e->module->arena, "a for over '%s' has the range %lld to %lld of %lld elements",
                          e->module->axis[s->axis].name, (long long)from, (long long)to, (long long)e->size[s->axis]));
    if (s->when) {
        const struct environment env = environment(e, NULL);
        if (!expr_eval_int(s->when, &env)) return;
    }
    if (e->visits) {
        bool keys = e->queries && e->module->axis[s->axis].source == SIZE_N_K, tests = s->where != NULL;
        int64_t count = keys ? points(e) : 0;
        e->visits->tiles += keys;
        e->visits->points += count;
        /* An IF in the body may skip the test of the region. */
        for (const struct stmt *inner = s->body; inner && tests; inner = inner->next)
            if (inner->op == LOOPS_IF && !holds(e, inner)) tests = false;
        if (!tests) count = 0;
        e->visits->tested += count;
        run_body(e, s->body);
        return;
    }
    forget(e, s);
    forget_ranges(e, s->body);
    if (e->executed || !s->where || any_point(e, s->where)) run_body(e, s->body);
    e->ran_lo[s->axis] = from;
    e->ran_hi[s->axis] = to;
}

/* Runs the body for each tile of the indices from, from + stride, … below `to`. */
static void run_tiles(struct machine *e, const struct stmt *s, int64_t from, int64_t to)
{
    int64_t step = s->window ? WINDOW : s->step, stride = stmt_stride(s), end;
    for (int64_t x = from; x < to && !e->error; x = end) {
        if (__builtin_mul_overflow(step, stride, &end) || __builtin_add_overflow(x, end, &end)) end = to;
        int64_t last = end - stride + 1;
        run_tile(e, s, x, last < to ? last : to);
    }
}

static void run_period(struct machine *e, const struct stmt *s, int64_t from, int64_t to)
{
    const struct environment env = environment(e, NULL);
    int64_t phase = floor_mod(expr_eval_int(s->phase, &env) - from, s->period); /* the distance to the next run */
    if (s->apart) {
        for (int64_t n = 0; n < s->run; n++) run_tiles(e, s, from + (phase + n) % s->period, to);
        return;
    }
    for (int64_t x = from + phase - s->period; x < to; x += s->period)
        run_tiles(e, s, x < from ? from : x, x + s->run < to ? x + s->run : to);
}

/* Runs the tiles of the indices from … limit - 1 from the last to the first. */
static void run_backward(struct machine *e, const struct stmt *s, struct members *u, int64_t from, int64_t limit)
{
    for (int64_t to = limit, x; to > from && !e->error; to = x) {
        while (s->ranges && to > from && !is_member(e, s, u, to - 1)) to--;
        for (x = s->ranges ? to : from; x > from && is_member(e, s, u, x - 1);) x--;
        for (int64_t at = to > x ? x + (to - x - 1) / s->step * s->step : x - 1; at >= x; at -= s->step)
            run_tile(e, s, at, at + s->step < to ? at + s->step : to);
    }
}

static void run_for(struct machine *e, const struct stmt *s)
{
    const struct environment env = environment(e, NULL);
    struct members u = members_of(e, s);
    int64_t from = expr_eval_int(s->from, &env), limit = expr_eval_int(s->to, &env), to = limit, lo = e->lo[s->axis],
            hi = e->hi[s->axis];
    bool queries = e->queries;
    e->queries |= e->module->axis[s->axis].source == SIZE_N_Q;
    e->stride[s->axis] = stmt_stride(s);
    if (s->backward) run_backward(e, s, &u, from, limit);
    for (int64_t x = from; x < limit && !s->backward && !e->error; x = to) {
        if (s->ranges) { /* finds the next interval [x, to) of the union */
            while (x < limit && !is_member(e, s, &u, x)) x++;
            for (to = x; to < limit && is_member(e, s, &u, to);) to++;
        }
        if (s->period)
            run_period(e, s, x, to);
        else
            run_tiles(e, s, x, to);
    }
    e->queries = queries;
    e->stride[s->axis] = 1;
    e->lo[s->axis] = lo;
    e->hi[s->axis] = hi;
}

static void run_body(struct machine *e, const struct stmt *s)
{
    for (; s && !e->error; s = s->next) {
        e->stmt = s;
        if (e->visits && s->op != LOOPS_FOR) continue;
        switch ((enum loops_op)s->op) {
        case LOOPS_FOR: run_for(e, s); break;
        case LOOPS_IF:
            if (holds(e, s)) run_body(e, s->body);
            break;
        case LOOPS_MAP: run_map(e, s); break;
        case LOOPS_DOT:
            if (s->fades && !e->executed && fades(e, s)) return;
            run_dot(e, s);
            break;
        case LOOPS_COPY: run_copy(e, s); break;
        case LOOPS_SCAN: run_scan(e, s); break;
        case LOOPS_SOLVE: run_solve(e, s); break;
        case LOOPS_SELECT: run_select(e, s); break;
        case LOOPS_LIST: run_list(e, s); break;
        }
    }
}

/* ---- memory of arrays ---- */

static void prepare_array(struct machine *e, int number, const struct tensor *in, int count)
{
    const struct array *a = &e->loops->array[number];
    int64_t elements = 1;
    for (int k = 0; k < a->rank; k++) {
        bool counted = a->kind == ARRAY_TILE && !axis_is_chunks(&e->module->axis[a->axes[k]]);
        e->extent[number][k] = counted ? a->extent[k] : e->size[a->axes[k]];
        if (__builtin_mul_overflow(elements, e->extent[number][k], &elements)) elements = INT64_MAX / 16;
    }
    if (a->held && __builtin_mul_overflow(elements, a->held, &elements)) elements = INT64_MAX / 16;
    e->elements[number] = elements;
    double *data = (uint64_t)elements > SIZE_MAX / sizeof *data ? NULL : malloc((size_t)elements * sizeof *data);
    e->data[number] = data;
    if (!data) {
        fail(e, "the interpreter ran out of memory");
        return;
    }
    const bool given = a->kind == ARRAY_INPUT || a->kind == ARRAY_PARAM;
    if (given) {
        const int64_t row = a->rank ? e->extent[number][a->rank - 1] : 1;
        if (!tensor_read(in, count, a->name, &a->within, row > 0 ? elements / row : 0, row,
                         a->within.of ? e->size[a->within.row] : row, data))
            fail(e, arena_printf(e->module->arena, "the array '%s' is missing", a->name));
    }
    if (a->kind == ARRAY_OUTPUT || a->kind == ARRAY_TILE)
        for (int64_t n = 0; n < elements; n++) data[n] = unwritten();
    if (a->kind == ARRAY_TABLE) memcpy(data, a->data, (size_t)elements * sizeof *data);
    const int64_t length = a->rank ? e->extent[number][a->rank - 1] : 1;
    if (array_is_named(a) && given && !e->error)
        ids_add(&e->ids, a->name, data, elements / length, length, !dtype_is_integer(a->dtype));
}

static void give_output(struct machine *e, double *out)
{
    for (int a = 0; a < e->loops->arrays && !e->error; a++) {
        if (e->loops->array[a].kind != ARRAY_OUTPUT) continue;
        for (int64_t n = 0; n < e->elements[a] && !e->error; n++)
            if (is_unwritten(e->data[a][n]))
                fail(e, arena_printf(e->module->arena, "element %lld of the output %%%s was never written",
                                     (long long)n, e->loops->array[a].name));
        if (!e->error) memcpy(out, e->data[a], (size_t)e->elements[a] * sizeof *out);
        out += e->elements[a];
    }
}

/* Runs the loops. `out` or `executed` may be NULL. */
static const char *eval(const struct loops *l, const struct problem_size *size, const struct tensor *in, int count,
                        double *out, struct executed *executed)
{
    struct machine e = {.loops = l, .module = l->module, .error = loops_verify(l), .executed = executed};
    if (e.error) return e.error;
    for (int a = 0; a < l->module->axes; a++) {
        e.stride[a] = 1;
        e.hi[a] = e.size[a] = axis_extent(l->module, a, size);
        if (e.size[a] < 1 && !axis_is_number(&l->module->axis[a]))
            return arena_printf(l->module->arena, "axis '%s' is empty", l->module->axis[a].name);
    }
    size_t arrays = (size_t)l->arrays;
    e.data = calloc(arrays, sizeof *e.data);
    e.extent = calloc(arrays, sizeof *e.extent);
    e.elements = calloc(arrays, sizeof *e.elements);
    if (!e.data || !e.extent || !e.elements) fail(&e, "the interpreter ran out of memory");
    for (int a = 0; a < l->arrays && !e.error; a++) prepare_array(&e, a, in, count);
    if (!e.error) run_body(&e, l->body);
    if (e.ids.outside) fail(&e, "a row beyond the end of an integer parameter is read");
    if (!e.error && out) give_output(&e, out);
    for (int a = 0; a < l->arrays && e.data; a++) free(e.data[a]);
    free(e.data);
    free(e.extent);
    free(e.elements);
    free(e.sum);
    return e.error;
}

const char *loops_eval(const struct loops *l, const struct problem_size *size, const struct tensor *in, int count,
                       double *out)
{
    return eval(l, size, in, count, out, NULL);
}

const char *loops_execute(const struct loops *l, const struct problem_size *size, const struct tensor *in, int count,
                          struct executed *out)
{
    *out = (struct executed){0, 0, 0};
    return eval(l, size, in, count, NULL, out);
}

const char *loops_visits(const struct loops *l, const struct problem_size *size, struct visits *out)
{
    struct machine e = {.loops = l, .module = l->module, .error = loops_verify(l), .visits = out};
    *out = (struct visits){0, 0, 0};
    for (int a = 0; a < l->module->axes; a++) {
        e.stride[a] = 1;
        e.hi[a] = e.size[a] = axis_extent(l->module, a, size);
    }
    if (!e.error) run_body(&e, l->body);
    return e.error;
}
