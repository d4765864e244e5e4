/* Strategies that choose the points of the space to measure. */
#ifndef ATTNC_TUNE_SEARCH_H
#define ATTNC_TUNE_SEARCH_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

struct search_request {
    const struct tune_space *space;
    uint64_t seed;
    int64_t trials; /* that may be asked for; 0: no limit */
    double (*expected)(void *user,
                       const struct tune_point *); /* of the cost model, in any unit: for ranking; may be NULL */
    void *user;
    bool (*stop)(void *user); /* asked while a command is waited for: whether the search should be over; may be NULL */
};
struct search;
/* `name`: one of search_names, or pipe:COMMAND. NULL after a message: an unknown name, a command that does not start.
   Same request, same answers: same order of points. */
struct search *search_open(const char *name, const struct search_request *request, const struct options *o);
/* The next point to measure, and how many samples it should have by then; false: the search is over. A point may come
   again, with more; only a command asks for the default point, whose ratio is 1, and perhaps for a point again with no
   more. *failed: the user's own strategy broke its promises (a message was given). */
bool search_next(struct search *s, struct tune_point *point, int *samples, bool *failed);
/* What came of the point that search_next gave last, with all its samples. */
void search_tell(struct search *s, const struct tune_point *point, const struct tune_result *result);
void search_close(struct search *s);
/* Whether there is a strategy of that name; says so if not. */
bool search_known(const char *name, const struct options *o);
extern const char *const search_names[]; /* NULL at the end */
extern const char pipe_help[];           /* what a user's own strategy has to read and write */

#endif
