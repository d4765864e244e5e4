/* Lists of statements, and the bodies in them (stmts.c). */
#ifndef ATTNC_STMTS_H
#define ATTNC_STMTS_H

#include "loops.h"

/* A walk through a list and the bodies in it, each statement before its body. Example:
     for (struct stmts w = {.list = l->body}; (s = stmts_next(&w));)
   Set `place` instead of `list` if `at` is used. Statements may be inserted before and after the current one. */
struct stmts {
    struct stmt *list, **place;
    struct stmt *now, **at; /* the current statement, and its place when the walk came to it */
    bool skip;              /* set it to leave out the body of the current statement */
    /* Outermost first: the FORs and IFs around the current statement, and only the FORs. */
    int depth, loops;
    struct stmt *around[MAX_NEST], *loop[MAX_NEST];
};
struct stmt *stmts_next(struct stmts *w);        /* returns the next statement, or NULL */
struct stmt *stmts_first(const struct stmts *w); /* returns the first statement of the current list */
/* Returns the innermost FOR over the axis around the current statement, or NULL. */
struct stmt *stmts_over(const struct stmts *w, int axis);
/* Returns the largest number of indices of an axis in a current range of the current statement, or 0 if it is
   unknown. */
int64_t stmts_extent(const struct stmts *w, const struct module *m, int axis);
/* Calls `rewrite` for the places of all statements, bodies first. If it returns true, it has changed what stands at
 *at, and is called again. */
void stmts_rewrite(struct stmt **list, bool (*rewrite)(struct loops *l, struct stmt **at), struct loops *l);
/* Copies the list up to, but without, `end`. */
struct stmt *stmts_copy(struct loops *l, const struct stmt *list, const struct stmt *end);
struct loops *loops_copy(const struct loops *l);
/* Removes the assignments for which `keep` returns false, and then the statements that have neither assignments nor a
   body. */
void stmts_keep_assigns(struct stmt **list, bool (*keep)(const void *of, const struct stmt *s, const struct assign *a),
                        const void *of);
/* Return the first FOR over the axis, or over windows. NULL if there is none. */
struct stmt *stmts_loop(const struct stmt *list, int axis);
struct stmt *stmts_window(const struct stmt *list);
/* Return the number of statements that write array a, and of those without a body that read or write it. */
int stmts_writing(const struct stmt *list, int a);
int stmts_touching(const struct stmt *list, int a);
bool loops_fade(const struct loops *l);                 /* whether a DOT has `fades` */
void stmts_rename(struct stmt *list, int from, int to); /* replaces array `from` by array `to` */

#endif
