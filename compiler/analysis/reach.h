/* The positions that a query may see, and by which a result may move (reach.c, kept_keys.c, position_independent.c,
   distances.c). */
#ifndef ATTNC_REACH_H
#define ATTNC_REACH_H

#include "../schedule/schedule.h"

/* Whether v is a sum over keys for one query. A sum with another axis of a sequence, such as the weights of two keys in
   the delta rule, is not. (reach.c) */
bool sums_keys_of_query(const struct module *m, const struct value *v, int lane, int stream);
/* Whether a query may see a later key. Returns true if that is unknown. (reach.c) */
bool looks_ahead(const struct graph *g);
/* Whether the length of the sequence changes the result of a query at a given position. */
bool depends_on_length(const struct graph *g);
/* Returns the number of arrays of integers, such as ids of tokens, which decide what a query sees. */
int integer_arrays(const struct graph *g);
/* Returns how many keys before its chunk a query reads one by one, in addition to the state. Returns a negative
   number if that is unknown. */
int64_t keys_read_back(const struct compilation *c);
/* Finds the keys that a tile of queries may read, for a program without chunks (kept_keys.c). Returns false if the
   tile may read keys other than
   - the first *first keys,
   - the last *back keys before the tile's first query,
   - all keys from that query on. */
bool keys_read_on(const struct compilation *c, int64_t *first, int64_t *back);
/* Whether a query's result stays equal (position_independent.c):
   - moves_on: if `by` is added to the positions of the query and all keys
   - moves_together: the same, and arrays with a row for each query move with the queries
   - takes_any_order: if earlier keys are reordered */
bool moves_on(const struct graph *g, int64_t by);
bool moves_together(const struct graph *g, int64_t by, bool rotations); /* rotations: as for distances_of */
bool takes_any_order(const struct graph *g);
/* Returns a number of tokens, or 0 if none is known: the rows of tokens that begin at a multiple of it can be computed
   with positions that begin at 0, given the sums over the other tokens. */
int64_t part_period(const struct graph *g);
/* Facts for several ranks that share a sequence (distances.c). */
struct distances {
    int64_t before, after; /* the farthest keys that a query sees before and after its position. INT64_MAX: unknown */
    int64_t period;        /* a result stays equal if all positions move by this number. 0: none is known */
    bool names_heads;      /* a result depends on the number of a head, or of heads */
    bool names_sequences;  /* a result depends on the number of a sequence, or of sequences */
    int64_t saved_power;   /* this and the next ones are as in struct attn_kernel; set by the driver */
    int64_t open_keys, end_of_keys;
};
/* `g`: the graph before all passes. Sums over keys before number `open_keys` of the sequence do not count. With
   `rotations`, neither do sines and cosines, because results depend on differences of their angles. */
struct distances distances_of(const struct graph *g, int64_t open_keys, bool rotations);

#endif
