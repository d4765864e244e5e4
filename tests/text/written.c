/* Prints a checked-in file that is made from the compiler's tables. usage: written NAME. Without NAME, prints the
   names. */
#include "compiler/manual/manual.h"
#include "compiler/support/support.h"

#include <string.h>

static void schema(struct text *out)
{
    if (!spec_schema(out)) text_free(out);
}

static const struct {
    const char *path;
    void (*write)(struct text *out);
} files[] = {{"specs/README.md", spec_reference},
             {"specs/attnc.schema.json", schema},
             {"generated/man/attnc.1", manual_attnc},
             {"generated/man/attnc-spec.5", manual_spec},
             {"generated/man/attnrt.3", manual_attnrt}};

int main(int count, char **argument)
{
    struct text out = {0};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        if (count == 1) text_add(&out, "%s\n", files[k].path);
        if (count == 2 && strcmp(argument[1], files[k].path) == 0) files[k].write(&out);
    }
    if (!out.data) return STATUS_USAGE;
    const size_t written = fwrite(out.data, 1, out.length, stdout);
    int status = written != out.length || fflush(stdout) ? STATUS_MACHINE : STATUS_DONE;
    text_free(&out);
    return status;
}
