/* Slices of a problem: some heads of one sequence. A slice is a complete problem, with pointers and parameters. */
#include "ranks.h"

#include <string.h>

/* The number of heads of v that share a head of k, and so are in one slice. */
static int64_t heads_together(const struct attn_problem *p)
{
    return p->key_heads && p->heads ? p->heads / p->key_heads : 1;
}

static bool axis_is_of_heads(int64_t extent)
{
    return extent == ATTN_HEADS || extent == ATTN_KV_HEADS;
}

/* Whether the elements of a slice's heads can be described: a parameter without strides must be contiguous. */
static bool param_slices(const struct attn_param *p)
{
    bool slices = true;
    for (int k = 0; k < p->rank; k++) {
        const int64_t axis = p->shape[k];
        if (p->strides != ATTN_CONTIGUOUS || !axis_is_of_heads(axis)) continue;
        for (int n = 0; n < k; n++) slices &= p->shape[n] == ATTN_BATCH;
    }
    return slices;
}

struct slicing slicing_of(const struct attn_kernel *kernel, const struct attn_problem *filled, int64_t wanted)
{
    struct slicing s = {.kernel = kernel, .whole = *filled, .heads = filled->kv_heads, .of_sequence = 1};
    const int64_t together = heads_together(filled), units = filled->kv_heads / together;
    bool whole = kernel->names_heads;
    for (int k = 0; k < kernel->params; k++) whole |= !param_slices(&kernel->param[k]);
    if (!whole && units > 0 && filled->batch > 0) {
        const int64_t share = (wanted - 1) / filled->batch + 1, slices = share < units ? share : units;
        s.heads = ((units - 1) / slices + 1) * together;
        s.of_sequence = (filled->kv_heads - 1) / s.heads + 1;
    }
    s.count = filled->batch * s.of_sequence;
    return s;
}

size_t slice_params_bytes(const struct attn_kernel *kernel)
{
    return whole_lines(kernel->params_bytes) + whole_lines(kernel->strides_bytes);
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

static void part_of_param(const struct attn_param *p, const struct attn_problem *whole, const struct part *part,
                          unsigned char *params, unsigned char *strides)
{
    const bool strided = strides && p->strides != ATTN_CONTIGUOUS;
    int64_t shape[4] = {0}, given[4] = {0}, stride[4] = {0};
    const unsigned char *data;
    struct attn_problem sizes = *whole;
    const bool pairs = part->keys && param_has_queries(p);
    if (pairs) sizes.n_k = part->keys;
    attn_param_shape(p, &sizes, shape);
    memcpy(&data, params + p->offset, sizeof data);
    if (!data) return;
    if (strided) memcpy(given, strides + p->strides, (size_t)p->rank * sizeof *given);
    param_strides(p, shape, strided ? given : NULL, stride);
    int64_t first = 0;
    for (int k = 0; k < p->rank; k++) {
        if (p->shape[k] == ATTN_BATCH) first += part->sequence * stride[k];
        if (p->shape[k] == ATTN_HEADS) first += part->first_head * stride[k];
        if (p->shape[k] == ATTN_KV_HEADS) first += part->first_kv_head * stride[k];
        const int64_t queries = queries_of_element(p->shape[k]);
        if (queries) first += part->first_query / queries * stride[k];
        if (p->shape[k] == ATTN_N_K && (pairs || !part->keys)) first += part->first_key * stride[k];
        if (stride[k] == 0) stride[k] = ATTN_BROADCAST;
    }
    data += first * (int64_t)attn_dtype_size(p->dtype);
    memcpy(params + p->offset, &data, sizeof data);
    if (strided) memcpy(strides + p->strides, stride, (size_t)p->rank * sizeof *stride);
    const void *const none = NULL; /* a table is for all heads; the call makes one */
    if (p->tiles) memcpy(params + p->tiles, &none, sizeof none);
}

void part_of_params(const struct attn_kernel *kernel, const struct attn_problem *whole, const struct part *part,
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
    for (int k = 0; k < kernel->params; k++) part_of_param(&kernel->param[k], whole, part, memory, strides);
}

static const void *row_of(const void *array, const struct attn_strides *s, int64_t sequence, int64_t head, size_t size)
{
    const int64_t at = sequence * s->batch + head * s->head;
    return array ? (const unsigned char *)array + at * (int64_t)size : NULL;
}

int slice_make(const struct slicing *s, int64_t n, const struct arrays *arrays, const void *params, void *memory,
               struct slice *slice)
{
    const struct attn_problem *const p = &s->whole;
    const size_t size = attn_dtype_size(s->kernel->dtype), of_key = attn_dtype_size(s->kernel->key_dtype),
                 of_value = attn_dtype_size(s->kernel->value_dtype);
    const int64_t members = p->heads / (p->kv_heads ? p->kv_heads : 1), together = heads_together(p),
                  b = n / s->of_sequence, first = n % s->of_sequence * s->heads, left = p->kv_heads - first,
                  heads = left < s->heads ? left : s->heads;
    const struct part part = {.sequence = b, .first_kv_head = first, .first_head = first * members};
    slice->problem = *p;
    slice->problem.batch = 1;
    slice->problem.kv_heads = heads;
    slice->problem.heads = heads * members;
    if (p->key_heads) slice->problem.key_heads = heads / together;
    if (p->lengths) slice->problem.lengths = p->lengths + b;
    slice->problem.state_bytes = slice->problem.workspace_bytes = 0;
    slice->problem.saved = NULL;
    if (p->statistics)
        slice->problem.statistics = (void *)(uintptr_t)row_of(p->statistics, &p->statistics_at, b, part.first_head,
                                                              s->kernel->dtype == ATTN_F64 ? 8 : 4);
    slice->arrays.q = row_of(arrays->q, &p->q, b, first * members / together, size);
    slice->arrays.k = row_of(arrays->k, &p->k, b, first / together, of_key);
    slice->arrays.v = s->kernel->values_are_keys ? arrays->v : row_of(arrays->v, &p->v, b, first, of_value);
    slice->arrays.out = (void *)(uintptr_t)row_of(arrays->out, &p->out, b, part.first_head, size);
    slice->params = NULL;
    if (!params || !memory || !s->kernel->params) return 0;
    part_of_params(s->kernel, p, &part, params, memory);
    slice->params = memory;
    return 0;
}
