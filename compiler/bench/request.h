/* Declarations of attnc bench.
   - An entry is a spec and the measured call: forward, backward, or with --decode, appending tokens.
   - A point is a length, a number of heads and a number of threads. Every entry is measured at every point. */
#ifndef ATTNC_BENCH_REQUEST_H
#define ATTNC_BENCH_REQUEST_H

#include "bench.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../support/support.h"
#include "../target/target.h"

/* Sets *r from the options. Without --threads, r->thread[0] is 0: OpenMP's default. Returns false after a message. */
bool bench_request_read(const struct options *o, struct bench_request *r);

/* The result of one entry at one point. With --decode, times are per step. A step appends one token to every
   sequence. */
struct bench_result {
    bool measured;
    char skipped[160];   /* the reason why the entry was skipped, or "" */
    const char *form;    /* "linear", "quadratic", with --decode also "few" */
    size_t saved;        /* bytes that forward saves for backward, or 0 if backward is not measured */
    int runs;            /* the number of timed calls */
    double median, best; /* seconds of a call. If a call would exceed --limit, `best` is the expected time */
    double spread;       /* the spread of the calls' times (repeats_spread) */
    struct counts counts;
    struct roofline roofline;
    /* The machine's rates with the point's threads. With --decode, the bandwidth is for reading only. */
    struct rates rates;
    const char *unit;   /* the instructions of the matrix products: "AVX2", "AMX" */
    bool on_units;      /* `unit` names matrix units, and `peak` is the peak of matrix units */
    double peak;        /* the machine's peak in FLOPs per second */
    double peak_spread; /* the spread of the measurements of the peak (repeats_spread) */
    bool infinite;      /* the call wrote numbers that are not finite */
    size_t workspace;
    /* the members below are set only with --decode */
    int64_t tokens; /* the number of tokens that a call appends */
    double read;    /* bytes that a step reads */
    size_t state;   /* the size of the state in bytes */
    double reach;   /* FLOPs to build the state before the first call */
};
struct bench_point {
    /* The number of queries and of keys. With --decode: the number of tokens in the state before the first call. */
    int64_t length;
    struct head_counts heads;
    int threads;
    struct bench_result result[MAX_ENTRIES];
};
struct bench {
    const struct options *o;
    struct bench_request request;
    struct machine *machine;
    const struct target *target; /* the best target that this machine runs */
    const char *compiler;        /* the name and version of the compiler that compiled the kernels */
    int entries;                 /* the number of entries: forward of each spec, and its backward with --backward */
    const struct unit *unit[MAX_ENTRIES];
    bool backward[MAX_ENTRIES];
    int points, begun; /* begun: the number of points whose measurement has begun */
    struct bench_point *point;
    unsigned integers; /* the kinds of integer parameters, as bits of enum assumed */
    bool interrupted;
};

/* The number of tokens that one call of --decode appends.
   - Linear form: a chunk, because the last token of a chunk updates the sums.
   - Window: DECODE_TOKENS_OF_WINDOW. The state sometimes moves its keys, and this number averages the time of the
     moves.
   - Otherwise: DECODE_TOKENS, because every token takes equal time. */
enum { DECODE_TOKENS = 16, DECODE_TOKENS_OF_WINDOW = 64 };
int64_t decode_tokens(const struct unit *p);
/* With --decode, sets the form, work and bytes of a step in *result. */
void decode_count(const struct bench *b, int entry, const struct bench_point *at, const struct call *call,
                  struct bench_result *result);
/* Returns the roofline's time for a call, in seconds. */
double bench_expected(const struct bench_result *r);
/* Writes the table, and the files that options ask for. Returns STATUS_DONE, or STATUS_MACHINE after a message. */
enum status bench_report(const struct bench *b);
/* Draws the results as SVG. */
void bench_plot(const struct bench *b, struct text *out);
/* Appends the name of a curve: the spec, the direction with --backward, and heads or threads if they vary. */
void bench_series_name(const struct bench *b, int entry, const struct bench_point *p, struct text *out);

/* Returns the name of the entry's spec. If two specs have this name, returns the name of its file. */
const char *bench_label(const struct bench *b, int entry);
/* Returns "forward", "backward" or "decode". */
const char *bench_pass(const struct bench *b, int entry);
void bench_heads_name(const struct head_counts *h, struct text *out);

#endif
