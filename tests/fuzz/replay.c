/* Runs a fuzzer without libFuzzer on every file, and on VARIANTS random variants. The variants are equal in every
 * run.
 * usage: replay VARIANTS FILE… */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 14, MOST_FILES = 1000 };

/* Pieces of specs and expressions to insert into files. */
static const char *const pieces[] = {"s",     "i",     "j",        "h",      " + ",   " - ",   " * ",
                                     " / ",   " % ",   " <= ",     " < ",    " == ",  " != ",  " && ",
                                     " || ",  "!",     "-",        "(",      ")",     ", ",    " ? ",
                                     " : ",   "1",     "2.5",      "0",      "64",    "exp(",  "log(",
                                     "pow(",  "fmin(", "fabs(",    "floor(", "sqrt",  "'",     "\"",
                                     "\n",    "\n ",   "#",        "\\",     "\\x6a", "|",     ">",
                                     "|+\n ", "&a ",   "*a",       "{",      "}",     "[",     "]",
                                     ";",     "++",    "=",        "0x1",    "1e9",   ".5",    "9223372036854775807",
                                     "foo",   "int",   "\xc3\xa4", "\r\n",   "\t",    "expr: "};
enum { PIECES = sizeof pieces / sizeof *pieces };

struct input {
    uint8_t *data;
    size_t size;
};

static uint64_t next(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
    return (size_t)(next(state) % n);
}

/* Replaces data[at, at + out) by the `in` bytes at `with`. Returns the new size. */
static size_t splice(uint8_t *data, size_t size, size_t at, size_t out, const void *with, size_t in)
{
    if (out > size - at) out = size - at;
    if (size - out + in > MOST_BYTES) return size;
    memmove(data + at + in, data + at + out, size - at - out);
    memcpy(data + at, with, in);
    return size - out + in;
}

static void vary(const struct input *inputs, int count, uint64_t *state)
{
    static uint8_t data[MOST_BYTES];
    const struct input *from = &inputs[below(state, (size_t)count)];
    size_t size = from->size;
    memcpy(data, from->data, size);
    for (size_t changes = 1 + below(state, 4); changes > 0; changes--) {
        size_t at = below(state, size + 1), out = below(state, 3) ? 0 : below(state, 8);
        const struct input *other = &inputs[below(state, (size_t)count)];
        size_t begin = below(state, other->size + 1), length = below(state, 20);
        if (length > other->size - begin) length = other->size - begin;
        const char *piece = pieces[below(state, PIECES)];
        const uint8_t byte = (uint8_t)next(state);
        switch (below(state, 5)) {
        case 0: size = splice(data, size, at, 1, &byte, 1); break;
        case 1: size = splice(data, size, at, out, other->data + begin, length); break;
        case 2: size = splice(data, size, at, 1 + below(state, 4), "", 0); break;
        default: size = splice(data, size, at, out, piece, strlen(piece)); break;
        }
    }
    LLVMFuzzerTestOneInput(data, size);
}

int main(int count, char **argument)
{
    static struct input inputs[MOST_FILES];
    int files = 0;
    for (int k = 2; k < count && files < MOST_FILES; k++) {
        FILE *in = fopen(argument[k], "rb");
        uint8_t *data = malloc(MOST_BYTES);
        if (!in || !data) {
            fprintf(stderr, "replay: cannot read %s\n", argument[k]);
            if (in) fclose(in);
            free(data);
            return 3;
        }
        inputs[files++] = (struct input){data, fread(data, 1, MOST_BYTES, in)};
        fclose(in);
    }
    if (count < 3 || files == 0) {
        fprintf(stderr, "usage: replay VARIANTS FILE...\n");
        return 2;
    }
    for (int k = 0; k < files; k++) LLVMFuzzerTestOneInput(inputs[k].data, inputs[k].size);
    uint64_t state = 1;
    for (long k = 0, variants = strtol(argument[1], NULL, 10); k < variants; k++) vary(inputs, files, &state);
    for (int k = 0; k < files; k++) free(inputs[k].data);
    return 0;
}
