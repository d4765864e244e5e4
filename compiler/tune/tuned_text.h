/* SPEC.tuned.yaml: the text of SPEC.yaml with the schedules that searches found. `attnc tune` reads the file, merges
   the new schedules with the old ones, and writes it again. */
#ifndef ATTNC_TUNE_TUNED_TEXT_H
#define ATTNC_TUNE_TUNED_TEXT_H

#include "space.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"

/* An entry of `schedule:`. A kernel uses it for `from` keys and more, up to the next entry. */
struct tuned_entry {
    int64_t from;     /* 1 for the first entry */
    const char *says; /* the comment above the entry: lines separated by '\n'; NULL: none */
    int knobs;
    struct {
        const char *name; /* knobs of backward have a prefix, as in "backward.rows" */
        int64_t value;
    } knob[2 * MAX_KNOBS];
    int64_t length; /* the length that was measured to find the entry; 0: unknown */
};
/* Sets *p to the point that has the values of an entry `all`, for backward or for forward. Values that are missing in
   the space are added to it. Returns false if the entry sets a knob that is not in the space, or a value that the knob
   cannot have. (space.c) */
bool tuned_point(struct tune_space *s, bool backward, const struct tuned_entry *all, struct tune_point *p);
/* Makes an entry from a point.
   - If every knob has its default, the entry has no knobs.
   - Otherwise it has all knobs, because the default of one knob may depend on the value of another.
   - Left out: crossover, backward.tile_q and backward.tile_k at their defaults, which vary with the length or between
     the parts of the gradients. */
struct tuned_entry tuned_entry(const struct tune_space *s, const struct tune_point *p, int64_t from, const char *says);
/* Adds knobs of `other` to the entry: if `backward`, the knobs of forward; otherwise the knobs of backward, because a
   search covers only one of the two. `other` may be NULL. */
void tuned_join(struct tuned_entry *e, bool backward, const struct tuned_entry *other);
/* Appends to `out` the text `spec` with these entries as its `schedule:`. The rest of the text is unchanged.
   - entry: 1 to MAX_SCHEDULES entries in ascending order of `from`.
   - says: lines for the comment above `schedule:`.
   Returns false if `spec` is not a YAML map, or the new text cannot be read back. (tuned_text.c) */
bool tuned_text(const char *spec, size_t length, const char *says, const struct tuned_entry *entry, int entries,
                struct text *out);

/* The contents of SPEC.tuned.yaml. (tuned_merge.c) */
struct tuned_file {
    const char *path;
    bool there, other_spec; /* there: the file exists. other_spec: it does not compute the same function as SPEC.yaml,
                               so its schedules are not used */
    const char *base;       /* the text of the file, to be written again with other schedules; NULL: the text of
                               SPEC.yaml is used instead */
    const char *searched;   /* the comments "Searched by attnc ..." above `schedule:`, which name machines; or NULL */
    struct tuned_entry entry[MAX_SCHEDULES];
    int entries;
};
/* Reads SPEC.tuned.yaml into *out, if the file exists. spec, text: the path and the text of SPEC.yaml. Returns false
   with *status set, after a message, if the file is not a spec. */
bool tuned_read(const char *spec, const struct text *text, struct arena *arena, const struct options *o,
                struct tuned_file *out, enum status *status);
/* The length that an entry was found for; if it is unknown, the length from which the entry is used. */
int64_t tuned_length(const struct tuned_entry *e);
/* The entry that was found for the length; otherwise the entry that a kernel uses at the length; otherwise NULL. */
const struct tuned_entry *tuned_in_force(const struct tuned_file *file, int64_t length);
/* Merges the entries of the file and the found entries into `out`, in ascending order of length. A found entry replaces
   the file's entry for the same length. Returns the number of entries; MAX_SCHEDULES + 1 if there are too many. */
int tuned_merge(const struct tuned_file *file, const struct tuned_entry *found, int count, struct tuned_entry *out);
/* The comment above `schedule:`: `own`, which describes this search. If an old entry is kept, the lines about earlier
   searches (file->searched) come first. */
const char *tuned_header(struct arena *arena, const struct tuned_file *file, const struct tuned_entry *entry,
                         int entries, const char *own);

#endif
