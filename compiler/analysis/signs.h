/* Proofs that numbers are never negative, with expr_sign (signs.c). */
#ifndef ATTNC_SIGNS_H
#define ATTNC_SIGNS_H

#include "../../ir/ir.h"

/* Whether no element of value v, or of tile a, is ever negative. */
bool value_never_negative(const struct graph *g, int v);
bool tile_never_negative(const struct loops *l, int a);
/* Whether no element of the tile is negative after the statements from `body` to `end`, without `end`. */
bool never_negative_after(const struct stmt *body, const struct stmt *end, const struct ref *tile);

/* Returns a number that e, an expression over the operands of v, does not exceed, or infinity. */
double value_expr_max(const struct graph *g, const struct value *v, const struct expr *e);

#endif
