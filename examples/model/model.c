/* Computes the layers of the model. Matrix products are in dense.c, and attention is a kernel. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = MODEL_WIDTH };

int64_t model_rows(enum model_weight w)
{
    static const int64_t rows[MODEL_WEIGHTS] = {MODEL_BYTES * MODEL_SYMBOLS, WIDTH, WIDTH, WIDTH, MODEL_UNITS, WIDTH};
    return rows[w];
}

int64_t model_columns(enum model_weight w)
{
    static const int64_t columns[MODEL_WEIGHTS] = {WIDTH, 3 * WIDTH, WIDTH, MODEL_UNITS, WIDTH, MODEL_SYMBOLS};
    return columns[w];
}

int64_t model_offset(enum model_weight w)
{
    int64_t at = 0;
    for (enum model_weight k = 0; k < w; k++) at += model_rows(k) * model_columns(k);
    return at;
}

struct window window_after(struct window before, unsigned char byte)
{
    memmove(before.byte + 1, before.byte, MODEL_BYTES - 1);
    before.byte[0] = byte;
    return before;
}

struct window windows_of(struct window *to, const unsigned char *byte, int64_t n, struct window before)
{
    for (int64_t i = 0; i < n; i++) before = to[i] = window_after(before, byte[i]);
    return before;
}

int model_open(struct model *m, const struct attn_kernel *kernel, uint64_t seed)
{
    const int64_t count = model_offset(MODEL_WEIGHTS);
    *m = (struct model){.kernel = kernel, .seed = seed, .weight = attn_alloc(sizeof(float) * (size_t)count)};
    if (!m->weight) return ATTN_EMEMORY;
    attn_normal_f32(seed, attn_stream("weights"), 0, count, m->weight);
    for (enum model_weight w = 0; w < MODEL_WEIGHTS; w++) {
        float scale = w == MODEL_EMBED ? 0.3f : (w == MODEL_READ ? 0.3f : 1.0f) / sqrtf((float)model_rows(w));
        for (int64_t k = 0; k < model_rows(w) * model_columns(w); k++) m->weight[model_offset(w) + k] *= scale;
    }
    if (!kernel->params) return 0;
    m->params = attn_alloc(kernel->params_bytes);
    m->storage = attn_alloc(kernel->params_size());
    if (!m->params || !m->storage) return ATTN_EMEMORY;
    return kernel->params_init(m->params, seed, m->storage);
}

void model_close(struct model *m)
{
    attn_free(m->params);
    attn_free(m->storage);
    attn_free(m->weight);
    *m = (struct model){0};
}

void model_trained_on(struct model *m, const char *file)
{
    const char *slash = strrchr(file, '/');
    snprintf(m->text, sizeof m->text, "%s", slash ? slash + 1 : file);
}

struct attn_strides model_side_by_side(int64_t rows)
{
    return (struct attn_strides){.batch = rows * 3 * WIDTH, .head = MODEL_HEAD, .row = 3 * WIDTH};
}

struct attn_strides model_attended(int64_t rows)
{
    return (struct attn_strides){.batch = rows * WIDTH, .head = MODEL_HEAD, .row = WIDTH};
}

bool layers_open(struct layers *l, int64_t rows, int64_t scored, int threads)
{
    const size_t row = sizeof(float) * (size_t)rows;
    *l = (struct layers){.x = attn_alloc(row * WIDTH),
                         .qkv = attn_alloc(row * 3 * WIDTH),
                         .attended = attn_alloc(row * WIDTH),
                         .h = attn_alloc(row * WIDTH),
                         .up = attn_alloc(row * MODEL_UNITS),
                         .y = attn_alloc(row * WIDTH),
                         .scores = attn_alloc(sizeof(float) * (size_t)scored * MODEL_SYMBOLS),
                         .threads = threads};
    return l->x && l->qkv && l->attended && l->h && l->up && l->y && l->scores;
}

void layers_close(struct layers *l)
{
    float *const all[] = {l->x, l->qkv, l->attended, l->h, l->up, l->y, l->scores};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) attn_free(all[k]);
    *l = (struct layers){0};
}

static void multiply(const struct model *m, const struct layers *l, enum model_weight w, const float *in, float *out,
                     int64_t rows, bool adds)
{
    dense_product(out, in, m->weight + model_offset(w), rows, model_rows(w), model_columns(w), adds, l->threads);
}

void layers_before(const struct model *m, struct layers *l, const struct window *window, int64_t rows)
{
    const float *embed = m->weight + model_offset(MODEL_EMBED);
    for (int64_t i = 0; i < rows; i++) {
        float *x = l->x + i * WIDTH;
        memset(x, 0, sizeof(float) * WIDTH);
        for (int b = 0; b < MODEL_BYTES; b++) {
            const float *row = embed + (b * MODEL_SYMBOLS + window[i].byte[b]) * WIDTH;
            for (int d = 0; d < WIDTH; d++) x[d] += row[d];
        }
    }
    multiply(m, l, MODEL_QKV, l->x, l->qkv, rows, false);
}

void layers_after(const struct model *m, struct layers *l, int64_t rows, int64_t scored)
{
    const size_t bytes = sizeof(float) * WIDTH * (size_t)rows;
    memcpy(l->h, l->x, bytes);
    multiply(m, l, MODEL_OUT, l->attended, l->h, rows, true);
    multiply(m, l, MODEL_UP, l->h, l->up, rows, false);
    for (int64_t k = 0; k < rows * MODEL_UNITS; k++) l->up[k] = fmaxf(l->up[k], 0);
    memcpy(l->y, l->h, bytes);
    multiply(m, l, MODEL_DOWN, l->up, l->y, rows, true);
    multiply(m, l, MODEL_READ, l->y + (rows - scored) * WIDTH, l->scores, scored, false);
}
