/* Slices of a problem: some heads of one sequence. A slice is a complete problem, with pointers and parameters. */
#include "ranks.h"

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

struct slicing slicing_of(const struct attn_kernel *kernel, const struct attn_problem *filled, int ranks)
{
    struct slicing s = {.kernel = kernel, .whole = *filled, .heads = filled->kv_heads, .of_sequence = 1};
    const int64_t together = heads_together(filled), units = filled->kv_heads / together,
                  wanted = (int64_t)ranks * ATTN_RANKS_SLICES;
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

static void *row_of(const void *array, const struct attn_strides *s, int64_t sequence, int64_t head, size_t size)
{
    const int64_t at = sequence * s->batch + head * s->head;
    return array ? (unsigned char *)(uintptr_t)array + at * (int64_t)size : NULL;
}

struct slice slice_of(const struct slicing *s, int64_t n, const struct arrays *arrays, const void *params, void *memory)
{
    const struct attn_problem *const p = &s->whole;
    const size_t size = attn_dtype_size(s->kernel->dtype), of_key = attn_dtype_size(s->kernel->key_dtype),
                 of_value = attn_dtype_size(s->kernel->value_dtype);
    const int64_t members = p->heads / (p->kv_heads ? p->kv_heads : 1), together = heads_together(p),
                  b = n / s->of_sequence, first = n % s->of_sequence * s->heads, left = p->kv_heads - first,
                  heads = left < s->heads ? left : s->heads, query = first * members;
    const struct origin origin = {.sequence = b, .first_kv_head = first, .first_head = query};
    struct slice slice = {
        .problem = *p,
        .arrays = {.q = row_of(arrays->q, &p->q, b, query / together, size),
                   .k = row_of(arrays->k, &p->k, b, first / together, of_key),
                   .v = s->kernel->values_are_keys ? arrays->v : row_of(arrays->v, &p->v, b, first, of_value),
                   .out = row_of(arrays->out, &p->out, b, query, size),
                   .dout = row_of(arrays->dout, &p->dout, b, query, size)}};
    slice.problem.batch = 1;
    slice.problem.kv_heads = heads;
    slice.problem.heads = heads * members;
    if (p->key_heads) slice.problem.key_heads = heads / together;
    if (p->lengths) slice.problem.lengths = p->lengths + b;
    slice.problem.state_bytes = slice.problem.workspace_bytes = 0;
    slice.problem.saved = NULL;
    slice.problem.statistics = row_of(p->statistics, &p->statistics_at, b, query,
                                      attn_dtype_size(dtype_of_sums(s->kernel)));
    if (!params || !memory || !s->kernel->params) return slice;
    params_from(s->kernel, p, &origin, params, memory);
    slice.params = memory;
    return slice;
}

struct attn_problem slice_problem(const struct slicing *s, int64_t n)
{
    const struct arrays none = {0};
    return slice_of(s, n, &none, NULL, NULL).problem;
}
