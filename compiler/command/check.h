/* What the files of `attnc check` share. */
#ifndef ATTNC_COMMAND_CHECK_H
#define ATTNC_COMMAND_CHECK_H

#include "../driver/driver.h"
#include "../../runtime/attnrt.h"

enum { MAX_TENSORS = 1024, NUDGES = 4, FEW_ELEMENTS = 16, SCALED = 3 };

/* What an array should be, and what the errors of each of its rows are measured by. */
struct wanted {
    const char *name;
    int rank;
    int64_t extent[MAX_RANK], elements, row; /* as callers see it: a head is one axis; elements of a row */
    double *expected;
    const double *measure;
};
struct sample { /* the arrays of one problem, and what the meaning makes of them */
    struct tensor tensor[MAX_TENSORS];
    int64_t count[MAX_TENSORS];
    bool integers[MAX_TENSORS];
    int tensors;
    struct wanted out;
    double *allowed;                   /* by row, what the kernel may be off by */
    const struct gradients *gradients; /* NULL: they are not asked for, or not known yet */
};

/* Gradients of a sample, by the inputs and the learned parameters: one after the other. */
struct gradients {
    int outputs;
    struct wanted of[MAX_TENSORS]; /* "dq" */
    int64_t all;
    double *dout, *expected, *allowed; /* what a kernel may be off by, by element */
    /* The gradients for |v| and |dout| where out is 0 are their scale: what they are the difference of, as those of a
       row that sees one key are of terms that cancel. */
    struct tensor scaled[SCALED];
    double difference; /* of the interpreter's from central differences, as a share of the sum of their sizes */
};
/* What the interpreter makes of a sample's gradients for a random dout; `differences`: holds them against central
   differences. What is wrong, or NULL. (check_gradients.c) */
const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size,
                         bool differences, uint64_t *state, struct arena *arena, struct gradients *out);

struct checking {
    const struct options *o;
    struct unit *p;
    /* problems: those of the passes, and then one for each length from which other loops run, which the kernel meets
       alone */
    struct problem_size *size;
    int of_passes, sizes;
    struct sample *sample;
    bool good;
};

/* ---- the report (check_report.c) ---- */

/* Standard output, unless --quiet. */
void check_say(const struct checking *c, const char *format, ...) IR_PRINTF(2, 3);

/* An array over these axes, by its name, that is not known yet. */
struct wanted check_wanted(const struct module *m, const char *name, int rank, const int *axes,
                           const struct problem_size *size);
double check_largest(const double *row, int64_t elements);

/* The largest error, as a share of what its row is measured by, and where it is. */
struct worst {
    double share, got;
    int sample;
    int64_t element;
    const struct wanted *of;
};
/* Takes note of where an array's errors are larger than `worst`, as a share of what `of_row` has for each row. */
void check_worst(const struct wanted *w, int sample, const double *got, const double *of_row, enum dtype stored,
                 struct worst *worst);
/* One line of the report, about `what`; where that is wrong, an error says at which element of what `whole` names. */
void check_report(struct checking *c, const char *what, const char *whole, const struct worst *worst, const char *of,
                  bool good);

/* The interpreter after every pass. (check_passes.c) */
void check_passes(struct checking *c);
/* Adds to each row of out what the direction of rounding changes in it. */
void check_add_rounding(const struct checking *c, int sample, double *row);
/* The compiled kernel. (check_kernel.c) */
enum status check_kernel(struct checking *c);

/* A number from 0 to 1, and one of the standard normal distribution, from the state (check_draw.c). */
double check_uniform(uint64_t *state);
double check_normal(uint64_t *state);
/* The number as the kernel's inputs hold it. */
double check_as_stored(double x, enum dtype dtype);

#endif
