/* Questions about expressions (expr_query.c). Prefer them to a recursion. An expression is in itself. */
#ifndef ATTNC_EXPR_QUERY_H
#define ATTNC_EXPR_QUERY_H

#include "expr.h"

/* A walk through an expression and its parts, each before its arguments, otherwise in no order. Example:
     for (struct exprs w = {.of = e}; exprs_next(&w);) has |= w.e->op == EXPR_MAX;
   A walk through NULL has no part. */
struct exprs {
    const struct expr *of;
    const struct expr *e; /* the current part */
    bool skip;            /* set it to leave out the arguments of the current part */
    int waiting;
    const struct expr *wait[96];
};
bool exprs_next(struct exprs *w);

/* An answer about one expression. ANSWER_ARGUMENTS: ask its arguments. */
enum answer { ANSWER_NO, ANSWER_YES, ANSWER_ARGUMENTS };
typedef enum answer expr_question(void *of, const struct expr *e);
/* Returns the first part of e, from the root and the left, for which the answer is YES. Returns NULL if there is
   none. */
const struct expr *expr_find(const struct expr *e, expr_question *ask, void *of);
/* Return e with other parts, simplified.
   - expr_map asks from the root. `rewrite` returns what replaces an expression, or NULL if only its arguments change.
   - expr_map_up asks from the leaves. `rewrite` gets an expression whose arguments are rewritten. It returns what
     replaces the expression, or NULL to keep it. */
typedef const struct expr *expr_rewrite(void *of, const struct expr *e);
const struct expr *expr_map(struct module *m, const struct expr *e, expr_rewrite *rewrite, void *of);
const struct expr *expr_map_up(struct module *m, const struct expr *e, expr_rewrite *rewrite, void *of);
/* Returns e with `from` replaced by `to`. */
const struct expr *expr_replace(struct module *m, const struct expr *e, const struct expr *from, const struct expr *to);
/* Returns e with EXPR_OPERAND k replaced by with[k], for every k. */
const struct expr *expr_bind(struct module *m, const struct expr *e, const struct expr *const *with);

/* These questions need no walk, but expr_uses. */
static inline bool expr_has(const struct expr *e, enum expr_op op)
{
    return e->ops >> op & 1;
}
/* Returns true if e has one of the operations, which are EXPR_BITs. */
static inline bool expr_has_one(const struct expr *e, uint64_t ops)
{
    return (e->ops & ops) != 0;
}
/* Returns the axes whose INDEX occurs, as bits. */
static inline uint32_t expr_axes(const struct expr *e)
{
    return e->axes;
}
static inline bool expr_has_real(const struct expr *e) /* true if e or a part of it is real */
{
    return e->has_real;
}
/* Returns true if an operation of e costs at least `effort`. */
static inline bool expr_takes(const struct expr *e, enum expr_effort effort)
{
    return e->effort >= effort;
}
/* Returns the operands that e reads, as bits. A SELECT reads only one branch at the point `env`, and both if it is
   NULL. */
uint32_t expr_operands(const struct expr *e, const struct environment *env);
bool expr_reads_ids(const struct expr *e);
bool expr_looks_up(const struct expr *e);                      /* true if expr_is_looked_up holds for a part of e */
bool expr_uses(const struct expr *e, const struct expr *part); /* true if `part` is in e */
/* Returns true if an EXPR_ID or EXPR_ELEMENT in e depends on one of the axes, which are bits. */
bool expr_ids_along(const struct expr *e, uint32_t axes);
/* Returns true if a draw in e reads a list that depends on the axis. False if axis is -1. */
bool expr_lists_along(const struct expr *e, int axis);
/* Returns the axes on which e depends, directly or in a subscript of an operand, as bits. */
uint32_t expr_axes_read(const struct expr *e, const struct ref *operand);
bool expr_uses_axis(const struct expr *e, const struct ref *operand, int axis);
/* Returns e, which reads operands `from`, as an expression of the *count operands `to`. Adds those that `to` lacks.
   Returns NULL if there is no room. */
const struct expr *expr_take(struct module *m, const struct expr *e, const struct ref *from, struct ref *to,
                             int *count);

/* A term of a sum, added or subtracted. */
struct expr_term {
    const struct expr *e;
    bool minus;
};
/* These functions write e as a sum of terms, or as a product of factors, from left to right. They return the number of
   terms or factors, or -1 if there are more than `max`. */
int expr_terms(const struct expr *e, struct expr_term *term, int max);
int expr_factors(const struct expr *e, const struct expr **factor, int max);
/* Writes e as slope * INDEX(axis) + rest, where neither has this INDEX. Returns false if e is not linear. */
bool expr_linear(struct module *m, const struct expr *e, int axis, const struct expr **slope, const struct expr **rest);

/* The bounds of a value, for all indices and sizes. infinity: no bound is known. (expr_range.c) */
struct expr_range {
    double low, high;
};
/* The knowledge of a caller. `tell` gets the range of an expression that its arguments imply, and may change it. */
struct expr_facts {
    void (*tell)(const void *of, const struct expr *e, struct expr_range *range);
    const void *of;
};
/* expr_sign returns 1 if e is above 0, 0 if it is at least 0, and -1 if it may be negative. `facts` may be NULL. */
struct expr_range expr_range(const struct expr *e, const struct expr_facts *facts);
/* The range of e if all operands are in a range. */
struct expr_range expr_range_where(const struct expr *e, struct expr_range operand);
int expr_sign(const struct expr *e, const struct expr_facts *facts);

#endif
