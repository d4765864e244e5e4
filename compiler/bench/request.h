/* Declarations of attnc bench: the request, the results, and the report. */
#ifndef ATTNC_BENCH_REQUEST_H
#define ATTNC_BENCH_REQUEST_H

#include "bench.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../support/support.h"
#include "../target/target.h"

/* If --threads is not given, the number of threads is 0, OpenMP's default. */
bool bench_request_read(const struct options *o, struct bench_request *r);

/* One pass of one spec at one point. With --decode, times are per token of every sequence, and the counts are not
   printed. */
struct bench_result {
    bool measured;
    char skipped[160]; /* otherwise the reason why it was skipped; "" before */
    const char *form;  /* "linear", "quadratic", with --decode also "few" */
    size_t saved;      /* bytes that forward saves for backward; 0 if backward is not measured */
    int runs;
    double median, best; /* seconds of a call; for a skipped entry, `best` is the expected time, or 0 */
    double spread;       /* repeats_spread of the calls */
    struct counts counts;
    struct roofline roofline;
    struct rates rates; /* the machine's rates with that many threads; with --decode the bandwidth is for reading
                           only */
    const char *unit;   /* the instructions that multiply: "AVX2", "AMX" */
    bool on_units;      /* they are those of matrix units, as is the peak */
    double peak;        /* the rate that shares are relative to */
    double peak_spread; /* repeats_spread of the measurements of the peak */
    size_t workspace;
    /* With --decode: the number of tokens per call; the bytes that one token reads; the bytes of the state; the FLOPs
       that are needed to reach the position. */
    int64_t tokens;
    double read;
    size_t state;
    double reach;
};
struct bench_point {
    int64_t length; /* with --decode the position: the number of tokens before the first measured one */
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
    int entries;                 /* per spec: forward, and after it backward if requested */
    const struct unit *unit[MAX_ENTRIES];
    bool backward[MAX_ENTRIES];
    int points, begun; /* the first `begun` points have results */
    struct bench_point *point;
    bool ids; /* some spec reads ids */
    bool interrupted;
};

/* The number of tokens per measurement. For a linear form: a whole chunk. Under a window: enough to average over the
   moves that make room in the state. Otherwise a few, because all tokens take the same time. */
enum { DECODE_TOKENS = 16, DECODE_TOKENS_OF_WINDOW = 64 };
int64_t decode_tokens(const struct unit *p);
/* Sets the work of a token, and the form. */
void decode_count(const struct bench *b, int entry, const struct bench_point *at, const struct call *call,
                  struct bench_result *result);
/* The time that the roofline predicts. */
double bench_expected(const struct bench_result *r);
/* Writes all requested outputs for the existing results. Returns STATUS_DONE, or STATUS_MACHINE after a message. */
enum status bench_report(const struct bench *b);
/* Draws the results as SVG. */
void bench_plot(const struct bench *b, struct text *out);
/* The name of a curve: the spec, and heads or threads if the request has several. */
void bench_series_name(const struct bench *b, int entry, const struct bench_point *p, struct text *out);

/* The spec's name, or its file if two specs have the same name. */
const char *bench_label(const struct bench *b, int entry);
/* "forward", "backward", "decode" */
const char *bench_pass(const struct bench *b, int entry);
void bench_heads_name(const struct head_counts *h, struct text *out);

#endif
