/* Shared by the files of the pass lower, which turns the graph into loops. Words:
   - lanes: the axis of queries, `lane`. Each vector lane holds one query.
   - stream: the axis of keys, `stream`, taken tile by tile
   - outer axes: summed axes, such as query heads that share keys, with loops around the loop over keys
   - state: a sum over keys that does not depend on queries, summed in chunks of keys
   - slot: the memory for one chunk in an array of states
   - fold: to add a window's slots, in order, to the carried tile
   - slice: a part of the rows, summed separately
   - rows: for few queries, the queries of all heads that share keys. The lanes then hold keys or elements. */
#ifndef ATTNC_PASS_LOWER_H
#define ATTNC_PASS_LOWER_H

#include "../../schedule/schedule.h"

/* Where a value is computed:
   - BEFORE, INSIDE, AFTER: relative to the loop over keys
   - STATE: in the loops over a state's chunks
   - ACROSS: inside the loop over keys, for an output with a sum over the lanes per key
   - AGAIN: inside a second loop over keys, for an output of pairs that reads values of stage AFTER */
enum stage { BEFORE, INSIDE, AFTER, STATE, ACROSS, AGAIN };

/* How a value is lowered. Members of type int are numbers of arrays, or -1. */
struct lowered_value {
    enum stage stage;
    int array;       /* the array of the value. For a state, these are its slots until they are folded */
    bool inlined;    /* it is a map without an array, computed in the statement of its only user, a sum */
    bool over_outer; /* it is a sum over outer axes only */
    bool closed;     /* it depends on a sum over outer axes, so it is computed after the loops over these axes */
    bool running;    /* it is a running maximum, which grows from tile to tile, and which sums are relative to */
    int64_t power;   /* with a running maximum m, sums are divided by m^power. 0: they are divided by exp2(m) */
    const struct expr *region; /* the region outside which the tile is 0 or -inf, if one of the next two is true */
    bool masked_infinity, masked_zero;
    int rescale;    /* the factor that rescales sums if the value is a running maximum */
    int carried;    /* the tile that slots are folded into if the value is a state */
    int transition; /* the array of the state's transition (transition.c) */
    int known;      /* of a SELECT: what is known of the candidates, which are `array` */
    /* If a state is a running maximum, `keep` is the factor of old sums, and `take` the factor of a slot's sums. */
    int keep, take;
};

/* A statement that sets elements of a tile outside the region. */
struct mask_of_region {
    const struct stmt *s;
    const struct expr *region;
    const struct mask_of_region *next;
};

struct lowering {
    struct compilation *c;
    const struct graph *g;
    struct loops *l;
    struct module *m;
    int output;       /* the output whose axes become the loops */
    int lane, stream; /* the axes of queries and keys, or -1 */
    int chunk;        /* the axis of chunks, or -1 */
    uint32_t outer;   /* the outer axes, as bits */
    bool outer_only;  /* only outer axes are summed over */
    int rows;         /* the axis of rows, for few queries. Otherwise -1 */
    int slices;       /* the axis of slices, or -1 */
    uint32_t within;  /* axes of rows that are summed in a slice, as bits */
    bool prefix;      /* a query reads the state before its chunk. false: it reads the state of all keys */
    bool after;       /* a key reads the state after its chunk, so loops start from the last chunk */
    /* last: the last key that a lane's query sees. chunk_of: the chunk of `last`, max(last, 0) / length */
    const struct expr *chunk_of, *last;
    const struct expr *stream_last; /* with `after`: the position that determines the chunk of a point of the stream */
    int solve;                      /* the SOLVE (solve.c), or -1 */
    bool whole_chunk;               /* statements take all keys of a chunk, without a loop */
    const bool *done;               /* for each value: whether its statements are made. May be NULL */
    const int
        *last_axis;   /* the axis in the lanes of each value's tile, if it is chosen for each value. Otherwise NULL */
    bool by_elements; /* tiles with an axis of elements have it in the lanes. Implies last_axis. */
    /* one_by_one: axes, as bits, whose indices a loop takes one by one around the statements that are being made.
       outside: the list that this loop is in */
    uint32_t one_by_one;
    struct stmt ***outside;
    int *outputs;                  /* the arrays of the outputs. NULL: each array is made when its output is written */
    struct lowered_value *lowered; /* how each value of the graph is lowered */
    const bool *needed;            /* for each value: whether the statements that are being made need it */
    const struct mask_of_region *masks; /* the statements that mask tiles (regions.c) */
    /* The ends of lists of statements. The next statement is added there.
       - before, inside, end: statements before, inside and after the loop over keys
       - prepare: row values that all threads share, before the loop over keys. NULL: `before` has them.
       - open, close: statements around the loops over a slice's rows or outer axes. The lists start at `opened` and
         `closed`.
       - begin: initial values of states
       - fold: folds of states, after a window's chunks */
    struct stmt **end, **before, **inside;
    struct stmt **prepare;
    struct stmt **open, **close;
    struct stmt **opened, **closed;
    struct stmt **begin, **fold;
};

/* Whether an axis is processed by index or in tiles. Tiles contain all of any other axis. */
bool lower_run_time(const struct lowering *x, int axis);
/* Whether a value has an axis of keys and one of queries. */
bool lower_of_pairs(const struct lowering *x, const struct value *v);
enum { MAX_CHUNK_OF_ELEMENTS = 128 }; /* limits the stack of sums over elements of a chunk's pairs (emit/decayed.c) */
bool lower_fills_vectors(const struct lowering *x, const struct axis *elements); /* whether rows are whole vectors */
/* Returns the axis of elements of v if v is a sum over a chunk's keys or queries whose terms decay differently
   (pass/decayed.c), such as a gradient. Otherwise returns -1. Its tile has the elements in the lanes. */
int lower_decayed_elements(const struct lowering *x, const struct value *v);
/* Whether v is such a sum over elements, for each pair of a chunk, in a program of gradients. */
bool lower_sums_decayed_pairs(const struct lowering *x, const struct value *v);
/* Whether v is the sum of two states. They share a tile with it (differentiate/merge_states.c). */
bool lower_is_merged(const struct lowering *x, int v);
/* Whether a value has the axis of slices, that is, one sum for each slice. */
bool lower_has_slices(const struct lowering *x, const struct value *v);
/* Adds a statement at *at, advances *at, and returns the statement. */
struct stmt *lower_append(struct lowering *x, struct stmt ***at, int op);
/* Finds the axes of a value's tile, usually constant axes, keys, queries. The last axis is in the lanes. Returns
   their number. */
int lower_tile_axes(const struct lowering *x, const struct value *v, int *axes);
/* Makes a tile with these axes, with a number in its name if needed. Returns the array. */
int lower_new_tile(struct lowering *x, const char *name, int rank, const int *axes);
int lower_output(struct lowering *x, int o); /* makes the array of output o and returns it */
/* Returns the name of a value's tile, such as "score" or "key_features". */
const char *lower_tile_name(const struct lowering *x, const struct value *v);
/* Translates a reference to a value into a reference to its array. Drops subscripts of loops around a tile. In
   slots, the reference is to the slot of the current chunk. */
struct ref lower_ref(const struct lowering *x, const struct ref *r);
/* Appends a MAP over these axes: array `to` = e, or folded with e (+=, max). */
struct stmt *lower_assign(struct lowering *x, struct stmt ***at, int rank, const int *axes, int to, enum fold fold,
                          const struct expr *e);
/* Append other statements over these axes:
   - lower_product: a DOT, array `to` = the sum over `axis` of row * lane, or += the sum
   - lower_equations: a SOLVE for value `solve`, where array `rest` has the values of the equations
   - lower_copy: a COPY of `from` to array `to` */
struct stmt *lower_product(struct lowering *x, struct stmt ***at, const int *axes, int axis, struct ref row,
                           struct ref lane, int to, enum fold fold);
void lower_equations(struct lowering *x, struct stmt ***at, const struct value *solve, const int *axes, bool hides,
                     int rest, int to);
void lower_copy(struct lowering *x, struct stmt ***at, int rank, const int *axes, struct ref from, int to);
/* Appends a statement that sets an array to `value`. Of an array with an axis of chunks, it sets the current chunk's
   slot. */
void lower_set_constant(struct lowering *x, struct stmt ***at, int array, double value);
/* Makes the array of rounding errors of the sum in array `to` (compensated summation), set to 0 at *at. Returns 1 +
   the array, or 0 if `streamed` is false or the type is f64. */
int lower_new_compensation(struct lowering *x, bool streamed, int to, struct stmt ***at);

/* Sets elements outside the sum's region to `neutral` in an operand's tile, unless they have this value. `neutral`
   is 0 or -inf. */
void lower_apply_region(struct lowering *x, const struct value *sum, int operand, double neutral);

/* Makes the loops over keys `from` to `to` - 1 with the body `inside`: one for each region of the sums that
   lower_values has lowered. Each has the statements that its sums need, so that it visits only tiles of this region.
   (regions.c) */
void lower_regions(struct lowering *x, struct stmt *inside, const struct expr *from, const struct expr *to);

/* Sums over the lanes with a vector per point of the stream (stage ACROSS, sweep.c):
   - lower_sums_across: whether a value is such an output
   - lower_begin_across: makes the arrays of these outputs. The first tile of lanes sets them to 0.
   - lower_across: makes the product that adds a tile's terms */
bool lower_sums_across(const struct lowering *x, const struct value *v);
void lower_begin_across(struct lowering *x);
void lower_across(struct lowering *x, int number);

/* The number of tiles of keys in a chunk, if the state sums all keys: FEW_TILES for few queries, otherwise
   KEYS_AT_A_TIME. */
enum { FEW_TILES = 8, KEYS_AT_A_TIME = 4 };

/* Returns the number of keys between the last key of a chunk's state and the chunk. The first chunks have no keys if it
   is not 0. */
int64_t lower_wait(const struct lowering *x, const struct value *state);
/* The number of tiles of keys in a chunk, rounded up. */
int64_t lower_tiles_of_chunk(const struct lowering *x);
/* Returns r with `column` as its last axis, which is in the lanes. If necessary, transposes the tile at *at. */
struct ref lower_turned(struct lowering *x, struct stmt ***at, struct ref r, int row, int column);
/* Returns the factor that rescales sums when their maximum changes: exp2(from - to), or (from / to)^power. */
const struct expr *lower_moved(struct lowering *x, const struct lowered_value *maximum, const struct expr *from,
                               const struct expr *to);
/* Appends the statement tile = tile * factor. `tile` and `factor` are numbers of arrays. */
void lower_rescale(struct lowering *x, struct stmt ***at, int rank, const int *axes, int tile, int factor);
/* Whether an operand of v varies along the stream. */
bool lower_has_stream(const struct lowering *x, const struct value *v);
/* Whether v is a sum over an outer axis. */
bool lower_sums_outer(const struct lowering *x, const struct value *v);
/* Returns a new, empty list of statements. */
struct stmt **lower_new_list(struct lowering *x);
/* Returns the chunk at `place` in the order of loops: `place`, or size - 1 - place if x->after. */
const struct expr *lower_chunk_number(const struct lowering *x, const struct expr *place);
/* Finds the queries whose last key is in the current chunk: *from to *to - 1 of `axis`. `last` is a query's last
   key. */
void lower_chunk_range(const struct lowering *x, int axis, const struct expr *last, const struct expr **from,
                       const struct expr **to);
/* Whether integers, such as the sequence's length, say which keys no query sees. */
bool lower_has_padding(const struct lowering *x);
/* Makes the loops over outer axes and, inside, the loop over tiles of keys `from` to `to` - 1. Returns the
   innermost. */
struct stmt *lower_stream_loop(struct lowering *x, struct stmt ***at, const struct expr *from, const struct expr *to);
/* Appends a loop over the axis from `from` to `to` - 1, `step` indices at a time, and returns it. */
struct stmt *lower_loop_over(struct lowering *x, struct stmt ***at, int axis, const struct expr *from,
                             const struct expr *to, int64_t step);

/* Makes the array of an input, parameter or table, unless it exists. */
void lower_array(struct lowering *x, int number, enum array_kind kind);
/* Makes the statements before, in and after one loop over keys: for states if `sums` is STATE, otherwise for all
   other values. */
void lower_values(struct lowering *x, enum stage sums);

/* Makes the second loop over keys, with the values of stage AGAIN and the values of stage INSIDE that they need. */
void lower_again(struct lowering *x);

/* Makes the loops over the output's axes and tiles of queries, with this body. An axis in `open` has a loop already. */
void lower_query_loops(struct lowering *x, struct stmt ***at, const bool *open, bool parallel, struct stmt *body);
/* For a SELECT (select.c): lower_select makes the tiles of its candidates, and the statement that adds those of a tile
   of keys. lower_list appends the statement that writes the lists of output o. */
void lower_select(struct lowering *x, int number);
void lower_list(struct lowering *x, int o, struct stmt ***at);
/* Appends the copy from the tile of output o. */
void lower_copy_output(struct lowering *x, int o, struct stmt ***at);
void lower_copy_value(struct lowering *x, int v, struct stmt ***at); /* to each output that has value v */
/* Appends copies from tiles to outputs: to outputs with sums over slices if `of_slices`, otherwise to all other
   outputs that no sweep or second loop writes. */
void lower_copy_outputs(struct lowering *x, bool of_slices, struct stmt ***at);
/* Makes the loop over slices: x->opened, loops over the slice's rows with this body, x->closed. */
void lower_slice_loops(struct lowering *x, struct stmt ***at, struct stmt *body);
/* Makes the body of the loop over tiles of queries: the statements before, in and after the loop over keys. */
struct stmt *lower_query_body(struct lowering *x);

/* Appends array = its factor from chunk to chunk times itself, or 0 if the state v is lost. */
void lower_keep_state(struct lowering *x, const struct value *v, int array, struct stmt ***at);
/* Lowers a graph with states. Makes loops that sum and fold the states, and loops over the queries that read them. */
void lower_states(struct lowering *x, struct stmt **at);

/* Lowers a graph with a SOLVE. Each head has one loop over chunks of keys. (solve.c) */
void lower_solve(struct lowering *x, struct stmt **at);
/* Statements of the system of a chunk's keys. (system.c)
   - lower_earlier: makes the product of the rows' features with a state, the part of each row's sum that comes from
     the keys before the chunk. Returns its tile, [rows lanes].
   - lower_rest: makes the statement that subtracts the tile `earlier` from the values. Returns its tile.
   - lower_system: makes the SOLVE statement for the tile `rest`, [rows lanes]. Returns the tile of the solution.
   - lower_hides: whether the SOLVE hides more keys than those that are not earlier
   - lower_shown: returns the condition on positions without which the features that r reads are 0, or NULL
   - lower_if_shown: returns `values`, [along lanes], with 0 where the features are: 0 * infinity would be NaN. */
bool lower_hides(const struct lowering *x, const struct value *solve, int equations);
const struct expr *lower_shown(const struct lowering *x, const struct ref *r);
struct ref lower_if_shown(struct lowering *x, const struct ref *features, struct ref values, int along, int lanes,
                          struct stmt ***at);
int lower_earlier(struct lowering *x, int state, int rows);
int lower_rest(struct lowering *x, int rows, int lanes, int earlier);
int lower_system(struct lowering *x, int rest);
/* Lowers the transitions of the states of a SOLVE. (transition.c)
   - lower_sums_solution: whether a state sums the solution
   - lower_begin_transitions: makes their tiles, and sets them to the transition of no tokens
   - lower_transitions: computes the solution for a chunk, without values. Returns its tile
   - lower_join: makes the statements that apply the transitions of a second state to the states and transitions, and
     add the second state */
bool lower_sums_solution(const struct lowering *x, const struct value *v);
void lower_begin_transitions(struct lowering *x, struct stmt ***at);
int lower_transitions(struct lowering *x, int rows);
void lower_join(struct lowering *x, struct stmt ***at);
/* Replaces `from` by `to` in a list of statements and inside. (solve.c) */
void lower_replace(struct lowering *x, struct stmt *s, const struct expr *from, const struct expr *to);
/* Replaces the number of the chunk in statements inside a loop over the chunk's keys. The new number is the chunk of
   these keys plus `step`. (solve.c) */
void lower_name_chunk(struct lowering *x, struct stmt *s, int keys, int step);
/* Lowers a graph by chunks, at *at. (chunks.c) */
void lower_by_chunks(struct lowering *x, struct stmt **at);
/* Makes the body of `loop`, which has the range of a chunk's keys, compute the prefix sums of a decay of elements. Does
   nothing if their terms read other values than real arrays. (chunk_sums.c) */
void lower_chunk_sums(struct lowering *x, struct stmt *loop, int keys, int queries);
/* Let the loops of states compute the sums, if their tiles have elements in the lanes:
   - lower_sums_of_states: the body of `keys`, the loop over a chunk's keys, computes the sums. It leaves those of the
     whole chunk in slots, which the statements `fold` read.
   - lower_over_chunk: returns a loop over the keys of the current chunk, as one tile, around `body`, the statements of
     the chunk's queries. It computes the sums again. Before it is a statement that sets rows to 0 if no keys are. */
void lower_sums_of_states(struct lowering *x, struct stmt *keys, struct stmt *fold);
struct stmt *lower_over_chunk(struct lowering *x, struct stmt *body);
/* Lowers a graph whose output is a SOLVE with features, at *at. Each head has one loop over chunks of keys. (solve.c)
 */
void lower_solution(struct lowering *x, struct stmt **at);
/* Makes the loop over chunks of `axis`, and inside it the loop over the indices of a chunk. If the SOLVE is backward,
   the last chunk comes first. Returns the inner loop. (solve.c) */
struct stmt *lower_chunks(struct lowering *x, int axis, struct stmt ***at);
/* Lowers the program whose output is the solution of a SOLVE without features, at *at. Each head has one loop over
   tiles of equations. (substitute.c)
   - lower_find_maximum: if the weights are relative to a maximum, makes it a running maximum. It must be called
     before the stages are found. */
void lower_find_maximum(struct lowering *x);
/* Makes weights that a SOLVE divides by a sum of their row, and multiplies, too, a map of two operands: of the products
   and of the sum. */
void lower_split_quotient(struct graph *g);
bool lower_divides_weights(const struct lowering *x, int solve);
void lower_substitution(struct lowering *x, struct stmt **at);
/* Makes the statements of one value. (value.c) */
void lower_value(struct lowering *x, int v);

#endif
