/* A spec with a schedule that was found, as text. */
#ifndef ATTNC_TUNE_TUNED_TEXT_H
#define ATTNC_TUNE_TUNED_TEXT_H

#include "space.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"

/* What `attnc tune` writes: an entry of `schedule:`, with lines that become comments above it ('\n' between them, NULL:
   none). */
struct tuned_entry {
    int64_t from; /* 1 for the first */
    const char *says;
    int knobs;
    struct {
        const char *name; /* of the gradients "backward.rows" */
        int64_t value;
    } knob[2 * MAX_KNOBS];
    int64_t length; /* that it was found for; 0: not known */
};
/* The point that an entry's knobs of forward or of the gradients are, for which the space gets the values that it
   lacks; false: the entry sets what the space has no knob for, or as no knob can be. (space.c) */
bool tuned_point(struct tune_space *s, bool backward, const struct tuned_entry *all, struct tune_point *p);
/* The knobs of a point: none, where all have their defaults; all else, for default values may depend on one another,
   but those whose default is not one value. */
struct tuned_entry tuned_entry(const struct tune_space *s, const struct tune_point *p, int64_t from, const char *says);
/* Gives an entry of forward or of the gradients what the other one (NULL: none) sets of the other of the two. */
void tuned_join(struct tuned_entry *e, bool backward, const struct tuned_entry *other);
/* The text of a spec with these entries, 1 to MAX_SCHEDULES that ascend, as its schedule, in place of one that is
   there; all else stays as it is. `says` are lines for a comment above `schedule:`. Returns false where the text is no
   spec that attnc would read. (tuned_text.c) */
bool tuned_text(const char *spec, size_t length, const char *says, const struct tuned_entry *entry, int entries,
                struct text *out);

/* What is in SPEC.tuned.yaml. (tuned_merge.c) */
struct tuned_file {
    const char *path;
    bool there, other_spec; /* it means something else than SPEC.yaml, so that nothing in it is taken over */
    const char *base;       /* its text, to be written anew with another schedule; NULL: that of SPEC.yaml is better */
    const char *searched;   /* the comments above its schedule that say where it was searched, or NULL */
    struct tuned_entry entry[MAX_SCHEDULES];
    int entries;
};
/* False after a message: it is there and no spec. `text` is that of SPEC.yaml. */
bool tuned_read(const char *spec, const struct text *text, struct arena *arena, const struct options *o,
                struct tuned_file *out, enum status *status);
/* The length that an entry is for. */
int64_t tuned_length(const struct tuned_entry *e);
/* The entry for the length, or else the one that a kernel takes there; NULL: there is none. */
const struct tuned_entry *tuned_in_force(const struct tuned_file *file, int64_t length);
/* The file's entries with those that were found in place of those for the same lengths. How many; MAX_SCHEDULES + 1:
   more than a spec may have. */
int tuned_merge(const struct tuned_file *file, const struct tuned_entry *found, int count, struct tuned_entry *out);
/* `own`, after what the file says of where those entries were searched that are from it. */
const char *tuned_header(struct arena *arena, const struct tuned_file *file, const struct tuned_entry *entry,
                         int entries, const char *own);

#endif
