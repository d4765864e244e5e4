/* The rows of command_line.def as tables: commands, options, outputs, and the words that they take. */
#ifndef ATTNC_COMMAND_H
#define ATTNC_COMMAND_H

#include "../../ir/ir.h"

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

/* The value of an option. ATTACHED: after an equals sign, optional. */
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
    VALUE_COLOR,
    VALUE_FORMAT,
    VALUE_STRATEGY
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
    unsigned commands; /* 1 << enum command_number of each command */
    bool elsewhere;
};
extern const struct output_row output_rows[OUTPUTS];
extern const struct command_row command_rows[COMMANDS];
extern const struct switch_row switch_rows[];
extern const int switch_row_count;

/* The words that a value of this kind may be, ending with NULL; NULL if it is not a choice of words. */
const char *const *value_words(struct arena *arena, enum value_kind kind);
/* The keys that --set takes, as "mask.window.left=", and every word of a choice, as "mask=causal"; ends with NULL. */
const char *const *set_words(struct arena *arena);

#endif
