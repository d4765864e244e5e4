/* Words about values of a graph, and names of arguments, for NAME.dot, NAME.json and NAME.py. */
#include "view.h"
#include "../emit/emit.h"
#include "../spec/spec.h"

#include <string.h>

void view_value(const struct graph *g, const struct value *v, struct text *out)
{
    if (v->op == GRAPH_INPUT)
        text_add(out, "input");
    else if (v->op == GRAPH_TABLE)
        text_add(out, "table of constants");
    else if (v->op != GRAPH_PARAM)
        formula_value(g, v, out);
    else if (v->integers)
        text_add(out, "parameter, integers");
    else if (v->origin == ORIGIN_LEARNED)
        text_add(out, "parameter");
    else
        text_add(out, "parameter from a seed: %s", origin_name(v->origin));
}

/* Names that functions of NAME.py and of the package attnc use for something else. */
static const char *const python_names[] = {"batch",       "capacity", "data",  "foldable", "gradients",
                                           "query_start", "rewind",   "saved", "self",     "start",
                                           "threads",     "wanted",   NULL};

static bool is_python_name(const struct unit *p, const struct kernel_array *of, const char *name)
{
    const char *const gradient = arena_printf(p->arena, "d%s", name);
    bool used = python_is_keyword(name) || python_is_keyword(gradient);
    for (const char *const *other = python_names; *other; other++) used |= strcmp(name, *other) == 0;
    if (spec_array(p->spec, of->name) >= 0) {
        used |= strcmp(name, "seed") == 0 || strcmp(name, "statistics") == 0 || strcmp(name, "weights") == 0;
        /* arguments of a state's extend(), which takes the rows of such arrays */
        used |= array_grows(of) && (strcmp(name, "lengths") == 0 || strcmp(name, "cu_seqlens") == 0);
    }
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if (a->place == PLACE_PARAMS && strcmp(a->name, of->name) != 0)
            used |= strcmp(a->name, name) == 0 || strcmp(a->name, gradient) == 0;
    }
    return used;
}

const char *view_python_argument(const struct unit *p, const struct kernel_array *a)
{
    /* The member may already have a `_`, because of a keyword of C++. */
    const char *name = a->declared && !name_is_tangent(a->name) ? a->name : a->member;
    while (is_python_name(p, a, name)) name = arena_printf(p->arena, "%s_", name);
    return name;
}

size_t view_length(const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1])) n--;
    return n;
}
