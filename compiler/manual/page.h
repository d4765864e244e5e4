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

/* Appends a Markdown file up to the first HTML comment other than MANUAL_FUNCTIONS and MANUAL_NAMES.
   - If `sections`, headings of level 2 begin sections of the page. Text before the first of these headings is
     omitted.
   - Otherwise, the whole text is part of one section. */
void manual_markdown(struct text *out, const char *markdown, bool sections);

/* the texts of attnc.md, runtime/README.md and spec.md */
extern const char manual_commands[], manual_runtime[], manual_language[];
#define MANUAL_KEYS "<!-- keys -->"           /* in spec.md: replaced by the tables of keys */
#define MANUAL_FUNCTIONS "<!-- functions -->" /* in spec.md: replaced by the functions that expressions may call */
#define MANUAL_NAMES "<!-- names -->"         /* in spec.md: replaced by the names that expressions may use */
/* The maps of a spec with a separate section each. */
extern const struct manual_map {
    const char *heading;
    enum group group;
} manual_maps[];
enum { MANUAL_MAPS = 4 };
/* manual_functions appends a line of Markdown that lists the functions. manual_names appends a list of the names. */
void manual_functions(struct text *markdown);
void manual_names(struct text *markdown);

#endif
