/* Results of measuring a point of the space of schedules. */
#ifndef ATTNC_TUNE_RESULT_H
#define ATTNC_TUNE_RESULT_H

#include "../../ir/ir.h"

enum { MAX_SHAPES = 64 };

struct tune_shape {
    int64_t batch, heads, kv_heads, length; /* length: the number of queries and of keys */
    int threads;
    bool backward; /* measures the gradients, from the values that forward saved; otherwise forward */
};
enum tune_status {
    TUNE_RUNNING,     /* a process is measuring it, as far as is known */
    TUNE_INTERRUPTED, /* the process ended before it had a result */
    TUNE_MEASURED,
    TUNE_WRONG,   /* the result differs by more than rounding */
    TUNE_CRASHED, /* ended by a signal */
    TUNE_LATE,    /* exceeded the time limit */
    TUNE_REFUSED  /* attnc or the C compiler rejected it, or memory ran out */
};
extern const char
    *const tune_status_name[]; /* "running", "interrupted", "measured", "wrong", "crashed", "late", "refused" */

/* The candidate and the default schedule are called alternately: sample k has the seconds of both. */
struct tune_sample {
    double seconds, default_seconds;
};
struct tune_result {
    enum tune_status status;
    char why[200];     /* a message for people, if the status is not MEASURED */
    double work, peak; /* work: useful FLOPs of a call. peak: FLOPs per second, the maximum that the machine reached.
                          0: unknown */
    double bytes;      /* bytes moved by a call according to the roofline; 0: unknown */
    double bandwidth;  /* bytes per second, the maximum that the machine reached; 0: unknown */
    char code[65];     /* a hash of the C code that was measured; "": unknown */
    int samples;
    struct tune_sample *sample; /* allocated with malloc or in an arena */
};
/* Whether the result says something about the schedule. */
static inline bool tune_ended(const struct tune_result *r)
{
    return r->status > TUNE_INTERRUPTED;
}

/* The time of the candidate divided by the time of the default schedule: the median of the quotients of the samples,
   and its 95% confidence interval. The interval uses order statistics and assumes no distribution; with fewer than 6
   samples it is from the minimum to the maximum. Infinity without samples. */
struct tune_gain {
    double ratio, low, high;
};
struct tune_gain tune_gain(const struct tune_result *r);
/* The median time of the candidate in seconds; infinity without samples. */
double tune_seconds(const struct tune_result *r);

#endif
