/* Computes the workspace for drawn lists of blocks, and for unions of ranges. */
#include "affine.h"
#include "draw_lists.h"
#include "roles.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"

#include <string.h>

enum { RANGE_BYTES = 16, NUMBER_BYTES = 8, GATHERED_BYTES = 4, WORD_ROWS = 64, MAX_LANES = 16 };

bool draw_same_lists(const struct expr *a, const struct expr *b)
{
    return a->draw == b->draw && a->arg[0] == b->arg[0] && a->arg[2] == b->arg[2];
}

static void collect_expr(const struct expr *e, struct drawn_list *list)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        bool known = w.e->op != EXPR_DRAWN;
        for (int k = 0; k < list->count && !known; k++) known = draw_same_lists(list->e[k], w.e);
        if (!known && list->count < MAX_DRAWN) list->e[list->count++] = w.e;
    }
}

void draw_lists(const struct stmt *s, struct drawn_list *list)
{
    for (int k = 0; k < s->ranges; k++) collect_expr(s->range[k].drawn, list);
    for (int k = 0; k < s->assigns && s->op == LOOPS_MAP; k++) collect_expr(s->assign[k].expr, list);
    for (const struct stmt *inner = s->body; inner; inner = inner->next) draw_lists(inner, list);
}

/* Returns the maximum number of lists for a tile: one for each block that it overlaps. */
static int64_t lists_of(const struct compilation *c, const struct expr *drawn)
{
    struct roles roles;
    const struct expr *x;
    int64_t block = 1;
    roles_of(c->graph, 0, &roles);
    const bool in_lanes = roles.lane >= 0 && (expr_axes(drawn->arg[0]) >> roles.lane & 1);
    if (c->program.by_heads && !in_lanes) return 1; /* a tile has the heads of one query */
    floor_quotient(c->loops->module, drawn->arg[0], &x, &block);
    return ((in_lanes ? c->tiling.tile_q : c->tiling.tile_k) - 2 + block) / block + 1;
}

static int64_t round_64(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

int64_t draw_list_words(const struct compilation *c, const struct expr *drawn)
{
    return (lists_of(c, drawn) + MAX_LANES + WORD_ROWS - 1) / WORD_ROWS;
}

int64_t draw_list_bytes(const struct compilation *c, const struct expr *drawn)
{
    if (drawn->draw->sorted) { /* a tile has at most as many blocks as keys */
        const int64_t keys = c->tiling.tile_q > c->tiling.tile_k ? c->tiling.tile_q : c->tiling.tile_k;
        return round_64(draw_list_words(c, drawn) * (keys + MAX_LANES) * (int64_t)sizeof(uint64_t));
    }
    return round_64(lists_of(c, drawn) * (drawn->draw->count + 1) * NUMBER_BYTES);
}

int64_t draw_union_bytes(const struct compilation *c, const struct stmt *s)
{
    int64_t ranges = 0, drawn = 0;
    if (s->op == LOOPS_DOT) return 0;
    if (s->gathers) {
        const struct expr *const list = s->range[0].drawn, *position;
        int64_t block = 1;
        floor_quotient(c->loops->module, list->arg[1], &position, &block);
        return round_64(list->draw->count * block * GATHERED_BYTES);
    }
    for (int k = 0; k < s->ranges; k++)
        if (s->range[k].drawn)
            drawn += lists_of(c, s->range[k].drawn) * s->range[k].drawn->draw->count;
        else
            ranges++;
    return drawn ? round_64((ranges + drawn) * RANGE_BYTES) : 0;
}

int64_t ranges_workspace(const struct compilation *c)
{
    struct drawn_list list = {0};
    struct stmts w = {.list = c->loops->body};
    int64_t bytes = 0;
    for (const struct stmt *s = c->loops->body; s; s = s->next) draw_lists(s, &list);
    while (stmts_next(&w)) bytes += draw_union_bytes(c, w.now);
    for (int k = 0; k < list.count; k++) bytes += draw_list_bytes(c, list.e[k]);
    return bytes;
}
