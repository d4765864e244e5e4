/* Finite features: a weight w(i, j) that is the inner product of a vector of i and a vector of j makes a sum over keys linear in their number,
   for the sum of (features of j) * v_j can be made once and met by every query. The rules look at the weight's expression alone:
     <a_i, b_j>           features a_i and b_j
     x + y                the features of x, then those of y
     x * y                every product of one of x and one of y (tensor product)
     x * x                the symmetric half of them: with n features, those of numbers k and (k + t) mod n for t = 0 … n/2, doubled on one side
     a factor of i alone, of j alone, or constant goes to its side
     base^(i - j)         base^(i - e) and base^(e - j), where e is the last key before i's chunk: the exponents stay small and the factors up to 1.
   Where all queries see the same keys the state is the sum over these. Where query i sees the keys j <= x(i), those of the chunks before the one of x(i) come from
   a state that is carried from chunk to chunk, and its own chunk is met quadratically, in the form the weight was written in (Kacham, Mirrokni and
   Zhong, 2024, section 3.1); a select on "same chunk" gives that chunk another weight (section 3.2). */
#include "../compiler.h"

/* Within a chunk a pair takes an inner product and a map, but of exponentials one for every feature: their work, in FLOPs. */
enum { MOST_FEATURES = 1 << 14, MOST_CHOSEN = 1 << 12, MOST_DECAYS = 8, MOST_RECENT = 256 };
static const double A_MAP = 16, A_FUNCTION = 24;

enum node_kind { NODE_LEAF, NODE_SUM, NODE_PRODUCT, NODE_SQUARE, NODE_FACTOR, NODE_DECAY };
enum side { QUERY, KEY };

struct node {
    enum node_kind kind;
    int64_t features;
    const struct node *a, *b;
    struct ref leaf[2];           /* LEAF: by side */
    int axis;                     /* LEAF: summed over */
    const struct expr *factor[2]; /* FACTOR: by side, over the weight's operands */
    const struct expr *base;      /* DECAY */
};

struct separation {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    int weight, lane, stream;
    const struct value *value; /* the weight */
    bool exponentials;         /* features of query and key are exponentials that run along the same axis */
    const struct expr *last;   /* where the region ends, or NULL */
    int decays;                /* exponentials of the weight, and how they read with their base */
    const struct expr *decay[MOST_DECAYS], *written[MOST_DECAYS];
    struct value made[2];      /* the maps of the features, while they are written */
    int chunk_axis;
    const struct expr *id[2]; /* by side: what has to be the same for query and key, or NULL */
    const struct expr *before, *end[2]; /* a query's chunk is the first; by side, the last key before the chunk */
};

static const struct expr *make(const struct separation *x, enum expr_op op, const struct expr *a, const struct expr *b)
{
    return expr_make(x->m, op, a, b, NULL);
}

/* Positions count so that the last query meets the last key. */
static const struct expr *query_position(const struct separation *x)
{
    const struct expr *ahead = make(x, EXPR_SUB, expr_leaf(x->m, EXPR_SIZE, x->stream), expr_leaf(x->m, EXPR_SIZE, x->lane));
    return make(x, EXPR_ADD, expr_leaf(x->m, EXPR_INDEX, x->lane), ahead);
}

/* ---- from the expression to features ---- */

static bool uses_axis(const struct separation *x, const struct expr *e, int axis)
{
    if (e->op == EXPR_INDEX) return e->integer == axis;
    if (e->op == EXPR_OPERAND) return ref_uses_axis(&x->value->operand[e->integer], axis);
    for (int k = 0; k < expr_arity(e->op); k++)
        if (uses_axis(x, e->arg[k], axis)) return true;
    return false;
}

static struct node *node(struct separation *x, enum node_kind kind, const struct node *a, const struct node *b, int64_t features)
{
    struct node *n = arena_alloc(x->m->arena, sizeof *n);
    *n = (struct node){.kind = kind, .a = a, .b = b, .features = features};
    return n;
}

static struct node *factor(struct separation *x, const struct expr *query, const struct expr *key)
{
    struct node *n = node(x, NODE_FACTOR, NULL, NULL, 1);
    n->factor[QUERY] = query;
    n->factor[KEY] = key;
    return n;
}

/* An inner product over a constant axis of something of i and something of j. */
static struct node *inner_product(struct separation *x, const struct ref *r)
{
    const struct value *v = &x->g->value[r->of];
    if (v->op != GRAPH_CONTRACT || v->where) return NULL;
    struct ref plain = graph_ref(x->g, r->of, NULL);
    if (!ref_equal(r, &plain)) return NULL;
    int summed = -1;
    for (int a = 0; a < x->m->axes; a++) {
        bool used = ref_uses_axis(&v->operand[0], a) || ref_uses_axis(&v->operand[1], a), kept = false;
        for (int k = 0; k < v->rank; k++) kept |= v->axes[k] == a;
        if (!used || kept) continue;
        if (summed >= 0 || x->m->axis[a].source != SIZE_CONSTANT) return NULL;
        summed = a;
    }
    if (summed < 0) return NULL;
    struct node *n = node(x, NODE_LEAF, NULL, NULL, x->m->axis[summed].extent);
    n->axis = summed;
    for (int k = 0; k < 2; k++) {
        bool query = ref_uses_axis(&v->operand[k], x->lane), key = ref_uses_axis(&v->operand[k], x->stream);
        if (query == key) return NULL;
        n->leaf[key ? KEY : QUERY] = v->operand[k];
    }
    return n->leaf[QUERY].rank && n->leaf[KEY].rank ? n : NULL;
}

/* Whether an exponential is a factor of the value. */
static bool exponential_factor(const struct graph *g, const struct value *v, const struct expr *e)
{
    if (e->op == EXPR_MUL) return exponential_factor(g, v, e->arg[0]) || exponential_factor(g, v, e->arg[1]);
    if (e->op != EXPR_OPERAND) return e->op == EXPR_EXP || e->op == EXPR_EXP2;
    const struct value *inner = &g->value[v->operand[e->integer].of];
    return inner->op == GRAPH_MAP && exponential_factor(g, inner, inner->expr);
}

static bool grows_exponentially(const struct graph *g, int v)
{
    return g->value[v].op == GRAPH_MAP && exponential_factor(g, &g->value[v], g->value[v].expr);
}

static const struct node *none(struct separation *x, const char *why)
{
    x->c->why_not = why;
    return NULL;
}

static const struct node *too_many(struct separation *x)
{
    return none(x, arena_printf(x->m->arena, "it has more than %d features", MOST_FEATURES));
}

/* An exponential of query and key. */
static const struct node *decay(struct separation *x, const struct expr *e)
{
    struct decay found;
    const struct expr *position = query_position(x);
    const char *why = decay_of(x->m, x->value, x->lane, x->stream, x->last == position, e, &found);
    if (!why && !x->last) why = "a weight that falls with the distance of query and key is carried only under a mask that ends at the query, as 'causal' does";
    if (why) return none(x, why);
    struct node *n = node(x, NODE_DECAY, NULL, NULL, 1);
    n->base = found.base;
    if (x->decays < MOST_DECAYS) {
        const struct expr *distance = make(x, EXPR_SUB, position, expr_leaf(x->m, EXPR_INDEX, x->stream));
        x->decay[x->decays] = e;
        x->written[x->decays++] = make(x, EXPR_MUL, make(x, EXPR_MUL, make(x, EXPR_POW, found.base, distance), found.factor[QUERY]), found.factor[KEY]);
    }
    if (expr_is_real(found.factor[QUERY], 1) && expr_is_real(found.factor[KEY], 1)) return n;
    return node(x, NODE_PRODUCT, factor(x, found.factor[QUERY], found.factor[KEY]), n, 1);
}

static const struct node *find(struct separation *x, const struct expr *e)
{
    bool query = uses_axis(x, e, x->lane), key = uses_axis(x, e, x->stream);
    if (!query || !key) return key ? factor(x, expr_real(x->m, 1), e) : factor(x, e, expr_real(x->m, 1));
    if (e->op == EXPR_OPERAND) {
        const struct node *product = inner_product(x, &x->value->operand[e->integer]);
        if (!product) return none(x, "a value that query and key share is no inner product over features");
        if (grows_exponentially(x->g, product->leaf[QUERY].of) && grows_exponentially(x->g, product->leaf[KEY].of)) x->exponentials = true;
        return product;
    }
    if (e->op == EXPR_NEG) {
        const struct node *a = find(x, e->arg[0]);
        return a ? node(x, NODE_PRODUCT, factor(x, expr_real(x->m, -1), expr_real(x->m, 1)), a, a->features) : NULL;
    }
    if (e->op == EXPR_EXP || e->op == EXPR_EXP2 || e->op == EXPR_POW) return decay(x, e);
    if (e->op != EXPR_ADD && e->op != EXPR_SUB && e->op != EXPR_MUL && e->op != EXPR_DIV)
        return none(x, arena_printf(x->m->arena, "%s(…) of query and key has no finite features", expr_name(e->op)));
    const struct node *a = find(x, e->arg[0]);
    if (!a) return NULL;
    if (a->features > MOST_FEATURES) return too_many(x);
    if (e->op == EXPR_MUL && e->arg[0] == e->arg[1]) {
        if (a->kind == NODE_FACTOR) return node(x, NODE_PRODUCT, a, a, 1);
        return node(x, NODE_SQUARE, a, NULL, a->features * (a->features + 1) / 2);
    }
    if (e->op == EXPR_DIV) {
        if (uses_axis(x, e->arg[1], x->lane) && uses_axis(x, e->arg[1], x->stream)) {
            if (e->arg[1]->op != EXPR_POW) return none(x, "a quotient by query and key has no finite features");
            const struct node *power = find(x, make(x, EXPR_POW, e->arg[1]->arg[0], make(x, EXPR_NEG, e->arg[1]->arg[1], NULL)));
            return power ? node(x, NODE_PRODUCT, power, a, a->features) : NULL;
        }
        const struct expr *one = expr_real(x->m, 1), *inverse = expr_make(x->m, EXPR_DIV, one, e->arg[1], NULL);
        bool of_key = uses_axis(x, e->arg[1], x->stream);
        return node(x, NODE_PRODUCT, factor(x, of_key ? one : inverse, of_key ? inverse : one), a, a->features);
    }
    const struct node *b = find(x, e->arg[1]);
    if (!b) return NULL;
    if (b->features > MOST_FEATURES) return too_many(x);
    if (e->op == EXPR_MUL) return node(x, NODE_PRODUCT, a, b, a->features * b->features);
    if (e->op == EXPR_SUB) b = node(x, NODE_PRODUCT, factor(x, expr_real(x->m, -1), expr_real(x->m, 1)), b, b->features);
    return node(x, NODE_SUM, a, b, a->features + b->features);
}

/* ---- from features to expressions ---- */

/* The operand of the map of one side that is this reference; -1 when there is no room. */
static const struct expr *operand_of(struct separation *x, enum side side, const struct ref *r)
{
    struct value *v = &x->made[side];
    int k = 0;
    while (k < v->operands && !ref_equal(&v->operand[k], r)) k++;
    if (k == MAX_OPERANDS) return NULL;
    if (k == v->operands) v->operand[v->operands++] = *r;
    return expr_leaf(x->m, EXPR_OPERAND, k);
}

/* Feature number f (an integer expression) of one side; NULL when the map would have too many operands. */
static const struct expr *feature(struct separation *x, const struct node *n, enum side side, const struct expr *f)
{
    switch (n->kind) {
    case NODE_LEAF: {
        struct ref r = n->leaf[side];
        for (int k = 0; k < r.rank; k++) r.sub[k] = expr_replace(x->m, r.sub[k], expr_leaf(x->m, EXPR_INDEX, n->axis), f);
        return operand_of(x, side, &r);
    }
    case NODE_FACTOR: {
        const struct expr *with[MAX_OPERANDS] = {NULL};
        for (int k = 0; k < x->value->operands; k++) {
            with[k] = expr_leaf(x->m, EXPR_OPERAND, k);
            if (!expr_uses(n->factor[side], with[k])) continue;
            if (!(with[k] = operand_of(x, side, &x->value->operand[k]))) return NULL;
        }
        return expr_bind(x->m, n->factor[side], with);
    }
    case NODE_DECAY: {
        /* no key comes before the first chunk, and a query before all keys would be as far from it as it likes */
        const struct expr *own = side == KEY ? expr_leaf(x->m, EXPR_INDEX, x->stream) : query_position(x);
        const struct expr *steps = side == KEY ? make(x, EXPR_SUB, x->end[KEY], own) : make(x, EXPR_SUB, own, x->end[QUERY]);
        if (side == QUERY) steps = expr_make(x->m, EXPR_SELECT, x->before, expr_int(x->m, 0), steps);
        return make(x, EXPR_POW, n->base, steps);
    }
    case NODE_SUM: {
        const struct expr *count = expr_int(x->m, n->a->features);
        const struct expr *in_a = n->a->features == 1 ? expr_int(x->m, 0) : make(x, EXPR_MIN, f, expr_int(x->m, n->a->features - 1));
        const struct expr *in_b = n->b->features == 1 ? expr_int(x->m, 0) : make(x, EXPR_MAX, make(x, EXPR_SUB, f, count), expr_int(x->m, 0));
        const struct expr *a = feature(x, n->a, side, in_a), *b = feature(x, n->b, side, in_b);
        return a && b ? expr_make(x->m, EXPR_SELECT, make(x, EXPR_LT, f, count), a, b) : NULL;
    }
    case NODE_PRODUCT: {
        const struct expr *count = expr_int(x->m, n->b->features);
        const struct expr *a = feature(x, n->a, side, n->a->features == 1 ? expr_int(x->m, 0) : make(x, EXPR_DIV, f, count));
        const struct expr *b = feature(x, n->b, side, n->a->features == 1 ? f : make(x, EXPR_MOD, f, count));
        return a && b ? make(x, EXPR_MUL, a, b) : NULL;
    }
    case NODE_SQUARE: {
        /* apart by t = f / n: t = 0 are the squares; t = n / 2 of an even n would meet every pair twice, and the features end in the middle of it */
        const struct expr *count = expr_int(x->m, n->a->features), *t = make(x, EXPR_DIV, f, count), *first = make(x, EXPR_MOD, f, count);
        const struct expr *a = feature(x, n->a, side, first), *b = feature(x, n->a, side, make(x, EXPR_MOD, make(x, EXPR_ADD, first, t), count));
        if (!a || !b) return NULL;
        const struct expr *product = make(x, EXPR_MUL, a, b);
        if (side == KEY || n->a->features == 1) return product;
        const struct expr *once = make(x, EXPR_EQ, t, expr_int(x->m, 0));
        return make(x, EXPR_MUL, product, expr_make(x->m, EXPR_SELECT, once, expr_real(x->m, 1), expr_real(x->m, 2)));
    }
    }
    return NULL;
}

/* What is left of feature f of the keys from one chunk to the next; NULL for all of it. */
static const struct expr *kept(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk)
{
    const struct expr *one = expr_real(x->m, 1), *a = NULL, *b = NULL;
    switch (n->kind) {
    case NODE_LEAF:
    case NODE_FACTOR: return NULL;
    case NODE_DECAY: return make(x, EXPR_POW, n->base, expr_int(x->m, chunk));
    case NODE_SUM:
        a = kept(x, n->a, f, chunk);
        b = kept(x, n->b, make(x, EXPR_SUB, f, expr_int(x->m, n->a->features)), chunk);
        if (!a && !b) return NULL;
        return expr_make(x->m, EXPR_SELECT, make(x, EXPR_LT, f, expr_int(x->m, n->a->features)), a ? a : one, b ? b : one);
    case NODE_PRODUCT:
        a = kept(x, n->a, make(x, EXPR_DIV, f, expr_int(x->m, n->b->features)), chunk);
        b = kept(x, n->b, make(x, EXPR_MOD, f, expr_int(x->m, n->b->features)), chunk);
        break;
    case NODE_SQUARE: {
        const struct expr *count = expr_int(x->m, n->a->features), *first = make(x, EXPR_MOD, f, count);
        a = kept(x, n->a, first, chunk);
        b = kept(x, n->a, make(x, EXPR_MOD, make(x, EXPR_ADD, first, make(x, EXPR_DIV, f, count)), count), chunk);
        break;
    }
    }
    return a && b ? make(x, EXPR_MUL, a, b) : a ? a : b;
}

/* Whether the id at x is that at the last key before a chunk. */
static const struct expr *same_id(const struct separation *x, const struct expr *position, const struct expr *end)
{
    const struct expr *like = x->id[KEY], *a = expr_id(x->m, EXPR_ID, like->name, like->arg[0], position, NULL);
    return make(x, EXPR_EQ, a, expr_id(x->m, EXPR_ID, like->name, like->arg[0], end, NULL));
}

/* The last key before a chunk, or of all. */
static const struct expr *end_before(const struct separation *x, const struct expr *chunk, int64_t length)
{
    const struct expr *begin = make(x, EXPR_MUL, chunk, expr_int(x->m, length));
    return make(x, EXPR_SUB, make(x, EXPR_MIN, begin, expr_leaf(x->m, EXPR_SIZE, x->stream)), expr_int(x->m, 1));
}

/* The state before a chunk is of the keys whose id is that of the last of them. */
static const struct expr *of_last_id(const struct separation *x, const struct expr *e, int64_t chunk)
{
    const struct expr *end = end_before(x, expr_leaf(x->m, EXPR_INDEX, x->chunk_axis), chunk);
    return expr_make(x->m, EXPR_SELECT, same_id(x, x->id[KEY]->arg[1], end), e, expr_real(x->m, 0));
}

/* The map of one side's features, over the weight's axes that it runs along, then the axis of the features. Its number, or -1. */
static int feature_map(struct separation *x, const struct node *n, enum side side, int axis, int64_t chunk)
{
    x->made[side] = graph_value(GRAPH_MAP, 0, NULL);
    struct value *v = &x->made[side];
    v->expr = feature(x, n, side, expr_leaf(x->m, EXPR_INDEX, axis));
    if (!v->expr) return -1;
    if (side == KEY && x->id[KEY]) v->expr = of_last_id(x, v->expr, chunk);
    for (int k = 0; k < x->value->rank; k++) {
        bool used = x->value->axes[k] == (side == KEY ? x->stream : x->lane) || (expr_axes(v->expr) >> x->value->axes[k] & 1);
        for (int o = 0; o < v->operands; o++) used |= ref_uses_axis(&v->operand[o], x->value->axes[k]);
        if (used) v->axes[v->rank++] = x->value->axes[k];
    }
    if (x->chunk_axis >= 0 && (expr_axes(v->expr) >> x->chunk_axis & 1)) v->axes[v->rank++] = x->chunk_axis;
    v->axes[v->rank++] = axis;
    graph_insert(x->g, x->weight, *v);
    return x->weight++;
}

/* ---- the regions ---- */

/* The query has to have the key's id. */
static bool id_region(struct separation *x, const struct expr *where)
{
    const struct expr *key = expr_leaf(x->m, EXPR_INDEX, x->stream), *a = where->arg[0], *b = where->arg[1];
    if (where->op != EXPR_EQ || a->op != EXPR_ID || b->op != EXPR_ID || a->name != b->name || a->arg[0] != b->arg[0]) return false;
    const struct expr *of_query = b->arg[1] == key ? a : b, *of_key = b->arg[1] == key ? b : a;
    if (of_key->arg[1] != key || (x->id[KEY] && (x->id[KEY] != of_key || x->id[QUERY] != of_query))) return false;
    x->id[QUERY] = of_query;
    x->id[KEY] = of_key;
    return true;
}

/* What is left of the region without what it says of ids; NULL: nothing. */
static const struct expr *without_ids(struct separation *x, const struct expr *where)
{
    if (where->op != EXPR_AND) return id_region(x, where) ? NULL : where;
    const struct expr *a = without_ids(x, where->arg[0]), *b = without_ids(x, where->arg[1]);
    return a && b ? make(x, EXPR_AND, a, b) : a ? a : b;
}

/* Whether no query's last key lies after the query. */
static bool not_ahead(const struct separation *x, const struct expr *last, const struct expr *query)
{
    int64_t distance;
    if (last->op == EXPR_MIN) return not_ahead(x, last->arg[0], query) || not_ahead(x, last->arg[1], query);
    if (last->op == EXPR_MAX) return not_ahead(x, last->arg[0], query) && not_ahead(x, last->arg[1], query);
    return known_difference(x->m, query, last, &distance) && distance >= 0;
}

/* The last key that a query sees, where it sees all up to that and a query after it as many or more; NULL for any other region. */
static const struct expr *last_key(const struct separation *x, const struct expr *where)
{
    const struct expr *own = expr_leaf(x->m, EXPR_INDEX, x->lane);
    if (where->op == EXPR_OR || where->op == EXPR_AND) {
        const struct expr *a = last_key(x, where->arg[0]), *b = last_key(x, where->arg[1]);
        return a && b ? make(x, where->op == EXPR_OR ? EXPR_MAX : EXPR_MIN, a, b) : NULL;
    }
    if ((where->op != EXPR_LE && where->op != EXPR_LT) || where->arg[0] != expr_leaf(x->m, EXPR_INDEX, x->stream)) return NULL;
    const struct expr *last = where->op == EXPR_LE ? where->arg[1] : make(x, EXPR_SUB, where->arg[1], expr_int(x->m, 1)), *e = last;
    if (last->type == TYPE_REAL) return NULL;
    while (e->op == EXPR_ADD && e->arg[1]->op == EXPR_INT) e = e->arg[0];
    bool of_query = e == own || (e->op == EXPR_ADD && e->arg[0] == own && !expr_has(e->arg[1], EXPR_INDEX));
    return of_query || !expr_has(e, EXPR_INDEX) ? last : NULL;
}

/* Whether e is the number of the block, `of` positions long, that a position lies in; *of is set where it is 0. */
static bool is_block_number(const struct separation *x, const struct expr *e, const struct expr *position, int64_t *of)
{
    if (e->op != EXPR_DIV || e->arg[1]->op != EXPR_INT) return false;
    const struct expr *size = e->arg[1], *start = make(x, EXPR_SUB, position, make(x, EXPR_FLOORMOD, position, size));
    if (e->arg[0] != start || (*of && *of != size->integer)) return false;
    *of = size->integer;
    return true;
}

/* The same with a constant added, which *shift is set to. */
static bool is_block_shifted(const struct separation *x, const struct expr *e, const struct expr *position, int64_t *of, int64_t *shift)
{
    *shift = e->op == EXPR_ADD && e->arg[1]->op == EXPR_INT ? e->arg[1]->integer : 0;
    return is_block_number(x, *shift ? e->arg[0] : e, position, of);
}

/* What a region of blocks says: a query in block c sees keys from block c - reach on, up to its own position or to block c + ahead. */
struct blocks {
    int64_t length, reach, ahead;
    bool causal;
    const struct expr *rest; /* the region without what it says of the first block */
};

static bool block_region(const struct separation *x, const struct expr *where, struct blocks *found)
{
    const struct expr *position = query_position(x), *j = expr_leaf(x->m, EXPR_INDEX, x->stream);
    if (where->op == EXPR_AND) return block_region(x, where->arg[0], found) && block_region(x, where->arg[1], found);
    if (where->op != EXPR_LE) return false;
    int64_t shift;
    if (is_block_number(x, where->arg[1], j, &found->length) && is_block_shifted(x, where->arg[0], position, &found->length, &shift)) {
        found->reach = found->reach < 0 || -shift < found->reach ? -shift : found->reach;
        return true;
    }
    if (is_block_number(x, where->arg[0], j, &found->length) && is_block_shifted(x, where->arg[1], position, &found->length, &shift)) {
        found->ahead = found->ahead < 0 || shift < found->ahead ? shift : found->ahead;
        if (shift < 0) return false;
    } else if (where->arg[0] == j && where->arg[1] == position)
        found->causal = true;
    else
        return false;
    found->rest = found->rest ? make(x, EXPR_AND, found->rest, where) : where;
    return true;
}

/* Whether queries see a number of whole blocks before their own, and keys at most some blocks ahead. */
static bool window_of_blocks(const struct separation *x, const struct expr *where, struct blocks *found)
{
    *found = (struct blocks){.reach = -1, .ahead = -1};
    if (!where || !block_region(x, where, found) || found->reach <= 0 || (!found->causal && found->ahead < 0)) return false;
    if (found->causal) found->rest = make(x, EXPR_LE, expr_leaf(x->m, EXPR_INDEX, x->stream), query_position(x)); /* which is in its own block */
    return true;
}

/* Sets which keys queries see: all (NULL), those up to *last, or, with *last NULL, all those of the region. False for any other region. */
static bool prefix_region(const struct separation *x, const struct expr **where, const struct expr **last)
{
    *last = NULL;
    if (!*where) return true;
    const struct expr *found = last_key(x, *where), *j = expr_leaf(x->m, EXPR_INDEX, x->stream), *one = expr_int(x->m, 1);
    if (!found) return false;
    bool all_alike = !expr_has(found, EXPR_INDEX);
    *where = all_alike ? make(x, EXPR_LT, j, make(x, EXPR_ADD, found, one)) : make(x, EXPR_LE, j, found);
    /* it may lie after all keys, which no chunk does */
    if (found != query_position(x)) found = make(x, EXPR_MIN, found, make(x, EXPR_SUB, expr_leaf(x->m, EXPR_SIZE, x->stream), one));
    if (!all_alike) *last = found;
    return true;
}

static const struct expr *chunk_number(const struct separation *x, const struct expr *position, int64_t chunk)
{
    return make(x, EXPR_DIV, make(x, EXPR_MAX, position, expr_int(x->m, 0)), expr_int(x->m, chunk));
}

/* ---- the rewriting ---- */

struct plan {
    int64_t chunk;
    const struct node *features;
    const struct expr *near, *last; /* the weight within a chunk; where the region of a query ends, or NULL */
    const struct expr *region;      /* NULL: everything */
    int64_t reach, ahead; /* the chunks before a query's own that its state is of, 0: all of them; those after it that are met, -1: not its whole own */
    int users, user[MAX_OPERANDS];
};

/* What the features of a key are multiplied by, with 0 where they are 0 because of its id: else infinity or NaN there would reach the state. Its number. */
static int of_last_id_too(struct separation *x, const struct ref *other, int64_t chunk)
{
    struct value own = graph_value(GRAPH_MAP, 0, NULL);
    own.operand[own.operands++] = *other;
    own.expr = of_last_id(x, expr_leaf(x->m, EXPR_OPERAND, 0), chunk);
    for (int k = 0; k < other->rank; k++) own.axes[own.rank++] = ref_axis(other, k);
    own.axes[own.rank++] = x->chunk_axis;
    graph_insert(x->g, x->weight, own);
    return x->weight++;
}

/* The sum over keys of the features of key, times the other factor of `sum`, if it has one: all of them, or those before chunk c. */
static int state_of(struct separation *x, const struct value *sum, int key_features, int feature_axis, const struct plan *plan)
{
    int chunk_axis = x->chunk_axis;
    const struct value *features = &x->g->value[key_features];
    const struct ref *other = NULL;
    for (int k = 0; k < sum->operands; k++)
        if (sum->operand[k].of != x->weight) other = &sum->operand[k];
    int axes[MAX_RANK], rank = 0;
    for (int k = 0; k < x->value->rank; k++) {
        int a = x->value->axes[k];
        bool used = other && ref_uses_axis(other, a);
        for (int f = 0; f < features->rank; f++) used |= features->axes[f] == a;
        if (used && a != x->stream && a != x->lane) axes[rank++] = a;
    }
    if (chunk_axis >= 0) axes[rank++] = chunk_axis;
    axes[rank++] = feature_axis;
    for (int k = 0; other && k < sum->rank; k++)
        if (ref_uses_axis(other, sum->axes[k]) && x->m->axis[sum->axes[k]].source == SIZE_CONSTANT) axes[rank++] = sum->axes[k];
    struct value state = graph_value(other ? GRAPH_CONTRACT : GRAPH_REDUCE, rank, axes);
    state.fold = other ? FOLD_SET : FOLD_SUM;
    state.operand[state.operands++] = graph_ref(x->g, key_features, NULL);
    if (other) state.operand[state.operands++] = x->id[KEY] ? graph_ref(x->g, of_last_id_too(x, other, plan->chunk), NULL) : *other;
    if (chunk_axis >= 0) {
        const struct expr *begin = make(x, EXPR_MUL, expr_leaf(x->m, EXPR_INDEX, chunk_axis), expr_int(x->m, plan->chunk));
        state.where = make(x, EXPR_LT, expr_leaf(x->m, EXPR_INDEX, x->stream), begin);
        if (plan->reach) {
            const struct expr *first = make(x, EXPR_SUB, begin, expr_int(x->m, plan->reach * plan->chunk));
            state.where = make(x, EXPR_AND, make(x, EXPR_LE, first, expr_leaf(x->m, EXPR_INDEX, x->stream)), state.where);
        }
        state.keep = kept(x, plan->features, expr_leaf(x->m, EXPR_INDEX, feature_axis), plan->chunk);
        if (x->id[KEY]) { /* all of it, or another id begins */
            const struct expr *chunk = expr_leaf(x->m, EXPR_INDEX, chunk_axis), *next = make(x, EXPR_ADD, chunk, expr_int(x->m, 1));
            const struct expr *goes_on = same_id(x, end_before(x, next, plan->chunk), end_before(x, chunk, plan->chunk));
            state.keep = expr_make(x->m, EXPR_SELECT, goes_on, state.keep ? state.keep : expr_real(x->m, 1), expr_real(x->m, 0));
        }
    }
    if (chunk_axis < 0) state.where = plan->region;
    graph_insert(x->g, x->weight, state);
    return x->weight++;
}

/* Puts `v` before value *at, which moves on; returns the new value's number. */
static int insert_before(struct graph *g, int *at, struct value v)
{
    graph_insert(g, *at, v);
    return (*at)++;
}

/* Whether weight v is used only by sums over one region that the features serve; fills in the plan. */
static bool make_plan(struct separation *x, struct plan *plan)
{
    const struct graph *g = x->g;
    const struct expr *where = NULL, *far = x->value->expr;
    *plan = (struct plan){.chunk = x->c->spec->block, .ahead = -1};
    x->exponentials = false;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (g->value[w].operand[k].of != x->weight) continue;
            const struct value *user = &g->value[w];
            struct ref plain = graph_ref(g, x->weight, NULL);
            bool sums = user->op == GRAPH_CONTRACT || (user->op == GRAPH_REDUCE && user->fold == FOLD_SUM && user->init == 0);
            if (!sums || !ref_equal(&user->operand[k], &plain) || plan->users == MAX_OPERANDS || (plan->users && user->where != where)) return false;
            for (int a = 0; a < user->rank; a++)
                if (user->axes[a] == x->stream) return false;
            where = user->where;
            plan->user[plan->users++] = w;
        }
    if (!plan->users) return false;
    x->id[QUERY] = x->id[KEY] = NULL;
    plan->region = where ? without_ids(x, where) : NULL;
    struct blocks blocks;
    if (window_of_blocks(x, plan->region, &blocks)) {
        if (x->id[KEY]) return none(x, "a window of blocks is not carried by ids") != NULL;
        if (blocks.reach > MOST_RECENT)
            return none(x, arena_printf(x->m->arena, "its window is of more than %d blocks, and a state is kept of each", MOST_RECENT)) != NULL;
        plan->chunk = blocks.length;
        plan->reach = blocks.reach;
        plan->ahead = blocks.causal ? -1 : blocks.ahead;
        plan->region = blocks.rest;
        plan->last = query_position(x);
    } else if (!prefix_region(x, &plan->region, &plan->last))
        return none(x, "its mask has no carried state ('none', 'causal', 'prefix', 'block_window' and what these make have), for a state only takes keys in") !=
               NULL;
    if (x->id[KEY]) { /* ids never fall: those before a query's chunk are no larger than its own, unless that chunk lies after it */
        if (!plan->last || !not_ahead(x, plan->last, x->id[QUERY]->arg[1]))
            return none(x, "its mask lets a query see keys of its own id after it, and such a state is not carried") != NULL;
        plan->region = make(x, EXPR_AND, plan->region, make(x, EXPR_EQ, x->id[QUERY], x->id[KEY]));
    }
    x->last = plan->last;
    x->decays = 0;
    plan->near = far;
    if (plan->last && plan->chunk && far->op == EXPR_SELECT) { /* another weight where query and key are in one chunk */
        const struct expr *j = expr_leaf(x->m, EXPR_INDEX, x->stream), *size = expr_int(x->m, plan->chunk), *number[2], *position[2] = {plan->last, j};
        for (int k = 0; k < 2; k++) number[k] = make(x, EXPR_DIV, make(x, EXPR_SUB, position[k], make(x, EXPR_FLOORMOD, position[k], size)), size);
        if (far->arg[0] == make(x, EXPR_EQ, number[0], number[1]) || far->arg[0] == make(x, EXPR_EQ, number[1], number[0])) {
            if (plan->ahead < 0) plan->near = far->arg[1];
            far = far->arg[2];
        } else if (uses_axis(x, far->arg[0], x->lane) && uses_axis(x, far->arg[0], x->stream))
            return none(x, "under its mask a query's own chunk is not the block that has another weight") != NULL;
    }
    if (!expr_has(far, EXPR_OPERAND)) return none(x, "its weight depends on positions alone") != NULL;
    plan->features = find(x, far);
    if (plan->features && plan->features->features > MOST_FEATURES) return too_many(x) != NULL;
    if (plan->features && plan->reach && x->decays)
        return none(x, "a weight that falls with the distance of query and key is not carried for a window of blocks") != NULL;
    if (plan->features && x->id[KEY] && x->exponentials) return none(x, "features that are exponentials are not carried by ids yet") != NULL;
    for (int k = 0; k < x->decays && plan->features; k++) plan->near = expr_replace(x->m, plan->near, x->decay[k], x->written[k]);
    if (plan->features && plan->chunk == 0) {
        double features = (double)plan->features->features, columns = (double)x->c->spec->value_dim + 1;
        double pair = x->exponentials ? A_FUNCTION * features : 2.0 * (double)x->c->spec->head_dim + A_MAP;
        plan->chunk = schedule_knob(x->c, "chunk", chunk_length(features, columns, pair + 2 * columns));
        x->c->open_chunk = true;
    }
    return plan->features && plan->features->kind != NODE_FACTOR;
}

static void rewrite(struct separation *x, struct plan *plan)
{
    struct module *m = x->m;
    int feature_axis = module_axis(m, "f", SIZE_CONSTANT, plan->features->features);
    int chunk_axis = x->chunk_axis = plan->last ? module_axis(m, "chunk", SIZE_CHUNKS, plan->chunk) : -1;
    const struct expr *number = NULL;
    if (plan->last) {
        const struct expr *size = expr_int(m, plan->chunk), *one = expr_int(m, 1);
        number = chunk_number(x, plan->last, plan->chunk);
        x->before = make(x, EXPR_EQ, number, expr_int(m, 0));
        x->end[QUERY] = make(x, EXPR_SUB, make(x, EXPR_MUL, number, size), one);
        x->end[KEY] = make(x, EXPR_SUB, make(x, EXPR_MUL, expr_leaf(m, EXPR_INDEX, chunk_axis), size), one);
    }
    int old = x->weight;
    struct value *weight = arena_alloc(m->arena, sizeof *weight); /* the graph's own moves */
    *weight = *x->value;
    x->value = weight;
    int query = feature_map(x, plan->features, QUERY, feature_axis, plan->chunk),
        key = query < 0 ? -1 : feature_map(x, plan->features, KEY, feature_axis, plan->chunk);
    if (key < 0) return;
    x->c->features = plan->features->features;
    x->c->reach = plan->reach;
    x->c->near_keys = !plan->last ? 0 : plan->ahead < 0 ? (double)plan->chunk / 2 : (double)(plan->ahead + 1) * (double)plan->chunk;
    x->g->value[x->weight].expr = plan->near;
    for (int u = 0; u < plan->users; u++) {
        int at = plan->user[u] + (x->weight - old);
        struct value sum = x->g->value[at];
        int before = x->weight, state = state_of(x, &sum, key, feature_axis, plan);
        at += x->weight - before;
        sum = x->g->value[at];
        struct value far = graph_value(GRAPH_CONTRACT, sum.rank, sum.axes);
        far.operands = 2;
        far.operand[0] = graph_ref(x->g, query, NULL);
        far.operand[1] = graph_ref(x->g, state, NULL);
        for (int k = 0; k < far.operand[1].rank && chunk_axis >= 0; k++)
            if (ref_axis(&far.operand[1], k) == chunk_axis) far.operand[1].sub[k] = number;
        if (!plan->last) {
            x->g->value[at] = far;
            continue;
        }
        int distant = insert_before(x->g, &at, far);
        struct value near = x->g->value[at];
        const struct expr *begin = make(x, EXPR_MUL, number, expr_int(m, plan->chunk));
        near.where = make(x, EXPR_AND, plan->region, make(x, EXPR_LE, begin, expr_leaf(m, EXPR_INDEX, x->stream)));
        int close = insert_before(x->g, &at, near);
        struct value both = graph_value(GRAPH_MAP, sum.rank, sum.axes);
        both.operands = 2;
        both.operand[0] = graph_ref(x->g, close, NULL);
        both.operand[1] = graph_ref(x->g, distant, NULL);
        const struct expr *met = expr_leaf(m, EXPR_OPERAND, 1); /* by queries of its id */
        if (x->id[KEY]) met = expr_make(m, EXPR_SELECT, same_id(x, x->id[QUERY]->arg[1], x->end[QUERY]), met, expr_real(m, 0));
        both.expr = make(x, EXPR_ADD, expr_leaf(m, EXPR_OPERAND, 0), met);
        x->g->value[at] = both;
        for (int later = u + 1; later < plan->users; later++) plan->user[later] += 2;
    }
}

static bool is_summed(const struct graph *g, int v)
{
    for (int w = v + 1; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++)
            if (g->value[w].operand[k].of == v && g->value[w].op != GRAPH_MAP) return true;
    return false;
}

/* A sum of inner products themselves gets a map of them, which simplify removes again if nothing comes of it. */
static void map_of(struct graph *g, int v)
{
    struct value map = graph_value(GRAPH_MAP, g->value[v].rank, g->value[v].axes);
    map.operands = 1;
    map.operand[0] = graph_ref(g, v, NULL);
    map.expr = expr_leaf(g->module, EXPR_OPERAND, 0);
    graph_insert(g, v + 1, map);
    for (int w = v + 2; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++)
            if (g->value[w].operand[k].of == v) g->value[w].operand[k].of = v + 1;
}

void pass_separate(struct compilation *c)
{
    if (!c->linear) return;
    struct separation separation = {.c = c, .g = c->graph, .m = c->graph->module}, *x = &separation;
    struct roles roles;
    roles_of(c->graph, 0, &roles);
    x->lane = roles.lane;
    x->stream = roles.stream;
    if (x->lane < 0 || x->stream < 0) return;
    for (int v = 0; v < c->graph->values; v++) {
        const struct value *value = &c->graph->value[v];
        bool pair = false, query = false;
        for (int k = 0; k < value->rank; k++) {
            pair |= value->axes[k] == x->stream;
            query |= value->axes[k] == x->lane;
        }
        if (!pair || !query) continue;
        if (value->op == GRAPH_CONTRACT && is_summed(c->graph, v)) map_of(c->graph, v++);
        value = &c->graph->value[v];
        if (value->op != GRAPH_MAP) continue;
        struct plan plan;
        x->weight = v;
        x->value = value;
        if (!make_plan(x, &plan)) continue;
        /* left to choose, a state that fills the caches is not worth it */
        if (c->spec->algorithm == ALGORITHM_AUTO && plan.features->features > MOST_CHOSEN) {
            none(x, arena_printf(x->m->arena, "its %lld features are more than is chosen by itself; 'algorithm: linear' asks for it",
                                 (long long)plan.features->features));
            return;
        }
        rewrite(x, &plan);
        graph_sweep(c->graph);
        return;
    }
    if (c->spec->algorithm != ALGORITHM_LINEAR || !graph_has_pairs(c->graph)) return;
    diagnostics_error(c->diagnostics, c->spec->algorithm_at, "there is no linear form: %s", c->why_not ? c->why_not : "its weight is no sum over keys");
}
