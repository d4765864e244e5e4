/* From the text of a spec to a checked struct spec. */
#include "../spec.h"

struct spec *spec_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides, const char *const *override,
                       struct diagnostics *d)
{
    const int before = diagnostics_errors(d);
    struct spec_reader r = {.arena = arena, .d = d, .spec = arena_alloc(arena, sizeof *r.spec)};
    r.root = yaml_read(arena, text, length, d);
    if (!r.root) return NULL;
    if (r.root->kind == YAML_MAP)
        for (int i = 0; i < overrides; i++) spec_override(&r, override[i]);
    spec_read_tree(&r);
    if (r.root->kind == YAML_MAP) spec_check(&r, file);
    return diagnostics_errors(d) == before ? r.spec : NULL;
}
