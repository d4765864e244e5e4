/* Fills in templates, which are C files in emit/embedded/. It replaces names and evaluates some #if directives. */
#include "definitions.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16 };

/* The state while a template is filled in. Its lists have an element for each level of nested #if. */
struct filling {
    const struct template_names *names;
    struct text *out;
    /* Lists with an element for each level of nested #if. taken: lines are copied; done: a branch was taken; own:
       all names are names of the template, so the directive is not copied. */
    bool taken[MAX_DEPTH], done[MAX_DEPTH], own[MAX_DEPTH];
    int depth;
};

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the first name that matches the word, or NULL. */
static const struct template_value *find(const struct template_names *t, const char *word, size_t length)
{
    if (!t->begins[(unsigned char)word[0]] && !t->ends[(unsigned char)word[length - 1]]) return NULL;
    for (int k = 0; k < t->values; k++) {
        const struct template_value *v = &t->value[k];
        const size_t n = v->length;
        const bool part = v->is_beginning || v->is_end;
        if (part ? length > n && memcmp(v->is_end ? word + length - n : word, v->name, n) == 0
                 : length == n && memcmp(word, v->name, n) == 0)
            return v;
    }
    return NULL;
}

/* Evaluates `NAME`, `!NAME`, `NAME > number`, or several of these joined by &&. Sets *holds to the result. Returns
   false if a word is not a name of the template. */
static bool condition(const struct filling *x, const char *c, bool *holds)
{
    for (*holds = true;; c += 2) {
        while (*c == ' ') c++;
        const bool negated = *c == '!';
        c += negated ? 1 : 0;
        size_t n = 0;
        while (word_character(c[n])) n++;
        const struct template_value *v = n ? find(x->names, c, n) : NULL;
        if (!v || v->is_end || v->is_beginning) return *holds = false;
        c += n;
        while (*c == ' ') c++;
        *holds &= *c == '>' ? v->number > atoi(c + 1) : (v->number != 0) != negated;
        while (*c && *c != '\n' && *c != '&') c++;
        if (*c != '&') return true;
    }
}

/* Evaluates a directive of the template. Returns false for a directive of C, which is copied. */
static bool directive(struct filling *x, const char *line)
{
    bool holds = false;
    if (strncmp(line, "#if", 3) == 0) {
        const bool own = line[3] == ' ' && condition(x, line + 3, &holds);
        x->depth++;
        x->own[x->depth] = own;
        x->taken[x->depth] = x->taken[x->depth - 1] && (!own || holds);
        x->done[x->depth] = own && holds;
        return own;
    }
    const bool own = x->own[x->depth];
    if (strncmp(line, "#elif ", 6) == 0 && own) {
        x->taken[x->depth] = x->taken[x->depth - 1] && !x->done[x->depth] && condition(x, line + 6, &holds) && holds;
        x->done[x->depth] |= holds;
        return true;
    }
    if (strncmp(line, "#else", 5) == 0 && own) {
        x->taken[x->depth] = x->taken[x->depth - 1] && !x->done[x->depth];
        return true;
    }
    if (strncmp(line, "#endif", 6) == 0) {
        x->depth--;
        return own;
    }
    return false;
}

/* Prints the text that replaces a name. If the text is empty, blanks before it are removed. If the name is also the
   `first` word of its line, blanks after it are removed. */
static void put(struct filling *x, const char *text, size_t length, const char **next, bool first)
{
    while ((!length || *text == ',') && !first && x->out->length && x->out->data[x->out->length - 1] == ' ')
        x->out->data[--x->out->length] = 0;
    if (!length && first)
        while (**next == ' ') (*next)++;
    text_append(x->out, text, length);
}

/* Prints a line with names replaced, except in literals. */
static void fill_line(struct filling *x, const char *line, const char *end)
{
    const char *begin = line + strspn(line, " ");
    char quote = 0;
    for (const char *c = line; c < end;) {
        size_t n = 0;
        while (c + n < end && word_character(c[n])) n++;
        const struct template_value *v = n && !quote ? find(x->names, c, n) : NULL;
        if (!n) {
            if (quote && *c == '\\') {
                text_append(x->out, c, 2);
                c += 2;
                continue;
            }
            if (*c == '"') quote = quote ? 0 : *c;
            text_append(x->out, c++, 1);
            continue;
        }
        const bool first = c == begin;
        const char *next = c + n;
        if (!v)
            text_append(x->out, c, n);
        else if (v->is_end) {
            text_append(x->out, c, n - v->length);
            text_append(x->out, v->text, strlen(v->text));
        } else if (v->is_beginning) {
            text_append(x->out, v->text, strlen(v->text));
            text_append(x->out, c + v->length, n - v->length);
        } else
            put(x, v->text, strlen(v->text), &next, first);
        c = next;
    }
    text_append(x->out, "\n", 1);
}

static void set(struct template_names *t, const char *name, const char *text, int64_t number)
{
    const size_t length = strlen(name);
    const bool is_end = name[0] == '_';
    assert(t->values < MAX_VALUES);
    if (is_end)
        t->ends[(unsigned char)name[length - 1]] = true;
    else
        t->begins[(unsigned char)name[0]] = true;
    t->value[t->values++] = (struct template_value){.name = name,
                                                    .text = text,
                                                    .number = number,
                                                    .length = length,
                                                    .is_beginning = name[length - 1] == '_',
                                                    .is_end = is_end};
}

void template_set(struct template_names *t, const char *name, const char *text)
{
    set(t, name, text, 1);
}

void template_set_number(struct template_names *t, const char *name, int64_t number)
{
    set(t, name, arena_printf(t->arena, "%lld", (long long)number), number);
}

void template_set_text(struct template_names *t, const char *name, struct text *lines)
{
    while (lines->length && lines->data[lines->length - 1] == '\n') lines->data[--lines->length] = 0;
    template_set(t, name, arena_copy(t->arena, lines->data ? lines->data : ""));
    text_free(lines);
}

const char *template_fill(const struct template_names *t, const char *file)
{
    struct text made = {0};
    struct filling x = {.names = t, .out = &made, .taken = {true}};
    for (const char *line = strstr(file, "\n\n") + 2; *line;) {
        const char *end = line + strcspn(line, "\n");
        if (!(*line == '#' && directive(&x, line)) && x.taken[x.depth]) fill_line(&x, line, end);
        line = *end ? end + 1 : end;
    }
    const char *kept = arena_copy(t->arena, made.data ? made.data : "");
    text_free(&made);
    return kept;
}
