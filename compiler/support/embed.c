/* A build tool that writes text files as C arrays.
   - embed OUTPUT.c SYMBOL=FILE…: for each file, `const char SYMBOL[]` with its bytes and a 0, and `SYMBOL_bytes`, their
     number without the 0. +FILE continues the last text.
   - embed --library OUTPUT.c FILE.yaml…: `library_specs[]` (spec/spec.h) with the name and text of each spec
   - embed --runtime OUTPUT.c FILE…: `runtime_files[]` (support.h) with the path in runtime/ and text of each file */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what)
{
    fprintf(stderr, "embed: error: %s: %s\n", what, strerror(errno ? errno : EIO));
    exit(3);
}

/* Writes a file. The headers that attnrt.h includes take the place of the lines that include them. */
static void embed(FILE *out, const char *path)
{
    static const char included[] = "#include \"attnrt/";
    static unsigned column;
    char *line = NULL, other[4096];
    size_t room = 0;
    FILE *in = fopen(path, "rb");
    if (!in) fail(path);
    for (ssize_t n; (n = getline(&line, &room, in)) > 0;) {
        const char *const slash = strrchr(path, '/'), *const name = line + strlen("#include \"");
        if (strncmp(line, included, sizeof included - 1) == 0) {
            snprintf(other, sizeof other, "%.*s%.*s", slash ? (int)(slash + 1 - path) : 0, path,
                     (int)strcspn(name, "\""), name);
            embed(out, other);
            continue;
        }
        for (ssize_t k = 0; k < n; k++, column++) {
            const unsigned c = (unsigned char)line[k]; /* above 127 as '\ooo', because char may be signed */
            fprintf(out, c < 128 ? "%s%u," : "%s'\\%o',", column % 24 == 0 ? "\n    " : " ", c);
        }
    }
    if (ferror(in)) fail(path);
    free(line);
    fclose(in);
}

static void end(FILE *out)
{
    fprintf(out, "\n    0\n};\n");
}

int main(int argc, char **argv)
{
    int runtime = argc > 1 && strcmp(argv[1], "--runtime") == 0, specs = argc > 1 && strcmp(argv[1], "--library") == 0;
    int list = runtime || specs, first = list ? 3 : 2;
    if (argc < first + 1) {
        fprintf(stderr, "usage: embed OUTPUT.c SYMBOL=FILE... | embed --library OUTPUT.c FILE.yaml... | "
                        "embed --runtime OUTPUT.c FILE...\n");
        return 2;
    }
    const char *symbol = "";
    FILE *out = fopen(argv[first - 1], "w");
    if (!out) fail(argv[first - 1]);
    if (list) fprintf(out, "#include \"compiler/%s\"\n\n", runtime ? "support/support.h" : "emit/printer.h");
    for (int k = first; k < argc; k++) {
        if (list) {
            fprintf(out, "static const char text_%d[] = {", k - first);
            embed(out, argv[k]);
            end(out);
            continue;
        }
        char *file = *argv[k] == '+' ? argv[k] : strchr(argv[k], '=');
        if (!file) fail(argv[k]);
        *file++ = 0;
        if (*argv[k]) {
            symbol = argv[k];
            fprintf(out, "extern const char %s[];\nconst char %s[] = {", symbol, symbol);
        }
        embed(out, file);
        if (k + 1 < argc && *argv[k + 1] == '+') continue;
        end(out);
        fprintf(out, "extern const unsigned long %s_bytes;\nconst unsigned long %s_bytes = sizeof %s - 1;\n", symbol,
                symbol, symbol);
    }
    if (list) {
        fprintf(out, "\nconst struct %s[] = {\n",
                runtime ? "runtime_file runtime_files" : "library_spec library_specs");
        for (int k = first; k < argc; k++) {
            const char *folder = runtime ? strstr(argv[k], "runtime/") : NULL, *slash = strrchr(argv[k], '/'),
                       *name = folder  ? folder + strlen("runtime/")
                               : slash ? slash + 1
                                       : argv[k],
                       *dot = runtime ? NULL : strrchr(name, '.');
            fprintf(out, "    {\"%.*s\", text_%d},\n", dot ? (int)(dot - name) : (int)strlen(name), name, k - first);
        }
        fprintf(out, "    {NULL, NULL}\n};\n");
    }
    if (ferror(out) | fclose(out)) fail(argv[first - 1]);
    return 0;
}
