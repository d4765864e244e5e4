/* Prints the functions of a compilation, with C from emit/embedded/task.c.
   - Without carried states, one function computes a task, such as a tile of queries.
   - With carried states, a task is a head. Each parallel loop of the head becomes a phase, which is a function for
     one iteration. The head function runs the phases on every thread.
   The head function divides the chunks of keys (struct share in runtime/kernel/call.h):
   - slot: memory for one chunk. It first has the chunk's sum, then the carried state.
   - fold: replaces the sums in consecutive slots by their prefix sums
   - segment: chunks that one thread processes
   - window: chunks that have slots at the same time */
#include "task.h"

#include <string.h>

/* A phase: its function's name, and C for its number of iterations. NULL means one iteration for each current chunk. */
struct phase {
    const char *function, *iterations;
    bool of_chunks;
};

static const struct piece_word no_words[] = {{0}};

/* Prints the function of a phase for the loop `loop` of a head, with the comment `says`. */
static struct phase phase(struct emitter *x, const struct chain *heads, const struct stmt *loop, const char *name,
                          const char *says, struct text *out)
{
    struct stmt only = *loop; /* later statements belong to other phases */
    only.next = NULL;
    struct chain iterations = chain_of(&only);
    struct text *body = task_text(x);
    bool outer[MAX_AXES];
    memcpy(outer, x->task_axis, sizeof outer);
    for (int k = 0; k < iterations.loops; k++) {
        int axis = iterations.loop[k]->axis;
        x->cut[axis] = axis_is_whole(&x->m->axis[axis]);
        if (x->m->axis[axis].source == SIZE_MEMBERS) x->task_axis[axis] = true;
        x->from_last[axis] = task_from_last(x, iterations.loop[k]);
    }
    bool of_chunks = axis_is_chunks(&x->m->axis[loop->axis]);
    x->in_window = !of_chunks;
    x->indent = 4;
    x->ids = 0;
    x->out = body;
    emit_statements(x, iterations.body);
    text_add(out, "/* %s */\n", says);
    if (x->c->program.few || x->c->program.by_heads || !program_is_forward(&x->c->program))
        name = emit_format(x, "%s_%s", emit_form(x->c), name);
    const char *function_name = emit_function(x->c, name);
    task_function(x, heads, &iterations,
                  emit_format(x,
                              "%s(const struct call *call, int64_t task, const struct share *share, int64_t iteration)",
                              function_name),
                  out);
    text_add(out, "\n");
    text_free(body);
    memset(x->cut, 0, sizeof x->cut);
    memcpy(x->task_axis, outer, sizeof outer);
    for (int k = 0; k < iterations.loops; k++) x->from_last[iterations.loop[k]->axis] = false;
    return (struct phase){function_name, of_chunks ? NULL : chain_iterations(x, &iterations), of_chunks};
}

/* Returns `word` for the first phase, and word_2, word_3, … for later phases. */
static const char *numbered(const struct emitter *x, const char *word, int before)
{
    return before ? emit_format(x, "%s_%d", word, before + 1) : word;
}

/* Prints the run of a phase whose iterations all threads share. If the next phase is divided differently, the
   threads synchronise afterwards. */
static void share_phase(const struct phase *p, bool synchronise, struct text *lead)
{
    task_piece(
        "SHARED",
        (const struct piece_word[]){{"PHASE", .text = p->function},
                                    {"FIRST", .text = p->of_chunks ? "share->chunk0 + share->number" : "share->number"},
                                    {"END", .text = p->of_chunks ? "share->chunk1" : p->iterations},
                                    {"SYNCHRONISES", .number = synchronise},
                                    {0}},
        lead);
}

/* Prints the run of a phase on a thread's segment. A fold goes through groups of elements. It waits until the
   previous segment has folded the group. */
static void segment_phase(struct emitter *x, const struct phase *p, int first_group, int groups, struct text *lead)
{
    const char *const group = first_group ? emit_format(x, "%d + group", first_group) : "group";
    task_piece(p->of_chunks ? "OWN_CHUNKS" : "FOLD",
               (const struct piece_word[]){{"PHASE", .text = p->function},
                                           {"ITERATIONS", .text = p->iterations},
                                           {"GROUPS", .number = groups},
                                           {"GROUP", .text = group},
                                           {0}},
               lead);
}

/* Like segment_phase for the phase that sums chunks. The caller may store these sums between two calls. */
static void stored_phase(struct emitter *x, const struct phase *p, struct text *lead)
{
    task_piece("STORED_CHUNKS",
               (const struct piece_word[]){{"PHASE", .text = p->function},
                                           {"CHUNK", .number = x->c->state.chunk},
                                           {"SLOT", .number = x->l->slot},
                                           {0}},
               lead);
}

/* Prints the code for a call that completes no chunk. Its queries read the caller's state in place. */
static void read_kept(struct emitter *x, const char *lanes, struct text *lead)
{
    const struct compilation *const few = x->c->state.few_tokens;
    const struct piece_word words[] = {
        {"PHASE", .text = emit_function(x->c, emit_format(x, "%s_%s", emit_form(x->c), lanes))},
        {"FEW", .number = few != NULL},
        {"FEW_PHASE", .text = few ? emit_function(few, emit_format(x, "%s_%s", emit_form(few), lanes)) : ""},
        {"MAX_FEW", .number = FEW_TOKENS},
        {"CHUNK", .number = x->c->state.chunk},
        {"KEPT", .text = task_kept(x, "kept")},
        {0}};
    task_piece("KEPT_STATE", words, lead);
}

/* Prints a piece around the lines. */
static void print_around(const struct emitter *x, const char *piece, const struct text *lines, struct text *lead)
{
    task_piece(piece, (const struct piece_word[]){{"BODY", .text = task_indented(x->m->arena, lines, 4)}, {0}}, lead);
}

/* Prints the phase of queries for calls with few tokens. It has short tiles. */
static void phase_of_few(struct emitter *x, const struct chain *heads, const struct stmt *window, const char *lanes,
                         struct text *out)
{
    const struct stmt *queries = window->body;
    while (queries->next) queries = queries->next;
    phase(x, heads, queries, lanes, "Like the same function for more queries, but with a short tile.", out);
}

/* Prints the loop over segments. Thread t takes segments t, t + threads, … One thread does all work for a chunk, so
   the chunk's slot stays in the cache. */
static void print_segments(const struct emitter *x, const struct stmt *window, struct text *body, struct text *lead)
{
    task_piece("SEGMENTS",
               (const struct piece_word[]){{"CHUNKS", .text = emit_size(x->m, window->axis)},
                                           {"BODY", .text = task_indented(x->m->arena, body, 0)},
                                           {0}},
               lead);
}

/* Prints the loop over windows of chunks, for states that drop keys. All threads sum the chunks of a window, fold
   the sums into the state, and process the window's queries. */
static void print_windows(const struct emitter *x, const struct stmt *window, const char *first, struct text *body,
                          struct text *lead)
{
    const struct axis *const chunks = &x->m->axis[window->axis];
    const struct piece_word words[] = {
        {"CHUNKS", .text = emit_size(x->m, window->axis)},
        {"CHUNK", .number = chunks->extent},
        {"BODY", .text = task_indented(x->m->arena, body, 4)},
        {"FIRST", .text = first},
        {"CHUNK_BEGIN", .text = emit_format(x, "%s0", chunks->name)},
        {"SLOT", .number = x->l->slot},
        {"READ_FIRST", .number = x->c->state.read_first},
        {"READ_BACK", .number = x->c->state.read_back},
        {"FIRST_QUERY", .text = x->c->state.chunk > 0 ? "call->length" : "call->p.n_k - call->p.n_q"},
        {0}};
    task_piece("WINDOWS", words, lead);
}

/* Prints the loop over chunks that runs if one thread has the whole head. */
static void print_one_thread(struct emitter *x, const struct chain *heads, const struct stmt *window,
                             const char *summed, const struct phase *queries, struct text *segments, struct text *lead,
                             struct text *out)
{
    struct text *const folds = task_text(x);
    const struct phase keys = phase(x, heads, x->c->one_thread.keys, emit_format(x, "%s_alone", summed),
                                    "For a thread that works on the head alone: adds a chunk to the carried state.",
                                    out);
    int fold = 0;
    for (const struct stmt *s = x->c->one_thread.folds; s; s = s->next, fold++) {
        const struct phase p = phase(x, heads, s, numbered(x, "fold_alone", fold),
                                     "Adds to the carried state the sums that no product computes.", out);
        task_piece(
            "FOLD_OF_ONE_THREAD",
            (const struct piece_word[]){{"PHASE", .text = p.function}, {"ITERATIONS", .text = p.iterations}, {0}},
            folds);
    }
    const struct piece_word words[] = {{"CHUNKS", .text = emit_size(x->m, window->axis)},
                                       {"BODY", .text = task_indented(x->m->arena, segments, 4)},
                                       {"PHASE", .text = queries->function},
                                       {"KEYS_PHASE", .text = keys.function},
                                       {"FOLDS", .text = task_indented(x->m->arena, folds, 0)},
                                       {"STORES", .number = x->l->kept && x->stores_chunks},
                                       {"OUTER", .number = x->outer},
                                       {0}};
    task_piece("ONE_THREAD", words, lead);
    text_free(folds);
}

/* The C of the loop over chunks of a head.
   - first: C for the first chunk
   - body: C for some chunks
   - common: the same for chunks that several sequences share */
struct chunks {
    const char *first;
    struct text *body, *common;
};

/* Prints the phase that sums a chunk which several sequences share, if it differs from the phase `own`. Otherwise
   returns `own`. */
static struct phase common_phase(struct emitter *x, const struct chain *heads, const struct phase *own,
                                 struct text *out)
{
    struct common_keys common;
    if (!x->c->state.common || !common_keys_of(x->l, &common) || !common.keys) return *own;
    return phase(x, heads, common.keys, "keys_of_several",
                 "Sums the keys of a chunk that all rows see, for the rows of several sequences.", out);
}

/* Prints the loop over chunks to `lead`, and its parts to `chunks`. Prints the phases, which are functions that the
   loop calls, to `out`. */
static void window_of(struct emitter *x, const struct chain *heads, const struct stmt *s, bool after, struct text *lead,
                      struct chunks *chunks, struct text *out)
{
    const char *const lanes = after ? "keys" : "queries", *const summed = after ? "queries" : "keys";
    struct common_keys common;
    const bool begins_at_0 = !x->l->kept && s->from == expr_int(x->m, 0) &&
                             !(common_keys_of(x->l, &common) && common.from);
    const char *const own = x->l->kept ? emit_format(x, "call->summed / %lld", (long long)x->m->axis[s->axis].extent)
                                       : emit_integer_text(x, s->from, false),
                      *const first = !x->c->state.common ? own
                                     : begins_at_0
                                         ? "call->common_chunks"
                                         : emit_format(x, "call->common_begun ? call->common_chunks : %s", own);
    const bool skips = x->c->state.read_first > 0, stores = x->l->kept && x->stores_chunks;
    struct text *const body = task_text(x), *const segments = task_text(x), *const results = task_text(x);
    struct phase p = {NULL, NULL, false};
    bool sums = true; /* false: the phases compute results */
    int folds = 0, fold = 0;
    for (const struct stmt *t = s->body; t; t = t->next) folds += t->axis != s->axis;
    const int groups = folds > 0 ? FOLD_GROUPS / folds : 0;
    for (const struct stmt *t = s->body; t; t = t->next) {
        const bool of_chunks = t->axis == s->axis, first_of_all = t == s->body;
        const struct stmt *const next = t->next ? t->next : s->body;
        p = phase(
            x, heads, t,
            first_of_all ? summed
            : of_chunks  ? lanes
                         : numbered(x, "fold", fold),
            first_of_all ? emit_format(x, "Sums the %s of a chunk, from zero, into its slot.", summed)
            : of_chunks
                ? emit_format(x, "Processes the %s of a chunk: reads the state %s the chunk, and the %s in the chunk.",
                              lanes, after ? "after" : "before", summed)
                : "Folds the slots of the current chunks, in order, for some elements of the states.",
            out);
        sums &= first_of_all || !of_chunks;
        if (skips)
            share_phase(&p, next->axis != t->axis, body);
        else if (first_of_all && stores)
            stored_phase(x, &p, body);
        else
            segment_phase(x, &p, fold * groups, groups, x->outer && !sums ? results : body);
        const struct phase of_several = first_of_all ? common_phase(x, heads, &p, out) : p;
        segment_phase(x, &of_several, fold * groups, groups, chunks->common);
        fold += !of_chunks;
    }
    const bool whole = x->outer && emit_reads_whole(x->l);
    struct text *const own_tokens = whole ? task_text(x) : lead;
    if (x->outer && !whole) print_around(x, "UNLESS_ONLY_SUMS", results, body);
    if (x->outer) emit_outer_copies(x, true, "TAKE_OUTER", lead);
    if (x->c->state.slot_is_kept) read_kept(x, lanes, lead);
    text_add(chunks->body, "%s", body->data);
    chunks->first = own;
    if (skips)
        print_windows(x, s, first, body, own_tokens);
    else {
        text_add(own_tokens, "    const int64_t first = %s;\n", first);
        print_segments(x, s, body, segments);
        if (x->c->one_thread.keys)
            print_one_thread(x, heads, s, summed, &p, segments, own_tokens, out);
        else
            text_append(own_tokens, segments->data, segments->length);
    }
    text_add(own_tokens, "    synchronise(share);\n");
    if (whole) {
        print_around(x, "UNLESS_SUMMED", own_tokens, lead);
        text_free(own_tokens);
    }
    if (x->outer) emit_outer_copies(x, false, "GIVE_OUTER", lead);
    text_free(body);
    text_free(segments);
    text_free(results);
}

/* Prints a phase that is outside the loop over chunks. It initialises states, reads final states, or stores sums
   over rows. */
static void other_phase(struct emitter *x, const struct chain *heads, const struct stmt *s, const char *name,
                        const char *says, bool only_first, struct text *lead, struct text *out)
{
    struct text *const body = task_text(x);
    const struct phase p = phase(x, heads, s, name, says, out);
    share_phase(&p, !s->next || s->next->axis != s->axis, body);
    if (only_first)
        print_around(x, "BEGIN_KEPT", body, lead);
    else
        text_append(lead, body->data, body->length);
    text_free(body);
}

/* ---- keys that several sequences share ---- */

/* Prints a function of a head. x->out has its body. */
static void head_function(struct emitter *x, const struct chain *heads, const char *name, struct text *out)
{
    task_function(x, heads, NULL,
                  emit_format(x, "%s(const struct call *call, int64_t task, struct share *share)", name), out);
}

/* Prints the function `name` that copies the rows of queries in `common` between tiles and memory. */
static void print_moves(struct emitter *x, const struct common_keys *common, const char *name, struct text *out)
{
    struct text body = {0};
    int64_t offset = 0;
    for (int k = 0; k < common->tiles; offset += common->bytes[k++])
        text_add(&body, "        move_bytes(row + %lld, share->shared + %lld + r * %lld, %lld, back);\n",
                 (long long)offset, (long long)x->l->array[common->tile[k]].offset, (long long)common->bytes[k],
                 (long long)common->bytes[k]);
    task_piece("MOVE",
               (const struct piece_word[]){{"MOVE", .text = name},
                                           {"KIND", .text = "TARGET APART"},
                                           {"ROW", .number = common->row},
                                           {"BODY", .text = task_indented(x->m->arena, &body, 0)},
                                           {0}},
               out);
    text_free(&body);
}

/* Prints the function that gives the range of keys that all rows of a sequence see, and the function that sums a
   sequence's own chunks before common ones. Returns the name of the latter. */
static const char *print_range(struct emitter *x, const struct chain *heads, const struct common_keys *common,
                               const struct chunks *chunks, struct text *out)
{
    struct arena *const arena = x->m->arena;
    struct text *const range = task_text(x), *const earlier = task_text(x);
    const char *const name = emit_function(x->c, emit_format(x, "%s_earlier", emit_form(x->c)));
    const struct piece_word words[] = {{"FROM", .text = common->from ? emit_integer(x, common->from) : "0"},
                                       {"TO", .text = common->to ? emit_integer(x, common->to) : "INT64_MAX"},
                                       {"FIRST", .text = chunks->first},
                                       {"BODY", .text = task_indented(arena, chunks->body, 0)},
                                       {0}};
    task_piece("COMMON_RANGE", words, range);
    task_piece("RANGE_OF_SEQUENCE", words, out);
    x->out = range;
    task_function(x, heads, NULL,
                  emit_format(x, "%s(const struct call *call, int64_t task, int64_t *range)",
                              emit_function(x->c, emit_format(x, "%s_range", emit_form(x->c)))),
                  out);
    text_add(out, "\n");
    task_piece("EARLIER_CHUNKS", words, earlier);
    task_piece("EARLIER", words, out);
    x->out = earlier;
    task_function(x, heads, NULL,
                  emit_format(x, "%s(const struct call *call, int64_t task, struct share *share, int64_t end)", name),
                  out);
    text_add(out, "\n");
    text_free(range);
    text_free(earlier);
    return name;
}

/* Prints the functions for keys that several sequences share, and replaces `first`, the run of the phases before the
   loop over chunks, by a call of one of them. */
static void print_common(struct emitter *x, const struct chain *heads, struct text *first, const struct chunks *chunks,
                         struct text *out)
{
    struct arena *const arena = x->m->arena;
    struct common_keys common;
    const char *const form = emit_form(x->c), *const name = emit_function(x->c, emit_format(x, "%s_first", form)),
                      *const move = emit_function(x->c, emit_format(x, "%s_move", form));
    if (!common_keys_of(x->l, &common)) return;
    task_piece("FIRST", no_words, out);
    x->out = first;
    head_function(x, heads, name, out);
    text_add(out, "\n");
    print_moves(x, &common, move, out);
    struct text *const body = task_text(x);
    const struct piece_word words[] = {
        {"FIRST", .text = name},
        {"MOVE", .text = move},
        {"RANGE", .number = common.keys != NULL},
        {"EARLIER", .text = common.keys ? print_range(x, heads, &common, chunks, out) : ""},
        {"CHUNKS", .text = emit_size(x->m, window_in(heads->body)->axis)},
        {"BODY", .text = task_indented(arena, chunks->common, 0)},
        {0}};
    task_piece("COMMON_CHUNKS", words, body);
    task_piece("COMMON", words, out);
    x->out = body;
    head_function(x, heads, emit_function(x->c, emit_format(x, "%s_common", form)), out);
    text_add(out, "\n");
    text_free(body);
    text_free(first);
    *first = (struct text){0};
    task_piece("FIRST_OR_COMMON", words, first);
}

/* Prints all phases of a head, and the head function. */
static void phases(struct emitter *x, struct text *out)
{
    struct text *lead = task_text(x), *const first = task_text(x);
    struct chunks chunks = {NULL, task_text(x), task_text(x)};
    struct chain heads = chain_of(x->l->body);
    const bool after = emit_sums_queries(x->l);
    const char *const lanes = after ? "keys" : "queries";
    bool windows = false;
    int begins = 0, leaving = 0;
    if (program_has_short_tiles(&x->c->program)) {
        phase_of_few(x, &heads, window_in(heads.body), lanes, out);
        return;
    }
    for (const struct stmt *s = heads.body; s; s = s->next) {
        if (s->window) {
            windows = true;
            window_of(x, &heads, s, after, lead, &chunks, out);
        } else if (!windows)
            other_phase(x, &heads, s, numbered(x, "begin", begins++),
                        emit_format(x, "Initialises the states: they contain no %s yet.", after ? "queries" : "keys"),
                        x->l->kept > 0, first, out);
        else if (x->m->axis[s->axis].source == SIZE_CONSTANT)
            other_phase(x, &heads, s, numbered(x, "leave", leaving++), "Stores sums over the rows of the head.", false,
                        lead, out);
        else
            other_phase(x, &heads, s, lanes, emit_format(x, "Processes a tile of %s: reads the states.", lanes), false,
                        lead, out);
    }
    if (x->c->state.common) print_common(x, &heads, first, &chunks, out);
    text_append(first, lead->data, lead->length);
    task_piece("HEAD", no_words, out);
    x->out = first;
    head_function(x, &heads, emit_function(x->c, emit_form(x->c)), out);
    text_free(lead);
    text_free(first);
    text_free(chunks.body);
    text_free(chunks.common);
}

void emit_tasks(struct emitter *x, struct text *out)
{
    struct chain heads = chain_of(x->l->body);
    for (int k = 0; k < heads.loops; k++) {
        x->task_axis[heads.loop[k]->axis] = heads.loop[k]->step == 1;
        x->stride[heads.loop[k]->axis] = stmt_stride(heads.loop[k]);
        x->block[heads.loop[k]->axis] = heads.loop[k]->block;
        x->from_last[heads.loop[k]->axis] = task_from_last(x, heads.loop[k]);
    }
    x->phases = emit_in_phases(x->l);
    if (x->phases) {
        phases(x, out);
        return;
    }
    struct text *body = task_text(x);
    x->out = body;
    x->indent = 4;
    x->result = emit_prefetched_result(x, heads.body);
    if (x->result)
        emit_line(x, "int64_t results = %s; /* rows of %s to prefetch during the first product */",
                  emit_range(x, ref_axis(&x->result->operand[0], x->result->operand[0].rank - 1)),
                  emit_array(x, &x->result->assign[0].to));
    emit_begin_outer(x);
    emit_statements(x, heads.body);
    emit_give_outer(x);
    x->result = NULL;
    const char *const what = program_adds_totals(&x->c->program)
                                 ? "the totals of the partial sums that the slices of rows have stored"
                             : program_folds_states(&x->c->program)
                                 ? "adds the sums of one head to those of another state"
                             : program_prepares_keys(&x->c->program) ? "prepares a tile of rows of one head for a state"
                             : emit_units_of(x->l,
                                             program_is_backward(&x->c->program) || program_selects(&x->c->program))
                                 ? "one slice of the rows of all batches and heads"
                             : emit_tasks_of_keys(x->l) ? "one tile of keys of one head"
                                                        : "one tile of queries of one head";
    if (program_selects(&x->c->program)) {
        text_add(out, "/* Computes task number `task`: %s. The threads of `share` share its keys. */\n", what);
        head_function(x, &heads, emit_function(x->c, emit_form(x->c)), out);
        text_free(body);
        return;
    }
    task_piece("TASK", (const struct piece_word[]){{"WHAT", .text = what}, {0}}, out);
    task_function(x, &heads, NULL,
                  emit_format(x, "%s(const struct call *call, int64_t task, unsigned char *work)",
                              emit_function(x->c, emit_form(x->c))),
                  out);
    text_free(body);
}
