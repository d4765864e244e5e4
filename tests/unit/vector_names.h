/* The names that emit/vector.c fills into vector.c, product.c and the files of stored rows, as macros for a test that
   includes these files. The build defines LANES, F64, F16, DQ, F16C and AVX. */
#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* without optimisation, inlining multiplies the compile time */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline, unused))
#define UNROLL _Pragma("GCC unroll 16")
#define TARGET
#define PAIRED 0
#define BF16_PRODUCTS 0
#define MATRIX_UNITS 0
#define COMPENSATED 1
#define ROWS 3
#define TALL 8
#define HAS_TALL 1
#define VECTORS 2
#define AHEAD 64
#define IS_EARLY 1
#define FETCH_PARAMETER , const int64_t early
#define FETCH_ARGUMENT , early
#define EARLY_OF_ONE early
#define AHEAD_PARAMETER , const STORED *ahead
#define AHEAD_OF_ONE , early ? ahead : NULL
#define NOT_AHEAD , NULL
#define AFTER_PARAMETER , const STORED *after
#define AFTER_ARGUMENT , after
#define AFTER after
#define EARLY_IN_PART (after && steps <= EARLY_FOR_SEVERAL ? 0 : EARLY_FOR_SEVERAL)
#define DISTANCE_IN_PART (after && steps <= EARLY_FOR_SEVERAL ? 0 : DISTANCE)
#define EARLY_FOR_SEVERAL 32
#define SEVERAL 3
#define DISTANCE (early ? early : EARLY_FOR_SEVERAL)
#define NEAR 2
#define SOME 16
#define AT_ONCE 32
#if F16
#define NARROW 1
#define STORED uint16_t
#else
#define NARROW 0
#define STORED REAL
#endif
#define IN REAL
#define IN_PER_REAL
#define BY_PARAMETER
#define BY_ARGUMENT
#define COMPENSATION_PARAMETER , REAL *compensation
#define COMPENSATION_ARGUMENT , compensation
#define COMPENSATION_OF_ROW , left ? left + r *c_row : NULL
#define COMPENSATION_OF_LAST , left ? left + whole *c_row : NULL
#define COMPENSATION_NULL , NULL
#define COMPENSATION_OF_THE_ROW , compensation ? compensation + r *c_row : NULL
#define COMPENSATION_OF_GROUP , compensation ? compensation + r *c_row : NULL
#define COMPENSATION_OF_COLUMN , compensation ? compensation + x : NULL
#define WORDS LANES
#define MAX_STEPS 64
#define MAX_TERMS 64
#define MAX_LANES (2 * LANES)
#define ROOMY (LANES * (F64 ? 8 : 4) == 64)
#define ABREAST (ROOMY ? 4 : 2)
#define TURNED_SUMS (LANES < 4 ? 2 * LANES : 8)
#define TURNED_LEVELS (LANES == 16 ? 4 : LANES == 8 ? 3 : LANES == 4 ? 2 : 1)
#define MANY 16
#if ROOMY
#define FETCHED 1
#define EARLY_PARAMETER , const int64_t early
#define EARLY_ARGUMENT , early
#define NOT_EARLY , 0
#define ANY_DOT dot_early_T
#else
#define FETCHED 0
#define EARLY_PARAMETER
#define EARLY_ARGUMENT
#define NOT_EARLY
#define ANY_DOT dot_T
#endif
#define TOGETHER 1
#define ONE_IS_ODD 1
#define CASES \
    case 2: \
        parts_T(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row, \
                update, f COMPENSATION_OF_ROW EARLY_ARGUMENT); \
        break; \
    case 1: \
        parts_T(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row, \
                update, f COMPENSATION_OF_ROW EARLY_ARGUMENT); \
        break;
#define NARROW_CASES \
    case 2: \
        block_T(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row, \
                now, f COMPENSATION_OF_ROW NOT_EARLY); \
        break; \
    case 1: \
        block_T(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row, \
                now, f COMPENSATION_OF_ROW NOT_EARLY); \
        break;
#if F64
#define REAL double
#define WORD uint64_t
#define WORD_MAX UINT64_C(0x7fffffffffffffff)
#define WORD_CARRY UINT64_C(0x0010000000000000)
#define BITS int64_t
#define MAGNITUDE INT64_C(0x7fffffffffffffff)
#define SIGN_SHIFT 62
#define MAGIC 6755399441055744.0
#define EXP2_MIN (DQ ? -1022.0 : -1023.0)
#define EXP2_MAX 1024.0
#define EXP_MAX 710.0
#define LOG2E 1.4426950408889634074
#define LN2_HIGH 0.693147180369123816490
#define LN2_LOW 1.90821492927058770002e-10
#define log_F log
#define sqrt_F sqrt
#define floor_F floor
#define pow_F pow
#define log1p_F log1p
#define log2_F log2
#define ceil_F ceil
#define rint_F rint
#define trunc_F trunc
#else
#define REAL float
#define WORD uint32_t
#define WORD_MAX 0x7fffffff
#define WORD_CARRY 0x00800000
#define BITS int32_t
#define MAGNITUDE 0x7fffffff
#define SIGN_SHIFT 30
#define MAGIC 12582912.0f
#define EXP2_MIN (DQ ? -126.0f : -127.0f)
#define EXP2_MAX 128.0f
#define EXP_MAX 89.0f
#define LOG2E 1.44269504f
#define LN2_HIGH 0.693145751953125f
#define LN2_LOW 1.4286068203094172e-06f
#define log_F logf
#define sqrt_F sqrtf
#define floor_F floorf
#define pow_F powf
#define log1p_F log1pf
#define log2_F log2f
#define ceil_F ceilf
#define rint_F rintf
#define trunc_F truncf
#endif
#define BYTES (LANES * (int)sizeof(REAL))
#define WIDE (8 * LANES)
#define IN_PARTS 0
#define PART_VECTORS (ROOMY ? 8 : IN_PARTS ? 4 : 16)
#define PART_LANES (PART_VECTORS * LANES)
#if LANES == 2
#define IOTA 0, 1
#define EVEN_1 0, 2
#define ODD_1 1, 3
#define SWAPPED_1 1, 0
#define UPPER_1 0, 2
#define LOWER_1 1, 3
#elif LANES == 4
#define IOTA 0, 1, 2, 3
#define EVEN_1 0, 2, 4, 6
#define ODD_1 1, 3, 5, 7
#define EVEN_2 0, 2, 4, 6
#define ODD_2 1, 3, 5, 7
#define ZIP_LOW 0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#define SWAPPED_1 1, 0, 3, 2
#define SWAPPED_2 2, 3, 0, 1
#define UPPER_1 0, 4, 2, 6
#define LOWER_1 1, 5, 3, 7
#define UPPER_2 0, 1, 4, 5
#define LOWER_2 2, 3, 6, 7
#elif LANES == 8
#define IOTA 0, 1, 2, 3, 4, 5, 6, 7
#define EVEN_1 0, 2, 8, 10, 4, 6, 12, 14
#define ODD_1 1, 3, 9, 11, 5, 7, 13, 15
#define EVEN_2 0, 2, 8, 10, 4, 6, 12, 14
#define ODD_2 1, 3, 9, 11, 5, 7, 13, 15
#define EVEN_4 0, 1, 2, 3, 8, 9, 10, 11
#define ODD_4 4, 5, 6, 7, 12, 13, 14, 15
#define ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define SWAPPED_1 1, 0, 3, 2, 5, 4, 7, 6
#define SWAPPED_2 2, 3, 0, 1, 6, 7, 4, 5
#define SWAPPED_4 4, 5, 6, 7, 0, 1, 2, 3
#define UPPER_1 0, 8, 2, 10, 4, 12, 6, 14
#define LOWER_1 1, 9, 3, 11, 5, 13, 7, 15
#define UPPER_2 0, 1, 8, 9, 4, 5, 12, 13
#define LOWER_2 2, 3, 10, 11, 6, 7, 14, 15
#define UPPER_4 0, 1, 2, 3, 8, 9, 10, 11
#define LOWER_4 4, 5, 6, 7, 12, 13, 14, 15
#elif LANES == 16
#define IOTA 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define EVEN_1 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define ODD_1 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define EVEN_2 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define ODD_2 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define EVEN_4 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define ODD_4 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#define EVEN_8 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define ODD_8 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#define ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define SWAPPED_1 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#define SWAPPED_2 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
#define SWAPPED_4 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11
#define SWAPPED_8 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7
#define UPPER_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define LOWER_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define UPPER_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define LOWER_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define UPPER_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define LOWER_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define UPPER_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define LOWER_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#endif
