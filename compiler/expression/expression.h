/* Reads and prints users' expressions in C, such as custom weights and masks. names.def lists their names. */
#ifndef ATTNC_EXPRESSION_H
#define ATTNC_EXPRESSION_H

#include "../../ir/ir.h"

/* An array that a spec declares under `arrays:`. Expressions name its elements. */
enum array_extent { EXTENT_NUMBER, EXTENT_B, EXTENT_H, EXTENT_G, EXTENT_NQ, EXTENT_NK, EXTENT_D, EXTENT_E };
struct user_array {
    const char *name;
    struct position at;
    /* A SCORE and a RUNNING sum are a number for each pair, and a SUM one for each element of the output. They have no
       axes. */
    enum array_type {
        ARRAY_REAL,
        ARRAY_INT,
        ARRAY_BOOL,
        ARRAY_F16,
        ARRAY_BF16,
        ARRAY_SCORE,
        ARRAY_SUM,
        ARRAY_RUNNING
    } type;
    const struct user_array *query, *key; /* for a SCORE: the arrays of its rows, or NULL for q and k */
    const struct expression *sum;         /* for a SCORE: what it sums over the heads of its rows, or NULL */
    bool learned;
    enum array_initial { ARRAY_ZEROS, ARRAY_ONES, ARRAY_NORMAL, ARRAY_EXPONENTIAL } initial;
    int rank;
    struct user_axis {
        enum array_extent extent;
        /* If the extent is EXTENT_NUMBER, this is the size. Otherwise the size is divided by it and rounded up. */
        int64_t number;
    } axis[MAX_RANK];
};
/* `named` scores, sums and running sums follow the `count` arrays. */
struct user_arrays {
    int count, named;
    struct user_array *array;
};
const char *array_extent_name(enum array_extent extent); /* The result is "Nk", for example, or "" for EXTENT_NUMBER. */
bool array_is_real(const struct user_array *a);          /* true for real numbers in any type */
bool array_is_stored_real(const struct user_array *a);   /* the same, but for scores and sums, which no caller gives */
/* Returns the type of real elements in memory. F32 means the type in which the kernel computes. */
enum dtype array_stored(const struct user_array *a);

/* An element of an array in an expression. `offset` and `at` are the place where the element occurs first. */
struct element {
    const struct user_array *array;
    const struct expr *sub[MAX_RANK];
    size_t offset;
    struct position at;
};

/* The place of an expression in the spec. It decides which names the expression may use. */
enum expression_place {
    EXPRESSION_PAIR = 1,      /* a weight or logit */
    EXPRESSION_MASK = 2,      /* a condition on a query and a key */
    EXPRESSION_ANGLE = 4,     /* the angle of a rotation */
    EXPRESSION_QUERY = 8,     /* a logit without a key */
    EXPRESSION_POSITION = 16, /* a number for each position */
    EXPRESSION_DECAY = 32,    /* the logarithm of a decay */
    EXPRESSION_OUTPUT = 64,   /* an element of the output */
    EXPRESSION_TERM = 128,    /* what a score sums over heads, where its name is the inner product of one head */
};

enum expression_name {
#define NAME(name, ...) NAME_##name,
#include "names.def"
    EXPRESSION_NAMES
};

struct expression {
    const char *text, *key; /* the key of the spec that has it, such as "modify" */
    enum expression_place place;
    struct position at;
    /* The value, in a separate module. Operand 0 is s. INDEX k is the name with number k.
       - real arrays: operand k + 1 is element[k], also in subscripts of later elements
       - arrays of integers or truth values: the EXPR_ID of row k is element[k]. In a mask, the EXPR_ID of a real
         element says whether it is not -inf */
    const struct expr *value;
    int elements;
    struct element *element;
    int exponentials; /* the number of exponentials (exp, expm1, pow) */
    struct exponential {
        const struct expr *e; /* EXP, EXPM1 or POW */
        size_t offset;        /* an offset in bytes into the text */
        struct position at;
    } *exponential;
    bool uses[EXPRESSION_NAMES]; /* the names that occur in the expression; a score in a mask uses s */
    struct name_use {
        size_t offset;
        struct position at;
    } first_use[EXPRESSION_NAMES];
};

enum expression_says { EXPRESSION_ERROR, EXPRESSION_WARNING, EXPRESSION_NOTE };
/* A function that receives each error, note and warning, with its offset into the text. A note explains the error
   before it. */
typedef void expression_report(void *user, size_t offset, enum expression_says says, const char *message);
/* Reads an expression. A mask without s may read real arrays only in subscripts, and compare elements with -INFINITY.
   Returns NULL after an error. */
struct expression *expression_read(struct arena *arena, const char *text, enum expression_place place,
                                   const struct user_arrays *arrays, expression_report *report, void *user);
/* Returns a module for expressions, whose axes are the names. */
struct module *expression_module(struct arena *arena);
/* Returns whether expressions use this name for something else. If so, an array may not have the name. */
bool expression_reserves(const char *name);
/* Returns the same for a score or a sum, which only some expressions name. */
bool expression_reserves_value(const char *name, enum array_type type);
/* Returns whether expression_read has failed because libclang is missing. */
bool expression_library_missing(void);
bool expression_library_loads(void); /* returns whether there is a libclang that can be used */
/* expression_name returns the text of a name. The other functions return its meaning for documents, whether a place
   allows it, and whether it has a value in decoding. (names.c) */
const char *expression_name(enum expression_name name);
const char *expression_name_says(enum expression_name name);
bool expression_name_allowed(enum expression_name name, enum expression_place place);
bool expression_name_decodes(enum expression_name name);
/* These functions append the names or the functions that an expression may use, separated by `between`. (names.c) */
void expression_list_names(enum expression_place place, struct text *out, const char *between);
void expression_list_functions(struct text *out, const char *between);
/* Appends e as C (print.c). If `of` is not NULL, e is a part of the user's expression `of` and is printed with its
   names. Otherwise e is printed with the names of m. */
void expression_print(const struct expr *e, const struct expression *of, const struct module *m, struct text *out);

#endif
