/* What the files of attnc bench share: the request (bench_options.c), what was measured (bench.c), how it is told (bench_report.c, bench_plot.c). */
#ifndef ATTNC_BENCH_H
#define ATTNC_BENCH_H

#include "compiler.h"

enum { MOST_LENGTHS = 64, MOST_COUNTS = 32, MOST_SPECS = 32 };

struct lengths {
    int count;
    int64_t length[MOST_LENGTHS];
};
struct bench_request {
    struct lengths lengths; /* of queries and of keys, ascending */
    int threads, heads;     /* how many numbers of each follow */
    int thread[MOST_COUNTS];
    struct bench_heads {
        int64_t heads, kv_heads;
    } head[MOST_COUNTS];
    int64_t batch, document;
    double time, limit; /* seconds: spent on a point, at least; of the longest call that is made */
    uint64_t seed;
};
/* A whole number from 1 up (`k` and `M` after it stand for 1024 and 1024 * 1024), a length or a range of lengths, heads as in 8/2: what follows it in the
   text; NULL when there is none. */
const char *count_read(const char *text, int64_t *value);
const char *lengths_add(const char *text, struct lengths *out);
const char *heads_add(const char *text, struct bench_heads *out);
/* These return false after a message. `usual` is what is taken where the option is not there. */
bool lengths_read(const struct options *o, const char *usual, struct lengths *out);
bool heads_read(const struct options *o, struct bench_request *r); /* sets `heads` and `head` */
bool one_number(const struct options *o, const char *option, const char *text, int64_t most, int64_t *out);
bool seconds_read(const struct options *o, const char *option, const char *text, double *out); /* NULL leaves *out */
bool document_read(const struct options *o, int64_t *out);
/* Threads are left as 0, OpenMP's default, where the option is not there. */
bool bench_request_read(const struct options *o, struct bench_request *r);

/* One spec at one point. */
struct bench_result {
    bool measured;
    char skipped[160];       /* else why not, when it is its turn; "" before */
    const char *form;        /* "linear", "quadratic" */
    int runs;
    double median, best;     /* seconds of a call; where it was left out for its length, `best` is what it would take, or 0 */
    double spread;           /* of the calls, as repeats_spread has it */
    struct counts counts;
    struct roofline roofline;
    double peak, bandwidth;  /* of as many threads, a second */
    double peak_spread;      /* of the turns that the peak was measured in */
    size_t workspace;
};
struct bench_point {
    int64_t length;
    struct bench_heads heads;
    int threads;
    struct bench_result result[MOST_SPECS];
};
struct bench {
    const struct options *o;
    struct bench_request request;
    struct machine *machine;
    const struct target *target; /* the best one here */
    const char *compiler;        /* and its version: what compiled the kernels */
    int specs;
    const struct product *product[MOST_SPECS];
    int points, begun; /* the first so many have results */
    struct bench_point *point;
    bool ids;         /* some spec reads ids */
    bool interrupted;
};
/* Whether the numbers are of a machine that did something else beside: its calls or its peak differ too much. */
bool bench_shaking(const struct bench_result *r);
/* The roofline's time. */
double bench_expected(const struct bench_result *r);
/* Everything asked for, from what there is; STATUS_DONE or STATUS_MACHINE after a message. */
enum status bench_report(const struct bench *b);
/* The picture, as SVG. */
void bench_plot(const struct bench *b, struct text *out);
/* "12.3 ms", "4.0 GiB", in `size` bytes. */
const char *bench_seconds(double seconds, char *text, size_t size);
const char *bench_bytes(double bytes, char *text, size_t size);
/* Points and specs that are drawn and named together: the heads or threads where there are several. */
void bench_series_name(const struct bench *b, int spec, const struct bench_point *p, struct text *out);

#endif
