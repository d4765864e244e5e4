/* Documents that are generated: man pages, and the reference and schema of the spec language. Each
   function appends its document to `out`. */
#ifndef ATTNC_MANUAL_H
#define ATTNC_MANUAL_H

#include "../../ir/memory.h"

/* Appends specs/README.md, which is made from manual/spec.md and the rows of spec/spec.def. */
void spec_reference(struct text *out);
/* Appends specs/attnc.schema.json, which is made from spec/spec.def. Returns false if memory runs out. */
bool spec_schema(struct text *out);

/* These functions append the man pages attnc(1), attnrt(3) and attnc-spec(5) (manual.c, spec.c) */
void manual_attnc(struct text *out);
void manual_attnrt(struct text *out);
void manual_spec(struct text *out);

#endif
