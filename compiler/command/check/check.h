/* Declarations that the files of `attnc check` share.
   - sample: random arrays of one problem size, with the expected output, which the interpreter computes in float64.
   - program: the graph or the loops of forward, or of a part of backward, during compilation.
   - measure: a number for each row of an array. Errors of passes are relative to the measure of their row.
   - tolerance: the largest error of the kernel that is allowed in a row or element.
   - scale of a row: its value if no terms cancel, from the absolute values of the inputs. */
#ifndef ATTNC_COMMAND_CHECK_H
#define ATTNC_COMMAND_CHECK_H

#include "../../analysis/analysis.h"
#include "../../driver/driver.h"
#include "../../../runtime/attnrt.h"

enum { MAX_TENSORS = 1024, MAX_INPUTS = 8, NUDGES = 4, FEW_ELEMENTS = 16, SCALED = 3 };

/* An array that is compared: its expected value, and the measure of each row. */
struct wanted {
    const char *name;
    int rank;
    int64_t extent[MAX_RANK], elements, row; /* the shape for callers, with one axis of heads; the number of elements,
                                                in all and in a row */
    double *expected;
    const double *measure;
};
struct sample { /* the inputs and parameters of a problem, and the expected output */
    struct tensor tensor[MAX_TENSORS];
    const struct kernel_array *array[MAX_TENSORS]; /* array[t] describes tensor[t] as an array of the kernel */
    int64_t count[MAX_TENSORS];
    int tensors;
    struct tensor computed[PREFIX_ARRAYS]; /* prefix sums, which a kernel computes from other arrays of the sample */
    int computeds;
    struct tensor values; /* v, and its number of elements, if it is within another array; else without a name */
    int64_t values_count;
    struct wanted out, statistics;        /* statistics: without elements if the kernel has none; each is a row */
    double *allowed, *statistics_allowed; /* the kernel's tolerance for each row */
    const struct gradients *gradients;    /* NULL: not requested, or not computed yet */
};

/* The expected gradients of a sample with respect to q, k, v and the learned parameters. Arrays of doubles contain the
   elements of all gradients, one gradient after the other. */
struct gradients {
    int outputs;
    struct wanted of[MAX_TENSORS];     /* each gradient, for example "dq" */
    int64_t all;                       /* the number of elements of all gradients */
    double *dout, *expected, *allowed; /* allowed: the kernel's tolerance for each element */
    /* The inputs |v|, |dout| and out = 0. The gradients for these inputs are the scale: the size of a gradient if no
       terms cancel. Terms cancel, for example, in a row that sees one key. */
    struct tensor scaled[SCALED];
    double *rounding;  /* for each element, the largest change of its row if operations are rounded to f32 */
    double difference; /* the largest difference of the interpreter's gradients from central differences, relative to
                          the sum of the absolute values of their terms */
};
/* Computes the gradients of a sample for a random dout with the interpreter. `differences`: also compares them with
   central differences. Returns the reason of a failure, or NULL. (gradients.c) */
const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size,
                         bool differences, uint64_t *state, struct arena *arena, struct gradients *out);

/* The largest error found so far: its share of the measure or of the tolerance, the wrong value, and its position. */
struct worst {
    double share, got;
    int sample;
    int64_t element;
    const struct wanted *of;
};

struct checking {
    const struct options *o;
    struct unit *p;
    /* first `of_passes` problems for the passes and the kernel, then problems for the kernel only: one for each length
       at which the kernel changes to another version */
    struct problem_size *size;
    int of_passes, sizes;
    struct sample *sample;
    struct sample *extended; /* the samples with the expected output of extend, which drops nothing */
    bool linear;             /* the kernel has a linear form, so tolerances are larger */
    bool good;               /* no error has been found */
    struct worst worst;      /* the largest error of the kernel's result and gradients, relative to the tolerance */
};

/* ---- the report (report.c) ---- */

/* Returns whether the report has a line about a result: always with --verbose, else only if the result is wrong. */
bool check_tells(const struct checking *c, bool good);
/* Prints to standard output, except with --quiet. */
void check_say(const struct checking *c, const char *format, ...) IR_PRINTF(2, 3);

/* Returns the spec's graph with only its first output, `out`. */
const struct graph *check_graph_of_out(const struct unit *p);
/* Returns the shape and name of an array with these axes. Its expected value is NULL. */
struct wanted check_wanted(const struct module *m, const char *name, int rank, const int *axes,
                           const struct problem_size *size);
/* Returns the absolute values of n numbers. */
double *check_sizes(const struct tensor *t, int64_t n, struct arena *arena);
/* Returns the largest absolute value of the elements. */
double check_largest(const double *row, int64_t elements);
enum { CHECK_F16_OVERFLOW = 65520 }; /* numbers from 65520 on are rounded to infinity in f16 */
/* Returns how many times to perturb the inputs of a sample at random, for rows of `row` elements. */
int64_t check_tries(int64_t row);
/* Returns the largest error that underflow may cause in a result of the sample. A term that underflows is smaller than
   the smallest normal number of the type of sums, times the largest input. */
double check_lost(const struct sample *s, enum dtype dtype, const struct problem_size *size);

/* Compares an array with its expected value. Divides the error of an element in row r by of_row[r], and replaces *worst
   if the quotient is larger. */
void check_worst(const struct wanted *w, int sample, const double *got, const double *of_row, enum dtype stored,
                 struct worst *worst);
/* Returns the name of an element, as in "out[0, 1, 5, 3]". */
const char *check_element(const struct checking *c, const struct worst *worst);
/* Prints a line of the report about `what`. If the result is wrong, also prints an error about `whole`, the full name
   of `what`, that names the wrong element. `of`: the size that errors are relative to, as in "of the row". */
void check_report(struct checking *c, const char *what, const char *whole, const struct worst *worst, const char *of,
                  bool good);

/* Compares the interpreter's values of the programs after every pass with the expected values. (passes.c) */
void check_passes(struct checking *c);
/* Adds to row[r] how much row r of the output of graph g differs between rounding all operations up and rounding all
 * down. (passes.c) */
void check_add_rounding(const struct checking *c, const struct graph *g, int sample, double *row);
/* Compares forward, backward and extend of the compiled kernel with the expected values. (kernel.c) */
enum status check_kernel(struct checking *c);
/* Compare the gradients of the compiled kernel (backward.c), and its extend (decode.c). */
enum status check_backward(struct checking *c, const struct attn_kernel *kernel);
enum status check_decode(struct checking *c, const struct attn_kernel *kernel);

/* ---- a call of the kernel (call.c) ---- */

/* A call of the kernel on a sample: the sample's arrays in the kernel's types, and the output of forward. */
struct called {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    void *array[MAX_TENSORS], *result; /* array[t]: tensor t of the sample. result: the output */
    char *params;                      /* struct NAME_params */
    const void *input[MAX_INPUTS];     /* the arrays that forward reads, in the order of its arguments */
    int tensors;
};
/* Calls forward. `saves`: forward also saves values for backward. Returns 0 or ATTN_E…; the caller must call
   check_call_end in both cases. */
int check_call(const struct checking *c, const struct attn_kernel *kernel, int sample, bool saves, struct called *out);
void check_call_end(struct called *x);
/* Makes later calls of the kernel use `array` as tensor t of the sample. */
void check_set_array(struct called *x, const struct sample *s, int t, void *array);
/* check_memory returns memory filled with NaN, check_converted a copy of n numbers in another type. The caller frees
   the memory with attn_free. NULL: out of memory. */
void *check_memory(size_t bytes);
void *check_converted(const struct tensor *t, int64_t n, enum attn_dtype dtype);
/* Compares the statistics that a call has written with the sample's; does nothing if the kernel has none. The tolerance
   is multiplied by `times`. */
void check_statistics(const struct checking *c, int sample, const void *statistics, double times, struct worst *worst);
/* Returns element k of an array of the kernel. */
double check_result_at(const void *result, int64_t k, enum attn_dtype dtype);

/* Return random numbers and advance the state: uniform from 0 to 1, and standard normal. (draw.c) */
double check_uniform(uint64_t *state);
double check_normal(uint64_t *state);
/* Returns x rounded to `dtype`, the storage type of the kernel's inputs. */
double check_as_stored(double x, enum dtype dtype);

#endif
