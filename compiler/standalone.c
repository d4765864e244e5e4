/* --standalone: what a kernel needs of the runtime as text for the kernel's own files: the types of attnrt.h, and of the functions those that it calls. */
#include "compiler.h"

#include <ctype.h>
#include <string.h>

/* The files of the runtime that kernels call, embedded when attnc is built. */
extern const char attnrt_problem[], attnrt_random[], attnrt_ranges[], attnrt_draw[];

enum { MOST_PIECES = 256 };

/* One definition at the outermost level of a file, with the comment in front of it. */
struct piece {
    const char *text, *body; /* the comment, what it is about */
    size_t length, body_length;
    const char *name;
    size_t name_length;
    bool tag, external, wanted; /* a struct's name; a function that other files call */
    int file;
};

struct pieces {
    struct piece piece[MOST_PIECES];
    int count;
};

/* Behind the comment or the literal that begins at c; c itself if none does. */
static const char *skip_opaque(const char *c)
{
    if (c[0] == '/' && c[1] == '*') {
        const char *end = strstr(c + 2, "*/");
        return end ? end + 2 : c + strlen(c);
    }
    if (*c != '"' && *c != '\'') return c;
    const char quote = *c++;
    while (*c && *c != quote) c += *c == '\\' && c[1] ? 2 : 1;
    return *c ? c + 1 : c;
}

static size_t word_length(const char *c)
{
    size_t n = 0;
    if (isdigit((unsigned char)*c)) return 0;
    while (isalnum((unsigned char)c[n]) || c[n] == '_') n++;
    return n;
}

/* Behind a definition: the line of a directive, `}` of a function, or `;`. */
static const char *definition_end(const char *c)
{
    if (*c == '#') return c + strcspn(c, "\n");
    for (int depth = 0; *c;) {
        const char *behind = skip_opaque(c);
        if (behind != c) {
            c = behind;
            continue;
        }
        depth += (*c == '{') - (*c == '}');
        c++;
        if (depth <= 0 && (c[-1] == ';' || (c[-1] == '}' && *c == '\n'))) break;
    }
    return c;
}

/* The name that a definition gives something, NULL for none: a declaration, an #include. */
static void find_name(struct piece *p)
{
    const char *c = p->body, *end = p->body + p->body_length, *last = NULL;
    size_t length = 0;
    if (strncmp(c, "#define ", 8) == 0) {
        p->name = c + 8;
        p->name_length = word_length(p->name);
    }
    if (*c == '#') return;
    bool function = false;
    for (; c < end && *c != '=' && *c != '{' && *c != ';'; c++) {
        const size_t n = word_length(c);
        if (*c == '(') function = true;
        if (n && !function) {
            last = c;
            length = n;
        }
        if (n) c += n - 1;
    }
    if (function && *c != '{') return;
    p->tag = !function && *c == '{';
    p->name = last;
    p->name_length = length;
    p->external = function && strncmp(p->body, "static ", 7) != 0;
}

static void split(struct pieces *all, const char *c, int file)
{
    while (all->count < MOST_PIECES) {
        const char *comment = NULL;
        for (;;) {
            const char *blank = c;
            while (isspace((unsigned char)*c)) c++;
            if (c - blank > 1) comment = NULL; /* an empty line: about something else */
            if (c[0] != '/' || c[1] != '*') break;
            comment = c;
            c = skip_opaque(c);
        }
        if (!*c) break;
        struct piece *p = &all->piece[all->count++];
        *p = (struct piece){.text = comment ? comment : c, .body = c, .file = file};
        c = definition_end(c);
        c += strcspn(c, "\n"); /* a comment behind it */
        p->length = (size_t)(c - p->text);
        p->body_length = (size_t)(c - p->body);
        find_name(p);
    }
}

/* Wants every piece that the text names, and what those name. */
static void want(struct pieces *all, const char *text, size_t length)
{
    bool after_struct = false;
    for (const char *c = text; c < text + length;) {
        const char *behind = skip_opaque(c);
        const size_t n = word_length(c);
        for (int k = 0; k < all->count && n && behind == c; k++) {
            struct piece *p = &all->piece[k];
            if (p->wanted || p->name_length != n || p->tag != after_struct || strncmp(p->name, c, n) != 0) continue;
            p->wanted = true;
            want(all, p->body, p->body_length);
        }
        if (n) after_struct = n == 6 && strncmp(c, "struct", 6) == 0;
        if (behind != c)
            c = behind;
        else if (n)
            c += n;
        else
            for (c++; isdigit((unsigned char)c[-1]) && (isalnum((unsigned char)*c) || *c == '.'); c++)
                if (!isdigit((unsigned char)*c)) break;
    }
}

void standalone_types(struct text *out)
{
    const char *from = strstr(attnrt_header, "#ifndef ATTNRT_TYPES"), *to = from ? strstr(from, "#endif /* ATTNRT_TYPES */\n") : NULL;
    if (to) text_append(out, from, (size_t)(strchr(to, '\n') + 1 - from));
}

void standalone_functions(struct arena *arena, const char *kernel, struct text *out)
{
    static const char opening[] = "extern \"C\" {\n#endif\n";
    struct pieces *all = arena_alloc(arena, sizeof *all);
    const char *const file[] = {strstr(attnrt_header, opening) + strlen(opening), attnrt_problem, attnrt_random, attnrt_ranges, attnrt_draw};
    enum { FILES = sizeof file / sizeof *file };
    all->count = 0;
    for (int f = 0; f < FILES; f++) split(all, file[f], f);
    want(all, kernel, strlen(kernel));
    bool used[FILES] = {false};
    for (int k = 0; k < all->count; k++) used[all->piece[k].file] |= all->piece[k].wanted;
    text_add(out, "/* ==== what the kernel calls of attnc's runtime library ==== */\n");
    for (int k = 0; k < all->count; k++) {
        const struct piece *p = &all->piece[k];
        if (used[p->file] && strncmp(p->body, "#include <", 10) == 0) text_add(out, "%.*s\n", (int)p->body_length, p->body);
    }
    for (int k = 0; k < all->count; k++) {
        const struct piece *p = &all->piece[k];
        if (!p->wanted) continue;
        text_add(out, "\n%.*s", (int)(p->body - p->text), p->text);
        if (p->external) text_add(out, "static __attribute__((unused)) ");
        text_add(out, "%.*s\n", (int)p->body_length, p->body);
    }
    text_add(out, "\n");
}
