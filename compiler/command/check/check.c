/* attnc check: compares with expected values, which the float64 interpreter computes for random arrays:
   - the values of each program after every pass (passes.c);
   - the output of the kernel (kernel.c);
   - the gradients of the programs and of the kernel. Central differences confirm the expected gradients (gradients.c).
   Problem sizes are not multiples of tiles, unless --lengths sets them. */
#include "check.h"
#include "../command_line.h"
#include "../../bench/bench.h"
#include "../../driver/driver.h"
#include "../../support/support.h"
#include "../../variant/variant.h"

#include <jansson.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct problem_size sizes[] = {
    {.batch = 3, .kv_heads = 1, .members = 1, .n_q = 1, .n_k = 1},
    {.batch = 2, .kv_heads = 1, .members = 2, .n_q = 7, .n_k = 7},
    {.batch = 1, .kv_heads = 2, .members = 1, .n_q = 65, .n_k = 97},
    {.batch = 1, .kv_heads = 1, .members = 1, .n_q = 131, .n_k = 50},
    {.batch = 1, .kv_heads = 1, .members = 1, .n_q = 2, .n_k = 290},
};
enum { SIZES = sizeof sizes / sizeof *sizes };
/* - MAX_PAIRS, MAX_KEYS, MAX_HEADS: limits of problems, because the interpreter is slow
   - FEW_QUERIES: the queries of a problem that would have too many pairs, and of problems that `add_sizes` adds
   - LONGEST: the maximum length of an added problem */
enum { MAX_PAIRS = 1 << 18, MAX_KEYS = 1 << 18, MAX_HEADS = 64, FEW_QUERIES = 3, LONGEST = 16384 };

/* Returns true if the loops round f32 weights, features or states to bf16 before a product. */
static bool rounds(const struct loops *l, const struct stmt *s)
{
    for (; s; s = s->next) {
        const struct array *to = s->op == LOOPS_COPY ? &l->array[s->assign[0].to.of] : NULL;
        if (to && l->array[s->operand[0].of].dtype == DTYPE_F32 && (to->paired || to->matrix)) return true;
        if (rounds(l, s->body)) return true;
    }
    return false;
}

/* Returns the graph of an output whose terms do not cancel: its change if one sum that it reads changes by its size,
   added over these sums. */
static struct graph *without_cancelling(const struct graph *out)
{
    struct graph *const g = graph_copy(out);
    struct value *const v = &g->value[g->output[0].value];
    const struct expr *all = NULL;
    for (int k = 0; k < v->operands; k++) {
        const struct expr *const sum = expr_operand(g->module, k),
                                 *const rate = expr_derivative(g->module, v->expr, sum),
                                 *const change = expr_abs(g->module, expr_mul(g->module, rate, sum));
        if (g->value[v->operand[k].of].op != GRAPH_PARAM) all = all ? expr_add(g->module, all, change) : change;
    }
    if (all) v->expr = all;
    return g;
}

/* Sets the tolerance of each row of the output. It is the sum of
   - 2e-6 of the scale (the output of `scales` with |v| instead of v);
   - 4 times the row's largest change if every input but v moves by half an ulp and operations are rounded to f32;
   - for weights in bf16, 2^-8 of the scale, and in a linear form 2^-12 more;
   - the error by underflow.
   The first two are doubled for a linear form, and multiplied by 2^-29 for f64. */
static const char *find_allowed(struct sample *s, const struct graph *g, const struct graph *scales, bool linear,
                                bool rounded, const struct problem_size *size, uint64_t *state, struct arena *arena)
{
    const struct wanted *const out = &s->output[0];
    const int64_t rows = out->elements / out->row;
    double *moved = arena_alloc(arena, (size_t)out->elements * sizeof *moved),
           *change = arena_alloc(arena, (size_t)rows * sizeof *change);
    double *scale = arena_alloc(arena, (size_t)rows * sizeof *scale);
    const int64_t tries = check_tries(out->row);
    uint64_t noise = *state;
    const double lost = check_lost(s, g->module->dtype, size);
    check_place(g->module, s);
    for (int64_t try = 0; try <= tries; try++) { /* try 0 computes the scale, later tries perturb the inputs */
        /* The sample's tensors. If the values are stored within the keys, |v| follows as one more tensor. */
        struct tensor in[MAX_TENSORS + 1];
        const int within = try == 0 && s->values.name;
        if (within) in[s->tensors] = (struct tensor){s->values.name, check_sizes(&s->values, s->values_count, arena)};
        for (int t = 0; t < s->tensors; t++) {
            in[t] = s->tensor[t];
            const bool values = s->array[t]->quantity == QUANTITY_VALUE;
            if (values != (try == 0) || dtype_is_integer(s->array[t]->dtype)) continue;
            in[t].data = arena_alloc(arena, (size_t)s->count[t] * sizeof *in[t].data);
            for (int64_t k = 0; k < s->count[t]; k++) {
                double x = s->tensor[t].data[k];
                in[t].data[k] = values ? fabs(x) : x * (1 + (check_uniform(state) < 0.5 ? -1 : 1) * 0x1p-24);
            }
        }
        const char *wrong = try ? graph_eval_noisy(g, size, in, s->tensors, &noise, moved)
                                : graph_eval(scales, size, in, s->tensors + within, moved);
        if (wrong) return wrong;
        for (int64_t r = 0; r < rows; r++) {
            double *row = moved + r * out->row;
            for (int64_t k = 0; k < out->row && try > 0; k++) row[k] -= out->expected[r * out->row + k];
            double max = check_largest(row, out->row);
            if (try == 0)
                scale[r] = max;
            else if (4 * max > change[r] && isfinite(max))
                change[r] = 4 * max;
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        out->allowed[r] = (2e-6 * scale[r] + change[r]) * (linear ? 2 : 1) *
                          (g->module->dtype == DTYPE_F64 ? 0x1p-29 : 1);
        if (rounded) out->allowed[r] += (linear ? 0x1p-8 + 0x1p-12 : 0x1p-8) * scale[r];
        out->allowed[r] += lost;
    }
    return NULL;
}

/* Sets the tolerances of the outputs after the result by the rules for the result. The scale of an element x is 1 +
   |x|: a logarithm of a sum changes by the relative error of the sum. */
static const char *find_allowed_further(struct sample *s, const struct graph *g, bool linear, bool rounded,
                                        const struct problem_size *size, uint64_t noise, int64_t elements,
                                        struct arena *arena)
{
    const double lost = check_lost(s, g->module->dtype, size);
    double *const all = arena_alloc(arena, (size_t)elements * sizeof *all);
    const char *wrong = NULL;
    for (int try = 0; try < NUDGES * FEW_ELEMENTS && !wrong && s->outputs > 1; try++) {
        wrong = graph_eval_noisy(g, size, s->tensor, s->tensors, &noise, all);
        const double *got = all + s->output[0].elements;
        for (int o = 1; o < s->outputs; got += s->output[o++].elements)
            for (int64_t k = 0; k < s->output[o].elements; k++) {
                const double change = 4 * fabs(got[k] - s->output[o].expected[k]);
                if (change > s->output[o].allowed[k]) s->output[o].allowed[k] = change;
            }
    }
    for (int o = 1; o < s->outputs; o++)
        for (int64_t k = 0; k < s->output[o].elements; k++) {
            double *const allowed = &s->output[o].allowed[k];
            const double measure = s->output[o].measure[k];
            *allowed = (2e-6 * measure + *allowed) * (linear ? 2 : 1) * (g->module->dtype == DTYPE_F64 ? 0x1p-29 : 1);
            if (g->module->dtype == DTYPE_F64) *allowed += 1e-13 * measure;
            if (rounded) *allowed += (linear ? 0x1p-8 + 0x1p-12 : 0x1p-8) * measure;
            *allowed += lost;
        }
    return wrong;
}

/* ---- problem sizes ---- */

/* Returns the number of sequences of problem `number`. It is 2, 3 or 1, and less if there would be more than
   MAX_KEYS keys. */
static int64_t batch_of(int number, int64_t keys)
{
    const int64_t most = MAX_KEYS / keys, batch = 1 + (number + 1) % 3;
    return batch < most ? batch : most;
}

/* Sets the problem sizes, from --lengths and --heads or defaults. If there are many keys, there are few queries. */
static bool read_sizes(const struct options *o, struct arena *arena, struct problem_size **size, int64_t **sharing,
                       int *count)
{
    struct lengths lengths;
    struct bench_request heads;
    *count = 0;
    if (!o->lengths && !o->heads) {
        *size = memcpy(arena_alloc(arena, sizeof sizes), sizes, sizeof sizes);
        *count = SIZES;
        *sharing = arena_alloc(arena, SIZES * sizeof **sharing); /* 0 means 1 */
        return true;
    }
    if (!lengths_read(o, "1,7,97,290", &lengths) || !heads_read(o, &heads)) return false;
    *size = arena_alloc(arena, (size_t)(lengths.count * heads.heads) * sizeof **size);
    *sharing = arena_alloc(arena, (size_t)(lengths.count * heads.heads) * sizeof **sharing);
    for (int k = 0; k < lengths.count; k++)
        for (int h = 0; h < heads.heads; h++) {
            const int64_t n = lengths.length[k], all = heads.head[h].heads;
            if (n * heads.head[h].kv_heads > MAX_KEYS || all > MAX_HEADS)
                return complain(
                    o,
                    "check takes up to %d heads, and up to %d keys in all heads together, because the interpreter "
                    "is slow",
                    MAX_HEADS, MAX_KEYS);
            const int64_t batch = batch_of(*count, n * heads.head[h].kv_heads), queries = MAX_PAIRS / n / all / batch;
            (*sharing)[*count] = heads.head[h].key_heads ? all / heads.head[h].key_heads : 1;
            (*size)[(*count)++] = (struct problem_size){.batch = batch,
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

/* Limits problem sizes to the spec's maximum length. Returns false after an error if --lengths exceeds it. */
static bool fit_sizes(const struct checking *c)
{
    const int64_t most = c->p->spec->max_length;
    for (int n = 0; n < c->sizes && c->p->spec->rate; n++) { /* 'delta' needs as many heads as key/value heads */
        c->size[n].kv_heads *= c->size[n].members;
        c->size[n].members = 1;
    }
    for (int n = 0; n < c->sizes && most; n++) {
        struct problem_size *const size = &c->size[n];
        if (c->o->lengths && !unit_allows(c->p, c->o, size->n_k)) return false;
        if (size->n_q > most) size->n_q = most;
        if (size->n_k > most) size->n_k = most;
    }
    return true;
}

/* Adds a problem with FEW_QUERIES queries for each length, up to LONGEST, at which the kernel changes its version. */
static bool add_sizes(struct checking *c, const struct problem_size *size, const int64_t *sharing, int count)
{
    const struct unit *p = c->p;
    const int64_t longest = p->spec->max_length && p->spec->max_length < LONGEST ? p->spec->max_length : LONGEST;
    const int versions = p->kernel.of[STEP_FORWARD].count;
    c->size = arena_alloc(p->arena, (size_t)(count + versions) * sizeof *c->size);
    c->sharing = arena_alloc(p->arena, (size_t)(count + versions) * sizeof *c->sharing);
    memcpy(c->size, size, (size_t)count * sizeof *size);
    for (int n = 0; n < count + versions; n++) {
        c->sharing[n] = n < count && sharing[n] > 1 ? sharing[n] : 1;
        if (c->sharing[n] == 1 || !p->spec->values_are_keys) continue;
        return complain(c->o, "%s: with 'values: keys', k cannot have fewer heads than v", p->spec->name);
    }
    c->sizes = c->of_passes = count;
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_FORWARD], &v);) {
        const int64_t from = v->from;
        bool there = from < 1 || from > longest;
        for (int n = count; n < c->sizes; n++) there |= c->size[n].n_k == from;
        if (there) continue;
        c->size[c->sizes] = (struct problem_size){
            .batch = batch_of(c->sizes + 1, from), .kv_heads = 1, .members = 1, .n_q = FEW_QUERIES, .n_k = from};
        c->sizes++;
    }
    return fit_sizes(c);
}

static void say_sizes(const struct checking *c)
{
    check_say(c, "%s: sequences x queries x keys", c->p->spec->name);
    for (int n = 0; n < c->sizes; n++)
        check_say(c, "%s %lldx%lldx%lld",
                  n == c->of_passes ? "; of the kernel also"
                  : n               ? ","
                                    : "",
                  (long long)c->size[n].batch, (long long)c->size[n].n_q, (long long)c->size[n].n_k);
    check_say(c, "; against the float64 interpreter\n");
}

static void say_verdict(const struct checking *c)
{
    const char *const name = c->p->spec->name;
    if (c->o->json) {
        json_t *const says = json_pack("{s:s, s:b, s:f}", "name", name, "ok", c->good, "largest_error", c->worst.share);
        char *const line = says ? json_dumps(says, JSON_COMPACT) : NULL;
        printf("%s\n", line ? line : "null");
        output_flush();
        free(line);
        json_decref(says);
    } else if (!c->good)
        check_say(c, "%s: wrong\n", name);
    else if (c->worst.of)
        check_say(c, "%s: ok; the largest error is %.2g of the tolerance, in %s with %lld queries and %lld keys\n",
                  name, c->worst.share, check_element(c, &c->worst), (long long)c->size[c->worst.sample].n_q,
                  (long long)c->size[c->worst.sample].n_k);
    else
        check_say(c, "%s: ok; there is no error\n", name);
}

/* ---- the command attnc check ---- */

/* Makes the outputs of sample n, with memory for their expected values, measures and tolerances. Returns the number of
   their elements. Only the result has a measure for a whole row. */
static int64_t make_outputs(const struct checking *c, const struct graph *g, int n, struct sample *s)
{
    const struct kernel_arrays *const arrays = c->p->kernel.arrays;
    struct arena *const arena = c->p->arena;
    int64_t all = 0;
    s->outputs = g->outputs;
    s->output = arena_alloc(arena, (size_t)g->outputs * sizeof *s->output);
    for (int o = 0; o < g->outputs; o++) {
        struct wanted *const w = &s->output[o];
        const struct value *const v = &g->value[g->output[o].value];
        *w = check_wanted(g->module, g->output[o].name, v->rank, v->axes, &c->size[n]);
        w->array = &arrays->array[o ? kernel_array_find(arrays, w->name) : kernel_array_of(arrays, QUANTITY_RESULT)];
        if (o) w->row = 1;
        w->allowed = arena_alloc(arena, (size_t)(w->elements / w->row) * sizeof *w->allowed);
        all += w->elements;
    }
    return all;
}

/* Computes the expected outputs of graph `g` for sample n, and the tolerances. */
static enum status find_expected(const struct checking *c, const struct graph *g, int n, bool rounded, uint64_t *state,
                                 struct sample *s)
{
    const struct unit *p = c->p;
    struct graph *const of_out = graph_copy(g);
    of_out->outputs = 1; /* keeps only the result */
    const int64_t elements = make_outputs(c, g, n, s);
    double *expected = arena_alloc(p->arena, (size_t)elements * sizeof *expected);
    const uint64_t noise = *state;
    check_place(g->module, s);
    check_place(of_out->module, s);
    const char *wrong = graph_eval(g, &c->size[n], s->tensor, s->tensors, expected);
    for (int o = 0; o < s->outputs && !wrong; expected += s->output[o++].elements) {
        struct wanted *const w = &s->output[o];
        double *const measure = arena_alloc(p->arena, (size_t)(w->elements / w->row) * sizeof *measure);
        w->expected = expected;
        w->measure = measure;
        for (int64_t k = 0; k < w->elements; k++) {
            const double x = expected[k];
            const bool unseen = o && x == -INFINITY;
            if (unseen || (isfinite(x) && (p->spec->dtype == DTYPE_F64 || fabs(x) <= (double)FLT_MAX))) continue;
            return complain_as(c->o, STATUS_INPUT,
                               "%s: the weights of random arrays overflow %s, so the kernel cannot be compared",
                               p->spec->name, isfinite(x) ? "f32" : "a double before they are divided");
        }
        for (int64_t r = 0; r < w->elements / w->row; r++)
            measure[r] = o == 0                  ? check_largest(expected + r * w->row, w->row)
                         : isfinite(expected[r]) ? 1 + fabs(expected[r])
                                                 : 1;
    }
    if (!wrong) wrong = find_allowed_further(s, g, c->linear, rounded, &c->size[n], noise, elements, p->arena);
    struct graph *const scales = p->spec->output ? without_cancelling(of_out) : of_out;
    if (!wrong) wrong = find_allowed(s, of_out, scales, c->linear, rounded, &c->size[n], state, p->arena);
    /* In f64, the rounding errors of the interpreter are as large as those of the kernel. */
    if (!wrong && p->spec->dtype == DTYPE_F64) check_add_rounding(c, of_out, n, s->output[0].allowed);
    if (wrong) complain(c->o, "%s: %s", p->spec->name, wrong);
    return wrong ? STATUS_MACHINE : STATUS_DONE;
}

/* Draws positions of first queries for every other sample, if the spec has positions. A state has its own positions.
   In a linear form, no query is after the last key. */
static void draw_positions(const struct checking *c, int n, uint64_t *state)
{
    const struct problem_size *const size = &c->size[n];
    if (n % 2 == 0 || !graph_has(c->p->graph, EXPR_START) || c->p->spec->emit & EMIT_DECODE) return;
    int64_t *const start = arena_alloc(c->p->arena, (size_t)size->batch * sizeof *start);
    const int64_t last = c->linear ? size->n_k - size->n_q : size->n_k + 1, positions = size->n_k + size->n_q / 2 + 1;
    for (int64_t b = 0; b < size->batch; b++) start[b] = last - (int64_t)(check_uniform(state) * (double)positions);
    c->sample[n].query_start = start;
}

/* Returns the share of a number by which rounding to a type of keys and values can change it. */
static double rounding_of(enum dtype dtype)
{
    return dtype == DTYPE_F16 ? 0x1p-11 : dtype == DTYPE_BF16 ? 0x1p-8 : dtype == DTYPE_Q4_0 ? 0x1p-3 : 0x1p-4;
}

/* Replaces the keys by prepared and rounded ones, which are the keys in a state. */
static const char *store_keys(const struct checking *c, int n, struct sample *s)
{
    struct arena *const arena = c->p->arena;
    const struct spec *const spec = c->p->spec;
    struct diagnostics *const none = diagnostics_new(arena, "", NULL, 0); /* p->graph was built without errors */
    const struct graph *const g = build_graph_that_prepares(arena, spec, c->p->counting, none);
    struct problem_size size = c->size[n];
    size.members = 1;
    size.n_q = size.n_k;
    const struct kernel_arrays *const arrays = c->p->kernel.arrays;
    struct tensor in[MAX_TENSORS];
    int count = 0, k = 0;
    for (int t = 0; t < s->tensors; t++) {
        if (s->array[t]->quantity == QUANTITY_QUERY) continue;
        in[count++] = s->tensor[t];
        if (s->array[t]->quantity != QUANTITY_KEY) continue;
        k = t;
        in[count - 1].name = arrays->array[kernel_array_of(arrays, QUANTITY_QUERY)].name; /* which it prepares */
    }
    double *const made = arena_alloc(arena, (size_t)s->count[k] * sizeof *made);
    const char *const wrong = graph_eval(g, &size, in, count, made);
    if (wrong) return wrong;
    check_round_rows(made, s->count[k] / spec->head_dim, spec->head_dim, spec->k_storage, arena);
    s->tensor[k].data = made;
    if (!s->values.name || s->tensors == MAX_TENSORS) return NULL;
    check_round_rows(s->values.data, s->values_count / spec->value_dim, spec->value_dim, spec->k_storage, arena);
    s->array[s->tensors] = &arrays->array[kernel_array_of(arrays, QUANTITY_VALUE)];
    s->count[s->tensors] = s->values_count;
    s->tensor[s->tensors++] = s->values;
    s->values.name = NULL;
    return NULL;
}

/* Computes the results of extend for a state with prepared and rounded keys. A key that is nearly between two numbers
   may round to the other one. */
static enum status expect_stored(const struct checking *c, int n, bool rounded, uint64_t *state)
{
    const struct unit *const p = c->p;
    struct sample *const s = &c->extended[n];
    const char *const wrong = store_keys(c, n, s);
    if (wrong) complain(c->o, "%s: %s", p->spec->name, wrong);
    if (wrong) return STATUS_MACHINE;
    struct diagnostics *const none = diagnostics_new(p->arena, "", NULL, 0);
    const struct graph *const g = build_graph_of_prepared(p->arena, p->spec, p->counting, none);
    const enum status status = find_expected(c, g, n, rounded, state, s);
    const double lost = rounding_of(p->spec->k_storage);
    for (int o = 0; o < s->outputs && status == STATUS_DONE; o++)
        for (int64_t r = 0; r < s->output[o].elements / s->output[o].row; r++)
            s->output[o].allowed[r] += lost * s->output[o].measure[r];
    return status;
}

/* Fills sample n with random arrays, and computes the expected results of forward and extend. */
static enum status make_sample(const struct checking *c, int n, bool rounded, uint64_t *state)
{
    struct unit *const p = c->p;
    check_fill(&c->sample[n], p, &c->size[n], n % 2 == 0 || c->linear, state);
    check_share_heads(&c->sample[n], &c->size[n], c->sharing[n]);
    struct sample *const s = &c->sample[n];
    draw_positions(c, n, state);
    check_place(p->graph->module, s);
    const char *wrong = computed_tensors(p->graph, &c->size[n], s->tensor, s->tensors, s->computed, &s->computeds);
    if (wrong) complain(c->o, "%s: %s", p->spec->name, wrong);
    enum status status = wrong ? STATUS_MACHINE : find_expected(c, p->graph, n, rounded, state, &c->sample[n]);
    c->extended[n] = c->sample[n];
    if (status == STATUS_DONE && p->kernel.of[STEP_PREPARE].count && p->spec->k_storage)
        return expect_stored(c, n, rounded, state);
    if (status != STATUS_DONE || p->spec->dropout == 0 || !(p->spec->emit & EMIT_DECODE)) return status;
    struct diagnostics *const none = diagnostics_new(p->arena, "", NULL, 0); /* p->graph was built without errors */
    const struct graph *const g = build_graph_without_dropout(p->arena, p->spec, p->counting, none);
    return find_expected(c, g, n, rounded, state, &c->extended[n]);
}

/* Computes the expected gradients of each sample, and compares them with central differences. */
static enum status make_gradients(struct checking *c)
{
    static const double DIFFERENCE_MAX = 1e-5;
    uint64_t state = c->o->has_seed ? c->o->seed : 1;
    double difference = 0;
    for (int n = 0; n < c->sizes; n++) {
        struct gradients *g = arena_alloc(c->p->arena, sizeof *g);
        const char *wrong = gradients_of(c->p, &c->sample[n], &c->size[n], n < c->of_passes, &state, c->p->arena, g);
        if (wrong) return complain_as(c->o, STATUS_MACHINE, "%s: gradients: %s", c->p->spec->name, wrong);
        c->sample[n].gradients = g;
        difference = fmax(difference, g->difference);
    }
    c->good = difference <= DIFFERENCE_MAX;
    if (check_tells(c, c->good))
        check_say(c, "  %-22s %10.2e of central differences%s\n", "gradients", difference, c->good ? "" : "   WRONG");
    if (!c->good) complain(c->o, "%s: gradients do not agree with central differences of the result", c->p->spec->name);
    return STATUS_DONE;
}

static enum status check_unit(const struct options *o, struct unit *p, const struct problem_size *size,
                              const int64_t *sharing, int count)
{
    struct checking checking = {.o = o, .p = p, .good = true}, *c = &checking;
    uint64_t state = o->has_seed ? o->seed : 1;
    bool rounded = false;
    enum status status = STATUS_DONE;
    const struct compilation *code[MAX_EMITTED];
    int compilations = 0;
    for (int k = 0; k < STEPS; k++)
        if (k != STEP_BACKWARD) compilations = versions_code(&p->kernel.of[k], NULL, code, compilations);
    for (int k = 0; k < compilations; k++) {
        rounded |= rounds(code[k]->loops, code[k]->loops->body);
        c->linear |= code[k]->program.linear && program_is_forward(&code[k]->program);
    }
    if (!add_sizes(c, size, sharing, count)) return STATUS_USAGE;
    c->sample = arena_alloc(p->arena, (size_t)c->sizes * sizeof *c->sample);
    c->extended = arena_alloc(p->arena, (size_t)c->sizes * sizeof *c->extended);
    if (check_tells(c, true)) say_sizes(c);
    for (int n = 0; n < c->sizes && status == STATUS_DONE; n++) status = make_sample(c, n, rounded, &state);
    if (p->kernel.of[STEP_BACKWARD].count && status == STATUS_DONE) status = make_gradients(c);
    if (status != STATUS_DONE) return status;
    if (c->good) check_passes(c);
    for (int n = 0; n < c->sizes && p->kernel.of[STEP_BACKWARD].count; n++)
        check_add_heads(c->sample[n].gradients, p->kernel.arrays, c->sharing[n]);
    if (c->good) status = check_kernel(c);
    if (status == STATUS_MACHINE) return status;
    say_verdict(c);
    return c->good ? STATUS_DONE : STATUS_INPUT;
}

int command_check(const struct options *o)
{
    if (o->files == 0) return (int)complain_as(o, STATUS_USAGE, "check takes a spec: attnc check SPEC.yaml");
    struct arena *arena = arena_new();
    struct problem_size *size;
    int64_t *sharing;
    int count;
    enum status worst = read_sizes(o, arena, &size, &sharing, &count) ? STATUS_DONE : STATUS_USAGE;
    for (int k = 0; k < o->files && worst != STATUS_USAGE; k++) {
        enum status status;
        struct unit *p = unit_make(o->file[k], o, &status);
        if (p) unit_warn(p, o);
        if (p) status = check_unit(o, p, size, sharing, count);
        unit_free(p);
        if (status > worst) worst = status;
    }
    arena_free(arena);
    return output_finish(o) == STATUS_DONE ? (int)worst : STATUS_MACHINE;
}
