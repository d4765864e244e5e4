/* The cache of compiled kernels: opens its folder, seals its files, and locks them.
   - attnc executes this code, so only this user and root may be able to write to the folder.
   - Files are opened relative to the descriptor of the checked folder, without following links. So a later change of
     the path is harmless.
   - A seal is a hash at the end of a file. It detects truncated files. */
#include "code.h"
#include "../support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEAL = SHA256_DIGEST_STRING_LENGTH }; /* the bytes of a seal, which is a hash in hexadecimal and a newline */
enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

/* ---- the cache ---- */

/* Returns true if this user or root owns a file. Root can run code as this user in any case. */
static bool is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}

/* Returns the reason why the folder is not safe to load code from, or NULL. Anybody who can write to the folder
   could run code as this user. ssh checks the folder of its keys in this way, too. */
static const char *distrust(struct arena *arena, const char *path, const struct stat *info)
{
    static const char way_on[] = "or set XDG_CACHE_HOME to another folder";
    if (S_ISLNK(info->st_mode))
        return arena_printf(arena, "%s is a link, which attnc does not follow; remove it, %s", path, way_on);
    if (!S_ISDIR(info->st_mode)) return arena_printf(arena, "%s is not a folder; remove it, %s", path, way_on);
    if (!is_trusted(info->st_uid))
        return arena_printf(arena, "%s belongs to another user (%ld), who could put code there; remove it, %s", path,
                            (long)info->st_uid, way_on);
    if (info->st_mode & OTHERS_WRITE)
        return arena_printf(arena, "%s can be written to by other users, who could put code there; chmod go-w it, %s",
                            path, way_on);
    return NULL;
}

/* Opens the folder `name` in `base`, and creates it if necessary. Returns the reason for a failure, or NULL.
   `is_shared`: others may write to `base` */
static const char *open_in(struct arena *arena, const char *base, const char *name, bool is_shared, struct folder *out)
{
    const char *path = arena_printf(arena, "%s/%s", base, name), *why;
    const int above = make_folders(base, 0700) == 0 ? open(base, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat info;
    bool known = false;
    if (is_shared && above >= 0 && fstat(above, &info) == 0 &&
        (!is_trusted(info.st_uid) || ((info.st_mode & OTHERS_WRITE) && !(info.st_mode & S_ISVTX)))) {
        close(above);
        return arena_printf(arena, "others can replace folders in %s; chmod +t it, or set TMPDIR to another folder",
                            base);
    }
    if (above >= 0 && (mkdirat(above, name, 0700) == 0 || errno == EEXIST)) {
        out->fd = folder_open(above, name);
        known = out->fd >= 0 && fstat(out->fd, &info) == 0;
        if (!known) {
            const int saved = errno;
            known = fstatat(above, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && distrust(arena, path, &info);
            errno = saved;
        }
    }
    why = known ? distrust(arena, path, &info) : arena_printf(arena, "%s: %s", path, strerror(errno));
    if (above >= 0) close(above);
    if (why)
        folder_close(out);
    else
        out->path = path;
    return why;
}

bool cache_open(struct arena *arena, struct folder *out, const char **why)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    *out = NO_FOLDER;
    if (!base || *base != '/') { /* the XDG specification says that relative paths are ignored */
        base = home && *home == '/' ? arena_printf(arena, "%s/.cache", home) : NULL;
        *why = "neither XDG_CACHE_HOME nor HOME is set";
        if (!base) return false;
    }
    *why = open_in(arena, base, "attnc", false, out);
    return !*why;
}

bool cache_open_temporary(struct arena *arena, struct folder *out, const char **why)
{
    const char *base = getenv("TMPDIR");
    *out = NO_FOLDER;
    if (!base || *base != '/') base = "/tmp";
    const char *reason = open_in(arena, base, arena_printf(arena, "attnc-cache-%ld", (long)geteuid()), true, out);
    if (reason) *why = arena_printf(arena, "%s; and %s", *why, reason);
    return !reason;
}

const char *cache_read_only(struct arena *arena, const struct folder *cache)
{
    if (faccessat(cache->fd, ".", W_OK | X_OK, AT_EACCESS) == 0) return NULL;
    return arena_printf(arena, "%s: %s", cache->path, strerror(errno));
}

/* ---- sealed files ---- */

/* Opens a regular file that belongs to this user or root, and that nobody else can write to. Returns -1 with errno. */
static int open_own(const struct folder *f, const char *name, int flags)
{
    const int file = openat(f->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    if (file < 0) return -1;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && is_trusted(info.st_uid) && !(info.st_mode & OTHERS_WRITE))
        return file;
    close(file);
    errno = EPERM;
    return -1;
}

/* Returns the contents of the file, or NULL with errno. The caller frees them. There is room for one more byte. */
static char *read_whole(int file, size_t *length)
{
    struct stat info;
    if (fstat(file, &info) != 0) return NULL;
    char *data = malloc((size_t)info.st_size + 1);
    *length = 0;
    while (data && *length < (size_t)info.st_size) {
        const ssize_t got = pread(file, data + *length, (size_t)info.st_size - *length, (off_t)*length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            const int saved = got < 0 ? errno : EIO;
            free(data);
            data = NULL;
            errno = saved;
        } else
            *length += (size_t)got;
    }
    return data;
}

int seal_file(const struct folder *f, const char *name)
{
    /* some umasks let the group write the linker's output, which open_own would reject */
    const int file = fchmodat(f->fd, name, 0700, 0) == 0 ? open_own(f, name, O_RDWR | O_APPEND) : -1;
    if (file < 0) return -1;
    size_t length;
    char *data = read_whole(file, &length), seal[SEAL];
    ssize_t written = -1;
    if (data) {
        SHA256Data((const uint8_t *)data, length, seal);
        seal[SEAL - 1] = '\n';
        written = write(file, seal, SEAL);
        if (written >= 0 && written < SEAL) errno = ENOSPC;
    }
    free(data);
    const int saved = errno, closed = close(file);
    if (written != SEAL) errno = saved;
    return written == SEAL && closed == 0 ? 0 : -1;
}

/* Returns the contents of a sealed file without the seal, or NULL. The caller frees them. */
static char *read_sealed(const struct folder *f, const char *name)
{
    const int file = open_own(f, name, O_RDONLY);
    if (file < 0) return NULL;
    size_t length;
    char *data = read_whole(file, &length), seal[SEAL];
    bool sealed = data && length > SEAL;
    if (sealed) {
        SHA256Data((const uint8_t *)data, length - SEAL, seal);
        seal[SEAL - 1] = '\n';
        sealed = memcmp(seal, data + length - SEAL, SEAL) == 0;
    }
    if (sealed) {
        futimens(file, NULL); /* sets the time of last use */
        data[length - SEAL] = 0;
    } else {
        free(data);
        data = NULL;
    }
    close(file);
    return data;
}

bool sealed_file(const struct folder *f, const char *name)
{
    char *data = read_sealed(f, name);
    free(data);
    return data != NULL;
}

const char *sealed_text(struct arena *arena, const struct folder *f, const char *name)
{
    char *data = read_sealed(f, name);
    const char *text = data ? arena_copy(arena, data) : NULL;
    free(data);
    return text;
}

/* ---- locks between processes ---- */

static const char *lock_name(struct arena *arena, const char *file)
{
    return arena_printf(arena, "%s.lock", file);
}

int cache_lock(struct arena *arena, const struct folder *cache, const char *file)
{
    const char *name = lock_name(arena, file);
    for (;;) {
        const int lock = openat(cache->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        struct stat mine, there;
        if (lock < 0) return -1;
        int locked;
        do locked = flock(lock, LOCK_EX);
        while (locked != 0 && errno == EINTR);
        if (locked != 0 || fstat(lock, &mine) != 0) {
            close(lock);
            return -1;
        }
        /* cache_unlock may have removed the file between opening and locking. In this case the loop tries again with
           the new file. */
        if (fstatat(cache->fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == mine.st_ino &&
            there.st_dev == mine.st_dev)
            return lock;
        close(lock);
    }
}

void cache_unlock(struct arena *arena, const struct folder *cache, const char *file, int lock)
{
    if (lock < 0) return;
    unlinkat(cache->fd, lock_name(arena, file), 0);
    close(lock);
}
