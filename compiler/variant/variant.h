/* Builds a graph from a spec. The graph defines the result. Only this folder knows the names of variants. */
#ifndef ATTNC_VARIANT_H
#define ATTNC_VARIANT_H

#include "../spec/spec.h"

/* Returns the graph of the quadratic form of the spec. Returns NULL after reporting an error, such as a feature that is
   not compiled yet. (graph.c) */
struct graph *build_graph(struct arena *arena, const struct spec *spec, struct diagnostics *d);
/* Like build_graph, but nothing is dropped, whatever `dropout` says. Decoding uses this graph. (graph.c) */
struct graph *build_graph_without_dropout(struct arena *arena, const struct spec *spec, struct diagnostics *d);
/* A state can store prepared keys: keys after the steps of the spec's `prepare`, such as a rotation. (graph.c,
   prepare.c)
   - build_graph_of_prepared: like build_graph_without_dropout, for keys that are already prepared
   - build_graph_that_prepares: the graph that prepares n_q new keys, at the last n_q of n_k positions
   - prepares_keys: whether the spec has steps that change keys */
struct graph *build_graph_of_prepared(struct arena *arena, const struct spec *spec, struct diagnostics *d);
struct graph *build_graph_that_prepares(struct arena *arena, const struct spec *spec, struct diagnostics *d);
bool prepares_keys(const struct spec *spec);

#endif
