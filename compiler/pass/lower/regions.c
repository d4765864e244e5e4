/* Makes a loop over keys for each region, or statements without a loop if they take all keys of a chunk. Sums with
   different masks share no loop: a tile that only one of the masks shows is not computed for the other, and a tile is
   masked for one region only. Values that several loops need are computed in each of them. */
#include "lower.h"
#include "../../../ir/stmts.h"

/* Whether v is a sum that the loops over keys compute. For few queries, states are sums of pairs. */
static bool is_summed(const struct lowering *x, int v)
{
    const enum stage stage = x->lowered[v].stage;
    const bool of_pairs = stage == AFTER || stage == ACROSS || (stage == STATE && x->rows >= 0);
    return x->needed[v] && !(x->done && x->done[v]) && of_pairs && lower_has_stream(x, &x->g->value[v]);
}

/* Whether s masks a tile for another region. */
static bool masks_another(const struct lowering *x, const struct stmt *s, const struct expr *region)
{
    const struct mask_of_region *mask = x->masks;
    while (mask && mask->s != s) mask = mask->next;
    return mask && mask->region != region;
}

/* Whether s, or a statement in it, writes an array that is needed. */
static bool writes_needed(const struct lowering *x, const struct stmt *s, const bool *needed)
{
    bool writes = false;
    for (int a = 0; a < x->l->arrays; a++)
        writes |= needed[a] && (stmt_writes(s, a) || (s->body && stmts_writing(s->body, a)));
    return writes;
}

/* Returns a copy of the statements that the sums over the region need. */
static struct stmt *statements_of(const struct lowering *x, const struct stmt *inside, const struct expr *region)
{
    bool *const needed = arena_alloc(x->m->arena, (size_t)x->l->arrays * sizeof *needed);
    for (int v = 0; v < x->g->values; v++)
        if (is_summed(x, v) && x->g->value[v].where == region) needed[x->lowered[v].array] = true;
    for (bool more = true; more;) {
        more = false;
        for (const struct stmt *s = inside; s; s = s->next) {
            if (masks_another(x, s, region) || !writes_needed(x, s, needed)) continue;
            for (int a = 0; a < x->l->arrays; a++) {
                if (needed[a] || !(stmt_reads(s, a) || (s->body && stmts_touching(s->body, a)))) continue;
                needed[a] = more = true;
            }
        }
    }
    struct stmt *first = NULL, **last = &first;
    for (const struct stmt *s = inside; s; s = s->next) {
        if (masks_another(x, s, region) || !writes_needed(x, s, needed)) continue;
        *last = stmts_copy(x->l, s, s->next);
        last = &(*last)->next;
    }
    return first;
}

void lower_regions(struct lowering *x, struct stmt *inside, const struct expr *from, const struct expr *to)
{
    const struct expr **const region = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *region);
    int regions = 0;
    for (int v = 0; v < x->g->values; v++) {
        int k = 0;
        if (!is_summed(x, v)) continue;
        while (k < regions && region[k] != x->g->value[v].where) k++;
        if (k == regions) region[regions++] = x->g->value[v].where;
    }
    const bool shares = regions < 2 || (x->whole_chunk && x->solve >= 0); /* all sums have the statements `inside` */
    for (int k = 0; k < (shares ? 1 : regions); k++) {
        struct stmt *const body = shares ? inside : statements_of(x, inside, region[k]);
        if (x->whole_chunk) {
            *x->before = body;
            while (*x->before) x->before = &(*x->before)->next;
            continue;
        }
        struct stmt *const loop = lower_stream_loop(x, &x->before, from, to);
        loop->where = regions ? region[k] : NULL;
        loop->body = body;
    }
}
