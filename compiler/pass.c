/* The pass driver: the pipeline is data (pipeline.def); every result is verified. */
#include "compiler.h"

#include <string.h>

const struct pass passes[] = {
#define PASS(name, level, says) {#name, says, PASS_##level, pass_##name},
#include "pipeline.def"
#undef PASS
};
const int pass_count = (int)(sizeof passes / sizeof *passes);

bool passes_run(struct compilation *c, pass_hook *hook, void *user)
{
    for (int k = 0; k < pass_count; k++) {
        int errors = diagnostics_errors(c->diagnostics);
        passes[k].run(c);
        if (diagnostics_errors(c->diagnostics) > errors) return false;
        const char *wrong = passes[k].level == PASS_GRAPH ? graph_verify(c->graph) : loops_verify(c->loops);
        if (wrong) {
            diagnostics_error(c->diagnostics, (struct position){0, 0}, "internal error after pass '%s': %s", passes[k].name, wrong);
            return false;
        }
        if (hook && !hook(c, &passes[k], user)) return false;
    }
    return true;
}

int64_t schedule_knob(const struct compilation *c, const char *name, int64_t otherwise)
{
    for (int k = 0; c->schedule && k < c->schedule->knobs; k++)
        if (strcmp(c->schedule->knob[k].name, name) == 0) return c->schedule->knob[k].value;
    return otherwise;
}
