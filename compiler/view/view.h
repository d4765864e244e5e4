/* Describes a compiled spec. NAME.dot is a picture of the graph. NAME.json describes arrays, kernels, knobs and the
   graph. */
#ifndef ATTNC_VIEW_H
#define ATTNC_VIEW_H

#include "../driver/driver.h"

/* These functions append the text of NAME.dot (dot.c) and of NAME.json (json.c). emit_json returns false if memory
   runs out. */
void emit_dot_file(const struct unit *p, struct text *out);
bool emit_json(const struct unit *p, struct text *out);

/* Appends what a value is, such as "input", or its formula. */
void view_value(const struct graph *g, const struct value *v, struct text *out);
/* Returns the name of the argument of Python's functions for parameter a. It ends in `_` if Python or a function uses
   the plain name. */
const char *view_python_argument(const struct unit *p, const struct kernel_array *a);
/* Returns the length of the text without blanks and newlines at its end. */
size_t view_length(const char *text);

#endif
