/* Names, sizes and integer expressions as C. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *emit_size(const struct module *m, int axis)
{
    const struct axis *a = &m->axis[axis];
    return axis_is_counted(a) ? arena_printf(m->arena, "%lld", (long long)a->extent) : size_name(a->source);
}

const char *emit_name(struct arena *arena, const char *name)
{
    char *made = arena_copy(arena, name);
    for (char *c = made; *c; c++)
        if (*c == '.') *c = '_';
    return made;
}

/* Whether the axis is in tiles (variables i0, i1, and i inside a nest); else it has one variable of its own name. */
bool emit_tiled(const struct emitter *x, int axis)
{
    return axis_is_sequence(&x->m->axis[axis]);
}

bool emit_apart(const struct emitter *x, int axis)
{
    return x->stride[axis] > 1;
}

/* Whether the range of the axis has two variables. */
static bool ranged(const struct emitter *x, int axis)
{
    return emit_tiled(x, axis) || x->cut[axis] || (x->in_window && axis_is_chunks(&x->m->axis[axis]));
}

const char *emit_number(const struct emitter *x, double value, bool narrow)
{
    if (isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
    if (isnan(value)) return "NAN";
    if (narrow && fabs(value) >= 3.4028234663852886e38) return value > 0 ? "FLT_MAX" : "-FLT_MAX";
    if (narrow && (float)value == 0) value = 0;
    if (!narrow && fabs(value) >= 1.7976931348623157e308) return value > 0 ? "DBL_MAX" : "-DBL_MAX";
    char text[48];
    int digits = narrow ? 9 : 17;
    for (int d = 1; d <= digits; d++) {
        snprintf(text, sizeof text, "%.*g", d, value);
        if (narrow ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    return arena_printf(x->m->arena, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", narrow ? "f" : "");
}

static bool is_sum(const struct expr *e)
{
    return e->op == EXPR_ADD || e->op == EXPR_SUB;
}

/* Whether argument k needs no parentheses: between commas, and a sum in a sum where C's order is the same or does not
   matter. */
static bool stands_bare(const struct expr *e, int k)
{
    bool call = e->op == EXPR_MIN || e->op == EXPR_MAX || e->op == EXPR_ABS || e->op == EXPR_FLOORMOD ||
                e->op == EXPR_DRAWN;
    return call || (is_sum(e) && is_sum(e->arg[k]) && (k == 0 || e->op == EXPR_ADD));
}

/* The id at a position: of a key as it stands in the array, else with care for its ends. */
static const char *id_text(struct emitter *x, const struct expr *e)
{
    struct arena *arena = x->m->arena;
    const char *array = emit_name(arena, e->name), *at = emit_integer_text(x, e->arg[1], false);
    if (e->arg[1]->op == EXPR_INDEX && x->m->axis[e->arg[1]->integer].source == SIZE_N_K)
        return arena_printf(arena, "%s[%s]", array, at);
    return arena_printf(arena, "id_at(%s, %s, n_k)", array, at);
}

const char *emit_integer_text(struct emitter *x, const struct expr *e, bool inner)
{
    struct arena *arena = x->m->arena;
    const char *name = e->op == EXPR_INDEX || e->op == EXPR_LO || e->op == EXPR_HI ? x->m->axis[e->integer].name : "";
    switch ((int)e->op) {
    case EXPR_INT: return arena_printf(arena, e->integer < 0 && inner ? "(%lld)" : "%lld", (long long)e->integer);
    case EXPR_SIZE: return emit_size(x->m, (int)e->integer);
    case EXPR_LO:
        if (x->m->axis[e->integer].source == SIZE_ROWS && !ranged(x, (int)e->integer)) return "0";
        return arena_printf(arena, ranged(x, (int)e->integer) ? "%s0" : "%s", name);
    case EXPR_HI:
        if (x->m->axis[e->integer].source == SIZE_ROWS && !ranged(x, (int)e->integer))
            return emit_size(x->m, (int)e->integer);
        return arena_printf(arena, ranged(x, (int)e->integer) ? "%s1" : inner ? "(%s + 1)" : "%s + 1", name);
    case EXPR_INDEX:
        if (emit_apart(x, (int)e->integer))
            return arena_printf(arena, inner ? "(%s0 + %lld * %s)" : "%s0 + %lld * %s", name,
                                (long long)x->stride[e->integer], name);
        return emit_tiled(x, (int)e->integer) ? arena_printf(arena, inner ? "(%s0 + %s)" : "%s0 + %s", name, name)
                                              : name;
    default: break;
    }
    if (e->op == EXPR_MIN_ID || e->op == EXPR_MAX_ID) return emit_id_end(x, e);
    if (e->op == EXPR_ID) return id_text(x, e);
    const char *part[3] = {"", "", ""}, *a, *b, *made;
    for (int k = 0; k < expr_arity(e->op); k++) part[k] = emit_integer_text(x, e->arg[k], !stands_bare(e, k));
    a = part[0], b = part[1];
    if (e->op == EXPR_ADD && e->arg[1]->op == EXPR_INT && e->arg[1]->integer < 0 && e->arg[1]->integer != INT64_MIN)
        made = arena_printf(arena, "%s - %lld", a, (long long)-e->arg[1]->integer);
    else if (expr_infix(e->op))
        made = arena_printf(arena, "%s %s %s", a, expr_infix(e->op), b);
    else
        switch ((int)e->op) {
        case EXPR_NEG: made = arena_printf(arena, "-%s", a); break;
        case EXPR_NOT: made = arena_printf(arena, "!%s", a); break;
        case EXPR_SELECT: made = arena_printf(arena, "%s ? %s : %s", a, b, part[2]); break;
        case EXPR_MIN: return arena_printf(arena, "min(%s, %s)", a, b);
        case EXPR_MAX: return arena_printf(arena, "max(%s, %s)", a, b);
        case EXPR_ABS: return arena_printf(arena, "(int64_t)llabs(%s)", a);
        case EXPR_FLOORMOD: return arena_printf(arena, "floor_mod(%s, %s)", a, b);
        case EXPR_DRAWN: return arena_printf(arena, "attn_drawn(&%s, %s, %s)", emit_drawn_name(x, e), a, b);
        default: made = "0";
        }
    return inner ? arena_printf(arena, "(%s)", made) : made;
}

const char *emit_integer(struct emitter *x, const struct expr *e)
{
    return emit_integer_text(x, e, false);
}

/* Both ends are of one range. */
static bool same_range(const struct expr *a, const struct expr *b)
{
    return a->name == b->name && a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] && a->arg[2] == b->arg[2];
}

int emit_known_ids(const struct emitter *x, const struct expr *e)
{
    int k = 0;
    while (k < x->ids && !same_range(x->id[k], e)) k++;
    return k;
}

const char *emit_id_end(struct emitter *x, const struct expr *e)
{
    const char *end = e->op == EXPR_MIN_ID ? "min" : "max";
    int k = emit_known_ids(x, e);
    if (k < x->ids) return arena_printf(x->m->arena, "ids_%d.%s", k, end);
    const char *from = emit_integer(x, e->arg[1]), *to = emit_integer(x, e->arg[2]);
    return arena_printf(x->m->arena, "ids_of(%s, %s, %s).%s", emit_name(x->m->arena, e->name), from, to, end);
}

const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn)
{
    int k = 0;
    while (k < x->drawns && !draw_same_lists(x->drawn[k], drawn)) k++;
    return arena_printf(x->m->arena, "drawn_%d", k);
}
