/* This header declares what task.c, phases.c and chain.c share. These files print the functions that run tasks. */
#ifndef ATTNC_EMIT_TASK_H
#define ATTNC_EMIT_TASK_H

#include "definitions.h"
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

/* A chain is a nest of parallel loops, outermost first. Each inner loop is the only statement in the body of the loop
   around it. */
struct chain {
    int loops;
    const struct stmt *loop[MAX_RANK];
    const struct stmt *body; /* of the innermost loop */
};
/* Returns the chain that begins with the statement `s`. The chain has 0 loops if `s` is not a parallel loop. */
struct chain chain_of(const struct stmt *s);
/* Returns the number of iterations of the whole chain as C. */
const char *chain_iterations(struct emitter *x, const struct chain *chain);
/* Returns the loop over windows of chunks in the list `s`, or NULL if the list has no such loop. */
const struct stmt *window_in(const struct stmt *s);

/* Returns an empty text, allocated in the arena. It can collect, for example, the body of a function. */
struct text *task_text(const struct emitter *x);
/* Adds the section PIECE_`piece` of emit/embedded/task.c to `out`, with `names` filled in. */
void task_piece(const struct template_names *names, const char *piece, struct text *out);
/* Returns the lines, indented by `deeper` more columns. */
const char *task_indented(struct arena *arena, const struct text *lines, int deeper);
/* Returns C for the address of the task's head in a caller's state. `state` is a member of struct call: "kept" or
   "folded". */
const char *task_kept(const struct emitter *x, const char *state);
/* Prints a function to `out`. `head` is its name and parameter list, and x->out has its body. The declarations of the
   sizes, indices and pointers that the body uses are printed before the body. The indices of `heads` are computed from
   the parameter `task`, and the indices of `iterations` from the parameter `iteration`. */
void task_function(struct emitter *x, const struct chain *heads, const struct chain *iterations, const char *head,
                   struct text *out);

#endif
