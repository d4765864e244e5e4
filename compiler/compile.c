/* attnc SPEC.yaml…: writes the C and the header of every spec, and what else --emit asks for. */
#include "command_line.h"

#include <errno.h>
#include <string.h>

/* A file name as make reads it back. */
static void depfile_name(struct text *out, const char *name)
{
    for (const char *c = name; *c; c++) {
        if (*c == ' ' || *c == '\t' || *c == '#') text_add(out, "\\");
        if (*c == '$') text_add(out, "$");
        text_append(out, c, 1);
    }
}

static enum status write_depfile(const struct options *o, const char *stem, const char *const *made, int count, const char *file, const char *tuned)
{
    struct text path = {0}, line = {0};
    if (o->depfile_path)
        text_add(&path, "%s", o->depfile_path);
    else
        text_add(&path, "%s.d", stem);
    if (o->depfile_target) text_add(&line, "%s", o->depfile_target);
    for (int k = 0; k < count && !o->depfile_target; k++) {
        if (k) text_add(&line, " ");
        depfile_name(&line, made[k]);
    }
    text_add(&line, ":");
    const char *const sources[] = {library_operand(file) ? NULL : file, tuned}; /* a spec that comes with attnc is no file */
    for (int k = 0; k < 2; k++) {
        if (!sources[k]) continue;
        text_add(&line, " ");
        depfile_name(&line, sources[k]);
    }
    text_add(&line, "\n");
    enum status status = write_whole(o, path.data, line.data, line.length);
    text_free(&path);
    text_free(&line);
    return status;
}

static enum status write_output(const struct options *o, const struct product *p, enum output output, struct text *out)
{
    switch (output) {
    case OUTPUT_c: text_append(out, p->source.data, p->source.length); break;
    case OUTPUT_h: text_append(out, p->header.data, p->header.length); break;
    case OUTPUT_graph: graph_print(p->graph, out); break;
    case OUTPUT_loops: loops_print(p->compilation[0]->loops, out); break;
    case OUTPUT_dot: emit_dot_file(p, out); break;
    case OUTPUT_json:
        if (emit_json(p, out)) break;
        complain(o, "out of memory");
        return STATUS_MACHINE;
    case OUTPUT_py: emit_python(p, out); break;
    case OUTPUTS: break;
    }
    return STATUS_DONE;
}

/* Whether make can read the names of a depfile: a rule has no way to write a line break in one. */
static bool depfile_fits(const struct options *o, const char *file, const char *stem)
{
    const char *const name[] = {file, stem, o->depfile_target};
    for (int k = 0; k < 3; k++)
        if (name[k] && strpbrk(name[k], "\r\n")) {
            complain(o, "-MD: a rule of make cannot hold a line break, and there is one in the %s",
                     k == 0   ? "path of the spec"
                     : k == 1 ? "path of the output"
                              : "target of -MT");
            return false;
        }
    return true;
}

/* `names` are those of the specs before this one with their files, whose outputs must not be overwritten; this one's is added. */
static enum status compile_one(const struct options *o, const char *file, struct text *names)
{
    enum status status;
    struct product *p = product_make(file, o, &status);
    if (!p) return status;
    const char *entry = arena_printf(p->arena, "\n%s\t", p->spec->name), *earlier = names->data ? strstr(names->data, entry) : NULL;
    if (earlier && !o->to_stdout) {
        earlier += strlen(entry);
        complain(o, "%s: %.*s has the name '%s' too; give one of them another with 'name:'", file, (int)strcspn(earlier, "\n"), earlier, p->spec->name);
        product_free(p);
        return STATUS_INPUT;
    }
    text_add(names, "%s%s", entry, file);
    struct text output[OUTPUTS] = {0}, stem = {0};
    for (int k = 0; k < OUTPUTS && status == STATUS_DONE; k++)
        if (o->emit & 1U << k) status = write_output(o, p, (enum output)k, &output[k]);
    if (o->out_dir && strcmp(o->out_dir, ".") != 0) text_add(&stem, "%s%s", o->out_dir, o->out_dir[strlen(o->out_dir) - 1] == '/' ? "" : "/");
    text_add(&stem, "%s", p->spec->name);
    const char *made[OUTPUTS];
    int count = 0;
    if (status == STATUS_DONE && o->depfile && !o->to_stdout && !depfile_fits(o, file, stem.data)) status = STATUS_USAGE;
    for (int k = 0; k < OUTPUTS && status == STATUS_DONE; k++) {
        if (!(o->emit & 1U << k)) continue;
        if (k == OUTPUT_h && o->to_stdout && o->emit & 1U << OUTPUT_c) continue;
        if (o->to_stdout) {
            if (fwrite(output[k].data, 1, output[k].length, stdout) != output[k].length || fflush(stdout) != 0) {
                complain(o, "cannot write to standard output: %s", strerror(errno));
                status = STATUS_MACHINE;
            }
            continue;
        }
        made[count] = arena_printf(p->arena, "%s.%s", stem.data, output_rows[k].name);
        status = write_whole(o, made[count++], output[k].data, output[k].length);
    }
    if (status == STATUS_DONE && o->depfile && !o->to_stdout) status = write_depfile(o, stem.data, made, count, file, p->tuned);
    for (int k = 0; k < OUTPUTS; k++) text_free(&output[k]);
    text_free(&stem);
    product_free(p);
    return status;
}

int command_compile(const struct options *o)
{
    enum status worst = STATUS_DONE;
    struct text names = {0};
    for (int k = 0; k < o->files; k++) {
        enum status status = compile_one(o, o->file[k], &names);
        if (status > worst) worst = status;
    }
    text_free(&names);
    return (int)worst;
}
