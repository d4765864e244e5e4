/* Declarations that the files of the spec reader share. Rows are those of spec.def. */
#ifndef ATTNC_SPEC_READER_H
#define ATTNC_SPEC_READER_H

#include "spec.h"

const struct option_row *spec_find_option(enum choice choice, const char *word);
/* Ends with NULL. */
const char *const *spec_key_words(struct arena *arena, enum group group);
const char *const *spec_option_words(struct arena *arena, enum choice choice);

struct spec_reader {
    struct arena *arena;
    struct diagnostics *d;
    struct spec *spec;
    struct yaml *root;
    bool muted; /* the last error was about a node that already has one, so its notes are dropped, too */
    int expressions;
    int masks; /* the number of masks read so far */
};

/* Limits that exceed any spec written by hand; more would make the compiler slow. */
enum { MAX_STEPS = 32, MAX_TOKENS = 1024, MAX_MASKS = 256 };

/* Reports an error about a node, once per node. An error about the value of a --set names it and has no position.
   (error.c) */
void spec_error(struct spec_reader *r, struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* Reports an error of the --set with this text; if `origin` is NULL, an error at the position. */
void spec_error_from(struct diagnostics *d, const char *origin, struct position at, const char *message);
/* Reports at byte `offset` of a scalar, which may have several such errors: the caller sets node->wrong after the last.
   Warnings are stored in the spec. */
void spec_say_inside(struct spec_reader *r, const struct yaml *node, size_t offset, enum expression_says says,
                     const char *message);
void spec_note(struct spec_reader *r, const struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* Adds a note with the position of the other side of a conflict: "'block' is here". */
void spec_place(struct spec_reader *r, const struct yaml *node, const char *what);
/* Adds the note "did you mean …?", or one with all words. */
void spec_hint(struct spec_reader *r, const struct yaml *node, const char *text, const char *const *words);
/* Describes a node: "the word 'x'", "a list". */
const char *spec_found(struct spec_reader *r, const struct yaml *node);

/* Applies one --set to the tree. The nodes on its path are copied, because aliases may share them. (override.c) */
void spec_override(struct spec_reader *r, const char *override);
/* Reads the tree into r->spec according to the rows. (read.c) */
void spec_read_tree(struct spec_reader *r);
/* Checks conditions on several keys, and sets defaults that depend on other keys. (check.c) */
void spec_check(struct spec_reader *r, const char *file);

/* Reads the value of a --set. Its nodes have no position; errors name `origin`. */
struct yaml *yaml_read_override(struct arena *arena, const char *text, const char *origin, struct diagnostics *d);
/* A node for the plain scalar `text`, without a position. */
struct yaml *yaml_plain(struct arena *arena, const char *text);
/* The position in the file of byte `offset` of a scalar's text; the scalar's position if it cannot be determined.
   (yaml_position.c) */
struct position yaml_place(const struct yaml *node, size_t offset);

#endif
