/* Outer sums: the sums over the tokens before and after those of a call, which other calls for the same sequence make
   (attn_problem.earlier_sums). A part of backward with carried states begins with them instead of zeros.
   - Loops in phases have states that all threads share. With 'delta', a thread can carry the states of a head
     (struct array, carried).
   - A call that only adds to outer sums runs the parts that carry them. With 'delta', states of a part can read an
     array that another part computes, which then runs, too. A part computes no other outputs: for the statements of a
     part, the final states are one more output.
   - If a part in phases computes no outputs, it runs no phase after the fold.
   - If queries see all keys (emission.sums_whole), forward has outer sums, too, and the sums are those over all tokens:
     a call that does not add to them skips its own tokens. */
#include "printer.h"
#include "task.h"
#include "../analysis/analysis.h"

#include <string.h>

/* Returns whether a thread carries states of a head from chunk to chunk. */
static bool carries_alone(const struct compilation *c)
{
    bool any = false;
    for (int a = 0; c->spec->rate && a < c->loops->arrays; a++)
        any |= c->loops->array[a].carried && !c->loops->array[a].shared;
    return any;
}

/* Returns whether the loops carry states from token to token. */
static bool carries(const struct compilation *c)
{
    return program_is_backward(&c->program) && c->loops && (emit_in_phases(c->loops) || carries_alone(c));
}

bool emit_reads_whole(const struct loops *l)
{
    const struct stmt *const window = window_in(chain_of(l->body).body);
    bool whole = window != NULL;
    for (const struct stmt *s = whole ? window->body->next : NULL; s; s = s->next) whole &= s->axis != window->axis;
    return whole;
}

/* Returns whether forward carries sums over keys. */
static bool carries_keys(const struct compilation *c)
{
    return program_is_forward(&c->program) && c->program.linear && c->loops && emit_in_phases(c->loops) &&
           !emit_sums_queries(c->loops);
}

bool emit_sums_queries(const struct loops *l)
{
    struct stmts w = {.list = window_in(chain_of(l->body).body)->body->body};
    for (const struct stmt *s; (s = stmts_next(&w));)
        if (s->op == LOOPS_FOR && l->module->axis[s->axis].source == SIZE_N_Q) return true;
    return false;
}

bool emit_sums_later(const struct compilation *c)
{
    int direction = 0;
    for (int o = 0; o < c->graph->outputs && !direction; o++) direction = chunk_direction(c->graph, o);
    return direction < 0 || (!direction && emit_reads_whole(c->loops) && emit_sums_queries(c->loops));
}

/* Returns whether tasks are heads of sequences, in the order of their numbers. */
static bool has_tasks_of_heads(const struct loops *l)
{
    static const enum size_source expected[] = {SIZE_BATCH, SIZE_KV_HEADS, SIZE_MEMBERS};
    const struct chain heads = chain_of(l->body);
    int known = 0;
    for (int k = 0; k < heads.loops; k++) {
        const struct axis *const axis = &l->module->axis[heads.loop[k]->axis];
        if (axis->source == SIZE_UNITS && axis->extent == 1) continue;
        if (known == 3 || axis->source != expected[known] || heads.loop[k]->step != 1) return false;
        known++;
    }
    return known >= 2;
}

/* Whether the factor of a state reads prefix sums, which end with the last token. Other decays scale a state to the
   border of a chunk, even if the sequence ends within the chunk. */
static bool ends_with_tokens(const struct expr *keep)
{
    bool ends = true;
    for (struct exprs w = {.of = keep}; exprs_next(&w);) {
        w.skip = w.e->op == EXPR_POW || w.e->type != TYPE_REAL;
        if (w.e->op == EXPR_POW) ends &= expr_has(w.e->arg[1], EXPR_OPERAND);
        if (w.e->op == EXPR_REAL) ends &= expr_is_real(w.e, 1) || expr_is_real(w.e, 0);
    }
    return ends;
}

/* Whether the factor of a state reads an array, but no prefix sums. The gradient of such a decay needs the positions of
   all tokens, and a call with outer sums counts its own tokens from 0. */
static bool reads_base(const struct expr *keep)
{
    bool reads = false;
    for (struct exprs w = {.of = keep}; exprs_next(&w);) {
        w.skip = w.e->op == EXPR_POW;
        reads |= w.skip && expr_has(w.e->arg[0], EXPR_OPERAND);
    }
    return reads;
}

/* Whether the mask may hide earlier chunks from a query. Keys that all queries see do not. */
static bool hides_chunks(const struct compilation *c)
{
    return c->separated.early_chunks && mask_open_keys(c->spec->mask) == 0;
}

/* The arrays that one part of backward leaves for another one, and that a call needs if it only adds to outer sums:
   carried states read them, or other such arrays are computed from them. */
struct needed {
    const struct versions *backward;
    const struct target *target;
    bool later; /* the call adds to sums of later tokens, not of earlier ones */
    int count;
    const char **name;
};

static bool is_needed(const struct needed *x, const char *name)
{
    bool found = false;
    for (int k = 0; k < x->count; k++) found |= strcmp(x->name[k], name) == 0;
    return found;
}

/* Returns whether a call that adds has sums of part c. */
static bool adds_to(const struct needed *x, const struct compilation *c)
{
    return carries(c) && emit_sums_later(c) == x->later;
}

/* Adds the arrays that part c reads. Returns whether there are new ones. */
static bool add_read(struct needed *x, const struct compilation *c)
{
    const struct graph *const g = c->graph;
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed), any = false;
    const bool adds = adds_to(x, c);
    for (int v = 0; v < g->values && adds; v++) {
        bool state = g->value[v].op == GRAPH_SOLVE;
        for (int k = 0; k < g->value[v].rank; k++) state |= axis_is_chunks(&g->module->axis[g->value[v].axes[k]]);
        if (state) graph_mark(g, v, needed);
    }
    for (int o = 0; o < g->outputs; o++)
        if (is_needed(x, g->output[o].name)) graph_mark(g, g->output[o].value, needed);
    for (int v = 0; v < g->values; v++) {
        if (!needed[v] || g->value[v].op != GRAPH_INPUT || is_needed(x, g->value[v].name)) continue;
        x->name[x->count++] = g->value[v].name;
        any = true;
    }
    return any;
}

/* Returns whether c is a part of the target that runs only if a gradient is wanted. */
static bool is_part(const struct needed *x, const struct compilation *c)
{
    return c && c->target == x->target && program_outputs_gradients(&c->program);
}

static struct needed *arrays_needed(const struct versions *backward, const struct compilation *of, bool later)
{
    struct needed *const x = arena_alloc(of->graph->module->arena, sizeof *x);
    *x = (struct needed){.backward = backward, .target = of->target, .later = later};
    size_t inputs = 0;
    for (const struct version *b = NULL; versions_next(backward, &b);)
        for (int v = 0; is_part(x, b->c) && v < b->c->graph->values; v++)
            inputs += b->c->graph->value[v].op == GRAPH_INPUT;
    x->name = arena_alloc(of->graph->module->arena, inputs * sizeof *x->name);
    for (bool more = true; more;) {
        more = false;
        for (const struct version *b = NULL; versions_next(backward, &b);)
            if (is_part(x, b->c)) more |= add_read(x, b->c);
    }
    return x;
}

static bool leaves_needed(const struct needed *x, const struct compilation *c)
{
    bool leaves = false;
    for (int o = 0; o < c->graph->outputs && is_part(x, c); o++) leaves |= is_needed(x, c->graph->output[o].name);
    return leaves;
}

/* Returns whether a call that adds to sums of earlier tokens needs no sums of later ones. */
static bool has_arrays(const struct versions *backward, const struct compilation *of)
{
    const struct needed *const x = arrays_needed(backward, of, false);
    bool has = true;
    for (const struct version *b = NULL; versions_next(backward, &b);)
        if (is_part(x, b->c) && carries(b->c) && emit_sums_later(b->c)) has &= !leaves_needed(x, b->c);
    return has;
}

/* Returns the number of tokens that an outer sum must begin with a multiple of, or 0 if the part cannot have outer
   sums. */
static int64_t chunk_of(const struct compilation *c, const struct versions *backward)
{
    const struct graph *const g = c->graph;
    const struct module *const m = c->loops->module;
    int64_t chunk = 1;
    bool keeps = false;
    if (c->separated.reach || hides_chunks(c) || !has_tasks_of_heads(c->loops)) return 0;
    if (!has_arrays(backward, c)) return 0;
    for (int v = 0; v < g->values; v++) {
        if (reads_base(g->value[v].keep)) return 0;
        keeps |= !ends_with_tokens(g->value[v].keep);
    }
    for (int a = 0; a < m->axes && keeps; a++)
        if (axis_is_chunks(&m->axis[a]) && m->axis[a].extent > chunk) chunk = m->axis[a].extent;
    return chunk;
}

int64_t emit_outer_chunk(const struct versions *backward, int64_t period)
{
    int64_t chunk = 0;
    for (const struct version *b = NULL; versions_next(backward, &b);) {
        if (!carries(b->c)) continue;
        int64_t own = chunk_of(b->c, backward);
        if (!own) return 0;
        if (own % period) own *= period;
        if (chunk && own % chunk) own = chunk % own ? own * chunk : chunk;
        chunk = own;
    }
    return chunk;
}

/* Returns whether each target's version for any number of keys carries sums over keys: over all keys before queries
   read them, or over earlier keys. */
static bool sums_keys(const struct versions *forward, bool whole)
{
    bool all = forward->count > 0;
    for (const struct version *v = NULL; versions_next(forward, &v);) {
        const struct compilation *const c = v->c;
        if (versions_find(forward, v->target, INT64_MAX) != v) continue;
        all &= carries_keys(c) && has_tasks_of_heads(c->loops) && emit_reads_whole(c->loops) == whole &&
               !c->separated.reach && !hides_chunks(c);
        for (int n = 0; n < c->graph->values; n++) all &= !c->graph->value[n].keep;
    }
    return all;
}

/* Returns whether no part of backward for any number of keys reads a sum over some of the keys or queries. */
static bool parts_sum_all(const struct versions *backward)
{
    bool all = true;
    for (const struct version *b = NULL; versions_next(backward, &b);) {
        bool last = true;
        for (int n = 0; n < backward->count; n++)
            last &= backward->version[n].target != b->target || backward->version[n].from <= b->from;
        if (last) all &= b->c->program.linear && (!emit_in_phases(b->c->loops) || emit_reads_whole(b->c->loops));
    }
    return all;
}

static bool begins_anywhere(const struct versions *backward)
{
    return !backward->count || emit_outer_chunk(backward, 1) == 1;
}

bool emit_sums_whole(const struct emission *p)
{
    const struct versions *const backward = &p->of[STEP_BACKWARD];
    return sums_keys(&p->of[STEP_FORWARD], true) && parts_sum_all(backward) && begins_anywhere(backward);
}

bool emit_sums_earlier(const struct emission *p)
{
    return sums_keys(&p->of[STEP_FORWARD], false) && begins_anywhere(&p->of[STEP_BACKWARD]);
}

static bool adds_only(const struct compilation *c)
{
    bool adds = true;
    for (int v = 0; v < c->graph->values; v++)
        adds &= !c->graph->value[v].keep && c->graph->value[v].online < 0 && c->graph->value[v].op != GRAPH_SOLVE;
    return adds;
}

bool emit_outer_adds(const struct emission *p)
{
    bool adds = true;
    for (const struct version *v = NULL; versions_next(&p->of[STEP_BACKWARD], &v);)
        if (carries(v->c)) adds &= adds_only(v->c);
    for (const struct version *v = NULL; p->sums_keys && versions_next(&p->of[STEP_FORWARD], &v);)
        if (carries_keys(v->c)) adds &= adds_only(v->c);
    return adds;
}

bool emit_carries_outer(const struct emission *p, const struct compilation *c)
{
    return p->outer_chunk > 0 && (carries(c) || (p->sums_keys && carries_keys(c)));
}

int64_t emit_outer_array_bytes(const struct array *a)
{
    enum { LINE = 64 };
    return (array_elements(a) * dtype_bytes(a->dtype) + LINE - 1) / LINE * LINE;
}

int64_t emit_outer_bytes(const struct loops *l)
{
    int64_t bytes = 0;
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].carried && l->array[a].offset >= 0) bytes += emit_outer_array_bytes(&l->array[a]);
    return bytes;
}

int64_t emit_key_sums_bytes(const struct compilation *c)
{
    return carries_keys(c) && emit_reads_whole(c->loops) ? emit_outer_bytes(c->loops) : 0;
}

const char *emit_outer_modes(const struct emission *p, const struct compilation *c)
{
    const char *modes = "";
    for (int later = 0; later < 2 && p->outer_chunk; later++) {
        const struct needed *const x = arrays_needed(&p->of[STEP_BACKWARD], c, later);
        if (!adds_to(x, c) && !leaves_needed(x, c)) continue;
        const char *const mode = later ? "OUTER_LATER" : "OUTER_EARLIER";
        modes = arena_printf(c->graph->module->arena, "%s%s1 << %s", modes, *modes ? " | " : "", mode);
    }
    return modes;
}

bool emit_outer_results(const struct emission *p, const struct compilation *c)
{
    return leaves_needed(arrays_needed(&p->of[STEP_BACKWARD], c, emit_sums_later(c)), c);
}

const char *emit_outer_leaves(struct emitter *x, const struct array *a)
{
    const struct emission *const p = x->emission;
    bool leaves[2];
    if (!program_is_backward(&x->c->program) || !p->outer_chunk) return "";
    if (!x->outer_modes) x->outer_modes = emit_outer_modes(p, x->c);
    if (!*x->outer_modes) return "";
    for (int later = 0; later < 2; later++) {
        if (!x->needed[later]) x->needed[later] = arrays_needed(&p->of[STEP_BACKWARD], x->c, later);
        leaves[later] = is_needed(x->needed[later], a->name);
    }
    return leaves[0] && leaves[1] ? ""
           : leaves[0]            ? " && call->adds != OUTER_LATER"
           : leaves[1]            ? " && call->adds != OUTER_EARLIER"
                                  : " && !call->adds";
}

bool emit_outer_state(const struct emitter *x, int array)
{
    return x->outer && x->l->array[array].carried && x->l->array[array].offset >= 0;
}
