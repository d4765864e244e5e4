/* Declarations that the files of `attnc check` share.
   - sample: random arrays of one problem size, with the expected output
   - program: the graph or the loops of forward, or of a part of backward
   - measure: a number for each row; errors of passes are relative to it
   - tolerance: the largest error of the kernel that is allowed
   - scale of a row: its value if no terms cancel */
#ifndef ATTNC_COMMAND_CHECK_H
#define ATTNC_COMMAND_CHECK_H

#include "../../analysis/analysis.h"
#include "../../driver/driver.h"
#include "../../../runtime/attnrt.h"

enum { MAX_TENSORS = 1024, MAX_INPUTS = 8, NUDGES = 4, FEW_ELEMENTS = 16, SCALED = 3 };

/* An array that is compared: its expected value, and the measure of each row. An output also has the kernel's tolerance
   for each row, and its entry in the kernel's table of arrays. */
struct wanted {
    const char *name;
    const struct kernel_array *array;
    int rank;
    /* `extent` is the shape for callers. `elements` is the number of elements, and `row` is the number of elements
       in a row. */
    int64_t extent[MAX_RANK], elements, row;
    double *expected;
    const double *measure;
    double *allowed;
};
struct sample { /* the inputs and parameters of a problem, and the expected outputs */
    struct tensor tensor[MAX_TENSORS];
    const struct kernel_array *array[MAX_TENSORS]; /* array[t] describes tensor[t] */
    int64_t count[MAX_TENSORS];
    int tensors;
    /* prefix sums, corrected values and lists of the best keys, which the kernel computes */
    struct tensor computed[PREFIX_ARRAYS + MAX_SYSTEMS + MAX_LISTS];
    int computeds;
    int64_t *query_start; /* [batch]: the positions of the first queries, or NULL for n_k - n_q */
    struct tensor values; /* v if it is stored within another array; otherwise it has no name */
    int64_t values_count;
    struct wanted *output; /* the result, then the graph's other outputs */
    int outputs;
    struct gradients *gradients; /* NULL if they are not requested or not computed yet */
};

/* The expected gradients of a sample with respect to q, k, v and learned parameters. Arrays of doubles contain all
   gradients, one after the other. */
struct gradients {
    int outputs;
    struct wanted of[MAX_TENSORS]; /* each gradient, such as that of the queries */
    int64_t all;                   /* the number of elements of all gradients */
    struct tensor dout;
    double *expected, *allowed; /* allowed[k] is the tolerance of element k */
    /* The inputs |v|, |dout| and out = 0, whose gradients are the scale. */
    struct tensor scaled[SCALED];
    double *rounding;  /* for each element, the largest change of its row by rounding to f32 */
    double difference; /* the largest difference from central differences, relative to the sum of |terms| */
};
/* Computes the gradients of a sample for a random dout. If `differences` is true, also compares them with central
   differences. Returns NULL, or the reason of a failure. (gradients.c) */
const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size,
                         bool differences, uint64_t *state, struct arena *arena, struct gradients *out);

/* The largest error so far. `share` is the error as a fraction of the measure or tolerance. `got` is the wrong
   value. */
struct worst {
    double share, got;
    int sample;
    int64_t element;
    const struct wanted *of;
};

struct checking {
    const struct options *o;
    struct unit *p;
    /* Passes and the kernel use the first `of_passes` problems. Only the kernel uses the other problems. */
    struct problem_size *size;
    int of_passes, sizes;
    int64_t *sharing; /* for each problem, how many heads of v share a head of q and of k */
    struct sample *sample;
    struct sample *extended; /* the samples with the expected output of extend, without dropout */
    bool linear;             /* true if the kernel has a linear form, so that tolerances are larger */
    bool good;
    struct worst worst; /* the largest error of the kernel, relative to the tolerance */
};

/* ---- the report (report.c) ---- */

/* Returns true if the report has a line about a result. There is a line with --verbose, or if the result is wrong. */
bool check_tells(const struct checking *c, bool good);
/* Prints to standard output, except with --quiet. */
void check_say(const struct checking *c, const char *format, ...) IR_PRINTF(2, 3);

/* Makes the interpreters use the sample's positions of first queries for the programs of this module. */
void check_place(struct module *m, const struct sample *s);
/* Returns the spec's graph with only its first output, `out`. */
const struct graph *check_graph_of_out(const struct unit *p);
/* Returns the shape and name of an array with these axes. The member `expected` is NULL. */
struct wanted check_wanted(const struct module *m, const char *name, int rank, const int *axes,
                           const struct problem_size *size);
/* Returns the absolute values of n numbers. */
double *check_sizes(const struct tensor *t, int64_t n, struct arena *arena);
/* Returns the largest absolute value of the elements. */
double check_largest(const double *row, int64_t elements);
enum { CHECK_F16_OVERFLOW = 65520 }; /* numbers from 65520 on become infinity in f16 */
/* Returns how many times to perturb a sample at random, for rows of `row` elements. */
int64_t check_tries(int64_t row);
/* Returns the largest error by underflow in a result of the sample: the smallest normal number of the type of sums,
   times the largest input. */
double check_lost(const struct sample *s, enum dtype dtype, const struct problem_size *size);

/* Compares an array with its expected value. Divides errors in row r by of_row[r]. Updates *worst if an error is
   larger. */
void check_worst(const struct wanted *w, int sample, const double *got, const double *of_row, enum dtype stored,
                 struct worst *worst);
/* Returns the name of an element, as in "out[0, 1, 5, 3]". */
const char *check_element(const struct checking *c, const struct worst *worst);
/* Prints a line about `what`. If the result is wrong, also prints an error about `whole`, the full name of `what`.
   `of` tells what errors are relative to, such as "of the row". */
void check_report(struct checking *c, const char *what, const char *whole, const struct worst *worst, const char *of,
                  bool good);

/* Compares the programs after every pass with the expected values. (passes.c) */
void check_passes(struct checking *c);
/* Adds the error by rounding to row[r]. It is the difference in row r of the output between rounding all operations
   up and rounding all down. (passes.c) */
void check_add_rounding(const struct checking *c, const struct graph *g, int sample, double *row);
/* Compares forward, backward and extend of the compiled kernel with the expected values. (kernel.c) */
enum status check_kernel(struct checking *c);
/* check_backward compares the gradients of the compiled kernel (backward.c). check_decode compares its extend
   (decode.c). */
enum status check_backward(struct checking *c, const struct attn_kernel *kernel);
enum status check_decode(struct checking *c, const struct attn_kernel *kernel);

/* ---- a call of the kernel (call.c) ---- */

/* A call of the kernel on a sample. */
struct called {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    /* array[t] is tensor t, converted to the kernel's type. output[o] is output o of the sample. */
    void *array[MAX_TENSORS], **output;
    char *params;                  /* a struct NAME_params */
    const void *input[MAX_INPUTS]; /* the inputs of forward, in the order of its arguments */
    int tensors, tables, outputs;
    struct attn_mask_tiles *table[MAX_TENSORS]; /* the caller's tables of the tiles of masks */
};
/* Calls forward. If `saves` is true, forward also saves values for backward. Returns 0 or ATTN_E…. In both cases the
   caller calls check_call_end. */
int check_call(const struct checking *c, const struct attn_kernel *kernel, int sample, bool saves, struct called *out);
void check_call_end(struct called *x);
/* Makes later calls use `array` as tensor t of the sample. */
void check_set_array(struct called *x, const struct sample *s, int t, void *array);
/* check_memory returns memory filled with NaN. check_converted returns a copy of n numbers in another type. They
   return NULL if memory runs out. Free the result with attn_free. */
void *check_memory(size_t bytes);
void *check_converted(const struct tensor *t, int64_t n, enum attn_dtype dtype);
/* Returns the bytes of `elements` elements of output o. */
size_t check_output_bytes(const struct sample *s, int o, int64_t elements);
/* Compares the outputs of a call with the sample's. Multiplies the tolerances by `times`. */
void check_outputs(const struct sample *s, int sample, void *const *output, double times, struct worst *worst);

/* These functions return a random number and advance the state. check_uniform draws uniformly from 0 to 1.
   check_normal draws from the standard normal distribution. (draw.c) */
double check_uniform(uint64_t *state);
double check_normal(uint64_t *state);
/* Returns x rounded to `dtype`, the storage type of the kernel's inputs. */
double check_as_stored(double x, enum dtype dtype);
/* Rounds rows to numbers that a type of keys and values has. */
void check_round_rows(double *data, int64_t rows, int64_t elements, enum dtype dtype, struct arena *arena);
/* Fills the arrays of a sample. All values are exact in the kernel's types, so the interpreter and the kernel get
   equal values. Norm weights are near 1, biases near 0, and learned matrices preserve the size of a row. If `sorted`
   is true, ids of documents ascend. (draw.c) */
void check_fill(struct sample *s, const struct unit *p, const struct problem_size *size, bool sorted, uint64_t *state);

/* Samples whose q and k have fewer heads than v (share.c). The interpreter gets each head several times. `heads` is the
   number of heads of v, and `sharing` says how many of them share a head of q and of k.
   - check_share_heads makes the sharing heads of the sample's q and k equal.
   - check_without_copies removes the copies from an array of the kernel.
   - check_add_heads adds the gradients of sharing heads, and their tolerances. */
void check_share_heads(struct sample *s, const struct problem_size *size, int64_t sharing);
void check_without_copies(void *array, size_t bytes, int64_t heads, int64_t sharing);
void check_add_heads(struct gradients *g, const struct kernel_arrays *arrays, int64_t sharing);

#endif
