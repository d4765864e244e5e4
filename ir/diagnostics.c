/* Collects messages about a text. Prints them in order, with the source line and a caret. A column is one UTF-8
   character. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ERRORS = 100, MAX_COLUMNS = 150, CONTEXT_COLUMNS = 70, MAX_MESSAGE = 2000 };

struct message {
    struct position at;
    const char *text;
    int order;
    bool warning;
    /* `notes` are the notes of this error or warning. `next` is the next message of the list. */
    struct message *notes, *next;
};

struct diagnostics {
    struct arena *arena;
    const char *file, *source;
    size_t length;
    int errors, messages; /* messages counts errors and warnings, not notes */
    struct message *first, *last, *last_note;
};

struct diagnostics *diagnostics_new(struct arena *arena, const char *file, const char *source, size_t length)
{
    struct diagnostics *d = arena_alloc(arena, sizeof *d);
    d->arena = arena;
    d->file = arena_copy(arena, file);
    d->source = source;
    d->length = source ? length : 0;
    return d;
}

static struct message *message_new(struct diagnostics *d, struct position at, const char *format, va_list args)
{
    char buffer[MAX_MESSAGE];
    if (vsnprintf(buffer, sizeof buffer, format, args) < 0) buffer[0] = 0;
    struct message *m = arena_alloc(d->arena, sizeof *m);
    m->at = at;
    m->text = arena_copy(d->arena, buffer);
    return m;
}

static struct message *append(struct diagnostics *d, struct position at, const char *format, va_list args)
{
    struct message *m = message_new(d, at, format, args);
    m->order = d->messages++;
    if (d->last)
        d->last->next = m;
    else
        d->first = m;
    d->last = m;
    d->last_note = NULL;
    return m;
}

bool diagnostics_error(struct diagnostics *d, struct position at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append(d, at, format, args);
    va_end(args);
    d->errors++;
    return false;
}

bool diagnostics_warning(struct diagnostics *d, struct position at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append(d, at, format, args)->warning = true;
    va_end(args);
    return false;
}

bool diagnostics_note(struct diagnostics *d, struct position at, const char *format, ...)
{
    if (!d->last) return false;
    va_list args;
    va_start(args, format);
    struct message *m = message_new(d, at, format, args);
    va_end(args);
    if (d->last_note)
        d->last_note->next = m;
    else
        d->last->notes = m;
    d->last_note = m;
    return false;
}

void diagnostics_take(struct diagnostics *d, const struct diagnostics *from)
{
    for (const struct message *m = from->first; m; m = m->next) {
        (m->warning ? diagnostics_warning : diagnostics_error)(d, NO_POSITION, "%s", m->text);
        for (const struct message *n = m->notes; n; n = n->next) diagnostics_note(d, NO_POSITION, "%s", n->text);
    }
}

int diagnostics_errors(const struct diagnostics *d)
{
    return d->errors;
}

/* ---- lines of the source text ---- */

/* Returns the length in bytes of the line break at s. Returns 0 if there is none. The line breaks are those of YAML
   1.1, as in libyaml. */
static size_t line_break(const char *s, size_t left)
{
    if (left >= 2 && s[0] == '\r' && s[1] == '\n') return 2;
    if (left >= 1 && (s[0] == '\n' || s[0] == '\r')) return 1;
    if (left >= 2 && memcmp(s, "\xc2\x85", 2) == 0) return 2;
    if (left >= 3 && (memcmp(s, "\xe2\x80\xa8", 3) == 0 || memcmp(s, "\xe2\x80\xa9", 3) == 0)) return 3;
    return 0;
}

static const char *find_line(const struct diagnostics *d, int line, size_t *length)
{
    if (!d->source) return NULL;
    const char *s = d->source, *end = s + d->length;
    if (d->length >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) s += 3;
    for (int at = 1; at < line; at++) {
        size_t n = 0;
        while (s < end && (n = line_break(s, (size_t)(end - s))) == 0) s++;
        if (s == end) return NULL;
        s += n;
    }
    const char *stop = s;
    while (stop < end && line_break(stop, (size_t)(end - stop)) == 0) stop++;
    *length = (size_t)(stop - s);
    return s;
}

static void put_plain(FILE *out, const char *s, size_t length)
{
    struct text text = {0};
    text_plain(&text, s, length, PLAIN_LINE, "?");
    if (text.length) fwrite(text.data, 1, text.length, out);
    text_free(&text);
}

static const char *skip_characters(const char *s, const char *end, int count)
{
    for (; count > 0 && s < end; count--) {
        const size_t n = utf8_character(s, (size_t)(end - s));
        s += n ? n : 1;
    }
    return s;
}

static void put_line(const struct diagnostics *d, struct position at, FILE *out, bool color)
{
    size_t length = 0;
    const char *line = find_line(d, at.line, &length);
    if (!line) return;
    const char *end = line + length, *from = line, *to = end;
    if (skip_characters(line, end, MAX_COLUMNS) < end) {
        if (at.column > CONTEXT_COLUMNS) from = skip_characters(line, end, at.column - CONTEXT_COLUMNS);
        to = skip_characters(from, end, 2 * CONTEXT_COLUMNS);
    }
    const char *const before = from > line ? "..." : "";
    fputs(before, out);
    put_plain(out, from, (size_t)(to - from));
    fputs(to < end ? "...\n" : "\n", out);
    if (at.column < 1) return;
    const char *caret = skip_characters(line, end, at.column - 1);
    fprintf(out, "%*s", (int)strlen(before), "");
    for (const char *s = from; s < caret;) {
        const size_t n = utf8_character(s, (size_t)(end - s));
        fputc(*s == '\t' ? '\t' : ' ', out);
        s += n ? n : 1;
    }
    fputs(color ? "\033[1;32m^\033[0m\n" : "^\n", out);
}

/* ---- printing messages ---- */

/* Prints one message. `note_of` is the error to which the note m belongs, or NULL if m is no note. A note at the
   position of its error has no source line. */
static void put_message(const struct diagnostics *d, const struct message *m, const struct message *note_of, FILE *out,
                        bool color)
{
    const bool note = note_of;
    const char *const bold = color ? "\033[1m" : "", *const plain = color ? "\033[0m" : "";
    fputs(bold, out);
    put_plain(out, d->file, strlen(d->file));
    if (m->at.line > 0 && m->at.column > 0)
        fprintf(out, ":%d:%d", m->at.line, m->at.column);
    else if (m->at.line > 0)
        fprintf(out, ":%d", m->at.line);
    const char *const colors = note ? "\033[1;36m" : m->warning ? "\033[1;35m" : "\033[1;31m";
    fprintf(out, ":%s %s%s:%s ", plain, color ? colors : "", note ? "note" : m->warning ? "warning" : "error", plain);
    fputs(note ? "" : bold, out);
    put_plain(out, m->text, strlen(m->text));
    fputs(note ? "" : plain, out);
    fputc('\n', out);
    const bool same_place = note_of && note_of->at.line == m->at.line && note_of->at.column == m->at.column;
    if (m->at.line > 0 && !same_place) put_line(d, m->at, out, color);
}

static int compare(const void *pa, const void *pb)
{
    const struct message *a = *(const struct message *const *)pa, *b = *(const struct message *const *)pb;
    if (a->at.line != b->at.line) return a->at.line < b->at.line ? -1 : 1;
    if (a->at.column != b->at.column) return a->at.column < b->at.column ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

int diagnostics_flush(struct diagnostics *d, FILE *out, bool color)
{
    const int errors = d->errors;
    if (d->messages == 0) return 0;
    struct message **sorted = arena_alloc(d->arena, (size_t)d->messages * sizeof *sorted);
    int count = 0;
    for (struct message *m = d->first; m; m = m->next) sorted[count++] = m;
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (int i = 0; i < count && i < MAX_ERRORS; i++) {
        put_message(d, sorted[i], NULL, out, color);
        for (const struct message *n = sorted[i]->notes; n; n = n->next) put_message(d, n, sorted[i], out, color);
    }
    if (count > MAX_ERRORS) {
        const struct message more = {
            .text = arena_printf(d->arena, "errors that are not shown: %d", count - MAX_ERRORS)};
        put_message(d, &more, sorted[0], out, color);
    }
    d->errors = d->messages = 0;
    d->first = d->last = d->last_note = NULL;
    return errors;
}

/* ---- "did you mean" ---- */

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

enum { MAX_LETTERS = 40 };

/* Returns the edit distance (Damerau-Levenshtein) of two words, ignoring case. One edit inserts, deletes or replaces
   a letter, or swaps two neighbours. */
static int edits(const char *a, int n, const char *b, int m)
{
    int row[3][MAX_LETTERS + 1];
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *above = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (above[j] + 1 < best) best = above[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *nearest_word(const char *text, const char *const *words)
{
    const size_t n = strlen(text);
    if (n < 2 || n > MAX_LETTERS) return NULL;
    const char *best = NULL;
    int min = n < 6 ? 1 : n < 9 ? 2 : 3;
    for (; *words; words++) {
        const size_t m = strlen(*words);
        if (m > MAX_LETTERS) continue;
        const int e = edits(text, (int)n, *words, (int)m);
        if (e < min || (e == min && !best)) {
            min = e;
            best = *words;
        }
    }
    return best;
}
