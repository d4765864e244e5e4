/* Writes NAME.py, a Python module that calls the kernel NAME. */
#ifndef ATTNC_BINDING_H
#define ATTNC_BINDING_H

#include "../driver/driver.h"

void emit_python(const struct unit *p, struct text *out);
/* The text of files of runtime/python/attnc, such as _header.py. */
extern const char python_header[], python_arrays[], python_threads[], python_repeat[], python_call[];

#endif
