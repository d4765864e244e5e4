/* Predicts each byte of a text by causal attention in kernels of attnc. Prints each kernel's correct bytes, time and
   error.
   - Query and key of a position: the six bytes before it.
   - Value of a position: the byte at it. */
#include "next_byte.h"

#include "../model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "performer_256.h"
#include "polynomial_2.h"
#include "polynomial_4.h"
#include "polynomial_8.h"
#include "polysketch_128.h"
#include "polysketch_32.h"
#include "polysketch_64.h"
#include "softmax_16.h"

enum { SAMPLED_ROWS = 64, LEAST_BYTES = 256, MOST_BYTES = 1 << 20, DEFAULT_BYTES = 32768, SHOWN_LINES = 5 };

const char *const program = "next_byte";

extern const char softmax_16_graph[], polynomial_2_graph[], polynomial_4_graph[], polynomial_8_graph[];

static const struct row {
    const struct attn_kernel *kernel;
    const char *says, *graph; /* the graph for the interpreter, or NULL */
    enum features features;   /* the random features, if there is no graph */
} rows[] = {
    {&softmax_16_kernel, "softmax, scale 16", softmax_16_graph, FEATURES_NONE},
    {&polynomial_2_kernel, "polynomial, degree 2", polynomial_2_graph, FEATURES_NONE},
    {&polynomial_4_kernel, "polynomial, degree 4", polynomial_4_graph, FEATURES_NONE},
    {&polynomial_8_kernel, "polynomial, degree 8", polynomial_8_graph, FEATURES_NONE},
    {&polysketch_32_kernel, "polysketch, r = 32", NULL, FEATURES_SKETCH},
    {&polysketch_64_kernel, "polysketch, r = 64", NULL, FEATURES_SKETCH},
    {&polysketch_128_kernel, "polysketch, r = 128", NULL, FEATURES_SKETCH},
    {&performer_256_kernel, "Performer, 256", NULL, FEATURES_FAVOR},
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
    const char *file, *models; /* `models` is the folder of trained models, or NULL */
    int64_t bytes;
    bool bytes_given, text;
    int threads;
    int64_t seed;
    struct learn_limit train; /* if both members are 0, no model is trained */
};

static void usage(FILE *out)
{
    fprintf(out,
            "usage: next_byte [FILE] [--bytes N] [--threads N] [--seed N] [--train N] [--models FOLDER] [--no-text]\n\n"
            "Predicts each byte of FILE (default /usr/share/common-licenses/GPL-3, its first %d bytes) from the bytes "
            "before it.\n"
            "  --bytes N     the first N bytes, %d to %d\n"
            "  --threads N   threads of the kernels (default: all)\n"
            "    --seed N      the seed of the random sketches and features (default: 1)\n"
            "  --train N     train small models on the text as well, N steps each; 25s: for 25 seconds each\n"
            "  --models FOLDER  write the trained models there, for examples/decode\n"
            "  --no-text     only the tables\n",
            DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES);
}

/* Returns 0 or the exit status. */
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
            if (!read_number(argv[++k], LEAST_BYTES, MOST_BYTES, &n)) {
                fprintf(stderr, "next_byte: error: --bytes takes a number from %d to %d\n", LEAST_BYTES, MOST_BYTES);
                return 2;
            }
            r->bytes = n;
            r->bytes_given = true;
        } else if (!strcmp(a, "--threads")) {
            if (!read_number(argv[++k], 1, 1024, &n)) {
                fprintf(stderr, "next_byte: error: --threads takes a number from 1 to 1024\n");
                return 2;
            }
            r->threads = (int)n;
        } else if (!strcmp(a, "--seed")) {
            if (!read_number(argv[++k], 0, INT64_MAX, &r->seed)) {
                fprintf(stderr, "next_byte: error: --seed takes a number from 0 to %" PRId64 "\n", INT64_MAX);
                return 2;
            }
        } else if (!strcmp(a, "--train")) {
            if (!read_limit(argv[++k], &r->train)) {
                fprintf(stderr, "next_byte: error: --train takes steps or seconds, as in 100 or 25s, up to %d\n",
                        MOST_TRAINING);
                return 2;
            }
        } else if (!strcmp(a, "--models")) {
            if (!argv[++k]) {
                fprintf(stderr, "next_byte: error: --models takes a folder\n");
                return 2;
            }
            r->models = argv[k];
        } else if (!strcmp(a, "--no-text")) {
            r->text = false;
        } else if (a[0] == '-' && a[1]) {
            fprintf(stderr, "next_byte: error: unknown option '%s'\n", a);
            usage(stderr);
            return 2;
        } else if (r->file) {
            fprintf(stderr, "next_byte: error: only one file is allowed, not '%s' and '%s'\n", r->file, a);
            return 2;
        } else {
            r->file = a;
        }
    }
    if (!r->file) r->file = "/usr/share/common-licenses/GPL-3";
    if (r->models && !r->train.steps && !(r->train.seconds > 0)) {
        fprintf(stderr, "next_byte: error: --models needs --train\n");
        return 2;
    }
    if (r->models && access(r->models, W_OK | X_OK) != 0) {
        fprintf(stderr, "next_byte: error: cannot write into '%s': %s\n", r->models, strerror(errno));
        return 1;
    }
    return 0;
}

/* Reads the requested bytes. Returns NULL after a message. */
static unsigned char *read_text(const struct request *r, int64_t *length)
{
    unsigned char *byte = file_read(r->file, r->bytes, length);
    if (!byte) return NULL;
    if (*length < LEAST_BYTES)
        fprintf(stderr, "next_byte: error: '%s' has %" PRId64 " bytes; at least %d are needed to predict anything\n",
                r->file, *length, LEAST_BYTES);
    else if (r->bytes_given && *length < r->bytes)
        fprintf(stderr, "next_byte: error: '%s' has %" PRId64 " bytes, fewer than the %" PRId64 " of --bytes\n",
                r->file, *length, r->bytes);
    else
        return byte;
    free(byte);
    return NULL;
}

/* ---- one kernel ---- */

/* Runs the kernel 2 to 20 times, for about a second, and keeps the best time. Returns 0 or an attn_error. */
static int run_kernel(const struct prepared *p, const struct text_vectors *t, float *out, double *seconds)
{
    double begun = attn_seconds();
    int error = 0;
    *seconds = 1e30;
    for (int run = 0; !error && run < 20 && (run < 2 || attn_seconds() - begun < 1); run++) {
        char text[160];
        snprintf(text, sizeof text, "%s: run %d", step, run + 1);
        if (on_terminal || run == 0) progress(text);
        /* Row r is the query of position r + 1, and sees keys 0 to r. So position i sees only positions before i. */
        error = kernel_run(p, t->context + HEAD_DIM, t->context, t->value, out, seconds);
    }
    return error;
}

static bool measure(const struct row *row, const struct text_vectors *t, const struct request *r, float *out,
                    struct outcome *o)
{
    struct prepared p;
    int error = kernel_prepare(&p, row->kernel, t->length - 1, r->threads, (uint64_t)r->seed);
    if (!error) error = run_kernel(&p, t, out, &o->seconds);
    if (error) {
        progress_clear();
        fprintf(stderr, "next_byte: error: %s: %s\n", row->kernel->name, attn_strerror(error));
        kernel_release(&p);
        return false;
    }
    text_predict(t, out, o->guess);
    o->accuracy = text_accuracy(t, o->guess);
    if (row->graph)
        o->error = oracle_error(row->graph, t, out, SAMPLED_ROWS, r->threads, progress_rows);
    else
        o->error = features_error(row->features, &p, t, out, SAMPLED_ROWS, r->threads);
    kernel_release(&p);
    return o->error >= 0;
}

/* ---- output ---- */

/* Prints a line per kernel. Speeds are relative to softmax. */
static void print_table(const struct outcome *o)
{
    printf("%-22s %9s %11s %16s %14s\n", "kernel", "correct", "time", "against softmax", "largest error");
    for (int k = 0; k < ROWS; k++)
        printf("%-22s %8.1f%% %8.1f ms %15.1fx %14.1e\n", rows[k].says, 100 * o[k].accuracy, 1e3 * o[k].seconds,
               o[0].seconds / o[k].seconds, o[k].error);
}

static void print_notes(const struct text_vectors *t, double softmax_rate, double peak)
{
    printf(
        "\n- correct: bytes of the second half that are predicted. Its most frequent byte alone predicts %.1f%%.\n"
        "- against softmax: the speed relative to softmax, which does %.0f GFLOP/s (4 D FLOPs for each pair that is\n"
        "  not masked), %.0f%% of this machine's peak. Kernels that are several times as fast have a linear form, "
        "which visits\n  no pairs.\n"
        "- largest error: of %d rows compared with float64, relative to the size of the row. polysketch and "
        "Performer are\n  compared with the same random features, so this is the error of the kernel and not of the "
        "estimate.\n"
        "- polysketch estimates polynomial, degree 4, and Performer softmax with scale 8, with random numbers "
        "(--seed).\n  The estimates are coarse: they are for models that are trained with them, and here nothing is "
        "trained.\n",
        100 * text_commonest(t), softmax_rate, 100 * softmax_rate / peak, SAMPLED_ROWS);
}

static bool in_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && !(term && !strcmp(term, "dumb"));
}

static void print_text(const struct text_vectors *t, const struct outcome *o)
{
    bool color = in_color();
    int best = 0, least = 0;
    for (int k = 1; k < ROWS; k++) {
        if (o[k].accuracy > o[best].accuracy) best = k;
        if (o[k].accuracy < o[least].accuracy) least = k;
    }
    const char *mark = color ? "underlined" : "over a ^";
    printf("\nPredictions of %s: a byte %s was predicted from the text before it.\n\n", rows[best].says, mark);
    text_show(t, o[best].guess, SHOWN_LINES, color, stdout);
    if (least == best) return;
    printf("\nPredictions of %s:\n\n", rows[least].says);
    text_show(t, o[least].guess, SHOWN_LINES, color, stdout);
}

/* ---- trained models ---- */

static void progress_steps(int64_t at, double seconds, double bits)
{
    char text[160];
    if (!on_terminal && at % 100 != 0) return;
    snprintf(text, sizeof text, "%s: step %" PRId64 ", %.0f s, %.3f bits a byte", step, at, seconds, bits);
    progress(text);
}

static void print_trained(const struct learned *l, const struct text_vectors *t, bool text)
{
    static const char *const says[] = {"softmax", "polysketch, r = 32"}, *const when[] = {"Before", "After"};
    printf("\nTwo small language models: an embedding of the last three bytes, one layer with two heads of 32, a "
           "readout; trained on the first "
           "three quarters of the text\nand tested on the last quarter. Attention and its gradients are attnc's "
           "kernels, the other "
           "layers plain C. polysketch is exact\ninside blocks of 128.\n\n");
    printf("%-22s %9s %9s %11s %15s %15s %9s %9s\n", "attention", "steps", "seconds", "ms a step", "bits before",
           "bits a byte", "correct", "before");
    for (int k = 0; k < 2; k++)
        printf("%-22s %9" PRId64 " %9.1f %11.1f %15.3f %15.3f %8.1f%% %8.1f%%\n", says[k], l[k].steps, l[k].seconds,
               1e3 * l[k].seconds / (double)l[k].steps, l[k].bits[0], l[k].bits[1], 100 * l[k].accuracy[1],
               100 * l[k].accuracy[0]);
    int best = l[1].bits[1] < l[0].bits[1];
    for (int k = 0; text && k < 2; k++) {
        printf("\n%s training, with %s:\n\n", when[k], says[best]);
        text_show(t, l[best].guess[k], SHOWN_LINES, in_color(), stdout);
    }
}

/* Returns 0 or the exit status. */
static int train(const struct text_vectors *t, const struct request *r)
{
    struct learned learned[MODEL_KINDS] = {0};
    unsigned char *guesses = calloc((size_t)t->length, 2 * MODEL_KINDS);
    int error = guesses ? 0 : ATTN_EMEMORY, status = 0;
    for (int k = 0; !error && !status && k < MODEL_KINDS; k++) {
        struct model model;
        char path[4096];
        snprintf(step, sizeof step, "training %d of %d, %s", k + 1, MODEL_KINDS, model_kinds[k].name);
        for (int w = 0; w < 2; w++) learned[k].guess[w] = guesses + (2 * k + w) * t->length;
        error = model_open(&model, model_kinds[k].kernel, (uint64_t)r->seed);
        if (!error) error = learn(&model, t->byte, t->length, r->train, r->threads, progress_steps, &learned[k]);
        progress_clear();
        model_trained_on(&model, r->file);
        if (!error && r->models &&
            !(model_path(path, sizeof path, r->models, &model_kinds[k]) && model_save(&model, path)))
            status = 3;
        model_close(&model);
    }
    if (error) {
        fprintf(stderr, "next_byte: error: %s: %s\n", step, attn_strerror(error));
        status = 3;
    }
    if (!status) print_trained(learned, t, r->text);
    free(guesses);
    return status;
}

int main(int argc, char **argv)
{
    struct request r = {.bytes = DEFAULT_BYTES, .text = true, .seed = 1};
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
        if (!measure(&rows[k], &t, &r, out, &outcome[k])) goto done;
    }
    progress("measuring the machine's peak once more");
    double again = machine_peak(r.threads);
    if (again > peak) peak = again;
    progress_clear();

    const double keys = (double)(t.length - 1), pairs = keys * (keys + 1) / 2;
    printf("%s, %" PRId64 " bytes; D = %d, %d thread%s, float32; this machine's peak: %.0f GFLOP/s\n\n", r.file,
           t.length, HEAD_DIM, r.threads, r.threads == 1 ? "" : "s", peak);
    print_table(outcome);
    print_notes(&t, 4 * HEAD_DIM * pairs / outcome[0].seconds / 1e9, peak);
    if (r.text) print_text(&t, outcome);
    status = r.train.steps || r.train.seconds > 0 ? train(&t, &r) : 0;
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
