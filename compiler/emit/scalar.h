/* Scalar expressions as C, for the statements that have them. */
#ifndef ATTNC_EMIT_SCALAR_H
#define ATTNC_EMIT_SCALAR_H

#include "emit.h"
#include "printer.h"

enum kind { KIND_INT, KIND_BOOL, KIND_REAL, KIND_DOUBLE };
enum level { LEVEL_UNIFORM, LEVEL_LANE, LEVEL_ROW };

/* A piece of C. `vector` terms have one element per lane: INT as ints, BOOL as ints or (narrow) as mask, REAL as vec,
   DOUBLE as wide. */
struct term {
    const char *c;
    enum kind kind;
    bool vector, narrow;
};

struct nest {
    struct emitter *x;
    const struct stmt *s;
    int lane;             /* axis, or -1 */
    struct text level[3]; /* code at each level so far */
    int depth[3];         /* its indentation */
    int exprs;
    const struct expr **seen; /* what has a term already, and at which level */
    struct term *term;
    int *count;                      /* parents of each expression in the statement */
    const char *fresh[MAX_OPERANDS]; /* operands that an assignment of this statement has just made: their C */
};

const char *scalar_format(const struct nest *n, const char *text, ...);

/* ---- levels ---- */

bool scalar_depends(const struct nest *n, const struct expr *e, int axis);
enum level scalar_level_of(const struct nest *n, const struct expr *e);
void scalar_line(struct nest *n, enum level level, const char *text);
const char *scalar_wrapped(struct nest *n, const char *c);
struct term scalar_as_real(struct nest *n, struct term t);
struct term scalar_as_bool(struct nest *n, struct term t);
/* One element per lane, of the type that `like` says. */
const char *scalar_as_vector(struct nest *n, struct term t);
const char *scalar_as_mask(struct nest *n, struct term t);
/* The term of e for a user at level `user`: named when several use it or when it moves to an outer level. */
struct term scalar_term(struct nest *n, const struct expr *e, enum level user);
void scalar_count_parents(struct nest *n, const struct expr *e);

#endif
