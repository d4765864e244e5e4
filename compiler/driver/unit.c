/* Makes a unit from a spec: checks, compiles for every target, and emits C. */
#include "driver.h"
#include "unit.h"
#include "../emit/emit.h"
#include "../expression/expression.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

/* Returns the target to load on this machine, or NULL for all targets. */
static const struct target *target_to_load(const struct unit *p, const struct options *o)
{
    return o->named_targets ? NULL : unit_target_here(p);
}

struct unit *unit_make(const char *file, const struct options *o, enum status *status)
{
    struct text source = {0};
    *status = read_spec_file(file, o, &source);
    struct unit *const p = *status == STATUS_DONE ? unit_of_text(file, source.data, source.length, o, status) : NULL;
    text_free(&source);
    return p;
}

struct unit *unit_of_text(const char *file, const char *text, size_t length, const struct options *o,
                          enum status *status)
{
    *status = STATUS_DONE;
    struct arena *arena = arena_new();
    struct diagnostics *d = diagnostics_new(arena, file, text, length);
    struct unit *const p = unit_read(arena, file, text, length, o, d);
    if (p->graph) unit_check(p, d);
    if (p->graph && diagnostics_errors(d) == 0) share_positions(p, d);
    bool good = p->graph != NULL && diagnostics_errors(d) == 0 &&
                (!(p->spec->emit & EMIT_DECODE) || unit_can_decode(p, p->asked & EMIT_DECODE, d));
    const struct target *target[MAX_VERSIONS];
    int targets = 0;
    for (int t = 0; p->spec && t < o->targets; t++)
        targets += target_versions(arena, o->target[t], p->spec->dtype, target + targets);
    if (o->only_here && !o->named_targets) targets = targets_to_load(target, targets, target_runs);
    struct diagnostics *of_schedule = d;
    if (good && o->tuned && !o->schedule) good = tuned_schedule(p, file, o, &of_schedule, status);
    good = good && versions_make(p, target, targets, o, d, of_schedule);
    if (good) share_sums(p);
    if (!good && p->asked & EMIT_BACKWARD && diagnostics_errors(d))
        diagnostics_note(d, NO_POSITION, "--backward asks for gradients, as 'emit: [forward, backward]' does");
    if (!good && p->asked & EMIT_DECODE && diagnostics_errors(d))
        diagnostics_note(d, NO_POSITION, "%s asks for a state, as 'emit: [forward, decode]' does",
                         o->decode ? "--decode" : "--chunks");
    if (diagnostics_flush(d, stderr, o->console.color) > 0) good = false;
    if (of_schedule != d && diagnostics_flush(of_schedule, stderr, o->console.color) > 0) good = false;
    if (!good) {
        if (*status == STATUS_DONE) *status = expression_library_missing() ? STATUS_MACHINE : STATUS_INPUT;
        unit_free(p);
        return NULL;
    }
    p->kernel.standalone = o->standalone;
    p->kernel.first = o->first;
    p->command = unit_reproducing(p, o);
    if (!o->emit) return p;
    if (!o->only_here || !target_to_load(p, o)) emit_source(&p->kernel, NULL, p->command, &p->source);
    emit_header(&p->kernel, p->command, &p->header);
    return p;
}

void unit_emit_here(const struct unit *p, const struct options *o, const char *command, struct text *source,
                    struct text *header)
{
    emit_source(&p->kernel, target_to_load(p, o), command, source);
    emit_header(&p->kernel, command, header);
}

const char *unit_source_here(struct unit *p, const struct options *o)
{
    const struct target *here = target_to_load(p, o);
    if (!here) return p->source.data;
    if (!p->source_here.data)
        emit_source(&p->kernel, here, arena_printf(p->arena, "%s --target %s", p->command, here->name),
                    &p->source_here);
    return p->source_here.data;
}

void unit_free(struct unit *p)
{
    if (!p) return;
    text_free(&p->source_here);
    text_free(&p->source);
    text_free(&p->header);
    arena_free(p->arena);
}

bool unit_drawn_range(const void *unit, const char *param, double *low, double *high)
{
    const struct unit *const p = unit;
    struct expr_range range;
    if (!drawn_range(p->spec, param, &range)) return false;
    *low = range.low;
    *high = range.high;
    return true;
}
