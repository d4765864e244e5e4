/* The tables of costs of `attnc explain`. */
#ifndef ATTNC_EXPLAIN_COSTS_H
#define ATTNC_EXPLAIN_COSTS_H

#include "../cost/cost.h"
#include "../driver/driver.h"

#include <jansson.h>

/* The arguments of --ranks, --link and --heads. */
struct rank_costs {
    struct lengths ranks; /* none without --ranks */
    struct link link;
    struct head_counts heads;
};

/* Parameters of the tables of costs. */
struct costs {
    struct lengths lengths;
    int64_t document;
    int threads;             /* of a call whose workspace and tasks are printed, or 0 */
    int64_t batch;           /* sequences of this call */
    struct rank_costs ranks; /* of explain_ranks; heads: also of explain_threads */
};

/* Returns `all` without lengths above `longest`, the spec's maximum. If none is left, the length is `longest`. */
struct costs costs_allowed(const struct costs *all, int64_t longest);

/* Returns the target of the tables of costs, the best requested one. */
static inline const struct target *costs_target(const struct unit *p)
{
    return p->kernel.compilation[0]->target;
}
/* Returns the rates of a core of the target, a cycle. `units` is 0 without matrix units. */
struct rates costs_rates(const struct unit *p);
/* Counts a call of n_q queries and `keys` keys. Sets *counts and *roofline to the mean of one head. */
void count_head(const struct unit *p, const struct call_parts *run, int64_t n_q, int64_t keys,
                const struct costs *costs, struct counts *counts, struct roofline *roofline);

void explain_costs(const struct unit *p, const struct costs *costs);
/* Prints the rows of forward with all queries. */
void explain_forward(const struct unit *p, const struct costs *costs);
/* Returns the rows of all tables of costs as a list of objects, for one head. */
json_t *explain_costs_json(const struct unit *p, const struct costs *costs);
void explain_gradients(const struct unit *p, const struct costs *costs);

/* Reads --ranks, --link and --heads. Returns false after a message. (explain_ranks.c) */
bool ranks_read(const struct options *o, struct rank_costs *out);
/* Prints the times of one sequence over several ranks, if --ranks was given. */
void explain_ranks(const struct unit *p, const struct costs *costs);
/* Prints how busy the threads of a call are, if there are several. (explain_threads.c) */
void explain_threads(const struct unit *p, const struct costs *costs);
/* Prints the title of a section. */
void section(const char *title);

#endif
