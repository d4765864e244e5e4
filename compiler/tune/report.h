/* The output of stored runs: a table, CSV or JSON, and an HTML page; and the statistics that these outputs share. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "../support/support.h"
#include "store/store.h"

/* The trial with the lowest ratio, among those whose 95% confidence interval ends below 1. NULL: no trial is faster
   than the default schedule beyond noise. If a point has several trials, only the last counts. (result.c) */
const struct tune_trial *run_best(const struct tune_run *run);
/* The median time in seconds of the default schedule, over all samples of the run; infinity if there are none. */
double run_default_seconds(const struct tune_run *run);

/* The first and the third quartile of the seconds of a call with the default schedule, over all samples of the run. */
struct tune_spread {
    double low, high;
    int samples;
};
struct tune_spread run_spread(const struct tune_run *run);
/* tune_query prints a table with one line per run to standard output (query.c). tune_export prints every trial there;
   `format` is "csv" or "json" (export.c). */
enum status tune_query(const struct options *o, const struct tune_run *runs, int count);
enum status tune_export(const struct options *o, const char *format, const struct tune_run *runs, int count);
/* Appends an HTML page, which loads no other file. If memory runs out, `out` is empty afterwards (report.c). */
void tune_report(const struct tune_run *runs, int count, struct text *out);

#endif
