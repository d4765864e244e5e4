/* The machine of the cost model: all of its numbers that were measured or chosen. Costs are in FLOPs of a product
   that fills the machine: a cost of 20 takes as long as 20 of these. Unless a comment says otherwise, they were
   measured on a machine with 64-byte vectors. */
#ifndef ATTNC_COST_CONSTANTS_H
#define ATTNC_COST_CONSTANTS_H

/* By definition: an element of a product is a multiplication and an addition. */
static const double PRODUCT_COST = 2;
/* A scalar operation of a map, for one element: most of that time is spent on moving the element through memory. */
static const double MAP_COST = 3;
/* An operation that is a function, such as an exponential: it evaluates a polynomial. */
static const double FUNCTION_COST = 20;
/* Folding a chunk into a state, for each element: five numbers are read or written. */
static const double FOLD_COST = 8;
/* Summing a chunk again, for each element, if a state is the sum of the last few chunks. */
static const double RECENT_COST = 2;
/* Rounding a number to bf16 for matrix units, for each of its terms. Counted, not measured. */
static const double PACK_COST = 5;
/* An element of a state costs this in addition to FOLD_COST, once a chunk, because products within short chunks keep
   less of the machine busy. Fitted to the fastest lengths for sketches of size 32 and 64. Only the choice of a
   length uses it. */
static const double SHORT_CHUNK_COST = 12;
/* The share of the peak (multiply-adds on registers) that the products of kernels reach. */
static const double PRODUCT_SHARE = 0.85;
/* A core that was not measured: vector units that multiply and add in every cycle, and bytes of memory a cycle, as
   is common in servers. */
static const double NOMINAL_VECTOR_UNITS = 2, NOMINAL_BANDWIDTH = 4;

#endif
