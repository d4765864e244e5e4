/* Strategies choose which points of the space (space.h) to measure, and in which order. */
#ifndef ATTNC_TUNE_SEARCH_H
#define ATTNC_TUNE_SEARCH_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"
#include "../tune.h"

struct search_request {
    const struct tune_space *space;
    uint64_t seed;
    int64_t trials;                                            /* the maximum number of points, or 0 for no limit */
    double (*expected)(void *user, const struct tune_point *); /* the cost model's prediction, used to rank points;
                                                                  may be NULL */
    void *user;
    bool (*stop)(void *user); /* returns true if the search should end; called while a command is busy; may be NULL */
};
struct search;
/* Starts the strategy `name`, which is one of search_names or pipe:COMMAND. On failure, prints a message and returns
   NULL. Equal requests and results give an equal order of points. */
struct search *search_open(const char *name, const struct search_request *request, const struct options *o);
/* Sets *point to the next point to measure, and *samples to the number of samples it should have. Returns false when
   the search is over; *failed is set if a user's command violated the protocol.
   - A point may be returned again with a larger *samples.
   - Only a user's command may ask for the default point, or repeat a point without raising *samples. */
bool search_next(struct search *s, struct tune_point *point, int *samples, bool *failed);
/* Tells the strategy the result of the last point of search_next, with all samples of the point. */
void search_tell(struct search *s, const struct tune_point *point, const struct tune_result *result);
void search_close(struct search *s);
/* Returns true if a strategy has this name. If not, prints an error. */
bool search_known(const char *name, const struct options *o);

#endif
