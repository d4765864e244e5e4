/* The names that the headers of runtime/kernel/ read (target.h), for a test that includes them. The build defines
   LANES, F64, F16, DQ, F16C and AVX. */
#define T(name) name##_T
#define TARGET
#define REGISTERS (LANES * (F64 ? 8 : 4) == 64 ? 32 : 16)
#define ROWS 3
#define VECTORS 2
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 2
#define MAX_STEPS 64
#define MAX_TERMS 64
#define MAX_LANES (2 * LANES)
#define DECAYED_KEYS 64
#define BF16 (!F16 && !F64)
