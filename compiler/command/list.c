/* `attnc list` prints the names of the specs that come with attnc. `attnc list targets` prints the targets, and
   `attnc show NAME` a spec. */
#include "command_line.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

#include <string.h>

/* `attnc list targets` prints name, suffix, architecture, vectors, default or not, and attribute of each target.
   `attnc list targets MACHINE` prints the default targets of a machine. */
static int list_targets(const struct options *o)
{
    if (o->files > 2) {
        complain(o, "list targets takes one machine, found '%s'", o->file[2]);
        return STATUS_USAGE;
    }
    for (int k = 0; target_at(k); k++) {
        const struct target *t = target_at(k);
        if (o->files == 1)
            printf("%-9s  %-3s  %-7s  %-7s  %-8s  %s\n", t->name, t->suffix, target_architecture(t), t->vectors,
                   t->by_default ? "default" : "if-named", *t->attribute ? t->attribute : "-");
        else if (target_is_default(t, o->file[1]))
            printf("%s\n", t->name);
    }
    return (int)output_finish(o);
}

int command_list(const struct options *o)
{
    if (o->files && strcmp(o->file[0], "targets") == 0) return list_targets(o);
    if (o->files) {
        complain(o, "list takes no file, found '%s'", o->file[0]);
        return STATUS_USAGE;
    }
    int width = 0;
    for (const struct library_spec *s = library_specs; s->name; s++)
        if ((int)strlen(s->name) > width) width = (int)strlen(s->name);
    struct arena *arena = arena_new();
    struct text list = {0};
    for (const struct library_spec *s = library_specs; s->name; s++) {
        const char *description = library_description(arena, s);
        text_add(&list, "%-*s  %.*s\n", width, s->name, (int)strcspn(description, "\n"), description);
    }
    arena_free(arena);
    const enum status status = table_put(o, &list); /* printf would lose errno if its buffer is full before the end */
    text_free(&list);
    return (int)status;
}

int command_show(const struct options *o)
{
    if (!o->files) {
        complain(o, "show takes the name of a spec that attnc list prints");
        return STATUS_USAGE;
    }
    if (o->picture) return command_show_picture(o);
    for (int i = 0; i < o->files; i++) {
        if (library_find(o->file[i])) continue;
        const char *near = library_near(o->file[i]);
        if (near)
            complain(o, "there is no spec '%s'; did you mean '%s'?", o->file[i], near);
        else
            complain(o, "there is no spec '%s'; attnc list prints the names", o->file[i]);
        return STATUS_INPUT;
    }
    for (int i = 0; i < o->files; i++) fputs(library_find(o->file[i])->text, stdout);
    return (int)output_finish(o);
}
