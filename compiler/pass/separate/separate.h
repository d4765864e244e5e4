/* The files of the separate pass share this header. It declares the weight as a tree, and the keys that a query
   sees. */
#ifndef ATTNC_PASS_SEPARATE_H
#define ATTNC_PASS_SEPARATE_H

#include "../../analysis/analysis.h"
#include "../../schedule/schedule.h"

/* The largest numbers that the pass accepts:
   - MAX_FEATURES: features of a weight
   - MAX_CHOSEN: features of a weight if the user does not ask for the linear form
   - MAX_DECAYS: decaying factors of a weight
   - MAX_RECENT: blocks of a window */
enum { MAX_FEATURES = 1 << 14, MAX_CHOSEN = 1 << 12, MAX_DECAYS = 8, MAX_RECENT = 256 };

enum node_kind { NODE_LEAF, NODE_SUM, NODE_PRODUCT, NODE_SQUARE, NODE_FACTOR, NODE_DECAY };
enum side { QUERY, KEY };

struct node {
    enum node_kind kind;
    int64_t features;
    const struct node *a, *b;
    struct ref leaf[2];           /* of a LEAF: the vector of each side */
    int axis;                     /* of a LEAF: the axis summed over */
    const struct expr *factor[2]; /* of a FACTOR: the factor of each side, over the weight's operands */
    const struct expr *base;      /* of a DECAY: the factor from one key to the next */
};

struct separation {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int weight, lane, stream;
    const struct value *value; /* the weight */
    bool exponentials;         /* the features of both query and key are exponentials along one axis */
    const struct expr *last;   /* the last key that a query sees, or NULL */
    int decays;                /* the number of the weight's decaying exponentials */
    /* `decay` holds each decaying exponential as the weight has it, `written` as a power of its base. */
    const struct expr *decay[MAX_DECAYS], *written[MAX_DECAYS];
    struct value made[2]; /* the maps of both sides' features, while they are built */
    int chunk_axis;
    const struct expr *id[2]; /* the id of each side, which query and key must share; or NULL */
    const struct expr *before,
        *end[2]; /* whether a query's chunk is the first; by side, the last key before the chunk */
};

const struct expr *separate_make(const struct separation *x, enum expr_op op, const struct expr *a,
                                 const struct expr *b);
/* The query's position among the keys. The last query is at the position of the last key. */
const struct expr *separate_query_position(const struct separation *x);

/* ---- from the expression to features ---- */

bool separate_uses_axis(const struct separation *x, const struct expr *e, int axis);
const struct node *separate_none(struct separation *x, const char *why);
const struct node *separate_too_many(struct separation *x);
const struct node *separate_find(struct separation *x, const struct expr *e);
/* Whether the keys' features have an exponential as a factor. Sums of such features are relative to a maximum. */
bool separate_grows(const struct separation *x, const struct node *n);
/* The factor by which feature f of all earlier keys is multiplied at the end of a chunk. NULL stands for a factor
   of 1. */
const struct expr *separate_kept(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk);
/* Whether the id at `position` equals the id at `end`, which is the last key before a chunk. */
const struct expr *separate_same_id(const struct separation *x, const struct expr *position, const struct expr *end);
/* The last key before a chunk, or the last key of all. */
const struct expr *separate_end_before(const struct separation *x, const struct expr *chunk, int64_t length);
/* Returns e for keys that have the id of the last key before the chunk, and 0 for other keys. So only keys with that id
   enter the state. */
const struct expr *separate_of_last_id(const struct separation *x, const struct expr *e, int64_t chunk);
/* Inserts the map of one side's features. The map's axes are the axes of the weight that the features depend on,
   followed by the axis of features. Returns the map's number, or -1. */
int separate_feature_map(struct separation *x, const struct node *n, enum side side, int axis, int64_t chunk);

/* Returns the region without its conditions on ids. Returns NULL if the region has no other conditions. */
const struct expr *separate_without_ids(struct separation *x, const struct expr *where);
/* Whether `last`, the last key that a query sees, never comes after the query. */
bool separate_not_ahead(const struct separation *x, const struct expr *last, const struct expr *query);

/* A region made of blocks of `length` keys. A query in block c sees keys from the start of block c - reach. If the
   region is causal, the keys end at the query; otherwise they end with block c + ahead. */
struct blocks {
    int64_t length, reach, ahead;
    bool causal;
    const struct expr *region; /* the region without the condition on the first block that a query sees */
};

/* Whether queries see whole blocks before their block, and keys at most a fixed number of blocks ahead. */
bool separate_window_of_blocks(const struct separation *x, const struct expr *where, struct blocks *found);
/* Returns true for these three kinds of region, and false for any other region:
   - All queries see all keys: *where is NULL.
   - Each query sees the keys up to *last.
   - All queries see the same region of keys: *last is NULL. */
bool separate_prefix_region(const struct separation *x, const struct expr **where, const struct expr **last);

#endif
