/* This header declares the functions that print scalar expressions as C. */
#ifndef ATTNC_EMIT_SCALAR_H
#define ATTNC_EMIT_SCALAR_H

#include "emit.h"
#include "printer.h"

enum kind { KIND_INT, KIND_BOOL, KIND_REAL, KIND_DOUBLE };
enum level { LEVEL_UNIFORM, LEVEL_LANE, LEVEL_ROW };

/* A term is a C expression and its type. If `vector` is set, the term has one element per lane, and its C type is:
   - INT: ints
   - BOOL: mask if `narrow` is set, otherwise ints
   - REAL: vec
   - DOUBLE: wide */
struct term {
    const char *c;
    enum kind kind;
    bool vector, narrow;
};

struct nest {
    struct emitter *x;
    const struct stmt *s;
    int lane;             /* the axis of the lanes, or -1 */
    struct text level[3]; /* code at each level so far */
    int depth[3];         /* the indentation of each level */
    int exprs;
    const struct expr **seen; /* what has a term already, and at which level */
    struct term *term;
    int *count;                      /* the number of parents of each expression */
    const char *fresh[MAX_OPERANDS]; /* the C of operands that this statement has just assigned */
};

const char *scalar_format(const struct nest *n, const char *text, ...);

/* ---- levels ---- */

bool scalar_depends(const struct nest *n, const struct expr *e, int axis);
enum level scalar_level_of(const struct nest *n, const struct expr *e);
void scalar_line(struct nest *n, enum level level, const char *text);
const char *scalar_wrapped(struct nest *n, const char *c);
struct term scalar_as_real(struct nest *n, struct term t);
struct term scalar_as_bool(struct nest *n, struct term t);
/* Returns the term as a vector with one element per lane. */
const char *scalar_as_vector(struct nest *n, struct term t);
const char *scalar_as_mask(struct nest *n, struct term t);
/* Returns the term of `e` for an expression at level `user`. The term gets a name if several expressions use `e` or if
   `e` is computed at an outer level. */
struct term scalar_term(struct nest *n, const struct expr *e, enum level user);
void scalar_count_parents(struct nest *n, const struct expr *e);

#endif
