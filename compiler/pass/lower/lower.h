/* Shared by the files of the lower pass, which turns the graph into loops. The files use these words:
   - lanes: the axis of queries, `lane`. Each vector lane holds one query.
   - stream: the axis of keys, `stream`. A loop takes a tile of keys at a time.
   - outer axes: summed axes, such as the query heads that share keys. Each has a loop of one index at a time around the
     loop over keys.
   - state: a sum over keys that does not depend on queries. It is summed in chunks of keys.
   - slot: the memory for one chunk in an array of states.
   - fold: to add the slots of a window of chunks, in order, to the carried tile.
   - slice: a part of the rows. A sum over rows is computed separately for each slice.
   - rows: in the form for few queries, the axis of the queries of all heads that share keys. The vector lanes then hold
     keys or elements of a vector. */
#ifndef ATTNC_PASS_LOWER_H
#define ATTNC_PASS_LOWER_H

#include "../../schedule/schedule.h"

/* Where a value is computed:
   - BEFORE, INSIDE, AFTER: before, inside or after the loop over keys.
   - STATE: in the loops over the chunks of a state.
   - ACROSS: inside the loop over keys. The value is an output with a sum over the lanes for each key. */
enum stage { BEFORE, INSIDE, AFTER, STATE, ACROSS };

/* How one value of the graph is lowered. A member of type int is the number of an array. */
struct lowered_value {
    enum stage stage;
    int array;            /* the array that holds the value; for a state, the slots, until they are folded */
    bool inlined;         /* a map without an array: its only user, a sum, computes it in the same statement */
    bool over_outer;      /* whether the value is a sum over outer axes only */
    bool closed;          /* the value depends on a sum over outer axes, so it is computed after the loops over these
                             axes */
    bool running;         /* a running maximum: it grows from tile to tile of keys, and sums are relative to it */
    int64_t power;        /* of a running maximum m: sums are divided by m^power; 0: sums are divided by exp2(m) */
    bool masked_infinity; /* the tile's elements outside the region have been set to -inf */
    bool masked_zero;     /* the tile's elements outside the region are 0 */
    int rescale;          /* of a running maximum: the factor that rescales sums when the maximum grows */
    int carried;          /* of a state: the tile that slots are folded into */
    /* Of a state that is a running maximum. When slots are folded, the carried sums are multiplied by `keep`, and the
       sums in a slot by `take`. */
    int keep, take;
};

struct lowering {
    struct compilation *c;
    const struct graph *g;
    struct loops *l;
    struct module *m;
    int output;       /* the output whose axes become the loops */
    int lane, stream; /* the axes of queries and of keys; -1: none. `stream` is -1 if no run-time axis is summed over */
    int chunk;        /* the axis of chunks; -1: none */
    uint32_t outer;   /* the outer axes, as bits */
    bool outer_only;  /* only outer axes are summed over; the result has both sequences, or none */
    int rows;         /* the axis of rows, for few queries; -1: many queries */
    int slices;       /* the axis of slices; -1: none */
    uint32_t within;  /* as bits, the axes of rows that are summed within a slice */
    bool prefix;      /* true: a query reads the state of the chunks before its own chunk; false: it reads the state of
                         all keys */
    bool after;       /* a key in a lane reads the state of the chunks after its own chunk, so loops start at the last
                         chunk */
    /* `last` is the last key that the query in a lane sees. `chunk_of`, max(last, 0) / length, is the number of this
       key's chunk. */
    const struct expr *chunk_of, *last;
    const struct expr *stream_last; /* if `after`: a point of the stream belongs to the chunk that contains this
                                       position */
    int solve;                      /* the number of the SOLVE (solve.c); -1: there is none */
    bool whole_chunk;               /* the statements take all keys of a chunk at once, without a loop over keys */
    const bool *done;               /* by value: whether it has its statements already; NULL: none has */
    int ring;                       /* the axis of recent chunks, for a state of the last few chunks; -1: none */
    int *outputs;                   /* the arrays of the outputs; NULL: each is made when it is written */
    struct lowered_value *lowered;  /* for each value of the graph */
    const bool *needed;             /* for each value: whether the statements that are being made need it */
    /* Each member below points to the end of a list of statements, where the next statement goes.
       - before, inside, end: before, inside and after the loop over keys
       - prepare: before the loop over keys, for row values that all threads share; NULL: they go to `before`
       - open, close: before and after the loops over the rows of a slice or over outer axes; these two lists start at
         `opened` and `closed`
       - begin: the initial values of states, before the loop over windows
       - fold: the folds of states, after the chunks of a window */
    struct stmt **end, **before, **inside;
    struct stmt **prepare;
    struct stmt **open, **close;
    struct stmt **opened, **closed;
    struct stmt **begin, **fold;
};

/* Whether an axis is processed index by index or in tiles. False: every tile holds the whole axis. */
bool lower_run_time(const struct lowering *x, int axis);
/* Whether a value has an axis of keys and an axis of queries, which are lanes or rows. */
bool lower_of_pairs(const struct lowering *x, const struct value *v);
/* Whether a value is a sum over the rows of each slice. */
bool lower_has_slices(const struct lowering *x, const struct value *v);
/* Adds a statement at *at and advances *at; returns the statement. */
struct stmt *lower_append(struct lowering *x, struct stmt ***at, int op);
/* Finds the axes of a value's tile, usually in this order: constant axes, keys, queries. The last axis is in the vector
   lanes. Returns their number. */
int lower_tile_axes(const struct lowering *x, const struct value *v, int *axes);
/* Makes a tile with these axes; returns the array's number. A number is added to the name if another array has it. */
int lower_new_tile(struct lowering *x, const char *name, int rank, const int *axes);
int lower_output(struct lowering *x, int o); /* makes the array of output o; returns its number */
/* Returns the name of a value's tile in the emitted C, such as "score", "weight" or "key_features". */
const char *lower_tile_name(const struct lowering *x, const struct value *v);
/* Translates a reference to a value of the graph into a reference to the value's array. A tile does not have the axes
   of the loops around it, so the subscripts for these axes are dropped. In an array of slots, the current chunk's slot
   is used. */
struct ref lower_ref(const struct lowering *x, const struct ref *r);
/* Appends a MAP statement over the given axes: array `to` = e, or `to` folded with e (+=, max). */
struct stmt *lower_assign(struct lowering *x, struct stmt ***at, int rank, const int *axes, int to, enum fold fold,
                          const struct expr *e);
/* Appends a statement that sets all elements of an array. If the array has slots, only the slot of the current chunk is
   set. */
void lower_set_constant(struct lowering *x, struct stmt ***at, int array, double value);
/* Makes the array that holds the rounding errors of the sum in array `to` (compensated summation). At *at, sets this
   array to 0. Returns 1 + the array's number. Returns 0 if there is no compensation, because `streamed` is false or the
   type is f64. */
int lower_new_compensation(struct lowering *x, bool streamed, int to, struct stmt ***at);

/* Masks the tile of an operand of `sum`: sets the elements outside the region of the sum to `neutral`, 0 or -inf. Does
   nothing if they have this value already, because the operand is computed from masked values. */
void lower_apply_region(struct lowering *x, const struct value *sum, int operand, double neutral);

/* Functions for sums over the lanes that have a vector for each point of the stream (stage ACROSS, sweep.c):
   - lower_sums_across: whether a value is an output with such a sum.
   - lower_begin_across: makes the arrays of all such sums. The first tile of the lanes sets them to 0.
   - lower_across: makes the product that adds the terms of a tile to one of the sums. */
bool lower_sums_across(const struct lowering *x, const struct value *v);
void lower_begin_across(struct lowering *x);
void lower_across(struct lowering *x, int number);

/* The number of tiles of keys in a chunk, if the state sums all keys: FEW_TILES in the form for few queries,
   KEYS_AT_A_TIME in the form for many. A chunk's sum over at most FEW_TILES tiles is not compensated. */
enum { FEW_TILES = 8, KEYS_AT_A_TIME = 4 };

/* The number of tiles of keys in a chunk, rounded up. */
int64_t lower_tiles_of_chunk(const struct lowering *x);
/* Returns a reference that has `column` as its last axis, because the last axis is in the vector lanes. If r reads a
   tile with a different last axis, makes a copy with the axes [row, column] at *at, and returns a reference to the
   copy. Otherwise returns r. */
struct ref lower_turned(struct lowering *x, struct stmt ***at, struct ref r, int row, int column);
/* Returns the factor that rescales sums when their running maximum changes: exp2(from - to), or (from / to)^power. */
const struct expr *lower_moved(struct lowering *x, const struct lowered_value *maximum, const struct expr *from,
                               const struct expr *to);
/* Appends the statement tile = tile * factor; both are numbers of arrays. */
void lower_rescale(struct lowering *x, struct stmt ***at, int rank, const int *axes, int tile, int factor);
/* Whether an operand of v varies along the stream. */
bool lower_has_stream(const struct lowering *x, const struct value *v);
/* Whether v is a sum over an outer axis. */
bool lower_sums_outer(const struct lowering *x, const struct value *v);
/* Returns a new, empty list of statements. */
struct stmt **lower_new_list(struct lowering *x);
/* The loops visit chunks in order, from the last chunk if x->after. Returns the chunk's number in the graph for
   position `place` in this order: `place` itself, or size - 1 - place if x->after. */
const struct expr *lower_chunk_number(const struct lowering *x, const struct expr *place);
/* Finds the queries that belong to the current chunk, because their last key is in this chunk. They are the indices
   *from to *to - 1 of `axis`. `last` is a query's last key, as an expression over INDEX of the axis. Queries that see
   no key belong to chunk 0. */
void lower_chunk_range(const struct lowering *x, int axis, const struct expr *last, const struct expr **from,
                       const struct expr **to);
/* Whether integers of the sequence, such as its length, say which keys no query sees. Chunks of such keys are empty. */
bool lower_has_padding(const struct lowering *x);
/* Makes the loops over outer axes and, inside them, the loop over keys, which takes a tile of keys at a time: the first
   key is `from`, the last is `to` - 1. Returns the loop over keys. If x->stream is -1, that loop is not made, and the
   innermost loop over outer axes is returned. */
struct stmt *lower_stream_loop(struct lowering *x, struct stmt ***at, const struct expr *from, const struct expr *to);
/* Appends a loop over `step` indices of the axis at a time, from `from` to `to` - 1; returns the loop. */
struct stmt *lower_loop_over(struct lowering *x, struct stmt ***at, int axis, const struct expr *from,
                             const struct expr *to, int64_t step);

/* Makes the array of an input, parameter or table of the graph, unless an array of this name exists. */
void lower_array(struct lowering *x, int number, enum array_kind kind);
/* Makes the statements of one loop over keys, and the statements before and after the loop. If `sums` is STATE, lowers
   states and the values that they need; otherwise all values that are not part of states. If all sums of the loop have
   a common region, returns this region; otherwise NULL. */
const struct expr *lower_values(struct lowering *x, enum stage sums);

/* Makes the loops over the output's axes, and inside them the loop over tiles of queries, which has the given body. An
   axis with `open` set has a loop already. */
void lower_query_loops(struct lowering *x, struct stmt ***at, const bool *open, bool parallel, struct stmt *body);
/* Appends copies from tiles to output arrays. If `of_slices`, copies the outputs that are sums over slices, otherwise
   all other outputs. */
void lower_copy_outputs(struct lowering *x, bool of_slices, struct stmt ***at);
/* Makes the loop over slices. Its body is: the statements x->opened, then the loops over the rows of the slice with the
   given body inside, then the statements x->closed. */
void lower_slice_loops(struct lowering *x, struct stmt ***at, struct stmt *body);
/* Makes the body of the loop over tiles of queries: the statements before the loop over keys, this loop, and the
   statements after it. */
struct stmt *lower_query_body(struct lowering *x);

/* Returns the carried sum of v, operand 0 of statement s, times the factor `keep` of v. A statement at *at, before s,
   computes the factor from prefix sums. A factor close to 1 is applied by subtracting the share that is lost, so that
   rounding does not change this share. */
const struct expr *lower_kept(struct lowering *x, const struct value *v, struct stmt **at, struct stmt *s);
/* Lowers a graph with states at *at: the loops that sum and fold the states, and the loops over the queries that read
   them. */
void lower_states(struct lowering *x, struct stmt **at);

/* Lowers a graph with a SOLVE at *at: for each head, one loop over chunks of keys. (solve.c) */
void lower_solve(struct lowering *x, struct stmt **at);
/* Lowers a graph whose output is a SOLVE at *at: for each head, one loop over chunks of keys. (solve.c) */
void lower_solution(struct lowering *x, struct stmt **at);
/* Makes the statements of one value. `needed` marks the values whose statements are made with it. (value.c) */
void lower_value(struct lowering *x, int v);

#endif
