/* Shared by the files of the differentiate pass. The pass turns the graph of forward into graphs that compute the
   gradients. The files use these words:
   - pair: a query i and a key j. A value over pairs, such as a weight, has both axes.
   - row: one query or one key of one head. A row value has one number or one vector for each row.
   - row's sum: the sum over j of w[i][j] for query i. It divides the weights of row i.
   - lanes, stream: the sequence in the vector lanes, and the sequence that loops read tile by tile (struct roles).
   - term: a summand of a gradient (struct gradient_term).
   - carried state: a sum over keys for each chunk, S[c]. Queries of chunk c read S[c].
   - total: a sum over a sequence that has no sequence axis left, such as the gradient of a parameter.
   - slice: a part of all rows. Each slice of a total is summed separately, so that threads can share the work.
   - group: outputs that share loops.
   - program: code that is compiled by itself. The gradients are divided into several programs, which run one after
     another. */
#ifndef ATTNC_PASS_DIFFERENTIATE_H
#define ATTNC_PASS_DIFFERENTIATE_H

#include "../../schedule/schedule.h"

/* A summand of a gradient: value / by inside the region `where`, and 0 outside. The term is also 0 where `by` is 0. A
   term that lacks an axis of the gradient is constant along this axis. */
struct gradient_term {
    int value;                /* the number of the graph's value */
    int by;                   /* the number of the value that divides the term; its axes are axes of the term; -1: no
                                 divisor */
    const struct expr *where; /* NULL: everywhere */
};

/* One use of a carried state S, which contributes to the gradient with respect to S:
   - user: the number of the CONTRACT that reads S
   - operand: 0 or 1, the operand of this CONTRACT that is S[chunk of the query]
   - term: the gradient with respect to the result of this CONTRACT */
struct state_gather {
    int user, operand;
    struct gradient_term term;
};

/* The state of the pass. Values of the graph are named by their numbers. */
struct reversal {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int forward; /* the number of values of the graph of forward; values of the gradients follow them */
    /* The output of forward; then two inputs that the pass adds: the output of forward, and its gradient. */
    int out, given_out, given_dout;
    const struct graph *before; /* the graph of forward */
    bool *active;               /* for each value: whether it depends on an input or a learned parameter */
    /* For each value of forward: the terms of its gradient. A carried state has gathers instead of terms. */
    struct {
        int terms, term_capacity, gathers;
        struct gradient_term *term;
        struct state_gather gather[4];
    } *of;
    int solution, transposed; /* the SOLVE of forward, and that of the gradients (solve.c); -1: there is none */
    bool failed;              /* an error has been reported */
};

/* ---- helpers that build values (term.c) ---- */

/* Reports once that the gradient of `what` is not compiled yet, and sets x->failed. */
void reversal_fail(struct reversal *x, const char *what);
/* Appends v to the graph; returns its number. */
int reversal_append(struct reversal *x, struct value v);
/* Returns the operand of the unfinished map that reads r. Adds this operand to the map if it is missing. */
const struct expr *reversal_operand(struct reversal *x, struct value *map, struct ref r);
const struct expr *reversal_value(struct reversal *x, struct value *map, int v); /* reads v along its own axes */
/* Finishes a map with expression e. Drops axes and operands of the map that e does not use. Returns the map's
   number. */
int reversal_map(struct reversal *x, struct value *map, const struct expr *e);
uint32_t reversal_bits(int rank, const int *axes);       /* a set of axes: bit a stands for axis a */
uint32_t reversal_axes(const struct reversal *x, int v); /* the axes of value v, as bits */
/* Returns the axes that an expression over the operands of value v varies along, as bits. */
uint32_t reversal_axes_within(const struct reversal *x, const struct value *v, const struct expr *e);
int reversal_chunk_axis(const struct reversal *x, const struct value *v); /* the axis of chunks; -1: none */
/* Whether v is a carried state: a sum that has an axis of chunks. */
bool is_carried_state(const struct reversal *x, int v);

/* ---- terms of gradients, and the rules (rule.c) ---- */

/* Adds a term to the gradient with respect to the value that r reads. The term's axes are the axes in the subscripts of
   r. Example: if r is x[j + 1 - 2 * (j % 2)], a term over j goes to the swapped element of x. */
void reversal_give_back(struct reversal *x, const struct ref *r, struct gradient_term t);
/* Adds a term to the gradient with respect to value v. The term's axes are axes of v. */
void reversal_give(struct reversal *x, int v, struct gradient_term t);
/* Returns the gradient with respect to v: the sum of its terms, as one term. There must be at least one term. */
struct gradient_term reversal_gradient(struct reversal *x, int v);
/* Returns a term that is equal to t and has no divisor. */
struct gradient_term reversal_divided(struct reversal *x, struct gradient_term t);
/* Returns a term that is equal to t and has neither a divisor nor a region. */
struct gradient_term reversal_plain(struct reversal *x, struct gradient_term t);
/* Reverse-mode rules for the three operations. `t` is the gradient with respect to value `number`. A rule adds terms to
   the gradients with respect to the operands of this value. */
void reversal_map_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_contract_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_reduce_rule(struct reversal *x, int number, struct gradient_term t);

/* A subscript of r can be computed from an index, such as s(f) in x[s(f)]. Replaces each such subscript by the plain
   index of an axis. `e`, over the operands of `map`, is a term for each point of *axes in the region *where. The
   function rewrites `map`, *axes and *where for the new axis, and returns the new e. (gather.c) */
const struct expr *reversal_scatter(struct reversal *x, struct value *map, const struct expr *e, struct ref *r,
                                    uint32_t *axes, const struct expr **where);

/* A weight that is divided by its row's sum, rewritten so that it cannot overflow (weight.c):
   - exp(x) / sum becomes exp(x - log(sum))
   - x^p / sum becomes (x / sum^(1/p))^p */
struct normalised {
    const struct expr *exponential; /* the factor exp(x) as the weight has it; NULL: the weight has a power instead */
    int factor;                     /* the value exp(x - log(sum)); -1: the weight has a power instead */
    int weight;                     /* the value that is the weight divided by the sum; -1: no such weight */
};
/* Whether normalise_weight can fold the divisor `by` into the weight. `by` must have fewer axes than the weight. The
   weight must have a factor exp(x) where x is not yet relative to a maximum, or it must have a power that may
   overflow. */
bool takes_divisor(const struct reversal *x, int weight, int by);
/* Makes the values of struct normalised. takes_divisor must hold. */
struct normalised normalise_weight(struct reversal *x, int weight, int by);
/* Returns the product e, over the operands of the map, divided by value `by`. A factor exp(x) of e becomes
   exp(x - log(by)), because exp(x) alone may overflow. Example: the sum of a row has the term exp(x), and the gradient
   with respect to x is needed. NULL: e has no such factor, it is bounded, or `by` may be negative. (weight.c) */
const struct expr *reversal_divide_exponential(struct reversal *x, struct value *map, const struct expr *e, int by);
/* Whether the output does not depend on the maximum v. Example: exp(s - v) divided by the sum of exp(s - v). */
bool is_cancelled_maximum(const struct reversal *x, int v);

/* Passes the gradient with respect to the carried state v on to the features and values that it sums (state.c). */
void reverse_state(struct reversal *x, int v);
/* Makes A of one use of the carried state v as the unfinished value *after. Sets *keys to the features that v sums, for
   each key, as its own chunk takes them in. Returns false after an error. (state.c) */
bool reversal_state_after(struct reversal *x, int v, const struct state_gather *read, struct value *after,
                          struct ref *keys);
/* Passes the gradient with respect to a SOLVE on to its operands (solve.c). Values after it can get new terms. */
void reverse_solve(struct reversal *x, int number, struct gradient_term t);

/* Divides the gradients of a SOLVE into parts (parts.c). The last `results` outputs of the graph are those of forward.
   Returns the number of parts, which become the first outputs. */
int reversal_cut(struct reversal *x, int results);

/* Turns saved row values and row sums into inputs of the gradient programs. Makes the programs that compute these
   inputs: c->gradients.saving for row values, c->gradients.row_sums for row sums. (save.c) */
void reversal_save_rows(struct compilation *c);

/* Whether a value is a total (total.c). */
bool reversal_is_total(const struct module *m, const struct value *v);
/* Returns the summed axes of v and v's own axes, as bits. Together they are the axes of v's operands and region.
   (total.c) */
uint32_t reversal_summed(const struct value *v);
/* Returns the axes in `axes` that are sequences, as bits (total.c). */
uint32_t reversal_sequences(const struct module *m, uint32_t axes);
/* Some totals are used by rows or by other totals. Turns each such total into an output, and into an input of its
   users. These outputs come before all other outputs of the graph. Returns their number. (whole.c) */
int reversal_split_wholes(struct compilation *c);

/* Computes totals in two steps: the graph outputs the sum of each slice, and a separate program, c->gradients.totals,
   adds the slices. A total over two sequences is sliced along `lane`. Outputs 0 to `wholes` - 1 are not gradients and
   stay as they are. (total.c) */
void reversal_split_totals(struct compilation *c, int lane, int wholes);
/* Computes a gradient in two steps if it is a sum over heads that have separate states (heads.c). */
void reversal_split_heads(struct compilation *c);

/* If rows of the stream have a factor, f[j] * x[j], moves the factor from the vectors to the pairs (factor.c says why).
   Changes only the loops of the graph's output 0. */
void reversal_move_factors(struct graph *g);

/* Merges two groups of gradients if one sweep over the pairs can compute what both need (sweep.c). of[o] is the group
   of output o. The outputs of the merged group become sums in the loops of the remaining group. The program
   c->gradients.from_sums computes the gradients from these sums. Returns the number of groups that remain. */
int reversal_join_groups(struct compilation *c, int *of, int groups);

#endif
