/* For the files of this folder: messages of any length, agreement, and slices of a problem. */
#ifndef ATTNRT_RANKS_OWN_H
#define ATTNRT_RANKS_OWN_H

#include "attnrt_ranks.h"

#include <stdbool.h>
#include <string.h>

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

/* A message of any length, which is sent in pieces. Zeroed: no message. */
struct message {
    unsigned char *data;
    size_t bytes, begun, ended; /* begun, ended: bytes of the pieces that have begun and ended */
    int peer, tag;
    bool sends;
    int64_t request;
};
/* message_begin begins the first piece, and message_end ends all pieces. They return 0 or an error. A message whose
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

/* Adds n elements. */
void add_elements(void *to, const void *from, int64_t n, enum attn_dtype dtype);
/* Replaces the elements by their sums over all ranks, added in the order of the ranks. `work` has room for them. */
int sum_ranks(const struct attn_transport *t, void *data, int64_t count, enum attn_dtype dtype, void *work);

/* Slices of a problem that pass along a line of ranks. A rank receives a slice while it works on the slice before, and
   sends one meanwhile. After an error, slices are sent all the same, because other ranks wait for them.
   - from, to: the ranks, or -1
   - error: becomes the error that counts
   - place: returns where slice n is received, and sets *bytes. Slice n - 2 has been sent by then
   - work: works on slice n, and returns what is sent of it, which has as many bytes */
struct sweep {
    const struct attn_transport *transport;
    int from, to, tag;
    int64_t count;
    int *error;
    void *user;
    unsigned char *(*place)(void *user, int64_t n, size_t *bytes);
    const unsigned char *(*work)(void *user, int64_t n);
};
void sweep_slices(const struct sweep *s);

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

/* The units of keys that the lists of a rank's queries name (listed.c). A unit is one block of keys, or as many as are
   needed to have no more than LISTED_UNITS units. */
enum { LISTED_UNITS = 1024 };
struct listed {
    uint64_t bits[LISTED_UNITS / 64];
};
/* Returns the bytes of an array with a struct listed for each rank, or 0 if lists do not tell all keys of a query. */
size_t listed_bytes(const struct attn_transport *t, const struct attn_kernel *kernel);

/* ---- parameters (params.c) ---- */

bool param_has_axis(const struct attn_param *p, int64_t axis);
/* Returns the number of queries that share an element along an axis, or 0 if the axis does not count queries. */
int64_t queries_of_element(int64_t extent);
bool param_has_queries(const struct attn_param *p); /* along any axis */
/* Returns the number of queries at whose multiples a call has to begin, because they share lists or elements. */
int64_t queries_of_block(const struct attn_kernel *kernel);
/* Returns whether a parameter has integers for the keys of all ranks, which each rank has, such as `document`. Queries
   read them, too. */
bool param_is_of_all_keys(const struct attn_kernel *kernel, const struct attn_param *p);
/* Returns whether a call for some of the queries and keys can read its rows of a parameter where they are. */
bool param_divides(const struct attn_param *p);
/* Returns the number of elements of a parameter. */
size_t param_elements(const struct attn_param *p, const struct attn_problem *problem);

/* Where some rows and heads of a problem begin.
   - keys: the keys of all ranks, which an array with an element for each query and key has; 0: only those of the
   problem
   - first_key: the first of these keys. If `keys` is 0, an array with an element for each key has that one, too */
struct origin {
    int64_t sequence, first_kv_head, first_head, first_query, first_key, keys;
};
/* Writes the parameters from an origin on to `to`, which has params_bytes() bytes. The sizes of arrays are those of
 * `whole`. */
void params_from(const struct attn_kernel *kernel, const struct attn_problem *whole, const struct origin *origin,
                 const void *params, void *to);
size_t params_bytes(const struct attn_kernel *kernel);

/* ---- slices of heads (slice.c) ---- */

struct arrays {
    const void *q, *k, *v;
    void *out;
    const void *dout;
    void *dq, *dk, *dv;
};
/* Some key/value heads of one sequence, or some tokens, as a problem. */
struct slice {
    struct attn_problem problem;
    struct arrays arrays;
    const void *params; /* NULL if the kernel has none */
};
/* How a problem is cut into slices. */
struct slicing {
    const struct attn_kernel *kernel;
    struct attn_problem whole;  /* with all strides */
    int64_t heads, of_sequence; /* heads: key/value heads of a slice, except a last one; of_sequence: slices */
    int64_t count;              /* slices of the whole problem */
};
/* Cuts a problem into about ATTN_RANKS_SLICES slices for each rank. All ranks get equal slices. */
struct slicing slicing_of(const struct attn_kernel *kernel, const struct attn_problem *filled, int ranks);
/* Returns slice number `n`, without gradients of tokens. `memory` has params_bytes() bytes, and NULL makes no
   parameters. */
struct slice slice_of(const struct slicing *s, int64_t n, const struct arrays *arrays, const void *params,
                      void *memory);
struct attn_problem slice_problem(const struct slicing *s, int64_t n);

/* ---- algorithms ---- */

/* A call on one rank. A call without workspace only counts its bytes, and has no arrays. */
struct ranks_call {
    const struct attn_transport *transport;
    const struct attn_kernel *kernel;
    struct attn_problem problem; /* with all strides */
    bool backward;
    const void *params;
    struct arrays arrays;
    void *gradients; /* struct NAME_gradients */
    unsigned char *workspace;
    struct run *run;
    struct listed *listed; /* has listed_bytes bytes; NULL if this is 0 */
    void *state;           /* for extend, otherwise NULL */
};
/* How ranks work together.
   - check: returns an error that one rank finds by itself
   - workspace: returns bytes, SIZE_MAX if sizes are too large
   - hash: NULL, or returns a hash of the arrays that must be equal on all ranks */
struct algorithm {
    bool (*serves)(const struct ranks_call *call);
    int (*check)(const struct ranks_call *call);
    size_t (*workspace)(const struct ranks_call *call);
    uint64_t (*hash)(const struct ranks_call *call);
    int (*run)(const struct ranks_call *call);
};
extern const struct algorithm states_travel;         /* chain.c */
extern const struct algorithm sums_travel;           /* chain_sums.c */
extern const struct algorithm keys_travel;           /* ring_forward.c */
extern const struct algorithm keys_travel_backwards; /* ring_backward.c */

/* Returns the integers of a parameter for the keys of all ranks, or NULL if the parameter is another one (params.c). */
const int32_t *all_integers(const struct ranks_call *call, const struct attn_param *p);
/* Returns a hash of integers that all ranks need for the same routes. */
uint64_t integers_hash(const struct ranks_call *call);

/* ---- gradients of parameters (gradients.c) ---- */

/* Goes through the learned parameters of a kernel, from FIRST_LEARNED on. learned_next returns false after the last. */
struct learned {
    int param, number; /* the number of the parameter, and its number among the learned ones */
    const struct attn_param *of;
    void *to; /* its gradient, or NULL if that is not wanted */
};
#define FIRST_LEARNED {-1, -1, NULL, NULL}
bool learned_next(const struct ranks_call *call, struct learned *x);
/* Returns the bytes of a parameter's gradient. */
size_t gradient_bytes(const struct attn_kernel *kernel, const struct attn_param *p, const struct attn_problem *problem);
/* Returns the bytes of `work` for sum_gradients, which replaces the gradients of parameters without a row for each
   token by their sums over all ranks. */
size_t gradients_work(const struct ranks_call *call);
void clear_gradients(const struct ranks_call *call);
int sum_gradients(const struct ranks_call *call, void *work);

/* Returns the type of sums, of statistics and of gradients of parameters. */
static inline enum attn_dtype dtype_of_sums(const struct attn_kernel *kernel)
{
    return kernel->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
}

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

/* A workspace of which arrays are taken in order. Without memory, bytes are only counted. */
struct memory {
    unsigned char *at;
    size_t bytes; /* SIZE_MAX if sizes are too large */
};

/* Returns memory, on whole cache lines, or NULL. */
static inline void *memory_take(struct memory *m, size_t bytes)
{
    const size_t first = m->bytes;
    m->bytes = bytes_plus(first, whole_lines(bytes));
    return m->at ? m->at + first : NULL;
}

/* Returns cleared memory. */
static inline void *memory_cleared(struct memory *m, size_t bytes)
{
    void *const taken = memory_take(m, bytes);
    return taken ? memset(taken, 0, bytes) : NULL;
}

/* Returns the bytes of a kernel's workspace, which returns 0 if sizes are too large. */
static inline size_t workspace_bytes(size_t bytes)
{
    return bytes ? bytes : SIZE_MAX;
}

#endif
