/* Chooses which points of the space (space.h) to measure, and in which order: Bayesian optimisation. */
#ifndef ATTNC_TUNE_SEARCH_H
#define ATTNC_TUNE_SEARCH_H

#include "run.h"

struct search_request {
    const struct tune_space *space; /* must not change before search_close */
    uint64_t seed;
    int64_t trials;                                            /* the maximum number of points, or 0 for no limit */
    double (*expected)(void *user, const struct tune_point *); /* the cost model's prediction, used to rank points;
                                                                  may be NULL */
    void *user;
};
struct search;
/* Starts a search. Equal requests and results give an equal order of points. */
struct search *search_open(const struct search_request *request);
/* Sets *point to the next point to measure, and *samples to the number of samples it should have. Returns false when
   the search is over. Never returns the default point. A point may be returned again with a larger *samples. */
bool search_next(struct search *s, struct tune_point *point, int *samples);
/* Tells the search the result of the last point of search_next, with all samples of the point. */
void search_tell(struct search *s, const struct tune_point *point, const struct tune_result *result);
void search_close(struct search *s);

#endif
