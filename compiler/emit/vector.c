/* Prints the #include lines of one target's functions (runtime/kernel/), after the names that they read
   (runtime/kernel/target.h and stored.h). */
#include "printer.h"
#include "../spec/spec.h"
#include "../target/target.h"

#include <string.h>

static bool is_packed(enum dtype dtype)
{
    return dtype_is_packed(dtype) && dtype != DTYPE_FP8;
}

/* Like target->early_for_several, for a type. Rows of q4_0 are short, so the same number of bytes is more rows. */
int emit_early_for_several(const struct target *t, enum dtype dtype)
{
    return dtype == DTYPE_Q4_0 ? 2 * t->early_for_several : t->early_for_several;
}

static int early_of(const struct target *t, enum dtype dtype)
{
    return is_packed(dtype) ? emit_early_for_several(t, dtype) : dtype_is_narrow(dtype) ? t->early_narrow : t->early;
}

/* Returns the most keys of a tile in the list of statements, or 0. */
static int64_t keys_of_tile(const struct module *m, struct stmt *list)
{
    int64_t most = 0;
    struct stmts w = {.list = list};
    for (const struct stmt *s; (s = stmts_next(&w));)
        if (s->op == LOOPS_FOR && m->axis[s->axis].source == SIZE_N_K && s->step > most) most = s->step;
    return most;
}

const char *emit_early(const struct emitter *x, enum dtype dtype, bool parts)
{
    const struct target *const t = x->c->target;
    const int rows = early_of(t, dtype);
    const char *const on = is_packed(dtype) ? "" : dtype_is_narrow(dtype) ? t->early_narrow_on : t->early_on;
    if (!rows) return NULL;
    if (!*on) return emit_format(x, "%d", rows);
    const int64_t keys = x->c->state.paged && !parts ? keys_of_tile(x->m, x->l->body) : 0;
    /* tiles of keys on several pages are copied, so they are in the cache */
    const char *const in_place = keys ? emit_format(x, " && (!call->pages || call->pages->tokens %% %lld == 0)",
                                                    (long long)keys)
                                      : "";
    return emit_format(x, "%s%s ? %d : 0", on, in_place, rows);
}

/* More rows at a time load and store the sums less often. The target must have 32 registers of 64 bytes. */
int emit_rows_at_once(const struct target *target, enum dtype dtype)
{
    const bool roomy = target->registers > 16 && target->vector_bytes == 64;
    return dtype_is_narrow(dtype) && !is_packed(dtype) && roomy ? 32 : 16;
}

/* Sets the types of elements that the caller's arrays of reals have, each once. Returns their number. */
static int types_in_memory(const struct spec *spec, enum dtype type[DTYPE_COUNT])
{
    bool has[DTYPE_COUNT] = {false};
    int types = 0;
    for (int k = -3; k < spec->arrays.count; k++) {
        const enum dtype one = k == -3   ? spec->dtype
                               : k == -2 ? spec->k_storage
                               : k == -1 ? spec->v_storage
                                         : array_stored(&spec->arrays.array[k]);
        if ((k > -3 && !one) || has[one]) continue; /* F32: the type of the spec */
        has[one] = true;
        type[types++] = one;
    }
    return types;
}

static void include(const char *header, struct text *out)
{
    text_add(out, "#include <attnrt/kernel/%s.h>\n", header);
}

/* Prints a name for the headers, which count as 0 what is not defined. */
static void define(const char *name, int64_t value, struct text *out)
{
    if (value) text_add(out, "#define %s %lld\n", name, (long long)value);
}

/* Prints a name for the headers that ends with the type's name in capitals. */
static void define_type(const char *prefix, enum dtype dtype, struct text *out)
{
    text_add(out, "#define %s%s 1\n", prefix, emit_runtime_dtype(dtype) + strlen("ATTN_"));
}

/* Prints the functions for rows of one type in memory. */
static void include_stored(const struct emitter *e, enum dtype dtype, struct text *out)
{
    const struct target *const t = e->c->target;
    const bool narrow = dtype_is_narrow(dtype), early = early_of(t, dtype) > 0;
    const char *const type = emit_type_suffix(e->m, dtype);
    text_add(out, "\n#define S(name) T(name%s%s)\n", *type ? "##" : "", type);
    if (narrow) define_type("STORED_", dtype, out);
    if (is_packed(dtype)) {
        define("BLOCK_ELEMENTS", dtype_block(dtype), out);
        define("BLOCK_BYTES", dtype_row_bytes(dtype, dtype_block(dtype)), out);
    }
    if (dtype == DTYPE_Q4_0 && t->byte_products && e->m->dtype != DTYPE_F64)
        text_add(out, "#define BYTE_PRODUCTS %s\n", t->byte_products);
    define("AT_ONCE", emit_rows_at_once(t, dtype), out);
    define("EARLY", early, out);
    define("EARLY_FOR_SEVERAL", emit_early_for_several(t, dtype), out);
    define("SEVERAL_FROM", narrow ? 2 : t->several_from, out);
    define("SOONER", !narrow && early && *t->early_on, out);
    define("PAGED", e->emission && e->emission->paged, out);
    include("stored", out);
}

void emit_target_names(const struct emitter *e, struct text *out)
{
    const struct target *const t = e->c->target;
    const char *const attribute = *t->attribute
                                      ? arena_printf(e->m->arena, " __attribute__((target(\"%s\")))", t->attribute)
                                      : "";
    text_add(out, "#define T(name) name##_%s\n", e->suffix);
    if (target_has(t, TARGET_MATRIX_UNITS)) text_add(out, "#ifdef ATTN_EMULATE_TILES\n#define TARGET\n#else\n");
    text_add(out, "#define TARGET%s\n", attribute);
    if (target_has(t, TARGET_MATRIX_UNITS)) text_add(out, "#endif\n");
    define("LANES", e->lanes, out);
    define("REGISTERS", t->registers, out);
    if (e->m->dtype != DTYPE_F32) define_type("", e->m->dtype, out);
    define("DQ", t->scales, out);
    define("F16C", t->converts_f16, out);
    define("AVX", t->takes_roots, out);
    define("BF16_PRODUCTS", target_has(t, TARGET_BF16_PRODUCTS), out);
    define("MATRIX_UNITS", target_has(t, TARGET_MATRIX_UNITS), out);
    define("ROWS", e->rows, out);
    define("VECTORS", e->vectors, out);
    define("COMPENSATED", e->compensated, out);
    define("AHEAD", PREFETCH_ROWS, out);
    define("NEAR", 4 - t->near, out);
    define("MAX_STEPS", e->region_keys, out);
    define("MAX_PAIRED_STEPS", e->region_pairs + e->region_pairs % 2, out);
    define("MAX_TERMS", e->along_terms, out);
    define("MAX_LANES", e->fetched_lanes, out);
    define("DECAYED_KEYS", e->decayed_keys, out);
    if (target_has(t, TARGET_MATRIX_UNITS)) define("UNIT_DEPTH", e->unit_depth ? e->unit_depth : t->matrix.depth, out);
}

void emit_vector_functions(const struct emitter *e, const char *code, struct text *out)
{
    /* headers that only some kernels need, with the beginnings of the names that they call */
    static const struct {
        const char *header, *name[2];
    } some[] = {{"draw", {"drawn_"}},    {"flags", {"flags_", "shown_"}},
                {"listed", {"listed_"}}, {"random", {"random_", "words_"}},
                {"select", {"select_"}}, {"solve", {"solve_"}}};
    include("vector", out);
    include("elementary", out);
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        if (strstr(code, some[k].name[0]) || (some[k].name[1] && strstr(code, some[k].name[1])))
            include(some[k].header, out);
    if (strstr(code, arena_printf(e->m->arena, "decayed_%s(", e->suffix))) include("decayed_lanes", out);
    if (e->decayed_keys) include("decayed_rows", out);
    include("product", out);
    if (strstr(code, "_gathered_")) include("gather_product", out);
    if (target_has(e->c->target, TARGET_BF16_PRODUCTS)) {
        text_add(out, "#define PAIRED 1\n");
        include("product", out);
        if (target_has(e->c->target, TARGET_MATRIX_UNITS)) include("matrix", out);
    }
    enum dtype type[DTYPE_COUNT];
    const int types = types_in_memory(e->c->spec, type);
    for (int k = 0; k < types; k++)
        if (dtype_is_narrow(type[k]) || e->along_terms || e->fetched_lanes) include_stored(e, type[k], out);
}
