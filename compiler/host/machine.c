/* Measures the peak rate of multiply-adds and the memory bandwidth of this machine. Reads its cache and memory sizes
   from the operating system. */
#include "code.h"
#include "host.h"
#include "probe.h"
#include "../support/support.h"
#include "../../runtime/attnrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The duration of each of the first FIRST_REPEATS measurements. Other work on the machine disturbs only some of
   them. */
static const double FIRST_SECONDS = 0.03;

enum { MAX_MEASURED = 128, FIRST_REPEATS = 5, MAX_REPEATS = 64 };
enum quantity { PEAK_F32, PEAK_F64, PEAK_UNITS, BANDWIDTH, READING };
struct machine {
    struct loaded_code code;
    const struct machine_probe *probe;
    struct measured {
        enum quantity what;
        int threads;
        /* `best` is the maximum rate, in FLOPs or bytes per second. took[n] is 1 / rate of measurement n. */
        double best, took[MAX_REPEATS];
        int repeats;
    } measured[MAX_MEASURED];
    int count;
};

struct machine *machine_open(struct arena *arena, bool quiet, enum status *status)
{
    struct machine *m = arena_alloc(arena, sizeof *m);
    *status = code_load("probe", machine_probe_source, machine_probe_header, "machine_probe", quiet, &m->code);
    m->probe = m->code.symbol;
    return *status == STATUS_DONE ? m : NULL;
}

void machine_close(struct machine *m)
{
    if (m) code_unload(&m->code);
}

int machine_threads(const struct machine *m)
{
    return m->probe->threads();
}

const char *machine_vectors(const struct machine *m)
{
    return m->probe->vectors();
}

/* Returns the number after `key` in the first line of the file that starts with `key` and a number. Returns -1 if
   there is none. */
static int64_t number_in(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int64_t number = -1;
    while (file && number < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        char *end, *text = line + strlen(key);
        long long value = strtoll(text, &end, 10);
        if (end > text) number = value;
    }
    if (file) fclose(file);
    return number;
}

/* Prefers the size that the operating system reports for the first core. sysconf reports the size of a whole socket,
   even to a virtual machine that has only a part of the socket. */
int64_t machine_cache(void)
{
    int64_t max = 0;
    for (int index = 0; index < 8; index++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        int64_t kib = number_in(path, "");
        if (kib * 1024 > max) max = kib * 1024;
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (max == 0) max = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return max > 0 ? max : INT64_C(32) << 20;
}

int64_t machine_memory(void)
{
    int64_t free_kib = number_in("/proc/meminfo", "MemAvailable:"), free = free_kib >= 0 ? free_kib * 1024 : INT64_MAX;
    /* a container may have a lower limit */
    int64_t max = number_in("/sys/fs/cgroup/memory.max", ""), used = number_in("/sys/fs/cgroup/memory.current", "");
    if (max >= 0 && used >= 0 && max - used < free) free = max > used ? max - used : 0;
    return free;
}

const char *machine_text(struct arena *arena)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256], model[128] = "unknown processor";
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %127[^\n]", model) == 1) break;
    if (file) fclose(file);
    return arena_printf(arena, "%s, %ld processors, %lld KiB of cache", model, sysconf(_SC_NPROCESSORS_ONLN),
                        (long long)(machine_cache() / 1024));
}

/* Three arrays in one block of memory, to measure the bandwidth. */
struct arrays {
    double *data;
    int64_t each; /* the number of elements of each array */
    bool fresh;   /* nothing has been written to the memory yet */
};

/* Allocates one block for the three arrays. Its size is 4 times the largest cache, at least 96 MiB, and at most a
   quarter of the free memory. */
static struct arrays arrays_open(void)
{
    int64_t bytes = 4 * machine_cache(), max = machine_memory() / 4;
    if (bytes < INT64_C(96) << 20) bytes = INT64_C(96) << 20;
    if (bytes > max) bytes = max;
    return (struct arrays){attn_alloc((size_t)bytes), bytes / 24, true};
}

/* Returns the measurements of a quantity for a number of threads. */
static struct measured *find(struct machine *m, enum quantity what, int threads)
{
    for (int k = 0; k < m->count; k++)
        if (m->measured[k].what == what && m->measured[k].threads == threads) return &m->measured[k];
    struct measured *k = &m->measured[m->count < MAX_MEASURED ? m->count++ : MAX_MEASURED - 1];
    *k = (struct measured){.what = what, .threads = threads};
    return k;
}

/* Measures k once more, for `seconds`. Keeps the maximum rate, because other work only lowers a rate. */
static void measure_once(const struct machine *m, struct measured *k, struct arrays *a, double seconds)
{
    double rate = 0;
    if (k->what == PEAK_UNITS)
        rate = m->probe->units(k->threads, seconds);
    else if (k->what < PEAK_UNITS)
        rate = m->probe->peak(k->what == PEAK_F64, k->threads, seconds);
    else if (a->data && k->what == READING)
        rate = m->probe->reading(a->data, 3 * a->each, k->threads, a->fresh, seconds);
    else if (a->data)
        rate = m->probe->triad(a->data, a->data + a->each, a->data + 2 * a->each, a->each, k->threads, a->fresh,
                               seconds);
    a->fresh &= k->what < BANDWIDTH;
    if (rate > k->best) k->best = rate;
    if (rate > 0 && k->repeats < MAX_REPEATS) k->took[k->repeats++] = 1 / rate;
}

/* Returns the measurements of a quantity, after measuring if host.h requires it. The first measurements of a peak
   alternate with measurements of the bandwidth. */
static const struct measured *measure(struct machine *m, enum quantity what, int threads, double again)
{
    struct measured *k = find(m, what, threads), *memory = find(m, BANDWIDTH, threads);
    const bool first = k->repeats == 0;
    if (!first && again <= 0) return k;
    struct measured *const each[] = {k, first && what < BANDWIDTH && memory->repeats == 0 ? memory : NULL};
    struct arrays arrays = {NULL, 0, false};
    if (what >= BANDWIDTH || each[1]) arrays = arrays_open();
    for (int n = 0; n < (first ? FIRST_REPEATS : 1); n++)
        for (int e = 0; e < 2; e++)
            if (each[e]) measure_once(m, each[e], &arrays, first ? FIRST_SECONDS : again);
    attn_free(arrays.data);
    return k;
}

static enum quantity peak_of(enum dtype dtype)
{
    return dtype_of_sums(dtype) == DTYPE_F64 ? PEAK_F64 : PEAK_F32;
}

double machine_peak(struct machine *m, enum dtype dtype, int threads, double again)
{
    return measure(m, peak_of(dtype), threads, again)->best;
}

double machine_unit_peak(struct machine *m, int threads, double again)
{
    return measure(m, PEAK_UNITS, threads, again)->best;
}

double machine_bandwidth(struct machine *m, int threads, double again)
{
    return measure(m, BANDWIDTH, threads, again)->best;
}

double machine_reading(struct machine *m, int threads, double again)
{
    return measure(m, READING, threads, again)->best;
}

double machine_peak_spread(struct machine *m, enum dtype dtype, int threads)
{
    const struct measured *k = measure(m, peak_of(dtype), threads, 0);
    return repeats_spread(k->took, k->repeats);
}

double machine_unit_peak_spread(struct machine *m, int threads)
{
    const struct measured *k = measure(m, PEAK_UNITS, threads, 0);
    return repeats_spread(k->took, k->repeats);
}
