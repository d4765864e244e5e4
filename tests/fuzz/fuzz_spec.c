/* libFuzzer's entry point. From any text, the reader must return a spec or report errors. From a spec, attnc must
 * build a graph that the verifier accepts, or report errors. */
#include "compiler/spec/reader.h"
#include "compiler/spec/spec.h"
#include "compiler/variant/variant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the byte at a line and column, or 0 after the end. */
static char byte_at(const char *text, size_t size, struct position at)
{
    const char *s = text, *end = text + size;
    if (size >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) s += 3;
    for (int line = 1, column = 1; s < end; s++) {
        if (line == at.line && column == at.column) return *s;
        bool ends = *s == '\n' || (*s == '\r' && (s + 1 == end || s[1] != '\n'));
        line += ends;
        bool inside = s + 1 < end && ((unsigned char)s[1] & 0xc0) == 0x80;
        column = ends ? 1 : column + !inside;
    }
    return 0;
}

/* Checks positions: every byte of every scalar is found in the text at its position, but for blanks. */
static void check_places(const struct yaml *node, const char *text, size_t size, int *left)
{
    for (int k = 0; k < node->count && *left > 0; k++) {
        if (node->kind == YAML_MAP) check_places(node->key[k], text, size, left);
        check_places(node->item[k], text, size, left);
    }
    bool collection = node->kind == YAML_LIST || node->kind == YAML_MAP;
    for (size_t k = 0; !collection && node->text && node->text[k] && *left > 0; k++, --*left) {
        struct position at = yaml_place(node, k);
        if (at.line == node->at.line && at.column == node->at.column) continue;
        char value = node->text[k], found = byte_at(text, size, at);
        bool space = strchr(" \t\r\n", value), middle = ((unsigned char)value & 0xc0) == 0x80;
        if (found != value && !space && !middle && !(node->style == '"' && found == '\\')) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    char *text = malloc(size + 1);
    if (!text) abort();
    memcpy(text, data, size);
    text[size] = 0;
    struct diagnostics *d = diagnostics_new(arena, "fuzz.yaml", text, size);
    const struct spec *spec = spec_read(arena, "fuzz.yaml", text, size, 0, NULL, d);
    if (!spec && diagnostics_errors(d) == 0) abort();
    if (spec) {
        struct graph *g = build_graph(arena, spec, COUNT_CALL, d);
        if (!g && diagnostics_errors(d) == 0) abort();
        if (g && graph_verify(g)) abort();
    }
    const struct yaml *tree = yaml_read(arena, text, size, diagnostics_new(arena, "fuzz.yaml", text, size));
    int left = 500;
    if (tree && !memchr(text, 0, size) && !strstr(text, "\xc2\x85") && !strstr(text, "\xe2\x80"))
        check_places(tree, text, size, &left);
    FILE *sink = fopen("/dev/null", "w");
    if (sink) {
        diagnostics_flush(d, sink, true);
        fclose(sink);
    }
    free(text);
    arena_free(arena);
    return 0;
}
