/* The eight tile registers of AMX, for the products of kernels on matrix units: attnc writes this above their code as it
   stands. With ATTN_EMULATE_TILES they are plain C, so that the same kernels run, slowly, where there are none;
   with ATTN_NO_TILES kernels do without. */

/* ==== tile registers: 16 rows of 64 bytes ==== */
#ifdef ATTN_EMULATE_TILES
#define attn_tiles() 1
static _Thread_local union {
    uint16_t bf16[16][32];
    uint32_t pairs[16][16];
    float f32[16][16];
} tile_register[8];
#define configure_tiles() ((void)0)
#define release_tiles() ((void)0)
#define tile_zero(t) emulate_zero(t)
#define tile_load(t, from, stride) emulate_load(t, from, stride)
#define tile_store(t, to, stride) emulate_store(t, to, stride)
#define tile_multiply(c, a, b) emulate_multiply(c, a, b)
static __attribute__((unused)) void emulate_zero(int t)
{
    for (int k = 0; k < 256; k++) tile_register[t].f32[k / 16][k % 16] = 0;
}
static __attribute__((unused)) void emulate_load(int t, const void *from, int64_t stride)
{
    for (int k = 0; k < 512; k++)
        tile_register[t].bf16[k / 32][k % 32] = ((const uint16_t *)(const void *)((const char *)from + k / 32 * stride))[k % 32];
}
static __attribute__((unused)) void emulate_store(int t, void *to, int64_t stride)
{
    for (int k = 0; k < 256; k++)
        ((float *)(void *)((char *)to + k / 16 * stride))[k % 16] = tile_register[t].f32[k / 16][k % 16];
}
/* Numbers without a leading 1 count as 0. */
static __attribute__((unused)) float emulate_number(uint32_t bits)
{
    union { uint32_t bits; float number; } x = {(bits & 0x7f800000) ? bits : bits & 0x80000000};
    return x.number;
}
/* c += a * b: the first elements of all pairs and the second ones are summed apart; their products are exact */
static __attribute__((unused)) void emulate_multiply(int c, int a, int b)
{
    for (int m = 0; m < 16; m++) {
        float first[16] = {0}, second[16] = {0};
        for (int k = 0; k < 16; k++) {
            const float x = emulate_number((uint32_t)tile_register[a].bf16[m][2 * k] << 16),
                        y = emulate_number((uint32_t)tile_register[a].bf16[m][2 * k + 1] << 16);
            for (int n = 0; n < 16; n++) {
                const uint32_t pair = tile_register[b].pairs[k][n];
                first[n] += x * emulate_number(pair << 16);
                second[n] += y * emulate_number(pair & 0xffff0000);
            }
        }
        for (int n = 0; n < 16; n++) tile_register[c].f32[m][n] += first[n] + second[n];
    }
}
#else
#ifdef ATTN_NO_TILES
#define attn_tiles() 0
#endif
/* Registers are configured for a task and released at its end: no call in between leaves anything in them. */
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
