/* Reads and prints expressions that users write in C, such as custom weights and masks. names.def lists the names that
   an expression may use. */
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
        int64_t number; /* EXTENT_NUMBER */
    } axis[MAX_RANK];
};
struct user_arrays {
    int count;
    struct user_array *array;
};
const char *array_extent_name(enum array_extent extent); /* "Nk"; "" for EXTENT_NUMBER */

/* An element of an array that an expression reads. The subscripts are integer expressions of names. `offset` and `at`
   are the place in the text where the expression first reads it. */
struct element {
    const struct user_array *array;
    const struct expr *sub[MAX_RANK];
    size_t offset;
    struct position at;
};

/* Where an expression is used. This decides which names it may use. */
enum expression_place {
    EXPRESSION_PAIR = 1,      /* a weight or a logit of a query and a key */
    EXPRESSION_MASK = 2,      /* a condition on a query and a key */
    EXPRESSION_ANGLE = 4,     /* the angle of a rotation */
    EXPRESSION_QUERY = 8,     /* a logit of a query that has no key */
    EXPRESSION_POSITION = 16, /* a number for each position */
    EXPRESSION_DECAY = 32,    /* the logarithm of a decay from one position to the next */
};

enum expression_name {
#define NAME(name, ...) NAME_##name,
#include "names.def"
    EXPRESSION_NAMES
};

struct expression {
    const char *text;
    struct position at;
    /* In a separate module: operand 0 is s, INDEX k is the name k. Operand k + 1 is element[k] of an array of reals.
       The EXPR_ID of row k is element[k] of an array of integers or of truth values. */
    const struct expr *value;
    int elements;
    struct element *element;
    int exponentials; /* the number of exponentials (exp, expm1, pow), and their places in the text */
    struct exponential {
        const struct expr *e; /* EXP, EXPM1, POW */
        size_t offset;        /* the place of the exponential: an offset into the text, in bytes */
        struct position at;
    } *exponential;
    bool uses[EXPRESSION_NAMES]; /* the names in it, and where in the text each is used first */
    struct name_use {
        size_t offset;
        struct position at;
    } first_use[EXPRESSION_NAMES];
};

enum expression_says { EXPRESSION_ERROR, EXPRESSION_WARNING, EXPRESSION_NOTE };
/* The function that gets each error, note and warning, with its offset into the text. A note explains the error before
   it. An expression with warnings is still used. */
typedef void expression_report(void *user, size_t offset, enum expression_says says, const char *message);
/* Reads an expression. A mask may name elements of `arrays` that are integers or truth values; weights, logits and
   decays may name any. Returns NULL after reporting an error. */
struct expression *expression_read(struct arena *arena, const char *text, enum expression_place place,
                                   const struct user_arrays *arrays, expression_report *report, void *user);
/* Whether users may not give an array this name, because expressions use it for something else. */
bool expression_reserves(const char *name);
/* Whether expression_read has failed because libclang is missing. */
bool expression_library_missing(void);
/* The name of an expression as users write it; what it means, for documents; whether it may be used at a place; whether
   it has a value when a sequence is decoded. (names.c) */
const char *expression_name(enum expression_name name);
const char *expression_name_says(enum expression_name name);
bool expression_name_allowed(enum expression_name name, enum expression_place place);
bool expression_name_decodes(enum expression_name name);
/* Append the names that an expression may use, and the functions that it may call, with `between` between two of them.
   (names.c) */
void expression_list_names(enum expression_place place, struct text *out, const char *between);
void expression_list_functions(struct text *out, const char *between);
/* Appends e as C to *out (print.c). If `of` is not NULL, e is a part of this user's expression, and the names are those
   that users write. Otherwise the names are the names of m's axes and sizes. */
void expression_print(const struct expr *e, const struct expression *of, const struct module *m, struct text *out);

#endif
