/* Computes what NAME_workspace and NAME_saved return, for `attnc explain`. The templates call_arrays.c, entry.c and
   forward.c have the same sums in C. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../target/target.h"
#include "../../runtime/attnrt.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t whole_lines(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Returns the bytes of a thread. */
static int64_t of_version(const struct compilation *c)
{
    const struct loops *const l = c->loops, *const few = c->state.few_tokens ? c->state.few_tokens->loops : l;
    return larger(l->workspace, few->workspace) + (emit_in_phases(l) ? l->shared + loops_slots(l) * l->slot : 0);
}

/* Returns the bytes of a thread for the versions of a target. */
static int64_t of_versions(const struct versions *list, const struct target *t, int64_t n_k)
{
    const struct version *const v = list->version;
    int64_t bytes = 0;
    for (int k = 0; k < list->count; k++) {
        const bool used = v[k].target == t && (v[k].from <= n_k || k == 0 || v[k - 1].target != t);
        if (used && v[k].c) bytes = larger(bytes, of_version(v[k].c));
        if (used && v[k].few) bytes = larger(bytes, of_version(v[k].few));
        if (used && v[k].heads) bytes = larger(bytes, of_version(v[k].heads));
    }
    return bytes;
}

static bool owns_sums(const struct version *v)
{
    return v->c && prefix_sums_are_own(v->c) && (!v->few || prefix_sums_are_own(v->few)) &&
           (!v->heads || prefix_sums_are_own(v->heads));
}

/* Returns the number of keys for which the workspace has prefix sums, or -1 if it has none. */
static int64_t keys_of_sums(const struct versions *list, const struct target *t, int64_t n_k)
{
    const struct version *const v = list->version;
    int64_t keys = -1;
    for (int k = 0; k < list->count; k++) {
        const int64_t next = k + 1 < list->count && v[k + 1].target == t ? v[k + 1].from : INT64_MAX;
        if (v[k].target == t && (v[k].from <= n_k || keys < 0) && !owns_sums(&v[k]))
            keys = larger(keys, n_k < next ? n_k : next - 1);
    }
    return keys;
}

static int64_t of_prefix_sums(const struct emission *p, const struct target *t, const struct problem_size *size)
{
    const int64_t keys = !p->of[STEP_TERMS].count    ? -1
                         : p->of[STEP_WEIGHTS].count ? size->n_k /* weights are computed in the quadratic form */
                                                     : keys_of_sums(&p->of[STEP_FORWARD], t, size->n_k),
                  queries = keys < size->n_k && keys < size->n_q ? keys : size->n_q;
    if (keys < 0) return 0;
    const struct kernel_array
        *const sums = &p->arrays->array[kernel_array_find(p->arrays, prefix_array_name(PREFIX_OF_KEY))];
    const int64_t row = array_row_elements(sums) * dtype_bytes(dtype_of_sums(p->spec->dtype)) * size->batch *
                        size->kv_heads * size->members;
    return 2 * (whole_lines(row * queries) + whole_lines(row * (keys + (p->outer_chunk > 0))));
}

/* Returns the extent of an array's axis. */
static int64_t extent_of(const struct array_axis *axis, const struct problem_size *size)
{
    int64_t extent = axis->extent;
    if (axis->constant) return extent;
    switch (axis->size) {
    case ARRAY_SIZE_BATCH: extent = size->batch; break;
    case ARRAY_SIZE_HEADS: extent = size->kv_heads * size->members; break;
    case ARRAY_SIZE_KV_HEADS: extent = size->kv_heads; break;
    case ARRAY_SIZE_N_Q: extent = size->n_q; break;
    default: extent = size->n_k; break;
    }
    return axis->block ? (extent + axis->block - 1) / axis->block : extent;
}

/* Returns the bytes of the tables of the tiles of masks. */
static int64_t of_tiles(const struct emission *p, const struct problem_size *size)
{
    int64_t bytes = 0;
    for (int k = 0; k < p->arrays->count; k++) {
        const struct kernel_array *const a = &p->arrays->array[k];
        int64_t strips = 1;
        if (!a->tiled) continue;
        for (int n = 0; n < a->rank - 2; n++) strips *= extent_of(&a->axis[n], size);
        strips *= (extent_of(&a->axis[a->rank - 2], size) + ATTN_TILE_ROWS - 1) / ATTN_TILE_ROWS;
        bytes += whole_lines(strips *
                             ((extent_of(&a->axis[a->rank - 1], size) + ATTN_TILE_COLUMNS - 1) / ATTN_TILE_COLUMNS));
    }
    return bytes;
}

/* Returns the bytes of the lists of the best keys. */
static int64_t of_lists(const struct emission *p, const struct problem_size *size)
{
    int64_t bytes = 0;
    for (int k = 0; k < p->arrays->count; k++) {
        const struct kernel_array *const a = &p->arrays->array[k];
        int64_t one = a->place == PLACE_WORKSPACE && a->dtype == DTYPE_I32 ? dtype_bytes(a->dtype) : 0;
        for (int n = 0; n < a->rank; n++) one *= extent_of(&a->axis[n], size);
        bytes += whole_lines(one);
    }
    return bytes;
}

int64_t emit_workspace(const struct emission *p, const struct target *t, const struct problem_size *size, int threads)
{
    const int64_t real = dtype_bytes(dtype_of_sums(p->spec->dtype)), n_k = size->n_k,
                  corrected = p->of[STEP_CORRECT].count ? whole_lines(p->spec->value_dim * real * size->batch *
                                                                      size->kv_heads * size->members * n_k) *
                                                              graph_count(p->compilation[0]->source, GRAPH_SOLVE)
                                                        : 0;
    int64_t thread = of_versions(&p->of[STEP_FORWARD], t, n_k);
    for (int step = 0; step < STEPS; step++)
        if (step_table[step].first) thread = larger(thread, of_versions(&p->of[step], t, n_k));
    return of_prefix_sums(p, t, size) + of_tiles(p, size) + of_lists(p, size) + corrected + thread * threads;
}

int64_t emit_saved(const struct emission *p, const struct problem_size *size)
{
    const int64_t real = dtype_bytes(dtype_of_sums(p->spec->dtype)), heads = size->batch * size->kv_heads,
                  rows = p->saved * whole_lines(real * heads * size->members * size->n_q);
    return rows + (p->saves_solution ? whole_lines(p->spec->value_dim * real * heads * size->n_k) : 0);
}
