/* Tests the questions about expressions. */
#include "../../ir/ir.h"
#include "suite.h"

static struct module *m;
static const struct expr *i, *j, *x, *y;

static const struct expr *op(enum expr_op op, const struct expr *a, const struct expr *b)
{
    return expr_make(m, op, a, b, NULL);
}

static const struct expr *whole(int64_t n)
{
    return expr_int(m, n);
}

static struct arena *start(void)
{
    struct arena *arena = arena_new();
    m = module_new(arena, "query", DTYPE_F32);
    i = expr_leaf(m, EXPR_INDEX, module_axis(m, "i", SIZE_N_Q, 0));
    j = expr_leaf(m, EXPR_INDEX, module_axis(m, "j", SIZE_N_K, 0));
    x = expr_leaf(m, EXPR_OPERAND, 0);
    y = expr_leaf(m, EXPR_OPERAND, 1);
    return arena;
}

/* Answers YES for an operand, and does not look into a quotient. */
static enum answer is_operand(void *asked, const struct expr *e)
{
    ++*(int *)asked;
    return e->op == EXPR_OPERAND ? ANSWER_YES : e->op == EXPR_DIV ? ANSWER_NO : ANSWER_ARGUMENTS;
}

static void test_find(void)
{
    struct arena *arena = start();
    int asked = 0;
    CU_ASSERT(expr_find(op(EXPR_MUL, op(EXPR_EXP, x, NULL), y), is_operand, &asked) == x);
    CU_ASSERT(asked == 3); /* it stops at the first YES */
    CU_ASSERT(expr_find(op(EXPR_MUL, op(EXPR_DIV, x, y), y), is_operand, &asked) == y);
    CU_ASSERT(!expr_find(op(EXPR_NEG, op(EXPR_DIV, x, y), NULL), is_operand, &asked));
    arena_free(arena);
}

static int visited(const struct expr *e, enum expr_op skip)
{
    int count = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w); count++) w.skip = w.e->op == skip;
    return count;
}

static void test_walk(void)
{
    struct arena *arena = start();
    const struct expr *e = op(EXPR_ADD, x, op(EXPR_EXP, y, NULL)), *deep = e, *wide = x;
    CU_ASSERT(visited(NULL, EXPR_EXP) == 0);
    CU_ASSERT(visited(x, EXPR_EXP) == 1);
    CU_ASSERT(visited(e, EXPR_SUB) == 4 && e->size == 4);
    CU_ASSERT(visited(e, EXPR_EXP) == 3);
    for (int k = 0; k < 300; k++)
        deep = k % 2 ? op(EXPR_SUB, deep, y) : expr_make(m, EXPR_SELECT, op(EXPR_LT, x, y), deep, y);
    CU_ASSERT(deep->size > 1000 &&
              visited(deep, EXPR_COS) == (int)deep->size); /* few parts wait in a deep expression */
    for (int k = 0; k < 100; k++) wide = op(EXPR_MUL, wide, wide);
    CU_ASSERT(wide->size == INT64_C(1) << 62);
    arena_free(arena);
}

static void test_what_is_read(void)
{
    struct arena *arena = start();
    const struct ref of_i = {.rank = 1, .sub = {i}}, operand[] = {of_i, of_i};
    const struct expr *e = op(EXPR_ADD, x, expr_make(m, EXPR_SELECT, op(EXPR_LT, i, j), y, x));
    CU_ASSERT(expr_operands(e, NULL) == 3);
    CU_ASSERT(expr_operands(e, &(struct environment){.index = (const int64_t[]){0, 0}}) == 1);
    CU_ASSERT(expr_axes_read(y, operand) == 1 && expr_axes_read(e, operand) == 3);
    CU_ASSERT(!expr_looks_up(e));
    arena_free(arena);
}

/* Replaces exp(...) by y. */
static const struct expr *without_exp(void *of, const struct expr *e)
{
    (void)of;
    return e->op == EXPR_EXP ? y : NULL;
}

/* Replaces y + y by x. */
static const struct expr *pair(void *of, const struct expr *e)
{
    (void)of;
    return e == op(EXPR_ADD, y, y) ? x : NULL;
}

static void test_rewrites(void)
{
    struct arena *arena = start();
    const struct expr *e = op(EXPR_MUL, op(EXPR_EXP, op(EXPR_EXP, x, NULL), NULL), x);
    CU_ASSERT(expr_map(m, e, without_exp, NULL) == op(EXPR_MUL, y, x));
    CU_ASSERT(expr_map(m, x, without_exp, NULL) == x);
    /* from the leaves, a rewrite sees what other rewrites made */
    e = op(EXPR_ADD, op(EXPR_ADD, y, y), op(EXPR_MUL, x, y));
    CU_ASSERT(expr_map_up(m, e, pair, NULL) == op(EXPR_ADD, x, op(EXPR_MUL, x, y)));
    CU_ASSERT(expr_map_up(m, op(EXPR_ADD, op(EXPR_EXP, x, NULL), y), without_exp, NULL) == op(EXPR_ADD, y, y));
    CU_ASSERT(expr_replace(m, e, x, y) == op(EXPR_ADD, op(EXPR_ADD, y, y), op(EXPR_MUL, y, y)));
    CU_ASSERT(expr_replace(m, i, j, i) == i);
    CU_ASSERT(expr_bind(m, e, (const struct expr *[]){i, x}) == op(EXPR_ADD, op(EXPR_ADD, x, x), op(EXPR_MUL, i, x)));
    const struct draw draw = {.count = 2, .seed = 7};
    const struct expr *const drawn = expr_drawn(m, i, j, whole(4), draw), *const read = expr_id(m, EXPR_ID, "doc", i, j,
                                                                                                NULL);
    CU_ASSERT(expr_replace(m, drawn, i, j) == expr_drawn(m, j, j, whole(4), draw));
    CU_ASSERT(expr_replace(m, read, j, i) == expr_id(m, EXPR_ID, "doc", i, i, NULL));
    arena_free(arena);
}

static void test_has(void)
{
    struct arena *arena = start();
    const struct expr *const read = expr_id(m, EXPR_ID, "doc", i, whole(3), NULL), *const e = op(EXPR_LT,
                                                                                                 op(EXPR_ADD, read, j),
                                                                                                 whole(2));
    CU_ASSERT(expr_axes(e) == 3 && expr_axes(read) == 1 && expr_axes(x) == 0);
    CU_ASSERT(expr_has(e, EXPR_ID) && expr_has(e, EXPR_LT) && !expr_has(e, EXPR_SUB));
    CU_ASSERT(expr_has_one(e, EXPR_BIT(EXPR_SUB) | EXPR_BIT(EXPR_ADD)) && !expr_has_one(e, EXPR_BIT(EXPR_SUB)));
    CU_ASSERT(!expr_has_real(e) && expr_has_real(op(EXPR_LT, x, i)));
    CU_ASSERT(expr_takes(op(EXPR_NEG, op(EXPR_EXP, x, NULL), NULL), EFFORT_FUNCTION));
    CU_ASSERT(!expr_takes(op(EXPR_DIV, x, y), EFFORT_FUNCTION) && expr_takes(op(EXPR_DIV, x, y), EFFORT_SLOW));
    CU_ASSERT(expr_reads_ids(e) && !expr_reads_ids(op(EXPR_ADD, i, j)));
    CU_ASSERT(expr_uses(e, read) && expr_uses(e, e) && !expr_uses(e, x) && !expr_uses(read, e));
    CU_ASSERT(expr_ids_along(e, 1) && !expr_ids_along(e, 2));
    const struct ref along_i = {.of = 0, .rank = 1, .sub = {i}};
    CU_ASSERT(expr_uses_axis(op(EXPR_MUL, x, j), &along_i, 0) && expr_uses_axis(op(EXPR_MUL, x, j), &along_i, 1));
    CU_ASSERT(expr_uses_axis(x, &along_i, 0) && !expr_uses_axis(x, &along_i, 1));
    arena_free(arena);
}

static void test_sums_and_products(void)
{
    struct arena *arena = start();
    struct expr_term term[4];
    /* x - (y - x) + (-y) */
    const struct expr *e = op(EXPR_ADD, op(EXPR_SUB, x, op(EXPR_SUB, y, x)), op(EXPR_NEG, y, NULL));
    CU_ASSERT_FATAL(expr_terms(e, term, 4) == 4);
    CU_ASSERT(term[0].e == x && term[1].e == y && term[2].e == x && term[3].e == y);
    CU_ASSERT(!term[0].minus && term[1].minus && !term[2].minus && term[3].minus);
    CU_ASSERT(expr_terms(e, term, 3) == -1);
    const struct expr *factor[3];
    e = op(EXPR_MUL, op(EXPR_MUL, x, y), op(EXPR_EXP, x, NULL));
    CU_ASSERT_FATAL(expr_factors(e, factor, 3) == 3);
    CU_ASSERT(factor[0] == x && factor[1] == y && factor[2]->op == EXPR_EXP);
    CU_ASSERT(expr_factors(e, factor, 2) == -1);
    CU_ASSERT(expr_factors(x, factor, 1) == 1 && factor[0] == x);
    arena_free(arena);
}

static void test_linear(void)
{
    struct arena *arena = start();
    const struct expr *slope, *rest;
    /* 3 (i - j) + i - 5 */
    const struct expr *e = op(EXPR_SUB, op(EXPR_ADD, op(EXPR_MUL, op(EXPR_SUB, i, j), whole(3)), i), whole(5));
    CU_ASSERT(expr_linear(m, e, 0, &slope, &rest) && slope == whole(4));
    CU_ASSERT(rest == op(EXPR_SUB, op(EXPR_MUL, op(EXPR_NEG, j, NULL), whole(3)), whole(5)));
    CU_ASSERT(expr_linear(m, e, 1, &slope, &rest) && slope == whole(-3));
    CU_ASSERT(expr_linear(m, op(EXPR_MUL, j, i), 1, &slope, &rest) && slope == i && rest == whole(0));
    CU_ASSERT(expr_linear(m, op(EXPR_MOD, j, whole(4)), 0, &slope, &rest) && slope == whole(0));
    CU_ASSERT(!expr_linear(m, op(EXPR_MOD, j, whole(4)), 1, &slope, &rest));
    CU_ASSERT(!expr_linear(m, op(EXPR_MUL, j, op(EXPR_ADD, j, i)), 1, &slope, &rest));
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {{"query/find", test_find},
                                             {"query/walk", test_walk},
                                             {"query/what is read", test_what_is_read},
                                             {"query/rewrites", test_rewrites},
                                             {"query/has", test_has},
                                             {"query/sums and products", test_sums_and_products},
                                             {"query/linear", test_linear}};
    return unit_tests_run("query", tests, (int)(sizeof tests / sizeof *tests));
}
