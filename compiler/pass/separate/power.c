/* Features of powers x^p with p > 2 of an x with n features: the products of p features of x, in any order, once each.
   There are C(n + p - 1, p). A product is a multiset of p numbers below n. Rotations, which add a number to all modulo
   n, make classes of n multisets. Feature t * n + k is the product of features k, k + a[t], k + b[t], … modulo n. The
   lists a, b, … have a number for each class. If rotations by less than n give the same multiset, the class has fewer
   multisets, which then occur several times. */
#include "separate.h"

#include <string.h>

/* The classes of multisets, sorted by how often the expanded power has a product. */
struct classes {
    int64_t n;
    int degree, count;
    struct class
    {
        int offset[MAX_POWER]; /* ascending, from 0 */
        int64_t times;
    } *of;
};

/* Returns the multisets of n features with `degree` elements, at most MAX_FEATURES + 1. */
static int64_t multisets(int64_t n, int64_t degree)
{
    int64_t count = 1;
    for (int64_t k = 1; k <= degree; k++) {
        count = count * (n + k - 1) / k;
        if (count > MAX_FEATURES) return MAX_FEATURES + 1;
    }
    return count;
}

/* Sets `to` to the offsets of c, counted from its element `first`. */
static void rotate(const struct classes *all, const int *c, int first, int *to)
{
    const int p = all->degree, n = (int)all->n;
    for (int k = 0; k < p; k++) to[k] = (c[(first + k) % p] - c[first] + n) % n;
    for (int k = 1; k < p; k++) /* equal elements before `first` have offset 0 */
        for (int at = k; at > 0 && to[at] < to[at - 1]; at--) {
            const int swapped = to[at];
            to[at] = to[at - 1];
            to[at - 1] = swapped;
        }
}

/* Returns how many rotations of c give c, or 0 if another one comes before c in the order of offsets. */
static int64_t symmetries(const struct classes *all, const int *c)
{
    int64_t same = 0;
    int rotated[MAX_POWER];
    for (int first = 0; first < all->degree; first++) {
        if (first && c[first] == c[first - 1]) continue;
        rotate(all, c, first, rotated);
        int k = 0;
        while (k < all->degree && rotated[k] == c[k]) k++;
        if (k < all->degree && rotated[k] < c[k]) return 0;
        same += k == all->degree;
    }
    return same;
}

/* Adds the class of c if c is its first multiset. The products of a power that c stands for are its arrangements. */
static void add_class(struct classes *all, const int *c)
{
    const int64_t same = symmetries(all, c);
    int64_t arrangements = 1, equal = 0;
    if (!same) return;
    for (int k = 0; k < all->degree; k++) {
        equal = k && c[k] == c[k - 1] ? equal + 1 : 1;
        arrangements = arrangements * (k + 1) / equal;
    }
    int at = all->count++;
    for (; at > 0 && all->of[at - 1].times > arrangements / same; at--) all->of[at] = all->of[at - 1];
    memcpy(all->of[at].offset, c, sizeof all->of[at].offset);
    all->of[at].times = arrangements / same;
}

static struct classes classes_of(const struct separation *x, int64_t n, int degree)
{
    struct classes all = {.n = n, .degree = degree};
    all.of = arena_alloc(x->m->arena, (size_t)(multisets(n, degree) + 1) * sizeof *all.of);
    int c[MAX_POWER] = {0};
    for (int k = 0; k >= 0;) { /* all ascending offsets from 0 */
        add_class(&all, c);
        for (k = degree - 1; k > 0 && c[k] == n - 1;) k--;
        if (k == 0) break;
        const int next = c[k] + 1;
        for (; k < degree; k++) c[k] = next;
    }
    return all;
}

const struct node *separate_power(const struct separation *x, const struct node *a, int degree)
{
    const int64_t n = a->features;
    if (multisets(n, degree) > MAX_FEATURES) return NULL;
    const struct classes all = classes_of(x, n, degree);
    struct node *const made = arena_alloc(x->m->arena, sizeof *made);
    struct power *const p = arena_alloc(x->m->arena, sizeof *p);
    *made = (struct node){.kind = NODE_POWER, .a = a, .features = n * all.count, .power = p};
    p->degree = degree;
    for (int k = 1; k < degree; k++) {
        char *const list = arena_alloc(x->m->arena, (size_t)all.count + 2);
        list[0] = LIST_START;
        for (int t = 0; t < all.count; t++) list[t + 1] = expr_digit(all.of[t].offset[k]);
        p->list[k] = list;
    }
    p->end = arena_alloc(x->m->arena, (size_t)all.count * sizeof *p->end);
    p->times = arena_alloc(x->m->arena, (size_t)all.count * sizeof *p->times);
    for (int t = 0; t < all.count; t++) {
        p->kinds += t == 0 || all.of[t].times != all.of[t - 1].times;
        p->end[p->kinds - 1] = t + 1;
        p->times[p->kinds - 1] = (double)all.of[t].times;
    }
    return made;
}

const struct expr *separate_power_index(const struct separation *x, const struct node *n, int k, const struct expr *f)
{
    const struct expr *const count = expr_int(x->m, n->a->features), *const first = expr_mod(x->m, f, count);
    if (k == 0) return first;
    const struct expr *const offset = expr_id(x->m, EXPR_LISTED, n->power->list[k], expr_div(x->m, f, count), NULL,
                                              NULL);
    return expr_mod(x->m, expr_add(x->m, first, offset), count);
}

const struct expr *separate_power_times(const struct separation *x, const struct node *n, const struct expr *f)
{
    const struct power *const p = n->power;
    const struct expr *const t = expr_div(x->m, f, expr_int(x->m, n->a->features));
    const struct expr *e = expr_real(x->m, p->times[p->kinds - 1]);
    for (int k = p->kinds - 2; k >= 0; k--)
        e = expr_select(x->m, expr_lt(x->m, t, expr_int(x->m, p->end[k])), expr_real(x->m, p->times[k]), e);
    return e;
}
