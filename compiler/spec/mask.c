/* Questions about the tree of masks of a spec, and words for expressions that say the same. */
#include "reader.h"
#include "spec.h"
#include "../../ir/expr_query.h"

#include <string.h>

/* ---- words for expressions ---- */

static struct mask *part_of(struct arena *arena, const struct mask *mask, const struct expr *value)
{
    struct mask *const part = arena_alloc(arena, sizeof *part);
    struct expression *const e = arena_alloc(arena, sizeof *e);
    *part = *mask;
    *e = *mask->expr;
    e->value = value;
    for (int name = 0; name < EXPRESSION_NAMES; name++)
        e->uses[name] &= name == NAME_s ? expr_operands(value, NULL) & 1 : expr_axes(value) >> name & 1;
    part->expr = e;
    mask_simplify(arena, part);
    return part;
}

static bool is_name(const struct expr *e, enum expression_name name)
{
    return e->op == EXPR_INDEX && e->integer == name;
}

void mask_simplify(struct arena *arena, struct mask *mask)
{
    const struct expr *const e = mask->expr->value, *const a = e->arg[0], *const b = e->arg[1];
    if (mask->expr->elements) return;
    if (e->op == EXPR_AND || e->op == EXPR_OR) {
        const struct mask **const part = arena_alloc(arena, 2 * sizeof *part);
        for (int k = 0; k < 2; k++) part[k] = part_of(arena, mask, e->arg[k]);
        *mask = (struct mask){.kind = e->op == EXPR_OR ? MASK_ANY : MASK_ALL, .at = mask->at, .parts = 2, .part = part};
    } else if (e->op == EXPR_LE &&
               ((is_name(a, NAME_j) && is_name(b, NAME_i)) ||
                (expr_is_real(a, 0) && b->op == EXPR_SUB && is_name(b->arg[0], NAME_i) && is_name(b->arg[1], NAME_j))))
        mask->kind = MASK_CAUSAL;
    else if (e->op == EXPR_LT && is_name(a, NAME_j) && b->op == EXPR_INT && b->integer >= 0)
        *mask = (struct mask){.kind = MASK_PREFIX, .at = mask->at, .length = b->integer};
}

/* ---- questions ---- */

bool mask_is_none(const struct mask *mask)
{
    return !mask || mask->kind == MASK_NONE;
}

/* Whether the mask has a part of this kind. */
static bool mask_has(const struct mask *mask, enum mask_kind kind)
{
    bool has = mask && mask->kind == kind;
    for (int k = 0; mask && k < mask->parts; k++) has |= mask_has(mask->part[k], kind);
    return has;
}

/* Returns a part of this kind that all visible pairs are in, or NULL. */
static const struct mask *mask_requires(const struct mask *mask, enum mask_kind kind)
{
    const struct mask *found = mask && mask->kind == kind ? mask : NULL;
    for (int k = 0; mask && mask->kind == MASK_ALL && k < mask->parts && !found; k++)
        found = mask_requires(mask->part[k], kind);
    return found;
}

/* Returns the kind of masks that read this parameter, or MASK_NONE. */
static enum mask_kind kind_that_reads(const char *param)
{
    return strcmp(param, "document") == 0  ? MASK_DOCUMENT
           : strcmp(param, "lengths") == 0 ? MASK_LENGTHS
           : strcmp(param, "blocks") == 0  ? MASK_BLOCKS
                                           : MASK_NONE;
}

bool mask_has_param(const struct mask *mask, const char *param)
{
    const enum mask_kind kind = kind_that_reads(param);
    return kind != MASK_NONE && mask_has(mask, kind);
}

bool mask_requires_param(const struct mask *mask, const char *param)
{
    const enum mask_kind kind = kind_that_reads(param);
    return kind != MASK_NONE && mask_requires(mask, kind);
}

bool mask_numbers_sequences(const struct mask *mask)
{
    return mask_has(mask, MASK_DOCUMENT);
}

bool mask_may_show_same_keys(const struct mask *mask)
{
    if (!mask) return true;
    const enum mask_kind kind = mask->kind;
    bool same = kind == MASK_NONE || kind == MASK_LENGTHS || kind == MASK_PREFIX || kind == MASK_EXPR ||
                kind == MASK_ALL || kind == MASK_ANY;
    for (int k = 0; k < mask->parts; k++) same &= mask_may_show_same_keys(mask->part[k]);
    return same;
}

bool mask_shows_all_earlier_keys(const struct mask *mask)
{
    return mask && mask->kind == MASK_CAUSAL;
}

bool mask_shows_own_keys(const struct mask *mask)
{
    bool own = mask_requires(mask, MASK_CAUSAL) && mask_requires(mask, MASK_DOCUMENT);
    for (int k = 0; own && k < mask->parts; k++)
        own = mask->part[k]->kind == MASK_CAUSAL || mask->part[k]->kind == MASK_DOCUMENT;
    return own;
}

/* Whether the mask is `any` of causal masks and prefixes. */
static bool is_open(const struct mask *mask)
{
    bool open = mask->kind == MASK_ANY && mask_has(mask, MASK_CAUSAL) && mask_has(mask, MASK_PREFIX);
    for (int k = 0; open && k < mask->parts; k++)
        open = mask->part[k]->kind == MASK_CAUSAL || mask->part[k]->kind == MASK_PREFIX;
    return open;
}

bool mask_is_of_order(const struct mask *mask)
{
    return mask->kind == MASK_CAUSAL || is_open(mask);
}

bool mask_shows_earlier_keys(const struct mask *mask)
{
    if (!mask || mask->kind != MASK_ALL) return mask && is_open(mask);
    bool shows = true, order = false;
    for (int k = 0; shows && k < mask->parts; k++) {
        const enum mask_kind kind = mask->part[k]->kind;
        order |= mask_is_of_order(mask->part[k]);
        shows = mask_is_of_order(mask->part[k]) || kind == MASK_LENGTHS || kind == MASK_PREFIX || kind == MASK_NONE;
    }
    return shows && order;
}

bool mask_hides_keys(const struct mask *mask)
{
    bool hides = false;
    for (int k = 0; mask_shows_earlier_keys(mask) && !is_open(mask) && k < mask->parts; k++)
        hides |= !mask_is_of_order(mask->part[k]);
    return hides;
}

int64_t mask_open_beside(const struct mask *mask)
{
    int64_t open = 0;
    bool others = false;
    for (int k = 0; mask && mask->kind == MASK_ANY && k < mask->parts; k++) {
        const bool prefix = mask->part[k]->kind == MASK_PREFIX;
        others |= !prefix;
        if (prefix && mask->part[k]->length > open) open = mask->part[k]->length;
    }
    return others ? open : 0;
}

int64_t mask_end_of_keys(const struct mask *mask)
{
    const struct mask *const prefix = mask_requires(mask, MASK_PREFIX);
    return prefix ? prefix->length : INT64_MAX;
}

int64_t mask_open_keys(const struct mask *mask)
{
    if (!mask || !mask_shows_earlier_keys(mask)) return 0;
    const bool all = mask->kind == MASK_ALL;
    int64_t open = all ? INT64_MAX : 0;
    for (int k = 0; k < mask->parts; k++) {
        const struct mask *const part = mask->part[k];
        const int64_t own = part->kind == MASK_PREFIX ? part->length : mask_open_keys(part);
        if (all ? mask_is_of_order(part) && own < open : own > open) open = own;
    }
    return open;
}
