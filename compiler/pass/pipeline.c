/* Runs the passes of pipeline.def, and clean-ups when required. Checks
   - before a pass that the required properties hold,
   - after a pass that the program is valid, and that results of other passes are unchanged. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <string.h>

enum property {
#define PROPERTY(name, result, says) PROPERTY_##name,
#include "pipeline.def"
    PROPERTIES
};
#define IS(name) (1U << PROPERTY_##name)

static const struct property_row {
    const char *name, *result, *says;
    size_t at, bytes; /* offset and size in struct compilation */
} properties[] = {
#define PROPERTY(name, result, says) \
    {#name, #result, says, offsetof(struct compilation, result), sizeof((struct compilation *)0)->result},
#include "pipeline.def"
};

const struct pass passes[] = {
#define PASS(name, level, requires, establishes, invalidates, says) \
    {#name, says, PASS_##level, false, requires, establishes, invalidates, pass_##name},
#define CLEANUP(name, level, requires, establishes, invalidates, says) \
    {#name, says, PASS_##level, true, requires, establishes, invalidates, pass_##name},
#include "pipeline.def"
};
const int pass_count = (int)(sizeof passes / sizeof *passes);

static const unsigned result =
#define RESULT(requires) requires
#include "pipeline.def"
    ;

struct pipeline {
    const struct pass *pass;
    int count;
    struct compilation *c;
    unsigned holds; /* the properties that hold now, as bits */
    pass_hook *hook;
    void *user;
};

static bool internal_error(const struct pipeline *x, const char *format, const char *a, const char *b)
{
    return diagnostics_error(x->c->diagnostics, NO_POSITION, format, a, b);
}

/* Whether the property is about the graph or loops, which any pass may change. */
static bool is_rewritten(const struct property_row *p)
{
    return p->at == offsetof(struct compilation, graph) || p->at == offsetof(struct compilation, loops);
}

/* Returns a result that the pass changed without establishing its property, or NULL. */
static const char *changed(const struct pass *pass, const struct compilation *before, const struct compilation *after)
{
    for (int p = 0; p < PROPERTIES; p++) {
        const struct property_row *const row = &properties[p];
        if (pass->establishes & 1U << p || is_rewritten(row)) continue;
        if (memcmp((const char *)before + row->at, (const char *)after + row->at, row->bytes) != 0) return row->result;
    }
    return NULL;
}

static bool provide(struct pipeline *x, unsigned required, const char *user);

static bool run_pass(struct pipeline *x, const struct pass *pass)
{
    struct compilation *c = x->c;
    if (!provide(x, pass->requires, pass->name)) return false;
    int errors = diagnostics_errors(c->diagnostics);
    struct compilation before;
    memcpy(&before, c, sizeof before);
    pass->run(c);
    x->holds = (x->holds & ~pass->invalidates) | pass->establishes;
    if (diagnostics_errors(c->diagnostics) > errors) return false;
    const char *const others = changed(pass, &before, c);
    if (others)
        return internal_error(x, "internal error: %s changes '%s', a result of other passes", pass->name, others);
    const char *wrong = pass->level == PASS_GRAPH ? graph_verify(c->graph) : loops_verify(c->loops);
    if (wrong) return internal_error(x, "internal error after pass '%s': %s", pass->name, wrong);
    return !x->hook || x->hook(c, pass, x->user);
}

/* Runs clean-ups for missing properties. Reports an error if a property is still missing. `user`: the pass that
   requires the properties. */
static bool provide(struct pipeline *x, unsigned required, const char *user)
{
    for (int k = 0; k < x->count; k++)
        if (x->pass[k].cleanup && (x->pass[k].establishes & required & ~x->holds) && !run_pass(x, &x->pass[k]))
            return false;
    for (int p = 0; p < PROPERTIES; p++)
        if (required & ~x->holds & 1U << p)
            return internal_error(x, "internal error: %s requires that the program is %s", user, properties[p].name);
    return true;
}

bool passes_run_these(const struct pass *pass, int count, struct compilation *c, pass_hook *hook, void *user)
{
    struct pipeline x = {pass, count, c, 0, hook, user};
    for (int k = 0; k < count; k++)
        if (!pass[k].cleanup && !run_pass(&x, &pass[k])) return false;
    return provide(&x, result, "emission");
}

bool passes_run(struct compilation *c, pass_hook *hook, void *user)
{
    return passes_run_these(passes, pass_count, c, hook, user);
}

static void print_properties(const char **label, unsigned some, const char *verb, struct text *out)
{
    if (!some) return;
    text_add(out, "%s%s", *label, verb);
    for (int p = 0; p < PROPERTIES; p++)
        if (some & 1U << p) text_add(out, "%s %s", some & ((1U << p) - 1) ? "," : "", properties[p].name);
    *label = "; ";
}

void passes_print(struct text *out)
{
    static const char *const levels[] = {[PASS_GRAPH] = "graph", [PASS_LOWER] = "graph", [PASS_LOOPS] = "loops"};
    for (int k = 0; k < pass_count; k++) {
        const struct pass *pass = &passes[k];
        const char *label = "                       ";
        text_add(out, "%-15s %-6s %s\n", pass->name, levels[pass->level], pass->says);
        print_properties(&label, pass->requires, "requires", out);
        print_properties(&label, pass->establishes, "establishes", out);
        print_properties(&label, pass->invalidates, "invalidates", out);
        text_add(out, "%s\n", pass->cleanup ? "; runs before a pass that requires this, if it does not hold" : "");
    }
    text_add(out, "\nA program that is\n");
    for (int p = 0; p < PROPERTIES; p++) text_add(out, "  %-16s%s\n", properties[p].name, properties[p].says);
}
