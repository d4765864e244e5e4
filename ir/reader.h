/* Text and checks of expressions, for both IRs (expr_text.c, expr_verify.c). */
#ifndef ATTNC_READER_H
#define ATTNC_READER_H

#include "expr_query.h"

/* The name and axes of a value or array, for printing. Each IR has a function of type referred_by. */
struct referred {
    const char *name; /* the name without the % */
    int rank;
    const int *axes;
};
typedef struct referred referred_by(const void *program, int of);

/* Prints the shortest decimal number that reads back as `value`. If `visibly_real` is true, prints 2.0 instead of 2. */
void real_print(double value, bool visibly_real, struct text *out);
void axes_print(const struct module *m, int rank, const int *axes, struct text *out);
void ref_print(const struct module *m, const struct ref *r, referred_by *by, const void *program, struct text *out);
/* Prints an expression. EXPR_OPERAND k prints as operand[k], or as %?k if `operand` is NULL. */
void expr_print(const struct module *m, const struct expr *e, const struct ref *operand, referred_by *by,
                const void *program, struct text *out);

/* A text that is being parsed. Only the first error is reported. After it, the current token is the end of the text
   and every function returns a harmless value. So callers need not check for errors. */
struct reader {
    struct module *module;
    struct diagnostics *diagnostics;
    const char *token, *line_start;
    size_t length; /* the length of the token; 0 at the end of the text */
    int line, depth;
    bool failed;
    const void *program;
    /* Finds the value or array `name`. Sets *plain to a reference with the INDEX of axis k as subscript k. Returns
       false if there is none. */
    bool (*find)(const void *program, const char *name, struct ref *plain);
    /* The number of references in the current statement or value. Equal references count once. */
    int operands;
    struct ref operand[MAX_OPERANDS];
};
void reader_start(struct reader *r, struct module *m, const char *text, struct diagnostics *d);
void reader_next(struct reader *r);
void reader_error(struct reader *r, const char *format, ...) IR_PRINTF(2, 3); /* reports an error at the token */
bool reader_at(const struct reader *r, const char *token);
/* If `token` is the current token, skips it and returns true. */
bool reader_take(struct reader *r, const char *token);
void reader_expect(struct reader *r, const char *token); /* skips `token`; any other token is an error */
const char *reader_name(struct reader *r, const char *what);
int64_t reader_int(struct reader *r, int64_t min);
double reader_real(struct reader *r);
int reader_axis(struct reader *r);
void reader_axes(struct reader *r, int *rank, int *axes);
struct ref reader_ref(struct reader *r);
const struct expr *reader_expr(struct reader *r);
enum dtype reader_dtype(struct reader *r);
/* Reads a table such as `{1, 2.5}`. It has one number for each point of the axes, which are constant. */
const double *reader_table(struct reader *r, int rank, const int *axes);
/* Reads `axis NAME SIZE` lines. */
void reader_axis_lines(struct reader *r);
void axis_lines_print(const struct module *m, struct text *out);
void table_print(const struct module *m, int rank, const int *axes, const double *data, struct text *out);

/* A text that is printed if `out` is not NULL, and otherwise parsed. Each function below describes a part of the text.
   It prints what it points to, after a blank, or sets it to what it reads. (format.c)
   - format_has, format_flag, format_optional_int and format_clause are for a word that may be absent. They return
     whether it is there.
   - format_choice returns the number of one of the words, or `count` if no word is there. An empty word has no text.
   - format_mark prints `mark` as it is. No blank follows a `[`. */
struct format {
    const struct module *module;
    struct text *out;
    bool tight; /* the next part follows without a blank */
    referred_by *by;
    const void *program;
    const struct ref *operand; /* the operands of expressions that are printed */
    struct reader *reader;
};
void format_mark(struct format *f, const char *mark);
void format_line(struct format *f); /* ends a line */
void format_word(struct format *f, const char *word);
bool format_has(struct format *f, const char *word, bool has);
bool format_flag(struct format *f, const char *word, bool *flag);
void format_int(struct format *f, int64_t *number, int64_t min);
bool format_optional_int(struct format *f, const char *word, int64_t *number, int64_t min);
void format_real(struct format *f, double *number, bool visibly_real);
int format_choice(struct format *f, int chosen, const char *const *words, int count);
void format_name(struct format *f, const char **name, const char *what);
void format_axis(struct format *f, int *axis);
void format_axes(struct format *f, int *rank, int *axes);
void format_ref(struct format *f, struct ref *r);
void format_expr(struct format *f, const struct expr **e);
bool format_clause(struct format *f, const char *word, const struct expr **e);
void format_within(struct format *f, struct within *w);
void format_table(struct format *f, int rank, const int *axes, const double **data);
/* Returns the expression with equal operands merged, as the parser does. So printed text does not change when it is
   parsed and printed again. */
const struct expr *expr_merged(struct module *m, const struct expr *e, int operands, const struct ref *operand);

/* The leaves that an expression may have, depending on its use. */
struct allowed {
    int operands;   /* EXPR_OPERAND k is allowed if k is below this number */
    uint32_t index; /* the axes whose EXPR_INDEX is allowed, as bits */
    bool ranges;    /* true if EXPR_LO and EXPR_HI are allowed */
};
/* The functions …_check return NULL if the argument is valid, otherwise an error message. */
const char *expr_check(struct module *m, const struct expr *e, const struct allowed *allowed);
/* Calls expr_check, and also checks that e is a condition. */
const char *where_check(struct module *m, const struct expr *e, const struct allowed *allowed);
const char *axes_check(struct module *m, int rank, const int *axes);
const char *module_check(struct module *m);
/* Checks the number, types and axes of the subscripts of a reference. An axis in a subscript must be as long as the
   axis that it indexes. */
const char *ref_check(struct module *m, const struct ref *r, int rank, const int *axes, const struct allowed *allowed);
bool name_is_plain(const char *name);                  /* true if `name` has only letters, digits, _ and . */
bool expr_integer_only(enum expr_op op, int argument); /* true if this argument must not be real */

/* Checks an input that shares the memory of another input. (within.c) */
const char *within_check(struct module *m, const struct within *w, int rank, const int *axes);

#endif
