/* The size of the cache: kernels, and sources that did not compile, go in the order in which they were last used. Any
   number of processes may do this at once: one that finds nothing to load where it has just seen a kernel compiles it
   again. */
#include "code.h"
#include "../support/support.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const int64_t DEFAULT_LIMIT = INT64_C(1) << 30;
enum { ABANDONED = 3600 }; /* seconds after which a folder that nobody holds is not one that is just being made */

struct entry {
    const char *name;
    struct timespec used;
    int64_t bytes;
    struct entry *next;
};

int64_t cache_limit(const char **bad)
{
    const char *text = getenv("ATTNC_CACHE_SIZE");
    *bad = NULL;
    if (!text || !*text) return DEFAULT_LIMIT;
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || *text < '0' || *text > '9' || end[unit != NULL] || number > INT64_MAX >> shift) {
        *bad = text;
        return DEFAULT_LIMIT;
    }
    return (int64_t)number << shift;
}

/* NAME-HASH.so and NAME-HASH.note, as compile.c names kernels and what it notes of them. */
static bool is_kernel(const char *name)
{
    enum { DIGITS = 32 };
    const char *const dot = strrchr(name, '.');
    if (!dot || dot - name < DIGITS + 1 || (strcmp(dot, ".so") != 0 && strcmp(dot, ".note") != 0)) return false;
    const char *hash = dot - DIGITS;
    return hash[-1] == '-' && strspn(hash, "0123456789abcdef") == DIGITS;
}

/* Bytes of the files in a folder. */
static int64_t bytes_in(int parent, const char *name)
{
    const int fd = folder_open(parent, name);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct stat info;
    int64_t bytes = 0;
    if (!folder && fd >= 0) close(fd);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode)) bytes += info.st_size;
    if (folder) closedir(folder);
    return bytes;
}

static bool is_lock(const char *name)
{
    const size_t length = strlen(name), ending = sizeof ".lock" - 1;
    return length > ending && strcmp(name + length - ending, ".lock") == 0;
}

/* What was killed leaves its lock's file. */
static void remove_lock(int parent, const char *name, const struct stat *info)
{
    if (time(NULL) - info->st_mtim.tv_sec < ABANDONED) return;
    const int fd = openat(parent, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(parent, name, 0);
    if (fd >= 0) close(fd);
}

/* A folder that is compiled in is locked by who does so, and the lock ends with the process. */
static void remove_abandoned(int parent, const char *name, const struct stat *info)
{
    if (time(NULL) - info->st_mtim.tv_sec < ABANDONED) return;
    const int fd = folder_open(parent, name);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) remove_at(parent, name);
    if (fd >= 0) close(fd);
}

static int by_use(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

void cache_trim(const struct folder *cache, int64_t limit)
{
    const int fd = folder_open(cache->fd, ".");
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        if (fd >= 0) close(fd);
        return;
    }
    struct arena *arena = arena_new();
    struct entry *first = NULL;
    size_t count = 0;
    int64_t all = 0;
    struct stat info;
    for (struct dirent *at; (at = readdir(folder));) {
        const char *name = at->d_name;
        if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const bool kernel = S_ISREG(info.st_mode) && is_kernel(name),
                   failed = S_ISDIR(info.st_mode) && strncmp(name, "failed-", 7) == 0;
        if (S_ISDIR(info.st_mode) && strncmp(name, "attnc-", 6) == 0) remove_abandoned(fd, name, &info);
        if (S_ISREG(info.st_mode) && is_lock(name)) remove_lock(fd, name, &info);
        if (!kernel && !failed) continue;
        struct entry *e = arena_alloc(arena, sizeof *e);
        *e = (struct entry){arena_copy(arena, name), info.st_mtim, kernel ? info.st_size : bytes_in(fd, name), first};
        first = e;
        count++;
        all += e->bytes;
    }
    const struct entry **order = arena_alloc(arena, (count + 1) * sizeof *order);
    size_t n = 0;
    for (const struct entry *e = first; e; e = e->next) order[n++] = e;
    qsort(order, count, sizeof *order, by_use);
    for (n = 0; n < count && all > limit; n++) {
        remove_at(fd, order[n]->name);
        all -= order[n]->bytes;
    }
    closedir(folder);
    arena_free(arena);
}
