/* The passes, and the pipeline that runs them. Terms in the files of this folder:
   - product: a CONTRACT of the graph, or the DOT statement that computes it. Its elements are sums over one axis, sum
     over k of a[i][k] * b[k][j].
   - quadratic form: a program that computes a weight for every pair of query and key.
   - linear form: a program that replaces most pairs by features of queries and of keys (pass/separate).
   - chunk: a fixed number of neighbouring keys.
   - state: a sum over keys in a linear form. The sum over one chunk is stored in the chunk's slot. Then the slot is
     folded (added) into the carried state, which is the sum over earlier chunks (pass/lower).
   - region: the points that a condition `where` selects, usually pairs of query i and key j. A sum covers only its
     region.
   - lane axis: the axis that runs along the vector lanes, usually the queries.
   - stream axis: the sequence that is summed over tile by tile, usually the keys (struct roles).
   - nest: the loops over the axes of one MAP statement.
   - as stored: elements that are read from an input, without a computation or a change of type.
   - held: a tile is held if memory has one copy of it for every tile of queries in the current block of queries. If it
     is not held, memory has only the copy for the current tile of queries (array.held).
   - few queries: a separate program for calls with at most MAX_FEW_ROWS queries per key/value head (few_queries.c). */
#ifndef ATTNC_PASS_H
#define ATTNC_PASS_H

#include "../schedule/schedule.h"

/* Returns whether products may multiply pairs of bf16. This holds for a quadratic form in bf16, on a target that has
   such instructions, but not for the form for few queries. The operands are inputs as stored, or weights rounded to
   bf16. (pass/bf16_pairs.c) */
bool multiplies_bf16(const struct compilation *c);
/* Returns whether products of bf16 pairs in the quadratic form may run on matrix units. (pass/bf16_pairs.c) */
bool multiplies_tiles(const struct compilation *c);
/* Returns whether products of a linear form, forward or for gradients, may run on matrix units. (pass/bf16_pairs.c) */
bool multiplies_states(const struct compilation *c);
/* Returns whether the region selects stream indices periodically, such as every fourth key. Then the residues pass
   makes a separate loop for such keys. (pass/residues.c) */
bool region_repeats(struct module *m, const struct expr *where, int lane_axis, int stream_axis);
/* Returns an expression equal to e * by. Sums are scaled term by term, and a constant factor in e absorbs `by`: for e =
   x*3+y and by = 2, returns x*6+y*2. (pass/stabilise.c) */
const struct expr *expr_scaled(struct module *m, const struct expr *e, double by);
/* Returns whether e is (a - b) + (c - d) of operands: the difference of two numbers in two parts each. Rounding one of
   the parts, or adding them in another order, would lose digits. (pass/stabilise.c) */
bool expr_is_exact_difference(const struct expr *e);
/* Merges equal values, inlines each map that only one map uses, and removes unused values. (pass/simplify.c) */
void simplify_graph(struct graph *g);
/* Narrows the bounds of loops to the indices that the loops' regions can contain. `l` holds the loops of c, or a copy.
   (pass/bound.c) */
void bound_loops(const struct compilation *c, struct loops *l);
enum { MAX_LOOPS = 12 }; /* the maximum number of nested loops around a statement */
/* Returns the number of a tile that holds a copy of array `from`. (pack.c) `loops` holds the `depth` loops around the
   reader of the copy, outermost first.
   - An existing copy is reused. A new copy is made at the start of the body of one of `loops`: the innermost loop that
     is parallel or runs over an axis of the array.
   - The tile's last axis is `lane`, with extent `lane_extent`. If `lane` is -1, the axes keep their order.
   - `unit` is the matrix unit that reads the tile as an operand, or NULL. */
enum packing {
    PACK_NUMBERS,      /* numbers in the type of sums (f32 for bf16 and f16) */
    PACK_PAIRS,        /* pairs of bf16 along the first axis */
    PACK_MATRIX_PAIRS, /* pairs of bf16, for matrix units */
    PACK_MATRIX_ROWS   /* rows of bf16, for matrix units */
};
int packed_tile(struct loops *l, struct stmt **loops, int depth, int from, int lane, int64_t lane_extent,
                enum packing packing, const struct matrix_unit *unit);
/* Returns whether the pass computed_subscripts copies the elements of a parameter that r reads into a tile. `lanes` is
   the number of elements in a vector. (pass/computed_subscripts.c) */
bool copies_elements(const struct loops *l, const struct ref *r, int lane, int64_t lanes);
/* Round the extents of a tile up to the register sizes of matrix unit `unit`. One function is for an operand of a
   product, the other for the product's result. (pass/matrix_operands.c) */
void pad_matrix_operand(struct array *a, const struct matrix_unit *unit);
void pad_matrix_result(struct array *a, const struct matrix_unit *unit);
/* If the statement after product `dot` only multiplies the product by a positive constant, removes this statement. The
   statements that read the result then multiply by the constant. (pass/matrix_operands.c) */
void defer_factor(struct loops *l, struct stmt *dot, const struct matrix_unit *unit);
/* Make a product of bf16 read copies of its operands. `unit` is the matrix unit for the product, or NULL for vectors.
   Both return false, and change nothing, if the product must stay as it is. (pass/bf16_pairs.c)
   - pair_inputs: `dot` multiplies two inputs. The second is copied as pairs of elements as stored.
   - pair_weights: the product at *at, in the list `body`, multiplies values with a tile of weights. Both are copied,
     the weights rounded to bf16. `any` allows weights that may be negative. */
bool pair_inputs(struct loops *l, struct stmt *dot, struct stmt **loops, int depth, const struct matrix_unit *unit);
bool pair_weights(struct loops *l, struct stmt *body, struct stmt **at, struct stmt **loops, int depth,
                  const struct matrix_unit *unit, bool any);
/* Pads the tile's last axis to a multiple of `lanes` elements. Returns the tile's size in bytes, a multiple of 64.
   (pass/allocate.c) */
int64_t padded_tile(struct array *array, int64_t lanes);
enum pass_level { PASS_GRAPH, PASS_LOWER, PASS_LOOPS };
struct pass {
    const char *name, *says;
    enum pass_level level;
    bool cleanup;                                /* runs on demand: when a pass requires a property that this clean-up
                                                    establishes */
    unsigned requires, establishes, invalidates; /* sets of PROPERTY_…, as bits */
    void (*run)(struct compilation *c);
};
#define PASS(name, ...) void pass_##name(struct compilation *c);
#define CLEANUP PASS
#include "pipeline.def"
extern const struct pass passes[];
extern const int pass_count;

/* Called after every pass. Returns false to stop the pipeline. */
typedef bool pass_hook(const struct compilation *c, const struct pass *pass, void *user);
/* Runs the pipeline on c and verifies the program after every pass. `hook` may be NULL. Returns false if the hook
   stopped the pipeline, or after an error, which has been reported. */
bool passes_run(struct compilation *c, pass_hook *hook, void *user);
/* Works like passes_run, but for the `count` passes at `pass`. Reports an error if a required property is established
   neither by an earlier pass nor by a clean-up. */
bool passes_run_these(const struct pass *pass, int count, struct compilation *c, pass_hook *hook, void *user);
/* Prints the table of passes for --passes: the text of each pass, and the properties that it requires, establishes and
   invalidates. */
void passes_print(struct text *out);

#endif
