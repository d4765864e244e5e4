/* Makes queries, keys and values from a text. Prints the text and marks correctly predicted bytes. */
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t splitmix64(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Returns HEAD_DIM random signs, one per bit, for a byte in a role.
 * - Role 0 is the byte at the position.
 * - Role r = 1 … CONTEXT is the byte r positions before. */
static uint64_t signs(int role, unsigned char byte)
{
    return splitmix64(splitmix64((uint64_t)role) ^ byte);
}

static float sign(uint64_t bits, int d)
{
    return bits >> d & 1 ? 1.0f : -1.0f;
}

bool text_embed(struct text_vectors *t)
{
    static const double weight[CONTEXT + 1] = {0, 1, 1, 1, 1, 0.7, 0.5};
    size_t bytes = sizeof(float) * HEAD_DIM * (size_t)t->length;
    t->context = malloc(bytes);
    t->value = malloc(bytes);
    if (!t->context || !t->value) return false;
    for (int64_t i = 0; i < t->length; i++) {
        double sum[HEAD_DIM] = {0}, square = 0;
        for (int back = 1; back <= CONTEXT; back++) {
            uint64_t bits = signs(back, i >= back ? t->byte[i - back] : 0);
            for (int d = 0; d < HEAD_DIM; d++) sum[d] += weight[back] * (double)sign(bits, d);
        }
        for (int d = 0; d < HEAD_DIM; d++) square += sum[d] * sum[d];
        for (int d = 0; d < HEAD_DIM; d++) {
            t->context[i * HEAD_DIM + d] = (float)(sum[d] / sqrt(square));
            t->value[i * HEAD_DIM + d] = sign(signs(0, t->byte[i]), d);
        }
    }
    return true;
}

void text_release(struct text_vectors *t)
{
    free(t->context);
    free(t->value);
    t->context = t->value = NULL;
}

void text_predict(const struct text_vectors *t, const float *out, unsigned char *guess)
{
    float vector[256][HEAD_DIM];
    bool occurs[256] = {false};
    for (int64_t i = 0; i < t->length; i++) occurs[t->byte[i]] = true;
    for (int byte = 0; byte < 256; byte++)
        for (int d = 0; d < HEAD_DIM; d++) vector[byte][d] = sign(signs(0, (unsigned char)byte), d);
    guess[0] = 0;
    for (int64_t i = 1; i < t->length; i++) {
        const float *row = out + (i - 1) * HEAD_DIM;
        float best = -INFINITY;
        for (int byte = 0; byte < 256; byte++) {
            if (!occurs[byte]) continue;
            float score = 0;
            for (int d = 0; d < HEAD_DIM; d++) score += row[d] * vector[byte][d];
            if (score > best) {
                best = score;
                guess[i] = (unsigned char)byte;
            }
        }
    }
}

double text_accuracy(const struct text_vectors *t, const unsigned char *guess)
{
    int64_t from = t->length / 2, right = 0;
    for (int64_t i = from; i < t->length; i++) right += guess[i] == t->byte[i];
    return (double)right / (double)(t->length - from);
}

double text_commonest(const struct text_vectors *t)
{
    int64_t from = t->length / 2, count[256] = {0}, most = 0;
    for (int64_t i = from; i < t->length; i++) {
        int64_t now = ++count[t->byte[i]];
        if (now > most) most = now;
    }
    return (double)most / (double)(t->length - from);
}

/* Returns the start of the next line after position i, or the end of the text. */
static int64_t next_line(const struct text_vectors *t, int64_t i)
{
    const unsigned char *end = memchr(t->byte + i, '\n', (size_t)(t->length - i));
    return end ? end - t->byte + 1 : t->length;
}

void text_show(const struct text_vectors *t, const unsigned char *guess, int lines, bool color, FILE *out)
{
    int64_t at = next_line(t, t->length * 3 / 4);
    if (at >= t->length) at = t->length / 2;
    for (int shown = 0; shown < lines && at < t->length;) {
        int64_t end = next_line(t, at), width = end - at;
        if (width > 96) end = at + (width = 96); /* a long line is split */
        int64_t printed = width;
        while (printed > 0 && (t->byte[at + printed - 1] == '\n' || t->byte[at + printed - 1] == '\r')) printed--;
        if (printed > 0) {
            fputs("  ", out);
            for (int64_t i = at; i < at + printed; i++) {
                unsigned char c = t->byte[i] >= 32 && t->byte[i] < 127 ? t->byte[i] : t->byte[i] == '\t' ? ' ' : '?';
                if (!color)
                    putc(c, out);
                else if (guess[i] == t->byte[i])
                    fprintf(out, "\033[1;4;32m%c\033[0m", c);
                else
                    fprintf(out, "\033[2m%c\033[0m", c);
            }
            putc('\n', out);
            if (!color) {
                fputs("  ", out);
                int64_t last = at + printed;
                while (last > at && guess[last - 1] != t->byte[last - 1]) last--;
                for (int64_t i = at; i < last; i++) putc(guess[i] == t->byte[i] ? '^' : ' ', out);
                putc('\n', out);
            }
            shown++;
        }
        at = end;
    }
}
