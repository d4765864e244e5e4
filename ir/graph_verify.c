/* Checks the rules that every graph satisfies. Functions return NULL, or an error message. */
#include "graph.h"
#include "reader.h"

#include <math.h>
#include <string.h>

static const char *const op_name[] = {
#define GRAPH(name, text) text,
#include "graph.def"
#undef GRAPH
};
enum { OPS = sizeof op_name / sizeof *op_name };

bool graph_same_table(const struct graph *g, const struct value *a, const struct value *b)
{
    if (a->op != GRAPH_TABLE || b->op != GRAPH_TABLE || strcmp(a->name, b->name) != 0 || a->rank != b->rank)
        return false;
    size_t count = 1;
    for (int k = 0; k < a->rank; k++) {
        if (a->axes[k] != b->axes[k]) return false;
        count *= (size_t)g->module->axis[a->axes[k]].extent;
    }
    return a->data == b->data || memcmp(a->data, b->data, count * sizeof *a->data) == 0;
}

/* Returns an error if the extent of an axis is not constant. */
static const char *constant_check(const struct graph *g, const struct value *v)
{
    struct module *m = g->module;
    for (int k = 0; k < v->rank; k++)
        if (m->axis[v->axes[k]].source != SIZE_CONSTANT)
            return arena_printf(m->arena, "the extent of axis '%s' is not constant", m->axis[v->axes[k]].name);
    return NULL;
}

static const char *named_check(const struct graph *g, int number)
{
    const struct value *v = &g->value[number];
    struct module *m = g->module;
    if (!name_is_plain(v->name)) return "it has no name";
    if (v->operands) return "it has operands";
    if (v->op == GRAPH_TABLE && !v->data) return "it has no data";
    for (int u = 0; u < number; u++)
        if (g->value[u].name && strcmp(g->value[u].name, v->name) == 0 && !graph_same_table(g, &g->value[u], v))
            return arena_printf(m->arena, "%%%d is called '%s' too", u, v->name);
    if (v->integers && (v->op != GRAPH_PARAM || (v->origin != ORIGIN_LEARNED && v->origin != ORIGIN_COMPUTED)))
        return "integers must be a parameter";
    if (v->bytes && !v->integers) return "only integers can be bytes";
    if ((v->by_name || v->hides) && (v->op != GRAPH_PARAM || v->origin != ORIGIN_LEARNED || v->integers))
        return "only a real parameter of the caller can have 'by_name' or 'hides'";
    if (v->sums && (v->op != GRAPH_INPUT || v->rank < 1 || m->axis[v->axes[v->rank - 1]].source != SIZE_CONSTANT))
        return "only an input with a constant last axis can have 'sums'";
    const bool given_reals = v->op == GRAPH_PARAM && v->origin == ORIGIN_LEARNED && !v->integers;
    if (v->stored && ((v->op != GRAPH_INPUT && !given_reals) || v->sums || m->dtype == DTYPE_F64))
        return "only an input of f32 can be stored in another type";
    if (v->stored && given_reals && (dtype_bytes(v->stored) != 2))
        return "a parameter can be stored as f32, f16 or bf16 only";
    if (v->within.of && (v->op != GRAPH_INPUT || v->sums)) return "only an array of the caller can be within another";
    const char *const wrong = within_check(m, &v->within, v->rank, v->axes);
    if (wrong) return wrong;
    if (v->origin == ORIGIN_ORTHOGONAL && v->rank != 2) return "orthogonal features must have two axes";
    const bool given = v->origin == ORIGIN_LEARNED || v->origin == ORIGIN_COMPUTED;
    return v->op == GRAPH_TABLE || !given ? constant_check(g, v) : NULL;
}

static const char *map_check(const struct graph *g, const struct value *v)
{
    struct allowed allowed = {.operands = v->operands, .index = value_axes(v)};
    if (v->where) return "a map has a region";
    return expr_check(g->module, v->expr, &allowed);
}

/* Checks `online` and `power` of a sum. `online` must be a maximum. The sum must have all axes of this maximum. */
static const char *online_check(const struct graph *g, int number)
{
    const struct value *v = &g->value[number];
    struct module *m = g->module;
    if (v->online < -1 || v->online >= number) return "'online' must name an earlier value";
    if (v->power < 0 || (v->power > 0 && v->online < 0)) return "'power' must be positive and needs 'online'";
    if (v->online < 0) return NULL;
    const struct value *maximum = &g->value[v->online];
    if (maximum->op != GRAPH_REDUCE || maximum->fold != FOLD_MAX)
        return arena_printf(m->arena, "%%%d is not a maximum", v->online);
    if (v->op == GRAPH_REDUCE && v->fold != FOLD_SUM) return "a maximum cannot have 'online'";
    if (value_axes(maximum) & ~value_axes(v))
        return arena_printf(m->arena, "its running maximum %%%d has an axis that it lacks", v->online);
    for (int w = 0; w < number; w++)
        if (g->value[w].online == v->online && g->value[w].power != v->power)
            return arena_printf(m->arena, "%%%d has a different 'power' for %%%d", w, v->online);
    return NULL;
}

/* Checks `keep`, which multiplies a sum that is carried to the next chunk. */
static const char *keep_check(const struct graph *g, const struct value *v)
{
    struct module *m = g->module;
    if (!v->keep) return NULL;
    if (!(value_axes(v) & axes_of_chunks(m)) || !v->where) return "'keep' needs an axis of chunks and a region";
    if (v->op == GRAPH_REDUCE && (v->fold != FOLD_SUM || v->init != 0)) return "'keep' needs a sum that starts from 0";
    struct allowed allowed = {.operands = v->operands, .index = value_axes(v)};
    for (int k = 0; k < graph_summed(v); k++)
        if (expr_uses(v->keep, expr_operand(m, k))) return "'keep' uses an operand that is summed";
    const char *wrong = expr_check(m, v->keep, &allowed);
    return wrong ? arena_printf(m->arena, "in 'keep': %s", wrong) : NULL;
}

static const char *fold_check(const struct graph *g, int number)
{
    const struct value *v = &g->value[number];
    struct module *m = g->module;
    if (v->expr) return "it has an expression";
    if (v->keep ? v->operands < graph_summed(v) : v->operands != graph_summed(v))
        return arena_printf(m->arena, "it has %d operands", v->operands);
    if (v->op == GRAPH_REDUCE && v->fold != FOLD_SUM && v->fold != FOLD_MAX) return "it is neither a sum nor a maximum";
    if (v->op == GRAPH_REDUCE && isnan(v->init)) return "its start value is not a number";
    uint32_t result = value_axes(v), domain = result, used = 0;
    for (int k = 0; k < graph_summed(v); k++) used |= ref_axes(&v->operand[k]);
    domain |= used;
    if (v->where) {
        struct allowed allowed = {.index = domain};
        const char *wrong = where_check(m, v->where, &allowed);
        if (wrong) return arena_printf(m->arena, "in its region: %s", wrong);
        used |= expr_axes(v->where);
    }
    for (int a = 0; a < m->axes; a++)
        if ((result & ~used) >> a & 1)
            return arena_printf(m->arena, "none of its operands has axis '%s'", m->axis[a].name);
    const char *wrong = keep_check(g, v);
    return wrong ? wrong : online_check(g, number);
}

static const char *scan_check(const struct graph *g, const struct value *v)
{
    const uint32_t result = value_axes(v);
    if (v->expr || v->operands != 1 || v->keep || v->online >= 0) return "it needs one operand";
    if (v->rank < 1 || !axis_is_sequence(&g->module->axis[v->axes[v->rank - 1]]) || ref_axes(&v->operand[0]) != result)
        return "it needs the axes of its operand, with a sequence last";
    const struct allowed allowed = {.index = result};
    const char *wrong = v->where ? where_check(g->module, v->where, &allowed) : NULL;
    return wrong ? arena_printf(g->module->arena, "in its region: %s", wrong) : NULL;
}

static const char *solve_check(const struct graph *g, const struct value *v)
{
    struct module *m = g->module;
    int along, rows;
    if (v->expr || v->operands < 3 || (!v->keep && v->operands > graph_summed(v)))
        return "it needs weights, values and a rate";
    if (v->online >= 0 || (v->keep && v->operands <= SOLVE_KEYS))
        return "it cannot have 'online', and 'keep' only with features of keys";
    if (!graph_solve_axes(m, v, &along, &rows))
        return "its weights need the sequence of the result and one more axis of the same length";
    const uint32_t result = value_axes(v), one = AXIS(along), other = AXIS(rows);
    const uint32_t values = ref_axes(&v->operand[SOLVE_VALUES]), rate = ref_axes(&v->operand[SOLVE_RATE]),
                   weights = ref_axes(&v->operand[SOLVE_WEIGHTS]);
    if (((weights & ~other) | values | rate) & ~result) return "an operand has an axis that the result lacks";
    if (result & ~(weights | values | rate)) return "the result has an axis that no operand has";
    if (!(values & one)) return "its values must be along the sequence of the result";
    for (int k = 0; k < v->rank; k++)
        if (m->axis[v->axes[k]].source == SIZE_CONSTANT && weights >> v->axes[k] & 1)
            return "its weights have an axis of elements";
    if (v->operands > SOLVE_FEATURES && !ref_uses_axis(&v->operand[SOLVE_FEATURES], rows))
        return "its features must be along the rows of the weights";
    if (v->operands > SOLVE_KEYS && !ref_uses_axis(&v->operand[SOLVE_KEYS], along))
        return "its features of keys must be along the sequence of the result";
    if (v->keep) {
        struct allowed allowed = {.operands = v->operands, .index = result | ref_axes(&v->operand[SOLVE_KEYS])};
        const char *wrong = expr_check(m, v->keep, &allowed);
        if (wrong) return arena_printf(m->arena, "in 'keep': %s", wrong);
    }
    if (!v->where) return NULL;
    struct allowed allowed = {.index = result | other};
    const char *wrong = where_check(m, v->where, &allowed);
    return wrong ? arena_printf(m->arena, "in its region: %s", wrong) : NULL;
}

static const char *select_check(const struct graph *g, const struct value *v, int number)
{
    struct module *m = g->module;
    const int key = graph_select_axis(v);
    if (!name_is_plain(v->name) || !v->integers) return "it has no name";
    if (graph_find(g, v->name) != number) return "another value has its name";
    if (v->expr || v->online >= 0 || v->operands != 1 || v->block < 1) return "it needs one operand and a block";
    if (v->rank < 1 || m->axis[v->axes[v->rank - 1]].source != SIZE_CONSTANT) return "its last axis is not constant";
    if (key < 0 || !axis_is_sequence(&m->axis[key])) return "its operand needs one sequence that it lacks";
    if (!v->where) return NULL;
    struct allowed allowed = {.index = value_axes(v) | AXIS(key)};
    const char *wrong = where_check(m, v->where, &allowed);
    return wrong ? arena_printf(m->arena, "in its region: %s", wrong) : NULL;
}

static bool has_ids(const void *program, const char *name)
{
    const struct graph *g = program;
    for (int v = 0; v < g->values; v++)
        if (graph_is_named(&g->value[v]) && g->value[v].name && strcmp(g->value[v].name, name) == 0) return true;
    return false;
}

/* Checks parameters that expressions read by name. No operand may refer to integers. Names must exist. */
static const char *ids_check(const struct graph *g, const struct value *v)
{
    const char *unknown = expr_unknown_ids(v->expr, has_ids, g);
    if (!unknown) unknown = expr_unknown_ids(v->where, has_ids, g);
    if (!unknown) unknown = expr_unknown_ids(v->keep, has_ids, g);
    for (int k = 0; k < v->operands; k++) {
        for (int s = 0; s < v->operand[k].rank && !unknown; s++)
            unknown = expr_unknown_ids(v->operand[k].sub[s], has_ids, g);
        if (g->value[v->operand[k].of].integers)
            return arena_printf(g->module->arena, "it reads %%%d, but only id, min_id and max_id can read ids",
                                v->operand[k].of);
    }
    return unknown ? arena_printf(g->module->arena, "there is no id parameter '%s'", unknown) : NULL;
}

static const char *value_check(const struct graph *g, int number)
{
    const struct value *v = &g->value[number];
    struct module *m = g->module;
    if ((int)v->op < 0 || (int)v->op >= OPS) return "it has no operation";
    const char *wrong = axes_check(m, v->rank, v->axes);
    if (wrong) return wrong;
    if ((int)v->origin < 0 || (int)v->origin >= ORIGINS || (v->op != GRAPH_PARAM && v->origin != ORIGIN_LEARNED))
        return "only a parameter can be made from a seed";
    if (v->operands < 0 || v->operands > MAX_OPERANDS) return "too many operands";
    struct allowed allowed = {.index = v->op == GRAPH_MAP ? value_axes(v) : UINT32_MAX};
    for (int k = 0; k < v->operands; k++) {
        const struct ref *r = &v->operand[k];
        if (r->of < 0 || r->of >= number) return arena_printf(m->arena, "operand %%%d does not come before it", r->of);
        wrong = ref_check(m, r, g->value[r->of].rank, g->value[r->of].axes, &allowed);
        if (wrong) return arena_printf(m->arena, "in its reference to %%%d: %s", r->of, wrong);
    }
    switch (v->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE: return named_check(g, number);
    case GRAPH_MAP: wrong = map_check(g, v); break;
    case GRAPH_CONTRACT:
    case GRAPH_REDUCE: wrong = fold_check(g, number); break;
    case GRAPH_SCAN: wrong = scan_check(g, v); break;
    case GRAPH_SOLVE: wrong = solve_check(g, v); break;
    case GRAPH_SELECT: wrong = select_check(g, v, number); break;
    }
    return wrong ? wrong : ids_check(g, v);
}

const char *graph_verify(const struct graph *g)
{
    struct module *m = g->module;
    const char *wrong = module_check(m);
    if (wrong) return wrong;
    for (int v = 0; v < g->values; v++) {
        wrong = value_check(g, v);
        int op = (int)g->value[v].op;
        if (wrong) return arena_printf(m->arena, "%%%d (%s): %s", v, op >= 0 && op < OPS ? op_name[op] : "?", wrong);
    }
    if (!g->outputs) return "there is no output";
    for (int o = 0; o < g->outputs; o++) {
        if (g->output[o].value < 0 || g->output[o].value >= g->values) return "the output is not a value of the graph";
        for (int u = 0; u < o; u++)
            if (strcmp(g->output[o].name, g->output[u].name) == 0)
                return arena_printf(m->arena, "two outputs are called '%s'", g->output[o].name);
    }
    return NULL;
}
