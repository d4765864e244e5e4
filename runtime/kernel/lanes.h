/* Lists of elements for shuffles of two vectors, one for each lane. The second vector has the elements from LANES on.
   The examples are for 4 lanes and half = 1, where `half` is the distance of exchanged elements. */
#ifndef ATTNRT_KERNEL_LANES_H
#define ATTNRT_KERNEL_LANES_H

#define EACH_2(f, n) f(0, n), f(1, n)
#define EACH_4(f, n) EACH_2(f, n), f(2, n), f(3, n)
#define EACH_8(f, n) EACH_4(f, n), f(4, n), f(5, n), f(6, n), f(7, n)
#define EACH_16(f, n) \
    EACH_8(f, n), f(8, n), f(9, n), f(10, n), f(11, n), f(12, n), f(13, n), f(14, n), f(15, n)
#define EACH_OF(lanes, f, n) EACH_##lanes(f, n)
#define EACH_LANE(lanes, f, n) EACH_OF(lanes, f, n)

#define LANE_ITSELF(k, n) k
#define LANE_SWAPPED(k, half) ((k) ^ (half))
#define LANE_UPPER(k, half) ((k) & (half) ? LANES + (k) - (half) : (k))
#define LANE_LOWER(k, half) ((k) & (half) ? LANES + (k) : (k) + (half))
#define LANE_ZIP_LOW(k, n) ((k) / 2 + (k) % 2 * LANES)
#define LANE_ZIP_HIGH(k, n) (LANES / 2 + (k) / 2 + (k) % 2 * LANES)
#define LANE_INTERLEAVED(k, n) ((LANES + (k)) << 16 | (k))

#define IOTA() EACH_LANE(LANES, LANE_ITSELF, 0)
#define SWAPPED(half) EACH_LANE(LANES, LANE_SWAPPED, half)     /* 1, 0, 3, 2 */
#define UPPER(half) EACH_LANE(LANES, LANE_UPPER, half)         /* 0, 4, 2, 6 */
#define LOWER(half) EACH_LANE(LANES, LANE_LOWER, half)         /* 1, 5, 3, 7 */
#define ZIP_LOW() EACH_LANE(LANES, LANE_ZIP_LOW, 0)            /* 0, 4, 1, 5 */
#define ZIP_HIGH() EACH_LANE(LANES, LANE_ZIP_HIGH, 0)          /* 2, 6, 3, 7 */
#define INTERLEAVED() EACH_LANE(LANES, LANE_INTERLEAVED, 0)    /* 16-bit elements of two vectors, in turn */

/* The shuffles of lane_sums: the even or the odd groups of elements of two vectors. Each is one instruction on x86:
   groups are elements of the same 16 bytes, and from `far` = IN_16() on the 16 bytes themselves. */
#define IN_16() (16 / (int)sizeof(REAL))
#define GROUP_OF(far) ((far) < IN_16() ? 1 : IN_16())
#define SHARE_OF(far) ((far) < IN_16() ? IN_16() : LANES)
#define IN_SHARE(k, far) ((k) % SHARE_OF(far) % (SHARE_OF(far) / 2))
#define LANE_OF_SUM(k, far, odd) \
    (((k) % SHARE_OF(far) >= SHARE_OF(far) / 2 ? LANES : 0) + (k) / SHARE_OF(far) * SHARE_OF(far) + \
     (IN_SHARE(k, far) / GROUP_OF(far) * 2 + (odd)) * GROUP_OF(far) + IN_SHARE(k, far) % GROUP_OF(far))
#define LANE_EVEN(k, far) LANE_OF_SUM(k, far, 0)
#define LANE_ODD(k, far) LANE_OF_SUM(k, far, 1)
#define EVEN(far) EACH_LANE(LANES, LANE_EVEN, far)
#define ODD(far) EACH_LANE(LANES, LANE_ODD, far)

/* f(far) for the distances 1, 2, 4 and so on below `lanes`. FALLING_DISTANCES begins with the largest. */
#define DISTANCES_2(f) f(1)
#define DISTANCES_4(f) DISTANCES_2(f) f(2)
#define DISTANCES_8(f) DISTANCES_4(f) f(4)
#define DISTANCES_16(f) DISTANCES_8(f) f(8)
#define FALLING_2(f) f(1)
#define FALLING_4(f) f(2) FALLING_2(f)
#define FALLING_8(f) f(4) FALLING_4(f)
#define FALLING_16(f) f(8) FALLING_8(f)
#define DISTANCES_OF(lanes, f) DISTANCES_##lanes(f)
#define DISTANCES(lanes, f) DISTANCES_OF(lanes, f)
#define FALLING_OF(lanes, f) FALLING_##lanes(f)
#define FALLING_DISTANCES(lanes, f) FALLING_OF(lanes, f)

/* f(r) for each r below `rows`, the largest first */
#define ROWS_BELOW_1(f)
#define ROWS_BELOW_2(f) f(1)
#define ROWS_BELOW_3(f) f(2) ROWS_BELOW_2(f)
#define ROWS_BELOW_4(f) f(3) ROWS_BELOW_3(f)
#define ROWS_BELOW_5(f) f(4) ROWS_BELOW_4(f)
#define ROWS_BELOW_6(f) f(5) ROWS_BELOW_5(f)
#define ROWS_BELOW_7(f) f(6) ROWS_BELOW_6(f)
#define ROWS_BELOW_8(f) f(7) ROWS_BELOW_7(f)
#define ROWS_BELOW_9(f) f(8) ROWS_BELOW_8(f)
#define ROWS_BELOW_10(f) f(9) ROWS_BELOW_9(f)
#define ROWS_BELOW_11(f) f(10) ROWS_BELOW_10(f)
#define ROWS_BELOW_12(f) f(11) ROWS_BELOW_11(f)
#define ROWS_BELOW_13(f) f(12) ROWS_BELOW_12(f)
#define ROWS_BELOW_14(f) f(13) ROWS_BELOW_13(f)
#define ROWS_BELOW_15(f) f(14) ROWS_BELOW_14(f)
#define ROWS_BELOW_16(f) f(15) ROWS_BELOW_15(f)
#define ROWS_BELOW_OF(rows, f) ROWS_BELOW_##rows(f)
#define ROWS_BELOW(rows, f) ROWS_BELOW_OF(rows, f)

#endif
