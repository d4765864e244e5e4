/* Tests the text form and the verifier of both IRs. Printed text is parsed again. Errors must have positions. */
#include "../../ir/ir.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AXES "axis b batch\naxis g kv_heads\naxis m members\naxis i n_q\naxis j n_k\naxis d 64\naxis e 64\n"

static const char softmax_graph[] = "graph softmax_causal f32\n" AXES "%0 = input q [b g m i d]\n"
                                    "%1 = input k [b g j d]\n"
                                    "%2 = input v [b g j e]\n"
                                    "%3 = contract [b g m i j] %0 %1\n"
                                    "%4 = map [b g m i j] exp(mul(%3, 0.125))\n"
                                    "%5 = reduce sum 0 [b g m i] %4 where le(j, add(i, sub(size(j), size(i))))\n"
                                    "%6 = contract [b g m i e] %4 %2 where le(j, add(i, sub(size(j), size(i))))\n"
                                    "%7 = map [b g m i e] select(eq(%5, 0), 0, div(%6, %5))\n"
                                    "output %7\n";

/* A graph that uses all features of the text: tables, subscripts, relabelled operands, maxima, online sums, unusual
   constants. */
static const char full_graph
    [] = "graph full f64\naxis g kv_heads\naxis i n_q\naxis j n_k\naxis d 4\naxis f 4\naxis p 2\n"
         "%0 = input q [g i d]\n"
         "%1 = param sketch.g1 normal [d f]\n"
         "%2 = table rope_theta [p] {1, 0.5}\n"
         "%3 = map [g i d] select(lt(mod(d, 2), 1), %0[g, i, add(d, 1)], mul(%0[g, i, add(d, -1)], %2[div(d, 2)]))\n"
         "%4 = contract [g i f] %3 %1\n"
         "%5 = contract [g i d] %4 %1[f, d]\n"
         "%6 = map [g i j] add(mul(%5[g, i, 0], 1e-05), min(pow(2.0, neg(%5[g, i, 3])), 3.0))\n"
         "%7 = reduce max -inf [g i] %6 where or(le(j, i), not(lt(j, 2)))\n"
         "%8 = map [g i j] exp2(sub(%6, %7))\n"
         "%9 = reduce sum 0 [g i] %8 where or(le(j, i), not(lt(j, 2))) online %7\n"
         "%10 = map [g i] select(eq(%7, -inf), 1e+20, add(%9, 0.1))\n"
         "%11 = reduce max 1e-30 [g i] %6 where le(j, i)\n"
         "%12 = reduce sum 0 [g i] %6 where le(j, i) online %11 power 16\n"
         "%13 = map [g i] add(%10, %12)\n"
         "output %13\n";

static const char softmax_loops[] = "loops softmax_causal f32\n" AXES "array q input f32 [b g m i d]\n"
                                    "array k input f32 [b g j d]\n"
                                    "array theta table f64 [e] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,\n"
                                    "    13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,\n"
                                    "    25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36,\n"
                                    "    37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,\n"
                                    "    49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60,\n"
                                    "    61, 62, 63, 64}\n"
                                    "array qt tile f32 [d:64 i:64] @0\n"
                                    "array s tile f32 [j:96 i:64] @16384\n"
                                    "array top tile f32 [i:64] @40960\n"
                                    "array out output f32 [b g m i e]\n"
                                    "workspace 41216\n"
                                    "for b from 0 to size(b) step 1 parallel {\n"
                                    "  for g from 0 to size(g) step 1 parallel {\n"
                                    "    for m from 0 to size(m) step 1 parallel {\n"
                                    "      for i from 0 to size(i) step 64 parallel {\n"
                                    "        copy [d i] %qt = %q\n"
                                    "        map [i] { set %top = -inf }\n"
                                    "        for j from 0 to min(size(j), add(hi(i), 3)) step 96 where le(j, i) {\n"
                                    "          dot [j i] over d set %s = %k * %qt\n"
                                    "          dot [j i] over d sum %s = %k * %qt factor %top\n"
                                    "          if not(le(hi(j), lo(i))) {\n"
                                    "            map [j i] { set %s = select(le(j, i), %s, -inf) }\n"
                                    "          }\n"
                                    "          map [j i] { max %top = %s }\n"
                                    "          map [j i] {\n"
                                    "            set %s = select(le(add(j, sub(size(j), size(i))), i), "
                                    "exp2(mul(sub(%s, %top), 1.4426950408889634)), 0.0);\n"
                                    "            sum %top = mul(%s, 0.25)\n"
                                    "          }\n"
                                    "        }\n"
                                    "        map [e i] { set %out = %top }\n"
                                    "      }\n"
                                    "    }\n"
                                    "  }\n"
                                    "}\n";

/* Parses the text. *said becomes the printed diagnostics, which the caller frees. */
static struct graph *parse_graph(struct arena *arena, const char *text, char **said)
{
    struct diagnostics *d = diagnostics_new(arena, "test", text, strlen(text));
    size_t size = 0;
    FILE *out = open_memstream(said, &size);
    struct graph *g = graph_parse(arena, text, d);
    diagnostics_flush(d, out, false);
    fclose(out);
    return g;
}

static struct loops *parse_loops(struct arena *arena, const char *text, char **said)
{
    struct diagnostics *d = diagnostics_new(arena, "test", text, strlen(text));
    size_t size = 0;
    FILE *out = open_memstream(said, &size);
    struct loops *l = loops_parse(arena, text, d);
    diagnostics_flush(d, out, false);
    fclose(out);
    return l;
}

static void same_text(const char *got, const char *wanted)
{
    CU_ASSERT_TRUE(got && strcmp(got, wanted) == 0);
    if (!got || strcmp(got, wanted) != 0) printf("--- wanted\n%s--- got\n%s", wanted, got ? got : "nothing\n");
}

static void graph_round_trip(const char *source)
{
    struct arena *arena = arena_new();
    char *said = NULL;
    struct graph *g = parse_graph(arena, source, &said);
    same_text(said, "");
    if (g) {
        const char *wrong = graph_verify(g);
        same_text(wrong ? wrong : "", "");
        struct text out = {NULL, 0, 0};
        graph_print(g, &out);
        same_text(out.data, source);
        text_free(&out);
    }
    free(said);
    arena_free(arena);
}

static void loops_round_trip(const char *source)
{
    struct arena *arena = arena_new();
    char *said = NULL;
    struct loops *l = parse_loops(arena, source, &said);
    same_text(said, "");
    if (l) {
        const char *wrong = loops_verify(l);
        same_text(wrong ? wrong : "", "");
        struct text out = {NULL, 0, 0};
        loops_print(l, &out);
        same_text(out.data, source);
        text_free(&out);
    }
    free(said);
    arena_free(arena);
}

static void graphs_round_trip(void)
{
    graph_round_trip(softmax_graph);
    graph_round_trip(full_graph);
}

static void loops_texts_round_trip(void)
{
    loops_round_trip(softmax_loops);
}

static void comments_and_space_do_not_matter(void)
{
    struct arena *arena = arena_new();
    char *said = NULL;
    struct graph *g = parse_graph(
        arena,
        "# a comment\ngraph x f32 axis i n_q # all on one line\n%0=input q[i] %1=map[i]add(%0,\n  1.0)\noutput %1",
        &said);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    struct text out = {NULL, 0, 0};
    graph_print(g, &out);
    same_text(out.data, "graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] add(%0, 1.0)\noutput %1\n");
    text_free(&out);
    free(said);
    arena_free(arena);
}

/* Two equal references are parsed as one operand. */
static void equal_references_become_one(void)
{
    struct arena *arena = arena_new();
    struct module *m = module_new(arena, "twice", DTYPE_F32);
    int i = module_axis(m, "i", SIZE_N_Q, 0);
    struct graph *g = graph_new(m);
    graph_input(g, "q", 1, &i);
    struct ref twice[2] = {graph_ref(g, 0, NULL), graph_ref(g, 0, NULL)};
    graph_output(g, "out",
                 graph_map(g, 1, &i, 2, twice,
                           expr_make(m, EXPR_MUL, expr_leaf(m, EXPR_OPERAND, 1), expr_leaf(m, EXPR_OPERAND, 0), NULL)));
    struct text out = {NULL, 0, 0};
    graph_print(g, &out);
    graph_round_trip(out.data);
    text_free(&out);
    arena_free(arena);
}

static void reals_read_back(void)
{
    const struct {
        double value;
        const char *text;
    } rows[] = {{1, "1.0"},          {0.125, "0.125"},
                {1e-5, "1e-05"},     {INFINITY, "inf"},
                {-INFINITY, "-inf"}, {-0.0, "-0.0"},
                {0.1, "0.1"},        {1.0 / 3, "0.3333333333333333"},
                {1e300, "1e+300"},   {123456789, "123456789.0"},
                {5e-324, "5e-324"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct text out = {NULL, 0, 0};
        real_print(rows[k].value, true, &out);
        same_text(out.data, rows[k].text);
        text_free(&out);
    }
}

/* ---- text that cannot be read ---- */

static void graph_errors_have_positions(void)
{
    const struct {
        const char *text, *said;
    } rows[] = {
        {"loops x f32\n", "test:1:1: error: expected 'graph', not 'loops'"},
        {"graph x f31\n", "test:1:9: error: expected a type: f32, bf16, f16 or f64, not 'f31'"},
        {"graph x f32\naxis i 0\n", "test:2:8: error: the number must be at least 1"},
        {"graph x f32\naxis i n_q\naxis i n_k\n", "test:3:6: error: there is an axis of that name already"},
        {"graph x f32\naxis i row\n", "test:2:8: error: expected an extent: a number, batch, kv_heads, members, n_q, "
                                      "n_k, chunks, query_chunks, units or rows, not 'row'"},
        {"graph x f32\naxis i 99999999999999999999\n", "test:2:8: error: the number does not fit in 64 bits"},
        {"graph x f32\naxis i n_q\n%0 = inputs q [i]\n", "test:3:6: error: 'inputs' is not an operation of a graph"},
        {"graph x f32\naxis i n_q\n%1 = input q [i]\n", "test:3:1: error: expected '%0', not '%1'"},
        {"graph x f32\naxis i n_q\n%0 = input q [k]\n", "test:3:15: error: there is no axis 'k'"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] selct(%0)\n",
         "test:4:14: error: there is no function 'selct'; did you mean 'select'?"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] add(%0)\n",
         "test:4:20: error: add takes 2 arguments"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] exp(%0, %0)\n",
         "test:4:20: error: exp takes 1 argument"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] %2\n",
         "test:4:14: error: '%2' is not defined before this"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] %0[exp(i)]\n",
         "test:4:17: error: a subscript must be an integer"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] %0[i, i]\n",
         "test:4:18: error: too many subscripts: expected 1"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] mod(%0, 2)\n",
         "test:4:18: error: argument 1 of mod must not be real"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n%1 = map [i] @\n",
         "test:4:14: error: expected an expression, not '@'"},
        {"graph x f32\naxis d 4\n%0 = param w gaussian [d]\n", "test:3:14: error: expected '[', not 'gaussian'"},
        {"graph x f32\naxis d 4\n%0 = input q normal [d]\n", "test:3:14: error: expected '[', not 'normal'"},
        {"graph x f32\naxis p 3\n%0 = table t [p] {1, 2}\n", "test:3:23: error: expected ',', not '}'"},
        {"graph x f32\naxis p n_q\n%0 = table t [p] {1, 2}\n",
         "test:3:18: error: the axes of a table must have constant extents"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\n", "test:4:1: error: expected 'output', not the end of the text"},
        {"graph x f32\naxis i n_q\n%0 = input q [i]\noutput %0\nmore",
         "test:5:1: error: expected the end of the text after the output"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct arena *arena = arena_new();
        char *said = NULL;
        CU_ASSERT_PTR_NULL(parse_graph(arena, rows[k].text, &said));
        said[strcspn(said, "\n")] = '\0';
        same_text(said, rows[k].said);
        free(said);
        arena_free(arena);
    }
}

static void loops_errors_have_positions(void)
{
    const struct {
        const char *text, *said;
    } rows[] = {
        {"loops x f32\naxis i n_q\narray q vector f32 [i]\n",
         "test:3:9: error: expected the kind of array: input, param, output, table or tile"},
        {"loops x f32\naxis i n_q\narray q input f32 [i]\narray q input f32 [i]\n",
         "test:4:7: error: there is an array of that name already"},
        {"loops x f32\naxis i n_q\narray t tile f32 [i]\n", "test:3:20: error: expected ':', not ']'"},
        {"loops x f32\naxis i n_q\nwhile i {\n",
         "test:3:1: error: expected a statement: for, if, map, dot, copy or solve"},
        {"loops x f32\naxis i n_q\nfor i from 0 to size(i) step 0 {\n",
         "test:3:30: error: the number must be at least 1"},
        {"loops x f32\naxis i n_q\nfor i from 0 to size(i) step 4 in [0 2) {\n",
         "test:3:38: error: expected ',', not '2'"},
        {"loops x f32\naxis i n_q\nfor i from 0 to size(i) step 4 in {\n", "test:3:35: error: expected '[', not '{'"},
        {"loops x f32\naxis i n_q\nif drawn(i, i, 3, 0, 1) {\n", "test:3:19: error: the number must be at least 1"},
        {"loops x f32\naxis i n_q\nif drawn(i, i, 3, 1, -1) {\n", "test:3:22: error: expected a seed, not '-1'"},
        {"loops x f32\naxis i n_q\nif drawn(i, i, 3, 1, 18446744073709551616) {\n",
         "test:3:22: error: expected a seed, not '18446744073709551616'"},
        {"loops x f32\naxis i n_q\nif drawn(i, 0.5, 3, 1, 1) {\n",
         "test:3:13: error: argument 2 of drawn must not be real"},
        {"loops x f32\naxis i n_q\nif id(i, i) {\n", "test:3:11: error: id takes 2 arguments"},
        {"loops x f32\naxis i n_q\nif id(doc, i, 0.5) {\n", "test:3:15: error: argument 2 of id must not be real"},
        {"loops x f32\naxis i n_q\nif lt(listed(_012, 0.5), 1) {\n",
         "test:3:20: error: argument 1 of listed must not be real"},
        {"loops x f32\naxis i n_q\nif min_id(doc, i, i) {\n", "test:3:20: error: min_id takes 3 arguments"},
        {"loops x f32\naxis i n_q\narray t tile f32 [i:4]\nmap [i] { min %t = 1.0 }\n",
         "test:4:11: error: expected set, sum or max"},
        {"loops x f32\naxis i n_q\narray t tile f32 [i:4]\nmap [i] { set %u = 1.0 }\n",
         "test:4:15: error: '%u' is not defined before this"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct arena *arena = arena_new();
        char *said = NULL;
        CU_ASSERT_PTR_NULL(parse_loops(arena, rows[k].text, &said));
        said[strcspn(said, "\n")] = '\0';
        same_text(said, rows[k].said);
        free(said);
        arena_free(arena);
    }
}

static void deep_nesting_is_an_error(void)
{
    struct text deep = {NULL, 0, 0};
    text_add(&deep, "graph x f32\naxis i n_q\n%%0 = map [i] ");
    for (int k = 0; k < 100000; k++) text_add(&deep, "exp(");
    struct arena *arena = arena_new();
    char *said = NULL;
    CU_ASSERT_PTR_NULL(parse_graph(arena, deep.data, &said));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "nested too deeply"));
    free(said);
    arena_free(arena);
    text_free(&deep);
}

/* ---- text that is read but refused by the verifier ---- */

static void graph_verifier_complains(void)
{
    const struct {
        const char *text, *wrong;
    } rows[] = {
        {"%0 = input q [i d]\n%1 = map [i] %0[i, j]\noutput %1",
         "%1 (map): in its reference to %0: axis 'j' cannot be used here"},
        {"%0 = input q [i d]\n%1 = map [i d] add(%0, j)\noutput %1", "%1 (map): axis 'j' cannot be used here"},
        {"%0 = input q [i d]\n%1 = map [i j] %0[i, j]\noutput %1",
         "%1 (map): in its reference to %0: subscript 2 runs along 'j', which is not as long as 'd'"},
        {"%0 = input q [i d]\n%1 = map [i w] %0[i, w]\noutput %1",
         "%1 (map): in its reference to %0: subscript 2 runs along 'w', which is longer than 'd'"},
        {"%0 = input q [i i]\noutput %0", "%0 (input): axis 'i' occurs twice"},
        {"%0 = input q [i]\n%1 = input q [j]\noutput %0", "%1 (input): %0 is called 'q' too"},
        {"%0 = input ids [i]\n%1 = map [i] id(ids, 0, 0)\noutput %1", "%1 (map): there is no id parameter 'ids'"},
        {"%0 = map [i] id(ids, 0, i)\noutput %0", "%0 (map): there is no id parameter 'ids'"},
        {"%0 = input q [i j]\n%1 = reduce sum 0 [i] %0 where eq(id(q, 0, i), id(q, 0, j))\noutput %1",
         "%1 (reduce): there is no id parameter 'q'"},
        {"%0 = param w normal [i d]\noutput %0", "%0 (param): the extent of axis 'i' is not constant"},
        {"%0 = param w orthogonal [d]\noutput %0", "%0 (param): orthogonal features must have two axes"},
        {"%0 = input q [i d]\n%1 = reduce sum 0 [i] %0 where d\noutput %1",
         "%1 (reduce): in its region: the condition is not a truth value"},
        {"%0 = input q [i d]\n%1 = reduce sum 0 [i] %0 where lt(j, 2)\noutput %1",
         "%1 (reduce): in its region: axis 'j' cannot be used here"},
        {"%0 = input q [i d]\n%1 = reduce sum 0 [i] %0 where lt(%0, 2)\noutput %1",
         "%1 (reduce): in its region: this expression must not read values"},
        {"%0 = input q [i d]\n%1 = reduce sum 0 [j] %0\noutput %1", "%1 (reduce): none of its operands has axis 'j'"},
        {"%0 = input q [i d]\n%1 = reduce sum 0 [i] %0\n%2 = reduce sum 0 [i] %0 online %1\noutput %2",
         "%2 (reduce): %1 is not a maximum"},
        {"%0 = input q [i d]\n%1 = reduce max 0 [d] %0\n%2 = reduce sum 0 [i] %0 online %1\noutput %2",
         "%2 (reduce): its running maximum %1 has an axis that it lacks"},
        {"%0 = input q [i d]\n%1 = reduce sum 0 [i] %0 power 4\noutput %1",
         "%1 (reduce): 'power' must be positive and needs 'online'"},
        {"%0 = input q [i d]\n%1 = reduce max 0 [i] %0\n%2 = reduce sum 0 [i] %0 online %1 power 4\n"
         "%3 = reduce sum 0 [i] %0 online %1 power 6\noutput %3",
         "%3 (reduce): %2 has a different 'power' for %1"},
        {"%0 = input k [j d]\n%1 = reduce sum 0 [d] %0 where lt(j, 2) keep 0.5\noutput %1",
         "%1 (reduce): 'keep' needs an axis of chunks and a region"},
        {"%0 = input k [j d]\n%1 = reduce max 0 [c d] %0 where lt(j, mul(c, 4)) keep 0.5\noutput %1",
         "%1 (reduce): 'keep' needs a sum that starts from 0"},
        {"%0 = input k [j d]\n%1 = reduce sum 0 [c d] %0 where lt(j, mul(c, 4)) keep mul(i, 0.5)\noutput %1",
         "%1 (reduce): in 'keep': axis 'i' cannot be used here"},
        {"%0 = input k [j d]\n%1 = input x [j]\n%2 = contract [j] %0 %0\n%3 = solve [j d] %2 %0 %1\noutput %3",
         "%3 (solve): its weights need the sequence of the result and one more axis of the same length"},
        {"%0 = input k [j d]\n%1 = input x [j]\n%2 = contract [t j] %0[t, d] %0\n%3 = solve [j] %2 %0 %1\noutput %3",
         "%3 (solve): an operand has an axis that the result lacks"},
        {"%0 = input k [j d]\n%1 = input x [j]\n%2 = contract [t j] %0[t, d] %0\n%3 = solve [j d] %2 %0 %1 where "
         "lt(i, j)\noutput %3",
         "%3 (solve): in its region: axis 'i' cannot be used here"},
        {"%0 = input k [j d]\n%1 = input x [j]\n%2 = contract [t j] %0[t, d] %0\n%3 = solve [j d] %2 %0 %1 features "
         "%0\noutput %3",
         "%3 (solve): its features must be along the rows of the weights"},
        {"%0 = input q [i d]\n%1 = map [i] lo(i)\noutput %1", "%1 (map): lo(i) stands where there are no ranges"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct arena *arena = arena_new();
        char *said = NULL;
        struct graph *g = parse_graph(
            arena,
            arena_printf(arena,
                         "graph x f32\naxis i n_q\naxis j n_k\naxis d 4\naxis w 8\naxis c chunks 4\naxis t n_k\n%s\n",
                         rows[k].text),
            &said);
        same_text(said, "");
        if (g) same_text(graph_verify(g), rows[k].wrong);
        free(said);
        arena_free(arena);
    }
}

static void loops_verifier_complains(void)
{
    const struct {
        const char *text, *wrong;
    } rows[] = {
        {"copy [i d] %out = %q\nmap [i d] { set %q = 1.0 }",
         "'map [i d] { set %q = 1.0 }': it assigns to %q, which is neither a tile nor an output"},
        {"map [i] { set %t = 1.0 }",
         "'map [i] { set %t = 1.0 }': no loop limits the range of 'i', but %t has only 16 elements along it"},
        {"for i from 0 to size(i) step 32 { map [i] { set %t = 1.0 } }",
         "'map [i] { set %t = 1.0 }': %t has 16 elements along 'i', but its range can have 32"},
        {"for j from 0 to size(j) step 4 parallel { for i from 0 to size(i) step 16 { copy [i d] %out = %q } }",
         "'copy [i d] %out = %q': threads with different indices of 'j' assign the same elements of %out"},
        {"for j from 0 to size(j) step 4 parallel ordered { for i from 0 to size(i) step 16 { copy [i d] %out = %q } }",
         "'copy [i d] %out = %q': threads with different indices of 'j' assign the same elements of %out"},
        {"for j from 0 to size(j) step 4 ordered { }",
         "'for j from 0 to size(j) step 4 ordered {': only a parallel for over a sequence without a period is ordered"},
        {"for i from lo(i) to size(i) step 16 { }",
         "'for i from lo(i) to size(i) step 16 {': its bounds use the range of 'i', which they define"},
        {"for i from 0 to size(i) step 16 { for i from 0 to size(i) step 4 { } }",
         "'for i from 0 to size(i) step 4 {': a for around it runs over 'i' too"},
        {"for i from 0 to 2.5 step 16 { }", "'for i from 0 to 2.5 step 16 {': a bound is not an integer"},
        {"for i from i to 2 step 16 { }", "'for i from i to 2 step 16 {': in its bounds: axis 'i' cannot be used here"},
        {"if lt(i, 2) { }", "'if lt(i, 2) {': in its condition: axis 'i' cannot be used here"},
        {"for i from 0 to size(i) step 16 in [i, 2) { }",
         "'for i from 0 to size(i) step 16 in [i, 2) {': in its ranges: axis 'i' cannot be used here"},
        {"for i from 0 to size(i) step 16 in [0, hi(i)) { }",
         "'for i from 0 to size(i) step 16 in [0, hi(i)) {': in its ranges: a bound uses the range of 'i' itself"},
        {"for i from 0 to size(i) step 16 when i { }",
         "'for i from 0 to size(i) step 16 when i {': in its condition: axis 'i' cannot be used here"},
        {"for i from 0 to size(i) step 16 when hi(i) { }",
         "'for i from 0 to size(i) step 16 when hi(i) {': in its condition: the condition is not a truth value"},
        {"for i from 0 to size(i) step 16 when le(0, max_id(doc, 0, lo(i), hi(i))) { }",
         "'for i from 0 to size(i) step 16 when le(0, max_id(doc, 0, lo(i), hi(i))) {': there is no id parameter "
         "'doc'"},
        {"for i from 0 to size(i) step 16 in [0, 2.5) { }",
         "'for i from 0 to size(i) step 16 in [0, 2.5) {': in its ranges: a bound is not an integer"},
        {"for j from 0 to size(j) step 16 in [0, 2) drawn(i, i, 3, 1, 1) { }",
         "'for j from 0 to size(j) step 16 in [0, 2) drawn(i, i, 3, 1, 1) {': in its ranges: the draw must select "
         "indices of 'j' for indices of the other axes"},
        {"if outside i [0, 2) { }", "'if outside i [0, 2) {': in its condition: no for around it runs over its axis"},
        {"map [i] { set %out = 1.0 }",
         "'map [i] { set %out = 1.0 }': in its reference to %out: axis 'd' cannot be used here"},
        {"for i from 0 to size(i) step 16 { map [d i] { set %t = 1.0 } }",
         "'map [d i] { set %t = 1.0 }': %t is set more than once: at every index of 'd'"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [i j] over d set %s = %q * %u } }",
         "'dot [i j] over d set %s = %q * %u': its result must have the row axis, and the lane axis last"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %u } }",
         "'dot [j i] over d set %s = %k * %u': its second operand must have the lane axis last"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %qt factor "
         "%t } }",
         "'dot [j i] over d set %s = %k * %qt factor %t': 'factor' needs 'sum'"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d max %s = %k * %qt } }",
         "'dot [j i] over d max %s = %k * %qt': it must be 'set' or 'sum'"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { map [j i] { set %s = %t[j] } } }",
         "'map [j i] { set %s = %t[j] }': in its reference to %t: subscript 1 runs along 'j', which is not as long as "
         "'i'"},
        {"for i from 0 to size(i) step 16 { map [d i] { set %qt = %qt[sub(3, d), i] } }",
         "'map [d i] { set %qt = %qt[sub(3, d), i] }': it reads elements of %qt that it assigns at other points"},
        {"array w tile f32 [d:4 i:16] paired\n", "array 'w': only a bf16 tile of rank 2 can be 'paired'"},
        {"for i from 0 to size(i) step 16 { map [d i] { set %p = 1.0 } }",
         "'map [d i] { set %p = 1.0 }': it accesses single elements of %p, which is stored in pairs"},
        {"for i from 0 to size(i) step 16 { map [d i] { set %qt = %p } }",
         "'map [d i] { set %qt = %p }': it accesses single elements of %p, which is stored in pairs"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %h * %p } }",
         ""},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %p } }",
         "'dot [j i] over d set %s = %k * %p': its first operand must be paired along the summed axis"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %qt where "
         "lt(j, add(i, d)) when lt(lo(i), hi(j)) } }",
         ""},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %qt where "
         "lt(j, i) outside [0, hi(i)) } }",
         ""},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %qt where "
         "add(j, i) } }",
         "'dot [j i] over d set %s = %k * %qt where add(j, i)': in its region: the condition is not a truth value"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %qt where "
         "lt(j, i) when lt(j, 2) } }",
         "'dot [j i] over d set %s = %k * %qt where lt(j, i) when lt(j, 2)': in its condition: axis 'j' cannot be used "
         "here"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %qt where "
         "lt(j, i) when lt(hi(i), 2) outside [0, 2) } }",
         "'dot [j i] over d set %s = %k * %qt where lt(j, i) when lt(hi(i), 2) outside [0, 2)': it has both 'when' and "
         "'outside'; only one is allowed"},
        {"for i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot [j i] over d set %s = %k * %qt times "
         "2.0 } }",
         "'dot [j i] over d set %s = %k * %qt times 2.0': 'times' needs 'set' and a paired second operand"},
        {"array x tile bf16 [j:8 d:4] paired\nfor i from 0 to size(i) step 16 { for j from 0 to size(j) step 8 { dot "
         "[j i] over d set %s = %x * %qt } }",
         "'dot [j i] over d set %s = %x * %qt': its second operand must be paired along the summed axis"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct arena *arena = arena_new();
        char *said = NULL;
        struct loops *l = parse_loops(
            arena,
            arena_printf(arena,
                         "loops x f32\naxis i n_q\naxis j n_k\naxis d 4\narray q input f32 [i d]\narray k input f32 [j "
                         "d]\narray h input bf16 [j d]\n"
                         "array p tile bf16 [d:4 i:16] paired\n"
                         "array t tile f32 [i:16]\narray u tile f32 [i:16 d:4]\narray qt tile f32 [d:4 i:16]\narray s "
                         "tile f32 [j:8 i:16]\narray out output f32 [i d]\n%s\n",
                         rows[k].text),
            &said);
        same_text(said, "");
        const char *wrong = l ? loops_verify(l) : NULL;
        same_text(wrong ? wrong : "", rows[k].wrong);
        free(said);
        arena_free(arena);
    }
}

static void placed_tiles_lie_in_the_workspace(void)
{
    struct arena *arena = arena_new();
    char *said = NULL;
    struct loops *l = parse_loops(
        arena, "loops x f32\naxis i n_q\narray t tile f32 [i:16] @64\narray out output f32 [i]\nworkspace 100\n",
        &said);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    same_text(loops_verify(l), "array 't': it does not fit in the workspace");
    l->workspace = 128;
    CU_ASSERT_PTR_NULL(loops_verify(l));
    l->array[0].offset = 32;
    same_text(loops_verify(l), "array 't': its offset is not a multiple of 64");
    free(said);
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"graphs round trip", graphs_round_trip},
        {"loops round trip", loops_texts_round_trip},
        {"comments and space do not matter", comments_and_space_do_not_matter},
        {"equal references become one", equal_references_become_one},
        {"reals read back", reals_read_back},
        {"graph errors have positions", graph_errors_have_positions},
        {"loops errors have positions", loops_errors_have_positions},
        {"deep nesting is an error", deep_nesting_is_an_error},
        {"graph verifier complains", graph_verifier_complains},
        {"loops verifier complains", loops_verifier_complains},
        {"allocated tiles are in the workspace", placed_tiles_lie_in_the_workspace},
    };
    return unit_tests_run("ir text", tests, sizeof tests / sizeof *tests);
}
