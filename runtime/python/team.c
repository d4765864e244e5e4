/* Threads for kernels that were compiled without OpenMP, as a struct attn_team (attnrt.h). The kernels of the
   package have no OpenMP. */
#include "../attnrt.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>

#if defined __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() ((void)0)
#endif

enum { MAX_WORKERS = 1023, SPINS = 2000, PATIENCE = 4000 };

/* The members after `wake` are guarded by `lock`, except atomic reads while threads spin. */
static struct {
    pthread_mutex_t busy; /* held during a call of `run`; another call meanwhile has no workers */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int workers, asleep;
    uint64_t job; /* counts the calls */
    /* `left` counts the places that no worker has taken. `running` counts the workers that have not finished. */
    unsigned left, running;
    void (*work)(void *);
    void *context;
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* The barrier of the threads of one call. */
static struct {
    unsigned arrived, round, size;
} meeting;

static _Thread_local unsigned mates = 1; /* the threads of the call that this thread works for */

static void spin(unsigned *count)
{
    if (++*count < PATIENCE)
        PAUSE();
    else
        sched_yield();
}

static void *serve(void *unused)
{
    uint64_t seen = 0;
    for (;;) {
        for (int k = 0; k < SPINS && __atomic_load_n(&pool.job, __ATOMIC_ACQUIRE) == seen; k++) PAUSE();
        pthread_mutex_lock(&pool.lock);
        while (pool.job == seen || pool.left == 0) {
            seen = pool.job;
            pool.asleep++;
            pthread_cond_wait(&pool.wake, &pool.lock);
            pool.asleep--;
        }
        seen = pool.job;
        pool.left--;
        void (*const work)(void *) = pool.work;
        void *const context = pool.context;
        pthread_mutex_unlock(&pool.lock);
        mates = __atomic_load_n(&meeting.size, __ATOMIC_RELAXED);
        work(context);
        __atomic_fetch_sub(&pool.running, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

/* Starts workers until there are `count`. Returns how many there are. */
static unsigned start(unsigned count)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    while ((unsigned)pool.workers < count && pool.workers < MAX_WORKERS) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, NULL) != 0) break;
        pthread_detach(thread);
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return (unsigned)pool.workers;
}

static void run(void (*work)(void *), void *context, unsigned threads, unsigned flags)
{
    (void)flags;
    const unsigned before = mates;
    if (threads < 2 || before > 1 || pthread_mutex_trylock(&pool.busy) != 0) {
        mates = 1;
        work(context);
        mates = before;
        return;
    }
    unsigned others = threads - 1;
    if ((unsigned)pool.workers < others) {
        const unsigned there = start(others);
        if (there < others) others = there;
    }
    __atomic_store_n(&meeting.size, others + 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&pool.lock);
    pool.work = work;
    pool.context = context;
    pool.left = others;
    __atomic_store_n(&pool.running, others, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.job, pool.job + 1, __ATOMIC_RELEASE);
    if (pool.asleep > 0) pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    mates = others + 1;
    work(context);
    mates = before;
    for (unsigned count = 0; __atomic_load_n(&pool.running, __ATOMIC_ACQUIRE) > 0;) spin(&count);
    pthread_mutex_unlock(&pool.busy);
}

static void barrier(void)
{
    if (mates < 2) return;
    const unsigned round = __atomic_load_n(&meeting.round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&meeting.arrived, 1, __ATOMIC_ACQ_REL) == mates) {
        __atomic_store_n(&meeting.arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&meeting.round, round + 1, __ATOMIC_RELEASE);
        return;
    }
    for (unsigned count = 0; __atomic_load_n(&meeting.round, __ATOMIC_ACQUIRE) == round;) spin(&count);
}

/* Resets the pool in a forked process. That process has none of the workers, and its copies of the locks may be
   held. */
static void forget(void)
{
    pthread_mutex_init(&pool.busy, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pool.workers = pool.asleep = 0;
    pool.left = pool.running = 0;
    meeting.arrived = 0;
    mates = 1;
}

static void register_forget(void)
{
    pthread_atfork(NULL, NULL, forget);
}

__attribute__((visibility("default"))) const struct attn_team *attnc_team(void)
{
    static const struct attn_team team = {run, barrier};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_forget);
    return &team;
}
