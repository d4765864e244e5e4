/* Samples of attnc check whose q and k have fewer heads than v. The interpreter knows no such problems, so it gets each
   head of q and of k several times. */
#include "check.h"

#include <string.h>

void check_share_heads(struct sample *s, const struct problem_size *size, int64_t sharing)
{
    const int64_t heads = size->kv_heads * size->members;
    for (int t = 0; t < s->tensors; t++) {
        const int64_t n = s->count[t] / (size->batch * heads);
        for (int64_t h = 0; h < size->batch * heads && s->array[t]->shared; h++)
            memcpy(s->tensor[t].data + h * n, s->tensor[t].data + h / sharing * sharing * n,
                   (size_t)n * sizeof *s->tensor[t].data);
    }
}

void check_without_copies(void *array, size_t bytes, int64_t heads, int64_t sharing)
{
    const size_t head = bytes / (size_t)heads;
    for (int64_t h = 0; h < heads / sharing; h++)
        memmove((char *)array + (size_t)h * head, (char *)array + (size_t)(h * sharing) * head, head);
}

/* Adds the numbers of sharing heads. Returns the number of sums. */
static int64_t add(double *to, const double *from, int64_t elements, int64_t head, int64_t sharing)
{
    for (int64_t k = 0; k < elements / sharing; k++) {
        double sum = 0;
        for (int64_t s = 0; s < sharing; s++) sum += from[(k / head * sharing + s) * head + k % head];
        to[k] = sum;
    }
    return elements / sharing;
}

void check_add_heads(struct gradients *g, const struct kernel_arrays *arrays, int64_t sharing)
{
    int64_t from = 0, to = 0;
    for (int a = 0; a < g->outputs; a++) {
        struct wanted *const w = &g->of[a];
        const int64_t elements = w->elements;
        const int number = kernel_array_find(arrays, w->name);
        const bool shared = number >= 0 && arrays->array[number].shared;
        const int64_t each = shared ? sharing : 1, head = shared ? elements / (w->extent[0] * w->extent[1]) : 1;
        w->elements = add(g->expected + to, g->expected + from, elements, head, each);
        add(g->allowed + to, g->allowed + from, elements, head, each);
        w->expected = g->expected + to;
        if (shared) w->extent[1] /= sharing;
        from += elements;
        to += w->elements;
    }
    g->all = to;
}
