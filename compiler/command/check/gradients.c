/* Computes the expected gradients of a sample with the interpreter, for attnc check. Central differences confirm
   them. */
#include "check.h"
#include "../../spec/spec.h"

#include <math.h>
#include <string.h>

struct evaluation {
    /* `forward` is the graph of the output. `g` is the graph of the gradients. */
    const struct graph *forward, *g;
    const struct problem_size *size;
    struct tensor tensor[MAX_TENSORS + 2]; /* the tensors of the sample, then out and dout */
    int tensors;
};

/* Computes the gradients for the current arrays. If `noise` is NULL, operations are not rounded. Otherwise its
   random bits decide whether an operation is rounded up or down to f32. */
static const char *evaluate(struct evaluation *x, uint64_t *noise, double *out)
{
    const struct tensor *in = x->tensor;
    double *result = in[x->tensors].data;
    const char *wrong = noise ? graph_eval_noisy(x->forward, x->size, in, x->tensors, noise, result)
                              : graph_eval(x->forward, x->size, in, x->tensors, result);
    if (wrong) return wrong;
    return noise ? graph_eval_noisy(x->g, x->size, in, x->tensors + 2, noise, out)
                 : graph_eval(x->g, x->size, in, x->tensors + 2, out);
}

/* Adds `by` * `direction` to array t and computes out. Sets *sum to the sum of out * dout, and *sizes to the sum of
   |out * dout|. `moved` and `out` are scratch memory. */
static const char *sum_at(const struct evaluation *x, int t, const struct sample *s, const double *direction, double by,
                          double *moved, double *out, double *sum, double *sizes)
{
    struct tensor tensor[MAX_TENSORS];
    memcpy(tensor, x->tensor, (size_t)x->tensors * sizeof *tensor);
    for (int64_t k = 0; k < s->count[t]; k++) moved[k] = tensor[t].data[k] + by * direction[k];
    tensor[t].data = moved;
    const char *wrong = graph_eval(x->forward, x->size, tensor, x->tensors, out);
    *sum = *sizes = 0;
    for (int64_t k = 0; k < s->output[0].elements; k++) {
        const double term = out[k] * x->tensor[x->tensors + 1].data[k];
        *sum += term;
        *sizes += fabs(term);
    }
    return wrong;
}

/* Compares the gradient with respect to array t with a central difference in a random direction. Updates *share, the
   largest error. If two step sizes disagree, as near a kink of max(x, 0), compares nothing. At a kink, slopes agree,
   but the second difference is proportional to the step, not to its square. */
static const char *difference(const struct evaluation *x, int t, const struct sample *s, const double *gradient,
                              uint64_t *state, struct arena *arena, double *share)
{
    const int64_t n = s->count[t];
    double *direction = arena_alloc(arena, (size_t)n * sizeof *direction),
           *moved = arena_alloc(arena, (size_t)n * sizeof *moved),
           *out = arena_alloc(arena, (size_t)s->output[0].elements * sizeof *out), along = 0, sizes = 0, terms = 0,
           here = 0, slope[3], bend[3];
    const char *wrong = sum_at(x, t, s, direction, 0, moved, out, &here, &terms);
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
        bend[k] = (after - 2 * here + before) / (2 * by);
    }
    if (wrong) return wrong;
    const double first = (4 * slope[1] - slope[0]) / 3, second = (4 * slope[2] - slope[1]) / 3;
    sizes += 1e-4 * terms; /* the sums of the difference have rounding errors, too */
    const double disagree = fmax(fabs(first - second), fabs(bend[1] - 2 * bend[2]));
    if (sizes > 0 && disagree <= 1e-6 * sizes) *share = fmax(*share, fabs(along - second) / sizes);
    return NULL;
}

/* Sets g->scaled, and sets `scale` to the gradients for the inputs in g->scaled. */
static const char *scale_of(const struct evaluation *x, const struct sample *s, struct gradients *g,
                            struct arena *arena, double *scale)
{
    /* If tensors have equal names, the interpreter takes the first one. */
    struct tensor in[SCALED + MAX_TENSORS];
    g->scaled[0] = (struct tensor){s->output[0].name,
                                   arena_alloc(arena, (size_t)s->output[0].elements * sizeof(double))};
    g->scaled[1] = (struct tensor){g->dout.name, arena_alloc(arena, (size_t)s->output[0].elements * sizeof(double))};
    for (int64_t k = 0; k < s->output[0].elements; k++) g->scaled[1].data[k] = fabs(g->dout.data[k]);
    for (int t = 0; t < s->tensors; t++) {
        if (s->array[t]->quantity != QUANTITY_VALUE) continue;
        g->scaled[2] = (struct tensor){s->tensor[t].name, check_sizes(&s->tensor[t], s->count[t], arena)};
    }
    if (s->values.name) g->scaled[2] = (struct tensor){s->values.name, check_sizes(&s->values, s->values_count, arena)};
    memcpy(in, g->scaled, sizeof g->scaled);
    memcpy(in + SCALED, s->tensor, (size_t)s->tensors * sizeof *in);
    return graph_eval(x->g, x->size, in, SCALED + s->tensors, scale);
}

/* Adds to the tolerance of each element:
   - 4e-6 of the size, which is the largest gradient plus the element's scale; with bf16 2^-5 more, with f16 2^-8
     more;
   - the error by underflow, `lost`.
   The caller has set x->allowed to 4 times the largest change by rounding. For f64, this number and 4e-6 of the size
   are multiplied by 2^-29, and 1e-13 of the size is added. */
static void set_base(struct gradients *x, const double *scale, double lost, enum dtype dtype)
{
    const double rounding = dtype == DTYPE_BF16 ? 0x1p-5 : dtype == DTYPE_F16 ? 0x1p-8 : 0;
    double largest = 0;
    for (int64_t k = 0; k < x->all; k++) largest = fmax(largest, fabs(x->expected[k]));
    for (int64_t k = 0; k < x->all; k++) {
        const double size = largest + fabs(scale[k]);
        x->allowed[k] += (4e-6 + rounding) * size;
        if (dtype == DTYPE_F64) x->allowed[k] = 0x1p-29 * x->allowed[k] + 1e-13 * size;
        x->allowed[k] += lost;
    }
}

/* Updates x->rounding with the gradients `moved`, computed with rounding. Several short rows share their largest
   change, because one element may change little by chance. */
static void note_rounding(struct gradients *x, const double *moved)
{
    int64_t first = 0;
    for (int a = 0; a < x->outputs; first += x->of[a++].elements) {
        const int64_t all = x->of[a].elements, row = x->of[a].row,
                      step = row > 0 ? row * ((FEW_ELEMENTS + row - 1) / row) : all;
        for (int64_t e = 0; e < all; e += step) {
            double max = 0;
            for (int64_t k = e; k < e + step && k < all; k++)
                max = fmax(max, fabs(moved[first + k] - x->expected[first + k]));
            for (int64_t k = e; k < e + step && k < all && isfinite(max); k++)
                x->rounding[first + k] = fmax(x->rounding[first + k], max);
        }
    }
}

/* Sets the measure of each row. Errors of passes are relative to this measure. It is the sum of
   - the largest gradient in the row;
   - the largest scale in the row;
   - 2^24 times the row's change by rounding to f32, an estimate of the size of the terms. */
static void set_measures(struct gradients *x, const double *scale, struct arena *arena)
{
    int64_t at = 0;
    for (int a = 0; a < x->outputs; at += x->of[a++].elements) {
        struct wanted *w = &x->of[a];
        if (w->row < 1) continue; /* the array is empty */
        double *measure = arena_alloc(arena, (size_t)(w->elements / w->row) * sizeof *measure);
        w->expected = x->expected + at;
        for (int64_t e = 0; e < w->elements; e += w->row)
            measure[e / w->row] = check_largest(w->expected + e, w->row) + check_largest(scale + at + e, w->row) +
                                  0x1p24 * x->rounding[at + e];
        w->measure = measure;
    }
}

const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size,
                         bool differences, uint64_t *state, struct arena *arena, struct gradients *out)
{
    const enum dtype dtype = p->spec->dtype;
    struct evaluation *x = arena_alloc(arena, sizeof *x);
    *x = (struct evaluation){
        .forward = check_graph_of_out(p), .g = unit_derivative(p), .size = size, .tensors = s->tensors};
    if (!x->g || x->g->outputs > MAX_TENSORS) return "there are no gradients to compare with";
    if (s->tensors + 2 > MAX_TENSORS) return "there are too many arrays";
    memcpy(x->tensor, s->tensor, (size_t)s->tensors * sizeof *s->tensor);
    check_place(x->forward->module, s);
    check_place(x->g->module, s);
    *out = (struct gradients){.outputs = x->g->outputs};
    for (int a = 0; a < out->outputs; a++) {
        const struct value *v = &x->g->value[x->g->output[a].value];
        out->of[a] = check_wanted(x->g->module, x->g->output[a].name, v->rank, v->axes, size);
        out->all += out->of[a].elements;
    }
    out->dout = (struct tensor){arena_printf(arena, "d%s", s->output[0].name),
                                arena_alloc(arena, (size_t)s->output[0].elements * sizeof(double))};
    out->expected = arena_alloc(arena, (size_t)out->all * sizeof *out->expected);
    out->allowed = arena_alloc(arena, (size_t)out->all * sizeof *out->allowed);
    for (int64_t k = 0; k < s->output[0].elements; k++) out->dout.data[k] = check_as_stored(check_normal(state), dtype);
    x->tensor[s->tensors] = (struct tensor){s->output[0].name,
                                            arena_alloc(arena, (size_t)s->output[0].elements * sizeof(double))};
    x->tensor[s->tensors + 1] = out->dout;
    out->rounding = arena_alloc(arena, (size_t)out->all * sizeof *out->rounding);
    const char *wrong = evaluate(x, NULL, out->expected);
    const double *gradient = out->expected;
    for (int a = 0; a < out->outputs && differences && !wrong; gradient += out->of[a++].elements)
        for (int t = 0; t < s->tensors && !wrong; t++)
            if (s->tensor[t].name && strcmp(x->g->output[a].name, arena_printf(arena, "d%s", s->tensor[t].name)) == 0)
                wrong = difference(x, t, s, gradient, state, arena, &out->difference);
    double *moved = arena_alloc(arena, (size_t)out->all * sizeof *moved),
           *scale = arena_alloc(arena, (size_t)out->all * sizeof *scale);
    if (!wrong) wrong = scale_of(x, s, out, arena, scale);
    uint64_t noise = *state;
    for (int try = 0; try < NUDGES && !wrong; try++) {
        for (int t = 0; t < s->tensors + 2; t++) {
            if (t == s->tensors || (t < s->tensors && dtype_is_integer(s->array[t]->dtype))) continue;
            const double *from = t < s->tensors ? s->tensor[t].data : out->dout.data;
            const int64_t n = t < s->tensors ? s->count[t] : s->output[0].elements;
            x->tensor[t].data = arena_alloc(arena, (size_t)n * sizeof(double));
            for (int64_t k = 0; k < n; k++)
                x->tensor[t].data[k] = from[k] * (1 + (check_uniform(state) < 0.5 ? -1 : 1) * 0x1p-24);
        }
        wrong = evaluate(x, NULL, moved);
        for (int64_t k = 0; k < out->all; k++)
            out->allowed[k] = fmax(out->allowed[k], 4 * fabs(moved[k] - out->expected[k]));
        if (!wrong) wrong = evaluate(x, &noise, moved);
        note_rounding(out, moved);
    }
    for (int64_t k = 0; k < out->all; k++) out->allowed[k] = fmax(out->allowed[k], 4 * out->rounding[k]);
    set_measures(out, scale, arena);
    set_base(out, scale, check_lost(s, dtype, size), dtype);
    return wrong;
}
