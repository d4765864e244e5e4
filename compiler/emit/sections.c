/* Prints the code of all targets once. A kernel's file includes itself for each target (section). Lines that differ by
   the target's suffix and by numbers alone are printed once: a suffix becomes T(name), and a number that differs
   becomes an expression of LANES, or OF(…) with a number for each section. Other lines are in #if. */
#include "sections.h"
#include "../support/support.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBERS = 64, HOLE = 1 };

/* A line of the code, or a comment of several lines. In `text`, HOLE stands for a number. */
struct line {
    char *text;
    uint32_t hash, in; /* in: the sections that have the line, as bits */
    int numbers;
    const char **number[MAX_SECTIONS]; /* of each section that has the line */
    struct line *next;
};

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the end of a line, or of the comment that begins in it. */
static const char *line_end(const char *line)
{
    const char *c = line;
    for (bool quoted = false; *c && *c != '\n'; c++) {
        if (*c == '"' && (c == line || c[-1] != '\\')) quoted = !quoted;
        if (quoted || c[0] != '/' || c[1] != '*') continue;
        const char *const end = strstr(c + 2, "*/");
        if (!end) return c + strlen(c);
        c = end + 1;
    }
    return c;
}

/* Returns the length of the target's suffix at the end of a word, or 0. */
static size_t suffix_length(const char *word, size_t length, const char *suffix)
{
    const size_t n = strlen(suffix);
    return length > n + 1 && word[length - n - 1] == '_' && memcmp(word + length - n, suffix, n) == 0 ? n + 1 : 0;
}

/* Copies a word. A name with the target's suffix becomes T(name), or just the name in a comment. */
static void put_word(const struct section *s, const char *word, size_t length, bool in_comment, struct text *out)
{
    const size_t n = suffix_length(word, length, s->suffix);
    if (n && !in_comment) text_add(out, "T(");
    text_append(out, word, length - n);
    if (n && !in_comment) text_add(out, ")");
}

/* Makes a line of one section. */
static struct line *make_line(struct arena *arena, const struct section *s, int section, const char *from,
                              const char *end)
{
    struct line *const line = arena_alloc(arena, sizeof *line);
    struct text text = {0};
    const char *number[MAX_NUMBERS];
    bool quoted = false, in_comment = false;
    *line = (struct line){.in = 1U << section};
    for (const char *c = from; c < end;) {
        size_t n = 0;
        if (*c == '"' && (c == from || c[-1] != '\\')) quoted = !quoted;
        if (c[0] == '/' && c[1] == '*' && !quoted) in_comment = true;
        if (c > from + 1 && c[-2] == '*' && c[-1] == '/') in_comment = false;
        while (!quoted && c + n < end && (word_character(c[n]) || (n && c[n] == '.'))) n++;
        bool digits = n > 0 && line->numbers < MAX_NUMBERS && (c == from || c[-1] != '.');
        for (size_t k = 0; k < n; k++) digits &= isdigit((unsigned char)c[k]) != 0;
        if (digits) {
            number[line->numbers++] = arena_printf(arena, "%.*s", (int)n, c);
            text_append(&text, (const char[]){HOLE}, 1);
        } else if (n) {
            size_t whole = 0; /* a name ends before the dot of a member */
            while (whole < n && word_character(c[whole])) whole++;
            n = isdigit((unsigned char)*c) ? n : whole;
            put_word(s, c, n, in_comment, &text);
        } else
            text_append(&text, c, n = 1);
        c += n;
    }
    line->text = arena_copy(arena, text.data ? text.data : "");
    line->number[section] = arena_alloc(arena, (size_t)(line->numbers + 1) * sizeof *number);
    memcpy(line->number[section], number, (size_t)line->numbers * sizeof *number);
    line->hash = 2166136261U;
    for (const char *c = line->text; *c; c++) line->hash = (line->hash ^ (unsigned char)*c) * 16777619U;
    text_free(&text);
    return line;
}

/* Sets *list to the lines of a section, and returns their number. */
static int lines_of(struct arena *arena, const struct section *s, int section, struct line ***list)
{
    int count = 1;
    for (const char *c = s->body.data; *c; c++) count += *c == '\n';
    *list = arena_alloc(arena, (size_t)count * sizeof **list);
    count = 0;
    for (const char *line = s->body.data, *end; *line; line = *end ? end + 1 : end) {
        end = line_end(line);
        (*list)[count++] = make_line(arena, s, section, line, end);
    }
    return count;
}

static bool equal(const struct line *a, const struct line *b)
{
    return a->hash == b->hash && a->numbers == b->numbers && strcmp(a->text, b->text) == 0;
}

/* Merges the lines of a section into those of earlier ones: a longest common subsequence is shared. Returns the number
   of lines of `to`, which has room for all. */
static int merge(struct line **a, int n, struct line **b, int m, int section, struct line **to)
{
    const size_t row = (size_t)m + 1;
    uint16_t *const length = calloc(((size_t)n + 1) * row, sizeof *length); /* of the rest from a[i] and b[j] on */
    int count = 0, i = 0, j = 0;
    for (int x = n - 1; x >= 0 && length; x--)
        for (int y = m - 1; y >= 0; y--) {
            uint16_t *const at = &length[(size_t)x * row + (size_t)y];
            const uint16_t down = at[row], right = at[1];
            *at = equal(a[x], b[y]) ? (uint16_t)(at[row + 1] + 1) : down > right ? down : right;
        }
    while (i < n || j < m) {
        const size_t at = (size_t)i * row + (size_t)j;
        if (length && i < n && j < m && equal(a[i], b[j])) {
            a[i]->in |= 1U << section;
            a[i]->number[section] = b[j++]->number[section];
            to[count++] = a[i++];
        } else if (j == m || (i < n && (!length || length[at + row] >= length[at + 1])))
            to[count++] = a[i++];
        else
            to[count++] = b[j++];
    }
    free(length);
    return count;
}

/* Returns C for number k of a line: the number, an expression of LANES, or one number for each section. */
static const char *number_text(struct arena *arena, const struct section *const *s, int sections, const struct line *l,
                               int k)
{
    int first = 0, second = -1;
    while (!(l->in >> first & 1)) first++;
    for (int x = first + 1; x < sections; x++)
        if (l->in >> x & 1 && strcmp(l->number[x][k], l->number[first][k]) != 0) second = x;
    if (second < 0) return l->number[first][k];
    const long long one = strtoll(l->number[first][k], NULL, 10), two = strtoll(l->number[second][k], NULL, 10);
    const long long lanes = s[first]->lanes - s[second]->lanes, times = lanes ? (one - two) / lanes : 0,
                    plus = one - times * s[first]->lanes;
    bool fits = times != 0;
    const char *list = "";
    for (int x = 0; x < sections; x++) {
        const bool has = l->in >> x & 1;
        if (has) fits &= strtoll(l->number[x][k], NULL, 10) == times * s[x]->lanes + plus;
        list = arena_printf(arena, "%s%s%s", list, x ? ", " : "", has ? l->number[x][k] : "0");
    }
    if (!fits) return arena_printf(arena, "OF(%s)", list);
    if (times == 1 && plus == 0) return "LANES";
    const char *const scaled = times == 1 ? "LANES" : arena_printf(arena, "%lld * LANES", times);
    return plus == 0  ? arena_printf(arena, "(%s)", scaled)
           : plus < 0 ? arena_printf(arena, "(%s - %lld)", scaled, -plus)
                      : arena_printf(arena, "(%s + %lld)", scaled, plus);
}

static void print_line(struct arena *arena, const struct section *const *s, int sections, const struct line *l,
                       struct text *out)
{
    int k = 0;
    for (const char *c = l->text; *c; c++)
        if (*c == HOLE)
            text_add(out, "%s", number_text(arena, s, sections, l, k++));
        else
            text_append(out, c, 1);
    text_add(out, "\n");
}

void sections_print(struct arena *arena, const struct section *const *s, int sections, struct text *out)
{
    struct line **all = NULL;
    int count = 0;
    for (int x = 0; x < sections; x++) {
        struct line **own;
        const int lines = lines_of(arena, s[x], x, &own);
        struct line **const to = arena_alloc(arena, (size_t)(count + lines + 1) * sizeof *to);
        count = merge(all, count, own, lines, x, to);
        all = to;
    }
    const uint32_t every = (1U << sections) - 1;
    uint32_t in = every;
    for (int k = 0; k <= count; k++) {
        const uint32_t next = k < count ? all[k]->in : every;
        const bool other = in != every && (in ^ next) == every;
        if (other) text_add(out, "#else\n");
        if (next != in && in != every && !other) text_add(out, "#endif\n");
        if (next != in && next != every && !other) {
            text_add(out, "#if OF(");
            for (int x = 0; x < sections; x++) text_add(out, "%s%d", x ? ", " : "", next >> x & 1);
            text_add(out, ")\n");
        }
        in = next;
        if (k < count) print_line(arena, s, sections, all[k], out);
    }
}
