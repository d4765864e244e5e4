/* Declarations that the strategies share. Only files of tune/search/ include this header. */
#ifndef ATTNC_TUNE_SEARCH_STRATEGY_H
#define ATTNC_TUNE_SEARCH_STRATEGY_H

#include "search.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

enum search_answer { SEARCH_POINT, SEARCH_OVER, SEARCH_FAILED };

/* A strategy. `open` returns its state, allocated in the arena. The arena is freed after `close`. */
struct strategy {
    const char *name;
    /* `argument` is COMMAND for pipe:COMMAND, and NULL for other strategies. On failure, prints a message and
       returns NULL. */
    void *(*open)(struct arena *arena, const struct search_request *request, const char *argument,
                  const struct options *o);
    /* `next` and `tell` do what search_next and search_tell do. Only search_next limits the number of trials. */
    enum search_answer (*next)(void *state, struct tune_point *point, int *samples);
    void (*tell)(void *state, const struct tune_point *point, const struct tune_result *result);
    void (*close)(void *state); /* may be NULL */
};
extern const struct strategy search_halving, search_model, search_pipe;

/* Numbers of samples:
   - FEW_SAMPLES: in the first round of `halving`
   - TRIAL_SAMPLES: the default
   - SURE_SAMPLES: enough to decide between good points
   - MAX_SAMPLES: the most that a user's command may ask for */
enum { FEW_SAMPLES = 3, TRIAL_SAMPLES = 7, SURE_SAMPLES = 21, MAX_SAMPLES = 10000 };

/* Returns the k-th 64 random bits of a stream (Philox). They are equal on all machines. */
uint64_t search_bits(uint64_t seed, uint64_t stream, uint64_t k);
enum { STREAM_ORDER, STREAM_DESIGN = 16 }; /* search_shuffled uses the streams STREAM_ORDER + 0, 1, ..., 5 */
/* Returns element k of a random permutation of 0, 1, ..., count - 1. */
int64_t search_shuffled(uint64_t seed, int64_t count, int64_t k);

/* The points that a search considers: all points of the space except the default point. If there are more than
   `max`, the pool is a random sample of `max` points. The arrays have room for `room` more points. */
struct search_pool {
    int count;
    int64_t *number;  /* point numbers, ascending if the pool has all points, otherwise in random order */
    double *expected; /* log of the cost model's prediction, or infinity */
    int *ranked;      /* indices of points by ascending prediction; ties by point number */
};
struct search_pool search_pool_make(struct arena *arena, const struct search_request *request, int max, int room);
/* Returns the log of the cost model's prediction for point `number`, or infinity. */
double search_expected(const struct search_request *request, int64_t number);

/* Returns the log of the measured ratio, or infinity if the point failed. Lower is better. */
double search_score(const struct tune_result *result);

/* Does nothing. It is the `tell` of strategies that ignore results. */
void search_learn_nothing(void *state, const struct tune_point *point, const struct tune_result *result);

#endif
