/* Shared by the files of the separate pass, which replaces weights by finite features. The files use these words:
   - weight: the value w(i, j) for query i and key j that is summed over keys.
   - features: vectors f(i) and g(j) with w(i, j) = <f(i), g(j)>. Query and key are the two sides.
   - state: the sum over keys j of g(j) times a row of values. A query multiplies f(i) by a state.
   - chunk: a number of consecutive keys. A carried state S[c] covers the keys before chunk c. The chunk of a query is
     the chunk with the last key that the query sees.
   - id: an integer for each position, such as the number of a document. Ids never decrease along a sequence.
   - lane, stream: the axis of queries and the axis of keys. */
#ifndef ATTNC_PASS_SEPARATE_H
#define ATTNC_PASS_SEPARATE_H

#include "../../analysis/analysis.h"
#include "../../schedule/schedule.h"

/* Limits of the pass:
   - MAX_FEATURES: the maximum number of features of a weight
   - MAX_CHOSEN: the maximum number of features if the spec does not have 'algorithm: linear'
   - MAX_DECAYS: the maximum number of exponentials in a weight that decay with the distance between query and key
   - MAX_RECENT: the maximum number of blocks that a query sees before its own, under a mask of blocks */
enum { MAX_FEATURES = 1 << 14, MAX_CHOSEN = 1 << 12, MAX_DECAYS = 8, MAX_RECENT = 256 };

/* A weight is a tree of nodes:
   - LEAF: an inner product of a vector of the query and a vector of the key
   - SUM: a + b
   - PRODUCT: a * b
   - SQUARE: a * a
   - FACTOR: a factor of the query times a factor of the key
   - DECAY: base^(position of the query - position of the key), or base^(prefix sum of the query - that of the key) */
enum node_kind { NODE_LEAF, NODE_SUM, NODE_PRODUCT, NODE_SQUARE, NODE_FACTOR, NODE_DECAY };
enum side { QUERY, KEY };

struct node {
    enum node_kind kind;
    int64_t features; /* the number of features */
    const struct node *a, *b;
    struct ref leaf[2];           /* of a LEAF: the vector of each side */
    int axis;                     /* of a LEAF: the axis summed over */
    const struct expr *factor[2]; /* of a FACTOR: the factor of each side, over the weight's operands */
    const struct expr *base;      /* of a DECAY: 0 < base <= 1 */
    /* Of a DECAY by prefix sums: both parts of the sum of each side, and the axis of the elements that have their own
       sums, or -1. A LEAF can have such a decay of its elements: then its vectors are the factors of each side, over
       the operands of `terms`. */
    const struct sums {
        struct ref side[2], low[2];
        int axis;
    } *sums;
    const struct node *decay;
    const struct value *terms;
};

/* The state of the pass while it replaces one weight. */
struct separation {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int weight, lane, stream;  /* the number of the weight's value, and the axes of queries and keys */
    const struct value *value; /* the weight */
    bool exponentials;         /* a pair of a query and a key takes an exponential for each term of an inner product */
    const struct expr *last;   /* the last key that a query sees; NULL: there is no axis of chunks */
    bool sums;                 /* the weight has a decay by prefix sums */
    int at_chunks;             /* with `sums`: the number of the array of prefix sums that the ends of chunks read; the
                                  low part is the value before */
    int decays;                /* the number of the weight's exponentials that decay with the distance */
    /* For each decaying exponential: `decay` is the expression in the weight, `written` is the equal power of the
       base. */
    const struct expr *decay[MAX_DECAYS], *written[MAX_DECAYS];
    struct value made[2];     /* the maps of both sides' features, while they are built */
    int chunk_axis;           /* -1: all queries read the same state */
    const struct expr *id[2]; /* the id of each side, if a query sees only keys with its own id; or NULL */
    /* `before`: whether the query's chunk is chunk 0. `end[QUERY]`: the last key before the query's chunk. `end[KEY]`:
       the last key before the chunk that a state belongs to. */
    const struct expr *before, *end[2];
};

const struct expr *separate_make(const struct separation *x, enum expr_op op, const struct expr *a,
                                 const struct expr *b);
/* Returns the position of query i among the keys: i + n_k - n_q, so the last query is at the last key. */
const struct expr *separate_query_position(const struct separation *x);

/* ---- from the expression to features ---- */

/* Whether e, an expression over the weight's operands, varies along the axis. */
bool separate_uses_axis(const struct separation *x, const struct expr *e, int axis);
/* Adds `why` to the reasons for which there is no linear form. Returns NULL. */
const struct node *separate_none(struct separation *x, const char *why);
/* Calls separate_none with the reason that there are more than MAX_FEATURES features. */
const struct node *separate_too_many(struct separation *x);
/* Returns the tree of expression e, which is over the weight's operands. Returns NULL after separate_none if e has no
   finite features. */
const struct node *separate_find(struct separation *x, const struct expr *e);
/* Whether a feature of the keys has an exponential as a factor. Sums of such features must be relative to a maximum. */
bool separate_grows(const struct separation *x, const struct node *n);
/* Returns the factor that multiplies row f of a state when the state is carried to the next chunk. For a DECAY, this is
   base^chunk. `chunk` is the length of a chunk. The prefix sums that it reads become operands of the value `state`.
   Returns NULL if the row does not decay. */
const struct expr *separate_kept(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk,
                                 struct value *state);
/* Returns the condition that the ids at two positions are equal. */
const struct expr *separate_same_id(const struct separation *x, const struct expr *position, const struct expr *end);
/* Returns the last key before a chunk, min(chunk * length, n_k) - 1. */
const struct expr *separate_end_before(const struct separation *x, const struct expr *chunk, int64_t length);
/* Returns e for keys that have the id of the last key before the state's chunk, and 0 for other keys. State S[c] then
   sums only keys with this id. `chunk` is the length of a chunk. */
const struct expr *separate_of_last_id(const struct separation *x, const struct expr *e, int64_t chunk);
/* Inserts the map of one side's features before the weight, and increases x->weight. The map's axes are the axes of the
   weight that the features depend on, then `axis`, the axis of features. `chunk` is the length of a chunk. Returns the
   map's number; -1: it would have too many operands. */
int separate_feature_map(struct separation *x, const struct node *n, enum side side, int axis, int64_t chunk);

/* Removes conditions "the query's id == the key's id" from the region `where`, and sets x->id to these ids. Returns the
   remaining region; NULL: nothing remains. */
const struct expr *separate_without_ids(struct separation *x, const struct expr *where);
/* Whether position `last` is known never to come after position `query`. */
bool separate_not_ahead(const struct separation *x, const struct expr *last, const struct expr *query);

/* A region made of blocks of `length` keys. A query in block c sees the keys from the start of block c - reach on. If
   `causal`, the last key that it sees is at its own position, otherwise at the end of block c + ahead. */
struct blocks {
    int64_t length, reach, ahead;
    bool causal;
    const struct expr *region; /* the region without the condition on the first block that a query sees */
};

/* Whether the region `where` is a window of blocks, with a reach above 0. If so, fills in *found. */
bool separate_window_of_blocks(const struct separation *x, const struct expr *where, struct blocks *found);
/* Returns whether the region *where has one of the three forms below. If so, sets *last, and writes *where in a
   standard form:
   - All queries see all keys: *where and *last are NULL.
   - All queries see the same first keys: *where is "j < a", and *last is NULL.
   - Query i sees the keys up to a(i): *where is "j <= a(i)", and *last is a position in the query's chunk. If a(i) is
     the position of the query, or 1 less, *last is the position of the query. Otherwise *last is the minimum of a(i)
     and the last key. */
bool separate_prefix_region(const struct separation *x, const struct expr **where, const struct expr **last);

#endif
