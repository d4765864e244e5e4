/* Lays out a state, makes an empty one, and opens one. */
#include "state.h"

ATTN_API const struct program *attn_state_program(const struct kernel *kernel, const struct attn_problem *problem)
{
    if (!kernel->carried) return attn_call_program(kernel, RUN_FORWARD, 0, INT64_MAX, MANY_ROWS, 0);
    return attn_call_program_of(kernel,
                                kernel->transitions && problem && problem->foldable ? RUN_FOLDABLE : RUN_EXTEND);
}

/* Later tokens read
   - the rows of keys that are not in the sums,
   - read_back rows before them,
   - the first rows, if the state always keeps them.
   A sequence that may go back also needs the rows of keys that are not in the oldest sums, or `rewind` more rows. */
ATTN_API int64_t attn_state_first_needed(const struct kernel *kernel, const struct sequence *s, int64_t rewind)
{
    const int64_t back = kernel->read_back + kernel->read_first;
    if (kernel->by_capacity) return 0;
    return max(s->start, kernel->carried ? s->oldest - back : s->summed - back - rewind);
}

/* ---- the header ---- */

/* Sets the members of the header that identify the kernel and the sizes of its arrays. */
static void describe_kernel(const struct kernel *kernel, const struct attn_problem *p, struct state_header *header)
{
    static const char magic[] = "attnkeep";
    const size_t length = strlen(kernel->name);
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof header->magic);
    memcpy(header->name, kernel->name, length < sizeof header->name ? length : sizeof header->name - 1);
    header->format = 6;
    header->byte_order = 0x01020304;
    header->fingerprint = kernel->fingerprint;
    header->dtype = kernel->dtype;
    header->head_dim = kernel->head_dim;
    header->value_dim = kernel->value_dim;
    header->batch = p->batch;
    header->heads = p->heads;
    header->kv_heads = p->kv_heads;
    header->key_heads = heads_of_keys(p);
}

/* Sets the members of the header for the number of rows and of earlier sums. Returns 0 or an error. */
static int describe_rows(const struct kernel *kernel, const struct program *program, const struct attn_problem *p,
                         struct state_header *header)
{
    enum { MIN_PAGE = 16, MAX_PAGE = 256 };
    if (p->pages && (!kernel->paged || p->pages->tokens < MIN_PAGE || p->pages->tokens > MAX_PAGE)) return ATTN_EPAGES;
    if (p->pages) header->page = p->pages->tokens;
    if (kernel->by_capacity) {
        if (p->capacity < 0) return ATTN_EPROBLEM;
        if (kernel->max_length && p->capacity > kernel->max_length) return ATTN_ELENGTH;
        header->capacity = header->rows = header->page ? 0 : p->capacity;
    } else {
        if (p->rewind < 0) return ATTN_EPROBLEM;
        if (p->rewind > INT64_MAX / 4) return ATTN_ESIZE;
        header->rewind = p->rewind;
        if (kernel->carried) {
            header->earlier = (p->rewind + program->chunk - 1) / program->chunk;
            header->rewind = header->earlier * program->chunk;
        }
        header->rows = header->page ? 0 : kernel->rows_kept + header->rewind;
    }
    if (kernel->transitions) {
        header->foldable = p->foldable != 0;
        if (p->foldable) header->rows += program->chunk; /* tokens of a second state */
    }
    header->read_back = kernel->read_back;
    if (kernel->carried) {
        header->chunk = program->chunk;
        header->kept = (int64_t)program->kept;
    }
    return 0;
}

/* Returns the bytes of a state with this header. */
static size_t bytes_of_state(const struct kernel *kernel, const struct program *program, const struct attn_problem *p,
                             const struct state_header *header)
{
    /* 64 bytes for the alignment of each array */
    size_t bytes = (size_t)round_up(sizeof *header, 64) + 64 + 64 * (size_t)kernel->kept_arrays;
    bytes = bytes_plus(bytes, bytes_times(size_of_sequence(kernel), p->batch));
    if (kernel->carried) {
        const size_t sums = bytes_times(bytes_times(program->kept, p->batch), heads_with_sums(p, program));
        bytes = bytes_plus(bytes, bytes_times(sums, 1 + header->earlier));
    }
    if (kernel->joins) bytes = bytes_plus(bytes, program->join_work);
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const int64_t heads = heads_with_rows_of(kernel, a, p);
        const size_t row = bytes_times((size_t)kernel->kept_array[a].row_bytes, heads);
        bytes = bytes_plus(bytes, bytes_times(bytes_times(row, p->batch), rows_before(kernel, a) + header->rows));
    }
    return bytes;
}

ATTN_API int attn_state_describe(const struct kernel *kernel, const struct program *program,
                                 const struct attn_problem *problem, struct state_header *header)
{
    const struct attn_problem *const p = problem;
    if (!fits_library(kernel)) return ATTN_EVERSION;
    if (!attn_call_runs(program)) return ATTN_EMACHINE;
    if (kernel->delta && p->heads != p->kv_heads) return ATTN_EPROBLEM;
    describe_kernel(kernel, p, header);
    int error = describe_rows(kernel, program, p, header);
    if (error) return error;
    const struct attn_problem cache = {
        .batch = p->batch, .heads = p->heads, .kv_heads = p->kv_heads, .n_k = header->rows, .key_heads = p->key_heads};
    error = attn_problem_check(&cache, kernel->head_dim, kernel->value_dim, NULL);
    if (error) return error;
    const size_t bytes = bytes_of_state(kernel, program, p, header);
    if (!bytes_fit(bytes)) return ATTN_ESIZE;
    header->bytes = bytes / 64 * 64;
    return 0;
}

/* ---- opening a state ---- */

/* Continues a hash with n bytes, which are whole words (FNV-1a, 64 bits, byte after byte). A byte of 0 only multiplies
   the hash by a prime. Most bytes are 0, so one multiplication by a power takes in all zeros at the end of a word. */
static uint64_t hash_of(uint64_t hash, const void *words, size_t n)
{
    static const uint64_t power[] = {1,
                                     0x100000001b3,
                                     0x366000002e329,
                                     0x8a97b0004e7feab,
                                     0x9ffaac085635bc91,
                                     0xcaee32a7d4f6a63,
                                     0xdc966432edf1c639,
                                     0xc5527b8a51d3d2db,
                                     0x1efac7090aef4a21};
    for (size_t at = 0; at < n; at += sizeof(uint64_t)) {
        uint64_t word;
        int left = 8;
        memcpy(&word, (const unsigned char *)words + at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        for (; word; word >>= 8, left--) hash = (hash ^ (word & 255)) * power[1];
        hash *= power[left];
    }
    return hash;
}

/* Sets `at` to the state in `memory`, which has this header. */
static void set_state(struct state *at, const struct kernel *kernel, const struct program *program, void *memory,
                      const struct state_header *header)
{
    const struct state_header *const h = header;
    int64_t from = round_up(sizeof *h, 64);
    at->kernel = kernel;
    at->program = program;
    at->header = (struct state_header *)memory;
    at->hash = hash_of(UINT64_C(0xcbf29ce484222325), h, offsetof(struct state_header, check));
    at->sequence = (unsigned char *)memory + from;
    from = round_up(from + h->batch * (int64_t)size_of_sequence(kernel), 64);
    at->kept = (unsigned char *)memory + from;
    if (kernel->carried) {
        const int64_t sums = h->batch * (program->tile == 0 ? h->kv_heads : h->heads) * h->kept;
        at->earlier = at->kept + sums;
        from += sums * (1 + h->earlier);
        at->work = (unsigned char *)memory + from;
        if (kernel->joins) from += (int64_t)program->join_work;
    }
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const int64_t heads = heads_with_rows(kernel, a, h->heads, h->kv_heads, h->key_heads),
                      rows = rows_before(kernel, a) + h->rows;
        at->rows[a] = (unsigned char *)memory + from;
        from = round_up(from + h->batch * heads * rows * kernel->kept_array[a].row_bytes, 64);
    }
}

/* Returns the hash of the sequences, after that of the header. */
static uint64_t check_of(const struct state *at)
{
    return hash_of(at->hash, at->sequence, (size_t)at->header->batch * size_of_sequence(at->kernel));
}

ATTN_API void attn_state_close(const struct state *at)
{
    at->header->check = check_of(at);
}

/* Returns whether the positions of a sequence are in order, and the state has the rows that it needs. */
static int sequence_is_valid(const struct kernel *kernel, const struct state_header *h, const struct sequence *s)
{
    if (s->start < 0 || s->first < s->start || s->summed < s->start || s->oldest < s->start || s->oldest > s->summed ||
        s->first > attn_state_first_needed(kernel, s, 0) || s->length < s->summed || s->draft < s->start ||
        s->draft > s->length || s->min_length < s->start || s->min_length > s->length ||
        (!h->page && s->length - s->first > h->rows))
        return 0;
    return !kernel->solves || (s->solved >= s->summed && s->solved <= s->length);
}

/* Fills the header of a state of this problem. Returns 0, or an error if `state` has no room for such a state. */
static int expect(const struct kernel *kernel, const struct program *program, const struct attn_problem *problem,
                  const void *state, struct state_header *header)
{
    if (!problem || !state) return ATTN_EPOINTER;
    if ((uintptr_t)state % 64) return ATTN_EALIGN;
    const int error = attn_state_describe(kernel, program, problem, header);
    if (error) return error;
    return problem->state_bytes && problem->state_bytes < header->bytes ? ATTN_ESTATE : 0;
}

ATTN_API int attn_state_open(const struct kernel *kernel, const struct attn_problem *problem, const void *state,
                             struct state *at)
{
    const struct program *const program = attn_state_program(kernel, problem);
    struct state_header expected;
    const int error = expect(kernel, program, problem, state, &expected);
    if (error) return error;
    if (memcmp(state, &expected, offsetof(struct state_header, check)) != 0) return ATTN_ESTATE;
    set_state(at, kernel, program, (void *)(uintptr_t)state, &expected);
    if (at->header->check != check_of(at)) return ATTN_ESTATE;
    for (int64_t b = 0; b < expected.batch; b++) {
        const struct sequence s = sequence_of(at, b);
        if (!sequence_is_valid(kernel, &expected, &s)) return ATTN_ESTATE;
    }
    return 0;
}

ATTN_API int attn_state_open_sequence(const struct kernel *kernel, const struct attn_problem *problem,
                                      const void *state, int64_t sequence, struct state *at)
{
    const int error = attn_state_open(kernel, problem, state, at);
    return error ? error : sequence < 0 || sequence >= at->header->batch ? ATTN_EPROBLEM : 0;
}

ATTN_API void attn_state_rows(const struct state *at, int64_t b, struct rows *rows)
{
    const struct kernel *const kernel = at->kernel;
    const struct state_header *const h = at->header;
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const int64_t row = kernel->kept_array[a].row_bytes, before = rows_before(kernel, a),
                      head = (before + h->rows) * row,
                      sequence = heads_with_rows(kernel, a, h->heads, h->kv_heads, h->key_heads) * head;
        rows->of[a] = (struct row){
            at->rows[a] + b * sequence + before * row, {sequence, head, row}, kernel->kept_array[a].element};
    }
    for (int a = kernel->kept_arrays; a < kernel->given; a++) rows->of[a] = (struct row){.at = NULL};
}

/* ---- a new state ---- */

ATTN_API void attn_state_begin_sums(const struct state *at, int64_t b)
{
    struct rows rows;
    attn_state_rows(at, b, &rows);
    for (int a = at->kernel->sums; a < at->kernel->kept_arrays; a++) {
        const struct row *const row = &rows.of[a];
        const int64_t before = rows_before(at->kernel, a) * row->strides.row;
        for (int64_t g = 0; g < row->strides.batch; g += row->strides.head)
            memset(row->at + g - before, 0, (size_t)before);
    }
}

ATTN_API size_t attn_call_state(const struct kernel *kernel, const struct attn_problem *problem)
{
    struct state_header header;
    const struct program *const program = attn_state_program(kernel, problem);
    return problem && attn_state_describe(kernel, program, problem, &header) == 0 ? (size_t)header.bytes : 0;
}

/* Returns whether a state can begin at this position. */
static int can_start(const struct kernel *kernel, const struct program *program, const struct attn_problem *p)
{
    if (p->start == 0) return 1;
    const int joins = kernel->transitions ? p->foldable : kernel->folds;
    return joins && p->start % program->chunk == 0;
}

ATTN_API int attn_call_state_init(const struct kernel *kernel, const struct attn_problem *problem, void *state)
{
    struct state_header header;
    const struct program *const program = attn_state_program(kernel, problem);
    const int error = expect(kernel, program, problem, state, &header);
    if (error) return error;
    const int64_t start = problem->start;
    if (start < 0) return ATTN_EPROBLEM;
    if (!can_start(kernel, program, problem)) return ATTN_ELENGTH;
    struct state at;
    set_state(&at, kernel, program, state, &header);
    const struct sequence empty = {start, start, start, start, start, start, start, start};
    memset(state, 0, (size_t)(at.rows[0] - (unsigned char *)state));
    *at.header = header;
    for (int64_t b = 0; b < problem->batch; b++) set_sequence(&at, b, &empty);
    for (int64_t b = 0; b < problem->batch; b++) attn_state_begin_sums(&at, b);
    attn_state_close(&at);
    return 0;
}

/* ---- what callers ask ---- */

ATTN_API int64_t attn_call_state_chunk(const struct kernel *kernel, const struct attn_problem *problem)
{
    return fits_library(kernel) && kernel->carried ? attn_state_program(kernel, problem)->chunk : 0;
}

ATTN_API size_t attn_call_chunk_sums(const struct kernel *kernel, const struct attn_problem *problem)
{
    const struct attn_problem *const p = problem;
    const struct program *const program = attn_state_program(kernel, p);
    if (!p || !fits_library(kernel) || !kernel->chunk_sums || p->n_q < 0 || p->batch < 0 || p->heads < 0 ||
        p->kv_heads < 0)
        return 0;
    const size_t head = bytes_times(program->slot, chunks_of_call(p, program)),
                 bytes = bytes_times(bytes_times(head, heads_with_sums(p, program)), p->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

ATTN_API int64_t attn_call_state_length(const struct kernel *kernel, const struct attn_problem *problem,
                                        const void *state, int64_t sequence)
{
    struct state at;
    const int error = attn_state_open_sequence(kernel, problem, state, sequence, &at);
    return error ? error : sequence_of(&at, sequence).length;
}

ATTN_API int64_t attn_call_state_min_length(const struct kernel *kernel, const struct attn_problem *problem,
                                            const void *state, int64_t sequence)
{
    struct state at;
    const int error = attn_state_open_sequence(kernel, problem, state, sequence, &at);
    if (error) return error;
    const struct sequence s = sequence_of(&at, sequence);
    if (problem->pages) return s.start;
    if (kernel->carried) return max(s.oldest, s.min_length);
    if (kernel->by_capacity || s.first == s.start) return s.start;
    return s.first + kernel->read_first + kernel->read_back;
}
