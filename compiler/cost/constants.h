/* The constants of the cost model, which were measured or chosen. A cost is a time. Its unit is the time of one FLOP in
   a matrix product that keeps a core fully busy. For example, a cost of 20 takes as long as 20 such FLOPs. Constants
   were measured on a machine with 64-byte vectors, unless their comment says otherwise. */
#ifndef ATTNC_COST_CONSTANTS_H
#define ATTNC_COST_CONSTANTS_H

/* One multiplication and one addition in a matrix product. This value follows from the unit. */
static const double PRODUCT_COST = 2;
/* One scalar operation of a map, for one element. Most of the time goes into moving the element through memory. */
static const double MAP_COST = 3;
/* One function of a map, such as exp, for one element. Functions are polynomials. */
static const double FUNCTION_COST = 20;
/* A random number. By a count of instructions, not a measurement: one block of Philox takes 120 vector instructions and
   has four numbers for each 32-bit lane, and a core completes two such instructions in a cycle. */
static const double RANDOM_COST = 60;
/* Adding the sums of one chunk to the state, for each element of the state. Five numbers are read or written. */
static const double FOLD_COST = 8;
/* Only for a state that covers the last n chunks instead of all earlier chunks: summing these n chunks again, for each
   of the n chunks and each element of the state. Comes in addition to FOLD_COST. */
static const double RECENT_COST = 2;
/* Rounding one number to bf16 for matrix units. A number that is split into n bf16 terms costs n times as much. This
   value is a count of instructions, not a measurement. */
static const double PACK_COST = 5;
/* Only for choosing the length of a chunk: added to FOLD_COST, because products within short chunks keep less of the
   machine busy. Fitted to the fastest chunk lengths for sketches of size 32 and 64. */
static const double SHORT_CHUNK_COST = 12;
/* The products of a kernel reach this share of the peak speed. The peak is measured with multiply-adds on registers. */
static const double PRODUCT_SHARE = 0.85;
/* Assumptions about a core that was not measured, typical of servers:
   - it has this number of vector units, and each completes one multiply-add per cycle;
   - it moves this number of bytes per cycle to and from memory. */
static const double NOMINAL_VECTOR_UNITS = 2, NOMINAL_BANDWIDTH = 4;

#endif
