/* Chooses the sizes of tiles. Queries, keys, scores and sums of a tile share the L2 cache.
   - tile_q, tile_k: the queries and keys of a tile
   - block_q: the queries of a block, whose tiles share the work on keys */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

/* Whether the program computes values of keys only. */
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

/* Whether an output sums over the lanes, such as dv[j]. */
static bool sums_across(const struct graph *g, const struct roles *roles)
{
    for (int o = 0; o < g->outputs; o++)
        if (!value_has_axis(&g->value[g->output[o].value], roles->lane)) return true;
    return false;
}

/* Returns the number of keys of every query, or 0 if this number is unknown or at least FEW_KEYS. With few keys,
   masked pairs of long tiles matter. */
static int64_t few_keys(const struct graph *g, const struct roles *roles)
{
    enum { FEW_KEYS = 2048 };
    if (roles->lane < 0 || roles->stream < 0) return 0;
    const struct expr *first = expr_lo(g->module, roles->lane), *end = expr_hi(g->module, roles->lane);
    for (int v = 0; v < g->values; v++) {
        const struct expr *region = g->value[v].where;
        if (!region) continue;
        struct ranges of_tile;
        int64_t all = 0, keys = 0;
        region_ranges(g->module, region, roles->stream, false, &of_tile);
        for (int k = 0; k < of_tile.count; k++) { /* count the keys of a tile of one query */
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

/* Whether all products over pairs read keys from an input. */
static bool multiplies_stored_keys(const struct graph *g, const struct roles *roles)
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

/* Returns the length, in queries, of the smallest block for which condition e draws keys. 0: e draws none. */
static int64_t drawn_block(struct module *m, const struct expr *e)
{
    int64_t block = 0, found;
    const struct expr *x;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = w.e->op == EXPR_DRAWN;
        if (w.skip && floor_quotient(m, w.e->arg[0], &x, &found) && (!block || found < block)) block = found;
    }
    return block;
}

/* Whether an integer in e depends on the query and the key. */
static bool reads_pairs(const struct expr *e, const struct roles *roles)
{
    const uint32_t pair = AXIS(roles->lane) | AXIS(roles->stream);
    bool reads = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) reads |= w.e->op == EXPR_ID && (expr_axes(w.e) & pair) == pair;
    return reads;
}

static uint32_t sequences(const struct roles *roles)
{
    return (roles->lane < 0 ? 0 : AXIS(roles->lane)) | (roles->stream < 0 ? 0 : AXIS(roles->stream));
}

/* Whether all tiles of queries can process the same keys: no region has drawn keys, ids or periods. */
static bool see_same_keys(const struct graph *g, const struct roles *roles)
{
    for (int v = 0; v < g->values; v++) {
        const struct expr *region = g->value[v].where;
        if (region && (expr_has(region, EXPR_DRAWN) || expr_ids_along(region, sequences(roles)) ||
                       region_repeats(g->module, region, roles->lane, roles->stream)))
            return false;
    }
    return true;
}

/* Chooses tiles of two vectors of queries, with few masked pairs. `keys`: the number of keys of each query if it is
   small, otherwise 0. `shared`: tiles share work on keys. */
static void choose_short_tiles(struct compilation *c, int64_t keys, bool shared, int64_t *tile_q, int64_t *tile_k)
{
    enum { SHORTEST = 16, SHARED = 256, SHORT_WINDOW = 512 };
    const int64_t element = dtype_bytes(dtype_of_sums(c->spec->dtype)), vectors = 2 * c->target->vector_bytes / element,
                  bytes = (c->spec->head_dim + 2 * c->spec->value_dim) * element;
    *tile_q = vectors > SHORTEST ? vectors : SHORTEST;
    *tile_k = keys && keys <= SHORT_WINDOW ? 48 : 96;
    /* the queries and sums of a block fit in half of the L2 cache */
    c->tiling.block_q = shared ? SHARED : 0;
    while (c->tiling.block_q * bytes > c->target->l2_bytes / 2) c->tiling.block_q /= 2;
}

/* Limits a tile to max_length, rounded up to `step`. */
static void bound_tiles(struct compilation *c)
{
    enum { STEP = 16, STEP_OF_MATRIX_UNITS = 32 };
    const int64_t step = multiplies_bf16(c) ? STEP_OF_MATRIX_UNITS : STEP,
                  max = (c->spec->max_length + step - 1) / step * step;
    if (!max) return;
    if (c->tiling.tile_q > max && !c->program.few) c->tiling.tile_q = max;
    if (c->tiling.tile_k > max) c->tiling.tile_k = max;
    if (c->tiling.block_q > max)
        c->tiling.block_q = max > c->tiling.tile_q ? max / c->tiling.tile_q * c->tiling.tile_q : 0;
}

/* Whether an input is widened before it is used. */
static bool widens_inputs(const struct graph *g)
{
    bool any = dtype_is_narrow(g->module->dtype);
    for (int v = 0; v < g->values; v++) any |= g->value[v].op == GRAPH_INPUT && dtype_is_narrow(g->value[v].stored);
    return any;
}

void pass_tile(struct compilation *c)
{
    struct roles roles;
    roles_of(c->graph, 0, &roles);
    /* longer tiles of queries share more work on keys */
    const bool prepares = prepares_keys(c->graph, &roles), sweeps = sums_across(c->graph, &roles),
               widens = widens_inputs(c->graph) && !multiplies_bf16(c),
               /* widened keys stay in the cache, so widening pays for fewer queries, too */
        in_cache = widens && !prepares && c->target->vector_bytes <= 32;
    const int64_t few = few_keys(c->graph, &roles);
    int64_t tile_q = prepares         ? 256
                     : !widens || few ? 64
                     : in_cache       ? 96
                                      : 128,
            element = dtype_bytes(dtype_of_sums(c->spec->dtype));
    /* a query needs about three vectors of head_dim and one of value_dim, in half of the L2 cache */
    while (tile_q > 64 && (3 * c->spec->head_dim + c->spec->value_dim) * tile_q * element > c->target->l2_bytes / 2)
        tile_q = tile_q == 96 ? 64 : tile_q / 2;
    /* With more keys, sums are stored less often. If threads add in turn to sums over the lanes, shorter tiles wait
       less. */
    int64_t tile_k = in_cache ? (sweeps || few ? 96 : 120) : tile_q > 64 || (sweeps && !multiplies_bf16(c)) ? 144 : 288;
    const bool shared = prepares || widens;
    if (!c->program.linear && !c->program.few && program_sums_rows(&c->program) &&
        (shared || (few && !multiplies_bf16(c))) && see_same_keys(c->graph, &roles))
        choose_short_tiles(c, few, shared, &tile_q, &tile_k);
    /* In a linear form, a tile of keys is at most a chunk. A short tile of queries has fewer masked pairs. */
    for (int a = 0; a < c->graph->module->axes; a++) {
        const struct axis *axis = &c->graph->module->axis[a];
        if (!axis_is_chunks(axis)) continue;
        const bool short_ones = multiplies_stored_keys(c->graph, &roles) && !multiplies_states(c);
        tile_q = axis->extent < 64 ? (axis->extent + 15) / 16 * 16 : short_ones ? 32 : 64;
        tile_k = axis->extent < 96 ? axis->extent : 64;
        if (graph_find_solve(c->graph) >= 0 ||
            c->graph->by_chunks) { /* a tile of keys is a chunk, and its keys can also be in the lanes */
            c->tiling.tile_q = (axis->extent + 15) / 16 * 16;
            c->tiling.tile_k = axis->extent;
            return;
        }
    }
    const bool solves = graph_find_solve(c->graph) >= 0;
    if (solves) {
        tile_q = 64;
        tile_k = 144;
    }
    if (multiplies_tiles(c) && !solves) {
        const struct matrix_unit *tiles = &c->target->matrix;
        tile_q = program_has_weight_gradients(&c->program) ? tiles->sweep : tiles->queries;
        tile_k = program_has_weight_gradients(&c->program) ? tiles->sweep : tiles->keys;
    }
    /* a tile of queries must be within one block, because each block draws its own keys */
    for (int v = 0; v < c->graph->values; v++) {
        const struct expr *region = c->graph->value[v].where;
        int64_t block = region ? drawn_block(c->graph->module, region) : 0;
        if (block > 0 &&
            (block < tile_q ||
             (multiplies_tiles(c) && !solves && !program_has_weight_gradients(&c->program) && block <= 256)) &&
            block % 16 == 0)
            tile_q = block;
        /* Tiles of keys that share no id with the queries are skipped. Short tiles are skipped more often. */
        if (region && roles.stream >= 0 && expr_ids_along(region, sequences(&roles)) && tile_k > 144) tile_k = 144;
        /* blocks of given masks are often powers of two, so a tile of keys must not be longer */
        if (region && roles.lane >= 0 && roles.stream >= 0 && reads_pairs(region, &roles) && tile_k > 128) tile_k = 128;
        /* a tile of keys is one block, because blocks that are not listed are skipped */
        if (block >= 32 && block % 16 == 0 && block < tile_k && expr_lists_along(region, roles.stream)) tile_k = block;
        /* a tile gathers keys, so its length is free */
        for (struct exprs w = {.of = region}; c->program.by_heads && region && exprs_next(&w);)
            if (w.e->op == EXPR_DRAWN && w.e->draw->name) tile_k = 128;
    }
    /* With a SOLVE, a tile of equations is not longer than a tile of keys. */
    if (solves && tile_q > tile_k) tile_q = tile_k / 16 * 16;
    /* With few queries, a tile has only weights, because keys are not copied. */
    if (c->program.few) {
        tile_q = MAX_FEW_ROWS;
        tile_k = 128;
    }
    if (c->program.by_heads && tile_q > 32) tile_q = 32; /* a query has several tiles, so that threads can share it */
    c->tiling.tile_q = program_has_short_tiles(&c->program) ? FEW_TOKENS : schedule_knob(c, "tile_q", tile_q);
    c->tiling.tile_k = schedule_knob(c, "tile_k", tile_k);
    bound_tiles(c);
}

static const char whole_chunks[] = "with 'delta', a tile is a chunk";

/* The sizes that `attnc tune` tries, with the defaults of both forms. */
const char *knob_tile_q(const struct knob_case *x, struct tune_knob *knob)
{
    if (graph_find_solve(x->form->graph) >= 0) return whole_chunks;
    if (x->backward) knob->says = "rows in a tile: queries, or keys where a gradient sums over queries";
    knob_set_values(knob, x->form->tiling.tile_q, 5, (const int64_t[]){16, 32, 64, 128, 256});
    if (x->quadratic) knob_add_value(knob, x->quadratic->tiling.tile_q);
    if (x->linear) knob_add_value(knob, x->linear->tiling.tile_q);
    return NULL;
}

const char *knob_tile_k(const struct knob_case *x, struct tune_knob *knob)
{
    if (graph_find_solve(x->form->graph) >= 0) return whole_chunks;
    if (x->backward) knob->says = "positions that a tile sums over: keys, or queries where the rows are keys";
    knob_set_values(knob, x->form->tiling.tile_k, 6, (const int64_t[]){32, 64, 96, 144, 288, 432});
    if (x->quadratic) knob_add_value(knob, x->quadratic->tiling.tile_k);
    if (x->linear) knob_add_value(knob, x->linear->tiling.tile_k);
    return NULL;
}
