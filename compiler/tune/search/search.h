/* Strategies that choose the points of the space to measure. */
#ifndef ATTNC_TUNE_SEARCH_H
#define ATTNC_TUNE_SEARCH_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"
#include "../tune.h"

struct search_request {
    const struct tune_space *space;
    uint64_t seed;
    int64_t trials; /* the maximum number of points; 0: no limit */
    double (*expected)(void *user,
                       const struct tune_point *); /* from the cost model, in any unit, only for ranking; may be NULL */
    void *user;
    bool (*stop)(void *user); /* called while waiting for a command: whether the search should end; may be NULL */
};
struct search;
/* `name`: one of search_names, or pipe:COMMAND. NULL after a message: the name is unknown, or the command does not
   start. Equal requests and equal results give the same order of points. */
struct search *search_open(const char *name, const struct search_request *request, const struct options *o);
/* The next point to measure, and the number of samples that it should then have. Returns false when the search is
   over. A point may be returned again with more samples. Only a command may ask for the default point, whose ratio
   is 1, or for a point again without more samples. *failed: the user's own strategy violated the protocol (after a
   message). */
bool search_next(struct search *s, struct tune_point *point, int *samples, bool *failed);
/* Reports the result of the last point of search_next, with all its samples. */
void search_tell(struct search *s, const struct tune_point *point, const struct tune_result *result);
void search_close(struct search *s);
/* Whether there is a strategy of that name; prints an error if not. */
bool search_known(const char *name, const struct options *o);

#endif
