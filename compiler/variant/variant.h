/* From a spec to a graph that says what it means: the only step that knows the names of variants. */
#ifndef ATTNC_VARIANT_H
#define ATTNC_VARIANT_H

#include "../spec/spec.h"

/* The quadratic meaning of the spec. NULL after reporting what is not compiled yet. (graph.c) */
struct graph *build_graph(struct arena *arena, const struct spec *spec, struct diagnostics *d);

#endif
