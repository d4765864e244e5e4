/* Numbers, sizes, integer expressions and addresses of elements as C. */
#include "../compiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *emit_size(const struct module *m, int axis)
{
    switch (m->axis[axis].source) {
    case SIZE_CONSTANT: return arena_printf(m->arena, "%lld", (long long)m->axis[axis].extent);
#define SIZE(name, text) \
    case SIZE_##name: return text;
        SIZE(BATCH, "batch") SIZE(KV_HEADS, "kv_heads") SIZE(MEMBERS, "members") SIZE(N_Q, "n_q") SIZE(N_K, "n_k") SIZE(CHUNKS, "chunks")
#undef SIZE
    }
    return "0";
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

const char *emit_first(const struct emitter *x, int axis)
{
    return x->cut[axis] ? arena_printf(x->m->arena, "%s0", x->m->axis[axis].name) : "0";
}

const char *emit_end(const struct emitter *x, int axis)
{
    const char *name = x->m->axis[axis].name;
    if (emit_tiled(x, axis)) return arena_printf(x->m->arena, emit_apart(x, axis) ? "%s_count" : "%s1 - %s0", name, name);
    return x->cut[axis] ? arena_printf(x->m->arena, "%s1", name) : emit_size(x->m, axis);
}

bool emit_part(const struct emitter *x, const struct array *a, int k)
{
    const struct axis *axis = &x->m->axis[a->axes[k]];
    return a->kind == ARRAY_TILE && axis->source == SIZE_CONSTANT && a->extent[k] < axis->extent;
}

/* Whether the range of the axis has two variables. */
static bool ranged(const struct emitter *x, int axis)
{
    return emit_tiled(x, axis) || x->cut[axis] || (x->in_window && x->m->axis[axis].source == SIZE_CHUNKS);
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

const char *emit_infix(enum expr_op op)
{
    switch ((int)op) {
    case EXPR_ADD: return "+";
    case EXPR_SUB: return "-";
    case EXPR_MUL: return "*";
    case EXPR_DIV: return "/";
    case EXPR_MOD: return "%";
    case EXPR_LT: return "<";
    case EXPR_LE: return "<=";
    case EXPR_EQ: return "==";
    case EXPR_NE: return "!=";
    case EXPR_AND: return "&&";
    case EXPR_OR: return "||";
    default: return NULL;
    }
}

static bool is_sum(const struct expr *e)
{
    return e->op == EXPR_ADD || e->op == EXPR_SUB;
}

/* Whether argument k needs no parentheses: between commas, and a sum in a sum where C's order is the same or does not matter. */
static bool stands_bare(const struct expr *e, int k)
{
    bool call = e->op == EXPR_MIN || e->op == EXPR_MAX || e->op == EXPR_ABS || e->op == EXPR_FLOORMOD || e->op == EXPR_DRAWN;
    return call || (is_sum(e) && is_sum(e->arg[k]) && (k == 0 || e->op == EXPR_ADD));
}

static const char *integer_text(struct emitter *x, const struct expr *e, bool inner);

/* The id at a position: of a key as it stands in the array, else with care for its ends. */
static const char *id_text(struct emitter *x, const struct expr *e)
{
    struct arena *arena = x->m->arena;
    const char *array = emit_name(arena, e->name), *at = integer_text(x, e->arg[1], false);
    if (e->arg[1]->op == EXPR_INDEX && x->m->axis[e->arg[1]->integer].source == SIZE_N_K) return arena_printf(arena, "%s[%s]", array, at);
    return arena_printf(arena, "id_at(%s, %s, n_k)", array, at);
}

/* Without outer parentheses; `inner` adds them to what is not a single name or number. */
static const char *integer_text(struct emitter *x, const struct expr *e, bool inner)
{
    struct arena *arena = x->m->arena;
    const char *name = e->op == EXPR_INDEX || e->op == EXPR_LO || e->op == EXPR_HI ? x->m->axis[e->integer].name : "";
    switch ((int)e->op) {
    case EXPR_INT: return arena_printf(arena, e->integer < 0 && inner ? "(%lld)" : "%lld", (long long)e->integer);
    case EXPR_SIZE: return emit_size(x->m, (int)e->integer);
    case EXPR_LO: return arena_printf(arena, ranged(x, (int)e->integer) ? "%s0" : "%s", name);
    case EXPR_HI: return arena_printf(arena, ranged(x, (int)e->integer) ? "%s1" : inner ? "(%s + 1)" : "%s + 1", name);
    case EXPR_INDEX:
        if (emit_apart(x, (int)e->integer))
            return arena_printf(arena, inner ? "(%s0 + %lld * %s)" : "%s0 + %lld * %s", name, (long long)x->stride[e->integer], name);
        return emit_tiled(x, (int)e->integer) ? arena_printf(arena, inner ? "(%s0 + %s)" : "%s0 + %s", name, name) : name;
    default: break;
    }
    if (e->op == EXPR_LEAST_ID || e->op == EXPR_MOST_ID) return emit_id_end(x, e);
    if (e->op == EXPR_ID) return id_text(x, e);
    const char *part[3] = {"", "", ""}, *a, *b, *made;
    for (int k = 0; k < expr_arity(e->op); k++) part[k] = integer_text(x, e->arg[k], !stands_bare(e, k));
    a = part[0], b = part[1];
    if (e->op == EXPR_ADD && e->arg[1]->op == EXPR_INT && e->arg[1]->integer < 0 && e->arg[1]->integer != INT64_MIN)
        made = arena_printf(arena, "%s - %lld", a, (long long)-e->arg[1]->integer);
    else if (emit_infix(e->op))
        made = arena_printf(arena, "%s %s %s", a, emit_infix(e->op), b);
    else
        switch ((int)e->op) {
        case EXPR_NEG: made = arena_printf(arena, "-%s", a); break;
        case EXPR_NOT: made = arena_printf(arena, "!%s", a); break;
        case EXPR_SELECT: made = arena_printf(arena, "%s ? %s : %s", a, b, part[2]); break;
        case EXPR_MIN: return arena_printf(arena, "least(%s, %s)", a, b);
        case EXPR_MAX: return arena_printf(arena, "most(%s, %s)", a, b);
        case EXPR_ABS: return arena_printf(arena, "(int64_t)llabs(%s)", a);
        case EXPR_FLOORMOD: return arena_printf(arena, "floor_mod(%s, %s)", a, b);
        case EXPR_DRAWN: return arena_printf(arena, "attn_drawn(&%s, %s, %s)", emit_drawn_name(x, e), a, b);
        default: made = "0";
        }
    return inner ? arena_printf(arena, "(%s)", made) : made;
}

const char *emit_integer(struct emitter *x, const struct expr *e)
{
    return integer_text(x, e, false);
}

const char *emit_stride(struct emitter *x, const struct ref *r, int axis)
{
    const struct array *a = &x->l->array[r->of];
    struct arena *arena = x->m->arena;
    for (int k = 0; k < r->rank; k++) {
        if (ref_axis(r, k) != axis) continue;
        if (k == a->rank - 1) return "1";
        enum size_source source = x->m->axis[a->axes[k]].source;
        if ((a->kind == ARRAY_INPUT || a->kind == ARRAY_OUTPUT) && source == SIZE_MEMBERS) return arena_printf(arena, "%s_head", a->name);
        if ((a->kind == ARRAY_INPUT || a->kind == ARRAY_OUTPUT) && axis_is_sequence(&x->m->axis[a->axes[k]])) return arena_printf(arena, "%s_row", a->name);
        int64_t constant = 1;
        const char *text = NULL;
        if (a->kind == ARRAY_TILE && source == SIZE_CHUNKS) /* from slot to slot */
            return arena_printf(arena, "%lld", (long long)(x->l->slot / (dtype_bytes(a->dtype))));
        for (int s = k + 1; s < a->rank; s++) {
            if (a->kind == ARRAY_TILE)
                constant *= a->extent[s] + (s + 1 == a->rank ? a->gap : 0);
            else if (x->m->axis[a->axes[s]].source == SIZE_CONSTANT)
                constant *= x->m->axis[a->axes[s]].extent;
            else
                text = text ? arena_printf(arena, "%s * %s", text, emit_size(x->m, a->axes[s])) : emit_size(x->m, a->axes[s]);
        }
        if (!text) return arena_printf(arena, "%lld", (long long)constant);
        return constant == 1 ? text : arena_printf(arena, "%s * %lld", text, (long long)constant);
    }
    return "0";
}

const char *emit_step(struct emitter *x, const struct ref *r, int axis)
{
    const char *stride = emit_stride(x, r, axis);
    if (!emit_apart(x, axis) || x->l->array[r->of].kind == ARRAY_TILE || strcmp(stride, "0") == 0) return stride;
    return arena_printf(x->m->arena, "%lld * %s", (long long)x->stride[axis], stride);
}

/* "array + offset" as an element of the array. */
const char *emit_element(struct emitter *x, const struct ref *r)
{
    char *made = arena_copy(x->m->arena, emit_address(x, r));
    char *plus = strstr(made, " + ");
    if (!plus) return arena_printf(x->m->arena, "%s[0]", made);
    *plus = 0;
    return arena_printf(x->m->arena, "%s[%s]", made, plus + 3);
}

/* Pointers to INPUT, PARAM and OUTPUT arrays already stand at the element of the axes with one variable (b, g, m). */
const char *emit_address(struct emitter *x, const struct ref *r)
{
    const struct array *a = &x->l->array[r->of];
    struct arena *arena = x->m->arena;
    const char *made = emit_name(arena, a->name);
    for (int k = 0; k < r->rank; k++) {
        if (a->kind != ARRAY_TILE && x->task_axis[a->axes[k]]) continue;
        if (r->sub[k]->op == EXPR_INT && r->sub[k]->integer == 0) continue;
        struct ref along = *r; /* the stride of the array's own axis k */
        along.sub[k] = expr_leaf(x->m, EXPR_INDEX, a->axes[k]);
        const char *stride = emit_stride(x, &along, a->axes[k]);
        int axis = ref_axis(r, k);
        bool local = a->kind == ARRAY_TILE && axis == a->axes[k] && emit_tiled(x, axis);
        const char *index;
        if (local)
            index = x->m->axis[axis].name;
        else if (emit_part(x, a, k) || (a->kind == ARRAY_TILE && x->m->axis[a->axes[k]].source == SIZE_CHUNKS))
            index = arena_printf(arena, "(%s - %s0)", integer_text(x, r->sub[k], true), x->m->axis[a->axes[k]].name);
        else if (a->kind == ARRAY_TILE && emit_apart(x, a->axes[k]))
            index = arena_printf(arena, "((%s - %s0) / %lld)", integer_text(x, r->sub[k], true), x->m->axis[a->axes[k]].name, (long long)x->stride[a->axes[k]]);
        else if (a->kind == ARRAY_TILE && emit_tiled(x, a->axes[k]))
            index = arena_printf(arena, "(%s - %s0)", integer_text(x, r->sub[k], true), x->m->axis[a->axes[k]].name);
        else
            index = integer_text(x, r->sub[k], true);
        made = strcmp(stride, "1") == 0 ? arena_printf(arena, "%s + %s", made, index)
                                        : arena_printf(arena, "%s + %s * %s", made, index, strchr(stride, '*') ? arena_printf(arena, "(%s)", stride) : stride);
    }
    return made;
}
