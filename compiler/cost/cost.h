/* The cost of a kernel: the cost model, counts of FLOPs and bytes, the roofline. Terms of this folder:
   - Work is time. Its unit is one FLOP of a product that keeps a core fully busy (constants.h).
   - A pair is a query and a key of one head. A pair is visited if the loops compute its weight. A masked pair is
     visited, too, if other pairs of its tile are not masked.
   - A product is a matrix product. A scalar operation is an operation of a map, for one element. */
#ifndef ATTNC_COST_H
#define ATTNC_COST_H

#include "../schedule/schedule.h"
#include "../target/target.h"

/* Returns the smallest number of keys for which the linear form takes less work than the quadratic form. (model.c) */
int64_t crossover_length(const struct compilation *quadratic, const struct compilation *linear);
/* Compares the work of both forms for one key. The quadratic form computes one pair per query; the linear form adds the
   key to its state. Returns the largest number of queries for which the quadratic form takes less work. The queries of
   all heads that share the key count. */
int64_t rows_before_linear(const struct compilation *quadratic, const struct compilation *linear);
/* If the linear form takes more work at every allowed length, returns a message with the reason. Otherwise returns
   NULL. */
const char *linear_never_pays(const struct compilation *quadratic, const struct compilation *linear);
/* For a call that visits `visited` pairs:
   - work_saved_by_bf16 returns the work that is saved because products are in bf16 instead of f32.
   - work_on_units returns the FLOPs of products on matrix units. */
double work_saved_by_bf16(const struct compilation *c, const struct problem_size *size, double visited);
double work_on_units(const struct compilation *c, const struct problem_size *size, double visited);
/* Returns the work of the linear form for one token of one head. This is the work for its features and their products,
   the update of the state, and the pairs within the token's chunk. */
double linear_cost(const struct compilation *linear);
/* Returns the length of a chunk, from 16 to 256 keys, that takes the least work. The state has `features` rows and
   `columns` columns. The work for one pair within a chunk is `pair`. */
int64_t chunk_length(double features, double columns, double pair);
/* Whether the graph computes anything for each pair of query and key. */
bool graph_has_pairs(const struct graph *g);
/* value_work: the work of a value for one point of the run-time axes of the value and its operands. fold_work: the work
   of adding one chunk to the state, divided by the number of keys in a chunk. */
double value_work(const struct graph *g, const struct value *v);
double fold_work(const struct compilation *c);

/* The work of one call (count.c). */
struct counts {
    double pairs;   /* pairs that the mask allows, over all heads; in a linear form, only pairs within a chunk */
    double visited; /* visited pairs */
    double tiles;   /* tiles of keys; a tile counts once for each query that processes it */
    bool exact;     /* true: all queries were counted; false: the pairs of some queries were estimated from neighbouring
                       queries */
    double flops;   /* useful FLOPs in products: masked pairs do not count */
    double scalars; /* useful scalar operations of maps and reductions */
    double work;    /* the work of the loops, including masked pairs in visited tiles */
    double bytes;   /* bytes moved to and from memory */
    double once;    /* the bytes of all arrays, as if each array moved once */
};
/* The kinds of integer parameters, as bits: ids of keys, bounds of keys, lists of blocks. */
enum assumed { ASSUMED_IDS = 1, ASSUMED_BOUNDS = 2, ASSUMED_LISTS = 4 };
unsigned assumed_integers(const struct graph *g); /* the kinds that the graph has */

/* - `document`: ids are assumed to number documents of this number of tokens. Of other integer parameters, lists of
   blocks are assumed to have different blocks, drawn at random, and bounds of keys to be half of the number of keys.
   - `cache`: the size of a cache in bytes. The keys and values that a query sees are assumed to stay in the cache if
   they fit. */
void count_work(const struct compilation *c, const struct problem_size *size, int64_t document, int64_t cache,
                struct counts *out);

/* Returns the axes whose INDEX occurs in e, but for the batch axis of ids, which are assumed to be the same for all
   batch entries. (count.c) */
uint32_t axes_beside_ids(const struct expr *e);

/* The pairs that the loops visit. They are counted from the bounds of the loops (visit.c). If loops over two sequences
   are nested, the outer sequence counts as queries, and the inner sequence as keys. */
struct visited {
    double pairs; /* visited pairs of query and key, over all heads and batches */
    double tiles; /* tiles of keys; a tile counts once for each query that processes it */
    bool exact;   /* true: all tiles of queries were counted; false: some were estimated from neighbouring tiles */
};
void count_visits(const struct loops *l, const struct problem_size *size, struct ids *ids, struct visited *out);
/* For one pair, sets *products to the FLOPs in products, and *scalars to the number of scalar operations. */
void count_pair(const struct graph *g, long long *products, long long *scalars);

/* The three amounts that determine the time of a call (roofline.c). Kernels do not reach peak speed, so FLOPs are
   scaled up: scaled FLOPs / peak speed = time. */
struct roofline {
    double work, unit_work, bytes; /* FLOPs on vectors; FLOPs on matrix units; bytes to and from memory */
};
/* Rates of a machine per second, or of a core per cycle: FLOPs on vectors, FLOPs on matrix units, bytes of memory. */
struct rates {
    double peak, units, bandwidth;
};
/* Rates of a core per cycle if the machine was not measured. They follow from the target's row in the table of targets,
   and from assumptions that are typical of servers (constants.h). Rate 0 of matrix units: there are none. */
double nominal_peak(const struct target *t, enum dtype dtype);
/* The cycles that such a core takes for a random number of dropout. */
double random_cycles(const struct target *t, enum dtype dtype);
struct rates nominal_rates(const struct target *t, enum dtype dtype);
/* Returns the name of the fastest instructions that the products of the parts use, such as "AVX2" or "AMX". Also tells
   in *on_units whether some products are on matrix units. */
struct call_parts;
const char *parts_unit(const struct call_parts *p, bool *on_units);
/* `cache`: the size of a cache in bytes, or 0. If all arrays fit in the cache, they are assumed to be there from the
   previous call, and no bytes are counted. */
struct roofline roofline_of(const struct compilation *c, const struct problem_size *size, const struct counts *counts,
                            int threads, int64_t cache);
/* The parts of a call are compilations that run one after another, such as the parts of the gradients. `whole` is one
   graph that computes everything once. Useful FLOPs are counted in `whole`. */
struct call_parts {
    const struct compilation *whole, *const *part;
    int parts;
};
/* Like count_work and roofline_of, for a call that runs several parts. */
void count_parts(const struct call_parts *p, const struct problem_size *size, int64_t document, int threads,
                 int64_t cache, struct counts *out, struct roofline *roofline);
/* Returns the time of a call in seconds, for rates per second. Sets *memory to whether moving the bytes takes longer
   than the FLOPs; `memory` may be NULL. */
double roofline_seconds(const struct roofline *r, const struct rates *rates, bool *memory);

#endif
