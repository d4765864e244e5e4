/* Finds facts about a program. Its headers have a subject each.
   Terms:
   - current range of an axis: LO <= index < HI, the indices that the surrounding loop processes at a time
   - region: a condition on indices. A sum adds only the terms in its region `where`.
   - position: j for key j, and i + query_start for query i. query_start is n_k - n_q unless the caller gives it, so
     the last query is at the last key.
   - lane axis: runs along the vector lanes
   - stream axis: is summed over tile by tile (struct roles)
   - ids: integer parameters with a number for each key, such as its document */
#ifndef ATTNC_ANALYSIS_H
#define ATTNC_ANALYSIS_H

#include "affine.h"
#include "computed_arrays.h"
#include "decay.h"
#include "draw_lists.h"
#include "kernel_arrays.h"
#include "overflow.h"
#include "pages.h"
#include "reach.h"
#include "region.h"
#include "roles.h"
#include "signs.h"

#endif
