/* Evaluates EXPR_RANDOM: a random 32-bit number for three integers, a word of Philox4x32-10 (Salmon et al.,
   "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
#include "expr.h"

int64_t random_word(uint64_t seed, int64_t x, int64_t y, int64_t z)
{
    const uint64_t low = UINT32_MAX, high = (uint64_t)z >> 32;
    uint64_t c[4] = {(uint64_t)x & low, (uint64_t)(y >> 2) & low, (uint64_t)z & low, high},
             k[2] = {seed & low, seed >> 32};
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        c[0] = (b >> 32) ^ c[1] ^ k[0];
        c[1] = b & low;
        c[2] = (a >> 32) ^ c[3] ^ k[1];
        c[3] = a & low;
        k[0] = (k[0] + UINT64_C(0x9E3779B9)) & low;
        k[1] = (k[1] + UINT64_C(0xBB67AE85)) & low;
    }
    return (int64_t)c[y & 3];
}
