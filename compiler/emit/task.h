/* Declarations that task.c, phases.c and chain.c share. These files print the functions of tasks. */
#ifndef ATTNC_EMIT_TASK_H
#define ATTNC_EMIT_TASK_H

#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

/* A nest of parallel loops, outermost first. Each inner loop is the only statement in the loop around it. */
struct chain {
    int loops;
    const struct stmt *loop[MAX_RANK];
    const struct stmt *body; /* the body of the innermost loop */
};
/* Returns the chain that begins with statement `s`. It may have 0 loops. */
struct chain chain_of(const struct stmt *s);
/* Returns C for the number of iterations of the chain. */
const char *chain_iterations(struct emitter *x, const struct chain *chain);
/* Returns the loop over windows in the list of statements, or NULL. */
const struct stmt *window_in(const struct stmt *s);

/* Returns an empty text in the arena. */
struct text *task_text(const struct emitter *x);
/* A word of a piece, and what replaces it: the text, or the number if it is NULL. `#if` tests whether the number is 0.
 */
struct piece_word {
    const char *word, *text;
    int64_t number;
};
/* Adds the piece PIECE_`piece` of emit/embedded/task.c. A row of zeros ends the words. (template.c) */
void task_piece(const char *piece, const struct piece_word *words, struct text *out);
/* Returns the lines, indented by `deeper` additional columns. */
const char *task_indented(struct arena *arena, const struct text *lines, int deeper);
/* Returns C for the address of the task's head in a state. `state` is "kept" or "folded", a member of struct call. */
const char *task_kept(const struct emitter *x, const char *state);
/* Returns whether the iterations of a parallel loop are tiles, the last tile first. */
bool task_from_last(const struct emitter *x, const struct stmt *loop);
/* Prints a function. `head` has its name and parameters. x->out has its body. The function declares the sizes,
   indices and pointers that the body uses. Its parameter `task` gives the indices of `heads`, and `iteration` gives
   the indices of `iterations`. */
void task_function(struct emitter *x, const struct chain *heads, const struct chain *iterations, const char *head,
                   struct text *out);

#endif
