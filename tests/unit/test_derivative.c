/* Tests derivatives of scalar expressions: their values, and that no term is 0 and no factor is 1. */
#include "../../ir/ir.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>

enum { OPERANDS = 3, AXES = 2, ROUNDS = 3000, POINTS = 8 };

static uint64_t state;

static int below(int max)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (unsigned)max);
}

static const struct expr *leaf(struct module *m, int k)
{
    return expr_leaf(m, EXPR_OPERAND, k);
}

static const struct expr *op(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b)
{
    return expr_make(m, op, a, b, NULL);
}

/* The operations on one or two reals, but for ELEMENT, which reads an array, and HELD, which has no derivative.
   Sums and products are listed several times, to be drawn more often than functions whose derivative is 0. */
static enum expr_op of_reals[EXPR_OPS + 9];
static int reals;

static void find_operations(void)
{
    enum { REAL, INT, BOOL, SAME };
    static const struct {
        int arguments, result;
    } row[] = {
#define EXPR(name, text, c, caller, arguments, result, ...) {arguments, result},
#include "../../ir/expr.def"
#undef EXPR
    };
    reals = 0;
    for (int k = 0; k < EXPR_OPS; k++)
        if (k != EXPR_ELEMENT && k != EXPR_HELD && (row[k].arguments == 1 || row[k].arguments == 2) &&
            (row[k].result == REAL || row[k].result == SAME))
            of_reals[reals++] = (enum expr_op)k;
    for (int k = 0; k < 9; k++) of_reals[reals++] = k < 3 ? EXPR_MUL : k < 6 ? EXPR_ADD : EXPR_SIGMOID;
}

/* Makes a random expression. Random numbers are drawn in separate statements, because C does not order the
   evaluation of arguments. */
static const struct expr *random_expr(struct module *m, int depth, bool integer)
{
    static const enum expr_op of_integers[] = {EXPR_ADD, EXPR_SUB,     EXPR_MUL,        EXPR_MOD,
                                               EXPR_DIV, EXPR_BIT_XOR, EXPR_SHIFT_RIGHT},
                              compare[] = {EXPR_LT, EXPR_LE, EXPR_EQ, EXPR_NE};
    if (integer) {
        if (depth <= 0 || below(3) == 0)
            return below(3) ? expr_leaf(m, EXPR_INDEX, below(AXES)) : expr_int(m, below(7) - 3);
        const enum expr_op of = of_integers[below(7)];
        const struct expr *a = random_expr(m, depth - 1, true);
        return op(m, of, a, random_expr(m, depth - 1, true));
    }
    if (depth <= 0) return below(4) ? leaf(m, below(OPERANDS)) : expr_real(m, (below(17) - 8) / 4.0);
    int kind = below(4 + reals);
    if (kind == 0) return random_expr(m, depth - 1, true);
    if (kind == 1 || kind == 2) {
        bool integers = below(2);
        const enum expr_op of = compare[below(4)];
        const struct expr *a = random_expr(m, depth - 2, integers);
        const struct expr *c = op(m, of, a, random_expr(m, depth - 2, integers));
        a = random_expr(m, depth - 1, false);
        return expr_make(m, EXPR_SELECT, c, a, random_expr(m, depth - 1, false));
    }
    if (kind == 3) {
        const struct expr *base = random_expr(m, depth - 2, false);
        return expr_power(m, base, below(9));
    }
    enum expr_op of = of_reals[kind - 4];
    const struct expr *a = random_expr(m, depth - 1, false);
    return op(m, of, a, expr_arity(of) == 2 ? random_expr(m, depth - 1, of == EXPR_POW && below(2)) : NULL);
}

/* Returns whether the derivative can be checked here: every subexpression is finite, and no root is of 0. */
static bool all_finite(const struct expr *e, const struct environment *env)
{
    for (int k = 0; k < expr_arity(e->op); k++)
        if (!all_finite(e->arg[k], env)) return false;
    double value = expr_eval(e, env);
    if (e->op == EXPR_POW && expr_eval(e->arg[0], env) == 0) return false;
    return isfinite(value) && (e->op != EXPR_SQRT || value > 0);
}

/* Returns the sum of the results of roundings in e. It changes where e jumps. */
static double rounded(const struct expr *e, const struct environment *env)
{
    double sum = expr_rounds(e->op) ? expr_eval(e, env) : 0;
    for (int k = 0; k < expr_arity(e->op); k++) sum += rounded(e->arg[k], env);
    return sum;
}

/* Returns the central difference with respect to at[k]. Returns NaN if a smaller step gives another value, because
 * of a kink or rounding, or if e jumps. */
static double difference(const struct expr *e, struct environment env, double *at, int k)
{
    double slope[2], middle = at[k], level[2];
    bool jumps = false;
    for (int n = 0; n < 2; n++) {
        double step = n ? 2.5e-5 : 1e-4, up, down;
        at[k] = middle + step;
        up = expr_eval(e, &env);
        level[0] = rounded(e, &env);
        at[k] = middle - step;
        down = expr_eval(e, &env);
        level[1] = rounded(e, &env);
        jumps |= level[0] != level[1];
        slope[n] = (up - down) / (2 * step);
    }
    at[k] = middle;
    double value = fabs(expr_eval(e, &env));
    if (jumps) return NAN;
    return fabs(slope[0] - slope[1]) <= 1e-6 * fabs(slope[1]) && value < 1e6 * fabs(slope[1]) ? slope[1]
           : slope[0] == 0 && slope[1] == 0                                                   ? 0
                                                                                              : NAN;
}

static void test_differences(void)
{
    int compared = 0, moving = 0;
    state = 1;
    find_operations();
    for (int n = 0; n < ROUNDS; n++) {
        struct arena *arena = arena_new();
        struct module *m = module_new(arena, "test", DTYPE_F64);
        for (int a = 0; a < AXES; a++) module_axis(m, a ? "j" : "i", SIZE_CONSTANT, 9);
        const struct expr *e = random_expr(m, 1 + below(5), false);
        for (int point = 0; point < POINTS; point++) {
            double at[OPERANDS];
            int64_t index[AXES];
            for (int a = 0; a < AXES; a++) index[a] = below(9);
            const struct environment env = {.operand = at, .index = index};
            for (int k = 0; k < OPERANDS; k++) at[k] = (below(4000) - 1999.5) / 1000;
            for (int k = 0; k < OPERANDS && all_finite(e, &env); k++) {
                double wanted = difference(e, env, at, k), got = expr_eval(expr_derivative(m, e, leaf(m, k)), &env);
                if (isnan(wanted) || fabs(wanted) > 1e8 || fabs(expr_eval(e, &env)) > 1e8) continue;
                compared++;
                moving += wanted != 0;
                if (fabs(got - wanted) <= 1e-5 * fabs(wanted) + 1e-9) continue;
                struct text text = {NULL, 0, 0};
                expr_print(m, e, NULL, NULL, NULL, &text);
                CU_FAIL("the derivative is not the difference");
                printf("%s by %d at %g %g %g: %.12g, not %.12g\n", text.data, k, at[0], at[1], at[2], got, wanted);
                text_free(&text);
            }
        }
        arena_free(arena);
    }
    CU_ASSERT(compared > ROUNDS * POINTS && moving > compared / 4);
}

static void test_shapes(void)
{
    struct arena *arena = arena_new();
    struct module *m = module_new(arena, "test", DTYPE_F64);
    const struct expr *x = leaf(m, 0), *y = leaf(m, 1), *one = expr_real(m, 1), *zero = expr_real(m, 0),
                      *two = expr_real(m, 2);
    const struct expr *power = op(m, EXPR_EXP, x, NULL), *square = op(m, EXPR_MUL, x, x);
#define D(e) expr_derivative(m, e, x)
    CU_ASSERT(D(x) == one);
    CU_ASSERT(D(y) == zero);
    CU_ASSERT(D(op(m, EXPR_ADD, x, y)) == one);
    CU_ASSERT(D(op(m, EXPR_SUB, y, x)) == expr_real(m, -1));
    CU_ASSERT(D(op(m, EXPR_MUL, x, y)) == y);
    CU_ASSERT(D(op(m, EXPR_MUL, x, expr_real(m, 3))) == expr_real(m, 3));
    CU_ASSERT(D(op(m, EXPR_DIV, x, y)) == op(m, EXPR_DIV, one, y));
    CU_ASSERT(D(square) == op(m, EXPR_MUL, x, two));
    CU_ASSERT(D(op(m, EXPR_MUL, square, square)) == op(m, EXPR_MUL, op(m, EXPR_MUL, square, x), expr_real(m, 4)));
    CU_ASSERT(D(power) == power);
    CU_ASSERT(D(op(m, EXPR_EXP, op(m, EXPR_SUB, y, x), NULL))->op == EXPR_NEG);
    CU_ASSERT(D(op(m, EXPR_FLOOR, x, NULL)) == zero);
    CU_ASSERT(D(op(m, EXPR_LT, x, y)) == zero);
    CU_ASSERT(D(expr_make(m, EXPR_SELECT, op(m, EXPR_LT, y, zero), x, y)) ==
              expr_make(m, EXPR_SELECT, op(m, EXPR_LT, y, zero), one, zero));
    CU_ASSERT(D(expr_make(m, EXPR_SELECT, op(m, EXPR_LT, x, zero), y, one)) == zero);
#undef D
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {{"derivative/differences", test_differences},
                                             {"derivative/shapes", test_shapes}};
    return unit_tests_run("derivative", tests, (int)(sizeof tests / sizeof *tests));
}
