/* Builds a graph from a spec. The graph defines the result. Only this folder has names of variants. */
#ifndef ATTNC_VARIANT_H
#define ATTNC_VARIANT_H

#include "../spec/spec.h"

/* Reads and checks a spec like spec_read, or a graph if the file's name ends in `.graph`. (text.c) */
const struct spec *source_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides,
                               const char *const *override, struct diagnostics *d);
bool source_is_graph(const char *file);

/* The key from which positions in a graph count.
   - COUNT_CALL: the first key of the call
   - COUNT_SEQUENCE: the first key of the sequence, because a call may have only some of its keys
   - COUNT_SHOWN: the same. Keys that the mask hides from all queries have weight 0, so sums over keys have none of
     them. */
enum counting { COUNT_CALL, COUNT_SEQUENCE, COUNT_SHOWN };

/* Returns the graph of the quadratic form. Returns NULL after an error. (graph.c) */
struct graph *build_graph(struct arena *arena, const struct spec *spec, enum counting counting, struct diagnostics *d);
/* Like build_graph, but without dropout, for decoding. (graph.c) */
struct graph *build_graph_without_dropout(struct arena *arena, const struct spec *spec, enum counting counting,
                                          struct diagnostics *d);
/* Graphs for states that store prepared keys, which are keys after the steps of `prepare`. (graph.c, prepare.c)
   - build_graph_of_prepared returns a graph without dropout that reads prepared keys.
   - build_graph_that_prepares returns a graph that prepares n_q new keys, at the last n_q of n_k positions.
   - build_graph_that_prepares_rows does the same for the rows of an array, which are its input q. */
struct graph *build_graph_of_prepared(struct arena *arena, const struct spec *spec, enum counting counting,
                                      struct diagnostics *d);
struct graph *build_graph_that_prepares(struct arena *arena, const struct spec *spec, enum counting counting,
                                        struct diagnostics *d);
struct graph *build_graph_that_prepares_rows(struct arena *arena, const struct spec *spec, enum counting counting,
                                             const struct user_array *rows, struct diagnostics *d);

/* Returns whether the weight of a query and a key depends on positions in another way than by a power of their
   difference. Then finite features may depend on positions, even if the weight depends on their difference only. */
bool weight_names_positions(const struct spec *spec);
/* Returns whether rows of queries and keys are rotated, and results depend only on the inner products of rotated rows.
   These depend on the difference of two positions only, although the rows do not. (prepare.c) */
bool weight_is_of_rotations(const struct spec *spec);

#endif
