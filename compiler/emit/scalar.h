/* This header declares the functions that print scalar expressions as C. */
#ifndef ATTNC_EMIT_SCALAR_H
#define ATTNC_EMIT_SCALAR_H

#include "emit.h"
#include "printer.h"

enum kind { KIND_INT, KIND_WORD, KIND_BOOL, KIND_REAL, KIND_DOUBLE };
/* The depth at which an expression is computed in the nest of loops that a MAP becomes:
   - UNIFORM: before all loops, because the expression is loop-invariant
   - LANE: in the loop over the vectors of lanes, because the expression depends on the lanes only
   - ROW: in the innermost loop, because the expression depends on another axis of the nest */
enum level { LEVEL_UNIFORM, LEVEL_LANE, LEVEL_ROW };

/* A term is a C expression and its type. If `vector` is set, the term has one element per lane, and its C type is:
   - INT: ints
   - WORD: words, 32-bit numbers without sign; it is always a vector
   - BOOL: mask if `narrow` is set, otherwise ints
   - REAL: vec
   - DOUBLE: wide */
struct term {
    const char *c;
    enum kind kind;
    bool vector, narrow;
};

/* The loops that the MAP statement `s` becomes, while their C is made. The loop over the lanes is usually the
   outermost loop. */
struct nest {
    struct emitter *x;
    const struct stmt *s;
    int lane;             /* the axis of the lanes, or -1 */
    struct text level[3]; /* the C of each level so far */
    int depth[3];         /* the indentation of each level */
    int exprs; /* the length of the three lists below, which have an element for each expression of the module */
    const struct expr **seen; /* the expression if `term` is its term, else NULL */
    struct term *term;
    int *count;                      /* the number of parents of each expression */
    const char *fresh[MAX_OPERANDS]; /* for operands that this statement has assigned already: the C of the new value */
};

/* Returns the formatted text, allocated in the arena. */
const char *scalar_format(const struct nest *n, const char *text, ...);

/* ---- levels ---- */

/* Returns whether the expression depends on the index of the axis, directly or through an operand. */
bool scalar_depends(const struct nest *n, const struct expr *e, int axis);
enum level scalar_level_of(const struct nest *n, const struct expr *e);
/* Adds a line to the C of a level. */
void scalar_line(struct nest *n, enum level level, const char *text);
/* Returns `c`, in parentheses unless it is a name, number, call or element. */
const char *scalar_wrapped(struct nest *n, const char *c);
/* Return the term converted to another type. */
struct term scalar_as_real(struct nest *n, struct term t);
struct term scalar_as_bool(struct nest *n, struct term t);
/* Returns the term as a vector with one element per lane. */
const char *scalar_as_vector(struct nest *n, struct term t);
/* Returns a BOOL term with one element per lane as a mask of the width of the kernel's type. */
const char *scalar_as_mask(struct nest *n, struct term t);
/* Returns the term of `e`, which an expression at level `user` uses. The term becomes a variable if several expressions
   use `e` or if `e` is computed at a different level. */
struct term scalar_term(struct nest *n, const struct expr *e, enum level user);
/* Counts a use of `e` in n->count. At the first use of `e`, the uses of its arguments are counted too. */
void scalar_count_parents(struct nest *n, const struct expr *e);

#endif
