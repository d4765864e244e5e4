/* Tests which targets a unit compiles for. */
#include "compiler/driver/unit.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replaces complain() of attnc. */
void complain(const struct options *o, const char *format, ...)
{
    (void)o;
    (void)format;
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

int main(void)
{
    static const struct unit_test tests[] = {{"versions/idle_features", test_idle_features}};
    return unit_tests_run("versions", tests, sizeof tests / sizeof *tests);
}
