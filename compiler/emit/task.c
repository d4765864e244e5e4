/* Prints a function: its head, the declarations that its body uses, and its body. */
#include "task.h"

#include <ctype.h>
#include <string.h>

/* Returns whether the C contains `word` as an identifier that is not the name of a member. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool begins = at == text ||
                      (!isalnum((unsigned char)at[-1]) && at[-1] != '_' && at[-1] != '>' && at[-1] != '.');
        if (begins && !isalnum((unsigned char)at[n]) && at[n] != '_') return true;
    }
    return false;
}

static const char *without_comments(struct arena *arena, const char *c)
{
    char *made = arena_copy(arena, c), *to = made;
    for (const char *comment; (comment = strstr(c, "/*")); c = strstr(comment, "*/") + 2) {
        memcpy(to, c, (size_t)(comment - c));
        to += comment - c;
    }
    memcpy(to, c, strlen(c) + 1);
    return made;
}

/* ---- pieces of C ---- */

struct text *task_text(const struct emitter *x)
{
    return arena_alloc(x->m->arena, sizeof(struct text));
}

const char *task_indented(struct arena *arena, const struct text *lines, int deeper)
{
    struct text made = {0};
    for (const char *line = lines->data ? lines->data : ""; *line;) {
        const size_t length = strcspn(line, "\n");
        text_add(&made, "%s%*s%.*s", made.length ? "\n" : "", length ? deeper : 0, "", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return text_take(&made, arena);
}

/* ---- declarations at the beginning of a function ---- */

/* Returns whether a task has a single index of an axis of this size. */
static bool task_fixes(const struct emitter *x, enum size_source source)
{
    for (int k = 0; k < x->m->axes; k++)
        if (x->m->axis[k].source == source && x->task_axis[k]) return true;
    return false;
}

/* Returns whether the array has an axis of this size that the task does not fix. If so, the array is read at several
   indices. */
static bool reads_all(const struct emitter *x, const struct array *a, enum size_source source)
{
    for (int k = 0; k < a->rank; k++) {
        const enum size_source own = x->m->axis[a->axes[k]].source;
        if (own == SIZE_HEADS && source == SIZE_KV_HEADS) return true;
        if (own == source && !x->task_axis[a->axes[k]]) return true;
    }
    return false;
}

/* Returns C for the struct attn_strides of an array with a row per token. */
static const char *strides_of(const struct emitter *x, const struct array *a)
{
    const char *name = emit_local(x, a->name);
    const struct kernel_array *const param = emit_strided_rows(x, a);
    return emit_format(x, "call->array[ARRAY_%s].strides", param ? param->identifier : name);
}

/* Returns C for the address of the first element of an array of a call. */
static const char *first_element(const struct emitter *x, const struct array *a, const char *name)
{
    return emit_format(x, "(%s%s *)call->array[ARRAY_%s].at", a->kind == ARRAY_OUTPUT ? "" : "const ",
                       dtype_c_type(a->dtype), name);
}

/* Returns the member of struct attn_problem with the number of rows of the sums of a head. */
static const char *rows_of_sums(const struct emitter *x, const struct array *a)
{
    return axes_have(x->m, a->rank, a->axes, SIZE_N_Q) ? "n_q" : "n_k";
}

/* Returns C for the address of an array that has numbers per token, at the task's batch index and head. */
static const char *address_of_rows(struct emitter *x, const struct array *a, const char *name)
{
    const bool members = emit_has_members(x, a), rows = emit_of_rows(x, a) && !emit_strided_rows(x, a),
               b = task_fixes(x, SIZE_BATCH) && !reads_all(x, a, SIZE_BATCH),
               own = emit_strided_rows(x, a) && array_own_heads(emit_strided_rows(x, a)),
               g = task_fixes(x, SIZE_KV_HEADS) && !reads_all(x, a, SIZE_KV_HEADS) && !own,
               m = task_fixes(x, SIZE_MEMBERS);
    const char *strides = strides_of(x, a), *index = emit_head_index(x, a, "g"),
               *head = !members ? index
                       : m      ? emit_format(x, "(%s * members + m)", index)
                                : emit_format(x, "%s * members", index),
               *made = "", *const first = first_element(x, a, name);
    if (emit_sums_of_queries(x, a))
        return emit_format(x, "%s + (b * call->p.heads + %s) * call->p.%s * %lld", first, head, rows_of_sums(x, a),
                           (long long)emit_row_of_sums(x->m, a));
    if (rows && b && g) return emit_format(x, "%s + (b * call->p.heads + %s) * call->p.n_q", first, head);
    if (rows) {
        if (b) made = emit_format(x, " + b * call->p.heads * call->p.n_q");
        return emit_format(x, g ? "%s%s + %s * call->p.n_q" : "%s%s", first, made, head);
    }
    if (b) made = emit_format(x, " + b * %s.batch", strides);
    if (members && m && x->c->program.by_heads)
        return emit_format(x, "%s%s + %s * call->array[ARRAY_%s].group + m * %s.head", first, made, index, name,
                           strides);
    return emit_format(x, g ? "%s%s + %s * %s.head" : "%s%s", first, made, head, strides);
}

/* Returns C for the address of an array whose strides the caller may give. */
static const char *address_of_strided(struct emitter *x, const struct array *a)
{
    const char *const name = emit_strided(x, a)->identifier;
    const bool whole = dtype_is_integer(a->dtype) && !emit_starts_at_sequence(x, a);
    const char *made = first_element(x, a, name);
    for (int k = 0; k < a->rank && !whole; k++) {
        if (!x->task_axis[a->axes[k]]) continue;
        const char *const factor = emit_axis_of_heads(x, a, k) ? "members * " : "", *const index = emit_integer_text(
                                                                                        x, expr_index(x->m, a->axes[k]),
                                                                                        true);
        made = emit_format(x, "%s + %s * %scall->array[ARRAY_%s].stride[%d]", made, index, factor, name,
                           emit_axis_of_caller(x, a, k));
    }
    return made;
}

/* Returns C for the address of an array at the task's indices b, g and m. An index is left out if the task loops over
   its axis. */
static const char *address_of(struct emitter *x, const struct array *a)
{
    const char *name = emit_local(x, a->name);
    if (emit_has_row_strides(x, a) || emit_of_rows(x, a) || emit_strided_rows(x, a)) return address_of_rows(x, a, name);
    if (emit_strided(x, a)) return address_of_strided(x, a);
    const char *made = NULL; /* the row-major index over the leading axes */
    const bool whole = dtype_is_integer(a->dtype) && !emit_starts_at_sequence(x, a);
    for (int k = 0; k < a->rank; k++) {
        const struct axis *axis = &x->m->axis[a->axes[k]];
        bool fixed = x->task_axis[a->axes[k]] && !whole;
        const char *size = emit_size(x->m, a->axes[k]), *index = axis->name;
        /* extend moves most pointers to its first sequence, except those in `params` */
        if (fixed && axis->source == SIZE_BATCH && a->kind == ARRAY_PARAM && !emit_starts_at_first(x, a))
            index = emit_integer_text(x, expr_index(x->m, a->axes[k]), true);
        if (fixed)
            made = made ? emit_format(x, "(%s * %s + %s)", made, size, index) : index;
        else if (made)
            made = emit_format(x, "%s * %s", made, size);
    }
    const char *const first = first_element(x, a, name);
    return made ? emit_format(x, "%s + %s", first, made) : first;
}

const char *task_kept(const struct emitter *x, const char *state)
{
    return emit_format(x, "call->%s + task * %lld", state, (long long)x->l->kept);
}

/* Declares an integer if the body uses it. */
static void declare(const char *body, const char *name, const char *value, struct text *out)
{
    if (has_word(body, name)) text_add(out, "    const int64_t %s = %s;\n", name, value);
}

/* Declares the pointers that the body uses. The pointer of a tile is in the workspace. The pointer of another array
   is at the task's indices b, g and m. */
static void array_pointers(struct emitter *x, const char *body, struct text *out)
{
    for (int a = 0; a < x->l->arrays; a++) {
        const struct array *array = &x->l->array[a];
        const char *c = array->held         ? emit_held(x, array)
                        : array->remembered ? emit_format(x, "%s_kept", emit_local(x, array->name))
                                            : emit_local(x, array->name),
                   *last = emit_format(x, "last_%s", c), *whole = array->hides ? emit_ids_base(x, array) : "";
        const bool reads = has_word(body, c) || has_word(body, last), hides = *whole && has_word(body, whole);
        if (array->kind == ARRAY_TABLE || (!reads && !hides)) continue;
        if (hides)
            text_add(out, "    const %s *const %s = %s;\n", dtype_c_type(array->dtype), whole,
                     first_element(x, array, emit_local(x, array->name)));
        if (array->kind == ARRAY_TILE) {
            if (array->offset < 0) continue;
            const char *place = array_has_slots(x->l, array)   ? "share->slots"
                                : array->folded                ? task_kept(x, "folded")
                                : array->kept || array->solved ? task_kept(x, "kept")
                                : array->shared                ? "share->shared"
                                : x->phases                    ? "share->work"
                                                               : "work";
            const char *stored = dtype_c_type(array->dtype);
            const bool tiles = array->remembered &&
                               array->rank == 2; /* known tiles have a line each, others one line */
            const int64_t known = tiles ? 1 + array->remembered : array->remembered ? 1 : 0;
            if (array->remembered)
                text_add(out, "    struct remembered *const %s_%s = (struct remembered *)(void *)(%s + %lld);\n",
                         emit_local(x, array->name), tiles ? "places" : "known", place, (long long)array->offset);
            text_add(out, "    %s *const %s = (%s *)(void *)(%s + %lld); /* [", stored, c, stored, place,
                     (long long)(array->offset + 64 * known));
            if (array->remembered && !tiles) {
                text_add(out, "%lld differences] */\n", (long long)(array->remembered + array->extent[0]));
                continue;
            }
            if (tiles) text_add(out, "%lld tiles, ", (long long)array->remembered);
            for (int k = 0; k < array->rank; k++) {
                bool slots = axis_is_chunks(&x->m->axis[array->axes[k]]);
                text_add(out, "%s%s", k ? ", " : "", x->m->axis[array->axes[k]].name);
                if (!slots) text_add(out, ": %lld", (long long)array->extent[k]);
                if (k + 1 == array->rank && array->gap && !tiles)
                    text_add(out, " of %lld", (long long)(array->extent[k] + array->gap));
            }
            if (array->held) text_add(out, ", %lld times", (long long)array->held);
            text_add(out, "] */\n");
            continue;
        }
        const char *place = address_of(x, array);
        const bool contiguous = emit_of_rows(x, array) && !emit_strided_rows(x, array);
        const bool of_caller = array_of_elements(x->l, array) || emit_of_rows(x, array),
                   left = array->kind == ARRAY_INPUT && (array->sums ? !emit_sums_of_queries(x, array) : !of_caller);
        if (left || emit_is_wanted(x, array))
            place = emit_format(x, "call->array[ARRAY_%s].at%s ? %s : NULL", c,
                                array->kind == ARRAY_OUTPUT ? emit_outer_leaves(x, array) : "", place);
        if (reads)
            text_add(out, "    %s%s *const %s = %s;\n", array->kind == ARRAY_OUTPUT ? "" : "const ",
                     dtype_c_type(array->dtype), emit_has_dropped(x, array) ? last : c, place);
        const char *const strides = strides_of(x, array);
        declare(body, emit_format(x, "%s_row", c), emit_format(x, "%s.row", strides), out);
        const struct kernel_array *const strided = emit_strided(x, array);
        for (int k = 0; strided && k < strided->rank; k++)
            declare(body, emit_format(x, "%s_stride_%d", c, k),
                    emit_format(x, "call->array[ARRAY_%s].stride[%d]", strided->identifier, k), out);
        declare(body, emit_format(x, "%s_batch", c),
                contiguous ? "call->p.heads * call->p.n_q" : emit_format(x, "%s.batch", strides), out);
        declare(body, emit_format(x, "%s_head", c),
                emit_sums_of_queries(x, array) ? emit_format(x, "call->p.%s * %lld", rows_of_sums(x, array),
                                                             (long long)emit_row_of_sums(x->m, array))
                : contiguous                   ? "call->p.n_q"
                                               : emit_format(x, "%s.head", strides),
                out);
    }
}

bool task_from_last(const struct emitter *x, const struct stmt *loop)
{
    return loop->step > 1 && !loop->apart && !loop->ordered && emit_tiled(x, loop->axis);
}

/* Declares the current range of a loop over tiles, from the iteration number `number`. Returns C for the number of
   iterations. */
static const char *tile_of_iteration(struct emitter *x, const struct stmt *loop, const char *number, struct text *out)
{
    const char *const axis = x->m->axis[loop->axis].name, *const size = emit_size(x->m, loop->axis);
    const bool from_last = task_from_last(x, loop), counted = loop->apart || loop->ordered || from_last;
    task_piece(loop->apart     ? "TILE_OF_RESIDUE"
               : loop->ordered ? "TILE_IN_ORDER"
               : from_last     ? "TILE_FROM_LAST"
                               : "RANGE",
               (const struct piece_word[]){{"SIZE", .text = size},
                                           {"NUMBER", .text = number},
                                           {"FROM", .text = emit_format(x, "%s0", axis)},
                                           {"TO", .text = emit_format(x, "%s1", axis)},
                                           {"COUNT", .text = emit_format(x, "%s_count", axis)},
                                           {"STEP", .number = loop->step},
                                           {"PERIOD", .number = loop->period},
                                           {"RUN", .number = loop->step * loop->period},
                                           {"REACH", .number = (loop->step - 1) * loop->period + 1},
                                           {0}},
               out);
    return counted ? "tiles" : size;
}

/* Returns how many loops of the chain are over heads, if the first loop is over sequences, and the others are over
   heads and then perhaps over tiles. Otherwise returns 0. */
static int loops_over_heads(const struct emitter *x, const struct chain *chain)
{
    int heads = 0;
    if (chain->loops == 0 || x->m->axis[chain->loop[0]->axis].source != SIZE_BATCH) return 0;
    for (int k = 1; k < chain->loops; k++) {
        const enum size_source source = x->m->axis[chain->loop[k]->axis].source;
        const bool head = source == SIZE_KV_HEADS || source == SIZE_MEMBERS;
        if (chain->loop[k]->ordered || chain->loop[k]->apart || (!head && k + 1 < chain->loops)) return 0;
        heads += head;
    }
    return heads;
}

/* Declares `by_heads`, which is true if a thread can keep all tiles of one head, but not of all heads, so that the
   tasks of a head should follow each other. `number` is C for the number of a sequence and head. Returns C for the
   number of those that the task computes. */
static const char *sorted_by_heads(struct emitter *x, const struct chain *chain, const char *number, struct text *out)
{
    const int loops = loops_over_heads(x, chain);
    const struct array *const a = emit_first_kept_tile(x->l);
    if (!a || loops == 0) {
        text_add(out, "    const int by_heads = 0;\n");
        return number;
    }
    const char *heads = NULL;
    for (int k = 1; k <= loops; k++) {
        const char *const size = emit_size(x->m, chain->loop[k]->axis);
        heads = heads ? emit_format(x, "%s * %s", heads, size) : size;
    }
    task_piece("BY_HEADS",
               (const struct piece_word[]){{"OF_HEAD", .text = emit_kept_tiles_of_head(x, a)},
                                           {"PLACES", .number = a->remembered},
                                           {"HEADS", .text = heads},
                                           {"NUMBER", .text = number},
                                           {0}},
               out);
    return "unit";
}

/* Declares the indices of the chain's loops that occur in `users`, computed from `iteration`. If order does not
   matter, the last tile of queries comes first, because it has the most keys with a causal mask. If `sorts`, tasks may
   be in the order of heads. */
static void decode(struct emitter *x, const struct chain *chain, const char *iteration, const char *users, bool sorts,
                   struct text *out)
{
    const char *number = iteration;
    for (int k = chain->loops - 1; k >= 0; k--) {
        const struct stmt *loop = chain->loop[k];
        if (sorts && (loop->step == 1 || k == 0)) {
            number = sorted_by_heads(x, chain, number, out);
            sorts = false;
        }
        const char *axis = x->m->axis[loop->axis].name, *size = emit_size(x->m, loop->axis);
        if (axis_is_chunks(&x->m->axis[loop->axis]))
            text_add(out, "    const int64_t %s = %s;\n", axis, number);
        else if (loop->apart || loop->ordered || loop->step > 1)
            size = tile_of_iteration(x, loop, number, out);
        else if (has_word(users, axis))
            text_add(out, "    const int64_t %s = %s%s%s;\n", axis, number, k ? " % " : "", k ? size : "");
        number = emit_format(x, "%s / %s", number, size);
    }
}

/* Declares the sizes that the C text `users` names. */
static void sizes(struct emitter *x, const char *users, struct text *out)
{
    static const enum size_source given[] = {SIZE_BATCH, SIZE_KV_HEADS, SIZE_MEMBERS,   SIZE_HEADS,    SIZE_N_Q,
                                             SIZE_N_K,   SIZE_ROWS,     SIZE_FIRST_KEY, SIZE_ALL_KEYS, SIZE_SINK_MODE};
    const char *chunks = NULL;
    for (int a = 0; a < x->m->axes; a++) {
        const char *size = emit_size(x->m, a),
                   *n = size_name(x->m->axis[a].source == SIZE_CHUNKS ? SIZE_N_K : SIZE_N_Q);
        if (axis_is_chunks(&x->m->axis[a]) && has_word(users, size))
            chunks = emit_format(x, "    const int64_t %s = %s > 0 ? (%s - 1) / %lld + 1 : 1;\n", size, n, n,
                                 (long long)x->m->axis[a].extent);
    }
    for (size_t k = 0; k < sizeof given / sizeof *given; k++) {
        const char *name = size_name(given[k]);
        if (!has_word(users, name) && !(chunks && has_word(chunks, name))) continue;
        if (given[k] == SIZE_ROWS)
            text_add(out, "    const int64_t %s = call->p.heads / call->p.kv_heads * call->p.n_q;\n", name);
        else if (given[k] == SIZE_ALL_KEYS)
            text_add(out, "    const int64_t %s = call->p.%s ? call->p.%s : call->p.n_k;\n", name, name, name);
        else if (given[k] == SIZE_MEMBERS)
            text_add(out, "    const int64_t %s = call->p.heads / %s;\n", name,
                     emit_units_of(x->l, program_is_backward(&x->c->program) || program_selects(&x->c->program))
                         ? "max(call->p.kv_heads, 1)"
                         : "call->p.kv_heads");
        else
            text_add(out, "    const int64_t %s = call->p.%s%s;\n", name, name,
                     given[k] == SIZE_BATCH && emit_numbers_sequences(x->c->spec) ? " + call->other_sequences" : "");
    }
    if (chunks) text_add(out, "%s", chunks);
}

void task_function(struct emitter *x, const struct chain *heads, const struct chain *iterations, const char *head,
                   struct text *out)
{
    struct text pointers = {0}, axes = {0}, users = {0}, sized = {0}, start = {0};
    const char *body = x->out->data ? x->out->data : "", *code = without_comments(x->m->arena, body);
    array_pointers(x, code, &pointers);
    text_add(&users, "%s%s", pointers.data ? pointers.data : "", code);
    if (has_word(users.data, "query_start") && emit_has_query_start(x))
        text_add(&start, "    %s\n", emit_query_start(x));
    text_add(&users, "%s", start.data ? start.data : "");
    const bool sorts = has_word(users.data, "by_heads");
    if (sorts && iterations) text_add(&axes, "    const int by_heads = 0;\n");
    if (iterations) decode(x, iterations, "iteration", users.data, false, &axes);
    if (iterations && has_word(users.data, "chunk0")) text_add(&axes, "    const int64_t chunk0 = share->chunk0;\n");
    if (iterations && has_word(users.data, "chunk1")) text_add(&axes, "    const int64_t chunk1 = share->chunk1;\n");
    text_add(&users, "%s", axes.data ? axes.data : "");
    decode(x, heads, "task", users.data, sorts && !iterations, &axes);
    text_add(&users, "%s", axes.data ? axes.data : "");
    text_add(out, "TARGET %s void %s\n{\n", x->waits ? "LATER" : iterations ? "APART" : "static", head);
    static const char *const parameter[] = {"call", "task", "share", "work"};
    sizes(x, users.data, &sized);
    text_add(&users, "%s", sized.data ? sized.data : "");
    for (size_t k = 0; k < sizeof parameter / sizeof *parameter; k++)
        if (has_word(head, parameter[k]) && !has_word(users.data, parameter[k]))
            text_add(out, "    (void)%s;\n", parameter[k]);
    text_add(out, "%s", sized.data ? sized.data : "");
    const bool tiles = loops_on_matrix_units(x->l);
    if (!x->phases && has_word(head, "share")) text_add(&axes, "    unsigned char *const work = share->work;\n");
    text_add(out, "%s%s%s%s%s%s}\n", axes.data ? axes.data : "", start.data ? start.data : "",
             pointers.data ? pointers.data : "", tiles ? "    configure_tiles();\n" : "", body,
             tiles ? "    release_tiles();\n" : "");
    text_free(&pointers);
    text_free(&axes);
    text_free(&users);
    text_free(&sized);
    text_free(&start);
}
