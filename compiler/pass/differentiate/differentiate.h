/* Shared by the files of the differentiate pass. */
#ifndef ATTNC_PASS_DIFFERENTIATE_H
#define ATTNC_PASS_DIFFERENTIATE_H

#include "../../schedule/schedule.h"

/* A term of a gradient. A term is constant along axes of the gradient that `value` lacks. Where the divisor `by` is 0,
   the term is 0. */
struct gradient_term {
    int value;
    int by;                   /* the value that divides the term, over a subset of its axes; -1: none */
    const struct expr *where; /* the term is 0 outside this region; NULL: no region */
};

/* A term of the gradient with respect to a carried state. The term comes from queries that read the state before their
   chunk. */
struct state_gather {
    int user, operand;
    struct gradient_term term;
};

struct reversal {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int forward; /* the number of values of the differentiated graph; values of the gradients follow */
    /* The output of the differentiated graph, the input with the output's value, the input with its gradient. */
    int out, given_out, given_dout;
    const char *out_name;
    bool *active; /* by value: whether it depends on an input or a learned parameter */
    struct {
        int terms, term_capacity, gathers;
        struct gradient_term *term;
        struct state_gather gather[4];
    } *of; /* by value */
    bool failed;
};

/* Helpers that build values (term.c). */
void reversal_fail(struct reversal *x, const char *what);
int reversal_append(struct reversal *x, struct value v);
/* Returns the operand of the unfinished map that reads r. Adds the operand if it is missing. */
const struct expr *reversal_operand(struct reversal *x, struct value *map, struct ref r);
const struct expr *reversal_value(struct reversal *x, struct value *map, int v); /* reads v along its own axes */
/* Finishes a map with expression e and only the axes that e uses; returns the map's number. */
int reversal_map(struct reversal *x, struct value *map, const struct expr *e);
uint32_t reversal_bits(int rank, const int *axes);       /* a set of axes as bits */
uint32_t reversal_axes(const struct reversal *x, int v); /* the axes of value v */
/* The axes that an expression over the operands of value v varies along. */
uint32_t reversal_axes_within(const struct reversal *x, const struct value *v, const struct expr *e);
int reversal_chunk_axis(const struct reversal *x, const struct value *v); /* -1: none */
/* Whether v is a carried state: a sum over keys for each chunk. */
bool is_carried_state(const struct reversal *x, int v);

/* ---- terms of gradients, and the rules (rule.c) ---- */

/* Adds a term to the gradient with respect to the value that r reads. The term has the axes that r names. */
void reversal_give_back(struct reversal *x, const struct ref *r, struct gradient_term t);
/* Adds a term to the gradient with respect to value v. */
void reversal_give(struct reversal *x, int v, struct gradient_term t);
/* Returns the gradient with respect to v as one term, the sum of the gradient's terms. */
struct gradient_term reversal_gradient(struct reversal *x, int v);
/* Returns the term t after its division by t.by. */
struct gradient_term reversal_divided(struct reversal *x, struct gradient_term t);
/* These pass the gradient with respect to a value on to its operands. */
void reversal_map_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_contract_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_reduce_rule(struct reversal *x, int number, struct gradient_term t);

/* Removes the computed subscripts of a reference r. e is a term for each point of *axes in the region *where.
   Rewrites *r, *axes and *where so that each subscript of r is an axis; returns the rewritten e. (gather.c) */
const struct expr *reversal_scatter(struct reversal *x, struct value *map, const struct expr *e, struct ref *r,
                                    uint32_t *axes, const struct expr **where);

/* A weight that is divided by its row's sum is rewritten so that it cannot overflow (weight.c):
   - exp(x) / sum becomes exp(x - log(sum))
   - x^p / sum becomes (x / sum^(1/p))^p */
struct normalised {
    const struct expr *exponential; /* the exponential factor as written; NULL: a power, or no such weight */
    int factor;                     /* the value that is the normalised exponential */
    int weight;                     /* the value that is the normalised weight; -1: no such weight */
};
bool takes_divisor(const struct reversal *x, int weight, int by);
struct normalised normalise_weight(struct reversal *x, int weight, int by);
/* Whether the maximum v cancels in the output. A maximum cancels if exponentials are relative to this maximum and only
   their quotients matter. */
bool is_cancelled_maximum(const struct reversal *x, int v);

/* Passes the gradient with respect to a carried state on to the values that the state sums (state.c). */
void reverse_state(struct reversal *x, int v);

/* Turns saved row values and row sums into inputs of the gradient programs (save.c). Sets the programs that compute
   these inputs: c->gradients.saving for row values, c->gradients.row_sums for row sums. */
void reversal_save_rows(struct compilation *c);

/* Whether a value is a total: a sum over rows that is itself not a row (total.c). */
bool reversal_is_total(const struct module *m, const struct value *v);
/* The axes of a sum's operands and of its region (total.c). */
uint32_t reversal_summed(const struct value *v);
/* The axes in `axes` that are sequences (total.c). */
uint32_t reversal_sequences(const struct module *m, uint32_t axes);
/* Turns each total that rows or other totals depend on into an output of a separate program (whole.c). These outputs
   precede all other outputs of the graph. Returns the number of these outputs. */
int reversal_split_wholes(struct compilation *c);

/* Computes totals in slices, which are groups of rows (total.c). The graph outputs the sum of each slice, and a
   separate program, c->gradients.totals, adds the slices. If there are two sequences, `lane` is the sequence that is
   sliced. Outputs 0 to `wholes` - 1 are not gradients. */
void reversal_split_totals(struct compilation *c, int lane, int wholes);
/* Computes a gradient in two steps if it is a sum over heads that have separate states (heads.c). */
void reversal_split_heads(struct compilation *c);

/* Moves factors of streamed rows from vectors to pairs, in the loops of the graph's output 0 (factor.c). */
void reversal_move_factors(struct graph *g);

/* Computes a group of gradients in the loops of another group if possible (sweep.c). The outputs of the moved group
   become sums in the other group, and the program c->gradients.from_sums computes the gradients from these sums. of[o]
   is the group of output o. Returns the number of groups that remain. */
int reversal_join_groups(struct compilation *c, int *of, int groups);

#endif
