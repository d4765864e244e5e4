/* Evaluates EXPR_DRAWN: `count` different numbers from 0 … among - 1 for each a. Candidate t is a hash of the seed,
   a and t. Repeated candidates are skipped. */
#include "expr.h"

#include <stdlib.h>

/* Returns the output of Vigna's splitmix64 for the state x. */
static uint64_t splitmix64(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Returns true if the number b is in a row of the draw's parameter. */
static bool listed(const struct draw *draw, struct ids *ids, int64_t row, int64_t b)
{
    int64_t length;
    const double *number = ids_row(ids, draw->name, row, &length);
    bool holds = false;
    for (int64_t half; number && draw->sorted && length > 1; length -= half) { /* negative numbers are the last */
        half = length / 2;
        if (number[half] >= 0 && number[half] <= (double)b)
            number += half;
        else
            half = length - half;
    }
    for (int64_t k = 0; number && k < length && b >= 0; k++) holds |= number[k] == (double)b;
    return holds;
}

/* Returns true if b is drawn for a. If there are at most `count` numbers, all are drawn. Otherwise candidates t = 0,
   1, … are taken until `count` different ones are drawn. */
bool draw_holds(const struct draw *draw, struct ids *ids, int64_t a, int64_t b, int64_t among)
{
    if (draw->name) return listed(draw, ids, among + a, b);
    if (draw->upto) among = a < INT64_MAX ? a + 1 : a;
    if (b < 0 || b >= among) return false;
    if (draw->count >= among) return true;
    uint64_t few[64], key = splitmix64(splitmix64(draw->seed) ^ (uint64_t)a), *drawn = few;
    if (draw->count > 64) drawn = malloc((size_t)draw->count * sizeof *drawn);
    int64_t found = 0;
    bool holds = false;
    for (uint64_t t = 0; drawn && found < draw->count && !holds; t++) {
        uint64_t number = splitmix64(key ^ t) % (uint64_t)among;
        int64_t k = 0;
        while (k < found && drawn[k] != number) k++;
        if (k == found) drawn[found++] = number;
        holds = number == (uint64_t)b;
    }
    if (drawn != few) free(drawn);
    return holds;
}
