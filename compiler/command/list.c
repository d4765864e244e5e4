/* `attnc list` and `attnc show NAME`: the specs that come with attnc. */
#include "command_line.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <string.h>

static int finish_output(const struct options *o)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return STATUS_DONE;
    complain(o, "cannot write to standard output");
    return STATUS_MACHINE;
}

/* The first line of the description, in the arena. */
static const char *summary(struct arena *arena, const struct library_spec *spec)
{
    struct diagnostics *d = diagnostics_new(arena, spec->name, spec->text, strlen(spec->text));
    const struct yaml *description = yaml_get(yaml_read(arena, spec->text, strlen(spec->text), d), "description");
    if (!description || description->kind != YAML_WORD) return "";
    char *line = arena_copy(arena, description->text);
    line[strcspn(line, "\n")] = 0;
    return line;
}

int command_list(const struct options *o)
{
    if (o->files) {
        complain(o, "list takes no file, found '%s'", o->file[0]);
        return STATUS_USAGE;
    }
    int width = 0;
    for (const struct library_spec *s = library_specs; s->name; s++)
        if ((int)strlen(s->name) > width) width = (int)strlen(s->name);
    struct arena *arena = arena_new();
    for (const struct library_spec *s = library_specs; s->name; s++)
        printf("%-*s  %s\n", width, s->name, summary(arena, s));
    arena_free(arena);
    return finish_output(o);
}

int command_show(const struct options *o)
{
    if (!o->files) {
        complain(o, "show needs the name of a spec, one of those that attnc list prints");
        return STATUS_USAGE;
    }
    for (int i = 0; i < o->files; i++) {
        if (library_find(o->file[i])) continue;
        const char *near = library_near(o->file[i]);
        if (near)
            complain(o, "no spec is called '%s'; did you mean '%s'?", o->file[i], near);
        else
            complain(o, "no spec is called '%s'; attnc list prints the names", o->file[i]);
        return STATUS_INPUT;
    }
    for (int i = 0; i < o->files; i++) fputs(library_find(o->file[i])->text, stdout);
    return finish_output(o);
}
