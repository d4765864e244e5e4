/* What the files of the manual share (manual.c, manual_spec.c). */
#ifndef ATTNC_MANUAL_H
#define ATTNC_MANUAL_H

#include "command_line.h"

/* Text as man shows it; the marks around code go. */
void manual_text(struct text *out, const char *s);
void manual_head(struct text *out, const char *name, const char *section, const char *says);

#endif
