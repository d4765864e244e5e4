/* Everything from one spec file: read, checked, lowered for every target, emitted; and files written whole or not at all. */
#include "../compiler.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
        while (n == sizeof buffer && out->length <= YAML_MOST_BYTES);
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
        complain(o, "%s: no such file, and no spec that comes with attnc is called so; %s%s%s", path, near ? "did you mean '" : "attnc list prints the names",
                 near ? near : "", near ? "'?" : "");
    else
        complain(o, "%s: %s", path, strerror(why));
    return why == ENOENT || why == EISDIR || why == ENOTDIR || why == EACCES ? STATUS_INPUT : STATUS_MACHINE;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A word as a shell reads it back. */
static void add_quoted(struct text *out, const char *word)
{
    text_add(out, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            text_add(out, "'\\''");
        else
            text_append(out, c, 1);
    text_add(out, "'");
}

/* The command that makes the same output, with base names only. */
static const char *reproducing(struct arena *arena, const char *file, const struct options *o)
{
    struct text t = {0};
    const char *name = base_name(file);
    text_add(&t, "attnc ");
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+,=@%")])
        add_quoted(&t, name);
    else
        text_add(&t, "%s", name);
    if (o->named_targets) {
        text_add(&t, " --target ");
        for (int k = 0; k < o->targets; k++) text_add(&t, "%s%s", k ? "," : "", o->target[k]->name);
    }
    if (o->standalone) text_add(&t, " --standalone");
    if (o->tuned) text_add(&t, " --tuned");
    for (int k = 0; k < o->sets; k++) {
        text_add(&t, " --set ");
        add_quoted(&t, o->set[k]);
    }
    const char *made = arena_copy(arena, t.data);
    text_free(&t);
    return made;
}

struct product *product_make(const char *file, const struct options *o, enum status *status)
{
    struct text source = {0};
    *status = read_spec_file(file, o, &source);
    if (*status != STATUS_DONE) {
        text_free(&source);
        return NULL;
    }
    struct arena *arena = arena_new();
    struct product *p = arena_alloc(arena, sizeof *p);
    p->arena = arena;
    p->file = arena_copy(arena, file);
    p->text = memcpy(arena_alloc(arena, source.length + 1), source.data, source.length);
    p->text_length = source.length;
    struct diagnostics *d = diagnostics_new(arena, file, source.data, source.length);
    p->spec = spec_read(arena, file, source.data, source.length, o->sets, o->set, d);
    if (p->spec && o->emit & 1U << OUTPUT_py) python_check_name(p->spec, d);
    if (p->spec) p->graph = build_graph(arena, p->spec, d);
    bool good = p->graph != NULL;
    const struct target *target[MAX_VERSIONS];
    int targets = 0;
    for (int t = 0; p->spec && t < o->targets; t++) targets += target_versions(arena, o->target[t], p->spec->dtype, target + targets);
    struct diagnostics *of_schedule = d;
    if (good && o->tuned) good = tuned_schedule(p, file, o, &of_schedule, status);
    good = good && versions_make(p, target, targets, o, d, of_schedule);
    if (diagnostics_flush(d, stderr, o->color) > 0) good = false;
    if (of_schedule != d && diagnostics_flush(of_schedule, stderr, o->color) > 0) good = false;
    text_free(&source);
    if (!good) {
        if (*status == STATUS_DONE) *status = expression_library_missing() ? STATUS_MACHINE : STATUS_INPUT;
        product_free(p);
        return NULL;
    }
    p->standalone = o->standalone;
    p->command = reproducing(arena, file, o);
    if (!o->emit) return p;
    emit_source(p, NULL, p->command, &p->source);
    emit_header(p, p->command, &p->header);
    return p;
}

/* The one target whose code is loaded here; NULL: all. */
static const struct target *target_to_load(const struct product *p, const struct options *o)
{
    return o->named_targets ? NULL : product_target_here(p);
}

void product_emit_here(const struct product *p, const struct options *o, const char *command, struct text *source, struct text *header)
{
    emit_source(p, target_to_load(p, o), command, source);
    emit_header(p, command, header);
}

const char *product_source_here(struct product *p, const struct options *o)
{
    const struct target *here = target_to_load(p, o);
    if (!here) return p->source.data;
    if (!p->source_here.data) emit_source(p, here, arena_printf(p->arena, "%s --target %s", p->command, here->name), &p->source_here);
    return p->source_here.data;
}

void product_free(struct product *p)
{
    if (!p) return;
    text_free(&p->source_here);
    text_free(&p->source);
    text_free(&p->header);
    arena_free(p->arena);
}

/* ---- files ---- */

enum status write_whole(const struct options *o, const char *path, const char *data, size_t length)
{
    struct text temporary = {0};
    text_add(&temporary, "%s.XXXXXX", path);
    /* no signal may end the program between the making and the renaming of the temporary file */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int file = mkstemp(temporary.data), why = file < 0 ? errno : 0;
    bool made = file >= 0;
    for (size_t done = 0; made && !why && done < length;) {
        ssize_t n = write(file, data + done, length - done);
        if (n < 0 && errno != EINTR) why = errno;
        if (n > 0) done += (size_t)n;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (made && !why && fchmod(file, 0666 & ~mask) != 0) why = errno;
    if (made && close(file) != 0 && !why) why = errno;
    if (made && !why && rename(temporary.data, path) != 0) why = errno;
    if (made && why) unlink(temporary.data);
    sigprocmask(SIG_SETMASK, &before, NULL);
    text_free(&temporary);
    if (!why) return STATUS_DONE;
    complain(o, "cannot write %s: %s", path, strerror(why));
    return STATUS_MACHINE;
}
