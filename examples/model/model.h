/* A small language model of bytes in plain C. Layers: an embedding of the last three bytes, attention by a kernel of
   attnc, a layer with ReLU, and scores for the 256 next bytes. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <attnrt.h>

/* ---- products of row-major matrices (dense.c) ---- */

/* c [n, m] = a [n, k] * b [k, m]. If `adds`, the product is added to c. */
void dense_product(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, bool adds, int threads);
/* c [k, m] = transpose(a) * b, with a [n, k] and b [n, m]. */
void dense_weight_gradient(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int threads);
/* to [columns, rows] is the transpose of from [rows, columns]. */
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

/* The input of the model at one position: its byte and the bytes before it. Bytes before the text are 0. */
struct window {
    unsigned char byte[MODEL_BYTES];
};
/* Returns the window of the next position, whose byte is `byte`. */
struct window window_after(struct window before, unsigned char byte);
/* Sets to[0 … n) to the windows of n bytes after the window `before`. Returns the last window. */
struct window windows_of(struct window *to, const unsigned char *byte, int64_t n, struct window before);

struct model {
    const struct attn_kernel *kernel;
    uint64_t seed; /* the seed of the kernel's random parameters */
    char text[64]; /* the name of the training file */
    void *params, *storage;
    float *weight; /* all matrices [rows, columns], in the order of enum model_weight */
};
int64_t model_rows(enum model_weight w);
int64_t model_columns(enum model_weight w);
/* Returns the index in `weight` at which a matrix begins. For MODEL_WEIGHTS, this is the number of all elements. */
int64_t model_offset(enum model_weight w);

/* Makes a model with random weights. Returns 0 or an attn_error. Call model_close in either case. */
int model_open(struct model *m, const struct attn_kernel *kernel, uint64_t seed);
void model_close(struct model *m);
/* Sets m->text to the name of the file without its folder. */
void model_trained_on(struct model *m, const char *file);
/* Return the strides of attention's arrays for sequences of `rows` rows.
 * - model_side_by_side: of q, k and v, which are columns of `qkv`.
 * - model_attended: of `attended`. */
struct attn_strides model_side_by_side(int64_t rows);
struct attn_strides model_attended(int64_t rows);

/* The activations: matrices with a row per position. */
struct layers {
    float *x, *qkv, *attended, *h, *up, *y, *scores;
    int threads;
};
/* Allocates matrices of `rows` rows, and `scores` with `scored` rows. Returns false if out of memory. */
bool layers_open(struct layers *l, int64_t rows, int64_t scored, int threads);
void layers_close(struct layers *l);
/* Computes the layers before attention. */
void layers_before(const struct model *m, struct layers *l, const struct window *window, int64_t rows);
/* Computes the layers after attention. Only the last `scored` rows have scores. */
void layers_after(const struct model *m, struct layers *l, int64_t rows, int64_t scored);

/* ---- training (learn.c) ---- */

/* Training ends after `steps` steps, or if `steps` is 0, after `seconds`. */
struct learn_limit {
    int64_t steps;
    double seconds;
};

struct learned {
    int64_t steps;
    double seconds, bits[2], accuracy[2]; /* Elements [0] are from before training, and [1] from after it. They are
                                           * of the last quarter of the text, which training does not use. `bits` is
                                           * the mean loss per byte. */
    unsigned char *guess[2]; /* The predicted bytes [length] of the last quarter of the text, or NULL. guess[0] is
                              * from before training, guess[1] from after it. */
};

/* This function is called after each step of training. */
typedef void learn_progress(int64_t step, double seconds, double bits);

/* Trains a model with Adam on the first three quarters of a text. Returns 0 or an attn_error. */
int learn(struct model *m, const unsigned char *byte, int64_t length, struct learn_limit limit, int threads,
          learn_progress *progress, struct learned *result);

/* ---- files (file.c) ---- */

extern const char *const program; /* the name of the program, which each program defines */

/* Writes a file with `head` and then `body`. If that fails, prints a message and leaves an existing file unchanged. */
bool file_write(const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes);
/* Reads up to `most` bytes of a file, which the caller frees. Returns NULL after a message. */
unsigned char *file_read(const char *path, int64_t most, int64_t *bytes);
/* Returns a hash of `head` and then `body` (FNV-1a, 64 bits). */
uint64_t file_hash(const void *head, size_t head_bytes, const void *body, size_t body_bytes);

/* The kinds of models differ in their kernel: "softmax" and "polysketch". */
enum { MODEL_KINDS = 2 };
struct model_kind {
    const char *name;
    const struct attn_kernel *kernel;
};
extern const struct model_kind model_kinds[MODEL_KINDS];

/* Writes the name of a model's file to `path`. Returns false if `path` is too small. */
bool model_path(char *path, size_t size, const char *folder, const struct model_kind *kind);
bool model_save(const struct model *m, const char *path);
/* Loads a model with this kernel. Call model_close in either case. */
bool model_load(struct model *m, const struct attn_kernel *kernel, const char *path);

/* ---- the command line (options.c) ---- */

/* Reads an integer. Returns false if `text` is not an integer or is out of range. */
bool read_number(const char *text, int64_t least, int64_t most, int64_t *value);
enum { MOST_TRAINING = 100000 };
/* Reads a number of steps, such as "100", or of seconds, such as "25s". Returns false if `text` is neither. */
bool read_limit(const char *text, struct learn_limit *limit);

#endif
