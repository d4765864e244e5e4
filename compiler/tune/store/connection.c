/* Statements and transactions on the database. Every failure prints a message. */
#include "connection.h"
#include "store.h"
#include "../../support/support.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <time.h>

int store_patience = 30000;

/* ---- errors ---- */

bool store_wrong(struct store *s, enum status status, const char *format, ...)
{
    char why[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    complain(s->o, "%s: %s", s->file, why);
    s->status = status;
    return false;
}

/* Returns true if the limit on file sizes (ulimit -f) probably caused the failed write. SQLite does not keep errno. */
static bool beyond_limit(int code)
{
    struct rlimit limit;
    return code == SQLITE_IOERR_WRITE && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool store_failed(struct store *s)
{
    if (beyond_limit(sqlite3_extended_errcode(s->db)))
        return store_wrong(s, STATUS_MACHINE,
                           "there is no space left to write to it: this shell limits the size of files (ulimit -f)");
    const int code = sqlite3_errcode(s->db), number = sqlite3_system_errno(s->db);
    switch (code & 0xff) {
    case SQLITE_FULL: return store_wrong(s, STATUS_MACHINE, "there is no space left to write to it");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return store_wrong(s, STATUS_MACHINE, "another program has kept it locked for %g s", store_patience / 1000.0);
    case SQLITE_READONLY:
        return store_wrong(s, STATUS_MACHINE, "cannot be written: the file or its folder is read-only");
    case SQLITE_NOTADB: return store_wrong(s, STATUS_INPUT, "this is not a database");
    case SQLITE_CORRUPT: return store_wrong(s, STATUS_INPUT, "this database is damaged");
    case SQLITE_NOMEM: return store_wrong(s, STATUS_MACHINE, "out of memory");
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        if (number == ENOSPC || number == EDQUOT || number == EFBIG)
            return store_wrong(s, STATUS_MACHINE, "there is no space left to write to it: %s", strerror(number));
        return store_wrong(s, STATUS_MACHINE, "%s: %s",
                           (code & 0xff) == SQLITE_IOERR ? "cannot be read or written" : "cannot be opened",
                           number ? strerror(number) : sqlite3_errmsg(s->db));
    default: return store_wrong(s, STATUS_MACHINE, "%s", sqlite3_errmsg(s->db));
    }
}

/* ---- SQL statements ---- */

static bool bind_all(struct store *s, sqlite3_stmt *statement, const char *types, va_list list)
{
    int code = SQLITE_OK;
    for (int k = 0; types[k] && code == SQLITE_OK; k++) switch (types[k]) {
        case 'i': code = sqlite3_bind_int64(statement, k + 1, va_arg(list, int64_t)); break;
        case 'd': code = sqlite3_bind_double(statement, k + 1, va_arg(list, double)); break;
        default: code = sqlite3_bind_text(statement, k + 1, va_arg(list, const char *), -1, SQLITE_TRANSIENT); break;
        }
    return code == SQLITE_OK || store_failed(s);
}

sqlite3_stmt *store_ask(struct store *s, const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        store_failed(s);
        return NULL;
    }
    va_list list;
    va_start(list, types);
    const bool bound = bind_all(s, statement, types, list);
    va_end(list);
    if (bound) return statement;
    sqlite3_finalize(statement);
    return NULL;
}

bool store_again(struct store *s, sqlite3_stmt *statement, const char *types, ...)
{
    sqlite3_reset(statement); /* returns the error of the previous execution, which already has a message */
    va_list list;
    va_start(list, types);
    const bool bound = bind_all(s, statement, types, list);
    va_end(list);
    return bound;
}

int store_row(struct store *s, sqlite3_stmt *statement)
{
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) return 1;
    if (code == SQLITE_DONE) return 0;
    store_failed(s);
    return -1;
}

bool store_step(struct store *s, sqlite3_stmt *statement)
{
    int row;
    while ((row = store_row(s, statement)) > 0) continue;
    return row == 0;
}

void store_done(sqlite3_stmt *statement)
{
    sqlite3_finalize(statement);
}

bool store_do(struct store *s, const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK) return store_failed(s);
    va_list list;
    va_start(list, types);
    const bool done = bind_all(s, statement, types, list) && store_step(s, statement);
    va_end(list);
    sqlite3_finalize(statement);
    return done;
}

bool store_write(struct store *s)
{
    return store_do(s, "BEGIN IMMEDIATE", "");
}

bool store_read(struct store *s)
{
    return store_do(s, "BEGIN", "");
}

/* Rolls the transaction back. A full disk may already have ended it. */
static void back(struct store *s)
{
    if (!sqlite3_get_autocommit(s->db)) sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

bool store_written(struct store *s, bool well)
{
    if (well && store_do(s, "COMMIT", "")) return true;
    back(s);
    return false;
}

bool store_have_read(struct store *s, bool well)
{
    back(s);
    return well;
}

double store_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
