/* Lists of drawn blocks in the workspace (draw_lists.c). */
#ifndef ATTNC_DRAW_LISTS_H
#define ATTNC_DRAW_LISTS_H

#include "../schedule/schedule.h"

/* Whether two EXPR_DRAWN use the same lists of blocks. */
bool draw_same_lists(const struct expr *a, const struct expr *b);

struct drawn_list {
    int count;
    const struct expr *e[MAX_DRAWN];
};

/* Adds one EXPR_DRAWN to *list for each different list of blocks that s and its body use. */
void draw_lists(const struct stmt *s, struct drawn_list *list);
/* Returns the bytes of an EXPR_DRAWN's lists. A tile has one list for each block that it overlaps. */
int64_t draw_list_bytes(const struct compilation *c, const struct expr *drawn);
/* Of sorted lists, a tile has a bit for each row and block of keys. Returns the words of 64 rows for each block. */
int64_t draw_list_words(const struct compilation *c, const struct expr *drawn);
/* The bytes of workspace for the union of a statement's ranges. It is 0 if
   - no range is drawn, so the union is a local array,
   - the statement is a DOT, which uses the union of the IF before it. */
int64_t draw_union_bytes(const struct compilation *c, const struct stmt *s);

/* Returns the bytes of workspace for lists of drawn blocks and unions of ranges. In the workspace, the lists follow
   the tiles. (draw_lists.c) */
int64_t ranges_workspace(const struct compilation *c);

#endif
