/* Calls extend for successive pieces of the sequences, for attnc run --chunks. */
#include "run.h"
#include "../../support/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Returns the largest difference of two outputs, relative to the largest number in its row. A row far below the
   rounding errors of others has weights whose terms cancel. Its difference is relative to these errors. */
static double difference(const struct attn_array *a, const struct attn_array *b)
{
    const int64_t row = a->shape[a->rank - 1];
    int64_t rows = 1;
    for (int k = 0; k + 1 < a->rank; k++) rows *= a->shape[k];
    const double least = numbers_largest(b->data, b->dtype, rows * row) *
                         (a->dtype == ATTN_F64 ? DBL_EPSILON : FLT_EPSILON);
    return rows_differ(a->data, b->data, a->dtype, rows, row, least, true);
}

/* Returns the difference that rounding may cause. The results add numbers in different orders, and weights may be
   rounded to 16 bits. */
static double may_differ(enum attn_dtype dtype)
{
    return dtype == ATTN_F64 ? 1e-10 : dtype == ATTN_F32 ? 1e-3 : 0.05;
}

int run_chunk_sizes(const struct options *o, int64_t *chunk)
{
    int count = 0;
    for (const char *at = o->chunks; count < RUN_MAX_CHUNKS;) {
        at = count_read(at, &chunk[count]);
        if (!at || (*at && *at != ',')) break;
        count++;
        if (!*at) return count;
        at++;
    }
    complain(o, "--chunks takes up to %d whole numbers from 1 up, as in 1,7,64, not '%s'", (int)RUN_MAX_CHUNKS,
             o->chunks);
    return 0;
}

static bool is_axis_of_tokens(const struct array_axis *axis)
{
    return !axis->constant && (axis->size == ARRAY_SIZE_N_K || axis->size == ARRAY_SIZE_N_Q);
}

/* Copies n rows of each parameter that has a row per token, beginning at row `from`, for the next call of extend.
   Sets piece[k] to the copy of array k, and frees the previous copy. Returns false if memory runs out. */
static bool take_rows(struct run *r, int64_t from, int64_t n, void **piece)
{
    for (int k = 0; k < r->arrays->count; k++) {
        const struct kernel_array *const like = &r->arrays->array[k];
        const struct attn_array *const a = &r->array[k];
        if (like->place != PLACE_PARAMS || !array_grows(like)) continue;
        const size_t row = (size_t)array_row_elements(like) * attn_dtype_size(a->dtype);
        int64_t sequences = 1;
        for (int axis = 0; !is_axis_of_tokens(&like->axis[axis]); axis++) sequences *= a->shape[axis];
        attn_free(piece[k]);
        piece[k] = attn_alloc((size_t)(sequences * n) * row);
        if (!piece[k]) return false;
        for (int64_t x = 0; x < sequences; x++)
            memcpy((char *)piece[k] + (size_t)(x * n) * row,
                   (const char *)a->data + (size_t)(x * r->problem.n_k + from) * row, (size_t)n * row);
        run_set_param(r, k, piece[k]);
    }
    return true;
}

/* Returns the address of an element of an argument. Returns NULL if the array is stored within another
   array. */
static void *element_of(const struct run *r, enum quantity quantity, int64_t element)
{
    char *const data = run_array(r, run_argument(r, quantity)->name)->data;
    return data ? data + (size_t)element * attn_dtype_size(r->kernel->dtype) : NULL;
}

/* Appends all tokens to the state with extend, which writes output k to grown[k]. Returns the number of calls. On
   failure, prints a message and returns 0. */
static int64_t extend_all(struct run *r, const struct attn_array *grown, void *state, size_t bytes)
{
    const struct attn_kernel *const kernel = r->kernel;
    struct attn_problem p;
    int64_t chunk[RUN_MAX_CHUNKS], calls = 0, done = 0;
    void **const piece = arena_alloc(r->arena, (size_t)r->arrays->count * sizeof *piece);
    const int count = run_chunk_sizes(r->options, chunk);
    if (!count || attn_problem_check(&r->problem, kernel->head_dim, kernel->value_dim, &p) != 0) return 0;
    p.capacity = p.n_k;
    p.weights = NULL; /* extend computes none */
    p.state_bytes = bytes;
    p.workspace_bytes = kernel->extend_workspace(&p);
    void *const workspace = attn_alloc(p.workspace_bytes);
    if (!workspace) run_out_of_memory(r, "the workspace", p.workspace_bytes);
    int error = workspace ? kernel->state_init(&p, state) : ATTN_EMEMORY;
    for (; done < p.n_k && !error; done += p.n_q) {
        p.n_q = chunk[calls++ % count];
        if (p.n_q > p.n_k - done) p.n_q = p.n_k - done;
        if (!take_rows(r, done, p.n_q, piece)) {
            run_out_of_memory(r, "the tokens of a call", (size_t)p.n_q);
            error = ATTN_EMEMORY;
            break;
        }
        void *out = NULL;
        for (int k = 0; k < r->arrays->count; k++) {
            const struct kernel_array *const like = &r->arrays->array[k];
            if (!grown[k].data) continue;
            const struct problem_output other = like->place == PLACE_PROBLEM ? problem_output(&p, like->name)
                                                                             : (struct problem_output){&out, &p.out};
            *other.data = (char *)grown[k].data + (size_t)(done * other.strides->row) * attn_dtype_size(grown[k].dtype);
        }
        error = kernel->extend(&p, r->params, element_of(r, QUANTITY_QUERY, done * p.q.row),
                               element_of(r, QUANTITY_KEY, done * p.k.row),
                               element_of(r, QUANTITY_VALUE, done * p.v.row), out, state, workspace);
    }
    for (int k = 0; k < r->arrays->count; k++) attn_free(piece[k]);
    attn_free(workspace);
    if (error && error != ATTN_EMEMORY) run_fail(r, STATUS_INPUT, "%s: %s", kernel->name, attn_strerror(error));
    return error ? 0 : calls;
}

/* Returns a phrase that says from which length on the state is smaller than the keys and values. Returns "" if there
   is no such length. */
static const char *smaller_from(const struct run *r, size_t bytes)
{
    struct attn_problem more = r->problem;
    more.capacity *= 2;
    if (r->kernel->state(&more) != bytes) return "";
    const int64_t value = r->kernel->values_are_keys ? 0 : r->kernel->value_dim,
                  token = more.batch * more.kv_heads * (r->kernel->head_dim + value) *
                          (int64_t)attn_dtype_size(r->kernel->dtype);
    return arena_printf(r->arena, " (smaller than keys and values from %lld tokens on)", (long long)bytes / token + 1);
}

void run_call_chunks(struct run *r)
{
    const struct attn_kernel *const kernel = r->kernel;
    if (r->problem.query_start) {
        run_fail(r, STATUS_INPUT,
                 "--chunks and query_start.npy exclude each other, because a state knows its positions");
        return;
    }
    if (r->problem.n_q != r->problem.n_k) {
        run_fail(r, STATUS_INPUT, "--chunks needs as many queries as keys, not %lld queries and %lld keys",
                 (long long)r->problem.n_q, (long long)r->problem.n_k);
        return;
    }
    r->problem.capacity = r->problem.n_k;
    const size_t bytes = kernel->state(&r->problem);
    void *const state = attn_alloc(bytes);
    struct attn_array *const grown = arena_alloc(r->arena, (size_t)r->arrays->count * sizeof *grown);
    bool room = true;
    for (int k = 0; k < r->arrays->count && room; k++)
        if (run_is_output(&r->arrays->array[k]) && r->arrays->array[k].role != ROLE_PER_PAIR)
            room = run_make_array(r, &r->arrays->array[k], &grown[k]);
    if (!state) run_out_of_memory(r, "the state", bytes);
    const int64_t calls = state && room ? extend_all(r, grown, state, bytes) : 0;
    attn_free(state);
    if (calls) {
        char text[32];
        double off = 0;
        for (int k = 0; k < r->arrays->count; k++)
            if (grown[k].data) off = fmax(off, difference(&grown[k], &r->array[k]));
        if (r->drops)
            mention(r->options, "", "%lld calls of extend, a state of %s%s; extend drops nothing, so forward differs",
                    (long long)calls, table_bytes((double)bytes, text, sizeof text), smaller_from(r, bytes));
        else
            mention(r->options, "",
                    "%lld calls of extend, a state of %s%s; the largest difference from forward is %.2g of a row",
                    (long long)calls, table_bytes((double)bytes, text, sizeof text), smaller_from(r, bytes), off);
        if (!r->drops && !r->rounds && !(off <= may_differ(kernel->dtype)))
            run_fail(r, STATUS_INPUT, "%s: extend and forward differ", kernel->name);
    }
    for (int k = 0; k < r->arrays->count; k++) {
        if (!grown[k].data) continue;
        attn_free(r->array[k].data);
        r->array[k] = grown[k];
    }
}
