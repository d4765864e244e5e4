/* Texts that grow. */
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>

static void add(struct text *text, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    const int more = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (more < 0 || text->failed) {
        text->failed = true;
        return;
    }
    const size_t wanted = text->length + (size_t)more + 1;
    if (wanted > text->room) {
        char *const data = realloc(text->data, 2 * wanted);
        if (!data) {
            text->failed = true;
            return;
        }
        text->data = data;
        text->room = 2 * wanted;
    }
    vsnprintf(text->data + text->length, text->room - text->length, format, list);
    text->length += (size_t)more;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(text, format, list);
    va_end(list);
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}
