/* Writes files completely or not at all. Creates and removes folders, and computes hashes. */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

enum status write_whole(const struct options *o, const char *path, const char *data, size_t length)
{
    struct text temporary = {0};
    text_add(&temporary, "%s.XXXXXX", path);
    /* A signal would end the program and leave the temporary file, so signals are blocked. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int file = mkstemp(temporary.data), why = file < 0 ? errno : 0;
    bool made = file >= 0;
    for (size_t done = 0; made && !why && done < length;) {
        ssize_t n = write(file, data + done, length - done);
        if (n < 0 && errno != EINTR) why = errno;
        if (n > 0) done += (size_t)n;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (made && !why && fchmod(file, 0666 & ~mask) != 0) why = errno;
    if (made && close(file) != 0 && !why) why = errno;
    if (made && !why && rename(temporary.data, path) != 0) why = errno;
    if (made && why) unlink(temporary.data);
    sigprocmask(SIG_SETMASK, &before, NULL);
    text_free(&temporary);
    if (!why) return STATUS_DONE;
    return complain_as(o, STATUS_MACHINE, "cannot write %s: %s", path, strerror(why));
}

/* ---- folders ---- */

int make_folders(const char *path, unsigned mode)
{
    char *part = strdup(path);
    if (!part) return -1;
    int result = 0;
    for (char *at = part + 1; result == 0 && at[-1]; at++) {
        if (*at != '/' && *at) continue;
        char end = *at;
        *at = 0;
        if (mkdir(part, mode) != 0) {
            int saved = errno;
            struct stat info;
            if (stat(part, &info) != 0 || !S_ISDIR(info.st_mode)) {
                result = -1;
                errno = saved == EEXIST ? ENOTDIR : saved;
            }
        }
        *at = end;
    }
    int saved = errno;
    free(part);
    errno = saved;
    return result;
}

void folder_close(struct folder *f)
{
    if (f->fd >= 0) close(f->fd);
    *f = NO_FOLDER;
}

int folder_open(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool private_open(struct arena *arena, const struct folder *parent, struct folder *out)
{
    const char *where = parent->fd >= 0 ? parent->path : getenv("TMPDIR");
    if (!where || !*where) where = "/tmp";
    char *path = arena_printf(arena, "%s/attnc-XXXXXX", where);
    *out = NO_FOLDER;
    if (!mkdtemp(path)) return false;
    out->path = path;
    out->fd = parent->fd >= 0 ? folder_open(parent->fd, folder_name(out)) : folder_open(AT_FDCWD, path);
    if (out->fd >= 0)
        /* Other processes do not remove a locked folder (host/cache_trim.c). Closing the folder unlocks it. */
        flock(out->fd, LOCK_EX | LOCK_NB);
    return out->fd >= 0;
}

const char *folder_name(const struct folder *f)
{
    return strrchr(f->path, '/') + 1;
}

void remove_at(int parent, const char *name)
{
    const int fd = folder_open(parent, name);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        if (fd >= 0) close(fd);
        unlinkat(parent, name, 0);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) remove_at(fd, entry->d_name);
    closedir(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

const char *hash_text(struct arena *arena, const char *data, size_t length)
{
    char *digits = arena_alloc(arena, SHA256_DIGEST_STRING_LENGTH);
    SHA256Data((const uint8_t *)data, length, digits);
    return digits;
}
