/* Draws time against length as SVG, on logarithmic axes.
   - Each entry, number of heads and number of threads has a curve, with a label at its right end.
   - If a call would exceed --limit, the curve is dashed and shows the expected time.
   - Colours follow the viewer's light or dark scheme. */
#include "bench.h"
#include "request.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLOT = 560, LEFT = 92, TOP = 84, BOTTOM = 62, COLORS = 8, MAX_CURVES = 24 };
static const double LABEL = 34; /* the minimum vertical distance between two labels of curves */

static const char style[] = "<style>\n"
                            ".paper{fill:#ffffff}.ink{fill:#1f2933}.muted{fill:#5b6774}.grid{stroke:#e3e8ee}.axis{"
                            "stroke:#5b6774;fill:none}.dot{stroke:#ffffff}\n"
                            ".s0{stroke:#b3261e}.s1{stroke:#b8680f}.s2{stroke:#2f6fb0}.s3{stroke:#16857a}\n"
                            ".s4{stroke:#7a4fb5}.s5{stroke:#5f7a1f}.s6{stroke:#b0307a}.s7{stroke:#4a5a6a}\n"
                            ".f0{fill:#b3261e}.f1{fill:#b8680f}.f2{fill:#2f6fb0}.f3{fill:#16857a}\n"
                            ".f4{fill:#7a4fb5}.f5{fill:#5f7a1f}.f6{fill:#b0307a}.f7{fill:#4a5a6a}\n"
                            "@media (prefers-color-scheme: dark){\n"
                            ".paper{fill:#10161d}.ink{fill:#e6edf3}.muted{fill:#9aa7b4}.grid{stroke:#26303b}.axis{"
                            "stroke:#9aa7b4}.dot{stroke:#10161d}\n"
                            ".s0{stroke:#ff8a80}.s1{stroke:#ffb454}.s2{stroke:#7ab8ff}.s3{stroke:#4fd1c0}\n"
                            ".s4{stroke:#c3a1ff}.s5{stroke:#b6d66a}.s6{stroke:#ff8ac4}.s7{stroke:#b4c2d0}\n"
                            ".f0{fill:#ff8a80}.f1{fill:#ffb454}.f2{fill:#7ab8ff}.f3{fill:#4fd1c0}\n"
                            ".f4{fill:#c3a1ff}.f5{fill:#b6d66a}.f6{fill:#ff8ac4}.f7{fill:#b4c2d0}\n"
                            "}\n</style>\n";

struct curve {
    struct text name;
    int points, measured; /* the first `measured` times were measured. The other times are expected */
    double length[MAX_LENGTHS], seconds[MAX_LENGTHS];
};
struct scale {
    double min, max, from, to; /* a logarithmic axis: the value min is at pixel `from`, the value max at pixel `to` */
};
struct picture {
    const struct bench *b;
    struct text *out;
    int curves, height, right;
    struct curve curve[MAX_CURVES];
    struct scale x, y;
    double place[MAX_CURVES];
    bool expected; /* at least one curve is dashed */
};

static double at(const struct scale *s, double value)
{
    return s->from + (s->to - s->from) * log(value / s->min) / log(s->max / s->min);
}

static void add_escaped(struct text *out, const char *text)
{
    for (; *text; text++) {
        const char *as = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (as)
            text_add(out, "%s", as);
        else
            text_append(out, text, 1);
    }
}

static void text_at(struct text *out, double x, double y, const char *attributes, const char *text)
{
    text_add(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    add_escaped(out, text);
    text_add(out, "</text>\n");
}

/* ---- the curves of the plot ---- */

/* Adds the curve of an entry. Its points begin at index `first` and have the same heads and threads. */
static void gather(struct picture *p, int entry, int first)
{
    const struct bench *b = p->b;
    if (p->curves == MAX_CURVES) return;
    struct curve *c = &p->curve[p->curves];
    for (int k = first; k < first + b->request.lengths.count && k < b->begun; k++) {
        const struct bench_result *r = &b->point[k].result[entry];
        if (r->best <= 0 || (r->measured && c->measured < c->points)) continue;
        c->length[c->points] = (double)b->point[k].length;
        c->seconds[c->points++] = r->best;
        c->measured += r->measured;
        p->expected |= !r->measured;
    }
    if (c->points == 0) return;
    bench_series_name(b, entry, &b->point[first], &c->name);
    p->curves++;
}

static void set_scales(struct picture *p)
{
    double min = INFINITY, max = 0;
    p->x = (struct scale){INFINITY, 0, LEFT, LEFT + PLOT};
    for (int k = 0; k < p->curves; k++) {
        const struct curve *c = &p->curve[k];
        for (int n = 0; n < c->points; n++) {
            p->x.min = fmin(p->x.min, c->length[n]);
            p->x.max = fmax(p->x.max, c->length[n]);
            min = fmin(min, c->seconds[n]);
            max = fmax(max, c->seconds[n]);
        }
    }
    if (p->curves == 0) p->x.min = p->x.max = min = max = 1;
    if (p->x.min == p->x.max) {
        p->x.min /= 1.5;
        p->x.max *= 1.5;
    }
    p->height = TOP + BOTTOM + 400;
    if (p->height < TOP + BOTTOM + p->curves * (int)LABEL) p->height = TOP + BOTTOM + p->curves * (int)LABEL;
    p->y = (struct scale){pow(10, floor(log10(min) + 1e-9)), pow(10, ceil(log10(max) - 1e-9)), p->height - BOTTOM, TOP};
    if (p->y.min == p->y.max) p->y.max *= 10;
}

/* ---- axes ---- */

static void length_name(double n, char *text, size_t size)
{
    if (n >= 1048576 && fmod(n, 1048576) == 0)
        snprintf(text, size, "%.0fM", n / 1048576);
    else if (n >= 1024 && fmod(n, 1024) == 0)
        snprintf(text, size, "%.0fk", n / 1024);
    else
        snprintf(text, size, "%.0f", n);
}

/* Draws ticks at the requested lengths and at times of 10^k seconds. Labels without room are left out. */
static void draw_axes(const struct picture *p)
{
    const struct lengths *lengths = &p->b->request.lengths;
    struct text *out = p->out;
    char text[32];
    double last = -INFINITY;
    for (int k = 0; k < lengths->count; k++) {
        double n = (double)lengths->length[k], x = at(&p->x, n);
        if (n < p->x.min || n > p->x.max || x - last < 44) continue;
        last = x;
        text_add(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, p->y.from, x,
                 p->y.to);
        length_name(n, text, sizeof text);
        text_at(out, x, p->y.from + 20, "text-anchor=\"middle\" class=\"muted\"", text);
    }
    for (int power = 0; p->y.min * pow(10, power) < p->y.max * 1.001; power++) {
        double s = p->y.min * pow(10, power), y = at(&p->y, s);
        text_add(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", p->x.from, y, p->x.to,
                 y);
        if (s < 0.9995)
            snprintf(text, sizeof text,
                     s < 0.9995e-6   ? "%.0f ns"
                     : s < 0.9995e-3 ? "%.0f µs"
                                     : "%.0f ms",
                     s * (s < 0.9995e-6   ? 1e9
                          : s < 0.9995e-3 ? 1e6
                                          : 1e3));
        else
            snprintf(text, sizeof text, "%.0f s", s);
        text_at(out, p->x.from - 10, y + 4.5, "text-anchor=\"end\" class=\"muted\"", text);
    }
    text_add(out, "<path class=\"axis\" stroke-width=\"1.2\" d=\"M%.1f,%.1f V%.1f H%.1f\"/>\n", p->x.from, p->y.to,
             p->y.from, p->x.to);
    text_at(out, (p->x.from + p->x.to) / 2, p->height - 16, "text-anchor=\"middle\" class=\"ink\"",
            p->b->o->decode ? "position: tokens before it (1k = 1024)" : "length: queries and keys (1k = 1024)");
    text_add(out,
             "<text transform=\"translate(26,%.1f) rotate(-90)\" text-anchor=\"middle\" class=\"ink\">time of one "
             "%s</text>\n",
             (p->y.from + p->y.to) / 2, p->b->o->decode ? "token" : "call");
}

/* ---- curves and their labels ---- */

static void draw_line(const struct picture *p, int k, int from, int to, const char *dashes)
{
    const struct curve *c = &p->curve[k];
    if (from < 0 || to - from < 1) return;
    /* earlier curves are wider, so later curves do not hide them */
    double width = 2.2 + 0.8 * (p->curves - 1 - k);
    text_add(p->out,
             "<polyline class=\"s%d\" fill=\"none\" stroke-width=\"%.1f\" stroke-linejoin=\"round\"%s points=\"",
             k % COLORS, width > 4.6 ? 4.6 : width, dashes);
    for (int n = from; n <= to; n++)
        text_add(p->out, "%s%.1f,%.1f", n > from ? " " : "", at(&p->x, c->length[n]), at(&p->y, c->seconds[n]));
    text_add(p->out, "\"/>\n");
}

static void draw_curve(const struct picture *p, int k)
{
    const struct curve *c = &p->curve[k];
    draw_line(p, k, c->measured > 0 ? c->measured - 1 : 0, c->points - 1, " stroke-dasharray=\"7 5\"");
    draw_line(p, k, 0, c->measured - 1, "");
    for (int n = 0; n < c->measured; n++)
        text_add(p->out, "<circle class=\"f%d dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.2\" stroke-width=\"1.4\"/>\n",
                 k % COLORS, at(&p->x, c->length[n]), at(&p->y, c->seconds[n]));
}

/* Places each label at the height of its curve's right end. Moves labels apart if they would overlap. */
static void place_names(struct picture *p, int *order)
{
    for (int k = 0; k < p->curves; k++) {
        int m = k;
        double end = p->curve[k].seconds[p->curve[k].points - 1];
        for (; m > 0 && p->curve[order[m - 1]].seconds[p->curve[order[m - 1]].points - 1] < end; m--)
            order[m] = order[m - 1];
        order[m] = k;
    }
    for (int m = 0; m < p->curves; m++)
        p->place[m] = at(&p->y, p->curve[order[m]].seconds[p->curve[order[m]].points - 1]);
    for (int round = 0; round < 400; round++)
        for (int m = 0; m < p->curves; m++) {
            double min = p->y.to + LABEL / 2 + m * LABEL - 8, max = p->y.from - (p->curves - 1 - m) * LABEL - 8;
            p->place[m] = p->place[m] < min - LABEL ? min - LABEL : p->place[m] > max ? max : p->place[m];
            double lacks = m + 1 < p->curves ? LABEL - (p->place[m + 1] - p->place[m]) : 0;
            if (lacks <= 0) continue;
            p->place[m] -= lacks / 2;
            p->place[m + 1] += lacks / 2;
        }
}

static void draw_names(const struct picture *p, const int *order)
{
    for (int m = 0; m < p->curves; m++) {
        const struct curve *c = &p->curve[order[m]];
        int last = c->points - 1;
        char text[96], time[32], length[32], class[48];
        table_seconds(c->seconds[last], time, sizeof time);
        length_name(c->length[last], length, sizeof length);
        snprintf(text, sizeof text, c->measured > last ? "%s at %s" : "%s at %s, expected", time, length);
        text_add(p->out, "<path class=\"s%d\" stroke-width=\"1\" opacity=\"0.6\" d=\"M%.1f,%.1f L%.1f,%.1f\"/>\n",
                 order[m] % COLORS, at(&p->x, c->length[last]) + 6, at(&p->y, c->seconds[last]), p->x.to + 20,
                 p->place[m]);
        snprintf(class, sizeof class, "font-weight=\"600\" class=\"f%d\"", order[m] % COLORS);
        text_at(p->out, p->x.to + 26, p->place[m] - 1, class, c->name.data);
        text_at(p->out, p->x.to + 26, p->place[m] + 14, "font-size=\"12\" class=\"muted\"", text);
    }
}

/* Appends the subtitle, which names what all curves share, such as "8 heads of 64, f32, 2 threads". */
static void add_subtitle(const struct picture *p, struct text *out)
{
    const struct bench_request *q = &p->b->request;
    const struct spec *first = p->b->unit[0]->spec;
    bool alike = true;
    for (int e = 1; e < p->b->entries; e++) {
        const struct spec *spec = p->b->unit[e]->spec;
        alike &= spec->dtype == first->dtype && spec->head_dim == first->head_dim &&
                 spec->value_dim == first->value_dim;
    }
    if (q->heads == 1) text_add(out, "%lld head%s", (long long)q->head[0].heads, q->head[0].heads == 1 ? "" : "s");
    if (q->heads == 1 && alike) text_add(out, " of %lld", (long long)first->head_dim);
    if (q->heads == 1) text_add(out, ", ");
    if (q->batch > 1) text_add(out, "batch %lld, ", (long long)q->batch);
    if (alike) text_add(out, "%s, ", dtype_name(first->dtype));
    if (q->threads == 1) text_add(out, "%d thread%s, ", q->thread[0], q->thread[0] == 1 ? "" : "s");
    text_add(out, "best of several %s, %s", p->b->o->decode ? "runs" : "calls", p->b->target->name);
    if (p->expected) text_add(out, "; dashes: expected, not measured");
}

void bench_plot(const struct bench *b, struct text *out)
{
    struct picture *p = calloc(1, sizeof *p);
    if (!p) return;
    int order[MAX_CURVES];
    size_t longest = 18;
    const char *title = b->o->decode ? "Time of a token against position" : "Time of attention against length";
    p->b = b;
    p->out = out;
    for (int k = 0; k < b->begun; k += b->request.lengths.count)
        for (int e = 0; e < b->entries; e++) gather(p, e, k);
    for (int k = 0; k < p->curves; k++)
        if (p->curve[k].name.length > longest) longest = p->curve[k].name.length;
    p->right = 40 + (int)(8.2 * (double)longest);
    set_scales(p);
    int width = LEFT + PLOT + p->right;
    text_add(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
             "font-size=\"13.5\" role=\"img\"\n",
             width, p->height, width, p->height);
    text_add(out, "  font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\">\n");
    text_add(out, "<title>%s</title>\n%s", title, style);
    text_add(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width, p->height);
    text_at(out, 24, 34, "font-size=\"18\" font-weight=\"600\" class=\"ink\"", title);
    struct text subtitle = {0};
    add_subtitle(p, &subtitle);
    text_at(out, 24, 57, "class=\"muted\"", subtitle.data);
    text_free(&subtitle);
    draw_axes(p);
    for (int k = 0; k < p->curves; k++) draw_curve(p, k);
    place_names(p, order);
    draw_names(p, order);
    text_add(out, "</svg>\n");
    for (int k = 0; k < p->curves; k++) text_free(&p->curve[k].name);
    free(p);
}
