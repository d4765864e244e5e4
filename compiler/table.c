/* Figures as text: cells of a table on a screen, values separated by commas, standard output. */
#include "table.h"

#include <errno.h>
#include <string.h>

/* Bytes that begin a character. */
int table_width(const char *text)
{
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

void table_cell(struct text *out, const char *text, int width, bool left, bool last)
{
    const int pad = width - table_width(text);
    if (!left) text_add(out, "%*s", pad, "");
    text_add(out, "%s", text);
    if (left && !last) text_add(out, "%*s", pad, "");
}

void table_csv(struct text *out, const char *word)
{
    const bool plain = !strpbrk(word, ",\"\r\n");
    if (!plain) text_add(out, "\"");
    for (; *word; word++) {
        if (*word == '"') text_add(out, "\"");
        text_append(out, word, 1);
    }
    if (!plain) text_add(out, "\"");
}

enum status table_put(const struct options *o, const struct text *text)
{
    if (fwrite(text->data, 1, text->length, stdout) == text->length && fflush(stdout) == 0) return STATUS_DONE;
    complain(o, "cannot write to standard output: %s", strerror(errno));
    return STATUS_MACHINE;
}
