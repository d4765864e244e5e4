/* Opens the database of results.
   - A file of another program is never changed.
   - A write is complete or undone, even if the process is killed.
   - Every failure prints a message. */
#include "connection.h"
#include "store.h"
#include "../../support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- opening the database ---- */

/* Checks that the file can be created in its folder. SQLite would report a misleading error. */
static bool can_be_made(struct store *s)
{
    struct text where = {0};
    text_append(&where, s->name, (size_t)(strrchr(s->name, '/') - s->name) + 1);
    const bool can = access(where.data, W_OK | X_OK) == 0;
    const int why = errno;
    text_free(&where);
    return can || store_wrong(s, STATUS_MACHINE, "cannot be created: %s", strerror(why));
}

/* Checks that the file is empty or a database of attnc, which has STORE_IS_ATTNC at offset 68. Only the first 100
   bytes are read, because opening another program's database could change it. */
static bool ours(struct store *s, bool readonly)
{
    unsigned char head[100] = {0};
    const int file = open(s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        if (errno == ENOENT && !readonly) return can_be_made(s);
        return store_wrong(s, errno == ENOENT ? STATUS_INPUT : STATUS_MACHINE, "%s", strerror(errno));
    }
    struct stat info;
    ssize_t got = 0;
    const bool known = fstat(file, &info) == 0;
    if (known && S_ISREG(info.st_mode)) got = pread(file, head, sizeof head, 0);
    const int why = errno;
    close(file);
    if (!known || got < 0) return store_wrong(s, STATUS_MACHINE, "%s", strerror(why));
    if (!S_ISREG(info.st_mode))
        return store_wrong(s, STATUS_INPUT, "this is not a file but a %s",
                           S_ISDIR(info.st_mode) ? "folder" : "device or pipe");
    if (got == 0) return true;
    if (got < (ssize_t)sizeof head || memcmp(head, "SQLite format 3", 16) != 0)
        return store_wrong(s, STATUS_INPUT, "this is not a database");
    const unsigned mark = (unsigned)head[68] << 24 | (unsigned)head[69] << 16 | (unsigned)head[70] << 8 | head[71];
    return mark == STORE_IS_ATTNC || store_wrong(s, STATUS_INPUT, "this database belongs to another program");
}

/* Returns true if the file is on a network file system. SQLite's write-ahead log does not work there. */
static bool shared_between_machines(const struct store *s)
{
    static const unsigned elsewhere[] = {
        0x6969 /* NFS */,        0x517b /* SMB */,        0xfe534d42 /* SMB 2 */, 0xff534d42 /* CIFS */,
        0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */,   0x00c36400 /* Ceph */,  0x5346414f /* AFS */,
        0x01021997 /* 9P */,     0x19830326 /* BeeGFS */, 0x65735546 /* FUSE */,  0x7461636f /* OCFS2 */,
    };
    struct statfs info;
    if (statfs(s->name, &info) != 0) return false;
    for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
        if ((unsigned)info.f_type == elsewhere[k]) return true;
    return false;
}

static bool connect(struct store *s, const char *name, int flags)
{
    sqlite3_close(s->db);
    s->db = NULL;
    if (sqlite3_open_v2(name, &s->db, flags, NULL) != SQLITE_OK)
        return s->db ? store_failed(s) : store_wrong(s, STATUS_MACHINE, "out of memory");
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, store_patience);
    return sqlite3_exec(s->db, "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF", NULL, NULL, NULL) ==
               SQLITE_OK ||
           store_failed(s);
}

/* Returns true if a log file with this suffix exists next to the database and is not empty. */
static bool left_behind(const struct store *s, const char *suffix)
{
    struct stat info;
    struct text name = {0};
    text_add(&name, "%s%s", s->name, suffix);
    const bool there = stat(name.data, &info) == 0 && info.st_size > 0;
    text_free(&name);
    return there;
}

/* Opens a database in a read-only folder. SQLite normally creates files next to the database. It does not if it is
   told that the database is immutable. */
static bool connect_unchanging(struct store *s)
{
    if (left_behind(s, "-wal") || left_behind(s, "-journal"))
        return store_wrong(s, STATUS_MACHINE,
                           "a tuner that was killed left a log next to it; reading the log needs a writable folder: "
                           "copy both files to such a folder");
    struct text uri = {0};
    text_add(&uri, "file:");
    for (const char *at = s->name; *at; at++) {
        if (strchr("%?#", *at))
            text_add(&uri, "%%%02x", (unsigned)(unsigned char)*at);
        else
            text_append(&uri, at, 1);
    }
    text_add(&uri, "?immutable=1");
    const bool done = connect(s, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    text_free(&uri);
    return done;
}

/* Connects to a copy of the database in memory, and migrates the copy. */
static bool migrate_copy(struct store *s)
{
    sqlite3 *from = s->db;
    s->db = NULL;
    bool done = connect(s, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (done) {
        sqlite3_backup *b = sqlite3_backup_init(s->db, "main", from, "main");
        const int code = b ? sqlite3_backup_step(b, -1) : SQLITE_ERROR;
        if (b) sqlite3_backup_finish(b);
        done = code == SQLITE_DONE || store_wrong(s, STATUS_MACHINE, "cannot be read: %s", sqlite3_errstr(code));
    }
    sqlite3_close(from);
    return done && store_migrate(s);
}

/* Calls store_version in one transaction, because another process may be creating the tables. */
static int version_now(struct store *s)
{
    const int version = store_read(s) ? store_version(s) : -1;
    store_have_read(s, true);
    return version;
}

static bool open_to_read(struct store *s)
{
    /* With SQLITE_OPEN_READONLY, SQLite would leave an empty log file. query_only forbids changes instead. */
    if (!connect(s, s->name, SQLITE_OPEN_READWRITE) || !store_do(s, "PRAGMA query_only = ON", "")) return false;
    const int code = sqlite3_exec(s->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) & 0xff;
    if ((code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && !connect_unchanging(s)) return false;
    const int version = version_now(s);
    return version >= 0 && (version == store_newest() || migrate_copy(s));
}

/* Ignores SIGXFSZ. A write beyond the limit on file sizes then fails instead of ending the program. */
static void outlive_limits(void)
{
    struct sigaction now;
    if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGXFSZ, SIG_IGN);
}

static bool open_to_write(struct store *s)
{
    outlive_limits();
    if (!connect(s, s->name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) return false;
    const int version = version_now(s);
    if (version < 0) return false;
    /* With FULL, a commit is on the disk when it returns. This takes milliseconds, but measuring a lost result again
       takes seconds. */
    if (!store_do(s, "PRAGMA synchronous = FULL", "")) return false;
    if (version < store_newest() && !store_migrate(s)) return false;
    /* SQLite opens a write-protected file as read-only. Report that now, not in the first trial. */
    if (sqlite3_db_readonly(s->db, "main") == 1)
        return store_wrong(s, STATUS_MACHINE, "cannot be written: the file or its folder is read-only");
    /* With a write-ahead log, readers and a writer do not wait for each other. The change fails if another process
       uses the database. The old mode is safe too, so ignore the failure. */
    sqlite3_exec(s->db, shared_between_machines(s) ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL", NULL,
                 NULL, NULL);
    return true;
}

struct store *store_open(const char *file, bool readonly, const struct options *o, enum status *status)
{
    struct store *s = calloc(1, sizeof *s + strlen(file) + 3);
    if (!s) {
        complain(o, "out of memory");
        *status = STATUS_MACHINE;
        return NULL;
    }
    s->o = o;
    strcpy(s->name, *file == '/' ? "" : "./");
    s->file = s->name + strlen(s->name);
    strcat(s->name, file);
    if (ours(s, readonly) && (readonly ? open_to_read(s) : open_to_write(s))) {
        *status = STATUS_DONE;
        return s;
    }
    *status = s->status;
    store_close(s);
    return NULL;
}

void store_close(struct store *s)
{
    if (!s) return;
    sqlite3_close(s->db);
    free(s);
}
