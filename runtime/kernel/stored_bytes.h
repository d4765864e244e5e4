/* Products with keys of q4_0, by instructions that multiply bytes (AVX512-VNNI). stored.h includes this header.
   - A row of numbers is written as integers of 24 bits, three digits of a signed byte each, times the row's size. Its
     largest number becomes 127 * 65536, so rounding moves a number by at most 2^-24 of the largest one.
   - Elements of keys have 8 added, as they are stored, because one operand of the instructions is unsigned. The sums
     start with -8 times the sum of the row's digits.
   - The sums of a block are exact. So the bits of a result do not depend on the number of rows. */

#define STARTS ((MAX_TERMS / 32 / 5 + 1) * LANES) /* 3 numbers for each of 5 blocks */

/* Writes a row as digits, a third of 3 * MAX_TERMS bytes each. `start` gets where the sums begin: those of the digits
   of
   block n from n / 5 * LANES + n % 5 * 3 on. Returns false if a number is infinite or NaN. */
TARGET INLINE int S(write_digits)(const int64_t steps, const REAL *a, int8_t *digit, int32_t *start, REAL *size)
{
    const REAL TOP = 127 * 65536;
    T(mask) largest = {0}, up = {0};
    up += 0x7f800000;
    for (int64_t s = 0; s < steps; s += LANES) {
        const T(mask) bits = (T(mask))T(load)(a + s) & 0x7fffffff;
        largest = (T(mask))T(pick)((T(mask))(largest < bits), (T(vec))bits, (T(vec))largest);
    }
    const REAL found = T(lane_max)((T(vec))(T(mask))T(pick)((T(mask))(largest > up), (T(vec))up, (T(vec))largest)),
        top = found > 1e-30f ? found : 1e-30f, by = found < INFINITY ? TOP / top : 0;
    *size = top / TOP;
    for (int64_t first = 0; first < steps; first += 5 * BLOCK_ELEMENTS) {
        T(vec) t[LANES];
        UNROLL for (int k = 0; k < LANES; k++) t[k] = (T(vec)){0};
        UNROLL for (int n = 0; n < 5; n++) {
            T(mask) sum[3] = {{0}, {0}, {0}};
            for (int64_t s = first + n * BLOCK_ELEMENTS; s < min(first + (n + 1) * BLOCK_ELEMENTS, steps); s += LANES) {
                const T(vec) scaled = T(load)(a + s) * by;
                T(mask) x, part[3];
                __asm__("vcvtps2dq %1, %0" : "=v"(x) : "v"(scaled));
                UNROLL for (int d = 2; d > 0; d--) {
                    part[d] = x << 24 >> 24;
                    x = (x - part[d]) >> 8;
                }
                part[0] = x;
                UNROLL for (int d = 0; d < 3; d++) {
                    sum[d] += part[d];
                    *(T(bytes) *)(void *)(digit + d * MAX_TERMS + s) = __builtin_convertvector(part[d], T(bytes));
                }
            }
            UNROLL for (int d = 0; d < 3; d++) t[3 * n + d] = __builtin_convertvector(sum[d], T(vec)) * -8.0f;
        }
        const T(mask) made = __builtin_convertvector(T(lane_sums)(t), T(mask));
        __builtin_memcpy(start + first / (5 * BLOCK_ELEMENTS) * LANES, &made, sizeof made);
    }
    return found < INFINITY;
}

/* Reads 16 bytes of each of LANES rows of b and puts the words of all rows into a vector. Row k is at lane k. */
TARGET INLINE void S(turn_words)(const int whole, int64_t last, const STORED *b, int64_t b_row, T(mask) *t)
{
    T(mask) x[4];
    int64_t three = 3 * b_row;
    __asm__("" : "+r"(three)); /* so that few registers hold the addresses of all rows */
    UNROLL for (int k = 0; k < 4; k++, b += b_row) {
        __asm__("" : "+r"(b));
        const STORED *at[4] = {b, b + 4 * b_row, b + 8 * b_row, b + 4 * three};
        if (!whole)
            UNROLL for (int n = 0; n < 4; n++) at[n] = b + (min(4 * n + k, last) - k) * b_row;
        __asm__("vbroadcasti32x4 %1, %0" : "=v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[0]));
        __asm__("vinserti32x4 $1, %1, %0, %0" : "+v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[1]));
        __asm__("vinserti32x4 $2, %1, %0, %0" : "+v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[2]));
        __asm__("vinserti32x4 $3, %1, %0, %0" : "+v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[3]));
    }
    UNROLL for (int k = 0; k < 4; k += 2) {
        const T(mask) a = x[k], c = x[k + 1];
        x[k] = __builtin_shufflevector(a, c, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
        x[k + 1] = __builtin_shufflevector(a, c, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    UNROLL for (int k = 0; k < 2; k++) {
        t[2 * k] = __builtin_shufflevector(x[k], x[k + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
        t[2 * k + 1] =
            __builtin_shufflevector(x[k], x[k + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
}

/* Copies the scales of the rows first … end - 1 of b, of up to 2 * LANES rows. Those of a block are side by side. */
TARGET INLINE void S(copy_turned_scales)(int64_t first, int64_t end, const int64_t steps, const STORED *b,
    int64_t b_row,
    SCALE *copy)
{
    for (int64_t r = first; r < end; r++)
        UNROLL for (int64_t k = 0; k < S(scales)(steps); k++)
            __builtin_memcpy(copy + k * 2 * LANES + r, b + r * b_row + k * BLOCK_BYTES, sizeof *copy);
}

/* Writes the elements of a block of 2 * LANES rows, 8 added, in words of 4. Word w of row k is at byte
   8 * LANES * w + 4 * k. b is the block of the first row. */
TARGET INLINE void S(turn_block)(const int whole, int64_t last, const STORED *b, int64_t b_row, T(mask) *to)
{
    UNROLL for (int half = 0; half < 2; half++) {
        T(mask) t[4];
        S(turn_words)(whole, last - half * LANES, b + half * LANES * b_row + SCALE_BYTES, b_row, t);
        UNROLL for (int k = 0; k < 4; k++) {
            to[2 * k + half] = t[k] & 0x0f0f0f0f;
            to[2 * (4 + k) + half] = t[k] >> 4 & 0x0f0f0f0f;
        }
    }
}

/* Adds the products of block n of up to 4 rows, from write_digits, with 2 * LANES keys, from turn_block, to c, or
   stores them if n is 0.
   - times: the scales of the keys
   - wide: whether both vectors of c are stored, not only the first
   - asks: the number of rows at `ahead` that are prefetched */
TARGET INLINE void S(byte_columns)(const int rows, const int64_t n, const int wide, const int8_t *digit,
    const int32_t *start, const REAL *size, const T(mask) *keys, const T(vec) *times, const int64_t steps,
    const int64_t asks, const STORED *ahead, int64_t b_row, REAL *c, int64_t c_row)
{
    enum { WORDS_OF_BLOCK = BLOCK_ELEMENTS / 4 };
    T(mask) t[4][3][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int d = 0; d < 3; d++)
            UNROLL for (int k = 0; k < 2; k++)
                t[r][d][k] = start[r * STARTS + n / 5 * LANES + n % 5 * 3 + d] - (T(mask)){0};
    UNROLL for (int w = 0; w < WORDS_OF_BLOCK; w++) {
        for (int64_t k = w * asks / WORDS_OF_BLOCK; k < (w + 1) * asks / WORDS_OF_BLOCK; k++)
            S(fetch)(1, steps, ahead + k * b_row, b_row);
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int d = 0; d < 3; d++) {
                int32_t word;
                __builtin_memcpy(&word, digit + (3 * r + d) * MAX_TERMS + n * BLOCK_ELEMENTS + 4 * w, sizeof word);
                const T(mask) all = word - (T(mask)){0};
                UNROLL for (int k = 0; k < 2; k++)
                    __asm__("vpdpbusd %2, %1, %0" : "+v"(t[r][d][k]) : "v"(keys[2 * w + k]), "v"(all));
            }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int k = 0; k < 1 + wide; k++) {
            const T(vec) low = __builtin_convertvector((t[r][1][k] << 8) + t[r][2][k], T(vec)),
                high = __builtin_convertvector(t[r][0][k], T(vec));
            REAL *const to = c + r * c_row + k * LANES;
            T(store)(to, (n ? T(load)(to) : (T(vec)){0}) + (high * 65536.0f + low) * size[r] * times[k]);
        }
}

/* Like byte_columns, for any number of rows. */
TARGET INLINE void S(all_byte_columns)(int64_t rows, const int64_t n, const int wide, const int8_t *digit,
    const int32_t *start, const REAL *size, const T(mask) *keys, const T(vec) *times, const int64_t steps,
    const int64_t asks, const STORED *ahead, int64_t b_row, REAL *c, int64_t c_row)
{
    for (int64_t ask = asks; rows >= 4; rows -= 4, ask = 0) {
        S(byte_columns)(4, n, wide, digit, start, size, keys, times, steps, ask, ahead, b_row, c, c_row);
        digit += 12 * MAX_TERMS;
        start += 4 * STARTS;
        size += 4;
        c += 4 * c_row;
    }
    switch (rows) {
        case 3: S(byte_columns)(3, n, wide, digit, start, size, keys, times, steps, 0, ahead, b_row, c, c_row); break;
        case 2: S(byte_columns)(2, n, wide, digit, start, size, keys, times, steps, 0, ahead, b_row, c, c_row); break;
        case 1: S(byte_columns)(1, n, wide, digit, start, size, keys, times, steps, 0, ahead, b_row, c, c_row); break;
    }
}

/* The products of up to 16 rows with up to 2 * LANES keys.
   - copy: the scales of these keys
   - next: gets the scales of the 2 * LANES keys that follow, of which `later` exist
   - asks: whether later keys are prefetched */
TARGET INLINE void S(byte_tile)(const int whole, int64_t last, int64_t rows, const int64_t steps, const int8_t *digit,
    const int32_t *start, const REAL *size, const STORED *b, int64_t b_row, const SCALE *copy, SCALE *next,
    int64_t later, const int asks, REAL *c, int64_t c_row)
{
    const int64_t blocks = S(scales)(steps), share = (2 * LANES + blocks - 1) / blocks;
    for (int64_t n = 0; n < blocks; n++) {
        T(mask) keys[2 * BLOCK_ELEMENTS / 4];
        T(vec) times[2];
        const int64_t end = min((n + 1) * share, 2 * LANES);
        const STORED *const ahead = b + (n * share + EARLY_FOR_SEVERAL) * b_row;
        if (asks && rows < 4) S(fetch)(end - n * share, steps, ahead, b_row);
        S(copy_turned_scales)(n * share, min(end, later), steps, b + 2 * LANES * b_row, b_row, next);
        S(turn_block)(whole, last, b + n * BLOCK_BYTES, b_row, keys);
        UNROLL for (int k = 0; k < 2; k++)
            times[k] = S(from_halves)(*(const T(halves) *)(const void *)(copy + (2 * n + k) * LANES));
        S(all_byte_columns)(rows, n, whole || last >= LANES, digit, start, size, keys, times, steps, asks ? share : 0,
            ahead, b_row, c, c_row);
    }
}

/* c[x] = sum over t of a[t] * b[x][t], for a row that has infinity or NaN. */
TARGET APART void S(dot_infinite)(int64_t columns, int64_t steps, const REAL *a, const STORED *b, int64_t b_row,
    REAL *c)
{
    for (int64_t x = 0; x < columns; x++) {
        c[x] = 0;
        for (int64_t s = 0; s < steps; s++) c[x] += a[s] * S(element)(b + x * b_row, s);
    }
}

/* Like dot_along. Up to 16 rows use the same bytes of keys. */
TARGET INLINE void S(dot_bytes)(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row)
{
    int8_t digit[16 * 3 * MAX_TERMS] __attribute__((aligned(16)));
    int32_t start[16 * STARTS];
    REAL size[16];
    SCALE copy[2][2 * SCALES];
    for (int64_t first = 0; first < rows; first += 16, a += 16 * a_row, c += 16 * c_row) {
        const int64_t some = min(rows - first, 16);
        int infinite = 0; /* bits of rows with infinity or NaN */
        S(copy_turned_scales)(0, min(2 * LANES, columns), steps, b, b_row, copy[0]);
        for (int64_t r = 0; r < some; r++)
            if (!S(write_digits)(steps, a + r * a_row, digit + 3 * r * MAX_TERMS, start + r * STARTS, size + r))
                infinite |= 1 << r;
        for (int64_t x = 0; x < columns; x += 2 * LANES) {
            const int64_t odd = x / (2 * LANES) % 2;
            const int64_t last = min(2 * LANES, columns - x) - 1, later = min(columns - x - 2 * LANES, 2 * LANES);
            if (last == 2 * LANES - 1)
                S(byte_tile)(1, last, some, steps, digit, start, size, b + x * b_row, b_row, copy[odd], copy[!odd],
                    later, first == 0, c + x, c_row);
            else
                S(byte_tile)(0, last, some, steps, digit, start, size, b + x * b_row, b_row, copy[odd], copy[!odd], 0,
                    0, c + x, c_row);
        }
        for (int64_t r = 0; infinite >> r; r++)
            if (infinite >> r & 1) S(dot_infinite)(columns, steps, a + r * a_row, b, b_row, c + r * c_row);
    }
}
#undef STARTS
