/* Continues a text byte by byte with two language models. The state of softmax attention grows with the text. The
 * state of polysketch attention does not grow. */
#include "decode.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum {
    LEAST_BYTES = 256, /* the minimum length of a text to train on */
    MOST_BYTES = 1 << 20,
    PROMPT_BYTES = 512, /* the default length of the prompt */
    SHOWN_BYTES = 60,   /* how many bytes of the prompt are printed */
    FIRST_POSITION = 1024,
    TIMED_BYTES = 64, /* how many bytes are timed at each position of the table */
    ROWS_A_CALL = 4096
};

const char *const program = "decode";

struct request {
    const char *file, *models, *prompt, *save, *load;
    const struct model_kind *only; /* the only kind of model to run, or NULL for both */
    struct learn_limit train;
    int64_t length, copies, capacity, times, seed, threads;
    double temperature;
    bool anew, quiet;
    /* the text, or NULL if text_there has not read it */
    unsigned char *byte;
    int64_t bytes;
};

/* ---- the command line ---- */

static void usage(FILE *out)
{
    fputs("usage: decode [FILE] [OPTION…]\n\n"
          "Continues a text byte by byte with two small language models, one with softmax attention and one with\n"
          "polysketch. A model without a file is trained on the first three quarters of FILE (default\n"
          "/usr/share/common-licenses/GPL-3).\n"
          "  --models FOLDER   the folder of softmax.model and polysketch.model (default: .)\n"
          "  --train N         the length of training: N steps, or Ns for N seconds (default: 25s)\n"
          "  --only MODEL      softmax or polysketch (default: both)\n"
          "  --prompt TEXT     the text to continue (default: 512 bytes of FILE that no model was trained on)\n"
          "  --length N        bytes to generate (default: 300)\n"
          "  --temperature T   0: always the most likely byte; larger: more of the others (default: 0.5)\n"
          "  --seed N          seed of the drawn bytes, and of a model when it is trained (default: 1)\n"
          "  --copies N        different continuations of the prompt, 1 to 16 (default: 1)\n"
          "  --save STATE      write a file that --load continues; with --only\n"
          "  --load STATE      continue a saved state; with --prompt, append these bytes first\n"
          "  --capacity N      the maximum number of bytes in a state that grows (default: 8192)\n"
          "  --times N         a table of the time a byte takes, up to position N (default: 16384 with both models, "
          "else none)\n"
          "  --anew            without a state: compute forward of all bytes so far for each byte\n"
          "    --threads N       threads of the kernels (default: all)\n"
          "  --quiet           print only the text after the prompt\n",
          out);
}

static int wrong(const char *option, const char *takes)
{
    fprintf(stderr, "decode: error: %s takes %s\n", option, takes);
    return 2;
}

/* Reads an option. `text` is the next argument. If it is the option's value, sets *used. Returns 0 or the exit
 * status. */
static int read_option(struct request *r, const char *option, const char *text, bool *used)
{
    const struct {
        const char *name;
        int64_t least, most, *value;
    } numbers[] = {{"--length", 1, 1 << 20, &r->length},     {"--seed", 0, INT64_MAX, &r->seed},
                   {"--copies", 1, MOST_COPIES, &r->copies}, {"--capacity", 1, 1 << 24, &r->capacity},
                   {"--times", 0, 1 << 20, &r->times},       {"--threads", 1, 1024, &r->threads}};
    const struct {
        const char *name, **value;
    } words[] = {{"--models", &r->models}, {"--prompt", &r->prompt}, {"--save", &r->save}, {"--load", &r->load}};
    char takes[80];
    *used = true;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (strcmp(option, numbers[k].name) != 0) continue;
        snprintf(takes, sizeof takes, "a number from %" PRId64 " to %" PRId64, numbers[k].least, numbers[k].most);
        return read_number(text, numbers[k].least, numbers[k].most, numbers[k].value) ? 0 : wrong(option, takes);
    }
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (strcmp(option, words[k].name) != 0) continue;
        *words[k].value = text;
        return text && *text ? 0
                             : wrong(option, k == 1 ? "a text of at least one byte" : "the name of a file or folder");
    }
    if (!strcmp(option, "--train"))
        return read_limit(text, &r->train) ? 0 : wrong(option, "steps or seconds, as in 100 or 25s, up to 100000");
    if (!strcmp(option, "--only")) {
        for (int k = 0; text && k < MODEL_KINDS; k++)
            if (!strcmp(text, model_kinds[k].name)) r->only = &model_kinds[k];
        return text && r->only ? 0 : wrong(option, "softmax or polysketch");
    }
    if (!strcmp(option, "--temperature")) {
        char *end = NULL;
        r->temperature = text ? strtod(text, &end) : -1;
        return end && end != text && !*end && r->temperature >= 0 && r->temperature <= 100
                   ? 0
                   : wrong(option, "a number from 0 to 100");
    }
    *used = false;
    if (!strcmp(option, "--anew"))
        r->anew = true;
    else if (!strcmp(option, "--quiet"))
        r->quiet = true;
    else {
        fprintf(stderr, "decode: error: unknown option '%s'; see --help\n", option);
        return 2;
    }
    return 0;
}

/* Returns 0 or the exit status. */
static int read_arguments(int argc, char **argv, struct request *r)
{
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--help") || !strcmp(argv[k], "-h")) {
            usage(stdout);
            exit(0);
        }
        if (argv[k][0] == '-' && argv[k][1]) {
            bool used;
            const int status = read_option(r, argv[k], argv[k + 1], &used);
            if (status) return status;
            k += used;
        } else if (r->file) {
            fprintf(stderr, "decode: error: only one file is allowed, not '%s' and '%s'\n", r->file, argv[k]);
            return 2;
        } else {
            r->file = argv[k];
        }
    }
    const char *why = r->save && !r->only && !r->load ? "--save needs --only: a file has one model's state"
                      : r->anew && (r->save || r->load || r->copies > 1)
                          ? "--anew has no state, so it cannot be combined with --save, --load or --copies"
                          : NULL;
    if (why) fprintf(stderr, "decode: error: %s\n", why);
    if (!r->file) r->file = "/usr/share/common-licenses/GPL-3";
    return why ? 2 : 0;
}

/* Reads the text if that was not done before. Returns false after a message. */
static bool text_there(struct request *r)
{
    if (!r->byte && !(r->byte = file_read(r->file, MOST_BYTES, &r->bytes))) return false;
    if (r->bytes >= LEAST_BYTES) return true;
    fprintf(stderr,
            "decode: error: '%s' has %" PRId64 " bytes; at least %d are needed to train a model or to continue\n",
            r->file, r->bytes, LEAST_BYTES);
    return false;
}

static int failed(const struct model_kind *kind, int error)
{
    fprintf(stderr, "decode: error: %s: %s%s\n", kind->name, attn_strerror(error),
            error == ATTN_ECAPACITY ? "; --capacity N sets the size when a text is started" : "");
    return error == ATTN_ECAPACITY ? 1 : 3;
}

static bool wanted(const struct request *r, int kind)
{
    return !r->only || r->only == &model_kinds[kind];
}

/* ---- the models ---- */

static void progress(int64_t step, double seconds, double bits)
{
    static double said;
    const bool terminal = isatty(STDERR_FILENO);
    if (seconds < said) said = 0;
    if (seconds - said < (terminal ? 0.2 : 10)) return;
    said = seconds;
    fprintf(stderr, "%sstep %" PRId64 ", %.0f s, %.3f bits a byte%s", terminal ? "\r\033[K" : "", step, seconds, bits,
            terminal ? "" : "\n");
    fflush(stderr);
}

/* Loads or trains a model. Returns 0 or the exit status. */
static int get_model(struct model *m, const struct model_kind *kind, struct request *r)
{
    char path[4096];
    *m = (struct model){0};
    if (!model_path(path, sizeof path, r->models, kind)) return 2;
    if (access(path, F_OK) == 0) return model_load(m, kind->kernel, path) ? 0 : 1;
    if (!text_there(r)) return 1;
    if (access(r->models, W_OK | X_OK) != 0) {
        fprintf(stderr, "decode: error: cannot write into '%s': %s\n", r->models, strerror(errno));
        return 1;
    }
    fprintf(stderr, "'%s' does not exist: training it on %s\n", path, r->file);
    struct learned learned = {0};
    int error = model_open(m, kind->kernel, (uint64_t)r->seed);
    if (!error) error = learn(m, r->byte, r->bytes, r->train, (int)r->threads, progress, &learned);
    if (error) return failed(kind, error);
    model_trained_on(m, r->file);
    fprintf(stderr, "%s%s: %" PRId64 " steps in %.1f s, %.3f bits a byte on the last quarter of the text\n",
            isatty(STDERR_FILENO) ? "\r\033[K" : "", kind->name, learned.steps, learned.seconds, learned.bits[1]);
    return model_save(m, path) ? 0 : 3;
}

/* ---- generation byte by byte ---- */

/* Draws the next byte, by scores and temperature. The random number depends only on seed, sequence and position. So
   a loaded sequence continues with the same bytes. */
static unsigned char choose(const float *score, const struct request *r, int64_t sequence, int64_t position)
{
    int best = 0;
    for (int c = 1; c < MODEL_SYMBOLS; c++) best = score[c] > score[best] ? c : best;
    if (r->temperature == 0) return (unsigned char)best;
    const uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)((uint64_t)r->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)position, (uint32_t)((uint64_t)position >> 32), (uint32_t)sequence, 0};
    uint32_t draw[4];
    attn_philox(counter, key, draw);
    double weight[MODEL_SYMBOLS], sum = 0;
    for (int c = 0; c < MODEL_SYMBOLS; c++) sum += weight[c] = exp((double)(score[c] - score[best]) / r->temperature);
    double left = ((double)draw[0] + 0.5) / 4294967296.0 * sum;
    for (int c = 0; c < MODEL_SYMBOLS; c++)
        if ((left -= weight[c]) < 0) return (unsigned char)c;
    return (unsigned char)best;
}

/* Prepares the sequences. They begin with the prompt, or they are loaded from a file and --prompt is appended.
   Returns 0 or the exit status. */
static int begin(struct stream *s, const struct request *r, const unsigned char *prompt, int64_t n, int *error)
{
    if (r->anew) {
        *error = stream_anew(s, prompt, n);
    } else if (r->load) {
        if (!stream_load(s, r->load)) return 1;
        *error = stream_step(s, s->next);
        for (int64_t k = 0; !*error && k < n; k++) {
            memset(s->next, prompt[k], sizeof s->next);
            *error = stream_step(s, s->next);
        }
    } else {
        *error = stream_read(s, prompt, n);
        if (!*error) *error = stream_fork(s);
    }
    return 0;
}

/* Generates `length` bytes per sequence into made [copies, length]. Returns 0 or an attn_error. */
static int make(struct stream *s, const struct request *r, unsigned char *made)
{
    int error = 0;
    for (int64_t k = 0; !error && k < r->length; k++) {
        for (int64_t copy = 0; copy < s->copies; copy++)
            s->next[copy] = made[copy * r->length + k] = choose(s->layers.scores + copy * MODEL_SYMBOLS, r, copy,
                                                                stream_length(s, copy));
        if (k + 1 == r->length) break; /* the last byte is not appended */
        error = r->anew ? stream_anew(s, s->next, 1) : stream_step(s, s->next);
    }
    return error;
}

static void print_bytes(const unsigned char *byte, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        putchar((byte[k] >= 32 && byte[k] < 127) ? byte[k] : byte[k] == '\n' ? '\n' : byte[k] == '\t' ? ' ' : '?');
        if (byte[k] == '\n') fputs("    ", stdout);
    }
}

static void show(const struct stream *s, const struct request *r, const unsigned char *prompt, int64_t n,
                 const unsigned char *made)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    const bool color = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
    const int64_t shown = n < SHOWN_BYTES ? n : SHOWN_BYTES;
    for (int64_t copy = 0; copy < s->copies; copy++) {
        if (r->quiet) {
            fwrite(made + copy * r->length, 1, (size_t)r->length, stdout);
            putchar('\n');
            continue;
        }
        fputs(shown < n ? "  … " : "    ", stdout);
        print_bytes(prompt + n - shown, shown);
        fputs(color ? "\033[1m" : "|", stdout);
        print_bytes(made + copy * r->length, r->length);
        puts(color ? "\033[0m\n" : "\n");
    }
}

/* Continues the text with one model and prints it. Returns 0 or the exit status. */
static int continue_text(const struct model *m, const struct model_kind *kind, const struct request *r,
                         const unsigned char *prompt, int64_t n)
{
    struct stream s;
    unsigned char *made = malloc((size_t)(r->copies * r->length));
    int error = made ? stream_open(&s, m, r->copies, r->capacity, r->anew ? n + r->length : n, (int)r->threads)
                     : ATTN_EMEMORY;
    if (!made) return failed(kind, error);
    const double at = attn_seconds();
    int status = error ? 0 : begin(&s, r, prompt, n, &error);
    const double begun = attn_seconds();
    if (!error && !status) error = make(&s, r, made);
    const double done = attn_seconds();
    if (error) status = failed(kind, error);
    if (!status && !r->quiet) {
        const char *what = r->load ? "loaded, with " : "";
        printf("%s, trained on %s: %s%" PRId64 " bytes of prompt in %.1f ms, %" PRId64 " bytes more in %.1f ms, ",
               kind->name, m->text, what, n, 1e3 * (begun - at), r->copies * r->length, 1e3 * (done - begun));
        if (r->anew)
            printf("without a state\n\n");
        else
            printf("state of %zu bytes\n\n", s.problem.state_bytes);
    }
    if (!status) show(&s, r, prompt, n, made);
    if (!status && r->save && !stream_save(&s, r->save)) status = 3;
    stream_close(&s);
    free(made);
    return status;
}

/* ---- the time per byte, by position ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets seconds[] to the median time of a byte at each position of the table. Returns 0 or an attn_error. */
static int time_bytes(struct stream *s, const struct request *r, double *seconds)
{
    unsigned char piece[ROWS_A_CALL];
    int64_t at = 0;
    int error = 0;
    for (int64_t position = FIRST_POSITION; !error && position <= r->times; position *= 2) {
        for (int64_t n; !error && at < position; at += n) {
            n = position - at < ROWS_A_CALL ? position - at : ROWS_A_CALL;
            for (int64_t k = 0; k < n; k++) piece[k] = r->byte[(at + k) % r->bytes];
            error = stream_read(s, piece, n);
        }
        double took[TIMED_BYTES];
        for (int k = 0; !error && k < TIMED_BYTES; k++, at++) {
            const double begun = attn_seconds();
            error = stream_step(s, r->byte + at % r->bytes);
            took[k] = attn_seconds() - begun;
        }
        qsort(took, TIMED_BYTES, sizeof *took, ascending);
        *seconds++ = took[TIMED_BYTES / 2];
    }
    return error;
}

/* Prints the table of times. Returns 0 or the exit status. */
static int print_times(const struct model *m, struct request *r)
{
    double seconds[MODEL_KINDS][24] = {0};
    size_t bytes[MODEL_KINDS] = {0};
    if (r->times < FIRST_POSITION) return 0;
    if (!text_there(r)) return 1;
    for (int k = 0; k < MODEL_KINDS; k++) {
        if (!wanted(r, k)) continue;
        struct stream s;
        int error = stream_open(&s, &m[k], 1, r->times + TIMED_BYTES, ROWS_A_CALL, (int)r->threads);
        bytes[k] = s.problem.state_bytes;
        if (!error) error = time_bytes(&s, r, seconds[k]);
        stream_close(&s);
        if (error) return failed(&model_kinds[k], error);
    }
    printf("The time to append one byte, in µs, by the number of bytes so far (the median of %d)\n\n%12s", TIMED_BYTES,
           "bytes so far");
    for (int k = 0; k < MODEL_KINDS; k++)
        if (wanted(r, k)) printf("%14s", model_kinds[k].name);
    int row = 0;
    for (int64_t position = FIRST_POSITION; position <= r->times; position *= 2, row++) {
        printf("\n%12" PRId64, position);
        for (int k = 0; k < MODEL_KINDS; k++)
            if (wanted(r, k)) printf("%14.1f", 1e6 * seconds[k][row]);
    }
    printf("\n%12s", "state, bytes");
    for (int k = 0; k < MODEL_KINDS; k++)
        if (wanted(r, k)) printf("%14zu", bytes[k]);
    putchar('\n');
    return 0;
}

/* ---- the program ---- */

/* Returns 0 or the exit status. */
static int run(struct request *r, struct model *m)
{
    if (r->load) { /* the file names its model */
        struct saved saved;
        if (!saved_read(&saved, r->load)) return 1;
        const struct model_kind *kind = NULL;
        for (int k = 0; k < MODEL_KINDS; k++)
            if (!strncmp(saved.kernel, model_kinds[k].kernel->name, sizeof saved.kernel)) kind = &model_kinds[k];
        if (!kind || (r->only && r->only != kind)) {
            fprintf(stderr, "decode: error: '%s' is a state of %s\n", r->load,
                    kind ? kind->name : "a model of another program");
            return 1;
        }
        r->only = kind;
        r->copies = saved.copies;
        r->capacity = saved.capacity;
    }
    if (r->times < 0) r->times = r->only ? 0 : 16384;
    const unsigned char *prompt = (const unsigned char *)r->prompt;
    int64_t n = prompt ? (int64_t)strlen(r->prompt) : 0;
    if (!prompt && !r->load) {
        if (!text_there(r)) return 1;
        prompt = r->byte + (r->bytes - r->bytes / 4);
        n = r->bytes / 4 < PROMPT_BYTES ? r->bytes / 4 : PROMPT_BYTES;
    }
    int status = 0;
    for (int k = 0; !status && k < MODEL_KINDS; k++)
        if (wanted(r, k)) status = get_model(&m[k], &model_kinds[k], r);
    for (int k = 0; !status && k < MODEL_KINDS; k++)
        if (wanted(r, k)) status = continue_text(&m[k], &model_kinds[k], r, prompt, n);
    if (!status && !r->quiet && !r->anew) status = print_times(m, r);
    return status;
}

int main(int argc, char **argv)
{
    struct request r = {.models = ".",
                        .train = {.seconds = 25},
                        .length = 300,
                        .copies = 1,
                        .capacity = 8192,
                        .times = -1,
                        .seed = 1,
                        .threads = 1,
                        .temperature = 0.5};
#ifdef _OPENMP
    r.threads = omp_get_max_threads();
#endif
    int status = read_arguments(argc, argv, &r);
    if (status) return status;
    struct model m[MODEL_KINDS] = {{0}};
    status = run(&r, m);
    for (int k = 0; k < MODEL_KINDS; k++) model_close(&m[k]);
    free(r.byte);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "decode: error: cannot write: %s\n", strerror(errno));
        status = 3;
    }
    return status;
}
