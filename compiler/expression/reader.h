/* Declarations that tokens.c and clang.c share: they read the expressions of the user. */
#ifndef ATTNC_EXPRESSION_READER_H
#define ATTNC_EXPRESSION_READER_H

#include "expression.h"

enum {
    EXPRESSION_MAX_BYTES = 4096,
    EXPRESSION_MAX_TOKENS = 1000,
    EXPRESSION_MAX_DEPTH = 50,
    EXPRESSION_MAX_NODES = 4000,
    EXPRESSION_MAX_POWER = 64
};

struct expression_reader {
    struct arena *arena;
    const char *text;
    size_t length;
    bool positions; /* s is not allowed */
    expression_report *report;
    void *user;
    bool failed;
    size_t last; /* offset of the last token */
    int exponentials;
    struct exponential exponential[EXPRESSION_MAX_TOKENS];
};

/* The operation that users write as a call of this name; EXPR_OPS if there is none. */
enum expr_op expression_function(const char *name);

/* Reports an error at an offset into the text. */
void expression_error(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
void expression_warning(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
void expression_note(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
/* Reports every token that is not part of the language, and limits that are exceeded; returns false after an error.
   Accepted text has only names of the language, balanced parentheses, and no character that could end an expression. */
bool expression_check_text(struct expression_reader *r);
/* The number at an offset of accepted text. Sets *is_integer, and *integer if it is one. */
double expression_number(const struct expression_reader *r, size_t offset, bool *is_integer, int64_t *integer);

#endif
