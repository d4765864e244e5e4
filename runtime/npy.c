/* Reads .npy files. The header is a Python dictionary literal; only numpy's forms are accepted.
   https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "attnrt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_RANK = 8, MAX_HEADER = 1 << 20, MAX_DTYPE_TEXT = 32, CHUNK = 8192 };

struct header {
    char kind;    /* the kind in the dtype: 'f', 'i', 'u' or 'b' */
    int size;     /* bytes per element */
    bool big;     /* true if the bytes are big endian */
    bool fortran; /* true for Fortran order, in which the first dimension varies fastest */
    int rank;
    int64_t shape[MAX_RANK];
    int64_t count; /* number of elements */
    bool has_descr, has_order, has_shape;
    char dtype[MAX_DTYPE_TEXT]; /* the dtype as written in the file */
};

struct reader {
    FILE *file;
    int64_t bytes; /* the size of the file in bytes, or -1 if it is not a regular file */
    char *message;
    size_t message_bytes;
};

__attribute__((format(printf, 3, 4))) static int fail(struct reader *r, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (r->message && r->message_bytes > 0) vsnprintf(r->message, r->message_bytes, format, arguments);
    va_end(arguments);
    return error;
}

static int fail_errno(struct reader *r)
{
    int saved = errno;
    fail(r, 0, "%s", strerror(saved));
    errno = saved;
    return ATTN_EIO;
}

static bool host_is_big(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* ---- the header ---- */

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r') ++*at;
}

static bool take(const char **at, char c)
{
    skip_blanks(at);
    if (**at != c) return false;
    ++*at;
    return true;
}

static bool take_word(const char **at, const char *word)
{
    skip_blanks(at);
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0) return false;
    *at += length;
    return true;
}

/* Reads a quoted string into `out`, truncated to size - 1 characters. numpy writes no escapes in such strings. */
static bool take_string(const char **at, char *out, size_t size)
{
    skip_blanks(at);
    char quote = **at;
    if (quote != '\'' && quote != '"') return false;
    const char *end = strchr(*at + 1, quote);
    if (!end) return false;
    size_t length = (size_t)(end - *at - 1), kept = length < size ? length : size - 1;
    memcpy(out, *at + 1, kept);
    out[kept] = 0;
    for (size_t k = 0; k < kept; k++)
        if ((unsigned char)out[k] < ' ' || (unsigned char)out[k] > '~') out[k] = '?';
    *at = end + 1;
    return true;
}

static int take_shape(const char **at, struct header *h, struct reader *r)
{
    if (!take(at, '('))
        return fail(r, ATTN_EFORMAT, "has a header that numpy would not write: its shape is not a tuple");
    h->rank = 0;
    int rank = 0;
    while (!take(at, ')')) {
        skip_blanks(at);
        if (**at < '0' || **at > '9')
            return fail(r, ATTN_EFORMAT, "has a header that numpy would not write: its shape is not a tuple of sizes");
        int64_t extent = 0;
        for (; **at >= '0' && **at <= '9'; ++*at) {
            int digit = **at - '0';
            if (extent > (INT64_MAX - digit) / 10) return fail(r, ATTN_EFORMAT, "has a shape that is too large");
            extent = extent * 10 + digit;
        }
        if (**at == 'L') /* numpy on Python 2 wrote an L after long integers */
            ++*at;
        if (rank < MAX_RANK) h->shape[rank] = extent;
        rank++;
        if (!take(at, ',')) {
            skip_blanks(at);
            if (**at != ')')
                return fail(r, ATTN_EFORMAT,
                            "has a header that numpy would not write: its shape is not a tuple of sizes");
        }
    }
    if (rank > MAX_RANK) return fail(r, ATTN_EFORMAT, "has %d dimensions; at most %d can be read", rank, MAX_RANK);
    h->rank = rank;
    return 0;
}

static int parse_header(const char *text, struct header *h, struct reader *r)
{
    static const char bad[] = "has a header that numpy would not write";
    const char *at = text;
    if (!take(&at, '{')) return fail(r, ATTN_EFORMAT, "%s: it is not a dictionary", bad);
    while (!take(&at, '}')) {
        char key[MAX_DTYPE_TEXT];
        if (!take_string(&at, key, sizeof key) || !take(&at, ':'))
            return fail(r, ATTN_EFORMAT, "%s: it is not a dictionary", bad);
        bool *seen = strcmp(key, "descr") == 0           ? &h->has_descr
                     : strcmp(key, "fortran_order") == 0 ? &h->has_order
                     : strcmp(key, "shape") == 0         ? &h->has_shape
                                                         : NULL;
        if (!seen) return fail(r, ATTN_EFORMAT, "%s: it has the key '%s'", bad, key);
        if (*seen) return fail(r, ATTN_EFORMAT, "%s: it has the key '%s' twice", bad, key);
        *seen = true;
        if (seen == &h->has_descr) {
            skip_blanks(&at);
            if (*at == '[' || *at == '(')
                return fail(r, ATTN_EFORMAT, "has a structured dtype; expected plain numbers");
            if (!take_string(&at, h->dtype, sizeof h->dtype))
                return fail(r, ATTN_EFORMAT, "%s: its descr is not a string", bad);
        } else if (seen == &h->has_order) {
            h->fortran = take_word(&at, "True");
            if (!h->fortran && !take_word(&at, "False"))
                return fail(r, ATTN_EFORMAT, "%s: its fortran_order is neither True nor False", bad);
        } else {
            int error = take_shape(&at, h, r);
            if (error) return error;
        }
        if (!take(&at, ',')) {
            skip_blanks(&at);
            if (*at != '}') return fail(r, ATTN_EFORMAT, "%s: it is not a dictionary", bad);
        }
    }
    skip_blanks(&at);
    if (*at) return fail(r, ATTN_EFORMAT, "%s: something follows the dictionary", bad);
    const char *missing = !h->has_descr ? "descr" : !h->has_order ? "fortran_order" : !h->has_shape ? "shape" : NULL;
    return missing ? fail(r, ATTN_EFORMAT, "%s: it lacks the key '%s'", bad, missing) : 0;
}

/* Parses the dtype, such as "<f4". Returns an error if it cannot be converted to `wanted`. */
static int check_dtype(struct header *h, enum attn_dtype wanted, struct reader *r)
{
    const bool flags = wanted == ATTN_U8, integers = wanted == ATTN_I32 || flags;
    const char *t = h->dtype;
    bool ordered = *t == '<' || *t == '>' || *t == '=' || *t == '|';
    h->big = *t == '>' || (*t != '<' && host_is_big());
    if (ordered) t++;
    h->kind = *t;
    h->size = t[0] && t[1] >= '1' && t[1] <= '8' && !t[2] ? t[1] - '0' : 0;
    bool ok = flags && h->kind == 'b' && h->size == 1 ? true
              : integers
                  ? (h->kind == 'i' || h->kind == 'u') && (h->size == 1 || h->size == 2 || h->size == 4 || h->size == 8)
                  : h->kind == 'f' && (h->size == 2 || h->size == 4 || h->size == 8);
    if (!ok)
        return fail(r, ATTN_EFORMAT, "has dtype %s; expected %s", h->dtype,
                    flags      ? "a truth value (b1) or an integer (i1, i2, i4, i8, u1, u2, u4, u8)"
                    : integers ? "an integer (i1, i2, i4, i8, u1, u2, u4, u8)"
                               : "a float (f2, f4, f8)");
    return 0;
}

static int check_shape(struct header *h, enum attn_dtype wanted, struct reader *r)
{
    size_t target = attn_dtype_size(wanted), widest = target > (size_t)h->size ? target : (size_t)h->size;
    int64_t most = (int64_t)((size_t)PTRDIFF_MAX / widest) - 64, product = 1;
    int wide = 0;
    h->count = 1;
    for (int k = 0; k < h->rank; k++) {
        wide += h->shape[k] > 1;
        h->count = h->shape[k] == 0 ? 0 : h->count;
        if (h->shape[k] == 0) continue;
        if (product > most / h->shape[k]) return fail(r, ATTN_EFORMAT, "has a shape that is too large");
        product *= h->shape[k];
    }
    h->count *= product;
    h->fortran &= wide > 1; /* with at most one axis longer than 1, both orders are equal */
    return 0;
}

static int read_header(struct reader *r, struct header *h, enum attn_dtype wanted, int64_t *data_at)
{
    unsigned char start[12];
    size_t got = fread(start, 1, 8, r->file);
    if (got < 8 && ferror(r->file)) return fail_errno(r);
    if (got == 0) return fail(r, ATTN_EFORMAT, "is empty");
    if (memcmp(start, "\x93NUMPY", got < 6 ? got : 6) != 0) return fail(r, ATTN_EFORMAT, "is not a .npy file");
    if (got < 8) return fail(r, ATTN_EFORMAT, "is truncated: it ends inside the header");
    unsigned major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor != 0)
        return fail(r, ATTN_EFORMAT, "is a .npy file of version %u.%u; versions 1.0, 2.0 and 3.0 can be read", major,
                    minor);
    size_t width = major == 1 ? 2 : 4;
    if (fread(start + 8, 1, width, r->file) < width)
        return ferror(r->file) ? fail_errno(r) : fail(r, ATTN_EFORMAT, "is truncated: it ends inside the header");
    uint32_t length = 0;
    for (size_t k = width; k-- > 0;) length = length << 8 | start[8 + k];
    *data_at = (int64_t)(8 + width + length);
    if (r->bytes >= 0 && *data_at > r->bytes)
        return fail(r, ATTN_EFORMAT, "is truncated: its header should have %lu bytes", (unsigned long)length);
    if (length > MAX_HEADER)
        return fail(r, ATTN_EFORMAT, "has a header of %lu bytes; at most %d can be read", (unsigned long)length,
                    (int)MAX_HEADER);
    char *text = malloc((size_t)length + 1);
    if (!text) return fail(r, ATTN_EMEMORY, "out of memory");
    int error = 0;
    if (fread(text, 1, length, r->file) < length)
        error = ferror(r->file) ? fail_errno(r) : fail(r, ATTN_EFORMAT, "is truncated: it ends inside the header");
    text[length] = 0;
    if (!error && memchr(text, 0, length))
        error = fail(r, ATTN_EFORMAT, "has a header that numpy would not write: it holds a zero byte");
    if (!error) error = parse_header(text, h, r);
    free(text);
    if (!error) error = check_dtype(h, wanted, r);
    return error ? error : check_shape(h, wanted, r);
}

/* ---- the data ---- */

static uint64_t load(const unsigned char *bytes, int size, bool big)
{
    uint64_t bits = 0;
    for (int k = 0; k < size; k++) bits |= (uint64_t)bytes[k] << 8 * (big ? size - 1 - k : k);
    return bits;
}

static double to_double(uint64_t bits, int size)
{
    if (size == 2) return attn_f16_value((uint16_t)bits);
    if (size == 4) {
        uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        return (double)value;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void store_float(char *to, enum attn_dtype dtype, double value)
{
    switch (dtype) {
    case ATTN_F32: {
        float narrow = (float)value;
        memcpy(to, &narrow, sizeof narrow);
        break;
    }
    case ATTN_F64: memcpy(to, &value, sizeof value); break;
    case ATTN_F16:
    case ATTN_BF16: {
        uint16_t narrow = dtype == ATTN_F16 ? attn_f16(value) : attn_bf16(value);
        memcpy(to, &narrow, sizeof narrow);
        break;
    }
    default: break;
    }
}

/* Converts an integer to int32. If it does not fit, writes it to `text` and returns false. */
static bool store_integer(char *to, uint64_t bits, const struct header *h, char *text, size_t size)
{
    int32_t value;
    if (h->kind == 'u') {
        if (bits > INT32_MAX) {
            snprintf(text, size, "%llu", (unsigned long long)bits);
            return false;
        }
        value = (int32_t)bits;
    } else {
        uint64_t top = UINT64_C(1) << (8 * h->size - 1);
        int64_t wide = (int64_t)((bits ^ top) - top);
        if (wide < INT32_MIN || wide > INT32_MAX) {
            snprintf(text, size, "%lld", (long long)wide);
            return false;
        }
        value = (int32_t)wide;
    }
    memcpy(to, &value, sizeof value);
    return true;
}

/* The place of the file's next element. For Fortran order, `index` is the index of the element, and `at` is its
   offset in C order. */
struct place {
    const struct header *h;
    int64_t index[MAX_RANK], stride[MAX_RANK], at;
};

static struct place first_place(const struct header *h)
{
    struct place p = {.h = h};
    int64_t stride = 1;
    for (int k = h->rank - 1; k >= 0; k--) {
        p.stride[k] = stride;
        stride *= h->shape[k];
    }
    return p;
}

static void next_place(struct place *p)
{
    if (!p->h->fortran) {
        p->at++;
        return;
    }
    for (int k = 0; k < p->h->rank; k++) {
        p->at += p->stride[k];
        if (++p->index[k] < p->h->shape[k]) return;
        p->at -= p->index[k] * p->stride[k];
        p->index[k] = 0;
    }
}

static int read_data(struct reader *r, const struct header *h, enum attn_dtype dtype, char *to)
{
    size_t size = (size_t)h->size, target = attn_dtype_size(dtype), count = (size_t)h->count;
    bool as_it_is = h->big == host_is_big() && size == target && dtype != ATTN_BF16 && h->kind != 'u' && !h->fortran;
    unsigned char chunk[CHUNK];
    struct place place = first_place(h);
    for (size_t done = 0; done < count;) {
        size_t left = count - done, wanted = as_it_is ? left : left < CHUNK / size ? left : CHUNK / size;
        size_t got = fread(as_it_is ? (unsigned char *)to : chunk, size, wanted, r->file);
        if (got < wanted)
            return ferror(r->file) ? fail_errno(r) : fail(r, ATTN_EFORMAT, "is truncated: it ends inside the data");
        for (size_t k = 0; k < got && !as_it_is; k++, next_place(&place)) {
            uint64_t bits = load(chunk + k * size, h->size, h->big);
            char *const here = to + (size_t)place.at * target, text[32];
            if (dtype == ATTN_U8)
                *here = bits != 0;
            else if (dtype != ATTN_I32)
                store_float(here, dtype, to_double(bits, h->size));
            else if (!store_integer(here, bits, h, text, sizeof text))
                return fail(r, ATTN_EFORMAT, "has the value %s, which does not fit an int32", text);
        }
        done += got;
    }
    if (fgetc(r->file) != EOF) return fail(r, ATTN_EFORMAT, "has bytes after the end of its data");
    return ferror(r->file) ? fail_errno(r) : 0;
}

static int read_array(struct reader *r, enum attn_dtype dtype, struct attn_array *array)
{
    struct header h = {0};
    int64_t data_at = 0;
    int error = read_header(r, &h, dtype, &data_at);
    if (error) return error;
    int64_t data = h.count * h.size;
    if (r->bytes >= 0 && r->bytes - data_at < data)
        return fail(r, ATTN_EFORMAT, "is truncated: it has %lld bytes of data, its shape and dtype need %lld",
                    (long long)(r->bytes - data_at), (long long)data);
    if (r->bytes >= 0 && r->bytes - data_at > data)
        return fail(r, ATTN_EFORMAT, "has %lld bytes after the end of its data",
                    (long long)(r->bytes - data_at - data));
    array->data = attn_alloc((size_t)h.count * attn_dtype_size(dtype));
    if (!array->data)
        return fail(r, ATTN_EMEMORY, "out of memory: it needs %lld bytes",
                    (long long)(h.count * (int64_t)attn_dtype_size(dtype)));
    array->dtype = dtype;
    array->rank = h.rank;
    memcpy(array->shape, h.shape, sizeof h.shape);
    error = read_data(r, &h, dtype, array->data);
    if (error) {
        int saved = errno;
        attn_array_free(array);
        errno = saved;
    }
    return error;
}

int attn_npy_read(const char *path, enum attn_dtype dtype, struct attn_array *array, char *message,
                  size_t message_bytes)
{
    struct reader r = {.bytes = -1, .message = message, .message_bytes = message_bytes};
    memset(array, 0, sizeof *array);
    r.file = fopen(path, "rb");
    if (!r.file) return fail_errno(&r);
    struct stat info;
    int error;
    if (fstat(fileno(r.file), &info) != 0) {
        error = fail_errno(&r);
    } else {
        if (S_ISREG(info.st_mode)) r.bytes = (int64_t)info.st_size;
        error = read_array(&r, dtype, array);
    }
    int saved = errno;
    fclose(r.file);
    errno = saved;
    return error;
}

void attn_array_free(struct attn_array *array)
{
    attn_free(array->data);
    memset(array, 0, sizeof *array);
}
