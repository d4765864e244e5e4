/* The names of entries, heads and curves in the outputs of attnc bench. */
#include "request.h"
#include "../support/support.h"

#include <string.h>

const char *bench_label(const struct bench *b, int entry)
{
    const struct unit *own = b->unit[entry];
    for (int e = 0; e < b->entries; e++)
        if (b->unit[e] != own && strcmp(b->unit[e]->spec->name, own->spec->name) == 0) return own->file;
    return own->spec->name;
}

const char *bench_pass(const struct bench *b, int entry)
{
    if (b->o->decode) return "decode";
    return b->backward[entry] ? "backward" : "forward";
}

void bench_heads_name(const struct head_counts *h, struct text *out)
{
    text_add(out, "%lld", (long long)h->heads);
    if (h->kv_heads != h->heads || h->key_heads) text_add(out, "/%lld", (long long)h->kv_heads);
    if (h->key_heads) text_add(out, "/%lld", (long long)h->key_heads);
}

void bench_series_name(const struct bench *b, int entry, const struct bench_point *p, struct text *out)
{
    text_add(out, "%s", bench_label(b, entry));
    if (b->o->backward) text_add(out, ", %s", bench_pass(b, entry));
    if (b->request.heads > 1) {
        text_add(out, ", ");
        bench_heads_name(&p->heads, out);
        text_add(out, " heads");
    }
    if (b->request.threads > 1) text_add(out, ", %d thread%s", p->threads, p->threads == 1 ? "" : "s");
}
