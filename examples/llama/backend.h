/* Shared by the files of this backend. */
#ifndef BACKEND_H
#define BACKEND_H

#include <attnrt.h>
#include <ggml.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- memory and threads of a backend, which computes one operation at a time ---- */

struct context {
    int threads;
    const struct attn_team *team; /* NULL: the process has no OpenMP, and everything runs on one thread */
    void *memory;
    size_t bytes, used;
};
static inline size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}
/* Makes room for `bytes` bytes, and takes back all that was taken. Returns false if there is no memory. */
bool reserve(struct context *context, size_t bytes);
/* Takes rounded(bytes) of the reserved bytes, aligned to 64. */
void *take(struct context *context, size_t bytes);
/* Calls work(argument, n) for n from 0 to count - 1, on all threads. */
void for_each(struct context *context, void (*work)(void *argument, int64_t n), void *argument, int64_t count);
/* Returns the threads of the OpenMP library that this process has loaded, or else of GCC's. NULL: there is none. */
const struct attn_team *find_team(void);
/* Prints why a kernel failed. */
enum ggml_status failed(const struct ggml_tensor *op, int error);

/* ---- kernels ---- */

/* Returns the kernel for these keys and values that has the parameter `with` and not `without`, or NULL. */
const struct attn_kernel *find_kernel(enum ggml_type type, int64_t head_dim, int64_t value_dim, bool values_are_keys,
                                      const char *with, const char *without);
/* Sets a parameter in the kernel's struct NAME_params, if the kernel has it. */
void set_param(const struct attn_kernel *kernel, void *params, const char *name, const void *value);
/* Sets a parameter, and its strides in struct NAME_strides. */
void set_array(const struct attn_kernel *kernel, void *params, void *strides, const char *name, const void *value,
               const int64_t *stride);

/* ---- tensors ---- */

/* Returns whether the elements of each row are contiguous, and a kernel can have its strides. */
bool has_rows(const struct ggml_tensor *tensor);
/* Returns the strides for a kernel: in elements, or in bytes for blocks. `row` and `head` are axes of the tensor;
 * sequences are axis 3. */
struct attn_strides strides_of(const struct ggml_tensor *tensor, int row, int head);

/* ---- masks of attention: f16, added to the logits; -inf hides a key. A mask has n_k columns or more, n_q rows or
   more, the heads or one, the sequences or one ---- */

/* Finds the range of visible keys of each query, from `first` up to but excluding `end`: [sequences, n_q]. The mask has
   one head. Returns whether every query sees all keys of its range, and nothing is added to their logits. */
bool mask_ranges(struct context *context, const struct ggml_tensor *mask, int64_t sequences, int64_t n_q, int64_t n_k,
                 int32_t *first, int32_t *end);

/* ---- operations ---- */

bool attention_supported(const struct ggml_tensor *op);
enum ggml_status attention_compute(struct context *context, const struct ggml_tensor *op);
bool delta_supported(const struct ggml_tensor *op);
enum ggml_status delta_compute(struct context *context, const struct ggml_tensor *op);
bool scan_supported(const struct ggml_tensor *op);
enum ggml_status scan_compute(struct context *context, const struct ggml_tensor *op);

#endif
