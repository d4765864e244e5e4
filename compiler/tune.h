/* What the files of attnc tune share: the space of schedules (knobs.c), strategies that choose points of it (tune_search.c, tune_pipe.c), the process that
   measures one (tune_trial.c), results in SQLite (tune_store.c and its parts, tune_store.h), what is told and drawn of them (tune_result.c, tune_query.c,
   tune_export.c, tune_report.c), the command (tune.c). */
#ifndef ATTNC_TUNE_H
#define ATTNC_TUNE_H

#include "compiler.h"

enum { MOST_KNOBS = 12, MOST_VALUES = 24, MOST_SHAPES = 64 };

/* ---- the space ---- */

/* A knob that a pass declares, for one spec: the values worth trying, ascending, and which of them is the compiler's own choice. */
struct tune_knob {
    const char *name, *says;
    int values, usual;
    int64_t value[MOST_VALUES];
};
struct tune_space {
    int knobs;
    struct tune_knob knob[MOST_KNOBS];
};
/* A schedule: for every knob of the space, which of its values. */
struct tune_point {
    int at[MOST_KNOBS];
};
/* The space of a product for the target that this machine would choose (or, where it runs none of them, the first), around what is usual for so many
   keys: of a crossover the values are then 1 and never. Whatever the product's own schedule says, the usual values are those without one. (knobs.c) */
void knob_space(const struct product *p, int64_t keys, struct tune_space *space);
/* Points of the space; saturates at INT64_MAX. The number of a point, from 0, and back. */
int64_t space_points(const struct tune_space *s);
int64_t point_number(const struct tune_space *s, const struct tune_point *p);
struct tune_point point_of(const struct tune_space *s, int64_t number);
struct tune_point point_usual(const struct tune_space *s);
/* "tile_q=64 tile_k=288". */
void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out);

/* What `attnc tune` writes: an entry of `schedule:`, with lines that become comments above it ('\n' between them, NULL: none). */
struct tuned_entry {
    int64_t from; /* 1 for the first */
    const char *says;
    int knobs;
    struct {
        const char *name;
        int64_t value;
    } knob[MOST_KNOBS];
    int64_t length; /* that it was found for; 0: not known */
};
/* The point that an entry is, for which the space gets the values that it lacks; false: the entry sets what the space has no knob for, or as no knob can
   be. (knobs.c) */
bool tuned_point(struct tune_space *s, const struct tuned_entry *e, struct tune_point *p);
/* The knobs of a point: none, where all are as usual; all but a usual crossover else, for usual values may depend on one another. */
struct tuned_entry tuned_entry(const struct tune_space *s, const struct tune_point *p, int64_t from, const char *says);
/* The text of a spec with these entries, 1 to MOST_SCHEDULES that ascend, as its schedule, in place of one that is there; all else stays as it is. `says`
   are lines for a comment above `schedule:`. Returns false where the text is no spec that attnc would read. (tuned_text.c) */
bool tuned_text(const char *spec, size_t length, const char *says, const struct tuned_entry *entry, int entries, struct text *out);
/* SPEC.tuned.yaml for SPEC.yaml; what a text of a spec means, as product_meaning_hash says it, and the spec, or NULL after reporting. (tuned.c) */
const char *tuned_path(struct arena *arena, const char *spec);
const char *spec_meaning_hash(struct arena *arena, const char *path, const char *text, size_t length, struct diagnostics *d, const struct spec **spec);
/* What is in SPEC.tuned.yaml. (tuned_merge.c) */
struct tuned_file {
    const char *path;
    bool there, other_spec; /* it means something else than SPEC.yaml, so that nothing in it is taken over */
    const char *base;       /* its text, to be written anew with another schedule; NULL: that of SPEC.yaml is better */
    const char *searched;   /* the comments above its schedule that say where it was searched, or NULL */
    struct tuned_entry entry[MOST_SCHEDULES];
    int entries;
};
/* False after a message: it is there and no spec. `text` is that of SPEC.yaml. */
bool tuned_read(const char *spec, const struct text *text, struct arena *arena, const struct options *o, struct tuned_file *out, enum status *status);
/* The length that an entry is for. */
int64_t tuned_length(const struct tuned_entry *e);
/* The entry for the length, or else the one that a kernel takes there; NULL: there is none. */
const struct tuned_entry *tuned_in_force(const struct tuned_file *file, int64_t length);
/* The file's entries with those that were found in place of those for the same lengths. How many; MOST_SCHEDULES + 1: more than a spec may have. */
int tuned_merge(const struct tuned_file *file, const struct tuned_entry *found, int count, struct tuned_entry *out);
/* `own`, after what the file says of where those entries were searched that are from it. */
const char *tuned_header(struct arena *arena, const struct tuned_file *file, const struct tuned_entry *entry, int entries, const char *own);

/* ---- what is known of a point ---- */

struct tune_shape {
    int64_t batch, heads, kv_heads, length; /* as many queries as keys */
    int threads;
};
enum tune_status {
    TUNE_RUNNING,     /* by a process that lives, as far as is known */
    TUNE_INTERRUPTED, /* that process ended before it had a result */
    TUNE_MEASURED,
    TUNE_WRONG,   /* what it computed is off by more than rounding */
    TUNE_CRASHED, /* a signal */
    TUNE_LATE,    /* beyond its time limit */
    TUNE_REFUSED  /* the compiler or the C compiler would not have it, or there was no memory */
};
extern const char *const tune_status_name[]; /* "running", "interrupted", "measured", "wrong", "crashed", "late", "refused" */

/* Calls of the candidate and of the usual schedule in turn: sample k has the seconds of both. */
struct tune_sample {
    double seconds, usual;
};
struct tune_result {
    enum tune_status status;
    char why[200];             /* where it is not MEASURED: for people */
    double work, peak;         /* useful FLOPs of a call; FLOPs a second that the machine reached at best; 0: not known */
    double bytes;              /* moved by a call, by the roofline; 0: not known */
    double bandwidth;          /* bytes a second that the machine reached at best; 0: not known */
    char code[65];             /* a hash of the C that was measured; "": not known */
    int samples;
    struct tune_sample *sample; /* malloc'd, or in an arena */
};
/* Whether it says something of the schedule. */
static inline bool tune_ended(const struct tune_result *r)
{
    return r->status > TUNE_INTERRUPTED;
}
/* The candidate's time over the usual schedule's: the median of the samples' quotients and its 95% confidence interval (of order statistics: no
   distribution assumed; from the least to the largest below 6 samples); infinity where there is no sample. */
struct tune_gain {
    double ratio, low, high;
};
struct tune_gain tune_gain(const struct tune_result *r);
/* Median seconds of the candidate; infinity without a sample. */
double tune_seconds(const struct tune_result *r);

/* ---- strategies (tune_search.c, tune_pipe.c) ---- */

struct search_request {
    const struct tune_space *space;
    uint64_t seed;
    int64_t trials;                                            /* that may be asked for; 0: no limit */
    double (*expected)(void *user, const struct tune_point *); /* of the cost model, in any unit: for ranking; may be NULL */
    void *user;
    bool (*stop)(void *user); /* asked while a command is waited for: whether the search should be over; may be NULL */
};
struct search;
/* `name`: one of search_names, or pipe:COMMAND. NULL after a message: an unknown name, a command that does not start. Same request, same answers: same
   order of points. */
struct search *search_open(const char *name, const struct search_request *request, const struct options *o);
/* The next point to measure, and how many samples it should have by then; false: the search is over. A point may come again, with more; only a command
   asks for the usual point, whose ratio is 1, and perhaps for a point again with no more. *failed: the user's own strategy broke its promises (a message
   was given). */
bool search_next(struct search *s, struct tune_point *point, int *samples, bool *failed);
/* What came of the point that search_next gave last, with all its samples. */
void search_tell(struct search *s, const struct tune_point *point, const struct tune_result *result);
void search_close(struct search *s);
/* Whether there is a strategy of that name; says so if not. */
bool search_known(const char *name, const struct options *o);
extern const char *const search_names[]; /* NULL at the end */
extern const char pipe_help[];            /* what a user's own strategy has to read and write */

/* ---- results on disk (tune_store.c) ---- */

/* Under what a search was made: trials of equal experiments may be joined. */
struct tune_experiment {
    const char *spec_name, *spec_hash, *spec_text; /* the hash of what the spec means, its schedule aside */
    const char *machine;                           /* processor, caches, threads: one line */
    const char *compiler, *attnc;                  /* "clang 19.1.7", "0.1" */
    const char *target;
    struct tune_shape shape;
    struct tune_space space;
};
struct tune_trial {
    int64_t id, same_as; /* 0, or the trial with the same C that was measured in place of this one: the result is of that one */
    double begun;        /* seconds since 1970 */
    struct tune_point point;
    struct tune_result result;
};
/* One search over one shape, as it was stored. */
struct tune_run {
    int64_t id;
    double begun;
    const char *strategy;
    uint64_t seed;
    struct tune_experiment experiment;
    int trials;
    struct tune_trial *trial; /* in the order in which they were begun */
};

struct store;
/* Opens, makes or migrates the database; with `readonly` it has to be there, and is not changed. NULL after a message: *status. Several processes may have it open,
   and any may die at any time: what was finished stays. A forked child opens its own. */
struct store *store_open(const char *file, bool readonly, const struct options *o, enum status *status);
void store_close(struct store *s);
/* Milliseconds that another process's lock is waited for. */
extern int store_patience;
/* These return false after a message (a full disk, a file that cannot be written, a lock that never came free). */
/* A run for the experiment: with `resume` the last one of an equal experiment, strategy and seed, if there is one. */
bool store_run(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed, bool resume, int64_t *run);
/* A trial of the run: new, or one that was interrupted and is begun again. */
bool store_begin(struct store *s, int64_t run, const struct tune_point *point, const struct tune_space *space, int64_t *trial);
/* Of a trial that was begun: nothing came of it. */
bool store_interrupt(struct store *s, int64_t trial);
/* The result of a trial that was begun is that of another, which was measured with the same C. */
bool store_share(struct store *s, int64_t trial, int64_t measured);
/* All that is known of the trial, samples of before included, in one transaction. */
bool store_finish(struct store *s, int64_t trial, const struct tune_result *result);
/* The last finished trial of a run (`anywhere`: of all runs of its experiment) at the point, in the arena; NULL: none (yet). *failed: a message was given. */
const struct tune_trial *store_find(struct store *s, int64_t run, bool anywhere, const struct tune_point *point, const struct tune_space *space,
                                    struct arena *arena, bool *failed);
/* The same for a trial that was measured with C of that hash. */
const struct tune_trial *store_find_code(struct store *s, int64_t run, bool anywhere, const char *code, const struct tune_space *space, struct arena *arena,
                                         bool *failed);
/* All runs (of the spec with that name, if it is not NULL), in the arena; -1 after a message. */
int store_runs(struct store *s, const char *spec_name, struct arena *arena, struct tune_run **runs);
/* One run, in the arena; `anywhere`: with the trials of all runs of its experiment. NULL after a message. */
const struct tune_run *store_run_read(struct store *s, int64_t run, bool anywhere, struct arena *arena);
/* Copies what the other database has and this one lacks; nothing twice, however often. */
bool store_merge(struct store *s, const char *other);

/* ---- the cost model (tune_cost.c) ---- */

/* Cycles that a call of the product should take on one core of the target as its table has it: only to rank schedules by, and not measured, so that every
   search has the same order. */
double schedule_cycles(const struct product *p, const struct target *t, const struct tune_shape *shape, int64_t document);
/* How much longer products take for the loads that a register block of so many rows and vectors needs; 1: none. */
double schedule_loads(int64_t rows, int64_t vectors);

/* ---- what is told of them ---- */

/* The best measured trial of a run whose interval ends below 1; NULL: none is faster than the usual schedule beyond noise. Of several trials at a point
   the last one speaks. (tune_result.c) */
const struct tune_trial *run_best(const struct tune_run *run);
/* Median seconds of the usual schedule, over all samples of the run; infinity without one. */
double run_usual(const struct tune_run *run);
/* What the same thing, a call with the usual schedule, took in the middle half of all samples of the run. */
struct tune_spread {
    double low, high;
    int samples;
};
struct tune_spread run_spread(const struct tune_run *run);
/* A table on standard output; "csv" or "json" of every trial (tune_query.c, tune_export.c). */
enum status tune_query(const struct options *o, const struct tune_run *runs, int count);
enum status tune_export(const struct options *o, const char *format, const struct tune_run *runs, int count);
/* One page without anything from elsewhere (tune_report.c). */
void tune_report(const struct tune_run *runs, int count, struct text *out);

#endif
