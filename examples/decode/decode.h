/* Continues a text byte by byte with a language model. Attention keeps a state, so earlier bytes are not processed
   again. */
#ifndef DECODE_H
#define DECODE_H

#include "../model/model.h"

enum { MOST_COPIES = 16 };

/* Several sequences. Each call of the kernel appends to all of them. */
struct stream {
    const struct model *model;
    struct attn_problem problem; /* `batch` is the number of sequences */
    struct layers layers;
    int64_t rows, copies; /* `rows` is the maximum number of rows of a call. `copies` is the number of sequences. */
    void *state, *workspace;
    struct window *window; /* one window per row */
    /* For each sequence: the last bytes in the state, and the next byte after them. */
    struct window last[MOST_COPIES];
    unsigned char next[MOST_COPIES];
    /* For stream_anew: all bytes so far. */
    unsigned char *seen;
    int64_t length;
};

/* Opens `copies` empty sequences with room for `capacity` tokens each. `rows` is the maximum number of rows of a
 * call. Returns 0 or an attn_error. Call stream_close in either case. */
int stream_open(struct stream *s, const struct model *m, int64_t copies, int64_t capacity, int64_t rows, int threads);
void stream_close(struct stream *s);
/* Appends n bytes to the first sequence, in calls of up to `rows` bytes. layers.scores [256] gets the scores of the
   next byte. */
int stream_read(struct stream *s, const unsigned char *byte, int64_t n);
/* Copies the first sequence to all others. */
int stream_fork(struct stream *s);
/* Appends one byte to each sequence. layers.scores [copies, 256] gets the scores of the next bytes. */
int stream_step(struct stream *s, const unsigned char *byte);
int64_t stream_length(const struct stream *s, int64_t sequence);

/* Appends n bytes to the only sequence without using its state, to compare speeds. Calls forward for all bytes so
 * far. */
int stream_anew(struct stream *s, const unsigned char *byte, int64_t n);

/* The header of a file with a state. */
struct saved {
    char magic[8];
    uint32_t format, byte_order;
    char kernel[64];
    uint64_t model; /* a hash of the model's weights */
    int64_t copies, capacity, bytes;
    struct window last[MOST_COPIES];
    unsigned char next[MOST_COPIES];
    uint64_t hash; /* a hash of the members above and of the state */
};
/* stream_save and saved_read return false after a message. */
bool stream_save(const struct stream *s, const char *path);
/* Reads the header of a file. */
bool saved_read(struct saved *h, const char *path);
/* Loads the state from a file. `s` must have the file's number of copies and capacity. */
bool stream_load(struct stream *s, const char *path);

#endif
