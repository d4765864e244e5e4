/* The command attnc tune. */
#ifndef ATTNC_TUNE_H
#define ATTNC_TUNE_H

#include "../support/support.h"

int command_tune(const struct options *o);

#endif
