/* Tests which targets a unit compiles for, and the lists of versions. */
#include "compiler/driver/unit.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replaces complain() of attnc. */
bool complain(const struct options *o, const char *format, ...)
{
    (void)o;
    (void)format;
    return false;
}

static struct unit *unit_for(const char *text, const struct options *o)
{
    char file[] = "/tmp/attnc_versions_XXXXXX";
    const int handle = mkstemp(file);
    enum status status = STATUS_MACHINE;
    struct unit *p = NULL;
    if (handle >= 0 && write(handle, text, strlen(text)) == (ssize_t)strlen(text)) p = unit_make(file, o, &status);
    if (handle >= 0) close(handle);
    unlink(file);
    CU_ASSERT_EQUAL_FATAL(status, STATUS_DONE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

static bool runs_all(const struct target *t)
{
    (void)t;
    return true;
}

static bool runs_no_pairs(const struct target *t)
{
    return t->features != 1U << TARGET_BF16_PRODUCTS;
}

/* Checks the one target that `attnc run` compiles for on a machine that runs the targets for which `runs` is true. */
static void check_here(const char *text, bool (*runs)(const struct target *), unsigned features)
{
    const struct options named = {.console = {.quiet = true},
                                  .targets = 2,
                                  .target = {target_find("x86-64-v4"), target_find("x86-64-v3")},
                                  .named_targets = true};
    struct options here = named;
    struct unit *all = unit_for(text, &named);
    const struct target *target[MAX_VERSIONS];
    int targets = target_versions(all->arena, named.target[0], all->spec->dtype, target);
    targets += target_versions(all->arena, named.target[1], all->spec->dtype, target + targets);
    here.named_targets = false;
    here.only_here = true;
    struct unit one = {.arena = all->arena,
                       .spec = all->spec,
                       .graph = all->graph,
                       .kernel = {.spec = all->spec, .arrays = all->kernel.arrays}};
    struct diagnostics *d = diagnostics_new(all->arena, "versions", text, strlen(text));
    CU_ASSERT(versions_make(&one, target, targets_to_load(target, targets, runs), &here, d, d));
    CU_ASSERT_EQUAL_FATAL(one.kernel.of[STEP_FORWARD].count, 1);
    CU_ASSERT(one.kernel.compilations > 0);
    CU_ASSERT_STRING_EQUAL(one.kernel.of[STEP_FORWARD].version[0].target->name, "x86-64-v4");
    CU_ASSERT_EQUAL(one.kernel.of[STEP_FORWARD].version[0].target->features, features);
    CU_ASSERT_EQUAL(one.defaults[0].target->features, features);
    unit_free(all);
}

/* A kernel may use no product of bf16 and no matrix unit. On a machine that has these, it is compiled without them. */
static void test_idle_features(void)
{
    static const char softmax[] = "similarity: softmax\nmask: causal\ndtype: bf16\nshape: {head_dim: 64}\n",
                      signed_weights[] = "similarity: {linear: {features: elu_plus_one}}\nalgorithm: quadratic\n"
                                         "mask: causal\ndtype: bf16\nshape: {head_dim: 8}\n";
    const unsigned pairs = 1U << TARGET_BF16_PRODUCTS, units = 1U << TARGET_MATRIX_UNITS;
    check_here(softmax, runs_all, pairs | units);
    check_here(signed_weights, runs_all, 0);
    check_here(signed_weights, runs_no_pairs, 0);
}

static void test_lists(void)
{
    struct arena *const arena = arena_new();
    struct compilation code[6] = {{.state = {.few_tokens = &code[5]}}};
    const struct target *const first = target_find("x86-64-v4"), *const second = target_find("generic");
    const struct version given[] = {{.target = first, .c = &code[0]},
                                    {.target = first, .from = 9}, /* it has no code */
                                    {.target = first, .c = &code[1], .from = 20, .few = &code[2]},
                                    {.target = second, .c = &code[3]},
                                    {.target = second, .c = &code[0], .from = 7, .fold = &code[4]}};
    const int before[] = {0, 2, 3, 4};
    for (int k = 0; k < 5; k++) code[k].target = code[5].target = first;
    struct versions list = {NULL, 0};
    const struct version *v = NULL;
    CU_ASSERT(!versions_next(&list, &v) && !v && !versions_find(&list, first, 1));
    for (int k = 0; k < 5; k++) CU_ASSERT_PTR_EQUAL(versions_add(arena, &list, given[k]), &list.version[k]);
    CU_ASSERT_EQUAL_FATAL(list.count, 5);
    for (int k = 0; k < 4; k++) CU_ASSERT(versions_next(&list, &v) && v == &list.version[before[k]]);
    CU_ASSERT(!versions_next(&list, &v));
    v = NULL;
    CU_ASSERT(versions_next_target(&list, &v) && v == &list.version[0]);
    CU_ASSERT(versions_next_target(&list, &v) && v == &list.version[3]);
    CU_ASSERT(!versions_next_target(&list, &v));
    CU_ASSERT_PTR_EQUAL(versions_find(&list, first, 19), &list.version[0]);
    CU_ASSERT_PTR_EQUAL(versions_find(&list, first, 20), &list.version[2]);
    CU_ASSERT_PTR_EQUAL(versions_find(&list, second, INT64_MAX), &list.version[4]);
    const struct compilation *found[6], *const wanted[] = {&code[5], &code[0], &code[1], &code[2], &code[3], &code[4]};
    CU_ASSERT_EQUAL_FATAL(versions_code(&list, first, found, 0), 6);
    for (int k = 0; k < 6; k++) CU_ASSERT_PTR_EQUAL(found[k], wanted[k]);
    CU_ASSERT_EQUAL(versions_code(&list, NULL, found, 6), 6); /* all of them are there */
    arena_free(arena);
}

/* Whether a program of this kind may be a version of the step. */
static bool serves(const struct program *program, enum kernel_step step)
{
    if (step == STEP_FORWARD) return program_is_forward(program);
    return step == STEP_BACKWARD ? program_is_backward(program) : program->kind == step_table[step].kind;
}

/* Checks that exactly the steps in `steps` have versions, of the kinds that their rows say. */
static void check_steps(const char *text, unsigned steps)
{
    const struct options o = {
        .console = {.quiet = true}, .targets = 1, .target = {target_find("generic")}, .named_targets = true};
    struct unit *const p = unit_for(text, &o);
    for (int step = 0; step < STEPS; step++) {
        CU_ASSERT_EQUAL(p->kernel.of[step].count > 0, (steps >> step & 1U) != 0);
        for (const struct version *v = NULL; versions_next(&p->kernel.of[step], &v);)
            CU_ASSERT(serves(&v->c->program, (enum kernel_step)step));
    }
    unit_free(p);
}

static void test_steps(void)
{
    const unsigned forward = 1U << STEP_FORWARD, backward = 1U << STEP_BACKWARD, extend = 1U << STEP_EXTEND;
    check_steps("similarity: softmax\nmask: causal\nprepare: [rope]\nshape: {head_dim: 16}\n"
                "emit: [forward, backward, decode]\n",
                forward | backward | 1U << STEP_PREPARE | 1U << STEP_ATTEND);
    check_steps("similarity: {linear: {features: elu_plus_one}}\nmask: causal\nalgorithm: linear\n"
                "shape: {head_dim: 16}\nemit: [forward, decode]\n",
                forward | extend);
    static const char delta[] = "mask: causal\ndelta: {rate: 'beta[b][h][t]'}\narrays: {beta: {shape: [B, H, Nk]}}\n"
                                "shape: {head_dim: 16}\nemit: [forward, decode]\n";
    struct text text = {0};
    text_add(&text, "similarity: {linear: {features: identity}}\nnormalize: none\n%s", delta);
    check_steps(text.data, forward | extend | 1U << STEP_FOLDABLE);
    text_free(&text);
    text_add(&text, "similarity: softmax\n%s", delta);
    check_steps(text.data, forward | 1U << STEP_CORRECT | 1U << STEP_APPEND);
    text_free(&text);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"versions/idle_features", test_idle_features}, {"versions/lists", test_lists}, {"versions/steps", test_steps}};
    return unit_tests_run("versions", tests, sizeof tests / sizeof *tests);
}
