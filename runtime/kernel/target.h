/* The names that the headers of a target read. A kernel defines them for a target, includes vector.h and others, and then
   end.h, which forgets the names. Those that are not defined count as 0.
   - T(name): the name with the target's suffix. TARGET: the attribute of its functions
   - LANES: the elements of a vector. REGISTERS: the number of vector registers
   - F64, F16, BF16: the type of the kernel's numbers
   - DQ: there are instructions for x - round(x) and x * 2^n. F16C: for f16. AVX: for square roots
   - BF16_PRODUCTS: for products of bf16. MATRIX_UNITS: AMX
   - ROWS, VECTORS: a register block of a product has ROWS rows of VECTORS vectors
   - COMPENSATED: some sums keep their rounding errors
   - AHEAD: products prefetch rows this far ahead. NEAR: the last argument of __builtin_prefetch
   - MAX_STEPS, MAX_PAIRED_STEPS: the most terms of dot_finite and dot_finite_lanes. MAX_TERMS: of dot_along.
     MAX_LANES: the most lanes of dot_fetched. DECAYED_KEYS: the most keys of decayed_rows. UNIT_DEPTH: the most terms
     of unit_dot with padded rows */
#include "basic.h"
#include "lanes.h"

#ifndef F64
#define F64 0
#endif
#ifndef MAX_TERMS
#define MAX_TERMS 0
#endif
#ifndef MAX_LANES
#define MAX_LANES 0
#endif
#if F64
#define REAL double
#define BITS int64_t
#define MAGNITUDE INT64_C(0x7fffffffffffffff)
#define F(name) name /* the C library's function for REAL */
#else
#define REAL float
#define BITS int32_t
#define MAGNITUDE 0x7fffffff
#define F(name) name##f
#endif
#if F16
#define NARROWED narrowed_f16
#else
#define NARROWED narrowed_bf16
#endif
#define BYTES (LANES * (int)sizeof(REAL))
#define WIDE (8 * LANES)

/* A query row and an accumulator for each of its lanes fit into registers. They need 32 registers of 64 bytes. */
#define ROOMY (REGISTERS > 16 && LANES == (F64 ? 8 : 16))
/* Products with dot_early prefetch rows of their second operand. */
#define FETCHED (MAX_LANES && ROOMY)
/* The rows of a block that is one vector wide. With 16 registers, 8 rows were no faster than 6. */
#define TALL (!QUICK && REGISTERS > 16 && ROWS < 16 ? 16 : ROWS)
#define SOME 16 /* a core can have about this number of cache misses in flight */

/* Arguments that functions have only sometimes. */
#if COMPENSATED
#define IF_COMPENSATED(argument) , argument
#else
#define IF_COMPENSATED(argument)
#endif
