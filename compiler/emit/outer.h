/* Sums over the tokens before and after those of a call (outer.c, outer_copies.c). */
#ifndef ATTNC_EMIT_OUTER_H
#define ATTNC_EMIT_OUTER_H

#include "emit.h"

struct emitter;
/* Returns whether the states of loops in phases are sums over queries. (outer.c) */
bool emit_sums_queries(const struct loops *l);
/* Outer sums (outer.c):
   - emit_carries_outer returns whether the states of a compilation can begin with outer sums.
   - emit_reads_whole returns whether states in phases are read only after the last chunk.
   - emit_outer_adds returns whether the outer sums of two sets of tokens are added: they have no decay or maximum.
   - emit_sums_later returns whether these states sum later tokens, not earlier ones.
   - emit_outer_array_bytes returns the bytes of the outer sums that array `a` has.
   - emit_outer_bytes returns the bytes of the outer sums of a task.
   - emit_outer_copies prints a piece of task.c that copies outer sums to the states, or back if `takes` is false.
     (outer_copies.c) */
bool emit_carries_outer(const struct emission *p, const struct compilation *c);
bool emit_reads_whole(const struct loops *l);
bool emit_outer_adds(const struct emission *p);
bool emit_sums_later(const struct compilation *c);
int64_t emit_outer_array_bytes(const struct array *a);
int64_t emit_outer_bytes(const struct loops *l);
void emit_outer_copies(const struct emitter *x, bool takes, const char *piece, struct text *out);
/* Calls that only add to outer sums (outer.c):
   - emit_outer_modes returns C for the bits of the sums for which a part runs, or "" if there are none.
   - emit_outer_results returns whether the part then computes an array for another part.
   - emit_outer_leaves returns C of another condition for the output `a`, which such a call may not need.
   - emit_outer_state returns whether an array is a state that begins with outer sums. */
const char *emit_outer_modes(const struct emission *p, const struct compilation *c);
bool emit_outer_results(const struct emission *p, const struct compilation *c);
const char *emit_outer_leaves(struct emitter *x, const struct array *a);
bool emit_outer_state(const struct emitter *x, int array);
/* For states that a thread carries, print the following. For others, do nothing. (outer_copies.c)
   - emit_begin_outer: a pointer to the outer sums of the task
   - emit_take_outer: copies of outer sums to the states that statement s has set to 0
   - emit_give_outer: copies of the states to outer sums, at the end of the task */
void emit_begin_outer(struct emitter *x);
void emit_take_outer(struct emitter *x, const struct stmt *s);
void emit_give_outer(struct emitter *x);

#endif
