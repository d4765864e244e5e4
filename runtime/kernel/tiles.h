/* Macros for instructions on AMX's tile registers. Users may define
   - ATTN_EMULATE_TILES: plain C replaces the instructions, so kernels run slowly on any machine;
   - ATTN_NO_TILES: kernels do not use matrix units. */

/* ==== tile registers: 16 rows of 64 bytes ==== */
#ifdef ATTN_EMULATE_TILES
#include "attnrt_tiles.h" /* plain C for the macros below */
#else
#ifdef ATTN_NO_TILES
#define attn_tiles() 0
#endif
/* A task configures the tile registers first, and releases them at its end. */
#define configure_tiles() \
    __asm__ volatile("ldtilecfg %0" : : "m"(*(const uint8_t(*)[64])tile_shapes) : "memory")
#define release_tiles() __asm__ volatile("tilerelease" : : : "memory")
#define tile_zero(t) __asm__ volatile("tilezero %%tmm" #t : : :)
#define tile_load(t, from, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(from), "r"((int64_t)(stride)) : "memory")
#define tile_store(t, to, stride) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(to), "r"((int64_t)(stride)) : "memory")
#define tile_multiply(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : :)
static __attribute__((unused)) const uint8_t tile_shapes[64] = {
    1, [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64, [26] = 64, [28] = 64, [30] = 64,
    [48] = 16, 16, 16, 16, 16, 16, 16, 16};
#endif
