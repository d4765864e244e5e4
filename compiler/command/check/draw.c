/* Random numbers for the arrays of `attnc check`. */
#include "check.h"
#include "../../host/host.h"

#include <math.h>
#include <string.h>

double check_uniform(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((double)((x ^ (x >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

double check_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(check_uniform(state))), angle = 6.283185307179586 * check_uniform(state);
    return radius * cos(angle);
}

double check_as_stored(double x, enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_BF16: return attn_bf16_value(attn_bf16(x));
    case DTYPE_F16: return attn_f16_value(attn_f16(x));
    default: return (double)(float)x;
    }
}

void check_round_rows(double *data, int64_t rows, int64_t elements, enum dtype dtype, struct arena *arena)
{
    const enum attn_dtype type = kernel_dtype(dtype);
    float *const row = arena_alloc(arena, (size_t)elements * sizeof *row);
    void *const stored = arena_alloc(arena, (size_t)attn_row_bytes(type, elements));
    for (int64_t r = 0; r < rows; r++, data += elements) {
        for (int64_t k = 0; k < elements; k++) row[k] = (float)data[k];
        attn_store_row(type, row, elements, stored);
        attn_load_row(type, stored, elements, row);
        for (int64_t k = 0; k < elements; k++) data[k] = (double)row[k];
    }
}

/* Fills an array of ids. A sequence has a few different ids, some of them negative. If `sorted` is true, ids ascend. */
static void fill_ids(double *data, int64_t batch, int64_t keys, bool sorted, uint64_t *state)
{
    for (int64_t b = 0; b < batch; b++) {
        double id = -2;
        for (int64_t x = 0; x < keys; x++) {
            double draw = check_uniform(state);
            id = !sorted ? floor(draw * 4) - 2 : draw * (double)keys < 5 ? id + 1 + floor(draw * (double)keys) : id;
            data[b * keys + x] = id;
        }
    }
}

/* Fills an array of integers that bound keys, or of numbers of blocks. Some integers are out of range. Every few
   sequences have all keys or none. */
static void fill_bounds(double *data, int64_t n, const struct kernel_array *a, int64_t keys, uint64_t *state)
{
    for (int k = 0; k < a->rank; k++)
        if (a->axis[k].block) keys = (keys - 1) / a->axis[k].block + 1;
    for (int64_t x = 0; x < n; x++) {
        const double draw = check_uniform(state), end = (double)keys + 2;
        data[x] = draw < 0.1 ? -1 : draw < 0.2 ? end - 2 : floor((draw - 0.2) / 0.8 * (end + 1)) - 1;
    }
}

/* Fills an array of truth values. Some runs are true, some are false, and some are mixed. In a mask several rows are
   equal, so some tiles are all true or all false. */
static void fill_flags(double *data, int64_t n, int64_t columns, bool mask, uint64_t *state)
{
    for (int64_t x = 0; x < n;) {
        const double kind = check_uniform(state);
        const int64_t end = x + 1 + (int64_t)(100 * check_uniform(state));
        for (; x < n && x < end; x++) data[x] = kind < 0.4 ? 1 : kind < 0.6 ? 0 : check_uniform(state) < 0.5;
    }
    const int64_t equal = 1 + (int64_t)(60 * check_uniform(state));
    for (int64_t x = columns; mask && x < n; x++)
        if (x / columns % equal) data[x] = data[x - columns];
}

/* Sets the values of a sample to the first `count` elements of its keys. */
static void take_values(struct sample *s, int64_t count, const struct value *v, const struct module *m,
                        struct arena *arena)
{
    const int64_t row = m->axis[v->axes[v->rank - 1]].extent;
    s->values = (struct tensor){v->name, arena_alloc(arena, (size_t)count * sizeof(double))};
    s->values_count = count;
    (void)tensor_read(s->tensor, s->tensors, v->name, &v->within, count / row, row, m->axis[v->within.row].extent,
                      s->values.data);
}

void check_fill(struct sample *s, const struct unit *p, const struct problem_size *size, bool sorted, uint64_t *state)
{
    const struct graph *const g = p->graph;
    struct arena *const arena = p->arena;
    for (int a = 0; a < p->kernel.arrays->count && s->tensors < MAX_TENSORS; a++) {
        const struct kernel_array *const array = &p->kernel.arrays->array[a];
        if (array->access[ENTRY_FORWARD] != ACCESS_READ) continue;
        const struct value *const value = &g->value[graph_find(g, array->name)];
        const int64_t n = check_wanted(g->module, value->name, value->rank, value->axes, size).elements;
        if (array->place == PLACE_WITHIN) {
            take_values(s, n, value, g->module, arena);
            continue;
        }
        double *data = arena_alloc(arena, (size_t)n * sizeof *data);
        bool matrix = array->learned && value->rank == 2, weight = strstr(array->name, ".weight") != NULL,
             norm = strstr(array->name, ".bias") != NULL;
        struct expr_range range;
        const bool ranged = drawn_range(p->spec, array->name, &range);
        for (int64_t k = 0; k < n; k++) {
            double x = check_normal(state);
            if (weight) x = 1 + 0.1 * x;
            if (norm) x *= 0.1;
            if (ranged) x = range.low + (range.high - range.low) * erfc(x / sqrt(2)) / 2;
            if (matrix && !ranged) x /= sqrt((double)axis_extent(g->module, value->axes[0], size));
            const bool typed = array->place == PLACE_ARGUMENT || dtype_is_narrow(array->dtype);
            data[k] = check_as_stored(x, typed ? array->appended : DTYPE_F32);
        }
        if (array->dtype != array->appended) {
            const int64_t elements = array_row_elements(array);
            check_round_rows(data, n / elements, elements, array->dtype, arena);
        }
        if (array->hides) {
            double *const flags = arena_alloc(arena, (size_t)n * sizeof *flags);
            fill_flags(flags, n, value->rank ? axis_extent(g->module, value->axes[value->rank - 1], size) : 1,
                       array->tiled, state);
            for (int64_t k = 0; k < n; k++)
                if (flags[k] == 0) data[k] = -INFINITY;
        }
        if (array->dtype == DTYPE_U8)
            fill_flags(data, n, value->rank ? axis_extent(g->module, value->axes[value->rank - 1], size) : 1,
                       array->tiled, state);
        else if (array->dtype == DTYPE_I32 && !array->compared)
            fill_bounds(data, n, array, size->n_k, state);
        else if (array->dtype == DTYPE_I32)
            fill_ids(data, axis_extent(g->module, value->axes[0], size), axis_extent(g->module, value->axes[1], size),
                     sorted, state);
        s->array[s->tensors] = array;
        s->count[s->tensors] = n;
        s->tensor[s->tensors++] = (struct tensor){value->name, data};
    }
}
