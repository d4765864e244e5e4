/* Shared by the pages of the manual. */
#ifndef ATTNC_MANUAL_PAGE_H
#define ATTNC_MANUAL_PAGE_H

#include "../../ir/ir.h"

/* manual_text writes text for man and drops the marks around code. manual_code writes a line of code unchanged. */
void manual_text(struct text *out, const char *s);
void manual_code(struct text *out, const char *line, size_t length);
void manual_head(struct text *out, const char *name, const char *section, const char *says);

/* A Markdown file, up to the first HTML comment other than the list of functions. With `sections`, its headings become
   sections of the page and the text before the first one is left out; without, all of it becomes a part of one section.
 */
void manual_markdown(struct text *out, const char *markdown, bool sections);

/* compiler/manual/attnc.md, runtime/README.md and compiler/manual/spec.md, embedded when attnc is built. */
extern const char manual_commands[], manual_runtime[], manual_language[];
#define MANUAL_KEYS "<!-- keys -->"           /* the place of the tables in spec.md */
#define MANUAL_FUNCTIONS "<!-- functions -->" /* the place of the functions of expressions */
void manual_functions(struct text *markdown); /* a line of Markdown with these functions */

#endif
