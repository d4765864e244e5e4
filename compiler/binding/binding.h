/* Writes NAME.py, a Python module that calls the kernel NAME. */
#ifndef ATTNC_BINDING_H
#define ATTNC_BINDING_H

#include "../driver/driver.h"

void emit_python(const struct unit *p, struct text *out);
extern const char python_body[]; /* the text of runtime/python/attnc/_call.py */

#endif
