/* `attnc COMMAND --help`: the help pages, made from command_line.def. */
#include "command.h"
#include "command_line.h"

#include <ctype.h>
#include <string.h>

enum { COLUMNS = 80, INDENT = 22 };

/* Appends words in lines of at most COLUMNS columns. The first line starts at `column`, the others at `indent`. */
static void add_wrapped(struct text *out, const char *words, size_t column, size_t indent)
{
    bool first = true;
    for (const char *at = words; *at;) {
        const size_t length = strcspn(at, " \n");
        if (!first && column + 1 + length > COLUMNS) {
            text_add(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        if (length) text_add(out, "%s%.*s", first ? "" : " ", (int)length, at);
        if (length) column += length + !first;
        first = length ? false : first;
        at += length + (at[length] != 0);
    }
    text_add(out, "\n");
}

/* Appends `says` of a row as a sentence, with a capital letter and a full stop. */
static void add_sentence(struct text *out, const char *says)
{
    struct text line = {0};
    text_add(&line, "%c%s.", toupper((unsigned char)*says), says + 1);
    add_wrapped(out, line.data, 0, 0);
    text_free(&line);
}

/* Appends "--lengths LIST" or "--json[=FILE]". */
static void add_name(struct text *out, const struct switch_row *row)
{
    text_add(out, "%s%s%s", row->name, *row->argument && row->value != VALUE_ATTACHED ? " " : "", row->argument);
}

static void add_option(struct text *out, const struct switch_row *row)
{
    struct text name = {0};
    text_add(&name, "  ");
    add_name(&name, row);
    text_add(out, "%s", name.data);
    if (name.length + 1 < INDENT)
        text_add(out, "%*s", (int)(INDENT - name.length), "");
    else
        text_add(out, "\n%*s", INDENT, "");
    add_wrapped(out, row->says, INDENT, INDENT);
    text_free(&name);
}

/* Returns true if all commands that take specs have the option. `attnc --help` explains it, so a command's page only
   names it. */
static bool is_general(const struct switch_row *row)
{
    bool general = true;
    for (int c = 0; c < COMMANDS; c++) general &= command_rows[c].operands != OPERANDS_SPECS || row->commands & 1U << c;
    return general;
}

void help_page(enum command_number command, struct text *out)
{
    const struct command_row *c = &command_rows[command];
    struct text general = {0};
    text_add(out, "usage: attnc %s [options]%s%s\n\n", c->name, *c->synopsis ? " " : "", c->synopsis);
    add_sentence(out, c->says);
    text_add(out, "\n");
    for (int k = 0; k < switch_row_count; k++) {
        const struct switch_row *row = &switch_rows[k];
        if (!(row->commands & 1U << command)) continue;
        if (!is_general(row)) {
            add_option(out, row);
            continue;
        }
        text_add(&general, "%s", general.length ? ", " : "");
        add_name(&general, row);
    }
    text_add(&general, ": see attnc --help");
    text_add(out, "  ");
    add_wrapped(out, general.data, 2, 2);
    text_free(&general);
    if (*c->more) text_add(out, "\n");
    if (*c->more) add_wrapped(out, c->more, 0, 0);
}
