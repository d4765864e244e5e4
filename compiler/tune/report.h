/* Statistics of runs, and the HTML page of runs. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "store.h"
#include "../support/support.h"

/* Returns the fastest trial that is faster than the default schedule by more than the noise. Returns NULL if there
   is none. (result.c) */
const struct tune_trial *run_best(const struct tune_run *run);

/* The first and third quartile of the seconds of a call with the default schedule. */
struct tune_spread {
    double low, high;
    int samples;
};
struct tune_spread run_spread(const struct tune_run *run);
/* Appends an HTML page. If memory runs out, `out` is empty afterwards. (report.c) */
void tune_report(const struct tune_run *runs, int count, struct text *out);

#endif
