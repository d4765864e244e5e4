/* Reads the options of attnc bench. Most are lists of numbers. "1k..8k" is 1024, 2048, 4096, 8192. */
#include "bench.h"
#include "request.h"
#include "../support/support.h"

#include <string.h>

static const char default_lengths[] = "1k..8k";

static bool threads_read(const struct options *o, struct bench_request *r)
{
    r->threads = o->thread_list ? 0 : 1;
    for (const char *at = o->thread_list; at;) {
        int64_t n;
        const char *end = count_read(at, &n);
        if (!end || n > 4096 || r->threads == MAX_COUNTS || (*end && *end != ','))
            return complain(o, "--threads takes up to %d numbers from 1 to 4096, as in 1,2,4, not '%s'", MAX_COUNTS,
                            o->thread_list);
        r->thread[r->threads++] = (int)n;
        at = *end ? end + 1 : NULL;
    }
    return true;
}

bool heads_read(const struct options *o, struct bench_request *r)
{
    const char *text = o->heads ? o->heads : "1";
    r->heads = 0;
    for (const char *at = text;; at++) {
        at = r->heads < MAX_COUNTS ? heads_add(at, &r->head[r->heads++]) : NULL;
        if (!at || (*at && *at != ','))
            return complain(
                o,
                "--heads takes up to %d numbers of heads from 1 to %d, as in 1,8, or with fewer key/value heads, "
                "as in 8/2 for 8 heads and 2 key/value heads (8 is a multiple of 2), or with fewer heads of q and k "
                "than of v, as in 8/8/2, not '%s'",
                MAX_COUNTS, 1 << 20, text);
        if (!*at) return true;
    }
}

bool bench_request_read(const struct options *o, struct bench_request *r)
{
    *r = (struct bench_request){.batch = 1, .time = 0.5, .limit = 10, .seed = o->has_seed ? o->seed : 1};
    return lengths_read(o, default_lengths, &r->lengths) && threads_read(o, r) && heads_read(o, r) &&
           one_number(o, "--batch", o->batch, 1 << 20, &r->batch) && document_read(o, &r->document) &&
           seconds_read(o, "--time", o->time, &r->time) && seconds_read(o, "--limit", o->limit, &r->limit);
}
