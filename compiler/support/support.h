/* What every command needs: options, messages, files, figures as text. */
#ifndef ATTNC_SUPPORT_H
#define ATTNC_SUPPORT_H

#include "../target/target.h"

#define ATTNC_VERSION "0.1.0"

enum status { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_USAGE = 2, STATUS_MACHINE = 3 };

/* Repeats of a measurement, as seconds: by how much of the best of them three quarters lie above it at most; 0 for
   fewer than two. Where that is more than SPREAD_MAX one number does not stand for them, and whoever tells it says so.
   (spread.c) */
double repeats_spread(const double *seconds, int count);
extern const double SPREAD_MAX;

/* The text of runtime/attnrt.h, embedded when attnc is built, so that kernels compile wherever attnc stands. */
extern const char attnrt_header[];

/* ---- folders (file.c) ---- */

/* mkdir -p. Returns 0 or -1 with errno. */
int make_folders(const char *path, unsigned mode);
/* Removes a folder and what is in it; a link in its place is removed, and not followed. */
void remove_folder(const char *path);
/* SHA-256 in hexadecimal. */
const char *hash_text(struct arena *arena, const char *data, size_t length);
struct schedule;

/* What messages need to know: whether any but errors are wanted, and whether those may be in colour. */
struct console {
    bool quiet, color;
};
struct options {
    struct console console;
    bool to_stdout, depfile, list_outputs, show_passes, standalone, tuned;
    const char *out_dir, *in_dir, *chunks, *depfile_path, *depfile_target, *dump_after;
    unsigned emit; /* 1 << enum output of each; 0, as no user can ask for: units have no text */
    const struct target *target[MAX_TARGETS];
    int targets;
    bool named_targets; /* by --target */
    bool python;        /* NAME.py is asked for: the name of the spec must be one that Python can import */
    int threads;        /* 0: OpenMP's default */
    /* bench and explain, as they were written; NULL: not there (bench/options.c). Files may be "-", standard output. */
    const char *lengths, *thread_list, *heads, *batch, *document, *time, *limit, *json, *csv, *plot;
    bool machine, backward, decode; /* the last two: specs are compiled as if they asked for gradients, or a state */
    /* tune, as they were written (tune/options.c) */
    const char *strategy, *trials, *samples, *database, *shard, *export, *merge, *report, *knobs;
    bool resume, query;
    const char *const *shape;
    int shapes;
    bool has_seed;
    uint64_t seed;
    const char *const *set;
    int sets;
    const struct schedule *schedule; /* in place of the spec's own, as only a search asks for; NULL: there is none */
    const char *const *file;         /* operands */
    int files;
};

/* Writes a file whole or not at all. */
enum status write_whole(const struct options *o, const char *path, const char *data, size_t length);
/* `attnc: error: message` on standard error, in the colours asked for. */
void complain(const struct options *o, const char *format, ...) IR_PRINTF(2, 3);
/* `attnc: KIND: message`, or `attnc: message` where the kind is "", on standard error unless --quiet. Like all that is
   said, one line of plain text: what names and databases have of control characters is shown as `?`. (console.c) */
void mention(const struct options *o, const char *kind, const char *format, ...) IR_PRINTF(3, 4);
/* The same, for what is called without options. */
void console_error(const struct console *c, const char *format, ...) IR_PRINTF(2, 3);
void console_mention(const struct console *c, const char *kind, const char *format, ...) IR_PRINTF(3, 4);
void console_error_list(const struct console *c, const char *format, va_list arguments) IR_PRINTF(2, 0);
/* Text of other programs, which may be several lines; a line, and its end. */
void print_plain(FILE *out, const char *text);
void print_plain_line(FILE *out, const char *format, va_list arguments) IR_PRINTF(2, 0);

enum { MAX_LENGTHS = 64 };

struct lengths {
    int count;
    int64_t length[MAX_LENGTHS];
};
struct head_counts {
    int64_t heads, kv_heads;
};

/* A whole number from 1 up (`k` and `M` after it stand for 1024 and 1024 * 1024), a length or a range of lengths, heads
   as in 8/2: what follows it in the text; NULL when there is none. */
const char *count_read(const char *text, int64_t *value);
const char *lengths_add(const char *text, struct lengths *out);
const char *heads_add(const char *text, struct head_counts *out);
/* These return false after a message. `by_default` is what is taken where the option is not there. */
bool lengths_read(const struct options *o, const char *by_default, struct lengths *out);
bool one_number(const struct options *o, const char *option, const char *text, int64_t max, int64_t *out);
bool seconds_read(const struct options *o, const char *option, const char *text, double *out); /* NULL leaves *out */
bool document_read(const struct options *o, int64_t *out);
/* "12.3 ms", "4.0 GiB", in `size` bytes. */
const char *table_seconds(double seconds, char *text, size_t size);
const char *table_bytes(double bytes, char *text, size_t size);

/* A folder that is held open: what is done through `fd` is done there, whoever renames what is above it. */
struct folder {
    int fd; /* -1: there is none */
    const char *path;
};
#define NO_FOLDER ((struct folder){-1, NULL})
void folder_close(struct folder *f);
/* The last part of its path. */
const char *folder_name(const struct folder *f);
/* A descriptor of the folder of that name, which is no link; -1 with errno. */
int folder_open(int parent, const char *name);
/* A new folder that only this user can enter, in `parent` or, where that is none, with the temporary files; false with
   errno. */
bool private_open(struct arena *arena, const struct folder *parent, struct folder *out);
/* Removes a file, a link, or a folder and what is in it; never what a link leads to. */
void remove_at(int parent, const char *name);

/* Columns on a screen. */
int table_width(const char *text);
/* The text, plain, and what it takes to `width`; no spaces at the end of a line. */
void table_cell(struct text *out, const char *text, int width, bool left, bool last);
/* A word as RFC 4180 has it, in plain text. */
void table_csv(struct text *out, const char *word);
/* To standard output; STATUS_MACHINE after a message. */
enum status table_put(const struct options *o, const struct text *text);

#endif
