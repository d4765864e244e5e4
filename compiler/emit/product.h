/* Products, and rows of keys that they read from memory or pages (product.c, matrix.c, pages.c). */
#ifndef ATTNC_EMIT_PRODUCT_H
#define ATTNC_EMIT_PRODUCT_H

#include "emit.h"

struct emitter;
/* Returns C for the number of rows of this type that a product with one row prefetches ahead, or NULL.
   `parts`: they are read in place, even if they are on several pages (emit_in_parts). */
const char *emit_early(const struct emitter *x, enum dtype dtype, bool parts);
/* Returns the number of rows of this type that a product over rows adds at a time, and that one with several rows
   prefetches ahead. */
int emit_rows_at_once(const struct target *target, enum dtype dtype);
int emit_early_for_several(const struct target *target, enum dtype dtype);
/* Returns whether a product of new rows in the loop and a product of queries after it share a pass over the state.
   The C variable with_rows then tells whether the first product has computed both. (product.c) */
bool emit_shares_pass(struct emitter *x, const struct stmt *rows);
/* Rows of keys that are read from memory or pages (pages.c):
   - emit_is_along returns whether both operands of a product are contiguous along its sum.
   - emit_is_fetched returns whether emit_dot prints the product as a dot_fetched product.
   - emit_reads_keys returns whether the statement or its body reads rows of keys of the array.
   - emit_find_pages declares pointers to the rows of keys in the loop's current range, which may be in pages. Rows are
     indexed by position.
   - emit_in_parts returns whether the loop x->in_pages reads the array only by products that can read its rows in
     parts. paged_NAME is NULL then if its rows are on several pages that are long enough.
   - emit_paged_rows returns C for paged_NAME. `parts` is the number that paged_rows takes.
   - emit_paged_row returns C for the address of row `at`, or NULL if there is no such row. emit_paged_after returns C
     for the `after` of a product whose rows end there. */
/* Returns whether product s in a loop that gathers rows reads them in place. */
bool emit_is_gathered(struct emitter *x, const struct stmt *s);
bool emit_is_along(const struct emitter *x, const struct stmt *s);
bool emit_is_fetched(const struct emitter *x, const struct stmt *s);
bool emit_reads_keys(const struct emitter *x, const struct stmt *s, int array);
void emit_find_pages(struct emitter *x, const struct stmt *s);
bool emit_in_parts(const struct emitter *x, int array);
const char *emit_paged_rows(const struct emitter *x, int array, int64_t parts);
const char *emit_paged_row(const struct emitter *x, int array, const char *at);
const char *emit_paged_after(const struct emitter *x, int array, const char *at);
/* Prints a DOT statement. (product.c) */
void emit_dot(struct emitter *x, const struct stmt *s);
/* Prints the functions that products call (product_function.c). */
void emit_products(const struct emitter *x, struct text *out);
/* An argument of a product: the parameter's name and C type, and its value as C. */
struct product_argument {
    const char *name, *type, *value;
};
/* Prints a call of the function for this product (product_function.c). Constant arguments are not passed, because
   the function's body has them. Arguments without a value are left out. */
void emit_product_call(struct emitter *x, const char *product, const struct product_argument *argument, int arguments);
/* Returns the COPY at the end of a task whose rows a product in a loop of the task can prefetch, or NULL. */
const struct stmt *emit_prefetched_result(struct emitter *x, const struct stmt *task);
/* For matrix units (matrix.c):
   - emit_matrix_dot prints a DOT.
   - emit_matrix_across prints a DOT that adds to shared sums.
   - emit_matrix_copy prints a COPY into an operand. */
void emit_matrix_dot(struct emitter *x, const struct stmt *s);
void emit_matrix_across(struct emitter *x, const struct stmt *s);
void emit_matrix_copy(struct emitter *x, const struct stmt *s);

#endif
