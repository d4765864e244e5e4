/* What the pages of the manual share. */
#ifndef ATTNC_MANUAL_PAGE_H
#define ATTNC_MANUAL_PAGE_H

#include "../../ir/ir.h"

/* Text as man shows it; the marks around code go. */
void manual_text(struct text *out, const char *s);
void manual_head(struct text *out, const char *name, const char *section, const char *says);

#endif
