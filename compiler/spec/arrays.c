/* Reads `arrays:`, the arrays that a spec declares for its expressions. */
#include "reader.h"
#include "spec.h"

#include <string.h>

static const char *const extent_names[] = {[EXTENT_NUMBER] = "", [EXTENT_B] = "B",   [EXTENT_H] = "H",
                                           [EXTENT_G] = "G",     [EXTENT_NQ] = "Nq", [EXTENT_NK] = "Nk",
                                           [EXTENT_D] = "D",     [EXTENT_E] = "E"};
enum { EXTENTS = sizeof extent_names / sizeof *extent_names, MAX_AXES_OF_ARRAY = 5 };

const char *array_extent_name(enum array_extent extent)
{
    return extent_names[extent];
}

/* Returns the extent with this name, or EXTENT_NUMBER if there is none. */
static enum array_extent extent_of(const char *name)
{
    int k = EXTENTS - 1;
    while (k > 0 && strcmp(extent_names[k], name) != 0) k--;
    return (enum array_extent)k;
}

void spec_read_extents(struct spec_reader *r, const struct key_row *row, struct yaml *node, struct user_array *a)
{
    if (node->kind != YAML_LIST) {
        spec_error(r, node, "'%s': expected a list of sizes such as [H, 255], found %s", row->key, spec_found(r, node));
        return;
    }
    if (node->count > MAX_AXES_OF_ARRAY) {
        spec_error(r, node, "'%s' has %d axes; the maximum is %d", row->key, node->count, MAX_AXES_OF_ARRAY);
        return;
    }
    for (int k = 0; k < node->count; k++) {
        struct yaml *item = node->item[k];
        struct user_axis *const axis = &a->axis[a->rank++];
        if (item->kind == YAML_INT && item->integer >= row->low && item->integer <= row->high) {
            *axis = (struct user_axis){EXTENT_NUMBER, item->integer};
            continue;
        }
        axis->extent = item->kind == YAML_WORD ? extent_of(item->text) : EXTENT_NUMBER;
        if (axis->extent == EXTENT_NUMBER) {
            spec_error(r, item, "'%s': expected an integer from %lld to %lld or one of B, H, G, Nq, Nk, D, E, found %s",
                       row->key, (long long)row->low, (long long)row->high, spec_found(r, item));
            continue;
        }
        for (int before = 0; before < k; before++)
            if (a->axis[before].extent == axis->extent)
                spec_error(r, item, "'%s': two axes of size %s are not compiled yet", row->key, item->text);
    }
}

/* Names of other inputs and outputs of kernels, which an array must not have. */
static const char *const taken[] = {"q",    "k",    "v",  "out", "dout", "dq",           "dk",       "dv",
                                    "bias", "seed", "lse", "statistics", "coefficients", "document", "lengths",
                                    "blocks", NULL};

/* Reports a name that an array cannot have. Returns whether expressions may use the name nevertheless, so that they do
   not get errors of their own. */
static bool check_name(struct spec_reader *r, struct yaml *key)
{
    const char *const name = key->text;
    if (!spec_is_identifier(name) || strlen(name) > 40) {
        spec_error(r, key, "'arrays': a name is a C identifier of up to 40 characters, found '%.60s'", name);
        return false;
    }
    if (expression_reserves(name)) {
        spec_error(r, key, "'arrays': expressions use '%s' for something else; choose another name", name);
        return false;
    }
    for (int k = 0; taken[k]; k++)
        if (strcmp(taken[k], name) == 0)
            spec_error(r, key, "'arrays': a kernel can have another array '%s'; choose another name", name);
    return true;
}

void spec_read_arrays(struct spec_reader *r, struct yaml *node)
{
    if (node->kind != YAML_MAP) {
        spec_error(r, node, "'arrays': expected a map of arrays, NAME: {shape: …}, found %s", spec_found(r, node));
        return;
    }
    if (node->count > MAX_ARRAYS) {
        spec_error(r, node, "'arrays' has %d arrays; the maximum is %d", node->count, MAX_ARRAYS);
        return;
    }
    struct user_arrays *const all = &r->spec->arrays;
    all->array = arena_alloc(r->arena, (size_t)node->count * sizeof *all->array + 1);
    for (int k = 0; k < node->count; k++) {
        struct user_array *const a = &all->array[all->count++];
        a->name = node->key[k]->text;
        a->at = node->key[k]->at;
        const bool named = check_name(r, node->key[k]);
        if (node->item[k]->kind == YAML_MAP)
            spec_read_map(r, node->item[k], node->key[k], GROUP_ARRAY, a);
        else
            spec_error(r, node->item[k], "'%.60s': expected a map such as {shape: [H]}, found %s", a->name,
                       spec_found(r, node->item[k]));
        if (!named) all->count--;
    }
}
