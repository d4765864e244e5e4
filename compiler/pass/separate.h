/* What the files of the separate pass share: the weight as a tree, and the keys that a query sees. */
#ifndef ATTNC_PASS_SEPARATE_H
#define ATTNC_PASS_SEPARATE_H

#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

/* Within a chunk a pair takes an inner product and a map, but of exponentials one for every feature: their work, in
   FLOPs. */
enum { MAX_FEATURES = 1 << 14, MAX_CHOSEN = 1 << 12, MAX_DECAYS = 8, MAX_RECENT = 256 };

enum node_kind { NODE_LEAF, NODE_SUM, NODE_PRODUCT, NODE_SQUARE, NODE_FACTOR, NODE_DECAY };
enum side { QUERY, KEY };

struct node {
    enum node_kind kind;
    int64_t features;
    const struct node *a, *b;
    struct ref leaf[2];           /* LEAF: by side */
    int axis;                     /* LEAF: summed over */
    const struct expr *factor[2]; /* FACTOR: by side, over the weight's operands */
    const struct expr *base;      /* DECAY */
};

struct separation {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int weight, lane, stream;
    const struct value *value; /* the weight */
    bool exponentials;         /* features of query and key are exponentials that run along the same axis */
    const struct expr *last;   /* where the region ends, or NULL */
    int decays;                /* exponentials of the weight, and how they read with their base */
    const struct expr *decay[MAX_DECAYS], *written[MAX_DECAYS];
    struct value made[2]; /* the maps of the features, while they are written */
    int chunk_axis;
    const struct expr *id[2];           /* by side: what has to be the same for query and key, or NULL */
    const struct expr *before, *end[2]; /* a query's chunk is the first; by side, the last key before the chunk */
};

const struct expr *separate_make(const struct separation *x, enum expr_op op, const struct expr *a,
                                 const struct expr *b);
/* Positions count so that the last query meets the last key. */
const struct expr *separate_query_position(const struct separation *x);

/* ---- from the expression to features ---- */

bool separate_uses_axis(const struct separation *x, const struct expr *e, int axis);
const struct node *separate_none(struct separation *x, const char *why);
const struct node *separate_too_many(struct separation *x);
const struct node *separate_find(struct separation *x, const struct expr *e);
/* What is left of feature f of the keys from one chunk to the next; NULL for all of it. */
const struct expr *separate_kept(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk);
/* Whether the id at x is that at the last key before a chunk. */
const struct expr *separate_same_id(const struct separation *x, const struct expr *position, const struct expr *end);
/* The last key before a chunk, or of all. */
const struct expr *separate_end_before(const struct separation *x, const struct expr *chunk, int64_t length);
/* The state before a chunk is of the keys whose id is that of the last of them. */
const struct expr *separate_of_last_id(const struct separation *x, const struct expr *e, int64_t chunk);
/* The map of one side's features, over the weight's axes that it runs along, then the axis of the features. Its number,
   or -1. */
int separate_feature_map(struct separation *x, const struct node *n, enum side side, int axis, int64_t chunk);

/* What is left of the region without what it says of ids; NULL: nothing. */
const struct expr *separate_without_ids(struct separation *x, const struct expr *where);
/* Whether no query's last key lies after the query. */
bool separate_not_ahead(const struct separation *x, const struct expr *last, const struct expr *query);

/* What a region of blocks says: a query in block c sees keys from block c - reach on, up to its own position or to
   block c + ahead. */
struct blocks {
    int64_t length, reach, ahead;
    bool causal;
    const struct expr *rest; /* the region without what it says of the first block */
};

/* Whether queries see a number of whole blocks before their own, and keys at most some blocks ahead. */
bool separate_window_of_blocks(const struct separation *x, const struct expr *where, struct blocks *found);
/* Sets which keys queries see: all (NULL), those up to *last, or, with *last NULL, all those of the region. False for
   any other region. */
bool separate_prefix_region(const struct separation *x, const struct expr **where, const struct expr **last);

#endif
