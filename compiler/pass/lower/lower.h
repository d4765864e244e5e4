/* The files of the lower pass share this header. */
#ifndef ATTNC_PASS_LOWER_H
#define ATTNC_PASS_LOWER_H

#include "../../schedule/schedule.h"

/* Where a value is computed:
   - BEFORE, INSIDE, AFTER: before, inside or after the loop over keys.
   - STATE: the value is a state.
   - ACROSS: the value is a sum over the lanes for each point of the stream. */
enum stage { BEFORE, INSIDE, AFTER, STATE, ACROSS };

/* How one value of the graph is lowered. An `int` member is the number of an array. */
struct lowered_value {
    enum stage stage;
    int array;            /* the array that holds the value; for a state, at first the slots of the chunks */
    bool inlined;         /* the only user computes this map in its nest, so the map has no array */
    bool over_outer;      /* the value is a sum over the axes of `outer` only */
    bool closed;          /* the value is a map of such sums, computed after the loops over `outer` */
    bool running;         /* the value is a maximum that sums are relative to, and grows from tile to tile of keys */
    int64_t power;        /* sums are relative to this power of the running maximum; 0: to exp2 of the maximum */
    bool masked_infinity; /* the tile's elements outside the region have been set to -inf */
    bool masked_zero;     /* the tile's elements outside the region have been set to 0 */
    int rescale;          /* of a running maximum: the factor that rescales sums to the new maximum */
    int carried;          /* of a state: the tile that slots are folded into */
    /* Of a state that is a running maximum: `keep` is the factor of the carried sum, `take` the factor of a slot. */
    int keep, take;
};

struct lowering {
    struct compilation *c;
    const struct graph *g;
    struct loops *l;
    struct module *m;
    int output;       /* the value that is lowered */
    int lane, stream; /* the axis of queries and the axis of keys; `stream` is -1 if no run-time axis is summed over */
    int chunk;        /* the axis of chunks, or -1 */
    uint32_t outer;   /* as bits, the axes of loops around the loop over keys whose indices are summed over */
    bool outer_only;  /* the result has both sequences, or none, and is summed over `outer` only */
    int rows;         /* for few queries, the axis of rows (the lanes hold keys or elements of a value); or -1 */
    int slices;       /* the axis of slices, which are groups of rows; or -1 */
    uint32_t within;  /* as bits, the axes of a slice's rows that the slice's sums do not keep */
    bool prefix; /* queries read the state before their chunk (the graph has an axis of chunks); else of all keys */
    bool after;  /* states sum the chunks after a lane's chunk: chunk 0 is the last chunk of the sequence */
    /* `chunk_of` is the number of a lane's chunk, as the graph writes it. `last` is the position in `chunk_of`. */
    const struct expr *chunk_of, *last;
    const struct expr *stream_last; /* if `after`, the position that gives the chunk of a point of the stream */
    int ring;                       /* the axis of recent chunks, or -1 */
    int *outputs;                   /* the arrays of outputs, if arrays are made before their values */
    struct lowered_value *lowered;  /* one for each value of the graph */
    const bool *needed;             /* whether the current statements need a value, for each value */
    /* The members below say where the next statement goes.
       - end, before, inside: after, before and inside the loop over keys
       - prepare: before the loop over keys, for statements about rows; NULL: in `before`
       - open, close: before and after the rows of a slice; the lists start at `opened` and `closed`
       - begin: before the windows, for states
       - fold: after the chunks of a window, for states */
    struct stmt **end, **before, **inside;
    struct stmt **prepare;
    struct stmt **open, **close;
    struct stmt **opened, **closed;
    struct stmt **begin, **fold;
};

bool lower_run_time(const struct lowering *x, int axis);
/* Whether a value varies along both queries and keys. */
bool lower_of_pairs(const struct lowering *x, const struct value *v);
/* Whether a value is computed per slice, as a sum over the slice's rows. */
bool lower_has_slices(const struct lowering *x, const struct value *v);
struct stmt *lower_append(struct lowering *x, struct stmt ***at, int op);
/* The axes of a value's tile are in this order: constant axes, keys, queries. So a sequence is in the lanes. */
int lower_tile_axes(const struct lowering *x, const struct value *v, int *axes);
int lower_new_tile(struct lowering *x, const char *name, int rank, const int *axes);
int lower_output(struct lowering *x, int o); /* the array of an output */
const char *lower_tile_name(const struct lowering *x, const struct value *v);
/* Translates a reference to a value of the graph into a reference to an array. Axes that are fixed in the loops around
   a tile are dropped. The chunk of a query is the chunk of the loop around the query. */
struct ref lower_ref(const struct lowering *x, const struct ref *r);
/* Appends a MAP statement over the given axes. The statement assigns one expression. */
struct stmt *lower_assign(struct lowering *x, struct stmt ***at, int rank, const int *axes, int to, enum fold fold,
                          const struct expr *e);
/* Sets all elements of an array, or of a chunk's slot. */
void lower_set_constant(struct lowering *x, struct stmt ***at, int array, double value);
/* Makes the array that compensates for rounding in a sum over keys in f32, and sets the array to 0. Returns 1 + the
   array's number, or 0 for sums that need no compensation. */
int lower_new_compensation(struct lowering *x, bool streamed, int to, struct stmt ***at);

/* Sets masked elements of the operand's tile to the neutral element of the fold. Does nothing if the elements are
   already neutral because the operand is computed from masked values. */
void lower_apply_region(struct lowering *x, const struct value *sum, int operand, double neutral);

/* These handle sums over the lanes at every point of the stream (sweep.c):
   - lower_sums_across: whether an output is such a sum.
   - lower_begin_across: makes the arrays of the sums. The first tile of the lanes sets the arrays to 0.
   - lower_across: makes the product that adds to one of the sums. */
bool lower_sums_across(const struct lowering *x, const struct value *v);
void lower_begin_across(struct lowering *x);
void lower_across(struct lowering *x, int number);

/* The number of tiles of keys in a chunk, for a state of all keys: FEW_TILES for few queries, KEYS_AT_A_TIME for many.
   A plain sum over at most FEW_TILES tiles needs no compensation. */
enum { FEW_TILES = 8, KEYS_AT_A_TIME = 4 };

int64_t lower_tiles_of_chunk(const struct lowering *x);
/* If r reads a tile whose last axis is not `column`, makes a copy with the axes [row, column] at *at and returns a
   reference to the copy. Otherwise returns r. */
struct ref lower_turned(struct lowering *x, struct stmt ***at, struct ref r, int row, int column);
/* The factor that rescales sums when their running maximum changes from one value to another. */
const struct expr *lower_moved(struct lowering *x, const struct lowered_value *maximum, const struct expr *from,
                               const struct expr *to);
/* Multiplies the tile by the factor. */
void lower_rescale(struct lowering *x, struct stmt ***at, int rank, const int *axes, int tile, int factor);
bool lower_has_stream(const struct lowering *x, const struct value *v);
/* Whether the sum v runs over an axis of the loops around the loop over the stream. */
bool lower_sums_outer(const struct lowering *x, const struct value *v);
struct stmt **lower_new_list(struct lowering *x);
/* Returns the number that the graph gives to a chunk. `place` is the chunk's place in the order of the loops. */
const struct expr *lower_chunk_number(const struct lowering *x, const struct expr *place);
/* Finds the range of indices of the axis whose last key is in the current chunk. `last` is the last key, as an
   expression over INDEX of the axis. Indices that see no key belong to chunk 0. */
void lower_chunk_range(const struct lowering *x, int axis, const struct expr *last, const struct expr **from,
                       const struct expr **to);
/* Makes the loop over the tiles of the stream, inside loops over the other axes that are summed over. Returns the loop
   over the stream. Without a stream, returns the innermost loop over the other axes. */
struct stmt *lower_stream_loop(struct lowering *x, struct stmt ***at, const struct expr *from, const struct expr *to);
struct stmt *lower_loop_over(struct lowering *x, struct stmt ***at, int axis, const struct expr *from,
                             const struct expr *to, int64_t step);

void lower_array(struct lowering *x, int number, enum array_kind kind);
/* Lowers the values of one loop over keys: the sums of the given stage and everything that the sums need. Returns the
   region that the sums share, or NULL. */
const struct expr *lower_values(struct lowering *x, enum stage sums);

/* Makes the loops over queries. `body` becomes the body of a loop over tiles of queries. That loop is inside loops over
   the axes that are not yet `open`. */
void lower_query_loops(struct lowering *x, struct stmt ***at, const bool *open, bool parallel, struct stmt *body);
/* Copies outputs out of their tiles. Copies only outputs that are sums over slices if `of_slices`, and only outputs
   that are not such sums otherwise. */
void lower_copy_outputs(struct lowering *x, bool of_slices, struct stmt ***at);
/* Makes the loop over slices and, inside, the loops over the rows of a slice. The loops over rows are between the
   statements that open a slice and the statements that close a slice. */
void lower_slice_loops(struct lowering *x, struct stmt ***at, struct stmt *body);
/* Returns the body of the queries' loop. The body joins three lists of statements: before, inside and after the loop
   over keys. */
struct stmt *lower_query_body(struct lowering *x);

/* Lowers states, and the queries that read them. */
void lower_states(struct lowering *x, struct stmt **at);

#endif
