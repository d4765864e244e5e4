/* Integers that a region reads at run time, from parameters over batches and keys: what keys have in common with queries that see them. */
#include "ir.h"

#include <string.h>

struct id_name {
    const char *name;
    struct id_name *next;
};

const struct expr *expr_id(struct module *m, enum expr_op op, const char *name, const struct expr *b, const struct expr *x, const struct expr *to)
{
    struct id_name *known = m->id_names;
    while (known && strcmp(known->name, name) != 0) known = known->next;
    if (!known) {
        known = arena_alloc(m->arena, sizeof *known);
        known->name = arena_copy(m->arena, name);
        known->next = m->id_names;
        m->id_names = known;
    }
    return expr_intern(m, (struct expr){.op = op, .type = TYPE_INT, .arg = {b, x, to}, .name = known->name});
}

static bool reads_here(const struct expr *e)
{
    return e->op == EXPR_ID || e->op == EXPR_LEAST_ID || e->op == EXPR_MOST_ID;
}

bool expr_reads_ids(const struct expr *e)
{
    return expr_has(e, EXPR_ID) || expr_has(e, EXPR_LEAST_ID) || expr_has(e, EXPR_MOST_ID);
}

const char *expr_unknown_ids(const struct expr *e, bool (*known)(const void *program, const char *name), const void *program)
{
    if (!e) return NULL;
    const char *unknown = reads_here(e) && !known(program, e->name) ? e->name : NULL;
    for (int k = 0; k < expr_arity(e->op) && !unknown; k++) unknown = expr_unknown_ids(e->arg[k], known, program);
    return unknown;
}

void ids_add(struct ids *ids, const char *name, const double *data, int64_t batch, int64_t keys)
{
    if (ids->arrays == MAX_IDS) return;
    ids->array[ids->arrays].name = name;
    ids->array[ids->arrays].data = data;
    ids->array[ids->arrays].batch = batch;
    ids->array[ids->arrays++].keys = keys;
}

int64_t ids_read(struct ids *ids, const char *name, int64_t b, int64_t x)
{
    int k = 0;
    if (x < 0) return INT64_MIN;
    while (ids && k < ids->arrays && strcmp(ids->array[k].name, name) != 0) k++;
    if (!ids || k == ids->arrays) return 0;
    int64_t keys = ids->array[k].keys;
    if (b < 0 || b >= ids->array[k].batch || x >= keys) {
        ids->outside = true;
        return 0;
    }
    return (int64_t)ids->array[k].data[b * keys + x];
}

int64_t ids_extreme(struct ids *ids, const char *name, int64_t b, int64_t from, int64_t to, bool largest)
{
    int64_t found = largest ? INT32_MIN : INT32_MAX;
    if (from < 0 && from < to) { /* all of these are alike */
        if (!largest || to <= 0) return INT64_MIN;
        from = 0;
    }
    for (int64_t x = from; x < to; x++) {
        int64_t id = ids_read(ids, name, b, x);
        if (largest ? id > found : id < found) found = id;
    }
    return found;
}
