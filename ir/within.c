/* Handles inputs that share the memory of another input. Each of their rows is the beginning of a row of the other
   input. */
#include "reader.h"

#include <string.h>

const char *within_check(struct module *m, const struct within *w, int rank, const int *axes)
{
    if (!w->of) return NULL;
    if (!name_is_plain(w->of)) return "it is within an input that has no name";
    if (w->row < 0 || w->row >= m->axes || rank < 1) return "it is within rows of an axis that does not exist";
    const struct axis *const whole = &m->axis[w->row], *const row = &m->axis[axes[rank - 1]];
    if (whole->source != SIZE_CONSTANT || row->source != SIZE_CONSTANT || row->extent > whole->extent)
        return "its rows are longer than those that it is within";
    return NULL;
}

static const double *tensor_named(const struct tensor *in, int count, const char *name)
{
    for (int k = 0; k < count; k++)
        if (strcmp(in[k].name, name) == 0 && in[k].data) return in[k].data;
    return NULL;
}

bool tensor_read(const struct tensor *in, int count, const char *name, const struct within *w, int64_t rows,
                 int64_t row, int64_t whole, double *out)
{
    const double *given = tensor_named(in, count, name);
    if (given)
        whole = row;
    else if (w->of)
        given = tensor_named(in, count, w->of);
    if (!given) return false;
    for (int64_t n = 0; n < rows; n++) memcpy(out + n * row, given + n * whole, (size_t)row * sizeof *out);
    return true;
}
