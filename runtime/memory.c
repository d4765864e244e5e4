/* Aligned memory for the callers of kernels. */
#include "attnrt.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* Over calloc rather than aligned_alloc: large blocks come as pages that are zero already and cost nothing until they
   are touched. The address that calloc gave stands in the word before the block. */
void *attn_alloc(size_t bytes)
{
    const size_t extra = ALIGNMENT + sizeof(void *);
    if (bytes > PTRDIFF_MAX - extra) return NULL;
    void *base = calloc(1, bytes + extra);
    if (!base) return NULL;
    uintptr_t first = (uintptr_t)base + sizeof(void *);
    void **memory = (void **)((first + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    memory[-1] = base;
    return memory;
}

void attn_free(void *memory)
{
    if (memory) free(((void **)memory)[-1]);
}
