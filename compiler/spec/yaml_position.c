/* Finds the position in the file of a byte of a scalar's value. Blanks, line breaks, quotes and escapes shift
   positions, so the other characters of the value are looked up in the file one by one. */
#include "reader.h"
#include "spec.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

/* A character in a text. */
struct cursor {
    const char *s, *end;
    struct position at;
};

static char peek(const struct cursor *x)
{
    return x->s < x->end ? *x->s : 0;
}

static bool at_blank(const struct cursor *x)
{
    return peek(x) && strchr(blanks, *x->s);
}

/* Skips one character or line break. Columns count characters, not bytes. */
static void skip(struct cursor *x)
{
    const char c = peek(x);
    if (!c) return;
    if (c == '\r' && x->s + 1 < x->end && x->s[1] == '\n') x->s++;
    do x->s++;
    while (x->s < x->end && ((unsigned char)*x->s & 0xc0) == 0x80);
    x->at = c == '\r' || c == '\n' ? (struct position){x->at.line + 1, 1}
                                   : (struct position){x->at.line, x->at.column + 1};
}

static void skip_blanks(struct cursor *x)
{
    while (at_blank(x)) skip(x);
}

static void skip_until(struct cursor *x, const char *ends)
{
    while (peek(x) && !strchr(ends, *x->s)) skip(x);
}

/* Skips what is before the value: a tag, an anchor, comments, and an opening quote or the first line of a block. */
static void skip_to_value(struct cursor *x, char style)
{
    for (skip_blanks(x); peek(x) && strchr("!&#", *x->s); skip_blanks(x)) skip_until(x, *x->s == '#' ? "\r\n" : blanks);
    if (style == '|' || style == '>')
        skip_until(x, "\r\n");
    else if (style)
        skip(x);
}

/* Skips an escape in the file, and the character in the value that it stands for, but for a blank. */
static void skip_escape(struct cursor *file, struct cursor *value)
{
    skip(file);
    const char c = peek(file);
    if (!strchr("\r\nnrt ", c)) skip(value);
    for (int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0; digits >= 0; digits--) skip(file);
}

struct position yaml_place(const struct yaml *node, size_t offset)
{
    if (!node->source || !node->text || node->at.line < 1 || offset >= strlen(node->text)) return node->at;
    const char *const wanted = node->text + offset;
    struct cursor file = {node->source, node->source + node->source_length, {1, 1}},
                  value = {node->text, node->text + strlen(node->text), {1, 1}};
    while (peek(&file) && (file.at.line < node->at.line || file.at.column < node->at.column)) skip(&file);
    skip_to_value(&file, node->style);
    while (peek(&file)) {
        const char c = peek(&file);
        if (node->style == '\'' && c == '\'' && !at_blank(&value)) skip(&file); /* it is doubled */
        const struct position at = file.at;
        if (node->style == '"' && c == '\\')
            skip_escape(&file, &value);
        else if (peek(&file) == peek(&value)) {
            skip(&file);
            skip(&value);
        } else if (at_blank(&file) || at_blank(&value)) {
            skip_blanks(&value);
            skip_blanks(&file);
            if (value.s == wanted) continue;
        } else
            break;
        if (value.s > wanted) return at;
    }
    return node->at;
}
