/* Pages of the manual, completions of shells, the reference of the spec language and its schema. */
#ifndef ATTNC_MANUAL_H
#define ATTNC_MANUAL_H

#include "../../ir/ir.h"

/* specs/README.md, from spec.md and the rows of spec/spec.def. */
void spec_reference(struct text *out);
/* specs/attnc.schema.json, from the same rows; false: no memory. */
bool spec_schema(struct text *out);

/* Completions of a shell (completions.c); pages of the manual (manual.c, spec.c). */
void completions_bash(struct text *out);
void completions_zsh(struct text *out);
void completions_fish(struct text *out);
void manual_attnc(struct text *out);
void manual_attnrt(struct text *out);
void manual_spec(struct text *out);

#endif
