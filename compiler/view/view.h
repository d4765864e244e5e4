/* The graph as people and other programs read it: NAME.dot, NAME.json, and the words that NAME.py has, too. */
#ifndef ATTNC_VIEW_H
#define ATTNC_VIEW_H

#include "../driver/driver.h"

/* NAME.dot, NAME.json (false: no memory) and NAME.py (dot.c, json.c, binding/python.c). */
void emit_dot_file(const struct unit *p, struct text *out);
bool emit_json(const struct unit *p, struct text *out);

/* The name of an array, or "v7". */
const char *view_name(const struct graph *g, int number);
/* An expression of v's, "v3 * v4 + 1"; and what v is, "sum over j of v3 * v". */
void view_expr(const struct graph *g, const struct value *v, const struct expr *e, struct text *out);
void view_value(const struct graph *g, const struct value *v, struct text *out);
/* The extents, of which some are names as callers know them: "heads" for key/value heads and their members. Returns the
   rank. */
int view_shape(const struct graph *g, const struct value *v, const char **shape);
/* The length of a text without the blanks and the ends of lines after it. */
size_t view_length(const char *text);

#endif
