/* Helpers for every subcommand: options, messages, files, and numbers as text. */
#ifndef ATTNC_SUPPORT_H
#define ATTNC_SUPPORT_H

#include "../target/target.h"

enum status { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_USAGE = 2, STATUS_MACHINE = 3 };

/* Sorts numbers in ascending order. (spread.c) */
void numbers_sort(double *number, int64_t count);
/* Returns the median of sorted numbers, or infinity if there are none. */
double median_of(const double *sorted, int count);
/* Returns a measure of the noise of repeated measurements: (third quartile) / minimum - 1, or 0 for fewer than two.
   Above SPREAD_MAX, the measurements are too noisy. */
double repeats_spread(const double *seconds, int count);
extern const double SPREAD_MAX;

/* The text of runtime/attnrt.h, so that kernels compile without an installed header. */
extern const char attnrt_header[];

/* The files of the runtime that kernels include, and its C files after those that they need. The last name is NULL. */
extern const struct runtime_file {
    const char *name, *text; /* name: the path in runtime/ */
} runtime_files[];
enum { MAX_RUNTIME_FILES = 64 };
struct pasted {
    bool file[MAX_RUNTIME_FILES]; /* files that need not be pasted again */
};
/* paste_text copies the text of a kernel, with the files in place of its lines `#include <attnrt/…>`. paste_file copies
   a file of the runtime, with the files in place of those that it includes. (paste.c) */
void paste_text(struct pasted *pasted, const char *text, struct text *out);
void paste_file(struct pasted *pasted, const struct runtime_file *file, struct text *out);

/* ---- folders (file.c) ---- */

/* Creates a folder and its parents, like mkdir -p. Returns 0, or -1 with errno. */
int make_folders(const char *path, unsigned mode);
/* Returns the SHA-256 of the data in hexadecimal. */
const char *hash_text(struct arena *arena, const char *data, size_t length);
struct schedule;

/* Settings of messages. quiet: print only errors; color: colours are allowed. */
struct console {
    bool quiet, color;
};
/* The sizes of the call that a kernel is compiled for in little time. members: query heads that share keys. n_q: 0 if
   the kernel is compiled for all calls */
struct first_call {
    int64_t n_q, n_k, members;
};
struct options {
    struct console console;
    bool to_stdout, depfile, list_outputs, show_passes, standalone, tuned, no_remainders, verbose;
    const char *out_dir, *in_dir, *chunks, *depfile_path, *depfile_target, *dump_after;
    unsigned emit; /* requested outputs as bits 1 << enum output; if it is 0, no C is made */
    const struct target *target[MAX_TARGETS];
    int targets;
    bool named_targets; /* the targets come from --target */
    bool only_here;     /* of default targets, compile only the one that this machine loads */
    bool python;        /* NAME.py is requested, so NAME must be valid in Python */
    int threads;        /* the number of threads; 0 means OpenMP's default */
    /* Arguments of bench and explain that are not parsed yet (bench/options.c). NULL means that an option was not
       given. The file "-" is standard output. */
    const char *lengths, *thread_list, *heads, *batch, *document, *time, *limit, *json, *plot;
    const char *ranks, *link; /* of explain, not parsed yet (command/explain_ranks.c) */
    /* the file to which `attnc show` writes a picture; "-" for standard output; NULL for no picture */
    const char *picture;
    bool backward, decode; /* backward, decode: compile these even if the spec does not ask for them */
    const char *quick;     /* of build, not parsed yet: the sizes of a first call */
    bool background;
    struct first_call first;
    /* Arguments of tune that are not parsed yet (tune/options.c). */
    const char *trials, *samples, *report, *knobs;
    const char *const *shape;
    int shapes;
    bool has_seed;
    uint64_t seed;
    const char *const *set;
    int sets;
    const struct schedule *schedule; /* replaces the spec's schedule; NULL unless `attnc tune` sets it */
    const char *const *file;         /* the operands of the command line: specs or files */
    int files;
};

/* Writes a file. After an error, prints a message and leaves an existing file unchanged. */
enum status write_whole(const struct options *o, const char *path, const char *data, size_t length);
/* Prints `attnc: error: message` to standard error, in colour if allowed. complain returns false, and complain_as
   returns the status. */
bool complain(const struct options *o, const char *format, ...) IR_PRINTF(2, 3);
#define complain_as(o, status, ...) ((void)complain(o, __VA_ARGS__), (status))
/* Prints `attnc: KIND: message` to standard error, or `attnc: message` for the kind "". Prints nothing with --quiet.
   A message has one line. Control characters become `?`. (console.c) */
#define mention(o, kind, ...) console_mention(&(o)->console, kind, __VA_ARGS__)
/* Like complain and mention, but without struct options. */
void console_error(const struct console *c, const char *format, ...) IR_PRINTF(2, 3);
void console_mention(const struct console *c, const char *kind, const char *format, ...) IR_PRINTF(3, 4);
void console_error_list(const struct console *c, const char *format, va_list arguments) IR_PRINTF(2, 0);
/* These functions print text, with `?` in place of control characters. print_plain prints several lines.
   print_plain_line prints one line. */
void print_plain(FILE *out, const char *text);
void print_plain_line(FILE *out, const char *format, va_list arguments) IR_PRINTF(2, 0);

enum { MAX_LENGTHS = 64 };

struct lengths {
    int count;
    int64_t length[MAX_LENGTHS];
};
struct head_counts {
    int64_t heads, kv_heads, key_heads; /* key_heads: heads of q and k if v has more, or 0 */
};

/* These functions parse the start of `text`. Each returns the position after the parsed part, or NULL.
   - count_read: a positive integer such as 3, 4k (4 * 1024) or 1M (1024 * 1024)
   - lengths_add: a length such as 1000, or a range. 4k..32k is 4k, 8k, 16k, 32k.
   - heads_add: heads, heads/kv_heads such as 8/2, or heads/kv_heads/key_heads such as 8/8/2 */
const char *count_read(const char *text, int64_t *value);
const char *lengths_add(const char *text, struct lengths *out);
const char *heads_add(const char *text, struct head_counts *out);
/* These functions parse the whole argument of an option. They return false after a message. If --lengths was not
   given, lengths_read parses `by_default`. */
bool lengths_read(const struct options *o, const char *by_default, struct lengths *out);
bool one_number(const struct options *o, const char *option, const char *text, int64_t max, int64_t *out);
bool seconds_read(const struct options *o, const char *option, const char *text,
                  double *out); /* If `text` is NULL, *out is not changed. */
bool document_read(const struct options *o, int64_t *out);
/* These functions write a time such as "12.3 ms" or a size such as "4.0 GiB" to `text`, and return `text`, which has
   `size` bytes. */
const char *table_seconds(double seconds, char *text, size_t size);
const char *table_bytes(double bytes, char *text, size_t size);

/* An open folder. `fd` stays valid if the folder is renamed. */
struct folder {
    int fd; /* -1 if the folder is not open */
    const char *path;
};
#define NO_FOLDER ((struct folder){-1, NULL})
void folder_close(struct folder *f);
/* Returns the last component of the folder's path. */
const char *folder_name(const struct folder *f);
/* Opens the folder `name` in the folder `parent`. Returns a file descriptor, or -1 with errno. It is an error if
   `name` is a link. */
int folder_open(int parent, const char *name);
/* Creates, opens and locks a folder that only this user can enter. The folder is in `parent`, or among the temporary
   files. Returns false with errno after an error. */
bool private_open(struct arena *arena, const struct folder *parent, struct folder *out);
/* Removes a file, a link, or a folder with its contents. The target of a link is not removed. */
void remove_at(int parent, const char *name);

/* Returns the number of columns that the text takes on a screen. */
int table_width(const char *text);
/* Appends a cell of a table, padded with spaces to `width` columns. Control characters become `?`. A left-aligned
   cell is not padded if it is the `last` of its row. */
void table_cell(struct text *out, const char *text, int width, bool left, bool last);
/* Writes the text to standard output. Returns STATUS_MACHINE after a message if that fails. */
enum status table_put(const struct options *o, const struct text *text);
void output_flush(void);
/* Flushes standard output. Returns STATUS_MACHINE after a message if any write to it failed. */
enum status output_finish(const struct options *o);

#endif
