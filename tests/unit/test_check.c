/* Tests that `attnc check` finds an error in a pass and names the pass. This file replaces three passes by versions
   with an error. */
#include "compiler/command/command_line.h"
#include "compiler/pass/pass.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/support.h"
#include "compiler/target/target.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Renames the correct passes, because this file defines passes with their names. */
#define pass_differentiate right_differentiate
#define pass_bound right_bound
#define pass_allocate right_allocate
void right_differentiate(struct compilation *c);
void right_bound(struct compilation *c);
void right_allocate(struct compilation *c);
#include "compiler/pass/allocate.c"
#include "compiler/pass/bound.c"
#include "compiler/pass/differentiate/differentiate.c"
#undef pass_differentiate
#undef pass_bound
#undef pass_allocate

static struct {
    enum program_kind kind;
    const char *pass;
    bool linear;
    int axis; /* loops over an axis of this source (enum size_source) skip their first iteration */
} spoiled;
static char message[1000];

bool complain(const struct options *o, const char *format, ...)
{
    (void)o;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return false;
}

static bool spoils(const struct compilation *c, const char *pass)
{
    return spoiled.pass && strcmp(spoiled.pass, pass) == 0 && c->program.kind == spoiled.kind &&
           c->program.linear == spoiled.linear;
}

/* Makes the loops over the axis `spoiled.axis` skip their first iteration. */
static void start_late(struct compilation *c, struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->op == LOOPS_FOR && (int)c->loops->module->axis[s->axis].source == spoiled.axis && !s->parallel)
            s->from = expr_make(c->loops->module, EXPR_ADD, s->from, expr_int(c->loops->module, 1), NULL);
        start_late(c, s->body);
    }
}

void pass_bound(struct compilation *c)
{
    right_bound(c);
    if (spoils(c, "bound")) start_late(c, c->loops->body);
}

void pass_allocate(struct compilation *c)
{
    right_allocate(c);
    if (spoils(c, "allocate")) start_late(c, c->loops->body);
}

/* Halves the first output, which is an error. */
void pass_differentiate(struct compilation *c)
{
    right_differentiate(c);
    if (!spoils(c, "differentiate") || !c->graph->outputs) return;
    struct graph *g = c->graph;
    const struct value *v = &g->value[g->output[0].value];
    const struct ref r = graph_ref(g, g->output[0].value, NULL);
    g->output[0].value = graph_map(
        g, v->rank, v->axes, 1, &r,
        expr_make(g->module, EXPR_MUL, expr_real(g->module, 0.5), expr_leaf(g->module, EXPR_OPERAND, 0), NULL));
}

static int check(const char *text)
{
    char file[] = "/tmp/attnc_check_XXXXXX";
    const int handle = mkstemp(file);
    const char *const files[] = {file};
    const struct options o = {.console = {.quiet = true},
                              .targets = 1,
                              .target = {target_find("generic")},
                              .lengths = "1,9,40",
                              .file = files,
                              .files = 1};
    int status = -1;
    *message = '\0';
    if (handle >= 0 && write(handle, text, strlen(text)) == (ssize_t)strlen(text)) status = command_check(&o);
    if (handle >= 0) close(handle);
    unlink(file);
    return status;
}

static const char
    softmax
        [] = "name: t\nsimilarity: softmax\nmask: causal\nshape: {head_dim: 4}\nemit: [forward, backward]\n",
 linear[] = "name: t\nsimilarity: {linear: {features: elu_plus_one}}\nmask: causal\nblock: 16\nalgorithm: linear\n"
            "shape: {head_dim: 4}\nemit: [forward, backward]\n",
 learned[] = "name: t\nsimilarity: {linear: {features: hedgehog}}\nshape: {head_dim: 4}\nemit: [forward, backward]\n";

/* Checks that an error in `pass` is reported as `says`. The error is in the program of the kind `kind`. */
static void found(const char *text, const char *pass, enum program_kind kind, enum size_source axis, bool of_linear,
                  const char *says)
{
    spoiled.pass = pass;
    spoiled.kind = kind;
    spoiled.linear = of_linear;
    spoiled.axis = (int)axis;
    CU_ASSERT_EQUAL(check(text), STATUS_INPUT);
    if (!strstr(message, says)) printf("'%s' is not in: %s\n", says, message);
    CU_ASSERT_PTR_NOT_NULL(strstr(message, says));
    spoiled.pass = NULL;
}

static void test_loops(void)
{
    found(softmax, "bound", PROGRAM_GRADIENTS, SIZE_N_Q, false, "after pass 'bound' of dk, dv");
    found(softmax, "allocate", PROGRAM_SAVED_ROWS, SIZE_N_K, false, "t: allocate of what is saved is wrong");
    found(linear, "allocate", PROGRAM_GRADIENTS, SIZE_CHUNKS, true, "after pass 'allocate' of ");
}

/* attnc check must find an error in each part of the gradients. A wrong row sum is found when the gradients are
 * compared. */
static void test_derivatives(void)
{
    found(softmax, "differentiate", PROGRAM_ROW_SUMS, SIZE_N_Q, false, "t: differentiate of dk, dv is wrong");
    found(softmax, "differentiate", PROGRAM_FROM_SUMS, SIZE_N_Q, false, "t: differentiate of dq is wrong");
    found(learned, "differentiate", PROGRAM_TOTALS, SIZE_N_Q, false, "t: differentiate of dfeatures.wq is wrong");
    found(softmax, "differentiate", PROGRAM_UNSAVED, SIZE_N_Q, false,
          "t: gradients do not agree with central differences");
}

/* Saved values are compared with values that backward would compute. */
static void test_saved(void)
{
    found(softmax, "allocate", PROGRAM_FORWARD_SAVING, SIZE_N_K, false, "t: allocate is wrong");
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"loops of a part", test_loops}, {"derivatives", test_derivatives}, {"what is saved", test_saved}};
    return unit_tests_run("check", tests, sizeof tests / sizeof *tests);
}
