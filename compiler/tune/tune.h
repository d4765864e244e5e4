/* The command attnc tune. */
#ifndef ATTNC_TUNE_H
#define ATTNC_TUNE_H

#include "../support/support.h"

int command_tune(const struct options *o);

/* The names of strategies, for the command line and its help. */
extern const char *const search_names[]; /* the list ends with NULL */
extern const char pipe_help[];           /* help text for pipe:COMMAND */

#endif
