/* Shared by the files of the pass separate, which replaces weights by finite features. Words:
   - weight: the value w(i, j) of query i and key j that is summed over keys
   - features: vectors f(i) and g(j) with w(i, j) = <f(i), g(j)>. Query and key are the two sides.
   - state: the sum over keys j of g(j) times a row of values
   - chunk: consecutive keys. A carried state S[c] covers the keys before chunk c. A query's chunk has its last key.
   - id: an integer per position, such as its document. Ids never decrease.
   - lane, stream: the axes of queries and keys */
#ifndef ATTNC_PASS_SEPARATE_H
#define ATTNC_PASS_SEPARATE_H

#include "../../analysis/analysis.h"
#include "../../schedule/schedule.h"

/* - MAX_FEATURES: the maximum number of features of a weight
   - MAX_CHOSEN: the maximum number without 'algorithm: linear'
   - MAX_DECAYS: the maximum number of exponentials of a weight that decay with distance
   - MAX_POWER: the maximum degree of a POWER
   - MAX_RECENT: the maximum number of blocks that a query sees before its own block */
enum { MAX_FEATURES = 1 << 14, MAX_CHOSEN = 1 << 12, MAX_DECAYS = 8, MAX_RECENT = 256, MAX_POWER = 8 };

/* A weight is a tree of nodes:
   - LEAF: an inner product of a query's and a key's vector
   - SUM: a + b, or with a condition on one side, condition ? a : b, where b is NULL for 0
   - PRODUCT: a * b
   - SQUARE: a * a
   - POWER: a^degree, with degree > 2
   - FACTOR: a factor of the query times a factor of the key
   - DECAY: base^(distance), or base^(query's prefix sum - key's prefix sum) */
enum node_kind { NODE_LEAF, NODE_SUM, NODE_PRODUCT, NODE_SQUARE, NODE_POWER, NODE_FACTOR, NODE_DECAY };
enum side { QUERY, KEY };

struct node {
    enum node_kind kind;
    int64_t features; /* the number of features */
    const struct node *a, *b;
    struct ref leaf[2]; /* LEAF: the vector of each side */
    int axis;           /* LEAF: the axis that is summed over */
    /* FACTOR: the factors of both sides, as expressions over the weight's operands. SUM: factor[side] is the
       condition of that side, or NULL. */
    const struct expr *factor[2];
    const struct expr *base; /* DECAY: the base, with 0 <= base <= 1 */
    /* DECAY by prefix sums: side[] and low[] are the two parts of each side's sum. `axis`: the axis of elements
       that have separate sums, or -1. If a LEAF has such a decay, the elements of its vectors are factors over the
       operands of `terms`. */
    const struct sums {
        struct ref side[2], low[2];
        int axis;
    } *sums;
    const struct node *decay;
    const struct value *terms;
    /* POWER: the lists of offsets of the factors but the first, for each class. Classes up to end[k] occur times[k]
       times. */
    const struct power {
        int degree, kinds;
        const char *list[MAX_POWER];
        int64_t *end;
        double *times;
    } *power;
};

/* The state while one weight is replaced. */
struct separation {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int weight, lane, stream;  /* the weight's value, and the axes of queries and keys */
    const struct value *value; /* the weight */
    uint32_t outer;            /* the axes of the weight's sums over sequences and heads */
    bool apart;                /* query heads that share keys have their own states */
    bool exponentials;         /* a pair of a query and a key takes an exponential for each term of an inner product */
    const struct expr *last;   /* the last key that a query sees. NULL: all queries see the same keys, in one state */
    bool sums;                 /* the weight has a decay by prefix sums */
    bool full;                 /* the factor of a state would have too many operands */
    bool by_head;              /* the features of keys of the weights before this one differ by query head */
    /* With `sums`: the value with the prefix sums at chunk ends. The value before it has their low parts. */
    int at_chunks;
    int decays; /* the number of exponentials that decay with distance */
    /* for each decay: the expression in the weight, and the equal power of the base */
    const struct expr *decay[MAX_DECAYS], *written[MAX_DECAYS];
    struct value made[2]; /* the maps of both sides' features, while they are built */
    int chunk_axis;       /* the axis of chunks. -1: all queries read one state */
    /* The weights of a kernel share these: `next` and `last` of struct seen, and the keys that all states wait for.
       again: they have changed, so weights that are separated already have others. */
    const struct expr *next, *shared;
    int64_t waits;
    bool again;
    int64_t wait;             /* the state of a chunk has the keys that are `wait` keys before the chunk */
    const struct expr *id[2]; /* the id of each side, if a query sees only keys with its id. Otherwise NULL */
    const struct expr *shown; /* the condition on a key without which no query sees it, or NULL */
    /* - before: whether the query's chunk is chunk 0
       - end[QUERY]: the last key before the query's chunk
       - end[KEY]: the last key before a state's chunk */
    const struct expr *before, *end[2];
};

/* Returns the position of query i. */
const struct expr *separate_query_position(const struct separation *x);

/* ---- from the expression to features ---- */

/* Whether e, over the weight's operands, varies along the axis. */
bool separate_uses_axis(const struct separation *x, const struct expr *e, int axis);
/* Adds `why` to the reasons against a linear form. Returns NULL. */
const struct node *separate_none(struct separation *x, const char *why);
/* Calls separate_none because of more than MAX_FEATURES features. */
const struct node *separate_too_many(struct separation *x);
/* Returns the tree of e, over the weight's operands. Returns NULL after separate_none if it has no finite features. */
const struct node *separate_find(struct separation *x, const struct expr *e);
/* Returns the tree of a^degree, or NULL if it would have more than MAX_FEATURES features. */
const struct node *separate_power(const struct separation *x, const struct node *a, int degree);
/* Return the feature of n->a that is factor k of feature f of a POWER, and how often the power has this feature. */
const struct expr *separate_power_index(const struct separation *x, const struct node *n, int k, const struct expr *f);
const struct expr *separate_power_times(const struct separation *x, const struct node *n, const struct expr *f);
/* Whether a key's feature has an exponential factor, so that sums must be relative to a maximum. */
bool separate_grows(const struct separation *x, const struct node *n);
/* Returns the factor of row f of a state from one chunk to the next, such as base^chunk. Returns NULL if there is
   none. */
const struct expr *separate_kept(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk,
                                 struct value *state);
/* Returns the condition that two positions have equal ids. */
const struct expr *separate_same_id(const struct separation *x, const struct expr *position, const struct expr *end);
/* Returns the position whose id is compared with those of keys: the query's, perhaps limited to the indices of an
 * array. */
const struct expr *separate_position_of_id(const struct separation *x);
/* Returns the last key that the state of a chunk has, min(chunk * length - wait, n_k) - 1. */
const struct expr *separate_end_before(const struct separation *x, const struct expr *chunk, int64_t length);
/* Returns e for keys with the id of the last key before the state's chunk, otherwise 0. So S[c] sums only keys with
   this id. */
const struct expr *separate_of_last_id(const struct separation *x, const struct expr *e, int64_t chunk);
/* Inserts the map of a side's features before the weight, and increases x->weight. The last axis of the map is
   `axis`. Returns the map, or -1. */
int separate_feature_map(struct separation *x, const struct node *n, enum side side, int axis, int64_t chunk);

/* Removes conditions "the query's id == the key's id" from `where`, and sets x->id. Returns the remaining region,
   or NULL. */
const struct expr *separate_without_ids(struct separation *x, const struct expr *where);
/* Whether position `last` is known never to be after `query`. */
bool separate_not_ahead(const struct separation *x, const struct expr *last, const struct expr *query);

/* Removes conditions on the key alone from `where`, and adds them to x->shown. Conditions that end the keys of all
   queries stay. Returns the remaining region, or NULL. */
const struct expr *separate_without_hidden(struct separation *x, const struct expr *where);
/* Returns e for keys that are shown, otherwise 0. separate_can_hide: whether this keeps the exponentials of n's
   features relative to a maximum. */
const struct expr *separate_if_shown(const struct separation *x, const struct expr *e);
bool separate_can_hide(const struct separation *x, const struct node *n);
/* Returns e for keys before the query's chunk: comparisons like "j < i" are known for these. */
const struct expr *separate_for_earlier(struct separation *x, const struct expr *e);

/* Gives the sums with the region of the first sum another weight, so that each weight has one region.
   Copies the weight before itself if needed. */
void separate_split_by_region(struct separation *x);
/* If the weight is "condition ? a : b" by a condition on the positions of both query and key, makes it two weights, a
   and b, and makes each of its sums, which are its only readers, two sums. The first one is over the keys for which the
   condition holds. of_exponential: only if one of a and b alone has an exponential factor. */
bool separate_split_by_choice(struct separation *x, bool of_exponential);

/* The keys that a query sees, as expressions of its index.
   - next: the query sees all keys before the chunk of this position (from `from` on). NULL: all queries see the same
     keys.
   - last: the position that determines the query's chunk: min(next, the last key)
   - region: the region without the condition on the first key. NULL: all keys
   - from: the first key of a window, or NULL. A window has at most `keys` keys, `ahead` of them after the query. */
struct seen {
    const struct expr *from, *next, *last, *region;
    int64_t keys, ahead;
};
/* Whether all keys that a query sees are a window, or all keys up to one that never moves back. */
bool separate_find_keys(const struct separation *x, const struct expr *where, struct seen *found);
/* Returns the length of segments of keys that e rounds down to, or 0. */
int64_t separate_segment(const struct expr *e);
/* Returns the first key of the position's chunk. */
const struct expr *separate_start_of_chunk(const struct separation *x, const struct expr *position, int64_t length);
/* Returns the smallest part of the region, which separate_find_keys refuses, that no state can cover. */
const struct expr *separate_fault(const struct separation *x, const struct expr *where);

#endif
