/* A language model whose attention keeps a state continues a text byte by byte. */
#ifndef DECODE_H
#define DECODE_H

#include "../model/model.h"

enum { MOST_COPIES = 16 };

/* Sequences that a model continues in the same calls. */
struct stream {
    const struct model *model;
    struct attn_problem problem; /* batch: the number of sequences */
    struct layers layers;
    int64_t rows, copies; /* the maximum number of rows of a call */
    void *state, *workspace;
    struct window *window; /* [rows] */
    /* The last bytes of each sequence that the state has seen, and the next byte: chosen or read from a file, but not
       yet in the state. */
    struct window last[MOST_COPIES];
    unsigned char next[MOST_COPIES];
    /* The bytes so far, if there is no state (stream_anew). */
    unsigned char *seen;
    int64_t length;
};

/* Opens empty sequences. A state that grows has room for `capacity` tokens of each. Returns 0 or an attn_error; the
   caller calls stream_close in either case. */
int stream_open(struct stream *s, const struct model *m, int64_t copies, int64_t capacity, int64_t rows, int threads);
void stream_close(struct stream *s);
/* Appends n bytes to the first sequence, in one call if it has enough rows. The scores of the next byte are in
   layers.scores. */
int stream_read(struct stream *s, const unsigned char *byte, int64_t n);
/* Makes all sequences copies of the first one. */
int stream_fork(struct stream *s);
/* Appends one byte to each sequence; the scores of the next bytes are in layers.scores, [copies, 256]. */
int stream_step(struct stream *s, const unsigned char *byte);
int64_t stream_length(const struct stream *s, int64_t sequence);

/* Appends n bytes to one sequence without a state: every call computes forward for all bytes so far. */
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
/* These two report their failures. */
bool stream_save(const struct stream *s, const char *path);
/* Reads the header of a file: the model, and the size of its state. */
bool saved_read(struct saved *h, const char *path);
/* Loads the state into a stream that was opened with the copies and the capacity of the file. */
bool stream_load(struct stream *s, const char *path);

#endif
