/* Functions shared by strategies, only for the files of tune/search/. */
#ifndef ATTNC_TUNE_SEARCH_STRATEGY_H
#define ATTNC_TUNE_SEARCH_STRATEGY_H

#include "search.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

enum search_answer { SEARCH_POINT, SEARCH_OVER, SEARCH_FAILED };

/* A strategy. Its state is allocated in the arena, which is freed after `close`. */
struct strategy {
    const char *name;
    /* `argument`: the text after the colon of pipe:COMMAND. Returns NULL after a message. */
    void *(*open)(struct arena *arena, const struct search_request *request, const char *argument,
                  const struct options *o);
    /* Like search_next and search_tell, which enforce the limit of trials. */
    enum search_answer (*next)(void *state, struct tune_point *point, int *samples);
    void (*tell)(void *state, const struct tune_point *point, const struct tune_result *result);
    void (*close)(void *state); /* may be NULL */
};
extern const struct strategy search_halving, search_model, search_pipe;

/* The number of samples: of a first measurement, of a trial, of a point that is chosen, and the maximum that a
   command may ask for. */
enum { FEW_SAMPLES = 3, TRIAL_SAMPLES = 7, SURE_SAMPLES = 21, MAX_SAMPLES = 10000 };

/* 64 random bits: number `k` of a stream, by Philox. Equal arguments give equal bits on every machine. */
uint64_t search_bits(uint64_t seed, uint64_t stream, uint64_t k);
enum { STREAM_ORDER, STREAM_DESIGN = 16 }; /* each round of the order uses one stream */
/* The k-th of the integers below `count` in a shuffled order. */
int64_t search_shuffled(uint64_t seed, int64_t count, int64_t k);

/* The points that a search considers: all points except the default one, or, if there are more than `max`, a random
   part of them, with room for more. */
struct search_pool {
    int count;
    int64_t *number;  /* ascending if all points are included, else in the order in which they were drawn */
    double *expected; /* log of the seconds that the cost model expects; infinity: no expectation */
    int *ranked;      /* indices, the lowest expectation first; ties by number */
};
struct search_pool search_pool_make(struct arena *arena, const struct search_request *request, int max, int room);
/* The log of the cost model's expectation; infinity if it has none. */
double search_expected(const struct search_request *request, int64_t number);

/* The log of the measured ratio; infinity if nothing was measured, for any reason. */
double search_score(const struct tune_result *result);

void search_learn_nothing(void *state, const struct tune_point *point, const struct tune_result *result);

#endif
