/* attnc check: the value of the spec's meaning in the float64 interpreter, against the interpreter after every pass and
   against the compiled kernel, on random arrays of several awkward sizes or of lengths that were asked for. Its last
   line is the verdict. */
#include "check.h"
#include "command_line.h"
#include "../bench/bench.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../variant/variant.h"
#include "../../runtime/attnrt.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct problem_size sizes[] = {
    {.batch = 1, .kv_heads = 1, .members = 1, .n_q = 1, .n_k = 1},
    {.batch = 2, .kv_heads = 1, .members = 2, .n_q = 7, .n_k = 7},
    {.batch = 1, .kv_heads = 2, .members = 1, .n_q = 65, .n_k = 97},
    {.batch = 1, .kv_heads = 1, .members = 1, .n_q = 131, .n_k = 50},
    {.batch = 1, .kv_heads = 1, .members = 1, .n_q = 2, .n_k = 290},
};
enum { SIZES = sizeof sizes / sizeof *sizes };
/* A pass may be off by PASS_MAX of a row, and by ROUNDINGS times what the direction of rounding changes in it. */
static const double PASS_MAX = 1e-9, ROUNDINGS = 16;
/* Pairs of query and key that the interpreters visit at most for --lengths, its keys and heads; queries where there are
   too many pairs, and for the lengths up to LONGEST from which a kernel has other loops. */
enum { MAX_PAIRS = 1 << 18, MAX_KEYS = 1 << 18, MAX_HEADS = 64, FEW_QUERIES = 3, LONGEST = 16384 };

/* The largest error, as a share of what its row is measured by, and where it is. */
struct worst {
    double share;
    int sample;
    int64_t element;
    double got;
};

struct checking {
    const struct options *o;
    struct unit *p;
    /* problems: those of the passes, and then one for each length from which other loops run, which the kernel meets
       alone */
    struct problem_size *size;
    int of_passes, sizes;
    struct sample *sample;
    double *out,
        *row; /* what the interpreter or the kernel makes of a sample; what the errors of its rows are measured by */
    bool good;
};

static void say(const struct checking *c, const char *format, ...) IR_PRINTF(2, 3);

static void say(const struct checking *c, const char *format, ...)
{
    if (c->o->console.quiet) return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

static int64_t elements_of(const struct graph *g, const struct value *v, const struct problem_size *size)
{
    int64_t n = 1;
    for (int k = 0; k < v->rank; k++) n *= axis_extent(g->module, v->axes[k], size);
    return n;
}

/* A few ids for each batch, from either side of 0: in runs, as packed documents have them, or in any order. */
static void fill_ids(double *data, int64_t batch, int64_t keys, bool sorted, uint64_t *state)
{
    for (int64_t b = 0; b < batch; b++) {
        double id = -2;
        for (int64_t x = 0; x < keys; x++) {
            double draw = check_uniform(state);
            id = !sorted ? floor(draw * 4) - 2 : draw * (double)keys < 5 ? id + 1 + floor(draw * (double)keys) : id;
            data[b * keys + x] = id;
        }
    }
}

/* Values that a float, and of inputs the storage type, holds, so that the kernel gets the same ones: weights near 1,
   biases near 0, learned matrices that keep the size of a row. */
static void fill(struct sample *s, const struct graph *g, const struct problem_size *size, bool sorted, uint64_t *state,
                 struct arena *arena)
{
    for (int v = 0; v < g->values && s->tensors < MAX_TENSORS; v++) {
        const struct value *value = &g->value[v];
        if (value->op != GRAPH_INPUT && value->op != GRAPH_PARAM) continue;
        int64_t n = elements_of(g, value, size);
        double *data = arena_alloc(arena, (size_t)n * sizeof *data);
        bool matrix = value->op == GRAPH_PARAM && value->origin == ORIGIN_LEARNED && value->rank == 2,
             weight = strstr(value->name, ".weight") != NULL, norm = strstr(value->name, ".bias") != NULL;
        for (int64_t k = 0; k < n; k++) {
            double x = check_normal(state);
            if (weight) x = 1 + 0.1 * x;
            if (norm) x *= 0.1;
            if (matrix) x /= sqrt((double)axis_extent(g->module, value->axes[0], size));
            data[k] = check_as_stored(x, value->op == GRAPH_INPUT ? g->module->dtype : DTYPE_F32);
        }
        if (value->integers)
            fill_ids(data, axis_extent(g->module, value->axes[0], size), axis_extent(g->module, value->axes[1], size),
                     sorted, state);
        s->integers[s->tensors] = value->integers;
        s->count[s->tensors] = n;
        s->tensor[s->tensors++] = (struct tensor){value->name, data};
    }
}

static double row_largest(const double *row, int64_t n)
{
    double max = 0;
    for (int64_t k = 0; k < n; k++)
        if (!(fabs(row[k]) <= max)) max = fabs(row[k]);
    return max;
}

/* Whether a copy rounds f32 to bf16: weights, before they are multiplied with values. */
static bool rounds_weights(const struct loops *l, const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->op == LOOPS_COPY && l->array[s->operand[0].of].dtype == DTYPE_F32 && l->array[s->assign[0].to.of].paired)
            return true;
        if (rounds_weights(l, s->body)) return true;
    }
    return false;
}

/* What a kernel in f32 may be off by in each row: 2e-6 of the row's scale (with |v| in place of v), and 4 times what
   moving every input by half an ulp changes; twice that where the kernel has a linear form; in f64 2^-29 of it. Where
   weights are rounded to bf16, 2^-8 of the scale comes to it. Inputs are moved more often where a row has few elements
   to tell what that changes: of four numbers all may happen to move by little. */
static const char *find_allowed(struct sample *s, const struct graph *g, bool linear, bool rounded,
                                const struct problem_size *size, uint64_t *state, struct arena *arena)
{
    int64_t rows = s->elements / s->value_dim;
    double *moved = arena_alloc(arena, (size_t)s->elements * sizeof *moved),
           *change = arena_alloc(arena, (size_t)rows * sizeof *change);
    double *scale = arena_alloc(arena, (size_t)rows * sizeof *scale);
    const int64_t tries = s->value_dim < FEW_ELEMENTS ? NUDGES * FEW_ELEMENTS / s->value_dim : NUDGES;
    for (int64_t try = 0; try <= tries; try++) { /* the first for the scale */
        struct tensor in[MAX_TENSORS];
        for (int t = 0; t < s->tensors; t++) {
            in[t] = s->tensor[t];
            bool values = strcmp(in[t].name, "v") == 0;
            if (values != (try == 0) || s->integers[t]) continue;
            in[t].data = arena_alloc(arena, (size_t)s->count[t] * sizeof *in[t].data);
            for (int64_t k = 0; k < s->count[t]; k++) {
                double x = s->tensor[t].data[k];
                in[t].data[k] = values ? fabs(x) : x * (1 + (check_uniform(state) < 0.5 ? -1 : 1) * 0x1p-24);
            }
        }
        const char *wrong = graph_eval(g, size, in, s->tensors, moved);
        if (wrong) return wrong;
        for (int64_t r = 0; r < rows; r++) {
            double *row = moved + r * s->value_dim;
            for (int64_t k = 0; k < s->value_dim && try > 0; k++) row[k] -= s->expected[r * s->value_dim + k];
            double max = row_largest(row, s->value_dim);
            if (try == 0)
                scale[r] = max;
            else if (4 * max > change[r])
                change[r] = 4 * max;
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        s->allowed[r] = (2e-6 * scale[r] + change[r]) * (linear ? 2 : 1) *
                        (g->module->dtype == DTYPE_F64 ? 0x1p-29 : 1);
        if (rounded) s->allowed[r] += 0x1p-8 * scale[r];
    }
    return NULL;
}

/* By how much the number that was rounded to `got` is off at least: rounding to a 16-bit type moves it by up to half of
   that type's unit there. */
static double off_by(double got, double expected, enum dtype stored)
{
    bool bf16 = stored == DTYPE_BF16;
    if (dtype_bytes(stored) != 2) return fabs(got - expected);
    if (!bf16 && isinf(got) && (got > 0) == (expected > 0)) return fmax(65520 - fabs(expected), 0);
    int min = bf16 ? -126 : -14, exponent = got == 0 || ilogb(got) < min ? min : ilogb(got);
    double off = fabs(got - expected) - ldexp(1, exponent - (bf16 ? 8 : 11));
    return off < 0 ? 0 : off;
}

/* Takes note of where the sample's errors are larger than `worst`, as a share of what `of_row` has for each row. */
static void find_worst(const struct checking *c, int sample, const double *of_row, enum dtype stored,
                       struct worst *worst)
{
    const struct sample *s = &c->sample[sample];
    for (int64_t k = 0; k < s->elements; k++) {
        double d = off_by(c->out[k], s->expected[k], stored), row = of_row[k / s->value_dim];
        if (d == 0) continue;
        d = row > 0 && d <= DBL_MAX ? d / row : INFINITY; /* of a NaN, too */
        if (d > worst->share) *worst = (struct worst){d, sample, k, c->out[k]};
    }
}

/* One line of the report; where it is wrong, an error says at which element. */
static void report(struct checking *c, const char *what, const struct worst *worst, const char *of, bool good)
{
    say(c, "  %-22s %10.2e %s%s\n", what, worst->share, of, good ? "" : "   WRONG");
    if (good || !c->good) return;
    const struct sample *s = &c->sample[worst->sample];
    const struct problem_size *size = &c->size[worst->sample];
    int64_t row = worst->element / s->value_dim, head = row / size->n_q % (size->kv_heads * size->members);
    complain(c->o,
             "%s: %s is wrong by %.3g %s: with %lld queries and %lld keys, out[%lld, %lld, %lld, %lld] is %.9g in "
             "place of %.9g",
             c->p->spec->name, what, worst->share, of, (long long)size->n_q, (long long)size->n_k,
             (long long)(row / size->n_q / (size->kv_heads * size->members)), (long long)head,
             (long long)(row % size->n_q), (long long)(worst->element % s->value_dim), worst->got,
             s->expected[worst->element]);
    c->good = false;
}

static const char *evaluate(const struct checking *c, const struct compilation *k, const struct pass *pass, int sample,
                            double *out)
{
    const struct sample *s = &c->sample[sample];
    if (!pass) return graph_eval(c->p->graph, &c->size[sample], s->tensor, s->tensors, out);
    if (pass->level == PASS_GRAPH) return graph_eval(k->graph, &c->size[sample], s->tensor, s->tensors, out);
    return loops_eval(k->loops, &c->size[sample], s->tensor, s->tensors, out);
}

/* Numbers of the result, and of what is saved beside it. */
static size_t outputs_of(const struct checking *c, const struct sample *s)
{
    return (size_t)(s->elements + s->elements / s->value_dim * c->p->saved);
}

/* Adds to each row, `times` times, what the direction of rounding changes in it, before all passes and after this one
   (NULL: before alone): where a row cancels, that is all that is left of it, and a pass that adds in another order may
   change as much. */
static void add_rounding(const struct checking *c, const struct compilation *k, const struct pass *pass, int sample,
                         double times, double *row)
{
    const struct sample *s = &c->sample[sample];
    struct arena *arena = arena_new();
    double *low = arena_alloc(arena, outputs_of(c, s) * sizeof *low),
           *high = arena_alloc(arena, outputs_of(c, s) * sizeof *high);
    for (int after = 0; after <= (pass ? 1 : 0); after++) {
        const int before = fegetround();
        fesetround(FE_DOWNWARD);
        const char *wrong = evaluate(c, k, after ? pass : NULL, sample, low);
        fesetround(FE_UPWARD);
        if (!wrong) wrong = evaluate(c, k, after ? pass : NULL, sample, high);
        fesetround(before);
        for (int64_t e = 0; e < s->elements && !wrong; e += s->value_dim) {
            double max = 0;
            for (int64_t n = e; n < e + s->value_dim; n++) max = fmax(max, fabs(high[n] - low[n]));
            if (isfinite(max)) row[e / s->value_dim] += times * max;
        }
    }
    arena_free(arena);
}

static bool check_pass(const struct compilation *k, const struct pass *pass, void *user)
{
    struct checking *c = user;
    struct worst worst = {.share = 0}, beyond = {.share = 0};
    for (int n = 0; n < c->of_passes; n++) {
        const struct sample *s = &c->sample[n];
        const char *wrong = evaluate(c, k, pass, n, c->out);
        if (wrong) {
            complain(c->o, "%s: after pass '%s': %s", c->p->spec->name, pass->name, wrong);
            return c->good = false;
        }
        struct worst here = {.share = 0};
        int64_t rows = s->elements / s->value_dim;
        for (int64_t r = 0; r < rows; r++) c->row[r] = row_largest(s->expected + r * s->value_dim, s->value_dim);
        find_worst(c, n, c->row, DTYPE_F64, &here);
        if (here.share > worst.share) worst = here;
        if (here.share <= PASS_MAX) continue;
        for (int64_t r = 0; r < rows; r++) c->row[r] *= PASS_MAX;
        add_rounding(c, k, pass, n, ROUNDINGS, c->row);
        find_worst(c, n, c->row, DTYPE_F64, &beyond);
    }
    const bool cancels = worst.share > PASS_MAX && beyond.share <= 1;
    report(c, pass->name, &worst, cancels ? "of a row that cancels" : "of the row", worst.share <= PASS_MAX || cancels);
    return true;
}

/* ---- the compiled kernel ---- */

static void *converted(const struct tensor *t, int64_t n, enum attn_dtype dtype)
{
    char *data = attn_alloc((size_t)n * attn_dtype_size(dtype) + 64);
    for (int64_t k = 0; data && k < n; k++) {
        switch (dtype) {
        case ATTN_F32: ((float *)(void *)data)[k] = (float)t->data[k]; break;
        case ATTN_BF16: ((uint16_t *)(void *)data)[k] = attn_bf16(t->data[k]); break;
        case ATTN_F16: ((uint16_t *)(void *)data)[k] = attn_f16(t->data[k]); break;
        case ATTN_F64: ((double *)(void *)data)[k] = t->data[k]; break;
        case ATTN_I32: ((int32_t *)(void *)data)[k] = (int32_t)t->data[k]; break;
        }
    }
    return data;
}

static double result_at(const void *result, int64_t k, enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: return (double)((const float *)result)[k];
    case ATTN_BF16: return attn_bf16_value(((const uint16_t *)result)[k]);
    case ATTN_F16: return attn_f16_value(((const uint16_t *)result)[k]);
    case ATTN_F64: return ((const double *)result)[k];
    case ATTN_I32: break;
    }
    return NAN;
}

/* The gradients of the kernel, after its forward, to `out`: one after the other. */
static int run_backward(const struct attn_kernel *kernel, struct attn_problem *problem, const void *params,
                        const void *const input[3], const void *result, const struct gradients *g, double *out)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    const struct tensor given = {"dout", g->dout};
    const int64_t elements = problem->batch * problem->heads * problem->n_q * kernel->value_dim;
    void *dout = converted(&given, elements, kernel->dtype), *d[MAX_TENSORS] = {NULL}, *by_input[3] = {NULL},
         *by_param[MAX_TENSORS] = {NULL};
    void *workspace = attn_alloc(kernel->backward_workspace(problem) + 64);
    enum attn_dtype dtype[MAX_TENSORS];
    int error = dout && workspace ? 0 : ATTN_EMEMORY;
    for (int a = 0; a < g->outputs; a++) {
        dtype[a] = kernel->dtype;
        void **to = NULL;
        for (int k = 0; k < 3; k++)
            if (strcmp(g->name[a], names[k]) == 0) to = &by_input[k];
        for (int k = 0, learned = 0; k < kernel->params; learned += attn_param_learned(&kernel->param[k++])) {
            if (strcmp(kernel->param[k].name, g->name[a] + 1) != 0) continue;
            to = &by_param[learned];
            dtype[a] = kernel->param[k].dtype;
        }
        d[a] = attn_alloc((size_t)g->count[a] * attn_dtype_size(dtype[a]) + 64);
        if (!d[a] || !to) error = ATTN_EMEMORY;
        if (to) *to = d[a];
    }
    if (!error)
        error = kernel->backward(problem, params, input[0], input[1], input[2], result, dout, by_input[0], by_input[1],
                                 by_input[2], by_param, workspace);
    for (int a = 0; a < g->outputs; a++) {
        for (int64_t n = 0; n < g->count[a] && !error; n++) *out++ = result_at(d[a], n, dtype[a]);
        attn_free(d[a]);
    }
    attn_free(dout);
    attn_free(workspace);
    return error;
}

/* With `gradients` those too, to `backward`. */
static int run_kernel(const struct attn_kernel *kernel, const struct sample *s, const struct problem_size *size,
                      int threads, double *out, const struct gradients *gradients, double *backward)
{
    struct attn_problem problem = {.batch = size->batch,
                                   .heads = size->kv_heads * size->members,
                                   .kv_heads = size->kv_heads,
                                   .n_q = size->n_q,
                                   .n_k = size->n_k,
                                   .threads = threads};
    void *array[MAX_TENSORS] = {NULL}, *result = attn_alloc((size_t)s->elements * 8 + 64),
         *workspace = attn_alloc(kernel->workspace(&problem) + 64);
    char *params = attn_alloc(kernel->params_bytes + 64);
    const void *input[3] = {NULL, NULL, NULL};
    int error = result && workspace && params ? 0 : ATTN_EMEMORY;
    if (gradients) problem.saved = attn_alloc(kernel->saved(&problem) + 64);
    if (gradients && !problem.saved) error = ATTN_EMEMORY;
    for (int t = 0; t < s->tensors && !error; t++) {
        enum attn_dtype dtype = kernel->dtype;
        for (int k = 0; k < kernel->params; k++)
            if (strcmp(kernel->param[k].name, s->tensor[t].name) == 0) dtype = kernel->param[k].dtype;
        array[t] = converted(&s->tensor[t], s->count[t], dtype);
        if (!array[t]) error = ATTN_EMEMORY;
        for (int k = 0; k < 3; k++)
            if (strcmp(s->tensor[t].name, (const char *const[]){"q", "k", "v"}[k]) == 0) input[k] = array[t];
        for (int k = 0; k < kernel->params && !error; k++)
            if (strcmp(kernel->param[k].name, s->tensor[t].name) == 0)
                memcpy(params + kernel->param[k].offset, &array[t], sizeof array[t]);
    }
    if (!error) error = kernel->forward(&problem, params, input[0], input[1], input[2], result, workspace);
    for (int64_t k = 0; k < s->elements && !error; k++) out[k] = result_at(result, k, kernel->dtype);
    if (gradients && !error) error = run_backward(kernel, &problem, params, input, result, gradients, backward);
    attn_free(problem.saved);
    for (int t = 0; t < s->tensors; t++) attn_free(array[t]);
    attn_free(result);
    attn_free(workspace);
    attn_free(params);
    return error;
}

/* The gradients: those of the interpreter, against central differences, and the kernel's against them. */
static enum status check_backward(struct checking *c, const struct attn_kernel *kernel)
{
    static const double DIFFERENCE_MAX = 1e-5;
    uint64_t state = c->o->has_seed ? c->o->seed : 1;
    double difference = 0, largest = 0;
    for (int n = 0; n < c->of_passes; n++) {
        const struct sample *s = &c->sample[n];
        struct arena *arena = arena_new();
        struct gradients g = {.all = 0};
        const char *wrong = gradients_of(c->p, s, &c->size[n], &state, arena, &g);
        double *got = arena_alloc(arena, (size_t)g.all * sizeof *got);
        const int error = wrong ? 0 : run_kernel(kernel, s, &c->size[n], c->o->threads, c->out, &g, got);
        if (wrong || error) {
            complain(c->o, "%s: gradients: %s", c->p->spec->name, wrong ? wrong : attn_strerror(error));
            arena_free(arena);
            return STATUS_MACHINE;
        }
        difference = fmax(difference, g.difference);
        for (int64_t a = 0, k = 0; a < g.outputs; a++)
            for (int64_t e = 0; e < g.count[a]; e++, k++) {
                const double off = fabs(got[k] - g.expected[k]), share = off == 0 ? 0 : off / g.allowed[k];
                if (share <= largest) continue;
                largest = isnan(share) ? INFINITY : share;
                if (largest > 1 && c->good) {
                    complain(c->o, "%s: with %lld queries and %lld keys, element %lld of %s is %.9g in place of %.9g",
                             c->p->spec->name, (long long)c->size[n].n_q, (long long)c->size[n].n_k, (long long)e,
                             g.name[a], got[k], g.expected[k]);
                    c->good = false;
                }
            }
        arena_free(arena);
    }
    if (difference > DIFFERENCE_MAX && c->good)
        complain(c->o, "%s: gradients are not the differences of the result", c->p->spec->name);
    c->good &= difference <= DIFFERENCE_MAX;
    say(c, "  %-22s %10.2e of central differences%s\n", "gradients", difference,
        difference <= DIFFERENCE_MAX ? "" : "   WRONG");
    say(c, "  %-22s %10.2e of what they may be off by%s\n", "the kernel's gradients", largest,
        largest <= 1 ? "" : "   WRONG");
    return STATUS_DONE;
}

static enum status check_kernel(struct checking *c)
{
    struct loaded_kernel loaded;
    enum status status = kernel_load(c->p->spec->name, unit_source_here(c->p, c->o), c->p->header.data,
                                     c->o->console.quiet, &loaded);
    if (status != STATUS_DONE) return status;
    struct worst worst = {.share = 0};
    for (int n = 0; n < c->sizes && status == STATUS_DONE; n++) {
        int error = run_kernel(loaded.kernel, &c->sample[n], &c->size[n], c->o->threads, c->out, NULL, NULL);
        if (error) {
            complain(c->o, "%s: %s", c->p->spec->name, attn_strerror(error));
            status = STATUS_MACHINE;
        } else
            find_worst(c, n, c->sample[n].allowed, c->p->spec->dtype, &worst);
    }
    if (status == STATUS_DONE) report(c, "the compiled kernel", &worst, "of what it may be off by", worst.share <= 1);
    if (status == STATUS_DONE && loaded.kernel->backward) status = check_backward(c, loaded.kernel);
    kernel_unload(&loaded);
    return status;
}

/* ---- the sizes ---- */

/* --lengths and --heads; the interpreters visit every pair, so that where keys are many queries are few. */
static bool read_sizes(const struct options *o, struct arena *arena, struct problem_size **size, int *count)
{
    struct lengths lengths;
    struct bench_request heads;
    *count = 0;
    if (!o->lengths && !o->heads) {
        *size = memcpy(arena_alloc(arena, sizeof sizes), sizes, sizeof sizes);
        *count = SIZES;
        return true;
    }
    if (!lengths_read(o, "1,7,97,290", &lengths) || !heads_read(o, &heads)) return false;
    *size = arena_alloc(arena, (size_t)(lengths.count * heads.heads) * sizeof **size);
    for (int k = 0; k < lengths.count; k++)
        for (int h = 0; h < heads.heads; h++) {
            const int64_t n = lengths.length[k], all = heads.head[h].heads, queries = MAX_PAIRS / n / all;
            if (n * heads.head[h].kv_heads > MAX_KEYS || all > MAX_HEADS) {
                complain(o,
                         "check goes up to %d heads, and to %d keys of all of them together: the interpreter is slow",
                         MAX_HEADS, MAX_KEYS);
                return false;
            }
            (*size)[(*count)++] = (struct problem_size){.batch = 1,
                                                        .kv_heads = heads.head[h].kv_heads,
                                                        .members = all / heads.head[h].kv_heads,
                                                        .n_q = queries > n             ? n
                                                               : queries > FEW_QUERIES ? queries
                                                               : n < FEW_QUERIES       ? n
                                                                                       : FEW_QUERIES,
                                                        .n_k = n};
        }
    return true;
}

/* A few queries at every length, up to some, from which other loops run. */
static void add_sizes(struct checking *c, const struct problem_size *size, int count)
{
    const struct unit *p = c->p;
    c->size = arena_alloc(p->arena, ((size_t)count + (size_t)p->versions) * sizeof *c->size);
    memcpy(c->size, size, (size_t)count * sizeof *size);
    c->sizes = c->of_passes = count;
    for (int k = 0; k < p->versions; k++) {
        const int64_t from = p->version[k].from;
        bool there = from < 1 || from > LONGEST;
        for (int n = count; n < c->sizes; n++) there |= c->size[n].n_k == from;
        if (!there)
            c->size[c->sizes++] = (struct problem_size){
                .batch = 1, .kv_heads = 1, .members = 1, .n_q = FEW_QUERIES, .n_k = from};
    }
}

static void say_sizes(const struct checking *c)
{
    say(c, "%s: queries x keys", c->p->spec->name);
    for (int n = 0; n < c->sizes; n++)
        say(c, "%s %lldx%lld",
            n == c->of_passes ? "; of the kernel also"
            : n               ? ","
                              : "",
            (long long)c->size[n].n_q, (long long)c->size[n].n_k);
    say(c, "; against the float64 interpreter\n");
}

/* ---- all together ---- */

static enum status check_unit(const struct options *o, struct unit *p, const struct problem_size *size, int count)
{
    struct checking checking = {.o = o, .p = p, .good = true}, *c = &checking;
    struct arena *arena = p->arena;
    uint64_t state = o->has_seed ? o->seed : 1;
    size_t max = 0;
    bool rounded = false, linear = false;
    for (int t = 0; t < p->compilations; t++) {
        rounded |= rounds_weights(p->compilation[t]->loops, p->compilation[t]->loops->body);
        linear |= p->compilation[t]->linear;
    }
    add_sizes(c, size, count);
    c->sample = arena_alloc(arena, (size_t)c->sizes * sizeof *c->sample);
    say_sizes(c);
    for (int n = 0; n < c->sizes; n++) {
        struct sample *s = &c->sample[n];
        s->elements = elements_of(p->graph, &p->graph->value[p->graph->output[0].value], &c->size[n]);
        s->value_dim = p->spec->value_dim;
        s->expected = arena_alloc(arena, (size_t)s->elements * sizeof(double));
        s->allowed = arena_alloc(arena, (size_t)(s->elements / s->value_dim) * sizeof(double));
        if (outputs_of(c, s) > max) max = outputs_of(c, s);
        fill(s, p->graph, &c->size[n], n % 2 == 0 || linear, &state, arena);
        const char *wrong = graph_eval(p->graph, &c->size[n], s->tensor, s->tensors, s->expected);
        for (int64_t k = 0; k < s->elements && !wrong; k++)
            if (!isfinite(s->expected[k]) || (p->spec->dtype != DTYPE_F64 && fabs(s->expected[k]) > (double)FLT_MAX)) {
                complain(o, "%s: weights of random arrays overflow %s, so there is nothing to compare with",
                         p->spec->name, isfinite(s->expected[k]) ? "f32" : "a double before they are divided");
                return STATUS_INPUT;
            }
        if (!wrong) wrong = find_allowed(s, p->graph, linear, rounded, &c->size[n], &state, arena);
        if (!wrong && p->spec->dtype == DTYPE_F64)
            add_rounding(c, NULL, NULL, n, 1, s->allowed); /* the interpreter's doubles are no wider */
        if (wrong) {
            complain(o, "%s: %s", p->spec->name, wrong);
            return STATUS_MACHINE;
        }
    }
    c->out = arena_alloc(arena, max * sizeof(double));
    c->row = arena_alloc(arena, max * sizeof(double));
    for (int t = 0; t < p->compilations && c->good; t++) {
        struct compilation again = *p->compilation[t];
        say(c, " %s%s, %s", again.target->name, target_features_text(arena, again.target),
            again.linear ? "linear" : "quadratic");
        if (again.schedule && again.schedule->from)
            say(c, ", the schedule from %lld keys on", (long long)again.schedule->from);
        say(c, "\n");
        again.graph = build_graph(arena, p->spec, again.diagnostics);
        again.loops = NULL;
        passes_run(&again, check_pass, c);
    }
    enum status status = c->good ? check_kernel(c) : STATUS_INPUT;
    if (status == STATUS_MACHINE) return status;
    say(c, "%s: %s\n", p->spec->name, c->good ? "ok" : "wrong");
    return c->good ? STATUS_DONE : STATUS_INPUT;
}

int command_check(const struct options *o)
{
    if (o->files == 0) {
        complain(o, "check takes a spec: attnc check SPEC.yaml");
        return STATUS_USAGE;
    }
    struct arena *arena = arena_new();
    struct problem_size *size;
    int count;
    enum status worst = read_sizes(o, arena, &size, &count) ? STATUS_DONE : STATUS_USAGE;
    for (int k = 0; k < o->files && worst != STATUS_USAGE; k++) {
        enum status status;
        struct unit *p = unit_make(o->file[k], o, &status);
        if (p) unit_warn(p, o);
        if (p) status = check_unit(o, p, size, count);
        unit_free(p);
        if (status > worst) worst = status;
    }
    arena_free(arena);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain(o, "cannot write to standard output");
        worst = STATUS_MACHINE;
    }
    return (int)worst;
}
