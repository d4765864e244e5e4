/* libFuzzer's door to the spec reader: any bytes give a spec or errors, and what reads as a spec gives a graph that verifies, or errors. */
#include "compiler/compiler.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    char *text = malloc(size + 1);
    if (!text) abort();
    memcpy(text, data, size);
    text[size] = 0;
    struct diagnostics *d = diagnostics_new(arena, "fuzz.yaml", text, size);
    struct spec *spec = spec_read(arena, "fuzz.yaml", text, size, 0, NULL, d);
    if (!spec && diagnostics_errors(d) == 0) abort();
    if (spec) {
        struct graph *g = build_graph(arena, spec, d);
        if (!g && diagnostics_errors(d) == 0) abort();
        if (g && graph_verify(g)) abort();
    }
    FILE *sink = fopen("/dev/null", "w");
    if (sink) {
        diagnostics_flush(d, sink, true);
        fclose(sink);
    }
    free(text);
    arena_free(arena);
    return 0;
}
