/* What the files that read the user's expressions (tokens.c, clang.c) share. */
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
    bool positions; /* s is not a name here */
    expression_report *report;
    void *user;
    bool failed;
    size_t last; /* offset of the last token */
    int exponentials;
    struct exponential exponential[EXPRESSION_MAX_TOKENS];
};

struct expression_function {
    const char *name;
    int arguments;
    enum expr_op op;
};
extern const struct expression_function expression_functions[];
extern const int expression_function_count;

/* At an offset into the text. */
void expression_error(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
void expression_note(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
/* Reports every token that is outside the language, and what is too large; false after that. What it lets pass has no
   names but those of the language, balanced parentheses, and no character that could end an expression. */
bool expression_check_text(struct expression_reader *r);
/* The number at an offset, which expression_check_text has let pass. Sets *integer when it is one. */
double expression_number(const struct expression_reader *r, size_t offset, bool *is_integer, int64_t *integer);

#endif
