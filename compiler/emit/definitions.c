/* Splits C files into pieces (definitions and directives), and selects those that other code uses. */
#include "definitions.h"

#include <ctype.h>
#include <string.h>

enum { MAX_PIECES = 1024, MAX_FILES = 16, BUCKETS = 64 };

/* A piece of C: one definition or one directive. */
struct piece {
    const char *text, *body; /* `text` begins with the comment above the piece */
    size_t length, body_length;
    const char *name;
    size_t name_length;
    bool tag, external, wanted; /* tag: a struct or union; external: a function that is not static */
    bool spaced;                /* an empty line precedes the piece, or it is the first in its file */
    int file;
    struct piece *next; /* the next piece in the same hash bucket, in file order */
};

struct pieces {
    struct piece piece[MAX_PIECES];
    int count, files;
    bool external[MAX_FILES];
    struct piece *bucket[BUCKETS], *last[BUCKETS]; /* hash table of the pieces' names */
};

/* If a comment or literal begins at c, returns its end. Otherwise returns c. */
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

/* Returns the length of the identifier at c, or 0. */
static size_t word_length(const char *c)
{
    size_t n = 0;
    if (isdigit((unsigned char)*c)) return 0;
    while (isalnum((unsigned char)c[n]) || c[n] == '_') n++;
    return n;
}

/* Returns the end of the piece at c: `;`, the `}` of a function, or the line end of a directive. */
static const char *definition_end(const char *c)
{
    if (*c == '#') return c + strcspn(c, "\n");
    for (int depth = 0; *c;) {
        const char *after = skip_opaque(c);
        if (after != c) {
            c = after;
            continue;
        }
        depth += (*c == '{') - (*c == '}');
        c++;
        if (depth <= 0 && (c[-1] == ';' || (c[-1] == '}' && *c == '\n'))) break;
    }
    return c;
}

/* Sets the name that the piece defines, if it defines one. */
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
        if (n == 13 && strncmp(c, "__attribute__", n) == 0) break;
        if (*c == '(') function = true;
        if (n && !function) {
            last = c;
            length = n;
        }
        if (n) c += n - 1;
    }
    if (function && *c != '{') return; /* The text is a declaration. */
    p->tag = !function && *c == '{';
    p->name = last;
    p->name_length = length;
    p->external = function && strncmp(p->body, "static ", 7) != 0;
}

static int bucket_of(const char *name, size_t length)
{
    return (int)((31 * length + 7 * (size_t)(unsigned char)*name + (unsigned char)name[length - 1]) % BUCKETS);
}

/* Adds the piece to the bucket of its name. */
static void list(struct pieces *all, struct piece *p)
{
    if (!p->name_length) return;
    const int b = bucket_of(p->name, p->name_length);
    *(all->last[b] ? &all->last[b]->next : &all->bucket[b]) = p;
    all->last[b] = p;
}

void pieces_add(struct pieces *all, const char *text, bool external)
{
    const int file = all->files++;
    const char *c = text;
    all->external[file] = external;
    while (all->count < MAX_PIECES) {
        const char *comment = NULL;
        bool spaced = c == text;
        for (;;) {
            const char *blank = c;
            while (isspace((unsigned char)*c)) c++;
            if (c - blank > 1) comment = NULL; /* a comment before an empty line does not belong to the piece */
            spaced |= c - blank > 1;
            if (c[0] != '/' || c[1] != '*') break;
            comment = c;
            c = skip_opaque(c);
        }
        if (!*c) break;
        struct piece *p = &all->piece[all->count++];
        *p = (struct piece){.text = comment ? comment : c, .body = c, .spaced = spaced, .file = file};
        c = definition_end(c);
        c += strcspn(c, "\n"); /* The line may end with a comment, which belongs to the piece. */
        p->length = (size_t)(c - p->text);
        p->body_length = (size_t)(c - p->body);
        find_name(p);
        list(all, p);
    }
}

/* Selects the pieces whose names occur in the text, and the pieces that these need. */
static void want(struct pieces *all, const char *text, size_t length)
{
    bool after_struct = false;
    for (const char *c = text; c < text + length;) {
        const char *after = skip_opaque(c);
        const size_t n = word_length(c);
        for (struct piece *p = n && after == c ? all->bucket[bucket_of(c, n)] : NULL; p; p = p->next) {
            if (p->wanted || p->name_length != n || p->tag != after_struct || strncmp(p->name, c, n) != 0) continue;
            p->wanted = true;
            want(all, p->body, p->body_length);
        }
        if (n) after_struct = (n == 6 && strncmp(c, "struct", n) == 0) || (n == 5 && strncmp(c, "union", n) == 0);
        if (after != c)
            c = after;
        else if (n)
            c += n;
        else
            for (c++; isdigit((unsigned char)c[-1]) && (isalnum((unsigned char)*c) || *c == '.'); c++)
                if (!isdigit((unsigned char)*c)) break;
    }
}

struct pieces *pieces_new(struct arena *arena)
{
    return arena_alloc(arena, sizeof(struct pieces));
}

void pieces_want(struct pieces *all, const char *text)
{
    want(all, text, strlen(text));
}

void pieces_print(const struct pieces *all, struct text *out)
{
    bool used[MAX_FILES] = {false};
    for (int k = 0; k < all->count; k++) used[all->piece[k].file] |= all->piece[k].wanted;
    for (int k = 0; k < all->count; k++) {
        const struct piece *p = &all->piece[k];
        if (used[p->file] && strncmp(p->body, "#include <", 10) == 0)
            text_add(out, "%.*s\n", (int)p->body_length, p->body);
    }
    for (int k = 0; k < all->count; k++) {
        const struct piece *p = &all->piece[k];
        if (!p->wanted) continue;
        text_add(out, "%s%.*s", p->spaced ? "\n" : "", (int)(p->body - p->text), p->text);
        if (p->external && all->external[p->file]) text_add(out, "static __attribute__((unused)) ");
        text_append(out, p->body, p->body_length);
        text_add(out, "\n");
    }
}
