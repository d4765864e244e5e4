/* attnc check: the value of the spec's meaning in the float64 interpreter, against the interpreter after every pass and
   against the compiled kernel, on random arrays of several awkward sizes or of lengths that were asked for. The same of
   its gradients, which central differences of that value have to bear out first. Its last line is the verdict. */
#include "check.h"
#include "command_line.h"
#include "../bench/bench.h"
#include "../driver/driver.h"
#include "../support/support.h"

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
/* Pairs of query and key that the interpreters visit at most for --lengths, its keys and heads; queries where there are
   too many pairs, and for the lengths up to LONGEST from which a kernel has other loops. */
enum { MAX_PAIRS = 1 << 18, MAX_KEYS = 1 << 18, MAX_HEADS = 64, FEW_QUERIES = 3, LONGEST = 16384 };

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
        const int64_t n = check_wanted(g->module, value->name, value->rank, value->axes, size).elements;
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

/* Whether a copy rounds f32 to bf16 ahead of a product: weights, or features and states of a linear form. */
static bool rounds(const struct loops *l, const struct stmt *s)
{
    for (; s; s = s->next) {
        const struct array *to = s->op == LOOPS_COPY ? &l->array[s->assign[0].to.of] : NULL;
        if (to && l->array[s->operand[0].of].dtype == DTYPE_F32 && (to->paired || to->matrix)) return true;
        if (rounds(l, s->body)) return true;
    }
    return false;
}

/* What a kernel in f32 may be off by in each row: 2e-6 of the row's scale (with |v| in place of v), and 4 times what
   moving every input by half an ulp changes; twice that where the kernel has a linear form; in f64 2^-29 of it. Where
   weights are rounded to bf16, 2^-8 of the scale comes to it, and 2^-12 where what they are made from are two terms of
   bf16, in a linear form. Inputs are moved more often where a row has few elements to tell what that changes: of four
   numbers all may happen to move by little. */
static const char *find_allowed(struct sample *s, const struct graph *g, bool linear, bool rounded,
                                const struct problem_size *size, uint64_t *state, struct arena *arena)
{
    int64_t rows = s->out.elements / s->out.row;
    double *moved = arena_alloc(arena, (size_t)s->out.elements * sizeof *moved),
           *change = arena_alloc(arena, (size_t)rows * sizeof *change);
    double *scale = arena_alloc(arena, (size_t)rows * sizeof *scale);
    const int64_t tries = s->out.row < FEW_ELEMENTS ? NUDGES * FEW_ELEMENTS / s->out.row : NUDGES;
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
            double *row = moved + r * s->out.row;
            for (int64_t k = 0; k < s->out.row && try > 0; k++) row[k] -= s->out.expected[r * s->out.row + k];
            double max = check_largest(row, s->out.row);
            if (try == 0)
                scale[r] = max;
            else if (4 * max > change[r])
                change[r] = 4 * max;
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        s->allowed[r] = (2e-6 * scale[r] + change[r]) * (linear ? 2 : 1) *
                        (g->module->dtype == DTYPE_F64 ? 0x1p-29 : 1);
        if (rounded) s->allowed[r] += (linear ? 0x1p-8 + 0x1p-12 : 0x1p-8) * scale[r];
    }
    return NULL;
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
                         "check goes up to %d heads, and to %d keys of all of them together: the interpreter "
                         "is slow",
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
    check_say(c, "%s: queries x keys", c->p->spec->name);
    for (int n = 0; n < c->sizes; n++)
        check_say(c, "%s %lldx%lld",
                  n == c->of_passes ? "; of the kernel also"
                  : n               ? ","
                                    : "",
                  (long long)c->size[n].n_q, (long long)c->size[n].n_k);
    check_say(c, "; against the float64 interpreter\n");
}

/* ---- all together ---- */

/* Random arrays, and what their result should be. */
static enum status make_sample(const struct checking *c, int n, bool linear, bool rounded, uint64_t *state)
{
    const struct unit *p = c->p;
    const struct graph *g = p->graph;
    const struct value *out = &g->value[g->output[0].value];
    struct sample *s = &c->sample[n];
    s->out = check_wanted(g->module, g->output[0].name, out->rank, out->axes, &c->size[n]);
    const int64_t rows = s->out.elements / s->out.row;
    double *largest = arena_alloc(p->arena, (size_t)rows * sizeof *largest);
    s->out.expected = arena_alloc(p->arena, (size_t)s->out.elements * sizeof(double));
    s->out.measure = largest;
    s->allowed = arena_alloc(p->arena, (size_t)rows * sizeof(double));
    fill(s, g, &c->size[n], n % 2 == 0 || linear, state, p->arena);
    const char *wrong = graph_eval(g, &c->size[n], s->tensor, s->tensors, s->out.expected);
    for (int64_t k = 0; k < s->out.elements && !wrong; k++) {
        const double x = s->out.expected[k];
        if (isfinite(x) && (p->spec->dtype == DTYPE_F64 || fabs(x) <= (double)FLT_MAX)) continue;
        complain(c->o, "%s: weights of random arrays overflow %s, so there is nothing to compare with", p->spec->name,
                 isfinite(x) ? "f32" : "a double before they are divided");
        return STATUS_INPUT;
    }
    for (int64_t r = 0; r < rows; r++) largest[r] = check_largest(s->out.expected + r * s->out.row, s->out.row);
    if (!wrong) wrong = find_allowed(s, g, linear, rounded, &c->size[n], state, p->arena);
    if (!wrong && p->spec->dtype == DTYPE_F64)
        check_add_rounding(c, n, s->allowed); /* the interpreter's doubles are no wider */
    if (wrong) complain(c->o, "%s: %s", p->spec->name, wrong);
    return wrong ? STATUS_MACHINE : STATUS_DONE;
}

/* What the gradients of each sample should be: the interpreter's, if its forward bears them out. */
static enum status make_gradients(struct checking *c)
{
    static const double DIFFERENCE_MAX = 1e-5;
    uint64_t state = c->o->has_seed ? c->o->seed : 1;
    double difference = 0;
    for (int n = 0; n < c->sizes; n++) {
        struct gradients *g = arena_alloc(c->p->arena, sizeof *g);
        const char *wrong = gradients_of(c->p, &c->sample[n], &c->size[n], n < c->of_passes, &state, c->p->arena, g);
        if (wrong) {
            complain(c->o, "%s: gradients: %s", c->p->spec->name, wrong);
            return STATUS_MACHINE;
        }
        c->sample[n].gradients = g;
        difference = fmax(difference, g->difference);
    }
    c->good = difference <= DIFFERENCE_MAX;
    check_say(c, "  %-22s %10.2e of central differences%s\n", "gradients", difference, c->good ? "" : "   WRONG");
    if (!c->good) complain(c->o, "%s: gradients are not the differences of the result", c->p->spec->name);
    return STATUS_DONE;
}

static enum status check_unit(const struct options *o, struct unit *p, const struct problem_size *size, int count)
{
    struct checking checking = {.o = o, .p = p, .good = true}, *c = &checking;
    uint64_t state = o->has_seed ? o->seed : 1;
    bool rounded = false, linear = false;
    enum status status = STATUS_DONE;
    for (int t = 0; t < p->compilations; t++) {
        rounded |= rounds(p->compilation[t]->loops, p->compilation[t]->loops->body);
        linear |= p->compilation[t]->linear;
    }
    add_sizes(c, size, count);
    c->sample = arena_alloc(p->arena, (size_t)c->sizes * sizeof *c->sample);
    say_sizes(c);
    for (int n = 0; n < c->sizes && status == STATUS_DONE; n++) status = make_sample(c, n, linear, rounded, &state);
    if (p->backwards && status == STATUS_DONE) status = make_gradients(c);
    if (status != STATUS_DONE) return status;
    if (c->good) check_passes(c);
    if (c->good) status = check_kernel(c);
    if (status == STATUS_MACHINE) return status;
    check_say(c, "%s: %s\n", p->spec->name, c->good ? "ok" : "wrong");
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
