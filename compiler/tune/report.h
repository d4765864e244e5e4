/* Prints stored runs as a table, CSV, JSON or HTML. Also computes statistics of runs. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "../support/support.h"
#include "store/store.h"

/* Returns the fastest trial that is faster than the default schedule by more than the noise. Returns NULL if there
   is none. Of several trials of a point, only the last counts. (result.c) */
const struct tune_trial *run_best(const struct tune_run *run);
/* Returns the median time in seconds of the default schedule in this run, or infinity. */
double run_default_seconds(const struct tune_run *run);

/* The first and third quartile of the seconds of a call with the default schedule. */
struct tune_spread {
    double low, high;
    int samples;
};
struct tune_spread run_spread(const struct tune_run *run);
/* These functions print to standard output:
   - tune_query: a table with one line per run (query.c)
   - tune_export: every trial, in the format "csv" or "json" (export.c) */
enum status tune_query(const struct options *o, const struct tune_run *runs, int count);
enum status tune_export(const struct options *o, const char *format, const struct tune_run *runs, int count);
/* Appends an HTML page. If memory runs out, `out` is empty afterwards. (report.c) */
void tune_report(const struct tune_run *runs, int count, struct text *out);

#endif
