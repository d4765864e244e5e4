/* Template of a target's random numbers. tests/unit/test_vector.c compiles it as it stands. Philox4x32-10 computes
   the numbers (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
   - The number at (x, y, z) is word y mod 4 of a block of four words.
   - The counter of the block is (x, y / 4, z mod 2^32, z / 2^32). Its key is the seed of the call.
   - Four neighbouring y share a block, so it is computed once for all of them. */

/* words_T has 32 bits per lane. word_pairs_T has the same bits as 64-bit numbers. */
typedef uint32_t words_T __attribute__((vector_size(4 * LANES)));
typedef uint64_t word_pairs_T __attribute__((vector_size(4 * LANES)));

/* The keys of the ten rounds of Philox. A round has two keys of 32 bits. */
struct random_keys_T {
    uint64_t key[20];
};
INLINE struct random_keys_T random_keys_of_T(uint64_t seed)
{
    struct random_keys_T keys;
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        keys.key[2 * round] = low;
        keys.key[2 * round + 1] = high;
        low += UINT32_C(0x9E3779B9);
        high += UINT32_C(0xBB67AE85);
    }
    return keys;
}

/* Returns m times the lower halves of a. GCC does not find this instruction. */
TARGET INLINE word_pairs_T multiply_low_T(word_pairs_T a, uint32_t m)
{
#if LANES > 2 && AVX
#if MATRIX_UNITS
#ifdef ATTN_EMULATE_TILES
    return (a & UINT32_MAX) * m;
#else
    word_pairs_T made;
    __asm__("vpmuludq %2, %1, %0" : "=v"(made) : "v"(a), "v"((word_pairs_T){0} + m));
    return made;
#endif
#else
    word_pairs_T made;
    __asm__("vpmuludq %2, %1, %0" : "=v"(made) : "v"(a), "v"((word_pairs_T){0} + m));
    return made;
#endif
#elif LANES > 2
#ifdef __x86_64__
    __asm__("pmuludq %1, %0" : "+x"(a) : "x"((word_pairs_T){0} + m));
    return a;
#else
    return (a & UINT32_MAX) * m;
#endif
#else
    return (a & UINT32_MAX) * m;
#endif
}

/* Computes one Philox block per lane. c[k] has word k of the counters, and receives word k of the blocks. */
TARGET APART void philox_T(const struct random_keys_T *keys, words_T c[4])
{
    word_pairs_T even[4], odd[4];
    for (int k = 0; k < 4; k++) {
        even[k] = (word_pairs_T)c[k];
        odd[k] = even[k] >> 32;
    }
    UNROLL for (int round = 0; round < 10; round++) {
        const uint64_t low = keys->key[2 * round], high = keys->key[2 * round + 1];
        const word_pairs_T a = multiply_low_T(even[0], UINT32_C(0xD2511F53)),
            b = multiply_low_T(even[2], UINT32_C(0xCD9E8D57)), p = multiply_low_T(odd[0], UINT32_C(0xD2511F53)),
            q = multiply_low_T(odd[2], UINT32_C(0xCD9E8D57));
        even[0] = (b >> 32) ^ even[1] ^ low;
        odd[0] = (q >> 32) ^ odd[1] ^ low;
        even[2] = (a >> 32) ^ even[3] ^ high;
        odd[2] = (p >> 32) ^ odd[3] ^ high;
        even[1] = b;
        odd[1] = q;
        even[3] = a;
        odd[3] = p;
    }
    for (int k = 0; k < 4; k++) c[k] = (words_T)((even[k] & UINT32_MAX) | odd[k] << 32);
}

/* The random numbers that the last call of Philox computed. They belong to four neighbouring y, or to four
   neighbouring x. */
struct random_T {
    int64_t first, z; /* with four y: `first` is y / 4; with four x: `first` is the first x, and z their z */
    words_T word[4];  /* word[k]: random numbers of the k-th y or x, one per lane */
};

/* Returns the random number at ((*x)[k], y, z) for each lane k. x and z must not change while `last` is in use. */
TARGET INLINE words_T random_at_y_T(struct random_T *last, const struct random_keys_T *keys, const ints_T *x, int64_t y,
    int64_t z)
{
    if (y >> 2 != last->first) {
        last->first = y >> 2;
        last->word[0] = __builtin_convertvector(*x, words_T);
        last->word[1] = (words_T){0} + (uint32_t)(y >> 2);
        last->word[2] = (words_T){0} + (uint32_t)z;
        last->word[3] = (words_T){0} + (uint32_t)((uint64_t)z >> 32);
        philox_T(keys, last->word);
    }
    return last->word[y & 3];
}

/* Returns the random number at ((*x)[k], (*y)[k], (*z)[k]) for each lane k. */
TARGET INLINE words_T random_of_lanes_T(const struct random_keys_T *keys, const ints_T *x, const ints_T *y,
    const ints_T *z)
{
    words_T c[4] = {__builtin_convertvector(*x, words_T), __builtin_convertvector(*y >> 2, words_T),
        __builtin_convertvector(*z, words_T), __builtin_convertvector(*z >> 32, words_T)};
    const words_T n = __builtin_convertvector(*y, words_T) & 3;
    philox_T(keys, c);
    words_T made = {0};
    for (uint32_t k = 0; k < 4; k++) made |= c[k] & (words_T)(n == k);
    return made;
}

/* Computes the random numbers of x, …, x + 3, with y + k in lane k. If y is a multiple of 4, one call of philox_T
   computes all these numbers. */
TARGET APART void random_of_four_T(struct random_T *last, const struct random_keys_T *keys, int64_t x, int64_t y)
{
    const ints_T at = lane_T + y, of = (ints_T){0} + last->z;
    last->first = x;
#if LANES > 2
    if (y % 4 == 0) {
        const words_T lane = __builtin_convertvector(lane_T, words_T);
        words_T *const w = last->word;
        w[0] = (uint32_t)x + lane / (LANES / 4);
        w[1] = (uint32_t)(y >> 2) + lane % (LANES / 4);
        w[2] = __builtin_convertvector(of, words_T);
        w[3] = __builtin_convertvector(of >> 32, words_T);
        philox_T(keys, w);
        /* word k of block n becomes element 4 n + k */
        const words_T a = __builtin_shufflevector(w[0], w[2], ZIP_LOW),
            b = __builtin_shufflevector(w[0], w[2], ZIP_HIGH), c = __builtin_shufflevector(w[1], w[3], ZIP_LOW),
            d = __builtin_shufflevector(w[1], w[3], ZIP_HIGH);
        w[0] = __builtin_shufflevector(a, c, ZIP_LOW);
        w[1] = __builtin_shufflevector(a, c, ZIP_HIGH);
        w[2] = __builtin_shufflevector(b, d, ZIP_LOW);
        w[3] = __builtin_shufflevector(b, d, ZIP_HIGH);
        return;
    }
#endif
    for (int k = 0; k < 4; k++) {
        const ints_T row = (ints_T){0} + (x + k);
        last->word[k] = random_of_lanes_T(keys, &row, &at, &of);
    }
}

/* Returns the random number at (x, y + k, z) for each lane k. y must not change while `last` is in use. */
TARGET INLINE words_T random_at_x_T(struct random_T *last, const struct random_keys_T *keys, int64_t x, int64_t y,
    int64_t z)
{
    if ((uint64_t)x - (uint64_t)last->first > 3 || z != last->z) {
        last->z = z;
        random_of_four_T(last, keys, x, y);
    }
    return last->word[x - last->first];
}

/* Returns the random number at (x, y, z). */
INLINE int64_t random_word_T(uint64_t seed, int64_t x, int64_t y, int64_t z)
{
    const uint32_t counter[4] = {(uint32_t)x, (uint32_t)(y >> 2), (uint32_t)z, (uint32_t)((uint64_t)z >> 32)},
        key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t word[4];
    attn_philox(counter, key, word);
    return word[y & 3];
}

/* Returns the lanes in which x is below `limit`. */
TARGET INLINE mask_T words_below_T(words_T x, uint32_t limit)
{
#if F64
    return __builtin_convertvector(x < limit, mask_T);
#else
    return (mask_T)(x < limit);
#endif
}
