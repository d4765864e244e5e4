/* Compares rows of a kernel's output with the interpreter of its graph. Each row is a separate problem with one
   query, because all rows together need length^2 weights. */
#include "next_byte.h"

#include <math.h>
#include <stdlib.h>

#include "ir/ir.h"

int64_t sampled_row(const struct text_vectors *t, int k, int rows)
{
    return (t->length - 2) * (int64_t)(k + 1) / rows;
}

/* Evaluates one row into out [HEAD_DIM]. `value` has the values or their absolute values. Returns NULL or the
 * error. */
static const char *row_by_graph(const struct graph *g, const double *context, const double *value, int64_t row,
                                double *out)
{
    struct problem_size size = {.batch = 1, .kv_heads = 1, .members = 1, .n_q = 1, .n_k = row + 1};
    struct tensor in[3] = {
        {"q", (double *)context + (row + 1) * HEAD_DIM}, {"k", (double *)context}, {"v", (double *)value}};
    return graph_eval(g, &size, in, 3, out);
}

static double row_error(const struct graph *g, const double *context, const double *value, const double *absolute,
                        int64_t row, const float *got, const char **wrong)
{
    double expected[HEAD_DIM], scales[HEAD_DIM], scale = 0, error = 0;
    *wrong = row_by_graph(g, context, value, row, expected);
    if (!*wrong) *wrong = row_by_graph(g, context, absolute, row, scales);
    if (*wrong) return 0;
    for (int e = 0; e < HEAD_DIM; e++) {
        scale = fmax(scale, fabs(scales[e]));
        double off = fabs((double)got[e] - expected[e]);
        if (!(off <= error)) error = isnan(off) ? INFINITY : off;
    }
    return scale > 0 ? error / scale : error;
}

double oracle_error(const char *graph_text, const struct text_vectors *t, const float *out, int rows, int threads,
                    oracle_progress *progress)
{
    (void)threads; /* not used without OpenMP */
    int64_t n = t->length;
    double *context = malloc(sizeof(double) * HEAD_DIM * (size_t)n);
    double *value = malloc(sizeof(double) * HEAD_DIM * (size_t)n);
    double *absolute = malloc(sizeof(double) * HEAD_DIM * (size_t)n);
    double worst = -1;
    if (!context || !value || !absolute) {
        fprintf(stderr, "next_byte: error: out of memory\n");
        goto done;
    }
    for (int64_t k = 0; k < n * HEAD_DIM; k++) {
        context[k] = t->context[k];
        value[k] = t->value[k];
        absolute[k] = fabs(value[k]);
    }
    char wrong[256] = "";
    double largest = 0;
    int finished = 0;
#ifdef _OPENMP
#pragma omp parallel num_threads(threads) if (threads > 1)
#endif
    {
        /* Each thread has its own graph, because evaluation allocates memory in its arena. */
        struct arena *arena = arena_new();
        struct diagnostics *d = diagnostics_new(arena, "graph", graph_text, __builtin_strlen(graph_text));
        struct graph *g = graph_parse(arena, graph_text, d);
        if (!g) {
#ifdef _OPENMP
#pragma omp critical
#endif
            {
                diagnostics_flush(d, stderr, false);
                snprintf(wrong, sizeof wrong, "the graph does not parse");
            }
        }
#ifdef _OPENMP
#pragma omp for schedule(dynamic, 1)
#endif
        for (int k = 0; k < rows; k++) {
            const char *said = NULL;
            int64_t row = sampled_row(t, k, rows);
            double error = g ? row_error(g, context, value, absolute, row, out + row * HEAD_DIM, &said) : 0;
#ifdef _OPENMP
#pragma omp critical
#endif
            {
                if (said && !wrong[0]) snprintf(wrong, sizeof wrong, "the interpreter: %s", said);
                if (error > largest) largest = error;
                finished++;
                if (progress) progress(finished, rows);
            }
        }
        arena_free(arena);
    }
    if (wrong[0])
        fprintf(stderr, "next_byte: error: %s\n", wrong);
    else
        worst = largest;
done:
    free(context);
    free(value);
    free(absolute);
    return worst;
}
