/* Loops over prefix sums of type REAL. sums.c includes this file for float and for double; R(name) is a function's
   name. Each sum has a low part, which has its rounding error. */

/* Replaces the first n terms of `width` sums by prefix sums. Rows of terms are `row` numbers apart. */
APART void R(add_rows)(REAL *restrict sum, REAL *restrict sum_low, int64_t n, int64_t row, const int64_t width)
{
    double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
    for (int64_t t = 0; t < n; t++, sum += row, sum_low += row)
        for (int64_t x = 0; x < width; x++)
            if (sizeof(REAL) == 8) {
                add_to_sum(&high[x], &low[x], (double)sum[x]);
                sum[x] = (REAL)high[x];
                sum_low[x] = (REAL)low[x];
            } else { /* `high` has more digits than the two numbers that are stored */
                high[x] += (double)sum[x];
                sum[x] = (REAL)high[x];
                sum_low[x] = (REAL)(high[x] - (double)sum[x]);
            }
}

/* Replaces a head's terms by prefix sums. Copies the sums at the positions of queries into the arrays for queries, if
   there are such arrays. */
static void R(add_terms)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k, row = kernel->prefix_row,
                  rows = attn_call_rows_of_sums(kernel, &call->p);
    REAL *const sum = (REAL *)at_of(call, PREFIX_OF_KEY) + task * rows * row, *const sum_low = (REAL *)at_of(
                                                                                                   call,
                                                                                                   PREFIX_OF_KEY_LOW) +
                                                                                               task * rows * row;
    (void)work;
    for (int64_t x = -row; x < 0 && kernel->outer; x++) sum[x] = sum_low[x] = 0;
    for (int64_t x = 0; x < row; x += SUMS_ABREAST)
        R(add_rows)(sum + x, sum_low + x, n_k, row, min(row - x, SUMS_ABREAST));
    if (queries_at_keys(kernel, &call->p)) return;
    REAL *const of_query = (REAL *)at_of(call, PREFIX_OF_QUERY) + task * n_q * row,
                *const of_query_low = (REAL *)at_of(call, PREFIX_OF_QUERY_LOW) + task * n_q * row;
    if (kernel->decay_parts && call->p.query_decay) {
        const double *const given = call->p.query_decay + task * n_q * row;
        for (int64_t x = 0; x < n_q * row; x++) {
            of_query[x] = (REAL)given[x];
            of_query_low[x] = (REAL)(given[x] - (double)of_query[x]);
        }
        return;
    }
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    for (int64_t i = 0; i < n_q; i++) {
        const int64_t at = i * row, from = min(first + i, n_k - 1) * row;
        for (int64_t x = 0; x < row && from < 0; x++) of_query[at + x] = of_query_low[at + x] = 0;
        for (int64_t x = 0; x < row && from >= 0; x++) {
            of_query[at + x] = sum[from + x];
            of_query_low[at + x] = sum_low[from + x];
        }
    }
}

/* Replaces the terms of new tokens by prefix sums, in one head. Each prefix sum continues from the previous one. So
   the sums do not depend on how tokens are divided into calls. */
static void R(continue_sums)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_strides *const s = &call->array[call->kernel->prefix[PREFIX_OF_KEY]].strides;
    const int64_t first = task / call->p.heads * s->batch + task % call->p.heads * s->head,
                  row = call->kernel->prefix_row;
    REAL *const sum = (REAL *)at_of(call, PREFIX_OF_KEY) + first, *const low = (REAL *)at_of(call, PREFIX_OF_KEY_LOW) +
                                                                               first;
    (void)work;
    for (int64_t at = 0; at < call->p.n_q * row; at++) {
        double high = (double)sum[at - row], rest = (double)low[at - row];
        add_to_sum(&high, &rest, (double)sum[at]);
        sum[at] = (REAL)(high + rest);
        low[at] = (REAL)(high - (double)sum[at] + rest);
    }
}

/* Adds x to a sum and its low part. */
INLINE void R(add)(REAL *sum, REAL *low, double x, double low_x)
{
    double high = (double)*sum, rest = (double)*low + low_x;
    add_to_sum(&high, &rest, x);
    *sum = (REAL)(high + rest);
    *low = (REAL)(high - (double)*sum + rest);
}

static void R(begin_sums_again)(const struct kernel *kernel, const struct sum_rows *rows, int64_t sequences, int64_t n)
{
    const struct attn_strides *const s = rows->strides;
    const int64_t row = kernel->prefix_row;
    for (int64_t x = 0; x < sequences; x++)
        for (int64_t g = 0; g < s->batch; g += s->head) {
            REAL *const sum = (REAL *)(void *)(rows->sum + x * s->batch + g),
                        *const low = (REAL *)(void *)(rows->low + x * s->batch + g);
            for (int64_t e = 0; e < row; e++) {
                const int64_t last = (n - 1) * row + e;
                const double sum_of_last = (double)sum[last], low_of_last = (double)low[last];
                if (kernel->folds) R(add)(&sum[e - 2 * row], &low[e - 2 * row], sum_of_last, low_of_last);
                for (int64_t at = e - row; at <= last; at += row)
                    R(add)(&sum[at], &low[at], -sum_of_last, -low_of_last);
            }
        }
}

static void R(add_sums)(const struct kernel *kernel, const struct sum_rows *to, int64_t first, int64_t n,
                        const struct sum_rows *from, int64_t row)
{
    const struct attn_strides *const s = to->strides;
    const int64_t width = kernel->prefix_row;
    for (int64_t g = 0; g < s->batch; g += s->head) {
        REAL *const sum = (REAL *)(void *)(to->sum + g), *const low = (REAL *)(void *)(to->low + g);
        const REAL *const added = (const REAL *)(const void *)(from->sum + g + row * s->row),
                          *const low_added = (const REAL *)(const void *)(from->low + g + row * s->row);
        for (int64_t at = first * width, x = 0; at < (first + n) * width; at++, x++)
            R(add)(&sum[at], &low[at], (double)added[x % width], (double)low_added[x % width]);
    }
}

/* Adds `width` gradients of a row to their sums. */
APART void R(add_row)(double *high, double *low, const REAL *from, int64_t width)
{
    for (int64_t x = 0; x < width; x++)
        if (sizeof(REAL) == 8)
            add_to_sum(&high[x], &low[x], (double)from[x]);
        else /* `high` has more digits than the gradients */
            high[x] += (double)from[x];
}

/* Replaces the gradients of a head's prefix sums by the gradients of the terms. The gradient of a term is the sum of
   the gradients from its position to the last. */
static void R(add_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k, row = kernel->prefix_row;
    REAL *const sum = (REAL *)at_of(call, PREFIX_GRADIENT) + task * attn_call_rows_of_sums(kernel, &call->p) * row;
    const REAL *const of_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * n_q * row;
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    (void)work;
    for (int64_t begun = 0; begun < row; begun += SUMS_ABREAST) {
        double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
        const int64_t width = min(row - begun, SUMS_ABREAST);
        for (int64_t x = 0; x < width && kernel->outer && call->p.earlier_sums; x++)
            high[x] = call->p.term_gradients[task * row + begun + x];
        int64_t i = n_q - 1; /* the last query whose gradient is not added yet */
        for (int64_t t = n_k - 1; t >= 0; t--) {
            REAL *const to = sum + t * row + begun;
            for (; i >= 0 && first + i >= t; i--) R(add_row)(high, low, of_query + i * row + begun, width);
            R(add_row)(high, low, to, width);
            for (int64_t x = 0; x < width; x++) to[x] = (REAL)(high[x] + low[x]);
        }
    }
}

/* Sums the gradients of a head's prefix sums. They belong to the terms of the tokens before this call. */
static void R(total_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n = call->p.n_k, row = kernel->prefix_row;
    const REAL *const of_key = (const REAL *)at_of(call, PREFIX_GRADIENT) +
                               task * attn_call_rows_of_sums(kernel, &call->p) * row,
                      *const of_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * n * row;
    (void)work;
    for (int64_t begun = 0; begun < row; begun += SUMS_ABREAST) {
        double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
        const int64_t width = min(row - begun, SUMS_ABREAST);
        for (int64_t t = n - 1; t >= 0; t--) {
            R(add_row)(high, low, of_query + t * row + begun, width);
            R(add_row)(high, low, of_key + t * row + begun, width);
        }
        for (int64_t x = 0; x < width; x++) call->p.term_gradients[task * row + begun + x] = high[x] + low[x];
    }
}

/* Writes the gradients of a head's prefix sums at queries and at keys. */
static void R(write_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t row = call->kernel->prefix_row, of_queries = call->p.n_q * row, of_keys = call->p.n_k * row;
    double *const query = call->p.query_decay_gradients + task * of_queries, *const key = call->p.key_decay_gradients +
                                                                                          task * of_keys;
    const REAL *const from_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * of_queries,
                      *const from_key = (const REAL *)at_of(call, PREFIX_GRADIENT) + task * of_keys;
    (void)work;
    for (int64_t x = 0; x < of_queries; x++) query[x] = (double)from_query[x];
    for (int64_t x = 0; x < of_keys; x++) key[x] = (double)from_key[x];
}

/* Takes the gradients of a head's terms from the caller. */
static void R(take_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t of_keys = call->p.n_k * call->kernel->prefix_row;
    REAL *const to = (REAL *)at_of(call, PREFIX_GRADIENT);
    (void)work;
    for (int64_t x = task * of_keys; x < (task + 1) * of_keys; x++) to[x] = (REAL)call->p.key_decay_gradients[x];
}

/* Writes the prefix sums of all heads as doubles. */
static void R(write_sums)(const struct call *call, double *to)
{
    const REAL *const sum = (const REAL *)at_of(call, PREFIX_OF_KEY), *const low = (const REAL *)at_of(
                                                                          call, PREFIX_OF_KEY_LOW);
    const int64_t n = call->p.batch * call->p.heads * call->p.n_k * call->kernel->prefix_row;
    for (int64_t x = 0; x < n; x++) to[x] = (double)sum[x] + (double)low[x];
}
