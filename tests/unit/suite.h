/* Runs a table of CUnit tests. Prints `ok NAME`, `FAIL NAME why` or `skip NAME why` for each, and then the counts. */
#ifndef ATTNC_TESTS_SUITE_H
#define ATTNC_TESTS_SUITE_H

#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <stdio.h>

/* UNIT_TIMES(n) is how often a slow test is repeated: n times, or once with AddressSanitizer. */
#ifndef __has_feature /* clang has this macro; gcc has __SANITIZE_ADDRESS__ */
#define __has_feature(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define UNIT_TIMES(n) 1
#else
#define UNIT_TIMES(n) (n)
#endif

struct unit_test {
    const char *name;
    void (*run)(void);
};

static const char *unit_skip_reason; /* the reason to skip the current test, or NULL */
static unsigned unit_skipped;

/* A test calls this if it cannot run on this machine. */
static inline void unit_skip(const char *why)
{
    unit_skip_reason = why;
}

static void unit_test_done(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failures)
{
    (void)suite;
    if (!failures && unit_skip_reason)
        printf("skip %s %s\n", test->pName, unit_skip_reason), unit_skipped++;
    else if (!failures)
        printf("ok %s\n", test->pName);
    for (const CU_FailureRecord *f = failures; f; f = f->pNext)
        printf("FAIL %s %s:%u %s\n", test->pName, f->strFileName, f->uiLineNumber, f->strCondition);
    unit_skip_reason = NULL;
}

static inline int unit_tests_run(const char *suite_name, const struct unit_test *tests, int count)
{
    if (CU_initialize_registry() != CUE_SUCCESS) return 3;
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    for (int k = 0; suite && k < count; k++)
        if (!CU_add_test(suite, tests[k].name, tests[k].run)) suite = NULL;
    if (!suite) return 3;
    CU_set_test_complete_handler(unit_test_done);
    CU_run_all_tests();
    unsigned run = CU_get_number_of_tests_run(), failed = CU_get_number_of_tests_failed();
    printf("%u passed, %u failed", run - failed - unit_skipped, failed);
    if (unit_skipped) printf(", %u skipped", unit_skipped);
    printf("\n");
    CU_cleanup_registry();
    return failed ? 1 : 0;
}

#endif
