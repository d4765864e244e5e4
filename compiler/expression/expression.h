/* Expressions that the user writes as C. */
#ifndef ATTNC_EXPRESSION_H
#define ATTNC_EXPRESSION_H

#include "../../ir/ir.h"

struct expression {
    const char *text;
    struct position at;
    const struct expr *value; /* of a module of its own: operand 0 is s, axes 0, 1 and 2 are i, j and h */
    int exponentials;         /* in it, and where they are written */
    struct exponential {
        const struct expr *e; /* EXP, POW */
        size_t offset;        /* in the text */
        struct position at;
    } *exponential;
};

/* Called for each error and each note to it. */
typedef void expression_report(void *user, size_t offset, bool note, const char *message);
/* `positions`: in i, j and h alone, without s. NULL after reporting. */
struct expression *expression_read(struct arena *arena, const char *text, bool positions, expression_report *report,
                                   void *user);
/* Whether an expression could not be read because there is no libclang here. */
bool expression_library_missing(void);
/* With the names i, j, h and s. (print.c) */
void expression_print(const struct expr *e, struct text *out);

#endif
