/* Declarations that the files of this folder share. tokens.c checks the text of an expression. Then
   clang.c parses it. */
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
    enum expression_place place;
    const struct user_arrays *arrays;
    expression_report *report;
    void *user;
    bool failed;
    size_t last; /* the offset of the last token */
    int exponentials;
    struct exponential exponential[EXPRESSION_MAX_TOKENS];
    int elements; /* the number of different array elements so far */
    struct element element[MAX_OPERANDS];
    bool uses[EXPRESSION_NAMES];
    struct name_use first_use[EXPRESSION_NAMES];
};

/* Returns the array that the spec declares with this name, or NULL. */
const struct user_array *expression_array(const struct expression_reader *r, const char *name);

/* Functions that are composed of several operations, and other names of operations. Their numbers follow the numbers
   of operations that users may call. (names.c) */
enum composed {
#define COMPOSED(name, arguments) COMPOSED_##name,
#include "names.def"
    EXPRESSION_COMPOSED
};
enum alias {
#define ALIAS(name, operation) ALIAS_##name,
#include "names.def"
    EXPRESSION_ALIASES
};
enum { EXPRESSION_FUNCTIONS = (int)EXPR_OPS + (int)EXPRESSION_COMPOSED + (int)EXPRESSION_ALIASES };
const char *expression_function_name(int function); /* NULL if users may not call this operation */
int expression_function_arguments(int function);
int expression_function_meant(int function); /* the operation, if the function is another name of one */
/* These functions return the number of the function or name. If there is none, they return EXPRESSION_FUNCTIONS or
   EXPRESSION_NAMES. */
int expression_find_function(const char *text);
enum expression_name expression_find_name(const char *text);

/* These functions report an error, a warning or a note at an offset into the expression's text. */
bool expression_error(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
void expression_warning(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
void expression_note(struct expression_reader *r, size_t offset, const char *format, ...) IR_PRINTF(3, 4);
/* Reports tokens that are not part of the language, and exceeded limits. Returns false after an error. If it accepts
   a text, parentheses are balanced, and no character ends the expression early. */
bool expression_check_text(struct expression_reader *r);
/* Returns the number at an offset of accepted text. Sets *is_integer, and sets *integer if the number is an integer. */
double expression_number(const struct expression_reader *r, size_t offset, bool *is_integer, int64_t *integer);

#endif
