/* What the strategies share, for the files of tune/search/ only. */
#ifndef ATTNC_TUNE_SEARCH_STRATEGY_H
#define ATTNC_TUNE_SEARCH_STRATEGY_H

#include "search.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

enum search_answer { SEARCH_POINT, SEARCH_OVER, SEARCH_FAILED };

/* A strategy: its state lives in the arena, which is freed after `close`. */
struct strategy {
    const char *name;
    /* `argument`: what follows the colon of pipe:COMMAND. NULL after a message. */
    void *(*open)(struct arena *arena, const struct search_request *request, const char *argument,
                  const struct options *o);
    /* As search_next and search_tell, which keep to the limit of trials. */
    enum search_answer (*next)(void *state, struct tune_point *point, int *samples);
    void (*tell)(void *state, const struct tune_point *point, const struct tune_result *result);
    void (*close)(void *state); /* or NULL */
};
extern const struct strategy search_halving, search_model, search_pipe;

/* Samples of a first look, of a trial, and of one that a choice rests on; the most that a command may ask for. */
enum { FEW_SAMPLES = 3, TRIAL_SAMPLES = 7, SURE_SAMPLES = 21, MAX_SAMPLES = 10000 };

/* 64 bits: number `k` of a stream, by Philox. The same for the same three numbers, on every machine. */
uint64_t search_bits(uint64_t seed, uint64_t stream, uint64_t k);
enum { STREAM_ORDER, STREAM_DESIGN = 16 }; /* the order takes a stream for each of its rounds */
/* Number k of the whole numbers below `count`, shuffled. */
int64_t search_shuffled(uint64_t seed, int64_t count, int64_t k);

/* The points that a search considers: all but the default one, or where there are more than `max` a part drawn at
   random, with room for others. */
struct search_pool {
    int count;
    int64_t *number;  /* ascending where all are there, else in the order of the draw */
    double *expected; /* log of the cost model's seconds; infinity: it expects none */
    int *ranked;      /* indices, the best expected first; ties by number */
};
struct search_pool search_pool_make(struct arena *arena, const struct search_request *request, int max, int room);
/* The log of what the cost model expects; infinity where it says nothing of use. */
double search_expected(const struct search_request *request, int64_t number);

/* The log of the ratio that was measured; infinity where nothing was, whatever the reason. */
double search_score(const struct tune_result *result);

void search_learn_nothing(void *state, const struct tune_point *point, const struct tune_result *result);

#endif
