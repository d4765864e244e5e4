/* Writes NAME.dot: the graph before the first pass, as a picture for Graphviz. */
#include "view.h"
#include "../driver/driver.h"
#include "../emit/emit.h"
#include "../support/support.h"

#include <limits.h>

/* Appends s to a quoted string, in left-aligned lines, which end at the first blank after this number of columns. */
static void add_lines(struct text *out, const char *s, int columns, const char *indent)
{
    for (int column = 0; *s; s++) {
        if (*s == '\n' || (*s == ' ' && column >= columns)) {
            text_add(out, "\\l%s", *s == '\n' ? "" : indent);
            column = 0;
            continue;
        }
        if (*s == '"' || *s == '\\') text_append(out, "\\", 1);
        text_append(out, s, 1);
        column++;
    }
}

static const char *look(enum graph_op op)
{
    switch (op) {
    case GRAPH_INPUT: return "shape=box, fillcolor=\"#cfe2f3\"";
    case GRAPH_PARAM: return "shape=box, fillcolor=\"#fce5cd\"";
    case GRAPH_TABLE: return "shape=box, fillcolor=\"#eeeeee\"";
    case GRAPH_MAP: return "shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\"";
    case GRAPH_CONTRACT: return "shape=box, style=\"rounded,filled\", fillcolor=\"#d9ead3\"";
    case GRAPH_REDUCE: return "shape=box, style=\"rounded,filled\", fillcolor=\"#fff2cc\"";
    case GRAPH_SELECT: return "shape=box, style=\"rounded,filled\", fillcolor=\"#d9d2e9\"";
    case GRAPH_SCAN:
    case GRAPH_SOLVE: return "shape=box, style=\"rounded,filled\", fillcolor=\"#ead1dc\"";
    }
    return "";
}

static void add_value(const struct graph *g, int number, struct text *out)
{
    const struct value *v = &g->value[number];
    struct text label = {0};
    text_add(&label, "%s [", formula_name(g, number));
    for (int k = 0; k < v->rank; k++) text_add(&label, "%s%s", k ? " " : "", g->module->axis[v->axes[k]].name);
    text_add(&label, "]\n");
    view_value(g, v, &label);
    text_add(out, "    n%d [%s, label=\"", number, look(v->op));
    add_lines(out, label.data, 44, "    ");
    text_add(out, "\\l\"];\n");
    text_free(&label);
    for (int k = 0; k < v->operands; k++) {
        bool again = false;
        for (int l = 0; l < k; l++) again |= v->operand[l].of == v->operand[k].of;
        if (!again) text_add(out, "    n%d -> n%d;\n", v->operand[k].of, number);
    }
    /* An array of ids is not an operand of the value, but the picture has an edge for it. */
    for (int k = 0; k < g->values && v->op != GRAPH_PARAM; k++) {
        const struct value *ids = &g->value[k];
        if (ids->op == GRAPH_PARAM && ids->integers &&
            ((v->where && expr_reads_ids(v->where)) || (v->op == GRAPH_MAP && expr_reads_ids(v->expr))))
            text_add(out, "    n%d -> n%d [style=dashed];\n", k, number);
    }
}

void emit_dot_file(const struct unit *p, struct text *out)
{
    const struct graph *g = p->graph;
    text_add(out, "// %s.dot, made by attnc %s: %s --emit dot\n", p->spec->name, ATTNC_VERSION, p->command);
    text_add(out, "// The graph before the first pass. To draw it: dot -Tsvg %s.dot -o %s.svg\n", p->spec->name,
             p->spec->name);
    text_add(out, "digraph %s {\n    graph [label=\"", p->spec->name);
    struct text title = {0};
    text_add(&title, "%s, %s", p->spec->name, dtype_name(p->spec->dtype));
    if (*p->spec->description) text_add(&title, "\n%.*s", (int)view_length(p->spec->description), p->spec->description);
    text_add(&title, "\naxes:");
    for (int k = 0; k < g->module->axes; k++)
        text_add(&title, "%s %s = %s", k ? "," : "", g->module->axis[k].name, emit_size(g->module, k));
    add_lines(out, title.data, INT_MAX, "");
    text_free(&title);
    text_add(out, "\\l\", labelloc=t, labeljust=l, fontname=\"sans-serif\", fontsize=12, ranksep=0.35];\n"
                  "    node [fontname=\"monospace\", fontsize=10, style=filled, margin=\"0.12,0.06\"];\n"
                  "    edge [arrowsize=0.6];\n");
    for (int v = 0; v < g->values; v++) add_value(g, v, out);
    text_add(out, "    out [shape=box, fillcolor=\"#cfe2f3\", label=\"out\"];\n    n%d -> out;\n}\n",
             g->output[0].value);
}
