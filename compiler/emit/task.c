/* The functions that do the work of a call. A form without states has one, for a task: a tile of queries of one head. A
   form with states has one for every parallel loop on a head: an iteration of that loop; and one that leads a thread
   through them, with the others or alone. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

#include <ctype.h>
#include <string.h>

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

/* C without its comments. */
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

/* ---- what the functions begin with ---- */

/* Whether the task fixes an axis of that source. */
static bool task_fixes(const struct emitter *x, enum size_source source)
{
    for (int k = 0; k < x->m->axes; k++)
        if (x->m->axis[k].source == source && x->task_axis[k]) return true;
    return false;
}

/* The strides of an array that has elements for every row. */
static const char *strides_of(const struct emitter *x, const struct array *a)
{
    const char *name = emit_name(x->m->arena, a->name);
    return arena_printf(x->m->arena, a->sums ? "call->%s_at" : "call->p.%s", name);
}

/* The same of an array that has numbers for every row. */
static const char *base_of_rows(struct emitter *x, const struct array *a, const char *name)
{
    struct arena *arena = x->m->arena;
    const bool members = emit_has_members(x, a), rows = array_of_rows(x->l, a), b = task_fixes(x, SIZE_BATCH),
               g = task_fixes(x, SIZE_KV_HEADS), m = task_fixes(x, SIZE_MEMBERS);
    const char *strides = strides_of(x, a),
               *head = !members ? "g"
                       : m      ? "(g * members + m)"
                                : "g * members",
               *made = "";
    if (emit_sums_of_queries(x, a))
        return arena_printf(arena, "call->%s + (b * call->p.heads + %s) * call->p.n_q * %lld", name, head,
                            (long long)emit_row_of_sums(x->m, a));
    if (rows && b && g) return arena_printf(arena, "call->%s + (b * call->p.heads + %s) * call->p.n_q", name, head);
    if (rows) {
        if (b) made = arena_printf(arena, " + b * call->p.heads * call->p.n_q");
        return arena_printf(arena, g ? "call->%s%s + %s * call->p.n_q" : "call->%s%s", name, made, head);
    }
    if (b) made = arena_printf(arena, " + b * %s.batch", strides);
    return arena_printf(arena, g ? "call->%s%s + %s * %s.head" : "call->%s%s", name, made, head, strides);
}

/* The offset of an array's element at the axes with one variable, for its pointer. */
static const char *base(struct emitter *x, const struct array *a)
{
    struct arena *arena = x->m->arena;
    const char *name = emit_name(arena, a->name);
    if (array_of_elements(x->l, a) || array_of_rows(x->l, a)) return base_of_rows(x, a, name);
    const char *made = NULL; /* row-major over the leading fixed axes */
    for (int k = 0; k < a->rank; k++) {
        const struct axis *axis = &x->m->axis[a->axes[k]];
        bool fixed = x->task_axis[a->axes[k]];
        const char *size = emit_size(x->m, a->axes[k]);
        if (fixed)
            made = made ? arena_printf(arena, "(%s * %s + %s)", made, size, axis->name) : axis->name;
        else if (made)
            made = arena_printf(arena, "%s * %s", made, size);
    }
    const char *call = a->kind == ARRAY_PARAM ? "call->params->" : "call->";
    return made ? arena_printf(arena, "%s%s + %s", call, name, made) : arena_printf(arena, "%s%s", call, name);
}

/* What a caller keeps of the head that is a task. */
static const char *kept_of_task(const struct emitter *x, const char *state)
{
    return arena_printf(x->m->arena, "call->%s + task * %lld", state, (long long)x->l->kept);
}

/* Where every array that the body has a word of is: tiles in the workspace, the others at the element of this task's b,
   g and m. */
static void array_pointers(struct emitter *x, const char *body, struct text *out)
{
    for (int a = 0; a < x->l->arrays; a++) {
        const struct array *array = &x->l->array[a];
        const char *c = array->held ? emit_held(x, array) : emit_name(x->m->arena, array->name);
        if (array->kind == ARRAY_TABLE || !has_word(body, c)) continue;
        if (array->kind == ARRAY_TILE) {
            if (array->offset < 0) continue;
            const char *place = array_has_slots(x->l, array) ? "part->slots"
                                : array->folded              ? kept_of_task(x, "folded")
                                : array->kept                ? kept_of_task(x, "kept")
                                : array->shared              ? "part->shared"
                                : x->phases                  ? "part->work"
                                                             : "work";
            const char *stored = emit_stored(array->dtype);
            text_add(out, "    %s *const %s = (%s *)(void *)(%s + %lld); /* [", stored, c, stored, place,
                     (long long)array->offset);
            for (int k = 0; k < array->rank; k++) {
                bool slots = axis_is_chunks(&x->m->axis[array->axes[k]]);
                text_add(out, "%s%s", k ? ", " : "", x->m->axis[array->axes[k]].name);
                if (!slots) text_add(out, ": %lld", (long long)array->extent[k]);
                if (k + 1 == array->rank && array->gap)
                    text_add(out, " of %lld", (long long)(array->extent[k] + array->gap));
            }
            if (array->held) text_add(out, ", %lld times", (long long)array->held);
            text_add(out, "] */\n");
            continue;
        }
        const char *place = base(x, array);
        const bool of_caller = array_of_elements(x->l, array) || array_of_rows(x->l, array),
                   left = array->kind == ARRAY_INPUT &&
                          (array->sums ? !emit_sums_of_queries(x, array) : !of_caller); /* by a part, if it is needed */
        if (left || emit_is_wanted(x, array)) place = arena_printf(x->m->arena, "call->%s ? %s : NULL", c, place);
        text_add(out, "    %s%s *const %s%s = %s;\n", array->kind == ARRAY_OUTPUT ? "" : "const ",
                 emit_stored(array->dtype), emit_has_dropped(x, array) ? "last_" : "", c, place);
        const char *row = arena_printf(x->m->arena, "%s_row", c), *strides = strides_of(x, array);
        if (has_word(body, row)) text_add(out, "    const int64_t %s = %s.row;\n", row, strides);
        const char *batch = arena_printf(x->m->arena, "%s_batch", c);
        if (has_word(body, batch) && array_of_rows(x->l, array))
            text_add(out, "    const int64_t %s = call->p.heads * call->p.n_q;\n", batch);
        else if (has_word(body, batch))
            text_add(out, "    const int64_t %s = %s.batch;\n", batch, strides);
        const char *head = arena_printf(x->m->arena, "%s_head", c);
        if (has_word(body, head) && emit_sums_of_queries(x, array))
            text_add(out, "    const int64_t %s = call->p.n_q * %lld;\n", head,
                     (long long)emit_row_of_sums(x->m, array));
        else if (has_word(body, head) && array_of_rows(x->l, array))
            text_add(out, "    const int64_t %s = call->p.n_q;\n", head);
        else if (has_word(body, head))
            text_add(out, "    const int64_t %s = %s.head;\n", head, strides);
    }
}

/* Parallel loops, each the only statement in the one around it. */
struct chain {
    int loops;
    const struct stmt *loop[MAX_RANK];
    const struct stmt *body; /* of the innermost */
};

static struct chain chain_of(const struct stmt *s)
{
    struct chain chain = {0, {NULL}, s};
    for (bool only = true; only && s && s->op == LOOPS_FOR && s->parallel && chain.loops < MAX_RANK; s = s->body) {
        chain.loop[chain.loops++] = s;
        chain.body = s->body;
        only = s->body && !s->body->next;
    }
    return chain;
}

/* The axes of the chain's loops, decoded from the number `iteration`, those that `users` have a word of. The last tiles
   come first, for they may have the most keys, unless their order matters. */
static void decode(struct emitter *x, const struct chain *chain, const char *iteration, const char *users,
                   struct text *out)
{
    const char *rest = iteration;
    for (int k = chain->loops - 1; k >= 0; k--) {
        const struct stmt *loop = chain->loop[k];
        const char *axis = x->m->axis[loop->axis].name, *size = emit_size(x->m, loop->axis);
        long long step = (long long)loop->step;
        if (axis_is_chunks(&x->m->axis[loop->axis]))
            text_add(out, "    const int64_t %s = %s;\n", axis, rest);
        else if (loop->apart) { /* a tile for every remainder, then further on */
            long long period = (long long)loop->period, far = step * period;
            text_add(out, "    const int64_t tiles = (%s + %lld) / %lld * %lld, tile = tiles - 1 - %s %% tiles;\n",
                     size, far - 1, far, period, rest);
            text_add(out,
                     "    const int64_t %s0 = tile / %lld * %lld + tile %% %lld, %s1 = min(%s0 + %lld, %s), %s_count = "
                     "(%s1 - %s0 + %lld) / %lld;\n",
                     axis, period, far, period, axis, axis, far - period + 1, size, axis, axis, axis, period - 1,
                     period);
            text_add(out, "    if (%s0 >= %s) return;\n", axis, size);
            size = "tiles";
        } else if (loop->ordered) {
            text_add(out,
                     "    const int64_t tiles = (%s + %lld) / %lld, %s0 = %s %% tiles * %lld, %s1 = min(%s0 + %lld, "
                     "%s);\n",
                     size, step - 1, step, axis, rest, step, axis, axis, step, size);
            size = "tiles";
        } else if (step > 1 && emit_tiled(x, loop->axis)) {
            text_add(out,
                     "    const int64_t tiles = (%s + %lld) / %lld, %s0 = (tiles - 1 - %s %% tiles) * %lld, %s1 = "
                     "min(%s0 + %lld, %s);\n",
                     size, step - 1, step, axis, rest, step, axis, axis, step, size);
            size = "tiles";
        } else if (step > 1)
            text_add(out, "    const int64_t %s0 = %s * %lld, %s1 = min(%s0 + %lld, %s);\n", axis, rest, step, axis,
                     axis, step, size);
        else if (has_word(users, axis))
            text_add(out, "    const int64_t %s = %s%s%s;\n", axis, rest, k ? " % " : "", k ? size : "");
        rest = arena_printf(x->m->arena, "%s / %s", rest, size);
    }
}

static void sizes(struct emitter *x, const char *users, struct text *out)
{
    static const enum size_source given[] = {SIZE_BATCH, SIZE_KV_HEADS, SIZE_MEMBERS, SIZE_N_Q, SIZE_N_K, SIZE_ROWS};
    const char *chunks = NULL;
    for (int a = 0; a < x->m->axes; a++) {
        const char *size = emit_size(x->m, a),
                   *n = size_name(x->m->axis[a].source == SIZE_CHUNKS ? SIZE_N_K : SIZE_N_Q);
        if (axis_is_chunks(&x->m->axis[a]) && has_word(users, size))
            chunks = arena_printf(x->m->arena, "    const int64_t %s = %s > 0 ? (%s - 1) / %lld + 1 : 1;\n", size, n, n,
                                  (long long)x->m->axis[a].extent);
    }
    for (size_t k = 0; k < sizeof given / sizeof *given; k++) {
        const char *name = size_name(given[k]);
        if (!has_word(users, name) && !(chunks && has_word(chunks, name))) continue;
        if (given[k] == SIZE_ROWS)
            text_add(out, "    const int64_t %s = call->p.heads / call->p.kv_heads * call->p.n_q;\n", name);
        else if (given[k] == SIZE_MEMBERS)
            text_add(out, "    const int64_t %s = call->p.heads / %s;\n", name,
                     emit_units_of(x->l) ? "max(call->p.kv_heads, 1)" : "call->p.kv_heads");
        else
            text_add(out, "    const int64_t %s = call->p.%s;\n", name, name);
    }
    if (chunks) text_add(out, "%s", chunks);
}

static bool value_of_units(const struct graph *g, int v)
{
    for (int k = 0; k < g->value[v].rank; k++)
        if (g->module->axis[g->value[v].axes[k]].source == SIZE_UNITS) return true;
    return false;
}

const char *emit_form(const struct compilation *c)
{
    const char *name = c->linear ? "linear_" : "";
    if (c->program == PROGRAM_MEET) return c->few ? "extend_few" : c->linear ? "extend_linear" : "extend";
    if (c->program == PROGRAM_PREPARE) return "prepare";
    if (c->few) return "few";
    if (c->program == PROGRAM_SAVED) return c->linear ? "linear_saved" : "saved";
    if (c->program == PROGRAM_EXTEND) return c->short_tile ? "extend_few" : "extend";
    if (c->program == PROGRAM_FOLD) return "join";
    if (c->program == PROGRAM_ROW_SUMS) return c->linear ? "linear_row_sums" : "row_sums";
    if (c->program != PROGRAM_GRADIENTS && c->program != PROGRAM_TOTALS && c->program != PROGRAM_FROM_SUMS)
        return c->linear ? "linear" : "rows";
    struct arena *arena = c->graph->module->arena;
    if (c->program == PROGRAM_TOTALS) return arena_printf(arena, "%stotals%d", name, c->group);
    bool sums = false, any = false;
    for (int o = 0; o < c->graph->outputs; o++) {
        const bool of_units = value_of_units(c->graph, c->graph->output[o].value);
        sums |= of_units;
        if (of_units) continue;
        name = arena_printf(arena, "%s%s%s", name, any ? "_" : "", emit_name(arena, c->graph->output[o].name));
        any = true;
    }
    return !sums ? name : arena_printf(arena, any ? "%s_sums%d" : "%ssums%d", name, c->group);
}

const char *emit_function(const struct compilation *c, const char *part)
{
    struct arena *arena = c->graph->module->arena;
    const char *from = c->schedule && c->schedule->from ? arena_printf(arena, "_from%lld", (long long)c->schedule->from)
                                                        : "";
    return arena_printf(arena, "%s_%s%s_%s", c->spec->name, part, from, emit_suffix(c));
}

/* What stands before "static": the target. */
static const char *target_of(const struct emitter *x)
{
    return *x->c->target->attribute ? arena_printf(x->m->arena, "TARGET_%s ", x->suffix) : "";
}

/* A function of the given head: what its body, in x->out, needs is declared before it. One of a few iterations is
   compiled apart from what calls it. */
static void function(struct emitter *x, const struct chain *heads, const struct chain *iterations, const char *head,
                     struct text *out)
{
    struct text pointers = {0}, axes = {0}, users = {0}, sized = {0};
    const char *body = x->out->data ? x->out->data : "", *code = without_comments(x->m->arena, body);
    array_pointers(x, code, &pointers);
    text_add(&users, "%s%s", pointers.data ? pointers.data : "", code);
    if (iterations) decode(x, iterations, "turn", users.data, &axes);
    if (iterations && has_word(users.data, "chunk0")) text_add(&axes, "    const int64_t chunk0 = part->chunk0;\n");
    if (iterations && has_word(users.data, "chunk1")) text_add(&axes, "    const int64_t chunk1 = part->chunk1;\n");
    text_add(&users, "%s", axes.data ? axes.data : "");
    decode(x, heads, "task", users.data, &axes);
    text_add(&users, "%s", axes.data ? axes.data : "");
    text_add(out, "%s%s void %s\n{\n", target_of(x), iterations ? "APART" : "static", head);
    static const char *const parameter[] = {"call", "task", "part", "work"};
    sizes(x, users.data, &sized);
    text_add(&users, "%s", sized.data ? sized.data : "");
    for (size_t k = 0; k < sizeof parameter / sizeof *parameter; k++)
        if (has_word(head, parameter[k]) && !has_word(users.data, parameter[k]))
            text_add(out, "    (void)%s;\n", parameter[k]);
    text_add(out, "%s", sized.data ? sized.data : "");
    const bool tiles = loops_on_matrix_units(x->l);
    text_add(out, "%s%s%s%s%s}\n", axes.data ? axes.data : "", pointers.data ? pointers.data : "",
             tiles ? "    configure_tiles();\n" : "", body, tiles ? "    release_tiles();\n" : "");
    text_free(&pointers);
    text_free(&axes);
    text_free(&users);
    text_free(&sized);
}

/* Where a function's body goes while it is printed. */
static struct text *new_text(const struct emitter *x)
{
    return arena_alloc(x->m->arena, sizeof(struct text));
}

/* ---- forms with states ---- */

static const struct stmt *window_in(const struct stmt *s)
{
    while (s && !(s->op == LOOPS_FOR && s->window)) s = s->next;
    return s;
}

bool emit_in_phases(const struct loops *l)
{
    return window_in(chain_of(l->body).body) != NULL;
}

/* The iterations of a parallel loop, as C. */
static const char *iterations_of(struct emitter *x, const struct chain *chain)
{
    const char *count = NULL;
    for (int k = 0; k < chain->loops; k++) {
        const char *size = emit_size(x->m, chain->loop[k]->axis);
        long long step = (long long)chain->loop[k]->step;
        if (step > 1) size = arena_printf(x->m->arena, "((%s + %lld) / %lld)", size, step - 1, step);
        count = count ? arena_printf(x->m->arena, "%s * %s", count, size) : size;
    }
    return count;
}

/* A parallel loop as a function of its own, which the one that leads through them calls for each of its iterations. */
struct phase {
    const char *function, *iterations;
    bool of_chunks;
};

static struct phase phase(struct emitter *x, const struct chain *heads, const struct stmt *loop, const char *name,
                          const char *says, struct text *out)
{
    struct stmt alone = *loop; /* what follows it is another function */
    alone.next = NULL;
    struct chain iterations = chain_of(&alone);
    struct text *body = new_text(x);
    bool outer[MAX_AXES];
    memcpy(outer, x->task_axis, sizeof outer);
    for (int k = 0; k < iterations.loops; k++) {
        int axis = iterations.loop[k]->axis;
        x->cut[axis] = axis_is_whole(&x->m->axis[axis]);
        if (x->m->axis[axis].source == SIZE_MEMBERS) x->task_axis[axis] = true;
    }
    bool of_chunks = axis_is_chunks(&x->m->axis[loop->axis]);
    x->in_window = !of_chunks;
    x->indent = 4;
    x->ids = 0;
    x->out = body;
    emit_statements(x, iterations.body);
    text_add(out, "/* %s */\n", says);
    if (x->c->few || x->c->program == PROGRAM_GRADIENTS || x->c->program == PROGRAM_SAVED ||
        x->c->program == PROGRAM_EXTEND || x->c->program == PROGRAM_MEET)
        name = arena_printf(x->m->arena, "%s_%s", emit_form(x->c), name);
    const char *function_name = emit_function(x->c, name);
    function(x, heads, &iterations,
             arena_printf(x->m->arena,
                          "%s(const struct call *call, int64_t task, const struct part *part, int64_t turn)",
                          function_name),
             out);
    text_add(out, "\n");
    text_free(body);
    memset(x->cut, 0, sizeof x->cut);
    memcpy(x->task_axis, outer, sizeof outer);
    return (struct phase){function_name, of_chunks ? NULL : iterations_of(x, &iterations), of_chunks};
}

/* All threads share its iterations; they meet unless the next loop gives each the same ones, whose elements are its
   own. */
static void share_phase(const struct phase *p, int indent, bool meet, struct text *lead)
{
    text_add(
        lead, "%*sfor (int64_t turn = %spart->number; turn < %s; turn += part->threads) %s(call, task, part, turn);\n",
        indent, "", p->of_chunks ? "part->chunk0 + " : "", p->of_chunks ? "part->chunk1" : p->iterations, p->function);
    if (meet) text_add(lead, "%*smeet(part);\n", indent, "");
}

/* Of a thread's own segment: its chunks; or, when its turn comes, what is folded into each group of elements. */
static void segment_phase(struct emitter *x, const struct phase *p, int indent, int first_group, int groups,
                          struct text *lead)
{
    if (p->of_chunks) {
        text_add(lead,
                 "%*sfor (int64_t turn = part->chunk0; turn < part->chunk1; turn++) %s(call, task, part, turn);\n",
                 indent, "", p->function);
        return;
    }
    const char *const group = first_group ? arena_printf(x->m->arena, "%d + group", first_group) : "group";
    text_add(lead,
             "%*sfor (int64_t group = 0; group < %d; group++) {\n"
             "%*s    await_segment(part, %s, segment);\n"
             "%*s    for (int64_t turn = group * %s / %d; turn < (group + 1) * %s / %d; turn++)\n"
             "%*s        %s(call, task, part, turn);\n"
             "%*s    pass_segment(part, %s, segment);\n"
             "%*s}\n",
             indent, "", groups, indent, "", group, indent, "", p->iterations, groups, p->iterations, groups, indent,
             "", p->function, indent, "", group, indent, "");
}

/* Whether the states are sums of queries, that keys meet. */
static bool sums_queries(const struct emitter *x, const struct stmt *s)
{
    for (; s; s = s->next)
        if (s->op == LOOPS_FOR && (x->m->axis[s->axis].source == SIZE_N_Q || sums_queries(x, s->body))) return true;
    return false;
}

/* While the last chunk does not get full nothing is summed: its queries meet what is kept as it is. */
static void meet_kept(struct emitter *x, const char *lanes, struct text *lead)
{
    const long long length = (long long)x->c->chunk;
    struct arena *const arena = x->m->arena;
    const struct compilation *const few = x->c->for_few;
    const char *const all = emit_function(x->c, arena_printf(arena, "%s_%s", emit_form(x->c), lanes)),
                      *meeting = arena_printf(
                          arena, "        if (part->number == 0) %s(call, task, part, part->chunk0);\n", all);
    if (few)
        meeting = arena_printf(arena,
                               "        if (part->number == 0 && call->p.n_q <= %d)\n"
                               "            %s(call, task, part, part->chunk0);\n"
                               "        else if (part->number == 0)\n"
                               "            %s(call, task, part, part->chunk0);\n",
                               FEW_TOKENS, emit_function(few, arena_printf(arena, "%s_%s", emit_form(few), lanes)),
                               all);
    text_add(
        lead,
        "    if (call->p.n_k - call->summed < %lld) { /* the chunk does not get full: queries meet what is kept */\n"
        "        unsigned char *const slots = part->slots;\n"
        "        part->slots = %s;\n"
        "        part->chunk0 = call->summed / %lld;\n"
        "%s"
        "        meet(part);\n"
        "        part->slots = slots;\n"
        "        return;\n"
        "    }\n",
        length, kept_of_task(x, "kept"), length, meeting);
}

/* Of the program for calls of few tokens, how they meet what is kept. */
static void phase_of_few(struct emitter *x, const struct chain *heads, const struct stmt *window, const char *lanes,
                         struct text *out)
{
    const struct stmt *queries = window->body;
    while (queries->next) queries = queries->next;
    phase(x, heads, queries, lanes, "The same for a few queries, whose tile is short.", out);
}

/* Chunks between the first keys and the last ones have none that are seen. */
static void skip_dropped(const struct emitter *x, const struct stmt *window, struct text *lead)
{
    const char *const chunk = x->m->axis[window->axis].name;
    const long long length = (long long)x->m->axis[window->axis].extent;
    text_add(lead,
             "        if (part->%s0 * %lld >= %lld) /* on to the keys before the first query */\n"
             "            part->%s0 = max(part->%s0, (call->p.n_k - call->p.n_q - %lld) / %lld);\n",
             chunk, length, (long long)x->c->read_first, chunk, chunk, (long long)x->c->read_back, length);
}

/* A thread that has the head to itself: the queries of a chunk meet what is carried, which its keys are then added to.
 */
static void alone(struct emitter *x, const struct chain *heads, const char *chunks, const char *summed,
                  const struct phase *queries, struct text *lead, struct text *out)
{
    const struct phase keys = phase(x, heads, x->c->alone_keys, arena_printf(x->m->arena, "%s_alone", summed),
                                    "The same for a thread that has the head to itself, summed into what is carried.",
                                    out);
    text_add(lead,
             "    if (part->threads == 1) { /* it needs no slots: what is carried lies as one does */\n"
             "        unsigned char *const slots = part->slots;\n"
             "        for (part->chunk0 = first; part->chunk0 < %s; part->chunk0++) {\n"
             "            part->chunk1 = part->chunk0 + 1;\n"
             "            part->slots = part->shared;\n"
             "            %s(call, task, part, part->chunk0);\n"
             "            part->slots = slots;\n"
             "            %s(call, task, part, part->chunk0);\n",
             chunks, queries->function, keys.function);
    int fold = 0;
    for (const struct stmt *s = x->c->alone_folds; s; s = s->next) {
        const struct phase p = phase(x, heads, s,
                                     arena_printf(x->m->arena, fold ? "fold_alone_%d" : "fold_alone", fold + 1),
                                     "What the product of keys does not add to the states itself.", out);
        text_add(lead, "            for (int64_t turn = 0; turn < %s; turn++) %s(call, task, part, turn);\n",
                 p.iterations, p.function);
        fold++;
    }
    text_add(lead, "        }\n    } else {\n");
}

/* The loop over the chunks. Threads take segments of them by turns, and pass the states on from segment to segment, so
   that what is summed of a chunk stays with the thread that sums it. Chunks that are skipped are found window by
   window: of these threads take one chunk each and share the folding. */
static void window_of(struct emitter *x, const struct chain *heads, const struct stmt *s, bool after, struct text *lead,
                      struct text *out)
{
    const char *const lanes = after ? "keys" : "queries", *const summed = after ? "queries" : "keys",
                      *const chunks = emit_size(x->m, s->axis);
    const char *const first = x->l->kept ? arena_printf(x->m->arena, "call->summed / %lld",
                                                        (long long)x->m->axis[s->axis].extent)
                                         : emit_integer_text(x, s->from, false);
    const bool skips = x->c->read_first > 0, both = !skips && x->c->alone_keys;
    const int in = both ? 4 : 0; /* indent of what is for several threads */
    const long long slot = (long long)x->l->slot;
    struct text *const loop = new_text(x);
    struct phase p = {NULL, NULL, false};
    int folds = 0, fold = 0;
    for (const struct stmt *t = s->body; t; t = t->next) folds += t->axis != s->axis;
    const int groups = folds > 0 ? FOLD_GROUPS / folds : 0;
    for (const struct stmt *t = s->body; t; t = t->next) {
        const bool of_chunks = t->axis == s->axis, first_of_all = t == s->body;
        const struct stmt *const next = t->next ? t->next : s->body;
        p = phase(x, heads, t,
                  first_of_all ? summed
                  : of_chunks  ? lanes
                               : arena_printf(x->m->arena, fold ? "fold_%d" : "fold", fold + 1),
                  first_of_all ? arena_printf(x->m->arena, "The %s of a chunk, summed from zero into its slot.", summed)
                  : of_chunks  ? arena_printf(x->m->arena, "The %s of a chunk meet the states %s it, and its own %s.",
                                              lanes, after ? "after" : "before", summed)
                               : "Some elements of the states take in the chunks at hand, one after the other.",
                  out);
        if (skips)
            share_phase(&p, 8, next->axis != t->axis, loop);
        else
            segment_phase(x, &p, in + 8, fold * groups, groups, loop);
        fold += !of_chunks;
    }
    if (x->c->slot_is_kept) meet_kept(x, lanes, lead);
    if (skips) {
        text_add(lead,
                 "    part->slots -= part->number * part->window * %lld; /* those of all */\n"
                 "    for (part->chunk0 = %s; part->chunk0 < %s; part->chunk0 += part->window * part->threads) {\n",
                 slot, first, chunks);
        skip_dropped(x, s, lead);
        text_add(lead,
                 "        part->chunk1 = min(part->chunk0 + part->window * part->threads, %s);\n"
                 "%s"
                 "    }\n"
                 "    part->slots += part->number * part->window * %lld;\n",
                 chunks, loop->data, slot);
    } else {
        text_add(lead, "    const int64_t first = %s;\n", first);
        if (both) alone(x, heads, chunks, summed, &p, lead, out);
        text_add(
            lead,
            "%*s    const int64_t length = segment_length(part, %s - first);\n"
            "%*s    for (int64_t segment = part->number; first + segment * length < %s; segment += part->threads) {\n"
            "%*s        part->chunk0 = first + segment * length;\n"
            "%*s        part->chunk1 = min(part->chunk0 + length, %s);\n"
            "%s"
            "%*s    }\n"
            "%*s    part->segments += (max(%s - first, 0) + length - 1) / length;\n"
            "%s",
            in, "", chunks, in, "", chunks, in, "", in, "", chunks, loop->data, in, "", in, "", chunks,
            both ? "    }\n" : "");
    }
    text_add(lead, "    meet(part);\n");
    text_free(loop);
}

static void phases(struct emitter *x, struct text *out)
{
    struct text *lead = new_text(x);
    struct chain heads = chain_of(x->l->body);
    bool windows = false;
    const bool after = sums_queries(x, window_in(heads.body)->body->body);
    if (x->c->short_tile) {
        phase_of_few(x, &heads, window_in(heads.body), after ? "keys" : "queries", out);
        return;
    }
    int begins = 0, leaving = 0;
    for (const struct stmt *s = heads.body; s; s = s->next) {
        if (s->window) {
            windows = true;
            window_of(x, &heads, s, after, lead, out);
            continue;
        }
        const bool leaves = windows && x->m->axis[s->axis].source == SIZE_CONSTANT;
        int *const count = leaves ? &leaving : &begins;
        const char *const number = ++*count > 1 ? arena_printf(x->m->arena, "_%d", *count) : "";
        const bool begins_kept = !windows && x->l->kept; /* only where there are no keys yet */
        if (begins_kept) text_add(lead, "    if (call->p.n_k - call->p.n_q == call->start) {\n");
        const struct phase p = phase(
            x, &heads, s,
            leaves    ? arena_printf(x->m->arena, "leave%s", number)
            : windows ? (after ? "keys" : "queries")
                      : arena_printf(x->m->arena, "begin%s", number),
            leaves    ? "Sums over the rows of the head leave."
            : windows ? arena_printf(x->m->arena, "A tile of %s meets the states.", after ? "keys" : "queries")
                      : arena_printf(x->m->arena, "States begin with no %s.", after ? "query" : "key"),
            out);
        share_phase(&p, begins_kept ? 8 : 4, !s->next || s->next->axis != s->axis, lead);
        if (begins_kept) text_add(lead, "    }\n");
    }
    text_add(out, "/* All of a head: every thread whose part this is calls it. */\n");
    const char *head = arena_printf(x->m->arena, "%s(const struct call *call, int64_t task, struct part *part)",
                                    emit_function(x->c, emit_form(x->c)));
    struct chain none = {0, {NULL}, NULL};
    x->out = lead;
    function(x, &none, NULL, head, out);
    text_free(lead);
}

/* ---- all of them ---- */

int64_t emit_tasks_apart(const struct loops *l)
{
    struct chain heads = chain_of(l->body);
    int64_t apart = 1;
    for (int k = 0; k < heads.loops; k++) apart *= stmt_stride(heads.loop[k]);
    return apart;
}

int64_t emit_tasks_of(const struct loops *l)
{
    struct chain heads = chain_of(l->body);
    int64_t tile = 0;
    for (int k = 0; k < heads.loops; k++) {
        if (heads.loop[k]->step > 1) return heads.loop[k]->step;
        if (l->module->axis[heads.loop[k]->axis].source == SIZE_MEMBERS) tile = -1;
    }
    return tile;
}

bool emit_tasks_of_keys(const struct loops *l)
{
    struct chain heads = chain_of(l->body);
    for (int k = 0; k < heads.loops; k++)
        if (heads.loop[k]->step > 1) return l->module->axis[heads.loop[k]->axis].source == SIZE_N_K;
    return false;
}

int64_t emit_units_of(const struct loops *l)
{
    struct chain heads = chain_of(l->body);
    int64_t units = 1;
    for (int k = 0; k < heads.loops; k++) {
        const struct axis *axis = &l->module->axis[heads.loop[k]->axis];
        if (axis->source == SIZE_BATCH) return 0;
        if (axis->source == SIZE_UNITS) units = axis->extent;
    }
    return emit_in_phases(l) ? 0 : units;
}

bool emit_tasks_over(const struct loops *l, enum size_source source)
{
    struct chain heads = chain_of(l->body);
    for (int k = 0; k < heads.loops; k++)
        if (l->module->axis[heads.loop[k]->axis].source == source) return true;
    return false;
}

bool emit_in_order(const struct loops *l)
{
    struct chain heads = chain_of(l->body);
    return heads.loops && heads.loop[heads.loops - 1]->ordered;
}

void emit_tasks(struct emitter *x, struct text *out)
{
    struct chain heads = chain_of(x->l->body);
    for (int k = 0; k < heads.loops; k++) {
        x->task_axis[heads.loop[k]->axis] = heads.loop[k]->step == 1;
        x->stride[heads.loop[k]->axis] = stmt_stride(heads.loop[k]);
        x->block[heads.loop[k]->axis] = heads.loop[k]->block;
    }
    x->phases = emit_in_phases(x->l);
    if (x->phases) {
        phases(x, out);
        return;
    }
    struct text *body = new_text(x);
    x->out = body;
    x->indent = 4;
    emit_statements(x, heads.body);
    text_add(out, "/* Task number `task`: %s; `work` is the thread's part of the workspace. */\n",
             x->c->program == PROGRAM_TOTALS    ? "what the units of rows left, added up"
             : x->c->program == PROGRAM_FOLD    ? "what is summed of one head takes in that of another state"
             : x->c->program == PROGRAM_PREPARE ? "a tile of keys of one head gets prepared for a state"
             : emit_units_of(x->l)              ? "one unit of the rows of all batches and heads"
             : emit_tasks_of_keys(x->l)         ? "one tile of keys of one head"
                                                : "one tile of queries of one head");
    function(x, &heads, NULL,
             arena_printf(x->m->arena, "%s(const struct call *call, int64_t task, unsigned char *work)",
                          emit_function(x->c, emit_form(x->c))),
             out);
    text_free(body);
}

const char *emit_suffix(const struct compilation *c)
{
    if (c->rows == DEFAULT_ROWS && c->vectors == schedule_max_vectors(c->target, DEFAULT_ROWS))
        return c->target->suffix;
    return arena_printf(c->graph->module->arena, "%s_%dx%d", c->target->suffix, c->rows, c->vectors);
}

const char *knob_together(const struct knob_case *x, struct tune_knob *knob)
{
    if (!(x->linear && emit_in_phases(x->linear->loops)) && !(x->quadratic && emit_in_phases(x->quadratic->loops)))
        return "it has no form in which threads share a head";
    knob_set_values(knob, 1, 2, (const int64_t[]){0, 2});
    return NULL;
}
