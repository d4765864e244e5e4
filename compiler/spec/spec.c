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
    struct spec_reader r = {.arena = arena, .d = d, .spec = arena_alloc(arena, sizeof *r.spec)};
    r.root = yaml_read(arena, text, length, d);
    if (!r.root) return NULL;
    if (r.root->kind == YAML_MAP)
        for (int i = 0; i < overrides; i++) spec_override(&r, override[i]);
    if (r.root->kind == YAML_MAP) spec_read_arrays(&r);
    spec_read_tree(&r);
    if (r.root->kind == YAML_MAP) {
        spec_check(&r, file);
        spec_check_array_names(&r);
        spec_read_sums(&r);
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

enum dtype spec_type_of_keys(const struct spec *spec)
{
    return spec->k_storage ? spec->k_storage : spec->dtype;
}

enum dtype spec_type_of_values(const struct spec *spec)
{
    const enum dtype storage = spec->values_are_keys ? spec->k_storage : spec->v_storage;
    return storage ? storage : spec->dtype;
}

bool spec_has_storage(const struct spec *spec)
{
    return spec->k_storage || spec->v_storage;
}

int spec_array(const struct spec *spec, const char *name)
{
    for (int k = 0; k < spec->arrays.count; k++)
        if (strcmp(spec->arrays.array[k].name, name) == 0) return k;
    return -1;
}

bool spec_has_tangent(const struct spec *spec, const char *name)
{
    const size_t length = strlen(name) - (name_is_tangent(name) ? strlen(TANGENT) : 0);
    bool inputs = length == 1 && strchr("qkv", name[0]);
    for (int k = 0; k < spec->arrays.count; k++)
        inputs |= strlen(spec->arrays.array[k].name) == length && memcmp(spec->arrays.array[k].name, name, length) == 0;
    return name_is_tangent(name) && inputs;
}

int64_t spec_pair_bytes(const struct spec *spec)
{
    return dtype_row_bytes(spec_type_of_keys(spec), spec->head_dim) +
           (spec->values_are_keys ? 0 : dtype_row_bytes(spec_type_of_values(spec), spec->value_dim));
}

bool spec_sums_earlier_keys(const struct spec *spec)
{
    return mask_shows_earlier_keys(spec->mask) || (spec_has_storage(spec) && mask_shows_all_earlier_keys(spec->mask));
}

static void mask_expressions(const struct mask *m, void (*visit)(void *, const char *, const struct expression *),
                             void *user)
{
    if (m->kind == MASK_EXPR) visit(user, "expr", m->expr);
    for (int k = 0; k < m->parts; k++) mask_expressions(m->part[k], visit, user);
}

void spec_expressions(const struct spec *spec,
                      void (*visit)(void *user, const char *key, const struct expression *expression), void *user)
{
    if (spec->graph) return; /* its rate has no text */
    for (int k = 0; k < spec->prepares; k++)
        if (spec->prepare[k].angle) visit(user, "angle", spec->prepare[k].angle);
    for (int k = 0; k < (spec->sums ? spec->sums : 1); k++) {
        const struct spec *const sum = spec->sums ? spec->sum[k] : spec;
        if (sum->similarity.modify) visit(user, "modify", sum->similarity.modify);
        if (sum->similarity.weight) visit(user, "weight", sum->similarity.weight);
        if (sum->factor) visit(user, "factor", sum->factor);
        mask_expressions(sum->mask, visit, user);
        if (sum->sink) visit(user, "sink", sum->sink);
    }
    if (spec->output) visit(user, "output", spec->output);
    if (spec->decay) visit(user, "log", spec->decay);
    if (spec->rate) visit(user, "rate", spec->rate);
}

bool spec_has_logarithms(const struct spec *spec)
{
    return spec->similarity.kind == SIMILARITY_SOFTMAX;
}

bool spec_may_be_linear(const struct spec *spec)
{
    bool may = false;
    for (int k = 0; k < spec->sums; k++) may |= spec_may_be_linear(spec->sum[k]);
    return spec->sums ? may : spec->similarity.kind != SIMILARITY_SOFTMAX && spec->algorithm != ALGORITHM_QUADRATIC;
}

bool spec_has_constant(const struct spec *spec)
{
    return spec->normalize == NORMALIZE_SINK || spec->normalize == NORMALIZE_SUM_PLUS;
}

enum statistics_kind spec_statistics(const struct spec *spec)
{
    if (!(spec->emit & EMIT_STATISTICS)) return STATISTICS_ABSENT;
    if (spec->normalize == NORMALIZE_NONE) return STATISTICS_UNDIVIDED;
    return spec_has_logarithms(spec) ? STATISTICS_LOGARITHMS : STATISTICS_DENOMINATORS;
}
