/* Continues a text byte by byte with a language model. The model's attention keeps a state, so a new byte does not have
   to process the earlier ones again. */
#ifndef DECODE_H
#define DECODE_H

#include "../model/model.h"

enum { MOST_COPIES = 16 };

/* Several sequences that a model continues together: each call of the kernel appends to all of them. */
struct stream {
    const struct model *model;
    struct attn_problem problem; /* batch: the number of sequences */
    struct layers layers;
    int64_t rows, copies; /* rows: the maximum number of rows of a call. copies: the number of sequences */
    void *state, *workspace;
    struct window *window; /* [rows] */
    /* For each sequence: the last bytes in the state; and the next byte, which is not yet in the state. */
    struct window last[MOST_COPIES];
    unsigned char next[MOST_COPIES];
    /* For stream_anew, which uses no state: all bytes so far. */
    unsigned char *seen;
    int64_t length;
};

/* Opens `copies` empty sequences. A state that stores keys and values has room for `capacity` tokens of each sequence.
   `rows`: the maximum number of rows of a call. Returns 0 or an attn_error; the caller calls stream_close in either
   case. */
int stream_open(struct stream *s, const struct model *m, int64_t copies, int64_t capacity, int64_t rows, int threads);
void stream_close(struct stream *s);
/* Appends n bytes to the first sequence, in calls of up to `rows` bytes. The scores of the next byte are then in
   layers.scores [256]. */
int stream_read(struct stream *s, const unsigned char *byte, int64_t n);
/* Copies the first sequence to all others. */
int stream_fork(struct stream *s);
/* Appends one byte to each sequence. The scores of the next bytes are then in layers.scores [copies, 256]. */
int stream_step(struct stream *s, const unsigned char *byte);
int64_t stream_length(const struct stream *s, int64_t sequence);

/* Appends n bytes to the only sequence without using a state: calls forward for all bytes so far. For comparison. */
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
    uint64_t hash; /* a hash of the members before it and of the state */
};
/* stream_save and saved_read print a message and return false if they fail. */
bool stream_save(const struct stream *s, const char *path);
/* Reads the header of a file, which names the kernel and the size of its state. */
bool saved_read(struct saved *h, const char *path);
/* Loads the state into a stream that was opened with the copies and the capacity of the file. */
bool stream_load(struct stream *s, const char *path);

#endif
