/* Measures the peak and the bandwidth of this machine. attnc compiles this file like a kernel, so it runs on the
   same OpenMP threads. */
#include "probe.h"

#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

double attn_seconds(void); /* defined in the runtime library */
/* Tests that emulate tile registers define this as 4. They do not emulate vectors, so the real level is needed
   here. */
#undef attn_x86_64_level
int attn_x86_64_level(void);

#ifdef ATTN_SHORT_PROBE /* defined in tests that need no exact numbers */
#define STEPS 10000
#define SECONDS(seconds) (0.1 * (seconds))
#define LENGTH(n) ((n) < 100000 ? (n) : 100000)
#else
#define STEPS 1000000
#define SECONDS(seconds) (seconds)
#define LENGTH(n) (n)
#endif

/* Instructions of AMX, as in runtime/kernel/tiles.h. */
#ifdef ATTNRT_TILES_H /* defined in a test that emulates tile registers */
#define HAS_TILES
#define TILE_STEPS 100
#define WITH_TILES
#elif defined(__x86_64__) && defined(__linux__) && (__clang_major__ >= 12 || (!defined(__clang__) && __GNUC__ >= 11))
#define HAS_TILES
#define WITH_TILES __attribute__((target("amx-tile,amx-bf16")))
int attn_tiles(void); /* defined in the runtime library */
#define TILE_STEPS 125000
static const struct {
    uint8_t palette, first_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shapes = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
#define configure_tiles() __asm__ volatile("ldtilecfg %0" : : "m"(tile_shapes) : "memory")
#define release_tiles() __asm__ volatile("tilerelease" : : : "memory")
#define tile_zero(t) __asm__ volatile("tilezero %%tmm" #t : : :)
#define tile_multiply(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : :)
#endif
#define TILE_FLOPS (2.0 * 16 * 16 * 32)

/* Defines NAME, which measures the peak on one thread. It repeats a = a * x + y on CHAINS independent registers of
   WIDTH elements, which hide the latency. */
#define PEAK_LOOP(NAME, TARGET, REAL, WIDTH, CHAINS, CONSTRAINT) \
    TARGET static double NAME(void) \
    { \
        typedef REAL vector __attribute__((vector_size(WIDTH * sizeof(REAL)))); \
        vector a[CHAINS], x = {0}, y = {0}; \
        for (int l = 0; l < WIDTH; l++) { \
            x[l] = (REAL)(1.0 + 1e-7 * l); \
            y[l] = (REAL)1e-9; \
            for (int c = 0; c < CHAINS; c++) a[c][l] = (REAL)(c + 0.001 * l); \
        } \
        __asm__ volatile("" : "+" CONSTRAINT(x), "+" CONSTRAINT(y)); \
        for (long step = 0; step < STEPS; step++) { \
            _Pragma("GCC unroll 24") for (int c = 0; c < CHAINS; c++) a[c] = a[c] * x + y; \
            __asm__ volatile("" ::CONSTRAINT(x)); \
        } \
        for (int c = 1; c < CHAINS; c++) a[0] += a[c]; \
        return (double)a[0][1]; \
    }

#if defined(__x86_64__)
#define WITH(features) __attribute__((target(features)))
PEAK_LOOP(avx512_f32, WITH("avx512f"), float, 16, 12, "v")
PEAK_LOOP(avx512_f64, WITH("avx512f"), double, 8, 12, "v")
PEAK_LOOP(avx2_f32, WITH("avx2,fma"), float, 8, 12, "x")
PEAK_LOOP(avx2_f64, WITH("avx2,fma"), double, 4, 12, "x")
PEAK_LOOP(plain_f32, , float, 4, 12, "x")
PEAK_LOOP(plain_f64, , double, 2, 12, "x")
enum { PLAIN_CHAINS = 12 };
#elif defined(__aarch64__)
PEAK_LOOP(plain_f32, , float, 4, 24, "w")
PEAK_LOOP(plain_f64, , double, 2, 24, "w")
enum { PLAIN_CHAINS = 24 };
#else
PEAK_LOOP(plain_f32, , float, 4, 12, "m")
PEAK_LOOP(plain_f64, , double, 2, 12, "m")
enum { PLAIN_CHAINS = 12 };
#endif

/* The functions that measure the peak of one vector width. */
struct loop {
    const char *name;
    double (*run[2])(void); /* run[0] computes in f32, run[1] in f64 */
    int vector_bytes, chains;
};

/* Returns the loop with the widest vectors of this processor. */
static struct loop widest(void)
{
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) return (struct loop){"512-bit multiply-adds", {avx512_f32, avx512_f64}, 64, 12};
    if (attn_x86_64_level() >= 3) return (struct loop){"256-bit multiply-adds", {avx2_f32, avx2_f64}, 32, 12};
#endif
    return (struct loop){"128-bit multiplications and additions", {plain_f32, plain_f64}, 16, PLAIN_CHAINS};
}

static const char *vectors(void)
{
    return widest().name;
}

static int threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Repeats `loop` on `count` threads for `seconds`, and returns the maximum rate in FLOPs per second. The loop is a
   function, because compilers drop the target attribute in parallel regions. */
static double best_rate(double (*loop)(void), double flops, int count, double seconds)
{
    double best = 0, begun = attn_seconds();
#ifndef _OPENMP
    count = 1;
#endif
    for (int run = 0; run < 3 || attn_seconds() - begun < SECONDS(seconds); run++) {
        const double start = attn_seconds();
#ifdef _OPENMP
#pragma omp parallel num_threads(count)
#endif
        {
            volatile double keep = loop();
            (void)keep;
        }
        const double rate = flops * count / (attn_seconds() - start);
        if (rate > best) best = rate;
    }
    return best;
}

static double peak(int wide, int count, double seconds)
{
    const struct loop loop = widest();
    return best_rate(loop.run[wide != 0], 2.0 * STEPS * loop.chains * loop.vector_bytes / (wide ? 8 : 4), count,
                     seconds);
}

/* Measures the peak of matrix units on one thread, with tiles of zeros in registers. Four accumulators hide the
   latency. */
#ifdef HAS_TILES
WITH_TILES static double tiles(void)
{
    configure_tiles();
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    tile_zero(4);
    tile_zero(5);
    tile_zero(6);
    tile_zero(7);
    for (long step = 0; step < TILE_STEPS; step++) {
        tile_multiply(0, 4, 6);
        tile_multiply(1, 4, 7);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
    release_tiles();
    return 0;
}
#endif

static double units(int count, double seconds)
{
#ifdef HAS_TILES
    if (attn_tiles()) return best_rate(tiles, 4 * TILE_FLOPS * TILE_STEPS, count, seconds);
#endif
    (void)count;
    (void)seconds;
    return 0;
}

/* Repeats a = b + s * c over arrays of `length` numbers for `seconds`. Returns the maximum rate in bytes per second.
   The processor reads a cache line of a before it writes the line. These reads are not counted. */
static double triad(double *a, double *b, double *c, int64_t length, int count, int fresh, double seconds)
{
    double best = 0, begun = attn_seconds();
#ifndef _OPENMP
    (void)count;
#endif
    const int64_t n = LENGTH(length);
    for (int run = 0; run < 2 || attn_seconds() - begun < SECONDS(seconds); run++) {
        const double start = attn_seconds();
        if (run == 0 && fresh) { /* the first write to a page places it near the writing thread */
#ifdef _OPENMP
#pragma omp parallel for num_threads(count) schedule(static)
#endif
            for (int64_t k = 0; k < n; k++) {
                a[k] = 0;
                b[k] = 1;
                c[k] = 2;
            }
            continue;
        }
#ifdef _OPENMP
#pragma omp parallel for num_threads(count) schedule(static)
#endif
        for (int64_t k = 0; k < n; k++) a[k] = b[k] + 0.5 * c[k];
        const double rate = 3 * sizeof(double) * (double)n / (attn_seconds() - start);
        if (rate > best) best = rate;
    }
    return best;
}

/* Returns the sum of n numbers. Four accumulators hide the latency. */
static double sum_of(const double *a, int64_t n)
{
    typedef double vector __attribute__((vector_size(32)));
    vector sum[4] = {{0}, {0}, {0}, {0}}, now[4];
    double all = 0;
    for (int64_t k = 0; k + 16 <= n; k += 16) {
        memcpy(now, a + k, sizeof now);
        for (int c = 0; c < 4; c++) sum[c] += now[c];
    }
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < 4; l++) all += sum[c][l];
    return all;
}

/* Reads n numbers repeatedly for `seconds`. Returns the maximum rate in bytes per second. */
static double reading(double *a, int64_t n, int count, int fresh, double seconds)
{
    double best = 0, begun = attn_seconds();
#ifndef _OPENMP
    count = 1;
#endif
    const int64_t part = LENGTH(n) / count / 16 * 16;
    for (int run = 0; run < 3 || attn_seconds() - begun < SECONDS(seconds); run++) {
        const double start = attn_seconds();
#ifdef _OPENMP
#pragma omp parallel for num_threads(count) schedule(static)
#endif
        for (int t = 0; t < count; t++) {
            volatile double keep = 0;
            for (int64_t k = 0; k < part && run == 0 && fresh; k++) a[t * part + k] = 1;
            keep = sum_of(a + t * part, part);
            (void)keep;
        }
        const double rate = (double)sizeof(double) * (double)part * count / (attn_seconds() - start);
        if (rate > best && run > 0) best = rate;
    }
    return best;
}

const struct machine_probe machine_probe = {vectors, threads, peak, units, triad, reading};
