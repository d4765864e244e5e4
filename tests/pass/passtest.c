/* Runs passes on a program given as text and prints the result. usage: passtest FILE
   Comments at the beginning of FILE are settings:
   - `# pass: simplify stabilise`: the passes
   - `# tile: 16 12 48`: queries, keys, and (optional) queries that share keys
   - `# block: 16`, `# target: generic`, `# form: quadratic`, `few` or `heads`
   - `# units: matrix`: the target with matrix units
   - `# program: gradients`: the graph is one of gradients
   The value must not change, and the printed program must read back. After `differentiate`, central differences must
   confirm the gradients. */
#include "../../compiler/analysis/analysis.h"
#include "../../compiler/pass/pass.h"
#include "../../compiler/schedule/schedule.h"
#include "../../compiler/spec/spec.h"
#include "../../compiler/target/target.h"
#include "../lib/read_whole.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-9;
/* The problems have several heads, fewer queries than keys, more queries than keys, or a single query and key. */
static const struct problem_size sizes[] = {{2, 2, 2, 21, 21}, {1, 1, 2, 5, 40}, {1, 2, 1, 39, 17}, {1, 1, 1, 1, 1}};

struct either {
    struct graph *graph;
    struct loops *loops;
};

static int failed(const char *file, const char *message)
{
    fprintf(stderr, "%s: %s\n", file, message);
    return 1;
}

/* Returns the text after `# KEY:` at the beginning of the file, or NULL. */
static const char *directive(struct arena *arena, const char *text, const char *key)
{
    const char *wanted = arena_printf(arena, "# %s:", key);
    for (; *text == '#'; text += strcspn(text, "\n") + 1) {
        if (strncmp(text, wanted, strlen(wanted)) == 0) {
            const char *value = text + strlen(wanted);
            return arena_printf(arena, "%.*s", (int)strcspn(value, "\n"), value);
        }
        if (!text[strcspn(text, "\n")]) break;
    }
    return NULL;
}

static struct either parse(struct arena *arena, const char *text, struct diagnostics *d)
{
    struct either p = {NULL, NULL};
    const char *word = text;
    while (*word == '#') {
        word += strcspn(word, "\n");
        word += strspn(word, "\n ");
    }
    if (strncmp(word, "loops", 5) == 0)
        p.loops = loops_parse(arena, text, d);
    else
        p.graph = graph_parse(arena, text, d);
    return p;
}

static const char *verify(const struct either *p)
{
    return p->loops ? loops_verify(p->loops) : graph_verify(p->graph);
}

static void print(const struct either *p, struct text *out)
{
    if (p->loops)
        loops_print(p->loops, out);
    else
        graph_print(p->graph, out);
}

/* ---- the value of a program ---- */

static int64_t elements(const struct module *m, int rank, const int *axes, const struct problem_size *size)
{
    int64_t count = 1;
    for (int k = 0; k < rank; k++) count *= axis_extent(m, axes[k], size);
    return count;
}

/* Makes an array of pseudo-random numbers between -1 and 1, which depend on its name. */
static struct tensor random_tensor(struct arena *arena, const char *name, int64_t count)
{
    uint64_t state = 1;
    for (const char *c = name; *c; c++) state = state * 131 + (unsigned char)*c;
    struct tensor t = {name, arena_alloc(arena, (size_t)count * sizeof *t.data)};
    for (int64_t k = 0; k < count; k++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        t.data[k] = (double)(state >> 11) / 4503599627370496.0 - 1;
    }
    return t;
}

/* Evaluates the program with random inputs. `instead` replaces inputs of the same names. Sets *out to the outputs
   and *count to their number of elements. Returns NULL or the error. */
static const char *evaluate_with(struct arena *arena, const struct either *p, const struct problem_size *size,
                                 const struct tensor *instead, int insteads, double **out, int64_t *count)
{
    *count = 0;
    int given = 0, max = p->loops ? p->loops->arrays : p->graph->values;
    struct tensor *in = arena_alloc(arena, (size_t)(max + insteads) * sizeof *in);
    for (; given < insteads; given++) in[given] = instead[given]; /* the first of equal names is used */
    for (int k = 0; k < max; k++) {
        const struct array *a = p->loops ? &p->loops->array[k] : NULL;
        const struct value *v = p->loops ? NULL : &p->graph->value[k];
        const struct module *m = p->loops ? p->loops->module : p->graph->module;
        if (a && a->kind == ARRAY_OUTPUT) *count += elements(m, a->rank, a->axes, size);
        if (a ? a->within.of != NULL : v->within.of != NULL) continue; /* this input is a part of another input */
        if (a && (a->kind == ARRAY_INPUT || a->kind == ARRAY_PARAM))
            in[given++] = random_tensor(arena, a->name, elements(m, a->rank, a->axes, size));
        if (v && (v->op == GRAPH_INPUT || v->op == GRAPH_PARAM))
            in[given++] = random_tensor(arena, v->name, elements(m, v->rank, v->axes, size));
    }
    for (int o = 0; p->graph && o < p->graph->outputs; o++) {
        const struct value *v = &p->graph->value[p->graph->output[o].value];
        *count += elements(p->graph->module, v->rank, v->axes, size);
    }
    *out = arena_alloc(arena, (size_t)*count * sizeof **out);
    return p->loops ? loops_eval(p->loops, size, in, given, *out) : graph_eval(p->graph, size, in, given, *out);
}

static const char *evaluate(struct arena *arena, const struct either *p, const struct problem_size *size, double **out,
                            int64_t *count)
{
    return evaluate_with(arena, p, size, NULL, 0, out, count);
}

/* Returns the sum of out * dout after the array was moved by `step` along a random direction. */
static double moved(struct arena *arena, const struct either *p, const struct problem_size *size, struct tensor array,
                    int64_t count, double step, const double *dout)
{
    const struct tensor direction = random_tensor(arena, "direction", count);
    double *at = arena_alloc(arena, (size_t)count * sizeof *at), *out, sum = 0;
    int64_t outputs = 0;
    for (int64_t k = 0; k < count; k++) at[k] = array.data[k] + step * direction.data[k];
    array.data = at;
    if (evaluate_with(arena, p, size, &array, 1, &out, &outputs)) return NAN;
    for (int64_t k = 0; k < outputs; k++) sum += out[k] * dout[k];
    return sum;
}

/* Checks with central differences that `after` has the gradients of `before`. Returns NULL, or the name of a wrong
 * output. */
static const char *compare_gradients(struct arena *arena, const struct either *before, const struct either *after)
{
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        const struct problem_size *s = &sizes[n];
        double *out, *got;
        int64_t count = 0, all = 0;
        const char *wrong = evaluate(arena, before, s, &out, &count);
        const struct tensor dout = random_tensor(arena, "dout", count), given[] = {{"out", out}};
        if (!wrong) wrong = evaluate_with(arena, after, s, given, 1, &got, &all);
        if (wrong) return wrong;
        for (int o = 0; o < after->graph->outputs; o++) {
            const struct value *v = &after->graph->value[after->graph->output[o].value];
            const char *name = after->graph->output[o].name + 1;
            int64_t elements_of = elements(after->graph->module, v->rank, v->axes, s);
            const struct tensor array = random_tensor(arena, name, elements_of),
                                direction = random_tensor(arena, "direction", elements_of);
            double along = 0, size = 0, slope[2];
            for (int64_t k = 0; k < elements_of; k++) {
                along += got[k] * direction.data[k];
                size += fabs(got[k] * direction.data[k]);
            }
            got += elements_of;
            for (int k = 0; k < 2; k++) {
                double step = k ? 5e-4 : 1e-3;
                slope[k] = (moved(arena, before, s, array, elements_of, step, dout.data) -
                            moved(arena, before, s, array, elements_of, -step, dout.data)) /
                           (2 * step);
            }
            double wanted = (4 * slope[1] - slope[0]) / 3;
            if (!(fabs(along - wanted) <= 1e-6 * fmax(size, 1)))
                return arena_printf(
                    arena, "with %lld queries and %lld keys, d%s along a direction is %.12g; the difference is %.12g",
                    (long long)s->n_q, (long long)s->n_k, name, along, wanted);
        }
    }
    return NULL;
}

/* Returns `count` numbers [batch, kv_heads, a, b, …] as [batch, kv_heads, b, a, …]. */
static double *exchanged(struct arena *arena, const double *data, int64_t count, const struct problem_size *s,
                         int64_t a, int64_t b)
{
    const int64_t outer = s->batch * s->kv_heads, row = count / (outer * a * b);
    double *made = arena_alloc(arena, (size_t)count * sizeof *made);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t x = 0; x < a; x++)
            for (int64_t y = 0; y < b; y++)
                memcpy(made + ((o * b + y) * a + x) * row, data + ((o * a + x) * b + y) * row,
                       (size_t)row * sizeof *made);
    return made;
}

/* Evaluates a program whose query heads are exchanged with its queries. */
static const char *evaluate_swapped(struct arena *arena, const struct either *p, const struct problem_size *s,
                                    double **out, int64_t *count)
{
    const struct problem_size size = {s->batch, s->kv_heads, s->n_q, s->members, s->n_k};
    int64_t row = 0;
    for (int v = 0; p->graph && v < p->graph->values; v++)
        if (p->graph->value[v].name && strcmp(p->graph->value[v].name, "q") == 0)
            row = p->graph->module->axis[p->graph->value[v].axes[4]].extent;
    const int64_t of_q = s->batch * s->kv_heads * s->members * s->n_q * row;
    const struct tensor q = {"q", exchanged(arena, random_tensor(arena, "q", of_q).data, of_q, s, s->members, s->n_q)};
    const char *wrong = evaluate_with(arena, p, &size, &q, 1, out, count);
    if (!wrong) *out = exchanged(arena, *out, *count, s, s->n_q, s->members);
    return wrong;
}

/* Computes the prefix sums of the graph for random inputs. */
static const char *prefix_sums(struct arena *arena, const struct graph *g, const struct problem_size *s,
                               struct tensor *out, int *made)
{
    struct tensor *const in = arena_alloc(arena, (size_t)g->values * sizeof *in);
    int given = 0;
    for (int k = 0; k < g->values; k++) {
        const struct value *const v = &g->value[k];
        if (v->op == GRAPH_INPUT || v->op == GRAPH_PARAM)
            in[given++] = random_tensor(arena, v->name, elements(g->module, v->rank, v->axes, s));
    }
    return computed_tensors(g, s, in, given, out, made);
}

/* Checks that `after` computes what `before` computes. `of` says whether the program is only for few queries.
 * Returns NULL, or a text about the difference. */
static const char *compare(struct arena *arena, const struct either *before, const struct either *after,
                           const struct program *of)
{
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        const struct problem_size *s = &sizes[n];
        if (of->few && !queries_are_few(s)) continue;
        if ((of->kind == PROGRAM_EXTEND || of->kind == PROGRAM_EXTEND_FOLDABLE) && s->n_q > s->n_k)
            continue; /* a new token is both a query and a key */
        const char *at = arena_printf(arena, "with %lld queries and %lld keys", (long long)s->n_q, (long long)s->n_k);
        double *wanted, *got;
        int64_t count = 0, count_after = 0;
        const char *wrong = evaluate(arena, before, s, &wanted, &count);
        if (wrong) return arena_printf(arena, "before the passes, %s: %s", at, wrong);
        struct tensor sums[PREFIX_ARRAYS + MAX_SYSTEMS + MAX_LISTS];
        int made = 0;
        wrong = before->graph ? prefix_sums(arena, before->graph, s, sums, &made) : NULL;
        if (wrong) return arena_printf(arena, "prefix sums, %s: %s", at, wrong);
        wrong = of->by_heads ? evaluate_swapped(arena, after, s, &got, &count_after)
                             : evaluate_with(arena, after, s, sums, made, &got, &count_after);
        if (wrong) return arena_printf(arena, "after the passes, %s: %s", at, wrong);
        if (count != count_after) return "the output has another shape after the passes";
        for (int64_t k = 0; k < count; k++)
            if (!(fabs(got[k] - wanted[k]) <= tolerance * fmax(1, fabs(wanted[k]))) &&
                !(isnan(got[k]) && isnan(wanted[k])) && got[k] != wanted[k])
                return arena_printf(arena, "%s, element %lld was %.17g and is %.17g", at, (long long)k, wanted[k],
                                    got[k]);
    }
    return NULL;
}

static const char *run_passes(struct arena *arena, const char *names, struct compilation *c, struct either *p)
{
    char *list = arena_copy(arena, names), *rest = NULL;
    for (const char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        int k = 0;
        while (k < pass_count && strcmp(passes[k].name, name) != 0) k++;
        if (k == pass_count) return arena_printf(arena, "there is no pass '%s'", name);
        if ((passes[k].level == PASS_LOOPS) != (c->loops != NULL))
            return arena_printf(arena, "pass '%s' does not work on this", name);
        passes[k].run(c);
        if (diagnostics_errors(c->diagnostics)) return NULL;
        *p = (struct either){c->loops ? NULL : c->graph, c->loops};
        const char *wrong = verify(p);
        if (wrong) return arena_printf(arena, "after pass '%s': %s", name, wrong);
    }
    return NULL;
}

static const char *reads_back(struct arena *arena, const char *text)
{
    struct diagnostics *d = diagnostics_new(arena, "result", text, strlen(text));
    struct either again = parse(arena, text, d);
    if (diagnostics_flush(d, stderr, false)) return "the result does not read back";
    struct text printed = {NULL, 0, 0};
    print(&again, &printed);
    bool same = strcmp(printed.data, text) == 0;
    text_free(&printed);
    return same ? NULL : "the result reads back as another program";
}

/* Prints the loops of the pass one_thread: the loops over keys, and then the loops that merge states. */
static void print_alone(const struct compilation *c)
{
    const struct stmt *const part[] = {c->one_thread.keys, c->one_thread.folds};
    for (int k = 0; k < 2; k++) {
        if (!part[k]) continue;
        struct text out = {NULL, 0, 0};
        struct loops *alone = loops_copy(c->loops);
        alone->body = stmts_copy(alone, part[k], NULL);
        loops_print(alone, &out);
        printf("# alone\n%s", strstr(out.data, "\nfor ") + 1);
        text_free(&out);
    }
}

static int run_file(struct arena *arena, const char *file)
{
    size_t length;
    const char *text = read_whole(arena, file, &length);
    if (!text) return failed(file, strerror(errno));
    struct diagnostics *d = diagnostics_new(arena, file, text, strlen(text));
    struct either before = parse(arena, text, d);
    if (diagnostics_flush(d, stderr, false)) return 1;
    const char *wrong = verify(&before);
    if (wrong) return failed(file, wrong);

    const char *names = directive(arena, text, "pass"), *tile = directive(arena, text, "tile"),
               *target = directive(arena, text, "target");
    const char *block = directive(arena, text, "block"), *form = directive(arena, text, "form"),
               *state = directive(arena, text, "state");
    struct spec spec = {.name = "test", .block = block ? strtoll(block, NULL, 10) : 0};
    struct compilation c = {
        .spec = &spec,
        .program = {.kind = !names                              ? PROGRAM_FORWARD
                            : strstr(names, "differentiate")    ? PROGRAM_UNSAVED
                            : state && strstr(state, "joined")  ? PROGRAM_FOLD_TRANSITIONS
                            : state                             ? PROGRAM_EXTEND_FOLDABLE
                            : strstr(names, "expose_state")     ? PROGRAM_EXTEND
                            : directive(arena, text, "program") ? PROGRAM_GRADIENTS
                                                                : PROGRAM_FORWARD,
                    .linear = !form || !(strstr(form, "quadratic") || strstr(form, "few") || strstr(form, "heads")),
                    .few = form && strstr(form, "few"),
                    .by_heads = form && strstr(form, "heads")},
        .diagnostics = diagnostics_new(arena, "passes", NULL, 0)};
    c.target = target_find(target ? target + strspn(target, " ") : "x86-64-v4");
    const struct module *m = before.graph ? before.graph->module : before.loops->module;
    const struct target *version[MAX_VERSIONS];
    const int versions = c.target ? target_versions(arena, c.target, m->dtype, version) : 0;
    for (int k = versions - 1; k >= 0; k--)
        if (directive(arena, text, "units") || !target_has(version[k], TARGET_MATRIX_UNITS)) c.target = version[k];
    if (!names || !c.target) return failed(file, names ? "no such target" : "no line '# pass: NAME…'");
    long long tile_q = 16, tile_k = 12, block_q = 0;
    if (tile && sscanf(tile, "%lld %lld %lld", &tile_q, &tile_k, &block_q) < 2)
        return failed(file, "'# tile:' takes two or three numbers");
    c.tiling.tile_q = tile_q;
    c.tiling.tile_k = tile_k;
    c.tiling.block_q = block_q;
    if (before.graph) c.graph = graph_copy(before.graph);
    if (before.loops) c.loops = loops_copy(before.loops);
    struct either after = {c.graph, c.loops};
    wrong = run_passes(arena, names, &c, &after);
    if (wrong) return failed(file, wrong);
    if (diagnostics_flush(c.diagnostics, stdout, false)) return 0;

    struct text out = {NULL, 0, 0};
    print(&after, &out);
    wrong = reads_back(arena, out.data);
    if (!wrong && program_is_unsaved(&c.program))
        wrong = compare_gradients(arena, &before, &after);
    else if (!wrong && !program_folds_states(&c.program)) /* the program reads a second state */
        wrong = compare(arena, &before, &after, &c.program);
    fputs(out.data, stdout);
    text_free(&out);
    print_alone(&c);
    return wrong ? failed(file, wrong) : 0;
}

int main(int count, char **argument)
{
    if (count != 2) {
        fputs("usage: passtest FILE\n", stderr);
        return 2;
    }
    struct arena *arena = arena_new();
    int status = run_file(arena, argument[1]);
    arena_free(arena);
    if (fflush(stdout) != 0) status = 3;
    return status;
}
