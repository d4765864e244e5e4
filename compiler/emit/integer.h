/* Integers and what is looked up for them: ids, random draws and elements of parameters (integer.c, ids.c, ranges.c).
 */
#ifndef ATTNC_EMIT_INTEGER_H
#define ATTNC_EMIT_INTEGER_H

#include "emit.h"

struct emitter;
/* Functions for rows of integers in arrays whose strides the caller may give (integer.c):
   - emit_offset_of_lane returns C for the offset of a row that differs by lane, in a loop over `lane`. of_lanes
     declares a variable with the values of a subscript, and returns its name.
   - emit_step_of_lanes returns C for the distance from an element to the element `positions` later in row `next`. It
     returns NULL if the distance is not known. */
const char *emit_offset_of_lane(struct emitter *x, const struct array *a, const struct expr *row, int lane,
                                const char *(*of_lanes)(void *user, const struct expr *sub), void *user);
const char *emit_step_of_lanes(struct emitter *x, const struct array *a, const struct expr *row,
                               const struct expr *next, int64_t positions);
/* Returns the member of struct call for what is looked up for a row (struct common_keys), or NULL if e is not. */
const char *emit_place(const struct module *m, const struct expr *e);
/* Returns C that declares the position of the first query, for x->start. emit_has_query_start returns whether a task
   has one such position. (integer.c) */
bool emit_has_query_start(const struct emitter *x);
const char *emit_query_start(struct emitter *x);
/* emit_outside returns a C condition that the current range is partly outside the union of the statement's ranges.
   emit_drawn_lists declares the lists of random draws of a loop, before the loop or `inside`. emit_drawn_name
   returns the name of such a list. */
const char *emit_outside(struct emitter *x, const struct stmt *s);
void emit_drawn_lists(struct emitter *x, const struct stmt *loop, bool inside);
/* Declares which keys of a loop's tile are in sorted lists, inside the loop. */
void emit_sorted_lists(struct emitter *x, const struct stmt *loop);
const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn);
/* Declares the minimum and maximum of ids that a loop's conditions compare, before the loop or `inside`. (ids.c) */
void emit_ids(struct emitter *x, const struct stmt *s, bool inside);
/* Returns C for a struct ids with the minimum and maximum of the integers in the range of a MIN_ID or MAX_ID. */
const char *emit_ids_in_range(struct emitter *x, const struct expr *e);
/* Returns the number of the table of tiles for the array that a MIN_ID or MAX_ID reads. Returns -1 if the array has
   no table. */
int emit_table_of(const struct emitter *x, const struct expr *e);
/* Returns C for the number of rows of the array that an ID reads. */
const char *emit_rows(struct emitter *x, const struct expr *e);
/* Returns whether the array of an ID, MIN_ID or MAX_ID stores truth values, or reals of which -inf hides a pair. */
bool emit_reads_flags(const struct emitter *x, const struct expr *e);
/* Returns the name of the pointer to the first element of an array that IDs read. A pointer to reals that hide may also
   point to the task's elements. */
const char *emit_ids_base(const struct emitter *x, const struct array *a);
/* Returns C for the element at `at` of a row, or the one at the nearest end. `array` is the row's address. */
const char *emit_element_along(struct emitter *x, const struct expr *e, const char *array, const char *at);
/* The integer parameter that an ID, MIN_ID or MAX_ID reads. */
const struct array *emit_ids_array(const struct emitter *x, const struct expr *e);
/* These functions treat the integer parameter that an ID, MIN_ID or MAX_ID reads as rows of its last axis
   (integer.c).
   - emit_ids_of_sequence returns C for the address of the row.
   - emit_row_length returns C for the number of elements in a row.
   - emit_row returns the row's number, counted from the row that the array's pointer points to.
   - emit_starts_at_sequence returns whether the array's pointer includes the task's batch index. */
bool emit_starts_at_sequence(const struct emitter *x, const struct array *a);
const char *emit_row_length(const struct emitter *x, const struct expr *e);
const struct expr *emit_row(const struct emitter *x, const struct expr *e);
const char *emit_ids_of_sequence(struct emitter *x, const struct expr *e);
/* Returns the axes of all loops in the list, and of the loops inside them, as bits. */
uint32_t emit_loop_axes(const struct stmt *s);
/* Returns the integer expression `e` as scalar C. */
const char *emit_integer(struct emitter *x, const struct expr *e);
/* Returns the shortest C literal that is read back as `value`. It is a float if `narrow`, otherwise a double. */
const char *emit_number(const struct emitter *x, double value, bool narrow);
/* Returns C for an EXPR_ELEMENT. If `lane` is not -1, it is the axis of the lanes, and the C is for one of them,
   `lane`. of_lanes(user, sub) then returns the name of a vector with a subscript's value in each lane. */
const char *emit_element_by_name(struct emitter *x, const struct expr *e, int lane,
                                 const char *(*of_lanes)(void *user, const struct expr *sub), void *user);
/* Returns C for the list of an EXPR_LISTED: a string whose characters are the numbers. */
const char *emit_list(const struct emitter *x, const struct expr *e);
/* Returns `e` as C. If `inner`, parentheses enclose everything but a name or number. */
const char *emit_integer_text(struct emitter *x, const struct expr *e, bool inner);
/* Returns whether a kernel with a state has an expression that uses the batch size or a batch index. */
bool emit_numbers_sequences(const struct spec *spec);
/* Returns the number of the declared range of ids that has the minimum or maximum `e`. Returns x->ids if no range
   has it. */
int emit_known_ids(const struct emitter *x, const struct expr *e);

#endif
