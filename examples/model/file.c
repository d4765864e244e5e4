/* Reads and writes files, and saves and loads models. A file is written completely or not at all. */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn_polysketch.h"
#include "learn_softmax.h"

const struct model_kind model_kinds[MODEL_KINDS] = {{"softmax", &learn_softmax_kernel},
                                                    {"polysketch", &learn_polysketch_kernel}};

bool file_write(const char *path, const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.new", path) >= (int)sizeof temporary) {
        fprintf(stderr, "%s: error: '%.100s…': the name is too long\n", program, path);
        return false;
    }
    FILE *out = fopen(temporary, "wb");
    bool written = out && fwrite(head, 1, head_bytes, out) == head_bytes &&
                   fwrite(body, 1, body_bytes, out) == body_bytes && fflush(out) == 0;
    int why = errno;
    if (out && fclose(out) != 0 && written) {
        written = false;
        why = errno;
    }
    if (written && rename(temporary, path) != 0) {
        written = false;
        why = errno;
    }
    if (written) return true;
    if (out) remove(temporary);
    fprintf(stderr, "%s: error: cannot write '%s': %s\n", program, path, strerror(why));
    return false;
}

unsigned char *file_read(const char *path, int64_t most, int64_t *bytes)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        fprintf(stderr, "%s: error: cannot read '%s': %s\n", program, path, strerror(errno));
        return NULL;
    }
    size_t room = 1 << 16, got = 0;
    unsigned char *byte = malloc(room);
    while (byte) {
        if (room > (size_t)most) room = (size_t)most;
        got += fread(byte + got, 1, room - got, in);
        if (got < room || room == (size_t)most) break;
        unsigned char *larger = realloc(byte, room *= 2);
        if (!larger) free(byte);
        byte = larger;
    }
    const char *why = !byte ? "out of memory" : ferror(in) ? strerror(errno) : NULL;
    fclose(in);
    *bytes = (int64_t)got;
    if (!why) return byte;
    fprintf(stderr, "%s: error: cannot read '%s': %s\n", program, path, why);
    free(byte);
    return NULL;
}

static uint64_t hash_on(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t k = 0; k < count; k++) hash = (hash ^ byte[k]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t file_hash(const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
    return hash_on(hash_on(UINT64_C(0xcbf29ce484222325), head, head_bytes), body, body_bytes);
}

/* ---- a model ---- */

/* The header of a model's file. The weights follow. */
struct header {
    char magic[8];
    uint32_t format, byte_order;
    char kernel[64], text[64];
    uint64_t seed;
    int64_t count;
    uint64_t hash; /* a hash of the members above and of the weights */
};

static struct header header_of(const struct model *m)
{
    const int64_t count = model_offset(MODEL_WEIGHTS);
    struct header h = {.magic = "bytemod", .format = 1, .byte_order = 0x01020304, .seed = m->seed, .count = count};
    snprintf(h.kernel, sizeof h.kernel, "%s", m->kernel->name);
    memcpy(h.text, m->text, sizeof h.text);
    h.hash = file_hash(&h, offsetof(struct header, hash), m->weight, sizeof(float) * (size_t)count);
    return h;
}

bool model_path(char *path, size_t size, const char *folder, const struct model_kind *kind)
{
    if (snprintf(path, size, "%s/%s.model", folder, kind->name) < (int)size) return true;
    fprintf(stderr, "%s: error: '%.100s…': the name is too long\n", program, folder);
    return false;
}

bool model_save(const struct model *m, const char *path)
{
    const struct header h = header_of(m);
    return file_write(path, &h, sizeof h, m->weight, sizeof(float) * (size_t)h.count);
}

bool model_load(struct model *m, const struct attn_kernel *kernel, const char *path)
{
    *m = (struct model){0};
    struct header h = {0};
    const size_t weights = sizeof(float) * (size_t)model_offset(MODEL_WEIGHTS);
    int64_t bytes;
    unsigned char *file = file_read(path, (int64_t)(sizeof h + weights) + 1, &bytes);
    if (!file) return false;
    const char *why = NULL;
    if ((size_t)bytes >= sizeof h) memcpy(&h, file, sizeof h);
    if ((size_t)bytes < sizeof h || memcmp(h.magic, "bytemod", 8) != 0)
        why = "it is not a model of this example";
    else if (h.format != 1 || h.byte_order != 0x01020304)
        why = "another version or another kind of machine wrote it";
    else if (strncmp(h.kernel, kernel->name, sizeof h.kernel) != 0)
        why = "its attention uses another kernel";
    else if ((size_t)bytes != sizeof h + weights || h.count != model_offset(MODEL_WEIGHTS))
        why = "it is truncated, or has another size";
    else if (h.hash != file_hash(&h, offsetof(struct header, hash), file + sizeof h, weights))
        why = "it is damaged";
    if (!why) {
        int error = model_open(m, kernel, h.seed);
        if (error) why = attn_strerror(error);
        memcpy(m->text, h.text, sizeof h.text);
        m->text[sizeof m->text - 1] = '\0';
        if (!error) memcpy(m->weight, file + sizeof h, weights);
    }
    free(file);
    if (why) fprintf(stderr, "%s: error: '%s': %s; remove the file to train a new model\n", program, path, why);
    return !why;
}
