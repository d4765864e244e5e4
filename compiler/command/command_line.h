/* The commands, for main.c and the files of the commands. */
#ifndef ATTNC_COMMAND_LINE_H
#define ATTNC_COMMAND_LINE_H

#include "command.h"
#include "../support/support.h"

/* What `attnc COMMAND --help` prints (help.c). */
void help_page(enum command_number command, struct text *out);

int command_compile(const struct options *o);
int command_explain(const struct options *o);
int command_check(const struct options *o);
int command_run(const struct options *o);
int command_build(const struct options *o);
int command_list(const struct options *o);
int command_show(const struct options *o);

#endif
