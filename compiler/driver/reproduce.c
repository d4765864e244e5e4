/* Writes the command that makes the output of a unit again. */
#include "unit.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Adds the word in single quotes for a shell. */
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

const char *unit_reproducing(const struct unit *p, const struct options *o)
{
    struct text t = {0};
    const char *name = base_name(p->file);
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
    if (p->asked)
        text_add(&t, " --set 'emit=[forward%s%s]'", p->spec->emit & EMIT_BACKWARD ? ", backward" : "",
                 p->spec->emit & EMIT_DECODE ? ", decode" : "");
    for (int k = 0; k < o->sets; k++) {
        text_add(&t, " --set ");
        add_quoted(&t, o->set[k]);
    }
    return text_take(&t, p->arena);
}
