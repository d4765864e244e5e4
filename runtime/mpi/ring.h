/* Keys that travel from rank to rank, and calls of the kernel for some of them, in forward and backward. */
#ifndef ATTNRT_RING_H
#define ATTNRT_RING_H

#include "route.h"

/* A row of a message has the elements of all heads and sequences for one key: keys, values, rows of parameters, and
   sums of a decay. */
struct layout {
    size_t keys, values, params, decay, bytes; /* offsets, and the bytes of a row */
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
    struct attn_problem own;                      /* with statistics */
    unsigned char *params, *buffer[RING_BUFFERS]; /* params: of the current call of the kernel */
    int32_t *lists;                               /* of blocks of keys, for the current call (listed.c) */
    int64_t *starts;                              /* query_start of the current call */
    struct decay decay;
    unsigned char *had_sink; /* for each query of a rank without keys: whether a call for it has had the sink */
    unsigned char *work;
    size_t work_bytes;
    int error;
    /* ring_travel calls these on each rank.
       - clear: NULL, or what is done before the calls for a piece of n_k keys of another rank
       - compute: computes for such keys and the queries from number `first` on. `p` has their numbers, and all members
         that do not depend on what is computed. `begins` is true for the first call for a piece
       - hop_done: NULL, or what all ranks do after each hop */
    void (*clear)(struct ring *x, int64_t n_k);
    int (*compute)(struct ring *x, struct attn_problem *p, int64_t first, bool begins, const unsigned char *message);
    void (*hop_done)(struct ring *x, int source, int step, int hop, int64_t number);
    void *more; /* for these functions */
};

/* ---- ring.c ---- */

bool ring_serves(const struct ranks_call *call);
int ring_check(const struct ranks_call *call);
/* Makes x->routes. Returns an error that is equal on all ranks. */
int ring_make_routes(struct ring *x);
void ring_note(struct ring *x, int error);
size_t ring_statistics_size(const struct attn_kernel *kernel);
/* Returns the number of heads of keys. */
int64_t ring_heads_of_keys(const struct attn_problem *p);
/* Returns batch * heads * n_q. */
size_t ring_rows(const struct attn_problem *p);
/* Sets x->params to the parameters of queries from `first_query` on. first_key: the position of the first key */
void ring_set_params(struct ring *x, int64_t first_query, int64_t first_key);

/* ---- ring_keys.c ---- */

/* Sets the memory that forward and backward have in common. */
void ring_place(struct ring *x, struct memory *m);
/* Returns the problem of a call of the kernel for the rank's own tokens, and sets *error. */
struct attn_problem ring_own_call(struct ring *x, int *error);
/* Sends all pieces to the ranks whose queries see them, and calls the functions of `x` there. */
void ring_travel(struct ring *x);

/* ---- listed.c ---- */

size_t lists_bytes(const struct attn_kernel *kernel, const struct attn_problem *p);
/* Makes x->params read lists for the queries of a call, from number `first` on, and for keys from position `key` on. */
void lists_place(struct ring *x, const struct attn_problem *p, int64_t first, int64_t key);

/* ---- decay.c ---- */

size_t decay_row(const struct attn_kernel *kernel, const struct attn_problem *p); /* bytes, or 0 without a decay */
size_t decay_workspace(const struct attn_kernel *kernel, const struct attn_problem *p); /* of the kernel, for sums */
void decay_place(struct ring *x, struct memory *m); /* sets the arrays of x->decay, and clears them */
void decay_make(struct ring *x);                    /* makes the sums, on all ranks together */
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
    size_t rows_bytes;
    unsigned char *call;            /* those of a call of the kernel, each on whole cache lines */
    void **pointers;                /* struct NAME_gradients of a call */
    unsigned char *rows, *received; /* rows of a piece of other keys that this rank has, and of a received piece */
};
void ring_gradients_place(struct ring_gradients *g, const struct ring *x, struct memory *m);
/* Sets the pointers of a call for the rank's own keys, or for a piece, and returns them. */
void **ring_gradients_point(const struct ring *x, const struct ring_gradients *g, bool own_keys);
/* Sets the rank's own gradients to 0: all, or those that have an element for each query and key. */
void ring_gradients_clear(const struct ring *x, bool pairs_only);
/* Adds the gradients of a call, whose first key is at position call->first_key. */
void ring_gradients_add(const struct ring *x, const struct ring_gradients *g, const struct attn_problem *call,
                        int64_t first_query, bool own_keys);
/* Returns the bytes of the rows for this number of keys that go back to the rank that has the keys. */
size_t ring_gradients_sent(const struct ring *x, int64_t keys);
/* Adds the rows that another rank had. */
void ring_gradients_add_received(const struct ring *x, const struct ring_gradients *g, struct rows received);

#endif
