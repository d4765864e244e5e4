/* For the option --tuned, compiles SPEC.yaml with the schedule of SPEC.tuned.yaml. Warns if the two files compute
   different functions. */
#include "driver.h"
#include "unit.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <string.h>
#include <unistd.h>

const char *tuned_path(struct arena *arena, const char *spec)
{
    const char *slash = strrchr(spec, '/'), *dot = strrchr(slash ? slash + 1 : spec, '.');
    const bool yaml = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    const int stem = yaml ? (int)(dot - spec) : (int)strlen(spec);
    return arena_printf(arena, "%.*s.tuned%s", stem, spec, yaml ? dot : ".yaml");
}

/* Returns a hash of everything that affects the result: types, sizes, and the graph that is read. */
static const char *source_hash(const struct unit *p, unsigned emit)
{
    const struct spec *const spec = p->spec;
    struct text t = {0}, graph = {0};
    text_add(&t, "%d %d %lld %lld %lld %u", (int)spec->dtype, (int)spec->algorithm, (long long)spec->block,
             (long long)spec->head_dim, (long long)spec->value_dim, emit);
    if (spec->max_length) text_add(&t, " %lld", (long long)spec->max_length);
    graph_print(p->read, &graph);
    text_add(&t, "%s", strchr(graph.data, '\n')); /* skips the line with the spec's name */
    const char *hash = hash_text(p->arena, t.data, t.length);
    text_free(&graph);
    text_free(&t);
    return hash;
}

const char *unit_source_hash(const struct unit *p)
{
    return source_hash(p, p->spec->emit & ~p->asked); /* without the outputs that options add */
}

const char *unit_ready_hash(const struct unit *p)
{
    return source_hash(p, 0);
}

const char *spec_source_hash(struct arena *arena, const char *path, const char *text, size_t length,
                             struct diagnostics *d, const struct spec **spec)
{
    const struct options none = {0};
    const struct unit *const p = unit_read(arena, path, text, length, &none, d);
    *spec = p->spec;
    return p->graph ? unit_source_hash(p) : NULL;
}

/* Returns the argument of a --set that changes the schedule, or NULL. */
static const char *set_schedule(const struct options *o)
{
    static const char key[] = "schedule";
    for (int k = 0; k < o->sets; k++)
        if (strncmp(o->set[k], key, sizeof key - 1) == 0 && strchr(".=", o->set[k][sizeof key - 1])) return o->set[k];
    return NULL;
}

bool tuned_schedule(struct unit *p, const char *spec, const struct options *o, struct diagnostics **d,
                    enum status *status)
{
    const char *path = tuned_path(p->arena, spec), *set = set_schedule(o);
    if (set) {
        *status = complain_as(o, STATUS_USAGE,
                              "--tuned takes the schedule from %s, so it cannot be combined with --set %.100s", path,
                              set);
        return false;
    }
    if (access(path, F_OK) != 0) {
        *status = complain_as(o, STATUS_INPUT, "--tuned needs %s, which does not exist; 'attnc tune %s' writes it",
                              path, spec);
        return false;
    }
    struct text text = {0};
    *status = read_spec_file(path, o, &text);
    if (*status != STATUS_DONE) {
        text_free(&text);
        return false;
    }
    char *source = arena_alloc(p->arena, text.length + 1); /* *d quotes this copy of the text */
    memcpy(source, text.data, text.length);
    *d = diagnostics_new(p->arena, path, source, text.length);
    const struct spec *tuned;
    const char *hash = spec_source_hash(p->arena, path, text.data, text.length, *d, &tuned);
    text_free(&text);
    if (!hash) return false;
    if (strcmp(hash, unit_source_hash(p)) != 0)
        mention(o, "warning", "%s was tuned for another version of %s; its schedule is valid, but may not be the best",
                path, spec);
    p->spec = p->kernel.spec = spec_with_schedule(p->arena, p->spec, tuned->schedule, tuned->schedules);
    p->tuned = path;
    return true;
}
