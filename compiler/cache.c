/* The folder of compiled kernels: where it is, private folders to compile in, and a seal on each file,
   because loading a shared object that was cut short ends a program by a signal rather than with an error. */
#include "compiler.h"

#include <dirent.h>
#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEAL = SHA256_DIGEST_STRING_LENGTH }; /* the digits, then a newline where the string has its zero byte */

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

const char *cache_folder(struct arena *arena, const char **why)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *folder;
    if (base && *base == '/') { /* the XDG rules say to ignore a relative one */
        folder = arena_printf(arena, "%s/attnc", base);
    } else if (home && *home == '/') {
        folder = arena_printf(arena, "%s/.cache/attnc", home);
    } else {
        *why = "neither XDG_CACHE_HOME nor HOME is set";
        return NULL;
    }
    if (make_folders(folder, 0700) == 0) return folder;
    *why = arena_printf(arena, "%s: %s", folder, strerror(errno));
    return NULL;
}

const char *private_folder(struct arena *arena, const char *parent)
{
    const char *where = parent ? parent : getenv("TMPDIR");
    if (!where || !*where) where = "/tmp";
    char *path = arena_printf(arena, "%s/attnc-XXXXXX", where);
    return mkdtemp(path);
}

void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder) {
        int fd = dirfd(folder);
        for (struct dirent *entry; (entry = readdir(folder));)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && fd >= 0) unlinkat(fd, entry->d_name, 0);
        closedir(folder);
    }
    rmdir(path);
}

const char *hash_text(struct arena *arena, const char *data, size_t length)
{
    char *digits = arena_alloc(arena, SHA256_DIGEST_STRING_LENGTH);
    SHA256Data((const uint8_t *)data, length, digits);
    return digits;
}

/* The whole file, to be freed; NULL with errno. */
static char *read_whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    struct stat info;
    char *data = NULL;
    if (fstat(fileno(file), &info) == 0 && info.st_size >= 0) {
        *length = (size_t)info.st_size;
        data = malloc(*length + 1);
        if (data && fread(data, 1, *length, file) != *length) {
            if (!ferror(file)) errno = EIO;
            int saved = errno;
            free(data);
            data = NULL;
            errno = saved;
        }
    }
    int saved = errno;
    fclose(file);
    errno = saved;
    return data;
}

int seal_file(const char *path)
{
    size_t length;
    char *data = read_whole(path, &length), seal[SEAL];
    if (!data) return -1;
    SHA256Data((const uint8_t *)data, length, seal);
    free(data);
    seal[SEAL - 1] = '\n';
    FILE *file = fopen(path, "ab");
    if (!file) return -1;
    bool written = fwrite(seal, 1, SEAL, file) == SEAL;
    int saved = errno, closed = fclose(file);
    if (!written) errno = saved;
    return written && closed == 0 ? 0 : -1;
}

bool sealed_file(const char *path)
{
    size_t length;
    char *data = read_whole(path, &length), seal[SEAL];
    if (!data) return false;
    bool sealed = length > SEAL;
    if (sealed) {
        SHA256Data((const uint8_t *)data, length - SEAL, seal);
        seal[SEAL - 1] = '\n';
        sealed = memcmp(seal, data + length - SEAL, SEAL) == 0;
    }
    free(data);
    return sealed;
}
