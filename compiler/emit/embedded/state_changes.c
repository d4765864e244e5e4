/* Like open_state, for a function that takes the number of a sequence. */
static int open_sequence(const struct attn_problem *problem, const struct version *this, const void *state,
    int64_t sequence, struct places *places)
{
    const int error = open_state(problem, this, state, places);
    return error ? error : sequence < 0 || sequence >= places->header->batch ? ATTN_EPROBLEM : 0;
}

int64_t SPEC_state_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    return error ? error : at.sequence[sequence].length;
}

int64_t SPEC_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    if (error) return error;
    const struct sequence s = at.sequence[sequence];
#if PAGED
    if (problem->pages) return s.start;
#endif
#if CARRIED
    return max(s.oldest, s.min_length);
#elif BY_CAPACITY
    return s.start;
#else
    return s.first == s.start ? s.start : s.first + READ_FIRST + READ_BACK;
#endif
}

#if CARRIED
/* Returns the bytes of the sums of a sequence. */
static size_t bytes_of_sequence(const struct attn_problem *problem, const struct version *this)
{
    return (size_t)(this->tile == 0 ? problem->kv_heads : problem->heads) * this->kept;
}

/* Returns the address of the earlier sums of sequence b that contain the keys before `position`. */
static unsigned char *earlier_sums(const struct places *at, int64_t b, int64_t position, size_t bytes)
{
    const struct state_header *const h = at->header;
    return at->earlier + (size_t)(b * h->earlier + position / h->chunk % h->earlier) * bytes;
}

/* Stores the sums of `count` sequences, beginning with sequence b, as earlier sums. */
static void store_sums(const struct attn_problem *problem, const struct version *this, const struct places *at,
    int64_t b, int64_t count)
{
    const size_t bytes = bytes_of_sequence(problem, this);
    for (int64_t x = b; x < b + count; x++)
        memcpy(earlier_sums(at, x, at->sequence[x].summed, bytes), at->kept + (size_t)x * bytes, bytes);
}

#endif
int SPEC_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    if (error) return error;
    struct sequence *const s = &at.sequence[sequence];
    if (length < s->start || length > s->length) return ATTN_ELENGTH;
    if (length > s->start && length < SPEC_state_min_length(problem, state, sequence)) return ATTN_ELENGTH;
#if SOLVES
    const int64_t chunk = s->summed;
#endif
    s->length = length;
    s->draft = min(s->draft, length);
#if CARRIED
    if (length > s->start && length < s->summed) {
        const size_t bytes = bytes_of_sequence(problem, &this);
        s->summed = length - length % this.chunk;
        memcpy(at.kept + (size_t)sequence * bytes, earlier_sums(&at, sequence, s->summed, bytes), bytes);
    }
#else
    s->summed = length;
#endif
    if (length == s->start) s->first = s->summed = s->min_length = s->oldest = length;
#if SOLVES
    /* The earlier chunk's solution is not stored. */
    s->solved = chunk == s->summed ? min(s->solved, length) : s->summed;
#endif
#if PREFIX_SUMS
    if (length == s->start) begin_sums(&at, sequence);
#endif
    at.header->check = check_of(&at);
    return 0;
}

#if ROWS_MOVE
/* Copies the row of a token to the row of another token, for all arrays and heads of a sequence. */
static void move_row(const struct attn_problem *p, const struct places *at, int64_t b, int64_t from, int64_t to)
{
    const int64_t first = at->sequence[b].first;
    struct rows f = rows_in(at, b), t = f;
    int64_t from_row = from - first, to_row = to - first;
#if PAGED
    if (p->pages) {
        const int32_t *const page = p->pages->table + b * p->pages->row;
        f = t = rows_in_page(p);
        for (int a = 0; a < ROW_ARRAYS; a++) f.at[a] += (size_t)page[from / p->pages->tokens] * p->pages->bytes;
        for (int a = 0; a < ROW_ARRAYS; a++) t.at[a] += (size_t)page[to / p->pages->tokens] * p->pages->bytes;
        from_row = from % p->pages->tokens;
        to_row = to % p->pages->tokens;
    }
#endif
    for (int a = 0; a < ROW_ARRAYS; a++)
        for (int64_t g = 0; g < heads_with_rows(a, p->heads, p->kv_heads, heads_of_keys(p)); g++)
            memcpy(t.at[a] + g * t.strides[a].head + to_row * t.strides[a].row,
                f.at[a] + g * f.strides[a].head + from_row * f.strides[a].row, (size_t)row_bytes_of[a]);
}

#if PAGED
/* Returns whether rows of a sequence's tokens from `first` to `last` - 1 can move to pages of the tokens before `end`.
   Their pages have to be valid, and no other place of the table may have a page that is written. */
static int pages_valid(const struct attn_problem *p, const struct places *at, int64_t b, int64_t first, int64_t end,
    int64_t last)
{
    const struct attn_pages *const g = p->pages;
    int valid = g->base && g->table && (last + g->tokens - 1) / g->tokens <= g->row && (uintptr_t)g->base % 64 == 0 &&
        g->bytes % 64 == 0 && g->bytes >= bytes_of_page(p, NULL);
    for (int64_t x = first / g->tokens; valid && x * g->tokens < last; x++) {
        const int32_t page = g->table[b * g->row + x];
        int64_t times = 0;
        for (int64_t s = 0; s < p->batch && x * g->tokens < end; s++) {
            const int64_t pages = min((at->sequence[s].length + g->tokens - 1) / g->tokens, g->row);
            for (int64_t y = 0; y < pages; y++) times += g->table[s * g->row + y] == page;
        }
        valid = page >= 0 && page < g->count && times < 2;
    }
    return valid;
}

#endif
#endif
int SPEC_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path, int64_t count)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    if (error) return error;
    if (count < 0) return ATTN_EPROBLEM;
    if (count > 0 && !path) return ATTN_EPOINTER;
    const struct sequence s = at.sequence[sequence];
    const int64_t tokens = s.length - s.draft;
    int moves = 0;
    if (count > tokens) return ATTN_ELENGTH;
    for (int64_t k = 0; k < count; k++) {
        if (path[k] < (k ? path[k - 1] + 1 : 0) || path[k] >= tokens) return ATTN_ELENGTH;
        moves |= path[k] != k;
    }
    const int64_t length = s.draft + count;
    if (length > s.start && length < SPEC_state_min_length(problem, state, sequence)) return ATTN_ELENGTH;
#if ROWS_MOVE
    if (moves && s.first > s.start && s.draft < s.first + READ_FIRST) return ATTN_ELENGTH; /* rows have left the state */
#if PAGED
    if (moves && problem->pages && !pages_valid(problem, &at, sequence, s.draft, length, s.length)) return ATTN_EPAGES;
#endif
    for (int64_t k = 0; k < count; k++)
        if (path[k] != k) move_row(problem, &at, sequence, s.draft + path[k], s.draft + k);
#else
    if (moves) return ATTN_ELENGTH; /* sums have all tokens, or keys are prepared for their positions */
#endif
    return SPEC_state_truncate(problem, state, sequence, length);
}

static void copy_sequence(const struct attn_problem *problem, const struct version *this, const struct places *target,
    int64_t to, const struct places *source, int64_t from)
{
    const struct sequence s = source->sequence[from];
    target->sequence[to] = s;
#if CARRIED
    const size_t kept = bytes_of_sequence(problem, this), earlier = (size_t)target->header->earlier * kept;
    memcpy(target->kept + (size_t)to * kept, source->kept + (size_t)from * kept, kept);
    if (earlier) memcpy(target->earlier + (size_t)to * earlier, source->earlier + (size_t)from * earlier, earlier);
#else
    (void)this;
#endif
    const struct rows t = rows_in(target, to), f = rows_in(source, from);
    for (int a = 0; a < ROW_ARRAYS && !source->header->page; a++)
        for (int64_t g = 0; g < heads_with_rows(a, problem->heads, problem->kv_heads, heads_of_keys(problem)); g++) {
            const int64_t before = rows_before(a) * row_bytes_of[a];
            memcpy(t.at[a] + g * t.strides[a].head - before, f.at[a] + g * f.strides[a].head - before,
                (size_t)((s.length - s.first) * row_bytes_of[a] + before));
        }
}

int SPEC_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
    int64_t from_sequence)
{
    struct places target, source;
    const struct version this = extend_version(problem);
    int error = open_sequence(problem, &this, to, to_sequence, &target);
    if (!error) error = open_sequence(problem, &this, from, from_sequence, &source);
    if (error) return error;
    if (to == from && to_sequence == from_sequence) return 0;
    copy_sequence(problem, &this, &target, to_sequence, &source, from_sequence);
    target.header->check = check_of(&target);
    return 0;
}

static void copy_part(unsigned char *whole, unsigned char *part, int64_t bytes, int back)
{
    memcpy(back ? whole : part, back ? part : whole, (size_t)bytes);
}

/* Copies some heads of a sequence from `state` to `part`, or back. */
static int state_part(const struct attn_problem *problem, void *state, int64_t sequence, int64_t first_kv_head,
    const struct attn_problem *part_problem, void *part, int back)
{
    struct places whole, some;
    const struct version this = extend_version(problem);
    int error = open_sequence(problem, &this, state, sequence, &whole);
    if (!error) error = open_sequence(part_problem, &this, part, 0, &some);
    if (error) return error;
    if (problem->pages || part_problem->pages) return ATTN_EPAGES;
    const struct state_header *const w = whole.header, *const p = some.header;
    if (first_kv_head < 0 || first_kv_head > w->kv_heads || p->kv_heads > w->kv_heads - first_kv_head || p->batch != 1)
        return ATTN_EPROBLEM;
    if (w->rows != p->rows || w->earlier != p->earlier || w->foldable != p->foldable) return ATTN_ESTATE;
    if (w->kv_heads == 0 || p->kv_heads == 0) return 0;
    const struct sequence s = back ? some.sequence[0] : whole.sequence[sequence];
    const int64_t members = w->heads / w->kv_heads, sharing = w->kv_heads / w->key_heads;
    if (p->heads / p->kv_heads != members || p->kv_heads / p->key_heads != sharing || first_kv_head % sharing)
        return ATTN_EPROBLEM; /* heads that share a head of q, k or v are in one part */
#if CARRIED
    /* Sums are followed by the earlier sums of each sequence. */
    const int64_t head = (this.tile == 0 ? 1 : members) * (int64_t)this.kept, bytes = p->kv_heads * head;
    for (int64_t slot = -1; slot < w->earlier; slot++) {
        unsigned char *const from = slot < 0 ? whole.kept : whole.earlier, *const to = slot < 0 ? some.kept : some.earlier;
        const int64_t number = slot < 0 ? sequence : sequence * w->earlier + slot;
        copy_part(from + (number * w->kv_heads + first_kv_head) * head, to + max(slot, 0) * bytes, bytes, back);
    }
#endif
    const struct rows of_whole = rows_in(&whole, sequence), of_part = rows_in(&some, 0);
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t all = heads_with_rows(a, w->heads, w->kv_heads, w->key_heads),
            heads = heads_with_rows(a, p->heads, p->kv_heads, p->key_heads), row = row_bytes_of[a],
            first = heads == all ? 0 : heads_with_rows(a, first_kv_head * members, first_kv_head, first_kv_head / sharing),
            before = rows_before(a) * row;
        for (int64_t h = 0; h < heads; h++)
            copy_part(of_whole.at[a] + (first + h) * of_whole.strides[a].head - before,
                of_part.at[a] + h * of_part.strides[a].head - before, (s.length - s.first) * row + before, back);
    }
    *(back ? &whole.sequence[sequence] : &some.sequence[0]) = s;
    const struct places *const changed = back ? &whole : &some;
    changed->header->check = check_of(changed);
    return 0;
}

/* Copies n rows of an array to a state, for each head of `sequences` sequences. Row from_row of `from` becomes row
   to_row of `to`. */
static void remember(const struct rows *to, int64_t to_row, const struct rows *from, int64_t from_row, int64_t n,
    int array, int64_t sequences)
{
    const struct attn_strides *const t = &to->strides[array], *const f = &from->strides[array];
    const int64_t row = row_bytes_of[array];
    for (int64_t x = 0; x < sequences; x++) {
        unsigned char *into = to->at[array] + x * t->batch + to_row * row;
        const unsigned char *with = from->at[array] + x * f->batch + from_row * f->row;
        for (int64_t g = 0; g < t->batch; g += t->head, into += t->head, with += f->head) {
#if ROWS_APART
            const int64_t element = element_bytes_of[array], apart = from->apart[array];
            if (apart != element) {
                for (int64_t k = 0; k < n; k++)
                    for (int64_t e = 0; e < row / element; e++)
                        memcpy(into + k * row + e * element, with + k * f->row + e * apart, (size_t)element);
                continue;
            }
#endif
            if (f->row == row) {
                memcpy(into, with, (size_t)(n * row));
                continue;
            }
            for (int64_t k = 0; k < n; k++) memcpy(into + k * row, with + k * f->row, (size_t)row);
        }
    }
}

#if STORES
/* The types of arrays whose rows a state stores rounded, and the elements of these rows. Other rows have 0 elements. */
static const struct {
    enum attn_dtype dtype;
    int64_t elements;
} rounded_to[GIVEN] = {KEPT_TYPES};

/* Like `remember`, for rows of floats that the state stores rounded. */
static void remember_rounded(const struct rows *to, int64_t to_row, const struct rows *from, int64_t from_row,
    int64_t n, int array, int64_t sequences)
{
    const struct attn_strides *const t = &to->strides[array], *const f = &from->strides[array];
    for (int64_t x = 0; x < sequences; x++) {
        unsigned char *into = to->at[array] + x * t->batch + to_row * t->row;
        const unsigned char *with = from->at[array] + x * f->batch + from_row * f->row;
        for (int64_t g = 0; g < t->batch; g += t->head, into += t->head, with += f->head)
            for (int64_t k = 0; k < n; k++)
                attn_store_row(rounded_to[array].dtype, (const float *)(const void *)(with + k * f->row),
                    rounded_to[array].elements, into + k * t->row);
    }
}

#endif
/* Drops `from` rows of each head, and moves the later rows forward, so that n rows remain. The first READ_FIRST rows
   do not move. */
static void slide(const struct rows *rows, int64_t sequences, int64_t from, int64_t n)
{
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const struct attn_strides *const s = &rows->strides[a];
        for (int64_t x = 0; x < sequences; x++)
            for (int64_t g = 0; g < s->batch; g += s->head) {
                const int64_t begin = READ_FIRST ? READ_FIRST : -row_before(a);
                unsigned char *const first = rows->at[a] + x * s->batch + g + begin * s->row;
                memmove(first, first + from * s->row, (size_t)((n - begin) * s->row));
            }
    }
}

#if JOINS
#if PREFIX_SUMS
/* Adds the prefix sums in row `row` of `from` to n rows of `to`, beginning with `first`, for each head of a sequence. */
static void add_sums(const struct rows *to, int64_t first, int64_t n, const struct rows *from, int64_t row)
{
    const struct attn_strides *const s = &to->strides[SUMS];
    for (int64_t g = 0; g < s->batch; g += s->head) {
        REAL *const sum = (REAL *)(void *)(to->at[SUMS] + g), *const low = (REAL *)(void *)(to->at[SUMS + 1] + g);
        const REAL *const added = (const REAL *)(const void *)(from->at[SUMS] + g + row * s->row),
            *const low_added = (const REAL *)(const void *)(from->at[SUMS + 1] + g + row * s->row);
        for (int64_t at = first * PREFIX_ROW, x = 0; at < (first + n) * PREFIX_ROW; at++, x++) {
            double high = (double)sum[at], rest = (double)low[at] + (double)low_added[x % PREFIX_ROW];
            add_to_sum(&high, &rest, (double)added[x % PREFIX_ROW]);
            sum[at] = (REAL)(high + rest);
            low[at] = (REAL)(high - (double)sum[at] + rest);
        }
    }
}

#if FOLDS
/* Prepares the call that adds the sums of `from` to the sums of `to`. This call needs the prefix sums before and
   after the keys in the sums of `from`. Rows `row` and row + 1 of `to` receive them. Row `last` of `from` belongs to
   the last of these keys. */
static void set_sums_of_join(struct call *call, const struct rows *to, int64_t row, const struct rows *from, int64_t last)
{
    for (int a = SUMS; a < ROW_ARRAYS; a++)
        for (int64_t g = 0; g < to->strides[a].batch; g += to->strides[a].head)
            memset(to->at[a] + g + row * to->strides[a].row, 0, (size_t)(2 * to->strides[a].row));
    add_sums(to, row + 1, 1, from, last);
    add_sums(to, row + 1, 1, from, -2);
    const int64_t first = (row + 2 - call->p.n_k) * to->strides[SUMS].row;
    call->log_decay_chunk = (REAL *)((uintptr_t)to->at[SUMS] + (uintptr_t)first);
    call->log_decay_chunk_low = (REAL *)((uintptr_t)to->at[SUMS + 1] + (uintptr_t)first);
    call->log_decay_chunk_at = call->log_decay_chunk_low_at = in_elements(to->strides[SUMS], sizeof(REAL));
}

#endif
#endif
/* Returns 0 if sequence `right` can be appended to `left`, otherwise an error. A sequence has room for `rows` rows. */
static int fold_error(const struct sequence *left, const struct sequence *right, int64_t rows)
{
    const int sums = right->summed > right->start;
    if (right->length == right->start) return 0;
    if (right->length > INT64_MAX / 2 - left->length) return ATTN_ESIZE;
#if !TERMS_MOVE
    if (right->start != left->length) return ATTN_ELENGTH; /* the decays depend on positions */
#endif
#if MAX_LENGTH
    if (right->length - right->start > MAX_LENGTH - left->length) return ATTN_ECAPACITY;
#endif
#if MOVES
    if (right->start && right->start != left->length) return ATTN_ELENGTH;
#else
    /* the sums depend on positions */
    if ((right->start || sums) && right->start != left->length) return ATTN_ELENGTH;
#endif
#if !ANY_ORDER
    if (sums && left->length > left->summed) return ATTN_ELENGTH; /* not all keys of `left` are in its sums */
#endif
    (void)sums;
    return left->length - left->summed + right->length - right->summed >= rows ? ATTN_ECAPACITY : 0;
}

/* Appends sequence b of `from` to sequence b of `to`. It adds the sums, and copies the rows of keys that are not in
   the sums. */
static void fold_sequence(const struct attn_problem *problem, const struct version *this, const struct places *to,
    const struct places *from, int64_t b)
{
    struct sequence *const l = &to->sequence[b];
    const struct sequence left = *l, right = from->sequence[b];
    const int64_t open = left.length - left.summed, summed = right.summed - right.start,
        more = right.length - right.summed, skip = right.summed - right.first;
    if (right.length == right.start) return;
    const struct rows target = rows_in(to, b), source = rows_in(from, b);
    if (left.length > left.start) slide(&target, 1, left.summed - left.first, open);
    if (left.length == left.start)
        copy_sequence(problem, this, to, b, from, b);
    else if (summed > 0) {
        const int64_t tasks = this->tile == 0 ? problem->kv_heads : problem->heads;
        const size_t kept = bytes_of_sequence(problem, this);
        struct call call = {.p = *problem, .kept = to->kept + (size_t)b * kept, .folded = from->kept + (size_t)b * kept};
#if SHARES
        call.sharing = sharing_of(problem);
#endif
        call.p.n_k = summed;
#if NUMBERED
        call.first_sequence = b;
#endif
#if PREFIX_SUMS && FOLDS
        add_sums(&target, -2, 1, &target, -1);
        add_sums(&target, -2, 1, &source, -2);
        set_sums_of_join(&call, &target, open, &source, skip - 1);
#endif
        for (int64_t task = 0; task < tasks; task++) this->join(&call, task, to->work);
    }
    for (int a = 0; a < ROW_ARRAYS; a++) remember(&target, open, &source, skip, more, a, 1);
#if PREFIX_SUMS
    if (left.length == left.start || summed > 0)
        for (int a = SUMS; a < ROW_ARRAYS; a++) remember(&target, -1, &source, skip - 1, 1, a, 1);
    else
        add_sums(&target, open, more, &target, open - 1);
#endif
    l->start = left.start;
    l->length = left.length + summed + more;
    l->first = l->summed = l->oldest = left.summed + summed;
    l->draft = l->length;
#if SOLVES
    l->solved = summed > 0 ? l->summed : left.solved;
#endif
    l->min_length = open > 0 && summed > 0 ? l->length
        : right.min_length > right.start   ? left.length + right.min_length - right.start
                                           : left.min_length;
}

#endif
int SPEC_state_fold(const struct attn_problem *problem, void *left, const void *right)
{
    struct places to, from;
    const struct version this = extend_version(problem);
    int error = open_state(problem, &this, left, &to);
    if (!error) error = open_state(problem, &this, right, &from);
    if (error) return error;
#if TRANSITIONS
    if (!problem->foldable) return ATTN_EFOLD; /* the states have no transitions */
#endif
#if JOINS
    if (left == right) return ATTN_EPOINTER;
    for (int64_t b = 0; b < problem->batch && !error; b++)
        error = fold_error(&to.sequence[b], &from.sequence[b], to.header->rows);
    if (error) return error; /* no sequence has been changed */
    const struct arithmetic before = begin_arithmetic();
    for (int64_t b = 0; b < problem->batch; b++) fold_sequence(problem, &this, &to, &from, b);
    end_arithmetic(&before);
    to.header->check = check_of(&to);
    return 0;
#else
    return ATTN_EFOLD;
#endif
}

