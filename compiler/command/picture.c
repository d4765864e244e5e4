/* `attnc show NAME --picture FILE.svg` draws what a spec attends to: the weights of the values in the rows of the
   result, for random queries and keys of one head. There are enough positions to show each part of the mask.
   A cell stands for several queries and keys.

   The interpreter computes the weights. Its result is linear in the values. So value j is 1 in the element of the
   cell of key j, and 0 in the other elements. */
#include "command_line.h"
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 64, LEVELS = 9, CELL = 6, LEFT = 56, TOP = 34, BOTTOM = 54, SIDE = CELLS * CELL, TICKS = 4 };

/* The numbers of positions. Up to MOST_QUERIES positions, all queries are computed, and else one for each cell. */
enum { MOST_QUERIES = 1024, MOST_POSITIONS = 16384 };

/* Rows of neighbouring cells have about this correlation. */
#define ALIKE 0.8

/* The level of a weight is in the opacity of its cell. Colours follow the viewer's light or dark scheme. */
static const char style[] = "<style>.paper{fill:#ffffff}.ink{fill:#1f2933}.muted{fill:#5b6774}.frame{fill:none;"
                            "stroke:#c3ccd6}.more{stroke:#2f6fb0}.less{stroke:#b3261e}text{font:12px sans-serif}"
                            "@media (prefers-color-scheme: dark){.paper{fill:#10161d}.ink{fill:#e6edf3}.muted{"
                            "fill:#9aa7b4}.frame{stroke:#3a4653}.more{stroke:#7ab8ff}.less{stroke:#ff8a80}}</style>\n";

static struct tensor *find(struct sample *s, enum quantity quantity)
{
    for (int t = 0; t < s->tensors; t++)
        if (s->array[t]->quantity == quantity) return &s->tensor[t];
    return NULL;
}

/* Returns the number of positions that show a distance, a length or a block of a mask. */
static int64_t positions_for(const struct expr *e)
{
    int64_t most = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct expr *const by = w.e->op == EXPR_FLOORMOD || w.e->op == EXPR_DIV ? w.e->arg[1] : NULL;
        int64_t found = w.e->op == EXPR_INT && w.e->integer < MOST_POSITIONS ? 3 * llabs(w.e->integer) : 0;
        if (by && by->op == EXPR_INT) found = 16 * by->integer;
        if (w.e->op == EXPR_ADD && w.e->arg[0]->op == EXPR_DIV && w.e->arg[0]->arg[1]->op == EXPR_INT &&
            w.e->arg[1]->op == EXPR_INT)
            found = 3 * llabs(w.e->arg[1]->integer) * w.e->arg[0]->arg[1]->integer;
        /* The last query chooses half of the keys. */
        if (w.e->op == EXPR_DRAWN && w.e->draw->sorted) found = 2 * w.e->draw->count;
        if (found > most) most = found;
    }
    return most;
}

/* Returns the number of positions of a picture: a power of 2 that shows all parts of the regions of the graph. */
static int64_t positions_of(const struct graph *g)
{
    int64_t most = 0, positions = CELLS;
    for (int v = 0; v < g->values; v++) {
        const int64_t found = g->value[v].where ? positions_for(g->value[v].where) : 0;
        if (found > most) most = found;
    }
    while (positions < most && positions < MOST_POSITIONS) positions *= 2;
    return positions;
}

/* Lets query row i stand at the position of key i * step. */
static void move_queries(struct graph *g, int64_t step)
{
    struct module *const m = g->module;
    int queries = -1, keys = -1;
    for (int a = 0; a < m->axes; a++) {
        if (m->axis[a].source == SIZE_N_Q) queries = a;
        if (m->axis[a].source == SIZE_N_K) keys = a;
    }
    if (queries < 0 || keys < 0) return;
    const struct expr *const start = expr_query_start(m, queries, keys), *const to = expr_mul(m, expr_index(m, queries),
                                                                                              expr_int(m, step - 1));
    for (int v = 0; v < g->values; v++) {
        struct value *const x = &g->value[v];
        if (x->where) x->where = expr_replace(m, x->where, start, to);
        if (x->expr) x->expr = expr_replace(m, x->expr, start, to);
    }
}

/* Sets the values that a tensor has to those of the picture: value j is 1 in the element of the cell of key j. */
static void set_values(const struct tensor *v, int64_t n, int64_t columns)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t e = 0; e < columns; e++) v->data[j * columns + e] = j / (n / CELLS) == e;
}

/* Makes n rows that change slowly from cell to cell, as rows of a real text do. So a picture shows distances. Rows of
   `near` are those of the same positions. */
static void draw_rows(double *x, int64_t n, int64_t elements, const double *near, int64_t times, uint64_t *state)
{
    const double kept = near ? ALIKE : pow(ALIKE, (double)CELLS / (double)n), more = sqrt(1 - kept * kept);
    for (int64_t i = 0; i < n; i++)
        for (int64_t d = 0; d < elements; d++) {
            const double before = near ? near[i * times * elements + d] : i ? x[(i - 1) * elements + d] : 0;
            x[i * elements + d] = kept * before + (i || near ? more : 1) * check_normal(state);
        }
}

/* Draws the rows of all heads of an array. A head of queries is near the first head of `near`. */
static void draw_heads(struct sample *s, int t, int64_t n, const struct tensor *near, int64_t times, uint64_t *state)
{
    const int64_t elements = s->array[t]->axis[s->array[t]->rank - 1].extent;
    for (int64_t at = 0; at < s->count[t]; at += n * elements)
        draw_rows(s->tensor[t].data + at, n, elements, near ? near->data : NULL, times, state);
}

/* Draws a given mask: in its first half each position sees the earlier ones, as in a prompt. The second half is a tree
   of drafts. There a position sees the prompt and the path to the root. */
static void draw_tree(double *seen, int64_t queries, int64_t n)
{
    const int64_t half = n / 2, step = n / queries;
    for (int64_t i = 0; i < queries; i++) {
        const int64_t at = i * step;
        for (int64_t j = 0; j < n; j++) seen[i * n + j] = j <= at && j < half;
        for (int64_t node = at - half; node >= 0; node = node ? (node - 1) / 2 : -1) seen[i * n + half + node] = 1;
    }
}

static int tensor_of(const struct sample *s, const char *name)
{
    int t = 0;
    while (t < s->tensors && strcmp(s->tensor[t].name, name) != 0) t++;
    return t < s->tensors ? t : -1;
}

/* Makes the numbers that an expression reads numbers from 0 to 1. */
static void read_sizes(struct sample *s, const struct expression *e)
{
    for (int k = 0; e && k < e->elements; k++) {
        const int t = tensor_of(s, e->element[k].array->name);
        if (t < 0 || !array_is_real(e->element[k].array)) continue;
        /* A number for each element of the output would hide the weights. */
        const int last = e->element[k].array->rank - 1;
        const bool of_elements = last >= 0 && e->element[k].array->axis[last].extent == EXTENT_E;
        for (int64_t x = 0; x < s->count[t]; x++) {
            const double size = fabs(s->tensor[t].data[x]);
            s->tensor[t].data[x] = of_elements ? 0 : size / (1 + size);
        }
    }
}

/* Changes random arrays of the spec to those of an example that shows their use. */
static void draw_arrays(struct sample *s, const struct spec *spec, int64_t queries, int64_t n, uint64_t *state)
{
    const struct tensor *const k = find(s, QUANTITY_KEY);
    for (int t = 0; t < s->tensors; t++) {
        const struct kernel_array *const a = s->array[t];
        if (a->dtype == DTYPE_I32 && !a->compared && a->rank == 1)
            for (int64_t b = 0; b < s->count[t]; b++) s->tensor[t].data[b] = (double)(n * 3 / 4);
        if (a->dtype == DTYPE_U8 && a->tiled) draw_tree(s->tensor[t].data, queries, n);
    }
    for (int x = 0; x < spec->arrays.count + spec->arrays.named; x++) {
        const struct user_array *const score = &spec->arrays.array[x];
        if (score->type != ARRAY_SCORE) continue;
        const int of_k = score->key ? tensor_of(s, score->key->name) : -1;
        const int of_q = score->query ? tensor_of(s, score->query->name) : -1;
        if (of_k >= 0) draw_heads(s, of_k, n, NULL, 1, state);
        const struct tensor *const near = of_k >= 0 ? &s->tensor[of_k] : k;
        if (of_q >= 0) draw_heads(s, of_q, queries, near, n / queries, state);
        read_sizes(s, score->sum);
    }
    read_sizes(s, spec->output);
}

/* Computes weight[i * CELLS + j], the mean over the queries of cell i of the sum of the weights of the keys of cell j.
   Sets *positions. Returns a message, or NULL. */
static const char *find_weights(const struct unit *p, double *weight, int64_t *positions)
{
    struct graph *const g = graph_copy(p->graph);
    const int64_t n = *positions = positions_of(g), queries = n > MOST_QUERIES ? CELLS : n;
    const int64_t of_cell = queries / CELLS, columns = p->spec->value_dim;
    const struct problem_size size = {1, 1, 1, queries, n};
    struct sample *const s = arena_alloc(p->arena, sizeof *s);
    double *const out = arena_alloc(p->arena, (size_t)(queries * columns) * sizeof *out);
    uint64_t state = 1;
    if (queries < n) move_queries(g, n / queries);
    check_fill(s, p, &size, true, &state);
    const struct tensor *const q = find(s, QUANTITY_QUERY), *const k = find(s, QUANTITY_KEY),
                               *const v = find(s, QUANTITY_VALUE);
    draw_rows(k->data, n, p->spec->head_dim, NULL, 1, &state);
    draw_rows(q->data, queries, p->spec->head_dim, k->data, n / queries, &state);
    set_values(v, n, columns);
    draw_arrays(s, p->spec, queries, n, &state);
    for (int sum = 0; sum < p->spec->sums; sum++) {
        const int t = p->spec->sum[sum]->values ? tensor_of(s, p->spec->sum[sum]->values->name) : -1;
        if (t >= 0) set_values(&s->tensor[t], n, columns);
    }
    g->outputs = 1; /* keeps only the output `out`, without statistics */
    const char *const wrong = graph_eval(g, &size, s->tensor, s->tensors, out);
    if (wrong) return wrong;
    for (int64_t i = 0; i < CELLS * CELLS; i++) weight[i] = 0;
    for (int64_t i = 0; i < queries; i++)
        for (int64_t e = 0; e < CELLS; e++) {
            if (!isfinite(out[i * columns + e])) return "the weights of the random arrays overflow";
            weight[i / of_cell * CELLS + e] += out[i * columns + e] / (double)of_cell;
        }
    return NULL;
}

/* Returns the level of a weight, negative for a weight below 0. */
static int level_of(double weight, double largest)
{
    const int level = weight == 0 ? 0 : (int)ceil(sqrt(fabs(weight) / largest) * (double)LEVELS);
    return weight < 0 ? -level : level;
}

/* Adds one SVG path with all cells of one level: a stroke for each run of cells in a row. */
static void draw_level(const double *weight, int level, struct text *out)
{
    bool any = false;
    for (int i = 0; i < CELLS; i++) {
        const double *const row = weight + i * CELLS;
        const double largest = check_largest(row, CELLS);
        for (int j = 0, end = -1; j < CELLS; j++) {
            const int first = j;
            while (j < CELLS && level_of(row[j], largest) == level) j++;
            if (j == first) continue;
            if (!any)
                text_add(out, "<path class=\"%s\" opacity=\"%.2f\" d=\"", level < 0 ? "less" : "more",
                         0.1 + 0.9 * abs(level) / (double)LEVELS);
            any = true;
            if (end < 0)
                text_add(out, "M%d %dh%d", first, i, j - first);
            else
                text_add(out, "m%d 0h%d", first - end, j - first);
            end = j;
        }
    }
    if (any) text_add(out, "\"/>\n");
}

/* Adds the positions at a quarter, a half, … of both sides. */
static void draw_ticks(int64_t positions, struct text *out)
{
    for (int k = 0; k <= TICKS; k++) {
        const int at = SIDE * k / TICKS;
        const long long position = (long long)(positions * k / TICKS);
        text_add(out, "<text class=\"muted\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">%lld</text>\n", LEFT + at,
                 TOP + SIDE + 16, position);
        text_add(out, "<text class=\"muted\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%lld</text>\n", LEFT - 5,
                 TOP + at + 4, position);
    }
}

static void draw(const char *name, const double *weight, int64_t positions, struct text *out)
{
    const int width = LEFT + SIDE + 24, height = TOP + SIDE + BOTTOM;
    const long long all = (long long)positions, each = all / CELLS;
    text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
             width, height, width, height);
    text_add(out, "<title>The weights of %s: %lld queries from top to bottom, %lld keys from left to right</title>\n%s",
             name, all, all, style);
    text_add(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", width, height);
    text_add(out, "<text class=\"ink\" x=\"%d\" y=\"20\">%s</text>\n", LEFT, name);
    text_add(out, "<g fill=\"none\" shape-rendering=\"crispEdges\" transform=\"translate(%d %d) scale(%d)\">\n", LEFT,
             TOP + CELL / 2, CELL);
    for (int level = -LEVELS; level <= LEVELS; level++)
        if (level) draw_level(weight, level, out);
    text_add(out, "</g>\n");
    text_add(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP, SIDE, SIDE);
    draw_ticks(positions, out);
    text_add(out, "<text class=\"muted\" x=\"%d\" y=\"%d\">%lld keys", LEFT, TOP + SIDE + 38, all);
    if (each > 1) text_add(out, ", %lld a cell", each);
    text_add(out, "; strong: large in its row; red: negative</text>\n");
    text_add(out, "<text class=\"muted\" transform=\"translate(14 %d) rotate(-90)\">%lld queries</text>\n</svg>\n",
             TOP + SIDE / 2 + 34, all);
}

int command_show_picture(const struct options *o)
{
    /* Here the values are independent of the keys, even if the spec uses the keys as values. They have an element for
       each cell. */
    static const char *const given[] = {"shape.values=given", "shape.value_dim=64"};
    _Static_assert(CELLS == 64, "value_dim is the number of cells");
    struct options changed = *o;
    changed.set = given;
    changed.sets = sizeof given / sizeof *given;
    changed.emit = 0;
    if (o->files != 1) return (int)complain_as(o, STATUS_USAGE, "--picture takes one spec");
    enum status status;
    struct unit *const p = unit_make(o->file[0], &changed, &status);
    if (!p) return (int)status;
    int64_t positions = 0;
    double *const weight = arena_alloc(p->arena, sizeof(double[CELLS * CELLS]));
    const char *const wrong = find_weights(p, weight, &positions);
    struct text svg = {0};
    if (wrong) {
        status = complain_as(o, STATUS_INPUT, "%s: %s", p->spec->name, wrong);
    } else {
        draw(p->spec->name, weight, positions, &svg);
        status = strcmp(o->picture, "-") == 0 ? table_put(o, &svg) : write_whole(o, o->picture, svg.data, svg.length);
    }
    text_free(&svg);
    unit_free(p);
    return (int)status;
}
