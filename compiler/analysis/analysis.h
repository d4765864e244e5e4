/* What is known of a program without running it: integers over ranges of axes, values of real expressions, ranges of
   regions, decay, lists that are drawn. */
#ifndef ATTNC_ANALYSIS_H
#define ATTNC_ANALYSIS_H

#include "../schedule/schedule.h"
#include "../spec/spec.h"

/* What the run-time axes are to an output (roles.c); -1: there is none. */
struct roles {
    int lane;       /* its sequence, whose points are in the lanes: the queries of a row of the result */
    int stream;     /* what is summed over, tile by tile: the keys */
    bool alone;     /* the result has both sequences, or none: nothing is summed over but `outer` */
    int chunk;      /* the chunks of a carried state */
    uint32_t outer; /* what is summed over one by one around the stream, as bits: the heads that share the keys, for a
                       result of keys */
    int unit;       /* of a sum over rows: the axis of the units that share them out */
    uint32_t rows;  /* the axes of its rows, the lane among them, as bits: of such a sum those that it sums over, too */
};
/* How the rows over these axes, the lane the last of them, are shared out into units: the number of the first row of
   the current indices (`leaf`: INDEX or LO) of the other axes, and how many rows a unit has. */
struct row_units {
    const struct expr *first, *length;
};
struct row_units units_of_rows(struct module *m, uint32_t axes, int lane, int unit, enum expr_op leaf);
/* Of the output of that number. Returns NULL, or why loops cannot be made for it. */
const char *roles_of(const struct graph *g, int output, struct roles *out);
/* Sorts outputs into groups that can share their loops, numbered from 1 in the order of their first outputs: that of
   output o to group[o]. Returns how many there are. */
int output_groups(const struct graph *g, int *group);

/* ---- integers over the current ranges of axes (affine.c) ---- */

enum { MAX_TERMS = 8 };

/* The sum of weight[axis] * INDEX, of times * term (each with indices, and no sum itself) and of the remainder, which
   has none. Begin with remainder 0. */
struct form {
    int64_t weight[MAX_AXES];
    int terms;
    struct {
        int64_t times;
        const struct expr *e;
    } term[MAX_TERMS];
    const struct expr *remainder;
};
/* These say false when the form cannot hold the sum. */
bool form_add(struct module *m, struct form *f, const struct expr *e, int64_t times);
bool form_scale(struct module *m, struct form *f, int64_t times);
/* The largest value of sign * form over the current ranges at most, the least at least, in SIZE, LO, HI; NULL: not
   known. */
const struct expr *form_extreme(struct module *m, const struct form *f, int64_t sign, bool largest);
const struct expr *expr_extreme(struct module *m, const struct expr *e, bool largest);
/* Whether e is x / by, rounded down. */
bool floor_quotient(struct module *m, const struct expr *e, const struct expr **x, int64_t *by);
const struct expr *floor_divide(struct module *m, const struct expr *x, int64_t by);
/* a - b, where that is known; of expressions without indices. */
bool known_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *difference);

/* Between which numbers a real expression stays, whatever the indices and sizes; from -infinity to infinity where that
   is not known. (value_range.c) */
struct real_range {
    double low, high;
};
struct real_range real_range(const struct expr *e);
struct real_range real_range_of(const struct expr *e,
                                struct real_range operand); /* where operands stay in that range */

/* An exponential of query and key as base^(position of the query - position of the key) * factor of the query * factor
   of the key, with a base above 0 and up to 1 that is the same for all queries and keys. `ordered`: no key comes after
   the query. Returns why it is none, or NULL. (decay.c) */
struct decay {
    const struct expr *base, *factor[2];
};
const char *decay_of(struct module *m, const struct value *weight, int lane, int stream, bool ordered,
                     const struct expr *e, struct decay *out);

/* The indices of an axis that a region has for some point of the current ranges of the other axes, or a few more; or
   (`every`) those that it has for every point, or a few less. A union; a bound that is NULL is none. (region.c) */
struct ranges {
    int count;
    struct range range[MAX_RANGES];
};
void region_ranges(struct module *m, const struct expr *region, int axis, bool every, struct ranges *out);

/* Whether some query may see a key after its own position; where it cannot be shown that none does, it may. (reach.c)
 */
bool looks_ahead(const struct graph *g);
/* Whether what a query sees or computes depends on how long the sequence is, besides its own position. */
bool depends_on_length(const struct graph *g);
/* How many keys before the chunk of a query its loops read at most, where a state takes in whole chunks; negative: it
   depends on the position, or is not known. */
int64_t keys_read_back(const struct compilation *c);
/* Which keys the loops of a program without chunks read at whatever position: the first ones, `back` before the first
   query of a tile, and those after it; false: it is not known, or more. A tile of queries early in a sequence, up to
   position first + back, may read others. (sinks.c) */
bool keys_read_on(const struct compilation *c, int64_t *first, int64_t *back);
/* moves_on: whether a query sees and computes the same when `by` is added to its position and to those of all keys.
   takes_any_order: whether it makes no difference in what order the keys before a query stand. (shift.c) */
bool moves_on(const struct graph *g, int64_t by);
bool takes_any_order(const struct graph *g);

/* The keys that a conjunction leaves of every period, from those of its conditions that repeat themselves (period.c):
   the residues from `phase` on, at most `run` of them. */
struct period {
    uint64_t periodic;        /* those conditions, as bits; 0: there are none */
    int64_t period, run;      /* run 0: it leaves nothing */
    bool with_query;          /* the phase moves with the query: it is given for the first one of the current range */
    bool exact;               /* all of these residues are left */
    const struct expr *phase; /* in SIZE, LO */
};
void conjunction_period(struct module *m, int query_axis, int key_axis, int conditions,
                        const struct expr *const *condition, struct period *out);
/* A condition on the current ranges of all axes without which the region has no point in them, because of the ids it
   reads; NULL: none is known. */
const struct expr *region_reached(struct module *m, const struct expr *region);
/* Bytes of workspace that these need, after the tiles. */
int64_t ranges_workspace(const struct compilation *c);
/* Warns of the user's exponentials that may overflow in what a spec was compiled to; `source` is its graph before the
   first pass. (overflow.c) */
void overflow_warn(const struct spec *spec, const struct graph *source, const struct compilation *const *compilation,
                   int compilations, struct diagnostics *d);

bool draw_same_lists(const struct expr *a, const struct expr *b);

struct drawn_list {
    int count;
    const struct expr *e[MAX_DRAWN];
};

void draw_lists(const struct stmt *s, struct drawn_list *list);
int64_t draw_list_bytes(const struct compilation *c, const struct expr *drawn);
/* Of the union of a statement's ranges; 0 when it is short and of a known length, or that of the IF before a
   product. */
int64_t draw_union_bytes(const struct compilation *c, const struct stmt *s);

#endif
