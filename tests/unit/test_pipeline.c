/* Tests the driver of the passes:
   - A clean-up pass runs when a pass has invalidated its property.
   - A pipeline is refused if a pass lacks a required property. */
#include "compiler/pass/pass.h"
#include "compiler/schedule/schedule.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"
#include "compiler/variant/variant.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static const char spec_text[] = "similarity: {polynomial: {degree: 2}}\nmask: causal\nshape: {head_dim: 8}\n";

static struct arena *arena;
static struct pass row[64];

static int find(const char *name)
{
    int k = 0;
    while (k < pass_count && strcmp(row[k].name, name) != 0) k++;
    CU_ASSERT_FATAL(k < pass_count);
    return k;
}

/* The driver calls this function after each pass. It appends the name of the pass to the text `user`. */
static bool note(const struct compilation *c, const struct pass *pass, void *user)
{
    (void)c;
    text_add(user, "%s ", pass->name);
    return true;
}

/* Compiles a spec with this file's pipeline. Appends the names of the passes to `ran`. Returns the error or NULL. */
static const char *run(struct text *ran)
{
    struct diagnostics *d = diagnostics_new(arena, "pipeline", spec_text, strlen(spec_text));
    const struct spec *spec = spec_read(arena, "pipeline.yaml", spec_text, strlen(spec_text), 0, NULL, d);
    CU_ASSERT_FATAL(spec != NULL);
    struct compilation c = {.spec = spec,
                            .target = target_find("generic"),
                            .diagnostics = d,
                            .graph = build_graph(arena, spec, COUNT_CALL, d),
                            .program.linear = true};
    if (passes_run_these(row, pass_count, &c, note, ran)) return NULL;
    char *message = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&message, &length);
    if (!out) abort();
    CU_ASSERT(diagnostics_flush(d, out, false) > 0);
    fclose(out);
    const char *kept = arena_copy(arena, message);
    free(message);
    return kept;
}

static void begin(void)
{
    arena = arena_new();
    memcpy(row, passes, (size_t)pass_count * sizeof *row);
}

static void clean_ups_run_where_they_are_due(void)
{
    begin();
    struct text ran = {0};
    CU_ASSERT_PTR_NULL(run(&ran));
    const char *wanted = "simplify prefix_sums simplify select simplify separate simplify correct_values simplify merge_states simplify differentiate "
                         "simplify stabilise simplify "
                         "strength_reduce "
                         "stored_rows simplify fold_scale simplify few_queries heads_as_queries tile lower ";
    CU_ASSERT(ran.data && strncmp(ran.data, wanted, strlen(wanted)) == 0);
    text_free(&ran);
    arena_free(arena);
}

static void order_is_checked(void)
{
    begin();
    struct text ran = {0};
    const int first = find("pack"), second = find("fuse");
    const struct pass kept = row[first];
    row[first] = row[second];
    row[second] = kept;
    const char *wrong = run(&ran);
    CU_ASSERT(wrong && strstr(wrong, "internal error: fuse requires that the program is packed"));
    text_free(&ran);
    arena_free(arena);
}

static void result_is_checked(void)
{
    begin();
    struct text ran = {0};
    const int last = find("register_block");
    memmove(&row[last], &row[last + 1], (size_t)(pass_count - last - 1) * sizeof *row);
    row[pass_count - 1] = row[pass_count - 2]; /* the last pass is missing */
    const char *wrong = run(&ran);
    CU_ASSERT(wrong && strstr(wrong, "internal error: emission requires that the program is blocked"));
    text_free(&ran);
    arena_free(arena);
}

static void results_are_guarded(void)
{
    begin();
    struct text ran = {0};
    row[find("register_block")].establishes = 0;
    const char *wrong = run(&ran);
    CU_ASSERT(wrong && strstr(wrong, "internal error: register_block changes 'registers', a result of other passes"));
    text_free(&ran);
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {{"pipeline/clean_up", clean_ups_run_where_they_are_due},
                                             {"pipeline/order", order_is_checked},
                                             {"pipeline/result", result_is_checked},
                                             {"pipeline/results", results_are_guarded}};
    return unit_tests_run("pipeline", tests, sizeof tests / sizeof *tests);
}
