/* Trains the model with Adam. Each step uses a random piece of the text. Attention calls the kernel. */
#include "model.h"

#include <math.h>
#include <string.h>

enum { MOST_POSITIONS = 4096 };

struct training {
    struct model *m;
    struct attn_problem problem;
    void *workspace, *backward_workspace;
    int64_t n, count; /* `n` is the number of positions in a piece of the text. `count` is the number of weights. */
    int threads;
    struct layers layers;
    struct window *window;
    float *gradient, *mean, *square;              /* for each weight, its gradient and Adam's averages */
    float *d_x, *d_qkv, *d_attended, *d_h, *d_up; /* gradients with respect to the activations */
    float *turned;                                /* one weight matrix, transposed */
};

/* ---- memory ---- */

static void release(struct training *t)
{
    void *const all[] = {
        t->workspace, t->backward_workspace, t->problem.saved, t->gradient, t->mean,   t->square, t->d_x,
        t->d_qkv,     t->d_attended,         t->d_h,           t->d_up,     t->turned, t->window};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) attn_free(all[k]);
    layers_close(&t->layers);
}

static bool numbers(float **array, int64_t count)
{
    *array = attn_alloc(sizeof **array * (size_t)count);
    return *array != NULL;
}

static int prepare(struct training *t)
{
    const struct attn_kernel *kernel = t->m->kernel;
    const int64_t n = t->n, width = MODEL_WIDTH;
    const struct attn_strides beside = model_side_by_side(n), rows = model_attended(n);
    struct attn_problem *p = &t->problem;
    *p = (struct attn_problem){.batch = 1,
                               .heads = MODEL_HEADS,
                               .kv_heads = MODEL_HEADS,
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
                               .threads = t->threads};
    t->count = model_offset(MODEL_WEIGHTS);
    t->workspace = attn_alloc(kernel->workspace(p));
    t->backward_workspace = attn_alloc(kernel->backward_workspace(p));
    p->saved = attn_alloc(kernel->saved(p));
    t->window = attn_alloc(sizeof *t->window * (size_t)n);
    if (!t->workspace || !t->backward_workspace || !p->saved || !t->window ||
        !layers_open(&t->layers, n, n, t->threads) || !numbers(&t->gradient, t->count) ||
        !numbers(&t->mean, t->count) || !numbers(&t->square, t->count) || !numbers(&t->d_x, n * width) ||
        !numbers(&t->d_qkv, 3 * n * width) || !numbers(&t->d_attended, n * width) || !numbers(&t->d_h, n * width) ||
        !numbers(&t->d_up, n * MODEL_UNITS) || !numbers(&t->turned, width * MODEL_SYMBOLS))
        return ATTN_EMEMORY;
    return 0;
}

/* ---- forward and backward ---- */

/* Backward of out = in * weight. Computes the gradient with respect to the weight, and d_in = d_out * transposed
 * weight. If `adds`, the product is added to d_in. */
static void back(struct training *t, enum model_weight w, const float *in, const float *d_out, float *d_in, bool adds)
{
    const int64_t k = model_rows(w), c = model_columns(w);
    dense_weight_gradient(t->gradient + model_offset(w), in, d_out, t->n, k, c, t->threads);
    dense_transpose(t->turned, t->m->weight + model_offset(w), k, c);
    dense_product(d_in, d_out, t->turned, t->n, c, k, adds, t->threads);
}

/* Computes the scores of the next byte at each position. Returns 0 or an attn_error. */
static int forward(struct training *t, const unsigned char *byte)
{
    struct layers *l = &t->layers;
    windows_of(t->window, byte, t->n, (struct window){0});
    layers_before(t->m, l, t->window, t->n);
    int error = t->m->kernel->forward(&t->problem, t->m->params, l->qkv, l->qkv + MODEL_WIDTH, l->qkv + 2 * MODEL_WIDTH,
                                      l->attended, t->workspace);
    if (!error) layers_after(t->m, l, t->n, t->n);
    return error;
}

/* Returns the mean loss in bits. Overwrites `scores` with the gradient of the loss in nats with respect to the
 * scores. */
static double judge(struct training *t, const unsigned char *byte)
{
    double *loss = (double *)(void *)t->d_up; /* d_up is unused now */
#ifdef _OPENMP
#pragma omp parallel for num_threads(t->threads) schedule(static)
#endif
    for (int64_t i = 0; i < t->n; i++) {
        float *s = t->layers.scores + i * MODEL_SYMBOLS, top = s[0], sum = 0;
        for (int c = 1; c < MODEL_SYMBOLS; c++) top = fmaxf(top, s[c]);
        float wanted = s[byte[i + 1]] - top;
        for (int c = 0; c < MODEL_SYMBOLS; c++) sum += s[c] = expf(s[c] - top);
        loss[i] = (double)logf(sum) - (double)wanted;
        for (int c = 0; c < MODEL_SYMBOLS; c++) s[c] /= sum * (float)t->n;
        s[byte[i + 1]] -= 1 / (float)t->n;
    }
    double total = 0;
    for (int64_t i = 0; i < t->n; i++) total += loss[i];
    return total / (double)t->n / log(2);
}

static int backward(struct training *t)
{
    const struct layers *l = &t->layers;
    const int64_t width = MODEL_WIDTH;
    back(t, MODEL_READ, l->y, l->scores, t->d_h, false); /* y = h + f(h). Here d_h gets the gradient with respect to
                                                          * y. The part through f is added below. */
    back(t, MODEL_DOWN, l->up, t->d_h, t->d_up, false);
    for (int64_t k = 0; k < t->n * MODEL_UNITS; k++) t->d_up[k] = l->up[k] > 0 ? t->d_up[k] : 0;
    back(t, MODEL_UP, l->h, t->d_up, t->d_h, true);
    memcpy(t->d_x, t->d_h, sizeof(float) * (size_t)(width * t->n));
    back(t, MODEL_OUT, l->attended, t->d_h, t->d_attended, false);
    int error = t->m->kernel->backward(&t->problem, t->m->params, l->qkv, l->qkv + width, l->qkv + 2 * width,
                                       l->attended, t->d_attended, t->d_qkv, t->d_qkv + width, t->d_qkv + 2 * width,
                                       NULL, t->backward_workspace);
    if (error) return error;
    back(t, MODEL_QKV, l->x, t->d_qkv, t->d_x, true);
    float *embed = t->gradient + model_offset(MODEL_EMBED);
    memset(embed, 0, sizeof(float) * (size_t)(model_rows(MODEL_EMBED) * width));
    for (int64_t i = 0; i < t->n; i++)
        for (int b = 0; b < MODEL_BYTES; b++) {
            float *row = embed + (b * MODEL_SYMBOLS + t->window[i].byte[b]) * width;
            for (int64_t d = 0; d < width; d++) row[d] += t->d_x[i * width + d];
        }
    return 0;
}

static void adam(struct training *t, int64_t step, double rate)
{
    const float keep = 0.9f, keep_square = 0.99f;
    const double at = (double)step;
    const float size = (float)(rate / (1 - pow(0.9, at))), even = (float)(1 / (1 - pow(0.99, at)));
    for (int64_t k = 0; k < t->count; k++) {
        float g = t->gradient[k];
        t->mean[k] = keep * t->mean[k] + (1 - keep) * g;
        t->square[k] = keep_square * t->square[k] + (1 - keep_square) * g * g;
        t->m->weight[k] -= size * t->mean[k] / (sqrtf(t->square[k] * even) + 1e-8f);
    }
}

/* ---- training and prediction of a text ---- */

/* Predicts the first n bytes of the last quarter of the text. Sets element `which` of the arrays in *result.
 * `which` is 0 before training and 1 after it. */
static int evaluate(struct training *t, const unsigned char *byte, int64_t length, int which, struct learned *result)
{
    const int64_t begin = length - length / 4 - 1;
    int error = forward(t, byte + begin);
    if (error) return error;
    int64_t right = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const float *s = t->layers.scores + i * MODEL_SYMBOLS;
        int best = 0;
        for (int c = 1; c < MODEL_SYMBOLS; c++) best = s[c] > s[best] ? c : best;
        if (result->guess[which]) result->guess[which][begin + i + 1] = (unsigned char)best;
        right += best == byte[begin + i + 1];
    }
    result->accuracy[which] = (double)right / (double)t->n;
    result->bits[which] = judge(t, byte + begin);
    return 0;
}

int learn(struct model *m, const unsigned char *byte, int64_t length, struct learn_limit limit, int threads,
          learn_progress *progress, struct learned *result)
{
    struct training t = {.m = m, .threads = threads, .n = length / 4 - 1};
    if (t.n > MOST_POSITIONS) t.n = MOST_POSITIONS;
    int error = prepare(&t);
    if (!error) error = evaluate(&t, byte, length, 0, result);
    const int64_t places = length - length / 4 - t.n; /* a sequence of n + 1 bytes can start at this number of
                                                         positions */
    const uint32_t key[2] = {(uint32_t)m->seed, (uint32_t)(m->seed >> 32)};
    double begun = attn_seconds(), done = 0;
    for (int64_t step = 1; !error && done < 1; step++) {
        uint32_t draw[4];
        attn_philox((const uint32_t[4]){(uint32_t)step}, key, draw);
        const unsigned char *from = byte + draw[0] % places;
        if ((error = forward(&t, from))) break;
        double bits = judge(&t, from);
        if ((error = backward(&t))) break;
        adam(&t, step, 4e-3 * (1 - 0.9 * done));
        result->steps = step;
        result->seconds = attn_seconds() - begun;
        done = limit.steps ? (double)step / (double)limit.steps : result->seconds / limit.seconds;
        progress(step, result->seconds, bits);
    }
    if (!error) error = evaluate(&t, byte, length, 1, result);
    release(&t);
    return error;
}
