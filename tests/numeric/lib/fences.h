/* Arrays next to pages without access. An access outside an array is a fault. */
#ifndef FENCES_H
#define FENCES_H

#include "attnrt.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory between two pages without access. Bytes outside the array contain PATTERN. */
enum { PATTERN = 0xA5, SLACK = 256 };

struct block {
    unsigned char *map, *data;
    size_t mapped, bytes;
};

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Allocates a block. If `at_front`, the array begins directly after the first page. Otherwise it ends before the
 * second page, as close as its alignment allows. */
static struct block block_new(size_t bytes, size_t align, bool at_front)
{
    size_t page = page_size(), inner = (bytes + SLACK + page - 1) / page * page;
    struct block b = {.mapped = inner + 2 * page, .bytes = bytes};
    b.map = mmap(NULL, b.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.map == MAP_FAILED) {
        perror("mmap");
        exit(3);
    }
    memset(b.map, PATTERN, b.mapped);
    b.data = b.map + page + (at_front ? 0 : (inner - bytes) / align * align);
    if (mprotect(b.map, page, PROT_NONE) != 0 || mprotect(b.map + page + inner, page, PROT_NONE) != 0) {
        perror("mprotect");
        exit(3);
    }
    return b;
}

static bool block_whole(const struct block *b)
{
    const unsigned char *begin = b->map + page_size(), *end = b->map + b->mapped - page_size();
    for (const unsigned char *p = begin; p < end; p++) {
        if ((p < b->data || p >= b->data + b->bytes) && *p != PATTERN) return false;
    }
    return true;
}

static void block_free(struct block *b)
{
    munmap(b->map, b->mapped);
}

/* ---- pseudo-random numbers, which depend only on the array and the position ---- */

static double number(uint64_t array, uint64_t at)
{
    uint64_t x = (array << 40) + at + 1;
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        x += 0x9E3779B97F4A7C15u;
        uint64_t y = x;
        y = (y ^ (y >> 30)) * 0xBF58476D1CE4E5B9u;
        y = (y ^ (y >> 27)) * 0x94D049BB133111EBu;
        sum += (double)((y ^ (y >> 31)) >> 11) * 0x1p-53;
    }
    return 2 * sum - 3;
}

static void store(void *data, size_t at, double x, enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: ((float *)data)[at] = (float)x; break;
    case ATTN_BF16: ((uint16_t *)data)[at] = attn_bf16(x); break;
    case ATTN_F16: ((uint16_t *)data)[at] = attn_f16(x); break;
    case ATTN_F64: ((double *)data)[at] = x; break;
    case ATTN_I32: ((int32_t *)data)[at] = (int32_t)x; break;
    case ATTN_U8: ((uint8_t *)data)[at] = x > 0; break;
    }
}

#endif
