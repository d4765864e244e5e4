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
#if SOLVES
    int64_t solved;        /* the state has the solution for the keys from `summed` to this position */
#endif
};
#if PREFIX_SUMS
/* The arrays with rows in a state: keys, values, parameters with a row per key, and prefix sums of a decay. GIVEN
   also counts parameters that only prefix sums need. */
enum { ROW_ARRAYS = KEPT_ARRAYS, GIVEN = GIVEN_ARRAYS, SUMS = ROW_ARRAYS - SUM_ARRAYS };
#else
/* The number of arrays whose rows a state stores: keys, values, and parameters that have a row for each key. */
enum { ROW_ARRAYS = KEPT_ARRAYS, GIVEN = ROW_ARRAYS, SUMS = ROW_ARRAYS };
#endif
enum { COPIED = SUMS - APPENDS }; /* The rows of these arrays are rows of the caller. Corrected values follow them. */
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

/* The bytes of an element of each array whose rows of the caller may have a stride. */
#if ROWS_APART
static const int64_t element_bytes_of[GIVEN] = {KEPT_ELEMENT_BYTES};
#endif

/* The addresses of row 0 of each array, and the strides of the arrays in bytes. */
struct rows {
    unsigned char *at[GIVEN];
    struct attn_strides strides[GIVEN];
#if ROWS_APART
    int64_t apart[GIVEN]; /* the distance between the elements of a row, for arrays with element_bytes_of */
#endif
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
#if APPENDS
    call->corrected = (REAL *)(void *)rows->at[COPIED];
    call->corrected_at = in_elements(rows->strides[COPIED], sizeof(REAL));
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
    struct rows made = {.at = {NULL}};
#if ROWS_APART
    memcpy(made.apart, element_bytes_of, sizeof made.apart);
#endif
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t row = row_bytes_of[a], head = (rows_before(a) + h->rows) * row,
            sequence = heads_with_rows(a, h->heads, h->kv_heads, h->key_heads) * head;
        made.at[a] = at->rows[a] + b * sequence + rows_before(a) * row;
        made.strides[a] = (struct attn_strides){sequence, head, row};
    }
    return made;
}

#if IDS_IN_ORDER
/* Returns the id of a sequence's last token. The sequence has one. */
static int32_t last_id(const struct places *at, int64_t b)
{
    const struct rows rows = rows_in(at, b);
    const struct sequence *const s = &at->sequence[b];
    return *(const int32_t *)(const void *)(rows.at[IDS_ARRAY] + (s->length - 1 - s->first) * rows.strides[IDS_ARRAY].row);
}

#endif
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
    struct rows made = {.at = {NULL}};
#if ROWS_APART
    memcpy(made.apart, element_bytes_of, sizeof made.apart);
#endif
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
            s.first > first_needed(&s, 0) || s.length < s.summed || s.draft < s.start || s.draft > s.length ||
            s.min_length < s.start || s.min_length > s.length || (!expected.page && s.length - s.first > expected.rows))
            return ATTN_ESTATE;
#if SOLVES
        if (s.solved < s.summed || s.solved > s.length) return ATTN_ESTATE;
#endif
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
    (void)problem;
    return 0;
#endif
}

#if CHUNK_SUMS
/* Returns the most chunks of a head that a call completes. The first chunk may contain earlier tokens. */
static int64_t chunks_of_call(const struct attn_problem *p, const struct version *this)
{
    return p->n_q / this->chunk + 1;
}

static size_t chunk_sums(const struct attn_problem *problem)
{
    const struct version this = extend_version(problem);
    if (!problem || problem->n_q < 0 || problem->batch < 0 || problem->heads < 0 || problem->kv_heads < 0) return 0;
    const size_t head = bytes_times(this.slot, chunks_of_call(problem, &this)),
        bytes = bytes_times(bytes_times(head, this.tile == 0 ? problem->kv_heads : problem->heads), problem->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

#endif
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
#if SOLVES
        at.sequence[b] = (struct sequence){start, start, start, start, start, start, start, start};
#else
        at.sequence[b] = (struct sequence){start, start, start, start, start, start, start};
#endif
#if PREFIX_SUMS
    for (int64_t b = 0; b < problem->batch; b++) begin_sums(&at, b);
#endif
    at.header->check = check_of(&at);
    return 0;
}

