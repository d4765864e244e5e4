/* The constants of the cost model. A cost is a time. Its unit is the time of one FLOP in a matrix product that keeps
   a core fully busy. Unless a comment says otherwise, constants were measured with 64-byte vectors. */
#ifndef ATTNC_COST_CONSTANTS_H
#define ATTNC_COST_CONSTANTS_H

/* The cost of a multiplication and an addition in a matrix product. It defines the unit. */
static const double PRODUCT_COST = 2;
/* The cost of a scalar operation of a map, for one element. Most of the time goes into moving the element. */
static const double MAP_COST = 3;
/* The cost of one function of a map, such as exp, for one element. Kernels compute functions as polynomials. */
static const double FUNCTION_COST = 20;
/* The cost of a random number. It is counted, not measured: a block of Philox takes 120 vector instructions and has
   four numbers per 32-bit lane. A core completes two such instructions per cycle. */
static const double RANDOM_COST = 60;
/* The cost of adding the sums of one chunk to a state, for each element of the state. This reads or writes five
   numbers. */
static const double FOLD_COST = 8;
/* The cost of a state that sums only the last n chunks: n * RECENT_COST for each element, in addition to FOLD_COST.
   The loops add the n chunks again for each chunk. */
static const double RECENT_COST = 2;
/* The cost of rounding a number to bf16 for matrix units. Splitting a number into n bf16 terms costs n times as
   much. It is counted, not measured. */
static const double PACK_COST = 5;
/* This cost is added to FOLD_COST when the length of a chunk is chosen, because short chunks use the machine less
   well. It is fitted to sketches of size 32 and 64. */
static const double SHORT_CHUNK_COST = 12;
/* The share of the peak speed that a kernel's products reach. */
static const double PRODUCT_SHARE = 0.85;
/* Assumptions about a core that was not measured, typical of servers:
   - vector units, each with one multiply-add per cycle
   - bytes per cycle to and from memory */
static const double NOMINAL_VECTOR_UNITS = 2, NOMINAL_BANDWIDTH = 4;

#endif
