/* The cost of a kernel: the cost model, FLOPs and bytes, the roofline. */
#ifndef ATTNC_COST_H
#define ATTNC_COST_H

#include "../schedule/schedule.h"
#include "../target/target.h"

/* The number of keys from which on the linear form takes less work than the quadratic one, by the cost model
   (model.c). */
int64_t crossover_length(const struct compilation *quadratic, const struct compilation *linear);
/* Returns the largest number of queries per key for which the quadratic form takes less work for the key than the
   linear form takes to update its states. */
int64_t rows_before_linear(const struct compilation *quadratic, const struct compilation *linear);
/* Why the linear form takes more work at every length, or NULL. */
const char *linear_never_pays(const struct compilation *quadratic, const struct compilation *linear);
/* The work saved by products of bf16 pairs if `visited` pairs of query and key are computed. And the FLOPs of
   products on matrix units. */
double work_saved_by_bf16(const struct compilation *c, const struct problem_size *size, double visited);
double work_on_units(const struct compilation *c, const struct problem_size *size, double visited);
/* Work of the linear form for one token and head, in FLOPs of a product: computing features and multiplying them,
   updating the state, the token's own chunk. */
double linear_cost(const struct compilation *linear);
/* The length of a chunk that takes the least work, for a number of features, the columns of the state, and the work
   on a pair within the chunk. */
int64_t chunk_length(double features, double columns, double pair);
/* Whether anything is computed for pairs of query and key. */
bool graph_has_pairs(const struct graph *g);
/* Work for one point of the run-time axes of a value and its operands. And work of folding the states, for one key. */
double value_work(const struct graph *g, const struct value *v);
double fold_work(const struct compilation *c);

/* The work of one call (count.c). */
struct counts {
    double pairs;   /* of query and key that the mask allows, of all heads; in a linear form, within chunks */
    double visited; /* pairs that are computed: those, and the others in tiles that are not wholly masked */
    double tiles;   /* of keys, each times the queries that process it */
    bool exact;     /* else the pairs of some queries were estimated from their neighbours */
    double flops;   /* useful ones, in products */
    double scalars; /* operations of maps */
    double work;    /* of the cost model */
    double bytes;   /* to and from memory */
    double once;    /* bytes of all arrays, each moved once */
};
/* Integer parameters number the positions in runs of `document`. The keys and values that a query sees stay in a
   cache of `cache` bytes if they fit. */
void count_work(const struct compilation *c, const struct problem_size *size, int64_t document, int64_t cache,
                struct counts *out);

/* The pairs that the loops visit, by their bounds (visit.c). If loops over two sequences are nested, the outer one
   counts as queries here, and the inner one as keys. */
struct visited {
    double pairs; /* of query and key, over all heads and batches */
    double tiles; /* tiles of keys; a tile counts once for each query that processes it */
    bool exact;   /* else some tiles of queries were estimated from their neighbours */
};
void count_visits(const struct loops *l, const struct problem_size *size, struct ids *ids, struct visited *out);
/* FLOPs in products, and scalar operations, for one pair of query and key. */
void count_pair(const struct graph *g, long long *products, long long *scalars);

/* The time that a call should take, as work (roofline.c). */
struct roofline {
    double work, unit_work,
        bytes; /* FLOPs that vectors, and matrix units, would do in that time at their peaks; bytes */
};
/* The rates of a machine in a second, or of a core in a cycle: FLOPs of vectors, FLOPs of matrix units, bytes. */
struct rates {
    double peak, units, bandwidth;
};
/* The rates of a target's core by its row in the table: FLOPs a cycle of two vector units that multiply and add,
   FLOPs of its matrix units (0: none), and bytes of memory a cycle as is common in servers. */
double nominal_peak(const struct target *t, enum dtype dtype);
struct rates nominal_rates(const struct target *t, enum dtype dtype);
/* The instructions that multiply in most of the parts' products: "AVX2", "AMX"; *on_units: some products are on
   matrix units. */
struct call_parts;
const char *parts_unit(const struct call_parts *p, bool *on_units);
/* Arrays that fit a cache of `cache` bytes are not read from memory again by the next call; 0: none do. */
struct roofline roofline_of(const struct compilation *c, const struct problem_size *size, const struct counts *counts,
                            int threads, int64_t cache);
/* The compilations that a call runs one after the other, such as those of the gradients. `whole` is all of them as one
   graph, which computes nothing twice; useful work is counted in it. */
struct call_parts {
    const struct compilation *whole, *const *part;
    int parts;
};
void count_parts(const struct call_parts *p, const struct problem_size *size, int64_t document, int threads,
                 int64_t cache, struct counts *out, struct roofline *roofline);
/* Sets *memory, which may be NULL: whether bytes take longer than work. */
double roofline_seconds(const struct roofline *r, const struct rates *rates, bool *memory);

#endif
