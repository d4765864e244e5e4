/* The interpreter of the graph, in float64. It computes one value after another. Its results define what a program
   computes. */
#include "graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operand of a sum. Element index[0], index[1], … is at the sum of index[a] * stride[a]. Operands with computed
   subscripts are copied into this layout. */
struct dense {
    /* `owned` is the copy to free, or NULL. */
    double *data, *owned;
    int64_t stride[MAX_AXES];
};

struct evaluation {
    const struct graph *graph;
    struct module *module;
    int64_t size[MAX_AXES], index[MAX_AXES];
    double **data; /* data[v]: the elements of value v, or NULL */
    struct ids ids;
    uint64_t *noise; /* the random state of graph_eval_noisy, or NULL in graph_eval */
    const char *error;
};

static void fail(struct evaluation *e, const char *message)
{
    if (!e->error) e->error = message;
}

static double *allocate(struct evaluation *e, int64_t elements)
{
    double *data = elements < 0 || (uint64_t)elements > SIZE_MAX / sizeof *data
                       ? NULL
                       : malloc(elements ? (size_t)elements * sizeof *data : 1);
    if (!data) fail(e, "the interpreter ran out of memory");
    return data;
}

static int64_t elements(const struct evaluation *e, int rank, const int *axes)
{
    int64_t count = 1;
    for (int k = 0; k < rank; k++)
        if (__builtin_mul_overflow(count, e->size[axes[k]], &count)) return -1;
    return count;
}

/* Moves to the next point. The last axis varies fastest. After the last point, sets every index to 0 and returns
   false. */
static bool next_point(struct evaluation *e, int rank, const int *axes)
{
    for (int k = rank - 1; k >= 0; k--) {
        if (++e->index[axes[k]] < e->size[axes[k]]) return true;
        e->index[axes[k]] = 0;
    }
    return false;
}

static struct environment environment(struct evaluation *e, const double *operand)
{
    return (struct environment){.operand = operand,
                                .index = e->index,
                                .size = e->size,
                                .ids = &e->ids,
                                .seed = e->module->seed,
                                .start = e->module->query_start,
                                .noise = operand ? e->noise : NULL};
}

/* Returns the offset of r's element at the current indices, or -1 if it is out of range. */
static int64_t offset(struct evaluation *e, const struct ref *r)
{
    const struct environment env = environment(e, NULL);
    const struct value *v = &e->graph->value[r->of];
    int64_t at = 0;
    for (int k = 0; k < r->rank; k++) {
        int64_t extent = e->size[v->axes[k]], sub = expr_eval_int(r->sub[k], &env);
        if (sub < 0 || sub >= extent) return -1;
        at = at * extent + sub;
    }
    return at;
}

static void fail_outside(struct evaluation *e, int number, const struct ref *r)
{
    char where[256] = "";
    size_t used = 0;
    uint32_t axes = ref_axes(r);
    for (int a = 0; a < e->module->axes && used < sizeof where; a++)
        if (axes >> a & 1)
            used += (size_t)snprintf(where + used, sizeof where - used, "%s%s = %lld", used ? ", " : "",
                                     e->module->axis[a].name, (long long)e->index[a]);
    fail(e, arena_printf(e->module->arena, "%%%d reads %%%d outside its extents at %s", number, r->of, where));
}

/* ---- evaluating MAP ---- */

static void eval_map(struct evaluation *e, int number, double *out)
{
    const struct value *v = &e->graph->value[number];
    double operand[MAX_OPERANDS] = {0};
    const struct environment env = environment(e, operand);
    int last = v->rank ? v->axes[v->rank - 1] : -1;
    int64_t count = elements(e, v->rank, v->axes), at[MAX_OPERANDS] = {0}, step[MAX_OPERANDS] = {0};
    /* straight[k] is true if the offset of operand k grows by a constant step along the last axis. */
    bool straight[MAX_OPERANDS];
    for (int k = 0; k < v->operands; k++) {
        const struct ref *r = &v->operand[k];
        int64_t stride = 1;
        straight[k] = true;
        for (int s = r->rank - 1; s >= 0; s--) {
            if (ref_axis(r, s) < 0)
                straight[k] = false;
            else if (ref_axis(r, s) == last)
                step[k] += stride;
            stride *= e->size[e->graph->value[r->of].axes[s]];
        }
    }
    for (int64_t n = 0; n < count && !e->error; n++) {
        uint32_t bad = 0;
        bool row_starts = last < 0 || e->index[last] == 0;
        for (int k = 0; k < v->operands; k++) {
            at[k] = straight[k] && !row_starts ? at[k] + step[k] : offset(e, &v->operand[k]);
            if (at[k] < 0)
                bad |= AXIS(k);
            else
                operand[k] = e->data[v->operand[k].of][at[k]];
        }
        if (bad && (expr_operands(v->expr, &env) & bad)) {
            int k = 0;
            while (!(bad >> k & 1)) k++;
            fail_outside(e, number, &v->operand[k]);
        }
        out[n] = expr_eval(v->expr, &env);
        next_point(e, v->rank, v->axes);
    }
    memset(e->index, 0, sizeof e->index);
}

/* ---- evaluating CONTRACT and REDUCE ---- */

static void row_major(const struct evaluation *e, int rank, const int *axes, int64_t *stride)
{
    int64_t step = 1;
    for (int k = rank - 1; k >= 0; k--) {
        stride[axes[k]] += step;
        step *= e->size[axes[k]];
    }
}

/* Makes an array over the axes of the condition `where`. Elements are 1 inside the region and 0 outside. */
static struct dense lay_out_region(struct evaluation *e, const struct expr *where)
{
    struct dense region = {0};
    int axes[MAX_AXES], rank = axes_list(expr_axes(where), axes);
    const struct environment env = environment(e, NULL);
    int64_t count = elements(e, rank, axes);
    row_major(e, rank, axes, region.stride);
    region.data = region.owned = allocate(e, count);
    for (int64_t n = 0; n < count && !e->error; n++, next_point(e, rank, axes))
        region.data[n] = expr_eval_int(where, &env) != 0;
    return region;
}

/* Returns the operand as an array over the axes of its subscripts. Copies it if a subscript is computed. A computed
   subscript may be out of range where the region of the sum is false. */
static struct dense lay_out(struct evaluation *e, int number, const struct ref *r)
{
    struct dense operand = {.data = e->data[r->of]};
    const struct value *v = &e->graph->value[r->of], *user = &e->graph->value[number];
    bool plain = true;
    int64_t stride = 1;
    for (int k = r->rank - 1; k >= 0; k--) {
        int axis = ref_axis(r, k);
        plain &= axis >= 0;
        if (axis >= 0) operand.stride[axis] += stride;
        stride *= e->size[v->axes[k]];
    }
    if (plain) return operand;
    operand = (struct dense){0};
    uint32_t bits = ref_axes(r);
    int axes[MAX_AXES], rank = axes_list(bits, axes);
    const struct environment env = environment(e, NULL);
    bool inside_known = user->where && !(expr_axes(user->where) & ~bits);
    int64_t count = elements(e, rank, axes);
    row_major(e, rank, axes, operand.stride);
    operand.data = operand.owned = allocate(e, count);
    for (int64_t n = 0; n < count && !e->error; n++, next_point(e, rank, axes)) {
        int64_t at = offset(e, r);
        if (at < 0 && !(inside_known && !expr_eval_int(user->where, &env))) fail_outside(e, number, r);
        operand.data[n] = at < 0 ? 0 : e->data[r->of][at];
    }
    return operand;
}

/* Combines `count` terms a * b with `out`. Each pointer advances by its step. This is the innermost loop. */
static void fold_terms(enum fold fold, int64_t count, double *out, int64_t out_step, const double *a, int64_t a_step,
                       const double *b, int64_t b_step, const double *region, int64_t region_step)
{
    if (fold == FOLD_MAX) {
        for (int64_t n = 0; n < count; n++) {
            double x = a[n * a_step], *to = &out[n * out_step];
            if (region[n * region_step] != 0 && (x > *to || x != x)) *to = x;
        }
    } else if (region_step) {
        for (int64_t n = 0; n < count; n++)
            if (region[n * region_step] != 0) out[n * out_step] += a[n * a_step] * b[n * b_step];
    } else if (*region == 0)
        return;
    else if (out_step == 0 && a_step == 1 && b_step == 1) {
        double sum[4] = {0};
        int64_t n = 0;
        for (; n + 4 <= count; n += 4)
            for (int k = 0; k < 4; k++) sum[k] += a[n + k] * b[n + k];
        for (; n < count; n++) sum[0] += a[n] * b[n];
        *out += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    } else if (out_step == 1 && a_step == 0 && b_step == 1) {
        double factor = *a;
        for (int64_t n = 0; n < count; n++) out[n] += factor * b[n];
    } else
        for (int64_t n = 0; n < count; n++) out[n * out_step] += a[n * a_step] * b[n * b_step];
}

/* Does the same as fold_terms, but adds random rounding errors. If `sums` is true, every partial sum gets an error.
   Otherwise every term gets one. */
static void fold_noisy(uint64_t *noise, bool sums, int64_t count, double *out, int64_t out_step, const double *a,
                       int64_t a_step, const double *b, int64_t b_step, const double *region, int64_t region_step)
{
    for (int64_t n = 0; n < count; n++) {
        if (region[n * region_step] == 0) continue;
        double *to = &out[n * out_step];
        const double term = a[n * a_step] * b[n * b_step];
        *to = sums ? expr_noisy(*to + term, noise) : *to + expr_noisy(term, noise);
    }
}

/* Returns the number of operands that a loop over the axis does not read contiguously. */
static int awkward(const struct dense *a, const struct dense *b, int axis)
{
    return (a->stride[axis] > 1) + (b->stride[axis] > 1);
}

static void eval_fold(struct evaluation *e, int number, double *out)
{
    static double one = 1;
    const struct value *v = &e->graph->value[number];
    enum fold fold = v->op == GRAPH_CONTRACT ? FOLD_SUM : v->fold;
    struct dense part[4] = {{.data = out}, lay_out(e, number, &v->operand[0]), {.data = &one}, {.data = &one}};
    row_major(e, v->rank, v->axes, part[0].stride);
    if (v->op == GRAPH_CONTRACT) part[2] = lay_out(e, number, &v->operand[1]);
    if (v->where) part[3] = lay_out_region(e, v->where);
    const struct dense *a = &part[1], *b = &part[2], *region = &part[3];

    int axes[2 * MAX_AXES], rank = 0, summed[MAX_AXES], sums = axes_list(value_read_axes(v) & ~value_axes(v), summed);
    int inner = -1;
    if (v->rank) inner = v->axes[v->rank - 1];
    if (sums && (inner < 0 || awkward(a, b, summed[sums - 1]) < awkward(a, b, inner))) inner = summed[sums - 1];
    for (int k = 0; k < v->rank; k++)
        if (v->axes[k] != inner) axes[rank++] = v->axes[k];
    for (int k = 0; k < sums; k++)
        if (summed[k] != inner) axes[rank++] = summed[k];

    int64_t count = elements(e, v->rank, v->axes), points = elements(e, rank, axes),
            run = inner < 0 ? 1 : e->size[inner];
    double init = v->op == GRAPH_CONTRACT ? 0 : v->init;
    uint64_t *const noise = fold == FOLD_SUM ? e->noise : NULL;
    /* True if the sum is over constant axes only. Kernels compensate all other sums, so their partial sums get no
       errors. */
    bool elements_alone = true;
    for (int k = 0; k < sums; k++) elements_alone &= e->module->axis[summed[k]].source == SIZE_CONSTANT;
    for (int64_t n = 0; n < count; n++) out[n] = init;
    if (points < 0) fail(e, "the interpreter's loops are too long");
    for (int64_t n = 0; n < points && !e->error; n++, next_point(e, rank, axes)) {
        int64_t at[4] = {0}, step[4];
        for (int p = 0; p < 4; p++) {
            for (int k = 0; k < rank; k++) at[p] += e->index[axes[k]] * part[p].stride[axes[k]];
            step[p] = inner < 0 ? 0 : part[p].stride[inner];
        }
        if (noise)
            fold_noisy(noise, elements_alone, run, out + at[0], step[0], a->data + at[1], step[1], b->data + at[2],
                       step[2], region->data + at[3], step[3]);
        else
            fold_terms(fold, run, out + at[0], step[0], a->data + at[1], step[1], b->data + at[2], step[2],
                       region->data + at[3], step[3]);
    }
    for (int64_t n = 0; n < count && noise; n++) out[n] = expr_noisy(out[n], noise);
    memset(e->index, 0, sizeof e->index);
    for (int p = 1; p < 4; p++) free(part[p].owned);
}

/* ---- evaluating SCAN ---- */

static int64_t point_of(const struct evaluation *e, const struct dense *operand);

static void eval_scan(struct evaluation *e, int number, double *out)
{
    const struct value *const v = &e->graph->value[number];
    struct dense part[3] = {{.data = out}, lay_out(e, number, &v->operand[0]), {.data = NULL}};
    row_major(e, v->rank, v->axes, part[0].stride);
    if (v->where) part[2] = lay_out_region(e, v->where);
    const int along = v->axes[v->rank - 1];
    const int64_t rows = elements(e, v->rank - 1, v->axes), size = e->size[along];
    for (int64_t n = 0; n < rows && !e->error; n++, next_point(e, v->rank - 1, v->axes)) {
        double sum = 0;
        for (int64_t k = 0; k < size; k++) {
            e->index[along] = v->backward ? size - 1 - k : k;
            out[point_of(e, &part[0])] = sum;
            if (v->where && part[2].data[point_of(e, &part[2])] == 0) continue;
            sum += part[1].data[point_of(e, &part[1])];
            if (e->noise) sum = expr_noisy(sum, e->noise);
        }
        e->index[along] = 0;
    }
    memset(e->index, 0, sizeof e->index);
    for (int p = 1; p < 3; p++) free(part[p].owned);
}

/* ---- evaluating SOLVE ---- */

/* Returns the offset of the current point in an operand. */
static int64_t point_of(const struct evaluation *e, const struct dense *operand)
{
    int64_t at = 0;
    for (int a = 0; a < e->module->axes; a++) at += e->index[a] * operand->stride[a];
    return at;
}

/* Solves the system of equations at the current point of all axes except the sequence `along`. */
static void solve_at(struct evaluation *e, const struct dense *part, int along, int rows, const struct value *v)
{
    const struct dense *weights = &part[1], *values = &part[2], *rate = &part[3], *seen = &part[4];
    const int64_t step = part[0].stride[along], first = point_of(e, &part[0]);
    const int64_t size = e->size[along];
    for (int64_t n = 0; n < size; n++) {
        const int64_t t = v->backward ? size - 1 - n : n;
        e->index[along] = t;
        double sum = values->data[point_of(e, values)];
        const double factor = rate->data[point_of(e, rate)];
        e->index[rows] = t;
        e->index[along] = 0;
        const double *weight = weights->data + point_of(e, weights),
                     *inside = v->where ? seen->data + point_of(e, seen) : NULL;
        for (int64_t j = v->backward ? t + 1 : 0; j < (v->backward ? size : t); j++) {
            if (inside && inside[j * seen->stride[along]] == 0) continue;
            sum -= weight[j * weights->stride[along]] * part[0].data[first + j * step];
            if (e->noise) sum = expr_noisy(sum, e->noise);
        }
        part[0].data[first + t * step] = e->noise ? expr_noisy(factor * sum, e->noise) : factor * sum;
    }
    e->index[along] = e->index[rows] = 0;
}

static void eval_solve(struct evaluation *e, int number, double *out)
{
    const struct value *v = &e->graph->value[number];
    int along, rows, axes[MAX_RANK], rank = 0;
    graph_solve_axes(e->module, v, &along, &rows);
    struct dense part[5] = {{.data = out}};
    row_major(e, v->rank, v->axes, part[0].stride);
    for (int k = 0; k < 3; k++) part[k + 1] = lay_out(e, number, &v->operand[k]);
    if (v->where) part[4] = lay_out_region(e, v->where);
    for (int k = 0; k < v->rank; k++)
        if (v->axes[k] != along) axes[rank++] = v->axes[k];
    const int64_t systems = elements(e, rank, axes);
    for (int64_t n = 0; n < systems && !e->error; n++, next_point(e, rank, axes)) solve_at(e, part, along, rows, v);
    memset(e->index, 0, sizeof e->index);
    for (int p = 1; p < 5; p++) free(part[p].owned);
}

/* ---- evaluating SELECT ---- */

static void eval_select(struct evaluation *e, int number, double *out)
{
    const struct value *v = &e->graph->value[number];
    const int key = graph_select_axis(v), rank = v->rank - 1;
    const int64_t lists = elements(e, rank, v->axes), count = e->size[v->axes[rank]];
    struct dense part[] = {lay_out(e, number, &v->operand[0]), {0}};
    double *const value = allocate(e, 2 * e->size[key]), *const block = value + e->size[key];
    if (v->where) part[1] = lay_out_region(e, v->where);
    for (int64_t n = 0; n < lists && !e->error; n++, next_point(e, rank, v->axes)) {
        int64_t held = 0;
        for (int64_t j = 0; j < e->size[key]; j++) {
            e->index[key] = j;
            const double x = part[0].data[point_of(e, &part[0])], own = (double)(j / v->block);
            if ((v->where && part[1].data[point_of(e, &part[1])] == 0) || !(x > -HUGE_VAL)) continue;
            if (held && block[held - 1] == own)
                value[held - 1] = x > value[held - 1] ? x : value[held - 1];
            else {
                value[held] = x;
                block[held++] = own;
            }
        }
        e->index[key] = 0;
        held = keep_best(value, block, held, count);
        if (held < 0) fail(e, "the interpreter ran out of memory");
        for (int64_t k = 0; k < count; k++) out[n * count + k] = k < held ? block[k] : -1;
    }
    memset(e->index, 0, sizeof e->index);
    free(value);
    for (int p = 0; p < 2; p++) free(part[p].owned);
}

/* ---- evaluating values ---- */

static void read_tensor(struct evaluation *e, const struct value *v, const struct tensor *in, int count, double *out)
{
    const int64_t row = v->rank ? e->size[v->axes[v->rank - 1]] : 1, all = elements(e, v->rank, v->axes);
    if (!tensor_read(in, count, v->name, &v->within, row > 0 ? all / row : 0, row,
                     v->within.of ? e->size[v->within.row] : row, out))
        fail(e, arena_printf(e->module->arena, "the array '%s' is missing", v->name));
}

static void eval_value(struct evaluation *e, int number, const struct tensor *in, int count)
{
    const struct value *v = &e->graph->value[number];
    int64_t size = elements(e, v->rank, v->axes);
    double *out = allocate(e, size);
    e->data[number] = out;
    if (e->error) return;
    switch (v->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM: read_tensor(e, v, in, count, out); break;
    case GRAPH_TABLE: memcpy(out, v->data, (size_t)size * sizeof *out); break;
    case GRAPH_MAP: eval_map(e, number, out); break;
    case GRAPH_CONTRACT:
    case GRAPH_REDUCE: eval_fold(e, number, out); break;
    case GRAPH_SCAN: eval_scan(e, number, out); break;
    case GRAPH_SOLVE: eval_solve(e, number, out); break;
    case GRAPH_SELECT: eval_select(e, number, out); break;
    }
    if (graph_is_named(v)) {
        const int64_t length = v->rank ? e->size[v->axes[v->rank - 1]] : 1;
        ids_add(&e->ids, v->name, out, size / length, length, !v->integers);
    }
    if (e->ids.outside)
        fail(e, arena_printf(e->module->arena, "%%%d reads a row beyond the end of an integer parameter", number));
}

static const char *evaluate(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                            uint64_t *noise, double *out)
{
    struct evaluation e = {.graph = g, .module = g->module, .noise = noise, .error = graph_verify(g)};
    if (e.error) return e.error;
    for (int a = 0; a < g->module->axes; a++) {
        e.size[a] = axis_extent(g->module, a, size);
        if (e.size[a] < 1 && !axis_is_number(&g->module->axis[a]))
            return arena_printf(g->module->arena, "axis '%s' is empty", g->module->axis[a].name);
    }
    size_t values = (size_t)g->values;
    e.data = calloc(values, sizeof *e.data);
    int *last_use = calloc(values, sizeof *last_use);
    if (!e.data || !last_use) fail(&e, "the interpreter ran out of memory");
    for (int v = 0; v < g->values && !e.error; v++)
        for (int k = 0; k < g->value[v].operands; k++) last_use[g->value[v].operand[k].of] = v;
    /* Parameters that any expression may read by name come first. */
    for (int v = 0; v < g->values && !e.error; v++) {
        if (!graph_is_named(&g->value[v])) continue;
        last_use[v] = g->values;
        if (g->value[v].op != GRAPH_SELECT) eval_value(&e, v, in, count);
    }
    for (int v = 0; v < g->values && !e.error; v++) {
        if (!graph_is_named(&g->value[v]) || g->value[v].op == GRAPH_SELECT) eval_value(&e, v, in, count);
        for (int u = 0; u <= v; u++)
            if (last_use[u] <= v && !graph_is_output(g, u)) {
                free(e.data[u]);
                e.data[u] = NULL;
            }
    }
    for (int o = 0; o < g->outputs && !e.error; o++) {
        const struct value *v = &g->value[g->output[o].value];
        const int64_t size_of_output = elements(&e, v->rank, v->axes);
        memcpy(out, e.data[g->output[o].value], (size_t)size_of_output * sizeof *out);
        out += size_of_output;
    }
    for (int v = 0; v < g->values && e.data; v++) free(e.data[v]);
    free(e.data);
    free(last_use);
    return e.error;
}

const char *graph_eval(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                       double *out)
{
    return evaluate(g, size, in, count, NULL, out);
}

const char *graph_eval_noisy(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                             uint64_t *state, double *out)
{
    return evaluate(g, size, in, count, state, out);
}
