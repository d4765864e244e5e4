/* Prints lines of C, breaks long ones, and makes text safe for comments. */
#include "printer.h"

#include <string.h>

/* Returns whether a character that changes the direction of writing begins at c. Compilers warn of these characters:
   U+202A to 202E and U+2066 to 2069. */
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
    return text_take(&made, arena);
}

void emit_comment(struct arena *arena, struct text *out, const char *text, int indent)
{
    for (const char *line = emit_harmless(arena, text);;) {
        size_t length = strcspn(line, "\n");
        text_add(out, "%*s%.*s\n", indent, "", (int)length, line);
        if (!line[length] || !line[length + 1]) break;
        line += length + 1;
    }
}

/* Returns the position of the blank at which to break a line so that `room` bytes remain, or 0. Blanks in literals
   do not count. The order of preference is
   - the last blank after a comma or semicolon in the second half,
   - the last blank that fits,
   - the first blank after `room` bytes. */
static size_t cut_of(const char *line, size_t length, size_t room)
{
    const size_t indent = strspn(line, " ");
    size_t blank = 0, after_comma = 0;
    char quote = 0;
    for (size_t k = indent; k < length && (k <= room || !blank); k++) {
        if (quote && line[k] == '\\')
            k++;
        else if (line[k] == '"')
            quote ^= '"';
        else if (line[k] == ' ' && !quote) {
            blank = k;
            if (line[k - 1] == ',' || line[k - 1] == ';') after_comma = k;
        }
    }
    return after_comma > indent + (room - indent) / 2 ? after_comma : blank;
}

/* Returns whether the text ends inside a comment. `inside` is true if it begins inside a comment. */
static bool ends_in_comment(const char *text, size_t length, bool inside)
{
    for (size_t k = 0; k + 1 < length; k++)
        if (text[k] == (inside ? '*' : '/') && text[k + 1] == (inside ? '/' : '*')) {
            inside = !inside;
            k++;
        }
    return inside;
}

void emit_fold(struct text *file)
{
    enum { COLUMNS = 120, LEAST = 60 };
    struct text folded = {0};
    bool comment = false;
    for (const char *line = file->data, *end; line && *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        size_t length = (size_t)(end - line), indent = strspn(line, " "), room = COLUMNS, cut;
        if (indent > COLUMNS - LEAST) room = indent + LEAST;
        const bool starts = strncmp(line + indent, "/*", 2) == 0;
        const int deeper = (int)indent + (comment ? 0 : starts ? 3 : 4);
        /* Lines with the attnc command are not broken, because people copy the command to a shell. */
        static const char command[] = ", made by attnc ";
        const bool whole = *line == '#' || (length > room && memmem(line, length, command, sizeof command - 1));
        comment = ends_in_comment(line, length, comment);
        while (!whole && length > room && (cut = cut_of(line, length, room)) > 0) {
            text_append(&folded, line, cut);
            text_add(&folded, "\n%*s", deeper, "");
            line += cut + 1;
            length -= cut + 1;
            room = deeper > COLUMNS - LEAST ? LEAST : (size_t)(COLUMNS - deeper);
        }
        text_append(&folded, line, length);
        text_append(&folded, "\n", 1);
        if (!*end) break;
    }
    text_free(file);
    *file = folded;
}

const char *emit_format(const struct emitter *x, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *const text = arena_vprintf(x->m->arena, format, arguments);
    va_end(arguments);
    return text;
}

const char *emit_whole(const struct emitter *x, int64_t n)
{
    return emit_format(x, "%lld", (long long)n);
}

static void print_line(struct emitter *x, const char *format, va_list arguments)
{
    text_add(x->out, "%*s%s\n", x->indent, "", arena_vprintf(x->m->arena, format, arguments));
}

void emit_line(struct emitter *x, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(x, format, arguments);
    va_end(arguments);
}

void emit_open(struct emitter *x, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(x, format, arguments);
    va_end(arguments);
    x->indent += 4;
}

void emit_close(struct emitter *x)
{
    x->indent -= 4;
    emit_line(x, "}");
}
