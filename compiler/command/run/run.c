/* attnc run: compiles a spec's kernel and calls it on arrays from .npy files. */
#include "run.h"
#include "../../emit/emit.h"
#include "../../spec/spec.h"
#include "../../support/support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if the array is an argument that backward writes. */
static bool is_wanted_gradient(const struct kernel_array *a)
{
    return a->access[ENTRY_BACKWARD] == ACCESS_WANTED && a->place != PLACE_WITHIN;
}

/* Sets data[0], data[1], … to the arguments of an entry point. An array that is stored within another array is NULL. */
static void arguments_of(const struct run *r, enum entry entry, void **data)
{
    int count = 0;
    for (int k = 0; k < r->arrays->count; k++)
        if ((r->arrays->array[k].place == PLACE_ARGUMENT || r->arrays->array[k].place == PLACE_WITHIN) &&
            r->arrays->array[k].access[entry] != ACCESS_NONE)
            data[count++] = r->array[k].data;
}

/* Reports the first id that is smaller than the previous one, and what the user can do. */
static void explain_order(struct run *r)
{
    for (int k = 0; k < r->arrays->count; k++) {
        const struct attn_array *a = &r->array[k];
        if (!r->arrays->array[k].compared) continue;
        const int32_t *id = a->data;
        int64_t at = 1, last = a->shape[0] * a->shape[1] - 1;
        while (at < last && (at % a->shape[1] == 0 || id[at] >= id[at - 1])) at++;
        complain(r->options,
                 "%s: at [%lld, %lld] the id decreases from %d to %d, but the linear form takes ids in ascending order",
                 run_file(r, r->options->in_dir, r->arrays->array[k].name), (long long)(at / a->shape[1]),
                 (long long)(at % a->shape[1]), (int)id[at - 1], (int)id[at]);
        fprintf(stderr, "attnc: note: number the documents in the order of their positions; if an id occurs again "
                        "later, --set algorithm=quadratic allows any order\n");
    }
    run_failed(r, STATUS_INPUT);
}

/* Computes all gradients and writes them to files. */
static void call_backward(struct run *r, const struct loaded_kernel *loaded)
{
    const struct attn_kernel *kernel = r->kernel;
    struct attn_problem *p = &r->problem;
    void **const by_param = arena_alloc(r->arena, ((size_t)r->arrays->count + 1) * sizeof *by_param), *a[8] = {NULL};
    int learned = 0;
    bool room = true;
    for (int k = 0; k < r->arrays->count && room; k++) {
        const struct kernel_array *const like = &r->arrays->array[k];
        if (!is_wanted_gradient(like)) continue;
        room = run_make_array(r, like, &r->array[k]);
        if (like->place == PLACE_GRADIENTS) by_param[learned++] = r->array[k].data;
    }
    p->workspace_bytes = kernel->backward_workspace(p);
    void *workspace = room ? attn_alloc(p->workspace_bytes) : NULL;
    if (room && !workspace) run_out_of_memory(r, "the workspace", p->workspace_bytes);
    if (workspace) {
        double start = attn_seconds();
        arguments_of(r, ENTRY_BACKWARD, a);
        int error = kernel->backward(p, r->params, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], by_param, workspace);
        double seconds = attn_seconds() - start;
        if (error) run_fail(r, STATUS_INPUT, "%s: %s", kernel->name, attn_strerror(error));
        for (int k = 0; k < r->arrays->count && !error; k++)
            if (is_wanted_gradient(&r->arrays->array[k]))
                run_write(r, loaded, r->arrays->array[k].name, &r->array[k], seconds);
    }
    attn_free(workspace);
}

/* Replaces the arguments that forward takes in another type than the file has. On failure, prints a message and
   returns false. */
static bool round_arguments(struct run *r, void **argument, void **made)
{
    int number = 0;
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        if ((a->place != PLACE_ARGUMENT && a->place != PLACE_WITHIN) || a->access[ENTRY_FORWARD] == ACCESS_NONE)
            continue;
        if (a->place == PLACE_ARGUMENT && a->dtype != a->appended) {
            const struct attn_array *const given = &r->array[k];
            const int64_t rows = given->shape[0] * given->shape[1] * given->shape[2], elements = given->shape[3];
            made[number] = argument[number] = kernel_rows(kernel_dtype(a->dtype), given->data, rows, elements);
            if (!argument[number]) {
                run_out_of_memory(r, arena_printf(r->arena, "rounding %s", a->name),
                                  (size_t)(rows * dtype_row_bytes(a->dtype, elements)));
                return false;
            }
        }
        number++;
    }
    return true;
}

static void call_kernel(struct run *r, const struct loaded_kernel *loaded)
{
    const struct options *o = r->options;
    const struct attn_kernel *kernel = r->kernel;
    struct attn_problem filled, *p = &r->problem;
    int error = attn_problem_check(p, kernel->head_dim, kernel->value_dim, &filled);
    if (error) {
        run_fail(r, STATUS_INPUT, "%s: %s", kernel->name, attn_strerror(error));
        return;
    }
    struct stat info;
    bool there = stat(o->out_dir, &info) == 0;
    if (make_folders(o->out_dir, 0777) != 0) {
        run_fail(r, STATUS_MACHINE, "%s: %s", o->out_dir, strerror(errno));
        return;
    }
    const struct kernel_array *const result = run_argument(r, QUANTITY_RESULT);
    bool room = true;
    for (int k = 0; k < r->arrays->count && room; k++) {
        const struct kernel_array *const like = &r->arrays->array[k];
        if (!run_is_output(like)) continue;
        room = run_make_array(r, like, &r->array[k]);
        if (like->place == PLACE_PROBLEM) *problem_output(p, like->name).data = r->array[k].data;
    }
    const bool gradients = r->array[kernel_gradient_of(r->arrays, kernel_array_find(r->arrays, result->name))].data &&
                           !o->chunks;
    p->workspace_bytes = kernel->workspace(p);
    void *workspace = attn_alloc(p->workspace_bytes);
    if (!workspace) run_out_of_memory(r, "the workspace", p->workspace_bytes);
    if (gradients) {
        p->saved_bytes = kernel->saved(p);
        p->saved = attn_alloc(p->saved_bytes);
        if (!p->saved) run_out_of_memory(r, "the storage for values saved for the gradients", p->saved_bytes);
        room &= p->saved != NULL;
    }
    if (workspace && room) {
        void *a[4] = {NULL}, *rounded[4] = {NULL};
        arguments_of(r, ENTRY_FORWARD, a);
        const bool ready = round_arguments(r, a, rounded);
        double start = attn_seconds();
        error = ready ? kernel->forward(p, r->params, a[0], a[1], a[2], a[3], workspace) : ATTN_EMEMORY;
        double seconds = attn_seconds() - start;
        for (int k = 0; k < 4; k++) attn_free(rounded[k]);
        if (error == ATTN_EORDER) {
            explain_order(r);
            if (!there) (void)rmdir(o->out_dir);
        } else if (error) {
            run_fail(r, STATUS_INPUT, "%s: %s", kernel->name, attn_strerror(error));
        } else {
            if (o->chunks) run_call_chunks(r);
            for (int k = 0; k < r->arrays->count && r->status == STATUS_DONE; k++)
                if (run_is_output(&r->arrays->array[k]))
                    run_write(r, loaded, r->arrays->array[k].name, &r->array[k], seconds);
        }
        if (!error && gradients && r->status == STATUS_DONE) call_backward(r, loaded);
    }
    attn_free(p->saved);
    attn_free(workspace);
}

static enum status run_unit(const struct options *o, struct unit *unit)
{
    struct loaded_kernel loaded = {0};
    struct run run = {.options = o,
                      .arena = unit->arena,
                      .arrays = unit->kernel.arrays,
                      .drops = unit->spec->dropout > 0,
                      .rounds = unit->spec->k_storage && unit->kernel.of[STEP_PREPARE].count > 0,
                      .corrects = unit->spec->rate != NULL},
               *r = &run;
    r->array = arena_alloc(r->arena, sizeof *r->array * (size_t)unit->kernel.arrays->count);
    /* Inputs are read before compiling, so that wrong arrays are reported early. */
    run_read_inputs(r, unit->spec->emit & EMIT_BACKWARD);
    if (r->status == STATUS_DONE) run_read_query_start(r);
    run_read_params(r, &unit->spec->similarity);
    if (r->status == STATUS_DONE)
        r->status = kernel_load(unit->spec->name, unit_source_here(unit, o), unit->header.data, o->console.quiet,
                                &loaded);
    if (r->status == STATUS_DONE) {
        r->kernel = loaded.kernel;
        run_set_params(r, &unit->spec->similarity);
    }
    if (r->status == STATUS_DONE) call_kernel(r, &loaded);
    for (int k = 0; k < r->arrays->count; k++) attn_array_free(&r->array[k]);
    attn_free(r->params);
    attn_free(r->generated);
    if (loaded.kernel) kernel_unload(&loaded);
    return r->status;
}

int command_run(const struct options *o)
{
    if (o->files != 1 || !o->in_dir || !o->out_dir)
        return (int)complain_as(o, STATUS_USAGE, "run takes %s",
                                o->files != 1 ? "one spec: attnc run SPEC.yaml --in DIR --out DIR"
                                : !o->in_dir  ? "the folder of the arrays: --in DIR"
                                              : "a folder for out.npy: --out DIR");
    int64_t chunk[RUN_MAX_CHUNKS];
    if (o->chunks && !run_chunk_sizes(o, chunk)) return STATUS_USAGE;
    enum status status = STATUS_DONE;
    struct options here = *o;
    here.only_here = true;
    struct unit *unit = unit_make(o->file[0], &here, &status);
    if (!unit) return (int)status;
    unit_warn(unit, o);
    struct stat info;
    if (stat(o->in_dir, &info) != 0 || !S_ISDIR(info.st_mode)) {
        status = complain_as(o, STATUS_INPUT, "%s: no such folder", o->in_dir);
    } else {
        status = run_unit(o, unit);
    }
    unit_free(unit);
    return (int)status;
}
