/* Checks the values of forward and of each part of backward after every pass, for attnc check.
   Parts also compute arrays for later parts, such as row maxima. The first part that has such an array defines its
   expected value, right after the pass `differentiate`. Later programs read the expected value. So a difference is
   reported for the pass and part that caused it. */
#include "check.h"
#include "../../driver/driver.h"
#include "../../pass/pass.h"
#include "../../schedule/schedule.h"
#include "../../support/support.h"
#include "../../target/target.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* The tolerance of a row after a pass is PASS_MAX * measure + ROUNDINGS * change. `change` is the row's change if
   operations round up instead of down. */
static const double PASS_MAX = 1e-9, ROUNDINGS = 16;

/* A program. It is a graph before the pass `lower`, and loops after it. The other member is NULL. */
struct either {
    const struct graph *graph;
    const struct loops *loops;
};

/* An array that a part of backward passes to later parts of one form, with its expected value for one sample.
   `scale` is its value for the inputs of the scale (check.h), or NULL. */
struct known {
    struct known *next;
    struct wanted array;
    double *scale;
};

/* The result of comparing a program with the expected values. */
struct judged {
    struct judged *next;
    const char *hash;
    struct worst worst;
    bool cancels;
};

struct checking_passes {
    struct checking *c;
    struct arena *arena;
    /* known[linear][sample] lists the arrays with known values. `linear` is 1 in the linear form. */
    struct known **known[2];
    struct judged *judged;
    const char *of; /* the name of the part of backward, or NULL for forward */
    /* The program before the passes. For a part of backward, it is the program right after `differentiate`, or NULL
       if that pass has not run yet. */
    const struct graph *before;
    /* True in the first round. That round runs parts only up to `differentiate`, to get the expected values of
       their arrays. Gradients confirm these values later. */
    bool first;
    bool said;
};

static struct either program_after(const struct compilation *k, const struct pass *pass)
{
    const bool graph = pass->level == PASS_GRAPH;
    return (struct either){.graph = graph ? k->graph : NULL, .loops = graph ? NULL : k->loops};
}

/* Sets `out` to the next output of a program and advances *at, which starts from 0. Returns false at the end. */
static bool next_output(const struct either *p, int *at, const struct problem_size *size, struct wanted *out)
{
    if (p->graph) {
        if (*at == p->graph->outputs) return false;
        const struct value *v = &p->graph->value[p->graph->output[*at].value];
        *out = check_wanted(p->graph->module, p->graph->output[(*at)++].name, v->rank, v->axes, size);
        return true;
    }
    while (*at < p->loops->arrays && p->loops->array[*at].kind != ARRAY_OUTPUT) ++*at;
    if (*at == p->loops->arrays) return false;
    const struct array *a = &p->loops->array[(*at)++];
    *out = check_wanted(p->loops->module, a->name, a->rank, a->axes, size);
    return true;
}

static const struct wanted *find_known(const struct checking_passes *x, bool linear, int sample, const char *name)
{
    const struct known *l = x->known[linear][sample];
    while (l && strcmp(l->array.name, name) != 0) l = l->next;
    return l ? &l->array : NULL;
}

/* Adds the gradient with respect to the terms of prefix sums. It is a sum of other gradients, from the last position
   to the first. */
static int add_gradient_of_terms(const struct checking_passes *x, bool linear, int sample, bool scale,
                                 struct arena *arena, struct tensor *in, int tensors)
{
    const struct known *of[2] = {NULL, NULL};
    const enum prefix_array names[] = {PREFIX_GRADIENT_OF_KEY, PREFIX_GRADIENT_OF_QUERY};
    const struct problem_size *const size = &x->c->size[sample];
    for (const struct known *k = x->known[linear][sample]; k; k = k->next)
        for (int n = 0; n < 2; n++)
            if (prefix_array_find(k->array.name) == names[n]) of[n] = k;
    if (!of[0] || !of[1]) return tensors;
    const double *const keys = scale && of[0]->scale ? of[0]->scale : of[0]->array.expected,
                        *const queries = scale && of[1]->scale ? of[1]->scale : of[1]->array.expected;
    const int64_t heads = size->batch * size->kv_heads * size->members,
                  row = of[0]->array.elements / (heads * size->n_k);
    double *const sums = arena_alloc(arena, (size_t)of[0]->array.elements * sizeof *sums);
    const int64_t *const start = x->c->sample[sample].query_start;
    for (int64_t h = 0; h < heads; h++)
        for (int64_t e = 0; e < row; e++) {
            double sum = 0;
            const int64_t first = start ? start[h / (heads / size->batch)] : size->n_k - size->n_q;
            for (int64_t t = size->n_k - 1, i = size->n_q - 1; t >= 0; t--) {
                sum += keys[(h * size->n_k + t) * row + e];
                for (; i >= 0 && first + i >= t; i--) sum += queries[(h * size->n_q + i) * row + e];
                sums[(h * size->n_k + t) * row + e] = sum;
            }
        }
    in[tensors] = (struct tensor){prefix_array_name(PREFIX_GRADIENT), sums};
    return tensors + 1;
}

static struct known *note(struct checking_passes *x, bool linear, int sample, struct wanted array)
{
    struct known *k = arena_alloc(x->arena, sizeof *k);
    *k = (struct known){x->known[linear][sample], array, NULL};
    return x->known[linear][sample] = k;
}

/* Evaluates the outputs of a program, and sets *out to their elements, one output after the other. If `scale` is
   true, uses the inputs of the scale (check.h). */
static const char *evaluate(const struct checking_passes *x, const struct either *p, bool linear, int sample,
                            bool scale, struct arena *arena, double **out)
{
    const struct sample *s = &x->c->sample[sample];
    const struct problem_size *size = &x->c->size[sample];
    const struct known *const first = x->known[linear][sample];
    struct wanted output;
    int64_t all = 0;
    int tensors = SCALED + s->tensors + s->computeds + 2;
    for (int at = 0; next_output(p, &at, size, &output);) all += output.elements;
    for (const struct known *k = first; k; k = k->next) tensors++;
    /* If tensors have equal names, the interpreter takes the first one. */
    struct tensor *in = arena_alloc(arena, (size_t)tensors * sizeof *in);
    tensors = 0;
    for (int n = 0; n < SCALED && scale && s->gradients; n++) in[tensors++] = s->gradients->scaled[n];
    for (int n = 0; n < s->tensors; n++) in[tensors++] = s->tensor[n];
    for (int n = 0; n < s->computeds; n++) in[tensors++] = s->computed[n];
    if (s->gradients) in[tensors++] = s->gradients->dout;
    for (const struct known *k = first; k; k = k->next)
        in[tensors++] = (struct tensor){k->array.name, scale && k->scale ? k->scale : k->array.expected};
    tensors = add_gradient_of_terms(x, linear, sample, scale, arena, in, tensors);
    *out = arena_alloc(arena, (size_t)all * sizeof **out);
    check_place(p->graph ? p->graph->module : p->loops->module, s);
    return p->graph ? graph_eval(p->graph, size, in, tensors, *out) : loops_eval(p->loops, size, in, tensors, *out);
}

/* If an output has no expected value yet, takes its value in `out` as expected. Errors of this output are relative
   to the whole array. */
static const char *note_new(struct checking_passes *x, const struct either *p, bool linear, int sample,
                            const double *out, struct arena *arena)
{
    const struct problem_size *size = &x->c->size[sample];
    struct wanted output;
    double *scale = NULL;
    const char *wrong = NULL;
    int64_t from = 0;
    for (int at = 0; !wrong && next_output(p, &at, size, &output); from += output.elements) {
        if (find_known(x, linear, sample, output.name)) continue;
        if (!scale) wrong = evaluate(x, p, linear, sample, true, arena, &scale);
        if (wrong) break;
        const size_t bytes = (size_t)output.elements * sizeof *out;
        double *measure = arena_alloc(x->arena, sizeof *measure);
        output.row = output.elements;
        output.expected = memcpy(arena_alloc(x->arena, bytes), out + from, bytes);
        output.measure = measure;
        struct known *k = note(x, linear, sample, output);
        k->scale = memcpy(arena_alloc(x->arena, bytes), scale + from, bytes);
        *measure = check_largest(out + from, output.elements) + check_largest(scale + from, output.elements);
    }
    return wrong;
}

/* Adds times * d[r] to row[r]. d[r] is the difference in row r between rounding all operations up and rounding all
   down. */
static void add_rounding(const struct checking_passes *x, const struct either *p, bool linear, int sample, double times,
                         const struct wanted *of, double *row)
{
    struct arena *arena = arena_new();
    struct wanted output;
    double *low, *high;
    const int direction = fegetround();
    fesetround(FE_DOWNWARD);
    const char *wrong = evaluate(x, p, linear, sample, false, arena, &low);
    fesetround(FE_UPWARD);
    if (!wrong) wrong = evaluate(x, p, linear, sample, false, arena, &high);
    fesetround(direction);
    for (int at = 0; !wrong && next_output(p, &at, &x->c->size[sample], &output);) {
        for (int64_t e = 0; e < output.elements && strcmp(output.name, of->name) == 0; e += of->row) {
            double max = 0;
            for (int64_t n = e; n < e + of->row; n++) max = fmax(max, fabs(high[n] - low[n]));
            if (isfinite(max)) row[e / of->row] += times * max;
        }
        low += output.elements;
        high += output.elements;
    }
    arena_free(arena);
}

/* Returns true if rounding explains the differences of `got` from the expected value. */
static bool explained(const struct checking_passes *x, const struct either *p, bool linear, int sample,
                      const struct wanted *of, const double *got, struct arena *arena)
{
    const int64_t rows = of->elements / of->row;
    double *row = arena_alloc(arena, (size_t)rows * sizeof *row);
    struct worst beyond = {.share = 0};
    for (int64_t r = 0; r < rows; r++) row[r] = PASS_MAX * of->measure[r];
    if (x->before) add_rounding(x, &(struct either){.graph = x->before}, linear, sample, ROUNDINGS, of, row);
    add_rounding(x, p, linear, sample, ROUNDINGS, of, row);
    check_worst(of, sample, got, row, DTYPE_F64, &beyond);
    return beyond.share <= 1;
}

/* Compares a program's outputs for one sample with expected values. Returns NULL, or the reason of a failure. */
static const char *judge(struct checking_passes *x, const struct either *p, bool linear, int sample,
                         struct judged *judged)
{
    struct arena *arena = arena_new();
    struct wanted output;
    double *out;
    const char *wrong = evaluate(x, p, linear, sample, false, arena, &out);
    if (!wrong) wrong = note_new(x, p, linear, sample, out, arena);
    for (int at = 0; !wrong && next_output(p, &at, &x->c->size[sample], &output); out += output.elements) {
        const struct wanted *of = find_known(x, linear, sample, output.name);
        struct worst here = {.share = 0};
        if (of->elements != output.elements) wrong = arena_printf(x->arena, "'%s' has another shape", of->name);
        if (wrong) break;
        check_worst(of, sample, out, of->measure, DTYPE_F64, &here);
        const bool cancels = here.share > PASS_MAX && explained(x, p, linear, sample, of, out, arena);
        const bool was_wrong = judged->worst.share > PASS_MAX && !judged->cancels,
                   is_wrong = here.share > PASS_MAX && !cancels;
        if (was_wrong != is_wrong ? is_wrong : here.share > judged->worst.share) {
            judged->worst = here;
            judged->cancels = cancels;
        }
    }
    arena_free(arena);
    return wrong;
}

/* Returns a hash of the text of a program. Programs with equal texts have equal values. */
static const char *hash_of(const struct either *p, bool linear, struct arena *arena)
{
    struct text t = {0};
    text_add(&t, "%d\n", linear);
    if (p->graph)
        graph_print(p->graph, &t);
    else
        loops_print(p->loops, &t);
    const char *hash = hash_text(arena, t.data, t.length);
    text_free(&t);
    return hash;
}

/* Returns true if no key is shared by several heads and there is one query. Only then does the interpreter run the
   program "heads" on the arrays of the problem. The compiled kernel is compared for other sizes, too. */
static bool is_alone(const struct problem_size *size)
{
    return size->members == 1 && size->n_q == 1;
}

/* Returns true if a call can run the program for this size. A program that computes terms of prefix sums needs as
   many queries as keys. */
static bool runs_at(const struct program *program, const struct problem_size *size)
{
    if (program_computes_terms(program)) return size->n_q == size->n_k;
    return program->by_heads ? is_alone(size) : !program->few || queries_are_few(size);
}

/* Returns the result of comparing a program with the expected values. Programs with equal text share one result. On
   failure, prints a message and returns NULL. */
static const struct judged *judge_once(struct checking_passes *x, const struct compilation *k, const struct pass *pass)
{
    const struct checking *c = x->c;
    const struct either program = program_after(k, pass);
    const char *const hash = hash_of(&program, k->program.linear, x->arena), *wrong = NULL;
    struct judged *j = x->judged;
    while (j && strcmp(j->hash, hash) != 0) j = j->next;
    if (j) return j;
    j = arena_alloc(x->arena, sizeof *j);
    *j = (struct judged){.next = x->judged, .hash = hash};
    x->judged = j;
    for (int n = 0; n < c->of_passes && !wrong; n++)
        if (runs_at(&k->program, &c->size[n])) wrong = judge(x, &program, k->program.linear, n, j);
    if (wrong)
        complain(c->o, "%s: after pass '%s'%s%s: %s", c->p->spec->name, pass->name, x->of ? " of " : "",
                 x->of ? x->of : "", wrong);
    return wrong ? NULL : j;
}

/* Prints the heading of a compilation, unless it has been printed. */
static void say_program(struct checking_passes *x, const struct compilation *k)
{
    const struct checking *c = x->c;
    if (x->said) return;
    x->said = true;
    check_say(c, " %s%s, %s", k->target->name, target_features_text(x->arena, k->target), compilation_form(k));
    if (k->schedule && k->schedule->from)
        check_say(c, ", the schedule from %lld keys on", (long long)k->schedule->from);
    check_say(c, "%s%s\n", x->of ? ", backward: " : "", x->of ? x->of : "");
}

static bool check_pass(const struct compilation *k, const struct pass *pass, void *user)
{
    struct checking_passes *x = user;
    struct checking *c = x->c;
    const bool derives = strcmp(pass->name, "differentiate") == 0;
    if (derives && x->of) x->before = graph_copy(k->graph);
    const struct judged *j = judge_once(x, k, pass);
    if (!j) return c->good = false;
    const bool good = j->worst.share <= PASS_MAX || j->cancels,
               told = !x->of || (x->before && !x->first); /* before the pass `differentiate`, the program of a part
                                                             is that of forward */
    if (told || !good) {
        const char *whole = x->of ? arena_printf(x->arena, "%s of %s", pass->name, x->of) : pass->name;
        if (check_tells(c, good)) say_program(x, k);
        check_report(c, pass->name, whole, &j->worst, j->cancels ? "of a row that cancels" : "of the row", good);
    }
    return !(x->first && derives);
}

static void check_program(struct checking_passes *x, const struct compilation *c, const char *part)
{
    x->of = part;
    x->before = part ? NULL : x->c->p->graph;
    x->said = false;
    passes_run(unit_recompile(x->c->p, c), check_pass, x);
}

static void check_parts(struct checking_passes *x)
{
    const struct unit *p = x->c->p;
    const struct compilation *part[MAX_EMITTED];
    const int parts = versions_code(&p->kernel.of[STEP_BACKWARD], NULL, part, 0);
    for (int k = 0; k < parts && x->c->good; k++) check_program(x, part[k], unit_part_name(p, part[k]));
}

void check_passes(struct checking *c)
{
    struct unit *const p = c->p;
    struct checking_passes checking = {.c = c, .arena = p->arena}, *x = &checking;
    for (int linear = 0; linear < 2; linear++) {
        x->known[linear] = arena_alloc(x->arena, (size_t)c->of_passes * sizeof *x->known[linear]);
        for (int n = 0; n < c->of_passes; n++) {
            const struct gradients *g = c->sample[n].gradients;
            for (int o = 0; o < c->sample[n].outputs; o++) note(x, linear, n, c->sample[n].output[o]);
            for (int a = 0; g && a < g->outputs; a++) note(x, linear, n, g->of[a]);
        }
    }
    for (int t = 0; t < p->kernel.compilations && c->good; t++) check_program(x, p->kernel.compilation[t], NULL);
    for (const struct version *v = NULL; c->good && versions_next(&p->kernel.of[STEP_TERMS], &v);)
        check_program(x, v->c, NULL);
    x->first = true;
    check_parts(x);
    x->first = false;
    check_parts(x);
}

void check_add_rounding(const struct checking *c, const struct graph *g, int sample, double *row)
{
    struct arena *arena = arena_new();
    struct checking_passes x = {.c = (struct checking *)c, .arena = arena};
    x.known[0] = arena_alloc(arena, (size_t)c->sizes * sizeof *x.known[0]);
    add_rounding(&x, &(struct either){.graph = g}, false, sample, 1, &c->sample[sample].output[0], row);
    arena_free(arena);
}
