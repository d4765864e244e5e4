/* Reads the values of command-line options. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool read_number(const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    long long n = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || n < least || n > most) return false;
    *value = n;
    return true;
}

bool read_limit(const char *text, struct learn_limit *limit)
{
    char number[16] = "";
    size_t length = text ? strlen(text) : 0;
    bool seconds = length > 0 && text[length - 1] == 's';
    int64_t n;
    if (length == 0 || length >= sizeof number) return false;
    memcpy(number, text, length - seconds);
    if (!read_number(number, 1, MOST_TRAINING, &n)) return false;
    *limit = (struct learn_limit){0};
    if (seconds)
        limit->seconds = (double)n;
    else
        limit->steps = n;
    return true;
}
