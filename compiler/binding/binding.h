/* NAME.py: a kernel as a Python module. */
#ifndef ATTNC_BINDING_H
#define ATTNC_BINDING_H

#include "../driver/driver.h"

void emit_python(const struct unit *p, struct text *out);
extern const char python_body[]; /* runtime/python/attnc/_call.py */

#endif
