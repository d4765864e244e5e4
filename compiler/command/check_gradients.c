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

/* The program that is given out and dout, and has dq, dk and dv; NULL: it cannot be made. */
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

/* The sum of out * dout with array t moved along a direction. */
static const char *sum_at(const struct evaluation *x, int t, const struct sample *s, const double *direction, double by,
                          double *moved, double *out, double *sum)
{
    struct tensor tensor[MAX_TENSORS];
    memcpy(tensor, x->tensor, (size_t)x->tensors * sizeof *tensor);
    for (int64_t k = 0; k < s->count[t]; k++) moved[k] = tensor[t].data[k] + by * direction[k];
    tensor[t].data = moved;
    const char *wrong = graph_eval(x->p->graph, x->size, tensor, x->tensors, out);
    *sum = 0;
    for (int64_t k = 0; k < s->elements; k++) *sum += out[k] * x->tensor[x->tensors + 1].data[k];
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
           *out = arena_alloc(arena, (size_t)s->elements * sizeof *out), along = 0, sizes = 0, slope[3];
    const char *wrong = NULL;
    for (int64_t k = 0; k < n; k++) {
        direction[k] = check_normal(state);
        along += direction[k] * gradient[k];
        sizes += fabs(direction[k] * gradient[k]);
    }
    for (int k = 0; k < 3 && !wrong; k++) {
        const double by = 1e-3 / (1 << k);
        double after = 0, before = 0;
        wrong = sum_at(x, t, s, direction, by, moved, out, &after);
        if (!wrong) wrong = sum_at(x, t, s, direction, -by, moved, out, &before);
        slope[k] = (after - before) / (2 * by);
    }
    if (wrong) return wrong;
    const double first = (4 * slope[1] - slope[0]) / 3, second = (4 * slope[2] - slope[1]) / 3;
    if (sizes > 0 && fabs(first - second) <= 1e-6 * sizes) *share = fmax(*share, fabs(along - second) / sizes);
    return NULL;
}

/* 4e-6 of an array's largest gradient, or of the largest of all where they cancel, as of a single key, and 4 times what
   moving every input by half an ulp changes; in f64 2^-29 of it. What is rounded to 16 bits, out before its product
   with dout among it, adds a share of the largest gradient. */
static void set_base(struct gradients *x, enum dtype dtype)
{
    double largest[3] = {0}, all = 0;
    for (int64_t a = 0, k = 0; a < 3; a++)
        for (int64_t n = 0; n < x->count[a]; n++, k++) largest[a] = fmax(largest[a], fabs(x->expected[k]));
    for (int a = 0; a < 3; a++) all = fmax(all, largest[a]);
    for (int64_t a = 0, k = 0; a < 3; a++)
        for (int64_t n = 0; n < x->count[a]; n++, k++) {
            x->allowed[k] += 4e-6 * (largest[a] <= 1e-9 * all ? all : largest[a]);
            if (dtype == DTYPE_F64) x->allowed[k] = 0x1p-29 * x->allowed[k] + 1e-13 * all;
            if (dtype == DTYPE_BF16) x->allowed[k] += 0x1p-5 * all;
            if (dtype == DTYPE_F16) x->allowed[k] += 0x1p-8 * all;
        }
}

const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size, uint64_t *state,
                         struct arena *arena, struct gradients *out)
{
    const enum dtype dtype = p->spec->dtype;
    struct evaluation *x = arena_alloc(arena, sizeof *x);
    *x = (struct evaluation){.p = p, .g = derivative(p, arena), .size = size, .tensors = s->tensors};
    if (!x->g || x->g->outputs != 3) return "there are no gradients to compare with";
    if (s->tensors + 2 > MAX_TENSORS) return "there are too many arrays";
    memcpy(x->tensor, s->tensor, (size_t)s->tensors * sizeof *s->tensor);
    *out = (struct gradients){.all = 0};
    for (int a = 0; a < 3; a++) {
        const char *const name = x->g->output[a].name + 1; /* of the array: q, k, v */
        for (int t = 0; t < s->tensors; t++)
            if (strcmp(s->tensor[t].name, name) == 0) out->count[a] = s->count[t];
        out->all += out->count[a];
    }
    out->dout = arena_alloc(arena, (size_t)s->elements * sizeof *out->dout);
    out->expected = arena_alloc(arena, (size_t)out->all * sizeof *out->expected);
    out->allowed = arena_alloc(arena, (size_t)out->all * sizeof *out->allowed);
    for (int64_t k = 0; k < s->elements; k++) out->dout[k] = check_as_stored(check_normal(state), dtype);
    x->tensor[s->tensors] = (struct tensor){"out", arena_alloc(arena, (size_t)s->elements * sizeof(double))};
    x->tensor[s->tensors + 1] = (struct tensor){"dout", out->dout};
    const char *wrong = evaluate(x, out->expected);
    for (int a = 0, at = 0; a < 3 && !wrong; at += (int)out->count[a++])
        for (int t = 0; t < s->tensors && !wrong; t++)
            if (strcmp(s->tensor[t].name, x->g->output[a].name + 1) == 0)
                wrong = difference(x, t, s, out->expected + at, state, arena, &out->difference);
    double *moved = arena_alloc(arena, (size_t)out->all * sizeof *moved);
    for (int try = 0; try < NUDGES && !wrong; try++) {
        for (int t = 0; t < s->tensors + 2; t++) {
            if (t == s->tensors || (t < s->tensors && s->integers[t])) continue;
            const double *from = t < s->tensors ? s->tensor[t].data : out->dout;
            const int64_t n = t < s->tensors ? s->count[t] : s->elements;
            x->tensor[t].data = arena_alloc(arena, (size_t)n * sizeof(double));
            for (int64_t k = 0; k < n; k++)
                x->tensor[t].data[k] = from[k] * (1 + (check_uniform(state) < 0.5 ? -1 : 1) * 0x1p-24);
        }
        wrong = evaluate(x, moved);
        for (int64_t k = 0; k < out->all; k++)
            out->allowed[k] = fmax(out->allowed[k], 4 * fabs(moved[k] - out->expected[k]));
    }
    set_base(out, dtype);
    return wrong;
}
