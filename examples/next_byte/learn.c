#include "learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, HEAD = 32, WIDTH = HEADS * HEAD, UNITS = 2 * WIDTH, SYMBOLS = 256, MOST_POSITIONS = 4096 };

/* The weights, each [rows, columns], one after the other in one array; their gradients and Adam's averages alike. */
enum weight { EMBED, QKV, OUT, UP, DOWN, READ, WEIGHTS };
static const int64_t rows_of[WEIGHTS] = {SYMBOLS, WIDTH, WIDTH, WIDTH, UNITS, WIDTH};
static const int64_t columns_of[WEIGHTS] = {WIDTH, 3 * WIDTH, WIDTH, UNITS, WIDTH, SYMBOLS};

struct model {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    void *params, *storage, *workspace, *backward_workspace;
    int64_t n, count; /* positions, numbers of all weights */
    int threads;
    float *weight, *gradient, *mean, *square;
    /* of a sequence, [n, …], and the gradients by them */
    float *x, *qkv, *attended, *h, *up, *y, *scores, *d_x, *d_qkv, *d_attended, *d_h, *d_up;
    float *turned; /* a weight, transposed */
};

static int64_t offset_of(enum weight w)
{
    int64_t at = 0;
    for (int k = 0; k < (int)w; k++) at += rows_of[k] * columns_of[k];
    return at;
}

/* ---- memory ---- */

static void release(struct model *m)
{
    void *all[] = {m->params,
                   m->storage,
                   m->workspace,
                   m->backward_workspace,
                   m->problem.saved,
                   m->weight,
                   m->gradient,
                   m->mean,
                   m->square,
                   m->x,
                   m->qkv,
                   m->attended,
                   m->h,
                   m->up,
                   m->y,
                   m->scores,
                   m->d_x,
                   m->d_qkv,
                   m->d_attended,
                   m->d_h,
                   m->d_up,
                   m->turned};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) attn_free(all[k]);
}

static bool numbers(float **array, int64_t count)
{
    *array = attn_alloc(sizeof **array * (size_t)count);
    return *array != NULL;
}

/* q, k and v lie side by side in a row of `qkv`. */
static struct attn_strides side_by_side(void)
{
    return (struct attn_strides){.batch = 0, .head = HEAD, .row = 3 * WIDTH};
}

static int open_model(struct model *m, uint64_t seed)
{
    const struct attn_strides beside = side_by_side(), rows = {.batch = 0, .head = HEAD, .row = WIDTH};
    struct attn_problem *p = &m->problem;
    const int64_t n = m->n;
    *p = (struct attn_problem){.batch = 1,
                               .heads = HEADS,
                               .kv_heads = HEADS,
                               .n_q = n,
                               .n_k = n,
                               .q = beside,
                               .k = beside,
                               .v = beside,
                               .out = rows,
                               .dout = rows,
                               .dq = beside,
                               .dk = beside,
                               .dv = beside,
                               .threads = m->threads};
    m->count = offset_of(WEIGHTS);
    m->workspace = attn_alloc(m->kernel->workspace(p));
    m->backward_workspace = attn_alloc(m->kernel->backward_workspace(p));
    p->saved = attn_alloc(m->kernel->saved(p));
    if (!m->workspace || !m->backward_workspace || !p->saved) return ATTN_EMEMORY;
    if (m->kernel->params) {
        m->params = attn_alloc(m->kernel->params_bytes);
        m->storage = attn_alloc(m->kernel->params_size());
        if (!m->params || !m->storage) return ATTN_EMEMORY;
        int error = m->kernel->params_init(m->params, seed, m->storage);
        if (error) return error;
    }
    if (!numbers(&m->weight, m->count) || !numbers(&m->gradient, m->count) || !numbers(&m->mean, m->count) ||
        !numbers(&m->square, m->count) || !numbers(&m->x, n * WIDTH) || !numbers(&m->qkv, 3 * n * WIDTH) ||
        !numbers(&m->attended, n * WIDTH) || !numbers(&m->h, n * WIDTH) || !numbers(&m->up, n * UNITS) ||
        !numbers(&m->y, n * WIDTH) || !numbers(&m->scores, n * SYMBOLS) || !numbers(&m->d_x, n * WIDTH) ||
        !numbers(&m->d_qkv, 3 * n * WIDTH) || !numbers(&m->d_attended, n * WIDTH) || !numbers(&m->d_h, n * WIDTH) ||
        !numbers(&m->d_up, n * UNITS) || !numbers(&m->turned, (int64_t)WIDTH * SYMBOLS))
        return ATTN_EMEMORY;
    attn_normal_f32(seed, attn_stream("weights"), 0, m->count, m->weight);
    for (int w = 0; w < WEIGHTS; w++) {
        float scale = w == EMBED ? 0.5f : (w == READ ? 0.3f : 1.0f) / sqrtf((float)rows_of[w]);
        for (int64_t k = 0; k < rows_of[w] * columns_of[w]; k++) m->weight[offset_of((enum weight)w) + k] *= scale;
    }
    return 0;
}

/* ---- forward and backward ---- */

/* d_in = or += d_out times the transposed weight, and the weight's gradient. */
static void back(struct model *m, enum weight w, const float *in, const float *d_out, float *d_in, bool adds)
{
    const int64_t k = rows_of[w], c = columns_of[w];
    dense_weight_gradient(m->gradient + offset_of(w), in, d_out, m->n, k, c, m->threads);
    dense_transpose(m->turned, m->weight + offset_of(w), k, c);
    dense_product(d_in, d_out, m->turned, m->n, c, k, adds, m->threads);
}

static void multiply(struct model *m, enum weight w, const float *in, float *out, bool adds)
{
    dense_product(out, in, m->weight + offset_of(w), m->n, rows_of[w], columns_of[w], adds, m->threads);
}

/* Scores of the next byte at every position of `byte`. */
static int forward(struct model *m, const unsigned char *byte)
{
    const size_t row = sizeof(float) * WIDTH;
    const float *embed = m->weight + offset_of(EMBED);
    for (int64_t i = 0; i < m->n; i++) memcpy(m->x + i * WIDTH, embed + byte[i] * WIDTH, row);
    multiply(m, QKV, m->x, m->qkv, false);
    int error = m->kernel->forward(&m->problem, m->params, m->qkv, m->qkv + WIDTH, m->qkv + 2 * WIDTH, m->attended,
                                   m->workspace);
    if (error) return error;
    memcpy(m->h, m->x, row * (size_t)m->n);
    multiply(m, OUT, m->attended, m->h, true);
    multiply(m, UP, m->h, m->up, false);
    for (int64_t k = 0; k < m->n * UNITS; k++) m->up[k] = fmaxf(m->up[k], 0);
    memcpy(m->y, m->h, row * (size_t)m->n);
    multiply(m, DOWN, m->up, m->y, true);
    multiply(m, READ, m->y, m->scores, false);
    return 0;
}

/* The mean loss in bits, and in `scores` the gradient of the loss in nats by them. */
static double judge(struct model *m, const unsigned char *byte)
{
    double *loss = (double *)(void *)m->d_up; /* not used now */
#ifdef _OPENMP
#pragma omp parallel for num_threads(m->threads) schedule(static)
#endif
    for (int64_t i = 0; i < m->n; i++) {
        float *s = m->scores + i * SYMBOLS, top = s[0], sum = 0;
        for (int c = 1; c < SYMBOLS; c++) top = fmaxf(top, s[c]);
        float wanted = s[byte[i + 1]] - top;
        for (int c = 0; c < SYMBOLS; c++) sum += s[c] = expf(s[c] - top);
        loss[i] = (double)logf(sum) - (double)wanted;
        for (int c = 0; c < SYMBOLS; c++) s[c] /= sum * (float)m->n;
        s[byte[i + 1]] -= 1 / (float)m->n;
    }
    double total = 0;
    for (int64_t i = 0; i < m->n; i++) total += loss[i];
    return total / (double)m->n / log(2);
}

static int backward(struct model *m, const unsigned char *byte)
{
    back(m, READ, m->y, m->scores, m->d_h, false); /* y is h and more: so far the gradient by both */
    back(m, DOWN, m->up, m->d_h, m->d_up, false);
    for (int64_t k = 0; k < m->n * UNITS; k++) m->d_up[k] = m->up[k] > 0 ? m->d_up[k] : 0;
    back(m, UP, m->h, m->d_up, m->d_h, true);
    memcpy(m->d_x, m->d_h, sizeof(float) * WIDTH * (size_t)m->n);
    back(m, OUT, m->attended, m->d_h, m->d_attended, false);
    int error = m->kernel->backward(&m->problem, m->params, m->qkv, m->qkv + WIDTH, m->qkv + 2 * WIDTH, m->attended,
                                    m->d_attended, m->d_qkv, m->d_qkv + WIDTH, m->d_qkv + 2 * WIDTH, NULL,
                                    m->backward_workspace);
    if (error) return error;
    back(m, QKV, m->x, m->d_qkv, m->d_x, true);
    float *embed = m->gradient + offset_of(EMBED);
    memset(embed, 0, sizeof(float) * SYMBOLS * WIDTH);
    for (int64_t i = 0; i < m->n; i++)
        for (int d = 0; d < WIDTH; d++) embed[byte[i] * WIDTH + d] += m->d_x[i * WIDTH + d];
    return 0;
}

static void adam(struct model *m, int64_t step, double rate)
{
    const float keep = 0.9f, keep_square = 0.99f;
    const double at = (double)step;
    const float size = (float)(rate / (1 - pow(0.9, at))), even = (float)(1 / (1 - pow(0.99, at)));
    for (int64_t k = 0; k < m->count; k++) {
        float g = m->gradient[k];
        m->mean[k] = keep * m->mean[k] + (1 - keep) * g;
        m->square[k] = keep_square * m->square[k] + (1 - keep_square) * g * g;
        m->weight[k] -= size * m->mean[k] / (sqrtf(m->square[k] * even) + 1e-8f);
    }
}

/* ---- a text ---- */

/* The n bytes from the last quarter on: what is foreseen of them. */
static int evaluate(struct model *m, const struct text_vectors *t, int which, struct learned *result)
{
    const int64_t begin = t->length - t->length / 4 - 1;
    int error = forward(m, t->byte + begin);
    if (error) return error;
    int64_t right = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const float *s = m->scores + i * SYMBOLS;
        int best = 0;
        for (int c = 1; c < SYMBOLS; c++) best = s[c] > s[best] ? c : best;
        result->guess[which][begin + i + 1] = (unsigned char)best;
        right += best == t->byte[begin + i + 1];
    }
    result->accuracy[which] = (double)right / (double)m->n;
    result->bits[which] = judge(m, t->byte + begin);
    return 0;
}

int learn(const struct attn_kernel *kernel, const struct text_vectors *t, struct learn_limit limit, int threads,
          uint64_t seed, learn_progress *progress, struct learned *result)
{
    struct model m = {.kernel = kernel, .threads = threads, .n = t->length / 4 - 1};
    if (m.n > MOST_POSITIONS) m.n = MOST_POSITIONS;
    int error = open_model(&m, seed);
    if (!error) error = evaluate(&m, t, 0, result);
    const int64_t places = t->length - t->length / 4 - m.n; /* where a sequence of n + 1 bytes can begin */
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    double begun = attn_seconds(), done = 0;
    for (int64_t step = 1; !error && done < 1; step++) {
        uint32_t draw[4];
        attn_philox((const uint32_t[4]){(uint32_t)step}, key, draw);
        const unsigned char *byte = t->byte + draw[0] % places;
        if ((error = forward(&m, byte))) break;
        double bits = judge(&m, byte);
        if ((error = backward(&m, byte))) break;
        adam(&m, step, 4e-3 * (1 - 0.9 * done));
        result->steps = step;
        result->seconds = attn_seconds() - begun;
        done = limit.steps ? (double)step / (double)limit.steps : result->seconds / limit.seconds;
        progress(step, result->seconds, bits);
    }
    if (!error) error = evaluate(&m, t, 1, result);
    release(&m);
    return error;
}
