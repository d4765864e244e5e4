/* Tests that a signal handler may call a kernel that it interrupts, on matrix units. Two threads call the kernel.
 * - KERNEL is the C file of a kernel named matrix with head_dim 64.
 * - The build has no OpenMP, because a signal handler may not call it.
 * - The program prints the number of interrupted calls. Exit status 1 means other bits. */
#include KERNEL

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { D = 64, LONG = 150, SHORT = 33, THREADS = 2, ENOUGH = 60 };
static const double SECONDS = 30; /* the maximum duration of the test */

struct call_of {
    uint16_t q[LONG * D], k[LONG * D], v[LONG * D], out[LONG * D], expected[LONG * D];
    void *workspace;
    int n;
};

static _Thread_local struct call_of *inside; /* this thread's call inside the signal handler */
static _Thread_local volatile sig_atomic_t running;
static volatile sig_atomic_t interrupted, wrong;

static int call_it(struct call_of *c)
{
    const struct attn_problem p = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = c->n, .n_k = c->n, .threads = 1};
    return matrix_forward(&p, NULL, c->q, c->k, c->v, c->out, c->workspace);
}

static int same(const struct call_of *c)
{
    return memcmp(c->out, c->expected, sizeof *c->out * (size_t)c->n * D) == 0;
}

static void handle(int number)
{
    (void)number;
    if (!running) return;
#ifdef ATTN_EMULATE_TILES /* This copy replaces the one that the system makes of real tile registers. */
    __typeof__(emulated_tile[0]) saved[8];
    memcpy(saved, emulated_tile, sizeof saved);
#endif
    memset(inside->out, 0, sizeof inside->out);
    if (call_it(inside) != 0 || !same(inside)) wrong = 1;
    __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
#ifdef ATTN_EMULATE_TILES
    memcpy(emulated_tile, saved, sizeof saved);
#endif
}

static int prepare(struct call_of *c, int n, uint32_t seed)
{
    const struct attn_problem p = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = n, .n_k = n, .threads = 1};
    c->n = n;
    c->workspace = aligned_alloc(64, (matrix_workspace(&p) + 63) / 64 * 64);
    for (int k = 0; k < n * D; k++) {
        uint16_t *const to[] = {&c->q[k], &c->k[k], &c->v[k]};
        for (int a = 0; a < 3; a++) {
            seed = seed * 1664525 + 1013904223;
            *to[a] = (uint16_t)(0x3e00 + (seed >> 16 & 0x81ff)); /* up to 2 in absolute value */
        }
    }
    const int error = c->workspace ? call_it(c) : ATTN_EMEMORY;
    memcpy(c->expected, c->out, sizeof c->out);
    return error;
}

static void *work(void *argument)
{
    struct call_of *const c = argument;
    inside = c + 1;
    const time_t until = time(NULL) + (time_t)SECONDS;
    while (interrupted < ENOUGH && !wrong && time(NULL) < until) {
        memset(c->out, 0, sizeof c->out);
        running = 1;
        const int error = call_it(c);
        running = 0;
        if (error || !same(c)) wrong = 1;
    }
    return NULL;
}

int main(void)
{
    static struct call_of call[THREADS][2];
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 1700}, {0, 1700}}, never = {{0, 0}, {0, 0}};
    pthread_t thread[THREADS];
    sigset_t alarms;
    for (int t = 0; t < THREADS; t++)
        for (int k = 0; k < 2; k++)
            if (prepare(&call[t][k], k ? SHORT : LONG, (uint32_t)(2 * t + k)) != 0) return 2;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    if (sigaction(SIGALRM, &action, NULL) != 0) return 2;
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&thread[t], NULL, work, call[t]) != 0) return 2;
    pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* only the two threads get the signals */
    setitimer(ITIMER_REAL, &often, NULL);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", (int)interrupted);
    return wrong;
}
