/* Changes a state: goes back, drops tokens of a draft, and copies or joins sequences. */
#include "state.h"

/* ---- going back ---- */

ATTN_API int attn_call_state_truncate(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                      int64_t sequence, int64_t length)
{
    struct state at;
    const int error = attn_state_open_sequence(kernel, problem, state, sequence, &at);
    if (error) return error;
    struct sequence s = sequence_of(&at, sequence);
    if (length < s.start || length > s.length) return ATTN_ELENGTH;
    if (length > s.start && length < attn_call_state_min_length(kernel, problem, state, sequence)) return ATTN_ELENGTH;
    const int64_t summed = s.summed;
    s.length = length;
    s.draft = min(s.draft, length);
    if (!kernel->carried)
        s.summed = length;
    else if (length > s.start && length < s.summed) {
        const size_t bytes = bytes_of_sequence_sums(problem, at.program);
        s.summed = length - length % at.program->chunk;
        memcpy(at.kept + (size_t)sequence * bytes, earlier_sums_of(&at, sequence, s.summed, bytes), bytes);
    }
    if (length == s.start) s.first = s.summed = s.min_length = s.oldest = length;
    /* The earlier chunk's solution is not stored. */
    s.solved = summed == s.summed ? min(s.solved, length) : s.summed;
    if (length == s.start) attn_state_begin_sums(&at, sequence);
    if (length == s.start && kernel->carried) { /* the next call may store them as earlier sums */
        const size_t bytes = bytes_of_sequence_sums(problem, at.program);
        memset(at.kept + (size_t)sequence * bytes, 0, bytes);
    }
    set_sequence(&at, sequence, &s);
    attn_state_close(&at);
    return 0;
}

/* Copies the row of a token to the row of another token, for all arrays and heads of a sequence. */
static void move_row(const struct attn_problem *p, const struct state *at, int64_t b, int64_t from, int64_t to)
{
    const struct kernel *const kernel = at->kernel;
    const int64_t first = sequence_of(at, b).first;
    int64_t from_row = from - first, to_row = to - first;
    struct rows f, t;
    if (p->pages) {
        const int64_t tokens = p->pages->tokens;
        const int32_t *const page = p->pages->table + b * p->pages->row;
        struct rows rows;
        attn_state_page_rows(kernel, p, &rows);
        attn_state_rows_in_page(kernel, &rows, page[from / tokens], p->pages->bytes, &f);
        attn_state_rows_in_page(kernel, &rows, page[to / tokens], p->pages->bytes, &t);
        from_row = from % tokens;
        to_row = to % tokens;
    } else {
        attn_state_rows(at, b, &f);
        attn_state_rows(at, b, &t);
    }
    for (int a = 0; a < kernel->kept_arrays; a++)
        for (int64_t g = 0; g < heads_with_rows_of(kernel, a, p); g++)
            memcpy(t.of[a].at + g * t.of[a].strides.head + to_row * t.of[a].strides.row,
                   f.of[a].at + g * f.of[a].strides.head + from_row * f.of[a].strides.row,
                   (size_t)kernel->kept_array[a].row_bytes);
}

ATTN_API int attn_call_state_keep(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                  int64_t sequence, const int64_t *path, int64_t count)
{
    struct state at;
    const int error = attn_state_open_sequence(kernel, problem, state, sequence, &at);
    if (error) return error;
    if (count < 0) return ATTN_EPROBLEM;
    if (count > 0 && !path) return ATTN_EPOINTER;
    const struct sequence s = sequence_of(&at, sequence);
    const int64_t tokens = s.length - s.draft;
    int moves = 0;
    if (count > tokens) return ATTN_ELENGTH;
    for (int64_t k = 0; k < count; k++) {
        if (path[k] < (k ? path[k - 1] + 1 : 0) || path[k] >= tokens) return ATTN_ELENGTH;
        moves |= path[k] != k;
    }
    const int64_t length = s.draft + count;
    if (length > s.start && length < attn_call_state_min_length(kernel, problem, state, sequence)) return ATTN_ELENGTH;
    if (moves && !kernel->rows_move)
        return ATTN_ELENGTH; /* sums have all tokens, or keys are prepared for their
                                positions */
    if (moves && s.first > s.start && s.draft < s.first + kernel->read_first)
        return ATTN_ELENGTH; /* rows have left the state */
    if (moves && problem->pages && !attn_state_pages_valid(problem, &at, sequence, s.draft, length, s.length))
        return ATTN_EPAGES;
    for (int64_t k = 0; k < count; k++)
        if (path[k] != k) move_row(problem, &at, sequence, s.draft + path[k], s.draft + k);
    return attn_call_state_truncate(kernel, problem, state, sequence, length);
}

/* ---- copying ---- */

static void copy_sequence(const struct attn_problem *problem, const struct state *target, int64_t to,
                          const struct state *source, int64_t from)
{
    const struct kernel *const kernel = target->kernel;
    const struct sequence s = sequence_of(source, from);
    set_sequence(target, to, &s);
    if (kernel->carried) {
        const size_t kept = bytes_of_sequence_sums(problem, target->program),
                     earlier = (size_t)target->header->earlier * kept;
        memcpy(target->kept + (size_t)to * kept, source->kept + (size_t)from * kept, kept);
        if (earlier) memcpy(target->earlier + (size_t)to * earlier, source->earlier + (size_t)from * earlier, earlier);
    }
    struct rows t, f;
    attn_state_rows(target, to, &t);
    attn_state_rows(source, from, &f);
    for (int a = 0; a < kernel->kept_arrays && !source->header->page; a++) {
        const int64_t row = kernel->kept_array[a].row_bytes, before = rows_before(kernel, a) * row;
        for (int64_t g = 0; g < heads_with_rows_of(kernel, a, problem); g++)
            memcpy(t.of[a].at + g * t.of[a].strides.head - before, f.of[a].at + g * f.of[a].strides.head - before,
                   (size_t)((s.length - s.first) * row + before));
    }
}

ATTN_API int attn_call_state_copy(const struct kernel *kernel, const struct attn_problem *problem, void *to,
                                  int64_t to_sequence, const void *from, int64_t from_sequence)
{
    struct state target, source;
    int error = attn_state_open_sequence(kernel, problem, to, to_sequence, &target);
    if (!error) error = attn_state_open_sequence(kernel, problem, from, from_sequence, &source);
    if (error) return error;
    if (to == from && to_sequence == from_sequence) return 0;
    copy_sequence(problem, &target, to_sequence, &source, from_sequence);
    attn_state_close(&target);
    return 0;
}

static void copy_part(unsigned char *whole, unsigned char *part, int64_t bytes, int back)
{
    memcpy(back ? whole : part, back ? part : whole, (size_t)bytes);
}

/* Copies the sums of some heads of a sequence, and its earlier sums, which follow the sums of all sequences. */
static void copy_part_of_sums(const struct state *whole, int64_t sequence, int64_t first_kv_head,
                              const struct state *some, int64_t members, int back)
{
    const struct state_header *const w = whole->header;
    const int64_t head = (whole->program->tile == 0 ? 1 : members) * (int64_t)whole->program->kept,
                  bytes = some->header->kv_heads * head;
    for (int64_t slot = -1; slot < w->earlier; slot++) {
        unsigned char *const from = slot < 0 ? whole->kept : whole->earlier, *const to = slot < 0 ? some->kept
                                                                                                  : some->earlier;
        const int64_t number = slot < 0 ? sequence : sequence * w->earlier + slot;
        copy_part(from + (number * w->kv_heads + first_kv_head) * head, to + max(slot, 0) * bytes, bytes, back);
    }
}

/* Copies the rows of some heads of a sequence that has n rows. */
static void copy_part_of_rows(const struct state *whole, int64_t sequence, int64_t first_kv_head,
                              const struct state *some, int64_t n, int back)
{
    const struct kernel *const kernel = whole->kernel;
    const struct state_header *const w = whole->header, *const p = some->header;
    const int64_t members = w->heads / w->kv_heads, sharing = w->kv_heads / w->key_heads;
    struct rows of_whole, of_part;
    attn_state_rows(whole, sequence, &of_whole);
    attn_state_rows(some, 0, &of_part);
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const int64_t all = heads_with_rows(kernel, a, w->heads, w->kv_heads, w->key_heads),
                      heads = heads_with_rows(kernel, a, p->heads, p->kv_heads, p->key_heads),
                      row = kernel->kept_array[a].row_bytes, before = rows_before(kernel, a) * row,
                      first = heads == all ? 0
                                           : heads_with_rows(kernel, a, first_kv_head * members, first_kv_head,
                                                             first_kv_head / sharing);
        for (int64_t h = 0; h < heads; h++)
            copy_part(of_whole.of[a].at + (first + h) * of_whole.of[a].strides.head - before,
                      of_part.of[a].at + h * of_part.of[a].strides.head - before, n * row + before, back);
    }
}

ATTN_API int attn_call_state_part(const struct kernel *kernel, const struct attn_problem *problem, void *state,
                                  int64_t sequence, int64_t first_kv_head, const struct attn_problem *part_problem,
                                  void *part, int back)
{
    struct state whole, some;
    int error = attn_state_open_sequence(kernel, problem, state, sequence, &whole);
    if (!error) error = attn_state_open_sequence(kernel, part_problem, part, 0, &some);
    if (error) return error;
    if (problem->pages || part_problem->pages) return ATTN_EPAGES;
    const struct state_header *const w = whole.header, *const p = some.header;
    if (first_kv_head < 0 || first_kv_head > w->kv_heads || p->kv_heads > w->kv_heads - first_kv_head || p->batch != 1)
        return ATTN_EPROBLEM;
    if (w->rows != p->rows || w->earlier != p->earlier || w->foldable != p->foldable) return ATTN_ESTATE;
    if (w->kv_heads == 0 || p->kv_heads == 0) return 0;
    const struct sequence s = back ? sequence_of(&some, 0) : sequence_of(&whole, sequence);
    const int64_t members = w->heads / w->kv_heads, sharing = w->kv_heads / w->key_heads;
    if (p->heads / p->kv_heads != members || p->kv_heads / p->key_heads != sharing || first_kv_head % sharing)
        return ATTN_EPROBLEM; /* heads that share a head of q, k or v are in one part */
    if (kernel->carried) copy_part_of_sums(&whole, sequence, first_kv_head, &some, members, back);
    copy_part_of_rows(&whole, sequence, first_kv_head, &some, s.length - s.first, back);
    const struct state *const changed = back ? &whole : &some;
    set_sequence(changed, back ? sequence : 0, &s);
    attn_state_close(changed);
    return 0;
}

/* ---- joining ---- */

/* Adds the prefix sums in row `row` of `from` to n rows of `to`, beginning with `first`, for each head of a sequence.
 */
static void add_sums(const struct kernel *kernel, const struct rows *to, int64_t first, int64_t n,
                     const struct rows *from, int64_t row)
{
    attn_call_add_sums(kernel, sums_among(kernel, to), first, n, sums_among(kernel, from), row);
}

/* Prepares the call that adds the sums of `from` to the sums of `to`. This call needs the prefix sums before and
   after the keys in the sums of `from`. Rows `row` and row + 1 of `to` receive them. Row `last` of `from` belongs to
   the last of these keys. */
static void set_sums_of_join(struct call *call, const struct rows *to, int64_t row, const struct rows *from,
                             int64_t last)
{
    const struct kernel *const kernel = call->kernel;
    for (int a = kernel->sums; a < kernel->kept_arrays; a++) {
        const struct attn_strides *const s = &to->of[a].strides;
        for (int64_t g = 0; g < s->batch; g += s->head)
            memset(to->of[a].at + g + row * s->row, 0, (size_t)(2 * s->row));
    }
    add_sums(kernel, to, row + 1, 1, from, last);
    add_sums(kernel, to, row + 1, 1, from, -2);
    const struct sum_rows sums = sums_among(kernel, to);
    const int64_t first = (row + 2 - call->p.n_k) * sums.strides->row;
    struct place *const chunk = prefix_place(call, PREFIX_OF_CHUNK), *const low = prefix_place(call,
                                                                                               PREFIX_OF_CHUNK_LOW);
    chunk->at = moved(sums.sum, first);
    low->at = moved(sums.low, first);
    chunk->strides = low->strides = strides_over(*sums.strides, kernel->real);
}

/* Returns 0 if sequence `right` can be appended to `left`, otherwise an error. A sequence has room for `rows` rows. */
static int fold_error(const struct kernel *kernel, const struct sequence *left, const struct sequence *right,
                      int64_t rows)
{
    const int sums = right->summed > right->start;
    if (right->length == right->start) return 0;
    if (right->length > INT64_MAX / 2 - left->length) return ATTN_ESIZE;
    if (!kernel->terms_move && right->start != left->length) return ATTN_ELENGTH; /* the decays depend on positions */
    if (kernel->max_length && right->length - right->start > kernel->max_length - left->length) return ATTN_ECAPACITY;
    /* if keys do not move, the sums depend on positions */
    if ((right->start || (!kernel->moves && sums)) && right->start != left->length) return ATTN_ELENGTH;
    if (!kernel->any_order && sums && left->length > left->summed)
        return ATTN_ELENGTH; /* not all keys of `left` are in its sums */
    return left->length - left->summed + right->length - right->summed >= rows ? ATTN_ECAPACITY : 0;
}

/* Adds the sums of sequence b of `from` to those of `to`. They have `summed` keys. Row `last` of `source` belongs to
   the last of them, and `open` rows of `target` are not in its sums. */
static void join_sums(const struct attn_problem *problem, const struct state *to, const struct rows *target,
                      int64_t open, const struct state *from, const struct rows *source, int64_t last, int64_t b,
                      int64_t summed)
{
    const struct kernel *const kernel = to->kernel;
    const struct program *const program = to->program;
    const size_t kept = bytes_of_sequence_sums(problem, program);
    struct call call = {.p = *problem,
                        .kernel = kernel,
                        .program = program,
                        .sharing = attn_call_sharing(kernel, problem),
                        .kept = to->kept + (size_t)b * kept,
                        .folded = from->kept + (size_t)b * kept,
                        .first_sequence = kernel->numbered ? b : 0};
    call.p.n_k = summed;
    if (kernel->prefix_row && kernel->folds) {
        add_sums(kernel, target, -2, 1, target, -1);
        add_sums(kernel, target, -2, 1, source, -2);
        set_sums_of_join(&call, target, open, source, last);
    }
    for (int64_t task = 0; task < heads_with_sums(problem, program); task++) program->join(&call, task, to->work);
}

/* Appends the prefix sums of the `more` rows of `source` after row `last` to `target`, after its `open` rows. */
static void join_prefix_sums(const struct kernel *kernel, const struct rows *target, int64_t open,
                             const struct rows *source, int64_t last, int64_t more, int replaces)
{
    if (!replaces) {
        add_sums(kernel, target, open, more, target, open - 1);
        return;
    }
    for (int a = kernel->sums; a < kernel->kept_arrays; a++)
        attn_state_copy_rows(kernel, target, -1, source, last, 1, a, 1);
}

/* Appends sequence b of `from` to sequence b of `to`. It adds the sums, and copies the rows of keys that are not in
   the sums. */
static void fold_sequence(const struct attn_problem *problem, const struct state *to, const struct state *from,
                          int64_t b)
{
    const struct kernel *const kernel = to->kernel;
    const struct sequence left = sequence_of(to, b), right = sequence_of(from, b);
    const int64_t open = left.length - left.summed, summed = right.summed - right.start,
                  more = right.length - right.summed, skip = right.summed - right.first;
    if (right.length == right.start) return;
    struct rows target, source;
    attn_state_rows(to, b, &target);
    attn_state_rows(from, b, &source);
    if (left.length > left.start) attn_state_slide(kernel, &target, 1, left.summed - left.first, open);
    if (left.length == left.start)
        copy_sequence(problem, to, b, from, b);
    else if (summed > 0)
        join_sums(problem, to, &target, open, from, &source, skip - 1, b, summed);
    for (int a = 0; a < kernel->kept_arrays; a++)
        attn_state_copy_rows(kernel, &target, open, &source, skip, more, a, 1);
    if (kernel->prefix_row)
        join_prefix_sums(kernel, &target, open, &source, skip - 1, more, left.length == left.start || summed > 0);
    struct sequence l = sequence_of(to, b);
    l.start = left.start;
    l.length = left.length + summed + more;
    l.first = l.summed = l.oldest = left.summed + summed;
    l.draft = l.length;
    l.solved = summed > 0 ? l.summed : left.solved;
    l.min_length = open > 0 && summed > 0           ? l.length
                   : right.min_length > right.start ? left.length + right.min_length - right.start
                                                    : left.min_length;
    set_sequence(to, b, &l);
}

ATTN_API int attn_call_state_fold(const struct kernel *kernel, const struct attn_problem *problem, void *left,
                                  const void *right)
{
    struct state to, from;
    int error = attn_state_open(kernel, problem, left, &to);
    if (!error) error = attn_state_open(kernel, problem, right, &from);
    if (error) return error;
    if (!kernel->joins || (kernel->transitions && !problem->foldable)) return ATTN_EFOLD; /* no transitions */
    if (left == right) return ATTN_EPOINTER;
    for (int64_t b = 0; b < problem->batch && !error; b++) {
        const struct sequence l = sequence_of(&to, b), r = sequence_of(&from, b);
        error = fold_error(kernel, &l, &r, to.header->rows);
    }
    if (error) return error; /* no sequence has been changed */
    const struct arithmetic before = attn_call_begin_arithmetic(kernel);
    for (int64_t b = 0; b < problem->batch; b++) fold_sequence(problem, &to, &from, b);
    attn_call_end_arithmetic(&before);
    attn_state_close(&to);
    return 0;
}
