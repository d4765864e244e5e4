/* Reports what is wrong or suspect in a spec, as its graph shows. */
#include "unit.h"
#include "../emit/emit.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <string.h>

/* Reports arrays of the spec that have the name of another parameter in C, such as features_w and features.w, or class_
   and class. */
static void check_members(const struct unit *p, struct diagnostics *d)
{
    for (int k = 0; k < p->spec->arrays.count; k++) {
        const struct user_array *const own = &p->spec->arrays.array[k];
        for (int n = 0; n < p->kernel.arrays->count; n++) {
            const struct kernel_array *const a = &p->kernel.arrays->array[n];
            if (a->place == PLACE_PARAMS && strcmp(a->member, own->name) == 0 && strcmp(a->name, own->name) != 0)
                diagnostics_error(d, own->at, "'arrays': '%s' is the parameter '%s' in C; choose another name",
                                  own->name, a->name);
        }
    }
}

/* Reports prefix sums of a user's graph that no kernel computes. It computes those of one value, up to each query and
   up to each key. */
static void check_prefix_sums(const struct graph *g, struct diagnostics *d)
{
    struct prefix_sum sum;
    int terms = -1, count[2] = {0, 0};
    bool same = true;
    for (int v = 0; v < g->values; v++) {
        if (!prefix_sum_of(g, v, &sum)) continue;
        same &= terms < 0 || sum.terms == terms;
        terms = sum.terms;
        count[sum.of_query]++;
    }
    if (terms < 0 || (same && count[0] == 1 && count[1] == 1)) return;
    diagnostics_error(d, NO_POSITION,
                      "sums up to a position are compiled only as one sum up to each query and one up to each key, "
                      "of the same value");
}

struct shared {
    const struct expression *decay;
    struct diagnostics *d;
};

/* Reports arrays that both the decay and another expression read. Their gradients would have two parts. */
static void check_shared(void *user, const struct expression *e)
{
    const struct shared *const x = user;
    if (e == x->decay) return;
    for (int k = 0; k < x->decay->elements; k++)
        for (int n = 0; n < e->elements; n++) {
            const struct user_array *const a = x->decay->element[k].array;
            if (e->element[n].array != a || !array_is_real(a)) continue;
            diagnostics_error(x->d, e->at,
                              "the gradient of '%s', which '%s' and 'decay' read, is not compiled yet; pass the array "
                              "twice, under two names",
                              a->name, e->key);
            return;
        }
}

/* Reports a decay that the mask or the outputs do not allow. */
static void check_decay(const struct unit *p, struct diagnostics *d)
{
    const struct spec *const spec = p->spec;
    if (!spec->decay) return;
    if (looks_ahead(p->graph)) {
        const bool masked = !mask_is_none(spec->mask);
        diagnostics_error(d, masked ? spec->mask->at : spec->decay->at,
                          "%s a query may see keys after its own position, and 'decay' has no value for these",
                          masked ? "under this mask" : "without a mask");
        diagnostics_note(d, NO_POSITION,
                         "'mask: causal', or 'all: [causal, …]' around a mask, hides the keys after a query");
    }
    struct shared shared = {spec->decay, d};
    if (spec->emit & EMIT_BACKWARD) spec_expressions(spec, check_shared, &shared);
}

void unit_check(const struct unit *p, struct diagnostics *d)
{
    check_members(p, d);
    if (p->spec->graph) check_prefix_sums(p->graph, d);
    check_decay(p, d);
}

bool unit_allows(const struct unit *p, const struct options *o, int64_t length)
{
    const int64_t most = p->spec->max_length;
    if (!most || length <= most) return true;
    return complain(o, "%s: max_length is %lld, so a length of %lld is too large; give other lengths", p->spec->name,
                    (long long)most, (long long)length);
}

void unit_warn(const struct unit *p, const struct options *o)
{
    if (o->console.quiet) return;
    struct diagnostics *d = diagnostics_new(p->arena, p->file, p->text, p->text_length);
    spec_warn(p->spec, false, d);
    for (int k = 0; k < p->spec->arrays.count; k++) {
        const struct user_array *const a = &p->spec->arrays.array[k];
        if (graph_find(p->graph, a->name) < 0)
            diagnostics_warning(d, a->at, "no expression reads the array '%s', so the kernel does not take it",
                                a->name);
    }
    const struct expression *const output = p->spec->output;
    for (int k = 0; output && k < p->spec->sums; k++) {
        int n = 0;
        while (n < output->elements && strcmp(output->element[n].array->name, p->spec->sum[k]->name) != 0) n++;
        if (n == output->elements)
            diagnostics_warning(d, output->at, "'output' does not read the sum '%s', so the kernel does not compute it",
                                p->spec->sum[k]->name);
    }
    overflow_warn(p->spec, p->graph, p->kernel.compilation, p->kernel.compilations, d);
    bool gradients = false;
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_BACKWARD], &v);)
        gradients |= v->c->gradients.overflows;
    if (gradients) {
        diagnostics_warning(d, p->spec->similarity.at,
                            "gradients of the linear form overflow if the exponent of a factor of the weight is large");
        diagnostics_note(d, p->spec->similarity.at,
                         "bound the exponent, or compute gradients of such weights with 'algorithm: quadratic'");
    }
    diagnostics_flush(d, stderr, o->console.color);
}
