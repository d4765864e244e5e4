/* Prints the statements of the loop IR. */
#include "printer.h"

/* Returns whether an earlier loop of the list has the same axis as s. Its variables then have the same names. */
static bool follows_its_like(const struct stmt *first, const struct stmt *s)
{
    for (; first != s; first = first->next)
        if (first->op == LOOPS_FOR && first->axis == s->axis) return true;
    return false;
}

/* Returns whether the statement initialises the caller's state. That must happen before the first key. Phases test
   this condition themselves. */
static bool begins_kept(const struct emitter *x, const struct stmt *s)
{
    return !x->phases && s->op == LOOPS_MAP && s->operands == 0 && x->l->array[s->assign[0].to.of].kept &&
           s->assign[0].fold == FOLD_SET;
}

static void emit_leaf(struct emitter *x, const struct stmt *s)
{
    x->new_rows = s->op != LOOPS_SOLVE && s->resumes & RESUME_ROWS ? 1 + s->axes[0] : 0;
    if (s->op == LOOPS_MAP) emit_map(x, s);
    if (s->op == LOOPS_DOT) emit_dot(x, s);
    if (s->op == LOOPS_COPY) emit_copy(x, s);
    if (s->op == LOOPS_SCAN) emit_scan(x, s);
    if (s->op == LOOPS_SOLVE) emit_solve(x, s);
    if (s->op == LOOPS_SELECT) emit_select(x, s);
    if (s->op == LOOPS_LIST) emit_list_of_keys(x, s);
    x->new_rows = 0;
}

/* Prints a MAP, DOT or COPY statement, and the following statements that have the same condition (emit_condition).
   Returns the last of these statements. */
static const struct stmt *emit_simple(struct emitter *x, const struct stmt *s)
{
    const char *condition = begins_kept(x, s) ? "call->length == call->start" : emit_condition(x, s);
    if (condition) {
        emit_open(x, "if (%s) {", condition);
    }
    for (bool more = true; more;) {
        if (emit_remembered(x, s))
            emit_missing(x, s, emit_leaf);
        else
            emit_leaf(x, s);
        emit_take_outer(x, s);
        const struct stmt *next = s->next;
        /* emit_recall declares variables for a remembered tile, outside the condition */
        more = condition && next && next->op != LOOPS_FOR && next->op != LOOPS_IF && !emit_remembered(x, next);
        more = more && emit_condition(x, next) == condition;
        if (more) s = next;
    }
    if (condition) emit_close(x);
    return s;
}

/* Prints what each iteration of a loop computes. `part`: the loop's axis has constant size. */
static void emit_iteration(struct emitter *x, const struct stmt *loop, bool part)
{
    emit_drawn_lists(x, loop, true);
    emit_ids(x, loop, true);
    if (loop->when)
        emit_line(x, "if (!(%s)) continue; /* no query sees a key of the tile */", emit_integer(x, loop->when));
    emit_sorted_lists(x, loop);
    x->cut[loop->axis] |= part;
    const struct stmt *const resumed = x->resumed;
    if (loop->resumes) {
        const char *const rows = x->m->axis[loop->axis].name;
        emit_line(x, "const int64_t %s_new = max(%s0, call->solved); /* the first row without a solution */", rows,
                  rows);
        x->resumed = loop;
    }
    emit_statements(x, loop->body);
    x->resumed = resumed;
    x->cut[loop->axis] &= !part;
}

/* Prints the body of a loop. In a loop over sequences, it begins with the position of the first query, if used. */
static void emit_body(struct emitter *x, const struct stmt *loop, bool part)
{
    const struct expr *const outside = x->start;
    if (x->m->axis[loop->axis].source != SIZE_BATCH) {
        emit_iteration(x, loop, part);
        return;
    }
    struct text *const out = x->out;
    struct text inner = {0};
    x->start = NULL;
    x->out = &inner;
    emit_iteration(x, loop, part);
    x->out = out;
    if (x->start) emit_line(x, "%s", emit_query_start(x));
    text_append(out, inner.data, inner.length);
    text_free(&inner);
    x->start = outside;
}

void emit_statements(struct emitter *x, const struct stmt *s)
{
    for (const struct stmt *first = s; s; s = s->next) {
        switch ((enum loops_op)s->op) {
        case LOOPS_FOR: {
            const char *a = x->m->axis[s->axis].name;
            int outside = x->ids;
            bool block = follows_its_like(first, s);
            if (block) emit_open(x, "{");
            if (s->resumes && emit_shares_pass(x, s)) emit_line(x, "int with_rows = 0;");
            bool in_window = x->in_window, part = x->m->axis[s->axis].source == SIZE_CONSTANT && s->step > 1;
            emit_drawn_lists(x, s, false);
            emit_ids(x, s, false);
            const int known = x->ids, drawns = x->drawns;
            const struct range *const hoisted = x->hoisted;
            const int64_t workspace_used = x->workspace_used;
            const int indent = x->indent;
            if (!emit_tiled(x, s->axis) && !part) {
                emit_open(x, "for (int64_t %s = %s; %s < %s; %s++) {", a, emit_integer(x, s->from), a,
                          emit_integer(x, s->to), a);
                if (axis_is_chunks(&x->m->axis[s->axis])) x->in_window = false;
            } else {
                emit_tile_loops(x, s);
                if (s->gathers) x->gathers = s;
                x->stride[s->axis] = stmt_stride(s);
            }
            const bool in_block = x->block[s->axis];
            x->block[s->axis] = s->block;
            if (s->backward) x->backward |= AXIS(s->axis);
            emit_body(x, s, part);
            x->ids = known;
            x->hoisted = hoisted; /* a later loop cannot use what this one declares */
            if (x->drawns > drawns) x->workspace_used = workspace_used;
            x->drawns = drawns;
            x->in_window = in_window;
            x->block[s->axis] = in_block;
            if (s->backward) x->backward &= ~AXIS(s->axis);
            x->stride[s->axis] = 1;
            if (x->gathers == s) x->gathers = NULL;
            while (x->indent > indent) emit_close(x);
            if (block) {
                x->ids = outside;
                emit_close(x);
            }
            break;
        }
        case LOOPS_IF:
            emit_open(x, "if (%s) {%s", s->where ? emit_integer(x, s->where) : emit_outside(x, s),
                      s->body && s->body->op == LOOPS_FOR ? ""
                      : s->body && s->body->assigns > 0 && x->l->array[s->body->assign[0].to.of].kept
                          ? " /* the chunk is full */"
                      : s->where && s->where->op == EXPR_NOT ? " /* the tile is wholly inside the mask */"
                                                             : " /* the tile is partly outside the mask */");
            emit_statements(x, s->body);
            emit_close(x);
            break;
        case LOOPS_MAP:
        case LOOPS_DOT:
        case LOOPS_COPY:
        case LOOPS_SCAN:
        case LOOPS_SOLVE:
        case LOOPS_SELECT:
        case LOOPS_LIST:
            if (s->fades) emit_faded(x, s);
            emit_recall(x, s);
            s = emit_simple(x, s);
            break;
        }
    }
}
