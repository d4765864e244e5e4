/* attnc check: calls forward of the kernel on a sample, converted to the kernel's types. */
#include "check.h"
#include "../../host/host.h"

#include <string.h>

void *check_memory(size_t bytes)
{
    void *made = attn_alloc(bytes + 64);
    return made ? memset(made, 0xff, bytes + 64) : NULL;
}

/* Returns the bytes of tensor t in the type that forward takes. */
static size_t check_array_bytes(const struct sample *s, int t)
{
    const struct kernel_array *const a = s->array[t];
    const int64_t elements = array_row_elements(a);
    return (size_t)(s->count[t] / elements * dtype_row_bytes(a->dtype, elements));
}

void *check_converted(const struct tensor *t, int64_t n, enum attn_dtype dtype)
{
    char *data = attn_alloc((size_t)n * attn_dtype_size(dtype) + 64);
    for (int64_t k = 0; data && k < n; k++) number_set(data, k, dtype, t->data[k]);
    return data;
}

size_t check_output_bytes(const struct sample *s, int o, int64_t elements)
{
    return (size_t)elements * attn_dtype_size(kernel_dtype(s->output[o].array->dtype));
}

void check_outputs(const struct sample *s, int sample, void *const *output, double times, struct worst *worst)
{
    struct arena *const arena = arena_new();
    for (int o = 0; o < s->outputs; o++) {
        const struct wanted *const w = &s->output[o];
        double *const got = arena_alloc(arena, (size_t)w->elements * sizeof *got), *const allowed = arena_alloc(
                                                                                       arena, (size_t)w->elements *
                                                                                                  sizeof *allowed);
        for (int64_t k = 0; k < w->elements; k++) got[k] = number_at(output[o], k, kernel_dtype(w->array->dtype));
        for (int64_t r = 0; r < w->elements / w->row; r++) allowed[r] = times * w->allowed[r];
        check_worst(w, sample, got, allowed, w->array->dtype, worst);
    }
    arena_free(arena);
}

void check_set_array(struct called *x, const struct sample *s, int t, void *array)
{
    /* The number of earlier tensors of this kind. Tensors are in the order of arguments, or of parameters. */
    int before = 0;
    for (int k = 0; k < t; k++) before += s->array[k]->place == s->array[t]->place;
    if (s->array[t]->place == PLACE_ARGUMENT)
        x->input[before] = array;
    else
        memcpy(x->params + x->kernel->param[before].offset, &array, sizeof array);
}

/* Returns tensor t in the type that forward takes. */
static void *stored_tensor(const struct sample *s, int t)
{
    const struct kernel_array *const a = s->array[t];
    void *const given = check_converted(&s->tensor[t], s->count[t], kernel_dtype(a->appended));
    if (!given || a->dtype == a->appended) return given;
    const int64_t elements = array_row_elements(a);
    void *const rows = kernel_rows(kernel_dtype(a->dtype), given, s->count[t] / elements, elements);
    attn_free(given);
    return rows;
}

/* Converts the sample's arrays to the kernel's types, and sets the kernel's pointers to them. */
static int place_arrays(struct called *x, const struct sample *s, int64_t sharing)
{
    for (int t = 0; t < s->tensors; t++) {
        x->array[t] = stored_tensor(s, t);
        x->tensors = t + 1;
        if (!x->array[t]) return ATTN_EMEMORY;
        if (s->array[t]->shared && sharing > 1)
            check_without_copies(x->array[t], check_array_bytes(s, t), x->problem.batch * x->problem.heads, sharing);
        check_set_array(x, s, t, x->array[t]);
    }
    return 0;
}

/* Makes the tables of the tiles of masks, as a caller can. Returns 0 or an error. */
static int make_tables(struct called *x)
{
    for (int n = 0; n < x->kernel->params; n++) {
        const struct attn_param *const param = &x->kernel->param[n];
        int64_t shape[ATTN_MASK_AXES];
        const uint8_t *mask;
        if (!param->tiles) continue;
        attn_param_shape(param, &x->problem, shape);
        memcpy(&mask, x->params + param->offset, sizeof mask);
        const size_t bytes = x->kernel->tiles_bytes(param->rank, shape);
        struct attn_mask_tiles *const table = bytes && x->tables < MAX_TENSORS ? check_memory(bytes) : NULL;
        if (!table) return ATTN_EMEMORY;
        x->table[x->tables++] = table;
        const int error = x->kernel->tiles_of_mask(mask, param->rank, shape, NULL, table, bytes);
        if (error) return error;
        memcpy(x->params + param->tiles, &table, sizeof(void *));
    }
    return 0;
}

int check_call(const struct checking *c, const struct attn_kernel *kernel, int sample, bool saves, struct called *out)
{
    const struct sample *s = &c->sample[sample];
    const struct problem_size *size = &c->size[sample];
    *out = (struct called){.kernel = kernel,
                           .problem = {.batch = size->batch,
                                       .heads = size->kv_heads * size->members,
                                       .kv_heads = size->kv_heads,
                                       .key_heads = c->sharing[sample] > 1 ? size->kv_heads / c->sharing[sample] : 0,
                                       .n_q = size->n_q,
                                       .n_k = size->n_k,
                                       .query_start = s->query_start,
                                       .threads = c->o->threads}};
    struct attn_problem *p = &out->problem;
    void *workspace = check_memory(kernel->workspace(p));
    out->params = attn_alloc(kernel->params_bytes + 64);
    if (saves) p->saved = check_memory(kernel->saved(p));
    bool room = workspace && out->params && (p->saved || !saves);
    out->output = arena_alloc(c->p->arena, (size_t)s->outputs * sizeof *out->output);
    out->outputs = s->outputs;
    for (int o = 0; o < s->outputs; o++) {
        out->output[o] = check_memory(check_output_bytes(s, o, s->output[o].elements));
        room &= out->output[o] != NULL;
        if (o > 0) *problem_output(p, s->output[o].name).data = out->output[o];
    }
    int error = room ? 0 : ATTN_EMEMORY;
    if (!error) error = place_arrays(out, s, c->sharing[sample]);
    if (!error && sample % 2 == 0) error = make_tables(out); /* in other samples, the kernel makes them */
    if (!error)
        error = kernel->forward(p, out->params, out->input[0], out->input[1], out->input[2], out->output[0], workspace);
    attn_free(workspace);
    return error;
}

void check_call_end(struct called *x)
{
    for (int t = 0; t < x->tensors; t++) attn_free(x->array[t]);
    for (int t = 0; t < x->tables; t++) attn_free(x->table[t]);
    attn_free(x->problem.saved);
    for (int o = 0; o < x->outputs; o++) attn_free(x->output[o]);
    attn_free(x->params);
}
