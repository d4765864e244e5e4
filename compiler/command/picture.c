/* `attnc show NAME --picture FILE.svg` draws what a spec attends to. The picture has the weight of each value in
   each row of the result, for 64 random positions of one head. The interpreter computes the weights. Its result is
   linear in the values, so it is run with one value of 1 at a time. */
#include "command_line.h"
#include "check/check.h"

#include <math.h>
#include <string.h>

enum { POSITIONS = 64, LEVELS = 9, CELL = 6, LEFT = 34, TOP = 34, BOTTOM = 40, SIDE = POSITIONS * CELL };

/* The level of a weight is in the opacity of its cell. Colours follow the viewer's light or dark scheme. */
static const char style[] = "<style>.paper{fill:#ffffff}.ink{fill:#1f2933}.muted{fill:#5b6774}.frame{fill:none;"
                            "stroke:#c3ccd6}.more{fill:#2f6fb0}.less{fill:#b3261e}text{font:12px sans-serif}"
                            "@media (prefers-color-scheme: dark){.paper{fill:#10161d}.ink{fill:#e6edf3}.muted{"
                            "fill:#9aa7b4}.frame{stroke:#3a4653}.more{fill:#7ab8ff}.less{fill:#ff8a80}}</style>\n";

static struct tensor *find(struct sample *s, const char *name)
{
    for (int t = 0; t < s->tensors; t++)
        if (strcmp(s->tensor[t].name, name) == 0) return &s->tensor[t];
    return NULL;
}

/* Makes rows that change slowly from position to position, as rows of a real text do. So a picture shows distances. */
static void draw_rows(double *x, int64_t elements, const double *near, uint64_t *state)
{
    for (int64_t i = 0; i < POSITIONS; i++)
        for (int64_t d = 0; d < elements; d++) {
            const double before = near ? near[i * elements + d] : i ? x[(i - 1) * elements + d] : 0;
            x[i * elements + d] = 0.8 * before + 0.6 * check_normal(state);
        }
}

/* Computes weight[i * POSITIONS + j], the weight of value j in row i. Returns a message, or NULL. */
static const char *find_weights(const struct unit *p, double *weight)
{
    const struct problem_size size = {1, 1, 1, POSITIONS, POSITIONS};
    struct sample *const s = arena_alloc(p->arena, sizeof *s);
    struct graph *const g = graph_copy(p->graph);
    const int64_t columns = p->spec->value_dim;
    double *const out = arena_alloc(p->arena, (size_t)(POSITIONS * columns) * sizeof *out);
    uint64_t state = 1;
    check_fill(s, p, &size, true, &state);
    const struct tensor *const q = find(s, "q"), *const k = find(s, "k"), *const v = find(s, "v");
    draw_rows(k->data, p->spec->head_dim, NULL, &state);
    draw_rows(q->data, p->spec->head_dim, k->data, &state);
    g->outputs = 1; /* keeps only the output `out`, without statistics */
    for (int64_t from = 0; from < POSITIONS; from += columns) {
        for (int64_t j = 0; j < POSITIONS; j++)
            for (int64_t e = 0; e < columns; e++) v->data[j * columns + e] = j == from + e;
        const char *const wrong = graph_eval(g, &size, s->tensor, s->tensors, out);
        if (wrong) return wrong;
        for (int64_t i = 0; i < POSITIONS; i++)
            for (int64_t e = 0; e < columns && from + e < POSITIONS; e++) {
                if (!isfinite(out[i * columns + e])) return "the weights of the random arrays overflow";
                weight[i * POSITIONS + from + e] = out[i * columns + e];
            }
    }
    return NULL;
}

/* Adds one SVG path with all cells of one colour and level. */
static void draw_level(const double *weight, bool negative, int level, struct text *out)
{
    bool any = false;
    for (int i = 0; i < POSITIONS; i++) {
        const double *const row = weight + i * POSITIONS;
        const double largest = check_largest(row, POSITIONS);
        for (int j = 0; j < POSITIONS; j++) {
            if (row[j] == 0 || (row[j] < 0) != negative || ceil(sqrt(fabs(row[j]) / largest) * (double)LEVELS) != level)
                continue;
            if (!any)
                text_add(out, "<path class=\"%s\" opacity=\"%.2f\" d=\"", negative ? "less" : "more",
                         0.1 + 0.9 * level / (double)LEVELS);
            any = true;
            text_add(out, "M%d %dh%dv%dh-%dz", LEFT + j * CELL, TOP + i * CELL, CELL, CELL, CELL);
        }
    }
    if (any) text_add(out, "\"/>\n");
}

static void draw(const char *name, const double *weight, struct text *out)
{
    const int width = LEFT + SIDE + 12, height = TOP + SIDE + BOTTOM;
    text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
             width, height, width, height);
    text_add(out, "<title>The weights of %s: 64 queries from top to bottom, 64 keys from left to right</title>\n%s",
             name, style);
    text_add(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", width, height);
    text_add(out, "<text class=\"ink\" x=\"%d\" y=\"20\">%s</text>\n", LEFT, name);
    for (int level = 1; level <= LEVELS; level++) {
        draw_level(weight, false, level, out);
        draw_level(weight, true, level, out);
    }
    text_add(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP, SIDE, SIDE);
    text_add(out,
             "<text class=\"muted\" x=\"%d\" y=\"%d\">keys 0 to 63; strong: large in its row; red: negative</text>\n",
             LEFT, TOP + SIDE + 24);
    text_add(out, "<text class=\"muted\" transform=\"translate(22 %d) rotate(-90)\">queries</text>\n</svg>\n",
             TOP + SIDE / 2 + 24);
}

int command_show_picture(const struct options *o)
{
    /* Here the values are independent of the keys, even if the spec uses the keys as values. */
    static const char *const given[] = {"shape.values=given"};
    struct options changed = *o;
    changed.set = given;
    changed.sets = 1;
    changed.emit = 0;
    if (o->files != 1) {
        complain(o, "--picture takes one spec");
        return STATUS_USAGE;
    }
    enum status status;
    struct unit *const p = unit_make(o->file[0], &changed, &status);
    if (!p) return (int)status;
    double *const weight = arena_alloc(p->arena, sizeof(double[POSITIONS * POSITIONS]));
    const char *const wrong = find_weights(p, weight);
    struct text svg = {0};
    if (wrong) {
        complain(o, "%s: %s", p->spec->name, wrong);
        status = STATUS_INPUT;
    } else {
        draw(p->spec->name, weight, &svg);
        status = strcmp(o->picture, "-") == 0 ? table_put(o, &svg) : write_whole(o, o->picture, svg.data, svg.length);
    }
    text_free(&svg);
    unit_free(p);
    return (int)status;
}
