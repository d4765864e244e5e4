/* The passes, and their pipeline. Terms of this folder:
   - product: a CONTRACT, or its DOT: sums over k of a[i][k] * b[k][j]
   - quadratic form: computes a weight for every pair of query and key
   - linear form: replaces most pairs by features of queries and keys (pass/separate)
   - chunk: a fixed number of neighbouring keys
   - state: a sum over keys in a linear form. A chunk's sum is in its slot, and is folded (added) into the carried state
     (pass/lower).
   - region: the points that `where` selects, usually pairs of query i and key j
   - lane axis: runs along the vector lanes, usually the queries
   - stream axis: is summed over tile by tile, usually the keys (struct roles)
   - nest: the loops over the axes of a MAP
   - as stored: read from an input, without a computation or conversion
   - held: stored for every tile of queries in a block, not only the current one (array.held)
   - few queries: at most MAX_FEW_ROWS per key/value head, in a separate program (few_queries.c) */
#ifndef ATTNC_PASS_H
#define ATTNC_PASS_H

#include "../schedule/schedule.h"
#include "../../ir/stmts.h"

/* Whether products may multiply pairs of bf16: in a quadratic form, on a target with such instructions, but not for
   few queries. (pass/bf16_pairs.c) */
bool multiplies_bf16(const struct compilation *c);
/* Whether products of bf16 pairs may run on matrix units. (pass/bf16_pairs.c) */
bool multiplies_tiles(const struct compilation *c);
/* Whether products of a linear form may run on matrix units. (pass/bf16_pairs.c) */
bool multiplies_states(const struct compilation *c);
/* Whether the region selects stream indices periodically, such as every fourth key. Then the pass residues makes a
   separate loop. (pass/residues.c) */
bool region_repeats(struct module *m, const struct expr *where, int lane_axis, int stream_axis);
/* Returns e * by, term by term. A constant factor absorbs `by`: x*3+y times 2 is x*6+y*2.
   (pass/stabilise/exponentials.c) */
const struct expr *expr_scaled(struct module *m, const struct expr *e, double by);
/* Whether e is (a - b) + (c - d), a difference of two numbers in two parts. Another order would lose digits.
   (pass/stabilise/exponentials.c) */
bool expr_is_exact_difference(const struct expr *e);
/* Merges equal values, inlines maps with one user, and removes unused values. (pass/simplify.c) */
void simplify_graph(struct graph *g);
/* Lets values that read two carried states in the same way read their sum. (pass/differentiate/merge_states.c) */
void merge_states(struct compilation *c, struct graph *g);
/* Narrows the bounds of loops to their regions. `l`: the loops of c, or a copy. (pass/bound.c) */
void bound_loops(const struct compilation *c, struct loops *l);
/* Returns the operand of map s, a number of each row, by which e multiplies operand `own`. Returns -1 if e is no such
   product. (pass/kept_rows.c) */
int factor_in(const struct stmt *s, const struct expr *e, int own);
/* Returns a tile that holds a copy of array `from`. `w`: the walk that has come to the reader. (pack.c)
   - An existing copy is reused. A new one is made in the innermost loop that is parallel or runs over an axis of
     the array.
   - The tile's last axis is `lane`, with extent `lane_extent`. If `lane` is -1, the axes keep their order.
   - `unit`: the matrix unit that reads the tile, or NULL */
enum packing {
    PACK_NUMBERS,      /* numbers in the type of sums (f32 for bf16 and f16) */
    PACK_PAIRS,        /* pairs of bf16 along the first axis */
    PACK_MATRIX_PAIRS, /* pairs of bf16, for matrix units */
    PACK_MATRIX_ROWS   /* rows of bf16, for matrix units */
};
int packed_tile(struct loops *l, const struct stmts *w, int from, int lane, int64_t lane_extent, enum packing packing,
                const struct matrix_unit *unit);
/* Array `tile` is a copy of r's array, which r reads along `axes`. Returns a reference to the element of `tile` that r
   reads in its array. (pack.c) */
struct ref ref_of_copy(const struct loops *l, const struct ref *r, const int *axes, int tile);
/* For maps (pass/fuse.c):
   - merge_maps makes map a also do what map b does, which follows it. Returns false if they cannot share a nest. On
     success, the next statement of a is that of b.
   - first_sets returns whether the first statement of list s that touches array a sets all of it without reading.
   - exchangeable_statements returns whether a and b have no body, and neither writes an array that the other touches.
 */
bool merge_maps(struct loops *l, struct stmt *a, const struct stmt *b);
bool first_sets(const struct stmt *s, int a);
bool exchangeable_statements(const struct stmt *a, const struct stmt *b);
/* Whether the pass computed_subscripts copies the elements that r reads into a tile. `lanes`: the lanes of a
   vector. (pass/computed_subscripts.c) */
bool copies_elements(const struct loops *l, const struct ref *r, int lane, int64_t lanes);
/* Round the extents of an operand, and of the result of product `dot`, up to the registers of matrix unit `unit`.
   (pass/matrix_operands.c) */
void pad_matrix_operand(struct array *a, const struct matrix_unit *unit);
void pad_matrix_result(struct loops *l, const struct stmt *dot, const struct matrix_unit *unit);
/* If the next statement only multiplies product `dot` by a constant, and alone reads it, returns this map. Otherwise
   returns NULL. defer_factor removes the map if the constant is positive. Then the readers of the result multiply by
   it. (pass/matrix_operands.c) */
const struct stmt *map_of_product(const struct loops *l, const struct stmt *dot);
void defer_factor(struct loops *l, struct stmt *dot, const struct matrix_unit *unit);
/* Make a product of bf16, the current statement of `w`, read copies of its operands. `unit`: the matrix unit, or NULL
   for vectors. Both functions return false if they leave the product as it is. (pass/bf16_pairs.c)
   - pair_inputs: the product multiplies two inputs. The second input is copied as pairs.
   - pair_weights: the product multiplies values with a tile of weights. Both operands are copied. `any`: weights may be
     negative. */
bool pair_inputs(struct loops *l, const struct stmts *w, const struct matrix_unit *unit);
bool pair_weights(struct loops *l, const struct stmts *w, const struct matrix_unit *unit, bool any);
/* Pads the tile's last axis to a multiple of `lanes`. Returns its size in bytes, a multiple of 64. (pass/allocate.c) */
int64_t padded_tile(struct array *array, int64_t lanes);
enum pass_level { PASS_GRAPH, PASS_LOWER, PASS_LOOPS };
struct pass {
    const char *name, *says;
    enum pass_level level;
    /* This pass runs when another pass requires a property that this one establishes. */
    bool cleanup;
    unsigned requires, establishes, invalidates; /* sets of PROPERTY_…, as bits */
    void (*run)(struct compilation *c);
};
#define PASS(name, ...) void pass_##name(struct compilation *c);
#define CLEANUP PASS
#include "pipeline.def"
extern const struct pass passes[];
extern const int pass_count;

/* Called after every pass. Returns false to stop. */
typedef bool pass_hook(const struct compilation *c, const struct pass *pass, void *user);
/* Runs the pipeline on c and verifies the program after every pass. `hook` may be NULL. Returns false if `hook`
   stopped it, or after an error. */
bool passes_run(struct compilation *c, pass_hook *hook, void *user);
/* Like passes_run, for the `count` passes at `pass`. Reports an error if a required property cannot be established. */
bool passes_run_these(const struct pass *pass, int count, struct compilation *c, pass_hook *hook, void *user);
/* Prints the table of passes for --passes. */
void passes_print(struct text *out);

#endif
