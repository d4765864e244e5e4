/* Reads and writes SPEC.tuned.yaml. This file is the text of SPEC.yaml with the schedules that searches found.
   `attnc tune` merges new schedules into it. */
#ifndef ATTNC_TUNE_TUNED_TEXT_H
#define ATTNC_TUNE_TUNED_TEXT_H

#include "run.h"

/* An entry of `schedule:`. Kernels use it for `from` keys and more, up to the next entry. */
struct tuned_entry {
    int64_t from; /* the minimum number of keys; 1 for the first entry */
    /* The comment above the entry, as lines separated by '\n'. NULL if there is none. */
    const char *says;
    int knobs;
    struct {
        const char *name; /* knobs of backward have a prefix, as in "backward.rows" */
        int64_t value;
    } knob[2 * MAX_KNOBS];
    int64_t length; /* the length that was measured to find the entry, or 0 if unknown */
};
/* Sets *p to the point with the values of an entry. Adds missing values to the space. Returns false if the space has
   no such knob, or the knob cannot have the value. (space.c) */
bool tuned_point(struct tune_space *s, bool backward, const struct tuned_entry *all, struct tune_point *p);
/* Makes an entry from a point.
   - If every knob has its default, the entry has no knobs.
   - Otherwise it has all knobs, because one knob's default may depend on another knob.
   - crossover, backward.tile_q and backward.tile_k are left out at their defaults, which vary. */
struct tuned_entry tuned_entry(const struct tune_space *s, const struct tune_point *p, int64_t from, const char *says);
/* Adds knobs of `other` to the entry. They are knobs of forward if `backward` is true, and knobs of backward
   otherwise. `other` may be NULL. */
void tuned_join(struct tuned_entry *e, bool backward, const struct tuned_entry *other);
/* Appends the text `spec` to `out` with these entries as its `schedule:`.
   - entry: 1 to MAX_SCHEDULES entries in ascending order of `from`
   - says: lines for the comment above `schedule:`
   Returns false if `spec` is not a YAML map, or the new text cannot
     be read back. (tuned_text.c) */
bool tuned_text(const char *spec, size_t length, const char *says, const struct tuned_entry *entry, int entries,
                struct text *out);

/* The contents of SPEC.tuned.yaml. (tuned_merge.c) */
struct tuned_file {
    const char *path;
    /* `there` is true if the file exists. `other_spec` is true if the file computes another function. Its schedules
       are not used then. */
    bool there, other_spec;
    /* The text in which schedules are replaced. NULL means the text of SPEC.yaml. */
    const char *base;
    const char *searched; /* the comments "Searched by attnc ..." above `schedule:`, or NULL */
    struct tuned_entry entry[MAX_SCHEDULES];
    int entries;
};
/* Reads SPEC.tuned.yaml into *out if it exists. `spec` and `text` are the path and the text of SPEC.yaml. If the
   file is not a spec, prints a message, sets *status and returns false. */
bool tuned_read(const char *spec, const struct text *text, struct arena *arena, const struct options *o,
                struct tuned_file *out, enum status *status);
/* Returns the length that an entry was found for. If it is unknown, returns `from`. */
int64_t tuned_length(const struct tuned_entry *e);
/* Returns the entry that was found for the length. If there is none, returns the entry that a kernel uses at this
   length, or NULL. */
const struct tuned_entry *tuned_in_force(const struct tuned_file *file, int64_t length);
/* Merges the file's entries and the found entries into `out`, in ascending order of length. For equal lengths, the
   found entry is taken. Returns the number of entries, or MAX_SCHEDULES + 1 if there are too many. */
int tuned_merge(const struct tuned_file *file, const struct tuned_entry *found, int count, struct tuned_entry *out);
/* Returns the comment to write above `schedule:`. It is `own`, which describes this search. If an old entry is kept,
   lines about earlier searches come first. */
const char *tuned_header(struct arena *arena, const struct tuned_file *file, const struct tuned_entry *entry,
                         int entries, const char *own);

#endif
