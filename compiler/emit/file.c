/* The emitted files: NAME.h with the interface, NAME.c with one version of the rows function for every target, the choice among them at run
   time, and the entry points. */
#include "../compiler.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* U+202A to 202E and U+2066 to 2069 turn the direction of writing, which compilers warn of. */
static bool turns_direction(const char *c)
{
    if (strncmp(c, "\xe2\x80", 2) == 0) return (unsigned char)c[2] >= 0xaa && (unsigned char)c[2] <= 0xae;
    return strncmp(c, "\xe2\x81", 2) == 0 && (unsigned char)c[2] >= 0xa6 && (unsigned char)c[2] <= 0xa9;
}

/* Text as it may stand in a C comment: nothing in it begins or ends one or is a trigraph. */
static const char *harmless(struct arena *arena, const char *text)
{
    struct text made = {0};
    for (const char *c = text; *c; c++) {
        if (turns_direction(c)) {
            c += 2;
            continue;
        }
        text_append(&made, c, 1);
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*') || (c[0] == '?' && c[1] == '?')) text_add(&made, " ");
    }
    const char *copy = arena_copy(arena, made.data ? made.data : "");
    text_free(&made);
    return copy;
}

/* Lines of text in a C comment. */
static void comment_text(struct arena *arena, struct text *out, const char *text, int indent)
{
    for (const char *line = harmless(arena, text);;) {
        size_t length = strcspn(line, "\n");
        emit_wrapped(out, indent, arena_printf(arena, "%.*s", (int)length, line));
        if (!line[length] || !line[length + 1]) break;
        line += length + 1;
    }
}

/* ---- parameters: the PARAM arrays of the meaning ---- */

static int param_count(const struct graph *g)
{
    int count = 0;
    for (int v = 0; v < g->values; v++) count += g->value[v].op == GRAPH_PARAM;
    return count;
}

/* The shape as the axes of the interface: g and m side by side are the heads. */
static int param_shape(const struct graph *g, const struct value *v, const char **shape, const char **said)
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

/* The parameter of integers, or NULL. */
static const char *ids_of(const struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].integers) return g->value[v].name;
    return NULL;
}

static bool has_random(const struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].origin != ORIGIN_LEARNED) return true;
    return false;
}

static void params_struct(const struct compilation *c, struct text *out)
{
    const struct graph *g = c->meaning;
    const char *name = c->spec->name, *real = emit_real(c->spec->dtype);
    text_add(out, "struct %s_params {\n", name);
    if (param_count(g) == 0) text_add(out, "    int none; /* this variant has no parameters: pass NULL */\n");
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_PARAM) continue;
        const char *shape[MAX_RANK] = {NULL}, *said[MAX_RANK] = {NULL};
        int rank = param_shape(g, &g->value[v], shape, said);
        text_add(out, "    const %s *%s; /* [", g->value[v].integers ? "int32_t" : real, emit_name(g->module->arena, g->value[v].name));
        for (int k = 0; k < rank; k++) text_add(out, "%s%s", k ? ", " : "", said[k]);
        text_add(out, "]%s%s */\n", g->value[v].origin == ORIGIN_LEARNED ? "" : ", from a seed: ", origin_name(g->value[v].origin));
    }
    text_add(out, "};\n");
}

/* Whether what runs depends on the number of keys. */
static bool by_length(const struct version *v, int versions)
{
    for (int k = 0; k < versions; k++)
        if (v[k].from > 0) return true;
    return false;
}

/* ---- NAME.h ---- */

void emit_header(const struct product *p, const char *command, struct text *out)
{
    const struct compilation *c = p->compilation[0];
    const char *name = c->spec->name, *stored = emit_stored(c->spec->dtype), *guard = arena_printf(c->graph->module->arena, "ATTNC_%s_H", name);
    text_add(out, "/* %s.h, made by attnc %s: %s\n", name, ATTNC_VERSION, harmless(c->graph->module->arena, command));
    if (*c->spec->description) comment_text(c->graph->module->arena, out, c->spec->description, 3);
    text_add(
        out,
        "   q [B,H,n_q,%lld]  k [B,G,n_k,%lld]  v [B,G,n_k,%lld]  out [B,H,n_q,%lld], %s. H is a multiple of G; query head h reads key/value head h / (H/G).\n",
        (long long)c->spec->head_dim, (long long)c->spec->head_dim, (long long)c->spec->value_dim, (long long)c->spec->value_dim, dtype_name(c->spec->dtype));
    text_add(out, "   Positions count so that the last query meets the last key; a row that sees no key gives 0. */\n");
    text_add(out, "#ifndef %s\n#define %s\n\n", guard, guard);
    if (p->standalone)
        standalone_types(out);
    else
        text_add(out, "#include <attnrt.h>\n");
    text_add(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    params_struct(c, out);
    text_add(out, "\n/* Bytes that %s_params_init needs for what it makes from a seed%s. */\nsize_t %s_params_size(void);\n", name,
             has_random(c->meaning) ? ", to be aligned to 64" : "", name);
    text_add(out, "/* Fills in what a seed can make, in `storage`; learned arrays become NULL and are the caller's to set. Returns 0. */\n");
    text_add(out, "int %s_params_init(struct %s_params *params, uint64_t seed, void *storage);\n", name, name);
    text_add(
        out,
        "/* Bytes of workspace, to be aligned to 64, for a problem%s; they depend on the threads%s. With threads = 0 they serve one for\n"
        "   each processor, or OpenMP's default if that is more, and _forward takes no more than they serve, whatever OpenMP is set to by then. Put them into\n"
        "   problem->workspace_bytes, and _forward checks that they are enough. Of NULL: 0. */\n",
        by_length(p->version, p->versions) ? " and every one with fewer keys" : "", by_length(p->version, p->versions) ? "" : ", not on the lengths");
    text_add(out, "size_t %s_workspace(const struct attn_problem *problem);\n", name);
    text_add(out, "/* Returns 0 or a negative ATTN_E…; attn_strerror explains. Allocates nothing; the result does not depend on the number of threads. */\n");
    text_add(out, "int %s_forward(const struct attn_problem *problem, const struct %s_params *params, const %s *q, const %s *k, const %s *v,\n", name, name,
             stored, stored, stored);
    text_add(out, "    %s *out, void *workspace);\n", stored);
    text_add(out, "extern const struct attn_kernel %s_kernel;\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", name);
}

/* ---- NAME.c ---- */

/* What one file has: the code of all targets of a product, or of one. */
struct emission {
    const struct product *p;
    const struct compilation *const *c;
    const struct version *version;
    int compilations, versions;
    const char *command;
};

/* Whether some products need the processor's own instructions. */
static bool any_paired(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (loops_paired(c[k]->loops)) return true;
    return false;
}

static bool any_in_phases(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (emit_in_phases(c[k]->loops)) return true;
    return false;
}

static bool any_apart(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (emit_tasks_apart(c[k]->loops) > 1) return true;
    return false;
}

static const char bf16_functions[] = "/* bf16 is the upper half of a float. */\n"
                                     "union bits { uint32_t bits; float value; };\n"
                                     "INLINE float widened(uint16_t x) { return (union bits){(uint32_t)x << 16}.value; }\n"
                                     "INLINE uint16_t narrowed(float value) /* to the nearest, of two as near to the even one; NaN stays */\n"
                                     "{\n"
                                     "    const uint32_t x = (union bits){.value = value}.bits;\n"
                                     "    return (uint16_t)((value != value ? x | 0x400000 : x + 0x7fff + (x >> 16 & 1)) >> 16);\n"
                                     "}\n\n";
static const char f16_functions[] = "/* f16 has 5 bits of exponent and 10 of fraction. */\n"
                                    "union bits { uint32_t bits; float value; };\n"
                                    "INLINE float widened(uint16_t half)\n"
                                    "{\n"
                                    "    const uint32_t x = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;\n"
                                    "    union bits made = {x + (113u << 23)}; /* below the least exponent: without a leading one */\n"
                                    "    made.value -= 0x1p-14f;\n"
                                    "    if (x >= 0x00800000) made.bits = x + (112u << 23) + (x >= 0x0f800000 ? 112u << 23 : 0); /* infinity and NaN stay */\n"
                                    "    made.bits |= sign;\n"
                                    "    return made.value;\n"
                                    "}\n"
                                    "INLINE uint16_t narrowed(float value) /* to the nearest, of two as near to the even one; NaN stays */\n"
                                    "{\n"
                                    "    const union bits given = {.value = value}, size = {given.bits & 0x7fffffff}, tiny = {.value = size.value + 0.5f};\n"
                                    "    uint32_t x = (size.bits - (112u << 23) + 0xfff + (size.bits >> 13 & 1)) >> 13;\n"
                                    "    if (size.bits < 113u << 23) x = tiny.bits - (126u << 23); /* below the least exponent; the sum has rounded it */\n"
                                    "    if (size.bits >= 0x477ff000) x = 0x7c00; /* 65520 and more: infinity */\n"
                                    "    if (value != value) x = 0x7e00;\n"
                                    "    return (uint16_t)(x | (given.bits >> 16 & 0x8000));\n"
                                    "}\n\n";

/* How many compilations from the first on are for its target. */
static int same_target(const struct compilation *const *c, int compilations)
{
    int count = 1;
    while (count < compilations && c[count]->target == c[0]->target) count++;
    return count;
}

/* How many versions from the first on are for its target. */
static int same_versions(const struct version *v, int versions)
{
    int count = 1;
    while (count < versions && v[count].c->target == v[0].c->target) count++;
    return count;
}

/* From how many keys on the last target takes the linear form, however many there are; 0: from none, or from the first on. */
static int64_t linear_from(const struct emission *e)
{
    int64_t from = 0;
    for (int k = 0; k < e->versions; k++) {
        const struct version *v = &e->version[k];
        if (v->c->target != e->version[e->versions - 1].c->target) continue;
        if (!v->c->linear)
            from = 0;
        else if (!from)
            from = v->from;
    }
    return from;
}

/* For which keys a compilation is taken, where the schedule has several entries: ", from 1 to 4095 keys and from 8192 keys on". */
static void lengths_of(const struct emission *e, const struct compilation *c, struct text *out)
{
    const char *before = ",";
    for (int k = 0; k < e->versions; k++) {
        if (e->version[k].c != c) continue;
        const bool last = k + 1 == e->versions || e->version[k + 1].c->target != c->target;
        text_add(out, "%s from %lld", before, (long long)(e->version[k].from ? e->version[k].from : 1));
        if (last)
            text_add(out, " keys on");
        else
            text_add(out, " to %lld keys", (long long)e->version[k + 1].from - 1);
        before = " and";
    }
}

/* The comment on top. */
static void heading(const struct emission *e, struct text *out)
{
    const struct compilation *const *c = e->c;
    const struct spec *spec = c[0]->spec;
    struct arena *arena = c[0]->graph->module->arena;
    text_add(out, "/* %s.c, made by attnc %s: %s\n   C11 with GNU extensions, for a C compiler; C++ includes %s.h.\n", spec->name, ATTNC_VERSION,
             harmless(arena, e->command), spec->name);
    if (*spec->description) comment_text(arena, out, spec->description, 3);
    text_add(out, "\n   What it computes, over axes b (batch), g (key/value head), m (query head of g), i (query), j (key):\n");
    struct text graph = {0};
    graph_print(c[0]->meaning, &graph);
    comment_text(arena, out, graph.data, 5);
    text_free(&graph);
    text_add(out,
             "\n   How: a tile of queries, one to a lane, meets the keys tile by tile, so that sums over keys and the running maximum need no step across\n"
             "   lanes. Sums over a tile of keys start from zero and are added to what came before. Keys no query of the tile sees are skipped.\n");
    const int64_t from = linear_from(e);
    for (int k = 0; k < e->compilations; k++)
        if (c[k]->features) {
            text_add(out,
                     "   Linear%s: the weight is an inner product of %lld features, whose sum over keys is a state of %lld x %lld numbers that queries meet.\n",
                     from ? arena_printf(arena, " from %lld keys on", (long long)from) : "", (long long)c[k]->features, (long long)c[k]->features,
                     (long long)spec->value_dim + 1);
            break;
        }
    for (int k = 0; k < e->compilations; k++) {
        text_add(out, "     %-10s %-9s%s tiles of %lld queries and %lld keys; %lld bytes of workspace a thread", c[k]->target->name,
                 c[k]->linear ? "linear" : "quadratic", loops_paired(c[k]->loops) ? " with products of bf16," : "", (long long)c[k]->tile_q,
                 (long long)c[k]->tile_k, (long long)loops_bytes(c[k]->loops));
        if (spec->schedules > 1) lengths_of(e, c[k], out);
        text_add(out, "\n");
    }
    text_add(out, "   Compile with: cc -O2 -fopenmp %s.c …%s -lm */\n", spec->name, e->p->standalone ? "" : " -lattnrt");
}

/* Standalone, the header stands in the source, so that it needs no other file. */
static void includes(const struct emission *e, struct text *out)
{
    const char *const name = e->p->spec->name;
    text_add(out, "#ifdef __cplusplus\n#error \"%s.c is C, not C++: a C compiler has to compile it\"\n#endif\n", name);
    if (e->p->standalone)
        emit_header(e->p, e->command, out);
    else
        text_add(out, "#include \"%s.h\"\n", name);
    text_add(out, "\n#include <float.h>\n#include <math.h>\n#include <stdlib.h>\n#ifdef _OPENMP\n#include <omp.h>\n#endif\n%s\n",
             any_paired(e->c, e->compilations) ? "#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n" : "");
}

static void preamble(const struct compilation *const *c, int compilations, struct text *out)
{
    const struct spec *spec = c[0]->spec;
    text_add(out, "#define INLINE static inline __attribute__((always_inline, unused))\n"
                  "#define APART static __attribute__((noinline))\n"
                  "#define UNROLL _Pragma(\"GCC unroll 16\")\n"
                  "#if defined(__GNUC__) && !defined(__clang__)\n"
                  "#pragma GCC optimize(\"fp-contract=fast\") /* a * b + c is one operation, also under -std=c11 */\n"
                  "#pragma GCC optimize(\"no-schedule-insns\") /* before registers are given out it would load too far ahead, and spill */\n"
                  "#endif\n\n");
    text_add(
        out,
        "struct call { /* what every thread needs to know */\n    struct attn_problem p;\n    const struct %s_params *params;\n    const %s *q, *k, *v;\n    %s *out;\n};\n\n",
        spec->name, emit_stored(spec->dtype), emit_stored(spec->dtype));
    if (any_in_phases(c, compilations))
        text_add(out, "struct part { /* of a thread in the work on a head */\n"
                      "    int64_t number, threads; /* it is thread `number` of these */\n"
                      "    int64_t chunk0, chunk1, window; /* the chunks in their hands, and the most of them */\n"
                      "    unsigned char *work, *shared, *slots; /* a thread's own memory; that of all of them; that of these chunks */\n};\n\n"
                      "/* Waits for the others. */\n"
                      "INLINE void meet(const struct part *part)\n{\n#ifdef _OPENMP\n    if (part->threads > 1) {\n#pragma omp barrier\n    }\n#else\n"
                      "    (void)part;\n#endif\n}\n\n");
    text_add(out, "INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }\n"
                  "INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }\n"
                  "INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }\n"
                  "INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a %% b + b) %% b; }\n\n");
    if (spec->dtype == DTYPE_BF16) text_add(out, "%s", bf16_functions);
    if (spec->dtype == DTYPE_F16) text_add(out, "%s", f16_functions);
    if (ids_of(c[0]->meaning)) text_add(out, "%s", emit_ids_functions);
}

/* `used`: by some target's code wherever this is compiled. */
static void tables(const struct compilation *c, bool used, struct text *out)
{
    for (int a = 0; a < c->loops->arrays; a++) {
        const struct array *array = &c->loops->array[a];
        if (array->kind != ARRAY_TABLE) continue;
        int64_t n = 1;
        for (int k = 0; k < array->rank; k++) n *= c->loops->module->axis[array->axes[k]].extent;
        text_add(out, "static const double %s%s[%lld] = {", used ? "" : "__attribute__((unused)) ", emit_name(c->loops->module->arena, array->name),
                 (long long)n);
        for (int64_t k = 0; k < n; k++) text_add(out, "%s%s%.17g", k ? "," : "", k % 6 == 0 ? "\n    " : " ", array->data[k]);
        text_add(out, "};\n\n");
    }
}

static bool keeps_rest(const struct stmt *s)
{
    for (; s; s = s->next) {
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].rest) return true;
        if (keeps_rest(s->body)) return true;
    }
    return false;
}

/* Compiled and run on every machine. */
static bool certain_target(const struct target *t)
{
    return !*t->guard && !*t->supported;
}

/* Where the code for the k-th compilation's target is compiled: not where one before it is always chosen. */
static const char *guard_of(const struct compilation *const *c, int k)
{
    const char *guard = c[k]->target->guard;
    for (int n = 0; n < k; n++) {
        const struct target *better = c[n]->target;
        if (better == c[k]->target || *better->supported || strstr(guard, better->guard)) continue;
        guard = arena_printf(c[k]->graph->module->arena, "%s%s!%s", guard, *guard ? " && " : "", better->guard);
    }
    return guard;
}

/* The compilations of a target with one register block: their functions, after the vector functions that they share. */
static void one_block(const struct compilation *const *c, int count, const char *guard, struct text *out)
{
    const struct target *t = c[0]->target;
    int element = dtype_bytes(dtype_of_sums(c[0]->spec->dtype));
    struct text rows = {0};
    struct product_function *products = NULL;
    struct emitter shared = {.c = c[0],
                             .l = c[0]->loops,
                             .m = c[0]->loops->module,
                             .suffix = emit_suffix(c[0]),
                             .real = emit_real(c[0]->spec->dtype),
                             .lanes = t->vector_bytes / element,
                             .vectors = c[0]->vectors,
                             .rows = c[0]->rows,
                             .products = &products,
                             .out = out};
    for (int k = 0; k < count; k++) shared.compensated |= keeps_rest(c[k]->loops->body);
    for (int k = 0; k < count; k++) {
        struct emitter x = shared;
        x.c = c[k];
        x.l = c[k]->loops;
        x.m = c[k]->loops->module;
        x.unroll = c[k]->unroll;
        if (k) text_add(&rows, "\n");
        emit_tasks(&x, &rows);
        if (x.region_keys > shared.region_keys) shared.region_keys = x.region_keys;
        if (x.region_pairs > shared.region_pairs) shared.region_pairs = x.region_pairs;
    }
    text_add(out, "/* ==== %s%s%s ==== */\n", t->name, target_features_text(shared.m->arena, t),
             strcmp(shared.suffix, t->suffix) != 0 ? arena_printf(shared.m->arena, ", blocks of %d rows and %d vectors", c[0]->rows, c[0]->vectors) : "");
    if (*guard) text_add(out, "#if %s\n", guard);
    if (*t->attribute) text_add(out, "#define TARGET_%s __attribute__((target(\"%s\")))\n", shared.suffix, t->attribute);
    struct text code = {0};
    emit_products(&shared, &code);
    text_append(&code, rows.data, rows.length);
    emit_vector_functions(&shared, code.data, out);
    text_add(out, "\n");
    text_append(out, code.data, code.length);
    text_free(&code);
    if (*guard) text_add(out, "#endif\n");
    text_add(out, "\n");
    text_free(&rows);
}

/* The compilations of one target, block by block. */
static void one_target(const struct compilation *const *c, int count, const char *guard, struct text *out)
{
    const struct compilation *block[MAX_COMPILATIONS];
    for (int k = 0; k < count; k++) {
        int members = 0;
        bool before = false;
        for (int n = 0; n < count; n++) {
            if (strcmp(emit_suffix(c[n]), emit_suffix(c[k])) != 0) continue;
            before |= n < k;
            block[members++] = c[n];
        }
        if (!before) one_block(block, members, guard, out);
    }
}

/* The versions of one target, the one for the longest sequences first. */
static void returns(const struct version *v, int count, int deeper, bool phases, bool apart, struct text *out)
{
    for (int n = count - 1; n >= 0; n--) {
        const struct compilation *c = v[n].c;
        const struct loops *l = c->loops;
        text_add(out, "%*s    ", deeper, "");
        if (n > 0) text_add(out, "if (n_k >= %lld) ", (long long)v[n].from);
        text_add(out, "return (struct version){.%s = %s, .tile = %lld, .own = %lld", emit_in_phases(l) ? "head" : "rows", emit_function(c, emit_form(c)),
                 (long long)emit_tasks_of(l), (long long)l->workspace);
        if (apart) text_add(out, ", .apart = %lld", (long long)emit_tasks_apart(l));
        if (emit_in_phases(l))
            text_add(out, ", .shared = %lld, .slot = %lld, .slots = %lld", (long long)l->shared, (long long)l->slot, (long long)loops_slots(l));
        if (phases && emit_in_phases(l)) text_add(out, ", .together = %d", v[n].together);
        text_add(out, "};\n");
    }
}

static void choice(const struct emission *e, struct text *out)
{
    const bool phases = any_in_phases(e->c, e->compilations), apart = any_apart(e->c, e->compilations);
    text_add(out, "/* ==== which of them this machine runs ==== */\nstruct version {\n    void (*rows)(const struct call *, int64_t, unsigned char *);\n");
    if (phases) text_add(out, "    void (*head)(const struct call *, int64_t, struct part *); /* instead of rows */\n");
    text_add(out, "    int64_t tile; /* queries of a task; 0: all of a key/value head, -1: all of a query head */\n"
                  "    size_t own;   /* bytes of workspace a thread */\n");
    if (apart) text_add(out, "    int64_t apart; /* the queries of a task are so many positions apart */\n");
    if (phases)
        text_add(out, "    size_t shared, slot, slots; /* of the threads on a head, for every chunk of a window, and how many of these a thread brings */\n"
                      "    int together; /* heads that all threads work on together, 0: none, 1: those that are left over, 2: all */\n");
    bool used = true, any = false, certain = false;
    for (int k = 0, count; k < e->versions; k += count) {
        count = same_versions(e->version + k, e->versions - k);
        used &= count > 1;
        any |= count > 1;
    }
    text_add(out, "};\n\n%sstatic struct version version(int64_t n_k)\n{\n%s",
             !any                    ? ""
             : e->p->spec->schedules ? "/* By the number of keys, as the schedule says. */\n"
                                     : "/* By the number of keys: with more the linear form takes less work. */\n",
             used ? "" : "    (void)n_k;\n");
    for (int k = 0, compilation = 0, count; k < e->versions && !certain; k += count) {
        const struct target *m = e->version[k].c->target;
        count = same_versions(e->version + k, e->versions - k);
        const char *guard = guard_of(e->c, compilation);
        if (*guard) text_add(out, "#if %s\n", guard);
        if (*m->supported) text_add(out, "    if (%s)%s\n", m->supported, count > 1 ? " {" : "");
        returns(e->version + k, count, *m->supported ? 4 : 0, phases, apart, out);
        if (*m->supported && count > 1) text_add(out, "    }\n");
        if (*guard) text_add(out, "#endif\n");
        certain = certain_target(m);
        compilation += same_target(e->c + compilation, e->compilations - compilation);
    }
    if (!certain) text_add(out, "%s    return (struct version){.tile = 1%s};\n", used ? "    (void)n_k;\n" : "", apart ? ", .apart = 1" : "");
    text_add(out, "}\n\nstatic size_t bytes_a_thread(const struct version *v)\n{\n    return v->own%s;\n}\n\n",
             phases ? " + v->shared + v->slots * v->slot" : "");
}

/* NAME_params_size and NAME_params_init: every random array at a multiple of 64 bytes, then what making the orthogonal ones takes. */
static void params_functions(const struct compilation *c, struct text *out)
{
    const struct graph *g = c->meaning;
    struct arena *arena = g->module->arena;
    const char *name = c->spec->name, *real = emit_real(c->spec->dtype);
    const enum dtype made_in = dtype_of_sums(c->spec->dtype);
    const int64_t element = dtype_bytes(made_in);
    int64_t arrays = 0, at = 0;
    const char *work = NULL;
    struct text made = {0};
    for (int v = 0; v < g->values; v++)
        if (g->value[v].op == GRAPH_PARAM && g->value[v].origin != ORIGIN_LEARNED) arrays += (param_elements(g, &g->value[v]) * element + 63) / 64 * 64;
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        if (value->op != GRAPH_PARAM || value->origin == ORIGIN_LEARNED) continue;
        const char *field = emit_name(arena, value->name), *shape = NULL;
        for (int k = 0; k < value->rank; k++) {
            long long extent = (long long)g->module->axis[value->axes[k]].extent;
            shape = shape ? arena_printf(arena, "%s%s%lld", shape, value->origin == ORIGIN_NORMAL ? " * " : ", ", extent) : arena_printf(arena, "%lld", extent);
        }
        if (!shape) shape = "1";
        text_add(&made, "    %s *const %s = (%s *)(void *)(bytes + %lld);\n", real, field, real, (long long)at);
        switch (value->origin) {
        case ORIGIN_LEARNED: break;
        case ORIGIN_NORMAL:
            text_add(&made, "    attn_normal_%s(seed, attn_stream(\"%s\"), 0, %s, %s);\n", dtype_name(made_in), value->name, shape, field);
            break;
        case ORIGIN_ORTHOGONAL: {
            const char *one = arena_printf(arena, "attn_orthogonal_work(%s)", shape);
            work = work ? arena_printf(arena, "most_bytes(%s, %s)", work, one) : one;
            text_add(&made, "    attn_orthogonal_%s(seed, attn_stream(\"%s\"), %s, %s, bytes + %lld);\n", dtype_name(made_in), value->name, shape, field,
                     (long long)arrays);
            break;
        }
        }
        text_add(&made, "    params->%s = %s;\n", field, field);
        at += (param_elements(g, value) * element + 63) / 64 * 64;
    }
    if (work && strstr(work, "most_bytes")) text_add(out, "static size_t most_bytes(size_t a, size_t b)\n{\n    return a > b ? a : b;\n}\n\n");
    text_add(out, "size_t %s_params_size(void)\n{\n    return %lld%s%s;\n}\n\n", name, (long long)arrays, work ? " + " : "", work ? work : "");
    text_add(out, "int %s_params_init(struct %s_params *params, uint64_t seed, void *storage)\n{\n", name, name);
    if (made.length)
        text_add(out, "    if (!params || !storage) return ATTN_EPOINTER;\n    if ((uintptr_t)storage %% 64) return ATTN_EALIGN;\n"
                      "    unsigned char *const bytes = (unsigned char *)storage;\n");
    else
        text_add(out, "    (void)seed;\n    (void)storage;\n    if (!params) return ATTN_EPOINTER;\n");
    text_add(out, "    *params = (struct %s_params){0};\n%s    return 0;\n}\n\n", name, made.length ? made.data : "");
    text_free(&made);
}

/* The runtime's name of a storage type. */
static const char *described(enum dtype dtype)
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

/* One workspace serves a sequence while it grows and shrinks, so what fewer keys take counts, too. */
static void most_bytes(const struct emission *e, struct text *out)
{
    struct text from = {0};
    for (int k = 0; k < e->versions; k++) {
        bool before = e->version[k].from == 0;
        for (int n = 0; n < k; n++) before |= e->version[n].from == e->version[k].from;
        if (!before) text_add(&from, ", %lld", (long long)e->version[k].from);
    }
    text_add(out,
             "/* Of what runs for so many keys, or for fewer. */\nstatic size_t most_bytes_a_thread(int64_t n_k)\n{\n"
             "    static const int64_t from[] = {0%s};\n    size_t bytes = 0;\n"
             "    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {\n"
             "        const struct version v = version(from[k]);\n"
             "        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);\n    }\n    return bytes;\n}\n\n",
             from.data ? from.data : "");
    text_free(&from);
}

static void entry_points(const struct emission *e, struct text *out)
{
    const struct compilation *c = e->c[0];
    const bool phases = any_in_phases(e->c, e->compilations), lengths = by_length(e->version, e->versions);
    const char *name = c->spec->name, *stored = emit_stored(c->spec->dtype);
    const struct graph *g = c->meaning;
    int params = param_count(g);
    long long D = (long long)c->spec->head_dim, E = (long long)c->spec->value_dim;
    text_add(
        out,
        "/* ==== the interface ==== */\n"
        "/* OpenMP's default may change between the call of _workspace and that of _forward, or be another in the thread that makes it. So the workspace serves\n"
        "   at least as many threads as there are processors, and what it is not known to serve more than that is not run on more. */\n"
        "static size_t threads_served(const struct attn_problem *p)\n{\n    if (p->threads > 0) return (size_t)p->threads;\n"
        "#ifdef _OPENMP\n    return (size_t)most(omp_get_max_threads(), omp_get_num_procs());\n#else\n    return 1;\n#endif\n}\n\n"
        "static int thread_count(const struct attn_problem *p, size_t bytes_a_thread)\n{\n    if (p->threads > 0) return p->threads;\n"
        "#ifdef _OPENMP\n    const int64_t served = (int64_t)(p->workspace_bytes / bytes_a_thread);\n"
        "    return (int)least(omp_get_max_threads(), most(omp_get_num_procs(), served));\n#else\n    (void)bytes_a_thread;\n    return 1;\n#endif\n}\n\n");
    if (phases)
        text_add(out, "/* The part of thread `number` of `there` in what they do together, in the workspace of the `threads` that were asked for. */\n"
                      "static void together(const struct version *v, int threads, int number, int there, unsigned char *workspace, struct part *part)\n{\n"
                      "    const size_t all = (size_t)threads;\n"
                      "    part->number = number;\n    part->threads = there;\n"
                      "    part->work = workspace + (size_t)number * v->own;\n"
                      "    part->shared = workspace + all * v->own;\n"
                      "    part->slots = part->shared + v->shared;\n"
                      "    part->window = (int64_t)(((all - 1) * v->shared + all * v->slots * v->slot) / v->slot) / part->threads * part->threads;\n}\n\n");
    const char *ids = phases ? ids_of(g) : NULL;
    if (ids)
        text_add(out, "/* The state is carried from key to key, so keys of one id have to stand together: in each batch ids never fall. */\n"
                      "static int ids_fall(const int32_t *id, int64_t batch, int64_t n)\n{\n    for (int64_t b = 0; b < batch; b++, id += n)\n"
                      "        for (int64_t x = 1; x < n; x++)\n            if (id[x] < id[x - 1]) return 1;\n    return 0;\n}\n\n");
    params_functions(c, out);
    if (lengths) most_bytes(e, out);
    text_add(out, "size_t %s_workspace(const struct attn_problem *problem)\n{\n    if (!problem) return 0;\n%sthreads_served(problem);\n}\n\n", name,
             lengths ? "    return most_bytes_a_thread(problem->n_k) * "
                     : "    const struct version this = version(problem->n_k);\n    return bytes_a_thread(&this) * ");
    text_add(
        out,
        "int %s_forward(const struct attn_problem *problem, const struct %s_params *params, const %s *q, const %s *k, const %s *v,\n    %s *out, void *workspace)\n{\n",
        name, name, stored, stored, stored, stored);
    text_add(out, "    if (!problem) return ATTN_EPOINTER;\n    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};\n");
    text_add(out, "    const int error = attn_problem_check(problem, %lld, %lld, &call.p);\n    if (error) return error;\n", D, E);
    text_add(out, "    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;\n");
    text_add(out, "    if (!q || !out || !workspace || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;\n");
    if (params) {
        text_add(out, "    if (!params");
        for (int v = 0; v < g->values; v++)
            if (g->value[v].op == GRAPH_PARAM) text_add(out, " || !params->%s", emit_name(g->module->arena, g->value[v].name));
        text_add(out, ") return ATTN_EPARAM;\n");
    }
    text_add(out, "    if ((uintptr_t)workspace %% 64) return ATTN_EALIGN;\n");
    text_add(out,
             "    const struct version this = version(call.p.n_k);\n    if (%s) return ATTN_EMACHINE;\n"
             "    const size_t bytes = bytes_a_thread(&this), given = problem->workspace_bytes%s;\n"
             "    const int threads = thread_count(problem, %s);\n"
             "    if (given && given < %s * (size_t)threads) return ATTN_EWORKSPACE;\n"
             "    const int64_t heads = this.tile == 0 ? call.p.kv_heads : call.p.heads;\n"
             "%s",
             phases ? "!this.rows && !this.head" : "!this.rows", lengths ? ", most_bytes = most_bytes_a_thread(call.p.n_k)" : "",
             lengths ? "most_bytes" : "bytes", lengths ? "most_bytes" : "bytes",
             any_apart(e->c, e->compilations)
                 ? "    const int64_t far = this.tile * this.apart; /* from the first query of a task to that of the next with the same remainder */\n"
                   "    const int64_t tasks = call.p.batch * heads * (far > 0 ? (call.p.n_q + far - 1) / far * this.apart : 1);\n"
                 : "    const int64_t tasks = call.p.batch * heads * (this.tile > 0 ? (call.p.n_q + this.tile - 1) / this.tile : 1);\n");
    if (ids) text_add(out, "    if (this.head && ids_fall(params->%s, call.p.batch, call.p.n_k)) return ATTN_EORDER;\n", emit_name(g->module->arena, ids));
    if (phases)
        text_add(out, "    int64_t alone = tasks; /* the heads after these are all threads' together */\n"
                      "    if (this.head && this.together) alone = this.together > 1 ? 0 : tasks / threads * threads;\n");
    text_add(out,
             "    int there = 0; /* threads number themselves: omp_get_thread_num may be of another OpenMP library than this region */\n"
             "#ifdef _OPENMP\n#pragma omp parallel num_threads(threads)\n#endif\n    {\n"
             "        int number;\n#ifdef _OPENMP\n#pragma omp atomic capture\n#endif\n        number = there++;\n"
             "        unsigned char *const work = (unsigned char *)workspace + (size_t)number * bytes;\n%s"
             "#ifdef _OPENMP\n#pragma omp for schedule(dynamic)\n#endif\n",
             phases
                 ? "        struct part part = {.threads = 1, .window = 1, .work = work, .shared = work + this.own, .slots = work + this.own + this.shared};\n"
                 : "");
    if (phases)
        text_add(out, "        for (int64_t task = 0; task < alone; task++) {\n            if (this.head)\n                this.head(&call, task, &part);\n"
                      "            else\n                this.rows(&call, task, work);\n        }\n"
                      "        if (alone < tasks) together(&this, threads, number, there, (unsigned char *)workspace, &part);\n"
                      "        for (int64_t task = alone; task < tasks; task++) this.head(&call, task, &part);\n");
    else
        text_add(out, "        for (int64_t task = 0; task < tasks; task++) this.rows(&call, task, work);\n");
    text_add(out, "    }\n    return 0;\n}\n\n");
    /* the description, with entry points that take any pointer; their names end in nothing that follows a spec's name */
    if (params) {
        text_add(out, "static const struct attn_param param[] = {\n");
        for (int v = 0; v < g->values; v++) {
            if (g->value[v].op != GRAPH_PARAM) continue;
            const char *shape[MAX_RANK] = {NULL}, *said[MAX_RANK] = {NULL};
            int rank = param_shape(g, &g->value[v], shape, said);
            text_add(out, "    {\"%s\", %s, %d, {", g->value[v].name, g->value[v].integers ? "ATTN_I32" : described(dtype_of_sums(c->spec->dtype)), rank);
            for (int k = 0; k < rank; k++) text_add(out, "%s%s", k ? ", " : "", shape[k]);
            text_add(out, "}, offsetof(struct %s_params, %s), %d},\n", name, emit_name(g->module->arena, g->value[v].name),
                     g->value[v].origin != ORIGIN_LEARNED);
        }
        text_add(out, "};\n\n");
    }
    text_add(
        out,
        "static int params_init_any(void *params, uint64_t seed, void *storage)\n{\n    return %s_params_init((struct %s_params *)params, seed, storage);\n}\n\n",
        name, name);
    text_add(
        out,
        "static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v, void *out, void *workspace)\n{\n"
        "    return %s_forward(problem, (const struct %s_params *)params, (const %s *)q, (const %s *)k, (const %s *)v, (%s *)out, workspace);\n}\n\n",
        name, name, stored, stored, stored, stored);
    text_add(
        out,
        "const struct attn_kernel %s_kernel = {\n    .name = \"%s\", .version = \"%s\", .dtype = %s, .head_dim = %lld, .value_dim = %lld,\n"
        "    .params = %d, .param = %s, .params_bytes = sizeof(struct %s_params),\n    .params_size = %s_params_size, .params_init = params_init_any, .workspace = %s_workspace, .forward = forward_any,\n};\n",
        name, name, ATTNC_VERSION, described(c->spec->dtype), D, E, params, params ? "param" : "NULL", name, name, name);
}

void emit_source(const struct product *p, const struct target *only, const char *command, struct text *file)
{
    const struct compilation *c[MAX_COMPILATIONS];
    struct version version[MAX_COMPILATIONS];
    int compilations = 0, versions = 0;
    for (int k = 0; k < p->compilations; k++)
        if (!only || p->compilation[k]->target == only) c[compilations++] = p->compilation[k];
    for (int k = 0; k < p->versions; k++)
        if (!only || p->version[k].c->target == only) version[versions++] = p->version[k];
    const struct emission emission = {p, c, version, compilations, versions, command}, *const e = &emission;
    struct text code = {0}, *const out = &code;
    heading(e, file);
    includes(e, file);
    preamble(c, compilations, out);
    bool certain = false;
    for (int k = 0; k < compilations; k++) certain |= certain_target(c[k]->target);
    tables(c[0], certain, out);
    for (int k = 0, count; k < compilations; k += count) {
        count = same_target(c + k, compilations - k);
        one_target(c + k, count, guard_of(c, k), out);
    }
    choice(e, out);
    entry_points(e, out);
    if (p->standalone) standalone_functions(c[0]->graph->module->arena, code.data, file);
    text_append(file, code.data, code.length);
    text_free(&code);
}
