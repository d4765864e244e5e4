/* A small language model of bytes in plain C, of which attnc makes the attention: an embedding of the last three bytes,
   attention, a layer of rectified units, a readout. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <attnrt.h>

/* ---- products of matrices, row by row (dense.c) ---- */

/* c [n, m] = or += a [n, k] b [k, m]. */
void dense_product(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, bool adds, int threads);
/* c [k, m] = the transposed a [n, k], times b [n, m]. */
void dense_weight_gradient(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int threads);
/* to [columns, rows] */
void dense_transpose(float *to, const float *from, int64_t rows, int64_t columns);

/* ---- the model (model.c) ---- */

enum {
    MODEL_HEADS = 2,
    MODEL_HEAD = 32,
    MODEL_WIDTH = MODEL_HEADS * MODEL_HEAD,
    MODEL_UNITS = 2 * MODEL_WIDTH,
    MODEL_SYMBOLS = 256,
    MODEL_BYTES = 3
};
enum model_weight { MODEL_EMBED, MODEL_QKV, MODEL_OUT, MODEL_UP, MODEL_DOWN, MODEL_READ, MODEL_WEIGHTS };

/* What a row is made from: the byte there, and those before it; 0 before the text begins. */
struct window {
    unsigned char byte[MODEL_BYTES];
};
/* The window of a byte that comes after one. */
struct window window_after(struct window before, unsigned char byte);
/* The windows of n bytes; returns the last. */
struct window windows_of(struct window *to, const unsigned char *byte, int64_t n, struct window before);

struct model {
    const struct attn_kernel *kernel;
    uint64_t seed; /* of the kernel's random parameters */
    char text[64]; /* the name of the file that it was trained on */
    void *params, *storage;
    float *weight; /* each [rows, columns], one after the other */
};
int64_t model_rows(enum model_weight w);
int64_t model_columns(enum model_weight w);
/* Where a weight begins; of MODEL_WEIGHTS: how many numbers there are. */
int64_t model_offset(enum model_weight w);

/* Random weights. 0 or an attn_error; model_close gives back what there is in either case. */
int model_open(struct model *m, const struct attn_kernel *kernel, uint64_t seed);
void model_close(struct model *m);
/* Keeps the name of the file, without its folder. */
void model_trained_on(struct model *m, const char *file);
/* The strides of q, k and v, which lie side by side in a row of `qkv`, and of what attention makes, in one of
   `attended`; of a sequence of `rows` rows. */
struct attn_strides model_side_by_side(int64_t rows);
struct attn_strides model_attended(int64_t rows);

/* Rows on their way through the layers, [rows, …]. */
struct layers {
    float *x, *qkv, *attended, *h, *up, *y, *scores;
    int threads;
};
/* Room for so many rows, and for the scores of so many of them; false when memory runs out. */
bool layers_open(struct layers *l, int64_t rows, int64_t scored, int threads);
void layers_close(struct layers *l);
/* From windows to `qkv`. */
void layers_before(const struct model *m, struct layers *l, const struct window *window, int64_t rows);
/* From `attended` to the scores of the next byte, those of the last `scored` rows. */
void layers_after(const struct model *m, struct layers *l, int64_t rows, int64_t scored);

/* ---- training (learn.c) ---- */

/* What training is over after: steps where they are not 0, else seconds. */
struct learn_limit {
    int64_t steps;
    double seconds;
};

struct learned {
    int64_t steps;
    double seconds, bits[2], accuracy[2]; /* before and after: of the last quarter, which is not trained on */
    unsigned char *guess[2]; /* [length]: the bytes foreseen before and after, in the last quarter; NULL: not wanted */
};

/* Called after a step. */
typedef void learn_progress(int64_t step, double seconds, double bits);

/* Trains a model on the first three quarters of a text with Adam. 0 or an attn_error; ATTN_EMEMORY when memory runs
   out. */
int learn(struct model *m, const unsigned char *byte, int64_t length, struct learn_limit limit, int threads,
          learn_progress *progress, struct learned *result);

/* ---- files (file.c); what fails has been reported by the name of the program ---- */

extern const char *const program;

/* `head` and `body` one after the other, whole or not at all. */
bool file_write(const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes);
/* At most `most` bytes of the beginning of a file; free() gives them back. NULL after a failure. */
unsigned char *file_read(const char *path, int64_t most, int64_t *bytes);
/* A hash of two runs of bytes (FNV-1a, 64 bits). */
uint64_t file_hash(const void *head, size_t head_bytes, const void *body, size_t body_bytes);

/* The kernels by name: "softmax" and "polysketch". */
enum { MODEL_KINDS = 2 };
struct model_kind {
    const char *name;
    const struct attn_kernel *kernel;
};
extern const struct model_kind model_kinds[MODEL_KINDS];

/* The file of a kind of model in a folder; false where the name does not fit. */
bool model_path(char *path, size_t size, const char *folder, const struct model_kind *kind);
bool model_save(const struct model *m, const char *path);
/* The model that a file has, of that kernel; model_close gives back what there is in either case. */
bool model_load(struct model *m, const struct attn_kernel *kernel, const char *path);

/* ---- the command line (options.c) ---- */

/* A number, all of `text`; false if it is none or out of range. */
bool read_number(const char *text, int64_t least, int64_t most, int64_t *value);
/* N steps, or with an s after it N seconds, up to MOST_TRAINING. */
enum { MOST_TRAINING = 100000 };
bool read_limit(const char *text, struct learn_limit *limit);

#endif
