/* From a spec to a graph that defines the result: the only folder that knows the names of variants. */
#ifndef ATTNC_VARIANT_H
#define ATTNC_VARIANT_H

#include "../spec/spec.h"

/* The graph of the quadratic form of the spec. NULL after reporting a feature that is not compiled yet. (graph.c) */
struct graph *build_graph(struct arena *arena, const struct spec *spec, struct diagnostics *d);
/* About specs that prepare keys. (graph.c, prepare.c)
   - build_graph_of_prepared: the graph for keys that are already prepared.
   - build_graph_that_prepares: the graph that prepares n_q keys, which are the last of n_k positions.
   - prepares_keys: whether the spec prepares keys. */
struct graph *build_graph_of_prepared(struct arena *arena, const struct spec *spec, struct diagnostics *d);
struct graph *build_graph_that_prepares(struct arena *arena, const struct spec *spec, struct diagnostics *d);
bool prepares_keys(const struct spec *spec);

#endif
