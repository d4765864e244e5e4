/* Random parameters from a seed: normal values and orthogonal features, from Philox4x32-10 (Salmon et al., SC 2011).
   All arithmetic is in integers until the last conversion. So the bits are the same everywhere. */
#include "attnrt.h"
#include "kernel/basic.h"

#include <stdbool.h>

/* ---- fixed point ---- */

struct wide {
    uint64_t high, low;
};

static inline struct wide multiply(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), rest = a0 * b1 + (uint32_t)middle;
    return (struct wide){a1 * b1 + (middle >> 32) + (rest >> 32), rest << 32 | (uint32_t)low};
}

/* Returns a * b / 2^shift, for shift from 1 to 63. The result must fit in 64 bits. */
static inline uint64_t scaled(uint64_t a, uint64_t b, int shift)
{
    const struct wide product = multiply(a, b);
    return product.high << (64 - shift) | product.low >> shift;
}

static inline uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static inline int64_t with_sign(uint64_t x, bool negative)
{
    return negative ? -(int64_t)x : (int64_t)x;
}

/* Returns the square root of n, rounded down. */
static uint64_t root(struct wide n)
{
    uint64_t made = 0;
    for (uint64_t bit = UINT64_C(1) << 63; bit; bit >>= 1) {
        const struct wide square = multiply(made | bit, made | bit);
        if (square.high < n.high || (square.high == n.high && square.low <= n.low)) made |= bit;
    }
    return made;
}

/* ---- Philox4x32-10 ---- */

ATTN_API void attn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c0, b = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Returns the 64-bit FNV-1a hash of the name. */
ATTN_API uint64_t attn_stream(const char *name)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
    return hash;
}

/* ---- standard normal values, by the Box-Muller transform ---- */

/* Returns -log2(u / 2^64) in units of 2^-57, for u > 0. Squaring doubles a logarithm, so each squaring gives a
   binary digit. */
static uint64_t minus_log2(uint64_t u)
{
    uint64_t whole = 1, fraction = 0;
    for (; !(u >> 63); u <<= 1) whole++;
    for (int k = 0; k < 57; k++) {
        const struct wide square = multiply(u, u);
        const uint64_t digit = square.high >> 63;
        u = digit ? square.high : square.high << 1 | square.low >> 63;
        fraction = fraction << 1 | digit;
    }
    return (whole << 57) - fraction;
}

/* Computes the sine and cosine of an angle from 0 to pi/4, by Taylor series, in units of 2^-62. The first omitted
   term is below 2^-66. */
static void sine_cosine(uint64_t angle, uint64_t *sine, uint64_t *cosine)
{
    const uint64_t one = UINT64_C(1) << 62, square = scaled(angle, angle, 62);
    uint64_t s = one, c = one;
    for (uint64_t k = 18; k > 0; k -= 2) {
        s = one - scaled(square, s, 62) / (k * (k + 1));
        c = one - scaled(square, c, 62) / (k * (k - 1));
    }
    *sine = scaled(angle, s, 62);
    *cosine = c;
}

/* Computes values 2 * pair and 2 * pair + 1 of a stream, in units of 2^-56 (Box-Muller). Values are at most sqrt(2 *
   log(2^64)) = 9.42. */
static void normal_pair(uint64_t seed, uint64_t stream, uint64_t pair, int64_t value[2])
{
    const uint64_t twice_log_2 = UINT64_C(0xB17217F7D1CF79AC),
                   quarter_pi = UINT64_C(0xC90FDAA22168C235); /* 2 log 2 in units of 2^-63, pi/4 in units of 2^-64 */
    const uint32_t counter[4] = {(uint32_t)pair, (uint32_t)(pair >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t bits[4];
    attn_philox(counter, key, bits);
    /* sqrt(-2 log u) in units of 2^-60; `| 1` keeps u above 0 */
    const uint64_t radius = root(multiply(minus_log2(((uint64_t)bits[1] << 32 | bits[0]) | 1), twice_log_2));
    /* the angle: its octant, and the distance `rest` from the octant's start; odd octants are mirrored */
    const uint64_t turn = (uint64_t)bits[3] << 32 | bits[2], octant = turn >> 61, most = UINT64_C(1) << 61,
                   rest = turn & (most - 1);
    uint64_t sine, cosine;
    sine_cosine(multiply((octant & 1 ? most - rest : rest) << 1, quarter_pi).high, &sine, &cosine);
    const bool swap = (octant + 1) & 2;
    value[0] = with_sign(multiply(radius, swap ? sine : cosine).high >> 2, (octant + 2) & 4);
    value[1] = with_sign(multiply(radius, swap ? cosine : sine).high >> 2, octant & 4);
}

/* Consecutive values of a stream. Stores the last pair, so that it is computed once. */
struct normals {
    uint64_t seed, stream, next;
    int64_t value[2];
};

static struct normals normals_from(uint64_t seed, uint64_t stream, uint64_t first)
{
    struct normals n = {.seed = seed, .stream = stream, .next = first};
    if (first & 1) normal_pair(seed, stream, first / 2, n.value);
    return n;
}

static int64_t next_normal(struct normals *n)
{
    if (!(n->next & 1)) normal_pair(n->seed, n->stream, n->next / 2, n->value);
    return n->value[n->next++ & 1];
}

ATTN_API void attn_normal_f64(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, double *out)
{
    struct normals from = normals_from(seed, stream, first);
    for (int64_t k = 0; k < n; k++) out[k] = (double)next_normal(&from) * 0x1p-56;
}

ATTN_API void attn_normal_f32(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, float *out)
{
    struct normals from = normals_from(seed, stream, first);
    for (int64_t k = 0; k < n; k++) out[k] = (float)((double)next_normal(&from) * 0x1p-56);
}

/* ---- orthogonal random features ---- */

static uint64_t norm(const int64_t *v, int64_t n)
{
    struct wide sum = {0, 0};
    for (int64_t k = 0; k < n; k++) {
        const struct wide square = multiply(magnitude(v[k]), magnitude(v[k]));
        sum.low += square.low;
        sum.high += square.high + (sum.low < square.low);
    }
    return root(sum);
}

/* Reads the next n values in units of 2^-52. A sum of 2^16 squares of them fits in 128 bits. */
static void normal_row(struct normals *from, int64_t n, int64_t *row)
{
    for (int64_t k = 0; k < n; k++) row[k] = next_normal(from) / 16;
}

/* Scales v to length 1, in units of 2^-60. Returns false if v is 0. */
static bool make_unit(int64_t *v, int64_t n)
{
    uint64_t length = norm(v, n), inverse = 0, rest = 0;
    int shift = 0;
    if (length == 0) return false;
    for (; !(length >> 62); length <<= 1) shift++;
    for (int k = 0; k < 126; k++) { /* computes (2^126 - 1) / length */
        rest = rest << 1 | 1;
        const bool digit = rest >= length;
        if (digit) rest -= length;
        inverse = inverse << 1 | digit;
    }
    for (int64_t k = 0; k < n; k++) v[k] = with_sign(multiply(magnitude(v[k]) << shift, inverse).high >> 2, v[k] < 0);
    return true;
}

/* Subtracts from v its projection on `unit`, which has length 1. */
static void remove_part(int64_t *v, const int64_t *unit, int64_t n)
{
    int64_t along = 0;
    for (int64_t k = 0; k < n; k++)
        along += with_sign(scaled(magnitude(v[k]), magnitude(unit[k]), 60), (v[k] < 0) != (unit[k] < 0));
    const uint64_t size = magnitude(along);
    for (int64_t k = 0; k < n; k++)
        v[k] -= with_sign(scaled(size, magnitude(unit[k]), 60), (along < 0) != (unit[k] < 0));
}

/* Makes row `row` orthogonal to earlier rows, and scales it to length 1. Gram-Schmidt runs twice because of
   rounding. Returns false if the row depends on earlier rows. */
static bool orthonormal_row(int64_t *block, int64_t row, int64_t columns)
{
    int64_t *v = block + row * columns;
    bool good = make_unit(v, columns);
    for (int pass = 0; pass < 2 && good; pass++) {
        for (int64_t r = 0; r < row; r++) remove_part(v, block + r * columns, columns);
        good = make_unit(v, columns);
    }
    return good;
}

ATTN_API size_t attn_orthogonal_work(int64_t rows, int64_t columns)
{
    return (size_t)((rows < columns ? rows : columns) + 1) * (size_t)columns * sizeof(int64_t);
}

/* Computes row `row` of the features, in units of 2^-52, and stores it after the block. Earlier rows of the block
   must exist. */
static const int64_t *feature_row(uint64_t seed, uint64_t stream, int64_t rows, int64_t row, int64_t columns,
                                  int64_t *block)
{
    const int64_t in_block = row % columns;
    int64_t *q = block + in_block * columns, *made = block + (rows < columns ? rows : columns) * columns;
    const uint64_t first = (uint64_t)row * (uint64_t)columns;
    struct normals from = normals_from(seed, stream, first);
    normal_row(&from, columns, q);
    /* replace a dependent row by the first unit vector that is independent */
    for (int64_t axis = 0; !orthonormal_row(block, in_block, columns); axis++)
        for (int64_t k = 0; k < columns; k++) q[k] = k == axis;
    from = normals_from(seed, stream, ATTN_NORMS + first);
    normal_row(&from, columns, made);
    const uint64_t length = norm(made, columns);
    for (int64_t k = 0; k < columns; k++) made[k] = with_sign(scaled(length, magnitude(q[k]), 60), q[k] < 0);
    return made;
}

ATTN_API void attn_orthogonal_f64(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, double *out,
                                  void *work)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *made = feature_row(seed, stream, rows, row, columns, work);
        for (int64_t k = 0; k < columns; k++) out[row * columns + k] = (double)made[k] * 0x1p-52;
    }
}

ATTN_API void attn_orthogonal_f32(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, float *out, void *work)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *made = feature_row(seed, stream, rows, row, columns, work);
        for (int64_t k = 0; k < columns; k++) out[row * columns + k] = (float)((double)made[k] * 0x1p-52);
    }
}
