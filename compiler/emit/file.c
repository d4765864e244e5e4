/* Prints NAME.c: a section for every target, the functions that choose a version, and the entry points. */
#include "emit.h"
#include "printer.h"
#include "sections.h"
#include "tables.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

#include <string.h>

/* ---- NAME.c ---- */

/* Prints #error for C++, C89 and C without GNU extensions. The rest of the file is in the #else branch, so only one
   error is reported. Each branch has a declaration, because ISO C forbids an empty file. */
static void refuse_other_languages(const char *name, struct text *out)
{
    text_add(out,
             "#ifdef __cplusplus\n#error \"%s.c is C, not C++: compile it with a C compiler\"\n"
             "#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L\n"
             "#error \"%s.c is C11, not C89: compile it without -std=, or with -std=gnu11\"\n"
             "extern int %s_is_c11;\n"
             "#elif !defined __GNUC__\n#error \"%s.c uses GNU C vector extensions: compile it with gcc or clang\"\n"
             "extern int %s_is_gnu_c;\n#else\n",
             name, name, name, name, name);
}

/* Prints the #include lines. A standalone file includes the text of NAME.h. */
static void includes(const struct emitted_file *e, struct text *out)
{
    const char *const name = e->p->spec->name;
    refuse_other_languages(name, out);
    if (e->p->standalone)
        emit_header(e->p, e->command, out);
    else
        text_add(out, "#include \"%s.h\"\n", name);
    text_add(out, "\n#include <float.h>\n#include <math.h>\n#include <stdlib.h>\n%s\n",
             emit_any(e->c, e->compilations, loops_on_matrix_units)
                 ? "#if defined(__x86_64__) && !defined(ATTN_EMULATE_TILES)\n#include <immintrin.h>\n#endif\n"
             : emit_any(e->c, e->compilations, loops_paired) ? "#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n"
                                                             : "");
}

/* Returns whether regions of the kernel read integers, flags or reals of the caller. */
static bool reads_masks(const struct kernel_arrays *arrays)
{
    bool reads = false;
    for (int k = 0; k < arrays->count; k++)
        reads |= (arrays->array[k].place == PLACE_PARAMS || arrays->array[k].dtype == DTYPE_I32) &&
                 (dtype_is_integer(arrays->array[k].dtype) || arrays->array[k].hides);
    return reads;
}

/* Prints the #include lines of what all targets share, and the numbers of arrays. */
static void preamble(const struct emitted_file *e, const struct table_arrays *arrays, struct text *out)
{
    const struct {
        const char *header;
        bool wanted;
    } headers[] = {{"optimize", true},
                   {"call", true},
                   {"masks", reads_masks(e->p->arrays)},
                   {"mask_tiles", emit_has_tiled(e->p->arrays)},
                   {"pages", e->p->paged},
                   {"gather", emit_any(e->c, e->compilations, loops_gather)},
                   {"remembered", emit_remembered_rank(e->c, e->compilations) > 0},
                   {"tiles", emit_any(e->c, e->compilations, loops_on_matrix_units)}};
    for (size_t k = 0; k < sizeof headers / sizeof *headers; k++)
        if (headers[k].wanted) text_add(out, "#include <attnrt/kernel/%s.h>\n", headers[k].header);
    if (emit_any(e->c, e->compilations, loops_fade))
        text_add(out, "#define REAL %s\n#include <attnrt/kernel/fades.h>\n#undef REAL\n", emit_real(e->p->spec->dtype));
    text_add(out, "\n");
    table_enumerators(arrays, out);
}

/* Returns whether the compilation has a table of constants `name`. */
static bool has_table(const struct compilation *c, const char *name)
{
    for (int a = 0; a < c->loops->arrays; a++)
        if (c->loops->array[a].kind == ARRAY_TABLE && strcmp(c->loops->array[a].name, name) == 0) return true;
    return false;
}

/* Prints each table of constants once. */
static void tables(const struct compilation *const *all, int count, struct text *out)
{
    bool used = false; /* true if code for every machine uses the table */
    for (int k = 0; k < count; k++) used |= emit_certain_target(all[k]->target);
    for (int k = 0; k < count; k++) {
        const struct loops *const l = all[k]->loops;
        for (int a = 0; a < l->arrays; a++) {
            const struct array *const array = &l->array[a];
            bool there = array->kind != ARRAY_TABLE;
            for (int before = 0; before < k && !there; before++) there = has_table(all[before], array->name);
            if (there) continue;
            int64_t n = 1;
            for (int d = 0; d < array->rank; d++) n *= l->module->axis[array->axes[d]].extent;
            text_add(out, "static const double %s%s[%lld] = {", used ? "" : "__attribute__((unused)) ",
                     emit_name(l->module->arena, array->name), (long long)n);
            for (int64_t i = 0; i < n; i++)
                text_add(out, "%s%s%.17g", i ? "," : "", i % 6 == 0 ? "\n    " : " ", array->data[i]);
            text_add(out, "};\n\n");
        }
    }
}

static bool keeps_compensation(const struct stmt *s)
{
    for (; s; s = s->next) {
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].compensation) return true;
        if (keeps_compensation(s->body)) return true;
    }
    return false;
}

/* Makes the section of one target and register block. */
static struct section *one_block(const struct emission *p, const struct compilation *const *c, int count,
                                 const char *guard)
{
    struct arena *const arena = c[0]->graph->module->arena;
    const char *const real = emit_real(c[0]->spec->dtype);
    struct section *const s = arena_alloc(arena, sizeof *s);
    struct text *const out = &s->body;
    const struct target *t = c[0]->target;
    int element = dtype_bytes(dtype_of_sums(c[0]->spec->dtype));
    struct text rows = {0};
    struct product_function *products = NULL;
    struct emitter shared = {.c = c[0],
                             .emission = p,
                             .arrays = p->arrays,
                             .stores_chunks = emit_stores_chunks(p),
                             .l = c[0]->loops,
                             .m = c[0]->loops->module,
                             .suffix = emit_suffix(c[0]),
                             .real = real,
                             .input = arena_printf(arena, "const %s *", real),
                             .output = arena_printf(arena, "%s *", real),
                             .lanes = t->vector_bytes / element,
                             .vectors = c[0]->registers.vectors,
                             .rows = c[0]->registers.rows,
                             .products = &products,
                             .out = out};
    for (int k = 0; k < count; k++) shared.compensated |= keeps_compensation(c[k]->loops->body);
    for (int k = 0; k < count; k++) {
        struct emitter x = shared;
        x.c = c[k];
        x.l = c[k]->loops;
        x.outer = emit_carries_outer(p, c[k]);
        x.m = c[k]->loops->module;
        x.unroll = c[k]->registers.unroll;
        x.waits = emission_waits(p, c[k]);
        if (k) text_add(&rows, "\n");
        emit_tasks(&x, &rows);
        if (x.region_keys > shared.region_keys) shared.region_keys = x.region_keys;
        if (x.decayed_keys > shared.decayed_keys) shared.decayed_keys = x.decayed_keys;
        if (x.along_terms > shared.along_terms) shared.along_terms = x.along_terms;
        if (x.fetched_lanes > shared.fetched_lanes) shared.fetched_lanes = x.fetched_lanes;
        if (x.region_pairs > shared.region_pairs) shared.region_pairs = x.region_pairs;
        if (x.unit_depth > shared.unit_depth) shared.unit_depth = x.unit_depth;
    }
    s->title = arena_printf(shared.m->arena, "%s%s%s", t->name, target_features_text(shared.m->arena, t),
                            strcmp(shared.suffix, t->suffix) != 0
                                ? arena_printf(shared.m->arena, ", blocks of %d rows and %d vectors",
                                               c[0]->registers.rows, c[0]->registers.vectors)
                                : "");
    s->guard = guard;
    s->suffix = shared.suffix;
    s->lanes = shared.lanes;
    struct text code = {0};
    emit_products(&shared, &code);
    text_append(&code, rows.data, rows.length);
    emit_target_names(&shared, &s->head);
    emit_vector_functions(&shared, code.data, out);
    text_add(out, "\n");
    text_append(out, code.data, code.length);
    text_free(&code);
    text_free(&rows);
    return s;
}

/* Adds the sections of a target: one for each register block. Returns the number of sections. */
static int one_target(const struct emission *p, const struct compilation *const *c, int count, const char *guard,
                      struct section **section, int sections)
{
    const struct compilation *block[MAX_EMITTED];
    for (int k = 0; k < count; k++) {
        int members = 0;
        bool before = false;
        for (int n = 0; n < count; n++) {
            if (strcmp(emit_suffix(c[n]), emit_suffix(c[k])) != 0) continue;
            before |= n < k;
            block[members++] = c[n];
        }
        if (!before) section[sections++] = one_block(p, block, members, guard);
    }
    return sections;
}

/* Prints the names of each section before the lines that include its code. If there is only one, its code follows its
   names. */
static void print_sections(const struct emitted_file *e, struct section *const *s, int sections, const char *only,
                           struct text *out)
{
    struct arena *const arena = e->c[0]->graph->module->arena;
    const char *names = "";
    for (int x = 0; x < sections; x++) names = arena_printf(arena, "%s%s%s", names, x ? ", " : "", s[x]->suffix);
    if (sections > 1)
        text_add(out,
                 "#ifdef __FILE_NAME__\n#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */\n"
                 "#else\n#define LOOPS \"%s.c\"\n#endif\n\n",
                 e->p->spec->name);
    for (int x = 0; x < sections; x++) {
        text_add(out, "/* ==== %s ==== */\n", s[x]->title);
        if (*s[x]->guard) text_add(out, "#if %s\n", s[x]->guard);
        text_append(out, s[x]->head.data, s[x]->head.length);
        if (sections > 1)
            text_add(
                out,
                "#define OF(%s) %s /* a number of each target */\n#define SECTION\n#include LOOPS\n#undef SECTION\n",
                names, s[x]->suffix);
        else
            text_add(out, "%s", only);
        if (*s[x]->guard) text_add(out, "#endif\n");
        text_add(out, "\n");
        text_free(&s[x]->head);
        text_free(&s[x]->body);
    }
}

void emit_source(const struct emission *p, const struct target *only, const char *command, struct text *file)
{
    const struct compilation *c[MAX_EMITTED];
    struct version version[MAX_COMPILATIONS];
    int compilations = 0, versions = 0;
    for (int k = 0; k < p->compilations; k++) {
        const struct target *t = p->compilation[k]->target;
        if (only && t != only) continue;
        c[compilations++] = p->compilation[k];
        if (k + 1 < p->compilations && p->compilation[k + 1]->target == t) continue;
        for (int step = 0; step < STEPS; step++) compilations = versions_code(&p->of[step], t, c, compilations);
    }
    for (const struct version *v = NULL; versions_next(&p->of[STEP_FORWARD], &v);)
        if (!only || v->target == only) version[versions++] = *v;
    const struct emitted_file emission = {p, c, version, compilations, versions, command}, *const e = &emission;
    struct arena *const arena = c[0]->graph->module->arena;
    struct table_arrays *const arrays = arena_alloc(arena, sizeof *arrays);
    struct section *section[MAX_SECTIONS];
    struct text loops = {0}, code = {0};
    int sections = 0;
    table_arrays(arrays, e);
    for (int k = 0, count; k < compilations; k += count) {
        count = emit_same_target(c + k, compilations - k);
        sections = one_target(p, c + k, count, emit_guard(c, k), section, sections);
    }
    sections_print(arena, (const struct section *const *)section, sections, &loops);
    text_add(&loops, "#include <attnrt/kernel/end.h>\n");
    preamble(e, arrays, &code);
    tables(c, compilations, &code);
    print_sections(e, section, sections, loops.data, &code);
    emit_entry_points(e, arrays, &code);
    if (p->standalone) {
        struct text kernel = {0}, pasted = {0};
        standalone_paste(code.data, sections > 1 ? loops.data : "", &kernel, &pasted);
        text_free(&code);
        text_free(&loops);
        code = kernel;
        loops = pasted;
    }
    emit_heading(e, file);
    if (sections > 1) text_add(file, "#ifdef SECTION\n%s#else\n", loops.data);
    includes(e, file);
    text_append(file, code.data, code.length);
    text_add(file, "#endif /* a compiler of this language */\n");
    if (sections > 1) text_add(file, "#endif /* SECTION */\n");
    text_free(&code);
    text_free(&loops);
    emit_fold(file);
}
