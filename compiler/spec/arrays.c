/* Reads `arrays:`, which declares arrays that expressions use. */
#include "reader.h"
#include "spec.h"

#include <string.h>

/* Names of other inputs and outputs of kernels. An array must not have such a name. */
static const char *const taken[] = {"q",
                                    "k",
                                    "v",
                                    "out",
                                    "dout",
                                    "dq",
                                    "dk",
                                    "dv",
                                    "bias",
                                    "seed",
                                    "lse",
                                    "statistics",
                                    "coefficients",
                                    "document",
                                    "lengths",
                                    "blocks",
                                    "log_decay",
                                    "log_decay_q",
                                    "log_decay_q_low",
                                    "log_decay_k",
                                    "log_decay_k_low",
                                    "log_decay_chunk",
                                    "log_decay_chunk_low",
                                    NULL};

/* Names that the C of a kernel uses for other things. An array must not have such a name. */
static const char *const of_kernels[] = {"APART",
                                         "FLT_MAX",
                                         "INFINITY",
                                         "INLINE",
                                         "NAN",
                                         "NULL",
                                         "SIZE_MAX",
                                         "UNROLL",
                                         "await_segment",
                                         "batch",
                                         "call",
                                         "chunk",
                                         "chunk0",
                                         "chunk1",
                                         "chunks",
                                         "dk_row",
                                         "dout_batch",
                                         "dout_head",
                                         "dout_row",
                                         "dq_batch",
                                         "dq_head",
                                         "dq_row",
                                         "dv_row",
                                         "e",
                                         "e_first",
                                         "end",
                                         "first",
                                         "gradient",
                                         "group",
                                         "i_end",
                                         "iteration",
                                         "j_end",
                                         "k_batch",
                                         "k_row",
                                         "kv_heads",
                                         "length",
                                         "m",
                                         "max",
                                         "members",
                                         "min",
                                         "n_k",
                                         "n_q",
                                         "out_head",
                                         "out_row",
                                         "part",
                                         "pass_segment",
                                         "q_batch",
                                         "q_head",
                                         "q_row",
                                         "r",
                                         "round_up",
                                         "rows",
                                         "score",
                                         "in_region",
                                         "segment",
                                         "segment_length",
                                         "synchronise",
                                         "t_key",
                                         "task",
                                         "tiles",
                                         "v_batch",
                                         "v_row",
                                         "vector",
                                         "work",
                                         NULL};

static bool among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/* Returns whether the name is a bound of an axis's range, such as i0. */
static bool is_end(const char *name)
{
    return strlen(name) == 2 && strchr("bgmijder", name[0]) && (name[1] == '0' || name[1] == '1');
}

/* Reports a name that an array cannot have. Returns true if expressions may still use the name, which prevents a
   second error. */
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
    if (among(name, taken))
        spec_error(r, key, "'arrays': a kernel can have another array '%s'; choose another name", name);
    else if (among(name, of_kernels) || is_end(name))
        spec_error(r, key, "'arrays': the C of kernels uses '%s' for something else; choose another name", name);
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
        *a = (struct user_array){0};
        a->name = node->key[k]->text;
        a->at = node->key[k]->at;
        const bool named = check_name(r, node->key[k]);
        if (node->item[k]->kind == YAML_MAP)
            spec_read_map(r, node->item[k], node->key[k], GROUP_ARRAY, a);
        else
            spec_error(r, node->item[k], "'%.60s': expected a map such as {shape: [H]}, found %s", a->name,
                       spec_found(r, node->item[k]));
        if (a->learned && a->type != ARRAY_REAL)
            spec_error(r, node->item[k], "'%s': only an array of type 'real' can be learned", a->name);
        if (!named) all->count--;
    }
}
