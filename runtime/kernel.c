/* Reads the description of a kernel: sizes of types, shapes of parameters. */
#include "attnrt.h"
#include "kernel/basic.h"

ATTN_API size_t attn_dtype_size(enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: return 4;
    case ATTN_BF16: return 2;
    case ATTN_F16: return 2;
    case ATTN_F64: return 8;
    case ATTN_I32: return 4;
    case ATTN_U8:
    case ATTN_FP8:
    case ATTN_I8:
    case ATTN_I8_32:
    case ATTN_I8_64:
    case ATTN_Q8_0:
    case ATTN_Q4_0: return 1;
    }
    return 0;
}

_Static_assert(offsetof(struct attn_problem, n_k) == (-ATTN_N_K - 1) * sizeof(int64_t), "sizes are in order");

ATTN_API void attn_param_shape(const struct attn_param *p, const struct attn_problem *problem, int64_t *shape)
{
    for (int k = 0; k < p->rank; k++) {
        const int64_t axis = -p->shape[k];
        shape[k] = axis > 0 ? size_of_axis(&problem->batch, -(axis & 7)) : p->shape[k];
        if (axis > 7 && shape[k] > 0) shape[k] = (shape[k] - 1) / (axis / 8) + 1;
    }
}

ATTN_API int attn_param_learned(const struct attn_param *p)
{
    return !p->random && p->dtype != ATTN_I32 && p->dtype != ATTN_U8;
}
