/* Prints loops over tiles. A loop visits
   - all indices from a first to a last,
   - a union of ranges, which attn_union makes a sorted list of disjoint ranges, or
   - the residues: indices x with floor_mod(x - phase, period) < run.
   Also prints tests of a tile against a union, and lists of random draws. Both are in the thread's workspace, after
   the tiles. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"
#include "../spec/spec.h"

#include <string.h>

/* ---- random draws ---- */

/* Reserves bytes of the workspace and returns their address as C. */
static const char *take(struct emitter *x, int64_t bytes)
{
    if (x->workspace_used == 0) x->workspace_used = x->l->workspace - ranges_workspace(x->c) - pages_workspace(x->c);
    const char *at = emit_format(x, x->phases ? "(void *)(share->work + %lld)" : "(void *)(work + %lld)",
                                 (long long)x->workspace_used);
    x->workspace_used += bytes;
    return at;
}

void emit_drawn_lists(struct emitter *x, const struct stmt *loop, bool inside)
{
    struct drawn_list list = {0};
    draw_lists(loop, &list);
    uint32_t moving = (inside ? 0 : AXIS(loop->axis)) | emit_loop_axes(loop->body);
    for (int k = 0; k < list.count; k++) {
        const struct expr *e = list.e[k];
        int known = 0;
        while (known < x->drawns && !draw_same_lists(x->drawn[known], e)) known++;
        if (e->draw->sorted || known < x->drawns || (expr_axes(e->arg[0]) | expr_axes(e->arg[2])) & moving ||
            x->drawns == MAX_DRAWN)
            continue;
        x->drawn[x->drawns++] = e;
        const char *name = emit_drawn_name(x, e);
        const char *const given = e->draw->name ? emit_name(x->m->arena, e->draw->name) : NULL;
        emit_line(x, "/* %s: the lists of %lld numbers %s for each block that this tile touches */", name,
                  (long long)e->draw->count, given ? "given" : "drawn");
        emit_line(x, "struct attn_draw %s = {", name);
        if (given)
            emit_line(x, "    .count = %lld,", (long long)e->draw->count);
        else
            emit_line(x, "    .seed = UINT64_C(%llu), .count = %lld, .upto = %d, .among = %s,",
                      (unsigned long long)e->draw->seed, (long long)e->draw->count, e->draw->upto,
                      emit_integer(x, e->arg[2]));
        emit_line(x, "    .first = %s,", emit_integer(x, expr_extreme(x->m, e->arg[0], false)));
        emit_line(x, "    .last = %s,", emit_integer(x, expr_extreme(x->m, e->arg[0], true)));
        emit_line(x, "    .list = (int64_t *)%s};", take(x, draw_list_bytes(x->c, e)));
        if (given)
            emit_line(x, "attn_draw_listed(&%s, %s + (%s + %s.first) * %lld);", name, given, emit_integer(x, e->arg[2]),
                      name, (long long)e->draw->count);
        else
            emit_line(x, "attn_draw(&%s);", name);
    }
}

void emit_sorted_lists(struct emitter *x, const struct stmt *loop)
{
    struct drawn_list list = {0};
    if (!loop->gathers) draw_lists(loop, &list);
    const uint32_t moving = emit_loop_axes(loop->body);
    for (int k = 0; k < list.count; k++) {
        const struct expr *const e = list.e[k];
        int known = 0;
        while (known < x->drawns && !draw_same_lists(x->drawn[known], e)) known++;
        if (!e->draw->sorted || known < x->drawns || x->drawns == MAX_DRAWN ||
            (expr_axes(e->arg[0]) | expr_axes(e->arg[1]) | expr_axes(e->arg[2])) & moving)
            continue;
        x->drawn[x->drawns++] = e;
        const char *const name = emit_drawn_name(x, e), *const lists = emit_name(x->m->arena, e->draw->name);
        const long long count = (long long)e->draw->count;
        emit_line(x, "/* %s: which keys of this tile are in the lists of its rows */", name);
        emit_line(x, "const struct listed %s = {%s, %s, %lld, (uint64_t *)%s};", name,
                  emit_integer(x, expr_extreme(x->m, e->arg[0], false)),
                  emit_integer(x, expr_extreme(x->m, e->arg[1], false)), (long long)draw_list_words(x->c, e),
                  take(x, draw_list_bytes(x->c, e)));
        emit_line(x, "find_listed(&%s, %s + (%s + %s.first) * %lld, %lld, %s, %s);", name, lists,
                  emit_integer(x, e->arg[2]), name, count, count, emit_integer(x, expr_extreme(x->m, e->arg[0], true)),
                  emit_integer(x, expr_extreme(x->m, e->arg[1], true)));
    }
}

/* ---- unions ---- */

/* Declares the list `name` of ranges and its length. The list is the union of the statement's ranges, clipped to
   from … to. */
static void emit_union(struct emitter *x, const struct stmt *s, const char *name, const char *from, const char *to)
{
    int64_t bytes = draw_union_bytes(x->c, s);
    if (bytes == 0) {
        emit_line(x, "struct attn_range %s[] = {", name);
        for (int k = 0; k < s->ranges; k++)
            emit_line(x, "    {%s, %s},", emit_integer(x, s->range[k].from), emit_integer(x, s->range[k].to));
        emit_line(x, "};");
        emit_line(x, "const int64_t %ss = attn_union(%s, %d, %s, %s);", name, name, s->ranges, from, to);
        return;
    }
    emit_line(x, "struct attn_range *const %s = (struct attn_range *)%s;", name, take(x, bytes));
    emit_line(x, "int64_t %ss = 0;", name);
    for (int k = 0; k < s->ranges; k++) {
        const char *first = emit_integer(x, s->range[k].from), *end = emit_integer(x, s->range[k].to);
        const struct expr *d = s->range[k].drawn, *position;
        int64_t block = 1;
        if (d) floor_quotient(x->m, d->arg[1], &position, &block);
        if (d)
            emit_line(x, "%ss += attn_drawn_ranges(&%s, %lld, %s, %s, %d, %s + %ss);", name, emit_drawn_name(x, d),
                      (long long)block, first, end, s->op != LOOPS_FOR, name, name);
        else
            emit_line(x, "%s[%ss++] = (struct attn_range){%s, %s};", name, name, first, end);
    }
    emit_line(x, "%ss = attn_union(%s, %ss, %s, %s);", name, name, name, from, to);
}

const char *emit_outside(struct emitter *x, const struct stmt *s)
{
    const char *axis = x->m->axis[s->axis].name;
    if (x->hoisted != s->range) emit_union(x, s, emit_format(x, "%s_inside", axis), "0", emit_size(x->m, s->axis));
    x->hoisted = s->range;
    return emit_format(x, "!attn_covers(%s_inside, %s_insides, %s0, %s1)", axis, axis, axis, axis);
}

/* Returns whether the ranges of an IF depend on the current range of the IF's own axis. */
static bool uses_own(const struct emitter *x, const struct stmt *s)
{
    bool uses = false;
    for (int k = 0; k < s->ranges; k++)
        for (int n = 0; n < 4; n++)
            uses |= expr_uses(n < 2 ? s->range[k].from : s->range[k].to,
                              expr_leaf(x->m, n % 2 ? EXPR_HI : EXPR_LO, s->axis));
    return uses;
}

/* Declares a union of ranges, and opens the loop over them. */
static void range_loop(struct emitter *x, const struct stmt *s, const char *name, const char *from, const char *to)
{
    const char *a = x->m->axis[s->axis].name;
    emit_line(x, "/* the ranges of %s that some query of the tile may see */", a);
    emit_union(x, s, name, from, to);
    for (const struct stmt *inner = s->body; inner; inner = inner->next)
        if (inner->op == LOOPS_IF && inner->ranges && inner->axis == s->axis && x->hoisted != inner->range &&
            !uses_own(x, inner)) {
            emit_line(x, "/* the ranges that every query of the tile sees */");
            emit_union(x, inner, emit_format(x, "%s_inside", a), "0", emit_size(x->m, s->axis));
            x->hoisted = inner->range;
        }
    emit_open(x,
              s->backward ? "for (int64_t piece = %ss - 1; piece >= 0; piece--) {"
                          : "for (int64_t piece = 0; piece < %ss; piece++) {",
              name);
}

/* Opens a loop over tiles of the indices in a list. */
static void gathering_loop(struct emitter *x, const struct stmt *s)
{
    const char *const a = x->m->axis[s->axis].name;
    const struct expr *const drawn = s->range[0].drawn, *position;
    int64_t block = 1;
    floor_quotient(x->m, drawn->arg[1], &position, &block);
    emit_line(x, "/* every %s in the list of the queries */", a);
    emit_line(x, "int32_t *const %s_list = (int32_t *)%s;", a, take(x, draw_union_bytes(x->c, s)));
    const char *const range = emit_format(x, "%lld, %s, %s, %s_list", (long long)block,
                                          emit_integer(x, s->range[0].from), emit_integer(x, s->range[0].to), a);
    if (drawn->draw->sorted)
        emit_line(x, "const int64_t %s_end = indices_in_list(%s + (%s + %s) * %lld, %lld, %s);", a,
                  emit_name(x->m->arena, drawn->draw->name), emit_integer(x, drawn->arg[2]),
                  emit_integer_text(x, drawn->arg[0], true), (long long)drawn->draw->count,
                  (long long)drawn->draw->count, range);
    else
        emit_line(x, "const int64_t %s_end = listed_indices(%s.list, %s);", a, emit_drawn_name(x, drawn), range);
    emit_open(x, "for (int64_t %s0 = 0; %s0 < %s_end; %s0 += %lld) {", a, a, a, a, (long long)s->step);
    emit_line(x, "const int64_t %s1 = min(%s0 + %lld, %s_end);", a, a, (long long)s->step, a);
}

/* Returns C for a - b. */
static const char *difference(struct emitter *x, const char *a, const char *b)
{
    if (strcmp(b, "0") == 0) return a;
    return emit_format(x, strchr(b, ' ') ? "%s - (%s)" : "%s - %s", a, b);
}

/* Opens a loop over residues and, inside it, a loop over tiles whose indices are a period apart. */
static void residue_loops(struct emitter *x, const struct stmt *s, const char *from)
{
    const char *a = x->m->axis[s->axis].name, *phase = emit_integer(x, s->phase);
    long long period = (long long)s->period, far = (long long)(s->step * s->period), last = (long long)s->run - 1;
    if (last > 0) {
        emit_line(x, "/* every %s congruent to %s … %s + %lld modulo %lld, one residue at a time */", a, phase, phase,
                  last, period);
        emit_open(x, "for (int64_t %s_next = 0; %s_next <= %lld; %s_next++) {", a, a, last, a);
        phase = emit_format(x, "%s + %s_next", phase, a);
    } else
        emit_line(x, "/* every %s congruent to %s modulo %lld */", a, phase, period);
    const char *sum = strcmp(from, "0") == 0 ? "" : emit_format(x, "%s + ", from);
    emit_line(x, "const int64_t %s_first = %sfloor_mod(%s, %lld);", a, sum, difference(x, phase, from), period);
    emit_open(x, "for (int64_t %s0 = %s_first; %s0 < %s_end; %s0 += %lld) {", a, a, a, a, a, far);
    emit_line(x, "const int64_t %s1 = min(%s0 + %lld, %s_end), %s_count = (%s1 - %s0 + %lld) / %lld;", a, a,
              far - period + 1, a, a, a, a, period - 1, period);
}

/* Opens a loop over periods and, inside it, a loop over the tiles of a run. */
static void run_loops(struct emitter *x, const struct stmt *s, const char *from)
{
    const char *a = x->m->axis[s->axis].name, *phase = emit_integer(x, s->phase);
    long long period = (long long)s->period, run = (long long)s->run;
    emit_line(x, "/* every %s congruent to %s … %s + %lld modulo %lld, one run at a time */", a, phase, phase, run - 1,
              period);
    emit_line(x, "const int64_t %s_first = %s - floor_mod(%s, %lld);", a, from, difference(x, from, phase), period);
    emit_open(x, "for (int64_t %s_from = %s_first; %s_from < %s_end; %s_from += %lld) {", a, a, a, a, a, period);
    emit_line(x, "const int64_t %s_to = min(%s_from + %lld, %s_end);", a, a, run, a);
    emit_open(x, "for (int64_t %s0 = max(%s_from, %s); %s0 < %s_to; %s0 += %lld) {", a, a, from, a, a, a,
              (long long)s->step);
    emit_line(x, "const int64_t %s1 = min(%s0 + %lld, %s_to);", a, a, (long long)s->step, a);
}

/* Returns whether a product needs the end of the axis's current range. Products of whole vectors do not need it. */
static bool product_asks_for_end(const struct emitter *x, const struct stmt *s, int axis)
{
    if (s->where || s->axis == axis || s->axes[0] == axis) return true;
    return !x->l->array[s->operand[1].of].matrix && s->axes[1] == axis &&
           emit_most_lanes(x, &s->assign[0].to) != x->lanes;
}

/* Returns whether C in the loop needs the end of the loop's range. */
static bool asks_for_end(const struct emitter *x, const struct stmt *loop)
{
    bool asks = loop->when && expr_uses(loop->when, expr_hi(x->m, loop->axis));
    for (const struct stmt *s = loop->body; s; s = s->next)
        asks |= s->op != LOOPS_DOT || product_asks_for_end(x, s, loop->axis);
    return asks;
}

/* Opens the loop over the tiles of a block. Variables i0 and i1 of a tile shadow i0 and i1 of the block. Declares a
   pointer for each array that the block holds. */
static void block_loop(struct emitter *x, const struct stmt *s)
{
    const char *a = x->m->axis[s->axis].name;
    bool held = false;
    for (int k = 0; k < x->l->arrays; k++) held |= x->l->array[k].held && stmt_touches(s, k);
    emit_open(x, "for (int64_t %s_next = %s0, %s%s_end = %s1; %s_next < %s_end; %s_next += %lld) {", a, a,
              held ? emit_format(x, "%s_block = %s0, ", a, a) : "", a, a, a, a, a, (long long)s->step);
    emit_line(x, "const int64_t %s0 = %s_next%s;", a, a,
              asks_for_end(x, s) ? emit_format(x, ", %s1 = min(%s0 + %lld, %s_end)", a, a, (long long)s->step, a) : "");
    for (int k = 0; k < x->l->arrays; k++) {
        const struct array *array = &x->l->array[k];
        if (!array->held || !stmt_touches(s, k)) continue;
        emit_line(x, "%s *const %s = %s + (%s0 - %s_block) / %lld * %lld;", dtype_c_type(array->dtype),
                  emit_local(x, array->name), emit_held(x, array), a, a, (long long)s->step,
                  (long long)(array_elements(array) / array->held));
    }
}

/* Declares pointers to rows of keys in a state that drops keys. Rows are indexed by position. So a pointer depends
   on whether the range has the first keys or the last keys. No range has both. */
static void choose_rows(struct emitter *x, const struct stmt *s, const char *from)
{
    if (!x->c->state.read_first || x->m->axis[s->axis].source != SIZE_N_K) return;
    for (int k = 0; k < x->l->arrays; k++) {
        if (!emit_has_dropped(x, &x->l->array[k]) || !emit_reads_keys(x, s, k)) continue;
        const char *const name = emit_local(x, x->l->array[k].name);
        emit_line(x, "const %s *const %s = last_%s + (%s < %lld ? call->dropped * %s_row : 0);",
                  dtype_c_type(x->l->array[k].dtype), name, name, from, (long long)x->c->state.read_first, name);
    }
}

/* Returns C for the first index of a loop. The loop skips keys that are already in the sums of the state. */
static const char *first_of(struct emitter *x, const struct stmt *s)
{
    bool adds = !x->phases && x->l->kept > 0 && x->m->axis[s->axis].source == SIZE_N_K && expr_is_real(s->from, 0);
    for (int a = 0; a < x->l->arrays && adds; a++)
        if (x->l->array[a].kept && stmt_touches(s, a)) return "call->summed";
    return emit_integer(x, s->from);
}

/* Returns a MAX_ID that must be true for condition e, or NULL. The MAX_ID is the maximum over a mask's columns in
   the current range of the axis. The mask must have a table of tiles. */
static const struct expr *run_of(const struct emitter *x, const struct expr *e, int axis)
{
    if (e && e->op == EXPR_AND) {
        const struct expr *const found = run_of(x, e->arg[0], axis);
        return found ? found : run_of(x, e->arg[1], axis);
    }
    if (!e || e->op != EXPR_LT || !expr_is_real(e->arg[0], 0) || e->arg[1]->op != EXPR_MAX_ID) return NULL;
    const struct expr *const max = e->arg[1], *const low = expr_lo(x->m, axis), *const high = expr_hi(x->m, axis);
    const bool columns = max->arg[1] == low && max->arg[2] == high && !expr_uses(max->arg[0], low) &&
                         !expr_uses(max->arg[0], high);
    return columns && emit_table_of(x, max) >= 0 ? max : NULL;
}

/* Opens a loop over pieces of the axis whose tiles in the table have true flags. A piece has at most s->step
   indices. */
static void open_runs(struct emitter *x, const struct stmt *s, const struct expr *max, const char *from,
                      const char *end)
{
    const char *a = x->m->axis[s->axis].name;
    emit_open(x, "for (struct run %s = {%s, %s}; next_run(&%s, &call->mask_tiles[%d], %s, %s, %lld, %s);) {", a, from,
              from, a, emit_table_of(x, max), emit_integer(x, max->arg[0]->arg[0]),
              emit_integer(x, max->arg[0]->arg[1]), (long long)s->step, end);
    emit_line(x, "const int64_t %s0 = %s.from, %s1 = %s.to;", a, a, a, a);
}

/* Returns the SELECT in the loop, or NULL. The threads of a task share the keys of such a loop. */
static const struct stmt *select_in(const struct stmt *loop)
{
    struct stmts w = {.list = loop->body};
    while (stmts_next(&w))
        if (w.now->op == LOOPS_SELECT) return w.now;
    return NULL;
}

void emit_tile_loops(struct emitter *x, const struct stmt *s)
{
    if (x->block[s->axis]) {
        block_loop(x, s);
        return;
    }
    const char *a = x->m->axis[s->axis].name, *name = emit_format(x, "%s_range", a), *from = first_of(x, s),
               *end = emit_integer(x, s->to);
    const struct stmt *const select = select_in(s);
    if (select) { /* a thread has whole blocks */
        const long long block = (long long)select->keys_of_block;
        emit_line(x, "const struct attn_range %s_own = range_of_share(share, %s, %s, %lld);", a, from, end,
                  (64 + block - 1) / block * block);
        from = emit_format(x, "%s_own.from", a);
        end = emit_format(x, "%s_own.to", a);
    }
    if (s->gathers) {
        gathering_loop(x, s);
        emit_find_pages(x, s);
        return;
    }
    if (s->ranges) {
        range_loop(x, s, name, from, end);
        from = emit_format(x, "%s[piece].from", name);
        end = emit_format(x, "%s[piece].to", name);
    } else if (x->c->state.read_first && x->m->axis[s->axis].source == SIZE_N_K)
        emit_open(x, "{");
    choose_rows(x, s, from);
    if (s->period) { /* The braces are a scope, because another loop over the axis may follow. */
        emit_open(x, "{");
        emit_line(x, "const int64_t %s_end = %s;", a, end);
        if (s->apart)
            residue_loops(x, s, from);
        else
            run_loops(x, s, from);
    } else if (s->backward) {
        emit_open(x, "{");
        emit_line(x, "const int64_t %s_from = %s, %s_end = %s;", a, from, a, end);
        emit_open(x,
                  "for (int64_t %s0 = %s_from + (%s_end - %s_from + %lld) / %lld * %lld - %lld; "
                  "%s0 >= %s_from; %s0 -= %lld) { /* from the last key to the first */",
                  a, a, a, a, (long long)s->step - 1, (long long)s->step, (long long)s->step, (long long)s->step, a, a,
                  a, (long long)s->step);
        emit_line(x, "const int64_t %s1 = min(%s0 + %lld, %s_end);", a, a, (long long)s->step, a);
    } else if (run_of(x, s->when, s->axis))
        open_runs(x, s, run_of(x, s->when, s->axis), from, end);
    else {
        emit_open(x, "for (int64_t %s0 = %s, %s_end = %s; %s0 < %s_end; %s0 += %lld) {", a, from, a, end, a, a, a,
                  (long long)s->step);
        emit_line(x, "const int64_t %s1 = min(%s0 + %lld, %s_end);", a, a, (long long)s->step, a);
        if (s->step == 1) emit_line(x, "(void)%s1;", a); /* a single row may need only its start */
    }
    emit_find_pages(x, s);
}
