/* What the machine that attnc runs on can do: its peak of multiply-adds, the bandwidth and the size of its memory. */
#include "compiler.h"

#include "../runtime/attnrt.h"
#include "machine_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double SECONDS = 0.15; /* for what is first measured */

enum { MOST_MEASURED = 64 };
enum quantity { PEAK_F32, PEAK_F64, BANDWIDTH };
struct machine {
    struct loaded_code code;
    const struct machine_probe *probe;
    struct measured {
        enum quantity what;
        int threads;
        double value;
    } measured[MOST_MEASURED];
    int count;
};

struct machine *machine_open(struct arena *arena, bool quiet, enum status *status)
{
    struct machine *m = arena_alloc(arena, sizeof *m);
    *status = code_load("machine_probe", machine_probe_source, machine_probe_header, "machine_probe", quiet, &m->code);
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

/* The number in a file that begins with one, or the number behind `key` in a file of lines; -1: there is none. */
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

/* What the kernel of the system says of the first core's caches; the C library asks the processor, which says of a whole socket what a guest has a part of. */
int64_t machine_cache(void)
{
    int64_t most = 0;
    for (int index = 0; index < 8; index++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        int64_t kib = number_in(path, "");
        if (kib * 1024 > most) most = kib * 1024;
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (most == 0) most = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return most > 0 ? most : INT64_C(32) << 20;
}

int64_t machine_memory(void)
{
    int64_t free_kib = number_in("/proc/meminfo", "MemAvailable:"), free = free_kib >= 0 ? free_kib * 1024 : INT64_MAX;
    /* a container's own limit */
    int64_t most = number_in("/sys/fs/cgroup/memory.max", ""), used = number_in("/sys/fs/cgroup/memory.current", "");
    if (most >= 0 && used >= 0 && most - used < free) free = most > used ? most - used : 0;
    return free;
}

const char *machine_text(struct arena *arena)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256], model[128] = "unknown processor";
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %127[^\n]", model) == 1) break;
    if (file) fclose(file);
    return arena_printf(arena, "%s, %ld processors, %lld KiB of cache", model, sysconf(_SC_NPROCESSORS_ONLN), (long long)(machine_cache() / 1024));
}

static double triad(const struct machine *m, int threads, double seconds)
{
    int64_t bytes = 4 * machine_cache(), most = machine_memory() / 4;
    if (bytes < INT64_C(96) << 20) bytes = INT64_C(96) << 20;
    if (bytes > most) bytes = most;
    int64_t n = bytes / 24;
    double *a = attn_alloc((size_t)n * 24);
    double rate = a ? m->probe->triad(a, a + n, a + 2 * n, n, threads, seconds) : 0;
    attn_free(a);
    return rate;
}

/* The best that was ever seen: whatever else the machine does only makes it less. */
static double measure(struct machine *m, enum quantity what, int threads, double seconds)
{
    struct measured *known = NULL;
    for (int k = 0; k < m->count; k++)
        if (m->measured[k].what == what && m->measured[k].threads == threads) known = &m->measured[k];
    if (known && seconds <= 0) return known->value;
    if (!known) seconds = SECONDS;
    double value = what == BANDWIDTH ? triad(m, threads, seconds) : m->probe->peak(what == PEAK_F64, threads, seconds);
    if (known && value > known->value) known->value = value;
    if (known) return known->value;
    if (m->count < MOST_MEASURED) m->measured[m->count++] = (struct measured){what, threads, value};
    return value;
}

double machine_peak(struct machine *m, enum dtype dtype, int threads, double again)
{
    return measure(m, dtype_of_sums(dtype) == DTYPE_F64 ? PEAK_F64 : PEAK_F32, threads, again);
}

double machine_bandwidth(struct machine *m, int threads, double again)
{
    return measure(m, BANDWIDTH, threads, again);
}
