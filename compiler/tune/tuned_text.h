/* A spec with the schedules that a search found, as text. */
#ifndef ATTNC_TUNE_TUNED_TEXT_H
#define ATTNC_TUNE_TUNED_TEXT_H

#include "space.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"

/* An entry of `schedule:` that `attnc tune` writes. `says` holds lines for the comment above the entry, separated by
   '\n'; NULL: none. */
struct tuned_entry {
    int64_t from; /* 1 for the first entry */
    const char *says;
    int knobs;
    struct {
        const char *name; /* knobs of the gradients have the prefix: "backward.rows" */
        int64_t value;
    } knob[2 * MAX_KNOBS];
    int64_t length; /* the length that the entry was found for; 0: unknown */
};
/* The point of the entry's knobs for forward or for the gradients. Values that the space lacks are added to it.
   Returns false if the entry sets a knob that the space does not have, or a value that the knob cannot have.
   (space.c) */
bool tuned_point(struct tune_space *s, bool backward, const struct tuned_entry *all, struct tune_point *p);
/* The knobs of a point. If all have their defaults, none is written. Otherwise all are written, because defaults may
   depend on one another, except knobs whose default is not a single value. */
struct tuned_entry tuned_entry(const struct tune_space *s, const struct tune_point *p, int64_t from, const char *says);
/* Adds to an entry of forward the gradient knobs of the other entry, or vice versa; `other` may be NULL. */
void tuned_join(struct tuned_entry *e, bool backward, const struct tuned_entry *other);
/* The text of a spec whose schedule is these entries, 1 to MAX_SCHEDULES in ascending order, in place of an existing
   schedule; everything else is unchanged. `says` holds lines for a comment above `schedule:`. Returns false if the
   text is not a spec that attnc would read. (tuned_text.c) */
bool tuned_text(const char *spec, size_t length, const char *says, const struct tuned_entry *entry, int entries,
                struct text *out);

/* The contents of SPEC.tuned.yaml. (tuned_merge.c) */
struct tuned_file {
    const char *path;
    bool there, other_spec; /* other_spec: it computes something else than SPEC.yaml, so its schedules are not used */
    const char *base;       /* the text that will be written with another schedule; NULL: the text of SPEC.yaml is
                               used */
    const char *searched;   /* the comments above its schedule that say where it was searched, or NULL */
    struct tuned_entry entry[MAX_SCHEDULES];
    int entries;
};
/* Returns false after a message if the file exists and is not a spec. `text` is the text of SPEC.yaml. */
bool tuned_read(const char *spec, const struct text *text, struct arena *arena, const struct options *o,
                struct tuned_file *out, enum status *status);
/* The length that an entry is for. */
int64_t tuned_length(const struct tuned_entry *e);
/* The entry for the length, or else the entry that a kernel uses at the length; NULL if there is none. */
const struct tuned_entry *tuned_in_force(const struct tuned_file *file, int64_t length);
/* Replaces the entries of the file for the lengths of the found ones. Returns the number of entries; MAX_SCHEDULES +
   1: more than a spec may have. */
int tuned_merge(const struct tuned_file *file, const struct tuned_entry *found, int count, struct tuned_entry *out);
/* The file's comments about where its entries were searched, if any of these entries is kept, followed by `own`. */
const char *tuned_header(struct arena *arena, const struct tuned_file *file, const struct tuned_entry *entry,
                         int entries, const char *own);

#endif
