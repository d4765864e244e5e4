/* Replaces #include lines by the files of the runtime that they name. */
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 128 };

/* Returns the file of the runtime that a line of a file in `folder` includes, or NULL. A kernel has no folder: NULL. */
static const struct runtime_file *included(const char *line, const char *folder)
{
    static const char quoted[] = "#include \"", installed[] = "#include <attnrt/", types[] = "#include <attnrt.h>";
    char name[NAME_LENGTH];
    if (folder && strncmp(line, quoted, sizeof quoted - 1) == 0)
        line += sizeof quoted - 1;
    else if (strncmp(line, installed, sizeof installed - 1) == 0) {
        line += sizeof installed - 1;
        folder = "";
    } else if (folder && strncmp(line, types, sizeof types - 1) == 0) {
        line += sizeof "#include <" - 1;
        folder = "";
    } else
        return NULL;
    for (; strncmp(line, "../", 3) == 0; line += 3) folder = "";
    snprintf(name, sizeof name, "%s%.*s", folder, (int)strcspn(line, "\">\n"), line);
    for (const struct runtime_file *f = runtime_files; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

static void paste_lines(struct pasted *pasted, const char *folder, const char *text, struct text *out)
{
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        const struct runtime_file *const f = *line == '#' ? included(line, folder) : NULL;
        if (f)
            paste_file(pasted, f, out);
        else
            text_append(out, line, (size_t)(end - line) + (*end != 0));
    }
}

void paste_file(struct pasted *pasted, const struct runtime_file *file, struct text *out)
{
    char folder[NAME_LENGTH];
    bool *const before = &pasted->file[file - runtime_files];
    if (*before) return;
    const char *const slash = strrchr(file->name, '/'), *const directive = strstr(file->text, "\n#");
    const bool header = file->name[strlen(file->name) - 1] == 'h';
    *before = !header ||
              (directive && strncmp(directive, "\n#ifndef ATTNRT_", 16) == 0); /* others are included several times */
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - file->name) : 0, file->name);
    paste_lines(pasted, folder, file->text, out);
}

struct pasted paste_begin(void)
{
    struct pasted pasted = {0};
    for (int f = 0; runtime_files[f].name; f++) pasted.file[f] = strcmp(runtime_files[f].name, "attnrt.h") == 0;
    return pasted;
}

void paste_headers(const char *text, struct text *out)
{
    struct pasted pasted = paste_begin();
    paste_lines(&pasted, NULL, text, out);
}
