/* A team runs a call on threads of the caller instead of OpenMP's. Each call creates the threads. */
#ifndef TEAM_H
#define TEAM_H

#include "attnrt.h"

#include <pthread.h>
#include <stdlib.h>

enum { TEAM_THREADS = 4 }; /* the maximum number of threads; a call that asks for more gets 4 */
static int team_runs;      /* the number of calls that ran on the team */
static pthread_barrier_t team_meeting;
struct team_work {
    void (*work)(void *);
    void *context;
};

static void *team_member(void *argument)
{
    const struct team_work *w = (struct team_work *)argument;
    w->work(w->context);
    return NULL;
}

static void team_run(void (*work)(void *), void *context, unsigned threads, unsigned flags)
{
    pthread_t thread[TEAM_THREADS];
    struct team_work w = {work, context};
    if (flags) abort();
    team_runs++;
    if (threads > TEAM_THREADS) threads = TEAM_THREADS;
    if (pthread_barrier_init(&team_meeting, NULL, threads)) abort();
    for (unsigned t = 1; t < threads; t++)
        if (pthread_create(&thread[t], NULL, team_member, &w)) abort();
    work(context);
    for (unsigned t = 1; t < threads; t++) pthread_join(thread[t], NULL);
    pthread_barrier_destroy(&team_meeting);
}

static void team_barrier(void)
{
    pthread_barrier_wait(&team_meeting);
}

static const struct attn_team own_team = {team_run, team_barrier};

#endif
