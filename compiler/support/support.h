/* Helpers for every command: options, messages, files, numbers as text. */
#ifndef ATTNC_SUPPORT_H
#define ATTNC_SUPPORT_H

#include "../target/target.h"

#define ATTNC_VERSION "0.1.0"

enum status { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_USAGE = 2, STATUS_MACHINE = 3 };

/* The spread of repeated measurements in seconds: the third quartile divided by the minimum, minus 1; 0 for fewer
   than two. If the spread is above SPREAD_MAX, one number does not represent the measurements, and the output says
   so. (spread.c) */
double repeats_spread(const double *seconds, int count);
extern const double SPREAD_MAX;

/* The text of runtime/attnrt.h, embedded when attnc is built, so that kernels compile wherever attnc is installed. */
extern const char attnrt_header[];

/* ---- folders (file.c) ---- */

/* Creates a folder and its parents, like mkdir -p. Returns 0, or -1 with errno. */
int make_folders(const char *path, unsigned mode);
/* Removes a folder and its contents. A link is removed and not followed. */
void remove_folder(const char *path);
/* SHA-256 in hexadecimal. */
const char *hash_text(struct arena *arena, const char *data, size_t length);
struct schedule;

/* Settings of messages: `quiet` suppresses everything except errors; `color` allows colours. */
struct console {
    bool quiet, color;
};
struct options {
    struct console console;
    bool to_stdout, depfile, list_outputs, show_passes, standalone, tuned, no_remainders, verbose;
    const char *out_dir, *in_dir, *chunks, *depfile_path, *depfile_target, *dump_after;
    unsigned emit; /* bits 1 << enum output; 0, which no user can request: units have no text */
    const struct target *target[MAX_TARGETS];
    int targets;
    bool named_targets; /* given with --target */
    bool python;        /* NAME.py is requested, so the name of the spec must be one that Python can import */
    int threads;        /* 0: OpenMP's default */
    /* options of bench and explain, as written; NULL: not given (bench/options.c). Files may be "-", standard
       output. */
    const char *lengths, *thread_list, *heads, *batch, *document, *time, *limit, *json, *csv, *plot;
    bool machine, backward, decode; /* `backward` and `decode`: specs are compiled as if they asked for gradients, or
                                       for a state */
    /* options of tune, as written (tune/options.c) */
    const char *strategy, *trials, *samples, *database, *shard, *export, *merge, *report, *knobs;
    bool resume, query;
    const char *const *shape;
    int shapes;
    bool has_seed;
    uint64_t seed;
    const char *const *set;
    int sets;
    const struct schedule *schedule; /* used in place of the spec's schedule; only set by a search; NULL: not set */
    const char *const *file;         /* operands */
    int files;
};

/* Writes the complete file or nothing. */
enum status write_whole(const struct options *o, const char *path, const char *data, size_t length);
/* Prints `attnc: error: message` to standard error, in colour if allowed. */
void complain(const struct options *o, const char *format, ...) IR_PRINTF(2, 3);
/* Prints `attnc: KIND: message`, or `attnc: message` if the kind is "", to standard error, unless --quiet. Every
   message is one line of plain text: control characters in names and in text of databases are shown as `?`.
   (console.c) */
void mention(const struct options *o, const char *kind, const char *format, ...) IR_PRINTF(3, 4);
/* Versions of complain and mention for callers without options. */
void console_error(const struct console *c, const char *format, ...) IR_PRINTF(2, 3);
void console_mention(const struct console *c, const char *kind, const char *format, ...) IR_PRINTF(3, 4);
void console_error_list(const struct console *c, const char *format, va_list arguments) IR_PRINTF(2, 0);
/* Print text of other programs: print_plain several lines, print_plain_line one line with its end. */
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

/* Parse, at the start of `text`: an integer from 1 up (`k` and `M` after it multiply by 1024 and 1024 * 1024), a
   length or a range of lengths, or heads as in 8/2. Return the position after it, or NULL if there is none. */
const char *count_read(const char *text, int64_t *value);
const char *lengths_add(const char *text, struct lengths *out);
const char *heads_add(const char *text, struct head_counts *out);
/* These return false after a message. `by_default` is used if the option is not given. */
bool lengths_read(const struct options *o, const char *by_default, struct lengths *out);
bool one_number(const struct options *o, const char *option, const char *text, int64_t max, int64_t *out);
bool seconds_read(const struct options *o, const char *option, const char *text,
                  double *out); /* NULL leaves *out unchanged */
bool document_read(const struct options *o, int64_t *out);
/* "12.3 ms", "4.0 GiB", in `size` bytes. */
const char *table_seconds(double seconds, char *text, size_t size);
const char *table_bytes(double bytes, char *text, size_t size);

/* An open folder. Operations through `fd` act on this folder even if its parents are renamed. */
struct folder {
    int fd; /* -1: there is none */
    const char *path;
};
#define NO_FOLDER ((struct folder){-1, NULL})
void folder_close(struct folder *f);
/* The last component of the folder's path. */
const char *folder_name(const struct folder *f);
/* Opens the folder `name`, which must not be a link; returns -1 with errno. */
int folder_open(int parent, const char *name);
/* Creates a folder that only this user can enter, in `parent` or, if `parent` is not open, in the folder of
   temporary files. Returns false with errno. */
bool private_open(struct arena *arena, const struct folder *parent, struct folder *out);
/* Removes a file, a link, or a folder and its contents; never the target of a link. */
void remove_at(int parent, const char *name);

/* The number of columns on a screen. */
int table_width(const char *text);
/* Appends the text, made plain, padded to `width`. A left-aligned cell at the end of a line is not padded. */
void table_cell(struct text *out, const char *text, int width, bool left, bool last);
/* Appends a word in plain text, quoted as in RFC 4180. */
void table_csv(struct text *out, const char *word);
/* Writes to standard output; returns STATUS_MACHINE after a message. */
enum status table_put(const struct options *o, const struct text *text);
/* Flushes standard output, so that a reader sees what was printed so far. */
void output_flush(void);
/* Returns STATUS_DONE if all printed text was written to standard output; STATUS_MACHINE after a message. */
enum status output_finish(const struct options *o);

#endif
