/* A text continued byte by byte, by a language model whose attention keeps a state. */
#ifndef DECODE_H
#define DECODE_H

#include "../model/model.h"

enum { MOST_COPIES = 16 };

/* Sequences that a model continues side by side. */
struct stream {
    const struct model *model;
    struct attn_problem problem; /* batch: the sequences */
    struct layers layers;
    int64_t rows, copies; /* the most rows that one call has room for */
    void *state, *workspace;
    struct window *window; /* [rows] */
    /* Of each sequence, the last bytes that the state has seen, and the one that comes next: chosen, or read from a
       file, and not yet in the state. */
    struct window last[MOST_COPIES];
    unsigned char next[MOST_COPIES];
    /* Where there is no state (stream_anew): the bytes so far. */
    unsigned char *seen;
    int64_t length;
};

/* Empty sequences; a kernel whose state grows has room for `capacity` tokens of each. 0 or an attn_error; stream_close
   gives back what there is in either case. */
int stream_open(struct stream *s, const struct model *m, int64_t copies, int64_t capacity, int64_t rows, int threads);
void stream_close(struct stream *s);
/* n bytes more of the first sequence, in one call where there is room for as many rows. Its scores of what comes next
   are in layers.scores. */
int stream_read(struct stream *s, const unsigned char *byte, int64_t n);
/* All sequences become as the first one. */
int stream_fork(struct stream *s);
/* One byte more of each sequence; the scores of what comes next are in layers.scores, [copies, 256]. */
int stream_step(struct stream *s, const unsigned char *byte);
int64_t stream_length(const struct stream *s, int64_t sequence);

/* The same without a state, of one sequence: every call does forward of all bytes so far. */
int stream_anew(struct stream *s, const unsigned char *byte, int64_t n);

/* What a file says of the state in it. */
struct saved {
    char magic[8];
    uint32_t format, byte_order;
    char kernel[64];
    uint64_t model; /* a hash of its weights */
    int64_t copies, capacity, bytes;
    struct window last[MOST_COPIES];
    unsigned char next[MOST_COPIES];
    uint64_t hash; /* of what is before it, and of the state */
};
/* What fails has been reported. */
bool stream_save(const struct stream *s, const char *path);
/* The beginning of a file: which model and how much room its state needs. */
bool saved_read(struct saved *h, const char *path);
/* Into a stream that was opened with the copies and the capacity that the file says. */
bool stream_load(struct stream *s, const char *path);

#endif
