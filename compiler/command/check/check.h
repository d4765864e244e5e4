/* Declarations that the files of `attnc check` share. */
#ifndef ATTNC_COMMAND_CHECK_H
#define ATTNC_COMMAND_CHECK_H

#include "../../analysis/analysis.h"
#include "../../driver/driver.h"
#include "../../../runtime/attnrt.h"

enum { MAX_TENSORS = 1024, MAX_INPUTS = 8, NUDGES = 4, FEW_ELEMENTS = 16, SCALED = 3 };

/* The expected value of an array, and a measure for the errors of each of its rows. */
struct wanted {
    const char *name;
    int rank;
    int64_t extent[MAX_RANK], elements, row; /* as callers see it: heads are one axis; `row` is the number of elements
                                                in a row */
    double *expected;
    const double *measure;
};
struct sample { /* the arrays of a problem, and the expected result */
    struct tensor tensor[MAX_TENSORS];
    const struct kernel_array *array[MAX_TENSORS]; /* which array of the kernel each tensor is */
    int64_t count[MAX_TENSORS];
    int tensors;
    struct wanted out;
    double *allowed;                   /* the kernel's tolerance for each row */
    const struct gradients *gradients; /* NULL: not requested, or not computed yet */
};

/* The gradients of a sample with respect to the inputs and the learned parameters, one after the other. */
struct gradients {
    int outputs;
    struct wanted of[MAX_TENSORS]; /* "dq" */
    int64_t all;
    double *dout, *expected, *allowed; /* allowed: the kernel's tolerance for each element */
    /* The inputs for the scale of the gradients: |v|, |dout|, and out = 0. Gradients are sums of terms that may cancel,
       for example in a row that sees one key; the scale is the size of the terms. */
    struct tensor scaled[SCALED];
    double *rounding;  /* for each element the largest change of its row by rounding to f32 */
    double difference; /* between the interpreter's gradients and central differences, relative to the sum of the sizes
                          of their terms */
};
/* Computes the gradients of a sample for a random dout with the interpreter; `differences`: also compares them with
   central differences. Returns the reason of a failure, or NULL. (gradients.c) */
const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size,
                         bool differences, uint64_t *state, struct arena *arena, struct gradients *out);

/* The largest error, relative to the measure of its row, and its position. */
struct worst {
    double share, got;
    int sample;
    int64_t element;
    const struct wanted *of;
};

struct checking {
    const struct options *o;
    struct unit *p;
    /* the problems of the passes, followed by one problem for each length from which the kernel uses another version;
       those are only for the kernel */
    struct problem_size *size;
    int of_passes, sizes;
    struct sample *sample;
    bool linear; /* some compilation is a linear form, so the tolerances are for linear forms */
    bool good;
    struct worst worst; /* of the kernel's result and gradients, relative to their tolerance */
};

/* ---- the report (report.c) ---- */

/* True if a line of the report is printed: with --verbose always, else if the result is wrong. */
bool check_tells(const struct checking *c, bool good);
/* Prints to standard output, unless --quiet. */
void check_say(const struct checking *c, const char *format, ...) IR_PRINTF(2, 3);

/* An array with these axes and this name, whose expected value is not computed yet. */
struct wanted check_wanted(const struct module *m, const char *name, int rank, const int *axes,
                           const struct problem_size *size);
double check_largest(const double *row, int64_t elements);
enum { CHECK_F16_OVERFLOW = 65520 }; /* numbers from here on become infinite in f16 */
/* The number of perturbations of the inputs for rows of `row` elements. */
int64_t check_tries(int64_t row);
/* The largest error that underflow may cause in a result of the sample. Each term that underflows is smaller than the
   smallest normal number of the type of sums, times a value. */
double check_lost(const struct sample *s, enum dtype dtype, const struct problem_size *size);

/* Replaces *worst if an array has a larger error relative to `of_row`, which has a number for each row. */
void check_worst(const struct wanted *w, int sample, const double *got, const double *of_row, enum dtype stored,
                 struct worst *worst);
/* "out[0, 1, 5, 3]", in the arena. */
const char *check_element(const struct checking *c, const struct worst *worst);
/* Prints a line of the report about `what`. If the result is wrong, an error also names the element, and `whole` in
   place of `what`. */
void check_report(struct checking *c, const char *what, const char *whole, const struct worst *worst, const char *of,
                  bool good);

/* Compares the interpreter's values after every pass. (passes.c) */
void check_passes(struct checking *c);
/* Adds to each row of out the difference between rounding all operations up and down. */
void check_add_rounding(const struct checking *c, int sample, double *row);
/* Compares the compiled kernel. (kernel.c) */
enum status check_kernel(struct checking *c);
/* Compare the kernel's gradients (backward.c) and its extend (decode.c). */
enum status check_backward(struct checking *c, const struct attn_kernel *kernel);
enum status check_decode(struct checking *c, const struct attn_kernel *kernel);

/* ---- a call of the kernel (call.c) ---- */

/* The arrays of a sample as the kernel stores them, and the output of forward. */
struct called {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    void *array[MAX_TENSORS], *result;
    char *params;
    const void *input[MAX_INPUTS]; /* the arguments of forward that it reads, in their order */
    int tensors;
};
/* Calls forward, which also saves values for backward if `saves`. Returns 0 or ATTN_E...; the caller calls
   check_call_end in either case. */
int check_call(const struct checking *c, const struct attn_kernel *kernel, int sample, bool saves, struct called *out);
void check_call_end(struct called *x);
/* Passes an array to the kernel in the place of tensor t of the sample. */
void check_set_array(struct called *x, const struct sample *s, int t, void *array);
/* check_memory: memory filled with NaN. check_converted: numbers as the kernel stores them. Freed by attn_free; NULL:
   out of memory. */
void *check_memory(size_t bytes);
void *check_converted(const struct tensor *t, int64_t n, enum attn_dtype dtype);
/* Element k of an array of the kernel. */
double check_result_at(const void *result, int64_t k, enum attn_dtype dtype);

/* A number from 0 to 1, and a standard normal one; both advance the state. (draw.c) */
double check_uniform(uint64_t *state);
double check_normal(uint64_t *state);
/* The number rounded to the storage type of the kernel's inputs. */
double check_as_stored(double x, enum dtype dtype);

#endif
