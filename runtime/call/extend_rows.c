/* Reads, stores and moves the rows of tokens in a state. Prepares keys, adds prefix sums, and corrects values of new
   tokens. */
#include "state.h"

/* ---- where rows are ---- */

/* Returns the number of the last axis of an array of a caller. */
static int last_axis(const struct kernel *kernel, const struct array *array)
{
    return kernel->param[array->param].rank - 1;
}

ATTN_API void attn_state_given_rows(const struct call *call, struct rows *rows)
{
    const struct kernel *const kernel = call->kernel;
    for (int a = 0; a < kernel->given; a++) {
        const struct kept_array *const kept = &kernel->kept_array[a];
        const struct array *const array = &kernel->array[kept->array];
        const struct place *const place = &call->array[kept->array];
        const size_t size = attn_dtype_size(kept->rounded ? array->appended : array->dtype);
        const struct attn_strides strides = array->integer_rows ? strides_of_axes(place, array->axis) : place->strides;
        if (array->origin == FROM_LIBRARY)
            rows->of[a] = (struct row){.at = NULL}; /* the call computes them */
        else
            rows->of[a] = (struct row){(unsigned char *)place->at, strides_times(strides, size),
                                       kept->element ? place->stride[last_axis(kernel, array)] * kept->element : 0};
    }
}

ATTN_API int64_t attn_state_widest_row(const struct call *call)
{
    const struct kernel *const kernel = call->kernel;
    int64_t widest = max(kernel->head_dim, kernel->value_dim);
    for (int a = 0; a < kernel->given; a++) {
        const struct kept_array *const kept = &kernel->kept_array[a];
        const struct array *const array = &kernel->array[kept->array];
        const struct place *const place = &call->array[kept->array];
        widest = max(widest, array->origin == FROM_LIBRARY ? kept->row_bytes / (int64_t)attn_dtype_size(array->dtype)
                             : array->integer_rows         ? strides_of_axes(place, array->axis).row
                                                           : place->strides.row);
    }
    return widest;
}

/* Makes the call read array a from its rows. */
static void set_row(struct call *call, int a, const struct row *row)
{
    const struct kept_array *const kept = &call->kernel->kept_array[a];
    const struct array *const array = &call->kernel->array[kept->array];
    struct place *const place = &call->array[kept->array];
    const struct attn_strides strides = strides_over(row->strides, attn_dtype_size(array->dtype));
    if (kept->element) place->stride[last_axis(call->kernel, array)] = row->apart / kept->element;
    if (!array->integer_rows) {
        place->at = row->at;
        place->strides = strides;
        if (!kept->heads) place->strides.head = 0; /* all heads share the rows */
        return;
    }
    /* kernels read integers at a subscript that counts from the first sequence of the batch */
    place->at = moved(row->at, array->axis[0] < 0 ? 0 : -call->first_sequence * row->strides.batch);
    if (array->axis[0] >= 0) place->stride[array->axis[0]] = strides.batch;
    if (array->axis[1] >= 0) place->stride[array->axis[1]] = strides.head;
    if (array->axis[2] >= 0) place->stride[array->axis[2]] = strides.row;
}

ATTN_API void attn_state_set_rows(struct call *call, const struct rows *rows)
{
    const struct kernel *const kernel = call->kernel;
    for (int a = 0; a < kernel->kept_arrays; a++) set_row(call, a, &rows->of[a]);
    /* An array within another one is stored as part of it, unless the state has the outer array in another form. */
    for (int k = 0; k < kernel->arrays && !kernel->prepared; k++) {
        const struct array *const array = &kernel->array[k];
        if (array->origin != FROM_ARRAY || array->rows != ROWS_OF_KEYS || array->access[ENTRY_FORWARD] != ACCESS_READ)
            continue;
        call->array[k].at = call->array[array->of].at;
        call->array[k].strides = call->array[array->of].strides;
    }
    if (!kernel->prefix_row) return;
    *prefix_place(call, PREFIX_OF_CHUNK) = *prefix_place(call, PREFIX_OF_KEY);
    *prefix_place(call, PREFIX_OF_CHUNK_LOW) = *prefix_place(call, PREFIX_OF_KEY_LOW);
    prefix_place(call, PREFIX_OF_QUERY)->strides = prefix_place(call, PREFIX_OF_QUERY_LOW)
                                                       ->strides = prefix_place(call, PREFIX_OF_KEY)->strides;
}

ATTN_API void attn_state_from_row(const struct kernel *kernel, const struct rows *rows, int64_t first,
                                  struct rows *from)
{
    for (int a = 0; a < kernel->given; a++) {
        from->of[a] = rows->of[a];
        from->of[a].at = (unsigned char *)moved(rows->of[a].at, first * rows->of[a].strides.row);
    }
}

/* ---- copying and moving rows ---- */

/* Copies n rows of one head. rounded: the dtype to which rows of floats are rounded, or -1. */
static void copy_rows_of_head(const struct kept_array *kept, unsigned char *to, const unsigned char *from,
                              const struct row *f, int64_t n, int rounded)
{
    const int64_t row = kept->row_bytes, element = kept->element;
    if (rounded >= 0)
        for (int64_t k = 0; k < n; k++)
            attn_store_row((enum attn_dtype)rounded, (const float *)(const void *)(from + k * f->strides.row),
                           kept->rounded, to + k * row);
    else if (f->apart != element) {
        for (int64_t k = 0; k < n; k++)
            for (int64_t e = 0; e < row / element; e++)
                memcpy(to + k * row + e * element, from + k * f->strides.row + e * f->apart, (size_t)element);
    } else if (f->strides.row == row)
        memcpy(to, from, (size_t)(n * row));
    else
        for (int64_t k = 0; k < n; k++) memcpy(to + k * row, from + k * f->strides.row, (size_t)row);
}

static void copy_or_round(const struct kernel *kernel, const struct rows *to, int64_t to_row, const struct rows *from,
                          int64_t from_row, int64_t n, int array, int64_t sequences, int rounded)
{
    const struct row *const t = &to->of[array], *const f = &from->of[array];
    const struct kept_array *const kept = &kernel->kept_array[array];
    for (int64_t x = 0; x < sequences; x++) {
        unsigned char *into = t->at + x * t->strides.batch + to_row * kept->row_bytes;
        const unsigned char *with = f->at + x * f->strides.batch + from_row * f->strides.row;
        for (int64_t g = 0; g < t->strides.batch; g += t->strides.head) {
            copy_rows_of_head(kept, into, with, f, n, rounded);
            into += t->strides.head;
            with += f->strides.head;
        }
    }
}

ATTN_API void attn_state_copy_rows(const struct kernel *kernel, const struct rows *to, int64_t to_row,
                                   const struct rows *from, int64_t from_row, int64_t n, int array, int64_t sequences)
{
    copy_or_round(kernel, to, to_row, from, from_row, n, array, sequences, -1);
}

/* Stores n rows of the caller, rounded if the state stores them so. */
static void store_rows(const struct kernel *kernel, const struct rows *to, int64_t to_row, const struct rows *from,
                       int64_t n, int array, int64_t sequences)
{
    const struct kept_array *const kept = &kernel->kept_array[array];
    copy_or_round(kernel, to, to_row, from, 0, n, array, sequences,
                  kept->rounded ? (int)kernel->array[kept->array].dtype : -1);
}

ATTN_API void attn_state_slide(const struct kernel *kernel, const struct rows *rows, int64_t sequences, int64_t from,
                               int64_t n)
{
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const struct row *const row = &rows->of[a];
        const struct attn_strides *const s = &row->strides;
        const int64_t begin = kernel->read_first ? kernel->read_first : -row_before(kernel, a);
        for (int64_t x = 0; x < sequences; x++)
            for (int64_t g = 0; g < s->batch; g += s->head) {
                unsigned char *const first = row->at + x * s->batch + g + begin * s->row;
                memmove(first, first + from * s->row, (size_t)((n - begin) * s->row));
            }
    }
}

/* ---- prefix sums of new tokens ---- */

ATTN_API int64_t attn_state_sum_period(const struct kernel *kernel, const struct program *extends)
{
    if (kernel->by_capacity) return INT64_MAX;
    return kernel->carried ? max(1, kernel->sum_tokens / extends->chunk) * extends->chunk : kernel->sum_tokens;
}

ATTN_API int attn_state_add_sums(const struct rows *to, int64_t to_row, const struct rows *from,
                                 const struct call *call, int64_t length, int64_t n, const struct appending *x)
{
    enum { SHARED_TERMS = 4096 }; /* fewer terms take less time than waking threads */
    const struct kernel *const kernel = call->kernel;
    const struct program *const computes = attn_call_program_of(kernel, RUN_TERMS);
    const struct program *const adds = attn_call_sums(kernel, SUMS_CONTINUE);
    const size_t bytes = attn_call_bytes_a_thread(computes);
    struct call terms;
    struct rows numbered;
    attn_call_copy(&terms, call);
    attn_state_from_row(kernel, from, -length, &numbered);
    attn_state_set_rows(&terms, &numbered);
    for (int a = kernel->kept_arrays; a < kernel->given; a++) set_row(&terms, a, &numbered.of[a]);
    struct place *const sum = prefix_place(&terms, PREFIX_OF_KEY), *const low = prefix_place(&terms, PREFIX_OF_KEY_LOW);
    const struct sum_rows sums = sums_among(kernel, to);
    sum->at = moved(sums.sum, to_row * sums.strides->row);
    low->at = moved(sums.low, to_row * sums.strides->row);
    sum->strides = low->strides = strides_over(*sums.strides, kernel->real);
    terms.p.n_q = n;
    terms.p.n_k = length + n;
    if (!attn_call_runs(computes)) return ATTN_EMACHINE;
    const int threads = terms.p.batch * terms.p.heads * n * kernel->prefix_row < SHARED_TERMS ? 1 : x->threads;
    const int error = attn_call_run(&terms, computes, threads, x->work, bytes);
    return error ? error : attn_call_run(&terms, adds, threads, x->work, bytes);
}

ATTN_API size_t attn_state_sums_bytes(const struct kernel *kernel, const struct attn_problem *p, int64_t rewind,
                                      int64_t n)
{
    const size_t row = bytes_times((size_t)kernel->prefix_row * kernel->real, p->heads);
    /* the earlier rows that a call copies before its new rows are read_back rows and one more */
    const int64_t rows = 1 + kernel->read_back + rewind + n;
    return bytes_times(whole_lines(bytes_times(row, rows)), kernel->kept_arrays - kernel->sums);
}

/* These tokens are whole chunks. Their prefix sums take at most MOST_SUMS bytes, except for a single chunk. */
ATTN_API int64_t attn_state_piece_of_sums(const struct kernel *kernel, const struct attn_problem *p,
                                          const struct program *extends, int64_t rewind)
{
    enum { MOST_SUMS = 1 << 22, TOKENS = 64 };
    const int64_t unit = kernel->carried ? extends->chunk : TOKENS;
    int64_t tokens = attn_state_sum_period(kernel, extends);
    while (tokens > unit && bytes_times(attn_state_sums_bytes(kernel, p, rewind, tokens), p->batch) > MOST_SUMS)
        tokens = (tokens / unit + 1) / 2 * unit;
    return tokens;
}

ATTN_API void attn_state_place_sums(const struct kernel *kernel, struct rows *given, unsigned char *sums, int64_t back,
                                    int64_t n, const struct rows *kept, int64_t end, int64_t count)
{
    for (int a = kernel->sums; a < kernel->kept_arrays; a++) {
        const struct attn_strides *const k = &kept->of[a].strides;
        const int64_t row = kernel->kept_array[a].row_bytes, head = (1 + back + n) * row, heads = k->batch / k->head;
        given->of[a] = (struct row){sums + (1 + back) * row, {heads * head, head, row}, 0};
        attn_state_copy_rows(kernel, given, -back - 1, kept, end - back - 1, back + 1, a, count);
        sums += whole_lines((size_t)(count * heads * head));
    }
}

/* ---- corrected values, prepared keys ---- */

ATTN_API int attn_state_correct(const struct call *call, int64_t length, int64_t m, const struct appending *x)
{
    const struct program *const corrects = attn_call_program_of(call->kernel, RUN_APPEND);
    struct call correct;
    attn_call_copy(&correct, call);
    correct.p.n_q = m;
    correct.p.n_k = length + m;
    if (!attn_call_runs(corrects)) return ATTN_EMACHINE;
    return attn_call_run(&correct, corrects, x->threads, x->work, attn_call_bytes_a_thread(corrects));
}

/* Prepares rows `given` of array a, of the n tokens after the first `length`. Stores them in array a of `to`, at row
   to_row, which may be `given`: the program reads a tile of rows before it writes them. */
static int store_prepared(const struct rows *to, int64_t to_row, int a, const struct row *given,
                          const struct rows *from, const struct call *call, int64_t length, int64_t n,
                          const struct appending *x)
{
    enum { SHARED_ROWS = 64 }; /* fewer rows take less time than waking threads */
    const struct kernel *const kernel = call->kernel;
    const struct row *const into = &to->of[a];
    const struct program *const prepares = attn_call_program(kernel, RUN_PREPARE, kernel->kept_array[a].prepared - 1,
                                                             INT64_MAX, MANY_ROWS, 0);
    struct call keys;
    struct rows numbered;
    if (!attn_call_runs(prepares)) return ATTN_EMACHINE;
    attn_call_copy(&keys, call);
    attn_state_from_row(kernel, from, -length, &numbered);
    /* Arrays are read at positions. `given` is read from the first new one on: the program prepares the argument q */
    attn_state_set_rows(&keys, &numbered);
    struct place *const q = &keys.array[argument_of_queries(kernel, ACCESS_READ)],
                        *const out = &keys.array[argument_of_queries(kernel, ACCESS_WRITTEN)];
    q->at = given->at;
    q->strides = strides_over(given->strides, kernel->element);
    out->at = into->at + to_row * into->strides.row;
    out->strides = strides_over(into->strides, kernel->element);
    keys.p.heads = keys.p.kv_heads = into->strides.batch / into->strides.head;
    keys.sharing = 1;
    keys.p.n_q = n;
    keys.p.n_k = length + n;
    const int threads = keys.p.batch * keys.p.heads * n < SHARED_ROWS ? 1 : x->threads;
    return attn_call_run(&keys, prepares, threads, x->work, attn_call_bytes_a_thread(prepares));
}

enum { MOST_PREPARED = 1 << 18 }; /* prepared keys stay in a cache until they are rounded */

ATTN_API size_t attn_state_prepared_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    const size_t of_head = (size_t)kernel->head_dim * kernel->element,
                 token = bytes_times(bytes_times(of_head, p->batch), heads_of_keys(p));
    return kernel->rounds_prepared ? whole_lines(token > MOST_PREPARED ? token : MOST_PREPARED) : 0;
}

/* Like store_prepared, but rounds the prepared keys. */
static int store_prepared_rounded(const struct rows *to, int64_t to_row, const struct rows *from,
                                  const struct call *call, int64_t length, int64_t n, const struct appending *x)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t row = kernel->head_dim * (int64_t)kernel->element, heads = heads_of_keys(&call->p),
                  some = max(1, MOST_PREPARED / (call->p.batch * heads * row));
    struct rows prepared, given;
    prepared.of[0] = (struct row){x->prepared, {heads * some * row, some * row, row}, 0};
    for (int64_t done = 0; done < n; done += some) {
        const int64_t m = min(some, n - done);
        attn_state_from_row(kernel, from, done, &given);
        const int error = store_prepared(&prepared, 0, 0, &given.of[0], &given, call, length + done, m, x);
        if (error) return error;
        store_rows(kernel, to, to_row + done, &prepared, m, 0, call->p.batch);
    }
    return 0;
}

ATTN_API int attn_state_store_rows(const struct rows *to, int64_t to_row, const struct rows *from,
                                   const struct call *call, int64_t length, int64_t n, const struct appending *x)
{
    const struct kernel *const kernel = call->kernel;
    const int copied = kernel->sums - (kernel->appends != 0); /* corrected values follow the rows of the caller */
    int error = 0;
    for (int a = 0; a < copied && !error; a++) {
        const int prepared = kernel->kept_array[a].prepared;
        if (!prepared || a > 0) store_rows(kernel, to, to_row, from, n, a, call->p.batch);
        if (prepared && a > 0) {
            struct row given = to->of[a];
            given.at += to_row * given.strides.row;
            error = store_prepared(to, to_row, a, &given, from, call, length, n, x);
        } else if (prepared)
            error = kernel->rounds_prepared ? store_prepared_rounded(to, to_row, from, call, length, n, x)
                                            : store_prepared(to, to_row, 0, &from->of[0], from, call, length, n, x);
    }
    return error;
}
