/* Prints the vector functions and products of one target, from the templates vector.c, random.c, product.c,
   decayed.c, matrix.c, stored.c, stored_bytes.c, stored_along.c and stored_sums.c. */
#include "definitions.h"
#include "printer.h"
#include "../spec/spec.h"
#include "../target/target.h"

#include <string.h>

/* the texts of these files in emit/embedded/; kernel_stored has those of all files of stored rows */
extern const char kernel_vector[], kernel_random[], kernel_product[], kernel_decayed[], kernel_matrix[],
    kernel_stored[];

/* Orders of elements. The examples are for 4 lanes and half = 1, where `half` is the distance of exchanged
   elements.
   - SWAPPED: 1, 0, 3, 2
   - UPPER: 0, 4, 2, 6
   - LOWER: 1, 5, 3, 7
   - INTERLEAVED: 16-bit elements of two vectors, in turn
   - ZIP_LOW: lower halves, 0, 4, 1, 5
   - ZIP_HIGH: upper halves, 2, 6, 3, 7 */
enum order { IN_ORDER, SWAPPED, UPPER, LOWER, INTERLEAVED, ZIP_LOW, ZIP_HIGH };

/* Returns the indices of a shuffle of two vectors. The second vector has the indices from `lanes` on. */
static const char *elements(struct arena *arena, int lanes, enum order order, int half)
{
    struct text list = {0};
    for (int k = 0; k < lanes; k++) {
        int element = k;
        switch (order) {
        case IN_ORDER: break;
        case SWAPPED: element = k ^ half; break;
        case UPPER: element = k & half ? lanes + k - half : k; break;
        case LOWER: element = k & half ? lanes + k : k + half; break;
        case ZIP_LOW: element = k / 2 + k % 2 * lanes; break;
        case ZIP_HIGH: element = lanes / 2 + k / 2 + k % 2 * lanes; break;
        case INTERLEAVED: element = (lanes + k) << 16 | k; break; /* two indices of 16 bits each */
        }
        text_add(&list, "%s%d", k ? ", " : "", element);
    }
    const char *made = arena_copy(arena, list.data);
    text_free(&list);
    return made;
}

/* Sets the names of the shuffles of lane_sums_T. Each takes the even or the odd groups of elements of two vectors. Each
   is one instruction on x86: groups are elements of the same 16 bytes, and later the 16 bytes themselves. */
static void set_sums(struct template_names *x, int lanes, int element_bytes)
{
    const int in_16 = 16 / element_bytes;
    for (int far = 1; far < lanes; far *= 2) {
        const int group = far < in_16 ? 1 : in_16, part = far < in_16 ? in_16 : lanes;
        for (int odd = 0; odd < 2; odd++) {
            struct text list = {0};
            for (int k = 0; k < lanes; k++) {
                const int inside = k % part % (part / 2), second = k % part >= part / 2 ? lanes : 0,
                          from = (inside / group * 2 + odd) * group + inside % group;
                text_add(&list, "%s%d", k ? ", " : "", second + k / part * part + from);
            }
            template_set(x, arena_printf(x->arena, "%s_%d", odd ? "ODD" : "EVEN", far),
                         arena_copy(x->arena, list.data));
            text_free(&list);
        }
    }
}

/* Gives the constants of templates their values for f32 or f64. `instructions`: The target has an instruction that
   multiplies by a power of two. */
static void set_constants(struct template_names *x, bool f64, bool instructions)
{
    static const struct {
        const char *name, *narrow, *wide;
    } constants[] = {{"BITS", "int32_t", "int64_t"},
                     {"MAGNITUDE", "0x7fffffff", "INT64_C(0x7fffffffffffffff)"},
                     {"SIGN_SHIFT", "30", "62"},
                     {"MAGIC", "12582912.0f", "6755399441055744.0"},
                     {"EXP2_ERROR", "1e-8", "2e-19"},
                     {"EXP2_MAX", "128.0f", "1024.0"},
                     {"EXP_MAX", "89.0f", "710.0"},
                     {"LOG2E", "1.44269504f", "1.4426950408889634074"},
                     {"LN2_HIGH", "0.693145751953125f", "0.693147180369123816490"},
                     {"LN2_LOW", "1.4286068203094172e-06f", "1.90821492927058770002e-10"},
                     {"_F", "f", ""}};
    for (size_t k = 0; k < sizeof constants / sizeof *constants; k++)
        template_set(x, constants[k].name, f64 ? constants[k].wide : constants[k].narrow);
    template_set(x, "EXP2_MIN", instructions ? (f64 ? "-1022.0" : "-126.0f") : f64 ? "-1023.0" : "-127.0f");
}

/* Returns whether a query row and an accumulator for each of its lanes fit into registers. They need 32 registers of
   64 bytes. */
static bool is_roomy(const struct target *target)
{
    return target->registers > 16 && target->vector_bytes == 64;
}

/* Returns the rows of a block that is one vector wide. With 16 registers, 8 rows were no faster than 6. */
static int tall_rows(const struct emitter *e)
{
    return e->c->target->registers > 16 && e->rows < 16 ? 16 : e->rows;
}

/* Sets the template names that depend on the target and the kernel. */
static void set_all(struct template_names *x, const struct emitter *e)
{
    const struct target *target = e->c->target;
    const bool f64 = e->m->dtype == DTYPE_F64, dq = target->scales;
    template_set(x, "_T", arena_printf(x->arena, "_%s", e->suffix));
    template_set(x, "TARGET", *target->attribute ? arena_printf(x->arena, "TARGET_%s", e->suffix) : "");
    template_set(x, "REAL", e->real);
    template_set_number(x, "LANES", e->lanes);
    template_set_number(x, "BYTES", target->vector_bytes);
    template_set_number(x, "WIDE", 8 * e->lanes);
    template_set_number(x, "F64", f64);
    template_set_number(x, "F16", e->m->dtype == DTYPE_F16);
    template_set_number(x, "DQ", dq);
    template_set_number(x, "F16C", target->converts_f16);
    template_set_number(x, "BF16_PRODUCTS", target_has(target, TARGET_BF16_PRODUCTS));
    template_set_number(x, "MATRIX_UNITS", target_has(target, TARGET_MATRIX_UNITS));
    template_set_number(x, "AVX", target->takes_roots);
    set_constants(x, f64, dq);
    template_set_number(x, "AHEAD", PREFETCH_ROWS);
    template_set_number(x, "EARLY_FOR_SEVERAL", target->early_for_several);
    template_set_number(x, "ROOMY", is_roomy(target));
    /* With one query, this part of a row is read at a time. Half rows of 512 bytes make the hardware prefetch badly,
       which costs more time than sums that are not in registers. */
    template_set_number(x, "PART_VECTORS", is_roomy(target) ? 8 : 16);
    template_set_number(x, "PART_LANES", (is_roomy(target) ? 8 : 16) * e->lanes);
    template_set_number(x, "ABREAST", is_roomy(target) ? 4 : 2); /* with 4 rows, the sums stay in registers */
    template_set_number(x, "NEAR", 4 - target->near);            /* the last argument of __builtin_prefetch */
    template_set_number(x, "SOME", 16); /* a core can have about this number of cache misses in flight */
    template_set(x, "IOTA", elements(x->arena, e->lanes, IN_ORDER, 0));
    template_set(x, "INTERLEAVED", elements(x->arena, e->lanes, INTERLEAVED, 0));
    template_set(x, "ZIP_LOW", elements(x->arena, e->lanes, ZIP_LOW, 0));
    template_set(x, "ZIP_HIGH", elements(x->arena, e->lanes, ZIP_HIGH, 0));
    for (int half = 1; half < e->lanes; half *= 2) {
        template_set(x, arena_printf(x->arena, "SWAPPED_%d", half), elements(x->arena, e->lanes, SWAPPED, half));
        template_set(x, arena_printf(x->arena, "UPPER_%d", half), elements(x->arena, e->lanes, UPPER, half));
        template_set(x, arena_printf(x->arena, "LOWER_%d", half), elements(x->arena, e->lanes, LOWER, half));
    }
    set_sums(x, e->lanes, target->vector_bytes / e->lanes);
    template_set_number(x, "ROWS", e->rows);
    template_set_number(x, "TALL", tall_rows(e));
    template_set_number(x, "HAS_TALL", tall_rows(e) > e->rows);
    template_set_number(x, "VECTORS", e->vectors);
    template_set_number(x, "REGISTERS", target->registers);
    template_set_number(x, "DECAYED_KEYS", e->decayed_keys);
    template_set_number(x, "COMPENSATED", e->compensated);
    template_set(x, "COMPENSATION_PARAMETER",
                 e->compensated ? arena_printf(x->arena, ", %s *compensation", e->real) : "");
    template_set(x, "COMPENSATION_ARGUMENT", e->compensated ? ", compensation" : "");
    template_set(x, "COMPENSATION_OF_ROW", e->compensated ? ", left ? left + r * c_row : NULL" : "");
    template_set(x, "COMPENSATION_OF_LAST", e->compensated ? ", left ? left + whole * c_row : NULL" : "");
    template_set(x, "COMPENSATION_NULL", e->compensated ? ", NULL" : "");
}

/* Sets the template names for products of reals, or of pairs of bf16. */
static void set_product(struct template_names *x, const struct emitter *e, bool paired)
{
    const bool f64 = e->m->dtype == DTYPE_F64;
    template_set_number(x, "PAIRED", paired);
    template_set(x, "IN", paired ? "uint16_t" : e->real);
    template_set(x, "IN_PER_REAL", paired ? "2 *" : "");
    template_set(x, "BY_PARAMETER", paired ? ", const float by" : "");
    template_set(x, "BY_ARGUMENT", paired ? ", by" : "");
    template_set(x, "WORD", paired ? "uint16_t" : f64 ? "uint64_t" : "uint32_t");
    template_set(x, "WORD_MAX", paired ? "0x7fff" : f64 ? "UINT64_C(0x7fffffffffffffff)" : "0x7fffffff");
    template_set(x, "WORD_CARRY", paired ? "0x0080" : f64 ? "UINT64_C(0x0010000000000000)" : "0x00800000");
    template_set_number(x, "WORDS", paired ? 2 * e->lanes : e->lanes);
    template_set_number(x, "MAX_STEPS", paired ? e->region_pairs + e->region_pairs % 2 : e->region_keys);
    template_set_number(x, "MAX_TERMS", e->along_terms);
    template_set_number(x, "MAX_LANES", e->fetched_lanes);
    template_set_number(x, "UNIT_DEPTH", e->unit_depth ? e->unit_depth : e->c->target->matrix.depth);
    const bool fetched = !paired && e->fetched_lanes > 0 && is_roomy(e->c->target);
    template_set_number(x, "FETCHED", fetched);
    template_set(x, "EARLY_PARAMETER", fetched ? ", const int64_t early" : "");
    template_set(x, "EARLY_ARGUMENT", fetched ? ", early" : "");
    template_set(x, "NOT_EARLY", fetched ? ", 0" : "");
    const char *const kind = paired ? "paired_" : fetched ? "early_" : "";
    template_set(x, "ANY_DOT", arena_printf(x->arena, "dot_%s%s", kind, e->suffix));
    template_set_number(x, "TOGETHER", paired ? 2 : 1);
    template_set_number(x, "ONE_IS_ODD", e->rows > 1);
    template_set(x, "COMPENSATION_OF_THE_ROW",
                 e->compensated ? ", compensation ? compensation + r * c_row : NULL" : "");
    template_set(x, "COMPENSATION_OF_GROUP", e->compensated ? ", compensation ? compensation + r * c_row : NULL" : "");
    template_set(x, "COMPENSATION_OF_COLUMN", e->compensated ? ", compensation ? compensation + x : NULL" : "");
    static const char *const names[] = {
        "bits",      "bit",       "finite",    "add_seen",    "add_seen_lanes", "block",      "parts",
        "dot",       "dot_kept",  "rows_kept", "block_kept",  "dot_until",      "dot_finite", "dot_finite_lanes",
        "dot_ahead", "dot_early", "some_rows", "dot_lane",    "blocks",         "narrow",     "lanes_in_blocks",
        "dot_row",   "dot_both",  "both_rows", "finite_apart"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        template_set(x, arena_printf(x->arena, "%s_T", names[k]),
                     arena_printf(x->arena, "%s_%s%s", names[k], paired ? "paired_" : "", e->suffix));
}

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
static int64_t keys_of_tile(const struct module *m, const struct stmt *s)
{
    int64_t most = 0;
    for (; s; s = s->next) {
        const int64_t own = s->op == LOOPS_FOR && m->axis[s->axis].source == SIZE_N_K ? s->step : 0,
                      inner = keys_of_tile(m, s->body);
        if (own > most) most = own;
        if (inner > most) most = inner;
    }
    return most;
}

const char *emit_early(const struct emitter *x, enum dtype dtype, bool parts)
{
    const struct target *const t = x->c->target;
    const int rows = early_of(t, dtype);
    const char *const on = is_packed(dtype) ? "" : dtype_is_narrow(dtype) ? t->early_narrow_on : t->early_on;
    if (!rows) return NULL;
    if (!*on) return arena_printf(x->m->arena, "%d", rows);
    const int64_t keys = x->c->state.paged && !parts ? keys_of_tile(x->m, x->l->body) : 0;
    /* tiles of keys on several pages are copied, so they are in the cache */
    const char *const in_place = keys ? arena_printf(x->m->arena,
                                                     " && (!call->pages || call->pages->tokens %% %lld == 0)",
                                                     (long long)keys)
                                      : "";
    return arena_printf(x->m->arena, "%s%s ? %d : 0", on, in_place, rows);
}

/* Sets the template names for functions that there are once for each type in memory. */
static void set_functions(struct template_names *x, const struct emitter *e, enum dtype dtype, const char *const *names,
                          size_t count)
{
    for (size_t k = 0; k < count; k++)
        template_set(x, arena_printf(x->arena, "%s_T", names[k]),
                     arena_printf(x->arena, "%s%s_%s", names[k], emit_type_suffix(e->m, dtype), e->suffix));
}

/* Sets the template names for products of bytes. Only keys of 4 bits gain by them. */
static void set_bytes(struct template_names *x, const struct emitter *e, enum dtype dtype)
{
    static const char *const names[] = {"write_digits",     "turn_words",    "turn_block", "byte_columns",
                                        "all_byte_columns", "dot_infinite",  "dot_bytes",  "copy_turned_scales",
                                        "byte_tile",        "scaled_weights"};
    const char *const on = e->c->target->byte_products;
    set_functions(x, e, dtype, names, sizeof names / sizeof *names);
    template_set_number(x, "BYTE_PRODUCTS", on && dtype == DTYPE_Q4_0 && e->m->dtype != DTYPE_F64);
    template_set(x, "BYTE_PRODUCTS_ON", on ? on : "0");
    template_set_number(x, "STARTS", (e->along_terms / 32 / 5 + 1) * e->lanes); /* 3 numbers for each of 5 blocks */
}

/* More rows at a time load and store the sums less often. */
int emit_rows_at_once(const struct target *target, enum dtype dtype)
{
    return dtype_is_narrow(dtype) && !is_packed(dtype) && is_roomy(target) ? 32 : 16;
}

/* Sets the template names for rows of one type in memory. */
static void set_stored(struct template_names *x, const struct emitter *e, enum dtype dtype)
{
    const struct target *const target = e->c->target;
    const bool narrow = dtype_is_narrow(dtype), half = dtype == DTYPE_Q8_0 || dtype == DTYPE_Q4_0,
               blocks = is_packed(dtype);
    template_set_number(x, "STORED_F16", dtype == DTYPE_F16);
    template_set_number(x, "STORED_BF16", dtype == DTYPE_BF16);
    template_set_number(x, "STORED_FP8", dtype == DTYPE_FP8);
    template_set_number(x, "STORED_Q4_0", dtype == DTYPE_Q4_0);
    template_set_number(x, "HALVES", dtype == DTYPE_F16 || dtype == DTYPE_FP8 || half);
    /* Rows of 8 bits or less are short and always prefetched, so parts whose sums stay in registers are faster. */
    const bool in_parts = blocks && !is_roomy(target);
    template_set_number(x, "IN_PARTS", in_parts);
    if (in_parts) template_set_number(x, "PART_VECTORS", target->registers / 4);
    if (in_parts) template_set_number(x, "PART_LANES", target->registers / 4 * e->lanes);
    template_set_number(x, "LOOKUP", target->vector_bytes == 64 && target->scales);
    set_bytes(x, e, dtype);
    /* the number of scales in LANES rows of a product, or in 16 rows of values */
    const int block = dtype_block(dtype);
    const int64_t of_terms = block ? e->along_terms / block + 1 : 1,
                  of_lanes = block ? e->fetched_lanes / block + 1 : 1;
    template_set_number(x, "SCALES", of_terms * e->lanes > of_lanes * 16 ? of_terms * e->lanes : of_lanes * 16);
    template_set_number(x, "AT_ONCE", emit_rows_at_once(target, dtype));
    template_set_number(x, "BLOCKS", blocks);
    template_set_number(x, "BLOCK_ELEMENTS", dtype_block(dtype));
    template_set_number(x, "BLOCK_BYTES", blocks ? dtype_row_bytes(dtype, dtype_block(dtype)) : 0);
    template_set_number(x, "HALF_SCALE", half);
    template_set_number(x, "SCALE_BYTES", half ? 2 : 4);
    template_set(x, "SCALE", half ? "uint16_t" : e->real);
    template_set(x, "SCALE_PARAMETER", blocks ? arena_printf(x->arena, ", const %s *scale", e->real) : "");
    template_set(x, "SCALE_ARGUMENT", blocks ? ", scale" : "");
    template_set(x, "WEIGHT_ARGUMENT", blocks ? ", weight, count" : "");
    template_set(x, "WEIGHT_PARAMETER",
                 blocks ? arena_printf(x->arena, ", const %s *weight, const int64_t count", e->real) : "");
    template_set(x, "NEXT_PARAMETER",
                 blocks ? arena_printf(x->arena, ", %s *next, int64_t later", half ? "uint16_t" : e->real) : "");
    template_set(x, "NEXT_ARGUMENT", blocks ? ", copy, later" : "");
    template_set_number(x, "NARROW", narrow);
    template_set_number(x, "TURNED_SUMS", e->lanes < 4 ? 2 * e->lanes : 8); /* registers with sums of turned rows */
    template_set_number(x, "MANY", 16); /* rows of a product whose results exceed the first cache */
    int levels = 0;
    while (1 << levels < e->lanes) levels++;
    template_set_number(x, "TURNED_LEVELS", levels);
    template_set(x, "STORED", emit_stored(dtype));
    template_set_number(x, "EARLY_FOR_SEVERAL", emit_early_for_several(target, dtype));
    const bool early = early_of(target, dtype) > 0;
    template_set_number(x, "IS_EARLY", early);
    template_set(x, "EARLY", early ? "`early`" : "0");
    template_set(x, "FETCH_PARAMETER", early ? ", const int64_t early" : "");
    template_set(x, "FETCH_ARGUMENT", early ? ", early" : "");
    template_set(x, "EARLY_OF_ONE", early ? "early" : "0");
    template_set(x, "AHEAD_PARAMETER", early ? arena_printf(x->arena, ", const %s *ahead", emit_stored(dtype)) : "");
    template_set(x, "AHEAD_OF_ONE", early ? ", early ? ahead : NULL" : "");
    template_set(x, "NOT_AHEAD", early ? ", NULL" : "");
    /* where rows come after those of a product: in memory, or at `after` */
    const bool pages = e->emission && e->emission->paged;
    template_set(x, "AFTER_PARAMETER", pages ? arena_printf(x->arena, ", const %s *after", emit_stored(dtype)) : "");
    template_set(x, "AFTER_ARGUMENT", pages ? ", after" : "");
    template_set(x, "AFTER_TEXT", pages ? "The rows at `after` come after its rows; NULL: those in memory." : "");
    template_set(x, "AFTER", pages ? "after" : "NULL");
    /* where one query prefetches only on some processors, several do as it does there */
    const bool sooner = !narrow && early && *target->early_on;
    const char *const several = arena_printf(x->arena, "%d", emit_early_for_several(target, dtype)),
                      *const distance = sooner ? arena_printf(x->arena, "(early ? early : %s)", several) : several,
                      /* products that prefetch without `after` would prefetch the wrong rows of short pages */
                          *const in_part = pages ? arena_printf(x->arena, "after && steps <= %s ? 0 : ", several) : "";
    template_set(x, "DISTANCE", distance);
    template_set(x, "DISTANCE_IN_PART", arena_printf(x->arena, "%s%s", in_part, distance));
    template_set(x, "EARLY_IN_PART", arena_printf(x->arena, "%s%s", in_part, several));
    template_set(x, "SEVERAL",
                 arena_printf(x->arena, sooner ? "(early ? 2 : %d)" : "%d", narrow ? 2 : target->several_from));
    static const char *const names[] = {
        "unscaled",       "block_size",  "scales",      "copy_scales",  "convert_scales",
        "widen_rows",     "scaled",      "from_halves", "scale_of",     "block_of",
        "in_block",       "widened",     "element",     "units",        "transpose_widened",
        "finite_stored",  "fetch",       "ahead",       "columns",      "row",
        "dot_along",      "dot_fetched", "all_columns", "some_columns", "columns_of_4",
        "some_lanes",     "all_lanes",   "group",       "groups",       "turn_rows",
        "turned_columns", "turned",      "all_turned",  "turned_lane",  "add_turned",
        "strip",          "part_of_row"};
    set_functions(x, e, dtype, names, sizeof names / sizeof *names);
}

/* Sets the name to the cases of a switch over the number of rows that remain. Case r calls `function` for r rows. */
static void set_cases(struct template_names *x, const char *name, int rows, const char *function, const char *arguments)
{
    struct text cases = {0};
    text_add(&cases, "\n\n");
    for (int r = rows - 1; r > 0; r--)
        text_add(&cases, "        case %d: %s(%d, %s); break;\n", r, function, r, arguments);
    struct text filled = {0};
    text_add(&filled, "%s", template_fill(x, cases.data));
    template_set_text(x, name, &filled);
    text_free(&cases);
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

void emit_vector_functions(const struct emitter *e, const char *code, struct text *out)
{
    struct arena *arena = e->m->arena;
    struct pieces *all = pieces_new(arena);
    const bool pairs = target_has(e->c->target, TARGET_BF16_PRODUCTS);
    for (int paired = 0; paired <= (pairs ? 1 : 0); paired++) {
        struct template_names x = {.arena = arena};
        set_product(&x, e, paired); /* This is first, because dot_T must match before _T. */
        set_all(&x, e);
        set_cases(&x, "CASES", e->rows, "parts_T",
                  "vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL x, b_step, c + r * c_row + x, "
                  "c_row, update BY_ARGUMENT, f COMPENSATION_OF_ROW EARLY_ARGUMENT");
        set_cases(
            &x, "NARROW_CASES", e->rows, "block_T",
            "1, some, from + r * a_row, a_row, a_step, b + t * b_step + IN_PER_REAL x, b_step, c + r * c_row + x, "
            "c_row, now BY_ARGUMENT, f COMPENSATION_OF_ROW NOT_EARLY");
        if (!paired) pieces_add(all, template_fill(&x, kernel_vector), false);
        if (!paired) pieces_add(all, template_fill(&x, kernel_random), false);
        pieces_add(all, template_fill(&x, kernel_product), false);
        if (!paired) pieces_add(all, template_fill(&x, kernel_decayed), false);
        if (paired && target_has(e->c->target, TARGET_MATRIX_UNITS))
            pieces_add(all, template_fill(&x, kernel_matrix), false);
    }
    const struct spec *const spec = e->c->spec;
    enum dtype type[DTYPE_COUNT];
    const int types = types_in_memory(spec, type);
    for (int k = 0; k < types; k++) {
        struct template_names x = {.arena = arena};
        set_product(&x, e, false);
        set_stored(&x, e, type[k]);
        set_all(&x, e);
        pieces_add(all, template_fill(&x, kernel_stored), false);
    }
    pieces_want(all, code);
    pieces_print(all, out);
}
