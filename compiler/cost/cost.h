/* The cost of a kernel: the cost model, counts of FLOPs and bytes, the roofline. Terms of this folder:
   - Work is a time. Its unit is one FLOP of a product that keeps a core fully busy (constants.h).
   - A pair is a query and a key of one head.
   - A visited pair is a pair whose weight the loops compute. It may be masked, if other pairs of its tile are not.
   - A product is a matrix product.
   - A scalar operation is an operation of a map, for one element. */
#ifndef ATTNC_COST_H
#define ATTNC_COST_H

#include "../schedule/schedule.h"
#include "../target/target.h"

/* Returns the smallest number of keys for which the linear form takes less work than the quadratic form. (model.c) */
int64_t crossover_length(const struct compilation *quadratic, const struct compilation *linear);
/* Returns the largest number of queries for which the quadratic form takes less work per key. The number
   includes the queries of all heads that read the same key. */
int64_t rows_before_linear(const struct compilation *quadratic, const struct compilation *linear);
/* Returns the reason why the linear form takes more work at every length, or NULL. */
const char *linear_never_pays(const struct compilation *quadratic, const struct compilation *linear);
/* Returns the work of the linear form for one token of one head: features, the update of the state, and pairs within
   the chunk. */
double linear_cost(const struct compilation *linear);
/* Returns the cheapest chunk length, from 16 to 256 keys. The state has `features` rows and `columns` columns.
   `pair` is the work of a pair within a chunk. */
int64_t chunk_length(double features, double columns, double pair, int64_t window);
/* Whether the graph computes anything for each pair of query and key. */
bool graph_has_pairs(const struct graph *g);
/* The work of one call (count.c). */
struct counts {
    double pairs;   /* unmasked pairs of all heads. In a linear form, only pairs within a chunk */
    double visited; /* visited pairs */
    double tiles;   /* tiles of keys, counted once for each query that processes them */
    bool exact;     /* all queries were counted. false: some pairs were estimated from neighbouring queries */
    double flops;   /* useful FLOPs in products, without masked pairs and without what loops compute again */
    double scalars; /* useful scalar operations of maps and reductions */
    double loops;   /* the FLOPs in products of the loops, with masked pairs of visited tiles */
    double work;    /* the work of the loops */
    double units;   /* the FLOPs of the loops on matrix units */
    double bytes;   /* bytes moved to and from memory */
    double once;    /* the bytes of all arrays, each moved once */
};
/* The kinds of integer parameters, as bits: ids of keys, bounds of keys, lists of blocks, lists of the best keys. */
enum assumed { ASSUMED_IDS = 1, ASSUMED_BOUNDS = 2, ASSUMED_LISTS = 4, ASSUMED_BEST = 8 };
unsigned assumed_integers(const struct graph *g); /* the kinds that the graph has */
/* Writes the assumed lists `name` of the best keys, which are spread over the keys that other masks show. */
void assumed_best(const struct compilation *c, const struct problem_size *size, const char *name, int64_t lists,
                  double *number);

/* Counts the work of a call.
   - document: the assumed length of each document, which ids number
   - cache: the size of a cache in bytes. If the keys and values of a query fit, they are assumed to stay there.
   Lists of blocks are assumed to be random. Bounds are assumed to be half of the number of keys. */
void count_work(const struct compilation *c, const struct problem_size *size, int64_t document, int64_t cache,
                struct counts *out);

/* Returns the axes whose INDEX occurs in e. Ids are assumed equal in all batch entries, so the batch axis of ids
   does not count. (count.c) */
uint32_t axes_beside_ids(const struct expr *e);

/* The operations of a program's loops.
   - products: the FLOPs of all products and sums: matrix products, the terms of triangular systems, sums of maps over
     an axis
   - in_pairs, in_units: those of them that are in pairs of bf16 on vectors, and on matrix units
   - units: the FLOPs on matrix units, where a number can be a sum of bf16 terms
   - scalars, functions, randoms: operations of maps, for one element: cheap ones, functions such as exp, random numbers
   - packed: numbers that are rounded to bf16 for matrix units */
struct operations {
    double products, in_pairs, in_units, units, scalars, functions, randoms, packed;
    bool known; /* used by visit.c */
};
/* The pairs and operations of the loops of a program (visit.c). If a loop over a sequence is inside another, the outer
   one counts as queries. */
struct visited {
    double pairs; /* visited pairs of all heads and batch entries */
    double tiles; /* tiles of keys, counted once for each query that processes them */
    bool exact;   /* all tiles of queries were counted. false: some were estimated */
    struct operations operations;
};
/* Counts the pairs and operations of a program, with the assumptions of count_work. (count.c) */
void count_operations(const struct compilation *c, const struct problem_size *size, int64_t document,
                      struct visited *out);
/* Whether a query of the linear form, some of whose weights have no features, visits a number of keys that grows with
   the sequence. (count.c) */
bool visits_all_keys(const struct compilation *linear);
/* Returns the work of operations on a target. */
double operations_work(const struct target *t, const struct operations *o);
void count_visits(const struct loops *l, const struct problem_size *size, struct ids *ids, struct visited *out);
/* Counts the operations for one pair: *products are the FLOPs of products, *scalars the scalar operations. */
void count_pair(const struct graph *g, long long *products, long long *scalars);

/* The amounts that determine the time of a call (roofline.c). FLOPs are scaled up, because kernels do not reach the
   peak: scaled FLOPs / peak = time. */
struct roofline {
    double work, unit_work, bytes; /* FLOPs on vectors, FLOPs on matrix units, and bytes */
};
/* Rates of a machine per second, or of a core per cycle: FLOPs on vectors, FLOPs on matrix units, bytes. */
struct rates {
    double peak, units, bandwidth;
};
/* Rates of a core per cycle for a machine that was not measured. They are from the table of targets and constants.h.
   Without matrix units, the units' rate is 0. */
double nominal_peak(const struct target *t, enum dtype dtype);
/* The cycles that a core takes for one random number of dropout. */
double random_cycles(const struct target *t, enum dtype dtype);
struct rates nominal_rates(const struct target *t, enum dtype dtype);
/* Returns the name of the fastest instructions of the products, such as "AMX". Sets *on_units to whether some
   products are on matrix units. */
struct call_parts;
const char *parts_unit(const struct call_parts *p, bool *on_units);
/* Returns the amounts of a call. `cache`: the size of a cache in bytes, or 0. If all arrays fit in the cache, no
   bytes count. */
struct roofline roofline_of(const struct compilation *c, const struct problem_size *size, const struct counts *counts,
                            int threads, int64_t cache);
/* The compilations that run one after another in a call, such as the parts of the gradients. `whole` has one graph
   of the whole call, from which useful FLOPs are counted. */
struct call_parts {
    const struct compilation *whole, *const *part;
    int parts;
};
/* Like count_work and roofline_of, for all parts of a call. */
void count_parts(const struct call_parts *p, const struct problem_size *size, int64_t document, int threads,
                 int64_t cache, struct counts *out, struct roofline *roofline);
/* Returns the time of a call in seconds. Sets *memory, unless it is NULL, to whether memory takes longer than the
   FLOPs. */
double roofline_seconds(const struct roofline *r, const struct rates *rates, bool *memory);

int64_t keys_of_chunk(const struct compilation *c); /* returns the number of keys in a chunk, or 0 without chunks */

/* A link between ranks: bytes a second, and the seconds of an empty message. */
struct link {
    double bandwidth, latency;
};
/* These functions return the seconds of a call on several ranks, the slowest one's (ranks.c):
   - chain_seconds: a state is passed from rank to rank, in slices of heads. `work`: the seconds that a rank computes.
     `state`: the bytes of all slices.
   - joined_seconds: ranks first sum their tokens into states, then join states, and then compute their rows. This takes
     `work` seconds on one rank, and `sums` seconds more on several. `bandwidth`: that of memory.
   - total_seconds: ranks sum their keys in `sums` seconds, one after the other, in slices of heads. Then the sums over
     all keys go back, and ranks compute their rows in `rows` seconds. If `together`, ranks sum at the same time.
   - ring_seconds: the last rank computes `own` seconds with its own keys, and `others` seconds with the keys of the
     `runs` ranks that send it `bytes` together. */
double chain_seconds(int64_t ranks, int64_t slices, double work, double state, const struct link *link);
double joined_seconds(int64_t ranks, int64_t slices, double sums, double work, double state, const struct link *link,
                      double bandwidth);
double total_seconds(int64_t ranks, int64_t slices, double sums, double rows, double state, bool together,
                     const struct link *link, double bandwidth);
double ring_seconds(int64_t runs, double own, double others, double bytes, const struct link *link);

#endif
