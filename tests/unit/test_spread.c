/* Tests repeats_spread, the spread of repeated measurements. */
#include "compiler/support/support.h"
#include "suite.h"

static void spreads(void)
{
    const double steady[] = {2, 2, 2, 2}, one_late[] = {2, 2, 2, 9, 2, 2, 2, 2, 2}, half_late[] = {3, 2, 2, 3, 3},
                 two[] = {1, 2};
    CU_ASSERT_DOUBLE_EQUAL(repeats_spread(steady, 4), 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(repeats_spread(one_late, 9), 0, 1e-12); /* one slow call in nine does not matter */
    CU_ASSERT_DOUBLE_EQUAL(repeats_spread(half_late, 5), 0.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(repeats_spread(two, 2), 0.75, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(repeats_spread(two, 1), 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(repeats_spread(two, 0), 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(half_late[0], 3, 0); /* the array is not sorted in place */
}

int main(void)
{
    static const struct unit_test tests[] = {{"spread/repeats", spreads}};
    return unit_tests_run("spread", tests, sizeof tests / sizeof *tests);
}
