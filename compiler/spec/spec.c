/* Reads the text of a spec and returns a checked struct spec. */
#include "reader.h"
#include "spec.h"
#include "../support/support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

const struct spec *spec_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides,
                             const char *const *override, struct diagnostics *d)
{
    const int before = diagnostics_errors(d);
    struct spec_reader r = {.arena = arena, .d = d, .spec = arena_alloc(arena, sizeof *r.spec), .before = before};
    r.root = yaml_read(arena, text, length, d);
    if (!r.root) return NULL;
    if (r.root->kind == YAML_MAP)
        for (int i = 0; i < overrides; i++) spec_override(&r, override[i]);
    /* An output of the only sum names it `o`. */
    if (r.root->kind == YAML_MAP && yaml_get(r.root, "output") && !yaml_get(r.root, "sums"))
        spec_override(&r, "sums={o: {}}");
    if (r.root->kind == YAML_MAP) spec_read_arrays(&r);
    spec_read_tree(&r);
    if (r.root->kind == YAML_MAP) {
        spec_check(&r, file);
        spec_check_array_names(&r);
        spec_read_sums(&r);
        spec_expand(&r, r.spec);
    }
    return diagnostics_errors(d) == before ? r.spec : NULL;
}

const struct spec *spec_with_outputs(struct arena *arena, const struct spec *spec, unsigned emit)
{
    struct spec *const made = arena_alloc(arena, sizeof *made);
    *made = *spec;
    made->emit |= emit;
    return made;
}

const struct spec *spec_with_schedule(struct arena *arena, const struct spec *spec, const struct schedule *schedule,
                                      int schedules)
{
    struct spec *const made = arena_alloc(arena, sizeof *made);
    *made = *spec;
    made->schedule = schedule;
    made->schedules = schedules;
    return made;
}

enum status read_spec_file(const char *path, const struct options *o, struct text *out)
{
    const struct library_spec *library = library_operand(path);
    if (library) {
        text_append(out, library->text, strlen(library->text));
        return STATUS_DONE;
    }
    FILE *f = fopen(path, "rb");
    struct stat info;
    if (f && fstat(fileno(f), &info) == 0 && S_ISDIR(info.st_mode))
        errno = EISDIR;
    else if (f) {
        char buffer[65536];
        size_t n;
        do text_append(out, buffer, n = fread(buffer, 1, sizeof buffer, f));
        while (n == sizeof buffer && out->length <= YAML_MAX_BYTES);
        if (!ferror(f)) {
            fclose(f);
            if (!out->data) text_append(out, "", 0);
            return STATUS_DONE;
        }
    }
    int why = errno;
    if (f) fclose(f);
    const char *near = why == ENOENT && library_name(path) ? library_near(path) : NULL;
    if (why == ENOENT && library_name(path))
        complain(o, "%s: no such file, and attnc comes with no spec of that name; %s%s%s", path,
                 near ? "did you mean '" : "attnc list prints the names", near ? near : "", near ? "'?" : "");
    else
        complain(o, "%s: %s", path, strerror(why));
    return why == ENOENT || why == EISDIR || why == ENOTDIR || why == EACCES ? STATUS_INPUT : STATUS_MACHINE;
}
