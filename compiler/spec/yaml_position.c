/* Finds the position in the file of a byte of a scalar's value. Quotes, escapes and folded lines shift positions, so
   the scalar is decoded again. If the result differs from libyaml's value, the scalar's position is used. */
#include "reader.h"
#include "spec.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DECODED = 1 << 16, MAX_INDENT = 64 };

struct decoder {
    const char *s, *end; /* the remaining text of the file */
    struct position at;  /* the position of s in the file */
    const char *value;   /* libyaml's value of the scalar, which decoding must produce */
    size_t length, made; /* length: bytes of the value; made: bytes decoded so far */
    size_t wanted;
    struct position found; /* the position of byte `wanted` after it is decoded */
    bool failed;
};

static bool more(const struct decoder *x)
{
    return x->s < x->end;
}

static char peek(const struct decoder *x)
{
    return more(x) ? *x->s : 0;
}

static bool at_break(const struct decoder *x)
{
    return peek(x) == '\n' || peek(x) == '\r';
}

/* Skips one character or line break. Columns count characters, not bytes. */
static void skip(struct decoder *x)
{
    if (!more(x)) return;
    if (at_break(x)) {
        if (*x->s == '\r' && x->s + 1 < x->end && x->s[1] == '\n') x->s++;
        x->s++;
        x->at = (struct position){x->at.line + 1, 1};
        return;
    }
    do x->s++;
    while (more(x) && ((unsigned char)*x->s & 0xc0) == 0x80);
    x->at.column++;
}

static void skip_blanks(struct decoder *x)
{
    while (peek(x) == ' ' || peek(x) == '\t') skip(x);
}

/* Adds a byte at position `at` to the decoded value, and compares it with the byte in libyaml's value. */
static void put(struct decoder *x, char byte, struct position at)
{
    if (x->made >= x->length || x->value[x->made] != byte) {
        x->failed = true;
        return;
    }
    if (x->made++ == x->wanted) x->found = at;
}

/* Copies the current character into the value. */
static void copy(struct decoder *x)
{
    const char *from = x->s;
    struct position at = x->at;
    skip(x);
    for (; from < x->s; from++) put(x, *from, at);
}

/* Decodes blanks and line breaks between words. A single line break becomes a blank. If there are several line
   breaks, the first is dropped. */
static void fold_space(struct decoder *x)
{
    struct decoder start = *x;
    skip_blanks(x);
    if (!at_break(x)) {
        const char *to = x->s;
        *x = start;
        while (x->s < to && !x->failed) copy(x);
        return;
    }
    int breaks = 0;
    struct position at = x->at;
    while (at_break(x)) {
        skip(x);
        skip_blanks(x);
        breaks++;
    }
    if (breaks == 1) put(x, ' ', at);
    for (; breaks > 1; breaks--) put(x, '\n', at);
}

static void decode_plain(struct decoder *x)
{
    while (x->made < x->length && more(x) && !x->failed) {
        if (peek(x) == ' ' || peek(x) == '\t' || at_break(x))
            fold_space(x);
        else
            copy(x);
    }
}

static void decode_single(struct decoder *x)
{
    skip(x);
    while (more(x) && !x->failed) {
        if (peek(x) == '\'') {
            if (x->s + 1 >= x->end || x->s[1] != '\'') return;
            skip(x);
            copy(x);
        } else if (peek(x) == ' ' || peek(x) == '\t' || at_break(x))
            fold_space(x);
        else
            copy(x);
    }
}

static void put_code_point(struct decoder *x, unsigned long c, struct position at)
{
    if (c < 0x80)
        put(x, (char)c, at);
    else if (c < 0x800) {
        put(x, (char)(0xc0 | c >> 6), at);
        put(x, (char)(0x80 | (c & 0x3f)), at);
    } else if (c < 0x10000) {
        put(x, (char)(0xe0 | c >> 12), at);
        put(x, (char)(0x80 | (c >> 6 & 0x3f)), at);
        put(x, (char)(0x80 | (c & 0x3f)), at);
    } else {
        put(x, (char)(0xf0 | c >> 18), at);
        put(x, (char)(0x80 | (c >> 12 & 0x3f)), at);
        put(x, (char)(0x80 | (c >> 6 & 0x3f)), at);
        put(x, (char)(0x80 | (c & 0x3f)), at);
    }
}

static void decode_escape(struct decoder *x)
{
    static const char names[] = "abtnvfre \"/\\", values[] = "\a\b\t\n\v\f\r\033 \"/\\";
    struct position at = x->at;
    skip(x);
    if (at_break(x)) { /* the value continues on the next line */
        skip(x);
        skip_blanks(x);
        while (at_break(x)) {
            put(x, '\n', x->at);
            skip(x);
            skip_blanks(x);
        }
        return;
    }
    char c = peek(x);
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const char *name = c ? strchr(names, c) : NULL;
    skip(x);
    if (name)
        put(x, values[name - names], at);
    else if (digits && x->end - x->s >= digits) {
        char hex[9] = {0};
        memcpy(hex, x->s, (size_t)digits);
        for (int k = 0; k < digits; k++) skip(x);
        put_code_point(x, strtoul(hex, NULL, 16), at);
    } else if (c == 'N' || c == '_' || c == 'L' || c == 'P')
        put_code_point(x, c == 'N' ? 0x85 : c == '_' ? 0xa0 : c == 'L' ? 0x2028 : 0x2029, at);
    else
        x->failed = true;
}

static void decode_double(struct decoder *x)
{
    skip(x);
    while (more(x) && peek(x) != '"' && !x->failed) {
        if (peek(x) == '\\')
            decode_escape(x);
        else if (peek(x) == ' ' || peek(x) == '\t' || at_break(x))
            fold_space(x);
        else
            copy(x);
    }
}

/* Decodes the lines of a block scalar, without the first `indent` columns. */
static void decode_lines(struct decoder *x, int indent, bool folded, char chomping)
{
    struct position broken = x->at; /* the position of the last line break */
    bool pending = false;           /* there is a line break that is not in the value yet */
    bool blank_before = false;      /* the line before started with a blank */
    while (more(x) && !x->failed) {
        int breaks = 0;
        struct decoder line;
        for (;;) { /* counts empty lines */
            line = *x;
            for (int k = 0; k < indent && peek(x) == ' '; k++) skip(x);
            if (!at_break(x)) break;
            skip(x);
            breaks++;
        }
        bool ends = x->at.column != indent + 1 || !more(x);
        if (ends) {
            *x = line;
            if (pending && chomping != '-') put(x, '\n', broken);
            for (; breaks > 0 && chomping == '+'; breaks--) put(x, '\n', broken);
            return;
        }
        bool blank = peek(x) == ' ' || peek(x) == '\t';
        if (pending && folded && !blank_before && !blank) {
            if (breaks == 0) put(x, ' ', broken);
        } else if (pending)
            put(x, '\n', broken);
        for (; breaks > 0; breaks--) put(x, '\n', broken);
        blank_before = blank;
        while (more(x) && !at_break(x) && !x->failed) copy(x);
        broken = x->at;
        pending = at_break(x);
        skip(x);
    }
    if (pending && chomping != '-') put(x, '\n', broken);
}

static void decode_block(struct decoder *x, char style)
{
    char chomping = 0;
    bool given = false;
    skip(x);
    for (; peek(x) == '+' || peek(x) == '-' || (peek(x) >= '0' && peek(x) <= '9'); skip(x)) {
        if (peek(x) == '+' || peek(x) == '-')
            chomping = peek(x);
        else
            given = true;
    }
    while (more(x) && !at_break(x)) skip(x);
    skip(x);
    /* An explicit indentation is relative to the parent's, which is unknown. So this tries all indentations. */
    struct decoder first = *x;
    int min = 1, max = MAX_INDENT;
    if (!given) {
        while (more(x) && (peek(x) == ' ' || at_break(x))) skip(x);
        min = max = x->at.column - 1;
    }
    for (int indent = min; indent <= max; indent++) {
        *x = first;
        decode_lines(x, indent, style == '>', chomping);
        if (!x->failed && x->made == x->length) return;
    }
    x->failed = true;
}

/* Skips a tag, an anchor and the blanks before the scalar. */
static void skip_properties(struct decoder *x)
{
    for (;;) {
        char c = peek(x);
        if (c == '!' || c == '&')
            while (more(x) && !at_break(x) && peek(x) != ' ' && peek(x) != '\t') skip(x);
        else if (c == '#')
            while (more(x) && !at_break(x)) skip(x);
        else if (c == ' ' || c == '\t' || at_break(x))
            skip(x);
        else
            return;
    }
}

struct position yaml_place(const struct yaml *node, size_t offset)
{
    if (!node->source || !node->text || node->at.line < 1) return node->at;
    struct decoder decoder = {.s = node->source,
                              .end = node->source + node->source_length,
                              .at = {1, 1},
                              .value = node->text},
                   *x = &decoder;
    x->length = strlen(node->text);
    x->wanted = offset;
    if (x->length > MAX_DECODED || offset >= x->length) return node->at;
    while (more(x) && (x->at.line < node->at.line || x->at.column < node->at.column)) skip(x);
    if (x->at.line != node->at.line || x->at.column != node->at.column) return node->at;
    skip_properties(x);
    switch (node->style) {
    case '\'': decode_single(x); break;
    case '"': decode_double(x); break;
    case '|':
    case '>': decode_block(x, node->style); break;
    default: decode_plain(x); break;
    }
    return x->failed || x->made != x->length ? node->at : x->found;
}
