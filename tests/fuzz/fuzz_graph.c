/* libFuzzer's entry point. From any text in place of a spec, the reader must return a spec with a graph that the
 * verifier accepts, or report errors. */
#include "compiler/spec/spec.h"
#include "compiler/variant/variant.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *const arena = arena_new();
    const char *const text = (const char *)data;
    struct diagnostics *const d = diagnostics_new(arena, "fuzz.graph", text, size);
    const struct spec *const spec = source_read(arena, "fuzz.graph", text, size, 0, NULL, d);
    if (!spec != (diagnostics_errors(d) > 0)) abort();
    const struct graph *const g = spec ? build_graph(arena, spec, COUNT_CALL, d) : NULL;
    if (spec && (!g || graph_verify(g))) abort();
    FILE *const out = fopen("/dev/null", "w");
    if (out) {
        (void)diagnostics_flush(d, out, false);
        fclose(out);
    }
    arena_free(arena);
    return 0;
}
