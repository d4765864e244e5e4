/* Declarations that the files of the spec reader share. A row is a row of spec.def. */
#ifndef ATTNC_SPEC_READER_H
#define ATTNC_SPEC_READER_H

#include "spec.h"

const struct option_row *spec_find_option(enum choice choice, const char *word);
/* These functions return all keys of a group, and all words of a choice. The lists end with NULL. */
const char *const *spec_key_words(struct arena *arena, enum group group);
const char *const *spec_option_words(struct arena *arena, enum choice choice);

struct spec_reader {
    struct arena *arena;
    struct diagnostics *d;
    struct spec *spec;
    struct yaml *root;
    bool muted; /* the last error was not printed, so its notes are not printed either */
    int before; /* the number of errors before the spec */
    int expressions;
    int masks; /* the number of masks read so far */
};

/* Limits for specs. With larger values, the compiler would be slow. */
enum { MAX_STEPS = 32, MAX_TOKENS = 1024, MAX_MASKS = 256 };
/* The maximum number of arrays that words declare. */
enum { MAX_EXPANDED = 2 };

/* Reports an error about a node, but at most one error per node. If the node is from --set, the message names the
   --set. (error.c) */
void spec_error(struct spec_reader *r, struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* Reports an error about the --set with the text `origin`. If `origin` is NULL, reports it at position `at`. */
void spec_error_from(struct diagnostics *d, const char *origin, struct position at, const char *message);
/* Reports an error, note or warning about byte `offset` of a scalar. A scalar may have several, so the caller sets
   node->wrong. */
void spec_say_inside(struct spec_reader *r, const struct yaml *node, size_t offset, enum expression_says says,
                     const char *message);
void spec_note(struct spec_reader *r, const struct yaml *node, const char *format, ...) IR_PRINTF(3, 4);
/* Adds a note with the second position of a conflict, such as "'block' is here". */
void spec_place(struct spec_reader *r, const struct yaml *node, const char *what);
/* Adds the note "did you mean 'WORD'?", or a note that lists all words. */
void spec_hint(struct spec_reader *r, const struct yaml *node, const char *text, const char *const *words);
/* Returns a phrase that describes a node, such as "'causal'", "12", "a list". */
const char *spec_found(struct spec_reader *r, const struct yaml *node);

/* Applies one --set, KEY=VALUE, to the tree. Copies the nodes on the path to the key. (override.c) */
void spec_override(struct spec_reader *r, const char *override);
/* Reads the tree into r->spec, guided by the rows of spec.def. (read.c) */
void spec_read_tree(struct spec_reader *r);
/* Makes of a mask `expr` the masks of words that say the same, as `all` of `&&`, so that both have the same
   forms. (mask.c) */
void mask_simplify(struct arena *arena, struct mask *mask);
/* Reads `sums:` after the other keys, because a sum is a copy of the spec. (sums.c) */
void spec_read_sums(struct spec_reader *r);
/* Sets the denominator that a sum has if neither it nor the spec names one. (sums.c) */
void spec_default_denominator(struct spec *sum);
/* Makes expressions and arrays of words that say what these can say. (expand.c)
   - spec_expand: of the words of `similarity` and `normalize`, after they are read
   - spec_declare_arrays: adds the arrays of these words to r->spec->arrays, before expressions are read */
void spec_expand(struct spec_reader *r, struct spec *sum);
void spec_declare_arrays(struct spec_reader *r);
/* Makes a decay of a running sum that is one. (running.c) */
void spec_find_decay(struct spec_reader *r);
/* Reads a map of a group. The rows of the group say where in `into` values are stored. Errors about missing keys
   name `owner`. (read.c) */
void spec_read_map(struct spec_reader *r, struct yaml *map, struct yaml *owner, enum group group, void *into);
/* Reads `arrays:`, `scores:` and the names of `sums:` and `running:` into r->spec->arrays. This happens before
   spec_read_tree reads expressions. (arrays.c) */
void spec_read_arrays(struct spec_reader *r);
/* Reports arrays of `arrays:` that are named like another array of this kernel. The spec has been read. */
void spec_check_array_names(struct spec_reader *r);
bool spec_is_identifier(const char *text);
bool word_is_among(const char *name, const char *words); /* each of the words has a blank after it (python_name.c) */
/* Checks conditions on several keys, and sets defaults. (check.c) */
void spec_check(struct spec_reader *r, const char *file);

/* Reads the value of a --set as YAML. Errors name the text `origin` of the --set. */
struct yaml *yaml_read_override(struct arena *arena, const char *text, const char *origin, struct diagnostics *d);
/* Makes a node without a position from the plain (unquoted) scalar `text`. */
struct yaml *yaml_plain(struct arena *arena, const char *text);
/* Returns the position in the file of byte `offset` of a scalar's value. If it is not known, returns the position of
   the scalar. (yaml_position.c) */
struct position yaml_place(const struct yaml *node, size_t offset);

#endif
