/* How many queries (the lanes) and keys a tile holds, and how many queries share what is made of a tile of keys. The
   tiles of queries, keys, scores and sums share the second-level cache. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

/* Whether something is computed for every key before it meets a query. */
static bool prepares_keys(const struct graph *g, const struct roles *roles)
{
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        bool sequence = value_has_axis(value, roles->stream) || value_has_axis(value, roles->chunk),
             lane = value_has_axis(value, roles->lane);
        if (value->op != GRAPH_INPUT && value->op != GRAPH_PARAM && sequence && !lane && !graph_is_output(g, v))
            return true;
    }
    return false;
}

/* Whether an output is a sum over the lanes for every point of the stream. */
static bool sums_across(const struct graph *g, const struct roles *roles)
{
    for (int o = 0; o < g->outputs; o++)
        if (!value_has_axis(&g->value[g->output[o].value], roles->lane)) return true;
    return false;
}

/* The number of keys that every query meets, if it is known and small; else 0. A tile of more queries shares more, but
   computes more pairs that the mask leaves out, which costs more where each query meets few keys. */
static int64_t few_keys(const struct graph *g, const struct roles *roles)
{
    enum { FEW_KEYS = 2048 };
    if (roles->lane < 0 || roles->stream < 0) return 0;
    const struct expr *first = expr_leaf(g->module, EXPR_LO, roles->lane),
                      *end = expr_leaf(g->module, EXPR_HI, roles->lane);
    for (int v = 0; v < g->values; v++) {
        const struct expr *region = g->value[v].where;
        if (!region) continue;
        struct ranges of_tile;
        int64_t all = 0, keys = 0;
        region_ranges(g->module, region, roles->stream, false, &of_tile);
        for (int k = 0; k < of_tile.count; k++) { /* of a tile of one query */
            const struct range *r = &of_tile.range[k];
            if (!r->from || !r->to ||
                !known_difference(g->module, r->to, expr_replace(g->module, r->from, first, end), &keys))
                return 0;
            all += keys;
        }
        return all < FEW_KEYS ? all : 0;
    }
    return 0;
}

/* Whether queries meet keys as they are stored. */
static bool meets_stored_keys(const struct graph *g, const struct roles *roles)
{
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        bool pair = value_has_axis(value, roles->lane) && value_has_axis(value, roles->stream);
        for (int k = 0; pair && value->op == GRAPH_CONTRACT && k < value->operands; k++) {
            const struct value *of = &g->value[value->operand[k].of];
            if (value_has_axis(of, roles->stream) && of->op != GRAPH_INPUT) return false;
        }
    }
    return true;
}

/* The smallest block of queries that something is drawn for at random; 0: nothing is. */
static int64_t drawn_block(struct module *m, const struct expr *e)
{
    int64_t block = 0;
    const struct expr *x;
    if (e->op == EXPR_DRAWN) return floor_quotient(m, e->arg[0], &x, &block) ? block : 0;
    for (int k = 0; k < expr_arity(e->op); k++) {
        int64_t found = drawn_block(m, e->arg[k]);
        if (found && (!block || found < block)) block = found;
    }
    return block;
}

/* Whether the program computes rows of the result from all pairs, or what is saved of them, for any number of queries.
 */
static bool makes_rows(const struct compilation *c)
{
    return !c->linear && !c->few &&
           (c->program == PROGRAM_FORWARD || c->program == PROGRAM_SAVING || c->program == PROGRAM_SAVED ||
            c->program == PROGRAM_MEET);
}

/* Whether tiles of queries could go through the keys together: these are the same ones for all, but for where a mask
   ends. */
static bool meet_same_keys(const struct graph *g, const struct roles *roles)
{
    for (int v = 0; v < g->values; v++) {
        const struct expr *region = g->value[v].where;
        if (region && (expr_has(region, EXPR_DRAWN) || expr_reads_ids(region) ||
                       region_repeats(g->module, region, roles->lane, roles->stream)))
            return false;
    }
    return true;
}

/* Short tiles, two vectors of queries: few of their pairs are left out by a mask, and all of the scores are in the L1
   cache. */
static void choose_short_tiles(struct compilation *c, int64_t keys, bool shared, int64_t *tile_q, int64_t *tile_k)
{
    enum { SHORTEST = 16, SHARED = 256, SHORT_WINDOW = 512 };
    const int64_t element = dtype_bytes(dtype_of_sums(c->spec->dtype)), vectors = 2 * c->target->vector_bytes / element,
                  bytes = (c->spec->head_dim + 2 * c->spec->value_dim) * element;
    *tile_q = vectors > SHORTEST ? vectors : SHORTEST;
    *tile_k = keys && keys <= SHORT_WINDOW ? 48 : 96;
    /* queries, sums and the compensations of these are in half of the cache for all that share */
    c->block_q = shared ? SHARED : 0;
    while (c->block_q * bytes > c->target->l2_bytes / 2) c->block_q /= 2;
}

void pass_tile(struct compilation *c)
{
    struct roles roles;
    roles_of(c->graph, 0, &roles);
    /* more queries share what is done for every key: what prepares it, or a copy that widens it */
    const bool prepares = prepares_keys(c->graph, &roles), sweeps = sums_across(c->graph, &roles),
               widens = dtype_bytes(c->graph->module->dtype) == 2 && !multiplies_bf16(c),
               in_cache = widens && !prepares && c->target->vector_bytes <= 32; /* a copy is, and worth less queries */
    const int64_t few = few_keys(c->graph, &roles);
    int64_t tile_q = prepares         ? 256
                     : !widens || few ? 64
                     : in_cache       ? 96
                                      : 128,
            element = dtype_bytes(dtype_of_sums(c->spec->dtype));
    /* a query has about three copies in work and its sum; half of the cache is theirs */
    while (tile_q > 64 && (3 * c->spec->head_dim + c->spec->value_dim) * tile_q * element > c->target->l2_bytes / 2)
        tile_q = tile_q == 96 ? 64 : tile_q / 2;
    /* the more, the less often sums leave their registers; but tiles that wait for one another wait for less */
    int64_t tile_k = in_cache ? (sweeps || few ? 96 : 120) : tile_q > 64 || (sweeps && !multiplies_bf16(c)) ? 144 : 288;
    const bool shared = prepares || widens;
    if (makes_rows(c) && (shared || (few && !multiplies_bf16(c))) && meet_same_keys(c->graph, &roles))
        choose_short_tiles(c, few, shared, &tile_q, &tile_k);
    for (int a = 0; a < c->graph->module->axes;
         a++) { /* a chunk's own keys are few, and fewer of them lie after a short tile's queries */
        const struct axis *axis = &c->graph->module->axis[a];
        if (!axis_is_chunks(axis)) continue;
        const bool short_ones = meets_stored_keys(c->graph, &roles) && !multiplies_states(c);
        tile_q = axis->extent < 64 ? (axis->extent + 15) / 16 * 16 : short_ones ? 32 : 64;
        tile_k = axis->extent < 96 ? axis->extent : 64;
    }
    if (multiplies_tiles(c)) {
        tile_q = makes_gradients(c) ? MATRIX_SWEEP : MATRIX_QUERIES;
        tile_k = makes_gradients(c) ? MATRIX_SWEEP : MATRIX_KEYS;
    }
    for (int v = 0; v < c->graph->values;
         v++) { /* a tile over several blocks would meet what was drawn for each of them */
        const struct expr *region = c->graph->value[v].where;
        int64_t block = region ? drawn_block(c->graph->module, region) : 0;
        if (block > 0 && (block < tile_q || (multiplies_tiles(c) && !makes_gradients(c) && block <= 256)) &&
            block % 16 == 0)
            tile_q = block;
        if (region && expr_reads_ids(region) && tile_k > 144) tile_k = 144; /* tiles that share no id are left out */
    }
    if (c->few) { /* keys are read where they lie: a tile has weights alone */
        tile_q = MAX_FEW_ROWS;
        tile_k = 128;
    }
    c->tile_q = c->short_tile ? FEW_TOKENS : schedule_knob(c, "tile_q", tile_q);
    c->tile_k = schedule_knob(c, "tile_k", tile_k);
}

/* Tiles that are tried beside the default ones, those of the other form included. */
const char *knob_tile_q(const struct knob_case *x, struct tune_knob *knob)
{
    if (x->backward) knob->says = "rows of a tile: queries, or keys where sums are over queries";
    knob_set_values(knob, x->form->tile_q, 5, (const int64_t[]){16, 32, 64, 128, 256});
    if (x->quadratic) knob_add_value(knob, x->quadratic->tile_q);
    if (x->linear) knob_add_value(knob, x->linear->tile_q);
    return NULL;
}

const char *knob_tile_k(const struct knob_case *x, struct tune_knob *knob)
{
    if (x->backward) knob->says = "what a tile's sums are over: keys, or queries";
    knob_set_values(knob, x->form->tile_k, 6, (const int64_t[]){32, 64, 96, 144, 288, 432});
    if (x->quadratic) knob_add_value(knob, x->quadratic->tile_k);
    if (x->linear) knob_add_value(knob, x->linear->tile_k);
    return NULL;
}
