/* Writes .npy files, version 1.0. An error leaves no incomplete file. */
#include "attnrt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef O_CLOEXEC /* Windows */
#define O_CLOEXEC 0
#endif
#ifndef O_BINARY /* all systems but Windows */
#define O_BINARY 0
#endif

enum { MAX_HEADER = 512, CHUNK = 4096 };

static int fail(char *message, size_t message_bytes, int error, const char *text)
{
    int saved = errno;
    if (message && message_bytes > 0) snprintf(message, message_bytes, "%s", text);
    errno = saved;
    return error;
}

/* Returns the name of the type in the file. numpy has no bf16, so it is written as float32. */
static const char *dtype_text(enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: return "f4";
    case ATTN_BF16: return "f4";
    case ATTN_F16: return "f2";
    case ATTN_F64: return "f8";
    case ATTN_I32: return "i4";
    default: return "u1";
    }
    return "";
}

static size_t write_header(char *header, const struct attn_array *array)
{
    const uint16_t one = 1;
    char text[MAX_HEADER];
    int n = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                     *(const char *)&one ? '<' : '>', dtype_text(array->dtype));
    for (int k = 0; k < array->rank; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld%s", k ? ", " : "", (long long)array->shape[k],
                      array->rank == 1 ? "," : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    /* The header is padded, so that the data begins at a multiple of 64 bytes. */
    size_t length = ((size_t)n + 1 + 10 + 63) / 64 * 64;
    memset(header, ' ', length);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((length - 10) & 255);
    header[9] = (char)((length - 10) >> 8);
    memcpy(header + 10, text, (size_t)n);
    header[length - 1] = '\n';
    return length;
}

static int write_data(FILE *file, const struct attn_array *array, size_t count)
{
    if (array->dtype != ATTN_BF16) return fwrite(array->data, attn_dtype_size(array->dtype), count, file) == count;
    const char *from = array->data;
    uint32_t wide[CHUNK] = {0};
    for (size_t done = 0; done < count;) {
        size_t n = count - done < CHUNK ? count - done : CHUNK;
        for (size_t k = 0; k < n; k++) {
            uint16_t bits;
            memcpy(&bits, from + 2 * (done + k), sizeof bits);
            wide[k] = (uint32_t)bits << 16;
        }
        if (fwrite(wide, sizeof *wide, n, file) != n) return 0;
        done += n;
    }
    return 1;
}

/* Creates a new file in the folder of `path`, with the permissions of the user's umask. */
static int open_beside(const char *path, char *temporary, size_t size)
{
#ifdef __wasi__ /* which has no processes */
    const long process = 0;
#else
    const long process = (long)getpid();
#endif
    int fd = -1;
    for (unsigned attempt = 0; attempt < 100 && fd < 0; attempt++) {
        snprintf(temporary, size, "%s.%ld.%u.tmp", path, process, attempt);
        fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_BINARY, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    return fd;
}

int attn_npy_write(const char *path, const struct attn_array *array, char *message, size_t message_bytes)
{
    size_t count = 1, size = strlen(path) + 48, element = attn_dtype_size(array->dtype);
    for (int k = 0; k < array->rank; k++)
        if (__builtin_mul_overflow(count, (size_t)array->shape[k], &count) || count > PTRDIFF_MAX / element) {
            errno = EOVERFLOW;
            return fail(message, message_bytes, ATTN_EIO, "the shape is too large");
        }
    char header[MAX_HEADER + 128], *temporary = malloc(size);
    if (!temporary) return fail(message, message_bytes, ATTN_EMEMORY, "out of memory");
    int fd = open_beside(path, temporary, size);
    if (fd < 0) {
        int saved = errno;
        free(temporary);
        errno = saved;
        return fail(message, message_bytes, ATTN_EIO, strerror(saved));
    }
    FILE *file = fdopen(fd, "wb");
    size_t length = write_header(header, array);
    int ok = file && fwrite(header, 1, length, file) == length && write_data(file, array, count), saved = errno;
    /* A full disk may fail only when the buffer is flushed. */
    if ((file ? fclose(file) : close(fd)) != 0 && ok) {
        ok = 0;
        saved = errno;
    }
#ifdef _WIN32
    if (ok) (void)unlink(path); /* rename does not replace a file there */
#endif
    if (ok && rename(temporary, path) != 0) {
        ok = 0;
        saved = errno;
    }
    if (!ok) {
        unlink(temporary);
        errno = saved;
        fail(message, message_bytes, ATTN_EIO, strerror(saved));
    }
    free(temporary);
    errno = saved;
    return ok ? 0 : ATTN_EIO;
}
