/* Functions that write parts of man pages, in the language of man (roff). */
#ifndef ATTNC_MANUAL_PAGE_H
#define ATTNC_MANUAL_PAGE_H

#include "../../ir/ir.h"

/* manual_text appends text and removes backquotes around code. manual_code appends a line of code. Both escape the
   characters that are special in roff. manual_head begins a page. */
void manual_text(struct text *out, const char *s);
void manual_code(struct text *out, const char *line, size_t length);
void manual_head(struct text *out, const char *name, const char *section, const char *says);

/* Appends a Markdown file, up to the first HTML comment other than MANUAL_FUNCTIONS and MANUAL_NAMES.
   - sections: headings of level 2 become sections of the page, and the text before the first of them is omitted.
   - otherwise the whole text becomes a part of one section. */
void manual_markdown(struct text *out, const char *markdown, bool sections);

/* compiler/manual/attnc.md, runtime/README.md and compiler/manual/spec.md, embedded when attnc is built. */
extern const char manual_commands[], manual_runtime[], manual_language[];
#define MANUAL_KEYS "<!-- keys -->"           /* in spec.md: the tables of keys come here */
#define MANUAL_FUNCTIONS "<!-- functions -->" /* in spec.md: the functions that expressions may call come here */
#define MANUAL_NAMES "<!-- names -->"         /* in spec.md: the names that expressions may use come here */
/* Append Markdown: a line that lists these functions, a list of these names. */
void manual_functions(struct text *markdown);
void manual_names(struct text *markdown);

#endif
