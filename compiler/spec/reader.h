/* What the files of the spec reader share; the rows are those of spec.def. */
#ifndef ATTNC_SPEC_READER_H
#define ATTNC_SPEC_READER_H

#include "spec.h"

const struct option_row *spec_find_option(enum choice choice, const char *word);
/* NULL-ended. */
const char *const *spec_key_words(struct arena *arena, enum group group);
const char *const *spec_option_words(struct arena *arena, enum choice choice);

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

/* Errors about a node, once for each; those about the value of a --set name it and are positioned nowhere. (error.c) */
void spec_error(struct spec_reader *r, struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* Says that the error is of --set with this text, unless it is NULL; then the error has a position. */
void spec_error_from(struct diagnostics *d, const char *origin, struct position at, const char *message);
/* About byte `offset` of a scalar, which may have several such errors: the caller sets node->wrong after the last. */
void spec_error_inside(struct spec_reader *r, const struct yaml *node, size_t offset, bool note, const char *message);
void spec_note(struct spec_reader *r, const struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* Where the other side of a conflict is: "'block' is here". */
void spec_place(struct spec_reader *r, const struct yaml *node, const char *what);
/* "did you mean …?", or the words there are. */
void spec_hint(struct spec_reader *r, const struct yaml *node, const char *text, const char *const *words);
/* A node in words: "the word 'x'", "a list". */
const char *spec_found(struct spec_reader *r, const struct yaml *node);

/* Applies one --set to the tree; nodes on the way are copied, for they may be shared. (override.c) */
void spec_override(struct spec_reader *r, const char *override);
/* Reads the tree into r->spec by the rows. (read.c) */
void spec_read_tree(struct spec_reader *r);
/* What no row can know alone: defaults that depend on other keys, conflicts. (check.c) */
void spec_check(struct spec_reader *r, const char *file);

/* The value of a --set: its nodes are positioned nowhere and know `origin`, and so do the errors. */
struct yaml *yaml_read_override(struct arena *arena, const char *text, const char *origin, struct diagnostics *d);
/* A node for the plain scalar `text`, positioned nowhere. */
struct yaml *yaml_plain(struct arena *arena, const char *text);
/* Where byte `offset` of a scalar's text stands in the file; the scalar's own position where that cannot be known.
   (yaml_position.c) */
struct position yaml_place(const struct yaml *node, size_t offset);

#endif
