/* Outer sums: the sums over the tokens before and after those of a call, which other calls for the same sequence make
   (attn_problem.earlier_sums). A part of backward with carried states begins with them instead of zeros. */
#include "printer.h"
#include "task.h"

#include <string.h>

enum { LINE = 64 };

/* Returns whether the loops carry states from token to token. */
static bool carries(const struct compilation *c)
{
    return program_is_backward(&c->program) && c->loops && emit_in_phases(c->loops);
}

static bool sums_queries(const struct module *m, const struct stmt *s)
{
    for (; s; s = s->next)
        if (s->op == LOOPS_FOR && (m->axis[s->axis].source == SIZE_N_Q || sums_queries(m, s->body))) return true;
    return false;
}

bool emit_sums_queries(const struct loops *l)
{
    return sums_queries(l->module, window_in(chain_of(l->body).body)->body->body);
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
    bool ends = keep->op != EXPR_POW || expr_has(keep->arg[1], EXPR_OPERAND);
    for (int k = 0; k < expr_arity(keep->op) && keep->op != EXPR_POW; k++)
        ends &= keep->arg[k]->type != TYPE_REAL || ends_with_tokens(keep->arg[k]);
    return ends && (keep->op != EXPR_REAL || expr_is_real(keep, 1));
}

/* Returns the number of tokens that an outer sum must begin with a multiple of, or 0 if the part cannot have outer
   sums. */
static int64_t chunk_of(const struct compilation *c)
{
    const struct graph *const g = c->graph;
    const struct module *const m = c->loops->module;
    int64_t chunk = 1;
    bool keeps = false;
    if (c->separated.reach || c->separated.early_chunks || !has_tasks_of_heads(c->loops)) return 0;
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op == GRAPH_INPUT && g->value[v].sums) return 0; /* another part would have to run first */
        keeps |= g->value[v].keep && !ends_with_tokens(g->value[v].keep);
    }
    for (int a = 0; a < m->axes && keeps; a++)
        if (axis_is_chunks(&m->axis[a]) && m->axis[a].extent > chunk) chunk = m->axis[a].extent;
    return chunk;
}

int64_t emit_outer_chunk(const struct version *backward, int backwards, int64_t period)
{
    int64_t chunk = 0;
    for (int k = 0; k < backwards; k++) {
        const struct compilation *const c = backward[k].c;
        if (!c || !carries(c)) continue;
        int64_t own = chunk_of(c);
        if (!own) return 0;
        if (own % period) own *= period;
        if (chunk && own % chunk) own = chunk % own ? own * chunk : chunk;
        chunk = own;
    }
    return chunk;
}

bool emit_outer_adds(const struct version *backward, int backwards)
{
    bool adds = true;
    for (int k = 0; k < backwards; k++) {
        const struct compilation *const c = backward[k].c;
        for (int v = 0; c && carries(c) && v < c->graph->values; v++)
            adds &= !c->graph->value[v].keep && c->graph->value[v].online < 0;
    }
    return adds;
}

bool emit_carries_outer(const struct emission *p, const struct compilation *c)
{
    return p->outer_chunk > 0 && carries(c);
}

/* Marks the arrays of the carried states: those that the loops between the first loop over a window's chunks and the
   second one assign. Later loops of a window fold sums of slices, which are no states. */
static void mark_states(const struct loops *l, const struct stmt *s, bool *state)
{
    for (; s; s = s->next) {
        mark_states(l, s->body, state);
        for (int k = 0; k < s->assigns; k++) {
            const struct assign *const a = &s->assign[k];
            state[a->to.of] |= l->array[a->to.of].shared;
            if (a->compensation) state[a->compensation - 1] |= l->array[a->compensation - 1].shared;
        }
    }
}

static bool *states_of(const struct loops *l)
{
    bool *const state = arena_alloc(l->module->arena, (size_t)l->arrays * sizeof *state);
    const struct stmt *const window = window_in(chain_of(l->body).body);
    for (const struct stmt *s = window->body->next; s && s->axis != window->axis; s = s->next)
        mark_states(l, s->body, state);
    return state;
}

static int64_t bytes_of(const struct array *a)
{
    return (array_elements(a) * dtype_bytes(a->dtype) + LINE - 1) / LINE * LINE;
}

int64_t emit_outer_bytes(const struct loops *l)
{
    const bool *const state = states_of(l);
    int64_t bytes = 0;
    for (int a = 0; a < l->arrays; a++)
        if (state[a]) bytes += bytes_of(&l->array[a]);
    return bytes;
}

void emit_outer_copies(const struct emitter *x, bool takes, const char *piece, struct text *out)
{
    const struct loops *const l = x->l;
    const bool *const state = states_of(l);
    struct template_names t = {.arena = x->m->arena};
    const char *copies = "";
    int64_t at = 0;
    for (int a = 0; a < l->arrays; a++) {
        if (!state[a]) continue;
        const long long own = (long long)l->array[a].offset, bytes = (long long)bytes_of(&l->array[a]);
        copies = arena_printf(x->m->arena,
                              takes ? "%s%s            memcpy(part->shared + %lld, outer + %lld, %lld);"
                                    : "%s%s            memcpy(outer + %lld, part->shared + %lld, %lld);",
                              copies, *copies ? "\n" : "", takes ? own : (long long)at, takes ? (long long)at : own,
                              bytes);
        at += bytes;
    }
    template_set(&t, "COPIES", copies);
    template_set_number(&t, "OUTER_BYTES", at);
    task_piece(&t, piece, out);
}
