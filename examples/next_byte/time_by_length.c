/* How the time of one call grows with the length, for two kernels that meet every pair and two that carry a state: a table, and a plot as SVG.
   One head, causal, on the vectors of the demo's text, over and over where it is too short. A kernel whose next run would be long is
   measured no further: the rest is extrapolated, and said to be. */
#include "next_byte.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "plot.h"
#include "polynomial_4.h"
#include "polysketch_32_local.h"
#include "polysketch_64_local.h"
#include "softmax_16.h"

enum { LEAST_LENGTH = 1024, MOST_LENGTH = 1 << 20, DEFAULT_LENGTH = 1 << 18 };

static const struct series {
    const struct attn_kernel *kernel;
    const char *says, *color;
    double width;
    bool quadratic;
} all[] = {
    {&softmax_16_kernel, "softmax", "#b3261e", 4.8, true},
    {&polynomial_4_kernel, "polynomial, degree 4", "#d9822b", 2.2, true},
    {&polysketch_64_local_kernel, "polysketch, r = 64", "#2f6fb0", 2.6, false},
    {&polysketch_32_local_kernel, "polysketch, r = 32", "#16857a", 2.6, false},
};
enum { SERIES = sizeof all / sizeof all[0] };

struct request {
    const char *svg;
    int64_t most, longest, threads;
};

static void usage(FILE *out)
{
    fprintf(out,
            "usage: time_by_length [FILE.svg] [--most N] [--longest SECONDS] [--threads N]\n\n"
            "Measures kernels at %d, %d, … positions, prints a table and draws it in FILE.svg if one is named.\n"
            "  --most N            the last length (default %d, up to %d)\n"
            "  --longest SECONDS   kernels that meet every pair are measured while a run is expected to take no more (default 5)\n"
            "  --threads N         threads of the kernels (default: all)\n",
            LEAST_LENGTH, 2 * LEAST_LENGTH, DEFAULT_LENGTH, MOST_LENGTH);
}

/* 0, or the exit status. */
static int read_arguments(int argc, char **argv, struct request *r)
{
    const struct {
        const char *name;
        int64_t least, most, *value;
    } options[] = {{"--most", 2 * LEAST_LENGTH, MOST_LENGTH, &r->most}, {"--longest", 0, 3600, &r->longest}, {"--threads", 1, 1024, &r->threads}};
    for (int k = 1; k < argc; k++) {
        const char *a = argv[k];
        if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
            usage(stdout);
            exit(0);
        }
        int option = 0, count = sizeof options / sizeof options[0];
        while (option < count && strcmp(a, options[option].name) != 0) option++;
        if (option < count) {
            if (read_number(argv[++k], options[option].least, options[option].most, options[option].value)) continue;
            fprintf(stderr, "time_by_length: error: %s takes a number from %" PRId64 " to %" PRId64 "\n", a, options[option].least, options[option].most);
            return 2;
        }
        if (a[0] == '-' && a[1]) {
            fprintf(stderr, "time_by_length: error: there is no option '%s'\n", a);
            usage(stderr);
            return 2;
        }
        if (r->svg) {
            fprintf(stderr, "time_by_length: error: one file at a time: '%s' and '%s'\n", r->svg, a);
            return 2;
        }
        r->svg = a;
    }
    return 0;
}

/* `length` bytes of the text, from its beginning again where it ends; NULL after saying why not. */
static unsigned char *read_text(const char *path, int64_t length)
{
    FILE *in = fopen(path, "rb");
    unsigned char *byte = in ? malloc((size_t)length) : NULL;
    size_t got = byte ? fread(byte, 1, (size_t)length, in) : 0;
    bool bad = !in || (byte && (ferror(in) || !got));
    if (bad) fprintf(stderr, "time_by_length: error: cannot read '%s': %s\n", path, errno ? strerror(errno) : "it is empty");
    if (in && !byte) fprintf(stderr, "time_by_length: error: out of memory\n");
    if (in) fclose(in);
    if (!byte || bad) {
        free(byte);
        return NULL;
    }
    for (size_t i = got; i < (size_t)length; i++) byte[i] = byte[i - got];
    return byte;
}

/* The best of up to fifty runs, which end after half a second but not before there were two, unless one is long. False after saying why. */
static bool measure(const struct series *s, const struct text_vectors *t, int64_t n, int threads, float *out, double *seconds)
{
    struct prepared p;
    int error = kernel_prepare(&p, s->kernel, n, threads, 1);
    double begun = attn_seconds();
    *seconds = 1e30;
    for (int run = 0; !error && run < 50; run++) {
        double spent = attn_seconds() - begun;
        if (spent > 2 || (run >= 2 && spent > 0.5)) break;
        error = kernel_run(&p, t->context, t->context, t->value, out, seconds);
    }
    kernel_release(&p);
    if (error) fprintf(stderr, "time_by_length: error: %s: %s\n", s->kernel->name, attn_strerror(error));
    return !error;
}

static bool measure_curve(const struct series *s, const struct text_vectors *t, const struct request *r, float *out, struct curve *c)
{
    *c = (struct curve){.name = s->says, .color = s->color, .width = s->width};
    for (int64_t n = LEAST_LENGTH; n <= r->most; n *= 2) {
        int k = c->points++;
        c->length[k] = (double)n;
        /* Twice as long: four times the pairs. */
        double expected = k && s->quadratic ? 4 * c->seconds[k - 1] : 0;
        if (c->measured == k && expected <= (double)r->longest) {
            fprintf(stderr, "%s, %" PRId64 " positions\n", s->says, n);
            if (!measure(s, t, n, (int)r->threads, out, &c->seconds[k])) return false;
            c->measured++;
        } else {
            c->seconds[k] = expected;
        }
    }
    return true;
}

static void print_table(const struct curve *curve)
{
    char text[32];
    printf("%-10s", "length");
    for (int k = 0; k < SERIES; k++) printf(" %22s", curve[k].name);
    putchar('\n');
    for (int n = 0; n < curve[0].points; n++) {
        printf("%-10.0f", curve[0].length[n]);
        for (int k = 0; k < SERIES; k++) {
            snprintf(text, sizeof text, "%s%.2f ms", n < curve[k].measured ? "" : "~", 1e3 * curve[k].seconds[n]);
            printf(" %22s", text);
        }
        putchar('\n');
    }
}

/* A file beside the one that is wanted, which becomes it when it is whole; opened before anything is measured. */
struct picture {
    char *path;
    FILE *out;
};

static bool picture_open(struct picture *p, const char *path)
{
    if (asprintf(&p->path, "%s.part", path) < 0) p->path = NULL;
    p->out = p->path ? fopen(p->path, "w") : NULL;
    if (!p->out) fprintf(stderr, "time_by_length: error: cannot write '%s': %s\n", path, strerror(errno));
    return p->out;
}

static bool picture_write(struct picture *p, const char *path, const struct curve *curve, int threads)
{
    char first[160];
    snprintf(first, sizeof first, "One head of %d, causal, float32, %d thread%s. Softmax and the polynomial meet every pair of positions;", HEAD_DIM, threads,
             threads == 1 ? "" : "s");
    const char *const subtitle[2] = {first, "the sketches of degree 4 carry a state, and are exact inside blocks of 256."};
    plot_svg(p->out, curve, SERIES, "Time of attention against the length of the text", subtitle);
    bool failed = ferror(p->out);
    failed |= fclose(p->out) != 0;
    p->out = NULL;
    if (!failed && !rename(p->path, path)) return true;
    fprintf(stderr, "time_by_length: error: cannot write '%s': %s\n", path, strerror(errno));
    return false;
}

/* What was not written whole goes away. */
static void picture_close(struct picture *p, bool whole)
{
    if (p->out) fclose(p->out);
    if (p->path && !whole) unlink(p->path);
    free(p->path);
}

int main(int argc, char **argv)
{
    struct request r = {.most = DEFAULT_LENGTH, .longest = 5};
    int status = read_arguments(argc, argv, &r);
    if (status) return status;
#ifdef _OPENMP
    if (!r.threads) r.threads = omp_get_max_threads();
#else
    r.threads = 1;
#endif
    struct text_vectors t = {.length = r.most};
    unsigned char *byte = read_text("/usr/share/common-licenses/GPL-3", r.most);
    if (!byte) return 1;
    t.byte = byte;
    struct picture picture = {0};
    bool drawn = false;
    float *out = attn_alloc(sizeof(float) * HEAD_DIM * (size_t)t.length);
    struct curve curve[SERIES];
    status = 3;
    if (!out || !text_embed(&t)) {
        fprintf(stderr, "time_by_length: error: out of memory\n");
        goto done;
    }
    if (r.svg && !picture_open(&picture, r.svg)) goto done;
    for (int k = 0; k < SERIES; k++)
        if (!measure_curve(&all[k], &t, &r, out, &curve[k])) goto done;
    printf("One call, one head of %d, causal, float32, %d thread%s; ~ is extrapolated with the square of the length.\n\n", HEAD_DIM, (int)r.threads,
           r.threads == 1 ? "" : "s");
    print_table(curve);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "time_by_length: error: cannot write: %s\n", strerror(errno));
        goto done;
    }
    drawn = r.svg && picture_write(&picture, r.svg, curve, (int)r.threads);
    if (drawn || !r.svg) status = 0;
done:
    picture_close(&picture, drawn);
    text_release(&t);
    attn_free(out);
    free(byte);
    return status;
}
