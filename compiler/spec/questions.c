/* Questions about a spec. */
#include "spec.h"
#include "../support/support.h"

#include <string.h>

enum dtype spec_type_of_keys(const struct spec *spec)
{
    return spec->k_storage ? spec->k_storage : spec->dtype;
}

enum dtype spec_type_of_values(const struct spec *spec)
{
    const enum dtype storage = spec->values_are_keys ? spec->k_storage : spec->v_storage;
    return storage ? storage : spec->dtype;
}

bool spec_has_storage(const struct spec *spec)
{
    return spec->k_storage || spec->v_storage;
}

bool spec_prepares_keys(const struct spec *spec)
{
    bool any = false;
    for (int k = 0; k < spec->prepares; k++)
        any |= spec->prepare[k].kind != PREPARE_SCALE && !spec->prepare[k].rows; /* A scale applies only to queries. */
    return any;
}

int spec_array(const struct spec *spec, const char *name)
{
    for (int k = 0; k < spec->arrays.count; k++)
        if (strcmp(spec->arrays.array[k].name, name) == 0) return k;
    return -1;
}

bool spec_has_tangent(const struct spec *spec, const char *name)
{
    const size_t length = strlen(name) - (name_is_tangent(name) ? strlen(TANGENT) : 0);
    bool inputs = length == 1 && strchr("qkv", name[0]);
    for (int k = 0; k < spec->arrays.count; k++)
        inputs |= strlen(spec->arrays.array[k].name) == length && memcmp(spec->arrays.array[k].name, name, length) == 0;
    return name_is_tangent(name) && inputs;
}

struct elements_of {
    const struct user_array *array;
    bool any;
};

static void find_elements(void *user, const struct expression *e)
{
    struct elements_of *const found = user;
    for (int k = 0; k < e->elements; k++) found->any |= e->element[k].array == found->array;
}

bool spec_stores_prepared(const struct spec *spec, const struct user_array *rows)
{
    if (dtype_of_sums(spec->dtype) != spec->dtype) return false;
    if (!rows) return spec_prepares_keys(spec);
    struct elements_of elements = {.array = rows};
    bool changes = false;
    for (int k = 0; k < spec->prepares; k++)
        for (int n = 0; n < spec->prepare[k].rows; n++) changes |= spec->prepare[k].row[n] == rows;
    if (!changes || rows->axis[rows->rank - 2].extent != EXTENT_NK || array_stored(rows)) return false;
    spec_expressions(spec, find_elements, &elements);
    return !elements.any && !spec_has_storage(spec);
}

bool spec_stores_any_prepared(const struct spec *spec)
{
    bool any = spec_stores_prepared(spec, NULL);
    for (int k = 0; k < spec->arrays.count; k++) any |= spec_stores_prepared(spec, &spec->arrays.array[k]);
    return any;
}

int64_t spec_pair_bytes(const struct spec *spec)
{
    return dtype_row_bytes(spec_type_of_keys(spec), spec->head_dim) +
           (spec->values_are_keys ? 0 : dtype_row_bytes(spec_type_of_values(spec), spec->value_dim));
}

bool spec_sums_earlier_keys(const struct spec *spec)
{
    return mask_shows_earlier_keys(spec->mask) || (spec_has_storage(spec) && mask_shows_all_earlier_keys(spec->mask));
}

static void mask_expressions(const struct mask *m, void (*visit)(void *, const struct expression *), void *user)
{
    if (m->expr) visit(user, m->expr);
    for (int k = 0; k < m->parts; k++) mask_expressions(m->part[k], visit, user);
}

void spec_expressions(const struct spec *spec, void (*visit)(void *user, const struct expression *expression),
                      void *user)
{
    if (spec->graph) return; /* its rate has no text */
    for (int k = 0; k < spec->prepares; k++)
        if (spec->prepare[k].angle) visit(user, spec->prepare[k].angle);
    for (int k = 0; k < spec->arrays.named; k++)
        if (spec->arrays.array[spec->arrays.count + k].sum) visit(user, spec->arrays.array[spec->arrays.count + k].sum);
    for (int k = 0; k < (spec->sums ? spec->sums : 1); k++) {
        const struct spec *const sum = spec->sums ? spec->sum[k] : spec;
        for (int n = 0; n < sum->similarity.steps; n++) visit(user, sum->similarity.step[n]);
        for (int n = 0; n < sum->runnings; n++) visit(user, sum->running[n].sum);
        if (sum->factor) visit(user, sum->factor);
        mask_expressions(sum->mask, visit, user);
        if (sum->sink) visit(user, sum->sink);
    }
    const struct expression *const others[] = {spec->output, spec->pairs, spec->decay, spec->rate};
    for (int k = 0; k < 4; k++)
        if (others[k]) visit(user, others[k]);
}

bool spec_has_running(const struct spec *spec)
{
    bool has = spec->runnings > 0;
    for (int k = 0; k < spec->sums; k++) has |= spec_has_running(spec->sum[k]);
    return has;
}

bool spec_has_logarithms(const struct spec *spec)
{
    return spec->similarity.kind == SIMILARITY_SOFTMAX;
}

bool spec_may_be_linear(const struct spec *spec)
{
    bool may = false;
    for (int k = 0; k < spec->sums; k++) may |= spec_may_be_linear(spec->sum[k]);
    return spec->sums ? may : spec->similarity.kind != SIMILARITY_SOFTMAX && spec->algorithm != ALGORITHM_QUADRATIC;
}

bool spec_has_constant(const struct spec *spec)
{
    return spec->normalize == NORMALIZE_SINK || (spec->normalize == NORMALIZE_SUM && spec->sum_plus > 0);
}

enum statistics_kind spec_statistics(const struct spec *spec)
{
    if (!(spec->emit & EMIT_STATISTICS)) return STATISTICS_ABSENT;
    if (spec->normalize == NORMALIZE_NONE) return STATISTICS_UNDIVIDED;
    return spec_has_logarithms(spec) ? STATISTICS_LOGARITHMS : STATISTICS_DENOMINATORS;
}
