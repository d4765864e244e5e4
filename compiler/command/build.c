/* attnc build: compiles kernels into shared libraries in the cache, for programs that load them at run time. */
#include "command_line.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../view/view.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the key of the library in the cache. The key is a text of everything that the library depends on, except
   the C compiler and attnc. If the cache knows the key, the spec is not compiled again. */
static const char *key_of(struct arena *arena, const char *file, const struct text *spec, const struct options *o)
{
    const char *const slash = strrchr(file, '/');
    struct text key = {0};
    /* The default of 'name:' is the file's name. */
    text_add(&key, "%s\n%s\n", slash ? slash + 1 : file, machine_text(arena));
    for (int k = 0; k < o->targets; k++)
        text_add(&key, "%s %lld %lld\n", o->target[k]->name, (long long)o->target[k]->l1_bytes,
                 (long long)o->target[k]->l2_bytes);
    if (o->no_remainders) text_add(&key, "no remainders\n");
    for (int k = 0; k < o->sets; k++) text_add(&key, "%zu:%s\n", strlen(o->set[k]), o->set[k]);
    text_append(&key, spec->data, spec->length);
    return text_take(&key, arena);
}

/* The name that every kernel compiled ahead of time has in its C code. */
#define READY_NAME "attention"

/* Finds a kernel that was compiled ahead of time. If there is one, sets built->path to it, and *ready to the unit
   that it was compiled from. There are no such kernels for targets and schedules that the user sets. */
static enum status find_ready(const struct options *o, const char *file, const struct unit *unit,
                              struct built_kernel *built, struct unit **ready)
{
    unsigned has;
    enum status status = STATUS_DONE;
    *ready = NULL;
    if (o->named_targets || o->tuned || o->no_remainders || unit->spec->schedules || unit->spec->dropout > 0)
        return STATUS_DONE;
    built->path = kernel_ready(unit->arena, unit_ready_hash(unit), (unsigned)unit->spec->emit, &has);
    if (!built->path) return STATUS_DONE;
    struct options same = *o;
    same.standalone = true;
    same.emit = 0;
    const char **const set = arena_alloc(unit->arena, sizeof *set * (size_t)(o->sets + 2));
    for (int k = 0; k < o->sets; k++) set[k] = o->set[k];
    set[same.sets++] = "name=" READY_NAME;
    set[same.sets++] = arena_printf(unit->arena, "emit=[forward%s%s%s]", has & EMIT_BACKWARD ? ", backward" : "",
                                    has & EMIT_DECODE ? ", decode" : "", has & EMIT_STATISTICS ? ", statistics" : "");
    same.set = set;
    *ready = unit_make(file, &same, &status);
    return status;
}

/* Prints the path of the library. With --json, prints the object of NAME.json in one line, with more members. `library`
   is the path. `symbol` is the name of the kernel in the library. `quick` is true if it was compiled for a first call.
 */
static enum status show(const struct options *o, const char *name, bool quick, const struct built_kernel *built)
{
    if (!o->json) {
        printf("%s\n", built->path);
        return STATUS_DONE;
    }
    json_t *says = json_loads(built->description, 0, NULL);
    bool good = says && json_object_set_new(says, "library", json_string(built->path)) == 0 &&
                json_object_set(says, "symbol", json_object_get(says, "name")) == 0;
    if (good) good = json_object_set_new(says, "quick", json_boolean(quick)) == 0;
    if (good && name) good = json_object_set_new(says, "name", json_string(name)) == 0;
    char *line = good ? json_dumps(says, JSON_COMPACT) : NULL;
    if (line) printf("%s\n", line);
    if (!line) complain(o, "%s: cannot describe the kernel as JSON", built->path);
    free(line);
    json_decref(says);
    return line ? STATUS_DONE : STATUS_MACHINE;
}

/* Builds one spec. `o` has the targets of this machine. `as_given` has the targets of the command line. */
static enum status build_one(const struct options *o, const struct options *as_given, const char *file)
{
    struct arena *arena = arena_new();
    struct text spec = {0}, description = {0};
    struct built_kernel built = {0};
    struct unit *unit = NULL, *ready = NULL;
    bool quick = false;
    enum status status = read_spec_file(file, o, &spec);
    if (status == STATUS_DONE) {
        const char *key = o->tuned ? NULL : key_of(arena, file, &spec, o);
        if (!key || !kernel_recall(arena, key, o->console.quiet, &built)) {
            unit = unit_make(file, o, &status);
            if (unit) unit_warn(unit, o);
            if (unit) status = find_ready(as_given, file, unit, &built, &ready);
            if (unit && status == STATUS_DONE && !emit_json(ready ? ready : unit, &description))
                status = complain_as(o, STATUS_MACHINE, "out of memory");
            if (ready) {
                built.description = description.data;
            } else if (unit && status == STATUS_DONE) {
                built.description = description.data;
                quick = o->quick != NULL;
                status = kernel_build(arena, unit->spec->name, unit->source.data, unit->header.data, key, quick,
                                      o->console.quiet, &built);
            }
        }
    }
    if (status == STATUS_DONE) status = show(o, ready ? unit->spec->name : NULL, quick, &built);
    unit_free(ready);
    unit_free(unit);
    text_free(&description);
    text_free(&spec);
    arena_free(arena);
    return status;
}

int command_build(const struct options *o)
{
    if (!o->files) return (int)complain_as(o, STATUS_USAGE, "build takes a spec: attnc build SPEC.yaml");
    struct options here = *o; /* The library is only for this machine. */
    if (!o->named_targets) {
        here.target[0] = target_find("native");
        here.targets = 1;
        here.named_targets = true;
    }
    struct first_call *const first = &here.first;
    int length = 0;
    if (o->quick && (sscanf(o->quick, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 "%n", &first->n_q, &first->n_k,
                            &first->members, &length) != 3 ||
                     o->quick[length] || first->n_q < 1 || first->n_k < 0 || first->members < 1))
        return (int)complain_as(
            o, STATUS_USAGE,
            "--quick is '%s'; expected the numbers of queries, of keys, and of query heads that share keys, as "
            "in 512,512,1",
            o->quick);
    if (o->background) run_in_background();
    enum status worst = STATUS_DONE;
    for (int k = 0; k < o->files; k++) {
        const enum status status = build_one(&here, o, o->file[k]);
        if (status > worst) worst = status;
    }
    return output_finish(o) == STATUS_DONE ? (int)worst : STATUS_MACHINE;
}
