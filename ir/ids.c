/* Reads id parameters: integers [batch, keys], such as the document of each token. A mask compares the id at the
   position of a query with the ids of keys. */
#include "ir.h"

#include <string.h>

void ids_add(struct ids *ids, const char *name, const double *data, int64_t batch, int64_t keys)
{
    if (ids->arrays == MAX_IDS) return;
    ids->array[ids->arrays].name = name;
    ids->array[ids->arrays].data = data;
    ids->array[ids->arrays].batch = batch;
    ids->array[ids->arrays++].keys = keys;
}

int64_t ids_read(struct ids *ids, const char *name, int64_t b, int64_t x)
{
    int k = 0;
    if (x < 0) return INT64_MIN;
    while (ids && k < ids->arrays && strcmp(ids->array[k].name, name) != 0) k++;
    if (!ids || k == ids->arrays) return 0;
    int64_t keys = ids->array[k].keys;
    if (b < 0 || b >= ids->array[k].batch || x >= keys) {
        ids->outside = true;
        return 0;
    }
    return (int64_t)ids->array[k].data[b * keys + x];
}

int64_t ids_extreme(struct ids *ids, const char *name, int64_t b, int64_t from, int64_t to, bool largest)
{
    int64_t found = largest ? INT32_MIN : INT32_MAX;
    if (from < 0 && from < to) { /* the id at a negative position is INT64_MIN, smaller than every stored id */
        if (!largest || to <= 0) return INT64_MIN;
        from = 0;
    }
    for (int64_t x = from; x < to; x++) {
        int64_t id = ids_read(ids, name, b, x);
        if (largest ? id > found : id < found) found = id;
    }
    return found;
}
