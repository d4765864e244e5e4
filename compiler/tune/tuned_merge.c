/* Merges the results of a search with the entries of SPEC.tuned.yaml for other lengths.
   - An entry of attnc has a comment that begins with the length it was measured at, such as "n=4096 ". The entry starts
     at the geometric mean of this length and the previous entry's length.
   - An entry without this comment was written by hand. It keeps its `from`. */
#include "tuned_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char HEADER[] = "Searched by attnc ";

/* ---- comments of the file, which a YAML parser does not return ---- */

struct lines {
    int count;
    const char **line; /* each line is stored without its newline */
};

static struct lines lines_of(struct arena *arena, const char *text, size_t length)
{
    struct lines all = {0};
    for (size_t k = 0; k < length; k++) all.count += text[k] == '\n';
    all.line = arena_alloc(arena, (size_t)(all.count + 2) * sizeof *all.line);
    all.count = 0;
    for (size_t from = 0; from < length;) {
        const char *end = memchr(text + from, '\n', length - from);
        const size_t n = end ? (size_t)(end - text) - from : length - from;
        all.line[all.count++] = arena_printf(arena, "%.*s", (int)n, text + from);
        from += n + 1;
    }
    return all;
}

/* Returns the text of a line that is only a comment, or NULL. */
static const char *comment_on(const struct lines *all, int line)
{
    if (line < 1 || line > all->count) return NULL;
    const char *text = all->line[line - 1];
    text += strspn(text, " ");
    if (*text != '#') return NULL;
    return text + 1 + (text[1] == ' ');
}

/* Returns the comments directly above line number `line`, joined with '\n', or NULL. If `beginning` is not NULL,
   returns only comments that begin with it. */
static const char *comments_above(struct arena *arena, const struct lines *all, int line, const char *beginning)
{
    int first = line;
    struct text says = {0};
    while (comment_on(all, first - 1)) first--;
    for (int k = first; k < line; k++) {
        const char *comment = comment_on(all, k);
        if (!comment || (beginning && strncmp(comment, beginning, strlen(beginning)) != 0)) continue;
        text_add(&says, "%s%s", says.length ? "\n" : "", comment);
    }
    const char *made = says.data ? arena_copy(arena, says.data) : NULL;
    text_free(&says);
    return made;
}

/* Appends all lines except the comments directly above line number `line` that begin with HEADER. */
static void without_header(const struct lines *all, int line, struct text *out)
{
    int first = line;
    while (comment_on(all, first - 1)) first--;
    for (int k = 1; k <= all->count; k++)
        if (k < first || k >= line || strncmp(comment_on(all, k), HEADER, sizeof HEADER - 1) != 0)
            text_add(out, "%s\n", all->line[k - 1]);
}

/* ---- reading the old file ---- */

static const struct yaml *key_of(const struct yaml *map, const char *key)
{
    for (int k = 0; map && map->kind == YAML_MAP && k < map->count; k++)
        if (strcmp(map->key[k]->text, key) == 0) return map->key[k];
    return NULL;
}

static void entry_read(struct arena *arena, const struct lines *all, const struct schedule *from,
                       const struct yaml *node, struct tuned_entry *e)
{
    long long length;
    *e = (struct tuned_entry){.from = from->from ? from->from : 1};
    if (node) e->says = comments_above(arena, all, node->at.line, NULL);
    for (const char *line = e->says; line && !e->length; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (sscanf(line, "n=%lld ", &length) == 1 && length > 0) e->length = length;
    for (int k = 0; k < from->knobs; k++, e->knobs++) {
        e->knob[e->knobs].name = from->knob[k].name;
        e->knob[e->knobs].value = from->knob[k].value;
    }
    for (int k = 0; from->backward && k < from->backward->knobs; k++, e->knobs++) {
        e->knob[e->knobs].name = arena_printf(arena, "backward.%s", from->backward->knob[k].name);
        e->knob[e->knobs].value = from->backward->knob[k].value;
    }
}

bool tuned_read(const char *spec, const struct text *text, struct arena *arena, const struct options *o,
                struct tuned_file *out, enum status *status)
{
    const char *path = tuned_path(arena, spec);
    struct text raw = {0};
    *out = (struct tuned_file){.path = path};
    if (access(path, F_OK) != 0) return true;
    *status = read_spec_file(path, o, &raw);
    const char *source = arena_printf(arena, "%.*s", (int)raw.length, raw.data ? raw.data : "");
    text_free(&raw);
    if (*status != STATUS_DONE) return false;
    const size_t length = strlen(source);
    struct diagnostics *d = diagnostics_new(arena, path, source, length),
                       *unused = diagnostics_new(arena, spec, text->data, text->length);
    const struct spec *tuned, *own = NULL;
    const char *hash = spec_source_hash(arena, path, source, length, d, &tuned),
               *wanted = spec_source_hash(arena, spec, text->data, text->length, unused, &own);
    for (int k = 0; hash && k < tuned->schedules; k++)
        for (const struct schedule *s = &tuned->schedule[k]; s; s = s->backward)
            if (s->knobs > MAX_KNOBS)
                diagnostics_error(d, s->knob[MAX_KNOBS].at, "no spec has more than %d knobs", MAX_KNOBS);
    if (diagnostics_flush(d, stderr, o->console.color) > 0 || !hash) {
        *status = complain_as(
            o, STATUS_INPUT,
            "%s must be a spec, because results are added to its schedules: correct it, or move it away", path);
        return false;
    }
    out->there = true;
    out->other_spec = !wanted || strcmp(hash, wanted) != 0;
    if (out->other_spec) return true;
    const struct lines all = lines_of(arena, source, length);
    const struct yaml *root = yaml_read(arena, source, length, unused), *list = yaml_get(root, "schedule"),
                      *key = key_of(root, "schedule");
    for (; out->entries < tuned->schedules; out->entries++)
        entry_read(arena, &all, &tuned->schedule[out->entries],
                   list->kind == YAML_LIST ? list->item[out->entries] : NULL, &out->entry[out->entries]);
    if (key) out->searched = comments_above(arena, &all, key->at.line, HEADER);
    if (strcmp(tuned->name, own->name) == 0) {
        struct text base = {0};
        without_header(&all, key ? key->at.line : 0, &base);
        out->base = text_take(&base, arena);
    }
    return true;
}

int64_t tuned_length(const struct tuned_entry *e)
{
    return e->length ? e->length : e->from;
}

const struct tuned_entry *tuned_in_force(const struct tuned_file *file, int64_t length)
{
    const struct tuned_entry *found = NULL;
    for (int k = 0; k < file->entries; k++) {
        if (tuned_length(&file->entry[k]) == length) return &file->entry[k];
        if (file->entry[k].from <= length) found = &file->entry[k];
    }
    return found;
}

/* ---- merging the entries ---- */

static bool listed(const struct tuned_entry *entry, int entries, int64_t length)
{
    for (int k = 0; k < entries; k++)
        if (tuned_length(&entry[k]) == length) return true;
    return false;
}

int tuned_merge(const struct tuned_file *file, const struct tuned_entry *found, int count, struct tuned_entry *out)
{
    /* `last` is the number of the file's entry in out[n - 1]. It is -1 if out[n - 1] is a found entry, or if n is 0. */
    int n = 0, last = -1;
    for (int old = 0, new = 0; old < file->entries || new < count;) {
        const struct tuned_entry *was = old < file->entries ? &file->entry[old] : NULL;
        if (was && listed(found, count, tuned_length(was))) {
            old++;
            continue;
        }
        const bool keep = was && (new == count || tuned_length(was) < tuned_length(&found[new]));
        struct tuned_entry *e = &out[n];
        if (n == MAX_SCHEDULES) return n + 1;
        *e = keep ? *was : found[new];
        const int64_t before = n ? tuned_length(&out[n - 1]) : 0,
                      halfway = (int64_t)ceil(sqrt((double)before * (double)tuned_length(e)));
        const bool stays = keep && (!e->length || (old > 0 && last == old - 1)) &&
                           e->from > out[n > 0 ? n - 1 : 0].from;
        e->from = n == 0 ? 1 : stays ? e->from : halfway;
        last = keep ? old : -1;
        n++;
        if (keep)
            old++;
        else
            new ++;
    }
    return n;
}

const char *tuned_header(struct arena *arena, const struct tuned_file *file, const struct tuned_entry *entry,
                         int entries, const char *own)
{
    bool kept = false;
    for (int k = 0; k < entries; k++)
        for (int j = 0; j < file->entries; j++) kept |= entry[k].says && entry[k].says == file->entry[j].says;
    if (!kept || !file->searched) return own;
    struct text all = {0};
    text_add(&all, "%s", file->searched);
    bool there = false;
    for (const char *line = file->searched; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        there |= strncmp(line, own, strlen(own)) == 0 && (line[strlen(own)] == 0 || line[strlen(own)] == '\n');
    if (!there) text_add(&all, "\n%s", own);
    return text_take(&all, arena);
}
