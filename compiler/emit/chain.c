/* Finds the parallel loops around the statements of a task, and their properties. */
#include "task.h"

struct chain chain_of(const struct stmt *s)
{
    struct chain chain = {0, {NULL}, s};
    for (bool only = true; only && s && s->op == LOOPS_FOR && s->parallel && chain.loops < MAX_RANK; s = s->body) {
        chain.loop[chain.loops++] = s;
        chain.body = s->body;
        only = s->body && !s->body->next;
    }
    return chain;
}

const char *chain_iterations(struct emitter *x, const struct chain *chain)
{
    const char *count = NULL;
    for (int k = 0; k < chain->loops; k++) {
        const char *size = emit_size(x->m, chain->loop[k]->axis);
        long long step = (long long)chain->loop[k]->step;
        if (step > 1) size = emit_format(x, "((%s + %lld) / %lld)", size, step - 1, step);
        count = count ? emit_format(x, "%s * %s", count, size) : size;
    }
    return count;
}

const struct stmt *window_in(const struct stmt *s)
{
    while (s && !(s->op == LOOPS_FOR && s->window)) s = s->next;
    return s;
}

bool emit_in_phases(const struct loops *l)
{
    return window_in(chain_of(l->body).body) != NULL;
}

int64_t emit_tasks_apart(const struct loops *l)
{
    struct chain heads = chain_of(l->body);
    int64_t apart = 1;
    for (int k = 0; k < heads.loops; k++) apart *= stmt_stride(heads.loop[k]);
    return apart;
}

/* Returns the loop over tiles among the loops over tasks, or NULL. */
static const struct stmt *loop_over_tiles(const struct loops *l)
{
    const struct chain heads = chain_of(l->body);
    for (int k = 0; k < heads.loops; k++)
        if (heads.loop[k]->step > 1) return heads.loop[k];
    return NULL;
}

int64_t emit_tasks_of(const struct loops *l)
{
    const struct stmt *const tiles = loop_over_tiles(l);
    return tiles ? tiles->step : emit_tasks_over(l, SIZE_MEMBERS) ? -1 : 0;
}

bool emit_tasks_of_keys(const struct loops *l)
{
    const struct stmt *const tiles = loop_over_tiles(l);
    return tiles && l->module->axis[tiles->axis].source == SIZE_N_K;
}

/* Returns whether an array has a partial sum for each slice of rows. */
static bool has_units(const struct loops *l)
{
    for (int a = 0; a < l->arrays; a++)
        if (axes_have(l->module, l->array[a].rank, l->array[a].axes, SIZE_UNITS)) return true;
    return false;
}

bool emit_tasks_over(const struct loops *l, enum size_source source)
{
    struct chain heads = chain_of(l->body);
    for (int k = 0; k < heads.loops; k++)
        if (l->module->axis[heads.loop[k]->axis].source == source) return true;
    return false;
}

/* Returns whether tasks have the heads that entry points assume. The gradient with respect to an array [B, G, Nq]
   has tiles of key/value heads instead. */
static bool has_assumed_heads(const struct loops *l)
{
    const bool of_queries = emit_tasks_of(l) > 0 && !emit_tasks_of_keys(l);
    return emit_tasks_over(l, SIZE_KV_HEADS) && (!of_queries || emit_tasks_over(l, SIZE_MEMBERS));
}

int64_t emit_units_of(const struct loops *l, bool backward)
{
    struct chain heads = chain_of(l->body);
    const bool assumed = backward ? has_assumed_heads(l) : emit_tasks_over(l, SIZE_KV_HEADS);
    int64_t units = 1;
    for (int k = 0; k < heads.loops; k++) {
        const struct axis *axis = &l->module->axis[heads.loop[k]->axis];
        if (axis->source == SIZE_BATCH && !has_units(l) && assumed) return 0;
        if (axis->source == SIZE_UNITS) units = axis->extent;
    }
    return emit_in_phases(l) ? 0 : units;
}

bool emit_in_order(const struct loops *l)
{
    struct chain heads = chain_of(l->body);
    return heads.loops && heads.loop[heads.loops - 1]->ordered;
}

bool emit_in_order_for_keys(const struct loops *l)
{
    const struct chain heads = chain_of(l->body);
    return emit_in_order(l) && l->module->axis[heads.loop[heads.loops - 1]->axis].source == SIZE_N_Q;
}

/* The knob `together` selects the heads that all threads compute together (struct program of a kernel). */
const char *knob_together(const struct knob_case *x, struct tune_knob *knob)
{
    if (!(x->linear && emit_in_phases(x->linear->loops)) && !(x->quadratic && emit_in_phases(x->quadratic->loops)))
        return "it has no form in which threads share a head";
    return knob_set_values(knob, 1, 2, (const int64_t[]){0, 2});
}
