/* Builds a graph from a spec. The graph defines the result. Only this folder has names of variants. */
#ifndef ATTNC_VARIANT_H
#define ATTNC_VARIANT_H

#include "../spec/spec.h"

/* Reads and checks a spec like spec_read, or a graph if the file's name ends in `.graph`. (text.c) */
struct spec *source_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides,
                         const char *const *override, struct diagnostics *d);
bool source_is_graph(const char *file);

/* Returns the graph of the quadratic form. Returns NULL after an error. (graph.c) */
struct graph *build_graph(struct arena *arena, const struct spec *spec, struct diagnostics *d);
/* Like build_graph, but without dropout, for decoding. (graph.c) */
struct graph *build_graph_without_dropout(struct arena *arena, const struct spec *spec, struct diagnostics *d);
/* Graphs for states that store prepared keys, which are keys after the steps of `prepare`. (graph.c, prepare.c)
   - build_graph_of_prepared returns a graph without dropout that reads prepared keys.
   - build_graph_that_prepares returns a graph that prepares n_q new keys, at the last n_q of n_k positions. */
struct graph *build_graph_of_prepared(struct arena *arena, const struct spec *spec, struct diagnostics *d);
struct graph *build_graph_that_prepares(struct arena *arena, const struct spec *spec, struct diagnostics *d);

/* Returns whether the weight of a query and a key depends on positions in another way than by a power of their
   difference. Then finite features may depend on positions, even if the weight depends on their difference only. */
bool weight_names_positions(const struct spec *spec);

#endif
