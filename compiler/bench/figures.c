/* What a table and a plot of attnc bench call the same things. */
#include "request.h"
#include "../support/support.h"

#include <jansson.h>
#include <string.h>

const char *bench_label(const struct bench *b, int spec)
{
    for (int s = 0; s < b->specs; s++)
        if (s != spec && strcmp(b->unit[s]->spec->name, b->unit[spec]->spec->name) == 0) return b->o->file[spec];
    return b->unit[spec]->spec->name;
}

void bench_heads_name(const struct head_counts *h, struct text *out)
{
    text_add(out, "%lld", (long long)h->heads);
    if (h->kv_heads != h->heads) text_add(out, "/%lld", (long long)h->kv_heads);
}

void bench_series_name(const struct bench *b, int spec, const struct bench_point *p, struct text *out)
{
    text_add(out, "%s", bench_label(b, spec));
    if (b->request.heads > 1) {
        text_add(out, ", ");
        bench_heads_name(&p->heads, out);
        text_add(out, " heads");
    }
    if (b->request.threads > 1) text_add(out, ", %d thread%s", p->threads, p->threads == 1 ? "" : "s");
}
