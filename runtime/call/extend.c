/* Appends tokens to a state, and computes the rows of their queries. */
#include "state.h"

/* ---- the workspace ---- */

/* The parts of the workspace of a call, one after the other: growths and jobs, numbers for each page, prefix sums,
   memory for keys that several sequences share, prepared keys, lists of the best keys, and the memory of the threads.
 */
struct extend_memory {
    size_t pages, sums, common, prepared, lists, threads; /* where these begin */
    size_t of_sums, of_lists, bytes;                      /* of_sums, of_lists: of a sequence; bytes: of a thread */
    int64_t piece;                                        /* the tokens for which there is room for prefix sums */
};

/* Returns the workspace of a thread, in bytes. */
static size_t bytes_of_extending(const struct kernel *kernel, const struct program *extends)
{
    size_t bytes = kernel->attends   ? attn_call_max_bytes(kernel, RUN_ATTEND, INT64_MAX)
                   : kernel->carried ? attn_call_bytes_a_thread(extends)
                                     : attn_call_max_bytes(kernel, RUN_FORWARD, INT64_MAX);
    if (kernel->prepared) bytes = larger(bytes, attn_call_max_bytes(kernel, RUN_PREPARE, INT64_MAX));
    if (kernel->prefix_row) bytes = larger(bytes, attn_call_bytes_a_thread(attn_call_program_of(kernel, RUN_TERMS)));
    if (kernel->lists) bytes = larger(bytes, attn_call_max_bytes(kernel, RUN_SELECT, INT64_MAX));
    if (kernel->lists) bytes = larger(bytes, attn_call_max_bytes(kernel, RUN_SELECT_NEW, INT64_MAX));
    if (kernel->appends) bytes = larger(bytes, attn_call_bytes_a_thread(attn_call_program_of(kernel, RUN_APPEND)));
    return bytes;
}

/* `rewind` is that of the state, if the kernel has prefix sums. */
static struct extend_memory memory_of(const struct kernel *kernel, const struct attn_problem *p,
                                      const struct program *extends, int64_t rewind)
{
    struct extend_memory m = {.bytes = bytes_of_extending(kernel, extends)};
    m.pages = whole_lines(bytes_times(growth_bytes(kernel) + sizeof(struct job), p->batch));
    m.sums = m.pages;
    if (p->pages) m.sums = bytes_plus(m.pages, whole_lines(bytes_times(2 * sizeof(int32_t), p->pages->count)));
    if (kernel->prefix_row && kernel->uncopied) {
        m.piece = attn_state_piece_of_sums(kernel, p, extends, rewind);
        m.of_sums = attn_state_sums_bytes(kernel, p, rewind, m.piece);
    }
    m.common = bytes_plus(m.sums, bytes_times(m.of_sums, p->batch));
    m.prepared = bytes_plus(m.common, attn_state_common_bytes(kernel, p));
    m.lists = bytes_plus(m.prepared, attn_state_prepared_bytes(kernel, p));
    struct attn_problem one = *p;
    one.batch = 1;
    if (kernel->lists) m.of_lists = attn_call_lists_bytes(kernel, &one);
    m.threads = bytes_plus(m.lists, bytes_times(m.of_lists, p->batch));
    if (extends->matrices) m.threads = bytes_plus(m.threads, whole_lines(extends->kept)); /* NAME_state_get */
    return m;
}

ATTN_API size_t attn_call_extend_workspace(const struct kernel *kernel, const struct attn_problem *problem)
{
    if (!problem || !fits_library(kernel)) return 0;
    const struct program *const extends = attn_state_program(kernel, problem);
    struct state_header header = {.rewind = 0};
    if (kernel->prefix_row && kernel->uncopied && attn_state_describe(kernel, extends, problem, &header) &&
        problem->batch != 0)
        return 0;
    const struct extend_memory m = memory_of(kernel, problem, extends, header.rewind);
    const size_t all = bytes_plus(m.threads, bytes_times(m.bytes, attn_call_threads_served(kernel, problem)));
    return bytes_fit(all) ? all : 0;
}

/* ---- a growth ---- */

/* Returns whether a call with a state has new rows of this array, one for each query. */
static int has_new_queries(const struct array *a)
{
    return a->rows == ROWS_OF_QUERIES && a->access[ENTRY_FORWARD] != ACCESS_NONE &&
           (a->origin == FROM_ARGUMENT || a->origin == FROM_PROBLEM ||
            (a->origin == FROM_PARAMS && (a->has_rows || a->integer_rows)));
}

static void move_place(struct place *place, const struct array *array, int64_t elements)
{
    if (place->at) place->at = moved(place->at, elements * (int64_t)attn_dtype_size(array->dtype));
}

/* Makes the call read and write arrays from the rows of sequence b on. */
static void begin_arrays(struct call *call, int64_t b)
{
    const struct kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &call->p;
    for (int k = 0; k < kernel->arrays; k++) {
        const struct array *const a = &kernel->array[k];
        struct place *const place = &call->array[k];
        if (a->of_sequences) {
            int64_t size[4], elements = 1;
            const struct attn_param *const param = &kernel->param[a->param];
            attn_param_shape(param, p, size);
            for (int n = 1; n < param->rank; n++) elements *= size[n];
            move_place(place, a, b * elements);
        } else if (has_new_queries(a) && a->integer_rows) {
            /* kernels count the sequences of such an array from the first one of the batch */
            if (p->cu_seqlens && a->axis[0] >= 0)
                move_place(place, a, p->cu_seqlens[b] * place->stride[a->axis[2]] - b * place->stride[a->axis[0]]);
        } else if (has_new_queries(a))
            move_place(place, a, before_sequence(p, &place->strides, b));
    }
}

/* Makes the call read and write the rows of queries that follow m tokens. */
static void advance_arrays(struct call *call, int64_t m)
{
    for (int k = 0; k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        struct place *const place = &call->array[k];
        if (has_new_queries(a))
            move_place(place, a, m * (a->integer_rows ? place->stride[a->axis[2]] : place->strides.row));
    }
}

/* Begins to append n tokens to each of `count` sequences, beginning with sequence b. */
static void begin_growth(struct growth *g, const struct appending *x, int64_t b, int64_t count, int64_t n)
{
    const struct kernel *const kernel = x->kernel;
    struct call *const call = &g->call;
    attn_call_copy(call, x->whole);
    g->given = (struct rows *)(void *)&call->array[kernel->arrays];
    g->s = sequence_of(x->at, b);
    g->s.draft = g->s.length;
    g->b = b;
    g->count = count;
    g->left = n;
    g->given_tokens = 0;
    attn_state_given_rows(call, g->given);
    for (int a = 0; a < kernel->given; a++) {
        struct row *const row = &g->given->of[a];
        if (row->at) row->at += before_sequence(&call->p, &row->strides, b);
    }
    call->program = x->extends;
    call->p.batch = count;
    if (kernel->numbered) {
        call->first_sequence = b;
        call->other_sequences = x->at->header->batch - count;
    }
    begin_arrays(call, b);
    const int64_t heads = heads_with_sums(&call->p, x->extends);
    if (kernel->carried) call->kept = x->at->kept + (size_t)b * (size_t)heads * x->extends->kept;
    if (call->p.chunk_sums) {
        call->head_chunks = chunks_of_call(&call->p, x->extends);
        call->first_chunk = g->s.summed / x->extends->chunk;
        call->chunk_sums = (unsigned char *)call->p.chunk_sums +
                           (size_t)(b * heads * call->head_chunks) * x->extends->slot;
    }
}

/* Sets the sizes of the call for a piece of m tokens, and chooses its program. Returns 0 or an error. */
static int choose_program(struct growth *g, const struct appending *x, int64_t m)
{
    const struct kernel *const kernel = x->kernel;
    struct call *const call = &g->call;
    const struct sequence *const s = &g->s;
    g->m = m;
    call->p.n_q = x->asked ? m : 0;
    call->p.n_k = s->length + m;
    if (kernel->prefix_row) {
        const int64_t before = s->length * kernel->prefix_row * (int64_t)kernel->real;
        prefix_place(call, PREFIX_OF_QUERY)->at = moved(prefix_place(call, PREFIX_OF_KEY)->at, before);
        prefix_place(call, PREFIX_OF_QUERY_LOW)->at = moved(prefix_place(call, PREFIX_OF_KEY_LOW)->at, before);
    }
    if (kernel->read_first) call->dropped = s->first;
    if (kernel->carried) {
        /* begins the sums if no key is in them. Others than transitions are 0 then */
        call->start = x->at->header->foldable && s->summed == s->start ? s->length : s->start;
        call->length = s->length;
        call->summed = s->summed;
        call->solved = s->solved;
        call->program = x->extends;
    } else {
        call->program = attn_call_program(kernel, kernel->attends ? RUN_ATTEND : RUN_FORWARD, 0, call->p.n_k,
                                          attn_call_rows_of(kernel, &call->p), call->p.n_q);
        if (!attn_call_runs(call->program)) return ATTN_EMACHINE;
    }
    return 0;
}

/* Undoes attn_call_heads_as_queries. */
static void queries_as_heads(struct call *call, const struct call *whole)
{
    call->p.heads = whole->p.heads;
    for (int k = 0; k < call->kernel->arrays; k++)
        if (has_new_queries(&call->kernel->array[k])) call->array[k].strides = whole->array[k].strides;
}

/* The state stores the sums before each of the last `earlier` chunks. So a call adds these chunks one by one. Stores
   the sums if that is due. Returns the number of tokens that the next piece may have. */
static int64_t store_earlier_sums(struct growth *g, const struct appending *x)
{
    struct sequence *const s = &g->s;
    const int64_t chunk = x->extends->chunk, earlier = x->at->header->earlier,
                  last = (s->length + g->left) / chunk - earlier, next = s->summed / chunk + 1;
    const size_t bytes = bytes_of_sequence_sums(&g->call.p, x->extends);
    if (earlier > 0 && s->length >= next * chunk) {
        /* After two states were joined, the keys after the sums may fill a chunk. */
        g->stores = 0;
        return min(g->left, chunk - s->length % chunk);
    }
    g->stores = earlier > 0 && s->length + g->left >= next * chunk && next > last;
    if (g->stores) {
        for (int64_t b = g->b; b < g->b + g->count; b++)
            memcpy(earlier_sums_of(x->at, b, s->summed, bytes), x->at->kept + (size_t)b * bytes, bytes);
        return next * chunk - s->length;
    }
    if (earlier == 0 || next > last) return g->left;
    s->oldest = s->summed;
    return last * chunk - s->length;
}

/* Prepares the call to read at most m tokens where the caller has them. Sets g->m. Returns 0 or an error. */
static int read_in_place(struct growth *g, const struct appending *x, const struct rows *kept, int64_t m)
{
    const struct kernel *const kernel = x->kernel;
    const struct sequence *const s = &g->s;
    if (kernel->prefix_row) {
        m = min(m, x->piece);
        attn_state_place_sums(kernel, g->given, x->sums + (size_t)g->b * x->of_sums,
                              s->length - attn_state_first_needed(kernel, s, x->at->header->rewind), m, kept,
                              s->length - s->first, g->count);
        const int error = attn_state_add_sums(g->given, 0, g->given, &g->call, s->length, m, x);
        if (error) return error;
    }
    struct rows numbered;
    attn_state_from_row(kernel, g->given, -s->length, &numbered);
    attn_state_set_rows(&g->call, &numbered);
    g->m = m;
    return 0;
}

/* Stores at most m tokens, and prepares the call to read them in the state. Sets g->m. Returns 0 or an error. */
static int read_in_state(struct growth *g, const struct appending *x, const struct rows *kept, int64_t m)
{
    const struct kernel *const kernel = x->kernel;
    struct sequence *const s = &g->s;
    const int64_t rows = x->at->header->rows, needed = attn_state_first_needed(kernel, s, x->at->header->rewind);
    if (s->length - s->first + m > rows && needed > s->first) {
        attn_state_slide(kernel, kept, g->count, needed - s->first, s->length - needed);
        s->first = needed;
    }
    const int64_t row = s->length - s->first;
    int error = 0;
    m = min(m, rows - row);
    if (kernel->prefix_row) error = attn_state_add_sums(kept, row, g->given, &g->call, s->length, m, x);
    if (!error) error = attn_state_store_rows(kept, row, g->given, &g->call, s->length, m, x);
    if (error) return error;
    struct rows numbered;
    attn_state_from_row(kernel, kept, -s->first, &numbered);
    attn_state_set_rows(&g->call, &numbered);
    g->m = m;
    return kernel->appends ? attn_state_correct(&g->call, s->length, m, x) : 0;
}

/* Prepares the call for the next tokens of a growth: as many as its state can take before other rows leave it.
   Returns 0 or an error. */
static int begin_piece(struct growth *g, const struct appending *x)
{
    const struct kernel *const kernel = x->kernel;
    const struct sequence *const s = &g->s;
    int64_t m = kernel->carried ? store_earlier_sums(g, x) : g->left;
    g->in_place = 0;
    if (x->pages) {
        const int error = attn_state_fill_pages(g, x);
        return error ? error : choose_program(g, x, m);
    }
    /* The call's arrays may contain all rows that are needed. */
    g->in_place = kernel->uncopied &&
                  attn_state_first_needed(kernel, s, x->at->header->rewind) >= s->length - g->given_tokens &&
                  (!kernel->carried || m >= x->extends->chunk);
    struct rows kept;
    attn_state_rows(x->at, g->b, &kept);
    if (kernel->prefix_row) {
        const int64_t period = attn_state_sum_period(kernel, x->extends);
        if (s->length > s->start && s->length % period == 0)
            attn_call_begin_sums_again(kernel, sums_among(kernel, &kept), g->count, s->length - s->first);
        m = min(m, period - s->length % period);
    }
    const int error = g->in_place ? read_in_place(g, x, &kept, m) : read_in_state(g, x, &kept, m);
    return error ? error : choose_program(g, x, g->m);
}

/* Sets the positions of a sequence after the piece. Only whole chunks are summed. */
static void count_tokens(struct growth *g, const struct appending *x)
{
    struct sequence *const s = &g->s;
    const int64_t summed = s->summed, chunk = x->extends->chunk;
    s->length += g->m;
    g->left -= g->m;
    s->solved = s->length;
    if (!x->kernel->carried) {
        s->summed = s->length;
        return;
    }
    if (s->length - s->summed >= chunk) s->summed = s->length - s->length % chunk;
    if (s->summed > summed)
        s->oldest = !g->stores ? s->summed : max(s->oldest, s->summed - x->at->header->earlier * chunk);
}

/* Counts the tokens of the piece that the call has computed, and makes the next tokens the new ones. */
static void end_piece(struct growth *g, const struct appending *x)
{
    const struct kernel *const kernel = x->kernel;
    struct sequence *const s = &g->s;
    count_tokens(g, x);
    if (g->in_place) { /* copies the rows that later tokens need into the state */
        struct rows kept;
        attn_state_rows(x->at, g->b, &kept);
        s->first = attn_state_first_needed(kernel, s, x->at->header->rewind);
        const int64_t rows = s->length - s->first;
        for (int a = 0; a < kernel->kept_arrays; a++) {
            const int64_t before = row_before(kernel, a);
            attn_state_copy_rows(kernel, &kept, -before, g->given, g->m - rows - before, rows + before, a, g->count);
        }
    }
    for (int64_t k = 0; k < g->count; k++) set_sequence(x->at, g->b + k, s);
    attn_state_from_row(kernel, g->given, g->m, g->given);
    g->given_tokens += g->m;
    if (x->asked && g->call.program->by_heads) queries_as_heads(&g->call, x->whole);
    advance_arrays(&g->call, g->m);
}

/* Computes the lists of the best keys for the pieces of all growths. Returns 0 or an error. */
static int make_lists(unsigned char *workspace, int64_t growths, struct job *job, const struct appending *x)
{
    for (int list = 0;; list++) {
        int64_t jobs = 0;
        for (int64_t k = 0; k < growths; k++) {
            struct growth *const g = growth_number(x->kernel, workspace, k);
            if (g->left == 0) continue;
            unsigned char *const at = x->lists + (size_t)g->b * x->of_lists;
            const struct program *const selects = attn_call_place_list(&g->call, list, at, 1);
            if (selects && !attn_call_runs(selects)) return ATTN_EMACHINE;
            if (selects) job[jobs++] = (struct job){.call = &g->call, .program = selects};
        }
        const int error = jobs ? attn_call_run_jobs(job, jobs, x->threads, x->work, x->bytes) : 0;
        if (error || !jobs) return error;
    }
}

/* Appends the tokens of all growths in the workspace. In each round, threads share the work of a piece of each growth.
   Returns 0 or an error. */
static int grow(unsigned char *workspace, int64_t growths, const struct appending *x)
{
    struct job *const job = (struct job *)(void *)growth_number(x->kernel, workspace, x->whole->p.batch);
    for (;;) {
        int64_t jobs = 0, pieces = 0;
        int error = 0;
        for (int64_t k = 0; k < growths && !error; k++) {
            struct growth *const g = growth_number(x->kernel, workspace, k);
            if (g->left == 0) continue;
            error = begin_piece(g, x);
            pieces++;
        }
        if (!error && pieces && x->kernel->lists && x->asked) error = make_lists(workspace, growths, job, x);
        if (!error && pieces && x->common && x->asked) error = attn_state_sum_common(workspace, growths, job, x);
        for (int64_t k = 0; k < growths && !error; k++) {
            struct growth *const g = growth_number(x->kernel, workspace, k);
            if (g->left > 0 && x->asked && g->call.program->by_heads) attn_call_heads_as_queries(&g->call);
            if (g->left > 0 && (x->kernel->carried || x->asked))
                job[jobs++] = (struct job){.call = &g->call, .program = g->call.program};
        }
        if (!error && jobs) error = attn_call_run_jobs(job, jobs, x->threads, x->work, x->bytes);
        if (error || !pieces) return error;
        for (int64_t k = 0; k < growths; k++) {
            struct growth *const g = growth_number(x->kernel, workspace, k);
            if (g->left > 0) end_piece(g, x);
        }
    }
}

/* ---- the entry point ---- */

/* Returns whether the tokens of each sequence follow those of the previous one, and all are among the n_q rows. */
static int in_one_row(const struct attn_problem *p)
{
    int ordered = p->cu_seqlens[0] >= 0;
    for (int64_t b = 0; b < p->batch; b++) ordered &= p->cu_seqlens[b] <= p->cu_seqlens[b + 1];
    return ordered && p->cu_seqlens[max(p->batch, 0)] <= p->n_q;
}

/* Returns the id of the last of `length` tokens of a sequence. */
static int32_t last_id(const struct state *at, int64_t b, int64_t length)
{
    const struct kernel *const kernel = at->kernel;
    struct rows rows;
    int a = 0;
    while (kernel->kept_array[a].array != kernel->ids) a++;
    attn_state_rows(at, b, &rows);
    const int64_t row = length - 1 - sequence_of(at, b).first;
    return *(const int32_t *)(const void *)(rows.of[a].at + row * rows.of[a].strides.row);
}

/* Returns whether the ids of n new tokens of a sequence are in order, after those of its `length` tokens. */
static int ids_ascend(const struct appending *x, int64_t b, int64_t n, int64_t length)
{
    const struct attn_problem *const p = &x->whole->p;
    const struct place *const ids = &x->whole->array[x->kernel->ids];
    const int64_t sequence = ids->stride[0], row = ids->stride[1];
    const int32_t *const id = (const int32_t *)ids->at + (p->cu_seqlens ? p->cu_seqlens[b] * row : b * sequence);
    if (attn_call_ids_fall(id, 1, 0, n, row)) return 0;
    return n <= 0 || length <= 0 || *id >= last_id(x->at, b, length);
}

/* Checks the numbers of new tokens, and counts the sequences that get some. Returns 0 or an error. */
static int check_tokens(const struct appending *x, int64_t *sequences)
{
    const struct kernel *const kernel = x->kernel;
    const struct attn_problem *const p = &x->whole->p;
    /* This limits the length of a sequence, so that the offset of each row of an array fits in int64_t. */
    const int64_t most = INT64_MAX / 8 / attn_state_widest_row(x->whole);
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t n = new_tokens_of(p, b), length = sequence_of(x->at, b).length;
        if (n < 0 || n > p->n_q) return ATTN_EPROBLEM;
        if (n > most - length) return ATTN_ESIZE;
        if (kernel->max_length && n > kernel->max_length - length) return ATTN_ECAPACITY;
        if (kernel->by_capacity && n > p->capacity - length && !p->pages) return ATTN_ECAPACITY;
        if (kernel->ids_in_order && !ids_ascend(x, b, n, length)) return ATTN_EORDER;
        *sequences += n > 0;
    }
    return 0;
}

/* Returns whether the caller wants rows for queries. Without them, the call only changes the state. */
static int asks(const struct call *call)
{
    int asked = 0;
    for (int k = 0; k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        asked |= a->origin == FROM_ARGUMENT && has_new_queries(a) && call->array[k].at;
    }
    return asked;
}

/* Checks the arrays of a call. Returns 0 or an error. */
static int check_arrays(const struct appending *x, const struct attn_problem *problem)
{
    const struct call *const call = x->whole;
    if (check_arguments(call, x->asked, 1)) return ATTN_EPOINTER;
    if (!x->kernel->chunk_sums) return problem->chunk_sums ? ATTN_EPROBLEM : 0;
    if ((uintptr_t)problem->chunk_sums % 64) return ATTN_EALIGN;
    if (problem->chunk_sums && problem->chunk_sums_bytes &&
        problem->chunk_sums_bytes < attn_call_chunk_sums(x->kernel, problem))
        return ATTN_EWORKSPACE;
    return 0;
}

/* Checks the workspace, and divides it. Returns 0 or an error. */
static int take_memory(struct appending *x, const struct attn_problem *problem, unsigned char *workspace)
{
    const struct extend_memory m = memory_of(x->kernel, &x->whole->p, x->extends, x->at->header->rewind);
    const int error = attn_call_take_workspace(x->kernel, problem, workspace, m.threads, m.bytes, &x->threads);
    if (error) return error;
    x->bytes = m.bytes;
    x->piece = m.piece;
    x->of_sums = m.of_sums;
    x->sums = workspace + m.sums;
    x->common = x->pages && x->kernel->common_row > 0 ? workspace + m.common : NULL;
    x->prepared = workspace + m.prepared;
    x->lists = workspace + m.lists;
    x->of_lists = m.of_lists;
    x->work = workspace + m.threads;
    if (!x->pages) return 0;
    return attn_state_check_pages(x, &x->whole->p, (int32_t *)(void *)(workspace + m.pages), workspace,
                                  m.threads + m.bytes * (size_t)x->threads);
}

/* Begins growths in the workspace: each of one sequence, or of neighbouring ones that are alike. Returns their number.
 */
static int64_t begin_growths(const struct appending *x, unsigned char *workspace)
{
    const struct attn_problem *const p = &x->whole->p;
    const size_t size = size_of_sequence(x->kernel);
    int64_t growths = 0;
    for (int64_t b = 0, end; b < p->batch; b = end) {
        const int64_t n = new_tokens_of(p, b);
        const unsigned char *const first = x->at->sequence + (size_t)b * size;
        end = b + 1;
        while (end < p->batch && !p->cu_seqlens && !p->pages && new_tokens_of(p, end) == n &&
               memcmp(x->at->sequence + (size_t)end * size, first, size) == 0)
            end++;
        if (n > 0) begin_growth(growth_number(x->kernel, workspace, growths++), x, b, end - b, n);
    }
    return growths;
}

ATTN_API int attn_call_extend(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                              const void *const *argument, void *state, void *workspace)
{
    if (!fits_library(kernel)) return ATTN_EVERSION;
    if (!problem) return ATTN_EPOINTER;
    if (kernel->positions && problem->query_start) return ATTN_EPROBLEM; /* the state knows the positions */
    if (problem->weights) return ATTN_EPROBLEM;
    struct attn_problem new_tokens = *problem;
    new_tokens.n_k = problem->n_q;
    if (problem->cu_seqlens && problem->batch > 1) new_tokens.batch = 1; /* all tokens are in one row of memory */
    struct call call;
    struct state at;
    struct appending x;
    int64_t sequences = 0;
    int error = attn_call_begin(&call, kernel, &new_tokens, params, argument, ENTRY_FORWARD, 0);
    if (!error) error = attn_state_open(kernel, problem, state, &at);
    if (error) return error;
    if (problem->cu_seqlens && (problem->lengths || !in_one_row(problem))) return ATTN_EPROBLEM;
    call.p.batch = problem->batch;
    x.kernel = kernel;
    x.whole = &call;
    x.extends = at.program;
    x.at = &at;
    error = attn_call_take_params(&call);
    if (!error) error = attn_state_take_pages(&x, &call.p);
    if (!error) error = check_tokens(&x, &sequences);
    if (error || sequences == 0 || call.p.heads == 0) return error;
    x.asked = call.asked = asks(&call);
    error = check_arrays(&x, problem);
    if (!error) error = take_memory(&x, problem, (unsigned char *)workspace);
    if (error) return error;
    error = grow((unsigned char *)workspace, begin_growths(&x, (unsigned char *)workspace), &x);
    attn_state_close(&at);
    return error;
}
