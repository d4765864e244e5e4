/* Appends prompts and single bytes to sequences with a state, copies sequences, and saves them. */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int stream_open(struct stream *s, const struct model *m, int64_t copies, int64_t capacity, int64_t rows, int threads)
{
    const struct attn_kernel *kernel = m->kernel;
    *s = (struct stream){.model = m, .rows = rows > copies ? rows : copies, .copies = copies};
    struct attn_problem *p = &s->problem;
    *p = (struct attn_problem){.batch = copies,
                               .heads = MODEL_HEADS,
                               .kv_heads = MODEL_HEADS,
                               .n_q = s->rows,
                               .capacity = capacity,
                               .threads = threads};
    p->state_bytes = kernel->state(p);
    p->workspace_bytes = kernel->extend_workspace(p);
    s->state = p->state_bytes ? attn_alloc(p->state_bytes) : NULL;
    s->workspace = attn_alloc(p->workspace_bytes);
    s->window = attn_alloc(sizeof *s->window * (size_t)s->rows);
    if (!s->state || !s->workspace || !s->window || !layers_open(&s->layers, s->rows, copies, threads))
        return ATTN_EMEMORY;
    return kernel->state_init(p, s->state);
}

void stream_close(struct stream *s)
{
    attn_free(s->state);
    attn_free(s->workspace);
    attn_free(s->window);
    layers_close(&s->layers);
    free(s->seen);
    *s = (struct stream){0};
}

/* Calls extend, which appends n tokens to each sequence, or lengths[s] tokens to sequence s. `qkv` and `out` are
 * the strides of the arrays. */
static int extend(struct stream *s, const int64_t *lengths, int64_t n, struct attn_strides qkv, struct attn_strides out)
{
    struct attn_problem p = s->problem;
    float *const q = s->layers.qkv;
    p.n_q = n;
    p.lengths = lengths;
    p.q = p.k = p.v = qkv;
    p.out = out;
    return s->model->kernel->extend(&p, s->model->params, q, q + MODEL_WIDTH, q + 2 * MODEL_WIDTH, s->layers.attended,
                                    s->state, s->workspace);
}

int stream_read(struct stream *s, const unsigned char *byte, int64_t n)
{
    int64_t lengths[MOST_COPIES] = {0};
    for (int64_t count; n > 0; n -= count, byte += count) {
        lengths[0] = count = n < s->rows ? n : s->rows;
        s->last[0] = windows_of(s->window, byte, count, s->last[0]);
        layers_before(s->model, &s->layers, s->window, count);
        /* Only the first sequence has a length above 0, so only its rows need memory. */
        const int error = extend(s, lengths, count, model_side_by_side(0), model_attended(1));
        if (error) return error;
        layers_after(s->model, &s->layers, count, 1);
    }
    return 0;
}

int stream_fork(struct stream *s)
{
    int error = 0;
    for (int64_t copy = 1; !error && copy < s->copies; copy++) {
        error = s->model->kernel->state_copy(&s->problem, s->state, copy, s->state, 0);
        s->last[copy] = s->last[0];
        memcpy(s->layers.scores + copy * MODEL_SYMBOLS, s->layers.scores, sizeof(float) * MODEL_SYMBOLS);
    }
    return error;
}

int stream_step(struct stream *s, const unsigned char *byte)
{
    for (int64_t copy = 0; copy < s->copies; copy++) s->last[copy] = window_after(s->last[copy], byte[copy]);
    layers_before(s->model, &s->layers, s->last, s->copies);
    const int error = extend(s, NULL, 1, model_side_by_side(1), model_attended(1));
    if (!error) layers_after(s->model, &s->layers, s->copies, s->copies);
    return error;
}

int64_t stream_length(const struct stream *s, int64_t sequence)
{
    return s->seen ? s->length : s->model->kernel->state_length(&s->problem, s->state, sequence);
}

int stream_anew(struct stream *s, const unsigned char *byte, int64_t n)
{
    const struct attn_kernel *kernel = s->model->kernel;
    if (s->length + n > s->rows) return ATTN_ECAPACITY;
    if (!s->seen && !(s->seen = malloc((size_t)s->rows))) return ATTN_EMEMORY;
    memcpy(s->seen + s->length, byte, (size_t)n);
    s->length += n;
    struct attn_problem p = {.batch = 1,
                             .heads = MODEL_HEADS,
                             .kv_heads = MODEL_HEADS,
                             .n_q = s->length,
                             .n_k = s->length,
                             .q = model_side_by_side(s->length),
                             .k = model_side_by_side(s->length),
                             .v = model_side_by_side(s->length),
                             .out = model_attended(s->length),
                             .threads = s->problem.threads};
    p.workspace_bytes = kernel->workspace(&p);
    void *workspace = attn_alloc(p.workspace_bytes);
    if (!workspace) return ATTN_EMEMORY;
    float *const q = s->layers.qkv;
    windows_of(s->window, s->seen, s->length, (struct window){0});
    layers_before(s->model, &s->layers, s->window, s->length);
    const int error = kernel->forward(&p, s->model->params, q, q + MODEL_WIDTH, q + 2 * MODEL_WIDTH, s->layers.attended,
                                      workspace);
    attn_free(workspace);
    if (!error) layers_after(s->model, &s->layers, s->length, 1);
    return error;
}

/* ---- files: a header and a copy of the state's memory ---- */

static const char magic[8] = "bytekeep";

static struct saved saved_of(const struct stream *s)
{
    struct saved h = {
        .format = 1,
        .byte_order = 0x01020304,
        .model = file_hash(NULL, 0, s->model->weight, sizeof(float) * (size_t)model_offset(MODEL_WEIGHTS)),
        .copies = s->copies,
        .capacity = s->problem.capacity,
        .bytes = (int64_t)s->problem.state_bytes};
    memcpy(h.magic, magic, sizeof h.magic);
    snprintf(h.kernel, sizeof h.kernel, "%s", s->model->kernel->name);
    memcpy(h.last, s->last, sizeof h.last);
    memcpy(h.next, s->next, sizeof h.next);
    h.hash = file_hash(&h, offsetof(struct saved, hash), s->state, s->problem.state_bytes);
    return h;
}

bool stream_save(const struct stream *s, const char *path)
{
    const struct saved h = saved_of(s);
    return file_write(path, &h, sizeof h, s->state, s->problem.state_bytes);
}

static bool refuse(const char *path, const char *why)
{
    fprintf(stderr, "%s: error: '%s': %s\n", program, path, why);
    return false;
}

bool saved_read(struct saved *h, const char *path)
{
    int64_t bytes;
    unsigned char *file = file_read(path, sizeof *h, &bytes);
    if (!file) return false;
    if ((size_t)bytes == sizeof *h) memcpy(h, file, sizeof *h);
    free(file);
    if ((size_t)bytes != sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0)
        return refuse(path, "it is not a state that --save wrote");
    if (h->format != 1 || h->byte_order != 0x01020304)
        return refuse(path, "another version or another kind of machine wrote it");
    if (h->copies < 1 || h->copies > MOST_COPIES || h->capacity < 0 || h->bytes < 0)
        return refuse(path, "it is damaged");
    return true;
}

bool stream_load(struct stream *s, const char *path)
{
    struct saved h;
    if (!saved_read(&h, path)) return false;
    const struct saved wanted = saved_of(s);
    if (strncmp(h.kernel, wanted.kernel, sizeof h.kernel) != 0 || h.model != wanted.model)
        return refuse(path, "it belongs to another model");
    const size_t state = s->problem.state_bytes;
    int64_t bytes;
    unsigned char *file = file_read(path, (int64_t)(sizeof h + state) + 1, &bytes);
    if (!file) return false;
    const bool whole = (size_t)bytes == sizeof h + state && h.bytes == wanted.bytes;
    if (whole) memcpy(s->state, file + sizeof h, state);
    free(file);
    if (!whole) return refuse(path, "it is truncated, or its state has another size");
    if (h.hash != file_hash(&h, offsetof(struct saved, hash), s->state, state)) return refuse(path, "it is damaged");
    memcpy(s->last, h.last, sizeof s->last);
    memcpy(s->next, h.next, sizeof s->next);
    for (int64_t copy = 0; copy < s->copies; copy++) { /* this fails if the state belongs to another kernel */
        const int64_t length = stream_length(s, copy);
        if (length < 0) return refuse(path, attn_strerror((int)length));
    }
    return true;
}
