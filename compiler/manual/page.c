/* Converts text, code and Markdown to roff, the language of man pages. */
#include "page.h"
#include "../expression/expression.h"
#include "../support/support.h"

#include <ctype.h>
#include <string.h>

void manual_text(struct text *out, const char *s)
{
    bool first = true;
    for (; *s; s++) {
        if (first && (*s == '.' || *s == '\'')) text_add(out, "\\&");
        first = *s == '\n';
        if (*s == '\\')
            text_add(out, "\\e");
        else if (*s == '-')
            text_add(out, "\\-");
        else if (*s == '`') /* A backquote marks code in the texts of the tables. */
            continue;
        else
            text_append(out, s, 1);
    }
}

void manual_code(struct text *out, const char *line, size_t length)
{
    if (length && (*line == '.' || *line == '\'')) text_add(out, "\\&");
    for (size_t k = 0; k < length; k++)
        if (line[k] == '\\')
            text_add(out, "\\e");
        else if (line[k] == '-')
            text_add(out, "\\-");
        else
            text_append(out, line + k, 1);
    text_add(out, "\n");
}

void manual_head(struct text *out, const char *name, const char *section, const char *says)
{
    text_add(out, ".\\\" Made from the tables of the compiler.\n.TH %s %s \"\" \"attnc %s\"\n.SH NAME\n", name, section,
             ATTNC_VERSION);
    for (const char *c = name; *c; c++) text_add(out, *c == '-' ? "\\-" : "%c", tolower((unsigned char)*c));
    text_add(out, " \\- %s\n", says);
}

static void add_words(struct text *out, const char *words, size_t length)
{
    struct text plain = {0};
    text_append(&plain, words, length);
    if (length) manual_text(out, plain.data);
    text_free(&plain);
}

/* Adds a line of Markdown. Code becomes bold, and a link becomes its text. A span of code may end in a later line.
   While a span is open, *code is true. */
static void add_line(struct text *out, const char *line, size_t length, bool *code)
{
    const char *end = line + length, *from = line;
    for (const char *c = line; c < end; c++) {
        const char *link = !*code && *c == '[' ? memchr(c, ']', (size_t)(end - c)) : NULL;
        const char *last = link && link + 1 < end && link[1] == '(' ? memchr(link, ')', (size_t)(end - link)) : NULL;
        if (*c != '`' && !last) continue;
        add_words(out, from, (size_t)(c - from));
        if (last) {
            add_words(out, c + 1, (size_t)(link - c - 1));
            c = last;
        } else {
            *code = !*code;
            text_add(out, *code ? "\\fB" : "\\fR");
        }
        from = c + 1;
    }
    add_words(out, from, (size_t)(end - from));
    text_add(out, "\n");
}

/* Adds a heading. With `sections`, a heading of level 2 begins a section. Other headings begin a subsection. */
static void add_heading(struct text *out, const char *line, size_t length, bool sections)
{
    size_t level = strspn(line, "#");
    bool section = sections && level == 2;
    text_add(out, section ? ".SH \"" : ".SS \"");
    for (const char *c = line + level + 1; c < line + length; c++)
        if (*c != '`') text_add(out, *c == '-' ? "\\-" : "%c", section ? toupper((unsigned char)*c) : *c);
    text_add(out, "\"\n");
}

static void functions(struct text *markdown)
{
    text_add(markdown, "`");
    expression_list_functions(markdown, " ");
    text_add(markdown, "`.\n");
}

static void names(struct text *markdown)
{
    static const struct {
        enum expression_place place;
        const char *keys;
    } places[] = {{EXPRESSION_PAIR, "`modify`, `weight` and `factor`"},
                  {EXPRESSION_MASK, "`expr`"},
                  {EXPRESSION_ANGLE, "`angle`"},
                  {EXPRESSION_QUERY, "`sink`"},
                  {EXPRESSION_DECAY, "`log`"},
                  {EXPRESSION_POSITION, "`rate`"},
                  {EXPRESSION_OUTPUT, "`output`"},
                  {EXPRESSION_TERM, "`sum`"}};
    enum { PLACES = sizeof places / sizeof *places };
    for (int n = 0; n < EXPRESSION_NAMES; n++) {
        const enum expression_name name = (enum expression_name)n;
        int allowed = 0, with = 0;
        for (int k = 0; k < PLACES; k++)
            if (expression_name_allowed(name, places[k].place)) allowed++, with = k;
        text_add(markdown, "- `%s`: %s", expression_name(name), expression_name_says(name));
        if (allowed == 1) text_add(markdown, "; only in %s", places[with].keys);
        const char *word = "; not in";
        for (int k = 0; k < PLACES && allowed > 1; k++) {
            if (expression_name_allowed(name, places[k].place)) continue;
            text_add(markdown, "%s %s", word, places[k].keys);
            word = " and";
        }
        text_add(markdown, "%s.\n", expression_name_decodes(name) ? "" : "; not with `decode`");
    }
}

void manual_default(const struct key_row *row, const char *before, struct text *markdown)
{
    const char *const text = row->otherwise;
    if (!text || !*text)
        text_add(markdown, text ? "optional" : "required");
    else if (*text == '(')
        text_add(markdown, "%s%.*s", before, (int)strlen(text) - 2, text + 1);
    else
        text_add(markdown, "%s`%s`", before, text);
}

static void keys_of_map(enum group group, struct text *markdown)
{
    for (int k = 0; k < key_row_count; k++) {
        if (key_rows[k].group != group) continue;
        text_add(markdown, "- `%s` (", key_rows[k].key);
        spec_row_domain(&key_rows[k], markdown);
        text_add(markdown, "; ");
        manual_default(&key_rows[k], "default ", markdown);
        text_add(markdown, "): %s.\n", key_rows[k].says);
    }
}

bool manual_mark(const char *line, struct text *markdown)
{
    if (strncmp(line, MANUAL_FUNCTIONS, strlen(MANUAL_FUNCTIONS)) == 0) {
        functions(markdown);
        return true;
    }
    if (strncmp(line, MANUAL_NAMES, strlen(MANUAL_NAMES)) == 0) {
        names(markdown);
        return true;
    }
    for (int k = 0; strncmp(line, MANUAL_MAP, strlen(MANUAL_MAP)) == 0 && k < key_row_count; k++) {
        const size_t length = strlen(key_rows[k].key);
        const char *const key = line + strlen(MANUAL_MAP);
        if (key_rows[k].group != GROUP_SPEC || strncmp(key, key_rows[k].key, length) != 0 || key[length] != ' ')
            continue;
        keys_of_map((enum group)key_rows[k].of, markdown);
        return true;
    }
    return false;
}

void manual_markdown(struct text *out, const char *markdown, bool sections)
{
    bool code = false; /* the line is inside a block of code */
    bool bold = false; /* the text is inside a span of code, which man pages print in bold */
    /* heading: the previous line is a heading; paragraph: the previous line is empty */
    bool heading = true, paragraph = false;
    const char *first = sections ? strstr(markdown, "\n## ") + 1 : markdown;
    for (const char *line = first; *line;) {
        const size_t length = strcspn(line, "\n");
        struct text made = {0};
        if (manual_mark(line, &made)) {
            if (*made.data == '-')
                manual_markdown(out, made.data, false);
            else
                add_line(out, made.data, made.length - 1, &bold);
            text_free(&made);
        } else if (strncmp(line, "<!--", 4) == 0) {
            break;
        } else if (strncmp(line, "```", 3) == 0) {
            text_add(out, code ? ".fi\n" : heading ? ".nf\n" : ".PP\n.nf\n");
            code = !code;
            paragraph = !code;
            heading = false;
        } else if (code) {
            manual_code(out, line, length);
        } else if (!length) {
            paragraph = true;
        } else if (*line == '#') {
            if (line[1] == '#') add_heading(out, line, length, sections);
            heading = true;
        } else {
            const size_t indent = strspn(line, " ");
            const bool item = strncmp(line, "- ", 2) == 0;
            if (item)
                text_add(out, ".IP \\(bu 2\n");
            else if (paragraph && !heading && !indent)
                text_add(out, ".PP\n");
            add_line(out, line + indent + 2 * item, length - indent - 2 * item, &bold);
            paragraph = heading = false;
        }
        line += length + (line[length] == '\n');
    }
}
