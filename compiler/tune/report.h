/* Output of results: tables, files, a page. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "../support/support.h"
#include "store/store.h"

/* The best measured trial of a run whose interval ends below 1; NULL: no trial is faster than the default schedule
   beyond noise. If a point has several trials, the last one counts. (result.c) */
const struct tune_trial *run_best(const struct tune_run *run);
/* The median time in seconds of the default schedule, over all samples of the run; infinity if there are none. */
double run_default_seconds(const struct tune_run *run);

/* The range of the middle half of all times that a call with the default schedule took in the run. */
struct tune_spread {
    double low, high;
    int samples;
};
struct tune_spread run_spread(const struct tune_run *run);
/* tune_query prints a table to standard output; tune_export prints every trial as "csv" or "json" (query.c,
   export.c). */
enum status tune_query(const struct options *o, const struct tune_run *runs, int count);
enum status tune_export(const struct options *o, const char *format, const struct tune_run *runs, int count);
/* One page that loads nothing from elsewhere (report.c). */
void tune_report(const struct tune_run *runs, int count, struct text *out);

#endif
