/* What the files of lowering share. */
#ifndef ATTNC_PASS_LOWER_H
#define ATTNC_PASS_LOWER_H

#include "../schedule/schedule.h"

/* ACROSS: a sum over the lanes that the loop over the stream adds to. */
enum stage { BEFORE, INSIDE, AFTER, STATE, ACROSS };

/* What becomes of one value of the graph. Numbers are those of arrays. */
struct lowered_value {
    enum stage stage;
    int array;            /* that holds it; of a state at first the chunks' slots */
    bool inlined;         /* a map that its only user computes in its own nest: it has no array */
    bool over_outer;      /* a sum over `outer` alone */
    bool closed;          /* a map of such sums, after the loops over these axes */
    bool running;         /* a maximum that sums are relative to, which grows as keys are seen */
    bool masked_infinity; /* a tile whose elements outside the region are -inf by now */
    bool masked_zero;     /* or 0 */
    int rescale;          /* of a running maximum: the factor that moves sums to the new maximum */
    int carried;          /* of a state: the tile that slots are folded into */
    int keep, take; /* of a state that is a running maximum: the factors of what was carried and of what a slot adds */
};

struct lowering {
    struct compilation *c;
    const struct graph *g;
    struct loops *l;
    struct module *m;
    int output;       /* the value that is lowered */
    int lane, stream; /* the axes of queries and keys; stream is -1 when nothing is summed over a run-time axis */
    int chunk;        /* the axis of chunks, or -1 */
    uint32_t outer;   /* axes that loops around the one over keys sum over, as bits */
    bool alone;       /* the result has both sequences, or none, and is summed over `outer` alone */
    int rows;         /* the axis of rows, where queries are few, or -1: then nothing but keys and elements has lanes */
    int unit;         /* the axis of the units that share out rows, or -1 */
    uint32_t within;  /* of a unit's loops: the axes of its rows but for those that its sums keep, as bits */
    bool prefix; /* the graph has that axis: queries meet the state before their chunk; else the state of all keys */
    bool after;  /* the states are of the chunks after a lane's own: chunks come in reverse, the last one is number 0 */
    const struct expr *chunk_of,
        *last; /* the number of a lane's chunk, as the graph says it; the lane's position in that */
    const struct expr *stream_last; /* the same position of what is summed, where states are of the chunks after */
    int ring;                       /* the axis of recent chunks, or -1 */
    int *outputs;                   /* the arrays of outputs, where they are made before their values */
    struct lowered_value *lowered;  /* one for each value of the graph */
    const bool *needed;             /* by value: in the statements that are being made */
    struct stmt **end, **before, **inside; /* where the next statement goes */
    struct stmt **prepare;                 /* the same, of what rows are before they meet keys; NULL: with `before` */
    struct stmt **open, **close;           /* the same, around the rows of a unit */
    struct stmt **opened, **closed;        /* the beginnings of these two lists */
    struct stmt **begin, **fold;           /* the same, of states: before the windows, after the chunks of one */
};

bool lower_run_time(const struct lowering *x, int axis);
/* Whether a value is of pairs of queries and keys. */
bool lower_of_pairs(const struct lowering *x, const struct value *v);
/* Whether a value is the sum over the rows of each unit. */
bool lower_of_units(const struct lowering *x, const struct value *v);
struct stmt *lower_append(struct lowering *x, struct stmt ***at, int op);
/* The axes of a value's tile: constant ones first, then keys, then queries, so that the sequence is in the lanes. */
int lower_tile_axes(const struct lowering *x, const struct value *v, int *axes);
int lower_new_tile(struct lowering *x, const char *name, int rank, const int *axes);
int lower_output(struct lowering *x, int o); /* the array of an output */
const char *lower_tile_name(const struct lowering *x, const struct value *v);
/* The reference of the graph as one to arrays: a tile drops the axes that have one value in its loops; the chunk of a
   query is that of its loop. */
struct ref lower_ref(const struct lowering *x, const struct ref *r);
/* A MAP statement over the given axes that assigns one expression. */
struct stmt *lower_assign(struct lowering *x, struct stmt ***at, int rank, const int *axes, int to, enum fold fold,
                          const struct expr *e);
/* Sets all of an array, or of a chunk's slot. */
void lower_set_constant(struct lowering *x, struct stmt ***at, int array, double value);
/* Where a sum over keys in f32 keeps what rounding left over; 0 for other sums. It starts at 0. */
int lower_new_compensation(struct lowering *x, bool streamed, int to, struct stmt ***at);

/* Masked elements of the operand's tile become what the fold ignores, unless what it is computed from already makes
   them so. */
void lower_apply_region(struct lowering *x, const struct value *sum, int operand, double neutral);

/* Whether an output is a sum over the lanes for every point of the stream; the arrays of those, set to 0 by the first
   tile of the lanes; and the product that adds to one (lower_sweep.c). */
bool lower_sums_across(const struct lowering *x, const struct value *v);
void lower_begin_across(struct lowering *x);
void lower_across(struct lowering *x, int number);

/* Keys of a chunk come in tiles; plain sums of FEW_TILES of them lose nothing. */
enum { FEW_TILES = 8, KEYS_AT_A_TIME = 4 };

int64_t lower_tiles_of_chunk(const struct lowering *x);
/* What is read of an array; of a tile whose last axis is not `column` it is a copy, [row, column], made at *at. */
struct ref lower_turned(struct lowering *x, struct stmt ***at, struct ref r, int row, int column);
/* The tile times the factor. */
void lower_rescale(struct lowering *x, struct stmt ***at, int rank, const int *axes, int tile, int factor);
bool lower_has_stream(const struct lowering *x, const struct value *v);
/* Whether v, a sum, sums over an axis of the loops around the one over the stream. */
bool lower_sums_outer(const struct lowering *x, const struct value *v);
struct stmt **lower_new_list(struct lowering *x);
/* The number of a chunk in the graph, of what its place in the order of the loops is. */
const struct expr *lower_chunk_number(const struct lowering *x, const struct expr *place);
/* The indices of the axis whose last key, an expression over INDEX of it, is in the chunk at hand; the first chunk has
   those that see none, too. */
void lower_chunk_range(const struct lowering *x, int axis, const struct expr *last, const struct expr **from,
                       const struct expr **to);
/* The loop over the tiles of the stream, in one over each axis around it that is summed over too; without a stream the
   innermost of these. */
struct stmt *lower_stream_loop(struct lowering *x, struct stmt ***at, const struct expr *from, const struct expr *to);
struct stmt *lower_loop_over(struct lowering *x, struct stmt ***at, int axis, const struct expr *from,
                             const struct expr *to, int64_t step);

void lower_array(struct lowering *x, int number, enum array_kind kind);
/* The values of one of the loops over keys: the sums of the given stage and all that they need. Returns the region they
   share, or NULL. */
const struct expr *lower_values(struct lowering *x, enum stage sums);

/* The loops over the queries of a tile: `body` in a loop over the queries, in loops over the axes that are not yet
   `open`. */
void lower_query_loops(struct lowering *x, struct stmt ***at, const bool *open, bool parallel, struct stmt *body);
/* Copies the outputs that are sums over the rows of units, or the others, out of their tiles. */
void lower_copy_outputs(struct lowering *x, bool of_units, struct stmt ***at);
/* The same over units, and over the rows of each, between what opens and what closes a unit. */
void lower_unit_loops(struct lowering *x, struct stmt ***at, struct stmt *body);
/* Three lists, joined to the body of the queries' loop: what comes before the loop over keys, its body, and what comes
   after it. */
struct stmt *lower_query_body(struct lowering *x);

/* States, and queries that meet them. */
void lower_states(struct lowering *x, struct stmt **at);

#endif
