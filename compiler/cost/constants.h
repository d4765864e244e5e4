/* The constants of the cost model that were measured or chosen. The unit is the time of one FLOP in a matrix product
   that keeps a core fully busy: a cost of 20 takes as long as 20 such FLOPs. Unless a comment says otherwise, a
   constant was measured on a machine with 64-byte vectors. */
#ifndef ATTNC_COST_CONSTANTS_H
#define ATTNC_COST_CONSTANTS_H

/* A term of a product's sum, by definition: a multiplication and an addition. */
static const double PRODUCT_COST = 2;
/* A scalar operation of a map, for one element. Most of the time goes into moving the element through memory. */
static const double MAP_COST = 3;
/* A function of a map, such as exp, for one element: a polynomial is evaluated. */
static const double FUNCTION_COST = 20;
/* Adding the sums of a chunk to a state, for each element of the state: five numbers are read or written. */
static const double FOLD_COST = 8;
/* If a state covers only the last few chunks: summing each of these chunks again, for each element of the state. */
static const double RECENT_COST = 2;
/* Rounding a number to bf16 for matrix units, for each bf16 term that the number is split into. The value is a count of
   instructions, not a measurement. */
static const double PACK_COST = 5;
/* An addition to FOLD_COST, used only to choose the length of a chunk: products within short chunks keep less of the
   machine busy. Fitted to the fastest lengths for sketches of size 32 and 64. */
static const double SHORT_CHUNK_COST = 12;
/* The share of the peak that the products of kernels reach. The peak is measured with multiply-adds on registers. */
static const double PRODUCT_SHARE = 0.85;
/* Assumptions about a core that was not measured, as is common in servers: the number of vector units, each of which
   completes a multiply-add in every cycle; the bytes of memory per cycle. */
static const double NOMINAL_VECTOR_UNITS = 2, NOMINAL_BANDWIDTH = 4;

#endif
