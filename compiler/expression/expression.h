/* Reads and prints expressions that users write in C, such as custom weights and masks. The variables are s (the inner
   product), i and j (the positions of query and key) and h (the head). */
#ifndef ATTNC_EXPRESSION_H
#define ATTNC_EXPRESSION_H

#include "../../ir/ir.h"

/* An array that a spec declares under `arrays:`. Expressions name its elements. */
enum array_extent { EXTENT_NUMBER, EXTENT_B, EXTENT_H, EXTENT_G, EXTENT_NQ, EXTENT_NK, EXTENT_D, EXTENT_E };
struct user_array {
    const char *name;
    struct position at;
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

/* An element of an array that an expression reads. The subscripts are integer expressions in i, j and h. */
struct element {
    const struct user_array *array;
    const struct expr *sub[MAX_RANK];
};

struct expression {
    const char *text;
    struct position at;
    /* In a separate module: operand 0 is s, operand k + 1 is element[k]; axes 0, 1 and 2 are i, j and h. */
    const struct expr *value;
    int elements;
    struct element *element;
    int exponentials; /* the number of exponentials (exp, pow), and their places in the text */
    struct exponential {
        const struct expr *e; /* EXP, POW */
        size_t offset;        /* the place of the exponential: an offset into the text, in bytes */
        struct position at;
    } *exponential;
};

enum expression_says { EXPRESSION_ERROR, EXPRESSION_WARNING, EXPRESSION_NOTE };
/* The function that gets each error, note and warning, with its offset into the text. A note explains the error before
   it. An expression with warnings is still used. */
typedef void expression_report(void *user, size_t offset, enum expression_says says, const char *message);
/* Reads an expression, which may name elements of `arrays`. If `positions`, it is a condition on positions (a mask), in
   which neither s nor an array is allowed. Returns NULL after reporting an error. */
struct expression *expression_read(struct arena *arena, const char *text, bool positions,
                                   const struct user_arrays *arrays, expression_report *report, void *user);
/* Whether users may not give an array this name, because expressions use it for something else. */
bool expression_reserves(const char *name);
/* Whether expression_read has failed because libclang is missing. */
bool expression_library_missing(void);
/* Appends e as C to *out (print.c). If `of` is not NULL, e is a part of this user's expression, and the names are i, j,
   h, s and those of arrays. Otherwise the names are the names of m's axes and sizes. */
void expression_print(const struct expr *e, const struct expression *of, const struct module *m, struct text *out);

#endif
