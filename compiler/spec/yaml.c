/* Reads a YAML file into a tree of nodes with positions. libyaml parses the file. This file builds the tree, gives
   plain scalars the types of YAML 1.2, and limits depth, anchors and aliases. */
#include "reader.h"
#include "spec.h"
#include "../support/support.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 100, MAX_ANCHORS = 1000, MAX_ALIASED = 100000 };

/* A node that has been read. NULL: there is none, because a collection or the text ends, or after an error. */
struct branch {
    struct yaml *node;
    int64_t size; /* the nodes in it; nodes of an alias are counted each time */
    int height;   /* the number of levels of nodes below it */
};

struct anchor {
    const char *name;
    struct branch of;
    bool open; /* the anchor's collection has not ended, so an alias would make a cycle */
};

struct loader {
    struct arena *arena;
    struct diagnostics *d;
    const char *origin, *source;
    size_t source_length;
    yaml_parser_t parser;
    struct anchor *anchor;
    int anchors;
    int64_t aliased;
    int documents;
    bool ended; /* true after the last document */
    bool stop;  /* true to stop reading after an error */
};

static void report(struct loader *r, struct position at, const char *format, ...) IR_PRINTF(3, 4);

static void report(struct loader *r, struct position at, const char *format, ...)
{
    char message[300];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    spec_error_from(r->d, r->origin, at, message);
}

static void remark(struct loader *r, struct position at, const char *message)
{
    diagnostics_note(r->d, r->origin ? NO_POSITION : at, "%s", message);
}

/* ---- bytes ---- */

/* Returns the code point at s and sets *length to its length in bytes. Returns 0 if it is not UTF-8. */
static uint32_t code_point(const unsigned char *s, size_t left, int *length)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t min;
    } form[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    *length = 0;
    for (size_t n = 0; n < 4; n++) {
        if ((s[0] & form[n].mask) != form[n].lead) continue;
        if (n + 1 > left) return 0;
        uint32_t c = s[0] & (unsigned char)~form[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((s[i] & 0xc0) != 0x80) return 0;
            c = c << 6 | (s[i] & 0x3fu);
        }
        if (c < form[n].min || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
        *length = (int)n + 1;
        return c;
    }
    return 0;
}

/* Reports the position of the first byte that YAML does not allow. libyaml would give no position. */
static bool check_bytes(struct loader *r, const char *text, size_t length)
{
    struct position at = {1, 1};
    for (size_t i = 0; i < length;) {
        int bytes;
        const unsigned char *s = (const unsigned char *)text + i;
        const uint32_t c = code_point(s, length - i, &bytes);
        if (bytes == 0) {
            report(r, at, "byte 0x%02x is not UTF-8 text", s[0]);
            return false;
        }
        const bool allowed = c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0x7e) || c == 0x85 ||
                             (c >= 0xa0 && c <= 0xfffd && c != 0xfeff) || c >= 0x10000;
        if (!allowed) {
            report(r, at, c == 0xfeff ? "a byte order mark inside the file" : "control character U+%04X", (unsigned)c);
            return false;
        }
        i += (size_t)bytes;
        at.column++;
        if ((c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029) &&
            !(c == '\r' && i < length && text[i] == '\n')) {
            at.line++;
            at.column = 1;
        }
    }
    return true;
}

/* ---- scalars ---- */

static const char *digits(const char *s)
{
    while (*s >= '0' && *s <= '9') s++;
    return s;
}

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static bool is_float(const char *s)
{
    if (*s == '-' || *s == '+') s++;
    const char *whole = digits(s), *end = whole;
    if (*end == '.') end = digits(end + 1);
    if (whole == s && (*s != '.' || end == s + 1)) return false;
    if (*end == 'e' || *end == 'E') {
        end++;
        if (*end == '-' || *end == '+') end++;
        const char *exponent = end;
        end = digits(end);
        if (end == exponent) return false;
    }
    return *end == 0;
}

static bool read_integer(struct yaml *node, const char *text, int base)
{
    errno = 0;
    const long long value = strtoll(text, NULL, base);
    if (errno == ERANGE) {
        double real = 0;
        if (base == 10)
            real = strtod(text, NULL);
        else
            for (const char *s = text; *s; s++) real = real * base + (*s <= '9' ? *s - '0' : (*s | 0x20) - 'a' + 10);
        node->kind = YAML_REAL;
        node->real = real;
        return true;
    }
    node->kind = YAML_INT;
    node->integer = value;
    node->real = (double)value;
    return true;
}

/* Sets the kind and the value of a plain scalar. */
static void resolve(struct yaml *node)
{
    const char *t = node->text, *unsigned_part = t + (*t == '-' || *t == '+');
    node->kind = YAML_WORD;
    if (*t == 0 || strcmp(t, "~") == 0 || is_one_of(t, "null", "Null", "NULL")) {
        node->kind = YAML_NULL;
    } else if (is_one_of(t, "true", "True", "TRUE") || is_one_of(t, "false", "False", "FALSE")) {
        node->kind = YAML_BOOL;
        node->flag = *t == 't' || *t == 'T';
    } else if (t[0] == '0' && t[1] == 'o' && t[2] && t[2 + strspn(t + 2, "01234567")] == 0) {
        read_integer(node, t + 2, 8);
    } else if (t[0] == '0' && t[1] == 'x' && t[2] && t[2 + strspn(t + 2, "0123456789abcdefABCDEF")] == 0) {
        read_integer(node, t + 2, 16);
    } else if (*unsigned_part && *digits(unsigned_part) == 0) {
        read_integer(node, t, 10);
    } else if (is_float(t)) {
        node->kind = YAML_REAL;
        node->real = strtod(t, NULL);
    } else if (is_one_of(unsigned_part, ".inf", ".Inf", ".INF")) {
        node->kind = YAML_REAL;
        node->real = *t == '-' ? -INFINITY : INFINITY;
    } else if (is_one_of(t, ".nan", ".NaN", ".NAN")) {
        node->kind = YAML_REAL;
        node->real = NAN;
    }
}

struct yaml *yaml_plain(struct arena *arena, const char *text)
{
    struct yaml *node = arena_alloc(arena, sizeof *node);
    node->text = text;
    resolve(node);
    return node;
}

struct yaml *yaml_get(const struct yaml *map, const char *key)
{
    if (!map || map->kind != YAML_MAP) return NULL;
    for (int i = 0; i < map->count; i++)
        if (strcmp(map->key[i]->text, key) == 0) return map->item[i];
    return NULL;
}

/* ---- nodes ---- */

static struct position position(yaml_mark_t mark)
{
    return (struct position){(int)mark.line + 1, (int)mark.column + 1};
}

static struct yaml *node_new(struct loader *r, const yaml_event_t *event)
{
    struct yaml *node = arena_alloc(r->arena, sizeof *node);
    node->origin = r->origin;
    if (!r->origin) node->at = position(event->start_mark);
    return node;
}

/* Returns the last word of a core tag, such as "int" for !!int. Returns "" if there is no tag. Reports any other tag
   and returns NULL. */
static const char *core_tag(struct loader *r, const yaml_char_t *tag, struct position at)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    if (!tag) return "";
    const char *text = (const char *)tag;
    if (strcmp(text, "!") == 0) return "str";
    if (strncmp(text, prefix, sizeof prefix - 1) == 0) {
        static const char *const known[] = {"str", "int", "float", "bool", "null", "seq", "map"};
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(text + sizeof prefix - 1, known[i]) == 0) return known[i];
    }
    report(r, at, "the tag '%.60s' has no meaning here", text);
    remark(r, at, "YAML reads a word that begins with ! as a tag: write expressions in quotes, as in \"!(i == j)\"");
    return NULL;
}

static char style_of(const yaml_event_t *event)
{
    switch (event->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE: return '\'';
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE: return '"';
    case YAML_LITERAL_SCALAR_STYLE: return '|';
    case YAML_FOLDED_SCALAR_STYLE: return '>';
    case YAML_PLAIN_SCALAR_STYLE:
    case YAML_ANY_SCALAR_STYLE: break;
    }
    return 0;
}

static void read_scalar(struct loader *r, struct yaml *node, const yaml_event_t *event)
{
    node->source = r->source;
    node->source_length = r->source_length;
    node->style = style_of(event);
    node->text = arena_copy(r->arena, (const char *)event->data.scalar.value);
    node->kind = YAML_WORD;
    const char *tag = core_tag(r, event->data.scalar.tag, node->at);
    if (!tag) {
        node->wrong = true;
        return;
    }
    if (strlen(node->text) != event->data.scalar.length) {
        report(r, node->at, "a zero byte inside a string");
        node->wrong = true;
        return;
    }
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || strcmp(tag, "str") == 0;
    if (node->quoted && (*tag == 0 || strcmp(tag, "str") == 0)) return;
    resolve(node);
    if (*tag) {
        if (strcmp(tag, "float") == 0 && node->kind == YAML_INT) node->kind = YAML_REAL;
        static const char *const names[] = {
            [YAML_NULL] = "null", [YAML_BOOL] = "bool", [YAML_INT] = "int", [YAML_REAL] = "float",
            [YAML_WORD] = "str",  [YAML_LIST] = "seq",  [YAML_MAP] = "map"};
        if (strcmp(tag, names[node->kind]) != 0) {
            report(r, node->at, "'%.60s' does not have the type of its tag, %s", node->text, tag);
            node->wrong = true;
        }
        return;
    }
    if (node->kind == YAML_REAL && isnan(node->real)) {
        report(r, node->at, "NaN is not allowed");
        node->wrong = true;
    }
    const char *first = node->text + (*node->text == '-' || *node->text == '+');
    if (node->kind == YAML_INT && first[0] == '0' && first[1] >= '0' && first[1] <= '9' &&
        strspn(first, "0") != strlen(first)) {
        /* 010 is octal only in YAML 1.1. */
        report(r, node->at, "a number with a leading zero is ambiguous");
        remark(r, node->at, "write it without the zero, or with 0o before it if it is octal");
        node->wrong = true;
    }
}

/* ---- the tree ---- */

/* Adds an item to a list, or a key and its item to a map. Doubles the room at powers of two. */
static void add_item(struct loader *r, struct yaml *to, struct yaml *key, struct yaml *item)
{
    if ((to->count & (to->count - 1)) == 0) {
        struct yaml **const items = arena_alloc(r->arena, (size_t)(2 * to->count + 1) * sizeof *items),
                            **const keys = arena_alloc(r->arena, (size_t)(2 * to->count + 1) * sizeof *keys);
        for (int k = 0; k < to->count; k++) {
            items[k] = to->item[k];
            if (key) keys[k] = to->key[k];
        }
        to->item = items;
        to->key = key ? keys : NULL;
    }
    if (key) to->key[to->count] = key;
    to->item[to->count++] = item;
}

/* Whether a node can be the key of a map. If not, reports an error. */
static bool is_key(struct loader *r, const struct yaml *node)
{
    const bool list = node->kind == YAML_LIST, merge = node->text && strcmp(node->text, "<<") == 0 && !node->quoted;
    if (list || node->kind == YAML_MAP)
        report(r, node->at, "a key is a word, not a %s", list ? "list" : "map");
    else if (merge) {
        report(r, node->at, "merge keys are not part of YAML 1.2");
        remark(r, node->at, "write the keys out, or give a whole map an anchor");
    } else
        return !node->wrong;
    return false;
}

struct entry {
    struct yaml *key;
    int number;
};

static int compare_entries(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    const int order = strcmp(a->key->text, b->key->text);
    return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

/* Reports and removes keys that occur repeatedly in a map. */
static void refuse_duplicates(struct loader *r, struct yaml *map)
{
    if (map->count < 2) return;
    struct entry *sorted = arena_alloc(r->arena, (size_t)map->count * sizeof *sorted);
    bool *twice = arena_alloc(r->arena, (size_t)map->count * sizeof *twice);
    for (int i = 0; i < map->count; i++) sorted[i] = (struct entry){map->key[i], i};
    qsort(sorted, (size_t)map->count, sizeof *sorted, compare_entries);
    const struct yaml *first = sorted[0].key;
    for (int i = 1; i < map->count; i++) {
        const struct yaml *key = sorted[i].key;
        if (strcmp(key->text, first->text) != 0) {
            first = key;
            continue;
        }
        report(r, key->at, "the key '%.60s' is given twice", key->text);
        remark(r, first->at, "the first is here");
        twice[sorted[i].number] = true;
    }
    int kept = 0;
    for (int i = 0; i < map->count; i++) {
        if (twice[i]) continue;
        map->key[kept] = map->key[i];
        map->item[kept++] = map->item[i];
    }
    map->count = kept;
}

/* Reports an error after which nothing is read. */
static struct branch give_up(struct loader *r, struct position at, const char *format, int number)
{
    report(r, at, format, number);
    r->stop = true;
    return (struct branch){0};
}

static void set_anchor(struct loader *r, const yaml_char_t *name, struct branch of, bool open)
{
    if (!name) return;
    if (r->anchors == MAX_ANCHORS) {
        (void)give_up(r, of.node->at, "more than %d anchors", MAX_ANCHORS);
        return;
    }
    if (!r->anchor) r->anchor = arena_alloc(r->arena, MAX_ANCHORS * sizeof *r->anchor);
    r->anchor[r->anchors++] = (struct anchor){arena_copy(r->arena, (const char *)name), of, open};
}

static struct branch read_alias(struct loader *r, const yaml_event_t *event, int depth)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct position at = position(event->start_mark);
    int k = r->anchors - 1;
    while (k >= 0 && strcmp(r->anchor[k].name, name) != 0) k--;
    r->stop = k < 0 || r->anchor[k].open;
    if (k < 0) report(r, at, "the alias '*%.60s' has no anchor before it", name);
    if (r->stop && k >= 0) {
        report(r, at, "the anchor '%.60s' contains itself", name);
        remark(r, r->anchor[k].of.node->at, "the anchor is here");
    }
    if (r->stop) return (struct branch){0};
    const struct branch of = r->anchor[k].of;
    r->aliased += of.size;
    if (r->aliased > MAX_ALIASED) return give_up(r, at, "aliases expand to more than %d values", MAX_ALIASED);
    return depth + of.height > MAX_DEPTH ? give_up(r, at, "nested more than %d deep", MAX_DEPTH) : of;
}

static struct branch read_node(struct loader *r, int depth);

static struct branch read_collection(struct loader *r, const yaml_event_t *event, bool map, int depth)
{
    struct branch all = {node_new(r, event), 1, 0};
    struct yaml *const node = all.node;
    node->kind = map ? YAML_MAP : YAML_LIST;
    if (depth == MAX_DEPTH) return give_up(r, node->at, "nested more than %d deep", MAX_DEPTH);
    const char *const name = core_tag(r, map ? event->data.mapping_start.tag : event->data.sequence_start.tag,
                                      node->at);
    node->wrong = !name || (*name && strcmp(name, map ? "map" : "seq") != 0);
    if (name && node->wrong)
        report(r, node->at, "a %s does not have the type of its tag, %s", map ? "map" : "list", name);
    const int anchor = r->anchors;
    set_anchor(r, map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor, all, true);
    const bool anchored = r->anchors > anchor;
    while (!r->stop) {
        const struct branch key = map ? read_node(r, depth + 1) : (struct branch){0};
        if (map && !key.node) break;
        const bool kept = !map || is_key(r, key.node);
        node->partial |= !kept;
        const struct branch item = read_node(r, depth + 1);
        if (!item.node) break;
        all.size += key.size + item.size;
        if (key.node && key.height >= all.height) all.height = key.height + 1;
        if (item.height >= all.height) all.height = item.height + 1;
        if (kept) add_item(r, node, key.node, item.node);
    }
    if (r->stop) return (struct branch){0};
    if (map) refuse_duplicates(r, node);
    if (anchored) {
        r->anchor[anchor].of = all;
        r->anchor[anchor].open = false;
    }
    return all;
}

/* ---- events ---- */

/* Returns what to write instead, for the most frequent errors in YAML, or NULL. */
static const char *syntax_remedy(const struct loader *r, const yaml_parser_t *parser, const char *problem)
{
    const char *line = r->source; /* libyaml counts characters, not bytes, so the line is found first */
    for (size_t k = 0; k < parser->problem_mark.line && line; k++)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    if (strcmp(problem, "found character that cannot start any token") == 0 && line && line[strspn(line, " ")] == '\t')
        return "YAML does not allow tabs as indentation: write blanks";
    if (strcmp(problem, "mapping values are not allowed in this context") == 0)
        return "write the options of a word in braces, as in 'mask: {window: {left: 256}}', or in lines below it that "
               "begin with more blanks";
    return NULL;
}

static void report_syntax(struct loader *r, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        fputs("attnc: error: out of memory\n", stderr);
        exit(STATUS_MACHINE);
    }
    const struct position at = position(parser->problem_mark);
    const char *const problem = parser->problem ? parser->problem : "not YAML", *const remedy = syntax_remedy(r, parser,
                                                                                                              problem);
    report(r, at, "%s", problem);
    if (remedy)
        remark(r, at, remedy);
    else if (parser->context)
        remark(r, position(parser->context_mark), parser->context);
}

/* Reads the next event, and the node that begins with it, which is at this depth. */
static struct branch read_node(struct loader *r, int depth)
{
    yaml_event_t event;
    struct branch made = {0};
    if (!yaml_parser_parse(&r->parser, &event)) {
        report_syntax(r, &r->parser);
        r->stop = true;
        return made;
    }
    const bool map = event.type == YAML_MAPPING_START_EVENT;
    if (event.type == YAML_SCALAR_EVENT) {
        made = (struct branch){node_new(r, &event), 1, 0};
        read_scalar(r, made.node, &event);
        set_anchor(r, event.data.scalar.anchor, made, false);
    } else if (event.type == YAML_ALIAS_EVENT)
        made = read_alias(r, &event, depth);
    else if (map || event.type == YAML_SEQUENCE_START_EVENT)
        made = read_collection(r, &event, map, depth);
    r->ended = event.type == YAML_STREAM_END_EVENT;
    if (event.type == YAML_DOCUMENT_START_EVENT && ++r->documents == 2)
        made = give_up(r, position(event.start_mark), "a spec is one document, but a second one begins here", 0);
    yaml_event_delete(&event);
    return made;
}

static struct yaml *read_text(struct loader *r, const char *text, size_t length)
{
    if (length > YAML_MAX_BYTES) {
        report(r, NO_POSITION, "the file is larger than %d bytes", YAML_MAX_BYTES);
        return NULL;
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (!check_bytes(r, text, length)) return NULL;
    if (!r->origin) {
        r->source = text;
        r->source_length = length;
    }
    if (!yaml_parser_initialize(&r->parser)) {
        fputs("attnc: error: out of memory\n", stderr);
        exit(STATUS_MACHINE);
    }
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, length);
    struct yaml *root = NULL;
    while (!r->ended && !r->stop) {
        struct yaml *const node = read_node(r, 0).node;
        if (node) root = node;
    }
    yaml_parser_delete(&r->parser);
    if (r->stop) return NULL;
    if (!root) report(r, NO_POSITION, r->origin ? "the value is empty" : "the file is empty");
    return root;
}

struct yaml *yaml_read(struct arena *arena, const char *text, size_t length, struct diagnostics *d)
{
    struct loader *r = arena_alloc(arena, sizeof *r);
    r->arena = arena;
    r->d = d;
    return read_text(r, text, length);
}

struct yaml *yaml_read_override(struct arena *arena, const char *text, const char *origin, struct diagnostics *d)
{
    struct loader *r = arena_alloc(arena, sizeof *r);
    r->arena = arena;
    r->d = d;
    r->origin = origin;
    return read_text(r, text, strlen(text));
}
