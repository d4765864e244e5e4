/* `attnc list` prints the names of the specs that come with attnc, in groups. `attnc list targets` prints the targets,
   and `attnc show` specs. */
#include "command_line.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* `attnc list targets` prints name, suffix, architecture, vectors, default or not, and attribute of each target.
   `attnc list targets MACHINE` prints the default targets of a machine. */
static int list_targets(const struct options *o)
{
    if (o->files > 2)
        return (int)complain_as(o, STATUS_USAGE, "list targets takes one machine, found '%s'", o->file[2]);
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

/* Returns whether the text contains the word, in letters of either case. */
static bool mentions(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (; strlen(text) >= length; text++)
        if (strncasecmp(text, word, length) == 0) return true;
    return false;
}

/* Prints an object for a spec, in one line. */
static bool print_item(struct arena *arena, const char *name, const char *group, const char *description,
                       struct text *out)
{
    const int first = (int)strcspn(description, "\n");
    char *const source = arena_copy(arena, description + first + (description[first] == '\n'));
    for (char *c = source; *c; c++)
        if (*c == '\n') *c = c[1] ? ' ' : 0;
    json_t *const item = json_pack("{s:s, s:s, s:s%, s:s}", "name", name, "group", group, "description", description,
                                   (size_t)first, "source", source);
    char *const line = item ? json_dumps(item, JSON_COMPACT) : NULL;
    if (line) text_add(out, "%s\n", line);
    free(line);
    json_decref(item);
    return line != NULL;
}

int command_list(const struct options *o)
{
    enum { MAX_SPECS = 256 };
    if (o->files && strcmp(o->file[0], "targets") == 0) return list_targets(o);
    struct arena *arena = arena_new();
    struct text list = {0};
    const char *group[MAX_SPECS], *description[MAX_SPECS];
    bool left[MAX_SPECS] = {false}, found = false, written = true;
    int width = 0, count = 0;
    for (const struct library_spec *s = library_specs; s->name && count < MAX_SPECS; s++, count++) {
        group[count] = library_group(arena, s);
        description[count] = library_description(arena, s);
        left[count] = true;
        for (int k = 0; k < o->files; k++)
            left[count] &= mentions(s->name, o->file[k]) || mentions(description[count], o->file[k]) ||
                           mentions(group[count], o->file[k]);
        found |= left[count];
        if (left[count] && (int)strlen(s->name) > width) width = (int)strlen(s->name);
    }
    for (int first = 0; first < count; first++) {
        if (!left[first]) continue;
        if (!o->json) text_add(&list, "%s%s:\n", list.length ? "\n" : "", group[first]);
        for (int k = first; k < count; k++) {
            if (!left[k] || strcmp(group[k], group[first]) != 0) continue;
            left[k] = k == first; /* the others of the group are listed now */
            if (o->json)
                written &= print_item(arena, library_specs[k].name, group[k], description[k], &list);
            else
                text_add(&list, "  %-*s  %.*s\n", width, library_specs[k].name, (int)strcspn(description[k], "\n"),
                         description[k]);
        }
    }
    arena_free(arena);
    enum status status = STATUS_DONE;
    if (!found)
        complain(o, "no spec that comes with attnc has '%s' in its name, group or description", o->file[0]);
    else if (!written)
        complain(o, "out of memory");
    if (!found || !written)
        status = found ? STATUS_MACHINE : STATUS_INPUT;
    else
        status = table_put(o, &list); /* printf would lose errno if its buffer is full before the end */
    text_free(&list);
    return (int)status;
}

int command_show(const struct options *o)
{
    if (!o->files)
        return (int)complain_as(o, STATUS_USAGE, "show takes a file, or the name of a spec that attnc list prints");
    if (o->picture) return command_show_picture(o);
    enum status status = STATUS_DONE;
    struct text all = {0};
    for (int i = 0; i < o->files && status == STATUS_DONE; i++) {
        struct text source = {0};
        status = read_spec_file(o->file[i], o, &source);
        if (status == STATUS_DONE) text_append(&all, source.data, source.length);
        text_free(&source);
    }
    if (status == STATUS_DONE) status = table_put(o, &all);
    text_free(&all);
    return (int)status;
}
