/* What the files of attnc bench share: the request, what was measured, and how it is told. */
#ifndef ATTNC_BENCH_REQUEST_H
#define ATTNC_BENCH_REQUEST_H

#include "bench.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../support/support.h"
#include "../target/target.h"

/* Threads are left as 0, OpenMP's default, where the option is not there. */
bool bench_request_read(const struct options *o, struct bench_request *r);

/* One pass of one spec at one point. Of --decode seconds are of a token of every sequence, and counts are not told. */
struct bench_result {
    bool measured;
    char skipped[160]; /* else why not, when it is its turn; "" before */
    const char *form;  /* "linear", "quadratic", of --decode "few" */
    size_t saved;      /* bytes that forward leaves to backward, where that is measured, too */
    int runs;
    double median,
        best;      /* seconds of a call; where it was left out for its length, `best` is what it would take, or 0 */
    double spread; /* of the calls, as repeats_spread has it */
    struct counts counts;
    struct roofline roofline;
    struct rates rates; /* of as many threads, a second; of --decode the bandwidth is that of reading */
    const char *unit;   /* what multiplies: "AVX2", "AMX" */
    bool on_units;      /* matrix units: the peak is theirs */
    double peak;        /* of those two that shares are of */
    double peak_spread; /* of the turns that the peak was measured in */
    size_t workspace;
    /* Of --decode: how many tokens the seconds are a mean over; what one reads; bytes; the work that has to be done
       before the first. */
    int64_t tokens;
    double read;
    size_t state;
    double reach;
};
struct bench_point {
    int64_t length; /* of --decode the position: tokens before the first that is measured */
    struct head_counts heads;
    int threads;
    struct bench_result result[MAX_ENTRIES];
};
struct bench {
    const struct options *o;
    struct bench_request request;
    struct machine *machine;
    const struct target *target; /* the best one here */
    const char *compiler;        /* and its version: what compiled the kernels */
    int entries; /* what is measured at a point: of each spec forward and, where it was asked for, backward after it */
    const struct unit *unit[MAX_ENTRIES];
    bool backward[MAX_ENTRIES];
    int points, begun; /* the first `begun` have results */
    struct bench_point *point;
    bool ids; /* some spec reads ids */
    bool interrupted;
};

/* How many tokens are measured together: a chunk of a linear form; under a window, enough for the moves that make room
   in the state to weigh little; else a few, as all tokens are alike. */
enum { DECODE_TOKENS = 16, DECODE_TOKENS_OF_WINDOW = 64 };
int64_t decode_tokens(const struct unit *p);
/* Fills in what a token takes, and the form. */
void decode_count(const struct bench *b, int entry, const struct bench_point *at, const struct call *call,
                  struct bench_result *result);
/* The roofline's time. */
double bench_expected(const struct bench_result *r);
/* Everything asked for, from what there is; STATUS_DONE or STATUS_MACHINE after a message. */
enum status bench_report(const struct bench *b);
/* The picture, as SVG. */
void bench_plot(const struct bench *b, struct text *out);
/* Points and specs that are drawn and named together: the heads or threads where there are several. */
void bench_series_name(const struct bench *b, int entry, const struct bench_point *p, struct text *out);

/* The spec's name, and where another spec has the same one its file. */
const char *bench_label(const struct bench *b, int entry);
/* "forward", "backward", "decode" */
const char *bench_pass(const struct bench *b, int entry);
void bench_heads_name(const struct head_counts *h, struct text *out);

#endif
