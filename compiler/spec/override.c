/* The option --set path.to.key=value, which replaces a value of the YAML tree before the checks. The path consists
   of keys, words of choices and numbers of items. */
#include "reader.h"
#include "spec.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 100 };

static struct yaml *node_new(struct spec_reader *r, enum yaml_kind kind, const char *text, const char *origin)
{
    struct yaml *node = arena_alloc(r->arena, sizeof *node);
    node->kind = kind;
    node->text = text;
    node->origin = origin;
    return node;
}

/* Copies a list or map, with room for one more item. */
static struct yaml *copy_collection(struct spec_reader *r, const struct yaml *node)
{
    struct yaml *copy = arena_alloc(r->arena, sizeof *copy);
    *copy = *node;
    const size_t room = (size_t)node->count + 1;
    copy->item = arena_alloc(r->arena, room * sizeof *copy->item);
    copy->key = arena_alloc(r->arena, room * sizeof *copy->key);
    for (int i = 0; i < node->count; i++) {
        copy->item[i] = node->item[i];
        if (node->kind == YAML_MAP) copy->key[i] = node->key[i];
    }
    return copy;
}

/* Returns the pointer to item `part` of the node in `slot`. The node is copied first, because aliases may share it.
   A missing item is added. */
static struct yaml **step(struct spec_reader *r, struct yaml **slot, const char *part, const char *origin)
{
    struct yaml *node = *slot;
    if (node && node->kind == YAML_LIST && part[strspn(part, "0123456789")] == 0 && strlen(part) < 8 &&
        atoi(part) < node->count) {
        *slot = copy_collection(r, node);
        return &(*slot)->item[atoi(part)];
    }
    struct yaml *map;
    if (node && node->kind == YAML_MAP) {
        map = copy_collection(r, node);
    } else {
        map = copy_collection(r, node_new(r, YAML_MAP, NULL, origin));
        if (node && node->kind == YAML_WORD && strcmp(node->text, part) == 0) {
            /* The word becomes {word: options}, so that options can be set. */
            map->at = node->at;
            map->origin = node->origin;
            map->key[map->count++] = node;
        }
    }
    *slot = map;
    for (int i = 0; i < map->count; i++)
        if (strcmp(map->key[i]->text, part) == 0) return &map->item[i];
    map->key[map->count] = node_new(r, YAML_WORD, part, origin);
    return &map->item[map->count++];
}

void spec_override(struct spec_reader *r, const char *override)
{
    const struct position nowhere = {0, 0};
    const char *equals = strchr(override, '=');
    if (!equals || equals == override) {
        spec_error_from(r->d, override, nowhere, "expected key=value");
        return;
    }
    int parts = 1;
    for (const char *s = override; s < equals; s++)
        if (*s == '.') {
            parts++;
            if (s == override || s[1] == '.' || s[1] == '=') parts = MAX_PARTS + 1;
        }
    if (parts > MAX_PARTS) {
        spec_error_from(r->d, override, nowhere, "the key must be words separated by single dots");
        return;
    }
    char *path = arena_copy(r->arena, override);
    path[equals - override] = 0;
    struct yaml **slot = &r->root;
    for (char *part = path, *dot; part; part = dot ? dot + 1 : NULL) {
        dot = strchr(part, '.');
        if (dot) *dot = 0;
        slot = step(r, slot, part, override);
    }
    struct yaml *value = yaml_read_override(r->arena, equals + 1, override, r->d);
    *slot = value ? value : node_new(r, YAML_NULL, "", override);
    if (!value) (*slot)->wrong = true;
}
