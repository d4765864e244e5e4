/* Pads tiles to whole vectors along the lanes, and chooses their offsets in memory.
   - Tiles are in the thread's workspace. Tiles that are never live at the same time may share memory.
   - A tile is live from the first to the last leaf (statement without a body) that needs it.
   - Shared tiles, and slots (tiles with an axis of chunks), are stored one after another.
   - A tile that one statement sets and reads stays in registers. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

struct placing {
    struct loops *l;
    int count; /* the number of leaves */
    const struct stmt **leaf;
    int *first, *last; /* the first and last leaf of each tile's live range */
};

/* Whether statement s sets tile a before reading it. */
static bool sets_first(struct loops *l, const struct stmt *s, int a)
{
    if (s->op != LOOPS_MAP) return s->assign[0].to.of == a && s->assign[0].fold == FOLD_SET && !stmt_reads(s, a);
    for (int k = 0; k < s->assigns; k++) {
        for (int o = 0; o < s->operands; o++)
            if (s->operand[o].of == a && expr_uses(s->assign[k].expr, expr_operand(l->module, o))) return false;
        if (s->assign[k].compensation == a + 1) return false;
        if (s->assign[k].to.of == a) return s->assign[k].fold == FOLD_SET;
    }
    return false;
}

/* Returns the number of leaves in a list. Also stores them in `leaf`, unless it is NULL. */
static int leaves(const struct stmt *list, const struct stmt **leaf)
{
    struct stmts w = {.list = (struct stmt *)list};
    int count = 0;
    for (const struct stmt *s; (s = stmts_next(&w));) {
        if (s->body) continue;
        if (leaf) leaf[count] = s;
        count++;
    }
    return count;
}

static bool has_place(const struct loops *l, int a)
{
    return l->array[a].kind == ARRAY_TILE && !l->array[a].shared && !l->array[a].solved &&
           !array_has_slots(l, &l->array[a]);
}

/* Extends a tile's live range over a loop, if its value is read in a later iteration or after the loop. */
static void extend_live_ranges(struct placing *x)
{
    int begin = 0; /* the number of the next leaf */
    struct stmts w = {.list = x->l->body};
    for (const struct stmt *s; (s = stmts_next(&w)); begin += !s->body) {
        const int end = begin + leaves(s->body, NULL);
        for (int a = 0; a < x->l->arrays && s->op == LOOPS_FOR && s->body; a++) {
            if (!has_place(x->l, a)) continue;
            int inside = -1;
            bool outside = false;
            for (int k = 0; k < x->count; k++) {
                if (!stmt_touches(x->leaf[k], a)) continue;
                if (k < begin || k >= end)
                    outside = true;
                else if (inside < 0)
                    inside = k;
            }
            if (inside < 0 || (!outside && sets_first(x->l, x->leaf[inside], a))) continue;
            if (begin < x->first[a]) x->first[a] = begin;
            if (end - 1 > x->last[a]) x->last[a] = end - 1;
        }
    }
}

enum { LINE = 64, PAGE = 4096 };

/* Does padded_tile(), and adds a cache line to rows at multiples of `far` bytes. The first elements of such rows
   compete for a few sets of the L1 cache. */
static int64_t padded(struct array *array, int64_t lanes, int64_t far)
{
    const int64_t element = dtype_bytes(array->dtype);
    if (array->paired) array->extent[0] += array->extent[0] % 2;
    if (array->rank > 0) {
        int64_t *row = &array->extent[array->rank - 1];
        *row = (*row + lanes - 1) / lanes * lanes;
        if (array->rank > 1 && !array->paired && *row * element % far == 0) array->gap = LINE / element;
    }
    return (array_elements(array) * element + LINE - 1) / LINE * LINE;
}

int64_t padded_tile(struct array *array, int64_t lanes)
{
    return padded(array, lanes, 8 * LINE);
}

/* Returns the lowest free offset for tile a. */
static int64_t lowest(const struct placing *x, const int64_t *bytes, int a)
{
    int64_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int b = 0; b < x->l->arrays; b++) {
            const struct array *other = &x->l->array[b];
            if (b == a || !has_place(x->l, b) || other->offset < 0 || x->last[b] < x->first[a] ||
                x->last[a] < x->first[b])
                continue;
            if (other->offset + bytes[b] <= offset || offset + bytes[a] <= other->offset) continue;
            offset = other->offset + bytes[b];
            moved = true;
        }
    }
    return offset;
}

static bool is_compensation(const struct loops *l, int a)
{
    struct stmts w = {.list = l->body};
    for (const struct stmt *s; (s = stmts_next(&w));)
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].compensation == a + 1) return true;
    return false;
}

/* Chooses the offsets of shared tiles and slots: of compensation tiles if `compensations`, otherwise of all other
   tiles, which come first. Processors take a load for one of a store whose address differs by a multiple of a page. */
static void place_shared(struct loops *l, const int64_t *bytes, bool compensations)
{
    for (int a = 0; a < l->arrays; a++) {
        struct array *const array = &l->array[a];
        if (array->kind != ARRAY_TILE || has_place(l, a) || array->offset >= 0 ||
            is_compensation(l, a) != compensations)
            continue;
        int64_t *const end = array->shared ? &l->shared : &l->slot;
        array->offset = *end;
        *end += bytes[a] + (bytes[a] % PAGE == 0 ? LINE : 0);
    }
}

void pass_allocate(struct compilation *c)
{
    struct loops *l = c->loops;
    struct placing *x = arena_alloc(l->module->arena, sizeof *x);
    size_t arrays = (size_t)l->arrays;
    int64_t *bytes = arena_alloc(l->module->arena, arrays * sizeof *bytes);
    x->l = l;
    x->first = arena_alloc(l->module->arena, arrays * sizeof *x->first);
    x->last = arena_alloc(l->module->arena, arrays * sizeof *x->last);
    x->count = leaves(l->body, NULL);
    x->leaf = arena_alloc(l->module->arena, (size_t)x->count * sizeof *x->leaf);
    leaves(l->body, x->leaf);
    for (int a = 0; a < l->arrays; a++) {
        struct array *array = &l->array[a];
        if (array->kind != ARRAY_TILE) continue;
        if (!has_place(l, a) && array->offset >= 0) continue; /* expose_state has placed it */
        const int64_t lanes = c->target->vector_bytes / dtype_bytes(dtype_of_sums(array->dtype));
        /* A tile of few queries uses a part of its rows. */
        const bool by_part = has_place(l, a) && array->rank > 0 &&
                             l->module->axis[array->axes[array->rank - 1]].source != SIZE_CONSTANT;
        bytes[a] = by_part ? padded(array, lanes, 4 * LINE) : padded_tile(array, lanes);
        if (has_place(l, a)) {
            x->first[a] = -1;
            for (int k = 0; k < x->count; k++)
                if (stmt_touches(x->leaf[k], a)) {
                    x->last[a] = k;
                    if (x->first[a] < 0) x->first[a] = k;
                }
        }
    }
    place_shared(l, bytes, false);
    place_shared(l, bytes, true);
    extend_live_ranges(x);
    for (int k = 0; k < x->count; k++) {
        /* A product of a key may also compute the product of the query with the state (pass/resume.c). */
        const struct stmt *const s = x->leaf[k];
        if (s->op != LOOPS_DOT || !l->array[s->operand[0].of].kept) continue;
        const int from = s->operand[1].of, to = s->assign[0].to.of;
        if (has_place(l, from) && has_place(l, to) && x->first[from] >= 0 && x->first[from] < x->first[to])
            x->first[to] = x->first[from];
    }
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].remembered) x->first[a] = 0, x->last[a] = x->count - 1; /* later tasks need it, too */
    for (int a = 0; a < l->arrays; a++) {
        if (!has_place(l, a) || x->first[a] < 0) continue;
        const struct stmt *only = x->leaf[x->first[a]];
        if (x->first[a] == x->last[a] && only->op == LOOPS_MAP && sets_first(l, only, a)) continue;
        l->array[a].offset = lowest(x, bytes, a);
        if (l->array[a].offset + bytes[a] > l->workspace) l->workspace = l->array[a].offset + bytes[a];
    }
    l->workspace = (l->workspace + 63) / 64 * 64 + ranges_workspace(c) + pages_workspace(c);
}
