/* Replaces or inserts the `schedule:` in the text of a spec. The rest of the text stays as its author wrote it. The
   YAML parser gives the position of the key and the end of its value. */
#include "run.h"
#include "tuned_text.h"

#include <string.h>
#include <yaml.h>

/* Returns true if the knob has several defaults. The default crossover depends on the length. Default tiles of
   backward depend on the gradient (dq, or dk with dv). */
static bool default_varies(const char *name)
{
    return strcmp(name, "crossover") == 0 || strcmp(name, "backward.tile_q") == 0 ||
           strcmp(name, "backward.tile_k") == 0;
}

struct tuned_entry tuned_entry(const struct tune_space *s, const struct tune_point *p, int64_t from, const char *says)
{
    struct tuned_entry e = {.from = from, .says = says, .knobs = 0};
    bool by_default = true;
    for (int k = 0; k < s->knobs; k++) by_default &= p->at[k] == s->knob[k].default_at;
    for (int k = 0; k < s->knobs && !by_default; k++) {
        if (default_varies(s->knob[k].name) && p->at[k] == s->knob[k].default_at) continue;
        e.knob[e.knobs].name = s->knob[k].name;
        e.knob[e.knobs++].value = s->knob[k].value[p->at[k]];
    }
    return e;
}

void tuned_join(struct tuned_entry *e, bool backward, const struct tuned_entry *other)
{
    for (int k = 0; other && k < other->knobs; k++)
        if ((knob_of_backward(other->knob[k].name) != NULL) != backward) e->knob[e->knobs++] = other->knob[k];
}

/* The position of `schedule:` in the text, or the position to insert it, in bytes. */
struct place {
    /* `found` is true if `schedule:` is present. `flow` is true if the outermost map is in braces. */
    bool found, flow;
    /* If `found` is true, the range from the key `schedule` to the end of its value. */
    size_t begin, end;
    size_t indent; /* the number of spaces before a key of the outermost map */
    /* `last` is the end of the last value. `close` is the closing brace, or the end of the document. */
    size_t last, close;
    bool explicit_end; /* true if the document ends with "..." */
};

/* Converts an index in characters, which the parser counts, to an index in bytes. */
static size_t byte_of(const char *text, size_t length, size_t character)
{
    size_t at = 0;
    for (size_t n = 0; at < length; at++) {
        if (((unsigned char)text[at] & 0xc0) == 0x80) continue;
        if (n++ == character) break;
    }
    return at;
}

static bool find_place(const char *text, size_t length, struct place *place)
{
    yaml_parser_t parser;
    yaml_event_t event;
    /* `items` counts the keys and values of the outermost map. */
    int depth = 0, items = 0;
    bool good = yaml_parser_initialize(&parser), done = !good, inside = false;
    *place = (struct place){.found = false};
    if (!good) return false;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    while (good && !done) {
        if (!yaml_parser_parse(&parser, &event)) {
            good = false;
            break;
        }
        const size_t begin = byte_of(text, length, event.start_mark.index),
                     end = byte_of(text, length, event.end_mark.index);
        const bool opens = event.type == YAML_MAPPING_START_EVENT || event.type == YAML_SEQUENCE_START_EVENT,
                   closes = event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT,
                   leaf = event.type == YAML_SCALAR_EVENT || event.type == YAML_ALIAS_EVENT;
        if (depth == 0 && (leaf || event.type == YAML_SEQUENCE_START_EVENT))
            good = false; /* the document is not a map */
        if (depth == 0 && event.type == YAML_MAPPING_START_EVENT) {
            place->flow = event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
            place->indent = event.start_mark.column;
        }
        if (depth == 1 && (leaf || opens)) {
            static const char key[] = "schedule";
            const bool is_key = items++ % 2 == 0;
            inside = is_key ? leaf && event.type == YAML_SCALAR_EVENT && event.data.scalar.length == sizeof key - 1 &&
                                  memcmp(event.data.scalar.value, key, sizeof key - 1) == 0
                            : inside;
            if (is_key && inside) {
                place->found = true;
                place->begin = begin;
            }
        }
        /* The parser reports the end of a block without braces too late. Use the end of its last scalar instead. */
        const bool ends = leaf || (closes && end > begin);
        if (closes) depth--;
        if (ends && depth > 0) {
            place->last = end;
            if (inside) place->end = end;
        }
        if (closes && depth == 0) place->close = begin;
        if (event.type == YAML_DOCUMENT_END_EVENT) {
            place->explicit_end = !event.data.document_end.implicit;
            if (!place->flow) place->close = place->explicit_end ? begin : length;
            done = true;
        }
        done |= event.type == YAML_STREAM_END_EVENT;
        if (opens) depth++;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return good && place->last > 0;
}

/* Appends lines as comments. */
static void add_comment(struct text *out, size_t indent, const char *says)
{
    while (says && *says) {
        const size_t n = strcspn(says, "\n");
        text_add(out, "%*s#%s%.*s\n", (int)indent, "", n ? " " : "", (int)n, says);
        says += n + (says[n] == '\n');
    }
}

static void add_entry(struct text *out, const struct tuned_entry *e, bool first)
{
    const char *before = "";
    text_add(out, "{");
    if (!first) {
        text_add(out, "from: %lld", (long long)e->from);
        before = ", ";
    }
    bool backward = false;
    for (int k = 0; k < e->knobs; k++) {
        backward |= knob_of_backward(e->knob[k].name) != NULL;
        if (knob_of_backward(e->knob[k].name)) continue;
        text_add(out, "%s%s: %lld", before, e->knob[k].name, (long long)e->knob[k].value);
        before = ", ";
    }
    if (backward) text_add(out, "%sbackward: {", before);
    before = "";
    for (int k = 0; k < e->knobs && backward; k++) {
        const char *const name = knob_of_backward(e->knob[k].name);
        if (!name) continue;
        text_add(out, "%s%s: %lld", before, name, (long long)e->knob[k].value);
        before = ", ";
    }
    text_add(out, backward ? "}}" : "}");
}

/* Appends the schedule as block YAML, in whole lines. */
static void add_block(struct text *out, size_t indent, const char *says, const struct tuned_entry *entry, int entries)
{
    add_comment(out, indent, says);
    text_add(out, "%*sschedule:\n", (int)indent, "");
    for (int k = 0; k < entries; k++) {
        add_comment(out, indent + 2, entry[k].says);
        text_add(out, "%*s- ", (int)indent + 2, "");
        add_entry(out, &entry[k], k == 0);
        text_add(out, "\n");
    }
}

/* Appends the schedule for a map that is written in braces. Each comment is on a separate line. */
static void add_flow(struct text *out, const char *says, const struct tuned_entry *entry, int entries)
{
    text_add(out, "\n");
    add_comment(out, 2, says);
    text_add(out, "  schedule: [\n");
    for (int k = 0; k < entries; k++) {
        add_comment(out, 4, entry[k].says);
        text_add(out, "    ");
        add_entry(out, &entry[k], k == 0);
        text_add(out, k + 1 < entries ? ",\n" : "]");
    }
}

/* Returns true if text[from..to) contains a comma that is not in a comment. */
static bool has_comma(const char *text, size_t from, size_t to)
{
    bool comment = false;
    for (size_t k = from; k < to; k++) {
        if (text[k] == '\n') comment = false;
        if (text[k] == '#') comment = true;
        if (!comment && text[k] == ',') return true;
    }
    return false;
}

/* Returns true if YAML reads the new text as a map whose `schedule` has `entries` items. */
static bool reads_back(const struct text *made, int entries)
{
    struct arena *arena = arena_new();
    struct diagnostics *d = diagnostics_new(arena, "tuned", made->data, made->length);
    const struct yaml *root = yaml_read(arena, made->data, made->length, d),
                      *list = root && root->kind == YAML_MAP ? yaml_get(root, "schedule") : NULL;
    const bool good = diagnostics_errors(d) == 0 && list && list->kind == YAML_LIST && list->count == entries;
    arena_free(arena);
    return good;
}

bool tuned_text(const char *spec, size_t length, const char *says, const struct tuned_entry *entry, int entries,
                struct text *out)
{
    struct place place;
    struct text made = {0};
    if (!find_place(spec, length, &place)) return false;
    size_t rest;
    if (place.flow) {
        const size_t at = place.found ? place.begin : place.close;
        text_append(&made, spec, at);
        if (!place.found && !has_comma(spec, place.last, place.close)) text_add(&made, ",");
        add_flow(&made, says, entry, entries);
        rest = place.found ? place.end : at;
    } else {
        size_t at = place.found ? place.begin : place.close;
        /* Steps back over the spaces before the key. */
        if (place.found) at -= place.indent;
        text_append(&made, spec, at);
        if (at && spec[at - 1] != '\n') text_add(&made, "\n");
        add_block(&made, place.indent, says, entry, entries);
        rest = at;
        if (place.found) {
            rest = place.end;
            while (rest < length && spec[rest] != '\n') rest++; /* a comment after the value is removed too */
            if (rest < length) rest++;
        }
    }
    text_append(&made, spec + rest, length - rest);
    const bool good = reads_back(&made, entries);
    if (good) text_append(out, made.data, made.length);
    text_free(&made);
    return good;
}
