/* Reads or generates the parameters of the kernel, for attnc run. */
#include "run.h"
#include "../../support/support.h"

#include <string.h>

/* Generates random parameters. Parameters from files replace them later. */
static void generate_params(struct run *r, uint64_t seed)
{
    size_t bytes = r->kernel->params_size();
    r->generated = attn_alloc(bytes);
    if (!r->generated) {
        run_out_of_memory(r, "generating the parameters", bytes);
        return;
    }
    int error = r->kernel->params_init(r->params, seed, r->generated);
    if (error) {
        complain(r->options, "the parameters cannot be generated: %s", attn_strerror(error));
        run_failed(r, error == ATTN_EMEMORY ? STATUS_MACHINE : STATUS_INPUT);
    }
}

static bool seeded(const struct run *r, const struct similarity *similarity)
{
    return r->options->has_seed || similarity->has_seed;
}

void run_read_params(struct run *r, const struct similarity *similarity)
{
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        const bool random = a->origin != ORIGIN_LEARNED;
        int64_t shape[MAX_RANK];
        if (a->place != PLACE_PARAMS) continue;
        run_shape_of(a, shape);
        if (run_read(r, a->name, kernel_dtype(a->dtype), &r->array[k])) {
            if (r->array[k].data) run_check_shape(r, a, &r->array[k]);
            continue;
        }
        if (random && seeded(r, similarity)) continue;
        run_fail(r, STATUS_INPUT, "%s: no such file; it should contain the parameter %s, shape %s%s%s",
                 run_file(r, r->options->in_dir, a->name), a->name, run_shape_text(r, a->rank, shape),
                 a->dtype == DTYPE_I32  ? ", integers"
                 : a->dtype == DTYPE_U8 ? ", truth values"
                                        : "",
                 random ? ", which --seed N would generate" : "");
    }
}

/* Returns the number of array k in kernel->param, or -1. */
static int param_of(const struct run *r, int k)
{
    int number = 0;
    for (int n = 0; n < k; n++) number += r->arrays->array[n].place == PLACE_PARAMS;
    return r->arrays->array[k].place == PLACE_PARAMS ? number : -1;
}

void run_set_param(struct run *r, int k, const void *data)
{
    memcpy((char *)r->params + r->kernel->param[param_of(r, k)].offset, &data, sizeof data);
}

void run_set_params(struct run *r, const struct similarity *similarity)
{
    const struct attn_kernel *kernel = r->kernel;
    r->params = attn_alloc(kernel->params_bytes);
    if (!r->params) {
        run_out_of_memory(r, "the table of parameters", kernel->params_bytes);
        return;
    }
    if (kernel->params > 0 && seeded(r, similarity))
        generate_params(r, r->options->has_seed ? r->options->seed : similarity->seed);
    for (int k = 0; k < r->arrays->count; k++)
        if (r->arrays->array[k].place == PLACE_PARAMS && r->array[k].data) run_set_param(r, k, r->array[k].data);
}
