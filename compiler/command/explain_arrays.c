/* Prints the lines of `attnc explain` about one array of `arrays:`. They tell how the loops of each form read the
   array, and whether tiles are skipped because of it. */
#include "explain_arrays.h"

#include <string.h>

/* How the loops of a program read an array. */
struct reads {
    const char *name;
    const struct loops *l;
    int64_t strip;      /* the elements copied for each tile, one per distance i - j; 0 if there are none */
    int64_t remembered; /* the elements of the strip that a thread remembers for later tiles, or 0 */
    /* `copied` is true if elements are copied for each tile. `direct` is true if a map reads the array itself. */
    bool copied, direct;
    /* `of_queries` is true if statements over queries read the array. `of_keys` is true if statements over keys read
       it. */
    bool of_queries, of_keys;
    /* `tests` is true if a region reads the array. `skips` is true if loops or conditions skip tiles because of the
       array. */
    bool tests, skips;
    bool kept;       /* true if a thread keeps copied elements for other sequences */
    bool subscripts; /* true if subscripts of other arrays read the array */
};

static bool names(const struct expr *e, const char *name, bool extremes)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const bool kind = !extremes || w.e->op == EXPR_MIN_ID || w.e->op == EXPR_MAX_ID || w.e->op == EXPR_ANY_ID;
        if (kind && w.e->name && strcmp(w.e->name, name) == 0) return true;
    }
    return false;
}

/* Notes along which sequences the subscripts of a reference run. */
static void note_axes(struct reads *r, const struct ref *of)
{
    const struct module *const m = r->l->module;
    for (int a = 0; a < m->axes; a++) {
        if (!(ref_axes(of) >> a & 1)) continue;
        r->of_queries |= m->axis[a].source == SIZE_N_Q || m->axis[a].source == SIZE_ROWS;
        r->of_keys |= m->axis[a].source == SIZE_N_K;
    }
}

static void walk(struct reads *r, const struct stmt *s)
{
    for (; s; s = s->next) {
        const struct expr *const parts[] = {s->from, s->to, s->where, s->when};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            r->skips |= names(parts[k], r->name, true);
            r->tests |= names(parts[k], r->name, false);
        }
        for (int k = 0; k < s->ranges; k++)
            r->skips |= names(s->range[k].from, r->name, false) || names(s->range[k].to, r->name, false);
        for (int k = 0; k < s->operands; k++) {
            for (int n = 0; n < s->operand[k].rank; n++) r->subscripts |= names(s->operand[k].sub[n], r->name, false);
            if (strcmp(r->l->array[s->operand[k].of].name, r->name) != 0) continue;
            const struct axis *const first = s->rank == 1 ? &r->l->module->axis[s->axes[0]] : NULL;
            if (s->op == LOOPS_COPY && first && strncmp(first->name, "difference_", 11) == 0)
                r->strip = first->extent, r->remembered = r->l->array[s->assign[0].to.of].remembered;
            else {
                *(s->op == LOOPS_COPY ? &r->copied : &r->direct) = true;
                r->kept |= s->op == LOOPS_COPY && r->l->array[s->assign[0].to.of].remembered;
                note_axes(r, &s->operand[k]);
            }
        }
        walk(r, s->body);
    }
}

/* Prints how a program reads the array. Prints nothing if it does not read the array. */
static void explain_program(struct arena *arena, const struct compilation *c, const struct kernel_array *a)
{
    struct reads r = {.name = a->name, .l = c->loops};
    walk(&r, c->loops->body);
    const char *const form = c->program.linear ? "linear form" : c->program.few ? "few queries" : "quadratic form";
    const char *says = "";
    if (r.strip)
        says = arena_printf(arena, "a strip of %lld elements for each tile, one per distance%s", (long long)r.strip,
                            r.remembered ? "; a thread computes an element once for all tiles of a head" : "");
    if (r.copied || r.direct)
        says = arena_printf(arena, "%s%s%s%s%s", says, *says ? "; " : "",
                            r.of_queries && r.of_keys ? "elements for each query and key of a tile"
                            : r.of_keys               ? "elements for each key"
                            : r.of_queries            ? "elements for each query"
                                                      : "an element for all queries and keys of a task",
                            !c->program.linear || (r.of_queries && r.of_keys) ? ""
                            : r.of_keys                                       ? ", a part of the features of keys"
                            : r.of_queries                                    ? ", a part of the features of queries"
                                                                              : "",
                            r.kept ? "; a thread computes a tile once for all sequences of the batch" : "");
    if (r.subscripts) says = arena_printf(arena, "%s%sin subscripts of other arrays", says, *says ? "; " : "");
    if (r.skips || r.tests)
        says = arena_printf(arena, "%s%s%s", says, *says ? "; " : "",
                            r.skips ? "tiles that it hides are skipped" : "every tile is tested");
    if (*says) printf("    %s: %s\n", form, says);
}

void explain_array(const struct unit *p, const struct kernel_array *a)
{
    for (int k = 0; k < p->kernel.compilations && a->declared; k++)
        if (p->kernel.compilation[k]->target == p->kernel.compilation[0]->target && !p->kernel.compilation[k]->reason)
            explain_program(p->arena, p->kernel.compilation[k], a);
}

/* Counts the remembered arrays of a rank, and returns their bytes. */
static int64_t bytes_remembered(const struct loops *l, int rank, int *count)
{
    int64_t bytes = 0;
    *count = 0;
    for (int a = 0; a < l->arrays; a++) {
        if (!l->array[a].remembered || l->array[a].rank != rank) continue;
        ++*count;
        bytes += array_elements(&l->array[a]) * dtype_bytes(l->array[a].dtype);
    }
    return bytes;
}

void explain_remembered(const struct loops *l)
{
    int strips, tiles;
    const int64_t of_strips = bytes_remembered(l, 1, &strips), of_tiles = bytes_remembered(l, 2, &tiles);
    if (strips)
        printf("  %d function%s of the distance i - j: a thread computes each value once for all tiles of a head, and "
               "keeps\n  the values in %lld bytes\n",
               strips, strips > 1 ? "s" : "", (long long)of_strips);
    if (tiles)
        printf("  %d function%s of i, j and the head: a thread computes the first tiles once for all sequences of the "
               "batch,\n  and keeps them in %lld bytes\n",
               tiles, tiles > 1 ? "s" : "", (long long)of_tiles);
}
