/* Limits the size of the cache. Removes the least recently used files first: kernels, and sources that did not
   compile. Several processes may trim the cache at the same time. If a process needs a removed kernel, it compiles
   the kernel again. */
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
/* Ages in seconds:
   - JUST_MADE: a process may not have locked a younger file yet.
   - A_DAY: an older file is not in use, even if the file system has no locks. */
enum { JUST_MADE = 60, A_DAY = 24 * 3600 };

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

/* Returns true if the file is a compiled kernel, NAME-HASH.so, or a note, NAME-HASH.note. */
static bool is_kernel(const char *name)
{
    enum { DIGITS = 32 };
    const char *const dot = strrchr(name, '.');
    if (!dot || dot - name < DIGITS + 1 || (strcmp(dot, ".so") != 0 && strcmp(dot, ".note") != 0)) return false;
    const char *hash = dot - DIGITS;
    return hash[-1] == '-' && strspn(hash, "0123456789abcdef") == DIGITS;
}

/* Returns the total size in bytes of the files in a folder. */
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

/* Returns true if a killed process has left this file or folder. Processes lock the files and folders that they use.
   A lock ends with its process. */
static bool abandoned(int fd, const struct stat *info)
{
    const time_t age = time(NULL) - info->st_mtim.tv_sec;
    if (fd < 0 || age < JUST_MADE) return false;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR && age >= A_DAY);
}

void cache_clean(const struct folder *cache)
{
    const int all = folder_open(cache->fd, ".");
    DIR *folder = all >= 0 ? fdopendir(all) : NULL;
    struct stat info;
    if (!folder && all >= 0) close(all);
    for (struct dirent *at; folder && (at = readdir(folder));) {
        const char *const name = at->d_name;
        const bool build = strncmp(name, "attnc-", 6) == 0 && !is_lock(name);
        if (!build && !is_lock(name)) continue;
        if (fstatat(all, name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const int fd = build && S_ISDIR(info.st_mode)    ? folder_open(all, name)
                       : !build && S_ISREG(info.st_mode) ? openat(all, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
                                                         : -1;
        if (abandoned(fd, &info)) remove_at(all, name);
        if (fd >= 0) close(fd);
    }
    if (folder) closedir(folder);
}

/* Orders entries for qsort, the least recently used first. */
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
