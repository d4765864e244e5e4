/* Prints tiles that a thread remembers (array.remembered in ir/loops.h).
   - A strip has one element for each difference of positions. Before a tile of pairs, the thread fills in only the
     elements that it has not computed for this head.
   - A tile of queries and keys has a place for each head, so the thread fills it for its first sequence only. */
#include "printer.h"

const struct array *emit_remembered(const struct emitter *x, const struct stmt *s)
{
    const struct array *const a = s->assigns == 1 && !s->body ? &x->l->array[s->assign[0].to.of] : NULL;
    return a && a->remembered ? a : NULL;
}

int emit_remembered_tiles(const struct loops *l, int64_t offset[MAX_REMEMBERED])
{
    int count = 0;
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].remembered && count < MAX_REMEMBERED) offset[count++] = l->array[a].offset;
    return count;
}

int emit_remembered_rank(const struct compilation *const *c, int compilations)
{
    int rank = 0;
    for (int k = 0; k < compilations; k++)
        for (int a = 0; a < c[k]->loops->arrays; a++) {
            const struct array *const tile = &c[k]->loops->array[a];
            if (tile->remembered && tile->rank > rank) rank = tile->rank;
        }
    return rank;
}

/* Adds the axes whose indices e reads to *axes, as bits. The position of the first query counts in *starts. */
static void note_axes(const struct expr *e, uint32_t *axes, const struct expr **starts)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = w.e->op == EXPR_START;
        if (w.skip) *starts = w.e;
        if (w.e->op == EXPR_INDEX) *axes |= AXIS(w.e->integer);
    }
}

/* Returns C for a number of all that the elements of the strip depend on, besides the difference. Returns NULL if they
   depend on nothing else. */
static const char *head_of(const struct emitter *x, const struct stmt *s)
{
    static const enum size_source outer[] = {SIZE_BATCH, SIZE_KV_HEADS, SIZE_MEMBERS, SIZE_HEADS};
    uint32_t axes = 0;
    const struct expr *start = NULL;
    for (int k = 0; k < s->operands; k++)
        for (int n = 0; n < s->operand[k].rank; n++) note_axes(s->operand[k].sub[n], &axes, &start);
    if (s->op == LOOPS_MAP) note_axes(s->assign[0].expr, &axes, &start);
    const char *made = NULL;
    int terms = 0;
    for (size_t k = 0; k < sizeof outer / sizeof *outer; k++)
        for (int a = 0; a < x->m->axes; a++) {
            const bool of_start = start && start->arg[0]->op == EXPR_INDEX && start->arg[0]->integer == a;
            if (x->m->axis[a].source != outer[k] || (!(axes >> a & 1) && !of_start)) continue;
            const char *const index = axes >> a & 1
                                          ? x->m->axis[a].name
                                          : emit_format(x, "(call->p.query_start ? %s : 0)", x->m->axis[a].name);
            const char *const times = terms ? emit_format(x, terms > 1 ? "(%s) * %s" : "%s * %s", made,
                                                          emit_size(x->m, a))
                                            : NULL;
            terms++;
            made = times ? emit_format(x, "%s + %s", times, index) : index;
        }
    return made;
}

static const char *number_of_head(const struct emitter *x, const struct stmt *s)
{
    const char *const head = head_of(x, s);
    return head ? head : "0";
}

/* Returns C for the number of the current tile along axis k of the array. */
static const char *number_along(const struct emitter *x, const struct array *a, int k)
{
    return emit_format(x, "%s0 / %lld", x->m->axis[a->axes[k]].name, (long long)a->extent[k]);
}

const struct array *emit_first_kept_tile(const struct loops *l)
{
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].remembered && l->array[a].rank == 2) return &l->array[a];
    return NULL;
}

/* Returns C for the number of tiles along axis k of the array. */
static const char *tiles_along(const struct emitter *x, const struct array *a, int k)
{
    return emit_format(x, "((%s + %lld) / %lld)", emit_size(x->m, a->axes[k]), (long long)a->extent[k] - 1,
                       (long long)a->extent[k]);
}

const char *emit_kept_tiles_of_head(const struct emitter *x, const struct array *a)
{
    return emit_format(x, "%s * %s", tiles_along(x, a, 0), tiles_along(x, a, 1));
}

/* Prints the declaration of the place of a tile of queries and keys. Places are numbered by head, query and key, and
   only by query and key if the tasks are in the order of heads. */
static void recall_tile(struct emitter *x, const struct stmt *s, const struct array *a)
{
    const char *const name = emit_local(x, a->name), *const head = head_of(x, s);
    const char *number = head ? emit_format(x, "(by_heads ? 0 : %s) * %s * %s + ", head, tiles_along(x, a, 0),
                                            tiles_along(x, a, 1))
                              : "";
    number = emit_format(x, "%s%s * %s + %s", number, number_along(x, a, 0), tiles_along(x, a, 1),
                         number_along(x, a, 1));
    emit_line(x, "/* %s, which this thread may have from an earlier sequence */", name);
    emit_line(x, "struct known_tile *const %s_known = place_of_tile(%s_places, %s, %lld);", name, name, number,
              (long long)a->remembered);
    emit_line(x, "%s *const %s = %s_kept + (%s_known - (struct known_tile *)(void *)%s_places - 1) * %lld;",
              dtype_c_type(a->dtype), name, name, name, name, (long long)(a->extent[0] * (a->extent[1] + a->gap)));
}

void emit_recall(struct emitter *x, const struct stmt *s)
{
    const struct array *const a = emit_remembered(x, s);
    if (!a) return;
    if (a->rank == 2) {
        recall_tile(x, s, a);
        return;
    }
    const char *const name = emit_local(x, a->name), *const lane = x->m->axis[a->lane].name,
                      *const other = x->m->axis[a->other].name, *const stored = dtype_c_type(a->dtype);
    const long long extent = (long long)x->m->axis[a->axes[0]].extent;
    emit_line(x, "/* the elements of %s that this thread has for the head */", name);
    emit_line(x, "const int64_t %s_first = %s0 - %s1 + 1;", name, lane, other);
    emit_line(x, "recall(%s_known, %s, %s_first, %s_first + %lld, 1 - %s, %s + %s + %lld, %lld);", name,
              number_of_head(x, s), name, name, extent, emit_size(x->m, a->other), emit_size(x->m, a->lane),
              emit_size(x->m, a->other), extent, (long long)a->remembered);
    emit_line(x, "%s *const %s = %s_kept + (%s_first - %s_known->base);", stored, name, name, name, name);
}

void emit_missing(struct emitter *x, const struct stmt *s, void (*print)(struct emitter *x, const struct stmt *s))
{
    const struct array *const a = emit_remembered(x, s);
    const char *const name = emit_local(x, a->name), *const axis = x->m->axis[a->axes[0]].name;
    if (a->rank == 2) {
        const char *const other = x->m->axis[a->axes[1]].name;
        emit_open(x, "if (!knows_tile(%s_known, %s, %s0, %s1, %s0, %s1)) {", name, number_of_head(x, s), axis, axis,
                  other, other);
        print(x, s);
        emit_close(x);
        return;
    }
    const long long extent = (long long)x->m->axis[a->axes[0]].extent;
    emit_open(x,
              "for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */");
    emit_line(x, "const int64_t %s0 = above ? %s_known->to - %s_first : 0;", axis, name, name);
    emit_line(x, "const int64_t %s1 = above ? %lld : %s_known->from - %s_first;", axis, extent, name, name);
    emit_line(x, "if (%s0 >= %s1) continue;", axis, axis);
    x->cut[a->axes[0]] = true;
    print(x, s);
    x->cut[a->axes[0]] = false;
    emit_close(x);
    emit_line(x, "extend_known(%s_known, %s_first, %s_first + %lld);", name, name, name, extent);
}
