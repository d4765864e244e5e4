/* Parses counts, lengths and seconds in arguments of options. */
#include "support.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *count_read(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long n = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    if (n < 1 || errno) return NULL;
    int64_t times = *end == 'k' ? 1 << 10 : *end == 'M' ? 1 << 20 : 1;
    if (n > INT64_MAX / times) return NULL;
    *value = n * times;
    return end + (times > 1);
}

static bool add_length(struct lengths *out, int64_t length)
{
    int at = 0;
    while (at < out->count && out->length[at] < length) at++;
    if (at < out->count && out->length[at] == length) return true;
    if (out->count == MAX_LENGTHS) return false;
    memmove(out->length + at + 1, out->length + at, (size_t)(out->count - at) * sizeof *out->length);
    out->length[at] = length;
    out->count++;
    return true;
}

const char *lengths_add(const char *at, struct lengths *out)
{
    const int64_t max = 1 << 26;
    int64_t from = 0, to;
    const char *end = count_read(at, &from);
    bool good = end && from <= max;
    to = from;
    if (good && strncmp(end, "..", 2) == 0) {
        end = count_read(end + 2, &to);
        good = end && from <= to && to <= max;
    }
    for (int64_t n = from; good && n <= to; n *= 2) good = add_length(out, n);
    return good ? end : NULL;
}

bool lengths_read(const struct options *o, const char *by_default, struct lengths *out)
{
    const char *text = o->lengths ? o->lengths : by_default, *at = text;
    *out = (struct lengths){0};
    for (;; at++) {
        at = lengths_add(at, out);
        if (!at || (*at && *at != ','))
            return complain(
                o,
                "--lengths takes up to %d numbers from 1 to 64M and ranges that double, as in 1000,4k..64k, not '%s'",
                MAX_LENGTHS, text);
        if (!*at) return true;
    }
}

const char *heads_add(const char *at, struct head_counts *h)
{
    const int64_t max = 1 << 20;
    const char *end = count_read(at, &h->heads);
    h->kv_heads = h->heads;
    h->key_heads = 0;
    if (end && *end == '/') end = count_read(end + 1, &h->kv_heads);
    if (end && *end == '/') end = count_read(end + 1, &h->key_heads);
    if (end && h->key_heads && (h->kv_heads != h->heads || h->heads % h->key_heads != 0)) return NULL;
    return end && h->heads <= max && h->heads % h->kv_heads == 0 ? end : NULL;
}

bool one_number(const struct options *o, const char *option, const char *text, int64_t max, int64_t *out)
{
    const char *end = text ? count_read(text, out) : "";
    if (end && !*end && *out <= max) return true;
    return complain(o, "%s takes a number from 1 to %lld, not '%s'", option, (long long)max, text);
}

bool seconds_read(const struct options *o, const char *option, const char *text, double *out)
{
    if (!text) return true;
    char *end;
    double seconds = strtod(text, &end);
    if (*text && !*end && strspn(text, "0123456789.eE+-") == strlen(text) && isfinite(seconds) && seconds >= 0) {
        *out = seconds;
        return true;
    }
    return complain(o, "%s takes seconds, as in 0.5, not '%s'", option, text);
}

bool document_read(const struct options *o, int64_t *out)
{
    *out = 1000;
    return one_number(o, "--document", o->document, INT64_C(1) << 40, out);
}
