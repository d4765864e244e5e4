/* The parameters of a variant: their struct, their shapes, and what makes those that a seed gives. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

#include <string.h>

int emit_param_count(const struct graph *g)
{
    int count = 0;
    for (int v = 0; v < g->values; v++) count += g->value[v].op == GRAPH_PARAM;
    return count;
}

int emit_param_shape(const struct graph *g, const struct value *v, const char **shape, const char **said)
{
    struct arena *arena = g->module->arena;
    int rank = 0;
    for (int k = 0; k < v->rank; k++) {
        const struct axis *a = &g->module->axis[v->axes[k]];
        switch (a->source) {
        case SIZE_CONSTANT: said[rank] = shape[rank] = arena_printf(arena, "%lld", (long long)a->extent); break;
        case SIZE_BATCH: shape[rank] = "ATTN_BATCH", said[rank] = "B"; break;
        case SIZE_KV_HEADS:
            shape[rank] = "ATTN_KV_HEADS", said[rank] = "G";
            if (k + 1 < v->rank && g->module->axis[v->axes[k + 1]].source == SIZE_MEMBERS) {
                shape[rank] = "ATTN_HEADS", said[rank] = "H";
                k++;
            }
            break;
        case SIZE_CHUNKS:
        case SIZE_QUERY_CHUNKS:
        case SIZE_UNITS:
        case SIZE_ROWS:
        case SIZE_MEMBERS: break;
        case SIZE_N_Q: shape[rank] = "ATTN_N_Q", said[rank] = "n_q"; break;
        case SIZE_N_K: shape[rank] = "ATTN_N_K", said[rank] = "n_k"; break;
        }
        rank++;
    }
    return rank;
}

static int64_t param_elements(const struct graph *g, const struct value *v)
{
    int64_t count = 1;
    for (int k = 0; k < v->rank; k++) count *= g->module->axis[v->axes[k]].extent;
    return count;
}

const char *emit_param_of_ids(const struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].integers) return g->value[v].name;
    return NULL;
}

bool emit_has_random(const struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].origin != ORIGIN_LEARNED) return true;
    return false;
}

void emit_params_struct(const struct compilation *c, struct text *out)
{
    const struct graph *g = c->source;
    const char *name = c->spec->name, *real = emit_real(c->spec->dtype);
    text_add(out, "struct %s_params {\n", name);
    if (emit_param_count(g) == 0) text_add(out, "    int none; /* this variant has no parameters: pass NULL */\n");
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_PARAM) continue;
        const char *shape[MAX_RANK] = {NULL}, *said[MAX_RANK] = {NULL};
        int rank = emit_param_shape(g, &g->value[v], shape, said);
        text_add(out, "    const %s *%s; /* [", g->value[v].integers ? "int32_t" : real,
                 emit_name(g->module->arena, g->value[v].name));
        for (int k = 0; k < rank; k++) text_add(out, "%s%s", k ? ", " : "", said[k]);
        text_add(out, "]%s%s */\n",
                 g->value[v].origin == ORIGIN_LEARNED ? "" : ", from a seed: ", origin_name(g->value[v].origin));
    }
    text_add(out, "};\n");
}

void emit_gradients_struct(const struct compilation *c, struct text *out)
{
    const struct graph *g = c->source;
    const char *real = emit_real(c->spec->dtype);
    bool any = false;
    text_add(out,
             "\n/* Gradients by learned parameters, which are written; one that is NULL is not computed. */\nstruct "
             "%s_gradients {\n",
             c->spec->name);
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        const char *shape[MAX_RANK] = {NULL}, *said[MAX_RANK] = {NULL};
        if (value->op != GRAPH_PARAM || value->origin != ORIGIN_LEARNED || value->integers) continue;
        const int rank = emit_param_shape(g, value, shape, said);
        any = true;
        text_add(out, "    %s *%s; /* [", real, emit_name(g->module->arena, value->name));
        for (int k = 0; k < rank; k++) text_add(out, "%s%s", k ? ", " : "", said[k]);
        text_add(out, "] */\n");
    }
    text_add(out, "%s};\n", any ? "" : "    int none; /* this variant has none: pass NULL */\n");
}

void emit_params_functions(const struct compilation *c, struct text *out)
{
    const struct graph *g = c->source;
    struct arena *arena = g->module->arena;
    const char *name = c->spec->name, *real = emit_real(c->spec->dtype);
    const enum dtype made_in = dtype_of_sums(c->spec->dtype);
    const int64_t element = dtype_bytes(made_in);
    int64_t arrays = 0, at = 0;
    const char *work = NULL;
    struct text made = {0};
    for (int v = 0; v < g->values; v++)
        if (g->value[v].op == GRAPH_PARAM && g->value[v].origin != ORIGIN_LEARNED)
            arrays += (param_elements(g, &g->value[v]) * element + 63) / 64 * 64;
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        if (value->op != GRAPH_PARAM || value->origin == ORIGIN_LEARNED) continue;
        const char *field = emit_name(arena, value->name), *shape = NULL;
        for (int k = 0; k < value->rank; k++) {
            long long extent = (long long)g->module->axis[value->axes[k]].extent;
            shape = shape
                        ? arena_printf(arena, "%s%s%lld", shape, value->origin == ORIGIN_NORMAL ? " * " : ", ", extent)
                        : arena_printf(arena, "%lld", extent);
        }
        if (!shape) shape = "1";
        text_add(&made, "    %s *const %s = (%s *)(void *)(bytes + %lld);\n", real, field, real, (long long)at);
        switch (value->origin) {
        case ORIGIN_LEARNED: break;
        case ORIGIN_NORMAL:
            text_add(&made, "    attn_normal_%s(seed, attn_stream(\"%s\"), 0, %s, %s);\n", dtype_name(made_in),
                     value->name, shape, field);
            break;
        case ORIGIN_ORTHOGONAL: {
            const char *one = arena_printf(arena, "attn_orthogonal_work(%s)", shape);
            work = work ? arena_printf(arena, "max_bytes(%s, %s)", work, one) : one;
            text_add(&made, "    attn_orthogonal_%s(seed, attn_stream(\"%s\"), %s, %s, bytes + %lld);\n",
                     dtype_name(made_in), value->name, shape, field, (long long)arrays);
            break;
        }
        }
        text_add(&made, "    params->%s = %s;\n", field, field);
        at += (param_elements(g, value) * element + 63) / 64 * 64;
    }
    if (work && strstr(work, "max_bytes"))
        text_add(out, "static size_t max_bytes(size_t a, size_t b)\n{\n    return a > b ? a : b;\n}\n\n");
    text_add(out, "size_t %s_params_size(void)\n{\n    return %lld%s%s;\n}\n\n", name, (long long)arrays,
             work ? " + " : "", work ? work : "");
    text_add(out, "int %s_params_init(struct %s_params *params, uint64_t seed, void *storage)\n{\n", name, name);
    if (made.length)
        text_add(out, "    if (!params || !storage) return ATTN_EPOINTER;\n    if ((uintptr_t)storage %% 64) return "
                      "ATTN_EALIGN;\n"
                      "    unsigned char *const bytes = (unsigned char *)storage;\n");
    else
        text_add(out, "    (void)seed;\n    (void)storage;\n    if (!params) return ATTN_EPOINTER;\n");
    text_add(out, "    *params = (struct %s_params){0};\n%s    return 0;\n}\n\n", name, made.length ? made.data : "");
    text_free(&made);
}

const char *emit_runtime_dtype(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32: return "ATTN_F32";
    case DTYPE_BF16: return "ATTN_BF16";
    case DTYPE_F16: return "ATTN_F16";
    case DTYPE_F64: return "ATTN_F64";
    case DTYPE_I32: return "ATTN_I32";
    }
    return "";
}
