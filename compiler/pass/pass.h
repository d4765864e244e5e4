/* The passes and the pipeline that runs them. */
#ifndef ATTNC_PASS_H
#define ATTNC_PASS_H

#include "../schedule/schedule.h"

/* Whether the passes may use products of bf16 in the quadratic form for many queries. The factors are elements as
   stored, or weights rounded to bf16. (pass/bf16_pairs.c) */
bool multiplies_bf16(const struct compilation *c);
/* Whether the passes may compute products of bf16 in the quadratic form on matrix units. (pass/bf16_pairs.c) */
bool multiplies_tiles(const struct compilation *c);
/* Whether the passes may use matrix units in the linear form, forward and for gradients. (pass/bf16_pairs.c) */
bool multiplies_states(const struct compilation *c);
/* In the functions below, `unit` is the target's matrix unit. It is NULL if products do not use a matrix unit. */
/* Whether a region selects keys periodically. The residues pass gives such keys separate loops. (pass/residues.c) */
bool region_repeats(struct module *m, const struct expr *where, int lane_axis, int stream_axis);
/* Returns e * by. If e has a constant factor, `by` is merged into that factor. (pass/stabilise.c) */
const struct expr *expr_scaled(struct module *m, const struct expr *e, double by);
/* Merges equal values, moves each map that is used once into its user, and removes unused values. (pass/simplify.c) */
void simplify_graph(struct graph *g);
/* Limits loops to the indices that their regions can reach. `l` holds the loops of c, or a copy of these loops.
   (pass/bound.c) */
void bound_loops(const struct compilation *c, struct loops *l);
enum { MAX_LOOPS = 12 }; /* loops around one statement */
/* packed_tile returns a tile that holds a copy of array `from`. (pass/pack.c)
   - If the copy does not exist, packed_tile makes the copy at the start of the body of one of `loops`. This is the
     innermost loop that runs over an axis of the array or is shared by threads.
   - The tile's last axis is `lane`, with extent `lane_extent`. If `lane` is -1, the axes keep their order. */
enum packing {
    PACK_NUMBERS,      /* in the type of sums */
    PACK_PAIRS,        /* pairs of bf16 along the first axis */
    PACK_MATRIX_PAIRS, /* pairs of bf16, for matrix units */
    PACK_MATRIX_ROWS   /* rows of bf16, for matrix units */
};
int packed_tile(struct loops *l, struct stmt **loops, int depth, int from, int lane, int64_t lane_extent,
                enum packing packing, const struct matrix_unit *unit);
/* These round a tile's extents up to sizes that matrix units take. (pass/matrix_operands.c) */
void pad_matrix_operand(struct array *a, const struct matrix_unit *unit);
void pad_matrix_result(struct array *a, const struct matrix_unit *unit);
/* Moves the constant factor of a matrix product into the statements that read the product. */
void defer_factor(struct loops *l, struct stmt *dot, const struct matrix_unit *unit);
/* These let a product read copies of its operands. They return false if the product is left unchanged.
   (pass/bf16_pairs.c)
   - pair_inputs: a product of two inputs then reads pairs of elements as stored.
   - pair_weights: *at is the product of values with a tile of weights. The product then reads rounded copies, which
     are made before the product. `any` says that weights may be negative. */
bool pair_inputs(struct loops *l, struct stmt *dot, struct stmt **loops, int depth, const struct matrix_unit *unit);
bool pair_weights(struct loops *l, struct stmt *body, struct stmt **at, struct stmt **loops, int depth,
                  const struct matrix_unit *unit, bool any);
/* Pads a tile's last axis to a multiple of `lanes`. Returns the tile's size in bytes, a multiple of 64.
   (pass/allocate.c) */
int64_t padded_tile(struct array *array, int64_t lanes);
enum pass_level { PASS_GRAPH, PASS_LOWER, PASS_LOOPS };
struct pass {
    const char *name, *says;
    enum pass_level level;
    bool cleanup;                                /* runs whenever a pass requires what it establishes */
    unsigned requires, establishes, invalidates; /* properties of the program, as bits */
    void (*run)(struct compilation *c);
};
#define PASS(name, ...) void pass_##name(struct compilation *c);
#define CLEANUP PASS
#include "pipeline.def"
extern const struct pass passes[];
extern const int pass_count;

/* The driver calls the hook after every pass. The hook returns false to stop the pipeline. */
typedef bool pass_hook(const struct compilation *c, const struct pass *pass, void *user);
/* Runs the pipeline and verifies the program after every pass. `hook` may be NULL. Returns false after an error, which
   has been reported, or if the hook stopped the pipeline. */
bool passes_run(struct compilation *c, pass_hook *hook, void *user);
/* Runs the given passes as passes_run runs the pipeline. Reports an error if a pass requires a property that neither an
   earlier pass nor a clean-up establishes. */
bool passes_run_these(const struct pass *pass, int count, struct compilation *c, pass_hook *hook, void *user);
/* Prints what each pass does, requires, establishes and invalidates, for --passes. */
void passes_print(struct text *out);

#endif
