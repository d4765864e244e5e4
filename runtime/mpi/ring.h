/* Keys that travel from rank to rank, and calls of the kernel for some of them, in forward and backward. */
#ifndef ATTNRT_RING_H
#define ATTNRT_RING_H

#include "route.h"

/* A row of a message has the elements of all heads and sequences for one key: keys, values, and rows of parameters. */
struct layout {
    size_t keys, values, params, bytes; /* offsets, and the bytes of a row */
};
struct ring_sizes {
    size_t params, starts, buffer, out, statistics, had_sink, kernel;
};
/* A piece of the run of rank `source`, in a buffer. */
struct piece {
    int source;
    struct rows rows;
    unsigned char *at;
};
enum { RING_BUFFERS = 2 };

/* A call on one rank. */
struct ring {
    const struct ranks_call *call;
    struct routes routes;
    struct layout layout;
    struct ring_sizes sizes;
    struct attn_problem own;                      /* with statistics */
    unsigned char *params, *buffer[RING_BUFFERS]; /* params: of the current call of the kernel */
    unsigned char *out, *statistics;              /* results for a piece */
    int64_t *starts;                              /* query_start of the current call */
    unsigned char *work;
    unsigned char *had_sink; /* for each query of a rank without keys: whether a call for it has had the sink */
    int error;
    /* compute: computes with the keys `rows` of rank `source`, in a message. hop_done: NULL, or what all ranks do after
       each hop. */
    int (*compute)(struct ring *x, int source, struct rows rows, const unsigned char *message);
    void (*hop_done)(struct ring *x, int source, int step, int hop, int64_t number);
    void *more; /* for these functions */
};

size_t ring_larger(size_t a, size_t b);
int64_t ring_heads_of_keys(const struct attn_problem *p);
struct layout ring_layout(const struct attn_kernel *kernel, const struct attn_problem *p);
size_t ring_statistics_size(const struct attn_kernel *kernel);
/* Returns batch * heads * n_q. */
size_t ring_rows(const struct attn_problem *p);
/* Sets x->params to the parameters of queries from `first_query` on. first_key: the position of the first key */
void ring_set_params(struct ring *x, int64_t first_query, int64_t first_key);
/* Sets the keys, values and parameters of a call for `rows` of rank `source`. */
void ring_use_message(struct ring *x, struct attn_problem *p, const unsigned char *message, int64_t first_query,
                      int64_t key);
/* Sets the position of the first query of a call, whose number is `first`, for keys from position `key` on. */
int ring_place_queries(struct ring *x, struct attn_problem *p, int64_t first, int64_t key);
/* Makes x->routes. Returns an error that is equal on all ranks. */
int ring_make_routes(struct ring *x);
size_t ring_sink_bytes(const struct attn_kernel *kernel, const struct attn_problem *p); /* the bytes of had_sink */
/* Divides the queries first … end - 1 of a call for keys of another rank, so that one call for each query has its sink:
   the call for the rank's own keys, if it has some. Returns the end of the first part, and sets its sink_mode. */
int64_t ring_part_of_queries(struct ring *x, int64_t first, int64_t end, int *sink_mode);
/* Limits the queries to those that see keys `rows` of a run that begins at position `begin`. */
void ring_limit_queries(const struct ring *x, int64_t begin, struct rows rows, int64_t *first, int64_t *end);
void ring_note(struct ring *x, int error);
/* Sends all pieces to the ranks whose queries see them, and calls `compute` there. */
void ring_travel(struct ring *x);

#endif
