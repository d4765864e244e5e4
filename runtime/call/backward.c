/* Computes gradients. Backward runs in parts. The first part computes the saved values if forward has not saved them.
   Each later part computes some of the gradients. */
#include "call.h"

/* ---- the choice of parts ---- */

/* Returns whether the caller gives sums over the tokens of other calls. */
static int has_outer(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->outer && p->earlier_sums;
}

/* Returns the program of a part for n_k keys. */
static const struct program *part_for(const struct kernel *kernel, int part, int64_t n_k)
{
    return attn_call_program(kernel, RUN_BACKWARD, part, n_k, MANY_ROWS, 0);
}

/* Returns the program of a part for a call. The parts that read outer sums are those for any number of keys. */
static const struct program *part_of(const struct call *call, int part)
{
    const int outer = has_outer(call->kernel, &call->p);
    return part_for(call->kernel, part, outer ? INT64_MAX : attn_call_keys(call->kernel, &call->p));
}

/* Returns the largest workspace of a thread in bytes, over all programs of the parts for up to n_k keys. */
static size_t part_bytes_a_thread(const struct kernel *kernel, const struct attn_problem *p)
{
    const size_t parts = attn_call_max_bytes(kernel, RUN_BACKWARD, has_outer(kernel, p) ? INT64_MAX : p->n_k),
                 terms = kernel->prefix_row ? attn_call_bytes_a_thread(attn_call_program_of(kernel, RUN_TERMS)) : 0;
    return larger(larger(parts, terms), kernel->lists ? attn_call_max_bytes(kernel, RUN_SELECT, INT64_MAX) : 0);
}

/* ---- gradients of prefix sums ---- */

static size_t prefix_gradients_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    return bytes_plus(attn_call_prefix_rows(kernel, p, p->n_q),
                      attn_call_prefix_rows(kernel, p, attn_call_rows_of_sums(kernel, p)));
}

/* Sets the places of the gradients of the prefix sums, which begin at `at`. */
static void set_prefix_gradients(struct call *call, unsigned char *at)
{
    const struct attn_problem *const p = &call->p;
    struct place *const of_query = prefix_place(call, PREFIX_GRADIENT_OF_QUERY),
                        *const of_key = prefix_place(call, PREFIX_GRADIENT_OF_KEY),
                        *const gradient = prefix_place(call, PREFIX_GRADIENT);
    of_query->at = at;
    of_key->at = gradient->at = at + attn_call_prefix_rows(call->kernel, p, p->n_q);
    of_query->strides = contiguous(p->heads, p->n_q, call->kernel->prefix_row);
    of_key->strides = gradient->strides = prefix_place(call, PREFIX_OF_KEY)->strides;
}

/* Computes the gradients of the terms of prefix sums, if the call wants a gradient that needs them. */
static int make_prefix_gradients(const struct call *call, int threads, unsigned char *work, size_t bytes)
{
    const struct kernel *const kernel = call->kernel;
    enum sums_task task = SUMS_ADD_GRADIENTS;
    if (!call->array[kernel->prefix[PREFIX_GRADIENT]].at) return 0;
    if (call->adds == OUTER_EARLIER || call->adds == OUTER_LATER) return 0;
    if (has_outer(kernel, &call->p) && !call->adds)
        task = SUMS_TOTAL_GRADIENTS;
    else if (kernel->decay_parts && call->p.key_decay_gradients)
        task = call->adds ? SUMS_TAKE_GRADIENTS : SUMS_WRITE_GRADIENTS;
    return attn_call_run(call, attn_call_sums(kernel, task), threads, work, bytes);
}

/* ---- arrays that one part fills for later parts ---- */

/* Returns whether the kernel has gradients of parameters, or arrays that one part leaves for another. */
static int has_totals(const struct kernel *kernel)
{
    int any = 0;
    for (int k = 0; k < kernel->arrays; k++)
        any |= kernel->array[k].origin == FROM_GRADIENTS || kernel->array[k].origin == FROM_LEFT;
    return any;
}

/* Sets the places of the wanted gradients that are members of struct NAME_gradients. */
static void take_gradients(struct call *call, const void *gradients)
{
    for (int k = 0; gradients && k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        if (a->origin == FROM_GRADIENTS)
            memcpy(&call->array[k].at, (const unsigned char *)gradients + a->member, sizeof(void *));
    }
}

/* Lets the call want every gradient, because every gradient needs its sums. Parts do not write these arrays. */
static void want_gradients(struct call *call, void *unused)
{
    for (int k = 0; k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        if (a->origin == FROM_GRADIENTS || (a->origin == FROM_ARGUMENT && a->access[ENTRY_BACKWARD] == ACCESS_WANTED))
            call->array[k].at = unused;
    }
}

/* Returns whether a gradient can take the place of a left array. If the gradient has a 16-bit type, the left array is
   separate, because the sum is rounded only at the end. */
static int is_whole(const struct kernel *kernel, const struct array *a)
{
    return a->origin == FROM_LEFT && a->wanted && a->whole && kernel->real == kernel->element;
}

/* Places the left arrays of the linear or quadratic form at `left`, if the call wants a gradient that needs them.
   Returns their bytes. If `call` is NULL, it only returns the bytes. */
static size_t place_left(struct call *call, const struct kernel *kernel, const struct attn_problem *p, int linear,
                         unsigned char *left)
{
    size_t at = 0;
    for (int k = 0; k < kernel->arrays; k++) {
        const struct array *const a = &kernel->array[k];
        if (a->origin != FROM_LEFT || !a->linear != !linear || !a->wanted) continue;
        const int whole = is_whole(kernel, a) && p->heads == p->kv_heads; /* no head shares its keys */
        if (call && whole)
            call->array[k] = call->array[a->whole];
        else if (call && attn_call_has_any(call, a->wanted))
            call->array[k].at = left + at;
        /* The gradient of a parameter is contiguous. Others have the strides of the caller. */
        if (call && a->sums && !(whole && kernel->array[a->whole].origin != FROM_GRADIENTS)) {
            const size_t head = bytes_times((size_t)a->elements, p->n_k);
            call->array[k].strides = (struct attn_strides){
                (int64_t)bytes_times(head, a->whole ? p->heads : p->kv_heads), (int64_t)head, a->elements};
        }
        if (!whole) at = bytes_plus(at, whole_lines(bytes_times(attn_call_elements(a, p), (int64_t)kernel->real)));
    }
    return at;
}

/* Places the left arrays of both forms, which share memory, because a call runs one form. */
static size_t place_all_left(struct call *call, const struct kernel *kernel, const struct attn_problem *p,
                             unsigned char *left)
{
    const size_t quadratic = place_left(call, kernel, p, 0, left), linear = place_left(call, kernel, p, 1, left);
    return larger(quadratic, linear);
}

/* ---- shared sums, to which tiles add in order ---- */

/* Returns the number of rows of the shared sums of a query head: those of the sequence that the tiles sum over. */
static int64_t rows_of_sums(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->sums_of_keys ? p->n_k : p->n_q;
}

/* Returns the bytes of the shared sums. */
static size_t sums_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    const size_t row = (size_t)kernel->row_of_sums * kernel->real;
    return bytes_times(bytes_times(bytes_times(row, p->batch), p->heads), rows_of_sums(kernel, p));
}

/* Returns the number of tiles of a head that add to shared sums. */
static int64_t tiles_in_order(const struct kernel *kernel, const struct program *program, const struct attn_problem *p)
{
    const int64_t rows = kernel->sums_of_keys ? p->n_q : p->n_k;
    return rows / program->tile + (rows % program->tile > 0);
}

/* Returns the size of call->progress in bytes. A head has one number for each tile, and one more. */
static size_t progress_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    int64_t most = 0; /* the most over all programs for up to n_k keys */
    for (int part = 0; part < kernel->parts; part++) {
        int64_t keys = p->n_k;
        do {
            const struct program *const this = part_for(kernel, part, keys);
            if (this->in_order) most = max(most, tiles_in_order(kernel, this, p) + 1);
            keys = this->from - 1; /* the most keys of the next program */
        } while (keys >= 0);
    }
    return bytes_of_rows(sizeof(int64_t), p, kernel->sums_of_keys ? p->heads : p->kv_heads, most);
}

static void set_sums(struct call *call, unsigned char *sums)
{
    const struct kernel *const kernel = call->kernel;
    const size_t rows = (size_t)(call->p.batch * call->p.heads * rows_of_sums(kernel, &call->p)),
                 bytes = sums_bytes(kernel, &call->p);
    unsigned char *at = sums;
    for (int k = 0; k < kernel->arrays; k++) {
        if (kernel->array[k].origin != FROM_SUMS) continue;
        call->array[k].at = at;
        at += rows * (size_t)kernel->array[k].elements * kernel->real;
    }
    if (call->p.n_k == 0 || call->p.n_q == 0) memset(sums, 0, bytes);
    call->progress = (int64_t *)(void *)(sums + bytes);
}

/* ---- gradients of arrays whose heads several heads share (attn_problem.key_heads) ---- */

/* Returns the number of rows of a shared gradient. */
static int64_t rows_of_shared(const struct kernel *kernel, const struct attn_problem *p, int k)
{
    return kernel->array[kernel->shared_gradient[k]].rows == ROWS_OF_QUERIES ? p->n_q : p->n_k;
}

/* Returns the bytes of a shared gradient with a row for each head of out and position. It is 0 if no heads share. */
static size_t bytes_of_heads(const struct kernel *kernel, const struct attn_problem *p, int k)
{
    if (attn_call_sharing(kernel, p) == 1) return 0;
    return bytes_of_rows((size_t)kernel->head_dim * kernel->element, p, p->heads, rows_of_shared(kernel, p, k));
}

/* Makes the shared gradients arrays at `at`, which have a gradient for each of the heads that share a head. The
   caller's places go to `sums`. Returns the end of the arrays. */
static unsigned char *set_gradients_of_heads(struct call *call, struct place *sums, unsigned char *at)
{
    const struct kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &call->p;
    for (int k = 0; k < SHARED_GRADIENTS; k++) {
        struct place *const gradient = &call->array[kernel->shared_gradient[k]];
        sums[k] = *gradient;
        if (gradient->at) gradient->at = at;
        gradient->strides = contiguous(p->heads, rows_of_shared(kernel, p, k), kernel->head_dim);
        at += bytes_of_heads(kernel, p, k);
    }
    call->shared = sums;
    return at;
}

enum { BLOCK = 64 };
union sums { /* of some elements of a row: doubles for rows of doubles, else floats */
    float narrow[BLOCK];
    double wide[BLOCK];
};

static void add_elements(union sums *sum, const void *from, enum attn_dtype dtype, int64_t n)
{
    const uint16_t *const half = (const uint16_t *)from;
    for (int64_t x = 0; x < n; x++)
        if (dtype == ATTN_F64)
            sum->wide[x] += ((const double *)from)[x];
        else if (dtype == ATTN_F32)
            sum->narrow[x] += ((const float *)from)[x];
        else
            sum->narrow[x] += (float)(dtype == ATTN_BF16 ? attn_bf16_value(half[x]) : attn_f16_value(half[x]));
}

static void write_elements(void *to, const union sums *sum, enum attn_dtype dtype, int64_t n)
{
    uint16_t *const half = (uint16_t *)to;
    if (dtype == ATTN_F64)
        memcpy(to, sum->wide, (size_t)n * sizeof *sum->wide);
    else if (dtype == ATTN_F32)
        memcpy(to, sum->narrow, (size_t)n * sizeof *sum->narrow);
    else
        for (int64_t x = 0; x < n; x++)
            half[x] = dtype == ATTN_BF16 ? attn_bf16((double)sum->narrow[x]) : attn_f16((double)sum->narrow[x]);
}

/* Adds the gradients of the heads that share head number `task`. */
static void add_heads(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &call->p;
    const int64_t b = task / p->heads, h = task % p->heads, elements = kernel->head_dim;
    (void)work;
    for (int k = 0; k < SHARED_GRADIENTS; k++) {
        const struct place *const to = &call->shared[k], *const from = &call->array[kernel->shared_gradient[k]];
        const int64_t n = from->at ? rows_of_shared(kernel, p, k) : 0, first = task * call->sharing * n * elements;
        for (int64_t row = 0; row < n; row++)
            for (int64_t x = 0; x < elements; x += BLOCK) {
                union sums sum = {.wide = {0}};
                const int64_t at = b * to->strides.batch + h * to->strides.head + row * to->strides.row + x,
                              width = min(BLOCK, elements - x);
                for (int64_t member = 0; member < call->sharing; member++)
                    add_elements(&sum,
                                 (const unsigned char *)from->at +
                                     (size_t)(first + (member * n + row) * elements + x) * kernel->element,
                                 kernel->dtype, width);
                write_elements((unsigned char *)to->at + (size_t)at * kernel->element, &sum, kernel->dtype, width);
            }
    }
}

/* Adds the gradients of all heads that share heads. */
static int add_shared_gradients(struct call *call, int threads, unsigned char *work, size_t bytes)
{
    const struct kernel *const kernel = call->kernel;
    const struct program adds = {.rows = add_heads, .tile = -1, .of_token = 2 * kernel->head_dim};
    int any = 0;
    for (int k = 0; k < SHARED_GRADIENTS; k++) any |= call->array[kernel->shared_gradient[k]].at != NULL;
    call->p.heads = call->p.kv_heads = call->p.key_heads;
    return any ? attn_call_run(call, &adds, threads, work, bytes) : 0;
}

/* ---- the workspace ---- */

/* Returns the bytes of backward's shared workspace. It has arrays that one part fills for later parts. It also has
   room for the saved values, because forward may not have saved them. */
static size_t shared_bytes(const struct kernel *kernel, const struct attn_problem *problem)
{
    size_t bytes = bytes_times(attn_call_row_bytes(kernel, problem), kernel->saved + kernel->row_sums);
    for (int k = 0; kernel->shares && k < SHARED_GRADIENTS; k++)
        bytes = bytes_plus(bytes, bytes_of_heads(kernel, problem, k));
    if (kernel->row_of_sums)
        bytes = bytes_plus(bytes, bytes_plus(sums_bytes(kernel, problem), progress_bytes(kernel, problem)));
    bytes = bytes_plus(bytes, place_all_left(NULL, kernel, problem, NULL));
    if (kernel->prefix_wanted) bytes = bytes_plus(bytes, prefix_gradients_bytes(kernel, problem));
    return bytes_plus(bytes, attn_call_shared_bytes(kernel, problem, problem));
}

ATTN_API size_t attn_call_backward_workspace(const struct kernel *kernel, const struct attn_problem *problem)
{
    if (!problem || !fits_library(kernel)) return 0;
    const size_t of_threads = bytes_times(part_bytes_a_thread(kernel, problem),
                                          attn_call_threads_served(kernel, problem)),
                 bytes = bytes_plus(shared_bytes(kernel, problem), of_threads);
    return bytes_fit(bytes) ? bytes : 0;
}

/* ---- outer sums ---- */

/* Returns the bytes of the outer sums of a key/value head, of earlier or later tokens, for the parts before `part`. */
static int64_t outer_before(const struct kernel *kernel, const struct attn_problem *p, int part, int kind)
{
    int64_t bytes = 0;
    for (int k = 0; k < part; k++) {
        const struct program *const this = part_for(kernel, k, INT64_MAX);
        if (this->outer == kind) bytes += tasks_of_sums(p, this) * this->outer_bytes;
    }
    return bytes;
}

ATTN_API size_t attn_call_outer_sums(const struct kernel *kernel, const struct attn_problem *problem, int later)
{
    if (!fits_library(kernel)) return 0;
    if (!problem || attn_problem_check(problem, kernel->head_dim, kernel->value_dim, NULL)) return 0;
    const size_t row = kernel->prefix_wanted ? (size_t)kernel->prefix_row * sizeof(double) : 0,
                 of_terms = bytes_times(bytes_times(row, problem->batch), problem->heads);
    const int kind = later ? OUTER_LATER : OUTER_EARLIER;
    const size_t of_head = (size_t)outer_before(kernel, problem, kernel->parts, kind),
                 of_heads = bytes_times(bytes_times(of_head, problem->kv_heads), problem->batch),
                 bytes = later == 2 ? of_terms : of_heads;
    return bytes_fit(bytes) ? bytes : 0;
}

/* Lets a part read and add to its outer sums. Returns 0 if the part does not run, because the call only adds. Sums of
   later tokens need the values of rows that other parts compute. */
static int take_outer(struct call *call, int part, const struct program *this)
{
    const struct kernel *const kernel = call->kernel;
    const int given = call->p.earlier_sums != NULL;
    call->outer = NULL;
    if (call->adds == OUTER_TERMS || (given && !call->adds && this->of_terms))
        return call->adds == OUTER_TERMS && this->of_terms;
    call->gives = call->adds && this->outer == call->adds;
    call->only_sums = call->gives && !this->outer_results;
    if (given && this->outer) {
        void *const sums = this->outer == OUTER_LATER ? call->p.later_sums : call->p.earlier_sums;
        call->outer = (unsigned char *)sums + outer_before(kernel, &call->p, part, this->outer);
        call->outer_head = outer_before(kernel, &call->p, kernel->parts, this->outer);
        call->outer_tasks = tasks_of_sums(&call->p, this);
    }
    return !call->adds || this->adds >> call->adds & 1 || (call->adds == OUTER_LATER && !this->wanted);
}

/* Checks what a call gives for a part of a sequence. Returns 0 or an error. */
static int check_outer(const struct kernel *kernel, const struct attn_problem *p, int adds)
{
    if (kernel->decay_parts && !p->query_decay_gradients != !p->key_decay_gradients && !adds) return ATTN_EPOINTER;
    if (!kernel->outer) return 0;
    if (!p->earlier_sums != !p->later_sums) return ATTN_EPOINTER;
    if (!p->earlier_sums) return 0;
    if ((uintptr_t)p->earlier_sums % 64 || (uintptr_t)p->later_sums % 64) return ATTN_EALIGN;
    if (kernel->whole) return 0;
    /* queries or keys may come alone, if all queries see the first keys */
    if (p->n_q != p->n_k && (!kernel->open_keys || (p->n_q && p->n_k))) return ATTN_EPROBLEM;
    return p->query_start && p->n_q == p->n_k ? ATTN_EPROBLEM : 0;
}

/* ---- a call ---- */

static int run_part(struct call *call, int part, const struct program *this, int threads, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    if (kernel->outer && !take_outer(call, part, this)) return 0;
    if (kernel->decay_parts && (this->of_terms ? call->p.key_decay_gradients && !call->adds : call->adds)) return 0;
    if (this->idle) return 0;
    if (this->wanted && !attn_call_has_any(call, this->wanted)) return 0;
    if (this->in_order) call->tiles = tiles_in_order(kernel, this, &call->p);
    return attn_call_run(call, this, threads, work, attn_call_bytes_a_thread(this));
}

/* Runs the part that sums left arrays over query heads. It skips a gradient that is already in the caller's array. */
static int run_part_of_sums(const struct call *call, int part, const struct program *this, int threads,
                            unsigned char *work)
{
    struct call left;
    attn_call_copy(&left, call);
    for (int k = 0; k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        if (is_whole(call->kernel, a) && left.array[k].at == left.array[a->whole].at) left.array[a->whole].at = NULL;
    }
    return run_part(&left, part, this, threads, work);
}

/* Runs all parts. kept: forward has saved the values of rows; solved: it has saved the solution of 'delta'. */
static int run_parts(struct call *call, int kept, int solved, int threads, unsigned char *work, size_t bytes)
{
    int error = 0, summed = !call->kernel->prefix_wanted;
    for (int part = 0; part < call->kernel->parts && !error; part++) {
        const struct program *const this = part_of(call, part);
        if (this->of_terms && !summed) error = make_prefix_gradients(call, threads, work, bytes);
        summed |= this->of_terms;
        if (error || (this->saved_again && kept) || (this->solution_again && solved)) continue;
        error = this->sums_slices ? run_part_of_sums(call, part, this, threads, work)
                                  : run_part(call, part, this, threads, work);
    }
    return error;
}

/* Checks the arrays of a call, and that this machine can run all parts. Returns 0 or an error. */
static int check_call(struct call *call)
{
    const struct kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &call->p;
    int error = check_arguments(call, p->batch > 0 && p->heads > 0 && p->n_q > 0,
                                p->batch > 0 && p->kv_heads > 0 && p->n_k > 0);
    if (!error) error = attn_call_take_params(call);
    if (error) return error;
    if ((uintptr_t)p->saved % 64) return ATTN_EALIGN;
    for (int part = 0; part < kernel->parts; part++) {
        const struct program *const this = part_of(call, part);
        if (!attn_call_runs(this)) return ATTN_EMACHINE;
        if (this->in_keys && !has_outer(kernel, p) && attn_call_after_keys(kernel, p)) return ATTN_ELENGTH;
    }
    return 0;
}

/* Sets the gradients of queries to 0 in a call without keys. Loops over chunks of keys do not reach them. */
static void clear_gradients(const struct call *call)
{
    for (int k = 0; k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        if (a->origin == FROM_ARGUMENT && a->access[ENTRY_BACKWARD] == ACCESS_WANTED && a->rows == ROWS_OF_QUERIES &&
            call->array[k].at)
            attn_call_clear_rows(call, &call->array[k], call->kernel->head_dim);
    }
}

ATTN_API int attn_call_backward(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                const void *const *argument, void *gradients, void *workspace, int adds)
{
    struct call call;
    struct mask_tiles tables[MAX_MASKS];
    struct place of_caller[SHARED_GRADIENTS];
    int threads = 1, error = attn_call_begin(&call, kernel, problem, params, argument, ENTRY_BACKWARD, 0);
    if (error) return error;
    if (attn_call_too_long(kernel, &call.p)) return ATTN_ELENGTH;
    if (call.p.batch == 0 && !has_totals(kernel)) return 0;
    error = check_call(&call);
    if (error) return error;
    const size_t bytes = part_bytes_a_thread(kernel, problem), saved = attn_call_saved_bytes(kernel, problem),
                 shared = shared_bytes(kernel, problem), of_rows = attn_call_row_bytes(kernel, problem);
    error = attn_call_take_workspace(kernel, problem, workspace, shared, bytes, &threads);
    if (error) return error;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    error = check_outer(kernel, problem, adds);
    if (error) return error;

    unsigned char *next = (unsigned char *)workspace, *const work = next + shared;
    call.adds = adds;
    if (adds == OUTER_EARLIER || adds == OUTER_LATER)
        want_gradients(&call, workspace);
    else
        take_gradients(&call, gradients);
    if (call.sharing > 1) next = set_gradients_of_heads(&call, of_caller, next);
    if (kernel->delta && call.p.n_k == 0) clear_gradients(&call);
    /* forward of no queries saves no solution */
    const int takes = problem->saved && !has_outer(kernel, problem), solved = takes && problem->n_q > 0;
    const int64_t keys = attn_call_keys(kernel, &call.p);
    const int kept = takes && attn_call_program(kernel, RUN_FORWARD, 0, keys, MANY_ROWS, 0)->saves;
    attn_call_place_rows(&call, FROM_SAVED, kept ? (unsigned char *)problem->saved : next);
    next += (size_t)kernel->saved * of_rows;
    attn_call_place_rows(&call, FROM_ROW_SUMS, next);
    next += (size_t)kernel->row_sums * of_rows;
    next += place_all_left(&call, kernel, &call.p, next);
    const int terms_wanted = kernel->prefix_wanted && attn_call_has_any(&call, kernel->prefix_wanted);
    if (kernel->outer && kernel->prefix_wanted) {
        const int gives_terms = problem->earlier_sums && (!adds || adds == OUTER_TERMS);
        if (gives_terms && terms_wanted && !problem->term_gradients) return ATTN_EPOINTER;
        if (problem->term_gradients && !adds)
            memset(problem->term_gradients, 0, attn_call_outer_sums(kernel, problem, 2));
    }
    if (solved) attn_call_set_solution(&call, (unsigned char *)problem->saved);
    if (kernel->masks)
        error = attn_call_make_tiles(&call, tables, work - attn_call_tiles_bytes(kernel, problem), threads);
    if (error) return error;
    if (kernel->prefix_row) {
        unsigned char *const prefix = work - attn_call_shared_bytes(kernel, problem, problem);
        const struct program *const terms = attn_call_program_of(kernel, RUN_TERMS);
        if (!attn_call_runs(terms)) return ATTN_EMACHINE;
        attn_call_set_prefix_sums(&call, prefix);
        if (terms_wanted) set_prefix_gradients(&call, prefix - prefix_gradients_bytes(kernel, problem));
        if (adds != OUTER_TERMS)
            error = attn_call_make_prefix_sums(&call, terms, threads, work, attn_call_bytes_a_thread(terms));
    }
    if (kernel->row_of_sums && attn_call_has_any(&call, kernel->sums_wanted)) set_sums(&call, next);
    if (!error) error = attn_call_make_lists(&call, threads, work);
    if (!error) error = run_parts(&call, kept, solved, threads, work, bytes);
    if (!error && !adds && call.sharing > 1) error = add_shared_gradients(&call, threads, work, bytes);
    return error;
}

ATTN_API int attn_call_add_outer_sums(const struct kernel *kernel, const struct attn_problem *problem,
                                      const void *params, const void *const *argument, int later, void *workspace)
{
    if (!problem || !problem->earlier_sums) return ATTN_EPOINTER;
    return attn_call_backward(kernel, problem, params, argument, NULL, workspace, later ? OUTER_LATER : OUTER_EARLIER);
}
