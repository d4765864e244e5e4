/* What is known of a point of the space of schedules. */
#ifndef ATTNC_TUNE_RESULT_H
#define ATTNC_TUNE_RESULT_H

#include "../../ir/ir.h"

enum { MAX_SHAPES = 64 };

/* ---- what is known of a point ---- */

struct tune_shape {
    int64_t batch, heads, kv_heads, length; /* as many queries as keys */
    int threads;
    bool backward; /* what is measured: the gradients, from what forward saved; else forward */
};
enum tune_status {
    TUNE_RUNNING,     /* by a process that lives, as far as is known */
    TUNE_INTERRUPTED, /* that process ended before it had a result */
    TUNE_MEASURED,
    TUNE_WRONG,   /* what it computed is off by more than rounding */
    TUNE_CRASHED, /* a signal */
    TUNE_LATE,    /* beyond its time limit */
    TUNE_REFUSED  /* the compiler or the C compiler would not have it, or there was no memory */
};
extern const char
    *const tune_status_name[]; /* "running", "interrupted", "measured", "wrong", "crashed", "late", "refused" */

/* Calls of the candidate and of the default schedule in turn: sample k has the seconds of both. */
struct tune_sample {
    double seconds, default_seconds;
};
struct tune_result {
    enum tune_status status;
    char why[200];     /* where it is not MEASURED: for people */
    double work, peak; /* useful FLOPs of a call; FLOPs a second that the machine reached at best; 0: not known */
    double bytes;      /* moved by a call, by the roofline; 0: not known */
    double bandwidth;  /* bytes a second that the machine reached at best; 0: not known */
    char code[65];     /* a hash of the C that was measured; "": not known */
    int samples;
    struct tune_sample *sample; /* malloc'd, or in an arena */
};
/* Whether it says something of the schedule. */
static inline bool tune_ended(const struct tune_result *r)
{
    return r->status > TUNE_INTERRUPTED;
}

/* The candidate's time over the default schedule's: the median of the samples' quotients and its 95% confidence
   interval (of order statistics: no distribution assumed; from the least to the largest below 6 samples); infinity
   where there is no sample. */
struct tune_gain {
    double ratio, low, high;
};
struct tune_gain tune_gain(const struct tune_result *r);
/* Median seconds of the candidate; infinity without a sample. */
double tune_seconds(const struct tune_result *r);

#endif
