/* Template of the state for decoding, and of its entry points. It is put into entry.c in place of STATE_FUNCTIONS.
   - sums: the carried state of the linear form, over whole chunks of the first keys
   - row: the elements that one token adds to an array of keys or values, or to a parameter with a row per key */

/* ==== the state of sequences that grow ==== */
/* A state is one block of memory with
   - this header
   - a struct sequence for each sequence
   - the sums over the first keys of each sequence
   - earlier sums, to which a sequence can go back
   - rows of the keys and values that are not in the sums, or that the kernel reads one by one */
struct state_header {
    char magic[8];
    uint32_t format, byte_order;
    char name[64]; /* the name of the kernel */
    uint64_t fingerprint; /* identifies the spec and the layout of the state */
    int64_t dtype, head_dim, value_dim, batch, heads, kv_heads, capacity;
    int64_t rows, read_back, chunk, kept; /* rows: rows per sequence; chunk, kept: as in struct version */
    int64_t rewind, earlier; /* rewind: tokens that a sequence can go back; earlier: stored earlier sums per sequence */
    int64_t key_heads; /* heads of k */
    int64_t foldable;  /* 1 if the sums of each head are followed by their transition */
    int64_t page;      /* the tokens of a page, or 0 if the state has the rows */
    uint64_t bytes; /* size of the state */
    uint64_t check; /* a hash of the members above and of the sequences */
};
struct sequence { /* The members of this struct are positions. */
    int64_t length, first; /* length: the position after the last token; first: start + the number of dropped rows */
    int64_t summed;        /* the sums contain the keys before this position */
    int64_t start;         /* the position of the first token */
    int64_t min_length;    /* truncate refuses a smaller length, except `start` */
    int64_t oldest;        /* the oldest stored sums contain the keys before this position */
    int64_t draft;         /* the position of the first token of the last call */
};
#if PREFIX_SUMS
/* The arrays with rows in a state: keys, values, parameters with a row per key, and prefix sums of a decay. GIVEN
   also counts parameters that only prefix sums need. */
enum { ROW_ARRAYS = KEPT_ARRAYS, GIVEN = GIVEN_ARRAYS, SUMS = ROW_ARRAYS - SUM_ARRAYS };
#else
/* The number of arrays whose rows a state stores: keys, values, and parameters that have a row for each key. */
enum { ROW_ARRAYS = KEPT_ARRAYS, GIVEN = ROW_ARRAYS, SUMS = ROW_ARRAYS };
#endif
/* Addresses inside a state. */
struct places {
    struct state_header *header;
    struct sequence *sequence;
    unsigned char *kept, *work; /* kept: the sums of all heads; work: the workspace of SPEC_state_fold */
    unsigned char *earlier; /* for each sequence, a ring of earlier sums of all heads */
    unsigned char *rows[ROW_ARRAYS]; /* the rows of each array: [batch, heads, rows, …] */
};

/* The bytes of one row of each array. */
static const int64_t row_bytes_of[GIVEN] = {KEPT_ROW_BYTES};

/* Returns the number of heads of k. */
static int64_t heads_of_keys(const struct attn_problem *p) { return p->key_heads ? p->key_heads : p->kv_heads; }

/* Returns the number of heads with their own rows in an array, or 1 if all heads share the rows. */
static int64_t heads_with_rows(int array, int64_t heads, int64_t kv_heads, int64_t key_heads)
{
    const int64_t of_array[GIVEN] = {KEPT_HEADS};
    (void)heads;
    (void)kv_heads;
    (void)key_heads;
    return of_array[array];
}

/* Returns the number of rows before row 0 of an array. Only prefix sums have some.
   - Row -1 has the sums before row 0. The sums of row 0 continue from it.
   - Row -2 has the total up to the last restart of the sums. Only states that can be joined have it. */
INLINE int64_t rows_before(int array) { return array < SUMS ? 0 : 1 + FOLDS; }
/* Returns whether row -1 of an array moves with its other rows. */
INLINE int64_t row_before(int array) { return array >= SUMS; }

/* The addresses of row 0 of each array, and the strides of the arrays in bytes. */
struct rows {
    unsigned char *at[GIVEN];
    struct attn_strides strides[GIVEN];
};

static struct attn_strides in_bytes(struct attn_strides s, size_t element)
{
    const int64_t n = (int64_t)element;
    return (struct attn_strides){s.batch * n, s.head * n, s.row * n};
}

static struct attn_strides in_elements(struct attn_strides s, size_t element)
{
    const int64_t n = (int64_t)element;
    return (struct attn_strides){s.batch / n, s.head / n, s.row / n};
}

/* Makes the call read keys, values and parameters from `rows`. */
static void set_rows(struct call *call, const struct rows *rows)
{
#if OWN_PARAMS
    call->own = *call->params;
#endif
KEPT_VALUES
#if OWN_PARAMS
    call->params = &call->own;
#endif
#if PREFIX_SUMS
    const struct attn_strides sums = in_elements(rows->strides[SUMS], sizeof(REAL));
    call->log_decay_k = call->log_decay_chunk = (REAL *)(void *)rows->at[SUMS];
    call->log_decay_k_low = call->log_decay_chunk_low = (REAL *)(void *)rows->at[SUMS + 1];
    call->log_decay_k_at = call->log_decay_k_low_at = call->log_decay_chunk_at = call->log_decay_chunk_low_at = sums;
    call->log_decay_q_at = call->log_decay_q_low_at = sums;
#endif
}

/* Returns the addresses and strides of a state's rows, from sequence b on. */
static struct rows rows_in(const struct places *at, int64_t b)
{
    const struct state_header *const h = at->header;
    struct rows made = {{NULL}, {{0, 0, 0}}};
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t row = row_bytes_of[a], head = (rows_before(a) + h->rows) * row,
            sequence = heads_with_rows(a, h->heads, h->kv_heads, h->key_heads) * head;
        made.at[a] = at->rows[a] + b * sequence + rows_before(a) * row;
        made.strides[a] = (struct attn_strides){sequence, head, row};
    }
    return made;
}

#if PAGED
/* ==== pages ==== */
/* A page has the rows of all arrays, one array after the other: [heads, tokens, …]. */
enum { MIN_PAGE = 16, MAX_PAGE = 256 };

/* Returns the bytes of a page. Sets offset[a] to the offset of array a, if `offset` is not NULL. */
static size_t bytes_of_page(const struct attn_problem *p, size_t *offset)
{
    size_t bytes = 0;
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t heads = heads_with_rows(a, p->heads, p->kv_heads, heads_of_keys(p));
        if (offset) offset[a] = bytes;
        bytes = bytes_plus(bytes, whole_lines(bytes_times((size_t)row_bytes_of[a], heads * p->pages->tokens)));
    }
    return bytes;
}

/* Returns the addresses and strides of the rows in page 0. */
static struct rows rows_in_page(const struct attn_problem *p)
{
    size_t offset[ROW_ARRAYS];
    struct rows made = {{NULL}, {{0, 0, 0}}};
    bytes_of_page(p, offset);
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t row = row_bytes_of[a], head = p->pages->tokens * row,
            heads = heads_with_rows(a, p->heads, p->kv_heads, heads_of_keys(p));
        made.at[a] = (unsigned char *)p->pages->base + offset[a];
        made.strides[a] = (struct attn_strides){heads * head, head, row};
    }
    return made;
}

#endif
#if CARRIED
#if TRANSITIONS
/* Returns the version for states without transitions. */
static struct version plain_version(void)
{
EXTEND_CHOICE
}

/* Returns the version for states with transitions: the affine maps from the sums before the tokens to the sums after
   them. */
static struct version foldable_version(void)
{
FOLDABLE_CHOICE
}

static struct version extend_version(const struct attn_problem *problem)
{
    return problem && problem->foldable ? foldable_version() : plain_version();
}
#else
static struct version extend_version(const struct attn_problem *problem)
{
    (void)problem;
EXTEND_CHOICE
}
#endif
#elif FEW
#define extend_version(problem) version(INT64_MAX, MANY_ROWS, 0)
#else
#define extend_version(problem) version(INT64_MAX)
#endif

#if ATTENDS
#if PREPARED
/* Returns the version for n_k prepared keys in a state. */
#else
/* Returns the version for n_k keys in a state, without dropout. */
#endif
#if FEW
static struct version attending(int64_t n_k, int64_t rows, int64_t n_q)
#else
static struct version attending(int64_t n_k)
#endif
{
ATTEND_CHOICE
}

#if PREPARED
/* Returns the version that prepares keys for a state. */
static struct version preparing(void)
{
PREPARE_CHOICE
}

/* Returns the largest workspace of a thread in bytes, over versions that prepare keys or read prepared keys. */
#else
/* Returns the largest workspace of a thread in bytes, over the versions that `attending` returns. */
#endif
static size_t bytes_of_attending(void)
{
    static const int64_t from[] = {LENGTHS};
#if PREPARED
    const struct version prepares = preparing();
    size_t bytes = bytes_a_thread(&prepares);
#else
    size_t bytes = 0;
#endif
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
#if FEW
        const struct version few = attending(from[k], 0, 0), v = attending(from[k], MANY_ROWS, 0);
        if (bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
#if BY_HEADS
        const struct version heads = attending(from[k], MANY_HEADS, 0);
        if (bytes_a_thread(&heads) > bytes) bytes = bytes_a_thread(&heads);
#endif
#else
        const struct version v = attending(from[k]);
#endif
        if (bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

#endif
/* Returns the largest s->first that later tokens allow. Later tokens read
   - the rows of keys that are not in the sums,
   - READ_BACK rows before them,
   - the first rows, if the state always keeps them.
   A sequence that may go back also needs the rows of keys that are not in the oldest sums, or `rewind` more rows. */
static int64_t first_needed(const struct sequence *s, int64_t rewind)
{
    (void)rewind;
#if BY_CAPACITY
    return 0 * s->length;
#elif CARRIED
    return max(s->start, s->oldest - READ_BACK - READ_FIRST);
#else
    return max(s->start, s->summed - READ_BACK - READ_FIRST - rewind);
#endif
}

/* Sets s->summed after the sequence was extended to s->length. Only whole chunks are summed. */
static void count_summed(const struct version *this, struct sequence *s)
{
#if CARRIED
    if (s->length - s->summed >= this->chunk) s->summed = s->length - s->length % this->chunk;
#else
    (void)this;
    s->summed = s->length;
#endif
}

/* Fills the header of a new state, except `check`. Returns 0 or an error. */
static int describe(const struct attn_problem *problem, const struct version *this, struct state_header *header)
{
    static const char magic[] = "attnkeep", name[] = NAME_AS_TEXT;
    const struct attn_problem *const p = problem;
    if (!runs(this)) return ATTN_EMACHINE;
#if SAME_HEADS
    if (p->heads != p->kv_heads) return ATTN_EPROBLEM;
#endif
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof header->magic);
    memcpy(header->name, name, sizeof name < sizeof header->name ? sizeof name : sizeof header->name - 1);
    header->format = 6;
    header->byte_order = 0x01020304;
    header->fingerprint = FINGERPRINT;
    header->dtype = DTYPE;
    header->head_dim = HEAD_DIM;
    header->value_dim = VALUE_DIM;
    header->batch = p->batch;
    header->heads = p->heads;
    header->kv_heads = p->kv_heads;
    header->key_heads = heads_of_keys(p);
#if PAGED
    if (p->pages && (p->pages->tokens < MIN_PAGE || p->pages->tokens > MAX_PAGE)) return ATTN_EPAGES;
    if (p->pages) header->page = p->pages->tokens;
#else
    if (p->pages) return ATTN_EPAGES;
#endif
#if BY_CAPACITY
    if (p->capacity < 0) return ATTN_EPROBLEM;
#if MAX_LENGTH
    if (p->capacity > MAX_LENGTH) return ATTN_ELENGTH;
#endif
    header->capacity = header->rows = header->page ? 0 : p->capacity;
#else
    if (p->rewind < 0) return ATTN_EPROBLEM;
    if (p->rewind > INT64_MAX / 4) return ATTN_ESIZE;
    header->rewind = p->rewind;
#if CARRIED
    header->earlier = (p->rewind + this->chunk - 1) / this->chunk;
    header->rewind = header->earlier * this->chunk;
#endif
    header->rows = header->page ? 0 : ROWS_KEPT + header->rewind;
#endif
#if TRANSITIONS
    header->foldable = p->foldable != 0;
    if (p->foldable) header->rows += this->chunk; /* tokens of a second state */
#endif
    header->read_back = READ_BACK;
#if CARRIED
    header->chunk = this->chunk;
    header->kept = (int64_t)this->kept;
#endif
    struct attn_problem cache = {.batch = p->batch, .heads = p->heads, .kv_heads = p->kv_heads, .n_k = header->rows,
        .key_heads = p->key_heads};
    const int error = attn_problem_check(&cache, HEAD_DIM, VALUE_DIM, NULL);
    if (error) return error;
    /* 64 bytes for the alignment of each array */
    size_t bytes = (size_t)round_up(sizeof *header, 64) + 64 + 64 * ROW_ARRAYS;
    bytes = bytes_plus(bytes, bytes_times(sizeof(struct sequence), p->batch));
#if CARRIED
    const size_t sums = bytes_times(bytes_times(this->kept, p->batch), this->tile == 0 ? p->kv_heads : p->heads);
    bytes = bytes_plus(bytes, bytes_times(sums, 1 + header->earlier));
#endif
#if JOINS
    bytes = bytes_plus(bytes, this->join_work);
#endif
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t heads = heads_with_rows(a, p->heads, p->kv_heads, header->key_heads);
        const size_t row = bytes_times((size_t)row_bytes_of[a], heads);
        bytes = bytes_plus(bytes, bytes_times(bytes_times(row, p->batch), rows_before(a) + header->rows));
    }
    if (!bytes_fit(bytes)) return ATTN_ESIZE;
    header->bytes = bytes / 64 * 64;
    return 0;
}

static struct places places_in(void *state, const struct state_header *header, const struct version *this)
{
    const struct state_header *const h = header;
    unsigned char *const memory = (unsigned char *)state;
    int64_t at = round_up(sizeof *h, 64);
    struct places places = {.header = (struct state_header *)state};
    places.sequence = (struct sequence *)(void *)(memory + at);
    at = round_up(at + h->batch * (int64_t)sizeof(struct sequence), 64);
    places.kept = memory + at;
#if CARRIED
    const int64_t sums = h->batch * (this->tile == 0 ? h->kv_heads : h->heads) * h->kept;
    places.earlier = memory + at + sums;
    at += sums * (1 + h->earlier);
#if JOINS
    places.work = memory + at;
    at += (int64_t)this->join_work;
#endif
#else
    (void)this;
#endif
    for (int a = 0; a < ROW_ARRAYS; a++) {
        places.rows[a] = memory + at;
        const int64_t rows = rows_before(a) + h->rows;
        at = round_up(at + h->batch * heads_with_rows(a, h->heads, h->kv_heads, h->key_heads) * rows * row_bytes_of[a], 64);
    }
    return places;
}

/* Continues a hash with n bytes (FNV-1a, 64 bits). */
static uint64_t hash_of(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *const byte = (const unsigned char *)bytes;
    for (size_t k = 0; k < n; k++) hash = (hash ^ byte[k]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t check_of(const struct places *at)
{
    const uint64_t hash = hash_of(UINT64_C(0xcbf29ce484222325), at->header, offsetof(struct state_header, check));
    return hash_of(hash, at->sequence, (size_t)at->header->batch * sizeof *at->sequence);
}

/* Sets `places`. Returns ATTN_ESTATE if the state is damaged, or of another kernel or problem. */
static int open_state(const struct attn_problem *problem, const struct version *this, const void *state,
    struct places *places)
{
    struct state_header expected;
    if (!problem || !state) return ATTN_EPOINTER;
    if ((uintptr_t)state % 64) return ATTN_EALIGN;
    const int error = describe(problem, this, &expected);
    if (error) return error;
    if (problem->state_bytes && problem->state_bytes < expected.bytes) return ATTN_ESTATE;
    if (memcmp(state, &expected, offsetof(struct state_header, check)) != 0) return ATTN_ESTATE;
    *places = places_in((void *)(uintptr_t)state, &expected, this);
    if (places->header->check != check_of(places)) return ATTN_ESTATE;
    for (int64_t b = 0; b < expected.batch; b++) {
        const struct sequence s = places->sequence[b];
        if (s.start < 0 || s.first < s.start || s.summed < s.start || s.oldest < s.start || s.oldest > s.summed ||
            s.first > first_needed(&s, 0) || s.length < s.summed || s.draft < s.start || s.draft > s.length || s.min_length < s.start ||
            s.min_length > s.length || (!expected.page && s.length - s.first > expected.rows))
            return ATTN_ESTATE;
    }
    return 0;
}

#if PREFIX_SUMS
/* Sets the rows of prefix sums before row 0 of a sequence to 0. */
static void begin_sums(const struct places *at, int64_t b)
{
    const struct rows rows = rows_in(at, b);
    for (int a = SUMS; a < ROW_ARRAYS; a++)
        for (int64_t g = 0; g < rows.strides[a].batch; g += rows.strides[a].head)
            memset(rows.at[a] + g - rows_before(a) * rows.strides[a].row, 0,
                (size_t)(rows_before(a) * rows.strides[a].row));
}

#endif
size_t SPEC_state(const struct attn_problem *problem)
{
    struct state_header header;
    const struct version this = extend_version(problem);
    return problem && describe(problem, &this, &header) == 0 ? (size_t)header.bytes : 0;
}

static int64_t state_chunk(const struct attn_problem *problem)
{
#if CARRIED
    return extend_version(problem).chunk;
#else
    return 0 * problem->batch;
#endif
}

int SPEC_state_init(const struct attn_problem *problem, void *state)
{
    struct state_header header;
    const struct version this = extend_version(problem);
    if (!problem || !state) return ATTN_EPOINTER;
    if ((uintptr_t)state % 64) return ATTN_EALIGN;
    const int error = describe(problem, &this, &header);
    if (error) return error;
    if (problem->state_bytes && problem->state_bytes < header.bytes) return ATTN_ESTATE;
    const int64_t start = problem->start;
    if (start < 0) return ATTN_EPROBLEM;
#if TRANSITIONS
    if (start && (!problem->foldable || start % this.chunk)) return ATTN_ELENGTH;
#elif FOLDS
    if (start % this.chunk) return ATTN_ELENGTH;
#else
    if (start) return ATTN_ELENGTH;
#endif
    struct places at = places_in(state, &header, &this);
    memset(state, 0, (size_t)(at.rows[0] - (unsigned char *)state));
    *at.header = header;
    for (int64_t b = 0; b < problem->batch; b++)
        at.sequence[b] = (struct sequence){start, start, start, start, start, start, start};
#if PREFIX_SUMS
    for (int64_t b = 0; b < problem->batch; b++) begin_sums(&at, b);
#endif
    at.header->check = check_of(&at);
    return 0;
}

int64_t SPEC_state_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_state(problem, &this, state, &at);
    if (error) return error;
    if (sequence < 0 || sequence >= problem->batch) return ATTN_EPROBLEM;
    return at.sequence[sequence].length;
}

int64_t SPEC_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_state(problem, &this, state, &at);
    if (error) return error;
    if (sequence < 0 || sequence >= problem->batch) return ATTN_EPROBLEM;
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
    const int error = open_state(problem, &this, state, &at);
    if (error) return error;
    if (sequence < 0 || sequence >= problem->batch) return ATTN_EPROBLEM;
    struct sequence *const s = &at.sequence[sequence];
    if (length < s->start || length > s->length) return ATTN_ELENGTH;
    if (length > s->start && length < SPEC_state_min_length(problem, state, sequence)) return ATTN_ELENGTH;
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
/* Returns whether the pages of a sequence's tokens from `first` to `last` - 1 are valid. */
static int pages_valid(const struct attn_problem *p, int64_t b, int64_t first, int64_t last)
{
    const struct attn_pages *const g = p->pages;
    int valid = g->base && g->table && (last + g->tokens - 1) / g->tokens <= g->row && (uintptr_t)g->base % 64 == 0 &&
        g->bytes >= bytes_of_page(p, NULL);
    for (int64_t x = first / g->tokens; valid && x * g->tokens < last; x++)
        valid = g->table[b * g->row + x] >= 0 && g->table[b * g->row + x] < g->count;
    return valid;
}

#endif
#endif
int SPEC_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path, int64_t count)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_state(problem, &this, state, &at);
    if (error) return error;
    if (sequence < 0 || sequence >= problem->batch || count < 0) return ATTN_EPROBLEM;
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
    if (moves && problem->pages && !pages_valid(problem, sequence, s.draft, s.length)) return ATTN_EPAGES;
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
    int error = open_state(problem, &this, to, &target);
    if (!error) error = open_state(problem, &this, from, &source);
    if (error) return error;
    if (to_sequence < 0 || to_sequence >= problem->batch || from_sequence < 0 || from_sequence >= problem->batch)
        return ATTN_EPROBLEM;
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
    if (problem->pages || part_problem->pages) return ATTN_EPAGES;
    int error = open_state(problem, &this, state, &whole);
    if (!error) error = open_state(part_problem, &this, part, &some);
    if (error) return error;
    const struct state_header *const w = whole.header, *const p = some.header;
    if (p->batch != 1 || sequence < 0 || sequence >= w->batch || first_kv_head < 0 ||
        first_kv_head + p->kv_heads > w->kv_heads || w->heads * p->kv_heads != p->heads * w->kv_heads)
        return ATTN_EPROBLEM;
    if (w->rows != p->rows || w->earlier != p->earlier || w->foldable != p->foldable) return ATTN_ESTATE;
    if (w->kv_heads == 0 || p->kv_heads == 0) return 0;
    const struct sequence s = back ? some.sequence[0] : whole.sequence[sequence];
    const int64_t members = w->heads / w->kv_heads, sharing = w->kv_heads / heads_of_keys(problem);
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
    for (int64_t b = 0; b < problem->batch; b++) fold_sequence(problem, &this, &to, &from, b);
    to.header->check = check_of(&to);
    return 0;
#else
    return ATTN_EFOLD;
#endif
}

/* ==== appending tokens ==== */

/* Returns the workspace of a thread, in bytes, for a call that extends a state. */
static size_t bytes_of_extending(const struct attn_problem *problem)
{
    (void)problem;
#if ATTENDS
    size_t bytes = bytes_of_attending();
#elif EXTEND_BY_LENGTH
    size_t bytes = max_bytes_a_thread(INT64_MAX);
#else
    const struct version this = extend_version(problem);
    size_t bytes = bytes_a_thread(&this);
#endif
#if PREFIX_SUMS
    const struct version terms = terms_version();
    if (bytes_a_thread(&terms) > bytes) bytes = bytes_a_thread(&terms);
#endif
    return bytes;
}

/* Returns `rows` with row `first` as row 0. A negative `first` is allowed, because earlier rows are not read. */
static struct rows from_row(struct rows rows, int64_t first)
{
    for (int a = 0; a < GIVEN; a++)
        rows.at[a] = (unsigned char *)((uintptr_t)rows.at[a] + (uintptr_t)first * (uintptr_t)rows.strides[a].row);
    return rows;
}

#if PREFIX_SUMS
/* Returns the number of tokens after which prefix sums begin again at 0, so that they stay small. */
static int64_t sum_period(const struct version *extends)
{
#if BY_CAPACITY
    (void)extends;
    return INT64_MAX;
#elif CARRIED
    return max(1, SUM_TOKENS / extends->chunk) * extends->chunk;
#else
    (void)extends;
    return SUM_TOKENS;
#endif
}

/* Subtracts the prefix sums of the last of n rows from all rows. */
static void begin_sums_again(const struct rows *rows, int64_t sequences, int64_t n)
{
    const struct attn_strides *const s = &rows->strides[SUMS];
    for (int64_t x = 0; x < sequences; x++)
        for (int64_t g = 0; g < s->batch; g += s->head) {
            REAL *const sum = (REAL *)(void *)(rows->at[SUMS] + x * s->batch + g),
                *const low = (REAL *)(void *)(rows->at[SUMS + 1] + x * s->batch + g);
            for (int64_t e = 0; e < PREFIX_ROW; e++) {
                const int64_t last = (n - 1) * PREFIX_ROW + e;
                const double sum_of_last = (double)sum[last], low_of_last = (double)low[last];
#if FOLDS
                const int64_t earlier = e - 2 * PREFIX_ROW;
                double all = (double)sum[earlier], rest_of_all = (double)low[earlier] + low_of_last;
                add_to_sum(&all, &rest_of_all, sum_of_last);
                sum[earlier] = (REAL)(all + rest_of_all);
                low[earlier] = (REAL)(all - (double)sum[earlier] + rest_of_all);
#endif
                for (int64_t at = e - PREFIX_ROW; at <= last; at += PREFIX_ROW) {
                    double high = (double)sum[at], rest = (double)low[at] - low_of_last;
                    add_to_sum(&high, &rest, -sum_of_last);
                    sum[at] = (REAL)(high + rest);
                    low[at] = (REAL)(high - (double)sum[at] + rest);
                }
            }
        }
}

/* Replaces the terms of new tokens by prefix sums, in one head. Each prefix sum continues from the previous one. So
   the sums do not depend on how tokens are divided into calls. */
static void continue_sums(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_strides *const s = &call->log_decay_k_at;
    const int64_t first = task / call->p.heads * s->batch + task % call->p.heads * s->head;
    REAL *const sum = call->log_decay_k + first, *const low = call->log_decay_k_low + first;
    (void)work;
    for (int64_t at = 0; at < call->p.n_q * PREFIX_ROW; at++) {
        double high = (double)sum[at - PREFIX_ROW], rest = (double)low[at - PREFIX_ROW];
        add_to_sum(&high, &rest, (double)sum[at]);
        sum[at] = (REAL)(high + rest);
        low[at] = (REAL)(high - (double)sum[at] + rest);
    }
}

/* Makes the call read from `rows` the parameters that only the terms of prefix sums use. */
static void set_rows_of_terms(struct call *call, const struct rows *rows)
{
    (void)call;
    (void)rows;
TERMS_VALUES
}

/* Computes the prefix sums of n tokens after the first `length` tokens. Row to_row of `to` gets the sums of the
   first of these n tokens. */
static int remember_sums(const struct rows *to, int64_t to_row, const struct rows *from, const struct call *call,
    int64_t length, int64_t n, int threads, unsigned char *workspace)
{
    enum { SHARED_TERMS = 4096 }; /* fewer terms take less time than waking threads */
    struct call terms = *call;
    const struct rows numbered = from_row(*from, -length), of_terms = from_row(*to, to_row);
    const struct version computes = terms_version(), adds = {.rows = continue_sums, .tile = -1};
    set_rows(&terms, &numbered);
    set_rows_of_terms(&terms, &numbered);
    terms.log_decay_k = (REAL *)(void *)of_terms.at[SUMS];
    terms.log_decay_k_low = (REAL *)(void *)of_terms.at[SUMS + 1];
    terms.log_decay_k_at = terms.log_decay_k_low_at = in_elements(to->strides[SUMS], sizeof(REAL));
    terms.p.n_q = n;
    terms.p.n_k = length + n;
    if (!runs(&computes)) return ATTN_EMACHINE;
    if (terms.p.batch * terms.p.heads * n * PREFIX_ROW < SHARED_TERMS) threads = 1;
    const int error = run(&terms, &computes, threads, workspace, bytes_a_thread(&computes));
    return error ? error : run(&terms, &adds, threads, workspace, bytes_a_thread(&computes));
}

#if UNCOPIED
/* The number of earlier rows of prefix sums that a call copies before its new rows. */
enum { EARLIER_SUMS = 1 + READ_BACK };

/* Returns the bytes of a sequence's prefix sums of n tokens, and of the earlier rows that a call copies. */
static size_t bytes_of_sums(const struct attn_problem *p, const struct version *extends, int64_t n)
{
    struct state_header header;
    if (describe(p, extends, &header)) return SIZE_MAX;
    const size_t row = bytes_times((size_t)(PREFIX_ROW * sizeof(REAL)), p->heads);
    return bytes_times(whole_lines(bytes_times(row, EARLIER_SUMS + header.rewind + n)), SUM_ARRAYS);
}

/* Returns the number of tokens that a call computes at a time if it reads keys and values in place. These tokens are
   whole chunks. Their prefix sums take at most MOST_SUMS bytes, except for a single chunk. */
static int64_t piece_of_call(const struct attn_problem *p, const struct version *extends)
{
    enum { MOST_SUMS = 1 << 22, TOKENS = 64 };
#if CARRIED
    const int64_t unit = extends->chunk;
#else
    const int64_t unit = TOKENS;
#endif
    int64_t tokens = sum_period(extends);
    while (tokens > unit && bytes_times(bytes_of_sums(p, extends, tokens), p->batch) > MOST_SUMS)
        tokens = (tokens / unit + 1) / 2 * unit;
    return tokens;
}

/* Prepares `sums` for the prefix sums of n new tokens. Copies the `back` + 1 rows before `end` from `kept`, and
   makes row 0 of `given` the row after them. */
static void place_sums(struct rows *given, unsigned char *sums, int64_t back, int64_t n, const struct rows *kept,
    int64_t end, int64_t count)
{
    for (int a = SUMS; a < ROW_ARRAYS; a++) {
        const int64_t row = row_bytes_of[a], head = (1 + back + n) * row,
            heads = kept->strides[a].batch / kept->strides[a].head;
        given->at[a] = sums + (1 + back) * row;
        given->strides[a] = (struct attn_strides){heads * head, head, row};
        remember(given, -back - 1, kept, end - back - 1, back + 1, a, count);
        sums += whole_lines((size_t)(count * heads * head));
    }
}

#endif
#endif

#if PREPARED
/* Prepares the keys of n tokens after the first `length`, and stores them in array 0 of `to`, at row to_row. */
static int remember_prepared(const struct rows *to, int64_t to_row, const struct rows *from, const struct call *call,
    int64_t length, int64_t n, int threads, unsigned char *workspace)
{
    enum { SHARED_ROWS = 64 }; /* fewer rows take less time than waking threads */
    struct call keys = *call;
    const struct version this = preparing();
    if (!runs(&this)) return ATTN_EMACHINE;
    const struct rows numbered = from_row(*from, -length);
    set_rows(&keys, &numbered); /* Arrays are read at positions. Keys are read from the first new one on. */
    keys.q = (const STORED *)(const void *)from->at[0]; /* the program prepares the argument q */
    keys.p.q = in_elements(from->strides[0], sizeof *keys.q);
    keys.out = (STORED *)(void *)(to->at[0] + to_row * to->strides[0].row);
    keys.p.out = in_elements(to->strides[0], sizeof *keys.out);
    keys.p.heads = keys.p.kv_heads = heads_of_keys(&call->p);
#if SHARES
    keys.sharing = 1;
#endif
    keys.p.n_q = n;
    keys.p.n_k = length + n;
    if (keys.p.batch * keys.p.heads * n < SHARED_ROWS) threads = 1;
    return run(&keys, &this, threads, workspace, bytes_a_thread(&this));
}

#if ROUNDS_PREPARED
enum { MOST_PREPARED = 1 << 18 }; /* prepared keys stay in a cache until they are rounded */

/* Returns the bytes of memory for prepared keys before they are rounded: at least those of one token. */
static size_t bytes_of_prepared(const struct attn_problem *p)
{
    const size_t token = bytes_times(bytes_times(HEAD_DIM * sizeof(STORED), p->batch), heads_of_keys(p));
    return whole_lines(token > MOST_PREPARED ? token : MOST_PREPARED);
}

/* Like remember_prepared, but rounds the prepared keys. `made` has bytes_of_prepared bytes. */
static int remember_prepared_rounded(const struct rows *to, int64_t to_row, const struct rows *from,
    const struct call *call, int64_t length, int64_t n, int threads, unsigned char *made, unsigned char *workspace)
{
    const int64_t row = HEAD_DIM * (int64_t)sizeof(STORED), heads = heads_of_keys(&call->p),
        some = max(1, MOST_PREPARED / (call->p.batch * heads * row));
    const struct rows prepared = {{made}, {{heads * some * row, some * row, row}}};
    for (int64_t done = 0; done < n; done += some) {
        const int64_t m = min(some, n - done);
        const struct rows given = from_row(*from, done);
        const int error = remember_prepared(&prepared, 0, &given, call, length + done, m, threads, workspace);
        if (error) return error;
        remember_rounded(to, to_row + done, &prepared, 0, m, 0, call->p.batch);
    }
    return 0;
}

#endif
#endif
/* Neighbouring sequences that a call extends together, piece by piece. They have equal lengths, equally many tokens in
   their sums, and get equally many tokens. */
struct growth {
    struct call call; /* the call for the next piece */
    struct version this;
    struct rows given;    /* the rows of the next tokens */
    struct sequence s;    /* describes each of the sequences */
    int64_t b, count;     /* the number of the first sequence, and the number of sequences */
    int64_t left, m;      /* left: tokens that are not appended yet; m: the tokens of the current piece */
#if UNCOPIED
    int64_t given_tokens; /* the tokens of the call that are appended */
#endif
    int in_place, stores; /* in_place: the piece reads keys and values of the caller; stores: it stores earlier sums */
#if INTEGERS_OF_SEQUENCES
    struct SPEC_params params;
#endif
#if BY_HEADS
    struct attn_problem p; /* `call.p` before heads and queries were swapped */
#endif
};

/* The arguments of a call that all its sequences share. */
struct appending {
    const struct version *extends;
    const struct places *at;
    int asked, threads; /* asked: the caller wants the rows of out */
    unsigned char *work; /* the workspace of the threads */
#if ROUNDS_PREPARED
    unsigned char *prepared; /* memory for prepared keys before they are rounded */
#endif
#if PAGED
    const struct attn_pages *pages; /* or NULL */
    struct rows page;               /* the rows in page 0 */
#endif
#if PREFIX_SUMS && UNCOPIED
    /* sums: memory for prefix sums, of_sums: its bytes for a sequence, piece: the tokens that it has room for */
    unsigned char *sums;
    size_t of_sums;
    int64_t piece;
#endif
};

/* Returns the bytes of the workspace for the lists of growths and jobs, and for the sequences that have a page. */
static size_t bytes_of_growths(const struct attn_problem *p)
{
    const size_t lists = whole_lines(bytes_times(sizeof(struct growth) + sizeof(struct job), p->batch));
#if PAGED
    if (p->pages) return bytes_plus(lists, whole_lines(bytes_times(2 * sizeof(int32_t), p->pages->count)));
#endif
    return lists;
}

/* Returns the bytes of a page, or 0 for an error. */
size_t SPEC_page(const struct attn_problem *problem)
{
#if PAGED
    struct state_header header;
    const struct version this = extend_version(problem);
    if (!problem || !problem->pages || describe(problem, &this, &header)) return 0;
    const size_t bytes = bytes_of_page(problem, NULL);
    return bytes_fit(bytes) ? bytes : 0;
#else
    (void)problem;
    return 0;
#endif
}

size_t SPEC_extend_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    const size_t bytes = bytes_times(bytes_of_extending(problem), (int64_t)threads_served(problem));
    size_t all = bytes_plus(bytes, bytes_of_growths(problem));
#if PREFIX_SUMS && UNCOPIED
    const struct version this = extend_version(problem);
    const size_t of_sums = bytes_of_sums(problem, &this, piece_of_call(problem, &this));
    all = bytes_plus(all, bytes_times(of_sums, problem->batch));
#endif
#if ROUNDS_PREPARED
    all = bytes_plus(all, bytes_of_prepared(problem));
#endif
    return bytes_fit(all) ? all : 0;
}

/* Returns the number of new tokens of sequence b. */
static int64_t new_tokens_of(const struct attn_problem *p, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b + 1] - p->cu_seqlens[b] : p->lengths ? p->lengths[b] : p->n_q;
}

/* Returns the distance from the first row of an array to the first new row of sequence b. */
static int64_t before_sequence(const struct attn_problem *p, const struct attn_strides *s, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b] * s->row : b * s->batch;
}

/* Begins to append n tokens to each of `count` sequences, beginning with sequence b. `whole` is the call of all
   sequences. */
static void begin_growth(struct growth *g, const struct call *whole, const struct appending *x, int64_t b,
    int64_t count, int64_t n)
{
    struct call *const call = &g->call;
    *call = *whole;
    g->given = (struct rows){{KEPT_POINTERS}, {KEPT_STRIDES}};
    g->s = x->at->sequence[b];
    g->s.draft = g->s.length;
    g->b = b;
    g->count = count;
    g->left = n;
#if UNCOPIED
    g->given_tokens = 0;
#endif
    for (int a = 0; a < GIVEN; a++)
        if (g->given.at[a]) g->given.at[a] += before_sequence(&call->p, &g->given.strides[a], b);
    call->p.batch = count;
#if NUMBERED
    call->first_sequence = b;
    call->other_sequences = x->at->header->batch - count;
#endif
    if (x->asked) {
        call->q += before_sequence(&call->p, &call->p.q, b);
        call->out += before_sequence(&call->p, &call->p.out, b);
    }
#if RESULTS
RESULTS_OF_SEQUENCES
#endif
#if CARRIED
    call->kept = x->at->kept +
        (size_t)b * (size_t)(x->extends->tile == 0 ? call->p.kv_heads : call->p.heads) * x->extends->kept;
#endif
#if INTEGERS_OF_SEQUENCES
    g->params = *call->params;
INTEGERS_FROM_SEQUENCE
    call->params = &g->params;
#endif
#if OWN_PARAMS
    call->own = *call->params;
    call->params = &call->own;
#endif
#if ROWS_OF_QUERIES
SEQUENCES_OF_ROWS_OF_QUERIES
#endif
}

/* Stores the rows of n tokens after the first `length` tokens in `to`, from row to_row on. Keys are prepared and rows are
   rounded first, if the state stores them so. Returns 0 or an error. */
static int store_rows(const struct rows *to, int64_t to_row, const struct rows *from, const struct call *call,
    int64_t length, int64_t n, const struct appending *x)
{
    (void)length;
    (void)x;
#if ROUNDS_PREPARED
    const int error = remember_prepared_rounded(to, to_row, from, call, length, n, x->threads, x->prepared, x->work);
    if (error) return error;
#elif PREPARED
    const int error = remember_prepared(to, to_row, from, call, length, n, x->threads, x->work);
    if (error) return error;
#endif
#if STORES
    for (int a = PREPARED; a < SUMS; a++)
        (rounded_to[a].elements ? remember_rounded : remember)(to, to_row, from, 0, n, a, call->p.batch);
#else
    for (int a = PREPARED; a < SUMS; a++) remember(to, to_row, from, 0, n, a, call->p.batch);
#endif
    return 0;
}

#if PAGED
/* Stores the rows of a sequence's new tokens in its pages, and lets the call read them there. Returns 0 or an error. */
static int fill_pages(struct growth *g, const struct appending *x)
{
    struct call *const call = &g->call;
    const int64_t tokens = x->pages->tokens;
    call->pages = x->pages;
    call->page = x->pages->table + g->b * x->pages->row;
    for (int64_t done = 0, n; done < g->left; done += n) {
        const int64_t at = g->s.length + done, row = at % tokens;
        const struct rows given = from_row(g->given, done);
        struct rows page = x->page;
        n = min(g->left - done, tokens - row);
        for (int a = 0; a < ROW_ARRAYS; a++) page.at[a] += (size_t)call->page[at / tokens] * x->pages->bytes;
        const int error = store_rows(&page, row, &given, call, at, n, x);
        if (error) return error;
    }
    struct rows rows = x->page;
    for (int a = 0; a < ROW_ARRAYS; a++) rows.strides[a].batch = 0; /* all sequences are in the same pages */
    set_rows(call, &rows);
    return 0;
}

/* Returns the number of pages that contain n tokens. */
static int64_t pages_of(const struct attn_pages *g, int64_t n) { return (n + g->tokens - 1) / g->tokens; }

/* Checks the pages of a call, before anything is written. For each page, `list` gets the sequence that writes it and
   the last sequence that has it. Returns 0 or an error. */
static int check_pages(const struct attn_problem *p, const struct places *at, int32_t *list)
{
    const struct attn_pages *const g = p->pages;
    int32_t *const writer = list, *const reader = list + g->count;
    memset(list, 0, (size_t)g->count * 2 * sizeof *list);
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t length = at->sequence[b].length, n = new_tokens_of(p, b);
        if (n > 0 && pages_of(g, length + n) > g->row) return ATTN_ECAPACITY;
        for (int64_t x = length / g->tokens; n > 0 && x < pages_of(g, length + n); x++) {
            const int32_t page = g->table[b * g->row + x];
            if (page < 0 || page >= g->count || writer[page]) return ATTN_EPAGES;
            writer[page] = (int32_t)b + 1;
        }
    }
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t n = new_tokens_of(p, b), length = at->sequence[b].length, end = pages_of(g, length + n);
#if BY_CAPACITY
        const int64_t first = 0, last = 0;
#else
        /* Queries read the keys before `first` and those from `last` on. */
        const int64_t first = READ_FIRST, last = max(0, length - READ_BACK - READ_FIRST);
#endif
        for (int64_t x = 0; x < min(end, g->row); x++) {
            const int32_t page = g->table[b * g->row + x];
            if (page < 0 || page >= g->count) {
                if (n > 0 && (x * g->tokens < first || (x + 1) * g->tokens > last)) return ATTN_EPAGES;
                continue;
            }
            if (writer[page] && writer[page] != b + 1) return ATTN_EPAGES;
            if (reader[page] == b + 1) return ATTN_EPAGES;
            reader[page] = (int32_t)b + 1;
        }
    }
    return 0;
}

#endif
/* Sets the sizes of the call for a piece of m tokens, and chooses its version. Returns 0 or an error. */
static int choose_version(struct growth *g, const struct appending *x, int64_t m)
{
    struct call *const call = &g->call;
    const struct sequence *const s = &g->s;
    (void)x;
    g->m = m;
    call->p.n_q = m;
    call->p.n_k = s->length + m;
#if PREFIX_SUMS
    call->log_decay_q = call->log_decay_k + s->length * PREFIX_ROW;
    call->log_decay_q_low = call->log_decay_k_low + s->length * PREFIX_ROW;
#endif
#if READ_FIRST
    call->dropped = s->first;
#endif
#if CARRIED
    call->start = s->start;
    call->summed = s->summed;
    g->this = *x->extends;
#else
#if FEW
    g->this = ATTENDING(call->p.n_k, rows_of(&call->p), call->p.n_q);
#else
    g->this = ATTENDING(call->p.n_k);
#endif
    if (!runs(&g->this)) return ATTN_EMACHINE;
#endif
#if BY_HEADS
    g->p = call->p;
    if (x->asked && g->this.by_heads) heads_as_queries(&call->p);
#endif
    return 0;
}

/* Prepares the call for the next tokens of a growth: as many as its state can take before other rows leave it.
   Returns 0 or an error. */
static int begin_piece(struct growth *g, const struct appending *x)
{
    const int64_t rows = x->at->header->rows, rewind = x->at->header->rewind;
    const struct rows kept = rows_in(x->at, g->b);
    struct call *const call = &g->call;
    struct sequence *const s = &g->s;
    int64_t m = g->left;
#if CARRIED
    /* The state stores the sums before each of the last `earlier` chunks. So the call adds these chunks one by
       one. */
    const int64_t chunk = x->extends->chunk, last = (s->length + g->left) / chunk - x->at->header->earlier,
        next = s->summed / chunk + 1;
    g->stores = x->at->header->earlier > 0 && s->length + g->left >= next * chunk && next > last;
    if (g->stores) {
        m = next * chunk - s->length;
        store_sums(&call->p, x->extends, x->at, g->b, g->count);
    } else if (x->at->header->earlier > 0 && next <= last) {
        m = last * chunk - s->length;
        s->oldest = s->summed;
    }
#endif
    g->in_place = 0;
#if PAGED
    if (x->pages) {
        const int error = fill_pages(g, x);
        return error ? error : choose_version(g, x, m);
    }
#endif
#if UNCOPIED
    /* The call's arrays may contain all rows that are needed. */
    g->in_place = first_needed(s, rewind) >= s->length - g->given_tokens;
#if CARRIED
    g->in_place &= m >= chunk;
#endif
#endif
#if PREFIX_SUMS
    const int64_t period = sum_period(x->extends);
    if (s->length > s->start && s->length % period == 0) begin_sums_again(&kept, g->count, s->length - s->first);
    m = min(m, period - s->length % period);
#endif
    if (g->in_place) {
#if PREFIX_SUMS && UNCOPIED
        m = min(m, x->piece);
        place_sums(&g->given, x->sums + (size_t)g->b * x->of_sums, s->length - first_needed(s, rewind), m, &kept,
            s->length - s->first, g->count);
        const int error = remember_sums(&g->given, 0, &g->given, call, s->length, m, x->threads, x->work);
        if (error) return error;
#endif
        const struct rows numbered = from_row(g->given, -s->length);
        set_rows(call, &numbered);
    } else {
        const int64_t needed = first_needed(s, rewind);
        if (s->length - s->first + m > rows && needed > s->first) {
            slide(&kept, g->count, needed - s->first, s->length - needed);
            s->first = needed;
        }
        m = min(m, rows - (s->length - s->first));
#if PREFIX_SUMS
        const int failed =
            remember_sums(&kept, s->length - s->first, &g->given, call, s->length, m, x->threads, x->work);
        if (failed) return failed;
#endif
        const int error = store_rows(&kept, s->length - s->first, &g->given, call, s->length, m, x);
        if (error) return error;
        const struct rows numbered = from_row(kept, -s->first);
        set_rows(call, &numbered);
    }
    return choose_version(g, x, m);
}

/* Counts the tokens of the piece that the call has computed, and makes the next tokens the new ones. */
static void end_piece(struct growth *g, const struct appending *x)
{
    struct call *const call = &g->call;
    struct sequence *const s = &g->s;
    const int64_t m = g->m;
    s->length += m;
    g->left -= m;
#if CARRIED
    const int64_t summed = s->summed;
    count_summed(x->extends, s);
    if (s->summed > summed)
        s->oldest = !g->stores ? s->summed : max(s->oldest, s->summed - x->at->header->earlier * x->extends->chunk);
#else
    count_summed(x->extends, s);
#endif
    if (g->in_place) { /* copies the rows that later tokens need into the state */
        const struct rows kept = rows_in(x->at, g->b);
        s->first = first_needed(s, x->at->header->rewind);
        const int64_t rows = s->length - s->first;
        for (int a = 0; a < ROW_ARRAYS; a++)
            remember(&kept, -row_before(a), &g->given, m - rows - row_before(a), rows + row_before(a), a, g->count);
    }
    for (int64_t k = 0; k < g->count; k++) x->at->sequence[g->b + k] = *s;
    g->given = from_row(g->given, m);
#if UNCOPIED
    g->given_tokens += m;
#endif
#if BY_HEADS
    call->p = g->p;
#endif
#if ROWS_OF_QUERIES
MORE_ROWS_OF_QUERIES
#endif
    if (!x->asked) return;
    call->q += m * call->p.q.row;
    call->out += m * call->p.out.row;
#if RESULTS
RESULTS_OF_ROWS
#endif
}

/* Sorts jobs by the work of a task, the most work first, so that threads end at about the same time. */
static void sort_jobs(struct job *job, int64_t jobs)
{
    for (int64_t gap = jobs / 2; gap > 0; gap = gap > 2 ? gap * 5 / 11 : gap / 2)
        for (int64_t k = gap; k < jobs; k++) {
            const struct job moved = job[k];
            int64_t to = k;
            for (; to >= gap && job[to - gap].effort < moved.effort; to -= gap) job[to] = job[to - gap];
            job[to] = moved;
        }
}

/* Runs the calls of a list, so that all threads have about the same work. Each thread has `bytes` of workspace. */
static int run_jobs(struct job *job, int64_t jobs, int threads, unsigned char *workspace, size_t bytes)
{
    double all = 0;
    for (int64_t k = 0; k < jobs; k++) all += job[k].effort = effort(&job[k].call->p, job[k].this);
    const struct attn_problem *const p = &job->call->p;
    if (p->threads == 0 || p->team) threads = useful_threads(all, threads);
    for (int64_t k = 0; k < jobs; k++) {
        const int error = count_tasks(&job[k], threads);
        if (error) return error;
        job[k].effort /= (double)max(job[k].tasks, 1);
    }
#if PHASES
    /* Threads share a task only if it takes long, because they have to wait for each other. */
    for (int64_t k = 0; k < jobs && jobs > 1; k++)
        if (job[k].this->together == 1 && job[k].effort * 16 * threads < all) job[k].alone = job[k].tasks;
#endif
    sort_jobs(job, jobs);
    struct work work = {.job = job, .jobs = jobs, .threads = threads, .workspace = workspace, .bytes = bytes};
    in_threads(&work, work_on);
    return 0;
}

/* Appends the tokens of all growths. In each round, threads share the work of a piece of each growth. */
static int grow(struct growth *growth, int64_t growths, struct job *job, const struct appending *x, size_t bytes)
{
    for (;;) {
        int64_t jobs = 0, pieces = 0;
        int error = 0;
        for (int64_t k = 0; k < growths && !error; k++) {
            if (growth[k].left == 0) continue;
            error = begin_piece(&growth[k], x);
            pieces++;
            if (x->asked) job[jobs++] = (struct job){.call = &growth[k].call, .this = &growth[k].this};
        }
        if (!error && jobs) error = run_jobs(job, jobs, x->threads, x->work, bytes);
        if (error || !pieces) return error;
        for (int64_t k = 0; k < growths; k++)
            if (growth[k].left > 0) end_piece(&growth[k], x);
    }
}

/* Returns whether the tokens of each sequence follow those of the previous one, and all are among the n_q rows. */
static int in_one_row(const struct attn_problem *p)
{
    int ordered = p->cu_seqlens[0] >= 0;
    for (int64_t b = 0; b < p->batch; b++) ordered &= p->cu_seqlens[b] <= p->cu_seqlens[b + 1];
    return ordered && p->cu_seqlens[max(p->batch, 0)] <= p->n_q;
}

int SPEC_extend(const struct attn_problem *problem, const struct SPEC_params *params, APPENDED_ARGUMENTS, void *state,
    void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
#if POSITIONS
    if (problem->query_start) return ATTN_EPROBLEM; /* the state knows the positions */
#endif
    struct attn_problem new_tokens = *problem;
    new_tokens.n_k = problem->n_q;
    if (problem->cu_seqlens && problem->batch > 1) new_tokens.batch = 1; /* all tokens are in one row of memory */
    struct call call = {.params = params, APPENDED_VALUES};
    struct places at;
    const struct version this = extend_version(problem);
    int error = CHECK_PROBLEM(&new_tokens, HEAD_DIM, VALUE_DIM, &call.p);
    if (!error) error = open_state(problem, &this, state, &at);
    if (error) return error;
    if (problem->cu_seqlens && (problem->lengths || !in_one_row(problem))) return ATTN_EPROBLEM;
    call.p.batch = problem->batch;
#if SHARES
    call.sharing = sharing_of(&call.p);
#endif
    struct appending x = {.extends = &this, .at = &at};
    int64_t tokens = 0;
#if IDS_OF_CAPACITY
    if (call.p.capacity < 0) return ATTN_EPROBLEM;
    if (!bytes_fit(bytes_times(bytes_times(sizeof(int32_t), call.p.batch), call.p.capacity))) return ATTN_ESIZE;
#endif
#if PARAMS
    if (PARAM_MISSING) return ATTN_EPARAM;
#endif
#if STRIDED
    const int wrong = set_strides(&call);
    if (wrong) return wrong;
#endif
#if ROWS_APART
    if (ROW_IS_APART) return ATTN_EPROBLEM; /* the elements of a stored row must be contiguous */
#endif
#if PAGED
    x.pages = problem->pages;
    if (x.pages) {
        if (!x.pages->base || !x.pages->table) return ATTN_EPOINTER;
        if ((uintptr_t)x.pages->base % 64 || x.pages->bytes % 64) return ATTN_EALIGN;
        if (x.pages->count < 0 || x.pages->row < 0 || x.pages->count > INT32_MAX ||
            x.pages->bytes < bytes_of_page(&call.p, NULL))
            return ATTN_EPAGES;
        if (!bytes_fit(bytes_times(x.pages->bytes, x.pages->count)) ||
            !bytes_fit(bytes_times(bytes_times(sizeof(int32_t), x.pages->row), call.p.batch)))
            return ATTN_ESIZE;
        x.page = rows_in_page(&call.p);
    }
#endif
    /* This limits the length of a sequence, so that the offset of each row of an array fits in int64_t. */
    const int64_t row_strides[GIVEN] = {KEPT_ROW_STRIDES};
    int64_t widest = max(HEAD_DIM, VALUE_DIM);
    for (int a = 0; a < GIVEN; a++) widest = max(widest, row_strides[a]);
    const int64_t most = INT64_MAX / 8 / widest;
    for (int64_t b = 0; b < call.p.batch; b++) {
        const int64_t n = new_tokens_of(problem, b), length = at.sequence[b].length;
        if (n < 0 || n > call.p.n_q) return ATTN_EPROBLEM;
        if (n > most - length) return ATTN_ESIZE;
#if MAX_LENGTH
        if (n > MAX_LENGTH - length) return ATTN_ECAPACITY;
#endif
#if BOUNDED
        if (n > call.p.capacity - length && (IDS_OF_CAPACITY || !problem->pages)) return ATTN_ECAPACITY;
#endif
#if IDS_IN_ORDER
        const int64_t last = max(length - 1, 0); /* The ids of earlier tokens have already been checked. */
        if (ids_fall(params->IDS_PARAM + b * call.p.capacity + last, 1, 0, length + n - last, 1)) return ATTN_EORDER;
#endif
        tokens += n > 0;
    }
    if (tokens == 0 || call.p.heads == 0) return 0;
#if CARRIED
    const int asked = 1;
#else
    const int asked = call.q || call.out; /* without queries, the call only stores keys and values */
#endif
    if ((asked && (ARRAY_OF_QUERIES_MISSING)) || ARRAY_OF_KEYS_MISSING || !workspace) return ATTN_EPOINTER;
    if (ARRAY_SHARED) return ATTN_EPOINTER;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    const size_t bytes = bytes_of_extending(problem), all = problem->workspace_bytes;
    size_t first = bytes_of_growths(problem);
    x.asked = asked;
#if PREFIX_SUMS && UNCOPIED
    x.sums = (unsigned char *)workspace + first;
    x.piece = piece_of_call(&call.p, &this);
    x.of_sums = bytes_of_sums(&call.p, &this, x.piece);
    first = bytes_plus(first, bytes_times(x.of_sums, call.p.batch));
#endif
#if ROUNDS_PREPARED
    x.prepared = (unsigned char *)workspace + first;
    first = bytes_plus(first, bytes_of_prepared(&call.p));
#endif
    if (!bytes_fit(first)) return ATTN_ESIZE;
    const size_t given = !all ? 0 : all > first ? all - first : 1;
    x.work = (unsigned char *)workspace + first;
    x.threads = thread_count(problem, given, bytes);
    if (given && given < bytes * (size_t)x.threads) return ATTN_EWORKSPACE;
    struct growth *const growth = (struct growth *)workspace;
    struct job *const job = (struct job *)(void *)(growth + call.p.batch);
#if PAGED
    if (x.pages) {
        unsigned char *const lists = (unsigned char *)workspace + bytes_of_growths(problem);
        error = check_pages(problem, &at,
            (int32_t *)(void *)(lists - whole_lines(bytes_times(2 * sizeof(int32_t), x.pages->count))));
        if (error) return error;
    }
#endif
    int64_t growths = 0;
    for (int64_t b = 0, end; b < call.p.batch; b = end) {
        const int64_t n = new_tokens_of(problem, b);
        end = b + 1;
#if !IDS_OF_CAPACITY
        while (end < call.p.batch && !problem->cu_seqlens && !problem->pages && new_tokens_of(problem, end) == n &&
            memcmp(&at.sequence[end], &at.sequence[b], sizeof *at.sequence) == 0)
            end++;
#endif
        if (n > 0) begin_growth(&growth[growths++], &call, &x, b, end - b, n);
    }
    error = grow(growth, growths, job, &x, bytes);
    at.header->check = check_of(&at);
    return error;
}
