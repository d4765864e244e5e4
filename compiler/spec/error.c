/* Reports errors about nodes of the YAML tree, at most one error per node. */
#include "reader.h"
#include "spec.h"

#include <string.h>

static const struct position nowhere = {0, 0};

void spec_error_from(struct diagnostics *d, const char *origin, struct position at, const char *message)
{
    if (origin)
        diagnostics_error(d, nowhere, "--set %.100s: %s", origin, message);
    else
        diagnostics_error(d, at, "%s", message);
}

void spec_error(struct spec_reader *r, struct yaml *node, const char *format, ...)
{
    r->muted = node->wrong;
    if (node->wrong) return;
    node->wrong = true;
    char message[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    spec_error_from(r->d, node->origin, node->at, message);
}

void spec_say_inside(struct spec_reader *r, const struct yaml *node, size_t offset, enum expression_says says,
                     const char *message)
{
    const struct position at = node->origin ? nowhere : yaml_place(node, offset);
    if (node->origin && says != EXPRESSION_NOTE)
        message = arena_printf(r->arena, "--set %.100s: at character %zu of the expression: %s", node->origin,
                               offset + 1, message);
    switch (says) {
    case EXPRESSION_ERROR: diagnostics_error(r->d, at, "%s", message); break;
    case EXPRESSION_NOTE: diagnostics_note(r->d, at, "%s", message); break;
    case EXPRESSION_WARNING: {
        struct spec_warning *w = arena_alloc(r->arena, sizeof *w);
        *w = (struct spec_warning){at, arena_copy(r->arena, message), r->spec->warning};
        r->spec->warning = w;
    }
    }
    r->muted = false;
}

void spec_warn(const struct spec *spec, bool refuse, struct diagnostics *d)
{
    for (const struct spec_warning *w = spec->warning; w; w = w->next)
        (refuse ? diagnostics_error : diagnostics_warning)(d, w->at, "%s", w->text);
}

void spec_note(struct spec_reader *r, const struct yaml *node, const char *format, ...)
{
    if (r->muted) return;
    char message[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    diagnostics_note(r->d, node->origin ? nowhere : node->at, "%s", message);
}

void spec_place(struct spec_reader *r, const struct yaml *node, const char *what)
{
    if (node->origin)
        spec_note(r, node, "%s is from --set %.100s", what, node->origin);
    else
        spec_note(r, node, "%s is here", what);
}

void spec_hint(struct spec_reader *r, const struct yaml *node, const char *text, const char *const *words)
{
    if (!words[0]) return;
    const char *near = nearest_word(text, words);
    if (near) {
        spec_note(r, node, "did you mean '%s'?", near);
        return;
    }
    struct text all = {0};
    for (int i = 0; words[i]; i++) text_add(&all, "%s%s", i ? ", " : "", words[i]);
    spec_note(r, node, "expected one of %s", all.data);
    text_free(&all);
}

const char *spec_found(struct spec_reader *r, const struct yaml *node)
{
    switch (node->kind) {
    case YAML_NULL: return "nothing";
    case YAML_BOOL:
    case YAML_INT:
    case YAML_REAL: return arena_printf(r->arena, "%.40s", node->text);
    case YAML_WORD: return *node->text ? arena_printf(r->arena, "'%.40s'", node->text) : "empty text";
    case YAML_LIST: return node->count ? "a list" : "an empty list";
    case YAML_MAP: return "a map";
    }
    return "";
}
