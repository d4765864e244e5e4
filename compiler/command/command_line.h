/* The functions of the commands. Each returns attnc's exit status. */
#ifndef ATTNC_COMMAND_LINE_H
#define ATTNC_COMMAND_LINE_H

#include "command.h"
#include "../support/support.h"

/* Appends the text of `attnc COMMAND --help`. (help.c) */
void help_page(enum command_number command, struct text *out);

/* Appends what may take the place of the last of the words after attnc. (complete.c) */
void complete(int count, const char *const *word, enum command_number command, struct text *out);

int command_compile(const struct options *o);
int command_explain(const struct options *o);
int command_check(const struct options *o);
int command_run(const struct options *o);
int command_build(const struct options *o);
int command_list(const struct options *o);
int command_show(const struct options *o);
int command_help(const struct options *o);
int command_version(const struct options *o);
int command_show_picture(const struct options *o); /* runs attnc show NAME --picture FILE.svg */

#endif
