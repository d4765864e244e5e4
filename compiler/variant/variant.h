/* From a spec to a graph that says what it means: the only step that knows the names of variants. */
#ifndef ATTNC_VARIANT_H
#define ATTNC_VARIANT_H

#include "../spec/spec.h"

/* The quadratic meaning of the spec. NULL after reporting what is not compiled yet. (graph.c) */
struct graph *build_graph(struct arena *arena, const struct spec *spec, struct diagnostics *d);
/* The same of keys that are prepared already; and what prepares them, as rows of n_q keys, the last of n_k positions;
   whether the spec asks for that. (graph.c, prepare.c) */
struct graph *build_graph_of_prepared(struct arena *arena, const struct spec *spec, struct diagnostics *d);
struct graph *build_graph_that_prepares(struct arena *arena, const struct spec *spec, struct diagnostics *d);
bool prepares_keys(const struct spec *spec);

#endif
