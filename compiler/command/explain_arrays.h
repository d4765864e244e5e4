/* How kernels read the arrays that a spec declares (explain_arrays.c). */
#ifndef ATTNC_EXPLAIN_ARRAYS_H
#define ATTNC_EXPLAIN_ARRAYS_H

#include "../driver/driver.h"

/* Prints a line for each form of the first target that reads the array. Prints nothing for an array that the spec does
   not declare. */
void explain_array(const struct unit *p, const struct kernel_array *a);

/* Prints how many strips a thread computes once for all tiles of a head, and their bytes. */
void explain_remembered(const struct loops *l);

#endif
