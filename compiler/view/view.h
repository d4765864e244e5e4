/* Views of the graph for people and other programs: NAME.dot, NAME.json, and texts that NAME.py needs as well. */
#ifndef ATTNC_VIEW_H
#define ATTNC_VIEW_H

#include "../driver/driver.h"

/* NAME.dot, NAME.json (false: no memory) and NAME.py (dot.c, json.c, binding/python.c). */
void emit_dot_file(const struct unit *p, struct text *out);
bool emit_json(const struct unit *p, struct text *out);

/* The name of an array, or "v7". */
const char *view_name(const struct graph *g, int number);
/* view_expr: an expression of v, such as "v3 * v4 + 1". The value as text: "sum over j of v3 * v". */
void view_expr(const struct graph *g, const struct value *v, const struct expr *e, struct text *out);
void view_value(const struct graph *g, const struct value *v, struct text *out);
/* The length of the text without blanks and newlines at its end. */
size_t view_length(const char *text);

#endif
