/* Results of measuring one point (space.h), that is one schedule, for one shape. */
#ifndef ATTNC_TUNE_RESULT_H
#define ATTNC_TUNE_RESULT_H

#include "../../ir/ir.h"

enum { MAX_SHAPES = 64 };

struct tune_shape {
    int64_t batch, heads, kv_heads, length; /* length: the number of queries and of keys */
    int threads;
    bool backward; /* true: backward is measured, after a forward call that saved its values. false: forward */
};
enum tune_status {
    TUNE_RUNNING,     /* a process is measuring the point; also if it was killed on another machine, which cannot be
                         checked from here */
    TUNE_INTERRUPTED, /* the process ended before it had a result */
    TUNE_MEASURED,
    TUNE_WRONG,   /* the output differs from the output of the default schedule by more than rounding */
    TUNE_CRASHED, /* ended by a signal */
    TUNE_LATE,    /* exceeded the time limit */
    TUNE_REFUSED  /* attnc or the C compiler rejected it, or memory ran out */
};
extern const char
    *const tune_status_name[]; /* "running", "interrupted", "measured", "wrong", "crashed", "late", "refused" */

/* Two times in seconds: a call of the candidate, and a call of the default schedule directly before or after. */
struct tune_sample {
    double seconds, default_seconds;
};
struct tune_result {
    enum tune_status status;
    char why[200];     /* why there is no measurement, as a message to the user; "" if there is one */
    double work, peak; /* work: useful FLOPs of a call. peak: FLOPs per second, the maximum that the machine reached.
                          0: unknown */
    double bytes;      /* bytes moved by a call according to the roofline; 0: unknown */
    double bandwidth;  /* bytes per second, the maximum that the machine reached; 0: unknown */
    char code[65];     /* a hash of the C code that was measured; "": unknown */
    int samples;
    struct tune_sample *sample; /* allocated with malloc or in an arena */
};
/* Whether the trial is over: it was neither interrupted nor is it still running. */
static inline bool tune_ended(const struct tune_result *r)
{
    return r->status > TUNE_INTERRUPTED;
}

/* The time of the candidate divided by the time of the default schedule; below 1 the candidate is faster.
   - ratio: the median over the samples; infinity without samples.
   - low, high: its 95% confidence interval from order statistics, which assumes no distribution. With fewer than 6
     samples: the minimum and the maximum. */
struct tune_gain {
    double ratio, low, high;
};
struct tune_gain tune_gain(const struct tune_result *r);
/* The median time of the candidate in seconds; infinity without samples. */
double tune_seconds(const struct tune_result *r);

#endif
