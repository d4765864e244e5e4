/* Reads integer parameters, such as the document of each token. Masks compare their elements with positions and each
   other. An array is read as rows of its last axis. */
#include "expr.h"

#include <math.h>
#include <string.h>

void ids_add(struct ids *ids, const char *name, const double *data, int64_t rows, int64_t length, bool real)
{
    if (ids->arrays == MAX_IDS) return;
    ids->array[ids->arrays].name = name;
    ids->array[ids->arrays].data = data;
    ids->array[ids->arrays].rows = rows;
    ids->array[ids->arrays].real = real;
    ids->array[ids->arrays++].length = length;
}

/* Returns a row of array k. Returns NULL if the array or the row does not exist. */
static const double *row_of(struct ids *ids, int k, int64_t row)
{
    if (!ids || k == ids->arrays) return NULL;
    if (ids->array[k].make) return ids->array[k].make(ids->array[k].of, row);
    if (row >= 0 && ids->array[k].repeats) row %= ids->array[k].rows;
    if (row < 0 || row >= ids->array[k].rows) {
        ids->outside = true;
        return NULL;
    }
    return ids->array[k].data + row * ids->array[k].length;
}

static int find(const struct ids *ids, const char *name)
{
    int k = 0;
    while (ids && k < ids->arrays && strcmp(ids->array[k].name, name) != 0) k++;
    return k;
}

const double *ids_row(struct ids *ids, const char *name, int64_t row, int64_t *length)
{
    const int k = find(ids, name);
    const double *const data = row_of(ids, k, row);
    if (data) *length = ids->array[k].length;
    return data;
}

int64_t ids_read(struct ids *ids, const char *name, int64_t row, int64_t x)
{
    if (x < 0) return INT64_MIN;
    const int k = find(ids, name);
    const double *const data = row_of(ids, k, row);
    if (!data) return 0;
    const double element = data[x < ids->array[k].length ? x : ids->array[k].length - 1];
    return ids->array[k].real ? element != -INFINITY : (int64_t)element;
}

double ids_real(struct ids *ids, const char *name, int64_t row, int64_t x)
{
    int64_t length;
    const double *const data = ids_row(ids, name, row, &length);
    return data ? data[x < 0 ? 0 : x < length ? x : length - 1] : 0;
}

int64_t ids_extreme(struct ids *ids, const char *name, int64_t first, int64_t end, int64_t from, int64_t to,
                    bool largest)
{
    int64_t found = largest ? INT32_MIN : INT32_MAX;
    if (from < 0 && from < to) { /* the element at a negative index is INT64_MIN */
        if (!largest || to <= 0) return INT64_MIN;
        from = 0;
    }
    for (int64_t row = first; row < end; row++)
        for (int64_t x = from; x < to; x++) {
            int64_t id = ids_read(ids, name, row, x);
            if (largest ? id > found : id < found) found = id;
        }
    return found;
}

bool ids_any(struct ids *ids, const char *name, int64_t from, int64_t to, int64_t low, int64_t end)
{
    bool any = false;
    for (int64_t row = from; row < to && !any; row++) {
        int64_t length = 0;
        const double *const data = ids_row(ids, name, row, &length);
        for (int64_t x = 0; data && x < length; x++) any |= data[x] >= (double)low && data[x] < (double)end;
    }
    return any;
}
