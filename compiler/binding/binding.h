/* NAME.py: a kernel as a Python module. */
#ifndef ATTNC_BINDING_H
#define ATTNC_BINDING_H

#include "../driver/driver.h"

void emit_python(const struct unit *p, struct text *out);
extern const char python_body[];      /* python_body.py */
extern const char python_gradients[]; /* python_gradients.py */

#endif
