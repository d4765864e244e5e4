/* Tests the interpreters. Graphs are compared with numbers by hand or plain C, loops with their graphs. */
#include "../../ir/ir.h"
#include "../../runtime/attnrt.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct graph *graph_of(struct arena *arena, const char *text)
{
    struct diagnostics *d = diagnostics_new(arena, "test", text, strlen(text));
    struct graph *g = graph_parse(arena, text, d);
    diagnostics_flush(d, stdout, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    return g;
}

static struct loops *loops_of(struct arena *arena, const char *text)
{
    struct diagnostics *d = diagnostics_new(arena, "test", text, strlen(text));
    struct loops *l = loops_parse(arena, text, d);
    diagnostics_flush(d, stdout, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    return l;
}

static void near(double got, double wanted)
{
    bool equal = fabs(got - wanted) <= 1e-12 * fmax(1, fabs(wanted));
    CU_ASSERT_TRUE(equal);
    if (!equal) printf("wanted %.17g, got %.17g\n", wanted, got);
}

#define KEYS "axis j n_k\naxis t n_k\naxis d 2\naxis e 2\n"

static void says(const char *got, const char *wanted)
{
    bool same = got && strstr(got, wanted);
    CU_ASSERT_TRUE(same);
    if (!same) printf("wanted: %s\ngot: %s\n", wanted, got ? got : "nothing");
}

/* Returns pseudo-random numbers between -1 and 1. Equal seeds give equal numbers. */
static double *numbers(struct arena *arena, int64_t count, uint64_t seed)
{
    double *data = arena_alloc(arena, (size_t)count * sizeof *data);
    for (int64_t k = 0; k < count; k++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data[k] = (double)(int64_t)(seed >> 11) / 4503599627370496.0 - 1;
    }
    return data;
}

/* ---- the graph ---- */

static const struct problem_size one = {1, 1, 1, 1, 1};

static void maps_compute(void)
{
    struct arena *arena = arena_new();
    struct graph *g = graph_of(
        arena, "graph x f32\naxis i n_q\naxis d 2\naxis p 4\n%0 = input q [i d]\n%1 = table t [p] {1, 10, 100, 1000}\n"
               "%2 = map [i d] add(mul(%0, %1[add(d, mul(i, 2))]), select(eq(i, 0), size(i), -0.5))\noutput %2\n");
    double q[4] = {1, 2, 3, 4}, out[4];
    struct tensor in = {"q", q};
    CU_ASSERT_PTR_NULL(graph_eval(g, &(struct problem_size){1, 1, 1, 2, 1}, &in, 1, out));
    near(out[0], 3), near(out[1], 22), near(out[2], 299.5), near(out[3], 3999.5);
    arena_free(arena);
}

/* Only one branch of a select is read. The other branch may index outside an array. */
static void maps_read_lazily(void)
{
    struct arena *arena = arena_new();
    struct graph *g = graph_of(arena, "graph x f32\naxis d 4\n%0 = input q [d]\n%1 = map [d] select(eq(mod(d, 2), 0), "
                                      "neg(%0[add(d, 1)]), %0[add(d, -1)])\noutput %1\n");
    double q[4] = {1, 2, 3, 4}, out[4];
    struct tensor in = {"q", q};
    CU_ASSERT_PTR_NULL(graph_eval(g, &one, &in, 1, out));
    near(out[0], -2), near(out[1], 1), near(out[2], -4), near(out[3], 3);
    g = graph_of(arena, "graph x f32\naxis d 4\n%0 = input q [d]\n%1 = map [d] %0[add(d, 1)]\noutput %1\n");
    says(graph_eval(g, &one, &in, 1, out), "%1 reads %0 outside its extents at d = 3");
    arena_free(arena);
}

static void sums_and_maxima_have_regions(void)
{
    struct arena *arena = arena_new();
    const char *text = "graph x f32\naxis i n_q\naxis j n_k\n%%0 = input k [j]\n%%1 = reduce %s [i] %%0 where lt(j, "
                       "i)\noutput %%1\n";
    double k[3] = {-5, 7, 2}, out[4];
    struct tensor in = {"k", k};
    const struct problem_size size = {1, 1, 1, 4, 3};
    CU_ASSERT_PTR_NULL(graph_eval(graph_of(arena, arena_printf(arena, text, "sum 0.5")), &size, &in, 1, out));
    near(out[0], 0.5), near(out[1], -4.5), near(out[2], 2.5), near(out[3], 4.5);
    CU_ASSERT_PTR_NULL(graph_eval(graph_of(arena, arena_printf(arena, text, "max -inf")), &size, &in, 1, out));
    CU_ASSERT_TRUE(isinf(out[0]) && out[0] < 0);
    near(out[1], -5), near(out[2], 7), near(out[3], 7);
    arena_free(arena);
}

/* Elements outside the region of a sum are not read, so an infinity there does not become NaN. */
static void regions_shut_out_infinities(void)
{
    struct arena *arena = arena_new();
    struct graph *g = graph_of(arena, "graph x f32\naxis i n_q\naxis j n_k\n%0 = input q [i j]\n%1 = input k [j]\n%2 = "
                                      "contract [i] %0 %1 where ne(j, 1)\noutput %2\n");
    double q[3] = {1, 2, 3}, k[3] = {10, INFINITY, 1000}, out;
    struct tensor in[2] = {{"q", q}, {"k", k}};
    CU_ASSERT_PTR_NULL(graph_eval(g, &(struct problem_size){1, 1, 1, 1, 3}, in, 2, &out));
    near(out, 3010);
    arena_free(arena);
}

/* Tests a contraction with the axes of its operands in every order. */
static void contractions_agree_in_every_order(void)
{
    struct arena *arena = arena_new();
    enum { I = 5, J = 7, D = 9 };
    double *a = numbers(arena, I * D, 1), *b = numbers(arena, J * D, 2), at[I * D], bt[J * D], wanted[I * J],
           out[I * J];
    for (int i = 0; i < I; i++)
        for (int j = 0; j < J; j++) {
            wanted[i * J + j] = 0;
            for (int d = 0; d < D; d++) {
                at[d * I + i] = a[i * D + d];
                bt[d * J + j] = b[j * D + d];
                if (d != i) wanted[i * J + j] += a[i * D + d] * b[j * D + d];
            }
        }
    for (int form = 0; form < 8; form++) {
        bool a_turned = form & 1, b_turned = form & 2, out_turned = form & 4;
        struct graph *g = graph_of(
            arena,
            arena_printf(
                arena,
                "graph x f32\naxis i n_q\naxis j n_k\naxis d %d\naxis f %d\n%%0 = input q [%s]\n%%1 = input k [%s]\n"
                "%%2 = contract [%s] %%0 %%1%s where ne(d, i)\noutput %%2\n",
                D, D, a_turned ? "d i" : "i d", b_turned ? "f j" : "j f", out_turned ? "j i" : "i j",
                b_turned ? "[d, j]" : "[j, d]"));
        struct tensor in[2] = {{"q", a_turned ? at : a}, {"k", b_turned ? bt : b}};
        CU_ASSERT_PTR_NULL(graph_eval(g, &(struct problem_size){1, 1, 1, I, J}, in, 2, out));
        for (int i = 0; i < I; i++)
            for (int j = 0; j < J; j++) near(out[out_turned ? j * I + i : i * J + j], wanted[i * J + j]);
    }
    arena_free(arena);
}

/* graph_eval_noisy simulates rounding. The error of a sum is relative to its terms, even if the terms cancel. The
 * rounding of 1e-200 changes it by about 1e-200 * 2^-23. */
static void noise_is_of_the_terms(void)
{
    struct arena *arena = arena_new();
    struct graph *g = graph_of(arena,
                               "graph x f32\naxis i n_q\naxis d 2\n%0 = input q [i d]\n%1 = map [i d] "
                               "mul(%0, %0)\n%2 = map [i] sub(mul(%1[i, 0], %0[i, 1]), mul(%1[i, 1], %0[i, 0]))\n"
                               "%3 = contract [i] %0 %0\n%4 = map [i] add(%2, %3)\noutput %2\noutput z %3\n");
    double q[4] = {1000, 1000, 1e-100, 0}, out[4];
    struct tensor in = {"q", q};
    uint64_t state = 1;
    double largest = 0;
    for (int try = 0; try < 50; try++) {
        CU_ASSERT_PTR_NULL(graph_eval_noisy(g, &(struct problem_size){1, 1, 1, 2, 1}, &in, 1, &state, out));
        CU_ASSERT_TRUE(out[0] != 0 && fabs(out[0]) < 6e9 * 0x1p-24);
        CU_ASSERT_TRUE(out[1] == 0);
        CU_ASSERT_TRUE(fabs(out[2] - 2e6) < 4e6 * 0x1p-23 && fabs(out[3] / 1e-200 - 1) < 0x1p-22);
        largest = fmax(largest, fabs(out[0]));
    }
    CU_ASSERT_TRUE(largest > 1e9 * 0x1p-24);
    arena_free(arena);
}

static void subscripts_of_sums_may_be_any(void)
{
    struct arena *arena = arena_new();
    /* This graph is a convolution: the sum of q[i - t] * w[t] over all t with i - t >= 0. */
    struct graph *g = graph_of(arena, "graph x f32\naxis i n_q\naxis t 3\n%0 = input q [i]\n%1 = param w [t]\n%2 = "
                                      "contract [i] %0[sub(i, t)] %1 where le(t, i)\noutput %2\n");
    double q[4] = {1, 2, 3, 4}, w[3] = {1, 10, 100}, out[4];
    struct tensor in[2] = {{"w", w}, {"q", q}};
    const struct problem_size size = {1, 1, 1, 4, 1};
    CU_ASSERT_PTR_NULL(graph_eval(g, &size, in, 2, out));
    near(out[0], 1), near(out[1], 12), near(out[2], 123), near(out[3], 234);
    says(graph_eval(g, &size, in, 1, out), "the array 'q' is missing");
    arena_free(arena);
}

/* ---- loops against their graph ---- */

#define AXES "axis b batch\naxis g kv_heads\naxis m members\naxis i n_q\naxis j n_k\naxis d 8\naxis e 5\n"
#define SEEN "le(j, add(i, sub(size(j), size(i))))"

static const char softmax_graph[] = "graph softmax f32\n" AXES
                                    "%0 = input q [b g m i d]\n%1 = input k [b g j d]\n%2 = input v [b g j e]\n"
                                    "%3 = contract [b g m i j] %0 %1\n"
                                    "%4 = map [b g m i j] exp(mul(%3, 0.5))\n"
                                    "%5 = reduce sum 0 [b g m i] %4 where " SEEN "\n"
                                    "%6 = contract [b g m i e] %4 %2 where " SEEN "\n"
                                    "%7 = map [b g m i e] select(eq(%5, 0), 0, div(%6, %5))\n"
                                    "output %7\n";

/* 0.7213475204444817 is 0.5 * log2(e). */
#define BEFORE_KEYS \
    "loops softmax f32\n" AXES \
    "array q input f32 [b g m i d]\narray k input f32 [b g j d]\narray v input f32 [b g j e]\n" \
    "array qt tile f32 [d:8 i:16]\narray s tile f32 [j:12 i:16]\narray acc tile f32 [e:5 i:16]\n" \
    "array top tile f32 [i:16]\narray old tile f32 [i:16]\narray sum tile f32 [i:16]\narray out output f32 [b g m i " \
    "e]\n" \
    "for b from 0 to size(b) step 1 parallel { for g from 0 to size(g) step 1 parallel { for m from 0 to size(m) " \
    "step 1 parallel {\n" \
    "for i from 0 to size(i) step 16 parallel {\n" \
    "  copy [d i] %qt = %q\n" \
    "  map [i] { set %top = -1e+30; set %sum = 0.0 }\n"
#define FOR_KEYS "  for j from 0 to min(size(j), add(hi(i), sub(size(j), size(i)))) step 12 where " SEEN " {\n"
#define SCORES "    dot [j i] over d set %s = %k * %qt\n    map [j i] { set %s = mul(%s, 0.7213475204444817) }\n"
#define PARTIAL "not(le(hi(j), add(lo(i), add(sub(size(j), size(i)), 1))))"
#define MASK "    if " PARTIAL " { map [j i] { set %s = select(" SEEN ", %s, -inf) } }\n"
#define WEIGHTS_OVER(region) \
    "    map [i] { set %old = %top }\n    map [j i] { max %top = %s }\n    map [i] { set %old = exp2(sub(%old, " \
    "%top)); set %sum = mul(%sum, %old) }\n" \
    "    map [j i] { set %s = exp2(sub(%s, %top)); sum %sum = %s }\n    dot [e i] over j sum %acc = %v[b, g, j, e] * " \
    "%s factor %old" region "\n  }\n"
#define WEIGHTS WEIGHTS_OVER("")
#define AFTER_KEYS "  map [e i] { set %out = select(eq(%sum, 0), 0, div(%acc, %sum)) }\n}\n}}}\n"
#define CLEAR "  map [e i] { set %acc = 0.0 }\n"

struct case_of_softmax {
    struct problem_size size;
    struct tensor in[3];
    double *out, *wanted;
    int64_t elements;
};

static struct case_of_softmax softmax_case(struct arena *arena, struct problem_size size)
{
    int64_t heads = size.batch * size.kv_heads, queries = heads * size.members * size.n_q;
    struct case_of_softmax c = {.size = size,
                                .in = {{"q", numbers(arena, queries * 8, 3)},
                                       {"k", numbers(arena, heads * size.n_k * 8, 4)},
                                       {"v", numbers(arena, heads * size.n_k * 5, 5)}},
                                .elements = queries * 5};
    c.out = numbers(arena, c.elements, 6);
    c.wanted = numbers(arena, c.elements, 7);
    return c;
}

/* Returns one element of causal softmax attention, computed in plain C. */
static double plain_softmax(const struct case_of_softmax *c, int64_t bg, int64_t m, int64_t i, int64_t e)
{
    const double *q = c->in[0].data + ((bg * c->size.members + m) * c->size.n_q + i) * 8;
    double sum = 0, weighted = 0;
    for (int64_t j = 0; j < c->size.n_k && j <= i + c->size.n_k - c->size.n_q; j++) {
        const double *k = c->in[1].data + (bg * c->size.n_k + j) * 8;
        double s = 0;
        for (int d = 0; d < 8; d++) s += q[d] * k[d];
        sum += exp(0.5 * s);
        weighted += exp(0.5 * s) * c->in[2].data[(bg * c->size.n_k + j) * 5 + e];
    }
    return sum == 0 ? 0 : weighted / sum;
}

static void tiled_softmax_is_the_graph(void)
{
    const struct problem_size sizes[] = {{2, 2, 2, 37, 37}, {1, 1, 3, 16, 24}, {1, 2, 1, 5, 61},
                                         {1, 1, 2, 50, 19}, {1, 1, 1, 1, 1},   {1, 1, 1, 40, 1}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        struct arena *arena = arena_new();
        struct case_of_softmax c = softmax_case(arena, sizes[n]);
        const char *wrong = graph_eval(graph_of(arena, softmax_graph), &c.size, c.in, 3, c.wanted);
        CU_ASSERT_PTR_NULL(wrong);
        int64_t at = 0;
        for (int64_t bg = 0; bg < c.size.batch * c.size.kv_heads; bg++)
            for (int64_t m = 0; m < c.size.members; m++)
                for (int64_t i = 0; i < c.size.n_q; i++)
                    for (int e = 0; e < 5; e++) near(c.wanted[at++], plain_softmax(&c, bg, m, i, e));
        wrong = loops_eval(loops_of(arena, BEFORE_KEYS CLEAR FOR_KEYS SCORES MASK WEIGHTS AFTER_KEYS), &c.size, c.in, 3,
                           c.out);
        CU_ASSERT_PTR_NULL(wrong);
        if (wrong) printf("%s\n", wrong);
        for (int64_t k = 0; k < c.elements; k++) near(c.out[k], c.wanted[k]);
        arena_free(arena);
    }
}

/* Infinity and NaN in a row of v do not reach queries that do not see its key. */
static void products_have_regions(void)
{
    static const struct {
        const char *text;
        bool kept_out;
    } rows[] = {
        {BEFORE_KEYS CLEAR FOR_KEYS SCORES MASK WEIGHTS_OVER(" where " SEEN) AFTER_KEYS, true},
        {BEFORE_KEYS CLEAR FOR_KEYS SCORES MASK WEIGHTS_OVER(" where " SEEN " when " PARTIAL) AFTER_KEYS, true},
        {BEFORE_KEYS CLEAR FOR_KEYS SCORES MASK WEIGHTS_OVER(
             " where " SEEN " outside [0, add(lo(i), add(sub(size(j), size(i)), 1)))") AFTER_KEYS,
         true},
        {BEFORE_KEYS CLEAR FOR_KEYS SCORES MASK WEIGHTS AFTER_KEYS, false},
        {BEFORE_KEYS CLEAR FOR_KEYS SCORES MASK WEIGHTS_OVER(" where " SEEN " when lt(hi(j), 0)") AFTER_KEYS, false}};
    enum { N = 30, KEY = 20 };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct arena *arena = arena_new();
        struct case_of_softmax c = softmax_case(arena, (struct problem_size){1, 1, 1, N, N});
        CU_ASSERT_PTR_NULL(graph_eval(graph_of(arena, softmax_graph), &c.size, c.in, 3, c.wanted));
        double *v = arena_alloc(arena, N * 5 * sizeof *v);
        memcpy(v, c.in[2].data, N * 5 * sizeof *v);
        for (int e = 0; e < 5; e++) v[KEY * 5 + e] = e % 2 ? INFINITY : NAN;
        c.in[2].data = v;
        CU_ASSERT_PTR_NULL(loops_eval(loops_of(arena, rows[n].text), &c.size, c.in, 3, c.out));
        int spoiled = 0;
        for (int k = 0; k < KEY * 5; k++) spoiled += !(fabs(c.out[k] - c.wanted[k]) < 1e-12);
        for (int k = KEY * 5; k < N * 5; k++) CU_ASSERT_FALSE(isfinite(c.out[k]));
        CU_ASSERT_EQUAL(spoiled == 0, rows[n].kept_out);
        arena_free(arena);
    }
}

/* min(a, b) and max(a, b) are NaN if a or b is. */
static void extremes_keep_nan(void)
{
    struct arena *arena = arena_new();
    struct module *m = module_new(arena, "x", DTYPE_F32);
    const struct expr *a = expr_leaf(m, EXPR_OPERAND, 0), *b = expr_leaf(m, EXPR_OPERAND, 1);
    const double pairs[][2] = {{NAN, 1}, {1, NAN}, {NAN, NAN}, {1, 2}, {2, 1}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        const struct environment env = {.operand = pairs[k]};
        const double least = expr_eval(expr_make(m, EXPR_MIN, a, b, NULL), &env),
                     most = expr_eval(expr_make(m, EXPR_MAX, a, b, NULL), &env);
        CU_ASSERT(k < 3 ? isnan(least) && isnan(most) : least == 1 && most == 2);
    }
    arena_free(arena);
}

/* Shifts by fewer than 0 or more than 63 bits are defined, and integers have 64 bits. */
static void operations_on_bits(void)
{
    static const struct {
        enum expr_op op;
        int64_t a, b, result;
    } tests[] = {{EXPR_BIT_AND, -1, INT64_MIN, INT64_MIN},
                 {EXPR_BIT_OR, INT64_C(1) << 40, -8, -8},
                 {EXPR_BIT_XOR, INT64_C(1) << 33, (INT64_C(1) << 33) + 5, 5},
                 {EXPR_SHIFT_LEFT, 3, 62, INT64_MIN / 2},
                 {EXPR_SHIFT_LEFT, -1, 63, INT64_MIN},
                 {EXPR_SHIFT_LEFT, 1, 64, 0},
                 {EXPR_SHIFT_LEFT, 1, -1, 0},
                 {EXPR_SHIFT_RIGHT, -5, 1, -3},
                 {EXPR_SHIFT_RIGHT, -5, 64, -1},
                 {EXPR_SHIFT_RIGHT, 5, -1, 0},
                 {EXPR_SHIFT_RIGHT, INT64_MIN, 63, -1}};
    struct arena *arena = arena_new();
    struct module *m = module_new(arena, "x", DTYPE_F32);
    module_axis(m, "i", SIZE_N_Q, 0);
    module_axis(m, "j", SIZE_N_K, 0);
    const struct expr *i = expr_leaf(m, EXPR_INDEX, 0), *j = expr_leaf(m, EXPR_INDEX, 1);
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++) {
        int64_t index[] = {tests[k].a, tests[k].b};
        const struct environment env = {.index = index};
        CU_ASSERT_EQUAL(expr_eval_int(expr_make(m, tests[k].op, i, j, NULL), &env), tests[k].result);
        const struct expr *folded = expr_make(m, tests[k].op, expr_int(m, index[0]), expr_int(m, index[1]), NULL);
        CU_ASSERT(folded->op == EXPR_INT && folded->integer == tests[k].result);
    }
    arena_free(arena);
}

/* A list has a digit for each number. Its numbers fold. Beyond its ends are zeros. */
static void lists_have_numbers(void)
{
    struct arena *arena = arena_new();
    struct module *m = module_new(arena, "x", DTYPE_F32);
    module_axis(m, "f", SIZE_CONSTANT, 4);
    const struct expr *const e = expr_id(m, EXPR_LISTED, "_0aZ", expr_index(m, 0), NULL, NULL);
    static const int64_t numbers[] = {0, 0, 10, 61, 0};
    for (int64_t at = -1; at < 4; at++) {
        const struct environment env = {.index = &at};
        CU_ASSERT_EQUAL(expr_eval_int(e, &env), numbers[at + 1]);
        CU_ASSERT_PTR_EQUAL(expr_replace(m, e, expr_index(m, 0), expr_int(m, at)), expr_int(m, numbers[at + 1]));
    }
    for (int n = 0; n < LISTED_NUMBERS; n++) {
        const char list[] = {LIST_START, expr_digit(n), 0};
        CU_ASSERT_EQUAL(listed_number(list, 0), n);
    }
    arena_free(arena);
}

/* Tests a system of three equations, in the graph and in the loops. It is solved forward, and backward from the
 * last equation. A region may leave out one term. */
static void triangular_systems_are_solved(void)
{
    struct arena *arena = arena_new();
    const struct problem_size three = {1, 1, 1, 1, 3};
    double k[6] = {1, 2, 3, -1, 0.5, 4}, v[6] = {1, 10, 2, 20, 3, 30}, rate[3] = {0.5, 2, -1}, out[6];
    struct tensor in[] = {{"k", k}, {"v", v}, {"x", rate}};
    const char *const graph = "graph x f32\n" KEYS "%%0 = input k [j d]\n%%1 = input v [j e]\n%%2 = input x [j]\n"
                              "%%3 = contract [t j] %%0[t, d] %%0\n%%4 = solve [j e] %%3 %%1 %%2%s\noutput %%4\n";
    for (int region = 0; region < 2; region++) {
        struct graph *g = graph_of(arena, arena_printf(arena, graph, region ? " where lt(0, j)" : ""));
        CU_ASSERT_PTR_NULL(graph_eval(g, &three, in, 3, out));
        for (int e = 0; e < 2; e++) {
            const double first = 0.5 * v[e], second = 2 * (v[2 + e] - (region ? 0 : 1 * first)),
                         third = -(v[4 + e] - (region ? 0 : 8.5 * first) - -2.5 * second);
            near(out[e], first), near(out[2 + e], second), near(out[4 + e], third);
        }
    }
    struct loops *l = loops_of(
        arena, "loops x f32\n" KEYS "array k input f32 [j d]\narray v input f32 [j e]\narray x input f32 [j]\narray w "
               "tile f32 [j:4 t:4]\narray r tile f32 [j:4]\narray y tile f32 [t:4 e:2]\narray u tile f32 [j:4 e:2]\n"
               "array out output f32 [j e]\nfor j from 0 to size(j) step 4 {\nfor t from lo(j) to hi(j) step 4 {\n"
               "dot [j t] over d set %w = %k * %k[t, d]\nmap [j] { set %r = %x }\nmap [t e] { set %y = %v[t, e] }\n"
               "solve [t e] over j %u = %w %y %r\n}\ncopy [j e] %out = %u\n}\n");
    CU_ASSERT_PTR_NULL(loops_eval(l, &three, in, 3, out));
    near(out[0], 0.5), near(out[2], 2 * (2 - 0.5)), near(out[4], -(3 - 8.5 * 0.5 + 2.5 * 3));
    struct graph *g = graph_of(
        arena, arena_printf(arena, "graph x f32\n" KEYS "%%0 = input k [j d]\n%%1 = input v [j e]\n%%2 = input x [j]\n"
                                   "%%3 = contract [t j] %%0[t, d] %%0\n"
                                   "%%4 = solve backward [j e] %%3 %%1 %%2\noutput %%4\n"));
    struct loops *after = loops_of(
        arena, "loops x f32\n" KEYS "array k input f32 [j d]\narray v input f32 [j e]\narray x input f32 [j]\narray w "
               "tile f32 [j:4 t:4]\narray r tile f32 [j:4]\narray y tile f32 [t:4 e:2]\narray u tile f32 [j:4 e:2]\n"
               "array out output f32 [j e]\nfor j from 0 to size(j) step 4 {\nfor t from lo(j) to hi(j) step 4 {\n"
               "dot [j t] over d set %w = %k * %k[t, d]\nmap [j] { set %r = %x }\nmap [t e] { set %y = %v[t, e] }\n"
               "solve [t e] over j backward %u = %w %y %r\n}\ncopy [j e] %out = %u\n}\n");
    for (int form = 0; form < 2; form++) {
        if (form)
            CU_ASSERT_PTR_NULL(loops_eval(after, &three, in, 3, out))
        else
            CU_ASSERT_PTR_NULL(graph_eval(g, &three, in, 3, out))
        near(out[4], -3), near(out[2], 2 * (2 + 2.5 * -3)), near(out[0], 0.5 * (1 - 1 * out[2] - 8.5 * -3));
    }
    arena_free(arena);
}

static void random_numbers(void)
{
    struct arena *arena = arena_new();
    struct module *m = module_new(arena, "x", DTYPE_F32);
    const int64_t at[][3] = {{0, 0, 0}, {-1, 7, INT64_C(0x500000003)}, {INT64_C(0x100000002), 1 << 30, -1}};
    m->seed = UINT64_C(0xfedcba9876543210);
    for (int k = 0; k < 3; k++) {
        const struct expr *e = expr_make(m, EXPR_RANDOM, expr_int(m, at[k][0]), expr_int(m, at[k][1]),
                                         expr_int(m, at[k][2]));
        const uint32_t counter[4] = {(uint32_t)at[k][0], (uint32_t)(at[k][1] / 4), (uint32_t)at[k][2],
                                     (uint32_t)((uint64_t)at[k][2] >> 32)},
                       key[2] = {(uint32_t)m->seed, (uint32_t)(m->seed >> 32)};
        uint32_t word[4];
        attn_philox(counter, key, word);
        CU_ASSERT_EQUAL(e->op, EXPR_RANDOM);
        CU_ASSERT_EQUAL(expr_eval_int(e, &(struct environment){.seed = m->seed}), (int64_t)word[at[k][1] % 4]);
    }
    const char *text = "graph x f32\naxis i n_q\n%0 = map [i] select(lt(random(i, add(i, 1), 3), 7), 0.0, 1.0)\n"
                       "output %0\n";
    struct graph *g = graph_parse(arena, text, diagnostics_new(arena, "test", text, strlen(text)));
    struct text again = {0};
    graph_print(g, &again);
    CU_ASSERT_STRING_EQUAL(again.data, text);
    text_free(&again);
    arena_free(arena);
}

/* ---- errors that the loops' interpreter finds ---- */

static void tiling_bugs_are_found(void)
{
    struct arena *arena = arena_new();
    struct case_of_softmax c = softmax_case(arena, (struct problem_size){1, 1, 2, 20, 30});
    const char *wrong = loops_eval(loops_of(arena, BEFORE_KEYS FOR_KEYS SCORES MASK WEIGHTS AFTER_KEYS), &c.size, c.in,
                                   3, c.out);
    says(wrong, "'dot [e i] over j sum %acc = %v * %s factor %old' at i = 0, e = 0: %acc is read before it is written");
    wrong = loops_eval(loops_of(arena, BEFORE_KEYS CLEAR FOR_KEYS MASK SCORES WEIGHTS AFTER_KEYS), &c.size, c.in, 3,
                       c.out);
    says(wrong, "%s is read before it is written");
    wrong = loops_eval(loops_of(arena, BEFORE_KEYS CLEAR FOR_KEYS SCORES MASK WEIGHTS
                                "  if lt(lo(i), 16) {\n"
                                "  map [e i] { set %out = %acc } }\n}\n}}}\n"),
                       &c.size, c.in, 3, c.out);
    says(wrong, "element 80 of the output %out was never written");
    wrong = loops_eval(
        loops_of(arena, BEFORE_KEYS CLEAR FOR_KEYS SCORES "  map [j i] { set %s = %qt[j, i] }\n" WEIGHTS AFTER_KEYS),
        &c.size, c.in, 3, c.out);
    says(wrong, "subscript 1 runs along 'j', which is not as long as 'd'");
    wrong = loops_eval(
        loops_of(arena, BEFORE_KEYS CLEAR FOR_KEYS SCORES
                 "  map [j i] { set %s = 1.0 } map [i] { set %old = %s[hi(j), i] }\n" WEIGHTS AFTER_KEYS),
        &c.size, c.in, 3, c.out);
    says(wrong, "at i = 0: %s is indexed outside its extents");
    wrong = loops_eval(loops_of(arena, BEFORE_KEYS CLEAR
                                "  for j from 0 to add(size(j), 1) step 12 {\n" SCORES MASK WEIGHTS AFTER_KEYS),
                       &c.size, c.in, 3, c.out);
    says(wrong, "a for over 'j' has the range 24 to 31 of 30 elements");
    arena_free(arena);
}

/* A tile holds the elements of one range. Its contents are discarded when the range moves and when a parallel body
   begins. */
static void tiles_forget(void)
{
    const char *head = "loops x f32\naxis i n_q\naxis j n_k\narray t tile f32 [i:4]\narray c tile f32 []\narray q "
                       "input f32 [i]\narray out output f32 [i]\n";
    struct arena *arena = arena_new();
    double q[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
    struct tensor in = {"q", q};
    const struct problem_size size = {1, 1, 1, 8, 2};
    const char
        *stale = "for i from 0 to size(i) step 4 { if eq(lo(i), 0) { copy [i] %t = %q }\n copy [i] %out = %t }\n";
    says(loops_eval(loops_of(arena, arena_printf(arena, "%s%s", head, stale)), &size, &in, 1, out),
         "'copy [i] %out = %t' at i = 4: %t is read before it is written");
    const char *carried = "for j from 0 to size(j) step 1 { map [j] { set %%c = 3.0 } }\nfor i from 0 to size(i) step "
                          "4 %s { map [i] { set %%out = %%c } }\n";
    const char *text = arena_printf(arena, arena_printf(arena, "%s%s", head, carried), "");
    CU_ASSERT_PTR_NULL(loops_eval(loops_of(arena, text), &size, &in, 1, out));
    near(out[7], 3);
    text = arena_printf(arena, arena_printf(arena, "%s%s", head, carried), "parallel");
    says(loops_eval(loops_of(arena, text), &size, &in, 1, out), "%c is read before it is written");
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"maps compute", maps_compute},
        {"maps read lazily", maps_read_lazily},
        {"sums and maxima have regions", sums_and_maxima_have_regions},
        {"regions shut out infinities", regions_shut_out_infinities},
        {"contractions agree in every order", contractions_agree_in_every_order},
        {"subscripts of sums may be any", subscripts_of_sums_may_be_any},
        {"noise", noise_is_of_the_terms},
        {"tiled softmax is the graph", tiled_softmax_is_the_graph},
        {"products have regions", products_have_regions},
        {"extremes keep NaN", extremes_keep_nan},
        {"operations on bits", operations_on_bits},
        {"lists have numbers", lists_have_numbers},
        {"triangular systems are solved", triangular_systems_are_solved},
        {"random numbers", random_numbers},
        {"tiling bugs are found", tiling_bugs_are_found},
        {"tiles forget", tiles_forget},
    };
    return unit_tests_run("ir evaluation", tests, sizeof tests / sizeof *tests);
}
