/* A small language model of bytes in plain C whose attention is made by attnc: an embedding of the last three bytes,
   attention, a rectified layer, a readout. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <attnrt.h>

/* ---- products of matrices, row by row (dense.c) ---- */

/* c [n, m] = or += a [n, k] b [k, m]. */
void dense_product(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, bool adds, int threads);
/* c [k, m] = or += transposed a [n, k] times b [n, m]. */
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

/* The input of a row: the byte at its position and those before it; 0 before the text begins. */
struct window {
    unsigned char byte[MODEL_BYTES];
};
/* The window after the byte is appended. */
struct window window_after(struct window before, unsigned char byte);
/* The windows of n bytes; returns the last one. */
struct window windows_of(struct window *to, const unsigned char *byte, int64_t n, struct window before);

struct model {
    const struct attn_kernel *kernel;
    uint64_t seed; /* of the kernel's random parameters */
    char text[64]; /* the name of the file that it was trained on */
    void *params, *storage;
    float *weight; /* the matrices [rows, columns], one after the other */
};
int64_t model_rows(enum model_weight w);
int64_t model_columns(enum model_weight w);
/* The offset of a weight; for MODEL_WEIGHTS, the number of all elements. */
int64_t model_offset(enum model_weight w);

/* Makes a model with random weights. Returns 0 or an attn_error; the caller calls model_close in either case. */
int model_open(struct model *m, const struct attn_kernel *kernel, uint64_t seed);
void model_close(struct model *m);
/* Stores the name of the file, without its folder. */
void model_trained_on(struct model *m, const char *file);
/* Strides for sequences of `rows` rows: of q, k and v, which share the rows of `qkv`, and of `attended`, the output of
   attention. */
struct attn_strides model_side_by_side(int64_t rows);
struct attn_strides model_attended(int64_t rows);

/* The activations of rows, [rows, …]. */
struct layers {
    float *x, *qkv, *attended, *h, *up, *y, *scores;
    int threads;
};
/* Allocates that many rows, and `scored` rows of scores; false if out of memory. */
bool layers_open(struct layers *l, int64_t rows, int64_t scored, int threads);
void layers_close(struct layers *l);
/* From windows to `qkv`. */
void layers_before(const struct model *m, struct layers *l, const struct window *window, int64_t rows);
/* From `attended` to the scores of the next byte, those of the last `scored` rows. */
void layers_after(const struct model *m, struct layers *l, int64_t rows, int64_t scored);

/* ---- training (learn.c) ---- */

/* Training ends after `steps`, or if they are 0 after `seconds`. */
struct learn_limit {
    int64_t steps;
    double seconds;
};

struct learned {
    int64_t steps;
    double seconds, bits[2], accuracy[2]; /* before and after training, on the last quarter of the text, which is not
                                             trained on */
    unsigned char *guess[2]; /* [length]: the predicted bytes before and after, in the last quarter; NULL: not
                                requested */
};

/* Called after a step. */
typedef void learn_progress(int64_t step, double seconds, double bits);

/* Trains a model on the first three quarters of a text with Adam. Returns 0 or an attn_error. */
int learn(struct model *m, const unsigned char *byte, int64_t length, struct learn_limit limit, int threads,
          learn_progress *progress, struct learned *result);

/* ---- files (file.c); failures are reported with the name of the program ---- */

extern const char *const program;

/* Writes `head` and then `body`, completely or not at all. */
bool file_write(const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes);
/* Reads the first bytes of a file, up to `most`; the caller frees them. NULL after a failure. */
unsigned char *file_read(const char *path, int64_t most, int64_t *bytes);
/* A hash of `head` and then `body` (FNV-1a, 64 bits). */
uint64_t file_hash(const void *head, size_t head_bytes, const void *body, size_t body_bytes);

/* The kernels by name: "softmax" and "polysketch". */
enum { MODEL_KINDS = 2 };
struct model_kind {
    const char *name;
    const struct attn_kernel *kernel;
};
extern const struct model_kind model_kinds[MODEL_KINDS];

/* The file of a kind of model in a folder; false if `path` is too small. */
bool model_path(char *path, size_t size, const char *folder, const struct model_kind *kind);
bool model_save(const struct model *m, const char *path);
/* Loads a model with that kernel from a file; the caller calls model_close in either case. */
bool model_load(struct model *m, const struct attn_kernel *kernel, const char *path);

/* ---- the command line (options.c) ---- */

/* Reads an integer; false if `text` is not one or it is out of range. */
bool read_number(const char *text, int64_t least, int64_t most, int64_t *value);
/* The maximum of N steps, or of Ns for N seconds. */
enum { MOST_TRAINING = 100000 };
bool read_limit(const char *text, struct learn_limit *limit);

#endif
