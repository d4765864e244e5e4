/* The graph as people and other programs read it (graph_view.c): what NAME.dot, NAME.json and NAME.py say of it. */
#ifndef ATTNC_GRAPH_VIEW_H
#define ATTNC_GRAPH_VIEW_H

#include "compiler.h"

/* The name of an array, or "v7". */
const char *view_name(const struct graph *g, int number);
/* An expression of v's, "v3 * v4 + 1"; and what v is, "sum over j of v3 * v". */
void view_expr(const struct graph *g, const struct value *v, const struct expr *e, struct text *out);
void view_value(const struct graph *g, const struct value *v, struct text *out);
/* The extents, of which some are names as callers know them: "heads" for key/value heads and their members. Returns the rank. */
int view_shape(const struct graph *g, const struct value *v, const char **shape);
/* The length of a text without the blanks and the ends of lines after it. */
size_t view_length(const char *text);

#endif
