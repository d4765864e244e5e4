/* Compares the operations that the cost model counts with those that the interpreter of loops runs. usage:
   operations QUERIES KEYS SPEC. It prints a line for each program of the spec:
   PROGRAM FORM, then pairs of counted and run numbers: FLOPs of products, scalar operations, functions. Then come the
   number of useful FLOPs, and `decays` if kernels compute decays of rows that the interpreter computes for each term. A
   program that the interpreter does not run alone is `PROGRAM FORM: why`. */
#include "../../compiler/cost/cost.h"
#include "../../compiler/driver/driver.h"
#include "../../compiler/target/target.h"
#include "../../runtime/attnrt.h"

#include <stdlib.h>
#include <string.h>

enum { DOCUMENT = 40, MAX_INPUTS = 128 };

/* Fills an array with the numbers that the cost model assumes: documents, all-true masks, lists of random blocks, lists
   of the best keys, and otherwise half of the keys. Real numbers do not matter. */
static void fill(const struct compilation *c, const struct array *a, const struct problem_size *size, int64_t elements,
                 double *data)
{
    const struct graph *const g = c->graph;
    const struct module *const m = g->module;
    const int last = a->rank ? a->axes[a->rank - 1] : -1;
    const int64_t row = last >= 0 ? axis_extent(m, last, size) : 1;
    const bool documents = last >= 0 && m->axis[last].source == SIZE_N_K;
    int blocks = -1;
    for (int k = 0; k < a->rank; k++)
        if (m->axis[a->axes[k]].source == SIZE_QUERY_BLOCKS) blocks = a->axes[k];
    for (int64_t k = 0; k < elements; k++) {
        const int64_t document = k % row / DOCUMENT;
        data[k] = !dtype_is_integer(a->dtype) ? 0.25 + 0.5 * (double)(k % 7) / 7
                  : a->dtype == DTYPE_U8      ? 1
                  : documents                 ? (double)document
                                              : (double)(size->n_k / 2);
    }
    for (int n = 0; n < g->values; n++)
        if (g->value[n].name && strcmp(g->value[n].name, a->name) == 0 && g->value[n].integers &&
            g->value[n].origin == ORIGIN_COMPUTED)
            assumed_best(c, size, a->name, elements / row, data);
    if (a->dtype != DTYPE_I32 || blocks < 0) return;
    int64_t *const list = malloc((size_t)(row + 1) * sizeof *list);
    for (int64_t at = 0; list && at < elements / row; at++) {
        const int64_t number = at % axis_extent(m, blocks, size);
        struct attn_draw draw = {.count = row,
                                 .among = (size->n_k - 1) / m->axis[blocks].extent + 1,
                                 .first = number,
                                 .last = number,
                                 .list = list};
        attn_draw(&draw);
        for (int64_t k = 0; k < row; k++) data[at * row + k] = k < list[0] ? (double)list[1 + k] : -1;
    }
    free(list);
}

static int inputs(const struct compilation *c, const struct problem_size *size, struct arena *arena, struct tensor *in)
{
    const struct loops *const l = c->loops;
    int count = 0;
    for (int n = 0; n < l->arrays && count < MAX_INPUTS; n++) {
        const struct array *const a = &l->array[n];
        int64_t elements = 1;
        if (a->kind != ARRAY_INPUT && a->kind != ARRAY_PARAM) continue;
        for (int k = 0; k < a->rank; k++) elements *= axis_extent(l->module, a->axes[k], size);
        in[count].name = a->within.of ? a->within.of : a->name;
        if (a->within.of)
            elements = elements / axis_extent(l->module, a->axes[a->rank - 1], size) *
                       axis_extent(l->module, a->within.row, size);
        in[count].data = arena_alloc(arena, (size_t)(elements + 1) * sizeof(double));
        fill(c, a, size, elements, in[count++].data);
    }
    return count;
}

/* Whether kernels compute sums of list s by emit/decayed.c. */
static bool decays(const struct stmt *s)
{
    bool any = false;
    for (; s; s = s->next)
        any |= decays(s->body) || (s->op == LOOPS_MAP && s->where && expr_has(s->assign[0].expr, EXPR_EXP2));
    return any;
}

static void compare(const struct compilation *c, const struct problem_size *size, const char *program)
{
    struct arena *const arena = arena_new();
    struct tensor in[MAX_INPUTS];
    struct executed run;
    struct visited visited;
    struct counts counts;
    const int count = inputs(c, size, arena, in);
    const char *const wrong = loops_execute(c->loops, size, in, count, &run);
    if (wrong) {
        printf("%s %s: %s\n", program, compilation_form(c), wrong);
    } else {
        count_operations(c, size, DOCUMENT, &visited);
        count_work(c, size, DOCUMENT, 1 << 20, &counts);
        const struct operations *const o = &visited.operations;
        printf("%s %s %.0f %.0f %.0f %.0f %.0f %.0f %.0f%s\n", program, compilation_form(c), o->products, run.products,
               o->scalars, run.scalars, o->functions, run.functions, counts.flops,
               decays(c->loops->body) ? " decays" : "");
    }
    arena_free(arena);
}

static void compare_all(const struct versions *list, const struct problem_size *size, const char *program)
{
    struct problem_size few = *size;
    few.n_q = 1;
    for (const struct version *v = NULL; versions_next(list, &v) && v->target == list->version->target;) {
        bool before = false;
        for (const struct version *u = list->version; u < v; u++) before |= u->c == v->c;
        if (before) continue;
        char name[32];
        snprintf(name, sizeof name, program, v->part);
        compare(v->c, size, name);
        if (v->few) compare(v->few, &few, "few");
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    struct options o = {.console = {.quiet = true},
                        .targets = 1,
                        .target = {target_find("x86-64-v4")},
                        .named_targets = true,
                        .backward = true,
                        .decode = true,
                        .file = (const char *const *)argv + 3,
                        .files = 1};
    enum status status = STATUS_DONE;
    struct unit *p = unit_make(argv[3], &o, &status);
    o.decode = p != NULL;
    if (!p) p = unit_make(argv[3], &o, &status); /* without decode */
    o.backward = p != NULL;
    if (!p) p = unit_make(argv[3], &o, &status); /* forward alone */
    if (!p) return (int)status;
    const struct problem_size size = {1, 1, p->spec->rate ? 1 : 2, atoll(argv[1]), atoll(argv[2])};
    struct problem_size all = size; /* no earlier token */
    all.n_q = all.n_k;
    for (int k = 0; k < STEPS; k++) compare_all(&p->kernel.of[k], k == STEP_APPEND ? &all : &size, step_table[k].name);
    unit_free(p);
    return 0;
}
