/* Reads memory as fast as one core or several can: what the bandwidth in tokens.py is. */
#include <stdint.h>

typedef uint64_t words __attribute__((vector_size(32), aligned(8), may_alias));

/* Returns a sum over n bytes, a multiple of 1024, on this number of threads. */
uint64_t read_all(const unsigned char *x, int64_t n, int threads)
{
    uint64_t all = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : all) schedule(static)
    for (int64_t block = 0; block < n / 1024; block++) {
        const words *const at = (const words *)(const void *)(x + block * 1024);
        words sum[8] = {{0}};
        for (int k = 0; k < 32; k += 8) {
            __builtin_prefetch(x + block * 1024 + 4096 + k * 32);
            for (int i = 0; i < 8; i++) sum[i] += at[k + i];
        }
        for (int i = 1; i < 8; i++) sum[0] += sum[i];
        all += sum[0][0] + sum[0][1] + sum[0][2] + sum[0][3];
    }
    return all;
}
