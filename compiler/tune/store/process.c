/* Tells whether the process that began a trial still runs. A killed process cannot report its end. So each trial
   stores a description of its process. */
#include "connection.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const double A_DAY = 86400;

/* A process id is valid on one machine, since one boot, in one container. The string "-" means unknown. */
struct place {
    char machine[65], boot[65], container[65];
};

static struct place this_place(void)
{
    struct place p = {"-", "-", "-"};
    struct utsname name;
    if (uname(&name) == 0 && *name.nodename) snprintf(p.machine, sizeof p.machine, "%.64s", name.nodename);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && fscanf(file, "%64s", p.boot) != 1) strcpy(p.boot, "-");
    if (file) fclose(file);
    const ssize_t got = readlink("/proc/self/ns/pid", p.container, sizeof p.container - 1);
    if (got > 0) p.container[got] = 0;
    return p;
}

/* Returns the start time of the process in clock ticks since boot, or 0 if it is not running. */
static unsigned long long process_begun(long id)
{
    char path[64], line[1024], state;
    snprintf(path, sizeof path, "/proc/%ld/stat", id);
    FILE *file = fopen(path, "r");
    unsigned long long begun = 0;
    /* Fields in proc(5): 2 is the name in brackets, which may contain blanks and brackets. 3 is the state. 22 is the
       start time. */
    const char *after = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (after &&
        sscanf(after + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
               &begun) == 2 &&
        (state == 'Z' || state == 'X'))
        begun = 0;
    if (file) fclose(file);
    return begun;
}

const char *process_here(struct arena *arena)
{
    const struct place p = this_place();
    return arena_printf(arena, "%s %s %s %ld %llu", p.machine, p.boot, p.container, (long)getpid(),
                        process_begun(getpid()));
}

bool process_gone(const char *process, double begun)
{
    const struct place here = this_place();
    struct place p;
    long id;
    unsigned long long started;
    if (sscanf(process, "%64s %64s %64s %ld %llu", p.machine, p.boot, p.container, &id, &started) != 5) return true;
    const bool same_machine = strcmp(p.machine, here.machine) == 0,
               same_boot = strcmp(p.boot, here.boot) == 0 && strcmp(p.boot, "-") != 0;
    if (same_machine && !same_boot) return true;
    if (same_boot && strcmp(p.container, here.container) == 0 && started > 0) return process_begun(id) != started;
    return store_now() - begun > A_DAY; /* a process in another place cannot be checked from here */
}
