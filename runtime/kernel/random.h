/* A target's random numbers. A kernel includes this header after vector.h. Philox4x32-10 computes the numbers (Salmon
   et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
   - The number at (x, y, z) is word y mod 4 of a block of four words.
   - The counter of the block is (x, y / 4, z mod 2^32, z / 2^32). Its key is the seed of the call.
   - Four neighbouring y share a block, so it is computed once for all of them. */

/* words has 32 bits per lane. word_pairs has the same bits as 64-bit numbers. */
typedef uint32_t T(words) __attribute__((vector_size(4 * LANES)));
typedef uint64_t T(word_pairs) __attribute__((vector_size(4 * LANES)));

/* The keys of the ten rounds of Philox. A round has two keys of 32 bits. */
struct T(random_keys) {
    uint64_t key[20];
};
INLINE struct T(random_keys) T(random_keys_of)(uint64_t seed)
{
    struct T(random_keys) keys;
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
TARGET INLINE T(word_pairs) T(multiply_low)(T(word_pairs) a, uint32_t m)
{
#if LANES > 2 && AVX && !(MATRIX_UNITS && defined ATTN_EMULATE_TILES)
    T(word_pairs) made;
    __asm__("vpmuludq %2, %1, %0" : "=v"(made) : "v"(a), "v"((T(word_pairs)){0} + m));
    return made;
#elif LANES > 2 && !AVX && defined __x86_64__
    __asm__("pmuludq %1, %0" : "+x"(a) : "x"((T(word_pairs)){0} + m));
    return a;
#else
    return (a & UINT32_MAX) * m;
#endif
}

/* Computes one Philox block per lane. c[k] has word k of the counters, and receives word k of the blocks. */
TARGET APART void T(philox)(const struct T(random_keys) *keys, T(words) c[4])
{
    T(word_pairs) even[4], odd[4];
    for (int k = 0; k < 4; k++) {
        even[k] = (T(word_pairs))c[k];
        odd[k] = even[k] >> 32;
    }
    UNROLL for (int round = 0; round < 10; round++) {
        const uint64_t low = keys->key[2 * round], high = keys->key[2 * round + 1];
        const T(word_pairs) a = T(multiply_low)(even[0], UINT32_C(0xD2511F53)),
            b = T(multiply_low)(even[2], UINT32_C(0xCD9E8D57)), p = T(multiply_low)(odd[0], UINT32_C(0xD2511F53)),
            q = T(multiply_low)(odd[2], UINT32_C(0xCD9E8D57));
        even[0] = (b >> 32) ^ even[1] ^ low;
        odd[0] = (q >> 32) ^ odd[1] ^ low;
        even[2] = (a >> 32) ^ even[3] ^ high;
        odd[2] = (p >> 32) ^ odd[3] ^ high;
        even[1] = b;
        odd[1] = q;
        even[3] = a;
        odd[3] = p;
    }
    for (int k = 0; k < 4; k++) c[k] = (T(words))((even[k] & UINT32_MAX) | odd[k] << 32);
}

/* The random numbers that the last call of Philox computed. They belong to four neighbouring y, or to four
   neighbouring x. */
struct T(random) {
    int64_t first, z; /* with four y: `first` is y / 4; with four x: `first` is the first x, and z their z */
    T(words) word[4];  /* word[k]: random numbers of the k-th y or x, one per lane */
};

/* Returns the random number at ((*x)[k], y, z) for each lane k. x and z must not change while `last` is in use. */
TARGET INLINE T(words) T(random_at_y)(struct T(random) *last, const struct T(random_keys) *keys, const T(ints) *x,
    int64_t y,
    int64_t z)
{
    if (y >> 2 != last->first) {
        last->first = y >> 2;
        last->word[0] = __builtin_convertvector(*x, T(words));
        last->word[1] = (T(words)){0} + (uint32_t)(y >> 2);
        last->word[2] = (T(words)){0} + (uint32_t)z;
        last->word[3] = (T(words)){0} + (uint32_t)((uint64_t)z >> 32);
        T(philox)(keys, last->word);
    }
    return last->word[y & 3];
}

/* Returns the random number at ((*x)[k], (*y)[k], (*z)[k]) for each lane k. */
TARGET INLINE T(words) T(random_of_lanes)(const struct T(random_keys) *keys, const T(ints) *x, const T(ints) *y,
    const T(ints) *z)
{
    T(words) c[4] = {__builtin_convertvector(*x, T(words)), __builtin_convertvector(*y >> 2, T(words)),
        __builtin_convertvector(*z, T(words)), __builtin_convertvector(*z >> 32, T(words))};
    const T(words) n = __builtin_convertvector(*y, T(words)) & 3;
    T(philox)(keys, c);
    T(words) made = {0};
    for (uint32_t k = 0; k < 4; k++) made |= c[k] & (T(words))(n == k);
    return made;
}

/* Computes the random numbers of x, …, x + 3, with y + k in lane k. If y is a multiple of 4, one call of philox
   computes all these numbers. */
TARGET APART void T(random_of_four)(struct T(random) *last, const struct T(random_keys) *keys, int64_t x, int64_t y)
{
    const T(ints) at = T(lane) + y, of = (T(ints)){0} + last->z;
    last->first = x;
#if LANES > 2
    if (y % 4 == 0) {
        const T(words) lane = __builtin_convertvector(T(lane), T(words));
        T(words) *const w = last->word;
        w[0] = (uint32_t)x + lane / (LANES / 4);
        w[1] = (uint32_t)(y >> 2) + lane % (LANES / 4);
        w[2] = __builtin_convertvector(of, T(words));
        w[3] = __builtin_convertvector(of >> 32, T(words));
        T(philox)(keys, w);
        /* word k of block n becomes element 4 n + k */
        const T(words) a = __builtin_shufflevector(w[0], w[2], ZIP_LOW()),
            b = __builtin_shufflevector(w[0], w[2], ZIP_HIGH()), c = __builtin_shufflevector(w[1], w[3], ZIP_LOW()),
            d = __builtin_shufflevector(w[1], w[3], ZIP_HIGH());
        w[0] = __builtin_shufflevector(a, c, ZIP_LOW());
        w[1] = __builtin_shufflevector(a, c, ZIP_HIGH());
        w[2] = __builtin_shufflevector(b, d, ZIP_LOW());
        w[3] = __builtin_shufflevector(b, d, ZIP_HIGH());
        return;
    }
#endif
    for (int k = 0; k < 4; k++) {
        const T(ints) row = (T(ints)){0} + (x + k);
        last->word[k] = T(random_of_lanes)(keys, &row, &at, &of);
    }
}

/* Returns the random number at (x, y + k, z) for each lane k. y must not change while `last` is in use. */
TARGET INLINE T(words) T(random_at_x)(struct T(random) *last, const struct T(random_keys) *keys, int64_t x, int64_t y,
    int64_t z)
{
    if ((uint64_t)x - (uint64_t)last->first > 3 || z != last->z) {
        last->z = z;
        T(random_of_four)(last, keys, x, y);
    }
    return last->word[x - last->first];
}

/* Returns the random number at (x, y, z). */
INLINE int64_t T(random_word)(uint64_t seed, int64_t x, int64_t y, int64_t z)
{
    const uint32_t counter[4] = {(uint32_t)x, (uint32_t)(y >> 2), (uint32_t)z, (uint32_t)((uint64_t)z >> 32)},
        key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t word[4];
    attn_philox(counter, key, word);
    return word[y & 3];
}

/* Returns the lanes in which x is below `limit`. */
TARGET INLINE T(mask) T(words_below)(T(words) x, uint32_t limit)
{
#if F64
    return __builtin_convertvector(x < limit, T(mask));
#else
    return (T(mask))(x < limit);
#endif
}
