/* Functions that write parts of man pages, in the language of man (roff). */
#ifndef ATTNC_MANUAL_PAGE_H
#define ATTNC_MANUAL_PAGE_H

#include "../../ir/memory.h"
#include "../spec/spec.h"

/* These functions append parts of a page:
   - manual_head begins a page.
   - manual_text appends text without its backquotes.
   - manual_code appends a line of code.
   manual_text and manual_code escape characters that are special in roff. */
void manual_text(struct text *out, const char *s);
void manual_code(struct text *out, const char *line, size_t length);
void manual_head(struct text *out, const char *name, const char *section, const char *says);

/* Appends a Markdown file up to the first HTML comment that manual_mark does not know.
   - If `sections`, headings of level 2 begin sections of the page. Text before the first of these headings is
     omitted.
   - Otherwise, the whole text is part of one section. */
void manual_markdown(struct text *out, const char *markdown, bool sections);

/* the texts of attnc.md, runtime/README.md and spec.md */
extern const char manual_commands[], manual_runtime[], manual_language[];
#define MANUAL_KEYS "<!-- keys -->"           /* in spec.md: replaced by the tables of keys */
#define MANUAL_FUNCTIONS "<!-- functions -->" /* in spec.md: replaced by the functions that expressions may call */
#define MANUAL_NAMES "<!-- names -->"         /* in spec.md: replaced by the names that expressions may use */
#define MANUAL_MAP "<!-- map "                /* in spec.md: followed by a key, whose map's keys replace the line */
/* If the line is one of the last three marks, appends what replaces it, as Markdown, and returns true. */
bool manual_mark(const char *line, struct text *markdown);
/* Appends the default of a key, with `before` before it, or that the key is required or optional. */
void manual_default(const struct key_row *row, const char *before, struct text *markdown);

#endif
