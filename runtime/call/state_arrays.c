/* A state as an array [B, heads, numbers], for programs whose sums of a head are matrices (struct matrix_of_sums), one
   after another in the array: NAME_state_set and NAME_state_get. */
#include "state.h"

/* Returns the program that extends such states, or NULL if the sums are no matrices. */
static const struct program *program_of_matrix(const struct kernel *kernel, const struct attn_problem *problem)
{
    const struct program *const program = problem && fits_library(kernel) ? attn_state_program(kernel, problem) : NULL;
    return program && kernel->carried && program->matrices && !problem->foldable ? program : NULL;
}

/* Returns the bytes of a head in the array. */
static size_t bytes_of_head(const struct kernel *kernel, const struct program *program)
{
    int64_t numbers = 0;
    for (int n = 0; n < program->matrices; n++) numbers += program->matrix[n].features * program->matrix[n].columns;
    return (size_t)numbers * kernel->real;
}

ATTN_API size_t attn_call_state_sums(const struct kernel *kernel, const struct attn_problem *problem)
{
    struct state_header header;
    const struct program *const program = program_of_matrix(kernel, problem);
    if (!program || attn_state_describe(kernel, program, problem, &header)) return 0;
    const size_t bytes = bytes_times(bytes_times(bytes_of_head(kernel, program), heads_with_sums(problem, program)),
                                     problem->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

/* Copies the matrices of a head from its sums, or back. If `less` is not 0, subtracts this share of the sums. */
static void copy_matrices(const struct kernel *kernel, const struct program *program, unsigned char *kept,
                          unsigned char *of_caller, int back, double less)
{
    for (const struct matrix_of_sums *m = program->matrix; m < program->matrix + program->matrices; m++) {
        const int64_t width = less == 0 && m->column == 1 ? m->columns : 1; /* elements that are contiguous */
        for (int64_t k = 0; k < m->features * m->columns; k += width, of_caller += (size_t)width * kernel->real) {
            unsigned char *const element = kept + m->at +
                                           (size_t)(k / m->columns * m->row + k % m->columns * m->column) *
                                               kernel->real;
            if (less == 0)
                memcpy(back ? element : of_caller, back ? of_caller : element, (size_t)width * kernel->real);
            else if (kernel->real == sizeof(double))
                *(double *)(void *)of_caller -= less * *(const double *)(void *)element;
            else
                *(float *)(void *)of_caller -= (float)(less * (double)*(const float *)(void *)element);
        }
    }
}

/* Opens a state of a problem whose sums are matrices. Returns 0 or an error. */
static int open_matrices(const struct kernel *kernel, const struct attn_problem *problem, const void *state,
                         const void *sums, struct state *at)
{
    if (!fits_library(kernel)) return ATTN_EVERSION;
    if (!problem || !sums) return ATTN_EPOINTER;
    if (!program_of_matrix(kernel, problem)) return ATTN_EFOLD;
    if (problem->pages) return ATTN_EPAGES;
    return attn_state_open(kernel, problem, state, at);
}

ATTN_API int attn_call_state_set(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                 const void *sums)
{
    struct state at;
    const int error = open_matrices(kernel, problem, state, sums, &at);
    if (error) return error;
    const struct program *const program = at.program;
    const int64_t chunk = program->chunk, heads = heads_with_sums(problem, program);
    if (kernel->max_length && kernel->max_length < chunk) return ATTN_ECAPACITY;
    const size_t of_head = bytes_of_head(kernel, program);
    /* Programs read sums only after the first chunk. So the matrices are the sums of one chunk, whose rows are gone. */
    const struct sequence s = {chunk, chunk, chunk, 0, chunk, chunk, chunk, chunk};
    for (int64_t b = 0; b < problem->batch; b++) {
        for (int64_t h = b * heads; h < (b + 1) * heads; h++) {
            memset(at.kept + (size_t)h * program->kept, 0, program->kept);
            copy_matrices(kernel, program, at.kept + (size_t)h * program->kept,
                          (unsigned char *)(uintptr_t)sums + (size_t)h * of_head, 1, 0);
        }
        attn_state_begin_sums(&at, b);
        set_sequence(&at, b, &s);
    }
    attn_state_close(&at);
    return 0;
}

/* Fills rows after the tokens of a sequence: with values of 0, and in other arrays with copies of the last row. So
   these tokens add no values to the sums, and do not let them decay. */
static void fill_chunk(const struct state *at, const struct rows *rows, int64_t used, int64_t end)
{
    const struct kernel *const kernel = at->kernel;
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const struct row *const row = &rows->of[a];
        const int values = strcmp(kernel->array[kernel->kept_array[a].array].name, "v") == 0;
        for (int64_t g = 0; g < row->strides.batch; g += row->strides.head)
            for (int64_t r = used; r < end; r++) {
                unsigned char *const to = row->at + g + r * row->strides.row;
                if (values)
                    memset(to, 0, (size_t)row->strides.row);
                else
                    memcpy(to, to - row->strides.row, (size_t)row->strides.row);
            }
    }
}

/* Sets the solution of 'delta' for the last rows of a chunk to 0. */
static void clear_solution(const struct kernel *kernel, const struct program *program, unsigned char *kept,
                           int64_t first)
{
    const struct matrix_of_sums *const m = &program->solution;
    for (int64_t r = first; r < m->features; r++)
        for (int64_t e = 0; e < m->columns; e++)
            memset(kept + m->at + (size_t)(r * m->row + e * m->column) * kernel->real, 0, kernel->real);
}

/* Prepares the call that adds the keys after the sums of sequence b to them, as a whole chunk. If `filled` is not 0, it
   adds rows after the tokens instead. */
static void begin_chunk(struct call *call, const struct state *at, int64_t b, int filled)
{
    const struct kernel *const kernel = at->kernel;
    struct sequence s = sequence_of(at, b);
    struct rows rows, numbered;
    const int64_t end = s.summed + at->program->chunk, needed = attn_state_first_needed(kernel, &s, 0);
    attn_state_rows(at, b, &rows);
    if (needed > s.first) {
        attn_state_slide(kernel, &rows, 1, needed - s.first, s.length - needed);
        s.first = needed;
        set_sequence(at, b, &s);
        attn_state_close(at);
    }
    fill_chunk(at, &rows, s.length - s.first, (kernel->folds ? s.length + at->program->chunk : end) - s.first);
    attn_state_from_row(kernel, &rows, (filled ? s.length - s.summed : 0) - s.first, &numbered);
    attn_state_set_rows(call, &numbered);
    call->program = at->program;
    call->p.batch = 1;
    call->p.n_q = 0;
    call->p.n_k = end;
    call->start = s.start;
    call->length = call->solved = end;
    call->summed = s.summed;
    if (kernel->numbered) {
        call->first_sequence = b;
        call->other_sequences = at->header->batch - 1;
    }
}

ATTN_API int attn_call_state_get(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                 void *state, void *sums, void *workspace)
{
    struct state at;
    struct call call;
    struct attn_problem none;
    int error = open_matrices(kernel, problem, state, sums, &at);
    if (error) return error;
    if (!workspace) return ATTN_EPOINTER;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    if (problem->workspace_bytes && problem->workspace_bytes < attn_call_extend_workspace(kernel, problem))
        return ATTN_EWORKSPACE;
    none = *problem;
    none.n_q = none.n_k = 0;
    error = attn_call_begin(&call, kernel, &none, params, NULL, ENTRY_FORWARD, 0);
    call.only_sums = 1; /* arrays with a row for each token are not read: the state has their rows */
    if (!error) error = attn_call_take_params(&call);
    if (error) return error;
    const struct program *const program = at.program;
    const int64_t heads = heads_with_sums(problem, program);
    const size_t of_head = bytes_of_head(kernel, program);
    unsigned char *const kept = (unsigned char *)workspace, *const work = kept + whole_lines(program->kept);
    int64_t folded[FOLD_GROUPS * NUMBERS_OF_LINE] = {0};
    struct share share = {.threads = 1, .window = 1, .work = work, .folded = folded};
    share.shared = work + program->own;
    share.slots = share.shared + program->shared;
    const struct arithmetic before = attn_call_begin_arithmetic(kernel);
    for (int64_t b = 0; b < problem->batch; b++) {
        const struct sequence s = sequence_of(&at, b);
        const int64_t rows = s.length - s.summed;
        /* Sums of weights get the weights of the filled rows, too: those of a whole chunk are then subtracted. */
        for (int filled = 0; filled <= (rows > 0 && kernel->folds); filled++) {
            if (rows > 0) begin_chunk(&call, &at, b, filled);
            for (int64_t h = b * heads; h < (b + 1) * heads; h++) {
                memcpy(kept, at.kept + (size_t)h * program->kept, program->kept);
                if (filled) memset(kept, 0, program->kept);
                if (rows > 0) {
                    clear_solution(kernel, program, kept, rows);
                    call.kept = kept - (size_t)(h - b * heads) * program->kept;
                    if (program->head)
                        program->head(&call, h - b * heads, &share);
                    else
                        program->rows(&call, h - b * heads, work);
                }
                copy_matrices(kernel, program, kept, (unsigned char *)sums + (size_t)h * of_head, 0,
                              filled ? 1 - (double)rows / (double)program->chunk : 0);
            }
        }
    }
    attn_call_end_arithmetic(&before);
    return 0;
}
