/* Builds loops, and answers questions about their arrays and statements. */
#include "loops.h"

#include <stdlib.h>
#include <string.h>

struct loops *loops_new(struct module *m)
{
    struct loops *l = arena_alloc(m->arena, sizeof *l);
    l->module = m;
    return l;
}

int loops_array(struct loops *l, struct array array)
{
    l->array = arena_grow(l->module->arena, l->array, l->arrays, &l->capacity, sizeof *l->array);
    l->array[l->arrays] = array;
    return l->arrays++;
}

bool array_is_named(const struct array *a)
{
    return dtype_is_integer(a->dtype) || a->by_name || a->hides;
}

const char *loops_unused_name(const struct loops *l, const char *wanted)
{
    const size_t length = strlen(wanted);
    /* taken[n] is true if an array has the name wanted_n. */
    bool *taken = arena_alloc(l->module->arena, (size_t)l->arrays + 3);
    for (int a = 0; a < l->arrays; a++) {
        const char *name = l->array[a].name;
        if (strncmp(name, wanted, length) != 0) continue;
        const long number = name[length] == '_' ? strtol(name + length + 1, NULL, 10) : name[length] == 0;
        if (number > 0 && number < l->arrays + 3) taken[number] = true;
    }
    int number = 1;
    while (taken[number]) number++;
    return number == 1 ? wanted : arena_printf(l->module->arena, "%s_%d", wanted, number);
}

struct stmt *stmt_new(struct loops *l, int op)
{
    struct stmt *s = arena_alloc(l->module->arena, sizeof *s);
    s->op = op;
    return s;
}

struct stmt *stmt_fill(struct loops *l, int op, struct array tile)
{
    struct stmt *const s = stmt_new(l, op);
    tile.kind = ARRAY_TILE;
    tile.offset = -1;
    tile.name = loops_unused_name(l, tile.name);
    s->rank = tile.rank;
    memcpy(s->axes, tile.axes, sizeof s->axes);
    s->assigns = 1;
    s->assign[0].to = loops_ref(l, loops_array(l, tile));
    return s;
}

const struct expr *stmt_mask(const struct stmt *s)
{
    const struct assign *const a = &s->assign[0];
    return s->op == LOOPS_MAP && s->assigns == 1 && a->fold == FOLD_SET && a->expr->op == EXPR_SELECT &&
                   a->expr->arg[1]->op == EXPR_OPERAND && ref_equal(&s->operand[a->expr->arg[1]->integer], &a->to)
               ? a->expr
               : NULL;
}

uint32_t stmt_axes(const struct stmt *s)
{
    return axes_set(s->rank, s->axes) | (s->op == LOOPS_DOT ? AXIS(s->axis) : 0);
}

struct ref loops_ref(const struct loops *l, int a)
{
    const struct array *array = &l->array[a];
    struct ref r = {.of = a, .rank = array->rank};
    for (int k = 0; k < r.rank; k++) r.sub[k] = expr_index(l->module, array->axes[k]);
    return r;
}

bool ref_in_vectors(const struct loops *l, const struct ref *r, int axis, int64_t lanes)
{
    const struct axis *const a = &l->module->axis[axis];
    return r->rank > 0 && ref_axis(r, r->rank - 1) == axis && a->source == SIZE_CONSTANT && a->extent % lanes == 0;
}

int array_terms(const struct array *a)
{
    return a->terms ? a->terms : 1;
}

int products_of_terms(int a, int b)
{
    const int terms = a > b ? a : b;
    int products = 0;
    for (int k = 0; k < b; k++) products += a < terms - k ? a : terms - k;
    return products;
}

int64_t array_elements(const struct array *a)
{
    if (a->remembered && a->rank == 1) return a->remembered + a->extent[0] + 64 / dtype_bytes(a->dtype);
    int64_t elements = a->held ? a->held : a->terms ? a->terms : a->remembered ? a->remembered : 1;
    for (int k = 0; k < a->rank; k++)
        if (__builtin_mul_overflow(elements, a->extent[k] + (k + 1 == a->rank ? a->gap : 0), &elements))
            return INT64_MAX;
    const int64_t known = a->remembered ? (1 + a->remembered) * 64 / dtype_bytes(a->dtype) : 0;
    return __builtin_add_overflow(elements, known, &elements) ? INT64_MAX : elements;
}

/* Returns how many axes of an input or output are queries, keys or SIZE_ROWS. Returns -1 for other arrays. */
static int sequences_of(const struct loops *l, const struct array *a)
{
    int count = 0;
    for (int k = 0; k < a->rank; k++) {
        const struct axis *axis = &l->module->axis[a->axes[k]];
        count += axis_is_sequence(axis) || axis->source == SIZE_ROWS;
    }
    return a->kind == ARRAY_INPUT || a->kind == ARRAY_OUTPUT ? count : -1;
}

static bool is_constant(const struct loops *l, int axis)
{
    return l->module->axis[axis].source == SIZE_CONSTANT;
}

bool array_of_rows(const struct loops *l, const struct array *a)
{
    bool rows = sequences_of(l, a) == 1;
    for (int k = 0; k < a->rank; k++)
        rows &= !is_constant(l, a->axes[k]) && l->module->axis[a->axes[k]].source != SIZE_N_K;
    return rows;
}

bool array_of_elements(const struct loops *l, const struct array *a)
{
    return sequences_of(l, a) > 0 && is_constant(l, a->axes[a->rank - 1]);
}

bool array_has_slots(const struct loops *l, const struct array *a)
{
    return a->kind == ARRAY_TILE && axes_set(a->rank, a->axes) & axes_of_chunks(l->module);
}

bool loops_paired(const struct loops *l)
{
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].paired) return true;
    return false;
}

bool loops_on_matrix_units(const struct loops *l)
{
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].matrix) return true;
    return false;
}

int64_t loops_slots(const struct loops *l)
{
    enum { MAX = 4, ROOM = 1 << 20 };
    int64_t slots = l->slot > 0 ? (ROOM - l->workspace - l->shared) / l->slot : 0;
    return slots < 1 ? 1 : slots > MAX ? MAX : slots;
}

int64_t loops_bytes(const struct loops *l)
{
    return l->workspace + l->shared + loops_slots(l) * l->slot;
}

bool stmt_sums_pairs(const struct stmt *s)
{
    const struct ref *const to = &s->assign[0].to;
    return s->op == LOOPS_MAP && s->rank == 3 && s->assigns == 1 && s->assign[0].fold == FOLD_SUM && to->rank == 2 &&
           ref_axis(to, 0) == s->axes[0] && (ref_axis(to, 1) == s->axes[1] || ref_axis(to, 1) == s->axes[2]);
}

bool stmt_may_decay(const struct stmt *s)
{
    return s->where && stmt_sums_pairs(s);
}

bool stmt_sums_elements(const struct module *m, const struct stmt *s)
{
    return stmt_may_decay(s) && ref_axis(&s->assign[0].to, 1) == s->axes[2] && axis_is_sequence(&m->axis[s->axes[1]]) &&
           !axis_is_sequence(&m->axis[s->axes[2]]);
}

bool stmt_may_fade(const struct loops *l, const struct stmt *s)
{
    const struct axis *const axis = l->module->axis;
    bool numbers = s->op == LOOPS_DOT && s->operands == 2 && s->assign[0].fold == FOLD_SET && s->times == 0 &&
                   is_constant(l, s->axis);
    for (int k = 0; k < 2 && numbers; k++) {
        const struct array *const a = &l->array[s->operand[k].of];
        numbers = axis_is_sequence(&axis[s->axes[k]]) && a->dtype == dtype_of_sums(l->module->dtype) && !a->paired;
    }
    return numbers && axis[s->axes[0]].source != axis[s->axes[1]].source;
}

int64_t stmt_stride(const struct stmt *s)
{
    return s->apart ? s->period : 1;
}

bool stmt_writes(const struct stmt *s, int a)
{
    for (int k = 0; k < s->assigns; k++)
        if (s->assign[k].to.of == a || s->assign[k].compensation == a + 1) return true;
    return false;
}

bool stmt_reads(const struct stmt *s, int a)
{
    for (int k = 0; k < s->operands; k++)
        if (s->operand[k].of == a) return true;
    return false;
}

bool stmt_touches(const struct stmt *s, int a)
{
    for (const struct stmt *inner = s->body; inner; inner = inner->next)
        if (stmt_touches(inner, a)) return true;
    return stmt_writes(s, a) || stmt_reads(s, a);
}

bool stmt_same_nest(const struct stmt *a, const struct stmt *b)
{
    return a->op == LOOPS_MAP && b->op == LOOPS_MAP && !a->where && !b->where && a->rank == b->rank &&
           memcmp(a->axes, b->axes, (size_t)a->rank * sizeof *a->axes) == 0;
}

bool stmt_reads_row(const struct loops *l, const struct stmt *s, const struct ref *r)
{
    const struct array *const a = &l->array[r->of];
    return (s->op == LOOPS_MAP || s->op == LOOPS_COPY) && s->rank == 2 && r->rank > 1 && a->kind != ARRAY_TILE &&
           a->kind != ARRAY_TABLE && !dtype_is_integer(a->dtype) && !dtype_is_narrow(a->dtype) &&
           axis_is_sequence(&l->module->axis[s->axes[0]]) && is_constant(l, s->axes[1]) &&
           ref_uses_axis(r, s->axes[0]) && ref_axis(r, r->rank - 1) == s->axes[1];
}
