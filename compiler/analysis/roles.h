/* The roles of axes for an output (roles.c). */
#ifndef ATTNC_ROLES_H
#define ATTNC_ROLES_H

#include "../../ir/graph.h"

/* The roles of run-time axes for an output (roles.c). -1: no axis. */
struct roles {
    int lane;        /* the sequence in the vector lanes, such as the queries */
    int stream;      /* the sequence that is summed over tile by tile, usually the keys */
    bool outer_only; /* there is no stream: only the axes in `outer` are summed over */
    int chunk;       /* the axis of chunks of a carried state */
    /* Axes that are summed over in loops outside the stream, as bits. Example: for dk, the query heads that share a
       key. */
    uint32_t outer;
    int slices; /* the axis of slices, if the output has one sum per slice of rows */
    /* The axes of the output's rows, as bits. For a sum over rows, they are the axes of the summed rows. */
    uint32_t rows;
};
/* Rows are numbered and divided into slices of equal length. Row r is in slice r / length.
   - first: the number of the row with lane index 0, at the current indices of the other axes
   - length: a multiple of 64 */
struct row_slices {
    const struct expr *first, *length;
};
/* Numbers the rows over `axes`, with the lane as the innermost axis. `first` refers to indices by `leaf`:
   EXPR_INDEX or EXPR_LO. */
struct row_slices slices_of_rows(struct module *m, uint32_t axes, int lane, int slices, enum expr_op leaf);
/* Finds the roles for output number `output`. Returns NULL, or why no loops can be generated. */
const char *roles_of(const struct graph *g, int output, struct roles *out);
/* The order of chunks in the loops for an output of a graph by chunks: 1 from the first one on, -1 from the last one
   on, 0 if any order will do. */
int chunk_direction(const struct graph *g, int output);
/* Groups outputs that can share loops. Sets group[o] and returns the number of groups, which are numbered from 1. */
int output_groups(const struct graph *g, int *group);

#endif
