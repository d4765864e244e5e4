/* Finds prefix sums: sums over all positions up to a query or key. Kernels compute prefix sums first
   (pass/prefix_sums.c). */
#include "computed_arrays.h"

#include <string.h>

static const char *const names[PREFIX_ARRAYS] = {
    [PREFIX_OF_QUERY] = "log_decay_q",
    [PREFIX_OF_QUERY_LOW] = "log_decay_q_low",
    [PREFIX_OF_KEY] = "log_decay_k",
    [PREFIX_OF_KEY_LOW] = "log_decay_k_low",
    [PREFIX_OF_CHUNK] = "log_decay_chunk",
    [PREFIX_OF_CHUNK_LOW] = "log_decay_chunk_low",
    [PREFIX_GRADIENT_OF_QUERY] = "dlog_decay_q",
    [PREFIX_GRADIENT_OF_KEY] = "dlog_decay_k",
    [PREFIX_GRADIENT] = "dlog_decay",
};

const char *prefix_array_name(enum prefix_array array)
{
    return names[array];
}

enum prefix_array prefix_array_find(const char *name)
{
    int array = 0;
    while (array < PREFIX_ARRAYS && strcmp(names[array], name) != 0) array++;
    return (enum prefix_array)array;
}

/* Whether e is the position of a query. */
static bool is_position(const struct expr *e, int axis)
{
    return e->op == EXPR_ADD && e->arg[0]->op == EXPR_INDEX && e->arg[0]->integer == axis &&
           e->arg[1]->op == EXPR_START;
}

bool prefix_sum_of(const struct graph *g, int v, struct prefix_sum *out)
{
    const struct module *const m = g->module;
    const struct value *const value = &g->value[v];
    int axis = -1, position = -1;
    if (value->op != GRAPH_REDUCE || value->fold != FOLD_SUM || value->init != 0 || !value->where || value->online >= 0)
        return false;
    for (int k = 0; k < value->rank; k++)
        if (axis_is_sequence(&m->axis[value->axes[k]])) {
            if (axis >= 0) return false;
            axis = value->axes[k];
        }
    if (axis < 0 || value->where->op != EXPR_LE || value->where->arg[0]->op != EXPR_INDEX) return false;
    const struct value *const terms = &g->value[value->operand[0].of];
    for (int k = 0; k < terms->rank; k++) {
        const int own = terms->axes[k];
        if (axis_is_sequence(&m->axis[own]) ? position >= 0 : !value_has_axis(value, own)) return false;
        if (axis_is_sequence(&m->axis[own])) position = own;
    }
    if (terms->op != GRAPH_MAP || position < 0 || position == axis || value->rank != terms->rank ||
        value->where->arg[0]->integer != position || m->axis[position].source != SIZE_N_K ||
        !graph_is_plain(g, &value->operand[0]))
        return false;
    const struct expr *const last = value->where->arg[1];
    const bool of_key = m->axis[axis].source == SIZE_N_K && last->op == EXPR_INDEX && last->integer == axis;
    *out = (struct prefix_sum){.terms = value->operand[0].of, .of_query = !of_key};
    return of_key || (m->axis[axis].source == SIZE_N_Q && is_position(last, axis));
}

bool has_prefix_sums(const struct graph *g)
{
    struct prefix_sum found;
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed);
    for (int k = 0; k < g->outputs; k++) graph_mark(g, g->output[k].value, needed);
    for (int v = 0; v < g->values; v++)
        if (needed[v] && prefix_sum_of(g, v, &found)) return true;
    return false;
}

bool prefix_terms_move(const struct graph *g)
{
    struct prefix_sum found;
    bool move = true;
    for (int v = 0; v < g->values; v++) {
        if (!prefix_sum_of(g, v, &found)) continue;
        const struct value *const terms = &g->value[found.terms];
        for (int k = 0; k < terms->rank; k++)
            if (axis_is_sequence(&g->module->axis[terms->axes[k]]))
                move &= !expr_uses(terms->expr, expr_index(g->module, terms->axes[k]));
    }
    return move;
}

/* Whether value v reads a parameter. Prefix sums are not followed. */
static bool reads(const struct graph *g, int v, const char *param, bool *visited)
{
    struct prefix_sum sum;
    const struct value *const value = &g->value[v];
    if (visited[v]) return false;
    visited[v] = true;
    if (value->op == GRAPH_PARAM && strcmp(value->name, param) == 0) return true;
    if (prefix_sum_of(g, v, &sum)) return false;
    bool any = false;
    for (int k = 0; k < value->operands && !any; k++) any = reads(g, value->operand[k].of, param, visited);
    return any;
}

static bool *none_visited(const struct graph *g)
{
    return arena_alloc(g->module->arena, (size_t)g->values * sizeof(bool));
}

bool prefix_terms_read(const struct graph *g, const char *param)
{
    struct prefix_sum sum;
    bool any = false;
    for (int v = 0; v < g->values && !any; v++)
        any = prefix_sum_of(g, v, &sum) && reads(g, sum.terms, param, none_visited(g));
    return any;
}

bool others_read(const struct graph *g, const char *param)
{
    bool any = false;
    for (int o = 0; o < g->outputs && !any; o++) any = reads(g, g->output[o].value, param, none_visited(g));
    return any;
}

const char *prefix_tensors(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                           int count, struct tensor *out, int *made)
{
    static const enum prefix_array of_keys[] = {PREFIX_OF_KEY, PREFIX_OF_CHUNK, PREFIX_OF_KEY_LOW, PREFIX_OF_CHUNK_LOW},
                                   of_queries[] = {PREFIX_OF_QUERY, PREFIX_OF_QUERY_LOW};
    const char *wrong = NULL;
    *made = 0;
    for (int v = 0; v < source->values && !wrong; v++) {
        struct prefix_sum sum;
        if (!prefix_sum_of(source, v, &sum)) continue;
        struct graph *const g = graph_copy(source);
        size_t n = 1;
        for (int k = 0; k < g->value[v].rank; k++) n *= (size_t)axis_extent(g->module, g->value[v].axes[k], size);
        double *const sums = arena_alloc(g->module->arena, (n + 1) * sizeof *sums), *const none = arena_alloc(
                                                                                        g->module->arena,
                                                                                        (n + 1) * sizeof *none);
        g->outputs = 0;
        graph_output(g, "sums", v);
        wrong = graph_eval(g, size, in, count, sums);
        for (int k = 0; k < (sum.of_query ? 2 : 4); k++)
            out[(*made)++] = (struct tensor){prefix_array_name(sum.of_query ? of_queries[k] : of_keys[k]),
                                             k < (sum.of_query ? 1 : 2) ? sums : none};
    }
    return wrong;
}

bool prefix_sums_are_own(const struct compilation *c)
{
    const struct loops *const l = c->loops;
    if (!program_is_forward(&c->program) || !c->sums) return false;
    for (int a = 0; a < l->arrays; a++)
        if (prefix_array_find(l->array[a].name) != PREFIX_ARRAYS && stmts_touching(l->body, a)) return false;
    return true;
}
