/* Where elements are: the arrays, their strides, the current ranges of axes, and addresses (address.c, strided.c). */
#ifndef ATTNC_EMIT_PLACE_H
#define ATTNC_EMIT_PLACE_H

#include "emit.h"

struct emitter;
/* Returns the table entry of an array whose rows have strides in struct call (address.c). Such an array is a
   parameter with a row per token, or an output with a number per query. Returns NULL for other arrays. */
const struct kernel_array *emit_strided_rows(const struct emitter *x, const struct array *a);
/* Returns whether the array is the gradient of a parameter. Such a gradient is contiguous. */
bool emit_is_gradient_of_param(const struct emitter *x, const struct array *a);
/* Arrays whose strides the caller may give (strided.c):
   - emit_strided returns the entry in the kernel's table, or NULL for any other array.
   - emit_axis_of_caller returns the caller's number of axis k of the array. An axis of query heads is two axes here.
   - emit_axis_of_heads returns whether axes k and k + 1 are a single axis of query heads for the caller.
   - emit_stride_of_caller returns C for the stride of axis k. emit_last_stride returns C for the stride of the last
     axis.
   - emit_levels_of lists the axes. An axis of rows (SIZE_ROWS) is listed as two axes: members and queries.
   - emit_subscripts_of_row divides the number of a row of integers into a subscript for each axis but the last. It
     returns the number of subscripts. */
struct axis_of_caller {
    const struct expr *size;
    const char *stride;
};
const char *emit_local(const struct emitter *x, const char *name);
/* Returns the entry of an array in the kernel's table, or NULL. */
const struct kernel_array *emit_entry(const struct emitter *x, const char *name);
const struct kernel_array *emit_strided(const struct emitter *x, const struct array *a);
bool emit_axis_of_heads(const struct emitter *x, const struct array *a, int k);
int emit_axis_of_caller(const struct emitter *x, const struct array *a, int k);
const char *emit_stride_of_caller(const struct emitter *x, const struct array *a, int k);
const char *emit_last_stride(const struct emitter *x, const struct array *a);
int emit_levels_of(const struct emitter *x, const struct array *a, struct axis_of_caller *level);
int emit_subscripts_of_row(const struct emitter *x, const struct array *a, const struct expr *row,
                           struct axis_of_caller *level, const struct expr **sub);
/* Returns C for the index of a key/value head in the array. The heads of q and k may be shared by several heads. */
const char *emit_head_index(const struct emitter *x, const struct array *a, const char *index);
/* emit_of_rows returns whether the array has one number per query and is not the gradient of a parameter.
   emit_has_row_strides returns whether the array has a vector for each row, and strides of the rows. A gradient with
   respect to an array in `params` is contiguous, so it has no such strides. */
bool emit_of_rows(const struct emitter *x, const struct array *a);
bool emit_has_row_strides(const struct emitter *x, const struct array *a);
/* Returns whether an array has elements for each query head. */
bool emit_has_members(const struct emitter *x, const struct array *a);
/* Returns whether extend moves the parameter's pointer to the first sequence of a call. */
bool emit_starts_at_first(const struct emitter *x, const struct array *a);
/* Returns whether a state stores only the array's first and last rows. */
bool emit_has_dropped(const struct emitter *x, const struct array *a);
/* Returns whether the reference reads the row of a key. Otherwise it reads the row at the query's position. */
bool emit_is_of_key(const struct emitter *x, const struct ref *r);
/* Returns the maximum number of lanes of a product into `to` (address.c).
   - For a constant axis, it is the extent, rounded up to whole vectors.
   - For another axis, it is the row length of the tile, or INT64_MAX. */
int64_t emit_most_lanes(const struct emitter *x, const struct ref *to);
/* Each of these functions returns C:
   - emit_range: the number of indices in the current range
   - emit_array: the array's name
   - emit_corner: the address of the first element in the current ranges */
const char *emit_range(struct emitter *x, int axis);
const char *emit_array(const struct emitter *x, const struct ref *r);
const char *emit_corner(struct emitter *x, const struct stmt *s, const struct ref *r);
/* Returns whether loops over axis i have tiles. If so, the C has i0 and i1, and i counts from 0 in a tile. */
bool emit_tiled(const struct emitter *x, int axis);
/* emit_first returns the first value of the loop variable, and emit_starts_at_zero whether it is known to be 0.
   emit_end returns the end, which is not included. */
const char *emit_first(const struct emitter *x, int axis);
bool emit_starts_at_zero(const struct emitter *x, int axis);
const char *emit_end(const struct emitter *x, int axis);
/* Prints the head of a loop from the first value to the end, and the `body`. step 0: the loop takes every index. */
void emit_loop(struct emitter *x, int deeper, int axis, int step, const char *body);
/* Returns `sum` plus the formatted text. `sum` may be NULL. */
const char *emit_plus(const struct emitter *x, const char *sum, const char *format, ...) IR_PRINTF(3, 4);
/* Returns C for the memory of a held array (address.c). Such an array is a tile that is stored for each range of a
   block. */
const char *emit_held(const struct emitter *x, const struct array *a);
/* C for the place of an element: the array, and the offset in it. NULL: the first element. */
struct element_text {
    const char *array, *offset;
};
struct element_text emit_element_text(struct emitter *x, const struct ref *r);
/* Returns C for the address of an element, such as "q + (i0 + i) * q_row + d", and for an element, such as
   "q[(i0 + i) * q_row + d]". */
const char *emit_address(struct emitter *x, const struct ref *r);
const char *emit_element(struct emitter *x, const struct ref *r);
/* Returns a call of `function`, such as "widened", of an element in a type that is widened. */
const char *emit_widened(struct emitter *x, const struct ref *r, const char *function);
/* Returns C for the element as a number. An element of 16 bits of a parameter is widened. */
const char *emit_number_at(struct emitter *x, const struct ref *r);
/* Returns C for neighbouring elements from r on, a vector of numbers. */
const char *emit_numbers_at(struct emitter *x, const struct ref *r);
/* Returns C that widens an element with this C. The array's elements have 16 bits, or are numbers already. */
const char *emit_widened_element(const struct emitter *x, const struct array *a, const char *element);
/* Returns the reference as it is read: rows of prefix sums can begin before the first token (outer.c). */
struct ref emit_read(const struct emitter *x, const struct ref *r);
/* Returns C for the distance in elements between neighbours in the axis's current range. Returns "0" if the
   reference does not use the axis. */
const char *emit_step(struct emitter *x, const struct ref *r, int axis);
/* Returns whether neighbours in the axis's current range are known to be adjacent in memory. A stride of the caller is
   not known: it can be 1 at run time. */
bool emit_adjacent(struct emitter *x, const struct ref *r, int axis);
/* Returns whether the steps of two references along the axis are known to be equal. */
bool emit_steps_equal(struct emitter *x, const struct ref *a, const struct ref *b, int axis);
/* Returns the stride of rows of sums that one part of backward leaves for later parts. Rows are padded to whole
   cache lines. */
int64_t emit_row_of_sums(const struct module *m, const struct array *a);
/* Returns whether the array has sums per query. Their stride is emit_row_of_sums. Sums per key have strides in
   struct call. */
bool emit_sums_of_queries(const struct emitter *x, const struct array *a);
/* Returns whether neighbours in the current range of axis i are not adjacent. If so, i_count is the number of
   indices in the range. */
bool emit_apart(const struct emitter *x, int axis);

#endif
