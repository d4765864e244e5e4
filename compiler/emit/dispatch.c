/* Questions about the compilations of a file, and the preprocessor conditions of targets. */
#include "emit.h"
#include "printer.h"
#include "../target/target.h"

#include <string.h>

bool emit_by_length(const struct version *v, int versions)
{
    for (int k = 0; k < versions; k++)
        if (v[k].from > 0) return true;
    return false;
}

bool emit_any(const struct compilation *const *c, int compilations, bool (*ask)(const struct loops *l))
{
    for (int k = 0; k < compilations; k++)
        if (ask(c[k]->loops)) return true;
    return false;
}

bool emit_any_positions(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (graph_has(c[k]->graph, EXPR_START)) return true;
    return false;
}

bool emit_any_slower(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (*c[k]->target->faster) return true;
    return false;
}

int emit_same_target(const struct compilation *const *c, int compilations)
{
    int count = 1;
    while (count < compilations && c[count]->target == c[0]->target) count++;
    return count;
}

bool emit_certain_target(const struct target *t)
{
    return !*t->guard && !*t->supported;
}

const char *emit_guard(const struct compilation *const *c, int k)
{
    const char *guard = c[k]->target->guard;
    /* ATTN_EMULATE_TILES replaces only the instructions of matrix units. */
    if (*guard && target_has(c[k]->target, TARGET_MATRIX_UNITS))
        return arena_printf(c[k]->graph->module->arena, "%s || defined(ATTN_EMULATE_TILES)", guard);
    bool emulated = false;
    unsigned excluded = 1U << ANY_ARCHITECTURE | 1U << c[k]->target->architecture;
    for (int n = 0; n < k; n++) {
        const struct target *better = c[n]->target;
        if (target_has(better, TARGET_MATRIX_UNITS) && target_has(c[k]->target, TARGET_BF16_PRODUCTS) && !emulated) {
            guard = arena_printf(c[k]->graph->module->arena, "%s%s!defined(ATTN_EMULATE_TILES)", guard,
                                 *guard ? " && " : "");
            emulated = true;
        }
        if (better == c[k]->target || *better->supported || excluded >> better->architecture & 1) continue;
        guard = arena_printf(c[k]->graph->module->arena, "%s%s!%s", guard, *guard ? " && " : "", better->guard);
        excluded |= 1U << better->architecture;
    }
    return guard;
}
