/* What a kernel costs: the cost model, FLOPs and bytes, the roofline. */
#ifndef ATTNC_COST_H
#define ATTNC_COST_H

#include "../schedule/schedule.h"
#include "../target/target.h"

/* The cost model (model.c): from how many keys on the linear form takes less work than the quadratic one. */
int64_t crossover_length(const struct compilation *quadratic, const struct compilation *linear);
/* Up to how many queries that share a key the quadratic form takes less work for it than the linear one's states. */
int64_t rows_before_linear(const struct compilation *quadratic, const struct compilation *linear);
/* Why the linear form takes more work however long the sequence is, or NULL. */
const char *linear_never_pays(const struct compilation *quadratic, const struct compilation *linear);
/* What products of pairs of bf16 take off the work where so many pairs of a query and a key are visited; FLOPs of those
   on matrix units. */
double work_saved_by_bf16(const struct compilation *c, const struct problem_size *size, double visited);
double work_on_units(const struct compilation *c, const struct problem_size *size, double visited);
/* Work of the linear form for one token and head, in FLOPs of a product: its features made and met, the state's update,
   the token's own chunk. */
double linear_cost(const struct compilation *linear);
/* The length of a chunk that takes the least work, for that number of features, columns of the state, and work on
   a pair within the chunk. */
int64_t chunk_length(double features, double columns, double pair);
/* Whether queries meet keys anywhere. */
bool graph_has_pairs(const struct graph *g);
/* Work for one point of the run-time axes of a value and what it is computed from; of folding the states, for one
   key. */
double value_work(const struct graph *g, const struct value *v);
double fold_work(const struct compilation *c);

/* What one call has to do (count.c). */
struct counts {
    double pairs; /* of queries and keys that the mask lets meet, of all heads; of a linear form those within chunks */
    double visited; /* pairs that are computed: those, and what else is in tiles that are not wholly masked */
    double tiles;   /* of keys, each times the queries that meet it */
    bool exact;     /* else the pairs of some queries stand for those of their neighbours */
    double flops;   /* useful ones, in products */
    double scalars; /* operations of maps */
    double work;    /* of the cost model */
    double bytes;   /* to and from memory */
    double once;    /* of all arrays together */
};
/* Integer parameters number the positions in runs of `document`; keys and values that a query sees stay in a cache of
   `cache` bytes, or do not. */
void count_work(const struct compilation *c, const struct problem_size *size, int64_t document, int64_t cache,
                struct counts *out);

/* What the loops visit, by their own bounds (visit.c): of two sequences that loops run over, one inside the other, the
   outer is that of the queries here, the inner that of the keys. */
struct visited {
    double pairs; /* of queries and keys, over all heads and batches */
    double tiles; /* of keys, each times the queries that meet it */
    bool exact;   /* else some tiles of queries stand for their neighbours */
};
void count_visits(const struct loops *l, const struct problem_size *size, struct ids *ids, struct visited *out);
/* FLOPs in products and scalar operations for one pair of query and key. */
void count_pair(const struct graph *g, long long *products, long long *scalars);

/* How long a call should take (roofline.c). */
struct roofline {
    double work, unit_work,
        bytes; /* FLOPs that the peak of vectors, and that of matrix units, would take as long for */
};
/* What a machine does in a second, or a core in a cycle: FLOPs of vectors, FLOPs of matrix units, bytes. */
struct rates {
    double peak, units, bandwidth;
};
/* A core of a target, by its row in the table: FLOPs a cycle of two vector units that multiply and add, FLOPs of its
   matrix units, 0 without any, and bytes of memory a cycle as servers have them. */
double nominal_peak(const struct target *t, enum dtype dtype);
struct rates nominal_rates(const struct target *t, enum dtype dtype);
/* What multiplies in the products of a program's parts, or in most of their work: "AVX2", "AMX"; *on_units: some of
   them are on matrix units. */
struct program;
const char *program_unit(const struct program *p, bool *on_units);
/* Arrays that fit a cache of `cache` bytes are not read from memory in one call after the other; 0: none do. */
struct roofline roofline_of(const struct compilation *c, const struct problem_size *size, const struct counts *counts,
                            int threads, int64_t cache);
/* What several compilations do one after the other, as the parts of the gradients. `whole` is all of them as one graph,
   which computes nothing twice: what is useful is counted in it. */
struct program {
    const struct compilation *whole, *const *part;
    int parts;
};
void count_parts(const struct program *p, const struct problem_size *size, int64_t document, int threads, int64_t cache,
                 struct counts *out, struct roofline *roofline);
/* Sets *memory, which may be NULL, where bytes take longer. */
double roofline_seconds(const struct roofline *r, const struct rates *rates, bool *memory);

#endif
