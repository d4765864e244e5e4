/* Keys that travel from rank to rank, and calls of the kernel for some of them, in forward and backward. */
#ifndef ATTNRT_RING_H
#define ATTNRT_RING_H

#include "route.h"

/* A row of a message has the elements of all heads and sequences for one key: keys, values, rows of parameters, and
   sums of a decay. */
struct layout {
    size_t keys, values, params, decay, bytes; /* offsets, and the bytes of a row */
};
struct ring_sizes {
    size_t params, lists, starts, buffer, out, statistics, had_sink, decay, kernel;
};
/* A piece of the run of rank `source`, in a buffer. */
struct piece {
    int source;
    struct rows rows;
    unsigned char *at;
};
enum { RING_BUFFERS = 2 };
/* The sums of a decay's logarithm (decay.c). A row has `numbers` numbers in `row` bytes, those of a token, which are
   [B,H,decay_terms]. Without a decay, all is 0. */
struct decay {
    size_t row;
    int64_t numbers;
    double *before;      /* a row for each of the rank's keys: the sums over all tokens before it. And one row more */
    double *queries;     /* a row for each of the rank's queries: the sums up to its position */
    double *call;        /* an array of a call of the kernel */
    double *edge;        /* a row */
    const double *first; /* the sums before the first key of the current call */
    /* for gradients with respect to sums */
    bool gives;                   /* some are wanted */
    double *of_queries, *of_keys; /* rows for the rank's queries and keys */
    double *keys;                 /* an array of a call of the kernel */
    double *of_piece, *received;  /* rows for a piece of other keys that this rank has, and for a received piece */
};

/* A call on one rank. */
struct ring {
    const struct ranks_call *call;
    struct routes routes;
    struct layout layout;
    struct ring_sizes sizes;
    struct attn_problem own;                      /* with statistics */
    unsigned char *params, *buffer[RING_BUFFERS]; /* params: of the current call of the kernel */
    unsigned char *out, *statistics;              /* results for a piece */
    int32_t *lists;                               /* of blocks of keys, for the current call (listed.c) */
    int64_t *starts;                              /* query_start of the current call */
    unsigned char *work;
    struct decay decay;
    unsigned char *had_sink; /* for each query of a rank without keys: whether a call for it has had the sink */
    int error;
    /* compute: computes with the keys `rows` of rank `source`, in a message. hop_done: NULL, or what all ranks do after
       each hop. */
    int (*compute)(struct ring *x, int source, struct rows rows, const unsigned char *message);
    void (*hop_done)(struct ring *x, int source, int step, int hop, int64_t number);
    void *more; /* for these functions */
};

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

/* ---- listed.c ---- */

size_t lists_bytes(const struct attn_kernel *kernel, const struct attn_problem *p);
/* Makes x->params read lists for the queries of a call, from number `first` on, and for keys from position `key` on. */
void lists_place(struct ring *x, const struct attn_problem *p, int64_t first, int64_t key);

/* ---- decay.c ---- */

size_t decay_row(const struct attn_kernel *kernel, const struct attn_problem *p); /* bytes, or 0 without a decay */
/* Return the bytes of the sums, and of the kernel's workspace for them. */
size_t decay_bytes(const struct attn_kernel *kernel, const struct attn_problem *p, bool backward);
size_t decay_workspace(const struct attn_kernel *kernel, const struct attn_problem *p);
/* Sets the arrays of x->decay, which have decay_bytes() bytes, and clears them. */
void decay_place(struct ring *x, unsigned char *at, bool backward);
void decay_make(struct ring *x); /* makes the sums, on all ranks together */
/* Writes the sums before the rank's keys `rows`. */
void decay_pack(const struct ring *x, unsigned char *to, size_t row_bytes, struct rows rows);
/* Sets p->query_decay for queries from number `first` on, and keys from position `key` on. */
void decay_place_queries(struct ring *x, struct attn_problem *p, int64_t first, int64_t key);
bool decay_reads(const struct attn_kernel *kernel, int param); /* whether only the decay reads a parameter */
bool decay_gradients_wanted(const struct ranks_call *call);
/* Lets a call of backward write the gradients with respect to sums, and adds them: those of the rank's own keys, or of
   a piece. decay_add_received adds those of the rank's keys that another rank had. */
void decay_take_gradients(struct ring *x, struct attn_problem *p);
void decay_add_gradients(struct ring *x, const struct attn_problem *p, int64_t first, bool own);
void decay_add_received(struct ring *x, struct rows rows);
/* Computes the gradients of parameters that the decay reads, on all ranks together. `gradients` has room for the
   pointers of a struct NAME_gradients. */
int decay_finish(struct ring *x, void **gradients);

/* ---- ring_gradients.c ---- */

/* Gradients of parameters. */
struct ring_gradients {
    size_t call_bytes, rows_bytes, pointers_bytes;
    unsigned char *call;            /* those of a call of the kernel, each on whole cache lines */
    void **pointers;                /* struct NAME_gradients of a call */
    unsigned char *rows, *received; /* rows of a piece of other keys that this rank has, and of a received piece */
};
struct ring_gradients ring_gradients_of(const struct attn_kernel *kernel, const struct attn_problem *own);
size_t ring_gradients_bytes(const struct ring_gradients *x); /* of the workspace */
void ring_gradients_place(struct ring_gradients *x, unsigned char *at);
/* Sets the pointers of a call for the rank's own keys, or for a piece, and returns them. */
void **ring_gradients_point(const struct ring *x, const struct ring_gradients *g, bool own_keys);
/* Sets the rank's own gradients to 0: all, or those that have an element for each query and key. */
void ring_gradients_clear(const struct ring *x, bool pairs_only);
/* Adds the gradients of a call, whose first key is at position `key`. */
void ring_gradients_add(const struct ring *x, const struct ring_gradients *g, const struct attn_problem *call,
                        int64_t first_query, int64_t key, bool own_keys);
/* Returns the bytes of the rows for this number of keys that go back to the rank that has the keys. */
size_t ring_gradients_sent(const struct ring *x, int64_t keys);
/* Adds the rows that another rank had. */
void ring_gradients_add_received(const struct ring *x, const struct ring_gradients *g, struct rows received);

/* ---- ring_backward.c ---- */

void ring_add_elements(void *to, const void *from, int64_t n, enum attn_dtype dtype);

/* ---- ring.c ---- */

/* Sends all pieces to the ranks whose queries see them, and calls `compute` there. */
void ring_travel(struct ring *x);

#endif
