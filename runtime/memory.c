/* Aligned memory for the callers of kernels. */
#include "attnrt.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64 };

/* Asks the system for pages of 2 MiB, which cause fewer page faults and TLB misses. */
static void ask_for_huge_pages(uintptr_t first, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t huge = (uintptr_t)2 << 20, from = (first + huge - 1) / huge * huge,
                    to = (first + bytes) / huge * huge;
    if (from < to) (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)first, (void)bytes;
#endif
}

/* Uses calloc, not aligned_alloc, because calloc returns fresh zero pages. The word before the aligned block stores
   calloc's pointer. */
void *attn_alloc(size_t bytes)
{
    const size_t extra = ALIGNMENT + sizeof(void *);
    if (bytes > PTRDIFF_MAX - extra) return NULL;
    void *base = calloc(1, bytes + extra);
    if (!base) return NULL;
    uintptr_t first = (uintptr_t)base + sizeof(void *);
    void **memory = (void **)((first + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    ask_for_huge_pages((uintptr_t)memory, bytes);
    memory[-1] = base;
    return memory;
}

void attn_free(void *memory)
{
    if (memory) free(((void **)memory)[-1]);
}
