/* Helpers of the tests of the store: a temporary folder, captured messages, generated experiments and results. */
#ifndef ATTNC_TESTS_STORE_CASES_H
#define ATTNC_TESTS_STORE_CASES_H

#include "compiler/support/support.h"
#include "compiler/tune/result.h"
#include "compiler/tune/space.h"
#include "compiler/tune/store.h"
#include "tests/unit/suite.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[4096]; /* the captured messages, which tests empty */
static const struct options options;
static char folder[200];

/* Replaces complain() of attnc, and captures messages. */
void complain(const struct options *o, const char *format, ...)
{
    (void)o;
    const size_t at = strlen(said);
    va_list list;
    va_start(list, format);
    vsnprintf(said + at, sizeof said - at, format, list);
    va_end(list);
}

static inline bool said_only(const char *part)
{
    const bool found = strstr(said, part) != NULL;
    if (!found) fprintf(stderr, "wanted '%s', said '%s'\n", part, said);
    *said = 0;
    return found;
}

static inline const char *path(const char *name)
{
    static char made[8][300];
    static int next;
    next = (next + 1) % 8;
    snprintf(made[next], sizeof made[next], "%s/%s", folder, name);
    return made[next];
}

static inline int scratch_run(const char *suite, const struct unit_test *tests, int count)
{
    const char *where = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/attnc-store-XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        return 3;
    }
    const int status = unit_tests_run(suite, tests, count);
    remove_folder(folder);
    return status;
}

/* Opens a store for writing. */
static inline struct store *opened(const char *file, struct arena *arena)
{
    enum status status = STATUS_USAGE;
    struct store *s = store_open(file, true, arena, &options, &status);
    if (!s) fprintf(stderr, "%s\n", said);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(status, STATUS_DONE);
    return s;
}

static inline struct tune_experiment experiment_of(int64_t length)
{
    return (struct tune_experiment){
        .spec_name = "softmax",
        .spec_hash = "00ff",
        .spec_text = "similarity: softmax\n",
        .machine = "a processor, 2 threads",
        .compiler = "clang 19.1.7",
        .attnc = "0.1.0",
        .target = "x86-64-v4",
        .shape = {.batch = 1, .heads = 8, .kv_heads = 2, .length = length, .threads = 2},
        .space = {
            .knobs = 2,
            .knob = {
                {.name = "tile_q", .says = "queries", .values = 3, .default_at = 1, .value = {16, 64, 256}},
                {.name = "tile_k", .says = "keys", .values = 4, .default_at = 0, .value = {-1, 96, 288, INT64_MAX}}}}};
}

static inline struct tune_point point_at(int k)
{
    return (struct tune_point){{k % 3, k / 3 % 4}};
}

enum { MAX_SAMPLES = 9 };
/* Makes a result from the number k. All k together have every status of a finished trial. */
static inline struct tune_result result_of(int k, int samples)
{
    static struct tune_sample sample[MAX_SAMPLES];
    struct tune_result r = {.status = (enum tune_status)(TUNE_MEASURED + k % 5),
                            .work = k + 1.0,
                            .peak = k % 2 ? 1e11 : 0,
                            .samples = samples,
                            .sample = sample};
    for (int j = 0; j < samples; j++)
        sample[j] = (struct tune_sample){(k + 1) * 1e-3 + j * 1e-6, (k + 2) / 3e3 + j * 1e-7};
    if (r.status != TUNE_MEASURED) snprintf(r.why, sizeof r.why, "it's number %d; \"quoted\", µs", k);
    return r;
}

/* Returns whether the two results are equal bit by bit. */
static inline bool same_result(const struct tune_result *a, const struct tune_result *b)
{
    return a->status == b->status && strcmp(a->why, b->why) == 0 && a->work == b->work && a->peak == b->peak &&
           a->bytes == b->bytes && a->bandwidth == b->bandwidth && a->samples == b->samples &&
           (a->samples == 0 || memcmp(a->sample, b->sample, (size_t)a->samples * sizeof *a->sample) == 0);
}

/* Runs an SQL query on the file, without the store. Returns its number, or -1. */
static inline int64_t sql_number(const char *file, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    int64_t value = -1;
    if (sqlite3_open(file, &db) == SQLITE_OK && sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        value = sqlite3_column_int64(q, 0);
    else
        fprintf(stderr, "%s: %s: %s\n", file, sql, sqlite3_errmsg(db));
    sqlite3_finalize(q);
    sqlite3_close(db);
    return value;
}

static inline bool sql_do(const char *file, const char *sql)
{
    sqlite3 *db = NULL;
    const bool done = sqlite3_open(file, &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (!done) fprintf(stderr, "%s: %s: %s\n", file, sql, sqlite3_errmsg(db));
    sqlite3_close(db);
    return done;
}

/* Checks the file with SQLite's integrity check. */
static inline void check_whole(const char *file)
{
    CU_ASSERT_EQUAL(sql_number(file, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* Returns the contents of a file. The caller frees them. */
static inline char *bytes_of(const char *file, size_t *length)
{
    FILE *f = fopen(file, "rb");
    struct stat info = {0};
    if (!f) abort();
    CU_ASSERT_EQUAL(fstat(fileno(f), &info), 0);
    *length = (size_t)info.st_size;
    char *bytes = malloc(*length + 1);
    CU_ASSERT_FATAL(bytes && fread(bytes, 1, *length, f) == *length);
    fclose(f);
    return bytes;
}

#endif
