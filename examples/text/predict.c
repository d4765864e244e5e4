/* The main function of several examples. It prints the percentage of bytes that each kernel predicts. */
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_BYTES = 256, MOST_BYTES = 16384, SHOWN_LINES = 3 };

/* Reads the beginning of the file. Returns NULL after a message. */
static unsigned char *read_text(const char *file, int64_t *length)
{
    FILE *in = fopen(file, "rb");
    unsigned char *byte = in ? malloc(MOST_BYTES) : NULL;
    size_t got = byte ? fread(byte, 1, MOST_BYTES, in) : 0;
    const char *why = !byte || ferror(in) ? strerror(errno)
                      : got < LEAST_BYTES ? "it is too short to predict anything"
                                          : NULL;
    if (in) fclose(in);
    *length = (int64_t)got;
    if (!why) return byte;
    fprintf(stderr, "predict: error: '%s': %s\n", file, why);
    free(byte);
    return NULL;
}

int predict(int argc, char **argv, const struct predictor *predictor, int count)
{
    if (argc != 2) {
        fprintf(stderr, "usage: predict FILE\n");
        return 2;
    }
    struct text_vectors t = {0};
    unsigned char *byte = read_text(argv[1], &t.length),
                  *guess[2] = {NULL, NULL}; /* the guesses of the first predictor, and of the current one */
    if (!byte) return 1;
    t.byte = byte;
    float *out = malloc(sizeof *out * HEAD_DIM * (size_t)t.length);
    guess[0] = malloc((size_t)t.length);
    guess[1] = malloc((size_t)t.length);
    int status = 3;
    if (!out || !guess[0] || !guess[1] || !text_embed(&t)) {
        fprintf(stderr, "predict: error: out of memory\n");
        goto done;
    }
    printf("%-24s %5.1f%% of the bytes\n", "the most frequent byte", 100 * text_commonest(&t));
    for (int k = 0; k < count; k++) {
        /* Row r is the query of position r + 1, and sees keys 0 to r. So position i sees only positions before i. */
        const struct predictor *p = &predictor[k];
        const int error = p->attend(p->kernel, t.length - 1, t.context + HEAD_DIM, t.context, t.value, out);
        if (error) {
            fprintf(stderr, "predict: error: %s returned %d\n", p->name, error);
            goto done;
        }
        text_predict(&t, out, guess[k > 0]);
        printf("%-24s %5.1f%%\n", p->name, 100 * text_accuracy(&t, guess[k > 0]));
    }
    putchar('\n');
    text_show(&t, guess[0], SHOWN_LINES, false, stdout);
    status = fflush(stdout) == 0 && !ferror(stdout) ? 0 : 3;
    if (status) fprintf(stderr, "predict: error: cannot write: %s\n", strerror(errno));
done:
    text_release(&t);
    free(out);
    free(guess[0]);
    free(guess[1]);
    free(byte);
    return status;
}
