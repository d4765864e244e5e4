/* Reads a spec and the options that override its keys, and builds its graph. */
#include "unit.h"
#include "../emit/emit.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"

#include <string.h>

struct unit *unit_read(struct arena *arena, const char *file, const char *text, size_t length, const struct options *o,
                       struct diagnostics *d)
{
    struct unit *const p = arena_alloc(arena, sizeof *p);
    const unsigned wanted = (o->backward ? EMIT_BACKWARD : 0U) | (o->chunks || o->decode ? EMIT_DECODE : 0U);
    *p = (struct unit){.arena = arena, .file = arena_copy(arena, file), .text_length = length};
    p->text = memcpy(arena_alloc(arena, length + 1), text, length);
    const struct spec *spec = source_read(arena, file, text, length, o->sets, o->set, d);
    if (!spec) return p;
    if (o->no_remainders) spec_warn(spec, true, d);
    if (o->schedule)
        spec = spec_with_schedule(arena, spec, o->schedule, o->schedule->knobs > 0 || o->schedule->backward);
    p->asked = wanted & ~spec->emit;
    if (p->asked && spec->emit & EMIT_JVP)
        diagnostics_error(d, spec->emit_at, "'jvp' stands alone: a kernel of tangents has no gradients and no state");
    if (p->asked & EMIT_BACKWARD && spec_has_storage(spec))
        diagnostics_error(d, spec->storage_at, "'storage' rounds keys and values, which have no gradients then");
    p->spec = p->kernel.spec = spec_with_outputs(arena, spec, p->asked);
    if (o->python) python_check_name(p->spec, d);
    p->read = p->graph = build_graph(arena, p->spec, p->counting, d);
    if (p->graph) p->kernel.arrays = kernel_arrays(p->spec, p->graph);
    return p;
}
