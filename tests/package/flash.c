/* Loads a backend of ggml and compares its attention with that of ggml's CPU backend: flash LIBRARY. It prints the
   largest difference. `./dev release` runs it on systems without Python. */
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { D = 64, N = 64, HEADS = 4, KV_HEADS = 2 };

static void fail(const char *what)
{
    fprintf(stderr, "flash: %s\n", what);
    exit(1);
}

/* Fills a tensor with numbers between -1 and 1, or with a causal mask. */
static void fill(struct ggml_tensor *t, uint32_t seed, int is_mask)
{
    const int64_t count = ggml_nelements(t);
    float *number = malloc((size_t)count * sizeof *number);
    ggml_fp16_t *half = malloc((size_t)count * sizeof *half);
    if (!number || !half) fail("out of memory");
    for (int64_t n = 0; n < count; n++) {
        seed = seed * 1664525U + 1013904223U;
        number[n] = is_mask ? (n % N <= n / N ? 0 : -INFINITY) : (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
    ggml_fp32_to_fp16_row(number, half, count);
    ggml_backend_tensor_set(t, t->type == GGML_TYPE_F16 ? (void *)half : (void *)number, 0, ggml_nbytes(t));
    free(number), free(half);
}

int main(int count, char **argument)
{
    static float ours[D * N * HEADS], theirs[D * N * HEADS];
    if (count != 2) fail("usage: flash LIBRARY");
    const ggml_backend_reg_t library = ggml_backend_load(argument[1]);
    if (!library) fail("ggml does not load the library");
    const ggml_backend_dev_t device = ggml_backend_reg_dev_get(library, 0);
    const ggml_backend_t backend = ggml_backend_dev_init(device, NULL), cpu = ggml_backend_cpu_init();
    struct ggml_context *c = ggml_init((struct ggml_init_params){.mem_size = 1 << 20, .no_alloc = true});
    struct ggml_tensor *q = ggml_new_tensor_4d(c, GGML_TYPE_F32, D, N, HEADS, 1),
                       *k = ggml_new_tensor_4d(c, GGML_TYPE_F16, D, N, KV_HEADS, 1),
                       *v = ggml_new_tensor_4d(c, GGML_TYPE_F16, D, N, KV_HEADS, 1),
                       *mask = ggml_new_tensor_4d(c, GGML_TYPE_F16, N, N, 1, 1),
                       *out = ggml_flash_attn_ext(c, q, k, v, mask, 0.125F, 0, 0);
    struct ggml_cgraph *graph = ggml_new_graph(c);
    ggml_build_forward_expand(graph, out);
    if (!backend || !cpu || !ggml_backend_alloc_ctx_tensors(c, cpu)) fail("ggml gives no backend or no memory");
    fill(q, 1, 0), fill(k, 2, 0), fill(v, 3, 0), fill(mask, 4, 1);
    if (!ggml_backend_dev_supports_op(device, out)) fail("the library does not support the operation");
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) fail("the library failed");
    ggml_backend_tensor_get(out, ours, 0, sizeof ours);
    if (ggml_backend_graph_compute(cpu, graph) != GGML_STATUS_SUCCESS) fail("ggml failed");
    ggml_backend_tensor_get(out, theirs, 0, sizeof theirs);
    float largest = 0;
    for (size_t n = 0; n < D * N * HEADS; n++) {
        const float off = fabsf(ours[n] - theirs[n]);
        if (!(off <= largest)) largest = off; /* a NaN, too */
    }
    printf("largest difference %g\n", (double)largest);
    return !(largest < 2e-3F); /* ggml sums values in f16 */
}
