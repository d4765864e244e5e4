/* The entry points of an emitted file, and what stands above its code: from emit/c/kernel.c and emit/c/entry.c, with
   the names there as this kernel has them, and the arrays that entry.def says. */
#include "emit.h"
#include "pieces.h"
#include "printer.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

extern const char kernel_preamble[], kernel_entry[], kernel_state[]; /* emit/c/kernel.c, entry.c, state.c */

/* ---- arrays ---- */

enum access { READ, WRITTEN, WANTED };
enum heads { HEADS, KV_HEADS };
enum length { N_Q, N_K };
enum elements { HEAD_DIM, VALUE_DIM };

static const struct entry_array {
    enum entry entry;
    const char *name;
    enum access access;
    enum heads heads;
    enum length length;
    enum elements elements;
} arrays[] = {
#define ARRAY(entry, name, access, heads, length, elements) {ENTRY_##entry, #name, access, heads, length, elements},
#include "entry.def"
#undef ARRAY
};
enum {
    ARRAYS = sizeof arrays / sizeof *arrays,
    ARRAYS_OF_FORWARD = 0
#define ARRAY(entry, name, access, heads, length, elements) +(ENTRY_##entry == ENTRY_forward)
#include "entry.def"
#undef ARRAY
};

/* The first array of an entry point, whose rows stand together, and how many it has. */
static const struct entry_array *arrays_of(enum entry entry, int *count)
{
    int first = 0;
    while (first < ARRAYS && arrays[first].entry != entry) first++;
    for (*count = 0; first + *count < ARRAYS && arrays[first + *count].entry == entry;) ++*count;
    return arrays + first;
}

const char *emit_array_arguments(struct arena *arena, enum entry entry, const char *stored)
{
    int count;
    const struct entry_array *const array = arrays_of(entry, &count);
    const char *list = "";
    for (int a = 0; a < count; a++)
        list = arena_printf(arena, "%s%s%s%s *%s", list,
                            a == 0                                   ? ""
                            : array[a].access != array[a - 1].access ? ",\n    "
                                                                     : ", ",
                            array[a].access == READ ? "const " : "", stored, array[a].name);
    return list;
}

const char *emit_array_shapes(const struct spec *spec, struct arena *arena)
{
    int count;
    const struct entry_array *const array = arrays_of(ENTRY_forward, &count);
    const char *list = "";
    for (int a = 0; a < count; a++)
        list = arena_printf(arena, "%s%s%s [B,%s,%s,%lld]", list, a ? "  " : "", array[a].name,
                            array[a].heads == HEADS ? "H" : "G", array[a].length == N_Q ? "n_q" : "n_k",
                            (long long)(array[a].elements == HEAD_DIM ? spec->head_dim : spec->value_dim));
    return list;
}

/* The members of a call: every array once, constant if no entry point that there is writes it. */
static const char *call_members(struct arena *arena, bool backward, const char *stored)
{
    const char *members = "";
    const int all = backward ? ARRAYS : ARRAYS_OF_FORWARD;
    for (int a = 0; a < all; a++) {
        bool before = false, written = false;
        for (int b = 0; b < all; b++) {
            const bool same = strcmp(arrays[a].name, arrays[b].name) == 0;
            before |= same && b < a;
            written |= same && arrays[b].access != READ;
        }
        if (!before)
            members = arena_printf(arena, "%s%s%s%s *%s;", members, *members ? "\n    " : "", written ? "" : "const ",
                                   stored, arrays[a].name);
    }
    return members;
}

/* What the words for an entry point's arrays in emit/c/ stand for: those of forward begin with ARRAY, of backward with
   GRADIENT. */
static void set_arrays(struct template_names *t, enum entry entry, const char *stored)
{
    int count;
    const struct entry_array *const array = arrays_of(entry, &count);
    const char *values = "", *any = "", *cast = "", *of_queries = "", *of_keys = "",
               *word = entry == ENTRY_forward ? "ARRAY" : "GRADIENT";
    for (int a = 0; a < count; a++) {
        const char *name = array[a].name, *comma = a ? ", " : "", *constant = array[a].access == READ ? "const " : "";
        const bool writable = entry != ENTRY_forward && strcmp(name, "out") == 0; /* forward writes that member */
        values = arena_printf(t->arena, "%s%s.%s = %s%s", values, comma, name,
                              writable ? arena_printf(t->arena, "(%s *)", stored) : "", name);
        any = arena_printf(t->arena, "%s%s%svoid *%s", any, comma, constant, name);
        cast = arena_printf(t->arena, "%s%s(%s%s *)%s", cast, comma, constant, stored, name);
        const char **const missing = array[a].length == N_Q ? &of_queries : &of_keys;
        if (array[a].access != WANTED)
            *missing = arena_printf(t->arena, "%s%s!%s", *missing, **missing ? " || " : "", name);
    }
    template_set(t, arena_printf(t->arena, "%s_ARGUMENTS", word), emit_array_arguments(t->arena, entry, stored));
    template_set(t, arena_printf(t->arena, "%s_VALUES", word), values);
    template_set(t, arena_printf(t->arena, "%s_ANY_ARGUMENTS", word), any);
    template_set(t, arena_printf(t->arena, "%s_ANY_VALUES", word), cast);
    template_set(t, arena_printf(t->arena, "%s_OF_QUERIES_MISSING", word), of_queries);
    template_set(t, arena_printf(t->arena, "%s_OF_KEYS_MISSING", word), of_keys);
}

/* ---- what is left for the gradients ---- */

static const char *row_members(const struct emitted_file *e, struct arena *arena)
{
    const char *members = "", *real = emit_real(e->p->spec->dtype);
    for (int k = 0; k < e->p->saved; k++)
        members = arena_printf(arena, "%s%s%s *saved_%d; /* [B,H,n_q], or NULL */", members, *members ? "\n    " : "",
                               real, k);
    for (int k = 0; k < e->p->row_sums; k++)
        members = arena_printf(arena, "%s%s%s *row_%d; /* [B,H,n_q] */", members, *members ? "\n    " : "", real, k);
    return members;
}

/* Whether value v of what a spec means is a learned parameter. */
static bool is_learned(const struct value *v)
{
    return v->op == GRAPH_PARAM && v->origin == ORIGIN_LEARNED && !v->integers;
}

static bool any_learned(const struct graph *source)
{
    for (int v = 0; v < source->values; v++)
        if (is_learned(&source->value[v])) return true;
    return false;
}

/* What a part of a form leaves for others, but for sums of queries, which tiles add up in their order. */
struct left_array {
    const char *name;
    const struct graph *g; /* of a part that is given it, as value v */
    int v;
};

/* The part of that number of the form, for the first target that has it; NULL: it has none. */
static const struct graph *graph_of_part(const struct emitted_file *e, bool linear, int part)
{
    for (int k = 0; k < e->p->backwards; k++) {
        const struct compilation *c = e->p->backward[k].c;
        if (c && e->p->backward[k].part == part && c->linear == linear && c->program != PROGRAM_SAVED &&
            c->program != PROGRAM_ROW_SUMS)
            return c->graph;
    }
    return NULL;
}

static bool is_output(const struct graph *g, const char *name)
{
    for (int o = 0; g && o < g->outputs; o++)
        if (strcmp(g->output[o].name, name) == 0) return true;
    return false;
}

static bool is_left(const struct emitted_file *e, bool linear, const char *name)
{
    bool left = false;
    for (int part = 0; part < e->p->parts; part++) left |= is_output(graph_of_part(e, linear, part), name);
    return left;
}

static bool sums_of_queries(const struct graph *g, const struct value *v)
{
    bool queries = false;
    for (int k = 0; k < v->rank; k++) queries |= g->module->axis[v->axes[k]].source == SIZE_N_Q;
    return v->sums && queries;
}

/* Whether a part is given the array of that name. */
static bool is_given(const struct emitted_file *e, bool linear, const char *name)
{
    bool given = false;
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        given |= g && graph_find(g, name) >= 0;
    }
    return given;
}

/* How many there are, and in *of which. */
static int left_arrays(const struct emitted_file *e, bool linear, struct arena *arena, struct left_array **of)
{
    struct left_array *const left = arena_alloc(arena, (size_t)e->p->parts * MAX_OUTPUTS * sizeof *left);
    int count = 0;
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        for (int v = 0; g && v < g->values; v++) {
            const struct value *value = &g->value[v];
            bool before = value->op != GRAPH_INPUT || sums_of_queries(g, value) || !is_left(e, linear, value->name);
            for (int n = 0; n < count && !before; n++) before = strcmp(left[n].name, value->name) == 0;
            if (!before) left[count++] = (struct left_array){value->name, g, v};
        }
    }
    *of = left;
    return count;
}

/* The gradients by learned parameters, and what parts leave for others. */
static const char *total_members(const struct emitted_file *e, struct arena *arena)
{
    struct left_array *left;
    const struct graph *const source = e->c[0]->source;
    const char *members = "", *real = emit_real(e->p->spec->dtype);
    for (int v = 0; v < source->values; v++)
        if (is_learned(&source->value[v]))
            members = arena_printf(arena, "%s\n    %s *d%s;", members, real, emit_name(arena, source->value[v].name));
    for (int linear = 0; linear < 2; linear++)
        for (int n = 0, count = left_arrays(e, linear, arena, &left); n < count; n++)
            members = arena_printf(arena,
                                   left[n].g->value[left[n].v].sums ? "%s\n    %s *%s;\n    struct attn_strides %s_at;"
                                                                    : "%s\n    %s *%s;",
                                   members, real, left[n].name, left[n].name);
    return members;
}

static const char *total_values(const struct graph *source, struct arena *arena)
{
    const char *values = "";
    for (int v = 0; v < source->values; v++) {
        const char *name = source->value[v].name ? emit_name(arena, source->value[v].name) : "";
        if (is_learned(&source->value[v]))
            values = arena_printf(arena, "%s%s        call->d%s = to->%s;", values, *values ? "\n" : "", name, name);
    }
    return values;
}

/* The condition, or that the pointer of this name is not NULL, once. */
static const char *with_word(struct arena *arena, const char *condition, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(condition, name); at; at = strstr(at + 1, name))
        if ((at == condition || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return condition;
    return arena_printf(arena, "%s%s%s", condition, *condition ? " || " : "", name);
}

static void mark_needed(const struct graph *g, int v, bool *needed)
{
    if (needed[v]) return;
    needed[v] = true;
    for (int k = 0; k < g->value[v].operands; k++) mark_needed(g, g->value[v].operand[k].of, needed);
}

static bool needs(const struct graph *g, int v, int of, struct arena *arena)
{
    bool *const needed = arena_alloc(arena, (size_t)g->values * sizeof *needed);
    mark_needed(g, v, needed);
    return needed[of];
}

/* The condition, or that a gradient is wanted which needs the array of that name: a part may make it of what another
   one makes of the array. */
static const char *with_needs(const struct emitted_file *e, bool linear, const char *condition, const char *name,
                              struct arena *arena)
{
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        const int given = g ? graph_find(g, name) : -1;
        for (int o = 0; given >= 0 && o < g->outputs; o++) {
            if (!needs(g, g->output[o].value, given, arena)) continue;
            const char *const made = g->output[o].name;
            condition = is_given(e, linear, made)
                            ? with_needs(e, linear, condition, made, arena)
                            : with_word(arena, condition, arena_printf(arena, "call->%s", emit_name(arena, made)));
        }
    }
    return condition;
}

/* The gradient that adds such sums of heads up. */
static const char *whole_of(const struct left_array *left, struct arena *arena)
{
    int o = 0;
    while (!needs(left->g, left->g->output[o].value, left->v, arena)) o++;
    return left->g->output[o].name;
}

/* Where the gradients of heads lie, by statements that place them all: that of one head is their sum, and is left there
   unless it has to be rounded. */
static const char *heads_value(const struct left_array *left, enum dtype dtype, const char *placed, struct arena *arena)
{
    const struct value *const v = &left->g->value[left->v];
    const char *name = left->name, *whole = whole_of(left, arena);
    const long long row = (long long)left->g->module->axis[v->axes[v->rank - 1]].extent;
    placed = arena_printf(arena,
                          "%s        call->%s_at = (struct attn_strides){p->heads * p->n_k * %lld, p->n_k * %lld, "
                          "%lld};\n",
                          placed, name, row, row, row);
    if (dtype_of_sums(dtype) != dtype) return arena_printf(arena, "    {\n%s    }\n", placed);
    return arena_printf(arena,
                        "    if (p->heads == p->kv_heads) { /* that of one head is the sum */\n"
                        "        call->%s = call->%s;\n        call->%s_at = p->%s;\n    } else {\n%s    }\n",
                        name, whole, name, whole, placed);
}

/* Where an array that a part leaves for others lies, if a gradient that needs it is wanted. */
static const char *left_value(const struct emitted_file *e, bool linear, const struct left_array *left,
                              struct arena *arena)
{
    const char *const wanted = with_needs(e, linear, "", left->name, arena), *sizes = "";
    const struct module *const m = left->g->module;
    const struct value *const value = &left->g->value[left->v];
    const char *const indent = value->sums ? "        " : "    ";
    int64_t elements = 1;
    for (int k = 0; k < value->rank; k++) {
        const struct axis *axis = &m->axis[value->axes[k]];
        const bool of_heads = axis->source == SIZE_KV_HEADS && k + 1 < value->rank &&
                              m->axis[value->axes[k + 1]].source == SIZE_MEMBERS;
        const char *size = axis->source == SIZE_MEMBERS ? "heads" : size_name(axis->source);
        if (!axis_is_counted(axis) && !of_heads) sizes = arena_printf(arena, "%sp->%s * ", sizes, size);
        if (axis_is_counted(axis)) elements *= axis->extent;
    }
    const char *placed = arena_printf(
        arena, "%sif (%s) call->%s = (%s *)(void *)(left + at);\n%sat += left_bytes(%s%lld);\n", indent, wanted,
        left->name, emit_real(e->p->spec->dtype), indent, sizes, (long long)elements);
    return value->sums ? heads_value(left, e->p->spec->dtype, placed, arena) : placed;
}

/* A call runs one form: those of both may lie in one place. */
static const char *left_values(const struct emitted_file *e, struct arena *arena)
{
    struct left_array *left;
    const char *values = "";
    for (int linear = 0; linear < 2; linear++) {
        for (int n = 0, count = left_arrays(e, linear, arena, &left); n < count; n++)
            values = arena_printf(arena, "%s%s", values, left_value(e, linear, &left[n], arena));
        values = arena_printf(arena, "%s    if (at > most) most = at;\n%s", values, linear ? "" : "    at = 0;\n");
    }
    return values;
}

/* Statements that point the members of that name at their arrays, which begin at `from`. */
static const char *row_values(const struct emitted_file *e, struct arena *arena, const char *name, int count,
                              const char *from)
{
    const char *values = "", *real = emit_real(e->p->spec->dtype);
    for (int k = 0; k < count; k++)
        values = arena_printf(arena, "%s%s    call->%s_%d = (%s *)(void *)(%s + %d * row_bytes(&call->p));", values,
                              k ? "\n" : "", name, k, real, from, k);
    return values;
}

/* The part of backward whose tiles add up sums in their order, or NULL. */
static const struct compilation *ordered_part(const struct emitted_file *e)
{
    for (int k = 0; k < e->p->backwards; k++)
        if (e->p->backward[k].c && emit_in_order(e->p->backward[k].c->loops)) return e->p->backward[k].c;
    return NULL;
}

/* The sums of that part: the elements of a row, of all of them; as members; as statements that point these at their
   arrays. */
struct sums {
    int64_t row;
    const char *members, *values;
};

static struct sums sums_of(const struct emitted_file *e, struct arena *arena)
{
    const struct compilation *c = ordered_part(e);
    struct sums s = {0, "", ""};
    for (int a = 0; c && a < c->loops->arrays; a++) {
        const struct array *array = &c->loops->array[a];
        if (!array->sums) continue;
        const long long row = (long long)emit_row_of_sums(c->loops->module, array);
        const char *name = emit_name(arena, array->name), *real = emit_real(e->p->spec->dtype);
        s.members = arena_printf(arena, "%s\n    %s *%s; /* [B,H,n_q,%lld], or NULL */", s.members, real, name, row);
        s.values = arena_printf(arena,
                                "%s%s    call->%s = (%s *)(void *)(sums + (size_t)(call->p.batch * call->p.heads * "
                                "call->p.n_q) * %lld * sizeof(%s));",
                                s.values, *s.values ? "\n" : "", name, real, (long long)s.row, real);
        s.row += row;
    }
    return s;
}

/* Whether an output of such a program is wanted. */
static const char *wanted(const struct emitted_file *e, struct arena *arena, enum program_kind program)
{
    const char *when = "";
    for (int k = 0; k < e->p->backwards; k++) {
        const struct compilation *c = e->p->backward[k].c;
        for (int o = 0; c && c->program == program && o < c->graph->outputs; o++)
            when = with_word(arena, when, arena_printf(arena, "call.%s", emit_name(arena, c->graph->output[o].name)));
    }
    return when;
}

/* Statements of a block before the totals are added up: what is its own sum already is not wanted of them. */
static const char *before_totals(const struct emitted_file *e, struct arena *arena)
{
    struct left_array *left;
    const char *statements = "";
    for (int linear = 0; linear < 2 && dtype_of_sums(e->p->spec->dtype) == e->p->spec->dtype; linear++)
        for (int n = 0, count = left_arrays(e, linear, arena, &left); n < count; n++)
            if (left[n].g->value[left[n].v].sums)
                statements = arena_printf(arena, "%s        if (left.%s == left.%s) left.%s = NULL;\n", statements,
                                          whole_of(&left[n], arena), left[n].name, whole_of(&left[n], arena));
    return statements;
}

/* The calls of the parts of backward: of the gradients, if one of them is wanted. */
static const char *part_calls(const struct emitted_file *e, struct arena *arena)
{
    const char *calls = "", *const before = before_totals(e, arena);
    for (int part = 0; part < e->p->parts; part++) {
        const char *when = "";
        bool totals = false;
        for (int k = 0; k < e->p->backwards; k++) {
            const struct compilation *c = e->p->backward[k].c;
            if (e->p->backward[k].part != part || !c) continue;
            totals |= c->program == PROGRAM_TOTALS;
            if (c->program == PROGRAM_SAVED) when = "!kept";
            if (c->program == PROGRAM_ROW_SUMS) when = "1";
            const bool gradients = c->program == PROGRAM_GRADIENTS || c->program == PROGRAM_FROM_SUMS ||
                                   c->program == PROGRAM_TOTALS;
            for (int o = 0; o < c->graph->outputs && gradients; o++)
                when = with_word(arena, when,
                                 arena_printf(arena, "call.%s", emit_name(arena, c->graph->output[o].name)));
        }
        calls = arena_printf(arena,
                             totals && *before
                                 ? "%s%s    if (!error && (%s)) {\n        struct call left = call;\n%s        error = "
                                   "run_part(%d, &left, threads, work);\n    }"
                                 : "%s%s    if (!error && (%s)) %serror = run_part(%d, &call, threads, work);",
                             calls, part ? "\n" : "", when, totals ? before : "", part);
    }
    return calls;
}

/* Where other numbers of keys are run by other code: the least of each. */
static const char *lengths(const struct version *v, int versions, struct arena *arena)
{
    const char *from = "0";
    for (int k = 0; k < versions; k++) {
        bool before = v[k].from == 0;
        for (int n = 0; n < k; n++) before |= v[n].from == v[k].from;
        if (!before) from = arena_printf(arena, "%s, %lld", from, (long long)v[k].from);
    }
    return from;
}

static void set_backward(struct template_names *t, const struct emitted_file *e)
{
    struct left_array *left;
    const bool totals = e->p->parts && (any_learned(e->c[0]->source) || left_arrays(e, false, t->arena, &left) > 0 ||
                                        left_arrays(e, true, t->arena, &left) > 0);
    template_set_number(t, "BACKWARD", e->p->parts > 0);
    template_set_number(t, "TOTALS", totals);
    if (!e->p->parts) template_set_number(t, "IDLE", 0);
    const struct sums sums = sums_of(e, t->arena);
    template_set(t, "ROW_MEMBERS",
                 arena_printf(t->arena, "%s%s%s", row_members(e, t->arena), totals ? total_members(e, t->arena) : "",
                              sums.members));
    template_set_number(t, "IN_ORDER", sums.row > 0);
    if (totals) {
        template_set(t, "TOTAL_VALUES", total_values(e->c[0]->source, t->arena));
        template_set(t, "LEFT_VALUES", left_values(e, t->arena));
    }
    if (!e->p->parts) return;
    set_arrays(t, ENTRY_backward, emit_stored(e->p->spec->dtype));
    template_set_number(t, "SAVED_COUNT", e->p->saved);
    template_set_number(t, "ROW_SUM_COUNT", e->p->row_sums);
    template_set_number(t, "PARTS", e->p->parts);
    template_set(t, "PART_LENGTHS", lengths(e->p->backward, e->p->backwards, t->arena));
    template_set(t, "SAVED_VALUES", row_values(e, t->arena, "saved", e->p->saved, "saved"));
    template_set(t, "ROW_SUM_VALUES", row_values(e, t->arena, "row", e->p->row_sums, "rows"));
    template_set(t, "PART_CALLS", part_calls(e, t->arena));
    template_set_number(t, "ROW_OF_SUMS", sums.row);
    template_set(t, "SUMS_VALUES", sums.values);
    template_set(t, "SUMS_WANTED", wanted(e, t->arena, PROGRAM_FROM_SUMS));
    template_set(t, "REAL", emit_real(e->p->spec->dtype));
}

/* ---- parameters ---- */

static void set_params(struct template_names *t, const struct compilation *c)
{
    const struct graph *g = c->source;
    const int params = emit_param_count(g);
    const char *missing = "!params", *table = "", *ids = emit_param_of_ids(g);
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        if (value->op != GRAPH_PARAM) continue;
        const char *shape[MAX_RANK] = {NULL}, *said[MAX_RANK] = {NULL}, *extents = "",
                   *name = emit_name(t->arena, value->name);
        int rank = emit_param_shape(g, value, shape, said);
        for (int k = 0; k < rank; k++) extents = arena_printf(t->arena, "%s%s%s", extents, k ? ", " : "", shape[k]);
        missing = arena_printf(t->arena, "%s || !params->%s", missing, name);
        table = arena_printf(t->arena, "%s%s    {\"%s\", %s, %d, {%s}, offsetof(struct %s_params, %s), %d},", table,
                             *table ? "\n" : "", value->name,
                             value->integers ? "ATTN_I32" : emit_runtime_dtype(dtype_of_sums(c->spec->dtype)), rank,
                             extents, c->spec->name, name, value->origin != ORIGIN_LEARNED);
    }
    template_set_number(t, "PARAMS", params);
    template_set(t, "PARAM_MISSING", missing);
    template_set(t, "PARAM_TABLE", table);
    template_set(t, "PARAM_POINTER", params ? "param" : "NULL");
    template_set_number(t, "IDS", ids != NULL);
    if (ids) template_set(t, "IDS_PARAM", emit_name(t->arena, ids));
}

/* ---- all together ---- */

int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds)
{
    enum { FEW = 256 };
    return first + read_back + (chunk ? chunk + (folds ? chunk : 0) : read_back > FEW ? read_back : FEW);
}

static void set_state(struct template_names *t, const struct emitted_file *e)
{
    const struct emission *const p = e->p;
    const bool decodes = p->spec->emit & EMIT_DECODE, carried = p->extends > 0,
               ids = emit_param_of_ids(e->c[0]->source);
    template_set_number(t, "DECODE", decodes);
    template_set_number(t, "CARRIED", carried);
    template_set_number(t, "READ_FIRST", p->read_first);
    if (!decodes) return;
    template_set_number(t, "FOLDS", p->folds);
    template_set_number(t, "MOVES", p->moves);
    template_set_number(t, "PREPARED", p->meets > 0);
    template_set(t, "WHAT_MEETS", p->meets ? "meeting" : "version");
    template_set_number(t, "ANY_ORDER", p->any_order);
    template_set_number(t, "BY_CAPACITY", p->read_back < 0);
    template_set_number(t, "READ_BACK", p->read_back);
    template_set_number(t, "ROWS_KEPT",
                        emit_state_rows(p->read_first, p->read_back, carried ? p->extend[0].c->chunk : 0, p->folds));
    template_set_number(t, "UNCOPIED",
                        p->read_first == 0 && p->meets == 0 && p->read_back >= 0 && (!carried || p->read_back == 0));
    bool several = emit_by_length(e->version, e->versions), linear = false;
    for (int k = 0; k < e->versions; k++) several |= e->version[k].few != NULL;
    for (int k = 0; k < e->compilations; k++) linear |= e->c[k]->linear;
    template_set_number(t, "EXTEND_BY_LENGTH", !carried && several);
    template_set_number(t, "BOUNDED", p->read_back < 0 || ids);
    template_set_number(t, "IDS_IN_ORDER", ids && linear);
    template_set(t, "FINGERPRINT", arena_printf(t->arena, "UINT64_C(0x%016llx)", (unsigned long long)p->fingerprint));
    template_set(t, "STORED", emit_stored(p->spec->dtype));
}

static struct template_names names_of(const struct emitted_file *e)
{
    const struct compilation *c = e->c[0];
    struct template_names t = {.arena = c->graph->module->arena};
    template_set(&t, "SPEC_", arena_printf(t.arena, "%s_", c->spec->name));
    template_set_number(&t, "HEAD_DIM", c->spec->head_dim);
    template_set_number(&t, "VALUE_DIM", c->spec->value_dim);
    template_set_number(&t, "SOMETIMES_SLOWER", emit_any_slower(e->c, e->compilations));
    template_set_number(&t, "PHASES", emit_any_in_phases(e->c, e->compilations));
    template_set(&t, "FOLD_GROUPS", arena_printf(t.arena, "%d", FOLD_GROUPS));
    template_set_number(&t, "WAITS", emit_any_waits(e->c, e->compilations));
    template_set_number(&t, "FAR_QUERIES", emit_any_apart(e->c, e->compilations));
    template_set_number(&t, "BF16", c->spec->dtype == DTYPE_BF16);
    template_set_number(&t, "F16", c->spec->dtype == DTYPE_F16);
    template_set(&t, "ARRAY_MEMBERS", call_members(t.arena, e->p->parts > 0, emit_stored(c->spec->dtype)));
    set_arrays(&t, ENTRY_forward, emit_stored(c->spec->dtype));
    set_params(&t, c);
    set_backward(&t, e);
    set_state(&t, e);
    return t;
}

void emit_preamble(const struct emitted_file *e, struct text *out)
{
    const struct template_names t = names_of(e);
    text_add(out, "%s", template_fill(&t, kernel_preamble));
}

void emit_entry_points(const struct emitted_file *e, struct text *out)
{
    const struct compilation *c = e->c[0];
    struct template_names t = names_of(e);
    struct text params = {0};
    emit_params_functions(c, &params);
    emit_choice(e, &t);
    if (e->p->parts) emit_choice_of_parts(e, &t);
    template_set_text(&t, "PARAMS_FUNCTIONS", &params);
    bool several = emit_by_length(e->version, e->versions);
    for (int k = 0; k < e->versions; k++) several |= e->version[k].few != NULL;
    template_set_number(&t, "SEVERAL", several);
    template_set_number(&t, "MAX_FEW_QUERIES", MAX_FEW_QUERIES);
    template_set(&t, "LENGTHS", lengths(e->version, e->versions, t.arena));
    template_set(&t, "NAME_AS_TEXT", arena_printf(t.arena, "\"%s\"", c->spec->name));
    template_set(&t, "VERSION_AS_TEXT", "\"" ATTNC_VERSION "\"");
    template_set(&t, "DTYPE", emit_runtime_dtype(c->spec->dtype));
    template_set_number(&t, "PARAM_COUNT", emit_param_count(c->source));
    if (e->p->extends) emit_choice_of_extend(e, &t);
    if (e->p->meets) emit_choice_of_prepared(e, &t);
    if (c->spec->emit & EMIT_DECODE) template_set(&t, "STATE_FUNCTIONS", template_fill(&t, kernel_state));
    text_add(out, "%s", template_fill(&t, kernel_entry));
}
