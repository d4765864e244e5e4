/* The passes and the pipeline that runs them. */
#ifndef ATTNC_PASS_H
#define ATTNC_PASS_H

#include "../schedule/schedule.h"

/* Whether the passes may make products of bf16: of elements as they are stored, and of weights rounded to it, in the
   quadratic form of many queries. (pass/bf16_pairs.c) */
bool multiplies_bf16(const struct compilation *c);
/* The same of products on matrix units. (pass/bf16_pairs.c) */
bool multiplies_tiles(const struct compilation *c);
/* The same of the linear form, forward and for gradients. (pass/bf16_pairs.c) */
bool multiplies_states(const struct compilation *c);
enum { MATRIX_QUERIES = 16, MATRIX_KEYS = 64, MATRIX_BLOCK = 512 }; /* of a tile; queries of a block */
enum { MATRIX_SWEEP = 64 };                                         /* keys and queries of a tile of gradients */
/* Whether the region has keys that repeat with a period, which get loops of their own. (pass/residues.c) */
bool region_repeats(struct module *m, const struct expr *where, int query_axis, int key_axis);
bool makes_gradients(const struct compilation *c); /* from the rows of what was saved, or alone (pass/bf16_pairs.c) */
/* e * constant, with the constant pushed down to where it can merge with others. (pass/stabilise.c) */
const struct expr *expr_scaled(struct module *m, const struct expr *e, double by);
enum { MAX_LOOPS = 12 }; /* around a statement */
/* A tile with a copy of array `from`, which the loop's body begins with, in the innermost of `loops` over one of its
   axes or that threads share; made where there is none yet. Its last axis is `lane`, with that extent; with a lane of
   -1 it is as it comes. (pass/pack.c) */
enum packing {
    PACK_NUMBERS,      /* in what is computed with */
    PACK_PAIRS,        /* of bf16, side by side along the first axis */
    PACK_MATRIX_PAIRS, /* the same for matrix units, and rows of bf16 for them */
    PACK_MATRIX_ROWS
};
int packed_tile(struct loops *l, struct stmt **loops, int depth, int from, int lane, int64_t lane_extent,
                enum packing packing);
/* A tile's extents become what matrix units take. (pass/matrix_operands.c) */
void pad_matrix_operand(struct array *a);
void pad_matrix_result(struct array *a);
/* What a matrix product is multiplied by moves into those that read it. */
void defer_factor(struct loops *l, struct stmt *dot);
/* A product of two inputs takes pairs of them as they are stored; one of values with a tile of weights, rounded copies
   of these, ahead of the product at *at in the body; `any`: weights may be negative. false: it does not.
   (pass/bf16_pairs.c) */
bool pair_inputs(struct loops *l, struct stmt *dot, struct stmt **loops, int depth, bool matrix);
bool pair_weights(struct loops *l, struct stmt *body, struct stmt **at, struct stmt **loops, int depth, bool matrix,
                  bool any);
/* Pads a tile's last axis to a multiple of `lanes`; its bytes, a multiple of 64. (pass/allocate.c) */
int64_t padded_tile(struct array *array, int64_t lanes);
enum pass_level { PASS_GRAPH, PASS_LOWER, PASS_LOOPS };
struct pass {
    const char *name, *says;
    enum pass_level level;
    bool cleanup;                                /* runs where it is due, not at a place of its own */
    unsigned requires, establishes, invalidates; /* properties of the program, as bits */
    void (*run)(struct compilation *c);
};
#define PASS(name, ...) void pass_##name(struct compilation *c);
#define CLEANUP PASS
#include "pipeline.def"
extern const struct pass passes[];
extern const int pass_count;

/* Called after every pass; may be NULL. Returning false stops. */
typedef bool pass_hook(const struct compilation *c, const struct pass *pass, void *user);
/* Runs the pipeline and verifies after every pass; false after an error (reported) or when the hook stopped. */
bool passes_run(struct compilation *c, pass_hook *hook, void *user);
/* The same of other rows: an error when a pass requires what no pass before it, and no clean-up, establishes. */
bool passes_run_these(const struct pass *pass, int count, struct compilation *c, pass_hook *hook, void *user);
/* What each pass does, requires, establishes and invalidates, as --passes prints it. */
void passes_print(struct text *out);

#endif
