/* Parameters: which axes they have, and those of some rows and heads of a problem. */
#include "ranks.h"

bool param_has_axis(const struct attn_param *p, int64_t axis)
{
    bool has = false;
    for (int k = 0; k < p->rank; k++) has |= p->shape[k] == axis;
    return has;
}

int64_t queries_of_element(int64_t extent)
{
    return extent >= 0 || extent % 8 != ATTN_N_Q ? 0 : extent == ATTN_N_Q ? 1 : -extent / 8;
}

bool param_has_queries(const struct attn_param *p)
{
    bool has = false;
    for (int k = 0; k < p->rank; k++) has |= queries_of_element(p->shape[k]) > 0;
    return has;
}

size_t param_elements(const struct attn_param *p, const struct attn_problem *problem)
{
    int64_t shape[4] = {0};
    size_t n = 1;
    attn_param_shape(p, problem, shape);
    for (int k = 0; k < p->rank; k++) n = bytes_times(n, (size_t)shape[k]);
    return n;
}

bool param_is_of_all_keys(const struct attn_kernel *kernel, const struct attn_param *p)
{
    return kernel->in_parts && p->dtype == ATTN_I32 && p->strides == ATTN_CONTIGUOUS && param_has_axis(p, ATTN_N_K);
}

bool param_divides(const struct attn_param *p)
{
    bool divides = true;
    for (int k = 0; k < p->rank; k++)
        divides &= p->shape[k] >= ATTN_N_K || param_is_lists(p); /* smaller numbers are counts of blocks */
    const bool rows = param_has_axis(p, ATTN_N_K) || param_has_axis(p, ATTN_N_Q);
    return divides && (!rows || p->strides != ATTN_CONTIGUOUS);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

int64_t queries_of_block(const struct attn_kernel *kernel)
{
    int64_t all = 1;
    for (int k = 0; k < kernel->params; k++)
        for (int n = 0; n < kernel->param[k].rank; n++) {
            const int64_t own = queries_of_element(kernel->param[k].shape[n]);
            if (own) all = all / common_divisor(all, own) * own;
        }
    return all;
}

const int32_t *all_integers(const struct ranks_call *call, const struct attn_param *p)
{
    const int32_t *data = NULL;
    if (p->dtype == ATTN_I32 && call->params)
        memcpy(&data, (const unsigned char *)call->params + p->offset, sizeof data);
    return data;
}

/* Returns the number of these integers. */
static int64_t count_of(const struct ranks_call *call, const struct attn_param *p)
{
    return p->limits == ATTN_IDS       ? call->problem.batch * call->problem.all_keys
           : p->limits == ATTN_LENGTHS ? call->problem.batch
                                       : 0;
}

uint64_t integers_hash(const struct ranks_call *call)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int k = 0; k < call->kernel->params; k++) {
        const struct attn_param *const p = &call->kernel->param[k];
        const int32_t *const data = all_integers(call, p);
        for (int64_t n = 0, count = data ? count_of(call, p) : 0; n < count; n++)
            hash = (hash ^ (uint32_t)data[n]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Fills in the strides of a parameter of these sizes, as kernels do. */
static void param_strides(const struct attn_param *p, const int64_t *shape, const int64_t *given, int64_t *stride)
{
    int64_t contiguous = 1;
    bool any = false;
    for (int k = 0; given && k < p->rank; k++) any |= given[k] != 0;
    for (int k = p->rank - 1; k >= 0; k--) {
        stride[k] = !any ? contiguous : given[k] == ATTN_BROADCAST ? 0 : given[k];
        contiguous *= shape[k];
    }
}

static void move_param(const struct attn_param *p, const struct attn_problem *whole, const struct origin *origin,
                       unsigned char *params, unsigned char *strides)
{
    const bool strided = strides && p->strides != ATTN_CONTIGUOUS;
    int64_t shape[4] = {0}, given[4] = {0}, stride[4] = {0};
    const unsigned char *data;
    struct attn_problem sizes = *whole;
    const bool pairs = origin->keys && param_has_queries(p);
    if (pairs) sizes.n_k = origin->keys;
    attn_param_shape(p, &sizes, shape);
    memcpy(&data, params + p->offset, sizeof data);
    if (!data) return;
    if (strided) memcpy(given, strides + p->strides, (size_t)p->rank * sizeof *given);
    param_strides(p, shape, strided ? given : NULL, stride);
    int64_t first = 0;
    for (int k = 0; k < p->rank; k++) {
        if (p->shape[k] == ATTN_BATCH) first += origin->sequence * stride[k];
        if (p->shape[k] == ATTN_HEADS) first += origin->first_head * stride[k];
        if (p->shape[k] == ATTN_KV_HEADS) first += origin->first_kv_head * stride[k];
        const int64_t queries = queries_of_element(p->shape[k]);
        if (queries) first += origin->first_query / queries * stride[k];
        if (p->shape[k] == ATTN_N_K && (pairs || !origin->keys)) first += origin->first_key * stride[k];
        if (stride[k] == 0) stride[k] = ATTN_BROADCAST;
    }
    data += first * (int64_t)attn_dtype_size(p->dtype);
    memcpy(params + p->offset, &data, sizeof data);
    if (strided) memcpy(strides + p->strides, stride, (size_t)p->rank * sizeof *stride);
    const void *const none = NULL; /* a table is for all heads; the call makes one */
    if (p->tiles) memcpy(params + p->tiles, &none, sizeof none);
}

size_t params_bytes(const struct attn_kernel *kernel)
{
    return whole_lines(kernel->params_bytes) + whole_lines(kernel->strides_bytes);
}

void params_from(const struct attn_kernel *kernel, const struct attn_problem *whole, const struct origin *origin,
                 const void *params, void *to)
{
    unsigned char *const memory = (unsigned char *)to;
    unsigned char *strides = NULL;
    memcpy(memory, params, kernel->params_bytes);
    if (kernel->strides_bytes) {
        const void *given;
        strides = memory + whole_lines(kernel->params_bytes);
        memcpy(&given, memory + kernel->strides, sizeof given);
        memset(strides, 0, kernel->strides_bytes);
        if (given) memcpy(strides, given, kernel->strides_bytes);
        memcpy(memory + kernel->strides, &strides, sizeof strides);
    }
    for (int k = 0; k < kernel->params; k++) move_param(&kernel->param[k], whole, origin, memory, strides);
}
