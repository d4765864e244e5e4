/* Whether this process may use the processor's matrix units: what kernels ask before they choose code for them. */
#include "attnrt.h"

int attn_tiles(void)
{
#if defined(__x86_64__) && defined(__linux__)
    enum { ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, TILES = 1 << 24, BF16 = 1 << 22 };
    static int known; /* 0: nobody has asked, else the answer is known - 1 */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED) - 1;
    if (answer >= 0) return answer;
    unsigned a = 0, b, c, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    if (a >= 7) {
        a = 7;
        c = 0;
        __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    } else
        d = 0;
    answer = (d & TILES) && (d & BF16);
    if (answer) { /* Linux gives it to a process that asks, and to all of its threads */
        long result = ARCH_PRCTL;
        __asm__ volatile("syscall"
                         : "+a"(result)
                         : "D"((long)REQUEST_PERMISSION), "S"((long)TILE_DATA)
                         : "rcx", "r11", "memory");
        answer = result == 0;
    }
    __atomic_store_n(&known, answer + 1, __ATOMIC_RELAXED);
    return answer;
#else
    return 0;
#endif
}
