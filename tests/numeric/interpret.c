/* Evaluates specs with the interpreters. usage: interpret FOLDER…
   - A folder has spec.yaml, q.npy, k.npy, v.npy, and perhaps document.npy.
   - graph.npy is written there: the value of the source graph.
   - quadratic.npy and linear.npy are written there: the values of each form's loops for x86-64-v3. */
#include "../../compiler/pass/pass.h"
#include "../../compiler/schedule/schedule.h"
#include "../../compiler/spec/spec.h"
#include "../../compiler/target/target.h"
#include "../../compiler/variant/variant.h"
#include "../../runtime/attnrt.h"
#include "../lib/read_whole.h"

#include <stdlib.h>
#include <string.h>

/* Compiles one form of the spec. Returns NULL if the spec does not have it, or after a message. */
static const struct loops *loops_of(struct arena *arena, const struct spec *spec, bool linear, struct diagnostics *d)
{
    struct compilation c = {
        .spec = spec, .target = target_find("x86-64-v3"), .diagnostics = d, .program.linear = linear};
    c.source = build_graph(arena, spec, COUNT_CALL, d);
    c.graph = build_graph(arena, spec, COUNT_CALL, d);
    return c.graph && passes_run(&c, NULL, NULL) && (!linear || c.separated.features) ? c.loops : NULL;
}

static int one(const char *folder)
{
    static const char *const inputs[] = {"q", "k", "v"}, *const given[] = {"document", "lengths", "blocks"},
                             *const results[] = {"graph", "quadratic", "linear"};
    struct arena *arena = arena_new();
    const char *file = arena_printf(arena, "%s/spec.yaml", folder), *wrong = NULL;
    size_t length = 0;
    char *text = read_whole(arena, file, &length), message[200];
    struct diagnostics *d = diagnostics_new(arena, file, text, length);
    const struct spec *spec = text ? spec_read(arena, file, text, length, 0, NULL, d) : NULL;
    const struct graph *g = spec ? build_graph(arena, spec, COUNT_CALL, d) : NULL;
    struct attn_array array[3] = {{.data = NULL}};
    struct tensor tensor[6];
    int tensors = 3;
    int status = g ? 0 : 1;
    for (int k = 0; k < 3 && status == 0; k++) {
        if (attn_npy_read(arena_printf(arena, "%s/%s.npy", folder, inputs[k]), ATTN_F64, &array[k], message,
                          sizeof message) != 0)
            status = 1;
        tensor[k] = (struct tensor){inputs[k], array[k].data};
    }
    for (int n = 0; n < 3 && status == 0; n++) {
        struct attn_array integers = {.data = NULL};
        if (attn_npy_read(arena_printf(arena, "%s/%s.npy", folder, given[n]), ATTN_I32, &integers, message,
                          sizeof message) != 0)
            continue;
        int64_t count = 1;
        for (int k = 0; k < integers.rank; k++) count *= integers.shape[k];
        double *const as_numbers = arena_alloc(arena, (size_t)(count + 1) * sizeof *as_numbers);
        for (int64_t k = 0; k < count; k++) as_numbers[k] = ((const int32_t *)integers.data)[k];
        tensor[tensors++] = (struct tensor){given[n], as_numbers};
        attn_array_free(&integers);
    }
    const int64_t *q = array[0].shape, *kv = array[1].shape;
    for (int k = 0; k < 3 && status == 0; k++) {
        struct problem_size size = {q[0], kv[1], q[1] / kv[1], q[2], kv[2]};
        struct attn_array out = {.dtype = ATTN_F64, .rank = 4, .shape = {q[0], q[1], q[2], array[2].shape[3]}};
        out.data = malloc((size_t)(q[0] * q[1] * q[2] * array[2].shape[3]) * sizeof(double));
        const struct loops *l = k > 0 ? loops_of(arena, spec, k == 2, d) : NULL;
        if (out.data && (k == 0 || l)) {
            wrong = k == 0 ? graph_eval(g, &size, tensor, tensors, out.data)
                           : loops_eval(l, &size, tensor, tensors, out.data);
            if (!wrong && attn_npy_write(arena_printf(arena, "%s/%s.npy", folder, results[k]), &out, message,
                                         sizeof message) != 0)
                wrong = message;
            if (wrong) fprintf(stderr, "%s: %s: %s\n", folder, results[k], wrong);
        }
        free(out.data);
    }
    for (int k = 0; k < 3; k++) attn_array_free(&array[k]);
    if (diagnostics_flush(d, stderr, false) > 0) status = 1;
    arena_free(arena);
    return status;
}

int main(int count, char **argument)
{
    int status = 0;
    for (int k = 1; k < count; k++) status |= one(argument[k]);
    return status;
}
