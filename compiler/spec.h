/* What the files of the spec reader (spec.c, spec_*.c) share; the rows are those of spec.def. */
#ifndef ATTNC_SPEC_H
#define ATTNC_SPEC_H

#include "compiler.h"

enum group {
#define GROUP(group) GROUP_##group,
#include "spec.def"
    GROUPS
};

enum choice {
#define CHOICE(choice, heading, says) CHOICE_##choice,
#include "spec.def"
    CHOICES
};

/* Types of values. CHOICE stores an enum, SWITCH the same as a bool. */
enum row_type {
    ROW_INTEGER,
    ROW_NUMBER,
    ROW_FLAG,
    ROW_SEED,
    ROW_NAME,
    ROW_TEXT,
    ROW_EXPRESSION,
    ROW_CONDITION,
    ROW_CHOICE,
    ROW_SWITCH,
    ROW_GROUP,
    ROW_SIMILARITY,
    ROW_PREPARE,
    ROW_MASK,
    ROW_MASKS,
    ROW_MASK_PART,
    ROW_BLOCK,
    ROW_COEFFICIENTS,
    ROW_TOKENS,
    ROW_EMIT,
    ROW_SCHEDULE
};
enum row_check { CHECK_ANY, CHECK_EVEN, CHECK_POWER_OF_TWO, CHECK_FINITE, CHECK_POSITIVE, CHECK_NOT_NEGATIVE, CHECK_NOT_ZERO };
enum payload { PAYLOAD_BARE, PAYLOAD_OPTIONS, PAYLOAD_VALUE };

struct key_row {
    enum group group;
    const char *key;
    enum row_type type;
    int of;
    enum row_check check;
    int64_t low, high;
    const char *otherwise;
    size_t field, has, at;
    const char *says;
};
struct choice_row {
    const char *heading, *says;
};
struct option_row {
    enum choice choice;
    const char *word;
    int value;
    enum payload payload;
    enum group group;
    const char *says;
};
extern const struct key_row key_rows[];
extern const int key_row_count;
extern const struct choice_row choice_rows[];
extern const struct option_row option_rows[];
extern const int option_row_count;

/* What a row takes, as a phrase: "an even integer from 2 to 64". (spec_rows.c) */
void row_domain(const struct key_row *row, struct text *out);
const struct key_row *find_key(enum group group, const char *key);
const struct option_row *find_option(enum choice choice, const char *word);
/* NULL-ended. */
const char *const *key_words(struct arena *arena, enum group group);
const char *const *option_words(struct arena *arena, enum choice choice);

struct spec_reader {
    struct arena *arena;
    struct diagnostics *d;
    struct spec *spec;
    struct yaml *root;
    bool muted; /* the last error was about a node that had one already: its notes are dropped too */
    int expressions;
    int masks; /* read so far */
};

/* More of these than anyone writes by hand would only make the compiler slow. */
enum { MAX_STEPS = 32, MAX_TOKENS = 1024, MAX_MASKS = 256 };

/* Errors about a node, once for each; those about the value of a --set name it and are positioned nowhere. (spec_error.c) */
void spec_error(struct spec_reader *r, struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* About byte `offset` of a scalar, which may have several such errors: the caller sets node->wrong after the last. */
void spec_error_inside(struct spec_reader *r, const struct yaml *node, size_t offset, bool note, const char *message);
void spec_note(struct spec_reader *r, const struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* Where the other side of a conflict is: "'block' is here". */
void spec_place(struct spec_reader *r, const struct yaml *node, const char *what);
/* "did you mean …?", or the words there are. */
void spec_hint(struct spec_reader *r, const struct yaml *node, const char *text, const char *const *words);
/* A node in words: "the word 'x'", "a list". */
const char *spec_found(struct spec_reader *r, const struct yaml *node);

/* Applies one --set to the tree; nodes on the way are copied, for they may be shared. (spec_override.c) */
void spec_override(struct spec_reader *r, const char *override);
/* Reads the tree into r->spec by the rows. (spec_read.c) */
void spec_read_tree(struct spec_reader *r);
/* What no row can know alone: defaults that depend on other keys, conflicts. (spec_check.c) */
void spec_check(struct spec_reader *r, const char *file);

#endif
