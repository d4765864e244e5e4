/* Walks lists of statements and the bodies in them. */
#include "stmts.h"

struct stmt *stmts_next(struct stmts *w)
{
    if (!w->now)
        w->at = w->place ? w->place : &w->list;
    else if (w->now->body && !w->skip) {
        w->around[w->depth++] = w->now;
        if (w->now->op == LOOPS_FOR) w->loop[w->loops++] = w->now;
        w->at = &w->now->body;
    } else
        w->at = &w->now->next;
    w->skip = false;
    while (!*w->at && w->depth) {
        struct stmt *const left = w->around[--w->depth];
        w->loops -= left->op == LOOPS_FOR;
        w->at = &left->next;
    }
    return w->now = *w->at;
}

struct stmt *stmts_first(const struct stmts *w)
{
    return w->depth ? w->around[w->depth - 1]->body : w->place ? *w->place : w->list;
}

struct stmt *stmts_over(const struct stmts *w, int axis)
{
    for (int k = w->loops - 1; k >= 0; k--)
        if (w->loop[k]->axis == axis) return w->loop[k];
    return NULL;
}

int64_t stmts_extent(const struct stmts *w, const struct module *m, int axis)
{
    const struct stmt *const loop = stmts_over(w, axis);
    return loop ? loop->step : axis_is_whole(&m->axis[axis]) ? m->axis[axis].extent : 0;
}

void stmts_rewrite(struct stmt **list, bool (*rewrite)(struct loops *l, struct stmt **at), struct loops *l)
{
    while (*list) {
        stmts_rewrite(&(*list)->body, rewrite, l);
        if (!rewrite(l, list)) list = &(*list)->next;
    }
}

struct stmt *stmts_copy(struct loops *l, const struct stmt *list, const struct stmt *end)
{
    struct stmt *first = NULL, **last = &first;
    for (; list != end; list = list->next) {
        struct stmt *const copy = stmt_new(l, list->op);
        *copy = *list;
        copy->next = NULL;
        copy->body = stmts_copy(l, list->body, NULL);
        *last = copy;
        last = &copy->next;
    }
    return first;
}

struct loops *loops_copy(const struct loops *l)
{
    struct loops *copy = loops_new(l->module);
    for (int a = 0; a < l->arrays; a++) loops_array(copy, l->array[a]);
    copy->body = stmts_copy(copy, l->body, NULL);
    copy->workspace = l->workspace;
    copy->shared = l->shared;
    copy->slot = l->slot;
    copy->kept = l->kept;
    return copy;
}

void stmts_keep_assigns(struct stmt **list, bool (*keep)(const void *of, const struct stmt *s, const struct assign *a),
                        const void *of)
{
    for (struct stmt *s; (s = *list);) {
        int kept = 0;
        for (int k = 0; k < s->assigns; k++)
            if (keep(of, s, &s->assign[k])) s->assign[kept++] = s->assign[k];
        s->assigns = kept;
        stmts_keep_assigns(&s->body, keep, of);
        if (kept || s->body)
            list = &s->next;
        else
            *list = s->next;
    }
}

static struct stmt *find_loop(const struct stmt *list, int axis)
{
    struct stmts w = {.list = (struct stmt *)list};
    struct stmt *s;
    while ((s = stmts_next(&w)) && !(s->op == LOOPS_FOR && (axis < 0 ? s->window : s->axis == axis))) continue;
    return s;
}

struct stmt *stmts_loop(const struct stmt *list, int axis)
{
    return find_loop(list, axis);
}

struct stmt *stmts_window(const struct stmt *list)
{
    return find_loop(list, -1);
}

int stmts_writing(const struct stmt *list, int a)
{
    int count = 0;
    struct stmts w = {.list = (struct stmt *)list};
    for (const struct stmt *s; (s = stmts_next(&w));) count += stmt_writes(s, a);
    return count;
}

int stmts_touching(const struct stmt *list, int a)
{
    int count = 0;
    struct stmts w = {.list = (struct stmt *)list};
    for (const struct stmt *s; (s = stmts_next(&w));) count += !s->body && stmt_touches(s, a);
    return count;
}

bool loops_fade(const struct loops *l)
{
    struct stmts w = {.list = l->body};
    for (const struct stmt *s; (s = stmts_next(&w));)
        if (s->fades) return true;
    return false;
}

void stmts_rename(struct stmt *list, int from, int to)
{
    struct stmts w = {.list = list};
    for (struct stmt *s; (s = stmts_next(&w));) {
        for (int k = 0; k < s->operands; k++)
            if (s->operand[k].of == from) s->operand[k].of = to;
        for (int k = 0; k < s->assigns; k++) {
            if (s->assign[k].to.of == from) s->assign[k].to.of = to;
            if (s->assign[k].compensation == from + 1) s->assign[k].compensation = to + 1;
        }
    }
}
