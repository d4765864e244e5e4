/* Reads and prints users' expressions in C, such as custom weights and masks. names.def lists their names. */
#ifndef ATTNC_EXPRESSION_H
#define ATTNC_EXPRESSION_H

#include "../../ir/ir.h"

/* An array that a spec declares under `arrays:`. Expressions name its elements. */
enum array_extent { EXTENT_NUMBER, EXTENT_B, EXTENT_H, EXTENT_G, EXTENT_NQ, EXTENT_NK, EXTENT_D, EXTENT_E };
struct user_array {
    const char *name;
    struct position at;
    enum array_type { ARRAY_REAL, ARRAY_INT, ARRAY_BOOL } type;
    bool learned;
    enum array_initial { ARRAY_ZEROS, ARRAY_ONES, ARRAY_NORMAL } initial;
    int rank;
    struct user_axis {
        enum array_extent extent;
        int64_t number; /* EXTENT_NUMBER: the size; otherwise what the size is divided by, rounded up */
    } axis[MAX_RANK];
};
struct user_arrays {
    int count;
    struct user_array *array;
};
const char *array_extent_name(enum array_extent extent); /* "Nk"; "" for EXTENT_NUMBER */

/* An element of an array in an expression. `offset` and `at`: where it occurs first. */
struct element {
    const struct user_array *array;
    const struct expr *sub[MAX_RANK];
    size_t offset;
    struct position at;
};

/* The use of an expression, which decides its names. */
enum expression_place {
    EXPRESSION_PAIR = 1,      /* a weight or logit */
    EXPRESSION_MASK = 2,      /* a condition on a query and a key */
    EXPRESSION_ANGLE = 4,     /* the angle of a rotation */
    EXPRESSION_QUERY = 8,     /* a logit without a key */
    EXPRESSION_POSITION = 16, /* a number for each position */
    EXPRESSION_DECAY = 32,    /* the logarithm of a decay */
};

enum expression_name {
#define NAME(name, ...) NAME_##name,
#include "names.def"
    EXPRESSION_NAMES
};

struct expression {
    const char *text;
    struct position at;
    /* In a separate module. Operand 0 is s, INDEX k is the name k.
       - real arrays: operand k + 1 is element[k]
       - arrays of integers or truth values: the EXPR_ID of row k is element[k] */
    const struct expr *value;
    int elements;
    struct element *element;
    int exponentials; /* exponentials (exp, expm1, pow) and their places */
    struct exponential {
        const struct expr *e; /* EXP, EXPM1, POW */
        size_t offset;        /* an offset into the text, in bytes */
        struct position at;
    } *exponential;
    bool uses[EXPRESSION_NAMES]; /* the names in it, and where each occurs first */
    struct name_use {
        size_t offset;
        struct position at;
    } first_use[EXPRESSION_NAMES];
};

enum expression_says { EXPRESSION_ERROR, EXPRESSION_WARNING, EXPRESSION_NOTE };
/* Gets each error, note and warning, with its offset into the text. A note explains the error before it. */
typedef void expression_report(void *user, size_t offset, enum expression_says says, const char *message);
/* Reads an expression. A mask may only name elements of arrays of integers or truth values. Returns
   NULL after an error. */
struct expression *expression_read(struct arena *arena, const char *text, enum expression_place place,
                                   const struct user_arrays *arrays, expression_report *report, void *user);
/* Whether expressions use this name for something else, so that arrays may not. */
bool expression_reserves(const char *name);
/* Whether expression_read has failed because libclang is missing. */
bool expression_library_missing(void);
/* The name of an expression; its meaning, for documents; whether a place allows it; whether it has a value in
   decoding. (names.c) */
const char *expression_name(enum expression_name name);
const char *expression_name_says(enum expression_name name);
bool expression_name_allowed(enum expression_name name, enum expression_place place);
bool expression_name_decodes(enum expression_name name);
/* Append the names that an expression may use, or the functions, separated by `between`. (names.c) */
void expression_list_names(enum expression_place place, struct text *out, const char *between);
void expression_list_functions(struct text *out, const char *between);
/* Appends e as C (print.c). If `of` is not NULL, e is a part of this user's expression and has its names. Otherwise
   it has the names of m. */
void expression_print(const struct expr *e, const struct expression *of, const struct module *m, struct text *out);

#endif
