/* Lines of emitted C, and text in its comments. */
#include "printer.h"

#include <string.h>

/* U+202A to 202E and U+2066 to 2069 turn the direction of writing, which compilers warn of. */
static bool turns_direction(const char *c)
{
    if (strncmp(c, "\xe2\x80", 2) == 0) return (unsigned char)c[2] >= 0xaa && (unsigned char)c[2] <= 0xae;
    return strncmp(c, "\xe2\x81", 2) == 0 && (unsigned char)c[2] >= 0xa6 && (unsigned char)c[2] <= 0xa9;
}

const char *emit_harmless(struct arena *arena, const char *text)
{
    struct text made = {0};
    for (const char *c = text; *c; c++) {
        if (turns_direction(c)) {
            c += 2;
            continue;
        }
        text_append(&made, c, 1);
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*') || (c[0] == '?' && c[1] == '?'))
            text_add(&made, " ");
    }
    const char *copy = arena_copy(arena, made.data ? made.data : "");
    text_free(&made);
    return copy;
}

void emit_comment(struct arena *arena, struct text *out, const char *text, int indent)
{
    for (const char *line = emit_harmless(arena, text);;) {
        size_t length = strcspn(line, "\n");
        emit_wrapped(out, indent, arena_printf(arena, "%.*s", (int)length, line));
        if (!line[length] || !line[length + 1]) break;
        line += length + 1;
    }
}

void emit_wrapped(struct text *out, int indent, const char *text)
{
    enum { WIDEST = 150, MIN = 60 };
    for (int deeper = 0;; deeper = 4) {
        text_add(out, "%*s", indent + deeper, "");
        size_t room = WIDEST - (size_t)(indent + deeper < WIDEST - MIN ? indent + deeper : WIDEST - MIN),
               length = strlen(text), cut = room;
        if (length > room) {
            while (cut > room / 2 && text[cut] != ' ') cut--;
            if (text[cut] != ' ') cut += strcspn(text + cut, " ");
        }
        if (length <= room || cut >= length) {
            text_add(out, "%s\n", text);
            return;
        }
        text_add(out, "%.*s\n", (int)cut, text);
        text += cut + 1;
    }
}

void emit_line(struct emitter *x, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(x->m->arena, format, arguments);
    va_end(arguments);
    emit_wrapped(x->out, x->indent, text);
}
