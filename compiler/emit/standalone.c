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

/* Returns whether the file defines a function that the text names. */
static bool defines(const struct runtime_file *file, const char *text)
{
    for (const char *line = file->text; (line = strstr(line, "\nATTN_API ")); line++) {
        const char *const end = strchr(line, '('), *name = end;
        while (name[-1] != ' ') name--;
        const size_t length = (size_t)(end - name);
        for (const char *at = text; (at = strstr(at, "attn_")); at++)
            if (strncmp(at, name, length) == 0 && !isalnum((unsigned char)at[length]) && at[length] != '_') return true;
    }
    return false;
}

void standalone_functions(const char *kernel, struct text *out)
{
    struct pasted pasted = paste_begin();
    bool needed[MAX_RUNTIME_FILES];
    int files = 0;
    while (runtime_files[files].name) files++;
    for (int f = files - 1; f >= 0; f--) { /* a file needs only files before it */
        needed[f] = defines(&runtime_files[f], kernel);
        for (int k = f + 1; k < files && !needed[f]; k++)
            needed[f] = needed[k] && defines(&runtime_files[f], runtime_files[k].text);
    }
    text_add(out, "/* ==== attnc's runtime library, as far as the kernel calls it ==== */\n"
                  "#define ATTN_API static __attribute__((unused))\n");
    header_part("#ifndef ATTNRT_ARGUMENTS", "#endif /* ATTNRT_ARGUMENTS */\n", out);
    for (int f = 0; f < files; f++)
        if (needed[f]) paste_file(&pasted, &runtime_files[f], out);
    text_add(out, "\n");
}
