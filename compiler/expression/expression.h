/* Reads and prints expressions that users write in C, such as custom weights and masks. The variables are s (the inner
   product), i and j (the positions of query and key) and h (the head). */
#ifndef ATTNC_EXPRESSION_H
#define ATTNC_EXPRESSION_H

#include "../../ir/ir.h"

struct expression {
    const char *text;
    struct position at;
    const struct expr *value; /* in a separate module: operand 0 is s; axes 0, 1 and 2 are i, j and h */
    int exponentials;         /* the number of exponentials in it (exp, pow), and their places in the text */
    struct exponential {
        const struct expr *e; /* EXP, POW */
        size_t offset;        /* into the text, in bytes */
        struct position at;
    } *exponential;
};

enum expression_says { EXPRESSION_ERROR, EXPRESSION_WARNING, EXPRESSION_NOTE };
/* The function that gets each error, note and warning, with its offset into the text. A note explains the error before
   it. An expression with warnings is still used. */
typedef void expression_report(void *user, size_t offset, enum expression_says says, const char *message);
/* Reads an expression. If `positions`, it is a condition on positions (a mask), in which s is not allowed. Returns NULL
   after reporting an error. */
struct expression *expression_read(struct arena *arena, const char *text, bool positions, expression_report *report,
                                   void *user);
/* Whether expression_read has failed because libclang is missing. */
bool expression_library_missing(void);
/* Appends e as C to *out (print.c). If m is NULL, e is a user's expression and the names are i, j, h and s. Otherwise
   the names are the names of m's axes and sizes. */
void expression_print(const struct expr *e, const struct module *m, struct text *out);

#endif
