/* Turns the graph into loops.
   - Every run-time axis of the output becomes a loop. The last one, the queries, has tiles with a query per lane.
     The other loops take one index at a time.
   - The keys, which are summed over, become an inner loop over tiles.
   - A value becomes a tile and a statement. The statement is before the loop over keys if the value does not depend
     on keys, inside the loop if the value varies along keys, and after the loop if the value needs sums over keys.
   States, sums over keys that do not depend on queries, are summed in chunks of keys:
   - A window is a number of consecutive chunks, counted from key 0.
   - Threads sum the chunks of a window in parallel, each into its slot.
   - Slots are folded (added) in order into the carried tile. One thread folds each element.
   - If queries read the state before their chunk, the fold puts it into the slot. Then queries run in parallel.
   - So the bits do not depend on threads or on the window. */
#include "lower.h"
#include "../pass.h"
#include "../../analysis/analysis.h"
#include "../../schedule/schedule.h"

#include <string.h>

/* ---- the whole graph ---- */

static bool has_outer(const struct lowering *x, const struct value *v)
{
    return (value_axes(v) & x->outer) != 0;
}

/* Finds the roles of the axes. Returns false after an error. */
static bool find_axes(struct lowering *x)
{
    struct roles roles;
    const char *wrong = roles_of(x->g, 0, &roles);
    if (wrong) diagnostics_error(x->c->diagnostics, NO_POSITION, "%s", wrong);
    x->output = x->g->output[0].value;
    for (int o = x->g->outputs - 1; o >= 0; o--) /* prefer the first output that is no sum over slices */
        if (!wrong && !roles_of(x->g, o, &roles) && roles.slices < 0) x->output = x->g->output[o].value;
    roles_of(x->g, 0, &roles);
    for (int o = 1; o < x->g->outputs && roles.stream < 0; o++) roles_of(x->g, o, &roles); /* see join_groups */
    x->lane = roles.lane;
    x->stream = roles.stream;
    x->chunk = roles.chunk;
    x->outer = roles.outer;
    x->rows = axes_first(axes_with_size(x->m, SIZE_ROWS));
    x->outer_only = roles.outer_only;
    x->slices = roles.slices;
    for (int o = 0; o < x->g->outputs && !wrong; o++) {
        roles_of(x->g, o, &roles);
        if (x->chunk < 0) x->chunk = roles.chunk; /* outputs without states run in the loops of those with states */
        if (roles.slices < 0) continue;
        x->slices = roles.slices;
        x->within = roles.rows & ~value_axes(&x->g->value[x->g->output[o].value]);
    }
    x->prefix = x->chunk >= 0;
    int along, rows;
    if (wrong || x->g->value[x->output].op != GRAPH_SOLVE) return !wrong;
    graph_solve_axes(x->m, &x->g->value[x->output], &along, &rows);
    x->stream = along;
    x->lane = rows;
    /* Features without a decay do not have the axis of chunks, so all axes are searched. */
    for (int a = 0; a < x->m->axes; a++)
        if (axis_is_chunks(&x->m->axis[a])) x->chunk = a;
    return true;
}

/* Returns the position p in the number of a chunk, which is max(p, 0) / length or max(p, 0). */
static const struct expr *position_in(const struct expr *number)
{
    return (number->op == EXPR_DIV ? number->arg[0] : number)->arg[0];
}

/* Sets x->after if v is a state of later chunks. */
static void find_direction(struct lowering *x, const struct value *v)
{
    const struct expr *where = v->where;
    if (!x->prefix || !value_has_axis(v, x->chunk) || !where) return;
    if (where->op == EXPR_AND) where = where->arg[1];
    if (where->op != EXPR_LT || where->arg[0] != expr_index(x->m, x->chunk)) return;
    x->after = true;
    x->stream_last = expr_of_sequence(x->m, position_in(where->arg[1]));
}

/* Returns the reason why a weight that depends on a sum over all keys is refused. */
static const char *two_sweeps(const struct lowering *x, bool scans)
{
    return arena_printf(
        x->m->arena, "a weight that depends on a sum over all keys is not compiled yet%s",
        scans ? "; the gradient of 'running' is one in this spec, so leave 'backward' out of 'emit'"
        : x->solve >= 0 && x->c->spec->emit & EMIT_JVP
            ? "; with exponentials, the tangent of a rate from an array is one with 'delta: {normalize: sum}'"
            : "");
}

/* Sets the stage of each value. Returns false after an error if one loop over keys is not enough. */
static bool classify(struct lowering *x)
{
    const struct graph *g = x->g;
    int along, rows = -1; /* rows: the axis of the equations of a SOLVE */
    if (x->solve >= 0) graph_solve_axes(x->m, &g->value[x->solve], &along, &rows);
    /* the weights that lower_substitution divides */
    const int quotient = x->solve >= 0 && x->output == x->solve && lower_divides_weights(x, x->solve)
                             ? g->value[x->solve].operand[SOLVE_WEIGHTS].of
                             : -1;
    /* the weights of the keys of a chunk. All are computed before the first is divided (lower_solve) */
    const int of_chunk = x->solve >= 0 && x->output != x->solve ? g->value[x->solve].operand[SOLVE_WEIGHTS].of : -1;
    const bool scans = graph_find_scan(g) >= 0; /* then loops over queries output pairs */
    int *users = arena_alloc(x->m->arena, (size_t)g->values * sizeof *users);
    for (int v = 0; v < g->values; v++) {
        const int online = g->value[v].online;
        if (online >= 0) x->lowered[online].running = true;
        if (online >= 0) x->lowered[online].power = g->value[v].power;
        for (int k = 0; k < g->value[v].operands; k++) users[g->value[v].operand[k].of]++;
    }
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        struct lowered_value *own = &x->lowered[v];
        find_direction(x, value);
        if (lower_sums_across(x, value)) {
            own->stage = ACROSS;
            continue;
        }
        bool sums = value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE,
             streams = value_has_axis(value, x->stream) || has_outer(x, value);
        if (sums && x->lane >= 0 && !lower_has_slices(x, value) &&
            ((value_operand_axes(value) & ~value_axes(value)) >> x->lane & 1))
            return diagnostics_error(x->c->diagnostics, NO_POSITION, "a sum over the lanes is not compiled yet");
        own->stage = streams ? INSIDE : BEFORE;
        if (scans && graph_is_output(g, v) && lower_of_pairs(x, value)) own->stage = AGAIN;
        for (int k = 0; k < value->operands && x->outer_only; k++) {
            const struct lowered_value *used = &x->lowered[value->operand[k].of];
            own->over_outer |= sums && !has_outer(x, value) && has_outer(x, &g->value[value->operand[k].of]);
            own->closed |= used->over_outer || used->closed;
        }
        if (sums && !streams && !value_has_axis(value, x->lane) && !value_has_axis(value, rows) &&
            lower_has_stream(x, value)) {
            own->stage = STATE;
            continue;
        }
        for (int k = 0; k < value->operands; k++) {
            int u = value->operand[k].of;
            struct lowered_value *used = &x->lowered[u];
            const bool again = value->op != GRAPH_SOLVE && v != quotient &&
                               (used->stage == AGAIN || (used->stage == AFTER && streams && !used->running));
            if (again && v == of_chunk)
                own->stage = AFTER;
            else if (again && streams && !x->outer_only && x->output != x->solve &&
                     value_has_axis(&g->value[x->output], x->stream))
                own->stage = AGAIN;
            else if (again) {
                return diagnostics_error(x->c->diagnostics, NO_POSITION, "%s", two_sweeps(x, scans));
            }
            /* u is an array that is read along another axis than the stream */
            const bool elsewhere = g->value[u].operands == 0 && !ref_uses_axis(&value->operand[k], x->stream) &&
                                   !(ref_axes(&value->operand[k]) & x->outer);
            if (!streams && (used->stage == AFTER || (used->stage == INSIDE && !elsewhere))) own->stage = AFTER;
            used->inlined |= value->op == GRAPH_REDUCE &&
                             (!value->where || lower_has_slices(x, value) || lower_decayed_elements(x, value) >= 0) &&
                             g->value[u].op == GRAPH_MAP && users[u] == 1;
            if ((used->stage != STATE && !lower_is_merged(x, u)) || !x->prefix) continue;
            for (int s = 0; s < g->value[u].rank; s++)
                if (g->value[u].axes[s] == x->chunk && ref_axis(&value->operand[k], s) < 0) {
                    x->chunk_of = value->operand[k].sub[s];
                    x->last = expr_of_sequence(x->m, position_in(x->chunk_of));
                }
        }
    }
    return true;
}

/* Returns the axis of elements of a value that has elements for each pair, such as a decay of each element, or -1. */
static int elements_of_pairs(const struct graph *g)
{
    for (int v = 0; v < g->values; v++) {
        int sequences = 0, elements = -1;
        for (int k = 0; k < g->value[v].rank; k++) {
            const struct axis *const axis = &g->module->axis[g->value[v].axes[k]];
            sequences += axis_is_sequence(axis);
            if (axis_is_whole(axis)) elements = g->value[v].axes[k];
        }
        if (sequences > 1 && elements >= 0) return elements;
    }
    return -1;
}

/* Whether value v has an element for each element of an array of the caller, as a scaled row has. */
static bool is_elementwise(const struct graph *g, int v)
{
    const struct value *const value = &g->value[v];
    bool all = value->op == GRAPH_INPUT || value->op == GRAPH_PARAM || value->op == GRAPH_MAP;
    for (int k = 0; k < value->operands && all; k++) {
        const struct ref *const r = &value->operand[k];
        const int elements = value->rank ? value->axes[value->rank - 1] : -1;
        if (elements < 0 || !ref_uses_axis(r, elements)) continue;
        all = ref_axis(r, r->rank - 1) == elements && is_elementwise(g, r->of);
    }
    return all;
}

/* Whether a map reads rows at other elements than its own, as a rotation does. With elements in the lanes, such a row
   cannot be read in whole vectors. */
static bool reads_other_elements(const struct graph *g)
{
    bool reads = false;
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        const int last = value->rank && value->op == GRAPH_MAP ? value->axes[value->rank - 1] : -1;
        for (int k = 0; k < value->operands && last >= 0 && axis_is_whole(&g->module->axis[last]); k++) {
            const struct ref *const r = &value->operand[k];
            reads |= r->rank && ref_axis(r, r->rank - 1) < 0 && g->value[r->of].op != GRAPH_PARAM &&
                     expr_axes(r->sub[r->rank - 1]) >> last & 1;
        }
    }
    return reads;
}

/* Whether forward of a graph with a SOLVE runs in loops by chunks. Their products have elements in the lanes and rows
   as they are stored, so features that are computed in other ways would have to be transposed. Sums over elements of
   pairs read rows in whole vectors (emit/decayed.c). */
static bool forward_by_chunks(const struct lowering *x)
{
    const struct value *const solve = &x->g->value[x->solve];
    const int elements = elements_of_pairs(x->g);
    return program_is_forward(&x->c->program) && !multiplies_states(x->c) &&
           (elements < 0 || (lower_fills_vectors(x, &x->m->axis[elements]) && x->chunk >= 0 &&
                             x->m->axis[x->chunk].extent <= MAX_CHUNK_OF_ELEMENTS && !reads_other_elements(x->g))) &&
           solve->operands > SOLVE_FEATURES && is_elementwise(x->g, solve->operand[SOLVE_FEATURES].of);
}

/* Puts elements into the lanes of all tiles if the graph computes rows of terms for prefix sums. The rows are maps of
   arrays that have elements last, so nothing has to be transposed. */
static void terms_by_elements(struct lowering *x)
{
    const struct value *const terms = &x->g->value[x->output];
    const int last = terms->rank ? terms->axes[terms->rank - 1] : -1;
    if (!program_computes_terms(&x->c->program) || last < 0 || lower_run_time(x, last) ||
        !lower_fills_vectors(x, &x->m->axis[last]))
        return;
    int *const axes = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *axes);
    for (int v = 0; v < x->g->values; v++) axes[v] = value_has_axis(&x->g->value[v], last) ? last : x->lane;
    x->last_axis = axes;
}

/* Whether v, with elements, is a row of an array of the caller, perhaps scaled, or a sum over keys. */
static bool fits_elements(const struct lowering *x, int v)
{
    const struct value *const value = &x->g->value[v];
    const int last = value->rank ? value->axes[value->rank - 1] : -1;
    if (last < 0 || lower_run_time(x, last) || x->lowered[v].stage == STATE || value->op == GRAPH_REDUCE) return true;
    if (value->op != GRAPH_CONTRACT) return is_elementwise(x->g, v) || x->lowered[v].stage == AFTER;
    bool sums_keys = false;
    for (int k = 0; k < value->operands; k++)
        sums_keys |= x->lowered[value->operand[k].of].stage == STATE || ref_uses_axis(&value->operand[k], x->stream);
    return sums_keys;
}

/* Whether the sum v over pairs has keys of other chunks than the query's. */
static bool reads_other_chunks(const struct lowering *x, int v)
{
    const struct value *const value = &x->g->value[v];
    const struct expr *const where = value->where;
    if (!where || x->lowered[v].stage == STATE) return false;
    const struct expr *const length = expr_int(x->m, x->m->axis[x->chunk].extent),
                             *const first = expr_mul(x->m, x->chunk_of, length),
                             *const in_chunk = expr_le(x->m, first, expr_index(x->m, x->stream));
    return where->op != EXPR_AND || (where->arg[0] != in_chunk && where->arg[1] != in_chunk);
}

/* Puts elements into the lanes of all tiles of a linear form, if its decay has elements for each pair (emit/decayed.c).
   Rows are read as they are stored, so nothing has to be transposed. */
static void states_by_elements(struct lowering *x)
{
    const int elements = elements_of_pairs(x->g);
    if (!program_is_forward(&x->c->program) || !x->prefix || x->rows >= 0 || x->slices >= 0 || x->lane < 0 ||
        x->outer || elements < 0 || !lower_fills_vectors(x, &x->m->axis[elements]) || lower_has_padding(x) ||
        !x->last || x->m->axis[x->chunk].extent > MAX_CHUNK_OF_ELEMENTS ||
        x->c->tiling.tile_k != x->m->axis[x->chunk].extent || x->m->dtype != dtype_of_sums(x->m->dtype))
        return;
    for (int v = 0; v < x->g->values; v++)
        if (!fits_elements(x, v) || reads_other_chunks(x, v)) return;
    int *const axes = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *axes);
    for (int v = 0; v < x->g->values; v++) {
        const struct value *const value = &x->g->value[v];
        axes[v] = value_has_axis(value, x->stream) ? x->stream : value_has_axis(value, x->lane) ? x->lane : -1;
        for (int k = 0; k < value->rank; k++)
            if (!lower_run_time(x, value->axes[k])) axes[v] = value->axes[k];
    }
    x->last_axis = axes;
    x->by_elements = x->whole_chunk = true;
}

/* Whether the values of a SOLVE need a carried state, such as that of keys whose values it does not correct. */
static bool values_need_state(const struct graph *g, int solve)
{
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed), found = false;
    graph_mark(g, g->value[solve].operand[SOLVE_VALUES].of, needed);
    for (int v = 0; v < g->values; v++)
        found |= needed[v] && g->value[v].op == GRAPH_CONTRACT &&
                 (value_axes(&g->value[v]) & axes_of_chunks(g->module));
    return found;
}

/* Appends the loops for a graph whose outputs share loops. */
static void lower_outputs(struct compilation *c, const struct graph *g, struct stmt **at)
{
    struct arena *arena = g->module->arena;
    struct lowering lowering = {.c = c,
                                .g = g,
                                .m = g->module,
                                .l = c->loops,
                                .lane = -1,
                                .stream = -1,
                                .chunk = -1,
                                .solve = graph_find_solve(g),
                                .rows = -1,
                                .slices = -1},
                    *x = &lowering;
    x->lowered = arena_alloc(arena, (size_t)g->values * sizeof *x->lowered);
    if (!find_axes(x)) return;
    const bool substitutes = x->output == x->solve && g->value[x->solve].operands <= SOLVE_FEATURES;
    if (substitutes) lower_find_maximum(x);
    const bool forward = x->solve >= 0 && !g->by_chunks && forward_by_chunks(x),
               by_chunks = (g->by_chunks || forward) &&
                           (g->outputs > 1 || x->output != x->solve || values_need_state(g, x->solve));
    x->by_elements = by_chunks && forward && elements_of_pairs(g) >= 0;
    if (!by_chunks && !classify(x)) return;
    terms_by_elements(x);
    if (!by_chunks && x->solve < 0) states_by_elements(x);
    bool states = false;
    for (int v = 0; v < x->g->values; v++) {
        states |= x->lowered[v].stage == STATE;
        enum graph_op op = x->g->value[v].op;
        if (op == GRAPH_INPUT) lower_array(x, v, ARRAY_INPUT);
        if (op == GRAPH_PARAM) lower_array(x, v, ARRAY_PARAM);
        if (op == GRAPH_TABLE) lower_array(x, v, ARRAY_TABLE);
    }
    if (substitutes) {
        lower_substitution(x, at);
        return;
    }
    if (by_chunks) {
        lower_by_chunks(x, at);
        return;
    }
    if (x->solve >= 0) {
        if (x->output == x->solve)
            lower_solution(x, at);
        else
            lower_solve(x, at);
        return;
    }
    if (x->prefix && !x->last) {
        diagnostics_error(c->diagnostics, NO_POSITION, "a sum over heads with separate states is not compiled yet");
        return;
    }
    if (states) {
        if (!x->prefix)
            x->chunk = module_axis(
                x->m, module_find_axis(x->m, "chunk") < 0 ? "chunk" : arena_printf(arena, "chunk%d", x->m->axes),
                x->m->axis[x->stream].source == SIZE_N_Q ? SIZE_QUERY_CHUNKS : SIZE_CHUNKS,
                (x->rows >= 0 ? FEW_TILES : KEYS_AT_A_TIME) * c->tiling.tile_k);
        lower_states(x, at);
        return;
    }
    bool open[MAX_AXES] = {false};
    if (x->stream >= 0) open[x->stream] = value_has_axis(&g->value[x->output], x->stream);
    if (x->slices >= 0)
        lower_slice_loops(x, &at, lower_query_body(x));
    else
        lower_query_loops(x, &at, open, true, lower_query_body(x));
}

/* Puts an output that depends on no key, such as statistics of constant weights, into the group of an output that
   does, and an output without a state into that of an output with one. Reason: the loops of an output with a state are
   the only loops over queries in the kernel. The solution that forward saves is computed for `out`, the first output.
 */
static void join_groups(const struct compilation *c, const struct graph *g, int *group)
{
    for (int o = 1; o < g->outputs && c->program.saves_solution; o++)
        if (strcmp(g->output[o].name, SAVED_SOLUTION) == 0) group[o] = group[0];
    for (int o = 0; o < g->outputs; o++) {
        struct roles own, other;
        if (roles_of(g, o, &own) || own.chunk >= 0 || own.outer || own.slices >= 0) continue;
        for (int p = 0; p < g->outputs; p++)
            if (!roles_of(g, p, &other) && other.lane == own.lane && other.rows == own.rows &&
                (own.stream < 0 ? other.stream >= 0 : own.stream == other.stream && other.chunk >= 0))
                group[o] = group[p];
    }
}

/* A SOLVE reads its weights and rates from tiles, and a SELECT its values. Makes maps of those that are arrays of the
   caller, such as rates without a formula. */
static void copy_arrays_to_tiles(struct graph *g)
{
    static const int from_tiles[] = {SOLVE_WEIGHTS, SOLVE_RATE};
    for (int v = 0; v < g->values; v++) {
        const int reads = g->value[v].op == GRAPH_SOLVE ? 2 : g->value[v].op == GRAPH_SELECT;
        for (int k = 0; k < reads; k++) {
            const int number = reads == 1 ? 0 : from_tiles[k];
            const struct ref read = g->value[v].operand[number];
            const enum graph_op op = g->value[read.of].op;
            if (op != GRAPH_INPUT && op != GRAPH_PARAM && op != GRAPH_TABLE) continue;
            struct value map = graph_value(GRAPH_MAP, 0, NULL);
            map.operands = 1;
            map.operand[0] = read;
            map.expr = expr_operand(g->module, 0);
            for (int sequences = 0; sequences < 2; sequences++)
                for (int a = 0; a < g->module->axes; a++)
                    if (ref_uses_axis(&read, a) && axis_is_sequence(&g->module->axis[a]) == sequences)
                        map.axes[map.rank++] = a;
            graph_insert(g, v, map);
            g->value[v + 1].operand[number] = graph_ref(g, v, NULL);
            v++;
        }
    }
}

/* A SCAN replaces its terms in their tile. Makes maps of terms that other values read too. */
static void own_terms(struct graph *g)
{
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_SCAN) continue;
        const struct ref terms = g->value[v].operand[0];
        if (g->value[terms.of].op == GRAPH_MAP && graph_uses(g, terms.of) == 1 && graph_is_plain(g, &terms)) continue;
        struct value map = graph_value(GRAPH_MAP, g->value[v].rank, g->value[v].axes);
        map.operands = 1;
        map.operand[0] = terms;
        map.expr = expr_operand(g->module, 0);
        graph_insert(g, v++, map);
        g->value[v].operand[0] = graph_ref(g, v - 1, NULL);
    }
}

/* Outputs of one group share loops (output_groups). Each group recomputes values that several groups need. */
void pass_lower(struct compilation *c)
{
    const struct graph *all = c->graph;
    int group[MAX_OUTPUTS];
    const int groups = output_groups(all, group);
    if (!program_outputs_gradients(&c->program)) join_groups(c, all, group);
    c->loops = loops_new(all->module);
    for (int n = 1; n <= groups; n++) {
        struct graph *g = graph_copy(all);
        g->outputs = 0;
        for (int o = 0; o < all->outputs; o++)
            if (group[o] == n) g->output[g->outputs++] = all->output[o];
        if (g->outputs == 0) continue;
        if (g->outputs < all->outputs) graph_sweep(g);
        copy_arrays_to_tiles(g);
        own_terms(g);
        lower_split_quotient(g);
        struct stmt **end = &c->loops->body;
        while (*end) end = &(*end)->next;
        lower_outputs(c, g, end);
    }
}
