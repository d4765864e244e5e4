/* Strategies: they choose which points of the space (space.h) to measure, and in which order. */
#ifndef ATTNC_TUNE_SEARCH_H
#define ATTNC_TUNE_SEARCH_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"
#include "../tune.h"

struct search_request {
    const struct tune_space *space;
    uint64_t seed;
    int64_t trials;                                            /* the maximum number of points; 0: no limit */
    double (*expected)(void *user, const struct tune_point *); /* the cost model's prediction, in any unit, because it
                                                                  only ranks points; may be NULL */
    void *user;
    bool (*stop)(void *user); /* returns true if the search should end. Called while a strategy waits for a command;
                                 may be NULL */
};
struct search;
/* Starts the strategy `name`, which is in search_names or has the form pipe:COMMAND. Returns NULL after a message if
   the name is unknown or the command cannot be started. Equal requests and results give the same order of points. */
struct search *search_open(const char *name, const struct search_request *request, const struct options *o);
/* Sets *point to the next point to measure, and *samples to the number of samples that it should have afterwards.
   Returns false when the search is over, with *failed set if a user's command violated the protocol (after a message).
   - A point may be returned again, with a larger *samples.
   - Only a user's command may ask for the default point, whose ratio is 1. Only a user's command may repeat a point
     without raising *samples. */
bool search_next(struct search *s, struct tune_point *point, int *samples, bool *failed);
/* Tells the strategy the result of the point that search_next returned last. The result has all samples of the point,
   including earlier ones. */
void search_tell(struct search *s, const struct tune_point *point, const struct tune_result *result);
void search_close(struct search *s);
/* Whether a strategy has this name. Prints an error if none has. */
bool search_known(const char *name, const struct options *o);

#endif
