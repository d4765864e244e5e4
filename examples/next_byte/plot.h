/* Curves of time against length, both on a logarithmic scale, as a picture. */
#ifndef PLOT_H
#define PLOT_H

#include <stdbool.h>
#include <stdio.h>

enum { MOST_POINTS = 16, MOST_CURVES = 8 };

struct curve {
    const char *name, *color;
    double width; /* of the line: what lies below another is wider, to be seen */
    int points;
    double length[MOST_POINTS], seconds[MOST_POINTS]; /* length ascending */
    int measured;                                     /* the first so many points; the others are extrapolated */
};
/* Writes an SVG file with its own light background. `title` and the two lines of `subtitle` are plain text. */
void plot_svg(FILE *out, const struct curve *curve, int curves, const char *title, const char *const subtitle[2]);
/* 1.5 s, 230 ms, … */
void plot_seconds(char *text, size_t size, double seconds);

#endif
