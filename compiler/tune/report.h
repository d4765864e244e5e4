/* What is told of results: tables, files, one page. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "../support/support.h"
#include "store/store.h"

/* The best measured trial of a run whose interval ends below 1; NULL: none is faster than the default schedule beyond
   noise. Of several trials at a point the last one speaks. (result.c) */
const struct tune_trial *run_best(const struct tune_run *run);
/* Median seconds of the default schedule, over all samples of the run; infinity without one. */
double run_default_seconds(const struct tune_run *run);

/* What the same thing, a call with the default schedule, took in the middle half of all samples of the run. */
struct tune_spread {
    double low, high;
    int samples;
};
struct tune_spread run_spread(const struct tune_run *run);
/* A table on standard output; "csv" or "json" of every trial (query.c, export.c). */
enum status tune_query(const struct options *o, const struct tune_run *runs, int count);
enum status tune_export(const struct options *o, const char *format, const struct tune_run *runs, int count);
/* One page without anything from elsewhere (report.c). */
void tune_report(const struct tune_run *runs, int count, struct text *out);

#endif
