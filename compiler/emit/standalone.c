/* Prints the parts of the runtime for --standalone: types, and the files whose functions the kernel calls. */
#include "printer.h"
#include "../support/support.h"

#include <ctype.h>
#include <string.h>

/* Prints the part of attnrt.h that its directives name. */
static void header_part(const char *begin, const char *end, struct text *out)
{
    const char *const from = strstr(attnrt_header, begin), *const to = strstr(from, end);
    text_append(out, from, (size_t)(strchr(to, '\n') + 1 - from));
}

void standalone_types(struct text *out)
{
    header_part("#ifndef ATTNRT_TYPES", "#endif /* ATTNRT_TYPES */\n", out);
}

static const char mark[] = "\nATTN_API "; /* precedes functions of the library */

/* Sets the name of the function whose prototype or definition follows the mark. Returns its length. */
static size_t name_of(const char *marked, const char **name)
{
    const char *const end = strchr(marked, '(');
    for (*name = end; (*name)[-1] != ' ' && (*name)[-1] != '*';) --*name;
    return (size_t)(end - *name);
}

static bool is_prototype(const char *marked)
{
    return marked[strcspn(marked, ";{")] == ';';
}

/* Returns whether the file defines a function that the text names. */
static bool defines(const struct runtime_file *file, const char *text)
{
    for (const char *line = file->text, *name; (line = strstr(line, mark)); line++) {
        const size_t length = name_of(line, &name);
        for (const char *at = text; (at = strstr(at, "attn_")); at++)
            if (strncmp(at, name, length) == 0 && !isalnum((unsigned char)at[length]) && at[length] != '_') return true;
    }
    return false;
}

/* Copies the text without the prototypes of functions that it does not define. Compilers warn of them. */
static void without_prototypes(const char *text, struct text *out)
{
    for (const char *next; (next = strstr(text, mark)); text = next) {
        const char *name, *other;
        const size_t length = name_of(next, &name);
        bool defined = !is_prototype(next);
        for (const char *at = text; !defined && (at = strstr(at, mark)); at++)
            defined = !is_prototype(at) && name_of(at, &other) == length && strncmp(name, other, length) == 0;
        text_append(out, text, (size_t)(next - text));
        next = defined ? next : strchr(next, ';') + 1;
        if (defined) text_append(out, next++, 1);
    }
    text_add(out, "%s", text);
}

/* Sets `needed` for each file that the text calls, and for the files that these need. */
static void need_called(const char *text, bool *needed)
{
    for (int f = 0; runtime_files[f].name; f++)
        if (!needed[f] && runtime_files[f].name[strlen(runtime_files[f].name) - 1] == 'c' &&
            defines(&runtime_files[f], text)) {
            needed[f] = true;
            need_called(runtime_files[f].text, needed);
        }
}

/* Returns whether the kernel's text includes the header for its loops. */
static bool includes(const char *kernel, const char *header)
{
    const char *const slash = strchr(header, '/');
    return slash && strncmp(header, "kernel/", 7) == 0 && strcmp(header, "kernel/call.h") != 0 &&
           strstr(kernel, header);
}

void standalone_paste(const char *kernel, const char *loops, struct text *out, struct text *loops_out)
{
    struct pasted pasted = {0};
    bool needed[MAX_RUNTIME_FILES] = {false};
    need_called(kernel, needed);
    need_called(loops, needed);
    for (int f = 0; runtime_files[f].name; f++) {
        const char *const name = runtime_files[f].name;
        if (includes(kernel, name) || includes(loops, name)) need_called(runtime_files[f].text, needed);
        pasted.file[f] = strcmp(name, "attnrt.h") == 0; /* the kernel has the types already */
    }
    text_add(out, "/* ==== attnc's runtime library, as far as the kernel calls it ==== */\n"
                  "#define ATTN_API static __attribute__((unused))\n");
    header_part("#ifndef ATTNRT_ARGUMENTS", "#endif /* ATTNRT_ARGUMENTS */\n", out);
    struct text library = {0};
    for (int f = 0; runtime_files[f].name; f++)
        if (needed[f]) paste_file(&pasted, &runtime_files[f], &library);
    without_prototypes(library.data ? library.data : "", out);
    text_free(&library);
    text_add(out, "\n");
    paste_text(&pasted, kernel, out);
    paste_text(&pasted, loops, loops_out);
}
