/* Figures as text: cells of a table on a screen, values separated by commas, standard output. */
#ifndef ATTNC_TABLE_H
#define ATTNC_TABLE_H

#include "compiler.h"

/* Columns on a screen. */
int table_width(const char *text);
/* The text, plain, and what it takes to `width`; no spaces at the end of a line. */
void table_cell(struct text *out, const char *text, int width, bool left, bool last);
/* A word as RFC 4180 has it, in plain text. */
void table_csv(struct text *out, const char *word);
/* To standard output; STATUS_MACHINE after a message. */
enum status table_put(const struct options *o, const struct text *text);

#endif
