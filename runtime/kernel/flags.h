/* Flags and reals of the caller, of which -inf hides a pair, in the lanes of a target. A kernel includes this header
   after vector.h. */

typedef int8_t T(flags) __attribute__((vector_size(LANES)));
/* Returns the lanes whose flag is not 0. Lane k has flag[k * step]. Lanes from `count` on are not read. */
TARGET INLINE T(mask) T(flags_of_lanes)(const uint8_t *flag, int64_t step, int64_t count)
{
    T(flags) lanes = {0};
    if (step == 1 && count >= LANES)
        __builtin_memcpy(&lanes, flag, sizeof lanes);
    else if (count >= LANES)
        UNROLL for (int lane = 0; lane < LANES; lane++) lanes[lane] = (int8_t)flag[lane * step];
    else
        for (int lane = 0; lane < count; lane++) lanes[lane] = (int8_t)flag[lane * step];
    return __builtin_convertvector(lanes != 0, T(mask));
}

/* shown_TYPE_of_lanes return the lanes whose real is not -inf, which is `hidden`. Lane k has x[k * step]. Lanes from
   `count` on are not read. */
#define SHOWN(name, type, hidden) \
    TARGET INLINE T(mask) T(name)(const type *x, int64_t step, int64_t count) \
    { \
        typedef type reals __attribute__((vector_size(LANES * sizeof(type)))); \
        reals lanes = {0}; \
        if (step == 1 && count >= LANES) \
            __builtin_memcpy(&lanes, x, sizeof lanes); \
        else \
            for (int lane = 0; lane < LANES && lane < count; lane++) lanes[lane] = x[lane * step]; \
        return __builtin_convertvector(lanes != (hidden), T(mask)); \
    }
SHOWN(shown_f32_of_lanes, float, -INFINITY)
SHOWN(shown_f64_of_lanes, double, -(double)INFINITY)
SHOWN(shown_f16_of_lanes, uint16_t, 0xfc00)
SHOWN(shown_bf16_of_lanes, uint16_t, 0xff80)
#undef SHOWN

/* Copies n flags of each of LANES rows: to[x * LANES + lane] is flag[lane * step + x * column]. Lanes from `count`
   on get 0. */
TARGET INLINE void T(turn_flags)(uint8_t *to, const uint8_t *flag, int64_t step, int64_t column, int64_t count,
    int64_t n)
{
    enum { SIDE = 8, LINE = 64 }; /* SIDE: bytes of a word, which divides LANES; LINE: bytes of a cache line */
    const int64_t turned = count < LANES || column != 1 ? 0 : n / SIDE * SIDE;
    for (int64_t x = 0; x < turned; x += SIDE)
        for (int lane = 0; lane < LANES; lane += SIDE) {
            uint64_t word[SIDE];
            for (int k = 0; k < SIDE && x % LINE == 0; k++) /* prefetch the flags of the next tile */
                __builtin_prefetch(flag + (lane + k) * step + min(x + n, step));
            UNROLL for (int k = 0; k < SIDE; k++) __builtin_memcpy(&word[k], flag + (lane + k) * step + x, SIDE);
            UNROLL for (int k = 0; k < SIDE; k++) { /* exchanges blocks of 1, 2 and 4 bytes across the diagonal */
                const uint64_t change = k & 1 ? 0 : (word[k] >> 8 ^ word[k | 1]) & UINT64_C(0x00ff00ff00ff00ff);
                word[k | 1] ^= change;
                word[k] ^= change << 8;
            }
            UNROLL for (int k = 0; k < SIDE; k++) {
                const uint64_t change = k & 2 ? 0 : (word[k] >> 16 ^ word[k | 2]) & UINT64_C(0x0000ffff0000ffff);
                word[k | 2] ^= change;
                word[k] ^= change << 16;
            }
            UNROLL for (int k = 0; k < SIDE; k++) {
                const uint64_t change = k & 4 ? 0 : (word[k] >> 32 ^ word[k | 4]) & UINT64_C(0x00000000ffffffff);
                word[k | 4] ^= change;
                word[k] ^= change << 32;
            }
            UNROLL for (int k = 0; k < SIDE; k++) __builtin_memcpy(to + (x + k) * LANES + lane, &word[k], SIDE);
        }
    for (int64_t x = turned; x < n; x++)
        for (int lane = 0; lane < LANES; lane++) to[x * LANES + lane] = lane < count ? flag[lane * step + x * column] :
            0;
}

