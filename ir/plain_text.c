/* Makes text from users and other programs safe to show. */
#include "memory.h"

size_t utf8_character(const char *s, size_t left)
{
    const unsigned char *u = (const unsigned char *)s;
    if (left >= 1 && u[0] < 0x80) return 1;
    const size_t n = u[0] >= 0xf0 && u[0] < 0xf5   ? 4
                     : u[0] >= 0xe0 && u[0] < 0xf0 ? 3
                     : u[0] >= 0xc2 && u[0] < 0xe0 ? 2
                                                   : 0;
    if (n == 0 || n > left) return 0;
    for (size_t k = 1; k < n; k++)
        if ((u[k] & 0xc0) != 0x80) return 0;
    /* reject overlong encodings, surrogates, and large code points */
    if (n == 3 && ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f))) return 0;
    if (n == 4 && ((u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))) return 0;
    return n;
}

/* Control characters are C0 (below 0x20, and 0x7f) and C1 (0xc2 and a byte below 0xa0). */
bool utf8_control(const char *s, size_t length)
{
    const unsigned char *u = (const unsigned char *)s;
    return (length == 1 && (u[0] < 0x20 || u[0] == 0x7f)) || (length == 2 && u[0] == 0xc2 && u[1] < 0xa0);
}

void text_plain(struct text *text, const char *bytes, size_t length, enum plain_lines lines, const char *instead)
{
    for (size_t n; length; bytes += n, length -= n) {
        n = utf8_character(bytes, length);
        const bool wanted = *bytes == '\t' || (*bytes == '\n' && lines == PLAIN_LINES);
        if (n > 0 && (wanted || !utf8_control(bytes, n)))
            text_append(text, bytes, n);
        else
            text_add(text, "%s", instead);
        if (n == 0) n = 1;
    }
}
