/* Computes the gradients of specs with the interpreter of graphs. usage: derive [--print | --differences] FOLDER…
   - A folder has spec.yaml, q.npy, k.npy, v.npy, dout.npy and every parameter.
   - quadratic.NAME.npy and linear.NAME.npy are written to the folder. They have the gradient NAME of each form.
   - Saved values must give the same gradients.
   - With --print, it prints the graphs instead.
   - With --differences, it prints `FORM NAME a b c` instead, for a random direction. a is the gradient along the
     direction, b the difference of the sum of out * dout, and c the sum of the |terms| of a. */
#include "../../compiler/pass/pass.h"
#include "../../compiler/schedule/schedule.h"
#include "../../compiler/spec/spec.h"
#include "../../compiler/target/target.h"
#include "../../compiler/variant/variant.h"
#include "../../runtime/attnrt.h"
#include "../lib/read_whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *folder, const char *what)
{
    fprintf(stderr, "%s: %s\n", folder, what);
    return 1;
}

/* Reads NAME.npy as doubles, or returns NULL. Sets *shape unless `shape` is NULL. */
static double *array(struct arena *arena, const char *folder, const char *name, bool integers, int64_t *shape)
{
    struct attn_array a = {.data = NULL};
    char message[200];
    if (attn_npy_read(arena_printf(arena, "%s/%s.npy", folder, name), integers ? ATTN_I32 : ATTN_F64, &a, message,
                      sizeof message) != 0)
        return NULL;
    int64_t count = 1;
    for (int k = 0; k < a.rank; k++) count *= a.shape[k];
    for (int k = 0; k < 4 && shape; k++) shape[k] = k < a.rank ? a.shape[k] : 1;
    double *numbers = arena_alloc(arena, (size_t)count * sizeof *numbers);
    for (int64_t k = 0; k < count; k++)
        numbers[k] = integers ? (double)((const int32_t *)a.data)[k] : ((const double *)a.data)[k];
    attn_array_free(&a);
    return numbers;
}

static int64_t elements(const struct graph *g, int v, const struct problem_size *size)
{
    int64_t count = 1;
    for (int k = 0; k < g->value[v].rank; k++) count *= axis_extent(g->module, g->value[v].axes[k], size);
    return count;
}

/* Returns the graph of the gradients of a form, or NULL. If `saving` is not NULL, the graph reads saved values, and
 *saving becomes the compilation that computes them. */
static struct graph *gradients(struct arena *arena, const struct spec *spec, bool linear, struct compilation *saving,
                               struct diagnostics *d)
{
    static void (*const pass[])(struct compilation *) = {pass_simplify, pass_separate, pass_simplify,
                                                         pass_differentiate, pass_simplify};
    struct compilation c = {.spec = spec,
                            .target = target_find("x86-64-v3"),
                            .diagnostics = d,
                            .program = {.kind = saving ? PROGRAM_GRADIENTS : PROGRAM_UNSAVED, .linear = linear}};
    c.source = build_graph(arena, spec, COUNT_CALL, d);
    c.graph = build_graph(arena, spec, COUNT_CALL, d);
    for (int k = 0; k < 5 && c.graph; k++) {
        pass[k](&c);
        if (diagnostics_errors(d) || (k > 1 && linear && !c.separated.features)) return NULL;
        const char *wrong = graph_verify(c.graph);
        if (!wrong) continue;
        diagnostics_error(d, (struct position){0, 0}, "after pass %d: %s", k, wrong);
        return NULL;
    }
    if (saving) *saving = c;
    return c.graph;
}

/* Returns a pseudo-random number between -1 and 1. */
static double next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 4503599627370496.0 - 1;
}

struct inputs {
    const struct graph *source;
    struct problem_size size;
    struct tensor tensor[MAX_OUTPUTS];
    int tensors;
    double *dout; /* the data of the last tensor */
};

/* Returns the sum of out * dout after array `name` was moved by `step` along the direction. */
static double output_at(struct arena *arena, const struct inputs *in, const char *name, int64_t count,
                        const double *direction, double step)
{
    struct tensor tensor[MAX_OUTPUTS];
    int64_t outputs = elements(in->source, in->source->output[0].value, &in->size);
    double sum = 0, *moved = arena_alloc(arena, (size_t)count * sizeof *moved),
           *out = arena_alloc(arena, (size_t)outputs * sizeof *out);
    for (int n = 0; n < in->tensors; n++) {
        tensor[n] = in->tensor[n];
        if (strcmp(tensor[n].name, name) != 0) continue;
        for (int64_t k = 0; k < count; k++) moved[k] = tensor[n].data[k] + step * direction[k];
        tensor[n].data = moved;
    }
    if (graph_eval(in->source, &in->size, tensor, in->tensors, out)) return 0;
    for (int64_t k = 0; k < outputs; k++) sum += out[k] * in->dout[k];
    return sum;
}

/* Prints the line of --differences for one gradient. The difference is Richardson's extrapolation, or NaN near a
 * kink. */
static void compare(struct arena *arena, const struct inputs *in, const char *form, const char *name,
                    const double *gradient, int64_t count)
{
    double *direction = arena_alloc(arena, (size_t)count * sizeof *direction), along = 0, size = 0, slope[3];
    uint64_t state = 7;
    for (int64_t k = 0; k < count; k++) {
        direction[k] = next_random(&state);
        along += direction[k] * gradient[k];
        size += fabs(direction[k] * gradient[k]);
    }
    for (int n = 0; n < 3; n++) {
        double step = 1e-3 / (1 << n);
        slope[n] = (output_at(arena, in, name, count, direction, step) -
                    output_at(arena, in, name, count, direction, -step)) /
                   (2 * step);
    }
    double first = (4 * slope[1] - slope[0]) / 3, second = (4 * slope[2] - slope[1]) / 3;
    printf("%s %s %.17g %.17g %.17g\n", form, name, along, fabs(first - second) <= 1e-6 * size + 1e-10 ? second : NAN,
           size);
}

static int evaluate(struct arena *arena, const char *folder, const struct graph *g, const char *form,
                    const struct inputs *in, bool differences)
{
    int64_t total = 0;
    char message[200];
    for (int o = 0; o < g->outputs; o++) total += elements(g, g->output[o].value, &in->size);
    double *out = arena_alloc(arena, (size_t)total * sizeof *out);
    const char *wrong = graph_eval(g, &in->size, in->tensor, in->tensors, out);
    if (wrong) return failed(folder, wrong);
    for (int o = 0; o < g->outputs; o++) {
        const char *name = g->output[o].name;
        struct attn_array a = {
            .dtype = ATTN_F64, .rank = 1, .shape = {elements(g, g->output[o].value, &in->size)}, .data = out};
        if (differences)
            compare(arena, in, form, name + 1, out, a.shape[0]);
        else if (attn_npy_write(arena_printf(arena, "%s/%s.%s.npy", folder, form, name), &a, message, sizeof message) !=
                 0)
            return failed(folder, message);
        out += a.shape[0];
    }
    return 0;
}

/* Reads the program's inputs from the folder. */
static const char *read_inputs(struct arena *arena, const char *folder, struct inputs *in)
{
    const struct graph *g = in->source;
    int64_t shape[4];
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        if ((value->op != GRAPH_INPUT && value->op != GRAPH_PARAM) || value->within.of) continue;
        struct tensor t = {value->name, array(arena, folder, value->name, value->integers, shape)};
        if (!t.data || in->tensors > MAX_OUTPUTS - 3) return arena_printf(arena, "%s.npy cannot be read", value->name);
        in->tensor[in->tensors++] = t;
        if (strcmp(t.name, "q") == 0)
            in->size = (struct problem_size){shape[0], in->size.kv_heads, shape[1], shape[2], in->size.n_k};
        if (strcmp(t.name, "k") == 0)
            in->size = (struct problem_size){shape[0], shape[1], in->size.members, in->size.n_q, shape[2]};
    }
    if (in->size.kv_heads < 1) return "there are no heads of keys";
    in->size.members /= in->size.kv_heads;
    double *out = arena_alloc(arena, (size_t)elements(g, g->output[0].value, &in->size) * sizeof *out);
    const char *wrong = graph_eval(g, &in->size, in->tensor, in->tensors, out);
    in->dout = array(arena, folder, "dout", false, NULL);
    in->tensor[in->tensors++] = (struct tensor){"out", out};
    in->tensor[in->tensors++] = (struct tensor){"dout", in->dout};
    return wrong ? wrong : in->dout ? NULL : "dout.npy cannot be read";
}

/* Evaluates a program and appends its outputs to the tensors in *in. Returns the error or NULL. */
static const char *leave_outputs(struct arena *arena, const struct graph *g, struct inputs *in)
{
    int64_t total = 0;
    if (!g->outputs) return NULL;
    for (int o = 0; o < g->outputs; o++) total += elements(g, g->output[o].value, &in->size);
    double *left = arena_alloc(arena, (size_t)total * sizeof *left);
    const char *wrong = graph_eval(g, &in->size, in->tensor, in->tensors, left);
    for (int o = 0; o < g->outputs && !wrong; o++) {
        if (in->tensors == MAX_OUTPUTS) return "too many arrays";
        in->tensor[in->tensors++] = (struct tensor){g->output[o].name, left};
        left += elements(g, g->output[o].value, &in->size);
    }
    return wrong;
}

/* Evaluates the outputs one by one. Each output is appended to the tensors in *in, so that later outputs can read
 * it. */
static const char *leave_in_order(struct arena *arena, const struct graph *g, struct inputs *in)
{
    const char *wrong = NULL;
    for (int o = 0; o < g->outputs && !wrong; o++) {
        struct graph *one = graph_copy(g);
        one->outputs = 1;
        one->output[0] = one->output[o];
        graph_sweep(one);
        wrong = leave_outputs(arena, one, in);
    }
    return wrong;
}

/* Evaluates the gradients from values that forward saves. Compares them with the gradients of the graph `computed`,
   which computes these values itself. Returns the error, or NULL. */
static const char *compare_saved(struct arena *arena, const struct spec *spec, bool linear,
                                 const struct graph *computed, const struct inputs *in, struct diagnostics *d)
{
    struct compilation left;
    struct graph *g = gradients(arena, spec, linear, &left, d);
    struct inputs given = *in;
    int64_t total = 0;
    if (!g) return "there is no program that is given what is saved";
    for (int o = 0; o < computed->outputs; o++) total += elements(computed, computed->output[o].value, &in->size);
    double *wanted = arena_alloc(arena, (size_t)total * sizeof *wanted), largest = 0;
    const char *wrong = leave_outputs(arena, left.gradients.saving, &given);
    if (!wrong) wrong = leave_outputs(arena, left.gradients.row_sums, &given);
    if (!wrong) wrong = graph_eval(computed, &in->size, in->tensor, in->tensors, wanted);
    if (!wrong) wrong = leave_in_order(arena, g, &given);
    for (int64_t k = 0; k < total && !wrong; k++) largest = fmax(largest, fabs(wanted[k]));
    for (int o = 0; o < computed->outputs && !wrong; o++) {
        const double *got = NULL;
        for (int n = 0; n < given.tensors; n++)
            if (strcmp(given.tensor[n].name, computed->output[o].name) == 0) got = given.tensor[n].data;
        if (!got) return "a gradient is missing";
        for (int64_t k = 0, count = elements(computed, computed->output[o].value, &in->size); k < count; k++, wanted++)
            if (!(fabs(got[k] - *wanted) <= 1e-12 * largest) && !isnan(*wanted))
                wrong = "from what is saved the gradients are others";
    }
    return wrong;
}

enum wanted { ARRAYS, DIFFERENCES, GRAPHS };

static int one(struct arena *arena, const char *folder, enum wanted wanted)
{
    static const char *const forms[] = {"quadratic", "linear"};
    const char *file = arena_printf(arena, "%s/spec.yaml", folder), *wrong = NULL;
    size_t length = 0;
    char *text = read_whole(arena, file, &length);
    struct diagnostics *d = diagnostics_new(arena, file, text, length);
    const struct spec *spec = text ? spec_read(arena, file, text, length, 0, NULL, d) : NULL;
    struct inputs in = {.source = spec ? build_graph(arena, spec, COUNT_CALL, d) : NULL};
    int status = 0;
    if (in.source && wanted != GRAPHS) wrong = read_inputs(arena, folder, &in);
    if (wrong) return failed(folder, wrong);
    for (int form = 0; form < 2 && in.source; form++) {
        const bool sums = spec->rate && spec->decay; /* this form needs prefix sums, which a pass makes */
        if (sums && form == 1) break;
        struct graph *g = gradients(arena, spec, form == 1, NULL, d);
        struct text shown = {NULL, 0, 0};
        if (g && wanted == GRAPHS) {
            struct compilation left;
            text_add(&shown, "# %s\n", forms[form]);
            graph_print(g, &shown);
            g = gradients(arena, spec, form == 1, &left, d);
            text_add(&shown, "\n# %s, from what is saved\n", forms[form]);
            if (g) graph_print(g, &shown);
            printf("%s\n", shown.data);
        } else if (g)
            status |= evaluate(arena, folder, g, forms[form], &in, wanted == DIFFERENCES);
        if (g && wanted == ARRAYS && !sums) wrong = compare_saved(arena, spec, form == 1, g, &in, d);
        if (wrong) return failed(folder, wrong);
        text_free(&shown);
    }
    return diagnostics_flush(d, stderr, false) > 0 || !in.source || status;
}

int main(int count, char **argument)
{
    int status = 0, first = count > 1 && argument[1][0] == '-' ? 2 : 1;
    enum wanted wanted = first == 1 ? ARRAYS : strcmp(argument[1], "--print") == 0 ? GRAPHS : DIFFERENCES;
    for (int k = first; k < count; k++) {
        struct arena *arena = arena_new();
        status |= one(arena, argument[k], wanted);
        arena_free(arena);
    }
    return status;
}
