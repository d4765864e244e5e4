/* Shared by task.c, phases.c and chain.c, which print the functions of tasks. */
#ifndef ATTNC_EMIT_TASK_H
#define ATTNC_EMIT_TASK_H

#include "definitions.h"
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

/* A nest of parallel loops, outermost first. Each is the only statement in the one around it. */
struct chain {
    int loops;
    const struct stmt *loop[MAX_RANK];
    const struct stmt *body; /* of the innermost loop */
};
/* Returns the chain that begins with statement `s`, perhaps of 0 loops. */
struct chain chain_of(const struct stmt *s);
/* Returns the chain's number of iterations as C. */
const char *chain_iterations(struct emitter *x, const struct chain *chain);
/* Returns the loop over windows in the list, or NULL. */
const struct stmt *window_in(const struct stmt *s);

/* Returns an empty text in the arena. */
struct text *task_text(const struct emitter *x);
/* Adds the section PIECE_`piece` of emit/embedded/task.c, filled in. */
void task_piece(const struct template_names *names, const char *piece, struct text *out);
/* Returns the lines, indented by `deeper` more columns. */
const char *task_indented(struct arena *arena, const struct text *lines, int deeper);
/* Returns C for the address of the task's head in a state. `state`: "kept" or "folded" of struct call. */
const char *task_kept(const struct emitter *x, const char *state);
/* Prints a function. `head`: name and parameters; x->out: the body. Declares the sizes, indices and pointers that
   the body uses. The parameter `task` gives the indices of `heads`, `iteration` those of `iterations`. */
void task_function(struct emitter *x, const struct chain *heads, const struct chain *iterations, const char *head,
                   struct text *out);

#endif
