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

static const struct yaml *read_library(struct arena *arena, const struct library_spec *spec)
{
    struct diagnostics *d = diagnostics_new(arena, spec->name, spec->text, strlen(spec->text));
    return yaml_read(arena, spec->text, strlen(spec->text), d);
}

const char *library_description(struct arena *arena, const struct library_spec *spec)
{
    const struct yaml *description = yaml_get(read_library(arena, spec), "description");
    return description && description->kind == YAML_WORD ? description->text : "";
}

const char *library_group(struct arena *arena, const struct library_spec *spec)
{
    static const struct {
        const char *key, *says;
    } beside[] = {{"delta", "with a delta rule"}, {"decay", "with a decay"}, {"mask", "with a mask"}};
    const struct yaml *const root = read_library(arena, spec), *choice = yaml_get(root, "similarity");
    const char *const similarity = choice && choice->kind == YAML_MAP ? choice->key[0]->text
                                   : choice                           ? choice->text
                                                                      : "";
    for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
        const struct yaml *const has = yaml_get(root, beside[k].key);
        if (has && !(has->text && (strcmp(has->text, "causal") == 0 || strcmp(has->text, "none") == 0)))
            return arena_printf(arena, "%s, %s", similarity, beside[k].says);
    }
    return similarity;
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
