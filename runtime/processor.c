/* Finds the features of the processor that the system lets a process use. Uses cpuid, because __builtin_cpu_supports
   always returns 0 with some compilers, such as zig cc. */
#include "attnrt.h"
#include "kernel/basic.h"

#include <stdbool.h>

struct cpuid_words {
    unsigned a, b, c, d;
};

static inline struct cpuid_words cpuid_of(unsigned leaf, unsigned part)
{
    struct cpuid_words w = {0, 0, 0, 0};
#if defined(__x86_64__)
    __asm__("cpuid" : "=a"(w.a), "=b"(w.b), "=c"(w.c), "=d"(w.d) : "0"(0), "2"(0));
    if (w.a < leaf) return (struct cpuid_words){0, 0, 0, 0};
    __asm__("cpuid" : "=a"(w.a), "=b"(w.b), "=c"(w.c), "=d"(w.d) : "0"(leaf), "2"(part));
#else
    (void)leaf;
    (void)part;
#endif
    return w;
}

/* Returns true if all `bits` are set in the word. */
static inline bool has_bits(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

/* Returns the registers that the system saves, as bits of XCR0. A process may use only these. */
static inline unsigned kept_registers(void)
{
    unsigned low = 0;
#if defined(__x86_64__)
    const unsigned OSXSAVE = 1U << 27;
    unsigned high;
    if (has_bits(cpuid_of(1, 0).c, OSXSAVE)) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#endif
    return low;
}

static inline int find_x86_64_level(void)
{
    const unsigned SSE3 = 1U << 0, SSSE3 = 1U << 9, FMA = 1U << 12, SSE41 = 1U << 19, SSE42 = 1U << 20,
                   POPCNT = 1U << 23, AVX = 1U << 28, F16C = 1U << 29; /* bits of ecx in cpuid leaf 1 */
    const unsigned BMI = 1U << 3, AVX2 = 1U << 5, BMI2 = 1U << 8, AVX512F = 1U << 16, AVX512DQ = 1U << 17,
                   AVX512CD = 1U << 28, AVX512BW = 1U << 30, AVX512VL = 1U << 31; /* bits of ebx in cpuid leaf 7 */
    /* bits of XCR0 for the registers of AVX and AVX-512 */
    const unsigned YMM = 0x6, ZMM = 0xe6;
    const unsigned one = cpuid_of(1, 0).c, seven = cpuid_of(7, 0).b, kept = kept_registers();
    if (!has_bits(one, SSE3 | SSSE3 | SSE41 | SSE42 | POPCNT)) return 1;
    if (!has_bits(one, AVX | FMA | F16C) || !has_bits(seven, AVX2 | BMI | BMI2) || !has_bits(kept, YMM)) return 2;
    if (!has_bits(seven, AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL) || !has_bits(kept, ZMM)) return 3;
    return 4;
}

/* Returns whether Linux lets this process use tile registers, which it does only after this request. */
static inline bool may_use_tiles(void)
{
#if defined(__x86_64__) && defined(__linux__)
    enum { ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    long result = ARCH_PRCTL;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)REQUEST_PERMISSION), "S"((long)TILE_DATA)
                     : "rcx", "r11", "memory");
    return result == 0;
#else
    return false;
#endif
}

enum processor_feature {
    PROCESSOR_LEVEL,
    PROCESSOR_BF16_PAIRS,
    PROCESSOR_BYTE_PRODUCTS,
    PROCESSOR_OF_INTEL,
    PROCESSOR_TILES,
    PROCESSOR_FEATURES
};

static inline int find_feature(enum processor_feature feature)
{
    const unsigned BF16_PAIRS = 1U << 5, VNNI = 1U << 11, TILES_OF_BF16 = 1U << 24 | 1U << 22; /* eax, ecx and edx */
    const struct cpuid_words vendor = cpuid_of(0, 0);
    switch (feature) {
    case PROCESSOR_LEVEL: return find_x86_64_level();
    case PROCESSOR_BF16_PAIRS:
        return find_x86_64_level() >= 4 && cpuid_of(7, 0).a >= 1 && has_bits(cpuid_of(7, 1).a, BF16_PAIRS);
    case PROCESSOR_BYTE_PRODUCTS: return find_x86_64_level() >= 4 && has_bits(cpuid_of(7, 0).c, VNNI);
    case PROCESSOR_OF_INTEL: /* "GenuineIntel" */
        return vendor.b == 0x756e6547 && vendor.d == 0x49656e69 && vendor.c == 0x6c65746e;
    default: return has_bits(cpuid_of(7, 0).d, TILES_OF_BF16) && may_use_tiles();
    }
}

/* Returns what the first call has found, because cpuid takes microseconds in a virtual machine. */
static inline int processor_has(enum processor_feature feature)
{
    static int known[PROCESSOR_FEATURES]; /* 0 before the first call, then 1 + the answer */
    int answer = __atomic_load_n(&known[feature], __ATOMIC_RELAXED) - 1;
    if (answer < 0) {
        answer = find_feature(feature);
        __atomic_store_n(&known[feature], answer + 1, __ATOMIC_RELAXED);
    }
    return answer;
}

ATTN_API int attn_x86_64_level(void)
{
    return processor_has(PROCESSOR_LEVEL);
}

ATTN_API int attn_avx512_bf16(void)
{
    return processor_has(PROCESSOR_BF16_PAIRS);
}

ATTN_API int attn_avx512_vnni(void)
{
    return processor_has(PROCESSOR_BYTE_PRODUCTS);
}

ATTN_API int attn_is_intel(void)
{
    return processor_has(PROCESSOR_OF_INTEL);
}

ATTN_API int attn_tiles(void)
{
    return processor_has(PROCESSOR_TILES);
}
