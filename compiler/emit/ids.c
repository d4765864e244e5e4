/* The ids that a region reads, as C: the ends of those in a range of positions, from which a tile is known to be empty or full before it is computed. */
#include "emit.h"
#include "printer.h"

const char emit_ids_functions[] = "/* The ids at a range of positions lie between these. In front of the first key stands one that is less than any there. */\n"
                                  "struct ids {\n    int64_t least, most;\n};\n"
                                  "INLINE struct ids ids_of(const int32_t *id, int64_t from, int64_t to)\n{\n"
                                  "    int32_t first = INT32_MAX, last = INT32_MIN;\n"
                                  "    for (int64_t x = most(from, 0); x < to; x++) {\n"
                                  "        first = id[x] < first ? id[x] : first;\n"
                                  "        last = id[x] > last ? id[x] : last;\n"
                                  "    }\n"
                                  "    return (struct ids){from < 0 ? INT64_MIN : first, to <= 0 ? INT64_MIN : last};\n}\n"
                                  "/* The id at a position; after the last of n nobody looks at it. */\n"
                                  "INLINE int64_t id_at(const int32_t *id, int64_t x, int64_t n)\n{\n"
                                  "    x = least(x, n - 1);\n    return x < 0 ? INT64_MIN : id[x];\n}\n\n";

/* The axes whose current range the expression depends on. */
static uint32_t range_axes(const struct expr *e)
{
    uint32_t axes = e->op == EXPR_LO || e->op == EXPR_HI ? UINT32_C(1) << e->integer : 0;
    for (int k = 0; k < expr_arity(e->op); k++) axes |= range_axes(e->arg[k]);
    return axes;
}

static uint32_t loop_axes(const struct stmt *s)
{
    uint32_t axes = 0;
    for (; s; s = s->next) axes |= loop_axes(s->body) | (s->op == LOOPS_FOR ? UINT32_C(1) << s->axis : 0);
    return axes;
}

static void declare(struct emitter *x, const struct expr *e, uint32_t moving)
{
    if (!e) return;
    for (int k = 0; k < expr_arity(e->op); k++) declare(x, e->arg[k], moving);
    if ((e->op != EXPR_LEAST_ID && e->op != EXPR_MOST_ID) || range_axes(e) & moving || emit_known_ids(x, e) < x->ids || x->ids == MAX_ID_RANGES) return;
    const char *from = emit_integer(x, e->arg[1]), *to = emit_integer(x, e->arg[2]);
    const char *of = "";
    for (int a = 0; a < x->m->axes; a++)
        if (range_axes(e->arg[1]) >> a & 1) of = x->m->axis[a].name;
    emit_line(x, "const struct ids ids_%d = ids_of(%s, %s, %s);%s%s%s", x->ids, emit_name(x->m->arena, e->name), from, to, *of ? " /* of the tile of " : "", of,
              *of ? " */" : "");
    x->id[x->ids++] = e;
}

static void declare_all(struct emitter *x, const struct stmt *s, uint32_t moving)
{
    for (; s; s = s->next) {
        const struct expr *part[4] = {s->op == LOOPS_FOR ? s->from : NULL, s->op == LOOPS_FOR ? s->to : NULL, s->op == LOOPS_IF ? s->where : NULL, s->when};
        for (int k = 0; k < 4; k++) declare(x, part[k], moving);
        for (int k = 0; k < s->ranges; k++) {
            declare(x, s->range[k].from, moving);
            declare(x, s->range[k].to, moving);
        }
        declare_all(x, s->body, moving);
    }
}

void emit_ids(struct emitter *x, const struct stmt *s, bool inside)
{
    struct stmt alone = *s;
    alone.next = NULL;
    declare_all(x, &alone, loop_axes(inside ? s->body : &alone));
}
