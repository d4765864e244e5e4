/* Describes a compiled spec. NAME.dot is a picture of the graph. NAME.json describes arrays, kernels, knobs and the
   graph. */
#ifndef ATTNC_VIEW_H
#define ATTNC_VIEW_H

#include "../driver/driver.h"

/* These functions append the text of NAME.dot (dot.c) and of NAME.json (json.c). emit_json returns false if memory
   runs out. */
void emit_dot_file(const struct unit *p, struct text *out);
bool emit_json(const struct unit *p, struct text *out);

/* Returns the name of value `number` of the graph, such as its name for an array and "v7" for another value. */
const char *view_name(const struct graph *g, int number);
/* These functions append text to *out:
   - view_expr: an expression of value v, such as "v3 * v4 + 1"
   - view_value: how v is computed, such as "sum over j of v3 * v" */
void view_expr(const struct graph *g, const struct value *v, const struct expr *e, struct text *out);
void view_value(const struct graph *g, const struct value *v, struct text *out);
/* Returns the name of the argument of Python's functions for parameter a. It ends in `_` if Python or a function uses
   the plain name. */
const char *view_python_argument(const struct unit *p, const struct kernel_array *a);
/* Returns the length of the text without blanks and newlines at its end. */
size_t view_length(const char *text);

#endif
