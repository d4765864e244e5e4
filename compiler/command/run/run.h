/* Declarations that the files of `attnc run` share. */
#ifndef ATTNC_COMMAND_RUN_H
#define ATTNC_COMMAND_RUN_H

#include "../command_line.h"
#include "../../analysis/analysis.h"
#include "../../driver/driver.h"
#include "../../host/host.h"
#include "../../../runtime/attnrt.h"

struct run {
    const struct options *options;
    struct arena *arena;
    const struct kernel_arrays *arrays;
    const struct attn_kernel *kernel; /* NULL until the kernel is compiled */
    /* array[k] belongs to entry k of `arrays`. Its data is NULL until the array exists. */
    struct attn_array *array;
    /* `drops` is true if the spec has dropout. `corrects` is true if the spec has the delta rule. `rounds` is true if
       extend rounds prepared keys, which forward prepares after it rounded them. */
    bool drops, corrects, rounds;
    struct attn_problem problem; /* a size of -1 is unknown */
    /* `params` is a struct NAME_params. `generated` stores the generated parameters. */
    void *params, *generated;
    enum status status; /* the worst status so far */
};

/* Makes the failure the status of the run, unless an earlier one is worse. run_fail also prints an error. */
void run_failed(struct run *r, enum status status);
void run_fail(struct run *r, enum status status, const char *format, ...) IR_PRINTF(3, 4);

/* Reports that `what` needs more memory than there is. */
void run_out_of_memory(struct run *r, const char *what, size_t bytes);

/* ---- arrays.c ---- */

/* Sets shape[k] to the extent of axis k if it is constant, otherwise to its enum attn_axis, such as ATTN_BATCH. */
void run_shape_of(const struct kernel_array *a, int64_t *shape);

/* Like run_shape_of, for this call: q and k may have fewer heads than v. */
void run_shape(const struct run *r, const struct kernel_array *a, int64_t *shape);

/* Returns the array with this name. */
struct attn_array *run_array(const struct run *r, const char *name);

/* Returns the description of an argument, such as the queries. */
const struct kernel_array *run_argument(const struct run *r, enum quantity quantity);

/* Returns the size of an axis. `extent` is the size, or an enum attn_axis such as ATTN_BATCH. If the size is not
   known yet, returns `extent`. */
int64_t run_extent(const struct run *r, int64_t extent);

/* Returns a shape as text, such as "[2, 8, n_q, 64]". */
const char *run_shape_text(const struct run *r, int rank, const int64_t *shape);

/* Returns the path of an array's file. */
const char *run_file(const struct run *r, const char *folder, const char *name);

/* Reads an array. If the file does not exist, returns false. Reports other failures. */
bool run_read(struct run *r, const char *name, enum attn_dtype dtype, struct attn_array *array);

/* Allocates an array that the kernel writes. On failure, prints a message and returns false. */
bool run_make_array(struct run *r, const struct kernel_array *like, struct attn_array *a);

/* Writes an output to its file, and says how long the kernel took. */
void run_write(struct run *r, const struct loaded_kernel *loaded, const char *name, struct attn_array *a,
               double seconds);

/* Returns whether forward writes the array. */
bool run_is_output(const struct kernel_array *a);

/* ---- inputs.c ---- */

/* Compares the shape of an array from a file with the shape of `like`. On failure, prints a message and returns
   false. */
bool run_check_shape(struct run *r, const struct kernel_array *like, const struct attn_array *a);

/* Reads the arguments of forward, and of backward if `gradients` is true and dout.npy exists. Takes the sizes of the
   problem from them. */
void run_read_inputs(struct run *r, bool gradients);

/* Reads the positions of the first queries, if the file exists. They may also be given for a spec without positions. */
void run_read_query_start(struct run *r);

/* ---- params.c ---- */

/* Reads the parameters from files. Random ones may lack a file if there is a seed. */
void run_read_params(struct run *r, const struct similarity *similarity);

/* Makes `data` parameter k of `arrays`. */
void run_set_param(struct run *r, int k, const void *data);

/* Fills struct NAME_params. */
void run_set_params(struct run *r, const struct similarity *similarity);

/* ---- chunks.c ---- */

enum { RUN_MAX_CHUNKS = 64 };

/* Reads --chunks, the numbers of tokens of successive calls. Returns the number of calls. On failure, prints a
   message and returns 0. */
int run_chunk_sizes(const struct options *o, int64_t *chunk);

/* Computes the outputs with extend, for --chunks. Compares them with the outputs of forward, and then replaces those
   outputs. */
void run_call_chunks(struct run *r);

#endif
