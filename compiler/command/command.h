/* The rows of command_line.def as tables, and the words that an option may take. */
#ifndef ATTNC_COMMAND_H
#define ATTNC_COMMAND_H

#include "../../ir/memory.h"

enum output {
#define OUTPUT(name, says) OUTPUT_##name,
#include "command_line.def"
    OUTPUTS
};

enum command_number {
#define COMMAND(name, operands, synopsis, says, more) COMMAND_##name,
#include "command_line.def"
    COMMANDS
};
enum operand_kind { OPERANDS_SPECS, OPERANDS_NAMES, OPERANDS_NOTHING };

/* The kind of an option's value. VALUE_ATTACHED is an optional value after `=`, as in --json=FILE. */
enum value_kind {
    VALUE_NONE,
    VALUE_TEXT,
    VALUE_FILE,
    VALUE_FOLDER,
    VALUE_ATTACHED,
    VALUE_OUTPUTS,
    VALUE_TARGETS,
    VALUE_SET,
    VALUE_PASS,
    VALUE_COLOR
};

struct output_row {
    const char *name, *says;
};
struct command_row {
    const char *name, *synopsis, *says, *more;
    enum operand_kind operands;
};
struct switch_row {
    const char *name, *argument, *says;
    enum value_kind value;
    unsigned commands; /* the commands that have the option, as bits 1 << COMMAND_NAME */
    /* True if other commands ignore the option. Otherwise they refuse it. */
    bool elsewhere;
};
extern const struct output_row output_rows[OUTPUTS];
extern const struct command_row command_rows[COMMANDS];
extern const struct switch_row switch_rows[];
extern const int switch_row_count;

/* Returns the words that are allowed for this kind of value. The list ends with NULL. Returns NULL if any text is
   allowed. */
const char *const *value_words(struct arena *arena, enum value_kind kind);
/* Returns the completions for --set as a list that ends with NULL. There is "mask.window.left=" for each key, and
   "mask=causal" for each word of a choice. */
const char *const *set_words(struct arena *arena);

#endif
