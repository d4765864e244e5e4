/* Expressions that the user writes in C. */
#ifndef ATTNC_EXPRESSION_H
#define ATTNC_EXPRESSION_H

#include "../../ir/ir.h"

struct expression {
    const char *text;
    struct position at;
    const struct expr *value; /* of the expression's own module: operand 0 is s, axes 0, 1 and 2 are i, j and h */
    int exponentials;         /* the exponentials in it, and their positions in the text */
    struct exponential {
        const struct expr *e; /* EXP, POW */
        size_t offset;        /* in the text */
        struct position at;
    } *exponential;
};

enum expression_says { EXPRESSION_ERROR, EXPRESSION_WARNING, EXPRESSION_NOTE };
/* Called for each error, each note about an error, and each warning. A warning does not change the expression. */
typedef void expression_report(void *user, size_t offset, enum expression_says says, const char *message);
/* Parses the text; `positions`: only i, j and h are allowed, not s. Returns NULL after reporting. */
struct expression *expression_read(struct arena *arena, const char *text, bool positions, expression_report *report,
                                   void *user);
/* True if an expression could not be read because libclang is missing. */
bool expression_library_missing(void);
/* Prints C. Without a module the names are i, j, h and s, else those of the module's axes and sizes. (print.c) */
void expression_print(const struct expr *e, const struct module *m, struct text *out);

#endif
