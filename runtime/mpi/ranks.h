/* For the files of this folder: messages of any length, agreement, and slices of a problem. */
#ifndef ATTNRT_RANKS_OWN_H
#define ATTNRT_RANKS_OWN_H

#include "attnrt_ranks.h"

#include <stdbool.h>

/* Tags of messages. */
enum {
    TAG_ERROR = 1,
    TAG_RUNS,
    TAG_STATE,
    TAG_SUM,
    TAG_KEYS,
    TAG_KEYS_DOWN,
    TAG_GRADIENTS,
    TAG_SUMS,
    TAG_SUMS_DOWN,
    TAG_TOTALS,
    TAG_DECAY,
    TAG_IDS,
    TAG_LISTED
};

/* ---- messages (message.c) ---- */

/* A message of any length, which is sent in parts. Zeroed: no message. */
struct message {
    unsigned char *data;
    size_t bytes, begun, ended; /* begun, ended: bytes of the parts that have begun and ended */
    int peer, tag;
    bool sends;
    int64_t request;
};
/* message_begin begins the first part, and message_end ends all parts. They return 0 or an error. A message whose
   beginning failed is not waited for. message_end may be called for no message. */
int message_begin(const struct attn_transport *t, struct message *message);
int message_end(const struct attn_transport *t, struct message *message);
struct message message_to(int rank, int tag, const void *data, size_t bytes);
struct message message_from(int rank, int tag, void *data, size_t bytes);
/* Sends or receives a message, and waits for it. */
int message_now(const struct attn_transport *t, struct message message);
/* Returns the error that counts: 0 if both are 0, otherwise the smaller number. */
int worse_error(int a, int b);
/* Returns the error that counts of all ranks, on all ranks. */
int agree(const struct attn_transport *t, int error);

/* Replaces the elements by their sums over all ranks, added in the order of the ranks. `work` has room for them. */
int sum_ranks(const struct attn_transport *t, void *data, int64_t count, enum attn_dtype dtype, void *work);

/* ---- all runs (runs.c) ---- */

/* One rank, as all ranks know it. */
struct run {
    int64_t n_q, n_k;
    uint64_t problem;       /* a hash of what must be equal on all ranks */
    int32_t min_id, max_id; /* of its queries, used by routes_make */
};
/* Gathers an array with an element of `bytes` bytes for each rank on all ranks. Each rank has set its own one. Returns
   an error of the transport. */
int gather(const struct attn_transport *t, int tag, void *all, size_t bytes);
/* Fills `run`, with an element for each rank. Returns an error of the transport, or ATTN_EPROBLEM if the ranks differ.
   Other ranks may return 0. `wanted` must be equal, too. */
int gather_runs(const struct attn_transport *t, const struct attn_kernel *kernel, const struct attn_problem *mine,
                uint64_t wanted, struct run *run);

/* ---- lists of blocks of keys (listed.c) ---- */

/* The units of keys that the lists of a rank's queries name. A unit is one block of keys, or as many as are needed to
   have no more than LISTED_UNITS units. */
enum { LISTED_UNITS = 1024 };
struct listed {
    uint64_t bits[LISTED_UNITS / 64];
};
/* Returns the bytes of an array with a struct listed for each rank, or 0 if lists do not tell all keys of a query. */
size_t listed_bytes(const struct attn_transport *t, const struct attn_kernel *kernel);
/* Returns the number of queries at whose multiples a call has to begin, because they share lists or elements. */
int64_t queries_of_block(const struct attn_kernel *kernel);

/* ---- slices of heads (slice.c) ---- */

struct arrays {
    const void *q, *k, *v;
    void *out;
};
/* Some key/value heads of one sequence, as a problem. */
struct slice {
    struct attn_problem problem;
    struct arrays arrays;
    void *params; /* NULL if the kernel has none */
};
/* How a problem is cut into slices. */
struct slicing {
    const struct attn_kernel *kernel;
    struct attn_problem whole;  /* with all strides */
    int64_t heads, of_sequence; /* heads: key/value heads of a slice, except a last one; of_sequence: slices */
    int64_t count;              /* slices of the whole problem */
};
/* Cuts a problem into about `wanted` slices. All ranks get equal slices. */
struct slicing slicing_of(const struct attn_kernel *kernel, const struct attn_problem *filled, int64_t wanted);
/* Returns the bytes for the parameters of a slice. */
size_t slice_params_bytes(const struct attn_kernel *kernel);
/* Makes slice number `n`. `memory` has slice_params_bytes bytes, and NULL makes no parameters. Returns 0 or an error.
 */
int slice_make(const struct slicing *s, int64_t n, const struct arrays *arrays, const void *params, void *memory,
               struct slice *slice);

/* Where a part of a problem begins.
   - keys: the keys of all ranks, which an array with an element for each query and key has; 0: only those of the
   problem
   - first_key: the first of these keys. If `keys` is 0, an array with an element for each key has that one, too */
struct part {
    int64_t sequence, first_kv_head, first_head, first_query, first_key, keys;
};
bool param_has_axis(const struct attn_param *p, int64_t axis);
/* Returns the number of queries that share an element along an axis, or 0 if the axis does not count queries. */
int64_t queries_of_element(int64_t extent);
bool param_has_queries(const struct attn_param *p); /* along any axis */
/* Returns the number of elements of a parameter. */
size_t param_elements(const struct attn_param *p, const struct attn_problem *problem);
/* Writes the parameters of a part to `to`, which has slice_params_bytes bytes. The sizes of arrays are those of
   `whole`. */
void part_of_params(const struct attn_kernel *kernel, const struct attn_problem *whole, const struct part *part,
                    const void *params, void *to);

/* ---- algorithms ---- */

/* A call on one rank. */
struct ranks_call {
    const struct attn_transport *transport;
    const struct attn_kernel *kernel;
    struct attn_problem problem; /* with all strides */
    const void *params;
    struct arrays arrays;
    unsigned char *workspace;
    struct run *run;
    struct listed *listed; /* has listed_bytes bytes; NULL if this is 0 */
    void *state;           /* for extend, otherwise NULL */
    /* for backward */
    const void *dout;
    void *dq, *dk, *dv, *gradients;
};
/* Sends states from rank to rank (chain.c). chain_workspace returns SIZE_MAX if the sizes are too large. */
bool chain_serves(const struct attn_kernel *kernel, const struct attn_problem *problem);
size_t chain_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                       const struct attn_problem *filled);
int chain_check(const struct attn_kernel *kernel, const struct attn_problem *problem);
int chain_forward(const struct ranks_call *call);
int chain_extend(const struct ranks_call *call);

/* The gradients of the same forms (chain_sums.c). chain_backward_workspace returns SIZE_MAX if the sizes are too
   large. */
bool chain_backward_serves(const struct attn_kernel *kernel);
size_t chain_backward_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                                const struct attn_problem *filled);
int chain_backward_check(const struct attn_kernel *kernel, const struct attn_problem *problem);
int chain_backward(const struct ranks_call *call);
/* The results of kernels with sums over earlier keys. */
bool chain_of_keys_serves(const struct attn_kernel *kernel);
size_t chain_of_keys_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                               const struct attn_problem *filled);
int chain_of_keys_forward(const struct ranks_call *call);

/* Sends sums over keys to the last rank, and those over all keys back (total.c). The workspace is SIZE_MAX if the sizes
   are too large. */
bool total_serves(const struct attn_kernel *kernel);
int total_check(const struct attn_kernel *kernel, const struct attn_problem *problem);
size_t total_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                       const struct attn_problem *filled);
size_t total_backward_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                                const struct attn_problem *filled);
int total_forward(const struct ranks_call *call);
int total_backward(const struct ranks_call *call);

/* Sends keys and values from rank to rank (ring.c). ring_check returns an error that one rank finds by itself. */
bool ring_serves(const struct attn_kernel *kernel);
/* Returns whether a parameter has a part for some of the queries and keys. */
bool ring_param_has_parts(const struct attn_param *p);
size_t ring_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                      const struct attn_problem *filled);
int ring_check(const struct attn_kernel *kernel, const struct attn_problem *problem);
/* Returns a hash of the arrays that must be equal on all ranks. */
uint64_t ring_hash(const struct ranks_call *call);
int ring_forward(const struct ranks_call *call);
/* The gradients of the same forms (ring_backward.c). */
size_t ring_backward_workspace(const struct attn_kernel *kernel, const struct attn_problem *filled);
int ring_backward_check(const struct attn_kernel *kernel, const struct attn_problem *problem);
int ring_backward(const struct ranks_call *call);

/* Gradients of parameters (gradients.c). gradient_bytes returns the bytes of a parameter's gradient. gradients_work
   returns the bytes of `work` for sum_gradients, which replaces the gradients of parameters without a row for each
   token by their sums over all ranks. */
size_t gradient_bytes(const struct attn_kernel *kernel, const struct attn_param *p, const struct attn_problem *problem);
size_t gradients_work(const struct ranks_call *call);
void clear_gradients(const struct ranks_call *call);
int sum_gradients(const struct ranks_call *call, void *work);

/* Returns whether keys or values of forward have another type than queries (`storage` of a spec). */
static inline bool kernel_stores(const struct attn_kernel *kernel)
{
    return kernel->key_dtype != kernel->dtype || kernel->value_dtype != kernel->dtype;
}

/* Returns the elements of a row, or its bytes if strides of the type count bytes. */
static inline int64_t row_units(enum attn_dtype dtype, int64_t elements)
{
    return attn_row_bytes(dtype, elements) / (int64_t)attn_dtype_size(dtype);
}

static inline bool param_is_lists(const struct attn_param *p)
{
    return p->limits == ATTN_LISTS || p->limits == ATTN_MORE_LISTS;
}

static inline size_t whole_lines(size_t bytes)
{
    return bytes > SIZE_MAX - 63 ? SIZE_MAX : (bytes + 63) / 64 * 64;
}

static inline size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline size_t bytes_plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static inline size_t bytes_times(size_t a, size_t b)
{
    return b && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

#endif
