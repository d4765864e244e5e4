/* attnc SPEC.yaml…: writes the C source, the header and other outputs of every spec. */
#include "command.h"
#include "command_line.h"
#include "../binding/binding.h"
#include "../driver/driver.h"
#include "../expression/expression.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"
#include "../view/view.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Adds a file name with make's special characters escaped. */
static void depfile_name(struct text *out, const char *name)
{
    for (const char *c = name; *c; c++) {
        if (*c == ' ' || *c == '\t' || *c == '#') text_add(out, "\\");
        if (*c == '$') text_add(out, "$");
        text_append(out, c, 1);
    }
}

/* Adds the make rule of one spec. The `count` files `made` depend on the spec `file`, and on `tuned` if it is not
   NULL. */
static void depfile_rule(struct text *out, const struct options *o, const char *const *made, int count,
                         const char *file, const char *tuned)
{
    if (o->depfile_target) text_add(out, "%s", o->depfile_target);
    for (int k = 0; k < count && !o->depfile_target; k++) {
        if (k) text_add(out, " ");
        depfile_name(out, made[k]);
    }
    text_add(out, ":");
    const char *const sources[] = {library_operand(file) ? NULL : file,
                                   tuned}; /* a spec that comes with attnc is not a file */
    for (int k = 0; k < 2; k++) {
        if (!sources[k]) continue;
        text_add(out, " ");
        depfile_name(out, sources[k]);
    }
    text_add(out, "\n");
}

static enum status write_output(const struct options *o, const struct unit *p, enum output output, struct text *out)
{
    switch (output) {
    case OUTPUT_c: text_append(out, p->source.data, p->source.length); break;
    case OUTPUT_h: text_append(out, p->header.data, p->header.length); break;
    case OUTPUT_graph: graph_print(p->graph, out); break;
    case OUTPUT_loops: loops_print(p->kernel.compilation[0]->loops, out); break;
    case OUTPUT_dot: emit_dot_file(p, out); break;
    case OUTPUT_json:
        if (emit_json(p, out)) break;
        return complain_as(o, STATUS_MACHINE, "out of memory");
    case OUTPUT_py: emit_python(p, out); break;
    case OUTPUTS: break;
    }
    return STATUS_DONE;
}

/* Returns true if a depfile can contain the names. Otherwise reports an error. A make rule cannot contain a line
   break. */
static bool depfile_fits(const struct options *o, const char *file, const char *stem)
{
    const char *const name[] = {file, stem, o->depfile_target};
    for (int k = 0; k < 3; k++)
        if (name[k] && strpbrk(name[k], "\r\n"))
            return complain(o, "-MD: a rule of make cannot contain a line break, but the %s has one",
                            k == 0   ? "path of the spec"
                            : k == 1 ? "path of the output"
                                     : "target of -MT");
    return true;
}

/* The state of one run of attnc, which may compile several specs. */
struct run {
    /* Names of earlier specs and their files. They show whether two specs would write one output. */
    struct text names;
    struct text rules; /* the rules of the depfile of -MF */
};

/* Returns DIR/NAME, the path of an output without its suffix. */
static const char *output_stem(struct arena *arena, const struct options *o, const char *name)
{
    const char *folder = o->out_dir;
    if (!folder || !*folder || strcmp(folder, ".") == 0) return name;
    return arena_printf(arena, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
}

static const char *output_path(struct arena *arena, const char *stem, int output)
{
    return arena_printf(arena, "%s.%s", stem, output_rows[output].name);
}

/* Prints the paths of the outputs of a spec, for --outputs. */
static enum status list_outputs(const struct options *o, const char *file)
{
    struct text source = {0};
    enum status status = read_spec_file(file, o, &source);
    struct arena *arena = arena_new();
    if (status == STATUS_DONE) {
        struct diagnostics *d = diagnostics_new(arena, file, source.data, source.length);
        const struct spec *spec = source_read(arena, file, source.data, source.length, o->sets, o->set, d);
        if (diagnostics_flush(d, stderr, o->console.color) > 0 || !spec)
            status = expression_library_missing() ? STATUS_MACHINE : STATUS_INPUT;
        for (int k = 0; k < OUTPUTS && status == STATUS_DONE; k++)
            if (o->emit & 1U << k) printf("%s\n", output_path(arena, output_stem(arena, o, spec->name), k));
    }
    text_free(&source);
    arena_free(arena);
    return status;
}

static bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

static enum status compile_one(const struct options *o, const char *file, struct run *run)
{
    struct text *const names = &run->names;
    enum status status;
    struct unit *p = unit_make(file, o, &status);
    if (!p) return status;
    unit_warn(p, o);
    const char *entry = arena_printf(p->arena, "\n%s\t", p->spec->name),
               *earlier = names->data ? strstr(names->data, entry) : NULL;
    if (earlier && !o->to_stdout) {
        earlier += strlen(entry);
        complain(o, "%s: %.*s also has the name '%s'; change one of them with 'name:'", file,
                 (int)strcspn(earlier, "\n"), earlier, p->spec->name);
        unit_free(p);
        return STATUS_INPUT;
    }
    text_add(names, "%s%s", entry, file);
    struct text output[OUTPUTS] = {0};
    for (int k = 0; k < OUTPUTS && status == STATUS_DONE; k++)
        if (o->emit & 1U << k) status = write_output(o, p, (enum output)k, &output[k]);
    const char *const stem = output_stem(p->arena, o, p->spec->name), *made[OUTPUTS];
    int count = 0;
    if (status == STATUS_DONE && o->depfile && !o->to_stdout && !depfile_fits(o, file, stem)) status = STATUS_USAGE;
    if (status == STATUS_DONE && o->emit & 1U << OUTPUT_graph && !o->to_stdout &&
        same_file(file, output_path(p->arena, stem, OUTPUT_graph)))
        status = complain_as(o, STATUS_USAGE, "%s: --emit graph would overwrite this file; set another folder with -o",
                             file);
    for (int k = 0; k < OUTPUTS && status == STATUS_DONE; k++) {
        if (!(o->emit & 1U << k)) continue;
        if (k == OUTPUT_h && o->to_stdout && o->emit & 1U << OUTPUT_c) continue;
        if (o->to_stdout) {
            status = table_put(o, &output[k]);
            continue;
        }
        if (count == 0 && stem != p->spec->name && make_folders(o->out_dir, 0777) != 0) {
            status = complain_as(o, STATUS_MACHINE, "cannot make the folder %s: %s", o->out_dir, strerror(errno));
            continue;
        }
        made[count] = output_path(p->arena, stem, k);
        status = write_whole(o, made[count++], output[k].data, output[k].length);
    }
    if (status == STATUS_DONE && o->depfile && !o->to_stdout) {
        struct text rule = {0};
        depfile_rule(o->depfile_path ? &run->rules : &rule, o, made, count, file, p->tuned);
        if (!o->depfile_path) status = write_whole(o, arena_printf(p->arena, "%s.d", stem), rule.data, rule.length);
        text_free(&rule);
    }
    for (int k = 0; k < OUTPUTS; k++) text_free(&output[k]);
    unit_free(p);
    return status;
}

int command_compile(const struct options *o)
{
    enum status worst = STATUS_DONE;
    struct run run = {0};
    for (int k = 0; k < o->files; k++) {
        enum status status = o->list_outputs ? list_outputs(o, o->file[k]) : compile_one(o, o->file[k], &run);
        if (status > worst) worst = status;
    }
    if (worst == STATUS_DONE && run.rules.length)
        worst = write_whole(o, o->depfile_path, run.rules.data, run.rules.length);
    text_free(&run.names);
    text_free(&run.rules);
    return (int)worst;
}
