/* Tests parameters in emitted C. Compiles a kernel with normal, orthogonal and learned parameters, fills them, and
   calls it. */
#include "compiler/analysis/analysis.h"
#include "compiler/emit/emit.h"
#include "compiler/host/host.h"
#include "compiler/pass/pass.h"
#include "compiler/schedule/schedule.h"
#include "compiler/spec/spec.h"
#include "compiler/support/support.h"
#include "compiler/target/target.h"
#include "runtime/attnrt.h"
#include "suite.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { D = 8, FEATURES = 20, N = 5, PARAMS = 4 };

static const char meaning[] = "graph seeded f32\naxis b batch\naxis g kv_heads\naxis m members\naxis i n_q\naxis j "
                              "n_k\naxis d 8\naxis e 8\naxis c 20\n"
                              "%0 = input q [b g m i d]\n"
                              "%1 = input k [b g j d]\n"
                              "%2 = input v [b g j e]\n"
                              "%3 = param sketch.g1 normal [d c]\n"
                              "%4 = param features.w orthogonal [c d]\n"
                              "%5 = param sketch.g2 normal [d c]\n"
                              "%6 = param gain [e]\n"
                              "%7 = contract [b g m i c] %0 %3\n"
                              "%8 = contract [b g m i c] %0 %5\n"
                              "%9 = map [b g m i c] mul(%7, %8)\n"
                              "%10 = contract [b g m i d] %9 %4[c, d]\n"
                              "%11 = contract [b g m i j] %10 %1[b, g, j, d]\n"
                              "%12 = map [b g m i j] mul(%11, %11)\n"
                              "%13 = contract [b g m i e] %12 %2\n"
                              "%14 = map [b g m i e] mul(%13, %6)\n"
                              "output %14\n";

static struct arena *arena;
static struct graph *graph;
static struct loaded_kernel loaded;
static struct text source, header;

static const char spec_text[] = "similarity: softmax\nshape: {head_dim: 8}\n";

/* Replaces complain() of attnc, and prints to standard output. */
bool complain(const struct options *o, const char *format, ...)
{
    (void)o;
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    return false;
}

static void compile(void)
{
    arena = arena_new();
    struct diagnostics *d = diagnostics_new(arena, "seeded", spec_text, strlen(spec_text));
    const struct spec *spec = spec_read(arena, "seeded.yaml", spec_text, strlen(spec_text), 0, NULL, d);
    graph = graph_parse(arena, meaning, d);
    CU_ASSERT_EQUAL(diagnostics_flush(d, stdout, false), 0);
    CU_ASSERT_FATAL(spec && graph && !graph_verify(graph));
    struct compilation c = {
        .spec = spec, .target = target_find("generic"), .diagnostics = d, .source = graph, .graph = graph_copy(graph)};
    CU_ASSERT_FATAL(passes_run(&c, NULL, NULL));
    struct version version = {.target = c.target, .c = &c};
    const struct emission emission = {.standalone = true,
                                      .spec = spec,
                                      .arrays = kernel_arrays(spec, graph),
                                      .compilation = {&c},
                                      .compilations = 1,
                                      .of[STEP_FORWARD] = {&version, 1}};
    emit_source(&emission, NULL, "attnc seeded.yaml", &source);
    emit_header(&emission, "attnc seeded.yaml", &header);
    CU_ASSERT_EQUAL_FATAL(kernel_load("seeded", source.data, header.data, true, &loaded), STATUS_DONE);
}

static void test_text(void)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(header.data, "const float *sketch_g1; /* [8, 20], from a seed: normal */"));
    CU_ASSERT_PTR_NOT_NULL(strstr(header.data, "const float *gain; /* [8] */"));
    CU_ASSERT_PTR_NOT_NULL(strstr(source.data, ".random = RANDOM_NORMAL"));
    CU_ASSERT_PTR_NOT_NULL(strstr(source.data, ".random = RANDOM_ORTHOGONAL"));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        source.data, "ATTN_F32, 2, {8, 20}, offsetof(struct seeded_params, sketch_g1), 1, ATTN_CONTIGUOUS, 0, 0,"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(source.data, "ATTN_F32, 1, {8}, offsetof(struct seeded_params, gain), 0, ATTN_CONTIGUOUS, 0, 0,"));
}

static const float *pointer(const void *params, const char *name)
{
    const float *made = NULL;
    for (int k = 0; k < loaded.kernel->params; k++)
        if (strcmp(loaded.kernel->param[k].name, name) == 0)
            memcpy(&made, (const char *)params + loaded.kernel->param[k].offset, sizeof made);
    return made;
}

static void test_values(void)
{
    const struct attn_kernel *kernel = loaded.kernel;
    const uint64_t seed = UINT64_C(0x123456789ABCDEF);
    size_t bytes = kernel->params_size();
    CU_ASSERT_EQUAL(bytes, 3 * 640 + attn_orthogonal_work(FEATURES, D));
    unsigned char *storage = attn_alloc(bytes + 64);
    void *params = attn_alloc(kernel->params_bytes), *workspace = NULL;
    CU_ASSERT_FATAL(storage && params);
    memset(storage + bytes, 0xa5, 64);
    CU_ASSERT_EQUAL(kernel->params_init(NULL, seed, storage), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(kernel->params_init(params, seed, NULL), ATTN_EPOINTER);
    CU_ASSERT_EQUAL(kernel->params_init(params, seed, storage + 4), ATTN_EALIGN);
    CU_ASSERT_EQUAL(kernel->params_init(params, seed, storage), 0);
    for (size_t k = bytes; k < bytes + 64; k++) CU_ASSERT_EQUAL(storage[k], 0xa5);

    static const char *const names[PARAMS] = {"sketch.g1", "features.w", "sketch.g2", "gain"};
    static float expected[FEATURES * D], gain[D] = {1, -1, 2, 0.5f, 3, 1, -2, 1}, q[N * D], keys[N * D], v[N * D],
                                         out[N * D];
    static double data[3 + PARAMS][FEATURES * D], wanted[N * D], work[(D + 1) * D];
    CU_ASSERT_PTR_NULL(pointer(params, "gain"));
    for (int p = 0; p < PARAMS - 1; p++) {
        const float *made = pointer(params, names[p]);
        CU_ASSERT_FATAL(made && (uintptr_t)made % 64 == 0);
        if (p == 1)
            attn_orthogonal_f32(seed, attn_stream(names[p]), FEATURES, D, expected, work);
        else
            attn_normal_f32(seed, attn_stream(names[p]), 0, FEATURES * D, expected);
        CU_ASSERT_EQUAL(memcmp(made, expected, sizeof expected), 0);
        for (int k = 0; k < FEATURES * D; k++) data[3 + p][k] = made[k];
    }

    attn_normal_f32(1, 0, 0, N * D, q);
    attn_normal_f32(1, 1, 0, N * D, keys);
    attn_normal_f32(1, 2, 0, N * D, v);
    for (int k = 0; k < N * D; k++) data[0][k] = q[k], data[1][k] = keys[k], data[2][k] = v[k];
    for (int k = 0; k < D; k++) data[6][k] = gain[k];
    struct attn_problem problem = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = N, .n_k = N, .threads = 1};
    workspace = attn_alloc(kernel->workspace(&problem));
    CU_ASSERT_PTR_NOT_NULL_FATAL(workspace);
    CU_ASSERT_EQUAL(kernel->forward(&problem, params, q, keys, v, out, workspace), ATTN_EPARAM);
    const float *learned = gain;
    for (int k = 0; k < kernel->params; k++)
        if (!kernel->param[k].random) memcpy((char *)params + kernel->param[k].offset, &learned, sizeof learned);
    CU_ASSERT_EQUAL(kernel->forward(&problem, params, q, keys, v, out, workspace), 0);
    const struct tensor in[] = {{"q", data[0]},      {"k", data[1]},      {"v", data[2]},     {names[0], data[3]},
                                {names[1], data[4]}, {names[2], data[5]}, {names[3], data[6]}};
    const struct problem_size size = {.batch = 1, .kv_heads = 1, .members = 1, .n_q = N, .n_k = N};
    CU_ASSERT_PTR_NULL(graph_eval(graph, &size, in, 3 + PARAMS, wanted));
    double largest = 0, worst = 0;
    for (int k = 0; k < N * D; k++) {
        largest = fmax(largest, fabs(wanted[k]));
        worst = fmax(worst, fabs(wanted[k] - (double)out[k]));
    }
    CU_ASSERT(largest > 0 && worst <= 1e-4 * largest);
    attn_free(storage);
    attn_free(params);
    attn_free(workspace);
}

static void release(void)
{
    kernel_unload(&loaded);
    text_free(&source);
    text_free(&header);
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {{"params_compile", compile},
                                             {"params_text", test_text},
                                             {"params_values", test_values},
                                             {"params_release", release}};
    return unit_tests_run("params", tests, sizeof tests / sizeof *tests);
}
