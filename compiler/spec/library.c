/* Finds specs that come with attnc by their names. */
#include "spec.h"

#include <string.h>
#include <sys/stat.h>

const struct library_spec *library_find(const char *name)
{
    for (const struct library_spec *s = library_specs; s->name; s++)
        if (strcmp(s->name, name) == 0) return s;
    return NULL;
}

const char *library_near(const char *name)
{
    enum { MAX_SPECS = 256 };
    const char *words[MAX_SPECS + 1] = {NULL};
    for (int k = 0; k < MAX_SPECS && library_specs[k].name; k++) words[k] = library_specs[k].name;
    return nearest_word(name, words);
}

const char *library_description(struct arena *arena, const struct library_spec *spec)
{
    struct diagnostics *d = diagnostics_new(arena, spec->name, spec->text, strlen(spec->text));
    const struct yaml *description = yaml_get(yaml_read(arena, spec->text, strlen(spec->text), d), "description");
    return description && description->kind == YAML_WORD ? description->text : "";
}

bool library_name(const char *operand)
{
    return *operand && !strpbrk(operand, "./");
}

const struct library_spec *library_operand(const char *operand)
{
    struct stat info;
    bool file = stat(operand, &info) == 0 && !S_ISDIR(info.st_mode);
    return library_name(operand) && !file ? library_find(operand) : NULL;
}
