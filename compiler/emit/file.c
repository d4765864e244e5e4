/* The emitted files: NAME.h with the interface, NAME.c with one version of the rows function for every target, the
   choice among them at run time, and the entry points. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

#include <string.h>

/* ---- NAME.c ---- */

/* From how many keys on the last target takes the linear form, however many there are; 0: from none, or from the first
   on. */
static int64_t linear_from(const struct emitted_file *e)
{
    int64_t from = 0;
    for (int k = 0; k < e->versions; k++) {
        const struct version *v = &e->version[k];
        if (v->target != e->version[e->versions - 1].target) continue;
        if (!v->c->linear)
            from = 0;
        else if (!from)
            from = v->from;
    }
    return from;
}

/* For which keys a compilation is taken, where the schedule has several entries: ", from 1 to 4095 keys and from 8192
   keys on". */
static void lengths_of(const struct emitted_file *e, const struct compilation *c, struct text *out)
{
    const char *before = ",";
    for (int k = 0; k < e->versions; k++) {
        if (e->version[k].c != c) continue;
        const bool last = k + 1 == e->versions || e->version[k + 1].target != c->target;
        text_add(out, "%s from %lld", before, (long long)(e->version[k].from ? e->version[k].from : 1));
        if (last)
            text_add(out, " keys on");
        else
            text_add(out, " to %lld keys", (long long)e->version[k + 1].from - 1);
        before = " and";
    }
}

/* The comment on top. */
static void heading(const struct emitted_file *e, struct text *out)
{
    const struct compilation *const *c = e->c;
    const struct spec *spec = c[0]->spec;
    struct arena *arena = c[0]->graph->module->arena;
    text_add(out, "/* %s.c, made by attnc %s: %s\n   C11 with GNU extensions, for a C compiler; C++ includes %s.h.\n",
             spec->name, ATTNC_VERSION, emit_harmless(arena, e->command), spec->name);
    if (*spec->description) emit_comment(arena, out, spec->description, 3);
    text_add(
        out,
        "\n   What it computes, over axes b (batch), g (key/value head), m (query head of g), i (query), j (key):\n");
    struct text graph = {0};
    graph_print(c[0]->source, &graph);
    emit_comment(arena, out, graph.data, 5);
    text_free(&graph);
    text_add(out,
             "\n   How: a tile of queries, one to a lane, meets the keys tile by tile, so that sums over keys and "
             "the running\n"
             "   maximum need no step across lanes. Sums over a tile of keys start from zero and are added to what "
             "came before.\n"
             "   Keys that no query of the tile sees are skipped.\n");
    bool few = false;
    for (int k = 0; k < e->compilations; k++) few |= c[k]->few;
    if (few)
        text_add(
            out,
            "   Where queries are few, those of all heads that share keys are the rows of one tile, and keys are in "
            "the lanes:\n"
            "   each key is read once, in chunks that threads share out, whose sums are added up in their order.\n");
    const int64_t from = linear_from(e);
    for (int k = 0; k < e->compilations; k++)
        if (c[k]->features) {
            text_add(out,
                     "   Linear%s: the weight is an inner product of %lld features, whose sum over keys is a state of "
                     "%lld x %lld numbers that queries meet.\n",
                     from ? arena_printf(arena, " from %lld keys on", (long long)from) : "", (long long)c[k]->features,
                     (long long)c[k]->features, (long long)spec->value_dim + 1);
            break;
        }
    for (int k = 0; k < e->compilations; k++) {
        if (c[k]->program != PROGRAM_FORWARD && c[k]->program != PROGRAM_SAVING) continue;
        text_add(out, "     %-10s %-9s%s%s tiles of %s; %lld bytes of workspace a thread", c[k]->target->name,
                 compilation_form(c[k]), compilation_products(c[k]), loops_paired(c[k]->loops) ? "," : "",
                 compilation_tiles(arena, c[k]), (long long)loops_bytes(c[k]->loops));
        if (spec->schedules > 1) lengths_of(e, c[k], out);
        text_add(out, "\n");
    }
    text_add(out, "   Compile with: cc -O2 -fopenmp %s.c …%s -lm */\n", spec->name,
             e->p->standalone ? "" : " -lattnrt");
}

/* Standalone, the header stands in the source, so that it needs no other file. */
static void includes(const struct emitted_file *e, struct text *out)
{
    const char *const name = e->p->spec->name;
    text_add(out, "#ifdef __cplusplus\n#error \"%s.c is C, not C++: a C compiler has to compile it\"\n#endif\n", name);
    if (e->p->standalone)
        emit_header(e->p, e->command, out);
    else
        text_add(out, "#include \"%s.h\"\n", name);
    text_add(
        out,
        "\n#include <float.h>\n#include <math.h>\n#include <stdlib.h>\n#ifdef _OPENMP\n#include <omp.h>\n#endif\n%s\n",
        arena_printf(
            e->c[0]->graph->module->arena, "%s%s%s",
            emit_any_waits(e->c, e->compilations) ? "#ifdef __unix__\n#include <sched.h>\n#endif\n" : "",
            emit_any_in_order(e->c, e->compilations) || e->p->spec->emit & EMIT_DECODE ? "#include <string.h>\n" : "",
            emit_any_on_matrix_units(e->c, e->compilations)
                ? "#if defined(__x86_64__) && !defined(ATTN_EMULATE_TILES)\n#include <immintrin.h>\n#endif\n"
            : emit_any_paired(e->c, e->compilations) ? "#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n"
                                                     : ""));
}

static bool has_table(const struct compilation *c, const char *name)
{
    for (int a = 0; a < c->loops->arrays; a++)
        if (c->loops->array[a].kind == ARRAY_TABLE && strcmp(c->loops->array[a].name, name) == 0) return true;
    return false;
}

/* Those of all programs, each once. */
static void tables(const struct compilation *const *all, int count, struct text *out)
{
    bool used = false; /* by some target's code wherever this is compiled */
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
    for (int k = 0; k < count; k++) shared.compensated |= keeps_compensation(c[k]->loops->body);
    for (int k = 0; k < count; k++) {
        struct emitter x = shared;
        x.c = c[k];
        x.l = c[k]->loops;
        x.m = c[k]->loops->module;
        x.unroll = c[k]->unroll;
        if (k) text_add(&rows, "\n");
        emit_tasks(&x, &rows);
        if (x.region_keys > shared.region_keys) shared.region_keys = x.region_keys;
        if (x.along_terms > shared.along_terms) shared.along_terms = x.along_terms;
        if (x.fetched_lanes > shared.fetched_lanes) shared.fetched_lanes = x.fetched_lanes;
        if (x.region_pairs > shared.region_pairs) shared.region_pairs = x.region_pairs;
        if (x.unit_depth > shared.unit_depth) shared.unit_depth = x.unit_depth;
    }
    text_add(out, "/* ==== %s%s%s ==== */\n", t->name, target_features_text(shared.m->arena, t),
             strcmp(shared.suffix, t->suffix) != 0
                 ? arena_printf(shared.m->arena, ", blocks of %d rows and %d vectors", c[0]->rows, c[0]->vectors)
                 : "");
    if (*guard) text_add(out, "#if %s\n", guard);
    const bool emulated = target_has(t, TARGET_MATRIX_UNITS);
    if (emulated) text_add(out, "#ifdef ATTN_EMULATE_TILES\n#define TARGET_%s\n#else\n", shared.suffix);
    if (*t->attribute)
        text_add(out, "#define TARGET_%s __attribute__((target(\"%s\")))\n", shared.suffix, t->attribute);
    if (emulated) text_add(out, "#endif\n");
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
    const struct compilation *block[MAX_EMITTED];
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
        for (int b = 0; b < p->backwards; b++) {
            bool there = !p->backward[b].c || p->backward[b].target != t;
            for (int n = 0; n < compilations && !there; n++) there = c[n] == p->backward[b].c;
            if (!there) c[compilations++] = p->backward[b].c;
        }
        for (int x = 0; x < p->of_prepareds; x++)
            if (p->of_prepared[x]->target == t) c[compilations++] = p->of_prepared[x];
        for (int x = 0; x < p->extends; x++)
            if (p->extend[x].target == t) {
                if (p->extend[x].c->for_few) c[compilations++] = p->extend[x].c->for_few; /* which the next one calls */
                c[compilations++] = p->extend[x].c;
                if (p->extend[x].fold) c[compilations++] = p->extend[x].fold;
            }
    }
    for (int k = 0; k < p->versions; k++)
        if (!only || p->version[k].target == only) version[versions++] = p->version[k];
    const struct emitted_file emission = {p, c, version, compilations, versions, command}, *const e = &emission;
    struct text code = {0}, *const out = &code;
    heading(e, file);
    includes(e, file);
    emit_preamble(e, out);
    if (emit_any_on_matrix_units(c, compilations)) emit_tile_registers(out);
    tables(c, compilations, out);
    for (int k = 0, count; k < compilations; k += count) {
        count = emit_same_target(c + k, compilations - k);
        one_target(c + k, count, emit_guard(c, k), out);
    }
    emit_entry_points(e, out);
    if (p->standalone) standalone_functions(c[0]->graph->module->arena, code.data, file);
    text_append(file, code.data, code.length);
    text_free(&code);
    emit_fold(file);
}
