/* This header declares the functions that print scalar expressions as C. */
#ifndef ATTNC_EMIT_SCALAR_H
#define ATTNC_EMIT_SCALAR_H

#include "emit.h"
#include "printer.h"

enum kind { KIND_INT, KIND_WORD, KIND_BOOL, KIND_REAL, KIND_DOUBLE };
/* The place in the nest of a MAP where an expression is computed:
   - UNIFORM: before all loops
   - LANE: in the loop over vectors of lanes
   - ROW: in the innermost loop */
enum level { LEVEL_UNIFORM, LEVEL_LANE, LEVEL_ROW };

/* A C expression and its type. If `vector` is set, the expression has an element per lane. Its C type is then
   - INT: ints
   - WORD: words (unsigned, 32 bits), always a vector
   - BOOL: mask if `narrow` is set, otherwise ints
   - REAL: vec
   - DOUBLE: wide */
struct term {
    const char *c;
    enum kind kind;
    bool vector, narrow;
};

/* The loops of a MAP statement `s` while their C is made. Usually the loop over lanes is outermost. */
struct nest {
    struct emitter *x;
    const struct stmt *s;
    int lane;                 /* the axis of the lanes, or -1 */
    struct text level[3];     /* the C of each level so far */
    int depth[3];             /* the indentation of each level */
    int exprs;                /* the length of the lists below, which expression numbers index */
    const struct expr **seen; /* the expressions that have a term in `term`, otherwise NULL */
    struct term *term;
    int *count;                      /* for each expression, the number of expressions that use it */
    const char *fresh[MAX_OPERANDS]; /* the C of operands that this statement has assigned */
    const struct expr *capped;       /* the last tanh that a large constant multiplies, or NULL */
};

/* Returns the formatted text, allocated in the arena. */
const char *scalar_format(const struct nest *n, const char *text, ...);

/* ---- levels ---- */

/* Returns whether the expression depends on the axis, directly or through an operand. */
bool scalar_depends(const struct nest *n, const struct expr *e, int axis);
enum level scalar_level_of(const struct nest *n, const struct expr *e);
/* Adds a line to the C of a level. */
void scalar_line(struct nest *n, enum level level, const char *format, ...) IR_PRINTF(3, 4);
/* Returns `c`, in parentheses if it needs them. */
const char *scalar_wrapped(struct nest *n, const char *c);
/* These functions return the term, converted to another type. */
struct term scalar_as_real(struct nest *n, struct term t);
struct term scalar_as_bool(struct nest *n, struct term t);
/* Returns C for the term with one element per lane. */
const char *scalar_as_vector(struct nest *n, struct term t);
/* Returns C for a BOOL term per lane, as a mask with lanes as wide as the kernel's reals. */
const char *scalar_as_mask(struct nest *n, struct term t);
/* Returns the term of `e`, for use in an expression at level `user`. The term becomes a variable if it is used
   several times or computed at another level. */
struct term scalar_term(struct nest *n, const struct expr *e, enum level user);
/* Counts a use of `e` in n->count. The first use of `e` also counts uses of its arguments. */
void scalar_count_parents(struct nest *n, const struct expr *e);

#endif
