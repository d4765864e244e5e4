/* Reads `sums:`. A sum is a copy of the spec with its own keys. */
#include "reader.h"
#include "spec.h"

void spec_default_denominator(struct spec *sum)
{
    const enum similarity_kind kind = sum->similarity.kind;
    sum->normalize = NORMALIZE_SUM;
    sum->sum_plus = kind == SIMILARITY_POLYNOMIAL || kind == SIMILARITY_POLYSKETCH;
}

/* Returns the pairs that any sum sees, or NULL if there are no sums. */
static const struct mask *mask_of_sums(struct spec_reader *r)
{
    const struct spec *const spec = r->spec;
    struct mask *const any = arena_alloc(r->arena, sizeof *any);
    *any = (struct mask){.kind = MASK_ANY, .at = spec->mask->at};
    any->part = arena_alloc(r->arena, MAX_SUMS * sizeof *any->part);
    for (int k = 0; k < spec->sums; k++) {
        int n = 0;
        while (n < any->parts && any->part[n] != spec->sum[k]->mask) n++;
        if (n == any->parts) any->part[any->parts++] = spec->sum[k]->mask;
    }
    return any->parts == 1 ? any->part[0] : any;
}

void spec_read_sums(struct spec_reader *r)
{
    struct yaml *const node = yaml_get(r->root, "sums"), *const output = yaml_get(r->root, "output"),
                       *const normalize = yaml_get(r->root, "normalize");
    struct spec *const spec = r->spec;
    if (!node || node->kind != YAML_MAP || node->count == 0 || node->count > MAX_SUMS) return;
    const struct spec plain = *spec;
    spec->sum = arena_alloc(r->arena, (size_t)node->count * sizeof *spec->sum);
    for (int k = 0; k < node->count; k++) {
        struct yaml *const own = node->item[k];
        struct spec *const sum = arena_alloc(r->arena, sizeof *sum);
        *sum = plain;
        sum->name = node->key[k]->text;
        sum->output = NULL;
        if (own->kind == YAML_MAP && yaml_get(own, "normalize")) sum->sink = NULL, sum->sum_plus = 0;
        spec->sum[spec->sums++] = sum;
        if (own->kind == YAML_MAP)
            spec_read_map(r, own, node->key[k], GROUP_SUM, sum);
        else if (own->kind != YAML_NULL)
            spec_error(r, own, "'%.60s': expected a map such as {similarity: softmax}, found %s", sum->name,
                       spec_found(r, own));
        if (spec->write && (sum->counts || sum->values)) {
            spec_error(r, own,
                       "'%.60s': 'write' of 'delta' adds values to those of v, so a sum cannot have other 'values'",
                       sum->name);
            spec_place(r, yaml_get(yaml_get(r->root, "delta"), "write"), "'write'");
        }
        if (!normalize && !(own->kind == YAML_MAP && yaml_get(own, "normalize"))) spec_default_denominator(sum);
        spec_expand(r, sum);
    }
    if (!output && node->count > 1) {
        spec_error(r, node, "the spec has %d sums, so it needs 'output', an expression of them", node->count);
        spec_note(r, node, "for example, write output: \"%s - %s\"", spec->sum[0]->name, spec->sum[1]->name);
    }
    spec->mask = mask_of_sums(r);
    struct yaml *const emit = yaml_get(r->root, "emit");
    if (spec->emit & EMIT_STATISTICS) {
        spec_error(r, emit, "'statistics' are those of one sum, but the spec has 'sums'");
        spec_note(r, emit, "compile a spec for each sum, and compute 'output' from their results");
    }
    if (spec->emit & EMIT_WEIGHTS && node->count > 1 && !spec->pairs) {
        spec_error(r, emit, "'weights' are those of one sum, but the spec has %d", node->count);
        spec_note(r, emit, "compile a spec for each sum, or name a number of each pair, as in weights: \"0.125 * s\"");
    }
}
