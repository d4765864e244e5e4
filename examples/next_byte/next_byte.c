/* Predicts each byte of a text from the text before it, by strictly causal attention in four kernels that attnc made, and says how good, how fast
   and how exact each is. Position i asks with the six bytes before it; every earlier position answers with the byte that followed its own six. */
#include "next_byte.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "polynomial_2.h"
#include "polynomial_4.h"
#include "polynomial_8.h"
#include "softmax_16.h"

enum { SAMPLED_ROWS = 64, LEAST_BYTES = 256, MOST_BYTES = 1 << 20, DEFAULT_BYTES = 32768, SHOWN_LINES = 5 };

extern const char softmax_16_graph[], polynomial_2_graph[], polynomial_4_graph[], polynomial_8_graph[];

static const struct row {
    const struct attn_kernel *kernel;
    const char *says, *graph;
} rows[] = {
    {&softmax_16_kernel, "softmax, scale 16", softmax_16_graph},
    {&polynomial_2_kernel, "polynomial, degree 2", polynomial_2_graph},
    {&polynomial_4_kernel, "polynomial, degree 4", polynomial_4_graph},
    {&polynomial_8_kernel, "polynomial, degree 8", polynomial_8_graph},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

struct outcome {
    double accuracy, seconds, error;
    unsigned char *guess;
};

/* ---- progress, on standard error ---- */

static bool on_terminal;
static char step[96];

static void progress(const char *text)
{
    if (on_terminal)
        fprintf(stderr, "\r\033[K%s", text);
    else
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
}

static void progress_rows(int done, int of)
{
    char text[160];
    if (!on_terminal && done != of) return;
    snprintf(text, sizeof text, "%s: interpreted %d of %d rows", step, done, of);
    progress(text);
}

static void progress_clear(void)
{
    if (on_terminal) fputs("\r\033[K", stderr);
}

static void interrupted(int number)
{
    static const char text[] = "\nnext_byte: stopped\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(128 + number);
}

/* ---- the command line ---- */

struct request {
    const char *file;
    int64_t bytes;
    bool bytes_given, text;
    int threads;
};

static void usage(FILE *out)
{
    fprintf(out,
            "usage: next_byte [FILE] [--bytes N] [--threads N] [--no-text]\n\n"
            "Predicts each byte of FILE (default /usr/share/common-licenses/GPL-3, its first %d bytes) from those before it.\n"
            "  --bytes N     the first N bytes, %d to %d\n"
            "  --threads N   threads of the kernels (default: all)\n"
            "  --no-text     only the table\n",
            DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES);
}

static bool number(const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    long long n = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || n < least || n > most) return false;
    *value = n;
    return true;
}

/* 0, or the exit status. */
static int read_arguments(int argc, char **argv, struct request *r)
{
    int64_t n;
    for (int k = 1; k < argc; k++) {
        const char *a = argv[k];
        if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
            usage(stdout);
            exit(0);
        }
        if (!strcmp(a, "--bytes")) {
            if (!number(argv[++k], LEAST_BYTES, MOST_BYTES, &n)) {
                fprintf(stderr, "next_byte: error: --bytes takes a number from %d to %d\n", LEAST_BYTES, MOST_BYTES);
                return 2;
            }
            r->bytes = n;
            r->bytes_given = true;
        } else if (!strcmp(a, "--threads")) {
            if (!number(argv[++k], 1, 1024, &n)) {
                fprintf(stderr, "next_byte: error: --threads takes a number from 1 to 1024\n");
                return 2;
            }
            r->threads = (int)n;
        } else if (!strcmp(a, "--no-text")) {
            r->text = false;
        } else if (a[0] == '-' && a[1]) {
            fprintf(stderr, "next_byte: error: there is no option '%s'\n", a);
            usage(stderr);
            return 2;
        } else if (r->file) {
            fprintf(stderr, "next_byte: error: one file at a time: '%s' and '%s'\n", r->file, a);
            return 2;
        } else {
            r->file = a;
        }
    }
    if (!r->file) r->file = "/usr/share/common-licenses/GPL-3";
    return 0;
}

/* The bytes asked for, or NULL after saying why not. */
static unsigned char *read_text(const struct request *r, int64_t *length)
{
    FILE *in = fopen(r->file, "rb");
    if (!in) {
        fprintf(stderr, "next_byte: error: cannot read '%s': %s\n", r->file, strerror(errno));
        return NULL;
    }
    unsigned char *byte = malloc((size_t)r->bytes);
    if (!byte) {
        fprintf(stderr, "next_byte: error: out of memory\n");
        fclose(in);
        return NULL;
    }
    size_t got = fread(byte, 1, (size_t)r->bytes, in);
    const char *why = ferror(in) ? strerror(errno) : NULL;
    fclose(in);
    *length = (int64_t)got;
    if (why)
        fprintf(stderr, "next_byte: error: cannot read '%s': %s\n", r->file, why);
    else if (*length < LEAST_BYTES)
        fprintf(stderr, "next_byte: error: '%s' has %" PRId64 " bytes; at least %d are needed to predict anything\n", r->file, *length, LEAST_BYTES);
    else if (r->bytes_given && *length < r->bytes)
        fprintf(stderr, "next_byte: error: '%s' has %" PRId64 " bytes, fewer than the %" PRId64 " of --bytes\n", r->file, *length, r->bytes);
    else
        return byte;
    free(byte);
    return NULL;
}

/* ---- one kernel ---- */

/* Runs the kernel at least three times, until two seconds are over; the best time counts. 0 or an attn_error. */
static int run_kernel(const struct row *row, const struct text_vectors *t, int threads, float *out, double *seconds)
{
    struct attn_problem p = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = t->length - 1, .n_k = t->length - 1, .threads = threads};
    p.workspace_bytes = row->kernel->workspace(&p);
    void *workspace = attn_alloc(p.workspace_bytes);
    if (!workspace) return ATTN_EMEMORY;
    double begun = attn_seconds();
    int error = 0;
    *seconds = 1e30;
    for (int run = 0; !error && run < 20 && (run < 3 || attn_seconds() - begun < 2); run++) {
        char text[160];
        snprintf(text, sizeof text, "%s: run %d", step, run + 1);
        if (on_terminal || run == 0) progress(text);
        double from = attn_seconds();
        /* Queries are the positions from 1, keys those before the last: row r sees keys 0 … r, so position i sees j < i. */
        error = row->kernel->forward(&p, NULL, t->context + HEAD_DIM, t->context, t->value, out, workspace);
        double took = attn_seconds() - from;
        if (took < *seconds) *seconds = took;
    }
    attn_free(workspace);
    return error;
}

static bool measure(const struct row *row, const struct text_vectors *t, int threads, float *out, struct outcome *o)
{
    int error = run_kernel(row, t, threads, out, &o->seconds);
    if (error) {
        progress_clear();
        fprintf(stderr, "next_byte: error: %s: %s\n", row->kernel->name, attn_strerror(error));
        return false;
    }
    text_predict(t, out, o->guess);
    o->accuracy = text_accuracy(t, o->guess);
    o->error = oracle_error(row->graph, t, out, SAMPLED_ROWS, threads, progress_rows);
    return o->error >= 0;
}

/* ---- what it shows ---- */

static void print_table(const struct outcome *o, double pairs, double peak)
{
    printf("%-22s %9s %11s %9s %14s %14s\n", "kernel", "correct", "time", "GFLOP/s", "share of peak", "largest error");
    for (int k = 0; k < ROWS; k++) {
        double rate = 4 * HEAD_DIM * pairs / o[k].seconds / 1e9;
        printf("%-22s %8.1f%% %8.1f ms %9.1f %13.1f%% %14.1e\n", rows[k].says, 100 * o[k].accuracy, 1e3 * o[k].seconds, rate, 100 * rate / peak, o[k].error);
    }
}

static void print_text(const struct text_vectors *t, const struct outcome *o)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool color = isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && !(term && !strcmp(term, "dumb"));
    int best = 0, least = 0;
    for (int k = 1; k < ROWS; k++) {
        if (o[k].accuracy > o[best].accuracy) best = k;
        if (o[k].accuracy < o[least].accuracy) least = k;
    }
    const char *mark = color ? "underlined" : "over a ^";
    printf("\nWhat %s predicted: a byte %s was foreseen from the text before it.\n\n", rows[best].says, mark);
    text_show(t, o[best].guess, SHOWN_LINES, color, stdout);
    if (least == best) return;
    printf("\nThe same with %s:\n\n", rows[least].says);
    text_show(t, o[least].guess, SHOWN_LINES, color, stdout);
}

int main(int argc, char **argv)
{
    struct request r = {.bytes = DEFAULT_BYTES, .text = true};
    int status = read_arguments(argc, argv, &r);
    if (status) return status;
    on_terminal = isatty(STDERR_FILENO);
    struct sigaction action = {.sa_handler = interrupted};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
#ifdef _OPENMP
    if (!r.threads) r.threads = omp_get_max_threads();
#else
    r.threads = 1;
#endif

    struct text_vectors t = {0};
    unsigned char *byte = read_text(&r, &t.length);
    if (!byte) return 1;
    t.byte = byte;
    float *out = attn_alloc(sizeof(float) * HEAD_DIM * (size_t)t.length);
    unsigned char *guesses = malloc((size_t)t.length * ROWS);
    status = 3;
    if (!out || !guesses || !text_embed(&t)) {
        fprintf(stderr, "next_byte: error: out of memory\n");
        goto done;
    }

    progress("measuring the machine's peak");
    double peak = machine_peak(r.threads);
    struct outcome outcome[ROWS];
    for (int k = 0; k < ROWS; k++) {
        snprintf(step, sizeof step, "%d of %d, %s", k + 1, ROWS, rows[k].says);
        outcome[k].guess = guesses + k * t.length;
        if (!measure(&rows[k], &t, r.threads, out, &outcome[k])) goto done;
    }
    progress("measuring the machine's peak once more");
    double again = machine_peak(r.threads);
    if (again > peak) peak = again;
    progress_clear();

    double keys = (double)(t.length - 1);
    printf("%s, %" PRId64 " bytes; D = %d, %d thread%s, float32; this machine's peak: %.0f GFLOP/s\n\n", r.file, t.length, HEAD_DIM, r.threads,
           r.threads == 1 ? "" : "s", peak);
    print_table(outcome, keys * (keys + 1) / 2, peak);
    printf(
        "\ncorrect: next bytes foreseen in the second half. GFLOP/s: 4 D for each pair of positions that is not masked, whatever the form\nthe kernel chose: a share over 100%% is a linear one. largest error: %d rows against\n"
        "the float64 interpreter, relative to the size of the row.\n",
        SAMPLED_ROWS);
    if (r.text) print_text(&t, outcome);
    status = 0;
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "next_byte: error: cannot write: %s\n", strerror(errno));
        status = 3;
    }
done:
    text_release(&t);
    attn_free(out);
    free(guesses);
    free(byte);
    return status;
}
