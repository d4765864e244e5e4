/* The options of attnc tune. */
#include "tuning.h"

#include <stdlib.h>
#include <string.h>

static bool bad_shape(const struct options *o, const char *text)
{
    return complain(o, "--shape takes up to %d shapes, as in n=4k..64k,heads=8/2,batch=1,threads=2, not '%s'",
                    MAX_SHAPES, text);
}

static bool read_shape(const struct options *o, const char *text, struct tune_request *r)
{
    struct tune_shape shape = {.batch = 1, .heads = 8, .kv_heads = 8, .threads = o->threads, .backward = o->backward};
    struct lengths lengths = {0};
    for (const char *at = text;; at++) {
        int64_t threads = 0;
        struct head_counts heads;
        const char *end = NULL;
        if (strncmp(at, "n=", 2) == 0)
            end = lengths_add(at + 2, &lengths);
        else if (strncmp(at, "heads=", 6) == 0) {
            end = heads_add(at + 6, &heads);
            if (end) shape.heads = heads.heads, shape.kv_heads = heads.kv_heads, shape.key_heads = heads.key_heads;
        } else if (strncmp(at, "batch=", 6) == 0)
            end = count_read(at + 6, &shape.batch);
        else if (strncmp(at, "threads=", 8) == 0) {
            end = count_read(at + 8, &threads);
            if (end && threads > 4096) end = NULL;
            shape.threads = (int)threads;
        }
        if (!end || (*end && *end != ',') || shape.batch > 1 << 20) return bad_shape(o, text);
        if (!*end) break;
        at = end;
    }
    if (lengths.count == 0) return bad_shape(o, text);
    for (int k = 0; k < lengths.count; k++) {
        shape.length = lengths.length[k];
        if (r->shapes == MAX_SHAPES) return bad_shape(o, text);
        int at = r->shapes++;
        for (; at > 0 && shape.length < r->shape[at - 1].length; at--) r->shape[at] = r->shape[at - 1];
        r->shape[at] = shape;
    }
    return true;
}

bool tune_request_read(const struct options *o, struct tune_request *r)
{
    *r = (struct tune_request){.time = 300, .limit = 60, .samples = 5, .seed = o->has_seed ? o->seed : 1};
    bool good = true;
    for (int k = 0; k < o->shapes && good; k++) good = read_shape(o, o->shape[k], r);
    if (o->shapes == 0 && good) good = read_shape(o, "n=4k,heads=8", r);
    good = good && seconds_read(o, "--time", o->time, &r->time) && seconds_read(o, "--limit", o->limit, &r->limit) &&
           document_read(o, &r->document) &&
           (!o->trials || one_number(o, "--trials", o->trials, 1 << 30, &r->trials)) &&
           (!o->samples || one_number(o, "--samples", o->samples, 1000, &r->samples));
    int lengths = 0;
    for (int k = 0; k < r->shapes; k++) lengths += k == 0 || r->shape[k].length != r->shape[k - 1].length;
    if (good && lengths > MAX_SCHEDULES) {
        complain(o, "--shape names %d lengths, but a kernel has at most %d schedules", lengths, MAX_SCHEDULES);
        good = false;
    }
    return good;
}

/* Returns true if the first `length` bytes of `word` name the knob. The prefix "backward." may be omitted. */
static bool is_knob(const char *name, const char *word, size_t length)
{
    const char *const own = knob_of_backward(name);
    return (strlen(name) == length && memcmp(name, word, length) == 0) ||
           (own && strlen(own) == length && memcmp(own, word, length) == 0);
}

bool tune_knobs(const struct options *o, struct tune_space *space)
{
    bool named[MAX_KNOBS] = {false};
    for (const char *at = o->knobs; at; at = *at ? at + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        int k = 0;
        while (k < space->knobs && !is_knob(space->knob[k].name, at, length)) k++;
        if (k == space->knobs) {
            struct text all = {0};
            for (k = 0; k < space->knobs; k++) text_add(&all, "%s%s", k ? ", " : "", space->knob[k].name);
            complain(o, "--knobs takes a list of knobs, from %s, not '%s'", all.data ? all.data : "none", o->knobs);
            text_free(&all);
            return false;
        }
        named[k] = true;
        at += length;
    }
    const int knobs = space->knobs;
    for (int k = space->knobs = 0; k < knobs; k++)
        if (!o->knobs || named[k]) space->knob[space->knobs++] = space->knob[k];
    return true;
}
