/* Aligned memory for the callers of kernels. */
#include "attnrt.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64 };

/* Asks for pages of 2 MiB if the system grants them on request. Storing a prompt's keys then takes no page fault for
   every 4 KiB, and reading them misses the TLB less often. */
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

/* Uses calloc, not aligned_alloc: large blocks are pages that are already zero and use no memory until they are
   touched. The pointer that calloc returned is stored in the word before the block. */
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
