/* Results of measuring one schedule for one shape. */
#ifndef ATTNC_TUNE_RESULT_H
#define ATTNC_TUNE_RESULT_H

#include "../../ir/memory.h"

enum { MAX_SHAPES = 64 };

struct tune_shape {
    /* `length` is the number of queries and of keys. */
    int64_t batch, heads, kv_heads, length;
    int64_t key_heads; /* heads of q and k if v has more, or 0 */
    int threads;
    bool backward; /* true if a call of backward is measured, false if a call of forward is measured */
};
enum tune_status {
    TUNE_MEASURED,
    TUNE_WRONG,   /* the output differs too much from the output of the default schedule */
    TUNE_CRASHED, /* the process was ended by a signal */
    TUNE_LATE,    /* the trial exceeded the time limit */
    TUNE_REFUSED  /* attnc or the C compiler rejected the schedule, or memory ran out */
};
extern const char *const tune_status_name[]; /* "measured", "wrong", "crashed", "late", "refused", NULL */

/* A call of the candidate, and a call of the default schedule directly before or after it. */
struct tune_sample {
    double seconds, default_seconds;
};
/* A schedule is written to SPEC.tuned.yaml only if its trial has this number of samples. With few samples, the fastest
   of many candidates is probably lucky. */
enum { CONFIRMED = 21 };

struct tune_result {
    enum tune_status status;
    char why[200]; /* the reason why there is no measurement, or "" */
    /* `work` is the number of useful FLOPs of a call. `peak` is the machine's maximum in FLOPs per second. 0 means
       unknown. */
    double work, peak;
    double bytes;     /* the roofline's bytes of a call, or 0 if unknown */
    double bandwidth; /* the machine's maximum in bytes per second, or 0 if unknown */
    char code[65];    /* a hash of the C code that was measured, or "" if unknown */
    bool infinite;    /* this process measured it, and the result was not finite */
    int samples;
    struct tune_sample *sample;
};
/* The candidate's time divided by the default schedule's time. If the ratio is below 1, the candidate is faster.
   - ratio: the median over the samples; infinity without samples
   - low, high: its 95% confidence interval; with fewer than 6 samples, the minimum and maximum */
struct tune_gain {
    double ratio, low, high;
};
struct tune_gain tune_gain(const struct tune_result *r);
/* Returns the candidate's median time in seconds, or infinity without samples. */
double tune_seconds(const struct tune_result *r);

#endif
