/* Reads the arguments of the kernel, for attnc run. */
#include "run.h"
#include "../../support/support.h"

#include <math.h>

/* Returns true if the caller provides the array: an argument that no entry point writes. */
static bool is_input(const struct kernel_array *a)
{
    return a->place == PLACE_ARGUMENT && a->access[ENTRY_FORWARD] <= ACCESS_READ &&
           a->access[ENTRY_BACKWARD] == ACCESS_READ;
}

/* Returns the name of an argument's file, such as "q.npy". */
static const char *file_of(const struct run *r, enum quantity quantity)
{
    return arena_printf(r->arena, "%s.npy", run_argument(r, quantity)->name);
}

/* Returns a text that says where the size of an axis comes from, such as "q.npy has 8 heads". */
static const char *axis_origin(const struct run *r, int64_t axis)
{
    axis %= 8; /* for ATTN_BLOCKS(axis, block), this is the axis */
    const bool queries = axis == ATTN_BATCH || axis == ATTN_HEADS || axis == ATTN_N_Q;
    const char *file = file_of(r, queries ? QUANTITY_QUERY : QUANTITY_KEY);
    switch ((enum attn_axis)axis) {
    case ATTN_BATCH: return arena_printf(r->arena, "the batch of %s is %lld", file, (long long)r->problem.batch);
    case ATTN_HEADS:
    case ATTN_KV_HEADS:
        return arena_printf(r->arena, "%s has %lld heads", r->problem.key_heads ? file_of(r, QUANTITY_VALUE) : file,
                            (long long)(axis == ATTN_HEADS ? r->problem.heads : r->problem.kv_heads));
    case ATTN_N_Q: return arena_printf(r->arena, "%s has %lld queries", file, (long long)r->problem.n_q);
    case ATTN_N_K: return arena_printf(r->arena, "%s has %lld keys", file, (long long)r->problem.n_k);
    }
    return "";
}

bool run_check_shape(struct run *r, const struct kernel_array *like, const struct attn_array *a)
{
    const char *path = run_file(r, r->options->in_dir, like->name), *why = NULL;
    int64_t expected[MAX_RANK];
    run_shape(r, like, expected);
    for (int k = 0; k < like->rank && a->rank == like->rank && !why; k++) {
        int64_t extent = run_extent(r, expected[k]);
        if (extent < 0 || extent == a->shape[k]) continue;
        const char *const key = like->axis[k].key;
        why = expected[k] < 0 ? axis_origin(r, expected[k])
              : like->shared && k == 1
                  ? arena_printf(r->arena, "%s has more heads than %s, so q and k need equally many",
                                 file_of(r, QUANTITY_VALUE), file_of(r, QUANTITY_QUERY))
              : key ? arena_printf(r->arena, "%s of the spec is %lld", key, (long long)extent)
                    : "";
    }
    if (a->rank == like->rank && !why) return true;
    if (a->rank != like->rank) why = arena_printf(r->arena, "it should have %d dimensions", like->rank);
    run_fail(r, STATUS_INPUT, "%s: shape %s, expected %s%s%s", path, run_shape_text(r, a->rank, a->shape),
             run_shape_text(r, like->rank, expected), *why ? ": " : "", why);
    return false;
}

static void warn_not_finite(const struct run *r, const char *name, const struct attn_array *a)
{
    int64_t count = 1, bad = 0;
    for (int k = 0; k < a->rank; k++) count *= a->shape[k];
    for (int64_t k = 0; k < count; k++) bad += !isfinite(number_at(a->data, k, a->dtype));
    if (bad)
        mention(r->options, "warning", "%s: %lld of its values %s not finite", run_file(r, r->options->in_dir, name),
                (long long)bad, bad == 1 ? "is" : "are");
}

/* Sets the sizes of the problem. The first input with an axis gives the size of this axis. check_shape compares the
   other inputs with it. */
static void take_sizes(struct run *r)
{
    int64_t *const size[ARRAY_SIZES] = {[ARRAY_SIZE_BATCH] = &r->problem.batch,
                                        [ARRAY_SIZE_HEADS] = &r->problem.heads,
                                        [ARRAY_SIZE_KV_HEADS] = &r->problem.kv_heads,
                                        [ARRAY_SIZE_N_Q] = &r->problem.n_q,
                                        [ARRAY_SIZE_N_K] = &r->problem.n_k};
    bool known[ARRAY_SIZES] = {false};
    r->problem = (struct attn_problem){.batch = -1,
                                       .heads = -1,
                                       .kv_heads = -1,
                                       .n_q = -1,
                                       .n_k = -1,
                                       .threads = r->options->threads,
                                       .seed = r->options->has_seed ? r->options->seed : 0};
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        if (!is_input(a)) continue;
        for (int x = 0; x < a->rank; x++) {
            if (a->axis[x].constant || known[a->axis[x].size]) continue;
            known[a->axis[x].size] = true;
            if (r->array[k].data && r->array[k].rank == a->rank) *size[a->axis[x].size] = r->array[k].shape[x];
        }
    }
}

/* If v has more heads than q, then q and k have `key_heads` heads. */
static void take_key_heads(struct run *r)
{
    const struct kernel_array *const queries = run_argument(r, QUANTITY_QUERY);
    const struct attn_array *const q = run_array(r, queries->name), *const v = run_array(
                                                                        r, run_argument(r, QUANTITY_VALUE)->name);
    if (!queries->shared) return;
    if (!q->data || !v->data || q->rank != 4 || v->rank != 4) return;
    if (v->shape[1] <= q->shape[1]) return;
    r->problem.key_heads = q->shape[1];
    r->problem.heads = r->problem.kv_heads = v->shape[1];
}

void run_read_inputs(struct run *r, bool gradients)
{
    bool *const missing = arena_alloc(r->arena, (size_t)r->arrays->count * sizeof *missing);
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        if (is_input(a) && (a->access[ENTRY_FORWARD] || gradients))
            missing[k] = !run_read(r, a->name, kernel_dtype(a->appended), &r->array[k]);
    }
    take_sizes(r);
    take_key_heads(r);
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const a = &r->arrays->array[k];
        const struct attn_array *const given = &r->array[k];
        const char *path = run_file(r, r->options->in_dir, a->name);
        int64_t expected[MAX_RANK];
        /* without dout.npy, no gradients are computed */
        if (!is_input(a) || (missing[k] && !a->access[ENTRY_FORWARD])) continue;
        run_shape(r, a, expected);
        if (missing[k]) {
            run_fail(r, STATUS_INPUT, "%s: no such file; it should contain %s, shape %s", path, a->name,
                     run_shape_text(r, a->rank, expected));
            continue;
        }
        if (!given->data || !run_check_shape(r, a, given)) continue;
        bool empty = false;
        for (int x = 0; x < a->rank; x++) empty |= given->shape[x] == 0;
        if (empty) {
            run_fail(r, STATUS_INPUT, "%s: shape %s has no elements", path, run_shape_text(r, a->rank, given->shape));
        } else if (!r->options->console.quiet) {
            warn_not_finite(r, a->name, given);
        }
    }
    const struct attn_problem *const p = &r->problem;
    const char *const q = file_of(r, QUANTITY_QUERY), *const k = file_of(r, QUANTITY_KEY),
                      *const queries = run_file(r, r->options->in_dir, run_argument(r, QUANTITY_QUERY)->name),
                      *const values = run_file(r, r->options->in_dir, run_argument(r, QUANTITY_VALUE)->name);
    if (p->key_heads > 0 && p->heads % p->key_heads != 0) {
        run_fail(r, STATUS_INPUT,
                 "%s: the number of heads, %lld, must be a multiple of the number of heads of %s, %lld", values,
                 (long long)p->heads, q, (long long)p->key_heads);
    } else if (p->heads > 0 && p->kv_heads > 0 && p->heads % p->kv_heads != 0) {
        run_fail(r, STATUS_INPUT,
                 "%s: the number of heads, %lld, must be a multiple of the number of heads of %s, %lld", queries,
                 (long long)p->heads, k, (long long)p->kv_heads);
    } else if (r->corrects && p->heads != p->kv_heads) {
        run_fail(r, STATUS_INPUT, "%s: 'delta' needs as many heads of q as of k; %s has %lld, %s has %lld", queries, q,
                 (long long)p->heads, k, (long long)p->kv_heads);
    }
}

void run_read_query_start(struct run *r)
{
    static const char name[] = "query_start";
    struct attn_array given = {.data = NULL};
    const int64_t shape[] = {ATTN_BATCH};
    if (kernel_array_find(r->arrays, name) >= 0 || !run_read(r, name, ATTN_I32, &given) || !given.data) return;
    const int64_t batch = r->problem.batch;
    if (given.rank != 1 || given.shape[0] != batch) {
        run_fail(r, STATUS_INPUT, "%s: shape %s, expected %s: %s", run_file(r, r->options->in_dir, name),
                 run_shape_text(r, given.rank, given.shape), run_shape_text(r, 1, shape), axis_origin(r, ATTN_BATCH));
    } else {
        int64_t *const start = arena_alloc(r->arena, (size_t)batch * sizeof *start);
        for (int64_t b = 0; b < batch; b++) start[b] = ((const int32_t *)given.data)[b];
        r->problem.query_start = start;
    }
    attn_array_free(&given);
}
