/* Checks the arguments of a call, and finds the places of its arrays. */
#include "call.h"

ATTN_API void attn_call_copy(struct call *to, const struct call *from)
{
    memcpy(to, from, offsetof(struct call, array) + (size_t)from->kernel->arrays * sizeof *from->array);
}

/* Returns the address of a member of a struct. */
static void *member_of(const void *whole, size_t offset)
{
    return (unsigned char *)(uintptr_t)whole + offset;
}

static void *pointer_in(const void *whole, size_t offset)
{
    return *(void *const *)member_of(whole, offset);
}

/* Checks a problem like attn_problem_check. If values are the first elements of keys, they get the strides of keys. */
static int check(const struct kernel *kernel, const struct attn_problem *problem, int given,
                 struct attn_problem *filled)
{
    struct attn_problem p;
    if (kernel->values_are_keys) {
        if (problem->key_heads) return ATTN_EPROBLEM; /* values have as many heads as keys */
        p = *problem;
        p.v = p.dv = (struct attn_strides){0, 0, 0};
        problem = &p;
    }
    const int error = given && kernel->storage
                          ? attn_stored_problem_check(problem, kernel->head_dim, kernel->value_dim, kernel->key_row,
                                                      kernel->value_row, filled)
                          : attn_problem_check(problem, kernel->head_dim, kernel->value_dim, filled);
    if (!error && kernel->values_are_keys) filled->v = filled->k;
    return error;
}

static int positions_fit(const struct attn_problem *p)
{
    const int64_t most = INT64_C(1) << 31;
    int fit = 1;
    for (int64_t b = 0; p->query_start && b < p->batch; b++)
        fit &= p->query_start[b] >= -most && p->query_start[b] <= most;
    return fit;
}

ATTN_API size_t attn_call_elements(const struct array *a, const struct attn_problem *p)
{
    size_t elements = (size_t)a->elements;
    for (int axis = 0; a->sizes >> axis; axis++)
        if (a->sizes >> axis & 1) elements = bytes_times(elements, size_of_axis(&p->batch, -axis));
    return elements;
}

/* Returns what is wrong with an argument, bits of call->wrong. The earlier arguments have their places. */
static int fault_of(const struct call *call, int number, enum array_entry entry)
{
    const struct array *const array = call->kernel->array, *const a = &array[number];
    const void *const at = call->array[number].at;
    if (!at) return a->access[entry] == ACCESS_WANTED ? 0 : 1 << a->rows;
    for (int k = 0; k < number; k++)
        if (call->array[k].at == at && array[k].origin == FROM_ARGUMENT &&
            (a->access[entry] > ACCESS_READ || array[k].access[entry] > ACCESS_READ))
            return SHARES_MEMORY;
    return 0;
}

/* Sets the places of the arrays that are arguments or in the problem. */
static void place_arguments(struct call *call, const void *const *argument, enum array_entry entry)
{
    const int arrays = call->kernel->arrays;
    const struct array *a = call->kernel->array;
    for (int k = 0; k < arrays; k++) call->array[k].at = NULL;
    for (int k = 0; k < arrays && a->origin <= FROM_ARRAY; k++, a++) {
        const enum array_access access = a->access[entry];
        struct place *const to = &call->array[k];
        if (access == ACCESS_NONE) continue;
        if (a->origin == FROM_PROBLEM)
            to->at = pointer_in(&call->p, a->member);
        else if (a->origin == FROM_ARRAY)
            to->at = access == ACCESS_READ ? call->array[a->of].at : NULL;
        else if (argument) {
            to->at = (void *)(uintptr_t)argument[a->argument[entry]];
            call->wrong |= fault_of(call, k, entry);
        }
        to->strides = *(const struct attn_strides *)member_of(&call->p, a->strides);
    }
}

ATTN_API int attn_call_begin(struct call *call, const struct kernel *kernel, const struct attn_problem *problem,
                             const void *params, const void *const *argument, enum array_entry entry, int given)
{
    if (!fits_library(kernel)) return ATTN_EVERSION;
    if (!problem) return ATTN_EPOINTER;
    /* `check` fills in the problem */
    memset(&call->kernel, 0, offsetof(struct call, array) - offsetof(struct call, kernel));
    call->kernel = kernel;
    call->params = params;
    const int error = check(kernel, problem, given, &call->p);
    if (error) return error;
    if (kernel->delta && call->p.heads != call->p.kv_heads) return ATTN_EPROBLEM;
    if (kernel->positions && !positions_fit(&call->p)) return ATTN_EPROBLEM;
    call->sharing = attn_call_sharing(kernel, &call->p);
    if (call->p.seed == 0) call->p.seed = kernel->seed;
    place_arguments(call, argument, entry);
    return 0;
}

/* Fills in the strides `to` of an array of these sizes. `given` are the caller's strides. If they are all 0 or
   `given` is NULL, the array is contiguous. Returns an error if
   - a stride is negative,
   - the offset of an element overflows, or
   - the array is not aligned to its elements. */
static int fill_strides(int64_t *to, const int64_t *given, const int64_t *size, int axes, const void *array,
                        size_t element)
{
    const int64_t most = INT64_MAX / 8;
    int64_t contiguous = 1, last = 0;
    int any = 0;
    if ((uintptr_t)array & (element - 1)) return ATTN_EALIGN;
    for (int k = 0; given && k < axes; k++) any |= given[k] != 0;
    for (int k = axes - 1; k >= 0; k--) {
        int64_t extent;
        to[k] = contiguous;
        if (size[k] < 2) continue;
        if (any) {
            to[k] = given[k] == ATTN_BROADCAST ? 0 : given[k];
            if (to[k] < 0) return ATTN_EPROBLEM;
            if (__builtin_mul_overflow(to[k], size[k] - 1, &extent) || extent > most - last) return ATTN_ESIZE;
            last += extent;
        }
        if (__builtin_mul_overflow(contiguous, size[k], &contiguous) || contiguous > most) return ATTN_ESIZE;
    }
    return 0;
}

ATTN_API int attn_call_take_params(struct call *call)
{
    const struct kernel *const kernel = call->kernel;
    if (kernel->params == 0) return 0;
    if (!call->params) return ATTN_EPARAM;
    for (int k = 0; k < kernel->params; k++)
        if (!pointer_in(call->params, kernel->param[k].offset) && !(call->only_sums && kernel->param[k].rows))
            return ATTN_EPARAM;
    const void *const given = kernel->strided ? pointer_in(call->params, kernel->strides) : NULL;
    int left = kernel->params;
    for (const struct array *a = kernel->array; left > 0; a++) {
        if (a->origin != FROM_PARAMS) continue;
        left--;
        const struct attn_param *const param = &kernel->param[a->param];
        struct place *const place = &call->array[a - kernel->array];
        place->at = pointer_in(call->params, param->offset);
        if (param->strides == ATTN_CONTIGUOUS) continue;
        int64_t size[4];
        attn_param_shape(param, &call->p, size);
        const int error = fill_strides(place->stride, given ? member_of(given, param->strides) : NULL, size,
                                       param->rank, place->at, attn_dtype_size(param->dtype));
        if (error) return error;
        if (a->has_rows) place->strides = strides_of_axes(place, a->axis);
    }
    return 0;
}

ATTN_API int attn_call_has_any(const struct call *call, const uint16_t *wanted)
{
    int any = 0;
    for (; *wanted != NO_ARRAY; wanted++) any |= call->array[*wanted].at != NULL;
    return any;
}

ATTN_API int attn_call_ids_fall(const int32_t *id, int64_t batch, int64_t sequence, int64_t n, int64_t row)
{
    for (int64_t b = 0; b < batch; b++, id += sequence)
        for (int64_t x = 1; x < n; x++)
            if (id[x * row] < id[(x - 1) * row]) return 1;
    return 0;
}

/* ---- random parameters ---- */

static size_t bytes_of_param(const struct attn_param *p, int64_t *rows, int64_t *columns)
{
    *rows = p->rank > 1 ? p->shape[0] : 1;
    *columns = 1;
    for (int k = p->rank > 1 ? 1 : 0; k < p->rank; k++) *columns *= p->shape[k];
    return whole_lines(attn_dtype_size(p->dtype) * (size_t)(*rows * *columns));
}

/* Returns the bytes of the random arrays of constant shape. The working memory of orthogonal ones follows them. */
static size_t bytes_of_random(const struct kernel *kernel, size_t *work)
{
    size_t bytes = 0;
    *work = 0;
    for (int k = 0; k < kernel->arrays; k++) {
        int64_t rows, columns;
        const struct array *const a = &kernel->array[k];
        if (a->random == RANDOM_NONE) continue;
        bytes += bytes_of_param(&kernel->param[a->param], &rows, &columns);
        if (a->random == RANDOM_ORTHOGONAL) *work = larger(*work, attn_orthogonal_work(rows, columns));
    }
    return bytes;
}

ATTN_API size_t attn_call_params_size(const struct kernel *kernel)
{
    size_t work = 0;
    const size_t bytes = fits_library(kernel) ? bytes_of_random(kernel, &work) : 0;
    return bytes + work;
}

ATTN_API int attn_call_params_init(const struct kernel *kernel, void *params, uint64_t seed, void *storage)
{
    size_t work, at = 0;
    if (!fits_library(kernel)) return ATTN_EVERSION;
    const size_t bytes = bytes_of_random(kernel, &work);
    if (!params || (bytes && !storage)) return ATTN_EPOINTER;
    if (bytes && (uintptr_t)storage % 64) return ATTN_EALIGN;
    memset(params, 0, kernel->params_bytes);
    for (int k = 0; k < kernel->arrays; k++) {
        const struct array *const a = &kernel->array[k];
        if (a->random == RANDOM_NONE) continue;
        const struct attn_param *const p = &kernel->param[a->param];
        void *const made = member_of(storage, at), *const memory = member_of(storage, bytes);
        const uint64_t stream = attn_stream(p->name);
        int64_t rows, columns;
        at += bytes_of_param(p, &rows, &columns);
        if (a->random == RANDOM_NORMAL && p->dtype == ATTN_F64)
            attn_normal_f64(seed, stream, 0, rows * columns, (double *)made);
        else if (a->random == RANDOM_NORMAL)
            attn_normal_f32(seed, stream, 0, rows * columns, (float *)made);
        else if (p->dtype == ATTN_F64)
            attn_orthogonal_f64(seed, stream, rows, columns, (double *)made, memory);
        else
            attn_orthogonal_f32(seed, stream, rows, columns, (float *)made, memory);
        *(void **)member_of(params, p->offset) = made;
    }
    return 0;
}
