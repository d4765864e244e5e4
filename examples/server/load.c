/* Draws the work of a server. The same numbers come in every run. */
#include "load.h"

#include <attnrt.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4099, SIZE = HEADS * D }; /* tokens repeat after this many rows of random numbers */

static float *numbers;

static uint32_t draw(uint32_t a, uint32_t b)
{
    uint32_t out[4];
    attn_philox((const uint32_t[]){a, b, 0, 0}, (const uint32_t[]){7, 0}, out);
    return out[0];
}

struct sequence load_sequence(int number)
{
    if (number == SHARED) return (struct sequence){.prompt = SHARED_TOKENS};
    const uint32_t n = (uint32_t)number;
    return (struct sequence){
        .arrives = 6 * number + draw(n, 1) % 6, .prompt = 16 + draw(n, 2) % 112, .tokens = 64 + draw(n, 3) % 448};
}

int load_make(void)
{
    numbers = malloc(sizeof *numbers * ROWS * SIZE);
    if (numbers) attn_normal_f32(1, attn_stream("tokens"), 0, ROWS * SIZE, numbers);
    return numbers != NULL;
}

void load_token(int sequence, int64_t position, float *q, float *k, float *v)
{
    float *const to[] = {q, k, v};
    for (int n = 0; n < 3; n++) {
        const int64_t row = (sequence * INT64_C(613) + position * 3 + n) % ROWS;
        memcpy(to[n], numbers + row * SIZE, sizeof *numbers * D * (n ? KV_HEADS : HEADS));
    }
}

void load_free(void)
{
    free(numbers);
}
