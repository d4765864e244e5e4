/* What the files differentiate*.c share. */
#ifndef ATTNC_PASS_DIFFERENTIATE_H
#define ATTNC_PASS_DIFFERENTIATE_H

#include "../schedule/schedule.h"

/* A part of the gradient by a value: a value over some of its axes, the same along the others. */
struct gradient_term {
    int value;
    int by; /* a value over fewer axes that it has to be divided by, and where that is 0 the term is 0; -1: none */
    const struct expr *where; /* outside of this region the term is 0; NULL: it is everywhere */
};

/* The part of it by a carried state that comes from queries which read the state before their chunk. */
struct state_gather {
    int user, operand;
    struct gradient_term term;
};

struct reversal {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int forward;                    /* values of the graph that is differentiated; those of the gradients come after */
    int out, given_out, given_dout; /* its output; the inputs that repeat it, and are its gradient */
    const char *out_name;
    bool *active; /* by value: an input or a learned parameter moves it */
    struct {
        int terms, term_capacity, gathers;
        struct gradient_term *term;
        struct state_gather gather[4];
    } *of; /* by value */
    bool failed;
};

/* What rules are made with (differentiate_term.c). */
void reversal_fail(struct reversal *x, const char *what);
int reversal_append(struct reversal *x, struct value v);
/* The operand of a map in the making that is this reference. */
const struct expr *reversal_operand(struct reversal *x, struct value *map, struct ref r);
const struct expr *reversal_value(struct reversal *x, struct value *map, int v); /* over its own axes */
/* Ends the making of a map: with this expression, over those of its axes that occur. */
int reversal_map(struct reversal *x, struct value *map, const struct expr *e);
uint32_t reversal_bits(int rank, const int *axes);       /* axes as a set of bits */
uint32_t reversal_axes(const struct reversal *x, int v); /* those of value v */
/* The axes that an expression over the operands of a value runs along. */
uint32_t reversal_axes_within(const struct reversal *x, const struct value *v, const struct expr *e);
int reversal_chunk_axis(const struct reversal *x, const struct value *v); /* -1: it has none */
/* Whether it is a sum over keys for every chunk. */
bool is_carried_state(const struct reversal *x, int v);

/* ---- terms of gradients, and the rules (differentiate_rule.c) ---- */

/* Gives a term over the axes that the reference names to the value that it refers to. */
void reversal_give_back(struct reversal *x, const struct ref *r, struct gradient_term t);
/* Adds a term to the gradient by value v. */
void reversal_give(struct reversal *x, int v, struct gradient_term t);
/* The gradient by value v, of all its terms; the term without what it has to be divided by. */
struct gradient_term reversal_gradient(struct reversal *x, int v);
struct gradient_term reversal_divided(struct reversal *x, struct gradient_term t);
/* From the gradient by a value to those by its operands. */
void reversal_map_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_contract_rule(struct reversal *x, int number, struct gradient_term t);
void reversal_reduce_rule(struct reversal *x, int number, struct gradient_term t);

/* The terms e of a map in the making, for every point of `axes` in the region, which r reads at computed places: as
   terms that it reads along an axis (differentiate_gather.c). */
const struct expr *reversal_scatter(struct reversal *x, struct value *map, const struct expr *e, struct ref *r,
                                    uint32_t *axes, const struct expr **where);

/* An exponential that a sum of a row divides (differentiate_weight.c): exp(x) / sum becomes exp(x - log(sum)), which
   cannot overflow. */
struct normalised {
    const struct expr *exponential; /* the factor of the weight, as it is there; NULL: this is no such weight */
    int factor, weight;             /* values: that factor and the weight, both divided */
};
bool is_exponential_weight(const struct reversal *x, int weight, int by);
struct normalised normalise_weight(struct reversal *x, int weight, int by);
/* Whether the output does not depend on maximum v, as of exponentials relative to it whose quotients alone matter. */
bool is_cancelled_maximum(const struct reversal *x, int v);

/* From the gradient by a carried state to those by what it sums (differentiate_state.c). */
void reverse_state(struct reversal *x, int v);

/* Ends with what is saved of the rows, and their sums, as inputs, and the programs that leave them, c->saving and
   c->row_sums (differentiate_save.c). */
void reversal_save_rows(struct compilation *c);

/* Whether the value is a sum over rows that has none itself; the axes that a sum runs over; those of a set that are
   sequences (differentiate_total.c). */
bool reversal_is_total(const struct module *m, const struct value *v);
uint32_t reversal_summed(const struct value *v);
uint32_t reversal_sequences(const struct module *m, uint32_t axes);
/* Has sums over all rows that others are made from left by parts of their own: returns how many of these the outputs
   begin with (differentiate_whole.c). */
int reversal_split_wholes(struct compilation *c);

/* Has gradients that are sums over rows made from the sums of units of rows, by a program of its own, c->totals;
   `lane`: the sequence whose rows these are, where there are two. The first `wholes` outputs are no gradients
   (differentiate_total.c). */
void reversal_split_totals(struct compilation *c, int lane, int wholes);
/* The same of gradients that heads with states of their own share (differentiate_heads.c). */
void reversal_split_heads(struct compilation *c);

/* Factors of the rows that the loops of the first output stream over move from vectors to pairs
   (differentiate_factor.c). */
void reversal_move_factors(struct graph *g);

/* Lets a group of gradients join another one's loops, where that is possible (differentiate_sweep.c): its outputs
   become sums in the group of those, and c->from_sums the program that goes on from there. By output `of` is its group;
   returns how many there are then. */
int reversal_join_groups(struct compilation *c, int *of, int groups);

#endif
