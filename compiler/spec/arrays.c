/* Reads `arrays:`, the arrays that a spec declares for its expressions. */
#include "reader.h"
#include "spec.h"

#include <string.h>

/* Names of other inputs and outputs of kernels, which an array must not have. */
static const char *const taken[] = {"q",       "k",      "v",    "out", "dout",       "dq",           "dk",
                                    "dv",      "bias",   "seed", "lse", "statistics", "coefficients", "document",
                                    "lengths", "blocks", NULL};

/* Reports a name that an array cannot have. Returns true if expressions may still use the name. They then get no
   second error about the name. */
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

void spec_read_arrays(struct spec_reader *r)
{
    struct yaml *const node = yaml_get(r->root, "arrays");
    if (!node || node->wrong) return;
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
