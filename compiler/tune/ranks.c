/* A search whose parts run as ranks of mpirun or Slurm. Each rank measures its part and stores results in its own file,
   because SQLite's locks are not reliable on network file systems. A rank that ends adds its file to the database,
   and writes SPEC.tuned.yaml from all results that are there by then. So ranks do not wait for each other. */
#include "options.h"
#include "tuning.h"
#include "../support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The variables in which launchers tell a process its rank and their number. */
static const struct {
    const char *rank, *ranks;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* Open MPI */
                 {"PMI_RANK", "PMI_SIZE"},                         /* MPICH, Intel MPI */
                 {"SLURM_PROCID", "SLURM_NTASKS"}};

static bool number_of(const char *name, int64_t max, int64_t *out)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return !*end && !errno && *out >= 0 && *out <= max;
}

bool ranks_launched(int64_t *rank, int64_t *ranks)
{
    const int64_t max = 1 << 20;
    for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++)
        if (number_of(launchers[k].ranks, max, ranks) && number_of(launchers[k].rank, max, rank) && *rank < *ranks)
            return *ranks > 1;
    return false;
}

/* Opens a file and locks it, so that one rank at a time joins its results. Returns -1 if that is impossible. */
static int lock_of(const struct tuning *t)
{
    const char *path = arena_printf(t->arena, "%s.lock", t->request.database);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int locked = fd < 0 ? -1 : 0;
    if (fd >= 0) do
            locked = flock(fd, LOCK_EX);
        while (locked != 0 && errno == EINTR);
    if (locked == 0) return fd;
    complain(t->o, "cannot lock %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

static void remove_own(const struct tuning *t)
{
    static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
    for (size_t k = 0; k < sizeof suffix / sizeof *suffix; k++)
        unlink(arena_printf(t->arena, "%s%s", t->request.own, suffix[k]));
}

/* Whether the run has a result at this point. */
static bool has_point(const struct tune_run *run, const struct tune_space *space, const struct tune_point *point)
{
    bool has = false;
    for (int k = 0; k < run->trials; k++)
        has |= run->trial[k].result.status == TUNE_MEASURED &&
               point_number(space, &run->trial[k].point) == point_number(space, point);
    return has;
}

/* Replaces the outcome for a shape by the one of all ranks whose results are in the database. */
static bool of_all_ranks(struct tuning *t, struct outcome *of)
{
    int64_t id;
    struct tune_experiment experiment = of->run.experiment;
    if (!store_run(t->store, &experiment, t->request.strategy, t->request.seed, true, &id)) return false;
    const struct tune_run *run = store_run_read(t->store, id, true, t->arena);
    if (!run) return false;
    of->run = *run;
    for (int k = 0; k < run->trials; k++) of->measured |= run->trial[k].result.status == TUNE_MEASURED;
    const struct tuned_entry *in_force = tuned_in_force(&t->file_has, experiment.shape.length);
    struct tune_point point;
    of->compared |= !in_force || (tuned_point(&experiment.space, experiment.shape.backward, in_force, &point) &&
                                  has_point(run, &experiment.space, &point));
    return true;
}

enum status ranks_join(struct tuning *t, struct outcome *outcome, int count)
{
    enum status status = STATUS_MACHINE;
    const int lock = lock_of(t);
    if (lock < 0) return STATUS_MACHINE;
    store_close(t->store);
    t->store = store_open(t->request.database, false, t->o, &status);
    bool done = t->store && store_merge(t->store, t->request.own);
    for (int k = 0; k < count && done; k++) done = of_all_ranks(t, &outcome[k]);
    if (done) {
        remove_own(t);
        mention(t->o, "", "rank %lld of %lld: its results are in %s", (long long)t->request.shard,
                (long long)t->request.shards, t->request.database);
        status = count > 0 ? tuning_write(t, outcome, count) : STATUS_DONE;
    } else if (status == STATUS_DONE)
        status = STATUS_MACHINE;
    close(lock);
    return status;
}
