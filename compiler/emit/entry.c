/* Prints the beginning of a file, and the entry points, from templates in emit/embedded/. For this, it sets the
   templates' names for the kernel and its arrays. */
#include "emit.h"
#include "definitions.h"
#include "printer.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

/* the texts of kernel.c, entry.c and state.c in emit/embedded/ */
extern const char kernel_preamble[], kernel_entry[], kernel_state[];

/* ---- arrays ---- */

/* Returns the next argument of the entry point, from array *from on, and advances *from. Returns NULL after the last
   argument. */
static const struct kernel_array *next_argument(const struct kernel_arrays *all, enum entry entry, int *from)
{
    for (; *from < all->count; ++*from)
        if (all->array[*from].place == PLACE_ARGUMENT && all->array[*from].access[entry] != ACCESS_NONE)
            return &all->array[(*from)++];
    return NULL;
}

/* Like emit_array_arguments. If `appends`, the arguments are those of extend. */
static const char *arguments_of(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry, bool appends)
{
    const struct kernel_array *before = NULL;
    const char *list = "";
    for (int k = 0; k < arrays->count;) {
        const struct kernel_array *const a = next_argument(arrays, entry, &k);
        if (!a) break;
        list = arena_printf(arena, "%s%s%s%s *%s", list,
                            !before                                     ? ""
                            : a->access[entry] != before->access[entry] ? ",\n    "
                                                                        : ", ",
                            a->access[entry] == ACCESS_READ ? "const " : "",
                            emit_stored(appends ? a->appended : a->dtype), a->member);
        before = a;
    }
    return list;
}

const char *emit_array_arguments(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry)
{
    return arguments_of(arena, arrays, entry, false);
}

const char *emit_appended_arguments(struct arena *arena, const struct kernel_arrays *arrays)
{
    return arguments_of(arena, arrays, ENTRY_FORWARD, true);
}

const char *emit_array_shapes(struct arena *arena, const struct kernel_arrays *arrays)
{
    const struct kernel_array *a;
    const char *list = "";
    for (int k = 0; (a = next_argument(arrays, ENTRY_FORWARD, &k));)
        list = arena_printf(arena, "%s%s%s [%s]", list, *list ? "  " : "", a->name, array_shape_text(arena, a, ","));
    return list;
}

/* Returns whether the parameter has a row for each token. If so, struct call has its pointer and strides, because a
   state can replace them. */
static bool is_param_of_rows(const struct kernel_array *a)
{
    return a->place == PLACE_PARAMS && a->rows;
}

/* Returns whether the kernel computes the array. Gradients are computed only in backward. */
static bool is_computed(const struct emission *p, const struct kernel_array *a, bool backward)
{
    if (strcmp(a->name, corrected_values) == 0) return p->corrects > 0;
    const enum prefix_array array = prefix_array_find(a->name);
    const bool gradient = array == PREFIX_GRADIENT || array == PREFIX_GRADIENT_OF_QUERY ||
                          array == PREFIX_GRADIENT_OF_KEY;
    return a->place == PLACE_WORKSPACE && (backward || !gradient);
}

/* Returns whether the array is a part of an argument of the entry points. struct call has its pointer and strides. */
static bool is_read_within(const struct kernel_array *a)
{
    return a->place == PLACE_WITHIN && a->access[ENTRY_FORWARD] == ACCESS_READ;
}

/* Returns the members of struct call for arrays: the arguments of the entry points, the arrays within them, and the
   parameters with rows. Arguments that no entry point writes are const. */
static const char *call_members(struct arena *arena, const struct emission *p, bool backward)
{
    const struct kernel_arrays *const arrays = p->arrays;
    const char *members = "";
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        const enum array_access forward = a->access[ENTRY_FORWARD],
                                last = backward ? a->access[ENTRY_BACKWARD] : ACCESS_NONE;
        const bool written = forward > ACCESS_READ || last > ACCESS_READ;
        if (is_computed(p, a, backward))
            members = arena_printf(arena, "%s%s%s *%s; /* [%s] */\n    struct attn_strides %s;", members,
                                   *members ? "\n    " : "", emit_stored(a->dtype), a->identifier,
                                   array_shape_text(arena, a, ","), a->strides);
        if (a->place != PLACE_ARGUMENT && a->place != PLACE_PROBLEM && !is_param_of_rows(a) && !is_read_within(a))
            continue;
        if (forward == ACCESS_NONE && last == ACCESS_NONE) continue;
        members = arena_printf(arena, "%s%s%s%s *%s;", members, *members ? "\n    " : "", written ? "" : "const ",
                               emit_stored(a->dtype), a->identifier);
        if (a->place == PLACE_PROBLEM)
            members = arena_printf(arena, "%s /* [%s], or NULL */", members, array_shape_text(arena, a, ","));
        if (is_param_of_rows(a)) members = arena_printf(arena, "%s\n    struct attn_strides %s;", members, a->strides);
    }
    if (emit_strides_member(arrays))
        members = arena_printf(arena,
                               "%s\n    struct %s_strides at; /* of all arrays, with contiguous ones filled in */",
                               members, p->spec->name);
    return members;
}

/* Returns a condition in C: whether an output begins where another array of the entry point begins. */
static const char *shared_arrays(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry)
{
    const char *shared = "";
    for (int k = 0; k < arrays->count; k++)
        for (int n = 0; n < arrays->count; n++) {
            const struct kernel_array *const output = &arrays->array[k], *const other = &arrays->array[n];
            const enum array_access first = output->access[entry], second = other->access[entry];
            /* of two outputs, the second finds the first */
            if (k == n || first <= ACCESS_READ || second == ACCESS_NONE || (second > ACCESS_READ && n > k) ||
                output->place != PLACE_ARGUMENT || other->place != PLACE_ARGUMENT)
                continue;
            shared = arena_printf(arena, "%s%s(%s && (const void *)%s == %s)", shared, *shared ? " ||\n        " : "",
                                  output->member, output->member, other->member);
        }
    return shared;
}

/* Sets the names in templates for the arrays of an entry point. The names begin with ARRAY for forward, and with
   GRADIENT for backward. */
static void set_arrays(struct template_names *t, const struct kernel_arrays *arrays, enum entry entry)
{
    const char *values = "", *any = "", *cast = "", *of_queries = "", *of_keys = "", *unused = "", *new_values = "",
               *new_cast = "", *word = entry == ENTRY_FORWARD ? "ARRAY" : "GRADIENT";
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        const enum array_access access = a->access[entry];
        if ((a->place != PLACE_ARGUMENT && a->place != PLACE_WITHIN) || access == ACCESS_NONE) continue;
        const char *name = a->member, *comma = *values ? ", " : "", *constant = access == ACCESS_READ ? "const " : "",
                   *stored = emit_stored(a->dtype);
        /* The argument is const. The member is not, because forward writes the array. */
        const bool writable = access == ACCESS_READ && a->access[ENTRY_FORWARD] > ACCESS_READ;
        const char *const appended = a->appended == a->dtype
                                         ? ""
                                         : arena_printf(t->arena, "(const %s *)(const void *)", stored);
        any = arena_printf(t->arena, "%s%s%svoid *%s", any, *any ? ", " : "", constant, name);
        if (a->place == PLACE_WITHIN) { /* Functions that are the same for all kernels have this argument. */
            unused = arena_printf(t->arena, "%s%s    (void)%s;", unused, *unused ? "\n" : "", name);
            if (access == ACCESS_READ) {
                values = arena_printf(t->arena, "%s%s.%s = %s", values, comma, name, a->within);
                new_values = arena_printf(t->arena, "%s%s.%s = %s%s", new_values, comma, name, appended, a->within);
            }
            continue;
        }
        values = arena_printf(t->arena, "%s%s.%s = %s%s", values, comma, name,
                              writable ? arena_printf(t->arena, "(%s *)", stored) : "", name);
        new_values = arena_printf(t->arena, "%s%s.%s = %s%s", new_values, comma, name, appended, name);
        new_cast = arena_printf(t->arena, "%s%s(%s%s *)%s", new_cast, *cast ? ", " : "", constant,
                                emit_stored(a->appended), name);
        cast = arena_printf(t->arena, "%s%s(%s%s *)%s", cast, *cast ? ", " : "", constant, stored, name);
        const char **const missing = a->role == ROLE_PER_QUERY ? &of_queries : &of_keys;
        if (access != ACCESS_WANTED)
            *missing = arena_printf(t->arena, "%s%s!%s", *missing, **missing ? " || " : "", name);
    }
    for (int k = 0; k < arrays->count; k++) { /* outputs that are members of struct attn_problem */
        const struct kernel_array *const a = &arrays->array[k];
        if (a->place == PLACE_PROBLEM && a->access[entry] != ACCESS_NONE) {
            const char *const value = arena_printf(t->arena, ",\n        .%s = (%s *)problem->%s", a->member,
                                                   emit_stored(a->dtype), a->member);
            values = arena_printf(t->arena, "%s%s", values, value);
            new_values = arena_printf(t->arena, "%s%s", new_values, value);
        }
    }
    if (entry == ENTRY_FORWARD) {
        template_set(t, "APPENDED_ARGUMENTS", emit_appended_arguments(t->arena, arrays));
        template_set(t, "APPENDED_VALUES", new_values);
        template_set(t, "APPENDED_ANY_VALUES", new_cast);
    }
    template_set(t, arena_printf(t->arena, "%s_ARGUMENTS", word), emit_array_arguments(t->arena, arrays, entry));
    template_set(t, arena_printf(t->arena, "%s_VALUES", word), values);
    template_set(t, arena_printf(t->arena, "%s_ANY_ARGUMENTS", word), any);
    template_set(t, arena_printf(t->arena, "%s_ANY_VALUES", word), cast);
    template_set(t, arena_printf(t->arena, "%s_ANY_UNUSED", word), unused);
    template_set(t, arena_printf(t->arena, "%s_SHARED", word), shared_arrays(t->arena, arrays, entry));
    template_set(t, arena_printf(t->arena, "%s_OF_QUERIES_MISSING", word), of_queries);
    template_set(t, arena_printf(t->arena, "%s_OF_KEYS_MISSING", word), of_keys);
}

/* ---- arrays that forward and parts of backward leave for later parts ---- */

/* Returns the members of struct call that have a number per query: saved_0, … of forward and row_0, … of backward. */
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

/* Returns statements that set NAME_0, NAME_1, … to consecutive arrays, beginning at `from`. */
static const char *row_values(const struct emitted_file *e, struct arena *arena, const char *name, int count,
                              const char *from)
{
    const char *values = "", *real = emit_real(e->p->spec->dtype);
    for (int k = 0; k < count; k++)
        values = arena_printf(arena, "%s%s    call->%s_%d = (%s *)(void *)(%s + %d * row_bytes(&call->p));", values,
                              k ? "\n" : "", name, k, real, from, k);
    return values;
}

/* Returns the part of backward whose tiles add to shared sums in order, or NULL. */
static const struct compilation *ordered_part(const struct emitted_file *e)
{
    for (int k = 0; k < e->p->backwards; k++)
        if (e->p->backward[k].c && emit_in_order(e->p->backward[k].c->loops)) return e->p->backward[k].c;
    return NULL;
}

/* The arrays of shared sums of an ordered part:
   - row: the sum of their row lengths, in elements
   - members: C that declares them in struct call
   - values: C that sets these members */
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
        const char *name = emit_identifier(arena, e->p->arrays, array->name), *real = emit_real(e->p->spec->dtype);
        s.members = arena_printf(arena, "%s\n    %s *%s; /* [B,H,n_q,%lld], or NULL */", s.members, real, name, row);
        s.values = arena_printf(arena,
                                "%s%s    call->%s = (%s *)(void *)(sums + (size_t)(call->p.batch * call->p.heads * "
                                "call->p.n_q) * %lld * sizeof(%s));",
                                s.values, *s.values ? "\n" : "", name, real, (long long)s.row, real);
        s.row += row;
    }
    return s;
}

/* Returns a C condition: the caller wants an output that is computed from the shared sums. */
static const char *sums_wanted(const struct emitted_file *e, struct arena *arena)
{
    const char *when = "";
    for (int k = 0; k < e->p->backwards; k++) {
        const struct compilation *c = e->p->backward[k].c;
        for (int o = 0; c && program_takes_sums(&c->program) && o < c->graph->outputs; o++)
            when = emit_or_name(
                arena, when,
                arena_printf(arena, "call.%s", emit_identifier(arena, e->p->arrays, c->graph->output[o].name)));
    }
    return when;
}

/* Returns the numbers of keys at which versions change, as a C initialiser such as "0, 4096". */
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

/* Returns C for the sizes of an array of the caller, separated by commas. */
static const char *sizes_of(struct arena *arena, const struct kernel_array *a)
{
    const char *sizes = "";
    for (int k = 0; k < a->rank; k++) {
        const struct array_axis *const axis = &a->axis[k];
        const char *const word = array_sizes[axis->size].word;
        sizes = arena_printf(arena, "%s%s%s", sizes, k ? ", " : "",
                             axis->block      ? arena_printf(arena, "(p->%s + %lld) / %lld", word,
                                                             (long long)axis->block - 1, (long long)axis->block)
                             : axis->constant ? array_axis_word(arena, axis)
                                              : arena_printf(arena, "p->%s", word));
    }
    return sizes;
}

/* Sets the names that the template needs for the tables of the tiles of masks. */
static void set_tiles(struct template_names *t, const struct kernel_arrays *arrays)
{
    const char *names = "", *values = "";
    int tables = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (!a->tiled) continue;
        names = arena_printf(t->arena, "%s%s%s", names, tables ? ", " : "", a->member);
        values = arena_printf(t->arena,
                              "%s%s    bytes = bytes_plus(bytes, set_table(&call->mask_tiles[%d], call->params ? "
                              "call->params->%s : NULL, call->params ? call->params->%s : NULL, %d, "
                              "(const int64_t[]){%s}, call->at.%s, at ? at + bytes : NULL));",
                              values, tables ? "\n" : "", tables, a->member, a->table, a->rank - 2,
                              sizes_of(t->arena, a), a->member);
        tables++;
    }
    template_set_number(t, "TILES", tables);
    template_set(t, "TILED_NAMES", names);
    template_set(t, "TILE_VALUES", values);
}

static void set_prefix_sums(struct template_names *t, const struct emitted_file *e)
{
    const int sums = kernel_array_find(e->p->arrays, prefix_array_name(PREFIX_OF_KEY));
    template_set_number(t, "PREFIX_SUMS", e->p->prefixes);
    template_set_number(t, "CORRECTED", e->p->corrects);
    if (e->p->prefixes + e->p->corrects) template_set(t, "REAL", emit_real(e->p->spec->dtype));
    if (!e->p->prefixes) template_set_number(t, "PREFIX_GRADIENTS", 0);
    if (!e->p->prefixes) return;
    const char *const wanted = emit_prefix_wanted(e, t->arena);
    template_set_number(t, "PREFIX_GRADIENTS", *wanted != 0);
    template_set(t, "PREFIX_WANTED", wanted);
    const int64_t row = array_row_elements(&e->p->arrays->array[sums]);
    template_set_number(t, "PREFIX_ROW", row);
    template_set_number(t, "SUM_TOKENS", row > 1 ? 512 : 4096); /* This limits the workspace of a call with a state. */
}

static void set_backward(struct template_names *t, const struct emitted_file *e)
{
    const bool totals = emit_has_totals(e, t->arena);
    template_set_number(t, "BACKWARD", e->p->parts > 0);
    const bool tiled = emit_has_tiled(e->p->arrays), first = e->p->prefixes || e->p->corrects;
    template_set_number(t, "SHARED", first || tiled);
    template_set_number(t, "SIZES", e->p->parts > 0 || first || tiled || (e->p->spec->emit & EMIT_DECODE));
    template_set_number(t, "TASKS_OF_KEYS", e->p->parts > 0 || first);
    bool of_batch = false;
    for (int k = 0; k < e->p->backwards; k++) {
        const struct compilation *const c = e->p->backward[k].c;
        of_batch |= c && emit_units_of(c->loops, program_is_backward(&c->program)) &&
                    emit_tasks_over(c->loops, SIZE_BATCH);
    }
    template_set_number(t, "TOTALS", totals);
    template_set_number(t, "UNITS_OF_BATCH", of_batch);
    if (!e->p->parts) template_set_number(t, "IDLE", 0);
    const struct sums sums = sums_of(e, t->arena);
    template_set(t, "ROW_MEMBERS",
                 arena_printf(t->arena, "%s%s%s", row_members(e, t->arena),
                              totals ? emit_total_members(e, t->arena) : "", sums.members));
    template_set_number(t, "IN_ORDER", sums.row > 0);
    if (totals) {
        template_set(t, "TOTAL_VALUES", emit_total_values(e, t->arena));
        template_set(t, "LEFT_VALUES", emit_left_values(e, t->arena));
    }
    if (!e->p->parts) return;
    set_arrays(t, e->p->arrays, ENTRY_BACKWARD);
    template_set_number(t, "SAVED_COUNT", e->p->saved);
    template_set_number(t, "ROW_SUM_COUNT", e->p->row_sums);
    template_set_number(t, "PARTS", e->p->parts);
    template_set(t, "PART_LENGTHS", lengths(e->p->backward, e->p->backwards, t->arena));
    template_set(t, "SAVED_VALUES", row_values(e, t->arena, "saved", e->p->saved, "saved"));
    template_set(t, "ROW_SUM_VALUES", row_values(e, t->arena, "row", e->p->row_sums, "rows"));
    template_set(t, "PART_CALLS", emit_part_calls(e, t->arena));
    template_set_number(t, "ROW_OF_SUMS", sums.row);
    template_set(t, "SUMS_VALUES", sums.values);
    template_set(t, "SUMS_WANTED", sums_wanted(e, t->arena));
    template_set(t, "REAL", emit_real(e->p->spec->dtype));
}

/* ---- parameters ---- */

/* Returns the extents of a parameter as a C initialiser, such as "ATTN_BATCH, 64". */
static const char *extents(struct arena *arena, const struct kernel_array *a)
{
    const char *made = "";
    for (int k = 0; k < a->rank; k++) {
        const struct array_axis *const axis = &a->axis[k];
        const char *const size = array_sizes[axis->size].name;
        made = arena_printf(arena, "%s%s%s%s", made, k ? ", " : "", axis->constant || axis->block ? "" : "ATTN_",
                            axis->block
                                ? arena_printf(arena, "ATTN_BLOCKS(ATTN_%s, %lld)", size, (long long)axis->block)
                            : axis->constant ? array_axis_word(arena, axis)
                                             : size);
    }
    return made;
}

/* Returns the number of the array's axis that has this size, or -1. */
static int axis_of_size(const struct kernel_array *a, enum array_size size)
{
    for (int k = 0; k < a->rank; k++)
        if (!a->axis[k].constant && !a->axis[k].block && a->axis[k].size == size) return k;
    return -1;
}

/* Returns C for the stride of an axis in struct call, or "0" if `axis` is -1. */
static const char *stride_of(struct arena *arena, const struct kernel_array *a, int axis)
{
    return axis < 0 ? "0" : arena_printf(arena, "call->at.%s[%d]", a->member, axis);
}

/* Returns statements that set the pointer and the strides of a parameter with rows in struct call. */
static const char *param_rows(struct arena *arena, const struct kernel_array *a)
{
    const int heads = axis_of_size(a, ARRAY_SIZE_HEADS);
    return arena_printf(
        arena,
        "    call->%s = call->params->%s;\n"
        "    call->%s = (struct attn_strides){%s, %s, %s};",
        a->identifier, a->member, a->strides, stride_of(arena, a, axis_of_size(a, ARRAY_SIZE_BATCH)),
        stride_of(arena, a, heads < 0 ? axis_of_size(a, ARRAY_SIZE_KV_HEADS) : heads),
        stride_of(arena, a, axis_of_size(a, a->role == ROLE_PER_QUERY ? ARRAY_SIZE_N_Q : ARRAY_SIZE_N_K)));
}

/* Returns a statement that fills in the strides of an array of the caller in struct call. */
static const char *param_strides(struct arena *arena, const struct kernel_array *a)
{
    return arena_printf(
        arena,
        "    if (!error)\n"
        "        error = fill_strides(call->at.%s, given ? given->%s : NULL, (const int64_t[]){%s}, %d,\n"
        "            params->%s, sizeof *params->%s);",
        a->member, a->member, sizes_of(arena, a), a->rank, a->member, a->member);
}

/* Returns a C condition that a row of the array is not contiguous. A state needs contiguous rows of constant size.
   Returns NULL if the condition cannot hold. */
static const char *row_is_apart(struct arena *arena, const struct kernel_array *a)
{
    const struct array_axis *const last = &a->axis[a->rank - 1];
    if (!array_grows(a) || a->role != ROLE_PER_KEY || !last->constant || last->extent == 1) return NULL;
    return arena_printf(arena, "call.at.%s[%d] != 1", a->member, a->rank - 1);
}

/* Sets the statements that move the pointers to integers so that they begin at sequence b. */
static void set_integers_of_sequences(struct template_names *t, const struct kernel_arrays *all)
{
    const char *moves = "";
    for (int k = 0; k < all->count; k++) {
        const struct kernel_array *const a = &all->array[k];
        const bool of_batch = a->rank > 0 && !a->axis[0].constant && a->axis[0].size == ARRAY_SIZE_BATCH;
        if (!dtype_is_integer(a->dtype) || a->declared || !of_batch) continue;
        moves = arena_printf(t->arena, "%s%s    g->params.%s += b", moves, *moves ? "\n" : "", a->member);
        for (int n = 1; n < a->rank; n++) {
            const struct array_axis *const axis = &a->axis[n];
            const bool keys = !axis->constant &&
                              axis->size == ARRAY_SIZE_N_K; /* The axis has every position up to the capacity. */
            moves = arena_printf(t->arena, "%s * %s%s", moves, axis->constant ? "" : "call->p.",
                                 keys ? "capacity" : array_axis_word(t->arena, axis));
        }
        moves = arena_printf(t->arena, "%s;", moves);
    }
    template_set_number(t, "INTEGERS_OF_SEQUENCES", *moves != 0);
    template_set(t, "INTEGERS_FROM_SEQUENCE", moves);
}

static void set_params(struct template_names *t, const struct emitted_file *e)
{
    const struct kernel_arrays *const all = e->p->arrays;
    const char *missing = "!params", *table = "", *rows = "", *strides = "", *apart = "";
    const struct kernel_array *const ids = emit_param_of_ids(all);
    const char *const member = emit_strides_member(all);
    int params = 0;
    for (int k = 0; k < all->count; k++) {
        const struct kernel_array *const a = &all->array[k];
        if (a->place != PLACE_PARAMS) continue;
        params++;
        missing = arena_printf(t->arena, "%s || !params->%s", missing, a->member);
        table = arena_printf(
            t->arena, "%s%s    {\"%s\", %s, %d, {%s}, offsetof(struct %s_params, %s), %d, %s, %s, %d},", table,
            *table ? "\n" : "", a->name, emit_runtime_dtype(a->dtype), a->rank, a->rank ? extents(t->arena, a) : "0",
            e->p->spec->name, a->member, a->origin != ORIGIN_LEARNED,
            !a->strided ? "ATTN_CONTIGUOUS"
                        : arena_printf(t->arena, "offsetof(struct %s_strides, %s)", e->p->spec->name, a->member),
            a->table ? arena_printf(t->arena, "offsetof(struct %s_params, %s)", e->p->spec->name, a->table) : "0",
            array_grows(a));
        if (a->strided)
            strides = arena_printf(t->arena, "%s%s%s", strides, *strides ? "\n" : "", param_strides(t->arena, a));
        const char *const when = row_is_apart(t->arena, a);
        if (when) apart = arena_printf(t->arena, "%s%s%s", apart, *apart ? " || " : "", when);
        if (a->rows) rows = arena_printf(t->arena, "%s%s%s", rows, *rows ? "\n" : "", param_rows(t->arena, a));
    }
    template_set_number(t, "PARAMS", params);
    template_set_number(t, "STRIDED", member != NULL);
    if (member) template_set(t, "STRIDES_MEMBER", member);
    template_set(t, "STRIDE_VALUES", strides);
    template_set(t, "PARAM_ROW_VALUES", rows);
    template_set_number(t, "ROWS_APART", *apart != 0);
    template_set(t, "ROW_IS_APART", apart);
    template_set(t, "PARAM_MISSING", missing);
    template_set(t, "PARAM_TABLE", table);
    template_set(t, "PARAM_POINTER", params ? "param" : "NULL");
    template_set_number(t, "PARAM_COUNT", params);
    template_set_number(t, "IDS", ids != NULL);
    if (ids) {
        template_set(t, "IDS_PARAM", ids->member);
        template_set(t, "IDS_SEQUENCE",
                     ids->strided ? arena_printf(t->arena, "call->at.%s[0]", ids->member) : "p->n_k");
        template_set(t, "IDS_ROW", ids->strided ? arena_printf(t->arena, "call->at.%s[1]", ids->member) : "1");
    }
    template_set_number(t, "INTEGERS", emit_has_params_of(all, DTYPE_I32));
    bool integers = false, flags = false, own = false;
    for (int k = 0; k < all->count; k++) {
        own |= all->array[k].integer_rows;
        integers |= all->array[k].declared && all->array[k].dtype == DTYPE_I32;
        flags |= all->array[k].declared && all->array[k].dtype == DTYPE_U8;
    }
    template_set_number(t, "OWN_PARAMS", own && e->p->spec->emit & EMIT_DECODE);
    template_set_number(t, "DECLARED", integers);
    template_set_number(t, "DECLARED_FLAGS", flags);
    template_set_number(t, "OF_CALLER", integers || flags);
    template_set_number(t, "FLAGS", emit_has_params_of(all, DTYPE_U8));
    bool lists = false;
    for (int k = 0; k < all->count; k++) lists |= emit_has_lists(&all->array[k]);
    template_set_number(t, "LISTS", lists);
    set_integers_of_sequences(t, all);
}

/* ---- the whole file ---- */

int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds)
{
    enum { FEW = 256 };
    return first + read_back + (chunk ? chunk + (folds ? chunk : 0) : read_back > FEW ? read_back : FEW);
}

/* C for arrays that have a row of reals per token, in calls with a state. */
struct rows_text {
    struct arena *arena;
    int count;
    const char *bytes, *heads, *pointers, *strides, *row_strides;
    const char *types;  /* the type and the elements of a row that is rounded, or 0, 0 */
    const char *values; /* statements that set the arrays in struct call */
};

/* Returns the number of the axis of heads, or -1. */
static int axis_of_heads(const struct kernel_array *a)
{
    const int heads = axis_of_size(a, ARRAY_SIZE_HEADS);
    return heads < 0 ? axis_of_size(a, ARRAY_SIZE_KV_HEADS) : heads;
}

/* Adds C for an array of integers, except what all arrays have. Kernels read it through the parameters, at a subscript
   that counts from the first sequence of the batch. */
static void add_integer_rows(struct rows_text *x, const struct kernel_array *a)
{
    const int axis[] = {axis_of_size(a, ARRAY_SIZE_BATCH), axis_of_heads(a), axis_of_size(a, ARRAY_SIZE_N_K)};
    static const char *const member[] = {"batch", "head", "row"};
    const char *const comma = x->count ? ", " : "", *given = "";
    x->values = arena_printf(
        x->arena, "%s%s    call->own.%s = (const %s *)((uintptr_t)rows->at[%d]%s);", x->values, *x->values ? "\n" : "",
        a->member, emit_stored(a->dtype), x->count,
        axis[0] < 0
            ? ""
            : arena_printf(x->arena, " - (uintptr_t)(call->first_sequence * rows->strides[%d].batch)", x->count));
    for (int k = 0; k < 3; k++) {
        given = arena_printf(x->arena, "%s%s%s", given, k ? ", " : "",
                             axis[k] < 0 ? "0" : arena_printf(x->arena, "call->at.%s[%d]", a->member, axis[k]));
        if (axis[k] >= 0)
            x->values = arena_printf(x->arena,
                                     "%s\n    call->at.%s[%d] = rows->strides[%d].%s / (int64_t)sizeof *call->own.%s;",
                                     x->values, a->member, axis[k], x->count, member[k], a->member);
    }
    x->pointers = arena_printf(x->arena, "%s%s(unsigned char *)(uintptr_t)call->params->%s", x->pointers, comma,
                               a->member);
    x->strides = arena_printf(x->arena, "%s%sin_bytes((struct attn_strides){%s}, sizeof *call->params->%s)", x->strides,
                              comma, given, a->member);
    x->row_strides = arena_printf(x->arena, "%s%scall.at.%s[%d]", x->row_strides, comma, a->member, axis[2]);
    x->count++;
}

/* Adds C for an array whose rows come from the caller. */
static void add_given_rows(struct rows_text *x, const struct kernel_array *a)
{
    const char *const comma = x->count ? ", " : "", *const type = emit_stored(a->dtype);
    const bool rounded = a->appended != a->dtype;
    const long long elements = (long long)array_row_elements(a);
    x->bytes = dtype_is_packed(a->dtype)
                   ? arena_printf(x->arena, "%s%s%lld", x->bytes, comma, (long long)dtype_row_bytes(a->dtype, elements))
                   : arena_printf(x->arena, "%s%s%lld * (int64_t)sizeof(%s)", x->bytes, comma, elements, type);
    x->types = arena_printf(x->arena, "%s%s{%s, %lld}", x->types, comma, emit_runtime_dtype(a->dtype),
                            rounded ? elements : 0);
    x->heads = arena_printf(x->arena, "%s%s%s", x->heads, comma,
                            a->shared                                ? "key_heads"
                            : array_has_size(a, ARRAY_SIZE_KV_HEADS) ? "kv_heads"
                            : array_has_size(a, ARRAY_SIZE_HEADS)    ? "heads"
                                                                     : "1");
    if (a->integer_rows) {
        add_integer_rows(x, a);
        return;
    }
    x->pointers = arena_printf(x->arena, "%s%s(unsigned char *)(uintptr_t)call->%s", x->pointers, comma, a->identifier);
    x->strides = arena_printf(x->arena, "%s%sin_bytes(call->%s, sizeof%s%s%s)", x->strides, comma, a->strides,
                              rounded ? "(" : " *call->", rounded ? emit_stored(a->appended) : a->identifier,
                              rounded ? ")" : "");
    x->row_strides = arena_printf(x->arena, "%s%scall.%s.row", x->row_strides, comma, a->strides);
    x->values = arena_printf(x->arena,
                             "%s%s    call->%s = (const %s *)(const void *)rows->at[%d];\n"
                             "    call->%s = in_elements(rows->strides[%d], sizeof *call->%s);",
                             x->values, *x->values ? "\n" : "", a->identifier, type, x->count, a->strides, x->count,
                             a->identifier);
    if (!array_has_size(a, ARRAY_SIZE_KV_HEADS) && !array_has_size(a, ARRAY_SIZE_HEADS))
        x->values = arena_printf(x->arena, "%s\n    call->%s.head = 0; /* all heads share the rows */", x->values,
                                 a->strides);
    x->count++;
}

/* Adds an array that a call computes from rows of the caller. */
static void add_computed_rows(struct rows_text *x, const struct kernel_array *a)
{
    const long long row = (long long)array_row_elements(a);
    x->bytes = arena_printf(x->arena, "%s, %lld * (int64_t)sizeof(%s)", x->bytes, row, emit_stored(a->dtype));
    x->types = arena_printf(x->arena, "%s, {%s, 0}", x->types, emit_runtime_dtype(a->dtype));
    x->heads = arena_printf(x->arena, "%s, heads", x->heads);
    x->pointers = arena_printf(x->arena, "%s, NULL", x->pointers);
    x->strides = arena_printf(x->arena, "%s, {0, 0, 0}", x->strides);
    x->row_strides = arena_printf(x->arena, "%s, %lld", x->row_strides, row);
    x->count++;
}

static bool has_rows_of_keys(const struct kernel_array *a)
{
    return array_grows(a) && a->role == ROLE_PER_KEY && a->access[ENTRY_FORWARD] == ACCESS_READ;
}

/* Sets the template's names for arrays with a row of reals per token.
   - A state stores inputs, parameters, corrected values and prefix sums, in this order. It does not store parameters
   that only prefix sums need.
   - An array within another array is stored as part of it. If `prepared`, both arrays are stored, because the state
     has the outer array in another form. */
static void set_kept_arrays(struct template_names *t, const struct kernel_arrays *arrays, bool prepared, bool corrects)
{
    struct rows_text x = {t->arena, 0, "", "", "", "", "", "", ""};
    int sums = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (!has_rows_of_keys(a) || a->of_terms) continue;
        if (a->place == PLACE_WITHIN && !prepared) /* The array that contains this one is stored before it. */
            x.values = arena_printf(t->arena, "%s\n    call->%s = call->%s;\n    call->%s = call->p.%s;", x.values,
                                    a->member, a->within, a->strides, a->within);
        else
            add_given_rows(&x, a);
    }
    const int corrected = corrects ? kernel_array_find(arrays, corrected_values) : -1;
    if (corrected >= 0) add_computed_rows(&x, &arrays->array[corrected]);
    for (int k = 0; k < arrays->count; k++) {
        const enum prefix_array found = prefix_array_find(arrays->array[k].name);
        if (found != PREFIX_OF_KEY && found != PREFIX_OF_KEY_LOW) continue;
        add_computed_rows(&x, &arrays->array[k]);
        sums++;
    }
    template_set_number(t, "KEPT_ARRAYS", x.count);
    template_set_number(t, "SUM_ARRAYS", sums);
    template_set(t, "KEPT_VALUES", x.values);
    x.values = "";
    for (int k = 0; k < arrays->count; k++)
        if (has_rows_of_keys(&arrays->array[k]) && arrays->array[k].of_terms) add_given_rows(&x, &arrays->array[k]);
    template_set_number(t, "GIVEN_ARRAYS", x.count);
    template_set(t, "KEPT_ROW_BYTES", x.bytes);
    template_set(t, "KEPT_TYPES", x.types);
    template_set(t, "KEPT_HEADS", x.heads);
    template_set(t, "KEPT_POINTERS", x.pointers);
    template_set(t, "KEPT_STRIDES", x.strides);
    template_set(t, "KEPT_ROW_STRIDES", x.row_strides);
    template_set(t, "TERMS_VALUES", x.values);
}

/* Sets the statements that advance the pointers of parameters with a row per query. */
static void set_rows_of_queries(struct template_names *t, const struct kernel_arrays *arrays)
{
    const char *sequences = "", *rows = "";
    int count = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if ((!is_param_of_rows(a) && !a->integer_rows) || a->role != ROLE_PER_QUERY) continue;
        const char *const end = count++ ? "\n" : "";
        if (a->integer_rows) { /* kernels count the sequences of such an array from the first one of the batch */
            const int row = axis_of_size(a, ARRAY_SIZE_N_Q), batch = axis_of_size(a, ARRAY_SIZE_BATCH);
            rows = arena_printf(t->arena, "%s%s    call->own.%s += m * call->at.%s[%d];", rows, end, a->member,
                                a->member, row);
            if (batch >= 0)
                sequences = arena_printf(t->arena,
                                         "%s%s    if (call->p.cu_seqlens) call->own.%s += call->p.cu_seqlens[b] * "
                                         "call->at.%s[%d] - b * call->at.%s[%d];",
                                         sequences, *sequences ? "\n" : "", a->member, a->member, row, a->member,
                                         batch);
            continue;
        }
        sequences = arena_printf(t->arena, "%s%s    call->%s += before_sequence(&call->p, &call->%s, b);", sequences,
                                 *sequences ? "\n" : "", a->identifier, a->strides);
        rows = arena_printf(t->arena, "%s%s    call->%s += m * call->%s.row;", rows, end, a->identifier, a->strides);
    }
    template_set_number(t, "ROWS_OF_QUERIES", count);
    template_set(t, "SEQUENCES_OF_ROWS_OF_QUERIES", sequences);
    template_set(t, "MORE_ROWS_OF_QUERIES", rows);
}

/* Sets the template's names for outputs that are members of struct attn_problem. Calls with a state advance their
 * pointers. */
static void set_results(struct template_names *t, const struct emitted_file *e)
{
    const struct kernel_arrays *const arrays = e->p->arrays;
    const char *sequences = "", *rows = "";
    int count = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (a->place != PLACE_PROBLEM) continue;
        const char *const end = count++ ? "\n" : "";
        sequences = arena_printf(t->arena, "%s%s    if (call->%s) call->%s += before_sequence(&call->p, &call->%s, b);",
                                 sequences, end, a->member, a->member, a->strides);
        rows = arena_printf(t->arena, "%s%s    if (call->%s) call->%s += m * call->%s.row;", rows, end, a->member,
                            a->member, a->strides);
    }
    template_set_number(t, "RESULTS", count);
    if (!count) return;
    static const char *const kind[] = {[STATISTICS_ABSENT] = "ATTN_NO_STATISTICS",
                                       [STATISTICS_LOGARITHMS] = "ATTN_LOGARITHMS",
                                       [STATISTICS_DENOMINATORS] = "ATTN_DENOMINATORS",
                                       [STATISTICS_UNDIVIDED] = "ATTN_UNDIVIDED"};
    template_set(t, "STATISTICS", kind[spec_statistics(e->p->spec)]);
    template_set(t, "RESULTS_OF_SEQUENCES", sequences);
    template_set(t, "RESULTS_OF_ROWS", rows);
}

static const char *distance(struct arena *arena, int64_t n)
{
    return n == INT64_MAX ? "INT64_MAX" : arena_printf(arena, "%lld", (long long)n);
}

static void set_distances(struct template_names *t, const struct distances *d)
{
    template_set(t, "BEFORE", distance(t->arena, d->before));
    template_set(t, "AFTER", distance(t->arena, d->after));
    template_set(t, "PERIOD", distance(t->arena, d->period));
    template_set_number(t, "NAMES_HEADS", d->names_heads);
    template_set(t, "SAVED_POWER", distance(t->arena, d->saved_power));
}

static void set_state(struct template_names *t, const struct emitted_file *e)
{
    const struct emission *const p = e->p;
    const bool decodes = p->spec->emit & EMIT_DECODE, carried = p->extends > 0,
               ids = emit_param_of_ids(p->arrays) && !emit_param_of_ids(p->arrays)->declared;
    template_set_number(t, "DECODE", decodes);
    template_set_number(t, "CARRIED", carried);
    template_set_number(t, "PAGED", p->paged);
    template_set_number(t, "APPENDS", p->appends > 0);
    template_set_number(t, "ROWS_MOVE", p->rows_move);
    template_set_number(t, "READ_FIRST", p->read_first);
    template_set_number(t, "NUMBERED", emit_numbers_sequences(p->spec));
    template_set_number(t, "TRUNCATES", emit_truncates(p->spec));
    if (!decodes) return;
    template_set_number(t, "FOLDS", p->folds);
    template_set_number(t, "TRANSITIONS", p->foldables > 0);
    template_set_number(t, "JOINS", p->folds || p->foldables > 0);
    template_set_number(t, "MOVES", p->moves);
    template_set_number(t, "TERMS_MOVE", p->terms_move);
    template_set_number(t, "PREPARED", p->prepares > 0);
    template_set_number(t, "ATTENDS", p->attends > 0);
    template_set(t, "ATTENDING", p->attends ? "attending" : "version");
    template_set_number(t, "ANY_ORDER", p->any_order);
    template_set_number(t, "BY_CAPACITY", p->read_back < 0);
    template_set_number(t, "READ_BACK", p->read_back);
    template_set_number(
        t, "ROWS_KEPT",
        emit_state_rows(p->read_first, p->read_back, carried ? p->extend[0].c->state.chunk : 0, p->folds));
    const bool uncopied = p->read_first == 0 && p->prepares == 0 && !spec_has_storage(p->spec) && p->read_back >= 0 &&
                          (!carried || p->read_back == 0),
               rounds = p->prepares > 0 && p->spec->k_storage;
    template_set_number(t, "UNCOPIED", uncopied);
    template_set_number(t, "ROUNDS_PREPARED", rounds);
    bool several = emit_by_length(e->version, e->versions), linear = false;
    for (int k = 0; k < e->versions; k++) several |= e->version[k].few != NULL;
    for (int k = 0; k < e->compilations; k++) linear |= e->c[k]->program.linear;
    template_set_number(t, "EXTEND_BY_LENGTH", !carried && several);
    template_set_number(t, "BOUNDED", p->read_back < 0 || ids);
    template_set_number(t, "IDS_OF_CAPACITY", ids);
    template_set_number(t, "IDS_IN_ORDER", ids && linear);
    template_set(t, "FINGERPRINT", arena_printf(t->arena, "UINT64_C(0x%016llx)", (unsigned long long)p->fingerprint));
    set_kept_arrays(t, p->arrays, p->prepares > 0, p->appends > 0);
    set_rows_of_queries(t, p->arrays);
}

static void set_positions(struct template_names *t, const struct emitted_file *e)
{
    const bool positions = emit_any_positions(e->c, e->compilations);
    template_set_number(t, "POSITIONS", positions);
    template_set(t, "VERSION_KEYS", positions ? "keys_of_version(&call.p)" : "call.p.n_k");
    template_set(t, "PART_KEYS", positions ? "keys_of_version(&call->p)" : "call->p.n_k");
}

/* Returns whether rows in this type are widened by a function of f16, or have a scale of f16. */
static bool widens_f16(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_FP8 || dtype == DTYPE_Q8_0 || dtype == DTYPE_Q4_0;
}

/* Sets the template's names for the types of rows in memory. */
static void set_storage(struct template_names *t, const struct spec *spec)
{
    const enum dtype type[] = {spec->dtype, spec_type_of_keys(spec), spec_type_of_values(spec)};
    bool f16 = false, bf16 = false;
    for (int k = 0; k < 3; k++) {
        f16 |= widens_f16(type[k]);
        bf16 |= type[k] == DTYPE_BF16;
    }
    template_set_number(t, "WIDENS", f16 || bf16 || dtype_is_narrow(spec->dtype));
    template_set_number(t, "WIDENS_F16", f16);
    template_set_number(t, "WIDENS_BF16", bf16);
    template_set_number(t, "STORES", spec_has_storage(spec));
    template_set_number(t, "CHECKS_VALUES",
                        spec->values_are_keys && (!spec_has_storage(spec) || spec->emit & EMIT_DECODE));
    template_set(t, "CHECK_GIVEN",
                 spec_has_storage(spec)  ? "check_stored"
                 : spec->values_are_keys ? "check_problem"
                                         : "attn_problem_check");
    template_set(t, "KEY_DTYPE", emit_runtime_dtype(type[1]));
    template_set(t, "VALUE_DTYPE", emit_runtime_dtype(type[2]));
    template_set_number(t, "KEY_ROW", dtype_row_units(type[1], spec->head_dim));
    template_set_number(t, "VALUE_ROW", dtype_row_units(type[2], spec->value_dim));
}

static struct template_names names_of(const struct emitted_file *e)
{
    const struct compilation *c = e->c[0];
    struct template_names t = {.arena = c->graph->module->arena};
    template_set(&t, "SPEC_", arena_printf(t.arena, "%s_", c->spec->name));
    template_set_number(&t, "HEAD_DIM", c->spec->head_dim);
    template_set_number(&t, "VALUE_DIM", c->spec->value_dim);
    template_set_number(&t, "SAME_HEADS", c->spec->rate != NULL);
    template_set_number(&t, "MAX_LENGTH", c->spec->max_length);
    template_set_number(&t, "VALUES_ARE_KEYS", c->spec->values_are_keys);
    set_distances(&t, &e->p->distances);
    template_set(&t, "CHECK_PROBLEM", c->spec->values_are_keys ? "check_problem" : "attn_problem_check");
    template_set_number(&t, "SEEDED", c->spec->dropout > 0 && c->spec->seed);
    template_set(&t, "SEED_OF_SPEC", arena_printf(t.arena, "UINT64_C(%llu)", (unsigned long long)c->spec->seed));
    template_set_number(&t, "SOMETIMES_SLOWER", emit_any_slower(e->c, e->compilations));
    template_set_number(&t, "PHASES", emit_any_in_phases(e->c, e->compilations));
    template_set(&t, "FOLD_GROUPS", arena_printf(t.arena, "%d", FOLD_GROUPS));
    template_set_number(&t, "WAITS", emit_any_waits(e->c, e->compilations));
    template_set_number(&t, "FAR_QUERIES", emit_any_apart(e->c, e->compilations));
    template_set_number(&t, "REMEMBERS", emit_any_remembers(e->c, e->compilations) ? MAX_REMEMBERED : 0);
    template_set_number(&t, "FADES", emit_any_fades(e->c, e->compilations));
    template_set_number(&t, "SHARES", !c->spec->values_are_keys);
    template_set(&t, "STORED", emit_stored(c->spec->dtype));
    const bool converts = c->spec->dtype != dtype_of_sums(c->spec->dtype);
    template_set(&t, "WIDENED", converts ? arena_printf(t.arena, "widened_%s", dtype_name(c->spec->dtype)) : "");
    template_set(&t, "NARROWED", converts ? "narrowed" : "");
    set_storage(&t, c->spec);
    template_set_number(&t, "BF16", c->spec->dtype == DTYPE_BF16);
    template_set_number(&t, "F16", c->spec->dtype == DTYPE_F16);
    template_set(&t, "ARRAY_MEMBERS", call_members(t.arena, e->p, e->p->parts > 0));
    set_arrays(&t, e->p->arrays, ENTRY_FORWARD);
    set_positions(&t, e);
    set_params(&t, e);
    set_tiles(&t, e->p->arrays);
    set_prefix_sums(&t, e);
    set_backward(&t, e);
    set_state(&t, e);
    set_results(&t, e);
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
    emit_params_functions(e->p, &params);
    emit_choice(e, &t);
    emit_choice_of_first(e, &t);
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
    if (e->p->extends) emit_choice_of_extend(e, &t);
    if (e->p->attends) emit_choice_of_attending(e, &t);
    if (c->spec->emit & EMIT_DECODE) template_set(&t, "STATE_FUNCTIONS", template_fill(&t, kernel_state));
    text_add(out, "%s", template_fill(&t, kernel_entry));
}
