/* What the gradients of a sample should be: the graph's derivative, as the interpreter computes it, which central
   differences of the interpreted program have to bear out. */
#include "check.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"

#include <math.h>
#include <string.h>

/* The program that is given out and dout, and has the gradients; NULL: it cannot be made. */
static const struct graph *derivative(const struct unit *p, struct arena *arena)
{
    static const char *const names[] = {"simplify", "differentiate", "simplify"};
    struct compilation c = {.spec = p->spec,
                            .target = p->compilation[0]->target,
                            .diagnostics = p->compilation[0]->diagnostics,
                            .source = p->graph,
                            .program = PROGRAM_ALONE};
    c.graph = build_graph(arena, p->spec, c.diagnostics);
    for (size_t n = 0; c.graph && n < sizeof names / sizeof *names; n++)
        for (int k = 0; k < pass_count; k++)
            if (strcmp(passes[k].name, names[n]) == 0) passes[k].run(&c);
    return c.graph;
}

struct evaluation {
    const struct unit *p;
    const struct graph *g;
    const struct problem_size *size;
    struct tensor tensor[MAX_TENSORS + 2]; /* those of the sample, out, dout */
    int tensors;
};

/* The gradients for the arrays as they stand. */
static const char *evaluate(struct evaluation *x, double *out)
{
    const char *wrong = graph_eval(x->p->graph, x->size, x->tensor, x->tensors, x->tensor[x->tensors].data);
    return wrong ? wrong : graph_eval(x->g, x->size, x->tensor, x->tensors + 2, out);
}

/* The sum of out * dout with array t moved along a direction, and that of the sizes of its terms. */
static const char *sum_at(const struct evaluation *x, int t, const struct sample *s, const double *direction, double by,
                          double *moved, double *out, double *sum, double *sizes)
{
    struct tensor tensor[MAX_TENSORS];
    memcpy(tensor, x->tensor, (size_t)x->tensors * sizeof *tensor);
    for (int64_t k = 0; k < s->count[t]; k++) moved[k] = tensor[t].data[k] + by * direction[k];
    tensor[t].data = moved;
    const char *wrong = graph_eval(x->p->graph, x->size, tensor, x->tensors, out);
    *sum = *sizes = 0;
    for (int64_t k = 0; k < s->out.elements; k++) {
        const double term = out[k] * x->tensor[x->tensors + 1].data[k];
        *sum += term;
        *sizes += fabs(term);
    }
    return wrong;
}

/* How far the gradient by array t is from the difference along a random direction; near a kink, where two differences
   are not alike, 0. */
static const char *difference(const struct evaluation *x, int t, const struct sample *s, const double *gradient,
                              uint64_t *state, struct arena *arena, double *share)
{
    const int64_t n = s->count[t];
    double *direction = arena_alloc(arena, (size_t)n * sizeof *direction),
           *moved = arena_alloc(arena, (size_t)n * sizeof *moved),
           *out = arena_alloc(arena, (size_t)s->out.elements * sizeof *out), along = 0, sizes = 0, terms = 0, slope[3];
    const char *wrong = NULL;
    for (int64_t k = 0; k < n; k++) {
        direction[k] = check_normal(state);
        along += direction[k] * gradient[k];
        sizes += fabs(direction[k] * gradient[k]);
    }
    for (int k = 0; k < 3 && !wrong; k++) {
        const double by = 1e-3 / (1 << k);
        double after = 0, before = 0;
        wrong = sum_at(x, t, s, direction, by, moved, out, &after, &terms);
        if (!wrong) wrong = sum_at(x, t, s, direction, -by, moved, out, &before, &terms);
        slope[k] = (after - before) / (2 * by);
    }
    if (wrong) return wrong;
    const double first = (4 * slope[1] - slope[0]) / 3, second = (4 * slope[2] - slope[1]) / 3;
    sizes += 1e-4 * terms; /* a difference is no more exact than the sum that it is of */
    if (sizes > 0 && fabs(first - second) <= 1e-6 * sizes) *share = fmax(*share, fabs(along - second) / sizes);
    return NULL;
}

/* The scale of the gradients. */
static const char *scale_of(const struct evaluation *x, const struct sample *s, struct gradients *g,
                            struct arena *arena, double *scale)
{
    struct tensor in[SCALED + MAX_TENSORS]; /* the first of a name counts */
    g->scaled[0] = (struct tensor){"out", arena_alloc(arena, (size_t)s->out.elements * sizeof(double))};
    g->scaled[1] = (struct tensor){"dout", arena_alloc(arena, (size_t)s->out.elements * sizeof(double))};
    for (int64_t k = 0; k < s->out.elements; k++) g->scaled[1].data[k] = fabs(g->dout[k]);
    for (int t = 0; t < s->tensors; t++) {
        if (strcmp(s->tensor[t].name, "v") != 0) continue;
        g->scaled[2] = (struct tensor){"v", arena_alloc(arena, (size_t)s->count[t] * sizeof(double))};
        for (int64_t k = 0; k < s->count[t]; k++) g->scaled[2].data[k] = fabs(s->tensor[t].data[k]);
    }
    memcpy(in, g->scaled, sizeof g->scaled);
    memcpy(in + SCALED, s->tensor, (size_t)s->tensors * sizeof *in);
    return graph_eval(x->g, x->size, in, SCALED + s->tensors, scale);
}

/* 4e-6 of the largest gradient and of the element's scale, and 4 times what moving every input by half an ulp changes;
   in f64 2^-29 of it. What is rounded to 16 bits, out before its product with dout among it, adds a share of both. */
static void set_base(struct gradients *x, const double *scale, enum dtype dtype)
{
    const double rounding = dtype == DTYPE_BF16 ? 0x1p-5 : dtype == DTYPE_F16 ? 0x1p-8 : 0;
    double largest = 0;
    for (int64_t k = 0; k < x->all; k++) largest = fmax(largest, fabs(x->expected[k]));
    for (int64_t k = 0; k < x->all; k++) {
        const double size = largest + fabs(scale[k]);
        x->allowed[k] += (4e-6 + rounding) * size;
        if (dtype == DTYPE_F64) x->allowed[k] = 0x1p-29 * x->allowed[k] + 1e-13 * size;
    }
}

/* A pass may be off by a share of what a row has, and of what its terms would add up to without signs. */
static void set_measures(struct gradients *x, const double *scale, struct arena *arena)
{
    int64_t at = 0;
    for (int a = 0; a < x->outputs; at += x->of[a++].elements) {
        struct wanted *w = &x->of[a];
        if (w->row < 1) continue; /* it is empty */
        double *measure = arena_alloc(arena, (size_t)(w->elements / w->row) * sizeof *measure);
        w->expected = x->expected + at;
        for (int64_t e = 0; e < w->elements; e += w->row)
            measure[e / w->row] = check_largest(w->expected + e, w->row) + check_largest(scale + at + e, w->row);
        w->measure = measure;
    }
}

const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size,
                         bool differences, uint64_t *state, struct arena *arena, struct gradients *out)
{
    const enum dtype dtype = p->spec->dtype;
    struct evaluation *x = arena_alloc(arena, sizeof *x);
    *x = (struct evaluation){.p = p, .g = derivative(p, arena), .size = size, .tensors = s->tensors};
    if (!x->g || x->g->outputs > MAX_TENSORS) return "there are no gradients to compare with";
    if (s->tensors + 2 > MAX_TENSORS) return "there are too many arrays";
    memcpy(x->tensor, s->tensor, (size_t)s->tensors * sizeof *s->tensor);
    *out = (struct gradients){.outputs = x->g->outputs};
    for (int a = 0; a < out->outputs; a++) {
        const struct value *v = &x->g->value[x->g->output[a].value];
        out->of[a] = check_wanted(x->g->module, x->g->output[a].name, v->rank, v->axes, size);
        out->all += out->of[a].elements;
    }
    out->dout = arena_alloc(arena, (size_t)s->out.elements * sizeof *out->dout);
    out->expected = arena_alloc(arena, (size_t)out->all * sizeof *out->expected);
    out->allowed = arena_alloc(arena, (size_t)out->all * sizeof *out->allowed);
    for (int64_t k = 0; k < s->out.elements; k++) out->dout[k] = check_as_stored(check_normal(state), dtype);
    x->tensor[s->tensors] = (struct tensor){"out", arena_alloc(arena, (size_t)s->out.elements * sizeof(double))};
    x->tensor[s->tensors + 1] = (struct tensor){"dout", out->dout};
    const char *wrong = evaluate(x, out->expected);
    const double *gradient = out->expected;
    for (int a = 0; a < out->outputs && differences && !wrong; gradient += out->of[a++].elements)
        for (int t = 0; t < s->tensors && !wrong; t++)
            if (s->tensor[t].name && strcmp(x->g->output[a].name, arena_printf(arena, "d%s", s->tensor[t].name)) == 0)
                wrong = difference(x, t, s, gradient, state, arena, &out->difference);
    double *moved = arena_alloc(arena, (size_t)out->all * sizeof *moved),
           *scale = arena_alloc(arena, (size_t)out->all * sizeof *scale);
    if (!wrong) wrong = scale_of(x, s, out, arena, scale);
    set_measures(out, scale, arena);
    for (int try = 0; try < NUDGES && !wrong; try++) {
        for (int t = 0; t < s->tensors + 2; t++) {
            if (t == s->tensors || (t < s->tensors && s->integers[t])) continue;
            const double *from = t < s->tensors ? s->tensor[t].data : out->dout;
            const int64_t n = t < s->tensors ? s->count[t] : s->out.elements;
            x->tensor[t].data = arena_alloc(arena, (size_t)n * sizeof(double));
            for (int64_t k = 0; k < n; k++)
                x->tensor[t].data[k] = from[k] * (1 + (check_uniform(state) < 0.5 ? -1 : 1) * 0x1p-24);
        }
        wrong = evaluate(x, moved);
        for (int64_t k = 0; k < out->all; k++)
            out->allowed[k] = fmax(out->allowed[k], 4 * fabs(moved[k] - out->expected[k]));
    }
    set_base(out, scale, dtype);
    return wrong;
}
