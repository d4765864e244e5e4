/* The pages of a state. A page has the rows of all arrays, one array after the other: [heads, tokens, …]. */
#include "state.h"

/* ---- rows in pages ---- */

/* Returns the bytes of a page. Sets offset[a] to the offset of array a, if `offset` is not NULL. */
static size_t lay_out_page(const struct kernel *kernel, const struct attn_problem *p, size_t *offset)
{
    size_t bytes = 0;
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const size_t row = (size_t)kernel->kept_array[a].row_bytes;
        if (offset) offset[a] = bytes;
        bytes = bytes_plus(bytes, whole_lines(bytes_times(row, heads_with_rows_of(kernel, a, p) * p->pages->tokens)));
    }
    return bytes;
}

ATTN_API size_t attn_state_page_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    return lay_out_page(kernel, p, NULL);
}

ATTN_API size_t attn_call_page(const struct kernel *kernel, const struct attn_problem *problem)
{
    struct state_header header;
    const struct program *const program = attn_state_program(kernel, problem);
    if (!kernel->paged || !problem || !problem->pages || attn_state_describe(kernel, program, problem, &header))
        return 0;
    const size_t bytes = attn_state_page_bytes(kernel, problem);
    return bytes_fit(bytes) ? bytes : 0;
}

ATTN_API void attn_state_page_rows(const struct kernel *kernel, const struct attn_problem *p, struct rows *rows)
{
    size_t offset[MAX_KEPT];
    lay_out_page(kernel, p, offset);
    for (int a = 0; a < kernel->kept_arrays; a++) {
        const int64_t row = kernel->kept_array[a].row_bytes, head = p->pages->tokens * row,
                      heads = heads_with_rows_of(kernel, a, p);
        rows->of[a] = (struct row){
            (unsigned char *)p->pages->base + offset[a], {heads * head, head, row}, kernel->kept_array[a].element};
    }
}

ATTN_API void attn_state_rows_in_page(const struct kernel *kernel, const struct rows *first, int32_t page, size_t bytes,
                                      struct rows *rows)
{
    for (int a = 0; a < kernel->kept_arrays; a++) {
        rows->of[a] = first->of[a];
        rows->of[a].at += (size_t)page * bytes;
    }
}

ATTN_API int attn_state_fill_pages(struct growth *g, const struct appending *x)
{
    struct call *const call = &g->call;
    const int64_t tokens = x->pages->tokens;
    struct rows given, rows;
    call->pages = x->pages;
    call->page = x->pages->table + g->b * x->pages->row;
    for (int64_t done = 0, n; done < g->left; done += n) {
        const int64_t at = g->s.length + done, row = at % tokens;
        n = min(g->left - done, tokens - row);
        attn_state_from_row(x->kernel, g->given, done, &given);
        attn_state_rows_in_page(x->kernel, &x->page, call->page[at / tokens], x->pages->bytes, &rows);
        const int error = attn_state_store_rows(&rows, row, &given, call, at, n, x);
        if (error) return error;
    }
    attn_state_rows_in_page(x->kernel, &x->page, 0, 0, &rows);
    for (int a = 0; a < x->kernel->kept_arrays; a++)
        rows.of[a].strides.batch = 0; /* all sequences are in the same pages */
    attn_state_set_rows(call, &rows);
    return 0;
}

/* ---- checks ---- */

ATTN_API int attn_state_take_pages(struct appending *x, const struct attn_problem *p)
{
    const struct attn_pages *const g = p->pages;
    x->pages = g;
    if (!g) return 0;
    if (!g->base || !g->table) return ATTN_EPOINTER;
    if ((uintptr_t)g->base % 64 || g->bytes % 64) return ATTN_EALIGN;
    if (g->count < 0 || g->row < 0 || g->count > INT32_MAX || g->bytes < attn_state_page_bytes(x->kernel, p))
        return ATTN_EPAGES;
    if (!bytes_fit(bytes_times(g->bytes, g->count)) ||
        !bytes_fit(bytes_times(bytes_times(sizeof(int32_t), g->row), p->batch)))
        return ATTN_ESIZE;
    attn_state_page_rows(x->kernel, p, &x->page);
    return 0;
}

/* The memory of an array, up to `end`. */
struct span {
    uintptr_t first, end;
};

static int overlap(struct span a, struct span b)
{
    return a.first < b.end && b.first < a.end;
}

static struct span span_of(const void *memory, size_t bytes)
{
    const uintptr_t first = (uintptr_t)memory;
    return (struct span){first, memory ? first + bytes : first};
}

/* Returns whether this memory is apart from the pages of all sequences. If it is only read, it may overlap pages that
   are only read. */
static int is_apart(const struct appending *x, const struct attn_problem *p, struct span memory, int is_written)
{
    const struct attn_pages *const g = x->pages;
    if (!overlap(memory, span_of(g->base, (size_t)g->count * g->bytes))) return 1;
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t n = new_tokens_of(p, b), length = sequence_of(x->at, b).length;
        for (int64_t k = is_written || n == 0 ? 0 : length / g->tokens; k < min(pages_of(g, length + n), g->row); k++) {
            const int32_t page = g->table[b * g->row + k];
            if ((n == 0 && !is_written) || page < 0 || page >= g->count) continue;
            if (overlap(memory, span_of((const unsigned char *)g->base + (size_t)page * g->bytes, g->bytes))) return 0;
        }
    }
    return 1;
}

/* Returns the number of heads of an argument of extend, and sets the elements of its rows. */
static int64_t heads_of_argument(const struct kernel *kernel, const struct attn_problem *p, int array,
                                 int64_t *elements)
{
    const struct array *const a = &kernel->array[array];
    *elements = a->access[ENTRY_FORWARD] == ACCESS_READ ? kernel->head_dim : kernel->value_dim;
    if (a->rows == ROWS_OF_QUERIES)
        return a->access[ENTRY_FORWARD] == ACCESS_READ && p->key_heads ? p->key_heads : p->heads;
    for (int k = 0; k < kernel->kept_arrays; k++) {
        const struct kept_array *const kept = &kernel->kept_array[k];
        if (kept->array != array) continue;
        *elements = kept->rounded ? kept->rounded : kept->row_bytes / (int64_t)attn_dtype_size(a->dtype);
        return heads_with_rows_of(kernel, k, p);
    }
    return 0;
}

/* Returns whether pages are apart from the rows of an argument. Rows that the call does not use do not count. */
static int argument_is_apart(const struct appending *x, const struct attn_problem *p, int array)
{
    const struct array *const a = &x->kernel->array[array];
    const struct place *const place = &x->whole->array[array];
    const int64_t size = (int64_t)x->kernel->element;
    int64_t elements;
    const int64_t heads = heads_of_argument(x->kernel, p, array, &elements);
    int apart = 1;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t rows = new_tokens_of(p, b),
                          from = before_sequence(p, &place->strides, b) + h * place->strides.head;
            struct span span = {0, 0};
            if (place->at && rows > 0)
                span = span_of((const unsigned char *)place->at + from * size,
                               (size_t)(((rows - 1) * place->strides.row + elements) * size));
            apart &= is_apart(x, p, span, a->access[ENTRY_FORWARD] != ACCESS_READ);
        }
    return apart;
}

/* Returns whether pages are apart from the other memory of a call. */
static int pages_apart(const struct appending *x, const struct attn_problem *p, const void *workspace, size_t bytes)
{
    const struct attn_pages *const g = x->pages;
    int apart = is_apart(x, p, span_of(g->table, (size_t)(p->batch * g->row) * sizeof *g->table), 0) &&
                is_apart(x, p, span_of(x->at->header, (size_t)x->at->header->bytes), 1) &&
                is_apart(x, p, span_of(workspace, bytes), 1);
    for (int a = 0; a < x->kernel->arrays; a++)
        if (x->kernel->array[a].origin == FROM_ARGUMENT && x->kernel->array[a].access[ENTRY_FORWARD] != ACCESS_NONE)
            apart &= argument_is_apart(x, p, a);
    return apart;
}

/* Marks the pages that a sequence writes. Returns 0 or an error. */
static int mark_writer(const struct attn_problem *p, int64_t b, int64_t length, int32_t *writer)
{
    const struct attn_pages *const g = p->pages;
    const int64_t n = new_tokens_of(p, b);
    if (n > 0 && pages_of(g, length + n) > g->row) return ATTN_ECAPACITY;
    for (int64_t x = length / g->tokens; n > 0 && x < pages_of(g, length + n); x++) {
        const int32_t page = g->table[b * g->row + x];
        if (page < 0 || page >= g->count || writer[page]) return ATTN_EPAGES;
        writer[page] = (int32_t)b + 1;
    }
    return 0;
}

/* Marks the pages that a sequence has. Returns 0 or an error. */
static int mark_reader(const struct kernel *kernel, const struct attn_problem *p, int64_t b, int64_t length,
                       const int32_t *writer, int32_t *reader)
{
    const struct attn_pages *const g = p->pages;
    const int64_t n = new_tokens_of(p, b), end = pages_of(g, length + n);
    /* Queries read the keys before `first` and those from `last` on. */
    const int64_t first = kernel->by_capacity ? 0 : kernel->read_first,
                  last = kernel->by_capacity ? 0 : max(0, length - kernel->read_back - kernel->read_first);
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
    return 0;
}

ATTN_API int attn_state_check_pages(const struct appending *x, const struct attn_problem *p, int32_t *list,
                                    const void *workspace, size_t bytes)
{
    int32_t *const writer = list, *const reader = list + x->pages->count;
    int error = 0;
    if (!pages_apart(x, p, workspace, bytes)) return ATTN_EPOINTER;
    memset(list, 0, (size_t)x->pages->count * 2 * sizeof *list);
    for (int64_t b = 0; b < p->batch && !error; b++) error = mark_writer(p, b, sequence_of(x->at, b).length, writer);
    for (int64_t b = 0; b < p->batch && !error; b++)
        error = mark_reader(x->kernel, p, b, sequence_of(x->at, b).length, writer, reader);
    return error;
}

ATTN_API int attn_state_pages_valid(const struct attn_problem *p, const struct state *at, int64_t b, int64_t first,
                                    int64_t end, int64_t last)
{
    const struct attn_pages *const g = p->pages;
    int valid = g->base && g->table && pages_of(g, last) <= g->row && (uintptr_t)g->base % 64 == 0 &&
                g->bytes % 64 == 0 && g->bytes >= attn_state_page_bytes(at->kernel, p);
    for (int64_t x = first / g->tokens; valid && x * g->tokens < last; x++) {
        const int32_t page = g->table[b * g->row + x];
        int64_t times = 0;
        for (int64_t s = 0; s < p->batch && x * g->tokens < end; s++) {
            const int64_t pages = min(pages_of(g, sequence_of(at, s).length), g->row);
            for (int64_t y = 0; y < pages; y++) times += g->table[s * g->row + y] == page;
        }
        valid = page >= 0 && page < g->count && times < 2;
    }
    return valid;
}
