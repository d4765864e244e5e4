/* An SVG of curves on logarithmic axes, each named at its right end. */
#include "plot.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 880, HEIGHT = 540, LEFT = 96, RIGHT = 236, TOP = 104, BOTTOM = 64 };
static const double label_height = 36;
#define INK "#1f2933"
#define MUTED "#5b6774"
#define GRID "#e3e8ee"
#define PAPER "#ffffff"

struct scale {
    double least, most, from, to; /* values, and the pixels they lie at */
    double step;                  /* from one grid line to the next, as a factor */
};

static double at(const struct scale *s, double value)
{
    return s->from + (s->to - s->from) * (log(value) - log(s->least)) / (log(s->most) - log(s->least));
}

/* The k-th line of the grid; 0 past the last. */
static double tick(const struct scale *s, int k)
{
    double value = s->least * pow(s->step, k);
    return value <= s->most * 1.001 ? value : 0;
}

void plot_seconds(char *text, size_t size, double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}};
    int k = seconds >= 0.9995 ? 0 : seconds >= 0.9995e-3 ? 1 : 2;
    double value = seconds / units[k].unit;
    snprintf(text, size, "%.*f %s", value < 9.95 ? 1 : 0, value, units[k].name);
}

static void escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *as = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (as)
            fputs(as, out);
        else
            putc(*text, out);
    }
}

static void text_at(FILE *out, double x, double y, const char *attributes, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    escaped(out, text);
    fputs("</text>\n", out);
}

static void axes(FILE *out, const struct scale *x, const struct scale *y)
{
    char text[32];
    double n, s;
    fprintf(out, "<g stroke=\"" GRID "\" stroke-width=\"1\">\n");
    for (int k = 0; (n = tick(x, k)) > 0; k++) fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", at(x, n), y->from, at(x, n), y->to);
    for (int k = 0; (s = tick(y, k)) > 0; k++) fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x->from, at(y, s), x->to, at(y, s));
    fputs("</g>\n", out);
    fprintf(out, "<path d=\"M%.1f,%.1f V%.1f H%.1f\" fill=\"none\" stroke=\"" MUTED "\" stroke-width=\"1.2\"/>\n", x->from, y->to, y->from, x->to);
    for (int k = 0; (n = tick(x, k)) > 0; k++) {
        snprintf(text, sizeof text, "%.0fk", n / 1024);
        text_at(out, at(x, n), y->from + 20, "text-anchor=\"middle\" fill=\"" MUTED "\"", text);
    }
    for (int k = 0; (s = tick(y, k)) > 0; k++) {
        if (s < 0.9995)
            snprintf(text, sizeof text, s < 0.9995e-3 ? "%.0f µs" : "%.0f ms", s * (s < 0.9995e-3 ? 1e6 : 1e3));
        else
            snprintf(text, sizeof text, "%.0f s", s);
        text_at(out, x->from - 10, at(y, s) + 4.5, "text-anchor=\"end\" fill=\"" MUTED "\"", text);
    }
    text_at(out, (x->from + x->to) / 2, HEIGHT - 18, "text-anchor=\"middle\" fill=\"" INK "\"", "length: queries and keys (1k = 1024)");
    fprintf(out, "<text transform=\"translate(28,%.1f) rotate(-90)\" text-anchor=\"middle\" fill=\"" INK "\">time of one call</text>\n", (y->from + y->to) / 2);
}

static void line(FILE *out, const struct curve *c, int from, int to, const struct scale *x, const struct scale *y, const char *dashes)
{
    if (to - from < 1) return;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" stroke-linejoin=\"round\"%s points=\"", c->color, c->width, dashes);
    for (int k = from; k <= to; k++) fprintf(out, "%s%.1f,%.1f", k > from ? " " : "", at(x, c->length[k]), at(y, c->seconds[k]));
    fputs("\"/>\n", out);
}

static void draw(FILE *out, const struct curve *c, const struct scale *x, const struct scale *y)
{
    line(out, c, c->measured - 1, c->points - 1, x, y, " stroke-dasharray=\"7 5\"");
    line(out, c, 0, c->measured - 1, x, y, "");
    for (int k = 0; k < c->measured; k++)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"" PAPER "\" stroke-width=\"1.4\"/>\n", at(x, c->length[k]),
                at(y, c->seconds[k]), c->width / 2 + 2.9, c->color);
}

/* Names at the right ends, from the top down, moved apart where they would meet. */
static void names(FILE *out, const struct curve *curve, int curves, const struct scale *x, const struct scale *y)
{
    int order[MOST_CURVES];
    double place[MOST_CURVES];
    for (int k = 0; k < curves; k++) {
        int m = k;
        for (; m > 0 && curve[order[m - 1]].seconds[curve[order[m - 1]].points - 1] < curve[k].seconds[curve[k].points - 1]; m--) order[m] = order[m - 1];
        order[m] = k;
    }
    for (int m = 0; m < curves; m++) place[m] = at(y, curve[order[m]].seconds[curve[order[m]].points - 1]);
    for (int round = 0; round < 100; round++)
        for (int m = 0; m + 1 < curves; m++) {
            double lacks = label_height - (place[m + 1] - place[m]);
            if (lacks <= 0) continue;
            place[m] -= lacks / 2;
            place[m + 1] += lacks / 2;
        }
    for (int m = 0; m < curves; m++) {
        const struct curve *c = &curve[order[m]];
        int last = c->points - 1;
        char text[96], time[32], style[96];
        plot_seconds(time, sizeof time, c->seconds[last]);
        snprintf(text, sizeof text, c->measured > last ? "%s at %.0fk" : "%s at %.0fk, extrapolated", time, c->length[last] / 1024);
        fprintf(out, "<path d=\"M%.1f,%.1f L%.1f,%.1f\" stroke=\"%s\" stroke-width=\"1\" opacity=\"0.6\"/>\n", at(x, c->length[last]) + 6,
                at(y, c->seconds[last]), x->to + 20, place[m], c->color);
        snprintf(style, sizeof style, "font-weight=\"600\" fill=\"%s\"", c->color);
        text_at(out, x->to + 26, place[m] - 1, style, c->name);
        text_at(out, x->to + 26, place[m] + 14, "font-size=\"12\" fill=\"" MUTED "\"", text);
    }
}

static void legend(FILE *out, double x, double y)
{
    fprintf(out, "<g stroke=\"" MUTED "\" stroke-width=\"2.4\"><line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x, y, x + 30, y);
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke-dasharray=\"7 5\"/></g>\n", x, y + 20, x + 30, y + 20);
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"" MUTED "\"/>\n", x + 15, y);
    text_at(out, x + 40, y + 4.5, "fill=\"" INK "\"", "measured");
    text_at(out, x + 40, y + 24.5, "fill=\"" INK "\"", "extrapolated: length squared");
}

void plot_svg(FILE *out, const struct curve *curve, int curves, const char *title, const char *const subtitle[2])
{
    struct scale x = {curve[0].length[0], curve[0].length[curve[0].points - 1], LEFT, WIDTH - RIGHT, 2}, y = {1, 1, HEIGHT - BOTTOM, TOP, 10};
    double least = curve[0].seconds[0], most = least;
    for (int k = 0; k < curves; k++) {
        least = fmin(least, curve[k].seconds[0]);
        most = fmax(most, curve[k].seconds[curve[k].points - 1]);
    }
    y.least = pow(10, floor(log10(least)));
    y.most = pow(10, ceil(log10(most)));
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-size=\"13.5\"\n", WIDTH, HEIGHT, WIDTH,
            HEIGHT);
    fputs("  font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\" role=\"img\">\n<title>", out);
    escaped(out, title);
    fprintf(out, "</title>\n<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"" PAPER "\"/>\n", WIDTH, HEIGHT);
    text_at(out, 24, 34, "font-size=\"18\" font-weight=\"600\" fill=\"" INK "\"", title);
    text_at(out, 24, 57, "fill=\"" MUTED "\"", subtitle[0]);
    text_at(out, 24, 76, "fill=\"" MUTED "\"", subtitle[1]);
    axes(out, &x, &y);
    for (int k = 0; k < curves; k++) draw(out, &curve[k], &x, &y);
    names(out, curve, curves, &x, &y);
    legend(out, x.from + 24, y.to + 22);
    fputs("</svg>\n", out);
}
