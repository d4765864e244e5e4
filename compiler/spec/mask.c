/* Questions about the tree of masks of a spec. */
#include "spec.h"

bool mask_has(const struct mask *mask, enum mask_kind kind)
{
    bool has = mask && mask->kind == kind;
    for (int k = 0; mask && k < mask->parts; k++) has |= mask_has(mask->part[k], kind);
    return has;
}

const struct mask *mask_requires(const struct mask *mask, enum mask_kind kind)
{
    const struct mask *found = mask && mask->kind == kind ? mask : NULL;
    for (int k = 0; mask && mask->kind == MASK_ALL && k < mask->parts && !found; k++)
        found = mask_requires(mask->part[k], kind);
    return found;
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
