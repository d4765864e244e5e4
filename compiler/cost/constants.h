/* What the cost model takes a machine to be: all of its numbers that were measured or chosen. Costs are in FLOPs of a
   product that fills the machine: what costs 20 takes as long as 20 of these. Where nothing else is said they were
   measured on a machine with 64-byte vectors. */
#ifndef ATTNC_COST_CONSTANTS_H
#define ATTNC_COST_CONSTANTS_H

/* By definition: an element of a product is a multiplication and an addition. */
static const double PRODUCT_COST = 2;
/* A scalar operation of a map, for one element: most of it is the element's way through memory. */
static const double MAP_COST = 3;
/* One that is a function: an exponential or the like, for which a polynomial is computed. */
static const double FUNCTION_COST = 20;
/* An element of a state when a chunk is folded into it: five numbers are read or written. */
static const double FOLD_COST = 8;
/* The same for each chunk that is summed anew, where a state is the sum of some recent chunks. */
static const double RECENT_COST = 2;
/* A number rounded to bf16 on its way to matrix units, each term of it. Counted, not measured. */
static const double PACK_COST = 5;
/* What an element of a state costs on top of FOLD_COST, once a chunk, because products within short chunks keep less of
   the machine busy. Fitted to the lengths that were the fastest for sketches of size 32 and 64; only the choice of a
   length counts it. */
static const double SHORT_CHUNK_COST = 12;
/* The share of a peak of multiply-adds on registers alone that products of kernels reach. */
static const double PRODUCT_SHARE = 0.85;
/* A core of which nothing was measured: vector units that multiply and add in every cycle, and bytes of memory a cycle,
   as servers have them. */
static const double NOMINAL_VECTOR_UNITS = 2, NOMINAL_BANDWIDTH = 4;

#endif
