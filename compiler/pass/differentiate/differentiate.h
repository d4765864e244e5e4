/* Shared by the files of the pass differentiate, which turns the graph of forward into graphs of gradients. "Gradient
   of x" is short for the gradient with respect to x. Words:
   - pair: a query i and a key j. A weight has both axes.
   - row: a query or key of a head. A row value has a number or vector for each row.
   - row's sum: the sum over j of w[i][j], which divides the weights of row i
   - lanes, stream: the sequence in the vector lanes, and the sequence that is read tile by tile (struct roles)
   - term: a summand of a gradient (struct gradient_term)
   - carried state: a sum over keys for each chunk, S[c], which queries of chunk c read
   - total: a sum over a sequence with no sequence axis left, such as the gradient of a parameter
   - slice: a part of all rows. Slices of a total are summed separately, by several threads.
   - group: outputs that share loops
   - program: code compiled by itself. The gradients are several programs in sequence. */
#ifndef ATTNC_PASS_DIFFERENTIATE_H
#define ATTNC_PASS_DIFFERENTIATE_H

#include "../../schedule/schedule.h"

/* A summand of a gradient. Inside the region `where`, it is value / by. It is 0 outside, and where `by` is 0. It is
   constant along axes that it lacks. */
struct gradient_term {
    int value;                /* the number of the graph's value */
    int by;                   /* the value that divides the term, or -1. Axes of this value are also axes of the term */
    const struct expr *where; /* the region of the term. NULL: everywhere */
};

/* A use of a carried state S, which contributes to its gradient:
   - user: the CONTRACT that reads S
   - operand: the number of the user's operand S[chunk of the query], 0 or 1
   - term: the gradient of the user's result */
struct state_gather {
    int user, operand;
    struct gradient_term term;
};

/* Rows that read an array at the position of another sequence (rows.c): row i of `axis` reads element `at` along axis
   number `sub` of the array. `map` is the value with these elements. batch: the axis of sequences, if `at` depends on
   it and the array lacks it. Otherwise -1. */
struct row_read {
    int array, map, sub, axis, batch;
    const struct expr *at;
};
enum { MAX_ROW_READS = 16 };

/* The state of the pass. Values are named by their numbers. */
struct reversal {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int forward; /* the number of values of forward. The values of gradients follow them */
    /* `out`: the output of forward. `given_out`, `given_dout`: inputs that the pass adds for this output and its
       gradient. */
    int out, given_out, given_dout;
    const struct graph *before; /* the graph of forward */
    bool *active;               /* for each value: whether it depends on an input or a learned parameter */
    /* For each value of forward: the terms of its gradient. For a carried state: its uses, in `gather`. */
    struct {
        int terms, term_capacity, gathers;
        struct gradient_term *term;
        struct state_gather gather[4];
    } *of;
    int solution, transposed; /* the SOLVE of forward, and the SOLVE of the gradients (solve.c). -1: there is none */
    int residual;        /* the value that is multiplied by the rate of the SOLVE of forward, at its equations, or -1 */
    int rows, left_rows; /* the number of row[], and of outputs rows_n */
    struct row_read row[MAX_ROW_READS];
    bool failed; /* an error has been reported */
};

/* ---- helpers that build values (term.c) ---- */

/* Reports once that the gradient of `what` is not compiled yet, and sets x->failed. */
void reversal_fail(struct reversal *x, const char *what);
/* Like reversal_fail. The error is at the declaration of array v. */
void reversal_fail_array(struct reversal *x, int v, const char *what);
/* Appends v to the graph and returns its number. */
int reversal_append(struct reversal *x, struct value v);
/* Returns the operand of the unfinished map that reads r, and adds it if needed. */
const struct expr *reversal_operand(struct reversal *x, struct value *map, struct ref r);
const struct expr *reversal_value(struct reversal *x, struct value *map, int v); /* reads v along the axes of v */
/* Appends the unfinished map with expression e to the graph, without unused axes and operands. Returns its number. */
int reversal_map(struct reversal *x, struct value *map, const struct expr *e);
uint32_t reversal_axes(const struct reversal *x, int v); /* the axes of value v, as bits */
/* Returns the axes of an expression over v's operands, as bits. */
uint32_t reversal_axes_within(const struct reversal *x, const struct value *v, const struct expr *e);
bool reversal_is_sum(const struct expr *e);                               /* whether e is a sum of operands */
int reversal_chunk_axis(const struct reversal *x, const struct value *v); /* the axis of chunks, or -1 */
/* Whether v is a carried state: a sum with an axis of chunks. */
bool is_carried_state(const struct reversal *x, int v);

/* ---- terms of gradients, and the rules (rule.c) ---- */

/* Adds a term to the gradient of the value that r reads. Example: if r is x[j + 1 - 2 * (j % 2)], the term of j goes
   to the swapped element of x. */
void reversal_give_back(struct reversal *x, const struct ref *r, struct gradient_term t);
/* Adds a term to the gradient of value v. The term has the axes of v. */
void reversal_give(struct reversal *x, int v, struct gradient_term t);
/* Returns the gradient of v: the sum of its terms. v must have a term. */
struct gradient_term reversal_gradient(struct reversal *x, int v);
/* Returns a term that is equal to t and has no divisor. */
struct gradient_term reversal_divided(struct reversal *x, struct gradient_term t);
/* Returns a term that is equal to t and has neither a divisor nor a region. */
struct gradient_term reversal_plain(struct reversal *x, struct gradient_term t);
/* Returns the conjunction of two conditions. NULL stands for true. */
const struct expr *reversal_both(const struct reversal *x, const struct expr *a, const struct expr *b);
/* Reverse-mode rules for the three operations. `t` is the gradient with respect to value `number`. A rule adds terms to
   the gradients with respect to the operands of this value. */
void reversal_map_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_contract_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_reduce_rule(struct reversal *x, int number, struct gradient_term t);
/* The gradient of an element of a SCAN's operand is a sum over the elements before it, where the SCAN sums those after
   it. This is the row's sum without the element and those after it, so that both run in one direction. */
void reversal_scan_rule(struct reversal *x, int number, struct gradient_term t);

/* Replaces computed subscripts of r, such as s(f) in x[s(f)], by plain indices. e is a term for each point of the
   axes *axes in the region *where. Rewrites e, *axes and *where for the new axis, and returns the new e. (gather.c) */
const struct expr *reversal_scatter(struct reversal *x, struct value *map, const struct expr *e, struct ref *r,
                                    uint32_t *axes, const struct expr **where);

/* A weight divided by its row's sum, without overflow (weight.c):
   - exp(x) / sum becomes exp(x - log(sum))
   - x^p / sum becomes (x / sum^(1/p))^p */
struct normalised {
    const struct expr *exponential; /* the factor exp(x) of the weight. NULL: the weight has a power */
    int factor;                     /* the value exp(x - log(sum)), or -1 if the weight has a power */
    int weight;                     /* the value weight / sum, or -1 */
};
/* Replaces exp(a) * exp(b) in products by exp(a + b): exp(a) alone may overflow. */
void join_exponentials(struct graph *g);
/* Whether normalise_weight can fold the divisor `by` into the weight. The weight needs an exponential or a power
   that may overflow. */
bool takes_divisor(const struct reversal *x, int weight, int by);
/* Makes the values of struct normalised. takes_divisor must be true. */
struct normalised normalise_weight(struct reversal *x, int weight, int by);
/* Returns e / `by`, for a product e with a factor exp(x). Writes this factor as exp(x - log(by)), because exp(x)
   alone may overflow. Returns NULL if e has no such factor or is bounded, or if `by` may be negative. (weight.c) */
const struct expr *reversal_divide_exponential(struct reversal *x, struct value *map, const struct expr *e, int by);
/* Whether a carried state sums, or a query multiplies it by, a factor exp(x) that is not bounded and has no axis of
   features, such as exp(j). Then rows are divided by 2^log2(sum): the sum itself may overflow. Sets *overflows if sums
   over keys have such a factor and this is not possible. (weight.c) */
bool reversal_has_growing_factors(const struct reversal *x, bool *overflows);
/* Returns e / `by`, as e * 2^-log2(by), or 0 if `by` is 0. (weight.c) */
const struct expr *reversal_times_inverse(struct reversal *x, struct value *map, const struct expr *e, int by);

/* Passes the gradient of the carried state v on to the features and values that it sums (state.c). */
void reverse_state(struct reversal *x, int v);
/* Makes the sum A (state.c) for one use of the carried state v, as the unfinished value *after. Sets *keys to the
   features that v sums, in the form in which the chunk of each key adds them. Returns false after an error.
   (state.c) */
bool reversal_state_after(struct reversal *x, int v, const struct state_gather *read, struct value *after,
                          struct ref *keys);
/* Passes the gradient with respect to a SOLVE on to its operands (solve.c). Values after the SOLVE can get new
   terms. */
void reverse_solve(struct reversal *x, int number, struct gradient_term t);

/* Whether a carried state sums the solution of the SOLVE of forward. (solve.c) */
bool reversal_has_solution_state(const struct reversal *x);
/* Makes the system whose solution times the rate is the solution of forward. Returns the number of the SOLVE. (solve.c)
 */
int reversal_residual_system(struct reversal *x);

/* Whether v is a number for each row of the result, which forward saves. (term.c) */
bool reversal_is_saved(const struct reversal *x, int v);
/* Divides the gradients, which are all outputs, into parts that loops over chunks compute. Sets *count to the number of
   parts, which become outputs. Returns false and changes nothing if such loops cannot compute them. (chunks.c) */
bool reversal_cut_by_chunks(struct reversal *x, int *count);
/* Divides the gradients of a SOLVE into parts (parts.c). The last `results` outputs of the graph are the outputs of
   forward. Returns the number of parts, which become the first outputs. */
int reversal_cut(struct reversal *x, int results);
/* Adds up terms of the first `outputs` outputs before they are spread over more axes (collect.c). */
void reversal_collect_terms(struct reversal *x, int outputs);

/* Returns the gradient of value v as an expression over the operands of `map`, an unfinished map with v's axes. */
const struct expr *reversal_gradient_in(struct reversal *x, struct value *map, int v);

/* Makes maps of the rows of arrays that are read at positions of another sequence. Their gradients are found as those
   of arrays between reversal_hide_rows and reversal_show_rows (rows.c). */
void reversal_take_rows(struct reversal *x);
void reversal_hide_rows(struct reversal *x);
void reversal_show_rows(struct reversal *x);
/* Whether array v has such rows with gradients. */
bool reversal_has_rows(const struct reversal *x, int v);
/* Returns the gradient of array v over `map`, whose own part is `own` or NULL. Returns NULL if c->gradients.totals
   outputs it. */
const struct expr *reversal_add_rows(struct reversal *x, struct value *map, int v, const struct expr *own);

/* Turns sums of c->gradients.totals that add rows, and also sum over batches or heads, into one sum over pairs. Loops
   have no sums of sums over batches and heads. */
void reversal_finish_rows(struct compilation *c);

/* Turns saved row values and row sums into inputs of the gradients. Makes the programs that compute saved row
   values and row sums: c->gradients.saving and c->gradients.row_sums. (save.c) */
void reversal_save_rows(struct compilation *c);

/* Whether a value is a total (total.c). */
bool reversal_is_total(const struct module *m, const struct value *v);
/* Returns an axis of extent 1. Outputs of loops need a constant axis, so single numbers get this axis. (total.c) */
int reversal_axis_of_one(struct module *m);
/* Turns each total that rows or other totals use into an output, and into an input of its users. Returns the number
   of these totals. (whole.c) */
int reversal_split_wholes(struct compilation *c);

/* Computes totals in two steps. The graph outputs the sum of each slice. c->gradients.totals adds the slices.
   Outputs 0 to `wholes` - 1 are unchanged. (total.c) */
void reversal_split_totals(struct compilation *c, int lane, int wholes);
/* Computes gradients in two steps if they sum over heads with separate states (heads.c). */
void reversal_split_heads(struct compilation *c);

/* Moves a factor f[j] from the vectors x[j] of the stream to the pairs (factor.c). Handles only the loops of output
   0. */
void reversal_move_factors(struct graph *g);

/* Gradients of keys that need running sums are sums over the queries, which are in the lanes. Makes these sums outputs,
   and moves the gradients to c->gradients.from_sums. Returns false if a gradient is no such sum. (sweep.c) */
bool reversal_sum_lanes(struct compilation *c);

/* Merges two groups of gradients if one sweep over the pairs serves both (sweep.c). of[o] is the group of output o.
   Returns the number of groups left. */
int reversal_join_groups(struct compilation *c, int *of, int groups);

#endif
